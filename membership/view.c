/* view.c - see view.h. */
#include "membership/view.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int wh_rank_find(const uint32_t *ranks, uint32_t count, uint32_t rank)
{
	for (uint32_t i = 0; i < count; i++)
		if (ranks[i] == rank)
			return (int)i;
	return -1;
}

/* Reads one number of a list and moves past it and its comma. -1: there is none. */
static long next_number(const char **at)
{
	char *end;
	long number;

	while (isspace((unsigned char)**at))
		(*at)++;
	if (!isdigit((unsigned char)**at))
		return -1;
	number = strtol(*at, &end, 10);
	while (isspace((unsigned char)*end))
		end++;
	if (*end == ',') {
		end++;
		if (*end == '\0')
			return -1;
	} else if (*end != '\0') {
		return -1;
	}
	*at = end;
	return number;
}

/* Sets chosen[rank] for each rank of "0,2,5". */
static enum whorl_result parse_numbers(uint32_t nodes, const char *list, bool *chosen, struct wh_error *err)
{
	const char *at = list;

	do {
		long number = next_number(&at);

		if (number < 0)
			return wh_error_set(err, WHORL_CONFIG, "is \"%s\", expected node ids with commas between them",
					    list);
		if (number >= (long)nodes)
			return wh_error_set(err, WHORL_CONFIG, "names node %ld, expected ids from 0 to %u", number,
					    nodes - 1);
		if (chosen[number])
			return wh_error_set(err, WHORL_CONFIG, "names node %ld twice", number);
		chosen[number] = true;
	} while (*at != '\0');
	return WHORL_OK;
}

static enum whorl_result parse_members(uint32_t nodes, const char *list, bool *chosen, struct wh_error *err)
{
	if (strcmp(list, "all") != 0) {
		if (!isdigit((unsigned char)list[0]))
			return wh_error_set(err, WHORL_CONFIG, "is \"%s\", expected all, or node ids as in 0,1,2",
					    list);
		return parse_numbers(nodes, list, chosen, err);
	}
	for (uint32_t rank = 0; rank < nodes; rank++)
		chosen[rank] = true;
	return WHORL_OK;
}

static enum whorl_result parse_senders(uint32_t nodes, const char *list, const bool *members, bool *chosen,
				       struct wh_error *err)
{
	enum whorl_result result;
	bool half = strcmp(list, "half") == 0, one = strcmp(list, "one") == 0;
	uint32_t seen = 0;

	if (half || one || strcmp(list, "all") == 0) {
		for (uint32_t rank = 0; rank < nodes; rank++) {
			if (!members[rank])
				continue;
			chosen[rank] = one ? seen == 0 : !half || seen % 2 == 0;
			seen++;
		}
		return WHORL_OK;
	}
	if (!isdigit((unsigned char)list[0]))
		return wh_error_set(err, WHORL_CONFIG, "is \"%s\", expected all, half, one, or node ids as in 0,2",
				    list);
	result = parse_numbers(nodes, list, chosen, err);
	for (uint32_t rank = 0; result == WHORL_OK && rank < nodes; rank++)
		if (chosen[rank] && !members[rank])
			return wh_error_set(err, WHORL_CONFIG, "names node %u, which is not a member", rank);
	return result;
}

enum whorl_result wh_view_check_list(uint32_t nodes, const char *members, const char *list, struct wh_error *err)
{
	bool in[WH_NODES_MAX] = {false}, chosen[WH_NODES_MAX] = {false};

	if (members == NULL)
		return parse_members(nodes, list, in, err);
	if (parse_members(nodes, members, in, NULL) != WHORL_OK)
		return WHORL_OK; /* has its own message */
	return parse_senders(nodes, list, in, chosen, err);
}

/* The ranks that are chosen, ascending. */
static uint32_t *gather(const bool *chosen, uint32_t nodes, uint32_t *count)
{
	uint32_t *ranks = calloc(nodes, sizeof(*ranks));

	*count = 0;
	for (uint32_t rank = 0; ranks != NULL && rank < nodes; rank++)
		if (chosen[rank])
			ranks[(*count)++] = rank;
	return ranks;
}

static enum whorl_result make_subgroup(struct wh_view_subgroup *subgroup, uint32_t nodes,
				       const struct wh_subgroup_text *text, struct wh_error *err)
{
	bool members[WH_NODES_MAX] = {false}, senders[WH_NODES_MAX] = {false};
	enum whorl_result result;

	snprintf(subgroup->name, sizeof(subgroup->name), "%s", text->name);
	subgroup->shards = 1;
	result = parse_members(nodes, text->members, members, err);
	if (result == WHORL_OK)
		result = parse_senders(nodes, text->senders, members, senders, err);
	if (result != WHORL_OK)
		return wh_error_prefix(err, "subgroup %s", text->name);
	subgroup->members = gather(members, nodes, &subgroup->member_count);
	subgroup->senders = gather(senders, nodes, &subgroup->sender_count);
	if (subgroup->members == NULL || subgroup->senders == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a view");
	return WHORL_OK;
}

enum whorl_result wh_view_create(struct wh_view **out, uint32_t nodes, const struct wh_layout_config *layout,
				 struct wh_error *err)
{
	const struct wh_subgroup_text *subgroups = layout->subgroups;
	uint32_t count = layout->count;
	enum whorl_result result = WHORL_OK;
	struct wh_view *view = calloc(1, sizeof(*view));

	if (view == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a view");
	view->members = nodes;
	view->subgroup_count = count;
	view->ids = calloc(nodes, sizeof(*view->ids));
	view->subgroups = calloc(count ? count : 1, sizeof(*view->subgroups));
	if (view->ids == NULL || view->subgroups == NULL)
		result = wh_error_set(err, WHORL_MEMORY, "no memory for a view");
	for (uint32_t rank = 0; result == WHORL_OK && rank < nodes; rank++)
		view->ids[rank] = rank;
	for (uint32_t i = 0; result == WHORL_OK && i < count; i++)
		result = make_subgroup(&view->subgroups[i], nodes, &subgroups[i], err);
	if (result != WHORL_OK) {
		wh_view_free(view);
		return result;
	}
	*out = view;
	return WHORL_OK;
}

void wh_view_free(struct wh_view *view)
{
	if (view == NULL)
		return;
	for (uint32_t i = 0; view->subgroups != NULL && i < view->subgroup_count; i++) {
		free(view->subgroups[i].members);
		free(view->subgroups[i].senders);
	}
	free(view->subgroups);
	free(view->ids);
	free(view);
}
