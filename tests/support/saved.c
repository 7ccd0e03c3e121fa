#include "tests/support/saved.h"

#include <errno.h>
#include <ftw.h>

static int remove_entry(const char *path, const struct stat *is, int type, struct FTW *walk)
{
	(void)is;
	(void)type;
	(void)walk;
	return remove(path);
}

void remove_directory(const char *path)
{
	ck_assert(nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT);
}

static void copy_file(const char *from, const char *to)
{
	FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
	char bytes[4096];
	size_t count;

	ck_assert(in != NULL && out != NULL);
	while ((count = fread(bytes, 1, sizeof(bytes), in)) > 0)
		ck_assert_uint_eq(fwrite(bytes, 1, count, out), count);
	ck_assert_int_eq(fclose(out), 0);
	(void)fclose(in);
}

void copy_directories(const char *from, const char *to, unsigned nodes)
{
	char path[2][128], name[2][512];

	for (unsigned id = 0; id < nodes; id++) {
		const struct dirent *entry;
		DIR *directory;

		snprintf(path[0], sizeof(path[0]), "%s/%u", from, id);
		snprintf(path[1], sizeof(path[1]), "%s/%u", to, id);
		remove_directory(path[1]);
		ck_assert_int_eq(mkdir(path[1], 0700), 0);
		directory = opendir(path[0]);
		ck_assert_ptr_nonnull(directory);
		while ((entry = readdir(directory)) != NULL) {
			snprintf(name[0], sizeof(name[0]), "%s/%s", path[0], entry->d_name);
			snprintf(name[1], sizeof(name[1]), "%s/%s", path[1], entry->d_name);
			if (entry->d_name[0] != '.')
				copy_file(name[0], name[1]);
		}
		closedir(directory);
	}
}
