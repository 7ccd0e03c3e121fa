/* fiber.h - threads within a thread: each has a stack of its own, and one goes on only where another says so. A fiber stays on the thread
 * that made it.
 */
#ifndef WH_BASE_FIBER_H
#define WH_BASE_FIBER_H

#include <stdbool.h>
#include <stddef.h>

struct wh_fiber;

typedef void wh_fiber_fn(void *ctx);

#define WH_FIBER_STACK_BYTES ((size_t)256 * 1024) /* memory is taken as it is used */

/* Nothing runs yet. Of the stack as much as it uses becomes memory; below it is a page that faults. NULL: no memory. */
struct wh_fiber *wh_fiber_new(wh_fiber_fn *fn, void *ctx, size_t stack_bytes);
/* Goes on in the fiber, from its beginning or where it paused, until it pauses or ends. From a thread or another fiber, not when it has
 * ended. */
void wh_fiber_resume(struct wh_fiber *fiber);
/* In that fiber: back to what resumed it. */
void wh_fiber_pause(struct wh_fiber *fiber);
bool wh_fiber_has_ended(const struct wh_fiber *fiber);
/* Of one that has ended: it begins anew, with another function on the same stack. */
void wh_fiber_again(struct wh_fiber *fiber, wh_fiber_fn *fn, void *ctx);
/* Also one that has not ended: it never goes on, and what it holds is lost. Not from itself. NULL is fine. */
void wh_fiber_free(struct wh_fiber *fiber);

#endif
