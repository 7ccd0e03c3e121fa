/* wishes.c - dynamic subgroups in a run: which nodes enter and leave them, and what they are told of it. See play_int.h.
 *
 *     stays       what the library says of a stay is so: it is in when a view with it has begun, out when one without it has, and refused
 *                 when somebody has wished otherwise (the history knows)
 *     answers     whorl_subgroup_enter, leave and release say what they must
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/play_int.h"

#define TRIES_MAX 200 /* to enter what it is leaving: milliseconds */

/* ---- what is wished ------------------------------------------------------------------------------------------------------ */

static const struct wh_plan_name *name_of(const struct stay *stay)
{
	return &stay->actor->play->plan->names[stay->name];
}

/* Those of the plan; or one of them is another. */
static struct wh_parameters parameters_of(const struct stay *stay)
{
	const struct wh_plan_name *name = name_of(stay);
	struct wh_parameters is = {.ordered = name->subgroup.ordered,
				   .state = name->state,
				   .window = (uint32_t)name->options.window,
				   .message_bytes = (uint32_t)name->options.message_bytes,
				   .large_bytes = (uint64_t)name->options.large_bytes};

	if (!stay->otherwise)
		return is;
	switch ((stay->actor->play->plan->seed + stay->name + stay->actor->life) % 3) {
	case 0:
		is.ordered = !is.ordered;
		break;
	case 1:
		is.window++;
		break;
	default:
		is.message_bytes += 16;
	}
	if (is.large_bytes <= is.message_bytes) /* that is none */
		is.large_bytes = 0;
	return is;
}

static uint64_t digest_of(const struct wh_parameters *is)
{
	uint64_t digest = wh_mix(is->window) ^ (uint64_t)(is->ordered ? 1 : 0) << 1 ^ (is->state ? 1 : 0);

	return wh_mix(wh_mix(digest ^ is->message_bytes) ^ is->large_bytes);
}

static void fill_options(struct stay *stay, struct whorl_subgroup_options *options, struct whorl_state *state)
{
	struct wh_parameters is = parameters_of(stay);

	*options = (struct whorl_subgroup_options){.size = sizeof(*options),
						   .mode = is.ordered ? WHORL_ORDERED : WHORL_UNORDERED,
						   .window = is.window,
						   .message_bytes = is.message_bytes,
						   .large_bytes = is.large_bytes,
						   .listens = stay->listens};
	wh_actor_take_upcalls(stay, options);
	*state = wh_state_of_stay(stay);
	if (is.state)
		options->state = state;
}

/* ---- wishes --------------------------------------------------------------------------------------------------------------- */

static bool is_broken(struct play *play)
{
	if (wh_history_broken(play->history) != NULL)
		wh_play_fail(play, "%s", wh_history_broken(play->history));
	return wh_play_failed(play);
}

/* The newest stay of that name; NULL: there was none. */
static struct stay *find_stay(const struct actor *actor, uint32_t name)
{
	struct stay *stay = actor->stays;

	while (stay != NULL && stay->name != name)
		stay = stay->next;
	return stay;
}

static void fail_answer(struct actor *actor, const char *call, uint32_t name, enum whorl_result result)
{
	wh_play_fail(actor->play, "answers: %s, d%u: whorl_subgroup_%s says %s", actor->name, name, call,
		     whorl_result_text(result));
}

/* What the node says of itself for good, it may say of anything. */
static bool is_of_node(const struct actor *actor, enum whorl_result result)
{
	return result != WHORL_OK && result == whorl_error(actor->node, NULL, 0);
}

/* False: not now, as it is leaving what has that name. */
static bool note_entered(struct stay *stay, enum whorl_result result)
{
	struct actor *actor = stay->actor;
	struct play *play = actor->play;
	struct stay *before = find_stay(actor, stay->name);
	struct wh_parameters is = parameters_of(stay);
	bool there, differs;

	if (before != NULL && !before->over && before->handle != NULL && wh_inspect_was_refused(before->handle)) {
		before->over = true; /* its node hears too few members, and says only that */
		wh_history_wish_refused(play->history, actor->life, stay->name);
	}
	there = before != NULL && !before->over;
	differs = stay->otherwise && name_of(stay)->listed; /* from the node's own file */
	if (result != WHORL_TIMEOUT || stay->handle == NULL || (there && !before->leaves) || differs) {
		/* It has left when no function of its program runs any more, which may be later than the view. */
		bool expected =
			differs ? result == WHORL_INVALID
				: before != NULL && (result == WHORL_INVALID ? there && !before->leaves
									     : result == WHORL_AGAIN && before->leaves);

		if ((!expected && !is_of_node(actor, result)) || stay->handle != NULL)
			fail_answer(actor, "enter", stay->name, result);
		free(stay);
		return result != WHORL_AGAIN;
	}
	if (there) { /* it was out by now: the handle that said so was released */
		before->over = true;
		wh_history_stay_over(play->history, actor->life, stay->name);
	}
	stay->next = actor->stays;
	actor->stays = stay;
	wh_tell(actor, TOLD_WISH, stay->name, WH_FAULT_ENTER, stay->otherwise, 0);
	wh_history_wish(play->history, actor->life, stay->name, digest_of(&is), !stay->listens);
	return true;
}

