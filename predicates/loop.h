/* loop.h - one thread decides: the loop that evaluates predicates (Spindle §II-D).
 *
 * A pass (wh_loop_step) calls every predicate once, in the order in which they were added, and returns how much work
 * they did. A dedicated thread makes passes, or the caller does, or the simulator. A loop without work spins briefly,
 * yields early, and then sleeps until its doorbell rings or the next time that a predicate has asked for.
 *
 * Threads: a pass is made by one thread at a time; stop and wake may be called by any. While it sleeps or yields the loop is lent
 * (base/gate.h), where the transport allows it: what is marked [loop] may then be touched by a thread that has borrowed it.
 */
#ifndef WH_PREDICATES_LOOP_H
#define WH_PREDICATES_LOOP_H

#include <pthread.h>

#include "base/backoff.h"
#include "base/check.h"
#include "base/counter.h"
#include "base/gate.h"
#include "transport/transport.h"

/* Evaluates one predicate and runs its trigger if it holds. Returns how many events it handled. Never blocks. */
typedef size_t wh_predicate(void *ctx);

enum wh_idle {
	WH_IDLE_ADAPTIVE, /* spin a little, yield a little, sleep */
	WH_IDLE_YIELD,    /* spin a little, then yield for ever */
	WH_IDLE_SPIN,     /* only where each loop has a core of its own */
};

struct wh_loop_stats { /* [loop] */
	wh_word steps, idle_steps, yields, sleeps;
};

struct wh_loop {
	struct wh_diag *diag;
	struct wh_transport *transport;
	struct wh_gate *gate;
	enum wh_idle idle;
	struct wh_backoff backoff; /* [loop] since the last pass that did something */
	struct wh_loop_stats stats;

	struct wh_predicate_entry {
		wh_predicate *fn;
		void *ctx;
	} * predicates; /* [loop] */
	size_t count, capacity;

	uint64_t now_ns;          /* [loop] the clock, at most WH_CLOCK_PASSES busy passes old */
	uint64_t next_ns;         /* [loop] the earliest time that a predicate asked for; see wh_loop_at */
	uint64_t sleep_max_ns;    /* [loop] set by each arm */
	uint64_t serviced_ns;     /* [loop] when the transport was last served */
	void (*parks)(void *ctx); /* [loop] see wh_loop_on_park; NULL: nothing */
	void *parks_ctx;
	void (*helps)(void *ctx, const void *what); /* [const] see wh_loop_on_help; NULL: nothing */
	void *helps_ctx;
	bool lends; /* [const] also where the transport's posts are for its own thread alone: one that borrows the loop makes none */
	bool looks_last; /* [loop] this pass is the one between arm and sleep */
	bool sure;       /* [loop] in it: parking was ordered before it in the eyes of all threads (wh_gate_park) */
	bool rests; /* [loop] a predicate says: nothing is gained by waiting awake, so a pass without work is enough to sleep */
	bool gathers; /* [loop] a predicate of the last pass says: more is being made ready for the next, which need not look at the transport */
	bool armed;   /* [loop] from an arm that found nothing to the next disarm */
	wh_word stop; /* [any] */
	pthread_t thread; /* of a dedicated loop */
	bool running;     /* there is one */
};

#define WH_CLOCK_PASSES 16
#define WH_SERVICE_NS (2 * WH_NS_PER_MS) /* how often the transport is served by a busy loop */

/* `gate` and `transport` outlive the loop. */
void wh_loop_init(struct wh_loop *loop, struct wh_diag *diag, struct wh_transport *transport, struct wh_gate *gate,
		  enum wh_idle idle);
void wh_loop_close(struct wh_loop *loop);

/* Before the first pass, or from a predicate: it takes part from then on. WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_loop_add(struct wh_loop *loop, wh_predicate *fn, void *ctx, struct wh_error *err);

/* Is called before each parking, which orders what it does before the pass that follows, in the eyes of all threads. */
static inline void wh_loop_on_park(struct wh_loop *loop, void (*parks)(void *ctx), void *ctx)
{
	loop->parks = parks;
	loop->parks_ctx = ctx;
}

/* Before the first pass. Is called by a thread that can only wait, see wh_loop_help: what it may do of a pass for those that wait for `what`. */
static inline void wh_loop_on_help(struct wh_loop *loop, void (*helps)(void *ctx, const void *what), void *ctx)
{
	loop->helps = helps;
	loop->helps_ctx = ctx;
}

/* By any thread, while the loop stays: if it is lent, as its thread has yielded or sleeps, this one borrows it and helps. */
void wh_loop_help(struct wh_loop *loop, const void *what);

/* A predicate, in its pass: "call me again by then even if nothing happens". */
static inline void wh_loop_at(struct wh_loop *loop, uint64_t when_ns)
{
	if (when_ns < loop->next_ns)
		loop->next_ns = when_ns;
}

size_t wh_loop_step(struct wh_loop *loop);

/* Arms the doorbell and makes a pass: 0 means that nothing was there, and whatever comes rings. Otherwise disarmed. */
size_t wh_loop_arm(struct wh_loop *loop);
/* After wh_loop_arm gave 0: sleeps until a ring, the next time asked for, or `timeout_ns`. Disarms. */
void wh_loop_sleep(struct wh_loop *loop, uint64_t timeout_ns);
void wh_loop_disarm(struct wh_loop *loop);

/* Of a loop that `idle`s so, after a pass without work: pauses, or yields the processor, and counts that in `backoff`, which may be a copy. False:
 * it has had nothing for so long that it is time to arm and to sleep. */
bool wh_loop_idle(enum wh_idle idle, struct wh_backoff *backoff, const struct wh_env *env);

/* What a loop's thread does before it arms: passes, and wh_loop_idle between them, until one has found work, or it is time to sleep, or
 * `deadline_ns` has come. Once for each time that there was work: where wh_loop_idle has said no since then, also to others, it is one pass. Returns
 * what was done. */
size_t wh_loop_linger(struct wh_loop *loop, uint64_t deadline_ns);

/* A thread of its own, named and pinned (cpu, or -1), with all signals blocked. WHORL_OK, WHORL_SYSTEM. */
WH_MUST_CHECK enum whorl_result wh_loop_start(struct wh_loop *loop, const char *name, int cpu, struct wh_error *err);
/* Ends it and waits for it; a pass that is under way is finished. Nothing if there is none. */
void wh_loop_stop(struct wh_loop *loop);
/* The same where a pass may take for ever. False: it still runs after so long; it ends with that pass, and may be asked for again. */
WH_MUST_CHECK bool wh_loop_stop_within(struct wh_loop *loop, uint64_t timeout_ns);

#endif
