/* state.h - the state of a shard on its way to a newcomer (docs/decisions/0016, "The state"; whorl.h, "state").
 *
 *     giver      wh_state_give: a snapshot on the loop, a position, a stream; then a job that reads one and writes the other
 *     newcomer   wh_state_await: from now on deliveries are kept back (backlog.c); a stream comes, a job restores it; what is
 *                behind the position is upcalled, a little in each pass
 *     first ones wh_state_begin: no node has anything; one that comes from another shard restores the empty state
 *
 * A giver may have refused messages of views before, which no newcomer gets otherwise (0044): they are sent along, and upcalled first.
 *
 * The stream: a header (subgroup as configured, or the low half of its birth, shard, view number; the position: the sequence number,
 * how many senders, then for each its node id and the number of its first message that is not in the state), then pieces, each with its
 * length before it; a piece of length 0 is the end. If the header says so messages follow, in such pieces again, with an end of their
 * own. All little-endian, and checked: it comes from another node. A stream that ends otherwise was cut off.
 *
 * Jobs run beside the loop, several at once, and never hold it up; each is over before its node is freed, in bounded time. In
 * simulation, where nothing can block, a job does a piece and the loop submits it again.
 *
 * Threads: the loop's, if not said otherwise.
 */
#ifndef WH_STATE_STATE_H
#define WH_STATE_STATE_H

#include <whorl/whorl.h>

#include "base/atomics.h"
#include "base/env.h"
#include "base/error.h"
#include "transport/transport.h"

struct wh_state; /* of one subgroup at one node */

/* From `read` of functions that are the library's own: there is nothing yet; it is to be called again a little later. */
#define WH_STATE_READ_AGAIN PTRDIFF_MIN
struct wh_backlog;

#define WH_STATE_SENDERS_MAX 256 /* node ids are below */

struct wh_position {
	uint32_t count;
	struct wh_position_of {
		uint32_t id;          /* of a sender */
		uint64_t next;        /* number of its first message that is not in the state */
		uint64_t incarnation; /* for the giver's program; it does not travel. 0: not known */
	} of[WH_STATE_SENDERS_MAX];
	uint64_t sequence; /* ordered: all of the position's view that is below it is in the state, and nothing else of that view */
};

/* What a state needs of its node: group/ fills it in. */
struct wh_state_hooks {
	const struct wh_env *env;
	struct wh_transport *transport;
	uint64_t backlog_max; /* bytes that may be kept back, of this subgroup */
	uint32_t share; /* percent, 1 to 100: so much of its time a job gives; the rest it pauses, where it may wait, and the loop is at work */
	/* Passes of the loop, and those of them in which it had nothing to do. Only ever grow. [the loop writes; jobs read] */
	const wh_word *steps, *idle_steps;
	uint64_t subgroup;   /* as configured; of a dynamic one its birth, when that is known (wh_state_is_born) */
	bool ordered;        /* its mode */
	const char *name;    /* of the subgroup, for people */
	uint32_t *gives;     /* of all states of the node: streams under way */
	uint64_t *now_ns;    /* the loop's clock; moved on after upcalls */
	uint64_t timeout_ns; /* the failure time-out */
	uint64_t upcall_ns;  /* so long may a pass upcall what was kept back */
	void *ctx;
	/* Where deliveries stand: between two messages; each sender once, those not named at 0. False: this node is not in the
	 * shard. What was restored and not delivered here is added by the state itself. */
	bool (*position)(void *ctx, struct wh_position *out, uint64_t *view, uint32_t *shard);
	/* The members of the shard that may have the state, in the order in which they are to be asked, me not among them: those
	 * that have not entered it in this view first. At most `max`; returns how many. */
	uint32_t (*givers)(void *ctx, uint32_t *ids, uint32_t max);
	/* May another give begin now, to that node? Each takes a thread and a snapshot; one that begins later is as good; and a
	 * node in a later view than I could do nothing with mine. */
	bool (*may_give)(void *ctx, uint32_t node);
	/* A quorum of the view is heard. */
	bool (*hears_quorum)(void *ctx);
	/* Asks `node` for the state (a control message), or tells it that there is none here. False: not now, try again later. */
	bool (*ask)(void *ctx, uint32_t node);
	bool (*decline)(void *ctx, uint32_t node);
	/* Upcalls messages to the program. Returns how many it takes; fewer: nothing more before wh_state_offer_again. */
	size_t (*upcall)(void *ctx, const struct whorl_message *messages, size_t count);
	/* What comes before all that was kept back, and is not in what was restored, is upcalled. False: there is more, and this is to be called
	 * again in a later pass. *work: how much was. May be NULL. */
	bool (*precede)(void *ctx, size_t *work);
	/* A message that was delivered here, and of which the program is never upcalled: the state that was restored has it, or this
	 * node has left the shard before it was restored. May be NULL. */
	void (*missed)(void *ctx, const struct whorl_message *message);
	/* What is delivered, and the program has not taken: it is not in its state. */
	const struct wh_backlog *(*refused)(void *ctx);
	whorl_subgroup *message_of; /* what messages name as their subgroup */
	/* The state is restored, and nothing is kept back any more: whorl_ready may become true. Called by wh_state_step. */
	void (*restored)(void *ctx);
	/* This node cannot go on; `why` does not say which state it is: WHORL_SHARD_LOST, WHORL_MEMORY (the backlog), WHORL_SYSTEM
	 * (the program could not). */
	void (*failed)(void *ctx, enum whorl_result code, const char *why);
	/* A job begins, ends: counted by the node, which waits for their end. submit through env. Any thread for `job_ends`. */
	void (*job_begins)(void *ctx);
	void (*job_ends)(void *ctx);
	void (*log)(void *ctx, enum wh_log_level level, const char *text);
};