static bool enter_name(struct actor *actor, const struct wh_fault *fault)
{
	struct stay *stay = wh_plan_alloc(1, sizeof(*stay));
	struct whorl_subgroup_options options;
	struct whorl_state state;
	enum whorl_result result;

	*stay = (struct stay){.actor = actor,
			      .name = fault->name,
			      .otherwise = fault->otherwise,
			      .listens = wh_dice_one_in(&actor->dice, 5),
			      .refuses = actor->play->plan->refusals && wh_dice_one_in(&actor->dice, 2)};
	fill_options(stay, &options, &state);
	result = whorl_subgroup_enter(actor->node, name_of(stay)->name, &options, 0, &stay->handle);
	return note_entered(stay, result);
}

static void leave_name(struct actor *actor, struct stay *stay)
{
	enum whorl_result result;

	if (stay == NULL || stay->handle == NULL)
		return;
	if (!stay->over)
		wh_history_unwish(actor->play->history, actor->life, stay->name);
	stay->leaves = true;
	wh_tell(actor, TOLD_WISH, stay->name, WH_FAULT_EXIT, 0, 0);
	result = whorl_subgroup_leave(stay->handle, 0);
	if (result != WHORL_OK && result != WHORL_TIMEOUT && !is_of_node(actor, result))
		fail_answer(actor, "leave", stay->name, result);
}

/* Its program makes no call with the handle any more, but to finish claims. */
static void release_name(struct actor *actor, struct stay *stay)
{
	enum whorl_result result;

	if (stay == NULL || stay->handle == NULL)
		return;
	if (!stay->over)
		wh_history_unwish(actor->play->history, actor->life, stay->name);
	if (stay->app != NULL && stay->app->asks && !stay->over)
		(void)whorl_offer_again(stay->handle);
	stay->leaves = stay->released = true;
	wh_tell(actor, TOLD_WISH, stay->name, WH_FAULT_RELEASE, 0, 0);
	if (stay->app != NULL && stay->app->subgroup == stay->handle) {
		stay->app->subgroup = NULL;
		stay->app->stream->stopped = true;
	}
	result = whorl_subgroup_release(stay->handle);
	stay->handle = NULL;
	if (result != WHORL_OK)
		fail_answer(actor, "release", stay->name, result);
}

bool wh_wish_carry_out(struct actor *actor, const struct wh_fault *fault, uint64_t i)
{
	struct play *play = actor->play;
	bool done = true;

	if (!wh_actor_runs(actor) || actor->node == NULL || actor->leaving || fault->name >= play->plan->name_count) {
		if (fault->kind == WH_FAULT_ENTER)
			play->awaiting |= UINT64_C(1) << i;
		return true;
	}
	if (actor->removed)
		return true;
	if (fault->kind == WH_FAULT_ENTER)
		done = enter_name(actor, fault) || ++play->tries[i] > TRIES_MAX;
	else if (fault->kind == WH_FAULT_EXIT)
		leave_name(actor, find_stay(actor, fault->name));
	else
		release_name(actor, find_stay(actor, fault->name));
	is_broken(play);
	return done;
}

void wh_wishes_opened(struct actor *actor)
{
	struct play *play = actor->play;

	for (uint64_t i = 0; play->schedule != NULL && i < play->schedule->count; i++) {
		const struct wh_fault *fault = &play->schedule->faults[i];
		bool early = fault->moment == WH_MOMENT_TIME && fault->at == 0 && (play->happened >> i & 1) == 0;

		if (fault->kind != WH_FAULT_ENTER || fault->node != actor->id ||
		    fault->name >= play->plan->name_count || (!early && (play->awaiting >> i & 1) == 0))
			continue;
		play->awaiting &= ~(UINT64_C(1) << i);
		play->happened |= UINT64_C(1) << i;
		(void)enter_name(actor, fault);
		is_broken(play);
	}
}

/* ---- in a view ------------------------------------------------------------------------------------------------------------ */

uint32_t wh_play_subgroup_of(const struct play *play, const struct wh_view_subgroup *layout)
{
	if (layout->configured != WH_NOT_CONFIGURED)
		return layout->configured;
	for (uint32_t g = 0; g < play->subgroup_count; g++)
		if (play->subgroups[g].birth == layout->birth)
			return g;
	return UINT32_MAX;
}

