/* test_group_caller.c - thread = caller: the program runs the loop, alone or from an epoll of its own.
 * Labels: threads
 */
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>

#include "tests/support/group.h"

#define CALLER "[engine]\nthread = caller\n"

TEST_CASE("caller", .timeout_s = 60);

TEST(nothing_happens_without_steps)
{
	struct cluster c;

	cluster_open(&c, 1, "", "[subgroup s]\n" CALLER);
	cluster_record(&c, "s");
	ck_assert_uint_eq(whorl_step(c.nodes[0]), 0); /* not started */
	ck_assert_int_eq(whorl_wait(c.nodes[0], 0), WHORL_INVALID);
	ck_ok(whorl_start(c.nodes[0]));
	ck_assert_int_eq(whorl_start(c.nodes[0]), WHORL_INVALID);
	ck_assert_int_eq(whorl_send(subgroup_of(&c, 0, "s"), "x", 1, 0, NULL), WHORL_AGAIN); /* there is no view yet */
	ck_ok(whorl_send(subgroup_of(&c, 0, "s"), "x", 1, PATIENCE_MS, NULL));               /* makes passes */
	ck_assert_uint_eq(recorded(c.records[0]), 0);
	ck_ok(whorl_ready(c.nodes[0], 0));
	await(recorded(c.records[0]) == 1, whorl_step(c.nodes[0]));
	cluster_free(&c);
}

TEST(a_dedicated_node_takes_no_steps)
{
	struct cluster c;

	cluster_open(&c, 1, "", "[subgroup s]\n");
	ck_assert_uint_eq(whorl_step(c.nodes[0]), 0);
	cluster_start(&c);
	ck_assert_uint_eq(whorl_step(c.nodes[0]), 0);
	ck_assert_uint_eq(whorl_arm(c.nodes[0]), 0);
	ck_assert(!whorl_yield(c.nodes[0]));
	ck_assert_int_eq(whorl_wait(c.nodes[0], 0), WHORL_INVALID);
	cluster_free(&c);
}

static void drive(struct cluster *c, unsigned long messages)
{
	while (!all_recorded(c->records, c->count, messages))
		for (unsigned id = 0; id < c->count; id++)
			whorl_step(c->nodes[id]);
}

/* One thread, two nodes, and a window of one. */
TEST(one_thread_drives_two_nodes)
{
	struct cluster c;

	cluster_open(&c, 2, "", "[subgroup s]\nwindow = 1\nmessage_bytes = 8\n" CALLER);
	cluster_record(&c, "s");
	cluster_start(&c);
	for (uint64_t i = 0; i < 200; i++) {
		ck_ok(whorl_send(subgroup_of(&c, i % 2, "s"), &i, sizeof(i), 0, NULL));
		drive(&c, i + 1);
	}
	records_agree(c.records[0], c.records[1]);
	cluster_free(&c);
}

/* ---- asleep in an epoll of one's own --------------------------------------------------------------------------------- */

struct program { /* one node, in its epoll loop */
	whorl_node *node;
	atomic_bool stop;
	atomic_ulong turns, events;
	pthread_t thread;
};

static void *epoll_loop(void *ctx)
{
	struct program *program = ctx;
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	ck_assert_int_eq(epoll_ctl(epoll, EPOLL_CTL_ADD, whorl_fd(program->node), &event), 0);
	while (!atomic_load(&program->stop)) {
		while (whorl_step(program->node) > 0)
			;
		if (whorl_arm(program->node) > 0)
			continue;
		atomic_fetch_add(&program->turns, 1);
		atomic_fetch_add(&program->events, (unsigned long)epoll_wait(epoll, &event, 1, PATIENCE_MS));
	}
	close(epoll);
	return NULL;
}

static void program_start(struct program *program, whorl_node *node)
{
	*program = (struct program){.node = node};
	ck_assert_int_eq(pthread_create(&program->thread, NULL, epoll_loop, program), 0);
}

static void program_stop(struct program *program, whorl_subgroup *subgroup)
{
	atomic_store(&program->stop, true);
	ck_ok(whorl_send(subgroup, "stop", 4, PATIENCE_MS, NULL)); /* a commit wakes it */
	pthread_join(program->thread, NULL);
}

