/* compose.c - the leader: from the sets of all members to the dynamic subgroups of the next view. See wishes.h; docs/decisions/0046 has
 * the rules.
 */
#include <stdlib.h>
#include <string.h>

#include "membership/view_int.h"
#include "membership/wishes.h"

enum { IS_IN = 1, SENDS = 2, HAS_ENTERED = 4, RESTS = 8 };

struct draft { /* of one dynamic subgroup */
	char name[WH_NAME_BYTES];
	uint64_t birth;
	struct wh_parameters parameters;
	uint8_t is[WH_NODES_MAX]; /* by rank */
};

struct work {
	struct wh_view *view;
	const struct wh_view *before;
	const struct wh_wish_set *const *sets;
	const struct wh_layout_config *layout;
	struct wh_composed *out;
	struct draft *drafts;   /* room for all that went on, and all that may be born */
	struct draft **by_name; /* those that there are */
	uint32_t drafted, count;
	bool taken[WH_SEATS];      /* by a subgroup of the view before, or one that is born */
	bool serves[WH_NODES_MAX]; /* by rank */
};

/* ---- what goes on ------------------------------------------------------------------------------------------------------ */

static void mark(struct draft *draft, const uint32_t *ranks, uint32_t count, uint8_t flag)
{
	for (uint32_t i = 0; i < count; i++)
		draft->is[ranks[i]] |= flag;
}

static void draft_as_it_is(struct work *work, const struct wh_view_subgroup *subgroup)
{
	struct draft *draft = &work->drafts[work->drafted++];

	*draft = (struct draft){.birth = subgroup->birth, .parameters = subgroup->parameters};
	memcpy(draft->name, subgroup->name, sizeof(draft->name));
	mark(draft, subgroup->members, subgroup->member_count, IS_IN);
	mark(draft, subgroup->senders, subgroup->sender_count, SENDS);
	mark(draft, subgroup->resting, subgroup->resting_count, RESTS);
}

/* A member rests before it leaves: nothing that it has committed is lost. */
static bool may_serve(const struct work *work, uint32_t rank)
{
	const struct wh_wish_set *set = work->sets[rank];

	if (set == NULL || set->number <= work->view->served[rank])
		return false;
	for (uint32_t i = 0; i < work->drafted; i++)
		if ((work->drafts[i].is[rank] & SENDS) != 0 && wh_wish_find(set, work->drafts[i].name) == NULL)
			return false;
	return true;
}

static void take_out(struct work *work, uint32_t rank)
{
	for (uint32_t i = 0; i < work->drafted; i++) {
		struct draft *draft = &work->drafts[i];

		if (draft->is[rank] == 0 || wh_wish_find(work->sets[rank], draft->name) != NULL)
			continue;
		draft->is[rank] = 0;
		work->out->changes = true;
	}
}

static bool has_members(const struct draft *draft, uint32_t members)
{
	for (uint32_t rank = 0; rank < members; rank++)
		if (draft->is[rank] != 0)
			return true;
	return false;
}

/* ---- names ---------------------------------------------------------------------------------------------------------------- */

