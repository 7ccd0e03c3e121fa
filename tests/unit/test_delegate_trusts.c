/* test_delegate_trusts.c - handles: clones, threads that they go to, properties that move, and data that is shared.
 *
 * In most cases the workers have no threads: the test makes their passes, in whichever order it wants.
 */
#include "delegation/delegation_int.h"

#include "tests/support/delegate_lab.h"

static whorl_work *work;
static struct whorl_trust hands[8]; /* where fibers leave handles */
static int32_t results[8];
static uint64_t values[8];

static void open_stepped(uint32_t workers)
{
	const struct whorl_work_options options = {.size = sizeof(options), .workers = workers, WHORL_FUNCTIONS_LINKED};
	struct wh_error err;

	ck_ok(wh_work_make(&options, wh_env_system(), WHORL_NODE_HERE, false, &work, &err));
}

static void step(uint32_t worker)
{
	wh_work_step(work, worker);
	wh_look(wh_party_here(work)); /* this thread is a client, which spawns */
}

static void settle(void)
{
	for (int i = 0; i < 50; i++)
		for (uint32_t worker = 0; worker < work->workers; worker++)
			step(worker);
}

static void close_stepped(void)
{
	ck_ok(whorl_work_close(work, 0));
}

/* ---- what a fiber does, step by step ----------------------------------------------------------------------------------------------- */

enum deed { ENTRUST, CLONE, SEND, DROP, ADD, MOVE, ADD_THEN };

struct deeds {
	uint32_t count;
	struct {
		enum deed what;
		uint32_t from, to; /* of `hands`, or a worker */
	} does[6];
};

static void note_value(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	int32_t *where = ctx;

	*where = result;
	if (bytes == 8)
		memcpy(&values[where - results], answer, 8);
}

static void perform(enum deed what, uint32_t from, uint32_t to)
{
	switch (what) {
	case ENTRUST:
		results[to] = whorl_entrust(work, at(from), &counter_type, NULL, 0, &hands[to], 1000000);
		return;
	case CLONE:
		results[to] = whorl_trust_clone(&hands[from], &hands[to]);
		return;
	case SEND:
		results[from] = whorl_trust_send(&hands[from], at(to));
		return;
	case DROP:
		results[from] = whorl_trust_drop(&hands[from]);
		return;
	case ADD:
		results[from] = whorl_apply(&hands[from], counter_add, &(struct add){1}, &values[from], 1000000);
		return;
	case MOVE:
		results[from] = whorl_trust_move(&hands[from], at(to), 1000000);
		return;
	case ADD_THEN:
		results[from] = -1;
		if (whorl_apply_then(&hands[from], counter_add, &(struct add){1}, note_value, &results[from]) !=
		    WHORL_OK)
			results[from] = -2;
		return;
	}
}

WHORL_FUNCTION(do_deeds, struct whorl_none, struct deeds, struct whorl_none, 0)
{
	for (uint32_t i = 0; i < args->count; i++)
		perform(args->does[i].what, args->does[i].from, args->does[i].to);
}

#define DO(worker, ...)                                                                                                \
	do {                                                                                                           \
		const struct deeds deeds_ = {__VA_ARGS__};                                                             \
		wh_look(wh_party_here(work));                                                                          \
		ck_ok(whorl_spawn(work, at(worker), do_deeds, &deeds_, NULL));                                         \
	} while (0)

/* ---- counting ----------------------------------------------------------------------------------------------------------------------- */

/* The property is at worker 2. Worker 0 clones its handle, and sends the first to worker 1, which drops it; the trustee hears of worker 1
 * first. With the id of the handle that went it would think that the only one is gone (docs/decisions/0056). */
