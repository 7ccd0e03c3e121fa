/* delegates_play.c - see delegates_play.h. */
#include "tests/sim/delegates_play.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IDS 5
#define CALM_NS (2 * WH_NS_PER_S) /* behind the last fault */

void delegates_fail(struct delegates_play *play, const char *format, ...)
{
	va_list arguments;

	if (delegates_failed(play))
		return;
	va_start(arguments, format);
	vsnprintf(play->verdict, play->verdict_bytes, format, arguments);
	va_end(arguments);
}

bool delegates_failed(const struct delegates_play *play)
{
	return play->verdict[0] != '\0';
}

void *delegates_must(void *memory)
{
	if (memory != NULL)
		return memory;
	fprintf(stderr, "no memory for a run\n");
	exit(2);
}

void delegates_tell(const struct delegates_life *life, const char *format, ...)
{
	va_list arguments;

	if (!life->play->verbose)
		return;
	va_start(arguments, format);
	printf("%12.6f node %u: ", (double)delegates_now(life->play->world) / 1e9, (unsigned)life->id);
	vprintf(format, arguments);
	printf("\n");
	va_end(arguments);
}

/* ---- lives --------------------------------------------------------------------------------------------------------------------- */

static void begin(void *ctx, whorl_work *work)
{
	struct delegates_life *life = ctx;

	(void)work;
	life->begun = true;
	delegates_tell(life, "has %u workers", (unsigned)life->workers);
	delegates_begin(life);
}

static void act(void *ctx)
{
	struct delegates_life *life = ctx;
	struct delegates_seat *seat = &life->seats[DELEGATES_WORKERS];

	if (life->acts_left > 0) {
		life->acts_left--;
		delegates_act(seat);
	} else if (life->play->winding_up) {
		delegates_drop_all(seat);
	}
	(void)whorl_poll(delegates_work(life->process),
			 0); /* what it has given back is sent, and what has come is taken */
}

static void begin_life(struct delegates_play *play, uint32_t id, bool joins)
{
	struct delegates_life *life = delegates_must(calloc(1, sizeof(*life)));
	struct delegates_program program = {.joins = joins, .begin = begin, .act = act, .ctx = life};

	*life = (struct delegates_life){.play = play, .number = play->life_count, .id = id};
	life->dice = wh_dice_split(play->seed, 10 + life->number);
	life->workers = play->workers;
	if (wh_dice_one_in(&life->dice, 4))
		life->workers = (uint32_t)wh_dice_between(&life->dice, 1, DELEGATES_WORKERS);
	life->odd = wh_dice_one_in(&life->dice, 12);
	life->acts_left = (uint32_t)wh_dice_below(&life->dice, 30);
	for (uint32_t i = 0; i < DELEGATES_SEATS; i++)
		life->seats[i] = (struct delegates_seat){.life = life, .worker = i};
	play->lives[play->life_count++] = life;
	program.work = delegates_options(life->odd);
	program.work.workers = life->workers;
	life->process = delegates_must(delegates_process_new(play->world, id, &program));
}

static bool is_alive(const struct delegates_life *life)
{
	return !delegates_is_dead(life->process) && !delegates_leaves(life->process) &&
	       !delegates_has_ended(life->process);
}

/* It has nothing more to do. */
static bool is_done(const struct delegates_life *life)
{
	if (!is_alive(life) || !life->begun)
		return true;
	for (uint32_t i = 0; i < DELEGATES_SEATS; i++)
		if (life->seats[i].fibers > 0 || life->seats[i].outstanding > 0)
			return false;
	return life->acts_left == 0;
}

static bool all_are(const struct delegates_play *play, bool (*are)(const struct delegates_life *life))
{
	for (uint32_t i = 0; i < play->life_count; i++)
		if (!are(play->lives[i]))
			return false;
	return true;
}

static bool has_nothing(const struct delegates_life *life)
{
	return is_done(life) && (!is_alive(life) || !life->begun || life->seats[DELEGATES_WORKERS].count == 0);
}

static bool has_ended(const struct delegates_life *life)
{
	return delegates_has_ended(life->process);
}

static struct delegates_life *life_of(const struct delegates_play *play, uint32_t id)
{
	for (uint32_t i = play->life_count; i-- > 0;)
		if (play->lives[i]->id == id)
			return play->lives[i];
	return NULL;
}

/* ---- faults -------------------------------------------------------------------------------------------------------------------- */

static uint32_t living(const struct delegates_play *play)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < play->life_count; i++)
		count += is_alive(play->lives[i]);
	return count;
}

