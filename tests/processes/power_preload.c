/* power_preload.c - see power.h. It goes to the system directly, so it needs nothing of the library that it stands before. */
#include "tests/processes/power.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))
#define PIECE 65536u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int journal = -1;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* What cannot be written down would be believed to be on the disk. */
static void require(bool done, const char *what)
{
	if (!done) {
		fprintf(stderr, "power: %s: %s\n", what, strerror(errno));
		abort();
	}
}

/* ---- the journal --------------------------------------------------------------------------------------------------------- */

/* Before anything else, so that its descriptor is there as long as the process. */
__attribute__((constructor)) static void open_journal(void)
{
	char path[PATH_MAX];

	if (getenv(POWER_DIR) == NULL)
		return;
	snprintf(path, sizeof(path), "%s/journal.%d", getenv(POWER_DIR), (int)getpid());
	journal = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	require(journal >= 0, path);
}

/* With the lock. */
static void write_down(struct power_entry *entry, const void *bytes)
{
	static const char zeros[8];
	size_t fill = power_round(entry->bytes) - entry->bytes;
	struct iovec parts[] = {{entry, sizeof(*entry)}, {(void *)bytes, entry->bytes}, {(void *)zeros, fill}};

	entry->time_ns = now_ns();
	require(syscall(SYS_writev, journal, parts, 3) == (long)(sizeof(*entry) + entry->bytes + fill), "the journal");
}

/* ---- which files --------------------------------------------------------------------------------------------------------- */

static bool path_of(int fd, char path[PATH_MAX])
{
	char link[40];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, PATH_MAX - 1);
	path[length > 0 ? length : 0] = '\0';
	return length > 0;
}

/* Is it one of those that are watched? Where it is goes to `path`. */
static bool is_watched(int fd, char path[PATH_MAX], struct stat *status)
{
	const char *watched = getenv(POWER_WATCHED);
	size_t length = watched != NULL ? strlen(watched) : 0;

	return length > 0 && getenv(POWER_DIR) != NULL && path_of(fd, path) && strncmp(path, watched, length) == 0 &&
	       path[length] == '/' && fstat(fd, status) == 0;
}

/* The file keeps a name of ours. */
static void keep(int directory, const char *name, uint64_t inode)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/file.%llu", getenv(POWER_DIR), (unsigned long long)inode);
	require(linkat(directory, name, AT_FDCWD, path, 0) == 0 || errno == EEXIST, path);
}

/* ---- files --------------------------------------------------------------------------------------------------------------- */

static bool is_zero(const unsigned char *bytes, size_t count)
{
	return count == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0);
}

/* With the lock. What is beyond the end was not there: the length tells. */
static void note_data(int fd, const struct stat *status, uint64_t at, uint64_t count)
{
	unsigned char *bytes = aligned_alloc(4096, PIECE);
	uint64_t end = at + count < (uint64_t)status->st_size ? at + count : (uint64_t)status->st_size;

	require(bytes != NULL, "memory");
	if (at + count > (uint64_t)status->st_size) {
		struct power_entry length = {
			.kind = POWER_LENGTH, .inode = status->st_ino, .at = (uint64_t)status->st_size};

		write_down(&length, NULL);
	}
	while (at < end) {
		size_t part = end - at < PIECE ? (size_t)(end - at) : PIECE;
		struct power_entry entry = {
			.kind = POWER_DATA, .inode = status->st_ino, .at = at, .count = part, .bytes = (uint32_t)part};

		require(syscall(SYS_pread64, fd, bytes, part, at) == (long)part, "what was there");
		if (is_zero(bytes, part))
			entry.bytes = 0;
		write_down(&entry, bytes);
		at += part;
	}
	free(bytes);
}

static void note_write(int fd, uint64_t at, uint64_t count)
{
	int error = errno;
	struct stat status;
	char path[PATH_MAX];

	if (is_watched(fd, path, &status) && S_ISREG(status.st_mode)) {
		pthread_mutex_lock(&lock);
		note_data(fd, &status, at, count);
		pthread_mutex_unlock(&lock);
	}
	errno = error;
}

/* Its length becomes `bytes`, or at least that. */
static void note_length(int fd, uint64_t bytes, bool at_least)
{
	struct stat status;
	char path[PATH_MAX];

	if (!is_watched(fd, path, &status) || (at_least && bytes <= (uint64_t)status.st_size))
		return;
	pthread_mutex_lock(&lock);
	if (bytes < (uint64_t)status.st_size)
		note_data(fd, &status, bytes, (uint64_t)status.st_size - bytes);
	write_down(&(struct power_entry){.kind = POWER_LENGTH, .inode = status.st_ino, .at = (uint64_t)status.st_size},
		   NULL);
	pthread_mutex_unlock(&lock);
}

VISIBLE ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at)
{
	uint64_t bytes = 0;

	for (int i = 0; i < count; i++)
		bytes += parts[i].iov_len;
	note_write(fd, (uint64_t)at, bytes);
	return syscall(SYS_pwritev, fd, parts, (long)count, (long)at, 0L);
}

VISIBLE ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at)
{
	return pwritev(fd, parts, count, (off_t)at);
}

VISIBLE ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at)
{
	note_write(fd, (uint64_t)at, count);
	return syscall(SYS_pwrite64, fd, bytes, count, at);
}

VISIBLE ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at)
{
	return pwrite(fd, bytes, count, (off_t)at);
}

VISIBLE int ftruncate(int fd, off_t bytes)
{
	note_length(fd, (uint64_t)bytes, false);
	return (int)syscall(SYS_ftruncate, fd, bytes);
}

