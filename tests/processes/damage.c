/* damage.c - see damage.h. The files are those of docs/log.md: what is not written is zeros. */
#include "tests/processes/damage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK UINT64_C(4096)
#define BATCH "LhTB" /* a batch begins so */
#define GARBAGE_MOST 40000u

struct segment {
	char path[DISK_PATH_BYTES + 256];
	uint64_t size, end; /* end: behind the last byte that is not 0 */
	uint64_t last;      /* where the last batch begins; 0: there is none */
};

static void require(struct cluster *c, bool good, const char *what)
{
	if (!good)
		cluster_fail(c, "no damage can be done: %s: %s", what, strerror(errno));
}

static void look_at(struct cluster *c, struct segment *segment)
{
	struct stat status = {.st_size = 0};
	int fd = open(segment->path, O_RDONLY | O_CLOEXEC);
	unsigned char *bytes;

	require(c, fd >= 0 && fstat(fd, &status) == 0, segment->path);
	segment->size = segment->end = (uint64_t)status.st_size;
	bytes = malloc(segment->size + 1);
	require(c, bytes != NULL && read(fd, bytes, segment->size) == (ssize_t)segment->size, segment->path);
	while (segment->end > 0 && bytes[segment->end - 1] == 0)
		segment->end--;
	segment->last = segment->end > BLOCK ? (segment->end - 1) / BLOCK * BLOCK : 0;
	while (segment->last > 0 && memcmp(bytes + segment->last, BATCH, 4) != 0)
		segment->last -= BLOCK;
	free(bytes);
	close(fd);
}

static bool is_segment(const char *name, const char *subgroup)
{
	size_t length = strlen(name), front = strlen(subgroup);

	return strncmp(name, subgroup, front) == 0 && name[front] == '.' && length > 4 &&
	       strcmp(name + length - 4, ".log") == 0;
}

/* The last that has a batch: behind it lies at most one that is prepared, with its first block alone. */
static void find_last(struct cluster *c, uint32_t id, const char *subgroup, struct segment *out)
{
	char path[DISK_PATH_BYTES];
	DIR *directory = opendir(disks_path(c, id, "", path));
	const struct dirent *entry;
	struct segment one;

	require(c, directory != NULL, path);
	*out = (struct segment){.size = 0};
	while ((entry = readdir(directory)) != NULL) {
		if (!is_segment(entry->d_name, subgroup))
			continue;
		snprintf(one.path, sizeof(one.path), "%s/%s", path, entry->d_name);
		look_at(c, &one);
		if (one.end > BLOCK && strcmp(one.path, out->path) > 0)
			*out = one;
	}
	closedir(directory);
	errno = ENOENT;
	require(c, out->size > 0, path);
}

static void turn_bit(struct cluster *c, int fd, uint64_t at, unsigned char bit, const char *path)
{
	unsigned char byte;

	require(c, pread(fd, &byte, 1, (off_t)at) == 1, path);
	byte ^= bit;
	require(c, pwrite(fd, &byte, 1, (off_t)at) == 1, path);
}

void damage_turn_back(struct cluster *c, const struct damage_turned *turned)
{
	int fd = open(turned->path, O_RDWR | O_CLOEXEC);

	require(c, fd >= 0, turned->path);
	for (int i = 0; i < 2; i++)
		turn_bit(c, fd, turned->at[i], turned->bit[i], turned->path);
	close(fd);
}

void damage_turn(struct cluster *c, uint32_t id, const char *subgroup, struct damage_turned *turned)
{
	struct segment segment;

	find_last(c, id, subgroup, &segment);
	memcpy(turned->path, segment.path, sizeof(turned->path));
	for (int i = 0; i < 2; i++) {
		uint64_t first = segment.last > BLOCK ? BLOCK : 0; /* else the file's own head */

		turned->at[i] = first + cluster_draw(c, (first > 0 ? segment.last : BLOCK - 1) - first);
		turned->bit[i] = (unsigned char)(1u << cluster_draw(c, 8));
	}
	if (turned->at[1] == turned->at[0])
		turned->at[1] ^= 1;
	cluster_note(c, "two bits of node %u turn, at %llu and %llu of %llu bytes in %s", id,
		     (unsigned long long)turned->at[0], (unsigned long long)turned->at[1],
		     (unsigned long long)segment.end, strrchr(turned->path, '/'));
	damage_turn_back(c, turned);
}

static uint64_t behind(const struct segment *segment)
{
	return (segment->end + BLOCK - 1) / BLOCK * BLOCK;
}

void damage_tail(struct cluster *c, uint32_t id, const char *subgroup)
{
	unsigned char bytes[GARBAGE_MOST];
	struct segment segment;
	uint64_t at, count = 1 + cluster_draw(c, GARBAGE_MOST - 1);
	int fd;

	find_last(c, id, subgroup, &segment);
	at = behind(&segment);
	if (count > segment.size - at)
		count = segment.size - at;
	for (uint64_t i = 0; i < count; i++)
		bytes[i] = (unsigned char)cluster_draw(c, 256);
	fd = open(segment.path, O_WRONLY | O_CLOEXEC);
	require(c, fd >= 0 && pwrite(fd, bytes, count, (off_t)at) == (ssize_t)count, segment.path);
	close(fd);
	cluster_note(c, "node %u has %llu bytes that are nothing behind its log of %s", id, (unsigned long long)count,
		     subgroup);
}

void damage_shorten(struct cluster *c, uint32_t id, const char *subgroup)
{
	struct segment segment;

	find_last(c, id, subgroup, &segment);
	require(c, truncate(segment.path, (off_t)behind(&segment)) == 0, segment.path);
	cluster_note(c, "the log of %s at node %u is cut off behind its end", subgroup, id);
}
