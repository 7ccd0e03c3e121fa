/* slots.c - see slots.h. */
#include "smc/slots.h"

#include "base/atomics.h"

static uint64_t round_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) / to * to;
}

uint64_t wh_slots_lay(struct wh_slots *slots, uint64_t offset, uint32_t window, uint32_t message_bytes, bool apart)
{
	uint32_t header = sizeof(struct wh_slot_header);
	uint32_t payload = message_bytes ? (uint32_t)round_up(message_bytes, header) : header;

	slots->window = window;
	slots->apart = apart;
	slots->headers = offset;
	if (apart) {
		slots->header_stride = header;
		slots->payload_stride = payload;
		slots->payloads = offset + round_up((uint64_t)window * header, WH_CACHE_LINE);
		return slots->payloads + (uint64_t)window * payload - offset;
	}
	slots->header_stride = slots->payload_stride = header + payload;
	slots->payloads = offset + header;
	return (uint64_t)window * (header + payload);
}
