/* topics_ends.c - the readers and writers of a program: how they are made, changed and ended, and what they take and write, as it is noted.
 * See topics_play.h.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/topics_play.h"

#define OK WHORL_DDS_RETCODE_OK
#define TAKEN_MAX 256

WHORL_DDS_TYPE(sample_type, struct topics_sample, WHORL_DDS_KEY(struct topics_sample, key),
	       WHORL_DDS_FIELD(struct topics_sample, writer), WHORL_DDS_FIELD(struct topics_sample, n),
	       WHORL_DDS_FIELD(struct topics_sample, set), WHORL_DDS_FIELD(struct topics_sample, index),
	       WHORL_DDS_FIELD(struct topics_sample, count));

const struct whorl_dds_type *const topics_type = &sample_type;
const char *const topics_names[TOPICS_KINDS] = {"plain", "stored", "owned", "sets",   "loose",
						"timed", "one",    "other", "logged", "apart"};

/* ---- policies ------------------------------------------------------------------------------------------------------------------ */

static whorl_dds_qos *qos(const char *text)
{
	whorl_dds_qos *it = topics_must(whorl_dds_create_qos());

	if (whorl_dds_qos_parse(it, text) != OK) {
		fprintf(stderr, "%s: %s\n", text, whorl_dds_text());
		exit(2);
	}
	return it;
}

__attribute__((format(printf, 2, 3))) static void add(char text[512], const char *format, ...)
{
	size_t length = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + length, 512 - length, format, arguments);
	va_end(arguments);
}

whorl_dds_qos *topics_topic_qos(const struct topics_play *play, enum topics_kind kind)
{
	switch (kind) {
	case TOPICS_STORED:
		return qos(play->transient ? "consistency=stored durability=transient history=all reliability=reliable"
					   : "consistency=stored durability=transient_local history=all "
					     "reliability=reliable");
	case TOPICS_OWNED:
		return qos("consistency=atomic history=all reliability=reliable ownership=exclusive");
	case TOPICS_LOOSE:
		return qos("consistency=unordered history=all reliability=reliable");
	case TOPICS_LOGGED:
	case TOPICS_APART:
		return qos("consistency=logged durability=persistent history=all reliability=reliable");
	case TOPICS_TIMED:
		return qos("consistency=stored durability=transient history=all reliability=reliable "
			   "destination_order=source");
	default:
		return qos("consistency=atomic history=all reliability=reliable");
	}
}

bool topics_is_of_pair(enum topics_kind kind)
{
	return kind == TOPICS_ONE || kind == TOPICS_OTHER;
}

bool topics_is_logged(enum topics_kind kind)
{
	return kind == TOPICS_LOGGED || kind == TOPICS_APART;
}

whorl_dds_qos *topics_group_qos(enum topics_kind kind)
{
	if (kind == TOPICS_PLAIN)
		return qos("partition=here");
	if (topics_is_of_pair(kind))
		return qos("presentation=group presentation.coherent=on presentation.ordered=on");
	return qos(kind == TOPICS_SETS ? "presentation=topic presentation.coherent=on presentation.ordered=on" : "");
}

static uint64_t now(const struct topics_life *life)
{
	return topics_now(life->play->world);
}

/* ---- taking -------------------------------------------------------------------------------------------------------------------- */

static void note_entry(struct topics_reader *reader, const struct topics_sample *sample,
		       const struct whorl_dds_sample_info *info, uint64_t asked_ns)
{
	if (reader->count == reader->room) {
		reader->room = 2 * reader->room + 16;
		reader->entries = topics_must(realloc(reader->entries, reader->room * sizeof(*reader->entries)));
	}
	reader->entries[reader->count++] =
		(struct topics_entry){.view = info->view,
				      .sequence = info->sequence,
				      .number = info->number,
				      .asked_ns = asked_ns,
				      .taken_ns = now(reader->life),
				      .source_ns = (uint64_t)info->source_timestamp - TOPICS_REAL_NS,
				      .reception_ns = (uint64_t)info->reception_timestamp - TOPICS_REAL_NS,
				      .state = info->instance_state,
				      .valid = info->valid_data,
				      .sample = *sample};
}

