/* record.c - see record.h. A record is a small text:
 *
 *     whorl record 1
 *     group orders
 *     node 2
 *     identity 5bd1e9955bd1e995
 *
 * A new one is written beside the old, synced, and takes its name: a crash leaves one or the other, whole.
 */
#include "group/record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TEXT_BYTES 256

/* ---- files ---------------------------------------------------------------------------------------------------------------- */

static int format_record(const struct wh_record_file *file, uint64_t group, char text[TEXT_BYTES])
{
	return snprintf(text, TEXT_BYTES, "whorl record 1\ngroup %s\nnode %" PRIu32 "\nidentity %016" PRIx64 "\n",
			file->group, file->node, group);
}

static enum whorl_result set_file_error(struct wh_error *err, const struct wh_record_file *file, const char *what)
{
	return wh_error_set(err, WHORL_SYSTEM, "group.state_dir: cannot %s %s/%s: %s", what, file->directory,
			    file->name, strerror(errno));
}

/* What stands there must be what would be written for that identity: nothing more, nothing less. */
static bool parse_record(const struct wh_record_file *file, const char *text, uint64_t *group)
{
	const char *identity = strstr(text, "\nidentity ");
	char expected[TEXT_BYTES];

	if (identity == NULL || sscanf(identity, "\nidentity %16" SCNx64, group) != 1 || *group == 0)
		return false;
	format_record(file, *group, expected);
	return strcmp(text, expected) == 0;
}

static int open_directory(const struct wh_record_file *file)
{
	return open(file->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static ptrdiff_t read_text(int directory, const struct wh_record_file *file, char text[TEXT_BYTES])
{
	int fd = openat(directory, file->name, O_RDONLY | O_CLOEXEC);
	ptrdiff_t count;
	int why;

	if (fd < 0)
		return -1;
	count = read(fd, text, TEXT_BYTES - 1);
	why = errno;
	close(fd);
	errno = why;
	if (count >= 0)
		text[count] = '\0';
	return count;
}

static enum whorl_result load_file(void *ctx, uint64_t *group, struct wh_error *err)
{
	const struct wh_record_file *file = ctx;
	int directory = open_directory(file), why;
	char text[TEXT_BYTES];
	ptrdiff_t count;

	*group = 0;
	if (directory < 0) /* it is not made: where a disk is not mounted an empty directory would be no record */
		return set_file_error(err, file, "open the directory of");
	count = read_text(directory, file, text);
	why = errno;
	close(directory);
	errno = why;
	if (count < 0)
		return errno == ENOENT ? WHORL_OK : set_file_error(err, file, "read");
	if (parse_record(file, text, group))
		return WHORL_OK;
	*group = 0;
	return wh_error_set(err, WHORL_CONFIG,
			    "group.state_dir: %s/%s is no record of node %" PRIu32
			    " of group %s; a file that is damaged counts as a lost disk (docs/operations.md)",
			    file->directory, file->name, file->node, file->group);
}

/* False: errno says why. */
static bool write_text(int fd, const char *text, size_t bytes)
{
	ptrdiff_t count = write(fd, text, bytes);

	if (count >= 0 && (size_t)count != bytes)
		errno = ENOSPC;
	return count == (ptrdiff_t)bytes && fsync(fd) == 0;
}

static bool replace_record(int directory, const struct wh_record_file *file, const char *text, size_t bytes)
{
	char beside[sizeof(file->name) + 8];
	bool good;
	int fd;

	snprintf(beside, sizeof(beside), "%s.new", file->name);
	fd = openat(directory, beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	good = write_text(fd, text, bytes);
	if (close(fd) != 0)
		good = false;
	return good && renameat(directory, beside, directory, file->name) == 0 && fsync(directory) == 0;
}

static enum whorl_result save_file(void *ctx, uint64_t group, struct wh_error *err)
{
	const struct wh_record_file *file = ctx;
	int directory = open_directory(file), bytes;
	enum whorl_result result = WHORL_OK;
	char text[TEXT_BYTES];

	if (directory < 0)
		return set_file_error(err, file, "open the directory of");
	bytes = format_record(file, group, text);
	if (!replace_record(directory, file, text, (size_t)bytes))
		result = set_file_error(err, file, "write");
	close(directory);
	return result;
}

const struct wh_record_ops wh_record_files = {.load = load_file, .save = save_file};

/* ---- a node's ------------------------------------------------------------------------------------------------------------- */

enum whorl_result wh_record_open(struct wh_record *record, struct wh_error *err)
{
	return record->ops != NULL ? record->ops->load(record->ctx, &record->group, err) : WHORL_OK;
}

static void write_record(void *argument)
{
	struct wh_record *record = argument;
	wh_word *jobs = record->jobs;

	record->result = record->ops->save(record->ctx, record->writing, &record->error);
	/* Release: what it came to. Partner: take_in. */
	wh_store_release(&record->done, 1);
	wh_fetch_add(jobs, UINT64_MAX); /* the last that it does. Partner: await_jobs, in close.c */
}

/* The job that was under way has ended. */
static void take_in(struct wh_record *record)
{
	if (record->writing == 0 || wh_load_acquire(&record->done) == 0)
		return;
	if (record->result == WHORL_OK)
		record->group = record->writing;
	else
		record->failed = true;
	record->writing = 0;
}

bool wh_record_has(struct wh_record *record, uint64_t group)
{
	take_in(record);
	return !record->failed && record->group == group;
}

bool wh_record_write(struct wh_record *record, uint64_t group)
{
	take_in(record);
	if (record->failed)
		return false;
	if (record->writing != 0)
		return true;
	record->writing = group;
	wh_store_relaxed(&record->done, 0);
	wh_fetch_add(record->jobs, 1);
	record->env->submit(record->env->ctx, write_record, record);
	return true;
}
