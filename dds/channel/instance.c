/* instance.c - the instances of a topic: which writers have them, which one owns them, what state they are in; and samples, which are
 * told to the readers that match. See channel_int.h.
 *
 * An instance is the topic's: its state and its generations are counted over all writers of the topic. Which writer owns it is asked anew for
 * each reader, among those that the reader matches: so readers with the same partitions have the same owner at each place, and
 * readers of different partitions do not disturb each other. A sample *counts* (for state, generations, history) if its writer is the owner in the
 * eyes of a reader with its own partitions.
 */
#include "dds/channel/channel_int.h"

#include <stdlib.h>
#include <string.h>

static uint64_t instance_number(const struct wh_dds_topic *topic, const unsigned char *key)
{
	uint64_t halves[2];

	memcpy(halves, key, sizeof(halves));
	return wh_dds_spread(wh_dds_spread(topic->id ^ halves[0]) ^ halves[1]);
}

struct wh_dds_instance *wh_dds_instance_find(const struct wh_dds_channel *channel, const struct wh_dds_topic *topic,
					     const unsigned char *key)
{
	uint64_t number = instance_number(topic, key);
	struct wh_dds_link *link = wh_dds_index_find(&channel->instance_index, number);

	for (; link != NULL; link = wh_dds_index_next(link->next, number)) {
		struct wh_dds_instance *instance = (struct wh_dds_instance *)link;

		if (instance->topic == topic && memcmp(instance->key, key, WH_DDS_KEY_BYTES) == 0)
			return instance;
	}
	return NULL;
}

struct wh_dds_instance *wh_dds_instance_get(struct wh_dds_channel *channel, struct wh_dds_topic *topic,
					    const unsigned char *key)
{
	struct wh_dds_instance *instance = wh_dds_instance_find(channel, topic, key);

	if (instance != NULL)
		return instance;
	instance = calloc(1, sizeof(*instance));
	if (instance == NULL)
		return NULL;
	instance->topic = topic;
	memcpy(instance->key, key, WH_DDS_KEY_BYTES);
	if (!wh_dds_index_add(&channel->instance_index, &instance->link, instance_number(topic, key))) {
		free(instance);
		return NULL;
	}
	instance->prev = topic->instances_end;
	*(instance->prev != NULL ? &instance->prev->next : &topic->instances) = instance;
	topic->instances_end = instance;
	return instance;
}

static void remove_instance(struct wh_dds_channel *channel, struct wh_dds_instance *instance)
{
	struct wh_dds_topic *topic = instance->topic;

	*(instance->prev != NULL ? &instance->prev->next : &topic->instances) = instance->next;
	*(instance->next != NULL ? &instance->next->prev : &topic->instances_end) = instance->prev;
	wh_dds_index_remove(&channel->instance_index, &instance->link);
	free(instance);
}

void wh_dds_instance_settle(struct wh_dds_channel *channel, struct wh_dds_instance *instance)
{
	if (instance->claims != NULL)
		return;
	if (instance->state == WH_DDS_DISPOSED && instance->topic->terms.cleanup_ns == 0)
		wh_dds_forget_instance(channel, instance);
	if (instance->entries == NULL)
		remove_instance(channel, instance);
}

/* ---- claims and owners ---------------------------------------------------------------------------------------------------- */

struct wh_dds_claim *wh_dds_claim_find(const struct wh_dds_instance *instance, const struct wh_dds_endpoint *writer)
{
	struct wh_dds_claim *claim = instance->claims;

	while (claim != NULL && claim->writer != writer)
		claim = claim->next;
	return claim;
}

/* In time before late, then by strength, then by id, the lower one first. */
static bool is_better(const struct wh_dds_claim *one, const struct wh_dds_claim *other)
{
	if (one->late != other->late)
		return other->late;
	if (one->writer->policies.strength != other->writer->policies.strength)
		return one->writer->policies.strength > other->writer->policies.strength;
	return wh_dds_id_compare(&one->writer->id, &other->writer->id) < 0;
}

static void rank_claim(struct wh_dds_claim *claim)
{
	struct wh_dds_claim **at = &claim->instance->claims;

	while (*at != NULL && is_better(*at, claim))
		at = &(*at)->next;
	claim->next = *at;
	*at = claim;
}

