/* test_confirm.c - has a quorum of the view not wedged, since I asked? One member, the others by hand. */
#include "membership/confirm.h"

#include "tests/support/member.h"

/* Its row says that it has raised so many questions. */
static void ask_as(struct member *m, uint32_t rank, uint64_t question)
{
	say(m, rank, m->columns.asked.offset, question);
}

/* Its row says that it has seen that question of mine. */
static void confirm_as(struct member *m, uint32_t rank, uint64_t question)
{
	say(m, rank, m->columns.confirmed.offset + 8 * m->image.my_rank, question);
}

static uint32_t word_to(const struct member *m, uint32_t rank)
{
	return m->columns.confirmed.offset + 8 * rank;
}

static uint64_t held(struct member *m)
{
	settle(m);
	return wh_confirm_held(&m->change);
}

/* ---- my questions -------------------------------------------------------------------------------------------------------------- */

TEST(more_than_half_confirm)
{
	struct member *m = member_make(0, 5, -1);

	ck_assert_uint_eq(held(m), 0);
	ck_assert_uint_eq(wh_confirm_ask(&m->change), 1);
	ck_assert_uint_eq(mine(m, m->columns.asked.offset), 1);
	ck_assert_uint_eq(m->posted_count, 1); /* one word, to all others, at once */
	ck_assert_uint_eq(m->posted[0], m->columns.asked.offset);
	ck_assert_uint_eq(m->posted_to[0].count, 4);
	ck_assert_uint_eq(held(m), 0);
	confirm_as(m, 3, 1);
	ck_assert_uint_eq(held(m), 0);
	confirm_as(m, 1, 1);
	ck_assert_uint_eq(held(m), 1);
	ck_assert_uint_eq(wh_change_step(&m->change), 0); /* it is new once */
	expect_told(m, "");
	member_free(m);
}

/* A word that was said to a question before is none to this one. */
TEST(one_question_at_a_time)
{
	struct member *m = member_make(1, 3, -1);

	ck_assert_uint_eq(wh_confirm_ask(&m->change), 1);
	ck_assert_uint_eq(wh_confirm_ask(&m->change), 0);
	ck_assert_uint_eq(mine(m, m->columns.asked.offset), 1);
	confirm_as(m, 0, 1);
	ck_assert_uint_eq(held(m), 1);
	ck_assert_uint_eq(wh_confirm_ask(&m->change), 2);
	confirm_as(m, 2, 1); /* late, for the first */
	ck_assert_uint_eq(held(m), 1);
	ck_assert_uint_eq(wh_confirm_ask(&m->change), 0);
	confirm_as(m, 2, 2); /* it never said so to the first alone, or I did not see it */
	ck_assert_uint_eq(held(m), 2);
	ck_assert_uint_eq(wh_confirm_ask(&m->change), 3);
	member_free(m);
}

/* Of four: the member that asks, and one more. */
TEST_LOOP(exactly_half_needs_the_tie_breaker, 0, 5)
{
	static const struct {
		int tie_breaker;
		uint32_t confirms;
		uint64_t held;
	} cases[] = {{-1, 1, 0}, {0, 1, 1}, {1, 1, 1}, {3, 1, 0}, {3, 3, 1}};
	struct member *m = member_make(0, 4, cases[_i].tie_breaker);

	ck_assert_uint_eq(wh_confirm_ask(&m->change), 1);
	ck_assert_uint_eq(held(m), 0);
	confirm_as(m, cases[_i].confirms, 1);
	ck_assert_uint_eq(held(m), cases[_i].held);
	confirm_as(m, cases[_i].confirms == 1 ? 2 : 1, 1);
	ck_assert_uint_eq(held(m), 1);
	member_free(m);
}

TEST_LOOP(a_lone_member_is_its_own_quorum, 0, 2)
{
	struct member *m = member_make(0, 1 + (uint32_t)_i, 0); /* or one of two, with the tie-breaker */

	for (uint64_t question = 1; question < 3; question++) {
		ck_assert_uint_eq(wh_confirm_ask(&m->change), question);
		wh_change_step(&m->change); /* it is counted in a pass */
		ck_assert_uint_eq(wh_confirm_held(&m->change), question);
	}
	member_free(m);
}

/* A first view of a majority of the configured nodes: all of these have a vote. */
TEST(voters_that_are_no_members_count)
{
	struct member *m = member_make(2, 3, -1);

	m->view.voters = 5;
	ck_assert_uint_eq(wh_confirm_ask(&m->change), 1);
	confirm_as(m, 0, 1);
	ck_assert_uint_eq(held(m), 0);
	confirm_as(m, 1, 1);
	ck_assert_uint_eq(held(m), 1);
	member_free(m);
}

static void lose(struct member *m, uint32_t rank, enum wh_suspected kind)
{
	wh_change_suspect(&m->change, rank, kind, "it is gone");
}

