/* calls.c - how long a call and a read take while nothing else happens, and what local reads leave of a stream of calls, as JSON.
 *
 *     whorl-calls [--transport T] [--nodes N] [--bytes N] [--rounds N] [--seconds S] [--reads N]
 *
 * Nodes are processes of this host, each a replica; node 0 measures. `us`: in each round it makes a call and waits for its answer,
 * makes a linearizable read and waits for that, and sends 8 bytes to another process that sends them back, over a bare tcp connection
 * on loopback (the *trip*): one after the other, a hundred times, with a pause before each, so all that happens in them is compared
 * within a few milliseconds. `stream`: in each round node 0 makes as many calls as it can for so long, without reads, and then with
 * --reads local reads a second, which its loop makes between two calls. Figures are medians over the rounds.
 */
#include <arpa/inet.h>
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <whorl/replica.h>

#define WAIT_MS 30000
#define TIMES 100
#define PAUSE_US 300
#define NS_PER_S UINT64_C(1000000000)

struct plan {
	const char *transport;
	unsigned long nodes, bytes, rounds, seconds, reads;
};

struct round {
	double call_us, read_us, trip_us;  /* medians of a hundred */
	double calls, calls_beside, reads; /* per second: without reads; with reads; the reads */
};

struct replica {
	whorl_subgroup *subgroup;
	uint64_t sum;                        /* the state */
	_Atomic uint64_t asked;              /* reads per second that the loop is to make */
	uint64_t made_per_s, since_ns, made; /* that it makes since then, and how many it has made */
	_Atomic uint64_t applied, reads;     /* so far */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* ---- the state machine ------------------------------------------------------------------------------------------------------ */

static void look(enum whorl_result result, void *ctx)
{
	struct replica *replica = ctx;

	if (result == WHORL_OK && replica->sum != UINT64_MAX) /* it looks at the state */
		atomic_store_explicit(&replica->reads, replica->reads + 1, memory_order_relaxed);
}

/* As many as are due by now. */
static void read_locally(struct replica *replica, uint64_t per_s)
{
	uint64_t now = now_ns();

	if (replica->made_per_s != per_s) {
		replica->made_per_s = per_s;
		replica->since_ns = now;
		replica->made = 0;
	}
	for (uint64_t due = per_s == 0 ? 0 : (now - replica->since_ns) * per_s / NS_PER_S; replica->made < due;
	     replica->made++)
		if (whorl_read(replica->subgroup, WHORL_LOCAL, look, replica) != WHORL_OK)
			errx(1, "a local read is refused");
}

static bool apply(const struct whorl_call *calls, size_t count, void *ctx)
{
	struct replica *replica = ctx;

	for (size_t i = 0; i < count; i++) {
		const struct whorl_call *call = WHORL_AT(whorl_call, calls, i);

		replica->sum += *(const unsigned char *)call->data;
		whorl_answer(call, &replica->sum, sizeof(replica->sum));
	}
	atomic_store_explicit(&replica->applied, replica->applied + count, memory_order_relaxed);
	read_locally(replica, atomic_load_explicit(&replica->asked, memory_order_relaxed));
	return true;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------------------ */

/* A port that nothing uses now. */
static int free_port(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, bytes) != 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &bytes) != 0)
		err(1, "a port");
	close(fd);
	return ntohs(at.sin_port);
}

static whorl_config *configure(const struct plan *plan)
{
	whorl_config *config = whorl_config_new();
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (out == NULL || config == NULL)
		errx(1, "no memory");
	fprintf(out,
		"[group]\nname = calls-%ld\ntransport = %s\nnodes = %lu\nfailure_timeout_ms = 10000\n"
		"[subgroup all]\nwindow = 1000\nmessage_bytes = %lu\n",
		(long)getpid(), plan->transport, plan->nodes, plan->bytes);
	for (unsigned long id = 0; strcmp(plan->transport, "tcp") == 0 && id < plan->nodes; id++)
		fprintf(out, "[node %lu]\naddress = 127.0.0.1:%d\n", id, free_port());
	fclose(out);
	if (whorl_config_load_text(config, "calls", text) != WHORL_OK)
		errx(1, "%s", whorl_config_error(config));
	free(text);
	return config;
}

