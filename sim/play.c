/* play.c - the phases of a run. See play_int.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim/play_int.h"

/* So many events without anything that moves on are no progress: passes go on and on, or nulls chase nulls. */
#define USELESS_STEPS 300000
#define NOTHING_NS (UINT64_C(3600) * WH_NS_PER_S) /* no node has anything to do for so long */
#define SURVEY_NS (20 * WH_NS_PER_MS)             /* until statistics are fresh */
#define LIVES_MAX 64                              /* bits in a set */
#define JOINS_IN 8                                /* in one run of so many counters beside each other go as one push */
#define FORGETTING_NS (700 * WH_NS_PER_MS)
#define BIRTHS_OF_A_WISH 8  /* it is served again if its node is removed before it has begun that view */
#define RESTLESS_TIMEOUTS 4 /* after the last fault, before those that have not come are given up */

static const uint64_t latencies_ns[] = {1000, 20000, 200000};

void wh_play_fail(struct play *play, const char *format, ...)
{
	va_list arguments;

	if (wh_play_failed(play))
		return;
	va_start(arguments, format);
	vsnprintf(play->verdict, sizeof(play->verdict), format, arguments);
	va_end(arguments);
}

bool wh_play_failed(const struct play *play)
{
	return play->verdict[0] != '\0';
}

/* ---- setting the stage --------------------------------------------------------------------------------------------------- */

static void note_rung(void *ctx, uint32_t node)
{
	struct play *play = ctx;

	if (play->at[node] != NULL)
		wh_actor_rung(play->at[node]);
}

static void open_actor(void *ctx, uint64_t argument)
{
	(void)argument;
	wh_actor_open(ctx);
}

/* Those of the beginning, one after the other; the others are absent. */
static void make_actors(struct play *play)
{
	uint64_t absent = wh_schedule_absent(play->schedule);

	for (uint32_t id = 0; id < play->nodes; id++) {
		struct actor *actor = &play->actors[id];
		bool begins = id < play->plan->config.group.nodes && (absent >> id & 1) == 0;

		wh_actor_init(actor, play, id, id);
		if (!begins)
			continue;
		actor->state = ACTOR_UNOPENED;
		play->awake++;
		play->unopened++;
		wh_sim_at(play->sim,
			  wh_dice_below(&actor->dice, 10 * actor->pace_ns) +
				  wh_dice_below(&actor->dice, play->plan->spread_ns + 1),
			  open_actor, actor, 0);
	}
}

static void draw_habits(struct play *play)
{
	struct wh_dice *dice = &play->dice;

	play->long_upcall_in = wh_dice_one_in(dice, 2) ? 0 : (uint32_t)wh_dice_between(dice, 2, 40);
	play->reply_in = wh_dice_one_in(dice, 2) ? 0 : (uint32_t)wh_dice_between(dice, 1, 10);
	play->hasty = wh_dice_one_in(dice, 4);
}

/* Mostly posting and the wire take no time. */
static void draw_costs(struct play *play, struct wh_sim_options *options)
{
	options->node_cost.post_ns = wh_dice_below(&play->dice, 2000);
	options->node_cost.push_ns = wh_dice_below(&play->dice, 300);
	options->node_cost.bytes_per_s = wh_dice_between(&play->dice, 100, 10000) * 1000000;
	options->bytes_per_s = wh_dice_between(&play->dice, 100, 10000) * 1000000;
}

/* Mostly as those of data centres, some as disks that turn; with dice of their own. */
static void draw_disks(struct play *play, struct wh_sim_options *options)
{
	struct wh_dice of_this = wh_dice_split(play->plan->seed, 202), *dice = &of_this;
	uint64_t sync_ns = wh_dice_one_in(dice, 4) ? 2 * WH_NS_PER_MS : 100 * WH_NS_PER_US;

	options->disks = true;
	options->operating = wh_faults_operating;
	play->disk_cost = (struct wh_sim_disk_cost){.read_max_ns = 10 * WH_NS_PER_US,
						    .write_max_ns = wh_dice_below(dice, 20 * WH_NS_PER_US),
						    .sync_min_ns = sync_ns / 20,
						    .sync_max_ns = wh_dice_between(dice, sync_ns / 10, sync_ns),
						    .bytes_per_s = wh_dice_between(dice, 20, 2000) * 1000000,
						    .slow_in = wh_dice_one_in(dice, 2) ? 0 : 50,
						    .slow_ns = 5 * WH_NS_PER_MS};
	options->disk.cost = play->disk_cost;
}

