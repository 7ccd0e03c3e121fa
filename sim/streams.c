/* streams.c - the applications of a run: they claim, fill in place, and commit or abort in any order, whatever view it is.
 * See play_int.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/payload.h"
#include "sim/play_int.h"

static const uint64_t paces_ns[] = {50, 1000, 10000, 100000};

static struct play *play_of(const struct stream *stream)
{
	return stream->app->actor->play;
}

/* Where things go wrong messages are to be sent before, in the middle, and after. */
static uint64_t draw_pace(struct stream *stream, const struct play *play)
{
	uint64_t span_ns = 6 * wh_play_timeout_ns(play);

	if (!wh_play_has_faults(play) || wh_dice_one_in(&stream->dice, 4))
		return paces_ns[wh_dice_below(&stream->dice, 4)];
	return span_ns / (stream->quota + 1) + 1;
}

void wh_stream_init(struct stream *stream, struct app *app)
{
	struct play *play = app->actor->play;
	const struct wh_plan_subgroup *subgroup = play->subgroups[app->g].plan;
	const struct wh_subgroup_options *options = play->subgroups[app->g].options;
	bool dynamic = wh_play_is_dynamic(play, app->g);
	struct wh_dice *dice = &stream->dice;

	*stream = (struct stream){.app = app, .kept_open = UINT64_MAX};
	stream->dice = wh_dice_split(play->plan->seed, 1000 + 100 * (uint64_t)app->g + app->actor->life);
	stream->quota = dynamic ? 0 : subgroup->even ? subgroup->messages : wh_dice_below(dice, subgroup->messages + 1);
	stream->messages = wh_plan_alloc(stream->quota, sizeof(*stream->messages));
	stream->open = wh_plan_alloc(stream->quota, sizeof(*stream->open));
	stream->pace_ns = draw_pace(stream, play);
	stream->burst = wh_dice_one_in(dice, 2) ? 1 : wh_dice_between(dice, 1, 2 * (uint64_t)options->window);
	stream->abort_in = wh_dice_one_in(dice, 2) ? 0 : wh_dice_between(dice, 2, 16);
	stream->bytes_max = stream->slot_bytes = (uint64_t)options->message_bytes;
	stream->large_max = (uint64_t)options->large_bytes;
	stream->manner = (enum manner)wh_dice_below(dice, 4);
	if (!subgroup->even && stream->quota > 0 && wh_dice_one_in(dice, 10))
		stream->kept_open = wh_dice_below(dice, stream->quota);
}

void wh_stream_begin_stay(struct stream *stream)
{
	const struct play *play = play_of(stream);

	stream->base = stream->claimed;
	stream->quota = stream->base + wh_dice_below(&stream->dice, play->subgroups[stream->app->g].plan->messages + 1);
	stream->messages = realloc(stream->messages, (stream->quota + 1) * sizeof(*stream->messages));
	stream->open = realloc(stream->open, (stream->quota + 1) * sizeof(*stream->open));
	if (stream->messages == NULL || stream->open == NULL)
		abort();
	memset(stream->messages + stream->base, 0, (stream->quota + 1 - stream->base) * sizeof(*stream->messages));
	stream->pace_ns = draw_pace(stream, play);
	stream->starved = stream->barred = false;
}

void wh_stream_free(struct stream *stream)
{
	free(stream->messages);
	free(stream->open);
}

uint64_t wh_stream_finished(const struct stream *stream)
{
	uint64_t number = 0;

	while (number < stream->claimed && stream->messages[number].state != MESSAGE_OPEN)
		number++;
	return number;
}

struct wh_payload_id wh_stream_payload(const struct stream *stream, uint64_t number)
{
	return (struct wh_payload_id){.subgroup = stream->app->g,
				      .sender = stream->app->actor->life,
				      .index = number,
				      .bytes = stream->messages[number].bytes};
}

/* ---- what an application does ------------------------------------------------------------------------------------------ */