/* Messages of the other node, commits of other threads and waits for the window all end the sleep; nothing to do, and
 * no program turns. The failure time-out is so long that no heartbeat would wake a program by accident. */
TEST(a_program_sleeps_in_its_own_epoll)
{
	struct program programs[2];
	unsigned long turns;
	struct cluster c;
	uint64_t began;

	cluster_open(&c, 2, "failure_timeout_ms = 600000\n", "[subgroup s]\nwindow = 3\nmessage_bytes = 8\n" CALLER);
	cluster_record(&c, "s");
	for (unsigned id = 0; id < 2; id++)
		ck_ok(whorl_start(c.nodes[id]));
	for (unsigned id = 0; id < 2; id++)
		program_start(&programs[id], c.nodes[id]);
	await(cluster_is_ready(&c), sched_yield());
	began = now_ms();
	for (uint64_t i = 0; i < 600; i++) /* this thread drives the loop now and then, when it waits for the window */
		ck_ok(whorl_send(subgroup_of(&c, i % 3 == 0, "s"), &i, sizeof(i), PATIENCE_MS, NULL));
	await(all_recorded(c.records, 2, 600), sched_yield());
	ck_assert_uint_lt(now_ms() - began, PATIENCE_MS / 2);
	records_agree(c.records[0], c.records[1]);

	do { /* all is quiet, soon */
		turns = programs[0].turns + programs[1].turns;
		poll(NULL, 0, 50);
	} while (programs[0].turns + programs[1].turns != turns && now_ms() - began < (uint64_t)PATIENCE_MS);
	poll(NULL, 0, 300);
	ck_assert_uint_le(programs[0].turns + programs[1].turns - turns, 2);
	for (unsigned id = 0; id < 2; id++)
		program_stop(&programs[id], subgroup_of(&c, id, "s"));
	cluster_free(&c);
}

static bool is_asleep(struct program *program)
{
	return atomic_load(&program->turns) > atomic_load(&program->events);
}

/* A thread that waits for the window takes the loop from a program that sleeps with its doorbell armed. When it gives
 * the loop back, the program must not be left asleep with the doorbell disarmed. */
TEST(a_thread_that_borrows_the_loop_gives_it_back)
{
	uint64_t began = now_ms();
	struct program program;
	struct cluster c;

	cluster_open(&c, 2, "failure_timeout_ms = 600000\n", "[subgroup s]\nwindow = 3\nsenders = one\n" CALLER);
	cluster_record(&c, "s");
	cluster_start(&c);
	while (now_ms() - began < 200) /* what is left of the meeting, which would wake the program, too */
		cluster_step(&c);
	program_start(&program, c.nodes[0]);
	for (int i = 0; i < 3; i++)
		ck_ok(whorl_send(subgroup_of(&c, 0, "s"), "x", 1, 0, NULL));
	await(stats_of(subgroup_of(&c, 0, "s")).sent == 3 && is_asleep(&program), sched_yield());
	ck_assert_int_eq(whorl_send(subgroup_of(&c, 0, "s"), "x", 1, 20, NULL),
			 WHORL_TIMEOUT); /* node 1 does nothing */
	await(is_asleep(&program), sched_yield());
	await(all_recorded(c.records, 2, 3), whorl_step(c.nodes[1]));
	atomic_store(&program.stop, true);
	ck_ok(whorl_send(subgroup_of(&c, 0, "s"), "x", 1, PATIENCE_MS, NULL));
	pthread_join(program.thread, NULL);
	cluster_free(&c);
}

static bool is_readable(int fd, int timeout_ms)
{
	struct pollfd readable = {.fd = fd, .events = POLLIN};

	return poll(&readable, 1, timeout_ms) == 1;
}