static void open_disks(struct play *play)
{
	for (uint32_t id = 0; id < play->nodes && play->plan->logs; id++)
		if (!wh_sim_disk_mount(wh_sim_disk_of(play->sim, id), WH_PLAN_LOG_DIR)) {
			fprintf(stderr, "no memory for a run\n");
			exit(2);
		}
}

static void open_world(struct play *play)
{
	/* Heartbeats must not be late. */
	bool hurry = play->plan->config.group.failure_timeout_ms <= 10 * WH_PLAN_SHORT_TIMEOUT_MS;
	struct wh_sim_options options = {.nodes = play->nodes,
					 .seed = play->plan->seed,
					 .latency_min_ns = 100,
					 .one_host = play->plan->one_host,
					 .proofs = play->plan->proofs,
					 .log = wh_report_line,
					 .rung = note_rung,
					 .posting = wh_faults_posting,
					 .ctx = play};
	struct wh_error err;

	play->linger_ns = hurry ? 10 * WH_NS_PER_US : WH_NS_PER_MS;
	options.latency_max_ns = latencies_ns[wh_dice_below(&play->dice, hurry ? 2 : 3)];
	if (play->plan->latency_max_ns > 0)
		options.latency_max_ns =
			wh_dice_between(&play->dice, options.latency_min_ns, play->plan->latency_max_ns);
	options.pieces = (uint32_t)wh_dice_between(&play->dice, 1, WH_SIM_PIECES_MAX / 2);
	options.joins = play->plan->seed % JOINS_IN == JOINS_IN - 2;
	options.uneven = !hurry && wh_dice_one_in(&play->dice, 2);
	if (wh_play_has_faults(play)) {
		options.ring_max_ns = wh_dice_one_in(&play->dice, 2) ? 0 : WH_NS_PER_MS;
		options.notice_max_ns = wh_dice_one_in(&play->dice, 2) ? 0 : wh_play_timeout_ns(play);
	}
	if (options.one_host) /* the kernel tells at once */
		options.notice_max_ns = 0;
	options.proof_max_ns = 3 * wh_play_timeout_ns(play);
	play->late_ends = options.notice_max_ns > wh_play_start_ns(play);
	if (wh_dice_one_in(&play->dice, 4))
		draw_costs(play, &options);
	play->link = (struct wh_sim_link_cost){.latency_min_ns = options.latency_min_ns,
					       .latency_max_ns = options.latency_max_ns,
					       .bytes_per_s = options.bytes_per_s};
	if (play->plan->logs)
		draw_disks(play, &options);
	if (wh_sim_new(&play->sim, &options, &err) != WHORL_OK) {
		fprintf(stderr, "%s\n", err.text);
		exit(2);
	}
	open_disks(play);
}

/* Those of the configuration, and those that wishes give birth to. */
static void open_subgroups(struct play *play)
{
	const struct wh_plan *plan = play->plan;

	play->subgroup_count = play->subgroups_max = plan->config.subgroup_count;
	for (uint32_t i = 0; play->schedule != NULL && i < play->schedule->count; i++)
		play->subgroups_max += play->schedule->faults[i].kind == WH_FAULT_ENTER ? BIRTHS_OF_A_WISH : 0;
	play->subgroups = wh_plan_alloc(play->subgroups_max, sizeof(*play->subgroups));
	for (uint32_t g = 0; g < play->subgroup_count; g++)
		play->subgroups[g] = (struct play_subgroup){
			.plan = &plan->subgroups[g],
			.options = &plan->config.subgroups[g].options,
			.stateful = wh_play_has_states(play) || plan->subgroups[g].durable,
			.calls = plan->subgroups[g].calls,
			.furthest =
				wh_plan_alloc((size_t)plan->config.subgroups[g].options.shards, sizeof(struct place))};
}

