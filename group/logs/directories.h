/* directories.h - what lies in the directories of all nodes of this host below [group] log_dir (docs/decisions/0058, One host): read without
 * their locks, and nothing of them is changed.
 *
 * Threads: any. May block for as long as the disk takes.
 */
#ifndef WH_GROUP_LOGS_DIRECTORIES_H
#define WH_GROUP_LOGS_DIRECTORIES_H

#include <stddef.h>

#include "base/disk.h"

/* The ids below `nodes` of those directories that have a standing of that group (0: of any), into `ids`, which has room for all: first what was
 * begun anew, then by their views, the newest first; of one view those that have agreed to the next, then those that have not left, then those of
 * which all logs are whole. One that is damaged counts, as the last: it says that there was one. Of a first view that was never begun it does
 * not. Returns how many. */
size_t wh_directories_find(const struct wh_disk *disk, const char *path, uint64_t group, uint32_t nodes, uint32_t *ids);

#endif
