/* test_replica_waits.c - threads that wait for an answer or a read: how long, what they get, and what becomes of them when the node is closed,
 * fails, or is inherited by a child. Loops of their own, and loops that those threads run.
 * Labels: threads
 */
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include "tests/ports.h"
#include "tests/support/replica_lab.h"

enum { DEDICATED, CALLERS, ON_TCP, WAYS };

static struct lab *start_in_way(int way, unsigned nodes, const char *lines)
{
	char rest[1024];
	unsigned ports[NODES_MAX];

	ck_assert(test_find_ports(ports, nodes));
	snprintf(rest, sizeof(rest), "[subgroup s]\n%s%s", lines, way == CALLERS ? CALLER : "");
	for (unsigned id = 0; way == ON_TCP && id < nodes; id++)
		snprintf(rest + strlen(rest), sizeof(rest) - strlen(rest), "[node %u]\naddress = 127.0.0.1:%u\n", id,
			 ports[id]);
	return lab_start(nodes, way == ON_TCP ? FAR "transport = tcp\n" : FAR, rest);
}

/* ---- what they get ------------------------------------------------------------------------------------------------------------------ */

static bool answer_with_much(struct machine *m, const struct whorl_call *call)
{
	unsigned char bytes[100];

	(void)m;
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)i;
	ck_ok(whorl_answer(call, bytes, sizeof(bytes)));
	return true;
}

TEST_CASE("get");

/* One node: with thread = caller the thread that waits runs the loop. */
TEST_LOOP(room_for_the_answer, 0, 2)
{
	struct lab *l = start_in_way(_i, 1, "");
	whorl_subgroup *s = l->machines[0].subgroup;
	unsigned char answer[200] = {0};
	size_t bytes;

	l->machines[0].answer = answer_with_much;
	for (size_t room = 0; room <= 200; room += 50) {
		memset(answer, 255, sizeof(answer));
		bytes = room;
		ck_assert_int_eq(whorl_call_wait(s, "x", 1, answer, &bytes, PATIENCE_MS),
				 room < 100 ? WHORL_TOO_SMALL : WHORL_OK);
		ck_assert_uint_eq(bytes, 100);
		for (size_t i = 0; i < sizeof(answer); i++)
			ck_assert_uint_eq(answer[i], i < room && i < 100 ? i : 255);
	}
	bytes = 0;
	ck_ok(whorl_call_wait(s, "x", 1, NULL, &bytes, PATIENCE_MS)); /* it is dropped */
	ck_assert_uint_eq(bytes, 100);
	ck_ok(whorl_call_wait(s, "x", 1, NULL, NULL, PATIENCE_MS));
	ck_assert_uint_eq(atomic_load(&l->machines[0].count), 7); /* also those that found no room */
	ck_assert_int_eq(whorl_call_wait(s, "x", 1, answer, NULL, 0), WHORL_INVALID);
	ck_assert_int_eq(whorl_call_wait(s, "x", 1, NULL, NULL, -1), WHORL_INVALID);
	ck_assert_int_eq(whorl_call_wait(s, NULL, 1, NULL, NULL, 0), WHORL_INVALID);
	ck_assert_int_eq(whorl_call_wait(NULL, "x", 1, NULL, NULL, 0), WHORL_INVALID);
	ck_assert_uint_eq(atomic_load(&l->machines[0].count), 7);
	replica_lab_free(l);
}

/* The window is full, and stays so: the other node makes no passes. What was never accepted never comes. */
TEST(time_runs_out_before_it_is_accepted)
{
	struct lab *l = lab_start(2, FAR, "[subgroup s]\nwindow = 2\n" CALLER);
	struct machine *m = l->machines;
	struct told told[2] = {0};

	for (unsigned i = 0; i < 2; i++)
		ck_ok(call_word(&m[0], i, &told[i]));
	ck_assert_int_eq(whorl_call_wait(m[0].subgroup, "x", 1, NULL, NULL, 0), WHORL_TIMEOUT);
	ck_assert_int_eq(whorl_call_wait(m[0].subgroup, "x", 1, NULL, NULL, 20), WHORL_TIMEOUT);
	await(lab_agrees(l, 2) && is_told(&told[1]), replica_lab_step(l));
	cluster_hush(&l->c);
	ck_assert(lab_agrees(l, 2));
	replica_lab_free(l);
}

static atomic_ulong the_ticket;