static void open_history(struct play *play)
{
	const struct wh_node_config *config = &play->plan->config;
	struct wh_history_subgroup *subgroups = wh_plan_alloc(config->subgroup_count, sizeof(*subgroups));

	for (uint32_t g = 0; g < config->subgroup_count; g++)
		subgroups[g] = (struct wh_history_subgroup){.name = config->subgroups[g].name,
							    .ordered = play->plan->subgroups[g].ordered,
							    .shards = (uint32_t)config->subgroups[g].options.shards,
							    .stateful = wh_play_has_states(play) ||
									play->plan->subgroups[g].durable,
							    .durable = play->plan->subgroups[g].durable};
	play->history = wh_history_new(
		&(struct wh_history_config){.nodes = play->nodes,
					    .lives = play->lives_max,
					    .configured = (uint32_t)config->group.nodes,
					    .founded = wh_node_config_founder(config) >= 0,
					    .founder = (uint32_t)wh_node_config_founder(config),
					    .all = !wh_plan_may_form(play->plan, (uint32_t)config->group.nodes - 1),
					    .home = wh_plan_needs_home(play->plan),
					    .one_host = play->plan->one_host,
					    .subgroups = subgroups,
					    .subgroup_count = config->subgroup_count,
					    .tie_breaker = wh_node_config_tie_breaker(config),
					    .joins = true});
	free(subgroups);
	if (play->history == NULL) {
		fprintf(stderr, "no memory for a run\n");
		exit(2);
	}
}

struct play *wh_play_new(const struct wh_plan *plan, const struct wh_schedule *schedule, FILE *log)
{
	struct play *play = wh_plan_alloc(1, sizeof(*play));

	play->plan = plan;
	play->schedule = schedule;
	play->log = log;
	play->nodes = play->lives = wh_node_config_nodes_max(&plan->config);
	play->lives_max = play->nodes;
	for (uint32_t i = 0; schedule != NULL && i < schedule->count; i++)
		play->lives_max +=
			schedule->faults[i].kind == WH_FAULT_RETURN || schedule->faults[i].kind == WH_FAULT_JOIN;
	if (play->lives_max > LIVES_MAX)
		play->lives_max = LIVES_MAX;
	play->dice = wh_dice_split(plan->seed, 200);
	open_subgroups(play);
	play->tries = wh_plan_alloc(WH_SCHEDULE_MAX, sizeof(*play->tries));
	play->cuts = wh_plan_alloc((size_t)play->nodes * play->nodes, sizeof(*play->cuts));
	play->links_harmed = wh_plan_alloc(play->nodes, sizeof(*play->links_harmed));
	play->disks_ill = wh_plan_alloc(play->nodes, sizeof(*play->disks_ill));
	play->seen = wh_plan_alloc(play->nodes, sizeof(*play->seen));
	play->at = wh_plan_alloc(play->nodes, sizeof(struct actor *));
	play->disks = wh_plan_alloc(play->nodes, sizeof(*play->disks));
	play->told = wh_plan_alloc(TOLD, sizeof(*play->told));
	play->subjects = wh_plan_alloc(WH_SCHEDULE_MAX, sizeof(struct actor *));
	play->actors = wh_plan_alloc(play->lives_max, sizeof(*play->actors));
	open_world(play);
	open_history(play);
	draw_habits(play);
	make_actors(play);
	return play;
}

/* ---- going on ------------------------------------------------------------------------------------------------------------- */

bool wh_play_step(struct play *play, uint64_t until_ns)
{
	if (wh_play_failed(play) || play->extinct || !wh_sim_step(play->sim, until_ns))
		return false;
	if (play->steps++ - play->useful_step <= USELESS_STEPS)
		return true;
	if (wh_liveness_is_over(play))
		play->extinct = true;
	else
		wh_play_fail(play, "quiescence: no end, and nothing has moved on for %d events", USELESS_STEPS);
	return !wh_play_failed(play);
}

