/* disk.h - a disk in the simulator: files as base/disk.h has them, and what a loss of power leaves of them.
 *
 * What is written is in the *cache*, where all reads find it, and *kept* when it was synced. What is in the cache alone is a set of changes:
 * of each sector (WH_SECTOR_BYTES) what it was since, of each file the lengths that it has had, of each directory what was done to its names. A process that
 * is killed leaves all of it. A loss of power leaves any part of the set: each sector is as it was kept, as it was written last or some time before,
 * or torn, so that some of its bytes are the new ones; each file has some length that it had, or one between; each name that
 * was made, renamed or removed is so or is not. A byte that no write has changed stays what it is, also in a sector that tears.
 *
 * A *user* is a process that has files open on a disk. When it has ended its locks are free, and whatever it does after that fails, and is not seen
 * on the disk: what is left of it need only be closed.
 *
 * Operations are numbered from 1. Each begins (hooks.operates), is in the cache, and takes its time (hooks.pass); what it was to sync is kept
 * when that has passed. So a loss of power in it leaves it done, not done, or done in part.
 *
 * Threads: all of a disk is for one thread.
 */
#ifndef WH_SIM_DISK_H
#define WH_SIM_DISK_H

#include "base/disk.h"
#include "transport/dice.h"

struct wh_sim_disk;
struct wh_sim_disk_user;

/* What an operation is: all that reads (also size, list, and to open what is there); a write, truncate or allocate; a sync of a file; a change
 * of a name (also a directory that is made, and a lock); a sync of a directory. */
enum wh_sim_disk_op {
	WH_SIM_DISK_READ,
	WH_SIM_DISK_WRITE,
	WH_SIM_DISK_SYNC,
	WH_SIM_DISK_NAME,
	WH_SIM_DISK_SYNC_NAMES,
	WH_SIM_DISK_OPS
};

struct wh_sim_disk_cost { /* drawn for each operation; 0: none */
	uint64_t read_min_ns, read_max_ns;
	uint64_t write_min_ns, write_max_ns; /* names too */
	uint64_t sync_min_ns, sync_max_ns;
	uint64_t bytes_per_s; /* of what is synced; 0: any number */
	uint64_t slow_in;     /* one operation in so many takes up to slow_ns more; 0: none */
	uint64_t slow_ns;
};

struct wh_sim_disk_options {
	uint64_t seed; /* of the times, and of what a sync that fails leaves */
	struct wh_sim_disk_cost cost;
	uint64_t capacity_bytes; /* of all files, each in whole sectors; 0: any number */
};

WH_MUST_CHECK enum whorl_result wh_sim_disk_new(struct wh_sim_disk **out, const struct wh_sim_disk_options *options,
						struct wh_error *err);
/* With all users; all that they had open has been closed. NULL is fine. */
void wh_sim_disk_free(struct wh_sim_disk *disk);

/* A directory that is there whatever happens: as the one that an administrator has made and mounted. False: no memory. */
bool wh_sim_disk_mount(struct wh_sim_disk *disk, const char *path);

/* ---- users ----------------------------------------------------------------------------------------------------------------- */

#define WH_SIM_FOR_EVER UINT64_MAX

struct wh_sim_disk_hooks {
	/* An operation begins. It may end users, or let the power go: then the operation is not done. NULL: nothing. */
	void (*operates)(void *ctx, enum wh_sim_disk_op op, uint64_t number);
	/* So much time passes; WH_SIM_FOR_EVER: the disk hangs. Returns when it has passed, or when the user has ended meanwhile. NULL: no
	 * time passes, and an operation that hangs fails. */
	void (*pass)(void *ctx, uint64_t ns);
	void *ctx;
};

/* `process` is what others are told if it has a lock. `hooks` is copied; NULL: none. NULL: no memory. Kept until the disk is freed. */
struct wh_sim_disk_user *wh_sim_disk_begin(struct wh_sim_disk *disk, int process,
					   const struct wh_sim_disk_hooks *hooks);
const struct wh_disk *wh_sim_disk_table(const struct wh_sim_disk_user *user);
/* Its process has ended; all else that runs on the machine goes on. Also in an operation of it. */
void wh_sim_disk_end(struct wh_sim_disk_user *user);

/* ---- what goes wrong --------------------------------------------------------------------------------------------------------- */

/* The power goes, and comes back: all users have ended, what was not kept is drawn. What hung does not any more. */
void wh_sim_disk_crash(struct wh_sim_disk *disk, struct wh_dice *dice);
/* The power goes in the operation with that number: it and all after it fail, of all users, until wh_sim_disk_crash. 0: in none. */
void wh_sim_disk_crash_at(struct wh_sim_disk *disk, uint64_t number);
/* It has gone so. */
bool wh_sim_disk_is_off(const struct wh_sim_disk *disk);
/* So many have begun. */
uint64_t wh_sim_disk_operations(const struct wh_sim_disk *disk);

/* So many syncs, of files and of directories, have been done. */
uint64_t wh_sim_disk_syncs(const struct wh_sim_disk *disk);

/* So many of the next operations of that kind fail (WHORL_DISK). A sync that fails keeps any part of what it was to keep, and the rest is never kept: it
 * stays in the cache, so it is read, later syncs succeed, and a loss of power shows that it was lost. */
void wh_sim_disk_fail(struct wh_sim_disk *disk, enum wh_sim_disk_op op, uint64_t count);
/* From now on no operation ends, until the power goes, or this takes it back for those that begin later. */
void wh_sim_disk_hang(struct wh_sim_disk *disk, bool hangs);
void wh_sim_disk_capacity(struct wh_sim_disk *disk, uint64_t bytes); /* 0: any */
void wh_sim_disk_cost_set(struct wh_sim_disk *disk, const struct wh_sim_disk_cost *cost);
/* Flips these bits of a byte, in the cache and as it is kept. False: there is no such byte. */
bool wh_sim_disk_rot(struct wh_sim_disk *disk, const char *path, const char *name, uint64_t at, unsigned char bits);
/* Another disk is in its place, with nothing but the directories that were mounted; all users have ended. */
void wh_sim_disk_blank(struct wh_sim_disk *disk);

/* ---- what a test looks at ------------------------------------------------------------------------------------------------------ */

/* Calls `each` for all files as the cache has them, in the order in which directories and names were made. */
void wh_sim_disk_each(const struct wh_sim_disk *disk,
		      void (*each)(void *ctx, const char *path, const char *name, uint64_t bytes), void *ctx);
/* Bytes that a loss of power would leave in any case, unless they were written since. Returns how many there are, at most `bytes`; 0 also if that name is
 * not kept. */
size_t wh_sim_disk_kept(const struct wh_sim_disk *disk, const char *path, const char *name, uint64_t at, void *out,
			size_t bytes);
/* The same as a directory that can be read: what is on the disk in any case. No time passes, and nothing of the disk may change until all of it
 * is closed. Of its calls there are list, open and close; of its files' size, read and close. WHORL_NOT_FOUND, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_sim_disk_open_kept(const struct wh_sim_disk *disk, const char *path,
						      struct wh_directory **out, struct wh_error *err);

#endif
