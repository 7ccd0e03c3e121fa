/* kv_load.c - what kv-load is told, and what it tells. See kv_load.h. */
#include "bench/peers/kv_load.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/peers/measure.h"

#define GRACE_S 30

static const char usage[] =
	"usage: kv-load put|get|fill --ports P[,P]... [OPTION]...\n"
	"\n"
	"Asks key-value servers on 127.0.0.1, checks each reply, and prints one line of JSON. put and get use random keys; fill puts each once.\n"
	"\n"
	"  --ports P[,P]...    of the servers: connections take turns\n"
	"  --etcd              asks in HTTP, as the JSON gateway of etcd has it; otherwise as redis\n"
	"  --connections N     (1)\n"
	"  --pipeline N        operations that a connection asks for at once (1)\n"
	"  --bytes N           of a value (128)\n"
	"  --keys N            that there are (10000)\n"
	"  --warm S            seconds before it counts (0)\n"
	"  --seconds S         that it counts; of fill, the most that it may take (1)\n"
	"  --wait N            WAIT N behind each batch, which counts if N replicas have it\n"
	"  --local             gets may be late: READONLY; with --etcd serializable\n"
	"  --retry             what is refused, or breaks off, is asked again, a millisecond later\n"
	"  --give-up S         with --retry, what has no answer for S seconds is asked again, on another connection\n"
	"  --pids P[,P]...     of the servers: their processor time is told\n"
	"\n"
	"Exit status: 0 all answers were as they should be; 1 one was not, or did not come; 2 usage.\n";

_Noreturn static void refuse(const char *what, const char *word)
{
	fprintf(stderr, "kv-load: %s: %s\n%s", what, word, usage);
	exit(2);
}

static uint32_t read_number(const char *name, const char *word, uint32_t least, uint32_t most)
{
	char *end, expected[80];
	unsigned long number = strtoul(word, &end, 10);

	if (*word < '0' || *word > '9' || *end != '\0' || number < least || number > most) {
		snprintf(expected, sizeof(expected), "--%s takes a number from %" PRIu32 " to %" PRIu32, name, least,
			 most);
		refuse(expected, word);
	}
	return (uint32_t)number;
}

static uint64_t read_seconds(const char *name, const char *word)
{
	char *end, expected[80];
	double seconds = strtod(word, &end);

	if (end == word || *end != '\0' || !(seconds >= 0 && seconds <= 3600)) {
		snprintf(expected, sizeof(expected), "--%s takes seconds, from 0 to 3600", name);
		refuse(expected, word);
	}
	return (uint64_t)(seconds * 1e9);
}

/* Numbers with commas between them. */
static uint32_t read_list(const char *name, char *words, uint32_t most, uint32_t *numbers)
{
	uint32_t count = 0;

	for (char *next = words, *word; (word = strsep(&next, ",")) != NULL;) {
		if (count == KV_PORTS_MOST)
			refuse("too many", name);
		numbers[count++] = read_number(name, word, 1, most);
	}
	return count;
}

static void read_option(struct kv_plan *plan, const char *name, char *word)
{
	uint32_t numbers[KV_PORTS_MOST];

	if (strcmp(name, "ports") == 0) {
		plan->port_count = read_list(name, word, UINT16_MAX, numbers);
		for (uint32_t i = 0; i < plan->port_count; i++)
			plan->ports[i] = (uint16_t)numbers[i];
	} else if (strcmp(name, "pids") == 0) {
		plan->pid_count = read_list(name, word, INT32_MAX, numbers);
		for (uint32_t i = 0; i < plan->pid_count; i++)
			plan->pids[i] = (int)numbers[i];
	} else if (strcmp(name, "connections") == 0) {
		plan->connections = read_number(name, word, 1, KV_CONNECTIONS_MOST);
	} else if (strcmp(name, "pipeline") == 0) {
		plan->pipeline = read_number(name, word, 1, KV_PIPELINE_MOST);
	} else if (strcmp(name, "bytes") == 0) {
		plan->bytes = read_number(name, word, KV_VALUE_LEAST, KV_VALUE_MOST);
	} else if (strcmp(name, "keys") == 0) {
		plan->keys = read_number(name, word, 1, INT32_MAX);
	} else if (strcmp(name, "wait") == 0) {
		plan->wait = read_number(name, word, 1, 9);
	} else if (strcmp(name, "warm") == 0) {
		plan->warm_ns = read_seconds(name, word);
	} else if (strcmp(name, "give-up") == 0) {
		plan->give_up_ns = read_seconds(name, word);
	} else {
		plan->duration_ns = read_seconds(name, word);
	}
}

