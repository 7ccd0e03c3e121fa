/* topics_logged.c - programs with logged topics: see topics_play.h.
 *
 * A play has *phases*, and all programs have ended between two: their power has gone, at once or one behind the other, they were killed, or they have left. In
 * the next one some of them come back. The last has no faults, and all that ever were there come: each must get in, read both topics, and have
 * all of them that was delivered, or acknowledged, at any time (topics_check.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/topics_play.h"

#define OK WHORL_DDS_RETCODE_OK
#define LIVES_MAX 64
#define LAST_NS (180 * WH_NS_PER_S) /* by then all are there */

static const enum topics_kind kinds[] = {TOPICS_LOGGED, TOPICS_APART};

/* ---- programs ------------------------------------------------------------------------------------------------------------------ */

static bool is_wanted(struct topics_life *life)
{
	return topics_goes_on(life) && !life->play->leaving;
}

static bool make_topic(struct topics_life *life, enum topics_kind kind)
{
	whorl_dds_qos *of = topics_topic_qos(life->play, kind);

	life->topics[kind] = whorl_dds_create_topic(life->participant, topics_type, topics_names[kind], of, NULL);
	whorl_dds_delete_qos(of);
	if (life->topics[kind] < 0)
		topics_tell(life, "topic %s: %s", topics_names[kind], whorl_dds_text());
	return life->topics[kind] > 0;
}

static bool enter(struct topics_life *life)
{
	struct whorl_dds_participant_options options = {
		.size = sizeof(options), .ready = 20 * WH_NS_PER_S, .file = topics_file(life->play->world)};
	char id[16];

	snprintf(id, sizeof(id), "%u", (unsigned)life->id);
	options.node = id;
	memset(life->topics, 0, sizeof(life->topics));
	life->participant = whorl_dds_create_participant_with(0, &options, NULL, NULL);
	topics_tell(life, "participant: %d %s", (int)life->participant, life->participant < 0 ? whorl_dds_text() : "");
	return life->participant > 0;
}

/* What was said before is on the disks of all members. */
static void await_acknowledgement(struct topics_life *life, struct topics_writer *writer)
{
	uint32_t count = writer->count;

	if (whorl_dds_wait_for_acks(writer->entity,
				    (whorl_dds_duration)wh_dice_below(&life->dice, 200 * WH_NS_PER_MS)) != OK ||
	    topics_is_dead(life->process))
		return;
	for (uint32_t i = 0; i < count; i++)
		writer->written[i].acknowledged = writer->written[i].acknowledged || writer->written[i].result == OK;
}

static void act(struct topics_life *life)
{
	enum topics_kind kind = kinds[wh_dice_below(&life->dice, 2)];
	uint32_t slot = (uint32_t)wh_dice_below(&life->dice, 3);

	if (life->topics[kind] <= 0 && !make_topic(life, kind))
		return;
	switch (wh_dice_below(&life->dice, 8)) {
	case 0:
		if (life->readers[slot] == NULL)
			topics_make_reader(life, slot, kind);
		else if (wh_dice_one_in(&life->dice, 2))
			topics_end_reader(life, slot);
		break;
	case 1:
	case 2:
		if (life->writers[slot] == NULL)
			topics_make_writer(life, slot, kind);
		else if (wh_dice_one_in(&life->dice, 4))
			topics_end_writer(life, slot);
		break;
	case 3:
		topics_sleep(life->play->world, wh_dice_below(&life->dice, 30 * WH_NS_PER_MS));
		break;
	case 4:
		if (life->writers[slot] != NULL)
			await_acknowledgement(life, life->writers[slot]);
		break;
	default:
		if (life->writers[slot] != NULL)
			topics_write(life, slot);
	}
}

/* Some use nothing: what their directories have is there all the same. */
static void run_program(void *ctx)
{
	struct topics_life *life = ctx;
	bool idle = wh_dice_one_in(&life->dice, 5);

	while (is_wanted(life)) {
		if (!life->in)
			life->in = enter(life);
		if (life->in && !idle)
			act(life);
		if (!life->in || idle)
			topics_sleep(life->play->world, wh_dice_below(&life->dice, 50 * WH_NS_PER_MS));
		if (wh_dice_one_in(&life->dice, 3))
			topics_take_from_all(life);
	}
	topics_leave(life);
}

