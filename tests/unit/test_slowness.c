/* test_slowness.c - the factor by which tests wait longer on a busy machine, for programs and for scripts. */

#include "tests/harness.h"
#include "tests/patience.h"

static const struct {
	const char *given;
	uint64_t of_1000;
} factors[] = {{"1", 1000}, {"0.2", 200}, {"0", 100}, {"x", 100}, {"3", 3000}, {"2.5", 2500}, {"99", 5000}};

/* What `patience 1000` prints. */
static uint64_t of_script(void)
{
	char command[512], line[64] = "";
	FILE *script;

	snprintf(command, sizeof(command), "bash -c '. \"%s\" && patience 1000'", PATIENCE_SH);
	script = popen(command, "r");
	ck_assert_ptr_nonnull(script);
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), script));
	ck_assert_int_eq(pclose(script), 0);
	return strtoull(line, NULL, 10);
}

START_TEST(given)
{
	setenv("WHORL_PATIENCE", factors[_i].given, 1);
	ck_assert_uint_eq(test_patience(1000), factors[_i].of_1000);
	ck_assert_uint_eq(of_script(), factors[_i].of_1000);
}
END_TEST

/* What is measured: never less than on a quiet machine, and an end. */
START_TEST(measured)
{
	unsetenv("WHORL_PATIENCE");
	ck_assert_uint_ge(test_patience(1000), 1000);
	ck_assert_uint_le(test_patience(1000), 1000 * WH_PATIENCE_MOST);
	ck_assert_uint_ge(of_script(), 1000);
	ck_assert_uint_le(of_script(), 1000 * WH_PATIENCE_MOST);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("slowness");
	TCase *cases = tcase_create("slowness");

	tcase_add_loop_test(cases, given, 0, sizeof(factors) / sizeof(factors[0]));
	tcase_add_test(cases, measured);
	suite_add_tcase(suite, cases);
	return test_main(suite);
}
