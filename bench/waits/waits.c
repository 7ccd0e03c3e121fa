/* waits.c - what it costs how a program with `thread = caller` waits, as JSON.
 *
 *     whorl-waits [--transport T] [--nodes N] [--bytes N] [--window N] [--seconds S] [--busy N] [--ways LIST] [--rounds N]
 *                 [--cpus LIST]
 *
 * Nodes are processes of this host with one thread each; node 0 sends as fast as its window permits. A node that has nothing to do, and a
 * sender with a full window, waits in one of these ways, in turn within each round:
 *
 *     send    the sender in whorl_claim_wait, the others in whorl_wait
 *     yield   by whorl_yield as long as that says so, then whorl_window_arm, whorl_arm and poll
 *     arm     the same without whorl_yield: it sleeps at once
 *
 * --busy N has as many processes beside them that compute. --cpus 0,0,1,1 binds the nodes, and then those processes, to processors in turn. Else the
 * kernel places them, and beside processes that compute the same run is five times as fast in one place as in another. A line for each way of each round: messages delivered per second at node 0, and
 * the processor time of all nodes for a message.
 */
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <whorl/whorl.h>

#define READY_MS 20000
#define SLEEP_MS 20 /* then it looks whether the run goes on */
#define BUSY_MOST 64
#define CPUS_MOST 128

struct plan {
	const char *transport, *ways;
	unsigned long nodes, bytes, window, busy, rounds;
	double seconds;
	unsigned long cpus[CPUS_MOST], cpu_count; /* none: the kernel chooses */
};

struct board { /* shared by all processes of a run */
	_Atomic uint32_t ready, over, ended;
	_Atomic uint64_t delivered, processor_ns; /* of node 0; of all */
};

struct node {
	whorl_node *whorl;
	whorl_subgroup *subgroup;
	struct board *board;
	const char *way;
	bool sends, is_armed; /* the window will say that there is room */
	size_t bytes;
};

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- a node --------------------------------------------------------------------------------------------------------- */

static void count_message(const struct whorl_message *message, void *ctx)
{
	struct node *node = ctx;

	(void)message;
	if (node->sends)
		atomic_fetch_add_explicit(&node->board->delivered, 1, memory_order_relaxed);
}

static void exit_unless_ok(enum whorl_result result, const char *what)
{
	if (result != WHORL_OK)
		errx(1, "%s: %s", what, whorl_result_text(result));
}

/* As much as there is room for; with `timeout_ms` it waits for that of one message. */
static size_t send_some(struct node *node, int timeout_ms)
{
	struct whorl_claim claim;
	enum whorl_result result;
	size_t sent = 0;

	for (; sent < 64; sent++) {
		result = sent == 0 && timeout_ms > 0 ? whorl_claim_wait(node->subgroup, node->bytes, timeout_ms, &claim)
						     : whorl_claim(node->subgroup, node->bytes, &claim);
		if (result == WHORL_AGAIN || result == WHORL_TIMEOUT)
			break;
		exit_unless_ok(result, "claim");
		memset(claim.data, (int)sent, node->bytes);
		exit_unless_ok(whorl_commit(&claim, node->bytes), "commit");
	}
	return sent;
}

static void sleep_in_poll(struct node *node)
{
	struct pollfd fds[2] = {{.fd = whorl_fd(node->whorl), .events = POLLIN}, {.fd = -1, .events = POLLIN}};
	uint64_t room;

	if (node->sends && !node->is_armed)
		node->is_armed = whorl_window_arm(node->subgroup) == WHORL_AGAIN;
	if (node->sends && !node->is_armed)
		return;
	if (node->sends)
		fds[1].fd = whorl_window_fd(node->subgroup);
	if (whorl_arm(node->whorl) == 0)
		(void)poll(fds, 2, SLEEP_MS);
	if (node->is_armed && read(fds[1].fd, &room, sizeof(room)) == sizeof(room))
		node->is_armed = false;
}

static void take_turn(struct node *node)
{
	bool waits = strcmp(node->way, "send") == 0;
	size_t work = node->sends ? send_some(node, waits ? SLEEP_MS : 0) : 0;

	if (waits && work == 0)
		(void)whorl_wait(node->whorl, SLEEP_MS);
	else if (whorl_step(node->whorl) + work == 0 && (strcmp(node->way, "yield") != 0 || !whorl_yield(node->whorl)))
		sleep_in_poll(node);
}

