/* actors.c - the nodes of a run: when they make a pass, when they sleep, what happens in their upcalls. See
 * play_int.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "group/node.h"
#include "sim/play_int.h"

#define LINGER_EVENTS 60
#define LINGER_DEPTH 3

static void take_turn(void *ctx, uint64_t number);
static void open_actor(struct actor *actor, uint64_t tries);

/* Not while it is busy with what it has posted. */
static void turn_at(struct actor *actor, uint64_t when_ns)
{
	uint64_t busy_until_ns = wh_sim_busy_until(actor->play->sim, actor->id);

	if (when_ns < busy_until_ns)
		when_ns = busy_until_ns;
	wh_sim_at(actor->play->sim, when_ns, take_turn, actor, ++actor->turn);
}

/* The next turn: mostly about the node's pace, sometimes much later. */
static void turn_soon(struct actor *actor)
{
	uint64_t pause = wh_dice_below(&actor->dice, 2 * actor->pace_ns);

	if (wh_dice_one_in(&actor->dice, 32))
		pause *= 20;
	turn_at(actor, wh_sim_now(actor->play->sim) + pause);
}

/* ---- upcalls ---------------------------------------------------------------------------------------------------------- */

/* Other things happen, while an upcall runs: for a while or, if the node is stalled in it, until that is over. */
static void linger_in_upcall(struct actor *actor, uint64_t until_ns, uint64_t events)
{
	struct play *play = actor->play;

	if (play->depth == LINGER_DEPTH || play->closing || actor->leaving)
		return;
	wh_check_settle(actor);
	play->depth++;
	while (events-- > 0 && wh_play_step(play, until_ns))
		;
	play->depth--;
}

static void take_time(struct actor *actor)
{
	struct play *play = actor->play;
	uint64_t now_ns = wh_sim_now(play->sim), stall_ns = actor->stall_ns;

	if (stall_ns > 0) {
		for (uint32_t i = 0; i < play->lives;
		     i++) /* if this one happens inside an upcall of a life, that stands still too */
			play->touched |= (uint64_t)play->actors[i].in_pass << i;
		actor->stall_ns = 0;
		actor->stalled_until_ns = now_ns + stall_ns;
		linger_in_upcall(actor, actor->stalled_until_ns, UINT64_MAX);
	} else if (play->long_upcall_in > 0 && wh_dice_one_in(&actor->dice, play->long_upcall_in)) {
		linger_in_upcall(actor, now_ns + play->linger_ns, wh_dice_between(&actor->dice, 1, LINGER_EVENTS));
	}
}

/* What was kept back is settled already; what is offered in place is not, though more was kept back before it. */
static struct shard_member *unsettled_member(const struct app *app, const struct whorl_message *message)
{
	bool in_place = app->refuses && app->member != NULL && message->view == app->member->shard->view->number;

	return app->behind && !in_place ? NULL : app->member;
}

bool wh_actor_upcall(struct app *app, const struct whorl_message *message)
{
	struct actor *actor = app->actor;
	struct play *play = actor->play;
	struct shard_member *member = unsettled_member(app, message);

	if (wh_play_failed(play) || play->extinct || actor->crashed) /* of another group nothing is known */
		return false;
	wh_faults_moment(actor, WH_MOMENT_UPCALL);
	if (actor->crashed)
		return false;
	if (member != NULL)
		member->in_upcall = true;
	wh_check_upcall(app, message);
	wh_calls_upcalled(app, message);
	take_time(actor);
	if (!actor->crashed && play->reply_in > 0 && wh_dice_one_in(&actor->dice, play->reply_in)) {
		wh_stream_act(app->stream);
		wh_stream_schedule(app->stream);
	}
	if (member != NULL)
		member->in_upcall = false;
	return !actor->crashed;
}

static void on_message(const struct whorl_message *message, void *ctx)
{
	struct app *app = ctx;

	if (wh_actor_upcall(app, message))
		wh_check_payload(app, message); /* still */
}

/* All of a batch stays what it is until the upcall returns. */
static void on_batch(const struct whorl_message *messages, size_t count, void *ctx)
{
	struct app *app = ctx;
	size_t got = 0;

	while (got < count && wh_actor_upcall(app, &messages[got]))
		got++;
	for (size_t i = 0; i < got && !app->actor->crashed; i++)
		wh_check_payload(app, &messages[i]);
}

