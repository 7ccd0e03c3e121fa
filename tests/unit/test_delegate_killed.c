/* test_delegate_killed.c - trustees in other processes that are killed, or stopped.
 * Labels: threads
 */
#include <signal.h>
#include <sys/wait.h>

#include "tests/support/remote_lab.h"

static const char *const transports[] = {"shm", "tcp"};

WHORL_FUNCTION(counter_never, struct counter, struct whorl_none, uint64_t, WHORL_BLOCKS)
{
	for (;;)
		pause();
}

/* A node in a process of its own, until it is killed. Never returns. */
static void be_other(struct lab *lab, unsigned id)
{
	const struct whorl_work_options options = {.size = sizeof(options), .workers = 1, WHORL_FUNCTIONS_LINKED};

	if (whorl_open(lab->config, id, NULL, &lab->nodes[id]) != WHORL_OK || whorl_start(lab->nodes[id]) != WHORL_OK ||
	    whorl_work_open(lab->nodes[id], &options, &lab->works[id]) != WHORL_OK)
		_exit(1);
	for (;;)
		pause();
}

/* Node 0 is this process, the others are its children. */
static void open_some(struct lab *lab, unsigned count, const char *transport, pid_t *children)
{
	const struct whorl_work_options options = {.size = sizeof(options), .workers = 1, WHORL_FUNCTIONS_LINKED};

	lab_configure(lab, count, transport);
	for (unsigned id = 1; id < count; id++) { /* before there is a thread */
		children[id] = fork();
		ck_assert_int_ge(children[id], 0);
		if (children[id] == 0)
			be_other(lab, id);
	}
	lab_open_node(lab, 0);
	lab_open_work(lab, 0, &options);
}

static pid_t open_two(struct lab *lab, const char *transport)
{
	pid_t children[2];

	open_some(lab, 2, transport, children);
	return children[1];
}

static void end_child(pid_t child)
{
	int status;

	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
}

static void note_end(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	enum whorl_result *end = ctx;

	(void)answer;
	(void)bytes;
	*end = result;
}

TEST_CASE("killed", .timeout_s = 60);

/* What was sent is in doubt, and what comes later finds nothing. */
TEST_LOOP(it_is_killed, 0, 2)
{
	struct lab lab;
	pid_t child = open_two(&lab, transports[_i]);
	struct whorl_trust trust = lab_counter(&lab, 0, 1, 0, 5), here = entrust_counter(lab.works[0], 0, 1);
	enum whorl_result end = WHORL_OK, late;
	uint64_t n;

	ck_assert_uint_eq(value_of(&trust), 5);
	ck_ok(whorl_apply_then(&trust, counter_never, NULL, note_end, &end));
	late = whorl_apply(&trust, counter_get, NULL, &n, 20); /* or the worker here has not taken it by then */
	ck_assert(late == WHORL_IN_DOUBT || late == WHORL_TIMEOUT);
	end_child(child);
	await(end != WHORL_OK, (void)whorl_poll(lab.works[0], 10));
	ck_assert_int_eq(end, WHORL_IN_DOUBT);
	await(whorl_apply(&trust, counter_get, NULL, &n, 100) == WHORL_GONE, sched_yield());
	ck_ok(whorl_trust_drop(&trust));
	ck_assert_uint_eq(value_of(&here), 1);
	ck_ok(whorl_trust_drop(&here));
	remote_lab_close(&lab);
}

WHORL_FUNCTION(never_ends, struct whorl_none, struct whorl_none, uint64_t, 0)
{
	for (;;)
		whorl_fiber_yield();
}

WHORL_FUNCTION(spawn_never, struct whorl_none, struct whorl_none, uint64_t, 0)
{
	struct whorl_join join;
	uint64_t n;

	*result = UINT64_MAX;
	if (whorl_spawn(whorl_work_here(NULL), whorl_at_worker(1, 0), never_ends, NULL, &join) == WHORL_OK)
		*result = (uint64_t)whorl_join(&join, &n, sizeof(n), PATIENCE_MS);
}

/* Fibers there are joined: by a plain thread, and by a fiber of the worker that speaks with it. */
TEST_LOOP(fibers_are_killed, 0, 2)
{
	struct lab lab;
	pid_t child = open_two(&lab, transports[_i]);
	struct whorl_join join, other;
	uint64_t n = 0;

	ck_ok(whorl_work_ready(lab.works[0], PATIENCE_MS));
	ck_ok(whorl_spawn(lab.works[0], whorl_at_worker(1, 0), never_ends, NULL, &join));
	ck_ok(whorl_spawn(lab.works[0], at(0), spawn_never, NULL, &other));
	ck_assert_int_eq(whorl_join(&join, &n, sizeof(n), 20), WHORL_TIMEOUT);
	end_child(child);
	ck_assert_int_eq(whorl_join(&join, &n, sizeof(n), PATIENCE_MS), WHORL_IN_DOUBT);
	ck_assert_ptr_null(join.call);
	ck_ok(whorl_join(&other, &n, sizeof(n), PATIENCE_MS));
	ck_assert(n == WHORL_IN_DOUBT || n == WHORL_GONE);
	await(whorl_spawn(lab.works[0], whorl_at_worker(1, 0), never_ends, NULL, &join) == WHORL_AGAIN,
	      (void)!whorl_join(&join, NULL, 0, PATIENCE_MS));
	remote_lab_close(&lab);
}