/* The history is told before the library: what is committed may be delivered before the call returns. */
static void tell_history(struct stream *stream, uint64_t number, bool abort)
{
	struct wh_payload_id id = wh_stream_payload(stream, number);
	struct wh_history *history = play_of(stream)->history;

	wh_tell(stream->app->actor, TOLD_COMMIT, id.subgroup, number, abort, 0);
	for (uint64_t k = 1; k < stream->messages[number].slots; k++) /* no message has these numbers */
		wh_history_abort(history, id.sender, id.subgroup, number + k);
	if (abort)
		wh_history_abort(history, id.sender, id.subgroup, number);
	else
		wh_history_commit(history, id.sender, id.subgroup, number, wh_payload_seed(&id));
}

/* It says that the message will never be delivered, and may say so. */
static bool is_refusal(const struct stream *stream, enum whorl_result result)
{
	const struct actor *actor = stream->app->actor;

	switch (result) {
	case WHORL_NOT_SENDER:
		return stream->app->actor->view != NULL && stream->app->actor->view->number > 0 &&
		       !wh_play_is_dynamic(actor->play, stream->app->g);
	case WHORL_REMOVED:
	case WHORL_CUT_OFF:
	case WHORL_MEMORY:
	case WHORL_SHARD_LOST:
		return wh_play_has_faults(actor->play);
	case WHORL_CLOSED:
		return actor->state == ACTOR_GONE || actor->leaving;
	case WHORL_SYSTEM:
		return actor->declined;
	case WHORL_DISK:
		return wh_disk_is_harmed(actor->play, actor->id);
	default:
		return false;
	}
}

static void fill_parts(const struct message *message, const struct wh_payload_id *id)
{
	unsigned char *whole = wh_plan_alloc(id->bytes + 1, 1);
	size_t at = 0, bytes;
	void *part;

	wh_payload_fill(whole, id);
	for (uint32_t k = 0; at < id->bytes && whorl_claim_part(&message->claim, k, &part, &bytes) == WHORL_OK; k++) {
		memcpy(part, whole + at, bytes < id->bytes - at ? bytes : id->bytes - at);
		at += bytes;
	}
	free(whole);
}

static void scribble_parts(const struct message *message)
{
	size_t bytes;
	void *part;

	for (uint32_t k = 0; whorl_claim_part(&message->claim, k, &part, &bytes) == WHORL_OK; k++)
		wh_payload_scribble(part, bytes);
}

static bool has_calls(const struct stream *stream)
{
	return play_of(stream)->subgroups[stream->app->g].calls;
}

/* Of some no outcome is told. */
static struct call *draw_call(struct stream *stream, uint64_t number)
{
	return has_calls(stream) && !wh_dice_one_in(&stream->dice, 8) ? wh_call_new(stream, number) : NULL;
}

/* A call may have to wait, and then it is not committed, and the history is not told: so that is told of it afterwards. No node runs
 * meanwhile. False: it waits. */
static bool commit_call(struct stream *stream, uint64_t number, enum whorl_result *result)
{
	struct message *message = &stream->messages[number];

	*result = wh_call_commit(message->call, &message->claim, message->bytes);
	if (*result == WHORL_AGAIN && wh_call_may_wait(stream, number)) {
		if (!stream->stopped)
			return false;
		message->state = MESSAGE_ABORTED;
		message->call->refused = true;
		*result = whorl_abort(&message->claim);
	}
	if (!stream->app->actor->removed && !message->lapsed && !is_refusal(stream, *result))
		tell_history(stream, number, message->state == MESSAGE_ABORTED);
	return true;
}