/* ---- refusals ---- */

static void take_again(void *ctx, uint64_t number)
{
	struct app *app = ctx;
	enum whorl_result result;

	(void)number;
	app->asks = false;
	app->actor->play->refusing--;
	if (app->subgroup == NULL || app->actor->crashed || app->actor->node == NULL || app->actor->leaving)
		return;
	result = whorl_offer_again(app->subgroup);
	if (result == WHORL_INVALID && wh_play_is_dynamic(app->actor->play, app->g))
		return; /* what was refused was of a stay before, and the program of this one takes all */
	if (result != WHORL_OK && result != whorl_error(app->actor->node, NULL, 0))
		wh_play_fail(app->actor->play, "refused: %s, g%u: whorl_offer_again says %s", app->actor->name, app->g,
			     whorl_result_text(result));
}

/* Soon, or after more than a failure time-out, when views have come. */
static void ask_later(struct app *app)
{
	struct play *play = app->actor->play;
	uint64_t most_ns = wh_dice_one_in(&app->actor->dice, 8)   ? 3 * wh_play_timeout_ns(play)
			   : wh_dice_one_in(&app->actor->dice, 2) ? WH_NS_PER_MS
								  : 20 * WH_NS_PER_US;

	if (app->asks)
		return;
	app->asks = true;
	play->refusing++;
	wh_sim_at(play->sim, wh_sim_now(play->sim) + 1 + wh_dice_below(&app->actor->dice, most_ns), take_again, app, 0);
}

/* Takes all, or some, or none, and asks for the rest: before it returns, or later. */
static size_t on_offer(const struct whorl_message *messages, size_t count, void *ctx)
{
	struct app *app = ctx;
	size_t takes = count, got = 0;

	if (app->subgroup != NULL && wh_dice_one_in(&app->actor->dice, 4))
		takes = wh_dice_below(&app->actor->dice, count + 1);
	while (got < takes && wh_actor_upcall(app, &messages[got]))
		got++;
	for (size_t i = 0; i < got && !app->actor->crashed; i++)
		wh_check_payload(app, &messages[i]);
	if (got < count && !app->actor->crashed && app->subgroup != NULL && wh_dice_one_in(&app->actor->dice, 8))
		(void)whorl_offer_again(app->subgroup);
	else if (got < count)
		ask_later(app);
	return got;
}

/* ---- of a stay in a dynamic subgroup ---- */

/* What it is in, when a view has begun; NULL: it is in nothing. */
static struct app *app_of(const struct stay *stay)
{
	struct actor *actor = stay->actor;

	if (wh_play_failed(actor->play) || actor->crashed)
		return NULL;
	wh_play_enter_view(actor, NULL);
	if ((stay->app == NULL || stay->over) && !wh_play_failed(actor->play) && !actor->play->extinct)
		wh_play_fail(actor->play, "order: %s, d%u: a message comes outside of any stay", actor->name,
			     stay->name);
	return wh_play_failed(actor->play) ? NULL : stay->app;
}

/* With its number in the sender's stream, which goes on from one stay to the next. */
static struct whorl_message number_message(const struct app *app, const struct whorl_message *message)
{
	struct whorl_message numbered = *message;
	const struct stream *stream = wh_app_stream_in(app, message->view, message->sender);

	if (stream == NULL)
		return numbered;
	numbered.index = wh_app_number(app, message->view, stream->app->actor->life, message->index);
	if (!app->actor->play->subgroups[app->g].plan->ordered)
		numbered.sequence += numbered.index - message->index;
	return numbered;
}

/* Returns how many of them were taken. */
static size_t upcall_of_stay(struct stay *stay, const struct whorl_message *messages, size_t count,
			     size_t (*upcall)(const struct whorl_message *messages, size_t count, void *ctx))
{
	struct app *app = app_of(stay);
	struct whorl_message *numbered;
	size_t taken;

	if (app == NULL)
		return count;
	numbered = wh_plan_alloc(count, sizeof(*numbered));
	for (size_t i = 0; i < count; i++)
		numbered[i] = number_message(app, &messages[i]);
	taken = upcall(numbered, count, app);
	free(numbered);
	return taken;
}