/* A process that stands still: time runs out, in doubt; when it goes on, all that was sent runs, once. */
TEST_LOOP(it_stands_still, 0, 2)
{
	struct lab lab;
	pid_t child = open_two(&lab, transports[_i]);
	struct whorl_trust trust = lab_counter(&lab, 0, 1, 0, 0);
	uint64_t n = 0, sent = 0;
	int status;

	ck_assert_uint_eq(value_of(&trust), 0);
	kill(child, SIGSTOP);
	ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
	for (int i = 0; i < 5; i++) {
		enum whorl_result result = whorl_apply(&trust, counter_add, &(struct add){1}, &n, 20);

		ck_assert_msg(result == WHORL_IN_DOUBT || result == WHORL_TIMEOUT, "%s", whorl_result_text(result));
		sent += result == WHORL_IN_DOUBT;
	}
	ck_assert_uint_ge(sent, 1);
	kill(child, SIGCONT);
	ck_assert_uint_eq(value_of(&trust), sent);
	ck_ok(whorl_trust_drop(&trust));
	end_child(child);
	remote_lab_close(&lab);
}

/* ---- properties that have moved ------------------------------------------------------------------------------------------------- */

static void stop_child(pid_t child)
{
	int status;

	kill(child, SIGSTOP);
	ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
}

/* It has moved to a node that is killed: what was sent on is in doubt, and by the old place nothing is found any more. */
TEST_LOOP(the_new_place_is_killed, 0, 2)
{
	struct lab lab;
	pid_t child = open_two(&lab, transports[_i]);
	struct whorl_trust trust = entrust_counter(lab.works[0], 0, 5), old;
	enum whorl_result end = WHORL_OK;
	uint64_t n;

	ck_ok(whorl_trust_clone(&trust, &old));
	ck_ok(whorl_trust_move(&trust, whorl_at_worker(1, 0), PATIENCE_MS));
	ck_assert_uint_eq(value_of(&old), 5);
	ck_ok(whorl_apply_then(&old, counter_never, NULL, note_end, &end));
	await(whorl_apply(&old, counter_get, NULL, &n, 20) == WHORL_IN_DOUBT, sched_yield());
	end_child(child);
	await(end != WHORL_OK, (void)whorl_poll(lab.works[0], 10));
	ck_assert_int_eq(end, WHORL_IN_DOUBT);
	await(whorl_apply(&old, counter_get, NULL, &n, 100) == WHORL_GONE, sched_yield());
	ck_assert_int_eq(whorl_apply(&trust, counter_get, NULL, &n, 100), WHORL_GONE);
	ck_ok(whorl_trust_drop(&trust));
	ck_ok(whorl_trust_drop(&old));
	remote_lab_close(&lab);
}

static void note_value(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	uint64_t *value = ctx;

	*value = result == WHORL_OK && bytes == sizeof(*value) ? *(const uint64_t *)answer : UINT64_MAX - 1;
}

/* Killed while it moves there: it stays. What was called meanwhile runs then, once, and so do later moves. */
TEST_LOOP(killed_while_it_comes, 0, 2)
{
	struct lab lab;
	pid_t children[3];
	int dropped = atomic_load(&counters_dropped);
	struct whorl_trust trust, other;
	uint64_t early = UINT64_MAX;

	open_some(&lab, 3, transports[_i], children);
	trust = entrust_counter(lab.works[0], 0, 5);
	other = lab_counter(&lab, 0, 1, 0, 8); /* they have met */
	ck_assert_uint_eq(value_of(&other), 8);
	stop_child(children[1]);
	await(whorl_trust_move(&trust, whorl_at_worker(1, 0), 50) == WHORL_IN_DOUBT, sched_yield());
	ck_assert_uint_eq(trust.node, 0);
	ck_ok(whorl_apply_then(&trust, counter_add, &(struct add){1}, note_value, &early));
	ck_assert_int_eq(whorl_poll(lab.works[0], 20), WHORL_TIMEOUT);
	end_child(children[1]);
	await(early != UINT64_MAX, (void)whorl_poll(lab.works[0], 10));
	ck_assert_uint_eq(early, 6);
	ck_assert_uint_eq(value_of(&trust), 6);
	ck_ok(whorl_trust_move(&trust, whorl_at_worker(2, 0), PATIENCE_MS));
	ck_assert_uint_eq(value_of(&trust), 6);
	ck_ok(whorl_trust_drop(&trust));
	ck_ok(whorl_trust_drop(&other));
	end_child(children[2]);
	remote_lab_close(&lab);
	ck_assert_int_eq(atomic_load(&counters_dropped), dropped);
}

