/* test_join_refused.c - a node that the group will not have, because of its configuration or by the transport:
 * whether it is told so for good, or goes on.
 */
#include "tests/support/roster_lab.h"

/* The group is right, whatever this node could form with others. A node that only seeks, or forms, may be as
 * wrong as this one. */
TEST_LOOP(a_member_is_configured_otherwise, 0, 3)
{
	struct lab *lab = roster_lab_make(0, 3);
	struct wh_wire intro;

	wh_join_begin(&lab->join);
	meet(lab, "12");
	say_they(lab, "2", WH_FORMING, 0);
	intro = message_of(lab, 1, WH_WIRE_INTRO);
	intro.group_digest++;
	intro.standing = _i == 0 ? WH_MEMBER_OF : _i == 1 ? WH_SEEKING : WH_FORMING;
	wh_roster_on_intro(&lab->roster, 1, &intro);
	roster_lab_pass_ns(lab, START_NS);
	step(lab);
	if (_i == 0) {
		ck_assert_ptr_eq(strstr(lab->told, "refused "), lab->told);
		ck_assert_str_eq(lab->why,
				 "node 1 is a member of the group, and its [group] section differs from those here");
		ck_assert_ptr_null(strstr(lab->told, "open"));
	} else {
		ck_assert_ptr_eq(strstr(lab->told, "open-0,2-as-100 "), lab->told);
	}
	roster_lab_free(lab);
}

/* With a member that the transport refuses there is nothing to be said; others may still let this node in. */
TEST(the_transport_refuses_a_member)
{
	struct lab *lab = roster_lab_make(5, 3);
	char text[128];

	wh_join_begin(&lab->join);
	meet(lab, "012");
	say_member(lab, 1, 1, 1, (WH_FIRST_KEYS | 0x1000001));
	step(lab);
	ck_assert_ptr_eq(strstr(lab->told, "1:join "), lab->told);
	forget(lab);
	wh_join_refused(&lab->join, 1, "node 1 has another layout");
	roster_lab_pass_ns(lab, WH_NS_PER_S);
	step(lab);
	expect(lab, "");
	wh_join_explain(&lab->join, text, sizeof(text)); /* why it does not come in */
	ck_assert_str_eq(text, "waits for a group that it can join; node 1 has another layout");
	roster_lab_free(lab);
}

/* No other node is there, and this node cannot begin a group: because of its id, because it only joins, or because
 * another founds it. */
TEST_LOOP(the_transport_refuses_all_that_are_there, 0, 4)
{
	struct lab *lab = roster_lab_make(_i == 0 ? 3 : 2, 3);
	bool cannot_begin = _i < 3;

	lab->join.may_form = _i != 1;
	lab->join.founder = _i == 2 ? 0 : _i == 3 ? 2 : -1;
	lab->searching = true;
	wh_join_begin(&lab->join);
	wh_join_refused(&lab->join, 0, "node 0 has another version");
	roster_lab_pass_ns(lab, START_NS - 1);
	step(lab);
	expect(lab, "");
	meet(lab, "1");
	roster_lab_pass_ns(lab, 1);
	step(lab);
	expect(lab, "1:seeking-0 "); /* with that one it may go */
	wh_roster_gone(&lab->roster, 1);
	step(lab);
	expect(lab, cannot_begin ? "refused " : "");
	ck_assert_str_eq(lab->why, cannot_begin ? "node 0 has another version" : "");
	roster_lab_free(lab);
}

TEST_SUITE("join: refused")
