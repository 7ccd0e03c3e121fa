/* topics_sub.c - `whorl dds sub` and `echo`: all samples of a topic in their order, one after another.
 *
 * A reader gives samples of one instance together, and says of each what state its instance is in now. Lines are to be the same at all
 * that print them, also at one that comes late. So all that the reader has is taken at once, which is the order up to some place,
 * sorted by place, and each sample is given the state that it brought about: that follows from the next one of its instance.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "tools/topics.h"

#define TAKE_AT_ONCE 1024

struct batch { /* what was taken, and is lent */
	struct whorl_dds_sample_info *infos;
	void **data;
	uint32_t *states; /* of the instance behind each */
	size_t *order;
	size_t count, room;
};

struct feed {
	struct wh_topics *topics;
	whorl_dds_entity reader, waitset;
	const struct whorl_dds_type *type;
	struct batch batch;
	uint64_t done;
	/* What is done with each. False: it ends here, with *status. */
	bool (*give)(struct feed *feed, const struct whorl_dds_sample_info *info, const void *data, uint32_t state,
		     enum wh_exit *status);
	char *text; /* sub */
	size_t text_room;
	whorl_dds_entity writer; /* echo */
};

/* ---- the order -------------------------------------------------------------------------------------------------------------- */

/* Samples of a coherent set have one place. What a view has ended (number 0) has that of its first message, and comes before it. */
static int compare_places(const struct whorl_dds_sample_info *a, const struct whorl_dds_sample_info *b)
{
	if (a->view != b->view)
		return a->view < b->view ? -1 : 1;
	if (a->sequence != b->sequence)
		return a->sequence < b->sequence ? -1 : 1;
	if ((a->number == 0) != (b->number == 0))
		return a->number == 0 ? -1 : 1;
	if (a->publication_handle != b->publication_handle)
		return a->publication_handle < b->publication_handle ? -1 : 1;
	return a->number != b->number ? (a->number < b->number ? -1 : 1) : 0;
}

static int by_place(const void *one, const void *other, void *ctx)
{
	const size_t a = *(const size_t *)one, b = *(const size_t *)other;
	const struct batch *batch = ctx;
	int places = compare_places(&batch->infos[a], &batch->infos[b]);

	return places != 0 ? places : (a > b) - (a < b);
}

static int by_instance(const void *one, const void *other, void *ctx)
{
	const struct batch *batch = ctx;
	whorl_dds_instance_handle a = batch->infos[*(const size_t *)one].instance_handle,
				  b = batch->infos[*(const size_t *)other].instance_handle;

	return a != b ? (a < b ? -1 : 1) : by_place(one, other, ctx);
}

/* What a sample made of its instance; `next` is the one behind it, with a `state` that is known, or NULL. */
static uint32_t state_of(const struct whorl_dds_sample_info *info, const struct whorl_dds_sample_info *next,
			 uint32_t state)
{
	if (next == NULL)
		return info->instance_state;
	if (next->disposed_generation_count != info->disposed_generation_count)
		return WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE; /* and then it lived again */
	if (next->no_writers_generation_count != info->no_writers_generation_count)
		return WHORL_DDS_NOT_ALIVE_NO_WRITERS_INSTANCE_STATE;
	return info->valid_data ? WHORL_DDS_ALIVE_INSTANCE_STATE : state;
}

static void put_in_order(struct batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		batch->order[i] = i;
	qsort_r(batch->order, batch->count, sizeof(*batch->order), by_instance, batch);
	for (size_t i = batch->count; i-- > 0;) {
		const struct whorl_dds_sample_info *info = &batch->infos[batch->order[i]], *next = NULL;
		uint32_t state = 0;

		if (i + 1 < batch->count) {
			next = &batch->infos[batch->order[i + 1]];
			state = batch->states[batch->order[i + 1]];
			if (next->instance_handle != info->instance_handle)
				next = NULL;
		}
		batch->states[batch->order[i]] = state_of(info, next, state);
	}
	qsort_r(batch->order, batch->count, sizeof(*batch->order), by_place, batch);
}

/* ---- taking ------------------------------------------------------------------------------------------------------------------ */

/* What is there with more room, or, where there is none, as it is: then *ok is false. */
static void *grow(void *old, size_t bytes, bool *ok)
{
	void *more = realloc(old, bytes);

	if (more != NULL)
		return more;
	*ok = false;
	return old;
}

static bool make_room(struct batch *batch)
{
	size_t room = batch->count + TAKE_AT_ONCE;
	bool ok = true;

	if (room <= batch->room)
		return true;
	room *= 2;
	batch->infos = grow(batch->infos, room * sizeof(*batch->infos), &ok);
	batch->data = grow(batch->data, room * sizeof(*batch->data), &ok);
	batch->states = grow(batch->states, room * sizeof(*batch->states), &ok);
	batch->order = grow(batch->order, room * sizeof(*batch->order), &ok);
	if (!ok)
		return false;
	batch->room = room;
	return true;
}