/* What is lent stays as it is, whatever comes meanwhile. */
static void keep_awhile(const struct topics_reader *reader, void **data, int32_t count)
{
	const struct topics_entry *entries = &reader->entries[reader->count - (uint32_t)count];

	topics_sleep(reader->life->play->world, wh_dice_below(reader->dice, 20 * WH_NS_PER_MS));
	for (int32_t i = 0; i < count; i++)
		if (data[i] != NULL && memcmp(data[i], &entries[i].sample, sizeof(entries[i].sample)) != 0)
			topics_fail(reader->life->play, "loans: a sample that reader %u has taken is another one now",
				    reader->number);
}

static int32_t take_some(struct topics_reader *reader, void **data, struct whorl_dds_sample_info *infos)
{
	static const struct topics_sample none;
	uint64_t asked_ns = now(reader->life);
	int32_t got;

	data[0] = NULL;
	infos[0].size = sizeof(infos[0]);
	got = whorl_dds_take(reader->entity, data, infos, TAKEN_MAX);
	for (int32_t i = 0; i < got; i++) {
		const struct topics_sample *sample = data[i];

		note_entry(reader, sample != NULL ? sample : &none, &infos[i], asked_ns);
	}
	if (got > 0 && wh_dice_one_in(reader->dice, 16))
		keep_awhile(reader, data, got);
	if (got > 0)
		(void)whorl_dds_return_loan(reader->entity, data, got);
	return got;
}

/* All that there is. A thread takes at a time, so what is noted is in the order in which it was taken. */
void topics_take(struct topics_reader *reader)
{
	struct whorl_dds_sample_info *infos;
	void **data;
	int32_t got;

	if (reader->in_place)
		return;
	infos = topics_must(calloc(TAKEN_MAX, sizeof(*infos)));
	data = topics_must(calloc(TAKEN_MAX, sizeof(*data)));
	while (reader->taking)
		topics_sleep(reader->life->play->world, WH_NS_PER_MS);
	reader->taking = true;
	do {
		got = take_some(reader, data, infos);
		reader->more = got == TAKEN_MAX || (got < 0 && reader->more);
	} while (got == TAKEN_MAX);
	if (now(reader->life) - reader->last_ns > reader->slowest_ns)
		reader->slowest_ns = now(reader->life) - reader->last_ns;
	reader->last_ns = now(reader->life);
	reader->taking = false;
	free(infos);
	free(data);
}

static void on_data(whorl_dds_entity entity, void *arg)
{
	struct topics_reader *reader = arg;

	if (reader->entity == 0)
		reader->entity = entity;
	if (reader->limited && wh_dice_one_in(reader->dice, 2))
		topics_sleep(reader->life->play->world, wh_dice_below(reader->dice, 80 * WH_NS_PER_MS));
	topics_take(reader);
}

/* On the loop: nothing waits. What it writes it may be told of in turn. */
static void on_sample(whorl_dds_entity entity, const void *data, const struct whorl_dds_sample_info *info, void *arg)
{
	struct topics_reader *reader = arg;
	struct topics_writer *echo = reader->life->writers[TOPICS_SLOT_ECHO];

	if (reader->entity == 0)
		reader->entity = entity;
	if (reader->ended || entity != reader->entity)
		topics_fail(reader->life->play, "in place: reader %u is told of a sample %s", reader->number,
			    reader->ended ? "when it is deleted" : "of another one");
	note_entry(reader, data, info, now(reader->life));
	if (reader->life->play->calm || echo == NULL || echo->echoes == 0 || !wh_dice_one_in(reader->dice, 4))
		return;
	echo->echoes--;
	if (topics_write_one(echo, TOPICS_WRITE, 0, 0, 0) == WHORL_DDS_RETCODE_ILLEGAL_OPERATION)
		topics_fail(reader->life->play, "in place: a listener may not write");
}

