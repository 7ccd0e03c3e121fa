/* test_cli_log.c - `whorl log`: what it says of logs that are whole, torn, rotten, or none; that it changes nothing; and its exit status. */
#include <check.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "persistence/identity.h"
#include "persistence/log.h"
#include "persistence/standing.h"
#include "tests/cli/cli.h"
#include "tests/harness.h"

#define SEGMENT "orders.0.0000000000000000.log"
#define BLOCK WH_LOG_BLOCK_BYTES

static struct cli_dir dir;
static struct cli cli;
static struct wh_error err;

static void setup(void)
{
	cli_dir_make(&dir);
}

static void teardown(void)
{
	cli_free(&cli);
	cli_dir_remove(&dir);
}

static struct wh_directory *open_node(uint32_t id)
{
	const struct wh_disk *disk = wh_disk_system();
	struct wh_directory *directory;
	char name[16];

	snprintf(name, sizeof(name), "%u", id);
	ck_assert_msg(disk->directory(disk->ctx, cli_path(&dir, name), true, &directory, &err) == WHORL_OK, "%s",
		      err.text);
	return directory;
}

static struct wh_log_config config_of(uint32_t id)
{
	return (struct wh_log_config){.owner = {.group = 0xabc, .group_name = "shop", .subgroup = "orders", .node = id},
				      .fresh = 5,
				      .segment_bytes = 65536,
				      .batch_bytes = 64,
				      .batch_messages = 2};
}

/* A view, and two messages in two batches: the blocks 1, 2 and 3; a checkpoint between them, if that is wanted. */
static void write_log(struct wh_directory *directory, uint32_t id, bool checkpoints)
{
	struct wh_log_config config = config_of(id);
	struct wh_log_sender sender = {1, 17};
	struct wh_log_begin begin = {0x100, 4, 0, 0, 1, &sender};
	struct wh_log_position position = {.point = {0x100, 4, 1}};
	struct wh_checkpoint *checkpoint;
	struct wh_log_found found;
	struct wh_log *log;

	ck_assert_msg(wh_log_open(&log, directory, &config, &found, &err) == WHORL_OK, "%s", err.text);
	ck_assert_int_eq(wh_log_begin_view(log, &begin, &err), WHORL_OK);
	ck_assert_int_eq(wh_log_sync(log, &err), WHORL_OK);
	for (uint64_t i = 0; i < 2; i++) {
		char data[] = "an order";
		struct iovec part = {data, 8};
		struct wh_log_record record = {i, i, 0, 1, 8, 1, &part};
		struct wh_log_batch batch = {i, i + 1, i, &record, 1};

		ck_assert_int_eq(wh_log_append(log, &batch, &err), WHORL_OK);
		ck_assert_int_eq(wh_log_sync(log, &err), WHORL_OK);
	}
	if (checkpoints) {
		ck_assert_int_eq(wh_checkpoint_begin(&checkpoint, log, &position, &err), WHORL_OK);
		ck_assert_int_eq(wh_checkpoint_write(checkpoint, "state", 5, &err), WHORL_OK);
		ck_assert_int_eq(wh_checkpoint_sync(checkpoint, &err), WHORL_OK);
		ck_assert_int_eq(wh_checkpoint_finish(checkpoint, &err), WHORL_OK);
	}
	wh_log_close(log);
}

static void put_cap(uint32_t id)
{
	struct wh_directory *directory = open_node(id);
	struct wh_log_config config = config_of(id);
	struct wh_log_found found;
	struct wh_log *log;

	ck_assert_msg(wh_log_open(&log, directory, &config, &found, &err) == WHORL_OK, "%s", err.text);
	ck_assert_int_eq(wh_log_cap(log, 2, &err), WHORL_OK);
	wh_log_close(log);
	directory->ops->close(directory);
}

