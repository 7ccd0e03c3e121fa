/* topics_check.c - what must be true of what readers have seen: see topics_play.h.
 *
 * A sample is known by its writer and number, so the judge knows without the library which were written, when, and with what answer. Of a topic it
 * makes one order of all that any reader has taken, and holds each reader's against it.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "tests/sim/topics_play.h"

#define OK WHORL_DDS_RETCODE_OK

static int compare(uint64_t view, uint64_t sequence, uint64_t other_view, uint64_t other_sequence)
{
	if (view != other_view)
		return view < other_view ? -1 : 1;
	return sequence < other_sequence ? -1 : sequence > other_sequence;
}

static bool has_data(const struct topics_written *it)
{
	return it->change == TOPICS_WRITE || it->change == TOPICS_WRITE_DISPOSE;
}

/* ---- each sample --------------------------------------------------------------------------------------------------------------- */

/* It was written, by that writer; all see it at one place, with one number; none sees it twice. */
static void judge_entry(struct topics_play *play, const struct topics_reader *reader, const struct topics_entry *entry)
{
	const struct topics_sample *sample = &entry->sample;
	const struct topics_writer *writer =
		sample->writer - 1 < play->writer_count ? play->writers[sample->writer - 1] : NULL;
	struct topics_written *it = writer != NULL && sample->n < writer->count ? &writer->written[sample->n] : NULL;

	if (it == NULL || writer->kind != reader->kind || it->key != sample->key || !has_data(it)) {
		topics_fail(play, "truth: reader %u has sample %u of writer %u, which was not written", reader->number,
			    sample->n, sample->writer);
	} else if (it->result == WHORL_DDS_RETCODE_TIMEOUT) {
		topics_fail(play, "truth: reader %u has sample %u of writer %u, which was answered TIMEOUT",
			    reader->number, sample->n, sample->writer);
	} else if (it->seen_by == reader->number) {
		topics_fail(play, "once: reader %u has sample %u of writer %u twice", reader->number, sample->n,
			    sample->writer);
	} else if (!it->seen) {
		it->seen = true;
		it->view = entry->view;
		it->sequence = entry->sequence;
		it->number = entry->number;
		it->taken_ns = entry->taken_ns;
	} else if (compare(it->view, it->sequence, entry->view, entry->sequence) != 0 || it->number != entry->number) {
		topics_fail(play,
			    "order: sample %u of writer %u is the %" PRIu64 "th at %" PRIu64 ".%" PRIu64
			    ", and at reader %u the %" PRIu64 "th at %" PRIu64 ".%" PRIu64,
			    sample->n, sample->writer, it->number, it->view, it->sequence, reader->number,
			    entry->number, entry->view, entry->sequence);
	}
	if (it == NULL)
		return;
	it->seen_by = reader->number;
	it->taken_ns = entry->taken_ns < it->taken_ns ? entry->taken_ns : it->taken_ns;
}

/* Of an instance places never go back; nor of a set's topic, which is presented in order. */
static void judge_order(struct topics_play *play, const struct topics_reader *reader)
{
	const struct topics_entry *last[TOPICS_KEYS] = {NULL};

	for (uint32_t i = 0; i < reader->count; i++) {
		const struct topics_entry *entry = &reader->entries[i];
		uint32_t at = reader->kind == TOPICS_SETS ? 0 : (uint32_t)entry->sample.key % TOPICS_KEYS;

		if (last[at] != NULL && compare(last[at]->view, last[at]->sequence, entry->view, entry->sequence) > 0)
			topics_fail(play,
				    "order: reader %u has what is at %" PRIu64 ".%" PRIu64 " behind %" PRIu64
				    ".%" PRIu64,
				    reader->number, entry->view, entry->sequence, last[at]->view, last[at]->sequence);
		last[at] = entry;
	}
}

static int by_place(const void *one, const void *other)
{
	const struct topics_written *a = *(struct topics_written *const *)one;
	const struct topics_written *b = *(struct topics_written *const *)other;
	int order = compare(a->view, a->sequence, b->view, b->sequence);

	return order != 0 ? order : (a->number > b->number) - (a->number < b->number);
}

