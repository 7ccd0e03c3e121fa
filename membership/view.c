/* view.c - the members of a view, and how one follows another. See view.h. */
#include "membership/view.h"

#include <stdlib.h>
#include <string.h>

#include "membership/view_int.h"
#include "sst/columns.h"

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

int wh_view_rank_of(const struct wh_view *view, uint32_t id, uint64_t incarnation)
{
	int rank = wh_view_rank(view, id);

	return rank >= 0 && view->incarnations[rank] == incarnation ? rank : -1;
}

static bool is_same_list(const uint32_t *one, uint32_t one_count, const uint32_t *other, uint32_t other_count)
{
	return one_count == other_count && (one_count == 0 || memcmp(one, other, one_count * sizeof(*one)) == 0);
}

bool wh_parameters_equal(const struct wh_parameters *one, const struct wh_parameters *other)
{
	return one->ordered == other->ordered && one->state == other->state && one->window == other->window &&
	       one->message_bytes == other->message_bytes && one->large_bytes == other->large_bytes;
}

bool wh_parameters_hold(const struct wh_parameters *is)
{
	if (is->window < 1 || is->window > WH_WINDOW_MAX || is->message_bytes < 1 ||
	    is->message_bytes > WH_MESSAGE_BYTES_MAX)
		return false;
	if (is->large_bytes == 0)
		return true;
	return is->large_bytes > is->message_bytes && is->large_bytes <= (uint64_t)is->window * is->message_bytes &&
	       is->message_bytes % 16 == 0;
}

bool wh_name_holds(const char *name)
{
	size_t length = strlen(name);

	return length >= 1 && length <= WH_NAME_BYTES - 1 &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == length;
}

static bool same_shard(const struct wh_view_subgroup *one, const struct wh_view_subgroup *other)
{
	return strcmp(one->name, other->name) == 0 && one->configured == other->configured &&
	       one->shard == other->shard && one->shards == other->shards && one->state == other->state &&
	       one->birth == other->birth && wh_parameters_equal(&one->parameters, &other->parameters) &&
	       is_same_list(one->members, one->member_count, other->members, other->member_count) &&
	       is_same_list(one->senders, one->sender_count, other->senders, other->sender_count) &&
	       is_same_list(one->entered, one->entered_count, other->entered, other->entered_count) &&
	       is_same_list(one->resting, one->resting_count, other->resting, other->resting_count) &&
	       is_same_list(one->ending, one->ending_count, other->ending, other->ending_count);
}

/* The configured shards, and all that is not of subgroups. */
bool wh_view_equals_but_wishes(const struct wh_view *one, const struct wh_view *other)
{
	uint32_t shards = one->subgroup_count - one->dynamic_count;

	if (one->group != other->group || one->number != other->number || one->voters != other->voters ||
	    shards != other->subgroup_count - other->dynamic_count ||
	    !is_same_list(one->ids, one->members, other->ids, other->members) ||
	    memcmp(one->incarnations, other->incarnations, one->members * sizeof(*one->incarnations)) != 0 ||
	    !is_same_list(one->joined, one->joined_count, other->joined, other->joined_count) ||
	    !is_same_list(one->left, one->left_count, other->left, other->left_count))
		return false;
	for (uint32_t g = 0; g < shards; g++)
		if (!same_shard(&one->subgroups[g], &other->subgroups[g]))
			return false;
	return true;
}

bool wh_view_equals(const struct wh_view *one, const struct wh_view *other)
{
	if (!wh_view_equals_but_wishes(one, other) || one->dynamic_count != other->dynamic_count ||
	    memcmp(one->served, other->served, one->members * sizeof(*one->served)) != 0)
		return false;
	for (uint32_t i = 0; i < one->dynamic_count; i++)
		if (!same_shard(&wh_view_dynamic(one)[i], &wh_view_dynamic(other)[i]))
			return false;
	return true;
}

