/* test_history.c - the judge of what applications see: histories that are right pass, and each that breaks one property is
 * caught with its words.
 *
 * Small ones are scripts of events: "V0:012 0C0 2D0.0@0" is: nodes 0, 1, 2 install view 0; node 0 commits claim 0; node 2
 * delivers message 0 of node 0 with sequence 0.
 *
 *     V1:01      all of these install view 1 with these members; 2V1:01 node 2 alone; 2V1:01:m-1 its places: of
 *                "orders" (ordered), "ticks" (unordered), "parts" (ordered, two shards). s sender, m member, - not in,
 *                r rests, i inactive, 0 and 1 sender of that shard. Without: ss0
 *     0C3 0C3,1  node 0 commits claim 3 in subgroup 0 (orders), 1; 0A3 aborts
 *     2D0.3@7,1  node 2 delivers message 3 of node 0, sequence 7, subgroup 1, in its view; v5 behind: in view 5; ! with a
 *                wrong digest
 *     1G7,1 3T7,1 3K,1
 *                node 1 gives a state with digest 7, of subgroup 1; node 3 restores it; it has caught up
 *     2X 2R 2L 2E crashes, is told that it is removed, is leaving, has left
 *     end:01     the end, 0 and 1 survive
 *
 * Nodes are lives; where they have several, lives 5 and 7 are of node 1, life 6 of node 2.
 */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "sim/history.h"
#include "tests/unit/history.h"

#define NODES 5
#define LIVES 8

static const uint32_t ids[LIVES] = {0, 1, 2, 3, 4, 1, 2, 1};

/* ---- scripts --------------------------------------------------------------------------------------------------------- */

static struct wh_history_place place_of(char c)
{
	switch (c) {
	case 's':
	case '0':
		return (struct wh_history_place){.role = WH_HISTORY_SENDER};
	case '1':
	case '2':
		return (struct wh_history_place){.role = WH_HISTORY_SENDER, .shard = (uint32_t)(c - '0')};
	case 'm':
		return (struct wh_history_place){.role = WH_HISTORY_MEMBER};
	case 'r':
		return (struct wh_history_place){.role = WH_HISTORY_MEMBER, .rests = true};
	case 'i':
		return (struct wh_history_place){.role = WH_HISTORY_SENDER, .inactive = true};
	default:
		return (struct wh_history_place){.role = WH_HISTORY_OUT};
	}
}

/* "V1:012:ss0" */
static bool install(struct wh_history *h, int node, const char *token)
{
	struct wh_history_place places[3];
	uint32_t members[16], count = 0, rank = 99;
	char *at;
	uint64_t number = strtoull(token + 1, &at, 10);
	bool good = true;

	for (at++; isdigit((unsigned char)*at); at++) {
		if (node >= 0 && *at - '0' == (int)ids[node % LIVES])
			rank = count;
		members[count++] = (uint32_t)(*at - '0');
	}
	for (uint32_t g = 0; g < 3; g++)
		places[g] = place_of((*at == ':' ? at + 1 : "ss0")[g]);
	struct wh_history_view view = {
		.number = number, .count = count, .rank = rank, .members = members, .places = places};

	if (node >= 0)
		return wh_history_view(h, (uint32_t)node, &view);
	for (view.rank = 0; view.rank < count; view.rank++)
		good &= wh_history_view(h, members[view.rank], &view);
	return good;
}

/* "D0.3@7,1v5!" */
static bool deliver(struct wh_history *h, uint32_t node, const char *token)
{
	struct wh_history_delivery d = {.subgroup = 0};
	char *at;

	d.sender = (uint32_t)strtoul(token + 1, &at, 10);
	d.index = strtoull(at + 1, &at, 10);
	d.sequence = strtoull(at + 1, &at, 10);
	if (*at == ',')
		d.subgroup = (uint32_t)strtoul(at + 1, &at, 10);
	if (*at == 'v')
		d.view = strtoull(at + 1, &at, 10);
	else
		(void)wh_history_view_of(h, node, &d.view);
	d.digest = digest_of(d.subgroup, d.sender, d.index) + (*at == '!');
	return wh_history_deliver(h, node, &d);
}