static void make_node(uint32_t id, bool checkpoints)
{
	struct wh_directory *directory = open_node(id);
	struct wh_identity identity = {.group = 0xabc, .name = "shop", .node = id};
	struct wh_shard_standing shard = {.subgroup = 0, .shard = 0, .whole = true};
	struct wh_standing standing = {.group = 0xabc, .base = 0x100, .number = 4, .shard_count = 1, .shards = &shard};
	struct wh_standing_file file;
	struct wh_standing before;

	ck_assert_int_eq(wh_identity_write(directory, &identity, &err), WHORL_OK);
	ck_assert_int_eq(wh_standing_open(&file, directory, &before, NULL, &err), WHORL_OK);
	ck_assert_msg(wh_standing_write(&file, &standing, &err) == WHORL_OK, "%s", err.text);
	wh_standing_close(&file);
	write_log(directory, id, checkpoints);
	directory->ops->close(directory);
}

static int open_file(const char *name)
{
	int fd = open(cli_path(&dir, name), O_RDWR);

	ck_assert_int_ge(fd, 0);
	return fd;
}

static void flip(const char *name, off_t at)
{
	int fd = open_file(name);
	unsigned char byte;

	ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
	byte ^= 4;
	ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

static void run(const char *option, int expected)
{
	cli_free(&cli);
	if (option != NULL)
		CLI_RUN(&cli, &dir, "log", option, dir.path);
	else
		CLI_RUN(&cli, &dir, "log", dir.path);
	ck_assert_msg(cli.status == expected, "%d: %s%s", cli.status, cli.out, cli.err);
}

static size_t shows(const char *words)
{
	return CLI_LINES_WITH(cli.out, words);
}

TEST_CASE("log", .setup = setup, .teardown = teardown);

TEST(whole)
{
	make_node(0, false);
	make_node(2, true);
	run(NULL, 0);
	ck_assert_uint_eq(shows("/0: node 0 of shop, identity 0000000000000abc"), 1);
	ck_assert_uint_eq(shows("/2: node 2 of shop, identity 0000000000000abc"), 1);
	ck_assert_uint_eq(shows("standing: view 4, key 0000000000000100"), 2);
	ck_assert_uint_eq(shows("subgroup 0, shard 0: whole"), 2);
	ck_assert_uint_eq(shows("log of orders, shard 0: whole"), 2);
	ck_assert_uint_eq(shows("segments: 1, 65536 bytes, 16384 used; batches: 0 to 3, without a cap"), 2);
	ck_assert_uint_eq(shows("views 4 to 4, the last up to place 2, on all disks up to 1"), 2);
	ck_assert_uint_eq(shows("checkpoint: view 4, place 1; 5 bytes"), 1);
	ck_assert_str_eq(cli.err, "");
	cli_free(&cli);
	CLI_RUN(&cli, &dir, "log", cli_path(&dir, "2")); /* one of them */
	ck_assert_int_eq(cli.status, 0);
	ck_assert_uint_eq(shows(": node "), 1);
}

TEST(torn_and_rot)
{
	make_node(1, false);
	flip("1/" SEGMENT, 3 * BLOCK + 100);
	run(NULL, 0);
	ck_assert_uint_eq(shows("log of orders, shard 0: torn"), 1);
	ck_assert_uint_eq(shows(SEGMENT " at 12288: "), 1);
	run(NULL, 0); /* nothing was mended */
	ck_assert_uint_eq(shows("log of orders, shard 0: torn"), 1);
	flip("1/" SEGMENT, 3 * BLOCK + 100);
	flip("1/" SEGMENT, 2 * BLOCK + 100);
	run(NULL, 1);
	ck_assert_uint_eq(shows("log of orders, shard 0: rot"), 1);
	ck_assert_uint_eq(shows(SEGMENT " at 12288: batch 2 was written when 1 was on the disk, which cannot be read"),
			  1);
}

TEST(behind_a_cap)
{
	make_node(1, false);
	put_cap(1);
	run(NULL, 0);
	ck_assert_uint_eq(shows("20480 used; batches: 0 to 4"), 1);
	ck_assert_uint_eq(shows("without a cap"), 0);
	ck_assert_uint_eq(shows("the last up to place 2, on all disks up to 2"), 1);
	flip("1/" SEGMENT, 3 * BLOCK + 100);
	run(NULL, 1);
	ck_assert_uint_eq(shows("log of orders, shard 0: rot"), 1);
	flip("1/" SEGMENT, 3 * BLOCK + 100);
	flip("1/" SEGMENT, 4 * BLOCK + 10);
	run(NULL, 0);
	ck_assert_uint_eq(shows("log of orders, shard 0: torn"), 1);
	ck_assert_uint_eq(shows("batches: 0 to 3, without a cap"), 1);
}

TEST(damage_elsewhere)
{
	make_node(0, false);
	flip("0/identity", 30);
	run(NULL, 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "identity", "damaged"), 1);
	flip("0/identity", 30);
	ck_assert_int_eq(rename(cli_path(&dir, "0"), cli_path(&dir, "1")), 0);
	run(NULL, 0); /* what a directory is called is not looked at */
	flip("1/standing", 4096 + 30);
	run(NULL, 0);
	ck_assert_uint_eq(shows("one of its copies does not check"), 1);
	flip("1/standing", 4096 + 8192 + 30);
	run(NULL, 1);
	ck_assert_uint_eq(shows("standing: unreadable: "), 1);
}

