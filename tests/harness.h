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

#include "tests/patience.h"

#include <check.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Tests enter themselves, in the order in which they stand in their file: none can be forgotten.
 *
 *     TEST_CASE("half a message", .timeout_s = 30, .setup = begin, .teardown = end);
 *
 *     TEST(a_message_that_ends_early_is_refused)
 *     {
 *             ...
 *     }
 *
 *     TEST_LOOP(each_length_is_read, 0, 9) // with _i from 0 to 8
 *     {
 *             ...
 *     }
 *
 *     TEST_SUITE("wire") // defines suite(), at the end of the file
 */
struct test_entry {
	int line;
	const char *begins;  /* a test case of that name: all up to the next is of it; NULL: this is a test */
	double timeout_s;    /* of each of its tests; 0: Check's; TEST_UNTIMED: none */
	uint64_t patience_s; /* likewise, for a machine that does nothing else (patience.h); 0: timeout_s says it */
	void (*setup)(void), (*teardown)(void);
	const TTest *const *test;
	int first, end;
};

#define TEST_UNTIMED (-1)

/* A pointer, as a linker may leave room between structs. */
#define TEST_ENTERED(name, ...)                                                                                        \
	static const struct test_entry name##_entry = {.line = __LINE__, __VA_ARGS__};                                 \
	static const struct test_entry *const name##_entered __attribute__((used, section("whorl_tests"))) =           \
		&name##_entry
#define TEST_CASE(...) TEST_CASE_AT(__LINE__, .begins = __VA_ARGS__)
#define TEST_CASE_AT(line, ...) TEST_CASE_OF(line, __VA_ARGS__)
#define TEST_CASE_OF(line, ...) TEST_ENTERED(case_##line, __VA_ARGS__)
#define TEST_LOOP(name, from, to)                                                                                      \
	static const TTest *name;                                                                                      \
	TEST_ENTERED(name, .test = (const TTest *const *)&name, .first = (from), .end = (to));                         \
	START_TEST(name)
#define TEST(name) TEST_LOOP(name, 0, 1)
#define TEST_SUITE(name)                                                                                               \
	extern const struct test_entry *const __start_whorl_tests[], *const __stop_whorl_tests[];                      \
                                                                                                                       \
	Suite *suite(void)                                                                                             \
	{                                                                                                              \
		return test_suite_of((name), __start_whorl_tests,                                                      \
				     ((uintptr_t)__stop_whorl_tests - (uintptr_t)__start_whorl_tests) /                \
					     sizeof(*__start_whorl_tests));                                            \
	}

static inline int test_entry_order(const void *a, const void *b)
{
	const struct test_entry *const *one = a, *const *other = b;

	return (*one)->line - (*other)->line;
}

static inline TCase *test_case_of(Suite *suite, const struct test_entry *entry)
{
	TCase *cases = tcase_create(entry->begins);

	if (entry->patience_s > 0)
		tcase_set_timeout(cases, (double)test_patience(entry->patience_s));
	else if (entry->timeout_s != 0)
		tcase_set_timeout(cases, entry->timeout_s > 0 ? entry->timeout_s : 0);
	if (entry->setup != NULL || entry->teardown != NULL)
		tcase_add_checked_fixture(cases, entry->setup, entry->teardown);
	suite_add_tcase(suite, cases);
	return cases;
}

static inline Suite *test_suite_of(const char *name, const struct test_entry *const *entries, size_t count)
{
	static const struct test_entry all = {.begins = "all"};
	const struct test_entry **sorted = calloc(count, sizeof(const struct test_entry *));
	Suite *suite = suite_create(name);
	TCase *cases = NULL;

	if (sorted == NULL)
		abort();
	memcpy(sorted, entries, count * sizeof(const struct test_entry *));
	qsort(sorted, count, sizeof(const struct test_entry *), test_entry_order);
	for (size_t i = 0; i < count; i++) {
		const struct test_entry *entry = sorted[i];

		if (entry->begins != NULL) {
			cases = test_case_of(suite, entry);
			continue;
		}
		if (cases == NULL)
			cases = test_case_of(suite, &all);
		tcase_add_loop_test(cases, *entry->test, entry->first, entry->end);
	}
	free(sorted);
	return suite;
}

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