static void open_node(struct node *node, const struct plan *plan, pid_t group, uint32_t id)
{
	whorl_config *config = whorl_config_new();
	char text[512];

	snprintf(text, sizeof(text),
		 "[group]\nname = waits-%ld\ntransport = %s\nnodes = %lu\n[engine]\nthread = caller\n"
		 "[subgroup s]\nsenders = one\nwindow = %lu\nmessage_bytes = %lu\n",
		 (long)group, plan->transport, plan->nodes, plan->window, plan->bytes);
	if (whorl_config_load_text(config, "waits", text) != WHORL_OK ||
	    whorl_open(config, id, NULL, &node->whorl) != WHORL_OK)
		errx(1, "node %" PRIu32 ": %s", id, whorl_config_error(config));
	whorl_config_free(config);
	node->subgroup = whorl_subgroup_find(node->whorl, "s");
	exit_unless_ok(whorl_on_message(node->subgroup, count_message, node), "upcall");
	exit_unless_ok(whorl_start(node->whorl), "start");
	exit_unless_ok(whorl_ready(node->whorl, READY_MS), "ready");
}

/* A child: of the nodes, and then the processes that compute, it is number `at`. */
static void bind_child(const struct plan *plan, unsigned long at)
{
	cpu_set_t cpus;

	if (plan->cpu_count == 0)
		return;
	CPU_ZERO(&cpus);
	CPU_SET(plan->cpus[at % plan->cpu_count], &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) != 0)
		err(1, "processor %lu", plan->cpus[at % plan->cpu_count]);
}

static _Noreturn void be_node(const struct plan *plan, struct board *board, const char *way, pid_t group, uint32_t id)
{
	struct node node = {.board = board, .way = way, .sends = id == 0, .bytes = plan->bytes};
	uint64_t began_ns;

	bind_child(plan, id);
	open_node(&node, plan, group, id);
	atomic_fetch_add(&board->ready, 1);
	while (atomic_load(&board->ready) <= plan->nodes)
		(void)whorl_wait(node.whorl, 1);
	began_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	while (atomic_load_explicit(&board->over, memory_order_relaxed) == 0)
		take_turn(&node);
	atomic_fetch_add(&board->processor_ns, now_ns(CLOCK_PROCESS_CPUTIME_ID) - began_ns);
	atomic_fetch_add(&board->ended, 1);
	while (atomic_load(&board->ended) < plan->nodes) /* the others are not to see it go */
		(void)whorl_wait(node.whorl, 1);
	(void)whorl_close(node.whorl, 0);
	exit(0);
}

/* ---- a run ---------------------------------------------------------------------------------------------------------- */

static pid_t fork_child(void)
{
	pid_t child = fork();

	if (child < 0)
		err(1, "fork");
	if (child == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return child;
}

static void sleep_ns(uint64_t ns)
{
	nanosleep(&(struct timespec){.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)}, NULL);
}

static void measure(const struct plan *plan, struct board *board, const char *way, unsigned long round)
{
	uint64_t began_ns, delivered;
	double seconds;

	while (atomic_load(&board->ready) < plan->nodes) {
		if (waitpid(-1, NULL, WNOHANG) > 0)
			errx(1, "a node has ended before they had met");
		sleep_ns(1000000);
	}
	atomic_fetch_add(&board->ready, 1);
	sleep_ns(100000000); /* warm */
	began_ns = now_ns(CLOCK_MONOTONIC);
	delivered = atomic_load(&board->delivered);
	sleep_ns((uint64_t)(plan->seconds * 1e9));
	delivered = atomic_load(&board->delivered) - delivered;
	seconds = (double)(now_ns(CLOCK_MONOTONIC) - began_ns) / 1e9;
	atomic_store(&board->over, 1);
	for (unsigned long id = 0; id < plan->nodes; id++)
		if (waitpid(-1, NULL, 0) < 0)
			err(1, "waitpid");
	printf("{\"round\": %lu, \"way\": \"%s\", \"transport\": \"%s\", \"nodes\": %lu, \"window\": %lu, \"bytes\": %lu, "
	       "\"busy\": %lu, \"messages_per_s\": %.0f, \"processor_us_per_message\": %.2f}\n",
	       round, way, plan->transport, plan->nodes, plan->window, plan->bytes, plan->busy,
	       (double)delivered / seconds,
	       delivered > 0 ? (double)atomic_load(&board->processor_ns) / 1e3 / (double)atomic_load(&board->delivered)
			     : 0.0);
	fflush(stdout);
}

