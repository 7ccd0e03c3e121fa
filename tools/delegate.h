/* delegate.h - `whorl delegate`: what delegation costs, beside what programs use in its place.
 *
 *     delegate.c          the command line
 *     delegate_fetch.c    fetch-add: threads that add to counters, one way after the other; what came of it
 *     delegate_echo.c     echo: fibers that call a property of another node; delegate_bare.c: what bare writes do in its place
 *     delegate_sssp.c     sssp: shortest paths over trusts; delegate_sssp.h says of what it consists
 *     delegate_kv.c       kv: a store of keys and values; its parts: delegate_kv.h
 *     delegate_count.c    count: a member of a shard that adds to a replicated counter
 *     delegate_locks.c    the ways without delegation: locks, a combining queue, an atomic instruction
 *     delegate_trusts.c   the ways with it
 */
#ifndef WH_TOOLS_DELEGATE_H
#define WH_TOOLS_DELEGATE_H

#include <pthread.h>

#include <whorl/whorl.h>

#include "base/atomics.h"
#include "base/env.h"
#include "bench/histogram.h"
#include "command/crew.h"
#include "command/output.h"

#define WH_WAYS 7

struct wh_delegate { /* the command line */
	const char *command, *json;
	uint32_t threads, objects, runs, way_count;
	const struct wh_way *ways[WH_WAYS]; /* none twice */
	double zipf;                        /* 0: all objects are as likely */
	double load;                        /* operations per second of all threads; 0: as many as they can */
	bool busy, workers;
	struct wh_watch watch;
};

enum wh_exit wh_delegate_fetch(struct wh_delegate *delegate);
int wh_delegate_echo_main(int argc, char **argv); /* argv[0] is "echo" */
int wh_delegate_sssp_main(int argc, char **argv);
int wh_delegate_kv_main(int argc, char **argv); /* argv[0] is "kv" */
int wh_delegate_count_main(int argc, char **argv);

/* ---- fetch-add ----------------------------------------------------------------------------------------------------------- */

struct wh_fetch { /* one way, once */
	const struct wh_delegate *delegate;
	const struct wh_way *way;
	void *objects;           /* the way's, from open to close */
	pthread_barrier_t begin; /* all threads and the main one */
	wh_word stop;            /* [main] */
};

struct wh_fetch_thread { /* [the thread], read when it has ended */
	struct wh_fetch *fetch;
	uint32_t number;
	void *own;       /* the way's */
	uint32_t *picks; /* objects, in the order of their turns, again and again */
	uint32_t pick_mask;
	uint64_t done;         /* operations */
	uint64_t begun, ended; /* ns */
	uint64_t dice;
	uint64_t last;               /* what the last operation has returned, if there is one object */
	const char *wrong;           /* NULL: nothing */
	double due;                  /* with a load: when the next operation should begin, ns */
	double gap;                  /* and how long it is between two on the average */
	double sum_ns;               /* of all latencies that were taken */
	struct wh_histogram latency; /* ns */
};

/* A way to add 1 to an object and get what it was before. */
struct wh_way {
	const char *name, *what;
	const char *missing;                         /* NULL: it is built in; else why not */
	bool (*open)(struct wh_fetch *fetch);        /* false: it was said why */
	void (*run)(struct wh_fetch_thread *thread); /* between wh_fetch_begin and wh_fetch_end */
	uint64_t (*sum)(struct wh_fetch *fetch);     /* of the objects, when all threads have ended */
	void (*close)(struct wh_fetch *fetch);
};

extern const struct wh_way wh_way_mutex, wh_way_spin, wh_way_mcs, wh_way_combine, wh_way_atomic, wh_way_trust,
	wh_way_async;
extern const struct wh_way *const wh_ways[WH_WAYS];

/* All threads at once, in run. */
void wh_fetch_begin(struct wh_fetch_thread *thread);
void wh_fetch_end(struct wh_fetch_thread *thread);
/* With a load: has the time of the next operation come? It has begun then; *due is when it should have. Waits for a moment if not. */
bool wh_fetch_due(struct wh_fetch_thread *thread, uint64_t *due);

uint64_t wh_fetch_now(void);

#define WH_FETCH_SAMPLED 64 /* without a load the latency of one of so many is taken */

static inline bool wh_fetch_stopped(const struct wh_fetch_thread *thread)
{
	return wh_load_relaxed(&thread->fetch->stop) != 0;
}

static inline uint32_t wh_fetch_pick(struct wh_fetch_thread *thread, uint64_t turn)
{
	return thread->picks[turn & thread->pick_mask];
}

static inline void wh_fetch_took(struct wh_fetch_thread *thread, uint64_t since)
{
	uint64_t took = wh_fetch_now() - since;

	wh_histogram_add(&thread->latency, took);
	thread->sum_ns += (double)took;
}

/* Of one object each thread gets values that grow. */
static inline void wh_fetch_got(struct wh_fetch_thread *thread, uint64_t before)
{
	if (thread->pick_mask != 0)
		return;
	if (thread->done > 0 && before <= thread->last)
		thread->wrong = "a thread has got a value that is not greater than the one before";
	thread->last = before;
}

/* The whole of run for a way that waits for each operation. */
__attribute__((always_inline)) static inline void wh_fetch_each(struct wh_fetch_thread *thread,
								uint64_t (*add)(struct wh_fetch_thread *thread,
										uint32_t object))
{
	bool loaded = thread->gap > 0;

	wh_fetch_begin(thread);
	while (!wh_fetch_stopped(thread)) {
		bool sampled = loaded || thread->done % WH_FETCH_SAMPLED == 0;
		uint64_t since = 0;

		if (loaded && !wh_fetch_due(thread, &since))
			continue;
		if (sampled && !loaded)
			since = wh_fetch_now();
		wh_fetch_got(thread, add(thread, wh_fetch_pick(thread, thread->done)));
		thread->done++;
		if (sampled)
			wh_fetch_took(thread, since);
	}
	wh_fetch_end(thread);
}

#endif
