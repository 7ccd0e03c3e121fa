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

/* Two nodes, no tie-breaker: the other one goes on, if it has the proof. */
START_TEST(the_last_of_two_goes_on)
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
END_TEST

static Suite *suite(void)
{
	Suite *all = suite_create("timelines, deaths that are proved");
	TCase *cases = tcase_create("sim");

	tcase_set_timeout(cases, 120);
	tcase_add_loop_test(cases, the_last_of_two_goes_on, 0, 2);
	suite_add_tcase(all, cases);
	return all;
}

int main(void)
{
	return test_main(suite());
}
