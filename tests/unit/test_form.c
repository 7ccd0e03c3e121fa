/* test_form.c - the first view of a group, at the node that founds or coordinates it. See test_form_silent.c for
 * coordinators that say nothing, and test_first_view.c for what followers do.
 */
#include "tests/support/roster_lab.h"

static void say_there(struct lab *lab, uint32_t node, uint64_t key)
{
	struct wh_wire there = message_of(lab, node, WH_WIRE_THERE);

	there.key = key;
	there.flag = true;
	(void)wh_join_requests_on_message(&lab->requests, node, &there, false);
}

/* ---- looking around ---------------------------------------------------------------------------------------------- */

/* Not known yet: which nodes are there, or what a node that is there is, or what this node is. */
TEST(nobody_forms_before_having_looked_around)
{
	struct lab *lab = lab_of_three(0);

	meet(lab, "12");
	step(lab);
	expect(lab, "1:seeking-0 2:seeking-0 ");
	say_they(lab, "12", WH_FORMING, 0);
	step(lab);
	expect(lab, ""); /* another node may be there, and a member */
	ck_assert_uint_le(lab->loop.next_ns, lab->loop.now_ns + WH_NS_PER_MS);
	meet(lab, "4");
	lab->searching = false;
	step(lab);
	expect(lab, "4:seeking-0 "); /* what is this one? */
	say_they(lab, "4", WH_SEEKING, 0);
	step(lab);
	ck_assert_ptr_eq(strstr(lab->told, "open-0,1,2-as-100 "), lab->told);
	roster_lab_free(lab);
}

/* A node that says nothing is not waited for for ever. But as long as the transport knows of a node that is there and has
 * not been met, that one is. */
TEST_LOOP(a_silent_node_is_waited_for_for_a_while, 0, 2)
{
	struct lab *lab = lab_of_three(0);

	meet(lab, "124");
	say_they(lab, "12", WH_FORMING, 0);
	lab->searching = _i == 1;
	step(lab);
	forget(lab);
	roster_lab_pass_ns(lab, PATIENCE_NS - 1);
	step(lab);
	expect(lab, "");
	roster_lab_pass_ns(lab, 1);
	say_they(lab, "12", WH_FORMING, 0);
	step(lab);
	ck_assert_int_eq(strstr(lab->told, "open-0,1,2-as-100 ") != NULL, _i == 0);
	roster_lab_free(lab);
}

/* A node that meets a member forms nothing, nor does one that only joins, or has an id that is not configured. */
TEST_LOOP(nodes_that_may_not_form_a_group_form_none, 0, 3)
{
	struct lab *lab = roster_lab_make(_i == 2 ? 3 : 1, 3);

	lab->join.may_form = _i != 1;
	wh_join_begin(&lab->join);
	meet(lab, _i == 2 ? "0124" : "0234");
	say_they(lab, _i == 2 ? "0124" : "0234", WH_FORMING, 0);
	say_they(lab, "0", WH_SEEKING, 0); /* of the others I would be the lowest */
	if (_i == 0)
		say_member(lab, 0, 0, 0, 0x300);
	for (unsigned passes = 0; passes < 5; passes++) {
		step(lab);
		roster_lab_pass_ns(lab, START_NS);
	}
	ck_assert_ptr_null(strstr(lab->told, "open"));
	ck_assert_ptr_null(strstr(lab->told, "forming"));
	ck_assert_int_eq(strstr(lab->told, "0:join ") != NULL, _i == 0);
	roster_lab_free(lab);
}

/* ---- a founder --------------------------------------------------------------------------------------------------- */

