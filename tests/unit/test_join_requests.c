/* test_join_requests.c - at a member that leads: which nodes ask to come in, are invited and are there, which are told
 * that they are not, and which have to wait. What is proposed, and when, is propose.c's matter (test_prepare.c).
 */
#include "tests/support/roster_lab.h"

#define KEY (WH_FIRST_KEYS | 0x1000001)
#define WANTS_NS (500 * WH_NS_PER_MS)
#define NEW_LIFE_WAITS_NS (2 * WH_NS_PER_S)
#define RANDOM 4 /* fake_random */

/* Node 1 in view 0 of 0 and 1; nodes 2 to 5 have been met, and seek. */
static struct lab *lab_of_member(void)
{
	struct lab *lab = roster_lab_make(1, 3);
	struct wh_wire member = {.standing = WH_MEMBER_OF, .group = 7, .leader = 1};

	wh_roster_introduce(&lab->roster, &member, first_view(lab, "0,1", 2));
	meet(lab, "02345");
	say_they(lab, "2345", WH_SEEKING, 0);
	step(lab);
	forget(lab);
	return lab;
}

static void lab_end(struct lab *lab)
{
	wh_view_free((struct wh_view *)lab->roster.view);
	roster_lab_free(lab);
}

static bool say_join(struct lab *lab, uint32_t node, bool leads)
{
	struct wh_wire join = message_of(lab, node, WH_WIRE_JOIN);

	return wh_join_requests_on_message(&lab->requests, node, &join, leads);
}

static void say_join_all(struct lab *lab, const char *nodes)
{
	for (; *nodes != '\0'; nodes++)
		ck_assert(say_join(lab, (uint32_t)(*nodes - '0'), true));
}

static void say_open(struct lab *lab, uint32_t node, uint64_t key, bool ready)
{
	struct wh_wire there = message_of(lab, node, WH_WIRE_THERE);

	there.key = key;
	there.flag = ready;
	ck_assert(!wh_join_requests_on_message(&lab->requests, node, &there, true));
}

/* The nodes that may come in, in the order in which they are found. */
static void expect_newcomers(struct lab *lab, uint32_t max, const char *ids)
{
	struct wh_newcomer found[LAB_NODES];
	uint32_t count = wh_join_requests_newcomers(&lab->requests, found, max);
	char text[LAB_NODES + 1] = "";

	for (uint32_t i = 0; i < count; i++) {
		text[i] = (char)('0' + found[i].id);
		ck_assert_uint_eq(found[i].incarnation, lab->roster.known_nodes[found[i].id].incarnation);
	}
	ck_assert_str_eq(text, ids);
}

static void invite(struct lab *lab, const struct wh_view *view, uint64_t key, bool blames)
{
	ck_assert_int_eq(wh_join_requests_invite(&lab->requests, view, key, blames), WHORL_OK);
}

/* ---- nodes that ask ---------------------------------------------------------------------------------------------- */

TEST(a_node_that_asks_may_come_in)
{
	struct lab *lab = lab_of_member();

	expect_newcomers(lab, 5, "");
	say_join_all(lab, "34");
	expect_newcomers(lab, 5, "34");
	expect_newcomers(lab, 5, "34"); /* they are not forgotten by being looked for */
	lab_end(lab);
}

/* What asks says what it is: its intro may be on its way. But not if it is configured otherwise, nor for another
 * life. */
TEST_LOOP(a_node_may_ask_before_its_intro_has_come, 0, 4)
{
	struct lab *lab = lab_of_member();
	struct wh_wire join;

	wh_roster_gone(&lab->roster, 3);
	wh_roster_met(&lab->roster, 3, incarnation_of(3, 1));
	join = message_of(lab, 3, WH_WIRE_JOIN);
	join.incarnation += _i == 1;
	join.group_digest += _i == 2;
	join.subgroups_digest += _i == 3;
	ck_assert_int_eq(wh_join_requests_on_message(&lab->requests, 3, &join, true), _i != 1);
	expect_newcomers(lab, 5, _i == 0 ? "3" : "");
	ck_assert_int_eq(lab->roster.known_nodes[3].differs != NULL, _i >= 2);
	lab_end(lab);
}

/* It says that it has wishes; when it is left out later, it has not asked for anything. Another life of its id may
 * ask then. */
