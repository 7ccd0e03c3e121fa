/* actors.c - the nodes of a run: when they make a pass, when they sleep, what happens in their upcalls. See
 * play.h. */
#include "tests/sim/play.h"

#include <string.h>

#include "group/node_int.h"

#define LINGER_EVENTS 60
#define LINGER_DEPTH 3

static void turn(void *ctx, uint64_t number);

static void turn_at(struct actor *actor, uint64_t when_ns)
{
	wh_sim_at(actor->play->sim, when_ns, turn, actor, ++actor->turn);
}

/* The next turn: mostly about the node's pace, sometimes much later. */
static void turn_soon(struct actor *actor)
{
	struct wh_dice *dice = &actor->play->dice;
	uint64_t pause = wh_dice_below(dice, 2 * actor->pace_ns);

	if (wh_dice_one_in(dice, 32))
		pause *= 20;
	turn_at(actor, wh_sim_now(actor->play->sim) + pause);
}

/* ---- upcalls ---------------------------------------------------------------------------------------------------------- */

void actor_linger(struct actor *actor)
{
	struct play *play = actor->play;
	uint64_t events = wh_dice_between(&play->dice, 1, LINGER_EVENTS);
	uint64_t until = wh_sim_now(play->sim) + play->linger_ns;

	if (play->depth == LINGER_DEPTH || play->closing || actor->leaving)
		return;
	check_settle(actor);
	play->depth++;
	while (events-- > 0 && !play_failed(play) && wh_sim_step(play->sim, until))
		play->steps++;
	play->depth--;
}

static void upcall(struct seat *seat, const struct whorl_message *message)
{
	struct play *play = seat->circle->play;

	if (play_failed(play))
		return;
	seat->in_upcall = true;
	check_upcall(seat, message);
	if (play->long_upcall_in > 0 && wh_dice_one_in(&play->dice, play->long_upcall_in))
		actor_linger(seat->actor);
	if (play->reply_in > 0 && seat->stream != NULL && wh_dice_one_in(&play->dice, play->reply_in)) {
		stream_act(seat->stream);
		stream_schedule(seat->stream);
	}
	seat->in_upcall = false;
}

static void on_message(const struct whorl_message *message, void *ctx)
{
	struct seat *seat = ctx;

	upcall(seat, message);
	check_payload(seat, message); /* still */
}

/* All of a batch stays what it is until the upcall returns. */
static void on_batch(const struct whorl_message *messages, size_t count, void *ctx)
{
	struct seat *seat = ctx;

	for (size_t i = 0; i < count; i++)
		upcall(seat, &messages[i]);
	for (size_t i = 0; i < count; i++)
		check_payload(seat, &messages[i]);
}

/* ---- turns ------------------------------------------------------------------------------------------------------------ */

static void sleep_now(struct actor *actor)
{
	uint64_t next_ns = actor->node->loop.next_ns, now_ns = wh_sim_now(actor->play->sim);
	uint64_t node_now_ns = wh_env_now(wh_sim_env(actor->play->sim, actor->id));

	actor->state = ACTOR_ASLEEP;
	actor->play->awake--;
	actor->turn++;
	if (wh_sim_rung(actor->play->sim, actor->id))
		actor_rung(actor);
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

void actor_rung(struct actor *actor)
{
	if (actor->state != ACTOR_ASLEEP)
		return;
	wake_up(actor);
	turn_soon(actor);
}

/* One pass: an ordinary one, or the last look before sleep. */
static void pass(struct actor *actor, bool last_look)
{
	size_t work;

	for (uint32_t i = 0; i < actor->seat_count; i++)
		actor->seats[i]->in_pass = 0;
	actor->in_pass = true;
	work = last_look ? whorl_arm(actor->node) : whorl_step(actor->node);
	actor->in_pass = false;
	actor->idle = work > 0 ? 0 : actor->idle + 1;
	if (play_failed(actor->play))
		return;
	check_pass(actor);
	for (uint32_t i = 0; i < actor->seat_count; i++)
		if (actor->seats[i]->stream != NULL)
			stream_look(actor->seats[i]->stream);
	if (last_look && work == 0)
		sleep_now(actor);
	else
		turn_soon(actor);
}

static void turn(void *ctx, uint64_t number)
{
	struct actor *actor = ctx;
	struct play *play = actor->play;

	if (number != actor->turn || actor->state == ACTOR_GONE || play_failed(play))
		return;
	wake_up(actor);
	if (wh_sim_now(play->sim) < actor->stalled_until_ns) {
		turn_at(actor, actor->stalled_until_ns);
		return;
	}
	pass(actor, actor->idle > 0 && wh_dice_one_in(&play->dice, 2));
}

/* ---- the beginning and the end -------------------------------------------------------------------------------------------- */

static void sit_down(struct actor *actor, uint32_t i)
{
	struct seat *seat = actor->seats[i];
	bool batches = wh_dice_one_in(&actor->play->dice, 2);
	enum whorl_result result;

	seat->subgroup = whorl_subgroup_at(actor->node, i);
	result = batches ? whorl_on_batch(seat->subgroup, on_batch, seat)
			 : whorl_on_message(seat->subgroup, on_message, seat);
	if (result != WHORL_OK)
		play_fail(actor->play, "open: node %u: its upcall is refused: %s", actor->id,
			  whorl_result_text(result));
}

void actor_open(struct actor *actor)
{
	struct play *play = actor->play;
	const struct wh_world world = {.env = wh_sim_env(play->sim, actor->id),
				       .create = wh_sim_create,
				       .create_ctx = play->sim,
				       .headers_apart = play->plan->headers_apart};
	struct wh_error err;

	if (wh_node_open(&play->plan->config, actor->id, &world, NULL, &actor->node, &err) != WHORL_OK) {
		play_fail(play, "open: node %u: %s", actor->id, err.text);
		return;
	}
	actor->state = ACTOR_AWAKE;
	if (actor->node->subgroup_count != actor->seat_count) {
		play_fail(play, "open: node %u is in %u subgroups, expected %u", actor->id, actor->node->subgroup_count,
			  actor->seat_count);
		return;
	}
	for (uint32_t i = 0; i < actor->seat_count; i++)
		sit_down(actor, i);
	if (whorl_start(actor->node) != WHORL_OK)
		play_fail(play, "open: node %u does not start", actor->id);
	for (uint32_t i = 0; i < actor->seat_count; i++)
		if (actor->seats[i]->stream != NULL)
			stream_schedule(actor->seats[i]->stream);
	turn_soon(actor);
}

void actor_leave(struct actor *actor, int timeout_ms)
{
	whorl_node *node = actor->node;
	enum whorl_result result;

	if (actor->state == ACTOR_AWAKE || actor->state == ACTOR_UNOPENED)
		actor->play->awake--;
	actor->state = ACTOR_GONE;
	if (node == NULL)
		return;
	result = whorl_close(node, timeout_ms);
	actor->node = NULL;
	for (uint32_t i = 0; i < actor->seat_count; i++)
		actor->seats[i]->subgroup = NULL;
	if (timeout_ms > 0 && result != WHORL_OK)
		play_fail(actor->play, "close: node %u: it drains, and whorl_close says %s", actor->id,
			  whorl_result_text(result));
}
