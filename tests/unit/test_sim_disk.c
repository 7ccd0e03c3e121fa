/* test_sim_disk.c - the simulated disk: what it promises, and what a loss of power may leave of what was not synced.
 * Labels: random
 */
#include <string.h>
#include <sys/uio.h>

#include "sim/disk.h"
#include "tests/harness.h"
#include "tests/support/disk_contract.h"

static struct wh_sim_disk *disk;
static struct wh_sim_disk_user *user;
static struct wh_directory *directory;
static struct wh_error err;

static struct wh_directory *open_directory(struct wh_sim_disk_user *of)
{
	const struct wh_disk *table = wh_sim_disk_table(of);
	struct wh_directory *opened;

	ck_assert_msg(table->directory(table->ctx, "logs/7", true, &opened, &err) == WHORL_OK, "%s", err.text);
	return opened;
}

static void begin(void)
{
	user = wh_sim_disk_begin(disk, 7, NULL);
	ck_assert_ptr_nonnull(user);
	directory = open_directory(user);
}

static void set_up_with(const struct wh_sim_disk_options *options)
{
	ck_assert_int_eq(wh_sim_disk_new(&disk, options, &err), WHORL_OK);
	ck_assert(wh_sim_disk_mount(disk, "logs"));
	begin();
}

static void set_up(void)
{
	const struct wh_sim_disk_options options = {.seed = 1};

	set_up_with(&options);
}

static void tear_down(void)
{
	directory->ops->close(directory);
	wh_sim_disk_free(disk);
}

static struct wh_file *open_file(const char *name)
{
	struct wh_file *file;

	ck_assert_msg(directory->ops->open(directory, name, true, &file, &err) == WHORL_OK, "%s", err.text);
	return file;
}

static enum whorl_result write_bytes(struct wh_file *file, uint64_t at, const void *bytes, size_t count)
{
	struct iovec part = {(void *)bytes, count};

	return file->ops->write(file, at, &part, 1, &err);
}

static void fill(struct wh_file *file, uint64_t at, char byte, size_t count)
{
	char bytes[8192];

	memset(bytes, byte, count);
	ck_assert_int_eq(write_bytes(file, at, bytes, count), WHORL_OK);
}

static size_t read_all(struct wh_file *file, char *out, size_t room)
{
	size_t got;

	ck_assert_int_eq(file->ops->read(file, 0, out, room, &got, &err), WHORL_OK);
	return got;
}

/* The power goes; what was open is closed, and another process begins. */
static void lose_power(uint64_t seed)
{
	struct wh_dice dice = wh_dice_split(seed, 1);

	wh_sim_disk_crash(disk, &dice);
	directory->ops->close(directory);
	begin();
}

/* ---- what any table promises ------------------------------------------------------------------------------------------------------- */

TEST_CASE("disk", .setup = set_up, .teardown = tear_down);

TEST(contract)
{
	struct wh_sim_disk_user *other = wh_sim_disk_begin(disk, 8, NULL);

	contract_of_files(directory);
	contract_of_names(directory);
	contract_of_locks(directory, open_directory(user), 7); /* of one process, */
	directory = open_directory(other);
	contract_of_directories(wh_sim_disk_table(user), "logs/8");
	lose_power(1);
}

TEST(a_lock_goes_with_its_process)
{
	struct wh_sim_disk_user *other = wh_sim_disk_begin(disk, 8, NULL);
	struct wh_directory *others = open_directory(other);
	int holder;

	ck_assert_int_eq(directory->ops->lock(directory, &holder, &err), WHORL_OK);
	ck_assert_int_eq(others->ops->lock(others, &holder, &err), WHORL_AGAIN);
	ck_assert_int_eq(holder, 7);
	wh_sim_disk_end(user);
	ck_assert_int_eq(others->ops->lock(others, &holder, &err), WHORL_OK);
	directory->ops->close(directory); /* that is another's lock */
	directory = open_directory(wh_sim_disk_begin(disk, 9, NULL));
	ck_assert_int_eq(directory->ops->lock(directory, &holder, &err), WHORL_AGAIN);
	ck_assert_int_eq(holder, 8);
	others->ops->close(others);
	ck_assert_int_eq(directory->ops->lock(directory, &holder, &err), WHORL_OK);
}