static void unrank_claim(struct wh_dds_claim *claim)
{
	struct wh_dds_claim **at = &claim->instance->claims;

	while (*at != claim)
		at = &(*at)->next;
	*at = claim->next;
}

struct wh_dds_claim *wh_dds_claim_add(struct wh_dds_instance *instance, struct wh_dds_endpoint *writer)
{
	struct wh_dds_claim *claim = calloc(1, sizeof(*claim));

	if (claim == NULL)
		return NULL;
	claim->instance = instance;
	claim->writer = writer;
	rank_claim(claim);
	claim->writer_prev = writer->claims_end;
	*(claim->writer_prev != NULL ? &claim->writer_prev->writer_next : &writer->claims) = claim;
	writer->claims_end = claim;
	return claim;
}

static struct wh_dds_endpoint *best_of(const struct wh_dds_instance *instance)
{
	for (const struct wh_dds_claim *claim = instance->claims; claim != NULL && !claim->late; claim = claim->next)
		if (wh_dds_is_exclusive(claim->writer))
			return claim->writer;
	return NULL;
}

static void tell_owner(struct wh_dds_channel *channel, struct wh_dds_instance *instance)
{
	struct wh_dds_endpoint *best = best_of(instance);
	struct wh_dds_sample about = {.place = channel->place};

	if (best == instance->owner)
		return;
	instance->owner = best;
	channel->look_ns = INT64_MIN; /* it may be late for long */
	memcpy(about.key, instance->key, WH_DDS_KEY_BYTES);
	wh_dds_tell_event(channel,
			  &(struct wh_dds_event){
				  .what = WH_DDS_OWNER, .topic = instance->topic, .writer = best, .sample = &about});
}

void wh_dds_claim_weigh(struct wh_dds_channel *channel, struct wh_dds_claim *claim)
{
	unrank_claim(claim);
	rank_claim(claim);
	tell_owner(channel, claim->instance);
}

void wh_dds_weigh_claims(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer)
{
	for (struct wh_dds_claim *claim = writer->claims; claim != NULL; claim = claim->writer_next)
		wh_dds_claim_weigh(channel, claim);
}

/* Would the writer, with a sample of the instance, own it in the eyes of a reader? */
static bool owns_for(const struct wh_dds_instance *instance, struct wh_dds_endpoint *writer,
		     const struct wh_dds_endpoint *reader)
{
	struct wh_dds_claim writes = {.writer = writer};

	if (!wh_dds_is_exclusive(writer))
		return true;
	for (const struct wh_dds_claim *claim = instance->claims; claim != NULL && is_better(claim, &writes);
	     claim = claim->next)
		if (claim->writer != writer && wh_dds_matches(reader, claim->writer))
			return false;
	return true;
}

/* The owner in the eyes of a reader with the partitions of the writer. */
static bool counts(const struct wh_dds_instance *instance, const struct wh_dds_endpoint *writer)
{
	if (!wh_dds_is_exclusive(writer))
		return true;
	for (const struct wh_dds_claim *claim = instance->claims; claim != NULL && !claim->late; claim = claim->next)
		if (claim->writer == writer || (wh_dds_is_exclusive(claim->writer) &&
						wh_dds_partitions_meet(&claim->writer->policies, &writer->policies)))
			return claim->writer == writer;
	return false;
}

/* ---- writers that go ------------------------------------------------------------------------------------------------------ */

bool wh_dds_has_writer(const struct wh_dds_instance *instance, const struct wh_dds_endpoint *reader)
{
	for (const struct wh_dds_claim *claim = instance->claims; claim != NULL; claim = claim->next)
		if (wh_dds_matches(reader, claim->writer))
			return true;
	return false;
}

static void tell_last_writer(struct wh_dds_channel *channel, const struct wh_dds_instance *instance,
			     struct wh_dds_endpoint *writer, struct wh_dds_endpoint *reader)
{
	struct wh_dds_sample about = {.place = channel->place,
				      .state = instance->state,
				      .disposed_generations = instance->disposed_generations,
				      .no_writers_generations = instance->no_writers_generations};

	memcpy(about.key, instance->key, WH_DDS_KEY_BYTES);
	wh_dds_tell_event(channel, &(struct wh_dds_event){.what = WH_DDS_LAST_WRITER,
							  .reader = reader,
							  .writer = writer,
							  .topic = instance->topic,
							  .sample = &about});
}

