/* test_disk.c - the files of this machine (base/disk.c): what the system interrupts, shortens and refuses, a full disk, and the lock. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/disk.h"
#include "tests/harness.h"
#include "tests/support/disk_contract.h"
#include "tests/temporary.h"

/* ---- the system's functions, which fail when they are told to ----------------------------------------------------------------- */

struct script {         /* of one function */
	int fail;       /* errno of those that fail; 0: they say that nothing is done */
	int spare;      /* so many calls work before that, */
	int times;      /* and then so many fail */
	size_t at_most; /* bytes of a call; 0: any number */
	int calls, fd;  /* how often it was called, and of which file last, */
	int parts;      /* and with how many parts, */
	bool direct;    /* and past the page cache */
};

static struct script writes, reads, rooms, data_syncs, name_syncs;

static bool fails(struct script *script, int fd)
{
	script->calls++;
	script->fd = fd;
	if (script->spare > 0) {
		script->spare--;
		return false;
	}
	if (script->times == 0)
		return false;
	script->times--;
	errno = script->fail;
	return true;
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at)
{
	struct iovec first;

	if (fails(&writes, fd))
		return writes.fail == 0 ? 0 : -1;
	writes.parts = count;
	writes.direct = (fcntl(fd, F_GETFL) & O_DIRECT) != 0;
	if (writes.at_most > 0) {
		first = (struct iovec){parts[0].iov_base,
				       parts[0].iov_len < writes.at_most ? parts[0].iov_len : writes.at_most};
		parts = &first;
		count = 1;
	}
	return syscall(SYS_pwritev, fd, parts, count, (long)at, 0L);
}

ssize_t pread(int fd, void *out, size_t bytes, off_t at)
{
	if (fails(&reads, fd))
		return -1;
	if (reads.at_most > 0 && bytes > reads.at_most)
		bytes = reads.at_most;
	return syscall(SYS_pread64, fd, out, bytes, at);
}

int fallocate(int fd, int mode, off_t at, off_t bytes)
{
	return fails(&rooms, fd) ? -1 : (int)syscall(SYS_fallocate, fd, mode, at, bytes);
}

int fdatasync(int fd)
{
	return fails(&data_syncs, fd) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
	return fails(&name_syncs, fd) ? -1 : (int)syscall(SYS_fsync, fd);
}

/* ---- a directory -------------------------------------------------------------------------------------------------------------- */

static char top[TEST_PATH_BYTES], path[TEST_PATH_BYTES + 16];
static struct wh_directory *directory;
static struct wh_error err;

static void set_up(void)
{
	const struct wh_disk *disk = wh_disk_system();

	ck_assert_ptr_nonnull(mkdtemp(test_temporary(top, "disk")));
	snprintf(path, sizeof(path), "%s/node", top);
	ck_assert_int_eq(disk->directory(disk->ctx, path, true, &directory, &err), WHORL_OK);
}

static void remove_one(void *ctx, const char *name)
{
	(void)ctx;
	ck_assert_int_eq(directory->ops->remove(directory, name, &err), WHORL_OK);
}

static void tear_down(void)
{
	ck_assert_int_eq(directory->ops->list(directory, remove_one, NULL, &err), WHORL_OK);
	directory->ops->close(directory);
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(rmdir(top), 0);
}

static struct wh_file *open_file(const char *name)
{
	struct wh_file *file;

	ck_assert_msg(directory->ops->open(directory, name, true, &file, &err) == WHORL_OK, "%s", err.text);
	return file;
}

static uint64_t size_of(struct wh_file *file)
{
	uint64_t bytes;

	ck_assert_int_eq(file->ops->size(file, &bytes, &err), WHORL_OK);
	return bytes;
}

static enum whorl_result write_text(struct wh_file *file, uint64_t at, const char *text)
{
	struct iovec part = {(void *)text, strlen(text)};

	return file->ops->write(file, at, &part, 1, &err);
}

