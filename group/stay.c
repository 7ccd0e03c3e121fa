/* stay.c - dynamic subgroups: this node enters and leaves them while the group runs (docs/decisions/0046).
 *
 * A *stay* begins with whorl_subgroup_enter and ends with the view that is without it. A thread of the program makes it and puts it into the
 * node's list; all else is the loop's:
 *
 *     ENTERING --- a view has begun with this node in it ---> IN --- leave ---> LEAVING --- a view has begun without it ---> LEFT
 *        |   \--- no leader meets what differs ---> REFUSED      it rests first, then its set is without the name       ^
 *        \--- leave, and neither the set that was said last has the name nor the view that is prepared ----------------+
 *
 * What the node wishes is a set (membership/wishing.h): a stay adds its name when it is to enter, and takes it away when it is to leave and
 * has nothing left to send. A stay that is over lives until it was released and no view that is kept refers to it.
 */
#include "group/durable.h"
#include "group/node_int.h"
#include "group/refuse.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define STEP_NS WH_NS_PER_MS /* a stay that waits for what no bell tells is looked at so often */
/* A wish that was refused in a view which is prepared is said again when one begins, or after so long: each set that comes has the leader propose
 * anew. */
#define AGAIN_NS (100 * WH_NS_PER_MS)

/* ---- the stages ------------------------------------------------------------------------------------------------------------ */

/* Threads that wait for it look. */
static void come_to(whorl_subgroup *subgroup, enum wh_stage stage)
{
	whorl_node *node = subgroup->node;
	struct wh_held held;

	if (subgroup->told.stage == stage)
		return;
	held = wh_waiting_enter(&node->waiting);
	wh_told_write(held, &subgroup->told)->stage = stage;
	wh_waiting_tell(held);
	wh_waiting_leave(held);
	wh_places_add(&node->stays.moving, subgroup->fixed.index);
	wh_event(&node->diag, "stay", subgroup->stay.birth, (uint64_t)stage, subgroup->fixed.index);
}

/* The members that had all of its log have gone before another had: it is dormant, and these come back. What this node has sent in it since is
 * lost. */
static void is_put_out(whorl_subgroup *subgroup)
{
	whorl_node *node = subgroup->node;
	struct wh_held held;

	(void)wh_wishing_remove(&node->entry.serving->wishing, subgroup->fixed.name);
	subgroup->stay.wished = false;
	wh_log(&node->diag, WH_LOG_WARNING,
	       "this node is out of %s, which is dormant: those that had all of its log are gone",
	       subgroup->fixed.name);
	held = wh_waiting_enter(&node->waiting);
	wh_error_set(
		&wh_told_write(held, &subgroup->told)->failure, WHORL_SHARD_LOST,
		"%s: all members that had all of its log have gone before they gave it; it is dormant until one comes back",
		subgroup->fixed.name);
	wh_waiting_tell(held);
	wh_waiting_leave(held);
	wh_node_begin_to_leave(subgroup);
}

void wh_node_begin_stays(const struct wh_epoch *epoch)
{
	whorl_node *node = epoch->node;
	whorl_subgroup *subgroup;

	for (uint32_t at = 0; (subgroup = wh_node_next_stay(node, &at)) != NULL;) {
		const struct wh_shard_member *member = wh_epoch_shard_member(epoch, subgroup);
		struct wh_stay *stay = &subgroup->stay;

		if (!wh_stage_is_live(subgroup->told.stage) || stay->is_out)
			continue;
		if (stay->sleeps && wh_view_dormant(epoch->view, subgroup->fixed.name) == NULL) {
			stay->sleeps = false; /* it has come back, or begun anew: it is wished again */
			wh_places_add(&node->stays.moving, subgroup->fixed.index);
		}
		stay->again_ns = 0;
		if (member == NULL) {
			stay->is_out = subgroup->told.stage != WH_STAGE_ENTERING;
			if (stay->is_out && stay->wished && subgroup->fixed.durable)
				is_put_out(subgroup);
			/* What takes it out else has served a set without it, and that was the last that was said. */
			WH_CHECK(&node->diag, !stay->is_out || !stay->wished);
			wh_places_add(&node->stays.moving, subgroup->fixed.index);
		} else if (subgroup->told.stage == WH_STAGE_ENTERING) {
			stay->birth = member->layout->birth;
			come_to(subgroup, WH_STAGE_IN);
		}
	}
}

