/* test_state_threads.c - givers and newcomers with jobs that have threads of their own.
 * Labels: threads
 */
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "state/state_int.h"
#include "tests/support/state_lab.h"

#define VIEW 7
#define GIVER 1

static struct party *awaits(struct lab *lab, uint32_t id)
{
	struct party *party = &lab->parties[id];

	party->view = VIEW;
	party->givers[0] = GIVER;
	party->giver_count = 1;
	wh_state_await(party->state, GIVER, VIEW, 0);
	return party;
}

TEST_CASE("all", .timeout_s = 20);

/* Messages of sender 9 are delivered at all parties, in turn with passes, while the state is given, once at `from` and once
 * more later. */
TEST(a_state_goes_over_while_messages_are_delivered)
{
	struct lab *lab = lab_create(LAB_THREADS);
	struct party *giver = &lab->parties[GIVER], *one = awaits(lab, 0), *other = awaits(lab, 2);
	uint64_t index = 50;

	giver->view = VIEW;
	giver->program.bytes = 3 << 20;
	giver->program.chunk = 100001;
	lab->capacity = 40000;
	party_sends(giver, 9, 55);
	wh_state_give(giver->state, 0);
	giver->position.of[0].next = 65;
	while (one->restored == 0 || other->restored == 0) {
		if (index == 65)
			wh_state_give(giver->state, 2);
		if (index < LAB_LOG) {
			party_message(one, 9, index);
			party_message(other, 9, index++);
		}
		state_lab_step(lab);
		sched_yield();
	}
	for (; index < 200; index++) {
		party_message(one, 9, index);
		party_message(other, 9, index);
	}
	check_restored(&one->program, 3 << 20);
	check_restored(&other->program, 3 << 20);
	ck_assert_uint_eq(one->upcalled_count, index - 55);
	ck_assert_uint_eq(other->upcalled_count, index - 65);
	for (uint64_t i = 55; i < index; i++) {
		check_upcalled(one, i - 55, 9, i);
		if (i >= 65)
			check_upcalled(other, i - 65, 9, i);
	}
	LAB_UNTIL(lab, word_of(&wh_state_statistics(giver->state)->gives) == 0);
	ck_assert_uint_eq(word_of(&wh_state_statistics(giver->state)->given), 6 << 20);
	ck_assert_uint_eq(word_of(&giver->program.released), 2);
	state_lab_free(lab);
}

/* And the loop has something to do meanwhile. */
static void take_a_millisecond(struct program *program)
{
	uint64_t until_ns = wh_env_now(wh_env_system()) + WH_NS_PER_MS;
	struct lab *lab = program->ctx;

	wh_fetch_add(&lab->steps, 1);
	while (wh_env_now(wh_env_system()) < until_ns)
		;
}

/* So much of a giver's time goes into it, and no more; what it takes longer on a busy machine does not matter. */
TEST(a_giver_pauses)
{
	const uint64_t pieces = 30, small = WH_STATE_SMALL_NS / WH_NS_PER_MS, pause_ns = 9 * WH_NS_PER_MS;
	struct lab *lab = lab_create(LAB_THREADS);
	struct party *giver = &lab->parties[GIVER], *newcomer = awaits(lab, 0);
	uint64_t began_ns = wh_env_now(wh_env_system());

	giver->state->hooks.share = 10;
	giver->view = VIEW;
	giver->program.bytes = pieces * 100;
	giver->program.chunk = 100;
	giver->program.on_read = take_a_millisecond;
	giver->program.ctx = lab;
	wh_state_give(giver->state, 0);
	LAB_UNTIL(lab, newcomer->restored == 1);
	ck_assert_uint_ge(wh_env_now(wh_env_system()) - began_ns, (pieces - small - 2) * pause_ns);
	check_restored(&newcomer->program, pieces * 100);
	state_lab_free(lab);
}

