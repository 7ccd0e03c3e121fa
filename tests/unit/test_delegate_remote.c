/* test_delegate_remote.c - trusts of another node: the same calls. Nodes in one process, on each transport that has lanes.
 * Labels: threads
 */
#include "tests/support/remote_lab.h"

static const char *const transports[] = {"shm", "tcp"};
#define TRANSPORTS 2

/* ---- functions ------------------------------------------------------------------------------------------------------------------ */

struct sequence {
	uint64_t next, broken;
};

static WHORL_TYPE(sequence_type, struct sequence, NULL);

WHORL_FUNCTION(sequence_say, struct sequence, struct add, uint64_t, 0)
{
	property->broken += args->by != property->next;
	property->next = args->by + 1;
	*result = property->broken;
}

/* Uses a trust that has come from another node, in its arguments; then it gives it back. */
struct lent {
	struct whorl_trust trust;
	uint64_t by;
};

WHORL_FUNCTION(counter_add_there, struct counter, struct lent, uint64_t, 0)
{
	struct whorl_trust trust = args->trust;

	property->n++;
	if (whorl_apply(&trust, counter_add, &(struct add){args->by}, result, PATIENCE_MS) != WHORL_OK ||
	    whorl_trust_drop(&trust) != WHORL_OK)
		*result = UINT64_MAX;
}

WHORL_FUNCTION(square, struct whorl_none, struct add, uint64_t, 0)
{
	whorl_fiber_yield();
	*result = args->by * args->by;
}

static atomic_bool may_end;

WHORL_FUNCTION(counter_hold, struct counter, struct whorl_none, uint64_t, WHORL_BLOCKS)
{
	while (!atomic_load(&may_end))
		sched_yield();
	*result = ++property->n;
}

/* ---- each of the calls ---------------------------------------------------------------------------------------------------------- */

TEST_LOOP(a_call_to_another_node, 0, TRANSPORTS)
{
	struct whorl_trust trust;
	struct lab lab;
	uint64_t n = 0;

	remote_lab_open(&lab, 2, 2, transports[_i]);
	for (uint32_t worker = 0; worker < 2; worker++) {
		trust = lab_counter(&lab, 0, 1, worker, 5);
		ck_assert_uint_eq(trust.node, 1);
		ck_assert_uint_eq(trust.worker, worker);
		ck_ok(whorl_apply(&trust, counter_add, &(struct add){7}, &n, PATIENCE_MS));
		ck_assert_uint_eq(n, 12);
		ck_assert_int_eq(whorl_apply(&trust, other_sum, NULL, &n, PATIENCE_MS), WHORL_INVALID);
		ck_ok(whorl_trust_move(&trust, whorl_at_worker(1, 1 - worker), PATIENCE_MS));
		ck_assert_uint_eq(trust.worker, 1 - worker);
		ck_assert_uint_eq(value_of(&trust), 12);
		ck_ok(whorl_trust_drop(&trust));
	}
	ck_assert_int_eq(whorl_entrust(lab.works[0], whorl_at_worker(1, 2), &counter_type, NULL, 0, &trust, PATIENCE_MS),
			 WHORL_NOT_FOUND);
	ck_assert_int_eq(whorl_entrust(lab.works[0], whorl_at_worker(2, 0), &counter_type, NULL, 0, &trust, PATIENCE_MS),
			 WHORL_NOT_FOUND);
	remote_lab_close(&lab);
}