static size_t take_one(const struct whorl_message *messages, size_t count, void *ctx)
{
	on_message(messages, ctx);
	return count;
}

static size_t take_batch(const struct whorl_message *messages, size_t count, void *ctx)
{
	on_batch(messages, count, ctx);
	return count;
}

static void on_message_of_stay(const struct whorl_message *message, void *ctx)
{
	(void)upcall_of_stay(ctx, message, 1, take_one);
}

static void on_batch_of_stay(const struct whorl_message *messages, size_t count, void *ctx)
{
	(void)upcall_of_stay(ctx, messages, count, take_batch);
}

static size_t on_offer_of_stay(const struct whorl_message *messages, size_t count, void *ctx)
{
	return upcall_of_stay(ctx, messages, count, on_offer);
}

void wh_actor_take_upcalls(struct stay *stay, struct whorl_subgroup_options *options)
{
	bool batches = wh_dice_one_in(&stay->actor->dice, 2);

	options->upcall_ctx = stay;
	options->on_offer = stay->refuses ? on_offer_of_stay : NULL;
	options->on_batch = batches && !stay->refuses ? on_batch_of_stay : NULL;
	options->on_message = batches || stay->refuses ? NULL : on_message_of_stay;
}

/* ---- turns ------------------------------------------------------------------------------------------------------------ */

static void sleep_now(struct actor *actor)
{
	uint64_t next_ns = wh_inspect_next_ns(actor->node), now_ns = wh_sim_now(actor->play->sim);
	uint64_t node_now_ns = wh_env_now(wh_sim_env(actor->play->sim, actor->id));

	actor->state = ACTOR_ASLEEP;
	actor->play->awake--;
	actor->turn++;
	if (wh_sim_rung(actor->play->sim, actor->id))
		wh_actor_rung(actor);
	else if (next_ns != UINT64_MAX)
		turn_at(actor, now_ns + (next_ns > node_now_ns ? next_ns - node_now_ns : 0));
}

static void wake_up(struct actor *actor)
{
	if (actor->state != ACTOR_ASLEEP)
		return;
	actor->state = ACTOR_AWAKE;
	actor->play->awake++;
	actor->idle = 0;
}

void wh_actor_rung(struct actor *actor)
{
	if (actor->state != ACTOR_ASLEEP)
		return;
	wake_up(actor);
	turn_soon(actor);
}

/* The steps of coming in that it has done by now. */
static void look_at_entry(struct actor *actor)
{
	static const enum wh_moment moments[WHORL_ENTRIES] = {
		[WHORL_ENTRY_MET] = WH_MOMENT_MET,           [WHORL_ENTRY_INVITED] = WH_MOMENT_INVITED,
		[WHORL_ENTRY_THERE] = WH_MOMENT_THERE,       [WHORL_ENTRY_BEGUN] = WH_MOMENT_BEGUN,
		[WHORL_ENTRY_RESTORED] = WH_MOMENT_RESTORED,
	};
	struct whorl_node_stats stats = {.size = sizeof(stats)};

	if (actor->reached == (1u << WHORL_ENTRIES) - 1 || actor->node == NULL ||
	    whorl_node_statistics(actor->node, &stats) != WHORL_OK)
		return;
	for (uint32_t stage = 0; stage < WHORL_ENTRIES && !actor->crashed; stage++) {
		if ((actor->reached >> stage & 1) != 0 || stats.entry_ns[stage] == 0)
			continue;
		actor->reached |= 1u << stage;
		actor->play->useful_step = actor->play->steps;
		wh_faults_moment(actor, moments[stage]);
	}
}

static void begin_pass(struct actor *actor)
{
	for (uint32_t g = 0; g < actor->play->subgroup_count; g++)
		if (actor->apps[g].member != NULL)
			actor->apps[g].member->in_pass = 0;
	actor->in_pass = true;
	actor->play->passes++;
}

static void end_pass(struct actor *actor)
{
	actor->in_pass = false;
	actor->play->passes--;
	if (wh_play_failed(actor->play))
		return;
	if (actor->crashed) {
		wh_check_died(actor);
		return;
	}
	wh_check_pass(actor);
	for (uint32_t g = 0; g < actor->play->subgroup_count; g++)
		if (actor->apps[g].subgroup != NULL || actor->apps[g].member != NULL) {
			wh_app_look(&actor->apps[g]);
			if (actor->apps[g].subgroup != NULL)
				wh_stream_look(actor->apps[g].stream);
		}
	look_at_entry(actor);
}

