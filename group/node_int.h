/* node_int.h - the state of a node, for the files of group/ (and for tests that look inside).
 *
 * Life: opened (meeting others) -> started (the loop may run) -> member (its first view has begun) -> ready (it has the state of
 * its subgroups) -> draining -> closed. What hangs off a view is in its epoch (epoch.h); here is what lasts, in parts (group/parts/), each with the threads
 * that may touch it. Failed is a property, not a state: a failed node still has to be closed.
 */
#ifndef WH_GROUP_NODE_INT_H
#define WH_GROUP_NODE_INT_H

#include "base/backoff.h"
#include "base/rcu.h"
#include "group/endpoint.h"
#include "group/epoch.h"
#include "group/layer.h"
#include "group/logs/aside.h"
#include "group/logs/logs.h"
#include "group/node.h"
#include "group/parts/fixed.h"
#include "group/parts/list.h"
#include "group/parts/loop.h"
#include "group/parts/passes.h"
#include "group/parts/subgroup.h"
#include "group/parts/uses.h"
#include "group/parts/waiting.h"
#include "predicates/loop.h"
#include "state/backlog.h"
#include "state/state.h"

struct wh_offering {       /* delivery that the program may refuse (0044): offer.c */
	wh_word again;     /* 1: it is to be offered again. [any sets, loop clears] */
	bool refuses;      /* nothing is offered until `again` */
	bool listed;       /* among the node's refusers */
	bool told;         /* on_refused was upcalled */
	uint64_t since_ns; /* it refuses, and takes nothing; 0: it does not */
	uint64_t retry_ns; /* while the node drains: when it is offered again */
	/* Of views before: what they have delivered and the program has not taken yet. As long as there is any nothing is delivered in
	 * place. */
	struct wh_backlog backlog;
};

struct wh_stay {           /* of this node in a dynamic subgroup: stay.c */
	bool wished;       /* it is in the set that this node wishes */
	bool is_out;       /* it is in no view any more, or never will be: LEFT when its state rests */
	bool sleeps;       /* it is dormant, and waits until it is not */
	uint64_t birth;    /* 0: it has been in no view */
	uint64_t again_ns; /* refused as dormant in a view that is prepared: not wished before that time */
};

struct wh_layer {                       /* what a layer above has hung on a subgroup: layer.h */
	const struct wh_layer_ops *ops; /* [const after start] NULL: there is none */
	void *ctx;                      /* [const after start] */
	wh_word asks;                   /* 1: it is to be stepped. [any sets, loop clears] */
	struct wh_layer_wants wants;    /* [loop] */
};

struct whorl_subgroup { /* one that is configured, through all views; or a stay in a dynamic one */
	whorl_node *const node;
	struct wh_ring *const ring; /* NULL: it is not `mine`, or a stay that only listens. Its own rules: smc/ring.h */
	const struct wh_subgroup_fixed fixed;     /* any thread reads it */
	const struct wh_subgroup_program program; /* likewise, after whorl_start */
	struct wh_subgroup_words words;           /* any thread, by atomics */
	struct wh_subgroup_figures figures;       /* any thread reads, by atomics */
	const struct wh_subgroup_told told;       /* any thread, with the lock */
	/* The loop's, but for the words in them that say otherwise. */
	struct wh_state *state; /* [const pointer after start] NULL: the program has given no functions */
	struct wh_durable_state *
		durable_state; /* [const pointer after start] NULL: it is not durable, or has no functions for its state */
	struct wh_layer layer;
	struct wh_offering offer;
	struct wh_stay stay;
	bool reads_log; /* what is upcalled comes out of a log */
	/* By node id: of the messages of its present life those delivered in views before. WH_UNKNOWN: it has not been heard since this
	 * node entered the shard, so what is here of it is what came with the state. */
	uint64_t *had;
	bool asked_early[WH_STATE_SENDERS_MAX]; /* by node id: wants the state, and is in no view of mine yet */
	uint64_t gone_from, gone_count; /* of my messages, those that a view has dropped, until the program is told */
};

struct whorl_node {
	const struct wh_node_fixed fixed; /* any thread reads it */
	struct wh_node_passes passes;     /* any thread, by atomics */
	struct wh_node_uses uses;         /* any thread, by atomics */

	/* The loop's: parts/loop.h. */
	struct wh_diag diag;
	struct wh_loop loop;
	struct wh_node_events watch;
	struct wh_node_entry entry;
	struct wh_node_epochs epochs;
	struct wh_node_disk disk;
	struct wh_node_stays stays;
	struct wh_node_rests rests;
	struct wh_node_states states;
	struct wh_node_refusing refusing;
	struct wh_node_layers layers;

