/* test_delegate_launch.c - fibers: launched functions and their latches, spawned ones, joining, very many, and a full stack.
 * Labels: threads
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomics.h"
#include "tests/support/delegate_lab.h"

struct two {
	struct whorl_trust from, to;
	uint64_t amount, rounds;
};

/* A bank: what is taken from one account is paid into another, by calls from the fiber in which this runs. */
struct bank {
	uint64_t moves;
	bool inside;
	uint64_t broken;
};

static WHORL_TYPE(bank_type, struct bank, NULL);

WHORL_FUNCTION(counter_take, struct counter, struct add, uint64_t, 0)
{
	*result = property->n >= args->by ? args->by : 0;
	property->n -= *result;
}

WHORL_FUNCTION(move_money, struct bank, struct two, uint64_t, 0)
{
	uint64_t taken = 0, n;

	property->broken += property->inside;
	property->inside = true;
	*result = 0;
	if (whorl_apply(&args->from, counter_take, &(struct add){args->amount}, &taken, PATIENCE_MS) == WHORL_OK &&
	    whorl_apply(&args->to, counter_add, &(struct add){taken}, &n, PATIENCE_MS) == WHORL_OK)
		*result = taken;
	whorl_fiber_yield();
	property->broken += !property->inside;
	property->inside = false;
	property->moves++;
}

WHORL_FUNCTION(bank_broken, struct bank, struct whorl_none, uint64_t, WHORL_READ)
{
	*result = property->broken + property->inside;
}

WHORL_FUNCTION(bank_moves, struct bank, struct whorl_none, uint64_t, WHORL_READ)
{
	*result = property->moves;
}

static void count_moves(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	uint64_t *moved = ctx;

	if (result == WHORL_OK && bytes == sizeof(*moved))
		*moved += *(const uint64_t *)answer;
}

TEST_CASE("launch", .timeout_s = 20);

/* The function waits for calls to other trustees, and to its own; meanwhile no other has the property. */
TEST_LOOP(a_launched_function_has_its_property_alone, 0, 2)
{
	whorl_work *work = open_work(2);
	struct whorl_trust a = entrust_counter(work, 0, 1000), b = entrust_counter(work, 1, 1000), bank;
	uint64_t n, moved = 0;

	ck_ok(whorl_entrust(work, at((uint32_t)_i), &bank_type, NULL, 0, &bank, PATIENCE_MS));
	ck_ok(whorl_launch(&bank, move_money, &((struct two){a, b, 7, 0}), &n, PATIENCE_MS));
	ck_assert_uint_eq(n, 7);
	ck_assert_uint_eq(value_of(&a), 993);
	ck_assert_uint_eq(value_of(&b), 1007);
	for (int i = 0; i < 200; i++) {
		ck_ok(whorl_launch_then(&bank, move_money, &((struct two){a, b, 1, 0}), count_moves, &moved));
		ck_ok(whorl_apply_then(&bank, bank_broken, NULL, NULL, NULL));
		ck_ok(whorl_launch_then(&bank, move_money, &((struct two){b, a, 1, 0}), count_moves, &moved));
	}
	ck_ok(whorl_apply(&bank, bank_moves, NULL, &n, PATIENCE_MS));
	ck_assert_uint_eq(n, 401); /* behind all of them */
	ck_ok(whorl_apply(&bank, bank_broken, NULL, &n, PATIENCE_MS));
	ck_assert_uint_eq(n, 0);
	await(moved == 400, ck_assert_int_ne(whorl_poll(work, 1000), WHORL_INVALID));
	ck_assert_uint_eq(value_of(&a) + value_of(&b), 2000);
	ck_assert_uint_gt(worker_stats_of(work, (uint32_t)_i).deferred, 0);
	close_work(work);
}

static atomic_bool hold;
static atomic_int waiting;

WHORL_FUNCTION(wait_in_fiber, struct counter, struct add, uint64_t, 0)
{
	atomic_fetch_add(&waiting, 1);
	while (atomic_load(&hold))
		whorl_fiber_yield();
	property->n += args->by;
	*result = property->n;
}

/* While it waits other properties of the same worker are served; what comes to its own waits, in order. */
TEST(a_latch_holds_up_its_property_alone)
{
	whorl_work *work = open_work(1);
	struct whorl_trust trust = entrust_counter(work, 0, 0), other = entrust_counter(work, 0, 0);
	uint64_t n = 0, seen = 0;

	atomic_store(&hold, true);
	ck_ok(whorl_launch_then(&trust, wait_in_fiber, &(struct add){10}, count_moves, &n));
	await(atomic_load(&waiting) == 1, sched_yield());
	ck_ok(whorl_apply_then(&trust, counter_add, &(struct add){1}, count_moves, &seen));
	ck_ok(whorl_apply(&other, counter_add, &(struct add){1}, &n, PATIENCE_MS));
	ck_assert_int_eq(whorl_apply(&trust, counter_get, NULL, &n, 20), WHORL_IN_DOUBT);
	atomic_store(&hold, false);
	await(seen == 11, ck_assert_int_ne(whorl_poll(work, 1000), WHORL_INVALID));
	ck_assert_uint_eq(value_of(&trust), 11);
	ck_ok(whorl_trust_drop(&trust));
	ck_ok(whorl_trust_drop(&other));
	close_work(work);
	ck_assert_int_eq(atomic_load(&counters_dropped), 2);
}

