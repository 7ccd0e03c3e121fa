/* frame.h - what tcp connections carry, as bytes: docs/wire.md.
 *
 * A frame is a head of WH_TCP_HEAD_BYTES and a body. All numbers are little-endian and are put and taken byte by byte, so
 * neither the byte order nor the alignment of a host matters. Nothing here looks at a socket or keeps anything: what has
 * come from outside is decoded into plain structs, or found wanting, before any node acts on it.
 */
#ifndef WH_TRANSPORT_TCP_FRAME_H
#define WH_TRANSPORT_TCP_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/remote.h"
#include "transport/transport.h"

#define WH_TCP_MAGIC UINT64_C(0x7063742d6c726877) /* "whrl-tcp" */
#define WH_TCP_VERSION 1
#define WH_TCP_GROUP_BYTES 64 /* of a group's name, with the zero */
#define WH_TCP_REASON_BYTES 512

enum wh_tcp_kind {
	WH_TCP_HELLO = 1, /* my identity; the first frame of a node, in both directions */
	WH_TCP_TAKEN,     /* I have taken your hello, which answered mine: we have met */
	WH_TCP_REFUSED,   /* the last frame: why I close */
	WH_TCP_OFFER,     /* I have opened the image `number` */
	WH_TCP_MAPPED,    /* I have a place for your row of the image `number`: push */
	WH_TCP_PUSH,      /* ranges of my row of the image `number`, then words of it */
	WH_TCP_CONTROL,
	WH_TCP_LEAVE,  /* I go in order */
	WH_TCP_PING,   /* are you there? */
	WH_TCP_PONG,   /* I am */
	WH_TCP_STREAM, /* the first frame of a connection that is a stream to you; its bytes follow */
	WH_TCP_QUERY,  /* the first frame of a visitor; nothing but the answer follows */
	WH_TCP_ANSWER,
	WH_TCP_GRANT,       /* you may use my region `number` */
	WH_TCP_WITHDRAWN,   /* my region `number` is closed */
	WH_TCP_REMOTE,      /* an operation on your region `number` */
	WH_TCP_REMOTE_DONE, /* what has come of your oldest that you have not heard of */
	WH_TCP_CREDIT,      /* `number` of your immediates have been taken so far */
	WH_TCP_KINDS
};

/* ---- heads -------------------------------------------------------------------------------------------------------- */

#define WH_TCP_HEAD_BYTES 20
#define WH_TCP_LOUD 1 /* a flag of WH_TCP_PUSH: it ends a sleep (T6) */

#define WH_TCP_RANGES_MAX 256 /* in one frame */
#define WH_TCP_WORDS_MAX 1024
#define WH_TCP_RANGE_BYTES 12 /* of an entry in the table of a push */
#define WH_TCP_WORD_BYTES 16
#define WH_TCP_TABLE_MAX (WH_TCP_RANGES_MAX * WH_TCP_RANGE_BYTES + WH_TCP_WORDS_MAX * WH_TCP_WORD_BYTES)

struct wh_tcp_head {
	enum wh_tcp_kind kind;
	uint8_t flags;
	uint16_t ranges, words; /* of a push: entries in its table */
	uint32_t bytes;         /* of the body */
	uint64_t number;        /* of an image: its key */
};

void wh_tcp_head_put(unsigned char bytes[WH_TCP_HEAD_BYTES], const struct wh_tcp_head *head);
/* False: no frame begins so. Otherwise its body has a size that its kind can have. */
bool wh_tcp_head_take(struct wh_tcp_head *head, const unsigned char bytes[WH_TCP_HEAD_BYTES]);

/* ---- pushes: a table of ranges and one of words, then the bytes of the ranges, in their order ---------------------------- */

struct wh_tcp_span { /* of a row; at least one byte, and offset + bytes does not overflow */
	uint64_t offset;
	uint32_t bytes;
};

struct wh_tcp_word { /* `offset` is a multiple of 8 */
	uint64_t offset, value;
};

static inline size_t wh_tcp_table_bytes(uint32_t ranges, uint32_t words)
{
	return (size_t)ranges * WH_TCP_RANGE_BYTES + (size_t)words * WH_TCP_WORD_BYTES;
}

void wh_tcp_span_put(unsigned char bytes[WH_TCP_RANGE_BYTES], const struct wh_tcp_span *span);
void wh_tcp_word_put(unsigned char bytes[WH_TCP_WORD_BYTES], const struct wh_tcp_word *word);
/* Takes the table of a push that has the head `head`. False: an entry is not what it should be, or the ranges together are not
 * as long as the rest of the frame. */
bool wh_tcp_table_take(const struct wh_tcp_head *head, const unsigned char *table,
		       struct wh_tcp_span spans[WH_TCP_RANGES_MAX], struct wh_tcp_word words[WH_TCP_WORDS_MAX]);

