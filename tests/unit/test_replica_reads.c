/* test_replica_reads.c - reads: local ones at once, linearizable ones when a quorum of the view had not wedged and what was received by then is
 * applied (docs/decisions/0048). One thread makes all passes, some of them in upcalls, so that each order of steps can be had.
 * Labels: threads
 */
#include "tests/support/replica_lab.h"

static void pass(struct lab *l, unsigned id)
{
	whorl_step(l->c.nodes[id]);
}

/* Passes of that node alone, as many as it may want. */
static void passes(struct lab *l, unsigned id)
{
	for (unsigned i = 0; i < 20; i++)
		pass(l, id);
}

static void expect_look(const struct look *look, unsigned long count)
{
	ck_assert(has_looked(look));
	ck_assert_int_eq(look->result, WHORL_OK);
	ck_assert_uint_ge(look->count, count);
}

/* ---- local ------------------------------------------------------------------------------------------------------------------------ */

struct inside {
	struct look look[4];
	unsigned count;
};

static bool look_in_apply(struct machine *m, const struct whorl_call *call)
{
	struct inside *inside = m->more;
	struct look *look = &inside->look[inside->count++];

	(void)call;
	ck_ok(look_at(m, WHORL_LOCAL, look));
	ck_assert(has_looked(look));                   /* before it returns */
	ck_assert_uint_eq(look->count, inside->count); /* what `apply` has done so far */
	return true;
}

TEST_CASE("local");

TEST(a_local_read_on_the_loop_is_made_at_once)
{
	struct lab *l = lab_start(1, FAR, "[subgroup s]\n" CALLER);
	struct machine *m = l->machines;
	struct inside inside = {0};
	struct look between = {0};

	m->answer = look_in_apply;
	m->more = &inside;
	for (unsigned i = 0; i < 4; i++)
		ck_ok(call_word(m, i, NULL));
	await(inside.count == 4, pass(l, 0));
	ck_ok(look_at(m, WHORL_LOCAL, &between)); /* between passes: this thread takes the loop */
	expect_look(&between, 4);
	ck_assert_uint_eq(atomic_load(&m->runs), 1);
	replica_lab_free(l);
}

TEST(a_local_read_by_another_thread)
{
	struct lab *l = lab_start(1, FAR, "[subgroup s]\n");
	struct machine *m = l->machines;
	static struct look looks[200];

	for (unsigned i = 0; i < 200; i++) {
		looks[i] = (struct look){0};
		ck_ok(look_at(m, WHORL_LOCAL, &looks[i]));
	}
	await(has_looked(&looks[199]), sched_yield());
	for (unsigned i = 0; i < 200; i++) {
		expect_look(&looks[i], 0);
		ck_assert(i == 0 || looks[i].order > looks[i - 1].order);
	}
	replica_lab_free(l);
}

/* ---- a quorum ----------------------------------------------------------------------------------------------------------------------- */

TEST_CASE("quorum");

TEST(a_read_waits_for_a_quorum)
{
	struct lab *l = lab_start(3, FAR, "[subgroup s]\n" CALLER);
	struct machine *m = l->machines;
	struct look look = {0};

	cluster_hush(&l->c);
	ck_ok(look_at(&m[0], WHORL_LINEARIZABLE, &look));
	passes(l, 0);
	ck_assert(!has_looked(&look));
	pass(l, 2); /* one more makes two of three */
	ck_assert(!has_looked(&look));
	await(has_looked(&look), pass(l, 0));
	expect_look(&look, 0);
	cluster_hush(&l->c);
	ck_assert(has_looked(&look));
	replica_lab_free(l);
}

TEST(a_lone_member_reads)
{
	struct lab *l = lab_start(1, FAR, "[subgroup s]\n" CALLER);
	struct look look[3] = {0};

	ck_ok(call_word(&l->machines[0], 1, NULL));
	for (unsigned i = 0; i < 3; i++)
		ck_ok(look_at(&l->machines[0], WHORL_LINEARIZABLE, &look[i]));
	passes(l, 0);
	for (unsigned i = 0; i < 3; i++)
		expect_look(&look[i], i > 0);
	ck_assert_uint_lt(look[0].order, look[1].order);
	ck_assert_uint_lt(look[1].order, look[2].order);
	replica_lab_free(l);
}

/* It has been received here, but not by node 2, so it is delivered nowhere. A client of node 1 may be told of it before node 0 applies it, so a read
 * that notes only what is delivered would go stale. */
