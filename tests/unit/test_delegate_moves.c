/* test_delegate_moves.c - properties that move to other nodes, also while they are in use. Nodes in one process, on each transport that has
 * lanes; nodes that are killed: test_delegate_killed.c.
 * Labels: threads
 */
#include "tests/support/remote_lab.h"

static const char *const transports[] = {"shm", "tcp"};
#define TRANSPORTS 2

static uint64_t properties_of(const struct lab *lab, unsigned node, uint32_t workers)
{
	uint64_t count = 0;

	for (uint32_t worker = 0; worker < workers; worker++)
		count += worker_stats_of(lab->works[node], worker).properties;
	return count;
}

static uint64_t add(const struct whorl_trust *trust, uint64_t by)
{
	uint64_t n = 0;

	ck_ok(whorl_apply(trust, counter_add, &(struct add){by}, &n, PATIENCE_MS));
	return n;
}

/* ---- there and back -------------------------------------------------------------------------------------------------------------- */

TEST_CASE("moves", .timeout_s = 60);

/* The handle that was made at the old place goes through it, also to a worker of another number; the mover's knows the new one. With the last
 * handle the property is dropped, where it is then, and once. */
TEST_LOOP(there_and_back, 0, TRANSPORTS)
{
	struct whorl_trust trust, old;
	int dropped = atomic_load(&counters_dropped);
	struct lab lab;

	remote_lab_open(&lab, 2, 2, transports[_i]);
	trust = entrust_counter(lab.works[0], 0, 5);
	ck_ok(whorl_trust_clone(&trust, &old));
	ck_ok(whorl_trust_move(&trust, whorl_at_worker(1, 1), PATIENCE_MS));
	ck_assert_uint_eq(trust.node, 1);
	ck_assert_uint_eq(trust.worker, 1);
	ck_assert_uint_eq(old.node, 0);
	ck_assert_uint_eq(properties_of(&lab, 0, 2), 0);
	ck_assert_uint_eq(properties_of(&lab, 1, 2), 1);
	ck_assert_uint_eq(add(&trust, 1), 6);
	ck_assert_uint_eq(add(&old, 1), 7);
	ck_ok(whorl_trust_move(&trust, whorl_at_worker(1, 1), PATIENCE_MS)); /* it is there */
	ck_ok(whorl_trust_move(&old, whorl_at_worker(0, 1), PATIENCE_MS));   /* through the old place */
	ck_assert_uint_eq(old.node, 0);
	ck_assert_uint_eq(old.worker, 1);
	ck_assert_uint_eq(add(&old, 1), 8);
	ck_assert_uint_eq(add(&trust, 1), 9);
	ck_assert_uint_eq(properties_of(&lab, 0, 2), 1);
	ck_assert_uint_eq(properties_of(&lab, 1, 2), 0);
	ck_assert_int_eq(atomic_load(&counters_dropped), dropped);
	ck_ok(whorl_trust_drop(&old));
	ck_assert_uint_eq(add(&trust, 1), 10);
	ck_ok(whorl_trust_drop(&trust));
	await(atomic_load(&counters_dropped) == dropped + 1, (void)whorl_poll(lab.works[0], 1));
	await(properties_of(&lab, 0, 2) == 0, (void)whorl_poll(lab.works[0], 1)); /* it is counted behind its drop */
	remote_lab_close(&lab);
	ck_assert_int_eq(atomic_load(&counters_dropped), dropped + 1);
}

