/* deliver.c - what a channel's machine tells, on its way to caches, statuses and calls that wait: see node.h.
 *
 * A sample is copied once for all readers of the process. It came from a peer, and the machine does not know types: what is no sample of the
 * topic's type, or has another key than it says, is passed over here, at all members alike.
 */
#include <stdlib.h>
#include <string.h>

#include "dds/node.h"

whorl_dds_instance_handle wh_dds_endpoint_handle(enum wh_dds_kind kind, const struct wh_dds_endpoint_id *id)
{
	uint64_t number = (uint64_t)id->node << 33 | (uint64_t)id->number << 1 | (kind == WH_DDS_READER);
	uint64_t handle = wh_dds_spread(wh_dds_spread(id->incarnation) ^ number); /* of a participant the number is 0 */

	return handle != 0 ? handle : 1;
}

whorl_dds_instance_handle wh_dds_topic_handle(uint64_t topic)
{
	uint64_t handle = wh_dds_spread(~topic);

	return handle != 0 ? handle : 1;
}

whorl_dds_instance_handle wh_dds_instance_handle_of(uint64_t topic, const unsigned char key[WH_DDS_KEY_BYTES])
{
	uint64_t halves[2], handle;

	memcpy(halves, key, sizeof(halves));
	handle = wh_dds_spread(wh_dds_spread(wh_dds_spread(topic) ^ halves[0]) ^ halves[1]);
	return handle != 0 ? handle : 1;
}

static struct wh_dds_reader_entity *reader_of(const struct wh_dds_endpoint *endpoint)
{
	return endpoint != NULL && endpoint->kind == WH_DDS_READER ? endpoint->user : NULL;
}

static struct wh_dds_base *base_of(const struct wh_dds_endpoint *endpoint)
{
	return endpoint != NULL ? endpoint->user : NULL;
}

static bool has_data(const struct wh_dds_event *event)
{
	return event->what == WH_DDS_SAMPLE && (event->sample->change & WH_DDS_WRITE) != 0;
}

/* ---- copies -------------------------------------------------------------------------------------------------------------------- */

/* Keys are kept: an end of an instance may have the hash alone, and a program may ask. NULL: memory is out. */
static struct wh_dds_known *learn_key(struct wh_dds_reader_entity *reader, const void *sample,
				      const unsigned char *hash)
{
	struct wh_dds_known *known = wh_dds_known_find(&reader->seen, hash);

	return known != NULL ? known : wh_dds_known_add(&reader->seen, reader->end.topic, sample, hash);
}

/* Has it the key that its head says? */
static bool has_key(const void *data, const struct whorl_dds_type *type, const struct wh_dds_sample *sample)
{
	unsigned char hash[WH_DDS_HASH_BYTES];

	if (!wh_dds_type_is_keyed(type))
		return true;
	wh_dds_type_key_hash(type, data, hash);
	return memcmp(hash, sample->key, sizeof(hash)) == 0;
}

static bool fill_data(struct wh_dds_copy *copy, const struct whorl_dds_type *type, const struct wh_dds_sample *sample)
{
	memcpy(copy->data, sample->bytes, sample->count);
	return has_key(copy->data, type, sample);
}

static void fill_key(struct wh_dds_copy *copy, const struct wh_dds_reader_entity *reader,
		     const struct whorl_dds_type *type, const struct wh_dds_sample *sample)
{
	size_t bytes = wh_dds_type_key_bytes(type);
	const struct wh_dds_known *known =
		bytes > WH_DDS_HASH_BYTES ? wh_dds_known_find(&reader->seen, sample->key) : NULL;

	memset(copy->data, 0, type->bytes);
	if (bytes > 0 && sample->bytes != NULL && sample->count == bytes && (sample->change & WH_DDS_WRITE) == 0)
		wh_dds_type_from_key(type, sample->bytes, copy->data);
	else if (bytes > 0 && bytes <= WH_DDS_HASH_BYTES)
		wh_dds_type_from_key(type, sample->key, copy->data);
	else if (known != NULL)
		wh_dds_type_from_key(type, known->key, copy->data);
}

