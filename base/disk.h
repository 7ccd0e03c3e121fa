/* disk.h - files, as a table: the system's, or the simulator's. For what has to outlive the power.
 *
 * Bytes that are written are on the disk when the file has been synced, and a name that was made, changed or removed is when its
 * directory has been. Of all that was not synced a loss of power leaves anything: each sector (WH_SECTOR_BYTES) is new, old or torn, each
 * name there or gone. After a sync that failed nothing is known of what it was to sync, and a later sync that succeeds says nothing of it: the
 * file is not to be used any more.
 *
 * Results: WHORL_OK; WHORL_DISK: the disk, or the system, could not, and the text says which file and why; WHORL_MEMORY; and what is said
 * at a function. Names have no slash.
 *
 * Threads: any, one at a time for each file and directory. Each function may block for as long as the disk takes; in simulation time
 * passes in it.
 */
#ifndef WH_BASE_DISK_H
#define WH_BASE_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"

#define WH_SECTOR_BYTES 512
#define WH_DISK_BLOCK 4096
#define WH_FILE_NAME_BYTES 128

struct wh_file;
struct wh_directory;

struct wh_file_ops {
	enum whorl_result (*size)(struct wh_file *file, uint64_t *bytes, struct wh_error *err);
	/* *got is less than `bytes` only at the end of the file. */
	enum whorl_result (*read)(struct wh_file *file, uint64_t at, void *out, size_t bytes, size_t *got,
				  struct wh_error *err);
	/* All of it; zeros between the end of the file and `at`. The parts may be changed by the call. WHORL_AGAIN: there is no room on the disk;
	 * some of it may be written. */
	enum whorl_result (*write)(struct wh_file *file, uint64_t at, struct iovec *parts, int count,
				   struct wh_error *err);
	/* As `write`, of whole blocks (WH_DISK_BLOCK) that lie at a multiple of a block, in the file and in memory: past the page cache, where the
	 * system can. May be NULL: `write` does. */
	enum whorl_result (*write_blocks)(struct wh_file *file, uint64_t at, const void *blocks, size_t bytes,
					  struct wh_error *err);
	/* The file has at least so many bytes, zeros where it was shorter, and these have their room on the disk. WHORL_AGAIN: there is none. */
	enum whorl_result (*allocate)(struct wh_file *file, uint64_t bytes, struct wh_error *err);
	/* The file has so many bytes and no more. */
	enum whorl_result (*truncate)(struct wh_file *file, uint64_t bytes, struct wh_error *err);
	/* What was written before is on the disk. */
	enum whorl_result (*sync)(struct wh_file *file, struct wh_error *err);
	void (*close)(struct wh_file *file);
	/* So much of it is read from the disk the next time, if it is on the disk, as far as the system can do that. NULL: it cannot. */
	void (*forget)(struct wh_file *file, uint64_t at, uint64_t bytes);
};

struct wh_file { /* the first member of what a table has of one */
	const struct wh_file_ops *ops;
};

static inline enum whorl_result wh_file_write_blocks(struct wh_file *file, uint64_t at, const void *blocks,
						     size_t bytes, struct wh_error *err)
{
	struct iovec part = {(void *)blocks, bytes};

	if (file->ops->write_blocks != NULL)
		return file->ops->write_blocks(file, at, blocks, bytes, err);
	return file->ops->write(file, at, &part, 1, err);
}

static inline void wh_file_forget(struct wh_file *file, uint64_t at, uint64_t bytes)
{
	if (file->ops->forget != NULL)
		file->ops->forget(file, at, bytes);
}

struct wh_directory_ops {
	/* `make`: it is made if it is not there. WHORL_AGAIN: there is no room for that. WHORL_NOT_FOUND: it is not there. One that may only be read is opened so without `make`, and
	 * cannot be written. */
	enum whorl_result (*open)(struct wh_directory *directory, const char *name, bool make, struct wh_file **out,
				  struct wh_error *err);
	/* Takes the place of what was called `to`. */
	enum whorl_result (*rename)(struct wh_directory *directory, const char *from, const char *to,
				    struct wh_error *err);
	/* WHORL_NOT_FOUND. Files of it that are open can be used until they are closed. */
	enum whorl_result (*remove)(struct wh_directory *directory, const char *name, struct wh_error *err);
	/* The names are on the disk as they are. */
	enum whorl_result (*sync)(struct wh_directory *directory, struct wh_error *err);
	/* Calls `each` with the name of each entry, files and directories, in no order. It must not change the directory. */
	enum whorl_result (*list)(struct wh_directory *directory, void (*each)(void *ctx, const char *name), void *ctx,
				  struct wh_error *err);
	/* No other handle has it locked until this one is closed, or its process has ended, and what it has forked if that has not executed
	 * another program. WHORL_AGAIN: another has; *holder is its process, 0 if that is not known. There is a file called `lock` from then on. */
	enum whorl_result (*lock)(struct wh_directory *directory, int *holder, struct wh_error *err);
	void (*close)(struct wh_directory *directory);
};

struct wh_directory { /* the first member of what a table has of one */
	const struct wh_directory_ops *ops;
};

struct wh_disk {
	void *ctx;
	/* `make`: it is made, the one above it is not, and its name is on the disk. WHORL_NOT_FOUND: it is not there. */
	enum whorl_result (*directory)(void *ctx, const char *path, bool make, struct wh_directory **out,
				       struct wh_error *err);
};

/* The files of this machine. */
extern const struct wh_disk wh_disk_of_machine;

static inline const struct wh_disk *wh_disk_system(void)
{
	return &wh_disk_of_machine;
}

#endif