/* All that was written is there, synced or not; what the process still does is not seen. */
TEST(a_process_that_is_killed)
{
	struct wh_directory *old = directory;
	struct wh_file *file = open_file("log"), *found;
	char bytes[16];

	ck_assert_int_eq(write_bytes(file, 0, "orders", 6), WHORL_OK);
	wh_sim_disk_end(user);
	ck_assert_int_eq(write_bytes(file, 0, "voided", 6), WHORL_DISK);
	ck_assert_int_eq(file->ops->truncate(file, 0, &err), WHORL_DISK);
	ck_assert_int_eq(file->ops->allocate(file, 1000, &err), WHORL_DISK);
	ck_assert_int_eq(file->ops->sync(file, &err), WHORL_DISK);
	ck_assert_int_eq(old->ops->remove(old, "log", &err), WHORL_DISK);
	ck_assert_int_eq(old->ops->rename(old, "log", "gol", &err), WHORL_DISK);
	ck_assert_int_eq(old->ops->sync(old, &err), WHORL_DISK);
	ck_assert_int_eq(old->ops->open(old, "more", true, &found, &err), WHORL_DISK);
	begin();
	contract_expect_names(directory, "log", NULL);
	found = open_file("log");
	ck_assert_uint_eq(read_all(found, bytes, sizeof(bytes)), 6);
	ck_assert_mem_eq(bytes, "orders", 6);
	ck_assert_uint_eq(wh_sim_disk_kept(disk, "logs/7", "log", 0, bytes, 6), 0);
	ck_assert_int_eq(found->ops->sync(found, &err), WHORL_OK);
	ck_assert_uint_eq(wh_sim_disk_kept(disk, "logs/7", "log", 0, bytes, 6), 0); /* its name is not */
	ck_assert_int_eq(directory->ops->sync(directory, &err), WHORL_OK);
	ck_assert_uint_eq(wh_sim_disk_kept(disk, "logs/7", "log", 2, bytes, 16), 4);
	ck_assert_mem_eq(bytes, "ders", 4);
	file->ops->close(file);
	old->ops->close(old);
	found->ops->close(found);
}

/* ---- a loss of power ----------------------------------------------------------------------------------------------------------------- */

enum { SECTOR = WH_SECTOR_BYTES, FILE_MOST = 4 * WH_SECTOR_BYTES };

struct truth {                               /* what a file may be after a loss of power */
	uint64_t may[FILE_MOST + SECTOR][4]; /* for each byte the values that it may have */
	unsigned char now[FILE_MOST + SECTOR];
	uint64_t bytes, least, most;
};

static void may_be(struct truth *truth, uint64_t at, unsigned char value)
{
	truth->now[at] = value;
	truth->may[at][value / 64] |= UINT64_C(1) << value % 64;
}

static void set_length(struct truth *truth, uint64_t bytes)
{
	for (uint64_t at = bytes; at < truth->bytes; at++)
		may_be(truth, at, 0);
	truth->bytes = bytes;
	truth->least = truth->least < bytes ? truth->least : bytes;
	truth->most = truth->most > bytes ? truth->most : bytes;
}

static void is_so(struct truth *truth)
{
	truth->least = truth->most = truth->bytes;
	memset(truth->may, 0, sizeof(truth->may));
	for (uint64_t at = 0; at < sizeof(truth->now); at++)
		may_be(truth, at, truth->now[at]);
}

