/* disk.c - what users do to a simulated disk. See disk.h and disk_int.h. */
#include "sim/disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "sim/disk_int.h"

#define LOCK_NAME "lock"

struct sim_file {
	struct wh_file base;
	struct wh_sim_disk_user *user;
	struct disk_inode *inode;
	char name[WH_FILE_NAME_BYTES]; /* when it was opened */
	char path[];                   /* of its directory */
};

struct sim_directory {
	struct wh_directory base;
	struct wh_sim_disk_user *user;
	struct disk_directory *on_disk;
};

/* ---- operations ------------------------------------------------------------------------------------------------------------------ */

static enum whorl_result fail(struct wh_error *err, const char *path, const char *name, const char *why)
{
	return wh_error_set(err, WHORL_DISK, "%s/%s: %s", path, name, why);
}

/* Whatever the operation is to do is done after this, if it has begun. `number` is its own. */
static enum whorl_result begin(struct wh_sim_disk_user *user, enum wh_sim_disk_op op, uint64_t *number,
			       const char *path, const char *name, struct wh_error *err)
{
	struct wh_sim_disk *disk = user->disk;

	*number = 0;
	if (user->ended || disk->off)
		return fail(err, path, name, "the process has ended, or the power is off");
	*number = ++disk->operations;
	if (user->hooks.operates != NULL)
		user->hooks.operates(user->hooks.ctx, op, *number);
	if (user->ended || disk->off)
		return fail(err, path, name, "the process has ended, or the power is off");
	if (disk->failing[op] > 0 && op != WH_SIM_DISK_SYNC && op != WH_SIM_DISK_SYNC_NAMES) {
		disk->failing[op]--;
		return fail(err, path, name, "input/output error");
	}
	return WHORL_OK;
}

static uint64_t draw_ns(struct wh_sim_disk *disk, enum wh_sim_disk_op op, uint64_t bytes)
{
	const struct wh_sim_disk_cost *cost = &disk->options.cost;
	bool syncs = op == WH_SIM_DISK_SYNC || op == WH_SIM_DISK_SYNC_NAMES, reads = op == WH_SIM_DISK_READ;
	uint64_t least = syncs ? cost->sync_min_ns : reads ? cost->read_min_ns : cost->write_min_ns;
	uint64_t most = syncs ? cost->sync_max_ns : reads ? cost->read_max_ns : cost->write_max_ns;
	uint64_t ns = most > least ? wh_dice_between(&disk->dice, least, most) : least;

	if (syncs && cost->bytes_per_s > 0)
		ns += (uint64_t)((double)bytes * 1e9 / (double)cost->bytes_per_s);
	if (cost->slow_in > 0 && wh_dice_one_in(&disk->dice, cost->slow_in))
		ns += wh_dice_below(&disk->dice, cost->slow_ns + 1);
	return ns;
}

/* The time of an operation passes. WHORL_OK: its user is there still, and the operation ends. */
static enum whorl_result pass(struct wh_sim_disk_user *user, enum wh_sim_disk_op op, uint64_t number, uint64_t bytes,
			      const char *path, const char *name, struct wh_error *err)
{
	struct wh_sim_disk *disk = user->disk;
	bool hangs = disk->hangs;
	uint64_t ns = hangs ? WH_SIM_FOR_EVER : draw_ns(disk, op, bytes);

	if (number == disk->crash_at) {
		for (struct wh_sim_disk_user *each = disk->users; each != NULL; each = each->next)
			wh_sim_disk_end(each);
		disk->off = true;
	}
	if (!user->ended && ns > 0 && user->hooks.pass != NULL)
		user->hooks.pass(user->hooks.ctx, ns);
	if (user->ended || disk->off)
		return fail(err, path, name, "the process has ended, or the power is off");
	return hangs ? fail(err, path, name, "the disk does not answer") : WHORL_OK;
}

/* ---- files ------------------------------------------------------------------------------------------------------------------------ */

static enum whorl_result begin_file(struct sim_file *file, enum wh_sim_disk_op op, uint64_t *number,
				    struct wh_error *err)
{
	return begin(file->user, op, number, file->path, file->name, err);
}

static enum whorl_result pass_file(struct sim_file *file, enum wh_sim_disk_op op, uint64_t number, uint64_t bytes,
				   struct wh_error *err)
{
	return pass(file->user, op, number, bytes, file->path, file->name, err);
}

