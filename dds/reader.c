/* reader.c - readers, and reading: the lock of the reader's cache, and no other. See node.h. */
#include <stdlib.h>
#include <string.h>

#include "dds/node.h"

#define READABLE (WH_DDS_KIND(WH_DDS_READER) | WH_DDS_READ_CONDITIONS)

/* ---- the entity ---------------------------------------------------------------------------------------------------------------- */

/* It refuses nothing any more: what holds up the channel would hold up its end, and those of all that are deleted with it. */
static void reader_leave(struct wh_dds_entity *entity)
{
	struct wh_dds_reader_entity *reader = (struct wh_dds_reader_entity *)(void *)entity;
	bool refused;

	pthread_mutex_lock(&reader->end.base.lock);
	reader->leaves = true;
	refused = reader->refused;
	pthread_mutex_unlock(&reader->end.base.lock);
	if (refused)
		wh_dds_reader_has_room(reader);
}

/* What a listener on another thread has in its hands is there until it has returned. */
void wh_dds_reader_close(struct wh_dds_entity *entity)
{
	struct wh_dds_reader_entity *reader = (struct wh_dds_reader_entity *)(void *)entity;
	struct wh_dds_cache *cache;
	bool refused;

	wh_dds_listener_await(&reader->end.base);
	pthread_mutex_lock(&reader->end.base.lock);
	cache = reader->cache;
	reader->cache = NULL;
	refused = reader->refused;
	pthread_mutex_unlock(&reader->end.base.lock);
	wh_dds_cache_free(cache);
	if (refused) /* another thread may close it before it has left */
		wh_dds_reader_has_room(reader);
	wh_dds_endpoint_close(&reader->end);
}

void wh_dds_reader_free(struct wh_dds_entity *entity)
{
	struct wh_dds_reader_entity *reader = (struct wh_dds_reader_entity *)(void *)entity;

	wh_dds_known_free(&reader->seen);
	wh_dds_cache_free(reader->cache);
	wh_dds_filter_put(reader->filter);
	wh_dds_endpoint_put(&reader->end);
	free(reader);
}

static const struct wh_dds_entity_ops reader_ops = {
	.leave = reader_leave, .close = wh_dds_reader_close, .free = wh_dds_reader_free};

/* How what comes is kept. False: memory is out. */
static bool make_cache(struct wh_dds_reader_entity *reader, struct wh_dds_topic_entity *topic,
		       const struct whorl_dds_listener *listener)
{
	const struct wh_dds_policies *policies = &reader->end.base.policies;
	struct wh_dds_cache_options options = {.policies = policies,
					       .statuses = &reader->end.base.statuses,
					       .keyed = wh_dds_type_is_keyed(topic->type),
					       .key_of = wh_dds_key_of,
					       .key_ctx = reader};

	pthread_mutex_lock(&topic->base.lock);
	reader->filter = wh_dds_filter_hold(topic->filter);
	pthread_mutex_unlock(&topic->base.lock);
	if (reader->filter != NULL) {
		options.filter = reader->filter->fn;
		options.filter_ctx = reader->filter->arg;
	}
	if (listener != NULL && listener->in_place != NULL) {
		reader->in_place = listener->in_place;
		reader->in_place_arg = listener->in_place_arg;
		return true;
	}
	reader->patient = policies->history.kind == WHORL_DDS_HISTORY_KEEP_ALL &&
			  policies->reliability.kind == WHORL_DDS_RELIABILITY_RELIABLE &&
			  (policies->limits.samples != WHORL_DDS_UNLIMITED ||
			   policies->limits.samples_per_instance != WHORL_DDS_UNLIMITED);
	reader->cache = wh_dds_cache_create(&options);
	if (reader->cache == NULL)
		wh_dds_filter_put(reader->filter);
	return reader->cache != NULL;
}

