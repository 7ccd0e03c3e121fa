/* test_group_frontiers.c - what a program is told of its messages: which all have received, which all have delivered; by looking, by
 * waiting, by a descriptor; across views, and when its node ends.
 * Labels: threads
 */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

#include "tests/ports.h"
#include "tests/support/empty_state.h"
#include "tests/support/group.h"

#define CALLER "[engine]\nthread = caller\n"
#define FAR "failure_timeout_ms = 600000\n" /* no node is overdue */

enum { ON_SHM, ON_TCP, TRANSPORTS };

/* ---- groups --------------------------------------------------------------------------------------------------------------- */

/* Nodes that are opened, and not started. */
static void open_on(struct cluster *c, int transport, unsigned nodes, const char *group, const char *rest)
{
	char lines[256], sections[1024] = "";
	unsigned ports[NODES_MAX];

	ck_assert(test_find_ports(ports, nodes));
	for (unsigned id = 0; transport == ON_TCP && id < nodes; id++)
		snprintf(sections + strlen(sections), sizeof(sections) - strlen(sections),
			 "[node %u]\naddress = 127.0.0.1:%u\n", id, ports[id]);
	snprintf(lines, sizeof(lines), "%s%s", group, transport == ON_TCP ? "transport = tcp\n" : "");
	strncat(sections, rest, sizeof(sections) - strlen(sections) - 1);
	cluster_open(c, nodes, lines, sections);
}

static uint64_t received(struct cluster *c, unsigned id)
{
	return whorl_frontier_get(subgroup_of(c, id, "s"), WHORL_RECEIVED_BY_ALL);
}

static uint64_t delivered(struct cluster *c, unsigned id)
{
	return whorl_frontier_get(subgroup_of(c, id, "s"), WHORL_DELIVERED_BY_ALL);
}

static uint64_t send_one(struct cluster *c, unsigned id)
{
	uint64_t index = UINT64_MAX;

	ck_ok(whorl_send(subgroup_of(c, id, "s"), "x", 1, 0, &index));
	return index;
}

/* An upcall that takes as long as the test wants. */
struct gate {
	atomic_bool shut, inside;
};

static void wait_at_gate(const struct whorl_message *message, void *ctx)
{
	struct gate *gate = ctx;

	(void)message;
	atomic_store(&gate->inside, true);
	while (atomic_load(&gate->shut))
		sched_yield();
}

static void finish_cluster(struct cluster *c)
{
	for (unsigned id = 0; id < c->count; id++)
		if (c->nodes[id] != NULL) {
			ck_ok(whorl_close(c->nodes[id], PATIENCE_MS));
			c->nodes[id] = NULL;
		}
	cluster_free(c);
}

/* ---- what they say ----------------------------------------------------------------------------------------------------- */

TEST_CASE("frontiers", .timeout_s = 60);

/* Received by all, while one is still at work on it. (On tcp it would say so at the end of that pass.) */
TEST(a_slow_upcall_holds_the_second)
{
	struct gate gate = {true, false};
	struct cluster c;

	open_on(&c, ON_SHM, 3, FAR, "[subgroup s]\n");
	ck_ok(whorl_on_message(subgroup_of(&c, 2, "s"), wait_at_gate, &gate));
	cluster_start(&c);
	ck_assert_uint_eq(received(&c, 0), 0);
	ck_assert_uint_eq(send_one(&c, 0), 0);
	ck_ok(whorl_frontier_wait(subgroup_of(&c, 0, "s"), WHORL_RECEIVED_BY_ALL, 0, PATIENCE_MS));
	await(atomic_load(&gate.inside), sched_yield());
	ck_assert_int_eq(whorl_frontier_wait(subgroup_of(&c, 0, "s"), WHORL_DELIVERED_BY_ALL, 0, 30), WHORL_TIMEOUT);
	ck_assert_uint_eq(delivered(&c, 0), 0);
	atomic_store(&gate.shut, false);
	ck_ok(whorl_frontier_wait(subgroup_of(&c, 0, "s"), WHORL_DELIVERED_BY_ALL, 0, PATIENCE_MS));
	ck_assert_uint_eq(delivered(&c, 0), 1);
	ck_assert_uint_eq(received(&c, 0), 1);
	ck_assert_uint_eq(delivered(&c, 1), 0); /* it has sent nothing */
	finish_cluster(&c);
}