/* A block with the key of that data. NULL: memory is out. */
static struct wh_dds_copy *copy_key(const struct wh_dds_reader_entity *reader, struct wh_dds_pool *pool,
				    const void *data)
{
	const struct whorl_dds_type *type = reader->end.topic->type;
	struct wh_dds_copy *copy = wh_dds_copy_take(pool, type->bytes);

	if (copy != NULL)
		wh_dds_type_copy_key(type, data, copy->data);
	return copy;
}

struct wh_dds_copy *wh_dds_key_of(void *ctx, const struct wh_dds_copy *sample)
{
	const struct wh_dds_reader_entity *reader = ctx;
	struct wh_dds_copy *copy = copy_key(reader, reader->end.stream->pool, sample->data);

	if (copy != NULL)
		copy->facts = sample->facts;
	return copy;
}

static struct wh_dds_facts facts_of(const struct wh_dds_line *line, const struct wh_dds_reader_entity *reader,
				    const struct wh_dds_event *event)
{
	const struct wh_dds_sample *sample = event->sample;

	return (struct wh_dds_facts){.instance = wh_dds_instance_handle_of(reader->end.topic->id, sample->key),
				     .publication = wh_dds_endpoint_handle(WH_DDS_WRITER, &event->writer->id),
				     .source_time = sample->source_ns,
				     .reception_time = line->real_ns,
				     .view = sample->place.view,
				     .sequence = sample->place.sequence,
				     .number = sample->number,
				     .writer = event->writer->id.node};
}

/* NULL: it is no sample of the type, or memory is out (*lost). */
static struct wh_dds_copy *make_copy(struct wh_dds_line *line, const struct wh_dds_reader_entity *reader,
				     const struct wh_dds_event *event, bool *lost)
{
	const struct whorl_dds_type *type = reader->end.topic->type;
	const struct wh_dds_sample *sample = event->sample;
	bool data = has_data(event);
	struct wh_dds_copy *copy;

	*lost = false;
	if (data && !wh_dds_type_fits(type, sample->count))
		return NULL;
	copy = wh_dds_copy_take(line->pool, data ? sample->count : type->bytes);
	*lost = copy == NULL;
	if (copy == NULL)
		return NULL;
	copy->facts = facts_of(line, reader, event);
	if (!data) {
		fill_key(copy, reader, type, sample);
	} else if (!fill_data(copy, type, sample)) {
		wh_dds_copy_drop(copy);
		return NULL;
	}
	return copy;
}

/* As long as all readers that have it are locked no other thread has seen it, and it is counted without the price of atomic operations. */
static void hold_copy(struct wh_dds_line *line)
{
	if (line->exposed)
		wh_dds_copy_hold(line->copy, 1);
	else
		wh_dds_copy_hold_alone(line->copy);
}

void wh_dds_delivered(struct wh_dds_line *line)
{
	if (line->copy != NULL && line->exposed)
		wh_dds_copy_drop(line->copy);
	else if (line->copy != NULL)
		wh_dds_copy_drop_alone(line->copy);
	line->exposed = false;
	line->copy = NULL;
	line->copied = NULL;
}

/* ---- many at once -------------------------------------------------------------------------------------------------------------- *
 * What comes at once is put into a reader's cache under one lock, and then the program is woken once: else it would wake at the first
 * sample, and the two threads would hand the lock to and fro for each of the others. Locks of several readers are held at a time by
 * the loop alone, which has the line's. */

void wh_dds_batch_begin(struct wh_dds_line *line)
{
	line->now_ns = wh_dds_clock();
	line->real_ns = whorl_dds_now();
}

void wh_dds_batch_end(struct wh_dds_line *line)
{
	struct wh_dds_reader_entity *reader = line->open;

	line->open = NULL;
	line->exposed = line->copy != NULL;
	for (struct wh_dds_reader_entity *next; reader != NULL; reader = next) {
		next = reader->next_open;
		reader->open = false;
		if (reader->cache != NULL)
			wh_dds_reader_look(reader);
		pthread_mutex_unlock(&reader->end.base.lock);
	}
}

/* Locks the reader, until the batch ends. */
static void open_reader(struct wh_dds_line *line, struct wh_dds_reader_entity *reader)
{
	if (reader->open)
		return;
	wh_dds_lock_soon(&reader->end.base.lock);
	reader->open = true;
	reader->next_open = line->open;
	line->open = reader;
}

