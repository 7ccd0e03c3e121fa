/* test_join.c - the way of a node into a view: seeking, invited, there, in; and when an invitation is void. First
 * views are in test_form.c and test_first_view.c, and refusals in test_join_refused.c.
 */
#include "tests/support/roster_lab.h"

#define ASK_AGAIN_NS (100 * WH_NS_PER_MS)
#define KEY (WH_FIRST_KEYS | 0x2000001) /* of the view after view 1 */

/* Node 5, which is not configured and so can form nothing; 0 to 2 are. */
static struct lab *lab_of_seeker(void)
{
	struct lab *lab = roster_lab_make(5, 3);

	wh_join_begin(&lab->join);
	meet(lab, "012");
	return lab;
}

/* View 2: of 0, 1 and those nodes. */
static struct wh_view *view_2(const struct lab *lab, const char *with)
{
	struct wh_view *zero = first_view(lab, "0,1,2", 3), *one = next_view(lab, zero, "2", ""),
		       *two = next_view(lab, one, "", with);

	wh_view_free(zero);
	wh_view_free(one);
	return two;
}

/* It has been invited into view 2 by node 0, which leads it; its row is not shared yet, or it is. */
static struct lab *lab_of_invited(bool there)
{
	struct lab *lab = lab_of_seeker();