TEST(a_read_waits_for_what_was_received)
{
	struct lab *l = lab_start(3, FAR, "[subgroup s]\n" CALLER);
	struct machine *m = l->machines;
	struct told told = {0};
	struct look look = {0};

	cluster_hush(&l->c);
	ck_ok(call_word(&m[1], 7, &told));
	await(stats_of(m[0].subgroup).received_num > stats_of(m[0].subgroup).delivered_num, (pass(l, 1), pass(l, 0)));
	ck_ok(look_at(&m[0], WHORL_LINEARIZABLE, &look));
	for (unsigned i = 0; i < 20; i++) {
		pass(l, 0);
		pass(l, 1);
	}
	ck_assert_uint_eq(atomic_load(&m[0].count), 0);
	ck_assert(!has_looked(&look));
	await(has_looked(&look), replica_lab_step(l));
	expect_look(&look, 1);
	replica_lab_free(l);
}

/* Node 1 has told its client. */
TEST(a_read_has_what_was_answered_elsewhere)
{
	struct lab *l = lab_start(3, FAR, "[subgroup s]\n" CALLER);
	struct machine *m = l->machines;
	struct told told = {0};
	struct look look = {0};

	cluster_hush(&l->c);
	ck_ok(call_word(&m[1], 7, &told));
	await(stats_of(m[0].subgroup).received_num > 0, (pass(l, 1), pass(l, 2), pass(l, 0)));
	await(is_told(&told) || atomic_load(&m[0].count) > 0, (pass(l, 1), pass(l, 2)));
	ck_ok(look_at(&m[0], WHORL_LINEARIZABLE, &look));
	await(has_looked(&look), (pass(l, 0), pass(l, 2)));
	expect_look(&look, 1);
	replica_lab_free(l);
}

/* What was pushed to others, heartbeats aside. */
static uint64_t pushed(const struct lab *l, unsigned id)
{
	struct whorl_node_stats stats = {.size = sizeof(stats)};

	ck_ok(whorl_node_statistics(l->c.nodes[id], &stats));
	return stats.pushes - stats.heartbeats;
}

static unsigned looks_made(const struct look *looks, unsigned count)
{
	unsigned made = 0;

	for (unsigned i = 0; i < count; i++)
		made += has_looked(&looks[i]);
	return made;
}

/* One word out, and one back from each of the others, for all reads of two subgroups. Those that come behind it wait for the next. */
TEST(reads_share_a_question)
{
	struct lab *l = replica_lab_open(3, FAR, "[subgroup s]\n[subgroup t]\n" CALLER);
	static struct machine other;
	struct look looks[10] = {0}, late[10] = {0};
	struct machine *m = l->machines;
	uint64_t before[3];

	other = (struct machine){.subgroup = subgroup_of(&l->c, 0, "t")};
	ck_ok(whorl_on_calls(other.subgroup, apply_calls, &other));
	cluster_start(&l->c);
	cluster_hush(&l->c);
	for (unsigned id = 0; id < 3; id++)
		before[id] = pushed(l, id);
	for (unsigned i = 0; i < 10; i++)
		ck_ok(look_at(i % 2 == 0 ? &m[0] : &other, WHORL_LINEARIZABLE, &looks[i]));
	pass(l, 0); /* the question is raised */
	for (unsigned i = 0; i < 10; i++)
		ck_ok(look_at(i % 2 == 0 ? &m[0] : &other, WHORL_LINEARIZABLE, &late[i]));
	passes(l, 0);
	ck_assert_uint_eq(pushed(l, 0) - before[0], 1);
	passes(l, 1);
	passes(l, 2);
	ck_assert_uint_eq(looks_made(looks, 10), 0);
	await(looks_made(looks, 10) == 10, pass(l, 0));
	passes(l, 0);
	ck_assert_uint_eq(looks_made(late, 10), 0);
	ck_assert_uint_eq(pushed(l, 0) - before[0], 2); /* the next question */
	for (unsigned id = 1; id < 3; id++)
		ck_assert_uint_eq(pushed(l, id) - before[id], 1);
	passes(l, 1);
	await(looks_made(late, 10) == 10, pass(l, 0));
	for (unsigned i = 2; i < 10; i++) { /* of a subgroup in the order in which they came */
		ck_assert_uint_gt(looks[i].order, looks[i - 2].order);
		ck_assert_uint_gt(late[i].order, late[i - 2].order);
	}
	replica_lab_free(l);
}

