/* returns.c - all have ended: which nodes must bring the group back, by what is on their disks (docs/decisions/0058). See play_int.h.
 *
 * A majority of the newest view that any disk knows of, and of each that one has agreed to after it, with a whole log of each durable
 * shard among them, comes back. Fewer may, or may not: that is not judged here.
 */
#include <stdlib.h>

#include "persistence/standing.h"
#include "sim/play_int.h"

struct disks {
	const struct play *play;
	struct wh_standing standings[WH_PLAN_IDS_MAX];
	bool found[WH_PLAN_IDS_MAX];
	const struct actor *back[WH_PLAN_IDS_MAX]; /* the life that is there, and may count; NULL: none */
};

/* Nothing is known to have been done by it. */
static bool is_fresh(const struct disks *disks, uint32_t id)
{
	return !disks->found[id] || disks->standings[id].first;
}

static void look_at_disks(struct disks *disks, const struct play *play, uint64_t running)
{
	*disks = (struct disks){.play = play};
	for (uint32_t id = 0; id < play->nodes; id++) {
		const struct actor *actor = play->at[id];

		disks->found[id] = wh_kept_standing(play, id, &disks->standings[id]);
		if (actor != NULL && (running >> actor->life & 1) != 0 && !wh_disk_is_harmed(play, id))
			disks->back[id] = actor;
	}
}

/* Two that are to meet never will: their connection has ended for good, which one of them may not have known, and then it is turned away by the
 * other. One that has met both invites them again and again. And on one host no round ends before each process has said what it is. */
static bool are_apart(const struct play *play)
{
	uint32_t nodes = play->plan->one_host ? play->nodes : (uint32_t)play->plan->config.group.nodes, count = 0;

	for (uint32_t id = 0; id < nodes; id++)
		count += play->at[id] != NULL && wh_actor_runs(play->at[id]) &&
			 (play->broken >> play->at[id]->life & 1) != 0;
	return count > 1;
}

/* All that are configured are there, and none has anything to lose: they form a group. */
static uint64_t find_founders(const struct disks *disks)
{
	uint64_t set = 0;

	if (are_apart(disks->play))
		return 0;
	for (uint32_t id = 0; id < disks->play->nodes; id++) {
		if (id >= disks->play->plan->config.group.nodes)
			continue;
		if (disks->back[id] == NULL || disks->back[id]->joins || !is_fresh(disks, id))
			return 0;
		set |= UINT64_C(1) << disks->back[id]->life;
	}
	return set;
}

static const struct wh_standing *newest_of(const struct disks *disks)
{
	const struct wh_standing *newest = NULL;

	for (uint32_t id = 0; id < disks->play->nodes; id++)
		if (disks->found[id] && (newest == NULL || disks->standings[id].number > newest->number))
			newest = &disks->standings[id];
	return newest;
}

/* All members of that view come back: none has gone on without those that have left. */
static bool have_all_come(const struct disks *disks, const struct wh_view *view, uint64_t group)
{
	for (uint32_t rank = 0; rank < view->members; rank++) {
		uint32_t id = view->ids[rank];

		if (disks->back[id] == NULL || !disks->found[id] || disks->standings[id].group != group)
			return false;
	}
	return true;
}

static bool is_out(const struct disks *disks, const struct wh_view *view, uint32_t id, uint64_t group)
{
	return disks->standings[id].left && !have_all_come(disks, view, group);
}

/* It counts in the view, and comes back. */
static bool votes(const struct disks *disks, const struct wh_view *view, uint32_t id, uint64_t group)
{
	return disks->back[id] != NULL && disks->found[id] && !is_out(disks, view, id, group) &&
	       disks->standings[id].group == group && wh_view_rank(view, id) >= 0;
}

/* On one host a member of the newest view speaks for the disks of nodes that have ended: they count, and are in no view. */
static bool counts(const struct disks *disks, const struct wh_view *view, uint32_t id, uint64_t group)
{
	const struct play *play = disks->play;
	const struct actor *actor = play->at[id];
	bool spoken_for = play->plan->one_host && play->disks_harmed == 0 && actor != NULL && !wh_actor_runs(actor);

	return votes(disks, view, id, group) || (spoken_for && disks->found[id] && !is_out(disks, view, id, group) &&
						 disks->standings[id].group == group && wh_view_rank(view, id) >= 0);
}

static bool is_quorum(const struct disks *disks, const struct wh_view *view, uint64_t group)
{
	const struct play *play = disks->play;
	int breaker = wh_node_config_tie_breaker(&play->plan->config);
	struct wh_quorum quorum = {.members = view->voters, .tie_breaker = -1};
	bool home = !wh_plan_needs_home(play->plan);
	uint32_t count = 0;

	if (breaker >= 0)
		quorum.tie_breaker = wh_view_rank(view, (uint32_t)breaker);
	for (uint32_t id = 0; id < play->nodes; id++) {
		count += counts(disks, view, id, group);
		home |= counts(disks, view, id, group) && id < play->plan->config.group.nodes;
	}
	return home && wh_quorum_holds(&quorum, count,
				       quorum.tie_breaker >= 0 && counts(disks, view, (uint32_t)breaker, group));
}

/* Where disks are spoken for they may be enough without their nodes; but the next view is of members of that one. */
static bool is_any_back(const struct disks *disks, const struct wh_view *view, uint64_t group)
{
	for (uint32_t id = 0; id < disks->play->nodes; id++)
		if (votes(disks, view, id, group))
			return true;
	return false;
}

static bool stands_in(const struct wh_standing *standing, uint64_t key)
{
	return standing->base == key || (standing->ballot != 0 && standing->next == key);
}