static bool has_lifespans(const struct topics_play *play, enum topics_kind kind)
{
	for (uint32_t i = 0; i < play->writer_count; i++)
		if (play->writers[i]->kind == kind && play->writers[i]->lifespan_ns > 0)
			return true;
	return false;
}

void topics_await_data(struct topics_reader *reader)
{
	struct topics_life *life = reader->life;
	whorl_dds_entity set = whorl_dds_create_waitset(life->participant);
	whorl_dds_entity condition = whorl_dds_create_readcondition(reader->entity, WHORL_DDS_ANY_STATE);
	uint32_t count = reader->count;
	intptr_t cookie = 0;
	whorl_dds_return got;

	if (set > 0 && condition > 0 && whorl_dds_waitset_attach(set, condition, 77) == OK) {
		got = whorl_dds_waitset_wait(set, &cookie, 1, (int64_t)wh_dice_below(&life->dice, 50 * WH_NS_PER_MS));
		topics_take(reader);
		/* Nothing comes between, as others go on where a thread waits; but what there was may be over. */
		if (!topics_is_dead(life->process) && got >= 0 &&
		    (got == 0 ? reader->count > count
			      : cookie != 77 || (reader->count == count && !has_lifespans(life->play, reader->kind))))
			topics_fail(life->play, "waits: reader %u has %u samples, and its condition says %d",
				    reader->number, reader->count - count, (int)got);
	}
	if (condition > 0)
		(void)whorl_dds_delete(condition);
	if (set > 0)
		(void)whorl_dds_delete(set);
}

/* ---- readers ------------------------------------------------------------------------------------------------------------------- */

static void draw_reader(struct topics_reader *reader)
{
	struct topics_life *life = reader->life;
	struct topics_play *play = life->play;
	enum topics_kind kind = reader->kind;

	reader->local = !play->transient || wh_dice_one_in(&life->dice, 2);
	reader->listens = wh_dice_one_in(&life->dice, 3);
	if (life->keeper) /* in some runs: it is the one that gives its state, and then has refused something now and then */
		reader->limited = kind != TOPICS_SETS && play->seed % 3 == 1;
	else
		reader->limited = kind != TOPICS_SETS && wh_dice_one_in(&life->dice, 4);
	if (play->last) { /* it has all, and always room */
		reader->local = true;
		reader->limited = false;
	}
	reader->listens = reader->listens || reader->limited; /* or it would hold up what its own program waits for */
	if (kind == TOPICS_PLAIN && wh_dice_one_in(&life->dice, 4))
		reader->deadline_ns = 150 * WH_NS_PER_MS;
}

static struct topics_reader *add_reader(struct topics_life *life, uint32_t slot, enum topics_kind kind)
{
	struct topics_play *play = life->play;
	struct topics_reader *reader = topics_must(calloc(1, sizeof(*reader)));

	reader->number = play->reader_count + 1;
	reader->kind = kind;
	reader->life = life;
	reader->stay = life->stay;
	reader->dice = slot < TOPICS_SLOT_MORE ? &life->dice : &life->more;
	if (slot < TOPICS_SLOT_MORE)
		draw_reader(reader);
	else
		topics_draw_more_reader(reader);
	play->readers = topics_must(realloc(play->readers, (play->reader_count + 1) * sizeof(*play->readers)));
	play->readers[play->reader_count++] = reader;
	return reader;
}