static bool defer_one(struct machine *m, const struct whorl_call *call)
{
	(void)m;
	if (call->awaited)
		atomic_store(&the_ticket, whorl_defer(call));
	return true;
}

/* It is accepted, and not answered in time. The buffer is the thread's again, whatever comes of it. */
TEST_LOOP(time_runs_out_before_it_is_answered, 0, 2)
{
	struct lab *l = start_in_way(_i, 1, "");
	struct machine *m = l->machines;
	enum whorl_result result;
	char answer[4] = "old";
	size_t bytes = sizeof(answer);

	m->answer = defer_one;
	ck_assert_int_eq(whorl_call_wait(m->subgroup, "x", 1, answer, &bytes, 20), WHORL_IN_DOUBT);
	ck_assert_int_eq(whorl_error(l->c.nodes[0], NULL, 0), WHORL_OK); /* it was the time */
	await(atomic_load(&m->count) == 1, replica_lab_step(l));
	ck_ok(whorl_answer_later(m->subgroup, atomic_load(&the_ticket), "new", 4));
	m->answer = NULL;
	for (unsigned i = 0; i < 20; i++) { /* passes, in which it comes */
		bytes = 0;
		ck_ok(whorl_call_wait(m->subgroup, "x", 1, NULL, &bytes, PATIENCE_MS));
	}
	ck_assert_str_eq(answer, "old");
	result = whorl_call_wait(m->subgroup, "x", 1, NULL, NULL, 0);
	ck_assert(result == WHORL_IN_DOUBT ||
		  result == WHORL_OK); /* a loop of its own may be faster than this thread */
	await(atomic_load(&m->count) == 22, replica_lab_step(l));
	replica_lab_free(l);
}

/* ---- many at once -------------------------------------------------------------------------------------------------------------------- */

#define THREADS 4
#define EACH 150

struct caller {
	struct lab *l;
	unsigned id, thread;
	atomic_bool done;
	uint64_t answers[EACH];
	struct look looks[EACH];
};

static void *call_and_read(void *ctx)
{
	struct caller *me = ctx;
	struct machine *m = &me->l->machines[me->id];

	for (unsigned i = 0; i < EACH; i++) {
		uint64_t word = 1 + me->thread;
		size_t bytes = sizeof(me->answers[i]);

		ck_ok(whorl_call_wait(m->subgroup, &word, sizeof(word), &me->answers[i], &bytes, PATIENCE_MS));
		ck_assert_uint_eq(bytes, 8);
		me->looks[i].machine = m;
		ck_ok(whorl_read_wait(m->subgroup, i % 3 == 0 ? WHORL_LOCAL : WHORL_LINEARIZABLE, note_look,
				      &me->looks[i], PATIENCE_MS));
	}
	atomic_store(&me->done, true);
	return NULL;
}

TEST_CASE("many");

/* Threads of two nodes, and a window that is full again and again. Each answer is that of its own call, and each read has what was answered
 * before. */
TEST_LOOP(threads_that_call_and_read, 0, WAYS)
{
	static struct caller callers[2 * THREADS];
	static uint64_t totals[2 * THREADS * EACH + 1];
	struct lab *l = start_in_way(_i, 2, "window = 3\n");
	pthread_t threads[2 * THREADS];
	unsigned long count = 2 * THREADS * EACH;

	for (unsigned i = 0; i < 2 * THREADS; i++) {
		callers[i] = (struct caller){.l = l, .id = i % 2, .thread = i};
		ck_assert_int_eq(pthread_create(&threads[i], NULL, call_and_read, &callers[i]), 0);
	}
	for (unsigned i = 0; i < 2 * THREADS; i++) {
		await(atomic_load(&callers[i].done), replica_lab_step(l));
		pthread_join(threads[i], NULL);
	}
	await(lab_agrees(l, count), replica_lab_step(l));
	for (unsigned long at = 0; at < count; at++)
		totals[at + 1] = totals[at] * 31 + l->machines[0].log[at].word;
	for (unsigned i = 0; i < 2 * THREADS; i++) {
		unsigned long at = 0;

		for (unsigned k = 0; k < EACH; k++) {
			while (at < count && (totals[at + 1] != callers[i].answers[k] ||
					      l->machines[0].log[at].word != 1 + callers[i].thread))
				at++;
			ck_assert_uint_lt(at, count); /* in the order in which it made them */
			ck_assert(has_looked(&callers[i].looks[k]));
			ck_assert_uint_gt(callers[i].looks[k].count, at);
		}
	}
	replica_lab_free(l);
}

