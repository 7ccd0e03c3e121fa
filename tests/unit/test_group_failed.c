/* test_group_failed.c - a node that fails in the middle of a pass: from there on it upcalls nothing and says nothing, and what its
 * program is refused is no node's message. One thread makes all passes.
 * Labels: threads
 */
#include <stdlib.h>

#include "group/node_int.h"
#include "tests/support/empty_state.h"
#include "tests/support/group.h"

/* Three subgroups, which a pass goes through in this order: what is kept back of `a` outgrows what there may be. */
#define SUBGROUPS                                                                                                      \
	"[subgroup a]\nwindow = 64\nmessage_bytes = 65536\n[subgroup b]\n[subgroup c]\nmode = unordered\n"             \
	"[engine]\nthread = caller\n"
#define LARGE 65536
#define TOO_MANY 24 /* of them, for a megabyte */
#define NEWCOMER 2

/* ---- a state that does not come ------------------------------------------------------------------------------------------ */

static atomic_bool goes_on;

static bool restore_late(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	(void)bytes;
	(void)count;
	(void)ctx;
	while (step == WHORL_RESTORE_BEGIN && !goes_on)
		sched_yield();
	return true;
}

static void open_with_state(struct cluster *c, unsigned id)
{
	static int something;

	cluster_open_node(c, id);
	ck_ok(whorl_on_state(subgroup_of(c, id, "a"), &(struct whorl_state){.size = sizeof(struct whorl_state),
									    .snapshot = take_snapshot,
									    .read = read_snapshot,
									    .release = release_snapshot,
									    .restore = restore_late,
									    .ctx = &something}));
}

/* ---- the upcalled program commits ----------------------------------------------------------------------------------------- */

struct answer { /* of a commit in an upcall */
	struct whorl_claim claim;
	bool asked;
	enum whorl_result result;
};

static void commit_when_upcalled(const struct whorl_message *message, void *ctx)
{
	struct answer *answer = ctx;

	if (message->index == 0) /* of no round but its own: it comes in an earlier pass */
		return;
	answer->asked = true;
	answer->result = whorl_commit(&answer->claim, 1);
}

static void make_passes(struct cluster *c, unsigned first, unsigned last, unsigned passes)
{
	for (unsigned pass = 0; pass < passes; pass++)
		for (unsigned id = first; id <= last; id++)
			whorl_step(c->nodes[id]);
}

static void open_group(struct cluster *c)
{
	cluster_configure(c, 2, "nodes_max = 3\nfailure_timeout_ms = 600000\nbacklog_max = 1m\n", SUBGROUPS);
	c->caller = true;
	for (unsigned id = 0; id < 2; id++)
		open_with_state(c, id);
	cluster_record(c, "c");
	cluster_start(c);
}

static void let_in(struct cluster *c)
{
	c->count = 3;
	open_with_state(c, NEWCOMER);
	ck_ok(whorl_on_message(subgroup_of(c, NEWCOMER, "c"), record_message, c->records[NEWCOMER]));
}

/* More than it can keep back is there for it to deliver in one pass, behind the first, and a message of `b` behind that. */
static void send_too_much(struct cluster *c)
{
	static char large[LARGE];

	for (unsigned i = 0; i < TOO_MANY; i++)
		ck_ok(whorl_send(subgroup_of(c, 0, "a"), large, sizeof(large), 0, NULL));
	for (unsigned i = 0; i < 2; i++)
		ck_ok(whorl_send(subgroup_of(c, 0, "b"), "x", 1, 0, NULL));
}

static bool has_failed(const struct cluster *c)
{
	return whorl_error(c->nodes[NEWCOMER], NULL, 0) == WHORL_MEMORY;
}

TEST_CASE("failed", .timeout_s = 60);

/* `b` is not upcalled any more, and `c` not sent: in the pass in which the node has failed. */
TEST(the_pass_in_which_a_node_fails_is_over)
{
	struct answer answer = {.asked = false};
	struct cluster c;

	goes_on = false;
	open_group(&c);
	let_in(&c);
	ck_ok(whorl_on_message(subgroup_of(&c, NEWCOMER, "b"), commit_when_upcalled, &answer));
	ck_ok(whorl_start(c.nodes[NEWCOMER]));
	await(whorl_node_count(c.nodes[NEWCOMER]) == 3 && whorl_node_count(c.nodes[0]) == 3, cluster_step(&c));
	await(whorl_claim(subgroup_of(&c, NEWCOMER, "c"), 1, &answer.claim) == WHORL_OK, cluster_step(&c));
	memset(answer.claim.data, 'x', 1);
	send_too_much(&c);
	await(has_failed(&c), cluster_step(&c));
	ck_assert(!answer.asked);
	make_passes(&c, 0, 2, 100);
	ck_assert(!answer.asked);
	ck_assert_int_eq(whorl_commit(&answer.claim, 1), WHORL_MEMORY);
	make_passes(&c, 0, 2, 100);
	for (unsigned id = 0; id < 3; id++)
		ck_assert_uint_eq(recorded(c.records[id]), 0);
	goes_on = true;
	cluster_free(&c);
}

