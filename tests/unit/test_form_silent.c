/* test_form_silent.c - the first view of a group, when the node that should coordinate it says nothing: others do, in
 * its place.
 */
#include "tests/support/roster_lab.h"

/* A view could be formed, and the node that should form it says nothing: after three start time-outs it is passed over.
 * If it is heard then, it is its turn again. */
TEST(a_silent_coordinator_is_passed_over)
{
	struct lab *lab = lab_of_three(1);

	lab->searching = false;
	meet(lab, "02");
	say_they(lab, "02", WH_FORMING, 0);
	step(lab);
	forget(lab);
	roster_lab_pass_ns(lab, 3 * START_NS - 1);
	step(lab);
	expect(lab, "");
	roster_lab_pass_ns(lab, 1);
	step(lab);
	expect(lab, "open-0,1,2-as-101 0:view-101-at-0 2:view-101-at-0 ");
	roster_lab_pass_ns(lab, 1);
	step(lab);
	expect(lab, "");
	say_they(lab, "2", WH_FORMING, 0);
	step(lab);
	expect(lab, "");
	say_they(lab, "0", WH_FORMING, 0);
	step(lab);
	ck_assert_ptr_eq(strstr(lab->told, "discard 0:withdrawn-101 2:withdrawn-101 "), lab->told);
	step(lab);
	forget(lab);
	roster_lab_pass_ns(lab, 3 * START_NS - 1);
	step(lab);
	expect(lab, "");
	roster_lab_free(lab);
}

/* The time that a coordinator is waited for counts from when a view could be formed, without a break; and anew when a view
 * of that coordinator has come to nothing. */
TEST_LOOP(a_coordinator_has_its_time_anew, 0, 2)
{
	struct lab *lab = lab_of_three(1);

	lab->searching = false;
	meet(lab, "02");
	say_they(lab, "02", WH_FORMING, 0);
	step(lab);
	roster_lab_pass_ns(lab, 2 * START_NS);
	if (_i == 0) {
		wh_roster_gone(&lab->roster, 2);
		wh_roster_gone(&lab->roster, 0);
		step(lab);
		meet(lab, "02");
		say_they(lab, "02", WH_FORMING, 0);
	} else {
		ck_assert(invite_by(lab, 0, first_view(lab, "0,1,2", 3), 0x100));
		step(lab);
		withdraw(lab, 0, 0x100);
	}
	step(lab);
	forget(lab);
	roster_lab_pass_ns(lab, 3 * START_NS - 1);
	step(lab);
	ck_assert_ptr_null(strstr(lab->told, "open"));
	roster_lab_pass_ns(lab, 1);
	step(lab);
	ck_assert_ptr_nonnull(strstr(lab->told, "open-0,1,2-as-"));
	roster_lab_free(lab);
}

/* A lower node that was passed over as well follows this node: this node does not drop what that one follows. */
TEST(a_lower_one_follows)
{
	struct lab *lab = lab_of_three(2);
	struct wh_wire opened;

	lab->searching = false;
	meet(lab, "01");
	say_they(lab, "01", WH_FORMING, 0);
	step(lab);
	forget(lab);
	for (int k = 0; k < 10 && lab->join.state == WH_JOIN_SEEKING; k++) {
		roster_lab_pass_ns(lab, START_NS);
		step(lab);
	}
	expect(lab, "open-0,1,2-as-102 0:view-102-at-0 1:view-102-at-0 ");
	opened = message_of(lab, 1, WH_WIRE_THERE);
	opened.key = lab->join.key;
	(void)wh_join_requests_on_message(&lab->requests, 1, &opened, false);
	step(lab);
	expect(lab, "");
	roster_lab_free(lab);
}

TEST_SUITE("form: silent")
