/* delegate.c - `whorl delegate`: the command line. See delegate.h. */
#include <argp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command/option.h"
#include "tools/commands.h"
#include "tools/delegate.h"

enum {
	KEY_THREADS = 't',
	KEY_OBJECTS = 'o',
	KEY_RUNS = 'r',
	KEY_ZIPF = 256,
	KEY_LOAD,
	KEY_WAYS,
	KEY_JSON,
	KEY_BUSY,
	KEY_WORKERS
};

#define THREADS_MOST 256
#define OBJECTS_MOST 1000000
#define RUNS_MOST 1000

static const struct argp_option options[] = {
	{"threads", KEY_THREADS, "N", 0, "Threads that call, 1 to 256 (2)", 0},
	{"objects", KEY_OBJECTS, "N", 0, "Counters, 1 to 1000000 (1)", 0},
	{"zipf", KEY_ZIPF, "A", 0, "Counter i is called in proportion to 1 / i^A, 0 to 10 (0: all alike)", 0},
	{"load", KEY_LOAD, "R", 0,
	 "Calls in a second of all threads together, at random times; the latency is from when a call should have begun (0: each "
	 "thread calls as often as it can)",
	 0},
	{"ways", KEY_WAYS, "LIST", 0, "Of mutex,spin,mcs,combine,atomic,trust,async, in this order (all)", 0},
	{"runs", KEY_RUNS, "N", 0, "How often all ways have their turn, half a second each (1)", 0},
	{"json", KEY_JSON, "FILE", 0, "The results, as JSON", 0},
	{"busy", KEY_BUSY, NULL, 0, "Beside a process on each processor that does nothing but spin", 0},
	{"workers", KEY_WORKERS, NULL, 0,
	 "trust, async: the calls come from fibers of N workers, not from N threads beside them", 0},
	{NULL, 0, NULL, 0, NULL, 0},
};

static const char doc[] =
	"What delegation costs, beside what programs use in its place.\v"
	"COMMAND is\n"
	"  fetch-add  threads add 1 to counters, one way after the other; a line 'WAY OPS_PER_S LATENCY_US' for each way and run: "
	"the median latency\n"
	"  echo       fibers call a property of another node: whorl delegate echo --help\n"
	"  sssp       shortest paths on a graph that all nodes have a part of: whorl delegate sssp --help\n"
	"  kv         a store of keys and values, or the same under locks: whorl delegate kv --help\n"
	"  count      a member adds to a counter that all members of a shard have: whorl delegate count --help\n"
	"\n"
	"The ways:\n"
	"  mutex      pthread_mutex\n"
	"  spin       pthread_spinlock\n"
	"  mcs        the MCS lock of Concurrency Kit (libck-dev), a fair queue\n"
	"  combine    a queue whose first thread serves the others\n"
	"  atomic     the processor's fetch-and-add\n"
	"  trust      whorl_apply: each counter is entrusted to a worker, a thread waits for its call\n"
	"  async      whorl_apply_then: a thread has up to 64 calls on their way\n"
	"\n"
	"After each turn the counters are added up: there must be as much in them as calls were made.\n"
	"\n"
	"Exit status: 0 good, 1 the counters are wrong, or a file failed, 2 the command line, 3 the machine, or this whorl, lacks "
	"something, 130 interrupted.";

static double parse_number(struct argp_state *state, const char *option, const char *text, double most)
{
	double value;
	char *end;

	value = strtod(text, &end);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || !(value <= most))
		argp_error(state, "%s is \"%s\", expected a number from 0 to %g", option, text, most);
	return value;
}

static const struct wh_way *find_way(const char *name, size_t length)
{
	for (int w = 0; w < WH_WAYS; w++)
		if (strlen(wh_ways[w]->name) == length && memcmp(wh_ways[w]->name, name, length) == 0)
			return wh_ways[w];
	return NULL;
}

static void add_way(struct wh_delegate *delegate, const struct wh_way *way, struct argp_state *state)
{
	for (uint32_t w = 0; w < delegate->way_count; w++)
		if (delegate->ways[w] == way)
			argp_error(state, "--ways has \"%s\" twice", way->name);
	delegate->ways[delegate->way_count++] = way;
}