static void say_refused(struct wh_error *err, const char *name, const struct wh_parameters *mine,
			const struct wh_refusal *refusal)
{
	static const char *const modes[] = {"unordered", "ordered", "durable"};
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {[WH_PARAMETER_WINDOW] = {"window", mine->window},
		       [WH_PARAMETER_BYTES] = {"message_bytes", mine->message_bytes},
		       [WH_PARAMETER_LARGE] = {"large_bytes", mine->large_bytes}};

	if (refusal->why == WH_REFUSED_TOO_MANY)
		wh_error_set(err, WHORL_REFUSED, "%s: the group has %d dynamic subgroups, and takes no more", name,
			     WH_DYNAMIC_MAX);
	else if (refusal->why == WH_REFUSED_CONFIGURED)
		wh_error_set(err, WHORL_REFUSED, "%s: the configuration of the leader has a subgroup of that name",
			     name);
	else if (refusal->parameter == WH_PARAMETER_MODE)
		wh_error_set(err, WHORL_REFUSED, "%s: its mode is %s here, and %s at node %" PRIu32, name,
			     modes[wh_parameters_mode(mine)],
			     refusal->theirs < sizeof(modes) / sizeof(modes[0]) ? modes[refusal->theirs] : "another",
			     refusal->node);
	else if (refusal->parameter == WH_PARAMETER_STATE)
		wh_error_set(err, WHORL_REFUSED,
			     "%s: there are %sfunctions for its state here, and %s at node %" PRIu32, name,
			     mine->state ? "" : "no ", refusal->theirs != 0 ? "some" : "none", refusal->node);
	else
		wh_error_set(err, WHORL_REFUSED, "%s: its %s is %" PRIu64 " here, and %" PRIu64 " at node %" PRIu32,
			     name, numbers[refusal->parameter].name, numbers[refusal->parameter].value, refusal->theirs,
			     refusal->node);
}

void wh_node_wish_refused(void *ctx, const struct wh_wish *wish, const struct wh_refusal *refusal)
{
	whorl_node *node = ctx;
	whorl_subgroup *subgroup = wh_node_find_stay(node, wish->name);
	struct wh_stay *stay = subgroup != NULL ? &subgroup->stay : NULL;
	struct wh_held held;

	if (stay == NULL || subgroup->told.stage != WH_STAGE_ENTERING)
		return;
	(void)wh_wishing_remove(&node->entry.serving->wishing, subgroup->fixed.name);
	stay->wished = false;
	if (refusal->why == WH_REFUSED_DORMANT) { /* not for good; a view may have begun meanwhile in which it is not */
		stay->sleeps = node->epochs.current == NULL ||
			       wh_view_dormant(node->epochs.current->view, subgroup->fixed.name) != NULL;
		stay->again_ns = stay->sleeps ? 0 : node->loop.now_ns + AGAIN_NS;
		wh_places_add(&node->stays.moving, subgroup->fixed.index);
		return;
	}
	/* Before a thread can read that it was refused. */
	if (subgroup->ring != NULL)
		(void)wh_ring_drop(subgroup->ring, 0); /* no claim has been made: they get WHORL_NOT_SENDER now */
	held = wh_waiting_enter(&node->waiting);
	say_refused(&wh_told_write(held, &subgroup->told)->failure, subgroup->fixed.name, &subgroup->fixed.parameters,
		    refusal);
	wh_waiting_leave(held);
	come_to(subgroup, WH_STAGE_REFUSED);
}

/* No node has the state that it was to be given, or its program could not restore it. Other subgroups go on: the node leaves this one, and may
 * enter it again. */
