/* atomics.h - the memory orders that whorl uses, by name.
 *
 * Every word that two threads or two processes share is a wh_word and is touched only through these functions, so that
 * a reader can search for each order, and ThreadSanitizer sees all of them. The comment beside each use names its
 * partner. There is no `volatile` and no bare fence anywhere else.
 */
#ifndef WH_BASE_ATOMICS_H
#define WH_BASE_ATOMICS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* An aligned 8-byte word: it never tears (contract T3). */
typedef _Atomic uint64_t wh_word;

_Static_assert(sizeof(wh_word) == 8, "a shared word is 8 bytes");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "shared words live in memory of other processes: they must be lock-free");

#define WH_CACHE_LINE 64

/* 1 where ThreadSanitizer is at work: it sees nothing across two mappings of one memory. */
#if defined(__SANITIZE_THREAD__)
#define WH_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WH_TSAN 1
#endif
#endif
#ifndef WH_TSAN
#define WH_TSAN 0
#endif

/* The same of AddressSanitizer. */
#if defined(__SANITIZE_ADDRESS__)
#define WH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WH_ASAN 1
#endif
#endif
#ifndef WH_ASAN
#define WH_ASAN 0
#endif

/* The value alone: for one's own words, counters, and hints that are looked at again. */
static inline uint64_t wh_load_relaxed(const wh_word *w)
{
	return atomic_load_explicit(w, memory_order_relaxed);
}

static inline void wh_store_relaxed(wh_word *w, uint64_t value)
{
	atomic_store_explicit(w, value, memory_order_relaxed);
}

/* All that the releasing thread wrote before is visible to a thread that acquires the value. */
static inline uint64_t wh_load_acquire(const wh_word *w)
{
	return atomic_load_explicit(w, memory_order_acquire);
}

/* The same of a word that the kernel writes too, which has half as many bytes (a futex), and an aligned place. */
static inline uint32_t wh_load_acquire_32(const void *w)
{
	return atomic_load_explicit((const _Atomic uint32_t *)w, memory_order_acquire);
}

static inline void wh_store_release(wh_word *w, uint64_t value)
{
	atomic_store_explicit(w, value, memory_order_release);
}

/* Acquire and release at once. On failure *expected is what was found. */
static inline bool wh_compare_swap(wh_word *w, uint64_t *expected, uint64_t desired)
{
	return atomic_compare_exchange_weak_explicit(w, expected, desired, memory_order_acq_rel, memory_order_acquire);
}

static inline uint64_t wh_exchange(wh_word *w, uint64_t value)
{
	return atomic_exchange_explicit(w, value, memory_order_acq_rel);
}

static inline uint64_t wh_fetch_or(wh_word *w, uint64_t bits)
{
	return atomic_fetch_or_explicit(w, bits, memory_order_acq_rel);
}

static inline uint64_t wh_fetch_and(wh_word *w, uint64_t bits)
{
	return atomic_fetch_and_explicit(w, bits, memory_order_acq_rel);
}

static inline uint64_t wh_fetch_add(wh_word *w, uint64_t n)
{
	return atomic_fetch_add_explicit(w, n, memory_order_acq_rel);
}

/* Store, then load of another word, in that order in the eyes of all: the two sides of a doorbell. ThreadSanitizer
 * learns nothing from it, and need not: no data is handed over by a fence here. gcc warns of that. */
#if WH_TSAN && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
static inline void wh_fence_full(void)
{
	atomic_thread_fence(memory_order_seq_cst);
}
#if WH_TSAN && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

/* Only the compiler is held: the other side pays with a barrier on all its threads (wh_barrier_all_threads). */
static inline void wh_fence_compiler(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

/* For functions that do nothing but prefetch: gcc takes them for functions that do nothing, and drops their calls. */
#define WH_HINT_INLINE __attribute__((always_inline)) static inline

/* This line will soon be read, or written. (Asked for a write, gcc's builtin fetches for reading only without -mprfchw.) */
WH_HINT_INLINE void wh_prefetch_read(const void *line)
{
	__builtin_prefetch(line);
}

WH_HINT_INLINE void wh_prefetch_write(const void *line)
{
#if defined(__x86_64__)
	__asm__ __volatile__("prefetchw %0" : : "m"(*(const char *)line));
#else
	__builtin_prefetch(line, 1);
#endif
}

static inline void wh_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__("yield");
#endif
}

#endif
