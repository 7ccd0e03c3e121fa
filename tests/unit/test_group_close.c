/* test_group_close.c - the ends of a node: drained, abandoned, with claims still open; members that leave or are killed.
 * Labels: threads
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "tests/support/group.h"

/* ---- draining ------------------------------------------------------------------------------------------------------ */

TEST_CASE("close", .timeout_s = 60);

TEST(close_drains_what_was_committed)
{
	struct cluster c;

	cluster_open(&c, 2, "", "[subgroup s]\nwindow = 8\nmessage_bytes = 8\n");
	cluster_record(&c, "s");
	cluster_start(&c);
	for (uint64_t i = 0; i < 500; i++)
		ck_ok(whorl_send(subgroup_of(&c, 0, "s"), &i, sizeof(i), PATIENCE_MS, NULL));
	ck_ok(whorl_close(c.nodes[0], PATIENCE_MS));
	c.nodes[0] = NULL;
	ck_assert_uint_eq(recorded(c.records[1]), 500);
	records_agree(c.records[0], c.records[1]);
	cluster_free(&c);
}

struct slow {
	struct record *record;
	atomic_bool go; /* until then the first upcall stands still */
};

static void record_slowly(const struct whorl_message *message, void *ctx)
{
	const struct timespec some = {0, 2000000};
	struct slow *slow = ctx;

	while (!atomic_load(&slow->go))
		sched_yield();
	nanosleep(&some, NULL); /* an upcall that takes its time */
	record_message(message, slow->record);
}

/* Node 0 has delivered everything and leaves while node 1 is still at its first upcall. What node 1 holds is stable, and
 * it delivers all of that when it is closed, however long its upcalls take. */
TEST(close_delivers_what_is_stable_after_a_member_left)
{
	struct whorl_claim claims[100];
	struct slow slow = {.go = false};
	struct cluster c;

	cluster_open(&c, 2, "", "[subgroup s]\nwindow = 100\nmessage_bytes = 8\nsenders = one\n");
	slow.record = c.records[1];
	ck_ok(whorl_on_message(subgroup_of(&c, 0, "s"), record_message, c.records[0]));
	ck_ok(whorl_on_message(subgroup_of(&c, 1, "s"), record_slowly, &slow));
	cluster_start(&c);
	for (uint64_t i = 0; i < 100; i++) {
		ck_ok(whorl_claim(subgroup_of(&c, 0, "s"), sizeof(i), &claims[i]));
		memcpy(claims[i].data, &i, sizeof(i));
	}
	for (unsigned i = 100; i-- > 0;) /* the last lets all go, in one batch: node 1 receives all or none */
		ck_ok(whorl_commit(&claims[i], sizeof(uint64_t)));
	await(recorded(c.records[0]) == 100, sched_yield());
	ck_assert_int_eq(whorl_close(c.nodes[0], 0), WHORL_TIMEOUT); /* node 1 has not delivered them */
	c.nodes[0] = NULL;
	atomic_store(&slow.go, true);
	ck_ok(whorl_close(c.nodes[1], PATIENCE_MS));
	c.nodes[1] = NULL;
	records_agree(c.records[0], c.records[1]);
	cluster_free(&c);
}

/* The last one goes on alone: what the other has not delivered is sent again, in a view of its own, and delivered. */
TEST(close_drains_through_a_change_of_view)
{
	struct cluster c;

	cluster_open(&c, 2, "", "[subgroup s]\n");
	cluster_start(&c);
	ck_ok(whorl_close(c.nodes[0], 0));
	c.nodes[0] = NULL;
	await(whorl_node_count(c.nodes[1]) == 1, sched_yield());
	ck_ok(whorl_error(c.nodes[1], NULL, 0));
	ck_ok(whorl_close(c.nodes[1], PATIENCE_MS)); /* it has nothing */
	c.nodes[1] = NULL;
	cluster_free(&c);

	cluster_open(&c, 2, "", "[subgroup s]\n[engine]\nthread = caller\n");
	cluster_record(&c, "s");
	cluster_start(&c);
	ck_ok(whorl_send(subgroup_of(&c, 1, "s"), "x", 1, 0, NULL));
	ck_assert_uint_gt(whorl_step(c.nodes[1]), 0); /* sent in the first view */
	ck_ok(whorl_close(c.nodes[0], 0));
	c.nodes[0] = NULL;
	ck_assert_uint_eq(recorded(c.records[1]), 0);
	ck_ok(whorl_close(c.nodes[1], PATIENCE_MS));
	c.nodes[1] = NULL;
	ck_assert_uint_eq(recorded(c.records[0]), 0);
	ck_assert_uint_eq(recorded(c.records[1]), 1);
	cluster_free(&c);
}