/* False: it is open still. */
static bool finish_claim(struct stream *stream, uint64_t number)
{
	struct play *play = play_of(stream);
	struct message *message = &stream->messages[number];
	bool abort = stream->abort_in > 0 && wh_dice_one_in(&stream->dice, stream->abort_in);
	struct wh_payload_id id = wh_stream_payload(stream, number);
	enum whorl_result result;

	message->state = abort ? MESSAGE_ABORTED : MESSAGE_COMMITTED;
	message->call = abort ? NULL : draw_call(stream, number);
	if (!abort)
		fill_parts(message, &id);
	if (message->call == NULL && !stream->app->actor->removed && !message->lapsed) /* of these the answer is known */
		tell_history(stream, number, abort);
	if (message->call == NULL) {
		result = abort ? whorl_abort(&message->claim) : whorl_commit(&message->claim, message->bytes);
	} else if (!commit_call(stream, number, &result)) {
		message->state = MESSAGE_OPEN;
		message->call->refused = true; /* and it will be another */
		message->call = NULL;
		return false;
	}
	if (is_refusal(stream, result)) {
		message->state = MESSAGE_REFUSED;
		if (message->call != NULL)
			message->call->refused = true;
		wh_tell(stream->app->actor, TOLD_REFUSED, id.subgroup, number, 0, 0);
		if (!abort && !message->lapsed)
			tell_history(stream, number, true);
	} else if (message->lapsed) {
		wh_play_fail(play, "finish: %s, g%u: claim %llu was dropped, and is finished with %s",
			     stream->app->actor->name, id.subgroup, (unsigned long long)number,
			     whorl_result_text(result));
	} else if (result != WHORL_OK && (result != WHORL_PENDING || abort || !wh_play_has_faults(play))) {
		wh_play_fail(play, "finish: %s, g%u: claim %llu was finished with %s", stream->app->actor->name,
			     id.subgroup, (unsigned long long)number, whorl_result_text(result));
	}
	play->useful_step = play->steps;
	return true;
}

void wh_stream_finish_late(struct stream *stream)
{
	while (stream->open_count > 0) {
		struct whorl_claim *claim = &stream->messages[stream->open[--stream->open_count]].claim;
		enum whorl_result result = stream->open_count % 2 == 0 ? whorl_abort(claim)
					   : has_calls(stream)         ? wh_call_commit_late(stream->app, claim)
								       : whorl_commit(claim, 0);

		if (result != WHORL_CLOSED)
			wh_play_fail(play_of(stream), "close: %s: a claim that was open is finished with %s",
				     stream->app->actor->name, whorl_result_text(result));
	}
}

/* The place, among the open ones, of the claim to finish next; -1 if all that are open are kept so. */
static int64_t choose_claim(struct stream *stream)
{
	uint64_t count = stream->open_count, at = 0;

	if (count == 0 || (count == 1 && stream->open[0] == stream->kept_open))
		return -1;
	if (stream->manner == IN_ANY_ORDER)
		at = wh_dice_below(&stream->dice, count);
	else if (stream->manner == BACKWARDS)
		at = count - 1;
	if (stream->open[at] == stream->kept_open)
		at = at > 0 ? at - 1 : 1;
	return (int64_t)at;
}

static bool finish_one(struct stream *stream)
{
	int64_t at = choose_claim(stream);
	uint64_t number;

	if (at < 0)
		return false;
	number = stream->open[at];
	stream->open_count--;
	memmove(&stream->open[at], &stream->open[at + 1], (stream->open_count - (uint64_t)at) * sizeof(*stream->open));
	if (finish_claim(stream, number))
		return true;
	memmove(&stream->open[at + 1], &stream->open[at], (stream->open_count - (uint64_t)at) * sizeof(*stream->open));
	stream->open[at] = number;
	stream->open_count++;
	stream->patient = true;
	return false;
}

void wh_stream_stop(struct stream *stream)
{
	stream->kept_open = UINT64_MAX;
	stream->stopped = true;
	while (finish_one(stream))
		;
}

/* The window is full, or the view changes: the application may wait for the descriptor, or look again some time. */
static void arm_window(struct stream *stream)
{
	enum whorl_result result;

	if (stream->open_count > 0 && !wh_dice_one_in(&stream->dice, 3))
		return;
	result = whorl_window_arm(stream->app->subgroup);
	if (result == WHORL_AGAIN)
		stream->starved = true;
	else if (result == WHORL_NOT_SENDER)
		stream->barred = true;
	else if (result != WHORL_OK && !wh_play_has_faults(play_of(stream)))
		wh_play_fail(play_of(stream), "window: %s: whorl_window_arm says %s", stream->app->actor->name,
			     whorl_result_text(result));
}