/* Its timer has gone off, and no thread will set it any more. */
TEST(a_node_that_has_failed_sleeps)
{
	struct cluster c;
	int fd;

	cluster_open(&c, 3, "failure_timeout_ms = 50\n", "[subgroup s]\n" CALLER);
	cluster_start(&c);
	fd = whorl_fd(c.nodes[1]);
	await(whorl_arm(c.nodes[1]) == 0, cluster_step(&c));
	await(view_of(c.nodes[0]) == 1 && view_of(c.nodes[2]) == 1, {
		whorl_step(c.nodes[0]);
		whorl_step(c.nodes[2]);
	});
	ck_assert(is_readable(fd, PATIENCE_MS));
	await(whorl_error(c.nodes[1], NULL, 0) == WHORL_REMOVED, whorl_step(c.nodes[1]));
	await(whorl_arm(c.nodes[1]) == 0 && !is_readable(fd, 0), whorl_step(c.nodes[1]));
	cluster_free(&c);
}

/* A program asks for the descriptor of a loop that is armed: heartbeats are due all the same. */
TEST(a_descriptor_that_comes_late)
{
	uint64_t began = now_ms();
	struct cluster c;

	cluster_open(&c, 1, "failure_timeout_ms = 100\n", "[subgroup s]\n" CALLER);
	cluster_start(&c);
	while (now_ms() - began < 200) /* what is left of the meeting would be readable, too */
		cluster_step(&c);
	await(whorl_arm(c.nodes[0]) == 0, );
	ck_assert(is_readable(whorl_fd(c.nodes[0]), PATIENCE_MS));
	cluster_free(&c);
}

TEST(wait_sleeps_until_there_is_something)
{
	struct cluster c;
	uint64_t began;

	cluster_open(&c, 1, "failure_timeout_ms = 600000\n", "[subgroup s]\n" CALLER);
	cluster_record(&c, "s");
	cluster_start(&c);
	while (whorl_step(c.nodes[0]) > 0)
		;
	began = now_ms(); /* soon after it begins it prepares its next row: that ends a wait, too */
	await(now_ms() - began >= 49, began = now_ms(); ck_assert_int_eq(whorl_wait(c.nodes[0], 50), WHORL_TIMEOUT));
	ck_ok(whorl_send(subgroup_of(&c, 0, "s"), "x", 1, 0, NULL));
	ck_ok(whorl_wait(c.nodes[0], PATIENCE_MS));
	ck_assert_int_eq(whorl_wait(c.nodes[0], -1), WHORL_INVALID);
	cluster_free(&c);
}

/* ---- waiting awake -------------------------------------------------------------------------------------------------------- */

struct yielding {
	whorl_node *node;
	bool upcalled, yielded;
};

static void yield_in_upcall(const struct whorl_message *message, void *ctx)
{
	struct yielding *yielding = ctx;

	(void)message;
	yielding->yielded = whorl_yield(yielding->node);
	yielding->upcalled = true;
}

static uint64_t yields_of(whorl_node *node)
{
	struct whorl_node_stats stats = {.size = sizeof(stats)};

	ck_ok(whorl_node_statistics(node, &stats));
	return stats.yields;
}

TEST(a_program_yields_before_it_sleeps)
{
	struct yielding yielding = {0};
	struct cluster c;

	cluster_open(&c, 1, "failure_timeout_ms = 600000\n", "[subgroup s]\n" CALLER);
	yielding.node = c.nodes[0];
	ck_ok(whorl_on_message(subgroup_of(&c, 0, "s"), yield_in_upcall, &yielding));
	ck_assert(!whorl_yield(c.nodes[0])); /* not started */
	cluster_start(&c);
	await(whorl_step(c.nodes[0]) == 0 && !whorl_yield(c.nodes[0]), );
	ck_assert_uint_gt(yields_of(c.nodes[0]), 0);
	ck_ok(whorl_send(subgroup_of(&c, 0, "s"), "x", 1, 0, NULL));
	await(yielding.upcalled, whorl_step(c.nodes[0]));
	ck_assert(!yielding.yielded);
	cluster_free(&c);
}

/* Behind each message, so until the other threads of this machine have let it yield once. */
TEST(a_wait_yields_before_it_sleeps)
{
	struct cluster c;
	uint64_t before;

	cluster_open(&c, 1, "failure_timeout_ms = 600000\n", "[subgroup s]\n" CALLER);
	cluster_record(&c, "s");
	cluster_start(&c);
	before = yields_of(c.nodes[0]);
	await(yields_of(c.nodes[0]) > before, {
		ck_ok(whorl_send(subgroup_of(&c, 0, "s"), "x", 1, 0, NULL));
		ck_ok(whorl_wait(c.nodes[0], PATIENCE_MS));
		(void)whorl_wait(c.nodes[0], 20);
	});
	cluster_free(&c);
}

