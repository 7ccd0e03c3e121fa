/* test_view.c - views from a configuration: lists of members and senders, ranks, mistakes; views that follow, and nodes that come
 * and go; quorums.
 * Shards are in test_layout.c. */
#include <string.h>

#include "membership/view.h"
#include "tests/harness.h"
#include "tests/support/newcomers.h"

static struct wh_view *make(uint32_t nodes, const char *members, const char *senders)
{
	const struct wh_subgroup_text text = {"g", members, senders, 1, 1};
	struct wh_view *view;
	struct wh_error err;

	ck_assert_msg(view_of_all(&view, nodes, &(struct wh_layout_config){&text, 1, NULL, NULL}, &err) == WHORL_OK,
		      "%s", err.text);
	return view;
}

static void assert_ranks(const uint32_t *ranks, uint32_t count, const char *expected)
{
	char text[256] = "";

	for (uint32_t i = 0; i < count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u", i ? "," : "", ranks[i]);
	ck_assert_str_eq(text, expected);
}

static const struct {
	uint32_t nodes;
	const char *members, *senders, *member_ranks, *sender_ranks;
} good[] = {
	{1, "all", "all", "0", "0"},
	{4, "all", "all", "0,1,2,3", "0,1,2,3"},
	{4, "all", "half", "0,1,2,3", "0,2"},
	{5, "all", "half", "0,1,2,3,4", "0,2,4"}, /* rounded up */
	{4, "all", "one", "0,1,2,3", "0"},
	{4, "1,2,3", "all", "1,2,3", "1,2,3"},
	{4, "1,2,3", "half", "1,2,3", "1,3"}, /* of the members, not of the nodes */
	{4, "2,3", "one", "2,3", "2"},
	{4, "3,1", "3", "1,3", "3"}, /* in the order of ranks, however they are written */
	{4, "0 , 2 ", "2 ,0", "0,2", "0,2"},
	{256, "255", "255", "255", "255"},
};

TEST_LOOP(lists_that_hold, 0, sizeof(good) / sizeof(good[0]))
{
	struct wh_view *view = make(good[_i].nodes, good[_i].members, good[_i].senders);
	const struct wh_view_subgroup *subgroup = &view->subgroups[0];

	ck_assert_uint_eq(view->members, good[_i].nodes);
	ck_assert_uint_eq(view->subgroup_count, 1);
	ck_assert_str_eq(subgroup->name, "g");
	for (uint32_t rank = 0; rank < view->members; rank++)
		ck_assert_uint_eq(view->ids[rank], rank);
	assert_ranks(subgroup->members, subgroup->member_count, good[_i].member_ranks);
	assert_ranks(subgroup->senders, subgroup->sender_count, good[_i].sender_ranks);
	ck_assert_int_eq(wh_view_check_list(good[_i].nodes, NULL, good[_i].members, NULL), WHORL_OK);
	ck_assert_int_eq(wh_view_check_list(good[_i].nodes, good[_i].members, good[_i].senders, NULL), WHORL_OK);
	wh_view_free(view);
}

static const struct {
	const char *members, *senders, *text;
} bad[] = {
	{"256", "all", "subgroup g: names node 256, expected ids from 0 to 255"},
	{"1,1", "all", "subgroup g: names node 1 twice"},
	{"", "all", "subgroup g: is \"\", expected all, function, wish, or node ids as in 0,1,2"},
	{"most", "all", "subgroup g: is \"most\", expected all, function, wish, or node ids as in 0,1,2"},
	{"half", "all", "subgroup g: is \"half\", expected all, function, wish, or node ids as in 0,1,2"},
	{"-1", "all", "subgroup g: is \"-1\", expected all, function, wish, or node ids as in 0,1,2"},
	{"0,", "all", "subgroup g: is \"0,\", expected node ids with commas between them"},
	{"0,,1", "all", "subgroup g: is \"0,,1\", expected node ids with commas between them"},
	{"0 1", "all", "subgroup g: is \"0 1\", expected node ids with commas between them"},
	{"0,1x", "all", "subgroup g: is \"0,1x\", expected node ids with commas between them"},
	{"99999999999999999999", "all", "subgroup g: names node "},
	{"0,1", "2", "subgroup g: names node 2, which is not a member"},
	{"all", "none", "subgroup g: is \"none\", expected all, half, one, or node ids as in 0,2"},
	{"all", "", "subgroup g: is \"\", expected all, half, one, or node ids as in 0,2"},
	{"all", "300", "subgroup g: names node 300, expected ids from 0 to 255"},
};

TEST_LOOP(lists_that_do_not, 0, sizeof(bad) / sizeof(bad[0]))
{
	const struct wh_subgroup_text text = {"g", bad[_i].members, bad[_i].senders, 1, 1};
	struct wh_view *view = NULL;
	struct wh_error err;

	ck_assert_int_eq(view_of_all(&view, 4, &(struct wh_layout_config){&text, 1, NULL, NULL}, &err), WHORL_CONFIG);
	ck_assert_ptr_null(view);
	ck_assert_msg(strncmp(err.text, bad[_i].text, strlen(bad[_i].text)) == 0, "%s", err.text);
}

/* The message that names the key is about its own list alone. */
TEST(one_list_is_checked_alone)
{
	struct wh_error err;

	ck_assert_int_eq(wh_view_check_list(4, NULL, "0,9", &err), WHORL_CONFIG);
	ck_assert_str_eq(err.text, "names node 9, expected ids from 0 to 3");
	ck_assert_int_eq(wh_view_check_list(10, NULL, "0,9", &err), WHORL_OK);
	ck_assert_int_eq(wh_view_check_list(4, "0,9", "0", &err), WHORL_OK); /* the members are wrong: said elsewhere */
	ck_assert_int_eq(wh_view_check_list(4, "0,1", "3", &err), WHORL_CONFIG);
	ck_assert_str_eq(err.text, "names node 3, which is not a member");
}

TEST(many_subgroups)
{
	struct wh_subgroup_text texts[50];
	char names[50][16];
	struct wh_view *view;
	struct wh_error err;

	for (int i = 0; i < 50; i++) {
		snprintf(names[i], sizeof(names[i]), "g%d", i);
		texts[i] = (struct wh_subgroup_text){names[i], i % 2 ? "all" : "1,2", i % 3 ? "all" : "one", 1, 1};
	}
	ck_assert_int_eq(view_of_all(&view, 3, &(struct wh_layout_config){texts, 50, NULL, NULL}, &err), WHORL_OK);
	ck_assert_uint_eq(view->subgroup_count, 50);
	for (int i = 0; i < 50; i++) {
		const struct wh_view_subgroup *subgroup = &view->subgroups[i];

		ck_assert_str_eq(subgroup->name, names[i]);
		ck_assert_uint_eq(subgroup->member_count, i % 2 ? 3 : 2);
		ck_assert_uint_eq(subgroup->sender_count, i % 3 ? subgroup->member_count : 1);
	}
	wh_view_free(view);
	ck_assert_int_eq(view_of_all(&view, 3, &(struct wh_layout_config){NULL, 0, NULL, NULL}, &err), WHORL_OK);
	ck_assert_uint_eq(view->subgroup_count, 0);
	wh_view_free(view);
	wh_view_free(NULL);
}

TEST(a_mistake_in_the_last_subgroup)
{
	const struct wh_subgroup_text texts[] = {{"fine", "all", "all", 1, 1}, {"wrong", "0,1", "2", 1, 1}};
	struct wh_view *view = NULL;
	struct wh_error err;

	ck_assert_int_eq(view_of_all(&view, 3, &(struct wh_layout_config){texts, 2, NULL, NULL}, &err), WHORL_CONFIG);
	ck_assert_str_eq(err.text, "subgroup wrong: names node 2, which is not a member");
}

TEST(ranks_are_found)
{
	const uint32_t ranks[] = {1, 4, 6};

	ck_assert_int_eq(wh_rank_find(ranks, 3, 1), 0);
	ck_assert_int_eq(wh_rank_find(ranks, 3, 6), 2);
	ck_assert_int_eq(wh_rank_find(ranks, 3, 5), -1);
	ck_assert_int_eq(wh_rank_find(ranks, 0, 1), -1);
}

/* ---- views that follow one another ---------------------------------------------------------------------------------- */

TEST(the_first_view_has_all_join)
{
	struct wh_view *view = make(3, "all", "all");

	ck_assert_uint_eq(view->number, 0);
	assert_ranks(view->joined, view->joined_count, "0,1,2");
	ck_assert_uint_eq(view->left_count, 0);
	wh_view_free(view);
}

/* Of any configured nodes, in whatever order they were met. */
TEST(the_first_view_may_be_of_some)
{
	const struct wh_subgroup_text text = {"g", "0,3,5,200", "all", 1, 1};
	const struct wh_layout_config layout = {&text, 1, NULL, NULL};
	struct wh_newcomer newcomers[WH_NODES_MAX];
	uint32_t count = newcomers_of("5,1,200,0", newcomers);
	struct wh_view *view;

	ck_assert_int_eq(wh_view_create(&view, 7, newcomers, count, 7, &layout, NULL), WHORL_OK);
	assert_ranks(view->ids, view->members, "0,1,5,200");
	assert_ranks(view->joined, view->joined_count, "0,1,5,200");
	ck_assert_uint_eq(view->voters, 7);
	for (uint32_t rank = 0; rank < view->members; rank++)
		ck_assert_uint_eq(view->incarnations[rank], incarnation_of(view->ids[rank], 0));
	assert_ranks(view->subgroups[0].members, view->subgroups[0].member_count, "0,2,3");
	assert_ranks(view->subgroups[0].entered, view->subgroups[0].entered_count, "0,2,3");
	ck_assert_uint_eq(view->subgroups[0].resting_count, 0);
	wh_view_free(view);
}

TEST(survivors_keep_their_order)
{
	static const struct {
		bool removed[7]; /* by rank of the view before */
		const char *newcomers, *ids, *joined, *left;
	} next[] = {
		{{false, true, false, false, true}, "", "0,2,3,5", "", "1,4"},
		{{true}, "", "2,3,5", "", "0"},
		{{false}, "", "2,3,5", "", ""}, /* no change: a view as good as any */
		{{false}, "4,0,1", "2,3,5,0,1,4", "0,1,4", ""},
		{{false, true, false, true}, "9,7", "2,5,1,4,7,9", "7,9", "3,0"},
		{{true, true, true, true, true}, "0", "9,0", "0", "2,5,1,4,7"},
		{{true}, "", "0", "", "9"},
	};
	const struct wh_layout_config layout = {NULL, 0, NULL, NULL};
	struct wh_newcomer newcomers[WH_NODES_MAX];
	struct wh_view *view, *before;

	ck_assert_int_eq(view_of_all(&before, 6, &layout, NULL), WHORL_OK);
	for (size_t i = 0; i < sizeof(next) / sizeof(next[0]); i++) {
		const uint32_t count = newcomers_of(next[i].newcomers, newcomers);
		const struct wh_next what = {
			.removed = next[i].removed, .newcomers = newcomers, .newcomer_count = count};

		ck_assert_int_eq(wh_view_next(&view, before, &what, &layout, NULL), WHORL_OK);
		ck_assert_uint_eq(view->number, i + 1);
		ck_assert_uint_eq(view->voters, view->members);
		assert_ranks(view->ids, view->members, next[i].ids);
		assert_ranks(view->left, view->left_count, next[i].left);
		assert_ranks(view->joined, view->joined_count, next[i].joined);
		for (uint32_t rank = 0; rank < view->members; rank++) {
			uint64_t incarnation = incarnation_of(view->ids[rank], 0);

			ck_assert_uint_eq(view->incarnations[rank], incarnation);
			ck_assert_int_eq(wh_view_rank(view, view->ids[rank]), rank);
			ck_assert_int_eq(wh_view_rank_of(view, view->ids[rank], incarnation), rank);
			ck_assert_int_eq(wh_view_rank_of(view, view->ids[rank], incarnation + 1), -1);
		}
		for (uint32_t i_left = 0; i_left < view->left_count; i_left++)
			ck_assert_int_eq(wh_view_rank(view, view->left[i_left]), -1);
		wh_view_free(before);
		before = view;
	}
	wh_view_free(before);
}

/* No node is removed, none follows: NULL says so. */
TEST(what_is_not_given_is_nothing)
{
	const struct wh_layout_config layout = {NULL, 0, NULL, NULL};
	struct wh_view *view, *before;

	ck_assert_int_eq(view_of_all(&before, 3, &layout, NULL), WHORL_OK);
	ck_assert_int_eq(wh_view_next(&view, before, &(struct wh_next){.removed = NULL}, &layout, NULL), WHORL_OK);
	assert_ranks(view->ids, view->members, "0,1,2");
	ck_assert_uint_eq(view->joined_count + view->left_count, 0);
	wh_view_free(before);
	wh_view_free(view);
}

/* ---- the same views ----------------------------------------------------------------------------------------------------- */

static struct wh_view *make_rich(void)
{
	const struct wh_subgroup_text texts[] = {{"g", "all", "all", 2, 1}, {"h", "0,1,3", "half", 1, 1}};
	const struct wh_layout_config layout = {texts, 2, NULL, NULL};
	const bool removed[4] = {false, false, true, false};
	const uint64_t rests[3] = {1, 0, 0};
	struct wh_newcomer newcomers[WH_NODES_MAX];
	const struct wh_next next = {.removed = removed,
				     .newcomers = newcomers,
				     .newcomer_count = newcomers_of("7", newcomers),
				     .rests = rests};
	struct wh_view *before, *view;

	ck_assert_int_eq(view_of_all(&before, 4, &layout, NULL), WHORL_OK);
	ck_assert_int_eq(wh_view_next(&view, before, &next, &layout, NULL), WHORL_OK);
	wh_view_free(before);
	return view;
}

TEST(every_difference_counts)
{
	struct wh_view *one = make_rich(), *other = make_rich();
	struct wh_view_subgroup *shard = &other->subgroups[0];
	uint32_t *const numbers[] = {
		&other->members,
		&other->ids[1],
		&other->voters,
		&other->joined_count,
		&other->joined[0],
		&other->left_count,
		&other->left[0],
		&other->subgroup_count,
		&shard->configured,
		&shard->shard,
		&shard->shards,
		&shard->member_count,
		&shard->members[1],
		&shard->sender_count,
		&shard->senders[0],
		&shard->resting_count,
		&shard->resting[0],
		&other->subgroups[1].entered_count,
		&other->subgroups[1].sender_count,
	};

	ck_assert(wh_view_equals(one, other));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		--*numbers[i];
		ck_assert_msg(!wh_view_equals(one, other), "%zu", i);
		++*numbers[i];
	}
	other->number++;
	ck_assert(!wh_view_equals(one, other));
	other->number--;
	other->incarnations[2]++;
	ck_assert(!wh_view_equals(one, other));
	other->incarnations[2]--;
	shard->name[0] = 'x';
	ck_assert(!wh_view_equals(one, other));
	shard->name[0] = 'g';
	shard->state = WH_SHARD_LOST;
	ck_assert(!wh_view_equals(one, other));
	shard->state = WH_SHARD_ACTIVE;
	ck_assert(wh_view_equals(one, other));
	wh_view_free(one);
	wh_view_free(other);
}

