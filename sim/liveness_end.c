/* liveness_end.c - what must be so when all is done. See play_int.h.
 *
 *     silence     an idle group posts heartbeats, and nothing else
 *     close       a node that has left in order has left nothing undelivered
 */
#include <inttypes.h>

#include "sim/play_int.h"

void wh_liveness_check_silence(struct play *play)
{
	struct wh_sim_counts before[WH_FAULT_NODES_MAX] = {{0}};

	for (uint32_t i = 0; i < play->nodes; i++)
		before[i] = wh_sim_counts(play->sim, i);
	wh_play_goes_on(play, 3 * wh_play_timeout_ns(play) / 4);
	for (uint32_t i = 0; i < play->nodes && !wh_play_failed(play); i++) {
		struct wh_sim_counts after = wh_sim_counts(play->sim, i);
		uint64_t quiet = after.quiet - before[i].quiet;

		if (play->at[i] == NULL || (play->survivors >> play->at[i]->life & 1) == 0)
			continue;
		if (after.loud != before[i].loud || quiet < 2 || quiet > 4)
			wh_play_fail(
				play,
				"silence: node %u is idle for three quarters of the time-out, and has posted %" PRIu64
				" pushes and %" PRIu64 " heartbeats",
				i, after.loud - before[i].loud, quiet);
	}
}

/* Must that one have all of its messages? A node that is still in the view before has them, and will deliver them. One that has entered
 * later, and was given no state, has none of those that came before. */
static bool expects_all_of(const struct actor *left, const struct app *app)
{
	const struct actor *actor = app->actor;
	const struct play *play = actor->play;

	return actor != left && app->member != NULL && wh_actor_runs(actor) && !app->awaits && !app->behind &&
	       wh_shard_sender(app->member->shard, left->id) >= 0 && (play->touched >> actor->life & 1) == 0 &&
	       left->view != NULL && actor->view->number >= left->view->number &&
	       (actor->view->members >> left->life & 1) != 0 &&
	       (play->subgroups[app->g].stateful || app->since <= left->apps[app->g].since ||
		(!wh_play_is_dynamic(play, app->g) && !play->plan->logs));
}

void wh_liveness_check_left(const struct actor *actor)
{
	struct play *play = actor->play;

	for (uint32_t g = 0; g < play->subgroup_count; g++) {
		const struct stream *stream = actor->apps[g].stream;
		uint64_t count = stream->claimed; /* up to the last that was committed */

		while (count > stream->base && stream->messages[count - 1].state != MESSAGE_COMMITTED)
			count--;
		if (count == stream->base) /* those of stays before are judged by the history */
			count = 0;
		for (uint32_t i = 0; i < play->lives && !play->subgroups[g].plan->by_function; i++) {
			const struct app *app = &play->actors[i].apps[g];

			if (expects_all_of(actor, app) && app->next[actor->life] < count)
				wh_play_fail(play,
					     "close: %s, g%u: has delivered %" PRIu64 " of the %" PRIu64
					     " messages of %s, which has drained and left",
					     app->actor->name, g, app->next[actor->life], count, actor->name);
		}
	}
}
