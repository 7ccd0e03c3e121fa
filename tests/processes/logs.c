/* logs.c - see logs.h. The judgement is that of sim/history.h; here it is told what the members have logged. Beside it stands the
 * judgement on the states: after so many messages of a shard there is one state.
 */
#include "tests/processes/logs.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/history.h"
#include "tests/processes/again.h"
#include "tests/processes/payload.h"

struct story {
	const struct cluster *c;
	struct wh_history *history;
	uint64_t view;          /* nobody is told of in a later one */
	uint64_t at[LIVES_MAX]; /* in each log */
	uint32_t ids[LIVES_MAX];
};

static const struct record *record_at(const struct cluster *c, uint32_t life, uint64_t at)
{
	return board_record(c->board, &c->board->state[life], at);
}

static bool was_refused(const struct state *state, uint32_t group, uint64_t index)
{
	for (uint32_t i = 0; i < state->refusals; i++)
		if (state->refused[i].group == group && state->refused[i].index == index)
			return true;
	return false;
}

/* All claims that were begun: of one that had no end its member cannot say whether it has committed it. */
static bool tell_claims(struct story *story, uint32_t life, uint32_t group)
{
	const struct state *state = &story->c->board->state[life];
	bool told = true;

	for (uint64_t index = 0; index < state->claimed[group] && told; index++) {
		uint64_t key = payload_key(story->c->board, group, life, index);

		if (payload_aborted(key) || was_refused(state, group, index))
			told = wh_history_abort(story->history, life, group, index);
		else
			told = wh_history_commit(story->history, life, group, index,
						 payload_digest(key, payload_bytes(key, group)));
	}
	return told;
}

static uint32_t list_bits(uint32_t bits, uint32_t ids[MEMBERS_MAX])
{
	uint32_t count = 0;

	for (uint32_t id = 0; id < MEMBERS_MAX; id++)
		if (bits >> id & 1)
			ids[count++] = id;
	return count;
}

static bool tell_view(struct story *story, uint32_t life, const struct record *record)
{
	struct wh_history_place places[GROUPS] = {{.shard = 0}};
	uint32_t members[MEMBERS_MAX], joined[MEMBERS_MAX], left[MEMBERS_MAX], id = story->ids[life];
	struct wh_history_view view = {.number = record->view,
				       .count = record->bytes,
				       .rank = record->sender,
				       .members = members,
				       .places = places,
				       .joined = joined,
				       .left = left,
				       .joined_count = list_bits(record->joined, joined),
				       .left_count = list_bits(record->left, left)};

	for (uint32_t rank = 0; rank < record->bytes; rank++)
		members[rank] = record->ids[rank];
	for (uint32_t group = 0; group < GROUPS; group++) {
		if (cluster_takes_part(story->c, group, id))
			places[group].role = record->sends >> group & 1 ? WH_HISTORY_SENDER : WH_HISTORY_MEMBER;
		places[group].shard = record->shards[group];
		places[group].inactive = record->waits >> group & 1;
	}
	return wh_history_view(story->history, life, &view);
}

static bool tell_message(struct story *story, uint32_t life, const struct record *record)
{
	return wh_history_deliver(story->history, life,
				  &(struct wh_history_delivery){.subgroup = record->group,
								.sender = story->ids[record->sender],
								.view = record->view,
								.index = record->index,
								.sequence = record->sequence,
								.digest = record->digest});
}

static bool tell_record(struct story *story, uint32_t life, const struct record *record)
{
	switch (record->kind) {
	case RECORD_VIEW:
		return tell_view(story, life, record);
	case RECORD_MESSAGE:
		return tell_message(story, life, record);
	case RECORD_GAVE:
		return wh_history_gave(story->history, life, record->group, record->state);
	case RECORD_RESTORED:
		return wh_history_restored(story->history, life, record->group, record->state);
	default:
		return wh_history_caught_up(story->history, life, record->group);
	}
}

static bool tell_end(struct story *story, uint32_t life)
{
	enum fate fate = story->c->children[life].fate;

	if (fate == FATE_KILLED || fate == FATE_EXITED)
		return wh_history_crashed(story->history, life);
	if (story->c->board->state[life].error == WHORL_REMOVED)
		return wh_history_removed(story->history, life);
	return wh_history_left(story->history, life);
}

