/* test_delegate_calls.c - calls, from plain threads and from fibers: what they answer, in which order they run, and what is refused.
 * Labels: threads
 */
#include <sched.h>

#include "base/atomics.h"
#include "tests/support/delegate_lab.h"

/* ---- functions that look around --------------------------------------------------------------------------------------------------- */

struct trust_args {
	struct whorl_trust trust;
	uint64_t n;
};

struct seen {
	int32_t apply, launch, poll, entrust, then, clone, drop, here;
};

/* What calls answer in delegated context. */
WHORL_FUNCTION(look_around, struct counter, struct trust_args, struct seen, 0)
{
	struct whorl_trust trust = args->trust, made, other;
	uint64_t n;

	result->here = whorl_work_here(NULL) == trust.work;
	result->apply = whorl_apply(&trust, counter_get, NULL, &n, 1000);
	result->launch = whorl_launch(&trust, counter_get, NULL, &n, 1000);
	result->poll = whorl_poll(trust.work, 1000);
	result->entrust = whorl_entrust(trust.work, at(1), &counter_type, NULL, 0, &made, 1000);
	result->then = whorl_apply_then(&trust, counter_add, &(struct add){args->n}, NULL, NULL);
	trust.owner = 0;
	result->clone = whorl_trust_clone(&trust, &other);
	result->drop = whorl_trust_drop(&other);
	whorl_fiber_yield();
}

static atomic_int holding;
static atomic_bool hold;

/* Takes as long as the test wants. */
WHORL_FUNCTION(counter_hold, struct counter, struct add, uint64_t, WHORL_BLOCKS)
{
	property->n += args->by;
	atomic_fetch_add(&holding, 1);
	while (atomic_load(&hold))
		sched_yield();
	*result = property->n;
}

/* ---- results ---------------------------------------------------------------------------------------------------------------------- */

TEST(a_call_has_its_result)
{
	whorl_work *work = open_work(2);
	struct whorl_trust trust = entrust_counter(work, 1, 37);
	uint64_t n;

	ck_ok(whorl_apply(&trust, counter_add, &(struct add){5}, &n, PATIENCE_MS));
	ck_assert_uint_eq(n, 42);
	ck_ok(whorl_apply(&trust, counter_add, &(struct add){1}, NULL, PATIENCE_MS)); /* the result is dropped */
	ck_assert_uint_eq(value_of(&trust), 43);
	ck_assert_uint_ge(worker_stats_of(work, 1).calls, 3);
	ck_assert_uint_eq(worker_stats_of(work, 1).properties, 1);
	ck_ok(whorl_trust_drop(&trust));
	ck_assert_uint_eq(trust.id, 0);
	close_work(work);
	ck_assert_int_eq(atomic_load(&counters_dropped), 1);
}

/* A call that could not be run at once is not sent with no time for it; from a plain thread to a worker that sleeps it can. */
TEST(what_is_refused)
{
	struct whorl_function unknown = counter_add;
	whorl_work *work = open_work(1);
	struct whorl_trust trust = entrust_counter(work, 0, 1), wrong = trust;
	uint64_t n = 7;

	unknown.name = "unknown";
	ck_assert_int_eq(whorl_apply_function(&trust, &unknown, &(struct add){1}, &n, 1000), WHORL_NOT_FOUND);
	ck_assert_int_eq(whorl_apply(&trust, other_sum, NULL, &n, 1000), WHORL_INVALID);
	ck_assert_int_eq(whorl_apply(&trust, counter_add, NULL, &n, 1000), WHORL_INVALID);
	ck_assert_str_eq(whorl_invalid_text(), "whorl_apply_function: no arguments");
	ck_assert_int_eq(whorl_apply(&trust, counter_get, NULL, &n, -1), WHORL_INVALID);
	ck_assert_int_eq(whorl_apply_function(&trust, &text_same, NULL, NULL, 1000), WHORL_INVALID);
	ck_assert_int_eq(whorl_apply_bytes(&trust, counter_get, NULL, 0, NULL, NULL, 1000), WHORL_INVALID);
	wrong.worker = 5;
	ck_assert_int_eq(whorl_apply(&wrong, counter_get, NULL, &n, 1000), WHORL_NOT_FOUND);
	wrong = trust;
	wrong.node = 3; /* of which this process is none */
	ck_assert_int_eq(whorl_apply(&wrong, counter_get, NULL, &n, 1000), WHORL_UNSUPPORTED);
	wrong = trust;
	for (uint32_t name = 0; name < 1000; name++) {
		wrong.property = name * 791911;
		if (wrong.property != trust.property)
			ck_assert_int_eq(whorl_apply(&wrong, counter_add, &(struct add){1}, &n, PATIENCE_MS),
					 WHORL_GONE);
	}
	ck_assert_uint_eq(value_of(&trust), 1);
	ck_ok(whorl_trust_drop(&trust));
	close_work(work);
}

