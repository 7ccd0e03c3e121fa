/* states.c - the states of the applications of a run, and how they come to newcomers. See play_int.h.
 *
 * A state is all that has been delivered, as a digest, and how far that is: in which view, how many messages of it there, and of
 * each sender the first message that is not in it. Then comes padding, so that some are larger than a piece of a stream. It says
 * what its giver was at that place; the history says whether that is what the messages up to there make. A newcomer goes on from
 * what it has restored: the first message that is missing there, or comes again, is found when the next is delivered.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/payload.h"
#include "sim/play_int.h"

#define MAGIC UINT64_C(0x6c726f6877746174)
#define TAKEN_MAX (UINT64_C(4) << 20)
#define HASTE 6 /* before one piece in so many other things happen */

struct image {                 /* of a state, as bytes; padding follows */
	uint64_t magic, bytes; /* all of it */
	uint64_t life, g, view;
	uint64_t deliveries; /* in that view */
	uint64_t state, lives;
	uint64_t next[];
};

struct snapshot {
	struct app *app;
	size_t bytes, read;
	unsigned char data[];
};

/* ---- giving ---------------------------------------------------------------------------------------------------------------- */

static void fill_image(const struct app *app, struct image *image, size_t bytes)
{
	const struct play *play = app->actor->play;
	size_t head = sizeof(*image) + play->lives_max * sizeof(image->next[0]);
	struct wh_payload_id id = {
		.subgroup = app->g, .sender = app->actor->life, .index = app->state, .bytes = bytes - head};

	*image = (struct image){.magic = MAGIC,
				.bytes = bytes,
				.life = app->actor->life,
				.g = app->g,
				.view = app->actor->view->number,
				.deliveries = app->member != NULL ? app->member->deliveries : 0,
				.state = app->state,
				.lives = play->lives_max};
	memcpy(image->next, app->next, play->lives_max * sizeof(image->next[0]));
	wh_payload_fill((unsigned char *)image + head, &id);
}

/* All that was upcalled here is in it, and what will be is not: that is held against later upcalls, here and at the newcomer. */
static bool check_position(struct app *app, const struct whorl_position *position)
{
	const struct play *play = app->actor->play;
	struct shard_member *member = wh_app_member_in(app, position->view);

	if (position->view < app->member->shard->view->number)
		return false;
	for (uint32_t i = 0; i < position->sender_count; i++) {
		const struct whorl_position_of *of = WHORL_AT(whorl_position_of, position->senders, i);

		for (uint32_t life = 0; of->incarnation != 0 && life < play->lives; life++)
			if (play->actors[life].incarnation == of->incarnation &&
			    (play->actors[life].id != of->id ||
			     wh_app_number(app, position->view, life, of->next) < app->next[life]))
				return false;
	}
	if (member == NULL || !member->shard->ordered)
		return true;
	if (position->sequence < member->next_sequence)
		return false;
	member->next_sequence = position->sequence;
	return true;
}

static void *take_snapshot(const struct whorl_position *position, void *ctx)
{
	struct app *app = ctx;
	struct actor *actor = app->actor;
	struct play *play = actor->play;
	size_t bytes = sizeof(struct image) + play->lives_max * sizeof(uint64_t) +
		       wh_dice_below(&actor->dice, play->plan->state_bytes);
	struct snapshot *snapshot;

	if (wh_play_failed(play) || play->extinct || actor->crashed || actor->removed)
		return NULL; /* of another group nothing is known */
	wh_faults_moment(actor, WH_MOMENT_GIVE);
	if (actor->crashed)
		return NULL;
	if (app->awaits || app->member == NULL) {
		wh_play_fail(play, "state: %s, g%u: is asked for a state, and has none", actor->name, app->g);
		return NULL;
	}
	if (!check_position(app, position)) {
		wh_play_fail(play,
			     "state: %s, g%u: the position of a snapshot, %" PRIu64 " of view %" PRIu64
			     ", is not where it stands",
			     actor->name, app->g, position->sequence, position->view);
		return NULL;
	}
	wh_tell(actor, TOLD_GIVE, app->g, app->state, actor->view->number, app->member->deliveries);
	if (!wh_history_gave(play->history, actor->life, app->g, app->state))
		wh_play_fail(play, "%s", wh_history_broken(play->history));
	snapshot = wh_plan_alloc(1, sizeof(*snapshot) + bytes);
	snapshot->app = app;
	snapshot->bytes = bytes;
	fill_image(app, (struct image *)(void *)snapshot->data, bytes);
	play->useful_step = play->steps;
	return snapshot;
}