/* Everything that the reader has: behind the last of it comes what has a later place. */
static whorl_dds_return take_all(whorl_dds_entity reader, struct batch *batch)
{
	whorl_dds_return got;

	batch->count = 0;
	do {
		if (!make_room(batch))
			return WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
		batch->data[batch->count] = NULL;
		batch->infos[batch->count].size = sizeof(*batch->infos);
		got = whorl_dds_take(reader, batch->data + batch->count, batch->infos + batch->count, TAKE_AT_ONCE);
		if (got < 0)
			return got;
		batch->count += (size_t)got;
	} while (got == TAKE_AT_ONCE);
	return WHORL_DDS_RETCODE_OK;
}

static bool give_all(struct feed *feed, enum wh_exit *status)
{
	struct batch *batch = &feed->batch;
	whorl_dds_return result = take_all(feed->reader, batch);
	bool goes_on = result == WHORL_DDS_RETCODE_OK;

	if (!goes_on)
		*status = wh_topics_refused(result);
	else
		put_in_order(batch);
	for (size_t i = 0; goes_on && i < batch->count; i++) {
		size_t at = batch->order[i];

		goes_on = feed->give(feed, &batch->infos[at], batch->data[at], batch->states[at], status) &&
			  ++feed->done != feed->topics->count;
	}
	if (batch->count > 0)
		(void)whorl_dds_return_loan(feed->reader, batch->data, (int32_t)batch->count);
	return goes_on;
}

static enum wh_exit feed_all(struct feed *feed)
{
	struct wh_topics *topics = feed->topics;
	struct pollfd fds[2] = {{.fd = whorl_dds_waitset_descriptor(feed->waitset), .events = POLLIN},
				{.fd = topics->watch.signal_fd, .events = POLLIN}};
	enum wh_exit status = WH_EXIT_GOOD;

	if (fds[0].fd < 0)
		return wh_topics_refused(fds[0].fd);
	while (give_all(feed, &status)) {
		while (whorl_dds_waitset_wait(feed->waitset, NULL, 0, 0) == 0) {
			if (wh_topics_interrupted(topics))
				return WH_EXIT_INTERRUPTED;
			(void)poll(fds, 2, 1000);
		}
		if (wh_topics_interrupted(topics))
			return WH_EXIT_INTERRUPTED;
	}
	return status;
}

/* History is told with the ends of instances behind all samples, whatever their places: nothing is taken before it is whole. */
static whorl_dds_return await_history(struct feed *feed)
{
	whorl_dds_return result;

	do
		result = whorl_dds_wait_for_historical_data(feed->reader, WH_TOPICS_SLICE);
	while (result == WHORL_DDS_RETCODE_TIMEOUT && !wh_topics_interrupted(feed->topics));
	return result == WHORL_DDS_RETCODE_TIMEOUT ? WHORL_DDS_RETCODE_OK : result; /* the signal is seen again */
}

/* A reader of the topic, and what wakes for it. False: *status says why not. */
static bool open_reader(struct feed *feed, whorl_dds_entity topic, enum wh_exit *status)
{
	struct wh_topics *topics = feed->topics;
	whorl_dds_entity condition, result;

	feed->type = whorl_dds_get_type(topic);
	result = feed->reader = whorl_dds_create_reader(topics->participant, topic, topics->policies, NULL);
	if (result > 0)
		result = await_history(feed);
	if (result >= 0)
		result = feed->waitset = whorl_dds_create_waitset(topics->participant);
	if (result > 0)
		result = condition = whorl_dds_create_readcondition(feed->reader, WHORL_DDS_ANY_STATE);
	if (result > 0)
		result = whorl_dds_waitset_attach(feed->waitset, condition, 0);
	if (result < 0)
		*status = wh_topics_refused(result);
	return result >= 0;
}

static enum wh_exit end_feed(struct feed *feed, enum wh_exit status)
{
	free(feed->batch.infos);
	free(feed->batch.data);
	free(feed->batch.states);
	free(feed->batch.order);
	free(feed->text);
	return status;
}

/* ---- sub ---------------------------------------------------------------------------------------------------------------------- */

static const char *word_of(uint32_t state)
{
	return state == WHORL_DDS_ALIVE_INSTANCE_STATE                ? "alive"
	       : state == WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE ? "disposed"
								      : "no_writers";
}

