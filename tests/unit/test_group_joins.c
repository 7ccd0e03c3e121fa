/* Groups that begin, grow and shrink: first views, newcomers, their state, senders that rest. Nodes of this process, with the
 * public API.
 * Labels: threads
 */
#include <stdlib.h>

#include "tests/support/group.h"

#define FAR "failure_timeout_ms = 600000\n"
#define CALLER "[engine]\nthread = caller\n"

/* ---- a state: the sum of all first words, and how many there were ----------------------------------------------------------- */

struct sum {
	atomic_ulong count, total;
	unsigned long restored;    /* count as it was restored */
	unsigned begun, snapshots; /* how often */
	atomic_int released, out;  /* snapshots given back; still out */
	size_t padding;            /* bytes behind it */
	size_t taken;              /* of them, while restoring */
	unsigned long given[4];    /* while restoring: count, total, and the position */
	uint64_t view, sequence;   /* the place behind the last message that was upcalled, or was in the state */
	bool fails;                /* gives no snapshot */
	bool waits;                /* restores no further than its bytes, until: */
	atomic_bool may_go_on;
};

struct snapshot {
	unsigned long words[4];
	size_t padding, at;
};

static void *sum_snapshot(const struct whorl_position *position, void *ctx)
{
	struct sum *sum = ctx;
	struct snapshot *snapshot;

	if (sum->fails)
		return NULL;
	/* All that was upcalled is before it. What comes is not, as sum_add sees: here, and where it is restored. */
	ck_assert(position->view > sum->view || (position->view == sum->view && position->sequence >= sum->sequence));
	sum->view = position->view;
	sum->sequence = position->sequence;
	snapshot = malloc(sizeof(*snapshot));
	*snapshot =
		(struct snapshot){.words = {sum->count, sum->total, sum->view, sum->sequence}, .padding = sum->padding};
	sum->snapshots++;
	atomic_fetch_add(&sum->out, 1);
	return snapshot;
}

static ptrdiff_t sum_read(void *handle, void *bytes, size_t count, void *ctx)
{
	struct snapshot *snapshot = handle;
	size_t all = sizeof(snapshot->words) + snapshot->padding, n = all - snapshot->at;

	(void)ctx;
	n = n < count ? n : count;
	memset(bytes, 7, n);
	if (snapshot->at == 0)
		memcpy(bytes, snapshot->words, sizeof(snapshot->words));
	snapshot->at += n;
	return (ptrdiff_t)n;
}

static void sum_release(void *handle, void *ctx)
{
	struct sum *sum = ctx;

	free(handle);
	atomic_fetch_add(&sum->released, 1);
	atomic_fetch_sub(&sum->out, 1);
}

static bool sum_restore(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	struct sum *sum = ctx;
	size_t head;

	if (step == WHORL_RESTORE_BEGIN) {
		sum->taken = 0;
		sum->begun++;
	}
	head = sum->taken < sizeof(sum->given) ? sizeof(sum->given) - sum->taken : 0;
	if (step == WHORL_RESTORE_BYTES) {
		memcpy((char *)sum->given + (sizeof(sum->given) - head), bytes, head < count ? head : count);
		sum->taken += count;
	}
	while (step == WHORL_RESTORE_END && sum->waits && !atomic_load(&sum->may_go_on))
		sched_yield();
	if (step == WHORL_RESTORE_END) {
		sum->restored = sum->given[0];
		sum->view = sum->given[2];
		sum->sequence = sum->given[3];
		atomic_store(&sum->total, sum->given[1]);
		atomic_store(&sum->count, sum->given[0]);
	}
	return true;
}

static void sum_add(const struct whorl_message *message, void *ctx)
{
	struct sum *sum = ctx;
	unsigned long word = 0;

	ck_assert(message->view > sum->view || (message->view == sum->view && message->sequence >= sum->sequence));
	sum->view = message->view;
	sum->sequence = message->sequence + 1;
	memcpy(&word, message->data, message->bytes < 8 ? message->bytes : 8);
	atomic_store(&sum->total, sum->total * 31 + word);
	atomic_fetch_add(&sum->count, 1);
}

static void give_state(struct cluster *c, unsigned id, struct sum *sum, const char *name)
{
	whorl_subgroup *subgroup = subgroup_of(c, id, name);

	ck_ok(whorl_on_state(subgroup, &(struct whorl_state){.size = sizeof(struct whorl_state),
							     .snapshot = sum_snapshot,
							     .read = sum_read,
							     .release = sum_release,
							     .restore = sum_restore,
							     .ctx = sum}));
	ck_ok(whorl_on_message(subgroup, sum_add, sum));
}

