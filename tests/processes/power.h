/* power.h - the loss of power: what a process has written and not synced is lost with it.
 *
 *     power_preload.c  a library that members load before others (LD_PRELOAD): it writes down beside the disks what was there before each
 *                      change of a file or a name, and what has been synced
 *     power.c          when they have ended: takes back what was not, all of it or some, by lot
 *
 * So files are what they are while a process lives, whatever reads them. A *journal* is one process': POWER_DIR/journal.PID, a list of
 * entries, each followed by its bytes. Beside it lies a second name of each file that was changed, POWER_DIR/file.INODE: so one that was
 * removed can be put back, and no number is used twice. Of all journals in a directory the entries are one list by time: processes of one
 * host may write to each other's files.
 */
#ifndef WH_PROCESSES_POWER_H
#define WH_PROCESSES_POWER_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

/* For the library: the directory below which files are watched, and the one of the journals, on the same file system. */
#define POWER_WATCHED "WHORL_POWER_WATCHED"
#define POWER_DIR "WHORL_POWER_DIR"

enum power_kind {
	POWER_DATA, /* [at, at + count) of the file was other than it is: the bytes follow, or they were zeros (`bytes` is 0) */
	POWER_LENGTH,  /* it was `at` bytes long */
	POWER_MADE,    /* names: `name` was made, in `directory`, for the file */
	POWER_REMOVED, /* was removed */
	POWER_RENAMED, /* was renamed to `other`; `replaced` is what was called so, 0: none */
	POWER_SYNCED,  /* all of the file, or all names in the directory, that is older than `at` is on the disk */
};

struct power_entry {
	uint64_t time_ns;
	uint64_t inode;     /* of the file; of POWER_SYNCED maybe that of a directory */
	uint64_t directory; /* inode; of names */
	uint64_t at, count;
	uint64_t replaced;
	uint32_t kind;
	uint32_t bytes; /* that follow, filled up to a multiple of 8: of POWER_DATA what was there; of names: directory's path, name, other, each with its NUL */
};

static inline size_t power_round(size_t bytes)
{
	return (bytes + 7) / 8 * 8;
}

#endif
