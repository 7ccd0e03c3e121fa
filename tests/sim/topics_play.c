/* topics_play.c - see topics_play.h. */
#include "tests/sim/topics_play.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK WHORL_DDS_RETCODE_OK
#define IDS 7
#define LIVES_MAX 12
#define CALM_NS (2 * WH_NS_PER_S) /* behind the last fault */

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

void *topics_must(void *memory)
{
	if (memory != NULL)
		return memory;
	fprintf(stderr, "no memory for a run\n");
	exit(2);
}

void topics_tell(const struct topics_life *life, const char *format, ...)
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

/* ---- programs ------------------------------------------------------------------------------------------------------------------ */

static bool enter(struct topics_life *life)
{
	const struct whorl_dds_participant_options options = {
		.size = sizeof(options), .ready = 20 * WH_NS_PER_S, .file = topics_file(life->play->world)};

	life->participant = whorl_dds_create_participant_with(0, &options, NULL, NULL);
	topics_tell(life, "participant: %d %s", (int)life->participant, life->participant < 0 ? whorl_dds_text() : "");
	for (int kind = 0; kind < (life->play->more ? TOPICS_MORE_KINDS : TOPICS_FIRST_KINDS) && life->participant > 0;
	     kind++) {
		whorl_dds_qos *of = topics_topic_qos(life->play, (enum topics_kind)kind);

		life->topics[kind] =
			whorl_dds_create_topic(life->participant, topics_type, topics_names[kind], of, NULL);
		whorl_dds_delete_qos(of);
		if (life->topics[kind] < 0) {
			topics_tell(life, "topic %s: %s", topics_names[kind], whorl_dds_text());
			return false;
		}
	}
	return life->participant > 0;
}

static void use_reader(struct topics_life *life, uint32_t slot, enum topics_kind kind)
{
	struct topics_reader *reader = life->readers[slot];

	if (reader == NULL)
		topics_make_reader(life, slot, kind);
	else if (!life->keeper && wh_dice_one_in(&life->dice, 4))
		topics_end_reader(life, slot);
	else if (!life->keeper && reader->kind == TOPICS_PLAIN && wh_dice_one_in(&life->dice, 2))
		topics_move_reader(reader);
}

static void use_writer(struct topics_life *life, uint32_t slot, enum topics_kind kind)
{
	struct topics_writer *writer = life->writers[slot];

	if (writer == NULL)
		topics_make_writer(life, slot, kind);
	else if (wh_dice_one_in(&life->dice, 4))
		topics_end_writer(life, slot);
	else if (writer->kind == TOPICS_OWNED)
		topics_change_strength(writer);
}

static void act(struct topics_life *life)
{
	uint32_t slot = (uint32_t)wh_dice_below(&life->dice, 3);
	enum topics_kind kind = (enum topics_kind)wh_dice_below(&life->dice, TOPICS_FIRST_KINDS);

	switch (wh_dice_below(&life->dice, 8)) {
	case 0:
		use_reader(life, slot, kind);
		break;
	case 1:
		use_writer(life, slot, kind);
		break;
	case 2:
		if (life->readers[slot] != NULL && !life->readers[slot]->listens)
			topics_await_data(life->readers[slot]);
		break;
	case 3:
		topics_sleep(life->play->world, wh_dice_below(&life->dice, 30 * WH_NS_PER_MS));
		break;
	default:
		if (life->writers[slot] != NULL)
			topics_write(life, slot);
	}
}

/* A reader that holds up the others takes now and then. */
void topics_take_from_all(struct topics_life *life)
{
	for (int i = 0; i < TOPICS_SLOTS; i++)
		if (life->readers[i] != NULL)
			topics_take(life->readers[i]);
}

bool topics_goes_on(struct topics_life *life)
{
	if (life->play->settled_ns == 0) /* then all end, and the last ones may be too few */
		life->failed = life->failed || topics_has_failed(life->process);
	return !topics_is_dead(life->process) && !life->failed && !topics_failed(life->play);
}

static bool all_settled(const struct topics_play *play)
{
	for (uint32_t i = 0; i < play->life_count; i++) {
		struct topics_life *life = play->lives[i];

		if (life->in && !life->leaves && topics_goes_on(life) && !topics_has_ended(life->process) &&
		    !life->settled)
			return false;
	}
	return true;
}

/* Until all is quiet; then what there is. */
static void await_calm(struct topics_life *life)
{
	while (topics_goes_on(life) && !life->play->calm) {
		topics_take_from_all(life);
		topics_assert(life);
		topics_sleep(life->play->world, 20 * WH_NS_PER_MS);
	}
	if (!topics_goes_on(life))
		return;
	topics_take_from_all(life);
	topics_note_statuses(life);
	for (int i = 0; i < TOPICS_SLOTS; i++)
		if (life->readers[i] != NULL)
			life->readers[i]->final = topics_goes_on(life);
	life->settled = true;
	while (topics_goes_on(life) && !all_settled(life->play)) {
		topics_assert(life);
		topics_sleep(life->play->world, 20 * WH_NS_PER_MS);
	}
	if (life->play->settled_ns == 0)
		life->play->settled_ns = topics_now(life->play->world);
}