/* ---- samples ------------------------------------------------------------------------------------------------------------------- */

static uint64_t expiry(const struct wh_dds_event *event, const struct wh_dds_line *line)
{
	int64_t lifespan = event->writer->policies.lifespan_ns, left;

	if (lifespan == WHORL_DDS_INFINITY || event->what != WH_DDS_SAMPLE ||
	    __builtin_add_overflow(event->sample->source_ns, lifespan, &left) ||
	    __builtin_sub_overflow(left, line->real_ns, &left))
		return WH_DDS_NEVER;
	if (left <= 0)
		return (uint64_t)-left < line->now_ns ? line->now_ns - (uint64_t)-left : 0;
	return line->now_ns + (uint64_t)left;
}

static unsigned does(const struct wh_dds_event *event)
{
	if (event->what == WH_DDS_LAST_WRITER)
		return WH_DDS_DOES_LEAVE;
	return ((event->sample->change & WH_DDS_WRITE) != 0 ? WH_DDS_DOES_DATA : 0) |
	       ((event->sample->change & WH_DDS_DISPOSE) != 0 ? WH_DDS_DOES_DISPOSE : 0);
}

static void put(struct wh_dds_line *line, struct wh_dds_reader_entity *reader, const struct wh_dds_event *event)
{
	struct wh_dds_arrival arrival = {
		.copy = line->copy,
		.does = does(event),
		.expires_ns = expiry(event, line),
		.set = line->in_set && event->reader->policies.presentation.coherent ? line->sets : 0,
		.last_chance = true};

	open_reader(line, reader);
	if (reader->cache == NULL)
		return;
	hold_copy(line);
	switch (wh_dds_cache_put(reader->cache, &arrival, line->now_ns)) {
	case WH_DDS_PUT_KEPT:
		break;
	case WH_DDS_PUT_NO_MEMORY:
		wh_dds_cache_lose(reader->cache, arrival.set);
		wh_dds_copy_drop(line->copy);
		break;
	default:
		wh_dds_copy_drop(line->copy);
		break;
	}
}

/* Where the state of an instance is kept; NULL: nothing is known of it. The key of data was looked at when it came. */
static uint32_t *state_of(struct wh_dds_reader_entity *reader, const struct wh_dds_event *event, const void *data)
{
	const struct whorl_dds_type *type = reader->end.topic->type;
	const struct wh_dds_sample *sample = event->sample;
	struct wh_dds_known *known;

	if (!wh_dds_type_is_keyed(type))
		return &reader->state;
	known = has_data(event) || has_key(data, type, sample) ? learn_key(reader, data, sample->key)
							       : wh_dds_known_find(&reader->seen, sample->key);
	return known != NULL ? &known->state : NULL;
}

/* What is disposed of stays so when its writers go. */
static uint32_t state_after(uint32_t was, const struct wh_dds_event *event)
{
	if (event->what == WH_DDS_LAST_WRITER)
		return was == WHORL_DDS_ALIVE_INSTANCE_STATE ? WHORL_DDS_NOT_ALIVE_NO_WRITERS_INSTANCE_STATE : was;
	return event->sample->state == WH_DDS_DISPOSED ? WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE
						       : WHORL_DDS_ALIVE_INSTANCE_STATE;
}

/* As a cache would have it: what has expired or is filtered out is not told, nor what is no data and changes nothing. */
static void call_in_place(struct wh_dds_line *line, struct wh_dds_reader_entity *reader,
			  const struct wh_dds_event *event, const void *data, size_t bytes, bool has_data)
{
	const struct wh_dds_facts is = facts_of(line, reader, event), *facts = &is;
	uint32_t *state = state_of(reader, event, data), was = state != NULL ? *state : 0;
	const struct whorl_dds_sample_info info = {.size = sizeof(info),
						   .sample_state = WHORL_DDS_NOT_READ_SAMPLE_STATE,
						   .view_state = was == WHORL_DDS_ALIVE_INSTANCE_STATE
									 ? WHORL_DDS_NOT_NEW_VIEW_STATE
									 : WHORL_DDS_NEW_VIEW_STATE,
						   .instance_state = state_after(was, event),
						   .valid_data = has_data,
						   .writer = facts->writer,
						   .disposed_generation_count = event->sample->disposed_generations,
						   .no_writers_generation_count = event->sample->no_writers_generations,
						   .bytes = bytes,
						   .source_timestamp = facts->source_time,
						   .reception_timestamp = facts->reception_time,
						   .instance_handle = facts->instance,
						   .publication_handle = facts->publication,
						   .view = facts->view,
						   .sequence = facts->sequence,
						   .number = facts->number};

	if (!has_data && info.instance_state == was)
		return;
	if (state != NULL)
		*state = info.instance_state;
	wh_dds_batch_end(line); /* it may look at other readers */
	wh_dds_enter_loop(1);
	reader->in_place(reader->end.base.entity.handle, data, &info, reader->in_place_arg);
	wh_dds_enter_loop(-1);
}

