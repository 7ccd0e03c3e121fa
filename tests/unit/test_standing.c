/* test_standing.c - what a disk says of views (persistence/standing.h): as bytes, in its file, and when the power goes.
 *
 * Labels: random
 */
#include "persistence/standing.h"
#include "tests/support/disk_lab.h"

#define NAME "standing"

static uint64_t seed;

/* ---- standings -------------------------------------------------------------------------------------------------------- */

/* The k-th of a series, each of which differs from all others; they become longer now and then. */
static struct wh_standing nth(uint64_t k)
{
	struct wh_standing standing = {.group = 7,
				       .base = (UINT64_C(1) << 63) + k,
				       .number = k,
				       .promised = k * 3,
				       .left = k % 7 == 3,
				       .alone = k % 5 == 2,
				       .shard_count = (uint32_t)(k % 3 + k / 4 * 40),
				       .other_count = (uint32_t)(k % 4),
				       .ballot = k % 2,
				       .next = k % 2 == 0 ? 0 : k + 1,
				       .cut_count = k % 2 == 0 ? 0 : (uint32_t)k % 5};

	standing.shards = calloc(standing.shard_count + 1, sizeof(*standing.shards));
	standing.others = calloc(standing.other_count + 1, sizeof(*standing.others));
	for (uint32_t i = 0; i < standing.other_count; i++)
		standing.others[i] = (struct wh_shard_begin){100000 + i / 2, i % 2, k, k + i};
	standing.cuts = calloc(standing.cut_count + 1, sizeof(*standing.cuts));
	for (uint32_t i = 0; i < standing.shard_count; i++)
		standing.shards[i] = (struct wh_shard_standing){.subgroup = i / 2,
								.shard = i % 2,
								.before = i % 3 == 0 ? 0 : k + i,
								.begins = i % 3 == 0 ? 0 : k * i,
								.whole = i % 2 == 0,
								.left = i % 5 == 1,
								.left_at = i % 5 == 1 ? i : 0};
	for (uint32_t i = 0; i < standing.cut_count; i++)
		standing.cuts[i] = k << i;
	return standing;
}

static void write_nth(struct wh_standing_file *file, uint64_t k)
{
	struct wh_standing standing = nth(k);
	struct wh_error err;

	ck_assert_int_eq(wh_standing_write(file, &standing, &err), WHORL_OK);
	wh_standing_free(&standing);
}

static bool is_nth(const struct wh_standing *standing, uint64_t k)
{
	struct wh_standing other = nth(k);
	bool same = wh_standing_equals(standing, &other);

	wh_standing_free(&other);
	return same;
}

TEST(a_standing_is_what_its_bytes_say)
{
	for (uint64_t k = 1; k < 30; k++) {
		struct wh_standing standing = nth(k), again, copy;
		unsigned char *bytes, *bytes_again;
		size_t count, count_again;
		struct wh_error err;

		ck_assert_int_eq(wh_standing_copy(&copy, &standing), WHORL_OK);
		ck_assert(wh_standing_equals(&copy, &standing));
		ck_assert(!is_nth(&copy, k + 1));
		ck_assert_int_eq(wh_standing_encode(&bytes, &count, &standing), WHORL_OK);
		ck_assert_int_eq(wh_standing_decode(&again, bytes, count, &err), WHORL_OK);
		ck_assert(wh_standing_equals(&again, &standing));
		ck_assert_int_eq(wh_standing_encode(&bytes_again, &count_again, &again), WHORL_OK);
		ck_assert_uint_eq(count_again, count);
		ck_assert_int_eq(memcmp(bytes, bytes_again, count), 0);
		if (standing.shard_count > 3) {
			ck_assert_ptr_eq(wh_standing_shard(&again, 1, 1), &again.shards[3]);
			ck_assert_ptr_null(wh_standing_shard(&again, 1, 2));
		}
		wh_standing_free(&again);
		for (size_t less = 0; less < count; less++)
			ck_assert_int_eq(wh_standing_decode(&again, bytes, less, &err), WHORL_INVALID);
		free(bytes);
		free(bytes_again);
		wh_standing_free(&copy);
		wh_standing_free(&standing);
	}
}

