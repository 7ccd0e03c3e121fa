/* test_log_turns.c - which of a node's logs is read again, and when: the logs and their job as it sees them, on simulated disks, and a clock that
 * the test sets.
 */
#include "group/logs/logs_int.h"
#include "tests/support/log_lab.h"

#define LOGS 2
#define PASS_NS (100 * WH_NS_PER_S) /* all of them are read again in such a time */

static struct job {
	struct wh_logs logs;
	struct wh_env env;
	struct lab *labs[LOGS];
	struct wh_shard_log shards[LOGS];
	uint64_t now;
	uint64_t pieces; /* that were read */
} job;

static uint64_t now_ns(void *ctx)
{
	(void)ctx;
	return job.now;
}

static void again(void *ctx, struct wh_background *task, uint64_t ns)
{
	(void)ctx;
	(void)task;
	(void)ns;
}

static void wake(void *ctx, struct wh_background *task)
{
	(void)ctx;
	(void)task;
}

/* Logs of several segments each. */
static void begin_job(void)
{
	job = (struct job){.now = WH_NS_PER_S};
	job.env = (struct wh_env){.now_ns = now_ns, .background_again = again, .background_wake = wake};
	job.logs.config = (struct wh_logs_config){.env = &job.env, .check_ns = PASS_NS};
	job.logs.last = &job.logs.first;
	pthread_mutex_init(&job.logs.lock, NULL);
	pthread_mutex_init(&job.logs.bell, NULL);
	pthread_cond_init(&job.logs.fewer, NULL);
	for (uint32_t i = 0; i < LOGS; i++) {
		struct wh_shard_log *shard = &job.shards[i];

		job.labs[i] = lab_new(test_seed(5) + i);
		ck_assert_int_eq(log_lab_open(job.labs[i]), WHORL_OK);
		for (int k = 0; k < 40; k++)
			ck_assert_int_eq(log_lab_write(job.labs[i]), WHORL_OK);
		shard->log = job.labs[i]->log;
		shard->shard = i;
		snprintf(shard->name, sizeof(shard->name), "orders");
		shard->next = i + 1 < LOGS ? &job.shards[i + 1] : NULL;
	}
	job.logs.directory = job.labs[0]->directory;
	wh_store_relaxed(&job.logs.shards, (uint64_t)(uintptr_t)&job.shards[0]);
}

static void end_job(void)
{
	for (uint32_t i = 0; i < LOGS; i++)
		log_lab_free(job.labs[i]);
	pthread_mutex_destroy(&job.logs.lock);
	pthread_mutex_destroy(&job.logs.bell);
	pthread_cond_destroy(&job.logs.fewer);
}

static uint64_t operations(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < LOGS; i++)
		sum += wh_sim_disk_operations(job.labs[i]->disk);
	return sum;
}

/* The job comes by; returns when it is to do so again. */
static uint64_t come_by(bool busy)
{
	uint64_t before = operations(), in_ns = wh_logs_check(&job.logs, busy);

	job.pieces += operations() > before;
	return in_ns;
}

static uint64_t checks_of(uint32_t i)
{
	return wh_load_relaxed(&job.shards[i].figures.checks);
}

/* That log gets one; not all that are begun count. */
static void check_point(uint32_t i)
{
	struct wh_log_statistics now;
	struct lab *lab = job.labs[i];
	uint64_t salt = lab->mark.salt;

	while (lab->mark.salt == salt) {
		ck_assert_int_eq(log_lab_write(lab), WHORL_OK);
		ck_assert_int_eq(lab_check_point(lab), WHORL_OK);
	}
	wh_log_statistics(lab->log, &now);
	wh_store_relaxed(&job.shards[i].figures.checkpoints, wh_load_relaxed(&job.shards[i].figures.checkpoints) + 1);
}