bool wh_play_goes_on(struct play *play, uint64_t for_ns)
{
	uint64_t until = wh_sim_now(play->sim) + for_ns;

	while (wh_play_step(play, until))
		;
	return !wh_play_failed(play);
}

bool wh_play_is_quiet(const struct play *play)
{
	return play->awake == 0 && play->busy_streams == 0 && play->refusing == 0 && play->calling == 0 &&
	       wh_sim_under_way(play->sim) == 0 && !(play->plan->logs && wh_sim_jobs_run(play->sim));
}

/* Time counts from when the nodes of the beginning have been opened: so it is drawn, or they form no group before others come. */
static bool counts_early(const struct play *play)
{
	uint64_t configured = (UINT64_C(1) << play->plan->config.group.nodes) - 1;
	uint64_t absent = wh_schedule_absent(play->schedule) & configured;

	return play->plan->early || !wh_plan_may_form(play->plan, (uint32_t)__builtin_popcountll(configured & ~absent));
}

/* All of the beginning are there, and members. */
static bool have_met(const struct play *play)
{
	for (uint32_t i = 0; i < play->nodes && !counts_early(play); i++)
		if (play->at[i] != NULL && play->at[i]->view == NULL)
			return false;
	return play->unopened == 0;
}

bool wh_play_meet(struct play *play)
{
	while (!have_met(play) && !wh_play_failed(play) && !play->extinct)
		if (!wh_play_step(play, wh_sim_now(play->sim) + NOTHING_NS))
			wh_play_fail(play, "open: the nodes never meet");
	if (wh_play_failed(play))
		return false;
	play->met = true;
	play->met_ns = wh_sim_now(play->sim);
	wh_faults_arm(play);
	return true;
}

static bool all_delivered(const struct play *play)
{
	for (uint32_t i = 0; i < play->views->shard_count; i++) {
		const struct shard *shard = &play->views->shards[i];

		for (uint32_t s = 0; s < shard->part_count; s++)
			for (uint32_t k = 0; k < shard->member_count; k++)
				if (shard->members[k].taken[s].done < shard->parts[s].stream->quota)
					return false;
	}
	return true;
}

bool wh_play_work(struct play *play)
{
	while (!wh_play_failed(play) && !wh_play_is_quiet(play)) {
		if (play->hasty && play->steps <= play->useful_step + 1 && play->views != NULL && all_delivered(play))
			break;
		if (!wh_play_step(play, wh_sim_now(play->sim) + NOTHING_NS))
			wh_play_fail(play, "progress: nothing happens for an hour, and %u nodes are awake",
				     play->awake);
	}
	return !wh_play_failed(play);
}

void wh_play_release(struct play *play)
{
	for (uint32_t i = 0; i < play->lives; i++)
		for (uint32_t g = 0; g < play->subgroup_count; g++) {
			struct stream *stream = play->actors[i].apps[g].stream;

			stream->kept_open = UINT64_MAX;
			if (wh_actor_runs(&play->actors[i]) && stream->app->subgroup != NULL)
				wh_stream_schedule(stream);
		}
}

/* ---- a run without faults --------------------------------------------------------------------------------------------------- */

/* A claim that is kept open shows in the statistics. */
static void check_open_claim(const struct stream *stream)
{
	struct whorl_subgroup_stats stats = {.size = sizeof(stats)};
	bool keeps = stream->kept_open < stream->claimed && stream->messages[stream->kept_open].state != MESSAGE_PART;
	enum whorl_result result = whorl_subgroup_statistics(stream->app->subgroup, &stats);

	if (result != WHORL_OK || stats.open_claim != (keeps ? stream->kept_open + 1 : 0))
		wh_play_fail(stream->app->actor->play,
			     "statistics: %s, g%u: open_claim is %" PRIu64 ", claim %" PRId64 " is open",
			     stream->app->actor->name, stream->app->g, stats.open_claim,
			     keeps ? (int64_t)stream->kept_open : -1);
}

