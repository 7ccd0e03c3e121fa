/* test_view.c - views from a configuration: lists of members and senders, ranks, mistakes. */
#include <string.h>

#include "membership/view.h"
#include "tests/harness.h"

static struct wh_view *make(uint32_t nodes, const char *members, const char *senders)
{
	const struct wh_subgroup_text text = {"g", members, senders, 1, 1};
	struct wh_view *view;
	struct wh_error err;

	ck_assert_msg(wh_view_create(&view, nodes, &(struct wh_layout_config){&text, 1, NULL, NULL}, &err) == WHORL_OK,
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

START_TEST(lists_that_hold)
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
END_TEST

static const struct {
	const char *members, *senders, *text;
} bad[] = {
	{"4", "all", "subgroup g: names node 4, expected ids from 0 to 3"},
	{"1,1", "all", "subgroup g: names node 1 twice"},
	{"", "all", "subgroup g: is \"\", expected all, function, or node ids as in 0,1,2"},
	{"most", "all", "subgroup g: is \"most\", expected all, function, or node ids as in 0,1,2"},
	{"half", "all", "subgroup g: is \"half\", expected all, function, or node ids as in 0,1,2"},
	{"-1", "all", "subgroup g: is \"-1\", expected all, function, or node ids as in 0,1,2"},
	{"0,", "all", "subgroup g: is \"0,\", expected node ids with commas between them"},
	{"0,,1", "all", "subgroup g: is \"0,,1\", expected node ids with commas between them"},
	{"0 1", "all", "subgroup g: is \"0 1\", expected node ids with commas between them"},
	{"0,1x", "all", "subgroup g: is \"0,1x\", expected node ids with commas between them"},
	{"99999999999999999999", "all", "subgroup g: names node "},
	{"0,1", "2", "subgroup g: names node 2, which is not a member"},
	{"all", "none", "subgroup g: is \"none\", expected all, half, one, or node ids as in 0,2"},
	{"all", "", "subgroup g: is \"\", expected all, half, one, or node ids as in 0,2"},
	{"all", "7", "subgroup g: names node 7, expected ids from 0 to 3"},
};

START_TEST(lists_that_do_not)
{
	const struct wh_subgroup_text text = {"g", bad[_i].members, bad[_i].senders, 1, 1};
	struct wh_view *view = NULL;
	struct wh_error err;

	ck_assert_int_eq(wh_view_create(&view, 4, &(struct wh_layout_config){&text, 1, NULL, NULL}, &err),
			 WHORL_CONFIG);
	ck_assert_ptr_null(view);
	ck_assert_msg(strncmp(err.text, bad[_i].text, strlen(bad[_i].text)) == 0, "%s", err.text);
}
END_TEST

/* The message that names the key is about its own list alone. */
START_TEST(one_list_is_checked_alone)
{
	struct wh_error err;

	ck_assert_int_eq(wh_view_check_list(4, NULL, "0,9", &err), WHORL_CONFIG);
	ck_assert_str_eq(err.text, "names node 9, expected ids from 0 to 3");
	ck_assert_int_eq(wh_view_check_list(4, "0,9", "0", &err), WHORL_OK); /* the members are wrong: said elsewhere */
	ck_assert_int_eq(wh_view_check_list(4, "0,1", "3", &err), WHORL_CONFIG);
	ck_assert_str_eq(err.text, "names node 3, which is not a member");
}
END_TEST

START_TEST(many_subgroups)
{
	struct wh_subgroup_text texts[50];
	char names[50][16];
	struct wh_view *view;
	struct wh_error err;

	for (int i = 0; i < 50; i++) {
		snprintf(names[i], sizeof(names[i]), "g%d", i);
		texts[i] = (struct wh_subgroup_text){names[i], i % 2 ? "all" : "1,2", i % 3 ? "all" : "one", 1, 1};
	}
	ck_assert_int_eq(wh_view_create(&view, 3, &(struct wh_layout_config){texts, 50, NULL, NULL}, &err), WHORL_OK);
	ck_assert_uint_eq(view->subgroup_count, 50);
	for (int i = 0; i < 50; i++) {
		const struct wh_view_subgroup *subgroup = &view->subgroups[i];

		ck_assert_str_eq(subgroup->name, names[i]);
		ck_assert_uint_eq(subgroup->member_count, i % 2 ? 3 : 2);
		ck_assert_uint_eq(subgroup->sender_count, i % 3 ? subgroup->member_count : 1);
	}
	wh_view_free(view);
	ck_assert_int_eq(wh_view_create(&view, 3, &(struct wh_layout_config){NULL, 0, NULL, NULL}, &err), WHORL_OK);
	ck_assert_uint_eq(view->subgroup_count, 0);
	wh_view_free(view);
	wh_view_free(NULL);
}
END_TEST

START_TEST(a_mistake_in_the_last_subgroup)
{
	const struct wh_subgroup_text texts[] = {{"fine", "all", "all", 1, 1}, {"wrong", "0,1", "2", 1, 1}};
	struct wh_view *view = NULL;
	struct wh_error err;

	ck_assert_int_eq(wh_view_create(&view, 3, &(struct wh_layout_config){texts, 2, NULL, NULL}, &err),
			 WHORL_CONFIG);
	ck_assert_str_eq(err.text, "subgroup wrong: names node 2, which is not a member");
}
END_TEST

START_TEST(ranks_are_found)
{
	const uint32_t ranks[] = {1, 4, 6};

	ck_assert_int_eq(wh_rank_find(ranks, 3, 1), 0);
	ck_assert_int_eq(wh_rank_find(ranks, 3, 6), 2);
	ck_assert_int_eq(wh_rank_find(ranks, 3, 5), -1);
	ck_assert_int_eq(wh_rank_find(ranks, 0, 1), -1);
}
END_TEST

static Suite *suite(void)
{
	Suite *all = suite_create("view");
	TCase *cases = tcase_create("view");

	tcase_add_loop_test(cases, lists_that_hold, 0, sizeof(good) / sizeof(good[0]));
	tcase_add_loop_test(cases, lists_that_do_not, 0, sizeof(bad) / sizeof(bad[0]));
	tcase_add_test(cases, one_list_is_checked_alone);
	tcase_add_test(cases, many_subgroups);
	tcase_add_test(cases, a_mistake_in_the_last_subgroup);
	tcase_add_test(cases, ranks_are_found);
	suite_add_tcase(all, cases);
	return all;
}

int main(void)
{
	return test_main(suite());
}