static void act(struct truth *truth, struct wh_file *file, struct wh_dice *dice)
{
	unsigned char bytes[2 * SECTOR] = {0};
	uint64_t at = wh_dice_below(dice, FILE_MOST - SECTOR), count = wh_dice_between(dice, 0, 2 * SECTOR - 1);

	switch (wh_dice_below(dice, 8)) {
	case 0:
		ck_assert_int_eq(file->ops->truncate(file, at, &err), WHORL_OK);
		set_length(truth, at);
		break;
	case 1:
		ck_assert_int_eq(file->ops->allocate(file, at, &err), WHORL_OK);
		if (at > truth->bytes)
			set_length(truth, at);
		break;
	case 2:
		ck_assert_int_eq(file->ops->sync(file, &err), WHORL_OK);
		is_so(truth);
		break;
	default:
		for (uint64_t i = 0; i < count; i++)
			bytes[i] = (unsigned char)wh_dice_roll(dice);
		ck_assert_int_eq(write_bytes(file, at, bytes, count), WHORL_OK);
		for (uint64_t i = 0; i < count; i++)
			may_be(truth, at + i, bytes[i]);
		if (count > 0 && at + count > truth->bytes)
			set_length(truth, at + count);
	}
}

/* Returns whether it is as if nothing had happened. */
static bool check_truth(struct truth *truth, struct wh_file *file, bool after_loss)
{
	static unsigned char found[FILE_MOST + SECTOR];
	uint64_t got = read_all(file, (char *)found, sizeof(found));
	bool same = got == truth->bytes && memcmp(found, truth->now, got) == 0;

	if (!after_loss) {
		ck_assert(same);
		return true;
	}
	ck_assert_uint_ge(got, truth->least);
	ck_assert_uint_le(got, truth->most);
	for (uint64_t at = 0; at < got; at++)
		ck_assert_msg((truth->may[at][found[at] / 64] >> found[at] % 64 & 1) == 1,
			      "byte %" PRIu64 " is %u, and never was", at, found[at]);
	memset(truth->now, 0, sizeof(truth->now));
	memcpy(truth->now, found, got);
	truth->bytes = got;
	is_so(truth);
	return same;
}

/* Random things are done to a file, between losses of power. */
TEST_LOOP(nothing_but_what_was_written, 0, 5)
{
	static struct truth truth;
	struct wh_dice dice = wh_dice_split(test_seed(3), (uint64_t)_i);
	struct wh_file *file = open_file("log");
	int same = 0, other = 0;

	memset(&truth, 0, sizeof(truth));
	is_so(&truth);
	ck_assert_int_eq(directory->ops->sync(directory, &err), WHORL_OK);
	for (int round = 0; round < 200; round++) {
		for (uint64_t count = wh_dice_below(&dice, 12); count > 0; count--) {
			act(&truth, file, &dice);
			check_truth(&truth, file, false);
		}
		wh_sim_disk_end(user); /* what it has written is there, to sync or to lose */
		file->ops->close(file);
		directory->ops->close(directory);
		begin();
		file = open_file("log");
		check_truth(&truth, file, false);
		file->ops->close(file);
		lose_power(wh_dice_roll(&dice));
		file = open_file("log");
		if (check_truth(&truth, file, true))
			same++;
		else
			other++;
	}
	ck_assert_int_gt(same, 20);
	ck_assert_int_gt(other, 20);
	file->ops->close(file);
}

/* Of a sector that was written twice there are all outcomes: what it was, what it became first, last, and torn ones. */
TEST(a_sector_is_new_old_or_torn)
{
	int old = 0, first = 0, last = 0, torn = 0, longer = 0;
	char found[2 * SECTOR];

	for (uint64_t seed = 0; seed < 400; seed++) {
		struct wh_file *file = open_file("log");
		size_t got;
		int runs = 0;

		fill(file, 0, 'o', SECTOR);
		ck_assert_int_eq(file->ops->sync(file, &err), WHORL_OK);
		ck_assert_int_eq(directory->ops->sync(directory, &err), WHORL_OK);
		fill(file, 0, 'f', SECTOR);
		fill(file, 0, 'l', SECTOR + 10);
		file->ops->close(file);
		lose_power(seed);
		file = open_file("log");
		got = read_all(file, found, sizeof(found));
		ck_assert_uint_ge(got, SECTOR);
		longer += got > SECTOR;
		for (int i = 1; i < SECTOR; i++)
			runs += found[i] != found[i - 1];
		old += runs == 0 && found[0] == 'o';
		first += runs == 0 && found[0] == 'f';
		last += runs == 0 && found[0] == 'l';
		torn += runs > 0;
		ck_assert_int_eq(file->ops->truncate(file, 0, &err), WHORL_OK);
		file->ops->close(file);
	}
	ck_assert_msg(old > 40 && first > 20 && last > 40 && torn > 40 && longer > 40 && longer < 360, "%d %d %d %d %d",
		      old, first, last, torn, longer);
}

