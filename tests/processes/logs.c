/* logs.c - see logs.h. The judgement is that of sim/history.h; here it is told what the members have logged. */
#include "tests/processes/logs.h"

#include <stdio.h>

#include "sim/history.h"
#include "tests/processes/payload.h"

struct story {
	const struct cluster *c;
	struct wh_history *history;
	uint64_t at[MEMBERS_MAX]; /* in each log */
};

static bool was_refused(const struct state *state, uint32_t group, uint64_t index)
{
	for (uint32_t i = 0; i < state->refusals; i++)
		if (state->refused[i].group == group && state->refused[i].index == index)
			return true;
	return false;
}

/* All claims that were begun: of one that had no end its member cannot say whether it has committed it. */
static bool tell_claims(struct story *story, uint32_t id, uint32_t group)
{
	const struct state *state = &story->c->board->state[id];
	bool told = true;

	for (uint64_t index = 0; index < state->claimed[group] && told; index++) {
		uint64_t key = payload_key(story->c->board, group, id, index);

		if (payload_aborted(key) || was_refused(state, group, index))
			told = wh_history_abort(story->history, id, group, index);
		else
			told = wh_history_commit(story->history, id, group, index,
						 payload_digest(key, payload_bytes(key, group)));
	}
	return told;
}

static bool tell_view(struct story *story, uint32_t id, const struct record *record)
{
	struct wh_history_place places[GROUPS] = {{.shard = 0}};
	uint32_t members[MEMBERS_MAX], count = 0;

	for (uint32_t node = 0; node < story->c->options.nodes;
	     node++) /* nobody joins: ranks are in the order of ids */
		if (record->members >> node & 1)
			members[count++] = node;
	for (uint32_t group = 0; group < GROUPS; group++) {
		bool active = false;

		for (uint32_t i = 0; i < count; i++)
			active |= cluster_sends(story->c, group, members[i]);
		if (cluster_takes_part(story->c, group, id))
			places[group].role = cluster_sends(story->c, group, id) ? WH_HISTORY_SENDER : WH_HISTORY_MEMBER;
		places[group].inactive = !active;
	}
	return wh_history_view(story->history, id,
			       &(struct wh_history_view){.number = record->view,
							 .count = count,
							 .rank = record->sender,
							 .members = members,
							 .places = places});
}

static bool tell_message(struct story *story, uint32_t id, const struct record *record)
{
	return wh_history_deliver(story->history, id,
				  &(struct wh_history_delivery){.subgroup = record->group,
								.sender = record->sender,
								.view = record->view,
								.index = record->index,
								.sequence = record->sequence,
								.digest = record->digest});
}

static bool tell_end(struct story *story, uint32_t id)
{
	enum fate fate = story->c->children[id].fate;

	if (fate == FATE_KILLED || fate == FATE_EXITED)
		return wh_history_crashed(story->history, id);
	if (story->c->board->state[id].error == WHORL_REMOVED)
		return wh_history_removed(story->history, id);
	return wh_history_left(story->history, id);
}

/* What the member has seen from its present place in the log to the end of that view. */
static bool tell_a_view(struct story *story, uint32_t id)
{
	const struct state *state = &story->c->board->state[id];
	bool told = true;

	if (story->at[id] == state->records)
		return true;
	do {
		const struct record *record = &state->log[story->at[id]++];

		if (record->kind == RECORD_VIEW)
			told = tell_view(story, id, record);
		else
			told = tell_message(story, id, record);
	} while (told && story->at[id] < state->records && state->log[story->at[id]].kind != RECORD_VIEW);
	return told && (story->at[id] < state->records || tell_end(story, id));
}

static bool is_told(const struct story *story)
{
	for (uint32_t id = 0; id < story->c->options.nodes; id++)
		if (story->at[id] < story->c->board->state[id].records)
			return false;
	return true;
}

static bool tell(struct story *story)
{
	uint32_t nodes = story->c->options.nodes;
	bool told = true;

	for (uint32_t id = 0; id < nodes; id++)
		for (uint32_t group = 0; group < GROUPS && told; group++)
			told = tell_claims(story, id, group);
	while (told && !is_told(story))
		for (uint32_t id = 0; id < nodes && told; id++)
			told = tell_a_view(story, id);
	return told;
}

bool logs_agree(const struct cluster *c, char *text, size_t bytes)
{
	struct wh_history_subgroup subgroups[GROUPS];
	struct story story = {.c = c};
	const char *broken = "no memory for a history";

	for (uint32_t g = 0; g < GROUPS; g++)
		subgroups[g] = (struct wh_history_subgroup){.name = groups[g].name, .ordered = groups[g].ordered};
	story.history = wh_history_new(&(struct wh_history_config){.nodes = c->options.nodes,
								   .subgroups = subgroups,
								   .subgroup_count = GROUPS,
								   .tie_breaker = c->options.tie_breaker ? 0 : -1});
	if (story.history != NULL)
		broken = tell(&story) ? NULL : wh_history_broken(story.history);
	if (broken != NULL)
		snprintf(text, bytes, "%s", broken);
	wh_history_free(story.history);
	return broken == NULL;
}
