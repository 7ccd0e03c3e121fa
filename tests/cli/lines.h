/* lines.h - for tests that run the command and look at its JSON lines: a directory, the command, and the lines, for each test anew. */
#ifndef WH_TESTS_CLI_LINES_H
#define WH_TESTS_CLI_LINES_H

#include <check.h>

#include "tests/cli/cli.h"
#include "tests/cli/results.h"

static struct cli_dir dir;
static struct cli cli;
static json_t *lines;

static inline void setup(void)
{
	cli_dir_make(&dir);
	lines = NULL;
}

static inline void teardown(void)
{
	json_decref(lines);
	cli_free(&cli);
	cli_dir_remove(&dir);
}

static inline void assert_good(void)
{
	ck_assert_msg(cli.status == 0, "status %d: %s", cli.status, cli.err);
}

#endif