/* Into `text`, of whatever length. */
static whorl_dds_return write_value(struct feed *feed, const struct whorl_dds_sample_info *info, const void *data)
{
	for (;;) {
		whorl_dds_return length =
			whorl_dds_sample_to_json(feed->type, data, info->bytes, feed->text, feed->text_room);
		char *more;

		if (length < 0 || (size_t)length < feed->text_room)
			return length;
		more = realloc(feed->text, (size_t)length + 4096);
		if (more == NULL)
			return WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
		feed->text = more;
		feed->text_room = (size_t)length + 4096;
	}
}

static bool print_sample(struct feed *feed, const struct whorl_dds_sample_info *info, const void *data, uint32_t state,
			 enum wh_exit *status)
{
	whorl_dds_return result = info->valid_data ? write_value(feed, info, data) : WHORL_DDS_RETCODE_OK;

	if (result < 0) {
		*status = wh_topics_refused(result);
		return false;
	}
	printf("{\"view\":%" PRIu64 ",\"sequence\":%" PRIu64 ",\"writer\":%" PRIu32 ",\"number\":%" PRIu64
	       ",\"state\":\"%s\"",
	       info->view, info->sequence, info->writer, info->number, word_of(state));
	if (info->valid_data)
		printf(",\"value\":%s", feed->text);
	fputs("}\n", stdout);
	if (wh_flush_file(stdout, WH_STDOUT))
		return true;
	*status = WH_EXIT_FAILED;
	return false;
}

enum wh_exit wh_topics_sub(struct wh_topics *topics)
{
	struct feed feed = {.topics = topics, .give = print_sample};
	enum wh_exit status = WH_EXIT_GOOD;
	whorl_dds_entity topic;

	if (!wh_topics_find(topics, &topic, &status) || !open_reader(&feed, topic, &status))
		return status;
	return end_feed(&feed, feed_all(&feed));
}

/* ---- echo --------------------------------------------------------------------------------------------------------------------- */

static bool write_again(struct feed *feed, const struct whorl_dds_sample_info *info, const void *data, uint32_t state,
			enum wh_exit *status)
{
	bool disposed = state == WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE;
	struct whorl_dds_write_options options = {
		.size = sizeof options,
		.kind = info->valid_data ? (disposed ? WHORL_DDS_WRITE_DISPOSE : WHORL_DDS_WRITE) : WHORL_DDS_DISPOSE,
		.has_time = true,
		.timestamp = info->source_timestamp,
		.bytes = (feed->type->flags & WHORL_DDS_TYPE_BYTES) != 0 ? info->bytes : 0};

	if (!info->valid_data && !disposed)
		return true; /* its writers have gone: this one has not */
	return wh_topics_write(feed->topics, feed->writer, data, &options, status);
}

/* The other topic, as the first is, and a writer of it. */
static bool open_writer(struct feed *feed, whorl_dds_entity topic, const char *name, enum wh_exit *status)
{
	struct wh_topics *topics = feed->topics;
	whorl_dds_qos *policies = whorl_dds_create_qos();
	whorl_dds_entity other = WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
	whorl_dds_return result = whorl_dds_get_qos(topic, policies);

	if (result == WHORL_DDS_RETCODE_OK)
		other = result = whorl_dds_create_topic(topics->participant, feed->type, name, policies, NULL);
	if (result > 0) {
		(void)whorl_dds_qset_reliability(policies, WHORL_DDS_RELIABILITY_RELIABLE, WH_TOPICS_SLICE);
		(void)whorl_dds_qset_writer_data_lifecycle(policies, false);
		result = feed->writer = whorl_dds_create_writer(topics->participant, other, policies, NULL);
	}
	whorl_dds_delete_qos(policies);
	if (result < 0)
		*status = wh_topics_refused(result);
	return result > 0;
}

enum wh_exit wh_topics_echo(struct wh_topics *topics)
{
	struct feed feed = {.topics = topics, .give = write_again};
	char other[WHORL_DDS_NAME_BYTES + 8];
	enum wh_exit status = WH_EXIT_GOOD;
	whorl_dds_entity topic;

	snprintf(other, sizeof other, "%s.echo", topics->name);
	if (topics->to != NULL && strcmp(topics->to, topics->name) == 0) {
		wh_say("--to is the topic itself, \"%s\": each sample would make another", topics->to);
		return WH_EXIT_USAGE;
	}
	if (!wh_topics_find(topics, &topic, &status) || !open_reader(&feed, topic, &status) ||
	    !open_writer(&feed, topic, topics->to != NULL ? topics->to : other, &status))
		return status;
	status = feed_all(&feed);
	if (status == WH_EXIT_GOOD)
		status = wh_topics_settle(topics, feed.writer);
	return end_feed(&feed, status);
}
