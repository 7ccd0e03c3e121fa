/* history_views.c - the views of a history: one sequence for all, each a majority of the one before, and nobody goes on
 * from one with less than the others. */
#include "sim/history_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct view *wh_history_find_view(const struct wh_history *h, uint64_t number)
{
	for (uint64_t v = h->view_count; v-- > 0;)
		if (h->views[v]->number == number)
			return h->views[v];
	return NULL;
}

void wh_history_free_view(struct view *view, uint32_t units)
{
	for (uint32_t u = 0; view->orders != NULL && u < units; u++)
		free(view->orders[u].entries);
	free(view->orders);
	free(view->has);
	free(view->members);
	free(view);
}

/* ---- which views may follow one another ------------------------------------------------------------------------------ */

/* Who stays keeps its order, who joins comes behind. */
static bool check_ages(struct wh_history *h, const struct view *before, const struct view *view)
{
	uint32_t at = 0;

	for (uint32_t rank = 0; rank < view->count; rank++) {
		uint32_t member = view->members[rank];

		if (!before->has[member]) {
			if (!h->joins)
				return wh_history_break(h,
							"same views: view %" PRIu64 " has node %" PRIu32
							", which is not in view %" PRIu64,
							view->number, member, before->number);
			at = before->count;
			continue;
		}
		while (at < before->count && before->members[at] != member)
			at++;
		if (at == before->count)
			return wh_history_break(h,
						"same views: view %" PRIu64 " does not keep the order of view %" PRIu64
						": node %" PRIu32,
						view->number, before->number, member);
	}
	return true;
}

/* More than half of `all`, or half of it with the tie-breaker. */
static bool is_majority(uint32_t votes, uint32_t all, bool tie_breaker)
{
	return 2 * votes > all || (2 * votes == all && tie_breaker);
}

static bool breaks_ties(const struct wh_history *h, const struct view *before, const struct view *view)
{
	return h->tie_breaker >= 0 && before->has[h->tie_breaker] && view->has[h->tie_breaker];
}

static bool check_chain(struct wh_history *h, const struct view *before, const struct view *view)
{
	uint32_t stay = 0, all = 0;

	for (uint32_t rank = 0; rank < before->count; rank++) {
		uint32_t member = before->members[rank];

		stay += view->has[member];
		all += view->has[member] || !h->node[member].leaves;
	}
	if (!is_majority(stay, all, breaks_ties(h, before, view)))
		return wh_history_break(h,
					"majority: view %" PRIu64 ", which node %" PRIu32 " installs, has %" PRIu32
					" of the %" PRIu32 " members of view %" PRIu64 " that have not left",
					view->number, view->by, stay, all, before->number);
	return check_ages(h, before, view);
}

static bool check_neighbours(struct wh_history *h, const struct view *view)
{
	const struct view *before = view->number > 0 ? wh_history_find_view(h, view->number - 1) : NULL;
	const struct view *after = wh_history_find_view(h, view->number + 1);

	if (view->number == 0 && !is_majority(view->count, h->nodes, breaks_ties(h, view, view)))
		return wh_history_break(h, "majority: view 0 of node %" PRIu32 " has %" PRIu32 " of %" PRIu32 " nodes",
					view->by, view->count, h->nodes);
	return (before == NULL || check_chain(h, before, view)) && (after == NULL || check_chain(h, view, after));
}

/* ---- what a node says that it installs ------------------------------------------------------------------------------- */

static bool set_members(struct wh_history *h, struct view *view, const uint32_t *members)
{
	for (uint32_t rank = 0; rank < view->count; rank++) {
		uint32_t member = members[rank];

		if (member >= h->nodes || view->has[member])
			return wh_history_break(
				h, "same views: view %" PRIu64 " of node %" PRIu32 " names node %" PRIu32 "%s",
				view->number, view->by, member, member < h->nodes ? " twice" : ", and there is none");
		view->members[rank] = member;
		view->has[member] = true;
	}
	return true;
}

static struct view *new_view(struct wh_history *h, uint32_t node, const struct wh_history_view *told)
{
	struct view **views = wh_history_grown(h->views, h->view_count + 1, &h->view_capacity, sizeof(struct view *));
	struct view *view = NULL;

	if (views == NULL)
		goto out;
	h->views = views;
	view = calloc(1, sizeof(*view));
	if (view == NULL)
		goto out;
	view->number = told->number;
	view->by = node;
	view->count = told->count;
	view->members = calloc(told->count, sizeof(*view->members));
	view->has = calloc(h->nodes, sizeof(*view->has));
	view->orders = calloc(h->units, sizeof(*view->orders));
	if (view->members != NULL && view->has != NULL && view->orders != NULL) {
		h->views[h->view_count++] = view;
		return view;
	}
	wh_history_free_view(view, h->units);
out:
	wh_history_memory_out(h);
	return NULL;
}