static void expect_text(struct wh_file *file, uint64_t at, const char *text)
{
	char found[64] = "";
	size_t got;

	ck_assert_int_eq(file->ops->read(file, at, found, strlen(text), &got, &err), WHORL_OK);
	ck_assert_uint_eq(got, strlen(text));
	ck_assert_mem_eq(found, text, got);
}

static void expect_error(enum whorl_result code, int number, const char *of)
{
	ck_assert_int_eq(err.code, code);
	ck_assert_msg(strstr(err.text, path) != NULL, "%s", err.text);
	ck_assert_msg(strstr(err.text, of) != NULL, "%s", err.text);
	ck_assert_msg(strstr(err.text, strerror(number)) != NULL, "%s", err.text);
}

static struct wh_directory *open_again(void);

TEST_CASE("files", .setup = set_up, .teardown = tear_down);

TEST(contract)
{
	char name[TEST_PATH_BYTES + 32], below[sizeof(name) + 16];

	contract_of_files(directory);
	contract_of_names(directory);
	contract_of_locks(directory, open_again(), getpid());
	directory = open_again();
	snprintf(name, sizeof(name), "%s/a", top);
	snprintf(below, sizeof(below), "%s/below", name);
	contract_of_directories(wh_disk_system(), name);
	ck_assert(rmdir(below) == 0 && rmdir(name) == 0);
}

/* ---- files -------------------------------------------------------------------------------------------------------------------- */

/* More parts than the system takes at once, some of them empty, and never more than so many bytes at a time. */
TEST_LOOP(many_parts_in_pieces, 0, 6)
{
	enum { PARTS = 3000 };
	static struct iovec parts[PARTS];
	static char apart[PARTS * 4], bytes[PARTS * 3],
		found[PARTS * 3 + 1]; /* parts that follow each other would become one */
	size_t total = 0, got;
	struct wh_file *file = open_file("log");

	for (int i = 0; i < PARTS; i++) {
		parts[i] = (struct iovec){apart + 4 * i, (size_t)(i % 4)};
		for (int k = 0; k < i % 4; k++)
			bytes[total++] = apart[4 * i + k] = (char)(i + k);
	}
	writes.at_most = (size_t)_i;
	reads.at_most = (size_t)_i;
	ck_assert_int_eq(file->ops->write(file, 11, parts, PARTS, &err), WHORL_OK);
	ck_assert_uint_eq(size_of(file), total + 11);
	ck_assert_int_eq(file->ops->read(file, 11, found, sizeof(found), &got, &err), WHORL_OK);
	ck_assert_uint_eq(got, total);
	ck_assert_mem_eq(found, bytes, total);
	ck_assert_int_eq(file->ops->write(file, 0, NULL, 0, &err), WHORL_OK);
	file->ops->close(file);
}

/* What follows each other in memory is one part to the system; what does not is not. */
TEST(neighbours_are_written_as_one)
{
	static char bytes[] = "one two three ";
	struct iovec parts[] = {{bytes, 4}, {bytes + 4, 4}, {bytes + 8, 0}, {bytes + 8, 6}, {bytes, 4}, {bytes + 8, 5}};
	struct wh_file *file = open_file("log");

	ck_assert_int_eq(file->ops->write(file, 0, parts, 6, &err), WHORL_OK);
	expect_text(file, 0, "one two three one three");
	ck_assert_int_eq(writes.calls, 1);
	ck_assert_int_eq(writes.parts, 3);
	file->ops->close(file);
}

