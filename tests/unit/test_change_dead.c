/* test_change_dead.c - a change of view on one host, where it is proved of members that they are dead (docs/decisions/0039); at one
 * member, the others by hand.
 */
#include "tests/support/member.h"

static bool thaw(struct wh_image *image, uint32_t rank)
{
	struct member *m = (struct member *)image;

	if (m->row[rank] != NULL)
		m->control[rank] = m->row[rank];
	return m->row[rank] != NULL;
}

static const struct wh_transport_ops host_ops = {
	.name = "by hand, one host",
	.post = member_post,
	.freeze = member_freeze,
	.thaw = thaw,
	.prepares = member_prepares,
};

static struct member *on_host(uint32_t me, uint32_t members, int tie_breaker)
{
	struct member *m = member_make(me, members, tie_breaker);

	m->image.ops = &host_ops;
	return m;
}

static void prove(struct member *m, uint32_t rank)
{
	wh_change_suspect(&m->change, rank, WH_DEAD, "its process has ended");
}

/* ---- the quorum ------------------------------------------------------------------------------------------------------------- */

/* Of two the other is one of one, whether it was heard of its end before or not. But if its row was never there it remains one that
 * has failed, and counts (_i = 2). */
TEST_LOOP(the_last_of_two_goes_on, 0, 3)
{
	struct member *m = on_host(0, 2, -1);

	m->row[1] = _i == 2 ? NULL : m->row[1];
	if (_i > 0) {
		die(m, 1);
		settle(m);
		expect_told(m, ""); /* a proof may come */
		ck_assert(!m->change.suspicion.quorum);
	}
	prove(m, 1);
	settle(m);
	expect_told(m, _i == 2 ? "no-quorum " : "suspect-1 wedge open-without-1-as-7000001 deliver-0-0 install ");
	ck_assert_uint_eq(my_suspicion(m, 1), _i == 2 ? WH_TRUSTED : WH_DEAD);
	member_free(m);
}

/* Its connection has ended, and it runs: callers hear that there is no quorum when it would be late by its heartbeats. Where a proof
 * would be of no help (of four two more are silent), and on networks, at once. */
TEST(a_proof_is_not_waited_for_without_end)
{
	struct member *m = on_host(0, 2, -1), *of_four = on_host(0, 4, -1), *far = member_make(0, 2, -1);

	die(m, 1);
	live(m, 4, "1");
	expect_told(m, "");
	live(m, 2, "1");
	expect_told(m, "no-quorum ");
	prove(m, 1);
	settle(m);
	expect_told(m, "quorum suspect-1 wedge open-without-1-as-7000001 deliver-0-0 install ");
	member_free(m);

	die(of_four, 1);
	live(of_four, 6, "");
	expect_told(of_four, "suspect-1 wedge open-without-1-as-7000001 no-quorum ");
	member_free(of_four);

	die(far, 1);
	settle(far);
	expect_told(far, "no-quorum ");
	member_free(far);
}

/* Each of the two that are left lacks the proof that the other has: what can be said of itself is said. */
TEST(a_proof_is_said_without_a_quorum)
{
	struct member *m = on_host(0, 5, -1);

	prove(m, 4);
	die(m, 3);
	die(m, 2);
	settle(m);
	ck_assert_uint_eq(my_suspicion(m, 4), WH_DEAD);
	ck_assert_uint_eq(my_suspicion(m, 3), WH_TRUSTED);
	expect_told(m, "suspect-4 wedge open-without-4-as-7000001 ");
	say_suspected(m, 1, 3, WH_DEAD);
	settle(m);
	ck_assert_uint_eq(my_suspicion(m, 3), WH_DEAD);
	ck_assert_uint_eq(my_suspicion(m, 2), WH_FAILED);
	member_free(m);
}

/* Where there are no proofs no row can say such a thing. */
TEST(on_networks_no_member_is_dead)
{
	struct member *m = member_make(0, 3, -1);

	say_suspected(m, 1, 2, WH_DEAD);
	settle(m);
	ck_assert_uint_ne(my_suspicion(m, 2), WH_DEAD);
	ck_assert_ptr_nonnull(strstr(m->told, "broken-1 "));
	member_free(m);
}

/* One that leaves while its row says that another is dead has left; one that said to have failed becomes dead behind that. */
TEST(leavers_and_the_dead)
{
	struct member *m = on_host(0, 3, -1);

	say_suspected(m, 1, 2, WH_DEAD);
	settle(m);
	member_leave(m, 1);
	prove(m, 1);
	settle(m);
	ck_assert_uint_eq(my_suspicion(m, 1), WH_LEFT);
	ck_assert_uint_eq(my_suspicion(m, 2), WH_DEAD);
	member_free(m);
}

