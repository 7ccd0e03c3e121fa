/* test_history_births.c - the judge of dynamic subgroups: what nodes wish, what views say, and what is delivered before a stay ends.
 *
 * Scripts of events, as in test_history.c, of nodes 0 to 4 and one configured subgroup in which all are. Dynamic subgroups are letters:
 * a, b and c are of the name d0, x and y of d1. The first view of each, its seat and what it is agreed to be are in `births`.
 *
 *     V1:012:a=01*   these install view 1; in a there are 0 and 1, and * all of them have entered; a=01+1 only 1 has. 1 is no sender
 *                    if m stands behind it. 2V1:... node 2 alone
 *     0W0 0W0.5 0L0  node 0 wishes to be in d0, as it is in `births`, or with parameters 5; as one that only listens: 0w0
 *     0U0 0R0 0O0    it wishes that no more; it is told that it is refused, or out
 *     0C3a 0A3a      it commits claim 3 there, or aborts it
 *     2D0.3@7a       node 2 delivers message 3 of node 0, sequence 7
 *     2X end:01      it crashes; the end
 */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "sim/history.h"
#include "tests/unit/history.h"

#define NODES 5
#define AGREED 9

static const struct {
	char letter;
	uint32_t title, seat;
	uint64_t born, parameters;
} births[] = {
	{'a', 0, 0, 1, AGREED}, {'b', 0, 1, 3, AGREED}, {'c', 0, 0, 2, AGREED}, {'x', 1, 1, 1, AGREED},
	{'y', 1, 0, 1, AGREED}, {'p', 0, 0, 1, 5},      {'q', 1, 2, 1, AGREED},
};

struct game {
	struct wh_history *h;
	uint32_t numbers[COUNT(births)]; /* 0: it is not born */
};

static uint32_t subgroup_of(struct game *game, char letter)
{
	for (int i = 0; i < COUNT(births); i++) {
		if (births[i].letter != letter)
			continue;
		if (game->numbers[i] == 0)
			game->numbers[i] = wh_history_bear(
				game->h, &(struct wh_history_subgroup){.name = (char[2]){letter, '\0'},
								       .ordered = true,
								       .shards = 1,
								       .title = births[i].title,
								       .seat = births[i].seat,
								       .born = births[i].born,
								       .parameters = births[i].parameters});
		return game->numbers[i];
	}
	return 0;
}

/* "a=01m+1" */
static char *read_dynamic(struct game *game, char *at, struct wh_history_dynamic *out)
{
	uint64_t *set = &out->members;
	char letter = *at;

	*out = (struct wh_history_dynamic){.subgroup = subgroup_of(game, letter), .parameters = AGREED};
	if (letter == 'p')
		out->parameters = 5;
	for (at += 2; *at != '\0' && *at != ':'; at++) {
		if (*at == '+')
			set = &out->entered;
		else if (*at == '*')
			out->entered = out->members;
		else if (*at == '!')
			out->parameters++;
		else if (isdigit((unsigned char)*at))
			*set |= UINT64_C(1) << (*at - '0');
		if (isdigit((unsigned char)*at) && set == &out->members && at[1] != 'm')
			out->senders |= UINT64_C(1) << (*at - '0');
	}
	return at;
}

static bool install_at(struct game *game, uint32_t node, struct wh_history_view *view)
{
	struct wh_history_place places[1 + COUNT(births)] = {{.role = WH_HISTORY_SENDER}};

	for (view->rank = 0; view->rank < view->count && view->members[view->rank] != node; view->rank++)
		;
	for (uint32_t i = 0; i < view->dynamic_count; i++) {
		const struct wh_history_dynamic *in = &view->dynamic[i];

		if ((in->members >> node & 1) != 0)
			places[in->subgroup].role =
				(in->senders >> node & 1) != 0 ? WH_HISTORY_SENDER : WH_HISTORY_MEMBER;
	}
	view->places = places;
	return wh_history_view(game->h, node, view);
}

