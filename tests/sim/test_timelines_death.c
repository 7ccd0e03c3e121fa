/* test_timelines_death.c - nodes that live on one host, where the kernel proves that a process has ended (docs/decisions/0039). */
#include "tests/sim/timeline.h"

/* A proof comes at most so long after the death, unless a node gets none. */
#define PROOF_MS (3 * TIMEOUT_MS)
#define CHANGE_MS 60

#define begin_on_host(t, count, word, ...)                                                                             \
	begin_group(t,                                                                                                 \
		    (&(struct group){                                                                                  \
			    .nodes = count, .tie_breaker = word, .messages = 60, .one_host = true, .proofs = true}),   \
		    __VA_ARGS__)

/* It has the proof that the first life of that node is dead. */
static bool has_proof(const struct timeline *t, uint32_t node, uint32_t of)
{
	return wh_sim_has_proof(t->play->sim, node, t->play->actors[node].incarnation, of,
				t->play->actors[of].incarnation);
}

TEST_CASE("sim", .timeout_s = 120);

/* Two nodes, no tie-breaker: the other one goes on, if it has the proof. */
TEST_LOOP(the_last_of_two_goes_on, 0, 2)
{
	uint32_t proved = 0;

	FOREACH_SEED(t)
	{
		begin_on_host(t, 2, "none", _i == 0 ? "crash 1 at 30 ms" : "crash 0 at 30 ms");
		until(t, 30 + PROOF_MS);
		if (has_proof(t, _i == 0 ? 0 : 1, _i == 0 ? 1 : 0)) {
			expect_view(t, 30 + PROOF_MS + CHANGE_MS, 1, _i == 0 ? "0" : "1");
			expect_fine(t, 30 + PROOF_MS + CHANGE_MS, _i == 0 ? "0" : "1");
			proved++;
		} else {
			expect_no_quorum(t, 30 + PROOF_MS, _i == 0 ? "0" : "1");
		}
		end(t);
	}
	ck_assert_uint_gt(proved, 0);
}

/* 0 stands for the tie. It goes on without 1, which stands still, and is killed, before its row says that it has gone on, or behind
 * that: 1 has no part in what it has delivered. */
TEST_LOOP(one_that_the_dead_have_left_behind_is_removed, 0, 2)
{
	uint32_t proved = 0;

	FOREACH_SEED(t)
	{
		begin_on_host(t, 2, "0", "stall 1 for 200 ms at 30 ms",
			      _i == 0 ? "crash 0 at install 1" : "crash 0 after install 1");
		until(t, 240 + PROOF_MS);
		if (has_proof(t, 1, 0))
			expect_removed(t, 240 + PROOF_MS, "1");
		proved += has_proof(t, 1, 0);
		end(t);
	}
	ck_assert_uint_gt(proved, 0);
}

/* 1 and 2 believe that the other has failed, by 0, which is killed. 1 stands for the tie, goes on, and is killed too: what it said since
 * is behind what 2 has kept of its row. */
TEST(the_row_of_one_that_had_failed_is_read_again)
{
	uint32_t proved = 0;

	FOREACH_SEED(t)
	{
		begin_on_host(t, 3, "1", "break 1 with 2 at 30 ms", "crash 0 at suspect 1", "crash 1 after install 1");
		until(t, 100 + 2 * PROOF_MS);
		proved += has_proof(t, 2, 0) && has_proof(t, 2, 1);
		end(t);
	}
	ck_assert_uint_gt(proved, 0);
}

/* 0 decides, and is killed; 1, which stands for the tie, has it as failed before it looks, proposes anew, and gives up the memory of what
 * was decided. Then comes the proof. */
TEST(a_decision_with_memory_that_is_given_up_is_nothing)
{
	FOREACH_SEED(t)
	{
		begin_on_host(t, 3, "1", "crash 2 at 30 ms", "stall 1 for 20 ms after acknowledge 1",
			      "crash 0 after decide 1");
		until(t, 100 + 2 * PROOF_MS);
		expect_view(t, 150 + 2 * PROOF_MS, ANY, "1");
		end(t);
	}
}

TEST_SUITE("timelines, deaths that are proved")

int main(void)
{
	return test_main(suite());
}
