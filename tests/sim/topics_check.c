/* topics_check.c - what must be true of what readers have seen: see topics_play.h.
 *
 * A sample is known by its writer and number, so the judge knows without the library which were written, when, and with what answer. Of a topic it
 * makes one order of all that any reader has taken, and holds each reader's against it.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "tests/sim/topics_play.h"

#define OK WHORL_DDS_RETCODE_OK
#define LEAVING_NS (3 * WH_NS_PER_S / 2) /* two ends that are waited for in vain take two seconds */

int topics_compare(uint64_t view, uint64_t sequence, uint64_t other_view, uint64_t other_sequence)
{
	if (view != other_view)
		return view < other_view ? -1 : 1;
	return sequence < other_sequence ? -1 : sequence > other_sequence;
}

bool topics_has_data(const struct topics_written *it)
{
	return it->change == TOPICS_WRITE || it->change == TOPICS_WRITE_DISPOSE;
}

bool topics_fit(const struct topics_reader *reader, const struct topics_writer *writer)
{
	if (reader->kind != writer->kind)
		return false;
	if (reader->kind == TOPICS_STORED || topics_is_logged(reader->kind))
		return reader->local || !writer->local;
	return reader->deadline_ns == 0 || (writer->deadline_ns > 0 && writer->deadline_ns <= reader->deadline_ns);
}

/* Late readers are given what is kept. */
static bool is_stored(enum topics_kind kind)
{
	return kind == TOPICS_STORED || kind == TOPICS_TIMED || topics_is_logged(kind);
}

/* Where there is one order. */
enum channel { ATOMIC, STORED, LOGGED, APART, CHANNELS };

static enum channel channel_of(enum topics_kind kind)
{
	if (topics_is_logged(kind))
		return kind == TOPICS_LOGGED ? LOGGED : APART;
	return is_stored(kind) ? STORED : ATOMIC;
}

/* ---- each sample --------------------------------------------------------------------------------------------------------------- */

/* It was written, by that writer; all see it at one place, with one number; none sees it twice. */
static void judge_entry(struct topics_play *play, const struct topics_reader *reader, const struct topics_entry *entry)
{
	const struct topics_sample *sample = &entry->sample;
	const struct topics_writer *writer =
		sample->writer - 1 < play->writer_count ? play->writers[sample->writer - 1] : NULL;
	struct topics_written *it = writer != NULL && sample->n < writer->count ? &writer->written[sample->n] : NULL;

	if (it == NULL || !topics_fit(reader, writer) || it->key != sample->key || !topics_has_data(it)) {
		topics_fail(play, "truth: reader %u has sample %u of writer %u, which was not written", reader->number,
			    sample->n, sample->writer);
	} else if (it->result == WHORL_DDS_RETCODE_TIMEOUT) {
		topics_fail(play, "truth: reader %u has sample %u of writer %u, which was answered TIMEOUT",
			    reader->number, sample->n, sample->writer);
	} else if (it->seen_by == reader->number) {
		topics_fail(play, "once: reader %u has sample %u of writer %u twice", reader->number, sample->n,
			    sample->writer);
	} else if (writer->kind == TOPICS_LOOSE) {
		it->seen = true; /* nothing more is the same for all */
	} else if (!it->seen) {
		it->seen = true;
		it->view = entry->view;
		it->sequence = entry->sequence;
		it->number = entry->number;
		it->taken_ns = entry->taken_ns;
	} else if (topics_compare(it->view, it->sequence, entry->view, entry->sequence) != 0 ||
		   it->number != entry->number) {
		topics_fail(play,
			    "order: sample %u of writer %u is the %" PRIu64 "th at %" PRIu64 ".%" PRIu64
			    ", and at reader %u the %" PRIu64 "th at %" PRIu64 ".%" PRIu64,
			    sample->n, sample->writer, it->number, it->view, it->sequence, reader->number,
			    entry->number, entry->view, entry->sequence);
	}
	if (it == NULL)
		return;
	it->seen_by = reader->number;
	it->seen_by_source = it->seen_by_source || reader->by_source;
	it->taken_ns = entry->taken_ns < it->taken_ns ? entry->taken_ns : it->taken_ns;
}