/* Nobody's upcall has seen the aborted one, and an open one holds up what comes behind it. */
TEST(aborted_claims_are_passed_over)
{
	struct whorl_claim claims[3];
	struct cluster c;

	open_on(&c, ON_SHM, 2, FAR, "[subgroup s]\n" CALLER);
	cluster_record(&c, "s");
	cluster_start(&c);
	ck_ok(whorl_claim_many(subgroup_of(&c, 0, "s"), 1, 3, claims));
	ck_ok(whorl_commit(&claims[0], 1));
	ck_ok(whorl_commit(&claims[2], 1));
	cluster_hush(&c);
	ck_assert_uint_eq(delivered(&c, 0), 1);
	ck_ok(whorl_abort(&claims[1]));
	cluster_hush(&c);
	ck_assert_uint_eq(delivered(&c, 0), 3);
	ck_assert_uint_eq(received(&c, 0), 3);
	ck_assert_uint_eq(recorded(c.records[1]), 2);
	ck_assert_uint_eq(c.records[1]->entries[1].index, 2);
	finish_cluster(&c);
}

TEST_LOOP(without_an_order_both_are_one, 0, TRANSPORTS)
{
	struct cluster c;

	open_on(&c, _i, 2, FAR, "[subgroup s]\nmode = unordered\n" CALLER);
	cluster_record(&c, "s");
	cluster_start(&c);
	for (unsigned i = 0; i < 5; i++)
		ck_assert_uint_eq(send_one(&c, 1), i);
	ck_ok(whorl_frontier_wait(subgroup_of(&c, 1, "s"), WHORL_RECEIVED_BY_ALL, 4, 0) == WHORL_TIMEOUT ? WHORL_OK
													 : WHORL_AGAIN);
	await(delivered(&c, 1) == 5, cluster_step(&c));
	ck_assert_uint_eq(received(&c, 1), 5);
	ck_assert_uint_eq(recorded(c.records[0]), 5);
	finish_cluster(&c);
}

/* ---- across views ---------------------------------------------------------------------------------------------------------- */

struct slow { /* a node that a thread of its own makes passes of */
	whorl_node *node;
	atomic_bool over;
	atomic_uint passes;
	pthread_t thread;
};

static void *make_passes(void *ctx)
{
	struct slow *slow = ctx;

	while (!atomic_load(&slow->over)) {
		if (whorl_step(slow->node) == 0)
			sched_yield();
		atomic_fetch_add(&slow->passes, 1);
	}
	return NULL;
}

/* Node 0 makes a pass, then 3, then 1: on tcp what 3 says in the pass in which it begins to deliver comes later. */
static void go_on_to_the_cut(struct cluster *c, struct slow *slow, struct gate *gate)
{
	unsigned passes;

	whorl_step(c->nodes[0]);
	passes = atomic_load(&slow->passes);
	await(atomic_load(&slow->passes) - passes > 10 || atomic_load(&gate->inside), sched_yield());
	whorl_step(c->nodes[1]);
}

static uint64_t received_num(struct cluster *c, unsigned id)
{
	return stats_of(subgroup_of(c, id, "s")).received_num;
}

/* Node 0 is in the next view, and has delivered its message of the view before; node 3 is in its upcall still, below the cut. A message
 * of the next view changes nothing about that. */
TEST_LOOP(a_member_that_is_late_below_the_cut_counts, 0, TRANSPORTS)
{
	struct gate gate = {true, false};
	struct cluster c;
	struct slow slow;

	open_on(&c, _i, 4, FAR, "[subgroup s]\nsenders = 0\n" CALLER);
	cluster_record(&c, "s");
	ck_ok(whorl_on_message(subgroup_of(&c, 3, "s"), NULL, NULL));
	ck_ok(whorl_on_message(subgroup_of(&c, 3, "s"), wait_at_gate, &gate));
	cluster_start(&c);
	cluster_hush(&c);
	ck_assert_uint_eq(send_one(&c, 0), 0);
	for (unsigned id = 0; id < 4; id++) /* node 2 does not take it in, so no node delivers it */
		if (id != 2)
			await(received_num(&c, id) == 1, whorl_step(c.nodes[0]); whorl_step(c.nodes[id]));
	ck_assert_uint_eq(recorded(c.records[0]), 0);
	cluster_leave(&c, 2);
	slow = (struct slow){.node = c.nodes[3]};
	pthread_create(&slow.thread, NULL, make_passes, &slow);
	await(view_of(c.nodes[0]) == 1 && view_of(c.nodes[1]) == 1 && atomic_load(&gate.inside),
	      go_on_to_the_cut(&c, &slow, &gate));
	ck_assert_uint_eq(recorded(c.records[0]), 1);
	ck_assert_uint_eq(received(&c, 0), 1);
	ck_assert_uint_eq(send_one(&c, 0), 1);
	for (unsigned i = 0; i < 200; i++) {
		whorl_step(c.nodes[0]);
		whorl_step(c.nodes[1]);
	}
	ck_assert_uint_eq(delivered(&c, 0), 0);
	ck_assert_int_eq(whorl_frontier_wait(subgroup_of(&c, 0, "s"), WHORL_DELIVERED_BY_ALL, 0, 20), WHORL_TIMEOUT);
	ck_assert_int_eq(whorl_frontier_arm(subgroup_of(&c, 0, "s"), WHORL_DELIVERED_BY_ALL, 0), WHORL_AGAIN);
	atomic_store(&gate.shut, false);
	await(delivered(&c, 0) == 2, whorl_step(c.nodes[0]); whorl_step(c.nodes[1]));
	atomic_store(&slow.over, true);
	pthread_join(slow.thread, NULL);
	finish_cluster(&c);
}