	/* Any thread, with the lock of `waiting`. */
	const struct wh_node_waiting waiting;
	const struct wh_node_list list;
};

/* caller.c: the time in which threads of the program wait, whatever clock the node's world has. */
uint64_t wh_monotonic_ns(void);
/* Is this thread the one that runs the loop now, that is, are we inside an upcall? */
bool wh_node_in_upcall(const whorl_node *node);

/* One pass by this thread if no other thread makes one now (thread = caller). False: another does. */
bool wh_node_try_step(whorl_node *node, size_t *work);

/* The same token: no other thread makes passes until it is given back, and this one is in an upcall. False: with thread = dedicated, or another makes one. */
WH_MUST_CHECK bool wh_node_take_loop(whorl_node *node);
void wh_node_give_loop(whorl_node *node);

/* Sleeps for a millisecond, or until there is something to do, and makes a pass; nothing if another thread makes one. */
void wh_node_nap(whorl_node *node);

/* After passes for one's own sake (whorl_ready, whorl_claim_wait; thread = caller): the doorbell that the program armed
 * before it went to its epoll is not armed any more, so it is woken, and arms again. */
void wh_node_hand_back(whorl_node *node);

/* Looks again, and yields, for some while (base/backoff.h); at first and behind each yield it helps the loop. False: it is time to sleep. For
 * threads that wait for the window, or for what has become of messages. */
bool wh_node_wait_a_little(whorl_subgroup *subgroup, struct wh_backoff *backoff);

/* With thread = caller a thread that does not run the loop sleeps no longer: the thread that runs it may stop, and then it is its turn. */
#define WH_TURN_NS WH_NS_PER_MS

/* Waits at most timeout_ms, 0 too, for what `look` says, with the lock: WHORL_TIMEOUT: not yet. With thread = caller it makes passes. Ends early,
 * with the reason, when the node fails. What changes it says so on `changed`. */
enum whorl_result wh_node_await(whorl_node *node, int timeout_ms, wh_look_fn *look, const void *ctx);

/* frontier.c: threads that wait for what has become of messages, or of calls, look again, and those with a descriptor. */
void wh_node_wake_waits(whorl_node *node);
/* A thread is about to wait so. False: the node is closed. Then it says that it has done. */
WH_MUST_CHECK bool wh_node_begin_wait(whorl_node *node);
void wh_node_end_wait(whorl_node *node);
/* The gate is closed, and readers have passed: until none waits there any more. */
void wh_node_await_waits(whorl_node *node);

/* rest.c: this node rests in that subgroup for good. Claims of the program find no sender from here on; that it rests is said when all is delivered
 * (wh_epoch_rest). Any thread. */
void wh_node_begin_to_leave(whorl_subgroup *subgroup);
/* The loop has read that this node rests there, or not, and nothing that it has said of that in this view stands against it: what claims are
 * told. `resting`: the view says that it rests. */
void wh_node_settle_rest(whorl_subgroup *subgroup, bool rests, bool resting);

/* fail.c: the group cannot go on. The first reason stays, and is logged at `level`. Loop thread, or before there is one. */
void wh_node_fail(whorl_node *node, enum wh_log_level level, enum whorl_result code, const char *format, ...)
	WH_PRINTF(4, 5);

/* Too few members are heard, or enough again. Loop thread. */
void wh_node_lose_quorum(whorl_node *node);
void wh_node_regain_quorum(whorl_node *node);

#define WH_STAYS_MAX WH_WISHES_MAX /* of a node, those that are over and not released among them */

static inline struct wh_places wh_node_all_places(const whorl_node *node)
{
	return (struct wh_places){0, node->list.room};
}

/* The next of its subgroups from place *at on, which moves behind it; NULL: there is none. The loop, or in the RCU lock. */
static inline whorl_subgroup *wh_node_next_subgroup(const whorl_node *node, uint32_t *at)
{
	return wh_list_next(&node->list, at);
}

static inline bool wh_node_is_dynamic(const whorl_subgroup *subgroup)
{
	return subgroup->fixed.index >= subgroup->node->fixed.config.subgroup_count;
}

/* What nodes call it in messages and tags of streams: as configured, or its birth (0046). */
static inline uint64_t wh_node_number_of(const whorl_subgroup *subgroup)
{
	return wh_node_is_dynamic(subgroup) ? subgroup->stay.birth : subgroup->fixed.index;
}

