/* test_log_rot.c - damage anywhere in the files of a log: what is read is what was written, or the log has rot, or its last batch is cut off as if
 * it were torn; and what must be rot is.
 *
 * Labels: random
 */
#include "persistence/format_int.h"
#include "tests/support/log_lab.h"

struct file {
	char name[WH_FILE_NAME_BYTES];
	uint64_t bytes;
};

struct files {
	struct file of[32];
	uint32_t count;
};

static void add_file(void *ctx, const char *path, const char *name, uint64_t bytes)
{
	struct files *files = ctx;

	if (strcmp(path, LAB_PATH) != 0 || strcmp(name, "lock") == 0)
		return;
	ck_assert_uint_lt(files->count, 32);
	snprintf(files->of[files->count].name, WH_FILE_NAME_BYTES, "%s", name);
	files->of[files->count++].bytes = bytes;
}

/* A log of some segments, closed. Where its last batch begins: in *last, at *at. */
static struct lab *make_log(uint64_t seed, uint32_t steps, struct files *files)
{
	struct lab *lab = lab_new(seed);

	*files = (struct files){.count = 0};
	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	ck_assert_int_eq(lab_work(lab, steps), WHORL_OK);
	log_lab_end(lab);
	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	lab_check(lab);
	log_lab_end(lab);
	wh_sim_disk_each(lab->disk, add_file, files);
	ck_assert_uint_gt(files->count, 0);
	return lab;
}

/* It is opened without writing. True: all that was written is there, or but the last batch. */
static bool is_accepted(struct lab *lab, const char *name, uint64_t at)
{
	uint32_t synced = lab->synced, written = lab->written;
	bool accepted;

	lab->config.read_only = true;
	ck_assert_msg(log_lab_open(lab) == WHORL_OK, "%s", lab->err.text);
	accepted = lab->found.verdict != WH_LOG_ROT;
	if (accepted) {
		lab->synced--;
		lab_check(lab);
		ck_assert_msg(lab->synced == synced || lab->found.verdict == WH_LOG_TORN,
			      "%s at %ju: it ends before its end, and is said to be whole", name, (uintmax_t)at);
	} else {
		ck_assert_uint_gt(strlen(lab->found.why), 0);
	}
	log_lab_end(lab);
	lab->config.read_only = false;
	lab->synced = synced;
	lab->written = written;
	return accepted;
}

TEST_CASE("flips");

TEST(bits_flip)
{
	uint64_t seed = test_seed(1), accepted = 0, rot = 0;

	for (uint64_t i = 0; i < 12; i++) {
		struct files files;
		struct lab *lab = make_log(seed + i, 12 + 3 * (uint32_t)i, &files);

		for (int k = 0; k < 150; k++) {
			const struct file *file = &files.of[wh_dice_below(&lab->dice, files.count)];
			uint64_t at = wh_dice_below(&lab->dice, wh_dice_one_in(&lab->dice, 3) ? 8192 : file->bytes);
			unsigned char bit = (unsigned char)(1u << wh_dice_below(&lab->dice, 8));

			if (at >= file->bytes)
				continue;
			ck_assert(wh_sim_disk_rot(lab->disk, LAB_PATH, file->name, at, bit));
			if (is_accepted(lab, file->name, at))
				accepted++;
			else
				rot++;
			ck_assert(wh_sim_disk_rot(lab->disk, LAB_PATH, file->name, at, bit));
		}
		log_lab_free(lab);
	}
	printf("%ju flips were rot, %ju were not\n", (uintmax_t)rot, (uintmax_t)accepted);
	ck_assert_uint_gt(rot, 100);
	ck_assert_uint_gt(accepted, 10);
}

/* Each byte of batches before the last is rot, of the last one torn; of that too, if it is known to have been there. */
static void flip_in_batches(struct lab *lab, const char *name, uint64_t from, uint64_t to, enum wh_log_verdict expected)
{
	for (uint64_t at = from; at < to; at += 1 + wh_dice_below(&lab->dice, 40)) {
		ck_assert(wh_sim_disk_rot(lab->disk, LAB_PATH, name, at, 0x10));
		lab->config.read_only = true;
		ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
		ck_assert_msg(lab->found.verdict == expected, "%s at %ju: %s", name, (uintmax_t)at, lab->found.why);
		log_lab_end(lab);
		lab->config.read_only = false;
		ck_assert(wh_sim_disk_rot(lab->disk, LAB_PATH, name, at, 0x10));
	}
}