/* Must something else be told before? `all`: then there is nothing else. */
static bool must_wait(const struct story *story, const struct record *record, bool all)
{
	if (record->kind == RECORD_VIEW)
		return record->view > story->view;
	return record->kind == RECORD_RESTORED && !all &&
	       !wh_history_knows_state(story->history, record->group, record->state);
}

/* What the member has seen, as far as it may be told by now. */
static bool tell_some(struct story *story, uint32_t life, bool all, bool *more)
{
	uint64_t records = story->c->board->state[life].records, begin = story->at[life];
	bool told = true;

	while (told && story->at[life] < records) {
		const struct record *record = record_at(story->c, life, story->at[life]);

		if (must_wait(story, record, all))
			break;
		told = tell_record(story, life, record);
		story->at[life]++;
	}
	*more |= story->at[life] > begin;
	if (told && story->at[life] > begin && story->at[life] == records)
		told = tell_end(story, life);
	return told;
}

/* On one host no quorum is taken of those that were killed, from the view on that comes after their last one. */
static void tell_uncounted(const struct story *story)
{
	for (uint32_t life = 0; life < story->c->lives && cluster_is_on_one_host(story->c); life++) {
		enum fate fate = story->c->children[life].fate;

		if ((fate == FATE_KILLED || fate == FATE_EXITED) && story->c->board->state[life].view < story->view)
			wh_history_leaving(story->history, life);
	}
}

static bool is_told(const struct story *story)
{
	for (uint32_t life = 0; life < story->c->lives; life++)
		if (story->at[life] < story->c->board->state[life].records)
			return false;
	return true;
}

/* When nothing can be told of this view any more it is the next one's turn; when all views have been told of, a life that still
 * waits is waiting for what never was. */
static bool tell(struct story *story)
{
	uint64_t last = 0;
	bool told = true;

	for (uint32_t life = 0; life < story->c->lives; life++) {
		const struct state *state = &story->c->board->state[life];

		if (state->records > 0)
			told = told && wh_history_begins(story->history, life, record_at(story->c, life, 0)->view);
		last = state->view > last ? state->view : last;
		for (uint32_t group = 0; group < GROUPS && told; group++)
			told = tell_claims(story, life, group);
	}
	while (told && !is_told(story)) {
		bool more = false;

		for (uint32_t life = 0; life < story->c->lives && told; life++)
			told = tell_some(story, life, story->view > last, &more);
		story->view += !more;
		tell_uncounted(story);
	}
	return told;
}

static bool views_and_messages_agree(const struct cluster *c, char *text, size_t bytes)
{
	struct wh_history_subgroup subgroups[GROUPS];
	struct story *story = calloc(1, sizeof(*story));
	const struct cluster_options *o = &c->options;
	const char *broken = "no memory for a history";

	if (story == NULL)
		return false;
	story->c = c;
	for (uint32_t life = 0; life < c->lives; life++)
		story->ids[life] = c->board->state[life].id;
	for (uint32_t g = 0; g < GROUPS; g++)
		subgroups[g] = (struct wh_history_subgroup){.name = groups[g].name,
							    .ordered = groups[g].ordered,
							    .shards = g == 0 ? o->shards : 0,
							    .stateful = true};
	story->history = wh_history_new(&(struct wh_history_config){.nodes = MEMBERS_MAX,
								    .lives = c->lives,
								    .ids = story->ids,
								    .configured = o->nodes,
								    .founded = o->founder,
								    .subgroups = subgroups,
								    .subgroup_count = GROUPS,
								    .tie_breaker = o->tie_breaker ? 0 : -1,
								    .joins = true});
	if (story->history != NULL)
		broken = tell(story) ? NULL : wh_history_broken(story->history);
	if (broken != NULL)
		snprintf(text, bytes, "%s", broken);
	wh_history_free(story->history);
	free(story);
	return broken == NULL;
}

/* ---- states --------------------------------------------------------------------------------------------------------- */

struct chain { /* of the states of a shard: after 1, 2, ... messages */
	uint64_t room;
	uint64_t *after;
};

