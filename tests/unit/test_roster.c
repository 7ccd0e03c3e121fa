/* test_roster.c - which nodes have been met, what they say that they are, and what they are told. */
#include "tests/support/roster_lab.h"

static const struct wh_wire seeking = {.standing = WH_SEEKING};

/* ---- intros ------------------------------------------------------------------------------------------------------ */

TEST(everybody_is_told_once)
{
	struct lab *lab = roster_lab_make(0, 3);
	struct wh_wire forming = {.standing = WH_FORMING, .key = 0x100};

	meet(lab, "1");
	ck_assert_uint_eq(step(lab), 0); /* there is nothing to be told */
	meet(lab, "2");
	wh_roster_introduce(&lab->roster, &seeking, NULL);
	ck_assert_uint_eq(step(lab), 2);
	expect(lab, "1:seeking-0 2:seeking-0 ");
	wh_roster_introduce(&lab->roster, &seeking, NULL); /* the same */
	ck_assert_uint_eq(step(lab), 0);
	meet(lab, "3");
	ck_assert_uint_eq(step(lab), 1);
	expect(lab, "3:seeking-0 ");
	wh_roster_introduce(&lab->roster, &forming, NULL);
	step(lab);
	expect(lab, "1:forming-100 2:forming-100 3:forming-100 ");
	step(lab);
	expect(lab, "");
	roster_lab_free(lab);
}

/* Whatever of it changes is told. */
TEST_LOOP(each_change_is_told, 0, 7)
{
	struct wh_wire intro = {.standing = WH_MEMBER_OF, .group = 7, .view = 3, .leader = 1, .key = 0x300};
	struct lab *lab = roster_lab_make(0, 3);

	meet(lab, "5");
	wh_roster_introduce(&lab->roster, &intro, NULL);
	step(lab);
	expect(lab, "5:member-3-of-1 ");
	intro.standing = _i == 0 ? WH_FORMING : WH_MEMBER_OF;
	intro.flag = _i == 1;
	intro.view += _i == 2;
	intro.leader += _i == 3;
	intro.key += _i == 4;
	intro.group += _i == 5;
	intro.forced = _i == 6;
	wh_roster_introduce(&lab->roster, &intro, NULL);
	step(lab);
	ck_assert_str_ne(lab->told, "");
	roster_lab_free(lab);
}

/* A node that is in a view with this one sees what this one is in this one's row. Another life of its id is not in that view. */
TEST(members_of_my_view_are_not_told)
{
	struct lab *lab = roster_lab_make(0, 3);
	struct wh_view *view = first_view(lab, "0,1,2", 3);
	struct wh_view *next = next_view(lab, view, "2", "");
	struct wh_wire member = {.standing = WH_MEMBER_OF, .group = 7, .leader = 0, .key = 0x100};

	meet(lab, "123");
	wh_roster_introduce(&lab->roster, &member, view);
	step(lab);
	expect(lab, "3:member-0-of-0 ");
	wh_roster_gone(&lab->roster, 1);
	wh_roster_met(&lab->roster, 1, incarnation_of(1, 1));
	step(lab);
	expect(lab, "1:member-0-of-0 ");
	member.view = 1;
	wh_roster_introduce(&lab->roster, &member, next); /* 2 is out */
	step(lab);
	expect(lab, "1:member-1-of-0 2:member-1-of-0 3:member-1-of-0 ");
	wh_roster_introduce(&lab->roster, &member,
			    view); /* the same words, and another view: 2 is in it, and 1 has been told otherwise */
	step(lab);
	expect(lab, "1:member-1-of-0 3:member-1-of-0 ");
	wh_view_free(view);
	wh_view_free(next);
	roster_lab_free(lab);
}

/* Wherever they stand in it. */
TEST(the_first_of_my_view_is_not_told)
{
	struct lab *lab = roster_lab_make(2, 3);
	struct wh_view *view = first_view(lab, "0,1,2", 3);
	struct wh_wire member = {.standing = WH_MEMBER_OF, .group = 7, .leader = 0, .key = 0x100};

	meet(lab, "013");
	wh_roster_introduce(&lab->roster, &member, view);
	step(lab);
	expect(lab, "3:member-0-of-0 ");
	wh_view_free(view);
	roster_lab_free(lab);
}

