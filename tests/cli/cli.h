/* cli.h - running the command in a test. */
#ifndef WH_TESTS_CLI_CLI_H
#define WH_TESTS_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "tests/patience.h"
#include "tests/temporary.h"

#define CLI_TIMEOUT_MS                                                                                                 \
	((long)test_patience(60000)) /* until a command that does not end is killed; the test has failed then */

/* A directory of the test's own. */
struct cli_dir {
	char path[TEST_PATH_BYTES];
};

void cli_dir_make(struct cli_dir *dir);
void cli_dir_remove(struct cli_dir *dir);
/* DIR/name. The buffer is one of a few that take turns. */
const char *cli_path(const struct cli_dir *dir, const char *name);
/* Writes a file there and returns its path. */
const char *cli_write(const struct cli_dir *dir, const char *name, const char *text);
/* The whole text of a file, to be freed; NULL if there is no such file. */
char *cli_read(const char *path);

/* The path of what is run: the command that was built, until a test says otherwise. */
extern const char *cli_command;

/* A command that runs or has run. `arguments` without the command's name, NULL at the end. */
struct cli {
	pid_t pid;
	char out_path[TEST_PATH_BYTES + 8], err_path[TEST_PATH_BYTES + 8];
	char *out, *err; /* all it wrote; after cli_wait */
	int status;      /* exit status; 128 + the signal that killed it; -1: it did not end */
};

void cli_start(struct cli *cli, const struct cli_dir *dir, const char *const *arguments);
void cli_wait(struct cli *cli);
void cli_free(struct cli *cli);
/* Both at once. */
void cli_run(struct cli *cli, const struct cli_dir *dir, const char *const *arguments);
#define CLI_RUN(cli, dir, ...) cli_run((cli), (dir), (const char *const[]){__VA_ARGS__, NULL})

/* Waits until `holds` is true; fails the test after CLI_TIMEOUT_MS, or when the command has ended before (NULL: it has). */
void cli_await(struct cli *cli, bool (*holds)(void *ctx), void *ctx, const char *what);
/* The same; before it fails `tell` prints what has come instead. */
void cli_await_telling(struct cli *cli, bool (*holds)(void *ctx), void (*tell)(void *ctx), void *ctx, const char *what);

/* The command's children. Returns how many there are, at most `most` of them in `pids`. */
size_t cli_children(const struct cli *cli, pid_t *pids, size_t most);
/* Processes of the command's session, itself included, that are still there (zombies are not). */
size_t cli_processes(const struct cli *cli);
/* Unix sockets that have `name` in their name. */
size_t cli_sockets(const char *name);

/* How many lines of `text` have all of the words in them. */
size_t cli_lines_with(const char *text, const char *const *words);
#define CLI_LINES_WITH(text, ...) cli_lines_with((text), (const char *const[]){__VA_ARGS__, NULL})

/* Assertions of a command that has ended, which tell all that it wrote where they fail: it ended with this status, */
#define CLI_ENDED(cli, expected)                                                                                       \
	ck_assert_msg((cli)->status == (expected), "status %d:\n%s%s", (cli)->status, (cli)->out, (cli)->err)
/* and so many lines of `stream`, out or err, have all of the words in them. */
#define CLI_WROTE(cli, stream, lines, ...)                                                                             \
	ck_assert_msg(CLI_LINES_WITH((cli)->stream, __VA_ARGS__) == (size_t)(lines), "of " #__VA_ARGS__ ":\n%s%s",     \
		      (cli)->out, (cli)->err)
/* It found one mistake, and one line of err tells of it. */
#define CLI_MISTAKE(cli, line)                                                                                         \
	do {                                                                                                           \
		CLI_ENDED(cli, 2);                                                                                     \
		CLI_WROTE(cli, err, 1, line);                                                                          \
		CLI_WROTE(cli, err, 1, "");                                                                            \
	} while (0)

#endif
