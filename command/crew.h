/* crew.h - the nodes of one run, as child processes or as threads, and how the command watches over them.
 *
 * The command has one watch for its whole life: it blocks the signals that it wants to hear and turns them into a file
 * descriptor. A crew is started for a run and ended with it. What parent and crew say to each other stands in memory
 * from wh_shared_alloc, which both see: anonymous, so nothing of it can be left behind.
 *
 * A crew of processes is forked directly from the command, before it has made any thread; if the command dies, the
 * kernel kills the crew.
 */
#ifndef WH_COMMAND_CREW_H
#define WH_COMMAND_CREW_H

#include <stdint.h>
#include <sys/types.h>

#include "base/atomics.h"
#include "base/error.h"

/* ---- memory that parent and crew share ---------------------------------------------------------------------------*/

/* Zeroed; NULL when there is no more. Also for threads. `huge`: on huge pages if there are any; `bytes` is a multiple of
 * WH_HUGE_PAGE then. */
void *wh_shared_alloc(size_t bytes, bool huge);
void wh_shared_free(void *memory, size_t bytes);

#define WH_HUGE_PAGE (UINT64_C(2) << 20)

/* Where a run stands. One word in shared memory that the parent sets and the crew follows; it can be slept on. */
struct wh_phase {
	_Atomic uint32_t value; /* [parent writes] */
};

void wh_phase_set(struct wh_phase *phase, uint32_t value);

/* What the parent wrote before setting the phase is visible to a process that sees the phase. */
static inline uint32_t wh_phase_get(const struct wh_phase *phase)
{
	return atomic_load_explicit(&phase->value, memory_order_acquire); /* partner: wh_phase_set */
}

/* Sleeps while the phase is `seen`, at most timeout_ms. Returns the phase. */
uint32_t wh_phase_wait(struct wh_phase *phase, uint32_t seen, int timeout_ms);

/* ---- the watch ---------------------------------------------------------------------------------------------------*/

struct wh_watch {
	int signal_fd, bell_fd;
	int interrupted; /* the signal that asked the command to end: SIGINT, SIGTERM, SIGHUP; 0: none yet */
};

/* Blocks the signals of this thread (make it the only one). WHORL_OK, WHORL_SYSTEM. */
WH_MUST_CHECK enum whorl_result wh_watch_open(struct wh_watch *watch, struct wh_error *err);
void wh_watch_close(struct wh_watch *watch);

/* Sleeps until a bell, the end of a worker, a signal, or the time-out. */
void wh_watch_wait(struct wh_watch *watch, int timeout_ms);

/* A worker has something to say. Any thread or process of a crew. */
void wh_watch_ring(const struct wh_watch *watch);

/* ---- the crew ----------------------------------------------------------------------------------------------------*/

/* Runs as worker `worker`; what it returns (0..125) is its exit status. */
typedef int wh_crew_fn(void *ctx, uint32_t worker);

struct wh_crew {
	struct wh_watch *watch;
	wh_crew_fn *fn;
	void *ctx;
	uint32_t count, running; /* of workers: started, not yet reaped */
	bool processes;
	struct wh_worker *workers;
};

/* Starts `count` workers. On failure none is left. WHORL_OK, WHORL_MEMORY, WHORL_SYSTEM. */
WH_MUST_CHECK enum whorl_result wh_crew_start(struct wh_crew *crew, struct wh_watch *watch, uint32_t count,
					      bool processes, wh_crew_fn *fn, void *ctx, struct wh_error *err);

/* True: worker *worker has ended with *status (as of waitpid), told once for each. False: no more have, so far. */
bool wh_crew_reap(struct wh_crew *crew, uint32_t *worker, int *status);

/* The process of a worker, also after its end; 0 if it is a thread. */
pid_t wh_crew_pid(const struct wh_crew *crew, uint32_t worker);

/* Gives the workers grace_ms to end by themselves, kills the processes that have not, and frees the crew. False: a
 * thread did not end; it still uses the crew's memory, and only the end of the process rids us of it. */
bool wh_crew_end(struct wh_crew *crew, int grace_ms);

#endif
