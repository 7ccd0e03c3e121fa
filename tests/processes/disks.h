/* disks.h - the directories in which durable members keep their logs, and what befalls them: they are lost, or their power goes (power.h). */
#ifndef WH_PROCESSES_DISKS_H
#define WH_PROCESSES_DISKS_H

#include "tests/processes/cluster.h"

/* A directory for all of them, if options.durable; and the end of it. */
void disks_make(struct cluster *c);
void disks_remove(const struct cluster *c);

/* What that node has. Nothing, if its directory is not there. */
void disks_lose(const struct cluster *c, uint32_t id);
/* Puts it where nobody looks for it, and back. */
void disks_take_away(struct cluster *c, uint32_t id);
void disks_put_back(struct cluster *c, uint32_t id);

/* Called by a process that is to become a life of that node: with options.preload what it writes is watched. */
void disks_watch(const struct cluster *c, uint32_t id);
/* It has ended; on one host all have. What it had not synced is lost, or some of it, by lot. */
void disks_lose_power(struct cluster *c, uint32_t id);
/* What is known of that. */
void disks_forget(const struct cluster *c, uint32_t id);

void disks_remove_directory(const char *path); /* that has files alone */

/* Where it is; and a file in it. Returns out. */
#define DISK_PATH_BYTES (TEST_PATH_BYTES + 100)
char *disks_path(const struct cluster *c, uint32_t id, const char *file, char out[DISK_PATH_BYTES]);

#endif
