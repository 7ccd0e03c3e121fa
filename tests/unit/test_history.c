/* test_history.c - the judge of what applications see: histories that are right pass, and each that breaks one property is
 * caught with its words.
 *
 * Small ones are scripts of events: "V0:012 0C0 2D0.0@0" is: nodes 0, 1, 2 install view 0; node 0 commits claim 0; node 2
 * delivers message 0 of node 0 with sequence 0.
 *
 *     V1:01      all of these install view 1 with these members; 2V1:01 node 2 alone; 2V1:01:m-1 its places: of
 *                "orders" (ordered), "ticks" (unordered), "parts" (ordered, two shards). s sender, m member, - not in,
 *                i inactive, 0 and 1 sender of that shard. Without: ss0
 *     0C3 0C3,1  node 0 commits claim 3 in subgroup 0 (orders), 1; 0A3 aborts
 *     2D0.3@7,1  node 2 delivers message 3 of node 0, sequence 7, subgroup 1, in its view; v5 behind: in view 5; ! with a
 *                wrong digest
 *     2X 2R 2L 2E crashes, is told that it is removed, is leaving, has left
 *     end:01     the end, 0 and 1 survive
 */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "sim/history.h"
#include "sim/history_file.h"
#include "tests/harness.h"
#include "transport/dice.h"

#define NODES 5 /* of the scripts */

static const struct wh_history_subgroup subgroups[] = {{"orders", true, 1}, {"ticks", false, 1}, {"parts", true, 2}};

static struct wh_history *make(uint32_t nodes, int tie_breaker, bool joins)
{
	struct wh_history *h = wh_history_new(&(struct wh_history_config){.nodes = nodes,
									  .subgroups = subgroups,
									  .subgroup_count = 3,
									  .tie_breaker = tie_breaker,
									  .joins = joins});

	ck_assert_ptr_nonnull(h);
	return h;
}

static uint64_t digest_of(uint32_t subgroup, uint32_t sender, uint64_t index)
{
	return wh_mix(subgroup * 1000003 + sender * 10007 + index);
}

/* ---- scripts --------------------------------------------------------------------------------------------------------- */