TEST(of_another)
{
	struct wh_directory *directory;
	struct wh_identity identity = {.group = 0xdef, .name = "shop", .node = 0};

	make_node(0, false);
	directory = open_node(0);
	ck_assert_int_eq(wh_identity_write(directory, &identity, &err), WHORL_OK);
	directory->ops->close(directory);
	run(NULL, 1);
	ck_assert_uint_eq(shows("unreadable: it is of another group or node than its directory"), 1);
}

TEST(as_json)
{
	json_t *object, *log;

	make_node(1, true);
	run("--json", 0);
	object = json_loads(cli.out, 0, NULL);
	ck_assert_ptr_nonnull(object);
	ck_assert(json_is_true(json_object_get(object, "good")));
	ck_assert_int_eq(json_integer_value(json_object_get(object, "node")), 1);
	ck_assert_str_eq(json_string_value(json_object_get(object, "identity")), "0000000000000abc");
	ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(object, "standing"), "view")), 4);
	log = json_array_get(json_object_get(object, "logs"), 0);
	ck_assert_str_eq(json_string_value(json_object_get(log, "verdict")), "whole");
	ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(log, "end"), "place")), 2);
	ck_assert(json_is_false(json_object_get(log, "capped")));
	ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(log, "checkpoint"), "bytes")), 5);
	ck_assert_uint_eq(json_array_size(json_object_get(log, "views")), 1);
	json_decref(object);
	flip("1/" SEGMENT, 2 * BLOCK + 100);
	run("--json", 1);
	object = json_loads(cli.out, 0, NULL);
	ck_assert_ptr_nonnull(object);
	ck_assert(json_is_false(json_object_get(object, "good")));
	log = json_array_get(json_object_get(object, "logs"), 0);
	ck_assert_str_eq(json_string_value(json_object_get(log, "verdict")), "rot");
	ck_assert_str_eq(json_string_value(json_object_get(log, "file")), SEGMENT);
	ck_assert_int_eq(json_integer_value(json_object_get(log, "offset")), 12288);
	json_decref(object);
}

/* Files that may only be read can be read; and nothing is written where it could be. */
TEST(changes_nothing)
{
	static const char *const names[] = {"1/identity", "1/standing", "1/" SEGMENT};
	struct stat before[3], after;

	make_node(1, false);
	flip("1/" SEGMENT, 3 * BLOCK + 100);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(chmod(cli_path(&dir, names[i]), 0400), 0);
		ck_assert_int_eq(stat(cli_path(&dir, names[i]), &before[i]), 0);
	}
	run(NULL, 0);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(stat(cli_path(&dir, names[i]), &after), 0);
		ck_assert(after.st_mtim.tv_sec == before[i].st_mtim.tv_sec &&
			  after.st_mtim.tv_nsec == before[i].st_mtim.tv_nsec && after.st_ino == before[i].st_ino);
	}
	ck_assert_int_ne(access(cli_path(&dir, "1/lock"), F_OK), 0);
}

TEST(nothing_there)
{
	run(NULL, 2);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "there is no log of a node in it"), 1);
	cli_free(&cli);
	CLI_RUN(&cli, &dir, "log", cli_path(&dir, "none"));
	ck_assert_int_eq(cli.status, 2);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "none"), 1);
}

TEST_SUITE("cli_log")

int main(void)
{
	return test_main(suite());
}