static bool wants(const struct wh_dds_reader_entity *reader, const void *data, size_t bytes)
{
	const struct wh_dds_filter *filter = reader->filter;

	return filter == NULL || filter->fn == NULL || filter->fn(data, bytes, filter->arg);
}

/* Data that is not wanted may end its instance all the same: then the key is told. Without memory for that it is lost. */
static void tell_in_place(struct wh_dds_line *line, struct wh_dds_reader_entity *reader,
			  const struct wh_dds_event *event, const void *data, size_t bytes)
{
	bool is_data = (does(event) & WH_DDS_DOES_DATA) != 0;
	struct wh_dds_copy *key;

	if (!is_data || (expiry(event, line) > line->now_ns && wants(reader, data, bytes))) {
		call_in_place(line, reader, event, data, bytes, is_data);
		return;
	}
	if (does(event) == WH_DDS_DOES_DATA)
		return;
	key = copy_key(reader, line->pool, data);
	if (key == NULL)
		return;
	call_in_place(line, reader, event, key->data, key->bytes, false);
	wh_dds_copy_drop(key);
}

/* For another reader, a moment ago. What a machine says of one end after another may lie in one place. */
static bool is_copied(const struct wh_dds_line *line, const struct wh_dds_reader_entity *reader,
		      const struct wh_dds_event *event)
{
	return line->copy != NULL && line->copied == event->sample &&
	       line->copy->facts.instance == wh_dds_instance_handle_of(reader->end.topic->id, event->sample->key) &&
	       line->copy->facts.number == event->sample->number &&
	       line->copy->facts.publication == wh_dds_endpoint_handle(WH_DDS_WRITER, &event->writer->id);
}

/* A reader in place reads where a sample lies, if that is aligned as its type. */
static bool lies_right(const struct wh_dds_reader_entity *reader, const struct wh_dds_event *event)
{
	return has_data(event) && (uintptr_t)event->sample->bytes % reader->end.topic->type->align == 0;
}

static void deliver_sample(struct wh_dds_line *line, const struct wh_dds_event *event)
{
	struct wh_dds_reader_entity *reader = reader_of(event->reader);
	const struct wh_dds_sample *sample = event->sample;
	bool lost = false;

	if (reader == NULL)
		return;
	if (reader->in_place != NULL && lies_right(reader, event)) {
		if (wh_dds_type_fits(reader->end.topic->type, sample->count) &&
		    has_key(sample->bytes, reader->end.topic->type, sample))
			tell_in_place(line, reader, event, sample->bytes, sample->count);
		return;
	}
	if (!is_copied(line, reader, event)) {
		wh_dds_delivered(line);
		line->copy = make_copy(line, reader, event, &lost);
		line->copied = event->sample;
	}
	if (line->copy == NULL) {
		open_reader(line, reader);
		if (lost && reader->cache != NULL)
			wh_dds_cache_lose(reader->cache, 0);
		return;
	}
	if (reader->in_place != NULL) {
		tell_in_place(line, reader, event, line->copy->data, line->copy->bytes);
	} else {
		if (has_data(event) && wh_dds_type_is_keyed(reader->end.topic->type))
			(void)learn_key(reader, line->copy->data, sample->key);
		put(line, reader, event);
	}
	if (sample->history || event->what == WH_DDS_LAST_WRITER)
		wh_dds_delivered(line); /* what is told of may lie where the next one will */
}