/* "1:012:a=01*:x=2*" */
static bool install(struct game *game, int node, char *token)
{
	struct wh_history_dynamic dynamic[COUNT(births)];
	uint32_t members[NODES];
	struct wh_history_view view = {.members = members, .dynamic = dynamic};
	char *at;
	bool good = true;

	view.number = strtoull(token, &at, 10);
	for (at++; isdigit((unsigned char)*at); at++)
		members[view.count++] = (uint32_t)(*at - '0');
	while (*at == ':')
		at = read_dynamic(game, at + 1, &dynamic[view.dynamic_count++]);
	if (wh_history_broken(game->h) != NULL)
		return false;
	if (node >= 0)
		return install_at(game, (uint32_t)node, &view);
	for (uint32_t i = 0; i < view.count && good; i++)
		good = install_at(game, members[i], &view);
	return good;
}

static bool deliver(struct game *game, uint32_t node, char *token)
{
	struct wh_history_delivery d = {.subgroup = 0};
	char *at;

	d.sender = (uint32_t)strtoul(token, &at, 10);
	d.index = strtoull(at + 1, &at, 10);
	d.sequence = strtoull(at + 1, &at, 10);
	d.subgroup = subgroup_of(game, *at);
	(void)wh_history_view_of(game->h, node, &d.view);
	d.digest = digest_of(d.subgroup, d.sender, d.index);
	return wh_history_deliver(game->h, node, &d);
}

static bool end(struct wh_history *h, const char *survivors)
{
	bool survives[NODES] = {false};

	for (; *survivors != '\0'; survivors++)
		survives[*survivors - '0'] = true;
	return wh_history_end(h, survives);
}

static bool act(struct game *game, char *token)
{
	uint32_t node = (uint32_t)(token[0] - '0'), g;
	char *at = token + 2;
	uint64_t number;

	if (token[0] == 'V')
		return install(game, -1, token + 1);
	if (token[0] == 'e')
		return end(game->h, token + strlen("end:"));
	if (token[1] == 'V')
		return install(game, (int)node, token + 2);
	if (token[1] == 'D')
		return deliver(game, node, token + 2);
	number = strtoull(token + 2, &at, 10);
	g = subgroup_of(game, *at);
	switch (token[1]) {
	case 'W':
	case 'w':
		return wh_history_wish(game->h, node, (uint32_t)number,
				       *at == '.' ? strtoull(at + 1, NULL, 10) : AGREED, token[1] == 'W');
	case 'U':
		return wh_history_unwish(game->h, node, (uint32_t)number);
	case 'R':
		return wh_history_wish_refused(game->h, node, (uint32_t)number);
	case 'O':
		return wh_history_stay_over(game->h, node, (uint32_t)number);
	case 'C':
		return wh_history_commit(game->h, node, g, number, digest_of(g, node, number));
	case 'A':
		return wh_history_abort(game->h, node, g, number);
	case 'X':
		return wh_history_crashed(game->h, node);
	default:
		ck_abort_msg("no such event: %s", token);
		return false;
	}
}

/* The last event breaks the history with these words; NULL: nothing breaks it. */
static void play(const char *script, const char *words)
{
	static const struct wh_history_subgroup orders = {.name = "orders", .ordered = true, .shards = 1};
	struct game game = {.h = make_of(&(struct wh_history_config){.nodes = NODES,
								     .configured = 3,
								     .subgroups = &orders,
								     .subgroup_count = 1,
								     .tie_breaker = -1,
								     .joins = true})};
	char text[512], *rest = text, *token;

	snprintf(text, sizeof(text), "%s", script);
	while ((token = strtok_r(rest, " ", &rest)) != NULL) {
		bool good = act(&game, token);

		ck_assert_int_eq(good, wh_history_broken(game.h) == NULL);
		if (words == NULL || *rest != '\0')
			ck_assert_msg(good, "%s: at %s: %s", script, token, wh_history_broken(game.h));
	}
	if (words != NULL)
		ck_assert_msg(wh_history_broken(game.h) != NULL, "%s: nothing is found broken, expected \"%s\"", script,
			      words);
	if (words != NULL)
		ck_assert_str_eq(wh_history_broken(game.h), words);
	wh_history_free(game.h);
}

