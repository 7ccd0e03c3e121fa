/* history.c - what a channel keeps for late readers. See channel_int.h.
 *
 * Of a topic that is stored: each sample that counts, of writers with a durability beyond VOLATILE, in the order, with its place; as many of an instance
 * as the topic's terms say. That an instance was disposed of is a *mark*, an entry without a sample; one at the beginning of its
 * instance says nothing to anybody, and goes. What TRANSIENT_LOCAL writers have written goes with them.
 *
 * By source time: of what is kept the samples that were behind when they came go first, so that the newest stays.
 */
#include "dds/channel/channel_int.h"

#include <stdlib.h>
#include <string.h>

static bool has_sample(const struct wh_dds_entry *entry)
{
	return (entry->sample.change & WH_DDS_WRITE) != 0;
}

void wh_dds_entry_hang(struct wh_dds_entry *entry)
{
	struct wh_dds_instance *instance = entry->instance;
	struct wh_dds_topic *topic = instance->topic;

	topic->kept_instances += instance->entries == NULL;
	topic->kept += has_sample(entry);
	instance->kept += has_sample(entry);
	instance->kept_behind += has_sample(entry) && entry->behind;
	entry->writer->entries++;
	entry->prev = topic->entries_end;
	*(entry->prev != NULL ? &entry->prev->next : &topic->entries) = entry;
	topic->entries_end = entry;
	entry->instance_prev = instance->entries_end;
	*(entry->instance_prev != NULL ? &entry->instance_prev->instance_next : &instance->entries) = entry;
	instance->entries_end = entry;
}

/* Its writer may be gone when it returns; the instance is not. */
static void unhang(struct wh_dds_channel *channel, struct wh_dds_entry *entry)
{
	struct wh_dds_instance *instance = entry->instance;
	struct wh_dds_topic *topic = instance->topic;

	*(entry->prev != NULL ? &entry->prev->next : &topic->entries) = entry->next;
	*(entry->next != NULL ? &entry->next->prev : &topic->entries_end) = entry->prev;
	*(entry->instance_prev != NULL ? &entry->instance_prev->instance_next : &instance->entries) =
		entry->instance_next;
	*(entry->instance_next != NULL ? &entry->instance_next->instance_prev : &instance->entries_end) =
		entry->instance_prev;
	topic->kept -= has_sample(entry);
	instance->kept -= has_sample(entry);
	instance->kept_behind -= has_sample(entry) && entry->behind;
	topic->kept_instances -= instance->entries == NULL;
	entry->writer->entries--;
	wh_dds_writer_settle(channel, entry->writer);
	wh_dds_block_drop(entry->sample.block);
	free(entry);
}

static void trim_marks(struct wh_dds_channel *channel, struct wh_dds_instance *instance)
{
	while (instance->entries != NULL && !has_sample(instance->entries))
		unhang(channel, instance->entries);
}

/* Of the instance; the first that was behind, or else the first. */
static void push_out(struct wh_dds_channel *channel, struct wh_dds_instance *instance)
{
	struct wh_dds_entry *entry = instance->entries;

	while (!has_sample(entry) || (instance->kept_behind > 0 && !entry->behind))
		entry = entry->instance_next;
	unhang(channel, entry);
	trim_marks(channel, instance);
}

static bool exceeds(uint64_t count, int32_t limit)
{
	return limit != WHORL_DDS_UNLIMITED && count > (uint64_t)limit;
}

void wh_dds_hold_limits(struct wh_dds_channel *channel, struct wh_dds_instance *instance)
{
	struct wh_dds_topic *topic = instance->topic;
	const struct wh_dds_terms *terms = &topic->terms;

	if (instance->entries == NULL)
		return;
	if (terms->history.kind == WHORL_DDS_HISTORY_KEEP_LAST && exceeds(instance->kept, terms->history.depth))
		push_out(channel, instance);
	if (exceeds(instance->kept, terms->limits.samples_per_instance)) {
		channel->counts.not_kept++;
		push_out(channel, instance);
	}
	if (exceeds(topic->kept, terms->limits.samples)) {
		struct wh_dds_instance *oldest = topic->entries->instance;

		channel->counts.not_kept++;
		push_out(channel, oldest);
		if (oldest != instance)
			wh_dds_instance_settle(channel, oldest);
	}
}

static bool is_kept(const struct wh_dds_instance *instance, const struct wh_dds_endpoint *writer,
		    const struct wh_dds_sample *sample, bool behind)
{
	if (instance->topic->terms.consistency < WHORL_DDS_CONSISTENCY_STORED ||
	    writer->policies.durability == WHORL_DDS_DURABILITY_VOLATILE)
		return false;
	return (sample->change & WH_DDS_WRITE) != 0 || (instance->entries != NULL && !behind);
}

bool wh_dds_keep(struct wh_dds_channel *channel, struct wh_dds_instance *instance, struct wh_dds_endpoint *writer,
		 struct wh_dds_sample *sample, bool behind)
{
	struct wh_dds_entry *entry;

