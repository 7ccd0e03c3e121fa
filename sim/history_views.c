/* history_views.c - the views of a history: one sequence for all, each a majority of the one before, and no member goes on
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

void wh_history_free_view(struct view *view)
{
	for (uint32_t u = 0; view->orders != NULL && u < view->units; u++)
		free(view->orders[u].entries);
	free(view->dynamic);
	free(view->orders);
	free(view->lives);
	free(view->place);
	free(view->members);
	free(view);
}

/* ---- which life a member is ------------------------------------------------------------------------------------------ */

/* The life of that node that begins with this view; NOBODY: none is known to. */
static uint32_t who_begins(const struct wh_history *h, uint32_t id, uint64_t number)
{
	for (uint32_t life = 0; life < h->life_count; life++)
		if (h->lives[life].id == id && h->lives[life].first == number)
			return life;
	return NOBODY;
}

uint32_t wh_history_life_in(const struct wh_history *h, const struct view *view, uint32_t id)
{
	const struct view *before;
	uint32_t *life;

	if (view->place[id] == 0)
		return NOBODY;
	life = &view->lives[view->place[id] - 1];
	if (*life != NOBODY)
		return *life;
	before = view->number > 0 ? wh_history_find_view(h, view->number - 1) : NULL;
	if (!view->restarts && before != NULL && before->place[id] > 0)
		*life = wh_history_life_in(h, before, id);
	else
		*life = who_begins(h, id, view->number);
	return *life;
}

uint32_t wh_history_sender_in(const struct wh_history *h, const struct view *view, uint32_t id)
{
	uint32_t life = id < h->nodes ? wh_history_life_in(h, view, id) : NOBODY, only = NOBODY;

	if (life != NOBODY || id >= h->nodes)
		return life;
	for (uint32_t n = 0; n < h->life_count; n++)
		if (h->lives[n].id == id) {
			if (only != NOBODY)
				return NOBODY;
			only = n;
		}
	return only;
}

/* Has node `id` in that view left in order? */
static bool has_left(const struct wh_history *h, const struct view *view, uint32_t id)
{
	uint32_t life = wh_history_sender_in(h, view, id);
	bool has = life != NOBODY && h->lives[life].leaves;

	for (uint32_t n = 0; n < h->life_count && life == NOBODY; n++) /* one that has installed nothing */
		has |= h->lives[n].id == id && h->lives[n].view == NULL && h->lives[n].leaves;
	return has;
}

/* ---- which views may follow one another ------------------------------------------------------------------------------ */

