/* wire.h - the stream of a state as bytes (state.h says what is in it): written by the giver, taken apart by the newcomer.
 *
 *     subgroup u32, shard u32, view u64, sequence u64, count u32, count x (id u32, next u64),
 *     then pieces: length u32, bytes; length 0 is the end. If the highest bit of count is set messages follow, in pieces again, which
 *     need not end where a message does; length 0 is the end of those. A message: sender u32, indexes u32, bytes u64, index u64,
 *     view u64, sequence u64, incarnation u64, then its bytes
 *
 * All little-endian. The parser takes bytes as they come, in parts of any size, and believes none of them before it has checked it.
 */
#ifndef WH_STATE_WIRE_H
#define WH_STATE_WIRE_H

#include "state/state.h"

#define WH_STATE_PIECE (256u << 10) /* bytes in a piece, at most */
#define WH_STATE_LENGTH_BYTES 4
#define WH_STATE_SENDER_BYTES 12
#define WH_STATE_FIXED_BYTES 28
#define WH_STATE_HEADER_BYTES (WH_STATE_FIXED_BYTES + WH_STATE_SENDER_BYTES * WH_STATE_SENDERS_MAX) /* at most */

struct wh_state_header {
	uint32_t subgroup, shard;
	uint64_t view;
	struct wh_position position;
	bool has_messages; /* they follow the state */
};

#define WH_STATE_MESSAGE_BYTES 48 /* before those of a message itself */

/* Returns the length. */
size_t wh_state_put_header(unsigned char out[WH_STATE_HEADER_BYTES], const struct wh_state_header *header);
void wh_state_put_length(unsigned char out[WH_STATE_LENGTH_BYTES], uint32_t length);

/* What stands before a message's bytes. */
void wh_state_put_message(unsigned char out[WH_STATE_MESSAGE_BYTES], const struct whorl_message *message);
/* Fills in what travels. False: there is no such message. */
bool wh_state_get_message(const unsigned char in[WH_STATE_MESSAGE_BYTES], struct whorl_message *out);

enum wh_state_part {
	WH_PART_NONE,    /* more bytes are needed */
	WH_PART_HEADER,  /* it is whole, and right */
	WH_PART_BYTES,   /* some of the state: `bytes`, `count` */
	WH_PART_REFUSED, /* some of the messages behind it: likewise */
	WH_PART_END,     /* that was all of it */
	WH_PART_STALE,   /* right, but of a view that is over */
	WH_PART_BROKEN,  /* `wrong` says why */
};

struct wh_state_parser {
	struct wh_state_header
		header; /* what must agree; the parser fills in the rest. Its view is the earliest that will do */
	enum { WH_AT_HEADER, WH_AT_SENDER, WH_AT_LENGTH, WH_AT_PIECE, WH_AT_END } at;
	bool at_messages;                         /* the state is whole */
	unsigned char word[WH_STATE_FIXED_BYTES]; /* what is taken apart as a whole, until it is there */
	uint32_t held;                            /* bytes in it */
	uint32_t left;                            /* of senders, or of the piece */
	const unsigned char *bytes;
	size_t count;
	const char *wrong;
};

void wh_state_parser_init(struct wh_state_parser *parser, uint32_t subgroup, uint32_t shard, uint64_t view);

/* The next part of what is at *from, which moves on, up to `end`. After END, STALE and BROKEN there is nothing more. */
enum wh_state_part wh_state_parse(struct wh_state_parser *parser, const unsigned char **from, const unsigned char *end);

#endif
