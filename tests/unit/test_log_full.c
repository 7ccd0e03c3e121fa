/* test_log_full.c - how batches are written: a disk that has no room for one when most of it, or all, is written already: what was refused is
 * not there, whatever is written next, and where; what is laid and written later; the zeros behind small ones.
 *
 * Labels: random
 */
#include "tests/support/log_lab.h"

/* A directory and its files, in front of the simulated ones: a write may be done and refused. */
struct front_file {
	struct wh_file base;
	struct wh_file *behind;
	struct front *front;
};

struct front {
	struct wh_directory base;
	struct wh_directory *behind;
	bool refuses;
	uint64_t bytes; /* of the last write */
};

static struct wh_file *behind(struct wh_file *file)
{
	return ((struct front_file *)file)->behind;
}

static enum whorl_result front_size(struct wh_file *file, uint64_t *bytes, struct wh_error *err)
{
	return behind(file)->ops->size(behind(file), bytes, err);
}

static enum whorl_result front_read(struct wh_file *file, uint64_t at, void *out, size_t bytes, size_t *got,
				    struct wh_error *err)
{
	return behind(file)->ops->read(behind(file), at, out, bytes, got, err);
}

static enum whorl_result front_write(struct wh_file *file, uint64_t at, struct iovec *parts, int count,
				     struct wh_error *err)
{
	struct front *front = ((struct front_file *)file)->front;
	enum whorl_result result;

	front->bytes = 0;
	for (int i = 0; i < count; i++)
		front->bytes += parts[i].iov_len;
	result = behind(file)->ops->write(behind(file), at, parts, count, err);
	return result == WHORL_OK && front->refuses ? wh_error_set(err, WHORL_AGAIN, "there is no room") : result;
}

static enum whorl_result front_allocate(struct wh_file *file, uint64_t bytes, struct wh_error *err)
{
	return behind(file)->ops->allocate(behind(file), bytes, err);
}

static enum whorl_result front_truncate(struct wh_file *file, uint64_t bytes, struct wh_error *err)
{
	return behind(file)->ops->truncate(behind(file), bytes, err);
}

static enum whorl_result front_sync(struct wh_file *file, struct wh_error *err)
{
	return behind(file)->ops->sync(behind(file), err);
}

static void front_close(struct wh_file *file)
{
	behind(file)->ops->close(behind(file));
	free(file);
}

static const struct wh_file_ops front_file_ops = {.size = front_size,
						  .read = front_read,
						  .write = front_write,
						  .allocate = front_allocate,
						  .truncate = front_truncate,
						  .sync = front_sync,
						  .close = front_close};

static enum whorl_result front_open(struct wh_directory *base, const char *name, bool make, struct wh_file **out,
				    struct wh_error *err)
{
	struct front *front = (struct front *)base;
	struct front_file *file = calloc(1, sizeof(*file));
	enum whorl_result result = front->behind->ops->open(front->behind, name, make, &file->behind, err);

	*out = &file->base;
	file->base.ops = &front_file_ops;
	file->front = front;
	if (result != WHORL_OK)
		free(file);
	return result;
}

static enum whorl_result front_rename(struct wh_directory *base, const char *from, const char *to, struct wh_error *err)
{
	struct wh_directory *directory = ((struct front *)base)->behind;

	return directory->ops->rename(directory, from, to, err);
}

static enum whorl_result front_remove(struct wh_directory *base, const char *name, struct wh_error *err)
{
	struct wh_directory *directory = ((struct front *)base)->behind;

	return directory->ops->remove(directory, name, err);
}

static enum whorl_result front_sync_names(struct wh_directory *base, struct wh_error *err)
{
	struct wh_directory *directory = ((struct front *)base)->behind;

	return directory->ops->sync(directory, err);
}

static enum whorl_result front_list(struct wh_directory *base, void (*each)(void *ctx, const char *name), void *ctx,
				    struct wh_error *err)
{
	struct wh_directory *directory = ((struct front *)base)->behind;

	return directory->ops->list(directory, each, ctx, err);
}

static const struct wh_directory_ops front_ops = {.open = front_open,
						  .rename = front_rename,
						  .remove = front_remove,
						  .sync = front_sync_names,
						  .list = front_list};