TEST_LOOP(a_founder_is_alone, 0, 2)
{
	uint32_t me = _i == 0 ? 4 : 0; /* it need not be among the first */
	struct lab *lab = roster_lab_make(me, 3);

	lab->join.founder = (int)me;
	lab->searching = true;
	wh_join_begin(&lab->join);
	roster_lab_pass_ns(lab,
			   10 * PATIENCE_NS); /* as long as a node is there that it has not met, that may be a member */
	step(lab);
	expect(lab, "");
	lab->searching = false;
	meet(lab, "1");
	say_they(lab, "1", WH_SEEKING, 0);
	step(lab);
	expect(lab, _i == 0 ? "open-4-as-104 1:seeking-0 " : "open-0-as-100 1:seeking-0 ");
	ck_assert_uint_eq(lab->opened->voters, 1);
	say_they(lab, "1", WH_FORMING, 0); /* which is nothing to a founder, whatever its id */
	step(lab);
	lab->is_open = lab->has_begun = true;
	step(lab);
	expect(lab, "row begin ");
	roster_lab_free(lab);
}

TEST(others_wait_for_the_founder)
{
	struct lab *lab = roster_lab_make(0, 3);

	lab->join.founder = 2;
	wh_join_begin(&lab->join);
	meet(lab, "12");
	say_they(lab, "12", WH_SEEKING, 0);
	step(lab);
	roster_lab_pass_ns(lab, 10 * PATIENCE_NS);
	step(lab);
	expect(lab, "1:seeking-0 2:seeking-0 ");
	say_member(lab, 2, 0, 2, 0x102);
	step(lab);
	expect(lab, "2:join ");
	roster_lab_free(lab);
}

/* A founder that meets a member joins. */
TEST(a_founder_that_comes_back)
{
	struct lab *lab = roster_lab_make(2, 3);

	lab->join.founder = 2;
	lab->searching = true;
	wh_join_begin(&lab->join);
	meet(lab, "0");
	say_member(lab, 0, 3, 0, (WH_FIRST_KEYS | 0x3000001));
	lab->searching = false;
	step(lab);
	expect(lab, "0:join 0:seeking-0 ");
	roster_lab_free(lab);
}

/* ---- which nodes are invited, and when --------------------------------------------------------------------------- */

TEST(all_at_once_without_waiting)
{
	struct lab *lab = lab_of_three(0);

	lab->searching = false;
	meet(lab, "124");
	say_they(lab, "1", WH_FORMING, 0);
	say_they(lab, "24", WH_SEEKING, 0); /* 2 has not looked around yet */
	step(lab);
	expect(lab, "1:forming-0 2:forming-0 4:forming-0 ");
	ck_assert_uint_le(lab->loop.next_ns, lab->join.began_ns + START_NS);
	say_they(lab, "2", WH_FORMING, 0);
	step(lab);
	expect(lab, "open-0,1,2-as-100 1:view-100-at-0 2:view-100-at-0 ");
	ck_assert_uint_eq(lab->opened->number, 0);
	ck_assert_uint_eq(lab->opened->voters, 3);
	roster_lab_free(lab);
}

TEST_LOOP(a_majority_after_the_time_out, 0, 2)
{
	struct lab *lab = roster_lab_make(0, 4);

	wh_join_begin(&lab->join);
	meet(lab, "12");
	say_they(lab, "1", WH_FORMING, 0);
	say_they(lab, "2", _i == 0 ? WH_FORMING : WH_SEEKING, 0);
	step(lab);
	forget(lab);
	roster_lab_pass_ns(lab, START_NS - 1);
	step(lab);
	expect(lab, "");
	roster_lab_pass_ns(lab, 1);
	step(lab);
	expect(lab, _i == 0 ? "open-0,1,2-as-100 1:view-100-at-0 2:view-100-at-0 " : ""); /* two of four are none */
	ck_assert_uint_gt(lab->loop.next_ns, lab->loop.now_ns);
	if (_i == 0)
		ck_assert_uint_eq(lab->opened->voters, 4);
	roster_lab_free(lab);
}