/* Neither end can go on: both stop at once. */
TEST(stop_ends_jobs_that_wait)
{
	struct lab *lab = lab_create(LAB_THREADS);
	struct party *giver = &lab->parties[GIVER], *party = awaits(lab, 0);
	struct pipe *pipe = state_lab_open(party, 2, party);
	uint64_t began;

	giver->view = VIEW;
	giver->program.bytes = 1 << 20;
	lab->capacity = 1000;
	LAB_UNTIL(lab, word_of(&party->program.begins) == 1);
	wh_state_give(giver->state, 3);
	while (!pipe_is_full(lab->pipes[0])) /* it is not handed over to the other side */
		sched_yield();
	began = lab_now(lab);
	wh_state_stop(giver->state);
	wh_state_stop(party->state);
	while (wh_load_acquire(&giver->jobs) + wh_load_acquire(&party->jobs) > 0)
		sched_yield();
	ck_assert_uint_lt(lab_now(lab) - began, WH_NS_PER_S); /* 20 ms, and what a busy machine adds */
	ck_assert_uint_eq(word_of(&giver->program.released), 1);
	pipe_end(pipe);
	state_lab_free(lab);
}

struct barrier {
	wh_word waits, go;
};

static void wait_for_go(struct program *program, enum whorl_restore_step step)
{
	struct barrier *barrier = program->ctx;

	if (step != WHORL_RESTORE_BYTES)
		return;
	wh_store_release(&barrier->waits, 1);
	while (wh_load_acquire(&barrier->go) == 0)
		sched_yield();
}

/* A restore that cannot be interrupted: the next one begins when it is over. Meanwhile this node has left and come again. */
TEST(one_restore_at_a_time)
{
	struct lab *lab = lab_create(LAB_THREADS);
	struct party *party = awaits(lab, 0);
	struct pipe *first = state_lab_open(party, GIVER, party), *second;
	struct barrier barrier = {0};

	party->program.ctx = &barrier;
	party->program.on_restore = wait_for_go;
	pipe_put(first, 0, 10);
	pipe_put(first, 0, 0);
	LAB_UNTIL(lab, word_of(&barrier.waits) == 1);
	wh_state_leave(party->state);
	party->view++;
	wh_state_await(party->state, GIVER, VIEW + 1, 0);
	second = state_lab_open(party, GIVER, party);
	pipe_put(second, 0, 20);
	pipe_put(second, 0, 0);
	lab_steps(lab, 100);
	ck_assert_uint_eq(word_of(&party->program.begins), 1);
	ck_assert_int_eq(party->restored, 0);
	wh_store_release(&barrier.go, 1);
	LAB_UNTIL(lab, party->restored == 1);
	ck_assert_uint_eq(word_of(&party->program.begins), 2);
	check_restored(&party->program, 20);
	pipe_end(first);
	pipe_end(second);
	state_lab_free(lab);
}

/* And a shard that begins with nothing has to wait for it: its messages are not upcalled beside it, and no more of it comes. */
TEST(a_restore_ends_before_another_shard_begins)
{
	struct lab *lab = lab_create(LAB_THREADS);
	struct party *party = awaits(lab, 0);
	struct pipe *pipe = state_lab_open(party, GIVER, party);
	struct barrier barrier = {0};

	party->program.ctx = &barrier;
	party->program.on_restore = wait_for_go;
	pipe_put(pipe, 0, 10);
	pipe_put(pipe, 0, 0);
	LAB_UNTIL(lab, word_of(&barrier.waits) == 1);
	party->view++;
	wh_state_begin(party->state, VIEW + 1, 1);
	party_message(party, 9, 3);
	lab_steps(lab, 100);
	ck_assert_uint_eq(word_of(&party->program.begins), 1);
	ck_assert_uint_eq(party->upcalled_count, 0);
	wh_store_release(&barrier.go, 1);
	LAB_UNTIL(lab, party->restored == 1);
	ck_assert_uint_eq(word_of(&party->program.begins), 2);
	ck_assert_uint_eq(word_of(&party->program.ends), 1);
	ck_assert_uint_eq(party->program.restored_bytes, 0);
	ck_assert_uint_eq(party->upcalled_count, 1);
	check_upcalled(party, 0, 9, 3);
	pipe_end(pipe);
	state_lab_free(lab);
}

