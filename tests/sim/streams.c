/* streams.c - the applications of a run: they claim, fill in place, and commit or abort in any order. See
 * play.h. */
#include "tests/sim/play.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/payload.h"

static const uint64_t paces_ns[] = {50, 1000, 10000, 100000};

static struct play *play_of(const struct stream *stream)
{
	return stream->seat->circle->play;
}

void stream_init(struct stream *stream, struct seat *seat, uint32_t rank)
{
	struct play *play = seat->circle->play;
	const struct plan_subgroup *subgroup = &play->plan->subgroups[seat->circle->index];
	const struct wh_subgroup_options *options = &play->plan->config.subgroups[seat->circle->index].options;
	struct wh_dice *dice = &play->dice;

	*stream = (struct stream){.seat = seat, .rank = rank, .held = UINT64_MAX};
	stream->quota = subgroup->even ? subgroup->messages : wh_dice_below(dice, subgroup->messages + 1);
	stream->messages = plan_alloc(stream->quota, sizeof(*stream->messages));
	stream->open = plan_alloc(stream->quota, sizeof(*stream->open));
	stream->pace_ns = paces_ns[wh_dice_below(dice, 4)];
	stream->burst = wh_dice_one_in(dice, 2) ? 1 : wh_dice_between(dice, 1, 2 * (uint64_t)options->window);
	stream->abort_in = wh_dice_one_in(dice, 2) ? 0 : wh_dice_between(dice, 2, 16);
	stream->bytes_max = (uint64_t)options->message_bytes;
	stream->manner = (enum manner)wh_dice_below(dice, 4);
	if (!subgroup->even && stream->quota > 0 && wh_dice_one_in(dice, 10))
		stream->held = wh_dice_below(dice, stream->quota);
}

void stream_free(struct stream *stream)
{
	free(stream->messages);
	free(stream->open);
}

/* ---- what an application does ------------------------------------------------------------------------------------------ */

static struct payload_id id_of(const struct stream *stream, uint64_t number)
{
	return (struct payload_id){.subgroup = stream->seat->circle->index,
				   .sender = stream->rank,
				   .index = number,
				   .bytes = stream->messages[number].bytes};
}

static void finish(struct stream *stream, uint64_t number)
{
	struct play *play = play_of(stream);
	struct message *message = &stream->messages[number];
	bool abort = stream->abort_in > 0 && wh_dice_one_in(&play->dice, stream->abort_in);
	struct payload_id id = id_of(stream, number);
	enum whorl_result result;

	message->state = abort ? MESSAGE_ABORTED : MESSAGE_COMMITTED;
	if (!abort)
		payload_fill(message->claim.data, &id);
	result = abort ? whorl_abort(&message->claim) : whorl_commit(&message->claim, message->bytes);
	if (result != WHORL_OK)
		play_fail(play, "finish: node %u, g%u: claim %llu was finished with %s", stream->seat->actor->id,
			  stream->seat->circle->index, (unsigned long long)number, whorl_result_text(result));
	play->useful_step = play->steps;
}

void stream_finish_late(struct stream *stream)
{
	while (stream->open_count > 0) {
		struct whorl_claim *claim = &stream->messages[stream->open[--stream->open_count]].claim;
		enum whorl_result result = stream->open_count % 2 ? whorl_commit(claim, 0) : whorl_abort(claim);

		if (result != WHORL_CLOSED)
			play_fail(play_of(stream), "close: node %u: a claim that was open is finished with %s",
				  stream->seat->actor->id, whorl_result_text(result));
	}
}

/* The place, among the open ones, of the claim to finish next; -1 if all that are open are held. */
static int64_t choose(struct stream *stream)
{
	struct wh_dice *dice = &play_of(stream)->dice;
	uint64_t count = stream->open_count, at = 0;

	if (count == 0 || (count == 1 && stream->open[0] == stream->held))
		return -1;
	if (stream->manner == IN_ANY_ORDER)
		at = wh_dice_below(dice, count);
	else if (stream->manner == BACKWARDS)
		at = count - 1;
	if (stream->open[at] == stream->held)
		at = at > 0 ? at - 1 : 1;
	return (int64_t)at;
}

