/* test_replica_ends.c - calls through changes of view, and what is told of those that are open when a node fails, is removed, is closed,
 * or is taken out of its shard. One thread makes all passes, so that each step is seen.
 * Labels: threads
 */
#include "tests/support/replica_lab.h"

static void expect_doubt(const struct told *told, const char *why)
{
	ck_assert(is_told(told));
	ck_assert_int_eq(told->result, WHORL_IN_DOUBT);
	ck_assert_msg(strstr(told->text, why) != NULL, "\"%s\" does not say: %s", told->text, why);
	ck_assert_uint_eq(told->bytes, 0);
}

static unsigned times_applied(const struct machine *m, uint64_t word)
{
	unsigned times = 0;

	for (unsigned long i = 0; i < m->logged; i++)
		times += m->log[i].word == word;
	return times;
}

/* ---- views ------------------------------------------------------------------------------------------------------------------------ */

/* Two have made calls that nobody has received yet when the third leaves: they are sent again, in order, and once. */
START_TEST(calls_go_through_a_change_of_view)
{
	struct lab *l = lab_start(3, FAR, "[subgroup s]\nwindow = 8\n" CALLER);
	struct told told[2][8] = {0};

	for (unsigned i = 0; i < 8; i++)
		for (unsigned id = 0; id < 2; id++)
			ck_ok(call_word(&l->machines[id], 10 * i + id, &told[id][i]));
	for (int i = 0; i < _i; i++) /* some are received, and perhaps delivered, before */
		whorl_step(l->c.nodes[i % 2]);
	cluster_leave(&l->c, 2);
	await(lab_agrees(l, 16) && is_told(&told[0][7]) && is_told(&told[1][7]), replica_lab_step(l));
	cluster_await_view(&l->c, 1);
	cluster_hush(&l->c);
	ck_assert(lab_agrees(l, 16));
	for (unsigned id = 0; id < 2; id++)
		for (unsigned i = 0; i < 8; i++) {
			ck_assert(is_told(&told[id][i]));
			ck_assert_int_eq(told[id][i].result, WHORL_OK);
			ck_assert(i == 0 || told[id][i].order > told[id][i - 1].order);
			ck_assert_uint_eq(times_applied(&l->machines[0], 10 * i + id), 1);
			ck_assert_uint_eq(times_applied(&l->machines[1], 10 * i + id), 1);
		}
	replica_lab_free(l);
}
END_TEST

/* Passes of one alone: after another has left it stops, and the view that follows waits for the rest. */
static void wedge(struct lab *l, unsigned id)
{
	/* There is room, and yet nothing can be claimed. */
	await(whorl_window_arm(l->machines[id].subgroup) == WHORL_AGAIN, whorl_step(l->c.nodes[id]));
	ck_assert_uint_eq(view_of(l->c.nodes[id]), 0);
}

/* Claimed before the wedge, committed behind it: the new view delivers them, for every member once. */
START_TEST(calls_that_are_sent_in_the_next_view)
{
	struct lab *l = lab_start(3, FAR, "[subgroup s]\nwindow = 64\n" CALLER);
	struct whorl_claim claims[4];
	struct told told[5] = {0};

	for (uint64_t i = 0; i < 4; i++) {
		ck_ok(whorl_claim(l->machines[1].subgroup, 8, &claims[i]));
		memcpy(claims[i].data, &i, 8);
	}
	cluster_leave(&l->c, 2);
	wedge(l, 1);
	for (unsigned i = 0; i < 4; i++)
		ck_ok(whorl_call_commit(&claims[i], 8, note_outcome, &told[i]));
	ck_assert_int_eq(call_word(&l->machines[1], 9, &told[4]), WHORL_AGAIN); /* the view is changing */
	await(lab_agrees(l, 4) && is_told(&told[3]), replica_lab_step(l));
	cluster_hush(&l->c);
	ck_assert(lab_agrees(l, 4));
	for (unsigned i = 0; i < 4; i++) {
		ck_assert(is_told(&told[i]));
		ck_assert_int_eq(told[i].result, WHORL_OK);
		ck_assert_uint_eq(told[i].view, 1);
		ck_assert(i == 0 || told[i].order > told[i - 1].order);
		ck_assert_uint_eq(times_applied(&l->machines[0], i), 1);
		ck_assert_uint_eq(times_applied(&l->machines[1], i), 1);
	}
	ck_assert_uint_eq(atomic_load(&told[4].times), 0);
	replica_lab_free(l);
}
END_TEST