/* Either they are refused, or they are the bytes of what is read. */
TEST(bytes_that_are_changed)
{
	for (uint64_t k = 1; k < 6; k++) {
		struct wh_standing standing = nth(k);
		unsigned char *bytes;
		size_t count;

		ck_assert_int_eq(wh_standing_encode(&bytes, &count, &standing), WHORL_OK);
		for (size_t at = 0; at < 8 * (count < 400 ? count : 400); at++) {
			struct wh_standing read;
			unsigned char *again;
			struct wh_error err;
			size_t count_again;

			bytes[at / 8] ^= (unsigned char)(1 << at % 8);
			if (wh_standing_decode(&read, bytes, count, &err) == WHORL_OK) {
				ck_assert_int_eq(wh_standing_encode(&again, &count_again, &read), WHORL_OK);
				ck_assert_uint_eq(count_again, count);
				ck_assert_int_eq(memcmp(bytes, again, count), 0);
				free(again);
			} else {
				ck_assert(wh_standing_is_blank(&read));
			}
			wh_standing_free(&read);
			bytes[at / 8] ^= (unsigned char)(1 << at % 8);
		}
		free(bytes);
		wh_standing_free(&standing);
	}
}

/* ---- the file --------------------------------------------------------------------------------------------------------- */

static enum whorl_result read_all(struct disk_lab *lab, struct wh_standing *out, bool *passed_over,
				  struct wh_error *err)
{
	struct wh_standing_file file;
	enum whorl_result result = wh_standing_open(&file, &lab->directory, out, passed_over, err);

	if (result == WHORL_OK)
		wh_standing_close(&file);
	return result;
}

static void expect_nth(struct disk_lab *lab, uint64_t k, bool expected_passed_over)
{
	struct wh_standing standing;
	struct wh_error err;
	bool passed_over;

	ck_assert_int_eq(read_all(lab, &standing, &passed_over, &err), WHORL_OK);
	ck_assert(k == 0 ? wh_standing_is_blank(&standing) : is_nth(&standing, k));
	ck_assert_int_eq(passed_over, expected_passed_over);
	wh_standing_free(&standing);
}

TEST(the_last_that_was_written_is_read)
{
	struct disk_lab *lab = disk_lab_make(seed);
	struct wh_standing_file file;
	struct wh_standing standing;
	struct wh_error err;

	expect_nth(lab, 0, false);
	for (uint64_t k = 1; k < 20; k++) {
		ck_assert_int_eq(wh_standing_open(&file, &lab->directory, &standing, NULL, &err), WHORL_OK);
		wh_standing_free(&standing);
		write_nth(&file, k);
		if (k % 3 == 0)
			write_nth(&file, ++k);
		wh_standing_close(&file);
		lab_lose_power(lab);
		expect_nth(lab, k, false);
	}
	ck_assert_int_eq(wh_standing_write(&(struct wh_standing_file){.directory = &lab->directory},
					   &(struct wh_standing){.group = 0}, &err),
			 WHORL_INVALID);
	disk_lab_free(lab);
}

/* So many have been written, all of one length. */
static struct disk_lab *lab_of(uint64_t count)
{
	struct disk_lab *lab = disk_lab_make(seed);
	struct wh_standing_file file;
	struct wh_standing standing;
	struct wh_error err;

	ck_assert_int_eq(wh_standing_open(&file, &lab->directory, &standing, NULL, &err), WHORL_OK);
	for (uint64_t k = 1; k <= count; k++)
		write_nth(&file, k);
	wh_standing_close(&file);
	return lab;
}

/* While a standing takes no more than a page: */
#define COPY_AT(slot, copy) (4096 + (2 * (size_t)(slot) + (copy)) * 8192)

static const size_t places[] = {0, 8, 12, 16, 40, 76}; /* in a copy */

/* Of what was written last one copy is enough, whichever it is; it is mended from that. */
TEST_LOOP(one_copy_is_enough, 0, 12)
{
	struct disk_lab *lab = lab_of(2); /* 1 in slot 0, 2 in slot 1 */
	int copy = _i % 2;
	size_t at = COPY_AT(1, copy) + places[_i / 2];
	struct wh_standing_file file;
	struct wh_standing standing;
	struct wh_error err;

	expect_nth(lab, 2, false);
	lab_damage(lab, NAME, at, 1);
	expect_nth(lab, 2, true);
	ck_assert_int_eq(wh_standing_open(&file, &lab->directory, &standing, NULL, &err), WHORL_OK);
	ck_assert_int_eq(wh_standing_mend(&file, &standing, &err), WHORL_OK);
	wh_standing_free(&standing);
	wh_standing_close(&file);
	lab_lose_power(lab);
	expect_nth(lab, 2, false);
	lab_damage(lab, NAME, COPY_AT(1, !copy) + places[_i / 2], 1); /* then the other may be lost */
	expect_nth(lab, 2, true);
	disk_lab_free(lab);
}

