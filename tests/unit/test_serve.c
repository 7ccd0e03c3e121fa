/* test_serve.c - a leader that serves wishes: when it proposes a view, what it sends to which member first, and what it does when a member
 * fails, changes what it wishes, or does not get it. The others by hand.
 */
#include "tests/support/serving_lab.h"

/* Members 1 and 2 have acknowledged that attempt. */
static void all_acknowledge(struct serving_lab *lab, uint64_t attempt)
{
	say_acknowledged(lab->m, "12", TICKET(0, attempt));
	settle(lab->m);
}

TEST(a_leader_from_a_wish_to_installation)
{
	struct serving_lab *lab = serving_make(0, 3);
	struct member *m = lab->m;

	hear_wishes(lab, 1, 1, "a+");
	settle(m);
	expect_told(m, ""); /* others may wish something as well */
	member_pass_ns(m, WH_COLLECT_QUIET_NS);
	settle(m);
	expect_told(m, "open-without-settles-serves-as-7000001 invite-0-as-7000001 ");
	expect_sent(lab, "1:next-7000001 2:next-7000001 ");
	expect_opened(lab, "a#0@7[1s!]");
	ck_assert_uint_eq(m->opened->served[1], 1);
	ck_assert_uint_eq(digest_of(m, 0, 1),
			  (uint64_t)lab->come[1].total << 32 | wh_crc32c(0, lab->come[1].bytes, lab->come[1].total));
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), TICKET(0, 1));
	ck_assert(!has_wedged(m));
	all_acknowledge(lab, 1);
	expect_told(m, "wedge ");
	say_wedged(m, "12", 0);
	settle(m);
	decide(m, "12", 0x7000001, 0, 0);
	settle(m);
	expect_told(m, "deliver-0-0 install ");
	serving_free(lab);
}

/* The row of a member says that its set is on its way. */
TEST_LOOP(a_set_on_its_way_is_waited_for, 0, 2)
{
	struct serving_lab *lab = serving_make(0, 3);
	struct member *m = lab->m;

	say(m, 2, m->columns.wished.offset, 1);
	hear_wishes(lab, 1, 1, "a+");
	settle(m);
	member_pass_ns(m, WH_COLLECT_QUIET_NS);
	settle(m);
	expect_told(m, "");
	if (_i == 0) {
		hear_wishes(lab, 2, 1, "a");
		settle(m);
		for (int pass = 0; pass < 2; pass++) { /* a loop that sleeps asks in each */
			ck_assert_uint_le(m->loop.next_ns, m->loop.now_ns + WH_COLLECT_QUIET_NS);
			m->loop.next_ns = UINT64_MAX;
			settle(m);
		}
		member_pass_ns(m, WH_COLLECT_QUIET_NS);
	} else {
		member_pass_ns(m, WH_COLLECT_MOST_NS);
	}
	settle(m);
	expect_opened(lab, _i == 0 ? "a#0@7[1s! 2!]" : "a#0@7[1s!]");
	serving_free(lab);
}

/* What a leader wishes itself is served with the rest, and until that is over it says nothing new. */
TEST(a_leader_wishes_too)
{
	struct serving_lab *lab = serving_make(0, 3);
	struct member *m = lab->m;

	wish(lab, "a+");
	pass_time(lab);
	pass_time(lab);
	expect_opened(lab, "a#0@7[0s!]");
	ck_assert_uint_eq(mine(m, m->columns.wished.offset), 1);
	wish(lab, "b");
	settle(m);
	ck_assert_uint_eq(lab->serving.wishing.said.number, 1);
	ck_assert_uint_eq(mine(m, m->columns.proposed.offset), 1);
	die(m, 2); /* another attempt, which serves nothing */
	settle(m);
	ck_assert_uint_eq(digest_of(m, 0, 2), 0);
	settle(m);
	ck_assert_uint_eq(lab->serving.wishing.said.number, 2);
	serving_free(lab);
}

/* ---- refusing --------------------------------------------------------------------------------------------------------------- */

