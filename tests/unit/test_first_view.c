/* test_first_view.c - the first view of a group, at a node that follows a coordinator: what it accepts, promises,
 * drops and begins. See test_form.c for nodes that invite.
 */
#include "tests/support/roster_lab.h"

/* Node 1 of three, which are all forming. */
static struct lab *lab_of_forming(void)
{
	struct lab *lab = roster_lab_make(1, 3);

	wh_join_begin(&lab->join);
	meet(lab, "02");
	say_they(lab, "02", WH_FORMING, 0);
	step(lab);
	expect(lab, "0:forming-0 2:forming-0 ");
	return lab;
}

static bool invite_all_by(struct lab *lab, uint32_t node, uint64_t key)
{
	return invite_by(lab, node, first_view(lab, "0,1,2", 3), key);
}

/* It follows node 0; its image is ready, or it is not. */
static struct lab *lab_of_follower(bool there)
{
	struct lab *lab = lab_of_forming();

	ck_assert(invite_all_by(lab, 0, 0x100));
	lab->is_open = there;
	step(lab);
	ck_assert_int_eq(lab->join.state, there ? WH_JOIN_THERE : WH_JOIN_INVITED);
	forget(lab);
	return lab;
}

TEST(a_follower_goes_along)
{
	struct lab *lab = lab_of_forming();

	ck_assert(invite_all_by(lab, 0, 0x100));
	step(lab);
	expect(lab, "open-0,1,2-as-100 0:open-100 ");
	lab->is_open = true;
	step(lab);
	expect(lab, "row 0:there-100 ");
	ck_assert(!lab->late);
	roster_lab_pass_ns(lab, START_NS - 1);
	step(lab);
	ck_assert(!lab->late);
	roster_lab_pass_ns(lab, 1);
	step(lab);
	ck_assert(lab->late); /* a node that is not there now is not waited for */
	lab->has_begun = true;
	step(lab);
	expect(lab, "begin ");
	roster_lab_free(lab);
}

/* ---- what is accepted -------------------------------------------------------------------------------------------- */

/* Only by a node that is forming. One that still looks around may meet a member; one that only joins forms nothing, nor does
 * one that has met a member. */
TEST_LOOP(only_a_forming_node_accepts, 0, 6)
{
	struct lab *lab = roster_lab_make(1, 3);

	lab->searching = _i == 0;
	lab->join.may_form = _i != 1;
	lab->join.founder = _i == 2 ? 0 : -1;
	lab->join.configured = _i == 3 ? 1 : 3;
	wh_join_begin(&lab->join);
	meet(lab, _i == 5 ? "02345" : "02");
	say_they(lab, "02", WH_FORMING, 0);
	if (_i == 4)
		say_member(lab, 0, 0, 0, 0x300);
	if (_i == 5)
		say_they(lab, "345", WH_SEEKING, 0);
	ck_assert(invite_all_by(lab, 0, 0x100));
	expect(lab, _i == 5 ? "open-0,1,2-as-100 " : "");
	roster_lab_free(lab);
}

/* Whichever node coordinates: the lowest may have been passed over, and follow. */
TEST(the_lowest_follows)
{
	struct lab *lab = roster_lab_make(0, 3);

	wh_join_begin(&lab->join);
	meet(lab, "12");
	say_they(lab, "1", WH_FORMING, 0);
	say_they(lab, "2", WH_SEEKING, 0);
	step(lab);
	forget(lab);
	ck_assert(invite_all_by(lab, 1, 0x101));
	expect(lab, "open-0,1,2-as-101 ");
	step(lab);
	expect(lab, "1:open-101 ");
	roster_lab_free(lab);
}

/* Of the same coordinator the last, until this node is there. Of another none, as long as this one is followed. (A node that
 * invites has dropped all before: one member may, of three.) */
TEST_LOOP(one_coordinator_is_followed, 0, 2)
{
	bool there = _i == 1;
	struct lab *lab = lab_of_follower(there);

	if (!there)
		ck_assert(invite_all_by(lab, 2, 0x502));
	ck_assert(invite_all_by(lab, 0, 0x100));
	ck_assert(invite_by(lab, 0, first_view(lab, "0,1", 3), 0xff));
	step(lab);
	expect(lab, "");
	lab->is_open = false;
	ck_assert(invite_by(lab, 0, first_view(lab, "0,1", 3), 0x200));
	expect(lab, there ? "" : "discard open-0,1-as-200 ");
	lab->is_open = there;
	step(lab); /* all in the first are told that I have no part in it */
	expect(lab, there ? "" : "0:open-200 0:withdrawn-100 2:withdrawn-100 ");
	roster_lab_free(lab);
}

