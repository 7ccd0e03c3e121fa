/* dormant_play.c - see dormant_play.h. */
#include "tests/sim/dormant_play.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "persistence/standing.h"
#include "sim/inspect.h"

#define LOOK_NS (20 * WH_NS_PER_MS)
#define END_NS (60 * WH_NS_PER_S) /* all are ready by then, when nothing happens any more */
#define CLOSE_MS 2000
#define PATIENCE_NS (3 * WH_NS_PER_S)

void dormant_fail(struct dormant_play *play, const char *format, ...)
{
	va_list arguments;

	if (dormant_failed(play))
		return;
	va_start(arguments, format);
	vsnprintf(play->verdict, play->verdict_bytes, format, arguments);
	va_end(arguments);
}

bool dormant_failed(const struct dormant_play *play)
{
	return play->verdict[0] != '\0';
}

void *dormant_must(void *memory)
{
	if (memory != NULL)
		return memory;
	fprintf(stderr, "no memory for a run\n");
	exit(2);
}

void *dormant_more(void *array, size_t count, size_t bytes)
{
	return dormant_must(realloc(array, (count + 1) * bytes));
}

void dormant_tell(const struct dormant_life *life, const char *format, ...)
{
	va_list arguments;

	if (!life->play->verbose)
		return;
	va_start(arguments, format);
	printf("%12.6f node %u: ", (double)dormant_now(life->play->world) / 1e9, (unsigned)life->id);
	vprintf(format, arguments);
	printf("\n");
	va_end(arguments);
}

/* ---- lives --------------------------------------------------------------------------------------------------------------------- */

static void opened(void *ctx, whorl_node *node)
{
	dormant_program_begin(ctx, node);
}

/* One that has failed for good is closed. */
static void passed(void *ctx)
{
	struct dormant_life *life = ctx;
	whorl_node *node = dormant_node(life->process);
	enum whorl_result result = node != NULL ? whorl_error(node, NULL, 0) : WHORL_OK;

	if (result == WHORL_OK || result == WHORL_NO_QUORUM)
		return;
	if (result != WHORL_REMOVED && result != WHORL_CUT_OFF && result != WHORL_DISK)
		dormant_fail(life->play, "node %u has failed: %s", life->id, whorl_result_text(result));
	dormant_tell(life, "is closed: %s", whorl_result_text(result));
	dormant_close(life->process, 1);
}

static void act(void *ctx, uint64_t argument)
{
	struct dormant_life *life = ctx;

	(void)argument;
	if (life->process == NULL || dormant_has_ended(life->process) || dormant_is_dead(life->process))
		return;
	dormant_program_act(life);
	dormant_after(life->play->world, wh_dice_below(&life->dice, 8 * WH_NS_PER_MS), act, life, 0);
}

/* What its disk says, for people. */
static void tell_standing(const struct dormant_life *life)
{
	struct wh_standing_file file = {.number = 0};
	struct wh_directory *directory;
	struct wh_standing is;
	struct wh_error err;
	char path[32];

	snprintf(path, sizeof(path), DORMANT_LOG_DIR "/%u", (unsigned)life->id);
	if (!life->play->verbose ||
	    wh_sim_disk_open_kept(dormant_disk(life->play->world, life->id), path, &directory, &err) != WHORL_OK)
		return;
	if (wh_standing_open(&file, directory, &is, NULL, &err) == WHORL_OK) {
		dormant_tell(life,
			     "its disk: %s, view %" PRIu64 " (%" PRIx64 ")%s%s, agreed to %" PRIx64 " by %" PRIx64
			     ", promised %" PRIx64,
			     is.group != 0 ? "of a group" : "blank", is.number, is.base, is.first ? ", first" : "",
			     is.left ? ", left" : "", is.next, is.ballot, is.promised);
		for (uint32_t i = 0; i < is.shard_count; i++)
			dormant_tell(life, "  %" PRIx64 " %s: %s, behind %" PRIx64 " at %" PRIu64,
				     is.shards[i].subgroup, is.shards[i].name,
				     is.shards[i].whole ? "whole" : "not whole", is.shards[i].before,
				     is.shards[i].begins);
		for (uint32_t i = 0; i < is.dormant_count; i++)
			dormant_tell(life, "  %" PRIx64 " %s: dormant since %" PRIu64 ", cut %" PRIi64 ", %s",
				     is.dormant[i].shard.subgroup, is.dormant[i].shard.name, is.dormant[i].number,
				     (int64_t)is.dormant[i].cut, is.dormant[i].shard.whole ? "whole" : "not whole");
		wh_standing_free(&is);
	}
	wh_standing_close(&file);
	directory->ops->close(directory);
}