static whorl_node *open_node(whorl_config *config, uint32_t id, struct replica *replica)
{
	enum whorl_result result;
	whorl_node *node;
	char why[512];

	if (whorl_open(config, id, NULL, &node) != WHORL_OK)
		errx(1, "node %" PRIu32 ": %s", id, whorl_config_error(config));
	replica->subgroup = whorl_subgroup_find(node, "all");
	result = whorl_on_calls(replica->subgroup, apply, replica);
	if (result == WHORL_OK)
		result = whorl_start(node);
	if (result == WHORL_OK)
		result = whorl_ready(node, WAIT_MS);
	if (result != WHORL_OK) {
		whorl_progress(node, why, sizeof(why));
		errx(1, "node %" PRIu32 ": %s: %s", id, whorl_result_text(result), why);
	}
	return node;
}

/* Until the pipe is closed, or the process that would close it has ended. */
static _Noreturn void be_member(whorl_config *config, uint32_t id, const int until[2])
{
	struct replica replica = {.sum = 0};
	whorl_node *node;
	char byte;

	close(until[1]);
	node = open_node(config, id, &replica);
	(void)!read(until[0], &byte, 1);
	whorl_close(node, 1000);
	_exit(0);
}

/* ---- the bare trip ---------------------------------------------------------------------------------------------------------- */

static void move(int fd, bool out, uint64_t *word)
{
	char *at = (char *)word;

	for (size_t done = 0; done < sizeof(*word);) {
		ssize_t moved =
			out ? write(fd, at + done, sizeof(*word) - done) : read(fd, at + done, sizeof(*word) - done);

		if (moved <= 0)
			_exit(0); /* the other end has gone */
		done += (size_t)moved;
	}
}

static int start_echo(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	socklen_t bytes = sizeof(at);
	uint64_t word;

	if (bind(listener, (struct sockaddr *)&at, bytes) != 0 || listen(listener, 1) != 0 ||
	    getsockname(listener, (struct sockaddr *)&at, &bytes) != 0)
		err(1, "a socket");
	if (fork() == 0) {
		close(fd); /* the other end is the parent's alone */
		fd = accept(listener, NULL, NULL);
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		for (;;) {
			move(fd, false, &word);
			move(fd, true, &word);
		}
	}
	if (connect(fd, (struct sockaddr *)&at, bytes) != 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0)
		err(1, "a connection");
	close(listener);
	return fd;
}

/* ---- one round -------------------------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return values[count / 2];
}

static void pause_us(long us)
{
	nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

static void time_each(const struct plan *plan, struct replica *replica, int echo, struct round *round)
{
	double call[TIMES], read[TIMES], trip[TIMES];
	uint64_t answer, word = 1, from;
	void *data = calloc(1, plan->bytes);

	if (data == NULL)
		errx(1, "no memory");
	for (int i = 0; i < TIMES; i++) {
		size_t bytes = sizeof(answer);

		pause_us(PAUSE_US);
		from = now_ns();
		if (whorl_call_wait(replica->subgroup, data, plan->bytes, &answer, &bytes, WAIT_MS) != WHORL_OK)
			errx(1, "a call has no answer");
		call[i] = (double)(now_ns() - from) / 1e3;
		pause_us(PAUSE_US);
		from = now_ns();
		if (whorl_read_wait(replica->subgroup, WHORL_LINEARIZABLE, look, replica, WAIT_MS) != WHORL_OK)
			errx(1, "a read is not made");
		read[i] = (double)(now_ns() - from) / 1e3;
		pause_us(PAUSE_US);
		from = now_ns();
		move(echo, true, &word);
		move(echo, false, &word);
		trip[i] = (double)(now_ns() - from) / 1e3;
	}
	free(data);
	round->call_us = median(call, TIMES);
	round->read_us = median(read, TIMES);
	round->trip_us = median(trip, TIMES);
}

static void ignore(const struct whorl_outcome *outcome, void *ctx)
{
	(void)ctx;
	if (outcome->result != WHORL_OK)
		errx(1, "a call: %s", outcome->text);
}

/* Calls per second. */
static double stream(const struct plan *plan, struct replica *replica)
{
	uint64_t from = now_ns(), until = from + plan->seconds * NS_PER_S, before = atomic_load(&replica->applied);
	struct whorl_claim claim;
	enum whorl_result result;

	while (now_ns() < until) {
		result = whorl_claim_wait(replica->subgroup, plan->bytes, WAIT_MS, &claim);
		if (result == WHORL_OK) {
			memset(claim.data, 1, plan->bytes);
			result = whorl_call_commit(&claim, plan->bytes, ignore, NULL);
		}
		if (result != WHORL_OK)
			errx(1, "a call: %s", whorl_result_text(result));
	}
	return (double)(atomic_load(&replica->applied) - before) * 1e9 / (double)(now_ns() - from);
}

