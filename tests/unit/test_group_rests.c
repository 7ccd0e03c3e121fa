/* test_group_rests.c - a sender rests, or takes that back: what it has claimed, and what it has said by then. One thread
 * makes all passes, so that each step is seen.
 * Labels: threads
 */
#include <pthread.h>
#include <stdatomic.h>

#include "group/node_int.h"
#include "tests/support/group.h"

static void open_three(struct cluster *c, const char *lines)
{
	char text[256];

	snprintf(text, sizeof(text), "[subgroup s]\n%s[engine]\nthread = caller\n", lines);
	cluster_open(c, 3, "failure_timeout_ms = 600000\n", text);
	cluster_record(c, "s");
	cluster_start(c);
}

static enum whorl_result send_one(struct cluster *c, unsigned id)
{
	return whorl_send(subgroup_of(c, id, "s"), "x", 1, 0, NULL);
}

static bool is_sender(struct cluster *c, unsigned id)
{
	struct whorl_subgroup_info info = {.size = sizeof(info)};

	ck_ok(whorl_subgroup_describe(subgroup_of(c, id, "s"), &info));
	return info.sender >= 0;
}

TEST_CASE("rests", .timeout_s = 60);

/* Nothing can be claimed any more; what has been is delivered first, however long that takes. Then it is a sender no more. */
TEST_LOOP(what_has_been_claimed_is_delivered_first, 0, 4)
{
	unsigned id = _i % 2; /* the leader, or another */
	struct whorl_claim claim;
	struct cluster c;

	open_three(&c, _i < 2 ? "" : "mode = unordered\n");
	ck_ok(whorl_claim(subgroup_of(&c, id, "s"), 1, &claim));
	ck_ok(whorl_pause_sending(subgroup_of(&c, id, "s"), true));
	cluster_hush(&c);
	ck_assert_int_eq(send_one(&c, id), WHORL_NOT_SENDER);
	ck_assert(is_sender(&c, id));
	ck_assert(cluster_is_in_view(&c, 0) && !cluster_is_in_view(&c, 1));
	memset(claim.data, 'x', 1);
	ck_ok(whorl_commit(&claim, 1));
	cluster_await_view(&c, 1);
	ck_assert(!is_sender(&c, id));
	ck_assert(is_sender(&c, 2));
	ck_assert_int_eq(send_one(&c, id), WHORL_NOT_SENDER);
	ck_ok(send_one(&c, 2));
	await(all_recorded(c.records, 3, 2), cluster_step(&c));
	ck_assert_uint_eq(stats_of(subgroup_of(&c, id, "s")).dropped, 0);
	cluster_free(&c);
}

/* No other member has heard of it yet: it is as if nothing had been. */
TEST(a_rest_that_was_not_said)
{
	struct cluster c;

	open_three(&c, "");
	ck_ok(whorl_pause_sending(subgroup_of(&c, 1, "s"), true));
	ck_ok(whorl_pause_sending(subgroup_of(&c, 1, "s"), false));
	cluster_hush(&c);
	ck_ok(send_one(&c, 1));
	await(all_recorded(c.records, 3, 1), cluster_step(&c));
	ck_assert(!cluster_is_in_view(&c, 1));
	cluster_free(&c);
}

/* It has been said, and may be in a proposal: nothing can be claimed before the next view, which follows in any case. */
TEST_LOOP(a_rest_that_was_said, 0, 2)
{
	unsigned id = (unsigned)_i;
	struct cluster c;

	open_three(&c, "");
	ck_ok(whorl_pause_sending(subgroup_of(&c, id, "s"), true));
	whorl_step(c.nodes[id]);
	ck_assert_int_eq(send_one(&c, id), WHORL_NOT_SENDER);
	ck_ok(whorl_pause_sending(subgroup_of(&c, id, "s"), false));
	whorl_step(c.nodes[id]);
	ck_assert_int_ne(send_one(&c, id), WHORL_OK);
	await(cluster_is_in_view(&c, 1), cluster_step(&c));
	if (id != 0) /* the leader has made no pass in between */
		ck_assert(is_sender(&c, id));
	await(is_sender(&c, id), cluster_step(&c)); /* at the latest in the view after one in which it rests */
	ck_ok(whorl_send(subgroup_of(&c, id, "s"), "x", 1, PATIENCE_MS, NULL));
	await(all_recorded(c.records, 3, 1), cluster_step(&c));
	ck_assert_uint_eq(stats_of(subgroup_of(&c, id, "s")).dropped, 0);
	cluster_free(&c);
}