/* Names: what is called so since the last sync, and no file has two. A file says in its first byte which it is. */
enum { NAMES = 4, FILES = 60 };

struct names_truth {
	int now[NAMES]; /* which file; 0: none */
	bool may[NAMES][FILES + 1];
	int files;
};

static void is_called(struct names_truth *truth, int name, int file)
{
	truth->now[name] = file;
	truth->may[name][file] = true;
}

static void names_are_so(struct names_truth *truth)
{
	memset(truth->may, 0, sizeof(truth->may));
	for (int name = 0; name < NAMES; name++)
		is_called(truth, name, truth->now[name]);
}

static const char *const names[NAMES] = {"a", "b", "c", "d"};

static void act_on_names(struct names_truth *truth, struct wh_dice *dice)
{
	int name = (int)wh_dice_below(dice, NAMES), other = (int)wh_dice_below(dice, NAMES);
	struct wh_file *file;

	switch (wh_dice_below(dice, 4)) {
	case 0:
		if (truth->now[name] != 0 || truth->files == FILES)
			return;
		file = open_file(names[name]);
		is_called(truth, name, ++truth->files);
		fill(file, 0, (char)truth->files, 1);
		ck_assert_int_eq(file->ops->sync(file, &err), WHORL_OK);
		file->ops->close(file);
		return;
	case 1:
		ck_assert_int_eq(directory->ops->rename(directory, names[name], names[other], &err),
				 truth->now[name] != 0 ? WHORL_OK : WHORL_NOT_FOUND);
		if (truth->now[name] == 0 || name == other)
			return;
		is_called(truth, other, truth->now[name]);
		is_called(truth, name, 0);
		return;
	case 2:
		ck_assert_int_eq(directory->ops->remove(directory, names[name], &err),
				 truth->now[name] != 0 ? WHORL_OK : WHORL_NOT_FOUND);
		is_called(truth, name, 0);
		return;
	default:
		if (!wh_dice_one_in(dice, 3))
			return;
		ck_assert_int_eq(directory->ops->sync(directory, &err), WHORL_OK);
		names_are_so(truth);
	}
}

static bool check_names(struct names_truth *truth, bool after_loss)
{
	bool same = true;

	for (int name = 0; name < NAMES; name++) {
		struct wh_file *file;
		char which = 0;
		int found = 0;

		if (directory->ops->open(directory, names[name], false, &file, &err) == WHORL_OK) {
			ck_assert_uint_eq(read_all(file, &which, 1), 1); /* it was synced */
			file->ops->close(file);
			found = which;
		}
		same = same && found == truth->now[name];
		ck_assert_msg(truth->may[name][found], "%s is %d, and never was", names[name], found);
		truth->now[name] = found;
		for (int before = 0; before < name; before++)
			ck_assert(found == 0 || truth->now[before] != found);
	}
	ck_assert(same || after_loss);
	names_are_so(truth);
	return same;
}

TEST_LOOP(no_names_but_what_were_given, 0, 20)
{
	struct names_truth truth = {0};
	struct wh_dice dice = wh_dice_split(test_seed(4), (uint64_t)_i);
	int same = 0, other = 0;

	names_are_so(&truth);
	for (int round = 0; round < 100; round++) {
		for (uint64_t count = wh_dice_below(&dice, 10); count > 0; count--)
			act_on_names(&truth, &dice);
		lose_power(wh_dice_roll(&dice));
		if (check_names(&truth, true))
			same++;
		else
			other++;
	}
	check_names(&truth, false);
	ck_assert_int_gt(same, 10);
	ck_assert_int_gt(other, 10);
}

/* ---- a loss of power in each operation --------------------------------------------------------------------------------------------------- */

