/* fuzz_messages.c - any bytes as messages of a session: nothing may break, and what is accepted says the same when it is put again.
 *
 *     cmake -S . -B build/fuzz -DCMAKE_C_COMPILER=clang -DWHORL_FUZZ=ON && cmake --build build/fuzz --target fuzz_messages
 *     build/fuzz/tests/fuzz/fuzz_messages -max_total_time=600 -max_len=8192 CORPUS_DIRECTORY
 */
#include <stdlib.h>
#include <string.h>

#include "transport/session/message.h"

#define VERSION 1

#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

static unsigned char out[WH_MESSAGE_MAX + WH_MESSAGE_REASON_BYTES];

static void check_head(const struct wh_message_head *head, const unsigned char *bytes)
{
	struct wh_message_head again;

	wh_message_head_put(out, head);
	REQUIRE(wh_message_head_take(&again, out));
	REQUIRE(again.kind == head->kind && again.bytes == head->bytes && again.number == head->number);
	REQUIRE(memcmp(out, bytes, 6) == 0 && memcmp(out + 8, bytes + 8, WH_HEAD_BYTES - 8) == 0);
}

static void check_hello(const struct wh_message_head *head, const unsigned char *body)
{
	struct wh_hello hello, again;

	if (!wh_message_take_hello(&hello, VERSION, head, body) || hello.version != VERSION)
		return;
	REQUIRE(memchr(hello.group, 0, sizeof(hello.group)) != NULL);
	REQUIRE(head->bytes >= WH_HELLO_BYTES && hello.incarnation != 0);
	REQUIRE(wh_message_put_hello(out, &hello, head->bytes - WH_HELLO_BYTES) == WH_HEAD_BYTES + WH_HELLO_BYTES);
	REQUIRE(wh_message_take_hello(&again, VERSION, head, out + WH_HEAD_BYTES));
	REQUIRE(again.incarnation == hello.incarnation && again.call == hello.call && again.node == hello.node);
	REQUIRE(strcmp(again.group, hello.group) == 0);
}

static void check_opening(const struct wh_message_head *head, const unsigned char *body)
{
	struct wh_opening opening;

	if (!wh_message_take_opening(&opening, VERSION, head, body) || opening.version != VERSION)
		return;
	REQUIRE(wh_message_put_opening(out, &opening) == WH_HEAD_BYTES + head->bytes);
	REQUIRE(memcmp(out + WH_HEAD_BYTES, body, head->bytes) == 0);
}

static void check_offer(const struct wh_message_head *head, const unsigned char *body)
{
	struct wh_offer offer;

	if (!wh_message_take_offer(&offer, head, body))
		return;
	REQUIRE(offer.rank < offer.members);
	REQUIRE(wh_message_put_offer(out, &offer, head->bytes - WH_OFFER_BYTES) == WH_HEAD_BYTES + WH_OFFER_BYTES);
	REQUIRE(memcmp(out + WH_HEAD_BYTES, body, WH_OFFER_BYTES) == 0);
}

static void check_refused(const struct wh_message_head *head, const unsigned char *body)
{
	struct wh_refused refused;
	size_t bytes;

	if (!wh_message_take_refused(&refused, head, body))
		return;
	REQUIRE(memchr(refused.reason, 0, sizeof(refused.reason)) != NULL);
	bytes = wh_message_put_refused(out, VERSION, &refused);
	REQUIRE(bytes <= WH_REFUSED_MAX && bytes <= WH_HEAD_BYTES + head->bytes);
}

static void check(const struct wh_message_head *head, const unsigned char *body)
{
	uint32_t version;

	switch (head->kind) {
	case WH_MESSAGE_HELLO:
		check_hello(head, body);
		break;
	case WH_MESSAGE_STREAM:
		check_opening(head, body);
		break;
	case WH_MESSAGE_OFFER:
		check_offer(head, body);
		break;
	case WH_MESSAGE_REFUSED:
		check_refused(head, body);
		break;
	case WH_MESSAGE_QUERY:
		(void)wh_message_take_query(&version, body);
		break;
	case WH_MESSAGE_CONTROL:
		REQUIRE(wh_message_put_control(out, body, head->bytes) == WH_HEAD_BYTES + head->bytes);
		REQUIRE(memcmp(out + WH_HEAD_BYTES, body, head->bytes) == 0);
		break;
	default:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wh_message_head head;

	while (size >= WH_HEAD_BYTES && wh_message_head_take(&head, data)) { /* one after another, as they come */
		check_head(&head, data);
		if (size - WH_HEAD_BYTES < head.bytes)
			break;
		check(&head, data + WH_HEAD_BYTES);
		data += WH_HEAD_BYTES + head.bytes;
		size -= WH_HEAD_BYTES + head.bytes;
	}
	return 0;
}