/* idle = yield, spin */
TEST_LOOP(a_program_that_is_not_to_sleep, 0, 2)
{
	static const char *const idle[] = {"[subgroup s]\n" CALLER "idle = yield\n",
					   "[subgroup s]\n" CALLER "idle = spin\n"};
	uint64_t began;
	struct cluster c;

	cluster_open(&c, 1, "failure_timeout_ms = 600000\n", idle[_i]);
	cluster_start(&c);
	for (began = now_ms(); now_ms() - began < 30;) {
		whorl_step(c.nodes[0]);
		ck_assert(whorl_yield(c.nodes[0]));
	}
	ck_assert(_i == 1 || yields_of(c.nodes[0]) > 0);
	cluster_free(&c);
}

/* ---- slow upcalls ------------------------------------------------------------------------------------------------------- */

#define SLOW_NS 20000
#define BACKLOG 900

static void be_slow(const struct whorl_message *message, void *ctx)
{
	struct timespec now, began;

	(void)message;
	++*(unsigned *)ctx;
	clock_gettime(CLOCK_MONOTONIC, &began);
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - began.tv_sec) * 1000000000L + now.tv_nsec - began.tv_nsec < SLOW_NS);
}

/* All subgroups, and in unordered mode (_i == 1) all senders, share the time that a pass has for delivery: here an eighth of
 * 40 ms, and a run of messages each. */
TEST_LOOP(a_pass_is_short, 0, 2)
{
	static const char *const rests[] = {
		"[subgroup a]\nwindow = 1000\nmessage_bytes = 8\n[subgroup b]\nwindow = 1000\nmessage_bytes = 8\n" CALLER,
		"[subgroup a]\nwindow = 1000\nmessage_bytes = 8\nmode = unordered\n" CALLER};
	const char *const names[] = {"a", "b"};
	unsigned delivered = 0, most = 0;
	struct cluster c;

	cluster_open(&c, 2, "failure_timeout_ms = 40\n", rests[_i]);
	for (unsigned i = 0; i < 2 && whorl_subgroup_find(c.nodes[0], names[i]) != NULL; i++)
		ck_ok(whorl_on_message(subgroup_of(&c, 0, names[i]), be_slow, &delivered));
	cluster_start(&c);
	for (unsigned i = 0; i < 2 * BACKLOG; i++) /* two subgroups, or two senders of one */
		ck_ok(whorl_send(subgroup_of(&c, _i == 0 ? 0 : i % 2, names[_i == 0 ? i % 2 : 0]), "x", 1, 0, NULL));
	while (delivered < 2 * BACKLOG) {
		unsigned before = delivered;

		cluster_step(&c);
		ck_ok(whorl_error(c.nodes[0], NULL, 0));
		most = delivered - before > most ? delivered - before : most;
	}
	ck_assert_uint_le(most, 40000000 / 8 / SLOW_NS + 2 * 64);
	cluster_free(&c);
}

/* ---- a loop that no thread drives is driven by threads that wait ------------------------------------------------------ */

static void *send_a_hundred(void *ctx)
{
	for (int i = 0; i < 100; i++)
		ck_ok(whorl_send(ctx, "message", 7, PATIENCE_MS, NULL));
	return NULL;
}

TEST(waiting_senders_drive_the_loop)
{
	pthread_t threads[3];
	struct cluster c;

	cluster_open(&c, 1, "", "[subgroup s]\nwindow = 2\n" CALLER);
	cluster_record(&c, "s");
	ck_ok(whorl_start(c.nodes[0]));
	ck_ok(whorl_ready(c.nodes[0], PATIENCE_MS));
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, send_a_hundred, subgroup_of(&c, 0, "s"));
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	ck_ok(whorl_close(c.nodes[0], PATIENCE_MS));
	c.nodes[0] = NULL;
	ck_assert_uint_eq(recorded(c.records[0]), 300);
	cluster_free(&c);
}

TEST_SUITE("group: thread = caller")