/* The last handle goes while a function has the property: it is dropped behind that. */
TEST(dropped_while_it_is_latched)
{
	whorl_work *work = open_work(1);
	struct whorl_trust trust = entrust_counter(work, 0, 0);
	uint64_t n = 0;

	atomic_store(&hold, true);
	ck_ok(whorl_launch_then(&trust, wait_in_fiber, &(struct add){10}, count_moves, &n));
	await(atomic_load(&waiting) == 1, sched_yield());
	ck_ok(whorl_trust_drop(&trust));
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(whorl_poll(work, 1), WHORL_TIMEOUT);
	ck_assert_int_eq(atomic_load(&counters_dropped), 0);
	atomic_store(&hold, false);
	await(atomic_load(&counters_dropped) == 1, ck_assert_int_ne(whorl_poll(work, 1), WHORL_INVALID));
	while (whorl_poll(work, PATIENCE_MS) == WHORL_OK)
		continue;
	ck_assert_uint_eq(n, 10);
	close_work(work);
}

/* ---- spawning ---------------------------------------------------------------------------------------------------------------------- */

struct job {
	struct whorl_trust trust;
	uint64_t calls;
};

WHORL_FUNCTION(call_often, struct whorl_none, struct job, uint64_t, 0)
{
	uint64_t n = 0;

	*result = 0;
	for (uint64_t i = 0; i < args->calls; i++)
		*result += whorl_apply(&args->trust, counter_add, &(struct add){1}, &n, PATIENCE_MS) == WHORL_OK;
}

/* As many as a test of the sanitizers can bear: each has a stack, and what they know of it. */
#define FIBERS (WH_TSAN ? 200 : WH_ASAN ? 1000 : 10000)

TEST(very_many_fibers)
{
	static struct whorl_join joins[FIBERS];
	whorl_work *work = open_work(2);
	struct whorl_trust trust = entrust_counter(work, 0, 0);
	uint64_t good = 0, n;

	for (int i = 0; i < FIBERS; i++)
		good += whorl_spawn(work, whorl_at_any(), call_often, &((struct job){trust, 5}), &joins[i]) == WHORL_OK;
	ck_assert_uint_eq(good, FIBERS);
	for (int i = 0; i < FIBERS; i++)
		good += whorl_join(&joins[i], &n, sizeof(n), PATIENCE_MS) == WHORL_OK && n == 5;
	ck_assert_uint_eq(good, 2 * FIBERS);
	ck_assert_uint_eq(value_of(&trust), 5 * FIBERS);
	ck_assert_uint_eq(worker_stats_of(work, 0).fibers_started + worker_stats_of(work, 1).fibers_started, FIBERS);
	ck_assert_uint_eq(worker_stats_of(work, 0).fibers + worker_stats_of(work, 1).fibers, 0);
	ck_ok(whorl_trust_drop(&trust));
	close_work(work);
}

/* All of them wait at once, on one worker. */
TEST(very_many_that_wait)
{
	static struct whorl_join joins[FIBERS];
	whorl_work *work = open_work(1);
	struct whorl_trust trust = entrust_counter(work, 0, 0);
	uint64_t good = 0, n, moved = 0;

	atomic_store(&hold, true);
	ck_ok(whorl_launch_then(&trust, wait_in_fiber, &(struct add){0}, count_moves, &moved));
	await(atomic_load(&waiting) == 1, sched_yield());
	for (int i = 0; i < FIBERS; i++)
		good += whorl_spawn(work, whorl_at_any(), call_often, &((struct job){trust, 1}), &joins[i]) == WHORL_OK;
	await(worker_stats_of(work, 0).fibers == FIBERS + 1, whorl_poll(work, 1));
	atomic_store(&hold, false);
	for (int i = 0; i < FIBERS; i++)
		good += whorl_join(&joins[i], &n, sizeof(n), PATIENCE_MS) == WHORL_OK && n == 1;
	ck_assert_uint_eq(good, 2 * FIBERS);
	ck_assert_uint_eq(value_of(&trust), FIBERS);
	close_work(work);
}

WHORL_FUNCTION(spawn_others, struct whorl_none, struct job, uint64_t, 0)
{
	struct whorl_join joins[10];
	uint64_t n, sum = 0;

	for (uint32_t i = 0; i < 10; i++)
		if (whorl_spawn(args->trust.work, at(i % 2), call_often, args, &joins[i]) != WHORL_OK)
			joins[i].call = NULL;
	for (int i = 0; i < 10; i++)
		if (joins[i].call != NULL && whorl_join(&joins[i], &n, sizeof(n), PATIENCE_MS) == WHORL_OK)
			sum += n;
	*result = sum;
}

static void *join_of_another(void *ctx)
{
	uint64_t n;

	ck_assert_int_eq(whorl_join(ctx, &n, sizeof(n), 0), WHORL_INVALID);
	return NULL;
}