TEST(one_that_had_failed_and_then_left_may_die)
{
	struct member *m = on_host(0, 3, -1);

	live(m, 6, "1");
	ck_assert_uint_eq(my_suspicion(m, 2), WH_FAILED);
	member_leave(m, 2);
	prove(m, 2);
	settle(m);
	ck_assert_uint_eq(my_suspicion(m, 2), WH_DEAD);
	member_free(m);
}

/* ---- what the dead have decided --------------------------------------------------------------------------------------------- */

/* 4 has failed; all have acknowledged the view that 0 has proposed. */
static struct member *all_have_acknowledged(void)
{
	struct member *m = on_host(1, 5, 1);

	receive(m, 100);
	say_suspected(m, 2, 4, WH_FAILED);
	say_suspected(m, 3, 4, WH_FAILED);
	propose(m, 0, 1, 4);
	m->is_open = true;
	die(m, 4);
	settle(m);
	acknowledge(m, "023", 4, 100, TICKET(0, 1));
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), TICKET(0, 1));
	forget_told(m);
	return m;
}

/* Its row is read also if it had failed before it decided. */
TEST_LOOP(a_decision_of_the_dead_is_adopted, 0, 2)
{
	struct member *m = all_have_acknowledged();

	if (_i == 1) {
		die(m, 0);
		settle(m);
	}
	decide(m, "0", 0x7000001, 77, 0);
	prove(m, 0);
	say_suspected(m, 2, 0, WH_DEAD);
	say_suspected(m, 3, 0, WH_FAILED);
	settle(m);
	ck_assert_uint_eq(my_suspicion(m, 0), WH_DEAD);
	expect_my_decision(m, 0x7000001, 77, 2);
	member_free(m);
}

/* It was read too late: another view has been acknowledged. If its row accuses me (_i = 1) it may have gone on without me. */
TEST_LOOP(a_decision_that_cannot_be_followed, 0, 2)
{
	struct member *m = all_have_acknowledged();

	die(m, 0);
	say_suspected(m, 2, 0, WH_FAILED);
	say_suspected(m, 3, 0, WH_FAILED);
	settle(m);
	expect_told(m, "suspect-0 discard open-without-0-4-as-7010001 ");
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), TICKET(1, 1));
	decide(m, "0", 0x7000001, 77, 0);
	if (_i == 1)
		say_suspected(m, 0, 1, WH_FAILED);
	prove(m, 0);
	acknowledge(m, "23", 4, 100, TICKET(1, 1));
	settle(m);
	if (_i == 1) {
		expect_told(m, "removed-by-0 ");
	} else {
		expect_told(m, "suspect-0 ");
		expect_my_decision(m, 0x7010001, 100, 2);
	}
	member_free(m);
}

/* Another that I trust follows a later proposal: it has given up the memory of what was decided, and is no part of that. If the row
 * that has the decision accuses it (_i = 1) that is its own matter. */
TEST_LOOP(a_decision_that_another_cannot_follow, 0, 2)
{
	struct member *m = all_have_acknowledged();

	decide(m, "0", 0x7000001, 77, 0);
	if (_i == 1)
		say_suspected(m, 0, 3, WH_FAILED);
	prove(m, 0);
	say_suspected(m, 2, 0, WH_DEAD);
	say_suspected(m, 3, 0, WH_FAILED);
	say(m, 3, m->columns.acknowledged.offset, TICKET(2, 0));
	settle(m);
	if (_i == 1)
		expect_my_decision(m, 0x7000001, 77, 2);
	else
		ck_assert_uint_eq(mine(m, m->columns.agreed.offset), 0);
	member_free(m);
}

/* My row says so before the memory is given up; on networks no member needs to know. */
TEST_LOOP(memory_that_is_given_up_is_said_to_be, 0, 2)
{
	struct member *m = all_have_acknowledged();

	m->image.ops = _i == 0 ? &host_ops : &member_ops;
	m->is_open = false;
	die(m, 0);
	say_suspected(m, 2, 0, WH_FAILED);
	say_suspected(m, 3, 0, WH_FAILED);
	settle(m);
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), _i == 0 ? TICKET(1, 0) : TICKET(0, 1));
	m->is_open = true;
	settle(m);
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), TICKET(1, 1));
	member_free(m);
}

/* What the dead say of others counts for nothing, else. */
TEST(what_the_dead_accuse_is_not_heeded)
{
	struct member *m = all_have_acknowledged();

	say_suspected(m, 0, 1, WH_FAILED);
	say_suspected(m, 0, 3, WH_FAILED);
	prove(m, 0);
	settle(m);
	ck_assert(!m->change.removed);
	ck_assert_uint_eq(my_suspicion(m, 0), WH_DEAD);
	ck_assert_uint_eq(my_suspicion(m, 3), WH_TRUSTED);
	member_free(m);
}

TEST_SUITE("change: the dead")
