/* test_sim_process.c - what a node's process has of the simulated world: lasting jobs, and jobs that wait for a disk; what a crash and a loss of
 * power leave of them.
 */
#include <string.h>
#include <sys/uio.h>

#include "base/env.h"
#include "sim/net/sim.h"
#include "tests/harness.h"

#define SYNC_NS (5 * WH_NS_PER_MS)
#define LONG_NS (10 * WH_NS_PER_S)

static struct wh_sim *sim;
static struct wh_error err;

struct hooks {
	uint64_t stop; /* before this operation of node 0 it crashes, */
	bool power;    /* or the power goes */
	int at_work;   /* jobs that run now */
};

static void operating(void *ctx, uint32_t node, enum wh_sim_disk_op op, uint64_t number)
{
	const struct hooks *hooks = ctx;

	(void)op;
	if (node != 0 || number != hooks->stop)
		return;
	if (hooks->power)
		wh_sim_power_loss(sim, 0);
	else
		wh_sim_crash(sim, 0);
}

static void working(void *ctx, uint32_t node, bool begins)
{
	struct hooks *hooks = ctx;

	(void)node;
	hooks->at_work += begins ? 1 : -1;
	ck_assert(hooks->at_work == 0 || hooks->at_work == 1);
}

static struct hooks hooks;

static void begin_world(uint64_t seed, bool one_host)
{
	const struct wh_sim_options options = {.nodes = 2,
					       .seed = seed,
					       .pieces = 1,
					       .one_host = one_host,
					       .disks = true,
					       .disk = {.cost = {.write_min_ns = 1000,
								 .write_max_ns = 20000,
								 .sync_min_ns = SYNC_NS,
								 .sync_max_ns = 2 * SYNC_NS}},
					       .operating = operating,
					       .working = working,
					       .ctx = &hooks};

	hooks = (struct hooks){0};
	ck_assert_int_eq(wh_sim_new(&sim, &options, &err), WHORL_OK);
	for (uint32_t i = 0; i < 2; i++)
		ck_assert(wh_sim_disk_mount(wh_sim_disk_of(sim, i), "logs"));
}

static void run(uint64_t ns)
{
	uint64_t until = wh_sim_now(sim) + ns;

	while (wh_sim_step(sim, until))
		continue;
}

/* ---- a log that a lasting job writes ---------------------------------------------------------------------------------------------------- */

struct log {
	const struct wh_env *env;
	struct wh_directory *directory;
	struct wh_file *file;
	struct wh_background *task;
	uint64_t wanted, synced, calls; /* bytes */
	enum whorl_result result;       /* of what failed */
	bool inside;
	bool orphaned; /* what it has open is its own */
};

static void close_log(struct log *log)
{
	log->file->ops->close(log->file);
	log->directory->ops->close(log->directory);
}

static bool write_log(void *argument)
{
	struct log *log = argument;
	uint64_t begin = log->synced, end = log->wanted;
	char bytes[256];
	struct iovec part = {bytes, end - begin};
	struct wh_error why;
	enum whorl_result result;

	log->calls++;
	if (begin == end || log->result != WHORL_OK)
		return false;
	log->inside = true;
	ck_assert_uint_le(end - begin, sizeof(bytes));
	for (uint64_t at = begin; at < end; at++)
		bytes[at - begin] = (char)(at + 1);
	result = log->file->ops->write(log->file, begin, &part, 1, &why);
	if (result == WHORL_OK)
		result = log->file->ops->sync(log->file, &why);
	log->inside = false;
	if (result != WHORL_OK)
		log->result = result;
	else
		log->synced = end;
	if (log->orphaned)
		close_log(log);
	return true;
}

static void open_log(struct log *log, uint32_t node)
{
	*log = (struct log){.env = wh_sim_env(sim, node)};
	ck_assert_ptr_nonnull(log->env->disk);
	ck_assert_int_eq(log->env->disk->directory(log->env->disk->ctx, "logs/7", true, &log->directory, &err),
			 WHORL_OK);
	ck_assert_int_eq(log->directory->ops->open(log->directory, "log", true, &log->file, &err), WHORL_OK);
	ck_assert_int_eq(log->directory->ops->sync(log->directory, &err), WHORL_OK);
	ck_assert_int_eq(log->env->background(log->env->ctx, &log->task, "whorl-log", write_log, log, &err), WHORL_OK);
}

static void add(struct log *log, uint64_t bytes)
{
	log->wanted += bytes;
	log->env->background_wake(log->env->ctx, log->task);
}