/* No two samples have one place, but those of a set; and those of a writer are in the order in which it wrote them. */
static void judge_places(struct topics_play *play, enum topics_kind kind)
{
	struct topics_written **all = NULL;
	uint32_t count = 0;

	for (uint32_t w = 0; w < play->writer_count; w++) {
		struct topics_writer *writer = play->writers[w];
		const struct topics_written *last = NULL;

		if (writer->kind != kind)
			continue;
		all = realloc(all, (count + writer->count + 1) * sizeof(struct topics_written *));
		for (uint32_t n = 0; n < writer->count; n++) {
			struct topics_written *it = &writer->written[n];

			if (!it->seen)
				continue;
			if (last != NULL && (compare(last->view, last->sequence, it->view, it->sequence) > 0 ||
					     last->number >= it->number))
				topics_fail(play, "order: sample %u of writer %u is before an earlier one", n,
					    writer->number);
			last = all[count++] = it;
		}
	}
	if (count > 0)
		qsort(all, count, sizeof(struct topics_written *), by_place);
	for (uint32_t i = 1; i < count; i++)
		if (compare(all[i - 1]->view, all[i - 1]->sequence, all[i]->view, all[i]->sequence) == 0 &&
		    (all[i]->set == 0 || all[i]->set != all[i - 1]->set))
			topics_fail(play, "order: two samples are at %" PRIu64 ".%" PRIu64, all[i]->view,
				    all[i]->sequence);
	free(all);
}

/* ---- what a reader must have --------------------------------------------------------------------------------------------------- */

/* Its writer was there for certain, when the reader was. */
static bool was_there(const struct topics_writer *writer, uint64_t ns)
{
	const struct topics_life *life = writer->life;

	return (writer->going_ns == 0 || writer->going_ns > ns) && !life->failed &&
	       (life->killed_ns == 0 || life->killed_ns > ns);
}

/* Behind what it has at last nothing need have come to it, unless it was there to the end. */
static bool is_within(const struct topics_reader *reader, const struct topics_written *it, bool *inside)
{
	bool before = false, behind = false;

	for (uint32_t i = 0; i < reader->count; i++) {
		const struct topics_entry *entry = &reader->entries[i];
		int order = compare(entry->view, entry->sequence, it->view, it->sequence);

		before = before || order < 0;
		behind = behind || order > 0;
	}
	*inside = before && behind;
	return behind;
}

static bool must_have(const struct topics_play *play, const struct topics_reader *reader,
		      const struct topics_writer *writer, const struct topics_written *it)
{
	bool inside = false, behind = it->seen && is_within(reader, it, &inside);
	bool sure = it->result == OK && (it->set == 0 || it->ended) && !topics_is_dead(writer->life->process) &&
		    !writer->life->failed;
	bool later = it->from_ns > reader->made_ns;

	if (!it->seen && !(sure && reader->kind != TOPICS_OWNED))
		return false;
	if (!behind && !(reader->final && play->whole))
		return false;
	if (reader->kind != TOPICS_STORED)
		return inside || later;
	return play->transient || later || was_there(writer, reader->made_ns);
}

/* The history is told in one: what a reader has no room for is lost. */
static bool has_small_room(const struct topics_reader *reader)
{
	return reader->limited && reader->kind == TOPICS_STORED;
}

/* Samples that nobody has, as their sets have no end: what goes with its writer is told as lost to those that it was for. */
static int32_t without_their_set(const struct topics_play *play)
{
	int32_t count = 0;

	for (uint32_t w = 0; w < play->writer_count; w++)
		for (uint32_t n = 0; n < play->writers[w]->count; n++)
			count += play->writers[w]->written[n].set != 0 && !play->writers[w]->written[n].seen;
	return count;
}

static void judge_reader(struct topics_play *play, const struct topics_reader *reader)
{
	int32_t may_lose = reader->kind == TOPICS_SETS ? without_their_set(play) : 0;

	for (uint32_t i = 0; i < reader->count; i++)
		if (reader->entries[i].valid)
			judge_entry(play, reader, &reader->entries[i]);
	judge_order(play, reader);
	if (reader->final && play->whole && reader->lost > may_lose && !has_small_room(reader))
		topics_fail(play, "lost: reader %u is told that it has lost %d", reader->number, (int)reader->lost);
}

