/* disk_contract.h - what base/disk.h promises of any table of files, whatever is below it. */
#ifndef WH_TESTS_SUPPORT_DISK_CONTRACT_H
#define WH_TESTS_SUPPORT_DISK_CONTRACT_H

#include <string.h>
#include <sys/uio.h>

#include "base/disk.h"
#include "tests/harness.h"

struct contract_names {
	char all[256];
	int count;
};

void contract_expect_names(struct wh_directory *directory, const char *one, const char *other);
void contract_of_files(struct wh_directory *directory);
void contract_of_names(struct wh_directory *directory);

/* `other` is another handle of that directory, in whatever process. Both are closed. */
void contract_of_locks(struct wh_directory *directory, struct wh_directory *other, int process);

/* `path` is not there, and can be made. */
void contract_of_directories(const struct wh_disk *disk, const char *path);

#endif
