/* failures.c - what must hold of a node as a whole after each pass.
 *
 *     failure     no node complains of what no other did to it, and none fails for good but for what is allowed: others have
 *                 removed it, and a fault has touched it; what it may keep back is little; no node is left that has the
 *                 state that it needs
 *     freeze      nothing that a suspect writes is seen any more
 *     in time     no node with heartbeats that come in time is taken to be late
 *     memory      a view's memory stays as long as a member that goes on to the next is still in it: what is written there goes on
 *                 its way, and what comes lands
 *     switches    one push at a time where they are not deferred
 */
#include <inttypes.h>

#include "membership/join.h"
#include "sim/play_int.h"

/* It may be asked: it runs, in this group, and has not lost the connection. */
static bool is_at_hand(const struct actor *actor, const struct actor *other)
{
	return wh_actor_runs(other) && !other->removed && (actor->play->broken >> other->life & 1) == 0;
}

/* The one that was to give it has left the subgroup, and nothing has happened to it: it has not waited until it had. If it has gone from the
 * group since, in order, what it had written is still to be had. */
static bool is_forsaken(const struct app *app)
{
	const struct app *giver = app->giver;

	return giver != NULL && giver->is_out && !giver->actor->crashed && !giver->actor->removed &&
	       (app->actor->play->broken >> giver->actor->life & 1) == 0;
}

bool wh_app_is_orphan(const struct app *app)
{
	const struct actor *actor = app->actor;
	const struct play *play = actor->play;
	bool found = false;

	if (!app->awaits || app->empties || app->member == NULL)
		return false;
	for (uint32_t i = 0; i < app->member->shard->member_count; i++) {
		const struct shard_member *other = &app->member->shard->members[i];

		if (other->fresh && !other->entered)
			continue; /* it has begun nothing yet */
		if (wh_app_is_log(app) && (play->disks_rot >> other->actor->id & 1) != 0)
			continue; /* what its log has is the state, and cannot be read */
		found |= other->actor != actor && (!other->app->awaits || other->app->empties) &&
			 is_at_hand(actor, other->actor);
	}
	return !found && !is_forsaken(app);
}

/* A node that lacks the state of a dynamic subgroup leaves that, and goes on. */
static bool is_orphan(const struct actor *actor)
{
	for (uint32_t g = 0; g < actor->play->plan->config.subgroup_count; g++)
		if (wh_app_is_orphan(&actor->apps[g]))
			return true;
	return false;
}

/* Two nodes suspect each other when their connection has ended. It has believed one of them, and others the other one. */
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

/* Faults have come to so many in its view that the members without a fault are no majority: the others may go on without them. */
static bool is_outnumbered(const struct actor *actor)
{
	uint64_t untouched = actor->view != NULL ? actor->view->members & ~actor->play->touched : 0;

	return actor->view != NULL && 2 * (uint32_t)__builtin_popcountll(untouched) <= actor->view->voters;
}

/* No configured node of its view is there any more: it has no quorum by rule (0032). */
static bool is_homeless(const struct actor *actor)
{
	const struct play *play = actor->play;

	for (uint32_t i = 0; actor->view != NULL && i < play->lives; i++)
		if ((actor->view->members >> i & 1) != 0 && wh_actor_runs(&play->actors[i]) &&
		    play->actors[i].id < play->plan->config.group.nodes)
			return false;
	return actor->view != NULL && wh_plan_needs_home(play->plan);
}

/* A connection has ended of which one side knew and the other did not yet: they were strangers to one, and gone for good to the other,
 * which turns the call away. (A program would start that node again.) */
static bool may_be_refused(const struct actor *actor)
{
	const struct play *play = actor->play;

	for (uint32_t i = 0; i < play->lives; i++)
		if (i != actor->life && (play->broken >> i & 1) != 0 && wh_actor_runs(&play->actors[i]))
			return (play->broken >> actor->life & 1) != 0 && actor->view == NULL;
	return false;
}

/* A call to or from a life that has vanished is waited for, at most so long (WH_SESSION_SILENT_NS, then WH_SESSION_STRANGER_NS): until
 * then the node cannot meet the next life of that id. */
#define HALF_OPEN_NS (5 * WH_NS_PER_S / 4)

/* Two nodes may be kept apart by such a call for longer than a first view, or one behind a restart, with a short start time-out waits for all to
 * meet. The view begins with both, and goes on without one of them. */
static bool may_be_kept_apart(const struct actor *actor)
{
	const struct play *play = actor->play;

	return play->vanished_ns != 0 && actor->view != NULL &&
	       (actor->view->number == 0 || wh_inspect_restarts(actor->node)) &&
	       WH_THERE_TIMEOUTS * wh_play_start_ns(play) < HALF_OPEN_NS;
}

