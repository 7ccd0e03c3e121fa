/* test_group_lent.c - a commit that finds the loop asleep sends by itself, a read asks, and they do nothing else of the loop's.
 *
 * A thread that waits for room, or for a frontier, takes in and acknowledges as well.
 *
 * Labels: threads
 */
#include <poll.h>
#include <sched.h>

#include <whorl/replica.h>

#include "group/node_int.h"
#include "tests/harness.h"
#include "tests/patience.h"
#include "tests/unit/own_wait.h"
#include "transport/tcp/tcp.h"

#define PATIENCE_MS ((int)test_patience(20000))
#define FAR_MS 100000 /* the same at all nodes, as a patience that is measured anew is not */
#define WINDOW 8
#define THREADS 2
#define ROUNDS 50 /* of each thread at each node */
#define NODES 2

/* Shared memory as it is, but a loop that sleeps can be held back: for it, its thread gets no processor. */
static wh_word hold, held;

static void own_wait(struct wh_transport *transport, uint64_t timeout_ns)
{
	real_wait(transport, timeout_ns);
	while (wh_load_acquire(&hold) != 0) {
		wh_store_release(&held, 1);
		poll(NULL, 0, 1);
	}
	wh_store_release(&held, 0);
}

/* The same on tcp: there the loop is lent while its thread sleeps, and not in the rest of a wait. */
static struct wh_transport_ops own_tcp_ops;
static void (*real_wait_lending)(struct wh_transport *transport, uint64_t timeout_ns, const struct wh_lending *lending);

static void (*real_lend)(void *loop);
static wh_word lends; /* that the transport has made */

static void note_lend(void *loop)
{
	wh_fetch_add(&lends, 1);
	real_lend(loop);
}

static void own_wait_lending(struct wh_transport *transport, uint64_t timeout_ns, const struct wh_lending *lending)
{
	struct wh_lending noting = {note_lend, lending->take_back, lending->loop};

	real_lend = lending->lend;
	real_wait_lending(transport, timeout_ns, &noting);
	lending->lend(lending->loop);
	while (wh_load_acquire(&hold) != 0) {
		wh_store_release(&held, 1);
		poll(NULL, 0, 1);
	}
	wh_store_release(&held, 0);
	lending->take_back(lending->loop);
}

static enum whorl_result create_own_wait_tcp(const struct wh_transport_config *config, void *ctx,
					     struct wh_transport **out, struct wh_error *err)
{
	enum whorl_result result = wh_tcp_create(config, ctx, out, err);

	if (result != WHORL_OK)
		return result;
	own_tcp_ops = *(*out)->ops;
	real_wait_lending = own_tcp_ops.wait_lending;
	own_tcp_ops.wait_lending = own_wait_lending;
	(*out)->ops = &own_tcp_ops;
	return WHORL_OK;
}

static const struct {
	int mode;
	wh_transport_create *held, *plain;
} kinds[] = {{WH_SUBGROUP_UNORDERED, create_own_wait, wh_shm_create},
	     {WH_SUBGROUP_ORDERED, create_own_wait, wh_shm_create},
	     {WH_SUBGROUP_UNORDERED, create_own_wait_tcp, wh_tcp_create},
	     {WH_SUBGROUP_ORDERED, create_own_wait_tcp, wh_tcp_create}};

#define KINDS 4

struct member {
	whorl_node *node;
	whorl_subgroup *subgroup;
	pthread_t upcalled_by; /* valid once something is delivered */
	wh_word delivered;
	uint64_t digest; /* of senders and their order */
	uint64_t next[NODES];
};

static void on_message(const struct whorl_message *message, void *ctx)
{
	struct member *m = ctx;

	if (wh_load_relaxed(&m->delivered) == 0)
		m->upcalled_by = pthread_self();
	ck_assert(pthread_equal(m->upcalled_by, pthread_self()));
	ck_assert_uint_eq(message->index, m->next[message->sender]++);
	m->digest = m->digest * 31 + message->sender;
	wh_store_release(&m->delivered, wh_load_relaxed(&m->delivered) + 1);
}

static void create_member(struct member *m, uint32_t id, int mode, wh_transport_create *create)
{
	const struct wh_group_options group = {.name = "lent",
					       .nodes = NODES,
					       .start_timeout_ms = FAR_MS,
					       .failure_timeout_ms = FAR_MS,
					       .memory_max = 1 << 30};

	*m = (struct member){.node = open_on(create, id, &group, mode, WINDOW)};
	m->subgroup = whorl_subgroup_find(m->node, "g");
}

