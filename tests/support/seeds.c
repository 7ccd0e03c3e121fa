#include "tests/support/seeds.h"

void keep_seed(char kind, int number, const unsigned char *bytes, size_t count)
{
	const char *directory = getenv("WHORL_SEEDS");
	char path[512];
	FILE *file;

	if (directory == NULL)
		return;
	snprintf(path, sizeof(path), "%s/%c%d", directory, kind, number);
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fputc(kind, file), kind);
	ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
	ck_assert_int_eq(fclose(file), 0);
}
