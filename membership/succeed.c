/* succeed.c - a member: does a view with wishes succeed mine, and does it place me as I wish? See wishes.h; docs/decisions/0046.
 *
 * That the others are where they wish each of them checks: all must acknowledge.
 */
#include <stdlib.h>
#include <string.h>

#include "membership/view_int.h"
#include "membership/wishes.h"

struct dynamic_of { /* the dynamic subgroups of a view, looked through by ascending seat */
	const struct wh_view_subgroup *at;
	uint32_t left;
};

/* That of this seat, NULL: there is none. Seats are asked for in ascending order. */
static const struct wh_view_subgroup *at_seat(struct dynamic_of *of, uint32_t seat)
{
	while (of->left > 0 && wh_birth_seat(of->at->birth) < seat) {
		of->at++;
		of->left--;
	}
	return of->left > 0 && wh_birth_seat(of->at->birth) == seat ? of->at : NULL;
}

static bool sends_in(const struct wh_view_subgroup *subgroup, uint32_t rank)
{
	return wh_rank_is_in(subgroup->senders, subgroup->sender_count, rank) ||
	       wh_rank_is_in(subgroup->resting, subgroup->resting_count, rank);
}

/* ---- what goes on, and what begins -------------------------------------------------------------------------------------- */

/* What is new of `is`, of which the record alone makes `was`: members may have come and gone, and those that stay are what they were. */
static const char *goes_on(const struct wh_view_subgroup *is, const struct wh_view_subgroup *was)
{
	if (is->birth != was->birth || strcmp(is->name, was->name) != 0 ||
	    !wh_parameters_equal(&is->parameters, &was->parameters))
		return "a subgroup goes on as another";
	for (uint32_t i = 0; i < is->member_count; i++) {
		uint32_t rank = is->members[i];
		bool entered = wh_rank_is_in(is->entered, is->entered_count, rank);

		if (entered == wh_rank_is_in(was->members, was->member_count, rank))
			return "a member enters where it is, or is where it has not entered";
		if (!entered && (wh_rank_is_in(is->senders, is->sender_count, rank) !=
					 wh_rank_is_in(was->senders, was->sender_count, rank) ||
				 wh_rank_is_in(is->resting, is->resting_count, rank) !=
					 wh_rank_is_in(was->resting, was->resting_count, rank)))
			return "the role of a member that stays is another";
	}
	for (uint32_t i = 0; i < was->sender_count; i++)
		if (!wh_rank_is_in(is->members, is->member_count, was->senders[i]))
			return "a member leaves that does not rest";
	return NULL;
}

/* It was dormant, and goes on from logs of its last members. */
static const char *comes_back(const struct wh_view *view, const struct wh_view_subgroup *is,
			      const struct wh_dormant *was)
{
	if (strcmp(is->name, was->name) != 0 || !wh_parameters_equal(&is->parameters, &was->parameters))
		return "a subgroup comes back as another";
	if (is->from != was->last && is->from != was->before)
		return "a subgroup comes back from another view than its last";
	for (uint32_t i = 0; i < is->returned_count; i++) {
		const struct wh_last_member *member = wh_last_member_find(was, view->ids[is->returned[i]]);

		if (member == NULL || (is->from == was->before && !member->had))
			return "a subgroup comes back from the log of a node that was no member of it";
	}
	return is->returned_count > 0 ? NULL : "a subgroup comes back without its log";
}

static bool is_born_as(const struct wh_view *view, const char *name)
{
	for (uint32_t i = 0; i < view->dynamic_count; i++)
		if (wh_birth_view(wh_view_dynamic(view)[i].birth) == view->number &&
		    strcmp(wh_view_dynamic(view)[i].name, name) == 0)
			return true;
	return false;
}

static bool has_birth(const struct wh_view *view, uint64_t birth)
{
	for (uint32_t i = 0; i < view->dynamic_count; i++)
		if (wh_view_dynamic(view)[i].birth == birth)
			return true;
	return false;
}

