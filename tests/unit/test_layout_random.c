/* test_layout_random.c - layouts drawn at random, through views into which nodes come, from which they go and in which they rest at
 * random. What must hold of each view is said here once more, in terms of node ids, with a memory of its own of where each node was
 * and what was lost.
 * Labels: random
 */
#include <string.h>

#include "membership/wire.h"
#include "tests/harness.h"
#include "tests/support/newcomers.h"
#include "transport/dice.h"

#define ROUNDS 600
#define VIEWS_MOST 30
#define NODES_MOST 24
#define SUBGROUPS_MOST 4
#define SHARDS_MOST 6
#define LIST_BYTES 192

/* Check notes each of its own assertions, also those that hold: a million of them take long. */
#define must(condition)                                                                                                \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			ck_abort_msg("%s", #condition);                                                                \
	} while (0)

enum members_rule { MEMBERS_ALL, MEMBERS_LIST, MEMBERS_FUNCTION };
enum senders_rule { SENDERS_ALL, SENDERS_HALF, SENDERS_ONE, SENDERS_LIST };

struct subgroup { /* as drawn */
	char name[16], members[LIST_BYTES], senders[LIST_BYTES];
	enum members_rule members_rule;
	enum senders_rule senders_rule;
	bool is_member[NODES_MOST], is_sender[NODES_MOST]; /* of the lists, by id */
	uint64_t whims;                                    /* of the function */
};

struct story {
	uint32_t nodes, count; /* ids are below `nodes` */
	struct subgroup subgroups[SUBGROUPS_MOST];
	struct wh_subgroup_text texts[SUBGROUPS_MOST];
	struct wh_layout_config layout;

	uint32_t lives[NODES_MOST]; /* by id: how often it has come */
	/* The nodes that are in the view now, by age, and what follows from the draw for those that are. */
	uint32_t ids[NODES_MOST], members, survivors;
	bool rests[SUBGROUPS_MOST][NODES_MOST]; /* by id */
	bool ended[SUBGROUPS_MOST][NODES_MOST]; /* by id */

	/* What has happened, by subgroup, shard and node id. */
	bool in[SUBGROUPS_MOST][SHARDS_MOST][NODES_MOST];   /* in the last view */
	bool sent[SUBGROUPS_MOST][SHARDS_MOST][NODES_MOST]; /* in the last view */
	bool lost[SUBGROUPS_MOST][SHARDS_MOST];
};

/* ---- drawing ------------------------------------------------------------------------------------------------------------ */

/* Some of those of `from`, at least one, in any order. */
static void draw_list(struct wh_dice *dice, uint32_t nodes, const bool *from, bool *chosen, char *list)
{
	uint32_t ids[NODES_MOST], count = 0, wanted;

	for (uint32_t id = 0; id < nodes; id++)
		if (from[id])
			ids[count++] = id;
	wanted = (uint32_t)wh_dice_between(dice, 1, count);
	for (uint32_t i = 0; i < wanted; i++) {
		uint32_t other = (uint32_t)wh_dice_between(dice, i, count - 1), id = ids[other];

		ids[other] = ids[i];
		chosen[id] = true;
		snprintf(list + strlen(list), LIST_BYTES - strlen(list), "%s%u", i > 0 ? "," : "", id);
	}
}

/* A function of its arguments: most nodes stay where they are, some move at every view. */
static enum wh_role whim(const struct wh_view *view, const char *name, uint32_t shard, uint32_t id, void *ctx)
{
	const struct story *story = ctx;
	uint64_t whims = story->subgroups[name[1] - '0'].whims, mixed = wh_mix(whims + id);

	if (mixed % 4 == 0)
		mixed = wh_mix(mixed + view->number);
	mixed = wh_mix(mixed + shard);
	return mixed % 3 == 0 ? WH_ROLE_NONE : mixed % 5 == 0 ? WH_ROLE_MEMBER : WH_ROLE_SENDER;
}

