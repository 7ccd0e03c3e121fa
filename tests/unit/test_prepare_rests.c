/* test_prepare_rests.c - which members rest in the next view, and views that follow although nothing changes: at the member
 * that leads, the others by hand. test_prepare.c has newcomers.
 */
#include "tests/support/preparing.h"

static void say_wish(struct member *m, uint32_t rank, uint32_t subgroup, uint64_t wish)
{
	say(m, rank, m->columns.wish.offset + 8 * subgroup, wish);
}

static uint64_t my_wish(const struct member *m, uint32_t subgroup)
{
	return mine(m, m->columns.wish.offset + 8 * subgroup);
}

/* In subgroup 0 that member rests in this view already. */
static void let_rest(struct member *m, uint32_t rank)
{
	m->resting[m->subgroups[0].resting_count++] = rank;
}

/* ---- wishes ------------------------------------------------------------------------------------------------------ */

/* They are looked for with heartbeats: no node has said that there is one. */
TEST(a_wish_to_rest_is_met)
{
	struct member *m = member_make(0, 3, -1);

	settle(m);
	expect_told(m, "");
	say_wish(m, 1, 0, 1);
	settle(m);
	expect_told(m, "");
	live(m, 2, "12");
	settle(m);
	expect_told(m, "open-without-rests-0.1-as-7000001 invite-0-as-7000001 ");
	ck_assert(!is_renewal(m, 1));
	say_acknowledged(m, "12", TICKET(0, 1));
	settle(m);
	expect_told(m, "wedge ");
	member_free(m);
}

/* Of all, in each subgroup; newcomers come with them. A member that rests goes on resting. */
TEST(wishes_are_met_together)
{
	struct member *m = member_make(0, 3, -1);

	let_rest(m, 2);
	say_wish(m, 1, 0, 1);
	say_wish(m, 1, 1, 1);
	ck_assert(wh_change_wish(&m->change, 1, true));
	want(m, "8");
	settle(m);
	expect_told(m,
		    "open-without-with-8.80-rests-0.1-rests-0.2-rests-1.0-rests-1.1-as-7000001 invite-1-as-7000001 ");
	member_free(m);
}

/* A node that wishes what is so already, or is no member there, changes nothing. */
TEST_LOOP(wishes_that_change_nothing, 0, 3)
{
	static const uint32_t others[] = {0, 2};
	struct member *m = member_make(0, 3, -1);

	if (_i == 0) {
		let_rest(m, 1);
		say_wish(m, 1, 0, 1);
	} else {
		m->subgroups[0].members = (uint32_t *)others;
		m->subgroups[0].member_count = 2;
		say_wish(m, 1, 0, _i == 1 ? 1 : 2);
	}
	live(m, 8, "12");
	expect_told(m, "");
	ck_assert_uint_eq(mine(m, m->columns.proposed.offset), 0);
	member_free(m);
}

/* A member rests and sends again from the next view on; or has taken back a wish that was not met: it may be in a
 * proposal, so a view follows in any case. */
TEST_LOOP(a_wish_that_is_taken_back, 0, 2)
{
	struct member *m = member_make(0, 3, -1);

	if (_i == 0)
		let_rest(m, 1);
	say_wish(m, 1, 0, 2);
	live(m, 2, "12");
	settle(m);
	expect_told(m, "open-without-as-7000001 invite-0-as-7000001 ");
	ck_assert(is_renewal(m, 1));
	member_free(m);
}

/* The attempt after one that left a node out meets the wishes that there are by then. */
TEST_LOOP(wishes_in_the_next_attempt, 0, 2)
{
	struct member *m = member_make(0, 3, -1);

	say_wish(m, 1, 0, _i);
	want(m, "8");
	settle(m);
	expect_told(m, _i == 0 ? "open-without-with-8.80-as-7000001 invite-1-as-7000001 "
			       : "open-without-with-8.80-rests-0.1-as-7000001 invite-1-as-7000001 ");
	say_wish(m, 1, 0, (uint64_t)_i + 1);
	arrive(m, 8, WH_ARRIVAL_GONE);
	settle(m);
	expect_told(m, _i == 0 ? "discard open-without-rests-0.1-as-7000002 invite-0-as-7000002 "
			       : "discard open-without-as-7000002 invite-0-as-7000002 ");
	member_free(m);
}

