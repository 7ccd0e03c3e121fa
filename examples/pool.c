/* pool.c - a pool of workers that need no ids: each takes one that is free, and the first process forms the group.
 *
 * The file names no nodes, only how many there may be. A task is a message, and every worker sees the same tasks in the same views, so
 * all agree which does which without a word: those of a view take turns. A worker that is killed takes what it had not done with it; here
 * it has nothing to do just then, and another process takes its place, and its id, which is the only one that is free.
 */
#include <err.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <whorl/whorl.h>

#define WORKERS 6
#define TASKS 1000u

static struct board { /* of all processes */
	atomic_uint done[2 * TASKS];
} * board;

struct place {                        /* of one process, its loop's */
	uint32_t members, before, me; /* in the view; of the members with lower ids than mine */
	sem_t changed;
};

static void on_view(const struct whorl_view *view, void *ctx)
{
	struct place *place = ctx;

	place->members = view->member_count;
	place->before = 0;
	place->me = view->members[view->rank];
	for (uint32_t i = 0; i < view->member_count; i++)
		place->before += view->members[i] < place->me;
	sem_post(&place->changed);
}

/* The node that hands out tasks does none. */
static void on_task(const struct whorl_message *message, void *ctx)
{
	const struct place *place = ctx;
	uint32_t task, turn = place->before - (message->sender < place->me);

	memcpy(&task, message->data, sizeof(task));
	if (message->sender != place->me && task % (place->members - 1) == turn)
		atomic_fetch_add(&board->done[task], 1);
}

static void on_log(enum whorl_log_level level, const char *line, void *ctx)
{
	(void)ctx;
	if (level == WHORL_LOG_ERROR)
		warnx("%s", line);
}

static whorl_node *open_node(whorl_config *config, struct place *place)
{
	const struct whorl_open_options options = {.size = sizeof(options), .log = on_log};
	whorl_node *node;

	alarm(60); /* should anything stand still */
	sem_init(&place->changed, 0, 0);
	if (whorl_open(config, WHORL_ANY_ID, &options, &node) != WHORL_OK)
		errx(1, "%s", whorl_config_error(config));
	whorl_on_view(node, on_view, place);
	whorl_on_message(whorl_subgroup_at(node, 0), on_task, place);
	if (whorl_start(node) != WHORL_OK || whorl_ready(node, 20000) != WHORL_OK)
		errx(1, "node %u is not ready", whorl_node_id(node));
	return node;
}

/* Of a program with nodes of its own processes are not forked (whorl.h, FORK): one that comes later waits. */
static pid_t start_worker(whorl_config *config, bool later)
{
	struct place place = {.members = 0};
	pid_t pid = fork();

	if (pid == 0) {
		if (later)
			raise(SIGSTOP);
		open_node(config, &place);
		for (;;)
			pause(); /* its work is done by on_task */
	}
	return pid;
}

static void await_members(whorl_node *node, struct place *place, uint32_t members)
{
	while (whorl_node_count(node) != members)
		while (sem_wait(&place->changed) != 0)
			;
}

/* Returns when all have taken what is theirs. */
static void hand_out(whorl_node *node, uint32_t first)
{
	whorl_subgroup *tasks = whorl_subgroup_at(node, 0);
	uint64_t index = 0;

	for (uint32_t task = first; task < first + TASKS; task++)
		if (whorl_send(tasks, &task, sizeof(task), 20000, &index) != WHORL_OK)
			errx(1, "send");
	if (whorl_frontier_wait(tasks, WHORL_DELIVERED_BY_ALL, index, 20000) != WHORL_OK)
		errx(1, "not everything was delivered");
}

int main(void)
{
	whorl_config *config = whorl_config_new();
	struct place place = {.members = 0};
	unsigned once = 0;
	pid_t workers[WORKERS + 1];
	whorl_node *node;
	char text[256];

	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	snprintf(text, sizeof(text),
		 "[group]\nname = pool-%d\nnodes = 0\nnodes_max = %d\n[subgroup tasks]\nmessage_bytes = 64\n",
		 (int)getpid(), WORKERS + 1);
	if (board == MAP_FAILED || whorl_config_load_text(config, "pool", text) != WHORL_OK)
		errx(1, "it cannot begin");
	for (int i = 0; i <= WORKERS; i++)
		workers[i] = start_worker(config, i == WORKERS);
	waitpid(workers[WORKERS], NULL, WUNTRACED);
	node = open_node(config, &place);
	await_members(node, &place, WORKERS + 1);
	hand_out(node, 0);
	kill(workers[0], SIGKILL);
	await_members(node, &place, WORKERS);
	kill(workers[WORKERS], SIGCONT);
	await_members(node, &place, WORKERS + 1);
	hand_out(node, TASKS);
	for (unsigned task = 0; task < 2 * TASKS; task++)
		once += atomic_load(&board->done[task]) == 1;
	printf("%d workers: %u tasks of %u were done once\n", WORKERS, once, 2 * TASKS);
	for (int i = 1; i <= WORKERS; i++)
		kill(workers[i], SIGKILL);
	whorl_close(node, 0);
	whorl_config_free(config);
	return once != 2 * TASKS;
}