/* A member hears what is refused before it sees a view that does not have it. */
TEST_LOOP(what_is_refused_goes_first, 0, 2)
{
	struct serving_lab *lab = serving_make(0, 3);

	hear_wishes(lab, 1, 1, "a+");
	hear_wishes(lab, 2, 5, "aw b");
	lab->full[2] = (uint32_t)_i;
	settle(lab->m);
	pass_time(lab);
	expect_opened(lab, "a#0@7[1s!] b#1@7[2!]");
	expect_sent(lab, _i == 0 ? "2:refused-5.0 1:next-7000001 2:next-7000001 "
				 : "1:next-7000001 2:refused-5.0 2:next-7000001 ");
	serving_free(lab);
}

/* Nothing is left: there is no view for it, and it is not looked at again. */
TEST(what_is_refused_makes_no_view)
{
	struct serving_lab *lab = serving_make(0, 3);

	hear_wishes(lab, 1, 1, "file");
	settle(lab->m);
	pass_time(lab);
	expect_told(lab->m, "");
	expect_sent(lab, "1:refused-1.0 ");
	pass_time(lab);
	pass_time(lab);
	expect_sent(lab, "");
	hear_wishes(lab, 2, 1, "a"); /* another set makes one, and then both are served */
	pass_time(lab);
	expect_opened(lab, "a#0@7[2!]");
	ck_assert_uint_eq(lab->m->opened->served[1], 1);
	serving_free(lab);
}

/* What it wishes itself it refuses as it does what others wish. */
TEST(a_leader_refuses_itself)
{
	struct serving_lab *lab = serving_make(0, 3);

	wish(lab, "a");
	wish(lab, "file");
	pass_time(lab);
	pass_time(lab);
	ck_assert(lab->serving.wishing.refused[1]);
	ck_assert(!lab->serving.wishing.refused[0]);
	expect_opened(lab, "a#0@7[0!]");
	expect_sent(lab, "1:next-7000001 2:next-7000001 ");
	serving_free(lab);
}

/* A newcomer has heard what is refused before it is invited; if its queue is full for so long, it is left out. */
TEST_LOOP(a_newcomer_hears_first_what_is_refused, 0, 2)
{
	struct serving_lab *lab = serving_make(0, 3);
	struct member *m = lab->m;

	hear_wishes(lab, 8, 1, "a file");
	lab->room[8] = 0;
	want(m, "8");
	settle(m);
	expect_told(m, "open-without-with-8.80-serves-as-7000001 ");
	expect_opened(lab, "a#0@7[3!]");
	expect_sent(lab, "1:next-7000001 2:next-7000001 ");
	if (_i == 0) {
		lab->room[8] = 1;
		settle(m);
		expect_sent(lab, "8:refused-1.1 ");
		expect_told(m, "invite-1-as-7000001 ");
	} else {
		want(m, "");
		live(m, 5, "12");
		settle(m);
		expect_told(m, "discard recall ");
	}
	serving_free(lab);
}

/* ---- what comes ---------------------------------------------------------------------------------------------------------------- */

/* Pieces that do not fit, and a set that is none: their senders are broken, and nothing of theirs is kept. A node that is gone has said
 * nothing. */
TEST(messages_that_no_node_can_send)
{
	struct serving_lab *lab = serving_make(0, 3);
	unsigned char bytes[10] = {0};
	struct wh_wire message = {.kind = WH_WIRE_NEXT, .key = 7, .total = 20, .bytes = 10, .piece = bytes};

	ck_assert(wh_serving_on_message(&lab->serving, 1, &message));
	ck_assert(!wh_serving_on_message(
		&lab->serving, 1,
		&(struct wh_wire){
			.kind = WH_WIRE_NEXT, .key = 7, .total = 20, .offset = 11, .bytes = 9, .piece = bytes}));
	ck_assert_ptr_null(lab->serving.come[1].bytes);
	ck_assert(wh_serving_on_message(&lab->serving, 2, &message));
	message.kind = WH_WIRE_WISHES;
	message.total = 10;
	ck_assert(!wh_serving_on_message(&lab->serving, 1, &message));
	hear_wishes(lab, 2, 1, "a");
	wh_serving_gone(&lab->serving, 2);
	ck_assert_ptr_null(lab->serving.come[2].bytes);
	pass_time(lab);
	pass_time(lab);
	expect_told(lab->m, "");
	serving_free(lab);
}

/* ---- failures first ------------------------------------------------------------------------------------------------------------ */

