/* scratch.c - see scratch.h. */
#include "command/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/output.h"

#define DEPTH 8 /* directories that are open at a time */

enum whorl_result wh_scratch_open(struct wh_scratch *scratch, const char *above, struct wh_error *err)
{
	int length = snprintf(scratch->path, sizeof scratch->path, "%s/%s", above, WH_SCRATCH_NAME);

	if (length >= (int)sizeof scratch->path) {
		scratch->path[0] = '\0';
		return wh_error_set(err, WHORL_SYSTEM, "the path of a directory in %s is too long", above);
	}
	if (mkdtemp(scratch->path) != NULL)
		return WHORL_OK;
	scratch->path[0] = '\0';
	return wh_error_system(err, errno, "cannot make a directory in %s", above);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status;
	(void)type;
	(void)place;
	return remove(path) == 0 || errno == ENOENT ? 0 : errno;
}

/* The file system that the directory was in has nothing left to do. */
static void settle_disk(const char *path)
{
	char above[WH_SCRATCH_BYTES];
	int fd;

	snprintf(above, sizeof above, "%s", path);
	*strrchr(above, '/') = '\0';
	fd = open(above[0] != '\0' ? above : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)syncfs(fd);
	close(fd);
}

bool wh_scratch_close(struct wh_scratch *scratch)
{
	int failed;

	if (scratch->path[0] == '\0')
		return true;
	failed = nftw(scratch->path, remove_one, DEPTH, FTW_DEPTH | FTW_PHYS);
	if (failed != 0)
		wh_say("%s is left: %s", scratch->path, strerror(failed > 0 ? failed : errno));
	else
		settle_disk(scratch->path);
	scratch->path[0] = '\0';
	return failed == 0;
}
