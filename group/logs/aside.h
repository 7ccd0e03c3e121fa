/* aside.h - jobs that ask a disk for something, beside what they are done for: one that hangs is left behind when that ends, with all that it
 * uses. So they use nothing that ends before they do.
 *
 * Threads: any may hand over; one closes, when nothing is handed over any more. Memory: each job is allocated when it is handed over.
 */
#ifndef WH_GROUP_LOGS_ASIDE_H
#define WH_GROUP_LOGS_ASIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/env.h"
#include "base/error.h"

struct wh_aside;

/* `env` is the world's, and outlives the jobs. NULL: no memory. */
struct wh_aside *wh_aside_new(const struct wh_env *env);
/* run(argument) is called off this thread; where no thread can be had, on this one. False: no memory, and it is not. */
WH_MUST_CHECK bool wh_aside_do(struct wh_aside *aside, void (*run)(void *argument), void *argument);
/* How many are not done. */
uint64_t wh_aside_count(struct wh_aside *aside);
/* Waits for all, at most so long: true: they are done. Either way it is gone for the caller. NULL is fine. */
bool wh_aside_close(struct wh_aside *aside, uint64_t timeout_ns);

#endif
