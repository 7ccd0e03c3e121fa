/* test_record.c - the record of the group that a node was counted in last (group/record.h). */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "group/record.h"
#include "tests/support/fake.h"

#define GROUP UINT64_C(0x0123456789abcdef)

struct place { /* a directory of the test's own, and the file in it */
	char directory[64];
	struct wh_record_file file;
};

static struct place place_make(void)
{
	struct place place = {.directory = "/tmp/whorl-record-XXXXXX",
			      .file = {.name = "orders.2.group", .group = "orders", .node = 2}};

	ck_assert_ptr_nonnull(mkdtemp(place.directory));
	snprintf(place.file.directory, sizeof(place.file.directory), "%s", place.directory);
	return place;
}

static void path_of(const struct place *place, char path[256])
{
	snprintf(path, 256, "%s/%s", place->directory, place->file.name);
}

/* Nothing but the record may be there. */
static void place_free(struct place *place)
{
	char path[256];

	path_of(place, path);
	unlink(path);
	ck_assert_int_eq(rmdir(place->directory), 0);
}

static void write_text(const struct place *place, const char *text)
{
	char path[256];
	FILE *file;

	path_of(place, path);
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
}

/* ---- files ---------------------------------------------------------------------------------------------------------------- */

TEST(what_is_saved_is_loaded)
{
	struct place place = place_make();
	struct wh_error err;
	uint64_t group = 7;

	ck_assert_int_eq(wh_record_files.load(&place.file, &group, &err), WHORL_OK);
	ck_assert_uint_eq(group, 0);
	ck_assert_int_eq(wh_record_files.save(&place.file, GROUP, &err), WHORL_OK);
	ck_assert_int_eq(wh_record_files.load(&place.file, &group, &err), WHORL_OK);
	ck_assert_uint_eq(group, GROUP);
	ck_assert_int_eq(wh_record_files.save(&place.file, 1, &err), WHORL_OK); /* over the one before */
	ck_assert_int_eq(wh_record_files.load(&place.file, &group, &err), WHORL_OK);
	ck_assert_uint_eq(group, 1);
	place_free(&place);
}

/* Damaged, cut off, or another node's or group's: none of these is believed, nor taken for no record. */
TEST(what_is_no_record_is_told)
{
	static const char *const texts[] = {
		"",
		"whorl record 1\n",
		"whorl record 1\ngroup orders\nnode 2\nidentity 0123456789abcdef",
		"whorl record 1\ngroup orders\nnode 2\nidentity 0123456789abcdef\n\n",
		"whorl record 1\ngroup orders\nnode 2\nidentity 0123456789ABCDEF\n",
		"whorl record 1\ngroup orders\nnode 2\nidentity 0000000000000000\n",
		"whorl record 1\ngroup orders\nnode 2\nidentity x\n",
		"whorl record 2\ngroup orders\nnode 2\nidentity 0123456789abcdef\n",
		"whorl record 1\ngroup orders\nnode 3\nidentity 0123456789abcdef\n",
		"whorl record 1\ngroup others\nnode 2\nidentity 0123456789abcdef\n",
	};
	struct place place = place_make();
	struct wh_error err;
	uint64_t group = 7;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		write_text(&place, texts[i]);
		ck_assert_int_eq(wh_record_files.load(&place.file, &group, &err), WHORL_CONFIG);
		ck_assert_uint_eq(group, 0);
		ck_assert_ptr_nonnull(strstr(err.text, "orders.2.group is no record of node 2 of group orders"));
	}
	write_text(&place, "whorl record 1\ngroup orders\nnode 2\nidentity 0123456789abcdef\n");
	ck_assert_int_eq(wh_record_files.load(&place.file, &group, &err), WHORL_OK);
	ck_assert_uint_eq(group, GROUP);
	place_free(&place);
}

/* A disk that is not mounted must not count as one without a record. */
TEST(a_directory_that_is_not_there)
{
	struct place place = place_make();
	struct wh_error err;
	uint64_t group;

	place_free(&place);
	ck_assert_int_eq(wh_record_files.load(&place.file, &group, &err), WHORL_SYSTEM);
	ck_assert_ptr_nonnull(strstr(err.text, place.directory));
	ck_assert_ptr_nonnull(strstr(err.text, "No such file or directory"));
	ck_assert_int_eq(wh_record_files.save(&place.file, GROUP, &err), WHORL_SYSTEM);
}