static void begin_life(struct dormant_play *play, uint32_t id)
{
	struct dormant_life *life = dormant_must(calloc(1, sizeof(*life)));
	const struct dormant_program program = {.opened = opened, .passed = passed, .ctx = life};

	*life = (struct dormant_life){.play = play, .number = play->life_count, .id = id};
	life->dice = wh_dice_split(play->seed, 10 + life->number);
	play->lives = dormant_more(play->lives, play->life_count, sizeof(struct dormant_life *));
	play->lives[play->life_count++] = life;
	dormant_tell(life, "begins");
	tell_standing(life);
	life->process = dormant_process_new(play->world, id, &program);
	if (life->process != NULL)
		dormant_after(play->world, wh_dice_below(&life->dice, 8 * WH_NS_PER_MS), act, life, 0);
	else if (dormant_broken(play->world) != NULL)
		dormant_fail(play, "node %u does not open: %s", id, dormant_broken(play->world));
	else
		dormant_tell(life, "does not open now");
}

static struct dormant_life *life_of(const struct dormant_play *play, uint32_t id)
{
	for (uint32_t i = play->life_count; i-- > 0;)
		if (play->lives[i]->id == id)
			return play->lives[i];
	return NULL;
}

static bool has_ended(const struct dormant_life *life)
{
	return life == NULL || life->process == NULL || dormant_has_ended(life->process);
}

/* Of lives that have ended nothing is left. */
static void end_lives(struct dormant_play *play)
{
	for (uint32_t i = 0; i < play->life_count; i++)
		if (has_ended(play->lives[i]))
			dormant_program_end(play->lives[i]);
}

/* ---- faults -------------------------------------------------------------------------------------------------------------------- */

static void cut_power_of_all(struct dormant_play *play)
{
	for (uint32_t id = 0; id < play->ids; id++)
		dormant_cut_power(play->world, id);
	if (play->verbose)
		printf("%12.6f the power goes\n", (double)dormant_now(play->world) / 1e9);
}

static void restore_speed(void *ctx, uint64_t id)
{
	const struct dormant_play *play = ctx;

	wh_sim_disk_cost_set(dormant_disk(play->world, (uint32_t)id), &play->cost);
}

static void slow_disk(struct dormant_play *play, uint32_t id)
{
	uint64_t factor = wh_dice_between(&play->dice, 2, 64);
	struct wh_sim_disk_cost cost = play->cost;

	cost.write_max_ns *= factor;
	cost.sync_min_ns *= factor;
	cost.sync_max_ns *= factor;
	wh_sim_disk_cost_set(dormant_disk(play->world, id), &cost);
	dormant_after(play->world, wh_dice_below(&play->dice, 300 * WH_NS_PER_MS), restore_speed, play, id);
}

/* Another disk: of one node at most, and when there is a group. Not of the only node that forms one: it would form another. */
static void lose_disk(struct dormant_play *play, uint32_t id)
{
	const struct dormant_life *life = life_of(play, id);

	if (!play->loses_disks || play->one_host || play->founders < 2 || play->lost_disks != 0 || life == NULL ||
	    !has_ended(life) || dormant_now(play->world) < WH_NS_PER_S / 2)
		return;
	dormant_tell(life, "has another disk");
	dormant_replace_disk(play->world, id);
	play->lost_disks |= 1u << id;
}

static void harm(struct dormant_play *play, struct dormant_life *life)
{
	struct wh_dice *dice = &play->dice;

	switch (wh_dice_below(dice, 7)) {
	case 0:
		dormant_tell(life, "is killed");
		dormant_kill(life->process);
		break;
	case 1:
		dormant_tell(life, "loses its power");
		dormant_cut_power(play->world, life->id);
		break;
	case 2:
		dormant_tell(life, "is to lose its power");
		dormant_cut_power_at(life->process, wh_dice_between(dice, 1, 40));
		break;
	case 3:
	case 4:
		if (life->id < play->founders && play->founders < play->ids)
			break; /* the others could not go on without one of these */
		dormant_tell(life, "closes");
		dormant_close(life->process, CLOSE_MS);
		break;
	case 5:
		dormant_tell(life, "stands still");
		dormant_stall(life->process, wh_dice_below(dice, 200 * WH_NS_PER_MS));
		break;
	default:
		slow_disk(play, life->id);
	}
}

