/* serve.c - the trustee's side: batches of calls, as they lie in the slots. */
#include "delegation/delegation_int.h"

#define SAMPLED 64 /* one look in so many is timed */

/* ---- batches in which nothing but functions of fixed sizes is, all of which can run at once ------------------------------------ */

struct planned {
	void (*run)(void *property, const void *args, void *result);
	void *object;
	const unsigned char *args;
	uint32_t result_bytes; /* padded */
};

struct plan {
	uint32_t count;
	size_t result_bytes;
	struct planned calls[WH_RECORDS_MOST];
};

static bool plan_one(const struct wh_party *me, const struct wh_record *record, const unsigned char *args,
		     bool borrowed, struct planned *planned)
{
	const struct wh_table *table = &me->work->table;
	const struct wh_property *property;
	const struct wh_known *known;

	if (record->function >= table->count)
		return false;
	known = &table->known[record->function];
	/* No flags, and neither arguments nor results of any length. */
	if (record->bytes != known->argument_bytes || (known->function->flags & WHORL_TAKES_BYTES) != 0 ||
	    (borrowed && (known->function->flags & WHORL_BLOCKS) != 0))
		return false;
	property = wh_property_find(&me->properties, record->property);
	if (property == NULL || !wh_property_is_open(property) || property->type_number != known->type)
		return false;
	*planned = (struct planned){known->function->run, property->object, args,
				    (uint32_t)wh_padded(known->result_bytes)};
	return true;
}

/* False: the batch is another, or damaged. */
static bool plan_batch(const struct wh_party *me, const struct wh_channel *channel, bool borrowed, struct plan *plan)
{
	const struct wh_slot *slot = &channel->calls;
	uint32_t count = slot->count;
	const unsigned char *args;
	struct wh_record record;
	struct wh_reader reader;

	plan->count = 0;
	plan->result_bytes = 0;
	if (!wh_reader_in(&reader, slot, wh_channel_more(channel)) || count > WH_RECORDS_MOST)
		return false;
	for (; plan->count < count; plan->count++) {
		struct planned *planned = &plan->calls[plan->count];

		if (!wh_read_record(&reader, &record, &args) || !plan_one(me, &record, args, borrowed, planned))
			return false;
		plan->result_bytes += planned->result_bytes;
	}
	return reader.at == reader.end && plan->result_bytes <= wh_channel_room(channel);
}

static void count_batch(struct wh_party *me, uint32_t calls, bool borrowed)
{
	wh_count(&me->stats.batches, 1);
	wh_count(&me->stats.batch_calls, calls);
	wh_count(&me->stats.calls, calls);
	wh_count_max(&me->stats.largest_batch, calls);
	if (borrowed)
		wh_count(&me->stats.lent_calls, calls);
}

static void run_plan(struct wh_party *me, struct wh_channel *channel, const struct plan *plan)
{
	struct wh_slot *slot = &channel->answers;
	unsigned char *result = (unsigned char *)slot + WH_SLOT_ROOM - plan->result_bytes;

	slot->begins = (uint16_t)(WH_SLOT_ROOM - plan->result_bytes);
	slot->count = (uint16_t)plan->count;
	slot->flags = 0;
	me->in_function = true;
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct planned *planned = &plan->calls[i];

		planned->run(planned->object, planned->args, result);
		result += planned->result_bytes;
	}
	me->in_function = false;
	channel->numbered += plan->count;
}

/* ---- all others ---------------------------------------------------------------------------------------------------------------- */

/* What a thread that has borrowed the worker must leave: what begins fibers or wakes them, and what may take long. */
static bool wants_owner(const struct wh_party *me, const struct wh_slot *slot)
{
	const struct wh_table *table = &me->work->table;
	const unsigned char *args;
	struct wh_record record;
	struct wh_reader reader;

	if (!wh_reader_of(&reader, slot))
		return false;
	while (wh_read_record(&reader, &record, &args)) {
		if (record.function == WH_COMPLETE || record.function == WH_MOVE || record.function == WH_ADOPT ||
		    record.function == WH_SHARD_CALL || (record.bytes & WH_RECORD_LAUNCH) != 0)
			return true;
		if (record.function < table->count &&
		    (table->known[record.function].function->flags & WHORL_BLOCKS) != 0)
			return true;
	}
	return false;
}

