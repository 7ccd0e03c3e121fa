/* fiber.c - see fiber.h: contexts of the C library, and what the sanitizers want to be told of them.
 *
 * swapcontext changes the mask of signals each time, which is two system calls for each thing that happens in a simulation, and was a
 * third of it and more. Here the mask is always the same: a context is needed to begin on another stack, from then on _longjmp will do. The
 * sanitizers take that for a way out of the frames between, so in their builds contexts are changed as they are meant to be.
 */
#undef _FORTIFY_SOURCE /* with it, _longjmp goes to none but an older frame of the same stack */
#include "sim/fiber.h"

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/common_interface_defs.h>
#define ASAN 1
#else
#define ASAN 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define TSAN 1
#else
#define TSAN 0
#endif

#define STACK_BYTES ((size_t)256 * 1024) /* memory is taken as it is used */

struct wh_fiber {
	wh_fiber_fn *fn;
	void *ctx;
	ucontext_t own, resumer;
	jmp_buf own_place, resumer_place; /* once it has begun */
	char *stack;                      /* a page below it faults */
	size_t mapped;
	bool begun, ended;
	/* The sanitizers'. */
	void *fake_own, *fake_resumer, *tsan_own, *tsan_resumer;
	const void *resumer_stack;
	size_t resumer_bytes;
};

#if ASAN || TSAN
static void go_out(struct wh_fiber *fiber)
{
	swapcontext(&fiber->own, &fiber->resumer);
}

static void go_in(struct wh_fiber *fiber)
{
	swapcontext(&fiber->resumer, &fiber->own);
}
#else
static void go_out(struct wh_fiber *fiber)
{
	if (_setjmp(fiber->own_place) == 0)
		_longjmp(fiber->resumer_place, 1);
}

static void go_in(struct wh_fiber *fiber)
{
	if (_setjmp(fiber->resumer_place) != 0)
		return;
	if (fiber->begun)
		_longjmp(fiber->own_place, 1);
	fiber->begun = true;
	setcontext(&fiber->own);
}
#endif

static void leave_fiber(struct wh_fiber *fiber)
{
#if ASAN
	__sanitizer_start_switch_fiber(fiber->ended ? NULL : &fiber->fake_own, fiber->resumer_stack,
				       fiber->resumer_bytes);
#endif
#if TSAN
	__tsan_switch_to_fiber(fiber->tsan_resumer, 0);
#endif
	go_out(fiber);
}

static void arrive_in_fiber(struct wh_fiber *fiber)
{
	(void)fiber;
#if ASAN
	__sanitizer_finish_switch_fiber(fiber->fake_own, &fiber->resumer_stack, &fiber->resumer_bytes);
#endif
}

/* makecontext passes integers: the address comes in two. */
static void begin_fiber(unsigned high, unsigned low)
{
	struct wh_fiber *fiber =
		(struct wh_fiber *)((uintptr_t)high << 32 | low); /* NOLINT(performance-no-int-to-ptr) */

	arrive_in_fiber(fiber);
	fiber->fn(fiber->ctx);
	fiber->ended = true;
	leave_fiber(fiber);
}

static bool map_stack(struct wh_fiber *fiber)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	fiber->mapped = page + STACK_BYTES;
	fiber->stack =
		mmap(NULL, fiber->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fiber->stack == MAP_FAILED)
		return false;
	fiber->own.uc_stack.ss_sp = fiber->stack + page;
	fiber->own.uc_stack.ss_size = STACK_BYTES;
	return mprotect(fiber->stack, page, PROT_NONE) == 0;
}

/* On its own: the compiler takes getcontext for something that returns twice. */
static void make_context(struct wh_fiber *fiber)
{
	const stack_t stack = fiber->own.uc_stack;
	uintptr_t address = (uintptr_t)fiber;

	getcontext(&fiber->own);
	fiber->own.uc_stack = stack;
	makecontext(&fiber->own, (void (*)(void))begin_fiber, 2, (unsigned)(address >> 32), (unsigned)address);
}

struct wh_fiber *wh_fiber_new(wh_fiber_fn *fn, void *ctx)
{
	struct wh_fiber *fiber = calloc(1, sizeof(*fiber));

	if (fiber == NULL)
		return NULL;
	fiber->fn = fn;
	fiber->ctx = ctx;
	if (!map_stack(fiber)) {
		if (fiber->stack != MAP_FAILED)
			munmap(fiber->stack, fiber->mapped);
		free(fiber);
		return NULL;
	}
	make_context(fiber);
#if TSAN
	fiber->tsan_own = __tsan_create_fiber(0);
#endif
	return fiber;
}

void wh_fiber_resume(struct wh_fiber *fiber)
{
#if TSAN
	fiber->tsan_resumer = __tsan_get_current_fiber();
	__tsan_switch_to_fiber(fiber->tsan_own, 0);
#endif
#if ASAN
	__sanitizer_start_switch_fiber(&fiber->fake_resumer, fiber->own.uc_stack.ss_sp, STACK_BYTES);
#endif
	go_in(fiber);
#if ASAN
	__sanitizer_finish_switch_fiber(fiber->fake_resumer, NULL, NULL);
#endif
}

void wh_fiber_pause(struct wh_fiber *fiber)
{
	leave_fiber(fiber);
	arrive_in_fiber(fiber);
}

bool wh_fiber_has_ended(const struct wh_fiber *fiber)
{
	return fiber->ended;
}

void wh_fiber_free(struct wh_fiber *fiber)
{
	if (fiber == NULL)
		return;
#if TSAN
	__tsan_destroy_fiber(fiber->tsan_own);
#endif
	munmap(fiber->stack, fiber->mapped);
	free(fiber);
}
