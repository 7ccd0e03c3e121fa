/* message.h - what two nodes say to each other, as bytes: docs/wire.md. The same on every wire: a frame on tcp, a datagram on
 * shared memory, an event in the simulator.
 *
 * A message is a head of WH_HEAD_BYTES and a body. All numbers are little-endian and are put and taken byte by byte, so
 * neither the byte order nor the alignment of a host matters. Nothing here looks at a connection or keeps anything: what has
 * come from outside is decoded into plain structs, or found wanting, before any node acts on it.
 *
 * A transport may add bytes of its own to HELLO and OFFER, and has kinds of its own from WH_MESSAGE_OWN on: it judges them itself.
 */
#ifndef WH_TRANSPORT_SESSION_MESSAGE_H
#define WH_TRANSPORT_SESSION_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/transport.h"

#define WH_MESSAGE_MAGIC UINT64_C(0x7063742d6c726877) /* "whrl-tcp": of tcp, which had these messages first */
#define WH_MESSAGE_GROUP_BYTES 64                     /* of a group's name, with the zero */
#define WH_MESSAGE_REASON_BYTES 512

enum wh_message_kind {
	WH_MESSAGE_HELLO = 1, /* my identity; the first message of a node, in both directions */
	WH_MESSAGE_TAKEN,     /* I have taken your hello, which answered mine: we have met */
	WH_MESSAGE_REFUSED,   /* the last message: why I close */
	WH_MESSAGE_OFFER,     /* I have opened the image `number` */
	WH_MESSAGE_MAPPED,    /* I have a place for your row of the image `number`: push */
	WH_MESSAGE_PUSH,      /* of tcp alone: ranges of my row of the image `number`, then words of it */
	WH_MESSAGE_CONTROL,
	WH_MESSAGE_LEAVE,  /* I go in order */
	WH_MESSAGE_PING,   /* are you there? */
	WH_MESSAGE_PONG,   /* I am */
	WH_MESSAGE_STREAM, /* a stream to you. On tcp: the first message of a connection that is one; its bytes follow */
	WH_MESSAGE_QUERY,  /* the first message of a visitor; nothing but the answer follows */
	WH_MESSAGE_ANSWER,
	WH_MESSAGE_OWN,        /* of each transport: to the one before the last */
	WH_MESSAGE_LANES = 31, /* I have these lanes open: bit k - 1 of `number` is lane k */
	WH_MESSAGE_KINDS = 32
};

/* ---- heads -------------------------------------------------------------------------------------------------------- */

#define WH_HEAD_BYTES 20

struct wh_message_head {
	uint8_t kind;           /* enum wh_message_kind, or a transport's own */
	uint8_t flags;          /* of a hello: the lane that it is of; 0: the node's own */
	uint16_t ranges, words; /* of a push: entries in its table */
	uint32_t bytes;         /* of the body */
	uint64_t number;        /* of an image: its key */
};

void wh_message_head_put(unsigned char bytes[WH_HEAD_BYTES], const struct wh_message_head *head);
/* False: no message begins so. Otherwise its body has a size that its kind can have; of a push, and of the transports' own, each
 * transport knows that. */
bool wh_message_head_take(struct wh_message_head *head, const unsigned char bytes[WH_HEAD_BYTES]);

/* ---- what two that have just been connected say first ------------------------------------------------------------------ */

/* All versions begin HELLO, STREAM, QUERY and REFUSED with the magic number and the version, a HELLO goes on with node, nodes
 * and incarnation, and REFUSED is the same in all. */
#define WH_FIRST_BYTES 12
#define WH_HELLO_BYTES (WH_FIRST_BYTES + 16 + WH_MESSAGE_GROUP_BYTES) /* and what the transport adds */
#define WH_OPENING_BYTES (WH_FIRST_BYTES + 28)
#define WH_OFFER_BYTES 24                             /* and what the transport adds */
#define WH_REFUSED_BYTES (WH_FIRST_BYTES + 8)         /* and the reason, without a zero */
#define WH_BODY_MAX (WH_FIRST_BYTES + WH_CONTROL_MAX) /* of all but pushes and answers */
#define WH_MESSAGE_MAX (WH_HEAD_BYTES + WH_BODY_MAX)
#define WH_REFUSED_MAX (WH_HEAD_BYTES + WH_REFUSED_BYTES + WH_MESSAGE_REASON_BYTES)

struct wh_hello {
	uint32_t version, node, nodes;
	uint32_t lane; /* 0: the node itself; in the head */
	uint64_t incarnation;
	uint64_t call; /* of a caller: the number of its call, greater each time; in the head */
	char group[WH_MESSAGE_GROUP_BYTES];
};

struct wh_opening { /* of a stream */
	uint32_t version, node;
	uint64_t incarnation, to; /* of the node that opens it, and of the one it is meant for */
	uint64_t tag;
};

struct wh_offer {
	uint64_t key, layout_digest;
	uint32_t members, rank;
	uint64_t row_bytes;
};

struct wh_refused {
	uint64_t incarnation; /* of the node that refuses */
	char reason[WH_MESSAGE_REASON_BYTES];
};

/* Each writes head and body, and returns how many bytes that are: at most WH_MESSAGE_MAX. `own` bytes that the transport adds follow
 * them. */
size_t wh_message_put_plain(unsigned char *bytes, uint8_t kind, uint64_t number);
size_t wh_message_put_hello(unsigned char *bytes, const struct wh_hello *hello, size_t own);
size_t wh_message_put_opening(unsigned char *bytes, const struct wh_opening *opening);
size_t wh_message_put_offer(unsigned char *bytes, const struct wh_offer *offer, size_t own);
size_t wh_message_put_refused(unsigned char *bytes, uint32_t version, const struct wh_refused *refused);
size_t wh_message_put_control(unsigned char *bytes, const void *message, size_t count); /* at most WH_CONTROL_MAX */
size_t wh_message_put_query(unsigned char *bytes, uint32_t version, const void *question, size_t count);
size_t wh_message_put_answer_head(unsigned char *bytes, size_t count); /* the head alone */

/* Take the body of a message after its head has been taken. False: it is none. Of another version than `mine` of a HELLO, or of an
 * opening, only what all versions have is set. Text ends, and can be printed. What the transport has added follows WH_HELLO_BYTES,
 * or WH_OFFER_BYTES, after `body`. */
bool wh_message_take_hello(struct wh_hello *hello, uint32_t mine, const struct wh_message_head *head,
			   const unsigned char *body);
bool wh_message_take_opening(struct wh_opening *opening, uint32_t mine, const struct wh_message_head *head,
			     const unsigned char *body);
bool wh_message_take_offer(struct wh_offer *offer, const struct wh_message_head *head, const unsigned char *body);
bool wh_message_take_refused(struct wh_refused *refused, const struct wh_message_head *head, const unsigned char *body);
/* The version of a question; the question itself follows WH_FIRST_BYTES after `body`. */
bool wh_message_take_query(uint32_t *version, const unsigned char *body);

/* ---- numbers, for what transports add ----------------------------------------------------------------------------- */

void wh_message_put_number(unsigned char *bytes, uint64_t value, unsigned count); /* of `count` bytes, at most 8 */
uint64_t wh_message_take_number(const unsigned char *bytes, unsigned count);

#endif
