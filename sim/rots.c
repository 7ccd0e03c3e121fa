/* rots.c - a bit of a disk turns. See schedule.h.
 *
 * Of what a node keeps for its durable subgroups any byte may: of what it says of views, of checkpoints, and of segments with all their batches.
 * One thing is left out, because nobody can tell it from a batch that was never on the disk, and what it had may be nowhere else: the last
 * batch of a log, if it has messages; that is what a node had synced, and neither another batch nor a cap behind it, when it rots (docs/decisions/0058).
 * And what is there twice rots once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "persistence/format_int.h"
#include "persistence/standing.h"
#include "sim/play_int.h"
#include "sim/rots.h"

struct rot {
	const struct wh_sim_disk *disk;
	const char *path;
	uint64_t count, which;
	char name[WH_FILE_NAME_BYTES];
	uint64_t most; /* bytes of it that may */
};

/* The head of the batch that is kept there. */
static bool read_head(const struct rot *rot, const char *name, uint64_t at, struct wh_log_batch_head *head)
{
	unsigned char bytes[WH_LOG_HEAD_BYTES];

	return wh_sim_disk_kept(rot->disk, rot->path, name, at, bytes, sizeof(bytes)) == sizeof(bytes) &&
	       wh_log_batch_decode(head, bytes);
}

static bool is_whole(const struct rot *rot, const char *name, uint64_t at, const struct wh_log_batch_head *head)
{
	size_t count = (size_t)wh_log_batch_bytes(head);
	unsigned char *bytes = wh_plan_alloc(count, 1);
	bool whole = wh_sim_disk_kept(rot->disk, rot->path, name, at, bytes, count) == count &&
		     wh_log_body_check(head, bytes + WH_LOG_HEAD_BYTES);

	free(bytes);
	return whole;
}

/* In front of what lies behind a batch that can be read. The last of all may only if it has no messages, and is not needed for the one before. */
static uint64_t most_of_segment(const struct rot *rot, const char *name, const char *files, uint64_t number)
{
	struct wh_log_batch_head head, last = {.count = 0};
	uint64_t at = WH_LOG_BLOCK_BYTES, last_at = 0;
	char next[WH_FILE_NAME_BYTES];
	bool before = false; /* the batch before the last is whole, or there is none */

	while (read_head(rot, name, at, &head)) {
		before = last_at == 0 ? head.number == 0 : is_whole(rot, name, last_at, &last);
		last = head;
		last_at = at;
		at += wh_log_batch_bytes(&head);
	}
	wh_log_file_name(next, files, WH_LOG_FILE_SEGMENT, number + 1);
	if (last_at == 0 || read_head(rot, next, WH_LOG_BLOCK_BYTES, &head))
		return last_at == 0 ? 0 : at;
	return before && last.first == last.next ? at : last_at;
}

static uint64_t most_of_standing(const struct rot *rot, uint64_t bytes)
{
	struct wh_directory *directory = NULL;
	struct wh_standing_file file = {.number = 0};
	struct wh_standing standing;
	struct wh_error err;
	bool damaged = true;

	if (wh_sim_disk_open_kept(rot->disk, rot->path, &directory, &err) != WHORL_OK)
		return 0;
	if (wh_standing_open(&file, directory, &standing, &damaged, &err) != WHORL_OK)
		damaged = true;
	wh_standing_free(&standing);
	wh_standing_close(&file);
	directory->ops->close(directory);
	return damaged ? 0 : bytes;
}

static uint64_t most_of(const struct rot *rot, const char *name, uint64_t bytes)
{
	char files[WH_LOG_FILES_BYTES];
	uint64_t number;

	if (strcmp(name, "standing") == 0)
		return most_of_standing(rot, bytes);
	switch (wh_log_file_read(name, files, &number)) {
	case WH_LOG_FILE_SEGMENT:
		return most_of_segment(rot, name, files, number);
	case WH_LOG_FILE_CHECKPOINT:
		return bytes;
	default:
		return 0;
	}
}

/* One file is as likely as another. */
static void choose_file(void *ctx, const char *path, const char *name, uint64_t bytes)
{
	struct rot *rot = ctx;
	uint64_t most = strcmp(path, rot->path) == 0 ? most_of(rot, name, bytes) : 0;

	if (most == 0 || rot->count++ != rot->which)
		return;
	snprintf(rot->name, sizeof(rot->name), "%s", name);
	rot->most = most;
}

bool wh_rot_directory(struct wh_sim_disk *disk, const char *path, struct wh_dice *dice)
{
	struct rot rot = {.disk = disk, .path = path, .which = UINT64_MAX};

	wh_sim_disk_each(disk, choose_file, &rot);
	if (rot.count == 0)
		return false;
	rot.which = wh_dice_below(dice, rot.count);
	rot.count = 0;
	wh_sim_disk_each(disk, choose_file, &rot);
	return wh_sim_disk_rot(disk, path, rot.name, wh_dice_below(dice, rot.most),
			       (unsigned char)(1 << wh_dice_below(dice, 8)));
}

void wh_rot_disk(struct play *play, struct wh_sim_disk *disk, uint32_t node, uint64_t i)
{
	struct wh_dice dice = wh_dice_split(play->plan->seed, 9000 + i);
	char path[32];

	snprintf(path, sizeof(path), "%s/%u", WH_PLAN_LOG_DIR, node);
	if (wh_rot_directory(disk, path, &dice))
		play->disks_rot |= UINT64_C(1) << node;
}
