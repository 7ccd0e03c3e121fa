/* send.c - the client's side, to the trustee: calls that are pending, batches, and trustees that sleep. */
#include "delegation/delegation_int.h"

#include <sched.h>
#include <stdlib.h>

#define PENDING_MOST (2 * WHORL_CALL_BYTES_MAX)

/* ---- pending ----------------------------------------------------------------------------------------------------------------- */

static bool make_tickets(struct wh_channel *channel)
{
	uint64_t capacity = channel->tickets == NULL ? 0 : channel->ticket_mask + 1;
	uint64_t grown_mask = capacity == 0 ? 63 : 2 * capacity - 1;
	struct wh_ticket *grown;

	if (channel->next - channel->first < capacity)
		return true;
	grown = malloc((grown_mask + 1) * sizeof(*grown));
	if (grown == NULL)
		return false;
	for (uint64_t number = channel->first; number < channel->next; number++)
		grown[number & grown_mask] = *wh_ticket_at(channel, number);
	free(channel->tickets);
	channel->tickets = grown;
	channel->ticket_mask = grown_mask;
	return true;
}

static bool activate(struct wh_channel *channel)
{
	struct wh_party *me = channel->client;
	size_t capacity = me->active_capacity == 0 ? 16 : 2 * me->active_capacity;
	struct wh_channel **grown;

	if (channel->active)
		return true;
	if (me->active_count == me->active_capacity) {
		grown = realloc(me->active, capacity * sizeof(struct wh_channel *));
		if (grown == NULL)
			return false;
		me->active = grown;
		me->active_capacity = capacity;
	}
	me->active[me->active_count++] = channel;
	channel->active = true;
	return true;
}

static unsigned char *add_record(unsigned char *at, const struct wh_record *record, const void *data, size_t bytes)
{
	size_t padded = wh_padded(bytes);

	memcpy(at, record, sizeof(*record));
	at += sizeof(*record);
	if (bytes > 0)
		memcpy(at, data, bytes);
	if (padded > bytes)
		memset(at + bytes, 0, padded - bytes);
	return at + padded;
}

/* The parts of long arguments, each with its head, and then the head of the call. */
static bool add_long(struct wh_channel *channel, const struct wh_request *request)
{
	size_t parts = (request->bytes + WH_RECORD_MOST - 1) / WH_RECORD_MOST;
	unsigned char *at =
		wh_bytes_add(&channel->pending, (parts + 1) * sizeof(struct wh_record) + wh_padded(request->bytes));
	const struct wh_record last = {request->function, (uint16_t)(request->flags | WH_RECORD_ASSEMBLED),
				       request->property};

	if (at == NULL)
		return false;
	for (size_t done = 0; done < request->bytes; done += WH_RECORD_MOST) {
		size_t left = request->bytes - done, bytes = left < WH_RECORD_MOST ? left : WH_RECORD_MOST;
		const struct wh_record part = {WH_PART, (uint16_t)bytes, (uint32_t)request->bytes};

		at = add_record(at, &part, (const unsigned char *)request->data + done, bytes);
	}
	add_record(at, &last, NULL, 0);
	channel->pending_records += (uint32_t)parts + 1;
	return true;
}

static bool add_request(struct wh_channel *channel, const struct wh_request *request)
{
	const struct wh_record record = {request->function, (uint16_t)(request->flags | request->bytes),
					 request->property};
	unsigned char *at;

	if (request->bytes > WH_RECORD_MOST)
		return add_long(channel, request);
	at = wh_bytes_add(&channel->pending, sizeof(record) + wh_padded(request->bytes));
	if (at == NULL)
		return false;
	add_record(at, &record, request->data, request->bytes);
	channel->pending_records++;
	return true;
}

static bool fills_slot(const struct wh_channel *channel)
{
	return wh_bytes_left(&channel->pending) >= wh_channel_room(channel);
}

/* A fiber's batch then goes without waiting for those of others. */
static bool is_long_enough(const struct wh_channel *channel)
{
	return channel->carrier != NULL ? fills_slot(channel)
					: wh_bytes_left(&channel->pending) >= wh_channel_room(channel) / 2;
}