struct seen {
	int nice, policy;
};

static void look_around(struct program *program)
{
	struct seen *seen = program->ctx;

	seen->nice = getpriority(PRIO_PROCESS, (id_t)gettid());
	seen->policy = sched_getscheduler(0);
}

static void look_around_too(struct program *program, enum whorl_restore_step step)
{
	(void)step;
	look_around(program);
}

/* Jobs take little of what loops need, if they have a thread of their own; and else leave the loop's alone. But what is small is done at once: where
 * loops have all the processors a thread that stands back hardly runs. */
TEST_LOOP(jobs_stand_back, 0, 3)
{
	const size_t bytes[] = {3 * WH_STATE_PIECE, 3 * WH_STATE_PIECE, 1};
	struct lab *lab = lab_create(_i == 1 ? LAB_AT_ONCE : LAB_THREADS);
	struct party *giver = &lab->parties[GIVER], *party = awaits(lab, 0);
	struct seen given, taken;
	int nice = getpriority(PRIO_PROCESS, (id_t)gettid()),
	    expected = _i == 0 ? (nice + 10 < 19 ? nice + 10 : 19) : nice;

	giver->view = VIEW;
	giver->program.bytes = bytes[_i];
	giver->program.on_read = look_around;
	giver->program.ctx = &given;
	party->program.on_restore = look_around_too;
	party->program.ctx = &taken;
	wh_state_give(giver->state, 0);
	LAB_UNTIL(lab, party->restored == 1);
	ck_assert_int_eq(given.nice, expected);
	ck_assert_int_eq(taken.nice, expected);
	ck_assert_int_eq(given.policy, _i == 0 ? SCHED_BATCH : sched_getscheduler(0));
	ck_assert_int_eq(taken.policy, given.policy);
	ck_assert_int_eq(getpriority(PRIO_PROCESS, (id_t)gettid()), nice);
	state_lab_free(lab);
}

/* Beside real-time loops they stay what these are. Without the right to be one there is nothing to be seen. */
TEST(jobs_of_real_time_loops_take_turns)
{
	const struct sched_param first = {.sched_priority = 1}, none = {0};
	struct lab *lab = lab_create(LAB_THREADS);
	struct party *giver = &lab->parties[GIVER], *party = awaits(lab, 0);
	struct seen given, taken;
	bool real_time = pthread_setschedparam(pthread_self(), SCHED_RR, &first) == 0;

	giver->view = VIEW;
	giver->program.bytes = 3 * WH_STATE_PIECE;
	giver->program.on_read = look_around;
	giver->program.ctx = &given;
	party->program.on_restore = look_around_too;
	party->program.ctx = &taken;
	wh_state_give(giver->state, 0);
	LAB_UNTIL(lab, party->restored == 1);
	ck_assert_int_eq(given.policy, real_time ? SCHED_RR : SCHED_BATCH);
	ck_assert_int_eq(taken.policy, given.policy);
	if (real_time)
		ck_assert_int_eq(pthread_setschedparam(pthread_self(), SCHED_OTHER, &none), 0);
	state_lab_free(lab);
}

/* Newcomers that go, and givers that stop, at any moment of a transfer. */
TEST(it_may_end_at_any_moment)
{
	for (int moment = 0; moment < 60; moment++) {
		struct lab *lab = lab_create(LAB_THREADS);
		struct party *giver = &lab->parties[GIVER], *party = awaits(lab, 0);

		giver->view = VIEW;
		giver->program.bytes = 100000;
		giver->program.chunk = 5000;
		lab->capacity = 5000;
		wh_state_give(giver->state, 0);
		wh_state_give(giver->state, 0);
		lab_steps(lab, moment);
		if (moment % 3 == 0)
			wh_state_stop(giver->state);
		else if (moment % 3 == 1)
			wh_state_leave(party->state);
		else
			wh_state_gone(giver->state, 0);
		lab_steps(lab, moment % 7);
		state_lab_free(lab);
	}
}

TEST_SUITE("state_threads")