/* In a change of view they do not count, and two of three that are left are a quorum. They may have gone on before they went. */
TEST_LOOP(those_that_left_or_died_count, 0, 2)
{
	struct member *m = member_make(0, 5, -1);

	ck_assert_uint_eq(wh_confirm_ask(&m->change), 1);
	lose(m, 3, _i == 0 ? WH_LEFT : WH_DEAD);
	lose(m, 4, _i == 0 ? WH_LEFT : WH_DEAD);
	confirm_as(m, 1, 1);
	ck_assert_uint_eq(held(m), 0);
	ck_assert(wh_suspicion_trusted_quorum(&m->change));
	confirm_as(m, 2, 1);
	ck_assert_uint_eq(held(m), 1);
	member_free(m);
}

/* What it said before it went it had said before it went. */
TEST(a_word_of_a_member_that_is_gone_counts)
{
	struct member *m = member_make(0, 3, -1);

	ck_assert_uint_eq(wh_confirm_ask(&m->change), 1);
	confirm_as(m, 2, 1);
	lose(m, 2, WH_FAILED);
	ck_assert_uint_eq(held(m), 1);
	member_free(m);
}

/* I had not wedged when I asked; whether the others have is what they say. */
TEST(a_wedged_member_does_not_ask_and_still_counts)
{
	struct member *m = member_make(0, 5, -1);

	ck_assert_uint_eq(wh_confirm_ask(&m->change), 1);
	confirm_as(m, 1, 1);
	lose(m, 4, WH_FAILED);
	ck_assert_uint_eq(held(m), 0);
	ck_assert(m->change.wedged);
	confirm_as(m, 2, 1);
	ck_assert_uint_eq(held(m), 1);
	ck_assert_uint_eq(wh_confirm_ask(&m->change), 0);
	ck_assert_uint_eq(mine(m, m->columns.asked.offset), 1);
	member_free(m);
}

/* No member can have seen what was not asked. One that says so is broken, and its word is none. */
TEST_LOOP(a_word_that_confirms_what_was_not_asked, 0, 2)
{
	struct member *m = member_make(0, 3, -1);

	ck_assert_uint_eq(wh_confirm_ask(&m->change), 1);
	confirm_as(m, 1, _i == 0 ? 2 : UINT64_MAX);
	wh_change_step(&m->change);
	ck_assert_uint_eq(wh_confirm_held(&m->change), 0);
	ck_assert_ptr_nonnull(strstr(m->told, "broken-1 "));
	ck_assert_ptr_null(strstr(m->told, "broken-2 "));
	member_free(m);
}

/* ---- the others' questions ------------------------------------------------------------------------------------------------------- */

TEST(each_question_is_confirmed_to_its_member_alone)
{
	struct member *m = member_make(1, 4, -1);

	settle(m);
	ck_assert_uint_eq(m->posted_count, 0);
	ask_as(m, 2, 1);
	settle(m);
	ck_assert_uint_eq(mine(m, word_to(m, 2)), 1);
	ck_assert_uint_eq(m->posted_count, 1); /* once */
	ck_assert_uint_eq(m->posted[0], word_to(m, 2));
	ck_assert_uint_eq(m->posted_to[0].count, 1);
	ck_assert_uint_eq(m->posted_to[0].ranks[0], 2);
	ck_assert(!m->quiet); /* it rings: the other may sleep */
	ask_as(m, 2, 2);
	ask_as(m, 0, 7); /* of several that I have not seen the last is enough */
	settle(m);
	ck_assert_uint_eq(mine(m, word_to(m, 2)), 2);
	ck_assert_uint_eq(mine(m, word_to(m, 0)), 7);
	ck_assert_uint_eq(mine(m, word_to(m, 3)), 0);
	ck_assert_uint_eq(m->posted_count, 3);
	expect_told(m, "");
	member_free(m);
}

TEST(a_wedged_member_confirms_nothing)
{
	struct member *m = member_make(1, 4, -1);

	ask_as(m, 0, 1);
	settle(m);
	lose(m, 3, WH_FAILED);
	settle(m);
	ck_assert(m->change.wedged);
	ask_as(m, 0, 2);
	ask_as(m, 2, 1);
	settle(m);
	ck_assert_uint_eq(mine(m, word_to(m, 0)), 1);
	ck_assert_uint_eq(mine(m, word_to(m, 2)), 0);
	member_free(m);
}

/* In the pass in which it stops: it had seen the question before, and says so before it says that it has wedged. */
TEST(a_word_does_not_come_behind_the_wedge)
{
	struct member *m = member_make(1, 3, -1);
	size_t confirmed, wedged;

	ask_as(m, 0, 1);
	lose(m, 2, WH_FAILED);
	wh_change_step(&m->change);
	ck_assert(m->change.wedged);
	confirmed = posted_when(m, word_to(m, 0));
	wedged = posted_when(m, m->columns.wedged.offset);
	ck_assert_uint_gt(wedged, 0);
	ck_assert_uint_gt(confirmed, 0);
	ck_assert_uint_lt(confirmed, wedged);
	member_free(m);
}

TEST_SUITE("confirm")
