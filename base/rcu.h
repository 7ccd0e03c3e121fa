/* rcu.h - pointers that readers follow without a lock while a writer replaces what they point to.
 *
 * The one place where liburcu is used (flavour bp: a thread registers itself at its first read, and its end is noticed).
 *
 *     reader: wh_rcu_read_lock(); p = wh_rcu_dereference(shared); ... use *p ...; wh_rcu_read_unlock();
 *     writer: old = shared; wh_rcu_publish(shared, new); wh_rcu_synchronize(); free(old);
 *
 * Between lock and unlock a reader must not wait for anything: wh_rcu_synchronize waits for it, without a time-out.
 * In a child of fork() none of this may be used: readers that were inside at the fork never leave there.
 *
 * liburcu's reader functions are compiled in here (_LGPL_SOURCE): a lock and an unlock are a few plain instructions.
 * Each has fewer than ten lines, so the licence of liburcu (LGPL 2.1, section 5) asks nothing of the object code. In
 * builds with sanitizers they stay in the library, out of their sight: liburcu 0.13 gives a reader's record less
 * alignment than its type asks for.
 *
 * ThreadSanitizer. It sees the order between publish and dereference by itself, because these are a release store and
 * an acquire load and not liburcu's own macros. It cannot see that all readers that were inside have left when
 * wh_rcu_synchronize returns, and would call the free() behind it a race with them (it does, when the two lines below
 * and in rcu.c are taken out: tests/unit/test_base_rcu.c). So each unlock releases one address, and synchronize
 * acquires it.
 */
#ifndef WH_BASE_RCU_H
#define WH_BASE_RCU_H

#include "base/atomics.h"

#if WH_TSAN
#include <sanitizer/tsan_interface.h>
#elif WH_ASAN
#define WH_RCU_OUT_OF_LINE
#elif defined(__has_feature)
#if __has_feature(undefined_behavior_sanitizer)
#define WH_RCU_OUT_OF_LINE
#endif
#endif
#if !WH_TSAN && !defined(WH_RCU_OUT_OF_LINE) && !defined(_LGPL_SOURCE)
#define _LGPL_SOURCE
#endif
#include <urcu/urcu-bp.h>

/* Has an address, which stands for "the readers have left"; the value means nothing. */
extern const char wh_rcu_left;

static inline void wh_rcu_read_lock(void)
{
	urcu_bp_read_lock();
}

static inline void wh_rcu_read_unlock(void)
{
#if WH_TSAN
	__tsan_release((void *)&wh_rcu_left); /* partner: wh_rcu_synchronize */
#endif
	urcu_bp_read_unlock();
}

/* The pointer `p` (an lvalue), as it was published: what the writer did before is visible. Inside of lock and unlock,
 * and valid until the unlock; the writer itself may load it plainly. */
#define wh_rcu_dereference(p) __atomic_load_n(&(p), __ATOMIC_ACQUIRE)

/* One writer at a time. */
#define wh_rcu_publish(p, v) __atomic_store_n(&(p), (v), __ATOMIC_RELEASE)

/* Returns when every reader that was inside at the call has left. Some ten microseconds to milliseconds. Not inside of a
 * lock. */
void wh_rcu_synchronize(void);

#endif