static void begin_keeper(struct topics_life *life)
{
	static const enum topics_kind kinds[] = {TOPICS_STORED, TOPICS_SETS, TOPICS_PLAIN};

	for (uint32_t i = 0; i < 3; i++)
		topics_make_reader(life, i, kinds[i]);
	if (life->play->more)
		topics_begin_more(life);
}

/* Its participant is deleted, and some of its writers before. */
void topics_leave(struct topics_life *life)
{
	uint64_t from_ns;

	for (uint32_t i = 0; i < TOPICS_SLOTS; i++)
		if (life->writers[i] != NULL && !topics_is_dead(life->process) &&
		    wh_dice_one_in(life->writers[i]->dice, 2))
			topics_end_writer(life, i);
	for (uint32_t i = 0; i < TOPICS_SLOTS; i++)
		if (life->writers[i] != NULL)
			life->writers[i]->going_ns = topics_now(life->play->world);
	from_ns = topics_now(life->play->world);
	if (life->participant > 0)
		topics_tell(life, "participant ends: %d", (int)whorl_dds_delete(life->participant));
	if (!life->play->calm && topics_now(life->play->world) - from_ns > life->leaving_ns)
		life->leaving_ns = topics_now(life->play->world) - from_ns;
	for (uint32_t i = 0; i < TOPICS_SLOTS; i++) {
		if (life->writers[i] != NULL)
			life->writers[i]->gone_ns = topics_now(life->play->world);
		life->writers[i] = NULL;
		life->readers[i] = NULL;
	}
}

static void stay(struct topics_life *life)
{
	uint32_t acts = (uint32_t)wh_dice_between(&life->dice, 5, 60);

	life->stay++;
	life->in = enter(life);
	if (life->in && life->keeper)
		begin_keeper(life);
	for (uint32_t i = 0; life->in && i < acts && topics_goes_on(life); i++) {
		act(life);
		if (life->play->more && topics_goes_on(life))
			topics_act_more(life);
		if (wh_dice_one_in(&life->dice, 3))
			topics_take_from_all(life);
	}
}

static void run_program(void *ctx)
{
	struct topics_life *life = ctx;

	for (uint32_t i = 1; i < life->stays; i++) {
		stay(life);
		if (!life->in || !topics_goes_on(life))
			break;
		topics_leave(life);
		life->in = false;
		topics_sleep(life->play->world, wh_dice_below(&life->dice, 50 * WH_NS_PER_MS));
	}
	if (topics_goes_on(life))
		stay(life);
	life->done = true;
	topics_tell(life, "has done all");
	if (life->in && !life->leaves)
		await_calm(life);
	topics_leave(life);
}

/* ---- the run ------------------------------------------------------------------------------------------------------------------- */

struct topics_life *topics_begin_life(struct topics_play *play, uint32_t id, bool joins, void (*fn)(void *ctx))
{
	struct topics_life *life = topics_must(calloc(1, sizeof(*life)));

	life->play = play;
	life->id = id;
	life->joins = joins;
	life->dice = wh_dice_split(play->seed, 10 + play->life_count);
	life->more = wh_dice_split(play->seed, 500 + play->life_count);
	life->leaves = wh_dice_one_in(&life->dice, 4);
	life->asserts = wh_dice_one_in(&life->dice, 2);
	life->stays = wh_dice_one_in(&life->dice, 4) ? 2 : 1;
	play->lives[play->life_count++] = life;
	life->process = topics_must(topics_process_new(play->world, id, joins, fn, life));
	return life;
}

struct topics_life *topics_life_of(const struct topics_play *play, uint32_t id)
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
	struct topics_life *last = topics_life_of(play, id);

	if (play->life_count < LIVES_MAX && (last == NULL || topics_has_ended(last->process)))
		topics_begin_life(play, id, true, run_program);
}

/* For a moment mostly; else the one or the other goes. */
static void cut(struct topics_play *play, uint32_t one, uint32_t other)
{
	uint64_t most_ns = wh_dice_one_in(&play->dice, 4) ? 300 * WH_NS_PER_MS : 30 * WH_NS_PER_MS;

	if (one != other && topics_cut(play->world, one, other, wh_dice_below(&play->dice, most_ns)) && play->verbose)
		printf("%12.6f nodes %u and %u do not hear each other\n", (double)topics_now(play->world) / 1e9, one,
		       other);
}

