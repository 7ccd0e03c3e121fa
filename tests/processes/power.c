/* power.c - see power.h: what was written and not synced is taken back, the last first. */
#include "tests/processes/disks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/processes/power.h"

#define SECTOR 512u
#define SYNCS 4096u
#define PATH_BYTES (DISK_PATH_BYTES + 40)

struct loss {
	struct cluster *c;
	char directory[DISK_PATH_BYTES];
	bool all; /* else some, by lot */
	unsigned char **journals;
	size_t journal_count;
	const struct power_entry **entries;
	size_t count;
	struct {
		uint64_t inode, at_ns;
	} syncs[SYNCS]; /* the last of each file and directory */
	size_t sync_count;
};

/* ---- where they lie ------------------------------------------------------------------------------------------------------ */

/* On one host the power goes for all, and processes write to each other's disks. */
static char *power_path(const struct cluster *c, uint32_t id, char out[DISK_PATH_BYTES])
{
	snprintf(out, DISK_PATH_BYTES, "%s.power.%u", c->log_dir, cluster_is_on_one_host(c) ? 0 : id);
	return out;
}

void disks_watch(const struct cluster *c, uint32_t id)
{
	char path[DISK_PATH_BYTES];

	if (c->options.preload == NULL)
		return;
	setenv("LD_PRELOAD", c->options.preload, 1);
	setenv(POWER_WATCHED, c->log_dir, 1);
	setenv(POWER_DIR, power_path(c, id, path), 1);
	mkdir(path, 0700);
}

/* ---- reading the journals ------------------------------------------------------------------------------------------------ */

static void require(const struct loss *loss, bool good, const char *what)
{
	if (!good)
		cluster_fail(loss->c, "the power cannot be lost: %s: %s", what, strerror(errno));
}

static void add_entry(struct loss *loss, const struct power_entry *entry)
{
	if (loss->count % 1024 == 0) {
		void *more = realloc(loss->entries, (loss->count + 1024) * sizeof(struct power_entry *));

		require(loss, more != NULL, "memory");
		loss->entries = more;
	}
	loss->entries[loss->count++] = entry;
}

/* The last entry may have been written in part: then what it speaks of was not done. */
static void take_journal(struct loss *loss, const char *name)
{
	char path[DISK_PATH_BYTES + 256];
	unsigned char *bytes, **more = realloc(loss->journals, (loss->journal_count + 1) * sizeof(*more));
	struct stat status = {.st_size = 0};
	size_t at = 0, size;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", loss->directory, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	require(loss, fd >= 0 && fstat(fd, &status) == 0, path);
	size = (size_t)status.st_size;
	bytes = malloc(size + 1);
	require(loss, bytes != NULL && more != NULL && read(fd, bytes, size) == (ssize_t)size, path);
	close(fd);
	loss->journals = more;
	loss->journals[loss->journal_count++] = bytes;
	while (size - at >= sizeof(struct power_entry)) {
		const struct power_entry *entry = (const struct power_entry *)(void *)(bytes + at);

		if (power_round(entry->bytes) > size - at - sizeof(*entry))
			break;
		add_entry(loss, entry);
		at += sizeof(*entry) + power_round(entry->bytes);
	}
}

static int compare_entries(const void *a, const void *b)
{
	const struct power_entry *one = *(const struct power_entry *const *)a,
				 *other = *(const struct power_entry *const *)b;

	return one->time_ns < other->time_ns ? -1 : one->time_ns > other->time_ns;
}

static void read_journals(struct loss *loss)
{
	DIR *directory = opendir(loss->directory);
	const struct dirent *entry;

	while (directory != NULL && (entry = readdir(directory)) != NULL)
		if (strncmp(entry->d_name, "journal.", 8) == 0)
			take_journal(loss, entry->d_name);
	if (directory != NULL)
		closedir(directory);
	if (loss->count > 0)
		qsort(loss->entries, loss->count, sizeof(*loss->entries), compare_entries);
}

static uint64_t *sync_of(struct loss *loss, uint64_t inode)
{
	size_t i = 0;

	while (i < loss->sync_count && loss->syncs[i].inode != inode)
		i++;
	require(loss, i < SYNCS, "too many files");
	if (i == loss->sync_count)
		loss->syncs[loss->sync_count++].inode = inode;
	return &loss->syncs[i].at_ns;
}

static void find_syncs(struct loss *loss)
{
	for (size_t i = 0; i < loss->count; i++) {
		const struct power_entry *entry = loss->entries[i];
		uint64_t *at_ns = entry->kind == POWER_SYNCED ? sync_of(loss, entry->inode) : NULL;

		if (at_ns != NULL && entry->at > *at_ns)
			*at_ns = entry->at;
	}
}