/* The disk is full: that is told, and the record before is whole. */
TEST(a_full_disk)
{
	const struct rlimit none = {0, RLIM_INFINITY};
	struct rlimit before;
	struct place place = place_make();
	char beside[300];
	struct wh_error err;
	uint64_t group;

	ck_assert_int_eq(wh_record_files.save(&place.file, GROUP, &err), WHORL_OK);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
	ck_assert_int_eq(wh_record_files.save(&place.file, 5, &err), WHORL_SYSTEM);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
	ck_assert_ptr_nonnull(strstr(err.text, "cannot write"));
	ck_assert_int_eq(wh_record_files.load(&place.file, &group, &err), WHORL_OK);
	ck_assert_uint_eq(group, GROUP);
	snprintf(beside, sizeof(beside), "%s/%s.new", place.directory, place.file.name);
	ck_assert_int_eq(unlink(beside), 0);
	place_free(&place);
}

/* ---- a node's ------------------------------------------------------------------------------------------------------------- */

struct disk { /* that does as the test says, when the test says */
	struct fake_env env;
	uint64_t group, saves;
	enum whorl_result result;
	void (*job)(void *argument);
	void *argument;
};

static enum whorl_result disk_load(void *ctx, uint64_t *group, struct wh_error *err)
{
	const struct disk *disk = ctx;

	*group = disk->group;
	return disk->result != WHORL_OK ? wh_error_set(err, disk->result, "it does not spin") : WHORL_OK;
}

static enum whorl_result disk_save(void *ctx, uint64_t group, struct wh_error *err)
{
	struct disk *disk = ctx;

	disk->saves++;
	if (disk->result != WHORL_OK)
		return wh_error_set(err, disk->result, "it is full");
	disk->group = group;
	return WHORL_OK;
}

static void later(void *ctx, void (*job)(void *argument), void *argument)
{
	struct disk *disk = (struct disk *)(void *)((char *)ctx - offsetof(struct disk, env));

	ck_assert(disk->job == NULL);
	disk->job = job;
	disk->argument = argument;
}

static void run(struct disk *disk)
{
	void (*job)(void *argument) = disk->job;

	disk->job = NULL;
	job(disk->argument);
}

static const struct wh_record_ops disk_ops = {.load = disk_load, .save = disk_save};

static struct wh_record record_of(struct disk *disk, wh_word *jobs)
{
	struct wh_record record;
	struct wh_error err;

	fake_env_init(&disk->env);
	disk->env.env.submit = later;
	record = (struct wh_record){.ops = &disk_ops, .ctx = disk, .env = &disk->env.env, .jobs = jobs};
	ck_assert_int_eq(wh_record_open(&record, &err), WHORL_OK);
	return record;
}

/* It is not there before the job that writes it has ended; one job writes it, and one that is there is not written again. */
TEST(it_is_written_off_the_loop)
{
	struct disk disk = {.group = 3};
	wh_word jobs = 0;
	struct wh_record record = record_of(&disk, &jobs);

	ck_assert(wh_record_has(&record, 3));
	ck_assert(!wh_record_has(&record, 4));
	ck_assert(wh_record_write(&record, 4));
	ck_assert(wh_record_write(&record, 4));
	ck_assert_uint_eq(wh_load_relaxed(&jobs), 1);
	ck_assert(!wh_record_has(&record, 4));
	run(&disk);
	ck_assert_uint_eq(wh_load_relaxed(&jobs), 0);
	ck_assert(wh_record_has(&record, 4));
	ck_assert_uint_eq(disk.saves, 1);
	ck_assert(wh_record_write(&record, 5)); /* another attempt, another group */
	run(&disk);
	ck_assert(wh_record_has(&record, 5));
}

TEST(it_cannot_be_written)
{
	struct disk disk = {.group = 0};
	wh_word jobs = 0;
	struct wh_record record = record_of(&disk, &jobs);

	disk.result = WHORL_SYSTEM;
	ck_assert(wh_record_write(&record, 4));
	run(&disk);
	ck_assert(!wh_record_has(&record, 4));
	ck_assert(!wh_record_write(&record, 4));
	ck_assert_str_eq(record.error.text, "it is full");
	ck_assert_uint_eq(disk.saves, 1);
}

TEST_SUITE("record")