/* This node in its shard of that subgroup; NULL: it is in none in this view. */
static inline struct wh_shard_member *wh_epoch_shard_member(const struct wh_epoch *epoch,
							    const whorl_subgroup *subgroup)
{
	uint32_t place = epoch->shard_member_of[subgroup->fixed.index];

	return place > 0 ? &epoch->shard_members[place - 1] : NULL;
}

/* subgroup.c: one of this node, which is in no list yet. NULL: no memory. */
whorl_subgroup *wh_node_new_subgroup(whorl_node *node);
/* Makes what a subgroup has through all views, from its parameters and the rest of `options`. It is at its place of the list when
 * this has been done. */
WH_MUST_CHECK enum whorl_result wh_node_fill_subgroup(whorl_subgroup *subgroup, const struct wh_parameters *parameters,
						      uint64_t refuse_max_ms, struct wh_error *err);
/* No thread looks at it any more. NULL is fine. */
void wh_node_free_subgroup(whorl_subgroup *subgroup, bool forked);

/* Of a stay in that stage: it is entering, in, or leaving. */
bool wh_stage_is_live(enum wh_stage stage);
/* The next of this node's stays from place *at on; and the live one of that name. NULL: there is none. The loop, or in the RCU lock. */
whorl_subgroup *wh_node_next_stay(const whorl_node *node, uint32_t *at);
whorl_subgroup *wh_node_find_stay(const whorl_node *node, const char *name);
/* The subgroup of this node for a place in a view, NULL: it has none, which no view can be meant. */
whorl_subgroup *wh_node_subgroup_of(const whorl_node *node, const struct wh_view_subgroup *layout);
/* That of a number in a message: of this view, or of the one that is prepared. NULL: none of this node. */
whorl_subgroup *wh_node_subgroup_by_number(const whorl_node *node, uint64_t number);

/* stay.c: dynamic subgroups that this node enters and leaves (0046). A wish of the last set was refused. A hook of wh_wishing. */
void wh_node_wish_refused(void *node, const struct wh_wish *wish, const struct wh_refusal *refusal);
/* It cannot be restored: this node leaves it, for that reason. Loop thread. */
void wh_node_fail_stay(whorl_subgroup *subgroup, enum whorl_result code, const char *text);
/* A view has begun in which this node gives its state, though its last set may be without that name: it stays until it has given. Loop
 * thread, before it looks at a proposal of that view. */
void wh_node_stay_to_give(whorl_subgroup *subgroup);
/* A view has begun: which stays are in it? */
void wh_node_begin_stays(const struct wh_epoch *epoch);
/* One pass: what stays need is wished, and what is over is freed. */
void wh_node_step_stays(whorl_node *node);

/* participant.c: what membership/ has done here. */
extern const struct wh_participant wh_node_participant;
/* install.c: the view that is prepared begins, the current one is over. */
void wh_epoch_install(whorl_node *node);

/* The first view that this node is in begins, unless there are logs to be upcalled before that. */
void wh_node_come_in(whorl_node *node);
/* One pass over such logs; behind them the view begins. Returns how much was done. */
size_t wh_node_replay_logs(whorl_node *node);

/* enter.c. */
/* A control message, a stream, a question. */
void wh_node_on_event(whorl_node *node, const struct wh_transport_event *event);
/* What comes into the group, and goes: one pass. */
size_t wh_node_enter(whorl_node *node);

/* introduce.c: tells nodes that are not in my view what I am. */
void wh_node_introduce(whorl_node *node);
/* Asks the leader of my view to look which node wants what. */
void wh_node_ask_leader(whorl_node *node);

/* ready.c: this node has reached that stage of its way in. */
void wh_node_advance(whorl_node *node, int step);
/* Is some state not restored yet? */
bool wh_node_restores(const whorl_node *node);
/* All that it was to restore is restored: it is ready, unless it was. */
void wh_node_state_restored(whorl_node *node);

/* transfer.c: the state of subgroups. */
/* All functions are there, and the struct is one of this library or a later one. */
bool wh_node_state_holds(const struct whorl_state *functions);
WH_MUST_CHECK enum whorl_result wh_node_open_state(whorl_subgroup *subgroup, const struct whorl_state *functions,
						   struct wh_error *err);