/* A view and so many batches of a message each, a block each. */
static struct lab *make_log_of(uint64_t batches, struct wh_log_point *end)
{
	struct lab *lab = lab_new(7);
	struct wh_log_sender sender = {1, 5};
	struct wh_log_begin begin = {9, 0, 0, 0, 1, &sender};
	struct lab_batch batch = {.count = 1, .salt = 3, .messages = {{.slots = 1, .bytes = 3952}}};

	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	ck_assert_int_eq(wh_log_begin_view(lab->log, &begin, &lab->err), WHORL_OK);
	ck_assert_int_eq(wh_log_sync(lab->log, &lab->err), WHORL_OK);
	for (uint64_t i = 0; i < batches; i++) {
		batch.first = batch.messages[0].place = i;
		batch.next = batch.frontier = i + 1;
		ck_assert_int_eq(lab_append(lab, &batch), WHORL_INVALID); /* the frontier is not below the batch */
		batch.frontier = i;
		ck_assert_msg(lab_append(lab, &batch) == WHORL_OK, "%s", lab->err.text);
		ck_assert_int_eq(wh_log_sync(lab->log, &lab->err), WHORL_OK);
	}
	*end = wh_log_end(lab->log);
	log_lab_end(lab);
	return lab;
}

static struct lab *make_small(struct wh_log_point *end)
{
	return make_log_of(4, end);
}

TEST(rot_is_no_torn_end)
{
	struct wh_log_point known, beyond;
	struct lab *lab = make_small(&known);
	char name[] = "orders.0.0000000000000000.log";
	uint64_t block = WH_LOG_BLOCK_BYTES, last = 5 * block;

	ck_assert_uint_eq(known.place, 4);
	flip_in_batches(lab, name, 0, block, WH_LOG_ROT);         /* the header */
	flip_in_batches(lab, name, block, 2 * block, WH_LOG_ROT); /* a BEGIN */
	flip_in_batches(lab, name, 2 * block, last, WH_LOG_ROT);  /* batches but for the last */
	flip_in_batches(lab, name, last, last + block, WH_LOG_TORN);
	flip_in_batches(lab, name, last + block, last + 2 * block, WH_LOG_TORN); /* nothing lies there */
	lab->config.known = &known;
	flip_in_batches(lab, name, last, last + block, WH_LOG_ROT);
	known.place = 3;
	flip_in_batches(lab, name, last, last + block, WH_LOG_TORN);
	beyond = (struct wh_log_point){known.key, known.number, 5};
	lab->config.known = &beyond;
	lab->config.read_only = true;
	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	ck_assert_int_eq(lab->found.verdict, WH_LOG_ROT);
	log_lab_free(lab);
}

/* The log is opened, gets a cap, and the power goes. */
static void put_cap(struct lab *lab, uint64_t frontier)
{
	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	ck_assert(!wh_log_is_capped(lab->log));
	ck_assert_int_eq(wh_log_cap(lab->log, frontier, &lab->err), WHORL_OK);
	ck_assert(wh_log_is_capped(lab->log));
	ck_assert_int_eq(wh_log_cap(lab->log, frontier, &lab->err), WHORL_OK); /* there is one */
	log_lab_end(lab);
	wh_sim_disk_crash(lab->disk, &lab->power);
}