/* It says something, too. */
static bool use_both(struct topics_life *life)
{
	for (uint32_t i = 0; i < 2; i++) {
		if (life->topics[kinds[i]] <= 0 && !make_topic(life, kinds[i]))
			return false;
		if (life->readers[i] == NULL)
			topics_make_reader(life, i, kinds[i]);
		if (life->writers[i] == NULL)
			topics_make_writer(life, i, kinds[i]);
		if (life->readers[i] == NULL || life->writers[i] == NULL)
			return false;
		topics_write(life, i);
	}
	return true;
}

static bool all_settled(const struct topics_play *play)
{
	for (uint32_t i = 0; i < play->life_count; i++)
		if (play->lives[i]->phase == play->phase && !play->lives[i]->settled)
			return false;
	return true;
}

/* If its node fails it comes again. Some use nothing: others get what these have on their disks. */
static void run_last(void *ctx)
{
	struct topics_life *life = ctx;
	struct topics_world *world = life->play->world;
	bool idle = wh_dice_one_in(&life->dice, 3);

	while (!life->done && !topics_failed(life->play)) {
		if (!life->in)
			life->in = enter(life);
		life->done = life->in && (idle || use_both(life)) && topics_goes_on(life);
		if (life->done)
			break;
		if (!topics_goes_on(life) || !life->in) {
			topics_leave(life);
			life->in = life->failed = false;
		}
		topics_sleep(world, wh_dice_below(&life->dice, 100 * WH_NS_PER_MS));
	}
	topics_tell(life, "has done all");
	while (topics_goes_on(life) && !life->play->calm) {
		topics_take_from_all(life);
		topics_sleep(world, 20 * WH_NS_PER_MS);
	}
	topics_take_from_all(life);
	for (int i = 0; i < TOPICS_SLOTS; i++)
		if (life->readers[i] != NULL)
			life->readers[i]->final = topics_goes_on(life);
	if (!topics_goes_on(life))
		topics_fail(life->play, "progress: nothing goes wrong, and node %u fails", life->id);
	life->settled = true;
	while (topics_goes_on(life) && !all_settled(life->play))
		topics_sleep(world, 20 * WH_NS_PER_MS);
	topics_leave(life);
}

/* ---- faults -------------------------------------------------------------------------------------------------------------------- */

static void begin(struct topics_play *play, uint32_t id)
{
	struct topics_life *life;

	if (play->life_count == LIVES_MAX)
		return;
	life = topics_begin_life(play, id, false, play->last ? run_last : run_program);
	life->phase = play->phase;
	topics_tell(life, "begins, in phase %u", play->phase);
}

static void note_end(struct topics_play *play, struct topics_life *life)
{
	life->failed = life->failed || topics_has_failed(life->process);
	if (life->killed_ns == 0)
		life->killed_ns = topics_now(play->world);
	topics_tell(life, "ends");
}

static void cut_power(struct topics_play *play, uint32_t id)
{
	for (uint32_t i = 0; i < play->life_count; i++) {
		struct topics_life *life = play->lives[i];

		if ((life->id == id || play->one_host) && !topics_has_ended(life->process) &&
		    !topics_is_dead(life->process))
			note_end(play, life);
	}
	topics_cut_power(play->world, id);
}

static void kill_one(struct topics_play *play, struct topics_life *life)
{
	if (!topics_has_ended(life->process) && !topics_is_dead(life->process) && topics_kill(life->process))
		note_end(play, life);
}

static void do_fault(struct topics_play *play)
{
	uint32_t id = (uint32_t)wh_dice_below(&play->dice, TOPICS_IDS), other;
	struct topics_life *life = topics_life_of(play, id);

	switch (wh_dice_below(&play->dice, 6)) {
	case 0:
		if (life != NULL)
			kill_one(play, life);
		break;
	case 1:
		if (life != NULL)
			topics_stall(life->process, wh_dice_below(&play->dice, 200 * WH_NS_PER_MS));
		break;
	case 2:
		other = (uint32_t)wh_dice_below(&play->dice, TOPICS_IDS);
		if (id != other)
			(void)topics_cut(play->world, id, other, wh_dice_below(&play->dice, 100 * WH_NS_PER_MS));
		break;
	case 3:
		if (!play->one_host && life != NULL)
			cut_power(play, id);
		break;
	default:
		if (life == NULL || topics_has_ended(life->process))
			begin(play, id);
	}
}

