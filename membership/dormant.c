/* dormant.c - durable dynamic subgroups in which no member is left, as views keep them: see view.h; docs/decisions/0058. */
#include <stdlib.h>
#include <string.h>

#include "membership/view_int.h"

const struct wh_dormant *wh_view_dormant(const struct wh_view *view, const char *name)
{
	for (uint32_t i = 0; i < view->dormant_count; i++)
		if (strcmp(view->dormant[i].name, name) == 0)
			return &view->dormant[i];
	return NULL;
}

const struct wh_dormant *wh_view_dormant_born(const struct wh_view *view, uint64_t birth)
{
	for (uint32_t i = 0; i < view->dormant_count; i++)
		if (view->dormant[i].birth == birth)
			return &view->dormant[i];
	return NULL;
}

const struct wh_last_member *wh_last_member_find(const struct wh_dormant *dormant, uint32_t id)
{
	for (uint32_t i = 0; i < dormant->member_count; i++)
		if (dormant->members[i].id == id)
			return &dormant->members[i];
	return NULL;
}

/* In the view that has brought it back those had the log before that have come back; else those that had not entered. */
bool wh_dormant_make(struct wh_dormant *out, const struct wh_view *view, const struct wh_view_subgroup *subgroup)
{
	*out = (struct wh_dormant){.birth = subgroup->birth,
				   .parameters = subgroup->parameters,
				   .last = view->number,
				   .before = subgroup->from > 0 ? subgroup->from : view->number - 1,
				   .member_count = subgroup->member_count};
	memcpy(out->name, subgroup->name, sizeof(out->name));
	out->members = calloc((size_t)subgroup->member_count + 1, sizeof(*out->members));
	for (uint32_t i = 0; out->members != NULL && i < subgroup->member_count; i++) {
		uint32_t rank = subgroup->members[i];

		out->members[i] = (struct wh_last_member){
			.id = view->ids[rank],
			.had = subgroup->from > 0 ? wh_rank_is_in(subgroup->returned, subgroup->returned_count, rank)
						  : !wh_rank_is_in(subgroup->entered, subgroup->entered_count, rank)};
	}
	return out->members != NULL;
}

bool wh_dormant_copy(struct wh_dormant *out, const struct wh_dormant *dormant)
{
	*out = *dormant;
	out->members = calloc((size_t)dormant->member_count + 1, sizeof(*out->members));
	for (uint32_t i = 0; out->members != NULL && i < dormant->member_count; i++)
		out->members[i] = dormant->members[i];
	return out->members != NULL;
}

bool wh_dormant_equals(const struct wh_dormant *one, const struct wh_dormant *other)
{
	if (one->birth != other->birth || strcmp(one->name, other->name) != 0 || one->last != other->last ||
	    one->before != other->before || one->member_count != other->member_count ||
	    !wh_parameters_equal(&one->parameters, &other->parameters))
		return false;
	for (uint32_t i = 0; i < one->member_count; i++)
		if (one->members[i].id != other->members[i].id || one->members[i].had != other->members[i].had)
			return false;
	return true;
}

static int compare_seats(const void *one, const void *other)
{
	uint32_t first = wh_birth_seat(((const struct wh_dormant *)one)->birth);
	uint32_t second = wh_birth_seat(((const struct wh_dormant *)other)->birth);

	return first < second ? -1 : first > second;
}

void wh_dormant_sort(struct wh_dormant *dormant, uint32_t count)
{
	if (count > 1)
		qsort(dormant, count, sizeof(*dormant), compare_seats);
}

void wh_dormant_free(struct wh_dormant *dormant, uint32_t count)
{
	for (uint32_t i = 0; dormant != NULL && i < count; i++)
		free(dormant[i].members);
	free(dormant);
}