/* By a node at which it neither is nor comes, and by one to which it comes. */
TEST_LOOP(moved_by_another, 0, TRANSPORTS)
{
	struct whorl_trust trust, old;
	int dropped = atomic_load(&counters_dropped);
	struct lab lab;

	remote_lab_open(&lab, 3, 2, transports[_i]);
	trust = lab_counter(&lab, 0, 1, 0, 1);
	ck_ok(whorl_trust_clone(&trust, &old));
	ck_ok(whorl_trust_move(&trust, whorl_at_worker(2, WHORL_WORKER_ANY), PATIENCE_MS));
	ck_assert_uint_eq(trust.node, 2);
	ck_assert_uint_eq(add(&trust, 1), 2);
	ck_assert_uint_eq(add(&old, 1), 3);
	ck_ok(whorl_trust_move(&trust, whorl_at_worker(2, 1 - trust.worker), PATIENCE_MS)); /* within that node */
	ck_assert_uint_eq(add(&trust, 1), 4);
	ck_assert_uint_eq(add(&old, 1), 5);
	ck_ok(whorl_trust_move(&old, whorl_at_any(), PATIENCE_MS));
	ck_assert_uint_eq(old.node, 0);
	ck_assert_uint_eq(add(&old, 1), 6);
	ck_assert_uint_eq(add(&trust, 1), 7);
	ck_ok(whorl_trust_drop(&trust));
	ck_assert_uint_eq(add(&old, 1), 8);
	ck_ok(whorl_trust_drop(&old));
	await(atomic_load(&counters_dropped) == dropped + 1, (void)whorl_poll(lab.works[0], 1));
	for (unsigned node = 0; node < 3; node++)
		ck_assert_uint_eq(properties_of(&lab, node, 2), 0);
	remote_lab_close(&lab);
}

/* ---- what may not go ------------------------------------------------------------------------------------------------------------- */

struct held {
	uint64_t n;
};

static atomic_int held_dropped;

static void held_drop(void *property)
{
	(void)property;
	atomic_fetch_add(&held_dropped, 1);
}

static WHORL_TYPE(held_type, struct held, held_drop);

WHORL_FUNCTION(held_add, struct held, struct add, uint64_t, 0)
{
	*result = property->n += args->by;
}

struct bound {
	uint64_t n;
};

static WHORL_TYPE_WITH(bound_type, struct bound, NULL, WHORL_TYPE_STAYS);

WHORL_FUNCTION(bound_add, struct bound, struct add, uint64_t, 0)
{
	*result = property->n += args->by;
}

/* It stays, and can be used as before; within its node it moves. */
static void try_to_move(struct lab *lab, const struct whorl_type *type, const struct whorl_function *function)
{
	struct whorl_trust trust;
	uint64_t n = 0;

	ck_ok(whorl_entrust(lab->works[0], at(0), type, NULL, 0, &trust, PATIENCE_MS));
	ck_assert_int_eq(whorl_trust_move(&trust, whorl_at_worker(1, 0), PATIENCE_MS), WHORL_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(whorl_invalid_text(), "WHORL_TYPE_STAYS"));
	ck_assert_uint_eq(trust.node, 0);
	ck_ok(whorl_apply_function(&trust, function, &(struct add){3}, &n, PATIENCE_MS));
	ck_ok(whorl_trust_move(&trust, at(1), PATIENCE_MS));
	ck_ok(whorl_apply_function(&trust, function, &(struct add){3}, &n, PATIENCE_MS));
	ck_assert_uint_eq(n, 6);
	ck_ok(whorl_trust_drop(&trust));
}

TEST_LOOP(what_is_not_of_bytes_alone, 0, TRANSPORTS)
{
	int dropped = atomic_load(&held_dropped);
	struct lab lab;

	remote_lab_open(&lab, 2, 2, transports[_i]);
	try_to_move(&lab, &held_type, &held_add);
	try_to_move(&lab, &bound_type, &bound_add);
	await(atomic_load(&held_dropped) == dropped + 1, (void)whorl_poll(lab.works[0], 1));
	remote_lab_close(&lab);
}

