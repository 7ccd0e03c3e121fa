/* test_fiber.c - fibers: they go on where they paused, with all that a function may rely on. */
#include <fenv.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/context.h"
#include "base/fiber.h"
#include "tests/harness.h"

struct count {
	struct wh_fiber *fiber;
	int steps, most;
	uint64_t sum;
};

/* More values at a time than there are registers, over the switch. */
static uint64_t mix(struct count *count, uint64_t x)
{
	uint64_t a = x * 3, b = x * 5, c = x * 7, d = x * 11, e = x * 13, f = x * 17, g = x * 19, h = x * 23;
	double p = (double)x * 0.5, q = (double)x * 0.25, r = (double)x * 0.125, s = (double)x * 2.0;

	wh_fiber_pause(count->fiber);
	return a ^ b << 1 ^ c << 2 ^ d << 3 ^ e << 4 ^ f << 5 ^ g << 6 ^ h << 7 ^ (uint64_t)(p + q + r + s);
}

static uint64_t mixed(uint64_t x)
{
	double p = (double)x * 0.5, q = (double)x * 0.25, r = (double)x * 0.125, s = (double)x * 2.0;

	return x * 3 ^ x * 5 << 1 ^ x * 7 << 2 ^ x * 11 << 3 ^ x * 13 << 4 ^ x * 17 << 5 ^ x * 19 << 6 ^ x * 23 << 7 ^
	       (uint64_t)(p + q + r + s);
}

static void step(void *ctx)
{
	struct count *count = ctx;

	while (count->steps < count->most) {
		count->sum += mix(count, (uint64_t)count->steps + 1);
		count->steps++;
	}
}

TEST(many_in_turn)
{
	enum { FIBERS = 50, STEPS = 200 };
	struct count counts[FIBERS];
	uint64_t sum = 0;

	for (int i = 0; i < FIBERS; i++) {
		counts[i] = (struct count){.most = STEPS};
		counts[i].fiber = wh_fiber_new(step, &counts[i], WH_FIBER_STACK_BYTES);
		ck_assert_ptr_nonnull(counts[i].fiber);
	}
	for (int s = 0; s <= STEPS; s++)
		for (int i = 0; i < FIBERS; i++) {
			ck_assert(!wh_fiber_has_ended(counts[i].fiber));
			ck_assert_int_eq(counts[i].steps, s == 0 ? 0 : s - 1);
			wh_fiber_resume(counts[i].fiber);
		}
	for (uint64_t x = 1; x <= STEPS; x++)
		sum += mixed(x);
	for (int i = 0; i < FIBERS; i++) {
		ck_assert(wh_fiber_has_ended(counts[i].fiber));
		ck_assert_uint_eq(counts[i].sum, sum);
		wh_fiber_free(counts[i].fiber);
	}
}

TEST(one_stack_many_times)
{
	struct count count = {.most = 3};

	count.fiber = wh_fiber_new(step, &count, 16384);
	for (int again = 0; again < 1000; again++) {
		while (!wh_fiber_has_ended(count.fiber))
			wh_fiber_resume(count.fiber);
		ck_assert_int_eq(count.steps, 3);
		count.steps = 0;
		wh_fiber_again(count.fiber, step, &count);
	}
	wh_fiber_free(count.fiber); /* one that has not ended */
	wh_fiber_free(NULL);
}

/* ---- fibers of fibers --------------------------------------------------------------------------------------------------------- */

struct nest {
	struct wh_fiber *fiber;
	int depth;
	int *deepest;
};

static void nest(void *ctx)
{
	struct nest *it = ctx, inner = {.depth = it->depth + 1, .deepest = it->deepest};

	wh_fiber_pause(it->fiber);
	if (it->depth < 10) {
		inner.fiber = wh_fiber_new(nest, &inner, WH_FIBER_STACK_BYTES);
		while (!wh_fiber_has_ended(inner.fiber)) {
			wh_fiber_resume(inner.fiber);
			wh_fiber_pause(it->fiber);
		}
		wh_fiber_free(inner.fiber);
	} else
		*it->deepest = it->depth;
}

TEST(a_fiber_resumes_another)
{
	int deepest = 0;
	struct nest outer = {.depth = 1, .deepest = &deepest};

	outer.fiber = wh_fiber_new(nest, &outer, WH_FIBER_STACK_BYTES);
	while (!wh_fiber_has_ended(outer.fiber))
		wh_fiber_resume(outer.fiber);
	ck_assert_int_eq(deepest, 10);
	wh_fiber_free(outer.fiber);
}

/* ---- what else belongs to it --------------------------------------------------------------------------------------------------- */

struct modes {
	struct wh_fiber *fiber;
	int before, after;
	bool aligned;
};

static void __attribute__((noinline)) look_at_alignment(struct modes *modes)
{
	_Alignas(16) char place[16];

	__asm__ volatile("" : : "r"(place) : "memory");
	modes->aligned = (uintptr_t)place % 16 == 0 && (uintptr_t)__builtin_frame_address(0) % 16 == 0;
}

static void round_up(void *ctx)
{
	struct modes *modes = ctx;

	look_at_alignment(modes);
	modes->before = fegetround();
	fesetround(FE_UPWARD);
	wh_fiber_pause(modes->fiber);
	modes->after = fegetround();
}

TEST(each_has_its_modes_of_floating_point)
{
	struct modes modes = {0};

	fesetround(FE_DOWNWARD);
	modes.fiber = wh_fiber_new(round_up, &modes, WH_FIBER_STACK_BYTES);
	wh_fiber_resume(modes.fiber);
	ck_assert(modes.aligned);
	ck_assert_int_eq(modes.before, FE_DOWNWARD); /* those that it was made, or begun, under */
	if (WH_CONTEXT_OWN)                          /* the C library's keeps them, or does not */
		ck_assert_int_eq(fegetround(), FE_DOWNWARD);
	fesetround(FE_TONEAREST);
	wh_fiber_resume(modes.fiber);
	if (WH_CONTEXT_OWN)
		ck_assert_int_eq(modes.after, FE_UPWARD);
	wh_fiber_free(modes.fiber);
}

static int fill_stack(int depth)
{
	volatile char block[4096];

	memset((void *)block, depth, sizeof(block));
	return depth == 0 ? 0 : fill_stack(depth - 1) + block[depth % 4096];
}

static void fill(void *ctx)
{
	*(int *)ctx = fill_stack(*(int *)ctx);
}

/* A full stack is a fault at once, and not other memory that is overwritten. */
TEST(a_full_stack_faults)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		struct wh_fiber *fiber = wh_fiber_new(fill, &(int){1000}, WH_FIBER_STACK_BYTES);

		setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
		signal(SIGSEGV, SIG_DFL);
		wh_fiber_resume(fiber);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGSEGV);
}

TEST(no_memory_is_an_answer)
{
	ck_assert_ptr_null(wh_fiber_new(step, NULL, SIZE_MAX));
	ck_assert_ptr_null(wh_fiber_new(step, NULL, SIZE_MAX / 2));
}

TEST_SUITE("fiber")
