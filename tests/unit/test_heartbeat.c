/* test_heartbeat.c - this node is here, and which others it hears: deadlines, and a loop that is late itself. */
#include "tests/support/member.h"

#define QUARTER (TIMEOUT_NS / 4)

/* Time passes and those in `heard` beat; without anything else of a change. Returns how often it has looked. */
static unsigned pass(struct member *m, unsigned quarters, const char *heard)
{
	unsigned looks = 0;

	for (unsigned i = 0; i < quarters; i++) {
		for (const char *rank = heard; *rank != '\0'; rank++)
			beat(m, (uint32_t)(*rank - '0'));
		member_pass_ns(m, QUARTER);
		looks += wh_heartbeat_step(&m->heartbeat);
	}
	return looks;
}

/* The ranks that are heard, and those that are overdue. */
static void expect_heard(const struct member *m, const char *heard, const char *overdue)
{
	char text[MEMBERS_MAX + 1] = "", late[MEMBERS_MAX + 1] = "";
	size_t h = 0, o = 0;

	for (uint32_t rank = 0; rank < m->view.members; rank++) {
		if (rank == m->image.my_rank)
			continue;
		if (wh_heartbeat_hears(&m->heartbeat, rank))
			text[h++] = (char)('0' + rank);
		if (wh_heartbeat_overdue(&m->heartbeat, rank))
			late[o++] = (char)('0' + rank);
	}
	ck_assert_str_eq(text, heard);
	ck_assert_str_eq(late, overdue);
}

TEST(it_beats_every_quarter_of_the_time_out)
{
	struct member *m = member_make(1, 3, -1);
	uint64_t began;

	ck_assert(wh_heartbeat_beat(&m->heartbeat)); /* at once */
	ck_assert_uint_eq(mine(m, m->columns.heartbeat.offset) / 4, 1);
	ck_assert(m->quiet);
	began = m->loop.now_ns;
	for (uint64_t n = 2; n < 10; n++) {
		m->loop.next_ns = UINT64_MAX;
		member_pass_ns(m, QUARTER - 1);
		ck_assert(!wh_heartbeat_beat(&m->heartbeat));
		ck_assert_uint_eq(m->loop.next_ns, began + (n - 1) * QUARTER); /* "call me again by then" */
		member_pass_ns(m, 1);
		ck_assert(wh_heartbeat_beat(&m->heartbeat));
		ck_assert_uint_eq(mine(m, m->columns.heartbeat.offset) / 4, n);
		ck_assert_uint_eq(wh_load_relaxed(&m->beats), n);
		ck_assert(!wh_heartbeat_step(&m->heartbeat)); /* nor does it look more often */
	}
	member_free(m);
}

TEST(a_silent_member_is_overdue_after_the_time_out)
{
	struct member *m = member_make(0, 4, -1);

	expect_heard(m, "123", "");
	ck_assert_uint_eq(pass(m, 4, "13"), 4);
	expect_heard(m, "123", ""); /* just not */
	pass(m, 1, "13");
	expect_heard(m, "13", "2");
	pass(m, 20, "13");
	expect_heard(m, "13", "2");
	member_free(m);
}

TEST(a_member_that_is_heard_again_is_not_overdue)
{
	struct member *m = member_make(0, 3, -1);

	pass(m, 5, "1");
	expect_heard(m, "1", "2");
	pass(m, 1, "12");
	expect_heard(m, "12", "");
	pass(m, 4, "1"); /* a whole time-out again */
	expect_heard(m, "12", "");
	pass(m, 1, "1");
	expect_heard(m, "1", "2");
	member_free(m);
}

/* A loop that was stopped itself blames no member: all deadlines start again, and one that is not heard anew is not heard. */
TEST(a_late_loop_starts_the_deadlines_again)
{
	struct member *m = member_make(0, 4, -1);

	pass(m, 5, "13");
	expect_heard(m, "13", "2");
	beat(m, 1); /* while it was stopped; that may be long ago */
	member_pass_ns(m, 10 * TIMEOUT_NS);
	ck_assert(wh_heartbeat_step(&m->heartbeat));
	expect_heard(m, "", "");
	pass(m, 1, "13");
	expect_heard(m, "13", "");
	pass(m, 3, "13");
	expect_heard(m, "13", "");
	pass(m, 1, "13");
	expect_heard(m, "13", "2");
	member_free(m);
}