static uint32_t find_name(const struct play *play, const char *name)
{
	for (uint32_t i = 0; i < play->plan->name_count; i++)
		if (strcmp(play->plan->names[i].name, name) == 0)
			return i;
	return UINT32_MAX;
}

static void fill_born(struct play_subgroup *born, const struct wh_plan_name *name,
		      const struct wh_view_subgroup *layout)
{
	const struct wh_parameters *is = &layout->parameters;

	born->birth = layout->birth;
	born->stateful = is->state;
	born->own_plan = name->subgroup;
	born->own_plan.ordered = is->ordered;
	born->own_options = name->options;
	born->own_options.mode = is->ordered;
	born->own_options.window = is->window;
	born->own_options.message_bytes = is->message_bytes;
	born->own_options.large_bytes = (int64_t)is->large_bytes;
	born->plan = &born->own_plan;
	born->options = &born->own_options;
}

uint32_t wh_play_bear(struct play *play, const struct wh_view_subgroup *layout)
{
	uint32_t g = wh_play_subgroup_of(play, layout), name = find_name(play, layout->name);

	if (g != UINT32_MAX)
		return g;
	g = play->subgroup_count;
	if (name == UINT32_MAX || g == play->subgroups_max || layout->birth <= UINT16_MAX) {
		wh_play_fail(play, "births: %s, of birth %" PRIx64 ", is what no node has wished", layout->name,
			     layout->birth);
		return UINT32_MAX;
	}
	fill_born(&play->subgroups[g], &play->plan->names[name], layout);
	play->subgroups[g].name = name;
	play->subgroup_count++;
	for (uint32_t i = 0; i < play->lives; i++)
		wh_app_init(&play->actors[i].apps[g], &play->actors[i], g);
	if (wh_history_bear(play->history,
			    &(struct wh_history_subgroup){.name = layout->name,
							  .ordered = layout->parameters.ordered,
							  .shards = 1,
							  .stateful = layout->parameters.state,
							  .title = name,
							  .born = wh_birth_view(layout->birth),
							  .seat = wh_birth_seat(layout->birth),
							  .parameters = digest_of(&layout->parameters)}) != g)
		is_broken(play);
	return g;
}

static uint64_t ids_of(const struct wh_view *view, const uint32_t *ranks, uint32_t count)
{
	uint64_t ids = 0;

	for (uint32_t i = 0; i < count; i++)
		ids |= UINT64_C(1) << view->ids[ranks[i]];
	return ids;
}

void wh_play_tell_dynamic(const struct play *play, const struct wh_view *view, struct wh_history_dynamic *out)
{
	for (uint32_t i = 0; i < view->dynamic_count; i++) {
		const struct wh_view_subgroup *layout = &wh_view_dynamic(view)[i];

		out[i] = (struct wh_history_dynamic){.subgroup = wh_play_subgroup_of(play, layout),
						     .members = ids_of(view, layout->members, layout->member_count),
						     .senders = ids_of(view, layout->senders, layout->sender_count),
						     .entered = ids_of(view, layout->entered, layout->entered_count),
						     .parameters = digest_of(&layout->parameters)};
	}
}

/* The newest stay is in it from here on; which the history has found to be wished. */
void wh_wish_begins(struct app *app)
{
	struct play *play = app->actor->play;
	struct stay *stay = find_stay(app->actor, play->subgroups[app->g].name);

	if (stay == NULL || stay->over || stay->app != NULL)
		return;
	stay->app = app;
	app->is_out = false;
	app->subgroup = stay->handle;
	app->refuses = stay->refuses;
	app->armed = 0;
	wh_stream_begin_stay(app->stream);
	app->stream->stopped = stay->released || app->actor->leaving;
	if (stay->handle != NULL)
		wh_stream_schedule(app->stream);
}

static const struct stay *stay_in(const struct app *app)
{
	const struct stay *stay = app->actor->stays;

	while (stay != NULL && (stay->app != app || stay->over))
		stay = stay->next;
	return stay;
}

bool wh_app_leaves(const struct app *app)
{
	const struct stay *stay = stay_in(app);

	return stay != NULL && stay->leaves;
}

bool wh_app_has_lost(const struct app *app)
{
	const struct stay *stay = stay_in(app);

	return stay != NULL && stay->lost != WHORL_OK;
}

void wh_wishes_enter_view(struct actor *actor)
{
	for (struct stay *stay = actor->stays; stay != NULL; stay = stay->next) {
		if (stay->app == NULL || stay->over || stay->app->member != NULL)
			continue;
		stay->over = true;
		stay->app->is_out = true;
		stay->app->subgroup = NULL;
		stay->app->stream->stopped = true;
		if (stay->app->stream->open_count > 0)
			wh_play_fail(actor->play, "stays: %s is out of d%u, with claim %" PRIu64 " open", actor->name,
				     stay->name, stay->app->stream->open[0]);
	}
}