static enum whorl_result file_size(struct wh_file *base, uint64_t *bytes, struct wh_error *err)
{
	struct sim_file *file = (struct sim_file *)base;
	uint64_t number;
	enum whorl_result result = begin_file(file, WH_SIM_DISK_READ, &number, err);

	*bytes = 0;
	if (result == WHORL_OK)
		result = pass_file(file, WH_SIM_DISK_READ, number, 0, err);
	if (result == WHORL_OK)
		*bytes = file->inode->bytes;
	return result;
}

static enum whorl_result file_read(struct wh_file *base, uint64_t at, void *out, size_t bytes, size_t *got,
				   struct wh_error *err)
{
	struct sim_file *file = (struct sim_file *)base;
	const struct disk_inode *inode = file->inode;
	uint64_t number;
	enum whorl_result result = begin_file(file, WH_SIM_DISK_READ, &number, err);

	*got = 0;
	if (result == WHORL_OK)
		result = pass_file(file, WH_SIM_DISK_READ, number, bytes, err);
	if (result != WHORL_OK || at >= inode->bytes)
		return result;
	*got = inode->bytes - at < bytes ? (size_t)(inode->bytes - at) : bytes;
	if (*got > 0)
		memcpy(out, inode->cache + at, *got);
	return WHORL_OK;
}

/* How long the file may be. */
static uint64_t room_of(const struct sim_file *file)
{
	const struct wh_sim_disk *disk = file->user->disk;
	uint64_t capacity = disk->options.capacity_bytes, used = wh_sim_disk_used(disk);
	uint64_t longest = file->inode->bytes > file->inode->kept_bytes ? file->inode->bytes : file->inode->kept_bytes;
	uint64_t own = (longest + WH_SECTOR_BYTES - 1) / WH_SECTOR_BYTES * WH_SECTOR_BYTES;

	if (capacity == 0)
		return UINT64_MAX;
	return own + (capacity > used ? (capacity - used) / WH_SECTOR_BYTES * WH_SECTOR_BYTES : 0);
}

static enum whorl_result fail_for_memory(struct wh_error *err, const struct sim_file *file)
{
	return wh_error_set(err, WHORL_MEMORY, "no memory for %s/%s", file->path, file->name);
}

static enum whorl_result fail_for_room(struct wh_error *err, const struct sim_file *file)
{
	return wh_error_set(err, WHORL_AGAIN, "%s/%s: no space left on device", file->path, file->name);
}

/* As much of the parts as fits. */
static enum whorl_result put_parts(struct sim_file *file, uint64_t at, const struct iovec *parts, int count,
				   struct wh_error *err)
{
	uint64_t room = room_of(file);

	for (int i = 0; i < count; i++) {
		size_t bytes = parts[i].iov_len, fits = bytes;

		if (at + bytes > room)
			fits = at < room ? (size_t)(room - at) : 0;
		if (!wh_sim_inode_write(file->inode, at, parts[i].iov_base, fits))
			return fail_for_memory(err, file);
		if (fits < bytes)
			return fail_for_room(err, file);
		at += bytes;
	}
	return WHORL_OK;
}

/* What there is no room for has its time, too. */
static enum whorl_result file_write(struct wh_file *base, uint64_t at, struct iovec *parts, int count,
				    struct wh_error *err)
{
	struct sim_file *file = (struct sim_file *)base;
	enum whorl_result result, put;
	uint64_t number;

	result = begin_file(file, WH_SIM_DISK_WRITE, &number, err);
	if (result != WHORL_OK)
		return result;
	put = put_parts(file, at, parts, count, err);
	result = pass_file(file, WH_SIM_DISK_WRITE, number, 0, put == WHORL_OK ? err : NULL);
	return put != WHORL_OK ? put : result;
}

static enum whorl_result resize(struct sim_file *file, uint64_t bytes, struct wh_error *err)
{
	if (bytes > file->inode->bytes && bytes > room_of(file))
		return fail_for_room(err, file);
	return wh_sim_inode_resize(file->inode, bytes) ? WHORL_OK : fail_for_memory(err, file);
}

