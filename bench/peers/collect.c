/* collect.c - starts and judges one run of bench/peers, and prints its figures as one line of JSON.
 *
 *     peers-collect BOARD SYSTEM NODES SENDERS BYTES GAP_US DURATION_MS ORDER
 *
 * makes the board (the nodes may start when the file is there), waits for them, lets them begin, and waits until all have all
 * messages. ORDER says what the system promises: `total`, or `fifo`.
 * Exit status 0: the figures are good; 1: a node failed or hung, or a promise was broken; 2: usage.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "bench/peers/measure.h"

#define READY_S 30
#define DONE_S 30

struct question {
	const char *path, *system;
	struct peers_plan plan;
	bool total_order;
};

static struct peers_board *make_board(const struct question *question)
{
	char fresh[4096];
	struct peers_board *board;
	int fd;

	snprintf(fresh, sizeof(fresh), "%s.new", question->path);
	fd = open(fresh, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*board)) != 0)
		peers_fail("%s cannot be made", fresh);
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (board == MAP_FAILED)
		peers_fail("%s cannot be mapped", fresh);
	close(fd);
	board->plan = question->plan;
	if (rename(fresh, question->path) != 0) /* a process that sees the name sees the plan */
		peers_fail("%s cannot be named", question->path);
	return board;
}

/* Waits until all nodes are ready (or done). False: it took longer than `seconds`. */
static bool wait_for_all(struct peers_board *board, bool done, uint64_t seconds)
{
	uint64_t end_ns = peers_now() + seconds * 1000000000;
	uint32_t missing;

	do {
		missing = 0;
		for (uint32_t n = 0; n < board->plan.nodes; n++)
			missing += atomic_load(done ? &board->pages[n].done : &board->pages[n].ready) == 0;
		if (missing == 0)
			return true;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	} while (peers_now() < end_ns);
	for (uint32_t n = 0; n < board->plan.nodes; n++)
		if (atomic_load(done ? &board->pages[n].done : &board->pages[n].ready) == 0)
			fprintf(stderr, "peers-collect: node %" PRIu32 " is not %s\n", n, done ? "done" : "ready");
	return false;
}

/* Did all nodes deliver the same messages, and in the same order? */
static bool is_same_everywhere(const struct peers_board *board, bool *order)
{
	bool streams = true;

	*order = true;
	for (uint32_t n = 1; n < board->plan.nodes; n++) {
		streams &=
			memcmp(board->pages[n].streams, board->pages[0].streams, sizeof(board->pages[0].streams)) == 0;
		streams &= board->pages[n].delivered == board->pages[0].delivered;
		*order &= board->pages[n].order == board->pages[0].order;
	}
	return streams;
}

static void print_latency(const char *name, const struct wh_histogram *latency)
{
	printf(",\"%s\":{\"samples\":%" PRIu64, name, latency->count);
	printf(",\"p50\":%.1f", wh_histogram_quantile(latency, 0.5) / 1000);
	printf(",\"p90\":%.1f", wh_histogram_quantile(latency, 0.9) / 1000);
	printf(",\"p99\":%.1f", wh_histogram_quantile(latency, 0.99) / 1000);
	printf(",\"max\":%.1f}", (double)latency->greatest / 1000);
}

static void print_figures(const struct question *question, const struct peers_board *board, bool order)
{
	static struct wh_histogram remote, own;
	uint64_t start_ns = atomic_load(&board->start_ns), done_ns = 0, cpu_ns = 0;
	double seconds, messages_per_s;

	for (uint32_t n = 0; n < board->plan.nodes; n++) {
		wh_histogram_merge(&remote, &board->pages[n].remote);
		wh_histogram_merge(&own, &board->pages[n].own);
		cpu_ns += board->pages[n].cpu_ns;
		if (board->pages[n].done_ns > done_ns)
			done_ns = board->pages[n].done_ns;
	}
	seconds = (double)(done_ns - start_ns) / 1e9;
	messages_per_s = (double)board->pages[0].delivered / seconds;
	printf("{\"system\":\"%s\",\"nodes\":%" PRIu32 ",\"senders\":%" PRIu32 ",\"bytes\":%" PRIu32
	       ",\"gap_us\":%" PRIu32,
	       question->system, board->plan.nodes, board->plan.senders, board->plan.bytes, board->plan.gap_us);
	printf(",\"seconds\":%.3f,\"messages_per_s\":%.1f,\"bytes_per_s\":%.0f,\"cores\":%.2f", seconds, messages_per_s,
	       messages_per_s * board->plan.bytes, (double)cpu_ns / 1e9 / seconds);
	printf(",\"same_order\":%s", order ? "true" : "false");
	print_latency("latency_us", &remote);
	print_latency("own_latency_us", &own);
	printf("}\n");
}

static void read_arguments(struct question *question, int argc, char *argv[])
{
	uint32_t value[5];

	if (argc != 9) {
		fprintf(stderr, "usage: %s BOARD SYSTEM NODES SENDERS BYTES GAP_US DURATION_MS total|fifo\n", argv[0]);
		exit(2);
	}
	for (int i = 0; i < 5; i++)
		value[i] = (uint32_t)strtoul(argv[3 + i], NULL, 10);
	*question = (struct question){.path = argv[1], .system = argv[2], .total_order = strcmp(argv[8], "total") == 0};
	question->plan = (struct peers_plan){value[0], value[1], value[2], value[3], value[4]};
	if (value[0] == 0 || value[0] > PEERS_NODES_MAX || value[1] == 0 || value[1] > value[0] ||
	    value[2] < sizeof(struct peers_header) || value[2] > PEERS_BYTES_MAX) {
		fprintf(stderr, "%s: nobody can do that\n", argv[0]);
		exit(2);
	}
}

int main(int argc, char *argv[])
{
	struct question question;
	struct peers_board *board;
	bool order, good;

	read_arguments(&question, argc, argv);
	board = make_board(&question);
	good = wait_for_all(board, false, READY_S);
	if (good) {
		atomic_store(&board->start_ns, peers_now());
		good = wait_for_all(board, true, question.plan.duration_ms / 1000 + DONE_S);
	}
	atomic_store(&board->over, 1);
	if (!good)
		return 1;
	if (!is_same_everywhere(board, &order) || (question.total_order && !order)) {
		fprintf(stderr, "peers-collect: %s: the nodes have delivered different things\n", question.system);
		return 1;
	}
	print_figures(&question, board, order);
	return 0;
}