/* Indexes go on through views, and so do the frontiers. */
TEST(a_view_renumbers_nothing)
{
	struct cluster c;

	open_on(&c, ON_SHM, 4, FAR, "[subgroup s]\nwindow = 3\n" CALLER);
	cluster_record(&c, "s");
	cluster_start(&c);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_uint_eq(send_one(&c, 1), i);
	cluster_hush(&c);
	ck_assert_uint_eq(delivered(&c, 1), 3);
	ck_assert_uint_eq(send_one(&c, 1), 3);
	whorl_step(c.nodes[1]);
	cluster_leave(&c, 0); /* the message may have to be sent again */
	cluster_await_view(&c, 1);
	await(delivered(&c, 1) == 4, cluster_step(&c));
	ck_assert_uint_eq(send_one(&c, 1), 4);
	await(delivered(&c, 1) == 5, cluster_step(&c));
	ck_assert_uint_eq(recorded(c.records[2]), 5);
	ck_assert_uint_eq(c.records[2]->entries[4].index, 4);
	finish_cluster(&c);
}

/* ---- newcomers -------------------------------------------------------------------------------------------------------------- */

static bool restore_at_gate(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	struct gate *gate = ctx;

	(void)bytes;
	(void)count;
	atomic_store(&gate->inside, true);
	while (step == WHORL_RESTORE_BEGIN && atomic_load(&gate->shut))
		sched_yield();
	return true;
}

static void set_state(struct cluster *c, unsigned id, struct gate *gate)
{
	ck_ok(whorl_on_state(subgroup_of(c, id, "s"), &(struct whorl_state){.size = sizeof(struct whorl_state),
									    .snapshot = take_snapshot,
									    .read = read_snapshot,
									    .release = release_snapshot,
									    .restore = restore_at_gate,
									    .ctx = gate}));
}

/* It keeps back what is delivered: that counts, though its program has seen none of it. */
TEST(a_newcomer_counts_at_once)
{
	struct gate gate = {true, false};
	struct cluster c;

	cluster_configure(&c, 2, "nodes_max = 3\n" FAR, "[subgroup s]\n" CALLER);
	for (unsigned id = 0; id < 2; id++) {
		cluster_open_node(&c, id);
		set_state(&c, id, &gate);
	}
	cluster_start(&c);
	c.count = 3;
	cluster_open_node(&c, 2);
	set_state(&c, 2, &gate);
	ck_ok(whorl_on_message(subgroup_of(&c, 2, "s"), record_message, c.records[2]));
	ck_ok(whorl_start(c.nodes[2]));
	await(whorl_node_count(c.nodes[2]) == 3 && whorl_node_count(c.nodes[0]) == 3 && atomic_load(&gate.inside),
	      cluster_step(&c));
	send_one(&c, 0);
	await(delivered(&c, 0) == 1, cluster_step(&c));
	ck_assert_int_eq(whorl_ready(c.nodes[2], 0), WHORL_TIMEOUT);
	ck_assert_uint_eq(recorded(c.records[2]), 0);
	atomic_store(&gate.shut, false);
	await(whorl_ready(c.nodes[2], 0) == WHORL_OK, cluster_step(&c));
	cluster_free(&c);
}