static bool expect(struct chain *chain, uint64_t count, uint64_t value)
{
	if (count == 0)
		return value == 0;
	if (count > chain->room) {
		uint64_t room = 2 * count + 1000, *after = realloc(chain->after, room * sizeof(*after));

		if (after == NULL)
			return false;
		for (uint64_t i = chain->room; i < room; i++)
			after[i] = 0;
		chain->after = after;
		chain->room = room;
	}
	if (chain->after[count - 1] == 0)
		chain->after[count - 1] = value;
	return chain->after[count - 1] == value;
}

/* The life's states of that group, one after each message, are those of all others. */
static bool states_fit(const struct cluster *c, uint32_t life, uint32_t group, struct chain *chains, char *text,
		       size_t bytes)
{
	const struct state *state = &c->board->state[life];
	struct chain *chain = &chains[state->shard[group]];
	struct imprint *imprint = calloc(1, sizeof(*imprint));
	bool fits = imprint != NULL;

	for (uint64_t at = 0; fits && at < state->records; at++) {
		const struct record *record = record_at(c, life, at);

		if (record->group != group || record->kind == RECORD_VIEW)
			continue;
		imprint->group = group;
		if (record->kind == RECORD_MESSAGE) {
			imprint_take(imprint, record->sender, record->index, record->digest);
		} else if (record->kind == RECORD_RESTORED) {
			imprint->count = record->count;
			imprint->chain = record->chain;
		}
		fits = expect(chain, imprint->count, imprint->chain);
		if (!fits)
			snprintf(
				text, bytes,
				"state: node %u (life %u) has another state than others after %llu messages (%s, view %llu%s)",
				state->id, life, (unsigned long long)imprint->count, groups[group].name,
				(unsigned long long)record->view,
				record->kind == RECORD_RESTORED ? ", as it was given" : "");
	}
	free(imprint);
	return fits;
}

static bool states_agree(const struct cluster *c, char *text, size_t bytes)
{
	bool agree = true;

	for (uint32_t group = 0; group < GROUPS && agree; group++) {
		struct chain chains[MEMBERS_MAX] = {{.room = 0}};

		for (uint32_t life = 0; life < c->lives && agree && groups[group].ordered; life++)
			agree = states_fit(c, life, group, chains, text, bytes);
		for (uint32_t shard = 0; shard < MEMBERS_MAX; shard++)
			free(chains[shard].after);
	}
	return agree;
}

/* ---- for eyes ------------------------------------------------------------------------------------------------------- */

static void dump_record(FILE *out, const struct cluster *c, uint32_t life, const struct record *r)
{
	const char *name = groups[r->group].name;
	unsigned long long view = r->view, index = r->index, sequence = r->sequence, digest = r->digest;

	fprintf(out, "life %u node %u ", life, c->board->state[life].id);
	if (r->kind == RECORD_VIEW) {
		fprintf(out, "view %llu:", view);
		for (uint32_t rank = 0; rank < r->bytes; rank++)
			fprintf(out, " %u", r->ids[rank]);
		fprintf(out, ", joined %x, left %x, sends %x\n", r->joined, r->left, r->sends);
	} else if (r->kind == RECORD_MESSAGE) {
		fprintf(out, "%s view %llu seq %llu: message %llu of life %u, digest %llx\n", name, view, sequence,
			index, r->sender, digest);
	} else {
		fprintf(out, "%s in view %llu %s: state %llx, %llu messages, chain %llx\n", name, view,
			r->kind == RECORD_GAVE       ? "gave"
			: r->kind == RECORD_RESTORED ? "restored"
						     : "caught up",
			(unsigned long long)r->state, (unsigned long long)r->count, (unsigned long long)r->chain);
	}
}

static void dump(const struct cluster *c, const char *path)
{
	FILE *out = fopen(path, "w");

	for (uint32_t life = 0; out != NULL && life < c->lives; life++)
		for (uint64_t at = 0; at < c->board->state[life].records; at++)
			dump_record(out, c, life, record_at(c, life, at));
	if (out != NULL)
		fclose(out);
}

bool logs_agree(const struct cluster *c, char *text, size_t bytes)
{
	const char *path = getenv("WHORL_LOGS");
	bool agree;

	snprintf(text, bytes, "no memory to compare logs");
	agree = c->options.durable ? again_agree(c, text, bytes) : views_and_messages_agree(c, text, bytes);
	agree = agree && states_agree(c, text, bytes);
	if (!agree && path != NULL)
		dump(c, path);
	return agree;
}