static bool end_log(struct log *log, uint64_t timeout_ns)
{
	return log->env->background_end(log->env->ctx, log->task, timeout_ns);
}

static uint64_t kept(uint32_t node)
{
	unsigned char bytes[256];
	uint64_t got = wh_sim_disk_kept(wh_sim_disk_of(sim, node), "logs/7", "log", 0, bytes, sizeof(bytes));
	uint64_t good = 0;

	while (good < got && bytes[good] == (unsigned char)(good + 1))
		good++;
	return good;
}

TEST_LOOP(a_job_works_when_it_is_woken, 0, 5)
{
	struct log log;
	uint64_t calls;

	begin_world((uint64_t)_i, false);
	open_log(&log, 0);
	ck_assert_uint_eq(log.calls, 0);
	run(WH_NS_PER_MS);
	ck_assert_uint_eq(log.calls, 1); /* the first comes at once, and finds nothing */
	run(LONG_NS);
	ck_assert_uint_eq(log.calls, 1);
	add(&log, 10);
	run(WH_NS_PER_MS + SYNC_NS / 2);
	ck_assert(log.inside); /* others go on while it waits for the disk */
	ck_assert_int_eq(hooks.at_work, 0);
	ck_assert_uint_eq(kept(0), 0);
	add(&log, 5); /* that leads to another call */
	run(LONG_NS);
	ck_assert_uint_eq(log.synced, 15);
	ck_assert_uint_eq(kept(0), 15);
	calls = log.calls;
	run(LONG_NS);
	ck_assert_uint_eq(log.calls, calls);
	log.env->background_wake(log.env->ctx, log.task);
	log.env->background_wake(log.env->ctx, log.task);
	run(LONG_NS);
	ck_assert_uint_eq(log.calls, calls + 1);
	log.env->background_wake(log.env->ctx, log.task);
	ck_assert(end_log(&log, 0));
	run(LONG_NS);
	ck_assert_uint_eq(log.calls, calls + 1); /* none begins after that */
	close_log(&log);
	ck_assert_ptr_null(wh_sim_verdict(sim));
	wh_sim_free(sim);
}

/* A wake while a call is under way that had looked already; the call says that there is nothing. */
struct wakes {
	const struct wh_env *env;
	uint64_t calls;
};

static bool nap_a_little(void *argument)
{
	struct wakes *wakes = argument;

	wakes->calls++;
	wakes->env->nap(wakes->env->ctx, 1000);
	return false;
}

TEST(a_wake_during_a_call_leads_to_another)
{
	struct wakes wakes;
	struct wh_background *task;
	uint64_t began;

	begin_world(1, false);
	wakes = (struct wakes){wh_sim_env(sim, 0), 0};
	ck_assert_int_eq(wakes.env->background(wakes.env->ctx, &task, "x", nap_a_little, &wakes, &err), WHORL_OK);
	while (wakes.calls == 0)
		ck_assert(wh_sim_step(sim, LONG_NS));
	began = wh_sim_now(sim);
	wakes.env->background_wake(wakes.env->ctx, task);
	run(LONG_NS);
	ck_assert_uint_eq(wakes.calls, 2);
	wakes.env->background_wake(wakes.env->ctx, task);
	run(WH_NS_PER_MS);
	ck_assert_uint_eq(wakes.calls, 3);
	ck_assert_uint_gt(wh_sim_now(sim), began);
	ck_assert(wakes.env->background_end(wakes.env->ctx, task, 0));
	wh_sim_free(sim);
}

struct sleeper {
	const struct wh_env *env;
	struct wh_background *task;
	uint64_t calls, at_ns[4];
};

/* The first wants another after a second, the second after a millisecond. */
static bool sleep_a_while(void *argument)
{
	struct sleeper *sleeper = argument;

	sleeper->at_ns[sleeper->calls % 4] = wh_sim_now(sim);
	if (sleeper->calls < 2)
		sleeper->env->background_again(sleeper->env->ctx, sleeper->task,
					       sleeper->calls == 0 ? WH_NS_PER_S : WH_NS_PER_MS);
	sleeper->calls++;
	return false;
}