/* ---- quorums ------------------------------------------------------------------------------------------------------------ */

static const struct {
	struct wh_quorum quorum;
	uint32_t votes;
	bool tie_breaker_votes, holds;
} quorums[] = {
	{{1, -1}, 0, false, false},     {{1, -1}, 1, false, true},
	{{2, -1}, 1, false, false},     {{2, -1}, 2, false, true},
	{{2, 0}, 1, true, true},        {{2, 0}, 1, false, false},
	{{2, -1}, 1, true, false}, /* how can there be a vote of a tie-breaker that is none? */
	{{3, -1}, 1, false, false},     {{3, -1}, 2, false, true},
	{{3, 0}, 1, true, false}, /* half of three is two */
	{{4, -1}, 2, false, false},     {{4, 3}, 2, true, true},
	{{4, 3}, 2, false, false},      {{4, 3}, 1, true, false},
	{{4, 3}, 3, false, true}, /* a majority needs no node in particular */
	{{5, -1}, 2, false, false},     {{5, -1}, 3, false, true},
	{{256, -1}, 128, false, false}, {{256, -1}, 129, false, true},
	{{256, 200}, 128, true, true},
};

TEST_LOOP(a_quorum_holds_or_not, 0, sizeof(quorums) / sizeof(quorums[0]))
{
	ck_assert(wh_quorum_holds(&quorums[_i].quorum, quorums[_i].votes, quorums[_i].tie_breaker_votes) ==
		  quorums[_i].holds);
}

/* The members of a view split in two in every way: both sides at once never have a quorum. */
TEST(two_sides_never_both)
{
	for (uint32_t members = 1; members <= 8; members++) {
		for (int tie_breaker = -1; tie_breaker < (int)members; tie_breaker++) {
			const struct wh_quorum quorum = {members, tie_breaker};
			uint32_t all = (1u << members) - 1;

			for (uint32_t side = 0; side <= all; side++) {
				bool votes = tie_breaker >= 0 && (side >> tie_breaker & 1);
				uint32_t size = (uint32_t)__builtin_popcount(side);
				bool one = wh_quorum_holds(&quorum, size, votes);
				bool other = wh_quorum_holds(&quorum, members - size, tie_breaker >= 0 && !votes);

				ck_assert(!(one && other));
				ck_assert(one || other || (2 * size == members && tie_breaker < 0));
			}
		}
	}
}

TEST_SUITE("view")