/* A view that nobody has installed before. NULL: broken. */
static struct view *first_told(struct wh_history *h, uint32_t node, const struct wh_history_view *told)
{
	struct view *view = new_view(h, node, told);

	if (view == NULL || !set_members(h, view, told->members) || !check_neighbours(h, view))
		return NULL;
	return view;
}

static bool check_number(struct wh_history *h, uint32_t node, uint64_t number)
{
	const struct view *last = h->node[node].view;
	const struct view *before = number > 0 ? wh_history_find_view(h, number - 1) : NULL;

	if (last != NULL && number != last->number + 1)
		return wh_history_break(h, "same views: node %" PRIu32 " installs view %" PRIu64 " after view %" PRIu64,
					node, number, last->number);
	if (last == NULL && number > 0 && (!h->joins || (before != NULL && before->has[node])))
		return wh_history_break(h, "same views: node %" PRIu32 " begins with view %" PRIu64, node, number);
	return true;
}

static struct view *check_view(struct wh_history *h, uint32_t node, const struct wh_history_view *told)
{
	struct view *view = wh_history_find_view(h, told->number);

	if (!check_number(h, node, told->number))
		return NULL;
	if (told->rank >= told->count || told->members[told->rank] != node) {
		wh_history_break(h,
				 "same views: node %" PRIu32 " installs view %" PRIu64
				 ", in which it is not at its rank, %" PRIu32,
				 node, told->number, told->rank);
		return NULL;
	}
	if (view == NULL)
		return first_told(h, node, told);
	if (view->count != told->count || memcmp(view->members, told->members, told->count * sizeof(uint32_t)) != 0) {
		wh_history_break(h,
				 "same views: view %" PRIu64 " of node %" PRIu32
				 " has other members than that of node %" PRIu32,
				 told->number, node, view->by);
		return NULL;
	}
	return view;
}

/* ---- from one view to the next --------------------------------------------------------------------------------------- */

/* The node goes on: it has delivered all that its shard delivers in its view. */
static bool leave_order(struct wh_history *h, uint32_t node, const struct subgroup *g)
{
	const struct seat *seat = &g->seats[node];
	const struct view *view = h->node[node].view;
	struct order *order = &view->orders[seat->unit];

	if (seat->position < order->count) {
		const struct entry *lacks = &order->entries[seat->position];

		return wh_history_break(
			h,
			"%s: node %" PRIu32 " goes on from view %" PRIu64 " without message %" PRIu64
			" of node %" PRIu32 ", which node %" PRIu32 " delivered there (%s, place %" PRIu64 ")",
			order->closed ? "same set" : "nothing that a survivor lacks", node, view->number, lacks->index,
			lacks->sender, lacks->by, wh_history_at(g, seat->unit, view->number).text, seat->position);
	}
	if (!order->closed) {
		order->closed = true;
		order->closed_by = node;
	}
	return true;
}

static bool take_place(struct wh_history *h, uint32_t node, struct subgroup *g, uint64_t number,
		       const struct wh_history_place *place)
{
	struct seat *seat = &g->seats[node];
	struct stream *stream = &g->streams[node];
	bool was_in = seat->place.role != WH_HISTORY_OUT;
	bool stays = was_in && place->role != WH_HISTORY_OUT && place->shard == seat->place.shard;

	if (place->shard >= g->shards)
		return wh_history_break(h, "its view: node %" PRIu32 " is in shard %" PRIu32 " of %" PRIu32 " (%s)",
					node, place->shard, g->shards, g->name);
	if (was_in && g->ordered && !leave_order(h, node, g))
		return false;
	if (seat->place.role == WH_HISTORY_SENDER && (!stays || place->role != WH_HISTORY_SENDER))
		stream->lapsed = stream->count;
	if (!stays)
		seat->joined = number;
	seat->place = *place;
	seat->unit = g->unit + place->shard;
	seat->position = 0;
	return true;
}

bool wh_history_view(struct wh_history *h, uint32_t node, const struct wh_history_view *told)
{
	struct view *view;

	if (!wh_history_lives(h, node, "installs a view"))
		return false;
	view = check_view(h, node, told);
	if (view == NULL)
		return false;
	for (uint32_t g = 0; g < h->subgroup_count; g++)
		if (!take_place(h, node, &h->subgroups[g], told->number, &told->places[g]))
			return false;
	h->node[node].view = view;
	return true;
}

bool wh_history_view_of(const struct wh_history *h, uint32_t node, uint64_t *number)
{
	const struct view *view = node < h->nodes ? h->node[node].view : NULL;

	if (view != NULL)
		*number = view->number;
	return view != NULL;
}
