/* link.c - what goes over one link, and what comes. See link.h. */
#include "delegation/link.h"

#include <stdlib.h>

static struct wh_lane *lane_of(const struct wh_link *link)
{
	return link->me->work->net->lanes[link->me->number];
}

static bool is(const struct wh_link *link, enum wh_link_state state)
{
	return wh_load_relaxed(&link->state) == (uint64_t)state;
}

/* ---- writing ------------------------------------------------------------------------------------------------------------------- */

/* How many of these two were taken. */
static size_t post(struct wh_link *link, const struct wh_remote_op *ops, size_t count)
{
	struct wh_lane *lane = lane_of(link);
	size_t posted = 0;
	enum whorl_result result = lane->transport->ops->remote->post(lane->transport, ops, count, &posted);

	for (size_t i = 0; i < posted; i++) {
		wh_count(&lane->writes, 1);
		wh_count(&lane->bytes, ops[i].bytes);
	}
	if (result != WHORL_OK && result != WHORL_AGAIN && result != WHORL_MEMORY)
		link->broken = true; /* it has ended, or withdrawn its region */
	return posted;
}

/* Bytes that end in a guard: one write, where its words come in ascending order; else the guard by itself, behind the others. An immediate wakes
 * the one that sleeps there. Returns how many writes are left to be made. */
static size_t write_guarded(struct wh_link *link, const void *bytes, size_t count, size_t offset, bool guard_only)
{
	struct wh_transport *transport = lane_of(link)->transport;
	const size_t body = count - sizeof(uint64_t);
	struct wh_remote_op ops[2] = {{.kind = WH_REMOTE_WRITE,
				       .node = link->far->node,
				       .region = link->theirs,
				       .offset = offset,
				       .bytes = body,
				       .from = bytes}};
	bool whole = (transport->ops->capabilities & WH_REMOTE_ASCENDING) != 0;

	ops[1] = ops[0];
	ops[1].kind = WH_REMOTE_WRITE_IMMEDIATE;
	if (whole) {
		ops[1].bytes = count;
		return 1 - post(link, &ops[1], 1);
	}
	ops[1].offset = offset + body;
	ops[1].bytes = sizeof(uint64_t);
	ops[1].from = (const unsigned char *)bytes + body;
	return guard_only ? 1 - post(link, &ops[1], 1) : 2 - post(link, ops, 2);
}

static void write_way(struct wh_link *link, unsigned number)
{
	struct wh_way *way = &link->ways[number];
	const struct wh_slot *slot = way->slot;
	int begins = (int16_t)slot->begins;
	size_t at = wh_region_place(number == WH_WAY_CALLS ? WH_REGION_CALLS : WH_REGION_ANSWERS, way->written);
	size_t left = write_guarded(link, (const unsigned char *)slot + begins, (size_t)(WH_SLOT_BYTES - begins),
				    (size_t)((int64_t)at + begins), way->guard_only);

	way->guard_only = left == 1;
	if (left == 0)
		way->slot = NULL;
}

static bool has_room(const struct wh_channel *channel)
{
	const struct wh_link *link = wh_link_of(channel);
	bool calls = channel == link->out;
	const struct wh_way *way = &link->ways[calls ? WH_WAY_CALLS : WH_WAY_ANSWERS];

	return is(link, WH_LINK_UP) && !link->broken && way->slot == NULL &&
	       way->written - (calls ? channel->settled : link->taken_there) < WH_RING;
}

/* Answers that are none, to calls that are not waited for: what they settle can be said with the next. */
static bool can_wait(const struct wh_link *link, const struct wh_slot *slot, uint64_t settled)
{
	return slot->count == 0 && slot->begins == WH_SLOT_ROOM && settled - link->settled < WH_RING / 2 &&
	       wh_region_has(link->mine->words, WH_REGION_CALLS, settled);
}

