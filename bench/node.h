/* node.h - the inside of a node of a benchmark: bench/node.c, bench/note.c, bench/send.c, bench/deliver.c. */
#ifndef WH_BENCH_NODE_H
#define WH_BENCH_NODE_H

#include <pthread.h>

#include "base/backoff.h"
#include "base/env.h"
#include "bench/bench.h"

/* Where time is virtual. What a node does takes no time of itself: it says what it has done, and time passes. */
struct wh_bench_world {
	const struct wh_env *clock;
	void (*filled)(void *ctx, size_t copied); /* a message, before its commit; bytes that were copied into it */
	void (*upcalled)(void *ctx, size_t messages,
			 size_t copied);            /* before the upcall returns; bytes copied out of them */
	uint64_t (*cpu_ns)(void *ctx, uint32_t id); /* so long its processors have been busy */
	void *ctx;
};

struct wh_bench_node {
	const struct wh_bench_plan *plan;
	const struct wh_bench_memory *memory;
	const struct wh_watch *watch;
	const struct wh_bench_world *world; /* NULL: this machine */
	struct wh_bench_shared *shared;
	struct wh_bench_node_page *page;
	uint32_t id;
	whorl_node *node;
	struct wh_bench_delivery *deliveries;  /* [subgroups of the plan]; those of which it is a member are used */
	struct wh_bench_sender *senders;       /* [plan->options.senders_per_node] if it sends, else none */
	uint32_t sender_count, sender_threads; /* of sender_threads, threads have been started */
	wh_word complaining, complained;       /* 1: the first warning of the library is being noted, is there */
	char complaint[256];                   /* it: why the nodes do not meet, if they do not */
};

/* The first failure of a node counts; the parent is told. Any thread. */
void wh_bench_node_fail(struct wh_bench_node *node, const char *format, ...) WH_PRINTF(2, 3);

/* The node has done what `phase` asks for. */
void wh_bench_node_reached(struct wh_bench_node *node, enum wh_bench_phase phase);

/* For whorl_open, with the node as context or NULL: errors are said, and the first warning is kept. */
void wh_bench_node_log(enum whorl_log_level level, const char *line, void *ctx);

/* Have all been told to leave? Then that others do is no failure. */
static inline bool wh_bench_is_over(const struct wh_bench_node *node)
{
	return wh_phase_get(&node->shared->phase) >= BENCH_CLOSE;
}

/* Memory for one message of any subgroup outside the library, to be freed, if there are copies at `side` (enum wh_bench_copies, not both); else NULL.
 * False: memory is out. */
WH_MUST_CHECK bool wh_bench_outside(const struct wh_bench_plan *plan, int side, void **out);

static inline uint64_t wh_bench_now(void)
{
	return wh_env_now(wh_env_system());
}

/* By the clock that the run is timed with. */
static inline uint64_t wh_bench_time(const struct wh_bench_node *node)
{
	return wh_env_now(node->world != NULL ? node->world->clock : wh_env_system());
}

/* ---- bench/note.c ------------------------------------------------------------------------------------------------------*/

/* What the node had counted before the phase that is measured. */
struct wh_bench_baseline {
	struct whorl_node_stats node;
	struct whorl_subgroup_stats *parts; /* [subgroups] */
	struct whorl_log_stats *logs;       /* [subgroups] zero where it is not durable */
	uint64_t cpu_ns, now_ns;
};

/* False: no memory. To be closed in any case. */
WH_MUST_CHECK bool wh_bench_baseline_open(struct wh_bench_baseline *baseline, const struct wh_bench_plan *plan);
void wh_bench_baseline_close(struct wh_bench_baseline *baseline);
void wh_bench_baseline_take(const struct wh_bench_node *node, struct wh_bench_baseline *baseline);
/* The same, and its counters are of one moment. */
void wh_bench_baseline_take_at_rest(const struct wh_bench_node *node, struct wh_bench_baseline *baseline);
/* The figures of the run, and where it stands; of idleness. */
void wh_bench_note_run(struct wh_bench_node *node, const struct wh_bench_baseline *baseline);
void wh_bench_note_idle(struct wh_bench_node *node, const struct wh_bench_baseline *baseline);

