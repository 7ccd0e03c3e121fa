/* delegate_sssp_part.c - a node of `whorl delegate sssp`: its parts, which are properties, and, at node 0, the fiber that begins runs and sees that they
 * have ended. See delegate_sssp.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "tools/delegate_sssp.h"

/* Arcs that a part looks at before what others have sent has its turn. With fewer it makes more passes; with more it goes on for longer with
 * distances that others know to be too large. */
#define STEP_ARCS 4096
/* Relaxations in a call: as many as are not cut up, and four of them fill a slot between nodes. */
#define BATCH 126
#define CALL_MS 10000

/* ---- a part ----------------------------------------------------------------------------------------------------------------- */

struct part {
	struct wh_paths *paths;
	struct wh_sssp_player *player;
	uint32_t number;
	uint32_t stepping; /* a step has been sent, and has not run */
};

static void part_drop(void *property)
{
	struct part *part = property;

	wh_paths_free(part->paths);
}

static WHORL_TYPE_WITH(part_type, struct part, part_drop, WHORL_TYPE_STAYS);

struct begin_args {
	whorl_shared *player; /* of a struct wh_sssp_player * */
	uint64_t part;
};

struct root {
	uint64_t vertex;
};

struct look {
	struct wh_paths_counts counts;
	uint64_t failed;
};

WHORL_FUNCTION_DECLARED(sssp_step, struct part, struct whorl_none, struct whorl_none);
extern const struct whorl_function sssp_relax;

/* Of relaxations; with what came of each call. */
static void note_sent(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	struct wh_sssp_player *player = ctx;

	(void)answer;
	(void)bytes;
	if (result != WHORL_OK)
		atomic_store_explicit(&player->failed, 1, memory_order_relaxed);
}

/* What cannot be sent at all is not tried again: the run fails. */
static bool send_relaxations(void *ctx, uint32_t to, const struct wh_relaxation *list, uint32_t count)
{
	struct wh_sssp_player *player = ((struct part *)ctx)->player;
	enum whorl_result result =
		whorl_apply_bytes_then(&player->trusts[to], sssp_relax, list, count * sizeof(*list), note_sent, player);

	if (result == WHORL_AGAIN)
		return false;
	if (result != WHORL_OK)
		atomic_store_explicit(&player->failed, 1, memory_order_relaxed);
	return true;
}

/* It goes to the end of what waits here, so what has come before has its turn first. */
static void send_step(struct part *part)
{
	enum whorl_result result =
		whorl_apply_then(&part->player->trusts[part->number], sssp_step, NULL, note_sent, part->player);

	part->stepping = result == WHORL_OK;
	if (result != WHORL_OK)
		atomic_store_explicit(&part->player->failed, 1, memory_order_relaxed);
}

static void note_work(const struct part *part, uint64_t amount)
{
	_Atomic uint64_t *worked = &part->player->worked[part->number % part->player->sssp->workers];

	atomic_store_explicit(worked, atomic_load_explicit(worked, memory_order_relaxed) + amount,
			      memory_order_relaxed);
}

WHORL_FUNCTION(sssp_begin, struct part, struct begin_args, uint64_t, 0)
{
	struct wh_sssp_player *const *player = whorl_shared_data(args->player, NULL);
	const struct wh_paths_options options = {.graph = &(*player)->sssp->graph,
						 .part = (uint32_t)args->part,
						 .parts = (*player)->sssp->parts,
						 .batch = BATCH,
						 .send = send_relaxations,
						 .ctx = property};

	property->player = *player;
	property->number = (uint32_t)args->part;
	property->paths = wh_paths_new(&options);
	*result = property->paths != NULL;
}

WHORL_FUNCTION(sssp_reset, struct part, struct whorl_none, uint64_t, 0)
{
	wh_paths_reset(property->paths);
	*result = 1;
}

