/* calls.c - applications that are state machines: they apply calls, answer them, and are told outcomes. See play_int.h.
 *
 *     applied     as messages are upcalled, and judged by the same code: once at each member, in one order. A call is awaited where its
 *                 application wants the outcome, and nowhere else
 *     once        each accepted call has one outcome, and one that was refused has none
 *     its place   a call that is told to be applied was applied here, at that place, in an upcall that has returned, and its answer is
 *                 the one that was given
 *     doubt       only where the node has failed or is closed; or the call is in the state that its node was given, or was kept back for one in a
 *                 shard that the node was taken out of
 *     in order    outcomes come in the order of the calls, but those with answers that come later
 *     forgotten   what has been applied and is not to be answered later has its outcome when the pass is over
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <whorl/replica.h>

#include "sim/payload.h"
#include "sim/play_int.h"

#define ANSWER_OF (UINT64_C(1) << 40) /* the indexes of answers, beside those of messages */
#define ANSWER_BYTES 300
#define LARGE_ANSWER_BYTES 20000
#define DECLINES_IN 50 /* one application in so many cannot apply a call */

#define FAIL_CALL(call, property, format, ...)                                                                         \
	wh_play_fail((call)->stream->app->actor->play, property ": %s, g%u: call %" PRIu64 " " format,                 \
		     (call)->stream->app->actor->name, (call)->stream->app->g, (call)->number, __VA_ARGS__)

/* Nothing that it is told is judged any more. */
static bool is_beyond(const struct app *app)
{
	return wh_play_failed(app->actor->play) || app->actor->crashed || app->actor->play->extinct;
}

static struct wh_payload_id answer_of(const struct call *call)
{
	return (struct wh_payload_id){.subgroup = call->stream->app->g,
				      .sender = call->stream->app->actor->life,
				      .index = ANSWER_OF + call->number,
				      .bytes = call->answer_bytes};
}

static unsigned char *make_answer(const struct call *call)
{
	struct wh_payload_id id = answer_of(call);
	unsigned char *data = wh_plan_alloc(id.bytes + 1, 1);

	wh_payload_fill(data, &id);
	return data;
}

/* ---- places --------------------------------------------------------------------------------------------------------------- */

void wh_calls_stand_at(struct app *app, struct place place)
{
	app->applied = place;
}

/* No outcome may say that no member applies it. */
static void note_applied(const struct app *app, const struct whorl_message *message)
{
	struct stream *stream = wh_app_stream_in(app, message->view, message->sender);

	if (stream->messages[message->index].gone)
		wh_play_fail(app->actor->play,
			     "gone: %s, g%u: applies message %" PRIu64 " of node %u, which was told that it is gone",
			     app->actor->name, app->g, message->index, message->sender);
	stream->messages[message->index].applied = true;
}

void wh_calls_upcalled(struct app *app, const struct whorl_message *message)
{
	struct play *play = app->actor->play;
	const struct shard_member *member = app->member;
	struct place *furthest;

	if (!play->subgroups[app->g].calls || wh_play_failed(play))
		return;
	note_applied(app, message);
	if (wh_app_reads_log(app, message->view)) /* all that is in it lies before the view in which it may be read */
		return;
	if (member->shard->view->number != message->view)
		member = wh_app_member_in(app, message->view);
	app->applied = (struct place){message->view, member->deliveries};
	furthest = &play->subgroups[app->g].furthest[member->shard->number];
	if (furthest->view < message->view || (furthest->view == message->view && furthest->count < member->deliveries))
		*furthest = app->applied;
}

/* ---- what is done in upcalls --------------------------------------------------------------------------------------------- */

void wh_calls_act(struct app *app)
{
	struct actor *actor = app->actor;
	struct play *play = actor->play;

	if (is_beyond(app) || play->reply_in == 0 || !wh_dice_one_in(&actor->dice, play->reply_in) ||
	    !wh_actor_runs(actor) || actor->leaving || actor->removed)
		return;
	if (wh_dice_one_in(&actor->dice, 2))
		wh_read_one(app);
	if (app->subgroup == NULL)
		return;
	(void)wh_stream_act(app->stream);
	wh_stream_schedule(app->stream);
}

/* ---- answers that come later -------------------------------------------------------------------------------------------- */