enum care { CAREFUL, FILE_NOT_SYNCED, NAME_NOT_SYNCED, IN_PLACE, CARES };

/* Gives "state" another content. True: it says that it is on the disk. */
static bool replace(char byte, enum care care)
{
	struct wh_file *file;
	char bytes[3 * SECTOR];
	struct iovec part = {bytes, sizeof(bytes)};
	bool good;

	memset(bytes, byte, sizeof(bytes));
	if (directory->ops->open(directory, care == IN_PLACE ? "state" : "state.new", true, &file, &err) != WHORL_OK)
		return false;
	good = file->ops->write(file, 0, &part, 1, &err) == WHORL_OK &&
	       (care == FILE_NOT_SYNCED || file->ops->sync(file, &err) == WHORL_OK);
	file->ops->close(file);
	return good &&
	       (care == IN_PLACE || directory->ops->rename(directory, "state.new", "state", &err) == WHORL_OK) &&
	       (care == NAME_NOT_SYNCED || directory->ops->sync(directory, &err) == WHORL_OK);
}

/* All of one byte: that byte; 0: it is something else. */
static char content(void)
{
	struct wh_file *file = open_file("state");
	char found[4 * SECTOR];
	size_t got = read_all(file, found, sizeof(found));
	bool whole = got == 3 * SECTOR;

	file->ops->close(file);
	for (size_t i = 1; whole && i < got; i++)
		whole = found[i] == found[0];
	return whole ? found[0] : 0;
}

/* The power goes in the k-th operation of it, for each k. Returns how often the content was wrong after that. */
static int count_wrong(enum care care, uint64_t seed)
{
	int wrong = 0;

	for (uint64_t k = 1;; k++) {
		bool said, off;
		char found;

		ck_assert(replace('o', CAREFUL));
		wh_sim_disk_crash_at(disk, wh_sim_disk_operations(disk) + k);
		said = replace('n', care);
		off = wh_sim_disk_is_off(disk);
		ck_assert(!said || !off); /* it does not end well in an operation in which the power goes */
		ck_assert(said || off);
		lose_power(seed * 100 + k);
		ck_assert(!wh_sim_disk_is_off(disk));
		found = content();
		wrong += found != 'n' && (said || found != 'o');
		if (!off)
			return wrong;
	}
}

TEST(the_power_goes_in_each_operation)
{
	int wrong[CARES] = {0};

	for (uint64_t seed = 0; seed < 60; seed++)
		for (int care = 0; care < CARES; care++)
			wrong[care] += count_wrong((enum care)care, seed);
	ck_assert_int_eq(wrong[CAREFUL], 0);
	for (int care = CAREFUL + 1; care < CARES; care++)
		ck_assert_msg(wrong[care] > 3, "%d: %d", care, wrong[care]);
}

/* A directory that is being made is there or is not, and when it was made it is. */
TEST(the_power_goes_while_a_directory_is_made)
{
	const struct wh_disk *table;
	struct wh_directory *made;
	int there = 0;

	for (uint64_t i = 0; i < 40; i++) {
		char path[32];

		snprintf(path, sizeof(path), "logs/%d", (int)(100 + i));
		wh_sim_disk_crash_at(disk, wh_sim_disk_operations(disk) + 1);
		table = wh_sim_disk_table(user);
		ck_assert_int_eq(table->directory(table->ctx, path, true, &made, &err), WHORL_DISK);
		lose_power(i);
		table = wh_sim_disk_table(user);
		if (table->directory(table->ctx, path, false, &made, &err) == WHORL_OK) {
			made->ops->close(made);
			there++;
		}
		ck_assert_int_eq(table->directory(table->ctx, path, true, &made, &err), WHORL_OK);
		made->ops->close(made);
		lose_power(i);
		table = wh_sim_disk_table(user);
		ck_assert_int_eq(table->directory(table->ctx, path, false, &made, &err), WHORL_OK);
		made->ops->close(made);
	}
	ck_assert(there > 5 && there < 35);
}

/* ---- what goes wrong ------------------------------------------------------------------------------------------------------------------------ */

