/* test_serve_follow.c - a member of which the leader serves wishes: what it says, and when; what it waits for before it goes along, and what
 * it does not go along with.
 */
#include "tests/support/serving_lab.h"

/* Member 2, which has said that it wishes that. */
static struct serving_lab *member_that_wishes(const char *text)
{
	struct serving_lab *lab = serving_make(2, 3);

	wish(lab, text);
	settle(lab->m);
	expect_sent(lab, "0:wishes-1 ");
	ck_assert_uint_eq(mine(lab->m, lab->m->columns.wished.offset), 1);
	return lab;
}

static uint64_t acknowledged(const struct serving_lab *lab)
{
	return mine(lab->m, lab->m->columns.acknowledged.offset);
}

/* ---- saying ---------------------------------------------------------------------------------------------------------------------- */

/* The row says it when all of it has been sent. */
TEST(a_member_says_what_it_wishes)
{
	struct serving_lab *lab = serving_make(2, 3);
	struct member *m = lab->m;

	settle(m);
	expect_sent(lab, "");
	wish(lab, "a+");
	lab->room[0] = 0;
	settle(m);
	ck_assert_uint_eq(mine(m, m->columns.wished.offset), 0);
	lab->room[0] = 9;
	settle(m);
	expect_sent(lab, "0:wishes-1 ");
	ck_assert_uint_eq(mine(m, m->columns.wished.offset), 1);
	member_pass_ns(m, WH_WISHING_AGAIN_NS);
	settle(m);
	expect_sent(lab, "0:wishes-1 ");
	m->view.served[2] = 1; /* as if that view had begun */
	member_pass_ns(m, WH_WISHING_AGAIN_NS);
	settle(m);
	expect_sent(lab, "");
	serving_free(lab);
}

TEST(the_next_leader_is_told)
{
	struct serving_lab *lab = member_that_wishes("a+");

	die(lab->m, 0);
	settle(lab->m);
	expect_sent(lab, "1:wishes-1 ");
	serving_free(lab);
}

/* ---- going along ------------------------------------------------------------------------------------------------------------------ */

/* The row, or the bytes first; and bytes of which the last are missing. */
TEST_LOOP(a_member_waits_for_the_bytes, 0, 2)
{
	struct serving_lab *lab = member_that_wishes("a+");

	make_next(lab, 2, 1, "a+");
	if (_i == 0)
		propose_made(lab, 0, 1);
	else
		send_made(lab, 0, 1);
	settle(lab->m);
	expect_told(lab->m, "");
	ck_assert_uint_eq(acknowledged(lab), 0);
	if (_i == 0)
		send_made(lab, 0, 1);
	else
		propose_made(lab, 0, 1);
	settle(lab->m);
	expect_told(lab->m, "open-without-settles-serves-as-7000001 ");
	expect_opened(lab, "a#0@7[2s!]");
	ck_assert_uint_eq(acknowledged(lab), TICKET(0, 1));
	serving_free(lab);
}

/* Of another attempt, of another member, of which some are missing. */
TEST_LOOP(bytes_that_are_not_those, 0, 3)
{
	struct serving_lab *lab = member_that_wishes("a+");
	struct wh_view_parts *come = &lab->serving.come[0];

	make_next(lab, 2, 1, "a+");
	propose_made(lab, 0, 2);
	send_made(lab, _i == 1 ? 1 : 0, _i == 0 ? 1 : 2);
	if (_i == 2)
		come->have--;
	settle(lab->m);
	expect_told(lab->m, "");
	ck_assert_uint_eq(acknowledged(lab), 0);
	serving_free(lab);
}

/* What was acknowledged stays open until the next can be read. */
TEST(what_is_open_stays_while_bytes_are_awaited)
{
	struct serving_lab *lab = member_that_wishes("a+");
	struct member *m = lab->m;

	say_proposal(m, 0, 1, "8", "");
	settle(m);
	expect_told(m, "open-without-with-8.80-as-7000001 ");
	make_next(lab, 2, 1, "a+");
	propose_made(lab, 0, 2);
	settle(m);
	expect_told(m, "");
	ck_assert_uint_eq(m->change.ticket, TICKET(0, 1));
	send_made(lab, 0, 2);
	settle(m);
	expect_told(m, "discard open-without-settles-serves-as-7000002 ");
	serving_free(lab);
}