TEST(a_node_that_cannot_be_told_now_is_told_later)
{
	struct lab *lab = roster_lab_make(0, 3);
	struct wh_wire forming = {.standing = WH_FORMING};

	meet(lab, "123");
	lab->room[1] = lab->room[3] = 0;
	wh_roster_introduce(&lab->roster, &seeking, NULL);
	ck_assert_uint_eq(step(lab), 1);
	expect(lab, "2:seeking-0 ");
	ck_assert_uint_eq(lab->loop.next_ns, lab->loop.now_ns + WH_NS_PER_MS);
	ck_assert_uint_eq(step(lab), 0);
	lab->room[3] = 1;
	step(lab);
	expect(lab, "3:seeking-0 ");
	lab->room[1] = lab->room[3] = 2;
	wh_roster_introduce(&lab->roster, &forming, NULL); /* of what 1 has missed it hears the last */
	step(lab);
	expect(lab, "1:forming-0 2:forming-0 3:forming-0 ");
	ck_assert_uint_eq(step(lab), 0);
	ck_assert_uint_eq(lab->loop.next_ns, UINT64_MAX);
	roster_lab_free(lab);
}

TEST(a_node_that_is_gone_is_told_nothing)
{
	struct lab *lab = roster_lab_make(0, 3);

	meet(lab, "12");
	wh_roster_gone(&lab->roster, 1);
	wh_roster_introduce(&lab->roster, &seeking, NULL);
	ck_assert_uint_eq(step(lab), 1);
	expect(lab, "2:seeking-0 ");
	ck_assert(wh_roster_send(&lab->roster, 1, &(struct wh_wire){.kind = WH_WIRE_WITHDRAWN, .key = 1}));
	expect(lab, ""); /* and it counts as sent: no node tries for ever */
	wh_roster_met(&lab->roster, 1, incarnation_of(1, 1));
	step(lab);
	expect(lab, "1:seeking-0 ");
	roster_lab_free(lab);
}

/* ---- what nodes are ---------------------------------------------------------------------------------------------- */

TEST(what_they_say_is_noted)
{
	struct lab *lab = roster_lab_make(0, 3);
	const struct wh_known_node *known = &lab->roster.known_nodes[2];

	meet(lab, "2");
	ck_assert(!known->introduced);
	say_member(lab, 2, 9, 4, (WH_FIRST_KEYS | 0xa000001));
	ck_assert(known->introduced && known->quorum);
	ck_assert_ptr_null(known->differs);
	ck_assert_int_eq(known->standing, WH_MEMBER_OF);
	ck_assert_uint_eq(known->view, 9);
	ck_assert_uint_eq(known->leader, 4);
	ck_assert_uint_eq(known->key, (WH_FIRST_KEYS | 0xa000001));
	say_they(lab, "2", WH_FORMING, 0x300);
	ck_assert_int_eq(known->standing, WH_FORMING);
	ck_assert_uint_eq(known->key, 0x300);
	ck_assert(!known->quorum);
	roster_lab_free(lab);
}

TEST_LOOP(differences_are_named, 0, 4)
{
	static const char *const named[] = {NULL, "[group] section differs", "[subgroup] sections differ",
					    "[group] and [subgroup] sections differ"};
	struct lab *lab = roster_lab_make(0, 3);
	struct wh_wire intro;

	meet(lab, "1");
	intro = message_of(lab, 1, WH_WIRE_INTRO);
	intro.group_digest += _i & 1;
	intro.subgroups_digest += _i >> 1;
	wh_roster_on_intro(&lab->roster, 1, &intro);
	wh_roster_on_intro(&lab->roster, 1, &intro);
	ck_assert_pstr_eq(lab->roster.known_nodes[1].differs, named[_i]);
	ck_assert_int_eq(lab->warnings, _i != 0); /* once */
	say_they(lab, "1", WH_SEEKING, 0);
	ck_assert_ptr_null(lab->roster.known_nodes[1].differs);
	roster_lab_free(lab);
}

/* ---- lives ------------------------------------------------------------------------------------------------------- */

static bool is_lost(const struct lab *lab, uint32_t node, uint32_t life)
{
	return wh_roster_lost(&lab->roster, node, incarnation_of(node, life), (WH_FIRST_KEYS | 0x2000001));
}

static bool is_here(const struct lab *lab, uint32_t node, uint32_t life)
{
	return wh_roster_has(&lab->roster, node, incarnation_of(node, life));
}

