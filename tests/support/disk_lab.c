#include "tests/support/disk_lab.h"

static uint64_t lab_throw(struct disk_lab *lab)
{
	lab->dice ^= lab->dice << 13;
	lab->dice ^= lab->dice >> 7;
	lab->dice ^= lab->dice << 17;
	return lab->dice;
}

/* One operation. False: the power is gone, and none has an effect any more but, half, this one. */
static bool lab_operate(struct disk_lab *lab)
{
	if (!lab->is_down && lab->operations++ == lab->power_goes)
		lab->is_down = true;
	return !lab->is_down;
}

static enum whorl_result lab_down(struct wh_error *err)
{
	return wh_error_set(err, WHORL_DISK, "the power is gone");
}

static enum whorl_result lab_size(struct wh_file *base, uint64_t *bytes, struct wh_error *err)
{
	struct lab_file *file = (struct lab_file *)base;

	*bytes = file->inode->now.size;
	return file->lab->is_down ? lab_down(err) : WHORL_OK;
}

static enum whorl_result lab_read(struct wh_file *base, uint64_t at, void *out, size_t bytes, size_t *got,
				  struct wh_error *err)
{
	struct lab_file *file = (struct lab_file *)base;
	const struct lab_bytes *now = &file->inode->now;

	*got = at >= now->size ? 0 : now->size - at < bytes ? (size_t)(now->size - at) : bytes;
	memcpy(out, now->bytes + (at < LAB_FILE_BYTES ? at : 0), *got);
	return file->lab->is_down ? lab_down(err) : WHORL_OK;
}

static enum whorl_result lab_write(struct wh_file *base, uint64_t at, struct iovec *parts, int count,
				   struct wh_error *err)
{
	struct lab_file *file = (struct lab_file *)base;
	struct lab_bytes *now = &file->inode->now;
	bool works = lab_operate(file->lab);

	if (works && file->lab->is_full)
		return wh_error_set(err, WHORL_AGAIN, "the test says: no room");
	for (int i = 0; i < count && (works || file->lab->operations - 1 == file->lab->power_goes); i++) {
		ck_assert_uint_le(at + parts[i].iov_len, LAB_FILE_BYTES);
		memcpy(now->bytes + at, parts[i].iov_base, parts[i].iov_len);
		at += parts[i].iov_len;
		now->size = at > now->size ? at : now->size;
	}
	return works ? WHORL_OK : lab_down(err);
}

static enum whorl_result lab_allocate(struct wh_file *base, uint64_t bytes, struct wh_error *err)
{
	struct lab_file *file = (struct lab_file *)base;
	struct lab_bytes *now = &file->inode->now;

	if (!lab_operate(file->lab))
		return lab_down(err);
	if (file->lab->is_full)
		return wh_error_set(err, WHORL_AGAIN, "the test says: no room");
	ck_assert_uint_le(bytes, LAB_FILE_BYTES);
	now->size = bytes > now->size ? bytes : now->size;
	return WHORL_OK;
}

static enum whorl_result lab_truncate(struct wh_file *base, uint64_t bytes, struct wh_error *err)
{
	struct lab_file *file = (struct lab_file *)base;
	struct lab_bytes *now = &file->inode->now;

	if (!lab_operate(file->lab))
		return lab_down(err);
	if (bytes < now->size)
		memset(now->bytes + bytes, 0, now->size - bytes);
	now->size = bytes;
	return WHORL_OK;
}

static enum whorl_result lab_sync(struct wh_file *base, struct wh_error *err)
{
	struct lab_file *file = (struct lab_file *)base;

	if (!lab_operate(file->lab))
		return lab_down(err);
	file->inode->synced = file->inode->now;
	return WHORL_OK;
}

static void lab_close(struct wh_file *base)
{
	struct lab_file *file = (struct lab_file *)base;

	file->lab->open--;
	free(file);
}

static const struct wh_file_ops lab_file_ops = {.size = lab_size,
						.read = lab_read,
						.write = lab_write,
						.allocate = lab_allocate,
						.truncate = lab_truncate,
						.sync = lab_sync,
						.close = lab_close};

struct lab_name *lab_find(struct lab_name *names, const char *name)
{
	for (int i = 0; i < LAB_FILES; i++)
		if (strcmp(names[i].name, name) == 0)
			return &names[i];
	return NULL;
}

static struct lab_name *lab_name_of(struct lab_name *names, const char *name)
{
	struct lab_name *found = lab_find(names, name);

	if (found == NULL)
		found = lab_find(names, "");
	ck_assert_ptr_nonnull(found);
	snprintf(found->name, sizeof(found->name), "%s", name);
	return found;
}

enum whorl_result lab_open_file(struct wh_directory *base, const char *name, bool make, struct wh_file **out,
				struct wh_error *err)
{
	struct disk_lab *lab = (struct disk_lab *)base;
	struct lab_name *found = lab_find(lab->now, name);
	struct lab_file *file;