/* A node that is configured otherwise is not counted; when half of them are, there can be no group. */
TEST_LOOP(a_node_that_is_configured_otherwise_is_not_counted, 0, 3)
{
	struct lab *lab = roster_lab_make(0, _i == 2 ? 4 : 3);

	wh_join_begin(&lab->join);
	meet(lab, "123");
	say_they(lab, "23", WH_FORMING, 0);
	for (uint32_t node = 1; node <= (_i == 0 ? 1 : 2); node++) {
		struct wh_wire intro = message_of(lab, node, WH_WIRE_INTRO);

		intro.standing = WH_FORMING;
		intro.subgroups_digest++;
		wh_roster_on_intro(&lab->roster, node, &intro);
	}
	roster_lab_pass_ns(lab, START_NS);
	step(lab);
	if (_i == 0) {
		ck_assert_ptr_eq(strstr(lab->told, "open-0,2-as-100 "), lab->told);
		ck_assert_ptr_null(strstr(lab->told, "1:view"));
	} else {
		ck_assert_ptr_eq(strstr(lab->told, "refused "), lab->told);
		ck_assert_str_eq(lab->why, _i == 1 ? "those that go with this node are no majority of 3: of node 2 the "
						     "[subgroup] sections differ from those here"
						   : "those that go with this node are no majority of 4: of node 2 the "
						     "[subgroup] sections differ from those here");
	}
	roster_lab_free(lab);
}

/* They are there, and do not even meet me: they do not count either, and their reason is said. */
TEST(the_transport_refuses_too_many)
{
	struct lab *lab = lab_of_three(0);

	lab->searching = false;
	wh_join_refused(&lab->join, 1, "node 1 has another version");
	step(lab);
	expect(lab, "");
	wh_join_refused(&lab->join, 2, "node 2 has another version");
	step(lab);
	expect(lab, "refused ");
	ck_assert_ptr_nonnull(strstr(lab->why, "no majority of 3"));
	ck_assert_ptr_nonnull(strstr(lab->why, "from those here: node 2 has another version"));
	roster_lab_free(lab);
}

TEST(a_layout_that_cannot_be)
{
	struct lab *lab = lab_of_three(0);

	lab->texts[0].senders = "7";
	lab->texts[0].members = "0,x";
	lab->searching = false;
	meet(lab, "12");
	say_they(lab, "12", WH_FORMING, 0);
	step(lab);
	ck_assert_ptr_eq(strstr(lab->told, "refused "), lab->told);
	ck_assert_str_ne(lab->why, "");
	roster_lab_free(lab);
}

/* ---- which node coordinates -------------------------------------------------------------------------------------- */

/* The lowest of the nodes that are forming: not one that seeks. */
TEST_LOOP(the_lowest_coordinates, 0, 2)
{
	struct lab *lab = lab_of_three(1);

	lab->searching = false;
	meet(lab, "02");
	say_they(lab, "0", _i == 0 ? WH_FORMING : WH_SEEKING, 0);
	say_they(lab, "2", WH_FORMING, 0);
	roster_lab_pass_ns(lab, START_NS);
	step(lab);
	ck_assert_int_eq(strstr(lab->told, "open-1,2-as-101 ") != NULL, _i == 1);
	ck_assert_int_eq(strstr(lab->told, "open") != NULL, _i == 1);
	roster_lab_free(lab);
}

/* This node has invited, and a lower one comes: the invited nodes are told, and may follow the lower one. Not if this node
 * is there already. */
TEST_LOOP(a_lower_one_comes, 0, 2)
{
	struct lab *lab = lab_of_three(1);

	lab->searching = false;
	lab->is_open = _i == 1;
	meet(lab, "2");
	say_they(lab, "2", WH_FORMING, 0);
	roster_lab_pass_ns(lab, START_NS);
	step(lab);
	step(lab);
	ck_assert_int_eq(lab->join.state, _i == 1 ? WH_JOIN_THERE : WH_JOIN_INVITED);
	forget(lab);
	meet(lab, "0");
	say_they(lab, "0", WH_FORMING, 0);
	step(lab);
	if (_i == 0)
		ck_assert_ptr_eq(strstr(lab->told, "discard 2:withdrawn-101 "), lab->told);
	else
		expect(lab, "");
	ck_assert_int_eq(lab->join.state, _i == 1 ? WH_JOIN_THERE : WH_JOIN_SEEKING);
	roster_lab_free(lab);
}