/* It went with its set: those that it was for are told. */
static void lose(const struct wh_dds_event *event)
{
	for (uint32_t i = 0; (event->sample->change & WH_DDS_WRITE) != 0 && i < event->writer->matches.count; i++) {
		struct wh_dds_reader_entity *reader = reader_of(event->writer->matches.all[i]);

		if (reader == NULL)
			continue;
		pthread_mutex_lock(&reader->end.base.lock);
		wh_dds_status_lost(&reader->end.base.statuses, 1);
		wh_dds_base_changed(&reader->end.base);
		pthread_mutex_unlock(&reader->end.base.lock);
	}
}

static void end_set(struct wh_dds_line *line)
{
	for (struct wh_dds_reader_entity *reader = line->readers; reader != NULL; reader = reader->next_reader) {
		pthread_mutex_lock(&reader->end.base.lock);
		if (reader->cache != NULL) {
			(void)wh_dds_cache_end_set(reader->cache, line->sets, true, line->now_ns);
			wh_dds_reader_look(reader);
		}
		pthread_mutex_unlock(&reader->end.base.lock);
	}
	line->in_set = false;
}

/* ---- refusing ------------------------------------------------------------------------------------------------------------------ */

static uint32_t room_of(struct wh_dds_reader_entity *reader)
{
	uint32_t room = UINT32_MAX;

	if (!reader->open)
		wh_dds_lock_soon(&reader->end.base.lock);
	if (reader->cache != NULL)
		room = wh_dds_cache_room(reader->cache);
	if (!reader->open)
		pthread_mutex_unlock(&reader->end.base.lock);
	return room;
}

/* For how many samples all readers that are waited for have room. */
static uint32_t room_of_all(const struct wh_dds_line *line)
{
	uint32_t least = UINT32_MAX;

	for (struct wh_dds_reader_entity *reader = line->readers; reader != NULL; reader = reader->next_reader) {
		uint32_t room = reader->patient ? room_of(reader) : UINT32_MAX;

		least = room < least ? room : least;
	}
	return least;
}

/* Is it a sample that does no more than write? Then no reader gets more than one thing of it. */
static bool is_plain(const unsigned char *bytes, size_t count)
{
	return count > 1 && bytes[0] == WH_DDS_SAY_SAMPLE &&
	       (bytes[1] & (WH_DDS_DISPOSE | WH_DDS_UNREGISTER | WH_DDS_WRITE)) == WH_DDS_WRITE;
}

/* There is room for it at all, without asking each. Readers only get more of it while they are asked for less than they have said. */
static bool is_roomy(struct wh_dds_line *line, const void *bytes, size_t count)
{
	if (!is_plain(bytes, count)) {
		line->room = 0;
		return false;
	}
	if (line->room == 0)
		line->room = room_of_all(line);
	if (line->room == 0)
		return false;
	line->room--;
	return true;
}

struct question {
	struct wh_dds_line *line;
	bool one; /* what is asked for comes as one: the message ends a set, or a writer */
	bool set;
};

/* wh_dds_ask */
static bool has_room(void *ctx, struct wh_dds_endpoint *endpoint, struct wh_dds_endpoint *writer,
		     const struct wh_dds_sample *sample)
{
	const struct question *question = ctx;
	const struct wh_dds_event event = {.what = WH_DDS_SAMPLE, .writer = writer, .sample = sample};
	struct wh_dds_reader_entity *reader = reader_of(endpoint);
	struct wh_dds_arrival arrival = {.does = does(&event),
					 .set = question->set && endpoint->policies.presentation.coherent};
	bool lost, full = false;

	if ((sample->change & WH_DDS_UNREGISTER) != 0 && writer->policies.autodispose)
		arrival.does |= WH_DDS_DOES_DISPOSE; /* what it will be when it takes effect */
	if (reader == NULL || !reader->patient || (!question->one && room_of(reader) > 0))
		return true;
	arrival.copy = make_copy(question->line, reader, &event, &lost);
	if (arrival.copy == NULL)
		return true;
	arrival.expires_ns = expiry(&event, question->line);
	pthread_mutex_lock(&reader->end.base.lock);
	if (reader->cache != NULL)
		full = question->one ? wh_dds_cache_ask(reader->cache, &arrival, question->line->now_ns)
				     : wh_dds_cache_is_full(reader->cache, &arrival, question->line->now_ns);
	full = full && !reader->hurried && !reader->leaves; /* or else what has no room is lost */
	reader->refused = reader->refused || full;
	pthread_mutex_unlock(&reader->end.base.lock);
	wh_dds_copy_drop(arrival.copy);
	return !full;
}

