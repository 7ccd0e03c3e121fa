/* logs_int.h - what the files of a node's logs share. From below: disk.c and shards.c, what both sides need; hand_over.c, source.c and found.c,
 * the loop's side; orders.c, batches.c, caps.c, check.c and replay.c, the parts of what the job does; job.c; logs.c, their beginning and end.
 */
#ifndef WH_GROUP_LOGS_INT_H
#define WH_GROUP_LOGS_INT_H

#include <pthread.h>
#include <sys/uio.h>

#include "group/logs/logs.h"
#include "persistence/identity.h"
#include "persistence/log.h"

#define BATCH_BYTES ((size_t)4 << 20) /* of messages in one, at most, but for one that is larger */
#define BATCH_RECORDS 4096
#define BYTES_OF_RECORD 16 /* so small messages are thought to be where batches are smaller than that */

#define WH_LOG_ENDS 3

struct wh_shard_log {              /* of one shard of a subgroup that this node is or was in */
	struct wh_shard_log *next; /* [const once it is found] this and its name */
	uint64_t subgroup;
	uint32_t shard;
	char name[64];
	struct wh_log *log;               /* [job] NULL: not opened, or discarded */
	uint64_t written_ns;              /* [job] when its last batch came to the disk; 0: in a life before */
	struct wh_checkpoint *checkpoint; /* [job] that is being written */
	bool checkpoint_is_synced;        /* [job] it counts when the view of its place has begun here */
	struct wh_log_source *source;     /* [lock] that of the current view */
	struct wh_log_found found;        /* [const after open, but for the job that copies] */
	uint64_t copying; /* [loop] ticket: from then on it is what was copied; what the loop has of it is the job's until then */
	bool is_rotten; /* [job, after open] what is found is damaged, and lies there still */
	/* [loop] The last views of what was found, the last one last, and where they end; key 0: there is none. Base may be the last but one: a
	 * node marks what comes behind its base before its standing says so. */
	struct wh_log_place ends[WH_LOG_ENDS];
	uint64_t frontiers[WH_LOG_ENDS]; /* of these: below it all members had it on disk */
	uint64_t state_view; /* [const after open] 1 + number of the view that its checkpoint is in; 0: it has none */
	struct {             /* [the job writes, anyone reads] */
		wh_word bytes, used, segments, batches, syncs, longest_sync_ns, checkpoints;
		wh_word written_batches, written_messages, written_bytes;
		wh_word since; /* of the checkpoints those that were begun since the node has entered the shard */
		wh_word checks, rot, rots;
	} figures;
	uint64_t writing; /* [job] number of the checkpoint */
	uint64_t oldest;  /* [job] those with a lower number do not count */
	uint64_t forgot;  /* [loop] ticket of what has set it */
	/* Of rot that was found while it is in use. */
	char why[WH_LOG_ROT_BYTES]; /* [job, before rots is raised; it stays until the loop has told it] */
	uint64_t rotten_with;       /* [job] so many checkpoints had come when it was found */
	wh_word told;               /* of the rots. [loop] */
};

struct wh_log_source {
	struct wh_logs *logs;
	struct wh_log_source_config config;
	struct wh_log_sender *senders;
	struct wh_persist persist;
	struct wh_walk walk;      /* [job, with the lock] */
	struct wh_shard_log *log; /* NULL before it has begun. [lock] */
};

#define WH_VIEWS_KEPT 4

enum wh_log_order_kind {
	ORDER_STANDING,
	ORDER_VIEW,
	ORDER_SOURCE,
	ORDER_CHECKPOINT,
	ORDER_FORGET,
	ORDER_DROP,
	ORDER_COPY
};

struct wh_log_order {
	struct wh_log_order *next;
	enum wh_log_order_kind kind;
	uint64_t ticket;
	struct wh_standing standing;
	uint64_t keep[WH_VIEWS_KEPT]; /* views that it does not name, and that are to stay */
	uint32_t keep_count;
	uint64_t key;
	unsigned char *bytes;
	size_t count;
	struct wh_log_source *source;       /* NULL: it was freed meanwhile. [lock] */
	enum wh_checkpoint_step step;       /* of a checkpoint of the shard in `config` */
	uint64_t checkpoint;                /* its number; of ORDER_FORGET: the oldest that counts */
	struct wh_log_source_config config; /* of the source, but for its arrays; its name is the one below */
	char name[64];                      /* that of `config`: the job may come to it when the node is gone */
	struct wh_log_begin begin;          /* likewise */
	bool fresh;                         /* what lies there goes first */
	struct wh_log_sender *senders;      /* of `begin` */
};

