/* topics_play.c - see topics_play.h. */
#include "tests/sim/topics_play.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK WHORL_DDS_RETCODE_OK
#define TAKEN_MAX 256
#define IDS 7
#define LIVES_MAX 12
#define CALM_NS (2 * WH_NS_PER_S) /* behind the last fault */

WHORL_DDS_TYPE(sample_type, struct topics_sample, WHORL_DDS_KEY(struct topics_sample, key),
	       WHORL_DDS_FIELD(struct topics_sample, writer), WHORL_DDS_FIELD(struct topics_sample, n),
	       WHORL_DDS_FIELD(struct topics_sample, set), WHORL_DDS_FIELD(struct topics_sample, index),
	       WHORL_DDS_FIELD(struct topics_sample, count));

static const char *const names[TOPICS_KINDS] = {"plain", "stored", "owned", "sets"};

void topics_fail(struct topics_play *play, const char *format, ...)
{
	va_list arguments;

	if (topics_failed(play))
		return;
	va_start(arguments, format);
	vsnprintf(play->verdict, play->verdict_bytes, format, arguments);
	va_end(arguments);
}

bool topics_failed(const struct topics_play *play)
{
	return play->verdict[0] != '\0';
}

static void *must(void *memory)
{
	if (memory != NULL)
		return memory;
	fprintf(stderr, "no memory for a run\n");
	exit(2);
}

static void tell(const struct topics_life *life, const char *format, ...)
{
	va_list arguments;

	if (!life->play->verbose)
		return;
	va_start(arguments, format);
	printf("%12.6f program %u: ", (double)topics_now(life->play->world) / 1e9, (unsigned)life->id);
	vprintf(format, arguments);
	printf("\n");
	va_end(arguments);
}

/* ---- policies ------------------------------------------------------------------------------------------------------------------ */

static whorl_dds_qos *qos(const char *text)
{
	whorl_dds_qos *it = must(whorl_dds_create_qos());

	if (whorl_dds_qos_parse(it, text) != OK) {
		fprintf(stderr, "%s: %s\n", text, whorl_dds_text());
		exit(2);
	}
	return it;
}

static whorl_dds_qos *topic_qos(const struct topics_play *play, enum topics_kind kind)
{
	switch (kind) {
	case TOPICS_STORED:
		return qos(play->transient ? "consistency=stored durability=transient history=all reliability=reliable"
					   : "consistency=stored durability=transient_local history=all "
					     "reliability=reliable");
	case TOPICS_OWNED:
		return qos("consistency=atomic history=all reliability=reliable ownership=exclusive");
	default:
		return qos("consistency=atomic history=all reliability=reliable");
	}
}

static whorl_dds_qos *group_qos(enum topics_kind kind)
{
	return qos(kind == TOPICS_SETS ? "presentation=topic presentation.coherent=on presentation.ordered=on" : "");
}

/* ---- taking -------------------------------------------------------------------------------------------------------------------- */

static void note_entry(struct topics_reader *reader, const struct topics_sample *sample,
		       const struct whorl_dds_sample_info *info)
{
	if (reader->count == reader->room) {
		reader->room = 2 * reader->room + 16;
		reader->entries = must(realloc(reader->entries, reader->room * sizeof(*reader->entries)));
	}
	reader->entries[reader->count++] = (struct topics_entry){.view = info->view,
								 .sequence = info->sequence,
								 .number = info->number,
								 .taken_ns = topics_now(reader->life->play->world),
								 .publication = info->publication_handle,
								 .node = info->writer,
								 .state = info->instance_state,
								 .valid = info->valid_data,
								 .sample = *sample};
}

/* All that there is. A thread takes at a time, so what is noted is in the order in which it was taken. */
static void take_all(struct topics_reader *reader)
{
	struct whorl_dds_sample_info *infos = must(calloc(TAKEN_MAX, sizeof(*infos)));
	void **data = must(calloc(TAKEN_MAX, sizeof(*data)));
	int32_t got;

	while (reader->taking)
		topics_sleep(reader->life->play->world, WH_NS_PER_MS);
	reader->taking = true;
	do {
		data[0] = NULL;
		infos[0].size = sizeof(infos[0]);
		got = whorl_dds_take(reader->entity, data, infos, TAKEN_MAX);
		for (int32_t i = 0; i < got; i++) {
			const struct topics_sample *sample = data[i];
			static const struct topics_sample none;

			note_entry(reader, sample != NULL ? sample : &none, &infos[i]);
		}
		if (got > 0)
			(void)whorl_dds_return_loan(reader->entity, data, got);
	} while (got == TAKEN_MAX);
	reader->taking = false;
	free(infos);
	free(data);
}

