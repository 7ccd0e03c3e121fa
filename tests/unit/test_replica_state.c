/* test_replica_state.c - calls and reads at a newcomer: what it may ask for while it restores, what it is told of calls that are in the state
 * that it is given, and that it reads nothing before. One thread makes all passes; states are restored beside it.
 * Labels: threads
 */
#include <pthread.h>

#include "tests/support/replica_lab.h"

static void expect_ok(const struct told *told)
{
	ck_assert(is_told(told));
	ck_assert_int_eq(told->result, WHORL_OK);
}

/* Two that have applied some, and node 2 on its way in. It is a member, and does not restore further than the test lets it. */
static struct lab *start_and_enter(const char *lines, bool breaks)
{
	struct lab *l;
	char rest[256];

	snprintf(rest, sizeof(rest), "[subgroup s]\n%s" CALLER, lines);
	l = lab_with_state(2, FAR, rest);
	for (unsigned i = 0; i < 5; i++)
		await(call_word(&l->machines[0], i, NULL) == WHORL_OK, replica_lab_step(l));
	await(lab_agrees(l, 5), replica_lab_step(l));
	l->machines[0].breaks = breaks;
	l->machines[2].waits = !breaks;
	lab_enter(l, 2);
	await(whorl_view_members(l->c.nodes[2], NULL, NULL, &(uint32_t){0}) == WHORL_OK, replica_lab_step(l));
	return l;
}

static bool restores(const struct lab *l)
{
	return whorl_ready(l->c.nodes[2], 0) == WHORL_TIMEOUT;
}

TEST_CASE("calls");

/* A window of calls is accepted; they are kept back, and answered when the state is there. More are refused, also when the window has room again,
 * and a claim that is refused so is open still. */
TEST(a_newcomer_calls_before_it_has_the_state)
{
	struct lab *l = start_and_enter("window = 4\n", false);
	struct machine *m = l->machines;
	struct told told[6] = {0}, other = {0};
	struct whorl_claim claim;
	uint64_t word = 14;

	for (unsigned i = 0; i < 4; i++)
		await(call_word(&m[2], 10 + i, &told[i]) == WHORL_OK, replica_lab_step(l));
	await(call_word(&m[0], 20, &other) == WHORL_OK, replica_lab_step(l));
	await(atomic_load(&m[0].count) == 10 && is_told(&other), replica_lab_step(l)); /* delivered at all, here too */
	cluster_hush(&l->c);
	ck_ok(whorl_claim(m[2].subgroup, 8, &claim));
	memcpy(claim.data, &word, 8);
	ck_assert_int_eq(whorl_call_commit(&claim, 8, note_outcome, &told[4]), WHORL_AGAIN);
	ck_assert_int_eq(call_word(&m[2], 15, &told[5]), WHORL_AGAIN);
	ck_assert(restores(l));
	for (unsigned i = 0; i < 6; i++)
		ck_assert(!is_told(&told[i]));
	ck_assert_uint_eq(atomic_load(&m[2].count), 0);
	atomic_store(&m[2].may_go_on, true);
	await(whorl_ready(l->c.nodes[2], 0) == WHORL_OK && is_told(&told[3]), replica_lab_step(l));
	ck_ok(whorl_call_commit(&claim, 8, note_outcome, &told[4]));
	await(lab_agrees(l, 11) && is_told(&told[4]), replica_lab_step(l));
	for (unsigned i = 0; i < 5; i++) {
		expect_ok(&told[i]);
		ck_assert(i == 0 || told[i].order > told[i - 1].order);
	}
	ck_assert_uint_eq(m[2].logged, 6); /* what was behind the state */
	ck_assert_uint_eq(atomic_load(&told[5].times), 0);
	replica_lab_free(l);
}

/* The first giver breaks off when the calls have been applied elsewhere, and the next one's state has them. What their answers were is not known
 * here; and what comes after them is answered as ever. */
TEST(calls_that_are_in_the_state)
{
	struct lab *l = start_and_enter("window = 4\n", true);
	struct machine *m = l->machines;
	struct told told[6] = {0};

	for (unsigned i = 0; i < 3; i++)
		await(call_word(&m[2], 10 + i, &told[i]) == WHORL_OK, replica_lab_step(l));
	await(atomic_load(&m[0].count) == 8 && atomic_load(&m[1].count) == 8, replica_lab_step(l));
	cluster_hush(&l->c);
	ck_assert(restores(l));
	for (unsigned i = 0; i < 3; i++)
		ck_assert(!is_told(&told[i]));
	atomic_store(&m[0].may_go_on, true);
	await(whorl_ready(l->c.nodes[2], 0) == WHORL_OK, replica_lab_step(l));
	ck_assert_uint_eq(m[2].logged, 0); /* all was in the state */
	cluster_hush(&l->c);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert(is_told(&told[i]));
		ck_assert_int_eq(told[i].result, WHORL_IN_DOUBT);
		ck_assert_ptr_nonnull(strstr(told[i].text, "the state that this node was given has it"));
		ck_assert(i == 0 || told[i].order > told[i - 1].order);
	}
	for (unsigned i = 3; i < 6; i++) /* their entries are free */
		await(call_word(&m[2], 10 + i, &told[i]) == WHORL_OK, replica_lab_step(l));
	await(lab_agrees(l, 11) && is_told(&told[5]), replica_lab_step(l));
	for (unsigned i = 3; i < 6; i++)
		expect_ok(&told[i]);
	whorl_close(l->c.nodes[2], 0);
	l->c.nodes[2] = NULL;
	for (unsigned i = 0; i < 6; i++)
		ck_assert(is_told(&told[i])); /* once */
	replica_lab_free(l);
}