static void draw_subgroup(struct wh_dice *dice, struct story *story, uint32_t g)
{
	static const char *const member_words[] = {"all", "", "function"}, *const sender_words[] = {"all", "half",
												    "one", ""};
	struct subgroup *subgroup = &story->subgroups[g];
	bool everybody[NODES_MOST];
	uint32_t count = 0;

	memset(everybody, true, sizeof(everybody));
	snprintf(subgroup->name, sizeof(subgroup->name), "g%u", g);
	subgroup->whims = wh_dice_roll(dice);
	subgroup->members_rule = (enum members_rule)wh_dice_below(dice, 3);
	subgroup->senders_rule = (enum senders_rule)wh_dice_below(dice, 4);
	strcpy(subgroup->members, member_words[subgroup->members_rule]);
	strcpy(subgroup->senders, sender_words[subgroup->senders_rule]);
	if (subgroup->members_rule == MEMBERS_LIST)
		draw_list(dice, story->nodes, everybody, subgroup->is_member, subgroup->members);
	else
		memset(subgroup->is_member, true, sizeof(subgroup->is_member));
	if (subgroup->senders_rule == SENDERS_LIST)
		draw_list(dice, story->nodes, subgroup->is_member, subgroup->is_sender, subgroup->senders);
	for (uint32_t id = 0; id < story->nodes; id++)
		count += subgroup->is_member[id];
	story->texts[g] = (struct wh_subgroup_text){
		.name = subgroup->name,
		.members = subgroup->members,
		.senders = subgroup->senders,
		.shards = (uint32_t)wh_dice_between(dice, 1, count < SHARDS_MOST ? count : SHARDS_MOST),
		.members_min = (uint32_t)wh_dice_between(dice, 1, 4),
	};
}

static void draw_story(struct wh_dice *dice, struct story *story)
{
	*story = (struct story){.nodes = (uint32_t)wh_dice_between(dice, 1, NODES_MOST),
				.count = (uint32_t)wh_dice_between(dice, 1, SUBGROUPS_MOST)};
	for (uint32_t g = 0; g < story->count; g++)
		draw_subgroup(dice, story, g);
	story->layout = (struct wh_layout_config){story->texts, story->count, whim, story};
}

struct drawn { /* of the next view */
	bool removed[NODES_MOST];
	struct wh_newcomer newcomers[NODES_MOST];
	uint64_t rests[SUBGROUPS_MOST * SHARDS_MOST], ended[SUBGROUPS_MOST * SHARDS_MOST];
	struct wh_next next;
};

static void draw_newcomers(struct wh_dice *dice, struct story *story, const bool *there, uint64_t one_in,
			   struct drawn *out)
{
	uint32_t first = (uint32_t)wh_dice_below(dice, story->nodes);

	for (uint32_t i = 0; i < story->nodes; i++) {
		uint32_t id = (first + i) % story->nodes;

		if (there[id] || !wh_dice_one_in(dice, one_in))
			continue;
		out->newcomers[out->next.newcomer_count++] =
			(struct wh_newcomer){id, incarnation_of(id, story->lives[id]++)};
	}
	for (uint32_t id = 0; id < story->nodes; id++) /* in the order in which they stand */
		for (uint32_t i = 0; i < out->next.newcomer_count; i++)
			if (out->newcomers[i].id == id)
				story->ids[story->members++] = id;
}

static void draw_first(struct wh_dice *dice, struct story *story, struct drawn *out)
{
	const bool nobody[NODES_MOST] = {false};

	*out = (struct drawn){.next = {.newcomer_count = 0}};
	while (story->members == 0)
		draw_newcomers(dice, story, nobody, wh_dice_between(dice, 1, 3), out);
	out->next.newcomers = out->newcomers;
}

