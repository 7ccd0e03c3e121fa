/* fuzz_frames.c - any bytes as frames of tcp, pushes and operations on regions: nothing may break, and what is accepted says the same
 * when it is put again. Messages of the session: fuzz_messages.c.
 *
 *     cmake -S . -B build/fuzz -DCMAKE_C_COMPILER=clang -DWHORL_FUZZ=ON && cmake --build build/fuzz --target fuzz_frames
 *     build/fuzz/tests/fuzz/fuzz_frames -max_total_time=600 -max_len=8192 CORPUS_DIRECTORY
 */
#include <stdlib.h>
#include <string.h>

#include "transport/tcp/frame.h"

#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

static unsigned char out[WH_HEAD_BYTES + WH_BODY_MAX];

static void check_push(const struct wh_message_head *head, const unsigned char *table)
{
	static struct wh_tcp_span spans[WH_TCP_RANGES_MAX];
	static struct wh_tcp_word words[WH_TCP_WORDS_MAX];
	uint64_t sum = wh_tcp_table_bytes(head);

	if (!wh_tcp_table_take(head, table, spans, words))
		return;
	if (wh_tcp_is_relayed(head)) {
		wh_tcp_owner_put(out, wh_tcp_owner_take(table));
		REQUIRE(head->ranges > 0 && memcmp(out, table, WH_TCP_OWNER_BYTES) == 0);
		table += WH_TCP_OWNER_BYTES;
	}
	for (uint32_t i = 0; i < head->ranges; i++) {
		wh_tcp_span_put(out, &spans[i]);
		REQUIRE(memcmp(out, table + i * WH_TCP_RANGE_BYTES, WH_TCP_RANGE_BYTES) == 0);
		REQUIRE(spans[i].bytes > 0 && spans[i].offset + spans[i].bytes > spans[i].offset);
		sum += spans[i].bytes;
	}
	REQUIRE(sum == head->bytes);
	for (uint32_t i = 0; i < head->words; i++)
		REQUIRE(words[i].offset % 8 == 0);
}

static void check_remote(const struct wh_message_head *head, const unsigned char *body)
{
	static uint64_t words[WH_REMOTE_BYTES_MAX / 8];
	struct wh_remote_op op;

	if (head->kind == WH_TCP_REMOTE && wh_tcp_take_remote(&op, words, head, body)) {
		REQUIRE(wh_tcp_put_remote(out, &op) == WH_HEAD_BYTES + head->bytes);
		REQUIRE(memcmp(out + WH_HEAD_BYTES, body, head->bytes) == 0);
	}
	if (head->kind == WH_TCP_REMOTE_DONE) {
		wh_tcp_take_words(words, body, head->bytes);
		REQUIRE(wh_tcp_put_done(out, WHORL_OK, 0, words, head->bytes) == WH_HEAD_BYTES + head->bytes);
		REQUIRE(memcmp(out + WH_HEAD_BYTES, body, head->bytes) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wh_message_head head;

	while (size >= WH_HEAD_BYTES && wh_tcp_head_take(&head, data)) { /* one after another, as they come */
		size_t wanted = head.kind == WH_MESSAGE_PUSH ? wh_tcp_table_bytes(&head) : head.bytes;
		const uint8_t *body = data + WH_HEAD_BYTES;

		if (size - WH_HEAD_BYTES < wanted)
			break;
		if (head.kind == WH_MESSAGE_PUSH)
			check_push(&head, body);
		else
			check_remote(&head, body);
		data += WH_HEAD_BYTES + wanted;
		size -= WH_HEAD_BYTES + wanted;
	}
	return 0;
}
