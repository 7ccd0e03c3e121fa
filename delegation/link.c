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
	size_t at = (number == WH_WAY_CALLS ? WH_REGION_CALLS : WH_REGION_ANSWERS) + WH_SLOT_MORE;
	size_t left = write_guarded(link, (const unsigned char *)slot + begins, (size_t)(WH_SLOT_BYTES - begins),
				    (size_t)((int)at + begins), way->guard_only);

	way->guard_only = left == 1;
	if (left == 0)
		way->guard = 0;
}

static void carry(struct wh_channel *channel, struct wh_slot *slot, uint64_t guard)
{
	struct wh_link *link = wh_link_of(channel);
	unsigned number = channel == link->out ? WH_WAY_CALLS : WH_WAY_ANSWERS;

	wh_store_relaxed(&slot->guard, guard); /* of this side's copy, which no other thread reads */
	link->ways[number] = (struct wh_way){.slot = slot, .guard = guard};
	if (is(link, WH_LINK_UP) && !link->broken)
		write_way(link, number);
}

/* What could not be posted before. */
static size_t write_rest(struct wh_link *link)
{
	size_t written = 0;

	for (unsigned number = 0; number < WH_WAYS; number++)
		if (link->ways[number].guard != 0 && !link->broken) {
			write_way(link, number);
			written += link->ways[number].guard == 0;
		}
	return written;
}

/* ---- meeting ------------------------------------------------------------------------------------------------------------------- */

void wh_link_begin(struct wh_link *link, struct wh_far *far, struct wh_party *me, struct wh_party *proxy)
{
	link->carrier.carry = carry;
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

/* ---- reading ------------------------------------------------------------------------------------------------------------------- */

/* A question for the rest of answers that have a rest, or whole records. */
static bool is_sound(const struct wh_channel *in)
{
	const struct wh_slot *slot = &in->calls;

	if ((slot->flags & WH_BATCH_CONTINUE) != 0)
		return slot->flags == WH_BATCH_CONTINUE && slot->count == 0 && slot->begins == WH_SLOT_ROOM &&
		       wh_bytes_left(&in->out) > 0;
	return slot->flags == 0 && wh_batch_is_whole_in(slot, WH_SLOT_MORE);
}

static size_t take_calls(struct wh_link *link)
{
	struct wh_channel *in = link->in;
	uint64_t last = wh_load_relaxed(&in->calls.guard);
	enum wh_taken taken;

	if (in->served != last) /* it has not been served: what lies there cannot be the next */
		return 0;
	taken = wh_region_batch(link->mine->words, WH_REGION_CALLS, last, &in->calls);
	if (taken == WH_TAKEN_NOTHING)
		return 0;
	if (taken == WH_TAKEN && is_sound(in))
		wh_store_release(&in->calls.guard, last + 1); /* partner: wh_serve, on this thread */
	else
		wh_link_break(link);
	return 1;
}

static size_t take_answers(struct wh_link *link)
{
	struct wh_channel *out = link->out;
	uint64_t last = wh_load_relaxed(&out->answers.guard);
	enum wh_taken taken = wh_region_batch(link->mine->words, WH_REGION_ANSWERS, last, &out->answers);

	if (taken == WH_TAKEN_NOTHING)
		return 0;
	if (taken == WH_TAKEN && out->in_flight && last + 1 == out->posted)
		wh_store_release(&out->answers.guard, last + 1); /* partner: wh_collect, on this thread */
	else
		wh_link_break(link);
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
	if (link->in != NULL)
		link->in->served = wh_load_relaxed(&link->in->calls.guard);
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
		work = write_rest(link) + take_calls(link) + take_answers(link);
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
