/* counter.c - a replicated counter: three processes, each a replica, all of them adding and tripling.
 *
 * The commands do not commute: the replicas end at the same value because they apply the same commands in the same
 * order, and for no other reason. That is all that a replicated state machine is. Prints the value of each replica.
 */
#include <errno.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <whorl/whorl.h>

#define REPLICAS 3
#define COMMANDS 10000 /* by each */

struct command {
	enum { ADD, TRIPLE } kind;
	uint64_t operand;
};

struct counter {
	uint64_t value;
	unsigned long applied;
	sem_t finished;
};

/* The state machine. */
static void apply_command(const struct whorl_message *message, void *ctx)
{
	struct counter *counter = ctx;
	struct command command;

	memcpy(&command, message->data, sizeof(command));
	counter->value = command.kind == ADD ? counter->value + command.operand : counter->value * 3;
	if (++counter->applied == REPLICAS * COMMANDS)
		sem_post(&counter->finished);
}

static int report_failure(const char *what, enum whorl_result result, whorl_node *node)
{
	char text[256] = "";

	whorl_error(node, text, sizeof(text));
	fprintf(stderr, "counter: %s: %s. %s\n", what, whorl_result_text(result), text);
	return 1;
}

static int send_commands(whorl_node *node, whorl_subgroup *subgroup)
{
	for (int i = 0; i < COMMANDS; i++) {
		struct command command = {i % 7 == 0 ? TRIPLE : ADD, whorl_node_id(node) + 1};
		enum whorl_result result = whorl_send(subgroup, &command, sizeof(command), 5000, NULL);

		if (result != WHORL_OK)
			return report_failure("send", result, node);
	}
	return 0;
}

static int run_replica(whorl_config *config, unsigned id, uint64_t *value)
{
	struct counter counter = {.value = 0};
	struct timespec deadline;
	whorl_subgroup *subgroup;
	enum whorl_result result;
	whorl_node *node;
	int failed;

	sem_init(&counter.finished, 0, 0);
	if (whorl_open(config, id, NULL, &node) != WHORL_OK)
		return fprintf(stderr, "counter: %s\n", whorl_config_error(config)), 1;
	subgroup = whorl_subgroup_find(node, "commands");
	whorl_on_message(subgroup, apply_command, &counter);
	result = whorl_start(node);
	failed = result == WHORL_OK ? send_commands(node, subgroup) : report_failure("start", result, node);
	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += 20;
	while (!failed && sem_timedwait(&counter.finished, &deadline) != 0)
		failed = errno != EINTR && report_failure("waiting for the commands", WHORL_TIMEOUT, node);
	/* A replica that has applied all has received all, and every replica has what it needs to apply all: it may leave. */
	whorl_close(node, 5000);
	*value = counter.value;
	return failed;
}

int main(void)
{
	whorl_config *config = whorl_config_new();
	uint64_t values[REPLICAS];
	int results[2], failed = 0;
	char text[256];

	snprintf(text, sizeof(text),
		 "[group]\nname = counter-%d\nnodes = %d\n[subgroup commands]\nmessage_bytes = 16\n", (int)getpid(),
		 REPLICAS);
	if (config == NULL || whorl_config_load_text(config, "counter", text) != WHORL_OK || pipe(results) != 0)
		return fprintf(stderr, "counter: it cannot begin\n"), 1;
	for (unsigned id = 0; id < REPLICAS; id++) /* nodes are opened after fork, never before */
		if (fork() == 0) {
			struct {
				unsigned id;
				uint64_t value;
			} mine = {.id = id};

			failed = run_replica(config, id, &mine.value);
			whorl_config_free(config);
			_exit(failed || write(results[1], &mine, sizeof(mine)) != sizeof(mine));
		}
	for (unsigned id = 0; id < REPLICAS; id++) {
		int status;

		failed |= wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
	}
	for (unsigned i = 0; i < REPLICAS && !failed; i++) {
		struct {
			unsigned id;
			uint64_t value;
		} one;

		failed = read(results[0], &one, sizeof(one)) != sizeof(one);
		values[i] = one.value;
		printf("replica %u: %llu\n", one.id, (unsigned long long)one.value);
		failed |= values[i] != values[0];
	}
	whorl_config_free(config);
	return failed;
}
