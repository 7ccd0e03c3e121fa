/* test_layout.c - shards: how they are shared out, which nodes stay, come and rest, what is lost, the application's function.
 * Tables of cases; test_layout_random.c draws its own.
 *
 * Shards are written as "0*,1z,3+* -2* !": nodes 0, 1 and 3 of which 0 and 3 are senders, 1 rests, and 3 has entered in this view
 * (which is not said in the first, where all have); an inactive shard of node 2; a lost one.
 */
#include <string.h>

#include "membership/view.h"
#include "tests/harness.h"
#include "tests/support/newcomers.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define VIEWS 6

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
			uint32_t rank = shard->members[i];
			bool entered = wh_rank_find(shard->entered, shard->entered_count, rank) >= 0;
			char one[16];

			ck_assert(entered || view->number > 0);
			snprintf(one, sizeof(one), "%s%u%s%s%s%s", i > 0 ? "," : "", view->ids[rank],
				 wh_rank_find(shard->ending, shard->ending_count, rank) >= 0 ? "e" : "",
				 wh_rank_find(shard->resting, shard->resting_count, rank) >= 0 ? "z" : "",
				 entered && view->number > 0 ? "+" : "",
				 wh_rank_find(shard->senders, shard->sender_count, rank) >= 0 ? "*" : "");
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

	ck_assert_msg(view_of_all(&view, nodes, layout, &err) == WHORL_OK, "%s", err.text);
	return view;
}

struct change {
	const char *what; /* node ids: "0,1" go; "+2" comes; "z3,4" rest, in whichever shard they are, "z": none. "0,1 z3".
			 "e5" has ended; if that is all, it is a view that settles. "k": nobody leaves its shard */
	const char *shards;
};

/* The bit of each of these, for each shard. */
static void set_bits(const struct wh_view *view, const struct wh_newcomer *nodes, uint32_t count, uint64_t *bits)
{
	ck_assert_uint_eq(wh_rest_words(view), 1);
	for (uint32_t g = 0; g < view->subgroup_count; g++)
		for (uint32_t i = 0; i < count; i++)
			bits[g] |= UINT64_C(1) << wh_view_rank(view, nodes[i].id);
}

/* The view after `*view`; it takes the place of `*view`. */
static void next_view(struct wh_view **view, const char *what, const struct wh_layout_config *layout)
{
	struct wh_newcomer nodes[WH_NODES_MAX], newcomers[WH_NODES_MAX];
	bool removed[WH_NODES_MAX] = {false};
	uint64_t rests[WH_SHARDS_MAX] = {0};
	uint64_t ended[WH_SHARDS_MAX] = {0};
	struct wh_next next = {.removed = removed, .newcomers = newcomers};
	struct wh_view *after;

	for (const char *at = what; *at != '\0'; at += strcspn(at, " "), at += *at == ' ') {
		uint32_t count =
			newcomers_of(strchr("+zek", *at) != NULL ? at + 1 : at, *at == '+' ? newcomers : nodes);

		if (*at == 'k')
			next.keeps = wh_keeps_bit(0);
		if (*at == '+')
			next.newcomer_count = count;
		else if (*at == 'z')
			set_bits(*view, nodes, count, rests);
		else if (*at == 'e')
			set_bits(*view, nodes, count, ended);
		for (uint32_t i = 0; *at >= '0' && *at <= '9' && i < count; i++)
			removed[wh_view_rank(*view, nodes[i].id)] = true;
		if (*at == 'z')
			next.rests = rests;
		if (*at == 'e')
			next.ended = ended;
	}
	next.settles = what[0] == 'e' && strchr(what, ' ') == NULL;
	ck_assert_int_eq(wh_view_next(&after, *view, &next, layout, NULL), WHORL_OK);
	wh_view_free(*view);
	*view = after;
}

/* ---- lists ------------------------------------------------------------------------------------------------------------ */

