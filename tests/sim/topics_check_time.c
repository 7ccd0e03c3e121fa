/* topics_check_time.c - what must be true of lifespans, leases, deadlines, owners, and readers that were elsewhere for a while: see topics_play.h.
 *
 * What time decides is held against the clock of the world, by what is certain: a sample that was taken before something was written is before it in
 * the order; what runs out cannot have been said before it has run out, and is said soon after, when all is calm.
 */
#include <inttypes.h>

#include "tests/sim/topics_play.h"

#define OK WHORL_DDS_RETCODE_OK
#define SOON_NS (WH_NS_PER_S / 2) /* when all is calm what was written, or has run out, is known to all after that */

static const struct topics_written *written_of(const struct topics_play *play, const struct topics_entry *entry)
{
	return &play->writers[entry->sample.writer - 1]->written[entry->sample.n];
}

static int order_of(const struct topics_entry *entry, const struct topics_written *it)
{
	return topics_compare(entry->view, entry->sequence, it->view, it->sequence);
}

/* ---- what a reader need not have ----------------------------------------------------------------------------------------------- */

/* It was not over when something that is behind it was taken: then it was there, if a filter did not hold it back then. (For a process that was killed
 * all is over.) A long history is taken in several pieces, instance by instance. */
static bool was_over(const struct topics_play *play, const struct topics_reader *reader,
		     const struct topics_writer *writer, const struct topics_written *it)
{
	uint64_t end_ns = it->from_ns + writer->lifespan_ns, killed_ns = reader->life->killed_ns;
	uint64_t from_ns = topics_held_until(play, reader, it);

	if (killed_ns > 0 && killed_ns < end_ns)
		end_ns = killed_ns;
	for (uint32_t i = 0; i < reader->count; i++)
		if (it->seen && order_of(&reader->entries[i], it) > 0 && reader->entries[i].taken_ns >= from_ns &&
		    reader->entries[i].taken_ns < end_ns &&
		    (!topics_is_logged(reader->kind) || reader->entries[i].sample.key == it->key))
			return false;
	return true;
}

/* It is not before what the reader took before it went, nor behind what was written when it was back. */
static bool was_elsewhere(const struct topics_play *play, const struct topics_reader *reader,
			  const struct topics_written *it)
{
	if (reader->on_ns > 0 && it->from_ns > reader->on_ns)
		return false;
	for (uint32_t i = 0; i < reader->count && it->seen; i++) {
		const struct topics_entry *entry = &reader->entries[i];

		if (entry->valid && order_of(entry, it) > 0 && entry->taken_ns < reader->off_ns)
			return false;
		if (entry->valid && order_of(entry, it) < 0 && reader->on_ns > 0 &&
		    written_of(play, entry)->from_ns > reader->on_ns)
			return false;
	}
	return true;
}

bool topics_is_excused(const struct topics_play *play, const struct topics_reader *reader,
		       const struct topics_writer *writer, const struct topics_written *it)
{
	return reader->vague || (writer->lifespan_ns > 0 && was_over(play, reader, writer, it)) ||
	       (reader->off_ns > 0 && was_elsewhere(play, reader, it));
}

/* ---- what it must not have ----------------------------------------------------------------------------------------------------- */

static void judge_absent(struct topics_play *play, const struct topics_reader *reader, const struct topics_entry *entry)
{
	const struct topics_written *it = written_of(play, entry);

	if (reader->away_ns > 0 && !reader->vague && it->from_ns > reader->away_ns && it->to_ns > 0 &&
	    (reader->back_ns == 0 || it->to_ns + SOON_NS < reader->back_ns))
		topics_fail(play, "elsewhere: reader %u has sample %u of writer %u, which is of another partition",
			    reader->number, entry->sample.n, entry->sample.writer);
}