TEST(entrusting_is_refused)
{
	static const struct whorl_type strange = {sizeof(strange), "struct strange", 8, NULL, 0, NULL, NULL};
	static const struct whorl_type short_counter = {sizeof(strange), "struct counter", 4, NULL, 0, NULL, NULL};
	whorl_work *work = open_work(1);
	struct whorl_trust trust;
	uint64_t n = 0;

	ck_assert_int_eq(whorl_entrust(work, at(0), &strange, NULL, 0, &trust, 1000), WHORL_INVALID);
	ck_assert_int_eq(whorl_entrust(work, at(0), &short_counter, NULL, 0, &trust, 1000), WHORL_INVALID);
	ck_assert_int_eq(whorl_entrust(work, at(0), &counter_type, &n, 4, &trust, 1000), WHORL_INVALID);
	ck_assert_ptr_nonnull(strstr(whorl_invalid_text(), "not the size of the type"));
	ck_assert_int_eq(whorl_entrust(work, at(1), &counter_type, NULL, 0, &trust, 1000), WHORL_NOT_FOUND);
	ck_assert_int_eq(whorl_entrust(work, whorl_at_worker(0, 0), &counter_type, NULL, 0, &trust, 1000),
			 WHORL_UNSUPPORTED);
	ck_assert_int_eq(
		whorl_entrust(work, whorl_at_shard((whorl_subgroup *)(void *)&n), &counter_type, NULL, 0, &trust, 1000),
		WHORL_UNSUPPORTED);
	ck_assert_int_eq(whorl_entrust(work, at(0), &counter_type, NULL, 0, &trust, -1), WHORL_INVALID);
	ck_ok(whorl_entrust(work, whorl_at_any(), &counter_type, NULL, 0, &trust, PATIENCE_MS)); /* all zero */
	ck_assert_uint_eq(value_of(&trust), 0);
	close_work(work); /* and drops it */
	ck_assert_int_eq(atomic_load(&counters_dropped), 1);
}

TEST(nothing_waits_in_delegated_context)
{
	whorl_work *work = open_work(2);
	struct whorl_trust trust = entrust_counter(work, 0, 1);
	struct seen seen;

	for (int i = 0; i < 50; i++) { /* on the worker, and on this thread, which has borrowed it */
		ck_ok(whorl_apply(&trust, look_around, &((struct trust_args){trust, 1}), &seen, PATIENCE_MS));
		ck_assert_int_eq(seen.apply, WHORL_WOULD_DEADLOCK);
		ck_assert_int_eq(seen.launch, WHORL_WOULD_DEADLOCK);
		ck_assert_int_eq(seen.poll, WHORL_WOULD_DEADLOCK);
		ck_assert_int_eq(seen.entrust, WHORL_WOULD_DEADLOCK);
		ck_assert_int_eq(seen.then, WHORL_OK);
		ck_assert_int_eq(seen.clone, WHORL_OK);
		ck_assert_int_eq(seen.drop, WHORL_OK);
		ck_assert_int_eq(seen.here, 1);
	}
	await(value_of(&trust) == 51, sched_yield());
	ck_ok(whorl_trust_drop(&trust));
	close_work(work);
}

/* ---- time ------------------------------------------------------------------------------------------------------------------------- */

struct holder {
	struct whorl_trust *trust;
	enum whorl_result result;
	int timeout_ms;
};

static void *hold_it(void *ctx)
{
	struct holder *holder = ctx;
	uint64_t n;

	holder->result = whorl_apply(holder->trust, counter_hold, &(struct add){100}, &n, holder->timeout_ms);
	return NULL;
}