/* Members that stay keep their order, newcomers come behind. */
static bool check_ages(struct wh_history *h, const struct view *before, const struct view *view)
{
	uint32_t at = 0;

	for (uint32_t rank = 0; rank < view->count; rank++) {
		uint32_t member = view->members[rank];

		if (before->place[member] == 0) {
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
	return h->tie_breaker >= 0 && before->place[h->tie_breaker] > 0 && view->place[h->tie_breaker] > 0;
}

/* The number of nodes that a quorum of that view is taken of. */
static uint32_t voter_count(const struct wh_history *h, const struct view *view)
{
	return view->number == 0 && !h->founded && view->count < h->configured ? h->configured : view->count;
}

static bool check_chain(struct wh_history *h, const struct view *before, const struct view *view)
{
	uint32_t stay = 0, all = voter_count(h, before), most = before->count > 2 ? before->count - 1 : 1;

	for (uint32_t rank = 0; rank < before->count; rank++) {
		uint32_t member = before->members[rank];

		stay += view->place[member] > 0;
		all -= view->place[member] == 0 && has_left(h, before, member);
	}
	if (!(view->restarts && h->one_host) && !is_majority(stay, all, breaks_ties(h, before, view)))
		return wh_history_break(h,
					"majority: view %" PRIu64 ", which %s installs, has %" PRIu32 " of the %" PRIu32
					" members of view %" PRIu64 " that have not left",
					view->number, wh_history_who(h, view->by).text, stay, all, before->number);
	if (view->count - stay > most)
		return wh_history_break(h,
					"newcomers: view %" PRIu64 ", which %s installs, takes in %" PRIu32
					" at once, and view %" PRIu64 " has %" PRIu32,
					view->number, wh_history_who(h, view->by).text, view->count - stay,
					before->number, before->count);
	return check_ages(h, before, view);
}

static bool check_first(struct wh_history *h, const struct view *view)
{
	if (h->founded && (view->count != 1 || view->members[0] != h->founder))
		return wh_history_break(h, "majority: view 0 of %s has %" PRIu32 " members, expected node %" PRIu32,
					wh_history_who(h, view->by).text, view->count, h->founder);
	if (!h->founded && !is_majority(view->count, h->configured, breaks_ties(h, view, view)))
		return wh_history_break(h, "majority: view 0 of %s has %" PRIu32 " of %" PRIu32 " nodes",
					wh_history_who(h, view->by).text, view->count, h->configured);
	return true;
}

static bool check_home(struct wh_history *h, const struct view *view)
{
	uint32_t configured = 0;

	for (uint32_t rank = 0; rank < view->count; rank++)
		configured += view->members[rank] < h->configured;
	if (h->home && configured == 0)
		return wh_history_break(h, "home: view %" PRIu64 ", which %s installs, has no configured node",
					view->number, wh_history_who(h, view->by).text);
	if (h->all && view->number == 0 && configured < h->configured)
		return wh_history_break(h, "home: view 0 of %s has %" PRIu32 " of %" PRIu32 " configured nodes",
					wh_history_who(h, view->by).text, configured, h->configured);
	return true;
}

static bool check_neighbours(struct wh_history *h, const struct view *view)
{
	const struct view *before = view->number > 0 ? wh_history_find_view(h, view->number - 1) : NULL;
	const struct view *after = wh_history_find_view(h, view->number + 1);

	if (!check_home(h, view) || (view->number == 0 && !check_first(h, view)))
		return false;
	return (before == NULL || check_chain(h, before, view)) && (after == NULL || check_chain(h, view, after));
}

/* ---- what a node says that it installs ------------------------------------------------------------------------------- */

static bool set_members(struct wh_history *h, struct view *view, const uint32_t *members)
{
	for (uint32_t rank = 0; rank < view->count; rank++) {
		uint32_t member = members[rank];

		if (member >= h->nodes || view->place[member] > 0)
			return wh_history_break(h, "same views: view %" PRIu64 " of %s names node %" PRIu32 "%s",
						view->number, wh_history_who(h, view->by).text, member,
						member < h->nodes ? " twice" : ", and there is none");
		view->members[rank] = member;
		view->place[member] = rank + 1;
		view->lives[rank] = NOBODY;
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
	view->restarts = told->restarts;
	view->count = told->count;
	view->members = calloc(told->count, sizeof(*view->members));
	view->place = calloc(h->nodes, sizeof(*view->place));
	view->lives = calloc(told->count, sizeof(*view->lives));
	view->units = h->units;
	view->orders = calloc(h->units, sizeof(*view->orders));
	if (view->members != NULL && view->place != NULL && view->lives != NULL && view->orders != NULL) {
		h->views[h->view_count++] = view;
		return view;
	}
	wh_history_free_view(view);
out:
	wh_history_memory_out(h);
	return NULL;
}

/* Nothing is left of what was in no log. */
static void forget_states(struct wh_history *h)
{
	for (uint32_t g = 0; g < h->subgroup_count; g++)
		for (uint32_t shard = 0; shard < h->subgroups[g].shards && !h->subgroups[g].durable; shard++)
			h->subgroups[g].since[shard] = UINT64_MAX;
}

/* A view that no life has installed before. NULL: broken. */
static struct view *first_told(struct wh_history *h, uint32_t node, const struct wh_history_view *told)
{
	struct view *view = new_view(h, node, told);

	if (view == NULL || !set_members(h, view, told->members) || !check_neighbours(h, view) ||
	    !wh_history_check_births(h, view, told, true))
		return NULL;
	if (view->restarts)
		forget_states(h);
	return view;
}

static bool check_number(struct wh_history *h, uint32_t node, const struct wh_history_view *told)
{
	uint64_t number = told->number;
	struct life *life = &h->lives[node];
	const struct view *before = number > 0 ? wh_history_find_view(h, number - 1) : NULL;

	if (told->restarts && (life->view != NULL || number == 0))
		return wh_history_break(h, "restart: %s is in a group, and restarts it in view %" PRIu64,
					wh_history_who(h, node).text, number);
	if (life->view != NULL && number != life->view->number + 1)
		return wh_history_break(h, "same views: %s installs view %" PRIu64 " after view %" PRIu64,
					wh_history_who(h, node).text, number, life->view->number);
	if (life->view == NULL && number > 0 && !told->restarts &&
	    (!h->joins || (before != NULL && before->place[life->id] > 0)))
		return wh_history_break(h, "same views: %s begins with view %" PRIu64, wh_history_who(h, node).text,
					number);
	return true;
}

/* The life that installs it is the one that is in it. */
static bool check_life(struct wh_history *h, uint32_t node, const struct view *view)
{
	struct life *life = &h->lives[node];
	uint32_t in;

	if (life->view == NULL)
		life->first = view->number;
	in = wh_history_life_in(h, view, life->id);
	if (in != node)
		return wh_history_break(h, "incarnation: %s installs view %" PRIu64 ", in which %s is",
					wh_history_who(h, node).text, view->number, wh_history_who(h, in).text);
	return true;
}

static bool is_among(const uint32_t *ids, uint32_t count, uint32_t id)
{
	for (uint32_t i = 0; i < count; i++)
		if (ids[i] == id)
			return true;
	return false;
}

/* One direction: all of `ids` are in `in` and not in `out`, and there are as many as there should be. */
static bool check_list(struct wh_history *h, uint32_t node, uint64_t number, const char *what, const uint32_t *ids,
		       uint32_t count, const struct view *in, const struct view *out)
{
	uint32_t expected = 0;

	for (uint32_t rank = 0; in != NULL && rank < in->count; rank++) {
		uint32_t id = in->members[rank];

		if (out != NULL && out->place[id] > 0)
			continue;
		expected++;
		if (!is_among(ids, count, id))
			return wh_history_break(
				h, "same views: view %" PRIu64 " of %s does not say that node %" PRIu32 " has %s",
				number, wh_history_who(h, node).text, id, what);
	}
	if (count != expected)
		return wh_history_break(
			h, "same views: view %" PRIu64 " of %s says that %" PRIu32 " nodes have %s, expected %" PRIu32,
			number, wh_history_who(h, node).text, count, what, expected);
	return true;
}

static bool check_lists(struct wh_history *h, uint32_t node, const struct wh_history_view *told,
			const struct view *view)
{
	const struct view *before = told->number > 0 ? wh_history_find_view(h, told->number - 1) : NULL;

	if (told->number > 0 && before == NULL)
		return true;
	return (told->joined == NULL ||
		check_list(h, node, told->number, "joined", told->joined, told->joined_count, view, before)) &&
	       (told->left == NULL ||
		check_list(h, node, told->number, "left", told->left, told->left_count, before, view));
}

static struct view *check_view(struct wh_history *h, uint32_t node, const struct wh_history_view *told)
{
	struct view *view = wh_history_find_view(h, told->number);

	if (!check_number(h, node, told))
		return NULL;
	if (told->rank >= told->count || told->members[told->rank] != h->lives[node].id) {
		wh_history_break(h,
				 "same views: %s installs view %" PRIu64 ", in which it is not at its rank, %" PRIu32,
				 wh_history_who(h, node).text, told->number, told->rank);
		return NULL;
	}
	if (view == NULL)
		return first_told(h, node, told);
	if (view->restarts != told->restarts || view->count != told->count ||
	    memcmp(view->members, told->members, told->count * sizeof(uint32_t)) != 0) {
		wh_history_break(h, "same views: view %" PRIu64 " of %s has other members than that of %s",
				 told->number, wh_history_who(h, node).text, wh_history_who(h, view->by).text);
		return NULL;
	}
	return wh_history_check_births(h, view, told, false) ? view : NULL;
}

/* ---- from one view to the next --------------------------------------------------------------------------------------- */

bool wh_history_leave_order(struct wh_history *h, uint32_t node, const struct subgroup *g)
{
	const struct member *member = &g->members[node];
	const struct view *view = member->at;
	struct order *order = &view->orders[member->unit];

	if (member->position < order->count) {
		const struct entry *lacks = &order->entries[member->position];

		return wh_history_break(h,
					"%s: %s goes on from view %" PRIu64 " without message %" PRIu64
					" of %s, which %s delivered there (%s, place %" PRIu64 ")",
					order->closed ? "same set" : "nothing that a survivor lacks",
					wh_history_who(h, node).text, view->number, lacks->index,
					wh_history_who(h, lacks->sender).text, wh_history_who(h, lacks->by).text,
					wh_history_at(g, member->unit, view->number).text, member->position);
	}
	if (!order->closed) {
		order->closed = true;
		order->closed_by = node;
	}
	return true;
}

/* That shard has a member in this view. */
static void note_member(struct subgroup *g, uint32_t shard, const struct view *view)
{
	if (view->number < g->since[shard])
		g->since[shard] = view->number;
}

/* Does some member have a state that a newcomer needs now? */
static bool has_state(const struct subgroup *g, uint32_t shard, const struct view *view)
{
	return g->stateful && g->since[shard] < view->number;
}

/* A node that has been in another shard has something to forget where no node has anything. Unordered, without a state, it may be sent
 * again what others lack, and it has had when it was there before. */
static void begin_stay(const struct wh_history *h, const struct subgroup *g, struct member *member,
		       const struct wh_history_place *place, const struct view *view)
{
	bool comes = place->role != WH_HISTORY_OUT, needs = comes && has_state(g, place->shard, view);

	if (view->restarts && g->durable) /* the view before may have begun nowhere */
		needs = place->needs && g->stateful;

	if (comes && !g->ordered && !g->stateful)
		memset(member->next, 0, h->life_count * sizeof(member->next[0]));
	member->empties = comes && !needs && member->had && g->stateful;
	member->awaits = needs || member->empties;
	member->had |= comes;
}

/* Only a member that is taken out of its shard loses what it has claimed there: a sender that stays, and is to send no more, has
 * waited until all had it. In an inactive shard that it has moved to the rest waits, to no avail unless it sends there. What it
 * sends there all the same may lack what newcomers to the shard before, itself among them, had kept back when they left it: that
 * was delivered. */
static bool may_lose(struct member *member, const struct wh_history_place *place, bool stays)
{
	bool leaves = !stays && member->place.role != WH_HISTORY_OUT;

	member->astray = place->role != WH_HISTORY_SENDER && (member->astray || leaves);
	return leaves || (member->astray && !place->inactive);
}

static bool take_place(struct wh_history *h, uint32_t node, struct subgroup *g, struct view *view,
		       const struct wh_history_place *place)
{
	struct member *member = &g->members[node];
	struct stream *stream = &g->streams[node];
	bool was_in = member->place.role != WH_HISTORY_OUT;
	bool stays = was_in && place->role != WH_HISTORY_OUT && place->shard == member->place.shard;
	bool follows = was_in && g->ordered && !member->awaits && !member->behind;
	bool ahead = follows && member->at->number >= view->number;

	if (place->shard >= g->shards)
		return wh_history_break(h, "its view: %s is in shard %" PRIu32 " of %" PRIu32 " (%s)",
					wh_history_who(h, node).text, place->shard, g->shards, g->name);
	if (follows && !ahead && !wh_history_leave_order(h, node, g))
		return false;
	if (g->dynamic && !wh_history_take_stay(h, node, g, place))
		return false;
	if (!g->dynamic && may_lose(member, place, stays))
		stream->lapsed = stream->count;
	if (place->role != WH_HISTORY_OUT)
		note_member(g, place->shard, view);
	if (!stays) {
		member->joined = member->oldest = view->number;
		member->behind = member->restored = false;
		begin_stay(h, g, member, place, view);
	}
	member->place = *place;
	member->unit = g->unit + place->shard;
	if (!member->behind && !(ahead && stays)) {
		member->at = view;
		member->position = 0;
	}
	return true;
}

bool wh_history_view(struct wh_history *h, uint32_t node, const struct wh_history_view *told)
{
	struct view *view;

	if (!wh_history_lives(h, node, "installs a view"))
		return false;
	view = check_view(h, node, told);
	if (view == NULL || !check_life(h, node, view) || !check_lists(h, node, told, view))
		return false;
	for (uint32_t g = 0; g < h->subgroup_count; g++)
		if (!take_place(h, node, &h->subgroups[g], view, &told->places[g]))
			return false;
	h->lives[node].view = view;
	return true;
}

bool wh_history_view_of(const struct wh_history *h, uint32_t node, uint64_t *number)
{
	const struct view *view = node < h->life_count ? h->lives[node].view : NULL;

	if (view != NULL)
		*number = view->number;
	return view != NULL;
}
