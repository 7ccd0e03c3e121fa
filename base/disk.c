/* disk.c - the files of this machine. See disk.h.
 *
 * A lock is an flock: it belongs to the open file, so two handles of one process keep each other out as those of two processes do, and
 * it goes with the last process that has it open. A child that was forked has it open too.
 */
#include "base/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define ZEROS_BYTES 65536
#define LOCK_NAME "lock"
#define PID_TEXT_BYTES 24

struct system_file {
	struct wh_file base;
	int fd;
	bool is_direct;     /* the flag that is set on `fd` */
	bool goes_by_cache; /* the file system, or the device, does not take blocks otherwise */
	char path[];        /* for errors */
};

struct system_directory {
	struct wh_directory base;
	int fd, lock_fd; /* lock_fd -1: it is not locked by this handle */
	pid_t locker;    /* the process that has locked it: a child that was forked has not */
	char path[];     /* for errors */
};

/* ---- results ----------------------------------------------------------------------------------------------------------------- */

/* The text of errno behind "cannot WHAT PATH". */
static enum whorl_result fail(struct wh_error *err, enum whorl_result code, const char *what, const char *path)
{
	wh_error_system(err, errno, "cannot %s %s", what, path);
	if (err != NULL)
		err->code = code;
	return code;
}

/* The disk, a quota or a limit of the process may leave none. */
static enum whorl_result code_for_room(void)
{
	return errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? WHORL_AGAIN : WHORL_DISK;
}

/* Of bytes that need room. */
static enum whorl_result fail_for_room(struct wh_error *err, const char *what, const char *path)
{
	return fail(err, code_for_room(), what, path);
}

static enum whorl_result fail_by_name(struct wh_error *err, const char *what, const struct system_directory *directory,
				      const char *name)
{
	enum whorl_result code = errno == ENOENT ? WHORL_NOT_FOUND : WHORL_DISK;

	wh_error_system(err, errno, "cannot %s %s/%s", what, directory->path, name);
	if (err != NULL)
		err->code = code;
	return code;
}

/* ---- files ------------------------------------------------------------------------------------------------------------------- */

/* What is read, or written a byte at a time, goes by the page cache. False: the flag cannot be changed. */
static bool set_direct(struct system_file *file, bool direct)
{
	if (file->is_direct == direct)
		return true;
	if (fcntl(file->fd, F_SETFL, O_RDWR | (direct ? O_DIRECT : 0)) != 0)
		return false;
	file->is_direct = direct;
	return true;
}

static enum whorl_result file_size(struct wh_file *base, uint64_t *bytes, struct wh_error *err)
{
	const struct system_file *file = (const struct system_file *)base;
	struct stat status;

	*bytes = 0;
	if (fstat(file->fd, &status) != 0)
		return fail(err, WHORL_DISK, "look at", file->path);
	*bytes = (uint64_t)status.st_size;
	return WHORL_OK;
}

static enum whorl_result file_read(struct wh_file *base, uint64_t at, void *out, size_t bytes, size_t *got,
				   struct wh_error *err)
{
	struct system_file *file = (struct system_file *)base;

	*got = 0;
	if (!set_direct(file, false))
		return fail(err, WHORL_DISK, "read", file->path);
	while (*got < bytes) {
		ssize_t count = pread(file->fd, (char *)out + *got, bytes - *got, (off_t)(at + *got));

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return fail(err, WHORL_DISK, "read", file->path);
		if (count == 0)
			break;
		*got += (size_t)count;
	}
	return WHORL_OK;
}

/* So much of the parts is done: what is left of them begins with *parts. */
static void skip_bytes(struct iovec **parts, int *count, size_t bytes)
{
	while (*count > 0 && bytes >= (*parts)->iov_len) {
		bytes -= (*parts)->iov_len;
		++*parts;
		--*count;
	}
	if (*count > 0) {
		(*parts)->iov_base = (char *)(*parts)->iov_base + bytes;
		(*parts)->iov_len -= bytes;
	}
}

/* Parts that follow each other in memory become one: to the kernel each of them is work, and a log has one for each message. Returns how many
 * are left. */
