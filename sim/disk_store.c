/* disk_store.c - what is on a simulated disk, and what a loss of power leaves. See disk.h and disk_int.h. */
#include "sim/disk_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSIONS_MAX 3

static uint64_t whole_sectors(uint64_t bytes)
{
	return (bytes + WH_SECTOR_BYTES - 1) / WH_SECTOR_BYTES * WH_SECTOR_BYTES;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* ---- files: what they hold ------------------------------------------------------------------------------------------------------ */

struct disk_inode *wh_sim_inode_new(struct wh_sim_disk *disk)
{
	struct disk_inode *inode = calloc(1, sizeof(*inode));

	if (inode == NULL)
		return NULL;
	inode->next = disk->inodes;
	disk->inodes = inode;
	return inode;
}

static void drop_versions(struct disk_sector *sector)
{
	while (sector->versions != NULL) {
		struct disk_version *version = sector->versions;

		sector->versions = version->older;
		free(version);
	}
	sector->version_count = 0;
	sector->dirty = false;
}

static void free_inode(struct disk_inode *inode)
{
	for (size_t i = 0; i < inode->dirty_count; i++)
		drop_versions(&inode->sectors[inode->dirty[i]]);
	free(inode->dirty);
	free(inode->sectors);
	free(inode->cache);
	free(inode->kept);
	free(inode);
}

/* What was never touched stays memory that was never touched: a file may be given much room. */
static unsigned char *copy_wider(const unsigned char *old, uint64_t touched, uint64_t room)
{
	unsigned char *wider = calloc(1, room);

	if (wider != NULL && touched > 0)
		memcpy(wider, old, touched);
	return wider;
}

static bool widen(struct disk_inode *inode, uint64_t bytes)
{
	uint64_t room = whole_sectors(greater(bytes, 2 * inode->room)), count = room / WH_SECTOR_BYTES;
	uint64_t old_count = inode->room / WH_SECTOR_BYTES;
	unsigned char *cache, *kept;
	struct disk_sector *sectors;

	if (bytes <= inode->room)
		return true;
	cache = copy_wider(inode->cache, inode->touched, room);
	kept = copy_wider(inode->kept, inode->touched, room);
	sectors = calloc(count, sizeof(*sectors));
	if (cache == NULL || kept == NULL || sectors == NULL) {
		free(cache);
		free(kept);
		free(sectors);
		return false;
	}
	if (old_count > 0)
		memcpy(sectors, inode->sectors, old_count * sizeof(*sectors));
	free(inode->cache);
	free(inode->kept);
	free(inode->sectors);
	inode->cache = cache;
	inode->kept = kept;
	inode->sectors = sectors;
	inode->room = room;
	return true;
}

static bool keep_version(struct disk_sector *sector, const unsigned char *bytes)
{
	struct disk_version *version;

	if (sector->version_count == VERSIONS_MAX)
		return true;
	version = malloc(sizeof(*version));
	if (version == NULL)
		return false;
	memcpy(version->bytes, bytes, WH_SECTOR_BYTES);
	version->older = sector->versions;
	sector->versions = version;
	sector->version_count++;
	return true;
}

/* It is going to be written in the cache. */
static bool touch(struct disk_inode *inode, uint64_t number)
{
	struct disk_sector *sector = &inode->sectors[number];

	if (sector->dirty)
		return keep_version(sector, inode->cache + number * WH_SECTOR_BYTES);
	if (inode->dirty_count == inode->dirty_room) {
		size_t room = inode->dirty_room > 0 ? 2 * inode->dirty_room : 16;
		uint64_t *dirty = realloc(inode->dirty, room * sizeof(*dirty));

		if (dirty == NULL)
			return false;
		inode->dirty = dirty;
		inode->dirty_room = room;
	}
	inode->dirty[inode->dirty_count++] = number;
	sector->dirty = true;
	return true;
}

static bool touch_range(struct disk_inode *inode, uint64_t at, uint64_t end)
{
	for (uint64_t number = at / WH_SECTOR_BYTES; number * WH_SECTOR_BYTES < end; number++)
		if (!touch(inode, number))
			return false;
	return true;
}

static void set_bytes(struct disk_inode *inode, uint64_t bytes)
{
	inode->bytes = bytes;
	inode->least_bytes = lesser(inode->least_bytes, bytes);
	inode->most_bytes = greater(inode->most_bytes, bytes);
}

bool wh_sim_inode_write(struct disk_inode *inode, uint64_t at, const void *from, size_t bytes)
{
	uint64_t end = at + bytes;

	if (bytes == 0)
		return true;
	if (!widen(inode, end) || !touch_range(inode, at, end))
		return false;
	memcpy(inode->cache + at, from, bytes);
	inode->touched = greater(inode->touched, whole_sectors(end));
	if (end > inode->bytes)
		set_bytes(inode, end);
	return true;
}

bool wh_sim_inode_resize(struct disk_inode *inode, uint64_t bytes)
{
	uint64_t end = lesser(inode->bytes, inode->touched);

	if (!widen(inode, bytes))
		return false;
	if (bytes < end) {
		if (!touch_range(inode, bytes, end))
			return false;
		memset(inode->cache + bytes, 0, end - bytes);
	}
	set_bytes(inode, bytes);
	return true;
}

/* ---- files: what is kept of them -------------------------------------------------------------------------------------------------- */

uint64_t wh_sim_inode_unsynced(const struct disk_inode *inode)
{
	return inode->dirty_count * WH_SECTOR_BYTES;
}

static void is_settled(struct disk_inode *inode)
{
	for (size_t i = 0; i < inode->dirty_count; i++)
		drop_versions(&inode->sectors[inode->dirty[i]]);
	inode->dirty_count = 0;
	inode->least_bytes = lesser(inode->bytes, inode->kept_bytes);
	inode->most_bytes = greater(inode->bytes, inode->kept_bytes);
}

void wh_sim_inode_sync(struct disk_inode *inode)
{
	for (size_t i = 0; i < inode->dirty_count; i++) {
		uint64_t at = inode->dirty[i] * WH_SECTOR_BYTES;

		memcpy(inode->kept + at, inode->cache + at, WH_SECTOR_BYTES);
	}
	inode->kept_bytes = inode->bytes;
	is_settled(inode);
}

/* Some runs of bytes are the new ones. */
static void tear(unsigned char *kept, const unsigned char *written, struct wh_dice *dice)
{
	bool is_new = wh_dice_one_in(dice, 2);

	for (uint64_t at = 0, end; at < WH_SECTOR_BYTES; at = end, is_new = !is_new) {
		end = wh_dice_between(dice, at + 1, WH_SECTOR_BYTES);
		if (is_new)
			memcpy(kept + at, written + at, end - at);
	}
}

static void draw_sector(struct disk_inode *inode, uint64_t number, struct wh_dice *dice)
{
	const struct disk_sector *sector = &inode->sectors[number];
	const struct disk_version *version = sector->versions;
	const unsigned char *written = inode->cache + number * WH_SECTOR_BYTES;
	unsigned char *kept = inode->kept + number * WH_SECTOR_BYTES;
	uint64_t back = wh_dice_below(dice, (uint64_t)sector->version_count + 1), what = wh_dice_below(dice, 3);

	for (uint64_t i = 1; i < back; i++)
		version = version->older;
	if (back > 0)
		written = version->bytes;
	if (what == 1)
		memcpy(kept, written, WH_SECTOR_BYTES);
	else if (what == 2)
		tear(kept, written, dice);
}

static uint64_t draw_length(const struct disk_inode *inode, struct wh_dice *dice)
{
	switch (wh_dice_below(dice, 3)) {
	case 0:
		return inode->kept_bytes;
	case 1:
		return inode->bytes;
	default:
		return wh_dice_between(dice, inode->least_bytes, inode->most_bytes);
	}
}

static void drop_behind(unsigned char *bytes, uint64_t end, uint64_t touched)
{
	if (end < touched)
		memset(bytes + end, 0, touched - end);
}

/* All of it or nothing is as likely as any other outcome that a reader can tell from others. */
void wh_sim_inode_draw(struct disk_inode *inode, struct wh_dice *dice)
{
	uint64_t how = wh_dice_below(dice, 6);

	if (how == 1) {
		wh_sim_inode_sync(inode);
	} else if (how > 1) {
		for (size_t i = 0; i < inode->dirty_count; i++)
			draw_sector(inode, inode->dirty[i], dice);
		inode->kept_bytes = draw_length(inode, dice);
		drop_behind(inode->kept, inode->kept_bytes, inode->touched);
	}
	is_settled(inode);
}

static void forget_cache(struct disk_inode *inode)
{
	if (inode->touched > 0)
		memcpy(inode->cache, inode->kept, inode->touched);
	inode->bytes = inode->kept_bytes;
	is_settled(inode);
}

/* ---- names ---------------------------------------------------------------------------------------------------------------------- */

static ptrdiff_t find_name(const struct disk_names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->all[i].name, name) == 0)
			return (ptrdiff_t)i;
	return -1;
}

