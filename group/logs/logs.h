/* logs.h - the logs of one node: what writes its durable subgroups to disk, and what its disk says of views (docs/decisions/0058).
 *
 *     loop            hands over standings, views and sources, in order; looks how far they are
 *     a lasting job   does them in that order, each on disk before the next; then writes what sources have received, syncs, says so,
 *                     and begins again: what has come meanwhile is the next batch
 *
 * A *source* is what one shard of one view gives to its log. The job copies out of the rings under a lock, and writes from its own memory:
 * so a disk that hangs never holds memory of a view, nor the loop. The loop takes the lock when it hands something over and when a view is
 * over, never in a pass of its own.
 *
 * When the disk has failed, or does not answer, nothing more is written; the node leaves (wh_logs_look says why).
 *
 * Threads: the loop's, or that of the open and close of the node, if not said otherwise. Memory: an order is allocated when it is handed over.
 */
#ifndef WH_GROUP_LOGS_H
#define WH_GROUP_LOGS_H

#include <whorl/whorl.h>

#include "base/disk.h"
#include "base/env.h"
#include "persistence/standing.h"
#include "predicates/persist.h"

struct wh_logs;
struct wh_log_source;

struct wh_log_source_config { /* copied; arrays have an entry for each sender of the shard */
	const char *name;     /* of the subgroup, as it is called in files: 1 to 63 of A-Z a-z 0-9 _ . - */
	uint64_t subgroup;
	uint32_t shard;
	uint64_t view, key; /* number, and key of the image */
	const uint32_t *sender_ids;
	const uint64_t *sender_incarnations;
	uint32_t sender_count;
	const struct wh_slots *slots; /* outlives the source */
	uint32_t parts_most, message_bytes;
	uint64_t log_bytes; /* so long may it be before there is a checkpoint */
};

struct wh_logs_config {           /* copied, the name of the group too; the path stays, as wh_logs_copy looks at it */
	const struct wh_env *env; /* the world's: a disk that hangs may outlive the node */
	const char *path;         /* [group] log_dir: the node's directory is below it */
	const char *group;        /* its name */
	uint32_t node;            /* its id */
	/* What a subgroup of the file is, by its number in standings, which say it of dynamic ones. False: there is none of that number. Of these
	 * fields `name`, `parts_most`, `message_bytes` and `log_bytes`. */
	bool (*describe)(const void *ctx, uint64_t subgroup, struct wh_log_source_config *out);
	const void *describe_ctx; /* until wh_logs_hush, as what `describe` answers */
	uint64_t timeout_ns;      /* disk_timeout_ms */
	uint64_t patience_ns; /* so long it waits for a directory that another node has locked, which may speak for it. 0: not at all */
	uint32_t batch_bytes; /* of messages in a batch; 0: as usual */
	uint64_t check_ns; /* in such a time all of them are read again, when there is nothing else to do; 0: never */
	uint32_t nodes; /* ids are below: on one host, directories of which are looked at; 0: there are no others here */
	/* The loop is to look: something has come to disk. The job's thread. NULL: no loop looks yet (wh_logs_belong). */
	void (*wake)(void *ctx);
	void *ctx;
};

/* Locks the directory, reads what lies there, and starts the job. May block for as long as the disk takes. WHORL_OK; WHORL_DISK: it cannot be
 * read or locked, or what lies there is another node's, or damaged; WHORL_MEMORY; WHORL_SYSTEM: no thread; WHORL_UNSUPPORTED: this
 * world has no files. */
WH_MUST_CHECK enum whorl_result wh_logs_open(struct wh_logs **out, const struct wh_logs_config *config,
					     struct wh_error *err);
/* They were opened without `wake`, by a thread that another may have left behind; from here on that loop looks at them. */
void wh_logs_belong(struct wh_logs *logs, void (*wake)(void *ctx), void *ctx);
/* No checkpoint is taken any more, and no thread waits in one. NULL is fine. */
void wh_logs_stop(struct wh_logs *logs);
/* The job uses nothing of the node any more: it does not wake it, and calls none of the program's functions. Waits for one that it is in, but for
 * no disk. NULL is fine. */
