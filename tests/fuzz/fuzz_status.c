/* fuzz_status.c - any bytes as the status of a node: nothing may break, and what is accepted can be written again, and read as the
 * same.
 *
 *     cmake -S . -B build/fuzz -DCMAKE_C_COMPILER=clang -DWHORL_FUZZ=ON && cmake --build build/fuzz --target fuzz_status
 *     build/fuzz/tests/fuzz/fuzz_status -max_total_time=600 -max_len=4096 CORPUS_DIRECTORY
 *
 * An answer is long before it is one. So the input is changes to a small one that is right: a place (two bytes), and what stands
 * there. If the first byte is odd the input is the answer itself; if the next bit is set the answer is in the version before.
 */
#include <stdlib.h>
#include <string.h>

#include "group/status/status.h"

#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

#define BYTES 65536

static size_t write_example(unsigned char *out, uint32_t version)
{
	struct whorl_subgroup_stats shard_stats = {.delivered = 1};
	struct whorl_node_stats stats = {.steps = 1, .complaints = {1, 2}};
	struct whorl_status_member members[] = {{.id = 1}, {.id = 2}};
	struct whorl_status_place places[] = {{.id = 1}, {.id = 2}};
	struct whorl_log_stats log = {.persisted = 1};
	struct whorl_status_missing missing[] = {{.id = 1, .address = "b:1"}, {.id = 2}};
	struct whorl_status_shard shards[] = {{.name = "a",
					       .shards = 1,
					       .members = 2,
					       .stats = &shard_stats,
					       .place_count = 2,
					       .places = places,
					       .durable = true,
					       .log = &log},
					      {.name = "b", .shards = 1, .condition = WHORL_SHARD_GONE}};
	struct whorl_status_worker workers[] = {{.calls = 1}, {.calls = 2}};
	const struct whorl_status status = {.group = "g",
					    .leader = 1,
					    .tie_breaker = WHORL_NOBODY,
					    .stats = &stats,
					    .member_count = 2,
					    .members = members,
					    .shard_count = 2,
					    .shards = shards,
					    .worker_count = 2,
					    .workers = workers,
					    .restart = WHORL_RESTART_ASKS,
					    .missing_count = 2,
					    .missing = missing};

	return wh_status_encode(out, BYTES, &status, version);
}

static void check(const unsigned char *bytes, size_t count)
{
	static unsigned char one[2 * BYTES], other[2 * BYTES];
	struct whorl_status *status, *again;
	struct wh_error err;
	uint32_t version;
	size_t length;

	if (wh_status_decode(&status, bytes, count, &err) != WHORL_OK) {
		REQUIRE(status == NULL && err.text[0] != '\0');
		return;
	}
	/* It may be shorter: texts have lost what controls terminals, and what was behind a zero. */
	version = bytes[4]; /* behind the four bytes that all begin with */
	length = wh_status_encode(one, sizeof one, status, version);
	REQUIRE(length > 0 && length <= count);
	REQUIRE(wh_status_decode(&again, one, length, &err) == WHORL_OK);
	REQUIRE(wh_status_encode(other, sizeof other, again, version) == length && memcmp(one, other, length) == 0);
	whorl_status_free(status);
	whorl_status_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned char bytes[BYTES];
	size_t count;

	if (size > 0 && (data[0] & 1) != 0) {
		check(data + 1, size - 1);
		return 0;
	}
	count = write_example(bytes, size > 0 && (data[0] & 2) != 0 ? WH_STATUS_VERSION_LEAST : WH_STATUS_VERSION);
	for (size_t i = 1; i + 2 < size; i += 3)
		bytes[((size_t)data[i] << 8 | data[i + 1]) % count] = data[i + 2];
	check(bytes, count);
	return 0;
}
