/* test_log_crash.c - the power goes, or the process is killed, in every operation of the disk, also while the log is opened again; syncs fail;
 * the disk is full.
 *
 * Labels: random
 */
#include "tests/support/log_lab.h"

#define STEPS 22

/* Opened again, though the power goes in it up to three times. */
static void come_back(struct lab *lab)
{
	for (int tries = wh_dice_one_in(&lab->dice, 2) ? 3 : 0; tries > 0; tries--) {
		uint64_t now = wh_sim_disk_operations(lab->disk);

		wh_sim_disk_crash_at(lab->disk, now + 1 + wh_dice_below(&lab->dice, 40));
		if (log_lab_open(lab) == WHORL_OK && !wh_sim_disk_is_off(lab->disk)) {
			wh_sim_disk_crash_at(lab->disk, 0);
			lab_check(lab);
		}
		log_lab_end(lab);
		wh_sim_disk_crash(lab->disk, &lab->power);
	}
	wh_sim_disk_crash_at(lab->disk, 0);
	ck_assert_msg(log_lab_open(lab) == WHORL_OK, "%s", lab->err.text);
	lab_check(lab);
	lab_again_whole(lab); /* what it has said is there */
	ck_assert_int_eq(lab_work(lab, 6), WHORL_OK);
	lab_again(lab);
}

/* False: it has no such operation. */
static bool lose_power_at(uint64_t seed, uint64_t operation)
{
	struct lab *lab = lab_new(seed);
	bool crashed;
	enum whorl_result result;

	wh_sim_disk_crash_at(lab->disk, operation);
	result = log_lab_open(lab);
	if (result == WHORL_OK)
		result = lab_work(lab, STEPS);
	crashed = wh_sim_disk_is_off(lab->disk);
	ck_assert_msg(crashed || result == WHORL_OK, "%s", lab->err.text);
	log_lab_end(lab);
	wh_sim_disk_crash(lab->disk, &lab->power);
	come_back(lab);
	log_lab_free(lab);
	return crashed;
}

TEST_CASE("power");

TEST(power_lost_anywhere)
{
	uint64_t seed = test_seed(1);

	for (uint64_t i = 0; i < 3; i++) {
		uint64_t operation = 1;

		while (lose_power_at(seed + i, operation))
			operation++;
		ck_assert_uint_gt(operation, 50);
	}
}

/* The same operation of the work, and each operation of the opening behind it. */
static bool lose_power_twice(uint64_t seed, uint64_t operation, uint64_t again, bool *first)
{
	struct lab *lab = lab_new(seed);
	enum whorl_result result;
	bool crashed;

	wh_sim_disk_crash_at(lab->disk, operation);
	result = log_lab_open(lab);
	if (result == WHORL_OK)
		result = lab_work(lab, STEPS);
	*first = wh_sim_disk_is_off(lab->disk);
	log_lab_end(lab);
	wh_sim_disk_crash(lab->disk, &lab->power);
	wh_sim_disk_crash_at(lab->disk, wh_sim_disk_operations(lab->disk) + again);
	result = log_lab_open(lab);
	crashed = wh_sim_disk_is_off(lab->disk);
	ck_assert(crashed || result == WHORL_OK);
	wh_sim_disk_crash_at(lab->disk, 0);
	if (result == WHORL_OK)
		lab_check(lab);
	lab_again(lab);
	lab_again_whole(lab);
	log_lab_free(lab);
	return crashed;
}

TEST_CASE("recovery");

TEST(power_lost_anywhere_in_recovery)
{
	uint64_t seed = test_seed(100);
	bool first = true;

	for (uint64_t operation = 1; first; operation += 5)
		for (uint64_t again = 1; lose_power_twice(seed, operation, again, &first); again++)
			;
}

static bool kill_at(uint64_t seed, uint64_t operation)
{
	struct lab *lab = lab_new(seed);
	enum whorl_result result;

	lab->kill_at = operation;
	result = log_lab_open(lab);
	if (result == WHORL_OK)
		result = lab_work(lab, STEPS);
	lab->kill_at = 0;
	log_lab_end(lab);
	ck_assert_msg(log_lab_open(lab) == WHORL_OK, "%s", lab->err.text);
	lab_check(lab);       /* all that the process had written is there */
	lab_again_whole(lab); /* and now it counts */
	log_lab_free(lab);
	return result != WHORL_OK;
}