static uint64_t digest_of_come(const struct serving_lab *lab)
{
	const struct wh_view_parts *come = &lab->serving.come[0];

	return (uint64_t)come->total << 32 | wh_crc32c(0, come->bytes, come->total);
}

/* It places me where I do not wish to be; it has another digest; it is no view. */
TEST_LOOP(a_leader_that_is_broken, 0, 3)
{
	struct serving_lab *lab = member_that_wishes("a+");

	make_next(lab, 2, 1, _i == 0 ? "b+" : "a+");
	propose_made(lab, 0, 1);
	send_made(lab, 0, 1);
	lab->serving.come[0].bytes[0] ^= _i == 2;
	if (_i > 0)
		say_digest(lab, 0, 1, digest_of_come(lab) + (_i == 1));
	settle(lab->m);
	expect_told(lab->m, "broken-0 ");
	ck_assert_uint_eq(acknowledged(lab), 0);
	settle(lab->m);
	expect_told(lab->m, ""); /* once */
	serving_free(lab);
}

/* What follows a failure follows from rows. */
TEST(a_proposal_that_leaves_a_member_out_serves_nothing)
{
	static const bool without[4] = {[3] = true};
	struct serving_lab *lab = serving_make(1, 4);
	struct member *m = lab->m;

	make_next_without(lab, without, 2, 1, "a+");
	send_made(lab, 0, 1);
	say(m, 0, m->columns.left_out.offset + 8 * 3, 1);
	propose_made(lab, 0, 1);
	settle(m);
	expect_told(m, "broken-0 ");
	serving_free(lab);
}

TEST(where_no_node_wishes_nothing_is_served)
{
	struct serving_lab *lab = serving_make(2, 3);

	lab->m->change.serving = NULL;
	make_next(lab, 1, 1, "a+");
	send_made(lab, 0, 1);
	propose_made(lab, 0, 1);
	settle(lab->m);
	expect_told(lab->m, "broken-0 ");
	serving_free(lab);
}

/* ---- sets that are replaced ---------------------------------------------------------------------------------------------------------- */

/* A new set crosses a proposal: another is coming, which serves it. Until that is over nothing new is said. */
TEST(a_set_that_crosses_a_proposal)
{
	struct serving_lab *lab = member_that_wishes("a+");
	struct member *m = lab->m;

	wish(lab, "b+");
	settle(m);
	expect_sent(lab, "0:wishes-2 ");
	make_next(lab, 2, 1, "a+");
	send_made(lab, 0, 1);
	propose_made(lab, 0, 1);
	settle(m);
	expect_told(m, ""); /* and the leader is not broken */
	ck_assert_uint_eq(acknowledged(lab), 0);
	wish(lab, "c");
	settle(m);
	expect_sent(lab, "");
	make_next(lab, 2, 2, "a+ b+");
	propose_made(lab, 0, 2);
	settle(m);
	send_made(lab, 0, 2);
	settle(m);
	expect_told(m, "open-without-settles-serves-as-7000002 ");
	ck_assert_uint_eq(acknowledged(lab), TICKET(0, 2));
	expect_sent(lab, "");
	serving_free(lab);
}

/* It is given up: what was held back is said. */
TEST(what_was_held_back_is_said)
{
	struct serving_lab *lab = member_that_wishes("a+");
	struct member *m = lab->m;

	make_next(lab, 2, 1, "a+");
	propose_made(lab, 0, 1); /* the bytes do not come */
	settle(m);
	wish(lab, "b+");
	settle(m);
	expect_sent(lab, "");
	say_proposal(m, 0, 2, "", "");
	settle(m);
	settle(m);
	expect_sent(lab, "0:wishes-2 ");
	serving_free(lab);
}

/* A view has begun: what was sent for earlier ones goes, what has come for the next one stays. */
TEST(bytes_that_come_early_stay)
{
	struct serving_lab *lab = serving_make(2, 3);
	struct wh_view now = lab->m->view;

	make_next(lab, 1, 1, "a+");
	send_made(lab, 0, 1);
	now.number = 6;
	wh_serving_begin(&lab->serving, &now);
	ck_assert_ptr_nonnull(lab->serving.come[0].bytes);
	now.number = 7;
	wh_serving_begin(&lab->serving, &now);
	ck_assert_ptr_null(lab->serving.come[0].bytes);
	serving_free(lab);
}

TEST_SUITE("serve_follow")