/* Past the page cache where that goes, and what is read or written otherwise is the same file. */
TEST(blocks)
{
	unsigned char *block = aligned_alloc(WH_DISK_BLOCK, 2 * WH_DISK_BLOCK);
	struct wh_file *file = open_file("log");
	char found[8];
	size_t got;
	bool takes_them;

	ck_assert_ptr_nonnull(block);
	memset(block, 'b', 2 * WH_DISK_BLOCK);
	ck_assert_int_eq(write_text(file, 0, "head"), WHORL_OK);
	ck_assert(!writes.direct);
	ck_assert_int_eq(file->ops->write_blocks(file, WH_DISK_BLOCK, block, 2 * WH_DISK_BLOCK, &err), WHORL_OK);
	takes_them = writes.direct;
	expect_text(file, 0, "head");
	ck_assert_int_eq(file->ops->read(file, 3 * WH_DISK_BLOCK - 4, found, sizeof(found), &got, &err), WHORL_OK);
	ck_assert_uint_eq(got, 4);
	ck_assert_mem_eq(found, "bbbb", 4);
	ck_assert_int_eq(write_text(file, WH_DISK_BLOCK + 5, "odd"), WHORL_OK);
	ck_assert(!writes.direct);
	expect_text(file, WH_DISK_BLOCK + 4, "boddb");
	memset(block, 'c', WH_DISK_BLOCK);
	ck_assert_int_eq(file->ops->write_blocks(file, WH_DISK_BLOCK, block, WH_DISK_BLOCK, &err), WHORL_OK);
	ck_assert(writes.direct == takes_them);
	expect_text(file, WH_DISK_BLOCK + 4, "ccccc");
	file->ops->close(file);
	free(block);
}

/* From then on all go by the cache. Other failures are told as those of any write. */
TEST(a_device_that_takes_no_blocks)
{
	unsigned char *block = aligned_alloc(WH_DISK_BLOCK, WH_DISK_BLOCK);
	struct wh_file *file = open_file("log");

	ck_assert_ptr_nonnull(block);
	memset(block, 'b', WH_DISK_BLOCK);
	writes = (struct script){.fail = EIO, .times = 1};
	ck_assert_int_eq(file->ops->write_blocks(file, 0, block, WH_DISK_BLOCK, &err), WHORL_DISK);
	writes = (struct script){.fail = ENOSPC, .times = 1};
	ck_assert_int_eq(file->ops->write_blocks(file, 0, block, WH_DISK_BLOCK, &err), WHORL_AGAIN);
	writes = (struct script){.fail = EINVAL, .times = 1};
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(file->ops->write_blocks(file, 0, block, WH_DISK_BLOCK, &err), WHORL_OK);
		ck_assert(!writes.direct);
		expect_text(file, 0, "bbbb");
	}
	file->ops->close(file);
	free(block);
}

TEST(a_signal_fails_nothing)
{
	struct wh_file *file = open_file("log");
	struct script twice = {.fail = EINTR, .times = 2};

	writes = reads = rooms = data_syncs = name_syncs = twice;
	ck_assert_int_eq(write_text(file, 0, "orders"), WHORL_OK);
	expect_text(file, 0, "orders");
	ck_assert_int_eq(file->ops->allocate(file, 4096, &err), WHORL_OK);
	ck_assert_int_eq(file->ops->sync(file, &err), WHORL_OK);
	ck_assert_int_eq(directory->ops->sync(directory, &err), WHORL_OK);
	ck_assert(writes.times == 0 && reads.times == 0 && rooms.times == 0 && data_syncs.times == 0 &&
		  name_syncs.times == 0);
	file->ops->close(file);
}

