/* replay.c - a log is read again, behind a restart of all: the program's state, then the messages behind it (logs.h).
 *
 * The job reads a run of messages and copies it; the loop upcalls it, and says so; and so on. One run is on its way at a time.
 */
#include "group/logs/logs_int.h"
#include "state/wire.h"

#include <stdlib.h>
#include <string.h>

#define RUN 256
#define RUN_BYTES ((size_t)1 << 20)
/* Between two runs the job writes a batch, and waits for the disk: so they are long, unless many logs are read at a time. */
#define LONG_RUN 8192
#define LONG_RUN_BYTES ((size_t)8 << 20)
#define LONG_RUNS 4
#define UPCALL_MOST 256 /* of a run, in a row */

enum turn { TURN_JOB, TURN_LOOP };

struct past_view {
	bool there;
	struct whorl_view is; /* its members are the senders */
	uint32_t ids[WH_LOG_SENDERS_MAX];
	uint64_t incarnations[WH_LOG_SENDERS_MAX];
};

struct wh_replay {
	struct wh_replay *next; /* [lock] */
	struct wh_logs *logs;
	struct wh_shard_log *log;
	struct wh_log_point until;
	uint64_t after;                      /* [const] ticket: what begins the view of `until` is on disk then */
	const struct whorl_state *functions; /* NULL: the log has all of the state */
	wh_word turn;                        /* enum turn: to which side the rest belongs */
	bool is_over;                        /* [lock] the loop has done with it */
	whorl_subgroup
		*message_of; /* what messages name as their subgroup. The job only names it: it goes with the node */
	const struct wh_past_views *past_views; /* [loop] likewise */
	bool tells_views;                       /* [const] they are told to its program */
	bool begun;                             /* [job] */
	bool is_dropped;                        /* [job] the log's files are gone */
	struct wh_checkpoint *history; /* [job] the log that was given, which is read first; NULL: none, or it is over */
	struct wh_log_cursor *cursor;  /* [job] */
	bool has_given;                /* [job] `head` is that of the next message of it */
	unsigned char head[WH_STATE_MESSAGE_BYTES];
	/* Views that begin in the log, if they are told: the first thing of a run, and [job] of the next one. */
	struct past_view view, next_view;
	bool has_left; /* [job] `left` is the first of the next run; its data lies where the cursor has read it */
	struct whorl_message left;
	enum wh_replay_is is;
	struct wh_error error;
	size_t run, run_bytes; /* [const] */
	struct whorl_message *messages;
	size_t count, taken;
	unsigned char *bytes;
	size_t room, used;
};

static bool make_room(struct wh_replay *replay, size_t bytes)
{
	size_t room = bytes < replay->run_bytes ? replay->run_bytes : (bytes + 15) / 16 * 16;
	unsigned char *larger = realloc(replay->bytes, room);

	if (larger == NULL) {
		replay->is = WH_REPLAY_FAILED;
		wh_error_set(&replay->error, WHORL_MEMORY, "no memory for a message of %zu bytes", bytes);
		return false;
	}
	replay->bytes = larger;
	replay->room = room;
	return true;
}

/* With the lock. */
static void unlink_replay(const struct wh_replay *replay)
{
	struct wh_replay **at = &replay->logs->replays;

	while (*at != replay)
		at = &(*at)->next;
	*at = replay->next;
}

static void free_replay(struct wh_replay *replay)
{
	wh_checkpoint_drop(replay->history);
	wh_log_cursor_close(replay->cursor);
	free(replay->bytes);
	free(replay->messages);
	free(replay);
}

/* ---- the loop's side -------------------------------------------------------------------------------------------------- */

/* Where batches are small, runs are, too. */
static bool has_long_runs(struct wh_logs *logs)
{
	size_t count = 0;

	pthread_mutex_lock(&logs->lock);
	for (const struct wh_replay *replay = logs->replays; replay != NULL; replay = replay->next)
		count++;
	pthread_mutex_unlock(&logs->lock);
	return count < LONG_RUNS && logs->config.batch_bytes == 0;
}