/* More than the queue has room for at first, while a question is under way. */
TEST(many_reads)
{
	static struct look looks[1000];
	struct lab *l = lab_start(3, FAR, "[subgroup s]\n" CALLER);

	memset(looks, 0, sizeof(looks));
	for (unsigned i = 0; i < 1000; i++) {
		ck_ok(look_at(&l->machines[i % 3], WHORL_LINEARIZABLE, &looks[i]));
		if (i % 97 == 0)
			pass(l, i % 3);
	}
	await(looks_made(looks, 1000) == 1000, replica_lab_step(l));
	for (unsigned i = 3; i < 1000; i++)
		ck_assert_uint_gt(looks[i].order, looks[i - 3].order);
	replica_lab_free(l);
}

/* ---- views ------------------------------------------------------------------------------------------------------------------------------ */

static struct lab *upcalled;
static struct look upcalled_look;

/* In the middle of a pass of node 0 the others see that node 3 has left, and stop; then node 0 asks, which has not seen it. */
static bool let_others_wedge(struct machine *m, const struct whorl_call *call)
{
	(void)call;
	if (m != &upcalled->machines[0])
		return true;
	cluster_leave(&upcalled->c, 3);
	for (unsigned id = 1; id < 3; id++)
		await(whorl_window_arm(upcalled->machines[id].subgroup) == WHORL_AGAIN, pass(upcalled, id));
	ck_ok(look_at(m, WHORL_LINEARIZABLE, &upcalled_look));
	return true;
}

TEST_CASE("views");

/* Those that have wedged confirm nothing, and that a view begins is no answer: it is taken up anew. */
TEST(a_change_of_view_is_no_answer)
{
	struct machine *m;

	upcalled = lab_start(4, FAR, "[subgroup s]\nwindow = 64\n" CALLER);
	upcalled_look = (struct look){0};
	m = upcalled->machines;
	m[0].answer = let_others_wedge;
	ck_ok(call_word(&m[1], 1, NULL));
	await(upcalled->c.nodes[3] == NULL, replica_lab_step(upcalled));
	m[0].answer = NULL;
	ck_assert_uint_eq(view_of(upcalled->c.nodes[0]), 0);
	while (view_of(upcalled->c.nodes[0]) == 0) {
		pass(upcalled, 1);
		pass(upcalled, 2);
		ck_assert(!has_looked(&upcalled_look));
		pass(upcalled, 0);
	}
	passes(upcalled, 0);
	ck_assert(!has_looked(&upcalled_look)); /* asked again, and no other has taken a step since */
	await(has_looked(&upcalled_look), replica_lab_step(upcalled));
	expect_look(&upcalled_look, 1);
	replica_lab_free(upcalled);
}

/* It has its quorum, and waits for what was received, in the old view: the new one delivers that first. */
TEST(a_read_that_has_its_quorum_goes_through_a_view)
{
	struct lab *l = lab_start(3, FAR, "[subgroup s]\n" CALLER);
	struct machine *m = l->machines;
	struct look look = {0};

	cluster_hush(&l->c);
	ck_ok(call_word(&m[1], 7, NULL));
	await(stats_of(m[0].subgroup).received_num > stats_of(m[0].subgroup).delivered_num, (pass(l, 1), pass(l, 0)));
	ck_ok(look_at(&m[0], WHORL_LINEARIZABLE, &look));
	for (unsigned i = 0; i < 20; i++) {
		pass(l, 0);
		pass(l, 1);
	}
	ck_assert(!has_looked(&look));
	cluster_leave(&l->c, 2);
	await(has_looked(&look), replica_lab_step(l));
	expect_look(&look, 1);
	replica_lab_free(l);
}

static uint32_t members_of(const whorl_node *node)
{
	uint32_t count = 0;

	ck_ok(whorl_view_members(node, NULL, NULL, &count));
	return count;
}