static struct wh_history_place place_of(char c)
{
	switch (c) {
	case 's':
	case '0':
		return (struct wh_history_place){WH_HISTORY_SENDER, 0, false};
	case '1':
	case '2':
		return (struct wh_history_place){WH_HISTORY_SENDER, (uint32_t)(c - '0'), false};
	case 'm':
		return (struct wh_history_place){WH_HISTORY_MEMBER, 0, false};
	case 'i':
		return (struct wh_history_place){WH_HISTORY_SENDER, 0, true};
	default:
		return (struct wh_history_place){WH_HISTORY_OUT, 0, false};
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
		if (*at - '0' == node)
			rank = count;
		members[count++] = (uint32_t)(*at - '0');
	}
	for (uint32_t g = 0; g < 3; g++)
		places[g] = place_of((*at == ':' ? at + 1 : "ss0")[g]);
	for (uint32_t i = 0; i < count; i++)
		if (node < 0)
			good &= wh_history_view(h, members[i],
						&(struct wh_history_view){number, count, i, members, places});
	return node < 0 ? good
			: wh_history_view(h, (uint32_t)node,
					  &(struct wh_history_view){number, count, rank, members, places});
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
	bool survives[NODES] = {false};

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
		return wh_history_commit(h, node, subgroup, index, digest_of(subgroup, node, index));
	case 'A':
		return wh_history_abort(h, node, subgroup, index);
	case 'D':
		return deliver(h, node, token + 1);
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
static void play(const char *script, const char *words, int tie_breaker, bool joins)
{
	struct wh_history *h = make(NODES, tie_breaker, joins);
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

#define ALL "V0:01234 "

static const struct {
	const char *script, *words;
} broken[] = {
	/* same order */
	{ALL "0C0 3C0 1D3.0@3 2D0.0@0",
	 "same order: node 2 delivers message 0 of node 0 where node 1 delivered message 0 of node 3 (orders, view 0, place 0)"},
	{ALL "0C0 3C0 0C1 1D0.0@0 1D3.0@3 1D0.1@5 2D0.0@0 2D0.1@5",
	 "same order: node 2 delivers message 1 of node 0 where node 1 delivered message 0 of node 3 (orders, view 0, place 1)"},
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
	{"9X", "gone: node 9 ends, and there is none"},
	{"9C0", "gone: node 9 commits, and there is none"},
	/* progress */
	{ALL "4X V1:0123 0C0 0D0.0@0 1D0.0@0 2D0.0@0 3D0.0@0 0C1 end:0123",
	 "progress: node 0 ends without message 1 of node 0, which survives (orders, view 1)"},
	{ALL "4C0 0D4.0@0 end:01234",
	 "nothing that a survivor lacks: node 1 ends without message 0 of node 4, which node 0 delivered (orders, view 0)"},
	{ALL "4X 0V1:0123 end:0123", "progress: node 1 ends in view 0, node 0 has installed view 1"},
	{ALL "4X end:01234", "progress: node 4 is to survive, and has crashed"},
	{ALL "4R end:01234", "progress: node 4 is to survive, and was removed"},
	{"0V0:01234 end:01", "progress: node 1 is to survive, and has no view"},
	{ALL "4R end:0123", "progress: node 4 is dead or removed, and still in view 0"},
	{ALL "0C0,1 0D0.0@0,1 end:01234",
	 "progress: node 1 ends without message 0 of node 0, which survives (ticks, view 0)"},
};

START_TEST(what_breaks_a_history)
{
	play(broken[_i].script, broken[_i].words, -1, false);
}
END_TEST

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
	/* half of the members do not make a view, but those who left are not counted */
	ALL "4E 3E V1:012 2E V2:01 1E V3:0 end:0",
	/* a removed node is told at last; its claims are refused */
	ALL "V1:0123 4C0 4R 4A0 end:0123",
	/* no sender any more: what it has committed is gone for all, or for some if nothing was promised */
	"V0:01234 0C0 0C1 1C0,1 1C1,1 0D1.0@0,1 1D1.0@0,1 1D1.1@1,1 0V1:01234:mm0 1V1:01234:sm0 2V1:01234 3V1:01234 "
	"4V1:01234 V2:01234 0C2 0D0.2@5 1D0.2@5 2D0.2@5 3D0.2@5 4D0.2@5 end:01234",
	/* dead senders' last messages reach some, unordered */
	ALL "4C0,1 0D4.0@0,1 4X V1:0123 end:0123",
	/* who was not in the shard needs not what was delivered there */
	"0V0:01234:ss0 1V0:01234:ss1 2V0:01234:ss0 3V0:01234:ss0 4V0:01234:ss0 0C0,2 0C1,2 0D0.0@0,2 2D0.0@0,2 3D0.0@0,2 "
	"4D0.0@0,2 V1:01234 0D0.1@0,2 1D0.1@0,2 2D0.1@0,2 3D0.1@0,2 4D0.1@0,2 end:01234",
	/* a sender in the other shard for a while */
	ALL
	"0C0,2 0V1:01234:ss1 1V1:01234:ss1 2V1:01234 3V1:01234 4V1:01234 0D0.0@0,2 1D0.0@0,2 V2:01234 0C1,2 2D0.1@0,2 "
	"0D0.1@0,2 1D0.1@0,2 3D0.1@0,2 4D0.1@0,2 end:01234",
	/* an inactive shard owes nothing */
	"0V0:01234:is0 1V0:01234:is0 2V0:01234:is0 3V0:01234:is0 4V0:01234:is0 0C0 end:01234",
	/* who drained and left is a survivor too, of its time */
	ALL "0C0 0D0.0@0 1D0.0@0 2D0.0@0 3D0.0@0 4D0.0@0 4L 4E V1:0123 0C1 0D0.1@0 1D0.1@0 2D0.1@0 3D0.1@0 end:01234",
};

START_TEST(what_does_not)
{
	play(whole[_i], NULL, -1, false);
}
END_TEST

/* A tie-breaker, and nodes that join. */
START_TEST(other_configurations)
{
	play("V0:0123 0V1:01",
	     "majority: view 1, which node 0 installs, has 2 of the 4 members of view 0 that have not left", 2, false);
	play("V0:0123 V1:02", NULL, 2, false);
	play("V0:0123 V1:012 V2:01", NULL, 2, false);
	play("V0:012 0C0 0D0.0@0 1D0.0@0 2D0.0@0 V1:0123 0C1 0D0.1@0 1D0.1@0 2D0.1@0 3D0.1@0 end:0123", NULL, -1, true);
	play("V0:012 V1:0132", "same views: view 1 does not keep the order of view 0: node 2", -1, true);
	play("3V1:0132 0V0:0123", "same views: view 1 does not keep the order of view 0: node 2", -1, true);
	play("V0:0123 3X 4V1:01234", NULL, -1, true);
	play("0V0:0123 3V1:0123", "same views: node 3 begins with view 1", -1, true);
}
END_TEST

/* ---- long random histories ------------------------------------------------------------------------------------------- */

#define CLAIMS 600 /* of one sender in one subgroup at most */
#define EVENTS 60000
#define SEATS 7
#define GROUPS 3

struct event {
	char kind; /* as in a log; X: crashed */
	uint32_t node, subgroup;
	uint64_t number; /* of a view or claim */
	struct wh_history_delivery delivery;
};

struct line { /* what a shard delivers in the view */
	uint32_t sender;
	uint64_t index, sequence;
};

struct world { /* a group that does all right, at random */
	struct wh_dice dice;
	struct event *events;
	uint32_t event_count;
	uint32_t views, count;
	uint32_t members[SEATS + 1][SEATS], counts[SEATS + 1]; /* by view */
	bool aborted[GROUPS][SEATS][CLAIMS];
	uint64_t claims[GROUPS][SEATS], given[GROUPS][SEATS]; /* given: a place in an order */
	uint64_t next[GROUPS][SEATS][SEATS];                  /* ticks: expected by a node of a sender */
	struct line line[GROUPS][2][SEATS * CLAIMS];
	uint32_t length[GROUPS][2], position[GROUPS][SEATS];
	bool dead[SEATS];
};

static struct event *note(struct world *w, char kind, uint32_t node)
{
	ck_assert_uint_lt(w->event_count, EVENTS);
	w->events[w->event_count] = (struct event){.kind = kind, .node = node};
	return &w->events[w->event_count++];
}

/* Half of the ranks send orders, two of three ticks; the shards of parts are shared out by rank. So places change with
 * every view. */
static struct wh_history_place place_at(uint32_t subgroup, uint32_t rank)
{
	if (subgroup == 2)
		return (struct wh_history_place){WH_HISTORY_SENDER, rank % 2, false};
	if (rank % 3 == 2 || (subgroup == 0 && rank % 2 == 1))
		return (struct wh_history_place){WH_HISTORY_MEMBER, 0, false};
	return (struct wh_history_place){WH_HISTORY_SENDER, 0, false};
}

static struct wh_history_place place_in(const struct world *w, uint32_t view, uint32_t subgroup, uint32_t node)
{
	for (uint32_t rank = 0; rank < w->counts[view]; rank++)
		if (w->members[view][rank] == node)
			return place_at(subgroup, rank);
	return (struct wh_history_place){WH_HISTORY_OUT, 0, false};
}

static struct wh_history_place place_now(const struct world *w, uint32_t subgroup, uint32_t node)
{
	return place_in(w, w->views, subgroup, node);
}

static void claim(struct world *w, uint32_t g, uint32_t node)
{
	uint64_t index = w->claims[g][node];
	struct event *event;

	if (place_now(w, g, node).role != WH_HISTORY_SENDER || index + 2 > CLAIMS)
		return;
	for (int i = 1; i >= 0; i--) { /* two, finished in the other order */
		w->aborted[g][node][index + (uint64_t)i] = wh_dice_one_in(&w->dice, 4);
		event = note(w, w->aborted[g][node][index + (uint64_t)i] ? 'A' : 'C', node);
		event->subgroup = g;
		event->number = index + (uint64_t)i;
	}
	w->claims[g][node] = index + 2;
}

/* Gives a message of the node a place in the order of its shard. */
static void give(struct world *w, uint32_t g, uint32_t node)
{
	struct wh_history_place place = place_now(w, g, node);
	uint32_t length = w->length[g][place.shard];
	struct line *line = w->line[g][place.shard];

	while (w->given[g][node] < w->claims[g][node] && w->aborted[g][node][w->given[g][node]])
		w->given[g][node]++;
	if (place.role != WH_HISTORY_SENDER || w->given[g][node] == w->claims[g][node])
		return;
	line[length] = (struct line){node, w->given[g][node]++, length > 0 ? line[length - 1].sequence : 0};
	line[length].sequence += 1 + wh_dice_below(&w->dice, 9);
	w->length[g][place.shard]++;
}

static void upcall(struct world *w, uint32_t g, uint32_t node, const struct line *line)
{
	note(w, 'D', node)->delivery = (struct wh_history_delivery){
		g, line->sender, w->views, line->index, line->sequence, digest_of(g, line->sender, line->index)};
}

/* The next message at this node, of what is in order below `limit`. */
static bool next_upcall(struct world *w, uint32_t g, uint32_t node, uint32_t limit)
{
	uint32_t shard = place_now(w, g, node).shard;

	if (w->position[g][node] >= limit)
		return false;
	upcall(w, g, node, &w->line[g][shard][w->position[g][node]++]);
	return true;
}

static bool next_tick(struct world *w, uint32_t node, uint32_t sender)
{
	uint64_t *next = &w->next[1][node][sender];

	while (*next < w->claims[1][sender] && w->aborted[1][sender][*next])
		(*next)++;
	if (*next == w->claims[1][sender] || place_now(w, 1, sender).role != WH_HISTORY_SENDER)
		return false;
	upcall(w, 1, node, &(struct line){sender, *next, *next});
	(*next)++;
	return true;
}

static void anything(struct world *w)
{
	uint32_t g = (uint32_t)wh_dice_below(&w->dice, GROUPS);
	uint32_t node = w->members[w->views][wh_dice_below(&w->dice, w->count)];
	uint32_t sender = w->members[w->views][wh_dice_below(&w->dice, w->count)];

	switch (wh_dice_below(&w->dice, 5)) {
	case 0:
		claim(w, g, node);
		break;
	case 1:
		if (g != 1)
			give(w, g, node);
		break;
	default:
		if (g == 1)
			next_tick(w, node, sender);
		else
			next_upcall(w, g, node, w->length[g][place_now(w, g, node).shard]);
	}
}

/* Where the order of a shard ends: at least where any member is. */
static uint32_t cut_of(struct world *w, uint32_t g, uint32_t shard)
{
	uint32_t least = 0;

	for (uint32_t rank = 0; rank < w->count; rank++) {
		uint32_t node = w->members[w->views][rank];

		if (place_now(w, g, node).shard == shard && w->position[g][node] > least)
			least = w->position[g][node];
	}
	return (uint32_t)wh_dice_between(&w->dice, least, w->length[g][shard]);
}

/* The next view without those whose `dead` is set anew. */
static void change(struct world *w)
{
	uint32_t cut[GROUPS][2] = {{0}}, before = w->views, stay = 0;
	bool gone[SEATS] = {false};

	for (uint32_t g = 0; g < GROUPS; g++)
		for (uint32_t shard = 0; shard < 2; shard++)
			cut[g][shard] = cut_of(w, g, shard);
	for (uint32_t victims = 0; victims < (w->count - 1) / 2 && !(victims && wh_dice_one_in(&w->dice, 2));
	     victims++) {
		uint32_t victim = w->members[before][wh_dice_below(&w->dice, w->count)];

		char kind = "XER"[wh_dice_below(&w->dice, 3)];

		if (gone[victim])
			continue;
		while (kind == 'R' && wh_dice_one_in(&w->dice, 2) && next_upcall(w, 0, victim, cut[0][0]))
			; /* it learns it a little later */
		note(w, kind, victim);
		gone[victim] = w->dead[victim] = true;
	}
	for (uint32_t rank = 0; rank < w->count; rank++)
		if (!gone[w->members[before][rank]])
			w->members[before + 1][stay++] = w->members[before][rank];
	w->counts[before + 1] = stay;
	for (uint32_t rank = (uint32_t)wh_dice_below(&w->dice, stay), i = 0; i < stay; i++, rank = (rank + 1) % stay) {
		uint32_t node = w->members[before + 1][rank];

		for (uint32_t g = 0; g < GROUPS; g += 2)
			while (next_upcall(w, g, node, cut[g][place_now(w, g, node).shard]))
				;
		note(w, 'V', node)->number = before + 1;
	}
	for (uint32_t g = 0; g < GROUPS; g++)
		for (uint32_t shard = 0; shard < 2; shard++) {
			for (uint32_t i = w->length[g][shard]; i-- > cut[g][shard];)
				w->given[g][w->line[g][shard][i].sender] = w->line[g][shard][i].index;
			w->length[g][shard] = 0;
		}
	for (uint32_t node = 0; node < SEATS; node++)
		for (uint32_t g = 0; g < GROUPS; g++) {
			struct wh_history_place was = place_now(w, g, node), is = place_in(w, before + 1, g, node);

			w->position[g][node] = 0;
			if (was.role == WH_HISTORY_SENDER && (is.role != WH_HISTORY_SENDER || is.shard != was.shard)) {
				w->given[g][node] = w->claims[g][node];
				for (uint32_t other = 0; other < SEATS; other++)
					w->next[g][other][node] = w->claims[g][node];
			}
		}
	w->views = before + 1;
	w->count = stay;
}

/* Everything that can be delivered is. */
static void settle(struct world *w)
{
	for (uint32_t rank = 0; rank < w->count; rank++)
		for (uint32_t i = 0; i < CLAIMS; i++) {
			give(w, 0, w->members[w->views][rank]);
			give(w, 2, w->members[w->views][rank]);
		}
	for (uint32_t rank = 0; rank < w->count; rank++) {
		uint32_t node = w->members[w->views][rank];

		for (uint32_t g = 0; g < GROUPS; g += 2)
			while (next_upcall(w, g, node, w->length[g][place_now(w, g, node).shard]))
				;
		for (uint32_t s = 0; s < w->count; s++)
			while (next_tick(w, node, w->members[w->views][s]))
				;
	}
}

static struct world *new_world(uint64_t seed)
{
	struct world *w = calloc(1, sizeof(*w));