/* It goes on resting in the views that follow, and comes back when it says so. */
TEST(a_resting_member_goes_on_resting)
{
	struct cluster c;

	open_three(&c, "");
	ck_ok(whorl_pause_sending(subgroup_of(&c, 1, "s"), true));
	cluster_await_view(&c, 1);
	ck_assert(!is_sender(&c, 1));
	cluster_leave(&c, 2);
	cluster_await_view(&c, 2);
	ck_assert(!is_sender(&c, 1));
	ck_ok(whorl_pause_sending(subgroup_of(&c, 1, "s"), true)); /* that is nothing new */
	cluster_hush(&c);
	ck_assert(!cluster_is_in_view(&c, 3));
	ck_assert_int_eq(whorl_window_fd(subgroup_of(&c, 1, "s")), -1);
	ck_ok(whorl_pause_sending(subgroup_of(&c, 1, "s"), false));
	ck_assert_int_ge(whorl_window_fd(subgroup_of(&c, 1, "s")), 0); /* until it sends again, which that will tell */
	ck_assert_int_eq(whorl_window_arm(subgroup_of(&c, 1, "s")), WHORL_AGAIN);
	cluster_await_view(&c, 3);
	ck_assert(is_sender(&c, 1));
	ck_ok(send_one(&c, 1));
	await(all_recorded(c.records, 2, 1), cluster_step(&c));
	cluster_free(&c);
}

#define RETURNS 150

struct claimant {
	whorl_subgroup *subgroup;
	_Atomic uint64_t word; /* even: it sends, or is to send again */
	_Atomic uint64_t wrong;
	atomic_bool over;
};

static void *claim_on(void *argument)
{
	struct claimant *claimant = argument;

	while (!atomic_load(&claimant->over)) {
		uint64_t word = atomic_load(&claimant->word);
		struct whorl_claim claim;
		enum whorl_result result = whorl_claim(claimant->subgroup, 1, &claim);

		if (result == WHORL_OK)
			ck_ok(whorl_abort(&claim));
		else if (result == WHORL_NOT_SENDER && word % 2 == 0 && atomic_load(&claimant->word) == word)
			atomic_fetch_add(&claimant->wrong, 1);
	}
	return NULL;
}

/* A claim looks at the ring, and then whether its node is to send again; in between the loop may have settled that. */
TEST(a_node_that_returns_is_told_to_wait)
{
	struct claimant claimant = {.word = 0};
	pthread_t thread;
	struct cluster c;

	cluster_open(&c, 2, "failure_timeout_ms = 600000\n", "[subgroup s]\n");
	cluster_record(&c, "s");
	cluster_start(&c);
	claimant.subgroup = subgroup_of(&c, 1, "s");
	ck_assert_int_eq(pthread_create(&thread, NULL, claim_on, &claimant), 0);
	for (int i = 0; i < RETURNS; i++) {
		atomic_fetch_add(&claimant.word, 1);
		ck_ok(whorl_pause_sending(claimant.subgroup, true));
		await(!is_sender(&c, 1), sched_yield());
		ck_ok(whorl_pause_sending(claimant.subgroup, false));
		atomic_fetch_add(&claimant.word, 1);
		await(is_sender(&c, 1), sched_yield());
	}
	atomic_store(&claimant.over, true);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_uint_eq(claimant.wrong, 0);
	cluster_free(&c);
}

/* It has taken back that it rests, before anything may have come of it: whatever the loop has read by then, a claim waits. */
TEST(what_is_taken_back_at_once_is_told_to_wait)
{
	whorl_subgroup *s;
	struct cluster c;

	open_three(&c, "");
	s = subgroup_of(&c, 1, "s");
	ck_ok(whorl_pause_sending(s, true));
	ck_ok(whorl_pause_sending(s, false));
	wh_node_settle_rest(s, true, false); /* a pass that had read that it rests */
	ck_assert_int_eq(send_one(&c, 1), WHORL_AGAIN);
	await(send_one(&c, 1) == WHORL_OK, cluster_step(&c));
	cluster_free(&c);
}

/* A view can be seen before the loop has moved the rings there: a node that sends in it is told to wait, and not that it never will. */
TEST(a_sender_whose_ring_comes_late_is_told_to_wait)
{
	whorl_subgroup *subgroup;
	struct cluster c;

	open_three(&c, "");
	cluster_await_view(&c, 0);
	cluster_hush(&c);
	subgroup = subgroup_of(&c, 1, "s");
	ck_ok(whorl_window_arm(subgroup));
	wh_ring_drop(subgroup->ring, wh_ring_settled(subgroup->ring)); /* as it is where it was in no view before */
	ck_assert(wh_ring_is_away(subgroup->ring));
	ck_assert(is_sender(&c, 1));
	ck_assert_int_eq(send_one(&c, 1), WHORL_AGAIN);
	ck_assert_int_eq(whorl_window_arm(subgroup), WHORL_AGAIN);
	ck_assert_int_ge(whorl_window_fd(subgroup), 0);
	cluster_free(&c);
}

TEST_SUITE("group: rests")
