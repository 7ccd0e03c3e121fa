/* bench.h - what the files of `whorl bench` share.
 *
 * The command makes a plan for each variant of the file (bench/plan.c), and for each run of it shared memory and a crew
 * of nodes (bench/run.c). A node opens the library, sends (bench/send.c) and takes deliveries in (bench/deliver.c), and
 * leaves its figures in the shared memory (bench/node.c). With transport = sim nodes do the same in virtual time
 * (bench/sim.c). The command makes results of them (bench/results.c), writes
 * them as JSON and CSV (bench/files.c) and prints them (bench/print.c).
 *
 * All nodes go through the same phases. The parent sets a phase when every node has done what the one before asks for.
 */
#ifndef WH_BENCH_BENCH_H
#define WH_BENCH_BENCH_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <whorl/replica.h>

#include "base/atomics.h"
#include "bench/histogram.h"
#include "bench/limit/limit.h"
#include "command/crew.h"
#include "command/output.h"
#include "group/config/config.h"

/* ---- the section [bench] -----------------------------------------------------------------------------------------*/

enum wh_bench_some { BENCH_NONE, BENCH_ONE, BENCH_HALF, BENCH_ALL }; /* of the senders */

enum wh_bench_upcall { BENCH_UPCALL_MESSAGE, BENCH_UPCALL_BATCH, BENCH_UPCALL_CALL };

/* In the paper's order, each with those before it. */
enum wh_bench_stage {
	BENCH_STAGE_ENGINE, /* as the section [engine] says */
	BENCH_STAGE_BASELINE,
	BENCH_STAGE_DELIVERY,
	BENCH_STAGE_RECEIVE,
	BENCH_STAGE_SEND,
	BENCH_STAGE_NULLS,
	BENCH_STAGE_DEFERRED
};

enum wh_bench_copies { BENCH_COPIES_NONE, BENCH_COPIES_SEND, BENCH_COPIES_DELIVERY, BENCH_COPIES_BOTH };

#define BENCH_BATCH_MAX 32768 /* as the greatest window: that of its subgroup is the maximum */

struct wh_bench_options {
	int64_t messages, messages_total, bytes, runs;
	int optimisations;    /* enum wh_bench_stage */
	int senders;          /* enum wh_bench_some; none: as the section [subgroup] says */
	int64_t subgroups;    /* like the file's only one */
	int active_subgroups; /* enum wh_bench_some; not none */
	int copies;           /* enum wh_bench_copies */
	int64_t sender_delay_us;
	int delayed_senders, active_senders; /* enum wh_bench_some; active ones are not none */
	int64_t senders_per_node, batch;
	bool sender_sleeps;
	bool processes, limit;
	int upcall; /* enum wh_bench_upcall */
	int64_t latency_every;
	int64_t idle_seconds;
	int64_t give_up_s;
};

struct wh_bench_subgroup_options { /* of [bench NAME] */
	int64_t bytes;             /* -1: as [bench] says */
	int64_t batch;             /* 0: likewise */
};

extern const struct wh_option_table wh_bench_table, wh_bench_subgroup_table;

/* ---- the plan of one variant -------------------------------------------------------------------------------------*/

struct wh_bench_subgroup {
	const char *name;
	const uint32_t *members, *senders; /* node ids, ascending; of the view */
	uint32_t member_count, sender_count;
	uint32_t active_first; /* the senders of rank active_first and above send, */
	uint32_t active_count;
	uint32_t delayed_count; /* the lowest so many of them with a delay */
	uint32_t window, bytes; /* bytes: of each message */
	uint32_t batch;         /* so many are claimed and committed at a time */
	bool ordered, durable;  /* durable ones are ordered */
	bool by_total;     /* senders go on until `expected` messages are delivered, no matter which node sent them */
	uint64_t expected; /* messages that each member delivers */
	unsigned latency_shift; /* every 2^latency_shift-th message of a sender is timed */
	uint64_t stamp_mask;    /* stamps kept for a sender - 1 */
	size_t stamps_offset;   /* of the first sender's, in words */
};