/* Of an instance places never go back; nor of a topic that is presented in order, or read in place. */
static void judge_order(struct topics_play *play, const struct topics_reader *reader)
{
	const struct topics_entry *last[TOPICS_KEYS] = {NULL};
	bool one_order = reader->kind == TOPICS_SETS || topics_is_of_pair(reader->kind) || reader->in_place;

	for (uint32_t i = 0; i < reader->count; i++) {
		const struct topics_entry *entry = &reader->entries[i];
		uint32_t at = one_order ? 0 : (uint32_t)entry->sample.key % TOPICS_KEYS;

		if (last[at] != NULL &&
		    topics_compare(last[at]->view, last[at]->sequence, entry->view, entry->sequence) > 0)
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
	int order = topics_compare(a->view, a->sequence, b->view, b->sequence);

	return order != 0 ? order : (a->number > b->number) - (a->number < b->number);
}

/* What was taken before another one was written is before it, whatever their topics: so one that has seen the one first knows more. */
static void judge_causes(struct topics_play *play, struct topics_written *const *all, uint32_t count)
{
	uint64_t taken_ns = UINT64_MAX; /* of those behind, the first */

	for (uint32_t i = count; i-- > 0;) {
		if (taken_ns < all[i]->from_ns)
			topics_fail(play,
				    "order: a sample at %" PRIu64 ".%" PRIu64
				    " was written when one was taken that is behind it",
				    all[i]->view, all[i]->sequence);
		taken_ns = all[i]->taken_ns < taken_ns ? all[i]->taken_ns : taken_ns;
	}
}

/* No two samples have one place, but those of a set; and those of a writer are in the order in which it wrote them. */
static void judge_places(struct topics_play *play, enum channel channel)
{
	struct topics_written **all = NULL;
	uint32_t count = 0;

	for (uint32_t w = 0; w < play->writer_count; w++) {
		struct topics_writer *writer = play->writers[w];
		const struct topics_written *last = NULL;

		if (channel_of(writer->kind) != channel || writer->kind == TOPICS_LOOSE)
			continue;
		all = topics_must(realloc(all, (count + writer->count + 1) * sizeof(struct topics_written *)));
		for (uint32_t n = 0; n < writer->count; n++) {
			struct topics_written *it = &writer->written[n];

			if (!it->seen)
				continue;
			if (last != NULL && (topics_compare(last->view, last->sequence, it->view, it->sequence) > 0 ||
					     !topics_counts_right(writer, (uint32_t)(last - writer->written),
								  last->number, n, it->number)))
				topics_fail(play,
					    "order: sample %u of writer %u is before an earlier one, or the %" PRIu64
					    "th behind the %" PRIu64 "th",
					    n, writer->number, it->number, last->number);
			last = all[count++] = it;
		}
	}
	if (count > 0)
		qsort(all, count, sizeof(struct topics_written *), by_place);
	for (uint32_t i = 1; i < count; i++)
		if (topics_compare(all[i - 1]->view, all[i - 1]->sequence, all[i]->view, all[i]->sequence) == 0 &&
		    (all[i]->set == 0 || all[i]->set != all[i - 1]->set))
			topics_fail(play, "order: two samples are at %" PRIu64 ".%" PRIu64, all[i]->view,
				    all[i]->sequence);
	judge_causes(play, all, count);
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
		int order = topics_compare(entry->view, entry->sequence, it->view, it->sequence);

		before = before || order < 0;
		behind = behind || order > 0;
	}
	*inside = before && behind;
	return behind;
}

/* What was delivered, or acknowledged, is on disk; but that of a TRANSIENT_LOCAL writer goes with it. */
static bool must_have_logged(const struct topics_reader *reader, const struct topics_writer *writer,
			     const struct topics_written *it, bool behind)
{
	if ((!it->seen && !it->acknowledged) || (!behind && !reader->final))
		return false;
	return !writer->local || it->from_ns > reader->made_ns || was_there(writer, reader->made_ns);
}