static enum whorl_result file_allocate(struct wh_file *base, uint64_t bytes, struct wh_error *err)
{
	struct sim_file *file = (struct sim_file *)base;
	enum whorl_result result, put = WHORL_OK;
	uint64_t number;

	result = begin_file(file, WH_SIM_DISK_WRITE, &number, err);
	if (result != WHORL_OK)
		return result;
	if (bytes > file->inode->bytes)
		put = resize(file, bytes, err);
	result = pass_file(file, WH_SIM_DISK_WRITE, number, 0, put == WHORL_OK ? err : NULL);
	return put != WHORL_OK ? put : result;
}

/* As the system's: it is no write, so no room is no reason to try again. */
static enum whorl_result file_truncate(struct wh_file *base, uint64_t bytes, struct wh_error *err)
{
	struct sim_file *file = (struct sim_file *)base;
	enum whorl_result result, put;
	uint64_t number;

	result = begin_file(file, WH_SIM_DISK_WRITE, &number, err);
	if (result != WHORL_OK)
		return result;
	put = resize(file, bytes, err);
	if (put == WHORL_AGAIN)
		put = fail(err, file->path, file->name, "no space left on device");
	result = pass_file(file, WH_SIM_DISK_WRITE, number, 0, put == WHORL_OK ? err : NULL);
	return put != WHORL_OK ? put : result;
}

static bool takes_failure(struct wh_sim_disk *disk, enum wh_sim_disk_op op)
{
	if (disk->failing[op] == 0)
		return false;
	disk->failing[op]--;
	return true;
}

static enum whorl_result file_sync(struct wh_file *base, struct wh_error *err)
{
	struct sim_file *file = (struct sim_file *)base;
	struct wh_sim_disk *disk = file->user->disk;
	uint64_t number;
	enum whorl_result result = begin_file(file, WH_SIM_DISK_SYNC, &number, err);

	if (result == WHORL_OK)
		result = pass_file(file, WH_SIM_DISK_SYNC, number, wh_sim_inode_unsynced(file->inode), err);
	if (result != WHORL_OK)
		return result;
	if (takes_failure(disk, WH_SIM_DISK_SYNC)) {
		wh_sim_inode_draw(file->inode, &disk->dice);
		return fail(err, file->path, file->name, "input/output error in a sync");
	}
	wh_sim_inode_sync(file->inode);
	disk->syncs++;
	return WHORL_OK;
}

static void file_close(struct wh_file *base)
{
	struct sim_file *file = (struct sim_file *)base;

	file->inode->handles--;
	wh_sim_disk_collect(file->user->disk);
	free(file);
}

static const struct wh_file_ops file_ops = {
	.size = file_size,
	.read = file_read,
	.write = file_write,
	.allocate = file_allocate,
	.truncate = file_truncate,
	.sync = file_sync,
	.close = file_close,
};

/* ---- directories ------------------------------------------------------------------------------------------------------------------ */

static enum whorl_result begin_names(struct sim_directory *directory, enum wh_sim_disk_op op, uint64_t *number,
				     const char *name, struct wh_error *err)
{
	return begin(directory->user, op, number, directory->on_disk->path, name, err);
}

static enum whorl_result pass_names(struct sim_directory *directory, enum wh_sim_disk_op op, uint64_t number,
				    const char *name, struct wh_error *err)
{
	return pass(directory->user, op, number, 0, directory->on_disk->path, name, err);
}

static enum whorl_result not_found(struct sim_directory *directory, const char *name, struct wh_error *err)
{
	return wh_error_set(err, WHORL_NOT_FOUND, "%s/%s: no such file or directory", directory->on_disk->path, name);
}

static enum whorl_result no_memory(struct sim_directory *directory, const char *name, struct wh_error *err)
{
	return wh_error_set(err, WHORL_MEMORY, "no memory for %s/%s", directory->on_disk->path, name);
}

/* A directory is no file, and a name that is too long none. */
static bool may_be_file(const struct sim_directory *directory, const char *name)
{
	const struct disk_directory *on_disk = directory->on_disk;

	for (const struct disk_directory *other = directory->user->disk->directories; other != NULL;
	     other = other->next)
		if (other->there && wh_sim_is_above(on_disk->path, other->path) &&
		    strcmp(strrchr(other->path, '/') + 1, name) == 0)
			return false;
	return name[0] != '\0' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
	       strlen(name) < WH_FILE_NAME_BYTES && strchr(name, '/') == NULL;
}