void wh_logs_hush(struct wh_logs *logs);
/* The same; and waits for the job, no longer than for a disk that answers. Nothing comes to disk after that. NULL is fine. */
void wh_logs_end(struct wh_logs *logs);
/* The same, if that was not done; and closes the files, for which a disk that hangs is waited for, and frees. A job that a disk still holds keeps
 * what it needs. NULL is fine. `forked`: the job is the parent's. */
void wh_logs_close(struct wh_logs *logs, bool forked);

/* One pass: false: the disk has failed, or does not answer; the text says what. `now_ns` is the loop's clock. */
WH_MUST_CHECK bool wh_logs_look(struct wh_logs *logs, uint64_t now_ns, struct wh_error *err);

/* ---- standings and views ------------------------------------------------------------------------------------------------ */

/* What was handed over last: what the disk says, or will. */
const struct wh_standing *wh_logs_standing(const struct wh_logs *logs);

/* Hands one over, or a view's bytes. Returns a ticket, 0: no memory (in the next pass). They come to disk in the order in which they
 * are handed over, before what is written of sources that are handed over later. */
uint64_t wh_logs_write_standing(struct wh_logs *logs, const struct wh_standing *standing);
uint64_t wh_logs_write_view(struct wh_logs *logs, uint64_t key, const void *bytes, size_t count);
/* Is that on disk, and all that was handed over before it? */
bool wh_logs_has_done(const struct wh_logs *logs, uint64_t ticket);

/* Is that standing on disk? */
bool wh_logs_has_standing(const struct wh_logs *logs);
/* The ticket of that view with these bytes, if it was handed over and may be on disk still; 0: it was not. */
uint64_t wh_logs_view_ticket(const struct wh_logs *logs, uint64_t key, const void *bytes, size_t count);

/* A view's bytes, of those that the standing names or that were handed over; they last until the next one is. False: they are not there, or
 * damaged. */
bool wh_logs_view(const struct wh_logs *logs, uint64_t key, const unsigned char **bytes, size_t *count);
/* On one host: has that node a directory here with something in it? As it was at wh_logs_open. */
bool wh_logs_has_disk(const struct wh_logs *logs, uint32_t node);

/* ---- what was found, and reading it again ------------------------------------------------------------------------------ */

struct wh_log_is {      /* of a shard, as it was found at wh_logs_open, and with what was marked since (wh_logs_mark) */
	bool whole;     /* it counts: it has all of its shard */
	bool rot;       /* something is damaged or missing that was there once */
	bool has_base;  /* the standing's base has begun in it, */
	uint64_t place; /* and this far it goes there; else 0 */
	uint64_t frontier; /* and so far all members had it on disk, it says; else 0 */
	const char *why;   /* for people */
};

/* A shard as its standing names it: `name` and sizes in *out. False: it is of the file, and that has it no more. */
bool wh_logs_describe(const struct wh_logs *logs, const struct wh_shard_standing *shard,
		      struct wh_log_source_config *out);

/* Of a subgroup that is dormant, as far as this disk has it: the log ends in view `key`, at `place`. False: this disk has nothing of it. */
bool wh_logs_found_dormant(const struct wh_logs *logs, uint64_t birth, struct wh_log_is *out);
/* It is to come back: the view that it ends in has its beginning there, if it had not come to disk. False: no memory. */
WH_MUST_CHECK bool wh_logs_mark_dormant(struct wh_logs *logs, const struct wh_dormant_log *dormant);
/* It is dormant from now on: the log of that name ends there, all below being on disk. False: no memory. */
WH_MUST_CHECK bool wh_logs_fall_asleep(struct wh_logs *logs, const struct wh_dormant_log *dormant);
/* The log of that shard is of no use any more: its files go, when what was handed over before is on disk. False: no memory. */
WH_MUST_CHECK bool wh_logs_drop_log(struct wh_logs *logs, const struct wh_shard_standing *shard);