static void check_open_claims(struct play *play)
{
	wh_play_goes_on(play, SURVEY_NS);
	for (uint32_t i = 0; i < play->lives; i++)
		if (play->actors[i].node != NULL)
			wh_inspect_wake(play->actors[i].node);
	if (!wh_play_work(play))
		return;
	for (uint32_t i = 0; i < play->views->shard_count; i++) {
		const struct shard *shard = &play->views->shards[i];

		for (uint32_t s = 0; s < shard->part_count && wh_plan_progresses(play->plan, shard->g); s++)
			check_open_claim(shard->parts[s].stream);
	}
}

static bool nothing_is_kept_open(const struct play *play)
{
	for (uint32_t i = 0; i < play->nodes; i++)
		for (uint32_t g = 0; g < play->subgroup_count; g++)
			if (play->actors[i].apps[g].stream->kept_open != UINT64_MAX)
				return false;
	return true;
}

static bool all_progress(const struct play *play)
{
	for (uint32_t g = 0; g < play->plan->config.subgroup_count; g++)
		if (!wh_plan_progresses(play->plan, g))
			return false;
	return true;
}

static void perform_run(struct play *play)
{
	play->hasty = play->hasty && all_progress(play) && nothing_is_kept_open(play);
	play->survivors = UINT64_MAX;
	if (!wh_play_meet(play) || !wh_play_work(play))
		return;
	play->drains = all_progress(play) && (play->hasty || wh_dice_one_in(&play->dice, 2));
	if (play->hasty)
		return;
	wh_liveness_check(play);
	check_open_claims(play);
	wh_play_release(play);
	if (!wh_play_work(play))
		return;
	wh_liveness_check(play);
	wh_liveness_check_silence(play);
}

/* ---- a run with faults ------------------------------------------------------------------------------------------------------- */

bool wh_play_finish(struct play *play)
{
	while (play->faults_due > 0 ||
	       wh_sim_now(play->sim) < play->restless_ns + RESTLESS_TIMEOUTS * wh_play_timeout_ns(play))
		if (!wh_play_goes_on(play, wh_play_timeout_ns(play) / 4) || play->extinct)
			return !wh_play_failed(play);
	play->calm = true;
	for (uint32_t i = 0; i < play->lives; i++)
		if (wh_actor_runs(&play->actors[i]) && play->actors[i].removed)
			wh_actor_leave_soon(&play->actors[i]);
	wh_check_held(play);
	wh_play_release(play);
	return wh_liveness_settle(play);
}

/* In each view to come all that is committed can be delivered. */
static bool can_drain(const struct play *play)
{
	for (uint32_t i = 0; i < play->views->shard_count; i++) {
		const struct shard *shard = &play->views->shards[i];

		if (!shard->active || play->subgroups[shard->g].plan->by_function ||
		    play->subgroups[shard->g].options->members_min > 1)
			return false;
		/* The last of a durable shard has no other to leave it to, and goes as one that fails (0058). */
		if (play->subgroups[shard->g].plan->durable &&
		    shard->member_count < (uint32_t)__builtin_popcountll(play->views->members))
			return false;
	}
	return play->plan->config.engine.null_sends;
}

static void leave_one(struct play *play, struct actor *actor)
{
	while (!wh_actor_depart(actor) && wh_play_goes_on(play, WH_NS_PER_MS))
		;
	if (!actor->drained)
		wh_play_fail(play, "close: %s leaves a group in which all is delivered, and has not drained",
			     actor->name);
	wh_play_goes_on(play, wh_dice_below(&play->dice, wh_play_timeout_ns(play)));
}

/* How every group ends: one after the other goes, and has nothing left to drain. Where each view has a configured node these go last. */
static void leave_all(struct play *play)
{
	int64_t nodes = play->plan->config.group.nodes;

	for (uint32_t i = 0; i < play->lives && wh_plan_needs_home(play->plan) && !wh_play_failed(play); i++)
		if ((play->survivors >> i & 1) != 0 && play->actors[i].id >= nodes)
			leave_one(play, &play->actors[i]);
	for (uint32_t i = 0; i < play->lives && !wh_play_failed(play); i++)
		if ((play->survivors >> i & 1) != 0 && !play->actors[i].left)
			leave_one(play, &play->actors[i]);
}

