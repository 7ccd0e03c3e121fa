#include "tests/support/disk_contract.h"

static void contract_add_name(void *ctx, const char *name)
{
	struct contract_names *names = ctx;

	names->count++;
	strcat(strcat(names->all, name), " ");
}

void contract_expect_names(struct wh_directory *directory, const char *one, const char *other)
{
	struct contract_names names = {0};
	struct wh_error err;

	ck_assert_int_eq(directory->ops->list(directory, contract_add_name, &names, &err), WHORL_OK);
	ck_assert_int_eq(names.count, (one != NULL) + (other != NULL));
	if (one != NULL)
		ck_assert_msg(strstr(names.all, one) != NULL, "%s", names.all);
	if (other != NULL)
		ck_assert_msg(strstr(names.all, other) != NULL, "%s", names.all);
}

static void contract_expect(struct wh_file *file, const char *bytes, size_t count)
{
	char found[64];
	struct wh_error err;
	uint64_t size;
	size_t got;

	ck_assert_uint_lt(count, sizeof(found));
	ck_assert_int_eq(file->ops->size(file, &size, &err), WHORL_OK);
	ck_assert_uint_eq(size, count);
	ck_assert_int_eq(file->ops->read(file, 0, found, sizeof(found), &got, &err), WHORL_OK);
	ck_assert_uint_eq(got, count);
	ck_assert_mem_eq(found, bytes, count);
}

void contract_of_files(struct wh_directory *directory)
{
	struct iovec parts[] = {{(void *)"or", 2}, {NULL, 0}, {(void *)"ders", 4}};
	struct wh_file *file, *same;
	struct wh_error err;
	char byte;
	size_t got;

	ck_assert_int_eq(directory->ops->open(directory, "log", false, &file, &err), WHORL_NOT_FOUND);
	ck_assert_int_eq(directory->ops->open(directory, "log", true, &file, &err), WHORL_OK);
	contract_expect(file, "", 0);
	ck_assert_int_eq(file->ops->write(file, 3, parts, 3, &err), WHORL_OK);
	contract_expect(file, "\0\0\0orders", 9);
	ck_assert_int_eq(file->ops->read(file, 9, &byte, 1, &got, &err), WHORL_OK);
	ck_assert_uint_eq(got, 0);
	ck_assert_int_eq(file->ops->read(file, 1000, &byte, 1, &got, &err), WHORL_OK);
	ck_assert_uint_eq(got, 0);
	ck_assert_int_eq(file->ops->truncate(file, 5, &err), WHORL_OK);
	ck_assert_int_eq(file->ops->truncate(file, 7, &err), WHORL_OK);
	contract_expect(file, "\0\0\0or\0\0", 7);
	ck_assert_int_eq(file->ops->allocate(file, 5, &err), WHORL_OK);
	contract_expect(file, "\0\0\0or\0\0", 7);
	ck_assert_int_eq(file->ops->allocate(file, 10, &err), WHORL_OK);
	contract_expect(file, "\0\0\0or\0\0\0\0\0", 10);
	ck_assert_int_eq(file->ops->sync(file, &err), WHORL_OK);
	ck_assert_int_eq(directory->ops->open(directory, "log", true, &same, &err), WHORL_OK); /* not anew */
	contract_expect(same, "\0\0\0or\0\0\0\0\0", 10);
	same->ops->close(same);
	file->ops->close(file);
	ck_assert_int_eq(directory->ops->remove(directory, "log", &err), WHORL_OK);
}

static struct wh_file *contract_make(struct wh_directory *directory, const char *name)
{
	struct iovec part = {(void *)name, strlen(name)};
	struct wh_file *file;
	struct wh_error err;

	ck_assert_int_eq(directory->ops->open(directory, name, true, &file, &err), WHORL_OK);
	ck_assert_int_eq(file->ops->write(file, 0, &part, 1, &err), WHORL_OK);
	return file;
}

void contract_of_names(struct wh_directory *directory)
{
	struct wh_file *new_file = contract_make(directory, "new"), *old_file = contract_make(directory, "old");
	struct wh_file *found;
	struct wh_error err;

	contract_expect_names(directory, "new", "old");
	ck_assert_int_eq(directory->ops->rename(directory, "none", "new", &err), WHORL_NOT_FOUND);
	ck_assert_int_eq(directory->ops->remove(directory, "none", &err), WHORL_NOT_FOUND);
	ck_assert_int_eq(directory->ops->rename(directory, "new", "new", &err), WHORL_OK);
	ck_assert_int_eq(directory->ops->rename(directory, "old", "new", &err), WHORL_OK);
	contract_expect_names(directory, "new", NULL);
	contract_expect(new_file, "new", 3); /* it has no name any more */
	contract_expect(old_file, "old", 3);
	ck_assert_int_eq(directory->ops->open(directory, "new", false, &found, &err), WHORL_OK);
	contract_expect(found, "old", 3);
	ck_assert_int_eq(directory->ops->remove(directory, "new", &err), WHORL_OK);
	contract_expect_names(directory, NULL, NULL);
	contract_expect(found, "old", 3);
	ck_assert_int_eq(directory->ops->sync(directory, &err), WHORL_OK);
	contract_expect(old_file, "old", 3);
	new_file->ops->close(new_file);
	old_file->ops->close(old_file);
	found->ops->close(found);
	ck_assert_int_eq(directory->ops->open(directory, ".", true, &found, &err), WHORL_DISK);
}

void contract_of_locks(struct wh_directory *directory, struct wh_directory *other, int process)
{
	struct wh_error err;
	int holder = -1;

	ck_assert_int_eq(directory->ops->lock(directory, &holder, &err), WHORL_OK);
	ck_assert_int_eq(holder, 0);
	contract_expect_names(directory, "lock", NULL);
	ck_assert_int_eq(directory->ops->lock(directory, &holder, &err), WHORL_OK); /* it has it */
	for (int i = 0; i < 2; i++) {                                               /* to try breaks nothing */
		ck_assert_int_eq(other->ops->lock(other, &holder, &err), WHORL_AGAIN);
		ck_assert_int_eq(holder, process);
	}
	directory->ops->close(directory);
	ck_assert_int_eq(other->ops->lock(other, &holder, &err), WHORL_OK);
	ck_assert_int_eq(other->ops->remove(other, "lock", &err), WHORL_OK);
	other->ops->close(other);
}

void contract_of_directories(const struct wh_disk *disk, const char *path)
{
	struct wh_directory *directory, *again;
	struct wh_file *file;
	struct wh_error err;
	char below[256];

	snprintf(below, sizeof(below), "%s/below", path);
	ck_assert_int_eq(disk->directory(disk->ctx, path, false, &directory, &err), WHORL_NOT_FOUND);
	ck_assert_ptr_null(directory);
	ck_assert_int_eq(disk->directory(disk->ctx, below, true, &directory, &err), WHORL_DISK);
	ck_assert_msg(strstr(err.text, path) != NULL, "%s", err.text);
	ck_assert_int_eq(disk->directory(disk->ctx, path, true, &directory, &err), WHORL_OK);
	ck_assert_int_eq(disk->directory(disk->ctx, path, true, &again, &err), WHORL_OK);
	again->ops->close(again);
	ck_assert_int_eq(disk->directory(disk->ctx, below, true, &again, &err), WHORL_OK);
	contract_expect_names(directory, "below", NULL);
	ck_assert_int_eq(directory->ops->open(directory, "below", true, &file, &err), WHORL_DISK);
	again->ops->close(again);
	directory->ops->close(directory);
}