TEST(a_call_comes_again_after_a_while)
{
	struct sleeper sleeper;
	uint64_t began;

	begin_world(1, false);
	began = wh_sim_now(sim);
	sleeper = (struct sleeper){.env = wh_sim_env(sim, 0)};
	ck_assert_int_eq(sleeper.env->background(sleeper.env->ctx, &sleeper.task, "x", sleep_a_while, &sleeper, &err),
			 WHORL_OK);
	run(10 * WH_NS_PER_MS);
	ck_assert_uint_eq(sleeper.calls, 1);
	sleeper.env->background_wake(sleeper.env->ctx, sleeper.task); /* it comes sooner, and what it says counts */
	run(10 * WH_NS_PER_MS);
	ck_assert_uint_eq(sleeper.calls, 3);
	ck_assert_uint_lt(sleeper.at_ns[1], began + 20 * WH_NS_PER_MS);
	ck_assert_uint_eq(sleeper.at_ns[2] - sleeper.at_ns[1], WH_NS_PER_MS);
	run(2 * WH_NS_PER_S);
	ck_assert_uint_eq(sleeper.calls, 3);
	ck_assert(sleeper.env->background_end(sleeper.env->ctx, sleeper.task, 0));
	wh_sim_free(sim);
}

/* ---- the end of a job --------------------------------------------------------------------------------------------------------------------- */

static void run_into_sync(struct log *log)
{
	run(WH_NS_PER_MS);
	add(log, 10);
	run(WH_NS_PER_MS + SYNC_NS / 2);
	ck_assert(log->inside);
}

/* Time passes until the operation has ended, or the time-out; what goes on after that touches its own things only. */
TEST(the_end_waits_for_the_disk)
{
	struct log log;
	uint64_t began;

	begin_world(1, false);
	open_log(&log, 0);
	run_into_sync(&log);
	began = wh_sim_now(sim);
	ck_assert(end_log(&log, LONG_NS));
	ck_assert_uint_gt(wh_sim_now(sim), began + SYNC_NS / 10);
	ck_assert_uint_lt(wh_sim_now(sim), began + 3 * SYNC_NS);
	ck_assert_uint_eq(log.synced, 10);
	ck_assert_uint_eq(kept(0), 10);
	close_log(&log);

	open_log(&log, 1);
	run_into_sync(&log);
	began = wh_sim_now(sim);
	ck_assert(!end_log(&log, WH_NS_PER_MS / 10));
	ck_assert_uint_eq(wh_sim_now(sim), began + WH_NS_PER_MS / 10);
	run(LONG_NS);
	ck_assert_uint_eq(log.synced, 10); /* it has ended itself */
	ck_assert(!log.inside);
	add(&log, 10);
	run(LONG_NS);
	ck_assert_uint_eq(log.synced, 10);
	close_log(&log);
	wh_sim_free(sim);
}

TEST_LOOP(a_disk_that_hangs, 0, 2)
{
	struct log log, other;

	begin_world(1, false);
	open_log(&log, 0);
	open_log(&other, 1);
	run_into_sync(&log);
	wh_sim_disk_hang(wh_sim_disk_of(sim, 0), true); /* too late for that sync */
	run(LONG_NS);
	ck_assert_uint_eq(log.synced, 10);
	add(&log, 10);
	add(&other, 10);
	run(LONG_NS);
	ck_assert(log.inside);
	ck_assert_uint_eq(other.synced, 10);
	log.orphaned = _i == 0;
	if (log.orphaned)
		ck_assert(!end_log(&log, WH_NS_PER_S));
	run(LONG_NS);
	ck_assert(log.inside);
	wh_sim_power_loss(sim, 0);
	run(LONG_NS);
	ck_assert(log.inside); /* it never goes on, */
	if (_i == 1)
		ck_assert(end_log(&log, WH_NS_PER_S)); /* but to be ended */
	ck_assert_uint_eq(kept(0), 10);
	ck_assert(end_log(&other, WH_NS_PER_S));
	close_log(&other);
	if (_i == 1)
		close_log(&log);
	wh_sim_free(sim);
	ck_assert(!log.inside);
	ck_assert_uint_eq(log.synced, 10);
	ck_assert_int_eq(log.result, WHORL_DISK);
}

/* ---- crashes ---------------------------------------------------------------------------------------------------------------------------------- */

