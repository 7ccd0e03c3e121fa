/* tcp_raw.h - a node, and a peer that speaks to it frame by frame, or worse, through sockets of its own. */
#ifndef WH_CONFORMANCE_TCP_RAW_H
#define WH_CONFORMANCE_TCP_RAW_H

#include "tests/harness.h"
#include "tests/patience.h"
#include "transport/session/session_int.h"
#include "transport/tcp/frame.h"
#include "transport/tcp/tcp.h"

#define RAW_NODES 3 /* node 0 is real; node 1 is played by the test */
#define RAW_ME 1
#define RAW_INCARNATION 77
#define RAW_CUT_NS (17 * WH_NS_PER_S)

#define CONTROL_BYTES (2 * WH_ROW_ALIGN)
#define ROW_BYTES (4 * WH_ROW_ALIGN)

struct raw {
	char group[40], address[WH_TCP_ADDRESS_BYTES];
	struct wh_secure_key *key; /* NULL: none */
	struct wh_transport *node;
	struct wh_image *image;
	uint32_t met, left, down, refused, ready, controls, streams;
	char text[256]; /* of the last LEFT, DOWN or REFUSED */
};

struct raw *raw_make(void);
struct raw *raw_make_with_key(void);
struct wh_secure_key *raw_key(const char *text); /* at least 16 bytes; to be freed */
void raw_free(struct raw *raw);

/* The node is serviced, its events are counted, and a moment passes. */
void raw_pass(struct raw *raw);

#define RAW_PATIENCE ((int)test_patience(20000))
#define RAW_UNTIL(raw, condition)                                                                                      \
	do {                                                                                                           \
		bool is_so_ = (condition);                                                                             \
		for (int passes_ = 0; passes_ < RAW_PATIENCE && !is_so_; passes_++) {                                  \
			raw_pass(raw);                                                                                 \
			is_so_ = (condition);                                                                          \
		}                                                                                                      \
		ck_assert_msg(is_so_, "never: %s", #condition);                                                        \
	} while (0)

struct wh_session *raw_session(const struct raw *raw); /* the node's */
struct wh_conn *raw_stranger(const struct raw *raw);   /* its first stranger; NULL: none */

int raw_connect(struct raw *raw); /* a socket that is connected to the node, on which nothing has been said */
/* Proves to the node, with the key that it has itself, to be the given peer, as far as there is anything to prove. */
void raw_prove(struct raw *raw, int s, struct wh_secure_peer peer);
int raw_call(struct raw *raw);                 /* both, as RAW_ME */
int raw_listen(struct raw *raw);               /* at the address of RAW_ME */
int raw_accept(struct raw *raw, int listener); /* the node's next call there */
void raw_send(int s, const void *bytes, size_t count);
/* Reads the next frame of the node, which is serviced meanwhile. False: it has closed. */
bool raw_receive(struct raw *raw, int s, struct wh_message_head *head, unsigned char body[WH_BODY_MAX]);
/* The next frame is of that kind. */
void raw_expect(struct raw *raw, int s, uint8_t kind, unsigned char body[WH_BODY_MAX]);

struct wh_hello raw_hello(const struct raw *raw);
void raw_say_hello(int s, const struct wh_hello *hello);
/* Meets the node; returns the socket. */
int raw_meet(struct raw *raw, uint64_t incarnation);
/* Opens the image of that key at the node, as rank 0 of two, and takes part in it as rank 1 until it is ready. */
void raw_open(struct raw *raw, int s, uint64_t key);
/* As rank 0 of three: the third is not there, and the image is not ready. Three slots of its row are relayed, by `before`. */
void raw_open_relay(struct raw *raw, int s, uint64_t key, uint32_t before);

#endif
