/* test_group_fork.c - a child of fork() inherits a node that it may only close; the parent does not notice.
 * Labels: threads
 */
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>

#include "tests/support/group.h"

/* In the child: 0, or the line of the first call that did not answer as it should. */
#define EXPECT(call, result)                                                                                           \
	do {                                                                                                           \
		if ((call) != (result))                                                                                \
			return __LINE__ % 250 + 1;                                                                     \
	} while (0)

/* `entered` is a handle of the parent's, which it has entered or is entering. */
static int use_what_was_entered(whorl_node *node, whorl_subgroup *entered)
{
	whorl_subgroup *other = entered;
	struct whorl_claim claim;
	uint32_t members = 1;

	EXPECT(whorl_subgroup_enter(node, "more", NULL, 0, &other), WHORL_FORKED);
	EXPECT(other == NULL, true);
	EXPECT(whorl_subgroup_enter(node, "more", NULL, 1000, &other), WHORL_FORKED);
	EXPECT(whorl_subgroup_ready(entered, 0), WHORL_FORKED);
	EXPECT(whorl_subgroup_ready(entered, 1000), WHORL_FORKED);
	EXPECT(whorl_subgroup_error(entered, NULL, 0), WHORL_FORKED);
	EXPECT(whorl_subgroup_members(entered, NULL, &members), WHORL_FORKED);
	EXPECT(whorl_claim(entered, 1, &claim), WHORL_FORKED);
	EXPECT(whorl_subgroup_leave(entered, 0), WHORL_FORKED);
	EXPECT(whorl_subgroup_leave(entered, 1000), WHORL_FORKED);
	EXPECT(whorl_subgroup_release(entered), WHORL_FORKED);
	return 0;
}

static int use_what_was_inherited(struct cluster *c, struct whorl_claim *open, whorl_subgroup *entered)
{
	whorl_node *node = c->nodes[0];
	whorl_subgroup *s = whorl_subgroup_find(node, "s");
	struct whorl_subgroup_stats subgroup_stats = {.size = sizeof(subgroup_stats)};
	struct whorl_subgroup_info info = {.size = sizeof(info)};
	struct whorl_node_stats stats = {.size = sizeof(stats)};
	struct whorl_claim claim;
	uint32_t members = 1;
	char text[128];

	EXPECT(whorl_start(node), WHORL_FORKED);
	EXPECT(whorl_ready(node, 0), WHORL_FORKED);
	EXPECT(whorl_ready(node, 1000), WHORL_FORKED);
	EXPECT(whorl_error(node, text, sizeof(text)), WHORL_FORKED);
	EXPECT(strcmp(text, whorl_result_text(WHORL_FORKED)), 0);
	EXPECT(whorl_step(node), 0);
	EXPECT(whorl_arm(node), 0);
	EXPECT(whorl_fd(node), -1);
	EXPECT(whorl_wait(node, 1000), WHORL_FORKED);
	EXPECT(whorl_on_message(s, NULL, NULL), WHORL_FORKED);
	EXPECT(whorl_on_batch(s, NULL, NULL), WHORL_FORKED);
	EXPECT(whorl_claim(s, 1, &claim), WHORL_FORKED);
	EXPECT(whorl_claim_wait(s, 1, 1000, &claim), WHORL_FORKED);
	EXPECT(whorl_send(s, "x", 1, 1000, NULL), WHORL_FORKED);
	EXPECT(whorl_commit(open, 1), WHORL_FORKED);
	EXPECT(whorl_abort(open), WHORL_FORKED);
	EXPECT(whorl_claim_many(s, 1, 1, &claim), WHORL_FORKED);
	EXPECT(whorl_commit_many(open, 1, NULL), WHORL_FORKED);
	EXPECT(whorl_frontier_get(s, WHORL_DELIVERED_BY_ALL), 0);
	EXPECT(whorl_frontier_wait(s, WHORL_DELIVERED_BY_ALL, 0, 1000), WHORL_FORKED);
	EXPECT(whorl_frontier_fd(s), -1);
	EXPECT(whorl_frontier_arm(s, WHORL_DELIVERED_BY_ALL, 0), WHORL_FORKED);
	EXPECT(whorl_window_fd(s), -1);
	EXPECT(whorl_window_arm(s), WHORL_FORKED);
	EXPECT(whorl_node_statistics(node, &stats), WHORL_FORKED);
	EXPECT(whorl_subgroup_statistics(s, &subgroup_stats), WHORL_FORKED);
	EXPECT(whorl_subgroup_describe(s, &info), WHORL_FORKED);
	EXPECT(whorl_shard_state(node, "s", 0), WHORL_FORKED);
	EXPECT(whorl_on_view(node, NULL, NULL), WHORL_FORKED);
	EXPECT(whorl_view_members(node, NULL, NULL, &members), WHORL_FORKED);
	EXPECT(whorl_node_count(node), 0);
	EXPECT(use_what_was_entered(node, entered), 0);
	whorl_set_log(node, NULL, NULL);
	EXPECT(whorl_close(node, 1000), WHORL_OK);
	EXPECT(whorl_close(c->nodes[1], -1), WHORL_OK);
	return 0;
}