static void cut(struct delegates_play *play, uint32_t one, uint32_t other)
{
	uint64_t most_ns = wh_dice_one_in(&play->dice, 4) ? 300 * WH_NS_PER_MS : 30 * WH_NS_PER_MS;

	if (!delegates_cut(play->world, one, other, wh_dice_below(&play->dice, most_ns)))
		return;
	play->cuts[one] |= UINT64_C(1) << other;
	play->cuts[other] |= UINT64_C(1) << one;
	if (play->verbose)
		printf("%12.6f nodes %u and %u do not hear each other\n", (double)delegates_now(play->world) / 1e9, one,
		       other);
}

static void kill(struct delegates_life *life)
{
	if (!delegates_kill(life->process))
		return;
	life->killed_ns = delegates_now(life->play->world);
	life->went_early = true;
	delegates_tell(life, "is killed");
}

static void leave(struct delegates_life *life)
{
	life->leaving_ns = delegates_now(life->play->world);
	delegates_tell(life, "leaves");
	delegates_leave(life->process);
}

static void stall(struct delegates_life *life)
{
	struct wh_dice *dice = &life->play->dice;

	delegates_tell(life, "stands still");
	if (wh_dice_one_in(dice, 3)) {
		life->stood_still = true;
		delegates_stall(life->process, wh_dice_below(dice, 200 * WH_NS_PER_MS));
	} else {
		delegates_stall_worker(life->process, (uint32_t)wh_dice_below(dice, life->workers),
				       wh_dice_below(dice, 200 * WH_NS_PER_MS));
	}
}

static void do_fault(struct delegates_play *play)
{
	uint32_t id = (uint32_t)wh_dice_below(&play->dice, IDS);
	struct delegates_life *life = life_of(play, id);
	bool may_end = life != NULL && is_alive(life) && living(play) > 2;

	switch (wh_dice_below(&play->dice, 6)) {
	case 0:
		if (may_end)
			kill(life);
		break;
	case 1:
		if (may_end) {
			life->went_early = true;
			leave(life);
		}
		break;
	case 2:
		if (life != NULL && is_alive(life))
			stall(life);
		break;
	case 3:
		cut(play, id, (uint32_t)wh_dice_below(&play->dice, IDS));
		break;
	default:
		if (play->life_count < DELEGATES_LIVES && (life == NULL || has_ended(life)))
			begin_life(play, id, true);
	}
}

/* ---- the run ------------------------------------------------------------------------------------------------------------------- */

/* What is told that the others go on without it is closed. */
static void close_removed(struct delegates_play *play)
{
	for (uint32_t i = 0; i < play->life_count; i++)
		if (is_alive(play->lives[i]) && delegates_has_failed(play->lives[i]->process))
			leave(play->lives[i]);
}

static bool goes_until(struct delegates_play *play, uint64_t until_ns)
{
	close_removed(play);
	while (!delegates_failed(play) && delegates_step(play->world, until_ns))
		continue;
	if (delegates_broken(play->world) != NULL)
		delegates_fail(play, "%s", delegates_broken(play->world));
	return !delegates_failed(play);
}

static void tell_open_calls(const struct delegates_play *play)
{
	for (uint32_t i = 0; i < play->call_count; i++) {
		const struct delegates_call *call = play->calls[i];

		if (call->ends == 0 && is_alive(call->life))
			delegates_tell(call->life,
				       "call %u (%s) of thing %u at node %u, since %.6f: not ended, run %u times",
				       call->number, call->function == NULL ? "handle" : call->function->name,
				       call->thing->number, (unsigned)call->thing->home->id,
				       (double)call->began_ns / 1e9, (unsigned)call->runs);
	}
}

static bool await(struct delegates_play *play, bool (*are)(const struct delegates_life *life), const char *what)
{
	uint64_t end_ns = delegates_now(play->world) + 600 * WH_NS_PER_S;

	while (!all_are(play, are) && delegates_now(play->world) < end_ns &&
	       goes_until(play, delegates_now(play->world) + 20 * WH_NS_PER_MS))
		continue;
	for (uint32_t i = 0; i < play->life_count; i++)
		if (!are(play->lives[i]) && !delegates_failed(play)) {
			tell_open_calls(play);
			delegates_fail(play, "progress: of node %u %s", (unsigned)play->lives[i]->id, what);
		}
	return !delegates_failed(play);
}

/* At the workers of the living nothing is left. */
static void count_properties(struct delegates_play *play)
{
	for (uint32_t i = 0; i < play->thing_count; i++) {
		struct delegates_thing *thing = play->things[i];

		thing->kept = thing->drops == 0 && is_alive(thing->home) && thing->home->begun;
	}
	for (uint32_t i = 0; i < play->life_count; i++) {
		struct delegates_life *life = play->lives[i];
		struct whorl_worker_stats stats = {.size = sizeof(stats)};

		for (uint32_t w = 0; w < life->workers && is_alive(life) && life->begun; w++) {
			(void)whorl_worker_statistics(delegates_work(life->process), w, &stats);
			life->left += (uint32_t)stats.properties;
		}
	}
}