/* With the last handle, wherever it is, the property goes. */
TEST_LOOP(handles_are_counted, 0, TRANSPORTS)
{
	struct whorl_trust trust, other, sent;
	int dropped = atomic_load(&counters_dropped);
	struct lab lab;
	uint64_t n = 0;

	remote_lab_open(&lab, 2, 1, transports[_i]);
	trust = lab_counter(&lab, 0, 1, 0, 1);
	ck_ok(whorl_trust_clone(&trust, &other));
	ck_ok(whorl_trust_drop(&trust));
	ck_assert_uint_eq(value_of(&other), 1);
	sent = other;
	ck_ok(whorl_trust_send(&sent, whorl_at_worker(0, WHORL_WORKER_ANY)));
	ck_ok(whorl_trust_clone(&sent, &trust));
	ck_ok(whorl_trust_drop(&sent));
	ck_ok(whorl_apply(&trust, counter_add, &(struct add){1}, &n, PATIENCE_MS));
	ck_assert_uint_eq(n, 2);
	ck_assert_int_eq(atomic_load(&counters_dropped), dropped);
	ck_ok(whorl_trust_drop(&trust));
	await(atomic_load(&counters_dropped) == dropped + 1, (void)whorl_poll(lab.works[0], 1));
	remote_lab_close(&lab);
}

/* A handle goes to another node in arguments, and is used and dropped there; its property is here. */
TEST_LOOP(a_handle_is_sent_to_another_node, 0, TRANSPORTS)
{
	struct lab lab;
	struct whorl_trust here, there;
	struct lent lent = {.by = 30};
	int dropped = atomic_load(&counters_dropped);
	uint64_t n = 0;

	remote_lab_open(&lab, 2, 2, transports[_i]);
	ck_ok(whorl_entrust(lab.works[0], at(1), &counter_type, &(struct counter){12}, sizeof(struct counter), &here,
			    PATIENCE_MS));
	there = lab_counter(&lab, 0, 1, 0, 0);
	ck_ok(whorl_trust_clone(&here, &lent.trust));
	ck_ok(whorl_trust_send(&lent.trust, whorl_at_worker(1, WHORL_WORKER_ANY)));
	ck_ok(whorl_launch(&there, counter_add_there, &lent, &n, PATIENCE_MS));
	ck_assert_uint_eq(n, 42);
	ck_assert_uint_eq(value_of(&here), 42);
	ck_assert_uint_eq(value_of(&there), 1);
	ck_assert_int_eq(atomic_load(&counters_dropped), dropped);
	ck_ok(whorl_trust_drop(&here));
	ck_ok(whorl_trust_drop(&there));
	await(atomic_load(&counters_dropped) == dropped + 2, (void)whorl_poll(lab.works[0], 1));
	remote_lab_close(&lab);
}

TEST_LOOP(any_length, 0, TRANSPORTS)
{
	static const size_t sizes[] = {0, 1, 1000, 1024, 1136, 5000, 1 << 20};
	unsigned char *data = malloc(1 << 20), *answer = malloc(1 << 20);
	struct whorl_trust trust;
	struct lab lab;

	remote_lab_open(&lab, 2, 1, transports[_i]);
	ck_ok(whorl_entrust(lab.works[0], whorl_at_worker(1, 0), &text_type, NULL, 0, &trust, PATIENCE_MS));
	for (size_t i = 0; i < 1 << 20; i++)
		data[i] = (unsigned char)(i * 31 + i / 255);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t bytes = 1 << 20;

		memset(answer, 0xee, 1 << 20);
		ck_ok(whorl_apply_bytes(&trust, text_same, data, sizes[i], answer, &bytes, PATIENCE_MS));
		ck_assert_uint_eq(bytes, sizes[i]);
		ck_assert(memcmp(answer, data, sizes[i]) == 0);
	}
	ck_ok(whorl_trust_drop(&trust));
	remote_lab_close(&lab);
	free(data);
	free(answer);
}

TEST_LOOP(fibers_start_there, 0, TRANSPORTS)
{
	struct whorl_join joins[20];
	struct lab lab;
	uint64_t n;

	remote_lab_open(&lab, 2, 2, transports[_i]);
	await(whorl_spawn(lab.works[0], whorl_at_worker(1, WHORL_WORKER_ANY), square, &(struct add){0}, &joins[0]) ==
		      WHORL_OK,
	      sched_yield());
	for (uint64_t i = 1; i < 20; i++)
		await(whorl_spawn(lab.works[0], whorl_at_worker(1, WHORL_WORKER_ANY), square, &(struct add){i},
				  &joins[i]) == WHORL_OK,
		      sched_yield());
	for (uint64_t i = 0; i < 20; i++) {
		ck_ok(whorl_join(&joins[i], &n, sizeof(n), PATIENCE_MS));
		ck_assert_uint_eq(n, i * i);
	}
	remote_lab_close(&lab);
}

