/* topics_check_more.c - what must be true of unordered topics, source time, sets of several topics, filters of times and readers in place: see
 * topics_play.h.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "tests/sim/topics_play.h"

#define OK WHORL_DDS_RETCODE_OK

static struct topics_written *written_of(const struct topics_play *play, const struct topics_entry *entry)
{
	return &play->writers[entry->sample.writer - 1]->written[entry->sample.n];
}

static int order_of(const struct topics_written *one, const struct topics_written *other)
{
	return topics_compare(one->view, one->sequence, other->view, other->sequence);
}

/* ---- source time ----------------------------------------------------------------------------------------------------------------- */

/* Two samples of one time: the writers' ids decide, which the judge does not know. Of one writer the later one is no older. */
static bool may_be_newer(const struct topics_writer *writer, const struct topics_written *one,
			 const struct topics_writer *other_writer, const struct topics_written *other)
{
	return one->source_ns > other->source_ns || (one->source_ns == other->source_ns && writer != other_writer);
}

/* No reader by source has it, and something newer is before it; or may be, if nobody knows where it is. */
static bool is_behind(const struct topics_play *play, const struct topics_writer *writer,
		      const struct topics_written *it)
{
	for (uint32_t w = 0; w < play->writer_count && !it->seen_by_source; w++) {
		const struct topics_writer *of = play->writers[w];

		for (uint32_t n = 0; n < of->count && of->kind == TOPICS_TIMED; n++) {
			const struct topics_written *other = &of->written[n];

			if (other->key == it->key && other->result != WHORL_DDS_RETCODE_TIMEOUT &&
			    may_be_newer(of, other, writer, it) &&
			    (!it->seen || !other->seen || order_of(other, it) < 0))
				return true;
		}
	}
	return false;
}

/* What it has is not older than anything before. */
static void judge_source(struct topics_play *play, const struct topics_reader *reader)
{
	for (uint32_t i = 0; i < reader->count; i++) {
		const struct topics_entry *entry = &reader->entries[i];
		const struct topics_written *it;

		if (!entry->valid)
			continue;
		it = written_of(play, entry);
		for (uint32_t w = 0; w < play->writer_count; w++) {
			const struct topics_writer *of = play->writers[w];

			for (uint32_t n = 0; n < of->count && of->kind == TOPICS_TIMED; n++)
				if (of->written[n].seen && of->written[n].key == it->key &&
				    of->written[n].source_ns > it->source_ns && order_of(&of->written[n], it) < 0)
					topics_fail(play,
						    "source: reader %u has sample %u of writer %u, which is older than "
						    "sample %u of writer %u before it",
						    reader->number, entry->sample.n, entry->sample.writer, n,
						    of->number);
		}
	}
}

/* ---- filters of times ------------------------------------------------------------------------------------------------------------ */

/* How late a timer may be: a listener sleeps, that of a reader which may be full for longer, or the process stood still. */
static uint64_t lateness(const struct topics_play *play, const struct topics_reader *reader)
{
	uint64_t ms = reader->life->stalled ? 300 : 50;
	bool limited = false;

	for (uint32_t i = 0; i < play->reader_count; i++)
		limited = limited || (play->readers[i]->life == reader->life && play->readers[i]->listens &&
				      play->readers[i]->limited);
	return (ms + (limited ? 80 : 0)) * WH_NS_PER_MS;
}

/* When it took last, as long as it lived. */
static uint64_t ended_ns(const struct topics_reader *reader)
{
	uint64_t killed_ns = reader->life->killed_ns;

	return killed_ns > 0 && killed_ns < reader->last_ns ? killed_ns : reader->last_ns;
}

/* The last that the reader has of the instance before a sample; NULL: nothing. */
static const struct topics_entry *entry_before(const struct topics_reader *reader, const struct topics_written *it)
{
	const struct topics_entry *last = NULL;

	for (uint32_t i = 0; i < reader->count; i++) {
		const struct topics_entry *entry = &reader->entries[i];

		if (entry->sample.key == it->key &&
		    topics_compare(entry->view, entry->sequence, it->view, it->sequence) < 0)
			last = entry;
	}
	return last;
}

