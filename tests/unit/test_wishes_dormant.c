/* test_wishes_dormant.c - durable dynamic subgroups without members: what brings them back, and what does not (docs/decisions/0058). */
#include "tests/support/wishes_lab.h"

/* ---- the lab -------------------------------------------------------------------------------------------------------------- */

/* The disk of that node has that much of `a`, it says. */
static void hold(struct lab *lab, uint32_t id, struct wh_holding holding)
{
	ck_assert_uint_gt(lab->sets[id]->count, 0);
	ck_assert_str_eq(lab->sets[id]->wishes[0].name, "a");
	lab->sets[id]->wishes[0].holding = holding;
}

static void wish_holding(struct lab *lab, uint32_t id, struct wh_holding holding)
{
	lab_wish(lab, id, "a%");
	hold(lab, id, holding);
}

/* NAME#SEAT@VIEW(LAST BEFORE: ID ...); behind an id -: it had entered in that view. */
static const char *show_dormant(char text[1024], const struct wh_view *view)
{
	char *at = text;

	text[0] = '\0';
	for (uint32_t i = 0; i < view->dormant_count; i++) {
		const struct wh_dormant *is = &view->dormant[i];

		at += sprintf(at, "%s%s#%u@%u(%u %u:", i > 0 ? " " : "", is->name, wh_birth_seat(is->birth),
			      (unsigned)wh_birth_view(is->birth), (unsigned)is->last, (unsigned)is->before);
		for (uint32_t m = 0; m < is->member_count; m++)
			at += sprintf(at, " %u%s", is->members[m].id, is->members[m].had ? "" : "-");
		at += sprintf(at, ")");
	}
	return text;
}

#define EXPECT_DORMANT(lab, text)                                                                                      \
	do {                                                                                                           \
		char shown[1024];                                                                                      \
		ck_assert_str_eq(show_dormant(shown, (lab)->view), text);                                              \
	} while (0)

/* `a`, born in view 1, in which 0 and 1 are last in view 2, 2 having left; and all of them are there. In view 3 it is dormant. */
static void put_to_sleep(struct lab *lab)
{
	wishes_lab_begin(lab, 4);
	for (uint32_t id = 0; id < 3; id++)
		lab_wish(lab, id, "a%");
	lab_plain(lab);
	LAB_EXPECT(lab, "a#0@1[0! 1! 2!]");
	lab_wish(lab, 2, "");
	lab_plain(lab);
	LAB_EXPECT(lab, "a#0@1[0 1]");
	lab_wish(lab, 0, "");
	lab_wish(lab, 1, "");
	lab_plain(lab);
	LAB_EXPECT(lab, "");
	EXPECT_DORMANT(lab, "a#0@1(2 1: 0 1)");
}

static struct wh_holding holding_at(uint64_t last, uint64_t place)
{
	return (struct wh_holding){.birth = wh_birth_make(1, 0), .last = last, .place = place, .whole = true};
}

static void expect_refused(const struct lab *lab, uint32_t index, uint32_t rank, enum wh_refused why)
{
	ck_assert_uint_lt(index, lab->composed.refusal_count);
	ck_assert_uint_eq(lab->composed.refusals[index].rank, rank);
	ck_assert_int_eq(lab->composed.refusals[index].why, why);
}

/* It comes back in this view, from that one at that place, from the logs of `count` members: the first of these is of that rank. */
static void expect_back(const struct lab *lab, uint64_t from, uint64_t cut, uint32_t count, uint32_t rank)
{
	const struct wh_view_subgroup *is = &wh_view_dynamic(lab->view)[0];

	ck_assert_uint_eq(is->from, from);
	ck_assert_uint_eq(is->cut, cut);
	ck_assert_uint_eq(is->returned_count, count);
	ck_assert_uint_eq(is->returned[0], rank);
}

/* ---- asleep --------------------------------------------------------------------------------------------------------------- */