whorl_dds_return wh_dds_suit_in_place(const char *function, const struct wh_dds_policies *policies)
{
	enum whorl_dds_policy_id id = WHORL_DDS_POLICY_INVALID;

	if (policies->separation_ns > 0)
		id = WHORL_DDS_POLICY_TIME_BASED_FILTER;
	else if (policies->deadline_ns != WHORL_DDS_INFINITY)
		id = WHORL_DDS_POLICY_DEADLINE;
	return id == WHORL_DDS_POLICY_INVALID ? WHORL_DDS_RETCODE_OK
					      : wh_dds_say(function, WHORL_DDS_RETCODE_UNSUPPORTED,
							   "%s: not of a reader in place", wh_dds_policy_name(id));
}

static whorl_dds_return prepare_reader(const char *function, struct wh_dds_endpoint_entity *end,
				       struct wh_dds_topic_entity *topic, const whorl_dds_listener *listener)
{
	whorl_dds_return result = WHORL_DDS_RETCODE_OK;

	if (listener != NULL && listener->in_place != NULL)
		result = wh_dds_suit_in_place(function, &end->base.policies);
	if (result == WHORL_DDS_RETCODE_OK && !make_cache((struct wh_dds_reader_entity *)end, topic, listener))
		result = wh_dds_say(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	return result;
}

whorl_dds_entity whorl_dds_create_reader(whorl_dds_entity parent, whorl_dds_entity topic, const whorl_dds_qos *qos,
					 const whorl_dds_listener *listener)
{
	static const struct wh_dds_endpoint_class readers = {.kind = WH_DDS_READER,
							     .bytes = sizeof(struct wh_dds_reader_entity),
							     .ops = &reader_ops,
							     .prepare = prepare_reader};

	return wh_dds_endpoint_create(__func__, &readers, parent, topic, qos, listener);
}

/* ---- what comes ---------------------------------------------------------------------------------------------------------------- */

void wh_dds_reader_look(struct wh_dds_reader_entity *reader)
{
	struct wh_dds_base *base = &reader->end.base, *subscriber = wh_dds_parent(base);

	wh_dds_read_conditions_look(reader->conditions, reader->cache);
	wh_dds_work_due(base->node, wh_dds_cache_due(reader->cache));
	if ((base->statuses.changed & WHORL_DDS_DATA_AVAILABLE_STATUS) != 0) {
		pthread_mutex_lock(&subscriber->lock);
		wh_dds_status_data(&subscriber->statuses, WHORL_DDS_DATA_ON_READERS_STATUS);
		wh_dds_base_changed(subscriber);
		pthread_mutex_unlock(&subscriber->lock);
	}
	wh_dds_base_changed(base);
}

/* What is over leaves room, as what is taken does. With the lock. True: what was refused is to be offered again. */
static bool pass_time(struct wh_dds_reader_entity *reader, uint64_t now_ns)
{
	bool refused = reader->refused;

	if (wh_dds_cache_due(reader->cache) > now_ns)
		return false;
	(void)wh_dds_cache_pass_time(reader->cache, now_ns);
	wh_dds_reader_look(reader);
	reader->refused = false;
	return refused;
}

uint64_t wh_dds_reader_pass_time(struct wh_dds_reader_entity *reader, uint64_t now_ns, bool *offer_again)
{
	uint64_t due = WH_DDS_NEVER;

	pthread_mutex_lock(&reader->end.base.lock);
	if (reader->cache != NULL) {
		*offer_again = pass_time(reader, now_ns) || *offer_again;
		due = wh_dds_cache_due(reader->cache);
	}
	pthread_mutex_unlock(&reader->end.base.lock);
	return due;
}

void wh_dds_reader_has_room(struct wh_dds_reader_entity *reader)
{
	if (!wh_dds_node_call(reader->end.base.node))
		return;
	(void)whorl_offer_again(wh_dds_subgroup_of(reader->end.stream));
	wh_dds_node_called(reader->end.base.node);
}

/* ---- reading ------------------------------------------------------------------------------------------------------------------- */

static struct wh_dds_reader_entity *reader_of(struct wh_dds_base *base)
{
	return (struct wh_dds_reader_entity *)((WH_DDS_READ_CONDITIONS >> base->entity.kind & 1) != 0
						       ? wh_dds_parent(base)
						       : base);
}

/* The program has looked: what it has seen is not new any more. With the lock. */
static void was_looked_at(struct wh_dds_reader_entity *reader)
{
	struct wh_dds_base *base = &reader->end.base, *subscriber = wh_dds_parent(base);

	wh_dds_read_conditions_look(reader->conditions, reader->cache);
	wh_dds_work_due(base->node, wh_dds_cache_due(reader->cache));
	base->statuses.changed &= ~(uint32_t)WHORL_DDS_DATA_AVAILABLE_STATUS;
	wh_dds_status_condition_look(&base->condition, &base->statuses);
	pthread_mutex_lock(&subscriber->lock);
	subscriber->statuses.changed &= ~(uint32_t)WHORL_DDS_DATA_ON_READERS_STATUS;
	wh_dds_status_condition_look(&subscriber->condition, &subscriber->statuses);
	pthread_mutex_unlock(&subscriber->lock);
}

static whorl_dds_return no_cache(const char *function, const struct wh_dds_reader_entity *reader)
{
	return reader->in_place != NULL
		       ? wh_dds_say(function, WHORL_DDS_RETCODE_ILLEGAL_OPERATION,
				    "the reader is in place: it keeps nothing")
		       : wh_dds_say(function, WHORL_DDS_RETCODE_ALREADY_DELETED, "the reader has been deleted");
}

/* What a condition selects, unless it was deleted meanwhile: its query went with it. With the lock. */
static bool take_selection(const struct wh_dds_base *base, struct wh_dds_select *select)
{
	const struct wh_dds_condition_entity *condition = (const struct wh_dds_condition_entity *)base;

	if (base->entity.kind == WH_DDS_READER)
		return true;
	select->mask = condition->read.mask;
	select->query = condition->read.query;
	return !condition->read.condition.closed;
}

/* With the lock. Whether what was refused is to be offered again goes to *refused. */
static whorl_dds_return read_cache(struct wh_dds_reader_entity *reader, const struct wh_dds_select *select, void **data,
				   struct whorl_dds_sample_info *infos, size_t count, bool *refused)
{
	whorl_dds_return result;