/* Between nodes a batch that fills its slot goes while there is room, and another if no such one is under way: so calls come together while
 * others are on their way. A thread that has borrowed the worker leaves what goes to other nodes to it. */
static bool may_post(const struct wh_channel *channel)
{
	if (wh_channel_is_own(channel) || channel->held)
		return false;
	if (channel->carrier == NULL)
		return !wh_in_flight(channel);
	return !channel->client->borrowed && channel->carrier->has_room(channel) &&
	       (channel->settled >= channel->partial || fills_slot(channel));
}

/* Not before: a batch is longer with more in it. A fiber's calls go when all fibers have had their turn, and what a `then` or a function sends
 * when they are through; a plain thread has nothing else that would send. */
static bool goes_now(const struct wh_channel *channel)
{
	const struct wh_party *me = channel->client;

	return (me->worker == NULL || is_long_enough(channel)) && may_post(channel) && !me->polls &&
	       !wh_is_delegated(me);
}

static enum whorl_result may_send(const struct wh_channel *channel)
{
	const struct wh_party *me = channel->client;
	uint64_t state = wh_load_relaxed(&me->work->state);

	if (__builtin_expect(channel->refusal != WHORL_OK, 0))
		return channel->refusal;
	if (__builtin_expect(state != WH_WORK_OPEN, 0) && (state == WH_WORK_CLOSED || me->worker == NULL))
		return WHORL_CLOSED;
	if (__builtin_expect((wh_gate_state(channel->trustee->gate) & WH_GATE_OPEN) == 0, 0))
		return WHORL_FORKED;
	return wh_bytes_left(&channel->pending) > PENDING_MOST ? WHORL_AGAIN : WHORL_OK;
}

/* To what it has sent: a worker does before it sleeps; one that is borrowed sleeps already. */
static bool comes_back(const struct wh_party *me)
{
	return me->worker != NULL && !me->borrowed;
}

static void post_calls(struct wh_channel *channel);

/* A plain thread may not come back for long: what is no part of a row of calls goes as soon as the slot is free, and so does a row that is
 * long enough. */
static void make_way(struct wh_channel *channel, const struct wh_ticket *ticket)
{
	struct wh_party *me = channel->client;

	if (me->worker == NULL && wh_in_flight(channel) && !me->polls && !wh_is_delegated(me) &&
	    (ticket->kind != WH_TICKET_THEN || is_long_enough(channel)))
		wh_collect(me);
}

enum whorl_result wh_issue_with(struct wh_channel *channel, const struct wh_request *request,
				const struct wh_ticket *ticket, uint64_t *number)
{
	enum whorl_result result = may_send(channel);

	if (result != WHORL_OK)
		return result;
	make_way(channel, ticket);
	if (!make_tickets(channel) || !activate(channel) || !add_request(channel, request))
		return WHORL_MEMORY;
	if (number != NULL)
		*number = channel->next;
	if (!wh_is_one_way(request->function))
		*wh_ticket_at(channel, channel->next++) = *ticket;
	if (goes_now(channel)) {
		post_calls(channel);
		wh_nudge(channel, comes_back(channel->client) || ticket->kind == WH_TICKET_WAIT);
	}
	return WHORL_OK;
}

/* ---- batches ----------------------------------------------------------------------------------------------------------------- */

/* As much as has room. */
static size_t measure(const struct wh_channel *channel, uint32_t *records, uint64_t *calls)
{
	const unsigned char *at = channel->pending.data + channel->pending.begin;
	size_t taken = 0, bytes;
	struct wh_record record;

	*calls = *records = 0;
	for (; *records < channel->pending_records; ++*records) {
		memcpy(&record, at + taken, sizeof(record));
		bytes = wh_record_bytes(&record);
		if (taken + bytes > wh_channel_room(channel))
			break;
		taken += bytes;
		*calls += !wh_is_one_way(record.function);
	}
	return taken;
}