static void judge_answering(const struct call *call, enum whorl_result result)
{
	const struct actor *actor = call->stream->app->actor;
	enum whorl_result error = whorl_error(actor->node, NULL, 0);

	if (call->failed) /* its ticket stays as it is */
		return;
	if (result != (call->settled ? WHORL_NOT_FOUND : WHORL_OK) && (result != error || error == WHORL_OK))
		FAIL_CALL(call, "answers", "is answered later, and whorl_answer_later says %s",
			  whorl_result_text(result));
}

/* Once more is once too often. */
static void give_answer(struct call *call)
{
	struct app *app = call->stream->app;
	unsigned char *data = make_answer(call);
	enum whorl_result result;

	call->answered = true;
	result = whorl_answer_later(app->subgroup, call->ticket, data, call->answer_bytes);
	judge_answering(call, result);
	if (result == WHORL_OK && !call->failed && wh_dice_one_in(&app->actor->dice, 4) &&
	    whorl_answer_later(app->subgroup, call->ticket, data, call->answer_bytes) != WHORL_NOT_FOUND)
		FAIL_CALL(call, "answers", "is answered twice%s", "");
	free(data);
}

static void answer_turn(void *ctx, uint64_t argument)
{
	struct call *call = ctx;
	struct actor *actor = call->stream->app->actor;
	struct play *play = actor->play;

	if (wh_sim_now(play->sim) < actor->stalled_until_ns && wh_actor_runs(actor)) {
		wh_sim_at(play->sim, actor->stalled_until_ns, answer_turn, call, argument);
		return;
	}
	play->calling--;
	play->useful_step = play->steps;
	if (wh_play_failed(play) || actor->crashed || actor->node == NULL || actor->leaving || play->closing)
		return;
	give_answer(call);
}

/* Soon, or after more than a failure time-out, when views have come; some never. */
static void answer_later(struct call *call)
{
	struct actor *actor = call->stream->app->actor;
	struct play *play = actor->play;
	uint64_t most_ns = wh_dice_one_in(&actor->dice, 8)   ? 3 * wh_play_timeout_ns(play)
			   : wh_dice_one_in(&actor->dice, 2) ? WH_NS_PER_MS
							     : 20 * WH_NS_PER_US;

	if (wh_dice_one_in(&actor->dice, 16))
		return;
	if (wh_dice_one_in(&actor->dice, 8)) {
		give_answer(call);
		return;
	}
	play->calling++;
	wh_sim_at(play->sim, wh_sim_now(play->sim) + 1 + wh_dice_below(&actor->dice, most_ns), answer_turn, call, 0);
}

/* ---- applying ------------------------------------------------------------------------------------------------------------- */

static void defer_answer(struct call *call, const struct whorl_call *shown)
{
	call->answering = ANSWERS_LATER;
	call->ticket = whorl_defer(shown);
	if (call->ticket == 0 || whorl_defer(shown) != 0)
		FAIL_CALL(call, "answers", "is deferred with ticket %" PRIu64 ", or twice", call->ticket);
	else
		answer_later(call);
}

static void answer_now(struct call *call, const struct whorl_call *shown)
{
	unsigned char *data = make_answer(call);
	enum whorl_result result = whorl_answer(shown, data, call->answer_bytes);

	call->answering = ANSWERS_AT_ONCE;
	memset(data, 0, call->answer_bytes);
	if (result != WHORL_OK || whorl_answer(shown, data, 0) != WHORL_INVALID)
		FAIL_CALL(call, "answers", "is answered, and whorl_answer says %s, or takes another",
			  whorl_result_text(result));
	free(data);
}

static void answer_call(struct call *call, const struct whorl_call *shown)
{
	struct wh_dice *dice = &call->stream->app->actor->dice;
	uint64_t how = wh_dice_below(dice, 8);

	call->applied = true;
	call->view = shown->view;
	call->sequence = shown->sequence;
	call->answer_bytes = wh_dice_below(dice, wh_dice_one_in(dice, 16) ? LARGE_ANSWER_BYTES : ANSWER_BYTES);
	if (how < 3)
		defer_answer(call, shown);
	else if (how < 7)
		answer_now(call, shown);
	if (call->answering != ANSWERS_LATER)
		call->stream->app->untold++;
}