static void do_fault(struct dormant_play *play)
{
	struct wh_dice *dice = &play->dice;
	uint32_t id = (uint32_t)wh_dice_below(dice, play->ids);
	struct dormant_life *life = life_of(play, id);

	if (wh_dice_one_in(dice, 10)) {
		cut_power_of_all(play);
	} else if (wh_dice_one_in(dice, 8)) {
		dormant_cut(play->world, id, (uint32_t)wh_dice_below(dice, play->ids),
			    wh_dice_below(dice, wh_dice_one_in(dice, 4) ? 300 * WH_NS_PER_MS : 30 * WH_NS_PER_MS));
	} else if (!has_ended(life)) {
		harm(play, life);
	} else {
		if (wh_dice_one_in(dice, 4))
			lose_disk(play, id);
		begin_life(play, id);
	}
}

/* ---- the run ------------------------------------------------------------------------------------------------------------------- */

static bool goes_until(struct dormant_play *play, uint64_t until_ns)
{
	while (!dormant_failed(play) && dormant_step(play->world, until_ns))
		continue;
	if (dormant_broken(play->world) != NULL)
		dormant_fail(play, "%s", dormant_broken(play->world));
	end_lives(play);
	return !dormant_failed(play);
}

static bool goes_on(struct dormant_play *play, uint64_t ns)
{
	return goes_until(play, dormant_now(play->world) + ns);
}

/* Now and then all that have ended come back, or some. */
static void bring_back(struct dormant_play *play)
{
	for (uint32_t id = 0; id < play->ids; id++)
		if (has_ended(life_of(play, id)) && !dormant_failed(play) &&
		    (play->calm || wh_dice_one_in(&play->dice, 2)))
			begin_life(play, id);
}

/* On one host: it hears too few, and may never learn that they have ended; or it seeks, and speaks for the disks of others that do not open
 * meanwhile, as none waits for its directory here. */
static bool waits_for_others(const struct dormant_play *play, whorl_node *node)
{
	return play->one_host && (whorl_error(node, NULL, 0) == WHORL_NO_QUORUM || wh_inspect_view(node) == NULL);
}

/* In the end one that waits for long is ended, as an operator does. */
static void end_those_that_wait(struct dormant_play *play)
{
	for (uint32_t i = 0; i < play->life_count; i++) {
		struct dormant_life *life = play->lives[i];
		whorl_node *node = has_ended(life) ? NULL : dormant_node(life->process);

		if (node == NULL || !waits_for_others(play, node))
			life->alone_ns = 0;
		else if (life->alone_ns == 0)
			life->alone_ns = dormant_now(play->world);
		else if (dormant_now(play->world) - life->alone_ns > PATIENCE_NS)
			dormant_kill(life->process);
	}
}

static const struct dormant_stay *stay_of(const struct dormant_play *play, uint32_t id, uint32_t name)
{
	const struct dormant_life *life = life_of(play, id);

	return has_ended(life) ? NULL : life->stays[name];
}

/* Its log may have been on the disk that was lost, and nowhere else. */
static bool is_excused(const struct dormant_play *play, uint32_t name)
{
	for (uint32_t id = 0; id < play->ids && play->lost_disks != 0; id++) {
		const struct dormant_life *life = life_of(play, id);
		whorl_node *node = has_ended(life) ? NULL : dormant_node(life->process);

		if (node != NULL && (wh_inspect_view(node) == NULL ||
				     wh_view_dormant(wh_inspect_view(node), play->names[name].name) != NULL))
			return true;
	}
	return false;
}

static bool all_are(const struct dormant_play *play, bool (*is)(const struct dormant_stay *stay))
{
	for (uint32_t name = 0; name < play->name_count; name++)
		for (uint32_t id = 0; id < play->ids; id++) {
			const struct dormant_stay *stay = stay_of(play, id, name);

			if (stay == NULL || !is(stay))
				return false;
		}
	return true;
}

static bool is_ready(const struct dormant_stay *stay)
{
	return stay->ready;
}

