/* test_anew.c - the directory of one node becomes a group of its own (persistence/anew.h): what it says then, when the power goes, and what is
 * refused.
 *
 * Labels: random
 */
#include "base/crc32c.h"
#include "persistence/anew.h"
#include "persistence/identity.h"
#include "persistence/log.h"
#include "persistence/standing.h"
#include "tests/support/disk_lab.h"

#define OLD 0xabc
#define NEW 0xdef
#define BASE 0x700
#define SEGMENT "orders.0.0000000000000000.log"

static uint64_t seed;
static struct wh_error err;

/* ---- a directory that has something ----------------------------------------------------------------------------------- */

static void write_standing(struct disk_lab *lab, const struct wh_standing *standing)
{
	struct wh_standing_file file;
	struct wh_standing before;

	ck_assert_int_eq(wh_standing_open(&file, &lab->directory, &before, NULL, &err), WHORL_OK);
	wh_standing_free(&before);
	ck_assert_msg(wh_standing_write(&file, standing, &err) == WHORL_OK, "%s", err.text);
	wh_standing_close(&file);
}

/* Not whole, it left, and it has agreed to something: what a new group does not take over. */
static struct wh_shard_standing shards[] = {
	{.subgroup = 0, .shard = 0, .whole = true, .left = true, .left_at = 4},
	{.subgroup = 1, .shard = 0},
};
static struct wh_shard_begin others[] = {{.subgroup = 2, .shard = 0, .before = 0x600, .begins = 3}};

static struct wh_standing old_standing(void)
{
	static uint64_t cuts[] = {1, 0, 0};

	shards[0].before = 0x600;
	shards[0].begins = 9;
	return (struct wh_standing){.group = OLD,
				    .base = BASE,
				    .number = 7,
				    .left = true,
				    .promised = 0x900,
				    .ballot = 0x900,
				    .next = 0x800,
				    .cut_count = 3,
				    .cuts = cuts,
				    .shard_count = 2,
				    .shards = shards,
				    .other_count = 1,
				    .others = others};
}

static void write_log(struct disk_lab *lab, uint64_t group)
{
	struct wh_log_config config = {.owner = {.group = group, .group_name = "shop", .subgroup = "orders", .node = 3},
				       .fresh = 5,
				       .segment_bytes = 32768,
				       .batch_bytes = 64,
				       .batch_messages = 2};
	struct wh_log_sender sender = {1, 17};
	struct wh_log_begin begin = {BASE, 7, 0, 0, 1, &sender};
	char data[] = "an order";
	struct iovec part = {data, 8};
	struct wh_log_record record = {0, 0, 0, 1, 8, 1, &part};
	struct wh_log_batch batch = {0, 1, 0, &record, 1};
	struct wh_log_found found;
	struct wh_log *log;

	ck_assert_msg(wh_log_open(&log, &lab->directory, &config, &found, &err) == WHORL_OK, "%s", err.text);
	ck_assert_int_eq(wh_log_begin_view(log, &begin, &err), WHORL_OK);
	ck_assert_int_eq(wh_log_sync(log, &err), WHORL_OK);
	ck_assert_int_eq(wh_log_append(log, &batch, &err), WHORL_OK);
	ck_assert_int_eq(wh_log_sync(log, &err), WHORL_OK);
	wh_log_close(log);
}

static struct disk_lab *make_node(uint64_t with)
{
	struct disk_lab *lab = disk_lab_make(with);
	const struct wh_identity identity = {.group = OLD, .name = "shop", .node = 3};
	struct wh_standing standing = old_standing();

	ck_assert_int_eq(wh_identity_write(&lab->directory, &identity, &err), WHORL_OK);
	ck_assert_int_eq(wh_standing_write_view(&lab->directory, BASE, "a view", 6, &err), WHORL_OK);
	write_standing(lab, &standing);
	write_log(lab, OLD);
	return lab;
}

static struct wh_standing read_standing(struct disk_lab *lab)
{
	struct wh_standing_file file;
	struct wh_standing standing;

	ck_assert_msg(wh_standing_open(&file, &lab->directory, &standing, NULL, &err) == WHORL_OK, "%s", err.text);
	wh_standing_close(&file);
	return standing;
}