/* The first is sent and runs for ever: in doubt. The second is not sent: it never runs. Another trustee is not disturbed. */
TEST(a_function_that_does_not_end)
{
	whorl_work *work = open_work(2);
	struct whorl_trust trust = entrust_counter(work, 0, 0), other = entrust_counter(work, 1, 0);
	struct holder holder = {.trust = &trust, .timeout_ms = 50};
	uint64_t n, began;
	pthread_t thread;

	atomic_store(&hold, true);
	pthread_create(&thread, NULL, hold_it, &holder);
	await(atomic_load(&holding) == 1, sched_yield());
	pthread_join(thread, NULL);
	ck_assert_int_eq(holder.result, WHORL_IN_DOUBT);
	began = now_ms();
	ck_assert_int_eq(whorl_apply(&trust, counter_add, &(struct add){1}, &n, 0), WHORL_TIMEOUT);
	ck_assert_int_eq(whorl_apply(&trust, counter_add, &(struct add){1}, &n, 30), WHORL_IN_DOUBT); /* in its slot */
	ck_assert_int_eq(whorl_apply(&trust, counter_add, &(struct add){10}, &n, 30),
			 WHORL_TIMEOUT); /* not even that */
	ck_assert_uint_ge(now_ms() - began, 60);
	for (uint64_t i = 1; i <= 100; i++) {
		ck_ok(whorl_apply(&other, counter_add, &(struct add){1}, &n, PATIENCE_MS));
		ck_assert_uint_eq(n, i);
	}
	ck_assert_int_eq(whorl_work_close(work, 10), WHORL_TIMEOUT);
	atomic_store(&hold, false);
	ck_assert_int_eq(whorl_apply(&trust, counter_get, NULL, &n, PATIENCE_MS), WHORL_CLOSED);
	close_work(work);
}

TEST(what_was_in_doubt_may_have_run)
{
	whorl_work *work = open_work(1);
	struct whorl_trust trust = entrust_counter(work, 0, 0);
	struct holder holder = {.trust = &trust, .timeout_ms = 20};

	atomic_store(&hold, true);
	hold_it(&holder);
	ck_assert_int_eq(holder.result, WHORL_IN_DOUBT);
	holder.timeout_ms = (int)whorl_apply(&trust, counter_add, &(struct add){1000}, NULL, 30);
	ck_assert_int_eq(holder.timeout_ms, WHORL_TIMEOUT); /* not sent, as the slot is in use */
	atomic_store(&hold, false);
	ck_assert_uint_eq(value_of(&trust), 100); /* the channel goes on */
	ck_ok(whorl_trust_drop(&trust));
	close_work(work);
}

/* ---- calls that do not wait -------------------------------------------------------------------------------------------------------- */

struct order {
	struct whorl_trust *trust;
	uint64_t next, more, wrong;
};

static void in_order(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	struct order *order = ctx;
	uint64_t n = 0;

	if (bytes == sizeof(n))
		memcpy(&n, answer, sizeof(n));
	order->wrong += result != WHORL_OK || n != order->next++ ||
			whorl_apply(order->trust, counter_get, NULL, &n, 100) != WHORL_WOULD_DEADLOCK;
	if (order->more == 0)
		return;
	order->more--;
	order->wrong += whorl_apply_then(order->trust, counter_add, &(struct add){1}, in_order, order) != WHORL_OK;
}

/* From a plain thread: `then` runs in whorl_poll, in the order of the calls, and may make others. */
TEST(then_in_a_plain_thread)
{
	whorl_work *work = open_work(1);
	struct whorl_trust trust = entrust_counter(work, 0, 0);
	struct order order = {.trust = &trust, .next = 1, .more = 5000};

	ck_assert_int_eq(whorl_poll(work, 0), WHORL_NOT_FOUND);
	for (int i = 0; i < 1000; i++)
		ck_ok(whorl_apply_then(&trust, counter_add, &(struct add){1}, in_order, &order));
	await(order.next == 6001, ck_assert_int_ne(whorl_poll(work, 1000), WHORL_NOT_FOUND));
	ck_assert_uint_eq(order.wrong, 0);
	ck_assert_int_eq(whorl_poll(work, 0), WHORL_NOT_FOUND);
	for (int i = 0; i < 100; i++)
		ck_ok(whorl_apply_then(&trust, counter_add, &(struct add){1}, NULL, NULL));
	ck_assert_uint_eq(value_of(&trust), 6100); /* behind those */
	ck_ok(whorl_trust_drop(&trust));
	close_work(work);
}