void wh_node_fail_stay(whorl_subgroup *subgroup, enum whorl_result code, const char *text)
{
	whorl_node *node = subgroup->node;
	struct wh_held held;

	wh_log(&node->diag, WH_LOG_WARNING, "this node leaves %s: its state: %s", subgroup->fixed.name, text);
	held = wh_waiting_enter(&node->waiting);
	wh_error_set(&wh_told_write(held, &subgroup->told)->failure, code, "%s: its state: %s", subgroup->fixed.name,
		     text);
	wh_waiting_tell(held);
	wh_waiting_leave(held);
	wh_node_begin_to_leave(subgroup);
	wh_places_add(&node->stays.moving, subgroup->fixed.index);
}

/* ---- one pass -------------------------------------------------------------------------------------------------------------- */

static void wish_it(whorl_subgroup *subgroup)
{
	struct wh_wishing *wishing = &subgroup->node->entry.serving->wishing;
	struct wh_wish wish = {
		.sends = subgroup->fixed.sends, .parameters = subgroup->fixed.parameters, .anew = subgroup->fixed.anew};

	memcpy(wish.name, subgroup->fixed.own_name, sizeof(wish.name));
	if (subgroup->fixed.durable)
		wh_durable_hold(subgroup->node, wish.name, &wish.holding);
	subgroup->stay.wished = wh_wishing_add(wishing, &wish) == WHORL_OK; /* there is room: WH_STAYS_MAX */
}

/* A view that was under way when my set was without the name has let another in, and has me in it: that set it does not serve. So it is
 * known that I have not been out, and a set with the name takes the place of that one, before any proposal of this view has been seen: none
 * that takes me out by the earlier set is acknowledged here. I leave when I have given. */
void wh_node_stay_to_give(whorl_subgroup *subgroup)
{
	if (subgroup->told.stage != WH_STAGE_LEAVING || subgroup->stay.wished || !wh_state_gives(subgroup->state))
		return;
	wish_it(subgroup);
	wh_places_add(&subgroup->node->stays.moving, subgroup->fixed.index);
}

static void unwish_it(whorl_subgroup *subgroup)
{
	if (subgroup->stay.wished)
		(void)wh_wishing_remove(&subgroup->node->entry.serving->wishing, subgroup->fixed.name);
	subgroup->stay.wished = false;
}

/* What this node's disk holds of it is known when its view has begun: behind a restart, and where it comes in, it had been in it before. */
static bool may_wish(const whorl_subgroup *subgroup)
{
	const struct wh_stay *stay = &subgroup->stay;

	return !stay->wished && !stay->sleeps && (!subgroup->fixed.durable || subgroup->node->epochs.current != NULL) &&
	       subgroup->node->loop.now_ns >= stay->again_ns;
}

/* Neither what was said last nor a view that may come has this node in it. */
static bool is_taken_back(const whorl_subgroup *subgroup)
{
	const whorl_node *node = subgroup->node;

	return wh_wish_find(&node->entry.serving->wishing.said, subgroup->fixed.name) == NULL &&
	       (node->epochs.proposed == NULL || wh_epoch_shard_member(node->epochs.proposed, subgroup) == NULL);
}

/* It has left when no function of its program is called any more. */
static void end_stay(whorl_subgroup *subgroup)
{
	if (subgroup->state != NULL)
		wh_state_stop(wh_node_use_state(subgroup));
	if (subgroup->offer.listed || (subgroup->state != NULL && wh_state_is_busy(subgroup->state)) ||
	    wh_durable_stops(subgroup))
		wh_places_add(&subgroup->node->stays.moving, subgroup->fixed.index);
	else
		come_to(subgroup, WH_STAGE_LEFT);
}

/* It is in a view: its program sends nothing more, the view that takes it out finds nothing of it that is not delivered, and those that
 * have entered are given its state, which may be nowhere else. */
static void leave_it(whorl_subgroup *subgroup)
{
	come_to(subgroup, WH_STAGE_LEAVING);
	if (!subgroup->stay.wished)
		return;
	if ((!subgroup->fixed.sends || wh_epoch_has_said_rest(subgroup->node->epochs.current, subgroup)) &&
	    (subgroup->state == NULL || !wh_state_gives(subgroup->state)) &&
	    (!subgroup->fixed.durable || wh_durable_may_leave_stay(subgroup)))
		unwish_it(subgroup);
	else
		wh_places_add(&subgroup->node->stays.moving, subgroup->fixed.index);
}