/* Nothing can be claimed now. */
static void note_refusal(struct stream *stream, enum whorl_result result)
{
	struct play *play = play_of(stream);
	bool faults = wh_play_has_faults(play);

	if (result == WHORL_NOT_SENDER || stream->app->actor->view == NULL ||
	    (result == WHORL_NOT_FOUND && has_calls(stream) && stream->app->member == NULL))
		stream->barred = true;
	else if (result == WHORL_AGAIN)
		arm_window(stream);
	else if (result == WHORL_NO_QUORUM && faults)
		stream->patient = true;
	else if (((result == WHORL_REMOVED || result == WHORL_CUT_OFF || result == WHORL_MEMBER_GONE ||
		   result == WHORL_MEMORY || result == WHORL_SHARD_LOST) &&
		  faults) ||
		 (result == WHORL_SYSTEM && stream->app->actor->declined) ||
		 (result == WHORL_DISK && wh_disk_is_harmed(play, stream->app->actor->id)))
		stream->stopped = true;
	else
		wh_play_fail(play, "claim: %s, g%u: whorl_claim says %s", stream->app->actor->name, stream->app->g,
			     whorl_result_text(result));
}

/* Mostly one that fits in a slot; else one that takes several, as far as there are numbers. */
static uint64_t draw_bytes(struct stream *stream)
{
	uint64_t left = (stream->quota - stream->claimed) * stream->slot_bytes;
	uint64_t most = stream->large_max < left ? stream->large_max : left;

	if (most > stream->bytes_max && wh_dice_one_in(&stream->dice, 3))
		return wh_dice_one_in(&stream->dice, 3) ? most
							: wh_dice_between(&stream->dice, stream->bytes_max + 1, most);
	return wh_dice_one_in(&stream->dice, 8) ? 0 : wh_dice_between(&stream->dice, 0, stream->bytes_max);
}

static void note_claim(struct stream *stream, uint64_t number, uint64_t bytes)
{
	struct message *message = &stream->messages[number];
	uint64_t slots = bytes > stream->slot_bytes ? (bytes + stream->slot_bytes - 1) / stream->slot_bytes : 1;

	stream->claimed += slots;
	message->state = MESSAGE_OPEN;
	message->bytes = (uint32_t)bytes;
	message->slots = (uint32_t)slots;
	for (uint32_t k = 1; k < slots; k++) {
		message[k].state = MESSAGE_PART;
		message[k].part = k;
	}
}

/* Not all that was claimed: now and then less of a large one. */
static void shorten(struct stream *stream, struct message *message)
{
	if (message->slots > 1 && wh_dice_one_in(&stream->dice, 4))
		message->bytes = (uint32_t)wh_dice_between(&stream->dice, 0, message->bytes);
}

static bool claim_one(struct stream *stream)
{
	uint64_t number = stream->claimed;
	struct message *message = &stream->messages[number];
	uint64_t bytes = draw_bytes(stream);
	enum whorl_result result = bytes > stream->slot_bytes
					   ? whorl_claim_large(stream->app->subgroup, bytes, 0, &message->claim)
					   : whorl_claim(stream->app->subgroup, bytes, &message->claim);

	if (result != WHORL_OK) {
		note_refusal(stream, result);
		return false;
	}
	note_claim(stream, number, bytes);
	stream->open[stream->open_count++] = number;
	wh_check_claim(stream, number);
	scribble_parts(message);
	shorten(stream, message);
	play_of(stream)->useful_step = play_of(stream)->steps;
	return true;
}

/* It has a number, whether it was accepted or not. */
static void note_call(struct stream *stream, uint64_t number, struct call *call, enum whorl_result result)
{
	struct play *play = play_of(stream);
	struct message *message = &stream->messages[number];
	bool accepted = result == WHORL_OK || (result == WHORL_PENDING && wh_play_has_faults(play));

	note_claim(stream, number, message->bytes);
	message->claim = (struct whorl_claim){.number = number - stream->base};
	message->call = call;
	message->state = accepted ? MESSAGE_COMMITTED : MESSAGE_REFUSED;
	if (!accepted && !is_refusal(stream, result) && (result != WHORL_AGAIN || !wh_call_may_wait(stream, number)))
		wh_play_fail(play, "finish: %s, g%u: whorl_call says %s, and has claimed", stream->app->actor->name,
			     stream->app->g, whorl_result_text(result));
	wh_check_claim(stream, number);
	tell_history(stream, number, !accepted);
}