/* One that is given up meets none, whatever the last did; and a member that rests goes on resting. */
TEST_LOOP(what_is_given_up_meets_no_wishes, 0, 2)
{
	struct member *m = member_make(0, 3, -1);

	let_rest(m, 2);
	say_wish(m, 1, 0, 1);
	m->cannot_open = _i == 1;
	want(m, "8");
	arrive(m, 8, WH_ARRIVAL_THERE);
	settle(m);
	expect_told(m, _i == 1 ? "open-without-with-8.80-rests-0.1-rests-0.2-as-7000001 recall recall "
			       : "open-without-with-8.80-rests-0.1-rests-0.2-as-7000001 invite-1-as-7000001 ");
	if (_i == 0) {
		live(m, 8, "12");
		say_wish(m, 1, 0, 0); /* so that nothing follows */
		want(m, "");
		live(m, 1, "12");
		settle(m);
		expect_told(m, "discard recall ");
	}
	ck_assert_uint_eq(mine(m, m->columns.proposed.offset), 2);
	ck_assert_uint_eq(mine(m, record_word(m, 2, 2 * wh_newcomers_most(&m->view) + 1)), 1 << 2);
	member_free(m);
}

/* A node wants in that can never come: it must not keep members from what they wish. Without a wish it is tried again. */
TEST_LOOP(wishes_are_met_alone_after_what_is_given_up, 0, 2)
{
	struct member *m = member_make(0, 3, -1);

	say_wish(m, 1, 0, (uint64_t)_i);
	want(m, "8");
	arrive(m, 8, WH_ARRIVAL_THERE);
	settle(m);
	forget_told(m);
	live(m, 9, "12");
	settle(m);
	expect_told(m, _i == 1 ? "discard recall open-without-rests-0.1-as-7000003 invite-0-as-7000003 "
			       : "discard recall open-without-with-8.80-as-7000003 invite-1-as-7000003 ");
	member_free(m);
}

/* A member that rests goes on resting when another fails; one that wishes to waits. */
TEST(a_failure_meets_no_wishes)
{
	struct member *m = member_make(0, 4, -1);

	let_rest(m, 2);
	say_wish(m, 1, 0, 1);
	say_wish(m, 2, 0, 2);
	die(m, 3);
	settle(m);
	expect_told(m, "suspect-3 wedge open-without-3-rests-0.2-as-7000001 ");
	member_free(m);
}

/* Odd: rests; even: sends. Nothing is said twice. */
TEST(what_a_member_wishes)
{
	struct member *m = member_make(1, 3, -1);

	m->change.wanted = false;
	ck_assert_uint_eq(my_wish(m, 1), 0);
	ck_assert(wh_change_wish(&m->change, 1, true));
	ck_assert_uint_eq(my_wish(m, 1), 1);
	ck_assert(m->change.wanted);
	ck_assert(!wh_change_wish(&m->change, 1, true));
	ck_assert_uint_eq(my_wish(m, 1), 1);
	ck_assert(wh_change_wish(&m->change, 1, false));
	ck_assert_uint_eq(my_wish(m, 1), 2);
	ck_assert(!wh_change_wish(&m->change, 1, false));
	ck_assert(wh_change_wish(&m->change, 1, true));
	ck_assert_uint_eq(my_wish(m, 1), 3);
	ck_assert_uint_eq(my_wish(m, 0), 0);
	ck_assert(wh_change_wish(&m->change, 0, false)); /* it has rested since an earlier view */
	ck_assert_uint_eq(my_wish(m, 0), 2);
	member_free(m);
}

/* ---- roles that end ------------------------------------------------------------------------------------------------ */

/* In subgroup 1 that member is a sender that is to end. */
static void let_end(struct member *m, uint32_t rank)
{
	m->subgroups[1].ending = m->ending;
	m->ending[m->subgroups[1].ending_count++] = rank;
}

static void say_ended(struct member *m, uint32_t rank, uint32_t subgroup)
{
	say(m, rank, m->columns.ended.offset + 8 * subgroup, 1);
}

