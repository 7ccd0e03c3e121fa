/* test_poll.c - the descriptors that a loop sleeps on. */
#include <poll.h>
#include <unistd.h>

#include "tests/support/fake.h"
#include "transport/session/poll.h"

TEST(the_timer_runs_out_at_the_earliest_time)
{
	struct epoll_event events[WH_POLL_AT_ONCE];
	struct fake_env fake;
	struct wh_poll poll_;

	fake_env_init(&fake);
	ck_assert_int_eq(wh_poll_open(&poll_, &fake.env, NULL), WHORL_OK);
	wh_poll_alarm(&poll_, 5 * WH_NS_PER_S);
	wh_poll_alarm(&poll_, 9 * WH_NS_PER_S);
	ck_assert_uint_eq(poll_.timer_ns, fake.now_ns + 5 * WH_NS_PER_S);
	ck_assert_int_eq(wh_poll_look(&poll_, events), 0);
	wh_poll_alarm(&poll_, 0); /* runs out at once, and not never */
	ck_assert_uint_eq(poll_.timer_ns, fake.now_ns);
	ck_assert_int_eq(poll(&(struct pollfd){.fd = poll_.timer, .events = POLLIN}, 1, 5000), 1);
	ck_assert_int_eq(wh_poll_look(&poll_, events), 1);
	ck_assert_uint_eq(wh_poll_source(&events[0]), WH_POLL_TIMER);
	wh_poll_timer_is_out(&poll_);
	ck_assert_uint_eq(poll_.timer_ns, 0);
	ck_assert_int_eq(wh_poll_look(&poll_, events), 0);
	wh_poll_close(&poll_);
}

TEST(the_doorbell_ends_a_wait_until_it_is_hushed)
{
	struct epoll_event events[WH_POLL_AT_ONCE];
	struct fake_env fake;
	struct wh_poll poll_;

	fake_env_init(&fake);
	ck_assert_int_eq(wh_poll_open(&poll_, &fake.env, NULL), WHORL_OK);
	ck_assert(!wh_poll_hush(&poll_));
	wh_poll_wake(&poll_);
	wh_poll_wake(&poll_);
	for (int times = 0; times < 2; times++) {
		ck_assert_int_eq(wh_poll_wait(&poll_, events, 3600 * WH_NS_PER_S), 1);
		ck_assert_uint_eq(wh_poll_source(&events[0]), WH_POLL_DOORBELL);
	}
	ck_assert(wh_poll_hush(&poll_));
	ck_assert_int_eq(wh_poll_wait(&poll_, events, WH_NS_PER_MS), 0);
	wh_poll_close(&poll_);
	wh_poll_close(&poll_); /* of one that is not open */
}

TEST_SUITE("poll")