	if (!is_kept(instance, writer, sample, behind))
		return true;
	if (instance->entries == NULL &&
	    exceeds((uint64_t)instance->topic->kept_instances + 1, instance->topic->terms.limits.instances)) {
		channel->counts.not_kept++;
		return true;
	}
	if (instance->entries_end != NULL && !has_sample(instance->entries_end) && (sample->change & WH_DDS_WRITE) == 0)
		unhang(channel, instance->entries_end); /* it is disposed of once more: the last one says it */
	entry = calloc(1, sizeof(*entry));
	if (entry == NULL)
		return false;
	entry->instance = instance;
	entry->writer = writer;
	entry->behind = behind;
	entry->sample = *sample;
	entry->sample.history = true;
	entry->sample.block = sample->block != NULL ? wh_dds_block_hold(sample->block)
						    : wh_dds_block_new(sample->bytes, sample->count);
	if (entry->sample.block == NULL) {
		free(entry);
		return false;
	}
	entry->sample.bytes = entry->sample.block->bytes;
	sample->block = entry->sample.block; /* so that readers may hold it as well */
	sample->bytes = entry->sample.bytes;
	wh_dds_entry_hang(entry);
	return true;
}

void wh_dds_forget_instance(struct wh_dds_channel *channel, struct wh_dds_instance *instance)
{
	while (instance->entries != NULL)
		unhang(channel, instance->entries);
}

void wh_dds_forget_writer(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer)
{
	struct wh_dds_instance *instance = writer->entries > 0 ? writer->topic->instances : NULL;

	for (struct wh_dds_instance *behind; instance != NULL; instance = behind) {
		behind = instance->next;
		for (struct wh_dds_entry *entry = instance->entries, *next; entry != NULL; entry = next) {
			next = entry->instance_next;
			if (entry->writer == writer)
				unhang(channel, entry);
		}
		trim_marks(channel, instance);
		wh_dds_instance_settle(channel, instance);
	}
}

void wh_dds_forget_topic(struct wh_dds_channel *channel, struct wh_dds_topic *topic)
{
	for (struct wh_dds_instance *instance = topic->instances, *next; instance != NULL; instance = next) {
		next = instance->next;
		wh_dds_forget_instance(channel, instance);
		wh_dds_instance_settle(channel, instance);
	}
	wh_dds_topic_settle(channel, topic);
}

/* ---- telling it ----------------------------------------------------------------------------------------------------------- */

/* Of what writers that are gone have left, as of the others: if they would match. A mark, if a sample of the instance came before it. */
static bool is_for(const struct wh_dds_entry *entry, const struct wh_dds_endpoint *reader)
{
	if ((entry->behind && wh_dds_by_source(reader)) ||
	    (!has_sample(entry) && entry->instance->replayed != reader->order))
		return false;
	return entry->writer->ended ? wh_dds_fits(entry->writer, reader) : wh_dds_matches(reader, entry->writer);
}

static void tell_left(struct wh_dds_channel *channel, struct wh_dds_instance *instance, struct wh_dds_endpoint *reader)
{
	struct wh_dds_sample about = {.place = instance->claims == NULL ? instance->left : channel->place,
				      .state = instance->state,
				      .disposed_generations = instance->disposed_generations,
				      .no_writers_generations = instance->no_writers_generations,
				      .history = true};

	memcpy(about.key, instance->key, WH_DDS_KEY_BYTES);
	wh_dds_tell_event(channel, &(struct wh_dds_event){.what = WH_DDS_LAST_WRITER,
							  .reader = reader,
							  .writer = instance->entries_end->writer,
							  .topic = instance->topic,
							  .sample = &about});
}

uint64_t wh_dds_replay(struct wh_dds_channel *channel, struct wh_dds_endpoint *reader,
		       const struct wh_dds_endpoint *writer)
{
	struct wh_dds_topic *topic = reader->topic;
	uint64_t told = 0;

	if (reader->policies.durability == WHORL_DDS_DURABILITY_VOLATILE)
		return 0;
	for (struct wh_dds_entry *entry = topic->entries; entry != NULL; entry = entry->next) {
		struct wh_dds_event event = {.what = WH_DDS_SAMPLE,
					     .reader = reader,
					     .writer = entry->writer,
					     .topic = topic,
					     .sample = &entry->sample};

		if ((writer != NULL && entry->writer != writer) || !is_for(entry, reader))
			continue;
		entry->instance->replayed = reader->order;
		told += has_sample(entry);
		wh_dds_tell_event(channel, &event);
	}
	for (struct wh_dds_instance *instance = topic->instances; told > 0 && instance != NULL;
	     instance = instance->next) {
		if (instance->replayed == reader->order && !wh_dds_has_writer(instance, reader))
			tell_left(channel, instance, reader);
		instance->replayed = 0;
	}
	return told;
}