/* Half of the time-out is late, and no less. */
TEST(how_late_is_late)
{
	struct member *m = member_make(0, 2, -1);

	for (int i = 0; i < 8; i++) {
		member_pass_ns(m, TIMEOUT_NS / 2);
		wh_heartbeat_step(&m->heartbeat);
	}
	expect_heard(m, "", "1");
	member_pass_ns(m, TIMEOUT_NS / 2 + 1);
	wh_heartbeat_step(&m->heartbeat);
	expect_heard(m, "", "");
	member_free(m);
}

/* Why half: when a member is silent for no longer than the other half, nothing that this loop misses looks like a death. Its beats
 * were sent, and come to be seen only after the first look of a loop that had stopped. */
TEST(a_member_that_is_heard_in_time_is_not_overdue)
{
	for (uint64_t stop_ns = 0; stop_ns <= 2 * TIMEOUT_NS; stop_ns += TIMEOUT_NS / 16) {
		struct member *m = member_make(0, 3, -1);

		pass(m, 1, "12");
		pass(m, 2, "2"); /* 1 says nothing for half of it */
		member_pass_ns(m, stop_ns);
		wh_heartbeat_step(&m->heartbeat);
		ck_assert(!wh_heartbeat_overdue(&m->heartbeat, 1));
		ck_assert(!wh_heartbeat_overdue(&m->heartbeat, 2));
		pass(m, 8, "12");
		expect_heard(m, "12", "");
		member_free(m);
	}
}

TEST(a_view_begins_with_the_members_that_were_heard_before)
{
	const bool before[4] = {true, true, false, true};
	struct member *m = member_make(0, 4, -1);

	pass(m, 5, "1");
	expect_heard(m, "1", "23");
	wh_heartbeat_begin(&m->heartbeat, before);
	expect_heard(m, "13", "");
	pass(m, 4, "1");
	expect_heard(m, "13", "");
	pass(m, 1, "1");
	expect_heard(m, "1", "23");
	wh_heartbeat_begin(&m->heartbeat, NULL); /* they have just met */
	expect_heard(m, "123", "");
	member_free(m);
}

/* Something of those rows comes each quarter, and no heartbeat. */
static void pass_arrivals(struct member *m, uint64_t *arrived, unsigned quarters, const char *from)
{
	for (unsigned i = 0; i < quarters; i++) {
		for (const char *rank = from; *rank != '\0'; rank++)
			arrived[*rank - '0']++;
		pass(m, 1, "");
	}
}

/* Heartbeats that wait behind what is arriving. */
TEST(a_member_is_heard_when_its_bytes_arrive)
{
	struct member *m = member_make(0, 4, -1);
	uint64_t arrived[MEMBERS_MAX] = {0};

	m->image.arrived = arrived;
	pass(m, 1, "123");
	pass_arrivals(m, arrived, 20, "13");
	expect_heard(m, "13", "2");
	pass_arrivals(m, arrived, 1, "2"); /* it comes back like one that beats */
	expect_heard(m, "123", "");
	pass(m, 3, "2");
	expect_heard(m, "123", "");
	pass(m, 2, "2"); /* they have stopped: a whole time-out after the last byte */
	expect_heard(m, "2", "13");
	member_free(m);
}