struct disk_inode *wh_sim_names_find(const struct disk_names *names, const char *name)
{
	ptrdiff_t at = find_name(names, name);

	return at >= 0 ? names->all[at].inode : NULL;
}

static void drop_name(struct disk_names *names, size_t at)
{
	memmove(&names->all[at], &names->all[at + 1], (--names->count - at) * sizeof(names->all[0]));
}

/* A file has one name. */
static void set_name(struct disk_names *names, const char *name, struct disk_inode *inode)
{
	ptrdiff_t at;

	for (size_t i = names->count; inode != NULL && i-- > 0;)
		if (names->all[i].inode == inode)
			drop_name(names, i);
	at = find_name(names, name);
	if (inode == NULL) {
		if (at >= 0)
			drop_name(names, (size_t)at);
		return;
	}
	if (at < 0) {
		at = (ptrdiff_t)names->count++;
		snprintf(names->all[at].name, sizeof(names->all[at].name), "%s", name);
	}
	names->all[at].inode = inode;
}

static bool reserve_names(struct disk_names *names, size_t count)
{
	size_t room = greater(count, 2 * names->room);
	struct disk_name *all;

	if (count <= names->room)
		return true;
	all = realloc(names->all, room * sizeof(*all));
	if (all == NULL)
		return false;
	names->all = all;
	names->room = room;
	return true;
}