/* ---- taking back --------------------------------------------------------------------------------------------------------- */

static char *file_path(const struct loss *loss, uint64_t inode, char out[PATH_BYTES])
{
	snprintf(out, PATH_BYTES, "%s/file.%llu", loss->directory, (unsigned long long)inode);
	return out;
}

static bool comes_to_disk(const struct loss *loss)
{
	return !loss->all && cluster_draw(loss->c, 2) == 0;
}

/* Sector by sector: new, old, or torn. */
static void restore_data(const struct loss *loss, int fd, const struct power_entry *entry)
{
	static const unsigned char zeros[SECTOR];
	const unsigned char *bytes = (const unsigned char *)(entry + 1);

	for (uint64_t at = 0, part; at < entry->count; at += part) {
		size_t count;

		part = SECTOR - (entry->at + at) % SECTOR;
		if (part > entry->count - at)
			part = entry->count - at;
		count = (size_t)part;
		if (comes_to_disk(loss))
			continue;
		if (!loss->all && cluster_draw(loss->c, 8) == 0)
			count = (size_t)cluster_draw(loss->c, part);
		require(loss,
			pwrite(fd, entry->bytes > 0 ? bytes + at : zeros, count, (off_t)(entry->at + at)) ==
				(ssize_t)count,
			"a file");
	}
}

static void restore_file(const struct loss *loss, const struct power_entry *entry)
{
	char path[PATH_BYTES];
	int fd = open(file_path(loss, entry->inode, path), O_WRONLY | O_CLOEXEC);

	require(loss, fd >= 0, path);
	if (entry->kind == POWER_DATA)
		restore_data(loss, fd, entry);
	else if (!comes_to_disk(loss))
		require(loss, ftruncate(fd, (off_t)entry->at) == 0, path);
	close(fd);
}

/* Puts a file back under that name, if no other is called so. */
static void put_back(const struct loss *loss, uint64_t inode, const char *name)
{
	char path[PATH_BYTES];

	require(loss, link(file_path(loss, inode, path), name) == 0 || errno == EEXIST || errno == ENOENT, name);
}

static bool is_called(const char *name, uint64_t inode)
{
	struct stat status;

	return lstat(name, &status) == 0 && status.st_ino == inode;
}

static void restore_name(const struct loss *loss, const struct power_entry *entry)
{
	const char *path = (const char *)(entry + 1), *name = path + strlen(path) + 1, *other = name + strlen(name) + 1;
	char here[PATH_MAX], there[PATH_MAX];

	if (comes_to_disk(loss))
		return;
	snprintf(here, sizeof(here), "%s/%s", path, name);
	snprintf(there, sizeof(there), "%s/%s", path, other);
	if (entry->kind == POWER_MADE && is_called(here, entry->inode)) {
		require(loss, unlink(here) == 0, here);
	} else if (entry->kind == POWER_REMOVED) {
		put_back(loss, entry->inode, here);
	} else if (entry->kind == POWER_RENAMED && is_called(there, entry->inode)) {
		require(loss, rename(there, here) == 0, there);
		if (entry->replaced != 0)
			put_back(loss, entry->replaced, there);
	}
}

static void take_back(struct loss *loss)
{
	for (size_t i = loss->count; i-- > 0;) {
		const struct power_entry *entry = loss->entries[i];
		bool is_name =
			entry->kind == POWER_MADE || entry->kind == POWER_REMOVED || entry->kind == POWER_RENAMED;

		if (entry->kind == POWER_SYNCED ||
		    *sync_of(loss, is_name ? entry->directory : entry->inode) > entry->time_ns)
			continue;
		if (is_name)
			restore_name(loss, entry);
		else
			restore_file(loss, entry);
	}
}

void disks_lose_power(struct cluster *c, uint32_t id)
{
	struct loss *loss = calloc(1, sizeof(*loss));

	if (c->options.preload == NULL || loss == NULL) {
		free(loss);
		return;
	}
	loss->c = c;
	loss->all = cluster_draw(c, 2) == 0;
	power_path(c, id, loss->directory);
	read_journals(loss);
	find_syncs(loss);
	take_back(loss);
	cluster_note(c, "the power of node %u goes, with %s of what was not synced; %zu entries", id,
		     loss->all ? "all" : "some", loss->count);
	for (size_t i = 0; i < loss->journal_count; i++)
		free(loss->journals[i]);
	free(loss->journals);
	free(loss->entries);
	disks_forget(c, id);
	free(loss);
}

void disks_forget(const struct cluster *c, uint32_t id)
{
	char path[DISK_PATH_BYTES];

	disks_remove_directory(power_path(c, id, path));
}
