/* durable_state.c - the states of durable subgroups, which go to disk: a newcomer's log is whole when the state that it was given is on its
 * disk, and what lies before a state can go (docs/decisions/0058).
 *
 * The functions of the program are wrapped: what a giver reads begins with its place, as a newcomer's checkpoint needs it; and what a
 * newcomer restores goes to its log as well. A checkpoint of one's own is the same without another node.
 */
#include "group/durable.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "group/logs/state_place.h"
#include "group/node_int.h"

struct wh_durable_state {
	struct whorl_state program; /* [const] */
	whorl_subgroup *subgroup;   /* [const] */
	bool is_log; /* [const after start] the program has no functions: these are those of durable_log.c */
	struct wh_replay
		*history; /* [loop] of such a log, as it was given; NULL: nothing of it is to be upcalled, or not yet */
	bool recovers;    /* [loop] it comes back from this node's log, up to: */
	struct wh_log_place until;
	/* What comes of a state that is given. [the job that restores; the loop when it is over] */
	unsigned char place[WH_STATE_PLACE_BYTES_MAX];
	size_t held;
	bool begun; /* its place is known, and a checkpoint is written */
	struct writing {
		uint32_t shard;
		uint64_t checkpoint; /* its number */
	} writing;
	/* A checkpoint of this node's own. */
	wh_word busy;  /* 1: a job reads it. [loop sets, the job clears] */
	wh_word asked; /* 1: one is to be made. [any sets, loop clears] */
	uint64_t ends; /* ticket of the end of the last. [the job, until busy is 0] */
	bool lies;     /* the last has come to its end, on disk or not, and */
	uint64_t left; /* so much lies in the log that it has left there. [loop] */
};

struct snapshot {
	void *of_program;
	size_t bytes, read; /* of the place */
	unsigned char place[];
};

/* ---- the giver ---------------------------------------------------------------------------------------------------------- */

/* Of the current view alone its key is known here; a state that was given out of a later one is given on when that has begun. */
static void *take_snapshot(const struct whorl_position *position, void *ctx)
{
	struct wh_durable_state *state = ctx;
	const struct wh_epoch *epoch = state->subgroup->node->epochs.current;
	size_t bytes = wh_state_place_bytes(position->sender_count);
	struct snapshot *snapshot;

	if (epoch == NULL || epoch->view->number != position->view)
		return NULL;
	snapshot = malloc(sizeof(*snapshot) + bytes);
	if (snapshot == NULL)
		return NULL;
	snapshot->bytes = bytes;
	snapshot->read = 0;
	wh_state_place_put(snapshot->place, epoch->image->key, position);
	snapshot->of_program = state->program.snapshot(position, state->program.ctx);
	if (snapshot->of_program != NULL)
		return snapshot;
	free(snapshot);
	return NULL;
}

static ptrdiff_t read_snapshot(void *handle, void *bytes, size_t count, void *ctx)
{
	const struct wh_durable_state *state = ctx;
	struct snapshot *snapshot = handle;
	size_t left = snapshot->bytes - snapshot->read;

	if (left == 0)
		return state->program.read(snapshot->of_program, bytes, count, state->program.ctx);
	left = left < count ? left : count;
	memcpy(bytes, snapshot->place + snapshot->read, left);
	snapshot->read += left;
	return (ptrdiff_t)left;
}

static void release_snapshot(void *handle, void *ctx)
{
	const struct wh_durable_state *state = ctx;
	struct snapshot *snapshot = handle;

	state->program.release(snapshot->of_program, state->program.ctx);
	free(snapshot);
}

/* ---- the newcomer ------------------------------------------------------------------------------------------------------- */

/* In which shard this node is may change meanwhile. */
static struct writing begin_writing(const struct wh_durable_state *state)
{
	return (struct writing){(uint32_t)wh_load_relaxed(&state->subgroup->figures.log_shard),
				wh_logs_new_checkpoint(state->subgroup->node->disk.logs)};
}

/* Returns a ticket; 0: it could not be handed over. */
static uint64_t to_log(const struct wh_durable_state *state, const struct writing *writing,
		       enum wh_checkpoint_step step, const void *bytes, size_t count)
{
	return wh_logs_checkpoint(state->subgroup->node->disk.logs, wh_node_number_of(state->subgroup), writing->shard,
				  writing->checkpoint, step, bytes, count);
}

/* A part of what is restored. True: it is handed over; or the disk has failed, for which the node leaves in its next pass: that is no failure of
 * the program. */
static bool keep_part(const struct wh_durable_state *state, enum wh_checkpoint_step step, const void *bytes,
		      size_t count)
{
	return to_log(state, &state->writing, step, bytes, count) != 0 ||
	       wh_logs_has_failed(state->subgroup->node->disk.logs);
}