/* Any bits; those of members count. */
static void draw_rests(struct wh_dice *dice, struct story *story, const struct wh_view *before, struct drawn *out)
{
	uint64_t few = wh_dice_one_in(dice, 4) ? 0 : wh_dice_roll(dice);

	memset(story->rests, 0, sizeof(story->rests));
	out->next.rests = out->rests;
	out->next.ended = out->ended;
	for (uint32_t at = 0; at < before->subgroup_count; at++) {
		const struct wh_view_subgroup *shard = &before->subgroups[at];

		out->rests[at] = wh_dice_roll(dice) & wh_dice_roll(dice) & few;
		for (uint32_t i = 0; i < shard->member_count; i++)
			if (out->rests[at] >> shard->members[i] & 1)
				story->rests[shard->configured][before->ids[shard->members[i]]] = true;
		out->ended[at] = wh_dice_roll(dice) & wh_dice_roll(dice);
		for (uint32_t i = 0; i < shard->ending_count; i++)
			if (out->ended[at] >> shard->ending[i] & 1)
				story->ended[shard->configured][before->ids[shard->ending[i]]] = true;
	}
}

/* At least one stays. A node that was in the view before comes again in a later one, not at once. */
static void draw_next(struct wh_dice *dice, struct story *story, const struct wh_view *before, struct drawn *out)
{
	uint32_t most = before->members > 5 ? 5 : before->members,
		 stays = (uint32_t)wh_dice_below(dice, before->members);
	bool there[NODES_MOST] = {false};

	memset(story->ended, 0, sizeof(story->ended));
	*out = (struct drawn){.next = {.newcomer_count = 0}};
	for (uint32_t left = (uint32_t)wh_dice_below(dice, most); left > 0; left--)
		out->removed[wh_dice_below(dice, before->members)] = true;
	out->removed[stays] = false;
	story->members = 0;
	for (uint32_t rank = 0; rank < before->members; rank++) {
		there[before->ids[rank]] = true;
		if (!out->removed[rank])
			story->ids[story->members++] = before->ids[rank];
	}
	story->survivors = story->members;
	if (wh_dice_one_in(dice, 3))
		draw_newcomers(dice, story, there, 4, out);
	if (wh_dice_one_in(dice, 3))
		draw_rests(dice, story, before, out);
	out->next.removed = story->survivors < before->members || wh_dice_one_in(dice, 2) ? out->removed : NULL;
	out->next.newcomers = out->newcomers;
}

/* ---- what must hold of each view ----------------------------------------------------------------------------------------- */

static bool member_of(const struct wh_view *view, const struct wh_view_subgroup *shard, uint32_t id)
{
	int rank = wh_view_rank(view, id);

	return rank >= 0 && wh_rank_find(shard->members, shard->member_count, (uint32_t)rank) >= 0;
}

static bool sender_of(const struct wh_view *view, const struct wh_view_subgroup *shard, uint32_t id)
{
	return wh_rank_find(shard->senders, shard->sender_count, (uint32_t)wh_view_rank(view, id)) >= 0;
}

static void check_members(const struct story *story, const struct wh_view *view)
{
	must(view->members == story->members);
	must(view->voters == (view->number == 0 ? story->nodes : view->members));
	must(view->joined_count == view->members - story->survivors);
	for (uint32_t rank = 0; rank < view->members; rank++) {
		uint32_t id = view->ids[rank];

		must(id == story->ids[rank]);
		must(view->incarnations[rank] == incarnation_of(id, story->lives[id] - 1));
		must(rank < story->survivors || view->joined[rank - story->survivors] == id);
	}
}

static bool belongs(const struct story *story, uint32_t g, uint32_t id)
{
	return story->subgroups[g].is_member[id];
}

/* To which of the shards with these sizes one more node goes: the least costly, the first of equals. */
static uint32_t next_place(const struct story *story, uint32_t g, const uint32_t *size)
{
	uint32_t found = SHARDS_MOST, least = UINT32_MAX, minimum = story->texts[g].members_min;

	for (uint32_t s = 0; s < story->texts[g].shards; s++) {
		uint32_t cost = size[s] < minimum ? minimum - size[s] : NODES_MOST + size[s];

		if (!story->lost[g][s] && cost < least) {
			found = s;
			least = cost;
		}
	}
	return found;
}

