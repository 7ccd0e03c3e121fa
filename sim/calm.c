/* calm.c - what must be so in the end. See play_int.h.
 *
 *     progress    once faults have stopped, a strict majority of the last view that is connected and runs, and of which
 *                 nobody suspects another, goes on: in a bounded time it has a view without the dead, all that it has
 *                 committed is delivered by all of it, and a node that it has removed knows that
 *     silence     an idle group posts heartbeats, and nothing else
 *     close       who has left in order has left nothing undelivered
 */
#include <inttypes.h>
#include <string.h>

#include "sim/payload.h"
#include "sim/play_int.h"

#define PATIENCE_TIMEOUTS 20 /* so long nothing may change before something is amiss */
#define SLICES 3             /* looks per failure time-out */

/* ---- delivered? -------------------------------------------------------------------------------------------------------------- */

/* How many of its messages must have been delivered by now: those before its first open claim. */
static bool stream_is_done(const struct stream *stream)
{
	bool held = stream->held < stream->claimed && stream->messages[stream->held].state == MESSAGE_OPEN;

	return held || stream->claimed == stream->quota;
}

static bool must_progress(const struct play *play, const struct circle *circle)
{
	if (!circle->active)
		return false;
	if (!circle->ordered || circle->part_count == 1 || play->plan->config.engine.null_sends)
		return true;
	return !wh_play_has_faults(play) && wh_plan_progresses(play->plan, circle->g);
}

/* What is not as it must be, in words; false: nothing. */
static bool seat_lacks(const struct seat *seat, char *what, size_t bytes)
{
	const struct circle *circle = seat->circle;

	for (uint32_t s = 0; s < circle->part_count; s++) {
		const struct stream *stream = circle->parts[s].stream;
		uint64_t expected = wh_stream_finished(stream), done = seat->taken[s].done;

		if (done < circle->parts[s].first)
			done = circle->parts[s].first;
		if (done == expected)
			continue;
		snprintf(what, bytes,
			 "node %u, g%u, view %" PRIu64 ": is done with %" PRIu64
			 " messages of node %u, expected %" PRIu64,
			 seat->actor->id, circle->g, circle->scene->number, done, stream->place->actor->id, expected);
		return true;
	}
	if (!circle->ordered || seat->deliveries == circle->order_count)
		return false;
	snprintf(what, bytes, "node %u, g%u, view %" PRIu64 ": has delivered %" PRIu64 " of %" PRIu64 " messages",
		 seat->actor->id, circle->g, circle->scene->number, seat->deliveries, circle->order_count);
	return true;
}

/* Nobody has anything left to do but those behind a held claim. */
static bool stream_lacks(const struct part *part, char *what, size_t bytes)
{
	const struct stream *stream = part->stream;
	uint64_t finished = wh_stream_finished(stream);

	if (stream_is_done(stream) && part->sent == finished)
		return false;
	snprintf(what, bytes,
		 "node %u, g%u: has claimed %" PRIu64 " of %" PRIu64 " messages%s, finished %" PRIu64
		 ", and sent %" PRIu64,
		 stream->place->actor->id, stream->place->g, stream->claimed, stream->quota,
		 stream->starved ? " (and waits for the window)" : "", finished, part->sent);
	return true;
}

static bool scene_lacks(const struct scene *scene, uint64_t survivors, char *what, size_t bytes)
{
	for (uint32_t i = 0; i < scene->circle_count; i++) {
		const struct circle *circle = &scene->circles[i];

		if (!must_progress(scene->play, circle))
			continue;
		for (uint32_t s = 0; s < circle->part_count; s++)
			if ((survivors >> circle->parts[s].stream->place->actor->id & 1) != 0 &&
			    stream_lacks(&circle->parts[s], what, bytes))
				return true;
		for (uint32_t k = 0; k < circle->seat_count; k++)
			if ((survivors >> circle->seats[k].actor->id & 1) != 0 &&
			    seat_lacks(&circle->seats[k], what, bytes))
				return true;
	}
	return false;
}

void wh_calm_check(struct play *play)
{
	char what[256];

	if (play->scenes != NULL && !wh_play_failed(play) && scene_lacks(play->scenes, UINT64_MAX, what, sizeof(what)))
		wh_play_fail(play, "progress: %s", what);
}

/* ---- who must go on? ------------------------------------------------------------------------------------------------------- */

struct state {                    /* of a run whose faults are over */
	const struct scene *last; /* the last view that anybody who runs is in */
	uint64_t running;         /* nodes that run, and do not know that they were removed */
	uint64_t survivors;       /* of these a majority of the last view that trust each other; 0: there is none */
	uint64_t suspicions;      /* of all of them, mixed */
	uint64_t deliveries;
};