static void open_behind_front(struct lab *lab, struct front *front)
{
	ck_assert_int_eq(log_lab_begin(lab), WHORL_OK);
	*front = (struct front){.base.ops = &front_ops, .behind = lab->directory};
	ck_assert_int_eq(wh_log_open(&lab->log, &front->base, &lab->config, &lab->found, &lab->err), WHORL_OK);
}

static void refuse_and_go_on(uint64_t seed)
{
	struct lab *lab = lab_new(seed);
	struct front front;
	uint32_t refused = 0;

	open_behind_front(lab, &front);
	for (int i = 0; i < 60; i++) {
		enum whorl_result result;

		front.refuses = wh_dice_one_in(&lab->dice, 4);
		result = log_lab_write(lab); /* another one, if the one before was refused */
		ck_assert(result == (front.refuses ? WHORL_AGAIN : WHORL_OK) || result == WHORL_AGAIN);
		refused += result == WHORL_AGAIN;
		front.refuses = false;
		if (result == WHORL_OK)
			ck_assert_int_eq(wh_log_prepare(lab->log, &lab->err), WHORL_OK);
	}
	ck_assert_uint_gt(refused, 1);
	ck_assert_int_eq(log_lab_write(lab), WHORL_OK);
	lab_again(lab);
	lab_again_whole(lab);
	log_lab_free(lab);
}

TEST(refused_when_it_was_written)
{
	uint64_t seed = test_seed(1);

	for (uint64_t i = 0; i < 60; i++)
		refuse_and_go_on(seed + i);
}

/* The process ends behind such a batch: then it may be there, whole or not at all. */
TEST(refused_and_ended)
{
	uint64_t seed = test_seed(1000);

	for (uint64_t i = 0; i < 40; i++) {
		struct lab *lab = lab_new(seed + i);
		struct front front;

		open_behind_front(lab, &front);
		ck_assert_int_eq(lab_work(lab, 1 + (uint32_t)(i % 20)), WHORL_OK);
		front.refuses = true;
		ck_assert_int_eq(log_lab_write(lab), WHORL_AGAIN);
		lab_again(lab);
		ck_assert_int_eq(lab_work(lab, 10), WHORL_OK);
		lab_again(lab);
		log_lab_free(lab);
	}
}

/* ---- laid, then written ------------------------------------------------------------------------------------------------ */

#define DATA_BYTES 20000

static void begin_view(struct lab *lab)
{
	const struct wh_log_sender sender = {.id = 1, .incarnation = 1};

	ck_assert_int_eq(wh_log_begin_view(lab->log,
					   &(struct wh_log_begin){
						   .key = 9,
						   .number = lab->log != NULL ? wh_log_end(lab->log).number + 1 : 1,
						   .sender_count = 1,
						   .senders = &sender},
					   &lab->err),
			 WHORL_OK);
	ck_assert_int_eq(wh_log_sync(lab->log, &lab->err), WHORL_OK);
}

/* One message of that many bytes, at the end; they may be another's as soon as it is laid. */
static enum whorl_result lay(struct lab *lab, uint32_t bytes, unsigned char with)
{
	static unsigned char data[DATA_BYTES];
	struct iovec part = {data, bytes};
	uint64_t place = wh_log_end(lab->log).place;
	const struct wh_log_record record = {
		.place = place, .index = place, .slots = 1, .bytes = bytes, .part_count = 1, .parts = &part};
	enum whorl_result result;

	memset(data, with, bytes);
	result = wh_log_lay(lab->log,
			    &(struct wh_log_batch){.first = place, .next = place + 1, .records = &record, .count = 1},
			    &lab->err);
	memset(data, 0xee, sizeof(data));
	return result;
}

static void write_and_sync(struct lab *lab)
{
	ck_assert_int_eq(wh_log_write(lab->log, &lab->err), WHORL_OK);
	ck_assert_int_eq(wh_log_sync(lab->log, &lab->err), WHORL_OK);
}