/* The call that this is, if this node made it; NULL: another did, or wants no outcome. */
static struct call *find_call(const struct app *app, const struct whorl_call *shown)
{
	if (shown->incarnation != app->actor->incarnation)
		return NULL;
	return app->stream->messages[shown->index].call;
}

static void look_at_call(struct app *app, const struct whorl_call *shown)
{
	struct call *call = find_call(app, shown);
	bool replayed = wh_app_reads_log(app, shown->view);

	if (call != NULL && call->settled)
		call = NULL;
	if (app->behind && wh_app_is_log(app) && !replayed)
		replayed = shown->replayed; /* the log that it was given may end in the view that it came in with */
	if (shown->awaited != (call != NULL) || shown->replayed != replayed || shown->size < sizeof(*shown))
		wh_play_fail(app->actor->play,
			     "applied: %s, g%u: call %" PRIu64 " of node %u is %sawaited, and shown as %sawaited%s",
			     app->actor->name, app->g, shown->index, shown->caller, call != NULL ? "" : "not ",
			     shown->awaited ? "" : "not ", shown->replayed ? " and replayed" : ", not as replayed");
	else if (call != NULL)
		answer_call(call, shown);
	else if (wh_dice_one_in(&app->actor->dice, 4) &&
		 (whorl_answer(shown, "", 0) != WHORL_OK || whorl_defer(shown) != 0))
		wh_play_fail(app->actor->play, "answers: %s, g%u: the answer to a call of another node is not dropped",
			     app->actor->name, app->g);
}

static struct whorl_message message_of(const struct app *app, const struct whorl_call *call)
{
	const struct stream *stream = wh_app_stream_in(app, call->view, call->caller);
	bool known = stream != NULL && call->index < stream->claimed;

	return (struct whorl_message){.size = sizeof(struct whorl_message),
				      .subgroup = app->subgroup,
				      .data = call->data,
				      .bytes = call->bytes,
				      .parts = 1,
				      .indexes = known ? stream->messages[call->index].slots : 1,
				      .index = call->index,
				      .view = call->view,
				      .sequence = call->sequence,
				      .incarnation = call->incarnation,
				      .sender = call->caller};
}

/* False: no node is there any more. */
static bool apply_one(struct app *app, const struct whorl_call *call)
{
	struct whorl_message message = message_of(app, call);

	if (!wh_actor_upcall(app, &message) || is_beyond(app))
		return false;
	look_at_call(app, call);
	if (wh_dice_one_in(&app->actor->dice, 16))
		wh_read_one(app);
	return !is_beyond(app);
}

static bool declines(struct app *app)
{
	struct play *play = app->actor->play;

	if (app->declines_at == 0 || app->deliveries + 1 < app->declines_at || play->declined || is_beyond(app) ||
	    !play->met || !wh_play_has_faults(play))
		return false;
	app->actor->declined = play->declined = true;
	return true;
}

/* It was applied, in a run that is not: its outcome is in doubt. */
static void note_failed(const struct app *app, const struct whorl_call *shown)
{
	struct call *call = find_call(app, shown);

	if (call != NULL)
		call->failed = true;
}

static bool apply(const struct whorl_call *calls, size_t count, void *ctx)
{
	struct app *app = ctx;
	bool again = app->applies, declined = false;
	size_t got = 0;

	if (again && !is_beyond(app))
		wh_play_fail(app->actor->play, "applied: %s, g%u: calls are upcalled in an upcall for calls",
			     app->actor->name, app->g);
	app->applies = true;
	while (got < count && !(declined = declines(app)) && apply_one(app, WHORL_AT(whorl_call, calls, got)))
		got++;
	for (size_t i = 0; i < got && !app->actor->crashed; i++) {
		struct whorl_message message = message_of(app, WHORL_AT(whorl_call, calls, i));

		wh_check_payload(app, &message); /* still */
	}
	for (size_t i = 0; i < got && declined; i++)
		note_failed(app, WHORL_AT(whorl_call, calls, i));
	app->applies = false;
	return !declined;
}

/* ---- outcomes ------------------------------------------------------------------------------------------------------------- */

static bool may_be_in_doubt(const struct actor *actor)
{
	enum whorl_result error = actor->leaving ? WHORL_CLOSED : whorl_error(actor->node, NULL, 0);

	return error != WHORL_OK && error != WHORL_NO_QUORUM;
}

