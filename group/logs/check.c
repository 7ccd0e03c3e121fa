/* check.c - logs are read again, slowly, while they are in use: rot is found when the node can still do something about it. See logs.h.
 *
 * It is done in the pauses of the job, a piece at a time, so that all of them are read once in the time of the configuration; and if there are
 * no pauses, when it is late. What is late is owed, so that under load each piece is late and none is lost. What was found stays until a later
 * pass finds nothing: behind a new checkpoint one comes at once.
 *
 * A log has its turn until it is read to its end, or gets a checkpoint: with that its pass begins again, and others would never have theirs.
 */
#include "group/logs/logs_int.h"

#include <stdio.h>
#include <string.h>

#include "base/counter.h"

#define PIECE_BYTES ((size_t)1 << 20)
#define PAUSE_LEAST_NS (40 * WH_NS_PER_MS) /* between two pieces: no disk is asked for more than 25 MB/s, */
#define LATE 10                            /* and so many pauses is late, and are owed at most */

static uint64_t least_ns(const struct wh_logs *logs)
{
	return logs->config.check_ns < WH_NS_PER_S ? logs->config.check_ns / 16 + 1 : PAUSE_LEAST_NS;
}

/* A checkpoint has come since rot was found. */
static bool may_be_good(const struct wh_shard_log *log)
{
	return wh_load_relaxed(&log->figures.rot) != 0 &&
	       wh_load_relaxed(&log->figures.checkpoints) != log->rotten_with;
}

static bool can_be_checked(const struct wh_shard_log *log)
{
	return log->log != NULL && !log->is_rotten;
}

/* That it is read in, about: its state, the rest of each segment, and the end are some more. */
static uint64_t pieces_of(const struct wh_shard_log *log)
{
	struct wh_log_statistics now;

	if (!can_be_checked(log))
		return 0;
	wh_log_statistics(log->log, &now);
	return 2 + now.segments + (now.used + now.checkpoint_bytes) / PIECE_BYTES;
}

/* From one piece to the next. */
static uint64_t pause_of(const struct wh_logs *logs, const struct wh_shard_log *log)
{
	uint64_t pieces = 1, least = least_ns(logs), pause;

	for (const struct wh_shard_log *each = wh_log_first_shard(logs); each != NULL; each = each->next)
		pieces += pieces_of(each);
	pause = logs->config.check_ns / pieces;
	if (pause < least || may_be_good(log))
		return least;
	return pause;
}

/* NULL: there is none behind it. */
static struct wh_shard_log *next_log(const struct wh_logs *logs, struct wh_shard_log *log)
{
	for (log = log != NULL ? log->next : wh_log_first_shard(logs); log != NULL; log = log->next)
		if (can_be_checked(log))
			return log;
	return NULL;
}

/* Its turn comes. NULL: that of none. */
static void turn_to(struct wh_logs *logs, struct wh_shard_log *log)
{
	if (log != NULL && log != logs->checked)
		logs->checked_with = wh_load_relaxed(&log->figures.checkpoints);
	logs->checked = log;
}

/* One that may be good again comes first. NULL: there is none that can be checked. */
static struct wh_shard_log *log_to_check(struct wh_logs *logs)
{
	for (struct wh_shard_log *log = next_log(logs, NULL); log != NULL; log = next_log(logs, log))
		if (may_be_good(log)) {
			turn_to(logs, log);
			return log;
		}
	if (logs->checked == NULL || !can_be_checked(logs->checked))
		turn_to(logs, next_log(logs, logs->checked));
	if (logs->checked == NULL)
		turn_to(logs, next_log(logs, NULL));
	return logs->checked;
}

/* The loop is told, but not that a checkpoint has not been enough: the file of what is damaged may be one that is in use, and goes with a later
 * one. */
static void note_rot(struct wh_logs *logs, struct wh_shard_log *log, const struct wh_log_found *found)
{
	bool is_news = !may_be_good(log);

	wh_store_relaxed(&log->figures.rot, 1);
	log->rotten_with = wh_load_relaxed(&log->figures.checkpoints);
	/* Acquire: the loop has the text before. Partner: wh_logs_take_rot. */
	if (!is_news || wh_load_acquire(&log->told) != wh_load_relaxed(&log->figures.rots))
		return;
	snprintf(log->why, sizeof(log->why), "%s: %s", found->file, found->why);
	/* Release: the text. Partner: wh_logs_take_rot. */
	wh_store_release(&log->figures.rots, wh_load_relaxed(&log->figures.rots) + 1);
	wh_logs_wake_loop(logs);
}