/* Accepted by a member that hears no quorum: it leaves when one is heard again. */
START_TEST(a_call_that_is_pending)
{
	struct lab *l = lab_start(3, "failure_timeout_ms = 500\n", "[subgroup s]\n" CALLER);
	whorl_subgroup *s = l->machines[0].subgroup;
	struct told told = {0}, refused = {0};
	struct whorl_claim claim;

	ck_ok(whorl_claim(s, 8, &claim));
	memset(claim.data, 0, 8);
	await(whorl_error(l->c.nodes[0], NULL, 0) == WHORL_NO_QUORUM, whorl_step(l->c.nodes[0]));
	ck_assert_int_eq(call_word(&l->machines[0], 1, &refused), WHORL_NO_QUORUM);
	ck_assert_int_eq(whorl_call_commit(&claim, 8, note_outcome, &told), WHORL_PENDING);
	for (unsigned i = 0; i < 100; i++)
		whorl_step(l->c.nodes[0]);
	ck_assert(!is_told(&told));
	await(is_told(&told), replica_lab_step(l));
	ck_assert_int_eq(told.result, WHORL_OK);
	ck_assert_uint_eq(times_applied(&l->machines[0], 1) + times_applied(&l->machines[0], 0), 1);
	ck_assert_uint_eq(atomic_load(&refused.times), 0);
	replica_lab_free(l);
}
END_TEST

/* ---- a node that fails ------------------------------------------------------------------------------------------------------------ */

#define CANNOT 13

static uint64_t tickets[8];
static unsigned ticket_count;

/* The third one cannot be applied. Odd ones are to be answered later. */
static bool fail_at_word(struct machine *m, const struct whorl_call *call)
{
	uint64_t word = m->log[m->logged - 1].word;

	if (word == CANNOT)
		return false;
	if (word % 2 == 1 && call->awaited) {
		tickets[ticket_count] = whorl_defer(call);
		ck_assert_uint_ne(tickets[ticket_count++], 0);
	} else {
		ck_assert_int_eq(whorl_answer(call, &word, sizeof(word)), WHORL_OK);
	}
	return true;
}

/* Its node fails, with whatever it has not been told of; the others go on. Those before in the same run are in doubt as well, and those that
 * were to be answered later, of this run or of one before. */
