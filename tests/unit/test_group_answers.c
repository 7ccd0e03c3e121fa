/* test_group_answers.c - what a call answers means one thing: accepted or not, never or not now.
 * Labels: threads
 */
#include <pthread.h>

#include "tests/support/group.h"

#define CALLER "[engine]\nthread = caller\n"

/* ---- the index of what is sent -------------------------------------------------------------------------------------------- */

static void *send_and_note(void *ctx)
{
	struct cluster *c = ctx;
	whorl_subgroup *s = subgroup_of(c, 0, "s");
	struct whorl_claim claim;

	for (uint64_t i = 0; i < 500; i++) {
		uint64_t index = UINT64_MAX, word = (uint64_t)pthread_self() ^ i;

		ck_ok(whorl_send(s, &word, sizeof(word), PATIENCE_MS, &index));
		await(recorded(c->records[0]) > index, sched_yield());
		for (unsigned long at = 0; at < recorded(c->records[0]); at++)
			if (c->records[0]->entries[at].index == index) {
				ck_assert_uint_eq(c->records[0]->entries[at].word, word);
				break;
			}
		if (i % 8 == 0 && whorl_claim_wait(s, 1, PATIENCE_MS, &claim) == WHORL_OK) {
			memset(claim.data, 0, 1);
			ck_ok(whorl_commit(&claim, 1)); /* takes an index as well */
		}
	}
	return NULL;
}

TEST_CASE("answers", .timeout_s = 60);

/* By its index a sender knows its own delivery, whichever other threads send. */
TEST(a_send_tells_its_index)
{
	pthread_t threads[2];
	struct cluster c;

	cluster_open(&c, 1, "", "[subgroup s]\n");
	cluster_record(&c, "s");
	cluster_start(&c);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, send_and_note, &c);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	cluster_free(&c);
}

static uint64_t sent_index;
static atomic_bool seen;

static void compare_index(const struct whorl_message *message, void *ctx)
{
	(void)ctx;
	ck_assert_uint_eq(message->index, sent_index);
	seen = true;
}

/* Also while whorl_send is on its way back, or has not been able to return. */
TEST(the_index_is_there_before_the_upcall)
{
	struct cluster c;

	cluster_open(&c, 1, "", "[subgroup s]\n");
	ck_ok(whorl_on_message(subgroup_of(&c, 0, "s"), compare_index, NULL));
	cluster_start(&c);
	for (int i = 0; i < 1000; i++) {
		seen = false;
		ck_ok(whorl_send(subgroup_of(&c, 0, "s"), "x", 1, PATIENCE_MS, &sent_index));
		await(seen, sched_yield());
	}
	cluster_free(&c);
}

/* ---- without a quorum ------------------------------------------------------------------------------------------------------- */

/* What was claimed before is accepted, and sent later; nothing new is. */
TEST(accepted_and_refused_are_told_apart)
{
	uint64_t index = 77;
	struct whorl_claim claims[2];
	struct cluster c;
	whorl_subgroup *s;

	cluster_open(&c, 2, "failure_timeout_ms = 50\n", "[subgroup s]\n" CALLER);
	cluster_record(&c, "s");
	cluster_start(&c);
	s = subgroup_of(&c, 0, "s");
	for (int i = 0; i < 2; i++)
		ck_ok(whorl_claim(s, 1, &claims[i]));
	await(whorl_error(c.nodes[0], NULL, 0) == WHORL_NO_QUORUM, whorl_step(c.nodes[0]));
	ck_assert_int_eq(whorl_send(s, "x", 1, 0, &index), WHORL_NO_QUORUM);
	ck_assert_uint_eq(index, 77);
	ck_ok(whorl_abort(&claims[0])); /* that is all there is to it */
	memset(claims[1].data, 'y', 1);
	ck_assert_int_eq(whorl_commit(&claims[1], 1), WHORL_PENDING);
	await(whorl_error(c.nodes[0], NULL, 0) == WHORL_OK, cluster_step(&c));
	await(all_recorded(c.records, 2, 1), cluster_step(&c));
	ck_assert_uint_eq(c.records[1]->entries[0].word, 'y');
	cluster_free(&c);
}

/* ---- not now, or never ------------------------------------------------------------------------------------------------------- */

TEST(before_there_is_a_view)
{
	struct cluster c;

	cluster_open(&c, 2, "", "[subgroup s]\nshards = 2\n" CALLER);
	ck_assert_int_eq(whorl_shard_state(c.nodes[0], "s", 1), WHORL_AGAIN);
	ck_assert_int_eq(whorl_shard_state(c.nodes[0], "s", 2), WHORL_NOT_FOUND);
	ck_assert_int_eq(whorl_shard_state(c.nodes[0], "t", 0), WHORL_NOT_FOUND);
	ck_assert_int_eq(whorl_request_pause(subgroup_of(&c, 0, "s"), 1, true), WHORL_AGAIN);
	cluster_start(&c);
	ck_ok(whorl_shard_state(c.nodes[0], "s", 1));
	ck_assert_int_eq(whorl_shard_state(c.nodes[0], "s", 2), WHORL_NOT_FOUND);
	ck_assert_int_eq(whorl_request_pause(subgroup_of(&c, 0, "s"), 5, true), WHORL_NOT_FOUND);
	cluster_free(&c);
}

static atomic_bool inside, may_return;

static void stay_inside(const struct whorl_message *message, void *ctx)
{
	(void)message;
	(void)ctx;
	inside = true;
	while (!may_return)
		sched_yield();
}

static void *make_passes(void *node)
{
	while (!may_return)
		whorl_step(node);
	return NULL;
}

/* Another thread makes a pass: that is no mistake of this one's. */
TEST(the_loop_is_taken)
{
	pthread_t other;
	struct cluster c;

	inside = may_return = false;
	cluster_open(&c, 1, "", "[subgroup s]\n" CALLER);
	ck_assert_int_eq(whorl_wait(c.nodes[0], 0), WHORL_INVALID); /* not started */
	ck_ok(whorl_on_message(subgroup_of(&c, 0, "s"), stay_inside, NULL));
	cluster_start(&c);
	ck_ok(whorl_send(subgroup_of(&c, 0, "s"), "x", 1, 0, NULL));
	pthread_create(&other, NULL, make_passes, c.nodes[0]);
	await(inside, sched_yield());
	ck_assert_int_eq(whorl_wait(c.nodes[0], 10), WHORL_AGAIN);
	may_return = true;
	pthread_join(other, NULL);
	cluster_free(&c);
}

TEST_SUITE("group: answers")