/* As much of the answers as has room. */
static void put_answers(struct wh_channel *channel)
{
	struct wh_slot *slot = &channel->answers;
	size_t left = wh_bytes_left(&channel->out), room = wh_channel_room(channel);
	size_t bytes = left < room ? left : room;

	if (bytes > 0)
		memcpy((unsigned char *)slot + WH_SLOT_ROOM - bytes, channel->out.data + channel->out.begin, bytes);
	channel->out.begin += bytes;
	slot->begins = (uint16_t)(WH_SLOT_ROOM - bytes);
	slot->count = (uint16_t)channel->out_count;
	slot->flags = (uint16_t)(channel->out_flags | (left > bytes ? WH_BATCH_MORE : 0));
	if (left == bytes)
		wh_bytes_clear(&channel->out);
}

/* A result of bytes may end anywhere. */
static bool pad(struct wh_bytes *out)
{
	size_t missing = wh_padded(out->end) - out->end;
	unsigned char *room = wh_bytes_add(out, missing);

	if (room != NULL)
		memset(room, 0, missing);
	return room != NULL;
}

/* One call, and its answer behind the others. False: no memory, not even to say so. */
static bool answer_one(struct wh_party *me, struct wh_channel *channel, const struct wh_record *record,
		       const void *args, size_t bytes)
{
	struct wh_origin origin = {channel, ++channel->numbered};
	struct wh_bytes *out = &channel->out;
	struct wh_answer answer;
	size_t head, begins;

	if (wh_bytes_add(out, sizeof(answer)) == NULL)
		return false;
	begins = out->end;
	head = begins - sizeof(answer);
	answer.status = wh_perform(me, origin, record, args, bytes, out, false);
	if (answer.status != WHORL_OK)
		out->end = begins;
	answer.bytes = (uint32_t)(out->end - begins);
	if (answer.status == WHORL_OK && record->function < me->work->table.count &&
	    (me->work->table.known[record->function].function->flags & WHORL_TAKES_BYTES) == 0)
		answer.bytes = me->work->table.known[record->function].result_bytes;
	memcpy(out->data + head, &answer, sizeof(answer));
	channel->out_count++;
	return pad(out);
}

static bool serve_record(struct wh_party *me, struct wh_channel *channel, const struct wh_record *record,
			 const unsigned char *args)
{
	size_t bytes = record->bytes & WH_RECORD_BYTES;
	bool good;

	if (wh_is_one_way(record->function) && (record->bytes & WH_RECORD_ASSEMBLED) == 0) {
		wh_perform_one_way(me, channel, record, args, bytes);
		return true;
	}
	if ((record->bytes & WH_RECORD_ASSEMBLED) == 0)
		return answer_one(me, channel, record, args, bytes);
	if (wh_is_one_way(record->function)) {
		wh_perform_one_way(me, channel, record, channel->assembly.data, channel->assembly.end);
		good = true;
	} else {
		good = answer_one(me, channel, record, channel->assembly.data, channel->assembly.end);
	}
	wh_bytes_clear(&channel->assembly);
	return good;
}

static void run_all(struct wh_party *me, struct wh_channel *channel)
{
	const unsigned char *args;
	struct wh_record record;
	struct wh_reader reader;

	wh_bytes_clear(&channel->out);
	channel->out_count = 0;
	channel->out_flags = WH_BATCH_STATUSES;
	if (!wh_batch_is_whole_in(&channel->calls, wh_channel_more(channel))) {
		channel->out_flags = WH_BATCH_REFUSED;
		wh_count(&me->stats.refused, 1);
	} else if (wh_reader_in(&reader, &channel->calls, wh_channel_more(channel))) {
		while (wh_read_record(&reader, &record, &args) && serve_record(me, channel, &record, args))
			continue;
	}
	put_answers(channel);
}