/* On one host there is one power. */
static void end_one(struct topics_play *play, uint32_t id)
{
	if (!play->one_host)
		cut_power(play, id);
	else if (topics_life_of(play, id) != NULL)
		kill_one(play, topics_life_of(play, id));
}

/* ---- phases -------------------------------------------------------------------------------------------------------------------- */

static bool goes_for(struct topics_play *play, uint64_t most_ns)
{
	return topics_goes_until(play, topics_now(play->world) + wh_dice_below(&play->dice, most_ns));
}

/* As they were told, or not. */
static void end_all(struct topics_play *play)
{
	uint32_t how = (uint32_t)wh_dice_below(&play->dice, 5),
		 first = (uint32_t)wh_dice_below(&play->dice, TOPICS_IDS);
	uint64_t apart_ns = wh_dice_one_in(&play->dice, 2) ? 0 : 20 * WH_NS_PER_MS, end_ns;
	uint32_t harmed = (uint32_t)wh_dice_below(&play->harm_dice, TOPICS_IDS);
	bool harms = how < 3 && apart_ns == 0 && topics_can_spare(play, harmed);

	play->leaving = how == 4;
	for (uint32_t i = 0; i < TOPICS_IDS && how < 4; i++) {
		uint32_t id = (first + i) % TOPICS_IDS;

		if (how < 3)
			cut_power(play, id);
		else if (topics_life_of(play, id) != NULL)
			kill_one(play, topics_life_of(play, id));
		if (apart_ns > 0 && !goes_for(play, apart_ns))
			return;
	}
	if (harms)
		topics_harm_disk(play, harmed);
	play->leaving = true; /* what was not to be killed just then */
	end_ns = topics_now(play->world) + 120 * WH_NS_PER_S;
	while (!topics_all_ended(play) && topics_now(play->world) < end_ns &&
	       topics_goes_until(play, topics_now(play->world) + 20 * WH_NS_PER_MS))
		;
	if (!topics_all_ended(play))
		topics_fail(play, "a program does not end");
	play->leaving = false;
	play->phase++;
}

static void run_phase(struct topics_play *play, uint32_t founders)
{
	uint32_t faults = (uint32_t)wh_dice_below(&play->dice, 15);

	for (uint32_t id = 0; id < TOPICS_IDS; id++) {
		if (play->phase == 0 ? id >= founders
				     : topics_life_of(play, id) == NULL || wh_dice_one_in(&play->dice, 4))
			continue;
		if (wh_dice_one_in(&play->dice, 2) && !goes_for(play, 50 * WH_NS_PER_MS))
			return;
		begin(play, id);
	}
	if (!goes_for(play, 2 * WH_NS_PER_S))
		return;
	for (uint32_t i = 0; i < faults; i++) {
		if (!goes_for(play, wh_dice_one_in(&play->dice, 4) ? 2 * WH_NS_PER_S : 200 * WH_NS_PER_MS))
			return;
		do_fault(play);
		if (play->harms && wh_dice_one_in(&play->harm_dice, 2) && !topics_harm(play, end_one))
			return;
	}
	if (goes_for(play, WH_NS_PER_S))
		end_all(play);
}

static bool all_done(const struct topics_play *play)
{
	for (uint32_t i = 0; i < play->life_count; i++)
		if (play->lives[i]->phase == play->phase && !play->lives[i]->done)
			return false;
	return true;
}

/* Nothing goes wrong any more, and nobody is missing. */
static void run_last_phase(struct topics_play *play)
{
	uint64_t end_ns = topics_now(play->world) + LAST_NS;

	play->last = true;
	for (uint32_t id = 0; id < TOPICS_IDS; id++)
		if (topics_life_of(play, id) != NULL)
			begin(play, id);
	while (!all_done(play) && topics_now(play->world) < end_ns &&
	       topics_goes_until(play, topics_now(play->world) + 50 * WH_NS_PER_MS))
		;
	for (uint32_t i = 0; i < play->life_count; i++)
		if (play->lives[i]->phase == play->phase && !play->lives[i]->done)
			topics_fail(play, "progress: all are back, and program %u does not get what there was",
				    play->lives[i]->id);
	if (!topics_goes_until(play, topics_now(play->world) + 2 * WH_NS_PER_S))
		return;
	play->calm = true;
	end_ns = topics_now(play->world) + 120 * WH_NS_PER_S;
	while (!topics_all_ended(play) && topics_now(play->world) < end_ns &&
	       topics_goes_until(play, topics_now(play->world) + 50 * WH_NS_PER_MS))
		;
	if (!topics_all_ended(play))
		topics_fail(play, "a process does not end");
}