WHORL_FUNCTION(move_it, struct whorl_none, struct whorl_trust, uint64_t, 0)
{
	struct whorl_trust trust = *args;

	*result = (uint64_t)whorl_trust_move(&trust, whorl_at_worker(1, 0), PATIENCE_MS);
	if (whorl_trust_drop(&trust) != WHORL_OK)
		*result = UINT64_MAX;
}

/* And the mover is told that it stays. */
TEST_LOOP(a_mover_that_waits, 0, 2)
{
	struct lab lab;
	pid_t child = open_two(&lab, transports[_i]);
	struct whorl_trust trust = entrust_counter(lab.works[0], 0, 5), other = lab_counter(&lab, 0, 1, 0, 8), given;
	struct whorl_join join;
	uint64_t n = 0;

	stop_child(child);
	ck_ok(whorl_trust_clone(&trust, &given));
	ck_ok(whorl_trust_send(&given, at(0)));
	given.work = NULL; /* an address is no argument */
	ck_ok(whorl_spawn(lab.works[0], at(0), move_it, &given, &join));
	/* It is on its way: no more calls are answered. */
	await(whorl_apply(&trust, counter_get, NULL, &n, 10) == WHORL_IN_DOUBT, sched_yield());
	end_child(child);
	ck_ok(whorl_join(&join, &n, sizeof(n), PATIENCE_MS));
	ck_assert_uint_eq(n, WHORL_MEMBER_GONE);
	ck_assert_uint_eq(value_of(&trust), 5);
	ck_ok(whorl_trust_drop(&other));
	ck_ok(whorl_trust_drop(&trust));
	remote_lab_close(&lab);
}

/* The old place is killed: what goes through it ends, the handle that was made at the new place is good. */
TEST_LOOP(the_old_place_is_killed, 0, 2)
{
	struct lab lab;
	pid_t children[3];
	struct whorl_trust trust, old;
	uint64_t n = 0;

	open_some(&lab, 3, transports[_i], children);
	trust = lab_counter(&lab, 0, 1, 0, 5);
	ck_ok(whorl_trust_clone(&trust, &old));
	ck_ok(whorl_trust_move(&trust, whorl_at_worker(2, 0), PATIENCE_MS));
	ck_assert_uint_eq(value_of(&old), 5);
	stop_child(children[1]);
	await(whorl_apply(&old, counter_add, &(struct add){1}, &n, 20) == WHORL_IN_DOUBT, sched_yield());
	end_child(children[1]);
	await(whorl_apply(&old, counter_get, NULL, &n, 100) == WHORL_GONE, sched_yield());
	ck_assert_uint_eq(value_of(&trust), 5);
	ck_ok(whorl_apply(&trust, counter_add, &(struct add){2}, &n, PATIENCE_MS));
	ck_assert_uint_eq(n, 7);
	ck_ok(whorl_trust_drop(&old));
	ck_ok(whorl_trust_drop(&trust));
	end_child(children[2]);
	remote_lab_close(&lab);
}

/* With the old place its handle at the new one goes; it was the last, so the property is dropped. */
TEST_LOOP(the_old_place_had_the_last, 0, 2)
{
	struct lab lab;
	pid_t child = open_two(&lab, transports[_i]);
	int dropped = atomic_load(&counters_dropped);
	struct whorl_trust trust = lab_counter(&lab, 0, 1, 0, 5), old;

	ck_ok(whorl_trust_clone(&trust, &old));
	ck_ok(whorl_trust_move(&trust, at(0), PATIENCE_MS));
	ck_assert_uint_eq(trust.node, 0);
	ck_ok(whorl_trust_drop(&trust));
	ck_assert_uint_eq(value_of(&old), 5);
	ck_assert_int_eq(atomic_load(&counters_dropped), dropped);
	end_child(child);
	await(atomic_load(&counters_dropped) == dropped + 1, (void)whorl_poll(lab.works[0], 1));
	await(worker_stats_of(lab.works[0], 0).properties == 0, sched_yield()); /* counted behind its `drop` */
	ck_ok(whorl_trust_drop(&old));
	remote_lab_close(&lab);
}

TEST_SUITE("delegate_killed")