/* ---- ends ---------------------------------------------------------------------------------------------------------------------- */

struct waiter {
	whorl_subgroup *subgroup;
	uint64_t index;
	int timeout_ms;
	atomic_bool enters, done;
	enum whorl_result result;
	pthread_t thread;
};

static void *wait_for_all(void *ctx)
{
	struct waiter *w = ctx;

	atomic_store(&w->enters, true);
	w->result = whorl_frontier_wait(w->subgroup, WHORL_DELIVERED_BY_ALL, w->index, w->timeout_ms);
	atomic_store(&w->done, true);
	return NULL;
}

static void begin_to_wait(struct waiter *w, whorl_subgroup *subgroup, uint64_t index)
{
	*w = (struct waiter){.subgroup = subgroup, .index = index, .timeout_ms = PATIENCE_MS};
	pthread_create(&w->thread, NULL, wait_for_all, w);
	await(atomic_load(&w->enters), sched_yield());
	poll(NULL, 0, 5); /* it sleeps by now, most often */
}

static enum whorl_result end_of_wait(struct waiter *w)
{
	pthread_join(w->thread, NULL);
	return w->result;
}

/* The others have gone on without it; what it knew then it knows, and no more. */
TEST(a_removed_node_learns_nothing_more)
{
	struct cluster c;
	uint64_t told, before;
	whorl_subgroup *s;

	open_on(&c, ON_SHM, 3, "failure_timeout_ms = 50\n", "[subgroup s]\n" CALLER);
	cluster_start(&c);
	s = subgroup_of(&c, 2, "s");
	send_one(&c, 2);
	await(delivered(&c, 2) == 1, cluster_step(&c));
	send_one(&c, 2);
	ck_assert_int_eq(whorl_frontier_arm(s, WHORL_RECEIVED_BY_ALL, 1), WHORL_AGAIN);
	whorl_step(c.nodes[2]);
	before = received(&c, 2);
	await(view_of(c.nodes[0]) > 0 && view_of(c.nodes[1]) > 0, whorl_step(c.nodes[0]); whorl_step(c.nodes[1]));
	await(whorl_error(c.nodes[2], NULL, 0) == WHORL_REMOVED, whorl_step(c.nodes[2]));
	ck_assert_uint_eq(delivered(&c, 2), 1);
	ck_assert_uint_eq(received(&c, 2), before);
	ck_ok(whorl_frontier_wait(s, WHORL_DELIVERED_BY_ALL, 0, PATIENCE_MS));
	ck_assert_int_eq(whorl_frontier_wait(s, WHORL_DELIVERED_BY_ALL, 1, PATIENCE_MS), WHORL_REMOVED);
	ck_assert_int_eq(whorl_frontier_wait(s, WHORL_DELIVERED_BY_ALL, 1, 0), WHORL_REMOVED);
	ck_assert_int_eq(whorl_frontier_arm(s, WHORL_DELIVERED_BY_ALL, 1), WHORL_REMOVED);
	ck_assert_int_eq(read(whorl_frontier_fd(s), &told, sizeof(told)), sizeof(told));
	ck_assert_int_eq(read(whorl_frontier_fd(s), &told, sizeof(told)), -1);
	cluster_free(&c);
}

static void let_others_go_on(struct cluster *c, struct waiter *w)
{
	await(atomic_load(&w->done), whorl_step(c->nodes[0]); whorl_step(c->nodes[1]); whorl_step(c->nodes[2]));
}

/* A thread that waits when that comes is woken. */
TEST(removal_ends_a_wait)
{
	struct cluster c;
	struct waiter w;

	open_on(&c, ON_SHM, 3, "failure_timeout_ms = 50\n", "[subgroup s]\n" CALLER);
	cluster_start(&c);
	await(view_of(c.nodes[0]) > 0 && view_of(c.nodes[1]) > 0, whorl_step(c.nodes[0]); whorl_step(c.nodes[1]));
	begin_to_wait(&w, subgroup_of(&c, 2, "s"), 5);
	let_others_go_on(&c, &w);
	ck_assert_int_eq(end_of_wait(&w), WHORL_REMOVED);
	cluster_free(&c);
}

