/* test_history_file.c - logs as text: what they say is told, and what cannot be said is refused. */
#include <stdbool.h>
#include <string.h>

#include "sim/history_file.h"
#include "tests/unit/history.h"

/* Tells the history what these logs say; NULL: there is none. */
static bool replay(struct wh_history *h, const char *const texts[], int count)
{
	FILE *logs[8] = {NULL};
	bool good;

	for (int n = 0; n < count; n++) {
		logs[n] = texts[n] != NULL ? tmpfile() : NULL;
		if (logs[n] == NULL)
			continue;
		ck_assert(fputs(texts[n], logs[n]) >= 0);
		rewind(logs[n]);
	}
	good = wh_history_replay(h, logs);
	ck_assert_int_eq(good, wh_history_broken(h) == NULL);
	for (int n = 0; n < count; n++)
		if (logs[n] != NULL)
			fclose(logs[n]);
	return good;
}

static const struct {
	const char *logs[2], *words;
} texts[] = {
	{{"", ""}, NULL},
	{{"V 0 0 0,1 s0 s0 -\nC 0 0 ab\n", "V 0 1 0,1 s0 s0 -\nD 0 0 0 0 0 ab\n"}, NULL},
	{{"V 0 0 0,1 s0 s0 s1?\nC 0 0 ab\nD 0 0 0 0 0 ab\nD 0 0 1 0 1 cd\n",
	  "V 0 1 0,1 s0 s0 s1?\nC 0 0 cd\nD 0 0 0 0 0 ab\nL\nE\n"},
	 NULL},
	{{"V 0 0 0,1 s0 s0 -\nC 0 0 a", "V 0 1 0,1 s0 s0 -\nR\n"}, NULL},
	{{"V 0 0 0,1 s0 s0 -\nC 0 0 a", "V 0 1 0,1 s0 s0 -\nD 0 0 0 0 0 ab\n"},
	 "committed: node 1 delivers message 0 of node 0, which is not committed (orders, view 0, place 0)"},
	{{"V 0 0 0,1 s0 s0 -\nC 0 0 ab\nD 0 0 1 0 1 cd\n",
	  "V 0 1 0,1 s0 s0 -\nD 0 0 0 0 0 ab\nC 0 0 cd\nD 0 0 1 0 1 cd\n"},
	 "same order: node 0 delivers message 0 of node 1 where node 1 delivered message 0 of node 0 (orders, view 0, place 0)"},
	{{"V 0 0 0,1 s0 s0 -\nR\nV 1 0 0 s0 s0 -\n", NULL},
	 "gone: node 0 installs a view after it was told that it is removed"},
	{{"\n", ""}, "log: node 0, line 1 says \"\""},
	{{"V 0 0 0,1 s0 s0 -\n", "V 0 1 0,1 s0 s0 -\nhello\n"}, "log: node 1, line 2 says \"hello\""},
	{{"V 0 0 0,1 s0 s0\n", ""}, "log: node 0, line 1 says \"V 0 0 0,1 s0 s0\""},
	{{"V 0 0 0,1 s0 s0 - -\n", ""}, "log: node 0, line 1 says \"V 0 0 0,1 s0 s0 - -\""},
	{{"V 0 0 0,1 s0 s0 x\n", ""}, "log: node 0, line 1 says \"V 0 0 0,1 s0 s0 x\""},
	{{"V 0 0 0,2 s0 s0 -\n", ""}, "log: node 0, line 1 says \"V 0 0 0,2 s0 s0 -\""},
	{{"V 0 0 0,1,1 s0 s0 -\n", ""}, "log: node 0, line 1 says \"V 0 0 0,1,1 s0 s0 -\""},
	{{"V 0 9 0,1 s0 s0 -\n", ""}, "log: node 0, line 1 says \"V 0 9 0,1 s0 s0 -\""},
	{{"V 18446744073709551615 0 0,1 s0 s0 -\n", ""},
	 "log: node 0, line 1 says \"V 18446744073709551615 0 0,1 s0 s0 -\""},
	{{"C 3 0 ab\n", ""}, "log: node 0, line 1 says \"C 3 0 ab\""},
	{{"C 0 -1 ab\n", ""}, "log: node 0, line 1 says \"C 0 -1 ab\""},
	{{"C 0 0\n", ""}, "log: node 0, line 1 says \"C 0 0\""},
	{{"C 0 0 xy\n", ""}, "log: node 0, line 1 says \"C 0 0 xy\""},
	{{"A 0 0 ab\n", ""}, "log: node 0, line 1 says \"A 0 0 ab\""},
	{{"D 0 0 2 0 0 ab\n", ""}, "log: node 0, line 1 says \"D 0 0 2 0 0 ab\""},
	{{"D 3 0 0 0 0 ab\n", ""}, "log: node 0, line 1 says \"D 3 0 0 0 0 ab\""},
	{{"R now\n", ""}, "log: node 0, line 1 says \"R now\""},
};