/* What this node has dropped it never accepts again, nor anything before it, whichever node sends it. */
TEST(keys_only_grow)
{
	struct lab *lab = lab_of_follower(false);

	withdraw(lab, 0, 0x100);
	expect(lab, "discard ");
	ck_assert(invite_all_by(lab, 0, 0x100));
	ck_assert(invite_all_by(lab, 2, 0x2));
	expect(lab, "");
	ck_assert(invite_all_by(lab, 2, 0x102));
	expect(lab, "open-0,1,2-as-102 ");
	roster_lab_free(lab);
}

/* A member of a group that runs invites this node: that is what it came for, whatever it has promised to nodes that form. */
TEST_LOOP(a_later_view_replaces_a_first_one, 0, 2)
{
	struct lab *lab = lab_of_follower(_i == 1);
	struct wh_view *zero = first_view(lab, "3,4", 2), *one = next_view(lab, zero, "", "1");

	meet(lab, "3");
	say_they(lab, "3", WH_SEEKING, 0);
	lab->is_open = false;
	ck_assert(invite_by(lab, 3, one, (WH_FIRST_KEYS | 0x1000001)));
	expect(lab, "discard open-3,4,1-as-1000001 ");
	step(lab);
	ck_assert_ptr_nonnull(strstr(lab->told, "0:withdrawn-100 2:withdrawn-100 "));
	wh_view_free(zero);
	roster_lab_free(lab);
}

/* Once I am there I have promised to go on in this view: what another group of the name wants, or is, is nothing to me. Before, it is. */
TEST_LOOP(another_group_is_met, 0, 2)
{
	bool there = _i == 1;
	struct lab *lab = lab_of_follower(there);
	struct wh_view *zero = first_view(lab, "3,4", 2), *one;
	struct wh_wire intro;

	zero->group = 8;
	one = next_view(lab, zero, "", "1");
	meet(lab, "3");
	say_they(lab, "3", WH_SEEKING, 0);
	ck_assert(invite_by(lab, 3, one, (WH_FIRST_KEYS | 0x1000001)));
	expect(lab, there ? "" : "discard open-3,4,1-as-1000001 ");
	wh_view_free(zero);
	roster_lab_free(lab);
	lab = lab_of_follower(there);
	meet(lab, "3");
	intro = message_of(lab, 3, WH_WIRE_INTRO);
	intro.standing = WH_MEMBER_OF;
	intro.group = 8;
	intro.view = 5;
	intro.key = WH_FIRST_KEYS | 0x5000001;
	wh_roster_on_intro(&lab->roster, 3, &intro);
	step(lab);
	ck_assert_int_eq(strstr(lab->told, "discard ") != NULL, !there);
	roster_lab_free(lab);
}

/* ---- what is dropped --------------------------------------------------------------------------------------------- */

/* By its coordinator, and only until I am there: others may count on me then. All are told that I have dropped it. */
TEST_LOOP(a_first_view_is_withdrawn, 0, 2)
{
	bool there = _i == 1;
	struct lab *lab = lab_of_follower(there);

	if (!there) { /* it has no part in it any more; two of three are left */
		withdraw(lab, 2, 0x100);
		ck_assert(wh_roster_lost(&lab->roster, 2, incarnation_of(2, 0), 0x100));
	}
	withdraw(lab, 0, 0xff); /* another */
	step(lab);
	expect(lab, "");
	withdraw(lab, 0, 0x100);
	expect(lab, there ? "" : "discard ");
	step(lab);
	expect(lab, there ? "" : "0:withdrawn-100 2:withdrawn-100 0:forming-100 2:forming-100 ");
	ck_assert_int_eq(lab->join.state, there ? WH_JOIN_THERE : WH_JOIN_SEEKING);
	roster_lab_free(lab);
}

/* Gone, even if another life of it has come, or it has said that it has dropped it: is there a majority without them? */
TEST_LOOP(a_majority_is_lost, 0, 6)
{
	struct lab *lab = lab_of_follower(_i % 2 == 1);

	wh_roster_gone(&lab->roster, 0); /* the coordinator: some node may have begun it */
	step(lab);
	expect(lab, "");
	if (_i / 2 < 2)
		wh_roster_gone(&lab->roster, 2);
	else
		withdraw(lab, 2, 0x100);
	if (_i / 2 == 1)
		wh_roster_met(&lab->roster, 2, incarnation_of(2, 1));
	step(lab);
	ck_assert_ptr_eq(strstr(lab->told, "discard "), lab->told);
	ck_assert_int_eq(lab->join.state, WH_JOIN_SEEKING);
	ck_assert_uint_eq(lab->join.floor, 0x100);
	roster_lab_free(lab);
}

/* More than half of the configured nodes, and not of the view's members alone. */
TEST_LOOP(a_majority_is_of_all_configured_nodes, 0, 2)
{
	uint32_t configured = _i == 0 ? 5 : 4;
	struct lab *lab = roster_lab_make(1, configured);

	wh_join_begin(&lab->join);
	meet(lab, "02");
	say_they(lab, "02", WH_FORMING, 0);
	ck_assert(invite_by(lab, 0, first_view(lab, "0,1,2", configured), 0x100));
	lab->is_open = true;
	step(lab);
	forget(lab);
	wh_roster_gone(&lab->roster, 2);
	step(lab);
	ck_assert_ptr_eq(strstr(lab->told, "discard "), lab->told);
	roster_lab_free(lab);
}