static bool trust(const struct play *play, uint32_t a, uint32_t b)
{
	struct wh_sim_traffic there = wh_sim_traffic(play->sim, a, b), back = wh_sim_traffic(play->sim, b, a);

	return !there.broken && !back.broken && (wh_inspect_suspects(play->actors[a].node) >> b & 1) == 0 &&
	       (wh_inspect_suspects(play->actors[b].node) >> a & 1) == 0;
}

static bool all_trust(const struct play *play, uint64_t set)
{
	for (uint32_t a = 0; a < play->nodes; a++)
		for (uint32_t b = a + 1; b < play->nodes; b++)
			if ((set >> a & 1) != 0 && (set >> b & 1) != 0 && !trust(play, a, b))
				return false;
	return true;
}

/* Of the last view: without those who left in order. */
static bool is_quorum(const struct play *play, uint64_t view, uint64_t set)
{
	int tie_breaker = wh_node_config_tie_breaker(&play->plan->config);
	struct wh_quorum quorum = {.members = (uint32_t)__builtin_popcountll(view), .tie_breaker = -1};
	bool tie;

	if (tie_breaker >= 0 && (view >> tie_breaker & 1) != 0)
		quorum.tie_breaker = tie_breaker;
	tie = quorum.tie_breaker >= 0 && (set >> tie_breaker & 1) != 0;
	return wh_quorum_holds(&quorum, (uint32_t)__builtin_popcountll(set), tie);
}

/* Those of `set` who are in a view before the last: is there one to learn of the last from, or may they decide what follows
 * theirs? Only somebody cut off for good may have seen that what they decided was agreed to. */
static bool can_follow(const struct play *play, const struct scene *last, uint64_t set)
{
	for (uint32_t i = 0; i < play->nodes; i++)
		if ((set >> i & 1) != 0 && play->actors[i].scene == last)
			return true;
	for (uint32_t i = 0; i < play->nodes; i++)
		if ((set >> i & 1) != 0 && !is_quorum(play, play->actors[i].scene->members, set))
			return false;
	return true;
}

/* The largest quorum that trusts itself. */
static uint64_t find_survivors(const struct play *play, const struct scene *last, uint64_t running)
{
	uint64_t candidates = last->members & running, best = 0;

	/* All subsets of the candidates, the largest first. */
	for (uint64_t set = candidates; set != 0; set = (set - 1) & candidates)
		if (__builtin_popcountll(set) > __builtin_popcountll(best) && is_quorum(play, last->members, set) &&
		    all_trust(play, set) && can_follow(play, last, set))
			best = set;
	return best;
}

static struct state look(const struct play *play)
{
	struct state state = {.last = NULL};

	for (uint32_t i = 0; i < play->nodes; i++) {
		const struct actor *actor = &play->actors[i];

		if (!wh_actor_runs(actor) || actor->removed)
			continue;
		state.running |= UINT64_C(1) << i;
		state.suspicions = wh_mix(state.suspicions ^ wh_inspect_suspects(actor->node)) + i;
		if (actor->scene != NULL && (state.last == NULL || actor->scene->number > state.last->number))
			state.last = actor->scene;
		for (uint32_t g = 0; g < play->plan->config.subgroup_count; g++)
			state.deliveries += actor->places[g].deliveries;
	}
	if (state.last != NULL)
		state.survivors = find_survivors(play, state.last, state.running);
	return state;
}

static bool is_same(const struct state *a, const struct state *b)
{
	return a->last == b->last && a->running == b->running && a->survivors == b->survivors &&
	       a->suspicions == b->suspicions && a->deliveries == b->deliveries;
}

/* What is not as it must be where there are survivors. */
static bool lacks(const struct play *play, const struct state *state, char *what, size_t bytes)
{
	for (uint32_t i = 0; i < play->nodes; i++) {
		const struct actor *actor = &play->actors[i];
		char text[160];

		if ((state->survivors >> i & 1) != 0) {
			if (actor->scene == state->last && !wh_inspect_wedged(actor->node))
				continue;
			snprintf(what, bytes, "node %u is %s view %" PRIu64 ", the last is %" PRIu64, i,
				 wh_inspect_wedged(actor->node) ? "wedged in" : "in", actor->scene->number,
				 state->last->number);
			return true;
		}
		if ((state->last->members >> i & 1) != 0) {
			snprintf(what, bytes, "node %u is in the last view, %" PRIu64 ", and %s", i,
				 state->last->number, (state->running >> i & 1) != 0 ? "suspected" : "dead");
			return true;
		}
		if ((state->running >> i & 1) != 0 && whorl_error(actor->node, text, sizeof(text)) == WHORL_OK) {
			snprintf(what, bytes, "node %u is not in the last view, and does not know it", i);
			return true;
		}
	}
	return scene_lacks(state->last, state->survivors, what, bytes);
}