/* Says which node it is. */
WHORL_FUNCTION(say_node, struct whorl_none, struct whorl_none, uint64_t, 0)
{
	struct whorl_place place = {0};

	(void)whorl_work_here(&place);
	*result = (uint64_t)place.node * 100 + place.worker;
}

/* In turn at all workers of all nodes, but at those that are trustees alone; properties go to these. */
TEST_LOOP(any_worker_of_any_node, 0, TRANSPORTS)
{
	struct whorl_work_options options = {.size = sizeof(options), .workers = 2, WHORL_FUNCTIONS_LINKED};
	struct whorl_place place;
	struct whorl_join joins[10];
	struct whorl_trust trust;
	unsigned seen[LAB_NODES][3] = {{0}}, kept[LAB_NODES][3] = {{0}};
	struct lab lab;
	uint64_t n;

	remote_lab_make(&lab, 3, transports[_i]);
	lab_open_work(&lab, 0, &options);
	lab_open_work(&lab, 1, &options);
	options.workers = 3; /* of which node 0 cannot reach the last */
	options.dedicated = 1;
	lab_open_work(&lab, 2, &options);
	ck_ok(whorl_work_ready(lab.works[0], PATIENCE_MS));
	for (int i = 0; i < 10; i++)
		ck_ok(whorl_spawn(lab.works[0], whorl_at_any_node(), say_node, NULL, &joins[i]));
	for (int i = 0; i < 10; i++) {
		ck_ok(whorl_join(&joins[i], &n, sizeof(n), PATIENCE_MS));
		seen[n / 100][n % 100]++;
	}
	for (int i = 0; i < 10; i++) {
		ck_ok(whorl_entrust(lab.works[0], whorl_at_any_node(), &counter_type, NULL, 0, &trust, PATIENCE_MS));
		kept[trust.node][trust.worker]++;
		ck_ok(whorl_trust_drop(&trust));
	}
	for (unsigned i = 0; i < 5; i++) {
		ck_assert_uint_eq(seen[i / 2][i % 2 + i / 4], 2);
		ck_assert_uint_eq(kept[i / 2][i % 2], 2);
	}
	for (unsigned i = 0; i < 5; i++) { /* the next five, each once */
		place = whorl_at_any_node();
		ck_ok(whorl_place_choose(lab.works[0], &place));
		seen[place.node][place.worker]++;
	}
	for (unsigned i = 0; i < 5; i++)
		ck_assert_uint_eq(seen[i / 2][i % 2 + i / 4], 3);
	place = whorl_at_worker(WHORL_NODE_ANY, 0);
	ck_assert_int_eq(whorl_place_choose(lab.works[0], &place), WHORL_NOT_FOUND);
	ck_assert_uint_eq(place.node, WHORL_NODE_ANY);
	remote_lab_close(&lab);
}

/* Results of any size, of fibers that end at once: of many in a row, here and there, some go by mail. */
WHORL_FUNCTION(say_worker, struct whorl_none, struct add, uint32_t, 0)
{
	*result = (uint32_t)args->by;
}

