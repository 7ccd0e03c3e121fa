/* anew.h - what lies in the directory of one node becomes a group of its own, when too few of the disks of its group are left (docs/decisions/0058,
 * *Begun anew*).
 *
 * Its standing gets another identity, and says that of the members of its view this disk alone counts; all else stays as it is. So a restart
 * by the usual rules makes a view of this node. It is one write of a standing: what a loss of power leaves is the old group or the new one. A
 * log that is not whole is removed when the node starts.
 *
 * What other disks of the group have is not in it: views after its own, messages that came later, shards that it is not in. They never count
 * with it again, as they have another identity.
 *
 * Threads: any, one at a time for a directory. Blocks as long as the disk takes.
 */
#ifndef WH_PERSISTENCE_ANEW_H
#define WH_PERSISTENCE_ANEW_H

#include <stdint.h>

#include "base/disk.h"
#include "base/error.h"

/* The directory is open, and locked. `group`: the new identity, random, not 0. All of it is read and checked before, and nothing is changed if
 * the result is not WHORL_OK or WHORL_DISK; then it is the old group or the new one.
 * WHORL_NOT_FOUND: there is no standing in it, or no log that is whole: there is nothing to begin with. WHORL_CONFIG: something is of a later
 * format, or of another node or group than the directory. WHORL_DISK: something is damaged, or the disk could not. WHORL_INVALID: the identity.
 * WHORL_AGAIN: there is no room on the disk. WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_begin_anew(struct wh_directory *directory, uint64_t group, struct wh_error *err);

#endif
