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
#define HASTE 6 /* before one piece in so many other things happen */

struct image {                 /* of a state, as bytes; padding follows */
	uint64_t magic, bytes; /* all of it */
	uint64_t life, g, view;
	uint64_t deliveries; /* in that view */
	uint64_t state, lives;
	uint64_t next[];
};

struct snapshot {
	struct place *place;
	size_t bytes, read;
	unsigned char data[];
};

/* ---- giving ---------------------------------------------------------------------------------------------------------------- */

static void fill(const struct place *place, struct image *image, size_t bytes)
{
	const struct play *play = place->actor->play;
	size_t head = sizeof(*image) + play->lives_max * sizeof(image->next[0]);
	struct wh_payload_id id = {
		.subgroup = place->g, .sender = place->actor->life, .index = place->state, .bytes = bytes - head};

	*image = (struct image){.magic = MAGIC,
				.bytes = bytes,
				.life = place->actor->life,
				.g = place->g,
				.view = place->actor->scene->number,
				.deliveries = place->seat != NULL ? place->seat->deliveries : 0,
				.state = place->state,
				.lives = play->lives_max};
	memcpy(image->next, place->next, play->lives_max * sizeof(image->next[0]));
	wh_payload_fill((unsigned char *)image + head, &id);
}

/* All that was upcalled here is in it, and what will be is not: that is held against later upcalls, here and at the newcomer. */
static bool check_position(struct place *place, const struct whorl_position *position)
{
	const struct play *play = place->actor->play;
	struct seat *seat = wh_scene_seat(place, position->view);

	if (position->view < place->seat->circle->scene->number)
		return false;
	for (uint32_t i = 0; i < position->sender_count; i++) {
		const struct whorl_position_of *of = WHORL_AT(whorl_position_of, position->senders, i);

		for (uint32_t life = 0; of->incarnation != 0 && life < play->lives; life++)
			if (play->actors[life].incarnation == of->incarnation &&
			    (play->actors[life].id != of->id || of->next < place->next[life]))
				return false;
	}
	if (seat == NULL || !seat->circle->ordered)
		return true;
	if (position->sequence < seat->next_sequence)
		return false;
	seat->next_sequence = position->sequence;
	return true;
}

static void *take_snapshot(const struct whorl_position *position, void *ctx)
{
	struct place *place = ctx;
	struct actor *actor = place->actor;
	struct play *play = actor->play;
	size_t bytes = sizeof(struct image) + play->lives_max * sizeof(uint64_t) +
		       wh_dice_below(&actor->dice, play->plan->state_bytes);
	struct snapshot *snapshot;

	if (wh_play_failed(play) || actor->crashed || actor->removed)
		return NULL;
	wh_faults_moment(actor, WH_MOMENT_GIVE);
	if (actor->crashed)
		return NULL;
	if (place->awaits || place->seat == NULL) {
		wh_play_fail(play, "state: %s, g%u: is asked for a state, and has none", actor->name, place->g);
		return NULL;
	}
	if (!check_position(place, position)) {
		wh_play_fail(play,
			     "state: %s, g%u: the position of a snapshot, %" PRIu64 " of view %" PRIu64
			     ", is not where it stands",
			     actor->name, place->g, position->sequence, position->view);
		return NULL;
	}
	wh_tell(actor, TOLD_GIVE, place->g, place->state, actor->scene->number, place->seat->deliveries);
	if (!wh_history_gave(play->history, actor->life, place->g, place->state))
		wh_play_fail(play, "%s", wh_history_broken(play->history));
	snapshot = wh_plan_alloc(1, sizeof(*snapshot) + bytes);
	snapshot->place = place;
	snapshot->bytes = bytes;
	fill(place, (struct image *)(void *)snapshot->data, bytes);
	play->useful_step = play->steps;
	return snapshot;
}

/* Off the loop: other things happen meanwhile. */
static void take_time(struct place *place)
{
	struct play *play = place->actor->play;

	if (play->depth > 0 || play->closing || !wh_dice_one_in(&place->actor->dice, HASTE))
		return;
	play->depth++;
	for (uint64_t events = wh_dice_below(&place->actor->dice, 40); events > 0; events--)
		if (!wh_play_step(play, wh_sim_now(play->sim) + play->linger_ns))
			break;
	play->depth--;
}

static ptrdiff_t read_snapshot(void *snapshot_, void *bytes, size_t count, void *ctx)
{
	struct snapshot *snapshot = snapshot_;
	struct place *place = ctx;
	size_t rest = snapshot->bytes - snapshot->read;

	take_time(place);
	if (place->actor->crashed || wh_play_failed(place->actor->play))
		return -1;
	if (rest == 0)
		return 0;
	if (rest > count)
		rest = count;
	rest = wh_dice_between(&place->actor->dice, 1, rest);
	memcpy(bytes, snapshot->data + snapshot->read, rest);
	snapshot->read += rest;
	place->actor->play->useful_step = place->actor->play->steps;
	return (ptrdiff_t)rest;
}

static void release_snapshot(void *snapshot, void *ctx)
{
	(void)ctx;
	free(snapshot);
}

/* ---- restoring ------------------------------------------------------------------------------------------------------------- */

static void append(struct place *place, const void *bytes, size_t count)
{
	if (place->coming_bytes + count > place->coming_room) {
		place->coming_room = 2 * (place->coming_bytes + count);
		place->coming = realloc(place->coming, place->coming_room);
		if (place->coming == NULL)
			abort();
	}
	memcpy(place->coming + place->coming_bytes, bytes, count);
	place->coming_bytes += count;
}