/* One pass: an ordinary one, or the last look before sleep. */
static void make_pass(struct actor *actor, bool last_look)
{
	size_t work;

	begin_pass(actor);
	wh_sim_begin_pass(actor->play->sim);
	work = last_look ? whorl_arm(actor->node) : whorl_step(actor->node);
	wh_sim_end_pass(actor->play->sim);
	actor->idle = work > 0 ? 0 : actor->idle + 1;
	end_pass(actor);
	if (wh_play_failed(actor->play) || actor->crashed)
		return;
	if (last_look && work == 0)
		sleep_now(actor);
	else
		turn_soon(actor);
}

static void take_turn(void *ctx, uint64_t number)
{
	struct actor *actor = ctx;
	struct play *play = actor->play;

	if (number != actor->turn || actor->state == ACTOR_GONE || actor->in_pass || wh_play_failed(play))
		return;
	wake_up(actor);
	if (wh_sim_now(play->sim) < actor->stalled_until_ns) {
		turn_at(actor, actor->stalled_until_ns);
		return;
	}
	make_pass(actor, actor->idle > 0 && wh_dice_one_in(&actor->dice, 2));
}

/* ---- lives ---------------------------------------------------------------------------------------------------------------- */

static const uint64_t paces_ns[] = {100, 1000, 10000, 100000};

static void begin_life(struct actor *actor, uint32_t id)
{
	struct play *play = actor->play;
	uint32_t lives = 1;

	for (uint32_t i = 0; i < actor->life; i++)
		lives += play->actors[i].id == id;
	snprintf(actor->name, sizeof(actor->name), "node %u", id);
	if (lives > 1)
		snprintf(actor->name, sizeof(actor->name), "node %u (life %u)", id, lives);
}

void wh_app_init(struct app *app, struct actor *actor, uint32_t g)
{
	*app = (struct app){.actor = actor, .g = g, .shard = -1};
	app->next = wh_plan_alloc(actor->play->lives_max, sizeof(*app->next));
	app->stream = wh_plan_alloc(1, sizeof(*app->stream));
	wh_stream_init(app->stream, app);
}

void wh_actor_init(struct actor *actor, struct play *play, uint32_t life, uint32_t id)
{
	*actor = (struct actor){
		.play = play, .id = id, .life = life, .dice = wh_dice_split(play->plan->seed, 300 + life)};
	begin_life(actor, id);
	actor->pace_ns = paces_ns[wh_dice_below(&actor->dice, 4)];
	actor->apps = wh_plan_alloc(play->subgroups_max, sizeof(*actor->apps));
	for (uint32_t g = 0; g < play->subgroup_count; g++)
		wh_app_init(&actor->apps[g], actor, g);
}

void wh_actor_free(struct actor *actor)
{
	for (uint32_t g = 0; g < actor->play->subgroup_count; g++) {
		wh_calls_free(&actor->apps[g]);
		wh_reads_free(&actor->apps[g]);
		wh_stream_free(actor->apps[g].stream);
		free(actor->apps[g].stream);
		free(actor->apps[g].next);
		free(actor->apps[g].coming);
		free(actor->apps[g].looks);
	}
	free(actor->apps);
	wh_wishes_free(actor);
}

/* ---- the beginning and the end -------------------------------------------------------------------------------------------- */

/* Its application is told of what may be lost by right, and of nothing else. */
static void on_gone(whorl_subgroup *subgroup, uint64_t first, uint64_t end, void *ctx)
{
	struct app *app = ctx;

	if (app->actor->crashed || wh_play_failed(app->actor->play))
		return;
	if (subgroup != app->subgroup || first >= end || end != app->stream->lapsed)
		wh_play_fail(app->actor->play,
			     "gone: %s, g%u: it is told that its messages from %" PRIu64 " to %" PRIu64
			     " are gone, and may lose those below %" PRIu64,
			     app->actor->name, app->g, first, end, app->stream->lapsed);
}