/* It is in the state that its node was given, or was kept back there in a shard that the node has left. */
static bool is_passed(const struct call *call)
{
	struct app *app = call->stream->app;

	if (!app->actor->leaving)
		wh_play_enter_view(app->actor, NULL);
	return !call->applied && (call->number < app->dropped || call->number < app->given);
}

static void judge_applied(const struct call *call, const struct whorl_outcome *outcome)
{
	struct wh_payload_id id = answer_of(call);

	if (!call->applied || call->failed || outcome->view != call->view || outcome->sequence != call->sequence)
		FAIL_CALL(call, "its place",
			  "is told to be number %" PRIu64 " of view %" PRIu64 "; %s, as number %" PRIu64
			  " of view %" PRIu64,
			  outcome->sequence, outcome->view, call->applied ? "it was applied" : "it was not applied",
			  call->sequence, call->view);
	else if (call->answering == ANSWERS_LATER && !call->answered)
		FAIL_CALL(call, "answers", "is to be answered later, and its outcome comes before%s", "");
	else if (outcome->bytes != (call->answering == ANSWERS_NOT ? 0 : id.bytes) ||
		 (outcome->bytes > 0 && wh_payload_check(outcome->answer, &id) != id.bytes))
		FAIL_CALL(call, "answers", "has an answer of %zu bytes that was not given", outcome->bytes);
}

static void judge_doubtful(const struct call *call, const struct whorl_outcome *outcome)
{
	bool deferred = call->answering == ANSWERS_LATER && !call->failed;

	if ((!may_be_in_doubt(call->stream->app->actor) && !is_passed(call)) || outcome->bytes != 0 ||
	    outcome->text[0] == '\0' || outcome->view != (deferred ? call->view : 0) ||
	    outcome->sequence != (deferred ? call->sequence : 0))
		FAIL_CALL(call, "doubt", "is in doubt, as number %" PRIu64 " of view %" PRIu64 ", and its node %s (%s)",
			  outcome->sequence, outcome->view,
			  may_be_in_doubt(call->stream->app->actor) ? "has ended" : "goes on", outcome->text);
}

/* Its node was taken out of its shard, and no member has applied it, nor will. */
static void judge_gone(const struct call *call, const struct whorl_outcome *outcome)
{
	struct message *message = &call->stream->messages[call->number];

	wh_play_enter_view(call->stream->app->actor, NULL);
	if (call->number >= call->stream->lapsed || message->applied || outcome->bytes != 0 || outcome->text[0] == '\0')
		FAIL_CALL(call, "gone", "is told to be gone; those below %" PRIu64 " may be, and it was %sapplied",
			  call->stream->lapsed, message->applied ? "" : "not ");
	message->gone = true;
}

static void judge_outcome(struct call *call, const struct whorl_outcome *outcome)
{
	struct app *app = call->stream->app;

	if (call->settled || call->refused)
		FAIL_CALL(call, "once", "has an outcome, and %s", call->settled ? "had one before" : "was refused");
	else if (app->applies)
		FAIL_CALL(call, "its place", "has an outcome while calls are applied%s", "");
	else if (call->answering != ANSWERS_LATER && call->number < app->outcomes)
		FAIL_CALL(call, "in order", "has its outcome after that of call %" PRIu64, app->outcomes - 1);
	else if (outcome->result == WHORL_OK && outcome->size >= sizeof(*outcome) && outcome->text[0] == '\0')
		judge_applied(call, outcome);
	else if (outcome->result == WHORL_IN_DOUBT)
		judge_doubtful(call, outcome);
	else if (outcome->result == WHORL_NOT_SENDER)
		judge_gone(call, outcome);
	else
		FAIL_CALL(call, "once", "has the outcome: %s (%s)", whorl_result_text(outcome->result), outcome->text);
}

/* Those that are answered at once come while messages are delivered, the others when that is over. */
static void act_on(struct call *call, const struct whorl_outcome *outcome)
{
	struct app *app = call->stream->app;
	struct shard_member *member = app->behind ? NULL : app->member;

	if (outcome->result != WHORL_OK)
		return;
	if (call->answering == ANSWERS_LATER)
		wh_check_settle(app->actor);
	else if (member != NULL)
		member->in_upcall = true;
	wh_calls_act(app);
	if (member != NULL)
		member->in_upcall = false;
}