/* ---- bench/deliver.c ----------------------------------------------------------------------------------------------*/

/* One subgroup's deliveries, taken in on the loop. */
struct wh_bench_delivery {
	struct wh_bench_node *node;
	const struct wh_bench_subgroup *subgroup;
	struct wh_bench_part *part;
	uint64_t counted, bytes, extra;
	uint64_t digest;        /* ordered: of all in their order */
	uint64_t next_sequence; /* the least sequence number that may come next in this view */
	struct wh_bench_source {
		uint64_t next;   /* the index that must come next */
		uint64_t digest; /* unordered: of this sender's messages */
		uint32_t rank;
	} * sources;   /* [nodes] by node id */
	FILE *record;  /* NULL: not wanted */
	void *outside; /* messages are copied to here, and read here; NULL: read in place */
};

/* Upcalls for the subgroups of an open node that has not been started. WHORL_OK; otherwise the node has failed. */
WH_MUST_CHECK enum whorl_result wh_bench_deliver_open(struct wh_bench_node *node);
/* A view begins: sequence numbers begin anew. On the loop. */
void wh_bench_deliver_view(struct wh_bench_node *node);
/* After the loop has ended. False: the record could not be written; the node has failed. */
bool wh_bench_deliver_close(struct wh_bench_node *node);

/* ---- bench/send.c --------------------------------------------------------------------------------------------------*/

/* What one thread sends in one subgroup. */
struct wh_bench_stream {
	whorl_subgroup *handle;
	const struct wh_bench_subgroup *subgroup;
	const struct wh_bench_part *part; /* of this node */
	uint32_t number;                  /* of the subgroup */
	uint32_t rank;
	uint64_t left;   /* messages; a stream that goes by_total counts nothing */
	uint64_t next;   /* the index behind its newest message */
	uint64_t due_ns; /* not before; 0: at once */
	bool delayed;
};

struct wh_bench_sender {
	struct wh_bench_node *node;
	struct wh_bench_stream *streams; /* [stream_count] */
	uint32_t stream_count;
	struct whorl_claim *claims;      /* of the batch that is being sent */
	void *outside;                   /* messages are made here, and copied into their slots; NULL: made in place */
	uint64_t wait_ns, wait_since_ns; /* for the window: so far; since when, 0: not now */
	pthread_t thread;                /* of all but the first, which is the node's main thread */
};

WH_MUST_CHECK enum whorl_result wh_bench_send_open(struct wh_bench_node *node);
/* The threads of all senders but the first; they wait for BENCH_RUN. */
WH_MUST_CHECK enum whorl_result wh_bench_send_start(struct wh_bench_node *node);
void wh_bench_send_join(struct wh_bench_node *node);
/* Adds up how long they have waited; also without threads, and then this is all that is to be done before close. */
void wh_bench_send_count(struct wh_bench_node *node);
void wh_bench_send_close(struct wh_bench_node *node);

/* Dedicated mode: sends all there is to send, unless the phase changes. */
void wh_bench_send_all(struct wh_bench_sender *sender);

/* The same one step after the other, where the caller knows how to wait: a batch in each stream, if it can be. */
enum wh_bench_turn {
	BENCH_TURN_SENT,
	BENCH_TURN_FULL,  /* some window is */
	BENCH_TURN_LATER, /* all that are left have a delay: wh_bench_send_due */
	BENCH_TURN_OVER,  /* nothing is left to send, or the node has failed */
};
enum wh_bench_turn wh_bench_send_turn(struct wh_bench_sender *sender);
uint64_t wh_bench_send_due(const struct wh_bench_sender *sender);

/* Caller mode: sends a burst, without waiting. Returns how many messages. */
size_t wh_bench_send_some(struct wh_bench_sender *sender);
/* How long the loop may sleep, at most most_ms: not at all (0) where a sender waits busily for a time. */
int wh_bench_send_may_sleep(const struct wh_bench_node *node, int most_ms);

/* One message in the first subgroup, if this node is the last of its active senders. */
void wh_bench_send_last(struct wh_bench_node *node);

#endif
