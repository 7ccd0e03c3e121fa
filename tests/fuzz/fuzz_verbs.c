/* fuzz_verbs.c - whatever a peer of the RDMA transport sends: the first byte says as what it is read. What is good is written again, and
 * must be the same. */
#include <stdlib.h>
#include <string.h>

#include "transport/verbs/message.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define ROW_BYTES (UINT64_C(1) << 30)

#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (false)

static void read_offer(const unsigned char *data, size_t size)
{
	struct wh_row_part *parts = malloc(WH_VERBS_PARTS_MAX * sizeof(*parts)); /* its end is watched */
	unsigned char again[WH_OWN_OFFER_MAX];
	struct wh_verbs_offer offer;
	uint64_t bytes = 0;
	size_t count;

	if (parts != NULL && wh_verbs_take_offer(&offer, parts, &count, data, size, ROW_BYTES)) {
		for (size_t i = 0; i < count; i++) {
			REQUIRE(parts[i].bytes > 0 && parts[i].offset + parts[i].bytes <= ROW_BYTES);
			REQUIRE(i == 0 || parts[i - 1].offset + parts[i - 1].bytes <= parts[i].offset);
			bytes += parts[i].bytes;
		}
		REQUIRE(offer.base + bytes >= offer.base);
		REQUIRE(wh_verbs_put_offer(again, &offer, parts, count) == size && memcmp(again, data, size) == 0);
	}
	free(parts);
}

static void read_message(const unsigned char *data, size_t size)
{
	unsigned char again[WH_VERBS_MESSAGE_MAX];
	struct wh_verbs_message message;
	struct wh_message_head head;

	if (size < WH_HEAD_BYTES || !wh_message_head_take(&head, data) || head.bytes != size - WH_HEAD_BYTES ||
	    !wh_verbs_take_message(&message, &head, data + WH_HEAD_BYTES))
		return;
	REQUIRE(wh_verbs_put_message(again, &message) == size);
	REQUIRE(memcmp(again + WH_HEAD_BYTES, data + WH_HEAD_BYTES, head.bytes) == 0);
	REQUIRE(message.kind != WH_VERBS_GRANT || message.address + message.bytes >= message.address);
}

static void read_request(const unsigned char *data, size_t size)
{
	unsigned char again[WH_VERBS_REQUEST_BYTES];
	struct wh_verbs_request request;

	if (!wh_verbs_take_request(&request, data, size))
		return;
	wh_verbs_put_request(again, &request);
	REQUIRE(memcmp(again, data, sizeof(again)) == 0);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	if (size == 0)
		return 0;
	switch (data[0] % 4) {
	case 0:
		read_offer(data + 1, size - 1);
		break;
	case 1:
		read_message(data + 1, size - 1);
		break;
	case 2:
		read_request(data + 1, size - 1);
		break;
	default:
		(void)wh_verbs_take_hello(data + 1, size - 1);
	}
	return 0;
}
