/* test_delegate_remote.c - trusts of another node: the same calls, two nodes in one process.
 *
 * Labels: threads
 */
#include "tests/unit/remote_lab.h"

static const char *const transports[] = {"shm", "tcp"};

START_TEST(a_call_to_another_node)
{
	struct whorl_trust trust;
	struct lab lab;
	uint64_t n = 0;

	lab_open(&lab, 2, 2, transports[_i]);
	for (uint32_t worker = 0; worker < 2; worker++) {
		trust = lab_counter(&lab, 0, 1, worker, 5);
		ck_assert_uint_eq(trust.node, 1);
		ck_assert_uint_eq(trust.worker, worker);
		ck_ok(whorl_apply(&trust, counter_add, &(struct add){7}, &n, PATIENCE_MS));
		ck_assert_uint_eq(n, 12);
		ck_ok(whorl_trust_drop(&trust));
	}
	lab_close(&lab);
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("delegate_remote");
	TCase *tcase = tcase_create("remote");

	tcase_add_loop_test(tcase, a_call_to_another_node, 0, 2);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return test_main(suite());
}
