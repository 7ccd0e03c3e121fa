/* slots.h - how the slots of a sender lie in its row (Spindle §II-C).
 *
 * A slot is a header and a payload. Where pushing bytes costs nothing (shm) headers and payloads are two arrays: the
 * loop, which writes headers, never touches the lines that application threads fill, and a payload travels straight
 * from the core that filled it to the cores that read it. Elsewhere a header stands before its payload, so that a batch
 * of slots is one range (two if the ring wraps).
 *
 * A slot is read only when its sender's guard announces it; then all of it is final until every member has delivered it.
 */
#ifndef WH_SMC_SLOTS_H
#define WH_SMC_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomics.h"
#include "base/pieces.h"

struct wh_slot_header {   /* in a row: round, then more << 48 | aborted << 32 | bytes */
	uint64_t round;   /* of the sender's rounds, the one that this slot is in */
	uint32_t bytes;   /* of the message, or of this part of it */
	uint16_t aborted; /* 1: a round and no message */
	uint16_t more; /* how many slots that follow hold parts of the same message (docs/decisions/0045); in these 0 */
};

_Static_assert(sizeof(struct wh_slot_header) == 16, "payloads behind headers stay 16-byte aligned");

struct wh_slots { /* offsets in bytes from the start of the sender's row */
	uint64_t headers, payloads;
	uint32_t header_stride, payload_stride;
	uint32_t window; /* slots */
	bool apart;
};

/* Lays the slots out from `offset`, a multiple of 64. Returns the bytes taken. window >= 1. */
uint64_t wh_slots_lay(struct wh_slots *slots, uint64_t offset, uint32_t window, uint32_t message_bytes, bool apart);

/* A header is written and read word by word, each word once: what a peer's memory held when it was checked is what is
 * used, whatever the peer does to it meanwhile. The order between slots and their guard is the guard's matter. */
static inline void wh_slot_write(const struct wh_slots *slots, unsigned char *row, uint32_t slot,
				 struct wh_slot_header header)
{
	wh_word *at = (wh_word *)(void *)(row + slots->headers + (uint64_t)slot * slots->header_stride);

	wh_store_relaxed(&at[0], header.round);
	wh_store_relaxed(&at[1], (uint64_t)header.more << 48 | (uint64_t)header.aborted << 32 | header.bytes);
}

static inline struct wh_slot_header wh_slot_read(const struct wh_slots *slots, const unsigned char *row, uint32_t slot)
{
	const wh_word *at =
		(const wh_word *)(const void *)(row + slots->headers + (uint64_t)slot * slots->header_stride);
	uint64_t second = wh_load_relaxed(&at[1]);

	return (struct wh_slot_header){.round = wh_load_relaxed(&at[0]),
				       .bytes = (uint32_t)second,
				       .aborted = (uint16_t)(second >> 32),
				       .more = (uint16_t)(second >> 48)};
}

/* It is all of a message, of at most so many bytes. */
static inline bool wh_slot_holds_one(struct wh_slot_header header, uint32_t longest)
{
	return ((uint64_t)header.more << 48 | (uint64_t)header.aborted << 32 | header.bytes) <= longest;
}

static inline uint64_t wh_slot_payload(const struct wh_slots *slots, uint32_t slot)
{
	return slots->payloads + (uint64_t)slot * slots->payload_stride;
}

/* Small slots are prefetched so many slots before they are read or written (docs/decisions/0013). */
#define WH_SLOTS_AHEAD 8
#define WH_SLOT_SMALL 512 /* bytes of payload; all lines of it */

static inline uint32_t wh_slot_ahead(const struct wh_slots *slots, uint32_t slot)
{
	return slot + WH_SLOTS_AHEAD < slots->window ? slot + WH_SLOTS_AHEAD : slot + WH_SLOTS_AHEAD - slots->window;
}

/* The slot after `slot` in a ring of `window`. */
static inline uint32_t wh_slot_after(uint32_t slot, uint32_t window)
{
	return slot + 1 == window ? 0 : slot + 1;
}

/* The one that comes `count` <= window slots later. */
static inline uint32_t wh_slot_behind(uint32_t slot, uint32_t count, uint32_t window)
{
	return count < window - slot ? slot + count : slot + count - window;
}

static inline uint32_t wh_slot_next(const struct wh_slots *slots, uint32_t slot)
{
	return wh_slot_after(slot, slots->window);
}

/* ---- messages in several slots: message_bytes is a multiple of 16, and all parts but the last are full ---- */

static inline uint32_t wh_slot_part_bytes(const struct wh_slots *slots)
{
	return slots->apart ? slots->payload_stride : slots->payload_stride - (uint32_t)sizeof(struct wh_slot_header);
}

/* Where `bytes` lie that begin in `slot`, which has its payload at `first`. Payloads that are neighbours are one piece. */
static inline struct wh_pieces wh_slot_pieces(const struct wh_slots *slots, uint32_t slot, const unsigned char *first,
					      uint64_t bytes)
{
	uint32_t part = wh_slot_part_bytes(slots);
	size_t before_wrap = (size_t)(slots->window - slot) * part;

	return wh_pieces_count((struct wh_pieces){.begin = first,
						  .wrapped = first - (size_t)slot * slots->payload_stride,
						  .bytes = bytes,
						  .before_wrap = before_wrap,
						  .piece_bytes = slots->apart ? (size_t)slots->window * part : part,
						  .stride = slots->payload_stride});
}

#endif
