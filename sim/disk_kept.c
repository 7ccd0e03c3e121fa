/* disk_kept.c - what is on a simulated disk in any case, as a directory that can be read. See disk.h. */
#include <stdlib.h>
#include <string.h>

#include "sim/disk_int.h"

struct kept_file {
	struct wh_file base;
	const struct disk_inode *inode;
};

struct kept_directory {
	struct wh_directory base;
	const struct disk_directory *on_disk;
};

static enum whorl_result kept_size(struct wh_file *base, uint64_t *bytes, struct wh_error *err)
{
	(void)err;
	*bytes = ((const struct kept_file *)base)->inode->kept_bytes;
	return WHORL_OK;
}

static enum whorl_result kept_read(struct wh_file *base, uint64_t at, void *out, size_t bytes, size_t *got,
				   struct wh_error *err)
{
	const struct disk_inode *inode = ((const struct kept_file *)base)->inode;

	(void)err;
	*got = 0;
	if (at >= inode->kept_bytes)
		return WHORL_OK;
	*got = inode->kept_bytes - at < bytes ? (size_t)(inode->kept_bytes - at) : bytes;
	memcpy(out, inode->kept + at, *got);
	return WHORL_OK;
}

static void close_file(struct wh_file *base)
{
	free(base);
}

static const struct wh_file_ops file_ops = {.size = kept_size, .read = kept_read, .close = close_file};

static enum whorl_result open_file(struct wh_directory *base, const char *name, bool make, struct wh_file **out,
				   struct wh_error *err)
{
	const struct kept_directory *directory = (const struct kept_directory *)base;
	const struct disk_inode *inode = wh_sim_names_find(&directory->on_disk->kept, name);
	struct kept_file *file;

	*out = NULL;
	if (make)
		return wh_error_set(err, WHORL_INVALID, "%s: what is kept can be read alone", name);
	if (inode == NULL)
		return wh_error_set(err, WHORL_NOT_FOUND, "%s/%s: no such file", directory->on_disk->path, name);
	file = malloc(sizeof(*file));
	if (file == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for %s", name);
	*file = (struct kept_file){{&file_ops}, inode};
	*out = &file->base;
	return WHORL_OK;
}

static enum whorl_result list_names(struct wh_directory *base, void (*each)(void *ctx, const char *name), void *ctx,
				    struct wh_error *err)
{
	const struct kept_directory *directory = (const struct kept_directory *)base;

	(void)err;
	for (size_t i = 0; i < directory->on_disk->kept.count; i++)
		each(ctx, directory->on_disk->kept.all[i].name);
	return WHORL_OK;
}

static void close_directory(struct wh_directory *base)
{
	free(base);
}

static const struct wh_directory_ops directory_ops = {.open = open_file, .list = list_names, .close = close_directory};

enum whorl_result wh_sim_disk_open_kept(const struct wh_sim_disk *disk, const char *path, struct wh_directory **out,
					struct wh_error *err)
{
	const struct disk_directory *on_disk = wh_sim_disk_find(disk, path);
	struct kept_directory *directory;

	*out = NULL;
	if (on_disk == NULL || !on_disk->there)
		return wh_error_set(err, WHORL_NOT_FOUND, "%s: no such directory", path);
	directory = malloc(sizeof(*directory));
	if (directory == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory to open %s", path);
	*directory = (struct kept_directory){{&directory_ops}, on_disk};
	*out = &directory->base;
	return WHORL_OK;
}