/* A program lists what may come to it, a node has so many workers, and functions of its own. */
TEST_LOOP(where_it_may_not_come, 0, TRANSPORTS)
{
	static const struct whorl_function *const few[] = {&counter_add, &counter_get};
	const struct whorl_work_options all = {.size = sizeof(all), .workers = 2, WHORL_FUNCTIONS_LINKED};
	const struct whorl_work_options unlisted = {
		.size = sizeof(all), .workers = 1, .functions = all.functions, .function_count = all.function_count};
	const struct whorl_work_options other = {
		.size = sizeof(all), .workers = 1, .functions = few, .function_count = 2};
	struct whorl_trust trust, there;
	struct lab lab;

	remote_lab_make(&lab, 3, transports[_i]);
	lab_open_work(&lab, 0, &all);
	lab_open_work(&lab, 1, &unlisted);
	lab_open_work(&lab, 2, &other);
	trust = entrust_counter(lab.works[0], 0, 1);
	there = entrust_counter(lab.works[1], 0, 1); /* it has come to be there, and may go */
	ck_assert_int_eq(whorl_trust_move(&trust, whorl_at_worker(1, 0), PATIENCE_MS), WHORL_NOT_FOUND);
	ck_assert_int_eq(whorl_trust_move(&trust, whorl_at_worker(1, 1), PATIENCE_MS), WHORL_NOT_FOUND);
	ck_assert_int_eq(whorl_trust_move(&trust, whorl_at_worker(3, 0), PATIENCE_MS), WHORL_NOT_FOUND);
	ck_assert_int_eq(whorl_trust_move(&trust, whorl_at_worker(2, 0), PATIENCE_MS), WHORL_REFUSED);
	ck_assert_int_eq(whorl_trust_move(&trust, whorl_at_worker(1, 0), 0), WHORL_TIMEOUT);
	ck_assert_uint_eq(add(&trust, 1), 2);
	ck_ok(whorl_trust_move(&there, whorl_at_worker(0, 0), PATIENCE_MS));
	ck_assert_uint_eq(add(&there, 1), 2);
	ck_ok(whorl_trust_drop(&there));
	ck_ok(whorl_trust_drop(&trust));
	remote_lab_close(&lab);
}

/* ---- all kinds of calls through the old place -------------------------------------------------------------------------------------- */

struct large {
	uint64_t words[100000];
};

static WHORL_TYPE(large_type, struct large, NULL);

WHORL_FUNCTION(large_fill, struct large, struct add, uint64_t, 0)
{
	for (size_t i = 0; i < 100000; i++)
		property->words[i] = args->by * i;
	*result = 0;
}

WHORL_FUNCTION(large_check, struct large, struct add, uint64_t, 0)
{
	whorl_fiber_yield();
	*result = 0;
	for (size_t i = 0; i < 100000; i++)
		*result += property->words[i] != args->by * i;
}

TEST_LOOP(large_ones_and_long_answers, 0, TRANSPORTS)
{
	unsigned char data[3000], answer[6000];
	size_t bytes = sizeof(answer);
	struct whorl_trust trust, old, text, old_text;
	uint64_t wrong = 1;
	struct lab lab;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i * 31);
	remote_lab_open(&lab, 2, 2, transports[_i]);
	ck_ok(whorl_entrust(lab.works[0], at(0), &large_type, NULL, 0, &trust, PATIENCE_MS));
	ck_ok(whorl_entrust(lab.works[0], at(1), &text_type, NULL, 0, &text, PATIENCE_MS));
	ck_ok(whorl_trust_clone(&trust, &old));
	ck_ok(whorl_trust_clone(&text, &old_text));
	ck_ok(whorl_apply(&trust, large_fill, &(struct add){77}, NULL, PATIENCE_MS));
	ck_ok(whorl_trust_move(&trust, whorl_at_worker(1, 1), PATIENCE_MS));
	ck_ok(whorl_trust_move(&text, whorl_at_worker(1, 1), PATIENCE_MS));
	ck_ok(whorl_launch(&old, large_check, &(struct add){77}, &wrong, PATIENCE_MS));
	ck_assert_uint_eq(wrong, 0);
	ck_ok(whorl_apply_bytes(&old_text, text_twice, data, sizeof(data), answer, &bytes, PATIENCE_MS));
	ck_assert_uint_eq(bytes, sizeof(answer));
	ck_assert(memcmp(answer, data, sizeof(data)) == 0 && memcmp(answer + 3000, data, sizeof(data)) == 0);
	ck_assert_int_eq(whorl_apply(&old, counter_get, NULL, &wrong, PATIENCE_MS), WHORL_INVALID);
	ck_ok(whorl_trust_drop(&trust));
	ck_ok(whorl_trust_drop(&text));
	ck_ok(whorl_trust_drop(&old));
	ck_ok(whorl_trust_drop(&old_text));
	remote_lab_close(&lab);
}