#define THREE "V0:012 0W0 1W0 "

static const struct {
	const char *script, *words;
} broken[] = {
	/* births */
	{THREE "1W1 0V1:012:a=01*:x=1* 1V1:012:a=01*",
	 "births: view 1 of node 1 has other dynamic subgroups than that of node 0"},
	{THREE "0V1:012:a=01* 1V1:012:a=0*", "births: view 1 of node 1 has other dynamic subgroups than that of node 0"},
	{THREE "0V1:012:a=01* 1V1:012:a=01m*",
	 "births: view 1 of node 1 has other dynamic subgroups than that of node 0"},
	{THREE "0V1:012:a=01!*", "births: a in view 1 has other parameters than when it was born"},
	{THREE "V1:012 0V2:012:a=0*", "births: a, born in view 1, is in view 2, and was not in the one before"},
	{THREE "0V1:012:b=0*", "births: view 1 has dynamic subgroup 1, which is not born by then"},
	{THREE "0V1:012:a=03*", "births: a in view 1 has members 9 and senders 9"},
	{THREE "0V1:012:a=", "births: a in view 1 has members 0 and senders 0"},
	{THREE "0V1:012:a=0*:p=1*", "births: p is born in view 1 and seat 0, as a was"},
	{THREE "0V1:012:x=0*:y=1*", "births: view 1 has two dynamic subgroups of a name, x and y"},
	{THREE "V1:012:a=01* 0V2:012:a=01:c=2*", "births: view 2 has two dynamic subgroups of a name, a and c"},
	{THREE "V1:012:a=01* 0U0 1U0 V2:012 0V3:012:a=0+0",
	 "births: a, born in view 1, is in view 3, and was not in the one before"},
	{THREE "V1:012:a=01* 0U0 1U0 2W0 2V2:012:c=2*",
	 "births: c is born in view 2, in the seat that a had in the view before"},
	{THREE "0V1:012:a=01+0", "births: a is born in view 1 with a member that has not entered"},
	{THREE "V1:012:a=01* 2W0 0U0 1U0 2V2:012:a=2*", "births: a goes on in view 2, and no member of it stays"},
	{THREE "V1:012:a=01* 2W0 0V2:012:a=012", "births: a in view 2 says that nodes 0 have entered, expected 4"},
	{THREE "V1:012:a=01* 0V2:012:a=01+1", "births: a in view 2 says that nodes 2 have entered, expected 0"},
	/* stays */
	{THREE "2V1:012:a=012*", "stays: node 2 is in a, which it has not wished"},
	{"V0:012 0W0.5 0V1:012:a=0*", "stays: node 0 is in a, which it has wished otherwise"},
	{"V0:012 0w0 0V1:012:a=0*", "stays: node 0 is a sender in a, and only listens"},
	{THREE "V1:012:a=01* 0V2:012:a=1", "stays: node 0 is out of a, and has not left it"},
	{THREE "V1:012:a=01* 0U0 0C0a 0V2:012:a=1", "stays: node 0 is out of a, and its message 0 is not delivered"},
	{THREE "0W0", "stays: node 0 wishes for d0, and has not left it"},
	{THREE "V1:012:a=01* 0U0 V2:012:a=1 0C0a 1D0.0@0a",
	 "its view: node 1 delivers message 0 of node 0, which is no sender there (a, view 2, place 0)"},
	{THREE "V1:012:a=01* 2D0.0@0a",
	 "its view: node 2 delivers message 0 of node 0 and is in no active shard (a, view 1, place 0)"},
	{THREE "2R0", "stays: node 2 is refused d0, and has not wished it"},
	{THREE "0R0", "stays: node 0 is refused d0, and no node has wished it otherwise"},
	{THREE "V1:012:a=01* 2W0.5 0R0", "stays: node 0 is refused d0, and is in it"},
	{THREE "V1:012:a=01* 0U0 1U0 V2:012 2W0.5 2R0",
	 "stays: node 2 is refused d0, and no node has wished it otherwise"},
	{THREE "0O0", "stays: node 0 is told that it is out of d0, and has not left it"},
	{THREE "V1:012:a=01* 0U0 0O0", "stays: node 0 is told that it is out of d0, and is in it"},
	/* order and atomicity are those of any subgroup */
	{THREE "V1:012:a=01* 0C0a 1C0a 0D0.0@0a 1D1.0@1a",
	 "same order: node 1 delivers message 0 of node 1 where node 0 delivered message 0 of node 0 (a, view 1, place 0)"},
	{THREE "V1:012:a=01* 0C0a 0D0.0@0a 0V2:012:a=01 1V2:012:a=01",
	 "same set: node 1 goes on from view 1 without message 0 of node 0, which node 0 delivered there (a, view 1, place 0)"},
	/* from one stay to the next: 1 has what was of the first */
	{THREE "V1:012:a=01* 0C0a 0D0.0@0a 1D0.0@0a 0U0 V2:012:a=1 0W0 V3:012:a=01+0 0C1a 0C2a 1D0.2@0a",
	 "no gap: node 1 delivers message 2 of node 0 without message 1 (a, view 3, place 0)"},
	{THREE "V1:012:a=01* 0C0a 0D0.0@0a 1D0.0@0a 0U0 V2:012:a=1 0W0 V3:012:a=01+0 1D0.0@0a",
	 "no duplicate: node 1 delivers message 0 of node 0 again, or behind message 0 (a, view 3, place 0)"},
	/* the end */
	{THREE "V1:012:a=0* end:012", "progress: node 1 ends, and has not come into d0"},
	{THREE "V1:012:a=01* 1U0 end:012", "progress: node 1 ends, and has not left d0"},
};

