/* state_place.c - see state_place.h. */
#include "group/logs/state_place.h"

#include "base/number.h"

size_t wh_state_place_bytes(uint32_t senders)
{
	return WH_STATE_PLACE_HEAD_BYTES + WH_STATE_PLACE_SENDER_BYTES * (size_t)senders;
}

void wh_state_place_put(unsigned char *at, uint64_t key, const struct whorl_position *position)
{
	at = wh_put_number(at, key, 8);
	at = wh_put_number(at, position->view, 8);
	at = wh_put_number(at, position->sequence, 8);
	at = wh_put_number(at, position->sender_count, 8);
	for (uint32_t i = 0; i < position->sender_count; i++) {
		const struct whorl_position_of *of = WHORL_AT(whorl_position_of, position->senders, i);

		at = wh_put_number(at, of->id, 8);
		at = wh_put_number(at, of->next, 8);
		at = wh_put_number(at, of->incarnation, 8);
	}
}

static bool take_head(struct wh_reader *reader, struct wh_log_position *out)
{
	out->point.key = wh_take_number(reader, 8);
	out->point.number = wh_take_number(reader, 8);
	out->point.place = wh_take_number(reader, 8);
	out->count = (uint32_t)wh_take_within(reader, 8, 0, WH_LOG_SENDERS_MAX);
	return reader->ok && out->point.key != 0;
}

size_t wh_state_place_needs(const unsigned char *bytes, size_t count)
{
	struct wh_reader reader = {bytes, count, true};
	struct wh_log_position head;

	if (count < WH_STATE_PLACE_HEAD_BYTES)
		return WH_STATE_PLACE_HEAD_BYTES;
	return take_head(&reader, &head) ? wh_state_place_bytes(head.count) : SIZE_MAX;
}

bool wh_state_place_take(const unsigned char *bytes, size_t count, struct wh_log_position *out)
{
	struct wh_reader reader = {bytes, count, true};

	if (!take_head(&reader, out) || count != wh_state_place_bytes(out->count))
		return false;
	for (uint32_t i = 0; i < out->count; i++) {
		out->of[i].id = (uint32_t)wh_take_number(&reader, 8);
		out->of[i].next = wh_take_number(&reader, 8);
		out->of[i].incarnation = wh_take_number(&reader, 8);
	}
	return reader.ok;
}
