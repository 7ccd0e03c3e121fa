/* test_give_up.c - a member that has lost so many others for good that it never hears a quorum again gives up, and no other does
 * (docs/decisions/0051): one member, the others by hand.
 */
#include "tests/support/member.h"

#define GIVE_UP_NS (6 * TIMEOUT_NS)
#define QUARTERS 24

static struct member *make(uint32_t me, uint32_t members, int tie_breaker)
{
	struct member *m = member_make(me, members, tie_breaker);

	m->change.give_up_ns = GIVE_UP_NS;
	return m;
}

static bool gave_up(const struct member *m)
{
	return strstr(m->told, "gives-up ") != NULL;
}

/* Long after. */
static void expect_it_waits(struct member *m, const char *heard)
{
	live(m, 3 * QUARTERS, heard);
	ck_assert(!gave_up(m));
	ck_assert(!m->change.removed);
}

static bool never_thaws(struct wh_image *image, uint32_t rank)
{
	(void)image, (void)rank;
	return false;
}

static const struct wh_transport_ops host_ops = {
	.name = "by hand, one host",
	.post = member_post,
	.freeze = member_freeze,
	.thaw = never_thaws,
	.prepares = member_prepares,
};

/* The time is that since no quorum was heard, whenever the connections end. Then it says nothing, and does nothing, any more. */
TEST(one_that_has_lost_all_others_gives_up)
{
	struct member *m = make(0, 3, -1);

	live(m, 6, "");
	expect_told(m, "no-quorum ");
	live(m, QUARTERS - 4, "");
	die(m, 1);
	die(m, 2);
	live(m, 1, "");
	expect_told(m, "");
	live(m, 6, "");
	expect_told(m, "gives-up ");
	ck_assert(m->change.removed);
	ck_assert_uint_eq(m->posted_count, 0); /* it has never had the quorum to say so of any member */
	live(m, 2 * QUARTERS, "12");
	expect_told(m, "");
	member_free(m);
}

/* Those that are silent may be heard again, if they are enough: of three one, of five two. */
TEST_LOOP(one_that_may_hear_a_quorum_waits, 0, 2)
{
	struct member *m = make(0, _i == 0 ? 3 : 5, -1);

	live(m, 6, "");
	expect_told(m, "no-quorum ");
	die(m, 1);
	if (_i == 1)
		die(m, 2);
	expect_it_waits(m, "");
	live(m, 1, _i == 0 ? "2" : "34");
	ck_assert_ptr_eq(strstr(m->told, "quorum suspect-1 "), m->told);
	member_free(m);
}

/* Of five the two that are heard are none with me once the others are lost. */
TEST(one_that_hears_too_few_for_good_gives_up)
{
	struct member *m = make(0, 5, -1);

	die(m, 1);
	die(m, 2);
	die(m, 3);
	live(m, QUARTERS - 2, "4");
	ck_assert(!gave_up(m));
	live(m, 8, "4");
	ck_assert(gave_up(m));
	member_free(m);
}

/* With the tie-breaker half are enough; and a member that left in order is not counted, but one that is lost is. */
TEST_LOOP(one_that_is_a_quorum_goes_on, 0, 3)
{
	struct member *m = make(0, _i == 0 ? 2 : 3, _i == 0 ? 0 : -1);

	if (_i > 0)
		member_leave(m, 2);
	if (_i == 2)
		member_leave(m, 1);
	else
		die(m, 1);
	live(m, 2 * QUARTERS, "");
	ck_assert_int_eq(gave_up(m), _i == 1);
	member_free(m);
}

/* Four that stand in a ring: each has lost the one across. The two that are heard have said so of each other, and that stays. */
TEST_LOOP(what_the_others_have_said_is_final, 0, 2)
{
	struct member *m = make(0, 4, -1);

	die(m, 2);
	if (_i == 0) {
		say_suspected(m, 1, 3, WH_FAILED);
		say_suspected(m, 3, 1, WH_FAILED);
		live(m, QUARTERS + 8, "13");
		ck_assert(gave_up(m));
	} else { /* they have not, and are silent */
		expect_it_waits(m, "1");
	}
	member_free(m);
}

/* Of six two sides accuse each other, 0 and 4 each of 1 and 5, and these two 4. If 1 and 5 go, and no others, four are left: whichever way
 * it is. */
TEST(of_a_quarrel_one_side_may_go)
{
	struct member *m = make(2, 6, -1);

	live(m, 6, "");
	say_suspected(m, 0, 1, WH_FAILED);
	say_suspected(m, 0, 5, WH_FAILED);
	say_suspected(m, 4, 1, WH_FAILED);
	say_suspected(m, 4, 5, WH_FAILED);
	say_suspected(m, 1, 4, WH_FAILED);
	say_suspected(m, 5, 4, WH_FAILED);
	expect_it_waits(m, "");
	die(m, 3);
	live(m, 1, "");
	ck_assert(gave_up(m));
	member_free(m);
}

/* Or one accuses three, and is silent: it may be that one that goes. */
TEST(of_many_that_are_accused_the_accuser_may_go)
{
	struct member *m = make(2, 6, -1);

	live(m, 6, "");
	say_suspected(m, 0, 1, WH_FAILED);
	say_suspected(m, 0, 4, WH_FAILED);
	say_suspected(m, 0, 5, WH_FAILED);
	expect_it_waits(m, "");
	member_free(m);
}

/* One that is silent has said that this one has failed, and may say that it is removed when it is heard. Once that is lost, too, none will. */
TEST_LOOP(one_that_may_be_told_that_it_is_removed_waits, 0, 2)
{
	struct member *m = make(2, 3, -1);

	live(m, 6, "");
	die(m, 0);
	say_suspected(m, 1, 2, WH_FAILED);
	expect_it_waits(m, "");
	if (_i == 0) {
		beat(m, 1);
		live(m, 1, "1");
		ck_assert_ptr_nonnull(strstr(m->told, "removed-by-1 "));
	} else {
		die(m, 1);
		live(m, 1, "");
		ck_assert(gave_up(m));
	}
	member_free(m);
}

/* On one host the kernel may still say that they are dead; and where no time is given it waits. */
TEST_LOOP(where_a_proof_may_come_none_gives_up, 0, 2)
{
	struct member *m = make(0, 3, -1);

	if (_i == 0)
		m->image.ops = &host_ops;
	else
		m->change.give_up_ns = 0;
	die(m, 1);
	die(m, 2);
	expect_it_waits(m, "");
	member_free(m);
}

/* A member that has gone ahead has said all: what is decided is final, and is followed. That it is lost is the next view's matter; with it
 * and one that is silent three of five may be heard. */
TEST_LOOP(one_that_is_to_follow_waits, 0, 2)
{
	struct member *m = make(2, 5, -1);

	live(m, 6, "");
	if (_i == 0)
		say(m, 0, m->columns.installed.offset, 1);
	die(m, 0);
	die(m, 1);
	die(m, 4);
	live(m, 2 * QUARTERS, "");
	ck_assert_int_eq(gave_up(m), _i == 1);
	member_free(m);
}

TEST_SUITE("give up")
