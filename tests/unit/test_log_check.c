/* test_log_check.c - a log is read again while it is in use: what has rotted since is found, and nothing else is taken for rot.
 *
 * Labels: random
 */
#include "tests/unit/log_lab.h"

#define SOME_BYTES 4096 /* for each call */

/* One call. */
static enum wh_log_checked check_some(struct lab *lab, struct wh_log_found *found)
{
	enum wh_log_checked is;

	ck_assert_msg(wh_log_check(lab->log, SOME_BYTES, &is, found, &lab->err) == WHORL_OK, "%s", lab->err.text);
	return is;
}

/* From where it is to the end of a pass. */
static enum wh_log_checked finish(struct lab *lab, struct wh_log_found *found)
{
	enum wh_log_checked is = WH_LOG_CHECK_MORE;

	for (int calls = 0; is == WH_LOG_CHECK_MORE; calls++) {
		ck_assert_int_lt(calls, 10000);
		is = check_some(lab, found);
	}
	return is;
}

/* Batches, views, checkpoints and segments come and go in the middle of passes. */
START_TEST(nothing_is_taken_for_rot)
{
	uint64_t seed = test_seed(1), passes = 0;

	for (uint64_t i = 0; i < 20; i++) {
		struct lab *lab = lab_new(seed + i);
		struct wh_log_found found;

		ck_assert_int_eq(lab_open(lab), WHORL_OK);
		for (int step = 0; step < 120; step++) {
			ck_assert_int_eq(lab_work(lab, 1), WHORL_OK);
			for (uint64_t calls = wh_dice_below(&lab->dice, 6); calls > 0; calls--) {
				enum wh_log_checked is = check_some(lab, &found);

				ck_assert_msg(is != WH_LOG_CHECK_ROT, "%s: %s", found.file, found.why);
				passes += is == WH_LOG_CHECK_DONE;
			}
		}
		lab_free(lab);
	}
	ck_assert_uint_gt(passes, 20);
}
END_TEST

struct files {
	char names[32][WH_FILE_NAME_BYTES];
	uint64_t bytes[32];
	uint32_t count;
};

static void add_file(void *ctx, const char *path, const char *name, uint64_t bytes)
{
	struct files *files = ctx;

	if (strcmp(path, LAB_PATH) != 0 || strcmp(name, "lock") == 0)
		return;
	ck_assert_uint_lt(files->count, 32);
	snprintf(files->names[files->count], WH_FILE_NAME_BYTES, "%s", name);
	files->bytes[files->count++] = bytes;
}

/* What it would be, if it were opened now. */
static enum wh_log_verdict verdict_of(struct lab *lab)
{
	enum wh_log_verdict verdict;

	lab->config.read_only = true;
	ck_assert_msg(lab_open(lab) == WHORL_OK, "%s", lab->err.text);
	verdict = lab->found.verdict;
	lab_end(lab);
	lab->config.read_only = false;
	return verdict;
}

/* A bit of any file turns while the log is open. What an opening calls rot a pass does; and it calls nothing rot that an opening takes for whole. */
START_TEST(what_rots_is_found)
{
	uint64_t seed = test_seed(1), rot = 0;

	for (uint64_t i = 0; i < 12; i++) {
		struct lab *lab = lab_new(seed + i);

		ck_assert_int_eq(lab_open(lab), WHORL_OK);
		ck_assert_int_eq(lab_work(lab, 12 + 3 * (uint32_t)i), WHORL_OK);
		for (int k = 0; k < 60; k++) {
			struct files files = {.count = 0};
			struct wh_log_found found = {.verdict = WH_LOG_WHOLE};
			enum wh_log_checked is;
			enum wh_log_verdict verdict;
			uint64_t at;
			uint32_t f;

			wh_sim_disk_each(lab->disk, add_file, &files);
			f = (uint32_t)wh_dice_below(&lab->dice, files.count);
			at = wh_dice_below(&lab->dice, wh_dice_one_in(&lab->dice, 3) ? 8192 : files.bytes[f]);
			if (at >= files.bytes[f] || !wh_sim_disk_rot(lab->disk, LAB_PATH, files.names[f], at, 0x10))
				continue;
			is = finish(lab, &found);
			lab_end(lab);
			verdict = verdict_of(lab);
			ck_assert_msg(verdict != WH_LOG_ROT || is == WH_LOG_CHECK_ROT, "%s at %ju: %s", files.names[f],
				      (uintmax_t)at, lab->found.why);
			ck_assert_msg(is != WH_LOG_CHECK_ROT || verdict != WH_LOG_WHOLE, "%s at %ju: %s, and is whole",
				      files.names[f], (uintmax_t)at, found.why);
			ck_assert(is != WH_LOG_CHECK_ROT || strcmp(found.file, files.names[f]) == 0);
			rot += verdict == WH_LOG_ROT;
			ck_assert(wh_sim_disk_rot(lab->disk, LAB_PATH, files.names[f], at, 0x10));
			ck_assert_int_eq(lab_open(lab), WHORL_OK);
		}
		lab_free(lab);
	}
	ck_assert_uint_gt(rot, 50);
}
END_TEST

/* The log goes on, and behind a checkpoint that needs nothing of what is damaged it is good again. */
START_TEST(a_checkpoint_makes_good)
{
	struct lab *lab = lab_new(test_seed(3));
	struct wh_log_found found;
	struct wh_log_statistics now;
	enum wh_log_checked is;

	ck_assert_int_eq(lab_open(lab), WHORL_OK);
	do {
		ck_assert_int_eq(lab_write(lab), WHORL_OK);
		wh_log_statistics(lab->log, &now);
	} while (now.segments < 3);
	ck_assert_int_eq(finish(lab, &found), WH_LOG_CHECK_DONE);
	ck_assert(wh_sim_disk_rot(lab->disk, LAB_PATH, "orders.0.0000000000000000.log", 2 * WH_LOG_BLOCK_BYTES + 20, 1));
	ck_assert_int_eq(finish(lab, &found), WH_LOG_CHECK_ROT);
	ck_assert_str_eq(found.file, "orders.0.0000000000000000.log");
	ck_assert_int_eq(found.verdict, WH_LOG_ROT);
	for (int i = 0; (is = finish(lab, &found)) != WH_LOG_CHECK_DONE; i++) {
		ck_assert_int_lt(i, 50);
		ck_assert_int_eq(lab_write(lab), WHORL_OK);
		ck_assert_int_eq(lab_check_point(lab), WHORL_OK);
	}
	lab_free(lab);
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("log_check");
	TCase *all = tcase_create("all");

	tcase_add_test(all, nothing_is_taken_for_rot);
	tcase_add_test(all, what_rots_is_found);
	tcase_add_test(all, a_checkpoint_makes_good);
	suite_add_tcase(suite, all);
	return suite;
}

int main(void)
{
	return test_main(suite());
}