static bool end(struct wh_history *h, const char *survivors)
{
	bool survives[LIVES] = {false};

	for (; *survivors != '\0'; survivors++)
		survives[*survivors - '0'] = true;
	return wh_history_end(h, survives);
}

static bool act(struct wh_history *h, const char *token)
{
	uint32_t node = (uint32_t)(token[0] - '0'), subgroup = 0;
	char *at;
	uint64_t index;

	if (token[0] == 'V')
		return install(h, -1, token);
	if (token[0] == 'e')
		return end(h, token + strlen("end:"));
	index = strtoull(token + 2, &at, 10);
	if (*at == ',')
		subgroup = (uint32_t)strtoul(at + 1, NULL, 10);
	switch (token[1]) {
	case 'V':
		return install(h, (int)node, token + 1);
	case 'C':
		return wh_history_commit(h, node, subgroup, index, digest_of(subgroup, ids[node % LIVES], index));
	case 'A':
		return wh_history_abort(h, node, subgroup, index);
	case 'D':
		return deliver(h, node, token + 1);
	case 'G':
		return wh_history_gave(h, node, subgroup, index);
	case 'T':
		return wh_history_restored(h, node, subgroup, index);
	case 'K':
		return wh_history_caught_up(h, node, subgroup);
	case 'X':
		return wh_history_crashed(h, node);
	case 'R':
		return wh_history_removed(h, node);
	case 'L':
		return wh_history_leaving(h, node);
	case 'E':
		return wh_history_left(h, node);
	default:
		ck_abort_msg("no such event: %s", token);
		return false;
	}
}

/* Plays a script. The last event breaks the history with these words; NULL: nothing breaks it. */
static void play_with(struct wh_history *h, const char *script, const char *words)
{
	char text[512], *rest = text, *token;

	snprintf(text, sizeof(text), "%s", script);
	while ((token = strtok_r(rest, " ", &rest)) != NULL) {
		bool good = act(h, token);

		ck_assert_int_eq(good, wh_history_broken(h) == NULL);
		if (words == NULL || *rest != '\0')
			ck_assert_msg(good, "%s: at %s: %s", script, token, wh_history_broken(h));
	}
	if (words != NULL) {
		ck_assert_msg(wh_history_broken(h) != NULL, "%s: nothing is found broken, expected \"%s\"", script,
			      words);
		ck_assert_str_eq(wh_history_broken(h), words);
		ck_assert(!wh_history_crashed(h, 0)); /* it stays broken, with the first words */
		ck_assert_str_eq(wh_history_broken(h), words);
	}
	wh_history_free(h);
}

static void play(const char *script, const char *words, int tie_breaker, bool joins)
{
	play_with(make(NODES, tie_breaker, joins), script, words);
}

#define ALL "V0:01234 "