START_TEST(a_call_that_cannot_be_applied)
{
	struct lab *l = lab_start(3, FAR, "[subgroup s]\n" CALLER);
	struct machine *m = l->machines;
	struct told told[6] = {0}, other = {0};
	char text[128];

	ticket_count = 0;
	m[0].answer = fail_at_word;
	ck_ok(call_word(&m[0], 1, &told[0])); /* in a run of its own */
	await(lab_agrees(l, 1), replica_lab_step(l));
	ck_ok(call_word(&m[0], 2, &told[1]));
	ck_ok(call_word(&m[0], 3, &told[2]));
	ck_ok(call_word(&m[0], CANNOT, &told[3]));
	ck_ok(call_word(&m[0], 4, &told[4]));
	await(whorl_error(l->c.nodes[0], NULL, 0) == WHORL_SYSTEM, replica_lab_step(l));
	ck_assert_int_eq(whorl_error(l->c.nodes[0], text, sizeof(text)), WHORL_SYSTEM);
	ck_assert_ptr_nonnull(strstr(text, "s: the program could not apply a call"));
	ck_assert_int_eq(call_word(&m[0], 5, &told[5]), WHORL_SYSTEM);
	for (unsigned i = 0; i < 5; i++) {
		await(is_told(&told[i]), replica_lab_step(l));
		expect_doubt(&told[i], "could not apply");
	}
	for (unsigned i = 2; i < 5; i++)
		ck_assert_uint_gt(told[i].order, told[i - 1].order);
	ck_assert_uint_eq(ticket_count, 2);
	for (unsigned i = 0; i < 2; i++)
		ck_assert_int_eq(whorl_answer_later(m[0].subgroup, tickets[i], "x", 1), WHORL_NOT_FOUND);
	whorl_close(l->c.nodes[0], 0);
	l->c.nodes[0] = NULL;
	for (unsigned i = 0; i < 5; i++)
		ck_assert(is_told(&told[i])); /* once */
	ck_assert_uint_eq(atomic_load(&told[5].times), 0);
	cluster_await_view(&l->c, 1);
	ck_ok(call_word(&m[1], 6, &other));
	await(is_told(&other) && atomic_load(&m[2].count) == atomic_load(&m[1].count), replica_lab_step(l));
	ck_assert_uint_eq(times_applied(&m[1], CANNOT), 1); /* it could */
	replica_lab_free(l);
}
END_TEST

static bool answer_and_fail(struct machine *m, const struct whorl_call *call)
{
	uint64_t ticket = whorl_defer(call);

	ck_assert_uint_ne(ticket, 0);
	ck_ok(whorl_answer_later(m->subgroup, ticket, "x", 1));
	return false;
}

/* It is answered before `apply` has returned, and then it is not applied. */
START_TEST(an_early_answer_to_a_call_that_cannot_be_applied)
{
	struct lab *l = lab_start(2, FAR, "[subgroup s]\n" CALLER);
	struct told told = {0};

	l->machines[0].answer = answer_and_fail;
	ck_ok(call_word(&l->machines[0], 1, &told));
	await(is_told(&told), replica_lab_step(l));
	expect_doubt(&told, "could not apply");
	whorl_close(l->c.nodes[0], 0);
	l->c.nodes[0] = NULL;
	ck_assert(is_told(&told));
	replica_lab_free(l);
}
END_TEST

/* The others have gone on without it. */
START_TEST(calls_of_a_node_that_is_removed)
{
	struct lab *l = lab_start(3, "failure_timeout_ms = 200\n", "[subgroup s]\nwindow = 5\n" CALLER);
	struct told told[6] = {0};
	struct whorl_claim claim;

	for (unsigned i = 0; i < 4; i++)
		ck_ok(call_word(&l->machines[2], i, &told[i]));
	ck_ok(whorl_claim(l->machines[2].subgroup, 8, &claim));
	await(view_of(l->c.nodes[0]) == 1 && view_of(l->c.nodes[1]) == 1,
	      (whorl_step(l->c.nodes[0]), whorl_step(l->c.nodes[1])));
	await(is_told(&told[3]), replica_lab_step(l));
	for (unsigned i = 0; i < 4; i++)
		expect_doubt(&told[i], "have removed this node");
	ck_assert_int_eq(call_word(&l->machines[2], 5, &told[4]), WHORL_REMOVED);
	ck_assert_int_eq(whorl_call_commit(&claim, 8, note_outcome, &told[5]), WHORL_REMOVED);
	whorl_close(l->c.nodes[2], 0);
	l->c.nodes[2] = NULL;
	for (unsigned i = 0; i < 4; i++)
		ck_assert(is_told(&told[i]));
	for (unsigned i = 4; i < 6; i++) /* nor is anything told at the end of what was refused */
		ck_assert_uint_eq(atomic_load(&told[i].times), 0);
	replica_lab_free(l);
}
END_TEST

/* ---- a node that is closed -------------------------------------------------------------------------------------------------------- */

