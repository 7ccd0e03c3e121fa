/* writer.c - writers, and writing: a claim in the window of the channel, the head and the key, the sample, the commit. See node.h. */
#include <stdlib.h>
#include <string.h>

#include "base/rcu.h"
#include "dds/node.h"

/* ---- the entity ---------------------------------------------------------------------------------------------------------------- */

/* What it has lent would hold up its end. */
static void close_writer(struct wh_dds_entity *entity)
{
	wh_dds_loans_end((struct wh_dds_writer_entity *)(void *)entity);
	wh_dds_endpoint_close((struct wh_dds_endpoint_entity *)(void *)entity);
}

static void free_writer(struct wh_dds_entity *entity)
{
	struct wh_dds_writer_entity *writer = (struct wh_dds_writer_entity *)(void *)entity;

	wh_dds_known_free(&writer->instances);
	wh_dds_endpoint_put(&writer->end);
	free(writer);
}

static const struct wh_dds_entity_ops writer_ops = {.close = close_writer, .free = free_writer};

static whorl_dds_return prepare_writer(const char *function, struct wh_dds_endpoint_entity *end,
				       struct wh_dds_topic_entity *topic, const whorl_dds_listener *listener)
{
	struct wh_dds_writer_entity *writer = (struct wh_dds_writer_entity *)end;
	const struct wh_dds_policies *policies = &end->base.policies;

	(void)function;
	(void)topic;
	(void)listener;
	if (policies->reliability.kind == WHORL_DDS_RELIABILITY_RELIABLE)
		writer->blocking_ns = policies->reliability.max_blocking_ns;
	else
		writer->drops = true;
	wh_store_relaxed(&writer->deadline_ns, (uint64_t)policies->deadline_ns);
	return WHORL_DDS_RETCODE_OK;
}

whorl_dds_entity whorl_dds_create_writer(whorl_dds_entity parent, whorl_dds_entity topic, const whorl_dds_qos *qos,
					 const whorl_dds_listener *listener)
{
	static const struct wh_dds_endpoint_class writers = {.kind = WH_DDS_WRITER,
							     .bytes = sizeof(struct wh_dds_writer_entity),
							     .ops = &writer_ops,
							     .prepare = prepare_writer};

	return wh_dds_endpoint_create(__func__, &writers, parent, topic, qos, listener);
}

/* ---- instances ----------------------------------------------------------------------------------------------------------------- */