/* Does that disk say that the view with that key follows one in which the other stands? */
static bool follows(const struct wh_standing *says, uint64_t key, const struct wh_standing *standing)
{
	if (says->ballot != 0 && says->next == key && stands_in(standing, says->base))
		return true;
	for (uint32_t i = 0; says->base == key && i < says->shard_count; i++)
		if (stands_in(standing, says->shards[i].before))
			return true;
	for (uint32_t i = 0; says->base == key && i < says->other_count; i++)
		if (stands_in(standing, says->others[i].before))
			return true;
	return false;
}

/* A whole log that two views have passed over, neither of which its disk has agreed to, does not count, though it might (0058, what is not there
 * yet). */
static bool reaches(const struct disks *disks, uint32_t id, uint64_t key)
{
	bool does = stands_in(&disks->standings[id], key);

	for (uint32_t other = 0; other < disks->play->nodes && !does; other++)
		does = disks->found[other] && follows(&disks->standings[other], key, &disks->standings[id]);
	return does;
}

static bool has_log(const struct disks *disks, const struct wh_view *view, uint64_t key,
		    const struct wh_view_subgroup *layout, uint64_t group)
{
	for (uint32_t i = 0; i < layout->member_count; i++) {
		uint32_t id = view->ids[layout->members[i]];
		const struct wh_shard_standing *shard =
			wh_standing_shard(&disks->standings[id], layout->configured, layout->shard);

		if (votes(disks, view, id, group) && shard != NULL && shard->whole && reaches(disks, id, key))
			return true;
	}
	return layout->member_count == 0;
}

/* On one host a member of the shard that is back copies the log of another, of which the disk is spoken for, if both stand on that view. */
static bool has_log_to_copy(const struct disks *disks, const struct wh_view *view, uint64_t key,
			    const struct wh_view_subgroup *layout, uint64_t group)
{
	bool any_back = false, any_whole = false;

	for (uint32_t i = 0; i < layout->member_count; i++) {
		uint32_t id = view->ids[layout->members[i]];
		const struct wh_shard_standing *shard =
			wh_standing_shard(&disks->standings[id], layout->configured, layout->shard);

		if (shard == NULL || disks->standings[id].base != key)
			continue;
		any_back = any_back || votes(disks, view, id, group);
		any_whole = any_whole || (counts(disks, view, id, group) && shard->whole);
	}
	return disks->play->plan->one_host && disks->play->disks_harmed == 0 && any_back && any_whole;
}

/* May the group go on from that view? *view is freed by the caller. */
static bool suffices(const struct disks *disks, uint64_t key, uint64_t group, struct wh_view **view)
{
	bool enough;

	*view = wh_kept_view(disks->play, key);
	enough = *view != NULL && is_quorum(disks, *view, group) &&
		 is_any_back(disks, *view, group); /* dynamic subgroups are not durable */
	for (uint32_t g = 0; enough && g < (*view)->subgroup_count - (*view)->dynamic_count; g++)
		if (disks->play->subgroups[(*view)->subgroups[g].configured].plan->durable)
			enough = has_log(disks, *view, key, &(*view)->subgroups[g], group) ||
				 has_log_to_copy(disks, *view, key, &(*view)->subgroups[g], group);
	return enough;
}

/* And from those that some disk has agreed to after it? */
static bool next_suffice(const struct disks *disks, uint64_t key, uint64_t group)
{
	for (uint32_t id = 0; id < disks->play->nodes; id++) {
		const struct wh_standing *standing = &disks->standings[id];
		struct wh_view *view = NULL;
		bool enough = true;

		if (disks->found[id] && standing->base == key && standing->ballot != 0)
			enough = suffices(disks, standing->next, group, &view);
		wh_view_free(view);
		if (!enough)
			return false;
	}
	return true;
}

/* A first view that was never begun gives way to one of all that are there; and a node that has vanished is thought to be there until its
 * connection ends. That takes tcp five seconds; here it never ends. */
static bool waits_for_vanished(const struct disks *disks)
{
	for (uint32_t id = 0; id < disks->play->nodes && id < disks->play->plan->config.group.nodes; id++)
		if (disks->play->at[id] != NULL && disks->play->at[id]->vanished)
			return true;
	return false;
}

static uint64_t find_members(const struct disks *disks)
{
	const struct wh_standing *newest = newest_of(disks);
	struct wh_view *view = NULL;
	uint64_t set = 0;

	if (newest == NULL || (newest->first && waits_for_vanished(disks)) ||
	    ((newest->first || disks->play->plan->one_host) && are_apart(disks->play)))
		return 0;
	if (suffices(disks, newest->base, newest->group, &view) && next_suffice(disks, newest->base, newest->group))
		for (uint32_t id = 0; id < disks->play->nodes; id++)
			if (votes(disks, view, id, newest->group))
				set |= UINT64_C(1) << disks->back[id]->life;
	wh_view_free(view);
	return set;
}

/* One that was begun anew is enough for itself, if it is one of those that are configured: on a network a quorum needs one (0032). */
static uint64_t find_begun_anew(const struct disks *disks)
{
	uint64_t set = 0;

	for (uint32_t id = 0; id < disks->play->nodes && id < disks->play->plan->config.group.nodes; id++)
		if (disks->back[id] != NULL && disks->back[id]->anew && disks->standings[id].alone)
			set |= UINT64_C(1) << disks->back[id]->life;
	return set;
}

uint64_t wh_returns_find(const struct play *play, uint64_t running)
{
	struct disks disks;
	uint64_t set;

	look_at_disks(&disks, play, running);
	set = find_begun_anew(&disks);
	if (set == 0)
		set = find_founders(&disks);
	if (set == 0)
		set = find_members(&disks);
	for (uint32_t id = 0; id < play->nodes; id++)
		wh_standing_free(&disks.standings[id]);
	return set;
}
