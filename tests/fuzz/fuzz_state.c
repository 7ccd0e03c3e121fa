/* fuzz_state.c - any bytes as the stream of a state: nothing may break, what is accepted must be right, and it must not matter how
 * the bytes are cut.
 *
 * The first byte of the input says how: into parts of that many bytes, 0: not at all.
 *
 *     cmake -S . -B build/fuzz -DCMAKE_C_COMPILER=clang -DWHORL_FUZZ=ON && cmake --build build/fuzz --target fuzz_state
 *     build/fuzz/tests/fuzz/fuzz_state -max_total_time=300 -max_len=8192 CORPUS_DIRECTORY
 */
#include <stdlib.h>
#include <string.h>

#include "state/wire.h"

#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

struct outcome { /* of a whole stream */
	uint32_t headers;
	uint64_t bytes, digest; /* of the state in it */
	enum wh_state_part last;
};

static void check_header(const struct wh_state_header *header)
{
	bool seen[WH_STATE_SENDERS_MAX] = {false};

	REQUIRE(header->subgroup == 0 && header->shard == 0 && header->view >= 3);
	REQUIRE(header->position.count <= WH_STATE_SENDERS_MAX);
	for (uint32_t i = 0; i < header->position.count; i++) {
		REQUIRE(header->position.of[i].id < WH_STATE_SENDERS_MAX);
		REQUIRE(!seen[header->position.of[i].id]);
		seen[header->position.of[i].id] = true;
	}
}

/* Takes in one part, all of which must be used unless the stream has ended. */
static void take(struct outcome *outcome, struct wh_state_parser *parser, const unsigned char *from,
		 const unsigned char *end)
{
	enum wh_state_part part;

	while ((part = wh_state_parse(parser, &from, end)) != WH_PART_NONE) {
		REQUIRE(outcome->last != WH_PART_END && outcome->last != WH_PART_BROKEN &&
			outcome->last != WH_PART_STALE);
		REQUIRE((part == WH_PART_BROKEN) == (parser->wrong != NULL));
		if (part == WH_PART_HEADER) {
			check_header(&parser->header);
			outcome->headers++;
		} else if (part == WH_PART_BYTES || part == WH_PART_REFUSED || part == WH_PART_END) {
			REQUIRE(outcome->headers == 1);
		}
		if (part == WH_PART_BYTES) {
			REQUIRE(parser->count > 0 && parser->bytes + parser->count == from && from <= end);
			for (size_t i = 0; i < parser->count; i++)
				outcome->digest = outcome->digest * 31 + parser->bytes[i];
			outcome->bytes += parser->count;
		}
		outcome->last = part;
	}
	REQUIRE(from == end || parser->at == WH_AT_END);
}

/* Each part has a place of its own, so that it is seen if it is read beyond its end. */
static struct outcome parse(const uint8_t *data, size_t size, size_t portion)
{
	struct wh_state_parser parser;
	struct outcome outcome = {.last = WH_PART_NONE};

	wh_state_parser_init(&parser, 0, 0, 3);
	for (size_t at = 0; at < size; at += portion) {
		size_t count = portion < size - at ? portion : size - at;
		unsigned char *part = malloc(count);

		if (part == NULL)
			break;
		memcpy(part, data + at, count);
		take(&outcome, &parser, part, part + count);
		free(part);
	}
	return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole, cut;

	if (size < 2)
		return 0;
	whole = parse(data + 1, size - 1, size);
	cut = parse(data + 1, size - 1, data[0] > 0 ? data[0] : size);
	REQUIRE(whole.headers == cut.headers && whole.bytes == cut.bytes && whole.digest == cut.digest);
	REQUIRE(whole.last == cut.last);
	return 0;
}