static const struct {
	const char *script, *words;
} broken[] = {
	/* same order */
	{ALL "0C0 3C0 1D3.0@3 2D0.0@0",
	 "same order: node 2 delivers message 0 of node 0 where node 1 delivered message 0 of node 3 (orders, view 0, place 0)"},
	{ALL "0C0 3C0 0C1 1D0.0@0 1D3.0@3 1D0.1@5 2D0.0@0 2D0.1@5",
	 "same order: node 2 delivers message 1 of node 0 where node 1 delivered message 0 of node 3 (orders, view 0, place 1)"},
	{ALL "1C0,1 0D1.0@0,1 1D1.0@0,1 0V1:01234 1V1:01234:sr0 2V1:01234 3V1:01234 4V1:01234 V2:01234 1C1,1 2D1.1@1,1",
	 "no gap: node 2 delivers message 1 of node 1 without message 0 (ticks, view 2)"},
	{ALL "0C0 0C1 0D0.0@0 0D0.1@5 0V1:01234:ms0 1D0.1@5",
	 "no gap: node 1 delivers message 1 of node 0 without message 0 (orders, view 0, place 0)"},
	{ALL "0C0 1D0.0@0 2D0.0@5",
	 "same order: node 2 delivers message 0 of node 0 with sequence 5, node 1 with 0 (orders, view 0, place 0)"},
	{ALL "0C0 1C0 1D0.0@5 1D1.0@5",
	 "same order: node 1 delivers message 0 of node 1 with sequence 5 behind sequence 5 (orders, view 0, place 1)"},
	{ALL "0C0,1 1D0.0@1,1",
	 "same order: node 1 delivers message 0 of node 0 with sequence 1, expected its index (ticks, view 0)"},
	/* no gap, no duplicate */
	{ALL "0C0 0C1 1D0.1@5",
	 "no gap: node 1 delivers message 1 of node 0 without message 0 (orders, view 0, place 0)"},
	{ALL "0C0 0A1 0C2 0C3 1D0.0@0 1D0.3@5",
	 "no gap: node 1 delivers message 3 of node 0 without message 2 (orders, view 0, place 1)"},
	{ALL "0C1 1D0.1@5", "no gap: node 1 delivers message 1 of node 0 without message 0 (orders, view 0, place 0)"},
	{ALL "0C0,1 0C1,1 1D0.1@1,1", "no gap: node 1 delivers message 1 of node 0 without message 0 (ticks, view 0)"},
	{ALL "0C0 1D0.0@0 1D0.0@5",
	 "no duplicate: node 1 delivers message 0 of node 0 again, or behind message 0 (orders, view 0, place 1)"},
	{ALL "0C0 1D0.0@0 1V1:0123 1D0.0@0",
	 "no duplicate: node 1 delivers message 0 of node 0 again, or behind message 0 (orders, view 1, place 0)"},
	{ALL "0C0,1 1D0.0@0,1 1V1:0123 1D0.0@0,1",
	 "no duplicate: node 1 delivers message 0 of node 0 again, or behind message 0 (ticks, view 1)"},
	/* committed */
	{ALL "1D0.0@0",
	 "committed: node 1 delivers message 0 of node 0, which is not committed (orders, view 0, place 0)"},
	{ALL "0C1 1D0.0@0",
	 "committed: node 1 delivers message 0 of node 0, which is not committed (orders, view 0, place 0)"},
	{ALL "0A0 1D0.0@0",
	 "committed: node 1 delivers message 0 of node 0, which is aborted (orders, view 0, place 0)"},
	{ALL "0C0,1 0A0,1 1D0.0@0,1",
	 "committed: node 1 delivers message 0 of node 0, which is aborted (ticks, view 0)"},
	{ALL "0C0 1D0.0@0 0A0",
	 "committed: message 0 of node 0 is aborted or refused, and node 1 has delivered it (orders, view 0)"},
	{ALL "0C0 0C0", "committed: node 0 commits claim 0 (orders), which it has committed"},
	{ALL "0A0 0C0", "committed: node 0 commits claim 0 (orders), which it has aborted"},
	{ALL "0C0 0C99999", "committed: node 0 finishes claim 99999 (orders), far beyond its others"},
	{ALL "0C0,7", "committed: node 0 finishes a claim in subgroup 7, one of which is not"},
	/* payload */
	{ALL "0C0 1D0.0@0!", "payload: node 1 delivers message 0 of node 0 with digest 0000000000000001"
			     ", committed was 0000000000000000 (orders, view 0, place 0)"},
	/* same set */
	{ALL "0C0 1C0 1D0.0@0 1D1.0@1 2D0.0@0 1V1:0123 2V1:0123",
	 "same set: node 2 goes on from view 0 without message 0 of node 1, which node 1 delivered there"
	 " (orders, view 0, place 1)"},
	{ALL "0C0 0C1 1D0.0@0 1V1:0123 2D0.0@0 2V1:0123 1D0.1@0 2D0.1@0 3D0.0@0 3D0.1@5",
	 "same set: node 3 delivers message 1 of node 0, which node 1 delivered in orders, view 1 (orders, view 0, place 1)"},
	{"1V0:01234:ss0 2V0:01234:ss1 0C0,2 1D0.0@0,2 2D0.0@0,2",
	 "same set: node 2 delivers message 0 of node 0, which node 1 delivered in parts/0, view 0 (parts/1, view 0, place 0)"},
	/* nothing that a survivor lacks */
	{ALL "0C0 4D0.0@0 4X 1V1:0123",
	 "nothing that a survivor lacks: node 1 goes on from view 0 without message 0 of node 0, which node 4 delivered there"
	 " (orders, view 0, place 0)"},
	{ALL "0C0 1V1:0123 4D0.0@0",
	 "nothing that a survivor lacks: node 4 delivers message 0 of node 0, without which node 1 has gone on to the next view"
	 " (orders, view 0, place 0)"},
	{ALL "4C0 4D4.0@4 4E end:0123",
	 "nothing that a survivor lacks: node 0 ends without message 0 of node 4, which node 4 delivered (orders, view 0)"},
	/* same views */
	{ALL "0V1:0123 1V1:01234", "same views: view 1 of node 1 has other members than that of node 0"},
	{ALL "0V1:0123 1V1:0124", "same views: view 1 of node 1 has other members than that of node 0"},
	{ALL "0V1:01234 1V1:0123", "same views: view 1 of node 1 has other members than that of node 0"},
	{ALL "0V2:0123", "same views: node 0 installs view 2 after view 0"},
	{ALL "0V0:01234", "same views: node 0 installs view 0 after view 0"},
	{"0V1:01234", "same views: node 0 begins with view 1"},
	{ALL "0V1:1234", "same views: node 0 installs view 1, in which it is not at its rank, 99"},
	{ALL "0V1:0122", "same views: view 1 of node 0 names node 2 twice"},
	{ALL "0V1:0129", "same views: view 1 of node 0 names node 9, and there is none"},
	{ALL "0V1:0132", "same views: view 1 does not keep the order of view 0: node 2"},
	{ALL "V1:0123 0V2:01234", "same views: view 2 has node 4, which is not in view 1"},
	/* majority */
	{"0V0:01", "majority: view 0 of node 0 has 2 of 5 nodes"},
	{ALL "0V1:01", "majority: view 1, which node 0 installs, has 2 of the 5 members of view 0 that have not left"},
	{ALL "3L 4L 3V1:34",
	 "majority: view 1, which node 3 installs, has 2 of the 5 members of view 0 that have not left"},
	{ALL "4L 0V1:01",
	 "majority: view 1, which node 0 installs, has 2 of the 4 members of view 0 that have not left"},
	{ALL "V1:0123 0V2:01",
	 "majority: view 2, which node 0 installs, has 2 of the 4 members of view 1 that have not left"},
	/* its view */
	{ALL "0C0 1V1:0123 1D0.0@0v0",
	 "its view: node 1 delivers message 0 of node 0 and is in view 1 (orders, view 0, place 0)"},
	{ALL "0C0 1D0.0@0v1",
	 "its view: node 1 delivers message 0 of node 0 and is in view 0 (orders, view 1, place 0)"},
	{"0C0 1D0.0@0", "its view: node 1 delivers message 0 of node 0 and is in no view (orders, view 0, place 0)"},
	{"1V0:01234:-s0 0C0 1D0.0@0",
	 "its view: node 1 delivers message 0 of node 0 and is in no active shard (orders, view 0, place 0)"},
	{"1V0:01234:is0 0C0 1D0.0@0",
	 "its view: node 1 delivers message 0 of node 0 and is in no active shard (orders, view 0, place 0)"},
	{"0V0:01234:ms0 1V0:01234 0C0 1D0.0@0",
	 "its view: node 1 delivers message 0 of node 0, which is no sender there (orders, view 0, place 0)"},
	{"0V0:01234:ss1 1V0:01234:ss0 0C0,2 1D0.0@0,2",
	 "its view: node 1 delivers message 0 of node 0, which is no sender there (parts/0, view 0, place 0)"},
	{ALL "4C0 4X V1:0123 0D4.0@4",
	 "its view: node 0 delivers message 0 of node 4, which is not in the view (orders, view 1, place 0)"},
	{ALL "0D0.0@0,7", "its view: node 0 delivers a message of node 0 in subgroup 7, one of which there is not"},
	{"0V0:01234:ss2", "its view: node 0 is in shard 2 of 2 (parts)"},
	/* gone */
	{ALL "1X 1V1:0123", "gone: node 1 installs a view after it crashed"},
	{ALL "0C0 1R 1D0.0@0", "gone: node 1 delivers after it was told that it is removed"},
	{ALL "1L 1E 1C0", "gone: node 1 commits after it left"},
	{ALL "1E 1X 1C0", "gone: node 1 commits after it left"},
	{"9X", "gone: node 9 ends, and there is none"},
	{"9C0", "gone: node 9 commits, and there is none"},
	/* progress */
	{ALL "4X V1:0123 0C0 0D0.0@0 1D0.0@0 2D0.0@0 3D0.0@0 0C1 end:0123",
	 "progress: node 0 ends without message 1 of node 0, which survives (orders, view 1)"},
	{ALL "4C0 0D4.0@0 end:01234",
	 "nothing that a survivor lacks: node 1 ends without message 0 of node 4, which node 0 delivered (orders, view 0)"},
	{ALL "1C0,1 0D1.0@0,1 1D1.0@0,1 0V1:01234 1V1:01234:sr0 2V1:01234 3V1:01234 4V1:01234 end:01234",
	 "progress: node 2 ends without message 0 of node 1, which survives (ticks, view 1)"},
	{ALL "4X 0V1:0123 end:0123", "progress: node 1 ends in view 0, node 0 has installed view 1"},
	{ALL "4X end:01234", "progress: node 4 is to survive, and has crashed"},
	{ALL "4R end:01234", "progress: node 4 is to survive, and was removed"},
	{"0V0:01234 end:01", "progress: node 1 is to survive, and has no view"},
	{ALL "4R end:0123", "progress: node 4 is dead or removed, and still in view 0"},
	{ALL "0C0,1 0D0.0@0,1 end:01234",
	 "progress: node 1 ends without message 0 of node 0, which survives (ticks, view 0)"},
};