/* Off the loop: other things happen meanwhile. */
static void take_time(struct app *app)
{
	struct play *play = app->actor->play;

	if (play->depth > 0 || play->closing || !wh_dice_one_in(&app->actor->dice, HASTE))
		return;
	play->depth++;
	for (uint64_t events = wh_dice_below(&app->actor->dice, 40); events > 0; events--)
		if (!wh_play_step(play, wh_sim_now(play->sim) + play->linger_ns))
			break;
	play->depth--;
}

static ptrdiff_t read_snapshot(void *snapshot_, void *bytes, size_t count, void *ctx)
{
	struct snapshot *snapshot = snapshot_;
	struct app *app = snapshot->app;
	size_t rest = snapshot->bytes - snapshot->read;

	(void)ctx;
	take_time(app);
	if (app->actor->crashed || wh_play_failed(app->actor->play))
		return -1;
	if (rest == 0)
		return 0;
	if (rest > count)
		rest = count;
	rest = wh_dice_between(&app->actor->dice, 1, rest);
	memcpy(bytes, snapshot->data + snapshot->read, rest);
	snapshot->read += rest;
	app->actor->play->useful_step = app->actor->play->steps;
	return (ptrdiff_t)rest;
}

static void release_snapshot(void *snapshot, void *ctx)
{
	(void)ctx;
	free(snapshot);
}

/* ---- restoring ------------------------------------------------------------------------------------------------------------- */

static void append_bytes(struct app *app, const void *bytes, size_t count)
{
	if (app->coming_bytes + count > app->coming_room) {
		app->coming_room = 2 * (app->coming_bytes + count);
		app->coming = realloc(app->coming, app->coming_room);
		if (app->coming == NULL)
			abort();
	}
	memcpy(app->coming + app->coming_bytes, bytes, count);
	app->coming_bytes += count;
}

/* Is that what some member gave? */
static bool check_image(const struct app *app, const struct image *image)
{
	const struct play *play = app->actor->play;
	size_t head = sizeof(*image) + play->lives_max * sizeof(image->next[0]);
	struct wh_payload_id id;

	if (app->coming_bytes < head || image->magic != MAGIC || image->bytes != app->coming_bytes ||
	    image->lives != play->lives_max || image->g != app->g || image->life >= play->lives)
		return false;
	id = (struct wh_payload_id){.subgroup = app->g,
				    .sender = (uint32_t)image->life,
				    .index = image->state,
				    .bytes = app->coming_bytes - head};
	return wh_payload_check((const unsigned char *)image + head, &id) == id.bytes;
}

/* The newcomer is where its giver was, whether that is in its own view or not. */
static void take_over_image(struct app *app, const struct image *image)
{
	struct shard_member *member = wh_app_member_in(app, image->view);

	app->state = image->state;
	memcpy(app->next, image->next, image->lives * sizeof(image->next[0]));
	if (app->own < app->next[app->actor->life])
		app->own = app->next[app->actor->life]; /* in the state */
	app->given = app->next[app->actor->life];
	app->awaits = false;
	app->behind = true;
	if (app->since < image->view)
		app->since = image->view;
	wh_calls_stand_at(app, (struct place){image->view, image->deliveries});
	if (member == NULL)
		return;
	member->deliveries = image->deliveries;
	if (image->deliveries > 0 && member->shard->ordered)
		member->next_sequence = member->shard->order[image->deliveries - 1].sequence + 1;
}

/* It has been in another shard, and in this one no node was. */
static void begin_empty(struct app *app)
{
	struct play *play = app->actor->play;

	if (app->coming_bytes > 0)
		wh_play_fail(play, "state: %s, g%u: restores %zu bytes, and its shard begins with nothing",
			     app->actor->name, app->g, app->coming_bytes);
	else if (!wh_history_restored(play->history, app->actor->life, app->g, 0))
		wh_play_fail(play, "%s", wh_history_broken(play->history));
	app->state = 0;
	memset(app->next, 0, play->lives_max * sizeof(app->next[0]));
	app->awaits = app->empties = false;
	app->behind = true;
	wh_calls_stand_at(app, (struct place){app->since, 0});
}

/* Its own disk has it: messages of any view follow. */
static void take_over_log(struct app *app, const struct image *image, uint32_t shard)
{
	if (app->replays || !check_image(app, image)) {
		wh_play_fail(app->actor->play,
			     "restart: %s, g%u: what its disk has, %zu bytes, is not what anybody gave%s",
			     app->actor->name, app->g, app->coming_bytes, app->replays ? ", or comes late" : "");
		return;
	}
	if (!wh_app_replays(app, shard, image->state))
		return;
	app->state = image->state;
	memcpy(app->next, image->next, image->lives * sizeof(image->next[0]));
}