TEST_LOOP(small_results, 0, TRANSPORTS)
{
	struct whorl_join joins[64];
	struct lab lab;
	uint32_t n;

	remote_lab_open(&lab, 2, 2, transports[_i]);
	ck_ok(whorl_work_ready(lab.works[0], PATIENCE_MS));
	for (unsigned round = 0; round < 20; round++) {
		for (uint64_t i = 0; i < 64; i++)
			ck_ok(whorl_spawn(lab.works[0], round % 2 == 0 ? whorl_at_any() : whorl_at_any_node(),
					  say_worker, &(struct add){i}, &joins[i]));
		for (uint32_t i = 0; i < 64; i++) {
			ck_ok(whorl_join(&joins[i], &n, sizeof(n), PATIENCE_MS));
			ck_assert_uint_eq(n, i);
		}
	}
	remote_lab_close(&lab);
}

/* A trust in the arguments of a fiber that goes anywhere. */
WHORL_FUNCTION(add_by_trust, struct whorl_none, struct lent, uint64_t, 0)
{
	struct whorl_trust trust = args->trust;

	if (whorl_apply(&trust, counter_add, &(struct add){args->by}, result, PATIENCE_MS) != WHORL_OK ||
	    whorl_trust_drop(&trust) != WHORL_OK)
		*result = UINT64_MAX;
}

TEST_LOOP(trusts_go_with_fibers, 0, TRANSPORTS)
{
	struct whorl_join joins[8];
	struct whorl_trust trust;
	int dropped = atomic_load(&counters_dropped);
	struct lab lab;
	uint64_t n;

	remote_lab_open(&lab, 2, 2, transports[_i]);
	ck_ok(whorl_work_ready(lab.works[0], PATIENCE_MS));
	trust = entrust_counter(lab.works[0], 0, 0);
	for (uint64_t i = 0; i < 8; i++) {
		struct whorl_place place = whorl_at_any_node();
		struct lent lent = {.by = 1 + i};

		ck_ok(whorl_place_choose(lab.works[0], &place));
		ck_ok(whorl_trust_clone(&trust, &lent.trust));
		ck_ok(whorl_trust_send(&lent.trust, place));
		lent.trust.work = NULL; /* an address is no argument */
		ck_ok(whorl_spawn(lab.works[0], place, add_by_trust, &lent, &joins[i]));
	}
	for (uint64_t i = 0; i < 8; i++) {
		ck_ok(whorl_join(&joins[i], &n, sizeof(n), PATIENCE_MS));
		ck_assert_uint_le(n, 36);
	}
	ck_assert_uint_eq(value_of(&trust), 36);
	ck_ok(whorl_trust_drop(&trust));
	await(atomic_load(&counters_dropped) == dropped + 1, (void)whorl_poll(lab.works[0], 1));
	remote_lab_close(&lab);
}

/* One node after the other has a work; one that has left is not waited for, and nothing goes there. */
TEST_LOOP(all_are_met, 0, TRANSPORTS)
{
	const struct whorl_work_options options = {.size = sizeof(options), .workers = 2, WHORL_FUNCTIONS_LINKED};
	struct whorl_join join;
	struct lab lab;
	uint64_t n;

	remote_lab_make(&lab, 3, transports[_i]);
	lab_open_work(&lab, 0, &options);
	ck_assert_int_eq(whorl_work_ready(lab.works[0], 0), WHORL_TIMEOUT);
	lab_open_work(&lab, 1, &options);
	for (int i = 0; i < 3; i++)
		ck_ok(whorl_ready(lab.nodes[i], PATIENCE_MS));
	ck_assert_int_eq(whorl_work_ready(lab.works[0], 50), WHORL_TIMEOUT);
	lab_open_work(&lab, 2, &options);
	ck_ok(whorl_work_ready(lab.works[0], PATIENCE_MS));
	ck_ok(whorl_work_ready(lab.works[2], PATIENCE_MS));
	lab_close_node(&lab, 1);
	await(whorl_node_count(lab.nodes[0]) == 2, sched_yield());
	ck_ok(whorl_work_ready(lab.works[0], PATIENCE_MS));
	for (int i = 0; i < 8; i++) {
		await(whorl_spawn(lab.works[0], whorl_at_any_node(), say_node, NULL, &join) == WHORL_OK, sched_yield());
		if (whorl_join(&join, &n, sizeof(n), PATIENCE_MS) == WHORL_OK)
			ck_assert_uint_ne(n / 100, 1);
	}
	remote_lab_close(&lab);
}