/* What came last is what the reader has, or what was over before it took it. */
uint64_t topics_held_until(const struct topics_play *play, const struct topics_reader *reader,
			   const struct topics_written *it)
{
	const struct topics_entry *before = entry_before(reader, it);
	uint64_t last_ns = 0;

	if (reader->gap_ns == 0)
		return 0;
	if (before != NULL && before->valid && written_of(play, before)->change == TOPICS_WRITE)
		last_ns = before->taken_ns;
	for (uint32_t w = 0; w < play->writer_count; w++) {
		const struct topics_writer *of = play->writers[w];

		for (uint32_t n = 0; n < of->count && topics_fit(reader, of) && of->lifespan_ns > 0; n++) {
			const struct topics_written *other = &of->written[n];
			bool is_between =
				!other->seen || (order_of(other, it) < 0 &&
						 (before == NULL || topics_compare(before->view, before->sequence,
										   other->view, other->sequence) < 0));

			if (other->key == it->key && topics_has_data(other) && is_between &&
			    last_ns < other->from_ns + of->lifespan_ns)
				last_ns = other->from_ns + of->lifespan_ns;
		}
	}
	return last_ns > 0 ? last_ns + reader->gap_ns + lateness(play, reader) : 0;
}

static bool is_replaced(const struct topics_play *play, const struct topics_reader *reader,
			const struct topics_written *it, uint64_t until_ns)
{
	for (uint32_t w = 0; w < play->writer_count; w++) {
		const struct topics_writer *of = play->writers[w];

		for (uint32_t n = 0; n < of->count && topics_fit(reader, of); n++) {
			const struct topics_written *other = &of->written[n];

			if (other->key == it->key && topics_has_data(other) && other->from_ns < until_ns &&
			    other->result != WHORL_DDS_RETCODE_TIMEOUT && other != it &&
			    (!other->seen || order_of(other, it) > 0))
				return true;
		}
	}
	return false;
}

/* While it was held back something newer of the instance came, or it was over; or the reader was not there any more when its time had come. */
static bool is_held_back(const struct topics_play *play, const struct topics_reader *reader,
			 const struct topics_writer *writer, const struct topics_written *it)
{
	uint64_t until_ns;

	if (!it->seen) /* where it is nobody knows */
		return true;
	until_ns = topics_held_until(play, reader, it);
	return (!reader->final && ended_ns(reader) < until_ns) || is_replaced(play, reader, it, until_ns) ||
	       (writer->lifespan_ns > 0 && it->from_ns + writer->lifespan_ns < until_ns);
}

static const struct topics_entry *entry_behind(const struct topics_reader *reader, uint32_t from)
{
	for (uint32_t i = from + 1; i < reader->count; i++)
		if (reader->entries[i].sample.key == reader->entries[from].sample.key)
			return &reader->entries[i];
	return NULL;
}

/* The clock of a process that was killed is far ahead, so that what waits in it ends: what was held back comes, too. */
static bool came_to_the_dead(const struct topics_reader *reader, const struct topics_entry *entry)
{
	return reader->life->killed_ns > 0 && entry->taken_ns >= reader->life->killed_ns;
}

/* Between two of an instance is that time at least, but before its end. */
static void judge_filter(struct topics_play *play, const struct topics_reader *reader)
{
	for (uint32_t i = 0; i < reader->count; i++) {
		const struct topics_entry *one = &reader->entries[i], *other = entry_behind(reader, i), *end;

		if (other == NULL || !one->valid || !other->valid || written_of(play, one)->change != TOPICS_WRITE ||
		    written_of(play, other)->change != TOPICS_WRITE)
			continue;
		end = entry_behind(reader, (uint32_t)(other - reader->entries));
		if ((end == NULL || end->valid) && other->taken_ns < one->reception_ns + reader->gap_ns &&
		    !came_to_the_dead(reader, other))
			topics_fail(play, "filter: reader %u has sample %u of writer %u too early", reader->number,
				    other->sample.n, other->sample.writer);
	}
}

bool topics_is_hidden(const struct topics_play *play, const struct topics_reader *reader,
		      const struct topics_writer *writer, const struct topics_written *it)
{
	return (reader->by_source && is_behind(play, writer, it)) ||
	       (reader->gap_ns > 0 && is_held_back(play, reader, writer, it));
}

/* ---- in place -------------------------------------------------------------------------------------------------------------------- */

/* It is told where it happens: so the state is the one that the sample makes. */
static void judge_in_place(struct topics_play *play, const struct topics_reader *reader)
{
	for (uint32_t i = 0; i < reader->count; i++) {
		const struct topics_entry *entry = &reader->entries[i];
		bool alive = entry->state == WHORL_DDS_ALIVE_INSTANCE_STATE;

		if (entry->valid ? alive != (written_of(play, entry)->change == TOPICS_WRITE) : alive)
			topics_fail(play, "in place: reader %u is told state %u with what is at %" PRIu64 ".%" PRIu64,
				    reader->number, entry->state, entry->view, entry->sequence);
	}
}