TEST_CASE("killed");

TEST(killed_anywhere)
{
	uint64_t seed = test_seed(200);

	for (uint64_t i = 0; i < 3; i++)
		for (uint64_t operation = 1; kill_at(seed + i, operation); operation++)
			;
}

/* Nothing is written any more, and no sync is tried. */
static void expect_failed(struct lab *lab)
{
	struct wh_log_begin begin = {.key = 1, .number = 1000};
	struct wh_log_batch batch = {0};
	uint64_t operations = wh_sim_disk_operations(lab->disk);
	struct wh_checkpoint *checkpoint;
	struct wh_log_position position = {.point = {1, 1000, 0}};
	struct wh_log_statistics statistics;

	ck_assert_int_eq(wh_log_sync(lab->log, &lab->err), WHORL_DISK);
	ck_assert_int_eq(wh_log_append(lab->log, &batch, &lab->err), WHORL_DISK);
	ck_assert_int_eq(wh_log_begin_view(lab->log, &begin, &lab->err), WHORL_DISK);
	ck_assert_int_eq(wh_log_prepare(lab->log, &lab->err), WHORL_DISK);
	ck_assert_int_eq(wh_checkpoint_begin(&checkpoint, lab->log, &position, &lab->err), WHORL_DISK);
	ck_assert_uint_eq(wh_sim_disk_operations(lab->disk), operations);
	wh_log_statistics(lab->log, &statistics);
	ck_assert(statistics.failed);
}

/* One operation of a kind fails; the process opens the log again, and the power goes. */
static void fail_one(uint64_t seed, enum wh_sim_disk_op op, uint32_t steps)
{
	struct lab *lab = lab_new(seed);
	enum whorl_result result;

	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	ck_assert_int_eq(lab_work(lab, steps), WHORL_OK);
	wh_sim_disk_fail(lab->disk, op, 1);
	result = lab_work(lab, STEPS);
	wh_sim_disk_fail(lab->disk, op, 0);
	ck_assert(result == WHORL_OK || result == WHORL_DISK);
	if (result == WHORL_DISK && strstr(lab->err.text, "checkpoint") == NULL && lab->synced < lab->written)
		expect_failed(lab);
	log_lab_end(lab);
	ck_assert_msg(log_lab_open(lab) == WHORL_OK, "%s", lab->err.text);
	lab_check(lab);
	lab_again(lab);
	log_lab_free(lab);
}

TEST_CASE("faults");

TEST(failing_disk)
{
	uint64_t seed = test_seed(300);

	for (uint64_t i = 0; i < 40; i++)
		for (uint32_t steps = 0; steps < 12; steps += 3) {
			fail_one(seed + i, WH_SIM_DISK_SYNC, steps);
			fail_one(seed + i, WH_SIM_DISK_WRITE, steps);
			fail_one(seed + i, WH_SIM_DISK_NAME, steps);
			fail_one(seed + i, WH_SIM_DISK_SYNC_NAMES, steps);
		}
}

/* The disk fills up and has room again: what was refused is written then, or another batch; and the power goes. */
static void fill_disk(uint64_t seed)
{
	struct lab *lab = lab_new(seed);
	struct wh_log_statistics statistics;

	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	for (int i = 0; i < 60; i++) {
		enum whorl_result result;

		wh_log_statistics(lab->log, &statistics);
		if (wh_dice_one_in(&lab->dice, 3))
			wh_sim_disk_capacity(lab->disk,
					     wh_dice_one_in(&lab->dice, 2)
						     ? 0
						     : statistics.bytes + 4096 + wh_dice_below(&lab->dice, 40000));
		result = wh_dice_one_in(&lab->dice, 5) ? wh_log_prepare(lab->log, &lab->err) : log_lab_write(lab);
		ck_assert(result == WHORL_OK || result == WHORL_AGAIN);
	}
	wh_sim_disk_capacity(lab->disk, 0);
	lab_again(lab);
	ck_assert_int_eq(lab_work(lab, 5), WHORL_OK);
	lab_again(lab);
	ck_assert_uint_gt(lab->synced, 5);
	log_lab_free(lab);
}

TEST(full_disk)
{
	uint64_t seed = test_seed(400);

	for (uint64_t i = 0; i < 100; i++)
		fill_disk(seed + i);
}

TEST_SUITE("log_crash")