static void end_question(struct wh_dds_line *line)
{
	for (struct wh_dds_reader_entity *reader = line->readers; reader != NULL; reader = reader->next_reader) {
		pthread_mutex_lock(&reader->end.base.lock);
		if (reader->cache != NULL)
			wh_dds_cache_asked(reader->cache);
		pthread_mutex_unlock(&reader->end.base.lock);
	}
}

void wh_dds_hurry(struct wh_dds_line *line, const struct wh_dds_line *stream)
{
	for (struct wh_dds_reader_entity *reader = line->readers; reader != NULL; reader = reader->next_reader) {
		pthread_mutex_lock(&reader->end.base.lock);
		reader->hurried = reader->hurried || (reader->refused && reader->end.stream == stream);
		pthread_mutex_unlock(&reader->end.base.lock);
	}
}

bool wh_dds_must_wait(struct wh_dds_line *line, const struct wh_dds_from *from, const void *bytes, size_t count)
{
	unsigned char kind = count > 0 ? *(const unsigned char *)bytes : 0;
	struct question question = {
		.line = line, .one = kind == WH_DDS_SAY_SET || kind == WH_DDS_SAY_END, .set = kind == WH_DDS_SAY_SET};
	bool full;

	if (line->patient == 0 || is_roomy(line, bytes, count) || (!question.one && kind != WH_DDS_SAY_SAMPLE))
		return false;
	wh_dds_batch_end(line); /* each is asked by itself */
	full = !wh_dds_channel_ask(line->channel, from, bytes, count, has_room, &question);
	if (question.one)
		end_question(line);
	return full;
}

/* ---- statuses ------------------------------------------------------------------------------------------------------------------ */

static void change_matched(const struct wh_dds_event *event, int32_t change)
{
	struct wh_dds_base *writer = base_of(event->writer), *reader = base_of(event->reader);
	whorl_dds_instance_handle handle;

	if (writer != NULL) {
		handle = wh_dds_endpoint_handle(WH_DDS_READER, &event->reader->id);
		pthread_mutex_lock(&writer->lock);
		wh_dds_status_matched(&writer->statuses, WHORL_DDS_PUBLICATION_MATCHED_STATUS, change, handle);
		wh_dds_base_changed(writer);
		pthread_mutex_unlock(&writer->lock);
	}
	if (reader != NULL) {
		bool alive = event->writer->alive;

		handle = wh_dds_endpoint_handle(WH_DDS_WRITER, &event->writer->id);
		pthread_mutex_lock(&reader->lock);
		wh_dds_status_matched(&reader->statuses, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS, change, handle);
		wh_dds_status_liveliness_changed(&reader->statuses, alive ? change : 0, alive ? 0 : change, handle);
		wh_dds_base_changed(reader);
		pthread_mutex_unlock(&reader->lock);
	}
}

static void tell_incompatible(struct wh_dds_base *base, uint32_t status, enum whorl_dds_policy_id policy)
{
	if (base == NULL)
		return;
	pthread_mutex_lock(&base->lock);
	wh_dds_status_incompatible(&base->statuses, status, policy);
	wh_dds_base_changed(base);
	pthread_mutex_unlock(&base->lock);
}

static void tell_liveliness(const struct wh_dds_event *event)
{
	struct wh_dds_base *reader = base_of(event->reader);
	int32_t change = event->alive ? 1 : -1;

	if (reader == NULL)
		return;
	pthread_mutex_lock(&reader->lock);
	wh_dds_status_liveliness_changed(&reader->statuses, change, -change,
					 wh_dds_endpoint_handle(WH_DDS_WRITER, &event->writer->id));
	wh_dds_base_changed(reader);
	pthread_mutex_unlock(&reader->lock);
}