/* What is delivered in the pass in which it fails is not told of as delivered: of its sender no slot is free for that. */
TEST(what_is_not_upcalled_is_not_acknowledged)
{
	struct cluster c;
	uint64_t freed;

	goes_on = false;
	open_group(&c);
	let_in(&c);
	ck_ok(whorl_start(c.nodes[NEWCOMER]));
	await(whorl_node_count(c.nodes[NEWCOMER]) == 3 && whorl_node_count(c.nodes[0]) == 3, cluster_step(&c));
	send_too_much(&c);
	await(has_failed(&c), cluster_step(&c));
	make_passes(&c, 0, 2, 100);
	freed = subgroup_of(&c, 0, "a")->ring->freed;
	ck_assert_uint_le(freed, 1); /* the first came in an earlier pass, and is kept back */
	goes_on = true;
	cluster_free(&c);
}

/* What is committed before that pass could go with it, as `c` comes behind `a`: the node says nothing more. */
TEST(nothing_is_sent_in_that_pass)
{
	unsigned long committed = 0;
	struct cluster c;

	goes_on = false;
	open_group(&c);
	let_in(&c);
	ck_ok(whorl_start(c.nodes[NEWCOMER]));
	await(whorl_node_count(c.nodes[NEWCOMER]) == 3 && whorl_node_count(c.nodes[0]) == 3, cluster_step(&c));
	send_too_much(&c);
	while (!has_failed(&c)) {
		committed += whorl_send(subgroup_of(&c, NEWCOMER, "c"), "x", 1, 0, NULL) == WHORL_OK;
		make_passes(&c, NEWCOMER, NEWCOMER, 1);
		make_passes(&c, 0, 1, 1);
	}
	make_passes(&c, 0, 2, 100);
	ck_assert_uint_gt(committed, 0);
	for (unsigned id = 0; id < 2; id++)
		ck_assert_uint_eq(recorded(c.records[id]), committed - 1);
	goes_on = true;
	cluster_free(&c);
}

static bool is_removed(const struct cluster *c, unsigned id)
{
	return whorl_error(c->nodes[id], NULL, 0) == WHORL_REMOVED;
}

/* A member that stood still and was removed learns that before it sends anything. */
TEST(a_removed_member_sends_nothing)
{
	struct cluster c;

	cluster_open(&c, 3, "failure_timeout_ms = 200\n", "[subgroup s]\n[engine]\nthread = caller\n");
	cluster_start(&c);
	await(view_of(c.nodes[0]) == 1 && view_of(c.nodes[1]) == 1, make_passes(&c, 0, 1, 1));
	ck_ok(whorl_send(subgroup_of(&c, 2, "s"), "x", 1, 0, NULL));
	await(is_removed(&c, 2), make_passes(&c, 2, 2, 1));
	ck_assert_uint_eq(stats_of(subgroup_of(&c, 2, "s")).sent, 0);
	cluster_free(&c);
}

/* Whatever comes to be upcalled, as what was kept back of another subgroup. */
TEST(nothing_is_upcalled_afterwards)
{
	const struct whorl_message message = {.data = "x", .bytes = 1};
	struct cluster c;
	whorl_subgroup *s;

	cluster_open(&c, 1, "failure_timeout_ms = 600000\n", "[subgroup s]\n[engine]\nthread = caller\n");
	cluster_record(&c, "s");
	cluster_start(&c);
	s = subgroup_of(&c, 0, "s");
	wh_node_upcall(s, &message, 1);
	ck_assert_uint_eq(recorded(c.records[0]), 1);
	wh_node_fail(c.nodes[0], WH_LOG_INFO, WHORL_SYSTEM, "it is to fail");
	wh_node_upcall(s, &message, 1);
	ck_assert_uint_eq(recorded(c.records[0]), 1);
	cluster_free(&c);
}

/* Whenever that is: the answer is the fate. A refused commit is an aborted claim, whichever thread looks at it. */
TEST(what_is_refused_is_aborted)
{
	struct whorl_claim claims[2];
	struct cluster c;
	struct wh_ring *ring;
	uint32_t bytes;
	bool aborted;

	cluster_open(&c, 2, "failure_timeout_ms = 600000\n", "[subgroup s]\n[engine]\nthread = caller\n");
	cluster_record(&c, "s");
	cluster_start(&c);
	ring = subgroup_of(&c, 0, "s")->ring;
	for (unsigned i = 0; i < 2; i++)
		ck_ok(whorl_claim(subgroup_of(&c, 0, "s"), 1, &claims[i]));
	ck_ok(whorl_commit(&claims[0], 1));
	ck_assert(wh_ring_ready(ring, 0, claims[0].slot, &bytes, &aborted));
	ck_assert(!aborted);
	wh_node_fail(c.nodes[0], WH_LOG_INFO, WHORL_SYSTEM, "it is to fail");
	ck_assert_int_eq(whorl_commit(&claims[1], 1), WHORL_SYSTEM);
	ck_assert(wh_ring_ready(ring, 1, claims[1].slot, &bytes, &aborted));
	ck_assert(aborted);
	cluster_free(&c);
}

TEST_SUITE("group: failed")