/* It waits as long as the node drains, and no longer. With thread = caller the threads that wait make the passes, too. */
TEST_LOOP(close_ends_a_wait, 0, 2 * TRANSPORTS)
{
	struct gate gate = {true, false};
	struct cluster c;
	struct waiter w[3];

	open_on(&c, _i % TRANSPORTS, 2, FAR, _i < TRANSPORTS ? "[subgroup s]\n" : "[subgroup s]\n" CALLER);
	ck_ok(whorl_on_message(subgroup_of(&c, 1, "s"), wait_at_gate, &gate));
	cluster_start(&c);
	send_one(&c, 0);
	for (unsigned i = 0; i < 3; i++)
		begin_to_wait(&w[i], subgroup_of(&c, 0, "s"), i);
	ck_assert_int_eq(whorl_close(c.nodes[0], 50), WHORL_TIMEOUT);
	c.nodes[0] = NULL;
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(end_of_wait(&w[i]), WHORL_CLOSED);
	atomic_store(&gate.shut, false);
	cluster_free(&c);
}

static void *open_gate_soon(void *ctx)
{
	struct gate *gate = ctx;

	await(atomic_load(&gate->inside), sched_yield());
	poll(NULL, 0, 10);
	atomic_store(&gate->shut, false);
	return NULL;
}

TEST(what_comes_while_it_drains_is_told)
{
	struct gate gate = {true, false};
	struct cluster c;
	struct waiter w;
	pthread_t opener;

	open_on(&c, ON_SHM, 2, FAR, "[subgroup s]\n");
	ck_ok(whorl_on_message(subgroup_of(&c, 1, "s"), wait_at_gate, &gate));
	cluster_start(&c);
	send_one(&c, 0);
	begin_to_wait(&w, subgroup_of(&c, 0, "s"), 0);
	pthread_create(&opener, NULL, open_gate_soon, &gate);
	ck_ok(whorl_close(c.nodes[0], PATIENCE_MS));
	c.nodes[0] = NULL;
	ck_ok(end_of_wait(&w));
	pthread_join(opener, NULL);
	cluster_free(&c);
}

/* ---- taken out of the shard -------------------------------------------------------------------------------------------------- */

static enum whorl_role role_of(const struct whorl_view *view, const char *name, uint32_t shard, uint32_t id, void *ctx)
{
	(void)name;
	(void)shard;
	(void)ctx;
	return id != 1 || view->member_count == 4 ? WHORL_SENDER : WHORL_NO_MEMBER;
}

struct gone {
	uint64_t first, end, past;
};

static void note_gone(whorl_subgroup *subgroup, uint64_t first, uint64_t end, void *ctx)
{
	*(struct gone *)ctx = (struct gone){first, end, whorl_frontier_get(subgroup, WHORL_RECEIVED_BY_ALL)};
}

/* What is gone is past once the program knows of it. */
TEST(what_is_gone_is_told_first)
{
	struct whorl_open_options options = {.size = sizeof(options), .layout = role_of};
	struct whorl_claim claims[2];
	struct gone gone = {0};
	struct cluster c;

	cluster_configure(&c, 4, FAR, "[subgroup s]\nmembers = function\n" CALLER);
	c.options = &options;
	for (unsigned id = 0; id < 4; id++)
		cluster_open_node(&c, id);
	ck_ok(whorl_on_gone(subgroup_of(&c, 1, "s"), note_gone, &gone));
	cluster_start(&c);
	send_one(&c, 1);
	await(delivered(&c, 1) == 1, cluster_step(&c));
	ck_ok(whorl_claim_many(subgroup_of(&c, 1, "s"), 1, 2, claims));
	cluster_leave(&c, 3);
	cluster_await_view(&c, 1);
	ck_assert_uint_eq(gone.first, 1);
	ck_assert_uint_eq(gone.end, 3);
	ck_assert_uint_eq(gone.past, 1);
	await(delivered(&c, 1) == 3, cluster_step(&c));
	ck_assert_uint_eq(received(&c, 1), 3);
	ck_assert_int_eq(whorl_commit_many(claims, 2, NULL), WHORL_NOT_SENDER);
	finish_cluster(&c);
}

/* ---- waiting --------------------------------------------------------------------------------------------------------------------- */

TEST(too_few_are_heard)
{
	struct cluster c;
	uint64_t began;

	open_on(&c, ON_TCP, 2, "failure_timeout_ms = 50\n", "[subgroup s]\n" CALLER);
	cluster_start(&c);
	send_one(&c, 0);
	/* A node that was stopped itself for so long hears all for a while, and then the time runs out. */
	await((began = now_ms(), whorl_frontier_wait(subgroup_of(&c, 0, "s"), WHORL_RECEIVED_BY_ALL, 0, 30)) ==
		      WHORL_NO_QUORUM,
	      whorl_step(c.nodes[0]));
	ck_assert_uint_ge(now_ms() - began, 30);
	await(delivered(&c, 0) == 1, cluster_step(&c));
	cluster_free(&c);
}