/* The greatest key of first views; keys of others are no business of theirs. */
TEST(what_somebody_has_dropped)
{
	struct lab *lab = lab_of_forming();
	uint64_t life = incarnation_of(2, 0);

	withdraw(lab, 2, 0x200);
	withdraw(lab, 2, 0x100);
	ck_assert(wh_roster_lost(&lab->roster, 2, life, 0x200));
	withdraw(lab, 2, (WH_FIRST_KEYS | 0x2000001));
	ck_assert(!wh_roster_lost(&lab->roster, 2, life, 0x300));
	roster_lab_free(lab);
}

/* The coordinator says when it is over; one that is silent is not waited for for ever, one that is lost no longer than it would
 * wait. */
TEST(not_all_come)
{
	struct lab *lab = lab_of_follower(false);

	roster_lab_pass_ns(lab, 3 * START_NS - 1);
	step(lab);
	expect(lab, "");
	ck_assert_uint_le(lab->loop.next_ns, lab->join.invited_ns + 3 * START_NS);
	roster_lab_pass_ns(lab, 1);
	step(lab);
	expect(lab, "discard open-0,1,2-as-201 0:view-201-at-0 2:view-201-at-0 0:forming-100 2:forming-100 ");
	roster_lab_free(lab);
}

/* A node that the coordinator has met, but not this one, may have ended before: it is waited for less long than the coordinator. */
TEST(a_node_that_is_never_met_is_missed)
{
	struct lab *lab = lab_of_three(1);

	lab->searching = false;
	meet(lab, "0");
	say_they(lab, "0", WH_FORMING, 0);
	ck_assert(invite_by(lab, 0, first_view(lab, "0,1,2", 3), 0x100));
	ck_assert(!wh_join_misses(&lab->join, 2));
	roster_lab_pass_ns(lab, START_NS);
	step(lab);
	ck_assert(wh_join_misses(&lab->join, 2));
	ck_assert(!wh_join_misses(&lab->join, 0));
	ck_assert(!wh_join_misses(&lab->join, 1));
	meet(lab, "2");
	ck_assert(!wh_join_misses(&lab->join, 2));
	roster_lab_free(lab);
}

TEST(not_all_come_and_the_coordinator_is_lost)
{
	struct lab *lab = lab_of_follower(false);

	wh_roster_gone(&lab->roster, 0);
	roster_lab_pass_ns(lab, START_NS - 1);
	step(lab);
	ck_assert_ptr_null(strstr(lab->told, "discard"));
	ck_assert_uint_le(lab->loop.next_ns, lab->join.invited_ns + START_NS);
	roster_lab_pass_ns(lab, 1);
	step(lab);
	ck_assert_ptr_eq(strstr(lab->told, "discard "), lab->told);
	roster_lab_free(lab);
}

/* A node that is there waits for others much longer: one that has begun the view has seen a majority after one time-out. */
TEST(nobody_comes)
{
	struct lab *lab = lab_of_follower(true);

	roster_lab_pass_ns(lab, 4 * START_NS - 1);
	step(lab);
	expect(lab, "");
	ck_assert(lab->late);
	roster_lab_pass_ns(lab, 1);
	step(lab);
	ck_assert_ptr_eq(strstr(lab->told, "discard "), lab->told);
	roster_lab_free(lab);
}

/* A group runs: this view never was. But if rows say that it has begun, it has. */
TEST_LOOP(a_member_is_met, 0, 3)
{
	struct lab *lab = lab_of_follower(_i >= 1);

	meet(lab, "3");
	say_member(lab, 3, 0, 3, 0x100); /* of mine */
	step(lab);
	ck_assert_ptr_null(strstr(lab->told, "discard"));
	forget(lab);
	say_member(lab, 3, 0, 3, 0x203);
	lab->has_begun = _i == 2;
	step(lab);
	ck_assert_int_eq(lab->join.state, _i == 2 ? WH_JOIN_IN : WH_JOIN_SEEKING);
	ck_assert_ptr_eq(strstr(lab->told, _i == 2 ? "begin " : "discard "), lab->told);
	roster_lab_free(lab);
}

TEST_LOOP(a_node_that_gives_up_drops_the_first_view, 0, 2)
{
	struct lab *lab = lab_of_follower(_i == 1);

	wh_join_give_up(&lab->join);
	wh_join_requests_step(&lab->requests);
	wh_roster_step(&lab->roster);
	ck_assert_ptr_eq(strstr(lab->told, "discard 0:withdrawn-100 2:withdrawn-100 0:seeking-"), lab->told);
	roster_lab_free(lab);
}

TEST_SUITE("first_view")