TEST_LOOP(what_breaks_a_history, 0, COUNT(broken))
{
	play(broken[_i].script, broken[_i].words);
}

static const char *const whole[] = {
	THREE "V1:012:a=01* end:012",
	/* left and entered again while another stays */
	THREE
	"V1:012:a=01* 0C0a 0D0.0@0a 1D0.0@0a 0U0 V2:012:a=0m1 V3:012:a=1 0O0 0W0 V4:012:a=01+0 0C1a 0D0.1@0a 1D0.1@0a end:012",
	/* gone, and another of that name, in another seat */
	THREE "V1:012:a=01* 0U0 1U0 V2:012 0W0 V3:012:b=0* end:0 ",
	/* a member dies, another comes; one that was only wished is taken back */
	THREE "V1:012:a=01* 1X 2W0 V2:02:a=0 V3:02:a=02+2 2U0 V4:02:a=0 end:02",
	THREE "V1:012:a=0* 1U0 1O0 end:012",
	THREE "V1:012:a=0* 1U0 end:012",
	/* one view serves several, and one of them is refused */
	"V0:012 0W0 1W0.5 2W0 2W1 V1:012:a=02*:q=2* 1R0 1W0 V2:012:a=012+1:q=2 end:012",
	/* its message is passed over by those that enter later */
	THREE "V1:012:a=0* 0C0a 0D0.0@0a V2:012:a=01+1 0C1a 0D0.1@0a 1D0.1@0a end:012",
	/* refused by what was there when it was said, though that has gone meanwhile */
	"V0:012 0W0 1W0.5 V1:012:a=0* 0U0 V2:012 1R0 end:012",
};

TEST_LOOP(what_is_whole, 0, COUNT(whole))
{
	play(whole[_i], NULL);
}

TEST_SUITE("history of births")
