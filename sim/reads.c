/* reads.c - applications that are state machines read their states, and what they may see. See play_int.h.
 *
 *     stale       a linearizable read has all that any member of its shard had applied when it began, also one that is dead, has left or
 *                 was removed by then
 *     restored    no state is read before it is there, nor that of a shard that the node is not in; and none by a linearizable read in the
 *                 middle of an upcall for calls
 *     reason      a read that may not look is told why, and that is so
 *     once        each read that is accepted ends once, and a local one, where no pass is being made, at once
 *
 * A node that comes into a shard without a state passes over what was applied before, as one does of which all members come anew: so must
 * its reads.
 */
#include <inttypes.h>
#include <stdlib.h>

#include <whorl/replica.h>

#include "sim/play_int.h"

#define READS_MAX 12   /* that an application begins by itself */
#define REPLIES_MAX 40 /* and in its upcalls */
#define HURRY_PART 10  /* of a failure time-out, at most, between hurried reads */

#define FAIL_READ(read, property, format, ...)                                                                         \
	wh_play_fail((read)->app->actor->play, property ": %s, g%u: a %s read " format, (read)->app->actor->name,      \
		     (read)->app->g, (read)->linearizable ? "linearizable" : "local", __VA_ARGS__)

static bool is_beyond(const struct app *app)
{
	return wh_play_failed(app->actor->play) || app->actor->crashed || app->actor->play->extinct;
}

static bool is_before(struct place a, struct place b)
{
	return a.view < b.view || (a.view == b.view && a.count < b.count);
}

/* ---- ending --------------------------------------------------------------------------------------------------------------- */

static void judge_look(const struct read *read)
{
	const struct app *app = read->app;

	if (app->member == NULL || app->awaits || app->actor->removed)
		FAIL_READ(read, "restored", "is made, and its node %s",
			  app->member == NULL ? "is in no shard"
			  : app->awaits       ? "has no state yet"
					      : "knows that it was removed");
	else if (read->linearizable && app->applies)
		FAIL_READ(read, "restored", "is made while calls are applied%s", "");
	else if (read->linearizable && is_before(app->applied, read->must))
		FAIL_READ(read, "stale",
			  "has %" PRIu64 " calls of view %" PRIu64 "; when it began %" PRIu64 " of view %" PRIu64
			  " were applied",
			  app->applied.count, app->applied.view, read->must.count, read->must.view);
}

/* Why it may not look: may it be that? `member`: of its shard, as when it began. */
static bool is_reason(const struct app *app, bool linearizable, bool member, enum whorl_result result)
{
	enum whorl_result error = app->actor->leaving ? WHORL_CLOSED : whorl_error(app->actor->node, NULL, 0);

	switch (result) {
	case WHORL_NOT_FOUND:
		return !member;
	case WHORL_AGAIN: /* behind: the program has restored its state, and the loop may not know yet */
		return app->actor->view == NULL || (!linearizable && (app->awaits || app->behind));
	case WHORL_NO_QUORUM:
		return linearizable && (error == result || app->actor->leaving);
	case WHORL_CLOSED:
		return app->actor->leaving;
	default:
		return result != WHORL_OK && (error == result || app->actor->leaving);
	}
}

static void judge_end(const struct read *read, enum whorl_result result)
{
	struct app *app = read->app;
	bool member;

	if (read->settled) {
		FAIL_READ(read, "once", "ends again, with: %s", whorl_result_text(result));
		return;
	}
	if (!app->actor->leaving || result == WHORL_OK)
		wh_play_enter_view(app->actor, NULL);
	wh_app_look_for_log(app);
	member = app->member != NULL && app->stay == read->stay;
	if (result == WHORL_OK)
		judge_look(read);
	else if (!is_reason(app, read->linearizable, member, result))
		FAIL_READ(read, "reason", "ends with: %s, and its node %s: %s", whorl_result_text(result),
			  member ? "is a member" : "is no member as it was",
			  app->actor->leaving ? "it leaves"
					      : whorl_result_text(whorl_error(app->actor->node, NULL, 0)));
}

static void read_ends(enum whorl_result result, void *ctx)
{
	struct read *read = ctx;
	struct app *app = read->app;

	if (!is_beyond(app)) {
		wh_tell(app->actor, TOLD_READ, app->g, read->linearizable ? 2 : 3, (uint64_t)result, 0);
		judge_end(read, result);
		wh_sim_note(app->actor->play->sim, (uint64_t)app->actor->id << 8 | (uint64_t)result);
	}
	read->settled = true;
	app->actor->play->useful_step = app->actor->play->steps;
	if (result != WHORL_OK || !read->linearizable || is_beyond(app))
		return;
	wh_check_settle(app->actor);
	wh_calls_act(app);
}

/* ---- beginning ------------------------------------------------------------------------------------------------------------ */

static struct read *new_read(struct app *app)
{
	struct read *read = wh_plan_alloc(1, sizeof(*read));

	*read = (struct read){.app = app,
			      .linearizable = !wh_dice_one_in(&app->actor->dice, 4),
			      .stay = app->stay,
			      .next = app->reads};
	if (app->member != NULL)
		read->must = app->actor->play->subgroups[app->g].furthest[app->member->shard->number];
	app->reads = read;
	return read;
}