/* ---- while it is in use ----------------------------------------------------------------------------------------------------------- */

#define CALLERS 6
#define CALLS 150
#define MOVES 12

struct ledger { /* how many calls of each caller have run, and how many of these were not the next */
	uint64_t next[CALLERS], broken;
};

static WHORL_TYPE(ledger_type, struct ledger, NULL);

struct entry {
	uint64_t caller, number;
};

WHORL_FUNCTION(ledger_enter, struct ledger, struct entry, uint64_t, 0)
{
	property->broken += property->next[args->caller] != args->number;
	*result = ++property->next[args->caller];
}

WHORL_FUNCTION(ledger_read, struct ledger, struct whorl_none, struct ledger, WHORL_READ)
{
	*result = *property;
}

static atomic_int wrong_answers;

static void note_answer(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	const uint64_t *expected = ctx;

	if (result != WHORL_OK || bytes != sizeof(uint64_t) || *(const uint64_t *)answer != *expected)
		atomic_fetch_add(&wrong_answers, 1);
	free(ctx);
}

struct user {
	struct whorl_trust trust;
	uint64_t caller;
};

/* Some are waited for. */
WHORL_FUNCTION(use_ledger, struct whorl_none, struct user, uint64_t, 0)
{
	struct whorl_trust trust = args->trust;
	uint64_t until = now_ms() + PATIENCE_MS;
	struct ledger ledger;

	/* This node may not have met that of the property yet. */
	while (whorl_apply(&trust, ledger_read, NULL, &ledger, PATIENCE_MS) == WHORL_AGAIN && now_ms() < until)
		whorl_fiber_yield();
	for (uint64_t i = 0; i < CALLS; i++) {
		struct entry entry = {args->caller, i};
		uint64_t *expected = malloc(sizeof(*expected)), n = 0;
		enum whorl_result sent;

		*expected = i + 1;
		if (i % 5 == 4) {
			sent = whorl_apply(&trust, ledger_enter, &entry, &n, PATIENCE_MS);
			note_answer(sent, &n, sizeof(n), expected);
			continue;
		}
		sent = whorl_apply_then(&trust, ledger_enter, &entry, note_answer, expected);
		if (sent != WHORL_OK)
			note_answer(sent, NULL, 0, expected);
	}
	while (whorl_poll(whorl_work_here(NULL), PATIENCE_MS) == WHORL_OK)
		continue;
	*result = whorl_trust_drop(&trust) != WHORL_OK;
}

