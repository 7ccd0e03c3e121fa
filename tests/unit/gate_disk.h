/* gate_disk.h - the disk of this machine, of which the test says when it answers: syncs that wait, fail, or have no room.
 *
 * Threads: what the test sets is atomic; files are used by the threads of the library.
 */
#ifndef WH_TESTS_UNIT_GATE_DISK_H
#define WH_TESTS_UNIT_GATE_DISK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/disk.h"

struct gate_disk {
	struct wh_disk disk;
	atomic_bool holds;                 /* syncs of files do not return, */
	atomic_bool holds_reads;           /* nor do reads, */
	_Atomic(const char *) only;        /* of those with this in their names, DIRECTORY/FILE; NULL: of all */
	atomic_bool holds_directories;     /* none is opened */
	atomic_bool fails;                 /* they fail, once; later ones succeed, as a kernel does */
	atomic_bool is_full;               /* no file grows */
	atomic_bool refuses;               /* nothing is written to those that are meant: there is no room */
	atomic_ulong syncs, held, refused; /* refused: for want of room */
	atomic_ulong locked;               /* directories, one after the other */
};

struct gate_file {
	struct wh_file base;
	struct gate_disk *gate;
	struct wh_file *file;
	char name[WH_FILE_NAME_BYTES + 16]; /* with that of its directory */
};

struct gate_directory {
	struct wh_directory base;
	struct gate_disk *gate;
	struct wh_directory *directory;
	char name[12];
};

#define FILE_OF(file) (((struct gate_file *)(file))->file)
#define DIRECTORY_OF(directory) (((struct gate_directory *)(directory))->directory)

static enum whorl_result gate_size(struct wh_file *file, uint64_t *bytes, struct wh_error *err)
{
	return FILE_OF(file)->ops->size(FILE_OF(file), bytes, err);
}

static bool is_meant(const struct gate_file *file)
{
	const char *only = atomic_load(&file->gate->only);

	return only == NULL || strstr(file->name, only) != NULL;
}

static enum whorl_result gate_write(struct wh_file *file, uint64_t at, struct iovec *parts, int count,
				    struct wh_error *err)
{
	struct gate_disk *gate = ((struct gate_file *)file)->gate;

	if (atomic_load(&gate->refuses) && is_meant((struct gate_file *)file)) {
		atomic_fetch_add(&gate->refused, 1);
		return wh_error_set(err, WHORL_AGAIN, "no room");
	}
	return FILE_OF(file)->ops->write(FILE_OF(file), at, parts, count, err);
}

static enum whorl_result gate_allocate(struct wh_file *file, uint64_t bytes, struct wh_error *err)
{
	struct gate_disk *gate = ((struct gate_file *)file)->gate;

	if (atomic_load(&gate->is_full)) {
		atomic_fetch_add(&gate->refused, 1);
		return wh_error_set(err, WHORL_AGAIN, "no room");
	}
	return FILE_OF(file)->ops->allocate(FILE_OF(file), bytes, err);
}

static enum whorl_result gate_truncate(struct wh_file *file, uint64_t bytes, struct wh_error *err)
{
	return FILE_OF(file)->ops->truncate(FILE_OF(file), bytes, err);
}

/* Until what the test has set is false. */
static void gate_hold(struct gate_disk *gate, bool (*holds)(const void *ctx), const void *ctx)
{
	const struct timespec moment = {.tv_nsec = 1000000};

	if (holds(ctx))
		atomic_fetch_add(&gate->held, 1);
	while (holds(ctx))
		nanosleep(&moment, NULL);
}

static bool is_held(const void *ctx)
{
	const struct gate_file *file = ctx;

	return atomic_load(&file->gate->holds) && is_meant(file);
}

static bool is_read_held(const void *ctx)
{
	const struct gate_file *file = ctx;

	return atomic_load(&file->gate->holds_reads) && is_meant(file);
}

static enum whorl_result gate_read(struct wh_file *file, uint64_t at, void *out, size_t bytes, size_t *got,
				   struct wh_error *err)
{
	gate_hold(((struct gate_file *)file)->gate, is_read_held, file);
	return FILE_OF(file)->ops->read(FILE_OF(file), at, out, bytes, got, err);
}

static enum whorl_result gate_sync(struct wh_file *file, struct wh_error *err)
{
	struct gate_disk *gate = ((struct gate_file *)file)->gate;

