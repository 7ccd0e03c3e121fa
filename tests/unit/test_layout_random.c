/* test_layout_random.c - layouts drawn at random, through views from which members go at random. What must hold of each view
 * is said here once more, in terms of node ids, with a memory of its own of who was where and what was lost.
 * Labels: random
 */
#include <string.h>

#include "membership/view.h"
#include "tests/harness.h"
#include "transport/dice.h"

#define ROUNDS 1000
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
	uint32_t nodes, count;
	struct subgroup subgroups[SUBGROUPS_MOST];
	struct wh_subgroup_text texts[SUBGROUPS_MOST];
	struct wh_layout_config layout;

	/* What has happened, by subgroup, shard and node id. */
	bool gone[NODES_MOST];
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

/* At least one stays. */
static void draw_removed(struct wh_dice *dice, struct story *story, const struct wh_view *view, bool *removed)
{
	uint32_t most = view->members > 5 ? 5 : view->members, stays = (uint32_t)wh_dice_below(dice, view->members);

	for (uint32_t left = (uint32_t)wh_dice_below(dice, most); left > 0; left--)
		removed[wh_dice_below(dice, view->members)] = true;
	removed[stays] = false;
	for (uint32_t rank = 0; rank < view->members; rank++)
		story->gone[view->ids[rank]] |= removed[rank];
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
	uint32_t rank = 0;

	for (uint32_t id = 0; id < story->nodes; id++)
		if (!story->gone[id])
			must(view->ids[rank++] == id);
	must(view->members == rank);
}

/* Shares differ by one at most, larger ones first, and no member of a shard stands behind one of the next shard. */
static void check_first_shares(const struct wh_view_subgroup *shards)
{
	for (uint32_t s = 1; s < shards[0].shards; s++) {
		const struct wh_view_subgroup *one = &shards[s - 1], *next = &shards[s];

		must(one->member_count >= next->member_count);
		must(shards[0].member_count <= next->member_count + 1);
		must(next->member_count > 0);
		must(one->members[one->member_count - 1] < next->members[0]);
	}
}

/* All, or those of the list; or every second or the first, and of these whoever is left, and the oldest others up to that number. */
static void check_senders(const struct story *story, uint32_t g, uint32_t s, const struct wh_view *view,
			  const struct wh_view_subgroup *shard)
{
	const struct subgroup *subgroup = &story->subgroups[g];
	enum senders_rule rule = subgroup->senders_rule;
	uint32_t should = rule == SENDERS_ONE ? 1 : (shard->member_count + 1) / 2, kept = 0;

	for (uint32_t i = 0; i < shard->member_count; i++)
		kept += story->sent[g][s][view->ids[shard->members[i]]];
	for (uint32_t i = 0; i < shard->member_count; i++) {
		uint32_t id = view->ids[shard->members[i]];
		const bool first[] = {true, i % 2 == 0, i == 0, subgroup->is_sender[id]};
		bool expected = first[rule];

		if (view->number > 0 && (rule == SENDERS_HALF || rule == SENDERS_ONE)) {
			expected = story->sent[g][s][id] || kept < should;
			kept += !story->sent[g][s][id] && expected;
		}
		must(sender_of(view, shard, id) == expected);
	}
}

