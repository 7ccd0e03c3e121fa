/* shm_node.h - for what is tested of the shared memory transport alone: one node, in this process or in a child of it,
 * and a hand-made peer that speaks the protocol as it likes.
 */
#ifndef WH_CONFORMANCE_SHM_NODE_H
#define WH_CONFORMANCE_SHM_NODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "tests/harness.h"
#include "tests/patience.h"
#include "transport/shm/shm.h"
#include "transport/shm/shm_int.h"

/* A row has a page of columns, then a page that no node maps, a ring that all map, and another page for no node. */
#define ROW_BYTES (4 * WH_ROW_ALIGN)
#define RING_UNREAD WH_ROW_ALIGN
#define RING_READ (2 * WH_ROW_ALIGN)
#define PATIENCE_NS test_patience(20 * WH_NS_PER_S)

struct node {
	struct wh_transport *transport;
	struct wh_image *image;
	uint32_t id, nodes;
	uint32_t met, left, down, refused, dead;
	uint64_t controls, controls_at_dead;
	uint64_t last_met, last_dead; /* which incarnation */
	struct wh_stream *stream;     /* the last that came */
	uint64_t tag, query;          /* of the last STREAM, and of the last ASKED */
	char text[256];               /* of the last LEFT, DOWN, REFUSED or ASKED */
};

/* Of a node that is nothing else. */
#define INCARNATION(id) ((uint64_t)(id) + 1)

/* A name for a group that no other group has. Returns buf. */
char *new_group(char buf[40]);

enum whorl_result node_try(struct node *n, const char *group, uint32_t id, uint32_t nodes, int huge_pages,
			   struct wh_error *err);
void node_make(struct node *n, const char *group, uint32_t id, uint32_t nodes);
void node_make_again(struct node *n, const char *group, uint32_t id, uint32_t nodes, uint64_t incarnation);
void nodes_make(struct node *nodes, uint32_t count); /* all of a new group */
void node_open(struct node *n, uint64_t row_bytes);  /* n->image: that of all nodes, with key 1 */
/* The members are the nodes that have their bits set; their ranks are in the order of ids. */
struct wh_image *node_open_of(struct node *n, uint64_t key, uint32_t members, uint64_t row_bytes);
void node_free(struct node *n);
void node_pass(struct node *n); /* service, events, a moment */
void nodes_pass(struct node *nodes, uint32_t count);

void node_post_word(struct node *n, uint64_t offset, uint64_t value); /* to all others */
uint64_t node_column(const struct node *n, uint32_t of, uint64_t offset);
void image_close(struct wh_image *image);
void image_freeze(struct wh_image *image, uint32_t rank);
void image_post_word(struct wh_image *image, uint64_t offset, uint64_t value); /* to all other ranks */
uint64_t image_column(const struct wh_image *image, uint32_t rank, uint64_t offset);

/* Passes of `n` until it is so. */
#define NODE_UNTIL(n, condition)                                                                                       \
	do {                                                                                                           \
		uint64_t deadline_ = test_now() + PATIENCE_NS;                                                         \
		bool is_so_ = (condition);                                                                             \
		while (!is_so_ && test_now() < deadline_) {                                                            \
			node_pass(n);                                                                                  \
			is_so_ = (condition);                                                                          \
		}                                                                                                      \
		ck_assert_msg(is_so_, "never: %s; last: %s", #condition, (n)->text);                                   \
	} while (0)

uint64_t spare_state(const struct node *n); /* enum wh_shm_spare_state */

uint64_t test_now(void);
uint64_t test_cpu(void); /* nanoseconds of processor that this process has used */
int count_fds(void);
int lines_with(const char *path, const char *word);
/* From now on so many more descriptors, and none beyond; there must be no gaps between those that are open. */
void allow_fds(int more);
int rows_mapped(void);     /* how many maps of rows this process has */
int rows_present(void);    /* how many of them have a page */
int memories_mapped(void); /* how many maps of memory of the library this process has */

/* ---- a child that is a node --------------------------------------------------------------------------------------- */

/* Runs `body` in a child process, which ends with its return value. */
pid_t spawn(int (*body)(const char *group), const char *group);
/* The same of one that goes with the test. */
pid_t spawn_here(int (*body)(const char *group), const char *group);
/* Runs on, with nodes or without. */
int stay(void);
/* The child's status. */
int reap(pid_t pid);

/* ---- a hand-made peer --------------------------------------------------------------------------------------------- */

struct raw {
	int socket, doorbell, page;
	struct wh_hello hello;       /* that it will say, if nothing is changed in it; */
	struct wh_shm_claim status;  /* with it */
	struct wh_shm_datagram got;  /* the last message, */
	struct wh_message_head head; /* and how it begins */
};

int raw_page(void); /* a status page as it should be */
void raw_name(const char *group, uint32_t node, struct sockaddr_un *name, socklen_t *bytes);
/* Connects to `node`, as node `me` of `nodes`. */
void raw_connect(struct raw *r, const char *group, uint32_t node, uint32_t me, uint32_t nodes);
/* False: it is not there any more, or has no room. */
bool raw_send(int socket, const void *bytes, size_t count, const int *fds, size_t fd_count);
size_t raw_hello(const struct raw *r, unsigned char message[WH_MESSAGE_MAX]); /* what it will say; how many bytes */
void raw_say_hello_alone(const struct raw *r);
void raw_say_hello(const struct raw *r);                 /* and that the answer has been taken, in advance */
bool raw_say(int socket, uint8_t kind, uint64_t number); /* a message without a body */
bool raw_say_claim(const struct raw *r, uint8_t kind, uint64_t number, uint64_t bytes,
		   int fd); /* one that is a claim */
/* An offer of a row, of which the claim says `bytes`. */
bool raw_say_offer(const struct raw *r, const struct wh_offer *offer, uint64_t bytes, int fd);
/* It is let in, as node `me`. */
void raw_be_met(struct raw *r, struct node *n, const char *group, uint32_t me);
/* Passes of `n` until a message has come, or the connection has ended: WH_WIRE_DONE, _ENDED; _LATER: neither. */
enum wh_wire_result raw_receive(struct raw *r, struct node *n);
struct wh_refused raw_refusal(const struct raw *r); /* the last message */
void raw_close(struct raw *r);

#endif