/* Nothing is missing; and nothing has come that was over before it was made. */
static void judge_cut(struct topics_play *play, struct topics_reader *reader)
{
	for (uint32_t i = 0; i < reader->count; i++)
		if (reader->entries[i].valid)
			play->writers[reader->entries[i].sample.writer - 1]
				->written[reader->entries[i].sample.n]
				.seen_by = reader->number;
	for (uint32_t w = 0; w < play->writer_count; w++) {
		struct topics_writer *writer = play->writers[w];

		for (uint32_t n = 0; n < writer->count && writer->kind == reader->kind; n++) {
			struct topics_written *it = &writer->written[n];
			bool has = it->seen_by == reader->number;

			if (has_data(it) && !has && must_have(play, reader, writer, it) && !has_small_room(reader))
				topics_fail(play,
					    "gap: reader %u of topic %d has not sample %u of writer %u, at %" PRIu64
					    ".%" PRIu64,
					    reader->number, (int)reader->kind, n, writer->number, it->view,
					    it->sequence);
			if (has && reader->kind != TOPICS_STORED && it->taken_ns < reader->from_ns)
				topics_fail(
					play,
					"cut: reader %u has sample %u of writer %u, which was read before it was made",
					reader->number, n, writer->number);
		}
	}
}

/* ---- sets ---------------------------------------------------------------------------------------------------------------------- */

/* Whole, at one place, in its order; and none that was not ended. */
static void judge_sets(struct topics_play *play, const struct topics_reader *reader)
{
	const struct topics_entry *last = NULL;

	for (uint32_t i = 0; i < reader->count; i++) {
		const struct topics_entry *entry = &reader->entries[i];

		if (!entry->valid)
			continue;
		if (last != NULL && last->sample.index + 1 < last->sample.count &&
		    (last->sample.set != entry->sample.set || last->sample.index + 1 != entry->sample.index ||
		     compare(last->view, last->sequence, entry->view, entry->sequence) != 0))
			topics_fail(play, "sets: reader %u has a part of set %u", reader->number, last->sample.set);
		if ((last == NULL || last->sample.set != entry->sample.set) && entry->sample.index != 0)
			topics_fail(play, "sets: reader %u has not the first of set %u", reader->number,
				    entry->sample.set);
		last = entry;
	}
	if (last != NULL && last->sample.index + 1 != last->sample.count)
		topics_fail(play, "sets: reader %u has a part of set %u", reader->number, last->sample.set);
}

/* ---- owners -------------------------------------------------------------------------------------------------------------------- */

/* Between two samples of a writer of an instance that it has not given up meanwhile none comes of a weaker one. */
static bool is_between(const struct topics_written *from, const struct topics_written *to,
		       const struct topics_written *it)
{
	return compare(from->view, from->sequence, it->view, it->sequence) < 0 &&
	       compare(it->view, it->sequence, to->view, to->sequence) < 0;
}

static void judge_interval(struct topics_play *play, const struct topics_writer *owner,
			   const struct topics_written *from, const struct topics_written *to)
{
	for (uint32_t w = 0; w < play->writer_count; w++) {
		const struct topics_writer *writer = play->writers[w];

		for (uint32_t n = 0; n < writer->count && writer->kind == TOPICS_OWNED && writer != owner; n++) {
			const struct topics_written *it = &writer->written[n];

			if (it->seen && it->key == from->key && is_between(from, to, it) &&
			    writer->strength < owner->strength)
				topics_fail(play,
					    "owner: sample %u of writer %u comes while writer %u owns its instance", n,
					    writer->number, owner->number);
		}
	}
}

static void judge_owner(struct topics_play *play, const struct topics_writer *owner)
{
	const struct topics_written *last[TOPICS_KEYS] = {NULL};

	for (uint32_t n = 0; n < owner->count; n++) {
		const struct topics_written *it = &owner->written[n];

		if (it->change == TOPICS_UNREGISTER)
			last[it->key] = NULL;
		if (!it->seen)
			continue;
		if (last[it->key] != NULL)
			judge_interval(play, owner, last[it->key], it);
		last[it->key] = it;
	}
}

/* ---- the end ------------------------------------------------------------------------------------------------------------------- */