static void post_calls(struct wh_channel *channel)
{
	struct wh_slot *slot = &channel->calls;
	size_t bytes = wh_bytes_left(&channel->pending);
	uint32_t records = channel->pending_records;
	uint64_t calls = channel->next - channel->sent;

	if (!fills_slot(channel))
		channel->partial = channel->posted + 1;
	if (bytes > wh_channel_room(channel))
		bytes = measure(channel, &records, &calls);
	memcpy((unsigned char *)slot + WH_SLOT_ROOM - bytes, channel->pending.data + channel->pending.begin, bytes);
	slot->begins = (uint16_t)(WH_SLOT_ROOM - bytes);
	slot->count = (uint16_t)records;
	slot->flags = 0;
	channel->pending.begin += bytes;
	channel->pending_records -= records;
	channel->sent += calls;
	wh_post(channel, slot, ++channel->posted);
}

enum whorl_result wh_issue_one_way(struct wh_party *me, struct wh_party *trustee, const struct wh_request *request)
{
	struct wh_channel *channel = wh_channel_to(me, trustee);

	return channel == NULL ? WHORL_MEMORY : wh_issue(channel, request, (struct wh_ticket){0}, NULL);
}

static bool is_over(const struct wh_channel *channel)
{
	return !wh_in_flight(channel) && channel->pending_records == 0;
}

static size_t flush(struct wh_party *me, bool patient)
{
	size_t posted = 0;

	for (size_t i = 0; i < me->active_count;) {
		struct wh_channel *channel = me->active[i];

		while (channel->pending_records > 0 && may_post(channel)) {
			post_calls(channel);
			wh_nudge(channel, patient);
			posted++;
		}
		if (is_over(channel)) {
			channel->active = false;
			me->active[i] = me->active[--me->active_count];
		} else {
			i++;
		}
	}
	return posted;
}

size_t wh_flush(struct wh_party *me)
{
	return flush(me, true);
}

bool wh_take_back(struct wh_channel *channel, uint64_t number)
{
	uint64_t calls = channel->sent;
	struct wh_record record;
	unsigned char *at;

	if (number < channel->sent || channel->pending_records == 0)
		return false;
	at = channel->pending.data + channel->pending.begin;
	for (uint32_t i = 0; i < channel->pending_records; i++, at += wh_record_bytes(&record)) {
		memcpy(&record, at, sizeof(record));
		if (wh_is_one_way(record.function) || calls++ != number)
			continue;
		record.function = WH_NOTHING;
		record.bytes &= (uint16_t)~WH_RECORD_LAUNCH;
		memcpy(at, &record, sizeof(record));
		return true;
	}
	return false;
}

/* ---- trustees that sleep ------------------------------------------------------------------------------------------------------ */

/* One that has been rung is not borrowed any more, though it has not woken yet: or it would never get its loop back from threads that
 * borrow it again and again. */
bool wh_borrow(struct wh_party *trustee, struct wh_here *before)
{
	struct wh_gate *gate = trustee->gate;

	if (wh_load_relaxed(&gate->loan) != WH_GATE_LENT || (wh_load_relaxed(&gate->state) & WH_GATE_PARKED) == 0 ||
	    !wh_gate_borrow(gate)) /* partner: wh_gate_give_back, wh_gate_lend */
		return false;
	trustee->borrowed = true;
	*before = wh_enter(trustee);
	if (__builtin_expect(wh_load_relaxed(&trustee->asked) != 0, 0)) {
		wh_exchange(&trustee->asked, 0); /* partner: wh_ask_trustees. What was sent before is served now */
		trustee->serves_all = true;
	}
	return true;
}