/* Room for as many ends of instances as may come in one; or for a set. */
static whorl_dds_qos *reader_qos(const struct topics_reader *reader)
{
	char text[512] = "reliability=reliable history=all";

	if (reader->kind == TOPICS_STORED)
		add(text, " durability=%s", reader->local ? "transient_local" : "transient");
	if (topics_is_logged(reader->kind))
		add(text, " durability=%s", reader->local ? "transient_local" : "persistent");
	if (reader->limited)
		add(text, " resource_limits.samples=%d",
		    topics_is_of_pair(reader->kind) ? 2 * TOPICS_KEYS : TOPICS_KEYS);
	if (reader->deadline_ns > 0)
		add(text, " deadline=%lluns", (unsigned long long)reader->deadline_ns);
	if (reader->kind == TOPICS_TIMED)
		add(text, " durability=transient destination_order=%s", reader->by_source ? "source" : "reception");
	if (reader->gap_ns > 0)
		add(text, " time_based_filter=%lluns", (unsigned long long)reader->gap_ns);
	return qos(text);
}

static whorl_dds_listener *make_listener(struct topics_reader *reader)
{
	whorl_dds_listener *listener =
		reader->listens || reader->in_place ? topics_must(whorl_dds_create_listener(reader)) : NULL;

	if (reader->listens)
		whorl_dds_lset_data_available(listener, on_data);
	if (reader->in_place)
		whorl_dds_lset_in_place(listener, on_sample);
	return listener;
}

bool topics_make_reader_of(struct topics_life *life, uint32_t slot, enum topics_kind kind, whorl_dds_entity subscriber)
{
	struct topics_reader *reader = add_reader(life, slot, kind);
	whorl_dds_listener *listener = make_listener(reader);
	whorl_dds_qos *of_reader = reader_qos(reader);
	whorl_dds_entity entity;

	reader->from_ns = reader->last_ns = now(life);
	entity = subscriber > 0 ? whorl_dds_create_reader(subscriber, life->topics[kind], of_reader, listener)
				: subscriber;
	topics_tell(life, "reader %u of %s: %d%s%s%s%s%s%s%s %s", reader->number, topics_names[kind], (int)entity,
		    reader->listens ? " listens" : "", reader->limited ? " limited" : "",
		    reader->deadline_ns > 0 ? " deadline" : "", kind == TOPICS_STORED && reader->local ? " local" : "",
		    reader->in_place ? " in place" : "", reader->by_source ? " by source" : "",
		    reader->gap_ns > 0 ? " filters" : "", entity < 0 ? whorl_dds_text() : "");
	if (entity > 0) {
		reader->entity = entity;
		reader->made_ns = now(life);
		reader->channel_began = topics_birth(life->process, "dds.s.stored");
		life->readers[slot] = reader;
	}
	whorl_dds_delete_listener(listener);
	whorl_dds_delete_qos(of_reader);
	return entity > 0;
}

void topics_make_reader(struct topics_life *life, uint32_t slot, enum topics_kind kind)
{
	whorl_dds_qos *of_group = topics_group_qos(kind);
	whorl_dds_entity subscriber = whorl_dds_create_subscriber(life->participant, of_group, NULL);

	if (!topics_make_reader_of(life, slot, kind, subscriber) && subscriber > 0)
		(void)whorl_dds_delete(subscriber);
	whorl_dds_delete_qos(of_group);
}

void topics_move_reader(struct topics_reader *reader)
{
	bool away = reader->off_ns == 0;
	whorl_dds_qos *other = qos(away ? "partition=there" : "partition=here");
	whorl_dds_return result;

	if (reader->on_ns > 0 || reader->vague) {
		whorl_dds_delete_qos(other);
		return;
	}
	*(away ? &reader->off_ns : &reader->back_ns) = now(reader->life);
	result = whorl_dds_set_qos(whorl_dds_get_parent(reader->entity), other);
	*(away ? &reader->away_ns : &reader->on_ns) = now(reader->life);
	reader->vague = result != OK;
	topics_tell(reader->life, "reader %u is %s: %d", reader->number, away ? "elsewhere" : "back", (int)result);
	whorl_dds_delete_qos(other);
}