static void enter(struct cluster *c, unsigned id, struct sum *sum)
{
	free(c->records[id]);
	cluster_open_node(c, id);
	if (sum != NULL)
		give_state(c, id, sum, "s");
	ck_ok(whorl_start(c->nodes[id]));
}

static void send_some(struct cluster *c, unsigned id, unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		unsigned long word = id * 1000000 + i;

		ck_ok(whorl_send(subgroup_of(c, id, "s"), &word, sizeof(word), PATIENCE_MS, NULL));
	}
}

static bool sums_are(const struct cluster *c, const struct sum *sums, unsigned long count)
{
	for (unsigned id = 0; id < c->count; id++)
		if (c->nodes[id] != NULL && (sums[id].count != count || sums[id].total != sums[0].total))
			return false;
	return true;
}

/* ---- first views ----------------------------------------------------------------------------------------------------------- */

TEST_CASE("joins", .timeout_s = 60);

TEST(a_majority_begins_without_the_rest)
{
	struct cluster c;

	cluster_configure(&c, 5, FAR "start_timeout_ms = 50\n", "[subgroup s]\n");
	for (unsigned id = 1; id < 4; id++)
		enter(&c, id, NULL);
	await(cluster_is_ready(&c), sched_yield());
	ck_assert_uint_eq(whorl_node_count(c.nodes[1]), 3);
	await(view_of(c.nodes[1]) == 1, sched_yield()); /* its quorum is its own */
	enter(&c, 4, NULL);
	enter(&c, 0, NULL);
	await(cluster_is_ready(&c), sched_yield());
	await(whorl_node_count(c.nodes[1]) == 5, sched_yield());
	cluster_free(&c);
}

/* Two of three would be no quorum of five: it stays until the quorum is the view's own. */
TEST(a_node_that_leaves_a_bare_majority_lets_it_go_on)
{
	struct cluster c;

	cluster_configure(&c, 5, FAR "start_timeout_ms = 50\n", "[subgroup s]\n");
	for (unsigned id = 1; id < 3; id++)
		enter(&c, id, NULL);
	ck_ok(whorl_config_set(c.config, "engine.thread=caller"));
	enter(&c, 0, NULL); /* which leads */
	await(whorl_ready(c.nodes[1], 0) == WHORL_OK, whorl_step(c.nodes[0]));
	ck_ok(whorl_close(c.nodes[0], PATIENCE_MS));
	c.nodes[0] = NULL;
	await(whorl_node_count(c.nodes[1]) == 2 || whorl_error(c.nodes[1], NULL, 0) != WHORL_OK, sched_yield());
	ck_ok(whorl_error(c.nodes[1], NULL, 0));
	send_some(&c, 1, 1);
	cluster_free(&c);
}

TEST(half_is_no_majority)
{
	struct cluster c;
	char text[256];

	cluster_configure(&c, 4, FAR "start_timeout_ms = 10\n", "[subgroup s]\n" CALLER);
	enter(&c, 0, NULL);
	enter(&c, 3, NULL);
	await((whorl_progress(c.nodes[0], text, sizeof(text)),
	       strcmp(text, "forms a group of 4 nodes; missing: 1 2") == 0),
	      cluster_step(&c));
	for (uint64_t until = now_ms() + 100; now_ms() < until;)
		cluster_step(&c);
	ck_assert_int_eq(whorl_ready(c.nodes[0], 0), WHORL_TIMEOUT);
	enter(&c, 2, NULL);
	await(cluster_is_ready(&c), cluster_step(&c));
	cluster_free(&c);
}

TEST(a_founder_begins_alone)
{
	struct cluster c;
	char text[256];

	cluster_configure(&c, 3, FAR "founder = 1\n", "[subgroup s]\n");
	enter(&c, 0, NULL);
	await((whorl_progress(c.nodes[0], text, sizeof(text)),
	       strcmp(text, "waits for node 1, the founder of the group") == 0),
	      sched_yield());
	enter(&c, 1, NULL);
	await(cluster_is_ready(&c), sched_yield());
	enter(&c, 2, NULL);
	await(cluster_is_ready(&c), sched_yield());
	await(whorl_node_count(c.nodes[1]) == 3, sched_yield());
	cluster_free(&c);
}

TEST(a_node_that_only_joins_forms_nothing)
{
	struct cluster c;
	char text[256];

	cluster_configure(&c, 1, FAR "start = join\n", "[subgroup s]\n");
	enter(&c, 0, NULL);
	await((whorl_progress(c.nodes[0], text, sizeof(text)), strcmp(text, "waits for a group that it can join") == 0),
	      sched_yield());
	ck_assert_int_eq(whorl_ready(c.nodes[0], 50), WHORL_TIMEOUT);
	cluster_free(&c);
}

