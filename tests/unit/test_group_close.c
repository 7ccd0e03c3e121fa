/* test_group_close.c - the ends of a node: drained, abandoned, with claims still open; members that leave or are killed.
 * Labels: threads
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "tests/unit/group.h"

/* ---- draining ------------------------------------------------------------------------------------------------------ */

START_TEST(close_drains_what_was_committed)
{
	struct cluster c;

	cluster_open(&c, 2, "", "[subgroup s]\nwindow = 8\nmessage_bytes = 8\n");
	cluster_record(&c, "s");
	cluster_start(&c);
	for (uint64_t i = 0; i < 500; i++)
		ck_ok(whorl_send(subgroup_of(&c, 0, "s"), &i, sizeof(i), PATIENCE_MS));
	ck_ok(whorl_close(c.nodes[0], PATIENCE_MS));
	c.nodes[0] = NULL;
	ck_assert_uint_eq(recorded(c.records[1]), 500);
	records_agree(c.records[0], c.records[1]);
	cluster_free(&c);
}
END_TEST

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

/* Node 0 has delivered everything and leaves while node 1 is still at its first upcall. That fails node 1; but what it
 * holds is stable, and it delivers all of that when it is closed, however long its upcalls take. */
START_TEST(close_delivers_what_is_stable_after_a_member_left)
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
END_TEST

/* What can never be delivered, because a member is gone, is given up long before the time-out. */
START_TEST(close_gives_up_what_a_member_that_left_will_not_deliver)
{
	struct cluster c;
	uint64_t began;

	cluster_open(&c, 2, "", "[subgroup s]\n");
	cluster_start(&c);
	ck_ok(whorl_close(c.nodes[0], 0));
	c.nodes[0] = NULL;
	await(whorl_error(c.nodes[1], NULL, 0) == WHORL_MEMBER_GONE, sched_yield());
	ck_ok(whorl_close(c.nodes[1], PATIENCE_MS)); /* it has nothing */
	c.nodes[1] = NULL;
	cluster_free(&c);

	cluster_open(&c, 2, "", "[subgroup s]\n[engine]\nthread = caller\n");
	cluster_start(&c);
	ck_ok(whorl_send(subgroup_of(&c, 1, "s"), "x", 1, 0));
	ck_ok(whorl_close(c.nodes[0], 0));
	c.nodes[0] = NULL;
	began = now_ms();
	ck_assert_int_eq(whorl_close(c.nodes[1], PATIENCE_MS), WHORL_MEMBER_GONE);
	ck_assert_uint_lt(now_ms() - began, PATIENCE_MS / 2);
	c.nodes[1] = NULL;
	cluster_free(&c);
}
END_TEST

START_TEST(close_of_a_node_that_never_met_anybody)
{
	struct cluster c;

	cluster_configure(&c, 2, "", "[subgroup s]\n");
	for (int round = 0; round < 3; round++) {
		free(c.records[0]);
		cluster_open_node(&c, 0);
		if (round == 1)
			ck_ok(whorl_send(subgroup_of(&c, 0, "s"), "x", 1, 0));
		if (round < 2)
			ck_ok(whorl_start(c.nodes[0]));
		ck_assert_int_eq(whorl_ready(c.nodes[0], 0), WHORL_TIMEOUT);
		/* Nothing was committed: nothing to wait for. One message: it cannot be delivered. Not even started. */
		ck_assert_int_eq(whorl_close(c.nodes[0], 50), round == 1 ? WHORL_TIMEOUT : WHORL_OK);
		c.nodes[0] = NULL;
	}
	cluster_free(&c);
}
END_TEST

START_TEST(close_refuses_a_negative_time)
{
	struct cluster c;

	cluster_open(&c, 1, "", "[subgroup s]\n");
	ck_assert_int_eq(whorl_close(c.nodes[0], -1), WHORL_INVALID);
	ck_ok(whorl_error(c.nodes[0], NULL, 0));
	cluster_free(&c);
}
END_TEST

/* ---- claims that are still open ------------------------------------------------------------------------------------ */