void topics_end_reader(struct topics_life *life, uint32_t slot)
{
	struct topics_reader *reader = life->readers[slot];

	topics_take(reader);
	reader->gone_ns = now(life);
	life->readers[slot] = NULL;
	topics_tell(life, "reader %u ends: %d", reader->number,
		    (int)whorl_dds_delete(whorl_dds_get_parent(reader->entity)));
	reader->ended = true;
}

/* ---- writers ------------------------------------------------------------------------------------------------------------------- */

static void draw_times(struct topics_writer *writer)
{
	struct topics_life *life = writer->life;
	struct wh_dice *dice = writer->dice;
	bool plain = writer->kind == TOPICS_PLAIN, owned = writer->kind == TOPICS_OWNED;

	if ((plain || writer->kind == TOPICS_STORED || topics_is_logged(writer->kind)) && wh_dice_one_in(dice, 4))
		writer->lifespan_ns = wh_dice_between(dice, 5 * WH_NS_PER_MS, 200 * WH_NS_PER_MS);
	if ((plain || owned || writer->kind == TOPICS_LOOSE) && wh_dice_one_in(dice, 4)) {
		writer->liveliness = wh_dice_one_in(dice, 2) ? WHORL_DDS_LIVELINESS_MANUAL_BY_PARTICIPANT
							     : WHORL_DDS_LIVELINESS_MANUAL_BY_TOPIC;
		writer->lease_ns = life->asserts || wh_dice_one_in(dice, 2) ? 300 * WH_NS_PER_MS : 20 * WH_NS_PER_MS;
	}
	if ((plain || owned) && wh_dice_one_in(dice, 3))
		writer->deadline_ns = (wh_dice_one_in(dice, 2) ? 20 : 150) * WH_NS_PER_MS;
}

static struct topics_writer *add_writer(struct topics_life *life, uint32_t slot, enum topics_kind kind)
{
	struct topics_play *play = life->play;
	struct topics_writer *writer = topics_must(calloc(1, sizeof(*writer)));

	writer->number = play->writer_count + 1;
	writer->kind = kind;
	writer->life = life;
	writer->dice = slot < TOPICS_SLOT_MORE ? &life->dice : &life->more;
	writer->strength = writer->low = (int32_t)wh_dice_below(writer->dice, 4);
	writer->local = (!play->transient || wh_dice_one_in(writer->dice, 3)) && kind != TOPICS_TIMED;
	writer->echoes = slot == TOPICS_SLOT_ECHO ? 20 : 0;
	draw_times(writer);
	play->writers = topics_must(realloc(play->writers, (play->writer_count + 1) * sizeof(*play->writers)));
	play->writers[play->writer_count++] = writer;
	return writer;
}

static whorl_dds_qos *writer_qos(const struct topics_writer *writer)
{
	static const char *const kinds[] = {"automatic", "manual_by_participant", "manual_by_topic"};
	char text[512] = "reliability=reliable history=all";

	add(text, " reliability.max_blocking=%dms", wh_dice_one_in(writer->dice, 4) ? 1 : 200);
	if (writer->kind == TOPICS_STORED)
		add(text, " writer_data_lifecycle=off durability=%s", writer->local ? "transient_local" : "transient");
	if (topics_is_logged(writer->kind))
		add(text, " writer_data_lifecycle=off durability=%s", writer->local ? "transient_local" : "persistent");
	if (writer->kind == TOPICS_OWNED)
		add(text, " ownership_strength=%d", (int)writer->strength);
	if (writer->kind == TOPICS_TIMED)
		add(text, " writer_data_lifecycle=off durability=transient destination_order=source");
	if (writer->lease_ns > 0)
		add(text, " liveliness=%s liveliness.lease=%lluns", kinds[writer->liveliness],
		    (unsigned long long)writer->lease_ns);
	if (writer->lifespan_ns > 0)
		add(text, " lifespan=%lluns", (unsigned long long)writer->lifespan_ns);
	if (writer->deadline_ns > 0)
		add(text, " deadline=%lluns", (unsigned long long)writer->deadline_ns);
	return qos(text);
}