static void open_app(struct app *app)
{
	struct actor *actor = app->actor;
	bool batches = wh_dice_one_in(&actor->dice, 2), calls = actor->play->subgroups[app->g].calls;
	enum whorl_result result;

	app->subgroup = whorl_subgroup_find(actor->node, actor->play->plan->config.subgroups[app->g].name);
	if (app->subgroup == NULL)
		return;
	app->refuses = actor->play->plan->refusals && wh_dice_one_in(&actor->dice, 2) && !calls;
	if (calls)
		wh_calls_of_app(app);
	result = calls          ? WHORL_OK
		 : app->refuses ? whorl_on_offer(app->subgroup, on_offer, app)
		 : batches      ? whorl_on_batch(app->subgroup, on_batch, app)
				: whorl_on_message(app->subgroup, on_message, app);
	if (result != WHORL_OK)
		wh_play_fail(actor->play, "open: %s: its upcall is refused: %s", actor->name,
			     whorl_result_text(result));
	if (whorl_on_gone(app->subgroup, on_gone, app) != WHORL_OK)
		wh_play_fail(actor->play, "open: %s: its upcall for what is gone is refused", actor->name);
	if (wh_play_has_states(actor->play))
		wh_state_of_app(app);
}

static void on_view(const struct whorl_view *view, void *ctx)
{
	struct actor *actor = ctx;

	if (actor->crashed)
		return;
	wh_play_enter_view(actor, view);
	for (uint32_t g = 0; g < actor->play->subgroup_count; g++)
		if (actor->play->subgroups[g].calls && wh_dice_one_in(&actor->dice, 3))
			wh_read_one(&actor->apps[g]);
}

static enum whorl_result load_record(void *ctx, uint64_t *group, struct wh_error *err)
{
	const struct actor *actor = ctx;

	(void)err;
	*group = actor->play->disks[actor->id];
	return WHORL_OK;
}

/* What a node that has crashed was about to write is lost. */
static enum whorl_result save_record(void *ctx, uint64_t group, struct wh_error *err)
{
	const struct actor *actor = ctx;

	(void)err;
	if (!actor->crashed)
		actor->play->disks[actor->id] = group;
	return WHORL_OK;
}

static const struct wh_record_ops disks = {.load = load_record, .save = save_record};

void wh_actor_stop_opening(struct actor *actor)
{
	struct play *play = actor->play;

	actor->opening = false;
	wh_sim_hold(play->sim, actor->id, false);
	play->at[actor->id] = actor;
	actor->state = ACTOR_GONE;
	actor->crashed = true;
	wh_history_crashed(play->history, actor->life);
}

/* Its disk does not answer, or has none of what there was: so this life is none. */
static void fail_to_open(struct actor *actor, const struct wh_error *err)
{
	struct play *play = actor->play;

	if (err->code != WHORL_DISK || !wh_disk_is_harmed(play, actor->id)) {
		wh_play_fail(play, "open: %s: %s", actor->name, err->text);
		return;
	}
	play->at[actor->id] = actor;
	play->unopened -= actor->state == ACTOR_UNOPENED;
	play->awake -= actor->state == ACTOR_UNOPENED;
	actor->state = ACTOR_GONE;
	actor->crashed = true;
	wh_sim_exit(play->sim, actor->id);
	wh_history_crashed(play->history, actor->life);
}

#define OPEN_TRIES 100

static void open_again(void *ctx, uint64_t tries)
{
	struct actor *actor = ctx;
	struct play *play = actor->play;

	play->faults_due--;
	play->restless_ns = wh_sim_now(play->sim);
	if (actor->opening && !play->closing && !play->extinct && !wh_play_failed(play))
		open_actor(actor, tries);
}

/* On one host another node may speak for its disk, till the group is back: its program begins once more. */
static bool waits_for_directory(struct actor *actor, const struct wh_error *err, uint64_t tries)
{
	struct play *play = actor->play;

	if (!play->plan->one_host || !play->plan->logs || err->code != WHORL_DISK || tries == OPEN_TRIES ||
	    strstr(err->text, "another process") == NULL)
		return false;
	play->faults_due++;
	wh_sim_hold(play->sim, actor->id, true);
	wh_sim_at(play->sim, wh_sim_now(play->sim) + 1 + wh_dice_below(&actor->dice, wh_play_timeout_ns(play)),
		  open_again, actor, tries + 1);
	return true;
}