enum whorl_result wh_replay_create(struct wh_replay **out, struct wh_logs *logs, uint64_t subgroup, uint32_t shard,
				   const struct wh_log_place *until, const struct whorl_state *functions,
				   whorl_subgroup *message_of, const struct wh_past_views *past_views,
				   struct wh_error *err)
{
	struct wh_replay *replay = calloc(1, sizeof(*replay));
	bool is_long = has_long_runs(logs);

	if (replay != NULL) {
		replay->run = is_long ? LONG_RUN : RUN;
		replay->run_bytes = is_long ? LONG_RUN_BYTES : RUN_BYTES;
		replay->messages = malloc(replay->run * sizeof(*replay->messages));
	}
	if (replay == NULL || replay->messages == NULL) {
		free(replay);
		return wh_error_set(err, WHORL_MEMORY, "no memory to read a log");
	}
	replay->logs = logs;
	replay->until = (struct wh_log_point){until->key, until->number, until->place};
	replay->message_of = message_of;
	replay->past_views = past_views;
	replay->functions = functions;
	replay->tells_views = functions != NULL && past_views->told != NULL;
	replay->log = wh_log_find_shard(logs, subgroup, shard);
	pthread_mutex_lock(&logs->lock);
	replay->after = logs->tickets;
	replay->next = logs->replays;
	logs->replays = replay;
	pthread_mutex_unlock(&logs->lock);
	wh_logs_wake_job(logs);
	*out = replay;
	return WHORL_OK;
}

enum wh_replay_is wh_replay_look(const struct wh_replay *replay, const struct whorl_message **messages, size_t *count,
				 struct wh_error *err)
{
	/* Acquire: what was read. Partner: end_turn. */
	if (wh_load_acquire(&replay->turn) == TURN_JOB)
		return WH_REPLAY_WAITS;
	*messages = replay->messages + replay->taken;
	*count = replay->count - replay->taken;
	if (*count > UPCALL_MOST)
		*count = UPCALL_MOST;
	if (replay->is == WH_REPLAY_FAILED)
		*err = replay->error;
	return replay->is;
}

void wh_replay_tell_view(struct wh_replay *replay)
{
	struct past_view *view = &replay->view;

	if (!view->there)
		return;
	view->there = false;
	view->is.members = view->ids;
	view->is.incarnations = view->incarnations;
	replay->past_views->told(&view->is, replay->past_views->ctx);
}

void wh_replay_take(struct wh_replay *replay, size_t count)
{
	replay->taken += count;
	if (replay->taken < replay->count)
		return;
	/* Release: the run has been upcalled. Partner: next_turn. */
	wh_store_release(&replay->turn, TURN_JOB);
	wh_logs_wake_job(replay->logs);
}

bool wh_replay_is_busy(const struct wh_replay *replay)
{
	/* Acquire: the job does nothing with it. Partner: end_turn. */
	return replay != NULL && wh_load_acquire(&replay->turn) == TURN_JOB;
}

/* The job frees it, or what frees the logs: the log that its cursor is in is the job's, which may drop it at any time. */
void wh_replay_free(struct wh_replay *replay)
{
	struct wh_logs *logs;

	if (replay == NULL)
		return;
	logs = replay->logs;
	pthread_mutex_lock(&logs->lock);
	replay->is_over = true;
	wh_store_release(&replay->turn, TURN_JOB); /* partner: next_turn */
	pthread_mutex_unlock(&logs->lock);
	wh_logs_wake_job(logs);
}

void wh_replays_free(struct wh_logs *logs)
{
	while (logs->replays != NULL) {
		struct wh_replay *replay = logs->replays;

		logs->replays = replay->next;
		free_replay(replay);
	}
}

/* ---- the job's side --------------------------------------------------------------------------------------------------- */