bool topics_make_writer_of(struct topics_life *life, uint32_t slot, enum topics_kind kind, whorl_dds_entity publisher)
{
	struct topics_writer *writer = add_writer(life, slot, kind);
	whorl_dds_qos *of_writer = writer_qos(writer);
	whorl_dds_entity entity;
	char text[512] = "";

	writer->publisher = publisher;
	writer->unsure = true;
	entity = writer->publisher > 0 ? whorl_dds_create_writer(writer->publisher, life->topics[kind], of_writer, NULL)
				       : writer->publisher;
	(void)whorl_dds_qos_text(of_writer, text, sizeof(text));
	topics_tell(life, "writer %u of %s: %d %s %s", writer->number, topics_names[kind], (int)entity, text,
		    entity < 0 ? whorl_dds_text() : "");
	if (entity > 0) {
		writer->unsure = false;
		writer->entity = entity;
		writer->made_ns = now(life);
		life->writers[slot] = writer;
	}
	whorl_dds_delete_qos(of_writer);
	return entity > 0;
}

void topics_make_writer(struct topics_life *life, uint32_t slot, enum topics_kind kind)
{
	whorl_dds_qos *of_group = topics_group_qos(kind);
	whorl_dds_entity publisher = whorl_dds_create_publisher(life->participant, of_group, NULL);

	if (!topics_make_writer_of(life, slot, kind, publisher) && publisher > 0)
		(void)whorl_dds_delete(publisher);
	whorl_dds_delete_qos(of_group);
}

/* It holds for what is written behind it: both go the same way. */
void topics_change_strength(struct topics_writer *writer)
{
	int32_t strength = (int32_t)wh_dice_below(writer->dice, 4);
	whorl_dds_return result;
	char text[512] = "";
	whorl_dds_qos *other;

	add(text, "ownership_strength=%d", (int)strength);
	other = qos(text);
	result = whorl_dds_set_qos(writer->entity, other);
	topics_tell(writer->life, "writer %u has strength %d: %d", writer->number, (int)strength, (int)result);
	writer->strength = strength;
	writer->low = strength < writer->low ? strength : writer->low;
	if (result != OK) /* which of the two it has is not known any more, and it writes nothing */
		writer->life->failed = true;
	whorl_dds_delete_qos(other);
}

void topics_assert(const struct topics_life *life)
{
	if (!life->asserts)
		return;
	(void)whorl_dds_assert_liveliness(life->participant);
	for (int i = 0; i < TOPICS_SLOTS; i++)
		if (life->writers[i] != NULL && life->writers[i]->liveliness == WHORL_DDS_LIVELINESS_MANUAL_BY_TOPIC)
			(void)whorl_dds_assert_liveliness(life->writers[i]->entity);
}

void topics_end_writer(struct topics_life *life, uint32_t slot)
{
	struct topics_writer *writer = life->writers[slot];

	if (topics_is_of_pair(writer->kind)) {
		topics_end_pair_writers(life);
		return;
	}
	writer->going_ns = now(life);
	life->writers[slot] = NULL;
	topics_tell(life, "writer %u ends: %d", writer->number, (int)whorl_dds_delete(writer->publisher));
	writer->gone_ns = now(life);
}

/* ---- writing ------------------------------------------------------------------------------------------------------------------- */

static struct topics_written *note_writing(struct topics_writer *writer, enum topics_change change, int32_t key)
{
	if (writer->count == writer->room) {
		writer->room = 2 * writer->room + 16;
		writer->written = topics_must(realloc(writer->written, writer->room * sizeof(*writer->written)));
	}
	writer->written[writer->count] = (struct topics_written){.change = change,
								 .key = key,
								 .from_ns = now(writer->life),
								 .result = 1,
								 .strength = writer->strength,
								 .low = writer->low};
	writer->low = writer->strength;
	return &writer->written[writer->count++];
}