static void finish_restore(struct app *app)
{
	struct actor *actor = app->actor;
	struct play *play = actor->play;
	const struct image *image = (const struct image *)(void *)app->coming;
	uint32_t shard;

	if (app->coming_bytes >= sizeof(*image))
		wh_tell(actor, TOLD_RESTORE, app->g, image->state, image->view, image->deliveries);
	else
		wh_tell(actor, TOLD_RESTORE, app->g, 0, actor->view->number, 0);
	if (app->actor->view == NULL && wh_inspect_replays(actor->node, app->g, &shard))
		take_over_log(app, image, shard);
	else if (app->member == NULL || app->stay != app->coming_stay)
		; /* it ran beside the loop, and a view has come meanwhile in which the node is in no shard, or another: of no use */
	else if (!app->awaits)
		wh_play_fail(play, "state: %s, g%u: restores a state, and needs none", actor->name, app->g);
	else if (app->empties)
		begin_empty(app);
	else if (!check_image(app, image))
		wh_play_fail(play, "state: %s, g%u: what it restores, %zu bytes, is not what anybody gave", actor->name,
			     app->g, app->coming_bytes);
	else if (!wh_history_restored(play->history, actor->life, app->g, image->state))
		wh_play_fail(play, "%s", wh_history_broken(play->history));
	else
		take_over_image(app, image);
	play->useful_step = play->steps;
}

static bool restore_part(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	struct app *app = ctx;
	struct actor *actor = app->actor;

	if (step == WHORL_RESTORE_BEGIN)
		app->coming_stay = app->stay;
	if (step == WHORL_RESTORE_BEGIN && !actor->crashed)
		wh_faults_moment(actor, WH_MOMENT_RESTORE);
	take_time(app);
	if (actor->crashed || actor->removed || wh_play_failed(actor->play) || actor->play->extinct)
		return false;
	if (step == WHORL_RESTORE_BEGIN)
		app->coming_bytes = 0;
	else if (step == WHORL_RESTORE_BYTES)
		append_bytes(app, bytes, count);
	else
		finish_restore(app);
	return !wh_play_failed(actor->play);
}

/* ---- places ---------------------------------------------------------------------------------------------------------------- */

void wh_state_of_app(struct app *app)
{
	const struct whorl_state functions = {.size = sizeof(functions),
					      .snapshot = take_snapshot,
					      .read = read_snapshot,
					      .release = release_snapshot,
					      .restore = restore_part,
					      .ctx = app};
	enum whorl_result result = whorl_on_state(app->subgroup, &functions);

	if (result != WHORL_OK)
		wh_play_fail(app->actor->play, "open: %s, g%u: whorl_on_state says %s", app->actor->name, app->g,
			     whorl_result_text(result));
}

/* A stay has functions of its own, which know what it is in when a view has begun. */
static struct app *app_of_stay(const struct stay *stay)
{
	if (stay->actor->crashed)
		return NULL;
	wh_play_enter_view(stay->actor, NULL);
	if (stay->app == NULL && !stay->over && !stay->actor->play->extinct)
		wh_play_fail(stay->actor->play, "state: %s, d%u: there is to do with a state, in no view",
			     stay->actor->name, stay->name);
	return stay->over ? NULL : stay->app;
}

static void *take_of_stay(const struct whorl_position *position, void *ctx)
{
	struct app *app = app_of_stay(ctx);

	return app != NULL ? take_snapshot(position, app) : NULL;
}

static bool restore_of_stay(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	struct app *app = app_of_stay(ctx);

	return app != NULL && restore_part(step, bytes, count, app);
}

struct whorl_state wh_state_of_stay(struct stay *stay)
{
	return (struct whorl_state){.size = sizeof(struct whorl_state),
				    .snapshot = take_of_stay,
				    .read = read_snapshot,
				    .release = release_snapshot,
				    .restore = restore_of_stay,
				    .ctx = stay};
}

/* The lowest rank that was in the shard before is to give it. */
static const struct app *giver_of(const struct app *app)
{
	for (uint32_t i = 0; app->member != NULL && i < app->member->shard->member_count; i++) {
		const struct shard_member *other = &app->member->shard->members[i];

		if (!other->fresh)
			return other->app->awaits ? NULL : other->app;
	}
	return NULL;
}