enum wh_logs_call {
	WH_CALL_NONE,
	WH_CALL_GOES_ON,  /* the job is at work */
	WH_CALL_ABANDONED /* it did not come back in time: the call frees the logs when it does */
};

struct wh_kept_view {
	struct wh_kept_view *next;
	uint64_t key, ticket; /* ticket 0: it was read */
	size_t count;
	unsigned char bytes[];
};

struct wh_logs {
	struct wh_logs_config config;
	char group[64]; /* [const] its name: that of the configuration goes with the node */
	struct wh_directory *directory;
	struct wh_background *job;
	struct wh_standing standing;        /* [loop] */
	uint64_t standing_ticket;           /* [loop] of it; 0: it was read */
	struct wh_kept_view *views;         /* [loop] the newest first */
	bool *has_disk;                     /* [const] by node; NULL: no others are looked at */
	uint64_t tickets;                   /* [lock] handed out */
	size_t waiting;                     /* [lock] bytes of checkpoints that wait */
	pthread_cond_t fewer;               /* of these there are fewer, or the disk has failed */
	wh_word done;                       /* the last ticket that is on disk. [job] */
	wh_word busy_ns;                    /* since when the disk is asked for something; 0: it is not. [job] */
	wh_word failed;                     /* 1: `failure` says why. [job] */
	struct wh_error failure;            /* [job, before failed] */
	wh_word full_ns;                    /* since when there is no room; 0: there is. [job] */
	uint64_t retried_ns;                /* [loop] */
	pthread_mutex_t lock;               /* never held while the disk is asked for something */
	struct wh_log_order *first, **last; /* [lock] */
	struct wh_replay *replays;          /* [lock] */
	wh_word shards; /* struct wh_shard_log *: the last that was made. [lock changes it; none goes before the end] */
	/* [job] */
	struct wh_standing_file file;
	struct wh_identity identity;  /* group 0: none is on disk */
	bool identity_is_synced;      /* by this life: one before may have written a name that is not on disk */
	struct wh_shard_log *checked; /* that is being read again; NULL: none */
	uint64_t checked_with;        /* so many checkpoints had come when its turn came */
	uint64_t check_at_ns;         /* when more of it is due; earlier than now: so much is owed */
	uint64_t check_from_ns;       /* and not before that */
	pthread_mutex_t bell;         /* held while the loop is woken, and while the program's functions are called */
	bool ended;                   /* it was told to end; if it has, there is no job any more */
	bool closing;                 /* [bell] the node goes: nothing of it is touched any more */
	wh_word checkpoints;          /* numbers that were given. [any] */
	wh_word stopped;              /* 1: checkpoints are not taken any more */
	wh_word call;                 /* enum wh_logs_call */
	struct wh_log_filling {
		struct wh_shard_log *log;     /* NULL: it is empty */
		struct wh_log_source *source; /* a name only: it may be gone */
		struct wh_log_batch batch;
		struct wh_log_record *records;
		struct iovec *parts; /* of the records, one behind the other */
		uint32_t part_room, part_count;
		struct wh_log_image image; /* for all of the job's logs */
		size_t used;               /* bytes of the records */
		size_t bytes_most;         /* [const] */
		uint32_t records_most;     /* [const] */
	} batch;
};

/* ---- disk.c: the job's */

/* The loop looks. */
void wh_logs_wake_loop(struct wh_logs *logs);
/* The disk is asked for something. */
void wh_logs_ask_disk(struct wh_logs *logs);
/* The same again, of a long call (struct wh_log_asking). A log that is opened before there is a job has nobody that waits so. */
void wh_logs_ask_again(void *logs);
/* It has answered. True: it is done. False: there is no room, and it is to be tried again; or it has failed, and nothing more is written. */
bool wh_logs_settle(struct wh_logs *logs, enum whorl_result result, const struct wh_error *err);
/* For good: what was not synced then may never be. */
void wh_logs_fail(struct wh_logs *logs, const struct wh_error *err);