static int wait_for(pid_t child)
{
	int status;

	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

struct worker {
	struct cluster *cluster;
	atomic_bool stop;
};

static void *wait_again_and_again(void *ctx)
{
	struct worker *worker = ctx;

	while (!atomic_load(&worker->stop))
		ck_assert_int_eq(whorl_ready(worker->cluster->nodes[2], 50), WHORL_TIMEOUT);
	return NULL;
}

static void *send_all_the_time(void *ctx)
{
	struct worker *worker = ctx;

	while (!atomic_load(&worker->stop))
		ck_ok(whorl_send(subgroup_of(worker->cluster, 1, "s"), "message", 7, PATIENCE_MS, NULL));
	return NULL;
}

TEST_CASE("fork", .timeout_s = 60);

/* Threads of the parent stand in the middle of everything when the children are made: whatever lock they hold is held
 * for ever in a child. */
TEST_LOOP(a_child_may_only_close, 0, 2)
{
	bool caller = _i == 1;
	struct cluster c, other;
	struct worker sending = {.cluster = &c}, waiting = {.cluster = &other};
	struct whorl_claim open;
	whorl_subgroup *entered;
	pthread_t sender, waiter;

	cluster_open(&c, 2, "",
		     caller ? "[subgroup s]\nwindow = 4\n[engine]\nthread = caller\n" : "[subgroup s]\nwindow = 4\n");
	cluster_record(&c, "s");
	cluster_start(&c);
	cluster_configure(&other, 3, "", "[subgroup t]\n"); /* never ready: the others do not come */
	cluster_open_node(&other, 2);
	ck_ok(whorl_start(other.nodes[2]));
	ck_ok(whorl_claim(subgroup_of(&c, 0, "s"), 1, &open));
	ck_assert_int_eq(whorl_subgroup_enter(c.nodes[0], "topic", NULL, 0, &entered), WHORL_TIMEOUT);
	pthread_create(&waiter, NULL, wait_again_and_again, &waiting);
	if (!caller)
		pthread_create(&sender, NULL, send_all_the_time, &sending);
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();

		if (child == 0) {
			int failed = use_what_was_inherited(&c, &open, entered);

			_exit(failed != 0 ? failed : whorl_close(other.nodes[2], 0) != WHORL_OK);
		}
		ck_assert_int_eq(wait_for(child), 0);
	}
	ck_ok(whorl_commit(&open, 1)); /* the parent is as it was */
	await(all_recorded(c.records, 2, caller ? 1 : 100), cluster_step(&c));
	await(whorl_subgroup_ready(entered, 0) == WHORL_OK, cluster_step(&c));
	atomic_store(&waiting.stop, true);
	atomic_store(&sending.stop, true);
	pthread_join(waiter, NULL);
	if (!caller)
		pthread_join(sender, NULL);
	ck_ok(whorl_error(c.nodes[0], NULL, 0));
	ck_ok(whorl_error(c.nodes[1], NULL, 0));
	cluster_free(&other);
	cluster_free(&c);
}

TEST_SUITE("group: fork")