static bool is_old(struct disk_lab *lab)
{
	struct wh_standing is = read_standing(lab), expected = old_standing();
	bool same = wh_standing_equals(&is, &expected);

	wh_standing_free(&is);
	return same;
}

static void expect_new(struct disk_lab *lab)
{
	struct wh_standing is = read_standing(lab), expected = old_standing();
	struct wh_shard_standing mine[] = {shards[0], shards[1]};

	mine[0].left = false;
	mine[0].left_at = 0;
	expected.group = NEW;
	expected.alone = true;
	expected.left = false;
	expected.ballot = expected.next = 0;
	expected.cut_count = 0;
	expected.shards = mine;
	ck_assert(wh_standing_equals(&is, &expected));
	wh_standing_free(&is);
}

/* The view and the log are what they were, whatever the standing says. */
static void expect_rest(struct disk_lab *lab)
{
	struct wh_identity identity;
	struct wh_log_found found;
	unsigned char *bytes;
	struct wh_log *log;
	size_t count;

	ck_assert_int_eq(wh_identity_read(&lab->directory, &identity, &err), WHORL_OK);
	ck_assert_uint_eq(identity.group, OLD); /* what the files are of */
	ck_assert_int_eq(wh_standing_read_view(&lab->directory, BASE, &bytes, &count, &err), WHORL_OK);
	ck_assert_uint_eq(count, 6);
	free(bytes);
	ck_assert_int_eq(wh_log_open_files(&log, &lab->directory, "orders.0", &found, &err), WHORL_OK);
	ck_assert_int_eq(found.verdict, WH_LOG_WHOLE);
	ck_assert_uint_eq(wh_log_end(log).place, 1);
	wh_log_close(log);
}

TEST(it_counts_alone)
{
	struct disk_lab *lab = make_node(seed);

	ck_assert(is_old(lab));
	ck_assert_msg(wh_begin_anew(&lab->directory, NEW, &err) == WHORL_OK, "%s", err.text);
	lab_lose_power(lab);
	expect_new(lab);
	expect_rest(lab);
	lab->is_full = true;
	ck_assert_int_eq(wh_begin_anew(&lab->directory, NEW + 1, &err), WHORL_AGAIN);
	lab->is_full = false;
	expect_new(lab);
	/* Again: another identity, and nothing else. */
	ck_assert_int_eq(wh_begin_anew(&lab->directory, NEW, &err), WHORL_INVALID);
	ck_assert_int_eq(wh_begin_anew(&lab->directory, OLD, &err), WHORL_INVALID);
	ck_assert_int_eq(wh_begin_anew(&lab->directory, 0, &err), WHORL_INVALID);
	ck_assert_int_eq(wh_begin_anew(&lab->directory, NEW + 1, &err), WHORL_OK);
	disk_lab_free(lab);
}

/* The power goes in the at-th operation. *ended: there are no more. Returns whether the old group was there, with all that it had; then it is done
 * again. */
static bool lose_power_at(long at, uint64_t with, bool *ended)
{
	struct disk_lab *lab = make_node(with);
	enum whorl_result result;
	bool was_old;

	lab->power_goes = lab->operations + at;
	result = wh_begin_anew(&lab->directory, NEW, &err);
	ck_assert_int_eq(result, lab->is_down ? WHORL_DISK : WHORL_OK);
	*ended = !lab->is_down;
	lab_lose_power(lab);
	was_old = is_old(lab);
	if (was_old)
		ck_assert_int_eq(wh_begin_anew(&lab->directory, NEW, &err), WHORL_OK);
	ck_assert(!(was_old && *ended));
	expect_new(lab);
	expect_rest(lab);
	disk_lab_free(lab);
	return was_old;
}

TEST(the_power_goes_at_any_operation)
{
	unsigned old = 0, new = 0;

	for (uint64_t round = 0; round < 100; round++) {
		bool ended = false;

		for (long at = 0; !ended; at++) {
			if (lose_power_at(at, seed + round * 1000 + (uint64_t)at, &ended))
				old++;
			else
				new ++;
		}
	}
	ck_assert_uint_gt(old, 0);
	ck_assert_uint_gt(new, 100);
}

/* ---- what is refused --------------------------------------------------------------------------------------------------- */