TEST(what_the_system_refuses_is_told)
{
	struct wh_file *file = open_file("log");
	char byte;
	size_t got;

	writes = (struct script){.fail = EIO, .times = 1};
	ck_assert_int_eq(write_text(file, 0, "orders"), WHORL_DISK);
	expect_error(WHORL_DISK, EIO, "/log");
	writes = (struct script){.fail = 0, .times = 1}; /* nothing is written, and nothing is said */
	ck_assert_int_eq(write_text(file, 0, "orders"), WHORL_DISK);
	writes = (struct script){.fail = EDQUOT, .times = 1};
	ck_assert_int_eq(write_text(file, 0, "orders"), WHORL_AGAIN);
	expect_error(WHORL_AGAIN, EDQUOT, "/log");
	reads = (struct script){.fail = EIO, .times = 1};
	ck_assert_int_eq(file->ops->read(file, 0, &byte, 1, &got, &err), WHORL_DISK);
	expect_error(WHORL_DISK, EIO, "/log");
	rooms = (struct script){.fail = ENOSPC, .times = 1};
	ck_assert_int_eq(file->ops->allocate(file, 4096, &err), WHORL_AGAIN);
	rooms = (struct script){.fail = EIO, .times = 1};
	ck_assert_int_eq(file->ops->allocate(file, 4096, &err), WHORL_DISK);
	data_syncs = (struct script){.fail = ENOSPC, .times = 1}; /* what was written is lost */
	ck_assert_int_eq(file->ops->sync(file, &err), WHORL_DISK);
	expect_error(WHORL_DISK, ENOSPC, "/log");
	ck_assert_int_eq(data_syncs.calls, 1);
	name_syncs = (struct script){.fail = EIO, .times = 1};
	ck_assert_int_eq(directory->ops->sync(directory, &err), WHORL_DISK);
	expect_error(WHORL_DISK, EIO, path);
	file->ops->close(file);
}

TEST(room_where_there_is_no_fallocate)
{
	struct wh_file *file = open_file("log");

	ck_assert_int_eq(file->ops->allocate(file, 0, &err), WHORL_OK);
	ck_assert_int_eq(write_text(file, 0, "orders"), WHORL_OK);
	rooms = (struct script){.fail = EOPNOTSUPP, .times = 4};
	ck_assert_int_eq(file->ops->allocate(file, 200001, &err), WHORL_OK);
	ck_assert_uint_eq(size_of(file), 200001);
	expect_text(file, 0, "orders");
	ck_assert_int_eq(file->ops->allocate(file, 1000, &err), WHORL_OK);
	ck_assert_uint_eq(size_of(file), 200001);
	writes = (struct script){.at_most = 1000};
	ck_assert_int_eq(file->ops->allocate(file, 200301, &err), WHORL_OK);
	ck_assert_uint_eq(size_of(file), 200301);
	writes = (struct script){.fail = ENOSPC, .spare = 1, .times = 1};
	ck_assert_int_eq(file->ops->allocate(file, 300000, &err), WHORL_AGAIN);
	ck_assert_uint_eq(size_of(file), 200301);
	file->ops->close(file);
}

/* ---- a full disk -------------------------------------------------------------------------------------------------------------- */

/* A file system of 64 KiB, in this process's eyes alone. False: that is root's to do. */
static bool mount_small(void)
{
	return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("small", top, "tmpfs", 0, "size=64k,mode=700") == 0;
}

static int fill_up(void)
{
	static char bytes[16384];
	const struct wh_disk *disk = wh_disk_system();
	struct wh_directory *small;
	struct wh_file *file;
	char name[TEST_PATH_BYTES + 16];
	enum whorl_result result = WHORL_OK;
	uint64_t at = 0;

	snprintf(name, sizeof(name), "%s/full", top);
	if (disk->directory(disk->ctx, name, true, &small, &err) != WHORL_OK ||
	    small->ops->open(small, "log", true, &file, &err) != WHORL_OK)
		return 2;
	if (file->ops->allocate(file, 1 << 20, &err) != WHORL_AGAIN || file->ops->truncate(file, 0, &err) != WHORL_OK)
		return 3;
	for (; result == WHORL_OK && at < 1 << 20; at += sizeof(bytes)) {
		struct iovec part = {bytes, sizeof(bytes)};

		result = file->ops->write(file, at, &part, 1, &err);
	}
	if (result != WHORL_AGAIN || strstr(err.text, "/full/log") == NULL)
		return 4;
	file->ops->close(file);
	if (small->ops->remove(small, "log", &err) != WHORL_OK)
		return 5;
	small->ops->close(small);
	rmdir(name);
	return 0;
}