void topics_judge_times(struct topics_play *play, const struct topics_reader *reader)
{
	for (uint32_t i = 0; i < reader->count; i++) {
		const struct topics_entry *entry = &reader->entries[i];
		const struct topics_writer *writer;
		const struct topics_written *it;

		if (!entry->valid)
			continue;
		writer = play->writers[entry->sample.writer - 1];
		it = written_of(play, entry);
		if (writer->kind == TOPICS_TIMED
			    ? entry->source_ns != it->source_ns
			    : entry->source_ns < it->from_ns || (it->to_ns > 0 && entry->source_ns > it->to_ns))
			topics_fail(play, "time: sample %u of writer %u is not of the time when it was written",
				    entry->sample.n, entry->sample.writer);
		if (writer->lifespan_ns > 0 && entry->asked_ns >= entry->source_ns + writer->lifespan_ns)
			topics_fail(play, "lifespan: reader %u takes sample %u of writer %u when it is over",
				    reader->number, entry->sample.n, entry->sample.writer);
		if (reader->off_ns > 0)
			judge_absent(play, reader, entry);
	}
}

/* ---- owners -------------------------------------------------------------------------------------------------------------------- */

/* Its strength never was less from one sample to the other. */
static int32_t least_strength(const struct topics_written *from, const struct topics_written *to)
{
	int32_t least = from->strength;

	for (const struct topics_written *it = from + 1; it <= to; it++)
		least = it->low < least ? it->low : least;
	return least;
}

static void judge_interval(struct topics_play *play, const struct topics_reader *reader,
			   const struct topics_writer *owner, const struct topics_written *from,
			   const struct topics_written *to)
{
	int32_t strength = least_strength(from, to);

	for (uint32_t w = 0; w < play->writer_count; w++) {
		const struct topics_writer *writer = play->writers[w];

		for (uint32_t n = 0; n < writer->count && writer->kind == TOPICS_OWNED && writer != owner; n++) {
			const struct topics_written *it = &writer->written[n];

			if (it->seen_by == reader->number && it->key == from->key && it->strength < strength &&
			    it->low < strength &&
			    topics_compare(from->view, from->sequence, it->view, it->sequence) < 0 &&
			    topics_compare(it->view, it->sequence, to->view, to->sequence) < 0)
				topics_fail(play,
					    "owner: sample %u of writer %u comes to reader %u while writer %u owns its "
					    "instance",
					    n, writer->number, reader->number, owner->number);
		}
	}
}

/* A lease or deadline that began with the one sample had not run out when the other was taken: so nothing was said of it before. */
static bool was_in_time(const struct topics_writer *owner, const struct topics_written *from,
			const struct topics_written *to)
{
	uint64_t passed_ns = to->taken_ns - from->from_ns;

	return (owner->lease_ns == 0 || passed_ns < owner->lease_ns) &&
	       (owner->deadline_ns == 0 || passed_ns < owner->deadline_ns);
}

static void judge_owner(struct topics_play *play, const struct topics_reader *reader, const struct topics_writer *owner)
{
	const struct topics_written *last[TOPICS_KEYS] = {NULL};

	for (uint32_t n = 0; n < owner->count; n++) {
		const struct topics_written *it = &owner->written[n];

		if (it->change == TOPICS_UNREGISTER)
			last[it->key] = NULL;
		if (it->seen_by != reader->number)
			continue;
		if (last[it->key] != NULL && was_in_time(owner, last[it->key], it))
			judge_interval(play, reader, owner, last[it->key], it);
		last[it->key] = it;
	}
}

void topics_judge_owners(struct topics_play *play, const struct topics_reader *reader)
{
	for (uint32_t w = 0; reader->kind == TOPICS_OWNED && w < play->writer_count; w++)
		if (play->writers[w]->kind == TOPICS_OWNED)
			judge_owner(play, reader, play->writers[w]);
}

/* ---- when all is calm ---------------------------------------------------------------------------------------------------------- */

/* When something that the reader may get was last written of an instance; 0: never. */
static uint64_t last_written(const struct topics_play *play, const struct topics_reader *reader, int32_t key)
{
	uint64_t last_ns = 0;

	for (uint32_t w = 0; w < play->writer_count; w++) {
		const struct topics_writer *writer = play->writers[w];

		for (uint32_t n = 0; n < writer->count && topics_fit(reader, writer); n++) {
			const struct topics_written *it = &writer->written[n];
			uint64_t ns = it->to_ns > it->from_ns ? it->to_ns : it->from_ns;

			if (it->key == key && ns > last_ns)
				last_ns = ns;
		}
	}
	return last_ns;
}