static void run(struct delegates_play *play, uint32_t founders)
{
	static const uint64_t gaps_ns[] = {3 * WH_NS_PER_MS, 30 * WH_NS_PER_MS, 100 * WH_NS_PER_MS};
	uint64_t gap_ns =
		gaps_ns[wh_dice_below(&play->dice, 3)]; /* programs are mostly busy in the first milliseconds */
	uint32_t faults = (uint32_t)wh_dice_below(&play->dice, 10);

	for (uint32_t id = 0; id < founders; id++)
		begin_life(play, id, false);
	for (uint32_t i = 0; i < faults; i++) {
		if (!goes_until(play, delegates_now(play->world) + wh_dice_below(&play->dice, gap_ns)))
			return;
		do_fault(play);
	}
	if (!goes_until(play, delegates_now(play->world) + CALM_NS) || !await(play, is_done, "a fiber does not end"))
		return;
	play->winding_up = true;
	for (uint32_t i = 0; i < play->life_count; i++)
		if (is_alive(play->lives[i]) && play->lives[i]->begun)
			delegates_wind_up(play->lives[i]);
	if (!await(play, has_nothing, "a handle is not given back") ||
	    !goes_until(play, delegates_now(play->world) + CALM_NS))
		return;
	count_properties(play);
	play->calm = true;
}

/* Also of a run that was broken: what is open is closed. */
static bool end_all(struct delegates_play *play)
{
	uint64_t end_ns = delegates_now(play->world) + 120 * WH_NS_PER_S;

	for (uint32_t i = 0; i < play->life_count; i++)
		if (is_alive(play->lives[i]))
			leave(play->lives[i]);
	while (!all_are(play, has_ended) && delegates_now(play->world) < end_ns &&
	       delegates_step(play->world, delegates_now(play->world) + 20 * WH_NS_PER_MS))
		continue;
	if (!all_are(play, has_ended))
		delegates_fail(play, "progress: a process does not end");
	if (delegates_broken(play->world) != NULL)
		delegates_fail(play, "%s", delegates_broken(play->world));
	return all_are(play, has_ended);
}

static void free_play(struct delegates_play *play)
{
	for (uint32_t i = 0; i < play->thing_count; i++)
		free(play->things[i]);
	for (uint32_t i = 0; i < play->handle_count; i++)
		free(play->handles[i]);
	for (uint32_t i = 0; i < play->call_count; i++)
		free(play->calls[i]);
	for (uint32_t i = 0; i < play->life_count; i++) {
		for (uint32_t s = 0; s < DELEGATES_SEATS; s++)
			free(play->lives[i]->seats[s].handles);
		free(play->lives[i]);
	}
	free(play->things);
	free(play->handles);
	free(play->calls);
}

/* The digest of all that has happened. */
static uint64_t play_once(uint64_t seed, bool verbose, char *verdict, size_t verdict_bytes)
{
	struct delegates_play play = {
		.seed = seed, .verbose = verbose, .verdict = verdict, .verdict_bytes = verdict_bytes};
	struct delegates_world_options options = {.seed = seed, .ids = IDS, .verbose = verbose};
	uint64_t digest;

	verdict[0] = '\0';
	play.dice = wh_dice_split(seed, 1);
	options.founders = (uint32_t)wh_dice_between(&play.dice, 1, 4);
	options.one_host = wh_dice_one_in(&play.dice, 2);
	play.workers = (uint32_t)wh_dice_between(&play.dice, 1, DELEGATES_WORKERS);
	play.world = delegates_must(delegates_world_new(&options));
	delegates_set_play(&play);
	run(&play, options.founders);
	if (end_all(&play)) {
		digest = delegates_digest(play.world);
		if (!delegates_failed(&play))
			delegates_judge(&play);
		delegates_world_free(play.world);
	} else {
		digest = 0;
	}
	delegates_set_play(NULL);
	free_play(&play);
	return digest;
}

bool delegates_play(uint64_t seed, bool verbose, char *verdict, size_t verdict_bytes)
{
	uint64_t digest = play_once(seed, verbose, verdict, verdict_bytes);

	if (verdict[0] == '\0' && seed % 16 == 0 && play_once(seed, false, verdict, verdict_bytes) != digest)
		snprintf(verdict, verdict_bytes, "the same seed has given another run");
	return verdict[0] == '\0';
}