/* Shares are as large as if they came one by one, and no member of a shard stands behind one of the next shard. */
static void check_first_shares(const struct story *story, uint32_t g, const struct wh_view_subgroup *shards)
{
	uint32_t size[SHARDS_MOST] = {0}, behind = 0;

	for (uint32_t rank = 0; rank < story->members; rank++)
		if (belongs(story, g, story->ids[rank]))
			size[next_place(story, g, size)]++;
	for (uint32_t s = 0; s < shards[0].shards; s++) {
		must(shards[s].member_count == size[s]);
		for (uint32_t i = 0; i < shards[s].member_count; i++) {
			must(shards[s].members[i] >= behind);
			behind = shards[s].members[i] + 1;
		}
	}
}

/* All, or those of the list; or every second or the first, and of these those that are left, and the oldest others up to that
 * number. None that rests. */
static void check_senders(const struct story *story, uint32_t g, uint32_t s, const struct wh_view *view,
			  const struct wh_view_subgroup *shard)
{
	const struct subgroup *subgroup = &story->subgroups[g];
	enum senders_rule rule = subgroup->senders_rule;
	uint32_t should = rule == SENDERS_ONE ? 1 : (shard->member_count + 1) / 2, kept = 0;

	for (uint32_t i = 0; i < shard->member_count; i++)
		kept += story->sent[g][s][view->ids[shard->members[i]]] &&
			!story->rests[g][view->ids[shard->members[i]]];
	for (uint32_t i = 0; i < shard->member_count; i++) {
		uint32_t id = view->ids[shard->members[i]];
		const bool first[] = {true, i % 2 == 0, i == 0, subgroup->is_sender[id]};
		bool expected = first[rule];

		if (view->number > 0 && (rule == SENDERS_HALF || rule == SENDERS_ONE)) {
			expected = story->sent[g][s][id] || kept < should;
			kept += !story->rests[g][id] && !story->sent[g][s][id] && expected;
		}
		must(sender_of(view, shard, id) == (expected && !story->rests[g][id]));
	}
}

/* With lists no node moves, and one that is in no shard and may be goes to one, the oldest first. */
static void check_listed(const struct story *story, uint32_t g, const struct wh_view *view,
			 const struct wh_view_subgroup *shards)
{
	uint32_t size[SHARDS_MOST] = {0}, where[NODES_MOST];

	if (view->number == 0)
		check_first_shares(story, g, shards);
	for (uint32_t rank = 0; rank < view->members; rank++) {
		uint32_t id = view->ids[rank];

		where[rank] = SHARDS_MOST;
		for (uint32_t s = 0; s < shards[0].shards; s++) {
			if (!story->in[g][s][id])
				continue;
			where[rank] = s;
			size[s]++;
		}
	}
	for (uint32_t rank = 0; rank < view->members; rank++) {
		if (view->number > 0 && where[rank] == SHARDS_MOST && belongs(story, g, view->ids[rank])) {
			where[rank] = next_place(story, g, size);
			size[where[rank] < SHARDS_MOST ? where[rank] : 0] += where[rank] < SHARDS_MOST;
		}
		for (uint32_t s = 0; view->number > 0 && s < shards[0].shards; s++)
			must(member_of(view, &shards[s], view->ids[rank]) == (where[rank] == s));
	}
	for (uint32_t s = 0; s < shards[0].shards; s++)
		check_senders(story, g, s, view, &shards[s]);
}