static const struct {
	uint32_t nodes;
	struct wh_subgroup_text text;
	const char *first;
	struct change next[VIEWS];
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

	/* No node moves, however uneven shards have become, and what is lost stays lost. */
	{6,
	 {"g", "all", "all", 2, 1},
	 "0*,1*,2* 3*,4*,5*",
	 {{"3,4", "0*,1*,2* 5*"}, {"5", "0*,1*,2* !"}, {"0", "1*,2* !"}}},
	{6,
	 {"g", "all", "one", 3, 2},
	 "0*,1 2*,3 4*,5",
	 {{"2", "0*,1 -3* 4*,5"}, {"0,1", "! -3* 4*,5"}, {"3", "! ! 4*,5"}}},
	{4, {"g", "all", "0,2", 2, 1}, "0*,1 2*,3", {{"0", "-1 2*,3"}, {"1", "! 2*,3"}}},

	/* A newcomer goes where fewest are, the first of equals; never to a shard that is lost. */
	{3, {"g", "all", "all", 1, 1}, "0*,1*,2*", {{"1 +9", "0*,2*,9+*"}, {"", "0*,2*,9*"}, {"0 +1", "2*,9*,1+*"}}},
	{4,
	 {"g", "all", "all", 2, 1},
	 "0*,1* 2*,3*",
	 {{"+4,5,6", "0*,1*,4+*,6+* 2*,3*,5+*"},
	  {"2,3,5", "0*,1*,4*,6* !"},
	  {"+7", "0*,1*,4*,6*,7+* !"},
	  {"0,1,4,6,7 +8", "! !"},
	  {"+9", "! !"}}},
	{5, {"g", "all", "all", 3, 1}, "0*,1* 2*,3* 4*", {{"0,1,4 +7", "! 2*,3*,7+* !"}}},
	/* First where the minimum is not met, and there where least is missing. */
	{6, {"g", "all", "one", 2, 3}, "0*,1,2 3*,4,5", {{"3,4", "0*,1,2 -5*"}, {"+6,7", "0*,1,2 5*,6+,7+"}}},
	{7, {"g", "all", "one", 2, 3}, "0*,1,2,3 4*,5,6", {{"0,1", "-2*,3 4*,5,6"}, {"+8,9", "2*,3,8+,9+ 4*,5,6"}}},
	{9,
	 {"g", "all", "one", 3, 3},
	 "0*,1,2 3*,4,5 6*,7,8",
	 {{"0,1,3", "-2* -4*,5 6*,7,8"}, {"+10,11", "-2*,11+ 4*,5,10+ 6*,7,8"}, {"+12", "2*,11,12+ 4*,5,10 6*,7,8"}}},
	/* A list says which nodes may come. A shard that no node was in is not lost. */
	{3, {"g", "1,4,5", "5", 1, 1}, "-1", {{"+3,4", "-1,4+"}, {"1 +5", "4,5+*"}, {"4,5", "!"}, {"+5", "!"}}},
	{2, {"g", "5,6", "all", 2, 2}, "- -", {{"+4,5", "-5+* -"}, {"+6", "5*,6+* -"}}},
	{1, {"g", "all", "all", 2, 2}, "-0* -", {{"+1", "0*,1+* -"}, {"+2,3", "0*,1* 2+*,3+*"}, {"2,3", "0*,1* !"}}},

	/* A node that rests does not send, and others take over where some should; one that sends goes on. */
	{3,
	 {"g", "all", "all", 1, 1},
	 "0*,1*,2*",
	 {{"z1", "0*,1z,2*"},
	  {"", "0*,1z,2*"},
	  {"+3", "0*,1z,2*,3+*"},
	  {"0 z1,2", "1z,2z,3*"},
	  {"z", "1*,2*,3*"},
	  {"z1,2,3", "-1z,2z,3z"}}},
	{4,
	 {"g", "all", "one", 1, 1},
	 "0*,1,2,3",
	 {{"z0", "0z,1*,2,3"},
	  {"z", "0,1*,2,3"},
	  {"1", "0*,2,3"},
	  {"0 z2,0", "2z,3*"},
	  {"z2,3", "-2z,3z"},
	  {"+4", "2z,3z,4+*"}}},
	{5,
	 {"g", "all", "half", 1, 1},
	 "0*,1,2*,3,4*",
	 {{"z0", "0z,1*,2*,3,4*"},
	  {"z3", "0,1*,2*,3z,4*"},
	  {"1,2", "0*,3z,4*"},
	  {"+5,6", "0*,3z,4*,5+*,6+"},
	  {"z0,3,4", "0z,3z,4z,5*,6*"}}},
	{4, {"g", "all", "0,2", 1, 1}, "0*,1,2*,3", {{"z0,3", "0z,1,2*,3z"}, {"2", "-0z,1,3z"}, {"z", "0*,1,3"}}},
	/* A node that goes and comes back has forgotten that it rested. */
	{3, {"g", "all", "all", 1, 1}, "0*,1*,2*", {{"z1", "0*,1z,2*"}, {"1", "0*,2*"}, {"+1", "0*,2*,1+*"}}},
	/* Only a member of a shard can rest in it: what is said of others is nothing. */
	{4, {"g", "all", "all", 2, 1}, "0*,1* 2*,3*", {{"z1,3", "0*,1z 2*,3z"}, {"1", "0* 2*,3z"}}},
};