static struct sim_file *new_handle(struct sim_directory *directory, const char *name, struct disk_inode *inode)
{
	size_t path_bytes = strlen(directory->on_disk->path) + 1;
	struct sim_file *file = malloc(sizeof(*file) + path_bytes);

	if (file == NULL)
		return NULL;
	file->base.ops = &file_ops;
	file->user = directory->user;
	file->inode = inode;
	inode->handles++;
	snprintf(file->name, sizeof(file->name), "%s", name);
	memcpy(file->path, directory->on_disk->path, path_bytes);
	return file;
}

/* The file with that name, made if it is to be. */
static enum whorl_result find_or_make(struct sim_directory *directory, const char *name, bool make,
				      struct disk_inode **inode, struct wh_error *err)
{
	struct wh_sim_disk *disk = directory->user->disk;

	if (!may_be_file(directory, name))
		return fail(err, directory->on_disk->path, name, "this cannot be a file");
	*inode = wh_sim_names_find(&directory->on_disk->cache, name);
	if (*inode != NULL)
		return WHORL_OK;
	if (!make || !directory->on_disk->there)
		return not_found(directory, name, err);
	*inode = wh_sim_inode_new(disk);
	if (*inode != NULL && wh_sim_names_change(directory->on_disk, name, *inode))
		return WHORL_OK;
	wh_sim_disk_collect(disk);
	return no_memory(directory, name, err);
}

static enum whorl_result directory_open(struct wh_directory *base, const char *name, bool make, struct wh_file **out,
					struct wh_error *err)
{
	struct sim_directory *directory = (struct sim_directory *)base;
	bool is_there = wh_sim_names_find(&directory->on_disk->cache, name) != NULL;
	enum wh_sim_disk_op op = make && !is_there ? WH_SIM_DISK_NAME : WH_SIM_DISK_READ;
	struct sim_file *file = NULL;
	struct disk_inode *inode;
	enum whorl_result result;
	uint64_t number;

	*out = NULL;
	result = begin_names(directory, op, &number, name, err);
	if (result != WHORL_OK)
		return result;
	result = find_or_make(directory, name, make, &inode, err);
	if (result == WHORL_OK) {
		file = new_handle(directory, name, inode);
		result = file != NULL ? WHORL_OK : no_memory(directory, name, err);
	}
	if (result != WHORL_OK) {
		(void)pass_names(directory, op, number, name, NULL);
		return result;
	}
	result = pass_names(directory, op, number, name, err);
	if (result == WHORL_OK)
		*out = &file->base;
	else
		file_close(&file->base);
	return result;
}

static enum whorl_result directory_rename(struct wh_directory *base, const char *from, const char *to,
					  struct wh_error *err)
{
	struct sim_directory *directory = (struct sim_directory *)base;
	struct disk_inode *inode;
	enum whorl_result result, put = WHORL_OK;
	uint64_t number;

	result = begin_names(directory, WH_SIM_DISK_NAME, &number, from, err);
	if (result != WHORL_OK)
		return result;
	inode = wh_sim_names_find(&directory->on_disk->cache, from);
	if (inode == NULL)
		put = not_found(directory, from, err);
	else if (!may_be_file(directory, to))
		put = fail(err, directory->on_disk->path, to, "this cannot be a file");
	else if (strcmp(from, to) != 0 && !wh_sim_names_change(directory->on_disk, to, inode))
		put = no_memory(directory, to, err);
	result = pass_names(directory, WH_SIM_DISK_NAME, number, from, put == WHORL_OK ? err : NULL);
	return put != WHORL_OK ? put : result;
}

static enum whorl_result directory_remove(struct wh_directory *base, const char *name, struct wh_error *err)
{
	struct sim_directory *directory = (struct sim_directory *)base;
	enum whorl_result result, put = WHORL_OK;
	uint64_t number;

