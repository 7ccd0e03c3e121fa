/* trusts_play.c - see trusts_play.h. */
#include "tests/sim/trusts_play.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delegation/shard.h"
#include "group/layer.h"

#define CALM_NS (2 * WH_NS_PER_S) /* behind the last fault */

void trusts_fail(struct trusts_play *play, const char *format, ...)
{
	va_list arguments;

	if (trusts_failed(play))
		return;
	va_start(arguments, format);
	vsnprintf(play->verdict, play->verdict_bytes, format, arguments);
	va_end(arguments);
}

bool trusts_failed(const struct trusts_play *play)
{
	return play->verdict[0] != '\0';
}

void *trusts_must(void *memory)
{
	if (memory != NULL)
		return memory;
	fprintf(stderr, "no memory for a run\n");
	exit(2);
}

void trusts_tell(const struct trusts_life *life, const char *format, ...)
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

/* ---- lives ----------------------------------------------------------------------------------------------------------------------- */

/* Between the opening of its work and the start of its node. */
static void serve(void *ctx, whorl_work *work, whorl_node *node)
{
	struct trusts_life *life = ctx;

	life->shard = whorl_subgroup_find(node, "all");
	if (whorl_work_serve(work, life->shard, (uint32_t)wh_dice_below(&life->dice, TRUSTS_WORKERS)) != WHORL_OK) {
		trusts_fail(life->play, "serve: %s", whorl_invalid_text());
		return;
	}
	work->shards[0]->queue.calls_most = life->play->waits;
}

static void begin(void *ctx, whorl_work *work)
{
	struct trusts_life *life = ctx;

	(void)work;
	life->begun = true;
	trusts_tell(life, "begins");
	trusts_begin(life);
}

static void act(void *ctx)
{
	struct trusts_life *life = ctx;
	struct trusts_seat *seat = &life->seats[TRUSTS_WORKERS];

	if (life->acts_left > 0) {
		life->acts_left--;
		trusts_act(seat);
	} else if (life->play->winding_up && !life->judged && !life->odd) {
		trusts_look_at_the_end(seat);
	}
	(void)whorl_poll(delegates_work(life->process), 0);
}

static void begin_life(struct trusts_play *play, uint32_t id, bool joins)
{
	struct trusts_life *life = trusts_must(calloc(1, sizeof(*life)));
	struct delegates_program program = {.joins = joins, .serve = serve, .begin = begin, .act = act, .ctx = life};

	*life = (struct trusts_life){.play = play, .number = play->life_count, .id = id};
	life->dice = wh_dice_split(play->seed, 10 + life->number);
	life->odd = joins && wh_dice_one_in(&life->dice, 8);
	life->acts_left = (uint32_t)wh_dice_below(&life->dice, 40);
	for (uint32_t i = 0; i < TRUSTS_SEATS; i++)
		life->seats[i] = (struct trusts_seat){.life = life, .worker = i};
	play->lives[play->life_count++] = life;
	program.work = trusts_options(life->odd);
	life->process = trusts_must(delegates_process_new(play->world, id, &program));
}

bool trusts_is_alive(const struct trusts_life *life)
{
	return !delegates_is_dead(life->process) && !delegates_leaves(life->process) &&
	       !delegates_has_ended(life->process);
}

/* It has nothing more to do. */
static bool is_done(const struct trusts_life *life)
{
	if (!trusts_is_alive(life) || !life->begun)
		return true;
	for (uint32_t i = 0; i < TRUSTS_SEATS; i++)
		if (life->seats[i].fibers > 0 || life->seats[i].outstanding > 0)
			return false;
	return life->acts_left == 0;
}

static bool is_judged(const struct trusts_life *life)
{
	return !trusts_is_alive(life) || !life->begun || life->judged || life->odd;
}

static bool has_ended(const struct trusts_life *life)
{
	return delegates_has_ended(life->process);
}

static bool all_are(const struct trusts_play *play, bool (*are)(const struct trusts_life *life))
{
	for (uint32_t i = 0; i < play->life_count; i++)
		if (!are(play->lives[i]))
			return false;
	return true;
}

static struct trusts_life *life_of(const struct trusts_play *play, uint32_t id)
{
	for (uint32_t i = play->life_count; i-- > 0;)
		if (play->lives[i]->id == id)
			return play->lives[i];
	return NULL;
}

/* ---- faults ---------------------------------------------------------------------------------------------------------------------- */

/* Those that have the state: newcomers that have not cannot stand in for them, though they count for a majority. */
static uint32_t having(const struct trusts_play *play)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < play->life_count; i++)
		count += trusts_is_alive(play->lives[i]) && play->lives[i]->begun &&
			 !delegates_has_failed(play->lives[i]->process);
	return count;
}

static uint32_t living(const struct trusts_play *play)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < play->life_count; i++)
		count += trusts_is_alive(play->lives[i]);
	return count;
}