/* One gets a checkpoint before each piece, so it is never read to its end. The other one is. */
TEST_LOOP(one_with_checkpoints_starves_no_other, 0, LOGS)
{
	uint32_t one = (uint32_t)_i;

	begin_job();
	for (int k = 0; checks_of(1 - one) < 2; k++) {
		ck_assert_int_lt(k, 100);
		check_point(one);
		job.now += come_by(false);
	}
	ck_assert_uint_eq(checks_of(one), 0);
	end_job();
}

/* Behind a checkpoint one that has rot is read at once, whichever's turn it is. */
TEST_LOOP(behind_a_checkpoint_it_is_read_at_once, 0, LOGS)
{
	uint32_t bad = (uint32_t)_i;
	uint64_t begun;

	begin_job();
	ck_assert(wh_sim_disk_rot(job.labs[bad]->disk, LAB_PATH, "orders.0.0000000000000000.log", 4096 + 40, 1));
	while (wh_load_relaxed(&job.shards[bad].figures.rot) == 0)
		job.now += come_by(false);
	ck_assert_ptr_ne(job.logs.checked, &job.shards[bad]);
	job.now += come_by(false);
	ck_assert(wh_sim_disk_rot(job.labs[bad]->disk, LAB_PATH, "orders.0.0000000000000000.log", 4096 + 40, 1));
	check_point(bad);
	begun = job.now;
	for (uint64_t in_ns; wh_load_relaxed(&job.shards[bad].figures.rot) != 0; job.now += in_ns) {
		in_ns = come_by(false);
		ck_assert_uint_lt(job.now, begun + 2 * WH_NS_PER_S);
	}
	ck_assert_uint_eq(checks_of(bad), 1);
	end_job();
}

/* Idle, or under a load that leaves no pause: all are read in the time of the configuration, and not all at once. */
TEST_LOOP(a_pass_takes_its_time, 0, 2)
{
	bool busy = _i == 1;
	uint64_t pieces = 0, last = 0;

	begin_job();
	while (checks_of(0) < 4 || checks_of(1) < 4) {
		uint64_t in_ns = come_by(busy);

		if (job.pieces != pieces) {
			ck_assert(last == 0 || job.now - last >= 40 * WH_NS_PER_MS);
			last = job.now;
		}
		pieces = job.pieces;
		job.now += busy ? 3 * WH_NS_PER_MS : in_ns;
		ck_assert_uint_lt(job.now, 10 * PASS_NS);
	}
	ck_assert_uint_gt(job.now, 2 * PASS_NS);
	ck_assert_uint_lt(job.now, 5 * PASS_NS);
	end_job();
}

/* Of what it could not do for long it makes good some, a piece at a time. */
TEST_LOOP(little_is_owed, 0, 2)
{
	uint64_t begun, pieces = 0, last = 0;

	begin_job();
	job.now += come_by(false);
	job.now += come_by(false);
	job.now += 30 * PASS_NS;
	begun = job.now;
	job.pieces = 0;
	for (; job.now < begun + WH_NS_PER_S; job.now += WH_NS_PER_MS) {
		ck_assert_uint_gt(come_by(_i == 1), 0);
		if (job.pieces == pieces)
			continue;
		ck_assert(last == 0 || job.now - last >= 40 * WH_NS_PER_MS);
		pieces = job.pieces;
		last = job.now;
	}
	ck_assert_uint_ge(pieces, 2);
	ck_assert_uint_le(pieces, 12);
	end_job();
}

/* What is said of a log goes with its files. */
TEST(rot_goes_with_the_log)
{
	struct wh_shard_standing shard = {.shard = 0};
	struct wh_shard_log *log = &job.shards[0];

	begin_job();
	snprintf(shard.name, sizeof(shard.name), "orders");
	wh_store_relaxed(&log->figures.rot, 1);
	ck_assert(wh_logs_drop_log(&job.logs, &shard));
	(void)wh_logs_work(&job.logs);
	ck_assert_ptr_null(log->log);
	job.labs[0]->log = NULL; /* it was closed */
	ck_assert_uint_eq(wh_load_relaxed(&log->figures.rot), 0);
	end_job();
}

TEST_SUITE("log_turns")