static bool must_have(const struct topics_play *play, const struct topics_reader *reader,
		      const struct topics_writer *writer, const struct topics_written *it)
{
	bool inside = false, behind = it->seen && !reader->more && is_within(reader, it, &inside);
	bool sure = it->result == OK && (it->set == 0 || it->ended) && !topics_is_dead(writer->life->process) &&
		    !writer->life->failed;
	bool later = it->from_ns > reader->made_ns;

	if (!topics_fit(reader, writer) || topics_is_excused(play, reader, writer, it) ||
	    topics_is_hidden(play, reader, writer, it))
		return false;
	if (topics_is_logged(reader->kind))
		return must_have_logged(reader, writer, it, behind);
	if (!it->seen && !(sure && reader->kind != TOPICS_OWNED))
		return false;
	if (!behind && !(reader->final && play->whole))
		return false;
	if (!is_stored(reader->kind))
		return inside || later;
	/* Its history is kept as long as a member is in its channel: this one was made when all had left that. */
	if (it->seen && it->view < reader->channel_began)
		return false;
	return !writer->local || later || was_there(writer, reader->made_ns);
}

/* It may have lost what it has no room for: of the history, which is told in one, as what had to wait for its writer is; and if it took nothing for
 * longer than it is waited for. */
bool topics_may_lose(const struct topics_play *play, const struct topics_reader *reader)
{
	return reader->limited && (reader->kind == TOPICS_STORED || topics_is_logged(reader->kind) ||
				   reader->kind == TOPICS_LOOSE || reader->slowest_ns >= play->patience_ns);
}

/* Samples that nobody has, as their sets have no end: what goes with its writer is told as lost to those that it was for. */
static int32_t without_their_set(const struct topics_play *play, enum topics_kind kind)
{
	int32_t count = 0;

	for (uint32_t w = 0; w < play->writer_count; w++)
		for (uint32_t n = 0; n < play->writers[w]->count && play->writers[w]->kind == kind; n++)
			count += play->writers[w]->written[n].set != 0 && !play->writers[w]->written[n].seen &&
				 play->writers[w]->written[n].result != WHORL_DDS_RETCODE_TIMEOUT;
	return count;
}

static void judge_reader(struct topics_play *play, const struct topics_reader *reader)
{
	int32_t with_sets = without_their_set(play, reader->kind);

	for (uint32_t i = 0; i < reader->count; i++)
		if (reader->entries[i].valid)
			judge_entry(play, reader, &reader->entries[i]);
	judge_order(play, reader);
	if (reader->final && play->whole && reader->lost > with_sets && !topics_may_lose(play, reader))
		topics_fail(play, "lost: reader %u is told that it has lost %d", reader->number, (int)reader->lost);
}

static void mark_all(struct topics_play *play, const struct topics_reader *reader)
{
	for (uint32_t i = 0; i < reader->count; i++)
		if (reader->entries[i].valid)
			play->writers[reader->entries[i].sample.writer - 1]
				->written[reader->entries[i].sample.n]
				.seen_by = reader->number;
}