/* A node is killed in the sync: the call stands still for ever; what ends it lets it fail. What it wrote is there. */
TEST_LOOP(a_process_is_killed_in_a_sync, 0, 5)
{
	struct log log, next;
	char byte;
	size_t got;

	begin_world((uint64_t)_i, false);
	open_log(&log, 0);
	run_into_sync(&log);
	wh_sim_crash(sim, 0);
	run(LONG_NS);
	ck_assert(log.inside);
	open_log(&next, 0);
	ck_assert_ptr_ne(next.env, log.env);
	ck_assert_int_eq(next.file->ops->read(next.file, 9, &byte, 1, &got, &err), WHORL_OK);
	ck_assert(got == 1 && byte == 10);
	ck_assert_uint_eq(kept(0), 0);
	ck_assert(end_log(&log, WH_NS_PER_S));
	ck_assert(!log.inside);
	ck_assert_int_eq(log.result, WHORL_DISK);
	ck_assert_uint_eq(log.synced, 0);
	ck_assert_uint_eq(kept(0), 0);
	close_log(&log);
	add(&next, 3);
	run(LONG_NS);
	ck_assert_uint_eq(kept(0), 10); /* all that was written */
	ck_assert(end_log(&next, 0));
	close_log(&next);
	wh_sim_free(sim);
}

/* With the lock: it is free when the process is gone, though nothing was closed. */
TEST_LOOP(a_lock_and_a_crash, 0, 3)
{
	struct log log, next, other;
	int holder;

	begin_world(1, true);
	open_log(&log, 0);
	open_log(&other, 1); /* of the same disk */
	ck_assert_ptr_eq(wh_sim_disk_of(sim, 0), wh_sim_disk_of(sim, 1));
	ck_assert_int_eq(log.directory->ops->lock(log.directory, &holder, &err), WHORL_OK);
	ck_assert_int_eq(other.directory->ops->lock(other.directory, &holder, &err), WHORL_AGAIN);
	ck_assert_int_gt(holder, 0);
	if (_i == 0)
		wh_sim_crash(sim, 0);
	else if (_i == 1)
		wh_sim_vanish(sim, 0);
	else
		wh_sim_exit(sim, 0);
	ck_assert_int_eq(other.directory->ops->lock(other.directory, &holder, &err), WHORL_OK);
	open_log(&next, 0);
	ck_assert_int_eq(next.directory->ops->lock(next.directory, &holder, &err), WHORL_AGAIN);
	ck_assert(end_log(&log, 0) && end_log(&other, 0) && end_log(&next, 0));
	close_log(&log);
	close_log(&other);
	close_log(&next);
	wh_sim_free(sim);
}

/* The power goes at some time: what was said to be synced is there, and sometimes more, and sometimes no more. */
TEST_LOOP(what_was_synced_survives_the_power, 0, 2)
{
	int more = 0, no_more = 0, in_call = 0;

	for (uint64_t seed = 0; seed < 300; seed++) {
		struct wh_dice dice = wh_dice_split(seed, 5);
		struct log log;
		uint64_t good;

		begin_world(seed, false);
		open_log(&log, 0);
		if (_i == 1)
			hooks = (struct hooks){.stop = wh_dice_between(&dice, 4, 20), .power = true};
		for (int i = 0; i < 8; i++) {
			add(&log, wh_dice_between(&dice, 1, 30));
			run(wh_dice_below(&dice, SYNC_NS));
		}
		wh_sim_power_loss(sim, 0);
		good = kept(0);
		ck_assert_uint_ge(good, log.synced);
		in_call += log.inside;
		more += good > log.synced;
		no_more += good == log.synced;
		ck_assert(end_log(&log, LONG_NS));
		ck_assert_uint_eq(kept(0), good);
		close_log(&log);
		wh_sim_free(sim);
	}
	ck_assert_msg(more > 20 && no_more > 20 && in_call > 100, "%d %d %d", more, no_more, in_call);
}

/* A crash before an operation: it is not done. */
TEST(a_crash_at_an_operation)
{
	struct log log;

	begin_world(1, false);
	open_log(&log, 0);
	hooks.stop = wh_sim_disk_operations(wh_sim_disk_of(sim, 0)) + 2; /* the sync */
	add(&log, 10);
	run(LONG_NS);
	ck_assert(log.inside);
	hooks.stop = 0;
	ck_assert(end_log(&log, 0));
	ck_assert_int_eq(log.result, WHORL_DISK);
	close_log(&log);
	open_log(&log, 0);
	ck_assert_int_eq(log.file->ops->sync(log.file, &err), WHORL_OK);
	ck_assert_uint_eq(kept(0), 10);
	ck_assert(end_log(&log, 0));
	close_log(&log);
	wh_sim_free(sim);
}

/* ---- jobs that are submitted ------------------------------------------------------------------------------------------------------------------- */

struct job {
	struct log *log;
	int *ended;
	enum whorl_result result;
	struct wh_file *file;
	char name[16];
};

