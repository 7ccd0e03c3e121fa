/* test_layout.c - shards: how they are shared out, who stays, what is lost, the application's function. Tables of cases;
 * test_layout_random.c draws its own.
 *
 * Shards are written as "0*,1 -2* !": nodes 0 and 1 of which 0 is a sender; an inactive shard of node 2; a lost one.
 */
#include <string.h>

#include "membership/view.h"
#include "tests/harness.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define VIEWS 4

static void append(char *text, size_t bytes, const char *more)
{
	ck_assert_uint_lt(strlen(text) + strlen(more), bytes);
	strcat(text, more);
}

static const char *shards_text(const struct wh_view *view, char *text, size_t bytes)
{
	const char *marks[] = {[WH_SHARD_ACTIVE] = "", [WH_SHARD_INACTIVE] = "-", [WH_SHARD_LOST] = "!"};

	text[0] = '\0';
	for (uint32_t g = 0; g < view->subgroup_count; g++) {
		const struct wh_view_subgroup *shard = &view->subgroups[g];

		append(text, bytes, g > 0 ? " " : "");
		append(text, bytes, marks[shard->state]);
		for (uint32_t i = 0; i < shard->member_count; i++) {
			char one[16];

			snprintf(one, sizeof(one), "%s%u%s", i > 0 ? "," : "", view->ids[shard->members[i]],
				 wh_rank_find(shard->senders, shard->sender_count, shard->members[i]) >= 0 ? "*" : "");
			append(text, bytes, one);
		}
	}
	return text;
}

static void assert_shards(const struct wh_view *view, const char *expected)
{
	char text[1024];

	ck_assert_str_eq(shards_text(view, text, sizeof(text)), expected);
}

static struct wh_view *first_view(uint32_t nodes, const struct wh_layout_config *layout)
{
	struct wh_view *view;
	struct wh_error err;

	ck_assert_msg(wh_view_create(&view, nodes, layout, &err) == WHORL_OK, "%s", err.text);
	return view;
}

/* The view after `*view`, without the nodes "1,3" ("": all stay); it takes the place of `*view`. */
static void next_view(struct wh_view **view, const char *ids, const struct wh_layout_config *layout)
{
	bool removed[WH_NODES_MAX] = {false};
	struct wh_view *next;

	for (const char *at = ids; *at != '\0'; at += strspn(at, ",")) {
		int rank = wh_view_rank(*view, (uint32_t)strtoul(at, (char **)&at, 10));

		ck_assert_int_ge(rank, 0);
		removed[rank] = true;
	}
	ck_assert_int_eq(wh_view_next(&next, *view, removed, layout, NULL), WHORL_OK);
	wh_view_free(*view);
	*view = next;
}

/* ---- lists ------------------------------------------------------------------------------------------------------------ */