TEST(a_life_ends_once)
{
	struct lab *lab = roster_lab_make(0, 3);

	ck_assert(!is_lost(lab, 1, 0) && !is_here(lab, 1, 0)); /* it may still come */
	meet(lab, "1");
	ck_assert(!is_lost(lab, 1, 0) && is_here(lab, 1, 0));
	ck_assert(!is_lost(lab, 1, 1) && !is_here(lab, 1, 1)); /* so may that one, whichever is the later */
	wh_roster_gone(&lab->roster, 1);
	ck_assert(is_lost(lab, 1, 0) && !is_here(lab, 1, 0));
	ck_assert(!is_lost(lab, 1, 1));
	for (uint32_t life = 1; life < WH_LIVES_KEPT; life++) { /* what is known of it is not forgotten soon */
		wh_roster_met(&lab->roster, 1, incarnation_of(1, life));
		ck_assert(is_lost(lab, 1, 0) && !is_lost(lab, 1, life) && is_here(lab, 1, life));
		wh_roster_gone(&lab->roster, 1);
		ck_assert(is_lost(lab, 1, 0) && is_lost(lab, 1, life) && !is_lost(lab, 1, life + 1));
	}
	ck_assert(!is_lost(lab, 0, 0) && is_here(lab, 0, 0)); /* me */
	ck_assert(!is_here(lab, 0, 1));
	roster_lab_free(lab);
}

static bool is_dead(const struct lab *lab, uint32_t node, uint32_t life)
{
	return wh_roster_has_died(&lab->roster, node, incarnation_of(node, life));
}

/* A member may be killed and come again more than once before the view that it was coming into begins: it is dead there, although
 * later lives of its id are too. */
TEST(the_dead_are_remembered)
{
	struct lab *lab = roster_lab_make(0, 3);

	for (uint32_t life = 0; life < WH_LIVES_KEPT; life++) {
		wh_roster_met(&lab->roster, 1, incarnation_of(1, life));
		wh_roster_gone(&lab->roster, 1);
		ck_assert(!is_dead(lab, 1, life)); /* the proof comes behind the end of the connection */
		wh_roster_met(&lab->roster, 1, incarnation_of(1, life + 1));
		wh_roster_died(&lab->roster, 1, incarnation_of(1, life));
		for (uint32_t before = 0; before <= life; before++)
			ck_assert(is_dead(lab, 1, before));
		ck_assert(!is_dead(lab, 1, life + 1) && !is_dead(lab, 2, life));
	}
	roster_lab_free(lab);
}

static void drop(struct lab *lab, enum wh_wire_kind kind, uint64_t key)
{
	wh_roster_dropped(&lab->roster, 1, &(struct wh_wire){.kind = kind, .key = key});
}

/* A node that has said that it has no part in a first view is lost to it, and to those before; not to later ones, and to no
 * other view. */
TEST(a_node_that_has_dropped_a_first_view_is_lost_to_it)
{
	struct lab *lab = roster_lab_make(0, 3);
	uint64_t life = incarnation_of(1, 0);

	meet(lab, "1");
	drop(lab, WH_WIRE_WITHDRAWN, 0x200);
	drop(lab, WH_WIRE_WITHDRAWN, 0x100);
	ck_assert(wh_roster_lost(&lab->roster, 1, life, 0x100));
	ck_assert(wh_roster_lost(&lab->roster, 1, life, 0x200));
	ck_assert(!wh_roster_lost(&lab->roster, 1, life, 0x300));
	drop(lab, WH_WIRE_WITHDRAWN, WH_FIRST_KEYS);
	ck_assert(!wh_roster_lost(&lab->roster, 1, life, WH_FIRST_KEYS));
	ck_assert(!wh_roster_lost(&lab->roster, 1, life, 0x300));
	drop(lab, WH_WIRE_VIEW, 0x400); /* an inviter has dropped all before, and that may be all that is said */
	ck_assert(wh_roster_lost(&lab->roster, 1, life, 0x300));
	ck_assert(!wh_roster_lost(&lab->roster, 1, life, 0x400));
	roster_lab_free(lab);
}

/* What it wanted, said and was told ends with a life; how often it was waited for in vain does not, but a new one
 * does not wait for long. */
TEST_LOOP(what_outlives_a_life, 0, 2)
{
	struct lab *lab = roster_lab_make(0, 3);
	struct wh_known_node *known = &lab->roster.known_nodes[1];
	uint64_t most = lab->loop.now_ns + 2 * WH_NS_PER_S;

	meet(lab, "1");
	say_they(lab, "1", WH_FORMING, 0x400);
	known->failures = 3;
	known->not_before_ns = _i == 0 ? most - 1 : 2 * most;
	known->told = known->wanted_ns = known->opened = known->there = known->dropped = 5;
	known->recalls = true;
	wh_roster_gone(&lab->roster, 1);
	for (int again = 0; again < 2; again++) {
		ck_assert(!known->introduced && !known->recalls);
		ck_assert_uint_eq(known->told + known->wanted_ns + known->invited + known->opened + known->there, 0);
		ck_assert_uint_eq(known->dropped + known->key, 0);
		ck_assert_uint_eq(known->failures, 3);
		ck_assert_uint_eq(known->not_before_ns, _i == 0 ? most - 1 : most);
		wh_roster_met(&lab->roster, 1, incarnation_of(1, 1));
	}
	roster_lab_free(lab);
}

