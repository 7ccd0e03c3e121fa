/* barrier.h - the heavy side of an asymmetric fence.
 *
 * Two threads each store a word and then load the other's; at least one of them must see the other's store. Both need a
 * full fence between store and load, unless one side is rare: it then makes all running threads of the process pass a
 * fence (one system call), and the frequent side needs to hold back only the compiler (wh_fence_compiler). A thread
 * that does not run at the time passed one when it was switched out.
 */
#ifndef WH_BASE_BARRIER_H
#define WH_BASE_BARRIER_H

#include <stdbool.h>

/* Once per process before the first barrier; again does no harm. False: this kernel (or its seccomp filter) has no such
 * barrier, and the frequent side must use wh_fence_full. A forked child inherits it, exec does not. */
bool wh_barrier_register(void);

/* Every thread of the process that runs passes a full fence before this returns, the caller included. Some
 * microseconds. False if it was not registered, or has been forbidden since: then nothing is ordered, and a thread
 * that was about to sleep must not sleep for long. */
bool wh_barrier_all_threads(void);

#endif
