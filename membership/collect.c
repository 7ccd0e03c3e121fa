/* collect.c - see collect.h. */
#include "membership/collect.h"

#include <stdlib.h>

enum whorl_result wh_collect_init(struct wh_collect *collect, uint32_t nodes)
{
	*collect = (struct wh_collect){.nodes = nodes, .of = calloc(nodes, sizeof(*collect->of))};
	return collect->of != NULL ? WHORL_OK : WHORL_MEMORY;
}

/* The pointer goes first: a fork may come in between, and its child frees what it finds. */
static void forget_set(struct wh_collected *collected)
{
	struct wh_wish_set *set = collected->set;

	collected->set = NULL;
	free(set);
}

static void forget(struct wh_collected *collected)
{
	forget_set(collected);
	wh_view_parts_free(&collected->parts);
	collected->incarnation = collected->considered = 0;
}

void wh_collect_close(struct wh_collect *collect)
{
	for (uint32_t node = 0; collect->of != NULL && node < collect->nodes; node++)
		forget(&collect->of[node]);
	free(collect->of);
	collect->of = NULL;
}

void wh_collect_gone(struct wh_collect *collect, uint32_t node)
{
	forget(&collect->of[node]);
}

/* ---- coming ---------------------------------------------------------------------------------------------------------------- */

/* It is whole. */
static enum whorl_result read_set(struct wh_collected *collected)
{
	struct wh_wish_set *set = malloc(sizeof(*set));
	bool good;

	if (set == NULL) {
		wh_view_parts_free(&collected->parts);
		return WHORL_MEMORY;
	}
	good = wh_wish_set_decode(set, collected->parts.bytes, collected->parts.total) &&
	       set->number == collected->parts.key;
	wh_view_parts_free(&collected->parts);
	if (!good || (collected->set != NULL && set->number <= collected->set->number)) {
		free(set);
		return good ? WHORL_AGAIN : WHORL_INVALID;
	}
	forget_set(collected);
	collected->set = set;
	return WHORL_OK;
}

enum whorl_result wh_collect_take(struct wh_collect *collect, uint32_t node, uint64_t incarnation,
				  const struct wh_wire *message, uint64_t now_ns)
{
	struct wh_collected *collected = &collect->of[node];
	enum whorl_result result;

	if (collected->incarnation != incarnation)
		forget(collected);
	collected->incarnation = incarnation;
	result = wh_view_parts_take(&collected->parts, message);
	if (result == WHORL_OK)
		result = read_set(collected);
	if (result == WHORL_INVALID || result == WHORL_MEMORY)
		wh_view_parts_free(&collected->parts);
	if (result == WHORL_OK)
		collect->last_ns = now_ns;
	return result;
}

bool wh_collect_mine(struct wh_collect *collect, uint32_t node, uint64_t incarnation, const struct wh_wish_set *set,
		     uint64_t now_ns)
{
	struct wh_collected *collected = &collect->of[node];
	struct wh_wish_set *copy;

	if (collected->set != NULL && collected->set->number >= set->number)
		return false;
	copy = malloc(sizeof(*copy));
	if (copy == NULL)
		return false;
	*copy = *set;
	forget_set(collected);
	collected->incarnation = incarnation;
	collected->set = copy;
	collect->last_ns = now_ns;
	return true;
}

void wh_collect_refused(struct wh_collect *collect, uint32_t node, uint64_t number, uint32_t wish)
{
	struct wh_wish_set *set = collect->of[node].set;

	if (set != NULL && set->number == number)
		set->wishes[wish].refused = true;
}

bool wh_collect_any(const struct wh_collect *collect)
{
	for (uint32_t node = 0; node < collect->nodes; node++)
		if (collect->of[node].set != NULL)
			return true;
	return false;
}

/* ---- what is outstanding ------------------------------------------------------------------------------------------------------ */