static void do_fault(struct topics_play *play)
{
	uint32_t id = (uint32_t)wh_dice_below(&play->dice, IDS);
	struct topics_life *life = topics_life_of(play, id);

	switch (wh_dice_below(&play->dice, 5)) {
	case 0:
		if (life != NULL && !life->keeper && living(play) > 2 && topics_kill(life->process)) {
			if (life->killed_ns == 0) /* dice may kill it twice */
				life->killed_ns = topics_now(play->world);
			life->failed =
				life->failed || topics_has_failed(life->process); /* its writers had ended before */
			topics_tell(life, "is killed");
		}
		break;
	case 1:
		if (life != NULL && !life->keeper && living(play) > 2) {
			topics_stall(life->process, wh_dice_below(&play->dice, 200 * WH_NS_PER_MS));
			life->stalled = true;
			topics_tell(life, "stands still");
		}
		break;
	case 2:
		cut(play, id, (uint32_t)wh_dice_below(&play->dice, IDS));
		break;
	default:
		come(play, id);
	}
}

bool topics_goes_until(struct topics_play *play, uint64_t until_ns)
{
	while (!topics_failed(play) && topics_step(play->world, until_ns))
		;
	if (topics_broken(play->world) != NULL)
		topics_fail(play, "%s", topics_broken(play->world));
	return !topics_failed(play);
}

bool topics_all_ended(const struct topics_play *play)
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
		struct topics_life *life = topics_begin_life(play, id, false, run_program);

		life->keeper = id == keeper;
		if (life->keeper) {
			life->leaves = false;
			life->stays = 1;
		}
	}
	while (!play->lives[keeper]->in && !topics_has_ended(play->lives[keeper]->process) &&
	       topics_goes_until(play, topics_now(play->world) + 10 * WH_NS_PER_MS))
		;
	if (!play->lives[keeper]->in)
		topics_fail(play, "progress: nothing has gone wrong yet, and the keeper does not come in");
	for (uint32_t i = 0; i < faults; i++) {
		if (!topics_goes_until(play, topics_now(play->world) + wh_dice_below(&play->dice, 200 * WH_NS_PER_MS)))
			return;
		do_fault(play);
	}
	end_ns = topics_now(play->world) + 120 * WH_NS_PER_S;
	while (!all_done(play) && topics_now(play->world) < end_ns &&
	       topics_goes_until(play, topics_now(play->world) + 50 * WH_NS_PER_MS))
		;
	if (!all_done(play))
		topics_fail(play, "a program does not end");
	if (!topics_goes_until(play, topics_now(play->world) + CALM_NS))
		return;
	play->whole = play->lives[keeper]->in;
	for (uint32_t i = 0; i < play->life_count; i++)
		play->whole = (topics_goes_on(play->lives[i]) || i != keeper) && play->whole;
	play->calm = true;
	end_ns = topics_now(play->world) + 120 * WH_NS_PER_S;
	while (!topics_all_ended(play) && topics_now(play->world) < end_ns &&
	       topics_goes_until(play, topics_now(play->world) + 50 * WH_NS_PER_MS))
		;
	if (!topics_all_ended(play))
		topics_fail(play, "a process does not end");
}

/* Channels are small, so that windows are full now and then, and messages come in parts. */
static void draw_channels(struct topics_play *play, char *text, size_t bytes)
{
	unsigned window = wh_dice_one_in(&play->dice, 2) ? 16 : 64;

	play->patience_ns = (wh_dice_one_in(&play->dice, 3) ? 40 : 10000) * WH_NS_PER_MS;
	snprintf(text, bytes,
		 "[dds]\nreader_patience_ms = %u\n"
		 "[channel dds.s.atomic]\nwindow = %u\nmessage_bytes = 256\nlarge_bytes = 4096\n"
		 "[channel dds.s.stored]\nwindow = %u\nmessage_bytes = 256\nlarge_bytes = 4096\n",
		 (unsigned)(play->patience_ns / WH_NS_PER_MS), window, window);
	if (play->more)
		snprintf(text + strlen(text), bytes - strlen(text),
			 "[channel dds.s.unordered]\nwindow = %u\nmessage_bytes = 256\nlarge_bytes = 4096\n", window);
}

void topics_free_play(struct topics_play *play)
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
	struct wh_dice more;
	char topics[512];

	verdict[0] = '\0';
	play.dice = wh_dice_split(seed, 1);
	play.transient = wh_dice_one_in(&play.dice, 2);
	more = wh_dice_split(seed, 2);
	play.more = wh_dice_one_in(&more, 3);
	play.lives = topics_must(calloc(LIVES_MAX, sizeof(struct topics_life *)));
	options.founders = (uint32_t)wh_dice_between(&play.dice, 1, 4);
	options.one_host = wh_dice_one_in(&play.dice, 2);
	draw_channels(&play, topics, sizeof(topics));
	options.topics = topics;
	play.world = topics_must(topics_world_new(&options));
	run(&play, options.founders);
	if (!topics_failed(&play))
		topics_judge(&play);
	if (topics_all_ended(&play))
		topics_world_free(play.world);
	topics_free_play(&play);
	return verdict[0] == '\0';
}