static void on_data(whorl_dds_entity entity, void *arg)
{
	struct topics_reader *reader = arg;

	if (reader->entity == 0)
		reader->entity = entity;
	if (reader->limited && wh_dice_one_in(&reader->life->dice, 2))
		topics_sleep(reader->life->play->world, wh_dice_below(&reader->life->dice, 80 * WH_NS_PER_MS));
	take_all(reader);
}

/* ---- readers ------------------------------------------------------------------------------------------------------------------- */

static struct topics_reader *add_reader(struct topics_life *life, enum topics_kind kind)
{
	struct topics_play *play = life->play;
	struct topics_reader *reader = must(calloc(1, sizeof(*reader)));

	reader->number = play->reader_count + 1;
	reader->kind = kind;
	reader->life = life;
	reader->local = !play->transient || wh_dice_one_in(&life->dice, 2);
	reader->listens = wh_dice_one_in(&life->dice, 3);
	reader->limited = !life->keeper && kind != TOPICS_SETS && wh_dice_one_in(&life->dice, 4);
	reader->listens = reader->listens || reader->limited; /* or it would hold up what its own program waits for */
	play->readers = must(realloc(play->readers, (play->reader_count + 1) * sizeof(*play->readers)));
	play->readers[play->reader_count++] = reader;
	return reader;
}

static whorl_dds_qos *reader_qos(const struct topics_reader *reader)
{
	char text[256];

	snprintf(text, sizeof(text), "reliability=reliable history=all%s%s",
		 reader->kind != TOPICS_STORED ? ""
		 : reader->local               ? " durability=transient_local"
					       : " durability=transient",
		 reader->limited ? " resource_limits.samples=4" : "");
	return qos(text);
}

static void make_reader(struct topics_life *life, uint32_t slot, enum topics_kind kind)
{
	struct topics_reader *reader = add_reader(life, kind);
	whorl_dds_listener *listener = reader->listens ? must(whorl_dds_create_listener(reader)) : NULL;
	whorl_dds_qos *of_group = group_qos(kind), *of_reader = reader_qos(reader);
	whorl_dds_entity subscriber = whorl_dds_create_subscriber(life->participant, of_group, NULL), entity;

	if (listener != NULL)
		whorl_dds_lset_data_available(listener, on_data);
	reader->from_ns = topics_now(life->play->world);
	entity = subscriber > 0 ? whorl_dds_create_reader(subscriber, life->topics[kind], of_reader, listener)
				: subscriber;
	tell(life, "reader %u of %s: %d%s%s %s", reader->number, names[kind], (int)entity,
	     reader->listens ? " listens" : "", reader->limited ? " limited" : "", entity < 0 ? whorl_dds_text() : "");
	if (entity > 0) {
		reader->entity = entity;
		reader->made_ns = topics_now(life->play->world);
		life->readers[slot] = reader;
	} else if (subscriber > 0) {
		(void)whorl_dds_delete(subscriber);
	}
	whorl_dds_delete_listener(listener);
	whorl_dds_delete_qos(of_group);
	whorl_dds_delete_qos(of_reader);
}

static void end_reader(struct topics_life *life, uint32_t slot)
{
	struct topics_reader *reader = life->readers[slot];

	take_all(reader);
	reader->gone_ns = topics_now(life->play->world);
	life->readers[slot] = NULL;
	tell(life, "reader %u ends: %d", reader->number, (int)whorl_dds_delete(whorl_dds_get_parent(reader->entity)));
}

/* ---- writers ------------------------------------------------------------------------------------------------------------------- */

static struct topics_writer *add_writer(struct topics_life *life, enum topics_kind kind)
{
	struct topics_play *play = life->play;
	struct topics_writer *writer = must(calloc(1, sizeof(*writer)));

	writer->number = play->writer_count + 1;
	writer->kind = kind;
	writer->life = life;
	writer->strength = (int32_t)wh_dice_below(&life->dice, 4);
	play->writers = must(realloc(play->writers, (play->writer_count + 1) * sizeof(*play->writers)));
	play->writers[play->writer_count++] = writer;
	return writer;
}