static void make_file(void *argument)
{
	struct job *job = argument;
	struct wh_directory *directory = job->log->directory;
	struct wh_error why;

	job->result = directory->ops->open(directory, job->name, true, &job->file, &why);
	if (job->result == WHORL_OK)
		job->result = job->file->ops->sync(job->file, &why);
	if (job->result == WHORL_OK)
		job->log->env->nap(job->log->env->ctx, WH_NS_PER_MS);
	++*job->ended;
}

static void submit_jobs(struct log *log, struct job *jobs, int count, int *ended)
{
	for (int i = 0; i < count; i++) {
		jobs[i] = (struct job){.log = log, .ended = ended};
		snprintf(jobs[i].name, sizeof(jobs[i].name), "%d", i);
		log->env->submit(log->env->ctx, make_file, &jobs[i]);
	}
}

static void close_files(const struct job *jobs, int count)
{
	for (int i = 0; i < count; i++)
		if (jobs[i].file != NULL)
			jobs[i].file->ops->close(jobs[i].file);
}

TEST(jobs_wait_beside_each_other)
{
	struct log log;
	struct job jobs[8];
	int ended = 0;

	begin_world(1, false);
	open_log(&log, 0);
	for (int round = 0; round < 3; round++) {
		ended = 0;
		submit_jobs(&log, jobs, 8, &ended);
		run(WH_NS_PER_MS + SYNC_NS / 2);
		ck_assert_int_eq(ended, 0);
		run(4 * SYNC_NS);
		ck_assert_int_eq(ended, 8);
		for (int i = 0; i < 8; i++)
			ck_assert_int_eq(jobs[i].result, WHORL_OK);
		close_files(jobs, 8);
	}
	ck_assert(end_log(&log, 0));
	close_log(&log);
	wh_sim_free(sim);
}

/* A dead process's come to their ends, at once, and do nothing more to the disk. */
TEST_LOOP(jobs_of_a_dead_process_end, 0, 6)
{
	struct log log;
	struct job jobs[8];
	int ended = 0, failed = 0;
	uint64_t before;

	begin_world((uint64_t)_i, false);
	open_log(&log, 0);
	if (_i % 2 == 1)
		wh_sim_disk_hang(wh_sim_disk_of(sim, 0), true);
	submit_jobs(&log, jobs, 8, &ended);
	run(WH_NS_PER_MS / 2);
	wh_sim_crash(sim, 0);
	before = wh_sim_disk_operations(wh_sim_disk_of(sim, 0));
	run(2 * WH_NS_PER_MS);
	ck_assert_int_eq(ended, 8);
	ck_assert_uint_eq(wh_sim_disk_operations(wh_sim_disk_of(sim, 0)), before);
	for (int i = 0; i < 8; i++)
		failed += jobs[i].result == WHORL_DISK;
	ck_assert_int_eq(failed, 8);
	run(LONG_NS); /* what would have let them go on comes to nothing */
	ck_assert_int_eq(ended, 8);
	close_files(jobs, 8);
	ck_assert(end_log(&log, 0));
	close_log(&log);
	wh_sim_free(sim);
}

/* ---- determinism --------------------------------------------------------------------------------------------------------------------------------- */

static uint64_t digest_of(uint64_t seed)
{
	struct log log[2], again;
	struct job jobs[4];
	int ended = 0;
	uint64_t digest;

	begin_world(seed, false);
	open_log(&log[0], 0);
	open_log(&log[1], 1);
	for (int i = 0; i < 5; i++) {
		add(&log[0], 7);
		add(&log[1], 9);
		run(SYNC_NS / 3);
	}
	submit_jobs(&log[1], jobs, 4, &ended);
	run(SYNC_NS);
	wh_sim_power_loss(sim, 0);
	ck_assert(end_log(&log[0], LONG_NS));
	close_log(&log[0]);
	open_log(&again, 0);
	again.synced = again.wanted = kept(0);
	add(&again, 5);
	run(LONG_NS);
	ck_assert_int_eq(ended, 4);
	ck_assert(end_log(&again, LONG_NS) && end_log(&log[1], LONG_NS));
	wh_sim_note(sim, again.synced);
	digest = wh_sim_digest(sim);
	close_files(jobs, 4);
	close_log(&again);
	close_log(&log[1]);
	wh_sim_free(sim);
	return digest;
}

TEST(the_same_seed_is_the_same_run)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		ck_assert_uint_eq(digest_of(seed), digest_of(seed));
		ck_assert_uint_ne(digest_of(seed), digest_of(seed + 1));
	}
}

TEST_SUITE("sim_process")