static void read_arguments(struct kv_plan *plan, int argc, char *argv[])
{
	static const struct option options[] = {
		{"ports", required_argument, NULL, 'v'},
		{"pids", required_argument, NULL, 'v'},
		{"connections", required_argument, NULL, 'v'},
		{"pipeline", required_argument, NULL, 'v'},
		{"bytes", required_argument, NULL, 'v'},
		{"keys", required_argument, NULL, 'v'},
		{"wait", required_argument, NULL, 'v'},
		{"warm", required_argument, NULL, 'v'},
		{"seconds", required_argument, NULL, 'v'},
		{"etcd", no_argument, NULL, 'e'},
		{"local", no_argument, NULL, 'l'},
		{"retry", no_argument, NULL, 'r'},
		{"give-up", required_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	static const char *const works[] = {[KV_PUT] = "put", [KV_GET] = "get", [KV_FILL] = "fill"};
	int option, at = 0;

	while ((option = getopt_long(argc, argv, "", options, &at)) != -1) {
		switch (option) {
		case 'v':
			read_option(plan, options[at].name, optarg);
			break;
		case 'e':
			plan->etcd = true;
			break;
		case 'l':
			plan->local = true;
			break;
		case 'r':
			plan->retry = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			fputs(usage, stderr);
			exit(2);
		}
	}
	if (optind + 1 != argc)
		refuse("expected one of put, get, fill", optind < argc ? argv[argc - 1] : "nothing");
	for (at = 0; at < 3 && strcmp(argv[optind], works[at]) != 0;)
		at++;
	if (at == 3)
		refuse("expected put, get or fill", argv[optind]);
	plan->work = (enum kv_work)at;
	if (plan->port_count == 0)
		refuse("missing", "--ports");
	if (plan->etcd && (plan->pipeline > 1 || plan->wait > 0))
		refuse("the gateway of etcd has none", plan->wait > 0 ? "--wait" : "--pipeline");
	if (plan->give_up_ns > 0 && !plan->retry)
		refuse("is for --retry", "--give-up");
	if (plan->wait > 0 && plan->work == KV_GET)
		refuse("is for puts", "--wait");
}

static double share(uint64_t part_ns, uint64_t of_ns)
{
	return of_ns == 0 ? 0 : (double)part_ns / (double)of_ns;
}

static void print_figures(const struct kv_plan *plan, const struct kv_figures *figures)
{
	printf("{\"connections\":%" PRIu32 ",\"pipeline\":%" PRIu32 ",\"bytes\":%" PRIu32 ",\"keys\":%" PRIu32,
	       plan->connections, plan->pipeline, plan->bytes, plan->keys);
	printf(",\"seconds\":%.3f,\"operations\":%" PRIu64 ",\"operations_per_s\":%.1f",
	       (double)figures->elapsed_ns / 1e9, figures->operations,
	       figures->elapsed_ns == 0 ? 0 : (double)figures->operations * 1e9 / (double)figures->elapsed_ns);
	printf(",\"latency_us\":{\"p50\":%.1f,\"p99\":%.1f,\"max\":%.1f}",
	       wh_histogram_quantile(&figures->latency, 0.5) / 1000,
	       wh_histogram_quantile(&figures->latency, 0.99) / 1000, (double)figures->latency.greatest / 1000);
	printf(",\"gap_ms\":%.3f,\"errors\":%" PRIu64 ",\"short\":%" PRIu64, (double)figures->gap_ns / 1e6,
	       figures->errors, figures->short_of);
	printf(",\"server_cores\":%.2f,\"load_cores\":%.2f}\n", share(figures->servers_ns, figures->elapsed_ns),
	       share(figures->load_ns, figures->elapsed_ns));
}

int main(int argc, char *argv[])
{
	struct kv_plan plan = {.connections = 1, .pipeline = 1, .bytes = 128, .keys = 10000, .duration_ns = 1000000000};
	static struct kv_figures figures;

	read_arguments(&plan, argc, argv);
	alarm((unsigned)((plan.warm_ns + plan.duration_ns) / 1000000000) + GRACE_S);
	kv_drive(&plan, &figures);
	print_figures(&plan, &figures);
	if (plan.work == KV_FILL && figures.operations < plan.keys) {
		fprintf(stderr, "kv-load: %" PRIu64 " of %" PRIu32 " keys were put\n", figures.operations, plan.keys);
		return 1;
	}
	return 0;
}
