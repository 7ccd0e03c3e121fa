/* history_state.c - states on their way to newcomers: a newcomer that begins with one goes on exactly where it ends. */
#include "sim/history_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The place of the life in the subgroup, if it may have to do with a state. NULL: broken. */
static struct member *find_member(struct wh_history *h, uint32_t life, uint32_t subgroup, const char *does)
{
	struct member *member;

	if (!wh_history_lives(h, life, does))
		return NULL;
	member = subgroup < h->subgroup_count ? &h->subgroups[subgroup].members[life] : NULL;
	if (member == NULL || h->lives[life].view == NULL || member->place.role == WH_HISTORY_OUT) {
		wh_history_break(h, "state: %s %s in subgroup %" PRIu32 ", and is in no shard of it",
				 wh_history_who(h, life).text, does, subgroup);
		return NULL;
	}
	return member;
}

static const struct state *find_state(const struct wh_history *h, uint32_t unit, uint64_t digest)
{
	for (uint64_t s = h->state_count; s-- > 0;)
		if (h->states[s].unit == unit && h->states[s].digest == digest)
			return &h->states[s];
	return NULL;
}

bool wh_history_knows_state(const struct wh_history *h, uint32_t subgroup, uint64_t digest)
{
	const struct subgroup *g = subgroup < h->subgroup_count ? &h->subgroups[subgroup] : NULL;

	for (uint32_t shard = 0; g != NULL && shard < g->shards; shard++)
		if (find_state(h, g->unit + shard, digest) != NULL)
			return true;
	return false;
}

/* What two have at one place of an order must be the same, whatever they began with. */
static bool check_same(struct wh_history *h, uint32_t life, const struct subgroup *g, const struct state *given)
{
	for (uint64_t s = 0; s < h->state_count && g->ordered; s++) {
		const struct state *other = &h->states[s];

		if (other->unit == given->unit && other->at == given->at && other->position == given->position &&
		    other->digest != given->digest)
			return wh_history_break(
				h, "state: %s has another state than %s had at the same place (%s, place %" PRIu64 ")",
				wh_history_who(h, life).text, wh_history_who(h, other->by).text,
				wh_history_at(g, given->unit, given->at->number).text, given->position);
	}
	return true;
}

bool wh_history_gave(struct wh_history *h, uint32_t life, uint32_t subgroup, uint64_t digest)
{
	const struct member *member = find_member(h, life, subgroup, "gives a state");
	struct state *states, given;

	if (member == NULL)
		return false;
	if (member->awaits)
		return wh_history_break(
			h, "state: %s gives a state, and has none (%s)", wh_history_who(h, life).text,
			wh_history_at(&h->subgroups[subgroup], member->unit, h->lives[life].view->number).text);
	given = (struct state){.unit = member->unit,
			       .by = life,
			       .digest = digest,
			       .position = member->position,
			       .lags = member->behind,
			       .at = member->at};
	if (!check_same(h, life, &h->subgroups[subgroup], &given))
		return false;
	states = wh_history_grown(h->states, h->state_count + 1, &h->state_capacity, sizeof(*states));
	if (states != NULL)
		h->states = states;
	given.next = calloc(h->life_count, sizeof(*given.next));
	if (states == NULL || given.next == NULL) {
		free(given.next);
		return wh_history_memory_out(h);
	}
	memcpy(given.next, member->next, h->life_count * sizeof(*given.next));
	states[h->state_count++] = given;
	return true;
}

static bool begin_empty(struct wh_history *h, uint32_t life, const struct subgroup *g, struct member *member,
			uint64_t digest)
{
	if (digest != 0)
		return wh_history_break(h, "state: %s restores a state, and nobody can have given it one (%s)",
					wh_history_who(h, life).text,
					wh_history_at(g, member->unit, member->joined).text);
	member->awaits = member->empties = false;
	member->behind = member->restored = true;
	member->at = wh_history_find_view(h, member->joined);
	member->oldest = member->joined;
	member->position = 0;
	memset(member->next, 0, h->life_count * sizeof(*member->next));
	return true;
}

bool wh_history_restored(struct wh_history *h, uint32_t life, uint32_t subgroup, uint64_t digest)
{
	struct member *member = find_member(h, life, subgroup, "restores a state");
	const struct state *state;

	if (member == NULL)
		return false;
	if (member->empties)
		return begin_empty(h, life, &h->subgroups[subgroup], member, digest);
	state = find_state(h, member->unit, digest);
	if (!member->awaits || state == NULL)
		return wh_history_break(
			h, "state: %s restores %s (%s)", wh_history_who(h, life).text,
			member->awaits ? "what no member of its shard has given" : "a state, and needs none",
			wh_history_at(&h->subgroups[subgroup], member->unit, h->lives[life].view->number).text);
	member->awaits = false;
	member->behind = member->restored = true;
	member->at = state->at;
	member->oldest = state->lags && state->at->number < member->joined ? state->at->number : member->joined;
	member->position = state->position;
	memcpy(member->next, state->next, h->life_count * sizeof(*member->next));
	return true;
}

