/* test_delegate_random.c - counters, registers, maps and queues, used by many threads and fibers at once, with handles that come and go and
 * properties that move; and clients that flood.
 * Labels: threads random
 *
 * That a counter is linearizable is seen at its answers: each value is given once, to one caller those grow, and a call that began when
 * another had ended has the greater one. Of the others a judge sees it (linear.h).
 */
#include "tests/support/delegate_lab.h"

#include "base/atomics.h"
#include "base/clock.h"
#include "tests/linear/linear.h"

#define SCALE (WH_TSAN || WH_ASAN ? 4 : 1)

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 33;
}

/* ---- counters ---------------------------------------------------------------------------------------------------------------------- */

#define ADDS (1500 / SCALE)
#define CALLERS 6

static struct {
	uint64_t began, ended, value;
} adds[CALLERS][ADDS];

struct caller_args {
	struct whorl_trust trust;
	uint64_t caller, seed;
	bool moves;
};

/* Mostly waits for each; sometimes by a clone, launched, or moved first. */
static uint64_t add_often(const struct caller_args *args)
{
	struct whorl_trust mine = args->trust, other;
	uint64_t random = args->seed, bad = 0, n;

	for (int i = 0; i < ADDS; i++) {
		uint64_t what = next_random(&random) % 64;

		if (what == 0 && whorl_trust_clone(&mine, &other) == WHORL_OK) {
			bad += whorl_trust_drop(&mine) != WHORL_OK;
			mine = other;
		} else if (what == 1 && args->moves) {
			bad += whorl_trust_move(&mine, at((uint32_t)next_random(&random) % 2), PATIENCE_MS) != WHORL_OK;
		}
		n = 0;
		adds[args->caller][i].began = wh_clock_ns();
		if (what == 2)
			bad += whorl_launch(&mine, counter_add, &(struct add){1}, &n, PATIENCE_MS) != WHORL_OK;
		else
			bad += whorl_apply(&mine, counter_add, &(struct add){1}, &n, PATIENCE_MS) != WHORL_OK;
		adds[args->caller][i].ended = wh_clock_ns();
		adds[args->caller][i].value = n;
	}
	return bad + (whorl_trust_drop(&mine) != WHORL_OK);
}

WHORL_FUNCTION(add_in_fiber, struct whorl_none, struct caller_args, uint64_t, 0)
{
	*result = add_often(args);
}

struct caller {
	struct caller_args args;
	uint64_t bad;
};

static void *add_in_thread(void *ctx)
{
	struct caller *caller = ctx;

	caller->bad = add_often(&caller->args);
	return NULL;
}

static void judge_adds(void)
{
	enum { ALL = CALLERS * ADDS };
	static uint64_t began[ALL + 1], ended[ALL + 1];
	uint64_t latest = 0, wrong = 0;

	memset(began, 0, sizeof(began));
	for (int c = 0; c < CALLERS; c++)
		for (int i = 0; i < ADDS; i++) {
			uint64_t value = adds[c][i].value;

			ck_assert_msg(value >= 1 && value <= ALL && began[value] == 0,
				      "the value %" PRIu64 " twice, or none", value);
			began[value] = adds[c][i].began;
			ended[value] = adds[c][i].ended;
		}
	/* No later value had ended before this one began. */
	for (int value = ALL; value >= 1; value--) {
		wrong += latest != 0 && latest < began[value];
		latest = latest == 0 || ended[value] < latest ? ended[value] : latest;
	}
	ck_assert_uint_eq(wrong, 0);
}

TEST_CASE("random", .timeout_s = 20);