static void carry(struct wh_channel *channel, struct wh_slot *slot, uint64_t number)
{
	struct wh_link *link = wh_link_of(channel);
	unsigned which = channel == link->out ? WH_WAY_CALLS : WH_WAY_ANSWERS;
	struct wh_way *way = &link->ways[which];

	if (which == WH_WAY_ANSWERS) {
		if ((slot->flags & WH_BATCH_MORE) != 0)
			number--; /* not yet */
		else if (can_wait(link, slot, number))
			return;
		slot->settles = (uint16_t)number;
		link->settled = number;
	}
	wh_store_relaxed(&slot->guard, ++way->written); /* of this side's copy, which no other thread reads */
	way->slot = slot;
	if (is(link, WH_LINK_UP) && !link->broken)
		write_way(link, which);
}

/* So many answers have been taken: their slots are free. */
static void tell_taken(struct wh_link *link)
{
	const struct wh_remote_op op = {.kind = WH_REMOTE_WRITE_IMMEDIATE,
					.node = link->far->node,
					.region = link->theirs,
					.offset = WH_REGION_TAKEN,
					.bytes = sizeof(link->taken),
					.from = &link->taken};

	if (link->taken - link->told >= WH_RING / 2 && post(link, &op, 1) == 1)
		link->told = link->taken;
}

/* What could not be posted before. */
static size_t write_rest(struct wh_link *link)
{
	size_t written = 0;

	for (unsigned number = 0; number < WH_WAYS; number++)
		if (link->ways[number].slot != NULL && !link->broken) {
			write_way(link, number);
			written += link->ways[number].slot == NULL;
		}
	if (!link->broken)
		tell_taken(link);
	return written;
}

/* ---- reading ------------------------------------------------------------------------------------------------------------------- */

static enum wh_taken take_calls(struct wh_link *link)
{
	struct wh_channel *in = link->in;
	enum wh_taken taken = wh_region_batch(link->mine->words, WH_REGION_CALLS, in->served, &in->calls);

	if (taken == WH_TAKEN && (in->calls.flags != 0 || !wh_batch_is_whole_in(&in->calls, WH_SLOT_MORE)))
		taken = WH_TAKEN_GARBAGE;
	return taken;
}

static enum wh_taken take_answers(struct wh_link *link)
{
	enum wh_taken taken = wh_region_batch(link->mine->words, WH_REGION_ANSWERS, link->taken, &link->out->answers);

	if (taken == WH_TAKEN) {
		link->taken++;
		tell_taken(link);
	}
	return taken;
}

static enum wh_taken take(struct wh_channel *channel)
{
	struct wh_link *link = wh_link_of(channel);
	enum wh_taken taken = WH_TAKEN_NOTHING;

	if (is(link, WH_LINK_UP) && !link->broken)
		taken = channel == link->out ? take_answers(link) : take_calls(link);
	if (taken == WH_TAKEN_GARBAGE)
		wh_link_break(link);
	return taken;
}

/* How many answers have been taken there. */
static size_t look_at_taken(struct wh_link *link)
{
	/* Partner: the write of the peer. */
	uint64_t taken = wh_load_acquire(&link->mine->words[WH_REGION_TAKEN / sizeof(uint64_t)]);

	if (taken == link->taken_there)
		return 0;
	if (taken - link->taken_there > link->ways[WH_WAY_ANSWERS].written - link->taken_there)
		wh_link_break(link);
	else
		link->taken_there = taken;
	return 1;
}

/* ---- meeting ------------------------------------------------------------------------------------------------------------------- */

void wh_link_begin(struct wh_link *link, struct wh_far *far, struct wh_party *me, struct wh_party *proxy)
{
	link->carrier = (struct wh_carrier){has_room, carry, take};
	link->far = far;
	link->me = me;
	link->proxy = proxy;
	proxy->link = link;
}

/* The channel that its calls come in by. */
static struct wh_channel *make_in(struct wh_link *link)
{
	struct wh_channel *channel = wh_channel_to(link->proxy, link->me);

	if (channel != NULL)
		channel->carrier = &link->carrier;
	return channel;
}