/* ---- many ----------------------------------------------------------------------------------------------------------------------- */

#define SAID 5000

static void count_end(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	uint64_t *ended = ctx;

	ck_assert_int_eq(result, WHORL_OK);
	ck_assert_uint_eq(bytes, sizeof(uint64_t));
	ck_assert_uint_eq(*(const uint64_t *)answer, 0);
	++*ended;
}

/* Also where long ones are among them; all are answered, once, and together they take few writes. */
TEST_LOOP(calls_keep_their_order, 0, TRANSPORTS)
{
	struct whorl_trust trust, text;
	unsigned char *data = calloc(1, 3000);
	struct whorl_worker_stats stats;
	uint64_t ended = 0, sent = 0;
	struct lab lab;

	remote_lab_open(&lab, 2, 1, transports[_i]);
	ck_ok(whorl_entrust(lab.works[0], whorl_at_worker(1, 0), &sequence_type, NULL, 0, &trust, PATIENCE_MS));
	ck_ok(whorl_entrust(lab.works[0], whorl_at_worker(1, 0), &text_type, NULL, 0, &text, PATIENCE_MS));
	while (sent < SAID) {
		enum whorl_result result =
			whorl_apply_then(&trust, sequence_say, &(struct add){sent}, count_end, &ended);

		sent += result == WHORL_OK;
		if (result == WHORL_AGAIN)
			(void)whorl_poll(lab.works[0], 1);
		if (sent % 1000 == 999)
			ck_ok(whorl_apply_bytes_then(&text, text_same, data, 3000, NULL, NULL));
	}
	await(ended == SAID, (void)whorl_poll(lab.works[0], 10));
	stats = worker_stats_of(lab.works[1], 0);
	ck_assert_uint_ge(stats.calls, SAID);
	ck_assert_uint_gt(stats.batch_calls, 2 * stats.batches);
	ck_ok(whorl_trust_drop(&trust));
	ck_ok(whorl_trust_drop(&text));
	free(data);
	remote_lab_close(&lab);
}

struct caller {
	struct whorl_trust trust;
	uint64_t calls;
};

WHORL_FUNCTION(call_often, struct whorl_none, struct caller, uint64_t, 0)
{
	uint64_t n, last = 0;

	*result = 0;
	for (uint64_t i = 0; i < args->calls; i++) {
		if (whorl_apply(&args->trust, counter_add, &(struct add){1}, &n, PATIENCE_MS) != WHORL_OK || n <= last)
			return;
		last = n;
		++*result;
	}
}

/* Of workers that are not that of the link, too; both nodes at once. */
TEST_LOOP(fibers_call_from_all_workers, 0, TRANSPORTS)
{
	struct caller callers[2] = {{.calls = 200}, {.calls = 200}};
	struct whorl_join joins[2][8];
	struct lab lab;
	uint64_t n;

	remote_lab_open(&lab, 2, 2, transports[_i]);
	for (unsigned node = 0; node < 2; node++)
		callers[node].trust = lab_counter(&lab, node, 1 - node, node, 0);
	for (unsigned i = 0; i < 16; i++)
		ck_ok(whorl_spawn(lab.works[i % 2], at(i / 2 % 2), call_often, &callers[i % 2], &joins[i % 2][i / 2]));
	for (unsigned i = 0; i < 16; i++) {
		ck_ok(whorl_join(&joins[i % 2][i / 2], &n, sizeof(n), PATIENCE_MS));
		ck_assert_uint_eq(n, 200);
	}
	for (unsigned node = 0; node < 2; node++) {
		ck_assert_uint_eq(value_of(&callers[node].trust), 1600);
		ck_ok(whorl_trust_drop(&callers[node].trust));
	}
	remote_lab_close(&lab);
}

