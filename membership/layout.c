/* layout.c - who is in which shard of which subgroup. See view.h.
 *
 * For each configured subgroup a draft says where each rank goes, and becomes one wh_view_subgroup for each shard. A shard
 * is its members' state: who was in a shard stays there, and a shard that nobody stays in is lost for good, because a shard
 * made anew under its name would have forgotten what was acknowledged.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "membership/view_int.h"

/* ---- the lists of a configuration --------------------------------------------------------------------------------- */

static bool is_function(const char *members)
{
	return strcmp(members, "function") == 0;
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

/* Sets chosen[id] for each id of "0,2,5". */
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

/* chosen[id]: node `id` may be a member. With `function` everybody may. */
static enum whorl_result parse_members(uint32_t nodes, const char *list, bool *chosen, struct wh_error *err)
{
	if (strcmp(list, "all") != 0 && !is_function(list)) {
		if (!isdigit((unsigned char)list[0]))
			return wh_error_set(err, WHORL_CONFIG,
					    "is \"%s\", expected all, function, or node ids as in 0,1,2", list);
		return parse_numbers(nodes, list, chosen, err);
	}
	for (uint32_t id = 0; id < nodes; id++)
		chosen[id] = true;
	return WHORL_OK;
}

enum sender_rule { SENDERS_LISTED, SENDERS_ALL, SENDERS_HALF, SENDERS_ONE };

static enum sender_rule sender_rule(const char *list)
{
	if (strcmp(list, "all") == 0)
		return SENDERS_ALL;
	if (strcmp(list, "half") == 0)
		return SENDERS_HALF;
	return strcmp(list, "one") == 0 ? SENDERS_ONE : SENDERS_LISTED;
}

/* chosen[id]: node `id` is listed; nothing with the other rules. */
static enum whorl_result parse_senders(uint32_t nodes, const char *list, bool *chosen, struct wh_error *err)
{
	if (sender_rule(list) != SENDERS_LISTED)
		return WHORL_OK;
	if (!isdigit((unsigned char)list[0]))
		return wh_error_set(err, WHORL_CONFIG, "is \"%s\", expected all, half, one, or node ids as in 0,2",
				    list);
	return parse_numbers(nodes, list, chosen, err);
}

enum whorl_result wh_view_check_list(uint32_t nodes, const char *members, const char *list, struct wh_error *err)
{
	bool in[WH_NODES_MAX] = {false}, chosen[WH_NODES_MAX] = {false};
	enum whorl_result result;

	if (members == NULL)
		return parse_members(nodes, list, in, err);
	if (is_function(members) || parse_members(nodes, members, in, NULL) != WHORL_OK)
		return WHORL_OK; /* senders say nothing then; or the members have their own message */
	result = parse_senders(nodes, list, chosen, err);
	for (uint32_t id = 0; result == WHORL_OK && id < nodes; id++)
		if (chosen[id] && !in[id])
			return wh_error_set(err, WHORL_CONFIG, "names node %u, which is not a member", id);
	return result;
}

enum whorl_result wh_view_check_shards(uint32_t nodes, const char *members, uint32_t shards, struct wh_error *err)
{
	bool in[WH_NODES_MAX] = {false};
	uint32_t count = 0;

	if (shards < 1 || shards > WH_SHARDS_MAX)
		return wh_error_set(err, WHORL_CONFIG, "asks for %u shards, expected 1 to %d", shards, WH_SHARDS_MAX);
	if (is_function(members) || parse_members(nodes, members, in, NULL) != WHORL_OK)
		return WHORL_OK;
	for (uint32_t id = 0; id < nodes; id++)
		count += in[id];
	if (shards > count)
		return wh_error_set(err, WHORL_CONFIG, "asks for %u shards, expected at most %u, one for each member",
				    shards, count);
	return WHORL_OK;
}

/* What only the first view can be wrong in. */
static enum whorl_result check(const struct wh_subgroup_text *text, uint32_t nodes,
			       const struct wh_layout_config *layout, struct wh_error *err)
{
	enum whorl_result result = wh_view_check_list(nodes, NULL, text->members, err);

	if (result == WHORL_OK)
		result = wh_view_check_list(nodes, text->members, text->senders, err);
	if (result == WHORL_OK)
		result = wh_view_check_shards(nodes, text->members, text->shards, err);
	if (result == WHORL_OK && is_function(text->members) && layout->function == NULL)
		result = wh_error_set(err, WHORL_CONFIG, "members = function, and the program gives none");
	return result;
}

/* ---- drafts --------------------------------------------------------------------------------------------------------- */

#define NOWHERE (-1)

struct draft { /* of one configured subgroup */
	const struct wh_view *view;
	uint32_t shards;
	int was[WH_NODES_MAX];     /* by rank: its shard in the view before */
	int shard[WH_NODES_MAX];   /* by rank: its shard */
	bool sent[WH_NODES_MAX];   /* by rank: it was a sender in the view before */
	bool sender[WH_NODES_MAX]; /* by rank */
	uint32_t size[WH_SHARDS_MAX];
	bool lost[WH_SHARDS_MAX]; /* it had members, and none of them is found to be in it still */
};

/* Everybody nowhere, and where he was in `before`, whose shards of this subgroup these are. NULL: the first view. */
static void draft_begin(struct draft *draft, const struct wh_view *before, const struct wh_view_subgroup *shards)
{
	const struct wh_view *view = draft->view;
	int was[WH_NODES_MAX];
	bool sent[WH_NODES_MAX] = {false};
	uint32_t survivors = 0;

	for (uint32_t rank = 0; rank < WH_NODES_MAX; rank++)
		was[rank] = draft->was[rank] = draft->shard[rank] = NOWHERE;
	for (uint32_t shard = 0; before != NULL && shard < draft->shards; shard++) {
		draft->lost[shard] = shards[shard].state == WH_SHARD_LOST || shards[shard].member_count > 0;
		for (uint32_t i = 0; i < shards[shard].member_count; i++)
			was[shards[shard].members[i]] = (int)shard;
		for (uint32_t i = 0; i < shards[shard].sender_count; i++)
			sent[shards[shard].senders[i]] = true;
	}
	for (uint32_t rank = 0; before != NULL && rank < before->members && survivors < view->members; rank++)
		if (view->ids[survivors] == before->ids[rank]) {
			draft->sent[survivors] = sent[rank];
			draft->was[survivors++] = was[rank];
		}
}

static void put(struct draft *draft, uint32_t rank, uint32_t shard)
{
	draft->shard[rank] = (int)shard;
	draft->size[shard]++;
	if (draft->was[rank] == (int)shard)
		draft->lost[shard] = false;
}

/* The first view: contiguous blocks of equal sizes, the first ones larger by one where they cannot be equal. */
static void share_out(struct draft *draft, const bool *eligible)
{
	uint32_t left = 0, shard = 0, room;

	for (uint32_t rank = 0; rank < draft->view->members; rank++)
		left += eligible[rank];
	room = (left + draft->shards - 1) / draft->shards;
	for (uint32_t rank = 0; rank < draft->view->members; rank++) {
		if (!eligible[rank])
			continue;
		put(draft, rank, shard);
		left--;
		if (--room == 0 && ++shard < draft->shards)
			room = (left + draft->shards - shard - 1) / (draft->shards - shard);
	}
}

/* The smallest shard that is not lost, NOWHERE if all are. */
static int smallest(const struct draft *draft)
{
	int found = NOWHERE;

	for (uint32_t shard = 0; shard < draft->shards; shard++)
		if (!draft->lost[shard] && (found == NOWHERE || draft->size[shard] < draft->size[found]))
			found = (int)shard;
	return found;
}

/* A later view: everybody stays where he was; who is nowhere goes where fewest are. */
static void carry_over(struct draft *draft, const bool *eligible)
{
	for (uint32_t rank = 0; rank < draft->view->members; rank++)
		if (draft->was[rank] != NOWHERE)
			put(draft, rank, (uint32_t)draft->was[rank]);
	for (uint32_t rank = 0; rank < draft->view->members; rank++) {
		int shard = smallest(draft);

		if (eligible[rank] && draft->shard[rank] == NOWHERE && shard != NOWHERE)
			put(draft, rank, (uint32_t)shard);
	}
}

/* half and one, in a later view: who sends goes on sending, or what it has committed would be lost; then as many others, the
 * oldest first, as there should be. */
static void keep_senders(struct draft *draft, enum sender_rule rule)
{
	uint32_t count[WH_SHARDS_MAX] = {0};

	for (uint32_t rank = 0; rank < draft->view->members; rank++) {
		int shard = draft->shard[rank];

		draft->sender[rank] = shard != NOWHERE && draft->was[rank] == shard && draft->sent[rank];
		if (draft->sender[rank])
			count[shard]++;
	}
	for (uint32_t rank = 0; rank < draft->view->members; rank++) {
		int shard = draft->shard[rank];

		if (shard == NOWHERE || draft->sender[rank] ||
		    count[shard] >= (rule == SENDERS_ONE ? 1 : (draft->size[shard] + 1) / 2))
			continue;
		draft->sender[rank] = true;
		count[shard]++;
	}
}

static void choose_senders(struct draft *draft, enum sender_rule rule, const bool *listed)
{
	uint32_t seen[WH_SHARDS_MAX] = {0};

	for (uint32_t rank = 0; rank < draft->view->members; rank++) {
		uint32_t place, id = draft->view->ids[rank];

		if (draft->shard[rank] == NOWHERE)
			continue;
		place = seen[draft->shard[rank]]++;
		draft->sender[rank] = rule == SENDERS_ALL || (rule == SENDERS_HALF && place % 2 == 0) ||
				      (rule == SENDERS_ONE && place == 0) ||
				      (rule == SENDERS_LISTED && id < WH_NODES_MAX && listed[id]);
	}
}

static void draft_from_lists(struct draft *draft, const struct wh_subgroup_text *text, bool first)
{
	bool members[WH_NODES_MAX] = {false}, senders[WH_NODES_MAX] = {false}, eligible[WH_NODES_MAX] = {false};
	bool all = strcmp(text->members, "all") == 0;

	/* Checked when the first view was made. Nodes that the lists do not name have other ids. */
	(void)parse_members(WH_NODES_MAX, text->members, members, NULL);
	(void)parse_senders(WH_NODES_MAX, text->senders, senders, NULL);
	for (uint32_t rank = 0; rank < draft->view->members; rank++) {
		uint32_t id = draft->view->ids[rank];

		eligible[rank] = all || (id < WH_NODES_MAX && members[id]);
	}
	if (first)
		share_out(draft, eligible);
	else
		carry_over(draft, eligible);
	if (!first && (sender_rule(text->senders) == SENDERS_HALF || sender_rule(text->senders) == SENDERS_ONE))
		keep_senders(draft, sender_rule(text->senders));
	else
		choose_senders(draft, sender_rule(text->senders), senders);
}

/* Shard by shard, so that whom a shard turns out to have lost may still go to one behind it. */
static void draft_from_function(struct draft *draft, const char *name, const struct wh_layout_config *layout)
{
	const struct wh_view *view = draft->view;

	for (uint32_t shard = 0; shard < draft->shards; shard++) {
		for (uint32_t rank = 0; rank < view->members; rank++) {
			enum wh_role role;

			if (draft->shard[rank] != NOWHERE)
				continue;
			role = layout->function(view, name, shard, view->ids[rank], layout->ctx);
			if (role != WH_ROLE_NONE)
				put(draft, rank, shard);
			draft->sender[rank] = role == WH_ROLE_SENDER;
		}
		if (!draft->lost[shard])
			continue;
		draft->size[shard] = 0;
		for (uint32_t rank = 0; rank < view->members; rank++)
			if (draft->shard[rank] == (int)shard)
				draft->shard[rank] = NOWHERE;
	}
}

/* ---- shards --------------------------------------------------------------------------------------------------------- */

static enum whorl_result make_shard(struct wh_view_subgroup *out, const struct draft *draft, uint32_t shard,
				    uint32_t members_min, struct wh_error *err)
{
	uint32_t most = draft->size[shard] > 0 ? draft->size[shard] : 1;

	out->shard = shard;
	out->shards = draft->shards;
	out->members = calloc(most, sizeof(*out->members));
	out->senders = calloc(most, sizeof(*out->senders));
	if (out->members == NULL || out->senders == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a view");
	for (uint32_t rank = 0; rank < draft->view->members; rank++) {
		if (draft->shard[rank] != (int)shard)
			continue;
		out->members[out->member_count++] = rank;
		if (draft->sender[rank])
			out->senders[out->sender_count++] = rank;
	}
	if (draft->lost[shard])
		out->state = WH_SHARD_LOST;
	else if (out->member_count < members_min || out->sender_count == 0)
		out->state = WH_SHARD_INACTIVE;
	else
		out->state = WH_SHARD_ACTIVE;
	return WHORL_OK;
}

static enum whorl_result make_subgroup(struct wh_view_subgroup *out, const struct wh_view *view,
				       const struct wh_view *before, const struct wh_view_subgroup *was,
				       uint32_t configured, const struct wh_layout_config *layout, struct wh_error *err)
{
	const struct wh_subgroup_text *text = &layout->subgroups[configured];
	struct draft draft = {.view = view, .shards = text->shards};
	enum whorl_result result = WHORL_OK;

	draft_begin(&draft, before, was);
	if (is_function(text->members))
		draft_from_function(&draft, text->name, layout);
	else
		draft_from_lists(&draft, text, before == NULL);
	for (uint32_t shard = 0; result == WHORL_OK && shard < text->shards; shard++) {
		snprintf(out[shard].name, sizeof(out[shard].name), "%s", text->name);
		out[shard].configured = configured;
		result = make_shard(&out[shard], &draft, shard, text->members_min, err);
	}
	return result;
}

enum whorl_result wh_layout_make(struct wh_view_subgroup **out, uint32_t *out_count, const struct wh_view *view,
				 const struct wh_view *before, const struct wh_layout_config *layout,
				 struct wh_error *err)
{
	enum whorl_result result = WHORL_OK;
	struct wh_view_subgroup *subgroups;
	uint32_t count = 0, at = 0;

	for (uint32_t i = 0; i < layout->count; i++) {
		const struct wh_subgroup_text *text = &layout->subgroups[i];

		if (before == NULL && check(text, view->members, layout, err) != WHORL_OK)
			return err != NULL ? wh_error_prefix(err, "subgroup %s", text->name) : WHORL_CONFIG;
		count += text->shards;
	}
	subgroups = calloc(count ? count : 1, sizeof(*subgroups));
	if (subgroups == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a view");
	for (uint32_t i = 0; result == WHORL_OK && i < layout->count; i++) {
		const struct wh_view_subgroup *was = before != NULL ? &before->subgroups[at] : NULL;

		result = make_subgroup(&subgroups[at], view, before, was, i, layout, err);
		at += layout->subgroups[i].shards;
	}
	if (result != WHORL_OK) {
		wh_layout_free(subgroups, count);
		return result;
	}
	*out = subgroups;
	*out_count = count;
	return WHORL_OK;
}

void wh_layout_free(struct wh_view_subgroup *subgroups, uint32_t count)
{
	for (uint32_t i = 0; subgroups != NULL && i < count; i++) {
		free(subgroups[i].members);
		free(subgroups[i].senders);
	}
	free(subgroups);
}
