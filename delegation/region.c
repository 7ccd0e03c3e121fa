/* region.c - see region.h. */
#include "delegation/region.h"

/* Word by word: each is the peer's to change. */
static void copy_words(void *into, const wh_word *from, size_t bytes)
{
	unsigned char *at = into;

	for (size_t i = 0; i < bytes / sizeof(uint64_t); i++) {
		uint64_t word = wh_load_relaxed(&from[i]);

		memcpy(at + i * sizeof(word), &word, sizeof(word));
	}
}

enum wh_taken wh_region_greeting(const wh_word *words, struct wh_greeting *out)
{
	const size_t last = sizeof(*out) / sizeof(uint64_t) - 1;
	uint64_t guard = wh_load_acquire(&words[last]); /* partner: the write of the peer */

	if (guard == 0)
		return WH_TAKEN_NOTHING;
	copy_words(out, words, last * sizeof(uint64_t));
	out->guard = guard;
	if (guard != WH_REGION_VERSION || out->workers == 0 || out->workers > WHORL_WORKERS_MAX ||
	    out->dedicated > out->workers || out->incarnation == 0)
		return WH_TAKEN_GARBAGE;
	return WH_TAKEN;
}

#define TRAILER (WH_SLOT_ROOM / sizeof(uint64_t))

static const wh_word *slot_behind(const wh_word *words, size_t ring, uint64_t last)
{
	return words + wh_region_place(ring, last + 1) / sizeof(uint64_t);
}

/* What the guard is until the batch behind `last` comes. */
static uint64_t guard_before(uint64_t last)
{
	return last < WH_RING ? 0 : last + 1 - WH_RING;
}

bool wh_region_has(const wh_word *words, size_t ring, uint64_t last)
{
	return wh_load_relaxed(&slot_behind(words, ring, last)[TRAILER + 1]) != guard_before(last);
}

enum wh_taken wh_region_batch(const wh_word *words, size_t ring, uint64_t last, struct wh_slot *out)
{
	const wh_word *slot = slot_behind(words, ring, last);
	uint64_t guard = wh_load_acquire(&slot[TRAILER + 1]); /* partner: the write of the peer */
	int begins;

	if (guard == guard_before(last))
		return WH_TAKEN_NOTHING;
	if (guard != last + 1)
		return WH_TAKEN_GARBAGE;
	copy_words((unsigned char *)out + WH_SLOT_ROOM, &slot[TRAILER], sizeof(uint64_t));
	begins = (int16_t)out->begins;
	if (begins > WH_SLOT_ROOM || begins < -WH_SLOT_MORE || begins % 8 != 0)
		return WH_TAKEN_GARBAGE;
	copy_words((unsigned char *)out + begins, slot + begins / 8, (size_t)(WH_SLOT_ROOM - begins));
	return WH_TAKEN;
}