static void cut(struct trusts_play *play, uint32_t one, uint32_t other)
{
	uint64_t most_ns = wh_dice_one_in(&play->dice, 4) ? 300 * WH_NS_PER_MS : 30 * WH_NS_PER_MS;

	if (!delegates_cut(play->world, one, other, wh_dice_below(&play->dice, most_ns)))
		return;
	for (uint32_t i = 0; i < play->life_count; i++)
		if (play->lives[i]->id == one || play->lives[i]->id == other)
			play->lives[i]->troubled = true;
	if (play->verbose)
		printf("%12.6f nodes %u and %u do not hear each other\n", (double)delegates_now(play->world) / 1e9, one,
		       other);
}

static void kill(struct trusts_life *life)
{
	if (!delegates_kill(life->process))
		return;
	life->killed_ns = delegates_now(life->play->world);
	trusts_tell(life, "is killed");
}

static void leave(struct trusts_life *life)
{
	life->leaving_ns = delegates_now(life->play->world);
	trusts_tell(life, "leaves");
	delegates_leave(life->process);
}

static void stall(struct trusts_life *life)
{
	struct wh_dice *dice = &life->play->dice;
	uint64_t ns = wh_dice_below(dice, 200 * WH_NS_PER_MS);

	trusts_tell(life, "stands still, or a worker of it");
	if (wh_dice_one_in(dice, 3)) {
		life->troubled = true;
		delegates_stall(life->process, ns);
	} else {
		delegates_stall_worker(life->process, (uint32_t)wh_dice_below(dice, TRUSTS_WORKERS), ns);
	}
}

static void do_fault(struct trusts_play *play)
{
	uint32_t id = (uint32_t)wh_dice_below(&play->dice, TRUSTS_IDS);
	struct trusts_life *life = life_of(play, id);
	bool alive = life != NULL && trusts_is_alive(life);
	bool may_end = alive && living(play) > 2 && (!life->begun || having(play) > 2);

	switch (wh_dice_below(&play->dice, 7)) {
	case 0:
		if (may_end)
			kill(life);
		break;
	case 1:
		if (may_end)
			leave(life);
		break;
	case 2:
	case 3:
		if (alive)
			stall(life);
		break;
	case 4:
		if (having(play) > 2)
			cut(play, id, (uint32_t)wh_dice_below(&play->dice, TRUSTS_IDS));
		break;
	default:
		if (play->life_count < TRUSTS_LIVES && (life == NULL || has_ended(life)))
			begin_life(play, id, true);
	}
}

/* ---- the run --------------------------------------------------------------------------------------------------------------------- */

#define STEP_NS (20 * WH_NS_PER_MS)
#define ENDS_NS WH_NS_PER_S /* what has failed is closed so much later: by then all of its calls have ended */

static void look_after(struct trusts_life *life)
{
	uint64_t now = delegates_now(life->play->world);
	enum whorl_result state = !trusts_is_alive(life) ? WHORL_OK : wh_layer_state(life->shard);

	if (state == WHORL_OK)
		life->bad_ns = 0;
	else if (life->bad_ns == 0)
		life->bad_ns = now;
	if (state != WHORL_OK && state != WHORL_NO_QUORUM && life->failed_ns == 0) {
		life->failed_ns = now;
		trusts_tell(life, "has failed: %s", whorl_result_text(state));
	}
	if (state != WHORL_OK && now - life->bad_ns > ENDS_NS)
		leave(life);
}

static bool goes_until(struct trusts_play *play, uint64_t until_ns)
{
	uint64_t now = delegates_now(play->world);

	while (!trusts_failed(play) && now < until_ns) {
		now = until_ns - now < STEP_NS ? until_ns : now + STEP_NS;
		for (uint32_t i = 0; i < play->life_count; i++)
			look_after(play->lives[i]);
		while (!trusts_failed(play) && delegates_step(play->world, now))
			continue;
		if (delegates_broken(play->world) != NULL)
			trusts_fail(play, "%s", delegates_broken(play->world));
	}
	return !trusts_failed(play);
}

static void tell_open_calls(const struct trusts_play *play)
{
	for (uint32_t i = 0; i < play->call_count; i++) {
		const struct trusts_call *call = play->calls[i];

		if (call->ends == 0 && trusts_is_alive(call->life))
			trusts_tell(call->life, "call %u (deed %d), since %.6f: not ended, place %u", call->number,
				    (int)call->deed, (double)call->began_ns / 1e9, (unsigned)call->place);
	}
}