static whorl_dds_qos *writer_qos(const struct topics_writer *writer)
{
	char text[256];

	snprintf(text, sizeof(text), "reliability=reliable reliability.max_blocking=%dms history=all%s",
		 wh_dice_one_in(&writer->life->dice, 4) ? 1 : 200,
		 writer->kind == TOPICS_STORED ? " writer_data_lifecycle=off" : "");
	if (writer->kind == TOPICS_OWNED)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " ownership_strength=%d",
			 (int)writer->strength);
	return qos(text);
}

static void make_writer(struct topics_life *life, uint32_t slot, enum topics_kind kind)
{
	struct topics_writer *writer = add_writer(life, kind);
	whorl_dds_qos *of_group = group_qos(kind), *of_writer = writer_qos(writer);
	whorl_dds_entity entity;

	writer->publisher = whorl_dds_create_publisher(life->participant, of_group, NULL);
	writer->unsure = true;
	entity = writer->publisher > 0 ? whorl_dds_create_writer(writer->publisher, life->topics[kind], of_writer, NULL)
				       : writer->publisher;
	tell(life, "writer %u of %s: %d %s", writer->number, names[kind], (int)entity,
	     entity < 0 ? whorl_dds_text() : "");
	if (entity > 0) {
		writer->unsure = false;
		writer->entity = entity;
		writer->made_ns = topics_now(life->play->world);
		life->writers[slot] = writer;
	} else if (writer->publisher > 0) {
		(void)whorl_dds_delete(writer->publisher);
	}
	whorl_dds_delete_qos(of_group);
	whorl_dds_delete_qos(of_writer);
}

static void end_writer(struct topics_life *life, uint32_t slot)
{
	struct topics_writer *writer = life->writers[slot];

	writer->going_ns = topics_now(life->play->world);
	life->writers[slot] = NULL;
	tell(life, "writer %u ends: %d", writer->number, (int)whorl_dds_delete(writer->publisher));
	writer->gone_ns = topics_now(life->play->world);
}

static struct topics_written *note_writing(struct topics_writer *writer, enum topics_change change, int32_t key)
{
	if (writer->count == writer->room) {
		writer->room = 2 * writer->room + 16;
		writer->written = must(realloc(writer->written, writer->room * sizeof(*writer->written)));
	}
	writer->written[writer->count] = (struct topics_written){
		.change = change, .key = key, .from_ns = topics_now(writer->life->play->world), .result = 1};
	return &writer->written[writer->count++];
}

static whorl_dds_return say(struct topics_writer *writer, enum topics_change change, const struct topics_sample *sample)
{
	switch (change) {
	case TOPICS_DISPOSE:
		return whorl_dds_dispose(writer->entity, sample);
	case TOPICS_WRITE_DISPOSE:
		return whorl_dds_writedispose(writer->entity, sample);
	case TOPICS_UNREGISTER:
		return whorl_dds_unregister_instance(writer->entity, sample);
	default:
		return whorl_dds_write(writer->entity, sample);
	}
}

static whorl_dds_return do_write(struct topics_writer *writer, enum topics_change change, uint32_t set, uint32_t index,
				 uint32_t count)
{
	struct topics_sample sample = {.key = (int32_t)wh_dice_below(&writer->life->dice, TOPICS_KEYS),
				       .writer = writer->number,
				       .n = writer->count,
				       .set = set,
				       .index = index,
				       .count = count};
	whorl_dds_return result;

	note_writing(writer, change, sample.key)->set = set;
	result = say(writer, change, &sample);
	writer->written[sample.n].result = result;
	writer->written[sample.n].to_ns = topics_now(writer->life->play->world);
	return result;
}

static enum topics_change draw_change(struct wh_dice *dice, enum topics_kind kind)
{
	if (kind == TOPICS_STORED || kind == TOPICS_SETS || !wh_dice_one_in(dice, 4))
		return TOPICS_WRITE;
	return kind == TOPICS_OWNED ? TOPICS_UNREGISTER : (enum topics_change)wh_dice_between(dice, 1, 3);
}