/* Claimed and committed in one. The history is told when it is known whether it was claimed: no node runs meanwhile. */
static bool call_one(struct stream *stream)
{
	uint64_t number = stream->claimed, before = wh_inspect_claimed(stream->app->subgroup), claimed;
	struct message *message = &stream->messages[number];
	struct call *call = draw_call(stream, number);
	struct wh_payload_id id;
	enum whorl_result result;
	unsigned char *data;

	message->bytes = (uint32_t)draw_bytes(stream);
	id = wh_stream_payload(stream, number);
	data = wh_plan_alloc(id.bytes + 1, 1);
	wh_payload_fill(data, &id);
	result = wh_call_make(stream->app, call, data, id.bytes);
	free(data);
	claimed = wh_inspect_claimed(stream->app->subgroup);
	if (call != NULL && result != WHORL_OK && result != WHORL_PENDING)
		call->refused = true;
	if (claimed != before)
		note_call(stream, number, call, result);
	else
		note_refusal(stream, result);
	if (claimed != before && stream->claimed - number != claimed - before)
		wh_play_fail(play_of(stream), "finish: %s, g%u: whorl_call has claimed %" PRIu64 " numbers",
			     stream->app->actor->name, stream->app->g, claimed - before);
	play_of(stream)->useful_step = play_of(stream)->steps;
	return result == WHORL_OK || result == WHORL_PENDING;
}

static bool may_claim(const struct stream *stream)
{
	return stream->claimed < stream->quota && !stream->starved && !stream->stopped && !stream->barred &&
	       !stream->patient;
}

static bool begin_one(struct stream *stream)
{
	if (has_calls(stream) && stream->claimed != stream->kept_open && wh_dice_one_in(&stream->dice, 2))
		return call_one(stream);
	return claim_one(stream);
}

bool wh_stream_act(struct stream *stream)
{
	bool claims = may_claim(stream);

	if (stream->manner == AT_ONCE && choose_claim(stream) >= 0)
		claims = false;
	if (claims && (choose_claim(stream) < 0 || wh_dice_one_in(&stream->dice, 2)))
		return begin_one(stream) || finish_one(stream);
	return finish_one(stream);
}

/* ---- when ------------------------------------------------------------------------------------------------------------- */

static void take_turn(void *ctx, uint64_t argument)
{
	struct stream *stream = ctx;
	struct play *play = play_of(stream);
	uint64_t stalled_until = stream->app->actor->stalled_until_ns;

	(void)argument;
	if (wh_sim_now(play->sim) < stalled_until && wh_actor_runs(stream->app->actor)) {
		wh_sim_at(play->sim, stalled_until, take_turn, stream, 0);
		return;
	}
	stream->scheduled = false;
	play->busy_streams -= stream->busy;
	stream->patient = stream->busy = false;
	if (!wh_actor_runs(stream->app->actor) || wh_play_failed(play) || play->closing)
		return;
	for (uint64_t i = 0; i < stream->burst && wh_stream_act(stream); i++)
		;
	wh_stream_schedule(stream);
}

void wh_stream_schedule(struct stream *stream)
{
	struct play *play = play_of(stream);
	uint64_t pause =
		stream->patient ? wh_play_timeout_ns(play) / 4 : wh_dice_below(&stream->dice, 2 * stream->pace_ns);
	bool works = choose_claim(stream) >= 0 || may_claim(stream);

	if (stream->scheduled || (!works && !stream->patient))
		return;
	stream->scheduled = true;
	stream->busy = works;
	play->busy_streams += works;
	wh_sim_at(play->sim, wh_sim_now(play->sim) + pause, take_turn, stream, 0);
}

void wh_stream_look(struct stream *stream)
{
	uint64_t room;

	/* A read takes what one arm was told; there is nothing to read before. */
	if (!stream->starved ||
	    read(whorl_window_fd(stream->app->subgroup), &room, sizeof(room)) != (ssize_t)sizeof(room))
		return;
	stream->starved = false;
	wh_stream_schedule(stream);
}

void wh_stream_lapse(struct stream *stream)
{
	stream->lapsed = stream->claimed;
	for (uint64_t i = 0; i < stream->open_count; i++) {
		struct message *message = &stream->messages[stream->open[i]];

		if (!message->lapsed)
			tell_history(stream, stream->open[i], true);
		message->lapsed = true;
	}
}

void wh_stream_unbar(struct stream *stream)
{
	if (!stream->barred)
		return;
	stream->barred = false;
	wh_stream_schedule(stream);
}