static bool defer_odd(struct machine *m, const struct whorl_call *call)
{
	uint64_t word = m->log[m->logged - 1].word;

	if (word % 2 == 1 && call->awaited)
		tickets[ticket_count++] = whorl_defer(call);
	return true;
}

/* Without waiting, or with; what is answered later is not waited for. In whorl_close, by its thread. */
START_TEST(calls_of_a_node_that_is_closed)
{
	struct lab *l = lab_start(1, FAR, "[subgroup s]\n" CALLER);
	struct told told[4] = {0};

	ticket_count = 0;
	l->machines[0].answer = defer_odd;
	ck_ok(call_word(&l->machines[0], 1, &told[0]));
	await(ticket_count == 1, replica_lab_step(l));
	for (unsigned i = 1; i < 4; i++)
		ck_ok(call_word(&l->machines[0], 2 * i, &told[i]));
	ck_assert_int_eq(whorl_close(l->c.nodes[0], _i == 0 ? 0 : PATIENCE_MS), _i == 0 ? WHORL_TIMEOUT : WHORL_OK);
	l->c.nodes[0] = NULL;
	expect_doubt(&told[0], "closed before it knew");
	ck_assert_uint_ne(told[0].sequence + 1, 0);
	for (unsigned i = 1; i < 4; i++) {
		if (_i == 0)
			expect_doubt(&told[i], "closed before it knew");
		ck_assert(is_told(&told[i]));
		ck_assert_int_eq(told[i].result, _i == 0 ? WHORL_IN_DOUBT : WHORL_OK);
		ck_assert(i == 1 || told[i].order > told[i - 1].order);
	}
	replica_lab_free(l);
}
END_TEST

/* A claim that is open when its node is closed is committed afterwards: never accepted, and the node is freed with it. */
START_TEST(a_claim_that_outlives_its_node)
{
	struct lab *l = lab_start(2, FAR, "[subgroup s]\n" CALLER);
	struct told told = {0};
	struct whorl_claim claim, other;

	ck_ok(whorl_claim(l->machines[0].subgroup, 8, &claim));
	ck_ok(whorl_claim(l->machines[0].subgroup, 8, &other));
	memset(claim.data, 0, 8);
	whorl_close(l->c.nodes[0], 0);
	l->c.nodes[0] = NULL;
	ck_assert_int_eq(whorl_call_commit(&claim, 8, note_outcome, &told), WHORL_CLOSED);
	ck_assert_int_eq(whorl_call_commit(&claim, 8, note_outcome, &told), WHORL_INVALID);
	ck_assert_int_eq(whorl_abort(&other), WHORL_CLOSED);
	ck_assert_uint_eq(atomic_load(&told.times), 0);
	replica_lab_free(l);
}
END_TEST

static void ask_for_more(const struct whorl_outcome *outcome, void *ctx)
{
	struct machine *m = ((struct told *)ctx)->more;
	struct look look = {0};

	note_outcome(outcome, ctx);
	ck_assert_int_eq(call_word(m, 1, NULL), WHORL_CLOSED);
	ck_assert_int_eq(look_at(m, WHORL_LINEARIZABLE, &look), WHORL_CLOSED);
	ck_assert_int_eq(look_at(m, WHORL_LOCAL, &look), WHORL_CLOSED);
	ck_assert_uint_eq(atomic_load(&look.times), 0);
}

START_TEST(an_upcall_in_whorl_close_gets_nothing_more)
{
	struct lab *l = lab_start(2, FAR, "[subgroup s]\n" CALLER);
	struct told told = {.machine = &l->machines[0], .more = &l->machines[0]};

	ck_ok(whorl_call(l->machines[0].subgroup, "x", 1, ask_for_more, &told));
	whorl_close(l->c.nodes[0], 0);
	l->c.nodes[0] = NULL;
	ck_assert(is_told(&told));
	replica_lab_free(l);
}
END_TEST

/* ---- the layout --------------------------------------------------------------------------------------------------------------------- */