/* ---- again ------------------------------------------------------------------------------------------------------- */

/* Not all come: the view is dropped after a start time-out. The next is without the node that did not open its image, as
 * long as the rest is a majority. That node comes in again after a while. The key is another, beyond all that the nodes
 * that come have accepted. */
TEST(a_node_that_does_not_come_is_left_out)
{
	struct lab *lab = lab_of_three(0);

	lab->searching = false;
	meet(lab, "12");
	say_they(lab, "12", WH_FORMING, 0);
	step(lab); /* the intros, */
	step(lab); /* then the invitations */
	forget(lab);
	say_there(lab, 1, 0x100);
	roster_lab_pass_ns(lab, START_NS - 1);
	step(lab);
	expect(lab, "");
	roster_lab_pass_ns(lab, 1);
	step(lab); /* it is dropped; the next key is beyond mine */
	expect(lab, "discard open-0,1-as-200 1:view-200-at-0 2:withdrawn-100 1:forming-100 2:forming-100 ");
	ck_assert_uint_eq(lab->opened->voters, 3);
	say_there(lab, 1, 0x200);
	say_they(lab, "1", WH_FORMING, 0x4203); /* another has used that one up with it */
	roster_lab_pass_ns(lab, PATIENCE_NS + START_NS);
	say_they(lab, "2", WH_FORMING, 0x300);
	step(lab);
	ck_assert_ptr_eq(strstr(lab->told, "discard open-0,1,2-as-4300 "), lab->told);
	roster_lab_free(lab);
}

/* The floor of a node that is configured otherwise, or is no configured node, is nothing to us. */
TEST(keys_of_others_do_not_count)
{
	struct lab *lab = lab_of_three(0);
	struct wh_wire intro;

	lab->searching = false;
	meet(lab, "1245");
	say_they(lab, "12", WH_FORMING, 0x302);
	say_they(lab, "4", WH_FORMING, 0x90000);
	intro = message_of(lab, 5, WH_WIRE_INTRO);
	intro.group_digest++;
	intro.key = 0x80000;
	wh_roster_on_intro(&lab->roster, 5, &intro);
	step(lab);
	ck_assert_ptr_eq(strstr(lab->told, "open-0,1,2-as-400 "), lab->told);
	roster_lab_free(lab);
}

/* There are more keys of first views than attempts can be made, however many have come to nothing: none is made twice. */
TEST_LOOP(keys_do_not_come_to_an_end, 0, 4)
{
	static const uint64_t seen[] = {0xffff02, 0xffffffff02, WH_FIRST_KEYS - 0x101, WH_FIRST_KEYS - 0x100};
	static const char *const told[] = {"open-0,1,2-as-1000000 ", "open-0,1,2-as-10000000000 ",
					   "open-0,1,2-as-7fffffffffffff00 ", "refused "};
	struct lab *lab = lab_of_three(0);

	lab->searching = false;
	meet(lab, "12");
	say_they(lab, "1", WH_FORMING, 0);
	say_they(lab, "2", WH_FORMING, seen[_i]);
	step(lab);
	ck_assert_ptr_eq(strstr(lab->told, told[_i]), lab->told);
	roster_lab_free(lab);
}

/* ---- when a view may be formed (0032) ----------------------------------------------------------------------------------- */

static void say_recorded(struct lab *lab, uint32_t node, enum wh_condition standing, uint64_t group)
{
	struct wh_wire intro = message_of(lab, node, WH_WIRE_INTRO);

	intro.standing = standing;
	intro.group = group;
	wh_roster_on_intro(&lab->roster, node, &intro);
}