/* Below a cap all is rot, also where nothing is known from elsewhere; of the cap itself nothing is missed. */
TEST(below_a_cap_all_is_rot)
{
	struct wh_log_point end;
	struct lab *lab = make_small(&end);
	char name[] = "orders.0.0000000000000000.log";
	uint64_t block = WH_LOG_BLOCK_BYTES, cap = 6 * block;
	struct wh_log_statistics statistics;
	uint32_t count;

	put_cap(lab, 9);
	flip_in_batches(lab, name, 0, cap, WH_LOG_ROT);
	flip_in_batches(lab, name, cap, cap + block, WH_LOG_TORN);
	ck_assert(wh_sim_disk_rot(lab->disk, LAB_PATH, name, cap + 5, 1));
	for (int i = 0; i < 2; i++) { /* as it is found, and as it was mended */
		ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
		ck_assert_int_eq(lab->found.verdict, i == 0 ? WH_LOG_TORN : WH_LOG_WHOLE);
		wh_log_statistics(lab->log, &statistics);
		ck_assert_uint_eq(statistics.batches, 5);
		ck_assert_uint_eq(wh_log_end(lab->log).place, 4);
		ck_assert(!wh_log_is_capped(lab->log));
		log_lab_end(lab);
	}
	put_cap(lab, 3);
	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	ck_assert_int_eq(lab->found.verdict, WH_LOG_WHOLE);
	ck_assert(wh_log_is_capped(lab->log));
	ck_assert_uint_eq(wh_log_views(lab->log, &count)->frontier, 3);
	log_lab_free(lab);
}

/* It lies in the next file, if the last batch has filled its own. */
TEST(a_cap_in_the_next_file)
{
	struct wh_log_point end;
	struct lab *lab = make_log_of(7, &end);
	char name[] = "orders.0.0000000000000000.log", next[] = "orders.0.0000000000000001.log";
	uint64_t block = WH_LOG_BLOCK_BYTES, last = 8 * block;

	flip_in_batches(lab, name, last, last + block, WH_LOG_TORN);
	put_cap(lab, 0);
	flip_in_batches(lab, name, last, last + block, WH_LOG_ROT);
	flip_in_batches(lab, next, block, 2 * block, WH_LOG_TORN);
	log_lab_free(lab);
}

/* What a checkpoint knows to have been there is no torn end. */
TEST(a_checkpoint_knows)
{
	struct wh_log_point end;
	struct lab *lab = make_small(&end);
	struct wh_log_position position = {.point = {end.key, end.number, 2}};
	struct wh_checkpoint *checkpoint;
	uint64_t last = 5 * WH_LOG_BLOCK_BYTES;

	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	ck_assert_int_eq(wh_checkpoint_begin(&checkpoint, lab->log, &position, &lab->err), WHORL_OK);
	ck_assert_int_eq(wh_checkpoint_sync(checkpoint, &lab->err), WHORL_OK);
	ck_assert_int_eq(wh_checkpoint_finish(checkpoint, &lab->err), WHORL_OK);
	log_lab_end(lab);
	flip_in_batches(lab, "orders.0.0000000000000000.log", last, last + WH_LOG_BLOCK_BYTES, WH_LOG_ROT);
	log_lab_free(lab);
}

/* A batch with right sums that does not follow on the one before. */
TEST(the_chain_is_checked)
{
	struct wh_log_point end;
	struct lab *lab = make_small(&end);
	unsigned char bytes[WH_LOG_HEAD_BYTES];
	struct iovec part = {bytes, sizeof(bytes)};
	struct wh_log_batch_head head;
	struct wh_file *file;
	size_t got;

	ck_assert_int_eq(log_lab_begin(lab), WHORL_OK);
	ck_assert_int_eq(
		lab->directory->ops->open(lab->directory, "orders.0.0000000000000000.log", false, &file, &lab->err),
		WHORL_OK);
	ck_assert_int_eq(file->ops->read(file, 5 * WH_LOG_BLOCK_BYTES, bytes, sizeof(bytes), &got, &lab->err),
			 WHORL_OK);
	ck_assert(wh_log_batch_decode(&head, bytes) && head.number == 4);
	head.chain ^= 1;
	wh_log_batch_encode(bytes, &head);
	ck_assert_int_eq(file->ops->write(file, 5 * WH_LOG_BLOCK_BYTES, &part, 1, &lab->err), WHORL_OK);
	file->ops->close(file);
	log_lab_end(lab);
	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	ck_assert_int_eq(lab->found.verdict, WH_LOG_ROT);
	log_lab_free(lab);
}