/* With lists nobody moves, and nobody comes. */
static void check_listed(const struct story *story, uint32_t g, const struct wh_view *view,
			 const struct wh_view_subgroup *shards)
{
	const struct subgroup *subgroup = &story->subgroups[g];

	if (view->number == 0)
		check_first_shares(shards);
	for (uint32_t id = 0; id < story->nodes; id++) {
		uint32_t in = 0;

		for (uint32_t s = 0; s < shards[0].shards; s++) {
			bool member = member_of(view, &shards[s], id);

			in += member;
			must(view->number == 0 || member == (story->in[g][s][id] && !story->gone[id]));
		}
		must(in == (subgroup->is_member[id] && !story->gone[id]));
	}
	for (uint32_t s = 0; s < shards[0].shards; s++)
		check_senders(story, g, s, view, &shards[s]);
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
				must(sender_of(view, &shards[s], id) == (role == WH_ROLE_SENDER));
			/* Whoever would stay in a shard that counts as lost is an heir of it. */
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

static void check_state(struct story *story, uint32_t g, uint32_t s, const struct wh_view *view,
			const struct wh_view_subgroup *shard)
{
	enum wh_shard_state expected = WH_SHARD_ACTIVE;

	if (shard->member_count < story->texts[g].members_min || shard->sender_count == 0)
		expected = WH_SHARD_INACTIVE;
	if (had_members(story, g, s) && !has_heir(story, g, s, view, shard))
		story->lost[g][s] = true;
	if (story->lost[g][s]) {
		expected = WH_SHARD_LOST;
		must(shard->member_count == 0);
	}
	must(shard->state == expected);
	for (uint32_t i = 0; i < shard->member_count; i++) {
		must(shard->members[i] < view->members);
		must(i == 0 || shard->members[i - 1] < shard->members[i]);
	}
	for (uint32_t i = 0; i < shard->sender_count; i++) {
		must(i == 0 || shard->senders[i - 1] < shard->senders[i]);
		must(wh_rank_find(shard->members, shard->member_count, shard->senders[i]) >= 0);
	}
}

static void check_view(struct story *story, const struct wh_view *view)
{
	const struct wh_view_subgroup *shards = view->subgroups;

	check_members(story, view);
	for (uint32_t g = 0; g < story->count; g++) {
		if (story->subgroups[g].members_rule == MEMBERS_FUNCTION)
			check_function(story, g, view, shards);
		else
			check_listed(story, g, view, shards);
		for (uint32_t s = 0; s < story->texts[g].shards; s++, shards++) {
			must(shards->configured == g);
			must(shards->shard == s);
			check_state(story, g, s, view, shards);
			for (uint32_t id = 0; id < story->nodes; id++) {
				story->in[g][s][id] = member_of(view, shards, id);
				story->sent[g][s][id] = story->in[g][s][id] && sender_of(view, shards, id);
			}
		}
	}
	must(shards == view->subgroups + view->subgroup_count);
}

static void check_same_ranks(const uint32_t *one, uint32_t one_count, const uint32_t *other, uint32_t other_count)
{
	must(one_count == other_count);
	for (uint32_t i = 0; i < one_count; i++)
		must(one[i] == other[i]);
}

static void check_same(const struct wh_view *one, const struct wh_view *other)
{
	must(one->number == other->number);
	must(one->subgroup_count == other->subgroup_count);
	check_same_ranks(one->ids, one->members, other->ids, other->members);
	check_same_ranks(one->joined, one->joined_count, other->joined, other->joined_count);
	check_same_ranks(one->left, one->left_count, other->left, other->left_count);
	for (uint32_t g = 0; g < one->subgroup_count; g++) {
		const struct wh_view_subgroup *a = &one->subgroups[g], *b = &other->subgroups[g];

		must(a->state == b->state);
		check_same_ranks(a->members, a->member_count, b->members, b->member_count);
		check_same_ranks(a->senders, a->sender_count, b->senders, b->sender_count);
	}
}

/* ---- stories ------------------------------------------------------------------------------------------------------------- */

/* Two nodes, each with a view of its own, until one member is left and then once more. */
static void play(uint64_t seed)
{
	struct wh_dice dice = {seed};
	struct wh_view *views[2], *next[2];
	struct story story;
	bool last;

	draw_story(&dice, &story);
	for (int i = 0; i < 2; i++)
		must(wh_view_create(&views[i], story.nodes, &story.layout, NULL) == WHORL_OK);
	do {
		bool removed[NODES_MOST] = {false};

		last = views[0]->members == 1;
		check_same(views[0], views[1]);
		check_view(&story, views[0]);
		draw_removed(&dice, &story, views[0], removed);
		for (int i = 0; i < 2; i++) {
			must(wh_view_next(&next[i], views[i], removed, &story.layout, NULL) == WHORL_OK);
			must(next[i]->number == views[i]->number + 1);
			must(next[i]->members + next[i]->left_count == views[i]->members);
			wh_view_free(views[i]);
			views[i] = next[i];
		}
	} while (!last);
	check_view(&story, views[0]);
	wh_view_free(views[0]);
	wh_view_free(views[1]);
}

START_TEST(random_layouts)
{
	uint64_t seed = test_seed(3);

	for (uint64_t i = 0; i < ROUNDS; i++)
		play(wh_mix(seed + i));
}
END_TEST

static Suite *suite(void)
{
	Suite *all = suite_create("layout_random");
	TCase *cases = tcase_create("layout_random");

	tcase_add_test(cases, random_layouts);
	suite_add_tcase(all, cases);
	return all;
}

int main(void)
{
	return test_main(suite());
}