/* Three plain threads, and three fibers on two workers. */
TEST_LOOP(counters, 0, 2)
{
	uint64_t seed = test_seed(21);
	whorl_work *work = open_work(2);
	struct whorl_trust trust = entrust_counter(work, 0, 0);
	struct caller callers[CALLERS];
	struct whorl_join joins[CALLERS];
	pthread_t threads[CALLERS];
	uint64_t bad;

	for (uint64_t c = 0; c < CALLERS; c++) {
		callers[c] = (struct caller){.args = {.caller = c, .seed = seed + c, .moves = _i == 1}};
		ck_ok(whorl_trust_clone(&trust, &callers[c].args.trust));
		ck_ok(whorl_trust_send(&callers[c].args.trust,
				       at(c % 2 == 0 ? WHORL_WORKER_ANY : (uint32_t)(c / 2 % 2))));
	}
	for (int c = 0; c < CALLERS; c++)
		if (c % 2 == 0)
			pthread_create(&threads[c], NULL, add_in_thread, &callers[c]);
		else
			ck_ok(whorl_spawn(work, at((uint32_t)(c / 2 % 2)), add_in_fiber, &callers[c].args, &joins[c]));
	for (int c = 0; c < CALLERS; c++) {
		if (c % 2 == 0)
			pthread_join(threads[c], NULL);
		else
			ck_ok(whorl_join(&joins[c], &callers[c].bad, sizeof(bad), PATIENCE_MS));
		ck_assert_uint_eq(callers[c].bad, 0);
	}
	judge_adds();
	ck_assert_uint_eq(value_of(&trust), CALLERS * ADDS);
	ck_ok(whorl_trust_drop(&trust));
	await(atomic_load(&counters_dropped) == 1, whorl_poll(work, 1));
	close_work(work);
}

/* ---- registers and maps -------------------------------------------------------------------------------------------------------------- */

#define KEYS 4
#define OPS (600 / SCALE)

struct map {
	bool there[KEYS];
	uint64_t value[KEYS];
};

struct map_args {
	uint64_t kind, key, value; /* enum linear_kind */
};

struct map_answer {
	uint64_t found, value;
};

static WHORL_TYPE(map_type, struct map, NULL);

WHORL_FUNCTION(map_do, struct map, struct map_args, struct map_answer, WHORL_DETERMINISTIC)
{
	bool *there = &property->there[args->key];
	uint64_t *value = &property->value[args->key];

	*result = (struct map_answer){*there, *value};
	if (args->kind == LINEAR_SET || (args->kind == LINEAR_CLAIM && !*there)) {
		*there = true;
		*value = args->value;
	} else if (args->kind == LINEAR_ADD) {
		*value = (*there ? *value : 0) + args->value;
		*there = true;
		result->value = *value;
	} else if (args->kind == LINEAR_REMOVE) {
		*there = false;
	}
}

static struct linear_op history[CALLERS * OPS];

static uint64_t use_map(const struct caller_args *args)
{
	static const enum linear_kind kinds[] = {LINEAR_GET,   LINEAR_GET, LINEAR_SET,
						 LINEAR_CLAIM, LINEAR_ADD, LINEAR_REMOVE};
	uint64_t random = args->seed, bad = 0;

	for (int i = 0; i < OPS; i++) {
		struct linear_op *op = &history[args->caller * OPS + (uint64_t)i];
		struct map_args map_args = {kinds[next_random(&random) % 6], next_random(&random) % KEYS,
					    args->caller * 1000 + (uint64_t)i + 1};
		struct map_answer answer = {0};

		*op = (struct linear_op){.key = map_args.key,
					 .client = (uint32_t)args->caller,
					 .kind = (enum linear_kind)map_args.kind,
					 .argument = map_args.value,
					 .began_ns = wh_clock_ns()};
		bad += whorl_apply(&args->trust, map_do, &map_args, &answer, PATIENCE_MS) != WHORL_OK;
		op->found = answer.found;
		op->answer = answer.value;
		op->ended_ns = wh_clock_ns();
		if (args->moves && next_random(&random) % 50 == 0) {
			struct whorl_trust mine;

			bad += whorl_trust_clone((struct whorl_trust *)&args->trust, &mine) != WHORL_OK ||
			       whorl_trust_move(&mine, at((uint32_t)next_random(&random) % 2), PATIENCE_MS) !=
				       WHORL_OK ||
			       whorl_trust_drop(&mine) != WHORL_OK;
		}
	}
	return bad;
}

WHORL_FUNCTION(map_in_fiber, struct whorl_none, struct caller_args, uint64_t, 0)
{
	*result = use_map(args);
}