TEST(close_of_a_node_that_never_met_anybody)
{
	struct cluster c;

	cluster_configure(&c, 2, "", "[subgroup s]\n");
	for (int round = 0; round < 2; round++) { /* started, and not even that */
		free(c.records[0]);
		cluster_open_node(&c, 0);
		if (round == 0)
			ck_ok(whorl_start(c.nodes[0]));
		ck_assert_int_eq(whorl_send(subgroup_of(&c, 0, "s"), "x", 1, 0, NULL), WHORL_AGAIN);
		ck_assert_int_eq(whorl_ready(c.nodes[0], 0), WHORL_TIMEOUT);
		ck_ok(whorl_close(c.nodes[0], 50)); /* nothing was committed: nothing to wait for */
		c.nodes[0] = NULL;
	}
	cluster_free(&c);
}

TEST(close_refuses_a_negative_time)
{
	struct cluster c;

	cluster_open(&c, 1, "", "[subgroup s]\n");
	ck_assert_int_eq(whorl_close(c.nodes[0], -1), WHORL_INVALID);
	ck_ok(whorl_error(c.nodes[0], NULL, 0));
	cluster_free(&c);
}

/* ---- claims that are still open ------------------------------------------------------------------------------------ */

static void claims_outlive_the_node(int timeout_ms, const unsigned *finish, unsigned count)
{
	struct whorl_claim claims[4];
	struct cluster c;

	cluster_open(&c, 2, "", "[subgroup s]\nwindow = 16\nmessage_bytes = 100\n");
	cluster_start(&c);
	ck_ok(whorl_send(subgroup_of(&c, 0, "s"), "first", 5, PATIENCE_MS, NULL));
	for (unsigned i = 0; i < count; i++)
		ck_ok(whorl_claim(subgroup_of(&c, 0, "s"), 100, &claims[i]));
	ck_assert_int_eq(whorl_close(c.nodes[0], timeout_ms), WHORL_TIMEOUT);
	c.nodes[0] = NULL;
	for (unsigned i = 0; i < count; i++) {
		struct whorl_claim *claim = &claims[finish[i]];

		memset(claim->data, 'x', 100); /* AddressSanitizer, and the MMU, would tell */
		ck_assert_int_eq(i % 2 == 0 ? whorl_commit(claim, 100) : whorl_abort(claim), WHORL_CLOSED);
	}
	cluster_free(&c);
}

TEST(open_claims_stay_valid_when_the_node_closes)
{
	const unsigned forward[] = {0, 1, 2, 3}, backward[] = {3, 2, 1, 0};

	claims_outlive_the_node(0, forward, 1);
	claims_outlive_the_node(0, forward, 4);
	claims_outlive_the_node(20, backward, 4);
}

struct holder {
	struct whorl_claim claim;
	pthread_barrier_t *barrier;
	atomic_ulong *closed, *accepted;
};

static void *finish_at_the_same_time(void *ctx)
{
	struct holder *holder = ctx;
	enum whorl_result result;

	pthread_barrier_wait(holder->barrier);
	memset(holder->claim.data, 'y', 8);
	result = whorl_commit(&holder->claim, 8);
	ck_assert(result == WHORL_CLOSED || result == WHORL_OK);
	atomic_fetch_add(result == WHORL_OK ? holder->accepted : holder->closed, 1);
	return NULL;
}

/* Commits that race with close: each is accepted or refused, and the last thread frees the node. */
TEST(commits_race_with_close)
{
	enum { THREADS = 3 };

	for (int round = 0; round < 200; round++) {
		struct holder holders[THREADS];
		pthread_t threads[THREADS];
		pthread_barrier_t barrier;
		atomic_ulong closed = 0, accepted = 0;
		struct cluster c;

		cluster_open(&c, 1, "", "[subgroup s]\nwindow = 4\nmessage_bytes = 8\n");
		ck_ok(whorl_start(c.nodes[0]));
		ck_ok(whorl_ready(c.nodes[0], PATIENCE_MS));
		pthread_barrier_init(&barrier, NULL, THREADS + 1);
		for (int i = 0; i < THREADS; i++) {
			holders[i] = (struct holder){.barrier = &barrier, .closed = &closed, .accepted = &accepted};
			ck_ok(whorl_claim(subgroup_of(&c, 0, "s"), 8, &holders[i].claim));
			pthread_create(&threads[i], NULL, finish_at_the_same_time, &holders[i]);
		}
		pthread_barrier_wait(&barrier);
		whorl_close(c.nodes[0], 0);
		c.nodes[0] = NULL;
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		ck_assert_uint_eq(closed + accepted, THREADS);
		pthread_barrier_destroy(&barrier);
		cluster_free(&c);
	}
}