static int join_parts(struct iovec *parts, int count)
{
	int last = 0;

	for (int next = 1; next < count; next++) {
		if ((uintptr_t)parts[last].iov_base + parts[last].iov_len == (uintptr_t)parts[next].iov_base)
			parts[last].iov_len += parts[next].iov_len;
		else
			parts[++last] = parts[next];
	}
	return count > 0 ? last + 1 : 0;
}

/* With the flag that the file has. Returns 0, or an errno value. */
static int write_parts(const struct system_file *file, uint64_t at, struct iovec *parts, int count)
{
	for (skip_bytes(&parts, &count, 0); count > 0;) {
		ssize_t written = pwritev(file->fd, parts, count < IOV_MAX ? count : IOV_MAX, (off_t)at);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return errno;
		if (written == 0) /* of a file that takes nothing, and says nothing of it */
			return EIO;
		at += (uint64_t)written;
		skip_bytes(&parts, &count, (size_t)written);
	}
	return 0;
}

static enum whorl_result judge_write(const struct system_file *file, int number, struct wh_error *err)
{
	errno = number;
	return number == 0 ? WHORL_OK : fail_for_room(err, "write", file->path);
}

static enum whorl_result file_write(struct wh_file *base, uint64_t at, struct iovec *parts, int count,
				    struct wh_error *err)
{
	struct system_file *file = (struct system_file *)base;

	if (!set_direct(file, false))
		return fail(err, WHORL_DISK, "write", file->path);
	return judge_write(file, write_parts(file, at, parts, join_parts(parts, count)), err);
}

/* A copy less, and no new pages: to fill a page of the cache that was never used costs a virtual machine more than the write itself. What the
 * cache has of these bytes the system takes out of it. */
static enum whorl_result file_write_blocks(struct wh_file *base, uint64_t at, const void *blocks, size_t bytes,
					   struct wh_error *err)
{
	struct system_file *file = (struct system_file *)base;
	struct iovec part = {(void *)blocks, bytes};
	int number = EINVAL;

	if (!file->goes_by_cache && set_direct(file, true))
		number = write_parts(file, at, &part, 1);
	if (number != EINVAL)
		return judge_write(file, number, err);
	file->goes_by_cache = true;
	part = (struct iovec){(void *)blocks, bytes};
	return file_write(base, at, &part, 1, err);
}

/* Where the file system cannot give room otherwise. What does not fit is taken back. */
static enum whorl_result write_zeros(struct wh_file *base, uint64_t bytes, struct wh_error *err)
{
	static const char zeros[ZEROS_BYTES];
	const struct system_file *file = (const struct system_file *)base;
	uint64_t before;
	enum whorl_result result = file_size(base, &before, err);

	for (uint64_t at = before; result == WHORL_OK && at < bytes; at += ZEROS_BYTES) {
		struct iovec part = {(void *)zeros, bytes - at < ZEROS_BYTES ? (size_t)(bytes - at) : ZEROS_BYTES};

		result = file_write(base, at, &part, 1, err);
	}
	if (result == WHORL_AGAIN && ftruncate(file->fd, (off_t)before) != 0)
		return fail(err, WHORL_DISK, "shorten", file->path);
	return result;
}

static enum whorl_result file_allocate(struct wh_file *base, uint64_t bytes, struct wh_error *err)
{
	const struct system_file *file = (const struct system_file *)base;
	int failed;

	if (bytes == 0)
		return WHORL_OK;
	do {
		failed = fallocate(file->fd, 0, 0, (off_t)bytes);
	} while (failed != 0 && errno == EINTR);
	if (failed != 0 && (errno == EOPNOTSUPP || errno == ENOSYS))
		return write_zeros(base, bytes, err);
	return failed == 0 ? WHORL_OK : fail_for_room(err, "get room for", file->path);
}

static enum whorl_result file_truncate(struct wh_file *base, uint64_t bytes, struct wh_error *err)
{
	const struct system_file *file = (const struct system_file *)base;
	int failed;

	do {
		failed = ftruncate(file->fd, (off_t)bytes);
	} while (failed != 0 && errno == EINTR);
	return failed == 0 ? WHORL_OK : fail(err, WHORL_DISK, "set the length of", file->path);
}

/* One that has failed is not tried again: the system may have dropped what it could not write, and the next would succeed. */
static enum whorl_result file_sync(struct wh_file *base, struct wh_error *err)
{
	const struct system_file *file = (const struct system_file *)base;
	int failed;