TEST_LOOP(what_breaks_a_history, 0, COUNT(broken))
{
	play(broken[_i].script, broken[_i].words, -1, false);
}

static const char *const whole[] = {
	"",
	ALL "end:01234",
	/* one is ahead, the other follows; aborted ones are passed over; a refused commit is an abort */
	ALL
	"0C0 0A1 0C2 0C3 0A3 1D0.0@0 1D0.2@5 2D0.0@0 2D0.2@5 0D0.0@0 0D0.2@5 3D0.0@0 3D0.2@5 4D0.0@0 4D0.2@5 end:01234",
	/* an open claim holds back those behind it */
	ALL "0C1 end:01234",
	/* sent again in the next view, where sequences begin anew; what the removed one lacks is a prefix */
	ALL "0C0 1C0 4D0.0@9 0D0.0@9 1D0.0@9 2D0.0@9 3D0.0@9 4R V1:0123 0D1.0@1 1D1.0@1 2D1.0@1 3D1.0@1 end:0123",
	ALL "4C0 4C1 0D4.0@4 1D4.0@4 2D4.0@4 3D4.0@4 4X V1:0123 end:0123",
	/* half of the members do not make a view, but nodes that left are not counted */
	ALL "4E 3E V1:012 2E V2:01 1E V3:0 end:0",
	/* a removed node is told at last; its claims are refused */
	ALL "V1:0123 4C0 4R 4A0 end:0123",
	/* taken out of its shard: what it has committed is gone for all, or for some if nothing was promised */
	"V0:01234 0C0 0C1 1C0,1 1C1,1 0D1.0@0,1 1D1.0@0,1 1D1.1@1,1 0V1:01234:--0 1V1:01234:s-0 2V1:01234 3V1:01234 "
	"4V1:01234 V2:01234 0C2 0D0.2@5 1D0.2@5 2D0.2@5 3D0.2@5 4D0.2@5 end:01234",
	/* dead senders' last messages reach some, unordered */
	ALL "4C0,1 0D4.0@0,1 4X V1:0123 end:0123",
	/* a node that was not in the shard need not have what was delivered there */
	"0V0:01234:ss0 1V0:01234:ss1 2V0:01234:ss0 3V0:01234:ss0 4V0:01234:ss0 0C0,2 0C1,2 0D0.0@0,2 2D0.0@0,2 3D0.0@0,2 "
	"4D0.0@0,2 V1:01234 0D0.1@0,2 1D0.1@0,2 2D0.1@0,2 3D0.1@0,2 4D0.1@0,2 end:01234",
	/* a sender in the other shard for a while */
	ALL
	"0C0,2 0V1:01234:ss1 1V1:01234:ss1 2V1:01234 3V1:01234 4V1:01234 0D0.0@0,2 1D0.0@0,2 V2:01234 0C1,2 2D0.1@0,2 "
	"0D0.1@0,2 1D0.1@0,2 3D0.1@0,2 4D0.1@0,2 end:01234",
	/* an inactive shard owes nothing */
	"0V0:01234:is0 1V0:01234:is0 2V0:01234:is0 3V0:01234:is0 4V0:01234:is0 0C0 end:01234",
	"0V0:01234:ssi 1V0:01234:ss1 2V0:01234:ss1 3V0:01234:ss1 4V0:01234:ss1 0C0,2 end:01234",
	/* nor does a node that is no sender */
	"0V0:01234:ms0 1V0:01234 2V0:01234 3V0:01234 4V0:01234 0C0 end:01234",
	/* all have left: what becomes of the last view does not matter to any node */
	ALL "4X 0E 1E 2E 3E end:0123",
	/* a node that drained and left is a survivor too, of its time */
	ALL "0C0 0D0.0@0 1D0.0@0 2D0.0@0 3D0.0@0 4D0.0@0 4L 4E V1:0123 0C1 0D0.1@0 1D0.1@0 2D0.1@0 3D0.1@0 end:01234",
};