static void write_set(struct topics_writer *writer)
{
	struct topics_life *life = writer->life;
	uint32_t set = ++life->play->sets, from = writer->count;
	uint32_t count = (uint32_t)wh_dice_between(&life->dice, 1, 5);
	whorl_dds_return result = whorl_dds_begin_coherent(writer->publisher);

	for (uint32_t i = 0; i < count && result == OK; i++) {
		do
			result = do_write(writer, TOPICS_WRITE, set, i, count);
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

static void write_some(struct topics_life *life, uint32_t slot)
{
	struct topics_writer *writer = life->writers[slot];
	uint32_t count = (uint32_t)wh_dice_between(&life->dice, 1, 12);
	uint32_t sets = life->play->sets;

	if (writer->kind == TOPICS_SETS) {
		write_set(writer);
		if (sets != life->play->sets && (writer->count == 0 || !writer->written[writer->count - 1].ended))
			end_writer(life, slot);
		return;
	}
	for (uint32_t i = 0; i < count && !topics_is_dead(life->process); i++) {
		whorl_dds_return result = do_write(writer, draw_change(&life->dice, writer->kind), 0, 0, 0);

		life->failed = life->failed || result == WHORL_DDS_RETCODE_ERROR;
	}
}

/* ---- programs ------------------------------------------------------------------------------------------------------------------ */

static bool enter(struct topics_life *life)
{
	const struct whorl_dds_participant_options options = {
		.size = sizeof(options), .ready = 20 * WH_NS_PER_S, .file = topics_file(life->play->world)};

	life->participant = whorl_dds_create_participant_with(0, &options, NULL, NULL);
	tell(life, "participant: %d %s", (int)life->participant, life->participant < 0 ? whorl_dds_text() : "");
	for (int kind = 0; kind < TOPICS_KINDS && life->participant > 0; kind++) {
		whorl_dds_qos *of = topic_qos(life->play, (enum topics_kind)kind);

		life->topics[kind] = whorl_dds_create_topic(life->participant, &sample_type, names[kind], of, NULL);
		whorl_dds_delete_qos(of);
		if (life->topics[kind] < 0) {
			tell(life, "topic %s: %s", names[kind], whorl_dds_text());
			return false;
		}
	}
	return life->participant > 0;
}

static void act(struct topics_life *life)
{
	uint32_t slot = (uint32_t)wh_dice_below(&life->dice, 3);
	enum topics_kind kind = (enum topics_kind)wh_dice_below(&life->dice, TOPICS_KINDS);

	switch (wh_dice_below(&life->dice, 8)) {
	case 0:
		if (life->readers[slot] == NULL)
			make_reader(life, slot, kind);
		else if (!life->keeper && wh_dice_one_in(&life->dice, 4))
			end_reader(life, slot);
		break;
	case 1:
		if (life->writers[slot] == NULL)
			make_writer(life, slot, kind);
		else if (wh_dice_one_in(&life->dice, 4))
			end_writer(life, slot);
		break;
	case 2:
		if (life->readers[slot] != NULL && !life->readers[slot]->listens)
			take_all(life->readers[slot]);
		break;
	case 3:
		topics_sleep(life->play->world, wh_dice_below(&life->dice, 30 * WH_NS_PER_MS));
		break;
	default:
		if (life->writers[slot] != NULL)
			write_some(life, slot);
	}
}

/* A reader that holds up the others takes now and then. */
static void take_from_all(struct topics_life *life)
{
	for (int i = 0; i < 3; i++)
		if (life->readers[i] != NULL)
			take_all(life->readers[i]);
}

static void note_statuses(struct topics_reader *reader)
{
	struct whorl_dds_matched_status matched;
	struct whorl_dds_sample_lost_status lost;

	if (whorl_dds_read_status(reader->entity, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS, &matched, sizeof(matched)) ==
	    OK)
		reader->matched = matched.current_count;
	if (whorl_dds_read_status(reader->entity, WHORL_DDS_SAMPLE_LOST_STATUS, &lost, sizeof(lost)) == OK)
		reader->lost = lost.total_count;
}

static bool goes_on(struct topics_life *life)
{
	if (life->play->settled_ns == 0) /* then all end, and the last ones may be too few */
		life->failed = life->failed || topics_has_failed(life->process);
	return !topics_is_dead(life->process) && !life->failed && !topics_failed(life->play);
}

static bool all_settled(const struct topics_play *play)
{
	for (uint32_t i = 0; i < play->life_count; i++) {
		struct topics_life *life = play->lives[i];

		if (life->in && !life->leaves && goes_on(life) && !topics_has_ended(life->process) && !life->settled)
			return false;
	}
	return true;
}

/* Until all is quiet; then what there is. */
static void await_calm(struct topics_life *life)
{
	while (goes_on(life) && !life->play->calm) {
		take_from_all(life);
		topics_sleep(life->play->world, 20 * WH_NS_PER_MS);
	}
	if (!goes_on(life))
		return;
	for (int i = 0; i < 3; i++) {
		if (life->readers[i] == NULL)
			continue;
		take_all(life->readers[i]);
		note_statuses(life->readers[i]);
		life->readers[i]->final = goes_on(life);
	}
	life->settled = true;
	while (goes_on(life) && !all_settled(life->play))
		topics_sleep(life->play->world, 20 * WH_NS_PER_MS);
	if (life->play->settled_ns == 0)
		life->play->settled_ns = topics_now(life->play->world);
}

static void begin_keeper(struct topics_life *life)
{
	static const enum topics_kind kinds[] = {TOPICS_STORED, TOPICS_SETS, TOPICS_PLAIN};

	for (uint32_t i = 0; i < 3; i++)
		make_reader(life, i, kinds[i]);
}

static void run_program(void *ctx)
{
	struct topics_life *life = ctx;
	uint32_t acts = (uint32_t)wh_dice_between(&life->dice, 5, 60);

	life->in = enter(life);
	if (life->in && life->keeper)
		begin_keeper(life);
	for (uint32_t i = 0; life->in && i < acts && goes_on(life); i++) {
		act(life);
		if (wh_dice_one_in(&life->dice, 3))
			take_from_all(life);
	}
	life->done = true;
	tell(life, "has done all");
	if (life->in && !life->leaves)
		await_calm(life);
	for (uint32_t i = 0; i < 3; i++)
		if (life->writers[i] != NULL && !topics_is_dead(life->process) && wh_dice_one_in(&life->dice, 2))
			end_writer(life, i);
	for (uint32_t i = 0; i < 3; i++)
		if (life->writers[i] != NULL)
			life->writers[i]->going_ns = topics_now(life->play->world);
	if (life->participant > 0)
		tell(life, "participant ends: %d", (int)whorl_dds_delete(life->participant));
	for (uint32_t i = 0; i < 3; i++)
		if (life->writers[i] != NULL)
			life->writers[i]->gone_ns = topics_now(life->play->world);
}

/* ---- the run ------------------------------------------------------------------------------------------------------------------- */

static struct topics_life *begin_life(struct topics_play *play, uint32_t id, bool joins)
{
	struct topics_life *life = must(calloc(1, sizeof(*life)));

	life->play = play;
	life->id = id;
	life->joins = joins;
	life->dice = wh_dice_split(play->seed, 10 + play->life_count);
	life->leaves = wh_dice_one_in(&life->dice, 4);
	play->lives[play->life_count++] = life;
	life->process = must(topics_process_new(play->world, id, joins, run_program, life));
	return life;
}

static struct topics_life *life_of(const struct topics_play *play, uint32_t id)
{
	for (uint32_t i = play->life_count; i-- > 0;)
		if (play->lives[i]->id == id)
			return play->lives[i];
	return NULL;
}

static uint32_t living(const struct topics_play *play)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < play->life_count; i++)
		count += play->lives[i]->in && !topics_is_dead(play->lives[i]->process) &&
			 !topics_has_ended(play->lives[i]->process);
	return count;
}

