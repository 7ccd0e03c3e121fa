/* lines.h - for tests that run the command and look at its JSON lines: a directory, the command, and the lines, for each test anew. */
#ifndef WH_TESTS_CLI_LINES_H
#define WH_TESTS_CLI_LINES_H

#include <check.h>

#include "tests/cli/cli.h"
#include "tests/cli/results.h"

/* The sections of a file before [bench]: so many nodes, with few slots, in which little messages soon come round. */
#define SMALL_GROUP(nodes)                                                                                             \
	"[group]\n"                                                                                                    \
	"nodes = " nodes "\n"                                                                                          \
	"failure_timeout_ms = 20000\n" /* a slow machine is no failure */                                              \
	"[subgroup all]\n"                                                                                             \
	"window = 10\n"                                                                                                \
	"message_bytes = 1000\n"

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