struct fiber_args {
	struct whorl_trust trust;
	uint64_t calls;
};

/* In a fiber, to its own worker or to another. */
WHORL_FUNCTION(then_in_fiber, struct whorl_none, struct fiber_args, uint64_t, 0)
{
	struct whorl_trust trust = args->trust;
	struct order order = {.trust = &trust, .next = 1, .more = args->calls / 2};

	for (uint64_t i = 0; i < args->calls - args->calls / 2; i++)
		order.wrong += whorl_apply_then(&trust, counter_add, &(struct add){1}, in_order, &order) != WHORL_OK;
	while (order.next <= args->calls)
		order.wrong += whorl_poll(trust.work, PATIENCE_MS) != WHORL_OK;
	*result = order.wrong;
}

TEST(then_on_a_worker)
{
	whorl_work *work = open_work(2);
	struct whorl_trust trust;
	struct whorl_join join;
	uint64_t wrong;

	for (uint32_t worker = 0; worker < 2; worker++) {
		trust = entrust_counter(work, worker, 0);
		ck_ok(whorl_spawn(work, at(0), then_in_fiber, &((struct fiber_args){trust, 5001}), &join));
		ck_ok(whorl_join(&join, &wrong, sizeof(wrong), PATIENCE_MS));
		ck_assert_uint_eq(wrong, 0);
		ck_assert_uint_eq(value_of(&trust), 5001);
		ck_ok(whorl_trust_drop(&trust));
	}
	close_work(work);
}

/* What has not been answered when the work closes ends all the same, once. */
static void count_end(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	uint64_t *ends = ctx;

	(void)answer, (void)bytes;
	ends[result]++;
}

TEST(every_call_ends_once)
{
	uint64_t ends[64] = {0};
	whorl_work *work = open_work(1);
	struct whorl_trust trust = entrust_counter(work, 0, 0);

	atomic_store(&hold, true);
	for (int i = 0; i < 300; i++)
		ck_ok(whorl_apply_then(&trust, counter_hold, &(struct add){1}, count_end, ends));
	await(atomic_load(&holding) == 1, sched_yield());
	ck_assert_int_eq(whorl_work_close(work, 10), WHORL_TIMEOUT);
	atomic_store(&hold, false);
	close_work(work);
	ck_assert_uint_eq(ends[WHORL_OK] + ends[WHORL_IN_DOUBT] + ends[WHORL_CLOSED], 300);
	ck_assert_uint_ge(ends[WHORL_CLOSED], 200);
}

/* ---- bytes ------------------------------------------------------------------------------------------------------------------------- */

struct twice {
	const unsigned char *data;
	size_t bytes;
	uint32_t ends, good;
	enum whorl_result result;
};

static void is_twice(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	struct twice *twice = ctx;

	twice->ends++;
	twice->result = result;
	twice->good += result == WHORL_OK && bytes == 2 * twice->bytes &&
		       memcmp(answer, twice->data, twice->bytes) == 0 &&
		       memcmp((const char *)answer + twice->bytes, twice->data, twice->bytes) == 0;
}

/* Through the slots, three behind each other: a caller that waits may run its call itself. */
static void sent_length(const struct whorl_trust *trust, const unsigned char *data, size_t bytes)
{
	struct twice twice = {.data = data, .bytes = bytes};

	for (int i = 0; i < 3; i++)
		ck_ok(whorl_apply_bytes_then(trust, text_twice, data, bytes, is_twice, &twice));
	while (twice.ends < 3)
		ck_ok(whorl_poll(trust->work, PATIENCE_MS));
	ck_assert_msg(twice.good == 3, "%zu bytes: %u of 3, the last as: %s", bytes, twice.good,
		      whorl_result_text(twice.result));
}

static void try_length(const struct whorl_trust *trust, size_t bytes)
{
	unsigned char *data = malloc(bytes + 1), *answer = malloc(2 * bytes + 1);
	size_t room = 2 * bytes;

	for (size_t i = 0; i < bytes; i++)
		data[i] = (unsigned char)(i * 31 + i / 251);
	ck_ok(whorl_apply_bytes(trust, text_twice, data, bytes, answer, &room, PATIENCE_MS));
	ck_assert_uint_eq(room, 2 * bytes);
	ck_assert_mem_eq(answer, data, bytes);
	ck_assert_mem_eq(answer + bytes, data, bytes);
	room = bytes;
	if (bytes > 0) {
		ck_assert_int_eq(whorl_apply_bytes(trust, text_twice, data, bytes, answer, &room, PATIENCE_MS),
				 WHORL_TOO_SMALL);
		ck_assert_uint_eq(room, 2 * bytes);
	}
	ck_ok(whorl_apply_bytes(trust, text_twice, data, bytes, NULL, NULL, PATIENCE_MS));
	sent_length(trust, data, bytes);
	free(data);
	free(answer);
}