TEST(without_members_it_is_dormant)
{
	struct lab lab;

	put_to_sleep(&lab);
	for (int i = 0; i < 3; i++)
		lab_plain(&lab);
	EXPECT_DORMANT(&lab, "a#0@1(2 1: 0 1)");
	lab_wish(&lab, 3, "b%");
	lab_plain(&lab);
	LAB_EXPECT(&lab, "b#1@7[3!]"); /* its seat is taken */
	lab_without_wishes(&lab, &(struct wh_next){.removed = (const bool[LAB_NODES]){true, true}});
	EXPECT_DORMANT(&lab, "a#0@1(2 1: 0 1)");
	wishes_lab_end(&lab);
}

/* Those that have entered in the last view have what a life before had, at most. */
TEST(it_is_known_who_had_entered)
{
	struct lab lab;

	wishes_lab_begin(&lab, 3);
	lab_wish(&lab, 0, "a%");
	lab_plain(&lab);
	lab_wish(&lab, 1, "a%");
	lab_plain(&lab);
	LAB_EXPECT(&lab, "a#0@1[0 1!]");
	lab_without_wishes(&lab, &(struct wh_next){.removed = (const bool[LAB_NODES]){true, true}});
	EXPECT_DORMANT(&lab, "a#0@1(2 1: 0 1-)");
	wishes_lab_end(&lab);
}

TEST(one_that_is_not_durable_is_gone)
{
	struct lab lab;

	wishes_lab_begin(&lab, 2);
	lab_wish(&lab, 0, "a b%");
	lab_plain(&lab);
	lab_wish(&lab, 0, "");
	lab_plain(&lab);
	LAB_EXPECT(&lab, "");
	EXPECT_DORMANT(&lab, "b#1@1(1 0: 0-)");
	wishes_lab_end(&lab);
}

/* All that were in it are put out: none that is left has a whole log. */
TEST(members_are_put_out)
{
	uint64_t out[] = {0, 0, 0, 0, 0, 2 + 4}; /* by subgroup of the view: five shards of the file, then it */
	struct lab lab;

	wishes_lab_begin(&lab, 3);
	for (uint32_t id = 0; id < 3; id++)
		lab_wish(&lab, id, "a%");
	lab_plain(&lab);
	lab_plain(&lab);
	ck_assert_uint_le(lab.view->subgroup_count, sizeof(out) / sizeof(out[0]));
	memset(out, 0, sizeof(out));
	out[lab.view->subgroup_count - 1] = 2 + 4;
	lab_without_wishes(&lab, &(struct wh_next){.removed = (const bool[LAB_NODES]){true}, .ended = out});
	LAB_EXPECT(&lab, "");
	EXPECT_DORMANT(&lab, "a#0@1(2 1: 0 1 2)");
	wishes_lab_end(&lab);
}

/* ---- back ----------------------------------------------------------------------------------------------------------------- */

TEST(a_log_brings_it_back)
{
	struct lab lab;

	put_to_sleep(&lab);
	wish_holding(&lab, 1, holding_at(2, 7));
	lab_wish(&lab, 3, "a+%");
	lab_plain(&lab);
	LAB_EXPECT(&lab, "a#0@1[1! 3s!]");
	EXPECT_DORMANT(&lab, "");
	ck_assert_uint_eq(lab.composed.refusal_count, 0);
	expect_back(&lab, 2, 7, 1, 1);
	lab_plain(&lab);
	ck_assert_uint_eq(wh_view_dynamic(lab.view)[0].from, 0);
	ck_assert_uint_eq(wh_view_dynamic(lab.view)[0].returned_count, 0);
	wishes_lab_end(&lab);
}

/* What lies behind the least of them was delivered by none. */
TEST(the_least_place_counts)
{
	struct lab lab;

	put_to_sleep(&lab);
	wish_holding(&lab, 0, holding_at(2, 9));
	wish_holding(&lab, 1, holding_at(2, 7));
	lab_plain(&lab);
	expect_back(&lab, 2, 7, 2, 0);
	wishes_lab_end(&lab);
}