WH_MUST_CHECK enum whorl_result wh_state_create(struct wh_state **out, const struct whorl_state *functions,
						const struct wh_state_hooks *hooks, struct wh_error *err);
/* Nothing is given or taken any more: streams are closed, and jobs end soon. */
void wh_state_stop(struct wh_state *state);
/* Its jobs are over, or (`forked`) were left behind in the parent, as were the program's snapshots and the other ends of streams:
 * then it frees memory and tells nothing to others. NULL is fine. */
void wh_state_free(struct wh_state *state, bool forked);

/* The view has begun that its subgroup, which is dynamic, has this birth in. Before anything else of that view. */
void wh_state_is_born(struct wh_state *state, uint64_t birth);

/* ---- giver */

/* To that node, which is in my view, from where deliveries stand now: when a view begins that it has entered the shard in, or when
 * it asks. If there is no snapshot it is declined. If my own state is being
 * restored, this waits for it; no longer than that node is in the view (wh_state_removed). */
void wh_state_give(struct wh_state *state, uint32_t node);

/* A snapshot of what stands here, for the caller, which reads and releases it by the functions. NULL: there can be none now. Not while it
 * restores, nor between the upcalls of one message. */
void *wh_state_fix(struct wh_state *state);

/* Something is being given, or is to be: a node that would leave now might take the state with it. */
bool wh_state_gives(const struct wh_state *state);

/* ---- newcomer */

/* A view has begun, with these nodes new in it: another life of each. Before wh_state_await. */
void wh_state_begin_view(struct wh_state *state, uint64_t view, const uint32_t *joined, uint32_t count);

/* The view `view` has begun, and this node has entered the shard in it: all that is delivered from now on is kept back until the
 * state is restored. `giver` will open a stream of its own accord. It is asked, or the next one, if it does not within
 * WH_STATE_PATIENCE failure time-outs, or is gone. A stream from any node is taken if its position is in this view or a
 * later one: then nothing is missing between that and what was kept. */
void wh_state_await(struct wh_state *state, uint32_t giver, uint64_t view, uint32_t shard);
#define WH_STATE_PATIENCE 2                  /* failure time-outs: to open a stream, when asked */
#define WH_STATE_STALL 10                    /* and between bytes of one: the program's `read` may block for a while */
#define WH_STATE_STALL_NS (60 * WH_NS_PER_S) /* but not less */

/* The view `view` has begun, and this node has entered the shard in it, in which no node was before: it begins with nothing. If the
 * program may have something of another shard it restores the empty state, beside the loop and after any restore that is under way;
 * till then all that is delivered is kept back. */
void wh_state_begin(struct wh_state *state, uint64_t view, uint32_t shard);

/* The view `view` has begun, and this node has entered the shard in it with all of its state in reach, on its disk: `precede` gives that to the
 * program; till then all that is delivered is kept back. */
void wh_state_recover(struct wh_state *state, uint64_t view, uint32_t shard);

/* True: deliveries go to wh_state_keep, not to the program. Cheap. It may stay true when the state has been restored: the position
 * may be ahead of what this node has delivered, and what comes below it must not be upcalled. */
bool wh_state_keeps(const struct wh_state *state);
/* True: it is not restored yet, or what was kept back is not upcalled yet: the node is not ready. */
bool wh_state_restores(const struct wh_state *state);
/* Copies them; or upcalls them here and now, when nothing is kept back any more. Returns how many it has done with: none, when the
 * program refuses what was kept back. */
size_t wh_state_keep(struct wh_state *state, const struct whorl_message *messages, size_t count);
/* Copies them, whatever the program does. While it restores. */
void wh_state_keep_back(struct wh_state *state, const struct whorl_message *messages, size_t count);
/* Is this message, which is not to be upcalled yet, in the state? It counts as seen. Not while it restores. */
bool wh_state_has_message(struct wh_state *state, const struct whorl_message *message);
/* What was refused is upcalled again. */
void wh_state_offer_again(struct wh_state *state);
/* A stream with this subgroup as its tag has come from `node`; it becomes the state's. It may be early (the giver's view begins
 * first): it is closed if it is not wanted within WH_STATE_PATIENCE failure time-outs. */
void wh_state_stream(struct wh_state *state, uint32_t node, struct wh_stream *stream);
void wh_state_declined(struct wh_state *state, uint32_t node);
/* That node is gone, in whatever way. */
void wh_state_gone(struct wh_state *state, uint32_t node);
/* That node is not in the view any more, though it may be there: what it gives is not waited for. */
void wh_state_removed(struct wh_state *state, uint32_t node);
/* This node is no member of the shard any more: what is kept back is dropped. */
void wh_state_leave(struct wh_state *state);

/* ---- both */

/* One pass: asks, looks after jobs, upcalls what was kept back. Returns how much it did; 0 at once when nothing is under way. */
size_t wh_state_step(struct wh_state *state);

/* Something is under way that no ring tells of: a pass is wanted soon. */
bool wh_state_is_busy(const struct wh_state *state);

struct wh_state_stats {
	wh_word given, taken, kept; /* bytes. [jobs and the loop write; anyone reads] */
	wh_word gives, takes;       /* under way: streams */
	wh_word from;               /* the node that gives, while takes > 0 */
};

const struct wh_state_stats *wh_state_statistics(const struct wh_state *state);

#endif