/* In memory of the writer's own, which may be given back instead: then nothing is written. */
static whorl_dds_return write_loan(struct topics_writer *writer, const struct topics_sample *sample)
{
	void *data = NULL;
	whorl_dds_return result = whorl_dds_request_loan(writer->entity, sizeof(*sample), &data);

	if (result != OK)
		return result;
	if (wh_dice_one_in(writer->dice, 2))
		topics_sleep(writer->life->play->world, wh_dice_below(writer->dice, 3 * WH_NS_PER_MS));
	if (wh_dice_one_in(writer->dice, 4)) {
		(void)whorl_dds_return_loan(writer->entity, &data, 1);
		return WHORL_DDS_RETCODE_TIMEOUT;
	}
	memcpy(data, sample, sizeof(*sample));
	return whorl_dds_write(writer->entity, data);
}

/* With a time that is about now: of several writers the one is often ahead of the other, and now and then they are equal. */
static whorl_dds_return write_timed(struct topics_writer *writer, const struct topics_sample *sample)
{
	uint64_t tick_ns = 10 * WH_NS_PER_MS, ticks = now(writer->life) / tick_ns + wh_dice_below(writer->dice, 20);

	writer->written[sample->n].source_ns = ticks * tick_ns;
	return whorl_dds_write_ts(writer->entity, sample, (whorl_dds_time)(TOPICS_REAL_NS + ticks * tick_ns));
}

static whorl_dds_return say(struct topics_writer *writer, enum topics_change change, const struct topics_sample *sample)
{
	if (writer->kind == TOPICS_TIMED)
		return write_timed(writer, sample);
	switch (change) {
	case TOPICS_DISPOSE:
		return whorl_dds_dispose(writer->entity, sample);
	case TOPICS_WRITE_DISPOSE:
		return whorl_dds_writedispose(writer->entity, sample);
	case TOPICS_UNREGISTER:
		return whorl_dds_unregister_instance(writer->entity, sample);
	default:
		if (writer == writer->life->writers[TOPICS_SLOT_ECHO]) /* on the loop, where a loan is not kept awhile */
			return whorl_dds_write(writer->entity, sample);
		return wh_dice_one_in(writer->dice, 6) ? write_loan(writer, sample)
						       : whorl_dds_write(writer->entity, sample);
	}
}

whorl_dds_return topics_write_one(struct topics_writer *writer, enum topics_change change, uint32_t set, uint32_t index,
				  uint32_t count)
{
	struct topics_sample sample = {.key = (int32_t)wh_dice_below(writer->dice, TOPICS_KEYS),
				       .writer = writer->number,
				       .n = writer->count,
				       .set = set,
				       .index = index,
				       .count = count};
	whorl_dds_return result;

	note_writing(writer, change, sample.key)->set = set;
	result = say(writer, change, &sample);
	writer->written[sample.n].result = result;
	writer->written[sample.n].to_ns = now(writer->life);
	return result;
}

/* The end of an instance that comes with data would be over with the data. */
static enum topics_change draw_change(const struct topics_writer *writer)
{
	struct wh_dice *dice = writer->dice;
	enum topics_change change;

	if (writer->kind == TOPICS_STORED || writer->kind == TOPICS_SETS || writer->kind == TOPICS_TIMED ||
	    topics_is_logged(writer->kind) || !wh_dice_one_in(dice, 4))
		return TOPICS_WRITE;
	change = writer->kind == TOPICS_OWNED ? TOPICS_UNREGISTER : (enum topics_change)wh_dice_between(dice, 1, 3);
	return change == TOPICS_WRITE_DISPOSE && writer->lifespan_ns > 0 ? TOPICS_DISPOSE : change;
}