static uint64_t sleeps_of(const whorl_node *node)
{
	struct whorl_node_stats stats = {.size = sizeof(stats)};

	ck_ok(whorl_node_statistics(node, &stats));
	return stats.sleeps;
}

/* Nothing else happens, so all loops sleep before each. One that is not woken sleeps for a second. */
TEST_LOOP(loops_that_sleep_are_woken, 0, 2)
{
	struct lab *l = start_in_way(_i == 0 ? DEDICATED : ON_TCP, 3, "");
	uint64_t began = now_ms(), sleeps[3] = {0};
	struct look looks[30] = {0};

	for (unsigned i = 0; i < 30; i++) {
		for (unsigned id = 0; id < 3; id++)
			await(sleeps_of(l->c.nodes[id]) > sleeps[id], sched_yield());
		for (unsigned id = 0; id < 3; id++)
			sleeps[id] = sleeps_of(l->c.nodes[id]);
		looks[i].machine = &l->machines[i % 3];
		ck_ok(whorl_read_wait(l->machines[i % 3].subgroup, WHORL_LINEARIZABLE, note_look, &looks[i],
				      PATIENCE_MS));
	}
	ck_assert_uint_lt(now_ms() - began, test_patience(10000));
	replica_lab_free(l);
}

struct reader {
	struct lab *l;
	atomic_bool inside, goes, done;
};

static void look_until_told(enum whorl_result result, void *ctx)
{
	struct reader *reader = ctx;

	ck_assert_int_eq(result, WHORL_OK);
	atomic_store(&reader->inside, true);
	while (!atomic_load(&reader->goes))
		sched_yield();
}

static void *read_between_passes(void *ctx)
{
	struct reader *reader = ctx;

	ck_ok(whorl_read(reader->l->machines[0].subgroup, WHORL_LOCAL, look_until_told, reader));
	atomic_store(&reader->done, true);
	return NULL;
}

/* A program sleeps in an epoll of its own on what whorl_fd gives. Another thread reads between two passes, and has the loop when the program wants to
 * arm it: then it tells the program, which would sleep with an unarmed loop. */
TEST(a_program_that_sleeps_is_woken)
{
	struct lab *l = lab_start(1, FAR, "[subgroup s]\n" CALLER);
	struct epoll_event event = {.events = EPOLLIN};
	int fd = epoll_create1(0);
	whorl_node *node = l->c.nodes[0];
	pthread_t thread;

	ck_assert_int_eq(epoll_ctl(fd, EPOLL_CTL_ADD, whorl_fd(node), &event), 0);
	for (unsigned i = 0; i < 20; i++) {
		struct reader reader = {.l = l};

		await(whorl_arm(node) == 0 && epoll_wait(fd, &event, 1, 0) == 0,
		      whorl_step(node)); /* no timer is over */
		whorl_step(node);
		ck_assert_int_eq(pthread_create(&thread, NULL, read_between_passes, &reader), 0);
		await(atomic_load(&reader.inside), sched_yield());
		ck_assert_uint_eq(whorl_step(node), 0);
		ck_assert_uint_eq(whorl_arm(node), 0);
		atomic_store(&reader.goes, true);
		await(atomic_load(&reader.done), sched_yield());
		pthread_join(thread, NULL);
		ck_assert_int_eq(epoll_wait(fd, &event, 1, 0), 1);
	}
	close(fd);
	replica_lab_free(l);
}

/* ---- the end ---------------------------------------------------------------------------------------------------------------------------- */

struct waiter {
	struct lab *l;
	int kind;
	atomic_bool done;
	enum whorl_result result;
	struct look look;
};

enum { ANSWER, WINDOW, READ, KINDS };

static void *wait_in_kind(void *ctx)
{
	struct waiter *w = ctx;
	struct machine *m = &w->l->machines[0];

	w->look.machine = m;
	if (w->kind == READ)
		w->result = whorl_read_wait(m->subgroup, WHORL_LINEARIZABLE, note_look, &w->look, 600000);
	else
		w->result = whorl_call_wait(m->subgroup, "x", 1, NULL, NULL, 600000);
	atomic_store(&w->done, true);
	return NULL;
}