static void *map_in_thread(void *ctx)
{
	struct caller *caller = ctx;

	caller->bad = use_map(&caller->args);
	return NULL;
}

TEST(maps)
{
	uint64_t seed = test_seed(22);
	whorl_work *work = open_work(2);
	struct whorl_trust trust;
	struct caller callers[CALLERS];
	struct whorl_join joins[CALLERS];
	struct linear_fault fault;
	pthread_t threads[CALLERS];

	ck_ok(whorl_entrust(work, at(1), &map_type, NULL, 0, &trust, PATIENCE_MS));
	for (uint64_t c = 0; c < CALLERS; c++) {
		callers[c] = (struct caller){.args = {.caller = c, .seed = seed + c, .moves = true}};
		ck_ok(whorl_trust_clone(&trust, &callers[c].args.trust));
		ck_ok(whorl_trust_send(&callers[c].args.trust,
				       at(c % 2 == 0 ? WHORL_WORKER_ANY : (uint32_t)(c / 2 % 2))));
		if (c % 2 == 0)
			pthread_create(&threads[c], NULL, map_in_thread, &callers[c]);
		else
			ck_ok(whorl_spawn(work, at((uint32_t)(c / 2 % 2)), map_in_fiber, &callers[c].args, &joins[c]));
	}
	for (int c = 0; c < CALLERS; c++) {
		if (c % 2 == 0)
			pthread_join(threads[c], NULL);
		else
			ck_ok(whorl_join(&joins[c], &callers[c].bad, sizeof(callers[c].bad), PATIENCE_MS));
		ck_assert_uint_eq(callers[c].bad, 0);
	}
	ck_assert_int_eq(linear_check(history, CALLERS * OPS, 5000000, &fault), LINEAR_GOOD);
	close_work(work);
}

/* ---- queues ------------------------------------------------------------------------------------------------------------------------- */

#define ITEMS (800 / SCALE)
#define ROOM 256

struct queue {
	uint64_t first, end;
	uint64_t items[ROOM];
};

static WHORL_TYPE(queue_type, struct queue, NULL);

WHORL_FUNCTION(queue_push, struct queue, struct add, uint64_t, 0) /* result: whether it has room */
{
	*result = property->end - property->first < ROOM;
	if (*result)
		property->items[property->end++ % ROOM] = args->by;
}

WHORL_FUNCTION(queue_pop, struct queue, struct whorl_none, uint64_t, 0) /* 0: it is empty */
{
	*result = property->end == property->first ? 0 : property->items[property->first++ % ROOM];
}

static uint64_t push_all(const struct caller_args *args)
{
	uint64_t bad = 0, done = 0;

	for (uint64_t i = 1; i <= ITEMS; i += done) {
		bad += whorl_apply(&args->trust, queue_push, &(struct add){args->caller << 32 | i}, &done,
				   PATIENCE_MS) != WHORL_OK;
		if (!done && whorl_work_here(NULL) == NULL)
			sched_yield();
		else if (!done)
			whorl_fiber_yield();
	}
	return bad;
}

/* Of each that pushes, in order. */
static uint64_t pop_all(const struct caller_args *args, uint64_t count)
{
	uint64_t last[CALLERS] = {0}, bad = 0, item = 0;

	for (uint64_t i = 0; i < count; i += item != 0) {
		bad += whorl_apply(&args->trust, queue_pop, NULL, &item, PATIENCE_MS) != WHORL_OK;
		if (item == 0) {
			whorl_fiber_yield();
			continue;
		}
		bad += item >> 32 >= CALLERS || (uint32_t)item <= last[item >> 32];
		last[item >> 32] = (uint32_t)item;
	}
	return bad;
}

WHORL_FUNCTION(push_in_fiber, struct whorl_none, struct caller_args, uint64_t, 0)
{
	*result = push_all(args);
}

WHORL_FUNCTION(pop_in_fiber, struct whorl_none, struct caller_args, uint64_t, 0)
{
	*result = pop_all(args, 2 * ITEMS);
}