TEST_LOOP(what_does_not, 0, COUNT(whole))
{
	play(whole[_i], NULL, -1, false);
}

/* A tie-breaker, and nodes that join. */
TEST(other_configurations)
{
	play(ALL "V1:0123 0V2:01",
	     "majority: view 2, which node 0 installs, has 2 of the 4 members of view 1 that have not left", 2, false);
	play(ALL "V1:0123 V2:02", NULL, 2, false);
	play(ALL "V1:0123 V2:012 V3:01", NULL, 2, false);
	play(ALL "V1:0123 0V2:014",
	     "majority: view 2, which node 0 installs, has 2 of the 4 members of view 1 that have not left", 4, true);
	play("V0:0123 0V1:01",
	     "majority: view 1, which node 0 installs, has 2 of the 5 members of view 0 that have not left", 2, false);
	play("V0:012 0C0 0D0.0@0 1D0.0@0 2D0.0@0 V1:0123 0C1 0D0.1@0 1D0.1@0 2D0.1@0 3D0.1@0 end:0123", NULL, -1, true);
	play("V0:012 V1:0132", "same views: view 1 does not keep the order of view 0: node 2", -1, true);
	play("3V1:0132 0V0:0123", "same views: view 1 does not keep the order of view 0: node 2", -1, true);
	play("V0:0123 3X 4V1:01234", NULL, -1, true);
	play("0V0:0123 3V1:0123", "same views: node 3 begins with view 1", -1, true);
}