TEST(a_member_that_asks_is_no_newcomer)
{
	struct lab *lab = lab_of_member();
	const struct wh_view *view = lab->roster.view;
	struct wh_view *without = next_view(lab, view, "0", "");

	ck_assert(say_join(lab, 0, true));
	expect_newcomers(lab, 5, "");
	lab->roster.view = without;
	expect_newcomers(lab, 5, "");
	lab->roster.view = view;
	wh_roster_gone(&lab->roster, 0);
	wh_roster_met(&lab->roster, 0, incarnation_of(0, 1));
	ck_assert(say_join(lab, 0, true));
	expect_newcomers(lab, 5, ""); /* an id is not twice in a view, nor changes its life from one to the next */
	lab->roster.view = without;
	expect_newcomers(lab, 5, "0");
	lab->roster.view = view;
	wh_view_free(without);
	lab_end(lab);
}

TEST(a_member_that_does_not_lead_says_which_does)
{
	struct lab *lab = lab_of_member();

	ck_assert(!say_join(lab, 3, false));
	step(lab);
	expect(lab, "3:member-0-of-1 ");
	expect_newcomers(lab, 5, "");
	ck_assert(!say_join(lab, 3, false));
	step(lab);
	expect(lab, "3:member-0-of-1 ");
	lab_end(lab);
}

TEST(a_node_that_asks_no_more_is_forgotten)
{
	struct lab *lab = lab_of_member();

	say_join_all(lab, "3");
	roster_lab_pass_ns(lab, WANTS_NS - 1);
	say_join_all(lab, "4");
	expect_newcomers(lab, 5, "34");
	roster_lab_pass_ns(lab, 1);
	expect_newcomers(lab, 5, "4");
	say_join_all(lab, "3");
	wh_roster_gone(&lab->roster, 4);
	expect_newcomers(lab, 5, "3");
	lab_end(lab);
}

TEST(they_come_in_turn)
{
	struct lab *lab = lab_of_member();

	say_join_all(lab, "2345");
	expect_newcomers(lab, 2, "23");
	expect_newcomers(lab, 1, "4");
	expect_newcomers(lab, 3, "523");
	expect_newcomers(lab, 5, "4523");
	lab_end(lab);
}

/* ---- nodes that are invited -------------------------------------------------------------------------------------- */

TEST(newcomers_are_sent_the_view)
{
	struct lab *lab = lab_of_member();
	struct wh_view *view = next_view(lab, lab->roster.view, "", "3,4"), *read;
	struct wh_error err;

	invite(lab, view, KEY, true);
	ck_assert_uint_eq(step(lab), 2);
	expect(lab, "3:view-1000001-at-0 4:view-1000001-at-0 ");
	ck_assert_uint_eq(step(lab), 0);
	ck_assert(lab->whole[3]);
	ck_assert_int_eq(wh_view_decode(&read, lab->parts[3].bytes, lab->parts[3].total, &lab->layout, LAB_NODES, &err),
			 WHORL_OK);
	ck_assert(wh_view_equals(read, view));
	wh_view_free(read);
	wh_view_free(view);
	lab_end(lab);
}

/* Nor is another life of that id, or a node that has gone. */
TEST_LOOP(only_that_life_is_invited, 0, 2)
{
	struct lab *lab = lab_of_member();
	struct wh_view *view = next_view(lab, lab->roster.view, "", "3,4");

	wh_roster_gone(&lab->roster, 3);
	if (_i == 1)
		wh_roster_met(&lab->roster, 3, incarnation_of(3, 1));
	invite(lab, view, KEY, true);
	wh_join_requests_step(&lab->requests);
	expect(lab, "4:view-1000001-at-0 ");
	ck_assert_uint_eq(lab->roster.known_nodes[3].invited, 0);
	wh_view_free(view);
	lab_end(lab);
}