/* One that has not begun the last view may lack what another has. */
TEST(the_latest_view_counts)
{
	struct lab lab;

	put_to_sleep(&lab);
	wish_holding(&lab, 0, holding_at(1, 90));
	wish_holding(&lab, 1, holding_at(2, 7));
	lab_plain(&lab);
	LAB_EXPECT(&lab, "a#0@1[0! 1!]");
	expect_back(&lab, 2, 7, 1, 1);
	wishes_lab_end(&lab);
}

/* Where none has begun the last view nothing was delivered in it. */
TEST(the_view_before_counts)
{
	struct lab lab;

	put_to_sleep(&lab);
	wish_holding(&lab, 0, holding_at(1, 5));
	lab_plain(&lab);
	LAB_EXPECT(&lab, "a#0@1[0!]");
	expect_back(&lab, 1, 5, 1, 0);
	wishes_lab_end(&lab);
}

/* So far all had it. */
TEST(a_log_that_has_lost_its_end_does_not_count)
{
	struct wh_holding other = holding_at(2, 9);
	struct lab lab;

	put_to_sleep(&lab);
	other.whole = false;
	other.frontier = 8;
	wish_holding(&lab, 0, other);
	wish_holding(&lab, 1, holding_at(2, 7));
	lab_plain(&lab);
	LAB_EXPECT(&lab, "");
	ck_assert_uint_eq(lab.composed.refusal_count, 2);
	expect_refused(&lab, 1, 1, WH_REFUSED_DORMANT);
	wish_holding(&lab, 0, other);
	wish_holding(&lab, 1, holding_at(2, 8));
	lab_plain(&lab);
	LAB_EXPECT(&lab, "a#0@1[0! 1!]");
	expect_back(&lab, 2, 8, 1, 1);
	wishes_lab_end(&lab);
}

/* What it had in its last view, in which it had come back, it had in the one that it came back from, too. */
TEST(it_comes_back_again)
{
	struct lab lab;

	put_to_sleep(&lab);
	wish_holding(&lab, 1, holding_at(2, 7));
	lab_wish(&lab, 3, "a%");
	lab_plain(&lab);
	lab_without_wishes(&lab, &(struct wh_next){.removed = (const bool[LAB_NODES]){false, true, false, true}});
	EXPECT_DORMANT(&lab, "a#0@1(4 2: 1 3-)");
	wishes_lab_end(&lab);
}

/* ---- refused -------------------------------------------------------------------------------------------------------------- */

static const struct { /* of the node of that id, alone; it does not count */
	uint32_t id;
	struct wh_holding holding;
} useless[] = {
	{0, {.birth = 0}},
	{0, {.birth = 0x10000, .last = 2, .place = 7}},                /* not whole */
	{0, {.birth = 0x10001, .last = 2, .place = 7, .whole = true}}, /* another's */
	{0, {.birth = 0x10000, .last = 0, .place = 7, .whole = true}}, /* of long ago */
	{0, {.birth = 0x10000, .last = 3, .place = 7, .whole = true}}, /* of a view in which it was not */
	{2, {.birth = 0x10000, .last = 2, .place = 7, .whole = true}}, /* it was no member then */
	{2, {.birth = 0x10000, .last = 1, .place = 7, .whole = true}}, /* it had left before */
	{3, {.birth = 0x10000, .last = 2, .place = 7, .whole = true}}, /* it never was */
};

TEST_LOOP(without_its_log_it_stays_dormant, 0, sizeof(useless) / sizeof(useless[0]))
{
	struct lab lab;

	put_to_sleep(&lab);
	wish_holding(&lab, useless[_i].id, useless[_i].holding);
	lab_plain(&lab);
	LAB_EXPECT(&lab, "");
	EXPECT_DORMANT(&lab, "a#0@1(2 1: 0 1)");
	ck_assert_uint_eq(lab.composed.refusal_count, 1);
	expect_refused(&lab, 0, useless[_i].id, WH_REFUSED_DORMANT);
	wishes_lab_end(&lab);
}

