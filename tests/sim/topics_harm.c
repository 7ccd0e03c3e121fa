/* topics_harm.c - disks of programs with logged topics that are lost, or rot: see topics_play.h.
 *
 * Only where nothing may be lost by it (docs/decisions/0058): all members of the view live, those without the one with the disk are a quorum, and of each
 * channel that it is in another of them has a whole log. And not the next thing before the group has gone on without it, or its log is good again. So
 * all that was said before must be there in the end, whatever else is done to the others. Each disk is harmed once at most, and of those that form the
 * group one is lost at most.
 */
#include "sim/inspect.h"
#include "tests/sim/topics_play.h"

#define PATIENCE_NS (20 * WH_NS_PER_S)
/* The faults before are over by then, and have been seen: cuts, and processes that stand still. */
#define FAULT_NS (300 * WH_NS_PER_MS)
#define CHECK_NS WH_NS_PER_S /* in that time each log is read again, also one that is busy on a slow disk */

static bool is_of(const struct wh_view *view, const uint32_t *ranks, uint32_t count, uint32_t id)
{
	for (uint32_t i = 0; i < count; i++)
		if (view->ids[ranks[i]] == id)
			return true;
	return false;
}

/* It is in that view, and no other follows yet. */
static const whorl_node *settled_node(const struct topics_play *play, const struct wh_view *view, uint32_t id)
{
	const whorl_node *node = topics_node(play->world, id);
	const struct wh_view *own = node != NULL ? wh_inspect_view(node) : NULL;

	if (own == NULL || own->group != view->group || own->number != view->number || wh_inspect_wedged(node) ||
	    wh_inspect_proposed_key(node) != 0)
		return NULL;
	return node;
}

/* Those without it can go on, and not as a first view, which is given up where a disk is blank. */
static bool are_enough(const struct topics_play *play, const struct wh_view *view, uint32_t id)
{
	uint32_t others = 0, configured = 0;

	for (uint32_t rank = 0; rank < view->members; rank++) {
		if (settled_node(play, view, view->ids[rank]) == NULL)
			return false;
		others += view->ids[rank] != id;
		configured += view->ids[rank] != id && view->ids[rank] < play->founders;
	}
	return view->number > 0 && others < view->members && 2 * others > view->members && configured > 0;
}

static bool another_has(const struct topics_play *play, const struct wh_view *view, uint32_t g, uint32_t id)
{
	const struct wh_view_subgroup *channel = &view->subgroups[g];

	for (uint32_t m = 0; m < channel->member_count; m++) {
		uint32_t other = view->ids[channel->members[m]];
		const whorl_node *node = other != id ? settled_node(play, view, other) : NULL;

		if (node != NULL && wh_inspect_is_whole(node, g) && !wh_inspect_has_rot(node))
			return true;
	}
	return false;
}

static bool others_have_all(const struct topics_play *play, const struct wh_view *view, uint32_t id)
{
	for (uint32_t g = 0; g < view->subgroup_count; g++)
		if (view->subgroups[g].parameters.durable &&
		    is_of(view, view->subgroups[g].members, view->subgroups[g].member_count, id) &&
		    !another_has(play, view, g, id))
			return false;
	for (uint32_t i = 0; i < view->dormant_count; i++)
		if (wh_last_member_find(&view->dormant[i], id) != NULL)
			return false;
	return true;
}

static const struct wh_view *view_of(const struct topics_play *play, uint32_t id)
{
	const whorl_node *node = topics_node(play->world, id);

	return node != NULL ? wh_inspect_view(node) : NULL;
}

bool topics_can_spare(const struct topics_play *play, uint32_t id)
{
	const struct wh_view *view = view_of(play, id);

	return play->harms && !(play->harmed & 1u << id) && view != NULL && are_enough(play, view, id) &&
	       others_have_all(play, view, id);
}

static bool may_be_lost(const struct topics_play *play, uint32_t id)
{
	return !play->one_host && (id >= play->founders || !(play->lost & ((1u << play->founders) - 1)));
}

void topics_harm_disk(struct topics_play *play, uint32_t id)
{
	struct topics_life *life = topics_life_of(play, id);

	play->harmed |= 1u << id;
	if (may_be_lost(play, id) && wh_dice_one_in(&play->harm_dice, 2)) {
		topics_tell(life, "has another disk");
		topics_lose_disk(play->world, id);
		play->lost |= 1u << id;
	} else if (topics_rot(play->world, id, &play->harm_dice)) {
		topics_tell(life, "has a disk that rots");
	}
}

/* Some are in a later view than that, without it, and none is in that one. */
static bool has_gone_on(const struct topics_play *play, uint64_t number, uint32_t id)
{
	uint32_t later = 0;

	for (uint32_t other = 0; other < TOPICS_IDS; other++) {
		const struct wh_view *view = view_of(play, other);

		if (view != NULL && other != id && view->number <= number)
			return false;
		later += view != NULL && other != id;
	}
	return later > 0;
}

bool topics_await_others(struct topics_play *play, uint64_t number, uint32_t id)
{
	uint64_t end_ns = topics_now(play->world) + PATIENCE_NS;

	while (!has_gone_on(play, number, id)) {
		if (topics_now(play->world) > end_ns)
			topics_fail(play,
				    "progress: all others live and have whole logs, and do not go on without node %u",
				    id);
		if (!topics_goes_until(play, topics_now(play->world) + 10 * WH_NS_PER_MS))
			return false;
	}
	return true;
}

/* It is found, and a checkpoint mends it; or not yet, if that file is in use: then its process ends before others may, so that it is given all of
 * another's log. A node that fails opens its log anew, and finds it then. */
static bool rots_while_it_runs(struct topics_play *play, uint32_t id,
			       void (*end)(struct topics_play *play, uint32_t id))
{
	const whorl_node *node;
	uint64_t number;

	play->harmed |= 1u << id;
	if (!topics_rot(play->world, id, &play->harm_dice))
		return true;
	topics_tell(topics_life_of(play, id), "has a disk that rots while it runs");
	if (!topics_goes_until(play, topics_now(play->world) + CHECK_NS))
		return false;
	node = topics_node(play->world, id);
	if (node == NULL || wh_inspect_view(node) == NULL || !wh_inspect_has_rot(node))
		return true;
	topics_tell(topics_life_of(play, id), "has a log with rot still");
	number = wh_inspect_view(node)->number;
	end(play, id);
	return topics_await_others(play, number, id);
}

bool topics_harm(struct topics_play *play, void (*end)(struct topics_play *play, uint32_t id))
{
	uint32_t id = (uint32_t)wh_dice_below(&play->harm_dice, TOPICS_IDS);
	uint64_t number;

	if (!topics_goes_until(play, topics_now(play->world) + FAULT_NS))
		return false;
	if (!topics_can_spare(play, id))
		return true;
	if (wh_dice_one_in(&play->harm_dice, 3))
		return rots_while_it_runs(play, id, end);
	number = view_of(play, id)->number;
	end(play, id);
	topics_harm_disk(play, id);
	return topics_await_others(play, number, id);
}