/* A long view, of which the queue takes a piece now and then. */
TEST(pieces_go_on_where_they_stopped)
{
	struct lab *lab = lab_of_member();
	struct wh_view *view, *read;
	struct wh_error err;

	lab->layout.count = LAB_SUBGROUPS;
	wh_view_free((struct wh_view *)lab->roster.view);
	lab->roster.view = first_view(lab, "0,1", 2);
	view = next_view(lab, lab->roster.view, "", "3,4");
	lab->room[3] = 1;
	invite(lab, view, KEY, true);
	ck_assert_uint_eq(step(lab), 2);
	expect(lab, "3:view-1000001-at-0 4:view-1000001-at-0 4:view-1000001-at-4032 4:view-1000001-at-8064 "
		    "4:view-1000001-at-12096 4:view-1000001-at-16128 ");
	ck_assert_uint_eq(lab->loop.next_ns, lab->loop.now_ns + WH_NS_PER_MS);
	ck_assert_uint_eq(step(lab), 0);
	lab->room[3] = 2;
	ck_assert_uint_eq(step(lab), 1);
	expect(lab, "3:view-1000001-at-4032 3:view-1000001-at-8064 ");
	ck_assert(!lab->whole[3]);
	lab->room[3] = 9;
	step(lab);
	expect(lab, "3:view-1000001-at-12096 3:view-1000001-at-16128 ");
	ck_assert(lab->whole[3]);
	ck_assert_int_eq(wh_view_decode(&read, lab->parts[3].bytes, lab->parts[3].total, &lab->layout, LAB_NODES, &err),
			 WHORL_OK);
	ck_assert(wh_view_equals(read, view));
	ck_assert_uint_eq(step(lab), 0);
	wh_view_free(read);
	wh_view_free(view);
	lab_end(lab);
}

/* Another invitation while pieces of the first are outstanding: it begins at its beginning. */
TEST(the_next_invitation_begins_anew)
{
	struct lab *lab = lab_of_member();
	struct wh_view *view;

	lab->layout.count = LAB_SUBGROUPS / 2;
	wh_view_free((struct wh_view *)lab->roster.view);
	lab->roster.view = first_view(lab, "0,1", 2);
	view = next_view(lab, lab->roster.view, "", "3");
	lab->room[3] = 1;
	invite(lab, view, KEY, true);
	step(lab);
	expect(lab, "3:view-1000001-at-0 ");
	invite(lab, view, KEY + 1, true);
	lab->room[3] = 9;
	step(lab);
	expect(lab, "3:view-1000002-at-0 3:view-1000002-at-4032 ");
	ck_assert(lab->whole[3]);
	wh_view_free(view);
	lab_end(lab);
}

/* ---- nodes that are not any more --------------------------------------------------------------------------------- */

TEST(a_node_is_told_when_its_invitation_is_withdrawn)
{
	struct lab *lab = lab_of_member();
	struct wh_view *both = next_view(lab, lab->roster.view, "", "3,4"),
		       *one = next_view(lab, lab->roster.view, "", "4");

	invite(lab, both, KEY, true);
	step(lab);
	forget(lab);
	lab->room[3] = 0;
	invite(lab, one, KEY + 1, true);
	step(lab);
	expect(lab, "4:view-1000002-at-0 ");
	ck_assert_uint_eq(lab->loop.next_ns, lab->loop.now_ns + WH_NS_PER_MS);
	step(lab);
	expect(lab, "");
	lab->room[3] = 9;
	step(lab);
	expect(lab, "3:withdrawn-1000001 ");
	invite(lab, NULL, 0, true);
	ck_assert_uint_eq(step(lab), 1);
	expect(lab, "4:withdrawn-1000002 ");
	ck_assert_uint_eq(step(lab), 0);
	ck_assert_uint_eq(lab->roster.known_nodes[3].invited + lab->roster.known_nodes[4].invited + lab->requests.key,
			  0);
	wh_view_free(both);
	wh_view_free(one);
	lab_end(lab);
}

/* Of two invitations the later one counts: the withdrawal of the first needs not be said any more. */
TEST(a_node_that_is_invited_again_is_not_told)
{
	struct lab *lab = lab_of_member();
	struct wh_view *view = next_view(lab, lab->roster.view, "", "3");

	invite(lab, view, KEY, true);
	step(lab);
	forget(lab);
	invite(lab, NULL, 0, false);
	invite(lab, view, KEY + 1, true);
	step(lab);
	expect(lab, "3:view-1000002-at-0 ");
	wh_view_free(view);
	lab_end(lab);
}

/* ---- nodes that did not come ------------------------------------------------------------------------------------- */

/* A node that has not opened its image held up all others; it must ask again, and wait. One that has, and was not
 * ready yet, was held up. */