void wh_app_begin(struct app *app, bool needs_state)
{
	if (app->awaits || app->behind) /* of the shard before: what was kept back of it is never upcalled */
		app->own = app->dropped = app->stream->claimed;
	app->empties = !needs_state && app->stay > 0;
	/* Unordered, without a state: what is sent again there, as others lack it, it may have had when it was there before. */
	if (!app->actor->play->subgroups[app->g].plan->ordered && !app->actor->play->subgroups[app->g].stateful)
		memset(app->next, 0, app->actor->play->lives_max * sizeof(app->next[0]));
	app->needs = needs_state;
	app->awaits = (needs_state || app->empties) && app->actor->play->subgroups[app->g].stateful;
	app->giver = app->awaits && needs_state ? giver_of(app) : NULL;
	app->stay++;
	app->since = app->actor->view->number;
	app->behind = false;
	wh_calls_stand_at(app, (struct place){app->since, 0});
}

bool wh_app_replays(struct app *app, uint32_t shard, uint64_t digest)
{
	struct play *play = app->actor->play;

	app->replays = true;
	if (!wh_history_replays(play->history, app->actor->life, app->g, shard, digest))
		wh_play_fail(play, "%s", wh_history_broken(play->history));
	return !wh_play_failed(play);
}

bool wh_app_reads_log(const struct app *app, uint64_t view)
{
	uint32_t shard;

	if (app->actor->view == NULL)
		return wh_inspect_replays(app->actor->node, app->g, &shard);
	return app->behind && wh_app_is_log(app) && view < app->since;
}

bool wh_app_takes_log(struct app *app)
{
	struct play *play = app->actor->play;

	app->coming_bytes = 0;
	if (app->empties) {
		begin_empty(app);
		return !wh_play_failed(play);
	}
	app->state = 0;
	memset(app->next, 0, play->lives_max * sizeof(app->next[0]));
	app->awaits = false;
	app->behind = true;
	wh_calls_stand_at(app, (struct place){app->since, 0});
	if (!wh_history_takes_log(play->history, app->actor->life, app->g))
		wh_play_fail(play, "%s", wh_history_broken(play->history));
	return !wh_play_failed(play);
}

/* What it was upcalled is all that there was. */
void wh_app_returns(struct app *app)
{
	struct play *play = app->actor->play;

	app->stay++;
	app->since = app->actor->view->number;
	wh_tell(app->actor, TOLD_CAUGHT_UP, app->g, app->state, app->since, 0);
	if (!wh_history_caught_up(play->history, app->actor->life, app->g))
		wh_play_fail(play, "%s", wh_history_broken(play->history));
	wh_calls_stand_at(app, (struct place){app->since, 0});
}

/* In unordered mode members may deliver in different orders. */
void wh_app_add(struct app *app, uint64_t payload)
{
	if (app->actor->play->subgroups[app->g].plan->ordered)
		app->state = wh_mix(app->state ^ payload) + 1;
	else
		app->state += wh_mix(payload);
}

void wh_app_lags(struct app *app)
{
	struct play *play = app->actor->play;

	if (app->behind || app->awaits || app->member == NULL || app->actor->node == NULL)
		return;
	app->behind = true;
	if (!wh_history_lags(play->history, app->actor->life, app->g))
		wh_play_fail(play, "%s", wh_history_broken(play->history));
}

void wh_app_look_for_log(struct app *app)
{
	struct actor *actor = app->actor;
	struct play *play = actor->play;

	if (app->awaits && wh_app_is_log(app) && app->member != NULL && !actor->removed && !wh_play_failed(play) &&
	    !wh_inspect_restores(actor->node, app->g, play->subgroups[app->g].birth))
		(void)wh_app_takes_log(app);
}

/* A log that is a state may be long, and come a little in each pass. One that is given again and again comes to no end: that is none. */
static void note_taken(struct app *app)
{
	struct play *play = app->actor->play;
	uint64_t taken = wh_inspect_taken(app->actor->node, app->g, play->subgroups[app->g].birth);

	if (taken == app->log_taken || taken > TAKEN_MAX)
		return;
	app->log_taken = taken;
	play->useful_step = play->steps;
}

void wh_app_look(struct app *app)
{
	struct actor *actor = app->actor;
	struct play *play = actor->play;

	if (app->awaits && wh_app_is_log(app))
		note_taken(app);
	wh_app_look_for_log(app);
	if (!app->behind || app->awaits || app->member == NULL || actor->removed || wh_play_failed(play) ||
	    wh_inspect_keeps(actor->node, app->g, play->subgroups[app->g].birth) ||
	    wh_inspect_refused(actor->node, app->g, play->subgroups[app->g].birth))
		return;
	app->behind = false;
	wh_tell(actor, TOLD_CAUGHT_UP, app->g, app->state, actor->view->number, app->member->deliveries);
	if (!wh_history_caught_up(play->history, actor->life, app->g))
		wh_play_fail(play, "%s", wh_history_broken(play->history));
}