struct wh_bench_plan {
	struct wh_conf *conf; /* not owned */
	size_t variant;
	char text[256]; /* what tells the variant from the others */
	struct wh_node_config config;
	struct wh_bench_options options;
	struct wh_view *view;
	struct wh_bench_subgroup *subgroups;
	uint32_t nodes, subgroup_count;
	uint32_t here_first, here_count; /* the nodes that this command runs: all, or one of them (wh_bench_plan_one) */
	size_t stamp_words;
	uint64_t memory;                    /* bytes that a run needs, all nodes together */
	bool durable;                       /* there are durable subgroups: */
	char log_dir[WH_OPTION_TEXT_BYTES]; /* the file's; that of `config` is a run's own below it */
	const char *deliveries; /* the directory of this variant's deliveries; NULL: none, and the run is timed */
};

static inline bool wh_bench_is_caller(const struct wh_bench_plan *plan)
{
	return plan->config.engine.thread == 1; /* dedicated, caller */
}

static inline bool wh_bench_is_simulated(const struct wh_bench_plan *plan)
{
	return plan->config.group.transport == WH_TRANSPORT_SIM;
}

/* Notes mistakes in the conf, also where it has some already: then the plan is only looked for more of them.
 * WHORL_OK; WHORL_CONFIG: the conf has the mistakes; WHORL_MEMORY, WHORL_UNSUPPORTED: err says more. */
WH_MUST_CHECK enum whorl_result wh_bench_plan_make(struct wh_bench_plan *plan, struct wh_conf *conf, size_t variant,
						   struct wh_error *err);
void wh_bench_plan_free(struct wh_bench_plan *plan);
/* Has something been said about this key already, as in "bench.bytes"? Then nothing is built on it. */
bool wh_bench_has_mistake(const struct wh_conf *conf, const char *path);

/* What [bench] changes in the group that the file describes: bench/vary.c. First the mistakes are noted in the conf; then the bound
 * configuration is changed, before there is a view of it; then the messages are shared out, when there is one.
 * WHORL_OK, WHORL_MEMORY. */
void wh_bench_vary_mistakes(const struct wh_bench_plan *plan);
WH_MUST_CHECK enum whorl_result wh_bench_vary_config(struct wh_bench_plan *plan);
void wh_bench_vary_messages(struct wh_bench_plan *plan);
/* How many of the senders of subgroup `g` of the view send. */
uint32_t wh_bench_vary_active(const struct wh_bench_plan *plan, uint32_t g);
uint32_t wh_bench_some_of(int some, uint32_t count);
/* Has this machine what the transport needs? WHORL_OK, WHORL_UNSUPPORTED. */
WH_MUST_CHECK enum whorl_result wh_bench_plan_can_run(const struct wh_bench_plan *plan, struct wh_error *err);
/* Only node `id` is run here, once; other commands, on other hosts, run the others. Latency is that of the node's own messages, as
 * clocks differ, and there is a limit only of tcp, measured after the run. */
void wh_bench_plan_one(struct wh_bench_plan *plan, uint32_t id);

static inline bool wh_bench_is_here(const struct wh_bench_plan *plan, uint32_t id)
{
	return id >= plan->here_first && id - plan->here_first < plan->here_count;
}

static inline bool wh_bench_is_whole(const struct wh_bench_plan *plan)
{
	return plan->here_count == plan->nodes;
}

/* Can logs be made in log_dir, if there are any? WHORL_OK, WHORL_UNSUPPORTED. */
WH_MUST_CHECK enum whorl_result wh_bench_plan_has_disk(const struct wh_bench_plan *plan, struct wh_error *err);
/* A run of durable subgroups forms a group, so its logs begin in a directory of its own. WHORL_OK, also where nothing is durable;
 * WHORL_SYSTEM: it has been said why it cannot be made. */
struct wh_scratch;
WH_MUST_CHECK enum whorl_result wh_bench_plan_logs(struct wh_bench_plan *plan, struct wh_scratch *scratch);

/* The program that is the limit of the plan's transport, or of the disks. */
enum wh_limit_kind wh_bench_limit_kind(const struct wh_bench_plan *plan);

/* Where each node is called, host:port: an array of pointers to free; NULL when memory is out. Of tcp. */
const char *const *wh_bench_plan_addresses(const struct wh_bench_plan *plan);

/* The rings of the limit that moves the same bytes: an array to free, *count long; NULL when memory is out. */
struct wh_limit_ring *wh_bench_plan_rings(const struct wh_bench_plan *plan, size_t *count);