/* Some are in the state and some come behind it: in order. */
TEST(calls_of_which_some_are_in_the_state)
{
	struct lab *l = start_and_enter("window = 8\n", true);
	struct machine *m = l->machines;
	struct told told[6] = {0};

	m[2].waits = true;
	for (unsigned i = 0; i < 3; i++)
		await(call_word(&m[2], 10 + i, &told[i]) == WHORL_OK, replica_lab_step(l));
	await(atomic_load(&m[0].count) == 8 && atomic_load(&m[1].count) == 8, replica_lab_step(l));
	atomic_store(&m[0].may_go_on, true);
	await(atomic_load(&m[2].restoring) == 1, replica_lab_step(l)); /* the other has given its own */
	for (unsigned i = 3; i < 6; i++)
		ck_ok(call_word(&m[2], 10 + i, &told[i]));
	await(atomic_load(&m[0].count) == 11, replica_lab_step(l));
	cluster_hush(&l->c);
	for (unsigned i = 0; i < 6; i++)
		ck_assert(!is_told(&told[i]));
	atomic_store(&m[2].may_go_on, true);
	await(lab_agrees(l, 11), replica_lab_step(l));
	await(is_told(&told[5]), replica_lab_step(l));
	for (unsigned i = 0; i < 6; i++) {
		ck_assert(is_told(&told[i]));
		ck_assert_int_eq(told[i].result, i < 3 ? WHORL_IN_DOUBT : WHORL_OK);
		ck_assert(i == 0 || told[i].order > told[i - 1].order);
	}
	ck_assert_uint_eq(m[2].logged, 3);
	replica_lab_free(l);
}

/* Node 2 is in the shard in views of three. */
static enum whorl_role role_of(const struct whorl_view *view, const char *name, uint32_t shard, uint32_t id, void *ctx)
{
	(void)name;
	(void)shard;
	(void)ctx;
	return id == 2 && view->member_count < 3 ? WHORL_NO_MEMBER : WHORL_SENDER;
}

/* It is taken out of its shard before it has the state, and what it has kept back is dropped: others have applied it. */
TEST(calls_of_a_newcomer_that_is_taken_out)
{
	const struct whorl_open_options options = {.size = sizeof(options), .layout = role_of};
	struct lab *l = calloc(1, sizeof(*l));
	struct told told[3] = {0}, later = {0};
	struct machine *m;

	ck_assert_ptr_nonnull(l);
	l->name = "s";
	m = l->machines;
	cluster_configure(&l->c, 2, FAR "nodes_max = 3\n", "[subgroup s]\nmembers = function\nwindow = 4\n" CALLER);
	l->c.options = &options;
	for (unsigned id = 0; id < 2; id++) {
		cluster_open_node(&l->c, id);
		lab_attach(l, id, true);
	}
	cluster_start(&l->c);
	m[2].waits = true;
	lab_enter(l, 2);
	await(atomic_load(&m[2].restoring) == 1, replica_lab_step(l));
	for (unsigned i = 0; i < 3; i++)
		ck_ok(call_word(&m[2], 10 + i, &told[i]));
	await(atomic_load(&m[0].count) == 3, replica_lab_step(l));
	cluster_hush(&l->c);
	ck_assert(!is_told(&told[0]));
	cluster_leave(&l->c, 1);
	await(view_of(l->c.nodes[0]) == 2 && view_of(l->c.nodes[2]) == 2, replica_lab_step(l));
	for (unsigned i = 0; i < 3; i++) {
		ck_assert(is_told(&told[i]));
		ck_assert_int_eq(told[i].result, WHORL_IN_DOUBT);
		ck_assert_ptr_nonnull(strstr(told[i].text, "has left the shard"));
		ck_assert(i == 0 || told[i].order > told[i - 1].order);
	}
	ck_assert_int_eq(call_word(&m[2], 20, &later), WHORL_NOT_FOUND);
	atomic_store(&m[2].may_go_on, true);
	cluster_hush(&l->c);
	replica_lab_free(l);
}

struct waiter {
	struct machine *machine;
	enum whorl_result result;
	atomic_bool done;
};

static void *call_and_wait(void *ctx)
{
	struct waiter *w = ctx;

	w->result = whorl_call_wait(w->machine->subgroup, "x", 1, NULL, NULL, 600000);
	atomic_store(&w->done, true);
	return NULL;
}

