/* test_tcp_shaker.c - steps of handshakes that are handed to a worker and taken back, over pairs of sockets. The greeting is that of open
 * mode, one word each way: what is computed does not matter here. The test has the jobs: it says when one runs. With TLS, and with steps
 * that are under way, tests/conformance/tcp_handshakes.c goes on. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/fake.h"
#include "transport/tcp/tcp_int.h"

#define CALLERS 4
#define INDEX 40 /* of the first */

struct caller {
	struct wh_tcp_caller is;
	struct wh_tcp_channel channel;
	int other; /* its end of the connection */
};

static struct fake_env fake;
static struct wh_poll poll_of;
static struct wh_tcp_shaker *shaker;
static struct caller callers[CALLERS];
static const struct wh_secure_ground ground = {.group = "g", .version = 7, .node = 2, .incarnation = 3};

/* ---- jobs ------------------------------------------------------------------------------------------------------------ */

static struct {
	void (*run)(void *argument);
	void *argument;
	uint32_t count; /* so far */
} job;

static void keep_job(void *ctx, void (*run)(void *argument), void *argument)
{
	(void)ctx;
	ck_assert_msg(job.run == NULL, "a second job beside one");
	job.run = run;
	job.argument = argument;
	job.count++;
}

static void run_job(void)
{
	void (*run)(void *argument);

	run = job.run;
	ck_assert(run != NULL);
	job.run = NULL;
	run(job.argument);
}

/* ---- callers --------------------------------------------------------------------------------------------------------- */

static void setup(void)
{
	struct wh_error err;

	memset(&job, 0, sizeof(job));
	fake_env_init(&fake);
	fake.env.submit = keep_job;
	ck_assert_int_eq(wh_poll_open(&poll_of, &fake.env, &err), WHORL_OK);
	ck_assert_int_eq(wh_tcp_shaker_new(&fake.env, &poll_of, &shaker, &err), WHORL_OK);
	for (uint32_t i = 0; i < CALLERS; i++) {
		struct caller *caller = &callers[i];
		int pair[2];

		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
		ck_assert(wh_tcp_channel_accept(&caller->channel, pair[0], &ground));
		caller->is = (struct wh_tcp_caller){.source = WH_TCP_FROM_CONN, .index = INDEX + i};
		caller->other = pair[1];
		ck_assert(wh_poll_watch(&poll_of, EPOLL_CTL_ADD, pair[0], EPOLLIN, WH_TCP_FROM_CONN, INDEX + i));
	}
}

static void teardown(void)
{
	for (uint32_t i = 0; i < CALLERS; i++) {
		wh_tcp_channel_close(&callers[i].channel, false);
		close(callers[i].other);
	}
	if (job.run != NULL)
		run_job();
	wh_tcp_shaker_free(shaker);
	wh_poll_close(&poll_of);
}

static void speak(struct caller *caller)
{
	const unsigned char word[] = {'w', 'h', 'o', 'r', 'l', 0, 7, 0};

	ck_assert_int_eq(send(caller->other, word, sizeof(word), MSG_NOSIGNAL), sizeof(word));
}

/* It has been answered. */
static bool hears(struct caller *caller)
{
	unsigned char word[8];

	return recv(caller->other, word, sizeof(word), MSG_DONTWAIT) == sizeof(word);
}

static bool has_ended(struct caller *caller)
{
	char byte;
	ssize_t n = recv(caller->other, &byte, 1, MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno == ECONNRESET);
}

static enum wh_tcp_io shake(struct caller *caller)
{
	bool writes;

	return wh_tcp_shaker_shake(shaker, &caller->channel, &caller->is, &writes);
}

static void hand_over(struct caller *caller)
{
	speak(caller);
	ck_assert_int_eq(shake(caller), WH_TCP_LATER);
	ck_assert_ptr_nonnull(caller->channel.step);
	ck_assert_int_eq(caller->channel.fd, -1);
}

/* How often the poll tells of that. */
static uint32_t told(uint32_t source, uint32_t index)
{
	struct epoll_event events[WH_POLL_AT_ONCE];
	int n = wh_poll_look(&poll_of, events);
	uint32_t count = 0;

	for (int i = 0; i < n; i++)
		count += wh_poll_source(&events[i]) == source && wh_poll_index(&events[i]) == index;
	return count;
}

/* The one that is done first, and is taken back. */
static uint32_t next_done(void)
{
	uint32_t source, index;

	if (!wh_tcp_shaker_done(shaker, &source, &index))
		return CALLERS;
	ck_assert_int_eq((int)source, WH_TCP_FROM_CONN);
	ck_assert_int_eq(shake(&callers[index - INDEX]), WH_TCP_DONE);
	return index - INDEX;
}

/* ---- cases ----------------------------------------------------------------------------------------------------------- */

TEST_CASE("steps", .setup = setup, .teardown = teardown);

