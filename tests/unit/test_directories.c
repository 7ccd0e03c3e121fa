/* test_directories.c - which directories of this host have logs, and which is begun with. */
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "group/logs/directories.h"
#include "membership/view.h"
#include "persistence/standing.h"
#include "tests/harness.h"

#define NODES 8

static char root[64];

static void make_root(void)
{
	snprintf(root, sizeof(root), "%s/whorl-directories-XXXXXX",
		 getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(root));
}

static void remove_root(void)
{
	for (uint32_t id = 0; id < NODES; id++) {
		char path[128], name[512];
		const struct dirent *entry;
		DIR *directory;

		snprintf(path, sizeof(path), "%s/%u", root, id);
		directory = opendir(path);
		while (directory != NULL && (entry = readdir(directory)) != NULL) {
			snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
			unlink(name);
		}
		if (directory != NULL)
			closedir(directory);
		rmdir(path);
	}
	ck_assert_int_eq(rmdir(root), 0);
}

/* The directory of that node says so; group 0: it is there, and blank. */
static void write_standing(uint32_t id, const struct wh_standing *standing)
{
	const struct wh_disk *disk = wh_disk_system();
	struct wh_standing_file file = {.directory = NULL};
	struct wh_directory *directory;
	struct wh_standing was;
	struct wh_error err;
	char path[128];

	snprintf(path, sizeof(path), "%s/%u", root, id);
	ck_assert_int_eq(disk->directory(disk->ctx, path, true, &directory, &err), WHORL_OK);
	ck_assert_int_eq(wh_standing_open(&file, directory, &was, NULL, &err), WHORL_OK);
	if (!wh_standing_is_blank(standing))
		ck_assert_int_eq(wh_standing_write(&file, standing, &err), WHORL_OK);
	wh_standing_free(&was);
	wh_standing_close(&file);
	directory->ops->close(directory);
}

/* Of a later view, in which it is of one shard. */
static void write_view(uint32_t id, uint64_t number, bool whole)
{
	struct wh_shard_standing shard = {.subgroup = 0, .shard = 0, .whole = whole};

	write_standing(id,
		       &(struct wh_standing){
			       .group = 7, .base = 100 + number, .number = number, .shard_count = 1, .shards = &shard});
}

static void damage(uint32_t id)
{
	char path[128], name[512];
	const struct dirent *entry;
	DIR *directory;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%u", root, id);
	directory = opendir(path);
	ck_assert_ptr_nonnull(directory);
	while ((entry = readdir(directory)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		file = fopen(name, "r+");
		ck_assert_ptr_nonnull(file);
		for (int i = 0; i < 65536; i++)
			ck_assert_int_ne(fputc(0x5a, file), EOF);
		ck_assert_int_eq(fclose(file), 0);
	}
	closedir(directory);
}

static const char *found_of(uint64_t group, uint32_t nodes)
{
	static _Thread_local char text[64];
	uint32_t ids[NODES];
	size_t count = wh_directories_find(wh_disk_system(), root, group, nodes, ids);

	text[0] = '\0';
	for (size_t i = 0; i < count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u ", ids[i]);
	return text;
}

static const char *found(uint32_t nodes)
{
	return found_of(0, nodes);
}

TEST(the_newest_view_comes_first)
{
	make_root();
	ck_assert_str_eq(found(NODES), "");
	write_view(0, 3, true);
	write_view(1, 4, false);
	write_view(3, 4, true);
	write_view(4, 5, false);
	write_view(6, 4, false);
	ck_assert_str_eq(found(NODES), "4 3 1 6 0 ");
	ck_assert_str_eq(found(4), "3 1 0 ");
	write_standing(5, &(struct wh_standing){.group = 8, .base = 101, .number = 1, .alone = true});
	ck_assert_str_eq(found(NODES), "5 4 3 1 6 0 "); /* an operator's word */
	ck_assert_str_eq(found_of(7, NODES), "4 3 1 6 0 ");
	ck_assert_str_eq(found_of(8, NODES), "5 ");
	remove_root();
}

/* What was the last view may not be a base on any disk yet: a node of it has agreed to it, and nodes that have left are not in it. */
TEST(the_last_that_went_on_comes_first)
{
	uint64_t cuts[] = {5};
	struct wh_shard_standing whole = {.whole = true}, lacking = {.whole = false};
	struct wh_standing standing = {.group = 7, .base = 104, .number = 4, .shard_count = 1, .shards = &whole};

	make_root();
	standing.left = true;
	write_standing(0, &standing);
	standing.left = false;
	write_standing(1, &standing);
	standing.shards = &lacking;
	write_standing(2, &standing);
	standing.ballot = 2;
	standing.next = 105;
	standing.cuts = cuts;
	standing.cut_count = 1;
	write_standing(3, &standing);
	ck_assert_str_eq(found(NODES), "3 1 2 0 ");
	write_view(4, 5, false);
	ck_assert_str_eq(found(NODES), "4 3 1 2 0 ");
	remove_root();
}

TEST(what_says_nothing_is_none)
{
	make_root();
	write_standing(1, &(struct wh_standing){.group = 0});
	write_standing(2, &(struct wh_standing){.group = 7, .base = WH_FIRST_KEYS, .first = true});
	ck_assert_str_eq(found(NODES), "");
	write_view(3, 0, true);
	write_view(5, 9, true);
	damage(5);
	ck_assert_str_eq(found(NODES), "3 5 "); /* there was one, whatever it said */
	remove_root();
}

TEST_SUITE("directories")