static const struct {
	uint32_t nodes;
	struct wh_subgroup_text text;
	const char *first;
	struct {
		const char *removed, *shards;
	} next[VIEWS];
} stories[] = {
	/* One shard. Senders are chosen anew in each view, of the shard's members and not of the view's. */
	{4, {"g", "all", "all", 1, 1}, "0*,1*,2*,3*", {{"0", "1*,2*,3*"}, {"1,2", "3*"}, {"", "3*"}}},
	{5, {"g", "all", "half", 1, 1}, "0*,1,2*,3,4*", {{"0", "1,2*,3,4*"}, {"2", "1*,3,4*"}}},
	{3, {"g", "all", "one", 1, 1}, "0*,1,2", {{"1", "0*,2"}, {"0", "2*"}}},
	{5, {"g", "1,2,4", "half", 1, 1}, "1*,2,4*", {{"0,3", "1*,2,4*"}, {"1", "2,4*"}}},

	/* A list names node ids, whatever their ranks are by now. */
	{5, {"g", "0,2,4", "4,0", 1, 1}, "0*,2,4*", {{"1", "0*,2,4*"}, {"0", "2,4*"}, {"3", "2,4*"}}},

	/* No sender is left, then no member. */
	{3, {"g", "0,1", "0", 1, 1}, "0*,1", {{"0", "-1"}, {"1", "!"}, {"", "!"}}},
	{3, {"g", "all", "all", 1, 3}, "0*,1*,2*", {{"2", "-0*,1*"}}},
	{3, {"g", "0,1", "all", 1, 3}, "-0*,1*", {{"2", "-0*,1*"}}},

	/* Shares are even, larger ones first. */
	{4, {"g", "all", "all", 2, 1}, "0*,1* 2*,3*", {{"", "0*,1* 2*,3*"}}},
	{7, {"g", "all", "one", 3, 1}, "0*,1,2 3*,4 5*,6", {{"", "0*,1,2 3*,4 5*,6"}}},
	{8, {"g", "all", "half", 3, 1}, "0*,1,2* 3*,4,5* 6*,7", {{"", "0*,1,2* 3*,4,5* 6*,7"}}},
	{6, {"g", "5,0,2,3", "all", 3, 1}, "0*,2* 3* 5*", {{"", "0*,2* 3* 5*"}}},
	{3, {"g", "all", "all", 3, 1}, "0* 1* 2*", {{"", "0* 1* 2*"}}},
	{4, {"g", "all", "0,1", 2, 1}, "0*,1* -2,3", {{"", "0*,1* -2,3"}}},

	/* Nobody moves, however uneven shards have become, and what is lost stays lost. */
	{6,
	 {"g", "all", "all", 2, 1},
	 "0*,1*,2* 3*,4*,5*",
	 {{"3,4", "0*,1*,2* 5*"}, {"5", "0*,1*,2* !"}, {"0", "1*,2* !"}}},
	{6,
	 {"g", "all", "one", 3, 2},
	 "0*,1 2*,3 4*,5",
	 {{"2", "0*,1 -3* 4*,5"}, {"0,1", "! -3* 4*,5"}, {"3", "! ! 4*,5"}}},
	{4, {"g", "all", "0,2", 2, 1}, "0*,1 2*,3", {{"0", "-1 2*,3"}, {"1", "! 2*,3"}}},
};

START_TEST(lists_through_the_views)
{
	const struct wh_layout_config layout = {&stories[_i].text, 1, NULL, NULL};
	struct wh_view *view = first_view(stories[_i].nodes, &layout);

	assert_shards(view, stories[_i].first);
	for (int v = 0; v < VIEWS && stories[_i].next[v].shards != NULL; v++) {
		next_view(&view, stories[_i].next[v].removed, &layout);
		assert_shards(view, stories[_i].next[v].shards);
	}
	wh_view_free(view);
}
END_TEST

/* Shards stand in the view in the order of the configuration, in every view, and say whose they are. */
START_TEST(shards_say_what_they_are)
{
	const struct wh_subgroup_text texts[] = {
		{"a", "all", "all", 1, 1}, {"b", "all", "all", 3, 1}, {"c", "0", "all", 1, 1}};
	const struct wh_layout_config layout = {texts, COUNT(texts), NULL, NULL};
	const uint32_t configured[] = {0, 1, 1, 1, 2}, shard[] = {0, 0, 1, 2, 0};
	struct wh_view *view = first_view(4, &layout);

	for (int v = 0; v < 2; v++) {
		ck_assert_uint_eq(view->subgroup_count, 5);
		for (int g = 0; g < 5; g++) {
			ck_assert_uint_eq(view->subgroups[g].configured, configured[g]);
			ck_assert_uint_eq(view->subgroups[g].shard, shard[g]);
			ck_assert_uint_eq(view->subgroups[g].shards, texts[configured[g]].shards);
			ck_assert_str_eq(view->subgroups[g].name, texts[configured[g]].name);
		}
		assert_shards(view, v == 0 ? "0*,1*,2*,3* 0*,1* 2* 3* 0*" : "1*,2*,3* 1* 2* 3* !");
		next_view(&view, v == 0 ? "0" : "", &layout);
	}
	wh_view_free(view);
}
END_TEST

