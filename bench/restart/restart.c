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
#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <whorl/whorl.h>

#define NODES_MAX 16
#define ROUNDS_MAX 99
#define READY_MS 600000
#define PIECE_BYTES ((size_t)1 << 20)

struct plan {
	const char *dir; /* where the directory of this run is made */
	unsigned long nodes, message_bytes, bytes, rounds;
	char logs[512];
	unsigned long messages; /* of each node's log */
};

struct shared { /* between the processes */
	_Atomic unsigned ready;
	_Atomic unsigned long upcalled[NODES_MAX];
};

static struct shared *shared;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void rest(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

/* ---- nodes ---------------------------------------------------------------------------------------------------------- */

static void count_message(const struct whorl_message *message, void *ctx)
{
	(void)message;
	atomic_fetch_add((_Atomic unsigned long *)ctx, 1);
}

static whorl_config *configure(const struct plan *plan)
{
	whorl_config *config = whorl_config_new();
	char text[2048];

	if (config == NULL)
		errx(1, "no memory");
	snprintf(text, sizeof(text),
		 "[group]\nname = restart-%ld\nnodes = %lu\nlog_dir = %s\ndisk_timeout_ms = 600000\nmemory_max = 64g\n"
		 "failure_timeout_ms = 30000\nstart_timeout_ms = 60000\n"
		 "[subgroup all]\nmode = durable\nwindow = 100\nmessage_bytes = %lu\nlog_bytes = 1024g\n",
		 (long)getppid(), plan->nodes, plan->logs, plan->message_bytes);
	if (whorl_config_load_text(config, "restart", text) != WHORL_OK)
		errx(1, "%s", whorl_config_error(config));
	return config;
}

static whorl_node *open_node(const struct plan *plan, uint32_t id)
{
	whorl_config *config = configure(plan);
	enum whorl_result result;
	whorl_node *node;
	char why[512];

	if (whorl_open(config, id, NULL, &node) != WHORL_OK)
		errx(1, "node %" PRIu32 ": %s", id, whorl_config_error(config));
	whorl_config_free(config);
	result = whorl_on_message(whorl_subgroup_at(node, 0), count_message, &shared->upcalled[id]);
	if (result == WHORL_OK)
		result = whorl_start(node);
	if (result == WHORL_OK)
		result = whorl_ready(node, READY_MS);
	if (result != WHORL_OK) {
		whorl_progress(node, why, sizeof(why));
		errx(1, "node %" PRIu32 ": %s: %s", id, whorl_result_text(result), why);
	}
	atomic_fetch_add(&shared->ready, 1);
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

static void end_all(const struct plan *plan, const pid_t nodes[])
{
	for (uint32_t id = 0; id < plan->nodes; id++)
		kill(nodes[id], SIGKILL);
	while (wait(NULL) > 0)
		;
}

/* One that has ended says why itself. */
static void check_all(const struct plan *plan, const pid_t nodes[])
{
	if (waitpid(-1, NULL, WNOHANG) > 0) {
		end_all(plan, nodes);
		errx(1, "a node has ended");
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

/* Of each file of one node: its bytes are read, or forgotten by the system. Returns their sum. */
static uint64_t pass_files(const struct plan *plan, uint32_t id, bool reads)
{
	unsigned char *piece = reads ? malloc(PIECE_BYTES) : NULL;
	const struct dirent *entry;
	uint64_t sum = 0;
	struct stat is;
	char path[600];
	DIR *directory;
	ssize_t got;

	snprintf(path, sizeof(path), "%s/%" PRIu32, plan->logs, id);
	directory = opendir(path);
	if (directory == NULL || (reads && piece == NULL))
		err(1, "%s", path);
	while ((entry = readdir(directory)) != NULL) {
		int fd = openat(dirfd(directory), entry->d_name, O_RDONLY | O_CLOEXEC);

		if (fd < 0 || fstat(fd, &is) != 0)
			err(1, "%s/%s", path, entry->d_name);
		if (S_ISREG(is.st_mode))
			sum += (uint64_t)is.st_size;
		while (S_ISREG(is.st_mode) && reads && (got = read(fd, piece, PIECE_BYTES)) != 0)
			if (got < 0)
				err(1, "%s/%s", path, entry->d_name);
		if (!reads && S_ISREG(is.st_mode) &&
		    (fdatasync(fd) != 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0))
			err(1, "%s/%s", path, entry->d_name);
		close(fd);
	}
	closedir(directory);
	free(piece);
	return sum;
}

static uint64_t forget_files(const struct plan *plan)
{
	uint64_t sum = 0;

	for (uint32_t id = 0; id < plan->nodes; id++)
		sum += pass_files(plan, id, false);
	return sum;
}

static void remove_files(const struct plan *plan)
{
	for (uint32_t id = 0; id < plan->nodes; id++) {
		char path[600];
		const struct dirent *entry;
		DIR *directory;

		snprintf(path, sizeof(path), "%s/%" PRIu32, plan->logs, id);
		directory = opendir(path);
		while (directory != NULL && (entry = readdir(directory)) != NULL)
			unlinkat(dirfd(directory), entry->d_name, 0);
		if (directory != NULL)
			closedir(directory);
		rmdir(path);
	}
	rmdir(plan->logs);
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

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_rates(const char *name, double *values, unsigned long count, const char *end)
{
	qsort(values, count, sizeof(*values), compare);
	printf("\"%s\": {\"min\": %.3f, \"p50\": %.3f, \"max\": %.3f}%s", name, values[0], values[count / 2],
	       values[count - 1], end);
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
	print_rates("limit_mb_per_s", limit, plan->rounds, ", ");
	print_rates("restart_mb_per_s", restart, plan->rounds, ", ");
	print_rates("restart_over_limit", ratio, plan->rounds, "}\n");
}

/* ---- the command line ------------------------------------------------------------------------------------------------- */

static unsigned long number(const char *name, const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text == '\0' || *end != '\0')
		errx(2, "--%s %s: it is a number", name, text);
	return value;
}

static void read_options(struct plan *plan, int argc, char *argv[])
{
	static const struct option options[] = {
		{"dir", required_argument, NULL, 'd'},           {"nodes", required_argument, NULL, 'n'},
		{"message-bytes", required_argument, NULL, 'm'}, {"bytes", required_argument, NULL, 'b'},
		{"rounds", required_argument, NULL, 'r'},        {0},
	};
	int which, c;

	while ((c = getopt_long(argc, argv, "", options, &which)) != -1) {
		unsigned long *value = c == 'n'   ? &plan->nodes
				       : c == 'm' ? &plan->message_bytes
				       : c == 'b' ? &plan->bytes
						  : &plan->rounds;

		if (c == '?')
			exit(2);
		if (c == 'd')
			plan->dir = optarg;
		else
			*value = number(options[which].name, optarg);
	}
	if (optind < argc)
		errx(2, "%s: what is that?", argv[optind]);
	if (plan->nodes < 1 || plan->nodes > NODES_MAX || plan->rounds < 1 || plan->rounds > ROUNDS_MAX ||
	    plan->message_bytes < 1 || plan->bytes < plan->message_bytes)
		errx(2, "it takes 1 to %d nodes, 1 to %d rounds, and a message at least", NODES_MAX, ROUNDS_MAX);
	plan->messages = plan->bytes / plan->message_bytes;
}

int main(int argc, char *argv[])
{
	struct plan plan = {.dir = ".", .nodes = 1, .message_bytes = 10240, .bytes = 1000000000, .rounds = 5};

	read_options(&plan, argc, argv);
	snprintf(plan.logs, sizeof(plan.logs), "%s/whorl-restart-XXXXXX", plan.dir);
	if (mkdtemp(plan.logs) == NULL)
		err(1, "%s", plan.logs);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		err(1, "memory");
	fprintf(stderr, "%lu nodes write %lu MB each in %s\n", plan.nodes, plan.bytes / 1000000, plan.logs);
	write_logs(&plan);
	run_rounds(&plan);
	remove_files(&plan);
	return 0;
}