/* ---- sets of several topics ------------------------------------------------------------------------------------------------------ */

static struct topics_written *first_seen(const struct topics_play *play, uint32_t set)
{
	for (uint32_t w = 0; w < play->writer_count; w++)
		for (uint32_t n = 0; n < play->writers[w]->count; n++)
			if (play->writers[w]->written[n].set == set && play->writers[w]->written[n].seen)
				return &play->writers[w]->written[n];
	return NULL;
}

/* A sample of a set of one and of other; at the place of that which is seen of it. */
static void complete(struct topics_play *play, struct topics_written *it)
{
	const struct topics_written *first = first_seen(play, it->set);

	if (first == NULL)
		return;
	if (it->broken)
		topics_fail(play, "sets: of set %u a writer was deleted, and something of it is seen", it->set);
	if (it->seen && order_of(first, it) != 0)
		topics_fail(play, "sets: set %u is at %" PRIu64 ".%" PRIu64 " and at %" PRIu64 ".%" PRIu64, it->set,
			    first->view, first->sequence, it->view, it->sequence);
	if (it->seen || it->result != OK)
		return;
	it->seen = true;
	it->view = first->view;
	it->sequence = first->sequence;
	it->taken_ns = UINT64_MAX;
}

void topics_complete_sets(struct topics_play *play)
{
	for (uint32_t w = 0; w < play->writer_count; w++)
		for (uint32_t n = 0; n < play->writers[w]->count && topics_is_of_pair(play->writers[w]->kind); n++)
			if (play->writers[w]->written[n].set != 0)
				complete(play, &play->writers[w]->written[n]);
}

/* How many of the set the reader's topic has. */
static uint32_t set_count(const struct topics_play *play, const struct topics_reader *reader, uint32_t set)
{
	uint32_t count = 0;

	for (uint32_t w = 0; w < play->writer_count; w++)
		for (uint32_t n = 0; n < play->writers[w]->count && play->writers[w]->kind == reader->kind; n++)
			count += play->writers[w]->written[n].set == set && play->writers[w]->written[n].result == OK;
	return count;
}

/* What the reader's topic has of a set is there whole, and nothing is between. */
static void judge_parts(struct topics_play *play, const struct topics_reader *reader)
{
	for (uint32_t i = 0, next; i < reader->count; i = next) {
		const struct topics_entry *entry = &reader->entries[i];
		uint32_t index = 0;

		next = i + 1;
		if (!entry->valid || entry->sample.set == 0)
			continue;
		for (index = entry->sample.index; next < reader->count; next++) {
			const struct topics_entry *behind = &reader->entries[next];

			if (!behind->valid || behind->sample.set != entry->sample.set || behind->sample.index <= index)
				break;
			index = behind->sample.index;
		}
		if (next - i != set_count(play, reader, entry->sample.set))
			topics_fail(play, "sets: reader %u has %u of set %u together, of %u", reader->number, next - i,
				    entry->sample.set, set_count(play, reader, entry->sample.set));
	}
}

/* ---- unordered topics ------------------------------------------------------------------------------------------------------------ */

bool topics_is_unheard(const struct topics_reader *reader, const struct topics_writer *writer, int32_t key)
{
	bool heard = reader->kind != TOPICS_LOOSE;

	for (uint32_t n = 0; n < writer->count; n++)
		heard = heard || (writer->written[n].key == key && writer->written[n].from_ns > reader->made_ns);
	return !heard;
}

/* What a reader has of each of a writer's samples: its entry. */
static const struct topics_entry **entries_of(const struct topics_reader *reader, const struct topics_writer *writer)
{
	const struct topics_entry **all = topics_must(calloc(writer->count + 1, sizeof(struct topics_entry *)));

	for (uint32_t i = 0; i < reader->count; i++)
		if (reader->entries[i].valid && reader->entries[i].sample.writer == writer->number)
			all[reader->entries[i].sample.n] = &reader->entries[i];
	return all;
}

/* It must have what comes behind the first that it has, up to the last; and to the end, if it was there. */
static bool must_hear(const struct topics_play *play, const struct topics_reader *reader,
		      const struct topics_writer *writer, uint32_t n, bool behind_first, bool before_last)
{
	const struct topics_written *it = &writer->written[n];

	if (!topics_has_data(it) || it->result != OK)
		return false;
	if (behind_first && before_last)
		return true;
	return reader->final && play->whole && !topics_is_dead(writer->life->process) && !writer->life->failed &&
	       (behind_first || it->from_ns > reader->made_ns);
}