/* ---- what strangers say first ------------------------------------------------------------------------------------------ */

/* All versions begin HELLO, STREAM, ASK and REFUSED with the magic number and the version, a HELLO goes on with node, nodes
 * and incarnation, and REFUSED is the same in all. */
#define WH_TCP_FIRST_BYTES 12
#define WH_TCP_HELLO_BYTES (WH_TCP_FIRST_BYTES + 16 + WH_TCP_GROUP_BYTES)
#define WH_TCP_STREAM_BYTES (WH_TCP_FIRST_BYTES + 28)
#define WH_TCP_OFFER_BYTES 24
#define WH_TCP_REFUSED_BYTES (WH_TCP_FIRST_BYTES + 8)         /* and the reason, without a zero */
#define WH_TCP_BODY_MAX (WH_TCP_FIRST_BYTES + WH_CONTROL_MAX) /* of all but pushes and answers */

struct wh_tcp_hello {
	uint32_t version, node, nodes;
	uint64_t incarnation;
	uint64_t call; /* of a caller: the number of its call, greater each time; in the head */
	char group[WH_TCP_GROUP_BYTES];
};

struct wh_tcp_opening { /* of a stream */
	uint32_t version, node;
	uint64_t incarnation, to; /* of the node that opens it, and of the one it is meant for */
	uint64_t tag;
};

struct wh_tcp_offer {
	uint64_t key, layout_digest;
	uint32_t members, rank;
	uint64_t row_bytes;
};

struct wh_tcp_refused {
	uint64_t incarnation; /* of the node that refuses */
	char reason[WH_TCP_REASON_BYTES];
};

/* Each writes head and body, and returns how many bytes that are: at most WH_TCP_HEAD_BYTES + WH_TCP_BODY_MAX. */
size_t wh_tcp_put_plain(unsigned char *bytes, enum wh_tcp_kind kind, uint64_t number);
size_t wh_tcp_put_hello(unsigned char *bytes, const struct wh_tcp_hello *hello);
size_t wh_tcp_put_opening(unsigned char *bytes, const struct wh_tcp_opening *opening);
size_t wh_tcp_put_offer(unsigned char *bytes, const struct wh_tcp_offer *offer);
size_t wh_tcp_put_refused(unsigned char *bytes, const struct wh_tcp_refused *refused);
size_t wh_tcp_put_control(unsigned char *bytes, const void *message, size_t count); /* at most WH_CONTROL_MAX */
size_t wh_tcp_put_question(unsigned char *bytes, const void *question, size_t count);
size_t wh_tcp_put_answer_head(unsigned char *bytes, size_t count); /* the head alone */

/* Take the body of a frame after its head has been taken. False: it is none. Of another version of HELLO and of an opening only
 * what all versions have is set. Text ends, and can be printed. */
bool wh_tcp_take_hello(struct wh_tcp_hello *hello, const struct wh_tcp_head *head, const unsigned char *body);
bool wh_tcp_take_opening(struct wh_tcp_opening *opening, const struct wh_tcp_head *head, const unsigned char *body);
bool wh_tcp_take_offer(struct wh_tcp_offer *offer, const struct wh_tcp_head *head, const unsigned char *body);
bool wh_tcp_take_refused(struct wh_tcp_refused *refused, const struct wh_tcp_head *head, const unsigned char *body);
/* The version of a question; the question itself follows WH_TCP_FIRST_BYTES after `body`. */
bool wh_tcp_take_question(uint32_t *version, const struct wh_tcp_head *head, const unsigned char *body);

/* ---- operations on regions (T7) ------------------------------------------------------------------------------------ *
 * Of an operation the flags are the kind, of what has come of it the result. Words are numbers, like all others. */

#define WH_TCP_GRANT_BYTES 8
#define WH_TCP_REMOTE_BYTES 12 /* before what its kind has: a size, words, or one or two numbers */
#define WH_TCP_REMOTE_MAX (WH_TCP_REMOTE_BYTES + WH_REMOTE_BYTES_MAX)

size_t wh_tcp_put_grant(unsigned char *bytes, uint64_t name, uint64_t region_bytes);
uint64_t wh_tcp_take_grant(const unsigned char *body);
size_t wh_tcp_put_remote(unsigned char *bytes, const struct wh_remote_op *op); /* a sound one */
/* What is to be written is in `words`. False: it is no operation. Whether it is sound depends on the region. */
bool wh_tcp_take_remote(struct wh_remote_op *op, uint64_t words[WH_REMOTE_BYTES_MAX / 8],
			const struct wh_tcp_head *head, const unsigned char *body);
/* With the words that have been read, if it was a read. */
size_t wh_tcp_put_done(unsigned char *bytes, enum whorl_result result, uint64_t value, const uint64_t *words,
		       size_t count);
void wh_tcp_take_words(void *into, const unsigned char *body, size_t bytes);

#endif