/* Three of four are enough on one host and where there are records; else it takes all, however long that is. */
TEST_LOOP(it_takes_all_or_a_majority, 0, 3)
{
	struct lab *lab = roster_lab_make(0, 4);

	lab->join.rule = _i == 0 ? WH_FORM_ALL : WH_FORM_MAJORITY;
	lab->join.one_host = _i == 1;
	lab->join.records = _i == 2;
	lab->roster.quiet = true;
	wh_join_begin(&lab->join);
	meet(lab, "12");
	say_they(lab, "12", WH_FORMING, 0);
	roster_lab_pass_ns(lab, 100 * START_NS);
	step(lab);
	ck_assert_int_eq(strstr(lab->told, "open-0,1,2-as-100 ") != NULL, _i != 0);
	meet(lab, "3");
	say_they(lab, "3", WH_FORMING, 0);
	step(lab);
	ck_assert_int_eq(strstr(lab->told, "open-0,1,2,3-as-100 ") != NULL, _i == 0);
	roster_lab_free(lab);
}

/* One of those that are there has been in a group, be it a node that only joins: then it takes all; and no invitation of fewer is
 * followed. */
TEST_LOOP(what_has_been_in_a_group_forms_none_by_majority, 0, 4)
{
	struct lab *lab = roster_lab_make(1, 4);

	lab->join.records = true;
	lab->join.record = _i == 0 ? 9 : 0;
	wh_join_begin(&lab->join);
	meet(lab, "025");
	say_they(lab, "02", WH_FORMING, 0);
	say_recorded(lab, 5, WH_SEEKING, _i == 1 ? 9 : 0);
	say_recorded(lab, 2, WH_FORMING, _i == 2 ? 9 : 0);
	step(lab);
	forget(lab);
	ck_assert(invite_by(lab, 0, first_view(lab, "0,1,2", 4), 0x100));
	ck_assert_int_eq(strstr(lab->told, "open-0,1,2-as-100 ") != NULL, _i == 3);
	ck_assert(invite_by(lab, 0, first_view(lab, "0,1,2,3", 4), 0x200));
	ck_assert_ptr_nonnull(strstr(lab->told, "open-0,1,2,3-as-200 "));
	roster_lab_free(lab);
	lab = roster_lab_make(0, 4);
	lab->join.records = true;
	lab->join.record = _i == 0 ? 9 : 0;
	wh_join_begin(&lab->join);
	meet(lab, "125");
	say_recorded(lab, 1, WH_FORMING, _i == 2 ? 9 : 0);
	say_recorded(lab, 2, WH_FORMING, 0);
	say_recorded(lab, 5, WH_SEEKING, _i == 1 ? 9 : 0);
	roster_lab_pass_ns(lab, 100 * START_NS);
	step(lab);
	ck_assert_int_eq(strstr(lab->told, "open-0,1,2-as-100 ") != NULL, _i == 3);
	roster_lab_free(lab);
}

/* On one host: a process holds an id, and has not said what it is; or it has said something that has not been looked at. */
TEST_LOOP(what_is_silent_on_one_host_may_be_a_member, 0, 4)
{
	struct lab *lab = roster_lab_make(_i == 2 ? 4 : 0, 3);
	char text[256];

	lab->join.one_host = true;
	lab->join.founder = _i == 2 ? 4 : -1;
	lab->holders[5] = _i == 1 ? 0 : 4711;
	lab->serviced = _i == 1;
	lab->roster.quiet = _i != 3;
	wh_join_begin(&lab->join);
	meet(lab, "12");
	say_they(lab, "12", WH_FORMING, 0);
	roster_lab_pass_ns(lab, 1000 * PATIENCE_NS);
	step(lab);
	ck_assert_ptr_null(strstr(lab->told, "open"));
	wh_join_explain(&lab->join, text, sizeof(text));
	if (_i != 1)
		ck_assert_str_eq(text, "waits for node 5, pid 4711, which is there and silent: it may be a member");
	lab->holders[5] = -1;
	wh_join_explain(&lab->join, text, sizeof(text));
	ck_assert_str_eq(text, "waits for node 5, which is there and silent: it may be a member");
	meet(lab, "5");
	say_they(lab, "5", WH_SEEKING, 0);
	lab->roster.known_nodes[5].follows = true;
	wh_join_explain(&lab->join, text, sizeof(text));
	ck_assert_str_eq(text, "waits for node 5, which is there and follows an invitation: it may be a member");
	lab->roster.known_nodes[5].follows = false;
	lab->serviced = 0;
	lab->roster.quiet = true;
	step(lab);
	ck_assert_ptr_nonnull(strstr(lab->told, "open"));
	roster_lab_free(lab);
}