/* What leaves a member out serves nothing, whatever has come; it has no bytes to wait for. */
TEST_LOOP(a_failure_drops_wishes, 0, 2)
{
	struct serving_lab *lab = serving_make(0, 3);
	struct member *m = lab->m;

	hear_wishes(lab, 1, 1, "a+");
	settle(m);
	if (_i == 0) {
		pass_time(lab);
		expect_told(m, "open-without-settles-serves-as-7000001 invite-0-as-7000001 ");
	}
	lab->sent[0] = '\0';
	die(m, 2);
	settle(m);
	expect_told(m, _i == 0 ? "suspect-2 wedge discard open-without-2-as-7000002 "
			       : "suspect-2 wedge open-without-2-as-7000001 ");
	expect_sent(lab, "");
	ck_assert_uint_eq(digest_of(m, 0, _i == 0 ? 2 : 1), 0);
	serving_free(lab);
}

/* ---- sets that are replaced --------------------------------------------------------------------------------------------------- */

TEST(a_set_that_is_replaced_is_proposed_anew)
{
	struct serving_lab *lab = serving_make(0, 3);
	struct member *m = lab->m;

	hear_wishes(lab, 1, 1, "a+");
	settle(m);
	pass_time(lab);
	expect_opened(lab, "a#0@7[1s!]");
	hear_wishes(lab, 2, 1, "a"); /* of 2 it serves nothing, so 2 goes along */
	settle(m);
	ck_assert_uint_eq(mine(m, m->columns.proposed.offset), 1);
	hear_wishes(lab, 1, 2, "b+");
	settle(m);
	ck_assert_uint_eq(mine(m, m->columns.proposed.offset), 2);
	expect_opened(lab, "b#0@7[1s!] a#1@7[2!]");
	expect_told(m, "open-without-settles-serves-as-7000001 invite-0-as-7000001 discard "
		       "open-without-settles-serves-as-7000002 invite-0-as-7000002 ");
	expect_sent(lab, "1:next-7000001 2:next-7000001 1:next-7000002 2:next-7000002 ");
	serving_free(lab);
}

/* ---- what takes too long ------------------------------------------------------------------------------------------------------- */

/* So long as a proposal has, and a bit. */
static void wait_in_vain(struct serving_lab *lab, uint64_t attempt)
{
	say_acknowledged(lab->m, "1", TICKET(0, attempt));
	live(lab->m, 9, "12");
	settle(lab->m);
}

/* A member does not get the bytes. After that newcomers come in without wishes, and wishes are tried without newcomers, in turn. */
TEST(wishes_and_newcomers_take_turns)
{
	struct serving_lab *lab = serving_make(0, 3);
	struct member *m = lab->m;

	hear_wishes(lab, 1, 1, "a+");
	want(m, "8");
	settle(m);
	expect_told(m, "open-without-with-8.80-serves-as-7000001 invite-1-as-7000001 ");
	arrive(m, 8, WH_ARRIVAL_THERE);
	wait_in_vain(lab, 1);
	expect_told(m, "discard recall open-without-with-8.80-as-7000003 invite-1-as-7000003 ");
	wait_in_vain(lab, 3);
	expect_told(m, "discard recall open-without-settles-serves-as-7000005 invite-0-as-7000005 ");
	wait_in_vain(lab, 5);
	m->change.wanted = true;
	settle(m);
	expect_told(m, "discard recall open-without-with-8.80-as-7000007 invite-1-as-7000007 ");
	serving_free(lab);
}

/* Roles follow from rows: they wait neither for newcomers nor for bytes. */
TEST(roles_do_not_wait_for_bytes)
{
	struct serving_lab *lab = serving_make(0, 3);
	struct member *m = lab->m;

	hear_wishes(lab, 1, 1, "a+");
	settle(m);
	pass_time(lab);
	wait_in_vain(lab, 1);
	forget_told(m);
	wait_in_vain(lab, 3);
	forget_told(m);
	say(m, 1, m->columns.wish.offset, 1);
	m->change.wanted = true;
	live(m, 9, "12");
	settle(m);
	ck_assert_ptr_nonnull(strstr(m->told, "open-without-rests-0.1-as-"));
	serving_free(lab);
}

TEST_SUITE("serve")
