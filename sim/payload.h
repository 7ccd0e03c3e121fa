/* payload.h - what a message of a run holds: it follows from subgroup, sender, index and length, so that
 * its receiver knows what it must be.
 */
#ifndef WH_SIM_PAYLOAD_H
#define WH_SIM_PAYLOAD_H

#include <stdbool.h>
#include <string.h>

#include "transport/dice.h"

struct wh_payload_id {
	uint32_t subgroup, sender; /* sender: what counts its messages, a node or one of its lives */
	uint64_t index;
	size_t bytes;
};

static inline uint64_t wh_payload_seed(const struct wh_payload_id *id)
{
	return wh_mix(wh_mix((uint64_t)id->subgroup << 32 | (id->sender + 1)) + id->index) ^ id->bytes;
}

static inline void wh_payload_fill(unsigned char *data, const struct wh_payload_id *id)
{
	struct wh_dice dice = {wh_payload_seed(id)};
	size_t at = 0;

	for (; at + 8 <= id->bytes; at += 8) {
		uint64_t word = wh_dice_roll(&dice);

		memcpy(data + at, &word, 8);
	}
	for (; at < id->bytes; at++)
		data[at] = (unsigned char)wh_dice_roll(&dice);
}

/* The first byte that is not what it must be; `bytes` if all are right. */
static inline size_t wh_payload_check(const unsigned char *data, const struct wh_payload_id *id)
{
	struct wh_dice dice = {wh_payload_seed(id)};
	size_t at = 0;

	for (; at + 8 <= id->bytes; at += 8) {
		uint64_t word = wh_dice_roll(&dice);

		if (memcmp(data + at, &word, 8) != 0)
			return at;
	}
	for (; at < id->bytes; at++)
		if (data[at] != (unsigned char)wh_dice_roll(&dice))
			return at;
	return id->bytes;
}

/* What an application has in a slot while it makes up its mind: no member may ever see it. */
static inline void wh_payload_scribble(unsigned char *data, size_t bytes)
{
	memset(data, 0xd1, bytes);
}

#endif
