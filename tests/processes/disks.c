/* disks.c - see disks.h. */
#include "tests/processes/disks.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void disks_make(struct cluster *c)
{
	if (!c->options.durable)
		return;
	if (mkdtemp(test_temporary(c->log_dir, "whorl-disks")) == NULL) {
		perror(c->log_dir);
		exit(EXIT_FAILURE);
	}
}

char *disks_path(const struct cluster *c, uint32_t id, const char *file, char out[DISK_PATH_BYTES])
{
	snprintf(out, DISK_PATH_BYTES, "%s/%u%s%s", c->log_dir, id, file[0] != '\0' ? "/" : "", file);
	return out;
}

void disks_remove_directory(const char *path)
{
	DIR *directory = opendir(path);
	const struct dirent *entry;
	char name[DISK_PATH_BYTES + 256];

	while (directory != NULL && (entry = readdir(directory)) != NULL) {
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		unlink(name);
	}
	if (directory != NULL)
		closedir(directory);
	rmdir(path);
}

void disks_lose(const struct cluster *c, uint32_t id)
{
	char path[DISK_PATH_BYTES];

	disks_remove_directory(disks_path(c, id, "", path));
}

static char *path_away(const struct cluster *c, uint32_t id, char out[DISK_PATH_BYTES])
{
	snprintf(out, DISK_PATH_BYTES, "%s.away.%u", c->log_dir, id);
	return out;
}

void disks_take_away(struct cluster *c, uint32_t id)
{
	char from[DISK_PATH_BYTES], to[DISK_PATH_BYTES];

	if (rename(disks_path(c, id, "", from), path_away(c, id, to)) != 0)
		cluster_fail(c, "%s: %s", from, strerror(errno));
}

void disks_put_back(struct cluster *c, uint32_t id)
{
	char from[DISK_PATH_BYTES], to[DISK_PATH_BYTES];

	if (rename(path_away(c, id, from), disks_path(c, id, "", to)) != 0)
		cluster_fail(c, "%s: %s", from, strerror(errno));
}

void disks_remove(const struct cluster *c)
{
	char path[DISK_PATH_BYTES];

	for (uint32_t id = 0; id < MEMBERS_MAX && c->log_dir[0] != '\0'; id++) {
		disks_lose(c, id);
		disks_remove_directory(path_away(c, id, path));
		disks_forget(c, id);
	}
	if (c->log_dir[0] != '\0')
		rmdir(c->log_dir);
}