/* ---- shards.c */

/* All of them, by `next`: one that is there stays, and others come before it; and one of them. Any thread, and no lock. NULL: there is none. */
struct wh_shard_log *wh_log_first_shard(const struct wh_logs *logs);
struct wh_shard_log *wh_log_find_shard(const struct wh_logs *logs, uint64_t subgroup, uint32_t shard);
/* That one; it is made if there is none. The loop's, and the job's. NULL: no memory. */
struct wh_shard_log *wh_log_add_shard(struct wh_logs *logs, const struct wh_log_source_config *of);
/* There is room for a batch of this source. The job's. */
bool wh_logs_make_room(struct wh_logs *logs, const struct wh_log_source_config *config);
/* The files of a log: made, or read and mended; `known`: what is known to be in it, NULL: nothing. The results of wh_log_open. */
WH_MUST_CHECK enum whorl_result wh_log_open_shard(struct wh_logs *logs, struct wh_shard_log *log, uint64_t group,
						  const struct wh_log_source_config *of,
						  const struct wh_log_point *known, struct wh_log_found *found,
						  struct wh_error *err);
/* Its figures are those of its files. The job's. */
void wh_log_count(struct wh_shard_log *log);

/* ---- hand_over.c: the loop's, unless said */

/* With a copy of these bytes. NULL: no memory. */
struct wh_log_order *wh_log_order_new(enum wh_log_order_kind kind, const void *bytes, size_t count);
/* It is of that shard. The name is copied: it may lie in the node's configuration, in a view, or in a standing. */
void wh_log_order_of(struct wh_log_order *order, const struct wh_log_source_config *config);
/* Any thread. */
void wh_log_order_free(struct wh_log_order *order);
/* The job has it from now on. Its ticket. */
uint64_t wh_logs_hand_over(struct wh_logs *logs, struct wh_log_order *order);
/* There is something for the job to do, unless it was told to end. */
void wh_logs_wake_job(const struct wh_logs *logs);
/* wh_logs_view has it. False: no memory. */
WH_MUST_CHECK bool wh_logs_keep_view(struct wh_logs *logs, uint64_t key, const void *bytes, size_t count);

/* ---- found.c */

/* The last views of what was found. */
void wh_log_note_ends(struct wh_shard_log *log);
/* Where that view ends in it. NULL: it has not begun there, or long ago. */
const struct wh_log_place *wh_log_find_end(const struct wh_shard_log *log, uint64_t key);

/* ---- caps.c: the job's */

/* False: the disk has failed. */
bool wh_logs_cap_all(struct wh_logs *logs);
/* Of those to which nothing was written for a while. Returns when they are to be looked at again; UINT64_MAX: all have theirs. */
uint64_t wh_logs_cap_idle(struct wh_logs *logs);

/* ---- check.c: the job's */

/* One of the logs is read again, if it is time: `busy`: if it is late. Returns when it is to be called again, UINT64_MAX: never. */
uint64_t wh_logs_check(struct wh_logs *logs, bool busy);

/* ---- replay.c */

/* What can be done now for those that read. Returns how much. The job's. */
size_t wh_logs_replay(struct wh_logs *logs);
/* Those that read that log find nothing more: its files go. The job's. */
void wh_replays_drop(struct wh_logs *logs, const struct wh_shard_log *log);
/* Those that are left; there is no job any more. */
void wh_replays_free(struct wh_logs *logs);

/* ---- orders.c, batches.c, job.c: the job's */

/* All that were handed over, or as many as one turn has. Returns how many. */
size_t wh_logs_do_orders(struct wh_logs *logs);
/* What the log's source has received since becomes a batch, and goes to disk. Returns how many. */
size_t wh_log_fill(struct wh_logs *logs, struct wh_shard_log *log);
/* The batch that was filled goes to disk. False: not yet. What is of a view that is over is dropped: beyond the cut all is void. */
bool wh_logs_write_batch(struct wh_logs *logs);
/* A job that lasts. */
bool wh_logs_work(void *logs);

/* ---- free.c */

/* The job has ended, or never began. */
void wh_logs_free(struct wh_logs *logs);

#endif