TEST(a_handle_that_is_sent_has_a_fresh_id)
{
	uint64_t before;

	open_stepped(3);
	DO(2, 2, {{ENTRUST, 2, 0}, {SEND, 0, 0}});
	settle();
	before = hands[0].id;
	ck_ok(results[0]);
	ck_assert_uint_eq(hands[0].owner, 1);
	/* Both channels are there already, that of worker 1 is looked into first. */
	DO(0, 1, {{ADD, 0, 0}});
	settle();
	DO(1, 1, {{ADD, 0, 0}});
	settle();
	ck_assert_uint_eq(values[0], 2);
	DO(0, 2, {{CLONE, 0, 1}, {SEND, 0, 1}});
	step(0);
	step(0);
	ck_assert_uint_ne(hands[0].id, before);
	ck_assert_uint_eq(hands[0].owner, 2);
	DO(1, 1, {{DROP, 0, 0}});
	step(1);
	step(1);
	ck_assert_int_eq(atomic_load(&counters_dropped), 0);
	/* What worker 0 has sent the trustee sees later. */
	ck_assert_ptr_nonnull(work->parties[2]->in);
	for (size_t i = 0; i < work->parties[2]->in_count; i++)
		if (work->parties[2]->in[i]->client == work->parties[1]) {
			struct wh_channel *first = work->parties[2]->in[0];

			work->parties[2]->in[0] = work->parties[2]->in[i];
			work->parties[2]->in[i] = first;
		}
	settle();
	ck_assert_int_eq(atomic_load(&counters_dropped), 0);
	DO(0, 1, {{ADD, 1, 0}});
	settle();
	ck_ok(results[1]);
	ck_assert_uint_eq(values[1], 3);
	DO(0, 1, {{DROP, 1, 0}});
	settle();
	ck_assert_int_eq(atomic_load(&counters_dropped), 1);
	close_stepped();
}

TEST(only_its_owner_clones_sends_and_drops)
{
	struct whorl_trust other;

	open_stepped(2);
	DO(1, 1, {{ENTRUST, 1, 0}});
	settle();
	ck_ok(results[0]);
	ck_assert_int_eq(whorl_trust_clone(&hands[0], &other), WHORL_INVALID); /* this thread is another */
	ck_assert_int_eq(whorl_trust_send(&hands[0], at(0)), WHORL_INVALID);
	ck_assert_int_eq(whorl_trust_drop(&hands[0]), WHORL_INVALID);
	ck_assert_int_eq(whorl_trust_move(&hands[0], at(0), 0), WHORL_INVALID);
	ck_assert_str_eq(whorl_invalid_text(),
			 "whorl_trust_move: the trust belongs to another thread: whorl_trust_send");
	DO(1, 1, {{SEND, 0, WHORL_WORKER_ANY}});
	settle();
	ck_assert_uint_eq(hands[0].owner, 0);
	ck_ok(whorl_trust_drop(&hands[0])); /* the first that wants it */
	settle();
	ck_assert_int_eq(atomic_load(&counters_dropped), 1);
	ck_assert_int_eq(whorl_trust_drop(&hands[0]), WHORL_INVALID); /* it is all zero */
	close_stepped();
}

/* Clones, sends and drops at random, each worker a little at a time: dropped with the last handle, and not before. */
TEST(counted_right_at_random)
{
	enum { ROUNDS = 300, HANDLES = 8 };
	uint64_t random = test_seed(5);

	open_stepped(3);
	for (int round = 0; round < ROUNDS; round++) {
		int dropped = atomic_load(&counters_dropped), held = 1;
		bool there[HANDLES] = {true};

		DO(0, 2, {{ENTRUST, 2, 0}, {SEND, 0, 0}});
		settle();
		for (int turn = 0; turn < 60 && held > 0; turn++) {
			uint32_t hand, other, owner;

			random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
			hand = (uint32_t)(random >> 33) % HANDLES;
			other = (uint32_t)(random >> 40) % HANDLES;
			step((uint32_t)(random >> 50) % 3);
			if (!there[hand])
				continue;
			owner = hands[hand].owner - 1;
			if (random >> 62 == 0 && !there[other]) {
				DO(owner, 1, {{CLONE, hand, other}});
				there[other] = true;
				held++;
			} else if (random >> 62 == 1) {
				DO(owner, 1, {{SEND, hand, (owner + 1) % 3}});
			} else if (random >> 62 == 2) {
				DO(owner, 1, {{DROP, hand, 0}});
				there[hand] = false;
				held--;
			}
			await(work->parties[owner]->worker->tasks.started == 0 ||
				      wh_load_relaxed(&work->parties[owner]->worker->tasks.count) == 0,
			      step(owner));
			step(owner); /* the fiber of this turn has run; the trustee may not have heard of it */
			step(owner);
			if (held > 0)
				ck_assert_int_eq(atomic_load(&counters_dropped), dropped);
		}
		for (uint32_t hand = 0; hand < HANDLES; hand++)
			if (there[hand])
				DO(hands[hand].owner - 1, 1, {{DROP, hand, 0}});
		settle();
		ck_assert_int_eq(atomic_load(&counters_dropped), dropped + 1);
	}
	close_stepped();
}