/* It founds once in its life. */
TEST_LOOP(a_founder_founds_once, 0, 3)
{
	struct lab *lab = roster_lab_make(0, 3);

	lab->join.rule = WH_FORM_FOUNDER;
	lab->join.founder = 0;
	lab->join.records = true;
	lab->join.record = _i == 0 ? 9 : 0;
	lab->join.forced = _i == 2;
	wh_join_begin(&lab->join);
	roster_lab_pass_ns(lab, 10 * PATIENCE_NS);
	step(lab);
	ck_assert_int_eq(strstr(lab->told, "open-0-as-100 ") != NULL, _i != 0);
	roster_lab_free(lab);
}

/* ---- by an operator's word ------------------------------------------------------------------------------------------------ */

static struct lab *lab_of_forced(uint32_t me, uint32_t configured)
{
	struct lab *lab = roster_lab_make(me, configured);

	lab->join.rule = WH_FORM_ALL;
	lab->join.forced = true;
	lab->join.may_form = false; /* start = join does not speak against it */
	wh_join_begin(&lab->join);
	return lab;
}

/* All others that are there seek. */
TEST(a_forced_node_is_a_group_of_one)
{
	struct lab *lab = lab_of_forced(1, 3);

	meet(lab, "0");
	step(lab);
	ck_assert_ptr_null(strstr(lab->told, "open")); /* what is it? */
	say_they(lab, "0", WH_FORMING, 0);
	step(lab);
	ck_assert_ptr_nonnull(strstr(lab->told, "open-1-as-101 "));
	ck_assert_uint_eq(lab->opened->voters, 1);
	ck_assert_int_eq(lab->warnings, 1); /* which nodes have not been reached */
	step(lab);
	ck_assert_int_eq(lab->join.state, WH_JOIN_INVITED); /* a lower one is no reason to wait */
	roster_lab_free(lab);
}

/* A member, one that is invited, one that was told so as well, one that says nothing. */
TEST_LOOP(a_forced_node_is_refused, 0, 4)
{
	static const char *const words[] = {"node 2 is a member of group 0000000000000007, in view 4",
					    "node 2 is invited into one", "node 2 is told so as well",
					    "node 2 is there and says nothing"};
	struct lab *lab = lab_of_forced(1, 3);
	struct wh_wire intro;

	meet(lab, "02");
	say_they(lab, "0", WH_FORMING, 0);
	intro = message_of(lab, 2, WH_WIRE_INTRO);
	intro.standing = WH_FORMING;
	intro.flag = _i == 1;
	intro.forced = _i == 2;
	if (_i == 0)
		say_member(lab, 2, 4, 2, 0x4000001);
	else if (_i != 3)
		wh_roster_on_intro(&lab->roster, 2, &intro);
	roster_lab_pass_ns(lab, PATIENCE_NS);
	step(lab);
	ck_assert_ptr_nonnull(strstr(lab->told, "refused "));
	ck_assert_ptr_null(strstr(lab->told, "open"));
	ck_assert_msg(strstr(lab->why, words[_i]) != NULL, "%s", lab->why);
	roster_lab_free(lab);
}