	do {
		failed = fdatasync(file->fd);
	} while (failed != 0 && errno == EINTR);
	return failed == 0 ? WHORL_OK : fail(err, WHORL_DISK, "sync", file->path);
}

static void file_close(struct wh_file *base)
{
	struct system_file *file = (struct system_file *)base;

	close(file->fd);
	free(file);
}

/* Pages that are not written yet stay, and where the system does not take the advice all do. */
static void file_forget(struct wh_file *base, uint64_t at, uint64_t bytes)
{
	const struct system_file *file = (const struct system_file *)base;

	(void)posix_fadvise(file->fd, (off_t)at, (off_t)bytes, POSIX_FADV_DONTNEED);
}

static const struct wh_file_ops file_ops = {
	.size = file_size,
	.read = file_read,
	.write = file_write,
	.write_blocks = file_write_blocks,
	.allocate = file_allocate,
	.truncate = file_truncate,
	.sync = file_sync,
	.close = file_close,
	.forget = file_forget,
};

/* ---- directories ------------------------------------------------------------------------------------------------------------- */

static enum whorl_result directory_open(struct wh_directory *base, const char *name, bool make, struct wh_file **out,
					struct wh_error *err)
{
	const struct system_directory *directory = (const struct system_directory *)base;
	size_t path_bytes = strlen(directory->path) + strlen(name) + 2;
	struct system_file *file = malloc(sizeof(*file) + path_bytes);
	enum whorl_result result;

	*out = NULL;
	if (file == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory to open %s/%s", directory->path, name);
	file->base.ops = &file_ops;
	file->is_direct = file->goes_by_cache = false;
	snprintf(file->path, path_bytes, "%s/%s", directory->path, name);
	do {
		file->fd = openat(directory->fd, name, O_RDWR | O_CLOEXEC | (make ? O_CREAT : 0), 0600);
	} while (file->fd < 0 && errno == EINTR);
	if (file->fd < 0 && !make && (errno == EACCES || errno == EROFS)) /* one that is only read needs no more */
		file->fd = openat(directory->fd, name, O_RDONLY | O_CLOEXEC);
	if (file->fd >= 0) {
		*out = &file->base;
		return WHORL_OK;
	}
	result = make && code_for_room() == WHORL_AGAIN ? fail_for_room(err, "make", file->path)
							: fail_by_name(err, "open", directory, name);
	free(file);
	return result;
}

static enum whorl_result directory_rename(struct wh_directory *base, const char *from, const char *to,
					  struct wh_error *err)
{
	const struct system_directory *directory = (const struct system_directory *)base;

	if (renameat(directory->fd, from, directory->fd, to) == 0)
		return WHORL_OK;
	return fail_by_name(err, "rename", directory, from);
}

static enum whorl_result directory_remove(struct wh_directory *base, const char *name, struct wh_error *err)
{
	const struct system_directory *directory = (const struct system_directory *)base;

	return unlinkat(directory->fd, name, 0) == 0 ? WHORL_OK : fail_by_name(err, "remove", directory, name);
}

static enum whorl_result sync_names(int fd, const char *path, struct wh_error *err)
{
	int failed;

	do {
		failed = fsync(fd);
	} while (failed != 0 && errno == EINTR);
	return failed == 0 ? WHORL_OK : fail(err, WHORL_DISK, "sync", path);
}

static enum whorl_result directory_sync(struct wh_directory *base, struct wh_error *err)
{
	const struct system_directory *directory = (const struct system_directory *)base;

