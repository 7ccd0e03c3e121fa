/* remains.c - what a closed node has left behind in its process: nothing. */
#include "tests/processes/member_int.h"

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/patience.h"

#define PATIENCE_MS ((int)test_patience(30000))

/* librdmacm keeps the devices that it has found open for the life of the process. */
static bool is_kept(int directory, const char *name)
{
	char path[64];
	ssize_t length = readlinkat(directory, name, path, sizeof(path) - 1);

	path[length < 0 ? 0 : length] = '\0';
	return strncmp(path, "/dev/infiniband/", 16) == 0 || strcmp(path, "anon_inode:[infinibandevent]") == 0;
}

int remains_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	const struct dirent *entry;
	int count = 0;

	while (directory != NULL && (entry = readdir(directory)) != NULL)
		count += !is_kept(dirfd(directory), entry->d_name);
	if (directory != NULL)
		closedir(directory);
	return count;
}

/* Those of the library, which have names; a sanitizer has threads too. */
static int threads(void)
{
	DIR *directory = opendir("/proc/self/task");
	const struct dirent *entry;
	int count = 0;

	while (directory != NULL && (entry = readdir(directory)) != NULL) {
		char path[300], name[20] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "r");
		if (file == NULL) /* it has just ended */
			continue;
		count += fgets(name, sizeof(name), file) != NULL && strncmp(name, "whorl", 5) == 0;
		fclose(file);
	}
	if (directory != NULL)
		closedir(directory);
	return count;
}

/* The first line of the process's maps that has the word; "" if there is none. */
static void find_mapping(const char *word, char *line, size_t bytes)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	bool found = false;

	while (maps != NULL && !found && fgets(line, (int)bytes, maps) != NULL)
		found = strstr(line, word) != NULL;
	if (!found)
		line[0] = '\0';
	if (maps != NULL)
		fclose(maps);
}

/* A thread that has ended may be listed for a moment yet. */
void remains_check(struct member *me, int before)
{
	char line[200];

	for (int n = 0; n < PATIENCE_MS && threads() > 0; n++)
		poll(NULL, 0, 1);
	if (threads() > 0)
		member_complain(me->state, "%d threads are left behind", threads());
	if (remains_descriptors() != before)
		member_complain(me->state, "%d descriptors are left behind", remains_descriptors() - before);
	find_mapping("/memfd:whorl-", line, sizeof(line));
	if (line[0] != '\0')
		member_complain(me->state, "shared memory is left behind: %s", line);
}