static void *push_in_thread(void *ctx)
{
	struct caller *caller = ctx;

	caller->bad = push_all(&caller->args);
	return NULL;
}

/* Two threads and two fibers push, two fibers pop. */
TEST(queues)
{
	whorl_work *work = open_work(2);
	struct caller callers[CALLERS];
	struct whorl_join joins[CALLERS];
	struct whorl_trust trust;
	pthread_t threads[2];

	ck_ok(whorl_entrust(work, at(0), &queue_type, NULL, 0, &trust, PATIENCE_MS));
	for (uint64_t c = 0; c < CALLERS; c++) {
		callers[c] = (struct caller){.args = {.trust = trust, .caller = c}};
		if (c < 2)
			pthread_create(&threads[c], NULL, push_in_thread, &callers[c]);
		else if (c < 4)
			ck_ok(whorl_spawn(work, at((uint32_t)c % 2), push_in_fiber, &callers[c].args, &joins[c]));
		else
			ck_ok(whorl_spawn(work, at((uint32_t)c % 2), pop_in_fiber, &callers[c].args, &joins[c]));
	}
	for (int c = 0; c < CALLERS; c++) {
		if (c < 2)
			pthread_join(threads[c], NULL);
		else
			ck_ok(whorl_join(&joins[c], &callers[c].bad, sizeof(callers[c].bad), PATIENCE_MS));
		ck_assert_uint_eq(callers[c].bad, 0);
	}
	close_work(work);
}

/* ---- floods ------------------------------------------------------------------------------------------------------------------------- */

static atomic_bool enough;

static void count_ends(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	uint64_t *ends = ctx;

	(void)answer, (void)bytes;
	ends[result != WHORL_OK]++;
}

/* As many calls as are taken, and no look at what has become of them until it is told WHORL_AGAIN, or has had enough. */
static void *flood(void *ctx)
{
	const struct whorl_trust *trust = ctx;
	uint64_t ends[2] = {0}, made = 0;

	while (!atomic_load(&enough)) {
		enum whorl_result result = whorl_apply_then(trust, counter_add, &(struct add){1}, count_ends, ends);

		made += result == WHORL_OK;
		ck_assert(result == WHORL_OK || result == WHORL_AGAIN);
		if (result == WHORL_AGAIN)
			whorl_poll(trust->work, 100);
	}
	while (whorl_poll(trust->work, PATIENCE_MS) == WHORL_OK)
		continue;
	ck_assert_uint_eq(ends[0], made);
	ck_assert_uint_eq(ends[1], 0);
	return NULL;
}

/* Each client has a slot of its own, and as many turns as the others. */
TEST(a_flood_does_not_disturb_others)
{
	whorl_work *work = open_work(1);
	struct whorl_trust trust = entrust_counter(work, 0, 0), mine = entrust_counter(work, 0, 0);
	pthread_t threads[2];
	uint64_t n;

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, flood, &trust);
	for (uint64_t i = 1; i <= 2000 / SCALE; i++) {
		ck_ok(whorl_apply(&mine, counter_add, &(struct add){1}, &n, PATIENCE_MS));
		ck_assert_uint_eq(n, i);
	}
	atomic_store(&enough, true);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	close_work(work);
}

/* Threads that come and go: each takes over what one before has left. */
static void *one_call(void *ctx)
{
	uint64_t n;

	ck_ok(whorl_apply((const struct whorl_trust *)ctx, counter_add, &(struct add){1}, &n, PATIENCE_MS));
	ck_ok(whorl_apply_then((const struct whorl_trust *)ctx, counter_add, &(struct add){1}, NULL, NULL));
	return NULL;
}

TEST(threads_that_come_and_go)
{
	whorl_work *work = open_work(1);
	struct whorl_trust trust = entrust_counter(work, 0, 0);
	pthread_t threads[4];

	for (int round = 0; round < 25; round++) {
		for (int i = 0; i < 4; i++)
			pthread_create(&threads[i], NULL, one_call, &trust);
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
	}
	await(value_of(&trust) == 200, sched_yield());
	close_work(work);
}

TEST_SUITE("delegate_random")