/* What was dormant is, or has come back, or has begun anew under that name; what is dormant now was, or all its members have gone. */
static const char *check_dormant(const struct wh_view *view, const struct wh_view *base, const struct wh_view *before)
{
	for (uint32_t i = 0; i < base->dormant_count; i++) {
		const struct wh_dormant *was = &base->dormant[i], *is = wh_view_dormant_born(view, was->birth);

		if (is != NULL ? !wh_dormant_equals(is, was)
			       : !has_birth(view, was->birth) && !is_born_as(view, was->name))
			return "a subgroup that was dormant is forgotten, or another";
	}
	for (uint32_t i = 0; i < view->dormant_count; i++) {
		const struct wh_dormant *is = &view->dormant[i];

		if (wh_view_dormant_born(base, is->birth) == NULL &&
		    (is->last != before->number || !has_birth(base, is->birth)))
			return "a subgroup is dormant that was not there";
	}
	return NULL;
}

/* It is dormant as its last view had it. */
static const char *check_asleep(const struct wh_view *view, const struct wh_view *before)
{
	for (uint32_t i = 0; i < before->dynamic_count; i++) {
		const struct wh_dormant *is = wh_view_dormant_born(view, wh_view_dynamic(before)[i].birth);
		struct wh_dormant made;
		bool same;

		if (is == NULL)
			continue;
		same = wh_dormant_make(&made, before, &wh_view_dynamic(before)[i]) && wh_dormant_equals(is, &made);
		free(made.members);
		if (!same)
			return "a subgroup is dormant with other members than its last";
	}
	return NULL;
}

static const char *check_dynamic(const struct wh_view *view, const struct wh_view *base, const struct wh_view *before)
{
	struct dynamic_of kept = {wh_view_dynamic(base), base->dynamic_count};
	struct dynamic_of old = {wh_view_dynamic(before), before->dynamic_count};

	for (uint32_t i = 0; i < view->dynamic_count; i++) {
		const struct wh_view_subgroup *is = &wh_view_dynamic(view)[i];
		uint32_t seat = wh_birth_seat(is->birth);
		const struct wh_view_subgroup *was = at_seat(&kept, seat);
		bool used = at_seat(&old, seat) != NULL, born = wh_birth_view(is->birth) == view->number;
		const struct wh_dormant *slept = wh_view_dormant_born(base, is->birth);
		const char *wrong = NULL;

		if (born && used)
			return "a seat is used again at once";
		if (!born && was == NULL && slept == NULL)
			return "a subgroup goes on that was not there, or in which no member stays";
		if (!born && slept != NULL)
			wrong = comes_back(view, is, slept);
		else if (!born)
			wrong = is->from > 0 ? "a subgroup comes back that was there" : goes_on(is, was);
		if (wrong != NULL)
			return wrong;
	}
	return NULL;
}

/* A sender of a subgroup that ends has not rested. */
static const char *check_ended(const struct wh_view *view, const struct wh_view *base)
{
	struct dynamic_of now = {wh_view_dynamic(view), view->dynamic_count};

	for (uint32_t i = 0; i < base->dynamic_count; i++) {
		const struct wh_view_subgroup *was = &wh_view_dynamic(base)[i];

		if (at_seat(&now, wh_birth_seat(was->birth)) == NULL && was->sender_count > 0)
			return "a subgroup ends in which a member sends";
	}
	return NULL;
}

/* ---- me ------------------------------------------------------------------------------------------------------------------ */

static const char *check_my_wishes(const struct wh_view *view, uint32_t me, const struct wh_wish_set *mine,
				   const bool *refused)
{
	uint32_t met = 0, wished = 0;

	for (uint32_t i = 0; i < view->dynamic_count; i++) {
		const struct wh_view_subgroup *it = &wh_view_dynamic(view)[i];
		const struct wh_wish *wish = wh_wish_find(mine, it->name);

		if (!wh_rank_is_in(it->members, it->member_count, me))
			continue;
		if (wish == NULL)
			return "it places me where I do not wish to be";
		if (sends_in(it, me) != wish->sends)
			return "it gives me a role that I do not wish";
		if (!wh_parameters_equal(&it->parameters, &wish->parameters))
			return "it places me in a subgroup with other parameters";
		if (wh_rank_is_in(it->returned, it->returned_count, me) &&
		    (!wish->holding.whole || wish->holding.birth != it->birth || wish->holding.last != it->from ||
		     wish->holding.place < it->cut))
			return "it takes my log for what it is not";
		met++;
	}
	for (uint32_t i = 0; i < mine->count; i++)
		wished += !refused[i];
	return met == wished ? NULL : "it serves my wishes, and does not meet them";
}