static void judge_beginning(struct read *read, enum whorl_result result)
{
	const struct app *app = read->app;

	if (result == WHORL_OK) {
		if (!read->linearizable && !read->settled && !app->actor->in_pass)
			FAIL_READ(read, "once", "is not made at once%s", "");
		return;
	}
	if (read->settled || !is_reason(app, read->linearizable, app->member != NULL, result))
		FAIL_READ(read, "reason", "is refused with: %s%s", whorl_result_text(result),
			  read->settled ? ", and has ended" : "");
	read->settled = true;
}

void wh_read_one(struct app *app)
{
	struct actor *actor = app->actor;
	struct read *read;
	enum whorl_result result;

	if (is_beyond(app) || app->subgroup == NULL || !wh_actor_runs(actor) || actor->leaving ||
	    actor->play->closing || app->reads_answered > REPLIES_MAX)
		return;
	app->reads_answered++;
	wh_play_enter_view(actor, NULL);
	if (is_beyond(app))
		return;
	read = new_read(app);
	wh_tell(actor, TOLD_READ, app->g, read->linearizable ? 0 : 1, 0, 0);
	result = whorl_read(app->subgroup, read->linearizable ? WHORL_LINEARIZABLE : WHORL_LOCAL, read_ends, read);
	if (!is_beyond(app))
		judge_beginning(read, result);
}

/* ---- when ----------------------------------------------------------------------------------------------------------------- */

static void take_turn(void *ctx, uint64_t argument);

static void schedule(struct app *app)
{
	struct play *play = app->actor->play;

	if (app->reads_left == 0)
		return;
	play->calling++;
	wh_sim_at(play->sim, wh_sim_now(play->sim) + 1 + wh_dice_below(&app->actor->dice, 2 * app->reads_pace_ns),
		  take_turn, app, 0);
}

static void take_turn(void *ctx, uint64_t argument)
{
	struct app *app = ctx;
	struct actor *actor = app->actor;
	struct play *play = actor->play;

	if (wh_sim_now(play->sim) < actor->stalled_until_ns && wh_actor_runs(actor)) {
		wh_sim_at(play->sim, actor->stalled_until_ns, take_turn, app, argument);
		return;
	}
	play->calling--;
	if (is_beyond(app) || !wh_actor_runs(actor) || actor->removed)
		return;
	app->reads_left--;
	app->reads_answered = 0;
	for (uint64_t i = wh_dice_between(&actor->dice, 1, 3); i > 0; i--)
		wh_read_one(app);
	schedule(app);
}

/* What others know by now, that it is left out of a view, it may be the last to know. */
static void take_hurried_turn(void *ctx, uint64_t argument)
{
	struct app *app = ctx;
	struct actor *actor = app->actor;
	struct play *play = actor->play;

	if (wh_sim_now(play->sim) < actor->stalled_until_ns && wh_actor_runs(actor)) {
		wh_sim_at(play->sim, actor->stalled_until_ns, take_hurried_turn, app, argument);
		return;
	}
	app->reads_answered = 0;
	if (!is_beyond(app) && wh_actor_runs(actor) && !actor->removed)
		wh_read_one(app);
	app->hurries = !is_beyond(app) && wh_actor_runs(actor) && !actor->removed && play->links_harmed[actor->id] > 0;
	if (app->hurries)
		wh_sim_at(play->sim,
			  wh_sim_now(play->sim) + 1 + wh_dice_below(&actor->dice, wh_play_timeout_ns(play) / HURRY_PART),
			  take_hurried_turn, app, 0);
	else
		play->calling--;
}

void wh_reads_hurry(struct actor *actor)
{
	for (uint32_t g = 0; g < actor->play->subgroup_count; g++) {
		struct app *app = &actor->apps[g];

		if (!app->may_hurry || app->hurries)
			continue;
		app->hurries = true;
		actor->play->calling++;
		wh_sim_at(actor->play->sim, wh_sim_now(actor->play->sim), take_hurried_turn, app, 0);
	}
}

/* Over the time in which things go wrong, as messages are, or all at once. */
void wh_reads_of_app(struct app *app)
{
	struct wh_dice *dice = &app->actor->dice;
	uint64_t span_ns = 6 * wh_play_timeout_ns(app->actor->play);

	app->may_hurry = wh_dice_one_in(dice, 2);
	app->reads_left = wh_dice_below(dice, READS_MAX + 1);
	app->reads_pace_ns = wh_dice_one_in(dice, 4) ? 10 * WH_NS_PER_US : span_ns / (app->reads_left + 1) + 1;
	schedule(app);
}

/* ---- what is due ---------------------------------------------------------------------------------------------------------- */

bool wh_reads_lack(const struct app *app, char *what, size_t bytes)
{
	for (const struct read *read = app->reads; read != NULL; read = read->next) {
		if (read->settled)
			continue;
		snprintf(what, bytes, "%s, g%u: a %s read has not ended", app->actor->name, app->g,
			 read->linearizable ? "linearizable" : "local");
		return true;
	}
	return false;
}

void wh_reads_free(struct app *app)
{
	while (app->reads != NULL) {
		struct read *read = app->reads;

		app->reads = read->next;
		free(read);
	}
}