/* ---- shared by the parent and the nodes ---------------------------------------------------------------------------*/

enum wh_bench_phase {
	BENCH_OPEN,  /* open the node, meet the others */
	BENCH_RUN,   /* send, and deliver what is expected: this is timed */
	BENCH_CALM,  /* let the last acknowledgements pass, before */
	BENCH_IDLE,  /* say nothing for idle_seconds: this is measured */
	BENCH_NOTE,  /* note what that has cost */
	BENCH_LAST,  /* one sender sends one message more */
	BENCH_CLOSE, /* leave */
	BENCH_STOP,  /* leave at once: something failed, or the user wants it */
};

/* A node and one of its subgroups. */
struct wh_bench_part {
	_Alignas(WH_CACHE_LINE) wh_word counted; /* [loop] messages delivered, of the expected ones */
	wh_word bytes;                           /* [loop] of these */
	wh_word done_ns;                         /* [loop] when the last of them was; 0: not yet */
	wh_word digest;                          /* [loop] of these */
	wh_word extra;                           /* [loop] messages delivered behind them, */
	wh_word extra_ns;                        /* [loop] and when the last of those was */
	struct whorl_subgroup_stats stats;       /* [main, before it has reached BENCH_CLOSE] of the run */
	struct whorl_log_stats log;              /* [likewise] durable: batches and syncs of the run */
};

struct wh_bench_node_page {
	_Alignas(WH_CACHE_LINE) wh_word reached; /* [main, loop] 1 + the last phase with all its work done */
	wh_word failing, failed;            /* [any thread of the node] claimed by the first failure; text is there */
	wh_word wait_ns;                    /* [senders] time that they waited for the window */
	wh_word parts_left;                 /* [loop] subgroups with messages that are not delivered yet */
	char failure[512];                  /* guarded by `failed` */
	uint64_t failure_ns;                /* likewise */
	struct whorl_node_stats stats;      /* [main, before BENCH_CLOSE is reached] of the run */
	uint64_t cpu_ns;                    /* [main] of the node's process in the run */
	struct whorl_node_stats idle_stats; /* [main] of the idle phase */
	uint64_t idle_cpu_ns, idle_ns;      /* [main] likewise */
	struct wh_histogram latency;        /* [loop, before BENCH_RUN is reached] in nanoseconds */
};

struct wh_bench_shared {
	struct wh_phase phase;
	uint64_t start_ns; /* [parent, before BENCH_RUN] */
	wh_word last_ns;   /* [the sender of the last message] when it was claimed */
};

struct wh_bench_memory {
	void *memory;
	size_t bytes;
	struct wh_bench_shared *shared;
	struct wh_bench_node_page *pages; /* [nodes] */
	struct wh_bench_part *parts;      /* [nodes x subgroups] */
	wh_word *stamps;                  /* see wh_bench_stamp */
};

static inline struct wh_bench_part *wh_bench_part(const struct wh_bench_memory *memory,
						  const struct wh_bench_plan *plan, uint32_t node, uint32_t subgroup)
{
	return &memory->parts[(size_t)node * plan->subgroup_count + subgroup];
}

/* When message `index` of the sender of rank `rank` was claimed (CLOCK_MONOTONIC: nodes of one host have one clock).
 * Only for timed messages. A stamp is not used again while its message is in flight: the window is smaller than the
 * ring of stamps. */
static inline wh_word *wh_bench_stamp(const struct wh_bench_memory *memory, const struct wh_bench_subgroup *subgroup,
				      uint32_t rank, uint64_t index)
{
	return &memory->stamps[subgroup->stamps_offset + rank * (subgroup->stamp_mask + 1) +
			       (index >> subgroup->latency_shift & subgroup->stamp_mask)];
}

static inline bool wh_bench_timed(const struct wh_bench_plan *plan, const struct wh_bench_subgroup *subgroup,
				  uint64_t index)
{
	return plan->options.latency_every > 0 && (index & ((UINT64_C(1) << subgroup->latency_shift) - 1)) == 0;
}

size_t wh_bench_memory_bytes(const struct wh_bench_plan *plan);

/* ---- a run ---------------------------------------------------------------------------------------------------------*/