static void take_it_back(whorl_subgroup *subgroup)
{
	unwish_it(subgroup);
	subgroup->stay.is_out = is_taken_back(subgroup);
	wh_places_add(&subgroup->node->stays.moving, subgroup->fixed.index);
}

static bool is_referred_to(const whorl_node *node, const whorl_subgroup *subgroup)
{
	for (const struct wh_epoch *epoch = node->epochs.current; epoch != NULL; epoch = epoch->older)
		if (wh_epoch_shard_member(epoch, subgroup) != NULL)
			return true;
	return node->epochs.proposed != NULL && wh_epoch_shard_member(node->epochs.proposed, subgroup) != NULL;
}

struct job { /* off the loop */
	whorl_node *node;
	whorl_subgroup *subgroup;
};

static void free_in_peace(void *argument)
{
	struct job job = *(struct job *)argument;

	free(argument);
	wh_rcu_synchronize();
	wh_node_free_subgroup(job.subgroup, false);
	wh_fetch_add(&job.node->uses.jobs, UINT64_MAX);
}

/* Nobody finds it any more; threads that have just finished a claim in it may still be there. */
static void free_it(whorl_subgroup *subgroup)
{
	whorl_node *node = subgroup->node;
	struct wh_held held;
	struct job *job;

	/* Acquire: a job of its state has done with it. Partner: job_ends, in transfer.c. */
	if (is_referred_to(node, subgroup) || wh_load_acquire(&subgroup->words.jobs) > 0 ||
	    wh_durable_stops(subgroup)) {
		wh_places_add(&node->stays.moving, subgroup->fixed.index);
		return;
	}
	job = malloc(sizeof(*job));
	held = wh_waiting_enter(&node->waiting);
	wh_list_leave(held, &node->list, subgroup->fixed.index, subgroup->fixed.memory_bytes);
	wh_waiting_leave(held);
	node->states.used = true; /* the list of those that are busy is made anew */
	if (job == NULL) {
		wh_rcu_synchronize();
		wh_node_free_subgroup(subgroup, false);
		return;
	}
	*job = (struct job){node, subgroup};
	wh_fetch_add(&node->uses.jobs, 1);
	node->fixed.env.submit(node->fixed.env.ctx, free_in_peace, job);
}

static void step_stay(whorl_subgroup *subgroup)
{
	struct wh_stay *stay = &subgroup->stay;
	bool leaves = wh_load_relaxed(&subgroup->words.leaves) != 0;

	if (wh_stage_is_live(subgroup->told.stage) && stay->is_out)
		end_stay(subgroup);
	else if (subgroup->told.stage == WH_STAGE_ENTERING && leaves)
		take_it_back(subgroup);
	else if (subgroup->told.stage == WH_STAGE_ENTERING && may_wish(subgroup))
		wish_it(subgroup);
	else if (subgroup->told.stage == WH_STAGE_ENTERING && !stay->wished && stay->again_ns != 0)
		wh_places_add(&subgroup->node->stays.moving, subgroup->fixed.index);
	else if (wh_stage_is_live(subgroup->told.stage) && leaves)
		leave_it(subgroup);
	else if (!wh_stage_is_live(subgroup->told.stage) &&
		 wh_load_acquire(&subgroup->words.released) != 0) /* partner: whorl_subgroup_release */
		free_it(subgroup);
}

void wh_node_step_stays(whorl_node *node)
{
	struct wh_places moving = node->stays.moving;
	whorl_subgroup *subgroup;

	/* Acquire: what was asked. Partner: ask_loop. */
	if (wh_load_acquire(&node->stays.asked) != 0 && wh_exchange(&node->stays.asked, 0) != 0)
		moving = wh_node_all_places(node);
	if (!wh_places_any(&moving) || wh_node_has_failed(node))
		return;
	node->stays.moving = (struct wh_places){0, 0};
	for (uint32_t at = moving.from; at < moving.to && (subgroup = wh_node_next_stay(node, &at)) != NULL;)
		step_stay(subgroup);
	if (wh_places_any(&node->stays.moving))
		wh_loop_at(&node->loop, node->loop.now_ns + STEP_NS);
}