/* The one that fails is told; the next succeed; what was to be kept is read, and is lost. */
TEST(a_sync_that_fails_fails_once)
{
	int lost = 0;
	char found[SECTOR];

	for (uint64_t seed = 0; seed < 60; seed++) {
		struct wh_file *file = open_file("log");

		fill(file, 0, 'o', SECTOR);
		ck_assert_int_eq(file->ops->sync(file, &err), WHORL_OK);
		ck_assert_int_eq(directory->ops->sync(directory, &err), WHORL_OK);
		fill(file, 0, 'n', SECTOR);
		wh_sim_disk_fail(disk, WH_SIM_DISK_SYNC, 1);
		ck_assert_int_eq(file->ops->sync(file, &err), WHORL_DISK);
		ck_assert_int_eq(file->ops->sync(file, &err), WHORL_OK);
		ck_assert_uint_eq(read_all(file, found, SECTOR), SECTOR);
		ck_assert(found[0] == 'n' && found[SECTOR - 1] == 'n');
		file->ops->close(file);
		lose_power(seed);
		file = open_file("log");
		ck_assert_uint_eq(read_all(file, found, SECTOR), SECTOR);
		lost += found[0] != 'n' || found[SECTOR - 1] != 'n';
		file->ops->close(file);
	}
	ck_assert(lost > 15 && lost < 60);
}

TEST(a_sync_of_names_that_fails)
{
	int lost = 0;

	for (uint64_t seed = 0; seed < 60; seed++) {
		struct wh_file *file = open_file("log");

		file->ops->close(file);
		wh_sim_disk_fail(disk, WH_SIM_DISK_SYNC_NAMES, 1);
		ck_assert_int_eq(directory->ops->sync(directory, &err), WHORL_DISK);
		ck_assert_int_eq(directory->ops->sync(directory, &err), WHORL_OK);
		contract_expect_names(directory, "log", NULL);
		lose_power(seed);
		if (directory->ops->open(directory, "log", false, &file, &err) == WHORL_NOT_FOUND) {
			lost++;
			continue;
		}
		file->ops->close(file);
		ck_assert_int_eq(directory->ops->remove(directory, "log", &err), WHORL_OK);
		ck_assert_int_eq(directory->ops->sync(directory, &err), WHORL_OK);
	}
	ck_assert(lost > 15 && lost < 60);
}

TEST(other_operations_that_fail)
{
	struct wh_file *file = open_file("log"), *more;
	char byte;
	size_t got;

	wh_sim_disk_fail(disk, WH_SIM_DISK_WRITE, 2);
	ck_assert_int_eq(write_bytes(file, 0, "x", 1), WHORL_DISK);
	ck_assert_int_eq(file->ops->truncate(file, 7, &err), WHORL_DISK);
	ck_assert_msg(strstr(err.text, "logs/7/log") != NULL, "%s", err.text);
	ck_assert_int_eq(write_bytes(file, 0, "y", 1), WHORL_OK);
	wh_sim_disk_fail(disk, WH_SIM_DISK_READ, 1);
	ck_assert_int_eq(file->ops->read(file, 0, &byte, 1, &got, &err), WHORL_DISK);
	ck_assert_int_eq(file->ops->read(file, 0, &byte, 1, &got, &err), WHORL_OK);
	ck_assert(got == 1 && byte == 'y');
	wh_sim_disk_fail(disk, WH_SIM_DISK_NAME, 1);
	ck_assert_int_eq(directory->ops->open(directory, "more", true, &more, &err), WHORL_DISK);
	ck_assert_int_eq(directory->ops->open(directory, "more", false, &more, &err), WHORL_NOT_FOUND);
	file->ops->close(file);
}

/* Where no time can pass what would hang fails; the power makes it well. */
TEST(a_disk_that_hangs)
{
	struct wh_file *file = open_file("log");

	wh_sim_disk_hang(disk, true);
	ck_assert_int_eq(write_bytes(file, 0, "x", 1), WHORL_DISK);
	ck_assert_int_eq(file->ops->sync(file, &err), WHORL_DISK);
	wh_sim_disk_hang(disk, false);
	ck_assert_int_eq(write_bytes(file, 0, "x", 1), WHORL_OK);
	wh_sim_disk_hang(disk, true);
	file->ops->close(file);
	lose_power(1);
	file = open_file("log");
	ck_assert_int_eq(write_bytes(file, 0, "x", 1), WHORL_OK);
	file->ops->close(file);
}