	result = begin_names(directory, WH_SIM_DISK_NAME, &number, name, err);
	if (result != WHORL_OK)
		return result;
	if (wh_sim_names_find(&directory->on_disk->cache, name) == NULL)
		put = may_be_file(directory, name) ? not_found(directory, name, err)
						   : fail(err, directory->on_disk->path, name, "this is no file");
	else if (!wh_sim_names_change(directory->on_disk, name, NULL))
		put = no_memory(directory, name, err);
	result = pass_names(directory, WH_SIM_DISK_NAME, number, name, put == WHORL_OK ? err : NULL);
	return put != WHORL_OK ? put : result;
}

static enum whorl_result directory_sync(struct wh_directory *base, struct wh_error *err)
{
	struct sim_directory *directory = (struct sim_directory *)base;
	struct wh_sim_disk *disk = directory->user->disk;
	uint64_t number;
	enum whorl_result result = begin_names(directory, WH_SIM_DISK_SYNC_NAMES, &number, ".", err);

	if (result == WHORL_OK)
		result = pass_names(directory, WH_SIM_DISK_SYNC_NAMES, number, ".", err);
	if (result != WHORL_OK)
		return result;
	if (takes_failure(disk, WH_SIM_DISK_SYNC_NAMES)) {
		wh_sim_names_draw(directory->on_disk, &disk->dice);
		return fail(err, directory->on_disk->path, ".", "input/output error in a sync");
	}
	wh_sim_names_sync(directory->on_disk);
	disk->syncs++;
	wh_sim_disk_collect(disk);
	return WHORL_OK;
}

static enum whorl_result directory_list(struct wh_directory *base, void (*each)(void *ctx, const char *name), void *ctx,
					struct wh_error *err)
{
	struct sim_directory *directory = (struct sim_directory *)base;
	const struct disk_directory *on_disk = directory->on_disk;
	uint64_t number;
	enum whorl_result result = begin_names(directory, WH_SIM_DISK_READ, &number, ".", err);

	if (result == WHORL_OK)
		result = pass_names(directory, WH_SIM_DISK_READ, number, ".", err);
	if (result != WHORL_OK)
		return result;
	for (size_t i = 0; i < on_disk->cache.count; i++)
		each(ctx, on_disk->cache.all[i].name);
	for (const struct disk_directory *other = directory->user->disk->directories; other != NULL;
	     other = other->next)
		if (other->there && wh_sim_is_above(on_disk->path, other->path))
			each(ctx, strrchr(other->path, '/') + 1);
	return WHORL_OK;
}

static enum whorl_result directory_lock(struct wh_directory *base, int *holder, struct wh_error *err)
{
	struct sim_directory *directory = (struct sim_directory *)base;
	struct disk_directory *on_disk = directory->on_disk;
	struct disk_inode *inode;
	enum whorl_result result, put;
	uint64_t number;

	*holder = 0;
	result = begin_names(directory, WH_SIM_DISK_NAME, &number, LOCK_NAME, err);
	if (result != WHORL_OK)
		return result;
	put = find_or_make(directory, LOCK_NAME, true, &inode, err);
	if (put == WHORL_OK && on_disk->locked_by != NULL && on_disk->locked_by != directory) {
		*holder = on_disk->locker->process;
		put = wh_error_set(err, WHORL_AGAIN, "cannot lock %s: another process has it", on_disk->path);
	} else if (put == WHORL_OK) {
		on_disk->locked_by = directory;
		on_disk->locker = directory->user;
	}
	result = pass_names(directory, WH_SIM_DISK_NAME, number, LOCK_NAME, put == WHORL_OK ? err : NULL);
	return put != WHORL_OK ? put : result;
}

static void directory_close(struct wh_directory *base)
{
	struct sim_directory *directory = (struct sim_directory *)base;

	if (directory->on_disk->locked_by == directory)
		directory->on_disk->locked_by = NULL;
	free(directory);
}

static const struct wh_directory_ops directory_ops = {
	.open = directory_open,
	.rename = directory_rename,
	.remove = directory_remove,
	.sync = directory_sync,
	.list = directory_list,
	.lock = directory_lock,
	.close = directory_close,
};

/* ---- the disk --------------------------------------------------------------------------------------------------------------------- */

/* "a", and "/a", are in a directory that is always there. */
static bool may_be_made(const struct wh_sim_disk *disk, const char *path)
{
	const char *last = strrchr(path, '/');

	if (last == NULL || last == path)
		return true;
	for (const struct disk_directory *above = disk->directories; above != NULL; above = above->next)
		if (above->there && wh_sim_is_above(above->path, path))
			return true;
	return false;
}

