/* actors.c - the nodes of a run: when they make a pass, when they sleep, what happens in their upcalls. See
 * play_int.h. */
#include <string.h>

#include "group/node.h"
#include "sim/play_int.h"

#define LINGER_EVENTS 60
#define LINGER_DEPTH 3

static void turn(void *ctx, uint64_t number);

/* Not while it is busy with what it has posted. */
static void turn_at(struct actor *actor, uint64_t when_ns)
{
	uint64_t busy_until_ns = wh_sim_busy_until(actor->play->sim, actor->id);

	if (when_ns < busy_until_ns)
		when_ns = busy_until_ns;
	wh_sim_at(actor->play->sim, when_ns, turn, actor, ++actor->turn);
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
static void linger(struct actor *actor, uint64_t until_ns, uint64_t events)
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
		for (uint32_t i = 0; i < play->nodes;
		     i++) /* those inside of whose upcalls this one happens stand still as well */
			play->touched |= (uint64_t)play->actors[i].in_pass << i;
		actor->stall_ns = 0;
		actor->stalled_until_ns = now_ns + stall_ns;
		linger(actor, actor->stalled_until_ns, UINT64_MAX);
	} else if (play->long_upcall_in > 0 && wh_dice_one_in(&actor->dice, play->long_upcall_in)) {
		linger(actor, now_ns + play->linger_ns, wh_dice_between(&actor->dice, 1, LINGER_EVENTS));
	}
}

/* False: nobody is there any more to get it. */
static bool upcall(struct place *place, const struct whorl_message *message)
{
	struct actor *actor = place->actor;
	struct play *play = actor->play;
	struct seat *seat = place->seat;

	if (wh_play_failed(play) || actor->crashed)
		return false;
	wh_faults_moment(actor, WH_MOMENT_UPCALL);
	if (actor->crashed)
		return false;
	if (seat != NULL)
		seat->in_upcall = true;
	wh_check_upcall(place, message);
	take_time(actor);
	if (!actor->crashed && play->reply_in > 0 && wh_dice_one_in(&actor->dice, play->reply_in)) {
		wh_stream_act(place->stream);
		wh_stream_schedule(place->stream);
	}
	if (seat != NULL)
		seat->in_upcall = false;
	return !actor->crashed;
}

static void on_message(const struct whorl_message *message, void *ctx)
{
	struct place *place = ctx;

	if (upcall(place, message))
		wh_check_payload(place, message); /* still */
}

/* All of a batch stays what it is until the upcall returns. */
static void on_batch(const struct whorl_message *messages, size_t count, void *ctx)
{
	struct place *place = ctx;
	size_t got = 0;

	while (got < count && upcall(place, &messages[got]))
		got++;
	for (size_t i = 0; i < got && !place->actor->crashed; i++)
		wh_check_payload(place, &messages[i]);
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

static void begin_pass(struct actor *actor)
{
	for (uint32_t g = 0; g < actor->play->plan->config.subgroup_count; g++)
		if (actor->places[g].seat != NULL)
			actor->places[g].seat->in_pass = 0;
	actor->in_pass = true;
}

static void end_pass(struct actor *actor)
{
	actor->in_pass = false;
	if (wh_play_failed(actor->play))
		return;
	if (actor->crashed) {
		wh_check_died(actor);
		return;
	}
	wh_check_pass(actor);
	for (uint32_t g = 0; g < actor->play->plan->config.subgroup_count; g++)
		if (actor->places[g].subgroup != NULL)
			wh_stream_look(actor->places[g].stream);
}

/* One pass: an ordinary one, or the last look before sleep. */
static void pass(struct actor *actor, bool last_look)
{
	size_t work;

	begin_pass(actor);
	work = last_look ? whorl_arm(actor->node) : whorl_step(actor->node);
	actor->idle = work > 0 ? 0 : actor->idle + 1;
	end_pass(actor);
	if (wh_play_failed(actor->play) || actor->crashed)
		return;
	if (last_look && work == 0)
		sleep_now(actor);
	else
		turn_soon(actor);
}

static void turn(void *ctx, uint64_t number)
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
	pass(actor, actor->idle > 0 && wh_dice_one_in(&actor->dice, 2));
}

