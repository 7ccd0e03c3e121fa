/* identity.c - see identity.h. */
#include "persistence/identity.h"

#include <inttypes.h>
#include <string.h>
#include <sys/uio.h>

#include "base/crc32c.h"
#include "persistence/format_int.h"

#define NAME "identity"
#define NEW_NAME "identity.new"
#define MAGIC "whorlidn"

enum {
	FORMAT = 8,
	NODE = 12,
	GROUP = 16,
	GROUP_NAME = 24,
	SPARE = GROUP_NAME + WH_IDENTITY_NAME_BYTES,
	SUM = 92,
	BYTES = 96
};

enum whorl_result wh_identity_read(struct wh_directory *directory, struct wh_identity *out, struct wh_error *err)
{
	unsigned char bytes[BYTES + 1];
	struct wh_file *file;
	size_t got = 0;
	enum whorl_result result = directory->ops->open(directory, NAME, false, &file, err);

	if (result != WHORL_OK)
		return result;
	result = file->ops->read(file, 0, bytes, sizeof(bytes), &got, err);
	file->ops->close(file);
	if (result != WHORL_OK)
		return result;
	if (got < BYTES || memcmp(bytes, MAGIC, FORMAT) != 0 || wh_log_get32(bytes + SUM) != wh_crc32c(0, bytes, SUM))
		return wh_error_set(err, WHORL_DISK, "the file %s is damaged", NAME);
	if (wh_log_get32(bytes + FORMAT) > WH_IDENTITY_FORMAT)
		return wh_error_set(err, WHORL_CONFIG, "the file %s has format %" PRIu32 ", and this whorl knows %d",
				    NAME, wh_log_get32(bytes + FORMAT), WH_IDENTITY_FORMAT);
	if (got != BYTES || wh_log_get32(bytes + FORMAT) != WH_IDENTITY_FORMAT || wh_log_get64(bytes + GROUP) == 0 ||
	    bytes[SPARE - 1] != '\0')
		return wh_error_set(err, WHORL_DISK, "the file %s is damaged", NAME);
	*out = (struct wh_identity){.group = wh_log_get64(bytes + GROUP), .node = wh_log_get32(bytes + NODE)};
	memcpy(out->name, bytes + GROUP_NAME, sizeof(out->name));
	return WHORL_OK;
}

static enum whorl_result write_new(struct wh_directory *directory, unsigned char bytes[BYTES], struct wh_error *err)
{
	struct iovec part = {bytes, BYTES};
	struct wh_file *file;
	enum whorl_result result = directory->ops->open(directory, NEW_NAME, true, &file, err);

	if (result != WHORL_OK)
		return result;
	result = file->ops->truncate(file, 0, err);
	if (result == WHORL_OK)
		result = file->ops->write(file, 0, &part, 1, err);
	if (result == WHORL_OK)
		result = file->ops->sync(file, err);
	file->ops->close(file);
	return result;
}

enum whorl_result wh_identity_write(struct wh_directory *directory, const struct wh_identity *identity,
				    struct wh_error *err)
{
	unsigned char bytes[BYTES] = {0};
	enum whorl_result result;

	if (identity->group == 0)
		return wh_error_set(err, WHORL_INVALID, "the identity of a group is not 0");
	memcpy(bytes, MAGIC, FORMAT);
	wh_log_put32(bytes + FORMAT, WH_IDENTITY_FORMAT);
	wh_log_put32(bytes + NODE, identity->node);
	wh_log_put64(bytes + GROUP, identity->group);
	memcpy(bytes + GROUP_NAME, identity->name, strnlen(identity->name, WH_IDENTITY_NAME_BYTES - 1));
	wh_log_put32(bytes + SUM, wh_crc32c(0, bytes, SUM));
	result = write_new(directory, bytes, err);
	if (result == WHORL_OK)
		result = directory->ops->rename(directory, NEW_NAME, NAME, err);
	if (result == WHORL_OK)
		result = directory->ops->sync(directory, err);
	return result;
}

enum whorl_result wh_identity_check(const struct wh_identity *found, const struct wh_identity *wanted,
				    struct wh_error *err)
{
	if (strcmp(found->name, wanted->name) != 0)
		return wh_error_set(err, WHORL_CONFIG, "the directory is of the group %.63s, and not of %.63s",
				    found->name, wanted->name);
	if (wanted->group != 0 && found->group != wanted->group)
		return wh_error_set(err, WHORL_CONFIG,
				    "the directory is of another group called %.63s: its identity is %016" PRIx64
				    ", and not %016" PRIx64,
				    found->name, found->group, wanted->group);
	if (found->node != wanted->node)
		return wh_error_set(err, WHORL_CONFIG, "the directory is of node %" PRIu32 ", and not of node %" PRIu32,
				    found->node, wanted->node);
	return WHORL_OK;
}