/* Nothing is missing, or no more than it is told; and nothing has come that was over before it was made. */
static void judge_cut(struct topics_play *play, struct topics_reader *reader)
{
	int32_t missing = 0, lost = reader->final ? reader->lost : INT32_MAX;

	for (uint32_t w = 0; w < play->writer_count; w++) {
		struct topics_writer *writer = play->writers[w];

		for (uint32_t n = 0; n < writer->count && writer->kind == reader->kind; n++) {
			struct topics_written *it = &writer->written[n];
			bool has = it->seen_by == reader->number;

			if (topics_has_data(it) && !has && must_have(play, reader, writer, it) &&
			    (++missing > lost || !topics_may_lose(play, reader)))
				topics_fail(play,
					    "gap: reader %u of topic %d has not sample %u of writer %u, at %" PRIu64
					    ".%" PRIu64,
					    reader->number, (int)reader->kind, n, writer->number, it->view,
					    it->sequence);
			if (has && writer->local && writer->life->phase < reader->life->phase)
				topics_fail(
					play,
					"gone: reader %u has sample %u of writer %u, which went with its writer at the end of all",
					reader->number, n, writer->number);
			if (has && !is_stored(reader->kind) && it->taken_ns < reader->from_ns)
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
		     topics_compare(last->view, last->sequence, entry->view, entry->sequence) != 0))
			topics_fail(play, "sets: reader %u has a part of set %u", reader->number, last->sample.set);
		if ((last == NULL || last->sample.set != entry->sample.set) && entry->sample.index != 0)
			topics_fail(play, "sets: reader %u has not the first of set %u", reader->number,
				    entry->sample.set);
		last = entry;
	}
	if (last != NULL && last->sample.index + 1 != last->sample.count)
		topics_fail(play, "sets: reader %u has a part of set %u", reader->number, last->sample.set);
}

/* ---- the end ------------------------------------------------------------------------------------------------------------------- */

bool topics_was_there_last(const struct topics_writer *writer)
{
	const struct topics_life *life = writer->life;

	return writer->made_ns != 0 && life->settled && !topics_is_dead(life->process) && !life->failed &&
	       (writer->going_ns == 0 || writer->going_ns >= life->play->settled_ns);
}

static void judge_matches(struct topics_play *play, const struct topics_reader *reader)
{
	bool away = reader->off_ns > 0 && reader->on_ns == 0;
	int32_t count = 0;

	for (uint32_t w = 0; w < play->writer_count; w++) {
		if (away || !topics_fit(reader, play->writers[w]))
			continue;
		if (play->writers[w]->unsure && !topics_is_dead(play->writers[w]->life->process))
			return;
		count += topics_was_there_last(play->writers[w]);
	}
	if (reader->matched != count)
		topics_fail(play, "matches: reader %u of topic %d has %d writers, and there are %d", reader->number,
			    (int)reader->kind, (int)reader->matched, (int)count);
}

/* Of one that is silent its instances have been taken; of one that was, and says at the end that it is alive, they may have been. */
static bool may_have_lost_all(const struct topics_writer *writer)
{
	return writer->lease_ns > 0;
}

/* It was told that it has lost some, but not which: so it may have been this one. */
static bool may_have_lost(const struct topics_play *play, const struct topics_reader *reader,
			  const struct topics_written *it)
{
	return it->seen_by != reader->number && reader->lost > 0 && topics_may_lose(play, reader);
}

/* Has the writer written the instance, since the reader is there, and not given it up? maybe: it may have. */
static bool has_written(const struct topics_play *play, const struct topics_reader *reader,
			const struct topics_writer *writer, int32_t key, bool maybe)
{
	bool has = false;

	for (uint32_t n = 0; n < writer->count; n++) {
		const struct topics_written *it = &writer->written[n];

		if (it->key != key || (it->result != OK && !maybe) || (!maybe && it->from_ns < reader->on_ns))
			continue;
		if (!maybe && reader->by_source && !it->seen_by_source)
			continue; /* what is older than the newest does not make it alive */
		if (!maybe && topics_has_data(it) && may_have_lost(play, reader, it))
			continue; /* nothing tells that it is alive again */
		if (it->change == TOPICS_UNREGISTER)
			has = maybe && it->result != OK;
		else
			has = has || maybe || topics_has_data(it);
	}
	return has;
}

/* Has some writer that was there last the instance? */
static bool has_writer(const struct topics_play *play, const struct topics_reader *reader, int32_t key, bool maybe)
{
	for (uint32_t w = 0; w < play->writer_count; w++) {
		const struct topics_writer *writer = play->writers[w];

		if (!topics_fit(reader, writer) || !topics_was_there_last(writer) ||
		    (!maybe && topics_is_unheard(reader, writer, key)) ||
		    (may_have_lost_all(writer) && !(maybe && writer->life->asserts)))
			continue;
		if (has_written(play, reader, writer, key, maybe))
			return true;
	}
	return false;
}