WHORL_FUNCTION(sssp_start, struct part, struct root, uint64_t, 0)
{
	*result = wh_paths_start(property->paths, (uint32_t)args->vertex);
	if (*result && property->stepping == 0)
		send_step(property);
}

WHORL_FUNCTION_OF_BYTES(sssp_relax, struct part, 0)
{
	size_t count = bytes / sizeof(struct wh_relaxation);

	(void)reply;
	if (bytes % sizeof(struct wh_relaxation) != 0 || !wh_paths_receive(property->paths, data, count))
		atomic_store_explicit(&property->player->failed, 1, memory_order_relaxed);
	note_work(property, count);
	if (property->stepping == 0 && wh_paths_counts(property->paths).active)
		send_step(property);
}

/* Only the worker's own thread is to be held up by it. */
WHORL_FUNCTION(sssp_step, struct part, struct whorl_none, struct whorl_none, WHORL_BLOCKS)
{
	uint64_t before = wh_paths_scanned(property->paths);

	property->stepping = 0;
	if (wh_paths_step(property->paths, STEP_ARCS) &&
	    atomic_load_explicit(&property->player->failed, memory_order_relaxed) == 0)
		send_step(property);
	note_work(property, wh_paths_scanned(property->paths) - before);
}

WHORL_FUNCTION(sssp_look, struct part, struct whorl_none, struct look, WHORL_READ)
{
	result->counts = wh_paths_counts(property->paths);
	result->failed = atomic_load_explicit(&property->player->failed, memory_order_relaxed);
}

WHORL_FUNCTION(sssp_report, struct part, struct whorl_none, struct wh_paths_result, WHORL_READ)
{
	const struct wh_sssp *sssp = property->player->sssp;
	uint32_t begin = wh_paths_begin(&sssp->plan, property->number, sssp->parts);
	uint32_t end = wh_paths_begin(&sssp->plan, property->number + 1, sssp->parts);

	*result = wh_paths_result(property->paths);
	if (sssp->distances != NULL)
		memcpy(sssp->distances + begin, wh_paths_distances(property->paths),
		       (end - begin) * sizeof(*sssp->distances));
}

/* ---- runs, at node 0 --------------------------------------------------------------------------------------------------------- */

uint64_t wh_sssp_now(const struct wh_sssp_player *player)
{
	return player->clock != NULL ? wh_env_now(player->clock) : wh_clock_ns();
}

static bool fail(const struct wh_sssp_player *player, const char *what, enum whorl_result result)
{
	wh_say("sssp: node %" PRIu32 ": %s: %s (%s)", player->number, what, whorl_result_text(result),
	       whorl_invalid_text());
	return false;
}

struct round { /* one call to each part */
	struct wh_sssp_player *player;
	uint32_t open, failed; /* failed: parts that could not do it, or that cannot reach others */
	enum whorl_result result;
	uint32_t from; /* the part that `result` is of, if it is not WHORL_OK */
	struct wh_paths_counts counts;
	struct wh_paths_result sum;
	struct asked {
		struct round *round;
		uint32_t part;
	} asked[];
};

static void add_result(struct wh_paths_result *sum, const struct wh_paths_result *more)
{
	sum->reached += more->reached;
	sum->reached_arcs += more->reached_arcs;
	sum->distance_sum += more->distance_sum;
	sum->looked += more->looked;
	sum->scanned += more->scanned;
	sum->relaxations += more->relaxations;
	sum->batches += more->batches;
}

static void add_answer(struct round *round, const void *answer, size_t bytes)
{
	const struct look *look = answer;

	if (bytes == sizeof(uint64_t)) {
		round->failed += *(const uint64_t *)answer == 0;
	} else if (bytes == sizeof(struct wh_paths_result)) {
		add_result(&round->sum, answer);
	} else {
		round->counts.sent += look->counts.sent;
		round->counts.received += look->counts.received;
		round->counts.active += look->counts.active;
		round->failed += look->failed != 0;
	}
}

