/* views.c - a group goes on without one of its members: four processes that all send, and one is killed in the middle.
 *
 * The others notice, agree on the next view and go on; to their senders it is a send that takes a moment longer. All nodes
 * that go from one view to the next have delivered the same messages in it, so all survivors say the same when a view begins. Of
 * what the killed one sent all have delivered the same part; of what the others sent everything, once and in order.
 */
#include <inttypes.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <whorl/whorl.h>

#define NODES 4
#define VICTIM 2
#define MESSAGES 5000 /* by each */

struct log {
	uint32_t id;
	uint32_t members, ids[NODES]; /* of the view */
	uint64_t total, from[NODES];  /* messages delivered */
	uint64_t order;               /* a digest of their senders and numbers, in order */
	uint64_t total_with_victim;   /* how many they were when the view without it began */
};

static sem_t all_delivered;

/* Are all messages of all members that are still here delivered? */
static void post_if_all_delivered(const struct log *log)
{
	for (uint32_t i = 0; i < log->members; i++)
		if (log->from[log->ids[i]] < MESSAGES)
			return;
	sem_post(&all_delivered);
}

static void on_view(const struct whorl_view *view, void *ctx)
{
	struct log *log = ctx;

	printf("node %u: after %" PRIu64 " messages view %" PRIu64 ": nodes", log->id, log->total, view->number);
	for (log->members = 0; log->members < view->member_count; log->members++)
		printf(" %u", log->ids[log->members] = view->members[log->members]);
	printf(view->left_count > 0 ? ", without" : "");
	for (uint32_t i = 0; i < view->left_count; i++) {
		printf(" %u", view->left[i]);
		if (view->left[i] == VICTIM)
			log->total_with_victim = log->total;
	}
	printf("\n");
	post_if_all_delivered(log);
}

static void on_message(const struct whorl_message *message, void *ctx)
{
	struct log *log = ctx;

	log->order = (log->order ^ (message->index * NODES + message->sender)) * UINT64_C(0x100000001b3);
	log->from[message->sender]++;
	if (++log->total == MESSAGES && log->id == VICTIM)
		raise(SIGKILL); /* as the power fails: in the middle of something */
	post_if_all_delivered(log);
}

static int run_node(whorl_config *config, struct log *log)
{
	whorl_node *node;
	int failed;

	alarm(60); /* should anything stand still */
	setvbuf(stdout, NULL, _IOLBF, 0);
	sem_init(&all_delivered, 0, 0);
	if (whorl_open(config, log->id, NULL, &node) != WHORL_OK)
		return fprintf(stderr, "views: %s\n", whorl_config_error(config)), 1;
	whorl_on_view(node, on_view, log);
	whorl_on_message(whorl_subgroup_find(node, "work"), on_message, log);
	failed = whorl_start(node) != WHORL_OK;
	for (int i = 0; i < MESSAGES && !failed; i++)
		failed = whorl_send(whorl_subgroup_find(node, "work"), &i, sizeof(i), 20000, NULL) != WHORL_OK;
	while (!failed && sem_wait(&all_delivered) != 0)
		;
	whorl_close(node, 5000);
	return failed;
}

int main(void)
{
	whorl_config *config = whorl_config_new();
	struct log log = {0}, other;
	int logs[2], failed = 0, status;
	char text[256];

	/* A death is noticed at once; the time-out is for members that stand still. */
	snprintf(text, sizeof(text),
		 "[group]\nname = views-%d\nnodes = %d\nfailure_timeout_ms = 10000\n[subgroup work]\n", (int)getpid(),
		 NODES);
	if (config == NULL || whorl_config_load_text(config, "views", text) != WHORL_OK || pipe(logs) != 0)
		return fprintf(stderr, "views: it cannot begin\n"), 1;
	for (log.id = 0; log.id < NODES; log.id++) /* nodes are opened after fork, never before */
		if (fork() == 0) {
			failed = run_node(config, &log);
			whorl_config_free(config);
			_exit(failed || write(logs[1], &log, sizeof(log)) != sizeof(log));
		}
	for (int i = 0; i < NODES; i++) {
		failed |= wait(&status) < 0;
		failed |= WIFSIGNALED(status) ? WTERMSIG(status) != SIGKILL : WEXITSTATUS(status) != 0;
	}
	for (int i = 0; i < NODES - 1 && !failed; i++) { /* one has left no log */
		other = log;
		failed = read(logs[0], &log, sizeof(log)) != sizeof(log);
		failed |= i > 0 && (log.total != other.total || log.order != other.order ||
				    log.total_with_victim != other.total_with_victim);
	}
	if (!failed)
		printf("%d survivors: the same %" PRIu64 " messages in the same order, %" PRIu64
		       " of them with node %d\n",
		       NODES - 1, log.total, log.total_with_victim, VICTIM);
	whorl_config_free(config);
	return failed;
}