/* ---- moving ------------------------------------------------------------------------------------------------------------------------- */

TEST(a_property_moves)
{
	open_stepped(3);
	DO(0, 4, {{ENTRUST, 0, 0}, {ADD, 0, 0}, {CLONE, 0, 1}, {MOVE, 0, 2}});
	settle();
	ck_ok(results[0]);
	ck_assert_uint_eq(hands[0].worker, 2);
	ck_assert_uint_eq(hands[1].worker, 0); /* sent on from there */
	ck_assert_uint_eq(worker_stats_of(work, 0).properties, 0);
	ck_assert_uint_eq(worker_stats_of(work, 2).properties, 1);
	DO(0, 2, {{ADD, 0, 0}, {ADD, 1, 0}});
	settle();
	ck_assert_uint_eq(values[0], 2);
	ck_assert_uint_eq(values[1], 3);
	DO(0, 3,
	   {{MOVE, 1, 1}, {ADD, 1, 0}, {ADD, 0, 0}}); /* by the handle that knows the old place; now two are between */
	settle();
	ck_ok(results[1]);
	ck_assert_uint_eq(hands[1].worker, 1);
	ck_assert_uint_eq(values[1], 4);
	ck_assert_uint_eq(values[0], 5);
	DO(0, 2, {{MOVE, 1, 1}, {DROP, 0, 0}}); /* it is there */
	settle();
	ck_assert_uint_eq(worker_stats_of(work, 1).properties, 1);
	ck_assert_int_eq(atomic_load(&counters_dropped), 0);
	DO(0, 2, {{ADD, 1, 0}, {DROP, 1, 0}});
	settle();
	ck_assert_uint_eq(values[1], 6);
	ck_assert_int_eq(atomic_load(&counters_dropped), 1);
	ck_assert_uint_eq(worker_stats_of(work, 0).properties + worker_stats_of(work, 1).properties +
				  worker_stats_of(work, 2).properties,
			  0);
	close_stepped();
}

/* What is sent while it moves runs once, in order. */
TEST(moved_while_in_use)
{
	open_stepped(3);
	DO(0, 6, {{ENTRUST, 0, 0}, {CLONE, 0, 1}, {CLONE, 0, 2}, {CLONE, 0, 3}, {CLONE, 0, 4}, {SEND, 4, 1}});
	settle();
	DO(0, 1, {{MOVE, 0, 2}});
	step(0);
	DO(0, 3, {{ADD_THEN, 1, 0}, {ADD_THEN, 2, 0}, {ADD_THEN, 3, 0}});
	DO(1, 1, {{ADD_THEN, 4, 0}});
	step(1);
	step(0);
	step(1);
	settle();
	for (int i = 0; i < 5; i++)
		ck_ok(results[i]);
	ck_assert_uint_eq(hands[0].worker, 2);
	ck_assert_uint_lt(values[1], values[2]);
	ck_assert_uint_lt(values[2], values[3]);
	ck_assert_uint_eq(values[1] + values[2] + values[3] + values[4], 1 + 2 + 3 + 4);
	DO(0, 4, {{DROP, 0, 0}, {DROP, 1, 0}, {DROP, 2, 0}, {DROP, 3, 0}});
	DO(1, 1, {{DROP, 4, 0}});
	settle();
	ck_assert_int_eq(atomic_load(&counters_dropped), 1);
	close_stepped();
}

static uint64_t deferred(void)
{
	uint64_t count = 0;

	for (uint32_t worker = 0; worker < work->workers; worker++)
		count += worker_stats_of(work, worker).deferred;
	return count;
}

