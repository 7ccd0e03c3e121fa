/* context.h - where a thread of control stands, on a stack of its own: what a fiber switches between.
 *
 * A switch saves what the calling convention lets a function rely on, and goes on where the other stood. It makes no system call. On x86-64
 * and aarch64 it is our own; elsewhere, and in the sanitizers' builds, it is the C library's.
 *
 * The signal mask, errno and all else of the thread are not switched: a context stays on its thread.
 */
#ifndef WH_BASE_CONTEXT_H
#define WH_BASE_CONTEXT_H

#include <stddef.h>

#include "base/atomics.h"

/* WHORL_PORTABLE_CONTEXT: the C library's all the same, for a test and to compare. */
#if (defined(__x86_64__) || defined(__aarch64__)) && !WH_ASAN && !WH_TSAN && !defined(WHORL_PORTABLE_CONTEXT)
#define WH_CONTEXT_OWN 1
struct wh_context {
	void *stack; /* what is saved lies at its end; of use while it does not run */
};
#else
#define WH_CONTEXT_OWN 0
#include <setjmp.h>
#include <stdbool.h>
#include <ucontext.h>
struct wh_context {
	ucontext_t first; /* until it has begun; with a sanitizer always */
	jmp_buf place;
	bool begun;
};
#endif

/* A context that will begin with fn(ctx) on that stack. fn must not return: it switches away for ever. */
void wh_context_make(struct wh_context *context, void *stack, size_t bytes, void (*fn)(void *), void *ctx);
/* Goes on in `to`. Returns when something switches to `from`, which need not have been made. */
void wh_context_switch(struct wh_context *from, struct wh_context *to);

#endif