static bool history_ends(struct play *play, uint64_t survivors)
{
	bool survives[WH_FAULT_NODES_MAX] = {false};

	if (!play->plan->config.engine.null_sends)
		return true;
	for (uint32_t i = 0; i < play->nodes; i++)
		survives[i] = (survivors >> i & 1) != 0;
	if (!wh_history_end(play->history, survives))
		wh_play_fail(play, "%s", wh_history_broken(play->history));
	return !wh_play_failed(play);
}

/* Until all is quiet, for a moment, or time for a look has come. */
static bool go_on(struct play *play)
{
	uint64_t until_ns = wh_sim_now(play->sim) + wh_play_timeout_ns(play) / SLICES;

	while (wh_play_step(play, until_ns) && !wh_play_is_quiet(play))
		;
	return !wh_play_failed(play);
}

bool wh_calm_settle(struct play *play)
{
	uint64_t timeout_ns = wh_play_timeout_ns(play), since_ns = wh_sim_now(play->sim);
	struct state before = look(play);
	char what[256] = "";

	for (;;) {
		struct state now = look(play);

		if (!is_same(&now, &before))
			since_ns = wh_sim_now(play->sim);
		before = now;
		if (now.survivors != 0 && wh_play_is_quiet(play) && !lacks(play, &now, what, sizeof(what))) {
			play->survivors = now.survivors;
			return history_ends(play, now.survivors);
		}
		if (wh_sim_now(play->sim) - since_ns > PATIENCE_TIMEOUTS * timeout_ns)
			break;
		if (!go_on(play))
			return false;
	}
	if (before.survivors == 0)
		return true; /* nobody may go on, and nobody has */
	if (!lacks(play, &before, what, sizeof(what)))
		snprintf(what, sizeof(what),
			 "%u nodes are awake, %u applications work, and %" PRIu64 " things are under way", play->awake,
			 play->busy_streams, wh_sim_under_way(play->sim));
	wh_play_fail(play, "progress: nothing has changed for %d failure time-outs, and %s", PATIENCE_TIMEOUTS, what);
	return false;
}

/* ---- silence, close ----------------------------------------------------------------------------------------------------------- */

void wh_calm_check_silence(struct play *play)
{
	struct wh_sim_counts before[WH_FAULT_NODES_MAX] = {{0}};

	for (uint32_t i = 0; i < play->nodes; i++)
		before[i] = wh_sim_counts(play->sim, i);
	wh_play_goes_on(play, 3 * wh_play_timeout_ns(play) / 4);
	for (uint32_t i = 0; i < play->nodes && !wh_play_failed(play); i++) {
		struct wh_sim_counts after = wh_sim_counts(play->sim, i);
		uint64_t quiet = after.quiet - before[i].quiet;

		if ((play->survivors >> i & 1) == 0)
			continue;
		if (after.loud != before[i].loud || quiet < 2 || quiet > 4)
			wh_play_fail(
				play,
				"silence: node %u is idle for three quarters of the time-out, and has posted %" PRIu64
				" pushes and %" PRIu64 " heartbeats",
				i, after.loud - before[i].loud, quiet);
	}
}

/* Who is still in the view before has all of it, and will deliver it. */
void wh_calm_check_left(const struct actor *actor)
{
	struct play *play = actor->play;

	for (uint32_t g = 0; g < play->plan->config.subgroup_count; g++) {
		const struct stream *stream = actor->places[g].stream;
		uint64_t count = stream->claimed; /* up to the last that was committed */

		while (count > 0 && stream->messages[count - 1].state != MESSAGE_COMMITTED)
			count--;
		for (uint32_t i = 0; i < play->nodes && !play->plan->subgroups[g].by_function; i++) {
			const struct place *place = &play->actors[i].places[g];
			bool expects = place->seat != NULL && wh_circle_sender(place->seat->circle, actor->id) >= 0 &&
				       i != actor->id && (play->touched >> i & 1) == 0 &&
				       play->actors[i].scene->number >= actor->scene->number;

			if (expects && place->next[actor->id] < count)
				wh_play_fail(play,
					     "close: node %u, g%u: has delivered %" PRIu64 " of the %" PRIu64
					     " messages of node %u, which has drained and left",
					     i, g, place->next[actor->id], count, actor->id);
		}
	}
}