struct lengths_args {
	struct whorl_trust trust;
};

/* All sizes around those at which something changes, and large ones; from a fiber on another worker, so they are sent. */
WHORL_FUNCTION(try_lengths, struct whorl_none, struct lengths_args, struct whorl_none, 0)
{
	static const size_t edges[] = {0, 8, 112, 496, 1016, 1024, 1032, 1128, 1136, 2048, 3000, 65536};

	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
		for (int d = -2; d <= 2; d++)
			if (d >= 0 || edges[i] > 2)
				try_length(&args->trust, edges[i] + (size_t)d);
	try_length(&args->trust, WHORL_CALL_BYTES_MAX / (WH_TSAN || WH_ASAN ? 32 : 2));
}

TEST_LOOP(any_length, 0, 2)
{
	whorl_work *work = open_work(2);
	struct whorl_trust trust;
	struct whorl_join join;

	ck_ok(whorl_entrust(work, at(0), &text_type, NULL, 0, &trust, PATIENCE_MS));
	ck_ok(whorl_spawn(work, at((uint32_t)_i), try_lengths, &((struct lengths_args){trust}), &join));
	ck_ok(whorl_join(&join, NULL, 0, PATIENCE_MS));
	try_lengths_whorl_body(NULL, &(struct lengths_args){trust}, NULL); /* and from here */
	ck_assert_int_eq(whorl_apply_bytes(&trust, text_same, "", WHORL_CALL_BYTES_MAX + 1, NULL, NULL, 1000),
			 WHORL_INVALID);
	ck_ok(whorl_trust_drop(&trust));
	close_work(work);
}

static void same_again(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	unsigned char *seen = ctx;

	*seen = result == WHORL_OK && bytes == 5000 && ((const unsigned char *)answer)[4999] == 77;
}

/* Behind others, in order, though it is cut up. */
TEST(long_ones_among_short_ones)
{
	whorl_work *work = open_work(1);
	struct whorl_trust text, trust = entrust_counter(work, 0, 0);
	struct order order = {.trust = &trust, .next = 1};
	unsigned char data[5000], seen[20] = {0};

	memset(data, 77, sizeof(data));
	ck_ok(whorl_entrust(work, at(0), &text_type, NULL, 0, &text, PATIENCE_MS));
	for (int i = 0; i < 20; i++) {
		ck_ok(whorl_apply_then(&trust, counter_add, &(struct add){1}, in_order, &order));
		ck_ok(whorl_apply_bytes_then(&text, text_same, data, sizeof(data), same_again, &seen[i]));
		ck_ok(whorl_apply_then(&trust, counter_add, &(struct add){1}, in_order, &order));
	}
	while (whorl_poll(work, PATIENCE_MS) == WHORL_OK)
		continue;
	ck_assert_uint_eq(order.next, 41);
	ck_assert_uint_eq(order.wrong, 0);
	for (int i = 0; i < 20; i++)
		ck_assert(seen[i]);
	close_work(work);
}

/* ---- arguments --------------------------------------------------------------------------------------------------------------------- */

WHORL_FUNCTION(take_pointer, struct counter, struct trust_args, uint64_t, 0)
{
	*result = args->n;
}

TEST(addresses_are_found_in_arguments)
{
	whorl_work *work = open_work(1);
	struct whorl_trust trust = entrust_counter(work, 0, 0);
	struct trust_args args = {trust, (uint64_t)(uintptr_t)&trust};
	uint64_t n;
#ifdef NDEBUG
	ck_ok(whorl_apply(&trust, take_pointer, &args, &n, PATIENCE_MS));
#else
	ck_assert_int_eq(whorl_apply(&trust, take_pointer, &args, &n, PATIENCE_MS), WHORL_INVALID);
	ck_assert_ptr_nonnull(strstr(whorl_invalid_text(), "take_pointer"));
#endif
	args.n = 1234567890123; /* a trust, and numbers, may be there */
	ck_ok(whorl_apply(&trust, take_pointer, &args, &n, PATIENCE_MS));
	ck_assert_uint_eq(n, args.n);
	close_work(work);
}