/* Of the bytes that came those that are of the place. False: there is none that can be, or the log cannot take it. */
static bool collect_place(struct wh_durable_state *state, const unsigned char **bytes, size_t *count)
{
	while (!state->begun) {
		size_t needs = wh_state_place_needs(state->place, state->held), missing;

		if (needs == SIZE_MAX)
			return false;
		if (state->held == needs) {
			state->begun = keep_part(state, WH_CHECKPOINT_BEGIN, state->place, state->held);
			return state->begun;
		}
		if (*count == 0)
			return true;
		missing = needs - state->held < *count ? needs - state->held : *count;
		memcpy(state->place + state->held, *bytes, missing);
		state->held += missing;
		*bytes += missing;
		*count -= missing;
	}
	return true;
}

static bool restore_bytes(struct wh_durable_state *state, const unsigned char *bytes, size_t count)
{
	if (!collect_place(state, &bytes, &count))
		return false;
	if (count == 0)
		return true;
	return keep_part(state, WH_CHECKPOINT_BYTES, bytes, count) &&
	       state->program.restore(WHORL_RESTORE_BYTES, bytes, count, state->program.ctx);
}

/* No place came: it is the empty state of a shard that no node was in before. */
static bool end_restore(struct wh_durable_state *state)
{
	if (state->held > 0 && (!state->begun || !keep_part(state, WH_CHECKPOINT_END, NULL, 0)))
		return false;
	return state->program.restore(WHORL_RESTORE_END, NULL, 0, state->program.ctx);
}

static bool restore_state(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	struct wh_durable_state *state = ctx;

	switch (step) {
	case WHORL_RESTORE_BEGIN:
		if (state->begun)
			(void)to_log(state, &state->writing, WH_CHECKPOINT_DROP, NULL, 0);
		state->writing = begin_writing(state);
		state->held = 0;
		state->begun = false;
		return state->program.restore(step, NULL, 0, state->program.ctx);
	case WHORL_RESTORE_BYTES:
		return restore_bytes(state, bytes, count);
	case WHORL_RESTORE_END:
		break;
	}
	return end_restore(state);
}

/* ---- a checkpoint of one's own ------------------------------------------------------------------------------------------ */

#define PIECE_BYTES ((size_t)256 << 10)

struct own {
	struct wh_durable_state *state;
	struct writing writing;
	void *snapshot;
	unsigned char *piece;
};

/* A state that a thread of its own has may not be there yet. In simulation nothing can wait: then it is made another time. */
static ptrdiff_t read_own(const struct own *own)
{
	const struct timespec moment = {.tv_nsec = (long)WH_NS_PER_MS};
	struct wh_durable_state *state = own->state;
	ptrdiff_t got;

	while ((got = read_snapshot(own->snapshot, own->piece, PIECE_BYTES, state)) == WH_STATE_READ_AGAIN &&
	       state->subgroup->node->fixed.world_env->nap == NULL)
		nanosleep(&moment, NULL);
	return got;
}

static void write_checkpoint(struct own *own)
{
	struct wh_durable_state *state = own->state;
	struct snapshot *snapshot = own->snapshot;
	ptrdiff_t got = -1;
	bool goes_on = to_log(state, &own->writing, WH_CHECKPOINT_BEGIN, snapshot->place, snapshot->bytes) != 0;

	snapshot->read = snapshot->bytes;
	while (goes_on && (got = read_own(own)) > 0)
		goes_on = (size_t)got <= PIECE_BYTES &&
			  to_log(state, &own->writing, WH_CHECKPOINT_BYTES, own->piece, (size_t)got) != 0;
	state->ends =
		to_log(state, &own->writing, goes_on && got == 0 ? WH_CHECKPOINT_END : WH_CHECKPOINT_DROP, NULL, 0);
}

static void run_checkpoint(void *argument)
{
	struct own *own = argument;
	struct wh_durable_state *state = own->state;
	whorl_node *node = state->subgroup->node;

	write_checkpoint(own);
	release_snapshot(own->snapshot, state);
	free(own->piece);
	free(own);
	wh_store_release(&state->busy, 0); /* partners: is_done, wh_durable_stops */
	wh_fetch_add(&node->uses.jobs, UINT64_MAX);
}

/* On the loop, between two messages. */
static void begin_checkpoint(struct wh_durable_state *state)
{
	whorl_node *node = state->subgroup->node;
	struct own *own = calloc(1, sizeof(*own));

	if (own != NULL)
		own->piece = malloc(PIECE_BYTES);
	if (own != NULL && own->piece != NULL)
		own->snapshot = wh_state_fix(state->subgroup->state);
	if (own == NULL || own->snapshot == NULL) { /* not now */
		if (own != NULL)
			free(own->piece);
		free(own);
		return;
	}
	own->state = state;
	own->writing = begin_writing(state);
	state->lies = false;
	wh_store_relaxed(&state->asked, 0);
	wh_store_relaxed(&state->busy, 1);
	wh_fetch_add(&node->uses.jobs, 1);
	node->fixed.env.submit(node->fixed.env.ctx, run_checkpoint, own);
}