/* It is looked for with heartbeats; what others than those that are to end say is nothing. */
TEST(a_sender_that_says_that_it_has_ended_ends)
{
	struct member *m = member_make(0, 4, -1);

	let_end(m, 1);
	let_end(m, 2);
	say_ended(m, 3, 1);
	say_ended(m, 1, 0);
	live(m, 8, "123");
	expect_told(m, "");
	say_ended(m, 2, 1);
	live(m, 2, "123");
	settle(m);
	expect_told(m, "open-without-ended-1.2-settles-as-7000001 invite-0-as-7000001 ");
	say_acknowledged(m, "123", TICKET(0, 1));
	settle(m);
	expect_told(m, "wedge ");
	member_free(m);
}

/* Then it is a view like others, in which functions are asked. */
TEST_LOOP(a_sender_that_has_ended_ends_in_the_view_of_other_wishes, 0, 2)
{
	struct member *m = member_make(0, 3, -1);

	let_end(m, 1);
	say_ended(m, 1, 1);
	if (_i == 0)
		say_wish(m, 2, 0, 1);
	else
		want(m, "8");
	live(m, 2, "12");
	settle(m);
	expect_told(m, _i == 0 ? "open-without-rests-0.2-ended-1.1-as-7000001 invite-0-as-7000001 "
			       : "open-without-with-8.80-ended-1.1-as-7000001 invite-1-as-7000001 ");
	member_free(m);
}

/* It waits for the view after that. */
TEST(a_failure_ends_nobody)
{
	struct member *m = member_make(0, 4, -1);

	let_end(m, 1);
	say_ended(m, 1, 1);
	die(m, 3);
	settle(m);
	expect_told(m, "suspect-3 wedge open-without-3-as-7000001 ");
	member_free(m);
}

TEST(that_it_has_ended_is_said_once)
{
	struct member *m = member_make(1, 3, -1);

	m->change.wanted = false;
	ck_assert(wh_change_end(&m->change, 1));
	ck_assert(m->change.wanted);
	ck_assert_uint_eq(mine(m, m->columns.ended.offset + 8), 1);
	ck_assert_uint_eq(mine(m, m->columns.ended.offset), 0);
	ck_assert(!wh_change_end(&m->change, 1));
	member_free(m);
}

/* ---- renewals ---------------------------------------------------------------------------------------------------- */

/* A first view with a quorum that is taken of more than its members is followed by one of its own. */
TEST(a_first_view_of_few_is_renewed)
{
	struct member *m = member_make(0, 3, -1);

	m->view.voters = 4;
	settle(m);
	expect_told(m, "open-without-as-7000001 invite-0-as-7000001 ");
	ck_assert(is_renewal(m, 1));
	say_acknowledged(m, "12", TICKET(0, 1));
	settle(m);
	expect_told(m, "wedge ");
	member_free(m);
}

/* So many attempts have come to nothing. */
static void use_up(struct member *m, uint64_t attempts)
{
	uint64_t words = attempts * wh_proposal_words(&m->view);

	m->change.attempt = attempts;
	m->change.told = wh_ticket(0, attempts);
	m->sst.mine[m->columns.proposal.guard / 8] = words;
	m->sst.mine[m->columns.proposed.offset / 8] = attempts;
}

/* Before they run out a view follows that has all of them again. If even that does not come to pass, the last are
 * kept for failures. */
TEST_LOOP(attempts_are_kept_for_failures, 0, 4)
{
	static const uint64_t used[] = {WH_ATTEMPTS_MAX - 1025, WH_ATTEMPTS_MAX - 1024, WH_ATTEMPTS_MAX - 512,
					WH_ATTEMPTS_MAX};
	struct member *m = member_make(0, 3, -1);

	use_up(m, used[_i]);
	settle(m);
	if (_i != 1)
		expect_told(m, "");
	else
		expect_told(m, "open-without-as-700fc00 invite-0-as-700fc00 ");
	ck_assert_int_eq(mine(m, m->columns.proposed.offset) == used[1] + 1 && is_renewal(m, used[1] + 1), _i == 1);
	if (_i >= 2) {
		want(m, "8");
		settle(m);
		expect_told(m, "");
		die(m, 2);
		settle(m);
		expect_told(m, _i == 2 ? "suspect-2 wedge open-without-2-as-700fe00 " : "suspect-2 wedge ");
	}
	member_free(m);
}

TEST_SUITE("prepare: rests")
