/* store.c - a replicated store: a node that is started again comes back with what the others have.
 *
 * Three processes, each with the whole store, put values into it. One is killed in the middle and started again; the others go on.
 * It is given a copy of the store as it was between two puts, and later puts it gets as messages: it misses none, and has none
 * twice.
 */
#include <inttypes.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <whorl/whorl.h>

#define NODES 3
#define PUTS 50000 /* by each */
#define KEYS 1000
#define FINISHED KEYS /* the key that each puts last */

struct put { /* a message */
	uint32_t key, value;
};

struct replica {
	uint32_t id;
	bool dies; /* in the middle */
	sem_t all_finished;
	size_t moved;  /* of the store, in bytes: read from a copy, or restored */
	struct store { /* apply_put writes it, or restore_copy does, never both at once: there is no lock */
		uint64_t puts, finished;
		uint32_t of[KEYS];
	} store;
};

static void apply_put(const struct whorl_message *message, void *ctx)
{
	struct replica *replica = ctx;
	const struct put *put = message->data;

	if (put->key < KEYS)
		replica->store.of[put->key] = put->value;
	if (++replica->store.puts == PUTS / 5 && replica->dies)
		raise(SIGKILL); /* as the power fails: in the middle of something */
	if (put->key == FINISHED && ++replica->store.finished == NODES)
		sem_post(&replica->all_finished);
}

/* On the loop, between two messages. (What is large is better not copied here, but shared until it changes.) */
static void *take_copy(const struct whorl_position *position, void *ctx)
{
	struct replica *copy = malloc(sizeof(*copy));

	dprintf(1, "a copy for a newcomer has all before message %" PRIu64 " of view %" PRIu64 "\n", position->sequence,
		position->view);
	if (copy != NULL)
		*copy = (struct replica){.store = ((const struct replica *)ctx)->store};
	return copy;
}

/* On a thread of the library's, while the loop goes on with the next puts. */
static ptrdiff_t read_copy(void *snapshot, void *bytes, size_t count, void *ctx)
{
	struct replica *copy = snapshot;
	size_t left = sizeof(copy->store) - copy->moved;

	count = count < left ? count : left;
	memcpy(bytes, (const char *)&copy->store + copy->moved, count);
	copy->moved += count;
	(void)ctx;
	return (ptrdiff_t)count;
}

static void free_copy(void *snapshot, void *ctx)
{
	(void)ctx;
	free(snapshot);
}

/* At the newcomer, on such a thread too. Nothing is applied before this has said true to the end. */
static bool restore_copy(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	struct replica *replica = ctx;

	if (step == WHORL_RESTORE_BEGIN) /* it may begin again, if the giver dies */
		replica->moved = 0;
	if (count > sizeof(replica->store) - replica->moved)
		return false;
	if (step == WHORL_RESTORE_BYTES)
		memcpy((char *)&replica->store + replica->moved, bytes, count);
	replica->moved += count;
	if (step == WHORL_RESTORE_END)
		dprintf(1, "node %u is given all of %" PRIu64 " puts\n", replica->id, replica->store.puts);
	return step != WHORL_RESTORE_END || replica->moved == sizeof(replica->store);
}

static int run_replica(whorl_config *config, struct replica *replica)
{
	struct whorl_state functions = {sizeof(functions), take_copy, read_copy, free_copy, restore_copy, replica};
	whorl_subgroup *puts;
	whorl_node *node;
	int failed;

	alarm(60); /* should anything stand still */
	sem_init(&replica->all_finished, 0, 0);
	if (whorl_open(config, replica->id, NULL, &node) != WHORL_OK)
		return fprintf(stderr, "store: %s\n", whorl_config_error(config)), 1;
	puts = whorl_subgroup_find(node, "puts");
	whorl_on_message(puts, apply_put, replica);
	failed = whorl_on_state(puts, &functions) != WHORL_OK || whorl_start(node) != WHORL_OK ||
		 whorl_ready(node, 20000) != WHORL_OK; /* a member, with the state */
	for (uint32_t i = 0; i <= PUTS && !failed; i++) {
		struct put put = {i < PUTS ? i * 7 % KEYS : FINISHED, i * NODES + replica->id};

		failed = whorl_send(puts, &put, sizeof(put), 20000, NULL) != WHORL_OK;
	}
	failed = failed || sem_wait(&replica->all_finished) != 0;
	return whorl_close(node, 5000), failed;
}

int main(void)
{
	whorl_config *config = whorl_config_new();
	int results[2], status, failed = 0;
	struct store stores[NODES] = {0};
	pid_t pids[NODES + 1];
	char text[256];

	snprintf(
		text, sizeof(text),
		"[group]\nname = store-%d\nnodes = %d\nstart_timeout_ms = 20000\nfailure_timeout_ms = 10000\n[subgroup puts]\n",
		(int)getpid(), NODES);
	if (config == NULL || whorl_config_load_text(config, "store", text) != WHORL_OK || pipe(results) != 0)
		return fprintf(stderr, "store: it cannot begin\n"), 1;
	for (int i = 0; i <= NODES; i++) { /* the last is node 0 again */
		struct replica replica = {.id = (uint32_t)(i % NODES), .dies = i == 0};

		if (i == NODES)
			failed = waitpid(pids[0], &status, 0) < 0 || !WIFSIGNALED(status);
		pids[i] = fork(); /* nodes are opened after it, never before */
		if (pids[i] == 0)
			_exit(run_replica(config, &replica) ||
			      write(results[1], &replica.store, sizeof(stores[0])) < 0);
	}
	for (int i = 0; i < NODES && !failed; i++)
		failed = wait(&status) < 0 || status != 0 ||
			 read(results[0], &stores[i], sizeof(stores[0])) != sizeof(stores[0]) ||
			 memcmp(&stores[i], &stores[0], sizeof(stores[0])) != 0;
	printf("%d stores are %s, after %" PRIu64 " puts\n", NODES, failed ? "unlike" : "alike", stores[0].puts);
	whorl_config_free(config);
	return failed;
}
