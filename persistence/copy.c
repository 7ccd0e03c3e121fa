/* copy.c - all of a log, into the directory of another node: see log.h. Its files are as they were, but that the first block of each names
 * another owner.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "persistence/log_int.h"

struct copy {
	struct wh_directory *to, *from;
	const struct wh_log_owner *owner; /* what the files are to say */
	const struct wh_log_asking *asking;
	char files[WH_LOG_FILES_BYTES];
	unsigned char *buffer;
	char (*names)[WH_FILE_NAME_BYTES];
	uint32_t count, room;
	bool no_memory;
};

static void add_name(void *ctx, const char *name)
{
	struct copy *copy = ctx;
	char files[WH_LOG_FILES_BYTES];
	uint64_t number;
	enum wh_log_file_kind kind = wh_log_file_read(name, files, &number);

	if ((kind != WH_LOG_FILE_SEGMENT && kind != WH_LOG_FILE_CHECKPOINT) || strcmp(files, copy->files) != 0)
		return;
	if (copy->count == copy->room) {
		uint32_t room = copy->room > 0 ? 2 * copy->room : 16;
		char(*more)[WH_FILE_NAME_BYTES] = realloc(copy->names, room * sizeof(*more));

		copy->no_memory |= more == NULL;
		if (more == NULL)
			return;
		copy->names = more;
		copy->room = room;
	}
	memcpy(copy->names[copy->count++], name, strlen(name) + 1);
}

/* Of that log, and whole. The name of a checkpoint may be a later one than it says itself (recover.c). */
static enum whorl_result change_owner(const struct copy *copy, const char *name, struct wh_error *err)
{
	enum wh_log_file_kind kind;
	struct wh_log_head head;
	char files[WH_LOG_FILES_BYTES];
	const char *magic;
	uint64_t number;
	uint32_t format;

	kind = wh_log_file_read(name, files, &number);
	magic = kind == WH_LOG_FILE_SEGMENT ? WH_LOG_SEGMENT_MAGIC : WH_LOG_CHECKPOINT_MAGIC;
	if (wh_log_head_decode(&head, magic, copy->buffer, &format) != WH_LOG_READ ||
	    (kind == WH_LOG_FILE_SEGMENT && head.number != number) ||
	    strcmp(head.owner.subgroup, copy->owner->subgroup) != 0 || head.owner.shard != copy->owner->shard)
		return wh_error_set(err, WHORL_NOT_FOUND, "%s cannot be read", name);
	head.owner = *copy->owner;
	wh_log_head_encode(copy->buffer, magic, &head);
	return WHORL_OK;
}

/* What cannot be read of the other directory is no fault of this one: WHORL_NOT_FOUND. */
static enum whorl_result read_some(const struct copy *copy, struct wh_file *file, uint64_t at, size_t *got,
				   struct wh_error *err)
{
	enum whorl_result result;

	wh_log_ask(copy->asking);
	result = file->ops->read(file, at, copy->buffer, WH_LOG_READ_BYTES, got, err);
	return result == WHORL_DISK ? (err->code = WHORL_NOT_FOUND) : result;
}

#define SYNC_BYTES ((uint64_t)64 << 20) /* what one sync has to write: how long it takes says something of the disk */

/* What has come to `at`. */
static enum whorl_result sync_some(const struct copy *copy, struct wh_file *to, uint64_t at, struct wh_error *err)
{
	if (at % SYNC_BYTES != 0)
		return WHORL_OK;
	wh_log_ask(copy->asking);
	return to->ops->sync(to, err);
}

static enum whorl_result copy_bytes(const struct copy *copy, const char *name, struct wh_file *from, struct wh_file *to,
				    struct wh_error *err)
{
	enum whorl_result result;
	uint64_t at = 0;
	size_t got;

	do {
		struct iovec part;

		result = read_some(copy, from, at, &got, err);
		if (result == WHORL_OK && at == 0)
			result = got < WH_LOG_BLOCK_BYTES ? wh_error_set(err, WHORL_NOT_FOUND, "%s is cut off", name)
							  : change_owner(copy, name, err);
		part = (struct iovec){copy->buffer, got};
		wh_log_ask(copy->asking);
		if (result == WHORL_OK && got > 0)
			result = to->ops->write(to, at, &part, 1, err);
		at += got;
		if (result == WHORL_OK)
			result = sync_some(copy, to, at, err);
	} while (result == WHORL_OK && got == WH_LOG_READ_BYTES);
	wh_log_ask(copy->asking);
	return result == WHORL_OK ? to->ops->sync(to, err) : result;
}

static enum whorl_result copy_file(const struct copy *copy, const char *name, struct wh_error *err)
{
	struct wh_file *from, *to;
	enum whorl_result result;

	wh_log_ask(copy->asking);
	result = copy->from->ops->open(copy->from, name, false, &from, err);
	if (result != WHORL_OK)
		return result == WHORL_DISK ? (err->code = WHORL_NOT_FOUND) : result;
	wh_log_ask(copy->asking);
	result = copy->to->ops->open(copy->to, name, true, &to, err);
	if (result == WHORL_OK) {
		result = copy_bytes(copy, name, from, to, err);
		to->ops->close(to);
	}
	from->ops->close(from);
	return result;
}

enum whorl_result wh_log_copy(struct wh_directory *to, const struct wh_log_owner *owner, struct wh_directory *from,
			      const struct wh_log_asking *asking, struct wh_error *err)
{
	struct copy copy = {.to = to, .from = from, .owner = owner, .asking = asking};
	enum whorl_result result = wh_log_discard(to, owner->subgroup, owner->shard, asking, err);

	wh_log_files(copy.files, owner->subgroup, owner->shard);
	copy.buffer = malloc(WH_LOG_READ_BYTES);
	if (result == WHORL_OK) {
		result = from->ops->list(from, add_name, &copy, err);
		result = result == WHORL_DISK ? (err->code = WHORL_NOT_FOUND) : result;
	}
	if (result == WHORL_OK && (copy.buffer == NULL || copy.no_memory))
		result = wh_error_set(err, WHORL_MEMORY, "no memory to copy a log");
	if (result == WHORL_OK && copy.count == 0)
		result = wh_error_set(err, WHORL_NOT_FOUND, "there is no log of %s", owner->subgroup);
	for (uint32_t i = 0; i < copy.count && result == WHORL_OK; i++)
		result = copy_file(&copy, copy.names[i], err);
	wh_log_ask(asking);
	if (result == WHORL_OK)
		result = to->ops->sync(to, err);
	free(copy.names);
	free(copy.buffer);
	return result;
}