/* Two shards. Node 1 is in the first in views of three, and then where the test wants it. */
enum { OUT = 2 };

struct rule {
	uint32_t shard_of_1;
};

static enum whorl_role role_of(const struct whorl_view *view, const char *name, uint32_t shard, uint32_t id, void *ctx)
{
	const struct rule *rule = ctx;
	uint32_t of_1 = view->member_count >= 3 ? 0 : rule->shard_of_1;

	(void)name;
	if (id == 1)
		return shard == of_1 ? WHORL_SENDER : WHORL_NO_MEMBER;
	return shard == 0 ? WHORL_SENDER : WHORL_NO_MEMBER;
}

/* Three nodes. What node 1 has claimed or committed, and nobody has received, when node 2 leaves, is never applied by any, if it sends nowhere
 * any more. If it moves to the other shard it is applied there, as messages are delivered. */
START_TEST(calls_of_a_node_that_is_taken_out_of_its_shard)
{
	struct rule rule = {.shard_of_1 = (uint32_t)_i == 0 ? OUT : 1};
	const struct whorl_open_options options = {.size = sizeof(options), .layout = role_of, .layout_ctx = &rule};
	struct lab *l = calloc(1, sizeof(*l));
	struct whorl_claim claim, claims[3];
	struct told told[5] = {0};

	ck_assert_ptr_nonnull(l);
	l->name = "s";
	cluster_configure(&l->c, 3, FAR, "[subgroup s]\nmembers = function\nshards = 2\nwindow = 64\n" CALLER);
	l->c.options = &options;
	for (unsigned id = 0; id < 3; id++) {
		cluster_open_node(&l->c, id);
		lab_attach(l, id, true);
	}
	cluster_start(&l->c);
	for (uint64_t i = 0; i < 3; i++) {
		ck_ok(whorl_claim(l->machines[1].subgroup, 8, &claims[i]));
		memcpy(claims[i].data, &i, 8);
	}
	ck_ok(whorl_claim(l->machines[1].subgroup, 8, &claim));
	cluster_leave(&l->c, 2);
	wedge(l, 1);
	for (unsigned i = 0; i < 3; i++)
		ck_ok(whorl_call_commit(&claims[i], 8, note_outcome, &told[i]));
	await(view_of(l->c.nodes[0]) == 1 && view_of(l->c.nodes[1]) == 1, replica_lab_step(l));
	memset(claim.data, 0, 8);
	if (_i == 0) {
		for (unsigned i = 0; i < 3; i++) {
			ck_assert(is_told(&told[i]));
			ck_assert_int_eq(told[i].result, WHORL_NOT_SENDER);
			ck_assert_ptr_nonnull(strstr(told[i].text, "taken this node out of the shard"));
			ck_assert_uint_eq(told[i].sequence, 0);
		}
		ck_assert_int_eq(whorl_call_commit(&claim, 8, note_outcome, &told[3]), WHORL_NOT_SENDER);
		ck_assert_int_eq(call_word(&l->machines[1], 4, &told[4]), WHORL_NOT_FOUND);
	} else {
		ck_ok(whorl_call_commit(&claim, 8, note_outcome, &told[3]));
		await(is_told(&told[3]), replica_lab_step(l));
		for (unsigned i = 0; i < 4; i++) {
			ck_assert(is_told(&told[i]));
			ck_assert_int_eq(told[i].result, WHORL_OK);
		}
	}
	cluster_hush(&l->c);
	ck_assert_uint_eq(atomic_load(&told[3].times), _i == 0 ? 0 : 1);
	ck_assert_uint_eq(atomic_load(&l->machines[1].count), _i == 0 ? 0 : 4);
	ck_assert_uint_eq(atomic_load(&l->machines[0].count), 0);
	whorl_close(l->c.nodes[1], 0);
	l->c.nodes[1] = NULL;
	for (unsigned i = 0; i < 5; i++) /* nor is anything told at the end of what was refused */
		ck_assert_uint_eq(atomic_load(&told[i].times), i < 3 || (i == 3 && _i == 1));
	replica_lab_free(l);
}
END_TEST