/* Of each instance that is alive it was told as often as its deadline has passed since; and not more often than it can have. */
static void judge_deadlines(struct topics_play *play, const struct topics_reader *reader)
{
	uint64_t least = 0, most = TOPICS_KEYS * ((reader->noted_ns - reader->from_ns) / reader->deadline_ns + 1);

	for (int32_t key = 0; key < TOPICS_KEYS; key++) {
		const struct topics_entry *last = NULL;
		uint64_t since_ns = last_written(play, reader, key) + SOON_NS;

		for (uint32_t i = 0; i < reader->count && reader->entries[i].taken_ns <= reader->noted_ns; i++)
			if (reader->entries[i].sample.key == key)
				last = &reader->entries[i];
		if (last != NULL && last->state == WHORL_DDS_ALIVE_INSTANCE_STATE && since_ns < reader->noted_ns)
			least += (reader->noted_ns - since_ns) / reader->deadline_ns;
	}
	if (reader->missed < least || reader->missed > most)
		topics_fail(play,
			    "deadline: reader %u is told that it was missed %u times, expected %" PRIu64 " to %" PRIu64,
			    reader->number, reader->missed, least, most);
}

/* Silent are those that have not said for long that they are alive. */
static void judge_liveliness(struct topics_play *play, const struct topics_reader *reader)
{
	bool away = reader->off_ns > 0 && reader->on_ns == 0;
	uint32_t alive = 0, silent = 0;

	for (uint32_t w = 0; w < play->writer_count; w++) {
		const struct topics_writer *writer = play->writers[w];
		bool speaks = writer->lease_ns == 0 || writer->life->asserts;

		if (away || !topics_fit(reader, writer))
			continue;
		if (writer->unsure && !topics_is_dead(writer->life->process))
			return;
		alive += topics_was_there_last(writer) && speaks;
		silent += topics_was_there_last(writer) && !speaks;
	}
	if (reader->alive != alive || reader->silent != silent)
		topics_fail(play,
			    "liveliness: reader %u of topic %d has %u writers that are alive and %u that are not, and "
			    "there are %u and %u",
			    reader->number, (int)reader->kind, reader->alive, reader->silent, alive, silent);
}

void topics_judge_end_times(struct topics_play *play, const struct topics_reader *reader)
{
	if (reader->deadline_ns > 0 && reader->off_ns == 0)
		judge_deadlines(play, reader);
	judge_liveliness(play, reader);
}

/* How often it must have been told that a deadline was missed, of all that it has, since it wrote last. */
static uint64_t deadlines_missed(const struct topics_writer *writer)
{
	uint64_t count = 0;

	for (int32_t key = 0; key < TOPICS_KEYS; key++) {
		uint64_t since_ns = 0;

		for (uint32_t n = 0; n < writer->count; n++) {
			const struct topics_written *it = &writer->written[n];

			if (it->key == key)
				since_ns = it->change == TOPICS_WRITE && it->result == OK ? it->to_ns + SOON_NS : 0;
		}
		if (since_ns > 0 && since_ns < writer->noted_ns)
			count += (writer->noted_ns - since_ns) / writer->deadline_ns;
	}
	return count;
}

void topics_judge_writer(struct topics_play *play, const struct topics_writer *writer)
{
	bool sure = play->whole && writer->noted_ns > 0 && topics_was_there_last(writer);

	if (sure && writer->lease_ns == 0 && writer->lost > 0)
		topics_fail(play, "liveliness: writer %u is told that it was silent, and has no lease", writer->number);
	if (sure && writer->lease_ns > 0 && !writer->life->asserts && writer->lost == 0)
		topics_fail(play, "liveliness: writer %u is silent, and is not told", writer->number);
	if (sure && writer->deadline_ns > 0 && writer->missed < deadlines_missed(writer))
		topics_fail(play, "deadline: writer %u is told that it was missed %u times, expected %" PRIu64,
			    writer->number, writer->missed, deadlines_missed(writer));
}