/* ---- members that go ----------------------------------------------------------------------------------------------- */

/* Members that stay do not fail: they are a view, and go on. */
TEST(a_member_that_leaves_is_left_out)
{
	uint32_t ids[3], count;
	uint64_t number;
	struct cluster c;

	cluster_open(&c, 3, "", "[subgroup s]\nmembers = 0,1\n");
	cluster_record(&c, "s");
	cluster_start(&c);
	ck_ok(whorl_close(c.nodes[2], 1000));
	c.nodes[2] = NULL;
	for (unsigned id = 0; id < 2; id++) {
		await(whorl_node_count(c.nodes[id]) == 2, sched_yield());
		count = 3;
		ck_ok(whorl_view_members(c.nodes[id], &number, ids, &count));
		ck_assert_uint_eq(number, 1);
		ck_assert_uint_eq(count, 2);
		ck_assert_uint_eq(ids[0], 0);
		ck_assert_uint_eq(ids[1], 1);
		ck_ok(whorl_error(c.nodes[id], NULL, 0));
		ck_ok(whorl_ready(c.nodes[id], 0));
		ck_ok(whorl_send(subgroup_of(&c, id, "s"), "x", 1, PATIENCE_MS, NULL));
	}
	await(all_recorded(c.records, 2, 2), sched_yield());
	records_agree(c.records[0], c.records[1]);
	cluster_free(&c);
}

struct sender {
	whorl_subgroup *subgroup;
	enum whorl_result result;
	uint64_t waited_ms;
};

static void *send_until_it_fails(void *ctx)
{
	struct sender *sender = ctx;
	uint64_t began;

	do {
		began = now_ms();
		sender->result = whorl_send(sender->subgroup, "message", 7, 10 * PATIENCE_MS, NULL);
		sender->waited_ms = now_ms() - began;
	} while (sender->result == WHORL_OK);
	return NULL;
}

/* Does not return. */
static void be_node(struct cluster *c, unsigned id, int stop_after)
{
	whorl_node *node;

	if (whorl_open(c->config, id, NULL, &node) != WHORL_OK || whorl_start(node) != WHORL_OK ||
	    whorl_ready(node, PATIENCE_MS) != WHORL_OK)
		_exit(1);
	if (stop_after)
		raise(SIGSTOP);
	for (;;)
		pause();
}

/* Two nodes, and node 1 is a process of its own. */
static pid_t start_with_child(struct cluster *c, const char *group, const char *rest)
{
	pid_t child;

	cluster_configure(c, 2, group, rest);
	child = fork();
	if (child == 0)
		be_node(c, 1, false);
	cluster_open_node(c, 0);
	ck_ok(whorl_start(c->nodes[0]));
	ck_ok(whorl_ready(c->nodes[0], PATIENCE_MS));
	return child;
}

static void end(struct cluster *c, pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	cluster_free(c);
}

/* Sends from two threads until node 1 gets that signal, which leaves one of two: no majority. */
static void lose_node_1(struct cluster *c, pid_t child, int signal)
{
	struct sender senders[2];
	pthread_t threads[2];
	char text[256];

	for (int i = 0; i < 2; i++) {
		senders[i] = (struct sender){.subgroup = subgroup_of(c, 0, "s")};
		pthread_create(&threads[i], NULL, send_until_it_fails, &senders[i]);
	}
	await(stats_of(senders[0].subgroup).delivered > 100, sched_yield());
	kill(child, signal);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		ck_assert_int_eq(senders[i].result, WHORL_NO_QUORUM);
		ck_assert_uint_lt(senders[i].waited_ms, PATIENCE_MS);
	}
	ck_assert_int_eq(whorl_error(c->nodes[0], text, sizeof(text)), WHORL_NO_QUORUM);
	ck_assert_ptr_nonnull(strstr(text, "missing: 1"));
	ck_assert_int_eq(whorl_error(c->nodes[0], text, 4), WHORL_NO_QUORUM); /* cut to the room there is */
	ck_assert_str_eq(text, "too");
	ck_assert_uint_eq(whorl_node_count(c->nodes[0]), 2);
}