	say_member(lab, 0, 1, 0, (WH_FIRST_KEYS | 0x1000001));
	say_member(lab, 1, 1, 0, (WH_FIRST_KEYS | 0x1000001));
	say_they(lab, "2", WH_SEEKING, 0);
	ck_assert(invite_by(lab, 0, view_2(lab, "5"), KEY));
	lab->is_open = there;
	step(lab);
	ck_assert_int_eq(lab->join.state, there ? WH_JOIN_THERE : WH_JOIN_INVITED);
	forget(lab);
	return lab;
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

TEST(it_asks_the_leader_again_and_again)
{
	struct lab *lab = lab_of_seeker();

	step(lab);
	expect(lab, "0:seeking-0 1:seeking-0 2:seeking-0 ");
	say_member(lab, 1, 4, 2, KEY);
	lab->room[1] = 0;
	step(lab);
	expect(lab, "");
	lab->room[1] = 9;
	step(lab);
	expect(lab, "1:join "); /* it names a leader that has not said that it is a member */
	say_member(lab, 2, 4, 2, KEY);
	step(lab);
	expect(lab, "2:join "); /* at once */
	step(lab);
	expect(lab, "");
	ck_assert_uint_le(lab->loop.next_ns, lab->loop.now_ns + ASK_AGAIN_NS);
	roster_lab_pass_ns(lab, ASK_AGAIN_NS - 1);
	step(lab);
	expect(lab, "");
	roster_lab_pass_ns(lab, 1);
	step(lab);
	expect(lab, "2:join ");
	say_member(lab, 1, 5, 1, KEY + 1); /* a later view, and another leads */
	step(lab);
	expect(lab, "1:join ");
	wh_roster_gone(&lab->roster, 1);
	step(lab);
	expect(lab, "2:join ");
	say_member(lab, 0, 3, 0, KEY - 1); /* of an older view */
	roster_lab_pass_ns(lab, ASK_AGAIN_NS);
	step(lab);
	expect(lab, "2:join ");
	say_they(lab, "02", WH_SEEKING, 0);
	roster_lab_pass_ns(lab, ASK_AGAIN_NS);
	step(lab);
	expect(lab, ""); /* no node is a member */
	roster_lab_free(lab);
}

/* A leader that none of my kind can be: out of range, or not met. */
TEST_LOOP(a_leader_that_is_not_there, 0, 2)
{
	struct lab *lab = lab_of_seeker();

	step(lab);
	forget(lab);
	say_member(lab, 1, 4, _i == 0 ? 3 : WH_NODES_MAX - 1, KEY);
	step(lab);
	expect(lab, "1:join ");
	roster_lab_free(lab);
}

/* ---- an invitation ----------------------------------------------------------------------------------------------- */

TEST(from_an_invitation_to_the_view)
{
	struct lab *lab = lab_of_seeker();

	say_member(lab, 0, 1, 0, (WH_FIRST_KEYS | 0x1000001));
	step(lab);
	forget(lab);
	ck_assert(invite_by(lab, 0, view_2(lab, "4,5"), KEY));
	expect(lab, "open-0,1,4,5-as-2000001 ");
	step(lab);
	expect(lab, "0:open-2000001 ");
	step(lab);
	expect(lab, "");
	lab->is_open = true;
	step(lab);
	expect(lab, "row 0:there-2000001 ");
	ck_assert_uint_eq(lab->loop.next_ns, lab->loop.now_ns + WH_NS_PER_MS); /* heartbeats do not ring */
	step(lab);
	expect(lab, "");
	lab->has_begun = true;
	ck_assert_uint_eq(step(lab), 1);
	expect(lab, "begin ");
	ck_assert_int_eq(lab->join.state, WH_JOIN_IN);
	ck_assert_uint_eq(step(lab), 0);
	ck_assert(invite_by(lab, 0, view_2(lab, "5"), KEY + 1));
	expect(lab, "");
	roster_lab_free(lab);
}

/* The row says it first, and it is a promise from then on, whether the message goes or not: the view may begin
 * without it. */
TEST_LOOP(there_although_the_queue_is_full, 0, 2)
{
	struct lab *lab = lab_of_invited(false);

	lab->room[0] = 0;
	lab->is_open = true;
	step(lab);
	expect(lab, "row ");
	ck_assert_int_eq(lab->join.state, WH_JOIN_THERE);
	step(lab);
	expect(lab, "");
	lab->has_begun = _i == 1;
	lab->room[0] = _i == 0 ? 9 : 0;
	step(lab);
	expect(lab, _i == 0 ? "0:there-2000001 " : "begin ");
	roster_lab_free(lab);
}

/* No member is believed that a view begins here if the view's memory is not (or, for another that is lost, not any more) open. */
TEST_LOOP(a_view_does_not_begin_before_its_memory_is_open, 0, 2)
{
	struct lab *lab = lab_of_invited(_i == 1);

	lab->has_begun = true;
	lab->is_open = false;
	step(lab);
	step(lab);
	ck_assert_ptr_null(strstr(lab->told, "begin"));
	lab->is_open = true;
	step(lab);
	ck_assert_ptr_nonnull(strstr(lab->told, "begin"));
	roster_lab_free(lab);
}

/* Of two invitations the one of the greater key counts, whichever node sends it, even if all is ready for the other. */
TEST_LOOP(lower_keys_are_out_of_date, 0, 2)
{
	struct lab *lab = lab_of_invited(_i == 1);

	ck_assert(invite_by(lab, 0, view_2(lab, "4,5"), KEY));
	ck_assert(invite_by(lab, 1, view_2(lab, "4,5"), KEY - 1));
	step(lab);
	expect(lab, "");
	lab->is_open = false;
	ck_assert(invite_by(lab, 1, view_2(lab, "4,5"), KEY + 0x10000));
	expect(lab, "discard open-0,1,4,5-as-2010001 ");
	step(lab);
	expect(lab, "1:open-2010001 0:join "); /* any node that leads is asked again and again, all the way */
	ck_assert_int_eq(lab->join.state, WH_JOIN_INVITED);
	roster_lab_free(lab);
}

/* What is no view, or none that begins with this node in it, or of another number than its key says: the sender of
 * that is broken. */
TEST(invitations_that_cannot_be)
{
	struct lab *lab = lab_of_seeker();
	unsigned char junk[8] = "WHV";
	struct wh_wire message = message_of(lab, 0, WH_WIRE_VIEW);
	struct wh_view *view;

	message.key = KEY;
	message.total = message.bytes = sizeof(junk);
	message.piece = junk;
	ck_assert(wh_join_on_message(&lab->join, 0, &message)); /* a node that has not said what it is is not heard */
	say_member(lab, 0, 1, 0, (WH_FIRST_KEYS | 0x1000001));
	ck_assert(!wh_join_on_message(&lab->join, 0, &message));
	message.total = 2 * sizeof(junk);
	ck_assert(wh_join_on_message(&lab->join, 0, &message));
	ck_assert(!wh_join_on_message(&lab->join, 0,
				      &(struct wh_wire){.kind = WH_WIRE_VIEW,
							.key = KEY,
							.total = 2 * sizeof(junk),
							.offset = 1,
							.bytes = 1,
							.piece = junk})); /* a piece that does not follow */
	lab->roster.known_nodes[0].differs = "[group] section differs";
	ck_assert(invite_by(lab, 0, view_2(lab, "5"), KEY));
	lab->roster.known_nodes[0].differs = NULL;
	ck_assert(!invite_by(lab, 0, view_2(lab, "4"), KEY));
	ck_assert(!invite_by(lab, 0, view_2(lab, "5"), KEY + (1 << 24)));
	view = view_2(lab, "5");
	view->incarnations[2]++;
	ck_assert(!invite_by(lab, 0, view, KEY));
	view = view_2(lab, "5");
	ck_assert(!invite_by(lab, 0, next_view(lab, view, "", "4"), KEY + (1 << 24))); /* where I am not new */
	wh_view_free(view);
	expect(lab, "");
	ck_assert(invite_by(lab, 0, view_2(lab, "5"), KEY));
	expect(lab, "open-0,1,5-as-2000001 ");
	roster_lab_free(lab);
}

TEST(a_node_that_cannot_open_does_not_follow)
{
	struct lab *lab = lab_of_seeker();

	say_member(lab, 0, 1, 0, (WH_FIRST_KEYS | 0x1000001));
	lab->can_open = false;
	ck_assert(invite_by(lab, 0, view_2(lab, "5"), KEY));
	expect(lab, "open-0,1,5-as-2000001 ");
	ck_assert_int_eq(lab->join.state, WH_JOIN_SEEKING);
	ck_assert_ptr_null(lab->join.view);
	roster_lab_free(lab);
}

/* ---- it is void -------------------------------------------------------------------------------------------------- */

/* Until the newcomer is there, by the node that has invited it; then by any that leads: of that key, and the newcomer
 * asks again at once. */
TEST_LOOP(an_invitation_is_withdrawn, 0, 2)
{
	bool there = _i == 1;
	struct lab *lab = lab_of_invited(there);

	withdraw(lab, 0, KEY - 1);
	expect(lab, "");
	withdraw(lab, 1, KEY);
	expect(lab, there ? "discard " : "");
	withdraw(lab, 0, KEY);
	expect(lab, there ? "" : "discard ");
	ck_assert_int_eq(lab->join.state, WH_JOIN_SEEKING);
	step(lab); /* and says that it follows no node */
	expect(lab, "0:join 0:seeking-0 1:seeking-0 2:seeking-0 ");
	ck_assert(invite_by(lab, 0, view_2(lab, "5"), KEY + 1));
	expect(lab, "open-0,1,5-as-2000002 ");
	roster_lab_free(lab);
}

/* A node is in a view of that number or a later one, under another key: this one never was. */
TEST_LOOP(an_invitation_is_overtaken, 0, 4)
{
	struct lab *lab = lab_of_invited(_i % 2 == 1);

	say_member(lab, 1, 2, 0, KEY);
	step(lab);
	say_member(lab, 1, 1, 1, 0x1010001); /* an older one */
	step(lab);
	ck_assert_ptr_null(strstr(lab->told, "discard"));
	forget(lab);
	say_member(lab, 2, _i < 2 ? 2 : 7, 2, KEY + 0x10000);
	step(lab);
	ck_assert_ptr_eq(strstr(lab->told, "discard "), lab->told);
	ck_assert_int_eq(lab->join.state, WH_JOIN_SEEKING);
	roster_lab_free(lab);
}

/* All nodes that could say that it has begun are lost, or say that they are no members. Other newcomers do not matter. */
TEST_LOOP(an_invitation_is_void_when_all_nodes_that_could_tell_are_lost, 0, 6)
{
	struct lab *lab = lab_of_invited(_i % 2 == 1);

	wh_roster_gone(&lab->roster, 0);
	step(lab);
	ck_assert_int_ne(lab->join.state, WH_JOIN_SEEKING); /* the other may have decided: it is asked */
	expect(lab, "1:join ");
	if (_i < 2)
		wh_roster_gone(&lab->roster, 1);
	else
		say_they(lab, "1", _i < 4 ? WH_SEEKING : WH_FORMING, 0);
	if (_i >= 2) { /* that may be old, and what it has become be under way */
		step(lab);
		ck_assert_int_ne(lab->join.state, WH_JOIN_SEEKING);
		forget(lab);
		roster_lab_pass_ns(lab, START_NS);
	}
	step(lab);
	ck_assert_ptr_nonnull(strstr(lab->told, "discard "));
	ck_assert_int_eq(lab->join.state, WH_JOIN_SEEKING);
	roster_lab_free(lab);
}

/* This node waits for a while for a member that it has never met, or of which only another life is there (no node knows
 * which one is the later). What that other life says of itself is nothing to this view. One that has been met and has
 * not said yet what it is may be what it was. */
TEST_LOOP(a_member_that_was_never_met, 0, 3)
{
	struct lab *lab = roster_lab_make(5, 3);

	wh_join_begin(&lab->join);
	meet(lab, "0");
	say_member(lab, 0, 1, 0, (WH_FIRST_KEYS | 0x1000001));
	if (_i == 1) {
		wh_roster_met(&lab->roster, 1, incarnation_of(1, 7));
		say_they(lab, "1", WH_SEEKING, 0);
	} else if (_i == 2) {
		meet(lab, "1");
	}
	ck_assert(invite_by(lab, 0, view_2(lab, "5"), KEY));
	wh_roster_gone(&lab->roster, 0);
	roster_lab_pass_ns(lab, PATIENCE_NS - 1);
	step(lab);
	ck_assert_int_eq(lab->join.state, WH_JOIN_INVITED);
	roster_lab_pass_ns(lab, 1);
	step(lab);
	ck_assert_int_eq(lab->join.state, _i == 2 ? WH_JOIN_INVITED : WH_JOIN_SEEKING);
	roster_lab_free(lab);
}

/* Rows are looked at first: the node that has begun it may be gone by now. */
TEST(what_has_begun_is_not_dropped)
{
	struct lab *lab = lab_of_invited(true);

	wh_roster_gone(&lab->roster, 0);
	wh_roster_gone(&lab->roster, 1);
	say_member(lab, 2, 7, 2, (WH_FIRST_KEYS | 0x8000001));
	lab->has_begun = true;
	step(lab);
	expect(lab, "begin ");
	roster_lab_free(lab);
}

/* ---- the end, and words ------------------------------------------------------------------------------------------ */

TEST_LOOP(a_node_that_gives_up_says_so, 0, 2)
{
	struct lab *lab = lab_of_invited(_i == 1);

	wh_join_give_up(&lab->join);
	expect(lab, "discard ");
	ck_assert_int_eq(lab->join.state, WH_JOIN_SEEKING);
	wh_join_give_up(&lab->join);
	expect(lab, "");
	roster_lab_free(lab);
}

static void expect_words(const struct lab *lab, const char *words)
{
	char text[256];

	wh_join_explain(&lab->join, text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, words));
}

TEST(what_it_waits_for)
{
	struct lab *lab = lab_of_seeker();

	expect_words(lab, "waits for a group that it can join");
	lab->join.founder = 1;
	expect_words(lab, "waits for node 1, the founder");
	lab->join.founder = -1;
	say_member(lab, 0, 1, 2, (WH_FIRST_KEYS | 0x1000001));
	expect_words(lab, "asks node 2, the leader of view 1, to be let in");
	lab->roster.known_nodes[0].quorum = false;
	expect_words(lab, "it hears no quorum");
	ck_assert(invite_by(lab, 0, view_2(lab, "5"), KEY));
	expect_words(lab, "is invited into view 2 by node 0, and waits until all");
	lab->is_open = true;
	step(lab);
	expect_words(lab, "waits for it to begin");
	lab->has_begun = true;
	step(lab);
	expect_words(lab, "is a member");
	roster_lab_free(lab);
}

TEST_SUITE("join")
