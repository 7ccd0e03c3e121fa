/* disk_int.h - inside a simulated disk: sim/disk_store.c has what is on it, sim/disk.c the tables by which users do things to it. */
#ifndef WH_SIM_DISK_INT_H
#define WH_SIM_DISK_INT_H

#include "sim/disk.h"

struct disk_version { /* of a sector that was written again before it was synced */
	struct disk_version *older;
	unsigned char bytes[WH_SECTOR_BYTES];
};

struct disk_sector {
	bool dirty; /* written since it was kept, or was to be */
	uint32_t version_count;
	struct disk_version *versions; /* between what is kept and what is in the cache */
};

struct disk_inode { /* a file, whatever it is called */
	struct disk_inode *next;
	unsigned char *cache, *kept; /* both of `room` bytes; zeros behind their ends */
	uint64_t room;               /* in whole sectors */
	uint64_t bytes, kept_bytes;
	uint64_t touched;                 /* nothing was ever written from there on */
	uint64_t least_bytes, most_bytes; /* that it has had since it was synced, and had then */
	struct disk_sector *sectors;
	uint64_t *dirty; /* sectors */
	size_t dirty_count, dirty_room;
	uint32_t handles; /* that have it open */
	bool marked;      /* for collect() */
};

struct disk_name {
	char name[WH_FILE_NAME_BYTES];
	struct disk_inode *inode;
};

struct disk_names {
	struct disk_name *all;
	size_t count, room;
};

/* What was done to the names since they were synced: `inode` is called `name` now; or, if it is NULL, what was called so is gone. */
struct disk_change {
	char name[WH_FILE_NAME_BYTES];
	struct disk_inode *inode;
};

struct disk_directory {
	struct disk_directory *next;
	bool mounted, there; /* there: it is on the disk; what is not may still be open */
	struct disk_names cache, kept;
	struct disk_change *changes;
	size_t change_count, change_room;
	const void *locked_by; /* a handle; NULL: none */
	const struct wh_sim_disk_user *locker;
	char path[];
};

struct wh_sim_disk {
	struct wh_sim_disk_options options;
	struct wh_dice dice;
	struct disk_inode *inodes;
	struct disk_directory *directories, **directories_tail;
	struct wh_sim_disk_user *users;
	uint64_t operations, syncs, crash_at;
	uint64_t failing[WH_SIM_DISK_OPS];
	bool hangs, off;
};

struct wh_sim_disk_user {
	struct wh_disk table;
	struct wh_sim_disk *disk;
	struct wh_sim_disk_user *next;
	struct wh_sim_disk_hooks hooks;
	int process;
	bool ended;
};

/* ---- files ---- */

struct disk_inode *wh_sim_inode_new(struct wh_sim_disk *disk); /* NULL: no memory */
/* False: no memory. Nothing is changed then. */
bool wh_sim_inode_write(struct disk_inode *inode, uint64_t at, const void *from, size_t bytes);
bool wh_sim_inode_resize(struct disk_inode *inode, uint64_t bytes);
void wh_sim_inode_sync(struct disk_inode *inode);
/* What was written since it was synced is kept in part, and forgotten. */
void wh_sim_inode_draw(struct disk_inode *inode, struct wh_dice *dice);
uint64_t wh_sim_inode_unsynced(const struct disk_inode *inode); /* bytes */
/* Of all files in the cache or kept, in whole sectors. */
uint64_t wh_sim_disk_used(const struct wh_sim_disk *disk);
/* Frees files that have no name and no handle any more. */
void wh_sim_disk_collect(struct wh_sim_disk *disk);

/* ---- names ---- */

struct disk_directory *wh_sim_disk_find(const struct wh_sim_disk *disk, const char *path); /* NULL: it is not there */
struct disk_directory *wh_sim_disk_make(struct wh_sim_disk *disk, const char *path);       /* NULL: no memory */
bool wh_sim_is_above(const char *above,
		     const char *path); /* it is the directory that has the last part of `path` in it */
struct disk_inode *wh_sim_names_find(const struct disk_names *names, const char *name);
/* In the cache; `inode` NULL: what is called so goes. What it was called before it is not called any more. False: no memory. */
bool wh_sim_names_change(struct disk_directory *directory, const char *name, struct disk_inode *inode);
void wh_sim_names_sync(struct disk_directory *directory);
void wh_sim_names_draw(struct disk_directory *directory, struct wh_dice *dice);

#endif