static void run_round(const struct plan *plan, struct replica *replica, int echo, struct round *round)
{
	uint64_t before;

	time_each(plan, replica, echo, round);
	round->calls = stream(plan, replica);
	atomic_store(&replica->asked, plan->reads);
	before = atomic_load(&replica->reads);
	round->calls_beside = stream(plan, replica);
	round->reads = (double)(atomic_load(&replica->reads) - before) / (double)plan->seconds;
	atomic_store(&replica->asked, 0);
}

/* ---- what is printed -------------------------------------------------------------------------------------------------------- */

static double median_of(const struct plan *plan, const struct round *rounds, size_t field)
{
	double *values = calloc(plan->rounds, sizeof(*values)), middle;

	if (values == NULL)
		errx(1, "no memory");
	for (unsigned long i = 0; i < plan->rounds; i++)
		memcpy(&values[i], (const char *)&rounds[i] + field, sizeof(*values));
	middle = median(values, plan->rounds);
	free(values);
	return middle;
}

#define MEDIAN(field) median_of(plan, rounds, offsetof(struct round, field))

static void print(const struct plan *plan, const struct round *rounds)
{
	printf("{\"transport\": \"%s\", \"nodes\": %lu, \"bytes\": %lu, \"rounds\": %lu, "
	       "\"us\": {\"call\": %.1f, \"linearizable_read\": %.1f, \"bare_tcp_trip\": %.1f}, "
	       "\"stream\": {\"calls_per_s\": %.0f, \"beside_reads_calls_per_s\": %.0f, \"local_reads_per_s\": %.0f}, "
	       "\"ratios\": {\"read_of_call\": %.2f, \"read_of_trip\": %.2f, \"beside_reads\": %.2f}}\n",
	       plan->transport, plan->nodes, plan->bytes, plan->rounds, MEDIAN(call_us), MEDIAN(read_us),
	       MEDIAN(trip_us), MEDIAN(calls), MEDIAN(calls_beside), MEDIAN(reads), MEDIAN(read_us) / MEDIAN(call_us),
	       MEDIAN(read_us) / MEDIAN(trip_us), MEDIAN(calls_beside) / MEDIAN(calls));
}

/* ---- the command line ------------------------------------------------------------------------------------------------------- */

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
		{"transport", required_argument, NULL, 't'},
		{"nodes", required_argument, NULL, 'n'},
		{"bytes", required_argument, NULL, 'b'},
		{"rounds", required_argument, NULL, 'r'},
		{"seconds", required_argument, NULL, 's'},
		{"reads", required_argument, NULL, 'l'},
		{0},
	};
	int which, c;

	while ((c = getopt_long(argc, argv, "", options, &which)) != -1) {
		unsigned long *value = c == 'n'   ? &plan->nodes
				       : c == 'b' ? &plan->bytes
				       : c == 'r' ? &plan->rounds
				       : c == 's' ? &plan->seconds
						  : &plan->reads;

		if (c == '?')
			exit(2);
		if (c == 't')
			plan->transport = optarg;
		else
			*value = number(options[which].name, optarg);
	}
	if (optind < argc)
		errx(2, "%s: what is that?", argv[optind]);
	if (plan->nodes < 1 || plan->rounds < 1 || plan->seconds < 1 || plan->bytes < 1)
		errx(2, "it takes a node, a round, a second and a byte at least");
}

int main(int argc, char *argv[])
{
	struct plan plan = {"shm", 2, 128, 5, 1, 1000000};
	struct replica replica = {.sum = 0};
	struct round *rounds;
	whorl_config *config;
	whorl_node *node;
	int until[2], echo;

	read_options(&plan, argc, argv);
	rounds = calloc(plan.rounds, sizeof(*rounds));
	if (rounds == NULL || pipe(until) != 0)
		err(1, "start");
	config = configure(&plan);
	echo = start_echo();
	for (uint32_t id = 1; id < plan.nodes; id++)
		if (fork() == 0) {
			close(echo);
			be_member(config, id, until);
		}
	node = open_node(config, 0, &replica);
	for (unsigned long i = 0; i < plan.rounds; i++)
		run_round(&plan, &replica, echo, &rounds[i]);
	print(&plan, rounds);
	close(echo);
	close(until[1]);
	whorl_close(node, 1000);
	while (wait(NULL) > 0)
		;
	whorl_config_free(config);
	free(rounds);
	return 0;
}