/* What is made is kept when the operation ends, and a loss of power in it leaves either. */
static enum whorl_result make_directory(struct wh_sim_disk_user *user, const char *path, uint64_t number,
					struct disk_directory **out, struct wh_error *err)
{
	struct wh_sim_disk *disk = user->disk;
	enum whorl_result result;

	if (!may_be_made(disk, path))
		return fail(err, path, ".", "no such file or directory");
	result = pass(user, WH_SIM_DISK_NAME, number, 0, path, ".", err);
	if (result != WHORL_OK && wh_dice_one_in(&disk->dice, 2))
		return result;
	*out = wh_sim_disk_find(disk, path); /* another may have made it meanwhile */
	if (*out == NULL)
		*out = wh_sim_disk_make(disk, path);
	if (*out == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for %s", path);
	return result;
}

static enum whorl_result open_directory(void *ctx, const char *path, bool make, struct wh_directory **out,
					struct wh_error *err)
{
	struct wh_sim_disk_user *user = ctx;
	struct disk_directory *on_disk = wh_sim_disk_find(user->disk, path);
	enum wh_sim_disk_op op = make && on_disk == NULL ? WH_SIM_DISK_NAME : WH_SIM_DISK_READ;
	struct sim_directory *directory;
	enum whorl_result result;
	uint64_t number;

	*out = NULL;
	result = begin(user, op, &number, path, ".", err);
	if (result != WHORL_OK)
		return result;
	if (op == WH_SIM_DISK_NAME)
		result = make_directory(user, path, number, &on_disk, err);
	else
		result = pass(user, op, number, 0, path, ".", err);
	if (result != WHORL_OK)
		return result;
	if (on_disk == NULL)
		return wh_error_set(err, WHORL_NOT_FOUND, "%s: no such file or directory", path);
	directory = malloc(sizeof(*directory));
	if (directory == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory to open %s", path);
	*directory = (struct sim_directory){{&directory_ops}, user, on_disk};
	*out = &directory->base;
	return WHORL_OK;
}

/* ---- users ------------------------------------------------------------------------------------------------------------------------ */

struct wh_sim_disk_user *wh_sim_disk_begin(struct wh_sim_disk *disk, int process, const struct wh_sim_disk_hooks *hooks)
{
	struct wh_sim_disk_user *user = calloc(1, sizeof(*user));

	if (user == NULL)
		return NULL;
	user->table = (struct wh_disk){.ctx = user, .directory = open_directory};
	user->disk = disk;
	user->process = process;
	if (hooks != NULL)
		user->hooks = *hooks;
	user->next = disk->users;
	disk->users = user;
	return user;
}

const struct wh_disk *wh_sim_disk_table(const struct wh_sim_disk_user *user)
{
	return &user->table;
}

void wh_sim_disk_end(struct wh_sim_disk_user *user)
{
	user->ended = true;
	for (struct disk_directory *on_disk = user->disk->directories; on_disk != NULL; on_disk = on_disk->next)
		if (on_disk->locked_by != NULL && on_disk->locker == user)
			on_disk->locked_by = NULL;
}

void wh_sim_disk_crash_at(struct wh_sim_disk *disk, uint64_t number)
{
	disk->crash_at = number;
}

bool wh_sim_disk_is_off(const struct wh_sim_disk *disk)
{
	return disk->off;
}

uint64_t wh_sim_disk_operations(const struct wh_sim_disk *disk)
{
	return disk->operations;
}

uint64_t wh_sim_disk_syncs(const struct wh_sim_disk *disk)
{
	return disk->syncs;
}

void wh_sim_disk_fail(struct wh_sim_disk *disk, enum wh_sim_disk_op op, uint64_t count)
{
	disk->failing[op] = count;
}

void wh_sim_disk_hang(struct wh_sim_disk *disk, bool hangs)
{
	disk->hangs = hangs;
}

void wh_sim_disk_capacity(struct wh_sim_disk *disk, uint64_t bytes)
{
	disk->options.capacity_bytes = bytes;
}

void wh_sim_disk_cost_set(struct wh_sim_disk *disk, const struct wh_sim_disk_cost *cost)
{
	disk->options.cost = *cost;
}