TEST_LOOP(lists_through_the_views, 0, COUNT(stories))
{
	const struct wh_layout_config layout = {&stories[_i].text, 1, NULL, NULL};
	struct wh_view *view = first_view(stories[_i].nodes, &layout);

	assert_shards(view, stories[_i].first);
	for (int v = 0; v < VIEWS && stories[_i].next[v].shards != NULL; v++) {
		next_view(&view, stories[_i].next[v].what, &layout);
		assert_shards(view, stories[_i].next[v].shards);
	}
	wh_view_free(view);
}

/* Shards stand in the view in the order of the configuration, in every view, and say to which subgroup they belong. */
TEST(shards_say_what_they_are)
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

/* The first view need not be of all that are configured. */
static const struct {
	const char *ids;
	struct wh_subgroup_text text;
	const char *shards;
} firsts[] = {
	{"1,3,4", {"g", "all", "all", 1, 1}, "1*,3*,4*"},
	{"1,3,4", {"g", "all", "half", 2, 1}, "1*,3 4*"},
	{"1,3,4", {"g", "0,1,2,4", "2,4", 1, 1}, "1,4*"},
	{"3", {"g", "0,1", "all", 1, 1}, "-"},      /* no node is in it, but it is not lost */
	{"1", {"g", "all", "all", 3, 1}, "1* - -"}, /* the founder alone */
	{"255", {"g", "255", "255", 1, 1}, "255*"},
	/* Rather some that work than all that do not. */
	{"0,1,2", {"g", "all", "one", 2, 2}, "0*,1 -2*"},
	{"0,1,2,3", {"g", "all", "one", 3, 2}, "0*,1 2*,3 -"},
	{"0,1,2,3,4", {"g", "all", "one", 2, 3}, "0*,1,2 -3*,4"},
	{"0,1,2,3,4,5,6", {"g", "all", "one", 3, 2}, "0*,1,2 3*,4 5*,6"},
};

TEST_LOOP(the_first_view_of_some, 0, COUNT(firsts))
{
	const struct wh_layout_config layout = {&firsts[_i].text, 1, NULL, NULL};
	struct wh_newcomer newcomers[WH_NODES_MAX];
	struct wh_view *view;

	ck_assert_int_eq(wh_view_create(&view, 7, newcomers, newcomers_of(firsts[_i].ids, newcomers), 7, &layout, NULL),
			 WHORL_OK);
	assert_shards(view, firsts[_i].shards);
	wh_view_free(view);
}

/* More than 64 members: which of them rest is said in several words for each shard. */
TEST(many_rest)
{
	const struct wh_subgroup_text texts[] = {{"a", "all", "all", 2, 1}, {"b", "all", "all", 1, 1}};
	const struct wh_layout_config layout = {texts, COUNT(texts), NULL, NULL};
	struct wh_view *before = first_view(200, &layout), *view;
	uint64_t rests[3][4] = {{[1] = 2}, {[3] = 1}, {[0] = 1, [2] = UINT64_C(1) << 63}};
	static const uint32_t resting[] = {65, 192, 0, 191};

	ck_assert_uint_eq(wh_rest_words(before), 4);
	ck_assert_int_eq(wh_view_next(&view, before, &(struct wh_next){.rests = &rests[0][0]}, &layout, NULL),
			 WHORL_OK);
	for (int g = 0; g < 3; g++) {
		const struct wh_view_subgroup *shard = &view->subgroups[g];
		const uint32_t *expected = &resting[g];

		ck_assert_uint_eq(shard->resting_count, g < 2 ? 1 : 2);
		ck_assert_uint_eq(shard->sender_count, shard->member_count - shard->resting_count);
		for (uint32_t i = 0; i < shard->resting_count; i++) {
			ck_assert_uint_eq(shard->resting[i], expected[i]);
			ck_assert_int_eq(wh_rank_find(shard->senders, shard->sender_count, expected[i]), -1);
		}
	}
	wh_view_free(before);
	wh_view_free(view);
}