static void write_set(struct topics_writer *writer)
{
	struct topics_life *life = writer->life;
	uint32_t set = ++life->play->sets, from = writer->count;
	uint32_t count = (uint32_t)wh_dice_between(&life->dice, 1, 5);
	whorl_dds_return result = whorl_dds_begin_coherent(writer->publisher);

	for (uint32_t i = 0; i < count && result == OK; i++) {
		do
			result = topics_write_one(writer, TOPICS_WRITE, set, i, count);
		while (result == WHORL_DDS_RETCODE_TIMEOUT && !topics_is_dead(life->process) && !life->failed);
		if (wh_dice_one_in(&life->dice, 4))
			topics_sleep(life->play->world, wh_dice_below(&life->dice, 20 * WH_NS_PER_MS));
	}
	if (wh_dice_one_in(&life->dice, 8) || result != OK)
		return; /* it is left open: then the writer ends, and the next set is another's */
	do
		result = whorl_dds_end_coherent(writer->publisher);
	while (result == WHORL_DDS_RETCODE_TIMEOUT && !topics_is_dead(life->process));
	for (uint32_t i = from; i < writer->count && result == OK; i++)
		writer->written[i].ended = true;
}

void topics_write(struct topics_life *life, uint32_t slot)
{
	struct topics_writer *writer = life->writers[slot];
	uint32_t count = (uint32_t)wh_dice_between(writer->dice, 1, 12);
	uint32_t sets = life->play->sets;

	if (writer->kind == TOPICS_SETS) {
		write_set(writer);
		if (sets != life->play->sets && (writer->count == 0 || !writer->written[writer->count - 1].ended))
			topics_end_writer(life, slot);
		return;
	}
	for (uint32_t i = 0; i < count && !topics_is_dead(life->process) && !life->failed; i++) {
		whorl_dds_return result = topics_write_one(writer, draw_change(writer), 0, 0, 0);

		life->failed = life->failed || result == WHORL_DDS_RETCODE_ERROR;
	}
}

/* ---- statuses ------------------------------------------------------------------------------------------------------------------ */

static void note_reader(struct topics_reader *reader)
{
	struct whorl_dds_matched_status matched;
	struct whorl_dds_sample_lost_status lost;
	struct whorl_dds_liveliness_changed_status alive;
	struct whorl_dds_deadline_missed_status missed;

	if (whorl_dds_read_status(reader->entity, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS, &matched, sizeof(matched)) ==
	    OK)
		reader->matched = (int32_t)matched.current_count;
	if (whorl_dds_read_status(reader->entity, WHORL_DDS_SAMPLE_LOST_STATUS, &lost, sizeof(lost)) == OK)
		reader->lost = (int32_t)lost.total_count;
	if (whorl_dds_read_status(reader->entity, WHORL_DDS_LIVELINESS_CHANGED_STATUS, &alive, sizeof(alive)) == OK) {
		reader->alive = alive.alive_count;
		reader->silent = alive.not_alive_count;
	}
	if (whorl_dds_read_status(reader->entity, WHORL_DDS_REQUESTED_DEADLINE_MISSED_STATUS, &missed,
				  sizeof(missed)) == OK)
		reader->missed = missed.total_count;
	reader->noted_ns = now(reader->life);
}

static void note_writer(struct topics_writer *writer)
{
	struct whorl_dds_liveliness_lost_status lost;
	struct whorl_dds_deadline_missed_status missed;

	if (whorl_dds_read_status(writer->entity, WHORL_DDS_LIVELINESS_LOST_STATUS, &lost, sizeof(lost)) != OK ||
	    whorl_dds_read_status(writer->entity, WHORL_DDS_OFFERED_DEADLINE_MISSED_STATUS, &missed, sizeof(missed)) !=
		    OK)
		return;
	writer->lost = lost.total_count;
	writer->missed = missed.total_count;
	writer->noted_ns = now(writer->life);
}

void topics_note_statuses(struct topics_life *life)
{
	for (int i = 0; i < TOPICS_SLOTS; i++) {
		if (life->readers[i] != NULL)
			note_reader(life->readers[i]);
		if (life->writers[i] != NULL)
			note_writer(life->writers[i]);
	}
}