/* Reads of all members, in every pass, while members leave: each is made, and has what was answered before it began. */
TEST(reads_go_through_changes_of_view)
{
	static struct look looks[3][400];
	struct lab *l = lab_start(5, FAR, "[subgroup s]\n" CALLER);
	unsigned long least[400] = {0}, count = 0;
	struct told told[400] = {0};

	memset(looks, 0, sizeof(looks));
	for (unsigned i = 0; i < 400; i++) {
		(void)!(call_word(&l->machines[i % 3], i, &told[i]) == WHORL_OK);
		if (i == 100 || i == 250)
			cluster_leave(&l->c, i == 100 ? 4 : 3);
		pass(l, i % 3);
		for (unsigned k = 0; k < i; k++)
			if (atomic_load(&told[k].times) > 0 && told[k].result == WHORL_OK && told[k].applied > count)
				count = told[k].applied;
		least[i] = count;
		for (unsigned id = 0; id < 3; id++)
			ck_ok(look_at(&l->machines[id], WHORL_LINEARIZABLE, &looks[id][i]));
		replica_lab_step(l);
	}
	for (unsigned id = 0; id < 3; id++)
		for (unsigned i = 0; i < 400; i++) {
			await(has_looked(&looks[id][i]), replica_lab_step(l));
			expect_look(&looks[id][i], least[i]);
		}
	await(members_of(l->c.nodes[0]) == 3, replica_lab_step(l)); /* in one view or two */
	replica_lab_free(l);
}

/* ---- no answer --------------------------------------------------------------------------------------------------------------------------- */

static bool has_no_quorum(const struct lab *l)
{
	return whorl_error(l->c.nodes[0], NULL, 0) == WHORL_NO_QUORUM;
}

TEST_CASE("none");

TEST(too_few_are_heard)
{
	struct lab *l = lab_start(3, "failure_timeout_ms = 300\n", "[subgroup s]\n" CALLER);
	struct look waits = {0}, refused = {0}, local = {0}, again = {0};
	struct machine *m = l->machines;

	cluster_hush(&l->c);
	ck_ok(look_at(&m[0], WHORL_LINEARIZABLE, &waits));
	await(has_looked(&waits), pass(l, 0));
	ck_assert_int_eq(waits.result, WHORL_NO_QUORUM);
	ck_assert(has_no_quorum(l));
	ck_assert_int_eq(look_at(&m[0], WHORL_LINEARIZABLE, &refused), WHORL_NO_QUORUM);
	ck_ok(look_at(&m[0], WHORL_LOCAL, &local)); /* it may be late */
	expect_look(&local, 0);
	await(!has_no_quorum(l), replica_lab_step(l)); /* they were only slow */
	if (whorl_error(l->c.nodes[0], NULL, 0) == WHORL_OK) {
		ck_ok(look_at(&m[0], WHORL_LINEARIZABLE, &again));
		await(has_looked(&again), replica_lab_step(l));
	}
	ck_assert_uint_eq(atomic_load(&refused.times), 0);
	replica_lab_free(l);
}

/* The others have gone on without it, and have answered calls that it knows nothing of. */
TEST(a_removed_node_reads_nothing)
{
	struct lab *l = lab_start(3, "failure_timeout_ms = 300\n", "[subgroup s]\n" CALLER);
	struct look before = {0}, look = {0}, after = {0};
	struct machine *m = l->machines;
	struct told told = {0};

	cluster_hush(&l->c);
	ck_ok(look_at(&m[2], WHORL_LINEARIZABLE, &before));
	await(view_of(l->c.nodes[0]) == 1 && view_of(l->c.nodes[1]) == 1, (pass(l, 0), pass(l, 1)));
	await(call_word(&m[0], 1, &told) == WHORL_OK, (pass(l, 0), pass(l, 1)));
	await(is_told(&told), (pass(l, 0), pass(l, 1)));
	ck_ok(look_at(&m[2], WHORL_LINEARIZABLE, &look)); /* it does not know yet */
	await(has_looked(&look) && has_looked(&before), pass(l, 2));
	ck_assert_int_eq(look.result, WHORL_REMOVED);
	ck_assert_int_eq(before.result, WHORL_REMOVED);
	ck_assert_int_eq(look_at(&m[2], WHORL_LINEARIZABLE, &after), WHORL_REMOVED);
	ck_assert_int_eq(look_at(&m[2], WHORL_LOCAL, &after), WHORL_REMOVED);
	whorl_close(l->c.nodes[2], 0);
	l->c.nodes[2] = NULL;
	ck_assert(has_looked(&look));
	ck_assert_uint_eq(atomic_load(&after.times), 0);
	replica_lab_free(l);
}