	if (found == NULL && !make)
		return lab->is_down ? lab_down(err) : WHORL_NOT_FOUND;
	if (found == NULL ? !lab_operate(lab) : lab->is_down)
		return lab_down(err);
	if (found == NULL) {
		found = lab_name_of(lab->now, name);
		ck_assert_uint_lt(lab->inode_count, 256);
		found->inode = calloc(1, sizeof(*found->inode));
		lab->inodes[lab->inode_count++] = found->inode;
	}
	file = calloc(1, sizeof(*file));
	*file = (struct lab_file){{&lab_file_ops}, lab, found->inode};
	lab->open++;
	*out = &file->file;
	return WHORL_OK;
}

enum whorl_result lab_rename(struct wh_directory *base, const char *from, const char *to, struct wh_error *err)
{
	struct disk_lab *lab = (struct disk_lab *)base;
	struct lab_name *found = lab_find(lab->now, from);
	struct lab_inode *inode;

	ck_assert_ptr_nonnull(found);
	if (!lab_operate(lab))
		return lab_down(err);
	inode = found->inode;
	found->name[0] = '\0';
	lab_name_of(lab->now, to)->inode = inode;
	return WHORL_OK;
}

static enum whorl_result lab_remove(struct wh_directory *base, const char *name, struct wh_error *err)
{
	struct disk_lab *lab = (struct disk_lab *)base;
	struct lab_name *found = lab_find(lab->now, name);

	if (!lab_operate(lab))
		return lab_down(err);
	if (found == NULL)
		return WHORL_NOT_FOUND;
	found->name[0] = '\0';
	return WHORL_OK;
}

static enum whorl_result lab_sync_names(struct wh_directory *base, struct wh_error *err)
{
	struct disk_lab *lab = (struct disk_lab *)base;

	if (!lab_operate(lab))
		return lab_down(err);
	memcpy(lab->synced, lab->now, sizeof(lab->synced));
	return WHORL_OK;
}

static enum whorl_result lab_list(struct wh_directory *base, void (*each)(void *ctx, const char *name), void *ctx,
				  struct wh_error *err)
{
	struct disk_lab *lab = (struct disk_lab *)base;

	for (int i = 0; i < LAB_FILES && !lab->is_down; i++)
		if (lab->now[i].name[0] != '\0')
			each(ctx, lab->now[i].name);
	return lab->is_down ? lab_down(err) : WHORL_OK;
}

static const struct wh_directory_ops lab_directory_ops = {
	.open = lab_open_file, .rename = lab_rename, .remove = lab_remove, .sync = lab_sync_names, .list = lab_list};

struct disk_lab *disk_lab_make(uint64_t seed)
{
	struct disk_lab *lab = calloc(1, sizeof(*lab));

	ck_assert_ptr_nonnull(lab);
	lab->directory.ops = &lab_directory_ops;
	lab->dice = seed * 2 + 1;
	lab->power_goes = -1;
	return lab;
}

void disk_lab_free(struct disk_lab *lab)
{
	ck_assert_int_eq(lab->open, 0);
	for (size_t i = 0; i < lab->inode_count; i++)
		free(lab->inodes[i]);
	free(lab);
}

/* Each sector is as it was, as it was to be, or torn. */
static void lab_tear(struct disk_lab *lab, struct lab_inode *inode)
{
	const struct lab_bytes was = inode->synced;

	for (size_t at = 0; at < LAB_FILE_BYTES; at += WH_SECTOR_BYTES) {
		uint64_t dice = lab_throw(lab);
		size_t bytes = dice % 3 == 0 ? 0 : dice % 3 == 1 ? WH_SECTOR_BYTES : dice / 3 % WH_SECTOR_BYTES;

		memcpy(inode->now.bytes + at + bytes, was.bytes + at + bytes, WH_SECTOR_BYTES - bytes);
	}
	if (lab_throw(lab) % 2 == 0)
		inode->now.size = was.size;
	inode->synced = inode->now;
}

void lab_lose_power(struct disk_lab *lab)
{
	struct lab_name names[LAB_FILES];
	int count = 0;

	ck_assert_int_eq(lab->open, 0);
	memset(names, 0, sizeof(names));
	for (int i = 0; i < 2 * LAB_FILES; i++) { /* each name: as it was, or as it was to be */
		const struct lab_name *one = i < LAB_FILES ? &lab->now[i] : &lab->synced[i - LAB_FILES];
		struct lab_name *is, *was;

		if (one->name[0] == '\0' || (i >= LAB_FILES && lab_find(lab->now, one->name) != NULL))
			continue;
		is = lab_find(lab->now, one->name);
		was = lab_find(lab->synced, one->name);
		one = lab_throw(lab) % 2 == 0 ? is : was;
		if (one != NULL)
			names[count++] = *one;
	}
	memcpy(lab->now, names, sizeof(names));
	memcpy(lab->synced, names, sizeof(names));
	for (size_t i = 0; i < lab->inode_count; i++)
		lab_tear(lab, lab->inodes[i]);
	lab->is_down = false;
	lab->power_goes = -1;
}

void lab_damage(struct disk_lab *lab, const char *name, size_t at, size_t bytes)
{
	struct lab_name *found = lab_find(lab->now, name);

	ck_assert_ptr_nonnull(found);
	for (size_t i = at; i < at + bytes; i++)
		found->inode->now.bytes[i] ^= 0x55;
	found->inode->synced = found->inode->now;
}
