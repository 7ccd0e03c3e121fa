/* test_log_check.c - a log is read again while it is in use: what has rotted since is found, and nothing else is taken for rot.
 *
 * Labels: random
 */
#include "tests/support/log_lab.h"

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
TEST(nothing_is_taken_for_rot)
{
	uint64_t seed = test_seed(1), passes = 0;

	for (uint64_t i = 0; i < 20; i++) {
		struct lab *lab = lab_new(seed + i);
		struct wh_log_found found;

		ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
		for (int step = 0; step < 120; step++) {
			ck_assert_int_eq(lab_work(lab, 1), WHORL_OK);
			for (uint64_t calls = wh_dice_below(&lab->dice, 6); calls > 0; calls--) {
				enum wh_log_checked is = check_some(lab, &found);

				ck_assert_msg(is != WH_LOG_CHECK_ROT, "%s: %s", found.file, found.why);
				passes += is == WH_LOG_CHECK_DONE;
			}
		}
		log_lab_free(lab);
	}
	ck_assert_uint_gt(passes, 20);
}

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
	ck_assert_msg(log_lab_open(lab) == WHORL_OK, "%s", lab->err.text);
	verdict = lab->found.verdict;
	log_lab_end(lab);
	lab->config.read_only = false;
	return verdict;
}

/* A bit of any file turns while the log is open. What an opening calls rot a pass does; and it calls nothing rot that an opening takes for whole. */
TEST(what_rots_is_found)
{
	uint64_t seed = test_seed(1), rot = 0;

	for (uint64_t i = 0; i < 12; i++) {
		struct lab *lab = lab_new(seed + i);

		ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
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
			log_lab_end(lab);
			verdict = verdict_of(lab);
			ck_assert_msg(verdict != WH_LOG_ROT || is == WH_LOG_CHECK_ROT, "%s at %ju: %s", files.names[f],
				      (uintmax_t)at, lab->found.why);
			ck_assert_msg(is != WH_LOG_CHECK_ROT || verdict != WH_LOG_WHOLE, "%s at %ju: %s, and is whole",
				      files.names[f], (uintmax_t)at, found.why);
			ck_assert(is != WH_LOG_CHECK_ROT || strcmp(found.file, files.names[f]) == 0);
			rot += verdict == WH_LOG_ROT;
			ck_assert(wh_sim_disk_rot(lab->disk, LAB_PATH, files.names[f], at, 0x10));
			ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
		}
		log_lab_free(lab);
	}
	ck_assert_uint_gt(rot, 50);
}

/* The log goes on, and behind a checkpoint that needs nothing of what is damaged it is good again. */
TEST(a_checkpoint_makes_good)
{
	struct lab *lab = lab_new(test_seed(3));
	struct wh_log_found found;
	struct wh_log_statistics now;
	enum wh_log_checked is;

	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	do {
		ck_assert_int_eq(log_lab_write(lab), WHORL_OK);
		wh_log_statistics(lab->log, &now);
	} while (now.segments < 3);
	ck_assert_int_eq(finish(lab, &found), WH_LOG_CHECK_DONE);
	ck_assert(wh_sim_disk_rot(lab->disk, LAB_PATH, "orders.0.0000000000000000.log", 2 * WH_LOG_BLOCK_BYTES + 20, 1));
	ck_assert_int_eq(finish(lab, &found), WH_LOG_CHECK_ROT);
	ck_assert_str_eq(found.file, "orders.0.0000000000000000.log");
	ck_assert_int_eq(found.verdict, WH_LOG_ROT);
	for (int i = 0; (is = finish(lab, &found)) != WH_LOG_CHECK_DONE; i++) {
		ck_assert_int_lt(i, 50);
		ck_assert_int_eq(log_lab_write(lab), WHORL_OK);
		ck_assert_int_eq(lab_check_point(lab), WHORL_OK);
	}
	log_lab_free(lab);
}

