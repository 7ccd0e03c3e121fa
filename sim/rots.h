/* rots.h - what a disk has kept of a node rots (sim/rots.c says what of it). */
#ifndef WH_SIM_ROTS_H
#define WH_SIM_ROTS_H

#include "sim/disk.h"

/* A bit of one of the files in that directory of a node turns. False: there is none that may. The calling thread is that of the disk. */
bool wh_rot_directory(struct wh_sim_disk *disk, const char *path, struct wh_dice *dice);

#endif
