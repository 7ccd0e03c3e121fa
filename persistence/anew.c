/* anew.c - see anew.h. */
#include "persistence/anew.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "persistence/identity.h"
#include "persistence/log.h"
#include "persistence/standing.h"

struct check { /* of all logs in a directory */
	struct wh_directory *directory;
	const struct wh_identity *identity;
	uint32_t count; /* that are not blank */
	enum whorl_result result;
	struct wh_error *err;
};

static enum whorl_result check_owner(const struct check *check, const char *files, const struct wh_log_owner *owner)
{
	if (owner->group == check->identity->group && owner->node == check->identity->node)
		return WHORL_OK;
	return wh_error_set(check->err, WHORL_CONFIG, "the log %s is of another group or node than its directory",
			    files);
}

/* A torn end is none: it is cut off when the node starts. */
static enum whorl_result check_log(struct check *check, const char *files)
{
	struct wh_log_found found;
	struct wh_log *log;
	enum whorl_result result = wh_log_open_files(&log, check->directory, files, &found, check->err);

	if (result != WHORL_OK)
		return result;
	if (found.verdict == WH_LOG_ROT)
		result = wh_error_set(check->err, WHORL_DISK, "the log %s has rot: %s", files, found.why);
	else if (found.verdict != WH_LOG_BLANK)
		result = check_owner(check, files, wh_log_owner(log));
	check->count += found.verdict != WH_LOG_BLANK;
	wh_log_close(log);
	return result;
}

struct list { /* a directory must not be changed while it is listed, and a log is not read in it either */
	char (*files)[WH_LOG_FILES_BYTES];
	uint32_t count;
	bool no_memory;
};

static void note_log(void *ctx, const char *files)
{
	struct list *list = ctx;
	char(*more)[WH_LOG_FILES_BYTES] = realloc(list->files, (list->count + 1) * sizeof(*more));

	if (more == NULL) {
		list->no_memory = true;
		return;
	}
	list->files = more;
	strncpy(more[list->count], files, WH_LOG_FILES_BYTES - 1);
	more[list->count++][WH_LOG_FILES_BYTES - 1] = '\0';
}

static enum whorl_result check_logs(struct check *check)
{
	struct list list = {.count = 0};
	enum whorl_result result = wh_log_list(check->directory, note_log, &list, check->err);

	if (result == WHORL_OK && list.no_memory)
		result = wh_error_set(check->err, WHORL_MEMORY, "no memory for the names of logs");
	for (uint32_t i = 0; i < list.count && result == WHORL_OK; i++)
		result = check_log(check, list.files[i]);
	free(list.files);
	return result;
}

/* What the standing says is there has to be: a log that is whole, and had something before its view began. */
static enum whorl_result check_standing(const struct check *check, const struct wh_standing *standing)
{
	uint32_t whole = 0, least = 0;

	if (wh_standing_is_blank(standing))
		return wh_error_set(check->err, WHORL_NOT_FOUND,
				    "its standing is blank: there is nothing to begin with");
	for (uint32_t i = 0; i < standing->shard_count; i++) {
		whole += standing->shards[i].whole;
		least += standing->shards[i].whole && standing->shards[i].before != 0;
	}
	if (whole == 0)
		return wh_error_set(
			check->err, WHORL_NOT_FOUND,
			"no log in it is whole: there is nothing to begin with that an empty directory has not");
	if (check->count < least)
		return wh_error_set(check->err, WHORL_DISK,
				    "there are %" PRIu32 " logs, and its standing says that there were %" PRIu32,
				    check->count, least);
	return WHORL_OK;
}

static enum whorl_result check_view(struct wh_directory *directory, uint64_t key, struct wh_error *err)
{
	unsigned char *bytes = NULL;
	size_t count;
	enum whorl_result result = wh_standing_read_view(directory, key, &bytes, &count, err);

	free(bytes);
	if (result == WHORL_NOT_FOUND)
		return wh_error_set(err, WHORL_DISK, "the view of its standing, of key %016" PRIx64 ", is not there",
				    key);
	return result;
}

static void make_alone(struct wh_standing *standing, uint64_t group)
{
	standing->group = group;
	standing->alone = true;
	standing->first = standing->left = false;
	standing->ballot = standing->next = 0;
	standing->cut_count = 0;
	free(standing->cuts);
	standing->cuts = NULL;
	for (uint32_t i = 0; i < standing->shard_count; i++) {
		standing->shards[i].left = false;
		standing->shards[i].left_at = 0;
	}
}

static enum whorl_result begin_anew(struct check *check, struct wh_standing_file *file, struct wh_standing *standing,
				    uint64_t group)
{
	enum whorl_result result = check_logs(check);

	if (result == WHORL_OK)
		result = check_standing(check, standing);
	if (result == WHORL_OK)
		result = check_view(check->directory, standing->base, check->err);
	if (result == WHORL_OK && (group == 0 || group == standing->group || group == check->identity->group))
		result = wh_error_set(check->err, WHORL_INVALID, "a new group has an identity of its own");
	if (result != WHORL_OK)
		return result;
	make_alone(standing, group);
	return wh_standing_write(file, standing, check->err);
}

enum whorl_result wh_begin_anew(struct wh_directory *directory, uint64_t group, struct wh_error *err)
{
	struct wh_identity identity;
	struct check check = {.directory = directory, .identity = &identity, .err = err};
	struct wh_standing_file file;
	struct wh_standing standing;
	enum whorl_result result = wh_identity_read(directory, &identity, err);

	if (result == WHORL_NOT_FOUND)
		return wh_error_set(err, result, "it has no identity: there is nothing to begin with");
	if (result == WHORL_OK)
		result = wh_standing_open(&file, directory, &standing, NULL, err);
	if (result != WHORL_OK)
		return result;
	result = begin_anew(&check, &file, &standing, group);
	wh_standing_free(&standing);
	wh_standing_close(&file);
	return result;
}
