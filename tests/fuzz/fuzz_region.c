/* fuzz_region.c - any bytes as the region that a worker of another node writes to: what is taken from it is a greeting that can be, or a batch
 * that lies within its slot.
 *
 *     cmake -S . -B build/fuzz -DCMAKE_C_COMPILER=clang -DWHORL_FUZZ=ON && cmake --build build/fuzz --target fuzz_region
 *     build/fuzz/tests/fuzz/fuzz_region -max_total_time=600 -max_len=4096 CORPUS_DIRECTORY
 *
 * The input: the region, from its end backwards; what is missing before is 0.
 */
#include <stdlib.h>
#include <string.h>

#include "delegation/region.h"

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

static void take_batch(const wh_word *words, size_t offset)
{
	unsigned char *room = calloc(1, WH_SLOT_MORE + WH_SLOT_BYTES); /* so what reads beyond it is seen */
	struct wh_slot *slot = (struct wh_slot *)(void *)(room + WH_SLOT_MORE);
	const unsigned char *args;
	struct wh_record record;
	struct wh_reader reader;
	unsigned count = 0;

	REQUIRE(room != NULL);
	if (wh_region_batch(words, offset, 0, slot) == WH_TAKEN) {
		REQUIRE(wh_reader_in(&reader, slot, WH_SLOT_MORE));
		while (wh_read_record(&reader, &record, &args))
			count++;
		REQUIRE(count <= WH_RECORDS_MOST && (!wh_batch_is_whole_in(slot, WH_SLOT_MORE) || count == slot->count));
	}
	free(room);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	wh_word *words = calloc(1, WH_REGION_BYTES);

	REQUIRE(words != NULL);
	size = size < WH_REGION_BYTES ? size : WH_REGION_BYTES;
	memcpy((unsigned char *)words + WH_REGION_BYTES - size, data, size);
	take_greeting(words);
	take_batch(words, WH_REGION_CALLS);
	take_batch(words, WH_REGION_ANSWERS);
	free(words);
	return 0;
}
