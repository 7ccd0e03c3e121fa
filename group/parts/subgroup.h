/* subgroup.h - the parts of a subgroup, each with the threads that may touch it, as those of a node.
 *
 * What is const is written by the functions below alone: once it is in the list of its node, where it stands with the lock (waiting.h),
 * and what never changes not at all.
 */
#ifndef WH_GROUP_PARTS_SUBGROUP_H
#define WH_GROUP_PARTS_SUBGROUP_H

#include "group/logs/logs.h"
#include "group/parts/waiting.h"
#include "membership/view.h"
#include "predicates/multicast.h"
#include "smc/slots.h"

struct wh_subgroup_fixed { /* any thread reads it: const once the subgroup is in the list */
	const char *name;
	uint32_t index; /* in the node's list; of one that is configured, as in the configuration */
	uint32_t message_bytes, window;
	enum wh_mode mode;
	bool durable;           /* what is delivered is on disk (durable.h) */
	bool mine;              /* this node may be a member */
	uint64_t large_bytes;   /* 0: no message is larger than a slot */
	uint32_t parts_most;    /* slots of a message, at most */
	struct wh_slots slots;  /* how a ring lies, wherever that is */
	bool one_thread;        /* sends: its ring is that of a single sender */
	uint64_t log_bytes;     /* so long its log may be before there is a checkpoint */
	uint64_t refuse_max_ns; /* after so long of refusing the program is told; 0: never */
	/* Of a stay. */
	struct wh_parameters parameters;
	bool sends;
	bool anew;                    /* if it is dormant it may begin with nothing */
	uint64_t memory_bytes;        /* as estimated */
	char own_name[WH_NAME_BYTES]; /* what `name` is */
};

/* Before it is in the list, or if that is before the node is opened, until then: no other thread knows of it. */
static inline struct wh_subgroup_fixed *wh_fixed_write(const struct wh_subgroup_fixed *fixed)
{
	return (struct wh_subgroup_fixed *)fixed;
}

struct wh_subgroup_program { /* what the program has said of it: const after whorl_start, or once a stay is in the list */
	whorl_message_fn *on_message;
	whorl_batch_fn *on_batch;
	whorl_offer_fn *on_offer; /* of these three one at most */
	void *upcall_ctx;
	whorl_gone_fn *on_gone;
	void *on_gone_ctx;
	whorl_refused_fn *on_refused;
	void *on_refused_ctx;
	struct wh_past_views past_views; /* of its log */
};

/* Until then: the thread that opens the node, or enters. */
static inline struct wh_subgroup_program *wh_program_write(const struct wh_subgroup_program *program)
{
	return (struct wh_subgroup_program *)program;
}

enum wh_rests { WH_RESTS_UNASKED, WH_RESTS, WH_SENDS_AGAIN };

struct wh_subgroup_words { /* any thread, by atomics */
	/* What was asked of it last, and how that stands with the ring: written with the lock, so that two threads do not disagree. */
	wh_word rests;   /* enum wh_rests */
	wh_word returns; /* 1: it is to send again, and may not yet: claims get WHORL_AGAIN */
	wh_word leaves;  /* 1: the stay is to end */
	/* These without. */
	wh_word asks;     /* node id << 2 | rests << 1 | 1: to be asked to rest; 0: no node. [any sets, loop clears] */
	wh_word released; /* 1: the program has done with the stay */
	wh_word jobs;     /* of its state, submitted and not done: until then it is not freed */
	/* What threads that waited for the window have learnt (base/backoff.h). */
	wh_word lost_ns, lost_at_ns, crowded_until_ns;
};

struct wh_subgroup_figures { /* the loop counts; any thread reads */
	struct wh_multicast_stats stats;
	wh_word dropped, in_doubt;
	wh_word refusals, kept; /* of refused delivery; bytes of its backlog */
	wh_word log_whole;      /* 1: its log is, on disk */
	wh_word log_shard;      /* of a durable one: in which shard this node is */
	wh_word disk_slowest,
		disk_behind; /* the member with the disk that all wait for, and how far it trails; 0: none */
};

enum wh_stage {
	WH_STAGE_CONFIGURED, /* it is one of the file: it has no stay */
	WH_STAGE_ENTERING,
	WH_STAGE_IN,
	WH_STAGE_LEAVING, /* it is in a view still */
	WH_STAGE_LEFT,    /* for good, or it never came in */
	WH_STAGE_REFUSED, /* likewise */
};

/* Where it stands, for threads that wait for that. */
struct wh_subgroup_told {
	bool is_member, ready;   /* in this view; and its state is restored */
	enum wh_stage stage;     /* [the loop writes, once it is in the list, and reads without the lock] */
	struct wh_error failure; /* why it was refused, or why it leaves though the program has not said so */
};

/* With the lock. */
static inline struct wh_subgroup_told *wh_told_write(struct wh_held held, const struct wh_subgroup_told *told)
{
	(void)held;
	return (struct wh_subgroup_told *)told;
}

/* Before it is in the list of its node: no other thread knows of it. */
static inline struct wh_subgroup_told *wh_told_begin(const struct wh_subgroup_told *told)
{
	return (struct wh_subgroup_told *)told;
}

#endif
