/* fuzz_batch.c - any bytes as a batch of calls, and as one of answers: what is read lies within the slot, and a batch that is whole is read
 * to its end, and is whole when it is written again.
 *
 *     cmake -S . -B build/fuzz -DCMAKE_C_COMPILER=clang -DWHORL_FUZZ=ON && cmake --build build/fuzz --target fuzz_batch
 *     build/fuzz/tests/fuzz/fuzz_batch -max_total_time=600 -max_len=2048 CORPUS_DIRECTORY
 *
 * The input: where the batch begins and its count, two bytes each, a byte of flags, and what stands at the end of the slot.
 */
#include <stdlib.h>
#include <string.h>

#include "delegation/batch.h"

#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

/* A byte of it, so that a sanitizer sees where it lies. */
static unsigned touch(const unsigned char *data, size_t bytes)
{
	unsigned sum = 0;

	for (size_t i = 0; i < bytes; i++)
		sum += data[i];
	return sum;
}

static unsigned read_calls(const struct wh_slot *slot, struct wh_slot *again)
{
	const unsigned char *args;
	struct wh_record record;
	struct wh_reader reader;
	unsigned sum = 0, count = 0;

	if (!wh_reader_of(&reader, slot)) {
		REQUIRE(!wh_batch_is_whole(slot));
		return 0;
	}
	memset(again, 0, sizeof(*again));
	again->begins = slot->begins;
	while (wh_read_record(&reader, &record, &args)) {
		size_t offset = (size_t)(args - slot->room) - sizeof(record);

		sum += touch(args, record.bytes & WH_RECORD_BYTES);
		memcpy(again->room + offset, &record, sizeof(record));
		memcpy(again->room + offset + sizeof(record), args, record.bytes & WH_RECORD_BYTES);
		count++;
	}
	again->count = (uint16_t)count;
	if (wh_batch_is_whole(slot))
		REQUIRE(count == slot->count && reader.at == slot->room + WH_SLOT_ROOM && wh_batch_is_whole(again));
	return sum;
}

static unsigned read_answers(const struct wh_slot *slot, uint32_t bytes)
{
	const unsigned char *data;
	struct wh_answer answer;
	struct wh_reader reader;
	unsigned sum = 0;

	if (!wh_reader_of(&reader, slot))
		return 0;
	for (unsigned i = 0; i < slot->count; i++) {
		if (!wh_read_answer(&reader, (slot->flags & WH_BATCH_STATUSES) != 0, bytes, &answer, &data))
			break;
		sum += touch(data, answer.bytes);
	}
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct wh_slot again;
	struct wh_slot *slot = calloc(1, sizeof(*slot)); /* of its length, so what reads beyond it is seen */
	size_t bytes;

	REQUIRE(slot != NULL);
	if (size >= 5) {
		memcpy(&slot->begins, data, 2);
		memcpy(&slot->count, data + 2, 2);
		slot->flags = data[4];
		bytes = size - 5 < WH_SLOT_ROOM ? size - 5 : WH_SLOT_ROOM;
		memcpy(slot->room + WH_SLOT_ROOM - bytes, data + 5, bytes);
	}
	REQUIRE(read_calls(slot, &again) + read_answers(slot, 8) + read_answers(slot, UINT32_MAX) < UINT32_MAX);
	free(slot);
	return 0;
}
