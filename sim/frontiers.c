/* frontiers.c - what a sender is told of its messages: up to which all have received them, and up to which all have delivered them.
 *
 *     frontier    what is past is past at every living member of the sender's view, in whichever view that one is still: it counts it as
 *                 received, or its upcall has returned. Neither frontier falls or goes beyond what was claimed
 *     told        an arm is told when its index is past, and not before
 *     late        when nothing happens any more the sender has been told all of it
 *
 * A newcomer that has not begun its first view has nothing to deliver: what was sent before is in its state.
 */
#include <inttypes.h>
#include <unistd.h>

#include "sim/check_int.h"

static const enum whorl_frontier kinds[] = {WHORL_RECEIVED_BY_ALL, WHORL_DELIVERED_BY_ALL};
static const char *const names[] = {"received", "delivered"};

#define FAIL_APP(app, property, format, ...)                                                                           \
	wh_play_fail((app)->actor->play, property ": %s, g%u: " format, (app)->actor->name, (app)->g, __VA_ARGS__)

/* The place of that stream among the senders of the shard, -1. */
static int place_of(const struct shard *shard, const struct stream *stream)
{
	for (uint32_t s = 0; s < shard->part_count; s++)
		if (shard->parts[s].stream == stream)
			return (int)s;
	return -1;
}

/* Up to which of these messages that member has received, or delivered. Its passes go unseen while it leaves. */
static uint64_t reached_by(const struct shard_member *member, uint32_t s, enum whorl_frontier which)
{
	const struct part *part = &member->shard->parts[s];
	struct wh_inspect_sender sender = wh_check_sender(member, s);
	uint64_t reached = member->actor->leaving ? sender.next : member->taken[s].done;

	if (which == WHORL_RECEIVED_BY_ALL && member->shard->ordered)
		reached = sender.announced;
	return reached > part->first ? reached : part->first;
}

/* Must this life have what the sender's view before has had, or what its own view has had? NULL: no. A life in a later view, or that is
 * in the sender's view and in another shard, has delivered all that is due of the views before. */
static const struct shard_member *bound_by(const struct app *app, const struct actor *other)
{
	const struct view *view = app->actor->view;
	const struct shard_member *member = other->apps[app->g].member;

	if (other == app->actor || other->node == NULL || other->crashed || other->removed || other->view == NULL ||
	    (view->members >> other->life & 1) == 0 || other->view->number > view->number || member == NULL ||
	    !member->shard->active || !member->entered || member->gone)
		return NULL;
	return other->view->number < view->number || (app->member != NULL && member->shard == app->member->shard)
		       ? member
		       : NULL;
}

/* What a node in a view before owes of these: what was delivered there. The rest too, if it is in the sender's shard now, and else not. */
static uint64_t due_from(const struct app *app, const struct shard_member *member, uint64_t past)
{
	const struct shard_member *mine = app->member;
	uint64_t first = mine != NULL && mine->me >= 0 ? mine->shard->parts[mine->me].first : past;

	if (mine != NULL && wh_shard_member(mine->shard, member->actor) != NULL)
		return past;
	return past < first ? past : first;
}

/* A member that is wedged delivers what is below the cut: others that do not go on need not have that. */
static void check_past(const struct app *app, enum whorl_frontier which, uint64_t past)
{
	const struct play *play = app->actor->play;

	if (past <= app->stream->lapsed || (which == WHORL_RECEIVED_BY_ALL && wh_inspect_wedged(app->actor->node)))
		return;
	for (uint32_t i = 0; i < play->lives; i++) {
		const struct shard_member *member = bound_by(app, &play->actors[i]);
		int s = member != NULL ? place_of(member->shard, app->stream) : -1;
		uint64_t reached =
			s >= 0 && member->shard->parts[s].begun ? reached_by(member, (uint32_t)s, which) : UINT64_MAX;

		if (s >= 0 && due_from(app, member, past) > reached)
			FAIL_APP(app, "frontier",
				 "in view %" PRIu64 " it is told that its messages below %" PRIu64
				 " are %s by all; %s, in view %" PRIu64 ", has those below %" PRIu64,
				 app->actor->view->number, past, names[which], member->actor->name,
				 member->shard->view->number, reached);
	}
}

