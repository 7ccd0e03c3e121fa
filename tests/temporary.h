/* temporary.h - where a test may leave files for as long as it runs: in TMPDIR, which `./run test` makes, and finds empty again. */
#ifndef WH_TESTS_TEMPORARY_H
#define WH_TESTS_TEMPORARY_H

#include <stdio.h>
#include <stdlib.h>

#define TEST_PATH_BYTES 112

/* TMPDIR/NAME-XXXXXX, for mkdtemp or mkstemp. Returns buf. */
static inline char *test_temporary(char buf[TEST_PATH_BYTES], const char *name)
{
	const char *top = getenv("TMPDIR");

	snprintf(buf, TEST_PATH_BYTES, "%.70s/%.30s-XXXXXX", top != NULL && top[0] != '\0' ? top : "/tmp", name);
	return buf;
}

#endif
