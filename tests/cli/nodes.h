/* nodes.h - nodes of a group as processes of the command, for tests of `whorl node` and `whorl status`. */
#ifndef WH_TESTS_CLI_NODES_H
#define WH_TESTS_CLI_NODES_H

#include "tests/cli/cli.h"

#define NODES_MOST 8
#define NODES_LIVE                                                                                                     \
	"400" /* seconds, longer than a test waits at all: a test that fails leaves them behind, and then they end by themselves */

struct nodes {
	struct cli_dir dir;
	char name[64]; /* of the group: no other has it */
	char ini[512];
	struct node {
		struct cli_dir dir; /* of what it writes */
		struct cli cli;
		bool runs;
	} of[NODES_MOST];
};

/* A group of three configured nodes, ids up to 7, and one subgroup, orders; `group` is more of [group], `rest` more of the file. */
void nodes_open(struct nodes *nodes, const char *group, const char *rest);
/* A node that still runs is killed. */
void nodes_close(struct nodes *nodes);

/* `whorl node INI --id ID` and `arguments`, NULL at the end. What an earlier one of that id has written is gone. */
void nodes_start(struct nodes *nodes, int id, const char *const *arguments);
#define NODES_START(nodes, id, ...) nodes_start((nodes), (id), (const char *const[]){__VA_ARGS__, NULL})

void nodes_signal(struct nodes *nodes, int id, int signal);
/* It stands still: all its threads have stopped when this returns. */
void nodes_stop(struct nodes *nodes, int id);
/* Waits for its end. Returns the exit status; of[id].cli.out and err have what it wrote. */
int nodes_wait(struct nodes *nodes, int id);
/* Both. */
int nodes_end(struct nodes *nodes, int id, int signal);

/* Waits until it has written a line to standard output (or to standard error) that has this in it. */
void nodes_await(struct nodes *nodes, int id, const char *words);
void nodes_await_error(struct nodes *nodes, int id, const char *words);
/* What it has written to standard output so far, whole lines; to be freed. */
char *nodes_output(struct nodes *nodes, int id);

#endif
