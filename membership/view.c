/* view.c - the members of a view, and how one follows another. See view.h. */
#include "membership/view.h"

#include <stdlib.h>

#include "membership/view_int.h"

int wh_rank_find(const uint32_t *ranks, uint32_t count, uint32_t rank)
{
	for (uint32_t i = 0; i < count; i++)
		if (ranks[i] == rank)
			return (int)i;
	return -1;
}

int wh_view_rank(const struct wh_view *view, uint32_t id)
{
	return wh_rank_find(view->ids, view->members, id);
}

bool wh_quorum_holds(const struct wh_quorum *quorum, uint32_t votes, bool tie_breaker_votes)
{
	if (2 * votes == quorum->members)
		return quorum->tie_breaker >= 0 && tie_breaker_votes;
	return 2 * votes > quorum->members;
}

/* Fills joined and left. Survivors keep their order and joiners stand behind them, so one pass over both lists will do. */
static void compare(struct wh_view *view, const struct wh_view *before)
{
	uint32_t survivors = 0;

	for (uint32_t rank = 0; before != NULL && rank < before->members; rank++) {
		if (survivors < view->members && view->ids[survivors] == before->ids[rank])
			survivors++;
		else
			view->left[view->left_count++] = before->ids[rank];
	}
	for (uint32_t rank = survivors; rank < view->members; rank++)
		view->joined[view->joined_count++] = view->ids[rank];
}

/* The view of the nodes `ids`: survivors of `before` in the order they had there, behind them those who join. */
static enum whorl_result make_view(struct wh_view **out, const struct wh_view *before, const uint32_t *ids,
				   uint32_t members, const struct wh_layout_config *layout, struct wh_error *err)
{
	struct wh_view *view = calloc(1, sizeof(*view));
	enum whorl_result result;

	if (view == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a view");
	view->number = before != NULL ? before->number + 1 : 0;
	view->members = members;
	view->ids = calloc(members, sizeof(*view->ids));
	view->joined = calloc(members, sizeof(*view->joined));
	view->left = calloc(before != NULL ? before->members : 1, sizeof(*view->left));
	if (view->ids == NULL || view->joined == NULL || view->left == NULL) {
		result = wh_error_set(err, WHORL_MEMORY, "no memory for a view");
		goto out_free;
	}
	for (uint32_t rank = 0; rank < members; rank++)
		view->ids[rank] = ids[rank];
	compare(view, before);
	result = wh_layout_make(&view->subgroups, &view->subgroup_count, view, before, layout, err);
	if (result != WHORL_OK)
		goto out_free;
	*out = view;
	return WHORL_OK;
out_free:
	wh_view_free(view);
	return result;
}

enum whorl_result wh_view_create(struct wh_view **out, uint32_t nodes, const struct wh_layout_config *layout,
				 struct wh_error *err)
{
	uint32_t ids[WH_NODES_MAX];

	for (uint32_t id = 0; id < nodes; id++)
		ids[id] = id;
	return make_view(out, NULL, ids, nodes, layout, err);
}

enum whorl_result wh_view_next(struct wh_view **out, const struct wh_view *before, const bool *removed,
			       const struct wh_layout_config *layout, struct wh_error *err)
{
	uint32_t ids[WH_NODES_MAX], members = 0;

	for (uint32_t rank = 0; rank < before->members; rank++)
		if (!removed[rank])
			ids[members++] = before->ids[rank];
	return make_view(out, before, ids, members, layout, err);
}

void wh_view_free(struct wh_view *view)
{
	if (view == NULL)
		return;
	wh_layout_free(view->subgroups, view->subgroup_count);
	free(view->left);
	free(view->joined);
	free(view->ids);
	free(view);
}