static void done(const struct whorl_outcome *outcome, void *ctx)
{
	struct call *call = ctx;
	struct app *app = call->stream->app;

	if (!is_beyond(app)) {
		wh_tell(app->actor, TOLD_OUTCOME, app->g, call->number, (uint64_t)outcome->result, 0);
		judge_outcome(call, outcome);
		wh_sim_note(app->actor->play->sim, call->number << 8 | (uint64_t)outcome->result);
	}
	if (!call->settled && call->applied && call->answering != ANSWERS_LATER)
		app->untold--;
	call->settled = true;
	if (call->answering != ANSWERS_LATER)
		app->outcomes = call->number + 1;
	app->actor->play->useful_step = app->actor->play->steps;
	if (!is_beyond(app))
		act_on(call, outcome);
}

/* ---- making calls --------------------------------------------------------------------------------------------------------- */

void wh_calls_of_app(struct app *app)
{
	struct actor *actor = app->actor;

	if (whorl_on_calls(app->subgroup, apply, app) != WHORL_OK)
		wh_play_fail(actor->play, "open: %s: its upcall for calls is refused: %s", actor->name,
			     whorl_invalid_text());
	if (wh_dice_one_in(&actor->dice, DECLINES_IN))
		app->declines_at = wh_dice_between(&actor->dice, 1, 30);
	wh_reads_of_app(app);
}

struct call *wh_call_new(struct stream *stream, uint64_t number)
{
	struct call *call = wh_plan_alloc(1, sizeof(*call));

	*call = (struct call){.stream = stream, .number = number, .next = stream->calls};
	stream->calls = call;
	return call;
}

enum whorl_result wh_call_commit(struct call *call, struct whorl_claim *claim, size_t bytes)
{
	return whorl_call_commit(claim, bytes, done, call);
}

enum whorl_result wh_call_make(struct app *app, struct call *call, const void *data, size_t bytes)
{
	return whorl_call(app->subgroup, data, bytes, call != NULL ? done : NULL, call);
}

static void never(const struct whorl_outcome *outcome, void *ctx)
{
	const struct app *app = ctx;

	wh_play_fail(app->actor->play, "close: %s, g%u: a call that was refused has the outcome: %s", app->actor->name,
		     app->g, whorl_result_text(outcome->result));
}

enum whorl_result wh_call_commit_late(struct app *app, struct whorl_claim *claim)
{
	return whorl_call_commit(claim, 0, never, app);
}

/* A call before it with the same entry: a newcomer has delivered that, and has not been told its outcome yet. */
bool wh_call_may_wait(const struct stream *stream, uint64_t number)
{
	uint64_t window = (uint64_t)stream->app->actor->play->subgroups[stream->app->g].options->window;
	bool waits = false;

	for (; number >= window && !waits; number -= window) {
		const struct call *before = stream->messages[number - window].call;

		waits = before != NULL && !before->settled;
	}
	return waits && (stream->app->awaits || stream->app->behind);
}

/* ---- what is due ---------------------------------------------------------------------------------------------------------- */

void wh_check_calls(const struct app *app)
{
	if (app->untold != 0 && !app->applies)
		wh_play_fail(app->actor->play,
			     "forgotten: %s, g%u: %" PRIu64 " calls are applied, and their outcomes not told",
			     app->actor->name, app->g, app->untold);
}

static bool is_due(const struct app *app, const struct call *call)
{
	if (call->applied)
		return call->answering != ANSWERS_LATER || call->answered;
	return call->number < app->next[app->actor->life] || call->number < call->stream->lapsed;
}

bool wh_calls_lack(const struct app *app, bool closed, char *what, size_t bytes)
{
	for (const struct call *call = app->stream->calls; call != NULL; call = call->next) {
		if (call->settled || call->refused || (!closed && !is_due(app, call)))
			continue;
		snprintf(what, bytes, "%s, g%u: call %" PRIu64 " has no outcome, and %s", app->actor->name, app->g,
			 call->number,
			 closed                                 ? "its node is closed"
			 : call->applied                        ? "is applied and answered"
			 : call->number >= call->stream->lapsed ? "is past, and was not applied here"
								: "is gone");
		return true;
	}
	return false;
}

void wh_calls_free(struct app *app)
{
	while (app->stream->calls != NULL) {
		struct call *call = app->stream->calls;

		app->stream->calls = call->next;
		free(call);
	}
}