static void check_some(struct wh_logs *logs, struct wh_shard_log *log)
{
	enum wh_log_checked is = WH_LOG_CHECK_MORE;
	struct wh_log_found found;
	struct wh_error err;

	wh_logs_ask_disk(logs);
	if (wh_log_check(log->log, PIECE_BYTES, &is, &found, &err) != WHORL_OK) /* nothing is known: in a later pass */
		is = WH_LOG_CHECK_DONE;
	else if (is == WH_LOG_CHECK_DONE) {
		wh_store_relaxed(&log->figures.rot, 0);
		wh_count(&log->figures.checks, 1);
	}
	wh_store_relaxed(&logs->busy_ns, 0);
	if (is == WH_LOG_CHECK_ROT)
		note_rot(logs, log, &found);
	if (is == WH_LOG_CHECK_MORE && wh_load_relaxed(&log->figures.checkpoints) == logs->checked_with)
		return;
	logs->checked = NULL;
	turn_to(logs, next_log(logs, log));
}

/* A piece was read. What is owed stays, up to what is late. */
static void plan_next(struct wh_logs *logs, uint64_t pause)
{
	uint64_t now = wh_env_now(logs->config.env), late = LATE * pause;

	logs->check_at_ns += pause;
	if (logs->check_at_ns + late < now)
		logs->check_at_ns = now - late;
	logs->check_from_ns = now + least_ns(logs);
}

/* When the next piece is due. */
static uint64_t due_at(const struct wh_logs *logs, uint64_t pause, bool busy)
{
	uint64_t at = logs->check_at_ns + (busy ? LATE * pause : 0);

	return at > logs->check_from_ns ? at : logs->check_from_ns;
}

uint64_t wh_logs_check(struct wh_logs *logs, bool busy)
{
	uint64_t now = wh_env_now(logs->config.env), pause, due;
	struct wh_shard_log *log;

	if (logs->config.check_ns == 0)
		return UINT64_MAX;
	if (busy && now < logs->check_from_ns) /* none is due: between two batches no more is looked at */
		return logs->check_from_ns - now;
	log = log_to_check(logs);
	if (log == NULL) {
		logs->check_at_ns = 0;
		return logs->config.check_ns;
	}
	pause = pause_of(logs, log);
	if (logs->check_at_ns == 0 || logs->check_at_ns > now + pause)
		logs->check_at_ns = now + pause;
	due = due_at(logs, pause, busy);
	if (now < due) {
		if (busy)
			logs->check_from_ns = due - now < least_ns(logs) ? due : now + least_ns(logs);
		return due - now;
	}
	check_some(logs, log);
	plan_next(logs, pause);
	now = wh_env_now(logs->config.env);
	due = due_at(logs, pause, false);
	return due > now ? due - now : least_ns(logs);
}

/* Relaxed: it is looked at again and again, and says nothing of anything else. */
static bool has_rot(const struct wh_shard_log *log)
{
	return log != NULL && wh_load_relaxed(&log->figures.rot) != 0;
}

bool wh_logs_has_rot(const struct wh_logs *logs, uint64_t subgroup, uint32_t shard)
{
	return has_rot(wh_log_find_shard(logs, subgroup, shard));
}

bool wh_logs_take_rot(const struct wh_logs *logs, uint64_t subgroup, uint32_t shard, bool *rotten,
		      char why[WH_LOG_ROT_BYTES])
{
	struct wh_shard_log *log = wh_log_find_shard(logs, subgroup, shard);

	*rotten = has_rot(log);
	/* Acquire: the text. Partner: note_rot. */
	if (log == NULL || wh_load_acquire(&log->figures.rots) == wh_load_relaxed(&log->told))
		return false;
	memcpy(why, log->why, WH_LOG_ROT_BYTES);
	/* Release: the text was read. Partner: note_rot. */
	wh_store_release(&log->told, wh_load_relaxed(&log->figures.rots));
	return true;
}