static void wait_in_upcall(const struct whorl_message *message, void *ctx)
{
	enum whorl_result *results = ctx;

	results[0] = whorl_frontier_wait(message->subgroup, WHORL_DELIVERED_BY_ALL, message->index, 1);
	results[1] = whorl_frontier_wait(message->subgroup, WHORL_DELIVERED_BY_ALL, message->index, 0);
	results[2] = whorl_frontier_arm(message->subgroup, WHORL_DELIVERED_BY_ALL, message->index);
}

TEST(upcalls_do_not_wait)
{
	enum whorl_result results[3] = {WHORL_OK, WHORL_OK, WHORL_OK};
	struct pollfd told;
	struct cluster c;

	open_on(&c, ON_SHM, 2, FAR, "[subgroup s]\n");
	ck_ok(whorl_on_message(subgroup_of(&c, 0, "s"), wait_in_upcall, results));
	cluster_start(&c);
	told = (struct pollfd){.fd = whorl_frontier_fd(subgroup_of(&c, 0, "s")), .events = POLLIN};
	send_one(&c, 0);
	ck_assert_int_eq(poll(&told, 1, PATIENCE_MS), 1);
	ck_assert_uint_eq(delivered(&c, 0), 1); /* what this node's upcall has written can be read now */
	ck_assert_int_eq(results[0], WHORL_WOULD_DEADLOCK);
	ck_assert_int_eq(results[1], WHORL_TIMEOUT);
	ck_assert_int_eq(results[2], WHORL_AGAIN);
	finish_cluster(&c);
}

/* With thread = caller the thread that waits makes the passes. */
TEST(a_wait_drives_the_loop)
{
	struct cluster c;

	open_on(&c, ON_SHM, 1, FAR, "[subgroup s]\n" CALLER);
	ck_ok(whorl_start(c.nodes[0]));
	ck_ok(whorl_ready(c.nodes[0], PATIENCE_MS));
	for (unsigned i = 0; i < 50; i++)
		ck_ok(whorl_frontier_wait(subgroup_of(&c, 0, "s"), WHORL_DELIVERED_BY_ALL, send_one(&c, 0),
					  PATIENCE_MS));
	ck_assert_int_eq(whorl_frontier_wait(subgroup_of(&c, 0, "s"), WHORL_DELIVERED_BY_ALL, 50, 3), WHORL_TIMEOUT);
	finish_cluster(&c);
}

#define SENDERS 3
#define EACH 400

static void *send_and_wait(void *ctx)
{
	whorl_subgroup *s = ctx;

	for (unsigned i = 0; i < EACH; i++) {
		uint64_t index;

		ck_ok(whorl_send(s, "x", 1, PATIENCE_MS, &index));
		if (i % 3 != 0)
			continue;
		ck_ok(whorl_frontier_wait(s, i % 2 ? WHORL_DELIVERED_BY_ALL : WHORL_RECEIVED_BY_ALL, index,
					  PATIENCE_MS));
		ck_assert_uint_gt(whorl_frontier_get(s, WHORL_RECEIVED_BY_ALL), index);
	}
	return NULL;
}

/* Many threads, each for its own messages. */
TEST_LOOP(threads_wait_for_what_they_send, 0, 2 * TRANSPORTS)
{
	pthread_t threads[SENDERS];
	struct cluster c;

	open_on(&c, _i % 2, 2, FAR, _i < 2 ? "[subgroup s]\n" : "[subgroup s]\nmode = unordered\n");
	cluster_start(&c);
	for (unsigned i = 0; i < SENDERS; i++)
		pthread_create(&threads[i], NULL, send_and_wait, subgroup_of(&c, 0, "s"));
	for (unsigned i = 0; i < SENDERS; i++)
		pthread_join(threads[i], NULL);
	ck_ok(whorl_frontier_wait(subgroup_of(&c, 0, "s"), WHORL_DELIVERED_BY_ALL, SENDERS * EACH - 1, PATIENCE_MS));
	ck_assert_uint_eq(delivered(&c, 0), SENDERS * EACH);
	finish_cluster(&c);
}

TEST_SUITE("group: frontiers")