static void open_actor(struct actor *actor, uint64_t tries)
{
	struct play *play = actor->play;
	struct wh_node_config config = play->plan->config; /* is copied */
	const struct wh_world world = {.env = wh_sim_env(play->sim, actor->id),
				       .create = wh_sim_create,
				       .create_ctx = play->sim,
				       .headers_apart = play->plan->headers_apart,
				       .one_host = play->plan->one_host,
				       .records = play->plan->disks ? &disks : NULL,
				       .records_ctx = actor};
	const struct whorl_open_options options = {
		.size = sizeof(options), .layout = play->plan->layout, .layout_ctx = (void *)play->plan};
	uint32_t subgroups = play->plan->config.subgroup_count;
	struct wh_error err;

	config.subgroup_count += play->plan->listed_count;
	config.group.start = actor->joins ? WH_START_JOIN : WH_START_AUTO;
	actor->opening = true;
	wh_sim_hold(play->sim, actor->id, false);
	if (wh_node_open(&config, actor->id, &world, &options, &actor->node, &err) != WHORL_OK) {
		actor->opening = waits_for_directory(actor, &err, tries);
		if (!actor->opening)
			fail_to_open(actor, &err);
		return;
	}
	actor->opening = false;
	actor->incarnation = wh_inspect_incarnation(actor->node);
	play->at[actor->id] = actor;
	play->unopened -= actor->state == ACTOR_UNOPENED;
	play->awake += actor->state == ACTOR_ABSENT;
	actor->state = ACTOR_AWAKE;
	wh_faults_born(actor);
	for (uint32_t g = 0; g < subgroups; g++)
		open_app(&actor->apps[g]);
	if (whorl_on_view(actor->node, on_view, actor) != WHORL_OK)
		wh_play_fail(play, "open: %s: its view upcall is refused", actor->name);
	wh_wishes_opened(actor);
	if (whorl_start(actor->node) != WHORL_OK)
		wh_play_fail(play, "open: %s does not start", actor->name);
	for (uint32_t g = 0; g < subgroups; g++)
		if (actor->apps[g].subgroup != NULL)
			wh_stream_schedule(actor->apps[g].stream);
	turn_soon(actor);
}

void wh_actor_open(struct actor *actor)
{
	open_actor(actor, 0);
}

/* Some life of it is on its way. */
static bool is_opening(const struct play *play, uint32_t id)
{
	for (uint32_t i = 0; i < play->lives; i++)
		if (play->actors[i].id == id && play->actors[i].opening)
			return true;
	return false;
}

/* Something is on the stack: itself, or another node that would stand still while it closes. */
static bool is_busy(const struct actor *actor)
{
	return actor->play->passes > 0 || actor->play->depth > 0 ||
	       (actor->leaving && actor->node != NULL && !actor->crashed);
}

/* No process uses it any more. */
static void replace_disk(struct play *play, uint32_t id)
{
	if (!play->plan->logs || play->plan->one_host)
		return;
	wh_sim_exit(play->sim, id);
	wh_sim_disk_hang(wh_sim_disk_of(play->sim, id), false);
	wh_sim_disk_blank(wh_sim_disk_of(play->sim, id));
}

bool wh_actor_return(struct play *play, const struct wh_fault *fault)
{
	uint32_t id = fault->node;
	struct actor *last = play->at[id], *actor = &play->actors[id];

	if ((last != NULL && is_busy(last)) || is_opening(play, id))
		return false;
	if (last != NULL || actor->state != ACTOR_ABSENT) {
		if (last == NULL || play->lives == play->lives_max)
			return true;
		wh_actor_crash(last, false);
		actor = &play->actors[play->lives++];
		wh_actor_init(actor, play, (uint32_t)(actor - play->actors), id);
		wh_history_born(play->history, actor->life, id);
		actor->joins = !play->plan->restarts_form;
	}
	if (fault->blank)
		replace_disk(play, id);
	if (fault->anew)
		wh_anew_begin(actor);
	wh_actor_open(actor);
	return true;
}