void wh_dds_tell_last_writers(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer,
			      struct wh_dds_endpoint *reader)
{
	if (!reader->local)
		return;
	for (const struct wh_dds_claim *claim = writer->claims; claim != NULL; claim = claim->writer_next)
		if (!wh_dds_has_writer(claim->instance, reader))
			tell_last_writer(channel, claim->instance, writer, reader);
}

/* The instance may be gone when it returns. */
static void drop_claim(struct wh_dds_channel *channel, struct wh_dds_claim *claim)
{
	struct wh_dds_instance *instance = claim->instance;
	struct wh_dds_endpoint *writer = claim->writer;

	if (writer->recent == claim)
		writer->recent = NULL;
	unrank_claim(claim);
	*(claim->writer_prev != NULL ? &claim->writer_prev->writer_next : &writer->claims) = claim->writer_next;
	*(claim->writer_next != NULL ? &claim->writer_next->writer_prev : &writer->claims_end) = claim->writer_prev;
	free(claim);
	tell_owner(channel, instance);
	if (instance->claims == NULL) {
		instance->left = channel->place;
		instance->idle_ns = channel->now_ns;
		wh_dds_look_after(channel, instance->topic->terms.cleanup_ns);
		if (instance->state == WH_DDS_ALIVE) {
			instance->state = WH_DDS_NO_WRITERS;
			instance->changes++;
		}
	}
	for (uint32_t i = 0; i < writer->locals.count; i++) {
		struct wh_dds_endpoint *reader = writer->locals.all[i];

		if (!wh_dds_has_writer(instance, reader))
			tell_last_writer(channel, instance, writer, reader);
	}
	wh_dds_instance_settle(channel, instance);
}

void wh_dds_drop_claims(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer)
{
	while (writer->claims != NULL)
		drop_claim(channel, writer->claims);
}

/* ---- samples -------------------------------------------------------------------------------------------------------------- */

/* Is a newer one known, by source time and then by the writer's id? */
static bool is_behind(const struct wh_dds_instance *instance, const struct wh_dds_endpoint *writer,
		      const struct wh_dds_sample *sample)
{
	if (!wh_dds_by_source(writer) || !instance->timed || sample->number == 0)
		return false;
	return sample->source_ns < instance->newest_ns ||
	       (sample->source_ns == instance->newest_ns && wh_dds_id_compare(&writer->id, &instance->newest) < 0);
}

static void change_state(struct wh_dds_instance *instance, const struct wh_dds_sample *sample)
{
	if ((sample->change & WH_DDS_WRITE) != 0) {
		instance->disposed_generations += instance->state == WH_DDS_DISPOSED;
		instance->no_writers_generations += instance->state == WH_DDS_NO_WRITERS;
		instance->state = WH_DDS_ALIVE;
	}
	if ((sample->change & WH_DDS_DISPOSE) != 0)
		instance->state = WH_DDS_DISPOSED;
	instance->changes++;
}

static void tell_sample(struct wh_dds_channel *channel, const struct wh_dds_instance *instance,
			struct wh_dds_endpoint *writer, const struct wh_dds_sample *sample, bool behind)
{
	struct wh_dds_event event = {
		.what = WH_DDS_SAMPLE, .writer = writer, .topic = instance->topic, .sample = sample};

	for (uint32_t i = 0; i < writer->locals.count; i++) {
		struct wh_dds_endpoint *reader = writer->locals.all[i];

		if ((behind && wh_dds_by_source(reader)) || !owns_for(instance, writer, reader))
			continue;
		event.reader = reader;
		wh_dds_tell_event(channel, &event);
	}
}

/* A sample or a disposal: what it makes of the instance, what is kept of it, what is told. */
static bool change_instance(struct wh_dds_channel *channel, struct wh_dds_instance *instance,
			    struct wh_dds_endpoint *writer, struct wh_dds_sample *sample)
{
	bool matters = counts(instance, writer), behind = matters && is_behind(instance, writer, sample);