/* ---- the beginning and the end -------------------------------------------------------------------------------------------- */

static void take_place(struct place *place)
{
	struct actor *actor = place->actor;
	bool batches = wh_dice_one_in(&actor->dice, 2);
	enum whorl_result result;

	place->subgroup = whorl_subgroup_find(actor->node, actor->play->plan->config.subgroups[place->g].name);
	if (place->subgroup == NULL)
		return;
	result = batches ? whorl_on_batch(place->subgroup, on_batch, place)
			 : whorl_on_message(place->subgroup, on_message, place);
	if (result != WHORL_OK)
		wh_play_fail(actor->play, "open: node %u: its upcall is refused: %s", actor->id,
			     whorl_result_text(result));
}

static void on_view(const struct whorl_view *view, void *ctx)
{
	struct actor *actor = ctx;

	(void)view;
	if (!actor->crashed)
		wh_scene_enter(actor);
}

void wh_actor_open(struct actor *actor)
{
	struct play *play = actor->play;
	const struct wh_world world = {.env = wh_sim_env(play->sim, actor->id),
				       .create = wh_sim_create,
				       .create_ctx = play->sim,
				       .headers_apart = play->plan->headers_apart};
	const struct whorl_open_options options = {
		.size = sizeof(options), .layout = wh_plan_layout, .layout_ctx = (void *)play->plan};
	uint32_t subgroups = play->plan->config.subgroup_count;
	struct wh_error err;

	if (wh_node_open(&play->plan->config, actor->id, &world, &options, &actor->node, &err) != WHORL_OK) {
		wh_play_fail(play, "open: node %u: %s", actor->id, err.text);
		return;
	}
	actor->state = ACTOR_AWAKE;
	for (uint32_t g = 0; g < subgroups; g++)
		take_place(&actor->places[g]);
	if (whorl_on_view(actor->node, on_view, actor) != WHORL_OK)
		wh_play_fail(play, "open: node %u: its view upcall is refused", actor->id);
	if (whorl_start(actor->node) != WHORL_OK)
		wh_play_fail(play, "open: node %u does not start", actor->id);
	for (uint32_t g = 0; g < subgroups; g++)
		if (actor->places[g].subgroup != NULL)
			wh_stream_schedule(actor->places[g].stream);
	turn_soon(actor);
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
	/* What a dead node has submitted is done by threads that died with it; here they come to an end first. */
	while (wh_inspect_jobs(node) > 0 && timeout_ms == 0 && wh_sim_step(play->sim, UINT64_MAX))
		;
	actor->leaving = true;
	if (!actor->crashed && !actor->removed)
		wh_history_leaving(play->history, actor->id);
	result = whorl_close(node, timeout_ms);
	if (!actor->crashed && !actor->removed)
		wh_history_left(play->history, actor->id);
	actor->drained = timeout_ms > 0 && result == WHORL_OK;
	wh_scene_forsake(actor);
	actor->node = NULL;
	for (uint32_t g = 0; g < play->plan->config.subgroup_count; g++)
		actor->places[g].subgroup = NULL;
	if (timeout_ms > 0 && result != WHORL_OK && !wh_play_has_faults(play))
		wh_play_fail(play, "close: node %u: it drains, and whorl_close says %s", actor->id,
			     whorl_result_text(result));
}

bool wh_actor_depart(struct actor *actor)
{
	struct play *play = actor->play;

	if (!wh_actor_runs(actor))
		return true;
	if (actor->in_pass || play->depth > 0 || wh_sim_now(play->sim) < actor->stalled_until_ns)
		return false;
	for (uint32_t g = 0; g < play->plan->config.subgroup_count; g++)
		if (actor->places[g].subgroup != NULL)
			wh_stream_stop(actor->places[g].stream);
	wh_actor_leave(actor, 10000);
	actor->left = true;
	if (actor->drained && !wh_play_failed(play))
		wh_calm_check_left(actor);
	return true;
}