/* However often it moves, a call by the oldest handle is sent on once. */
TEST(the_way_stays_short)
{
	uint64_t before;

	open_stepped(3);
	DO(0, 3, {{ENTRUST, 0, 0}, {CLONE, 0, 1}, {MOVE, 0, 1}});
	settle();
	for (uint32_t i = 2; i < 20; i++) {
		DO(0, 1, {{MOVE, 0, i % 3}});
		settle();
		ck_assert_uint_eq(hands[0].worker, i % 3);
		before = deferred();
		DO(0, 1, {{ADD_THEN, 1, 0}}); /* a fiber that waits would count, too */
		settle();
		ck_assert_uint_eq(values[1], i - 1);
		ck_assert_uint_le(deferred() - before, 1);
	}
	DO(0, 2, {{DROP, 0, 0}, {DROP, 1, 0}});
	settle();
	ck_assert_int_eq(atomic_load(&counters_dropped), 1);
	close_stepped();
}

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

#define SAID 300
#define ROAMED 40

static uint64_t said, roamed;

static void count_said(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	ck_ok(result);
	ck_assert_uint_eq(bytes, sizeof(uint64_t));
	ck_assert_uint_eq(*(const uint64_t *)answer, 0);
	++*(uint64_t *)ctx;
}

/* By the oldest handle, not waiting; now and then it has another give its place in between. */
WHORL_FUNCTION(say_all, struct whorl_none, struct add, struct whorl_none, 0)
{
	for (uint64_t i = 0; i < SAID; i++) {
		ck_ok(whorl_apply_then(&hands[1], sequence_say, &(struct add){i}, count_said, &said));
		if (i % args->by == 0)
			whorl_fiber_yield();
	}
}

WHORL_FUNCTION(roam, struct whorl_none, struct add, struct whorl_none, 0)
{
	uint64_t dice = args->by;

	for (roamed = 0; roamed < ROAMED; roamed++) {
		dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		ck_ok(whorl_trust_move(&hands[0], at((uint32_t)(dice >> 33) % 3), 1000000));
	}
}

WHORL_FUNCTION(begin_sequence, struct whorl_none, struct whorl_none, struct whorl_none, 0)
{
	ck_ok(whorl_entrust(work, at(1), &sequence_type, NULL, 0, &hands[1], 1000000));
	ck_ok(whorl_trust_clone(&hands[1], &hands[0]));
	ck_ok(whorl_trust_send(&hands[0], at(2)));
}

/* Calls that are under way while it moves, and while the way becomes shorter, stay in order; in whichever order the workers run. */
TEST_LOOP(in_order_by_a_shorter_way, 0, 50)
{
	uint64_t dice = (uint64_t)_i + 1, before;

	open_stepped(3);
	said = 0;
	ck_ok(whorl_spawn(work, at(0), begin_sequence, NULL, NULL));
	settle();
	wh_look(wh_party_here(work));
	ck_ok(whorl_spawn(work, at(0), say_all, &(struct add){1 + (uint64_t)_i % 7}, NULL));
	wh_look(wh_party_here(work));
	ck_ok(whorl_spawn(work, at(2), roam, &(struct add){dice}, NULL));
	for (int i = 0; i < 1000000 && (said < SAID || roamed < ROAMED); i++) {
		dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		for (uint64_t times = 1 + (dice >> 60); times > 0; times--)
			step((uint32_t)(dice >> 33) % 3);
	}
	ck_assert_uint_eq(said, SAID);
	ck_assert_uint_eq(roamed, ROAMED);
	settle();
	before = deferred();
	DO(0, 1, {{ADD_THEN, 1, 0}}); /* of another type: it is refused where the property is */
	settle();
	ck_assert_int_eq(results[1], WHORL_INVALID);
	ck_assert_uint_le(deferred() - before, 1);
	DO(0, 1, {{DROP, 1, 0}});
	DO(2, 1, {{DROP, 0, 0}});
	settle();
	ck_assert_uint_eq(worker_stats_of(work, 0).properties + worker_stats_of(work, 1).properties +
				  worker_stats_of(work, 2).properties,
			  0);
	close_stepped();
}

/* ---- slots -------------------------------------------------------------------------------------------------------------------------- */