static void check_grows(struct app *app, enum whorl_frontier which, uint64_t past)
{
	if (past < app->past[which] || past > app->stream->claimed)
		FAIL_APP(app, "frontier",
			 "it has claimed %" PRIu64 " messages, and those below %" PRIu64 " are %s, after %" PRIu64,
			 app->stream->claimed, past, names[which], app->past[which]);
	app->past[which] = past;
}

/* ---- arms -------------------------------------------------------------------------------------------------------------- */

static void check_arm(struct app *app)
{
	uint64_t count;
	bool told = read(whorl_frontier_fd(app->subgroup), &count, sizeof(count)) == (ssize_t)sizeof(count);
	bool past = app->past[app->armed_for] >= app->armed;

	if (told != past)
		FAIL_APP(app, "told", "message %" PRIu64 " is %spast, and it is %stold", app->armed - 1,
			 past ? "" : "not ", told ? "" : "not ");
	if (told)
		app->armed = 0;
}

/* For its last message, of each kind in turn. No dice: what is asked here does not change the run. */
static void arm_again(struct app *app)
{
	enum whorl_frontier which = kinds[app->stream->claimed % 2];
	uint64_t index = app->stream->claimed - 1;
	enum whorl_result result = whorl_frontier_arm(app->subgroup, which, index - app->stream->base);
	bool past = app->past[which] > index;

	if (result != (past ? WHORL_OK : WHORL_AGAIN))
		FAIL_APP(app, "told", "message %" PRIu64 " is %spast, and whorl_frontier_arm says %s", index,
			 past ? "" : "not ", whorl_result_text(result));
	if (result == WHORL_AGAIN) {
		app->armed = index + 1;
		app->armed_for = which;
	}
}

static bool has_failed_for_good(const struct app *app)
{
	enum whorl_result error = whorl_error(app->actor->node, NULL, 0);

	return error != WHORL_OK && error != WHORL_NO_QUORUM;
}

void wh_check_frontiers(struct app *app)
{
	if (app->subgroup == NULL || app->actor->view == NULL || has_failed_for_good(app))
		return;
	for (int i = 0; i < 2 && !wh_play_failed(app->actor->play); i++) {
		uint64_t past = whorl_frontier_get(app->subgroup, kinds[i]) + app->stream->base;

		check_grows(app, kinds[i], past);
		check_past(app, kinds[i], past);
	}
	if (app->past[WHORL_DELIVERED_BY_ALL] > app->past[WHORL_RECEIVED_BY_ALL])
		FAIL_APP(app, "frontier",
			 "those below %" PRIu64 " are delivered by all, and those below %" PRIu64 " received",
			 app->past[WHORL_DELIVERED_BY_ALL], app->past[WHORL_RECEIVED_BY_ALL]);
	if (app->armed > 0)
		check_arm(app);
	else if (app->stream->claimed > app->stream->base)
		arm_again(app);
}

void wh_check_frontiers_end(const struct app *app)
{
	const struct shard_member *member = app->member;
	struct wh_inspect_member now;
	uint64_t received;

	if (app->subgroup == NULL || member == NULL || member->me < 0 || !wh_check_look(member, &now))
		return;
	received = member->shard->ordered ? wh_check_sender(member, (uint32_t)member->me).next : now.freed;
	if (app->past[WHORL_DELIVERED_BY_ALL] != now.freed || app->past[WHORL_RECEIVED_BY_ALL] != received)
		FAIL_APP(app, "late",
			 "its messages below %" PRIu64 " are received by all, and below %" PRIu64
			 " delivered, and it is told of those below %" PRIu64 " and %" PRIu64,
			 received, now.freed, app->past[WHORL_RECEIVED_BY_ALL], app->past[WHORL_DELIVERED_BY_ALL]);
}