static bool reserve_changes(struct disk_directory *directory, size_t count)
{
	size_t room = greater(count, 2 * directory->change_room);
	struct disk_change *changes;

	if (count <= directory->change_room)
		return true;
	changes = realloc(directory->changes, room * sizeof(*changes));
	if (changes == NULL)
		return false;
	directory->changes = changes;
	directory->change_room = room;
	return true;
}

/* What is kept gets at most one name more with each change, and the cache has room for it after a loss of power. */
bool wh_sim_names_change(struct disk_directory *directory, const char *name, struct disk_inode *inode)
{
	size_t most = greater(directory->cache.count, directory->kept.count + directory->change_count) + 1;
	struct disk_change *change;

	if (!reserve_changes(directory, directory->change_count + 1) || !reserve_names(&directory->cache, most) ||
	    !reserve_names(&directory->kept, most))
		return false;
	change = &directory->changes[directory->change_count++];
	snprintf(change->name, sizeof(change->name), "%s", name);
	change->inode = inode;
	set_name(&directory->cache, name, inode);
	return true;
}

/* After a sync that failed what is kept may lack what is in the cache, and has room for it. */
void wh_sim_names_sync(struct disk_directory *directory)
{
	for (size_t i = 0; i < directory->change_count; i++)
		set_name(&directory->kept, directory->changes[i].name, directory->changes[i].inode);
	directory->change_count = 0;
}

void wh_sim_names_draw(struct disk_directory *directory, struct wh_dice *dice)
{
	uint64_t how = wh_dice_below(dice, 6);

	if (how == 1)
		wh_sim_names_sync(directory);
	for (size_t i = 0; how > 1 && i < directory->change_count; i++)
		if (wh_dice_one_in(dice, 2))
			set_name(&directory->kept, directory->changes[i].name, directory->changes[i].inode);
	directory->change_count = 0;
}

static void forget_cached_names(struct disk_directory *directory)
{
	size_t count = directory->kept.count;

	if (count > 0)
		memcpy(directory->cache.all, directory->kept.all, count * sizeof(directory->kept.all[0]));
	directory->cache.count = count;
}

/* ---- directories ------------------------------------------------------------------------------------------------------------------ */

struct disk_directory *wh_sim_disk_find(const struct wh_sim_disk *disk, const char *path)
{
	for (struct disk_directory *directory = disk->directories; directory != NULL; directory = directory->next)
		if (directory->there && strcmp(directory->path, path) == 0)
			return directory;
	return NULL;
}

struct disk_directory *wh_sim_disk_make(struct wh_sim_disk *disk, const char *path)
{
	size_t bytes = strlen(path) + 1;
	struct disk_directory *directory = calloc(1, sizeof(*directory) + bytes);

	if (directory == NULL)
		return NULL;
	memcpy(directory->path, path, bytes);
	directory->there = true;
	*disk->directories_tail = directory;
	disk->directories_tail = &directory->next;
	return directory;
}

bool wh_sim_disk_mount(struct wh_sim_disk *disk, const char *path)
{
	struct disk_directory *directory = wh_sim_disk_find(disk, path);

	if (directory == NULL)
		directory = wh_sim_disk_make(disk, path);
	if (directory != NULL)
		directory->mounted = true;
	return directory != NULL;
}

bool wh_sim_is_above(const char *above, const char *path)
{
	const char *last = strrchr(path, '/');

	return last != NULL && strlen(above) == (size_t)(last - path) && memcmp(above, path, strlen(above)) == 0;
}

/* ---- all of it -------------------------------------------------------------------------------------------------------------------- */

static void mark_names(const struct disk_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		names->all[i].inode->marked = true;
}