TEST(eight_at_once_are_one_group)
{
	struct cluster c;

	for (int round = 0; round < 5; round++) {
		cluster_configure(&c, 8, FAR, "[subgroup s]\nwindow = 4\n");
		for (unsigned id = 8; id-- > 0;)
			enter(&c, id, NULL);
		await(cluster_is_ready(&c), sched_yield());
		for (unsigned id = 0; id < 8; id++) {
			ck_assert_uint_eq(view_of(c.nodes[id]), 0);
			ck_assert_uint_eq(whorl_node_count(c.nodes[id]), 8);
		}
		cluster_free(&c);
	}
}

/* ---- newcomers ------------------------------------------------------------------------------------------------------------- */

TEST_LOOP(a_newcomer_has_the_state, 0, 2)
{
	struct sum sums[4] = {0};
	struct cluster c;

	for (unsigned id = 0; id < 4; id++)
		sums[id].padding = _i == 0 ? 0 : 3000000;
	cluster_configure(&c, 3, FAR "nodes_max = 4\n", "[subgroup s]\nwindow = 8\nmessage_bytes = 8\n");
	c.count = 4;
	for (unsigned id = 0; id < 3; id++)
		enter(&c, id, &sums[id]);
	await(cluster_is_ready(&c), sched_yield());
	send_some(&c, 1, 100);
	await(sums_are(&c, sums, 100), sched_yield());
	enter(&c, 3, &sums[3]);
	send_some(&c, 0, 500); /* while it comes */
	await(cluster_is_ready(&c), sched_yield());
	send_some(&c, 3, 5);
	await(sums_are(&c, sums, 605), sched_yield());
	ck_assert_uint_ge(sums[3].restored, 100);
	ck_assert_uint_eq(sums[3].begun, 1);
	ck_assert_uint_eq(sums[0].snapshots, 1); /* of all members one gives */
	ck_assert_uint_eq(view_of(c.nodes[0]), 1);
	cluster_free(&c);
	for (unsigned id = 0; id < 4; id++)
		ck_assert_int_eq(sums[id].out, 0);
}

/* Also of a state that is small. */
TEST(a_newcomer_says_how_much_it_has)
{
	struct sum sums[3] = {{.padding = 400000}, {.padding = 400000}, {.waits = true}};
	char text[256] = "";
	struct cluster c;

	cluster_configure(&c, 2, FAR "nodes_max = 3\n", "[subgroup s]\nmessage_bytes = 8\n");
	c.count = 3;
	for (unsigned id = 0; id < 2; id++)
		enter(&c, id, &sums[id]);
	await(cluster_is_ready(&c), sched_yield());
	enter(&c, 2, &sums[2]);
	await((whorl_progress(c.nodes[2], text, sizeof(text)), strstr(text, "restores s: 400 kB from node ") != NULL),
	      sched_yield());
	atomic_store(&sums[2].may_go_on, true);
	await(cluster_is_ready(&c), sched_yield());
	cluster_free(&c);
}

/* The giver cannot: another gives. */
TEST(another_gives)
{
	struct sum sums[3] = {{.fails = true}};
	struct cluster c;

	cluster_configure(&c, 2, FAR "nodes_max = 3\n", "[subgroup s]\nmessage_bytes = 8\n");
	c.count = 3;
	for (unsigned id = 0; id < 2; id++)
		enter(&c, id, &sums[id]);
	await(cluster_is_ready(&c), sched_yield());
	send_some(&c, 1, 10);
	enter(&c, 2, &sums[2]);
	await(cluster_is_ready(&c), sched_yield());
	await(sums_are(&c, sums, 10), sched_yield());
	ck_assert_uint_eq(sums[1].snapshots, 1);
	cluster_free(&c);
}

/* An id comes back with nothing of its former life. */
TEST(a_node_comes_back)
{
	struct sum sums[3] = {0};
	struct cluster c;

	cluster_configure(&c, 3, FAR, "[subgroup s]\nwindow = 8\nmessage_bytes = 8\n");
	for (unsigned id = 0; id < 3; id++)
		enter(&c, id, &sums[id]);
	await(cluster_is_ready(&c), sched_yield());
	for (unsigned life = 1; life < 6; life++) {
		send_some(&c, 2, 7);
		send_some(&c, 0, 3);
		await(sums_are(&c, sums, life * 10), sched_yield());
		cluster_leave(&c, 2);
		ck_assert_int_eq(sums[2].out, 0);
		sums[2] = (struct sum){0};
		enter(&c, 2, &sums[2]);
		await(cluster_is_ready(&c), sched_yield());
		ck_assert_uint_eq(sums[2].restored, life * 10);
	}
	ck_assert_uint_eq(view_of(c.nodes[0]), 10); /* out, and in */
	cluster_free(&c);
}

