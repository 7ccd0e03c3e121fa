/* nodes.c - see nodes.h. */
#include "tests/cli/nodes.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The three wait for each other, so that the first view is the same whatever else the machine does. */
void nodes_open(struct nodes *nodes, const char *group, const char *rest)
{
	static unsigned count;
	char text[4096];

	*nodes = (struct nodes){.name = ""};
	cli_dir_make(&nodes->dir);
	snprintf(nodes->name, sizeof nodes->name, "test-%d-%u", (int)getpid(), count++);
	snprintf(
		text, sizeof text,
		"[group]\nname = %s\nnodes = 3\nnodes_max = 8\nstart_timeout_ms = 60000\n%s\n[subgroup orders]\nwindow = 20\nmessage_bytes = 1k\nlarge_bytes = 4k\n%s\n",
		nodes->name, group, rest);
	snprintf(nodes->ini, sizeof nodes->ini, "%s", cli_write(&nodes->dir, "group.ini", text));
}

void nodes_close(struct nodes *nodes)
{
	for (int id = 0; id < NODES_MOST; id++) {
		struct node *node = &nodes->of[id];

		if (node->runs) {
			kill(-node->cli.pid, SIGKILL);
			waitpid(node->cli.pid, NULL, 0);
		}
		cli_free(&node->cli);
		if (node->dir.path[0] != '\0')
			cli_dir_remove(&node->dir);
	}
	cli_dir_remove(&nodes->dir);
}

void nodes_start(struct nodes *nodes, int id, const char *const *arguments)
{
	struct node *node = &nodes->of[id];
	char number[8];
	const char *all[32] = {"node", nodes->ini, "--id", number, "--seconds", NODES_LIVE};
	size_t count = 6;

	ck_assert(!node->runs);
	snprintf(number, sizeof number, "%d", id);
	while (*arguments != NULL && count + 1 < sizeof all / sizeof all[0])
		all[count++] = *arguments++;
	if (node->dir.path[0] == '\0')
		cli_dir_make(&node->dir);
	cli_free(&node->cli);
	cli_start(&node->cli, &node->dir, all);
	node->runs = true;
}

void nodes_signal(struct nodes *nodes, int id, int signal)
{
	ck_assert_int_eq(kill(nodes->of[id].cli.pid, signal), 0);
}

void nodes_stop(struct nodes *nodes, int id)
{
	int status = 0;

	nodes_signal(nodes, id, SIGSTOP);
	ck_assert_int_eq(waitpid(nodes->of[id].cli.pid, &status, WUNTRACED), nodes->of[id].cli.pid);
	ck_assert(WIFSTOPPED(status));
}

int nodes_wait(struct nodes *nodes, int id)
{
	struct node *node = &nodes->of[id];

	cli_wait(&node->cli);
	node->runs = false;
	return node->cli.status;
}

int nodes_end(struct nodes *nodes, int id, int signal)
{
	nodes_signal(nodes, id, signal);
	return nodes_wait(nodes, id);
}

/* ---- what they write -------------------------------------------------------------------------------------------------------- */

struct line {
	const char *path, *words;
};

static bool is_there(void *ctx)
{
	const struct line *line = ctx;
	char *text = cli_read(line->path);
	bool found = text != NULL && CLI_LINES_WITH(text, line->words) > 0;

	free(text);
	return found;
}

void nodes_await(struct nodes *nodes, int id, const char *words)
{
	struct line line = {nodes->of[id].cli.out_path, words};

	cli_await(&nodes->of[id].cli, is_there, &line, words);
}

void nodes_await_error(struct nodes *nodes, int id, const char *words)
{
	struct line line = {nodes->of[id].cli.err_path, words};

	cli_await(&nodes->of[id].cli, is_there, &line, words);
}

char *nodes_output(struct nodes *nodes, int id)
{
	char *text = cli_read(nodes->of[id].cli.out_path), *end;

	ck_assert_ptr_nonnull(text);
	end = strrchr(text, '\n');
	*(end != NULL ? end + 1 : text) = '\0';
	return text;
}