static void damage_slot(struct disk_lab *lab, int slot, size_t place)
{
	lab_damage(lab, NAME, COPY_AT(slot, 0) + place, 1);
	lab_damage(lab, NAME, COPY_AT(slot, 1) + place, 1);
}

TEST_LOOP(a_slot_that_does_not_check_is_passed_over, 0, 6)
{
	struct disk_lab *lab = lab_of(2); /* 1 in slot 0, 2 in slot 1 */
	struct wh_standing standing;
	struct wh_error err;
	bool passed_over;

	expect_nth(lab, 2, false);
	damage_slot(lab, 0, places[_i]);
	expect_nth(lab, 2, true);
	damage_slot(lab, 0, places[_i]);
	damage_slot(lab, 1, places[_i]);
	expect_nth(lab, 1, true);
	damage_slot(lab, 0, places[_i]);
	ck_assert_int_eq(read_all(lab, &standing, &passed_over, &err), WHORL_DISK);
	ck_assert_ptr_nonnull(strstr(err.text, "all of its places"));
	ck_assert(wh_standing_is_blank(&standing));
	disk_lab_free(lab);
}

#define HEAD_AGAIN 2048

TEST_LOOP(a_file_that_is_none, 0, 3)
{
	struct disk_lab *lab = lab_of(2);
	struct wh_standing standing;
	struct wh_error err;
	bool passed_over;

	lab_damage(lab, NAME, (size_t[]){0, 5, 12}[_i], 1);
	expect_nth(lab, 2, true); /* it stands there twice */
	lab_damage(lab, NAME, HEAD_AGAIN + (size_t[]){5, 12, 0}[_i], 1);
	ck_assert_int_eq(read_all(lab, &standing, &passed_over, &err), WHORL_DISK);
	ck_assert_ptr_nonnull(strstr(err.text, "standing: "));
	disk_lab_free(lab);
}

/* After each operation that a series of writes consists of. What was written last, and returned, is there, or the one that was under way;
 * after that more can be written. */
TEST_LOOP(the_power_goes_at_any_operation, 0, 20)
{
	bool ended = false;

	for (long at = 0; !ended; at++) {
		struct disk_lab *lab = disk_lab_make(seed + (uint64_t)_i * 1000 + (uint64_t)at);
		struct wh_standing_file file;
		struct wh_standing standing;
		struct wh_error err;
		uint64_t done = 0;

		lab->power_goes = at;
		ck_assert_int_eq(wh_standing_open(&file, &lab->directory, &standing, NULL, &err), WHORL_OK);
		for (uint64_t k = 1; k < 14; k++) {
			struct wh_standing next = nth(k);
			enum whorl_result result = wh_standing_write(&file, &next, &err);

			wh_standing_free(&next);
			ck_assert_int_eq(result, lab->is_down ? WHORL_DISK : WHORL_OK);
			if (result != WHORL_OK)
				break;
			done = k;
		}
		ended = !lab->is_down;
		wh_standing_close(&file);
		lab_lose_power(lab);
		ck_assert_msg(wh_standing_open(&file, &lab->directory, &standing, NULL, &err) == WHORL_OK, "at %ld: %s",
			      at, err.text);
		ck_assert_int_eq(wh_standing_mend(&file, &standing, &err), WHORL_OK);
		ck_assert((done == 0 && wh_standing_is_blank(&standing)) || is_nth(&standing, done) ||
			  is_nth(&standing, done + 1));
		wh_standing_free(&standing);
		write_nth(&file, 15);
		write_nth(&file, 16);
		wh_standing_close(&file);
		ck_assert_int_eq(wh_standing_sweep(&lab->directory, &standing, NULL, 0, &err), WHORL_OK);
		lab_lose_power(lab);
		ck_assert_int_eq(read_all(lab, &standing, NULL, &err), WHORL_OK);
		ck_assert(is_nth(&standing, 16));
		wh_standing_free(&standing);
		disk_lab_free(lab);
	}
}

/* A process was killed in a write, and has left some of it in memory alone. What is read then is on disk when it was mended, also if the power
 * goes in that before. */
