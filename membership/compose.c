/* compose.c - the leader: from the sets of all members to the dynamic subgroups of the next view. See wishes.h; docs/decisions/0046 has
 * the rules.
 */
#include <stdlib.h>
#include <string.h>

#include "membership/view_int.h"
#include "membership/wishes.h"

enum { IS_IN = 1, SENDS = 2, HAS_ENTERED = 4, RESTS = 8, HAS_RETURNED = 16 };

struct draft { /* of one dynamic subgroup */
	char name[WH_NAME_BYTES];
	uint64_t birth;
	struct wh_parameters parameters;
	const struct wh_dormant
		*dormant;   /* it has had no member since a view before; NULL: it has some, or had in the last view */
	bool asleep;        /* none of the holdings of it counts, or none was looked at yet */
	uint64_t from, cut; /* it comes back in this view */
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

static void draft_dormant(struct work *work, const struct wh_dormant *dormant)
{
	struct draft *draft = &work->drafts[work->drafted++];

	*draft = (struct draft){.birth = dormant->birth, .parameters = dormant->parameters, .dormant = dormant};
	memcpy(draft->name, dormant->name, sizeof(draft->name));
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

/* ---- those that come back ------------------------------------------------------------------------------------------------- */

/* What the member of that rank holds of it. NULL: nothing, or its set is not served now. */
static const struct wh_holding *holding_of(const struct work *work, const struct draft *draft, uint32_t rank)
{
	const struct wh_wish *wish = work->serves[rank] ? wh_wish_find(work->sets[rank], draft->name) : NULL;

	if (wish == NULL || wish->refused || wish->holding.birth != draft->birth ||
	    !wh_parameters_equal(&wish->parameters, &draft->parameters))
		return NULL;
	return &wish->holding;
}

/* Its log has all of it, up to the view that it had members in last, or to the one before, if that has not begun there: which it has not
 * delivered anything in, nor has any other. One that had entered in the last has in its log what it had of a life before. */
static bool may_count(const struct work *work, const struct draft *draft, uint32_t rank)
{
	const struct wh_holding *holding = holding_of(work, draft, rank);
	const struct wh_last_member *member = wh_last_member_find(draft->dormant, work->view->ids[rank]);

	if (holding == NULL || !holding->whole || member == NULL)
		return false;
	return holding->last == draft->dormant->last || (holding->last == draft->dormant->before && member->had);
}

/* So far all had it on disk in that view, as one of those says that has some of it; where less is left the end has rotted. */
static uint64_t find_frontier(const struct work *work, const struct draft *draft)
{
	uint64_t frontier = 0;

	for (uint32_t rank = 0; rank < work->view->members; rank++) {
		const struct wh_holding *holding = holding_of(work, draft, rank);

		if (holding != NULL && holding->last == draft->from && holding->frontier > frontier)
			frontier = holding->frontier;
	}
	return frontier;
}

/* Of the holdings that count those that go furthest bring it back, from the least of their places. */
static void bring_back(const struct work *work, struct draft *draft)
{
	uint64_t frontier;

	draft->from = 0;
	draft->cut = UINT64_MAX;
	for (uint32_t rank = 0; rank < work->view->members; rank++)
		if (may_count(work, draft, rank) && holding_of(work, draft, rank)->last > draft->from)
			draft->from = holding_of(work, draft, rank)->last;
	frontier = find_frontier(work, draft);
	for (uint32_t rank = 0; rank < work->view->members; rank++) {
		const struct wh_holding *holding = may_count(work, draft, rank) ? holding_of(work, draft, rank) : NULL;

		if (holding == NULL || holding->last != draft->from || holding->place < frontier)
			continue;
		draft->is[rank] = IS_IN | HAS_ENTERED | HAS_RETURNED;
		draft->cut = holding->place < draft->cut ? holding->place : draft->cut;
		draft->asleep = false;
	}
	if (draft->asleep)
		draft->from = draft->cut = 0;
}

static void bring_all_back(struct work *work)
{
	for (uint32_t i = 0; i < work->drafted; i++)
		if (work->drafts[i].asleep && work->drafts[i].dormant != NULL)
			bring_back(work, &work->drafts[i]);
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
	if (wh_parameters_mode(wished) != wh_parameters_mode(are)) {
		*theirs = wh_parameters_mode(are);
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
	if (wished->large_bytes != are->large_bytes) {
		*theirs = are->large_bytes;
		return WH_PARAMETER_LARGE;
	}
	return WH_PARAMETER_NONE;
}

/* Of those that are in it, or were in it last. */
static uint32_t lowest_member(const struct work *work, const struct draft *draft)
{
	const struct wh_view *before = work->before;
	uint32_t lowest = UINT32_MAX;

	for (uint32_t rank = 0; rank < work->view->members; rank++)
		if (draft->is[rank] != 0 && work->view->ids[rank] < lowest)
			lowest = work->view->ids[rank];
	for (uint32_t i = 0; draft->dormant != NULL && i < draft->dormant->member_count; i++)
		if (draft->dormant->members[i].id < lowest)
			lowest = draft->dormant->members[i].id;
	for (uint32_t i = 0; lowest == UINT32_MAX && i < before->dynamic_count; i++)
		if (wh_view_dynamic(before)[i].birth == draft->birth)
			return before->ids[wh_view_dynamic(before)[i].members[0]];
	return lowest;
}

/* With the lowest seat that is free. There is one. */
static void begin(struct work *work, struct draft *draft, const struct wh_wish *wish)
{
	uint32_t seat = 0;

	while (work->taken[seat])
		seat++;
	work->taken[seat] = true;
	*draft = (struct draft){.birth = wh_birth_make(work->view->number, seat), .parameters = wish->parameters};
	memcpy(draft->name, wish->name, sizeof(draft->name));
}

/* One with that name. There is room. */
static struct draft *be_born(struct work *work, const struct wh_wish *wish)
{
	struct draft *draft = &work->drafts[work->drafted++];

	begin(work, draft, wish);
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
	if (draft->is[rank] != 0 && (draft->is[rank] & HAS_RETURNED) == 0)
		return true; /* it is there already: as what, was settled when it entered */
	if (draft->asleep && wish->anew && draft->dormant != NULL)
		begin(work, draft, wish);
	refusal.parameter = differing(&wish->parameters, &draft->parameters, &refusal.theirs);
	if (refusal.parameter != WH_PARAMETER_NONE) {
		refusal.why = WH_REFUSED_PARAMETER;
		refusal.node = lowest_member(work, draft);
		return refuse(work, refusal);
	}
	if (draft->asleep) { /* it has to wait for one of its logs */
		refusal.why = WH_REFUSED_DORMANT;
		return refuse(work, refusal);
	}
	draft->is[rank] |= IS_IN | HAS_ENTERED | (wish->sends ? SENDS : 0);
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
	for (uint32_t i = 0; i < work->drafted; i++) {
		struct draft *draft = &work->drafts[i];

		draft->asleep = draft->parameters.durable && !has_members(draft, members);
		if (draft->asleep || has_members(draft, members))
			put_by_name(work, draft);
	}
	bring_all_back(work);
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
		places.returned[rank] = draft->is[rank] & HAS_RETURNED;
	}
	out->from = draft->from;
	out->cut = draft->cut;
	wh_dynamic_name(out, draft->name, draft->birth, &draft->parameters);
	return wh_shard_fill(out, &places, members, 1, false);
}

/* The last member has gone in this view, or in one before. */
static bool put_to_sleep(struct wh_dormant *out, const struct work *work, const struct draft *draft)
{
	const struct wh_view *before = work->before;

	if (draft->dormant != NULL)
		return wh_dormant_copy(out, draft->dormant);
	for (uint32_t i = 0; i < before->dynamic_count; i++)
		if (wh_view_dynamic(before)[i].birth == draft->birth)
			return wh_dormant_make(out, before, &wh_view_dynamic(before)[i]);
	return false;
}

/* Those of the drafts that have members, and those that have none, both by their seats, behind the configured shards. False: no memory. */
static bool make_lists(struct work *work, struct wh_view *lists)
{
	uint32_t configured = lists->subgroup_count;

	qsort(work->by_name, work->count, sizeof(struct draft *), compare_seats);
	for (uint32_t i = 0; i < work->count; i++) {
		const struct draft *draft = work->by_name[i];

		if (draft->asleep && !put_to_sleep(&lists->dormant[lists->dormant_count++], work, draft))
			return false;
		if (!draft->asleep &&
		    !fill(&lists->subgroups[configured + lists->dynamic_count++], draft, work->view->members))
			return false;
	}
	return true;
}

/* The dynamic subgroups of the view are these. False: no memory, and it is as it was. */
static bool replace_dynamic(struct work *work)
{
	struct wh_view *view = work->view;
	uint32_t configured = view->subgroup_count - view->dynamic_count;
	struct wh_view lists = {.subgroup_count = configured};

	lists.subgroups = calloc((size_t)configured + work->count + 1, sizeof(*lists.subgroups));
	lists.dormant = calloc((size_t)work->count + 1, sizeof(*lists.dormant));
	if (lists.subgroups == NULL || lists.dormant == NULL || !make_lists(work, &lists)) {
		wh_layout_free(lists.subgroups, configured + lists.dynamic_count);
		wh_dormant_free(lists.dormant, lists.dormant_count);
		return false;
	}
	if (configured > 0)
		memcpy(lists.subgroups, view->subgroups, configured * sizeof(*lists.subgroups));
	for (uint32_t g = configured; g < view->subgroup_count; g++)
		free(view->subgroups[g].members);
	free(view->subgroups);
	wh_dormant_free(view->dormant, view->dormant_count);
	view->subgroups = lists.subgroups;
	view->subgroup_count = configured + lists.dynamic_count;
	view->dynamic_count = lists.dynamic_count;
	view->dormant = lists.dormant;
	view->dormant_count = lists.dormant_count;
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
	return view->dynamic_count + view->dormant_count + (wishes < WH_DYNAMIC_MAX ? wishes : WH_DYNAMIC_MAX) + 1;
}

static bool compose(struct work *work)
{
	const struct wh_view *before = work->before;

	for (uint32_t i = 0; i < before->dynamic_count; i++)
		work->taken[wh_birth_seat(wh_view_dynamic(before)[i].birth)] = true;
	for (uint32_t i = 0; i < before->dormant_count; i++)
		work->taken[wh_birth_seat(before->dormant[i].birth)] = true;
	for (uint32_t i = 0; i < work->view->dynamic_count; i++)
		draft_as_it_is(work, &wh_view_dynamic(work->view)[i]);
	for (uint32_t i = 0; i < work->view->dormant_count; i++)
		draft_dormant(work, &work->view->dormant[i]);
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