/* What came last may have been over before it was taken. */
static bool may_be_over(const struct topics_play *play, const struct topics_reader *reader, int32_t key)
{
	for (uint32_t w = 0; w < play->writer_count; w++) {
		const struct topics_writer *writer = play->writers[w];

		for (uint32_t n = 0; n < writer->count && topics_fit(reader, writer); n++)
			if (writer->lifespan_ns > 0 && writer->written[n].key == key)
				return true;
	}
	return false;
}

/* What it is told last of an instance: that it has no writers, if so it is. */
static void judge_ends(struct topics_play *play, const struct topics_reader *reader)
{
	const struct topics_entry *last[TOPICS_KEYS] = {NULL};
	bool away = reader->off_ns > 0 && reader->on_ns == 0;

	for (uint32_t i = 0; i < reader->count && reader->entries[i].taken_ns <= play->settled_ns; i++)
		last[(uint32_t)reader->entries[i].sample.key % TOPICS_KEYS] = &reader->entries[i];
	for (int32_t key = 0; key < TOPICS_KEYS; key++) {
		if (last[key] == NULL)
			continue;
		if (last[key]->state == WHORL_DDS_ALIVE_INSTANCE_STATE && (away || !has_writer(play, reader, key, true)))
			topics_fail(play, "ends: reader %u of topic %d: instance %d is alive, and nothing writes it",
				    reader->number, (int)reader->kind, (int)key);
		if (last[key]->state == WHORL_DDS_NOT_ALIVE_NO_WRITERS_INSTANCE_STATE && !away &&
		    !may_be_over(play, reader, key) && has_writer(play, reader, key, false))
			topics_fail(play, "ends: reader %u of topic %d: instance %d has no writers, and one writes it",
				    reader->number, (int)reader->kind, (int)key);
	}
}

/* In a group that goes on a program gets what it asks for, and one that leaves is not held up. */
static void judge_progress(struct topics_play *play)
{
	uint32_t readers = 0;

	for (uint32_t i = 0; i < play->reader_count; i++)
		readers += play->readers[i]->life->keeper && play->readers[i]->final;
	if (play->whole && readers < 3)
		topics_fail(play, "progress: the keeper has %u readers in the end", readers);
	for (uint32_t i = 0; play->whole && i < play->life_count; i++) {
		const struct topics_life *life = play->lives[i];

		if (!topics_is_dead(life->process) && !life->failed && life->leaving_ns > LEAVING_NS)
			topics_fail(play, "progress: program %u takes %" PRIu64 " ms to leave", life->id,
				    life->leaving_ns / WH_NS_PER_MS);
	}
}

void topics_judge(struct topics_play *play)
{
	judge_progress(play);
	for (uint32_t i = 0; i < play->reader_count; i++)
		judge_reader(play, play->readers[i]);
	for (int channel = 0; channel < CHANNELS; channel++)
		judge_places(play, (enum channel)channel);
	topics_complete_sets(play);
	for (uint32_t i = 0; i < play->reader_count && !topics_failed(play); i++) {
		struct topics_reader *reader = play->readers[i];

		mark_all(play, reader);
		if (reader->kind != TOPICS_LOOSE)
			judge_cut(play, reader);
		topics_judge_more(play, reader);
		topics_judge_times(play, reader);
		topics_judge_owners(play, reader);
		if (reader->kind == TOPICS_SETS)
			judge_sets(play, reader);
		if (!reader->final || !play->whole || reader->vague)
			continue;
		judge_matches(play, reader);
		judge_ends(play, reader);
		topics_judge_end_times(play, reader);
	}
	for (uint32_t i = 0; i < play->writer_count && !topics_failed(play); i++)
		topics_judge_writer(play, play->writers[i]);
}