_Static_assert(sizeof(struct look) != sizeof(struct wh_paths_result) && sizeof(struct look) != sizeof(uint64_t),
	       "answers are told apart by their sizes");

static void note_answer(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	const struct asked *asked = ctx;
	struct round *round = asked->round;

	round->open--;
	if (result == WHORL_OK) {
		add_answer(round, answer, bytes);
	} else if (round->result == WHORL_OK) {
		round->result = result;
		round->from = asked->part;
	}
}

/* All parts run the function, and the fiber waits until they have. False: it was said why. */
static bool ask_all(struct round *round, const struct whorl_function *function)
{
	struct wh_sssp_player *player = round->player;
	const struct wh_sssp *sssp = player->sssp;

	round->result = WHORL_OK;
	round->counts = (struct wh_paths_counts){0};
	round->failed = 0;
	for (uint32_t part = 0; part < sssp->parts && round->result == WHORL_OK; part++) {
		round->asked[part] = (struct asked){round, part};
		round->result = whorl_apply_then_function(&player->trusts[part], function, NULL, note_answer,
							  &round->asked[part]);
		round->open += round->result == WHORL_OK;
		round->from = part;
	}
	while (round->open > 0)
		(void)whorl_poll(player->work, 100);
	if (round->result != WHORL_OK)
		wh_say("sssp: node %" PRIu32 " is not reached any more: %s", round->from / sssp->workers,
		       whorl_result_text(round->result));
	else if (round->failed > 0)
		wh_say("sssp: %" PRIu32 " of %" PRIu32 " parts cannot go on: relaxations are lost", round->failed,
		       sssp->parts);
	return round->result == WHORL_OK && round->failed == 0;
}

static bool await_end(struct round *round, struct wh_sssp_run *run)
{
	struct wh_paths_waves waves = {0};

	do {
		if (!ask_all(round, &sssp_look) || wh_phase_get(&round->player->sssp->phase) == WH_SSSP_END)
			return false;
	} while (!wh_paths_has_ended(&waves, &round->counts));
	run->waves = waves.waves;
	return true;
}

static bool begin_run(struct wh_sssp_player *player, uint32_t vertex)
{
	const struct wh_sssp *sssp = player->sssp;
	uint32_t part = wh_paths_part_of(&sssp->plan, vertex, sssp->parts);
	uint64_t begun = 0;
	enum whorl_result result =
		whorl_apply(&player->trusts[part], sssp_start, &(struct root){vertex}, &begun, CALL_MS);

	return (result == WHORL_OK && begun == 1) || fail(player, "the root", result);
}

static bool make_run(struct round *round, struct wh_sssp_run *run)
{
	uint64_t begun;

	if (!ask_all(round, &sssp_reset))
		return false;
	begun = wh_sssp_now(round->player);
	if (!begin_run(round->player, run->root) || !await_end(round, run))
		return false;
	run->seconds = (double)(wh_sssp_now(round->player) - begun) / 1e9;
	if (!ask_all(round, &sssp_report))
		return false;
	run->result = round->sum;
	return true;
}

struct run_args {
	whorl_shared *player;
	uint64_t run;
};

WHORL_FUNCTION(sssp_run, struct whorl_none, struct run_args, uint32_t, 0)
{
	struct wh_sssp_player *const *player = whorl_shared_data(args->player, NULL);
	struct round *round = calloc(1, sizeof(*round) + (*player)->sssp->parts * sizeof(round->asked[0]));

	*result = 0;
	if (round == NULL)
		return;
	round->player = *player;
	*result = make_run(round, &(*player)->sssp->list[args->run]);
	free(round);
}

enum whorl_result wh_sssp_spawn(struct wh_sssp_player *player, uint32_t run, struct whorl_join *join,
				whorl_shared **shared)
{
	struct run_args args = {.run = run};
	enum whorl_result result = whorl_share(player->work, &player, sizeof(player), &args.player);

	*shared = args.player;
	if (result == WHORL_OK)
		result = whorl_spawn(player->work, whorl_at_worker(WHORL_NODE_HERE, 0), sssp_run, &args, join);
	return result;
}