/* The other two make no passes, so nothing is answered, nothing leaves the window, and no read is made. */
static void close_with_threads_inside(struct lab *l, int kind, struct waiter *waiters, unsigned count)
{
	pthread_t threads[8];
	struct told told[2] = {0};

	for (unsigned i = 0; kind == WINDOW && i < 2; i++)
		ck_ok(call_word(&l->machines[0], i, &told[i]));
	for (unsigned i = 0; i < count; i++) {
		waiters[i] = (struct waiter){.l = l, .kind = kind};
		ck_assert_int_eq(pthread_create(&threads[i], NULL, wait_in_kind, &waiters[i]), 0);
	}
	if (kind == ANSWER) /* all are accepted */
		await(stats_of(l->machines[0].subgroup).claimed == count, sched_yield());
	for (uint64_t until = now_ms() + 20; now_ms() < until;) /* or nearly: they may be anywhere on their way */
		sched_yield();
	for (unsigned i = 0; i < count; i++)
		ck_assert(!atomic_load(&waiters[i].done));
	whorl_close(l->c.nodes[0], 0);
	l->c.nodes[0] = NULL;
	for (unsigned i = 0; i < count; i++) {
		await(atomic_load(&waiters[i].done), sched_yield()); /* it waited for them */
		pthread_join(threads[i], NULL);
	}
	for (unsigned i = 0; kind == WINDOW && i < 2; i++)
		ck_assert(is_told(&told[i]));
}

/* A node with a loop of its own, or of those threads; the others with the test's. */
static struct lab *start_beside_idlers(bool dedicated, const char *lines)
{
	struct lab *l = calloc(1, sizeof(*l));
	char rest[256];

	ck_assert_ptr_nonnull(l);
	l->name = "s";
	snprintf(rest, sizeof(rest), "[subgroup s]\n%s" CALLER, lines);
	cluster_configure(&l->c, 3, FAR, rest);
	for (unsigned id = 3; id-- > 0;) {
		if (id == 0 && dedicated)
			ck_ok(whorl_config_set(l->c.config, "engine.thread=dedicated"));
		cluster_open_node(&l->c, id);
		lab_attach(l, id, false);
	}
	cluster_start(&l->c);
	return l;
}

TEST_CASE("end");

TEST_LOOP(closed_with_threads_inside, 0, 2 * KINDS)
{
	struct lab *l = start_beside_idlers(_i % 2 == 0, _i / 2 == WINDOW ? "window = 2\n" : "");
	struct waiter waiters[8];
	int kind = _i / 2;
	uint64_t began = now_ms();

	close_with_threads_inside(l, kind, waiters, 8);
	for (unsigned i = 0; i < 8; i++) {
		ck_assert_int_eq(waiters[i].result, kind == ANSWER ? WHORL_IN_DOUBT : WHORL_CLOSED);
		if (kind == READ && has_looked(&waiters[i].look))
			ck_assert_int_eq(waiters[i].look.result, WHORL_CLOSED);
	}
	ck_assert_uint_lt(now_ms() - began, (uint64_t)PATIENCE_MS); /* and not as long as they would wait */
	replica_lab_free(l);
}

struct hasty {
	struct machine *machine;
	atomic_ulong accepted, told;
};

static void count_read(enum whorl_result result, void *ctx)
{
	struct hasty *hasty = ctx;

	ck_assert(result == WHORL_OK || result == WHORL_CLOSED);
	atomic_fetch_add(&hasty->told, 1);
}

static void count_call(const struct whorl_outcome *outcome, void *ctx)
{
	struct hasty *hasty = ctx;

	ck_assert(outcome->result == WHORL_OK || outcome->result == WHORL_IN_DOUBT);
	atomic_fetch_add(&hasty->told, 1);
}

static void *read_until_closed(void *ctx)
{
	struct hasty *hasty = ctx;
	enum whorl_result result = WHORL_OK;

	for (unsigned i = 0; result != WHORL_CLOSED; i++) {
		result = i % 4 == 3 ? whorl_call(hasty->machine->subgroup, "x", 1, count_call, hasty)
				    : whorl_read(hasty->machine->subgroup,
						 i % 4 == 0 ? WHORL_LOCAL : WHORL_LINEARIZABLE, count_read, hasty);
		atomic_fetch_add(&hasty->accepted, result == WHORL_OK);
		ck_assert(result == WHORL_OK || result == WHORL_CLOSED || result == WHORL_AGAIN);
	}
	return NULL;
}

