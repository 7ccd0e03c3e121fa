/* background.h - jobs that last, on this machine: a thread each (env.h).
 *
 * Threads: any may wake; one begins and ends, and that is not from the job's own calls.
 */
#ifndef WH_BASE_BACKGROUND_H
#define WH_BASE_BACKGROUND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct wh_background;

/* As struct wh_env has them; `name` is the thread's, and copied. */
WH_MUST_CHECK enum whorl_result wh_background_begin(struct wh_background **out, const char *name,
						    bool (*work)(void *argument), void *argument, struct wh_error *err);
void wh_background_wake(struct wh_background *task);
void wh_background_again(struct wh_background *task, uint64_t ns);
bool wh_background_end(struct wh_background *task, uint64_t timeout_ns);

#endif