TEST(a_node_that_did_not_open_waits)
{
	struct lab *lab = lab_of_member();
	struct wh_view *view = next_view(lab, lab->roster.view, "", "2,3,4");

	say_join_all(lab, "2345");
	invite(lab, view, KEY, true);
	say_open(lab, 2, KEY, true);
	say_open(lab, 3, KEY, false);
	say_open(lab, 4, KEY - 1, true); /* that was another */
	invite(lab, NULL, 0, true);
	expect_newcomers(lab, 5, "235");
	roster_lab_pass_ns(lab, PATIENCE_NS + RANDOM);
	expect_newcomers(lab, 5, "235"); /* it has not asked again */
	say_join_all(lab, "4");
	lab->requests.turn = 0;
	expect_newcomers(lab, 5, "2345");
	wh_view_free(view);
	lab_end(lab);
}

TEST(if_all_have_opened_a_node_that_is_not_there_waits)
{
	struct lab *lab = lab_of_member();
	struct wh_view *view = next_view(lab, lab->roster.view, "", "2,3");

	say_join_all(lab, "23");
	invite(lab, view, KEY, true);
	say_open(lab, 2, KEY, true);
	say_open(lab, 3, KEY, false);
	say_open(lab, 3, KEY - 1, true); /* late, of another: it is not there in this one */
	say_open(lab, 3, KEY, false);
	invite(lab, NULL, 0, true);
	say_join_all(lab, "23");
	expect_newcomers(lab, 5, "2");
	wh_view_free(view);
	lab_end(lab);
}

/* It is invited again, with the next attempt: it has its time anew. */
TEST(a_node_that_is_still_invited_is_not_late)
{
	struct lab *lab = lab_of_member();
	struct wh_view *both = next_view(lab, lab->roster.view, "", "2,3"),
		       *one = next_view(lab, lab->roster.view, "", "3");

	say_join_all(lab, "23");
	invite(lab, both, KEY, true);
	invite(lab, one, KEY + 1, true);
	expect_newcomers(lab, 5, "3");
	ck_assert_uint_eq(lab->roster.known_nodes[3].failures, 0);
	wh_view_free(both);
	wh_view_free(one);
	lab_end(lab);
}

/* A member failed meanwhile: the nodes that were to come are not to blame. */
TEST(a_node_that_was_held_up_does_not_wait)
{
	struct lab *lab = lab_of_member();
	struct wh_view *view = next_view(lab, lab->roster.view, "", "2,3");

	say_join_all(lab, "23");
	invite(lab, view, KEY, false);
	say_open(lab, 2, KEY, false);
	invite(lab, NULL, 0, false);
	expect_newcomers(lab, 5, "23");
	wh_view_free(view);
	lab_end(lab);
}

static void fail_to_come(struct lab *lab, const struct wh_view *view)
{
	say_join_all(lab, "3");
	expect_newcomers(lab, 5, "3");
	invite(lab, view, KEY, true);
	invite(lab, NULL, 0, true);
}