	/* What is over is not read, also while the participant's thread, which has the timers, is in a listener. */
	if (wh_dds_cache_due(reader->cache) != WH_DDS_NEVER)
		*refused = pass_time(reader, wh_dds_clock());
	result = wh_dds_cache_read(reader->cache, select, data, infos, count);
	if (!select->peek)
		was_looked_at(reader);
	*refused = *refused || (reader->refused && result > 0 && select->take);
	reader->refused = reader->refused && !*refused;
	reader->hurried = reader->hurried && !(result > 0 && select->take);
	return result;
}

static whorl_dds_return read_held(const char *function, struct wh_dds_base *base, struct wh_dds_select *select,
				  void **data, struct whorl_dds_sample_info *infos, size_t count)
{
	struct wh_dds_reader_entity *reader = reader_of(base);
	bool refused = false;
	whorl_dds_return result;

	if (data[0] != NULL && reader->end.topic->builtin)
		return wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER,
				  "samples of built-in topics are lent, and not copied");
	if (data[0] != NULL && select->copy_bytes == 0)
		select->copy_bytes = reader->end.topic->type->bytes;
	if (data[0] == NULL)
		select->copy_bytes = 0;
	wh_dds_lock_soon(&reader->end.base.lock);
	if (reader->cache == NULL)
		result = no_cache(function, reader);
	else if (!take_selection(base, select))
		result = wh_dds_say(function, WHORL_DDS_RETCODE_ALREADY_DELETED, "the condition has been deleted");
	else
		result = read_cache(reader, select, data, infos, count, &refused);
	pthread_mutex_unlock(&reader->end.base.lock);
	if (refused)
		wh_dds_reader_has_room(reader);
	if (result == WHORL_DDS_RETCODE_BAD_PARAMETER)
		return wh_dds_say(function, result,
				  "there is no such instance, or a buffer is smaller than its sample");
	return result == WHORL_DDS_RETCODE_OUT_OF_RESOURCES ? wh_dds_say(function, result, "memory is out") : result;
}