/* The same of a durable one without functions: its log is its state. And at whorl_start, of all that are configured. WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_node_open_log_state(whorl_subgroup *subgroup, struct wh_error *err);
WH_MUST_CHECK enum whorl_result wh_node_open_log_states(whorl_node *node, struct wh_error *err);
/* That of a subgroup that has one, for something that may have to be gone on with in later passes. */
static inline struct wh_state *wh_node_use_state(whorl_subgroup *subgroup)
{
	subgroup->node->states.used = true;
	return subgroup->state;
}
/* `member` is this node in the shard. Has the node of that rank entered the shard, with a state that it is given or an empty one? */
bool wh_node_begins(const whorl_subgroup *subgroup, const struct wh_shard_member *member, uint32_t rank);
/* A view has begun: if this node has entered a shard in it, it awaits its state, or begins with none. */
void wh_node_transfer(whorl_node *node, const struct wh_epoch *epoch);
/* Its upcall has returned: others that have entered are given theirs, and those that have asked early. */
void wh_node_give(const struct wh_epoch *epoch);
/* Another node wants it. If that node has begun a view that this one has not, it is given when this one has. */
void wh_node_state_wanted(whorl_subgroup *subgroup, uint32_t from);
size_t wh_node_state_step(whorl_node *node);
void wh_node_state_gone(whorl_node *node, uint32_t id);
/* Nothing is given or taken any more. */
void wh_node_stop_states(whorl_node *node);

/* Tells the application of the current view (upcall.c). */
void wh_node_tell_view(whorl_node *node);
/* And of those of its messages that are gone with it. */
void wh_node_tell_gone(whorl_node *node);
struct whorl_view wh_node_show_view(const struct wh_view *view, uint32_t rank);

/* Upcalls a run of messages, or keeps them back; ctx is the subgroup. A wh_deliver_fn. */
WH_MUST_CHECK size_t wh_node_deliver(void *ctx, const struct whorl_message *messages, size_t count);
/* Returns how many are taken. */
size_t wh_node_upcall(whorl_subgroup *subgroup, const struct whorl_message *messages, size_t count);

/* offer.c: delivery that may be refused (0044). */
/* Offers them, unless the program refuses, or has not taken what comes before. Returns how many it takes. */
size_t wh_node_offer(whorl_subgroup *subgroup, const struct whorl_message *messages, size_t count);
/* A view ends, and the program has not taken these: copies them. A wh_keep_fn; ctx is the subgroup. */
WH_MUST_CHECK bool wh_node_keep(void *ctx, const struct whorl_message *messages, size_t count);
/* A view begins with `member`: it delivers nothing in place while something is refused. */
void wh_node_hold(const whorl_subgroup *subgroup, const struct wh_shard_member *member);
/* This node is not in its shard any more, or in another: what is kept of that is dropped. */
void wh_node_forget_refused(whorl_subgroup *subgroup);
/* One pass over those that refuse. Returns how much was done. */
size_t wh_node_step_refusers(whorl_node *node);

/* layer.c: what layers above have hung on subgroups. One pass; 0 at once if nothing is asked of them. */
size_t wh_node_step_layers(whorl_node *node);
/* For a thread that has borrowed the loop: what layers are asked for and needs a question is asked, and nothing else is done. */
void wh_node_ask_for_layers(whorl_node *node);
/* The loop has ended: nothing more will come. */
void wh_node_end_layers(whorl_node *node);

static inline bool wh_node_layers_ask(const whorl_node *node)
{
	return node->layers.awake || wh_load_relaxed(&node->layers.asked) != 0;
}

/* The loop sleeps, and something is to be done: what rings it (base/gate.h). Any thread; ctx is the node. */
void wh_node_wake(void *node);

/* The first predicate of every node's loop: what the transport reports, ready, drained. */
size_t wh_node_watch(void *node);

/* Why the gate is not open: forked, closed, failed; or that it was not, for want of a quorum, which may come back. */
enum whorl_result wh_node_shut(const whorl_node *node);

static inline bool wh_node_has_failed(const whorl_node *node)
{
	return (wh_gate_state(node->fixed.gate) & WH_GATE_FAILED) != 0;
}

/* WHORL_OK, or why nothing can be sent. */
static inline enum whorl_result wh_node_state(const whorl_node *node)
{
	return wh_gate_is_open(node->fixed.gate) ? WHORL_OK : wh_node_shut(node);
}

/* Frees all of a node; its loop has stopped. `waits_for_disk`: files that a disk does not close at once are waited for, disk_timeout_ms at most;
 * else they are closed later. */
void wh_node_free(whorl_node *node, bool forked, bool waits_for_disk);

#endif