/* With records others that have none may form a group as a majority: so it takes one here. */
TEST_LOOP(with_records_it_takes_a_majority, 0, 2)
{
	struct lab *lab = lab_of_forced(1, 3);

	lab->join.rule = WH_FORM_MAJORITY;
	lab->join.records = true;
	lab->join.record = 9;
	if (_i == 1)
		meet(lab, "2");
	if (_i == 1)
		say_recorded(lab, 2, WH_FORMING, 9);
	step(lab);
	roster_lab_pass_ns(lab, START_NS);
	step(lab);
	ck_assert_int_eq(strstr(lab->told, "open-1,2-as-101 ") != NULL, _i == 1);
	step(lab);
	roster_lab_pass_ns(lab, START_NS); /* node 2 does not come: it is left out for a while, and then asked again */
	step(lab);
	ck_assert_ptr_null(strstr(lab->told, "refused "));
	roster_lab_pass_ns(lab, 10 * START_NS);
	step(lab);
	ck_assert_int_eq(strstr(lab->told, "refused ") != NULL, _i == 0);
	if (_i == 0)
		ck_assert_ptr_nonnull(strstr(lab->why, "of 3 configured nodes 1 are there"));
	roster_lab_free(lab);
}

static void expect_words(const struct lab *lab, const char *words)
{
	char text[256];

	wh_join_explain(&lab->join, text, sizeof(text));
	ck_assert_str_eq(text, words);
}

/* It is met: others form nothing, follow it though they have records, and it follows no node. */
TEST(beside_a_forced_node_nobody_forms)
{
	struct lab *lab = roster_lab_make(0, 3);
	struct wh_wire intro;

	lab->join.records = true;
	lab->join.record = 9;
	wh_join_begin(&lab->join);
	meet(lab, "12");
	say_they(lab, "2", WH_FORMING, 0);
	intro = message_of(lab, 1, WH_WIRE_INTRO);
	intro.standing = WH_FORMING;
	intro.forced = true;
	wh_roster_on_intro(&lab->roster, 1, &intro);
	roster_lab_pass_ns(lab, 10 * START_NS);
	step(lab);
	ck_assert_ptr_null(strstr(lab->told, "open"));
	expect_words(lab, "waits for the group that node 1 forms by an operator's word");
	ck_assert(invite_by(lab, 1, first_view(lab, "0", 3), 0x101)); /* not of so few */
	ck_assert_ptr_null(strstr(lab->told, "open"));
	ck_assert(invite_by(lab, 1, first_view(lab, "0,1", 3), 0x201));
	ck_assert_ptr_nonnull(strstr(lab->told, "open-0,1-as-201 "));
	roster_lab_free(lab);
	lab = lab_of_forced(1, 3);
	meet(lab, "02");
	say_they(lab, "0", WH_FORMING, 0);
	ck_assert(invite_by(lab, 0, first_view(lab, "0,1,2", 3), 0x100));
	ck_assert_ptr_null(strstr(lab->told, "open"));
	roster_lab_free(lab);
}

TEST(what_is_missing_is_named)
{
	struct lab *lab = roster_lab_make(0, 5);
	char text[40];

	wh_join_begin(&lab->join);
	meet(lab, "13");
	say_they(lab, "13", WH_FORMING, 0);
	expect_words(lab, "forms a group of 5 nodes; missing: 2 4");
	wh_join_explain(&lab->join, text, sizeof(text)); /* what there is room for */
	ck_assert_ptr_eq(strstr(text, "forms a group of 5 nodes; missing:"), text);
	lab->join.may_form = false;
	expect_words(lab, "waits for a group that it can join");
	lab->join.may_form = true;
	lab->join.configured = 0;
	expect_words(lab, "waits for a group that it can join");
	lab->join.configured = 5;
	lab->join.founder = 3;
	expect_words(lab, "waits for node 3, the founder of the group");
	lab->join.configured = 0;
	expect_words(
		lab,
		"waits for node 3, which forms the group: if it is gone, the next process without an id of its own does");
	lab->join.configured = 3;
	roster_lab_free(lab);
	lab = roster_lab_make(2, 5);
	lab->join.founder = 0;
	expect_words(lab, "waits for node 0, the founder of the group");
	roster_lab_free(lab);
}

TEST_SUITE("form")
