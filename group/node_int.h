/* node_int.h - the state of a node, for the files of group/ (and for tests that look inside).
 *
 * Life: opened (allocated, meeting the others) -> started (the loop may run) -> ready (all have met, the first view
 * begins) -> draining -> closed. What hangs off a view is in its epoch (epoch.h); here is what lasts. Failed is a property, not a state: a failed node still has to be
 * closed.
 */
#ifndef WH_GROUP_NODE_INT_H
#define WH_GROUP_NODE_INT_H

#include <pthread.h>

#include "group/epoch.h"
#include "group/node.h"
#include "predicates/loop.h"

struct whorl_subgroup {                  /* one that is configured; through all views */
	whorl_node *node;                /* [const] */
	const char *name;                /* [const] */
	uint32_t configured;             /* [const] index in the configuration */
	enum wh_mode mode;               /* [const] */
	uint32_t message_bytes, window;  /* [const] */
	bool dynamic;                    /* [const] a layout function says who is in it */
	wh_word met;                     /* 1: this node is or was a member. [loop] */
	struct wh_ring *ring;            /* [loop writes once; RCU] NULL: never was a sender */
	uint64_t *had;                   /* [loop] by node id: of its messages those delivered in views before */
	struct wh_multicast_stats stats; /* [loop] */
	wh_word dropped, in_doubt;       /* [loop] statistics */
	whorl_message_fn *on_message;    /* [const after start] */
	whorl_batch_fn *on_batch;        /* [const after start] */
	void *upcall_ctx;                /* [const after start] */
};

struct whorl_node {
	uint32_t id;                    /* [const] */
	bool caller;                    /* [const] thread = caller */
	bool headers_apart;             /* [const] */
	struct wh_node_config config;   /* [const] */
	struct wh_subgroup_text *texts; /* [const] who is in which subgroup */
	whorl_layout_fn *layout;        /* [const] */
	void *layout_ctx;
	struct wh_env env;              /* [const] the world's, with our log */
	const struct wh_env *world_env; /* [const] */
	uint64_t memory_bytes;          /* [const] the estimate */

	struct wh_transport *transport;
	struct wh_gate *gate; /* its page is wiped in a fork */
	struct wh_diag diag;  /* [loop] */
	struct wh_loop loop;  /* [loop] */
	struct wh_push_stats push_stats;
	wh_word heartbeats;        /* [loop] statistics */
	struct wh_epoch *epoch;    /* [loop writes; RCU] the current one, and `older` ones behind it */
	struct wh_epoch *proposed; /* [loop] that of the view that may come; NULL: none */
	whorl_subgroup *subgroups; /* [const] all that are configured */
	uint32_t subgroup_count;
	struct wh_transport_event *event; /* [loop] scratch: large */
	whorl_view_fn *on_view;           /* [const after start] */
	void *on_view_ctx;
	wh_word views;                   /* [loop] installed */
	wh_word change_ns[WHORL_STAGES]; /* [loop] of the last change */
	uint64_t change_began_ns;        /* [loop] */
	bool awaits_delivery;            /* [loop] the first of this view */
	wh_word jobs;                    /* submitted, and not done. [any] */

	wh_word stepper;      /* the thread that makes passes, 0: none. With thread = caller a try-lock for each pass */
	wh_word away;         /* with thread = caller: 1 from whorl_arm to the next whorl_step. [any] */
	uint64_t surveyed_ns; /* [loop] */
	wh_word orphans;      /* after close: claims still open; the last one to be finished frees the node */
	int fd;       /* epoll of the transport's descriptor and a heartbeat timer; -1 until asked for. [lock] */
	int timer_fd; /* [lock] */

	/* Everything below is for threads that wait or ask. */
	pthread_mutex_t lock;
	pthread_cond_t changed;   /* ready, failed or drained */
	bool ready, drained;      /* [lock] */
	wh_word started;          /* 1: upcalls and the like are final. [whorl_start; anyone reads] */
	wh_word wants_drain;      /* draining, for the loop */
	struct wh_error failure;  /* [lock] WHORL_OK: none; for good */
	struct wh_error minority; /* [lock] WHORL_NO_QUORUM, and whom we do not hear; for now */
	whorl_log_fn *log;        /* [lock] */
	void *log_ctx;            /* [lock] */
};

/* Is this thread the one that runs the loop now, that is, are we inside an upcall? */
bool wh_node_in_upcall(const whorl_node *node);

/* One pass by this thread if nobody else makes one now (thread = caller). False: somebody does. */
bool wh_node_try_step(whorl_node *node, size_t *work);

/* After passes for one's own sake (whorl_ready, whorl_claim_wait; thread = caller): the doorbell that the program armed
 * before it went to its epoll is not armed any more, so it is woken, and arms again. */
void wh_node_hand_back(whorl_node *node);

/* The group cannot go on. The first reason stays, and is logged at `level`. Loop thread, or before there is one. */
void wh_node_fail(whorl_node *node, enum wh_log_level level, enum whorl_result code, const char *format, ...)
	WH_PRINTF(4, 5);

/* Too few members are heard, or enough again. Loop thread. */
void wh_node_lose_quorum(whorl_node *node);
void wh_node_regain_quorum(whorl_node *node);

/* The layout of the next views, for wh_view_next. */
struct wh_layout_config wh_node_layout(whorl_node *node);

/* Tells the application of the current view (upcall.c). */
void wh_node_tell_view(whorl_node *node);
struct whorl_view wh_node_show_view(const struct wh_view *view, uint32_t rank);

/* Upcalls a run of messages; ctx is the subgroup. */
void wh_node_deliver(void *ctx, const struct whorl_message *messages, size_t count);

/* The first predicate of every node's loop: what the transport reports, ready, drained. */
size_t wh_node_watch(void *node);

/* Why the gate is not open: forked, closed, failed; or that it was not, for want of a quorum, which may come back. */
enum whorl_result wh_node_shut(const whorl_node *node);

/* WHORL_OK, or why nothing can be sent. */
static inline enum whorl_result wh_node_state(const whorl_node *node)
{
	return wh_gate_is_open(node->gate) ? WHORL_OK : wh_node_shut(node);
}

/* Frees all of a node; its loop has stopped. */
void wh_node_free(whorl_node *node, bool forked);

/* Milliseconds from now as a time of CLOCK_MONOTONIC. */
struct timespec wh_deadline(int timeout_ms);
uint64_t wh_monotonic_ns(void);

#endif