/* Of all that lies in the log. */
static void check_point_at_end(struct lab *lab)
{
	struct wh_log_position position = {.point = wh_log_end(lab->log)};
	struct wh_checkpoint *checkpoint;

	ck_assert_int_eq(wh_checkpoint_begin(&checkpoint, lab->log, &position, &lab->err), WHORL_OK);
	ck_assert_int_eq(wh_checkpoint_write(checkpoint, "state", 5, &lab->err), WHORL_OK);
	ck_assert_int_eq(wh_checkpoint_sync(checkpoint, &lab->err), WHORL_OK);
	ck_assert_int_eq(wh_checkpoint_finish(checkpoint, &lab->err), WHORL_OK);
}

/* What is written to is damaged: a checkpoint makes good for that at once, and nothing more has to be written. */
TEST(the_present_segment_is_left)
{
	struct lab *lab = lab_new(test_seed(5));
	struct wh_log_found found;
	struct wh_log_statistics now;

	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	while (lab->synced < 3)
		ck_assert_int_eq(log_lab_write(lab), WHORL_OK);
	wh_log_statistics(lab->log, &now);
	ck_assert_uint_eq(now.segments, 1);
	ck_assert(wh_sim_disk_rot(lab->disk, LAB_PATH, "orders.0.0000000000000000.log", WH_LOG_BLOCK_BYTES + 20, 1));
	ck_assert_int_eq(finish(lab, &found), WH_LOG_CHECK_ROT);
	ck_assert_int_eq(finish(lab, &found), WH_LOG_CHECK_ROT);
	wh_log_statistics(lab->log, &now);
	ck_assert_uint_eq(now.segments, 2); /* another pass makes no third */
	check_point_at_end(lab);
	ck_assert_int_eq(finish(lab, &found), WH_LOG_CHECK_DONE);
	log_lab_end(lab);
	ck_assert_int_eq(verdict_of(lab), WH_LOG_WHOLE);
	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	ck_assert_int_eq(log_lab_write(lab), WHORL_OK);
	ck_assert_int_eq(finish(lab, &found), WH_LOG_CHECK_DONE);
	log_lab_free(lab);
}

/* It cannot be left, as it is empty: what it begins with is known, and written again. */
TEST(an_empty_segment_is_made_good)
{
	struct lab *lab = lab_new(test_seed(5));
	struct wh_log_found found;
	struct wh_log_statistics now;

	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	ck_assert_int_eq(finish(lab, &found), WH_LOG_CHECK_DONE);
	ck_assert(wh_sim_disk_rot(lab->disk, LAB_PATH, "orders.0.0000000000000000.log", 20, 1));
	ck_assert_int_eq(finish(lab, &found), WH_LOG_CHECK_ROT);
	ck_assert_int_eq(finish(lab, &found), WH_LOG_CHECK_DONE);
	wh_log_statistics(lab->log, &now);
	ck_assert_uint_eq(now.segments, 1);
	log_lab_end(lab);
	ck_assert_int_ne(verdict_of(lab), WH_LOG_ROT);
	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	ck_assert_int_eq(log_lab_write(lab), WHORL_OK);
	ck_assert_int_eq(finish(lab, &found), WH_LOG_CHECK_DONE);
	log_lab_free(lab);
}

/* ---- what the disk is asked for ----------------------------------------------------------------------------------------- */

#define RUN_BYTES 65536
#define BLOCKS_MOST 1024
#define HANDLES 8

/* A system that has all of a file in its memory when it is opened, and reads from the disk what it was told to forget. */
static struct watch {
	const struct wh_directory_ops *directory;
	const struct wh_file_ops *file;
	struct wh_directory_ops directory_ops;
	struct wh_file_ops file_ops;
	struct handle {
		struct wh_file *file;
		bool in_memory[BLOCKS_MOST];
	} handles[HANDLES];
	enum whorl_result opens, reads; /* what these answer */
	uint64_t read_bytes, from_memory, read_count;
	uint64_t wrong_at; /* the read with this number, from 1, has a wrong bit */
} watch;

static struct handle *handle_of(const struct wh_file *file)
{
	for (int i = 0; i < HANDLES; i++)
		if (watch.handles[i].file == file)
			return &watch.handles[i];
	ck_abort_msg("more than %d files are open", HANDLES);
}

static enum whorl_result watched_read(struct wh_file *file, uint64_t at, void *out, size_t bytes, size_t *got,
				      struct wh_error *err)
{
	struct handle *handle = handle_of(file);
	enum whorl_result result = watch.reads;

