/* wire.h - what two nodes say to each other on RDMA: when they meet, and in messages.
 *
 * Each message is one send, into a buffer of the receiver. What comes is checked before it is used; what it says of places
 * and streams is checked by the code that it is for.
 */
#ifndef WH_TRANSPORT_VERBS_WIRE_H
#define WH_TRANSPORT_VERBS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/transport.h"

/* ---- messages: verbs/wire.c --------------------------------------------------------------------------------------- *
 * All numbers are in the byte order of the host. Rows are as well, so hosts of different byte orders cannot be of one
 * group: the magic number of one is none to the other. */

#define WH_VERBS_MAGIC UINT64_C(0x6272762d6c726877) /* "whrl-vrb" */
#define WH_VERBS_VERSION 1
#define WH_VERBS_GROUP_BYTES 64

/* What both sides of a connection say first, in the private data of librdmacm, which has room for 56 bytes. All versions
 * begin with magic, version, node, incarnation. */
struct wh_verbs_hello {
	uint64_t magic;
	uint32_t version;
	uint32_t node;
	uint64_t incarnation;
	uint64_t group; /* digest of its name */
	uint32_t nodes;
	uint32_t reserved;
};

enum wh_verbs_verdict {
	WH_VERBS_COME,
	WH_VERBS_NOT_NOW, /* it calls again */
	WH_VERBS_NEVER,
};

#define WH_VERBS_REFUSAL_BYTES 96

struct wh_verbs_refusal { /* the private data of a rejection, which has room for 148 bytes */
	struct wh_verbs_hello hello;
	uint32_t verdict; /* NOT_NOW or NEVER */
	char reason[WH_VERBS_REFUSAL_BYTES];
	uint32_t reserved;
};

_Static_assert(sizeof(struct wh_verbs_hello) <= 56, "what a connection request can carry");
_Static_assert(sizeof(struct wh_verbs_refusal) <= 148, "what a rejection can carry");

enum wh_verbs_kind {
	WH_VERBS_CREDIT = 1, /* says nothing but what every head says */
	WH_VERBS_OFFER,      /* where your row lies in my image */
	WH_VERBS_MAPPED,     /* I can take your writes to that image */
	WH_VERBS_SHUT,       /* I take no more of your writes to that image */
	WH_VERBS_CONTROL,
	WH_VERBS_REFUSED, /* the last message: why I close */
	WH_VERBS_GOODBYE, /* the last message: I leave in order */
	WH_VERBS_STREAM_OPEN,
	WH_VERBS_STREAM_DATA,
	WH_VERBS_STREAM_END,   /* of the writer: that was all */
	WH_VERBS_STREAM_TAKEN, /* of the reader: so many bytes have been read */
	WH_VERBS_STREAM_SHUT,  /* of the reader: no more */
	WH_VERBS_LANE,         /* my queue pair for operations on regions */
	WH_VERBS_GRANT,        /* a region that you may use */
	WH_VERBS_WITHDRAWN,    /* no more */
	WH_VERBS_RELEASED,     /* I have nothing under way on it */
	WH_VERBS_IMMEDIATES,   /* so many of yours have been taken */
	WH_VERBS_KINDS
};

struct wh_verbs_head {
	uint32_t kind;
	uint32_t bytes; /* of the whole message */
	uint32_t freed; /* buffers of the sender's that it has used and given back since the beginning, modulo 2^32 */
	uint32_t reserved;
};

#define WH_VERBS_REASON_BYTES 512
#define WH_VERBS_MESSAGE_MAX (WH_CONTROL_MAX + 64)

struct wh_verbs_offer {
	struct wh_verbs_head head;
	uint64_t key, layout_digest;
	uint64_t row_bytes; /* of the whole row of the node that offers */
	uint64_t base;      /* address of the parts of your row in my memory, one after the other */
	uint32_t rkey;
	uint32_t members, rank;
	uint32_t in_qp;   /* takes your writes */
	uint32_t out_qp;  /* brings mine */
	uint32_t out_psn; /* its first number */
	uint32_t part_count, reserved;
	struct wh_row_part parts[]; /* of your row, ascending, none next to another */
};

#define WH_VERBS_PARTS_MAX ((WH_VERBS_MESSAGE_MAX - sizeof(struct wh_verbs_offer)) / sizeof(struct wh_row_part))

struct wh_verbs_about { /* MAPPED, SHUT */
	struct wh_verbs_head head;
	uint64_t key;
};

struct wh_verbs_control {
	struct wh_verbs_head head;
	unsigned char bytes[WH_CONTROL_MAX];
};

struct wh_verbs_refused {
	struct wh_verbs_head head;
	char reason[WH_VERBS_REASON_BYTES];
};

struct wh_verbs_stream_message { /* all of STREAM_* */
	struct wh_verbs_head head;
	uint32_t stream;   /* a number of the opener's */
	uint32_t reserved; /* so that bytes are aligned */
	uint64_t number;   /* OPEN: the tag; TAKEN: bytes read in all */
	unsigned char bytes[];
};

struct wh_verbs_region_message { /* LANE, GRANT, WITHDRAWN, RELEASED, IMMEDIATES: what a kind does not need is 0 */
	struct wh_verbs_head head;
	uint64_t name; /* IMMEDIATES: their count */
	uint64_t bytes, address;
	uint32_t rkey, qp, psn, reserved;
};

#define WH_VERBS_CHUNK (WH_VERBS_MESSAGE_MAX - sizeof(struct wh_verbs_stream_message))

union wh_verbs_message {
	struct wh_verbs_head head;
	struct wh_verbs_offer offer;
	struct wh_verbs_about about;
	struct wh_verbs_control control;
	struct wh_verbs_refused refused;
	struct wh_verbs_stream_message stream;
	struct wh_verbs_region_message region;
	unsigned char room[WH_VERBS_MESSAGE_MAX];
};

_Static_assert(sizeof(union wh_verbs_message) == WH_VERBS_MESSAGE_MAX, "a message fits into a buffer");

/* Of `bytes` bytes that have come. True: it has the size of its kind, and its text ends and can be printed; what it says of
 * places and streams is still to be checked. The message is changed where text is tamed. */
bool wh_verbs_message_is_sound(union wh_verbs_message *message, size_t bytes);
/* The parts of an offer lie within a row of `row_bytes`, in ascending order. */
bool wh_verbs_parts_are_sound(const struct wh_verbs_offer *offer, uint64_t row_bytes);
/* Of private data. */
bool wh_verbs_read_hello(const void *bytes, size_t count, struct wh_verbs_hello *out);
bool wh_verbs_read_refusal(const void *bytes, size_t count, struct wh_verbs_refusal *out);
uint64_t wh_verbs_group_digest(const char *group);

#endif