/* ---- slots --------------------------------------------------------------------------------------------------------------------- */

/* False: it is left for the worker itself. */
static bool run_batch(struct wh_party *me, struct wh_channel *channel, bool borrowed)
{
	struct plan plan;

	if (borrowed && channel->relay != NULL) {
		me->owner_only = true;
		return false;
	}
	if ((channel->calls.flags & WH_BATCH_CONTINUE) != 0) {
		put_answers(channel);
	} else if (channel->relay != NULL) {
		run_all(me, channel);
	} else if (plan_batch(me, channel, borrowed, &plan)) {
		run_plan(me, channel, &plan);
		count_batch(me, plan.count, borrowed);
	} else if (borrowed && wants_owner(me, &channel->calls)) {
		me->owner_only = true;
		return false;
	} else {
		run_all(me, channel);
		count_batch(me, channel->out_count, borrowed);
	}
	return true;
}

/* What has come by a link. No batch is served before what is answered to the one before it has been written: what waits here has an end. */
static size_t serve_link(struct wh_party *me, struct wh_channel *channel)
{
	size_t served = 0;

	for (; served < WH_BATCHES_AT_ONCE && channel->carrier->has_room(channel); served++) {
		enum wh_taken taken = WH_TAKEN_NOTHING;

		if (wh_bytes_left(&channel->out) > 0) {
			put_answers(channel);
		} else {
			taken = channel->carrier->take(channel);
			if (taken != WH_TAKEN)
				return served + (taken == WH_TAKEN_GARBAGE);
			(void)run_batch(me, channel, false);
			channel->served++;
			me->recent[me->recent_at++ % WH_RECENT] = channel->client;
		}
		wh_post(channel, &channel->answers, channel->served);
	}
	return served;
}

static size_t look_into(struct wh_party *me, struct wh_channel *channel, bool borrowed)
{
	uint64_t guard;

	if (channel->carrier != NULL)
		return borrowed ? 0 : serve_link(me, channel);
	guard = wh_load_acquire(&channel->calls.guard); /* partner: wh_post of the client */
	if (guard == channel->served || !run_batch(me, channel, borrowed))
		return 0;
	channel->served = guard;
	wh_post(channel, &channel->answers, guard);
	wh_gate_ring(channel->client->gate);
	if (!borrowed)
		me->recent[me->recent_at++ % WH_RECENT] = channel->client;
	return 1;
}

static size_t look_into_all(struct wh_party *me, bool borrowed)
{
	size_t served = 0;

	for (size_t i = 0; i < me->in_count; i++)
		served += look_into(me, me->in[i], borrowed);
	return served;
}

#define LEARNT_NS WH_NS_PER_S /* so long it holds what the last batches have shown */

/* What one client alone, or as many as there are processors, want of an awake trustee is their processor. They run their calls themselves, and
 * wake it only if they must. From time to time it looks anew. */
bool wh_may_rest(struct wh_party *me)
{
	uint64_t now = me->worker->loop.now_ns;
	uint32_t clients = 0;

	if (now - me->learnt_ns >= LEARNT_NS) {
		memset(me->recent, 0, sizeof(me->recent));
		me->learnt_ns = now;
	}
	for (uint32_t i = 0; i < WH_RECENT; i++) {
		uint32_t j = 0;

		if (me->recent[i] != NULL &&
		    me->recent[i]->link != NULL) /* no other thread does for it what it does itself */
			return false;
		while (j < i && me->recent[j] != me->recent[i])
			j++;
		clients += j == i && me->recent[i] != NULL;
	}
	wh_store_relaxed(&me->crowded, clients >= me->work->processors);
	return clients <= 1 || clients >= me->work->processors;
}

