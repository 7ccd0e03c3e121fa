/* history_state.c - states on their way to newcomers: a newcomer that begins with one goes on exactly where it ends. */
#include "sim/history_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The place of the life in the subgroup, if it may have to do with a state. NULL: broken. */
static struct seat *find_seat(struct wh_history *h, uint32_t life, uint32_t subgroup, const char *does)
{
	struct seat *seat;

	if (!wh_history_lives(h, life, does))
		return NULL;
	seat = subgroup < h->subgroup_count ? &h->subgroups[subgroup].seats[life] : NULL;
	if (seat == NULL || h->lives[life].view == NULL || seat->place.role == WH_HISTORY_OUT) {
		wh_history_break(h, "state: %s %s in subgroup %" PRIu32 ", and is in no shard of it",
				 wh_history_who(h, life).text, does, subgroup);
		return NULL;
	}
	return seat;
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
	const struct seat *seat = find_seat(h, life, subgroup, "gives a state");
	struct state *states, given;

	if (seat == NULL)
		return false;
	if (seat->awaits)
		return wh_history_break(
			h, "state: %s gives a state, and has none (%s)", wh_history_who(h, life).text,
			wh_history_at(&h->subgroups[subgroup], seat->unit, h->lives[life].view->number).text);
	given = (struct state){
		.unit = seat->unit, .by = life, .digest = digest, .position = seat->position, .at = seat->at};
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
	memcpy(given.next, seat->next, h->life_count * sizeof(*given.next));
	states[h->state_count++] = given;
	return true;
}

static bool begin_empty(struct wh_history *h, uint32_t life, const struct subgroup *g, struct seat *seat,
			uint64_t digest)
{
	if (digest != 0)
		return wh_history_break(h, "state: %s restores a state, and nobody can have given it one (%s)",
					wh_history_who(h, life).text, wh_history_at(g, seat->unit, seat->joined).text);
	seat->awaits = seat->empties = false;
	seat->behind = seat->restored = true;
	seat->at = wh_history_find_view(h, seat->joined);
	seat->position = 0;
	memset(seat->next, 0, h->life_count * sizeof(*seat->next));
	return true;
}

bool wh_history_restored(struct wh_history *h, uint32_t life, uint32_t subgroup, uint64_t digest)
{
	struct seat *seat = find_seat(h, life, subgroup, "restores a state");
	const struct state *state;

	if (seat == NULL)
		return false;
	if (seat->empties)
		return begin_empty(h, life, &h->subgroups[subgroup], seat, digest);
	state = find_state(h, seat->unit, digest);
	if (!seat->awaits || state == NULL)
		return wh_history_break(
			h, "state: %s restores %s (%s)", wh_history_who(h, life).text,
			seat->awaits ? "what no member of its shard has given" : "a state, and needs none",
			wh_history_at(&h->subgroups[subgroup], seat->unit, h->lives[life].view->number).text);
	seat->awaits = false;
	seat->behind = seat->restored = true;
	seat->at = state->at;
	seat->position = state->position;
	memcpy(seat->next, state->next, h->life_count * sizeof(*seat->next));
	return true;
}

bool wh_history_move_on(struct wh_history *h, uint32_t life, struct subgroup *g, uint64_t view)
{
	struct seat *seat = &g->seats[life];

	while (seat->at->number < view) {
		struct view *next = wh_history_find_view(h, seat->at->number + 1);

		if (next == NULL)
			return wh_history_break(h,
						"its view: %s goes on from view %" PRIu64 ", and there is no next (%s)",
						wh_history_who(h, life).text, seat->at->number, g->name);
		if (!wh_history_leave_order(h, life, g))
			return false;
		seat->at = next;
		seat->position = 0;
	}
	return true;
}

bool wh_history_caught_up(struct wh_history *h, uint32_t life, uint32_t subgroup)
{
	struct seat *seat = find_seat(h, life, subgroup, "has caught up");
	struct subgroup *g;

	if (seat == NULL)
		return false;
	g = &h->subgroups[subgroup];
	if (!seat->behind)
		return wh_history_break(h, "state: %s has caught up, and was not behind (%s)",
					wh_history_who(h, life).text, g->name);
	if (g->ordered && !wh_history_move_on(h, life, g, h->lives[life].view->number))
		return false;
	seat->behind = false;
	if (!g->ordered || seat->at->number < h->lives[life].view->number)
		seat->at = h->lives[life].view;
	return true; /* else its state may be of a later view, which it is yet to be told */
}