/* Nothing of a log with rot is changed, and it is no log to write to; a new one can be made in its place. */
TEST(rot_stays)
{
	struct wh_log_point known;
	struct lab *lab = make_small(&known);
	struct wh_log_begin begin = {10, 1, 4, 0, 0, NULL};
	struct wh_log_cursor *cursor;
	unsigned char before[WH_LOG_BLOCK_BYTES], after[WH_LOG_BLOCK_BYTES];
	const char *name = "orders.0.0000000000000000.log";
	uint64_t at = 3 * WH_LOG_BLOCK_BYTES;

	ck_assert(wh_sim_disk_rot(lab->disk, LAB_PATH, name, at + 17, 1));
	ck_assert_uint_eq(wh_sim_disk_kept(lab->disk, LAB_PATH, name, at, before, sizeof(before)), sizeof(before));
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
		ck_assert_int_eq(lab->found.verdict, WH_LOG_ROT);
		ck_assert_str_eq(lab->found.file, name);
		ck_assert_int_eq(wh_log_begin_view(lab->log, &begin, &lab->err), WHORL_INVALID);
		ck_assert_int_eq(wh_log_sync(lab->log, &lab->err), WHORL_INVALID);
		ck_assert_int_eq(wh_log_cursor_open(&cursor, lab->log, NULL, NULL, &lab->err), WHORL_INVALID);
		log_lab_end(lab);
		ck_assert_uint_eq(wh_sim_disk_kept(lab->disk, LAB_PATH, name, at, after, sizeof(after)), sizeof(after));
		ck_assert_int_eq(memcmp(before, after, sizeof(before)), 0);
	}
	ck_assert_int_eq(log_lab_begin(lab), WHORL_OK);
	ck_assert_int_eq(wh_log_discard(lab->directory, "orders", 0, NULL, &lab->err), WHORL_OK);
	log_lab_end(lab);
	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	ck_assert_int_eq(lab->found.verdict, WH_LOG_BLANK);
	ck_assert_int_eq(lab_work(lab, 10), WHORL_OK);
	lab_again(lab);
	log_lab_free(lab);
}

TEST_CASE("files");

/* A file is gone, or is another's. */
TEST(files_go)
{
	uint64_t seed = test_seed(50);

	for (uint64_t i = 0; i < 20; i++) {
		struct files files;
		struct lab *lab = make_log(seed + i, 40, &files);
		uint32_t gone = (uint32_t)wh_dice_below(&lab->dice, files.count);
		bool is_last = true;

		for (uint32_t k = 0; k < files.count; k++) {
			is_last &= strcmp(files.of[k].name, files.of[gone].name) <= 0 ||
				   strstr(files.of[k].name, ".log") == NULL;
		}
		is_last &= strstr(files.of[gone].name, ".log") != NULL;
		ck_assert_int_eq(log_lab_begin(lab), WHORL_OK);
		ck_assert_int_eq(lab->directory->ops->remove(lab->directory, files.of[gone].name, &lab->err), WHORL_OK);
		log_lab_end(lab);
		lab->config.read_only = true;
		ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
		if (!is_last)
			ck_assert_msg(lab->found.verdict == WH_LOG_ROT, "%s is gone", files.of[gone].name);
		log_lab_free(lab);
	}
}

/* While it is thrown away the power goes: it is what it was, or rot, or blank. */
static bool discard_at(uint64_t seed, uint64_t operation)
{
	struct lab *lab = lab_new(seed);
	bool crashed;

	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	for (int i = 0; i < 40; i++)
		ck_assert_int_eq(log_lab_write(lab), WHORL_OK); /* without checkpoints: all segments are needed */
	log_lab_end(lab);
	ck_assert_int_eq(log_lab_begin(lab), WHORL_OK);
	wh_sim_disk_crash_at(lab->disk, wh_sim_disk_operations(lab->disk) + operation);
	crashed = wh_log_discard(lab->directory, "orders", 0, NULL, &lab->err) != WHORL_OK;
	log_lab_end(lab);
	wh_sim_disk_crash(lab->disk, &lab->power);
	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	if (lab->found.verdict == WH_LOG_BLANK)
		lab->synced = lab->written = 0;
	ck_assert(crashed || lab->found.verdict == WH_LOG_BLANK);
	if (lab->found.verdict != WH_LOG_ROT && lab->found.verdict != WH_LOG_BLANK)
		lab_check(lab);
	log_lab_free(lab);
	return crashed;
}

TEST(thrown_away)
{
	uint64_t seed = test_seed(90);

	for (uint64_t i = 0; i < 10; i++)
		for (uint64_t operation = 1; discard_at(seed + i, operation); operation++)
			;
}

TEST_SUITE("log_rot")
