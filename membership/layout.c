/* layout.c - which member is in which shard of which subgroup. See view.h.
 *
 * For each configured subgroup a draft says where each rank goes, and becomes one wh_view_subgroup for each shard. A shard
 * is its members' state: a member that was in a shard stays there, and a shard that no member stays in is lost for good, because
 * a shard made anew under its name would have forgotten what was acknowledged. A member in no shard goes where one is needed most.
 *
 * A subgroup with `members = wish` has none of this: it is there as a dynamic one, while it has members.
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

static bool is_wish(const char *members)
{
	return strcmp(members, "wish") == 0;
}

bool wh_subgroup_is_wished(const struct wh_subgroup_text *text)
{
	return is_wish(text->members);
}

uint32_t wh_subgroup_shards(const struct wh_subgroup_text *text)
{
	return wh_subgroup_is_wished(text) ? 0 : text->shards;
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

/* chosen[id]: node `id` may be a member. With `function` and `wish` every node may. */
static enum whorl_result parse_members(uint32_t nodes, const char *list, bool *chosen, struct wh_error *err)
{
	if (strcmp(list, "all") != 0 && !is_function(list) && !is_wish(list)) {
		if (!isdigit((unsigned char)list[0]))
			return wh_error_set(err, WHORL_CONFIG,
					    "is \"%s\", expected all, function, wish, or node ids as in 0,1,2", list);
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
	if (is_wish(members) && strcmp(list, "all") != 0)
		return wh_error_set(err, WHORL_CONFIG,
				    "is \"%s\", expected all: with members = wish each node says whether it sends",
				    list);
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
	if (is_wish(members) && shards > 1)
		return wh_error_set(err, WHORL_CONFIG, "asks for %u shards, expected 1, as members = wish", shards);
	if (is_function(members) || parse_members(nodes, members, in, NULL) != WHORL_OK)
		return WHORL_OK;
	for (uint32_t id = 0; id < nodes; id++)
		count += in[id];
	if (shards > count)
		return wh_error_set(err, WHORL_CONFIG, "asks for %u shards, expected at most %u, one for each member",
				    shards, count);
	return WHORL_OK;
}

/* What only the first view can be wrong in. Which ids there may ever be was the configuration's matter. */
static enum whorl_result check_first_view(const struct wh_subgroup_text *text, const struct wh_layout_config *layout,
					  struct wh_error *err)
{
	enum whorl_result result = wh_view_check_list(WH_NODES_MAX, NULL, text->members, err);