/* The log of that shard, which is of the file, becomes what the directory of that node of this host has of it, in which no view begins meanwhile. It
 * counts as damaged until that has come to its end, and after that if it came to nothing; the standing must not say that it is whole before, nor
 * if it goes less far than what was to be copied, or the lock of that directory was let go of meanwhile. False: no memory. */
WH_MUST_CHECK bool wh_logs_copy(struct wh_logs *logs, const struct wh_shard_standing *shard, uint32_t from);
bool wh_logs_copies(const struct wh_logs *logs, uint64_t subgroup, uint32_t shard);

/* False: the standing names no such shard. */
bool wh_logs_found(const struct wh_logs *logs, uint64_t subgroup, uint32_t shard, struct wh_log_is *out);

struct wh_log_place { /* everything of that view below it */
	uint64_t key, number, place;
};

struct wh_past_views {       /* of a log that is read again: what is told of the views in it */
	whorl_view_fn *told; /* NULL: nothing */
	void *ctx;
};

struct wh_replay;
enum wh_replay_is { WH_REPLAY_WAITS, WH_REPLAY_HAS, WH_REPLAY_ENDED, WH_REPLAY_FAILED };

/* What begins a log that was given to a newcomer, where the log is the state (durable_log.c). Then come its messages, as state/wire.h has
 * them, each with its data behind it. */
#define WH_HISTORY_MAGIC "WHLH\1\0\0\0"
#define WH_HISTORY_MAGIC_BYTES 8

/* Of a log that is whole, when what was handed over before is on disk: the program's state, by `functions` (NULL: there are none, and the log
 * has all), on the job's thread; then the messages behind it to before `until`, which name `message_of` as their subgroup (it is not looked into). `past_views` outlives it. WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_replay_create(struct wh_replay **out, struct wh_logs *logs, uint64_t subgroup,
						 uint32_t shard, const struct wh_log_place *until,
						 const struct whorl_state *functions, whorl_subgroup *message_of,
						 const struct wh_past_views *past_views, struct wh_error *err);
/* WH_REPLAY_HAS: the next messages, in order, until they are taken; none, if only a view has begun. WH_REPLAY_FAILED: why. */
enum wh_replay_is wh_replay_look(const struct wh_replay *replay, const struct whorl_message **messages, size_t *count,
				 struct wh_error *err);
/* If what it has begins with a view of then: upcalls it, if `past_views` are told and there are `functions`. Once. */
void wh_replay_tell_view(struct wh_replay *replay);
/* The first so many have been upcalled. */
void wh_replay_take(struct wh_replay *replay, size_t count);
/* A run is being read, or its state is restored by the program's functions. NULL: it is not. */
bool wh_replay_is_busy(const struct wh_replay *replay);
void wh_replay_free(struct wh_replay *replay); /* NULL is fine */

/* ---- sources ------------------------------------------------------------------------------------------------------------ */

#define WH_LOG_MESSAGE_MAX (UINT64_C(1) << 29) /* bytes of a message of a durable subgroup, at most */

/* What a shard of a view that may begin gives, when it does. WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_log_source_create(struct wh_log_source **out, struct wh_logs *logs,
						     const struct wh_log_source_config *config, struct wh_error *err);
/* What passes between it and the multicast. */
struct wh_persist *wh_log_source_persist(struct wh_log_source *source);
struct wh_log_entry_at {  /* how a view begins in a log */
	uint64_t cut;     /* what the log has of the view before from here on is void */
	uint64_t follows; /* the number of that view, if it is not the one before by number; else 0 */
	bool fresh; /* this node enters a dynamic subgroup: what lies there under its name is of no use, and goes first */
};