/* Is that what some member gave? */
static bool check_image(const struct place *place, const struct image *image)
{
	const struct play *play = place->actor->play;
	size_t head = sizeof(*image) + play->lives_max * sizeof(image->next[0]);
	struct wh_payload_id id;

	if (place->coming_bytes < head || image->magic != MAGIC || image->bytes != place->coming_bytes ||
	    image->lives != play->lives_max || image->g != place->g || image->life >= play->lives)
		return false;
	id = (struct wh_payload_id){.subgroup = place->g,
				    .sender = (uint32_t)image->life,
				    .index = image->state,
				    .bytes = place->coming_bytes - head};
	return wh_payload_check((const unsigned char *)image + head, &id) == id.bytes;
}

/* The newcomer is where its giver was, whether that is in its own view or not. */
static void adopt(struct place *place, const struct image *image)
{
	struct seat *seat = wh_scene_seat(place, image->view);

	place->state = image->state;
	memcpy(place->next, image->next, image->lives * sizeof(image->next[0]));
	if (place->own < place->next[place->actor->life])
		place->own = place->next[place->actor->life]; /* in the state */
	place->awaits = false;
	place->behind = true;
	if (seat == NULL)
		return;
	seat->deliveries = image->deliveries;
	if (image->deliveries > 0 && seat->circle->ordered)
		seat->next_sequence = seat->circle->order[image->deliveries - 1].sequence + 1;
}

/* It has been in another shard, and in this one no node was. */
static void begin_empty(struct place *place)
{
	struct play *play = place->actor->play;

	if (place->coming_bytes > 0)
		wh_play_fail(play, "state: %s, g%u: restores %zu bytes, and its shard begins with nothing",
			     place->actor->name, place->g, place->coming_bytes);
	else if (!wh_history_restored(play->history, place->actor->life, place->g, 0))
		wh_play_fail(play, "%s", wh_history_broken(play->history));
	place->state = 0;
	memset(place->next, 0, play->lives_max * sizeof(place->next[0]));
	place->awaits = place->empties = false;
	place->behind = true;
}

static void finish(struct place *place)
{
	struct actor *actor = place->actor;
	struct play *play = actor->play;
	const struct image *image = (const struct image *)(void *)place->coming;

	if (place->coming_bytes >= sizeof(*image))
		wh_tell(actor, TOLD_RESTORE, place->g, image->state, image->view, image->deliveries);
	else
		wh_tell(actor, TOLD_RESTORE, place->g, 0, actor->scene->number, 0);
	if (place->seat == NULL || place->stay != place->coming_stay)
		; /* it ran beside the loop, and a view has come meanwhile in which the node is in no shard, or another: of no use */
	else if (!place->awaits)
		wh_play_fail(play, "state: %s, g%u: restores a state, and needs none", actor->name, place->g);
	else if (place->empties)
		begin_empty(place);
	else if (!check_image(place, image))
		wh_play_fail(play, "state: %s, g%u: what it restores, %zu bytes, is not what anybody gave", actor->name,
			     place->g, place->coming_bytes);
	else if (!wh_history_restored(play->history, actor->life, place->g, image->state))
		wh_play_fail(play, "%s", wh_history_broken(play->history));
	else
		adopt(place, image);
	play->useful_step = play->steps;
}

static bool restore(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	struct place *place = ctx;
	struct actor *actor = place->actor;

	if (step == WHORL_RESTORE_BEGIN)
		place->coming_stay = place->stay;
	if (step == WHORL_RESTORE_BEGIN && !actor->crashed)
		wh_faults_moment(actor, WH_MOMENT_RESTORE);
	take_time(place);
	if (actor->crashed || actor->removed || wh_play_failed(actor->play))
		return false;
	if (step == WHORL_RESTORE_BEGIN)
		place->coming_bytes = 0;
	else if (step == WHORL_RESTORE_BYTES)
		append(place, bytes, count);
	else
		finish(place);
	return !wh_play_failed(actor->play);
}

/* ---- places ---------------------------------------------------------------------------------------------------------------- */

void wh_state_of_place(struct place *place)
{
	const struct whorl_state functions = {.size = sizeof(functions),
					      .snapshot = take_snapshot,
					      .read = read_snapshot,
					      .release = release_snapshot,
					      .restore = restore,
					      .ctx = place};
	enum whorl_result result = whorl_on_state(place->subgroup, &functions);

	if (result != WHORL_OK)
		wh_play_fail(place->actor->play, "open: %s, g%u: whorl_on_state says %s", place->actor->name, place->g,
			     whorl_result_text(result));
}

void wh_place_begin(struct place *place, bool needs_state)
{
	if (place->awaits || place->behind) /* of the shard before: what was kept back of it is never upcalled */
		place->own = place->stream->claimed;
	place->empties = !needs_state && place->stay > 0;
	place->awaits = (needs_state || place->empties) && wh_play_has_states(place->actor->play);
	place->stay++;
	place->behind = false;
}

/* In unordered mode members may deliver in different orders. */
void wh_place_add(struct place *place, uint64_t payload)
{
	if (place->actor->play->plan->subgroups[place->g].ordered)
		place->state = wh_mix(place->state ^ payload) + 1;
	else
		place->state += wh_mix(payload);
}

void wh_place_look(struct place *place)
{
	struct actor *actor = place->actor;
	struct play *play = actor->play;

	if (!place->behind || place->awaits || place->seat == NULL || actor->removed || wh_play_failed(play) ||
	    wh_inspect_keeps(actor->node, place->g))
		return;
	place->behind = false;
	wh_tell(actor, TOLD_CAUGHT_UP, place->g, place->state, actor->scene->number, place->seat->deliveries);
	if (!wh_history_caught_up(play->history, actor->life, place->g))
		wh_play_fail(play, "%s", wh_history_broken(play->history));
}