TEST_LOOP(what_is_read_is_on_disk, 0, 20)
{
	struct disk_lab *lab = disk_lab_make(seed + (uint64_t)_i);
	struct wh_standing_file file;
	struct wh_standing standing, next = nth(3), before;
	struct wh_error err;
	bool has_ended;

	ck_assert_int_eq(wh_standing_open(&file, &lab->directory, &standing, NULL, &err), WHORL_OK);
	write_nth(&file, 1);
	write_nth(&file, 2);
	lab->power_goes = lab->operations + _i % 3; /* in a copy, the other, the sync; but what is in memory stays */
	ck_assert_int_eq(wh_standing_write(&file, &next, &err), WHORL_DISK);
	lab->is_down = false;
	wh_standing_free(&next);
	wh_standing_close(&file);
	ck_assert_int_eq(wh_standing_open(&file, &lab->directory, &before, NULL, &err), WHORL_OK);
	lab->power_goes = _i % 4 == 3 ? -1 : lab->operations + _i % 4;
	has_ended = wh_standing_mend(&file, &before, &err) == WHORL_OK;
	ck_assert_int_eq(has_ended, !lab->is_down);
	wh_standing_close(&file);
	lab_lose_power(lab);
	ck_assert_int_eq(read_all(lab, &standing, NULL, &err), WHORL_OK);
	ck_assert(is_nth(&standing, 2) || is_nth(&standing, 3));
	ck_assert(!has_ended || wh_standing_equals(&standing, &before));
	wh_standing_free(&standing);
	wh_standing_free(&before);
	disk_lab_free(lab);
}

/* What lies there is not known then, so nothing may be built on it in this life. */
TEST(no_write_follows_one_that_failed)
{
	struct disk_lab *lab = lab_of(2);
	struct wh_standing standing, next = nth(3);
	struct wh_standing_file file;
	struct wh_error err;

	ck_assert_int_eq(wh_standing_open(&file, &lab->directory, &standing, NULL, &err), WHORL_OK);
	wh_standing_free(&standing);
	lab->power_goes = lab->operations + 2; /* the sync */
	ck_assert_int_eq(wh_standing_write(&file, &next, &err), WHORL_DISK);
	ck_assert_ptr_nonnull(strstr(err.text, "power"));
	lab->is_down = false;
	ck_assert_int_eq(wh_standing_write(&file, &next, &err), WHORL_DISK);
	wh_standing_close(&file);
	wh_standing_free(&next);
	disk_lab_free(lab);
}

/* Without room it is tried again, be it the first one, one that needs a larger file, or one in a slot: until then the one before counts, also
 * if the power goes. */
TEST_LOOP(without_room_it_is_tried_again, 0, 4)
{
	struct disk_lab *lab = _i == 0 ? disk_lab_make(seed) : lab_of(2);
	struct wh_standing standing, next = nth(_i == 1 ? 30 : 3);
	struct wh_standing_file file;
	struct wh_error err;

	ck_assert_int_eq(wh_standing_open(&file, &lab->directory, &standing, NULL, &err), WHORL_OK);
	wh_standing_free(&standing);
	lab->is_full = true;
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(wh_standing_write(&file, &next, &err), WHORL_AGAIN);
	ck_assert_ptr_nonnull(strstr(err.text, "standing: "));
	lab->is_full = false;
	if (_i < 3)
		ck_assert_int_eq(wh_standing_write(&file, &next, &err), WHORL_OK);
	wh_standing_close(&file);
	lab_lose_power(lab);
	ck_assert_int_eq(read_all(lab, &standing, NULL, &err), WHORL_OK);
	ck_assert(_i < 3 ? wh_standing_equals(&standing, &next) : is_nth(&standing, 2));
	wh_standing_free(&standing);
	wh_standing_free(&next);
	disk_lab_free(lab);
}

/* ---- views ------------------------------------------------------------------------------------------------------------ */

static void write_view(struct disk_lab *lab, uint64_t key, const char *text)
{
	struct wh_error err;

	ck_assert_int_eq(wh_standing_write_view(&lab->directory, key, text, strlen(text), &err), WHORL_OK);
}

/* NULL: there is none. */
static void expect_view(struct disk_lab *lab, uint64_t key, const char *text)
{
	unsigned char *bytes;
	struct wh_error err;
	size_t count;
	enum whorl_result result = wh_standing_read_view(&lab->directory, key, &bytes, &count, &err);

	ck_assert_int_eq(result, text != NULL ? WHORL_OK : WHORL_NOT_FOUND);
	if (text == NULL)
		return;
	ck_assert_uint_eq(count, strlen(text));
	ck_assert_int_eq(memcmp(bytes, text, count), 0);
	free(bytes);
}