/* ---- opening ------------------------------------------------------------------------------------------------------------------ */

/* A handle for each other node, which it takes from there. */
static enum whorl_result give_handles(struct wh_sssp_player *player, uint32_t part)
{
	const struct wh_sssp *sssp = player->sssp;
	enum whorl_result result = WHORL_OK;

	for (uint32_t node = 0; node < sssp->nodes && result == WHORL_OK; node++) {
		struct whorl_trust *handle = &sssp->handles[(size_t)part * sssp->nodes + node];

		if (node == player->number)
			continue;
		result = whorl_trust_clone(&player->trusts[part], handle);
		if (result == WHORL_OK)
			result = whorl_trust_send(handle, whorl_at_worker(node, WHORL_WORKER_ANY));
	}
	return result;
}

static enum whorl_result make_part(struct wh_sssp_player *player, uint32_t part, whorl_shared *shared)
{
	const struct begin_args args = {shared, part};
	uint32_t worker = part % player->sssp->workers;
	uint64_t made = 0;
	enum whorl_result result = whorl_entrust(player->work, whorl_at_worker(WHORL_NODE_HERE, worker), &part_type,
						 NULL, 0, &player->trusts[part], WH_SSSP_OPEN_MS);

	if (result == WHORL_OK)
		result = whorl_apply(&player->trusts[part], sssp_begin, &args, &made, WH_SSSP_OPEN_MS);
	if (result == WHORL_OK && made == 0)
		result = WHORL_MEMORY;
	return result == WHORL_OK ? give_handles(player, part) : result;
}

bool wh_sssp_open_work(struct wh_sssp_player *player)
{
	const struct wh_sssp *sssp = player->sssp;
	const struct whorl_work_options options = {
		.size = sizeof(options), .workers = sssp->workers, WHORL_FUNCTIONS_LINKED};
	enum whorl_result result = WHORL_MEMORY;

	player->trusts = calloc(sssp->parts, sizeof(*player->trusts));
	if (player->trusts != NULL)
		result = whorl_work_open(player->node, &options, &player->work);
	return result == WHORL_OK || fail(player, "its workers", result);
}

bool wh_sssp_open_parts(struct wh_sssp_player *player)
{
	const struct wh_sssp *sssp = player->sssp;
	whorl_shared *shared = NULL;
	enum whorl_result result = whorl_share(player->work, &player, sizeof(player), &shared);

	for (uint32_t worker = 0; worker < sssp->workers && result == WHORL_OK; worker++)
		result = make_part(player, player->number * sssp->workers + worker, shared);
	whorl_shared_drop(shared);
	return result == WHORL_OK || fail(player, "its parts", result);
}

enum whorl_result wh_sssp_meet(struct wh_sssp_player *player)
{
	const struct wh_sssp *sssp = player->sssp;
	enum whorl_result result = WHORL_OK;
	struct look look;

	for (; player->met < sssp->parts; player->met++) {
		struct whorl_trust *trust = &player->trusts[player->met];

		if (player->met / sssp->workers == player->number)
			continue;
		if (trust->work == NULL)
			*trust = sssp->handles[(size_t)player->met * sssp->nodes + player->number];
		trust->work = player->work;
		result = whorl_apply(trust, sssp_look, NULL, &look, WH_SSSP_OPEN_MS);
		if (result != WHORL_OK)
			break;
	}
	if (result != WHORL_OK && result != WHORL_AGAIN)
		(void)fail(player, "the other parts", result);
	return result;
}

void wh_sssp_close(struct wh_sssp_player *player, int timeout_ms)
{
	if (player->work != NULL)
		(void)whorl_work_close(player->work, timeout_ms);
	player->work = NULL;
	free(player->trusts);
	player->trusts = NULL;
}