/* One that had entered in the last view has of the one before what another life had. */
TEST(one_that_had_entered_has_no_log_of_before)
{
	struct lab lab;

	wishes_lab_begin(&lab, 2);
	lab_wish(&lab, 0, "a%");
	lab_plain(&lab);
	lab_wish(&lab, 1, "a%");
	lab_plain(&lab);
	lab_wish(&lab, 0, "");
	lab_wish(&lab, 1, "");
	lab_plain(&lab);
	EXPECT_DORMANT(&lab, "a#0@1(2 1: 0 1-)");
	wish_holding(&lab, 1, holding_at(1, 5));
	lab_plain(&lab);
	expect_refused(&lab, 0, 1, WH_REFUSED_DORMANT);
	wish_holding(&lab, 1, holding_at(2, 5));
	lab_plain(&lab);
	LAB_EXPECT(&lab, "a#0@1[1!]");
	wishes_lab_end(&lab);
}

TEST(its_parameters_are_kept)
{
	struct lab lab;

	put_to_sleep(&lab);
	lab_wish(&lab, 1, "aw%");
	hold(&lab, 1, holding_at(2, 7));
	lab_wish(&lab, 3, "a");
	lab_plain(&lab);
	LAB_EXPECT(&lab, "");
	ck_assert_uint_eq(lab.composed.refusal_count, 2);
	expect_refused(&lab, 0, 1, WH_REFUSED_PARAMETER);
	ck_assert_int_eq(lab.composed.refusals[0].parameter, WH_PARAMETER_WINDOW);
	ck_assert_uint_eq(lab.composed.refusals[0].theirs, LAB_WINDOW);
	ck_assert_uint_eq(lab.composed.refusals[0].node, 0); /* the least of the last */
	expect_refused(&lab, 1, 3, WH_REFUSED_PARAMETER);
	ck_assert_int_eq(lab.composed.refusals[1].parameter, WH_PARAMETER_MODE);
	ck_assert_uint_eq(lab.composed.refusals[1].theirs, 2);
	wishes_lab_end(&lab);
}

TEST(it_begins_anew_without_a_log)
{
	struct lab lab;

	put_to_sleep(&lab);
	lab_wish(&lab, 2, "a%");
	lab_wish(&lab, 3, "aw%");
	lab.sets[3]->wishes[0].anew = true;
	lab_plain(&lab);
	LAB_EXPECT(&lab, "a#1@4[3!]"); /* what 2 wishes came before that of 3, and found it dormant */
	EXPECT_DORMANT(&lab, "");
	expect_refused(&lab, 0, 2, WH_REFUSED_DORMANT);
	ck_assert_uint_eq(wh_view_dynamic(lab.view)[0].from, 0);
	wishes_lab_end(&lab);
}

TEST(it_does_not_begin_anew_beside_its_log)
{
	struct lab lab;

	put_to_sleep(&lab);
	lab_wish(&lab, 0, "a%");
	lab.sets[0]->wishes[0].anew = true;
	wish_holding(&lab, 1, holding_at(2, 7));
	lab_plain(&lab);
	LAB_EXPECT(&lab, "a#0@1[0! 1!]");
	expect_back(&lab, 2, 7, 1, 1);
	wishes_lab_end(&lab);
}

/* ---- no successors ------------------------------------------------------------------------------------------------------- */

static void expect_no_successor(const struct lab *lab, uint32_t id, const char *text)
{
	static const struct wh_wish_set none = {.number = 0};
	const char *why = "";
	const struct wh_wish_set *mine = lab->sets[id] != NULL ? lab->sets[id] : &none;

	ck_assert_int_eq(wh_wishes_succeed(lab->view, lab->base, lab->before, id, mine, lab->refused[id], &why),
			 WH_NO_SUCCESSOR);
	ck_assert_msg(strstr(why, text) != NULL, "%s", why);
}