/* What came while this loop was stopped may be old, like a heartbeat. */
TEST(bytes_that_a_late_loop_finds_say_nothing)
{
	struct member *m = member_make(0, 3, -1);
	uint64_t arrived[MEMBERS_MAX] = {0};

	m->image.arrived = arrived;
	pass(m, 1, "12");
	arrived[1] += 1000;
	member_pass_ns(m, 10 * TIMEOUT_NS);
	ck_assert(wh_heartbeat_step(&m->heartbeat));
	expect_heard(m, "", "");
	pass(m, 1, "");
	expect_heard(m, "", "");
	pass_arrivals(m, arrived, 1, "1");
	expect_heard(m, "1", "");
	pass_arrivals(m, arrived, 3, "1");
	expect_heard(m, "1", "2");
	wh_heartbeat_forgive(&m->heartbeat);
	expect_heard(m, "1", "");
	pass(m, 1, ""); /* and what was there is no news after that */
	arrived[1]++;
	wh_heartbeat_begin(&m->heartbeat, NULL);
	pass(m, 6, "1"); /* what is there at the first look is heard, as its heartbeat is */
	expect_heard(m, "1", "2");
	member_free(m);
}

/* It hears no quorum, said its last heartbeat; while the next waits behind its bytes that may have changed. */
TEST(a_member_that_is_late_to_say_that_it_hears_a_quorum_is_not_deaf)
{
	struct member *m = member_make(0, 2, -1);
	uint64_t arrived[MEMBERS_MAX] = {0};

	m->image.arrived = arrived;
	beat_deaf(m, 1);
	pass(m, 1, "");
	pass_arrivals(m, arrived, 20, "1");
	ck_assert(!wh_heartbeat_is_deaf(&m->heartbeat, 1));
	for (int i = 0; i < 5; i++) {
		ck_assert(!wh_heartbeat_is_deaf(&m->heartbeat, 1));
		arrived[1]++;
		beat_deaf(m, 1);
		pass(m, 1, "");
	}
	ck_assert(wh_heartbeat_is_deaf(&m->heartbeat, 1));
	member_free(m);
}

/* A member of the view before beats while it still delivers there, however long that takes. */
TEST(a_heartbeat_says_whether_the_view_has_begun)
{
	struct member *m = member_make(0, 3, -1);

	m->heartbeat.begun = false;
	ck_assert_int_eq(wh_heartbeat_of(&m->heartbeat, 0), WH_BEAT_NONE);
	wh_heartbeat_arrive(&m->heartbeat);
	for (int i = 0; i < 5; i++) {
		ck_assert_int_eq(wh_heartbeat_of(&m->heartbeat, 0), WH_BEAT_THERE);
		m->heartbeat.deaf = i == 3;
		member_pass_ns(m, QUARTER);
		ck_assert(wh_heartbeat_beat(&m->heartbeat));
	}
	wh_heartbeat_begin(&m->heartbeat, NULL);
	ck_assert_int_eq(wh_heartbeat_of(&m->heartbeat, 0), WH_BEAT_THERE);
	member_pass_ns(m, QUARTER);
	ck_assert(wh_heartbeat_beat(&m->heartbeat));
	ck_assert_int_eq(wh_heartbeat_of(&m->heartbeat, 0), WH_BEAT_BEGUN);
	member_free(m);
}

TEST(a_member_alone)
{
	struct member *m = member_make(0, 1, -1);

	ck_assert_uint_eq(pass(m, 10, ""), 10);
	ck_assert_uint_eq(m->heartbeat.peers.count, 0);
	ck_assert_uint_eq(mine(m, m->columns.heartbeat.offset) / 4, 10);
	member_free(m);
}

/* A node that reads its log beats in the view meanwhile. When that begins it says so at once: others may know it from nothing else. */
TEST(that_the_view_has_begun_is_said_at_once)
{
	struct member *m = member_make(0, 2, -1);

	m->heartbeat.begun = false;
	m->heartbeat.next_push_ns = 0;
	ck_assert(wh_heartbeat_beat(&m->heartbeat));
	ck_assert_uint_eq(mine(m, m->columns.heartbeat.offset) & 2, 0);
	ck_assert(!wh_heartbeat_beat(&m->heartbeat));
	wh_heartbeat_begin(&m->heartbeat, NULL);
	ck_assert(wh_heartbeat_beat(&m->heartbeat));
	ck_assert_uint_eq(mine(m, m->columns.heartbeat.offset) & 2, 2);
	member_free(m);
}

TEST_SUITE("heartbeat")
