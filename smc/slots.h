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

struct wh_slot_header {
	uint64_t round;   /* of the sender's rounds, the one that this slot is */
	uint32_t bytes;   /* of the message */
	uint32_t aborted; /* 1: a round and no message */
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

static inline struct wh_slot_header *wh_slot_header(const struct wh_slots *slots, unsigned char *row, uint32_t slot)
{
	return (struct wh_slot_header *)(void *)(row + slots->headers + (uint64_t)slot * slots->header_stride);
}

static inline const struct wh_slot_header *wh_slot_header_of(const struct wh_slots *slots, const unsigned char *row,
							     uint32_t slot)
{
	return (const struct wh_slot_header *)(const void *)(row + slots->headers +
							     (uint64_t)slot * slots->header_stride);
}

static inline uint64_t wh_slot_payload(const struct wh_slots *slots, uint32_t slot)
{
	return slots->payloads + (uint64_t)slot * slots->payload_stride;
}

/* The slot after `slot`. */
static inline uint32_t wh_slot_next(const struct wh_slots *slots, uint32_t slot)
{
	return slot + 1 == slots->window ? 0 : slot + 1;
}

#endif