	return sync_names(directory->fd, directory->path, err);
}

static enum whorl_result directory_list(struct wh_directory *base, void (*each)(void *ctx, const char *name), void *ctx,
					struct wh_error *err)
{
	const struct system_directory *directory = (const struct system_directory *)base;
	int fd = openat(directory->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* with a position of its own */
	DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	int why;

	if (stream == NULL) {
		why = errno;
		if (fd >= 0)
			close(fd);
		errno = why;
		return fail(err, WHORL_DISK, "list", directory->path);
	}
	while (errno = 0, (entry = readdir(stream)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			each(ctx, entry->d_name);
	why = errno;
	closedir(stream);
	errno = why;
	return why == 0 ? WHORL_OK : fail(err, WHORL_DISK, "list", directory->path);
}

/* ---- the lock ---------------------------------------------------------------------------------------------------------------- */

/* Only for people: what it says may be old, where the holder has not written it yet or could not. */
static int read_holder(int fd)
{
	char text[PID_TEXT_BYTES];
	ssize_t count = pread(fd, text, sizeof(text) - 1, 0);
	char *end;
	long pid;

	if (count <= 0)
		return 0;
	text[count] = '\0';
	pid = strtol(text, &end, 10);
	return *end == '\n' && pid > 0 && pid <= INT_MAX ? (int)pid : 0;
}

static void write_holder(int fd)
{
	char text[PID_TEXT_BYTES];
	int bytes = snprintf(text, sizeof(text), "%ld\n", (long)getpid());

	if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)bytes, 0) != bytes)
		return; /* the lock is held all the same */
}

static enum whorl_result directory_lock(struct wh_directory *base, int *holder, struct wh_error *err)
{
	struct system_directory *directory = (struct system_directory *)base;
	int fd, why;

	*holder = 0;
	if (directory->lock_fd >= 0)
		return WHORL_OK;
	fd = openat(directory->fd, LOCK_NAME, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail(err, WHORL_DISK, "open the lock of", directory->path);
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
		write_holder(fd);
		directory->lock_fd = fd;
		directory->locker = getpid();
		return WHORL_OK;
	}
	why = errno;
	if (why == EWOULDBLOCK)
		*holder = read_holder(fd);
	close(fd);
	errno = why;
	return fail(err, why == EWOULDBLOCK ? WHORL_AGAIN : WHORL_DISK, "lock", directory->path);
}

/* A child may have the lock's file open still, so to close it is not enough; and it must not unlock what is its parent's. */
static void unlock(struct system_directory *directory)
{
	if (directory->lock_fd < 0)
		return;
	if (directory->locker == getpid()) {
		(void)!ftruncate(directory->lock_fd, 0);
		(void)flock(directory->lock_fd, LOCK_UN);
	}
	close(directory->lock_fd);
}

static void directory_close(struct wh_directory *base)
{
	struct system_directory *directory = (struct system_directory *)base;

	unlock(directory);
	close(directory->fd);
	free(directory);
}

/* ---- the disk ---------------------------------------------------------------------------------------------------------------- */

static const struct wh_directory_ops directory_ops = {
	.open = directory_open,
	.rename = directory_rename,
	.remove = directory_remove,
	.sync = directory_sync,
	.list = directory_list,
	.lock = directory_lock,
	.close = directory_close,
};

/* That the directory itself is there after a loss of power; also when another process has made it just before. Where the one
 * above may not be opened, its whole file system is synced. */
static enum whorl_result sync_own_name(const struct system_directory *directory, struct wh_error *err)
{
	int above = openat(directory->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum whorl_result result;

	if (above < 0)
		return syncfs(directory->fd) == 0 ? WHORL_OK : fail(err, WHORL_DISK, "sync", directory->path);
	result = sync_names(above, directory->path, err);
	close(above);
	return result;
}

static enum whorl_result open_directory(void *ctx, const char *path, bool make, struct wh_directory **out,
					struct wh_error *err)
{
	size_t path_bytes = strlen(path) + 1;
	struct system_directory *directory = malloc(sizeof(*directory) + path_bytes);
	enum whorl_result result = WHORL_OK;

	(void)ctx;
	*out = NULL;
	if (directory == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory to open %s", path);
	directory->base.ops = &directory_ops;
	directory->fd = directory->lock_fd = -1;
	memcpy(directory->path, path, path_bytes);
	if (make && mkdir(path, 0700) != 0 && errno != EEXIST)
		result = fail(err, WHORL_DISK, "make the directory", path);
	if (result == WHORL_OK) {
		directory->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (directory->fd < 0)
			result = fail(err, errno == ENOENT ? WHORL_NOT_FOUND : WHORL_DISK, "open the directory", path);
	}
	if (result == WHORL_OK && make)
		result = sync_own_name(directory, err);
	if (result == WHORL_OK) {
		*out = &directory->base;
		return WHORL_OK;
	}
	if (directory->fd >= 0)
		close(directory->fd);
	free(directory);
	return result;
}

const struct wh_disk wh_disk_of_machine = {.directory = open_directory};
