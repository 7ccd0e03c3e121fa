/* saved.h - the directories of durable nodes: copied while nothing is written to them, put back, and removed. So all nodes seem to have ended at
 * the same moment.
 */
#ifndef WH_TESTS_SUPPORT_SAVED_H
#define WH_TESTS_SUPPORT_SAVED_H

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/harness.h"

/* With all that is in it; it may be missing. */
void remove_directory(const char *path);

/* All that lies in the directories of the nodes, there and back: as it is at one moment, when nothing is written. */
void copy_directories(const char *from, const char *to, unsigned nodes);

#endif
