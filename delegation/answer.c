/* answer.c - the client's side, from the trustee: answers, and what becomes of each call. */
#include "delegation/link.h"

#include <stdlib.h>

#define ANSWERED_MOST (4 * WHORL_CALL_BYTES_MAX) /* of one batch: a trustee that says more is wrong */

/* ---- what becomes of a call -------------------------------------------------------------------------------------------------- */

static void settle_wait(struct wh_party *me, struct wh_wait *wait, enum whorl_result status, const void *data,
			size_t bytes)
{
	size_t fits = bytes < wait->room ? bytes : wait->room;

	wait->status = status;
	wait->bytes = bytes;
	if (status == WHORL_OK && wait->result != NULL && fits > 0)
		memcpy(wait->result, data, fits);
	wh_wait_done(me, wait);
}

static void run_then(struct wh_party *me, const struct wh_ticket *ticket, enum whorl_result status, const void *data,
		     size_t bytes)
{
	me->in_then = true;
	ticket->then(status, status == WHORL_OK ? data : NULL, status == WHORL_OK ? bytes : 0, ticket->b);
	me->in_then = false;
	me->thens++;
	me->thens_open--;
	while (me->pollers != NULL) {
		struct wh_wait *poller = me->pollers;

		me->pollers = poller->next_poller;
		wh_wait_done(me, poller);
	}
}

static void settle_joined(struct wh_party *me, struct wh_joined *joined, enum whorl_result status, const void *data,
			  size_t bytes)
{
	joined->status = status == WHORL_OK && bytes != joined->result_bytes ? WHORL_IN_DOUBT : status;
	if (joined->status == WHORL_OK && bytes > 0)
		memcpy(joined->result, data, bytes);
	joined->done = true;
	if (joined->wait != NULL)
		wh_wait_done(me, joined->wait);
}

/* A handle has come into being of which its caller has been told that it is in doubt. Without memory it is never dropped. */
static void undo(struct wh_channel *channel, uint64_t id, const void *data, size_t bytes)
{
	struct wh_request toggle = {.function = WH_TOGGLE, .data = &id, .bytes = sizeof(id)};
	struct whorl_trust there = {0};
	struct wh_party *trustee;
	struct wh_place place;

	if (bytes == sizeof(place)) { /* of a move */
		memcpy(&place, data, sizeof(place));
		wh_trust_put(&there, &place);
		if (place.id != id || wh_trustee_of(channel->client->work, &there, &trustee) != WHORL_OK)
			return;
		toggle.property = place.property;
		channel = wh_channel_to(channel->client, trustee);
	} else if (bytes >= sizeof(toggle.property)) {
		memcpy(&toggle.property, data, sizeof(toggle.property));
	}
	if (channel == NULL || wh_issue(channel, &toggle, (struct wh_ticket){0}, NULL) != WHORL_OK)
		return;
}

void wh_settle(struct wh_party *me, const struct wh_ticket *ticket, enum whorl_result status, const void *data,
	       size_t bytes)
{
	switch (ticket->kind) {
	case WH_TICKET_NONE:
		return;
	case WH_TICKET_WAIT:
		settle_wait(me, ticket->a, status, data, bytes);
		return;
	case WH_TICKET_THEN:
		run_then(me, ticket, status, data, bytes);
		return;
	case WH_TICKET_JOIN:
		settle_joined(me, ticket->a, status, data, bytes);
		return;
	case WH_TICKET_FORWARD:
		wh_complete(me, (struct wh_origin){ticket->a, (uint64_t)(uintptr_t)ticket->b}, status, data, bytes);
		return;
	case WH_TICKET_ADOPT:
		wh_moved(ticket->a, status, data, bytes);
		return;
	case WH_TICKET_FOLLOW:
		wh_followed(ticket->a, status, data, bytes);
		return;
	case WH_TICKET_UNDO:
		if (status == WHORL_OK)
			undo(ticket->a, (uint64_t)(uintptr_t)ticket->b, data, bytes);
		return;
	}
}

/* ---- what another process says ------------------------------------------------------------------------------------------------ */

static bool is_result(uint32_t status)
{
	switch (status) {
#define CASE(name, value, text) case (value):
		WHORL_RESULTS(CASE)
#undef CASE
		return true;
	default:
		return false;
	}
}

/* What another process says: no result but those that there are, and no size but the function's. */
static bool is_sound(const struct wh_channel *channel, const struct wh_ticket *ticket, uint32_t status, size_t bytes)
{
	if (channel->carrier == NULL)
		return true;
	if (status == WHORL_OK)
		return ticket->kind == WH_TICKET_NONE || ticket->result_bytes == UINT32_MAX ||
		       ticket->result_bytes == bytes;
	return bytes == 0 && is_result(status);
}

/* ---- calls that are answered later -------------------------------------------------------------------------------------------- */