struct wh_bench_run {
	const struct wh_bench_plan *plan;
	struct wh_watch *watch;
	struct wh_scratch *scratch; /* where its logs lie; [main] closes it */
	struct wh_bench_memory memory;
	struct wh_crew crew;
	uint32_t number;           /* from 1 */
	size_t variants;           /* of the file; for the progress line */
	bool quiet;                /* no progress line */
	FILE *table;               /* for what an interrupted run has done */
	pthread_mutex_t conf_lock; /* the conf is for one thread at a time, and nodes may be threads */
};

/* The body of a node: the crew's function; ctx is the wh_bench_run. */
int wh_bench_node(void *ctx, uint32_t worker);

/* The memory that nodes and parent share. False: no memory. */
bool wh_bench_memory_open(struct wh_bench_memory *memory, const struct wh_bench_plan *plan);

/* The same run in virtual time (transport = sim): bench/sim.c. Results as those of wh_bench_run_make. */
WH_MUST_CHECK enum whorl_result wh_bench_sim_make(struct wh_bench_run *run);
/* Notes what of the conf cannot be simulated. */
void wh_bench_sim_mistakes(const struct wh_bench_plan *plan);
/* The limit of such a run: what a link carries. */
void wh_bench_sim_limit(const struct wh_bench_plan *plan, struct wh_limit_result *out);

/* Makes one run. On WHORL_OK its figures stand in run->memory, until wh_bench_run_free; otherwise what went wrong has
 * been said. WHORL_AGAIN: interrupted. */
WH_MUST_CHECK enum whorl_result wh_bench_run_make(struct wh_bench_run *run);
void wh_bench_run_free(struct wh_bench_run *run);

/* ---- bench/check.c --------------------------------------------------------------------------------------------------*/

/* How the limit of such a run is measured: WHORL_OK, to be freed; WHORL_MEMORY. All zero may be freed as well. */
WH_MUST_CHECK enum whorl_result wh_bench_limit_plan_make(const struct wh_bench_plan *plan, struct wh_limit_plan *limit);
void wh_bench_limit_plan_free(struct wh_limit_plan *limit);

/* Plans every variant and tells all mistakes on stderr; also what the machine lacks for it. */
enum wh_exit wh_bench_check(struct wh_conf *conf, const char *file);
/* Of a conf that is good: is there a disk for the logs of each variant? If not that has been said. */
enum wh_exit wh_bench_check_disk(struct wh_conf *conf, const char *file);

/* ---- results ---------------------------------------------------------------------------------------------------------*/

struct wh_bench_result {
	uint32_t run; /* from 1 */
	double seconds;
	double messages_per_s, bytes_per_s; /* delivered, the mean over the nodes */
	uint64_t delivered;                 /* over all nodes */
	uint64_t latency_samples;
	double latency_us[5]; /* WH_BENCH_LATENCIES */
	uint64_t nulls, pushes, writes, bytes_pushed;
	double post_seconds, cpu_seconds, sender_wait_fraction;
	struct whorl_batch_stats batch[3]; /* send, receive, deliver */
	uint64_t log_batches, log_syncs;   /* durable: over all nodes */
	double messages_per_sync;          /* on the mean; 0: nothing was synced */
	double longest_sync_us;            /* of any node, since it was opened: of writing a batch and syncing it */
	bool limited, limited_before;      /* there is a limit: of after the run, and of before it as well */
	struct wh_limit_result before, after;
	double limit_bytes_per_s, limit_messages_per_s; /* the means; 0: not measured */
	double fraction_of_limit;
	double best_write_bytes_per_s, best_write_messages_per_s; /* tcp: likewise */
	double fraction_of_best_write;
	double sealed_write_bytes_per_s, sealed_write_messages_per_s; /* tcp with TLS: likewise */
	double fraction_of_sealed_write;
	double per_message_bytes_per_s, per_message_messages_per_s; /* verbs: likewise */
	double fraction_of_per_message;
	double stable_write_bytes_per_s, stable_write_messages_per_s; /* verbs: likewise */
	double fraction_of_stable_write;
	double written_bytes_per_s;             /* disk: the mean, */
	double sync_us[2];                      /* and the lesser of before and after */
	double round_trip_us[2];                /* of each enum wh_limit_trip: the lesser of before and after */
	double pattern_us[2], sent_apart_us[2]; /* likewise: limit/pattern.c */
	double idle_seconds, idle_cpu_fraction; /* of one core, all nodes together */
	uint64_t idle_pushes, idle_heartbeats, idle_sleeps;
	double idle_next_us; /* from the claim to the last delivery */
};