/* It meets a wish that has been refused since: what refuses it is another proposal, which comes. */
static bool meets_refused(const struct wh_view *view, uint32_t me, const struct wh_wish_set *mine, const bool *refused)
{
	for (uint32_t i = 0; i < view->dynamic_count; i++) {
		const struct wh_view_subgroup *it = &wh_view_dynamic(view)[i];
		const struct wh_wish *wish = wh_wish_find(mine, it->name);

		if (wish != NULL && refused[wish - mine->wishes] && wh_rank_is_in(it->members, it->member_count, me))
			return true;
	}
	return false;
}

static enum wh_succession verdict(const char *wrong, const char **why)
{
	if (wrong != NULL && why != NULL)
		*why = wrong;
	return wrong != NULL ? WH_NO_SUCCESSOR : WH_SUCCEEDS;
}

enum wh_succession wh_wishes_place(const struct wh_view *view, uint32_t me, const struct wh_wish_set *mine,
				   const bool *refused, const char **why)
{
	const char *wrong = NULL;

	if (view->served[me] == 0) { /* nothing of mine had come */
		for (uint32_t i = 0; i < view->dynamic_count && wrong == NULL; i++)
			if (wh_rank_is_in(wh_view_dynamic(view)[i].members, wh_view_dynamic(view)[i].member_count, me))
				wrong = "it places me where I do not wish to be";
		return verdict(wrong, why);
	}
	if (view->served[me] > mine->number)
		return verdict("it serves a set that I have not said", why);
	if (view->served[me] < mine->number)
		return WH_OUT_OF_DATE;
	if (meets_refused(view, me, mine, refused))
		return WH_OUT_OF_DATE;
	return verdict(check_my_wishes(view, me, mine, refused), why);
}

/* In each subgroup I am what I was. */
static const char *check_unmoved(const struct wh_view *view, const struct wh_view *base, uint32_t me)
{
	struct dynamic_of now = {wh_view_dynamic(view), view->dynamic_count};
	uint32_t is = 0, stays = 0;

	for (uint32_t i = 0; i < view->dynamic_count; i++)
		is += wh_rank_is_in(wh_view_dynamic(view)[i].members, wh_view_dynamic(view)[i].member_count, me);
	for (uint32_t i = 0; i < base->dynamic_count; i++) {
		const struct wh_view_subgroup *was = &wh_view_dynamic(base)[i];
		const struct wh_view_subgroup *it = at_seat(&now, wh_birth_seat(was->birth));

		if (!wh_rank_is_in(was->members, was->member_count, me))
			continue;
		if (it == NULL || !wh_rank_is_in(it->members, it->member_count, me))
			return "it moves me, and serves no new set of mine";
		stays++;
	}
	return is == stays ? NULL : "it moves me, and serves no new set of mine";
}

/* ---- all ---------------------------------------------------------------------------------------------------------------- */

static const char *check_served(const struct wh_view *view, const struct wh_view *base)
{
	for (uint32_t rank = 0; rank < view->members; rank++)
		if (view->served[rank] < base->served[rank])
			return "it serves an earlier set of a member than the view before";
	return NULL;
}

enum wh_succession wh_wishes_succeed(const struct wh_view *view, const struct wh_view *base,
				     const struct wh_view *before, uint32_t me, const struct wh_wish_set *mine,
				     const bool *refused, const char **why)
{
	const char *wrong = wh_view_equals_but_wishes(view, base) ? NULL : "it is not what the record says";

	if (wrong == NULL)
		wrong = check_served(view, base);
	if (wrong == NULL)
		wrong = check_dynamic(view, base, before);
	if (wrong == NULL)
		wrong = check_dormant(view, base, before);
	if (wrong == NULL)
		wrong = check_asleep(view, before);
	if (wrong == NULL)
		wrong = check_ended(view, base);
	if (wrong != NULL)
		return verdict(wrong, why);
	if (view->served[me] == base->served[me])
		return verdict(check_unmoved(view, base, me), why);
	return wh_wishes_place(view, me, mine, refused, why);
}