static void open_member(struct member *m, uint32_t id, int mode, wh_transport_create *create)
{
	create_member(m, id, mode, create);
	ck_assert_int_eq(whorl_on_message(m->subgroup, on_message, m), WHORL_OK);
	ck_assert_int_eq(whorl_start(m->node), WHORL_OK);
}

static void await(const wh_word *word, uint64_t value)
{
	uint64_t deadline = wh_monotonic_ns() + PATIENCE_MS / 2 * WH_NS_PER_MS;

	while (wh_load_acquire(word) != value) {
		ck_assert_uint_lt(wh_monotonic_ns(), deadline);
		poll(NULL, 0, 1);
	}
}

static void hold_asleep(struct member *m)
{
	wh_store_release(&hold, 1);
	m->node->fixed.transport->ops->wake(m->node->fixed.transport); /* sticky: its next sleep ends at once */
	await(&held, 1);
	while ((wh_gate_state(m->node->fixed.gate) & WH_GATE_PARKED) == 0)
		sched_yield();
}

TEST_CASE("lent", .timeout_s = 60);

/* The committer's thread sends it and says that it has it; to upcall is for the loop, and its thread does not run. */
TEST_LOOP(what_is_committed_leaves_a_loop_that_sleeps, 0, KINDS)
{
	struct member members[NODES];

	open_member(&members[0], 0, kinds[_i].mode, kinds[_i].held);
	open_member(&members[1], 1, kinds[_i].mode, kinds[_i].plain);
	ck_assert_int_eq(whorl_ready(members[0].node, PATIENCE_MS), WHORL_OK);
	ck_assert_int_eq(whorl_ready(members[1].node, PATIENCE_MS), WHORL_OK);
	hold_asleep(&members[0]);
	for (uint64_t n = 1; n <= 3; n++)
		ck_assert_int_eq(whorl_send(members[0].subgroup, &n, sizeof(n), 0, NULL), WHORL_OK);
	await(&members[1].delivered, 1); /* the others' commits found it rung */
	ck_assert_uint_eq(wh_load_acquire(&members[0].delivered), 0);
	wh_store_release(&hold, 0);
	ck_assert(kinds[_i].held != create_own_wait_tcp || wh_load_relaxed(&lends) > 0);
	for (int i = 0; i < NODES; i++) {
		await(&members[i].delivered, 3);
		ck_assert(!pthread_equal(members[i].upcalled_by, pthread_self()));
	}
	for (int i = 0; i < NODES; i++)
		ck_assert_int_eq(whorl_close(members[i].node, PATIENCE_MS), WHORL_OK);
}

static enum whorl_result wait_for_room(whorl_subgroup *subgroup)
{
	struct whorl_claim claim;

	return whorl_claim_wait(subgroup, sizeof(uint64_t), 1, &claim);
}

static enum whorl_result wait_for_all(whorl_subgroup *subgroup)
{
	return whorl_frontier_wait(subgroup, WHORL_DELIVERED_BY_ALL, UINT64_MAX / 2, 1);
}

/* There is no room, and the loop's thread does not run: the thread that waits takes in what the others send, covers its rounds, and
 * acknowledges. So they deliver; here nothing is upcalled. */
TEST_LOOP(a_thread_that_waits_acknowledges, 0, 2)
{
	enum whorl_result (*const wait)(whorl_subgroup *) = _i == 0 ? wait_for_room : wait_for_all;
	uint64_t word = 0, deadline = wh_monotonic_ns() + PATIENCE_MS / 2 * WH_NS_PER_MS;
	struct member members[NODES];
	struct whorl_claim claim;

	open_member(&members[0], 0, WH_SUBGROUP_ORDERED, create_own_wait);
	open_member(&members[1], 1, WH_SUBGROUP_ORDERED, wh_shm_create);
	for (int i = 0; i < NODES; i++)
		ck_assert_int_eq(whorl_ready(members[i].node, PATIENCE_MS), WHORL_OK);
	hold_asleep(&members[0]);
	ck_assert_int_eq(whorl_send(members[0].subgroup, &word, sizeof(word), 0, NULL), WHORL_OK);
	await(&members[1].delivered, 1);
	while (whorl_claim(members[0].subgroup, sizeof(word), &claim) == WHORL_OK)
		ck_assert_int_eq(whorl_commit(&claim, sizeof(word)), WHORL_OK); /* it finds the loop rung: these wait */
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(whorl_send(members[1].subgroup, &word, sizeof(word), 0, NULL), WHORL_OK);
	while (wh_load_acquire(&members[1].delivered) < WINDOW + 3) {
		ck_assert_int_eq(wait(members[0].subgroup), WHORL_TIMEOUT);
		ck_assert_uint_lt(wh_monotonic_ns(), deadline);
	}
	ck_assert_uint_eq(wh_load_acquire(&members[0].delivered), 0);
	wh_store_release(&hold, 0);
	await(&members[0].delivered, WINDOW + 3);
	ck_assert_uint_eq(members[0].digest, members[1].digest);
	ck_assert(!pthread_equal(members[0].upcalled_by, pthread_self()));
	for (int i = 0; i < NODES; i++)
		ck_assert_int_eq(whorl_close(members[i].node, PATIENCE_MS), WHORL_OK);
}

