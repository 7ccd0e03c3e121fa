/* fuzz_verbs.c - whatever a peer of the RDMA transport sends: the first byte says as what it is read. */
#include <stdlib.h>
#include <string.h>

#include "transport/verbs/wire.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void read_message(const unsigned char *data, size_t size)
{
	union wh_verbs_message *message = malloc(sizeof(*message)); /* its end is watched */

	if (message == NULL || size > sizeof(*message))
		goto out_free;
	memcpy(message, data, size);
	if (!wh_verbs_message_is_sound(message, size))
		goto out_free;
	if (message->head.kind == WH_VERBS_OFFER && wh_verbs_parts_are_sound(&message->offer, UINT64_C(1) << 30))
		for (uint32_t i = 0; i < message->offer.part_count; i++)
			if (message->offer.parts[i].offset + message->offer.parts[i].bytes > UINT64_C(1) << 30)
				abort();
	if (message->head.kind == WH_VERBS_REFUSED && strlen(message->refused.reason) >= WH_VERBS_REASON_BYTES)
		abort();
out_free:
	free(message);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct wh_verbs_refusal refusal;
	struct wh_verbs_hello hello;

	if (size == 0)
		return 0;
	switch (data[0] % 3) {
	case 0:
		read_message(data + 1, size - 1);
		break;
	case 1:
		if (wh_verbs_read_hello(data + 1, size - 1, &hello) && hello.incarnation == 0)
			abort();
		break;
	default:
		if (wh_verbs_read_refusal(data + 1, size - 1, &refusal) &&
		    strlen(refusal.reason) >= sizeof(refusal.reason))
			abort();
	}
	return 0;
}