static void come(struct topics_play *play, uint32_t id)
{
	struct topics_life *last = life_of(play, id);

	if (play->life_count < LIVES_MAX && (last == NULL || topics_has_ended(last->process)))
		begin_life(play, id, true);
}

static void do_fault(struct topics_play *play)
{
	uint32_t id = (uint32_t)wh_dice_below(&play->dice, IDS);
	struct topics_life *life = life_of(play, id);

	switch (wh_dice_below(&play->dice, 4)) {
	case 0:
		if (life != NULL && !life->keeper && living(play) > 2 && topics_kill(life->process)) {
			life->killed_ns = topics_now(play->world);
			tell(life, "is killed");
		}
		break;
	case 1:
		if (life != NULL && !life->keeper && living(play) > 2) {
			topics_stall(life->process, wh_dice_below(&play->dice, 200 * WH_NS_PER_MS));
			tell(life, "stands still");
		}
		break;
	default:
		come(play, id);
	}
}

static bool goes_until(struct topics_play *play, uint64_t until_ns)
{
	while (!topics_failed(play) && topics_step(play->world, until_ns))
		;
	if (topics_broken(play->world) != NULL)
		topics_fail(play, "%s", topics_broken(play->world));
	return !topics_failed(play);
}

static bool all_ended(const struct topics_play *play)
{
	for (uint32_t i = 0; i < play->life_count; i++)
		if (!topics_has_ended(play->lives[i]->process))
			return false;
	return true;
}