	if (result == WHORL_OK)
		result = wh_view_check_list(WH_NODES_MAX, text->members, text->senders, err);
	if (result == WHORL_OK)
		result = wh_view_check_shards(WH_NODES_MAX, text->members, text->shards, err);
	if (result == WHORL_OK && is_function(text->members) && layout->function == NULL)
		result = wh_error_set(err, WHORL_CONFIG, "members = function, and the program gives none");
	return result;
}

/* ---- drafts --------------------------------------------------------------------------------------------------------- */

struct source {                              /* all that a layout depends on */
	const struct wh_view *view, *before; /* `before` NULL: the first view */
	const struct wh_next *next;
	const struct wh_layout_config *layout;
};

struct draft { /* of one configured subgroup */
	const struct wh_view *view;
	uint32_t shards, members_min;
	bool keeps;                  /* nobody leaves its shard */
	int was[WH_NODES_MAX];       /* by rank: its shard in the view before */
	bool sent[WH_NODES_MAX];     /* by rank: it was a sender in the view before */
	bool ended[WH_NODES_MAX];    /* by rank: it was ending, and has nothing left to send */
	bool declared[WH_NODES_MAX]; /* by rank: it does not want to send */
	struct wh_places places;
	uint32_t size[WH_SHARDS_MAX];
	bool lost[WH_SHARDS_MAX]; /* it had members, and none of them is found to be in it still */
};

/* What the members of one shard of the view before were, by their ranks there. */
struct past {
	int was[WH_NODES_MAX];
	bool sent[WH_NODES_MAX], ending[WH_NODES_MAX], ended[WH_NODES_MAX], declared[WH_NODES_MAX];
};

/* NULL: no bit is set. */
static bool is_set(const uint64_t *bits, uint32_t rank)
{
	return bits != NULL && (bits[rank / 64] >> rank % 64 & 1);
}

/* `at`: the index of the shard in the view before. */
static void look_back(const struct source *source, uint32_t at, struct past *past)
{
	const struct wh_view_subgroup *shard = &source->before->subgroups[at];
	const struct wh_next *next = source->next;
	size_t from = (size_t)at * wh_rest_words(source->before);
	const uint64_t *rests = next->rests != NULL ? next->rests + from : NULL;
	const uint64_t *ended = next->ended != NULL ? next->ended + from : NULL;

	for (uint32_t i = 0; i < shard->member_count; i++) {
		past->was[shard->members[i]] = (int)shard->shard;
		past->declared[shard->members[i]] = is_set(rests, shard->members[i]);
	}
	for (uint32_t i = 0; i < shard->sender_count; i++)
		past->sent[shard->senders[i]] = true;
	for (uint32_t i = 0; i < shard->ending_count; i++) {
		past->ending[shard->ending[i]] = true;
		past->ended[shard->ending[i]] = is_set(ended, shard->ending[i]);
	}
	for (uint32_t i = 0; rests == NULL && i < shard->resting_count; i++)
		past->declared[shard->resting[i]] = true;
}

/* Every member nowhere, and what each was in the view before; there the shards of this subgroup begin at index `at`. */
static void draft_begin(struct draft *draft, const struct source *source, uint32_t at)
{
	const struct wh_view *view = source->view, *before = source->before;
	struct past past = {.sent = {false}};
	uint32_t survivors = 0;

	for (uint32_t rank = 0; rank < WH_NODES_MAX; rank++)
		past.was[rank] = draft->was[rank] = draft->places.shard[rank] = WH_NOWHERE;
	if (before == NULL)
		return;
	for (uint32_t shard = 0; shard < draft->shards; shard++) {
		const struct wh_view_subgroup *it = &before->subgroups[at + shard];

		draft->lost[shard] = it->state == WH_SHARD_LOST || it->member_count > 0;
		look_back(source, at + shard, &past);
	}
	for (uint32_t rank = 0; rank < before->members && survivors < view->members - view->joined_count; rank++) {
		if (view->ids[survivors] != before->ids[rank])
			continue;
		draft->sent[survivors] = past.sent[rank];
		draft->ended[survivors] = past.ended[rank];
		draft->declared[survivors] = past.declared[rank];
		draft->places.ending[survivors] = past.ending[rank] && source->next->settles;
		draft->was[survivors++] = past.was[rank];
	}
}

static void put_into_shard(struct draft *draft, uint32_t rank, uint32_t shard)
{
	draft->places.shard[rank] = (int)shard;
	draft->size[shard]++;
	if (draft->was[rank] == (int)shard)
		draft->lost[shard] = false;
}

/* Is one more needed rather by a shard of this size than by one of the other? Below the minimum the one that lacks fewest comes
 * first, so that a shard works as soon as can be; above it the one that has fewest. */
static bool is_needier(uint32_t size, uint32_t other, uint32_t members_min)
{
	bool lacks = size < members_min;

	if (lacks != (other < members_min))
		return lacks;
	return lacks ? size > other : size < other;
}

/* The neediest shard that is not lost, if shards have these sizes, the first of equals. WH_NOWHERE: all are lost. */
static int find_neediest(const struct draft *draft, const uint32_t *size)
{
	int found = WH_NOWHERE;

	for (uint32_t shard = 0; shard < draft->shards; shard++)
		if (!draft->lost[shard] &&
		    (found == WH_NOWHERE || is_needier(size[shard], size[found], draft->members_min)))
			found = (int)shard;
	return found;
}

/* The first view: as many for each shard as if they came one by one, but those that have followed each other stay together. */
static void share_out(struct draft *draft, const bool *eligible)
{
	uint32_t room[WH_SHARDS_MAX] = {0}, shard = 0;

	for (uint32_t rank = 0; rank < draft->view->members; rank++)
		if (eligible[rank])
			room[find_neediest(draft, room)]++;
	for (uint32_t rank = 0; rank < draft->view->members; rank++) {
		if (!eligible[rank])
			continue;
		while (draft->size[shard] == room[shard])
			shard++;
		put_into_shard(draft, rank, shard);
	}
}

/* A later view: every member stays where it was; those that are nowhere, the oldest first, go where one is needed. */
static void carry_over(struct draft *draft, const bool *eligible)
{
	for (uint32_t rank = 0; rank < draft->view->members; rank++)
		if (draft->was[rank] != WH_NOWHERE)
			put_into_shard(draft, rank, (uint32_t)draft->was[rank]);
	for (uint32_t rank = 0; rank < draft->view->members; rank++) {
		int shard = find_neediest(draft, draft->size);

		if (eligible[rank] && draft->places.shard[rank] == WH_NOWHERE && shard != WH_NOWHERE)
			put_into_shard(draft, rank, (uint32_t)shard);
	}
}

/* half and one, in a later view: a sender goes on sending, or what it has committed would be lost; then as many others, the
 * oldest first, as there should be. A resting member is not counted on. */
static void keep_senders(struct draft *draft, enum sender_rule rule)
{
	const int *where = draft->places.shard;
	bool *sender = draft->places.sender;
	uint32_t count[WH_SHARDS_MAX] = {0};

	for (uint32_t rank = 0; rank < draft->view->members; rank++) {
		sender[rank] = where[rank] != WH_NOWHERE && draft->was[rank] == where[rank] && draft->sent[rank] &&
			       !draft->declared[rank];
		if (sender[rank])
			count[where[rank]]++;
	}
	for (uint32_t rank = 0; rank < draft->view->members; rank++) {
		int shard = where[rank];

		if (shard == WH_NOWHERE || sender[rank] || draft->declared[rank] ||
		    count[shard] >= (rule == SENDERS_ONE ? 1 : (draft->size[shard] + 1) / 2))
			continue;
		sender[rank] = true;
		count[shard]++;
	}
}

static void choose_senders(struct draft *draft, enum sender_rule rule, const bool *listed)
{
	uint32_t seen[WH_SHARDS_MAX] = {0};

	for (uint32_t rank = 0; rank < draft->view->members; rank++) {
		uint32_t place, id = draft->view->ids[rank];

		if (draft->places.shard[rank] == WH_NOWHERE)
			continue;
		place = seen[draft->places.shard[rank]]++;
		draft->places.sender[rank] = rule == SENDERS_ALL || (rule == SENDERS_HALF && place % 2 == 0) ||
					     (rule == SENDERS_ONE && place == 0) ||
					     (rule == SENDERS_LISTED && id < WH_NODES_MAX && listed[id]);
	}
}

static void draft_from_lists(struct draft *draft, const struct wh_subgroup_text *text, bool first)
{
	bool members[WH_NODES_MAX] = {false}, senders[WH_NODES_MAX] = {false}, eligible[WH_NODES_MAX] = {false};
	enum sender_rule rule = sender_rule(text->senders);
	bool all = strcmp(text->members, "all") == 0;

	/* Checked when the first view was made. Nodes that the lists do not name have other ids. */
	if (!all)
		(void)parse_members(WH_NODES_MAX, text->members, members, NULL);
	if (rule == SENDERS_LISTED)
		(void)parse_senders(WH_NODES_MAX, text->senders, senders, NULL);
	for (uint32_t rank = 0; rank < draft->view->members; rank++) {
		uint32_t id = draft->view->ids[rank];

		eligible[rank] = all || (id < WH_NODES_MAX && members[id]);
	}
	if (first)
		share_out(draft, eligible);
	else
		carry_over(draft, eligible);
	if (!first && (rule == SENDERS_HALF || rule == SENDERS_ONE))
		keep_senders(draft, rule);
	else
		choose_senders(draft, rule, senders);
}

/* A member that sent in the shard, stays in it and is to send no more goes on until what it has claimed is delivered: that would
 * be lost otherwise. A member that is taken out of the shard has no member to send it to. */
static void keep_ending(struct draft *draft)
{
	for (uint32_t rank = 0; rank < draft->view->members; rank++) {
		bool stays = draft->was[rank] != WH_NOWHERE && draft->was[rank] == draft->places.shard[rank];

		if (!stays || draft->places.sender[rank] || !draft->sent[rank] || draft->ended[rank])
			continue;
		draft->places.sender[rank] = draft->places.ending[rank] = true;
	}
}

/* Every member is where it was; the function says which send. */
static void keep_in_shards(struct draft *draft, const char *name, const struct wh_layout_config *layout)
{
	const struct wh_view *view = draft->view;

	for (uint32_t rank = 0; rank < view->members; rank++) {
		uint32_t shard = (uint32_t)draft->was[rank];

		if (draft->was[rank] == WH_NOWHERE)
			continue;
		put_into_shard(draft, rank, shard);
		draft->places.sender[rank] =
			layout->function(view, name, shard, view->ids[rank], layout->ctx) == WH_ROLE_SENDER;
	}
}

/* Shard by shard, so that a member put into a shard that turns out to be lost may still go to one behind it. */
static void draft_from_function(struct draft *draft, const char *name, const struct wh_layout_config *layout)
{
	const struct wh_view *view = draft->view;
	int *where = draft->places.shard;

	if (draft->keeps)
		keep_in_shards(draft, name, layout);
	for (uint32_t shard = 0; shard < draft->shards; shard++) {
		for (uint32_t rank = 0; rank < view->members; rank++) {
			enum wh_role role;

			if (where[rank] != WH_NOWHERE)
				continue;
			role = layout->function(view, name, shard, view->ids[rank], layout->ctx);
			if (role != WH_ROLE_NONE)
				put_into_shard(draft, rank, shard);
			draft->places.sender[rank] = role == WH_ROLE_SENDER;
		}
		if (!draft->lost[shard])
			continue;
		draft->size[shard] = 0;
		for (uint32_t rank = 0; rank < view->members; rank++)
			if (where[rank] == (int)shard)
				where[rank] = WH_NOWHERE;
	}
	keep_ending(draft);
}

/* Nothing changes but that some have ended: every member stays what it was. */
static void draft_as_before(struct draft *draft)
{
	for (uint32_t rank = 0; rank < draft->view->members; rank++) {
		if (draft->was[rank] != WH_NOWHERE)
			put_into_shard(draft, rank, (uint32_t)draft->was[rank]);
		draft->places.sender[rank] = draft->sent[rank] && !draft->ended[rank];
	}
}

/* What follows from where every member is. A resting member is no sender, whatever made it one. */
static void draft_end(struct draft *draft)
{
	struct wh_places *places = &draft->places;

	for (uint32_t rank = 0; rank < draft->view->members; rank++) {
		bool in = places->shard[rank] != WH_NOWHERE;

		places->entered[rank] = in && draft->was[rank] != places->shard[rank];
		places->resting[rank] = in && draft->declared[rank];
		places->sender[rank] = in && places->sender[rank] && !draft->declared[rank];
		places->ending[rank] = places->sender[rank] && places->ending[rank];
	}
}

/* ---- shards --------------------------------------------------------------------------------------------------------- */

bool wh_shard_fill(struct wh_view_subgroup *out, const struct wh_places *places, uint32_t members, uint32_t members_min,
		   bool lost)
{
	uint32_t size = 0, room;

	for (uint32_t rank = 0; rank < members; rank++)
		size += places->shard[rank] == (int)out->shard;
	room = size > 0 ? size : 1;
	out->members =
		calloc(6 * (size_t)room, sizeof(*out->members)); /* all six lists: a view may have a thousand shards */
	if (out->members == NULL)
		return false;
	out->senders = out->members + room;
	out->entered = out->senders + room;
	out->resting = out->entered + room;
	out->ending = out->resting + room;
	out->returned = out->ending + room;
	for (uint32_t rank = 0; rank < members; rank++) {
		if (places->shard[rank] != (int)out->shard)
			continue;
		out->members[out->member_count++] = rank;
		if (places->sender[rank])
			out->senders[out->sender_count++] = rank;
		if (places->entered[rank])
			out->entered[out->entered_count++] = rank;
		if (places->resting[rank])
			out->resting[out->resting_count++] = rank;
		if (places->ending[rank])
			out->ending[out->ending_count++] = rank;
		if (places->returned[rank])
			out->returned[out->returned_count++] = rank;
	}
	if (lost)
		out->state = WH_SHARD_LOST;
	else if (size < members_min || out->sender_count == 0)
		out->state = WH_SHARD_INACTIVE;
	else
		out->state = WH_SHARD_ACTIVE;
	return true;
}

void wh_shard_name(struct wh_view_subgroup *out, const struct wh_subgroup_text *text, uint32_t configured,
		   uint32_t shard)
{
	snprintf(out->name, sizeof(out->name), "%s", text->name);
	out->configured = configured;
	out->shard = shard;
	out->shards = text->shards;
}

void wh_dynamic_name(struct wh_view_subgroup *out, const char *name, uint64_t birth,
		     const struct wh_parameters *parameters)
{
	snprintf(out->name, sizeof(out->name), "%s", name);
	out->configured = WH_NOT_CONFIGURED;
	out->birth = birth;
	out->parameters = *parameters;
	out->shard = 0;
	out->shards = 1;
}

/* `at`: the index of its first shard, in this view and in the one before. */
static bool make_subgroup(struct wh_view_subgroup *out, const struct source *source, uint32_t configured, uint32_t at)
{
	const struct wh_subgroup_text *text = &source->layout->subgroups[configured];
	struct draft draft = {.view = source->view, .shards = text->shards, .members_min = text->members_min};

	draft.keeps = source->next != NULL && (source->next->keeps & wh_keeps_bit(configured)) != 0;
	draft_begin(&draft, source, at);
	if (is_function(text->members) && source->next != NULL && source->next->settles)
		draft_as_before(&draft);
	else if (is_function(text->members))
		draft_from_function(&draft, text->name, source->layout);
	else
		draft_from_lists(&draft, text, source->before == NULL);
	draft_end(&draft);
	for (uint32_t shard = 0; shard < text->shards; shard++) {
		wh_shard_name(&out[shard], text, configured, shard);
		if (!wh_shard_fill(&out[shard], &draft.places, source->view->members, text->members_min,
				   draft.lost[shard]))
			return false;
	}
	return true;
}

/* ---- dynamic subgroups: without wishes the members that stay, and nobody enters ------------------------------------------ */

/* The ranks that the members of the view before have in this one; WH_NOWHERE: they have left. */
static void find_ranks(const struct source *source, int ranks[WH_NODES_MAX])
{
	int survivors = 0;

	for (uint32_t rank = 0; rank < source->before->members; rank++) {
		bool stays = source->next->removed == NULL || !source->next->removed[rank];

		ranks[rank] = stays ? survivors++ : WH_NOWHERE;
	}
}

/* The places of the members of the dynamic subgroup at index `at` of the view before. False: none stays: some may be put out of it. A node that
 * listens does not rest: it has nothing to send. */
static bool keep_places(struct wh_places *places, const struct source *source, uint32_t at,
			const int ranks[WH_NODES_MAX])
{
	const struct wh_view_subgroup *was = &source->before->subgroups[at];
	const uint64_t *rests = source->next->rests;
	const uint64_t *outs =
		source->next->ended != NULL ? source->next->ended + (size_t)at * wh_rest_words(source->before) : NULL;
	bool any = false;

	*places = (struct wh_places){.sender = {false}};
	for (uint32_t rank = 0; rank < WH_NODES_MAX; rank++)
		places->shard[rank] = WH_NOWHERE;
	for (uint32_t i = 0; i < was->member_count; i++) {
		uint32_t rank = was->members[i];
		bool rested = wh_rank_find(was->resting, was->resting_count, rank) >= 0;
		bool sends = rested || wh_rank_find(was->senders, was->sender_count, rank) >= 0;
		bool rest = rests != NULL ? is_set(rests + (size_t)at * wh_rest_words(source->before), rank) : rested;

		if (ranks[rank] == WH_NOWHERE || (outs != NULL && is_set(outs, rank)))
			continue;
		places->shard[ranks[rank]] = 0;
		places->sender[ranks[rank]] = sends && !rest;
		places->resting[ranks[rank]] = sends && rest;
		any = true;
	}
	return any;
}

struct list { /* of the shards and dynamic subgroups of a view that is being made */
	struct wh_view_subgroup *subgroups;
	uint32_t count, dynamic_count;
	struct wh_dormant *dormant;
	uint32_t dormant_count;
};

static void free_list(struct list *list)
{
	wh_layout_free(list->subgroups, list->count);
	wh_dormant_free(list->dormant, list->dormant_count);
}

static bool keep_dormant(struct list *list, const struct wh_view *before)
{
	for (uint32_t i = 0; i < before->dormant_count; i++)
		if (!wh_dormant_copy(&list->dormant[list->dormant_count++], &before->dormant[i]))
			return false;
	wh_dormant_sort(list->dormant, list->dormant_count);
	return true;
}

static bool keep_dynamic(struct list *list, const struct source *source)
{
	const struct wh_view *before = source->before;
	int ranks[WH_NODES_MAX];

	if (before == NULL || before->dynamic_count + before->dormant_count == 0)
		return true;
	list->dormant = calloc((size_t)before->dynamic_count + before->dormant_count, sizeof(*list->dormant));
	if (list->dormant == NULL)
		return false;
	find_ranks(source, ranks);
	for (uint32_t g = before->subgroup_count - before->dynamic_count; g < before->subgroup_count; g++) {
		const struct wh_view_subgroup *was = &before->subgroups[g];
		struct wh_view_subgroup *out = &list->subgroups[list->count];
		struct wh_places places;

		if (!keep_places(&places, source, g, ranks)) {
			if (was->parameters.durable &&
			    !wh_dormant_make(&list->dormant[list->dormant_count++], before, was))
				return false;
			continue;
		}
		wh_dynamic_name(out, was->name, was->birth, &was->parameters);
		if (!wh_shard_fill(out, &places, source->view->members, 1, false))
			return false;
		list->count++;
		list->dynamic_count++;
	}
	return keep_dormant(list, before);
}

/* ---- all ---------------------------------------------------------------------------------------------------------- */

static bool make_all(struct list *list, const struct source *source)
{
	for (uint32_t i = 0; i < source->layout->count; i++) {
		uint32_t at = list->count, shards = wh_subgroup_shards(&source->layout->subgroups[i]);

		list->count += shards;
		if (shards > 0 && !make_subgroup(&list->subgroups[at], source, i, at))
			return false;
	}
	return keep_dynamic(list, source);
}

enum whorl_result wh_layout_make(struct wh_view *view, const struct wh_view *before, const struct wh_next *next,
				 const struct wh_layout_config *layout, struct wh_error *err)
{
	const struct source source = {view, before, next, layout};
	size_t room = before != NULL ? before->dynamic_count : 0;
	struct list list = {.subgroups = NULL};

	for (uint32_t i = 0; i < layout->count; i++) {
		const struct wh_subgroup_text *text = &layout->subgroups[i];

		if (before == NULL && check_first_view(text, layout, err) != WHORL_OK)
			return err != NULL ? wh_error_prefix(err, "subgroup %s", text->name) : WHORL_CONFIG;
		room += wh_subgroup_shards(text);
	}
	list.subgroups = calloc(room > 0 ? room : 1, sizeof(*list.subgroups));
	if (list.subgroups == NULL || !make_all(&list, &source)) {
		free_list(&list);
		return wh_error_set(err, WHORL_MEMORY, "no memory for a view");
	}
	view->subgroups = list.subgroups; /* a function is shown a view that has none yet */
	view->subgroup_count = list.count;
	view->dynamic_count = list.dynamic_count;
	view->dormant = list.dormant;
	view->dormant_count = list.dormant_count;
	return WHORL_OK;
}

void wh_layout_free(struct wh_view_subgroup *subgroups, uint32_t count)
{
	for (uint32_t i = 0; subgroups != NULL && i < count; i++)
		free(subgroups[i].members); /* and the other lists with it */
	free(subgroups);
}