#define WH_BENCH_LATENCIES                                                                                             \
	{                                                                                                              \
		"p50", "p90", "p99", "p999", "max"                                                                     \
	}

/* The figures of a run that is over, without the limit. False: members of a subgroup have delivered different things;
 * it has been said which. */
bool wh_bench_result_make(struct wh_bench_result *result, const struct wh_bench_run *run);
/* before == NULL: it was measured only afterwards. */
void wh_bench_result_limit(struct wh_bench_result *result, const struct wh_limit_result *before,
			   const struct wh_limit_result *after);

/* Why figures of a run are worth little. */
enum wh_bench_doubt {
	BENCH_DOUBT_SHORT,    /* it was over too soon */
	BENCH_DOUBT_LIMIT,    /* it is far beyond the limit, so that was not measured well */
	BENCH_DOUBT_UNSTEADY, /* the limit was quite another before than after it */
	BENCH_DOUBTS
};
#define WH_BENCH_DOUBT_NAMES                                                                                           \
	{                                                                                                              \
		"short", "limit", "unsteady"                                                                           \
	}
/* A bit for each. */
uint32_t wh_bench_doubts(const struct wh_bench_plan *plan, const struct wh_bench_result *result);

/* What each result says of itself: the command (`sets`: its --set), the section [figure]; and the picture of all, at `path`, unless
 * that is NULL. The strings stay the caller's. Anything but WH_EXIT_GOOD: said why; to be closed all the same. */
struct wh_bench_plot;
WH_MUST_CHECK enum wh_exit wh_bench_plot_open(struct wh_bench_plot **out, const struct wh_conf *conf, const char *file,
					      const char *const *sets, size_t set_count, const char *path);
void wh_bench_plot_add(struct wh_bench_plot *plot, json_t *object);
bool wh_bench_plot_is_wanted(const struct wh_bench_plot *plot);
/* Draws, if something has been measured. False: it could not be drawn; said why. */
bool wh_bench_plot_close(struct wh_bench_plot *plot);

/* Where results go besides the terminal. */
struct wh_bench_files;

/* NULL paths: not wanted. The plot stays the caller's, and open. WHORL_OK; WHORL_SYSTEM: said why. */
WH_MUST_CHECK enum whorl_result wh_bench_files_open(struct wh_bench_files **out, const char *json, const char *csv,
						    struct wh_bench_plot *plot);
/* One line each. WHORL_OK; WHORL_SYSTEM, WHORL_MEMORY: said why. */
WH_MUST_CHECK enum whorl_result wh_bench_files_add(struct wh_bench_files *files, const char *file,
						   const struct wh_bench_run *run,
						   const struct wh_bench_result *result);
/* False: something could not be written; said why. */
bool wh_bench_files_close(struct wh_bench_files *files);

/* ---- the terminal ----------------------------------------------------------------------------------------------------*/

/* Shows on the progress line how far the run is. */
void wh_bench_progress(const struct wh_bench_run *run);

/* What a run that was interrupted had done by now. */
void wh_bench_print_partial(FILE *out, const struct wh_bench_run *run);

/* "AMD EPYC 9654", or "unknown". Returns buf. */
const char *wh_bench_cpu_model(char *buf, size_t bytes);

/* What the members of each subgroup have delivered, over all runs of a command. */
struct wh_bench_verdict {
	uint32_t runs;         /* that came to their end */
	bool differ;           /* in the last one: it has been said which members */
	bool apart, unordered; /* in some variant: other nodes ran elsewhere, a subgroup is unordered */
};

/* In words, the last line of all. */
void wh_bench_print_verdict(FILE *out, const struct wh_bench_verdict *verdict);

/* The table: its head, then a row for each variant with means and standard deviations over its runs. */
void wh_bench_print_head(FILE *out, const char *file, const struct wh_bench_plan *plan);
void wh_bench_print_row(FILE *out, const struct wh_bench_plan *plan, const struct wh_bench_result *results,
			size_t count);

#endif