static bool finish_one(struct stream *stream)
{
	int64_t at = choose(stream);
	uint64_t number;

	if (at < 0)
		return false;
	number = stream->open[at];
	stream->open_count--;
	memmove(&stream->open[at], &stream->open[at + 1], (stream->open_count - (uint64_t)at) * sizeof(*stream->open));
	finish(stream, number);
	return true;
}

void stream_stop(struct stream *stream)
{
	stream->held = UINT64_MAX;
	stream->stopped = true;
	while (finish_one(stream))
		;
}

/* The window is full: the application may wait for the descriptor, or look again some time. */
static void suffer(struct stream *stream)
{
	struct play *play = play_of(stream);
	enum whorl_result result;

	if (stream->open_count > 0 && !wh_dice_one_in(&play->dice, 3))
		return;
	result = whorl_window_arm(stream->seat->subgroup);
	if (result == WHORL_AGAIN)
		stream->starved = true;
	else if (result != WHORL_OK)
		play_fail(play, "window: node %u: whorl_window_arm says %s", stream->seat->actor->id,
			  whorl_result_text(result));
}

static bool claim_one(struct stream *stream)
{
	struct play *play = play_of(stream);
	uint64_t number = stream->claimed;
	struct message *message = &stream->messages[number];
	uint64_t bytes = wh_dice_one_in(&play->dice, 8) ? 0 : wh_dice_between(&play->dice, 0, stream->bytes_max);
	enum whorl_result result = whorl_claim(stream->seat->subgroup, bytes, &message->claim);

	if (result == WHORL_AGAIN) {
		suffer(stream);
		return false;
	}
	if (result == WHORL_MEMBER_GONE && play->crashed >= 0)
		stream->stopped = true;
	else if (result != WHORL_OK)
		play_fail(play, "claim: node %u: whorl_claim says %s", stream->seat->actor->id,
			  whorl_result_text(result));
	if (result != WHORL_OK)
		return false;
	stream->claimed++;
	stream->open[stream->open_count++] = number;
	message->state = MESSAGE_OPEN;
	message->bytes = (uint32_t)bytes;
	check_claim(stream, number);
	payload_scribble(message->claim.data, bytes);
	play->useful_step = play->steps;
	return true;
}

bool stream_act(struct stream *stream)
{
	struct wh_dice *dice = &play_of(stream)->dice;
	bool claims = stream->claimed < stream->quota && !stream->starved && !stream->stopped;

	if (stream->manner == AT_ONCE && choose(stream) >= 0)
		claims = false;
	if (claims && (choose(stream) < 0 || wh_dice_one_in(dice, 2)))
		return claim_one(stream) || finish_one(stream);
	return finish_one(stream);
}

/* ---- when ------------------------------------------------------------------------------------------------------------- */

static bool has_work(struct stream *stream)
{
	return choose(stream) >= 0 || (stream->claimed < stream->quota && !stream->starved && !stream->stopped);
}

static void turn(void *ctx, uint64_t argument)
{
	struct stream *stream = ctx;
	struct play *play = play_of(stream);

	(void)argument;
	stream->scheduled = false;
	play->busy_streams--;
	if (stream->seat->actor->state == ACTOR_GONE || play_failed(play))
		return;
	for (uint64_t i = 0; i < stream->burst && stream_act(stream); i++)
		;
	stream_schedule(stream);
}

void stream_schedule(struct stream *stream)
{
	struct play *play = play_of(stream);

	if (stream->scheduled || !has_work(stream))
		return;
	stream->scheduled = true;
	play->busy_streams++;
	wh_sim_at(play->sim, wh_sim_now(play->sim) + wh_dice_below(&play->dice, 2 * stream->pace_ns), turn, stream, 0);
}

void stream_look(struct stream *stream)
{
	struct pollfd room = {.events = POLLIN};

	if (!stream->starved)
		return;
	room.fd = whorl_window_fd(stream->seat->subgroup);
	if (poll(&room, 1, 0) != 1)
		return;
	stream->starved = false;
	stream_schedule(stream);
}