/* Members that are in no shard go where fewest are, the first of equals; never to a shard that is lost. No configuration
 * leads to such members yet: here they are taken out of a view by hand. */
START_TEST(who_is_in_no_shard_goes_to_the_smallest)
{
	const struct wh_subgroup_text text = {"g", "0,1,2,3,4,5,6", "all", 3, 1};
	const struct wh_layout_config layout = {&text, 1, NULL, NULL};
	struct wh_view *view = first_view(8, &layout);

	assert_shards(view, "0*,1*,2* 3*,4* 5*,6*");
	view->subgroups[0].member_count = 1;
	next_view(&view, "3,4", &layout);
	assert_shards(view, "0*,1*,2* ! 5*,6*"); /* not the place of those who died; 7 is not one of the list */
	view->subgroups[0].member_count = view->subgroups[2].member_count = 0;
	view->subgroups[0].state = view->subgroups[2].state = WH_SHARD_INACTIVE;
	next_view(&view, "1", &layout);
	assert_shards(view, "0*,5* ! 2*,6*");
	for (int g = 0; g < 3; g++) {
		view->subgroups[g].member_count = 0;
		view->subgroups[g].state = WH_SHARD_LOST;
	}
	next_view(&view, "", &layout);
	assert_shards(view, "! ! !");
	wh_view_free(view);
}
END_TEST

/* ---- the application's function ------------------------------------------------------------------------------------------ */

#define SHARDS 3

struct wishes { /* by view, shard and node id: s sender, m member, others nothing */
	const char *of[VIEWS][SHARDS];
};

static enum wh_role wish(const struct wh_view *view, const char *subgroup, uint32_t shard, uint32_t id, void *ctx)
{
	const struct wishes *wishes = ctx;
	char role = wishes->of[view->number][shard][id];

	ck_assert_str_eq(subgroup, "g");
	ck_assert_int_ge(wh_view_rank(view, id), 0);
	ck_assert_uint_eq(view->subgroup_count, 0);
	ck_assert_uint_eq(view->joined_count, view->number == 0 ? view->members : 0);
	return role == 's' ? WH_ROLE_SENDER : role == 'm' ? WH_ROLE_MEMBER : WH_ROLE_NONE;
}

static const struct {
	struct wishes wishes;
	const char *first;
	struct {
		const char *removed, *shards;
	} next[VIEWS];
} functions[] = {
	/* In one shard at most: the first that takes it. */
	{{{{"sm...", "sssss", "mmmmm"}}}, "0*,1 2*,3*,4* -", {{NULL, NULL}}},
	{{{{".....", "..m..", "ss.s."}}}, "- -2 0*,1*,3*", {{NULL, NULL}}},

	/* Members may come and go and change what they are, as long as one is left that was there. */
	{{{{"ss...", "..ss.", "....s"}, {"ms...", "..s..", "...ms"}, {".....", "s.s..", ".s.ms"}}},
	 "0*,1* 2*,3* 4*",
	 {{"", "0,1* 2* 3,4*"}, {"", "! 0*,2* 1*,3,4*"}}},

	/* Others do not inherit, neither at once nor later; a shard behind may have them. */
	{{{{"ss...", "..ss.", "....s"}, {"..ss.", "..ss.", "....s"}, {"sssss", ".....", "sssss"}}},
	 "0*,1* 2*,3* 4*",
	 {{"0,1", "! 2*,3* 4*"}, {"", "! ! 2*,3*,4*"}}},

	/* A shard that never had members may get some. */
	{{{{".....", "s....", "....."}, {"ss...", "ss...", "...m."}, {"s....", "ss...", "..sm."}}},
	 "- 0* -",
	 {{"", "0*,1* ! -3"}, {"", "0* ! 2*,3"}}},
};