/* The place of the first that is not before `name`. */
static uint32_t place_of(const struct work *work, const char *name)
{
	uint32_t low = 0, high = work->count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (strcmp(work->by_name[middle]->name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void put_by_name(struct work *work, struct draft *draft)
{
	uint32_t at = place_of(work, draft->name);

	memmove(&work->by_name[at + 1], &work->by_name[at], (work->count - at) * sizeof(struct draft *));
	work->by_name[at] = draft;
	work->count++;
}

static struct draft *find(const struct work *work, const char *name)
{
	uint32_t at = place_of(work, name);

	return at < work->count && strcmp(work->by_name[at]->name, name) == 0 ? work->by_name[at] : NULL;
}

/* As one that nodes do not enter. */
static bool is_configured(const struct wh_layout_config *layout, const char *name)
{
	for (uint32_t i = 0; i < layout->count; i++)
		if (!wh_subgroup_is_wished(&layout->subgroups[i]) && strcmp(layout->subgroups[i].name, name) == 0)
			return true;
	return false;
}

/* ---- wishes --------------------------------------------------------------------------------------------------------------- */

static bool refuse(struct work *work, struct wh_refusal refusal)
{
	struct wh_composed *out = work->out;

	if (out->refusal_count == out->refusal_room) {
		uint32_t room = out->refusal_room > 0 ? 2 * out->refusal_room : 16;
		struct wh_refusal *more = realloc(out->refusals, room * sizeof(*more));

		if (more == NULL)
			return false;
		out->refusals = more;
		out->refusal_room = room;
	}
	out->refusals[out->refusal_count++] = refusal;
	return true;
}

/* The first parameter in which it differs from the subgroup's. */
static enum wh_parameter differing(const struct wh_parameters *wished, const struct wh_parameters *are,
				   uint64_t *theirs)
{
	if (wished->ordered != are->ordered) {
		*theirs = are->ordered;
		return WH_PARAMETER_MODE;
	}
	if (wished->state != are->state) {
		*theirs = are->state;
		return WH_PARAMETER_STATE;
	}
	if (wished->window != are->window) {
		*theirs = are->window;
		return WH_PARAMETER_WINDOW;
	}
	if (wished->message_bytes != are->message_bytes) {
		*theirs = are->message_bytes;
		return WH_PARAMETER_BYTES;
	}
	*theirs = are->large_bytes;
	return wished->large_bytes != are->large_bytes ? WH_PARAMETER_LARGE : WH_PARAMETER_NONE;
}

static uint32_t lowest_member(const struct work *work, const struct draft *draft)
{
	uint32_t lowest = UINT32_MAX;

	for (uint32_t rank = 0; rank < work->view->members; rank++)
		if (draft->is[rank] != 0 && work->view->ids[rank] < lowest)
			lowest = work->view->ids[rank];
	return lowest;
}

/* One with that name, and the lowest seat that is free. There is room. */
static struct draft *be_born(struct work *work, const struct wh_wish *wish)
{
	struct draft *draft = &work->drafts[work->drafted++];
	uint32_t seat = 0;

	while (work->taken[seat])
		seat++;
	work->taken[seat] = true;
	*draft = (struct draft){.birth = wh_birth_make(work->view->number, seat), .parameters = wish->parameters};
	memcpy(draft->name, wish->name, sizeof(draft->name));
	put_by_name(work, draft);
	return draft;
}

/* False: no memory. */
static bool meet(struct work *work, uint32_t rank, uint32_t at)
{
	const struct wh_wish *wish = &work->sets[rank]->wishes[at];
	struct draft *draft = find(work, wish->name);
	struct wh_refusal refusal = {.rank = rank, .wish = at, .node = UINT32_MAX};

	if (wish->refused)
		return true;
	if (draft == NULL && is_configured(work->layout, wish->name))
		refusal.why = WH_REFUSED_CONFIGURED;
	else if (draft == NULL && work->count == WH_DYNAMIC_MAX)
		refusal.why = WH_REFUSED_TOO_MANY;
	else if (draft == NULL)
		draft = be_born(work, wish);
	if (draft == NULL)
		return refuse(work, refusal);
	if (draft->is[rank] != 0) /* it is there already: as what, was settled when it entered */
		return true;
	refusal.parameter = differing(&wish->parameters, &draft->parameters, &refusal.theirs);
	if (refusal.parameter != WH_PARAMETER_NONE) {
		refusal.why = WH_REFUSED_PARAMETER;
		refusal.node = lowest_member(work, draft);
		return refuse(work, refusal);
	}
	draft->is[rank] = IS_IN | HAS_ENTERED | (wish->sends ? SENDS : 0);
	work->out->changes = true;
	return true;
}

/* Those that leave first: a name that no member keeps may be another subgroup in the same view. */
static bool meet_all(struct work *work)
{
	uint32_t members = work->view->members;

	for (uint32_t rank = 0; rank < members; rank++) {
		work->serves[rank] = may_serve(work, rank);
		if (work->serves[rank])
			take_out(work, rank);
	}
	for (uint32_t i = 0; i < work->drafted; i++)
		if (has_members(&work->drafts[i], members))
			put_by_name(work, &work->drafts[i]);
	for (uint32_t rank = 0; rank < members; rank++)
		for (uint32_t i = 0; work->serves[rank] && i < work->sets[rank]->count; i++)
			if (!meet(work, rank, i))
				return false;
	return true;
}

/* ---- the view ------------------------------------------------------------------------------------------------------------- */

static int compare_seats(const void *one, const void *other)
{
	uint32_t first = wh_birth_seat((*(struct draft *const *)one)->birth);
	uint32_t second = wh_birth_seat((*(struct draft *const *)other)->birth);

	return first < second ? -1 : first > second;
}

static bool fill(struct wh_view_subgroup *out, const struct draft *draft, uint32_t members)
{
	struct wh_places places = {.sender = {false}};

	for (uint32_t rank = 0; rank < WH_NODES_MAX; rank++) {
		places.shard[rank] = draft->is[rank] != 0 ? 0 : WH_NOWHERE;
		places.sender[rank] = draft->is[rank] & SENDS;
		places.entered[rank] = draft->is[rank] & HAS_ENTERED;
		places.resting[rank] = draft->is[rank] & RESTS;
	}
	wh_dynamic_name(out, draft->name, draft->birth, &draft->parameters);
	return wh_shard_fill(out, &places, members, 1, false);
}

/* The dynamic subgroups of the view are these. False: no memory, and it is as it was. */
static bool replace_dynamic(struct work *work)
{
	struct wh_view *view = work->view;
	uint32_t configured = view->subgroup_count - view->dynamic_count;
	struct wh_view_subgroup *all = calloc((size_t)configured + work->count + 1, sizeof(*all));

	if (all == NULL)
		return false;
	qsort(work->by_name, work->count, sizeof(struct draft *), compare_seats);
	for (uint32_t i = 0; i < work->count; i++)
		if (!fill(&all[configured + i], work->by_name[i], view->members)) {
			wh_layout_free(all, configured + work->count);
			return false;
		}
	if (configured > 0)
		memcpy(all, view->subgroups, configured * sizeof(*all));
	for (uint32_t g = configured; g < view->subgroup_count; g++)
		free(view->subgroups[g].members);
	free(view->subgroups);
	view->subgroups = all;
	view->subgroup_count = configured + work->count;
	view->dynamic_count = work->count;
	for (uint32_t rank = 0; rank < view->members; rank++)
		if (work->serves[rank])
			view->served[rank] = work->sets[rank]->number;
	return true;
}

/* How many there can be in all: those that go on, and no more than each wish could make. */
static size_t most_drafts(const struct wh_view *view, const struct wh_wish_set *const *sets)
{
	size_t wishes = 0;

	for (uint32_t rank = 0; rank < view->members; rank++)
		wishes += sets[rank] != NULL ? sets[rank]->count : 0;
	return view->dynamic_count + (wishes < WH_DYNAMIC_MAX ? wishes : WH_DYNAMIC_MAX) + 1;
}

static bool compose(struct work *work)
{
	const struct wh_view *before = work->before;

	for (uint32_t i = 0; i < before->dynamic_count; i++)
		work->taken[wh_birth_seat(wh_view_dynamic(before)[i].birth)] = true;
	for (uint32_t i = 0; i < work->view->dynamic_count; i++)
		draft_as_it_is(work, &wh_view_dynamic(work->view)[i]);
	return meet_all(work) && replace_dynamic(work);
}

enum whorl_result wh_wishes_compose(struct wh_composed *out, struct wh_view *view, const struct wh_view *before,
				    const struct wh_wish_set *const *sets, const struct wh_layout_config *layout)
{
	size_t most = most_drafts(view, sets);
	struct work work = {.view = view, .before = before, .sets = sets, .layout = layout, .out = out};
	bool done;

	*out = (struct wh_composed){.refusals = NULL};
	work.drafts = calloc(most, sizeof(*work.drafts));
	work.by_name = calloc(most, sizeof(struct draft *));
	done = work.drafts != NULL && work.by_name != NULL && compose(&work);
	free(work.drafts);
	free(work.by_name);
	if (done)
		return WHORL_OK;
	free(out->refusals);
	*out = (struct wh_composed){.refusals = NULL};
	return WHORL_MEMORY;
}