/* ---- what it is told ------------------------------------------------------------------------------------------------------- */

static void check_entering(struct stay *stay, enum whorl_result result, const char *text)
{
	struct actor *actor = stay->actor;
	struct play *play = actor->play;

	if (result == WHORL_AGAIN || (result == WHORL_CLOSED && stay->leaves && !wh_inspect_has_left(stay->handle)))
		return;
	stay->over = true;
	if (result == WHORL_CLOSED) {
		wh_history_stay_over(play->history, actor->life, stay->name);
	} else if (result == WHORL_REFUSED) {
		wh_history_wish_refused(play->history, actor->life, stay->name);
		if (strstr(text, name_of(stay)->name) == NULL)
			wh_play_fail(play, "answers: %s, d%u: is refused, \"%s\"", actor->name, stay->name, text);
	} else {
		wh_play_fail(play, "stays: %s is in no view with d%u, and is told %s", actor->name, stay->name,
			     whorl_result_text(result));
	}
}

/* It cannot be given the state: no member has it, or it would have to keep back too much. So it leaves. */
static void note_lost(struct stay *stay, enum whorl_result result)
{
	const struct play *play = stay->actor->play;
	bool lost = result == WHORL_SHARD_LOST && wh_app_is_orphan(stay->app);
	bool full = result == WHORL_MEMORY && play->plan->config.group.backlog_max < INT64_C(1) << 20;

	if (!lost && !(full && stay->app->awaits))
		return;
	stay->lost = result;
	stay->leaves = true;
	wh_history_unwish(play->history, stay->actor->life, stay->name);
}

void wh_wishes_look_at_states(struct actor *actor)
{
	for (struct stay *stay = actor->stays; stay != NULL; stay = stay->next)
		if (stay->handle != NULL && stay->app != NULL && !stay->over && stay->lost == WHORL_OK)
			note_lost(stay, whorl_subgroup_error(stay->handle, NULL, 0));
}

static void check_stay(struct stay *stay)
{
	struct actor *actor = stay->actor;
	char text[256] = "";
	enum whorl_result result = whorl_subgroup_error(stay->handle, text, sizeof(text));

	if (is_of_node(actor, result))
		return;
	if (stay->app != NULL && !stay->over && stay->lost == WHORL_OK)
		note_lost(stay, result);
	if (stay->lost != WHORL_OK && result == stay->lost)
		return;
	if (stay->app == NULL && !stay->over)
		check_entering(stay, result, text);
	else if (stay->over ? result != WHORL_CLOSED && result != WHORL_REFUSED
			    : result != WHORL_OK && (result != WHORL_CLOSED || !stay->leaves))
		wh_play_fail(actor->play, "stays: %s is %s d%u, and is told %s", actor->name,
			     stay->over ? "out of" : "in", stay->name, whorl_result_text(result));
}

void wh_check_stays(struct actor *actor)
{
	for (struct stay *stay = actor->stays; stay != NULL && !wh_play_failed(actor->play); stay = stay->next)
		if (stay->handle != NULL && actor->node != NULL)
			check_stay(stay);
	is_broken(actor->play);
}

/* What it has committed may wait for messages of others that never come: without nulls. */
static bool waits_for_others(const struct stay *stay)
{
	const struct shard_member *member = stay->app != NULL && !stay->over ? stay->app->member : NULL;

	if (member == NULL || member->me < 0 || wh_liveness_must_progress(stay->actor->play, member->shard))
		return false;
	return member->taken[member->me].done < wh_stream_finished(stay->app->stream);
}

bool wh_wishes_lack(const struct actor *actor, char *what, size_t bytes)
{
	for (const struct stay *stay = actor->stays; stay != NULL; stay = stay->next) {
		bool left = stay->handle == NULL || !stay->leaves || wh_inspect_has_left(stay->handle);

		if (stay->over ? left : stay->leaves != (stay->app != NULL) || waits_for_others(stay))
			continue;
		snprintf(what, bytes, "%s has not %s d%u", actor->name, stay->leaves ? "left" : "come into",
			 stay->name);
		return true;
	}
	return false;
}

/* ---- the end --------------------------------------------------------------------------------------------------------------- */

void wh_wishes_closed(struct actor *actor)
{
	for (struct stay *stay = actor->stays; stay != NULL; stay = stay->next) {
		stay->handle = NULL;
		stay->over = true;
	}
}

void wh_wishes_free(struct actor *actor)
{
	while (actor->stays != NULL) {
		struct stay *stay = actor->stays;

		actor->stays = stay->next;
		free(stay);
	}
}