/* ---- the application's function ------------------------------------------------------------------------------------------ */

#define SHARDS 3

struct wishes { /* by view, shard and node id: s sender, m member, others nothing */
	const char *of[VIEWS][SHARDS];
};

/* The incarnations are given, and a newcomer is asked about like every other node. */
static enum wh_role wish(const struct wh_view *view, const char *subgroup, uint32_t shard, uint32_t id, void *ctx)
{
	const struct wishes *wishes = ctx;
	char role = wishes->of[view->number][shard][id];

	ck_assert_str_eq(subgroup, "g");
	ck_assert_int_ge(wh_view_rank(view, id), 0);
	ck_assert_uint_eq(view->subgroup_count, 0);
	ck_assert_uint_eq(view->incarnations[wh_view_rank(view, id)], incarnation_of(id, 0));
	ck_assert_uint_le(view->joined_count, view->members);
	return role == 's' ? WH_ROLE_SENDER : role == 'm' ? WH_ROLE_MEMBER : WH_ROLE_NONE;
}

static const struct {
	struct wishes wishes;
	const char *first;
	struct change next[VIEWS];
} functions[] = {
	/* In one shard at most: the first that takes it. */
	{{{{"sm...", "sssss", "mmmmm"}}}, "0*,1 2*,3*,4* -", {{NULL, NULL}}},
	{{{{".....", "..m..", "ss.s."}}}, "- -2 0*,1*,3*", {{NULL, NULL}}},

	/* Members may come and go and change what they are, as long as one is left that was there. */
	{{{{"ss...", "..ss.", "....s"}, {"ms...", "..s..", "...ms"}, {".....", "s.s..", ".s.ms"}}},
	 "0*,1* 2*,3* 4*",
	 {{"", "0e*,1* 2* 3+,4*"}, {"", "! 0+*,2* 1+*,3,4*"}}},

	/* A sender that is to send no more, and stays, is one until it has ended; then no node is asked. */
	{{{{"sss..", ".....", "....."},
	   {"mms..", ".....", "....."},
	   {".....", "sssss", "....."},
	   {"msm..", ".....", "....."}}},
	 "0*,1*,2* - -",
	 {{"", "0e*,1e*,2* - -"}, {"e0", "0,1e*,2* - -"}, {"4", "0,1*,2e* - -"}}},
	/* Not with a node that goes or comes meanwhile; one that was not ending has not ended; one that rests ends with that. */
	{{{{"ssss.", ".....", "....."},
	   {"mmss.", ".....", "....."},
	   {"mmm.s", ".....", "....."},
	   {"mmmm.", ".....", "....."}}},
	 "0*,1*,2*,3* - -",
	 {{"", "0e*,1e*,2*,3* - -"}, {"3 e1,2", "0e*,1,2e*,4+* - -"}, {"z0,2", "-0z,1,2z - -"}}},
	/* Where a log is needed nobody leaves its shard, but others come into it. */
	{{{{"sss..", "...ss", "....."}, {"..sss.", "ss...s", "......"}, {"s..s..", ".s..ss", "..s..."}}},
	 "0*,1*,2* 3*,4* -",
	 {{"+5 k", "0e*,1e*,2* 3e*,4e*,5+* -"}, {"2", "0*,3+* 1+*,4*,5* -"}}},
	/* Where it is taken to no member waits for it. */
	{{{{"ss...", "..s..", "....."}, {"s....", ".ms..", "....."}}}, "0*,1* 2* -", {{"", "0* 1+,2* -"}}},

	/* Others do not inherit, neither at once nor later; a shard behind may have them. */
	{{{{"ss...", "..ss.", "....s"}, {"..ss.", "..ss.", "....s"}, {"sssss", ".....", "sssss"}}},
	 "0*,1* 2*,3* 4*",
	 {{"0,1", "! 2*,3* 4*"}, {"", "! ! 2+*,3+*,4*"}}},

	/* A shard that never had members may get some. */
	{{{{".....", "s....", "....."}, {"ss...", "ss...", "...m."}, {"s....", "ss...", "..sm."}}},
	 "- 0* -",
	 {{"", "0+*,1+* ! -3+"}, {"", "0* ! 2+*,3"}}},

	/* A newcomer goes where the function says, but not where all is lost. One that rests stays what it is, wherever it goes. */
	{{{{"ss...", "..ss.", "....s"},
	   {"ss...", "..ss.s", "....s"},
	   {"s..s..", "ss...s", "..s.s."},
	   {"s.....s", ".s...s.", "..sss.."}}},
	 "0*,1* 2*,3* 4*",
	 {{"+5 z3", "0*,1* 2*,3z,5+* 4*"}, {"2", "0*,3z+ 1+*,5* 4*"}, {"0,3 +6", "! 1*,5* 4*"}}},
};