static whorl_dds_return do_read(const char *function, whorl_dds_entity from, struct wh_dds_select *select, void **data,
				struct whorl_dds_sample_info *infos, size_t count)
{
	struct wh_dds_base *base;
	whorl_dds_return result;

	if (data == NULL || infos == NULL || count == 0 || count > INT32_MAX)
		return wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER, "no memory for samples");
	if (infos[0].size < sizeof(infos[0].size))
		return wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER, "the first info has no size");
	select->info_bytes = infos[0].size;
	result = wh_dds_hold(function, from, READABLE, &base);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	result = read_held(function, base, select, data, infos, count);
	wh_dds_let_go(base);
	return result;
}

whorl_dds_return whorl_dds_read(whorl_dds_entity from, void **data, struct whorl_dds_sample_info *infos, size_t count)
{
	struct wh_dds_select select = {.take = false};

	return do_read(__func__, from, &select, data, infos, count);
}

whorl_dds_return whorl_dds_take(whorl_dds_entity from, void **data, struct whorl_dds_sample_info *infos, size_t count)
{
	struct wh_dds_select select = {.take = true};

	return do_read(__func__, from, &select, data, infos, count);
}

static whorl_dds_return read_selected(const char *function, whorl_dds_entity from, const struct whorl_dds_select *said,
				      bool take, void **data, struct whorl_dds_sample_info *infos, size_t count)
{
	struct whorl_dds_select all = {.mask = 0};
	struct wh_dds_select select = {.take = take};

	if (said != NULL && said->size < sizeof(said->size))
		return wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER, "the size of the selection is not set");
	if (said != NULL)
		memcpy(&all, said, said->size < sizeof(all) ? said->size : sizeof(all));
	if (all.peek && take)
		return wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER, "what is taken cannot be left as it is");
	select.mask = all.mask;
	select.next = all.next;
	select.peek = all.peek;
	select.instance = all.instance;
	select.copy_bytes = all.buffer_bytes;
	return do_read(function, from, &select, data, infos, count);
}

whorl_dds_return whorl_dds_read_select(whorl_dds_entity from, const struct whorl_dds_select *select, void **data,
				       struct whorl_dds_sample_info *infos, size_t count)
{
	return read_selected(__func__, from, select, false, data, infos, count);
}

whorl_dds_return whorl_dds_take_select(whorl_dds_entity from, const struct whorl_dds_select *select, void **data,
				       struct whorl_dds_sample_info *infos, size_t count)
{
	return read_selected(__func__, from, select, true, data, infos, count);
}

static whorl_dds_return give_back(struct wh_dds_reader_entity *reader, void **data, size_t count)
{
	whorl_dds_return result = WHORL_DDS_RETCODE_PRECONDITION_NOT_MET;
	bool refused = false;

	wh_dds_lock_soon(&reader->end.base.lock);
	if (reader->cache != NULL) {
		result = wh_dds_cache_return(reader->cache, data, count);
		refused = reader->refused;
		reader->refused = false;
		reader->hurried = reader->hurried && wh_dds_cache_room(reader->cache) == 0;
	}
	pthread_mutex_unlock(&reader->end.base.lock);
	if (refused)
		wh_dds_reader_has_room(reader);
	return result;
}

whorl_dds_return whorl_dds_return_loan(whorl_dds_entity entity, void **data, int32_t count)
{
	struct wh_dds_base *base;
	whorl_dds_return result;

	if (count < 0 || (data == NULL && count > 0))
		return WH_DDS_SAY(BAD_PARAMETER, "no samples");
	result = WH_DDS_HOLD(entity, READABLE | WH_DDS_KIND(WH_DDS_WRITER), &base);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	if (count > 0) {
		result = base->entity.kind == WH_DDS_WRITER
				 ? wh_dds_loans_return((struct wh_dds_writer_entity *)base, data, (size_t)count)
				 : give_back(reader_of(base), data, (size_t)count);
		data[0] = NULL;
	}
	if (result != WHORL_DDS_RETCODE_OK)
		result = WH_DDS_SAY(PRECONDITION_NOT_MET, "one of the samples is not lent, or no more");
	wh_dds_let_go(base);
	return result;
}

