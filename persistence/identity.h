/* identity.h - which group and node a directory of logs belongs to: the file `identity`, the first thing that is written there.
 *
 * Magic "whorlidn", format (4), node id (4), identity of the group (8), its name (64), zeros (4), CRC-32C of all before it (4); little-endian,
 * 96 bytes. It is written once, beside, synced, and renamed; nothing else is written in the directory before that is on the disk.
 *
 * Threads: any, one at a time for a directory. Blocks as long as the disk takes.
 */
#ifndef WH_PERSISTENCE_IDENTITY_H
#define WH_PERSISTENCE_IDENTITY_H

#include <stdint.h>

#include "base/disk.h"
#include "base/error.h"

#define WH_IDENTITY_FORMAT 1
#define WH_IDENTITY_NAME_BYTES 64 /* with the NUL */

struct wh_identity {
	uint64_t group;                    /* not 0 */
	char name[WH_IDENTITY_NAME_BYTES]; /* of the group */
	uint32_t node;                     /* id */
};

/* WHORL_NOT_FOUND: there is none: nothing was ever written in the directory. WHORL_CONFIG: it is of a later format. WHORL_DISK: it is damaged,
 * or cannot be read: the directory counts as a disk that is lost, not as a blank one. */
WH_MUST_CHECK enum whorl_result wh_identity_read(struct wh_directory *directory, struct wh_identity *out,
						 struct wh_error *err);
/* When it returns it is on the disk, and its name is. WHORL_AGAIN: no room. Takes the place of one that is there: the caller knows
 * whether it may. At each start it is to be written again, because a sync of the directory may have failed that should have kept its name. */
WH_MUST_CHECK enum whorl_result wh_identity_write(struct wh_directory *directory, const struct wh_identity *identity,
						  struct wh_error *err);
/* Is it the one that is wanted? WHORL_CONFIG, and how it differs. A `group` of 0 is any. */
WH_MUST_CHECK enum whorl_result wh_identity_check(const struct wh_identity *found, const struct wh_identity *wanted,
						  struct wh_error *err);

#endif
