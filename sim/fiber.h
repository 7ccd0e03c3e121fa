/* fiber.h - threads of a simulation: each has a stack of its own, all run on one thread of the system, one at a time, and only where
 * they say so does another go on. So what they do depends on nothing but them.
 */
#ifndef WH_SIM_FIBER_H
#define WH_SIM_FIBER_H

#include <stdbool.h>

struct wh_fiber;

typedef void wh_fiber_fn(void *ctx);

/* Nothing runs yet. NULL: no memory. */
struct wh_fiber *wh_fiber_new(wh_fiber_fn *fn, void *ctx);
/* Goes on in the fiber, from its beginning or where it paused, until it pauses or ends. Not from a fiber, not when it has ended. */
void wh_fiber_resume(struct wh_fiber *fiber);
/* In that fiber: back to the caller that resumed it. */
void wh_fiber_pause(struct wh_fiber *fiber);
bool wh_fiber_has_ended(const struct wh_fiber *fiber);
/* Also one that has not ended: it never goes on, and what it holds is lost. Not from itself. NULL is fine. */
void wh_fiber_free(struct wh_fiber *fiber);

#endif