/* With the lock. */
static whorl_dds_return add_instance(const char *function, struct wh_dds_writer_entity *writer, const void *data,
				     const unsigned char *hash)
{
	int32_t most = writer->end.base.policies.limits.instances;

	if (most != WHORL_DDS_UNLIMITED && writer->instances.index.count >= (size_t)most)
		return wh_dds_say(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES,
				  "resource_limits: the writer has %d instances already", (int)most);
	if (wh_dds_known_add(&writer->instances, writer->end.topic, data, hash) == NULL)
		return wh_dds_say(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	return WHORL_DDS_RETCODE_OK;
}

/* ---- writing ------------------------------------------------------------------------------------------------------------------- */

struct writing {
	const char *function;
	struct wh_dds_writer_entity *writer;
	const void *data;
	size_t bytes;
	uint8_t change;
	whorl_dds_time time;
	struct wh_dds_write_loan *loan; /* NULL: the data is the program's */
	bool waits;                     /* for room; else TIMEOUT says that there was none */
	bool has_key;
	unsigned char hash[WH_DDS_HASH_BYTES];
};

/* Into a claim that may lie in parts, from `*at` of it on. */
static void fill(const struct whorl_claim *claim, size_t *at, const void *bytes, size_t count)
{
	size_t before = 0, room;
	void *part;

	for (uint32_t i = 0; count > 0 && whorl_claim_part(claim, i, &part, &room) == WHORL_OK; before += room, i++) {
		size_t from = *at - before, step;

		if (*at >= before + room)
			continue;
		step = room - from < count ? room - from : count;
		memcpy((unsigned char *)part + from, bytes, step);
		bytes = (const unsigned char *)bytes + step;
		count -= step;
		*at += step;
	}
}

/* Until the subgroup of a line that was left has ended, a claim may still be had: no member would hear of that message. */
static enum whorl_result claim(const struct wh_dds_writer_entity *writer, size_t bytes, int timeout_ms,
			       struct whorl_claim *out)
{
	const struct wh_dds_line *stream = writer->end.stream;

	if (wh_dds_line_is_left(stream))
		return WHORL_CLOSED;
	return whorl_claim_large(wh_dds_subgroup_of(stream), bytes, timeout_ms, out);
}

enum whorl_result wh_dds_writer_claim(const struct wh_dds_writer_entity *writer, size_t bytes, struct whorl_claim *out)
{
	uint64_t until = writer->blocking_ns > 0 ? wh_dds_until(writer->blocking_ns) : 0;
	enum whorl_result result = claim(writer, bytes, 0, out);

	while (wh_dds_is_for_now(result) && writer->blocking_ns > 0 && !wh_dds_on_loop() &&
	       !wh_dds_node_closes(writer->end.base.node)) {
		int ms = wh_dds_left_ms(until, 100);

		if (ms == 0)
			break;
		wh_dds_rest();
		result = claim(writer, bytes, wh_dds_given_ms(ms), out);
		if (result == WHORL_WOULD_DEADLOCK)
			return WHORL_TIMEOUT;
	}
	return result;
}

/* Its next sample is due a deadline after this one; of what is disposed of none is. With the lock. */
static void note_time(struct wh_dds_writer_entity *writer, const struct writing *writing)
{
	struct wh_dds_known *it = writing->has_key ? wh_dds_known_find(&writer->instances, writing->hash) : NULL;
	uint64_t *heard = it != NULL ? &it->heard_ns : &writer->heard_ns, due;

	if (writing->has_key && it == NULL)
		return;
	if ((writing->change & (WH_DDS_DISPOSE | WH_DDS_UNREGISTER)) != 0) {
		*heard = 0;
	} else if ((writing->change & WH_DDS_WRITE) != 0) {
		*heard = wh_dds_clock();
		due = *heard + (uint64_t)writer->end.base.policies.deadline_ns;
		writer->due_ns = due < writer->due_ns ? due : writer->due_ns;
	}
}

/* By a thread that is not the first that wrote, or the first time. */
static void note_last_of_others(struct wh_dds_writer_entity *writer, uint64_t last)
{
	pthread_mutex_lock(&writer->end.base.lock);
	if (wh_load_relaxed(&writer->thread) == 0) {
		wh_store_relaxed(&writer->last_of_thread, last);
		wh_store_release(&writer->thread, wh_dds_this_thread()); /* partner: last_of */
	} else if (last > writer->last) {
		writer->last = last;
	}
	pthread_mutex_unlock(&writer->end.base.lock);
}

/* Most writers have one thread that writes: it takes no lock for that (a word that only this thread writes). */
static void note_sent(struct wh_dds_writer_entity *writer, const struct writing *writing, uint64_t index)
{
	if (wh_load_relaxed(&writer->thread) != wh_dds_this_thread())
		note_last_of_others(writer, index + 1);
	else if (index + 1 > wh_load_relaxed(&writer->last_of_thread)) /* it may write a loan that it had before */
		wh_store_release(&writer->last_of_thread, index + 1);  /* partner: last_of */
	if (wh_load_relaxed(&writer->deadline_ns) == (uint64_t)WHORL_DDS_INFINITY)
		return;
	pthread_mutex_lock(&writer->end.base.lock);
	if (writer->end.base.policies.deadline_ns != WHORL_DDS_INFINITY) {
		note_time(writer, writing);
		wh_dds_work_due(writer->end.base.node, writer->due_ns);
	}
	pthread_mutex_unlock(&writer->end.base.lock);
}

/* 1 + the index of the last message that was written by then, in the eyes of this thread; 0: none was. */
static uint64_t last_of(struct wh_dds_writer_entity *writer)
{
	uint64_t last, own;

	pthread_mutex_lock(&writer->end.base.lock);
	last = writer->last;
	own = wh_load_acquire(&writer->last_of_thread); /* partner: note_sent */
	pthread_mutex_unlock(&writer->end.base.lock);
	return own > last ? own : last;
}

/* Samples of an unordered topic are no part of the order in which leases end: that it lives is said there, too, three times in each. */
static void assert_writer(struct wh_dds_writer_entity *writer)
{
	struct wh_dds_endpoint_entity *end = &writer->end;
	uint64_t now = wh_dds_clock();
	bool due;

	pthread_mutex_lock(&end->base.lock);
	due = end->base.policies.liveliness.kind != WHORL_DDS_LIVELINESS_AUTOMATIC &&
	      now - writer->asserted_ns >= (uint64_t)end->base.policies.liveliness.lease_ns / 3;
	pthread_mutex_unlock(&end->base.lock);
	if (!due || !wh_dds_line_assert(__func__, end->line, end->base.number, 0))
		return;
	pthread_mutex_lock(&end->base.lock);
	writer->asserted_ns = now;
	pthread_mutex_unlock(&end->base.lock);
}

static whorl_dds_return send(const struct writing *writing, const void *payload, size_t bytes)
{
	struct wh_dds_endpoint_entity *end = &writing->writer->end;
	unsigned char head[WH_DDS_HEAD_BYTES + WH_DDS_KEY_BYTES];
	size_t head_bytes = wh_dds_put_sample(head, end->base.number, writing->change, writing->time,
					      writing->has_key ? writing->hash : NULL);
	/* cppcheck-suppress uninitvar ; its address alone is taken */
	struct whorl_claim own, *place = writing->loan != NULL ? &writing->loan->claim : &own;
	enum whorl_result result = WHORL_OK;
	size_t at = 0;
	uint64_t index;

	if (writing->loan == NULL)
		result = writing->waits ? wh_dds_writer_claim(writing->writer, head_bytes + bytes, place)
					: claim(writing->writer, head_bytes + bytes, 0, place);
	else if (head_bytes + bytes > place->bytes)
		return wh_dds_say(writing->function, WHORL_DDS_RETCODE_BAD_PARAMETER, "%zu bytes, but the loan has %zu",
				  bytes, writing->loan->bytes);
	if (result == WHORL_OK) {
		index = place->number;
		fill(place, &at, head, head_bytes);
		if (writing->loan == NULL || writing->loan->beside != NULL || payload != writing->loan->data)
			fill(place, &at, payload, bytes); /* else it lies there */
		result = whorl_commit(place, head_bytes + bytes);
		if (writing->loan != NULL)
			writing->loan->open = false;
		if (result == WHORL_OK || result == WHORL_PENDING)
			note_sent(writing->writer, writing, index);
	}
	if (end->line != end->stream)
		assert_writer(writing->writer);
	if (result == WHORL_OK || result == WHORL_PENDING)
		return WHORL_DDS_RETCODE_OK;
	if (result == WHORL_INVALID)
		return wh_dds_say(writing->function, WHORL_DDS_RETCODE_BAD_PARAMETER, "%s", whorl_invalid_text());
	if (wh_dds_is_for_now(result) && writing->writer->drops)
		return WHORL_DDS_RETCODE_OK; /* the sample is dropped */
	if (wh_dds_is_for_now(result) && !writing->waits)
		return WHORL_DDS_RETCODE_TIMEOUT;
	return wh_dds_line_says(writing->function, end->stream, result);
}

/* The thread that wrote first may say so without the lock: it is the instance that it noted last, and none was removed since. */
static bool is_noted(const struct writing *writing)
{
	const struct wh_dds_writer_entity *writer = writing->writer;
	uint64_t halves[2];

	memcpy(halves, writing->hash, sizeof(halves));
	return wh_load_relaxed(&writer->thread) == wh_dds_this_thread() &&
	       wh_load_relaxed(&writer->noted_turn) ==
		       1 + wh_load_acquire(&writer->removals) && /* partner: remove_instance */
	       wh_load_relaxed(&writer->noted[0]) == halves[0] &&
	       wh_load_relaxed(&writer->noted[1]) == halves[1];
}

/* It is there. With the lock. */
static void note(struct writing *writing)
{
	struct wh_dds_writer_entity *writer = writing->writer;
	uint64_t halves[2];

	if (wh_load_relaxed(&writer->thread) != wh_dds_this_thread())
		return;
	memcpy(halves, writing->hash, sizeof(halves));
	wh_store_relaxed(&writer->noted[0], halves[0]);
	wh_store_relaxed(&writer->noted[1], halves[1]);
	wh_store_relaxed(&writer->noted_turn, 1 + wh_load_relaxed(&writer->removals));
}

static void remove_instance(struct writing *writing)
{
	struct wh_dds_writer_entity *writer = writing->writer;

	pthread_mutex_lock(&writer->end.base.lock);
	wh_dds_known_remove(&writer->instances, writing->hash);
	wh_store_release(&writer->removals, 1 + wh_load_relaxed(&writer->removals)); /* partner: is_noted */
	pthread_mutex_unlock(&writer->end.base.lock);
}

/* What a writer knows of its instances, before and behind the message. */
static whorl_dds_return note_instance(struct writing *writing)
{
	struct wh_dds_writer_entity *writer = writing->writer;
	whorl_dds_return result = WHORL_DDS_RETCODE_OK;
	bool known;

	if (!writing->has_key || is_noted(writing))
		return result;
	pthread_mutex_lock(&writer->end.base.lock);
	known = wh_dds_known_find(&writer->instances, writing->hash) != NULL;
	if ((writing->change & WH_DDS_UNREGISTER) != 0 && !known)
		result = wh_dds_say(writing->function, WHORL_DDS_RETCODE_PRECONDITION_NOT_MET,
				    "the writer does not have this instance");
	else if (!known)
		result = add_instance(writing->function, writer, writing->data, writing->hash);
	if (result == WHORL_DDS_RETCODE_OK)
		note(writing);
	pthread_mutex_unlock(&writer->end.base.lock);
	return result;
}

static whorl_dds_return perform(struct writing *writing)
{
	const struct whorl_dds_type *type = writing->writer->end.topic->type;
	bool whole = (writing->change & WH_DDS_WRITE) != 0;
	unsigned char key[WH_DDS_KEY_BYTES_MAX];
	whorl_dds_return result;

	result = note_instance(writing);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	if (whole) {
		result = send(writing, writing->data, writing->bytes);
	} else {
		wh_dds_type_key(type, writing->data, key); /* of a type without keys: nothing */
		result = send(writing, key, wh_dds_type_key_bytes(type));
	}
	if (result == WHORL_DDS_RETCODE_OK && (writing->change & WH_DDS_UNREGISTER) != 0 && writing->has_key)
		remove_instance(writing);
	return result;
}

static bool takes_change(enum whorl_dds_write_kind kind, uint8_t *change)
{
	static const uint8_t changes[] = {[WHORL_DDS_WRITE] = WH_DDS_WRITE,
					  [WHORL_DDS_WRITE_DISPOSE] = WH_DDS_WRITE | WH_DDS_DISPOSE,
					  [WHORL_DDS_DISPOSE] = WH_DDS_DISPOSE,
					  [WHORL_DDS_UNREGISTER] = WH_DDS_UNREGISTER,
					  [WHORL_DDS_REGISTER] = 0};

	if ((unsigned)kind >= sizeof(changes))
		return false;
	*change = changes[kind];
	return true;
}

/* The key of an instance that is named, as a sample: in `sample`, of the type's bytes. */
bool wh_dds_writer_key(struct wh_dds_writer_entity *writer, whorl_dds_instance_handle instance, void *sample)
{
	const struct wh_dds_known *it;

	pthread_mutex_lock(&writer->end.base.lock);
	it = wh_dds_known_by_handle(&writer->instances, instance);
	if (it != NULL)
		wh_dds_type_from_key(writer->end.topic->type, it->key, sample);
	pthread_mutex_unlock(&writer->end.base.lock);
	return it != NULL;
}

static whorl_dds_return check_instance(const struct writing *writing, whorl_dds_instance_handle instance)
{
	if (wh_dds_instance_handle_of(writing->writer->end.topic->id, writing->hash) == instance)
		return WHORL_DDS_RETCODE_OK;
	return wh_dds_say(writing->function, WHORL_DDS_RETCODE_PRECONDITION_NOT_MET,
			  "the data is of another instance than the one that is named");
}

static whorl_dds_return write_held(struct writing *writing, const struct whorl_dds_write_options *options)
{
	const struct whorl_dds_type *type = writing->writer->end.topic->type;
	bool whole = (writing->change & WH_DDS_WRITE) != 0;
	unsigned char *sample = NULL;
	whorl_dds_return result = WHORL_DDS_RETCODE_OK;

	writing->bytes = (type->flags & WHORL_DDS_TYPE_BYTES) != 0 ? options->bytes : type->bytes;
	if (whole && !wh_dds_type_fits(type, writing->bytes))
		return wh_dds_say(writing->function, WHORL_DDS_RETCODE_BAD_PARAMETER,
				  "a sample of %zu bytes is none of the type", writing->bytes);
	if (writing->data == NULL && !whole && options->instance != 0) {
		sample = aligned_alloc(64, (type->bytes + 64) / 64 * 64);
		if (sample == NULL)
			return wh_dds_say(writing->function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
		if (wh_dds_writer_key(writing->writer, options->instance, sample))
			writing->data = sample;
	}
	if (writing->data == NULL && (whole ? writing->bytes > 0 : wh_dds_type_is_keyed(type)))
		result = wh_dds_say(writing->function, WHORL_DDS_RETCODE_BAD_PARAMETER,
				    "no data, and no instance that the writer has");
	writing->has_key = result == WHORL_DDS_RETCODE_OK && wh_dds_type_is_keyed(type);
	if (writing->has_key)
		wh_dds_type_key_hash(type, writing->data, writing->hash);
	if (result == WHORL_DDS_RETCODE_OK && options->instance != 0)
		result = check_instance(writing, options->instance);
	if (result == WHORL_DDS_RETCODE_OK)
		result = perform(writing);
	free(sample);
	return result;
}

/* What is written, whatever comes of it, is lent no more: there is room for it, so no time runs out. */
static whorl_dds_return write_or_drop(struct writing *writing, const struct whorl_dds_write_options *options)
{
	whorl_dds_return result;

	writing->loan = wh_dds_loan_take(writing->writer, writing->data);
	writing->time = options->has_time ? options->timestamp : whorl_dds_now();
	if (takes_change(options->kind, &writing->change) && writing->time >= 0)
		result = write_held(writing, options);
	else
		result = wh_dds_say(writing->function, WHORL_DDS_RETCODE_BAD_PARAMETER,
				    "no kind of writing, or a negative time");
	wh_dds_loan_drop(writing->loan);
	return result;
}

static whorl_dds_return write_named(struct writing *writing, const struct whorl_dds_write_options *options,
				    whorl_dds_instance_handle *handle)
{
	whorl_dds_return result = write_or_drop(writing, options);

	if (result == WHORL_DDS_RETCODE_OK && handle != NULL)
		*handle = wh_dds_instance_handle_of(writing->writer->end.topic->id, writing->hash);
	return result;
}

/* There is room, nothing is lent, and the writer is none of an unordered topic, which takes a line's lock: then it is over at once, and peeking
 * is enough. TIMEOUT: it is not so, and nothing was written. */
static whorl_dds_return write_at_once(struct writing *writing, whorl_dds_entity entity,
				      const struct whorl_dds_write_options *options, whorl_dds_instance_handle *handle)
{
	whorl_dds_return result = WHORL_DDS_RETCODE_TIMEOUT;
	struct wh_dds_table *table = wh_dds_root()->table;

	if (table == NULL)
		return result;
	wh_dds_rest();
	wh_rcu_read_lock();
	writing->writer =
		(struct wh_dds_writer_entity *)(void *)wh_dds_entity_peek(table, entity, WH_DDS_KIND(WH_DDS_WRITER));
	if (writing->writer != NULL && !wh_dds_node_closes(writing->writer->end.base.node) &&
	    writing->writer->end.line == writing->writer->end.stream &&
	    wh_load_acquire(&writing->writer->loan_count) == 0) /* partner: add, in loan.c */
		result = write_named(writing, options, handle);
	wh_rcu_read_unlock();
	return result;
}

static whorl_dds_return do_write(const char *function, whorl_dds_entity entity, const void *data,
				 const struct whorl_dds_write_options *options, whorl_dds_instance_handle *handle)
{
	struct writing writing = {.function = function, .data = data};
	struct wh_dds_base *base;
	whorl_dds_return result = write_at_once(&writing, entity, options, handle);

	if (result != WHORL_DDS_RETCODE_TIMEOUT)
		return result;
	result = wh_dds_hold(function, entity, WH_DDS_KIND(WH_DDS_WRITER), &base);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	if (!wh_dds_node_call(base->node)) {
		result = wh_dds_say(function, WHORL_DDS_RETCODE_ALREADY_DELETED, "the participant has been deleted");
	} else {
		writing = (struct writing){.function = function,
					   .data = data,
					   .writer = (struct wh_dds_writer_entity *)base,
					   .waits = true};
		result = write_named(&writing, options, handle);
		wh_dds_node_called(base->node);
	}
	wh_dds_let_go(base);
	return result;
}

whorl_dds_return whorl_dds_write(whorl_dds_entity writer, const void *data)
{
	const struct whorl_dds_write_options options = {.kind = WHORL_DDS_WRITE};

	return do_write(__func__, writer, data, &options, NULL);
}

whorl_dds_return whorl_dds_write_ts(whorl_dds_entity writer, const void *data, whorl_dds_time timestamp)
{
	const struct whorl_dds_write_options options = {
		.kind = WHORL_DDS_WRITE, .has_time = true, .timestamp = timestamp};

	return do_write(__func__, writer, data, &options, NULL);
}

whorl_dds_return whorl_dds_write_bytes(whorl_dds_entity writer, const void *data, size_t bytes)
{
	const struct whorl_dds_write_options options = {.kind = WHORL_DDS_WRITE, .bytes = bytes};

	return do_write(__func__, writer, data, &options, NULL);
}

whorl_dds_return whorl_dds_writedispose(whorl_dds_entity writer, const void *data)
{
	const struct whorl_dds_write_options options = {.kind = WHORL_DDS_WRITE_DISPOSE};

	return do_write(__func__, writer, data, &options, NULL);
}

whorl_dds_return whorl_dds_dispose(whorl_dds_entity writer, const void *data)
{
	const struct whorl_dds_write_options options = {.kind = WHORL_DDS_DISPOSE};

	return do_write(__func__, writer, data, &options, NULL);
}

whorl_dds_return whorl_dds_unregister_instance(whorl_dds_entity writer, const void *data)
{
	const struct whorl_dds_write_options options = {.kind = WHORL_DDS_UNREGISTER};

	return do_write(__func__, writer, data, &options, NULL);
}

whorl_dds_return whorl_dds_register_instance(whorl_dds_entity writer, whorl_dds_instance_handle *handle,
					     const void *data)
{
	const struct whorl_dds_write_options options = {.kind = WHORL_DDS_REGISTER};

	if (handle == NULL)
		return WH_DDS_SAY(BAD_PARAMETER, "no memory for the handle");
	return do_write(__func__, writer, data, &options, handle);
}

whorl_dds_return whorl_dds_write_with(whorl_dds_entity writer, const void *data,
				      const struct whorl_dds_write_options *options)
{
	struct whorl_dds_write_options said = {.kind = WHORL_DDS_WRITE};

	if (options != NULL && options->size < sizeof(options->size))
		return WH_DDS_SAY(BAD_PARAMETER, "the size of the options is not set");
	if (options != NULL)
		memcpy(&said, options, options->size < sizeof(said) ? options->size : sizeof(said));
	return do_write(__func__, writer, data, &said, NULL);
}

void wh_dds_writer_changed(struct wh_dds_writer_entity *writer)
{
	wh_store_relaxed(&writer->deadline_ns, (uint64_t)writer->end.base.policies.deadline_ns);
	writer->due_ns = 0; /* its deadline may be another one */
}

/* ---- deadlines ----------------------------------------------------------------------------------------------------------------- */

/* How often it was missed by now. Returns when it will be next. */
static uint64_t count_missed(uint64_t *heard_ns, uint64_t deadline_ns, uint64_t now_ns, uint32_t *times)
{
	*times = 0;
	if (*heard_ns == 0)
		return WH_DDS_NEVER;
	if (now_ns >= *heard_ns + deadline_ns) {
		uint64_t missed = (now_ns - *heard_ns) / deadline_ns;

		*times = missed < UINT32_MAX ? (uint32_t)missed : UINT32_MAX;
		*heard_ns += missed * deadline_ns;
	}
	return *heard_ns + deadline_ns;
}

static uint64_t look_at_deadlines(struct wh_dds_writer_entity *writer, uint64_t deadline_ns, uint64_t now_ns)
{
	static const unsigned char none[WH_DDS_HASH_BYTES];
	struct wh_dds_statuses *statuses = &writer->end.base.statuses;
	uint32_t times;
	uint64_t next = count_missed(&writer->heard_ns, deadline_ns, now_ns, &times);

	if (times > 0)
		wh_dds_status_deadline_missed(statuses, WHORL_DDS_OFFERED_DEADLINE_MISSED_STATUS,
					      wh_dds_instance_handle_of(writer->end.topic->id, none), times);
	for (struct wh_dds_known *it = writer->instances.all; it != NULL; it = it->next) {
		uint64_t due = count_missed(&it->heard_ns, deadline_ns, now_ns, &times);

		if (times > 0)
			wh_dds_status_deadline_missed(statuses, WHORL_DDS_OFFERED_DEADLINE_MISSED_STATUS, it->handle,
						      times);
		next = due < next ? due : next;
	}
	return next;
}

/* By its own clock: nothing that others see follows from it. */
uint64_t wh_dds_writer_pass_time(struct wh_dds_writer_entity *writer, uint64_t now_ns)
{
	struct wh_dds_base *base = &writer->end.base;
	uint64_t next = WH_DDS_NEVER;

	pthread_mutex_lock(&base->lock);
	if (base->policies.deadline_ns != WHORL_DDS_INFINITY) {
		if (writer->due_ns <= now_ns) {
			writer->due_ns = look_at_deadlines(writer, (uint64_t)base->policies.deadline_ns, now_ns);
			wh_dds_base_changed(base);
		}
		next = writer->due_ns;
	}
	pthread_mutex_unlock(&base->lock);
	return next;
}

/* ---- what a writer knows ------------------------------------------------------------------------------------------------------- */

bool wh_dds_writer_has(struct wh_dds_writer_entity *writer, const unsigned char *hash)
{
	bool has;

	pthread_mutex_lock(&writer->end.base.lock);
	has = wh_dds_known_find(&writer->instances, hash) != NULL;
	pthread_mutex_unlock(&writer->end.base.lock);
	return has;
}

static whorl_dds_return await_writer(const char *function, struct wh_dds_writer_entity *writer, uint64_t until)
{
	enum whorl_result result = WHORL_TIMEOUT;
	uint64_t last = last_of(writer);

	if (last == 0)
		return WHORL_DDS_RETCODE_OK;
	do {
		if (!wh_dds_node_call(writer->end.base.node))
			return wh_dds_node_says(function, writer->end.base.node, WHORL_CLOSED);
		result = wh_dds_frontier_wait(wh_dds_subgroup_of(writer->end.stream), WHORL_DELIVERED_BY_ALL, last - 1,
					      wh_dds_left_ms(until, 100));
		wh_dds_node_called(writer->end.base.node);
	} while ((result == WHORL_TIMEOUT || result == WHORL_NO_QUORUM) && wh_dds_left_ms(until, 1) > 0);
	return result == WHORL_OK ? WHORL_DDS_RETCODE_OK : wh_dds_line_says(function, writer->end.stream, result);
}

static whorl_dds_return await_publisher(const char *function, struct wh_dds_base *publisher, uint64_t until)
{
	uint32_t count = wh_dds_entity_children(publisher->entity.table, &publisher->entity, NULL, 0);
	whorl_dds_entity *handles = calloc(count + 1, sizeof(*handles));
	whorl_dds_return result = WHORL_DDS_RETCODE_OK;
	struct wh_dds_base *child;

	if (handles == NULL)
		return wh_dds_say(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	(void)wh_dds_entity_children(publisher->entity.table, &publisher->entity, handles, count);
	for (uint32_t i = 0; i < count && result == WHORL_DDS_RETCODE_OK; i++) {
		if (handles[i] == 0 ||
		    wh_dds_hold(function, handles[i], WH_DDS_KIND(WH_DDS_WRITER), &child) != WHORL_DDS_RETCODE_OK)
			continue; /* it went meanwhile, or is a condition */
		result = await_writer(function, (struct wh_dds_writer_entity *)child, until);
		wh_dds_let_go(child);
	}
	free(handles);
	return result;
}

whorl_dds_return whorl_dds_wait_for_acks(whorl_dds_entity entity, whorl_dds_duration timeout)
{
	struct wh_dds_base *base;
	whorl_dds_return result;

	if (timeout < 0)
		return WH_DDS_SAY(BAD_PARAMETER, "the time-out is negative");
	if (wh_dds_on_loop())
		return WH_DDS_SAY(ILLEGAL_OPERATION, "not in an in-place listener");
	result = WH_DDS_HOLD(entity, WH_DDS_KIND(WH_DDS_WRITER) | WH_DDS_KIND(WH_DDS_PUBLISHER), &base);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	if (base->entity.kind == WH_DDS_WRITER)
		result = await_writer(__func__, (struct wh_dds_writer_entity *)base, wh_dds_until(timeout));
	else
		result = await_publisher(__func__, base, wh_dds_until(timeout));
	wh_dds_let_go(base);
	return result;
}
