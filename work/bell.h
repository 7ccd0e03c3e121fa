/* bell.h - a doorbell and nothing else: what a thread sleeps on that moves no bytes.
 *
 * It is a transport without peers, so that wh_loop sleeps on it as it does on a network; a thread without a loop waits on it by
 * itself. A ring is sticky: one that comes before the wait ends it at once.
 */
#ifndef WH_WORK_BELL_H
#define WH_WORK_BELL_H

#include "base/atomics.h"
#include "transport/transport.h"

struct wh_bell {
	struct wh_transport base;
	wh_word rung; /* [the thread that waits, and those that ring] 0 or 1 */
};

void wh_bell_init(struct wh_bell *bell);
void wh_bell_ring(struct wh_bell *bell); /* any thread */
/* Until it is rung, at most so long; it may return early. One thread at a time. */
void wh_bell_wait(struct wh_bell *bell, uint64_t timeout_ns);

#endif