/* ---- lending ----------------------------------------------------------------------------------------------------------------------- */

static pthread_t ran_on;

WHORL_FUNCTION(where, struct counter, struct whorl_none, uint64_t, 0)
{
	ran_on = pthread_self();
	*result = ++property->n;
}

WHORL_FUNCTION(where_blocks, struct counter, struct whorl_none, uint64_t, WHORL_BLOCKS)
{
	ran_on = pthread_self();
	*result = ++property->n;
}

/* The first that calls runs it itself; what blocks is run by the worker. */
TEST(an_idle_trustee_is_lent)
{
	whorl_work *work = open_work(1);
	struct whorl_trust trust = entrust_counter(work, 0, 0);
	uint64_t n;

	await(ran_on == pthread_self(), ck_ok(whorl_apply(&trust, where, NULL, &n, PATIENCE_MS)));
	ck_assert_uint_ge(worker_stats_of(work, 0).lent_calls, 1);
	for (int i = 0; i < 20; i++) {
		ck_ok(whorl_apply(&trust, where_blocks, NULL, &n, PATIENCE_MS));
		ck_assert(!pthread_equal(ran_on, pthread_self()));
	}
	await(pthread_equal(ran_on, pthread_self()), ck_ok(whorl_apply(&trust, where, NULL, &n, PATIENCE_MS)));
	ck_ok(whorl_trust_drop(&trust));
	close_work(work);
}

/* ---- asking ------------------------------------------------------------------------------------------------------------------------ */

#define ROUNDS 20
#define STAYS_MS 5 /* longer than a client waits before it sleeps */

static atomic_bool stays;

WHORL_FUNCTION(stay, struct counter, struct whorl_none, uint64_t, 0)
{
	uint64_t until = now_ms() + STAYS_MS;

	atomic_store(&stays, true);
	while (now_ms() <= until)
		sched_yield();
	*result = ++property->n;
}

static void *stay_there(void *ctx)
{
	const struct whorl_trust *trust = ctx;
	uint64_t n;

	ck_ok(whorl_apply(trust, stay, NULL, &n, PATIENCE_MS));
	return NULL;
}

/* A thread has borrowed the trustee, another calls and sleeps. True: the one has run the other's call, too. */
static bool ask_once(struct whorl_trust *trust)
{
	pthread_t borrower;
	uint64_t n;
	bool asked;

	ck_ok(whorl_apply(trust, where_blocks, NULL, &n, PATIENCE_MS)); /* the worker has seen its client */
	await(ran_on == pthread_self(),
	      ck_ok(whorl_apply(trust, where, NULL, &n, PATIENCE_MS))); /* no thread asks any more */
	atomic_store(&stays, false);
	pthread_create(&borrower, NULL, stay_there, trust);
	await(atomic_load(&stays), sched_yield());
	ck_ok(whorl_apply(trust, where, NULL, &n, PATIENCE_MS));
	asked = pthread_equal(ran_on, borrower);
	pthread_join(borrower, NULL);
	return asked;
}

/* On one processor, which its clients have: they do not wake the trustee, but the thread that has borrowed it does what they have asked for. Now
 * and then the worker is there before; and a borrower looks at all slots in one of many turns, asked or not. */
TEST(a_borrower_is_asked)
{
	cpu_set_t all, one;
	int asked = 0;
	whorl_work *work;
	struct whorl_trust trust;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	work = open_work(1);
	trust = entrust_counter(work, 0, 0);
	/* On a machine that is busy the worker may be there first: then again. */
	for (int times = 0; times < 5 && asked < ROUNDS / 4; times++) {
		asked = 0;
		for (int round = 0; round < ROUNDS; round++)
			asked += ask_once(&trust);
	}
	ck_assert_msg(asked >= ROUNDS / 4, "%d of %d", asked, ROUNDS);
	ck_assert_uint_ge(value_of(&trust), 4 * ROUNDS);
	ck_ok(whorl_trust_drop(&trust));
	close_work(work);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(all), &all), 0);
}

TEST_SUITE("delegate_calls")