TEST(a_disk_that_is_full)
{
	struct wh_file *file, *other = open_file("other");
	char found[8192];

	wh_sim_disk_capacity(disk, 8 * SECTOR);
	fill(other, 0, 'x', 1); /* takes a sector */
	file = open_file("log");
	fill(file, 0, 'x', 6 * SECTOR);
	ck_assert_int_eq(file->ops->allocate(file, 7 * SECTOR + 1, &err), WHORL_AGAIN);
	memset(found, 'y', 2 * SECTOR);
	ck_assert_int_eq(write_bytes(file, 6 * SECTOR - 10, found, 2 * SECTOR), WHORL_AGAIN);
	ck_assert_uint_eq(read_all(file, found, sizeof(found)), 7 * SECTOR); /* as much as fits */
	ck_assert(found[7 * SECTOR - 1] == 'y');
	ck_assert_int_eq(write_bytes(other, 0, "yy", 2), WHORL_OK);
	ck_assert_int_eq(file->ops->allocate(file, 7 * SECTOR, &err), WHORL_OK);
	ck_assert_int_eq(file->ops->truncate(file, SECTOR, &err), WHORL_OK);
	ck_assert_int_eq(file->ops->sync(file, &err), WHORL_OK);
	fill(other, 0, 'x', 7 * SECTOR);
	ck_assert_int_eq(write_bytes(file, SECTOR, "x", 1), WHORL_AGAIN);
	ck_assert_int_eq(directory->ops->remove(directory, "other", &err), WHORL_OK);
	other->ops->close(other);
	ck_assert_int_eq(directory->ops->sync(directory, &err), WHORL_OK);
	ck_assert_int_eq(write_bytes(file, SECTOR, "x", 1), WHORL_OK); /* its room is free */
	file->ops->close(file);
}

static void sum_up(void *ctx, const char *path, const char *name, uint64_t bytes)
{
	char *all = ctx;

	sprintf(all + strlen(all), "%s/%s %d ", path, name, (int)bytes);
}

TEST(rot_and_another_disk)
{
	struct wh_file *file = open_file("log");
	char all[256] = "", found[16];

	ck_assert_int_eq(write_bytes(file, 0, "orders", 6), WHORL_OK);
	ck_assert_int_eq(file->ops->sync(file, &err), WHORL_OK);
	ck_assert_int_eq(directory->ops->sync(directory, &err), WHORL_OK);
	wh_sim_disk_each(disk, sum_up, all);
	ck_assert_str_eq(all, "logs/7/log 6 ");
	ck_assert(!wh_sim_disk_rot(disk, "logs/7", "log", 6, 1));
	ck_assert(!wh_sim_disk_rot(disk, "logs/7", "gol", 0, 1));
	ck_assert(wh_sim_disk_rot(disk, "logs/7", "log", 1, 'r' ^ 'R'));
	ck_assert_uint_eq(read_all(file, found, sizeof(found)), 6);
	ck_assert_mem_eq(found, "oRders", 6);
	file->ops->close(file);
	lose_power(1);
	ck_assert_uint_eq(wh_sim_disk_kept(disk, "logs/7", "log", 0, found, 16), 6);
	ck_assert_mem_eq(found, "oRders", 6);
	wh_sim_disk_blank(disk);
	ck_assert_int_eq(directory->ops->sync(directory, &err), WHORL_DISK);
	directory->ops->close(directory);
	begin(); /* "logs" is there */
	contract_expect_names(directory, NULL, NULL);
}

/* ---- time ----------------------------------------------------------------------------------------------------------------------------------- */

struct clock {
	uint64_t ns, calls, begun[WH_SIM_DISK_OPS], last;
	struct wh_sim_disk_user *ends; /* while time passes; NULL: none */
	uint64_t stops;                /* before this operation the user ends */
};

