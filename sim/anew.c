/* anew.c - an operator begins the directory of one node anew, where its group cannot come back (docs/decisions/0058). See play_int.h.
 *
 *     anew     that can be done, if the disk has a whole log and nothing is wrong with it; the node is back as a group of its own, and has been
 *              upcalled for all that had come to its disk
 *
 * What others had is not in that group, so the history of the run ends with its first view.
 */
#include <inttypes.h>

#include "persistence/anew.h"
#include "persistence/standing.h"
#include "sim/play_int.h"

/* The newest of those that were in a view; NULL: none was. */
static const struct actor *former_life(const struct actor *actor)
{
	for (uint32_t i = actor->life; i-- > 0;)
		if (actor->play->actors[i].id == actor->id && actor->play->actors[i].view != NULL)
			return &actor->play->actors[i];
	return NULL;
}

/* What it is to be upcalled for: of shards of which the disk has a whole log of the view that its former life was in. */
static void note_logs(struct actor *actor)
{
	const struct actor *former = former_life(actor);
	struct wh_standing standing;

	if (wh_kept_standing(actor->play, actor->id, &standing) && former != NULL && standing.base == former->view->key)
		for (uint32_t g = 0; g < actor->play->plan->config.subgroup_count; g++) {
			const struct shard_member *member = wh_app_member_in(&former->apps[g], former->view->number);
			const struct wh_shard_standing *shard =
				member != NULL ? wh_standing_shard(&standing, g, member->shard->number) : NULL;

			if (shard != NULL && shard->whole)
				actor->apps[g].anew = member;
		}
	wh_standing_free(&standing);
}

static enum whorl_result begin_anew(struct play *play, uint32_t id, struct wh_error *err)
{
	const struct wh_disk *disk = wh_sim_env(play->sim, id)->disk;
	struct wh_directory *directory;
	enum whorl_result result;
	char path[32];
	int holder;

	snprintf(path, sizeof(path), "%s/%u", WH_PLAN_LOG_DIR, id);
	result = disk->directory(disk->ctx, path, false, &directory, err);
	if (result != WHORL_OK)
		return result;
	result = directory->ops->lock(directory, &holder, err);
	if (result == WHORL_OK)
		result = wh_begin_anew(directory, wh_mix(play->plan->seed + id) | 1, err);
	directory->ops->close(directory);
	return result;
}

void wh_anew_begin(struct actor *actor)
{
	struct play *play = actor->play;
	struct wh_error err;
	enum whorl_result result;

	if (!play->plan->logs || play->plan->one_host || !wh_node_config_is_durable(&play->plan->config))
		return;
	note_logs(actor);
	result = begin_anew(play, actor->id, &err);
	actor->anew = result == WHORL_OK;
	if (actor->anew)
		wh_history_anew(play->history, actor->life);
	if (result != WHORL_OK && result != WHORL_NOT_FOUND && !wh_disk_is_harmed(play, actor->id))
		wh_play_fail(play, "anew: what %s has cannot be begun anew: %s", actor->name, err.text);
}

void wh_anew_check(const struct actor *actor)
{
	struct play *play = actor->play;

	for (uint32_t g = 0;
	     g < play->plan->config.subgroup_count && actor->anew && !wh_disk_is_harmed(play, actor->id); g++) {
		const struct shard_member *member = actor->apps[g].anew;
		uint64_t view, position;

		if (member == NULL || member->kept.count == 0)
			continue;
		wh_history_stands(play->history, actor->life, g, &view, &position);
		if (view < member->shard->view->number ||
		    (view == member->shard->view->number && position < member->kept.count))
			wh_play_fail(play,
				     "anew: %s, g%u: has been upcalled for %" PRIu64 " messages of view %" PRIu64
				     ", and its disk had %" PRIu64 " of view %" PRIu64,
				     actor->name, g, position, view, member->kept.count, member->shard->view->number);
	}
}