/* A node that sent in the shard and is to send no more is a sender until it has ended. */
static void check_role(const struct story *story, uint32_t g, uint32_t s, const struct wh_view *view,
		       const struct wh_view_subgroup *shard, uint32_t id, enum wh_role role)
{
	bool ends = role != WH_ROLE_SENDER && story->sent[g][s][id] && !story->ended[g][id];
	uint32_t rank = (uint32_t)wh_view_rank(view, id);

	must(sender_of(view, shard, id) == ((role == WH_ROLE_SENDER || ends) && !story->rests[g][id]));
	must((wh_rank_find(shard->ending, shard->ending_count, rank) >= 0) == (ends && !story->rests[g][id]));
}

/* With a function a node is in the first shard that takes it and is not lost. */
static void check_function(struct story *story, uint32_t g, const struct wh_view *view,
			   const struct wh_view_subgroup *shards)
{
	for (uint32_t rank = 0; rank < view->members; rank++) {
		uint32_t id = view->ids[rank];
		bool placed = false;

		for (uint32_t s = 0; s < shards[0].shards; s++) {
			enum wh_role role = whim(view, story->subgroups[g].name, s, id, story);
			bool expected = !placed && role != WH_ROLE_NONE && shards[s].state != WH_SHARD_LOST;

			must(member_of(view, &shards[s], id) == expected);
			if (expected)
				check_role(story, g, s, view, &shards[s], id, role);
			/* A node that would stay in a shard that counts as lost is an heir of it. */
			must(placed || role == WH_ROLE_NONE || shards[s].state != WH_SHARD_LOST || story->lost[g][s] ||
			     !story->in[g][s][id]);
			placed |= expected;
		}
	}
}

static bool has_heir(const struct story *story, uint32_t g, uint32_t s, const struct wh_view *view,
		     const struct wh_view_subgroup *shard)
{
	for (uint32_t id = 0; id < story->nodes; id++)
		if (story->in[g][s][id] && member_of(view, shard, id))
			return true;
	return false;
}

static bool had_members(const struct story *story, uint32_t g, uint32_t s)
{
	return memchr(story->in[g][s], 1, sizeof(story->in[g][s])) != NULL;
}

/* Shards that all members have left; with a function it may have sent them elsewhere, too. */
static void find_lost(struct story *story, uint32_t g, const struct wh_view *view,
		      const struct wh_view_subgroup *shards)
{
	for (uint32_t s = 0; s < story->texts[g].shards; s++) {
		bool heir = false;

		for (uint32_t rank = 0; rank < view->members; rank++)
			heir |= story->in[g][s][view->ids[rank]];
		if (story->subgroups[g].members_rule == MEMBERS_FUNCTION)
			heir = has_heir(story, g, s, view, &shards[s]);
		if (had_members(story, g, s) && !heir)
			story->lost[g][s] = true;
	}
}

static void check_ascending(const uint32_t *ranks, uint32_t count, const struct wh_view_subgroup *shard)
{
	for (uint32_t i = 0; i < count; i++) {
		must(i == 0 || ranks[i - 1] < ranks[i]);
		must(wh_rank_find(shard->members, shard->member_count, ranks[i]) >= 0);
	}
}

static void check_shard(struct story *story, uint32_t g, uint32_t s, const struct wh_view *view,
			const struct wh_view_subgroup *shard)
{
	enum wh_shard_state expected = WH_SHARD_ACTIVE;

	if (shard->member_count < story->texts[g].members_min || shard->sender_count == 0)
		expected = WH_SHARD_INACTIVE;
	if (story->lost[g][s])
		expected = WH_SHARD_LOST;
	must(shard->configured == g && shard->shard == s && shard->state == expected);
	must(!story->lost[g][s] || shard->member_count == 0);
	must(shard->member_count == 0 || shard->members[shard->member_count - 1] < view->members);
	check_ascending(shard->members, shard->member_count, shard);
	check_ascending(shard->senders, shard->sender_count, shard);
	check_ascending(shard->entered, shard->entered_count, shard);
	check_ascending(shard->resting, shard->resting_count, shard);
	check_ascending(shard->ending, shard->ending_count, shard);
	for (uint32_t i = 0; i < shard->member_count; i++) {
		uint32_t rank = shard->members[i], id = view->ids[rank];

		must((wh_rank_find(shard->entered, shard->entered_count, rank) >= 0) == !story->in[g][s][id]);
		must((wh_rank_find(shard->resting, shard->resting_count, rank) >= 0) == story->rests[g][id]);
	}
}