static bool all_done(const struct topics_play *play)
{
	for (uint32_t i = 0; i < play->life_count; i++)
		if (!play->lives[i]->done && !topics_has_ended(play->lives[i]->process))
			return false;
	return true;
}

static void run(struct topics_play *play, uint32_t founders)
{
	uint32_t faults = (uint32_t)wh_dice_below(&play->dice, 12);
	uint32_t keeper = (uint32_t)wh_dice_below(&play->dice, founders);
	uint64_t end_ns;

	for (uint32_t id = 0; id < founders; id++) {
		struct topics_life *life = begin_life(play, id, false);

		life->keeper = id == keeper;
		life->leaves = life->leaves && !life->keeper;
	}
	while (!play->lives[keeper]->in && !topics_has_ended(play->lives[keeper]->process) &&
	       goes_until(play, topics_now(play->world) + 10 * WH_NS_PER_MS))
		;
	if (!play->lives[keeper]->in)
		topics_fail(play, "progress: nothing has gone wrong yet, and the keeper does not come in");
	for (uint32_t i = 0; i < faults; i++) {
		if (!goes_until(play, topics_now(play->world) + wh_dice_below(&play->dice, 200 * WH_NS_PER_MS)))
			return;
		do_fault(play);
	}
	end_ns = topics_now(play->world) + 120 * WH_NS_PER_S;
	while (!all_done(play) && topics_now(play->world) < end_ns &&
	       goes_until(play, topics_now(play->world) + 50 * WH_NS_PER_MS))
		;
	if (!all_done(play))
		topics_fail(play, "a program does not end");
	if (!goes_until(play, topics_now(play->world) + CALM_NS))
		return;
	play->whole = play->lives[keeper]->in;
	for (uint32_t i = 0; i < play->life_count; i++)
		play->whole = (goes_on(play->lives[i]) || i != keeper) && play->whole;
	play->calm = true;
	end_ns = topics_now(play->world) + 120 * WH_NS_PER_S;
	while (!all_ended(play) && topics_now(play->world) < end_ns &&
	       goes_until(play, topics_now(play->world) + 50 * WH_NS_PER_MS))
		;
	if (!all_ended(play))
		topics_fail(play, "a process does not end");
}

/* Small ones, so that windows are full now and then, and messages come in parts. */
static void draw_channels(struct topics_play *play, char *text, size_t bytes)
{
	unsigned window = wh_dice_one_in(&play->dice, 2) ? 16 : 64;

	snprintf(text, bytes,
		 "[channel dds.s.atomic]\nwindow = %u\nmessage_bytes = 256\nlarge_bytes = 4096\n"
		 "[channel dds.s.stored]\nwindow = %u\nmessage_bytes = 256\nlarge_bytes = 4096\n",
		 window, window);
}

static void free_play(struct topics_play *play)
{
	for (uint32_t i = 0; i < play->reader_count; i++) {
		free(play->readers[i]->entries);
		free(play->readers[i]);
	}
	for (uint32_t i = 0; i < play->writer_count; i++) {
		free(play->writers[i]->written);
		free(play->writers[i]);
	}
	for (uint32_t i = 0; i < play->life_count; i++)
		free(play->lives[i]);
	free(play->readers);
	free(play->writers);
	free(play->lives);
}

bool topics_play(uint64_t seed, bool verbose, char *verdict, size_t verdict_bytes)
{
	struct topics_play play = {.seed = seed, .verbose = verbose, .verdict = verdict, .verdict_bytes = verdict_bytes};
	struct topics_world_options options = {.seed = seed, .ids = IDS, .verbose = verbose};
	char topics[512];

	verdict[0] = '\0';
	play.dice = wh_dice_split(seed, 1);
	play.transient = wh_dice_one_in(&play.dice, 2);
	play.lives = must(calloc(LIVES_MAX, sizeof(struct topics_life *)));
	options.founders = (uint32_t)wh_dice_between(&play.dice, 1, 4);
	options.one_host = wh_dice_one_in(&play.dice, 2);
	draw_channels(&play, topics, sizeof(topics));
	options.topics = topics;
	play.world = must(topics_world_new(&options));
	run(&play, options.founders);
	if (!topics_failed(&play))
		topics_judge(&play);
	if (all_ended(&play))
		topics_world_free(play.world);
	free_play(&play);
	return verdict[0] == '\0';
}