TEST(views_are_read_by_their_keys)
{
	struct disk_lab *lab = disk_lab_make(seed);

	expect_view(lab, 0x100, NULL);
	write_view(lab, 0x100, "one");
	write_view(lab, UINT64_C(1) << 63, "another");
	write_view(lab, 0x200, "");
	lab_lose_power(lab);
	expect_view(lab, 0x100, "one");
	expect_view(lab, UINT64_C(1) << 63, "another");
	expect_view(lab, 0x200, "");
	write_view(lab, 0x100, "two");
	expect_view(lab, 0x100, "two");
	disk_lab_free(lab);
}

TEST_LOOP(a_view_that_is_damaged, 0, 19)
{
	struct disk_lab *lab = disk_lab_make(seed);
	unsigned char *bytes;
	struct wh_error err;
	size_t count;

	write_view(lab, 0x100, "one");
	lab_damage(lab, "view-0000000000000100", (size_t)_i, 1);
	ck_assert_int_eq(wh_standing_read_view(&lab->directory, 0x100, &bytes, &count, &err), WHORL_DISK);
	ck_assert_ptr_null(bytes);
	disk_lab_free(lab);
}

/* One that is called as another. */
TEST(a_view_of_another_key)
{
	struct disk_lab *lab = disk_lab_make(seed);
	unsigned char *bytes;
	struct wh_error err;
	size_t count;

	write_view(lab, 0x100, "one");
	ck_assert_int_eq(lab_rename(&lab->directory, "view-0000000000000100", "view-0000000000000101", &err), WHORL_OK);
	ck_assert_int_eq(wh_standing_read_view(&lab->directory, 0x101, &bytes, &count, &err), WHORL_DISK);
	disk_lab_free(lab);
}

TEST_LOOP(the_power_goes_while_a_view_is_written, 0, 20)
{
	bool ended = false;

	for (long at = 0; !ended; at++) {
		struct disk_lab *lab = disk_lab_make(seed + (uint64_t)_i * 1000 + (uint64_t)at);
		unsigned char *bytes;
		struct wh_error err;
		enum whorl_result result;
		size_t count;

		write_view(lab, 0x100, "one");
		lab->power_goes = lab->operations + at;
		result = wh_standing_write_view(&lab->directory, 0x100, "other", 5, &err);
		ck_assert_int_eq(result, lab->is_down ? WHORL_DISK : WHORL_OK);
		ended = !lab->is_down;
		lab_lose_power(lab);
		ck_assert_int_eq(wh_standing_read_view(&lab->directory, 0x100, &bytes, &count, &err), WHORL_OK);
		ck_assert(ended ? count == 5 : count == 3 || count == 5);
		ck_assert_int_eq(memcmp(bytes, count == 3 ? "one" : "other", count), 0);
		free(bytes);
		disk_lab_free(lab);
	}
}

TEST(views_that_nothing_names_are_removed)
{
	struct wh_standing standing = {.group = 1, .base = 0x100, .number = 2, .ballot = 1, .next = 0x200};
	struct disk_lab *lab = disk_lab_make(seed);
	const uint64_t keep[] = {0x300, 0x301};
	struct wh_file *other = NULL;
	struct wh_error err;

	for (uint64_t key = 0x100; key <= 0x500; key += 0x100)
		write_view(lab, key, "v");
	for (int i = 0; i < 4; i++) {
		const char *names[] = {"view-0000000000000600-new", "view-600", "standing-new", "batches"};

		ck_assert_int_eq(lab_open_file(&lab->directory, names[i], true, &other, &err), WHORL_OK);
		other->ops->close(other);
	}
	ck_assert_int_eq(wh_standing_sweep(&lab->directory, &standing, keep, 2, &err), WHORL_OK);
	expect_view(lab, 0x100, "v");
	expect_view(lab, 0x200, "v");
	expect_view(lab, 0x300, "v");
	expect_view(lab, 0x400, NULL);
	expect_view(lab, 0x500, NULL);
	ck_assert_ptr_null(lab_find(lab->now, "view-0000000000000600-new"));
	ck_assert_ptr_null(lab_find(lab->now, "standing-new"));
	ck_assert_ptr_nonnull(lab_find(lab->now, "view-600"));
	ck_assert_ptr_nonnull(lab_find(lab->now, "batches"));
	standing.ballot = 0;
	standing.next = 0;
	ck_assert_int_eq(wh_standing_sweep(&lab->directory, &standing, NULL, 0, &err), WHORL_OK);
	expect_view(lab, 0x100, "v");
	expect_view(lab, 0x200, NULL);
	expect_view(lab, 0x300, NULL);
	disk_lab_free(lab);
}

TEST_SUITE("standing")

int main(void)
{
	seed = test_seed(1);
	return test_main(suite());
}