TEST_LOOP(logs_are_read, 0, COUNT(texts))
{
	struct wh_history *h = make(2, -1, false);
	bool good = replay(h, texts[_i].logs, 2);

	if (texts[_i].words == NULL)
		ck_assert_msg(good, "%s", wh_history_broken(h));
	else
		ck_assert_str_eq(good ? "nothing is found broken" : wh_history_broken(h), texts[_i].words);
	wh_history_free(h);
}

/* Node 3 is killed, node 0 joins. That it need not have message 0 of node 1 is known only when a node has told that it
 * delivered it in view 0, which takes until node 3's log is read. */
TEST(views_come_in_their_order)
{
	static const char *const logs[] = {
		"V 1 2 1,2,0 s0 - -\nD 0 1 1 1 0 b1\n",
		"V 0 0 1,2,3 s0 - -\nC 0 0 b0\nC 0 1 b1\nD 0 0 3 0 2 d0\nD 0 0 1 0 3 b0\nV 1 0 1,2,0 s0 - -\nD 0 1 1 1 0 b1\n",
		"V 0 1 1,2,3 s0 - -\nD 0 0 3 0 2 d0\nD 0 0 1 0 3 b0\nV 1 1 1,2,0 s0 - -\nD 0 1 1 1 0 b1\n",
		"V 0 2 1,2,3 s0 - -\nC 0 0 d0\nD 0 0 3",
	};
	struct wh_history *h = make(4, 1, true);

	ck_assert_msg(replay(h, logs, 4), "%s", wh_history_broken(h));
	ck_assert_uint_eq(wh_history_deliveries(h), 7);
	ck_assert(wh_history_crashed(h, 3));
	ck_assert(wh_history_end(h, (bool[]){true, true, true, false}));
	wh_history_free(h);
}

/* Node 1 is killed and comes back, with the state that node 2 gives in the view after, which is read later: it waits for that. Two
 * logs are of two lives of one node. */
TEST(a_node_has_two_lives)
{
	static const uint32_t ids[] = {0, 1, 2, 1};
	static const char *const logs[] = {
		"V 0 0 0,1,2 s0 - -\nC 0 0 a0\nD 0 0 0 0 0 a0\nV 1 0 0,2 s0 - -\nV 2 0 0,2,1 s0 - -\nC 0 1 a1\nD 0 2 0 1 0 a1\n",
		"V 0 1 0,1,2 s0 - -\nC 0 0 b0\n",
		"V 0 2 0,1,2 s0 - -\nD 0 0 0 0 0 a0\nV 1 1 0,2 s0 - -\nV 2 1 0,2,1 s0 - -\nG 0 77\nD 0 2 0 1 0 a1\n",
		"V 2 2 0,2,1 s0 - -\nT 0 77\nC 0 0 c0\nD 0 2 0 1 0 a1\n",
	};
	struct wh_history *h = make_of(&(struct wh_history_config){.nodes = 3,
								   .lives = 4,
								   .ids = ids,
								   .subgroups = stateful,
								   .subgroup_count = 3,
								   .tie_breaker = -1,
								   .joins = true});

	ck_assert_msg(replay(h, logs, 4), "%s", wh_history_broken(h));
	ck_assert_uint_eq(wh_history_deliveries(h), 5);
	ck_assert(!wh_history_end(h, (bool[]){true, false, true, true}));
	ck_assert_str_eq(wh_history_broken(h),
			 "progress: node 0 ends without message 0 of node 1 (life 2), which survives (orders, view 2)");
	wh_history_free(h);
}

TEST_SUITE("history_file")