/* Node 1 sends in views of four and of two. */
static enum whorl_role out_and_in(const struct whorl_view *view, const char *name, uint32_t shard, uint32_t id,
				  void *ctx)
{
	(void)name, (void)shard, (void)ctx;
	return id == 1 && view->member_count == 3 ? WHORL_NO_MEMBER : WHORL_SENDER;
}

struct dropped {
	struct whorl_claim claim;
	struct told told;
	enum whorl_result result;
};

static bool commit_dropped(struct machine *machine, const struct whorl_call *call)
{
	struct dropped *dropped = machine->more;

	(void)call;
	dropped->result = whorl_call_commit(&dropped->claim, 8, note_outcome, &dropped->told);
	return true;
}

/* The claim that was dropped and the call that is applied have one slot. */
START_TEST(a_claim_that_was_dropped_is_finished_in_apply)
{
	const struct whorl_open_options options = {.size = sizeof(options), .layout = out_and_in};
	struct lab *l = calloc(1, sizeof(*l));
	struct dropped dropped = {.result = WHORL_OK};
	struct told told = {0};

	ck_assert_ptr_nonnull(l);
	l->name = "s";
	cluster_configure(&l->c, 4, FAR, "[subgroup s]\nmembers = function\nwindow = 1\n" CALLER);
	l->c.options = &options;
	for (unsigned id = 0; id < 4; id++) {
		cluster_open_node(&l->c, id);
		lab_attach(l, id, true);
	}
	cluster_start(&l->c);
	ck_ok(whorl_claim(l->machines[1].subgroup, 8, &dropped.claim));
	for (unsigned leaves = 3; leaves >= 2; leaves--) {
		cluster_leave(&l->c, leaves);
		await(view_of(l->c.nodes[0]) == 4 - leaves && view_of(l->c.nodes[1]) == 4 - leaves,
		      replica_lab_step(l));
	}
	l->machines[1].more = &dropped;
	l->machines[1].answer = commit_dropped;
	await(call_word(&l->machines[1], 1, &told) == WHORL_OK, replica_lab_step(l));
	await(is_told(&told), replica_lab_step(l));
	ck_assert_int_eq(told.result, WHORL_OK);
	ck_assert_int_eq(dropped.result, WHORL_NOT_SENDER);
	ck_assert_int_eq(whorl_commit(&dropped.claim, 8), WHORL_INVALID); /* it is finished */
	ck_assert_uint_eq(atomic_load(&dropped.told.times), 0);
	replica_lab_free(l);
}
END_TEST

Suite *suite(void)
{
	Suite *all = suite_create("replica_ends");
	TCase *views = tcase_create("views"), *failed = tcase_create("failed"), *closed = tcase_create("closed");

	tcase_add_loop_test(views, calls_go_through_a_change_of_view, 0, 5);
	tcase_add_test(views, calls_that_are_sent_in_the_next_view);
	tcase_add_test(views, a_call_that_is_pending);
	tcase_add_loop_test(views, calls_of_a_node_that_is_taken_out_of_its_shard, 0, 2);
	tcase_add_test(views, a_claim_that_was_dropped_is_finished_in_apply);
	suite_add_tcase(all, views);
	tcase_add_test(failed, a_call_that_cannot_be_applied);
	tcase_add_test(failed, an_early_answer_to_a_call_that_cannot_be_applied);
	tcase_add_test(failed, calls_of_a_node_that_is_removed);
	suite_add_tcase(all, failed);
	tcase_add_loop_test(closed, calls_of_a_node_that_is_closed, 0, 2);
	tcase_add_test(closed, a_claim_that_outlives_its_node);
	tcase_add_test(closed, an_upcall_in_whorl_close_gets_nothing_more);
	suite_add_tcase(all, closed);
	return all;
}
