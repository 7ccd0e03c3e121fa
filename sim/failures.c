/* failures.c - what must hold of a node as a whole after each pass.
 *
 *     failure     no node complains of what nobody did to it, and none fails for good but for what is allowed: others have
 *                 removed it, and a fault has touched it; what it may keep back is little; nobody is left who has the state
 *                 that it needs
 *     freeze      nothing that a suspect writes is seen any more
 *     switches    one push at a time where they are not deferred
 */
#include "sim/play_int.h"

/* Nobody is left who could have given it what it lacks. */
static bool is_orphan(const struct actor *actor)
{
	for (uint32_t g = 0; g < actor->play->plan->config.subgroup_count; g++) {
		const struct place *place = &actor->places[g];
		bool found = false;

		if (!place->awaits || place->empties || place->seat == NULL)
			continue;
		for (uint32_t i = 0; i < place->seat->circle->seat_count; i++) {
			const struct seat *other = &place->seat->circle->seats[i];

			found |= other->actor != actor && (!other->place->awaits || other->place->empties) &&
				 wh_actor_runs(other->actor) && !other->actor->removed &&
				 (actor->play->broken >> other->actor->life & 1) == 0;
		}
		if (!found)
			return true;
	}
	return false;
}

/* Two whose connection has ended suspect each other. It has believed one of them, and others the other one. */
static bool has_taken_a_side(const struct actor *actor)
{
	const struct play *play = actor->play;
	uint64_t suspects = wh_inspect_distrusts(actor->node);

	for (uint32_t i = 0; i < play->lives; i++)
		if ((play->broken >> i & 1) != 0 && (suspects >> play->actors[i].id & 1) != 0 &&
		    wh_actor_runs(&play->actors[i]))
			return true;
	return false;
}

/* Faults have come to so many in its view that those whom none has come to are no majority: the others may go on without them. */
static bool is_outnumbered(const struct actor *actor)
{
	uint64_t untouched = actor->scene != NULL ? actor->scene->members & ~actor->play->touched : 0;

	return actor->scene != NULL && 2 * (uint32_t)__builtin_popcountll(untouched) <= actor->scene->voters;
}

/* May it have failed for good like that? */
static bool may_fail(const struct actor *actor, enum whorl_result error)
{
	const struct play *play = actor->play;

	switch (error) {
	case WHORL_REMOVED: /* it was touched by a fault, or by somebody who was */
		return (play->touched >> actor->life & 1) != 0 || has_taken_a_side(actor) || is_outnumbered(actor);
	case WHORL_MEMORY:
		return play->plan->config.group.backlog_max < INT64_C(1) << 20;
	case WHORL_SHARD_LOST:
		return is_orphan(actor);
	case WHORL_MEMBER_GONE:
		return play->touched != 0;
	default:
		return false;
	}
}

/* A node may complain of what faults have done to it. */
static void check_error(struct actor *actor)
{
	struct play *play = actor->play;
	char text[256];
	enum whorl_result error = whorl_error(actor->node, text, sizeof(text));

	if (error == WHORL_OK || (error == WHORL_NO_QUORUM && play->touched != 0) || actor->removed)
		return;
	if (!may_fail(actor, error)) {
		wh_play_fail(play, "failure: %s: %s (%s)", actor->name, text, whorl_result_text(error));
		return;
	}
	if (error == WHORL_MEMBER_GONE)
		return;
	wh_check_settle(actor); /* what it has sent in this pass */
	wh_history_removed(play->history, actor->life);
	actor->removed = true;
	play->touched |= UINT64_C(1) << actor->life;
	if (error != WHORL_REMOVED) /* its program gives up */
		wh_actor_leave_soon(actor);
}

void wh_check_node(struct actor *actor)
{
	struct play *play = actor->play;
	struct wh_sim_counts counts = wh_sim_counts(play->sim, actor->id);

	if (wh_sim_verdict(play->sim) != NULL)
		wh_play_fail(play, "%s", wh_sim_verdict(play->sim));
	if (wh_history_broken(play->history) != NULL)
		wh_play_fail(play, "%s", wh_history_broken(play->history));
	if (!play->plan->config.engine.deferred_push && counts.batch_max > 1)
		wh_play_fail(play, "switches: %s posts %llu pushes at once without deferred pushes", actor->name,
			     (unsigned long long)counts.batch_max);
	if (wh_inspect_unfrozen(actor->node) != 0)
		wh_play_fail(play, "freeze: %s would see what a suspect writes: nodes %llx", actor->name,
			     (unsigned long long)wh_inspect_unfrozen(actor->node));
	check_error(actor);
}