void wh_defer(struct wh_channel *channel, uint64_t number, const struct wh_ticket *ticket)
{
	struct wh_ticket *kept;

	if (ticket->kind == WH_TICKET_NONE) /* or its end has come before this */
		return;
	kept = malloc(sizeof(*kept));
	if (kept != NULL && wh_map_put(&channel->deferred, number, (uint64_t)(uintptr_t)kept)) {
		*kept = *ticket;
		return;
	}
	free(kept);
	wh_settle(channel->client, ticket, WHORL_IN_DOUBT, NULL, 0);
}

void wh_completed(struct wh_channel *channel, uint64_t number, enum whorl_result status, const void *data, size_t bytes)
{
	struct wh_ticket ticket;
	uint64_t kept;

	if (number >= channel->first && number < channel->sent) { /* the answer that says so has not been taken yet */
		ticket = *wh_ticket_at(channel, number);
		wh_ticket_at(channel, number)->kind = WH_TICKET_NONE;
	} else if (wh_map_take(&channel->deferred, number, &kept)) {
		ticket = *(struct wh_ticket *)(uintptr_t)kept;
		free((struct wh_ticket *)(uintptr_t)kept);
	} else {
		return;
	}
	if (!is_sound(channel, &ticket, (uint32_t)status, bytes)) {
		wh_link_break(wh_link_of(channel));
		status = WHORL_IN_DOUBT;
		bytes = 0;
	}
	wh_settle(channel->client, &ticket, status, data, bytes);
}

struct wh_ticket *wh_ticket_of(const struct wh_channel *channel, uint64_t number)
{
	uint64_t *kept;

	if (number >= channel->first && number < channel->next)
		return wh_ticket_at(channel, number);
	kept = wh_map_find(&channel->deferred, number);
	return kept == NULL ? NULL : (struct wh_ticket *)(uintptr_t)*kept;
}

/* ---- batches of answers ------------------------------------------------------------------------------------------------------- */

static void settle_rest(struct wh_channel *channel, uint64_t end, enum whorl_result status)
{
	while (channel->first < end) {
		struct wh_ticket ticket = *wh_ticket_at(channel, channel->first++);

		wh_settle(channel->client, &ticket, status, NULL, 0);
	}
}

static void settle_one(struct wh_channel *channel, const struct wh_answer *answer, const void *data)
{
	/* The ring may be another when this has returned. */
	struct wh_ticket ticket = *wh_ticket_at(channel, channel->first);
	uint64_t number = channel->first++;

	if (answer->status != WH_DEFERRED && !is_sound(channel, &ticket, answer->status, answer->bytes)) {
		wh_link_break(wh_link_of(channel));
		wh_settle(channel->client, &ticket, WHORL_IN_DOUBT, NULL, 0);
		return;
	}
	if (answer->status == WH_DEFERRED)
		wh_defer(channel, number, &ticket);
	else
		wh_settle(channel->client, &ticket, (enum whorl_result)answer->status, data, answer->bytes);
}

/* False: not all were there. */
static bool settle_all(struct wh_channel *channel, uint64_t end, struct wh_reader *reader, bool heads)
{
	const unsigned char *data;
	struct wh_answer answer;

	while (channel->first < end) {
		if (!wh_read_answer(reader, heads, wh_ticket_at(channel, channel->first)->result_bytes, &answer,
				    &data)) {
			settle_rest(channel, end, WHORL_IN_DOUBT);
			return false;
		}
		settle_one(channel, &answer, data);
	}
	return true;
}

/* The rest is asked for by an empty batch. */
static void ask_on(struct wh_channel *channel)
{
	channel->calls.begins = WH_SLOT_ROOM;
	channel->calls.count = 0;
	channel->calls.flags = WH_BATCH_CONTINUE;
	wh_post(channel, &channel->calls, ++channel->posted);
	wh_nudge(channel, channel->client->worker != NULL); /* a plain thread may be on its way */
}

static bool keep_part(struct wh_channel *channel, const struct wh_reader *reader)
{
	size_t bytes = (size_t)(reader->end - reader->at);

	return wh_bytes_left(&channel->answered) + bytes <= ANSWERED_MOST &&
	       wh_bytes_append(&channel->answered, reader->at, bytes);
}

static struct wh_reader reader_of_parts(const struct wh_channel *channel)
{
	return (struct wh_reader){channel->answered.data, channel->answered.data + channel->answered.end};
}