/* All messages that are there, each by its first byte. */
static void expect_messages(struct lab *lab, const char *expected)
{
	struct wh_log_cursor *cursor;
	struct wh_log_entry entry;
	char got[32] = "";
	size_t count = 0;

	ck_assert_int_eq(wh_log_cursor_open(&cursor, lab->log, NULL, NULL, &lab->err), WHORL_OK);
	do {
		ck_assert_int_eq(wh_log_cursor_next(cursor, &entry, &lab->err), WHORL_OK);
		if (entry.kind == WH_LOG_MESSAGE)
			got[count++] = *(const char *)entry.message.data;
	} while (entry.kind != WH_LOG_END && count < sizeof(got) - 1);
	wh_log_cursor_close(cursor);
	ck_assert_str_eq(got, expected);
}

TEST(what_is_laid_is_written_when_there_is_room)
{
	struct lab *lab = lab_new(5);
	struct front front;

	open_behind_front(lab, &front);
	begin_view(lab);
	ck_assert_int_eq(wh_log_write(lab->log, &lab->err), WHORL_INVALID); /* nothing is laid */
	ck_assert_int_eq(lay(lab, 100, 'a'), WHORL_OK);
	front.refuses = true;
	ck_assert_int_eq(wh_log_write(lab->log, &lab->err), WHORL_AGAIN);
	ck_assert_int_eq(wh_log_write(lab->log, &lab->err), WHORL_AGAIN);
	front.refuses = false;
	write_and_sync(lab);
	ck_assert_int_eq(wh_log_write(lab->log, &lab->err), WHORL_INVALID);
	ck_assert_int_eq(lay(lab, 100, 'b'), WHORL_OK);
	ck_assert_int_eq(wh_log_write(lab->log, &lab->err), WHORL_OK);
	ck_assert_int_eq(lay(lab, 100, 'c'), WHORL_INVALID); /* the one before is not synced */
	ck_assert_int_eq(wh_log_sync(lab->log, &lab->err), WHORL_OK);
	expect_messages(lab, "ab");
	log_lab_free(lab);
}

/* By whatever else is written: a cap, a view, another batch. */
TEST(what_is_laid_may_be_given_up)
{
	struct lab *lab = lab_new(6);
	struct front front;

	open_behind_front(lab, &front);
	begin_view(lab);
	ck_assert_int_eq(lay(lab, 100, 'a'), WHORL_OK);
	ck_assert_int_eq(lay(lab, 100, 'b'), WHORL_OK);
	write_and_sync(lab);
	ck_assert_int_eq(lay(lab, 100, 'c'), WHORL_OK);
	ck_assert_int_eq(wh_log_cap(lab->log, 0, &lab->err), WHORL_OK);
	ck_assert_int_eq(wh_log_write(lab->log, &lab->err), WHORL_INVALID);
	ck_assert_int_eq(lay(lab, 100, 'd'), WHORL_OK);
	begin_view(lab);
	ck_assert_int_eq(wh_log_write(lab->log, &lab->err), WHORL_INVALID);
	log_lab_free(lab);
}

/* So small ones that follow lie where the disk has bytes already; but not where the segment ends. */
TEST(a_small_batch_brings_zeros)
{
	struct lab *lab = lab_new(7);
	struct front front;
	uint32_t with = 0, without = 0, cut = 0;

	lab->config.segment_bytes = 300000;
	lab->config.batch_bytes = DATA_BYTES + 16;
	open_behind_front(lab, &front);
	begin_view(lab);
	for (int i = 0; i < 200; i++) {
		ck_assert_int_eq(lay(lab, 100, 'a'), WHORL_OK);
		write_and_sync(lab);
		with += front.bytes == 4096 + 65536;
		without += front.bytes == 4096;
		cut += front.bytes > 4096 && front.bytes < 4096 + 65536;
	}
	ck_assert_uint_eq(with + without + cut, 200);
	ck_assert(with >= 6 && with <= 12);
	ck_assert(cut >= 1 && cut <= 4);
	ck_assert_int_eq(lay(lab, DATA_BYTES, 'b'), WHORL_OK);
	write_and_sync(lab);
	ck_assert_uint_eq(front.bytes, 20480);
	wh_log_close(lab->log);
	ck_assert_int_eq(wh_log_open(&lab->log, &front.base, &lab->config, &lab->found, &lab->err), WHORL_OK);
	ck_assert_int_eq(lab->found.verdict, WH_LOG_WHOLE);
	ck_assert_uint_eq(lab->found.end.place, 201);
	log_lab_free(lab);
}

TEST_SUITE("log_full")