TEST_LOOP(the_function_decides, 0, COUNT(functions))
{
	const struct wh_subgroup_text text = {"g", "function", "says nothing", SHARDS, 1};
	struct wishes wishes = functions[_i].wishes;
	const struct wh_layout_config layout = {&text, 1, wish, &wishes};
	struct wh_view *view = first_view(5, &layout);

	assert_shards(view, functions[_i].first);
	for (int v = 0; v < VIEWS && functions[_i].next[v].shards != NULL; v++) {
		next_view(&view, functions[_i].next[v].what, &layout);
		assert_shards(view, functions[_i].next[v].shards);
	}
	wh_view_free(view);
}

/* Behind a restart it is not asked: what is whole stays where its log is. The others enter. */
TEST(behind_a_restart_no_function_is_asked)
{
	const struct wh_subgroup_text text = {"g", "function", "says nothing", SHARDS, 1};
	struct wishes wishes = {{{"sss..", "...ss", "....."}, {"..sss", "ss...", "....."}}};
	const struct wh_layout_config layout = {&text, 1, wish, &wishes};
	struct wh_view *view = first_view(5, &layout), *after;
	const uint64_t incarnations[] = {20, 0, 22, 23, 24};
	const bool durable[SHARDS] = {true, true, true};
	const bool whole[SHARDS][5] = {{true, true, false}, {[4] = true}};

	ck_assert_int_eq(
		wh_view_return(
			&after, view,
			&(struct wh_return){.incarnations = incarnations, .durable = durable, .whole = &whole[0][0]},
			&layout, NULL),
		WHORL_OK);
	assert_shards(after, "0*,2+* 3+*,4* -");
	wh_view_free(view);
	wh_view_free(after);
}

/* ---- mistakes --------------------------------------------------------------------------------------------------------------- */

static const struct {
	struct wh_subgroup_text text;
	const char *message;
} mistakes[] = {
	{{"g", "300", "all", 1, 1}, "subgroup g: names node 300, expected ids from 0 to 255"},
	{{"g", "1,3", "all", 3, 1}, "subgroup g: asks for 3 shards, expected at most 2, one for each member"},
	{{"g", "all", "all", 0, 1}, "subgroup g: asks for 0 shards, expected 1 to 64"},
	{{"g", "all", "all", 65, 1}, "subgroup g: asks for 65 shards, expected 1 to 64"},
	{{"g", "function", "all", 2, 1}, "subgroup g: members = function, and the program gives none"},
	{{"g", "functions", "all", 1, 1},
	 "subgroup g: is \"functions\", expected all, function, wish, or node ids as in 0,1,2"},
	{{"g", "wish", "one", 1, 1},
	 "subgroup g: is \"one\", expected all: with members = wish each node says whether it sends"},
	{{"g", "wish", "all", 2, 1}, "subgroup g: asks for 2 shards, expected 1, as members = wish"},
};