/* What was noted of it while it was not there (it was refused before it was met) is not said of the life that comes. */
TEST(a_new_life_begins_anew)
{
	struct lab *lab = roster_lab_make(0, 3);
	struct wh_known_node *known = &lab->roster.known_nodes[1];

	wh_join_refused(&lab->join, 1, "node 1 has another version");
	ck_assert(known->introduced);
	ck_assert_ptr_nonnull(known->differs);
	meet(lab, "1");
	ck_assert(!known->introduced);
	ck_assert_ptr_null(known->differs);
	roster_lab_free(lab);
}

/* It was waited for in vain, too: a little longer each time. */
TEST(a_node_that_dies_when_invited_waits)
{
	struct lab *lab = roster_lab_make(0, 3);
	struct wh_known_node *known = &lab->roster.known_nodes[1];

	for (uint32_t life = 0; life < 9; life++) {
		uint64_t wait = 10 * WH_NS_PER_MS << (life < 6 ? life : 6);

		wh_roster_met(&lab->roster, 1, incarnation_of(1, life));
		known->invited = 0x100 + life;
		roster_lab_pass_ns(lab, 3 * WH_NS_PER_S);
		wh_roster_gone(&lab->roster, 1);
		ck_assert_uint_eq(known->not_before_ns, lab->loop.now_ns + wait);
		ck_assert_uint_eq(known->failures, life < 6 ? life + 1 : 6);
	}
	roster_lab_free(lab);
}

/* ---- two groups of one name (0032) ---------------------------------------------------------------------------------------- */

static void say_group(struct lab *lab, uint32_t node, uint64_t group, uint64_t members, bool quorum)
{
	struct wh_wire intro = message_of(lab, node, WH_WIRE_INTRO);

	intro.standing = WH_MEMBER_OF;
	intro.flag = quorum;
	intro.group = group;
	intro.members[0] = members;
	wh_roster_on_intro(&lab->roster, node, &intro);
}

/* A member that meets members of another group says so once, and again when they come again. */
TEST_LOOP(two_groups_are_told, 0, 2)
{
	const struct wh_wire member = {.standing = WH_MEMBER_OF, .group = 7, .leader = 0, .key = 0x100};
	struct lab *lab = roster_lab_make(0, 3);
	struct wh_view *view = first_view(lab, "0,1", 3);

	wh_roster_introduce(&lab->roster, &member, view);
	meet(lab, "234");
	say_group(lab, 2, 7, 3, true); /* of mine, but not in my view yet */
	ck_assert_int_eq(lab->warnings, 0);
	say_group(lab, 3, 9, 24, _i == 0);
	say_group(lab, 4, 9, 24, false);
	ck_assert_int_eq(lab->warnings, 1);
	ck_assert_uint_eq(lab->roster.other, 9);
	ck_assert_ptr_nonnull(strstr(lab->line, "0000000000000007 with nodes 0 1, and 0000000000000009 with nodes 3 4"));
	wh_roster_gone(&lab->roster, 3);
	ck_assert_uint_eq(lab->roster.other, 9);
	wh_roster_gone(&lab->roster, 4);
	ck_assert_uint_eq(lab->roster.other, 0);
	wh_roster_met(&lab->roster, 4, incarnation_of(4, 1));
	say_group(lab, 4, 9, 24, true);
	ck_assert_int_eq(lab->warnings, 2);
	roster_lab_free(lab);
	wh_view_free(view);
}

/* A node that seeks, and has met two groups that both go on, joins neither; of one that has no quorum it takes no notice. */
TEST_LOOP(between_two_groups, 0, 2)
{
	struct lab *lab = roster_lab_make(0, 3);
	char text[256];

	wh_join_begin(&lab->join);
	meet(lab, "1234");
	say_group(lab, 1, 7, 6, true);
	say_group(lab, 3, 9, 24, _i == 0);
	step(lab);
	ck_assert_int_eq(lab->warnings, _i == 0);
	ck_assert_int_eq(strstr(lab->told, "1:join ") != NULL, _i == 1);
	ck_assert_ptr_null(strstr(lab->told, "3:join "));
	wh_join_explain(&lab->join, text, sizeof(text));
	ck_assert_int_eq(strstr(text, "two groups of this name") != NULL, _i == 0);
	roster_lab_free(lab);
}

TEST_SUITE("roster")
