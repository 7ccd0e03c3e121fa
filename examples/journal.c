/* journal.c - what was delivered comes back after the end of all.
 *
 * Three processes write entries to a journal: a durable subgroup, in which an entry is delivered when it is on the disks of all three. When each
 * has seen all entries it is killed, so that nothing is left but files. Then they are started again. Each is upcalled for all that was ever
 * delivered, in the same order, before it is ready, and the journal goes on.
 */
#define _XOPEN_SOURCE 700 /* nftw */
#include <ftw.h>
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
#define ENTRIES 200 /* of each, before all are killed */

struct journal {
	_Atomic uint64_t entries; /* read by main's thread, too */
	uint64_t digest;          /* of all entries, and of their order */
	uint64_t awaited;
	sem_t complete;
};

static void read_entry(const struct whorl_message *message, void *ctx)
{
	struct journal *journal = ctx;

	for (size_t i = 0; i < message->bytes; i++)
		journal->digest = (journal->digest ^ ((const unsigned char *)message->data)[i]) * 0x100000001b3;
	if (++journal->entries == journal->awaited)
		sem_post(&journal->complete);
}

static int report(whorl_node *node, const char *what, enum whorl_result result)
{
	char why[256];

	whorl_error(node, why, sizeof(why));
	return fprintf(stderr, "journal: %s: %s. %s\n", what, whorl_result_text(result), why), 1;
}

/* Writes `count` entries, until all nodes together have `awaited`. Without `leaves` the process ends as if the power had. */
static int run_node(whorl_config *config, uint32_t id, unsigned count, uint64_t awaited, bool leaves)
{
	struct journal journal = {.awaited = awaited};
	enum whorl_result result;
	whorl_subgroup *entries;
	whorl_node *node;
	char entry[64];

	alarm(60); /* should anything stand still */
	sem_init(&journal.complete, 0, 0);
	if (whorl_open(config, id, NULL, &node) != WHORL_OK)
		return fprintf(stderr, "journal: %s\n", whorl_config_error(config)), 1;
	entries = whorl_subgroup_find(node, "entries");
	result = whorl_on_message(entries, read_entry, &journal);
	if (result == WHORL_OK)
		result = whorl_start(node);
	if (result == WHORL_OK)
		result = whorl_ready(node, 20000);
	if (result != WHORL_OK)
		return report(node, "start", result);
	dprintf(1, "node %u is ready, with %" PRIu64 " entries\n", id, (uint64_t)journal.entries);
	for (unsigned i = 0; i < count && result == WHORL_OK; i++) {
		int bytes = snprintf(entry, sizeof(entry), "entry %u of node %u", i, id);

		result = whorl_send(entries, entry, (size_t)bytes, 20000, NULL);
	}
	if (result != WHORL_OK)
		return report(node, "send", result);
	while (sem_wait(&journal.complete) != 0)
		continue;
	dprintf(1, "node %u has %" PRIu64 " entries, digest %016" PRIx64 "\n", id, awaited, journal.digest);
	if (!leaves)
		raise(SIGKILL);
	return whorl_close(node, 20000) != WHORL_OK;
}

static int run_all(whorl_config *config, unsigned count, uint64_t awaited, bool leaves)
{
	int status, failed = 0;

	for (uint32_t id = 0; id < NODES; id++) /* nodes are opened after fork, never before */
		if (fork() == 0)
			_exit(run_node(config, id, count, awaited, leaves));
	for (uint32_t id = 0; id < NODES; id++)
		failed |= wait(&status) < 0 ||
			  (leaves ? status != 0 : !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL);
	return failed;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *at)
{
	(void)status, (void)kind, (void)at;
	return remove(path);
}

int main(void)
{
	whorl_config *config = whorl_config_new();
	char directory[] = "/var/tmp/journal-XXXXXX"; /* not /tmp, which may be memory */
	char text[256];
	int failed;

	if (mkdtemp(directory) == NULL)
		return perror(directory), 1;
	snprintf(text, sizeof(text),
		 "[group]\nname = journal-%d\nnodes = %d\nlog_dir = %s\nstart_timeout_ms = 20000\n"
		 "[subgroup entries]\nmode = durable\n",
		 (int)getpid(), NODES, directory);
	failed = config == NULL || whorl_config_load_text(config, "journal", text) != WHORL_OK ||
		 run_all(config, ENTRIES, NODES * ENTRIES, false) || /* they write, and are killed */
		 run_all(config, 1, NODES * ENTRIES + NODES, true);  /* they come back, and write one more each */
	whorl_config_free(config);
	nftw(directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	return failed;
}