VISIBLE int ftruncate64(int fd, off64_t bytes)
{
	return ftruncate(fd, (off_t)bytes);
}

VISIBLE int fallocate(int fd, int mode, off_t at, off_t count)
{
	if (mode == 0)
		note_length(fd, (uint64_t)(at + count), true);
	return (int)syscall(SYS_fallocate, fd, (long)mode, at, count);
}

VISIBLE int fallocate64(int fd, int mode, off64_t at, off64_t count)
{
	return fallocate(fd, mode, (off_t)at, (off_t)count);
}

/* What was changed while it ran may be on the disk or not. */
static int sync_file(long how, int fd)
{
	uint64_t begin = now_ns();
	int result = (int)syscall(how, fd), error = errno;
	struct stat status;
	char path[PATH_MAX];

	if (result == 0 && is_watched(fd, path, &status)) {
		pthread_mutex_lock(&lock);
		write_down(&(struct power_entry){.kind = POWER_SYNCED, .inode = status.st_ino, .at = begin}, NULL);
		pthread_mutex_unlock(&lock);
	}
	errno = error;
	return result;
}

VISIBLE int fdatasync(int fd)
{
	return sync_file(SYS_fdatasync, fd);
}

VISIBLE int fsync(int fd)
{
	return sync_file(SYS_fsync, fd);
}

/* ---- names --------------------------------------------------------------------------------------------------------------- */

/* With the lock. */
static void note_name(struct power_entry *entry, const char *path, const char *name, const char *other)
{
	char bytes[3 * PATH_MAX];
	const char *parts[] = {path, name, other};

	for (int i = 0; i < 3; i++) {
		size_t length = strlen(parts[i]) + 1;

		require(entry->bytes + length <= sizeof(bytes), "names are too long");
		memcpy(bytes + entry->bytes, parts[i], length);
		entry->bytes += (uint32_t)length;
	}
	write_down(entry, bytes);
}

static uint64_t inode_of(int directory, const char *name)
{
	struct stat status;

	return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) ? status.st_ino
												      : 0;
}

/* A directory is watched, and so is what is made in it. Then with the lock. */
static bool begin_names(int directory, char path[PATH_MAX], struct stat *status)
{
	if (directory < 0 || !is_watched(directory, path, status))
		return false;
	pthread_mutex_lock(&lock);
	return true;
}

/* Its name may be on the disk as soon as it is made, so it is written down when it is: a moment later. */
static int open_file(int directory, const char *name, int flags, mode_t mode)
{
	char path[PATH_MAX];
	struct stat status;
	bool is_new;
	int fd, error;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || !begin_names(directory, path, &status))
		return (int)syscall(SYS_openat, directory, name, flags, mode);
	is_new = (flags & O_CREAT) != 0 && inode_of(directory, name) == 0;
	fd = (int)syscall(SYS_openat, directory, name, flags, mode);
	error = errno;
	if (fd >= 0 && (flags & O_ACCMODE) != O_RDONLY && inode_of(directory, name) != 0)
		keep(directory, name, inode_of(directory, name));
	if (fd >= 0 && is_new)
		note_name(&(struct power_entry){.kind = POWER_MADE,
						.inode = inode_of(directory, name),
						.directory = status.st_ino},
			  path, name, "");
	pthread_mutex_unlock(&lock);
	errno = error;
	return fd;
}

VISIBLE int openat(int directory, const char *name, int flags, ...)
{
	mode_t mode = 0;
	va_list arguments;

	va_start(arguments, flags);
	if ((flags & (O_CREAT | __O_TMPFILE)) != 0)
		mode = va_arg(arguments, mode_t);
	va_end(arguments);
	return open_file(directory, name, flags, mode);
}

VISIBLE int openat64(int directory, const char *name, int flags, ...)
{
	mode_t mode = 0;
	va_list arguments;

	va_start(arguments, flags);
	if ((flags & (O_CREAT | __O_TMPFILE)) != 0)
		mode = va_arg(arguments, mode_t);
	va_end(arguments);
	return open_file(directory, name, flags, mode);
}

VISIBLE int renameat(int old_directory, const char *from, int new_directory, const char *to)
{
	char path[PATH_MAX];
	struct stat status;
	int result, error;

	if (!begin_names(old_directory, path, &status))
		return (int)syscall(SYS_renameat2, old_directory, from, new_directory, to, 0);
	if (inode_of(new_directory, to) != 0)
		keep(new_directory, to, inode_of(new_directory, to));
	note_name(&(struct power_entry){.kind = POWER_RENAMED,
					.inode = inode_of(old_directory, from),
					.directory = status.st_ino,
					.replaced = inode_of(new_directory, to)},
		  path, from, to);
	result = (int)syscall(SYS_renameat2, old_directory, from, new_directory, to, 0);
	error = errno;
	pthread_mutex_unlock(&lock);
	errno = error;
	return result;
}

VISIBLE int unlinkat(int directory, const char *name, int flags)
{
	char path[PATH_MAX];
	struct stat status;
	int result, error;

	if (!begin_names(directory, path, &status))
		return (int)syscall(SYS_unlinkat, directory, name, flags);
	if (inode_of(directory, name) != 0) {
		keep(directory, name, inode_of(directory, name));
		note_name(&(struct power_entry){.kind = POWER_REMOVED,
						.inode = inode_of(directory, name),
						.directory = status.st_ino},
			  path, name, "");
	}
	result = (int)syscall(SYS_unlinkat, directory, name, flags);
	error = errno;
	pthread_mutex_unlock(&lock);
	errno = error;
	return result;
}