TEST(a_view_that_forgets_it_is_no_successor)
{
	struct lab lab;

	put_to_sleep(&lab);
	lab_plain(&lab);
	lab.view->dormant_count = 0;
	expect_no_successor(&lab, 3, "is forgotten, or another");
	lab.view->dormant_count = 1;
	lab.view->dormant[0].last = 1;
	expect_no_successor(&lab, 3, "is forgotten, or another");
	lab.view->dormant[0].last = 2;
	lab.view->dormant[0].members[1].had = false;
	expect_no_successor(&lab, 3, "is forgotten, or another");
	lab.view->dormant[0].members[1].had = true;
	lab.view->dormant[0].birth++;
	expect_no_successor(&lab, 3, "is forgotten, or another");
	wishes_lab_end(&lab);
}

TEST(what_falls_asleep_is_as_it_was)
{
	struct lab lab;

	wishes_lab_begin(&lab, 3);
	lab_wish(&lab, 0, "a%");
	lab_wish(&lab, 1, "a%");
	lab_plain(&lab);
	lab_wish(&lab, 0, "");
	lab_wish(&lab, 1, "");
	lab_plain(&lab);
	EXPECT_DORMANT(&lab, "a#0@1(1 0: 0- 1-)");
	lab.view->dormant[0].members[0].had = true;
	expect_no_successor(&lab, 2, "other members than its last");
	lab.view->dormant[0].members[0].had = false;
	lab.view->dormant[0].member_count = 1;
	expect_no_successor(&lab, 2, "other members than its last");
	lab.view->dormant[0].member_count = 2;
	lab.view->dormant[0].last = 0;
	expect_no_successor(&lab, 2, "that was not there");
	wishes_lab_end(&lab);
}

TEST(a_view_that_brings_it_back_by_other_logs_is_no_successor)
{
	struct wh_view_subgroup *is;
	struct lab lab;

	put_to_sleep(&lab);
	wish_holding(&lab, 1, holding_at(2, 7));
	lab_wish(&lab, 3, "a%");
	lab_plain(&lab);
	is = &lab.view->subgroups[lab.view->subgroup_count - 1];
	is->cut = 8;
	expect_no_successor(&lab, 1, "takes my log for what it is not");
	is->cut = 7;
	is->from = 1;
	expect_no_successor(&lab, 1, "takes my log for what it is not");
	is->from = 3;
	expect_no_successor(&lab, 1, "another view than its last");
	is->from = 2;
	is->returned[0] = 3;
	expect_no_successor(&lab, 0, "a node that was no member of it");
	is->returned[0] = 1;
	lab.sets[1]->wishes[0].holding.whole = false;
	expect_no_successor(&lab, 1, "takes my log for what it is not");
	lab.sets[1]->wishes[0].holding.whole = true;
	lab.sets[1]->wishes[0].holding.birth++;
	expect_no_successor(&lab, 1, "takes my log for what it is not");
	lab.sets[1]->wishes[0].holding.birth--;
	is->parameters.window++;
	expect_no_successor(&lab, 0, "comes back as another");
	is->parameters.window--;
	is->returned_count = 0;
	expect_no_successor(&lab, 0, "without its log");
	is->returned_count = 1;
	lab_all_follow(&lab);
	wishes_lab_end(&lab);
}

/* It is there already. */
TEST(one_that_is_there_does_not_come_back)
{
	struct lab lab;

	wishes_lab_begin(&lab, 2);
	lab_wish(&lab, 0, "a%");
	lab_plain(&lab);
	lab_plain(&lab);
	lab.view->subgroups[lab.view->subgroup_count - 1].from = 1;
	expect_no_successor(&lab, 1, "comes back that was there");
	wishes_lab_end(&lab);
}

TEST_SUITE("wishes_dormant")
