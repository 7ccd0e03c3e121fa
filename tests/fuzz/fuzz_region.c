/* fuzz_region.c - any bytes as the region that a worker of another node writes to: what is taken from it is a greeting that can be, or a batch
 * that lies within its slot.
 *
 *     cmake -S . -B build/fuzz -DCMAKE_C_COMPILER=clang -DWHORL_FUZZ=ON && cmake --build build/fuzz --target fuzz_region
 *     build/fuzz/tests/fuzz/fuzz_region -max_total_time=600 -max_len=4096 CORPUS_DIRECTORY
 *
 * The input, from its end backwards: the slot of the first batch of answers, that of the first batch of calls, the greeting; what is missing
 * before is 0. Each slot is read as that of the first batch, and as that of the next which lies there.
 */
#include <stdlib.h>
#include <string.h>

#include "delegation/region.h"

#define SLOT ((size_t)(WH_SLOT_MORE + WH_SLOT_BYTES))

#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

static void take_greeting(const wh_word *words)
{
	struct wh_greeting greeting;

	if (wh_region_greeting(words, &greeting) == WH_TAKEN)
		REQUIRE(greeting.guard == WH_REGION_VERSION && greeting.workers >= 1 &&
			greeting.workers <= WHORL_WORKERS_MAX && greeting.dedicated <= greeting.workers);
}

static void take_batch(const wh_word *words, size_t ring, uint64_t last)
{
	unsigned char *room = calloc(1, WH_SLOT_MORE + WH_SLOT_BYTES); /* so what reads beyond it is seen */
	struct wh_slot *slot = (struct wh_slot *)(void *)(room + WH_SLOT_MORE);
	const unsigned char *args;
	struct wh_record record;
	struct wh_reader reader;
	enum wh_taken taken;
	unsigned count = 0;

	REQUIRE(room != NULL);
	taken = wh_region_batch(words, ring, last, slot);
	REQUIRE(wh_region_has(words, ring, last) == (taken != WH_TAKEN_NOTHING));
	if (taken == WH_TAKEN) {
		REQUIRE(wh_reader_in(&reader, slot, WH_SLOT_MORE));
		while (wh_read_record(&reader, &record, &args))
			count++;
		REQUIRE(count <= WH_RECORDS_MOST && (!wh_batch_is_whole_in(slot, WH_SLOT_MORE) || count == slot->count));
	}
	free(room);
}

/* The last bytes of the input that are left go to the end of that place. */
static size_t lay(wh_word *words, size_t at, size_t bytes, const uint8_t *data, size_t size)
{
	size_t some = size < bytes ? size : bytes;

	memcpy((unsigned char *)words + at + bytes - some, data + size - some, some);
	return size - some;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	wh_word *words = calloc(1, WH_REGION_BYTES);

	REQUIRE(words != NULL);
	size = lay(words, wh_region_place(WH_REGION_ANSWERS, 1) - WH_SLOT_MORE, SLOT, data, size);
	size = lay(words, wh_region_place(WH_REGION_CALLS, 1) - WH_SLOT_MORE, SLOT, data, size);
	(void)lay(words, 0, sizeof(struct wh_greeting), data, size);
	take_greeting(words);
	for (uint64_t last = 0; last <= WH_RING; last += WH_RING) {
		take_batch(words, WH_REGION_CALLS, last);
		take_batch(words, WH_REGION_ANSWERS, last);
	}
	free(words);
	return 0;
}
