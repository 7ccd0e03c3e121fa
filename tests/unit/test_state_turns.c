/* test_state_turns.c - what gives and takes a large state leaves the processors to others: it pauses where the loop is at work, and, among
 * real-time threads, yields after each piece.
 * Labels: threads
 *
 * Which policy a thread has, what it takes of a processor, pauses and yields are this test's: no rights are needed, nothing depends on time, and each
 * one counts.
 */
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "state/state_int.h"
#include "tests/support/state_lab.h"

#define VIEW 7
#define GIVER 1
#define PIECES 20 /* of WH_STATE_PIECE bytes */
#define LARGE 2   /* the state is one by then */

static bool real_time;
static wh_word pauses; /* of all threads */
/* Of the thread that reads, and of the one that restores: */
enum role { NEITHER, READS, RESTORES, ROLES };
static wh_word yields[ROLES], policies[ROLES]; /* policies: when it was called last */
static _Thread_local enum role role;
static _Thread_local uint64_t computed_ns; /* so much of a processor this thread has taken */

int clock_gettime(clockid_t clock, struct timespec *out)
{
	if (clock != CLOCK_THREAD_CPUTIME_ID)
		return (int)syscall(SYS_clock_gettime, clock, out);
	*out = (struct timespec){.tv_sec = (time_t)(computed_ns / WH_NS_PER_S),
				 .tv_nsec = (long)(computed_ns % WH_NS_PER_S)};
	return 0;
}

int sched_getscheduler(pid_t pid)
{
	return real_time ? SCHED_FIFO : (int)syscall(SYS_sched_getscheduler, pid);
}

int sched_yield(void)
{
	wh_fetch_add(&yields[role], 1);
	return (int)syscall(SYS_sched_yield);
}

int nanosleep(const struct timespec *requested, struct timespec *remaining)
{
	(void)requested, (void)remaining;
	wh_fetch_add(&pauses, 1);
	return 0;
}

static void look_at_thread(enum role mine)
{
	role = mine;
	wh_store_relaxed(&policies[role], (uint64_t)syscall(SYS_sched_getscheduler, 0));
}

static void compute(uint64_t ns)
{
	computed_ns += ns;
}

static void note_read(struct program *program)
{
	(void)program;
	look_at_thread(READS);
}

/* The loop is at work meanwhile. */
static void note_read_and_step(struct program *program)
{
	struct lab *lab = program->ctx;

	look_at_thread(READS);
	wh_fetch_add(&lab->steps, 2); /* the order is that of the loop: a pass is counted, and then that it was idle */
	wh_fetch_add(&lab->idle_steps, 1);
}

static void note_read_and_idle_step(struct program *program)
{
	struct lab *lab = program->ctx;

	look_at_thread(READS);
	wh_fetch_add(&lab->steps, 3);
	wh_fetch_add(&lab->idle_steps, 3);
}

static void note_restore(struct program *program, enum whorl_restore_step step)
{
	(void)program, (void)step;
	look_at_thread(RESTORES);
}

static void restore_slowly(struct program *program, enum whorl_restore_step step)
{
	note_restore(program, step);
	if (step == WHORL_RESTORE_BYTES)
		compute(WH_STATE_SLOW_NS + WH_NS_PER_MS);
}

static void read_slowly(struct program *program)
{
	note_read(program);
	compute(WH_STATE_SLOW_NS + WH_NS_PER_MS);
}

/* Every second one: never three in a row. */
static void read_slowly_at_times(struct program *program)
{
	static unsigned calls;

	note_read(program);
	if (++calls % 2 == 0)
		compute(WH_STATE_SLOW_NS + WH_NS_PER_MS);
}

static void transfer(uint32_t share, void (*on_read)(struct program *program),
		     void (*on_restore)(struct program *program, enum whorl_restore_step step))
{
	struct lab *lab = lab_create(LAB_THREADS);
	struct party *giver = &lab->parties[GIVER], *newcomer = &lab->parties[0];

	newcomer->view = giver->view = VIEW;
	newcomer->givers[0] = GIVER;
	newcomer->giver_count = 1;
	newcomer->program.on_restore = on_restore;
	giver->state->hooks.share = share;
	giver->program.bytes = PIECES * WH_STATE_PIECE;
	giver->program.on_read = on_read;
	giver->program.ctx = lab;
	lab->capacity = 2 * WH_STATE_PIECE;
	wh_state_await(newcomer->state, GIVER, VIEW, 0);
	wh_state_give(giver->state, 0);
	LAB_UNTIL(lab, newcomer->restored == 1);
	check_restored(&newcomer->program, PIECES * WH_STATE_PIECE);
	LAB_UNTIL(lab, word_of(&wh_state_statistics(giver->state)->gives) == 0);
	state_lab_free(lab);
}

TEST_CASE("all", .timeout_s = 20);

TEST(a_giver_pauses_where_the_loop_is_at_work)
{
	transfer(50, note_read_and_step, note_restore);
	ck_assert_uint_ge(word_of(&pauses), PIECES - LARGE);
}

/* Nobody needs the time. */
TEST(a_giver_of_a_silent_group_does_not_pause)
{
	transfer(50, note_read_and_idle_step, note_restore);
	ck_assert_uint_eq(word_of(&pauses), 0);
}

/* ---- real-time threads ------------------------------------------------------------------------------------------------- */

TEST(each_piece_of_real_time_threads_yields)
{
	real_time = true;
	transfer(100, note_read, note_restore);
	ck_assert_uint_ge(word_of(&yields[READS]), PIECES - LARGE);
	ck_assert_uint_ge(word_of(&yields[RESTORES]), PIECES - LARGE);
	for (enum role r = READS; r <= RESTORES; r++) /* they are what they were */
		ck_assert_uint_ne(word_of(&policies[r]), SCHED_BATCH);
}

/* Others stand back instead, and yield nothing. */
TEST(other_threads_do_not_yield)
{
	transfer(100, note_read, note_restore);
	for (enum role r = READS; r <= RESTORES; r++) {
		ck_assert_uint_eq(word_of(&yields[r]), 0);
		ck_assert_uint_eq(word_of(&policies[r]), SCHED_BATCH);
	}
}

/* Loops of the same priority wait for a few pieces, and then no more. */
TEST(a_slow_program_stands_back_among_real_time_threads)
{
	real_time = true;
	transfer(100, read_slowly, note_restore);
	ck_assert_uint_eq(word_of(&yields[READS]), WH_STATE_SLOW_PIECES);
	ck_assert_uint_eq(word_of(&policies[READS]), SCHED_BATCH);
	ck_assert_uint_ne(word_of(&policies[RESTORES]), SCHED_BATCH); /* which is not slow */
	ck_assert_uint_ge(word_of(&yields[RESTORES]), PIECES - LARGE);
}

TEST(so_does_one_that_restores_slowly)
{
	real_time = true;
	transfer(100, note_read, restore_slowly);
	ck_assert_uint_eq(word_of(&yields[RESTORES]), WH_STATE_SLOW_PIECES);
	ck_assert_uint_eq(word_of(&policies[RESTORES]), SCHED_BATCH);
	ck_assert_uint_ne(word_of(&policies[READS]), SCHED_BATCH);
}

TEST(a_program_that_is_slow_at_times_keeps_its_turns)
{
	real_time = true;
	transfer(100, read_slowly_at_times, note_restore);
	ck_assert_uint_ge(word_of(&yields[READS]), PIECES - LARGE);
	ck_assert_uint_ne(word_of(&policies[READS]), SCHED_BATCH);
}

TEST_SUITE("state_turns")