bool wh_quorum_holds(const struct wh_quorum *quorum, uint32_t votes, bool tie_breaker_votes)
{
	if (2 * votes == quorum->members)
		return quorum->tie_breaker >= 0 && tie_breaker_votes;
	return 2 * votes > quorum->members;
}

struct wh_view *wh_view_new(uint32_t members, uint32_t left)
{
	struct wh_view *view = calloc(1, sizeof(*view));

	if (view == NULL)
		return NULL;
	view->ids = calloc(members, sizeof(*view->ids));
	view->incarnations = calloc(members, sizeof(*view->incarnations));
	view->joined = calloc(members, sizeof(*view->joined));
	view->served = calloc(members, sizeof(*view->served));
	view->left = calloc(left > 0 ? left : 1, sizeof(*view->left));
	if (view->ids == NULL || view->incarnations == NULL || view->joined == NULL || view->left == NULL ||
	    view->served == NULL) {
		wh_view_free(view);
		return NULL;
	}
	return view;
}

static void add_member(struct wh_view *view, uint32_t id, uint64_t incarnation)
{
	view->ids[view->members] = id;
	view->incarnations[view->members++] = incarnation;
}

/* Survivors keep their order. */
static void add_survivors(struct wh_view *view, const struct wh_view *before, const bool *removed)
{
	for (uint32_t rank = 0; rank < before->members; rank++) {
		if (removed == NULL || !removed[rank]) {
			view->served[view->members] = before->served[rank];
			add_member(view, before->ids[rank], before->incarnations[rank]);
		} else {
			view->left[view->left_count++] = before->ids[rank];
		}
	}
}

/* Newcomers stand behind them in the order of their ids, whichever the order they are given in: each is put behind those with
 * lesser ones. */
static void add_newcomers(struct wh_view *view, const struct wh_newcomer *newcomers, uint32_t count)
{
	uint32_t survivors = view->members;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t rank = view->members;

		add_member(view, newcomers[i].id, newcomers[i].incarnation);
		for (; rank > survivors && view->ids[rank - 1] > newcomers[i].id; rank--) {
			view->ids[rank] = view->ids[rank - 1];
			view->incarnations[rank] = view->incarnations[rank - 1];
		}
		view->ids[rank] = newcomers[i].id;
		view->incarnations[rank] = newcomers[i].incarnation;
	}
	for (uint32_t rank = survivors; rank < view->members; rank++)
		view->joined[view->joined_count++] = view->ids[rank];
}

enum whorl_result wh_view_create(struct wh_view **out, uint64_t group, const struct wh_newcomer *newcomers,
				 uint32_t count, uint32_t voters, const struct wh_layout_config *layout,
				 struct wh_error *err)
{
	struct wh_view *view = wh_view_new(count, 0);
	enum whorl_result result;

	if (view == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a view");
	view->group = group;
	add_newcomers(view, newcomers, count);
	view->voters = voters;
	result = wh_layout_make(view, NULL, NULL, layout, err);
	if (result != WHORL_OK)
		wh_view_free(view);
	else
		*out = view;
	return result;
}

enum whorl_result wh_view_next(struct wh_view **out, const struct wh_view *before, const struct wh_next *next,
			       const struct wh_layout_config *layout, struct wh_error *err)
{
	struct wh_view *view = wh_view_new(before->members + next->newcomer_count, before->members);
	enum whorl_result result;

	if (view == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a view");
	view->group = before->group;
	view->number = before->number + 1;
	add_survivors(view, before, next->removed);
	add_newcomers(view, next->newcomers, next->newcomer_count);
	view->voters = view->members;
	result = wh_layout_make(view, before, next, layout, err);
	if (result != WHORL_OK)
		wh_view_free(view);
	else
		*out = view;
	return result;
}

void wh_view_free(struct wh_view *view)
{
	if (view == NULL)
		return;
	wh_layout_free(view->subgroups, view->subgroup_count);
	free(view->served);
	free(view->left);
	free(view->joined);
	free(view->incarnations);
	free(view->ids);
	free(view);
}