/* It is told in one with the verdict, so a reader that has a handle has it. */
whorl_dds_return whorl_dds_wait_for_historical_data(whorl_dds_entity reader, whorl_dds_duration timeout)
{
	struct wh_dds_base *base;
	whorl_dds_return result;

	if (timeout < 0)
		return WH_DDS_SAY(BAD_PARAMETER, "the time-out is negative");
	result = WH_DDS_HOLD(reader, WH_DDS_KIND(WH_DDS_READER), &base);
	wh_dds_let_go(base);
	return result;
}

/* ---- instances ----------------------------------------------------------------------------------------------------------------- */

whorl_dds_instance_handle whorl_dds_lookup_instance(whorl_dds_entity entity, const void *data)
{
	unsigned char hash[WH_DDS_HASH_BYTES] = {0};
	whorl_dds_instance_handle handle = 0;
	struct wh_dds_topic_entity *topic;
	struct wh_dds_base *base;
	bool known = false;

	if (data == NULL)
		(void)WH_DDS_SAY(BAD_PARAMETER, "no sample with the key");
	if (data == NULL || WH_DDS_HOLD(entity, WH_DDS_ENDPOINTS, &base) != WHORL_DDS_RETCODE_OK)
		return 0;
	topic = ((struct wh_dds_endpoint_entity *)base)->topic;
	if (wh_dds_type_is_keyed(topic->type))
		wh_dds_type_key_hash(topic->type, data, hash);
	handle = topic->builtin ? wh_dds_builtin_handle(topic->type, data) : wh_dds_instance_handle_of(topic->id, hash);
	if (base->entity.kind == WH_DDS_WRITER) {
		known = !wh_dds_type_is_keyed(topic->type) ||
			wh_dds_writer_has((struct wh_dds_writer_entity *)base, hash);
	} else {
		struct wh_dds_reader_entity *reader = (struct wh_dds_reader_entity *)base;

		pthread_mutex_lock(&base->lock);
		known = reader->cache != NULL && wh_dds_cache_state(reader->cache, handle) != 0;
		pthread_mutex_unlock(&base->lock);
	}
	wh_dds_let_go(base);
	return known ? handle : 0;
}

static bool reader_key(struct wh_dds_reader_entity *reader, whorl_dds_instance_handle instance, void *data)
{
	const struct wh_dds_known *it;
	bool known;

	if (reader->end.topic->builtin) {
		pthread_mutex_lock(&reader->end.base.lock);
		known = reader->cache != NULL && wh_dds_cache_state(reader->cache, instance) != 0;
		pthread_mutex_unlock(&reader->end.base.lock);
		if (known)
			wh_dds_type_from_key(reader->end.topic->type, &instance, data);
		return known;
	}
	pthread_mutex_lock(&reader->end.line->lock);
	it = wh_dds_known_by_handle(&reader->seen, instance);
	if (it != NULL)
		wh_dds_type_from_key(reader->end.topic->type, it->key, data);
	pthread_mutex_unlock(&reader->end.line->lock);
	return it != NULL;
}

whorl_dds_return whorl_dds_instance_get_key(whorl_dds_entity entity, whorl_dds_instance_handle instance, void *data)
{
	struct wh_dds_base *base;
	whorl_dds_return result;
	bool known;

	if (data == NULL)
		return WH_DDS_SAY(BAD_PARAMETER, "no memory for the key");
	result = WH_DDS_HOLD(entity, WH_DDS_ENDPOINTS, &base);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	known = base->entity.kind == WH_DDS_WRITER
			? wh_dds_writer_key((struct wh_dds_writer_entity *)base, instance, data)
			: reader_key((struct wh_dds_reader_entity *)base, instance, data);
	if (!known)
		result = WH_DDS_SAY(BAD_PARAMETER, "the entity does not know this instance");
	wh_dds_let_go(base);
	return result;
}