TEST(fibers_spawn_and_join)
{
	whorl_work *work = open_work(2);
	struct whorl_trust trust = entrust_counter(work, 1, 0);
	struct whorl_join join, nothing = {0};
	pthread_t thread;
	uint64_t n;

	ck_ok(whorl_spawn(work, at(0), spawn_others, &((struct job){trust, 100}), &join));
	pthread_create(&thread, NULL, join_of_another, &join);
	pthread_join(thread, NULL);
	ck_assert_int_eq(whorl_join(&join, &n, 4, 0), WHORL_INVALID);
	await(whorl_join(&join, &n, sizeof(n), 1) == WHORL_OK, sched_yield());
	ck_assert_uint_eq(n, 1000);
	ck_assert_int_eq(whorl_join(&join, &n, sizeof(n), 0), WHORL_INVALID); /* once */
	ck_assert_int_eq(whorl_join(&nothing, NULL, 0, 0), WHORL_INVALID);
	ck_assert_int_eq(whorl_spawn_function(work, at(0), &counter_get, NULL, &join), WHORL_INVALID);
	ck_assert_int_eq(whorl_spawn(work, at(2), call_often, &((struct job){trust, 1}), &join), WHORL_NOT_FOUND);
	ck_ok(whorl_spawn(work, at(0), call_often, &((struct job){trust, 1}), NULL));
	await(value_of(&trust) == 1001, sched_yield());
	ck_ok(whorl_trust_drop(&trust));
	close_work(work);
}

/* Dedicated trustees have no fibers of their own, and the others no properties, unless a place names them. */
TEST(dedicated_trustees)
{
	const struct whorl_work_options options = {
		.size = sizeof(options), .workers = 3, .dedicated = 1, WHORL_FUNCTIONS_LINKED};
	struct whorl_trust trusts[6];
	struct whorl_join joins[6];
	whorl_work *work;
	uint64_t n;

	ck_ok(whorl_work_open(NULL, &options, &work));
	for (int i = 0; i < 6; i++)
		ck_ok(whorl_entrust(work, whorl_at_any(), &counter_type, NULL, 0, &trusts[i], PATIENCE_MS));
	for (int i = 0; i < 6; i++)
		ck_ok(whorl_spawn(work, whorl_at_any(), call_often, &((struct job){trusts[i], 10}), &joins[i]));
	for (int i = 0; i < 6; i++)
		ck_ok(whorl_join(&joins[i], &n, sizeof(n), PATIENCE_MS));
	ck_assert_uint_eq(worker_stats_of(work, 0).properties, 6);
	ck_assert_uint_eq(worker_stats_of(work, 0).fibers_started, 0);
	ck_assert_uint_eq(worker_stats_of(work, 1).fibers_started, 3);
	ck_assert_uint_eq(worker_stats_of(work, 2).fibers_started, 3);
	close_work(work);
}

/* Fibers that have not ended when the work closes never go on; calls that they wait for are no one's any more. */
TEST(closed_with_fibers_that_wait)
{
	whorl_work *work = open_work(2);
	struct whorl_trust trust = entrust_counter(work, 0, 0);
	uint64_t moved = 0;

	atomic_store(&hold, true);
	ck_ok(whorl_launch_then(&trust, wait_in_fiber, &(struct add){0}, count_moves, &moved));
	await(atomic_load(&waiting) == 1, sched_yield());
	for (int i = 0; i < 20; i++)
		ck_ok(whorl_spawn(work, whorl_at_any(), call_often, &((struct job){trust, 1}), NULL));
	ck_ok(whorl_work_close(work, 20));
}

/* ---- a full stack ------------------------------------------------------------------------------------------------------------------ */

static uint64_t deeper(uint64_t n)
{
	volatile unsigned char room[1024];

	room[n % sizeof(room)] = (unsigned char)n;
	return n == 0 ? room[0] : deeper(n - 1) + room[n % sizeof(room)];
}

WHORL_FUNCTION(fill_stack, struct whorl_none, struct add, uint64_t, 0)
{
	*result = deeper(args->by);
}

/* The page below the stack faults: the process ends as with any thread's stack, and nothing is overwritten before. */
TEST(a_full_stack_faults)
{
	int status;
	pid_t child = fork();

	ck_assert_int_ge(child, 0);
	if (child == 0) {
		const struct rlimit none = {0, 0};
		whorl_work *work = open_work(1);
		struct whorl_join join;
		uint64_t n;

		setrlimit(RLIMIT_CORE, &none);
		signal(SIGSEGV, SIG_DFL);
		if (whorl_spawn(work, at(0), fill_stack, &(struct add){100}, &join) != WHORL_OK ||
		    whorl_join(&join, &n, sizeof(n), PATIENCE_MS) != WHORL_OK)
			_exit(1);
		if (whorl_spawn(work, at(0), fill_stack, &(struct add){100000}, &join) == WHORL_OK &&
		    whorl_join(&join, &n, sizeof(n), PATIENCE_MS) == WHORL_OK)
			_exit(2);
		_exit(3);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "it ended otherwise: status %#x",
		      (unsigned)status);
}

TEST_SUITE("delegate_launch")