/* ---- what goes wrong ------------------------------------------------------------------------------------------------------------- */

/* Two programs differ: nothing goes between them, and all else does. */
TEST_LOOP(other_functions, 0, TRANSPORTS)
{
	static const struct whorl_function *const few[] = {&counter_add, &counter_get};
	const struct whorl_work_options all = {.size = sizeof(all), .workers = 1, WHORL_FUNCTIONS_LINKED};
	const struct whorl_work_options some = {
		.size = sizeof(some), .workers = 1, .functions = few, .function_count = 2};
	struct whorl_trust trust, good;
	struct lab lab;

	remote_lab_make(&lab, 3, transports[_i]);
	lab_open_work(&lab, 0, &all);
	lab_open_work(&lab, 1, &some);
	lab_open_work(&lab, 2, &all);
	for (unsigned node = 0; node < 2; node++) {
		ck_assert_int_eq(whorl_entrust(lab.works[node], whorl_at_worker(1 - node, 0), &counter_type, NULL, 0,
					       &trust, PATIENCE_MS),
				 WHORL_REFUSED);
		trust = entrust_counter(lab.works[node], 0, 3);
		ck_assert_uint_eq(value_of(&trust), 3);
		ck_ok(whorl_trust_drop(&trust));
	}
	ck_assert_int_eq(whorl_spawn(lab.works[0], whorl_at_worker(1, 0), square, &(struct add){2}, NULL),
			 WHORL_REFUSED);
	ck_assert_int_eq(whorl_work_ready(lab.works[0], PATIENCE_MS), WHORL_REFUSED);
	good = lab_counter(&lab, 0, 2, 0, 8);
	ck_assert_uint_eq(value_of(&good), 8);
	ck_ok(whorl_trust_drop(&good));
	remote_lab_close(&lab);
}

/* A node that ends takes its handles with it, and what it owns. */
TEST_LOOP(a_node_ends, 0, TRANSPORTS)
{
	struct whorl_trust theirs, mine, here;
	int dropped = atomic_load(&counters_dropped);
	struct lab lab;
	uint64_t n;

	remote_lab_open(&lab, 2, 2, transports[_i]);
	mine = lab_counter(&lab, 0, 1, 1, 1);
	theirs = lab_counter(&lab, 1, 0, 1, 2);
	here = entrust_counter(lab.works[0], 1, 3);
	ck_assert_uint_eq(value_of(&theirs), 2);
	lab_close_node(&lab, 1); /* `mine` is dropped there */
	await(atomic_load(&counters_dropped) == dropped + 2, sched_yield());
	await(whorl_apply(&mine, counter_get, NULL, &n, PATIENCE_MS) == WHORL_GONE, sched_yield());
	ck_ok(whorl_trust_drop(&mine));
	ck_assert_uint_eq(value_of(&here), 3);
	ck_ok(whorl_trust_drop(&here));
	remote_lab_close(&lab);
}

/* A function that holds its worker up: what was sent is in doubt, and runs once. */
TEST_LOOP(time_runs_out, 0, TRANSPORTS)
{
	struct whorl_trust trust;
	enum whorl_result result;
	struct lab lab;
	uint64_t n;

	atomic_store(&may_end, false);
	remote_lab_open(&lab, 2, 1, transports[_i]);
	trust = lab_counter(&lab, 0, 1, 0, 0);
	ck_assert_int_eq(whorl_apply(&trust, counter_hold, NULL, &n, 0), WHORL_TIMEOUT);
	result = whorl_apply(&trust, counter_hold, NULL, &n, 50);
	ck_assert(result == WHORL_IN_DOUBT || result == WHORL_TIMEOUT);
	atomic_store(&may_end, true);
	ck_assert_uint_eq(value_of(&trust), result == WHORL_IN_DOUBT ? 1 : 0);
	ck_ok(whorl_trust_drop(&trust));
	remote_lab_close(&lab);
}

TEST_SUITE("delegate_remote")