/* What nodes enter and leave has no place in a view; what stands around it is as without. */
TEST(a_wish_has_no_shard)
{
	static const struct wh_subgroup_text all[] = {{"a", "all", "one", 1, 1},
						      {"w", "wish", "all", 1, 1},
						      {"b", "all", "all", 2, 1},
						      {"x", "wish", "all", 1, 1}};
	static const struct wh_subgroup_text alone[] = {{"w", "wish", "all", 1, 1}};
	const struct wh_layout_config layout = {all, COUNT(all), NULL, NULL}, none = {alone, 1, NULL, NULL};
	const bool removed[4] = {true};
	struct wh_view *view, *next;

	ck_assert(wh_subgroup_is_wished(&all[1]) && !wh_subgroup_is_wished(&all[2]));
	ck_assert_uint_eq(wh_subgroup_shards(&all[1]), 0);
	ck_assert_uint_eq(wh_subgroup_shards(&all[2]), 2);
	ck_assert_int_eq(view_of_all(&view, 4, &layout, NULL), WHORL_OK);
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(view->subgroup_count, 3);
		ck_assert_uint_eq(view->dynamic_count, 0);
		ck_assert_str_eq(view->subgroups[0].name, "a");
		ck_assert_uint_eq(view->subgroups[0].configured, 0);
		for (uint32_t shard = 0; shard < 2; shard++) {
			ck_assert_str_eq(view->subgroups[1 + shard].name, "b");
			ck_assert_uint_eq(view->subgroups[1 + shard].configured, 2);
			ck_assert_uint_eq(view->subgroups[1 + shard].shard, shard);
			ck_assert_uint_eq(view->subgroups[1 + shard].member_count, 2 - (i == 1 && shard == 0));
		}
		ck_assert_int_eq(wh_view_next(&next, view, &(struct wh_next){.removed = removed}, &layout, NULL),
				 WHORL_OK);
		wh_view_free(view);
		view = next;
	}
	wh_view_free(view);
	ck_assert_int_eq(view_of_all(&view, 4, &none, NULL), WHORL_OK);
	ck_assert_uint_eq(view->subgroup_count, 0);
	wh_view_free(view);
}

TEST_LOOP(layouts_that_do_not_hold, 0, COUNT(mistakes))
{
	const struct wh_layout_config layout = {&mistakes[_i].text, 1, NULL, NULL};
	struct wh_view *view = NULL;
	struct wh_error err;

	ck_assert_int_eq(view_of_all(&view, 4, &layout, &err), WHORL_CONFIG);
	ck_assert_str_eq(err.text, mistakes[_i].message);
	ck_assert_int_eq(view_of_all(&view, 4, &layout, NULL), WHORL_CONFIG);
	ck_assert_ptr_null(view);
}

TEST(shards_are_checked_alone)
{
	ck_assert_int_eq(wh_view_check_shards(4, "all", 4, NULL), WHORL_OK);
	ck_assert_int_eq(wh_view_check_shards(4, "all", 5, NULL), WHORL_CONFIG);
	ck_assert_int_eq(wh_view_check_shards(4, "2,3", 3, NULL), WHORL_CONFIG);
	ck_assert_int_eq(wh_view_check_shards(4, "2,9", 3, NULL), WHORL_OK); /* the list is wrong: said elsewhere */
	ck_assert_int_eq(wh_view_check_shards(4, "function", 64, NULL), WHORL_OK); /* not known yet */
	ck_assert_int_eq(wh_view_check_shards(4, "function", 65, NULL), WHORL_CONFIG);
	ck_assert_int_eq(wh_view_check_shards(4, "wish", 1, NULL), WHORL_OK);
	ck_assert_int_eq(wh_view_check_shards(1, "wish", 2, NULL), WHORL_CONFIG);
	ck_assert_int_eq(wh_view_check_list(4, NULL, "wish", NULL), WHORL_OK);
	ck_assert_int_eq(wh_view_check_list(4, "wish", "all", NULL), WHORL_OK);
	ck_assert_int_eq(wh_view_check_list(4, "wish", "0", NULL), WHORL_CONFIG);
	ck_assert_int_eq(wh_view_check_list(4, NULL, "function", NULL), WHORL_OK);
	ck_assert_int_eq(wh_view_check_list(4, "function", "anything", NULL), WHORL_OK);
}

TEST_SUITE("layout")