void wh_sim_disk_collect(struct wh_sim_disk *disk)
{
	struct disk_inode **at = &disk->inodes, *inode;

	for (const struct disk_directory *directory = disk->directories; directory != NULL;
	     directory = directory->next) {
		mark_names(&directory->cache);
		mark_names(&directory->kept);
		for (size_t i = 0; i < directory->change_count; i++)
			if (directory->changes[i].inode != NULL)
				directory->changes[i].inode->marked = true;
	}
	while ((inode = *at) != NULL) {
		if (inode->marked || inode->handles > 0) {
			inode->marked = false;
			at = &inode->next;
			continue;
		}
		*at = inode->next;
		free_inode(inode);
	}
}

uint64_t wh_sim_disk_used(const struct wh_sim_disk *disk)
{
	uint64_t bytes = 0;

	for (const struct disk_inode *inode = disk->inodes; inode != NULL; inode = inode->next)
		bytes += whole_sectors(greater(inode->bytes, inode->kept_bytes));
	return bytes;
}

static void end_users(struct wh_sim_disk *disk)
{
	for (struct wh_sim_disk_user *user = disk->users; user != NULL; user = user->next)
		wh_sim_disk_end(user);
	disk->off = disk->hangs = false;
	disk->crash_at = 0;
}

void wh_sim_disk_crash(struct wh_sim_disk *disk, struct wh_dice *dice)
{
	end_users(disk);
	for (struct disk_inode *inode = disk->inodes; inode != NULL; inode = inode->next) {
		wh_sim_inode_draw(inode, dice);
		forget_cache(inode);
	}
	for (struct disk_directory *directory = disk->directories; directory != NULL; directory = directory->next) {
		wh_sim_names_draw(directory, dice);
		forget_cached_names(directory);
	}
	wh_sim_disk_collect(disk);
}

static void forget_names(struct disk_directory *directory)
{
	directory->cache.count = directory->kept.count = directory->change_count = 0;
}

void wh_sim_disk_blank(struct wh_sim_disk *disk)
{
	end_users(disk);
	for (struct disk_directory *directory = disk->directories; directory != NULL; directory = directory->next) {
		forget_names(directory);
		directory->there = directory->mounted;
	}
	wh_sim_disk_collect(disk);
}

static void free_directory(struct disk_directory *directory)
{
	free(directory->cache.all);
	free(directory->kept.all);
	free(directory->changes);
	free(directory);
}

enum whorl_result wh_sim_disk_new(struct wh_sim_disk **out, const struct wh_sim_disk_options *options,
				  struct wh_error *err)
{
	struct wh_sim_disk *disk = calloc(1, sizeof(*disk));

	*out = disk;
	if (disk == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a simulated disk");
	disk->options = *options;
	disk->dice = wh_dice_split(options->seed, 0);
	disk->directories_tail = &disk->directories;
	return WHORL_OK;
}

void wh_sim_disk_free(struct wh_sim_disk *disk)
{
	if (disk == NULL)
		return;
	while (disk->directories != NULL) {
		struct disk_directory *directory = disk->directories;

		disk->directories = directory->next;
		free_directory(directory);
	}
	while (disk->inodes != NULL) {
		struct disk_inode *inode = disk->inodes;

		disk->inodes = inode->next;
		free_inode(inode);
	}
	while (disk->users != NULL) {
		struct wh_sim_disk_user *user = disk->users;

		disk->users = user->next;
		free(user);
	}
	free(disk);
}

/* ---- what a test looks at ------------------------------------------------------------------------------------------------------ */

bool wh_sim_disk_rot(struct wh_sim_disk *disk, const char *path, const char *name, uint64_t at, unsigned char bits)
{
	const struct disk_directory *directory = wh_sim_disk_find(disk, path);
	struct disk_inode *inode = directory != NULL ? wh_sim_names_find(&directory->cache, name) : NULL;

	if (inode == NULL || at >= inode->bytes)
		return false;
	inode->touched = greater(inode->touched, whole_sectors(at + 1));
	inode->cache[at] ^= bits;
	inode->kept[at] ^= bits;
	return true;
}

void wh_sim_disk_each(const struct wh_sim_disk *disk,
		      void (*each)(void *ctx, const char *path, const char *name, uint64_t bytes), void *ctx)
{
	for (const struct disk_directory *directory = disk->directories; directory != NULL; directory = directory->next)
		for (size_t i = 0; i < directory->cache.count; i++)
			each(ctx, directory->path, directory->cache.all[i].name, directory->cache.all[i].inode->bytes);
}

size_t wh_sim_disk_kept(const struct wh_sim_disk *disk, const char *path, const char *name, uint64_t at, void *out,
			size_t bytes)
{
	const struct disk_directory *directory = wh_sim_disk_find(disk, path);
	const struct disk_inode *inode = directory != NULL ? wh_sim_names_find(&directory->kept, name) : NULL;
	size_t count = 0;

	if (inode == NULL || at >= inode->kept_bytes)
		return 0;
	count = (size_t)lesser(bytes, inode->kept_bytes - at);
	memcpy(out, inode->kept + at, count);
	return count;
}