/* Longer each time, up to a limit; even if it is another life each time, which does not wait so long. */
TEST_LOOP(a_node_that_does_not_come_waits_longer_each_time, 0, 2)
{
	struct lab *lab = lab_of_member();

	for (unsigned failure = 0; failure < 9; failure++) {
		uint64_t wait = (PATIENCE_NS << (failure < 6 ? failure : 6)) + RANDOM;
		struct wh_newcomer newcomer = {3, lab->roster.known_nodes[3].incarnation};
		struct wh_next next = {.newcomers = &newcomer, .newcomer_count = 1};
		struct wh_error err;
		struct wh_view *view;

		ck_assert_int_eq(wh_view_next(&view, lab->roster.view, &next, &lab->layout, &err), WHORL_OK);
		fail_to_come(lab, view);
		wh_view_free(view);
		if (_i == 1) {
			wh_roster_gone(&lab->roster, 3);
			wh_roster_met(&lab->roster, 3, incarnation_of(3, failure + 1));
			wait = wait < NEW_LIFE_WAITS_NS ? wait : NEW_LIFE_WAITS_NS;
		}
		roster_lab_pass_ns(lab, wait - 1);
		say_join_all(lab, "3");
		expect_newcomers(lab, 5, "");
		roster_lab_pass_ns(lab, 1);
		expect_newcomers(lab, 5, "3");
	}
	lab_end(lab);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* The view has begun with 3. It was late often enough, and is forgiven; 4 is told that it was left out, and may ask
 * at once. */
TEST(a_view_that_has_begun_settles)
{
	struct lab *lab = lab_of_member();
	const struct wh_view *before = lab->roster.view;
	struct wh_view *both = next_view(lab, before, "", "3,4"), *one = next_view(lab, before, "", "3");

	fail_to_come(lab, one);
	invite(lab, both, KEY, true);
	step(lab);
	forget(lab);
	say_join_all(lab, "34");
	wh_join_requests_settle(&lab->requests, one);
	lab->roster.view = one;
	step(lab);
	expect(lab, "4:withdrawn-1000001 ");
	expect_newcomers(lab, 5, "4");
	ck_assert_uint_eq(lab->roster.known_nodes[3].failures, 0);
	ck_assert_uint_eq(lab->roster.known_nodes[3].not_before_ns, 0);
	lab->roster.view = before; /* it would be in this one's way if it still wanted */
	expect_newcomers(lab, 5, "4");
	ck_assert_uint_eq(lab->requests.key, 0);
	ck_assert_ptr_null(lab->requests.bytes);
	invite(lab, NULL, 0, true);
	step(lab);
	expect(lab, ""); /* nor is a member told that it is not invited any more */
	wh_view_free(both);
	wh_view_free(one);
	lab_end(lab);
}

/* All in a first view hear that this node has no part in it any more, also those that it did not invite; but no other
 * life of them. */
TEST(a_node_that_drops_a_first_view_says_so)
{
	struct lab *lab = roster_lab_make(0, 4);
	struct wh_view *view = first_view(lab, "0,1,2,3", 4);
	const struct wh_wire forming = {.standing = WH_FORMING};

	wh_roster_introduce(&lab->roster, &forming, NULL);
	meet(lab, "1234");
	step(lab);
	forget(lab);
	wh_roster_gone(&lab->roster, 2);
	wh_roster_met(&lab->roster, 2, incarnation_of(2, 1));
	lab->room[3] = 0;
	wh_join_requests_renounce(&lab->requests, view, 0x101);
	step(lab);
	expect(lab, "1:withdrawn-101 2:forming-0 "); /* its new life */
	lab->room[3] = 1;
	step(lab);
	expect(lab, "3:withdrawn-101 ");
	ck_assert_uint_eq(step(lab), 0);
	wh_view_free(view);
	roster_lab_free(lab);
}

/* A node that has just been met hears first what this node is, and is invited then. */
TEST(an_intro_goes_before_an_invitation)
{
	struct lab *lab = roster_lab_make(0, 2);
	struct wh_view *view = first_view(lab, "0,1", 2);
	const struct wh_wire forming = {.standing = WH_FORMING};

	wh_roster_introduce(&lab->roster, &forming, NULL);
	meet(lab, "1");
	lab->room[1] = 0;
	invite(lab, view, KEY, false);
	step(lab);
	expect(lab, "");
	lab->room[1] = 2;
	step(lab);
	expect(lab, "1:forming-0 ");
	step(lab);
	expect(lab, "1:view-1000001-at-0 ");
	ck_assert_uint_eq(step(lab), 0);
	wh_view_free(view);
	roster_lab_free(lab);
}

/* As its coordinator: a node that has not come to it waits. */
TEST(a_coordinator_that_drops_it_blames)
{
	struct lab *lab = roster_lab_make(0, 4);
	struct wh_view *view = first_view(lab, "0,1,2,3", 4);

	meet(lab, "123");
	invite(lab, view, 0x100, true);
	say_open(lab, 1, 0x100, true);
	say_open(lab, 2, 0x100, false);
	wh_join_requests_renounce(&lab->requests, view, 0x100);
	ck_assert_uint_eq(lab->roster.known_nodes[1].not_before_ns, 0);
	ck_assert_uint_eq(lab->roster.known_nodes[2].not_before_ns, 0);
	ck_assert_uint_eq(lab->roster.known_nodes[3].not_before_ns, lab->loop.now_ns + PATIENCE_NS + RANDOM);
	ck_assert_uint_eq(lab->roster.known_nodes[1].invited + lab->roster.known_nodes[3].invited, 0);
	wh_view_free(view);
	roster_lab_free(lab);
}

TEST_SUITE("requests")
