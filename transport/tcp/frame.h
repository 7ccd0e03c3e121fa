/* frame.h - what tcp connections carry beside the messages of a session (transport/session/message.h), as bytes: pushes, and
 * operations on regions. docs/wire.md.
 *
 * Nothing here looks at a socket or keeps anything: what has come from outside is decoded into plain structs, or found wanting, before
 * any node acts on it.
 */
#ifndef WH_TRANSPORT_TCP_FRAME_H
#define WH_TRANSPORT_TCP_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/remote.h"
#include "transport/session/message.h"

#define WH_TCP_VERSION 2

enum wh_tcp_kind {
	WH_TCP_GRANT = WH_MESSAGE_OWN, /* you may use my region `number` */
	WH_TCP_WITHDRAWN,              /* my region `number` is closed */
	WH_TCP_REMOTE,                 /* an operation on your region `number` */
	WH_TCP_REMOTE_DONE,            /* what has come of your oldest that you have not heard of */
	WH_TCP_CREDIT,                 /* `number` of your immediates have been taken so far */
	WH_TCP_KINDS
};

/* A head as it comes. False: no frame begins so. Otherwise its body has a size that its kind can have. */
bool wh_tcp_head_take(struct wh_message_head *head, const unsigned char bytes[WH_HEAD_BYTES]);

/* ---- pushes: a table of ranges and one of words, then the bytes of the ranges, in their order ---------------------------- */

enum wh_tcp_push_flag {
	WH_TCP_LOUD = 1, /* it ends a sleep (T6) */
	WH_TCP_RELAYED =
		2, /* its ranges are of another member's row: its rank stands before the table (T14). Its words are as ever */
};

#define WH_TCP_RANGES_MAX 256 /* in one frame */
#define WH_TCP_WORDS_MAX 1024
#define WH_TCP_RANGE_BYTES 12 /* of an entry in the table of a push */
#define WH_TCP_WORD_BYTES 16
#define WH_TCP_OWNER_BYTES 4
#define WH_TCP_TABLE_MAX                                                                                               \
	(WH_TCP_OWNER_BYTES + WH_TCP_RANGES_MAX * WH_TCP_RANGE_BYTES + WH_TCP_WORDS_MAX * WH_TCP_WORD_BYTES)

struct wh_tcp_span { /* of a row; at least one byte, and offset + bytes does not overflow */
	uint64_t offset;
	uint32_t bytes;
};

struct wh_tcp_word { /* `offset` is a multiple of 8 */
	uint64_t offset, value;
};

static inline bool wh_tcp_is_relayed(const struct wh_message_head *head)
{
	return (head->flags & WH_TCP_RELAYED) != 0;
}

/* Of a push with that head: its table, with what stands before it. */
static inline size_t wh_tcp_table_bytes(const struct wh_message_head *head)
{
	return (wh_tcp_is_relayed(head) ? WH_TCP_OWNER_BYTES : 0) + (size_t)head->ranges * WH_TCP_RANGE_BYTES +
	       (size_t)head->words * WH_TCP_WORD_BYTES;
}

void wh_tcp_span_put(unsigned char bytes[WH_TCP_RANGE_BYTES], const struct wh_tcp_span *span);
void wh_tcp_word_put(unsigned char bytes[WH_TCP_WORD_BYTES], const struct wh_tcp_word *word);
void wh_tcp_owner_put(unsigned char bytes[WH_TCP_OWNER_BYTES], uint32_t rank);
/* Of a push that is relayed. */
uint32_t wh_tcp_owner_take(const unsigned char *table);
/* Takes the table of a push that has the head `head`. False: an entry is not what it should be, or the ranges together are not
 * as long as the rest of the frame. */
bool wh_tcp_table_take(const struct wh_message_head *head, const unsigned char *table,
		       struct wh_tcp_span spans[WH_TCP_RANGES_MAX], struct wh_tcp_word words[WH_TCP_WORDS_MAX]);

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
			const struct wh_message_head *head, const unsigned char *body);
/* With the words that have been read, if it was a read. */
size_t wh_tcp_put_done(unsigned char *bytes, enum whorl_result result, uint64_t value, const uint64_t *words,
		       size_t count);
void wh_tcp_take_words(void *into, const unsigned char *body, size_t bytes);

#endif
