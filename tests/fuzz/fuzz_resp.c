/* fuzz_resp.c - any bytes from a client of examples/kv: nothing may break, it must not matter how they are cut, and what is a command
 * is executed.
 *
 * The first byte of the input says how they are cut: into parts of that many bytes, 0: not at all.
 *
 *     cmake -S . -B build/fuzz -DCMAKE_C_COMPILER=clang -DWHORL_FUZZ=ON && cmake --build build/fuzz --target fuzz_resp
 *     build/fuzz/tests/fuzz/fuzz_resp -max_total_time=300 -max_len=2048 CORPUS_DIRECTORY
 */
#include <stdlib.h>
#include <string.h>

#include "examples/kv/commands.h"

#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

#define REPLY_MAX 65536

static const struct kv_limits limits = {4096, 8192, 1024};

struct outcome {
	uint32_t commands;
	bool error;
	struct kv_store_figures state;
};

static void execute(struct kv_store *store, const struct kv_parser *parser)
{
	struct kv_bytes call = {0}, reply = {0};
	enum kv_id id;

	REQUIRE(parser->count > 0 && parser->count <= limits.arguments);
	for (uint32_t i = 0; i < parser->count; i++)
		REQUIRE(parser->arguments[i].bytes <= limits.argument_bytes);
	if (kv_check_command(parser->arguments, parser->count, &id, &reply) && !(kv_commands[id].flags & KV_LOCAL)) {
		(void)kv_command_slot(id, parser->arguments, parser->count);
		kv_encode_begin(&call, 1 << 20, 4096);
		kv_encode_command(&call, id, parser->arguments, parser->count);
		REQUIRE(kv_execute(store, call.data, call.used, REPLY_MAX, &reply));
		REQUIRE(reply.used > 0 && reply.used < 2 * REPLY_MAX);
	} else if (reply.used > 0) {
		REQUIRE(reply.data[0] == '-' && memchr(reply.data, '\n', reply.used) == reply.data + reply.used - 1);
	}
	kv_bytes_clear(&call, 0);
	kv_bytes_clear(&reply, 0);
}

/* Each part has a place of its own, so that it is seen if it is read beyond its end. */
static struct outcome parse(const uint8_t *data, size_t size, size_t portion)
{
	struct kv_store *store = kv_store_new();
	struct kv_parser parser = {0};
	struct outcome outcome = {0};

	REQUIRE(store != NULL);
	for (size_t at = 0; at < size && !outcome.error; at += portion) {
		size_t count = portion < size - at ? portion : size - at, left = count;
		char *part = malloc(count);
		const char *from = part;
		enum kv_parsed parsed;

		REQUIRE(part != NULL);
		memcpy(part, data + at, count);
		while ((parsed = kv_parse(&parser, &limits, &from, &left)) == KV_PARSED_COMMAND) {
			outcome.commands++;
			execute(store, &parser);
		}
		REQUIRE(parsed == KV_PARSED_ERROR || left == 0);
		REQUIRE((parsed == KV_PARSED_ERROR) == (parser.error[0] != '\0'));
		outcome.error = parsed == KV_PARSED_ERROR;
		REQUIRE(kv_parser_memory(&parser) < 8 * size + 8192);
		free(part);
	}
	kv_store_get_figures(store, &outcome.state);
	kv_parser_free(&parser);
	kv_store_free(store);
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
	REQUIRE(whole.commands == cut.commands && whole.error == cut.error);
	REQUIRE(whole.state.digest == cut.state.digest && whole.state.used == cut.state.used);
	return 0;
}