/* ---- what the node calls ------------------------------------------------------------------------------------------------ */

enum whorl_result wh_durable_wrap_state(whorl_subgroup *subgroup, struct whorl_state *functions, struct wh_error *err)
{
	struct wh_durable_state *state = calloc(1, sizeof(*state));

	if (state == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a state");
	state->program = *functions;
	state->subgroup = subgroup;
	wh_durable_free_state(subgroup, false);
	subgroup->durable_state = state;
	*functions = (struct whorl_state){.size = sizeof(*functions),
					  .snapshot = take_snapshot,
					  .read = read_snapshot,
					  .release = release_snapshot,
					  .restore = restore_state,
					  .ctx = state};
	return WHORL_OK;
}

/* In a child that was forked the log's lock is the parent's. */
void wh_durable_free_state(whorl_subgroup *subgroup, bool forked)
{
	struct wh_durable_state *state = subgroup->durable_state;

	subgroup->durable_state = NULL;
	if (state != NULL && !forked)
		wh_replay_free(state->history);
	free(state);
}

const struct whorl_state *wh_durable_program_state(const whorl_subgroup *subgroup)
{
	return subgroup->durable_state != NULL && !subgroup->durable_state->is_log ? &subgroup->durable_state->program
										   : NULL;
}

void wh_durable_note_log(whorl_subgroup *subgroup)
{
	subgroup->durable_state->is_log = true;
}

struct wh_replay **wh_durable_history(whorl_subgroup *subgroup, struct wh_log_place *until)
{
	struct wh_durable_state *state = subgroup->durable_state;
	struct wh_log_position position;

	if (state != NULL && state->recovers)
		return &state->history;
	if (state == NULL || !state->is_log || !state->begun ||
	    !wh_state_place_take(state->place, state->held, &position))
		return NULL;
	*until = (struct wh_log_place){position.point.key, position.point.number, position.point.place};
	return &state->history;
}

void wh_durable_recover(const struct wh_epoch *epoch, const struct wh_shard_member *member)
{
	struct wh_durable_state *state = member->subgroup->durable_state;
	const struct wh_shard_standing *shard =
		wh_standing_shard(wh_logs_standing(epoch->node->disk.logs), wh_subgroup_number(member->layout), 0);

	state->recovers = true;
	state->until =
		(struct wh_log_place){shard != NULL ? shard->before : 0, member->layout->from, member->layout->cut};
}

bool wh_durable_recovers(const whorl_subgroup *subgroup, struct wh_log_place *until)
{
	const struct wh_durable_state *state = subgroup->durable_state;

	if (state == NULL || !state->recovers)
		return false;
	*until = state->until;
	return true;
}

void wh_durable_recovered(whorl_subgroup *subgroup)
{
	subgroup->durable_state->recovers = false;
}

bool wh_durable_stops(whorl_subgroup *subgroup)
{
	struct wh_durable_state *state = subgroup->durable_state;

	if (state == NULL)
		return false;
	/* Acquire: the job does nothing more with it. Partner: run_checkpoint. */
	if (wh_load_acquire(&state->busy) != 0 || wh_replay_is_busy(state->history))
		return true;
	wh_replay_free(state->history);
	state->history = NULL;
	return false;
}

void wh_durable_ask_checkpoint(whorl_subgroup *subgroup)
{
	wh_store_relaxed(&subgroup->durable_state->asked, 1);
}

/* The last has come to its end. Files that hold something behind it stay, so the log may be as long as before: the next one comes when
 * it is longer by log_bytes than that. */
static bool is_done(struct wh_durable_state *state, uint64_t used)
{
	if (wh_load_acquire(&state->busy) != 0 || !wh_logs_has_done(state->subgroup->node->disk.logs, state->ends))
		return false;
	if (!state->lies || used < state->left)
		state->left = state->ends != 0 ? used : 0;
	state->lies = true;
	return true;
}

void wh_durable_step_state(whorl_subgroup *subgroup, uint64_t log_bytes)
{
	struct wh_durable_state *state = subgroup->durable_state;
	uint64_t used = wh_logs_used(subgroup->node->disk.logs, wh_node_number_of(subgroup),
				     (uint32_t)wh_load_relaxed(&subgroup->figures.log_shard));

	if (state == NULL || state->is_log || !is_done(state, used) ||
	    (used <= state->left + log_bytes && wh_load_relaxed(&state->asked) == 0))
		return;
	if (!wh_state_keeps(subgroup->state) && subgroup->offer.backlog.messages == 0)
		begin_checkpoint(state);
}
