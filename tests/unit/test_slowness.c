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

TEST_LOOP(given, 0, sizeof(factors) / sizeof(factors[0]))
{
	setenv("WHORL_PATIENCE", factors[_i].given, 1);
	ck_assert_uint_eq(test_patience(1000), factors[_i].of_1000);
	ck_assert_uint_eq(of_script(), factors[_i].of_1000);
}

/* What is measured: never less than on a quiet machine, and an end. */
TEST(measured)
{
	unsetenv("WHORL_PATIENCE");
	ck_assert_uint_ge(test_patience(1000), 1000);
	ck_assert_uint_le(test_patience(1000), 1000 * WH_PATIENCE_MOST);
	ck_assert_uint_ge(of_script(), 1000);
	ck_assert_uint_le(of_script(), 1000 * WH_PATIENCE_MOST);
}

TEST_SUITE("slowness")