/* A node that has vanished before it was let in is thought to want to come in, for a while. */
static void forget_vanished(struct play *play)
{
	uint64_t until_ns = play->vanished_ns > 0 ? play->vanished_ns + FORGETTING_NS : 0;

	if (wh_sim_now(play->sim) < until_ns)
		wh_play_goes_on(play, until_ns - wh_sim_now(play->sim));
}

static void perform_faults(struct play *play)
{
	play->hasty = false;
	if (!wh_play_meet(play) || !wh_play_finish(play) || play->survivors == 0)
		return;
	forget_vanished(play);
	wh_liveness_check_silence(play);
	if (can_drain(play) && wh_dice_one_in(&play->dice, 3))
		leave_all(play);
}

void wh_play_perform(struct play *play)
{
	if (wh_play_has_faults(play))
		perform_faults(play);
	else
		perform_run(play);
}

/* ---- the end ------------------------------------------------------------------------------------------------ */

static void fill_result(const struct play *play, struct wh_play_result *result)
{
	*result = (struct wh_play_result){.digest = wh_sim_digest(play->sim),
					  .steps = play->steps,
					  .virtual_ns = wh_sim_now(play->sim),
					  .happened = play->happened,
					  .progressed = play->survivors != 0};
	if (play->views != NULL)
		result->views = play->views->number;
	for (uint32_t i = 0; i < play->lives; i++)
		for (uint32_t g = 0; g < play->subgroup_count; g++) {
			const struct app *app = &play->actors[i].apps[g];
			struct whorl_subgroup_stats stats = {.size = sizeof(stats)};

			result->deliveries += app->deliveries;
			if (app->subgroup != NULL && whorl_subgroup_statistics(app->subgroup, &stats) == WHORL_OK)
				result->nulls += stats.nulls;
		}
}

/* In order, and in any order. Where all is delivered a node has nothing to drain. */
static void close_all(struct play *play)
{
	uint32_t first = (uint32_t)wh_dice_below(&play->dice, play->lives);
	bool drains = play->drains && !wh_play_failed(play);

	play->closing = true;
	for (uint32_t i = 0; i < play->lives; i++)
		wh_actor_leave(&play->actors[(first + i) % play->lives], drains ? 10000 : 0);
	if (wh_play_failed(play))
		return; /* what is still open is not known */
	for (uint32_t i = 0; i < play->lives; i++)
		for (uint32_t g = 0; g < play->subgroup_count; g++)
			wh_stream_finish_late(play->actors[i].apps[g].stream);
}

bool wh_play_end(struct play *play, struct wh_play_result *result, char *verdict, size_t verdict_bytes)
{
	bool good;

	if (wh_play_failed(play) && play->log != NULL)
		wh_report(play);
	fill_result(play, result);
	close_all(play);
	for (uint32_t i = 0; i < play->lives; i++)
		wh_actor_free(&play->actors[i]);
	wh_sim_free(play->sim);
	wh_play_free_views(play);
	wh_history_free(play->history);
	free(play->actors);
	free(play->told);
	free(play->disks);
	free(play->subjects);
	free(play->tries);
	for (uint32_t g = 0; g < play->subgroup_count; g++)
		free(play->subgroups[g].furthest);
	free(play->subgroups);
	free(play->at);
	free(play->seen);
	free(play->links_harmed);
	free(play->disks_ill);
	free(play->cuts);
	good = !wh_play_failed(play);
	snprintf(verdict, verdict_bytes, "%s", play->verdict);
	free(play);
	return good;
}

bool wh_play_all(const struct wh_plan *plan, const struct wh_schedule *schedule, struct wh_play_result *result,
		 char *verdict, size_t verdict_bytes, FILE *log)
{
	struct play *play = wh_play_new(plan, schedule, log);

	wh_play_perform(play);
	return wh_play_end(play, result, verdict, verdict_bytes);
}