static struct view *oldest_view(const struct wh_history *h)
{
	struct view *oldest = h->view_count > 0 ? h->views[0] : NULL;

	for (uint64_t v = 1; v < h->view_count; v++)
		if (h->views[v]->number < oldest->number)
			oldest = h->views[v];
	return oldest;
}

bool wh_history_replays(struct wh_history *h, uint32_t life, uint32_t subgroup, uint32_t shard, uint64_t digest)
{
	struct subgroup *g = subgroup < h->subgroup_count ? &h->subgroups[subgroup] : NULL;
	const struct state *state;
	struct member *member;

	if (!wh_history_lives(h, life, "is restarting"))
		return false;
	member = g != NULL ? &g->members[life] : NULL;
	if (g == NULL || !g->durable || shard >= g->shards || h->lives[life].view != NULL || member->behind)
		return wh_history_break(h, "restart: %s is upcalled a log that it cannot have",
					wh_history_who(h, life).text);
	*member = (struct member){.place = {.role = WH_HISTORY_MEMBER, .shard = shard},
				  .unit = g->unit + shard,
				  .had = true,
				  .behind = true,
				  .restored = true,
				  .at = oldest_view(h),
				  .next = member->next};
	if (digest == 0)
		return true;
	state = find_state(h, member->unit, digest);
	if (state == NULL)
		return wh_history_break(
			h, "restart: %s has a state on its disk that no member of its shard has given (%s)",
			wh_history_who(h, life).text, g->name);
	member->at = state->at;
	member->position = state->position;
	memcpy(member->next, state->next, h->life_count * sizeof(*member->next));
	return true;
}

void wh_history_anew(struct wh_history *h, uint32_t life)
{
	h->lives[life].anew = true;
}

void wh_history_stands(const struct wh_history *h, uint32_t life, uint32_t subgroup, uint64_t *view, uint64_t *position)
{
	const struct member *member = subgroup < h->subgroup_count ? &h->subgroups[subgroup].members[life] : NULL;
	bool stands = member != NULL && member->at != NULL;

	*view = stands ? member->at->number : 0;
	*position = stands ? member->position : 0;
}

bool wh_history_takes_log(struct wh_history *h, uint32_t life, uint32_t subgroup)
{
	struct member *member = find_member(h, life, subgroup, "takes a log");

	if (member == NULL)
		return false;
	if (!member->awaits || !h->subgroups[subgroup].durable)
		return wh_history_break(h, "state: %s is given a log, and needs none (%s)",
					wh_history_who(h, life).text, h->subgroups[subgroup].name);
	member->awaits = false;
	member->behind = member->restored = true;
	member->at = oldest_view(h);
	member->oldest = member->at->number;
	member->position = 0;
	memset(member->next, 0, h->life_count * sizeof(*member->next));
	return true;
}

bool wh_history_lags(struct wh_history *h, uint32_t life, uint32_t subgroup)
{
	struct member *member = find_member(h, life, subgroup, "lags");

	if (member == NULL)
		return false;
	if (member->awaits || member->behind)
		return wh_history_break(h, "state: %s lags, and %s (%s)", wh_history_who(h, life).text,
					member->awaits ? "has no state" : "was behind already",
					h->subgroups[subgroup].name);
	member->behind = true;
	return true;
}

/* Before a restart there may be views that no life has begun. */
static struct view *find_next(const struct wh_history *h, uint64_t number, uint64_t last)
{
	struct view *next = wh_history_find_view(h, number + 1), *view;

	for (uint64_t skipped = number + 2; next == NULL && skipped <= last; skipped++) {
		view = wh_history_find_view(h, skipped);
		if (view != NULL)
			return view->restarts ? view : NULL;
	}
	return next;
}

bool wh_history_move_on(struct wh_history *h, uint32_t life, struct subgroup *g, uint64_t view)
{
	struct member *member = &g->members[life];

	while (member->at->number < view) {
		struct view *next = find_next(h, member->at->number, view);

		if (next == NULL)
			return wh_history_break(h,
						"its view: %s goes on from view %" PRIu64 ", and there is no next (%s)",
						wh_history_who(h, life).text, member->at->number, g->name);
		if (!wh_history_leave_order(h, life, g))
			return false;
		member->at = next;
		member->position = 0;
	}
	return true;
}

bool wh_history_caught_up(struct wh_history *h, uint32_t life, uint32_t subgroup)
{
	struct member *member = find_member(h, life, subgroup, "has caught up");
	struct subgroup *g;

	if (member == NULL)
		return false;
	g = &h->subgroups[subgroup];
	if (member->at == NULL)
		member->at = h->lives[life].view;
	if (!member->behind)
		return wh_history_break(h, "state: %s has caught up, and was not behind (%s)",
					wh_history_who(h, life).text, g->name);
	if (g->ordered && !wh_history_move_on(h, life, g, h->lives[life].view->number))
		return false;
	member->behind = false;
	if (!g->ordered || member->at->number < h->lives[life].view->number)
		member->at = h->lives[life].view;
	return true; /* else its state may be of a later view, which it is yet to be told */
}