START_TEST(the_function_decides)
{
	const struct wh_subgroup_text text = {"g", "function", "says nothing", SHARDS, 1};
	struct wishes wishes = functions[_i].wishes;
	const struct wh_layout_config layout = {&text, 1, wish, &wishes};
	struct wh_view *view = first_view(5, &layout);

	assert_shards(view, functions[_i].first);
	for (int v = 0; v < VIEWS && functions[_i].next[v].shards != NULL; v++) {
		next_view(&view, functions[_i].next[v].removed, &layout);
		assert_shards(view, functions[_i].next[v].shards);
	}
	wh_view_free(view);
}
END_TEST

/* ---- mistakes --------------------------------------------------------------------------------------------------------------- */

static const struct {
	struct wh_subgroup_text text;
	const char *message;
} mistakes[] = {
	{{"g", "all", "all", 5, 1}, "subgroup g: asks for 5 shards, expected at most 4, one for each member"},
	{{"g", "1,3", "all", 3, 1}, "subgroup g: asks for 3 shards, expected at most 2, one for each member"},
	{{"g", "all", "all", 0, 1}, "subgroup g: asks for 0 shards, expected 1 to 64"},
	{{"g", "all", "all", 65, 1}, "subgroup g: asks for 65 shards, expected 1 to 64"},
	{{"g", "function", "all", 2, 1}, "subgroup g: members = function, and the program gives none"},
	{{"g", "functions", "all", 1, 1},
	 "subgroup g: is \"functions\", expected all, function, or node ids as in 0,1,2"},
};

START_TEST(layouts_that_do_not_hold)
{
	const struct wh_layout_config layout = {&mistakes[_i].text, 1, NULL, NULL};
	struct wh_view *view = NULL;
	struct wh_error err;

	ck_assert_int_eq(wh_view_create(&view, 4, &layout, &err), WHORL_CONFIG);
	ck_assert_str_eq(err.text, mistakes[_i].message);
	ck_assert_int_eq(wh_view_create(&view, 4, &layout, NULL), WHORL_CONFIG);
	ck_assert_ptr_null(view);
}
END_TEST

START_TEST(shards_are_checked_alone)
{
	ck_assert_int_eq(wh_view_check_shards(4, "all", 4, NULL), WHORL_OK);
	ck_assert_int_eq(wh_view_check_shards(4, "all", 5, NULL), WHORL_CONFIG);
	ck_assert_int_eq(wh_view_check_shards(4, "2,3", 3, NULL), WHORL_CONFIG);
	ck_assert_int_eq(wh_view_check_shards(4, "2,9", 3, NULL), WHORL_OK); /* the list is wrong: said elsewhere */
	ck_assert_int_eq(wh_view_check_shards(4, "function", 64, NULL), WHORL_OK); /* nobody knows */
	ck_assert_int_eq(wh_view_check_shards(4, "function", 65, NULL), WHORL_CONFIG);
	ck_assert_int_eq(wh_view_check_list(4, NULL, "function", NULL), WHORL_OK);
	ck_assert_int_eq(wh_view_check_list(4, "function", "whoever", NULL), WHORL_OK);
}
END_TEST

static Suite *suite(void)
{
	Suite *all = suite_create("layout");
	TCase *cases = tcase_create("layout");

	tcase_add_loop_test(cases, lists_through_the_views, 0, COUNT(stories));
	tcase_add_test(cases, shards_say_what_they_are);
	tcase_add_test(cases, who_is_in_no_shard_goes_to_the_smallest);
	tcase_add_loop_test(cases, the_function_decides, 0, COUNT(functions));
	tcase_add_loop_test(cases, layouts_that_do_not_hold, 0, COUNT(mistakes));
	tcase_add_test(cases, shards_are_checked_alone);
	suite_add_tcase(all, cases);
	return all;
}

int main(void)
{
	return test_main(suite());
}
