/* restart.c - how long a durable group takes to come back after all of its nodes have ended, as JSON.
 *
 *     whorl-restart [--dir D] [--nodes N] [--message-bytes N] [--bytes N] [--rounds N]
 *
 * Nodes are processes of this host. They write a log of so many bytes each, in a directory of their own, and are killed. Then, in each round, and
 * each time with none of it in the page cache:
 *
 *   limit    as many bare programs each read the files of one directory, in pieces of 1 MB, and do nothing with them
 *   restart  the nodes are started, and upcall all that is in their logs: until the last of them is ready
 *
 * Both are rates of bytes of the logs. That the cache is empty is asked of the system for each file (posix_fadvise), which is what a user may
 * do: where something else has those files mapped it stays, and both are faster.
 */
#include "bench/restart/parts.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- nodes ---------------------------------------------------------------------------------------------------------- */

static whorl_node *open_node(const struct plan *plan, uint32_t id)
{
	whorl_config *config;
	whorl_node *node;
	char text[2048];

	snprintf(text, sizeof(text),
		 "[group]\nname = restart-%ld\nnodes = %lu\nlog_dir = %s\ndisk_timeout_ms = 600000\nmemory_max = 64g\n"
		 "failure_timeout_ms = 30000\nstart_timeout_ms = 60000\n"
		 "[subgroup all]\nmode = durable\nwindow = 100\nmessage_bytes = %lu\nlog_bytes = 1024g\n",
		 (long)getppid(), plan->nodes, plan->logs, plan->message_bytes);
	config = load(text);
	if (whorl_open(config, id, NULL, &node) != WHORL_OK)
		errx(1, "node %" PRIu32 ": %s", id, whorl_config_error(config));
	whorl_config_free(config);
	if (whorl_on_message(whorl_subgroup_at(node, 0), count_message, &shared->upcalled[id]) != WHORL_OK)
		errx(1, "node %" PRIu32 ": no upcall", id);
	await_ready(node, id);
	return node;
}

/* Node 0 sends all, and each waits until it is killed. */
static _Noreturn void be_node(const struct plan *plan, uint32_t id, bool sends)
{
	whorl_node *node = open_node(plan, id);
	unsigned char *message = calloc(1, plan->message_bytes);
	enum whorl_result result = message != NULL ? WHORL_OK : WHORL_MEMORY;

	for (unsigned long i = 0; sends && result == WHORL_OK && i < plan->messages; i++)
		while ((result = whorl_send(whorl_subgroup_at(node, 0), message, plan->message_bytes, 1000, NULL)) ==
		       WHORL_TIMEOUT)
			;
	if (result != WHORL_OK)
		errx(1, "node %" PRIu32 ": %s", id, whorl_result_text(result));
	for (;;)
		pause();
}

static void begin_all(const struct plan *plan, pid_t nodes[], bool sends)
{
	*shared = (struct shared){.ready = 0};
	for (uint32_t id = 0; id < plan->nodes; id++) {
		nodes[id] = fork();
		if (nodes[id] == 0)
			be_node(plan, id, sends && id == 0);
		if (nodes[id] < 0)
			err(1, "fork");
	}
}

static void await_all(const struct plan *plan, const pid_t nodes[], unsigned long messages)
{
	for (bool all = false; !all; rest()) {
		check_all(plan, nodes);
		all = atomic_load(&shared->ready) == plan->nodes;
		for (uint32_t id = 0; id < plan->nodes; id++)
			all = all && atomic_load(&shared->upcalled[id]) >= messages;
	}
}

/* ---- files ------------------------------------------------------------------------------------------------------------ */

static uint64_t forget_files(const struct plan *plan)
{
	uint64_t sum = 0;

	for (uint32_t id = 0; id < plan->nodes; id++)
		sum += pass_files(plan, id, false);
	return sum;
}

/* ---- rounds ----------------------------------------------------------------------------------------------------------- */

static double time_limit(const struct plan *plan)
{
	double began = now();
	int status;

	for (uint32_t id = 0; id < plan->nodes; id++) {
		pid_t reader = fork();

		if (reader < 0)
			err(1, "fork");
		if (reader == 0) {
			(void)pass_files(plan, id, true);
			_exit(0);
		}
	}
	while (wait(&status) > 0)
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			errx(1, "the files cannot be read");
	return now() - began;
}

static double time_restart(const struct plan *plan)
{
	pid_t nodes[NODES_MAX];
	double began = now(), took;

	begin_all(plan, nodes, false);
	await_all(plan, nodes, plan->messages);
	took = now() - began;
	end_all(plan, nodes);
	return took;
}

static void write_logs(const struct plan *plan)
{
	pid_t nodes[NODES_MAX];

	begin_all(plan, nodes, true);
	await_all(plan, nodes, plan->messages);
	end_all(plan, nodes);
}

static void run_rounds(const struct plan *plan)
{
	double limit[ROUNDS_MAX] = {0}, restart[ROUNDS_MAX] = {0}, ratio[ROUNDS_MAX] = {0};
	uint64_t bytes = 0;

	for (unsigned long round = 0; round < plan->rounds; round++) {
		bytes = forget_files(plan);
		limit[round] = (double)bytes / 1e6 / time_limit(plan);
		bytes = forget_files(plan);
		restart[round] = (double)bytes / 1e6 / time_restart(plan);
		ratio[round] = restart[round] / limit[round];
		fprintf(stderr, "round %lu of %lu: read %.0f MB/s, restarted %.0f MB/s\n", round + 1, plan->rounds,
			limit[round], restart[round]);
	}
	printf("{\"nodes\": %lu, \"message_bytes\": %lu, \"messages\": %lu, \"bytes\": %" PRIu64 ", \"rounds\": %lu, ",
	       plan->nodes, plan->message_bytes, plan->messages, bytes, plan->rounds);
	print_figure("limit_mb_per_s", limit, plan->rounds, ", ");
	print_figure("restart_mb_per_s", restart, plan->rounds, ", ");
	print_figure("restart_over_limit", ratio, plan->rounds, "}\n");
}

/* ---- the command line ------------------------------------------------------------------------------------------------- */

static void read_options(struct plan *plan, int argc, char *argv[])
{
	const struct setting settings[] = {
		{"nodes", &plan->nodes},
		{"message-bytes", &plan->message_bytes},
		{"bytes", &plan->bytes},
		{"rounds", &plan->rounds},
		{0},
	};

	read_settings(plan, settings, argc, argv);
	if (plan->nodes < 1 || plan->nodes > NODES_MAX || plan->rounds < 1 || plan->rounds > ROUNDS_MAX ||
	    plan->message_bytes < 1 || plan->bytes < plan->message_bytes)
		errx(2, "it takes 1 to %d nodes, 1 to %d rounds, and a message at least", NODES_MAX, ROUNDS_MAX);
	plan->messages = plan->bytes / plan->message_bytes;
}

int main(int argc, char *argv[])
{
	struct plan plan = {.dir = ".", .nodes = 1, .message_bytes = 10240, .bytes = 1000000000, .rounds = 5};

	read_options(&plan, argc, argv);
	make_place(&plan);
	fprintf(stderr, "%lu nodes write %lu MB each in %s\n", plan.nodes, plan.bytes / 1000000, plan.logs);
	write_logs(&plan);
	run_rounds(&plan);
	remove_files(&plan, true);
	return 0;
}