static void claims_outlive_the_node(int timeout_ms, const unsigned *finish, unsigned count)
{
	struct whorl_claim claims[4];
	struct cluster c;

	cluster_open(&c, 2, "", "[subgroup s]\nwindow = 16\nmessage_bytes = 100\n");
	cluster_start(&c);
	ck_ok(whorl_send(subgroup_of(&c, 0, "s"), "first", 5, PATIENCE_MS));
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

START_TEST(open_claims_stay_valid_when_the_node_closes)
{
	const unsigned forward[] = {0, 1, 2, 3}, backward[] = {3, 2, 1, 0};

	claims_outlive_the_node(0, forward, 1);
	claims_outlive_the_node(0, forward, 4);
	claims_outlive_the_node(20, backward, 4);
}
END_TEST

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

/* Commits that race with close: each is accepted or refused, and whoever is last frees the node. */
START_TEST(commits_race_with_close)
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
END_TEST

/* ---- members that go ----------------------------------------------------------------------------------------------- */

START_TEST(a_member_that_leaves_is_named)
{
	struct cluster c;
	char text[256];

	cluster_open(&c, 3, "", "[subgroup s]\nmembers = 0,1\n");
	cluster_start(&c);
	ck_ok(whorl_close(c.nodes[2], 1000));
	c.nodes[2] = NULL;
	for (unsigned id = 0; id < 2; id++) {
		await(whorl_error(c.nodes[id], text, sizeof(text)) == WHORL_MEMBER_GONE, sched_yield());
		ck_assert_str_eq(text, "node 2 has left");
		ck_assert_int_eq(whorl_ready(c.nodes[id], 0), WHORL_MEMBER_GONE);
		ck_assert_int_eq(whorl_send(subgroup_of(&c, id, "s"), "x", 1, 0), WHORL_MEMBER_GONE);
	}
	ck_assert_int_eq(whorl_error(c.nodes[0], text, 5), WHORL_MEMBER_GONE); /* cut to the room there is */
	ck_assert_str_eq(text, "node");
	cluster_free(&c);
}
END_TEST

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
		sender->result = whorl_send(sender->subgroup, "message", 7, 10 * PATIENCE_MS);
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

static void lose_node_1(int signal, const char *expected)
{
	struct sender senders[2];
	enum whorl_result closed;
	struct cluster c;
	pthread_t threads[2];
	char text[256];
	pid_t child;

	cluster_configure(&c, 2, "failure_timeout_ms = 1500\n", "[subgroup s]\nwindow = 4\n");
	child = fork();
	if (child == 0)
		be_node(&c, 1, false);
	cluster_open_node(&c, 0);
	ck_ok(whorl_start(c.nodes[0]));
	ck_ok(whorl_ready(c.nodes[0], PATIENCE_MS));
	for (int i = 0; i < 2; i++) {
		senders[i] = (struct sender){.subgroup = subgroup_of(&c, 0, "s")};
		pthread_create(&threads[i], NULL, send_until_it_fails, &senders[i]);
	}
	await(stats_of(senders[0].subgroup).delivered > 100, sched_yield());
	kill(child, signal);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		ck_assert_int_eq(senders[i].result, WHORL_MEMBER_GONE);
		ck_assert_uint_lt(senders[i].waited_ms, PATIENCE_MS);
	}
	ck_assert_int_eq(whorl_error(c.nodes[0], text, sizeof(text)), WHORL_MEMBER_GONE);
	ck_assert_ptr_nonnull(strstr(text, expected));
	/* A member that is killed may have had all that was sent, if its end is noticed before more is; one that is
	 * stopped does not, for the senders fill the window. */
	closed = whorl_close(c.nodes[0], PATIENCE_MS);
	ck_assert(closed == WHORL_MEMBER_GONE || (closed == WHORL_OK && signal == SIGKILL));
	c.nodes[0] = NULL;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	cluster_free(&c);
}

START_TEST(a_member_that_is_killed_is_named)
{
	lose_node_1(SIGKILL, "node 1 (pid ");
}
END_TEST

START_TEST(a_member_that_is_stopped_is_not_heard)
{
	lose_node_1(SIGSTOP, "node 1 has not been heard for ");
}
END_TEST

/* Whoever waits for the window by its descriptor learns of the end of the group, too, in either order. */
START_TEST(a_failure_ends_the_wait_for_the_window)
{
	struct whorl_claim claim;
	whorl_subgroup *s;
	struct cluster c;
	struct pollfd fd;

	cluster_open(&c, 2, "", "[subgroup s]\nwindow = 1\n");
	cluster_start(&c);
	s = subgroup_of(&c, 0, "s");
	ck_ok(whorl_claim(s, 1, &claim));
	fd = (struct pollfd){.fd = whorl_window_fd(s), .events = POLLIN};
	ck_assert_int_eq(whorl_window_arm(s), WHORL_AGAIN);
	ck_assert_int_eq(poll(&fd, 1, 0), 0);
	whorl_close(c.nodes[1], 0);
	c.nodes[1] = NULL;
	ck_assert_int_eq(poll(&fd, 1, PATIENCE_MS), 1);
	ck_ok(whorl_window_arm(s)); /* "claim at once" */
	ck_ok(whorl_window_arm(s));
	ck_assert_int_eq(whorl_claim(s, 1, &(struct whorl_claim){0}), WHORL_MEMBER_GONE);
	ck_ok(whorl_abort(&claim));
	cluster_free(&c);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("group: close");
	TCase *t = tcase_create("close");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, close_drains_what_was_committed);
	tcase_add_test(t, close_delivers_what_is_stable_after_a_member_left);
	tcase_add_test(t, close_gives_up_what_a_member_that_left_will_not_deliver);
	tcase_add_test(t, close_of_a_node_that_never_met_anybody);
	tcase_add_test(t, close_refuses_a_negative_time);
	tcase_add_test(t, open_claims_stay_valid_when_the_node_closes);
	tcase_add_test(t, commits_race_with_close);
	tcase_add_test(t, a_member_that_leaves_is_named);
	tcase_add_test(t, a_member_that_is_killed_is_named);
	tcase_add_test(t, a_member_that_is_stopped_is_not_heard);
	tcase_add_test(t, a_failure_ends_the_wait_for_the_window);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return test_main(suite());
}
