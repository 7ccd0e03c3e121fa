/* disk_lab.h - a directory in memory that can lose its power: at any operation, and what was not synced is then anything between what it was
 * and what it was to be (base/disk.h). Time passes in no operation.
 */
#ifndef WH_TESTS_SUPPORT_DISK_LAB_H
#define WH_TESTS_SUPPORT_DISK_LAB_H

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/disk.h"
#include "tests/harness.h"

#define LAB_FILES 32
#define LAB_FILE_BYTES (1 << 17)

struct lab_bytes {
	unsigned char bytes[LAB_FILE_BYTES];
	uint64_t size;
};

struct lab_inode {
	struct lab_bytes now, synced;
};

struct lab_name {
	char name[WH_FILE_NAME_BYTES]; /* "": none */
	struct lab_inode *inode;
};

struct disk_lab {
	struct wh_directory directory; /* first: its functions get it */
	struct lab_name now[LAB_FILES], synced[LAB_FILES];
	struct lab_inode *inodes[256];
	size_t inode_count;
	uint64_t dice;
	long operations; /* that change something, so far */
	long power_goes; /* at that one; -1: never */
	bool is_down;
	bool is_full; /* no write or allocation has room */
	int open;     /* files */
};

struct lab_file {
	struct wh_file file;
	struct disk_lab *lab;
	struct lab_inode *inode;
};

struct lab_name *lab_find(struct lab_name *names, const char *name);

enum whorl_result lab_open_file(struct wh_directory *base, const char *name, bool make, struct wh_file **out,
				struct wh_error *err);

enum whorl_result lab_rename(struct wh_directory *base, const char *from, const char *to, struct wh_error *err);

struct disk_lab *disk_lab_make(uint64_t seed);
void disk_lab_free(struct disk_lab *lab);

/* The power goes, and comes again. All files must have been closed. */
void lab_lose_power(struct disk_lab *lab);

/* So many bytes of a file from `at` on are other ones, also after the power has gone. */
void lab_damage(struct disk_lab *lab, const char *name, size_t at, size_t bytes);

#endif