/* False: the disk could not; the replay has failed, though not the log. */
static bool check(struct wh_replay *replay, enum whorl_result result, const struct wh_error *err)
{
	if (result == WHORL_OK)
		return true;
	replay->is = WH_REPLAY_FAILED;
	replay->error = *err;
	return false;
}

/* With the bell: the end of the node waits for the program, and only for that. If it came first the functions are not there any more. */
static bool restore_part(struct wh_replay *replay, enum whorl_restore_step step, const void *bytes, size_t count)
{
	struct wh_logs *logs = replay->logs;
	struct wh_error err;
	bool good;

	pthread_mutex_lock(&logs->bell);
	good = !logs->closing && replay->functions->restore(step, bytes, count, replay->functions->ctx);
	pthread_mutex_unlock(&logs->bell);
	if (good)
		return true;
	return check(replay, wh_error_set(&err, WHORL_SYSTEM, "the program could not restore its state"), &err);
}

/* The program's state, as the checkpoint has it. */
static bool restore_checkpoint(struct wh_replay *replay, struct wh_checkpoint *checkpoint)
{
	struct wh_error err;
	size_t got = 0;

	if (replay->room < RUN_BYTES && !make_room(replay, RUN_BYTES))
		return false;
	if (!restore_part(replay, WHORL_RESTORE_BEGIN, NULL, 0))
		return false;
	do {
		if (!check(replay, wh_checkpoint_read(checkpoint, replay->bytes, RUN_BYTES, &got, &err), &err) ||
		    (got > 0 && !restore_part(replay, WHORL_RESTORE_BYTES, replay->bytes, got)))
			return false;
	} while (got > 0);
	return restore_part(replay, WHORL_RESTORE_END, NULL, 0);
}

/* Where the next message of the run goes; NULL: it has no bytes, nor has any before it. */
static unsigned char *end_of_run(const struct wh_replay *replay)
{
	return replay->used > 0 ? replay->bytes + replay->used : replay->bytes;
}

/* ---- a log that was given --------------------------------------------------------------------------------------------- */

/* All of these bytes. *none (NULL: that is wrong): there are none any more. False: it has failed. */
static bool read_history(struct wh_replay *replay, unsigned char *to, size_t bytes, bool *none)
{
	struct wh_error err;
	size_t got = 0;

	for (size_t at = 0; at < bytes; at += got) {
		if (!check(replay, wh_checkpoint_read(replay->history, to + at, bytes - at, &got, &err), &err))
			return false;
		if (got > 0)
			continue;
		if (none != NULL && at == 0) {
			*none = true;
			return true;
		}
		return check(replay, wh_error_set(&err, WHORL_DISK, "the log that was given is cut off"), &err);
	}
	return true;
}

/* What lies there is the state of a program, if it does not begin so. */
static bool begin_history(struct wh_replay *replay)
{
	unsigned char magic[WH_HISTORY_MAGIC_BYTES];
	struct wh_error err;
	bool none = false;

	if (!read_history(replay, magic, sizeof(magic), &none))
		return false;
	if (!none && memcmp(magic, WH_HISTORY_MAGIC, sizeof(magic)) == 0)
		return true;
	return check(replay,
		     wh_error_set(&err, WHORL_CONFIG,
				  "there is a state in the log of %s, and the program has no functions for it",
				  replay->log->name),
		     &err);
}