static _Noreturn void compute(const struct plan *plan, unsigned long number)
{
	bind_child(plan, plan->nodes + number);
	for (volatile unsigned long n = 0;; n++)
		;
}

static void run_way(const struct plan *plan, const char *way, unsigned long round)
{
	struct board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t busy[BUSY_MOST];
	static int runs;

	if (board == MAP_FAILED)
		err(1, "mmap");
	runs++;
	for (uint32_t id = 0; id < plan->nodes; id++)
		if (fork_child() == 0)
			be_node(plan, board, way, getppid() * 100 + runs, id);
	for (unsigned long i = 0; i < plan->busy; i++)
		if ((busy[i] = fork_child()) == 0)
			compute(plan, i);
	measure(plan, board, way, round);
	for (unsigned long i = 0; i < plan->busy; i++) {
		kill(busy[i], SIGKILL);
		waitpid(busy[i], NULL, 0);
	}
	munmap(board, sizeof(*board));
}

static void run_round(const struct plan *plan, unsigned long round)
{
	char ways[64], *at = ways;

	snprintf(ways, sizeof(ways), "%s", plan->ways);
	for (const char *way; (way = strsep(&at, ",")) != NULL;)
		run_way(plan, way, round);
}

static void take_cpus(struct plan *plan, const char *list)
{
	char *end;

	for (plan->cpu_count = 0; plan->cpu_count < CPUS_MOST; list = end + 1) {
		plan->cpus[plan->cpu_count++] = strtoul(list, &end, 10);
		if (end == list || (*end != ',' && *end != '\0'))
			errx(2, "processors are numbers, with a comma between them");
		if (*end == '\0')
			return;
	}
	errx(2, "up to %d processors", CPUS_MOST);
}

/* False: there is no such option. */
static bool take_option(struct plan *plan, int option, const char *value)
{
	switch (option) {
	case 't':
		plan->transport = value;
		return true;
	case 'v':
		plan->ways = value;
		return true;
	case 's':
		plan->seconds = strtod(value, NULL);
		return true;
	case 'n':
		plan->nodes = strtoul(value, NULL, 10);
		return true;
	case 'b':
		plan->bytes = strtoul(value, NULL, 10);
		return true;
	case 'w':
		plan->window = strtoul(value, NULL, 10);
		return true;
	case 'y':
		plan->busy = strtoul(value, NULL, 10);
		return true;
	case 'c':
		take_cpus(plan, value);
		return true;
	case 'r':
		plan->rounds = strtoul(value, NULL, 10);
		return true;
	default:
		return false;
	}
}

int main(int argc, char *argv[])
{
	static const struct option options[] = {
		{"transport", required_argument, NULL, 't'}, {"nodes", required_argument, NULL, 'n'},
		{"bytes", required_argument, NULL, 'b'},     {"window", required_argument, NULL, 'w'},
		{"seconds", required_argument, NULL, 's'},   {"busy", required_argument, NULL, 'y'},
		{"ways", required_argument, NULL, 'v'},      {"rounds", required_argument, NULL, 'r'},
		{"cpus", required_argument, NULL, 'c'},      {NULL, 0, NULL, 0}};
	struct plan plan = {"shm", "send,yield,arm", 2, 10240, 3, 0, 1, 1, {0}, 0};

	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;)
		if (!take_option(&plan, c, optarg))
			return 2;
	if (plan.nodes < 2 || plan.nodes > 64 || plan.busy > BUSY_MOST || plan.rounds == 0 || plan.seconds <= 0)
		errx(2, "2 to 64 nodes, up to %d busy processes, a round, and some time", BUSY_MOST);
	for (unsigned long round = 1; round <= plan.rounds; round++)
		run_round(&plan, round);
	return 0;
}