/* A rank is a place in the view, and the node's own. */
TEST(a_wrong_rank)
{
	static const uint32_t members[] = {0, 1, 2, 3};
	static const struct wh_history_place places[3];
	struct wh_history *h = make(NODES, -1, false);

	ck_assert(!wh_history_view(
		h, 3, &(struct wh_history_view){.count = 3, .rank = 3, .members = members, .places = places}));
	wh_history_free(h);
	h = make(NODES, -1, false);
	ck_assert(!wh_history_view(
		h, 3, &(struct wh_history_view){.count = 4, .rank = 2, .members = members, .places = places}));
	ck_assert_str_eq(wh_history_broken(h), "same views: node 3 installs view 0, in which it is not at its rank, 2");
	wh_history_free(h);
}

/* ---- lives and states ------------------------------------------------------------------------------------------------- */

#define THREE "V0:012 "
#define WITH_3 "0V1:0123 1V1:0123 2V1:0123 3V1:0123 "
/* All deliver message 0 of node 0, then node 3 comes in with the state that node 1 gives. */
#define JOINED THREE "0C0 0D0.0@0 1D0.0@0 2D0.0@0 1G7 1G8,1 1G9,2 " WITH_3 "3T7 3T8,1 3T9,2 "

static const struct {
	const char *script, *words;
} lives[] = {
	{JOINED "0C1 0D0.1@0 1D0.1@0 2D0.1@0 3D0.1@0 3K 3K,1 3K,2 end:0123", NULL},
	/* it has its state in the view after, in which more has been delivered, and is behind */
	{THREE "1G8,1 1G9,2 " WITH_3
	       "0C0 0D0.0@0 1D0.0@0 2D0.0@0 1G7 0C1 0D0.1@1 1D0.1@1 2D0.1@1 V2:0123 3T7 3D0.1@1v1 3K "
	       "3T8,1 3T9,2 3K,1 3K,2 0C2 0D0.2@0 1D0.2@0 2D0.2@0 3D0.2@0 end:0123",
	 NULL},
	/* its state is of a view that it has not been told of; what that one lacks later is found all the same */
	{THREE WITH_3
	 "0C0 0D0.0@0 1D0.0@0 2D0.0@0 0V2:0123 1V2:0123 2V2:0123 1G7 1G8,1 1G9,2 3T7 3K 3T8,1 3T9,2 3K,1 3K,2 "
	 "3V2:0123 0C1 0D0.1@0 1D0.1@0 2D0.1@0 3D0.1@0 end:0123",
	 NULL},
	{THREE WITH_3 "0C0 0D0.0@0 1D0.0@0 2D0.0@0 0V2:0123 1V2:0123 2V2:0123 1G7 3T7 3K 3V2:0123 0C1 0D0.1@0 V3:0123",
	 "same set: node 1 goes on from view 2 without message 1 of node 0, which node 0 delivered there (orders, view 2, place 0)"},
	{THREE WITH_3
	 "0C0 0D0.0@0 1D0.0@0 2D0.0@0 0V2:0123 1V2:0123 2V2:0123 1G7 3T7 3K 3V2:0123 0C1 0D0.1@0 0V3:0123 3V3:0123",
	 "same set: node 3 goes on from view 2 without message 1 of node 0, which node 0 delivered there (orders, view 2, place 0)"},
	/* crashed and back, as another: its messages are counted anew */
	{THREE
	 "1C0 0D1.0@1 1D1.0@1 2D1.0@1 1X 0V1:02 2V1:02 0G7 2G8,1 0G9,2 0V2:021 2V2:021 5V2:021 5T7 5T8,1 5T9,2 5C0 "
	 "0D1.0@2 2D1.0@2 5D1.0@2 5K 5K,1 5K,2 end:025",
	 NULL},
	/* from one shard to another, that begins with nothing */
	{THREE
	 "0C0,2 0D0.0@0,2 1D0.0@0,2 2D0.0@0,2 0V1:012:ss1 1V1:012 2V1:012:ss1 0T0,2 2T0,2 0C1,2 0D0.1@0,2 2D0.1@0,2 "
	 "0K,2 2K,2 end:012",
	 NULL},
	{THREE "0V1:012:ss1 0C0,2 0D0.0@0,2",
	 "state: node 0 delivers message 0 of node 0 and has no state yet (parts/1, view 1, place 0)"},
	{THREE "0V1:012:ss1 0T7,2",
	 "state: node 0 restores a state, and nobody can have given it one (parts/1, view 1)"},
	{JOINED "3D0.0@0v0", "its view: node 3 delivers message 0 of node 0 and is in view 1 (orders, view 0, place 1)"},
	{THREE WITH_3 "0C0 0D0.0@0 3D0.0@0",
	 "state: node 3 delivers message 0 of node 0 and has no state yet (orders, view 1, place 0)"},
	{THREE WITH_3 "3T7", "state: node 3 restores what no member of its shard has given (orders, view 1)"},
	{THREE "1G7 2T7", "state: node 2 restores a state, and needs none (orders, view 0)"},
	{THREE WITH_3 "3G7", "state: node 3 gives a state, and has none (orders, view 1)"},
	{THREE "3G7", "state: node 3 gives a state in subgroup 0, and is in no shard of it"},
	{THREE "0G7 1G8", "state: node 1 has another state than node 0 had at the same place (orders, view 0, place 0)"},
	{THREE WITH_3 "0C0 0D0.0@0 0G7 1D0.0@0 3T7 3D0.0@0",
	 "no duplicate: node 3 delivers message 0 of node 0 again, or behind message 0 (orders, view 1, place 1)"},
	{THREE WITH_3 "0G7 0C0 0C1 0D0.0@0 0D0.1@1 3T7 3D0.1@1",
	 "no gap: node 3 delivers message 1 of node 0 without message 0 (orders, view 1, place 0)"},
	/* unordered; delivered before it came in, but not where its state is from */
	{THREE "0C0,1 0C1,1 0D0.0@0,1 1G8,1 " WITH_3 "3T8,1 3D0.1@1,1",
	 "no gap: node 3 delivers message 1 of node 0 without message 0 (ticks, view 1)"},
	{THREE WITH_3 "0G7 0C0 0D0.0@0 1D0.0@0 2D0.0@0 0V2:0123 3V2:0123 3T7 3K",
	 "same set: node 3 goes on from view 1 without message 0 of node 0, which node 0 delivered there"
	 " (orders, view 1, place 0)"},
	{JOINED "0K", "state: node 0 has caught up, and was not behind (orders)"},
	{THREE WITH_3 "end:0123", "progress: node 3 ends without the state of orders"},
	{THREE "1X 5V1:012", "same views: node 1 (life 2) begins with view 1"},
	{THREE "1X 5V0:012", "incarnation: node 1 (life 2) installs view 0, in which node 1 is"},
	{THREE "1X 0V1:02 0V2:021 5V2:021 7V2:021",
	 "incarnation: node 1 (life 3) installs view 2, in which node 1 (life 2) is"},
	{THREE "1C0 1X 0V1:02 2V1:02 0V2:021 2V2:021 5V2:021 0D1.0@0",
	 "committed: node 0 delivers message 0 of node 1, which is not committed (orders, view 2, place 0)"},
	{THREE "1X 0V1:02 0V2:021 0D1.0@0",
	 "its view: node 0 delivers message 0 of node 1, which has not begun that view (orders, view 2, place 0)"},
	{"V0:01 0V1:0134", "newcomers: view 1, which node 0 installs, takes in 2 at once, and view 0 has 2"},
};