/* Its window of calls is kept back: a thread that has one more waits for the state; and no longer when its node is closed. */
TEST_LOOP(a_thread_that_calls_at_a_newcomer, 0, 2)
{
	struct lab *l = start_and_enter("window = 2\n", false);
	struct machine *m = l->machines;
	struct waiter waiter = {.machine = &m[2]};
	struct told told[2] = {0};
	pthread_t thread;

	for (unsigned i = 0; i < 2; i++)
		await(call_word(&m[2], 10 + i, &told[i]) == WHORL_OK, replica_lab_step(l));
	await(atomic_load(&m[0].count) == 7, replica_lab_step(l));
	ck_assert_int_eq(whorl_call_wait(m[2].subgroup, "x", 1, NULL, NULL, 30), WHORL_TIMEOUT);
	ck_assert_int_eq(pthread_create(&thread, NULL, call_and_wait, &waiter), 0);
	for (uint64_t until = now_ms() + 50; now_ms() < until;)
		replica_lab_step(l);
	ck_assert(!atomic_load(&waiter.done));
	atomic_store(&m[2].may_go_on, true);
	if (_i == 0) {
		await(atomic_load(&waiter.done), replica_lab_step(l));
	} else {
		whorl_close(l->c.nodes[2], 0);
		l->c.nodes[2] = NULL;
		await(atomic_load(&waiter.done), replica_lab_step(l));
	}
	pthread_join(thread, NULL);
	ck_assert(waiter.result == WHORL_OK || (_i == 1 && waiter.result == WHORL_CLOSED) ||
		  (_i == 1 && waiter.result == WHORL_IN_DOUBT));
	if (_i == 0)
		await(lab_agrees(l, 8), replica_lab_step(l));
	replica_lab_free(l);
}

/* ---- reads ------------------------------------------------------------------------------------------------------------------------- */

TEST_CASE("reads");

/* What it kept back counts as delivered, and is not applied. Passes in between: a local one is refused at once, a linearizable one waits. */
TEST(a_newcomer_reads_what_it_has_restored)
{
	struct lab *l = start_and_enter("", false);
	struct look early = {0}, local = {0}, later = {0};
	struct machine *m = l->machines;
	struct told told = {0};

	await(call_word(&m[0], 10, &told) == WHORL_OK, replica_lab_step(l));
	await(is_told(&told), replica_lab_step(l));
	ck_assert_int_eq(look_at(&m[2], WHORL_LOCAL, &local), WHORL_AGAIN);
	ck_ok(look_at(&m[2], WHORL_LINEARIZABLE, &early));
	cluster_hush(&l->c);
	ck_assert(restores(l));
	ck_assert(!has_looked(&early));
	ck_assert_uint_eq(atomic_load(&local.times), 0);
	atomic_store(&m[2].may_go_on, true);
	await(has_looked(&early), replica_lab_step(l));
	ck_assert_int_eq(early.result, WHORL_OK);
	ck_assert_uint_eq(early.count, 6); /* with what was answered before it began */
	await(whorl_ready(l->c.nodes[2], 0) == WHORL_OK, replica_lab_step(l));
	ck_ok(look_at(&m[2], WHORL_LOCAL, &later));
	ck_assert(has_looked(&later));
	ck_assert_uint_eq(later.count, 6);
	replica_lab_free(l);
}

TEST(a_thread_waits_for_a_local_read)
{
	struct lab *l = start_and_enter("", false);
	struct machine *m = l->machines;
	struct look look = {.machine = &m[2]};

	ck_assert_int_eq(whorl_read_wait(m[2].subgroup, WHORL_LOCAL, note_look, &look, PATIENCE_MS), WHORL_AGAIN);
	ck_assert_uint_eq(atomic_load(&look.times), 0);
	atomic_store(&m[2].may_go_on, true);
	await(whorl_ready(l->c.nodes[2], 0) == WHORL_OK, replica_lab_step(l));
	ck_ok(whorl_read_wait(m[2].subgroup, WHORL_LOCAL, note_look, &look, PATIENCE_MS));
	ck_assert(has_looked(&look));
	ck_assert_uint_eq(look.count, 5);
	replica_lab_free(l);
}

/* While another thread is in the program's `restore`, which whorl_close waits for. */
TEST(a_newcomer_is_closed_while_it_restores)
{
	struct lab *l = start_and_enter("", false);
	struct machine *m = l->machines;
	struct told told = {.machine = &m[2]};
	struct look look = {0};

	await(atomic_load(&m[2].restoring) == 1, replica_lab_step(l));
	ck_ok(call_word(&m[2], 10, &told));
	ck_ok(look_at(&m[2], WHORL_LINEARIZABLE, &look));
	await(atomic_load(&m[0].count) == 6, replica_lab_step(l));
	cluster_hush(&l->c);
	atomic_store(&m[2].may_go_on, true);
	whorl_close(l->c.nodes[2], 0);
	l->c.nodes[2] = NULL;
	ck_assert(is_told(&told));
	ck_assert(has_looked(&look));
	ck_assert_int_eq(told.result, WHORL_IN_DOUBT);
	ck_assert_int_eq(look.result, WHORL_CLOSED);
	replica_lab_free(l);
}

TEST_SUITE("replica_state")