static void corrupt(struct wh_slot *slot, int how)
{
	struct wh_record *record = (struct wh_record *)(void *)(slot->room + slot->begins);

	switch (how) {
	case 0:
		slot->begins = 0;
		break;
	case 1:
		slot->begins = 65535;
		break;
	case 2:
		slot->count = 65535;
		break;
	case 3:
		record->bytes = WH_RECORD_BYTES;
		break;
	case 4:
		record->function = 4711;
		break;
	case 5:
		record->bytes = 0;
		record->function = (uint16_t)wh_table_find(&work->table, &counter_get);
		slot->begins = (uint16_t)(WH_SLOT_ROOM - sizeof(*record));
		*(struct wh_record *)(void *)(slot->room + slot->begins) = *record;
		break;
	case 6:
		record->property ^= 0x55555555;
		break;
	default:
		record->function = (uint16_t)wh_table_find(&work->table, &other_sum);
		record->bytes = 0;
		slot->begins = (uint16_t)(WH_SLOT_ROOM - sizeof(*record));
		*(struct wh_record *)(void *)(slot->room + slot->begins) = *record;
		break;
	}
}

/* Bytes that no client writes: each call ends as what it is, the function does not run with them, and the channel goes on. */
TEST_LOOP(garbage_in_a_slot, 0, 8)
{
	static const int32_t expected[] = {WHORL_REFUSED,   WHORL_REFUSED, WHORL_REFUSED, WHORL_REFUSED,
					   WHORL_NOT_FOUND, WHORL_OK,      WHORL_GONE,    WHORL_INVALID};
	struct wh_channel *channel;

	open_stepped(2);
	DO(1, 2, {{ENTRUST, 1, 0}, {SEND, 0, 0}});
	settle();
	DO(0, 1, {{ADD, 0, 0}});
	settle();
	channel = work->parties[0]->out[1];
	DO(0, 1, {{ADD_THEN, 0, 0}});
	step(0);
	ck_assert(wh_in_flight(channel));
	corrupt(&channel->calls, _i);
	settle();
	ck_assert_int_eq(results[0], expected[_i]);
	ck_assert_uint_eq(worker_stats_of(work, 1).refused, _i < 4);
	DO(0, 1, {{ADD, 0, 0}});
	settle();
	ck_ok(results[0]);
	ck_assert_uint_eq(values[0], 2); /* not 3 */
	close_stepped();
}

/* The guard is the last word: what is written without it is not there. */
TEST(a_batch_without_its_guard_is_not_there)
{
	struct wh_channel *channel;
	uint64_t guard;

	open_stepped(2);
	DO(1, 2, {{ENTRUST, 1, 0}, {SEND, 0, 0}});
	settle();
	DO(0, 1, {{ADD, 0, 0}});
	settle();
	channel = work->parties[0]->out[1];
	DO(0, 1, {{ADD_THEN, 0, 0}});
	step(0);
	guard = wh_load_relaxed(&channel->calls.guard);
	wh_store_relaxed(&channel->calls.guard, guard - 1);
	settle();
	ck_assert_int_eq(results[0], -1);
	wh_store_relaxed(&channel->calls.guard, guard);
	settle();
	ck_ok(results[0]);
	ck_assert_uint_eq(values[0], 2);
	close_stepped();
}

/* ---- shared data -------------------------------------------------------------------------------------------------------------------- */

TEST(shared_data_is_counted)
{
	whorl_work *threads = open_work(1);
	whorl_shared *shared;
	size_t bytes = 0, at_byte;

	ck_ok(whorl_share(threads, "some bytes", 11, &shared));
	ck_assert_str_eq(whorl_shared_data(shared, &bytes), "some bytes");
	ck_assert_uint_eq(bytes, 11);
	ck_assert_uint_eq((uintptr_t)whorl_shared_data(shared, NULL) % 16, 0);
	ck_ok(whorl_shared_hold(shared));
	ck_assert(!wh_find_pointer(threads, &shared, sizeof(shared), &at_byte)); /* may stand in arguments */
	ck_assert(wh_find_pointer(threads, &(struct wh_bytes){.data = (unsigned char *)&bytes}, sizeof(struct wh_bytes),
				  &at_byte));
	ck_assert_uint_eq(at_byte, 0);
	whorl_shared_drop(shared);
	ck_assert_str_eq(whorl_shared_data(shared, NULL), "some bytes");
	whorl_shared_drop(shared);
	whorl_shared_drop(NULL);
	ck_assert_int_eq(whorl_share(threads, NULL, 1, &shared), WHORL_INVALID);
	close_work(threads);
}

TEST_SUITE("delegate_trusts")