static struct wh_sim_disk_cost draw_cost(struct wh_dice *dice)
{
	uint64_t sync_ns = wh_dice_one_in(dice, 4) ? 2 * WH_NS_PER_MS : 100 * WH_NS_PER_US;

	return (struct wh_sim_disk_cost){.read_max_ns = 10 * WH_NS_PER_US,
					 .write_max_ns = wh_dice_below(dice, 20 * WH_NS_PER_US),
					 .sync_min_ns = sync_ns / 20,
					 .sync_max_ns = wh_dice_between(dice, sync_ns / 10, sync_ns),
					 .bytes_per_s = wh_dice_between(dice, 20, 2000) * 1000000,
					 .slow_in = wh_dice_one_in(dice, 2) ? 0 : 50,
					 .slow_ns = 5 * WH_NS_PER_MS};
}

/* In place of what topics_play.c draws: small channels, too. */
static void draw_channels(struct topics_play *play, char *text, size_t bytes)
{
	unsigned window = wh_dice_one_in(&play->dice, 2) ? 16 : 64;

	play->patience_ns = (wh_dice_one_in(&play->dice, 3) ? 40 : 10000) * WH_NS_PER_MS;
	snprintf(text, bytes,
		 "[dds]\nreader_patience_ms = %u\n"
		 "[channel dds.s.logged]\nwindow = %u\nmessage_bytes = 256\nlarge_bytes = 4096\n"
		 "[channel side]\nwindow = %u\nmessage_bytes = 256\nlarge_bytes = 4096\n[topic apart]\nchannel = side\n",
		 (unsigned)(play->patience_ns / WH_NS_PER_MS), window, window);
}

/* Some logs are so short that checkpoints are made in between, and are read again; all by dice of their own, so the plays of other seeds are what they
 * were before there was this. */
static void draw_harms(struct topics_play *play, struct topics_world_options *options)
{
	struct wh_dice *dice = &play->harm_dice;

	*dice = wh_dice_split(play->seed, 5);
	play->harms = wh_dice_one_in(dice, 2);
	if (!play->harms)
		return;
	options->batch_bytes = (uint32_t)wh_dice_between(dice, 256, 8192);
	options->log_bytes = wh_dice_one_in(dice, 3) ? 0 : wh_dice_between(dice, 32, 256) * 1024;
	options->check_ns = wh_dice_between(dice, 50, 200) * WH_NS_PER_MS;
}

bool topics_play_logged(uint64_t seed, bool verbose, char *verdict, size_t verdict_bytes)
{
	struct topics_play play = {.seed = seed,
				   .verbose = verbose,
				   .verdict = verdict,
				   .verdict_bytes = verdict_bytes,
				   .logged = true,
				   .transient = true};
	struct topics_world_options options = {.seed = seed, .ids = TOPICS_IDS, .disks = true, .verbose = verbose};
	uint32_t phases;
	char topics[512];

	verdict[0] = '\0';
	play.dice = wh_dice_split(seed, 3);
	play.lives = topics_must(calloc(LIVES_MAX, sizeof(struct topics_life *)));
	options.founders = play.founders = (uint32_t)wh_dice_between(&play.dice, 1, 4);
	options.one_host = play.one_host = wh_dice_one_in(&play.dice, 3);
	options.cost = draw_cost(&play.dice);
	draw_channels(&play, topics, sizeof(topics));
	draw_harms(&play, &options);
	options.topics = topics;
	phases = (uint32_t)wh_dice_between(&play.dice, 1, 3);
	play.world = topics_must(topics_world_new(&options));
	for (uint32_t i = 0; i < phases && !topics_failed(&play); i++)
		run_phase(&play, options.founders);
	if (!topics_failed(&play))
		run_last_phase(&play);
	if (!topics_failed(&play))
		topics_judge(&play);
	if (topics_all_ended(&play))
		topics_world_free(play.world);
	topics_free_play(&play);
	return verdict[0] == '\0';
}