/* Until then the poll tells nothing of its socket, whatever comes there. */
TEST(a_step_is_done_by_a_job)
{
	struct caller *caller = &callers[0];

	hand_over(caller);
	speak(caller);
	ck_assert(told(WH_TCP_FROM_CONN, INDEX) + told(WH_TCP_SHAKEN, 0) == 0);
	ck_assert_int_eq(shake(caller), WH_TCP_LATER);
	ck_assert(!hears(caller));
	run_job();
	ck_assert(hears(caller));
	ck_assert_uint_eq(told(WH_TCP_SHAKEN, 0), 1);
	ck_assert_uint_eq(next_done(), 0);
	ck_assert_ptr_null(caller->channel.step);
	ck_assert_uint_eq(caller->channel.turns, 1);
	ck_assert_uint_eq(next_done(), CALLERS);
	wh_tcp_shaker_hush(shaker);
	ck_assert_uint_eq(told(WH_TCP_SHAKEN, 0), 0);
	ck_assert_uint_eq(told(WH_TCP_FROM_CONN, INDEX), 1);
}

/* What has been said so far is not lost sight of while a step is under way: words are counted by it. */
TEST(a_step_may_be_less_than_a_word)
{
	struct caller *caller = &callers[0];

	ck_assert_int_eq(send(caller->other, "who", 3, MSG_NOSIGNAL), 3);
	ck_assert_int_eq(shake(caller), WH_TCP_LATER);
	ck_assert_ptr_nonnull(caller->channel.step);
	run_job();
	ck_assert_int_eq(shake(caller), WH_TCP_LATER);
	ck_assert_ptr_null(caller->channel.step);
	ck_assert_uint_eq(caller->channel.turns, 0);
	ck_assert_uint_eq(told(WH_TCP_FROM_CONN, INDEX), 0);
	ck_assert_int_eq(send(caller->other, "rl\0\7", 5, MSG_NOSIGNAL), 5);
	ck_assert_uint_eq(told(WH_TCP_FROM_CONN, INDEX), 1);
	ck_assert_int_eq(shake(caller), WH_TCP_LATER);
	run_job();
	ck_assert_int_eq(shake(caller), WH_TCP_DONE);
	ck_assert_uint_eq(caller->channel.turns, 1);
}

TEST(where_no_thread_can_be_had_it_is_done_at_once)
{
	fake.env.submit = fake_submit;
	for (uint32_t i = 0; i < CALLERS; i++) {
		speak(&callers[i]);
		ck_assert_int_eq(shake(&callers[i]), WH_TCP_DONE);
		ck_assert(hears(&callers[i]));
	}
	ck_assert_uint_eq(next_done(), CALLERS);
}

/* Those that say nothing, or hang up, cost no job. */
TEST(the_silent_are_not_worked_for)
{
	ck_assert_int_eq(shake(&callers[0]), WH_TCP_LATER);
	ck_assert_ptr_null(callers[0].channel.step);
	shutdown(callers[1].other, SHUT_RDWR);
	ck_assert_int_eq(shake(&callers[1]), WH_TCP_ENDED);
	ck_assert_uint_eq(job.count, 0);
}

/* One does all that waits; when nothing does it ends, and the next step has another. */
TEST(there_is_one_job)
{
	for (uint32_t i = 0; i < 3; i++)
		hand_over(&callers[i]);
	ck_assert_uint_eq(job.count, 1);
	run_job();
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_uint_eq(next_done(), i);
	hand_over(&callers[3]);
	ck_assert_uint_eq(job.count, 2);
	run_job();
	ck_assert_uint_eq(next_done(), 3);
}

TEST(some_go_first)
{
	callers[2].is.first = callers[3].is.first = true;
	for (uint32_t i = 0; i < CALLERS; i++)
		hand_over(&callers[i]);
	run_job();
	ck_assert_uint_eq(next_done(), 2);
	ck_assert_uint_eq(next_done(), 3);
	ck_assert_uint_eq(next_done(), 0);
	ck_assert_uint_eq(next_done(), 1);
}

/* While it waits, or is done and not taken back: the others are as they were. */
TEST_LOOP(one_is_closed, 0, 2)
{
	for (uint32_t i = 0; i < 3; i++)
		hand_over(&callers[i]);
	if (_i == 1)
		run_job();
	if (_i == 1)
		ck_assert(hears(&callers[1]));
	wh_tcp_channel_close(&callers[1].channel, false);
	ck_assert(has_ended(&callers[1]));
	if (_i == 0)
		run_job();
	ck_assert_uint_eq(next_done(), 0);
	ck_assert_uint_eq(next_done(), 2);
	ck_assert_uint_eq(next_done(), CALLERS);
}

/* A job that is late finds nothing to do. */
TEST(all_are_closed)
{
	for (uint32_t i = 0; i < CALLERS; i++)
		hand_over(&callers[i]);
	for (uint32_t i = 0; i < CALLERS; i++) {
		wh_tcp_channel_close(&callers[i].channel, false);
		ck_assert(has_ended(&callers[i]));
	}
	run_job();
	ck_assert_uint_eq(next_done(), CALLERS);
	ck_assert_uint_eq(told(WH_TCP_SHAKEN, 0), 0);
}

TEST_SUITE("tcp_shaker")