static void say_who_waits(struct dormant_play *play, const char *what)
{
	char text[256], why[1024] = "";

	for (uint32_t name = 0; name < play->name_count; name++)
		for (uint32_t id = 0; id < play->ids; id++) {
			const struct dormant_stay *stay = stay_of(play, id, name);
			size_t length = strlen(why);

			snprintf(text, sizeof(text), "-");
			if (stay != NULL && stay->subgroup != NULL)
				(void)whorl_subgroup_error(stay->subgroup, text, sizeof(text));
			if (stay == NULL || !stay->ready)
				snprintf(why + length, sizeof(why) - length, "; node %u, %s: %.100s", id,
					 play->names[name].name, text);
		}
	for (uint32_t id = 0; id < play->ids; id++) {
		const struct dormant_life *life = life_of(play, id);

		if (has_ended(life) || dormant_node(life->process) == NULL)
			continue;
		whorl_progress(dormant_node(life->process), text, sizeof(text));
		dormant_tell(life, "%s", text);
	}
	dormant_fail(play, "progress: %s%.400s", what, why);
}

static bool await(struct dormant_play *play, bool (*is)(const struct dormant_stay *stay), const char *what)
{
	uint64_t end_ns = dormant_now(play->world) + END_NS;

	while (!all_are(play, is) && dormant_now(play->world) < end_ns && goes_on(play, LOOK_NS)) {
		end_those_that_wait(play);
		bring_back(play);
	}
	if (dormant_failed(play))
		return false;
	for (uint32_t name = 0; name < play->name_count; name++)
		for (uint32_t id = 0; id < play->ids; id++) {
			const struct dormant_stay *stay = stay_of(play, id, name);

			if ((stay == NULL || !is(stay)) && !is_excused(play, name)) {
				say_who_waits(play, what);
				return false;
			}
		}
	return all_are(play, is);
}

/* Nothing happens any more. All come back, and all enter all names: they are told the same. */
static bool come_to_rest(struct dormant_play *play)
{
	play->calm = true;
	if (!await(play, is_ready, "not all are ready"))
		return false;
	if (!goes_on(play, wh_dice_below(&play->dice, 200 * WH_NS_PER_MS)))
		return false;
	play->silent = true;
	if (!await(play, dormant_is_quiet, "not all are told the same"))
		return false;
	dormant_check_drained(play);
	return !dormant_failed(play);
}

/* The power goes: what was told before is told again. */
static void check_again(struct dormant_play *play)
{
	size_t before[DORMANT_NAMES];

	for (uint32_t name = 0; name < play->name_count; name++)
		before[name] = dormant_newest(play, name)->count;
	cut_power_of_all(play);
	if (!await(play, dormant_is_quiet, "behind a loss of power not all are told the same"))
		return;
	for (uint32_t name = 0; name < play->name_count; name++)
		if (dormant_newest(play, name)->count != before[name])
			dormant_fail(play, "order: in %s there are other messages behind a loss of power",
				     play->names[name].name);
}

static void run(struct dormant_play *play, uint32_t founders)
{
	static const uint64_t gaps_ns[] = {5 * WH_NS_PER_MS, 50 * WH_NS_PER_MS, 300 * WH_NS_PER_MS};
	uint64_t gap_ns = gaps_ns[wh_dice_below(&play->dice, 3)];
	uint32_t faults = (uint32_t)wh_dice_below(&play->dice, 24);

	for (uint32_t id = 0; id < founders; id++)
		begin_life(play, id);
	if (!goes_on(play, wh_dice_below(&play->dice, wh_dice_one_in(&play->dice, 4) ? 10 * WH_NS_PER_MS : WH_NS_PER_S)))
		return;
	for (uint32_t i = 0; i < faults; i++) {
		if (!goes_on(play, wh_dice_below(&play->dice, gap_ns)))
			return;
		do_fault(play);
		if (wh_dice_one_in(&play->dice, 5) && !dormant_failed(play))
			bring_back(play);
	}
	if (!goes_on(play, wh_dice_below(&play->dice, gap_ns)) || !come_to_rest(play))
		return;
	if (wh_dice_one_in(&play->dice, 2))
		check_again(play);
}

/* ---- the end ------------------------------------------------------------------------------------------------------------------- */