void wh_actor_rest(struct actor *actor, bool rests)
{
	struct play *play = actor->play;

	actor->rests += rests ? 1 : UINT32_MAX;
	if (!wh_actor_runs(actor) || actor->rests > (rests ? 1 : 0))
		return;
	wh_tell(actor, TOLD_REST, 0, rests, 0, 0);
	for (uint32_t g = 0; g < play->subgroup_count; g++) {
		struct app *app = &actor->apps[g];
		enum whorl_result result;

		if (app->subgroup == NULL)
			continue;
		result = whorl_pause_sending(app->subgroup, rests);
		if (result != WHORL_OK && result != whorl_error(actor->node, NULL, 0) &&
		    (result != WHORL_CLOSED || !wh_app_leaves(app)))
			wh_play_fail(play, "rest: %s, g%u: whorl_pause_sending says %s", actor->name, g,
				     whorl_result_text(result));
		if (!rests)
			wh_stream_unbar(app->stream);
	}
}

/* After whorl_close nothing is told any more. */
static void check_all_told(const struct actor *actor)
{
	char what[256];

	for (uint32_t g = 0; g < actor->play->subgroup_count && !actor->crashed && !actor->play->extinct; g++)
		if (wh_calls_lack(&actor->apps[g], true, what, sizeof(what)) ||
		    wh_reads_lack(&actor->apps[g], what, sizeof(what)))
			wh_play_fail(actor->play, "close: %s", what);
}

void wh_actor_leave(struct actor *actor, int timeout_ms)
{
	struct play *play = actor->play;
	whorl_node *node = actor->node;
	enum whorl_result result;

	if (actor->state == ACTOR_AWAKE || actor->state == ACTOR_UNOPENED)
		play->awake--;
	actor->state = ACTOR_GONE;
	if (node == NULL)
		return;
	actor->leaving = true; /* from here on no node takes its place before it is gone: events come meanwhile */
	/* What a dead node has submitted is done by threads that died with it; here they come to an end first. */
	while (wh_inspect_jobs(node) > 0 && timeout_ms == 0 && wh_sim_step(play->sim, UINT64_MAX))
		;
	result = whorl_close(node, timeout_ms);
	if (!actor->crashed && !actor->removed)
		wh_history_left(play->history, actor->life);
	actor->drained = timeout_ms > 0 && result == WHORL_OK && !actor->crashed;
	check_all_told(actor);
	wh_play_forsake_view(actor);
	actor->node = NULL;
	if (play->plan->logs && !actor->crashed)
		wh_sim_exit(play->sim, actor->id);
	for (uint32_t g = 0; g < play->subgroup_count; g++)
		actor->apps[g].subgroup = NULL;
	wh_wishes_closed(actor);
	if (timeout_ms > 0 && result != WHORL_OK && !wh_play_has_faults(play))
		wh_play_fail(play, "close: %s: it drains, and whorl_close says %s", actor->name,
			     whorl_result_text(result));
}

static void leave_now(void *ctx, uint64_t argument)
{
	struct actor *actor = ctx;

	(void)argument;
	if (!wh_actor_runs(actor) || actor->play->closing)
		return;
	if (is_busy(actor))
		wh_actor_leave_soon(actor);
	else
		wh_actor_leave(actor, 0);
	actor->left = !wh_actor_runs(actor) && !actor->crashed;
	for (uint32_t g = 0; g < actor->play->subgroup_count && actor->left; g++)
		wh_stream_finish_late(actor->apps[g].stream); /* as long as one is open, the node is not gone */
}

void wh_actor_leave_soon(struct actor *actor)
{
	struct play *play = actor->play;

	wh_sim_at(play->sim, wh_sim_now(play->sim) + wh_dice_below(&actor->dice, 10 * WH_NS_PER_MS), leave_now, actor,
		  0);
}

bool wh_actor_depart(struct actor *actor)
{
	struct play *play = actor->play;

	if (!wh_actor_runs(actor))
		return true;
	if (is_busy(actor) || wh_sim_now(play->sim) < actor->stalled_until_ns)
		return false;
	for (uint32_t g = 0; g < play->subgroup_count; g++)
		if (actor->apps[g].subgroup != NULL || actor->apps[g].stream->open_count > 0)
			wh_stream_stop(actor->apps[g].stream);
	wh_actor_leave(actor, 10000);
	actor->left = !actor->crashed;
	if (actor->drained && !wh_play_failed(play))
		wh_liveness_check_left(actor);
	return true;
}