/* True: a thread has asked meanwhile, and may sleep. */
static bool give_back(struct wh_party *trustee, struct wh_here before)
{
	bool left = trustee->owner_only;

	for (size_t i = 0; i < trustee->active_count && !left; i++)
		left = wh_channel_is_own(trustee->active[i]) || trustee->active[i]->carrier != NULL;
	if (trustee->active_count > 0)
		flush(trustee, false);
	trustee->owner_only = false;
	trustee->borrowed = false;
	wh_leave(before);
	wh_gate_give_back(trustee->gate); /* partner: wh_gate_borrow, wh_gate_take_back */
	if (__builtin_expect(left, 0))
		wh_gate_ring(trustee->gate);
	wh_gate_fence(trustee->gate); /* partner: wh_gate_park of the thread that has asked */
	return wh_load_relaxed(&trustee->asked) != 0;
}

void wh_give_back(struct wh_party *trustee, struct wh_here before)
{
	while (__builtin_expect(give_back(trustee, before), 0)) {
		if (!wh_borrow(trustee, &before)) {
			if (wh_load_relaxed(&trustee->gate->loan) != WH_GATE_BORROWED) /* else that thread looks */
				wh_gate_ring(trustee->gate);
			return;
		}
		wh_serve_lent(trustee, NULL);
	}
}

#define LOOKS 64 /* until a thread that has borrowed a trustee has run a long batch */
#define YIELDS 8 /* in which that thread may have a turn, if it has lost its processor */

/* The thread that has borrowed it is nearly done. Where its clients have all processors waking the trustee would cost them much more. */
static bool borrow_soon(struct wh_party *trustee, bool patient, struct wh_here *before)
{
	bool borrowed = wh_borrow(trustee, before);

	if (patient || wh_load_relaxed(&trustee->crowded) == 0)
		return borrowed;
	for (int i = 0; !borrowed && i < LOOKS + YIELDS; i++) {
		if (wh_load_relaxed(&trustee->gate->loan) == WH_GATE_KEPT)
			return false;
		if (i < LOOKS)
			wh_cpu_relax();
		else
			sched_yield();
		borrowed = wh_borrow(trustee, before);
	}
	return borrowed;
}

void wh_nudge(struct wh_channel *channel, bool patient)
{
	struct wh_party *trustee = channel->trustee;
	struct wh_here before;

	/* A thread that serves for one worker does not begin to serve for a third. */
	if (trustee->worker != NULL && !wh_here()->party->borrowed && borrow_soon(trustee, patient, &before)) {
		wh_serve_lent(trustee, channel);
		wh_give_back(trustee, before);
		return;
	}
	if (!patient ||
	    (wh_load_relaxed(&trustee->gate->loan) != WH_GATE_BORROWED && wh_load_relaxed(&trustee->crowded) == 0))
		wh_gate_ring(trustee->gate);
}

size_t wh_help(struct wh_party *me)
{
	struct wh_here before;
	size_t served = 0;

	for (size_t i = 0; i < me->active_count; i++) {
		struct wh_channel *channel = me->active[i];

		if (!wh_in_flight(channel) || channel->trustee->worker == NULL ||
		    wh_load_relaxed(&channel->answers.guard) == channel->posted || me->borrowed ||
		    !wh_borrow(channel->trustee, &before))
			continue;
		served += wh_serve_lent(channel->trustee, channel);
		wh_give_back(channel->trustee, before);
	}
	return served;
}

void wh_wake_trustees(struct wh_party *me, bool asked)
{
	for (size_t i = 0; i < me->active_count; i++) {
		const struct wh_channel *channel = me->active[i];
		struct wh_party *trustee = channel->trustee;

		if (!wh_in_flight(channel) || wh_load_relaxed(&channel->answers.guard) == channel->posted)
			continue;
		if (!asked || wh_load_relaxed(&trustee->crowded) == 0 ||
		    wh_load_relaxed(&trustee->gate->loan) != WH_GATE_BORROWED)
			wh_gate_ring(trustee->gate);
	}
}

void wh_ask_trustees(struct wh_party *me)
{
	for (size_t i = 0; i < me->active_count; i++)
		if (wh_in_flight(me->active[i]) && me->active[i]->trustee->worker != NULL)
			wh_store_release(&me->active[i]->trustee->asked, 1); /* partner: wh_borrow, give_back */
}