TEST(a_read_when_its_node_is_closed)
{
	struct lab *l = lab_start(2, FAR, "[subgroup s]\n" CALLER);
	struct look asked = {0}, waits = {0};

	ck_ok(look_at(&l->machines[0], WHORL_LINEARIZABLE, &asked));
	pass(l, 0);
	ck_ok(look_at(&l->machines[0], WHORL_LINEARIZABLE, &waits));
	whorl_close(l->c.nodes[0], 0);
	l->c.nodes[0] = NULL;
	ck_assert(has_looked(&asked) && has_looked(&waits));
	ck_assert_int_eq(asked.result, WHORL_CLOSED);
	ck_assert_int_eq(waits.result, WHORL_CLOSED);
	replica_lab_free(l);
}

/* Its time runs out: it is not made afterwards. */
TEST(a_thread_does_not_wait_for_ever)
{
	struct lab *l = lab_start(2, FAR, "[subgroup s]\n" CALLER);
	struct look look = {.machine = &l->machines[0]}, later = {.machine = &l->machines[0]};
	whorl_subgroup *s = l->machines[0].subgroup;

	cluster_hush(&l->c);
	ck_assert_int_eq(whorl_read_wait(s, WHORL_LINEARIZABLE, note_look, &look, 20), WHORL_TIMEOUT);
	ck_assert_int_eq(whorl_read_wait(s, WHORL_LINEARIZABLE, note_look, &look, 0), WHORL_TIMEOUT);
	ck_assert_int_eq(whorl_read_wait(s, WHORL_LINEARIZABLE, note_look, &look, -1), WHORL_INVALID);
	ck_assert_int_eq(whorl_read_wait(s, WHORL_LINEARIZABLE, NULL, &look, 0), WHORL_INVALID);
	ck_assert_int_eq(whorl_read_wait(s, (enum whorl_freshness)7, note_look, &look, 0), WHORL_INVALID);
	ck_assert_int_eq(whorl_read_wait(NULL, WHORL_LOCAL, note_look, &look, 0), WHORL_INVALID);
	cluster_hush(&l->c);
	ck_assert_uint_eq(atomic_load(&look.times), 0);
	ck_ok(whorl_read_wait(s, WHORL_LOCAL, note_look, &look, 0));
	ck_assert(has_looked(&look));
	ck_ok(look_at(&l->machines[0], WHORL_LINEARIZABLE, &later));
	await(has_looked(&later), replica_lab_step(l));
	replica_lab_free(l);
}

static void read_in_read(enum whorl_result result, void *ctx)
{
	struct look *look = ctx;

	note_look(result, look);
	ck_assert_int_eq(whorl_read_wait(look->machine->subgroup, WHORL_LOCAL, note_look, look, 0),
			 WHORL_WOULD_DEADLOCK);
	if (atomic_load(&look->times) < 5)
		ck_ok(whorl_read(look->machine->subgroup, WHORL_LINEARIZABLE, read_in_read, look));
}

TEST_LOOP(a_read_that_asks_again, 0, 2)
{
	struct lab *l = lab_start(2, FAR, _i == 0 ? "[subgroup s]\n" CALLER : "[subgroup s]\n");
	struct look look = {.machine = &l->machines[0]};

	ck_ok(whorl_read(l->machines[0].subgroup, WHORL_LINEARIZABLE, read_in_read, &look));
	await(atomic_load(&look.times) == 5, replica_lab_step(l));
	replica_lab_free(l);
}

/* ---- shards -------------------------------------------------------------------------------------------------------------------------- */

enum { OUT = 2 };

/* Node 1 is in the first of two shards in views of three, and then where the test wants it. */
static enum whorl_role role_of(const struct whorl_view *view, const char *name, uint32_t shard, uint32_t id, void *ctx)
{
	uint32_t of_1 = view->member_count >= 3 ? 0 : *(uint32_t *)ctx;

	(void)name;
	if (id == 1)
		return shard == of_1 ? WHORL_SENDER : WHORL_NO_MEMBER;
	return shard == 0 ? WHORL_SENDER : WHORL_NO_MEMBER;
}

TEST_CASE("shards");