	ck_assert_ptr_nonnull(w);
	w->events = calloc(EVENTS, sizeof(*w->events));
	ck_assert_ptr_nonnull(w->events);
	w->dice.state = seed;
	w->count = w->counts[0] = SEATS;
	for (uint32_t n = 0; n < SEATS; n++) {
		w->members[0][n] = n;
		note(w, 'V', n);
	}
	while (w->count > 2) {
		for (uint64_t steps = 100 + wh_dice_below(&w->dice, 2000); steps > 0; steps--)
			anything(w);
		change(w);
	}
	settle(w);
	return w;
}

static void free_world(struct world *w)
{
	free(w->events);
	free(w);
}

static bool tell(struct wh_history *h, const struct world *w, const struct event *event)
{
	struct wh_history_place places[GROUPS];

	switch (event->kind) {
	case 'V':
		for (uint32_t rank = 0; rank < w->counts[event->number]; rank++) {
			if (w->members[event->number][rank] != event->node)
				continue;
			for (uint32_t g = 0; g < GROUPS; g++)
				places[g] = place_at(g, rank);
			return wh_history_view(h, event->node,
					       &(struct wh_history_view){event->number, w->counts[event->number], rank,
									 w->members[event->number], places});
		}
		return false;
	case 'C':
		return wh_history_commit(h, event->node, event->subgroup, event->number,
					 digest_of(event->subgroup, event->node, event->number));
	case 'A':
		return wh_history_abort(h, event->node, event->subgroup, event->number);
	case 'D':
		return wh_history_deliver(h, event->node, &event->delivery);
	case 'X':
		return wh_history_crashed(h, event->node);
	case 'R':
		return wh_history_removed(h, event->node);
	default:
		return wh_history_left(h, event->node);
	}
}

/* Is the whole history good? Why not goes to the output. */
static bool judge(const struct world *w)
{
	struct wh_history *h = make(SEATS, -1, false);
	bool survives[SEATS], good = true;

	for (uint32_t n = 0; n < SEATS; n++)
		survives[n] = !w->dead[n];
	for (uint32_t i = 0; i < w->event_count && good; i++)
		good = tell(h, w, &w->events[i]);
	good = good && wh_history_end(h, survives);
	if (!good)
		printf("%s\n", wh_history_broken(h));
	wh_history_free(h);
	return good;
}

START_TEST(long_ones_pass)
{
	struct wh_dice dice = {test_seed(1)};

	for (int i = 0; i < 20; i++) {
		struct world *w = new_world(wh_dice_roll(&dice));

		ck_assert(judge(w));
		free_world(w);
	}
}
END_TEST

/* ---- and broken ones of them fail ------------------------------------------------------------------------------------ */

static bool same_message(const struct event *a, const struct event *b)
{
	return a->kind == 'D' && b->kind == 'D' && a->subgroup == b->subgroup &&
	       a->delivery.subgroup == b->delivery.subgroup && a->delivery.sender == b->delivery.sender &&
	       a->delivery.index == b->delivery.index;
}

static bool delivered_elsewhere(const struct world *w, const struct event *event)
{
	for (uint32_t i = 0; i < w->event_count; i++)
		if (w->events[i].node != event->node && same_message(&w->events[i], event))
			return true;
	return false;
}

static void drop(struct world *w, struct event *event)
{
	struct event *end = w->events + --w->event_count;

	memmove(event, event + 1, (size_t)(end - event) * sizeof(*event));
}

/* The next delivery of this node in the same subgroup and view; NULL: there is none. */
static struct event *follower(const struct world *w, struct event *event)
{
	for (struct event *e = event + 1; e < w->events + w->event_count; e++)
		if (e->kind == 'D' && e->node == event->node && e->delivery.subgroup == event->delivery.subgroup)
			return e->delivery.view == event->delivery.view ? e : NULL;
	return NULL;
}

static void swap(struct event *a, struct event *b)
{
	struct wh_history_delivery kept = a->delivery;

	a->delivery = b->delivery;
	b->delivery = kept;
}

/* Breaks one delivery; false: this one cannot be broken that way. */
static bool damage(struct world *w, struct event *event, int way)
{
	bool ordered = event->delivery.subgroup != 1;
	struct event *next = follower(w, event);

	if (event->kind != 'D')
		return false;
	switch (way) {
	case 0:
		event->delivery.digest ^= UINT64_C(1) << 40;
		return true;
	case 1: /* one more time, instead of the next */
		if (next != NULL)
			next->delivery = event->delivery;
		return next != NULL;
	case 2:
		if (next != NULL && (ordered || next->delivery.sender == event->delivery.sender)) {
			swap(event, next);
			return true;
		}
		return false;
	case 3:
		if (!ordered || w->dead[event->node] || !delivered_elsewhere(w, event))
			return false;
		drop(w, event);
		return true;
	default: /* before it was committed */
		for (struct event *e = w->events; e < event; e++)
			if (e->kind == 'C' && e->node == event->delivery.sender &&
			    e->subgroup == event->delivery.subgroup && e->number == event->delivery.index) {
				drop(w, e);
				return true;
			}
		return false;
	}
}

START_TEST(damaged_ones_fail)
{
	struct wh_dice dice = {test_seed(1) + (uint64_t)_i};

	for (int i = 0; i < 20; i++) {
		struct world *w = new_world(wh_dice_roll(&dice));

		while (!damage(w, &w->events[wh_dice_below(&dice, w->event_count)], _i))
			;
		ck_assert(!judge(w));
		free_world(w);
	}
}
END_TEST

/* ---- logs ------------------------------------------------------------------------------------------------------------ */

static void log_event(FILE *log, const struct world *w, const struct event *event)
{
	struct wh_history_place places[GROUPS];
	bool good = true;

	if (event->kind == 'V') {
		struct wh_history_view view = {event->number, w->counts[event->number], 0, w->members[event->number],
					       places};

		while (view.members[view.rank] != event->node)
			view.rank++;
		for (uint32_t g = 0; g < GROUPS; g++)
			places[g] = place_at(g, view.rank);
		good = wh_history_log_view(log, &view, GROUPS);
	} else if (event->kind == 'C') {
		good = wh_history_log_commit(log, event->subgroup, event->number,
					     digest_of(event->subgroup, event->node, event->number));
	} else if (event->kind == 'A') {
		good = wh_history_log_abort(log, event->subgroup, event->number);
	} else if (event->kind == 'D') {
		good = wh_history_log_deliver(log, &event->delivery);
	} else if (event->kind == 'R') {
		good = wh_history_log_removed(log);
	} else if (event->kind == 'E') {
		good = wh_history_log_leaving(log) && wh_history_log_left(log);
	} else { /* crashed in the middle of a line */
		good = fputs("D 0 1", log) >= 0;
	}
	ck_assert(good);
}

/* Each node's log by itself; merged they are the same history. */
START_TEST(logs_are_merged)
{
	struct wh_dice dice = {test_seed(1)};
	struct world *w = new_world(wh_dice_roll(&dice));
	struct wh_history *h = make(SEATS, -1, false);
	FILE *logs[SEATS];
	char *text[SEATS];
	size_t bytes[SEATS];
	bool survives[SEATS];
	uint64_t deliveries = 0;

	for (uint32_t n = 0; n < SEATS; n++)
		ck_assert_ptr_nonnull(logs[n] = open_memstream(&text[n], &bytes[n]));
	for (uint32_t i = 0; i < w->event_count; i++) {
		log_event(logs[w->events[i].node], w, &w->events[i]);
		deliveries += w->events[i].kind == 'D';
	}
	for (uint32_t n = 0; n < SEATS; n++) {
		fclose(logs[n]);
		ck_assert_ptr_nonnull(logs[n] = fmemopen(text[n], bytes[n], "r"));
		survives[n] = !w->dead[n];
	}
	ck_assert_msg(wh_history_replay(h, logs), "%s", wh_history_broken(h));
	ck_assert_uint_eq(wh_history_deliveries(h), deliveries);
	ck_assert_msg(wh_history_end(h, survives), "%s", wh_history_broken(h));
	for (uint32_t n = 0; n < SEATS; n++) {
		fclose(logs[n]);
		free(text[n]);
	}
	wh_history_free(h);
	free_world(w);
}
END_TEST

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

START_TEST(logs_are_read)
{
	struct wh_history *h = make(2, -1, false);
	FILE *logs[2];
	bool good;

	for (int n = 0; n < 2; n++) {
		logs[n] = texts[_i].logs[n] != NULL ? tmpfile() : NULL;
		if (logs[n] != NULL) {
			fputs(texts[_i].logs[n], logs[n]);
			rewind(logs[n]);
		}
	}
	good = wh_history_replay(h, logs);
	ck_assert_int_eq(good, wh_history_broken(h) == NULL);
	if (texts[_i].words == NULL)
		ck_assert_msg(good, "%s", wh_history_broken(h));
	else
		ck_assert_str_eq(good ? "nothing is found broken" : wh_history_broken(h), texts[_i].words);
	for (int n = 0; n < 2; n++)
		if (logs[n] != NULL)
			fclose(logs[n]);
	wh_history_free(h);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static Suite *suite(void)
{
	Suite *s = suite_create("history");
	TCase *small = tcase_create("small"), *random = tcase_create("random"), *logs = tcase_create("logs");

	tcase_add_loop_test(small, what_breaks_a_history, 0, COUNT(broken));
	tcase_add_loop_test(small, what_does_not, 0, COUNT(whole));
	tcase_add_test(small, other_configurations);
	suite_add_tcase(s, small);
	tcase_add_test(random, long_ones_pass);
	tcase_add_loop_test(random, damaged_ones_fail, 0, 5);
	suite_add_tcase(s, random);
	tcase_add_test(logs, logs_are_merged);
	tcase_add_loop_test(logs, logs_are_read, 0, COUNT(texts));
	suite_add_tcase(s, logs);
	return s;
}

int main(void)
{
	return test_main(suite());
}