/* On a network: its death is noticed at once and not by heartbeats, but nothing proves it. What is committed then waits for a
 * majority; close waits for as long as it is allowed to. */
TEST(one_of_two_that_is_killed_leaves_no_quorum)
{
	struct whorl_claim claim;
	struct cluster c;
	uint64_t began;
	pid_t child = start_with_child(&c, "transport = tcp\nfailure_timeout_ms = 600000\n",
				       "[subgroup s]\nwindow = 4\n[subgroup t]\n");

	ck_ok(whorl_claim(subgroup_of(&c, 0, "t"), 1, &claim));
	lose_node_1(&c, child, SIGKILL);
	ck_assert_int_eq(whorl_commit(&claim, 1), WHORL_PENDING);
	began = now_ms();
	ck_assert_int_eq(whorl_close(c.nodes[0], 200), WHORL_NO_QUORUM);
	ck_assert_uint_ge(now_ms() - began, 199);
	c.nodes[0] = NULL;
	end(&c, child);
}

/* On shared memory its end is proved, and no quorum is taken of the dead. The connection ends a moment before that: calls wait, and go
 * on. */
TEST(one_of_two_that_is_killed_is_no_longer_waited_for)
{
	struct whorl_claim claim;
	struct cluster c;
	pid_t child = start_with_child(&c, "failure_timeout_ms = 600000\n", "[subgroup s]\nwindow = 4\n[subgroup t]\n");

	ck_ok(whorl_claim(subgroup_of(&c, 0, "t"), 1, &claim));
	kill(child, SIGKILL);
	for (int i = 0; i < 100; i++)
		ck_ok(whorl_send(subgroup_of(&c, 0, "s"), "message", 7, PATIENCE_MS, NULL));
	await(whorl_node_count(c.nodes[0]) == 1, sched_yield());
	ck_ok(whorl_error(c.nodes[0], NULL, 0));
	ck_ok(whorl_commit(&claim, 1));
	ck_ok(whorl_close(c.nodes[0], PATIENCE_MS));
	c.nodes[0] = NULL;
	end(&c, child);
}

/* A member that was only stopped is heard again. No member is removed, nothing is lost. */
TEST(one_of_two_that_is_stopped_may_go_on)
{
	struct cluster c;
	pid_t child = start_with_child(&c, "failure_timeout_ms = 400\n", "[subgroup s]\nwindow = 4\n");

	lose_node_1(&c, child, SIGSTOP);
	kill(child, SIGCONT);
	await(whorl_error(c.nodes[0], NULL, 0) == WHORL_OK, sched_yield());
	for (int i = 0; i < 100; i++)
		ck_ok(whorl_send(subgroup_of(&c, 0, "s"), "message", 7, PATIENCE_MS, NULL));
	ck_assert_uint_eq(whorl_node_count(c.nodes[0]), 2);
	ck_ok(whorl_close(c.nodes[0], PATIENCE_MS));
	c.nodes[0] = NULL;
	end(&c, child);
}

/* A caller that waits for the window by its descriptor learns that the group cannot go on, too, in either order. */
TEST(no_quorum_ends_the_wait_for_the_window)
{
	struct whorl_claim claim;
	whorl_subgroup *s;
	struct cluster c;
	struct pollfd fd;
	pid_t child = start_with_child(&c, "transport = tcp\n", "[subgroup s]\nwindow = 1\n");

	s = subgroup_of(&c, 0, "s");
	ck_ok(whorl_claim(s, 1, &claim));
	fd = (struct pollfd){.fd = whorl_window_fd(s), .events = POLLIN};
	ck_assert_int_eq(whorl_window_arm(s), WHORL_AGAIN);
	ck_assert_int_eq(poll(&fd, 1, 0), 0);
	kill(child, SIGKILL);
	ck_assert_int_eq(poll(&fd, 1, PATIENCE_MS), 1);
	ck_assert(took_room(s));
	ck_ok(whorl_window_arm(s)); /* "claim at once" */
	ck_ok(whorl_window_arm(s));
	ck_assert_int_eq(whorl_claim(s, 1, &(struct whorl_claim){0}), WHORL_NO_QUORUM);
	ck_ok(whorl_abort(&claim));
	end(&c, child);
}

TEST_SUITE("group: close")