/* Threads that do not wait are somewhere in their calls when the node is closed: what was accepted is told, once. A claim that is open still
 * keeps the memory of the node for those that look at it once more. */
TEST_LOOP(closed_under_threads_that_read_and_call, 0, 2)
{
	for (unsigned round = 0; round < 20; round++) {
		struct lab *l = start_in_way(_i, 1, "window = 8\n");
		struct hasty hasty = {.machine = &l->machines[0]};
		struct whorl_claim claim;
		pthread_t threads[3];

		ck_ok(whorl_claim(l->machines[0].subgroup, 1, &claim));
		for (unsigned i = 0; i < 3; i++)
			ck_assert_int_eq(pthread_create(&threads[i], NULL, read_until_closed, &hasty), 0);
		await(atomic_load(&hasty.accepted) > 10 * round, replica_lab_step(l));
		whorl_close(l->c.nodes[0], 0);
		l->c.nodes[0] = NULL;
		for (unsigned i = 0; i < 3; i++)
			pthread_join(threads[i], NULL);
		ck_assert_uint_eq(atomic_load(&hasty.told), atomic_load(&hasty.accepted));
		ck_assert_int_eq(whorl_abort(&claim), WHORL_CLOSED);
		replica_lab_free(l);
	}
}

/* ---- children ---------------------------------------------------------------------------------------------------------------------------- */

static int use_what_was_inherited(struct lab *l)
{
	struct machine *m = &l->machines[0];
	struct whorl_call none = {.size = sizeof(none)};
	struct look look = {.machine = m};
	struct told told = {0};
	size_t bytes = 0;
	uint32_t count = 0;

	if (whorl_call(m->subgroup, "x", 1, note_outcome, &told) != WHORL_FORKED)
		return 1;
	if (whorl_call_wait(m->subgroup, "x", 1, NULL, &bytes, 1000) != WHORL_FORKED)
		return 2;
	if (whorl_read(m->subgroup, WHORL_LOCAL, note_look, &look) != WHORL_FORKED ||
	    whorl_read(m->subgroup, WHORL_LINEARIZABLE, note_look, &look) != WHORL_FORKED)
		return 3;
	if (whorl_read_wait(m->subgroup, WHORL_LOCAL, note_look, &look, 1000) != WHORL_FORKED)
		return 4;
	if (whorl_answer_later(m->subgroup, 1, "x", 1) != WHORL_FORKED)
		return 5;
	if (whorl_on_calls(m->subgroup, apply_calls, m) != WHORL_FORKED)
		return 6;
	if (whorl_answer(&none, "x", 1) != WHORL_OK || whorl_defer(&none) != 0)
		return 7;
	if (whorl_shard_members(l->c.nodes[0], "s", 0, NULL, &count) != WHORL_FORKED)
		return 8;
	if (whorl_close(l->c.nodes[0], 1000) != WHORL_OK)
		return 9;
	return look.times + told.times > 0 ? 10 : 0;
}

/* Threads of the parent wait in calls and reads meanwhile: the child, which has none of them, does not wait for what they hold. */
TEST(a_child_may_only_close)
{
	struct lab *l = start_beside_idlers(true, "");
	struct waiter waiters[4];
	pthread_t threads[4];
	int status = 0;
	pid_t child;

	for (unsigned i = 0; i < 4; i++) {
		waiters[i] = (struct waiter){.l = l, .kind = i % 2 == 0 ? ANSWER : READ};
		ck_assert_int_eq(pthread_create(&threads[i], NULL, wait_in_kind, &waiters[i]), 0);
	}
	await(stats_of(l->machines[0].subgroup).claimed == 2, sched_yield());
	for (uint64_t until = now_ms() + 50; now_ms() < until;) /* they sleep by now, or some do */
		sched_yield();
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		alarm((unsigned)test_patience(20));
		_exit(use_what_was_inherited(l));
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(WIFEXITED(status), "the child ended by signal %d", WTERMSIG(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
	for (unsigned i = 0; i < 4; i++)
		await(atomic_load(&waiters[i].done), (whorl_step(l->c.nodes[1]), whorl_step(l->c.nodes[2])));
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		ck_assert_int_eq(waiters[i].result, WHORL_OK);
	}
	replica_lab_free(l);
}

TEST_SUITE("replica_waits")