/* `own`: that one alone. */
static size_t look_for(struct wh_party *me, struct wh_channel *own, bool borrowed)
{
	return own != NULL ? look_into(me, own, borrowed) : look_into_all(me, borrowed);
}

static size_t serve(struct wh_party *me, struct wh_channel *own, bool borrowed)
{
	const struct wh_env *env = me->work->env;
	uint64_t since;
	size_t served;

	if (++me->looks % SAMPLED != 0)
		return look_for(me, own, borrowed);
	since = wh_env_now(env);
	served = look_for(me, own, borrowed);
	wh_count(served > 0 ? &me->stats.functions_ns : &me->stats.looking_ns, SAMPLED * (wh_env_now(env) - since));
	return served;
}

size_t wh_serve(struct wh_party *me, bool borrowed)
{
	if (__builtin_expect(wh_load_acquire(&me->newcomers) != 0, 0)) /* partner: wh_channel_new */
		wh_take_newcomers(me);
	return serve(me, NULL, borrowed);
}

/* What is in the slot of the thread that has borrowed it is in that thread's cache; what is in others' has to come from theirs, and they borrow it
 * themselves as soon as they can. So all are served now and then, so that none waits for long, and whenever a thread has asked. */
#define TURNS 64

size_t wh_serve_lent(struct wh_party *me, struct wh_channel *own)
{
	if (me->serves_all || ++me->lent_turn % TURNS == 0) {
		me->serves_all = false;
		return wh_serve(me, true);
	}
	return own == NULL ? 0 : serve(me, own, true);
}

/* ---- the own channel ----------------------------------------------------------------------------------------------------------- */

static void serve_own_call(struct wh_party *me, struct wh_channel *channel, const struct wh_record *record,
			   const void *args, size_t bytes)
{
	struct wh_ticket ticket = *wh_ticket_at(channel, channel->first);
	struct wh_origin origin = {channel, channel->first++};
	uint32_t status;

	wh_bytes_clear(&me->scratch);
	status = wh_perform(me, origin, record, args, bytes, &me->scratch, false);
	wh_count(&me->stats.calls, 1);
	if (status == WH_DEFERRED) {
		wh_defer(channel, origin.number, &ticket);
		return;
	}
	if (ticket.result_bytes != UINT32_MAX && wh_bytes_left(&me->scratch) > ticket.result_bytes)
		me->scratch.end = me->scratch.begin + ticket.result_bytes;
	wh_settle(me, &ticket, (enum whorl_result)status, me->scratch.data, wh_bytes_left(&me->scratch));
}

static void serve_own_record(struct wh_party *me, struct wh_channel *channel, const struct wh_record *record,
			     const unsigned char *args)
{
	bool assembled = (record->bytes & WH_RECORD_ASSEMBLED) != 0;
	const void *data = assembled ? channel->assembly.data : args;
	size_t bytes = assembled ? channel->assembly.end : record->bytes & WH_RECORD_BYTES;

	if (wh_is_one_way(record->function))
		wh_perform_one_way(me, channel, record, data, bytes);
	else
		serve_own_call(me, channel, record, data, bytes);
	if (assembled)
		wh_bytes_clear(&channel->assembly);
}

size_t wh_serve_own(struct wh_party *me)
{
	struct wh_channel *channel = me->number < me->out_count ? me->out[me->number] : NULL;
	const unsigned char *args;
	struct wh_record record;
	struct wh_reader reader;
	struct wh_bytes batch;
	size_t count;

	if (channel == NULL || channel->pending_records == 0)
		return 0;
	count = channel->pending_records;
	batch = channel->pending; /* what comes meanwhile has its turn in the next pass */
	channel->pending = me->spare;
	channel->pending_records = 0;
	channel->sent = channel->next;
	reader = (struct wh_reader){batch.data + batch.begin, batch.data + batch.end};
	while (wh_read_record(&reader, &record, &args))
		serve_own_record(me, channel, &record, args);
	wh_bytes_clear(&batch);
	me->spare = batch;
	return count;
}