/* It was there when the last was taken. */
static bool was_there_last(const struct topics_writer *writer)
{
	const struct topics_life *life = writer->life;

	return writer->made_ns != 0 && life->settled && !topics_is_dead(life->process) && !life->failed &&
	       (writer->going_ns == 0 || writer->going_ns >= life->play->settled_ns);
}

static void judge_matches(struct topics_play *play, const struct topics_reader *reader)
{
	int32_t count = 0;

	for (uint32_t w = 0; w < play->writer_count; w++) {
		if (play->writers[w]->kind != reader->kind)
			continue;
		if (play->writers[w]->unsure && !topics_is_dead(play->writers[w]->life->process))
			return;
		count += was_there_last(play->writers[w]);
	}
	if (reader->matched != count)
		topics_fail(play, "matches: reader %u of topic %d has %d writers, and there are %d", reader->number,
			    (int)reader->kind, (int)reader->matched, (int)count);
}

/* Has some writer that was there last written the instance, and not given it up? */
static bool has_writer(const struct topics_play *play, enum topics_kind kind, int32_t key, bool maybe)
{
	for (uint32_t w = 0; w < play->writer_count; w++) {
		const struct topics_writer *writer = play->writers[w];
		bool has = false;

		if (writer->kind != kind || !was_there_last(writer))
			continue;
		for (uint32_t n = 0; n < writer->count; n++) {
			const struct topics_written *it = &writer->written[n];

			if (it->key != key || (it->result != OK && !maybe))
				continue;
			if (it->change == TOPICS_UNREGISTER)
				has = maybe && it->result != OK;
			else
				has = has || maybe || has_data(it);
		}
		if (has)
			return true;
	}
	return false;
}

/* What it is told last of an instance: that it has no writers, if so it is. */
static void judge_ends(struct topics_play *play, const struct topics_reader *reader)
{
	const struct topics_entry *last[TOPICS_KEYS] = {NULL};

	for (uint32_t i = 0; i < reader->count && reader->entries[i].taken_ns <= play->settled_ns; i++)
		last[(uint32_t)reader->entries[i].sample.key % TOPICS_KEYS] = &reader->entries[i];
	for (int32_t key = 0; key < TOPICS_KEYS; key++) {
		if (last[key] == NULL)
			continue;
		if (last[key]->state == WHORL_DDS_ALIVE_INSTANCE_STATE && !has_writer(play, reader->kind, key, true))
			topics_fail(play, "ends: reader %u of topic %d: instance %d is alive, and nothing writes it",
				    reader->number, (int)reader->kind, (int)key);
		if (last[key]->state == WHORL_DDS_NOT_ALIVE_NO_WRITERS_INSTANCE_STATE &&
		    has_writer(play, reader->kind, key, false))
			topics_fail(play, "ends: reader %u of topic %d: instance %d has no writers, and one writes it",
				    reader->number, (int)reader->kind, (int)key);
	}
}

/* In a group that goes on a program gets what it asks for. */
static void judge_progress(struct topics_play *play)
{
	uint32_t readers = 0;

	for (uint32_t i = 0; i < play->reader_count; i++)
		readers += play->readers[i]->life->keeper && play->readers[i]->final;
	if (play->whole && readers < 3)
		topics_fail(play, "progress: the keeper has %u readers in the end", readers);
}

void topics_judge(struct topics_play *play)
{
	judge_progress(play);
	for (uint32_t i = 0; i < play->reader_count; i++)
		judge_reader(play, play->readers[i]);
	for (int kind = 0; kind < TOPICS_KINDS && !topics_failed(play); kind++)
		judge_places(play, (enum topics_kind)kind);
	for (uint32_t i = 0; i < play->reader_count && !topics_failed(play); i++) {
		struct topics_reader *reader = play->readers[i];

		judge_cut(play, reader);
		if (reader->kind == TOPICS_SETS)
			judge_sets(play, reader);
		if (!reader->final || !play->whole)
			continue;
		judge_matches(play, reader);
		judge_ends(play, reader);
	}
	for (uint32_t i = 0; i < play->writer_count; i++)
		if (play->writers[i]->kind == TOPICS_OWNED)
			judge_owner(play, play->writers[i]);
}