	if (result != WHORL_OK)
		return wh_error_set(err, result, "it is not read");
	result = watch.file->read(file, at, out, bytes, got, err);
	ck_assert_int_eq(result, WHORL_OK);
	if (++watch.read_count == watch.wrong_at)
		((unsigned char *)out)[50] ^= 4;
	watch.read_bytes += *got;
	for (uint64_t block = at / WH_DISK_BLOCK; block * WH_DISK_BLOCK < at + *got; block++) {
		ck_assert_uint_lt(block, BLOCKS_MOST);
		watch.from_memory += handle->in_memory[block];
		handle->in_memory[block] = true;
	}
	return result;
}

/* Whole blocks alone. */
static void watched_forget(struct wh_file *file, uint64_t at, uint64_t bytes)
{
	struct handle *handle = handle_of(file);
	uint64_t size;
	struct wh_error err;

	ck_assert_int_eq(watch.file->size(file, &size, &err), WHORL_OK);
	for (uint64_t block = (at + WH_DISK_BLOCK - 1) / WH_DISK_BLOCK; block < BLOCKS_MOST; block++)
		if ((block + 1) * WH_DISK_BLOCK <= at + bytes || at + bytes >= size)
			handle->in_memory[block] = false;
}

static void watched_close(struct wh_file *file)
{
	handle_of(file)->file = NULL;
	watch.file->close(file);
}

static enum whorl_result watched_open(struct wh_directory *directory, const char *name, bool make, struct wh_file **out,
				      struct wh_error *err)
{
	enum whorl_result result = watch.opens;
	struct handle *handle = handle_of(NULL);

	*out = NULL;
	if (result != WHORL_OK)
		return wh_error_set(err, result, "%s is not opened", name);
	result = watch.directory->open(directory, name, make, out, err);
	if (result != WHORL_OK)
		return result;
	watch.file = (*out)->ops;
	watch.file_ops = *watch.file;
	watch.file_ops.read = watched_read;
	watch.file_ops.forget = watched_forget;
	watch.file_ops.close = watched_close;
	(*out)->ops = &watch.file_ops;
	handle->file = *out;
	memset(handle->in_memory, true, sizeof(handle->in_memory));
	return WHORL_OK;
}

/* Of some segments and a state of some runs, that is watched. */
static struct lab *watched_lab(struct wh_log_statistics *now)
{
	struct lab *lab = lab_new(test_seed(4));

	watch = (struct watch){.opens = WHORL_OK, .reads = WHORL_OK};
	lab->config.segment_bytes = 8 * RUN_BYTES;
	ck_assert_int_eq(log_lab_begin(lab), WHORL_OK);
	watch.directory = lab->directory->ops;
	watch.directory_ops = *watch.directory;
	watch.directory_ops.open = watched_open;
	lab->directory->ops = &watch.directory_ops;
	ck_assert_int_eq(wh_log_open(&lab->log, lab->directory, &lab->config, &lab->found, &lab->err), WHORL_OK);
	do {
		ck_assert_int_eq(log_lab_write(lab), WHORL_OK);
		if (lab->synced % 3 == 0)
			ck_assert_int_eq(lab_check_point(lab), WHORL_OK);
		wh_log_statistics(lab->log, now);
	} while (now->checkpoint_bytes < 4 * (uint64_t)RUN_BYTES);
	do {
		ck_assert_int_eq(log_lab_write(lab), WHORL_OK);
		wh_log_statistics(lab->log, now);
	} while (now->used < 12 * (uint64_t)RUN_BYTES);
	watch.read_bytes = watch.from_memory = watch.read_count = 0;
	return lab;
}

static enum whorl_result watched_pass(struct lab *lab, enum wh_log_checked *is, struct wh_log_found *found)
{
	enum whorl_result result;

	do
		result = wh_log_check(lab->log, RUN_BYTES, is, found, &lab->err);
	while (result == WHORL_OK && *is == WH_LOG_CHECK_MORE);
	return result;
}