/* The next message of it, behind those of this run. False: there is none that has room, or it failed. */
static bool read_given(struct wh_replay *replay)
{
	struct whorl_message *message = &replay->messages[replay->count];
	struct wh_error err;
	bool none = false;

	if (!replay->has_given) {
		if (!read_history(replay, replay->head, sizeof(replay->head), &none))
			return false;
		if (none) {
			wh_checkpoint_drop(replay->history);
			replay->history = NULL;
			return false;
		}
		replay->has_given = true;
	}
	if (!wh_state_get_message(replay->head, message) || message->bytes > WH_LOG_MESSAGE_MAX)
		return check(replay, wh_error_set(&err, WHORL_DISK, "the log that was given has what is no message"),
			     &err);
	if (replay->used + message->bytes > replay->room && (replay->count > 0 || !make_room(replay, message->bytes)))
		return false;
	if (!read_history(replay, end_of_run(replay), message->bytes, NULL))
		return false;
	message->data = end_of_run(replay);
	message->subgroup = replay->message_of;
	replay->used += (message->bytes + 15) / 16 * 16;
	replay->count++;
	replay->has_given = false;
	return true;
}

/* False: the run is full, or it failed. */
static bool fill_from_history(struct wh_replay *replay)
{
	while (replay->history != NULL && replay->count < replay->run && read_given(replay))
		;
	return replay->history == NULL && replay->is == WH_REPLAY_HAS;
}

static bool begin_replay(struct wh_replay *replay)
{
	struct wh_checkpoint *checkpoint = NULL;
	struct wh_error err;
	enum whorl_result result = wh_checkpoint_open(&checkpoint, replay->log->log, &err);
	bool restored = true;

	replay->begun = true;
	if (result != WHORL_OK && result != WHORL_NOT_FOUND)
		return check(replay, result, &err);
	if (result == WHORL_OK && replay->functions == NULL) {
		replay->history = checkpoint;
		checkpoint = NULL;
		restored = begin_history(replay);
	} else if (result == WHORL_OK) {
		restored = restore_checkpoint(replay, checkpoint);
	}
	wh_checkpoint_drop(checkpoint);
	if (!restored)
		return false;
	return check(replay, wh_log_cursor_open(&replay->cursor, replay->log->log, NULL, &replay->until, &err), &err);
}

/* What its view says of it is taken now: views that begin in the log between two runs move the others. */
static void note_left(struct wh_replay *replay, const struct wh_log_entry *entry)
{
	const struct wh_log_message *message = &entry->message;
	const struct wh_log_sender *sender = &entry->view->senders[message->sender];

	replay->left = (struct whorl_message){.size = sizeof(struct whorl_message),
					      .sender = sender->id,
					      .data = message->data,
					      .bytes = message->bytes,
					      .index = message->index,
					      .view = entry->view->number,
					      .sequence = message->place,
					      .subgroup = replay->message_of,
					      .incarnation = sender->incarnation,
					      .parts = 1,
					      .indexes = message->slots};
	replay->has_left = true;
}

/* One without senders was over before anything of it came here. */
static bool is_told(const struct wh_replay *replay, const struct wh_log_view *view)
{
	return replay->tells_views && view->sender_count > 0;
}

/* It comes in front of the next run, or of this one, if that is empty yet. */
static void note_view(struct wh_replay *replay, const struct wh_log_view *view)
{
	struct past_view *next = &replay->next_view;

	next->there = true;
	next->is = (struct whorl_view){.size = sizeof(next->is),
				       .number = view->number,
				       .member_count = view->sender_count,
				       .rank = UINT32_MAX};
	for (uint32_t i = 0; i < view->sender_count; i++) {
		next->ids[i] = view->senders[i].id;
		next->incarnations[i] = view->senders[i].incarnation;
	}
}

/* False: a view comes before all else, and the run has something already. */
static bool begin_view(struct wh_replay *replay)
{
	if (!replay->next_view.there)
		return true;
	if (replay->count > 0 || replay->view.there)
		return false;
	replay->view = replay->next_view;
	replay->next_view.there = false;
	return true;
}