TEST_LOOP(a_node_that_is_taken_out_of_its_shard, 0, 2)
{
	uint32_t shard = _i == 0 ? OUT : 1, ids[4] = {9, 9, 9, 9}, count = 4;
	const struct whorl_open_options options = {.size = sizeof(options), .layout = role_of, .layout_ctx = &shard};
	struct look asked = {0}, waits = {0}, after = {0};
	struct lab *l = calloc(1, sizeof(*l));
	struct machine *m;

	ck_assert_ptr_nonnull(l);
	l->name = "s";
	m = l->machines;
	cluster_configure(&l->c, 3, FAR, "[subgroup s]\nmembers = function\nshards = 2\n" CALLER);
	l->c.options = &options;
	for (unsigned id = 0; id < 3; id++) {
		cluster_open_node(&l->c, id);
		lab_attach(l, id, true);
	}
	ck_assert_int_eq(whorl_shard_members(l->c.nodes[0], "s", 0, ids, &count), WHORL_AGAIN); /* no view */
	ck_assert_uint_eq(count, 0);
	cluster_start(&l->c);
	cluster_hush(&l->c);
	ck_ok(look_at(&m[1], WHORL_LINEARIZABLE, &asked));
	pass(l, 1);
	ck_ok(look_at(&m[1], WHORL_LINEARIZABLE, &waits));
	cluster_leave(&l->c, 2);
	await(whorl_window_arm(m[0].subgroup) == WHORL_AGAIN, pass(l, 0)); /* it confirms the first, and no other */
	await(view_of(l->c.nodes[1]) == 1, (pass(l, 1), pass(l, 0)));
	await(has_looked(&waits) && has_looked(&asked), replica_lab_step(l));
	ck_assert_int_eq(waits.result, WHORL_NOT_FOUND);
	ck_assert(asked.result == WHORL_NOT_FOUND || asked.result == WHORL_OK); /* it may have had its answer before */
	if (shard == OUT) {
		ck_assert_int_eq(look_at(&m[1], WHORL_LOCAL, &after), WHORL_NOT_FOUND);
		ck_assert_int_eq(look_at(&m[1], WHORL_LINEARIZABLE, &after), WHORL_NOT_FOUND);
	} else {
		ck_ok(look_at(&m[1], WHORL_LINEARIZABLE, &after));
		await(has_looked(&after), replica_lab_step(l));
		expect_look(&after, 0);
	}
	count = 4;
	ck_ok(whorl_shard_members(l->c.nodes[0], "s", 0, ids, &count));
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(ids[0], 0);
	replica_lab_free(l);
}

TEST(members_of_shards)
{
	uint32_t ids[4], count;
	struct cluster c;

	cluster_open(&c, 4, FAR, "[subgroup s]\nshards = 2\n[subgroup t]\nmembers = 1,3\n" CALLER);
	cluster_start(&c);
	for (unsigned id = 0; id < 4; id++)
		for (uint32_t shard = 0; shard < 2; shard++) {
			struct whorl_subgroup_info info = {.size = sizeof(info)};
			unsigned in = 0;

			count = 4;
			ck_ok(whorl_shard_members(c.nodes[id], "s", shard, ids, &count));
			ck_assert_uint_eq(count, 2);
			for (uint32_t i = 0; i < count; i++) {
				ck_ok(whorl_subgroup_describe(subgroup_of(&c, ids[i], "s"), &info));
				ck_assert_uint_eq(info.shard, shard);
				in += ids[i] == id;
			}
			ck_ok(whorl_subgroup_describe(subgroup_of(&c, id, "s"), &info));
			ck_assert_uint_eq(in, info.shard == shard);
		}
	count = 1; /* no more than there is room for, and yet how many there are */
	ids[1] = 77;
	ck_ok(whorl_shard_members(c.nodes[0], "t", 0, ids, &count));
	ck_assert_uint_eq(count, 2);
	ck_assert_uint_eq(ids[0], 1);
	ck_assert_uint_eq(ids[1], 77);
	count = 9;
	ck_ok(whorl_shard_members(c.nodes[0], "t", 0, NULL, &count));
	ck_assert_uint_eq(count, 2);
	ck_assert_int_eq(whorl_shard_members(c.nodes[0], "t", 1, ids, &count), WHORL_NOT_FOUND);
	ck_assert_uint_eq(count, 0);
	ck_assert_int_eq(whorl_shard_members(c.nodes[0], "u", 0, ids, &count), WHORL_NOT_FOUND);
	cluster_free(&c);
}