/* The view begins. False: no memory. */
WH_MUST_CHECK bool wh_log_source_begin(struct wh_log_source *source, const struct wh_log_entry_at *at);
/* A view of which this node had begun nothing when it ended has its beginning there too, if it has not yet. Of `config` subgroup, shard, key and view. False:
 * no memory. */
WH_MUST_CHECK bool wh_logs_mark(struct wh_logs *logs, const struct wh_log_source_config *config,
				const struct wh_log_entry_at *at);
/* The view is over, or never was: its memory is not looked at any more when this returns. NULL is fine. */
void wh_log_source_free(struct wh_log_source *source);

/* ---- checkpoints ------------------------------------------------------------------------------------------------------ */

enum wh_checkpoint_step {
	WH_CHECKPOINT_BEGIN, /* its place (durable_state.c) */
	WH_CHECKPOINT_BYTES, /* more of the state */
	WH_CHECKPOINT_END,   /* it counts when it is on disk */
	WH_CHECKPOINT_DROP   /* it does not */
};

/* The disk has failed, and wh_logs_look will say so: nothing more is written. Any thread. */
bool wh_logs_has_failed(const struct wh_logs *logs);

/* A number for one that is to be made. Any thread. */
uint64_t wh_logs_new_checkpoint(struct wh_logs *logs);
/* Hands a part of that checkpoint over, which is copied. One that begins takes the place of one that has not ended. Any thread but the
 * loop's; waits while many of them wait for the disk. Returns a ticket, 0: no memory, or the disk has failed. */
WH_MUST_CHECK uint64_t wh_logs_checkpoint(struct wh_logs *logs, uint64_t subgroup, uint32_t shard, uint64_t checkpoint,
					  enum wh_checkpoint_step step, const void *bytes, size_t count);
/* This node enters the shard: those that were begun before are of no use there. The loop's. False: no memory. */
WH_MUST_CHECK bool wh_logs_forget_checkpoints(struct wh_logs *logs, uint64_t subgroup, uint32_t shard);
/* Has one come to disk since, or since the logs were opened? The loop's. */
bool wh_logs_has_checkpoint(const struct wh_logs *logs, uint64_t subgroup, uint32_t shard);
/* Bytes of its batches: behind the last checkpoint, and what lies in one file with these. 0: there is no such log. The loop's. */
uint64_t wh_logs_used(const struct wh_logs *logs, uint64_t subgroup, uint32_t shard);

/* ---- for people ---------------------------------------------------------------------------------------------------------- */

struct wh_log_figures { /* of one shard */
	uint64_t bytes, used, segments, batches, syncs, longest_sync_ns, checkpoints;
	uint64_t written_batches, written_messages, written_bytes; /* since wh_logs_open */
	uint64_t checks; /* times that it was read again and was good, likewise */
	bool rot;        /* when it was last read again it was not, and no checkpoint has made good for that */
};

/* How long the disk has been asked for something, and there has been no room; 0: neither. The loop's. */
void wh_logs_delays(const struct wh_logs *logs, uint64_t now_ns, uint64_t *busy_ns, uint64_t *full_ns);

#define WH_LOG_ROT_BYTES (WH_FILE_NAME_BYTES + 264) /* a file, and what of it */

/* Rot was found in that log when it was read again, and no checkpoint has taken its place since. Any thread. */
bool wh_logs_has_rot(const struct wh_logs *logs, uint64_t subgroup, uint32_t shard);
/* Was some found since the last time? Why. *rotten: as wh_logs_has_rot. The loop's, in each pass. */
bool wh_logs_take_rot(const struct wh_logs *logs, uint64_t subgroup, uint32_t shard, bool *rotten,
		      char why[WH_LOG_ROT_BYTES]);

/* Any thread. False: there is no such log. */
bool wh_logs_figures(const struct wh_logs *logs, uint64_t subgroup, uint32_t shard, struct wh_log_figures *out);

#endif
