/* thread.h - how the library starts a thread. */
#ifndef WH_BASE_THREAD_H
#define WH_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/error.h"

#define WH_THREAD_NAME_BYTES 16 /* the kernel's limit, with the NUL */

/* Starts `fn(arg)` in a joinable thread. `name` is what ps and gdb show; what is beyond 15 bytes is cut. `cpu` pins the
 * thread to that one CPU; -1 leaves it to the scheduler.
 * The thread blocks all signals, so an application's handlers run in the application's threads; only those that the
 * thread's own instructions raise (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS) are left, which no other thread could
 * take and which crash reporters and sanitizers want to see.
 * WHORL_OK; WHORL_MEMORY; WHORL_SYSTEM: no thread, for example because there is no such CPU. */
WH_MUST_CHECK enum whorl_result wh_thread_create(pthread_t *thread, const char *name, int cpu, void *(*fn)(void *),
						 void *arg, struct wh_error *err);

/* The calling thread, one of the library's own, stands back for the rest of its life: for work that takes long beside loops that
 * may not wait. Beside one busy thread on the same processor it gets about a tenth, and it does not interrupt others when it wakes.
 * It may run wherever the process's first thread may: the thread that made it may be bound to one CPU, and a real-time thread,
 * and it would inherit both. Where that is refused it goes on as it is. */
void wh_thread_stand_back(void);

/* The same for work that has to come to an end and is made of short pieces. Real-time loops need not ever sleep, and leave a thread that stands back a
 * twentieth of a processor: so one that is a real-time thread stays one, wherever it may run. True: it is, and has to call
 * sched_yield between two pieces. */
bool wh_thread_stand_back_or_take_turns(void);

/* The number of the calling thread, which no other of this process has or has had: pthread_self() may be that of one that has ended. Not 0. */
extern _Thread_local uint64_t wh_thread_own_number __attribute__((tls_model("initial-exec"))); /* 0: it has none yet */
uint64_t wh_thread_take_number(void);
static inline uint64_t wh_thread_number(void)
{
	return __builtin_expect(wh_thread_own_number != 0, 1) ? wh_thread_own_number : wh_thread_take_number();
}

/* A condition with deadlines of CLOCK_MONOTONIC. */
void wh_thread_condition_init(pthread_cond_t *condition);
/* So long from now, in ms or in ns, as one of them. */
struct timespec wh_deadline(int timeout_ms);
struct timespec wh_deadline_after(uint64_t timeout_ns); /* as late as can be if that is too long to tell */

#endif