static void take_answers(struct wh_channel *channel)
{
	const struct wh_slot *slot = &channel->answers;
	uint32_t flags = slot->flags;
	struct wh_reader reader;
	bool good = wh_reader_of(&reader, slot) && slot->count == (uint16_t)(channel->sent - channel->first);

	if ((flags & WH_BATCH_REFUSED) != 0) {
		settle_rest(channel, channel->sent, WHORL_REFUSED);
	} else if (good && ((flags & WH_BATCH_MORE) != 0 || wh_bytes_left(&channel->answered) > 0)) {
		good = keep_part(channel, &reader);
		if (good && (flags & WH_BATCH_MORE) != 0) {
			ask_on(channel);
			return;
		}
		reader = reader_of_parts(channel);
	}
	if (good)
		(void)settle_all(channel, channel->sent, &reader, (flags & WH_BATCH_STATUSES) != 0);
	settle_rest(channel, channel->sent, WHORL_IN_DOUBT); /* what could not be read */
	wh_bytes_clear(&channel->answered);
	channel->settled = channel->posted;
}

/* What has come by a link: answers to the oldest calls, and how many batches of calls that settles. False: no trustee says that. */
static bool take_from_link(struct wh_channel *channel)
{
	const struct wh_slot *slot = &channel->answers;
	uint64_t end = channel->first + slot->count;
	uint64_t settled = channel->settled + (uint16_t)(slot->settles - channel->settled);
	bool more = (slot->flags & WH_BATCH_MORE) != 0;
	struct wh_reader reader;

	if (!wh_reader_in(&reader, slot, WH_SLOT_MORE) || (slot->flags & ~(WH_BATCH_STATUSES | WH_BATCH_MORE)) != 0 ||
	    end > channel->sent || settled > channel->posted)
		return false;
	if (more || wh_bytes_left(&channel->answered) > 0) {
		if (!keep_part(channel, &reader))
			return false;
		if (more) {
			channel->settled = settled;
			return settled < channel->posted;
		}
		reader = reader_of_parts(channel);
	}
	if (!settle_all(channel, end, &reader, (slot->flags & WH_BATCH_STATUSES) != 0) || reader.at != reader.end)
		return false;
	wh_bytes_clear(&channel->answered);
	channel->settled = settled;
	return settled < channel->posted || channel->first == channel->sent;
}

static size_t collect_from_link(struct wh_channel *channel)
{
	enum wh_taken taken = WH_TAKEN;
	size_t count = 0;

	while (count < WH_BATCHES_AT_ONCE && taken == WH_TAKEN) {
		taken = channel->carrier->take(channel);
		if (taken == WH_TAKEN && !take_from_link(channel))
			wh_link_break(wh_link_of(channel));
		count += taken != WH_TAKEN_NOTHING;
	}
	return count;
}

size_t wh_collect(struct wh_party *me)
{
	size_t taken = 0;

	me->polls = true;
	for (size_t i = 0; i < me->active_count; i++) {
		struct wh_channel *channel = me->active[i];

		if (channel->carrier != NULL) {
			taken += collect_from_link(channel);
			continue;
		}
		/* Partner: wh_post of the trustee. */
		if (!wh_in_flight(channel) || wh_load_acquire(&channel->answers.guard) != channel->posted)
			continue;
		take_answers(channel);
		taken++;
	}
	me->polls = false;
	return taken;
}

/* ---- the end ------------------------------------------------------------------------------------------------------------------ */

static void end_deferred(struct wh_channel *channel, enum whorl_result status)
{
	struct wh_map all = channel->deferred;

	channel->deferred = (struct wh_map){0};
	for (size_t i = 0; i < all.capacity; i++) {
		struct wh_ticket *kept = (struct wh_ticket *)(uintptr_t)all.pairs[i].value;

		if (all.pairs[i].key == 0)
			continue;
		wh_settle(channel->client, kept, status, NULL, 0);
		free(kept);
	}
	wh_map_free(&all);
}

static void end_in_ring(struct wh_channel *channel, uint64_t from, uint64_t end, enum whorl_result status)
{
	for (uint64_t number = from; number < end; number++) {
		struct wh_ticket ticket = *wh_ticket_at(channel, number);

		wh_ticket_at(channel, number)->kind = WH_TICKET_NONE;
		wh_settle(channel->client, &ticket, status, NULL, 0);
	}
}

static void end_channel(struct wh_channel *channel, enum whorl_result sent, enum whorl_result pending)
{
	end_deferred(channel, sent);
	end_in_ring(channel, channel->first, channel->sent, sent);
	end_in_ring(channel, channel->sent, channel->next, pending);
}

void wh_end_calls(struct wh_party *me, enum whorl_result sent, enum whorl_result pending)
{
	for (uint32_t i = 0; i < me->out_count; i++)
		if (me->out[i] != NULL)
			end_channel(me->out[i], sent, pending);
}

void wh_channel_end(struct wh_channel *channel, enum whorl_result sent, enum whorl_result pending)
{
	channel->refusal = pending; /* before a `then` runs that calls again */
	end_channel(channel, sent, pending);
	channel->first = channel->sent = channel->next;
	channel->settled = channel->posted;
	channel->pending_records = 0;
	wh_bytes_clear(&channel->pending);
	wh_bytes_clear(&channel->answered);
}
