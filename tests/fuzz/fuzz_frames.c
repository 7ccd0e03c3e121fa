/* fuzz_frames.c - any bytes as a frame: nothing may break, and what is accepted says the same when it is put again.
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

static unsigned char out[WH_HEAD_BYTES + WH_BODY_MAX + WH_MESSAGE_REASON_BYTES];

static void check_push(const struct wh_message_head *head, const unsigned char *table)
{
	static struct wh_tcp_span spans[WH_TCP_RANGES_MAX];
	static struct wh_tcp_word words[WH_TCP_WORDS_MAX];
	uint64_t sum = wh_tcp_table_bytes(head->ranges, head->words);

	if (!wh_tcp_table_take(head, table, spans, words))
		return;
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

static void check_first(const struct wh_message_head *head, const unsigned char *body)
{
	struct wh_hello hello, hello_again;
	struct wh_opening opening;
	struct wh_refused refused;
	uint32_t version;

	if (head->kind == WH_MESSAGE_HELLO && wh_message_take_hello(&hello, WH_TCP_VERSION, head, body) &&
	    hello.version == WH_TCP_VERSION) {
		REQUIRE(memchr(hello.group, 0, sizeof(hello.group)) != NULL);
		/* what a transport has added is judged by it */
		REQUIRE(wh_message_put_hello(out, &hello, head->bytes - WH_HELLO_BYTES) ==
			WH_HEAD_BYTES + WH_HELLO_BYTES);
		REQUIRE(wh_message_take_hello(&hello_again, WH_TCP_VERSION, head, out + WH_HEAD_BYTES));
		REQUIRE(hello_again.incarnation == hello.incarnation && strcmp(hello_again.group, hello.group) == 0);
	}
	if (head->kind == WH_MESSAGE_STREAM && wh_message_take_opening(&opening, WH_TCP_VERSION, head, body) &&
	    opening.version == WH_TCP_VERSION) {
		REQUIRE(wh_message_put_opening(out, &opening) == WH_HEAD_BYTES + head->bytes);
		REQUIRE(memcmp(out + WH_HEAD_BYTES, body, head->bytes) == 0);
	}
	if (head->kind == WH_MESSAGE_REFUSED && wh_message_take_refused(&refused, head, body)) {
		REQUIRE(memchr(refused.reason, 0, sizeof(refused.reason)) != NULL);
		REQUIRE(wh_message_put_refused(out, WH_TCP_VERSION, &refused) <= WH_HEAD_BYTES + head->bytes);
	}
	if (head->kind == WH_MESSAGE_QUERY)
		(void)wh_message_take_query(&version, body);
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
	struct wh_offer offer;
	struct wh_message_head head;

	while (size >= WH_HEAD_BYTES && wh_tcp_head_take(&head, data)) { /* one after another, as they come */
		size_t wanted = head.kind == WH_MESSAGE_PUSH ? wh_tcp_table_bytes(head.ranges, head.words) : head.bytes;
		const uint8_t *body = data + WH_HEAD_BYTES;

		if (size - WH_HEAD_BYTES < wanted)
			break;
		if (head.kind == WH_MESSAGE_PUSH)
			check_push(&head, body);
		else if (head.kind == WH_MESSAGE_OFFER && wh_message_take_offer(&offer, &head, body))
			REQUIRE(wh_message_put_offer(out, &offer, head.bytes - WH_OFFER_BYTES) ==
					WH_HEAD_BYTES + WH_OFFER_BYTES &&
				memcmp(out + WH_HEAD_BYTES, body, WH_OFFER_BYTES) == 0);
		else
			check_first(&head, body);
		check_remote(&head, body);
		data += WH_HEAD_BYTES + wanted;
		size -= WH_HEAD_BYTES + wanted;
	}
	return 0;
}