/* A pass reads all from the disk, and once. */
TEST(all_is_read_once_from_the_disk)
{
	struct wh_log_statistics now;
	struct lab *lab = watched_lab(&now);
	struct wh_log_found found;
	enum wh_log_checked is;

	ck_assert_int_eq(watched_pass(lab, &is, &found), WHORL_OK);
	ck_assert_int_eq(is, WH_LOG_CHECK_DONE);
	ck_assert_uint_eq(watch.from_memory, 0);
	ck_assert_uint_ge(watch.read_bytes, now.used + now.checkpoint_bytes);
	/* The header of a checkpoint, the heads of its pieces, and behind the last batch of a segment the rest of a run. */
	ck_assert_uint_le(watch.read_bytes,
			  now.used + now.checkpoint_bytes + 5 * WH_DISK_BLOCK + now.segments * RUN_BYTES);
	log_lab_free(lab);
}

/* Whatever read it is that has a wrong bit, the next one has not. */
TEST(what_is_wrong_once_is_no_rot)
{
	struct wh_log_statistics now;
	struct lab *lab = watched_lab(&now);
	struct wh_log_found found;
	enum wh_log_checked is;
	uint64_t reads;

	ck_assert_int_eq(watched_pass(lab, &is, &found), WHORL_OK);
	reads = watch.read_count;
	ck_assert_uint_gt(reads, 10);
	for (watch.wrong_at = 1; watch.wrong_at <= reads; watch.wrong_at++) {
		watch.read_count = watch.from_memory = 0;
		ck_assert_int_eq(watched_pass(lab, &is, &found), WHORL_OK);
		ck_assert_msg(is == WH_LOG_CHECK_DONE, "read %ju: %s: %s", (uintmax_t)watch.wrong_at, found.file,
			      found.why);
		ck_assert_uint_eq(watch.from_memory, 0);
	}
	log_lab_free(lab);
}

/* No memory, or no descriptor: the pass ends, wherever it is, and the next one finds the log whole. A file that is gone is rot,
 * and one that the disk cannot read. */
TEST(what_says_nothing_is_no_rot)
{
	struct wh_log_statistics now;
	struct lab *lab = watched_lab(&now);
	struct wh_log_found found;
	enum wh_log_checked is;
	unsigned opens = 0, reads = 0;

	for (unsigned calls = 0; calls < 15; calls++) {
		for (unsigned i = 0; i < calls; i++)
			ck_assert_int_eq(wh_log_check(lab->log, RUN_BYTES, &is, &found, &lab->err), WHORL_OK);
		watch.opens = WHORL_DISK;
		opens += wh_log_check(lab->log, RUN_BYTES, &is, &found, &lab->err) == WHORL_DISK;
		watch.opens = WHORL_OK;
		ck_assert_int_ne(is, WH_LOG_CHECK_ROT);
		ck_assert_int_eq(watched_pass(lab, &is, &found), WHORL_OK);
		ck_assert_int_eq(is, WH_LOG_CHECK_DONE);
		for (unsigned i = 0; i < calls; i++)
			ck_assert_int_eq(wh_log_check(lab->log, RUN_BYTES, &is, &found, &lab->err), WHORL_OK);
		watch.reads = WHORL_MEMORY;
		reads += wh_log_check(lab->log, RUN_BYTES, &is, &found, &lab->err) == WHORL_MEMORY;
		watch.reads = WHORL_OK;
		ck_assert_int_ne(is, WH_LOG_CHECK_ROT);
		ck_assert_int_eq(watched_pass(lab, &is, &found), WHORL_OK);
		ck_assert_int_eq(is, WH_LOG_CHECK_DONE);
	}
	ck_assert_uint_ge(opens, 2); /* of the state, and of a segment */
	ck_assert_uint_ge(reads, 10);
	watch.opens = WHORL_NOT_FOUND;
	ck_assert_int_eq(watched_pass(lab, &is, &found), WHORL_OK);
	ck_assert_int_eq(is, WH_LOG_CHECK_ROT);
	watch.opens = WHORL_OK;
	watch.reads = WHORL_DISK;
	ck_assert_int_eq(watched_pass(lab, &is, &found), WHORL_OK);
	ck_assert_int_eq(is, WH_LOG_CHECK_ROT);
	log_lab_free(lab);
}

TEST_SUITE("log_check")