static enum whorl_result open_region(struct wh_link *link, struct wh_error *err)
{
	struct wh_lane *lane = lane_of(link);
	const struct wh_remote_ops *remote = lane->transport->ops->remote;
	enum whorl_result result =
		remote->region_open(lane->transport, ++lane->regions, WH_REGION_BYTES, &link->mine, err);

	if (result != WHORL_OK)
		return result;
	result = remote->grant(link->mine, link->far->node);
	if (result != WHORL_OK && result != WHORL_MEMBER_GONE) /* that is told by an event */
		return wh_error_set(err, result, "a region could not be granted");
	return WHORL_OK;
}

void wh_link_met(struct wh_link *link)
{
	struct wh_error err = {0};

	if (!is(link, WH_LINK_NEW) || link->mine != NULL)
		return;
	link->out = wh_channel_to(link->me, link->proxy);
	link->in = link->out == NULL ? NULL : make_in(link);
	if (link->in == NULL)
		wh_error_set(&err, WHORL_MEMORY, "no memory for a link");
	else if (open_region(link, &err) == WHORL_OK)
		return;
	wh_log(&link->me->worker->diag, WH_LOG_WARNING, "worker %u of node %u: %s", (unsigned)link->me->number,
	       (unsigned)link->far->node, err.text);
	link->broken = true;
}

static void greet(struct wh_link *link)
{
	const whorl_work *work = link->me->work;
	const struct wh_greeting greeting = {.digest = work->table.digest,
					     .workers = work->workers,
					     .dedicated = work->dedicated,
					     .incarnation = work->net->endpoint.incarnation,
					     .guard = WH_REGION_VERSION};

	/* Both of two writes, or it is made anew: this side is the only one that has written there. */
	link->greeted = write_guarded(link, &greeting, sizeof(greeting), 0, false) == 0;
}

void wh_link_granted(struct wh_link *link, uint64_t region, uint64_t bytes)
{
	if (link->theirs != 0 || bytes != WH_REGION_BYTES) {
		wh_link_break(link);
		return;
	}
	link->theirs = region;
}

/* Both have greeted: either they go together, or they know of each other that they do not. */
static void judge(struct wh_link *link, const struct wh_greeting *greeting)
{
	whorl_work *work = link->me->work;

	/* Of one that knows other functions, too: what is wanted of a worker that it has not is not waited for. */
	wh_store_relaxed(&link->far->dedicated, greeting->dedicated);
	wh_store_release(&link->far->workers, greeting->workers); /* partner: wh_far_at */
	if (greeting->digest != work->table.digest) {
		wh_log(&link->me->worker->diag, WH_LOG_WARNING,
		       "node %u knows other functions (digest %016llx, expected %016llx): no calls go between it and this one",
		       (unsigned)link->far->node, (unsigned long long)greeting->digest,
		       (unsigned long long)work->table.digest);
		wh_store_release(&link->state, WH_LINK_REFUSED);
		wh_channel_end(link->out, WHORL_IN_DOUBT, WHORL_REFUSED);
		return;
	}
	wh_store_release(&link->state, WH_LINK_UP);
	link->out->held = false;
}

static size_t advance(struct wh_link *link)
{
	struct wh_greeting greeting;
	enum wh_taken taken;

	if (link->theirs == 0 || link->mine == NULL)
		return 0;
	if (!link->greeted) {
		greet(link);
		return link->greeted;
	}
	taken = wh_region_greeting(link->mine->words, &greeting);
	if (taken == WH_TAKEN_NOTHING)
		return 0;
	if (taken == WH_TAKEN_GARBAGE || greeting.incarnation != link->far->incarnation)
		wh_link_break(link);
	else
		judge(link, &greeting);
	return 1;
}

/* ---- the end ------------------------------------------------------------------------------------------------------------------- */