TEST(many_join_at_once)
{
	struct sum sums[8] = {0};
	struct cluster c;

	cluster_configure(&c, 3, FAR "nodes_max = 8\n", "[subgroup s]\nwindow = 8\nmessage_bytes = 8\n");
	c.count = 8;
	for (unsigned id = 0; id < 3; id++)
		enter(&c, id, &sums[id]);
	await(cluster_is_ready(&c), sched_yield());
	send_some(&c, 1, 50);
	for (unsigned id = 3; id < 8; id++)
		enter(&c, id, &sums[id]);
	send_some(&c, 2, 50);
	await(cluster_is_ready(&c), sched_yield());
	await(whorl_node_count(c.nodes[0]) == 8, sched_yield());
	await(sums_are(&c, sums, 100), sched_yield());
	cluster_free(&c);
}

TEST(a_newcomer_that_differs_is_refused)
{
	struct cluster c;
	char text[512];

	cluster_configure(&c, 2, FAR "nodes_max = 3\n", "[subgroup s]\nmessage_bytes = 8\n");
	c.count = 3;
	enter(&c, 0, NULL);
	enter(&c, 1, NULL);
	await(cluster_is_ready(&c), sched_yield());
	ck_ok(whorl_config_set(c.config, "subgroup s.window=11"));
	enter(&c, 2, NULL);
	ck_assert_int_eq(whorl_ready(c.nodes[2], PATIENCE_MS), WHORL_REFUSED);
	ck_assert_int_eq(whorl_error(c.nodes[2], text, sizeof(text)), WHORL_REFUSED);
	ck_assert_msg(strstr(text, "is a member of the group, and its [subgroup] sections differ from those here") !=
			      NULL,
		      "%s", text);
	cluster_leave(&c, 2);
	ck_ok(whorl_config_set(c.config, "subgroup s.window=100"));
	enter(&c, 2, NULL);
	await(cluster_is_ready(&c), sched_yield());
	await(view_of(c.nodes[0]) == 1, sched_yield()); /* the group did not notice */
	cluster_free(&c);
}

/* ---- resting --------------------------------------------------------------------------------------------------------------- */

static int sender_rank(struct cluster *c, unsigned id)
{
	struct whorl_subgroup_info info = {.size = sizeof(info)};

	ck_ok(whorl_subgroup_describe(subgroup_of(c, id, "s"), &info));
	return info.sender;
}

TEST_LOOP(a_sender_rests_and_comes_back, 0, 2)
{
	struct sum sums[3] = {0};
	struct cluster c;

	cluster_configure(&c, 3, "failure_timeout_ms = 400\n", "[subgroup s]\nwindow = 8\nmessage_bytes = 8\n");
	for (unsigned id = 0; id < 3; id++)
		enter(&c, id, &sums[id]);
	await(cluster_is_ready(&c), sched_yield());
	send_some(&c, 1, 100);
	if (_i == 0)
		ck_ok(whorl_pause_sending(subgroup_of(&c, 1, "s"), true));
	else
		ck_ok(whorl_request_pause(subgroup_of(&c, 2, "s"), 1, true));
	await(whorl_send(subgroup_of(&c, 1, "s"), "x", 1, 0, NULL) == WHORL_NOT_SENDER,
	      whorl_send(subgroup_of(&c, 0, "s"), "y", 1, 0, NULL) == WHORL_OK ? 0 : sched_yield());
	await(sender_rank(&c, 1) < 0 && sender_rank(&c, 0) == 0 && sender_rank(&c, 2) == 1, sched_yield());
	send_some(&c, 2, 10);
	ck_ok(whorl_pause_sending(subgroup_of(&c, 1, "s"), false));
	send_some(&c, 1, 10); /* waits until it is a sender again */
	ck_assert_int_eq(sender_rank(&c, 1), 1);
	ck_ok(whorl_pause_sending(subgroup_of(&c, 1, "s"), true));
	ck_ok(whorl_pause_sending(subgroup_of(&c, 1, "s"), false)); /* before anything may have come of it */
	send_some(&c, 1, 10);
	await(sums_are(&c, sums, sums[0].count) && sums[0].count >= 130, sched_yield());
	ck_assert_uint_eq(stats_of(subgroup_of(&c, 1, "s")).dropped, 0);
	ck_assert_int_eq(whorl_request_pause(subgroup_of(&c, 2, "s"), 7, true), WHORL_NOT_FOUND);
	cluster_free(&c);
}

TEST_SUITE("group: joins")