/* In a file system that is full; where none can be mounted, against the limit of a file. The limit is tried always. */
TEST(no_room)
{
	const struct rlimit limit = {65536, 65536};
	int status;

	for (int mounted = 0; mounted < 2; mounted++) {
		pid_t child = fork();

		if (child == 0) {
			if (!mounted || !mount_small()) {
				signal(SIGXFSZ, SIG_IGN);
				setrlimit(RLIMIT_FSIZE, &limit);
			}
			_exit(fill_up());
		}
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%d: status %x", mounted, status);
	}
}

/* ---- directories -------------------------------------------------------------------------------------------------------------- */

TEST_CASE("names", .setup = set_up, .teardown = tear_down);

TEST(a_directory_that_is_made_is_synced_in_the_one_above)
{
	const struct wh_disk *disk = wh_disk_system();
	struct wh_directory *made;
	char name[TEST_PATH_BYTES + 32], missing[sizeof(name) + 16];
	struct stat status;

	snprintf(name, sizeof(name), "%s/a", top);
	snprintf(missing, sizeof(missing), "%s/b", name);
	ck_assert_int_eq(disk->directory(disk->ctx, name, false, &made, &err), WHORL_NOT_FOUND);
	ck_assert_int_eq(disk->directory(disk->ctx, missing, true, &made, &err), WHORL_DISK);
	ck_assert_msg(strstr(err.text, missing) != NULL, "%s", err.text);
	name_syncs = (struct script){0};
	ck_assert_int_eq(disk->directory(disk->ctx, name, true, &made, &err), WHORL_OK);
	ck_assert_int_eq(name_syncs.calls, 1);
	made->ops->close(made);
	ck_assert_int_eq(stat(name, &status), 0);
	ck_assert_uint_eq(status.st_mode & 0777, 0700);
	ck_assert_int_eq(disk->directory(disk->ctx, name, true, &made, &err), WHORL_OK);
	ck_assert_int_eq(name_syncs.calls, 2); /* what made it may not have come to that */
	made->ops->close(made);
	name_syncs = (struct script){.fail = EIO, .times = 1};
	ck_assert_int_eq(disk->directory(disk->ctx, name, true, &made, &err), WHORL_DISK);
	ck_assert_ptr_null(made);
	ck_assert_int_eq(disk->directory(disk->ctx, name, false, &made, &err), WHORL_OK);
	made->ops->close(made);
	ck_assert_int_eq(rmdir(name), 0);
}

TEST(names)
{
	struct wh_file *file;

	ck_assert_int_eq(directory->ops->remove(directory, "old", &err), WHORL_NOT_FOUND);
	expect_error(WHORL_NOT_FOUND, ENOENT, "/old");
	file = open_file("log");
	ck_assert_int_eq(file->ops->sync(file, &err), WHORL_OK);
	ck_assert_int_eq(data_syncs.calls, 1);
	name_syncs = (struct script){0};
	ck_assert_int_eq(directory->ops->sync(directory, &err), WHORL_OK);
	ck_assert_int_eq(name_syncs.calls, 1);
	file->ops->close(file);
	contract_expect_names(directory, "log", NULL);
	contract_expect_names(directory, "log", NULL); /* from its beginning */
	ck_assert_int_eq(directory->ops->open(directory, ".", true, &file, &err), WHORL_DISK);
	expect_error(WHORL_DISK, EISDIR, "/.");
}

/* ---- the lock ----------------------------------------------------------------------------------------------------------------- */

static struct wh_directory *open_again(void)
{
	const struct wh_disk *disk = wh_disk_system();
	struct wh_directory *again;

	ck_assert_int_eq(disk->directory(disk->ctx, path, false, &again, &err), WHORL_OK);
	return again;
}

static enum whorl_result try_lock(int *holder)
{
	struct wh_directory *again = open_again();
	enum whorl_result result = again->ops->lock(again, holder, &err);

	again->ops->close(again);
	return result;
}

TEST_CASE("lock", .setup = set_up, .teardown = tear_down);