void wh_link_break(struct wh_link *link)
{
	if (!link->broken)
		wh_log(&link->me->worker->diag, WH_LOG_WARNING,
		       "node %u has written what no worker says: worker %u does not speak with it any more",
		       (unsigned)link->far->node, (unsigned)link->me->number);
	link->broken = true;
}

/* Handles of that worker go with it; what was sent to it is in doubt; what was not never runs. */
void wh_link_end(struct wh_link *link)
{
	if (is(link, WH_LINK_GONE))
		return;
	wh_store_release(&link->state, WH_LINK_GONE); /* partner: wh_far_at */
	if (link->mine != NULL)
		link->mine->ops->region_close(link->mine);
	link->mine = NULL;
	link->theirs = 0;
	memset(link->ways, 0, sizeof(link->ways));
	if (link->out != NULL)
		wh_channel_end(link->out, WHORL_IN_DOUBT, WHORL_GONE);
	wh_properties_forget(link->me, link->far->holder);
}

size_t wh_link_look(struct wh_link *link)
{
	size_t work = 0;

	if (link->broken ||
	    (is(link, WH_LINK_NEW) && wh_load_acquire(&link->far->ended) != 0)) { /* partner: tell_others */
		work = !is(link, WH_LINK_GONE);
		wh_link_end(link);
	} else if (is(link, WH_LINK_UP)) {
		work = write_rest(link) + look_at_taken(link);
	} else if (is(link, WH_LINK_NEW)) {
		work = advance(link);
	}
	return work;
}

/* ---- channels ------------------------------------------------------------------------------------------------------------------- */

void wh_link_adopt(struct wh_party *client, struct wh_channel *channel, struct wh_party *proxy)
{
	struct wh_link *link = proxy->link;

	if (client != link->me) { /* one that is not its worker */
		channel->relay = proxy;
		channel->trustee = link->me;
		return;
	}
	channel->carrier = &link->carrier;
	channel->held = !is(link, WH_LINK_UP);
	if (is(link, WH_LINK_GONE))
		channel->refusal = WHORL_GONE;
	if (is(link, WH_LINK_REFUSED))
		channel->refusal = WHORL_REFUSED;
	link->out = channel;
}

uint32_t wh_relay(struct wh_party *me, struct wh_origin origin, const struct wh_record *record, const void *args,
		  size_t bytes)
{
	struct wh_channel *channel = wh_channel_to(me, origin.channel->relay);
	const struct wh_request request = {.function = record->function,
					   .flags = record->bytes & WH_RECORD_LAUNCH,
					   .property = record->property,
					   .data = args,
					   .bytes = bytes};
	struct wh_ticket ticket = {.kind = WH_TICKET_FORWARD,
				   .result_bytes = UINT32_MAX,
				   .a = origin.channel,
				   .b = (void *)(uintptr_t)origin.number};
	enum whorl_result result;

	if (record->function == WH_NOTHING)
		return WHORL_OK;
	if (record->function < me->work->table.count)
		ticket.result_bytes = wh_result_bytes(&me->work->table.known[record->function]);
	else if (record->function == WH_ADOPT)
		ticket.result_bytes = WH_NAME_BYTES;
	result = channel == NULL ? WHORL_MEMORY : wh_issue(channel, &request, ticket, NULL);
	return result == WHORL_OK ? WH_DEFERRED : (uint32_t)result;
}

void wh_relay_one_way(struct wh_party *me, const struct wh_channel *channel, const struct wh_record *record,
		      const void *args, size_t bytes)
{
	struct wh_channel *on = wh_channel_to(me, channel->relay);
	const struct wh_request request = {
		.function = record->function, .property = record->property, .data = args, .bytes = bytes};
	enum whorl_result result = on == NULL ? WHORL_MEMORY : wh_issue(on, &request, (struct wh_ticket){0}, NULL);

	if (result != WHORL_OK && result != WHORL_GONE && result != WHORL_REFUSED)
		wh_log(&me->worker->diag, WH_LOG_WARNING, "a handle of another node was not counted: %s",
		       whorl_result_text(result));
}