static bool await(struct trusts_play *play, bool (*are)(const struct trusts_life *life), const char *what)
{
	uint64_t end_ns = delegates_now(play->world) + 600 * WH_NS_PER_S;

	while (!all_are(play, are) && delegates_now(play->world) < end_ns &&
	       goes_until(play, delegates_now(play->world) + STEP_NS))
		continue;
	for (uint32_t i = 0; i < play->life_count; i++)
		if (!are(play->lives[i]) && !trusts_failed(play)) {
			tell_open_calls(play);
			trusts_fail(play, "progress: of node %u %s", (unsigned)play->lives[i]->id, what);
		}
	return !trusts_failed(play);
}

static void run(struct trusts_play *play, uint32_t founders)
{
	static const uint64_t gaps_ns[] = {3 * WH_NS_PER_MS, 30 * WH_NS_PER_MS, 100 * WH_NS_PER_MS};
	uint64_t gap_ns = gaps_ns[wh_dice_below(&play->dice, 3)];
	uint32_t faults = (uint32_t)wh_dice_below(&play->dice, 12);

	for (uint32_t id = 0; id < founders; id++)
		begin_life(play, id, false);
	for (uint32_t i = 0; i < faults; i++) {
		if (!goes_until(play, delegates_now(play->world) + wh_dice_below(&play->dice, gap_ns)))
			return;
		do_fault(play);
	}
	if (!goes_until(play, delegates_now(play->world) + CALM_NS) || !await(play, is_done, "a call does not end") ||
	    !goes_until(play, delegates_now(play->world) + CALM_NS))
		return;
	play->winding_up = true;
	(void)await(play, is_judged, "the end is not seen");
}

/* Also of a run that was broken: what is open is closed. */
static bool end_all(struct trusts_play *play)
{
	uint64_t end_ns = delegates_now(play->world) + 120 * WH_NS_PER_S;

	for (uint32_t i = 0; i < play->life_count; i++)
		if (trusts_is_alive(play->lives[i]))
			leave(play->lives[i]);
	while (!all_are(play, has_ended) && delegates_now(play->world) < end_ns &&
	       delegates_step(play->world, delegates_now(play->world) + 20 * WH_NS_PER_MS))
		continue;
	if (!all_are(play, has_ended))
		trusts_fail(play, "progress: a process does not end");
	if (delegates_broken(play->world) != NULL)
		trusts_fail(play, "%s", delegates_broken(play->world));
	return all_are(play, has_ended);
}

static void free_play(struct trusts_play *play)
{
	for (uint32_t i = 0; i < play->thing_count; i++)
		free(play->things[i]);
	for (uint32_t i = 0; i < play->call_count; i++)
		free(play->calls[i]);
	for (uint32_t i = 0; i < play->life_count; i++) {
		free(play->lives[i]->seen);
		free(play->lives[i]->known);
		free(play->lives[i]);
	}
	free(play->things);
	free(play->calls);
}

static void draw_world(struct trusts_play *play, struct delegates_world_options *options, char *lines, size_t room)
{
	static const uint32_t windows[] = {4, 16, 64};
	static const uint64_t waits[] = {1, 5, 30, WH_SHARD_CALLS_WAIT};

	play->dice = wh_dice_split(play->seed, 1);
	options->founders = (uint32_t)wh_dice_between(&play->dice, 1, 4);
	options->one_host = wh_dice_one_in(&play->dice, 2);
	play->waits = waits[wh_dice_below(&play->dice, 4)];
	snprintf(lines, room, "window = %u\nmessage_bytes = 256\n%s", windows[wh_dice_below(&play->dice, 3)],
		 wh_dice_one_in(&play->dice, 2) ? "large_bytes = 1000\n" : "");
	options->subgroup = lines;
}

/* The digest of all that has happened. */
static uint64_t play_once(uint64_t seed, bool verbose, char *verdict, size_t verdict_bytes)
{
	struct trusts_play play = {.seed = seed, .verbose = verbose, .verdict = verdict, .verdict_bytes = verdict_bytes};
	struct delegates_world_options options = {.seed = seed, .ids = TRUSTS_IDS, .verbose = verbose};
	uint64_t digest = 0;
	char lines[128];

	verdict[0] = '\0';
	draw_world(&play, &options, lines, sizeof(lines));
	play.world = trusts_must(delegates_world_new(&options));
	trusts_set_play(&play);
	run(&play, options.founders);
	if (end_all(&play)) {
		digest = delegates_digest(play.world);
		if (!trusts_failed(&play))
			trusts_judge(&play);
		delegates_world_free(play.world);
	}
	trusts_set_play(NULL);
	free_play(&play);
	return digest;
}

bool trusts_play(uint64_t seed, bool verbose, char *verdict, size_t verdict_bytes)
{
	uint64_t digest = play_once(seed, verbose, verdict, verdict_bytes);

	if (verdict[0] == '\0' && seed % 16 == 0 && play_once(seed, false, verdict, verdict_bytes) != digest)
		snprintf(verdict, verdict_bytes, "the same seed has given another run");
	return verdict[0] == '\0';
}