/* A link of it had more to carry than it could: heartbeats came late behind all else, though no fault has touched it. Only where links are
 * slow beside the time-out, `latency_max_us` of some hundreds: a piece in eight takes as long as a push (sim/net/push.c). */
static bool was_jammed(const struct actor *actor)
{
	const struct play *play = actor->play;
	uint64_t least_ns = wh_play_timeout_ns(play) / 2;

	for (uint32_t id = 0; id < play->nodes; id++)
		if (id != actor->id && (wh_sim_traffic(play->sim, actor->id, id).late_ns > least_ns ||
					wh_sim_traffic(play->sim, id, actor->id).late_ns > least_ns))
			return true;
	return false;
}

/* May it have failed for good like that? */
static bool may_fail(const struct actor *actor, enum whorl_result error)
{
	const struct play *play = actor->play;

	switch (error) {
	case WHORL_REMOVED: /* it was touched by a fault, or by a node that was */
		return (play->touched >> actor->life & 1) != 0 || has_taken_a_side(actor) || is_outnumbered(actor) ||
		       may_be_kept_apart(actor) || was_jammed(actor);
	case WHORL_CUT_OFF:
		return actor->view != NULL && !wh_liveness_may_go_on(play, actor);
	case WHORL_REFUSED:
		return may_be_refused(actor);
	case WHORL_MEMORY:
		return play->plan->config.group.backlog_max < INT64_C(1) << 20;
	case WHORL_SHARD_LOST:
		return is_orphan(actor);
	case WHORL_MEMBER_GONE:
		return play->touched != 0;
	case WHORL_SYSTEM:
		return actor->declined;
	case WHORL_DISK:
		return wh_disk_is_harmed(play, actor->id);
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

	if (error == WHORL_OK || actor->removed ||
	    (error == WHORL_NO_QUORUM && (play->touched != 0 || is_homeless(actor) || was_jammed(actor))))
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
	if (error != WHORL_REMOVED && error != WHORL_CUT_OFF) /* its program gives up */
		wh_actor_leave_soon(actor);
}

/* Its heartbeats are looked at every quarter of the time-out, so they may have come a quarter earlier than they are seen. */
static void check_heard(struct actor *actor)
{
	const struct play *play = actor->play;
	uint64_t now_ns = wh_sim_now(play->sim), least_ns = wh_play_timeout_ns(play) * 3 / 4;

	for (uint32_t id = 0; id < play->nodes && wh_inspect_view(actor->node) != NULL; id++) {
		struct heard *heard = &actor->heard[id], before = *heard;

		heard->key = wh_inspect_key(actor->node);
		heard->value = wh_inspect_beat(actor->node, id, &heard->overdue);
		if (heard->value != before.value || heard->key != before.key)
			heard->when_ns = now_ns;
		else if (heard->overdue && !before.overdue && now_ns - heard->when_ns < least_ns)
			wh_play_fail(actor->play,
				     "in time: %s takes node %u to be late, though its heartbeat came %.3f ms ago",
				     actor->name, id, (double)(now_ns - heard->when_ns) / 1e6);
	}
}

static void check_memory(const struct actor *actor)
{
	struct play *play = actor->play;
	uint64_t distrusts = wh_inspect_distrusts(actor->node);

	for (uint32_t i = 0; i < play->lives && actor->view != NULL; i++) {
		const struct actor *behind = &play->actors[i];
		const struct view *view = behind->view;

		if (view == NULL || behind->node == NULL || behind->removed || !wh_actor_runs(behind) ||
		    view->number >= actor->view->number || (view->members >> actor->life & 1) == 0 ||
		    (actor->view->members >> i & 1) == 0 || (distrusts >> behind->id & 1) != 0)
			continue;
		if (!wh_inspect_has_image(actor->node, view->key))
			wh_play_fail(play, "memory: %s has let go of the memory of view %" PRIu64 ", in which %s is",
				     actor->name, view->number, behind->name);
	}
}

/* No other may count on a node before its disk knows (0032). */
static void check_record(const struct actor *actor)
{
	uint64_t group = wh_inspect_counted(actor->node);

	if (actor->play->plan->disks && group != 0 && actor->play->disks[actor->id] != group)
		wh_play_fail(actor->play, "record: %s is counted in a group that its disk does not have", actor->name);
}

void wh_check_node(struct actor *actor)
{
	struct play *play = actor->play;
	struct wh_sim_counts counts = wh_sim_counts(play->sim, actor->id);

	check_record(actor);
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
	actor->accused |= wh_inspect_suspects(actor->node);
	check_heard(actor);
	check_memory(actor);
	check_error(actor);
}
