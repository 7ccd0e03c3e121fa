/* fiber.c - see fiber.h: stacks, and what the sanitizers want to be told of them. */
#include "base/fiber.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/context.h"

#if WH_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#if WH_TSAN
#include <sanitizer/tsan_interface.h>
#endif

struct wh_fiber {
	struct wh_context own, resumer;
	wh_fiber_fn *fn;
	void *ctx;
	char *mapped; /* a page that faults, and the stack */
	size_t page, stack_bytes;
	bool ended;
	/* The sanitizers'. */
	void *fake_own, *fake_resumer, *tsan_own, *tsan_resumer;
	const void *resumer_stack;
	size_t resumer_bytes;
};

/* ---- in and out -------------------------------------------------------------------------------------------------------------- */

static void leave(struct wh_fiber *fiber)
{
#if WH_ASAN
	__sanitizer_start_switch_fiber(fiber->ended ? NULL : &fiber->fake_own, fiber->resumer_stack,
				       fiber->resumer_bytes);
#endif
#if WH_TSAN
	__tsan_switch_to_fiber(fiber->tsan_resumer, 0);
#endif
	wh_context_switch(&fiber->own, &fiber->resumer);
}

static void arrive(struct wh_fiber *fiber)
{
	(void)fiber;
#if WH_ASAN
	__sanitizer_finish_switch_fiber(fiber->fake_own, &fiber->resumer_stack, &fiber->resumer_bytes);
#endif
}

static void begin(void *ctx)
{
	struct wh_fiber *fiber = ctx;

	arrive(fiber);
	fiber->fn(fiber->ctx);
	fiber->ended = true;
	leave(fiber);
}

void wh_fiber_resume(struct wh_fiber *fiber)
{
#if WH_TSAN
	fiber->tsan_resumer = __tsan_get_current_fiber();
	__tsan_switch_to_fiber(fiber->tsan_own, 0);
#endif
#if WH_ASAN
	__sanitizer_start_switch_fiber(&fiber->fake_resumer, fiber->mapped + fiber->page, fiber->stack_bytes);
#endif
	wh_context_switch(&fiber->resumer, &fiber->own);
#if WH_ASAN
	__sanitizer_finish_switch_fiber(fiber->fake_resumer, NULL, NULL);
#endif
}

void wh_fiber_pause(struct wh_fiber *fiber)
{
	leave(fiber);
	arrive(fiber);
}

bool wh_fiber_has_ended(const struct wh_fiber *fiber)
{
	return fiber->ended;
}

/* ---- making and freeing ------------------------------------------------------------------------------------------------------ */

static bool map_stack(struct wh_fiber *fiber, size_t bytes)
{
	fiber->page = (size_t)sysconf(_SC_PAGESIZE);
	if (bytes > SIZE_MAX / 2)
		return false;
	fiber->stack_bytes = (bytes + fiber->page - 1) / fiber->page * fiber->page;
	fiber->mapped = mmap(NULL, fiber->page + fiber->stack_bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fiber->mapped == MAP_FAILED)
		return false;
	if (mprotect(fiber->mapped, fiber->page, PROT_NONE) == 0)
		return true;
	munmap(fiber->mapped, fiber->page + fiber->stack_bytes);
	return false;
}

void wh_fiber_again(struct wh_fiber *fiber, wh_fiber_fn *fn, void *ctx)
{
	fiber->fn = fn;
	fiber->ctx = ctx;
	fiber->ended = false;
	wh_context_make(&fiber->own, fiber->mapped + fiber->page, fiber->stack_bytes, begin, fiber);
}

struct wh_fiber *wh_fiber_new(wh_fiber_fn *fn, void *ctx, size_t stack_bytes)
{
	struct wh_fiber *fiber = calloc(1, sizeof(*fiber));

	if (fiber == NULL)
		return NULL;
	if (!map_stack(fiber, stack_bytes)) {
		free(fiber);
		return NULL;
	}
	wh_fiber_again(fiber, fn, ctx);
#if WH_TSAN
	fiber->tsan_own = __tsan_create_fiber(0);
#endif
	return fiber;
}

void wh_fiber_free(struct wh_fiber *fiber)
{
	if (fiber == NULL)
		return;
#if WH_TSAN
	__tsan_destroy_fiber(fiber->tsan_own);
#endif
	munmap(fiber->mapped, fiber->page + fiber->stack_bytes);
	free(fiber);
}