static void pass(void *ctx, uint64_t ns)
{
	struct clock *clock = ctx;

	clock->calls++;
	clock->ns += ns;
	if (clock->ends != NULL)
		wh_sim_disk_end(clock->ends);
}

static void operates(void *ctx, enum wh_sim_disk_op op, uint64_t number)
{
	struct clock *clock = ctx;

	ck_assert_uint_eq(number, ++clock->last);
	clock->begun[op]++;
	if (number == clock->stops)
		wh_sim_disk_end(clock->ends);
}

TEST(operations_take_their_time)
{
	const struct wh_sim_disk_cost cost = {.read_min_ns = 1,
					      .read_max_ns = 1,
					      .write_min_ns = 100,
					      .write_max_ns = 100,
					      .sync_min_ns = 10000,
					      .sync_max_ns = 20000,
					      .bytes_per_s = 1000000};
	struct clock clock = {.last = wh_sim_disk_operations(disk)};
	const struct wh_sim_disk_hooks hooks = {operates, pass, &clock};
	struct wh_sim_disk_user *own = wh_sim_disk_begin(disk, 8, &hooks);
	struct wh_file *file;
	char found[16];

	directory->ops->close(directory);
	wh_sim_disk_cost_set(disk, &cost);
	directory = open_directory(own);
	file = open_file("log");
	ck_assert_uint_eq(clock.ns, 101);
	fill(file, 0, 'x', 2 * SECTOR);
	ck_assert_uint_eq(clock.ns, 201);
	ck_assert_int_eq(file->ops->sync(file, &err), WHORL_OK);
	ck_assert_uint_ge(clock.ns, 201 + 10000 + 1024000);
	ck_assert_uint_le(clock.ns, 201 + 20000 + 1024000);
	ck_assert_int_eq(directory->ops->sync(directory, &err), WHORL_OK);
	ck_assert(clock.begun[WH_SIM_DISK_READ] == 1 && clock.begun[WH_SIM_DISK_WRITE] == 1 &&
		  clock.begun[WH_SIM_DISK_SYNC] == 1 && clock.begun[WH_SIM_DISK_NAME] == 1 &&
		  clock.begun[WH_SIM_DISK_SYNC_NAMES] == 1);
	fill(file, 0, 'y', 1);
	clock.ends = own; /* in the sync: nothing is kept */
	ck_assert_int_eq(file->ops->sync(file, &err), WHORL_DISK);
	ck_assert_uint_eq(wh_sim_disk_kept(disk, "logs/7", "log", 0, found, 1), 1);
	ck_assert_int_eq(found[0], 'x');
	ck_assert_int_eq(clock.begun[WH_SIM_DISK_SYNC], 2);
	file->ops->close(file);
}

/* Before it begins: then it is not done; while it takes its time: then it may be. */
TEST_LOOP(a_process_ends_in_an_operation, 0, 2)
{
	const struct wh_sim_disk_cost cost = {.write_min_ns = 100, .write_max_ns = 100};
	struct clock clock = {.last = wh_sim_disk_operations(disk)};
	const struct wh_sim_disk_hooks hooks = {operates, pass, &clock};
	struct wh_sim_disk_user *own = wh_sim_disk_begin(disk, 8, &hooks);
	struct wh_directory *owns = open_directory(own);
	struct wh_file *file, *found;
	char bytes[16];

	ck_assert_int_eq(owns->ops->open(owns, "log", true, &file, &err), WHORL_OK);
	wh_sim_disk_cost_set(disk, &cost);
	clock.ends = own;
	if (_i == 0)
		clock.stops = clock.last + 1;
	ck_assert_int_eq(write_bytes(file, 0, "orders", 6), WHORL_DISK);
	ck_assert_uint_eq(clock.calls, _i == 0 ? 0 : 1);
	found = open_file("log");
	ck_assert_uint_eq(read_all(found, bytes, sizeof(bytes)), _i == 0 ? 0 : 6);
	found->ops->close(found);
	file->ops->close(file);
	owns->ops->close(owns);
}

TEST_SUITE("sim_disk")