static void tell_writer(const struct wh_dds_event *event)
{
	struct wh_dds_endpoint_entity *end = event->writer != NULL ? event->writer->user : NULL;

	if (end == NULL)
		return;
	pthread_mutex_lock(&end->base.lock);
	wh_dds_status_liveliness_lost(&end->base.statuses);
	wh_dds_base_changed(&end->base);
	pthread_mutex_unlock(&end->base.lock);
}

/* ---- verdicts ------------------------------------------------------------------------------------------------------------------ */

static void attach(struct wh_dds_line *line, struct wh_dds_endpoint *endpoint, struct wh_dds_base *user)
{
	struct wh_dds_reader_entity *reader;

	endpoint->user = user;
	reader = reader_of(endpoint);
	if (reader == NULL) {
		struct wh_dds_writer_entity *writer = endpoint->user;

		writer->next_writer = line->writers;
		line->writers = writer;
		return;
	}
	reader->next_reader = line->readers;
	line->readers = reader;
	line->patient += reader->patient;
}

static void answer(struct wh_dds_line *line, const struct wh_dds_event *event)
{
	for (struct wh_dds_asked *asked = line->asked; asked != NULL; asked = asked->next) {
		if (asked->done || asked->number != event->id.number || asked->kind != event->kind)
			continue;
		asked->done = true;
		asked->result = event->result;
		asked->policy = event->policy;
		if (event->endpoint != NULL && event->endpoint->user == NULL)
			attach(line, event->endpoint, asked->user);
	}
	pthread_cond_broadcast(&line->changed);
}

static void tell_changed(struct wh_dds_line *line, const struct wh_dds_event *event)
{
	const struct wh_dds_endpoint *it = event->endpoint;
	struct wh_dds_event verdict = {
		.what = WH_DDS_VERDICT, .endpoint = event->endpoint, .id = it->id, .kind = it->kind};
	struct wh_dds_reader_entity *reader = reader_of(it);

	if (!it->local)
		return;
	if (reader != NULL) {
		pthread_mutex_lock(&reader->end.base.lock);
		if (reader->cache != NULL) {
			wh_dds_cache_change(reader->cache, &it->policies, line->now_ns);
			wh_dds_work_due(line->node, wh_dds_cache_due(reader->cache));
		}
		pthread_mutex_unlock(&reader->end.base.lock);
	}
	answer(line, &verdict);
}

void wh_dds_deliver(void *ctx, const struct wh_dds_event *event)
{
	struct wh_dds_line *line = ctx;

	if (event->what != WH_DDS_SAMPLE && event->what != WH_DDS_LAST_WRITER) {
		wh_dds_batch_end(line); /* others' locks are taken for it */
		line->room = 0;
	}
	switch (event->what) {
	case WH_DDS_VERDICT:
		answer(line, event);
		break;
	case WH_DDS_MATCH:
	case WH_DDS_UNMATCH:
		change_matched(event, event->what == WH_DDS_MATCH ? 1 : -1);
		break;
	case WH_DDS_INCOMPATIBLE:
		tell_incompatible(base_of(event->writer), WHORL_DDS_OFFERED_INCOMPATIBLE_QOS_STATUS, event->policy);
		tell_incompatible(base_of(event->reader), WHORL_DDS_REQUESTED_INCOMPATIBLE_QOS_STATUS, event->policy);
		break;
	case WH_DDS_SAMPLE:
	case WH_DDS_LAST_WRITER:
		deliver_sample(line, event);
		break;
	case WH_DDS_LIVELINESS:
		tell_liveliness(event);
		break;
	case WH_DDS_LIVELINESS_LOST:
		tell_writer(event);
		break;
	case WH_DDS_DROPPED:
		lose(event);
		break;
	case WH_DDS_SET_BEGIN:
		line->in_set = true;
		line->sets++;
		break;
	case WH_DDS_SET_END:
		end_set(line);
		break;
	case WH_DDS_CHANGED:
		tell_changed(line, event);
		wh_dds_builtin_endpoint(line, event->endpoint, true);
		break;
	case WH_DDS_COMES:
	case WH_DDS_GOES:
		wh_dds_builtin_endpoint(line, event->endpoint, event->what == WH_DDS_COMES);
		break;
	default: /* the history's end: a reader has it when its verdict is answered; owners; deadlines, which writers count themselves */
		break;
	}
}
