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
	return one->ordered == other->ordered && one->durable == other->durable && one->state == other->state &&
	       one->window == other->window && one->message_bytes == other->message_bytes &&
	       one->large_bytes == other->large_bytes;
}

uint64_t wh_parameters_largest(const struct wh_parameters *is)
{
	return is->large_bytes > 0 ? is->large_bytes : is->message_bytes;
}

bool wh_parameters_hold(const struct wh_parameters *is)
{
	if (is->durable && !is->ordered)
		return false;
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
	       is_same_list(one->ending, one->ending_count, other->ending, other->ending_count) &&
	       is_same_list(one->returned, one->returned_count, other->returned, other->returned_count) &&
	       one->from == other->from && one->cut == other->cut;
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
	    one->dormant_count != other->dormant_count ||
	    memcmp(one->served, other->served, one->members * sizeof(*one->served)) != 0)
		return false;
	for (uint32_t i = 0; i < one->dynamic_count; i++)
		if (!same_shard(&wh_view_dynamic(one)[i], &wh_view_dynamic(other)[i]))
			return false;
	for (uint32_t i = 0; i < one->dormant_count; i++)
		if (!wh_dormant_equals(&one->dormant[i], &other->dormant[i]))
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

/* ---- a view of those that come back ------------------------------------------------------------------------------------ */

static void drop_rank(uint32_t *ranks, uint32_t *count, uint32_t rank)
{
	int at = wh_rank_find(ranks, *count, rank);

	if (at < 0)
		return;
	--*count;
	for (uint32_t i = (uint32_t)at; i < *count; i++)
		ranks[i] = ranks[i + 1];
}

/* A sender that was to send no more has nothing left to send: its process has ended. */
static void end_senders(struct wh_view_subgroup *shard)
{
	for (uint32_t i = 0; i < shard->ending_count; i++)
		drop_rank(shard->senders, &shard->sender_count, shard->ending[i]);
	shard->ending_count = 0;
}

/* Those that are not in `whole`, by rank of this view, have entered it; NULL: all have. */
static void enter_shard(struct wh_view_subgroup *shard, const bool *whole)
{
	uint32_t was = shard->entered_count, count = 0;
	bool entered[WH_NODES_MAX] = {false};

	for (uint32_t i = 0; i < was; i++)
		entered[shard->entered[i]] = true;
	for (uint32_t i = 0; i < shard->member_count; i++) {
		uint32_t rank = shard->members[i];

		if (entered[rank] || whole == NULL || !whole[rank])
			shard->entered[count++] = rank;
	}
	shard->entered_count = count;
}

static void set_state(struct wh_view_subgroup *shard, const struct wh_layout_config *layout, bool durable)
{
	uint32_t least = layout->subgroups[shard->configured].members_min;

	if (durable && shard->state == WH_SHARD_LOST)
		return; /* what it had is on no disk that counts */
	shard->state = shard->member_count < least || shard->sender_count == 0 ? WH_SHARD_INACTIVE : WH_SHARD_ACTIVE;
}

static void return_shards(struct wh_view *view, const struct wh_view *before, const struct wh_return *returns,
			  const struct wh_layout_config *layout)
{
	for (uint32_t g = 0; g < view->subgroup_count; g++) {
		struct wh_view_subgroup *shard = &view->subgroups[g];
		uint32_t here = 0;
		bool whole[WH_NODES_MAX] = {false}, durable = returns->durable[g];

		for (uint32_t rank = 0; rank < before->members; rank++)
			if (returns->incarnations[rank] != 0)
				whole[here++] = returns->whole[(size_t)g * before->members + rank];
		end_senders(shard);
		enter_shard(shard, durable ? whole : NULL);
		set_state(shard, layout, durable);
	}
}

static bool is_kept(const struct wh_return *returns, uint64_t birth)
{
	return returns->keeps == NULL || returns->keeps(returns->ctx, birth);
}

/* Those that are durable are dormant: all of them, whichever members have come back. False: no memory. */
static bool return_dynamic(struct wh_view *view, const struct wh_view *before, const struct wh_return *returns)
{
	struct wh_dormant *dormant =
		calloc((size_t)before->dynamic_count + before->dormant_count + 1, sizeof(*dormant));
	uint32_t count = 0;
	bool ok = dormant != NULL;

	for (uint32_t i = 0; i < before->dynamic_count && ok; i++) {
		const struct wh_view_subgroup *was = &wh_view_dynamic(before)[i];

		if (was->parameters.durable && is_kept(returns, was->birth))
			ok = wh_dormant_make(&dormant[count++], before, was);
	}
	for (uint32_t i = 0; i < before->dormant_count && ok; i++)
		if (is_kept(returns, before->dormant[i].birth))
			ok = wh_dormant_copy(&dormant[count++], &before->dormant[i]);
	if (!ok) {
		wh_dormant_free(dormant, count);
		return false;
	}
	for (; view->dynamic_count > 0; view->dynamic_count--)
		free(view->subgroups[--view->subgroup_count].members); /* and the other lists with it */
	wh_dormant_free(view->dormant, view->dormant_count);
	wh_dormant_sort(dormant, count);
	view->dormant = dormant;
	view->dormant_count = count;
	return true;
}

enum whorl_result wh_view_return(struct wh_view **out, const struct wh_view *before, const struct wh_return *returns,
				 const struct wh_layout_config *layout, struct wh_error *err)
{
	size_t words = (size_t)before->subgroup_count * wh_rest_words(before);
	struct wh_view *view = wh_view_new(before->members, before->members);
	uint64_t *rests = calloc(words + 1, sizeof(*rests));
	bool removed[WH_NODES_MAX];
	enum whorl_result result;

	if (view == NULL || rests == NULL) {
		wh_view_free(view);
		free(rests);
		return wh_error_set(err, WHORL_MEMORY, "no memory for a view");
	}
	for (uint32_t rank = 0; rank < before->members; rank++)
		removed[rank] = returns->incarnations[rank] == 0;
	view->group = before->group;
	view->number = before->number + 1;
	add_survivors(view, before, removed);
	for (uint32_t rank = 0; rank < view->members; rank++) {
		view->incarnations[rank] = returns->incarnations[wh_view_rank(before, view->ids[rank])];
		view->served[rank] = 0; /* a new life has wished nothing yet */
	}
	view->voters = view->members;
	result = wh_layout_make(view, before, &(struct wh_next){.removed = removed, .rests = rests, .settles = true},
				layout, err);
	free(rests);
	if (result == WHORL_OK && !return_dynamic(view, before, returns))
		result = wh_error_set(err, WHORL_MEMORY, "no memory for a view");
	if (result != WHORL_OK) {
		wh_view_free(view);
		return result;
	}
	return_shards(view, before, returns, layout);
	*out = view;
	return WHORL_OK;
}

void wh_view_free(struct wh_view *view)
{
	if (view == NULL)
		return;
	wh_layout_free(view->subgroups, view->subgroup_count);
	wh_dormant_free(view->dormant, view->dormant_count);
	free(view->served);
	free(view->left);
	free(view->joined);
	free(view->incarnations);
	free(view->ids);
	free(view);
}