static bool apply(const struct whorl_call *calls, size_t count, void *ctx)
{
	(void)calls;
	(void)count;
	(void)ctx;
	return true;
}

static void note_read(enum whorl_result result, void *ctx)
{
	ck_assert_int_eq(result, WHORL_OK);
	wh_store_release(ctx, 1);
}

/* The reader's thread asks the members; to count their answers, and to look, is for the loop. */
TEST(a_read_asks_while_the_loop_sleeps)
{
	struct member members[NODES];
	const struct wh_confirming *confirming;
	wh_word has_read = 0;
	uint64_t asked;

	for (uint32_t i = 0; i < NODES; i++) {
		create_member(&members[i], i, WH_SUBGROUP_ORDERED, i == 0 ? create_own_wait : wh_shm_create);
		ck_assert_int_eq(whorl_on_calls(members[i].subgroup, apply, NULL), WHORL_OK);
		ck_assert_int_eq(whorl_start(members[i].node), WHORL_OK);
	}
	for (int i = 0; i < NODES; i++)
		ck_assert_int_eq(whorl_ready(members[i].node, PATIENCE_MS), WHORL_OK);
	hold_asleep(&members[0]);
	confirming = &members[0].node->epochs.current->change.confirming;
	asked = confirming->asked;
	ck_assert_int_eq(whorl_read(members[0].subgroup, WHORL_LINEARIZABLE, note_read, &has_read), WHORL_OK);
	ck_assert_uint_eq(confirming->asked, asked + 1);
	ck_assert_uint_eq(wh_load_acquire(&has_read), 0);
	wh_store_release(&hold, 0);
	await(&has_read, 1);
	for (int i = 0; i < NODES; i++)
		ck_assert_int_eq(whorl_close(members[i].node, PATIENCE_MS), WHORL_OK);
}

static void *commit_when_parked(void *ctx)
{
	struct member *m = ctx;

	for (uint64_t n = 0; n < ROUNDS; n++) {
		while ((wh_gate_state(m->node->fixed.gate) & WH_GATE_PARKED) == 0)
			sched_yield();
		ck_assert_int_eq(whorl_send(m->subgroup, &n, sizeof(n), PATIENCE_MS, NULL), WHORL_OK);
	}
	return NULL;
}

/* Several threads find each loop asleep at once, and acknowledgements of the others wake it at the same time. */
TEST_LOOP(many_find_it_asleep, 0, KINDS)
{
	struct member members[NODES];
	pthread_t threads[NODES][THREADS];

	for (uint32_t i = 0; i < NODES; i++)
		open_member(&members[i], i, kinds[_i].mode, kinds[_i].plain);
	for (int i = 0; i < NODES; i++)
		ck_assert_int_eq(whorl_ready(members[i].node, PATIENCE_MS), WHORL_OK);
	for (int i = 0; i < NODES; i++)
		for (int t = 0; t < THREADS; t++)
			ck_assert_int_eq(pthread_create(&threads[i][t], NULL, commit_when_parked, &members[i]), 0);
	for (int i = 0; i < NODES; i++)
		for (int t = 0; t < THREADS; t++)
			pthread_join(threads[i][t], NULL);
	for (int i = 0; i < NODES; i++)
		await(&members[i].delivered, (uint64_t)NODES * THREADS * ROUNDS);
	if (kinds[_i].mode == WH_SUBGROUP_ORDERED)
		ck_assert_uint_eq(members[0].digest, members[1].digest);
	for (int i = 0; i < NODES; i++)
		ck_assert_int_eq(whorl_close(members[i].node, PATIENCE_MS), WHORL_OK);
}

TEST_SUITE("group_lent")