/* The same in all versions and on all machines: computed by a program of another language. */
TEST(shards_of_keys)
{
	static const struct {
		const char *key;
		size_t bytes;
		uint32_t shards, shard;
	} golden[] = {
		{"", 0, 1U, 0U},
		{"", 0, 16384U, 15348U},
		{"", 0, 4294967295U, 4023394143U},
		{"a", 1, 1U, 0U},
		{"a", 1, 2U, 1U},
		{"a", 1, 3U, 1U},
		{"a", 1, 16U, 8U},
		{"a", 1, 16384U, 8360U},
		{"a", 1, 2147483648U, 1095849132U},
		{"a", 1, 4294967295U, 2191698263U},
		{"b", 1, 1U, 0U},
		{"b", 1, 2U, 0U},
		{"b", 1, 3U, 1U},
		{"b", 1, 16U, 6U},
		{"b", 1, 16384U, 7065U},
		{"b", 1, 2147483648U, 926128452U},
		{"b", 1, 4294967295U, 1852256903U},
		{"key", 3, 1U, 0U},
		{"key", 3, 2U, 1U},
		{"key", 3, 3U, 2U},
		{"key", 3, 16U, 12U},
		{"key", 3, 16384U, 13283U},
		{"key", 3, 2147483648U, 1741044929U},
		{"key", 3, 4294967295U, 3482089858U},
		{"key:1", 5, 1U, 0U},
		{"key:1", 5, 2U, 0U},
		{"key:1", 5, 3U, 0U},
		{"key:1", 5, 16U, 3U},
		{"key:1", 5, 16384U, 3639U},
		{"key:1", 5, 2147483648U, 477075645U},
		{"key:1", 5, 4294967295U, 954151289U},
		{"key:2", 5, 1U, 0U},
		{"key:2", 5, 2U, 0U},
		{"key:2", 5, 3U, 1U},
		{"key:2", 5, 16U, 6U},
		{"key:2", 5, 16384U, 6188U},
		{"key:2", 5, 2147483648U, 811186230U},
		{"key:2", 5, 4294967295U, 1622372460U},
		{"user:1000", 9, 1U, 0U},
		{"user:1000", 9, 2U, 0U},
		{"user:1000", 9, 3U, 1U},
		{"user:1000", 9, 16U, 7U},
		{"user:1000", 9, 16384U, 7295U},
		{"user:1000", 9, 2147483648U, 956175336U},
		{"user:1000", 9, 4294967295U, 1912350671U},
		{"a longer key, of more than thirty-two bytes", 43, 1U, 0U},
		{"a longer key, of more than thirty-two bytes", 43, 2U, 0U},
		{"a longer key, of more than thirty-two bytes", 43, 3U, 0U},
		{"a longer key, of more than thirty-two bytes", 43, 16U, 4U},
		{"a longer key, of more than thirty-two bytes", 43, 16384U, 4466U},
		{"a longer key, of more than thirty-two bytes", 43, 2147483648U, 585480225U},
		{"a longer key, of more than thirty-two bytes", 43, 4294967295U, 1170960449U},
		{"\000", 1, 1U, 0U},
		{"\000", 1, 2U, 1U},
		{"\000", 1, 3U, 2U},
		{"\000", 1, 16U, 11U},
		{"\000", 1, 16384U, 11840U},
		{"\000", 1, 2147483648U, 1552000361U},
		{"\000", 1, 4294967295U, 3104000722U},
		{"\000\000\377\200", 4, 1U, 0U},
		{"\000\000\377\200", 4, 16384U, 5582U},
		{"\000\000\377\200", 4, 4294967295U, 1463314981U},
	};
	unsigned counts[16] = {0};

	for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++)
		ck_assert_uint_eq(whorl_shard_of(golden[i].key, golden[i].bytes, golden[i].shards), golden[i].shard);
	ck_assert_uint_eq(whorl_shard_of(NULL, 0, 1000003), whorl_shard_of("", 0, 1000003));
	ck_assert_uint_eq(whorl_shard_of(NULL, 1, 16), 0);
	ck_assert_uint_eq(whorl_shard_of("key", 3, 0), 0);
	for (unsigned i = 0; i < 16000; i++) { /* keys that are alike are shared out */
		char key[16];

		counts[whorl_shard_of(key, (size_t)snprintf(key, sizeof(key), "key:%u", i), 16)]++;
	}
	for (unsigned shard = 0; shard < 16; shard++)
		ck_assert_msg(counts[shard] > 850 && counts[shard] < 1150, "shard %u has %u of 16000 keys", shard,
			      counts[shard]);
}

TEST_SUITE("replica_reads")