/* NULL: nothing of the member of that rank is. */
static const struct wh_wish_set *outstanding(const struct wh_collect *collect, const struct wh_view *view,
					     uint32_t rank)
{
	const struct wh_collected *collected = &collect->of[view->ids[rank]];

	if (collected->set == NULL || collected->incarnation != view->incarnations[rank] ||
	    collected->set->number <= view->served[rank])
		return NULL;
	return collected->set;
}

uint32_t wh_collect_sets(const struct wh_collect *collect, const struct wh_view *view,
			 const struct wh_wish_set *sets[WH_NODES_MAX])
{
	uint32_t count = 0;

	for (uint32_t rank = 0; rank < view->members; rank++) {
		sets[rank] = outstanding(collect, view, rank);
		count += sets[rank] != NULL;
	}
	return count;
}

void wh_collect_considered(struct wh_collect *collect, const struct wh_view *view,
			   const struct wh_wish_set *const *sets)
{
	for (uint32_t rank = 0; rank < view->members; rank++)
		if (sets[rank] != NULL)
			collect->of[view->ids[rank]].considered = sets[rank]->number;
	collect->first_ns = 0;
}

void wh_collect_composed(struct wh_collect *collect, uint64_t now_ns)
{
	collect->composed_ns = now_ns;
}

static void note_cost(struct wh_collect *collect, uint64_t now_ns)
{
	uint64_t cost_ns = now_ns - collect->composed_ns;

	if (collect->composed_ns != 0)
		collect->cost_ns = cost_ns < WH_COLLECT_COST_NS ? cost_ns : WH_COLLECT_COST_NS;
	collect->composed_ns = 0;
}

/* A set that was composed in vain may be met in another view: what stood in its way may have gone. */
void wh_collect_settle(struct wh_collect *collect, const struct wh_view *view, uint64_t now_ns)
{
	note_cost(collect, now_ns);
	for (uint32_t node = 0; node < collect->nodes; node++) {
		struct wh_collected *collected = &collect->of[node];
		int rank = wh_view_rank_of(view, node, collected->incarnation);

		collected->considered = 0;
		if (rank >= 0 && collected->set != NULL && collected->set->number <= view->served[rank])
			forget_set(collected);
	}
	collect->first_ns = 0;
}

/* ---- when ------------------------------------------------------------------------------------------------------------------------ */

/* A row says that a set has been sent, and it has not come. */
static bool is_one_coming(const struct wh_collect *collect, const struct wh_view *view, const uint64_t *wished)
{
	for (uint32_t rank = 0; rank < view->members; rank++) {
		const struct wh_collected *collected = &collect->of[view->ids[rank]];
		bool is_its = collected->set != NULL && collected->incarnation == view->incarnations[rank];

		if (wished[rank] > view->served[rank] && (!is_its || collected->set->number < wished[rank]))
			return true;
	}
	return false;
}

static uint64_t longer(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

bool wh_collect_is_due(struct wh_collect *collect, const struct wh_view *view, const uint64_t *wished, uint64_t now_ns,
		       uint64_t *again_ns)
{
	bool any = false, coming = is_one_coming(collect, view, wished);
	uint64_t quiet_ns = collect->last_ns + longer(WH_COLLECT_QUIET_NS, collect->cost_ns / WH_COLLECT_QUIET_PART);
	uint64_t most_ns;

	for (uint32_t rank = 0; rank < view->members && !any; rank++) {
		const struct wh_wish_set *set = outstanding(collect, view, rank);

		any = set != NULL && set->number != collect->of[view->ids[rank]].considered;
	}
	*again_ns = 0;
	if (!any)
		return false;
	if (collect->first_ns == 0)
		collect->first_ns = now_ns;
	most_ns = collect->first_ns + longer(WH_COLLECT_MOST_NS, collect->cost_ns);
	if (now_ns >= most_ns || (!coming && now_ns >= quiet_ns))
		return true;
	*again_ns = coming || quiet_ns > most_ns ? most_ns : quiet_ns;
	return false;
}
