/* harness.h - what the test programs share: main() of a Check suite, the seed of a randomised test, the skip.
 *
 * Exit status, for CTest: 0 passed, 77 skipped (and tests/skips.txt must say why), anything else failed.
 *
 *     WHORL_SEED=n   the seed of randomised tests, instead of their own: `./run soak` gives fresh ones, and a failure
 *                    prints the one to run it again with
 *     CK_FORK=no     all in one process, for a debugger
 *     CK_RUN_CASE=x  only that test case
 */
#ifndef WH_TESTS_HARNESS_H
#define WH_TESTS_HARNESS_H

#include <check.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define TEST_SKIPPED 77

/* Check writes to a file each assertion that holds, to say behind which a test has crashed, and reads all of it again: where they are by the
 * hundred thousand that was most of a test's time. The first ones of each test are noted. */
#define TEST_MARKS_MAX 1000

static inline void test_mark(const char *file, int line)
{
	static _Atomic unsigned marks; /* the test's own: each has a process */

	if (marks < TEST_MARKS_MAX) {
		marks++;
		_mark_point(file, line);
	}
}

#define _mark_point test_mark

/* The seed from the environment, else `fallback`. Prints it: the output of a test that passes is not shown. */
static inline uint64_t test_seed(uint64_t fallback)
{
	const char *text = getenv("WHORL_SEED");
	uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : fallback;

	printf("WHORL_SEED=%" PRIu64 "\n", seed);
	fflush(stdout);
	return seed;
}

/* The program cannot run here; `why` goes to its output. */
static inline int test_skip(const char *why)
{
	printf("skipped: %s\n", why);
	return TEST_SKIPPED;
}

/* What a program of one suite defines; main() of unit tests (tests/support/main.c) runs it. */
Suite *suite(void);

/* Runs and frees the suite: `int main(void) { return test_main(suite()); }`. A suite that ran nothing has failed. */
static inline int test_main(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed, ran;

	srunner_run_all(runner, CK_ENV);
	ran = srunner_ntests_run(runner);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	if (ran == 0)
		fprintf(stderr, "no test ran\n");
	return ran > 0 && failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