/* Also of a run that was broken: what is open is closed. */
static bool end_all(struct dormant_play *play)
{
	uint64_t end_ns = dormant_now(play->world) + 120 * WH_NS_PER_S;
	uint32_t left = play->life_count;

	for (uint32_t i = 0; i < play->life_count; i++)
		if (!has_ended(play->lives[i]))
			dormant_close(play->lives[i]->process, 1);
	while (left > 0 && dormant_now(play->world) < end_ns && dormant_broken(play->world) == NULL) {
		while (dormant_step(play->world, dormant_now(play->world) + LOOK_NS))
			continue;
		left = 0;
		for (uint32_t i = 0; i < play->life_count; i++)
			left += !has_ended(play->lives[i]);
	}
	if (left > 0)
		dormant_fail(play, "progress: a process does not end");
	if (dormant_broken(play->world) != NULL)
		dormant_fail(play, "%s", dormant_broken(play->world));
	return left == 0;
}

static void free_play(struct dormant_play *play)
{
	for (uint32_t i = 0; i < play->stay_count; i++)
		dormant_stay_free(play->stays[i]);
	for (uint32_t i = 0; i < play->birth_count; i++) {
		free(play->births[i]->order);
		free(play->births[i]);
	}
	for (uint32_t i = 0; i < play->life_count; i++)
		free(play->lives[i]);
	free(play->stays);
	free(play->births);
	free(play->lives);
}

static void draw_names(struct dormant_play *play)
{
	play->name_count = (uint32_t)wh_dice_between(&play->dice, 1, DORMANT_NAMES);
	for (uint32_t i = 0; i < play->name_count; i++) {
		struct dormant_name *name = &play->names[i];

		snprintf(name->name, sizeof(name->name), "topic%u", i);
		name->has_state = wh_dice_one_in(&play->dice, 2);
		name->log_bytes = wh_dice_one_in(&play->dice, 2) ? 1 << 20 : wh_dice_between(&play->dice, 256, 16384);
		name->window = (uint32_t)wh_dice_between(&play->dice, 2, 16);
	}
}

/* Mostly as those of data centres, some as disks that turn. */
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

static struct dormant_world_options draw(struct dormant_play *play)
{
	static const char *const subgroups[] = {"", "[subgroup file]\n", "[subgroup file]\nmode = durable\n"};
	struct dormant_world_options out = {.seed = play->seed, .verbose = play->verbose};

	play->dice = wh_dice_split(play->seed, 1);
	play->ids = (uint32_t)wh_dice_between(&play->dice, 3, DORMANT_IDS);
	out.ids = play->ids;
	out.founders = play->founders = (uint32_t)wh_dice_between(&play->dice, 1, play->ids);
	out.one_host = play->one_host = wh_dice_one_in(&play->dice, 3);
	out.subgroups = subgroups[wh_dice_below(&play->dice, 3)];
	out.batch_bytes = wh_dice_one_in(&play->dice, 4) ? 0 : (uint32_t)wh_dice_between(&play->dice, 64, 8192);
	out.cost = play->cost = draw_cost(&play->dice);
	play->loses_disks = wh_dice_one_in(&play->dice, 4);
	play->begins_anew = wh_dice_one_in(&play->dice, 4);
	draw_names(play);
	return out;
}

/* The digest of all that has happened. */
static uint64_t play_once(uint64_t seed, bool verbose, char *verdict, size_t verdict_bytes)
{
	struct dormant_play play = {
		.seed = seed, .verbose = verbose, .verdict = verdict, .verdict_bytes = verdict_bytes};
	struct dormant_world_options options = draw(&play);
	uint64_t digest = 0;

	verdict[0] = '\0';
	play.world = dormant_must(dormant_world_new(&options));
	run(&play, options.founders);
	if (end_all(&play)) {
		digest = dormant_digest(play.world);
		dormant_world_free(play.world);
	}
	free_play(&play);
	return digest;
}

bool dormant_play(uint64_t seed, bool verbose, char *verdict, size_t verdict_bytes)
{
	uint64_t digest = play_once(seed, verbose, verdict, verdict_bytes);

	if (verdict[0] == '\0' && seed % 16 == 0 && play_once(seed, false, verdict, verdict_bytes) != digest)
		snprintf(verdict, verdict_bytes, "the same seed has given another run");
	return verdict[0] == '\0';
}