/* Fibers on all nodes, each with a handle of its own, while it goes from node to node: each call runs once, in its caller's order. */
TEST_LOOP(while_it_is_in_use, 0, TRANSPORTS)
{
	struct whorl_join joins[CALLERS];
	struct whorl_trust trust;
	struct ledger ledger;
	struct lab lab;

	atomic_store(&wrong_answers, 0);
	remote_lab_open(&lab, 3, 2, transports[_i]);
	ck_ok(whorl_entrust(lab.works[0], whorl_at_worker(1, 0), &ledger_type, NULL, 0, &trust, PATIENCE_MS));
	for (unsigned i = 0; i < CALLERS; i++) {
		struct user user = {.caller = i};
		struct whorl_place place = whorl_at_worker(i % 3, i / 3);

		ck_ok(whorl_trust_clone(&trust, &user.trust));
		ck_ok(whorl_trust_send(&user.trust, whorl_at_worker(i % 3, WHORL_WORKER_ANY)));
		await(whorl_spawn(lab.works[0], place, use_ledger, &user, &joins[i]) == WHORL_OK, sched_yield());
	}
	for (unsigned i = 0; i < MOVES; i++) {
		struct whorl_place place = whorl_at_worker((i + 2) % 3, i / 3 % 2);
		enum whorl_result result = whorl_trust_move(&trust, place, PATIENCE_MS);

		ck_assert_msg(result == WHORL_OK, "move %u: %s", i, whorl_result_text(result));
	}
	for (unsigned i = 0; i < CALLERS; i++) {
		uint64_t n = 1;

		ck_ok(whorl_join(&joins[i], &n, sizeof(n), PATIENCE_MS));
		ck_assert_uint_eq(n, 0);
	}
	ck_assert_int_eq(atomic_load(&wrong_answers), 0);
	ck_ok(whorl_apply(&trust, ledger_read, NULL, &ledger, PATIENCE_MS));
	ck_assert_uint_eq(ledger.broken, 0);
	for (unsigned i = 0; i < CALLERS; i++)
		ck_assert_uint_eq(ledger.next[i], CALLS);
	ck_ok(whorl_trust_drop(&trust));
	await(properties_of(&lab, 0, 2) + properties_of(&lab, 1, 2) + properties_of(&lab, 2, 2) == 0,
	      (void)whorl_poll(lab.works[0], 1));
	remote_lab_close(&lab);
}

/* ---- time runs out ---------------------------------------------------------------------------------------------------------------- */

static atomic_bool may_end, has_begun;

WHORL_FUNCTION(counter_keep, struct counter, struct whorl_none, uint64_t, 0)
{
	atomic_store(&has_begun, true);
	while (!atomic_load(&may_end))
		whorl_fiber_yield();
	*result = ++property->n;
}

static void note_end(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	(void)answer;
	(void)bytes;
	*(int *)ctx = result;
}

/* It is latched, so the move waits; when it has moved after all the handle that was made there for the mover goes, and no other. */
TEST_LOOP(a_move_that_is_not_waited_for, 0, TRANSPORTS)
{
	struct whorl_trust trust;
	int dropped = atomic_load(&counters_dropped), end = -1;
	struct lab lab;

	atomic_store(&may_end, false);
	atomic_store(&has_begun, false);
	remote_lab_open(&lab, 3, 1, transports[_i]);
	trust = lab_counter(&lab, 0, 2, 0, 1);
	ck_ok(whorl_trust_move(&trust, whorl_at_worker(1, 0), PATIENCE_MS)); /* so these two have met */
	ck_ok(whorl_launch_then(&trust, counter_keep, NULL, note_end, &end));
	await(atomic_load(&has_begun), (void)whorl_poll(lab.works[0], 1));
	await(whorl_trust_move(&trust, whorl_at_worker(2, 0), 50) == WHORL_IN_DOUBT, sched_yield());
	ck_assert_uint_eq(trust.node, 1);
	atomic_store(&may_end, true);
	await(worker_stats_of(lab.works[2], 0).properties == 1, (void)whorl_poll(lab.works[0], 1));
	ck_assert_uint_eq(value_of(&trust), 2);
	ck_ok(end);
	ck_assert_int_eq(atomic_load(&counters_dropped), dropped);
	ck_ok(whorl_trust_drop(&trust));
	await(atomic_load(&counters_dropped) == dropped + 1, (void)whorl_poll(lab.works[0], 1));
	await(worker_stats_of(lab.works[2], 0).properties == 0, (void)whorl_poll(lab.works[0], 1));
	remote_lab_close(&lab);
}

TEST_SUITE("delegate_moves")