	gate_hold(gate, is_held, file);
	atomic_fetch_add(&gate->syncs, 1);
	if (atomic_exchange(&gate->fails, false))
		return wh_error_set(err, WHORL_DISK, "the test says: input/output error");
	return FILE_OF(file)->ops->sync(FILE_OF(file), err);
}

static void gate_close(struct wh_file *file)
{
	FILE_OF(file)->ops->close(FILE_OF(file));
	free(file);
}

static const struct wh_file_ops gate_file_ops = {.size = gate_size,
						 .read = gate_read,
						 .write = gate_write,
						 .allocate = gate_allocate,
						 .truncate = gate_truncate,
						 .sync = gate_sync,
						 .close = gate_close};

static enum whorl_result gate_open(struct wh_directory *directory, const char *name, bool make, struct wh_file **out,
				   struct wh_error *err)
{
	struct gate_file *file = calloc(1, sizeof(*file));
	enum whorl_result result;

	*out = NULL;
	if (file == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory");
	file->base.ops = &gate_file_ops;
	snprintf(file->name, sizeof(file->name), "%s/%s", ((struct gate_directory *)directory)->name, name);
	file->gate = ((struct gate_directory *)directory)->gate;
	result = DIRECTORY_OF(directory)->ops->open(DIRECTORY_OF(directory), name, make, &file->file, err);
	if (result == WHORL_OK)
		*out = &file->base;
	else
		free(file);
	return result;
}

static enum whorl_result gate_rename(struct wh_directory *directory, const char *from, const char *to,
				     struct wh_error *err)
{
	return DIRECTORY_OF(directory)->ops->rename(DIRECTORY_OF(directory), from, to, err);
}

static enum whorl_result gate_remove(struct wh_directory *directory, const char *name, struct wh_error *err)
{
	return DIRECTORY_OF(directory)->ops->remove(DIRECTORY_OF(directory), name, err);
}

static enum whorl_result gate_sync_names(struct wh_directory *directory, struct wh_error *err)
{
	return DIRECTORY_OF(directory)->ops->sync(DIRECTORY_OF(directory), err);
}

static enum whorl_result gate_list(struct wh_directory *directory, void (*each)(void *ctx, const char *name), void *ctx,
				   struct wh_error *err)
{
	return DIRECTORY_OF(directory)->ops->list(DIRECTORY_OF(directory), each, ctx, err);
}

static enum whorl_result gate_lock(struct wh_directory *directory, int *holder, struct wh_error *err)
{
	enum whorl_result result = DIRECTORY_OF(directory)->ops->lock(DIRECTORY_OF(directory), holder, err);

	if (result == WHORL_OK)
		atomic_fetch_add(&((struct gate_directory *)directory)->gate->locked, 1);
	return result;
}

static void gate_close_directory(struct wh_directory *directory)
{
	DIRECTORY_OF(directory)->ops->close(DIRECTORY_OF(directory));
	free(directory);
}

static const struct wh_directory_ops gate_directory_ops = {.open = gate_open,
							   .rename = gate_rename,
							   .remove = gate_remove,
							   .sync = gate_sync_names,
							   .list = gate_list,
							   .lock = gate_lock,
							   .close = gate_close_directory};

static bool holds_directories(const void *ctx)
{
	return atomic_load(&((const struct gate_disk *)ctx)->holds_directories);
}

static enum whorl_result gate_directory(void *ctx, const char *path, bool make, struct wh_directory **out,
					struct wh_error *err)
{
	const struct wh_disk *system = wh_disk_system();
	struct gate_directory *directory = calloc(1, sizeof(*directory));
	enum whorl_result result;

	*out = NULL;
	gate_hold(ctx, holds_directories, ctx);
	if (directory == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory");
	directory->base.ops = &gate_directory_ops;
	directory->gate = ctx;
	snprintf(directory->name, sizeof(directory->name), "%.11s",
		 strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path);
	result = system->directory(system->ctx, path, make, &directory->directory, err);
	if (result == WHORL_OK)
		*out = &directory->base;
	else
		free(directory);
	return result;
}

static inline void gate_disk_init(struct gate_disk *gate)
{
	*gate = (struct gate_disk){.disk = {.ctx = gate, .directory = gate_directory}};
}

#endif