TEST(a_lock_between_handles)
{
	int holder = -1;

	ck_assert_int_eq(directory->ops->lock(directory, &holder, &err), WHORL_OK);
	ck_assert_int_eq(holder, 0);
	ck_assert_int_eq(directory->ops->lock(directory, &holder, &err), WHORL_OK); /* it has it */
	ck_assert_int_eq(try_lock(&holder), WHORL_AGAIN);
	ck_assert_int_eq(holder, getpid());
	ck_assert_msg(strstr(err.text, path) != NULL, "%s", err.text);
	ck_assert_int_eq(try_lock(&holder), WHORL_AGAIN); /* the one that was refused has broken nothing */
	directory->ops->close(directory);
	directory = open_again();
	ck_assert_int_eq(try_lock(&holder), WHORL_OK);
	ck_assert_int_eq(try_lock(&holder), WHORL_OK);
}

/* Locks, says so, and waits until it is told or killed. */
static pid_t fork_locker(int *say)
{
	int said[2], told[2];
	char byte = 'x';
	pid_t child;

	ck_assert(pipe(said) == 0 && pipe(told) == 0);
	child = fork();
	if (child == 0) {
		struct wh_directory *own = open_again();
		int holder;

		close(told[1]);
		if (own->ops->lock(own, &holder, &err) != WHORL_OK || write(said[1], &byte, 1) != 1 ||
		    read(told[0], &byte, 1) < 0)
			_exit(1);
		own->ops->close(own);
		_exit(0);
	}
	close(said[1]);
	close(told[0]);
	ck_assert_int_eq(read(said[0], &byte, 1), 1);
	close(said[0]);
	*say = told[1];
	return child;
}

TEST_LOOP(a_lock_between_processes, 0, 2)
{
	int holder, status, say;
	pid_t child = fork_locker(&say);

	ck_assert_int_eq(directory->ops->lock(directory, &holder, &err), WHORL_AGAIN);
	ck_assert_int_eq(holder, child);
	if (_i == 0)
		kill(child, SIGKILL);
	close(say);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(directory->ops->lock(directory, &holder, &err), WHORL_OK);
	ck_assert_int_eq(try_lock(&holder), WHORL_AGAIN);
	ck_assert_int_eq(holder, getpid());
}

/* A child has all handles too. When it closes them its parent keeps the lock; when the parent does, the child does not hold it up. */
TEST(a_lock_and_a_child_of_its_process)
{
	int holder, status, told[2];
	pid_t child;
	char byte;

	ck_assert_int_eq(pipe(told), 0);
	ck_assert_int_eq(directory->ops->lock(directory, &holder, &err), WHORL_OK);
	child = fork();
	if (child == 0) {
		directory->ops->close(directory);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(try_lock(&holder), WHORL_AGAIN);
	ck_assert_int_eq(holder, getpid());
	child = fork();
	if (child == 0) {
		close(told[1]);
		_exit(read(told[0], &byte, 1) < 0);
	}
	directory->ops->close(directory);
	directory = open_again();
	ck_assert_int_eq(directory->ops->lock(directory, &holder, &err), WHORL_OK);
	close(told[1]);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
}

/* What stands in the file is only for people, and anything may stand there. */
TEST_LOOP(a_holder_that_is_not_known, 0, 7)
{
	static const char *const texts[] = {"", "x", "0\n", "-3\n", "12", "99999999999999999999999\n", "12 \n"};
	char name[TEST_PATH_BYTES + 32];
	int holder, fd;

	ck_assert_int_eq(directory->ops->lock(directory, &holder, &err), WHORL_OK);
	snprintf(name, sizeof(name), "%s/lock", path);
	fd = open(name, O_WRONLY | O_TRUNC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, texts[_i], strlen(texts[_i])), (int)strlen(texts[_i]));
	ck_assert_int_eq(try_lock(&holder), WHORL_AGAIN);
	ck_assert_int_eq(holder, 0);
	close(fd);
}

TEST_SUITE("disk")