/* And nothing was written. */
static void expect_refused(struct disk_lab *lab, enum whorl_result expected, const char *word)
{
	long operations = lab->operations;
	enum whorl_result result = wh_begin_anew(&lab->directory, NEW, &err);

	ck_assert_msg(result == expected, "%d: %s", result, err.text);
	ck_assert_msg(strstr(err.text, word) != NULL, "%s", err.text);
	ck_assert_int_eq(lab->operations, operations);
	disk_lab_free(lab);
}

TEST(rot_is_refused)
{
	struct disk_lab *lab = make_node(seed);

	lab_damage(lab, SEGMENT, 4096 + 10, 1); /* the first batch */
	expect_refused(lab, WHORL_DISK, "has rot");
	lab = make_node(seed);
	lab_damage(lab, "view-0000000000000700", 20, 1);
	expect_refused(lab, WHORL_DISK, "damaged");
	lab = make_node(seed);
	lab_damage(lab, "identity", 20, 1);
	expect_refused(lab, WHORL_DISK, "damaged");
	lab = make_node(seed);
	lab_damage(lab, "standing", 0, 65536); /* in all its places */
	expect_refused(lab, WHORL_DISK, "standing");
}

TEST(what_is_missing_is_refused)
{
	struct disk_lab *lab = make_node(seed);

	ck_assert_int_eq(lab->directory.ops->remove(&lab->directory, SEGMENT, &err), WHORL_OK);
	expect_refused(lab, WHORL_DISK, "there are 0 logs");
	lab = make_node(seed);
	ck_assert_int_eq(lab->directory.ops->remove(&lab->directory, "view-0000000000000700", &err), WHORL_OK);
	expect_refused(lab, WHORL_DISK, "is not there");
	lab = make_node(seed);
	ck_assert_int_eq(lab->directory.ops->remove(&lab->directory, "standing", &err), WHORL_OK);
	expect_refused(lab, WHORL_NOT_FOUND, "blank");
	expect_refused(disk_lab_make(seed), WHORL_NOT_FOUND, "nothing to begin with");
	lab = make_node(seed);
	shards[0].whole = false;
	write_standing(lab, &(struct wh_standing){.group = OLD, .base = BASE, .shard_count = 1, .shards = shards});
	shards[0].whole = true;
	expect_refused(lab, WHORL_NOT_FOUND, "whole");
}

/* Bytes that a later whorl has written, with their sum. */
TEST(what_is_of_others_is_refused)
{
	struct disk_lab *lab = disk_lab_make(seed);
	const struct wh_identity other = {.group = OLD + 1, .name = "shop", .node = 3};
	struct wh_standing standing = old_standing();

	ck_assert_int_eq(wh_identity_write(&lab->directory, &other, &err), WHORL_OK);
	ck_assert_int_eq(wh_standing_write_view(&lab->directory, BASE, "a view", 6, &err), WHORL_OK);
	write_standing(lab, &standing);
	write_log(lab, OLD);
	expect_refused(lab, WHORL_CONFIG, "of another group or node");
}

static struct lab_bytes *file_of(struct disk_lab *lab, const char *name)
{
	struct lab_name *found = lab_find(lab->now, name);

	ck_assert_ptr_nonnull(found);
	return &found->inode->now;
}

TEST(a_later_format_is_refused)
{
	struct disk_lab *lab = make_node(seed);
	struct lab_bytes *file = file_of(lab, "identity");
	uint32_t sum;

	file->bytes[8]++;
	sum = wh_crc32c(0, file->bytes, 92);
	for (int i = 0; i < 4; i++)
		file->bytes[92 + i] = (unsigned char)(sum >> 8 * i);
	expect_refused(lab, WHORL_CONFIG, "format");
	lab = make_node(seed);
	file = file_of(lab, SEGMENT);
	file->bytes[8]++;
	sum = wh_crc32c(0, file->bytes, 4092);
	for (int i = 0; i < 4; i++)
		file->bytes[4092 + i] = (unsigned char)(sum >> 8 * i);
	expect_refused(lab, WHORL_CONFIG, "format");
}

TEST_SUITE("anew")

int main(void)
{
	seed = test_seed(1);
	return test_main(suite());
}