static void parse_ways(struct wh_delegate *delegate, const char *text, struct argp_state *state)
{
	delegate->way_count = 0;
	for (;;) {
		size_t length = strcspn(text, ",");
		const struct wh_way *way = find_way(text, length);

		if (way == NULL)
			argp_error(
				state,
				"--ways has \"%.*s\", expected some of mutex, spin, mcs, combine, atomic, trust and async",
				(int)length, text);
		else
			add_way(delegate, way, state);
		if (text[length] == '\0')
			return;
		text += length + 1;
	}
}

static void take_word(struct wh_delegate *delegate, const char *word, struct argp_state *state)
{
	if (delegate->command != NULL)
		argp_error(state, "\"%s\" is one word too many", word);
	if (strcmp(word, "fetch-add") != 0)
		argp_error(state, "there is no command \"%s\", expected fetch-add, echo, sssp, kv or count", word);
	delegate->command = word;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct wh_delegate *delegate = state->input;

	switch (key) {
	case KEY_THREADS:
		delegate->threads = (uint32_t)wh_option_number(state, "--threads", argument, 1, THREADS_MOST);
		return 0;
	case KEY_OBJECTS:
		delegate->objects = (uint32_t)wh_option_number(state, "--objects", argument, 1, OBJECTS_MOST);
		return 0;
	case KEY_RUNS:
		delegate->runs = (uint32_t)wh_option_number(state, "--runs", argument, 1, RUNS_MOST);
		return 0;
	case KEY_ZIPF:
		delegate->zipf = parse_number(state, "--zipf", argument, 10);
		return 0;
	case KEY_LOAD:
		delegate->load = parse_number(state, "--load", argument, 1e9);
		return 0;
	case KEY_WAYS:
		parse_ways(delegate, argument, state);
		return 0;
	case KEY_JSON:
		delegate->json = argument;
		return 0;
	case KEY_BUSY:
		delegate->busy = true;
		return 0;
	case KEY_WORKERS:
		delegate->workers = true;
		return 0;
	case ARGP_KEY_ARG:
		take_word(delegate, argument, state);
		return 0;
	case ARGP_KEY_END:
		if (delegate->command == NULL)
			argp_error(state, "which COMMAND? fetch-add, echo, sssp, kv or count");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Without --ways: all that are built in. False: one that was asked for is not. */
static bool choose_ways(struct wh_delegate *delegate)
{
	bool asked = delegate->way_count > 0;

	for (int w = 0; !asked && w < WH_WAYS; w++)
		if (wh_ways[w]->missing == NULL)
			delegate->ways[delegate->way_count++] = wh_ways[w];
		else
			wh_say("without the way %s: %s", wh_ways[w]->name, wh_ways[w]->missing);
	for (uint32_t w = 0; w < delegate->way_count; w++)
		if (delegate->ways[w]->missing != NULL) {
			wh_say("the way %s is not built in: %s", delegate->ways[w]->name, delegate->ways[w]->missing);
			return false;
		}
	return true;
}

int wh_delegate_main(int argc, char **argv)
{
	static const struct argp argp = {options, parse_option, "COMMAND", doc, NULL, NULL, NULL};
	struct wh_delegate delegate = {.threads = 2, .objects = 1, .runs = 1};
	enum wh_exit status;
	struct wh_error err;

	if (argc > 1 && strcmp(argv[1], "count") == 0) {
		argv[1] = (char[]){"whorl delegate count"};
		return wh_delegate_count_main(argc - 1, argv + 1);
	}
	if (argc > 1 && strcmp(argv[1], "echo") == 0) {
		argv[1] = (char[]){"whorl delegate echo"};
		return wh_delegate_echo_main(argc - 1, argv + 1);
	}
	if (argc > 1 && strcmp(argv[1], "sssp") == 0) {
		argv[1] = (char[]){"whorl delegate sssp"};
		return wh_delegate_sssp_main(argc - 1, argv + 1);
	}
	if (argc > 1 && strcmp(argv[1], "kv") == 0) {
		argv[1] = (char[]){"whorl delegate kv"};
		return wh_delegate_kv_main(argc - 1, argv + 1);
	}
	argp_parse(&argp, argc, argv, 0, NULL, &delegate);
	if (!choose_ways(&delegate))
		return WH_EXIT_MACHINE;
	if (wh_watch_open(&delegate.watch, &err) != WHORL_OK) { /* before there is a thread */
		wh_say("%s", err.text);
		return WH_EXIT_MACHINE;
	}
	status = wh_delegate_fetch(&delegate);
	wh_watch_close(&delegate.watch);
	return status;
}