/* The next of the log. False: there is none for this run, or it failed. */
static bool read_left(struct wh_replay *replay)
{
	struct wh_log_entry entry;
	struct wh_error err;

	if (!begin_view(replay))
		return false;
	if (replay->has_left)
		return true;
	do {
		if (!check(replay, wh_log_cursor_next(replay->cursor, &entry, &err), &err))
			return false;
		if (entry.kind == WH_LOG_VIEW && is_told(replay, entry.view)) {
			note_view(replay, entry.view);
			if (!begin_view(replay))
				return false;
		}
	} while (entry.kind == WH_LOG_VIEW);
	if (entry.kind == WH_LOG_MESSAGE)
		note_left(replay, &entry);
	return replay->has_left;
}

static void copy_left(struct wh_replay *replay)
{
	struct whorl_message *message = &replay->messages[replay->count++];
	unsigned char *to = end_of_run(replay);

	*message = replay->left;
	if (message->bytes > 0)
		memcpy(to, message->data, message->bytes);
	message->data = to;
	replay->used += (message->bytes + 15) / 16 * 16;
	replay->has_left = false;
}

/* The next run; one that is empty is the end. */
static void fill_run(struct wh_replay *replay)
{
	struct wh_error err;

	replay->count = replay->taken = replay->used = 0;
	replay->is = WH_REPLAY_HAS;
	if (replay->is_dropped) {
		(void)check(replay, wh_error_set(&err, WHORL_CLOSED, "this node has left it"), &err);
		return;
	}
	if (!replay->begun && !begin_replay(replay))
		return;
	if (!fill_from_history(replay))
		return;
	while (replay->count < replay->run && read_left(replay)) {
		if (replay->used + replay->left.bytes > replay->room) {
			if (replay->count > 0)
				return;
			if (!make_room(replay, replay->left.bytes))
				return;
		}
		copy_left(replay);
	}
	if (replay->count == 0 && !replay->view.there && replay->is == WH_REPLAY_HAS)
		replay->is = WH_REPLAY_ENDED;
}

static void end_turn(struct wh_replay *replay)
{
	struct wh_logs *logs = replay->logs;
	bool is_over;

	pthread_mutex_lock(&logs->lock);
	is_over = replay->is_over;
	if (is_over)
		unlink_replay(replay);
	else /* release: what was read. Partner: wh_replay_look */
		wh_store_release(&replay->turn, TURN_LOOP);
	pthread_mutex_unlock(&logs->lock);
	if (is_over)
		free_replay(replay);
	wh_logs_wake_loop(logs);
}

void wh_replays_drop(struct wh_logs *logs, const struct wh_shard_log *log)
{
	pthread_mutex_lock(&logs->lock);
	for (struct wh_replay *replay = logs->replays; replay != NULL; replay = replay->next) {
		if (replay->log != log)
			continue;
		wh_checkpoint_drop(replay->history);
		wh_log_cursor_close(replay->cursor);
		replay->history = NULL;
		replay->cursor = NULL;
		replay->has_left = false;
		replay->is_dropped = true;
	}
	pthread_mutex_unlock(&logs->lock);
}

/* An order may have come since the job looked for one, and one that finds no room stays undone for a while: then this waits. */
static bool is_due(const struct wh_logs *logs, const struct wh_replay *replay)
{
	/* Acquire: the run before was upcalled. Partner: wh_replay_take. */
	return wh_load_acquire(&replay->turn) == TURN_JOB && (replay->is_over || wh_logs_has_done(logs, replay->after));
}

static struct wh_replay *next_turn(struct wh_logs *logs)
{
	struct wh_replay *replay;

	pthread_mutex_lock(&logs->lock);
	for (replay = logs->replays; replay != NULL && !is_due(logs, replay);)
		replay = replay->next;
	pthread_mutex_unlock(&logs->lock);
	return replay;
}

size_t wh_logs_replay(struct wh_logs *logs)
{
	struct wh_replay *replay;
	size_t count = 0;

	for (; (replay = next_turn(logs)) != NULL; count++) {
		wh_logs_ask_disk(logs);
		if (!replay->is_over)
			fill_run(replay);
		(void)wh_logs_settle(logs, WHORL_OK, NULL);
		end_turn(replay);
	}
	return count;
}