static void remember(struct story *story, uint32_t g, const struct wh_view *view, const struct wh_view_subgroup *shards)
{
	for (uint32_t id = 0; id < story->nodes; id++) {
		bool anywhere = false;

		for (uint32_t s = 0; s < story->texts[g].shards; s++) {
			story->in[g][s][id] = member_of(view, &shards[s], id);
			story->sent[g][s][id] = story->in[g][s][id] && sender_of(view, &shards[s], id);
			anywhere |= story->in[g][s][id];
		}
		story->rests[g][id] &= anywhere;
	}
}

static void check_view(struct story *story, const struct wh_view *view)
{
	const struct wh_view_subgroup *shards = view->subgroups;

	check_members(story, view);
	for (uint32_t g = 0; g < story->count; g++) {
		if (story->subgroups[g].members_rule == MEMBERS_FUNCTION)
			check_function(story, g, view, shards);
		find_lost(story, g, view, shards);
		if (story->subgroups[g].members_rule != MEMBERS_FUNCTION)
			check_listed(story, g, view, shards);
		for (uint32_t s = 0; s < story->texts[g].shards; s++)
			check_shard(story, g, s, view, &shards[s]);
		remember(story, g, view, shards);
		shards += story->texts[g].shards;
	}
	must(shards == view->subgroups + view->subgroup_count);
}

/* A node that was sent the view has the same. */
static struct wh_view *send_view(const struct story *story, const struct wh_view *view)
{
	unsigned char *bytes, *again;
	size_t count, same;
	struct wh_view *sent;

	must(wh_view_encode(&bytes, &count, view) == WHORL_OK);
	must(wh_view_decode(&sent, bytes, count, &story->layout, story->nodes, NULL) == WHORL_OK);
	must(wh_view_encode(&again, &same, sent) == WHORL_OK);
	must(same == count && memcmp(bytes, again, count) == 0);
	free(bytes);
	free(again);
	return sent;
}

/* ---- stories ------------------------------------------------------------------------------------------------------------- */

/* Two nodes, one of which makes each view from its own; the other from one that it was sent. */
static void play(uint64_t seed)
{
	struct wh_view *views[2], *next;
	struct wh_dice dice = {seed};
	struct story story;
	struct drawn drawn;

	draw_story(&dice, &story);
	draw_first(&dice, &story, &drawn);
	for (int i = 0; i < 2; i++)
		must(wh_view_create(&views[i], 7, drawn.newcomers, drawn.next.newcomer_count, story.nodes,
				    &story.layout, NULL) == WHORL_OK);
	for (uint64_t left = wh_dice_below(&dice, VIEWS_MOST);; left--) {
		must(wh_view_equals(views[0], views[1]));
		check_view(&story, views[0]);
		if (left == 0)
			break;
		next = send_view(&story, views[0]);
		must(wh_view_equals(views[0], next));
		wh_view_free(views[1]);
		views[1] = next;
		draw_next(&dice, &story, views[0], &drawn);
		for (int i = 0; i < 2; i++) {
			must(wh_view_next(&next, views[i], &drawn.next, &story.layout, NULL) == WHORL_OK);
			must(next->number == views[i]->number + 1);
			must(next->members + next->left_count == views[i]->members + next->joined_count);
			wh_view_free(views[i]);
			views[i] = next;
		}
	}
	wh_view_free(views[0]);
	wh_view_free(views[1]);
}

TEST(random_layouts)
{
	uint64_t seed = test_seed(3);

	for (uint64_t i = 0; i < ROUNDS; i++)
		play(wh_mix(seed + i));
}

TEST_SUITE("layout_random")