bool topics_counts_right(const struct topics_writer *writer, uint32_t one, uint64_t number, uint32_t other,
			 uint64_t other_number)
{
	uint64_t count = 0;

	for (uint32_t n = one + 1; n <= other; n++) {
		whorl_dds_return result = writer->written[n].result;

		if (result != OK && result != WHORL_DDS_RETCODE_TIMEOUT &&
		    result != WHORL_DDS_RETCODE_PRECONDITION_NOT_MET)
			return other_number > number;
		count += result == OK;
	}
	return other_number == number + count;
}

/* What a reader has behind another one of the writer's. */
static void judge_next(struct topics_play *play, const struct topics_reader *reader, const struct topics_writer *writer,
		       const struct topics_entry *last, const struct topics_entry *it)
{
	if (it->view != 0 || it->sequence != 0)
		topics_fail(play, "loose: sample %u of writer %u has a place", it->sample.n, writer->number);
	if (last == NULL)
		return;
	if (it < last && (reader->in_place || it->sample.key == last->sample.key))
		topics_fail(play, "loose: reader %u has sample %u of writer %u before an earlier one", reader->number,
			    it->sample.n, writer->number);
	if (!topics_counts_right(writer, last->sample.n, last->number, it->sample.n, it->number))
		topics_fail(play,
			    "loose: sample %u of writer %u is the %" PRIu64
			    "th of those that reader %u has, and sample "
			    "%u the %" PRIu64 "th",
			    it->sample.n, writer->number, it->number, reader->number, last->sample.n, last->number);
}

static void judge_heard(struct topics_play *play, const struct topics_reader *reader,
			const struct topics_writer *writer, const struct topics_entry *const *all, int32_t *missing)
{
	const struct topics_entry *last = NULL;
	uint32_t end = writer->count;

	while (end > 0 && all[end - 1] == NULL)
		end--;
	for (uint32_t n = 0; n < writer->count; n++) {
		const struct topics_entry *it = all[n];

		if (it == NULL && must_hear(play, reader, writer, n, last != NULL, n < end)) {
			++*missing;
			if (!topics_may_lose(play, reader) || (reader->final && *missing > reader->lost))
				topics_fail(play, "gap: reader %u of topic %d has not sample %u of writer %u",
					    reader->number, (int)reader->kind, n, writer->number);
		}
		if (it == NULL)
			continue;
		judge_next(play, reader, writer, last, it);
		last = it;
	}
}

/* Readers of one process are told the same; and one that comes later nothing that the process had before. */
static void judge_beside(struct topics_play *play, const struct topics_reader *reader,
			 const struct topics_reader *other, const struct topics_writer *writer,
			 const struct topics_entry *const *all)
{
	const struct topics_entry **of_other = entries_of(other, writer);

	for (uint32_t n = 0; n < writer->count; n++) {
		if (all[n] == NULL || of_other[n] == NULL)
			continue;
		if (all[n]->number != of_other[n]->number)
			topics_fail(play,
				    "loose: readers %u and %u of one process count sample %u of writer %u otherwise",
				    reader->number, other->number, n, writer->number);
		if (of_other[n]->taken_ns < reader->from_ns)
			topics_fail(play,
				    "cut: reader %u has sample %u of writer %u, which was read before it was made",
				    reader->number, n, writer->number);
	}
	free(of_other);
}

static void judge_loose(struct topics_play *play, const struct topics_reader *reader)
{
	int32_t missing = 0;

	for (uint32_t w = 0; w < play->writer_count; w++) {
		const struct topics_writer *writer = play->writers[w];
		const struct topics_entry **all;

		if (!topics_fit(reader, writer))
			continue;
		all = entries_of(reader, writer);
		judge_heard(play, reader, writer, all, &missing);
		for (uint32_t i = 0; i < play->reader_count; i++) {
			const struct topics_reader *other = play->readers[i];

			if (other != reader && other->kind == TOPICS_LOOSE && other->life == reader->life &&
			    other->stay == reader->stay)
				judge_beside(play, reader, other, writer, all);
		}
		free(all);
	}
}

/* ---------------------------------------------------------------------------------------------------------------------------------- */

void topics_judge_more(struct topics_play *play, const struct topics_reader *reader)
{
	if (reader->kind == TOPICS_LOOSE)
		judge_loose(play, reader);
	if (topics_is_of_pair(reader->kind))
		judge_parts(play, reader);
	if (reader->by_source)
		judge_source(play, reader);
	if (reader->gap_ns > 0)
		judge_filter(play, reader);
	if (reader->in_place)
		judge_in_place(play, reader);
}