TEST_LOOP(lives_and_states, 0, COUNT(lives))
{
	play_with(make_of(&(struct wh_history_config){.nodes = NODES,
						      .lives = LIVES,
						      .ids = ids,
						      .configured = 3,
						      .subgroups = stateful,
						      .subgroup_count = 3,
						      .tie_breaker = -1,
						      .joins = true}),
		  lives[_i].script, lives[_i].words);
}

/* The founder is alone in the first view; lives are born as they come; what a view says of its newcomers is looked at. */
TEST(a_founder)
{
	static const uint32_t members[] = {2, 0}, joined[] = {0};
	static const struct wh_history_place places[3];
	struct wh_history_config config = {.nodes = 3,
					   .lives = 5,
					   .founded = true,
					   .founder = 2,
					   .subgroups = stateful,
					   .subgroup_count = 3,
					   .tie_breaker = -1,
					   .joins = true};
	struct wh_history_view view = {.number = 1,
				       .count = 2,
				       .rank = 1,
				       .members = members,
				       .places = places,
				       .joined = joined,
				       .joined_count = 1};
	struct wh_history *h;

	play_with(make_of(&config), "0V0:012", "majority: view 0 of node 0 has 3 members, expected node 2");
	config.founded = false;
	config.configured = 2;
	config.all = true;
	play_with(make_of(&config), "0V0:02", "home: view 0 of node 0 has 1 of 2 configured nodes");
	config.all = false;
	config.home = true;
	config.configured = 1;
	play_with(make_of(&config), "0V0:012 1V0:012 0L 1V1:12",
		  "home: view 1, which node 1 installs, has no configured node");
	config.home = false;
	config.configured = 3;
	config.founded = true;
	h = make_of(&config);
	ck_assert(wh_history_view(
		h, 2,
		&(struct wh_history_view){
			.count = 1, .members = members, .places = places, .joined = members, .joined_count = 1}));
	ck_assert(wh_history_crashed(h, 0));
	ck_assert(wh_history_born(h, 3, 0));
	ck_assert(wh_history_view(h, 3, &view));
	ck_assert(!wh_history_born(h, 3, 1));
	ck_assert_str_eq(wh_history_broken(h), "gone: life 3 of node 1 cannot begin");
	wh_history_free(h);
	h = make_of(&config);
	ck_assert(wh_history_view(h, 2, &(struct wh_history_view){.count = 1, .members = members, .places = places}));
	view.joined = members;
	ck_assert(!wh_history_view(h, 0, &view));
	ck_assert_str_eq(wh_history_broken(h), "same views: view 1 of node 0 does not say that node 0 has joined");
	wh_history_free(h);
}

TEST_SUITE("history")