	if (matters && !behind) {
		if (wh_dds_by_source(writer) && sample->number > 0) {
			instance->timed = true;
			instance->newest_ns = sample->source_ns;
			instance->newest = writer->id;
		}
		change_state(instance, sample);
	}
	sample->state = (sample->change & WH_DDS_DISPOSE) != 0 ? WH_DDS_DISPOSED : WH_DDS_ALIVE;
	sample->disposed_generations = instance->disposed_generations;
	sample->no_writers_generations = instance->no_writers_generations;
	if (matters && !wh_dds_keep(channel, instance, writer, sample, behind))
		return false;
	tell_sample(channel, instance, writer, sample, behind);
	wh_dds_hold_limits(channel, instance);
	return true;
}

/* A writer mostly writes the instance that it wrote last. */
static struct wh_dds_claim *recent_claim(const struct wh_dds_endpoint *writer, const struct wh_dds_sample *sample)
{
	struct wh_dds_claim *claim = writer->recent;

	return claim != NULL && memcmp(claim->instance->key, sample->key, WH_DDS_KEY_BYTES) == 0 ? claim : NULL;
}

bool wh_dds_take_effect(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer, struct wh_dds_sample *sample)
{
	bool leaves = (sample->change & WH_DDS_UNREGISTER) != 0, weighs;
	struct wh_dds_claim *claim = recent_claim(writer, sample);
	struct wh_dds_instance *instance;

	if (claim != NULL)
		instance = claim->instance;
	else
		instance = leaves ? wh_dds_instance_find(channel, writer->topic, sample->key)
				  : wh_dds_instance_get(channel, writer->topic, sample->key);
	if (instance == NULL && !leaves)
		return false;
	if (claim == NULL && instance != NULL)
		claim = wh_dds_claim_find(instance, writer);
	if (claim == NULL && leaves) {
		channel->counts.voids++;
		return true;
	}
	weighs = claim == NULL || claim->late;
	if (claim == NULL && (claim = wh_dds_claim_add(instance, writer)) == NULL)
		return false;
	writer->recent = claim;
	claim->number = sample->number;
	claim->heard_ns = channel->now_ns;
	claim->late = false;
	if (weighs)
		wh_dds_claim_weigh(channel, claim);
	if (leaves && writer->policies.autodispose)
		sample->change |= WH_DDS_DISPOSE;
	if ((sample->change & (WH_DDS_WRITE | WH_DDS_DISPOSE)) != 0 &&
	    !change_instance(channel, instance, writer, sample))
		return false;
	if (leaves)
		drop_claim(channel, claim);
	return true;
}

/* ---- which readers would be told ------------------------------------------------------------------------------------------ */

static bool tells(const struct wh_dds_endpoint *writer, const struct wh_dds_sample *sample)
{
	if ((sample->change & WH_DDS_UNREGISTER) != 0)
		return (sample->change & WH_DDS_DISPOSE) != 0 || writer->policies.autodispose;
	return sample->change != 0;
}

static bool ask_readers(const struct wh_dds_question *question, struct wh_dds_endpoint *writer,
			const struct wh_dds_sample *sample, const struct wh_dds_instance *instance)
{
	bool behind = instance != NULL && !wh_dds_is_exclusive(writer) && is_behind(instance, writer, sample);

	for (uint32_t i = 0; i < writer->locals.count; i++) {
		struct wh_dds_endpoint *reader = writer->locals.all[i];

		if ((behind && wh_dds_by_source(reader)) || (instance != NULL && !owns_for(instance, writer, reader)))
			continue;
		if (!question->ask(question->ctx, reader, writer, sample))
			return false;
	}
	return true;
}

bool wh_dds_ask_now(const struct wh_dds_channel *channel, const struct wh_dds_question *question,
		    struct wh_dds_endpoint *writer, const struct wh_dds_sample *sample)
{
	const struct wh_dds_instance *instance = wh_dds_instance_find(channel, writer->topic, sample->key);
	bool leaves = (sample->change & WH_DDS_UNREGISTER) != 0;

	if (!tells(writer, sample) || (leaves && (instance == NULL || wh_dds_claim_find(instance, writer) == NULL)))
		return true;
	return ask_readers(question, writer, sample, instance);
}

bool wh_dds_ask_later(const struct wh_dds_question *question, struct wh_dds_endpoint *writer,
		      const struct wh_dds_sample *sample)
{
	return !tells(writer, sample) || ask_readers(question, writer, sample, NULL);
}
