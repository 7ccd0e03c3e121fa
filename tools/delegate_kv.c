/* delegate_kv.c - `whorl delegate kv`: the command line, the parent of all nodes, and what came of it. See delegate_kv.h. */
#include <argp.h>
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/delegate.h"
#include "tools/delegate_kv.h"

#define OPEN_MS 60000
#define END_MS 15000
#define BACKLOG 1024

struct line { /* what was said on the command line */
	struct wh_kv_options options;
	struct wh_kv_load load;
	const char *listens; /* an option of the server that was given, and one of --load; NULL: none */
	const char *loads;
	bool has_port;
};

/* ---- the command line ---------------------------------------------------------------------------------------------------------------- */

enum {
	KEY_NODES = 256,
	KEY_LISTEN,
	KEY_BACKEND,
	KEY_TRANSPORT,
	KEY_THREADS,
	KEY_WORKERS,
	KEY_SHARDS,
	KEY_CLIENTS,
	KEY_PATIENCE,
	KEY_SECONDS,
	KEY_JSON,
	KEY_LOAD,
	KEY_ZIPF,
	KEY_WRITES,
	KEY_PIPELINE,
	KEY_CONNECTIONS,
	KEY_KEYS,
	KEY_BYTES
};

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "A server:", 1},
	{"listen", KEY_LISTEN, "PORT", 0, "Node K serves 127.0.0.1 port PORT + K; 0: ports that are free", 1},
	{"nodes", KEY_NODES, "N", 0, "Processes, 1 to 16, which share the keys (1)", 1},
	{"transport", KEY_TRANSPORT, "T", 0, "Between them: shm or tcp (shm)", 1},
	{"backend", KEY_BACKEND, "B", 0, "What keeps a shard from two at once: trust, mutex or rwlock (trust)", 1},
	{"threads", KEY_THREADS, "N", 0, "Of each node, that serve clients, 1 to 64 (2)", 1},
	{"workers", KEY_WORKERS, "N", 0, "Of each node, that own shards, 1 to 64 (2); one node with locks has none", 1},
	{"shards", KEY_SHARDS, "N", 0, "Of each node, 1 to 4096 (64)", 1},
	{"clients", KEY_CLIENTS, "N", 0, "Of each node, at most, 1 to 20000 (10000)", 1},
	{"patience", KEY_PATIENCE, "MS", 0,
	 "A client that takes no reply for so long is closed, and so is one whose command has no answer; 100 to 3600000 (5000)",
	 1},
	{NULL, 0, NULL, 0, "Clients, which measure a server:", 2},
	{"load", KEY_LOAD, "HOST:PORT", 0,
	 "Sets all keys once, then gets and sets them for --seconds (2); HOST is an IPv4 address", 2},
	{"connections", KEY_CONNECTIONS, "N", 0, "1 to 1000 (16)", 2},
	{"pipeline", KEY_PIPELINE, "N", 0, "Commands of a connection that are sent together, 1 to 1000 (64)", 2},
	{"keys", KEY_KEYS, "N", 0, "1 to 10000000 (100000)", 2},
	{"bytes", KEY_BYTES, "N", 0, "Of a value, 1 to 1048576 (16)", 2},
	{"zipf", KEY_ZIPF, "A", 0, "Key I is asked for in proportion to 1 / I^A, 0 to 10 (0: all alike)", 2},
	{"writes", KEY_WRITES, "PERCENT", 0, "Of commands that set, 0 to 100 (5)", 2},
	{NULL, 0, NULL, 0, "Both:", 3},
	{"seconds", KEY_SECONDS, "S", 0, "Ends after so long (a server: when it is interrupted)", 3},
	{"json", KEY_JSON, "FILE", 0, "What came of it, as JSON", 3},
	{NULL, 0, NULL, 0, NULL, 0},
};

static const char doc[] =
	"A store of keys and values on delegation, or the same under locks, to which redis' tools speak.\v"
	"Commands: GET SET (without options) DEL EXISTS INCR DECR INCRBY DECRBY MGET MSET DBSIZE FLUSHALL PING ECHO SELECT 0 INFO CONFIG "
	"GET COMMAND QUIT; RESP2 and inline commands, pipelined as wanted. Keys and values have up to 1048576 bytes, a command up to 16777216 "
	"and 1024 keys. MGET, MSET, DEL, EXISTS, DBSIZE and FLUSHALL of several keys are not one step. Nothing is on disk, nothing has a "
	"copy: the keys of a node that ends are gone.\n"
	"\n"
	"Each node has a range of the hashes of keys, and its shards ranges of that. A client speaks to any node. SIGINT or SIGTERM ends all nodes.\n"
	"\n"
	"Lines: 'node K serves 127.0.0.1 port P' for each node, 'ready'; at the end 'node K commands N clients N keys N ...'. With --load "
	"'ops_per_s N p50_us T p99_us T errors N', of which the times are of a pipeline as a whole.\n"
	"\n"
	"Exit status: 0 good, also after a signal to a server, 1 a node has ended before the others, a command has failed, or a file, 2 the "
	"command line, 3 the machine lacks something, 130 --load was interrupted.";

static double number_of(struct argp_state *state, const char *option, const char *text, double least, double most)
{
	char *end;
	double value = strtod(text, &end);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || !(value >= least && value <= most))
		argp_error(state, "%s is \"%s\", expected a number from %g to %.0f", option, text, least, most);
	return value;
}

static uint32_t count_of(struct argp_state *state, const char *option, const char *text, double least, double most)
{
	double value = number_of(state, option, text, least, most);

	if (value != (double)(uint32_t)value)
		argp_error(state, "%s is \"%s\", expected a whole number", option, text);
	return (uint32_t)value;
}

static void take_backend(struct wh_kv_options *o, const char *name, struct argp_state *state)
{
	for (int b = 0; b < WH_KV_BACKENDS; b++)
		if (strcmp(name, wh_kv_backend_names[b]) == 0) {
			o->backend = (enum wh_kv_backend)b;
			return;
		}
	argp_error(state, "--backend is \"%s\", expected trust, mutex or rwlock", name);
}

static void take_transport(struct wh_kv_options *o, const char *name, struct argp_state *state)
{
	if (strcmp(name, "shm") != 0 && strcmp(name, "tcp") != 0)
		argp_error(state, "--transport is \"%s\", expected shm or tcp", name);
	o->transport = name;
}

static error_t parse_server(int key, char *text, struct argp_state *state)
{
	struct line *line = state->input;
	struct wh_kv_options *o = &line->options;

	switch (key) {
	case KEY_LISTEN:
		o->port = (uint16_t)count_of(state, "--listen", text, 0, 65535);
		line->has_port = true;
		return 0;
	case KEY_NODES:
		o->nodes = count_of(state, line->listens = "--nodes", text, 1, WH_KV_NODES);
		return 0;
	case KEY_BACKEND:
		line->listens = "--backend";
		take_backend(o, text, state);
		return 0;
	case KEY_TRANSPORT:
		line->listens = "--transport";
		take_transport(o, text, state);
		return 0;
	case KEY_THREADS:
		o->threads = count_of(state, line->listens = "--threads", text, 1, WH_KV_THREADS);
		return 0;
	case KEY_WORKERS:
		o->workers = count_of(state, line->listens = "--workers", text, 1, 64);
		return 0;
	case KEY_SHARDS:
		o->shards = count_of(state, line->listens = "--shards", text, 1, WH_KV_SHARDS);
		return 0;
	case KEY_CLIENTS:
		o->clients = count_of(state, line->listens = "--clients", text, 1, 20000);
		return 0;
	case KEY_PATIENCE:
		o->patience_ms = count_of(state, line->listens = "--patience", text, 100, 3600000);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_load(int key, char *text, struct argp_state *state)
{
	struct line *line = state->input;
	struct wh_kv_load *l = &line->load;

	switch (key) {
	case KEY_LOAD:
		l->to = text;
		return 0;
	case KEY_CONNECTIONS:
		l->connections = count_of(state, line->loads = "--connections", text, 1, 1000);
		return 0;
	case KEY_PIPELINE:
		l->pipeline = count_of(state, line->loads = "--pipeline", text, 1, 1000);
		return 0;
	case KEY_KEYS:
		l->keys = count_of(state, line->loads = "--keys", text, 1, 10000000);
		return 0;
	case KEY_BYTES:
		l->value_bytes = count_of(state, line->loads = "--bytes", text, 1, (double)WH_KV_WORD_MAX);
		return 0;
	case KEY_ZIPF:
		l->zipf = number_of(state, line->loads = "--zipf", text, 0, 10);
		return 0;
	case KEY_WRITES:
		l->writes = number_of(state, line->loads = "--writes", text, 0, 100);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void check_line(const struct line *line, struct argp_state *state)
{
	if (line->load.to == NULL && !line->has_port)
		argp_error(state, "where is it to serve? --listen PORT; or --load HOST:PORT");
	if (line->load.to != NULL && (line->has_port || line->listens != NULL))
		argp_error(state, "%s is for a server, --load for clients",
			   line->has_port ? "--listen" : line->listens);
	if (line->load.to == NULL && line->loads != NULL)
		argp_error(state, "%s is for clients: --load HOST:PORT", line->loads);
	if (line->options.port > 0 && line->options.port + line->options.nodes > 65536)
		argp_error(state, "--listen is %u: there are no ports for %u nodes from there on", line->options.port,
			   line->options.nodes);
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct line *line = state->input;
	error_t known;

	switch (key) {
	case KEY_SECONDS:
		line->options.seconds = line->load.seconds = number_of(state, "--seconds", text, 0.1, 1000000);
		return 0;
	case KEY_JSON:
		line->options.json = line->load.json = text;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "\"%s\" is one word too many", text);
		return 0;
	case ARGP_KEY_END:
		check_line(line, state);
		return 0;
	default:
		known = parse_server(key, text, state);
		return known == ARGP_ERR_UNKNOWN ? parse_load(key, text, state) : known;
	}
}

/* ---- sockets -------------------------------------------------------------------------------------------------------------------------- */

/* A port of this host, bound; `listens`: for clients. -1: it was said why. */
static int bind_port(uint16_t *port, bool listens)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(*port)};
	socklen_t length = sizeof(at);
	const int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd >= 0 && (!listens || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0) &&
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && (!listens || listen(fd, BACKLOG) == 0) &&
	    getsockname(fd, (struct sockaddr *)&at, &length) == 0) {
		*port = ntohs(at.sin_port);
		return fd;
	}
	wh_say("kv: 127.0.0.1 port %u: %s", (unsigned)*port, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static bool listen_all(struct wh_kv_run *run)
{
	uint16_t port = run->options.port;

	for (uint32_t k = 0; k < run->options.nodes; k++) {
		run->ports[k] = port == 0 ? 0 : (uint16_t)(port + k);
		run->listeners[k] = bind_port(&run->ports[k], true);
		if (run->listeners[k] < 0)
			return false;
	}
	return true;
}

/* A descriptor for each client, if the system allows them. */
static void raise_limit(struct wh_kv_options *o)
{
	const rlim_t others = 600;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	if (limit.rlim_cur < o->clients + others) {
		limit.rlim_cur = limit.rlim_max < o->clients + others ? limit.rlim_max : o->clients + others;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (o->clients + others > limit.rlim_cur)
		o->clients = (uint32_t)(limit.rlim_cur > 2 * others ? limit.rlim_cur - others : limit.rlim_cur / 2);
}

static bool configure(struct wh_kv_run *run)
{
	const struct wh_kv_options *o = &run->options;
	int held[WH_KV_NODES], count = 0;
	uint16_t ports[WH_KV_NODES] = {0};
	bool good = true;
	size_t at;

	at = (size_t)snprintf(run->config, sizeof(run->config),
			      "[group]\nname = kv-%d-%" PRIu64 "\nnodes = %" PRIu32
			      "\ntransport = %s\n[subgroup all]\n",
			      (int)getpid(), wh_kv_now_ms(), o->nodes, o->transport);
	for (; good && strcmp(o->transport, "tcp") == 0 && count < (int)o->nodes; count++) {
		held[count] = bind_port(&ports[count], false);
		good = held[count] >= 0;
		at += (size_t)snprintf(run->config + at, sizeof(run->config) - at,
				       "[node %d]\naddress = 127.0.0.1:%u\n", count, (unsigned)ports[count]);
	}
	for (int i = 0; i < count; i++)
		if (held[i] >= 0)
			close(held[i]);
	return good;
}

/* ---- the parent ------------------------------------------------------------------------------------------------------------------------ */

static bool all_reach(struct wh_kv_run *run, struct wh_crew *crew, uint32_t phase)
{
	uint64_t until = wh_kv_now_ms() + OPEN_MS;
	uint32_t worker;
	int status;

	for (;;) {
		uint32_t there = 0;

		while (there < run->options.nodes &&
		       atomic_load_explicit(&run->parts[there].reached, memory_order_acquire) >= phase)
			there++; /* partner: reach */
		if (there == run->options.nodes)
			return true;
		if (run->watch.interrupted != 0)
			return false;
		if (wh_crew_reap(crew, &worker, &status) || wh_kv_now_ms() > until) {
			wh_say("kv: not all nodes go on: node %" PRIu32, there);
			return false;
		}
		wh_watch_wait(&run->watch, 100);
	}
}

static bool start_all(struct wh_kv_run *run, struct wh_crew *crew)
{
	for (uint32_t phase = WH_KV_OPENS; phase < WH_KV_ENDS; phase++) {
		wh_phase_set(&run->phase, phase);
		if (!all_reach(run, crew, phase + 1))
			return false;
	}
	for (uint32_t k = 0; k < run->options.nodes; k++)
		printf("node %" PRIu32 " serves 127.0.0.1 port %u\n", k, (unsigned)run->ports[k]);
	printf("ready\n");
	return wh_flush_file(stdout, WH_STDOUT);
}

static void tell_end(uint32_t node, int status)
{
	if (WIFSIGNALED(status))
		wh_say("kv: node %" PRIu32 " was killed by signal %d: its keys are gone", node, WTERMSIG(status));
	else
		wh_say("kv: node %" PRIu32 " has ended with %d: its keys are gone", node, WEXITSTATUS(status));
}

/* Returns how many have ended. */
static uint32_t reap_all(struct wh_crew *crew)
{
	uint32_t count = 0, node;
	int status;

	for (; wh_crew_reap(crew, &node, &status); count++)
		tell_end(node, status);
	return count;
}

/* Until it is to end. False: a node has ended before, which is looked for last: the word to end may have come first. */
static bool look_after(struct wh_kv_run *run, struct wh_crew *crew)
{
	uint64_t until =
		run->options.seconds == 0 ? UINT64_MAX : wh_kv_now_ms() + (uint64_t)(run->options.seconds * 1000);
	uint32_t left = run->options.nodes;
	uint64_t now;

	while (left > 0 && run->watch.interrupted == 0 && (now = wh_kv_now_ms()) < until) {
		wh_watch_wait(&run->watch, until - now < 1000 ? (int)(until - now) : 1000);
		left -= reap_all(crew);
	}
	return left == run->options.nodes;
}

/* ---- what came of it --------------------------------------------------------------------------------------------------------------------- */

static json_t *json_of(const struct wh_kv_part_of_run *p)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "clients",
			 (json_int_t)p->counts.clients, "commands", (json_int_t)p->counts.commands, "gets",
			 (json_int_t)p->counts.gets, "hits", (json_int_t)p->counts.hits, "sets",
			 (json_int_t)p->counts.sets, "errors", (json_int_t)p->counts.errors, "read_bytes",
			 (json_int_t)p->counts.read_bytes, "written_bytes", (json_int_t)p->counts.written_bytes,
			 "clients_refused", (json_int_t)p->counts.refused, "keys", (json_int_t)p->keys, "bytes",
			 (json_int_t)p->bytes, "calls", (json_int_t)p->calls, "lent_calls", (json_int_t)p->lent_calls,
			 "batches", (json_int_t)p->batches, "batch_calls", (json_int_t)p->batch_calls);
}

static bool write_json(const struct wh_kv_run *run)
{
	const struct wh_kv_options *o = &run->options;
	json_t *nodes = json_array();
	json_t *root =
		json_pack("{s:s, s:s, s:i, s:s, s:i, s:i, s:i, s:o}", "command", "kv", "backend",
			  wh_kv_backend_names[o->backend], "nodes", (int)o->nodes, "transport", o->transport, "threads",
			  (int)o->threads, "workers", (int)o->workers, "shards", (int)o->shards, "of_nodes", nodes);
	FILE *file = NULL;
	bool good = root != NULL;

	for (uint32_t k = 0; good && k < o->nodes; k++)
		good = json_array_append_new(nodes, json_of(&run->parts[k])) == 0;
	file = good ? fopen(o->json, "we") : NULL;
	good = file != NULL && json_dumpf(root, file, JSON_INDENT(1) | JSON_PRESERVE_ORDER) == 0 &&
	       fputc('\n', file) != EOF;
	if (file != NULL)
		good = fclose(file) == 0 && good;
	if (!good)
		wh_say("%s: %s", o->json, strerror(errno));
	json_decref(root);
	return good;
}

static bool tell(const struct wh_kv_run *run)
{
	for (uint32_t k = 0; k < run->options.nodes; k++) {
		const struct wh_kv_part_of_run *p = &run->parts[k];

		printf("node %" PRIu32 " commands %" PRIu64 " errors %" PRIu64 " clients %" PRIu64 " keys %" PRIu64
		       " calls %" PRIu64 "\n",
		       k, p->counts.commands, p->counts.errors, p->counts.clients, p->keys, p->calls);
	}
	return wh_flush_file(stdout, WH_STDOUT) && (run->options.json == NULL || write_json(run));
}

/* ---- running ------------------------------------------------------------------------------------------------------------------------------- */

static enum wh_exit run_nodes(struct wh_kv_run *run)
{
	struct wh_crew crew;
	struct wh_error err;
	bool good, whole = false;

	if (!listen_all(run) || !configure(run))
		return WH_EXIT_MACHINE;
	if (wh_crew_start(&crew, &run->watch, run->options.nodes, true, wh_kv_be_node, run, &err) != WHORL_OK) {
		wh_say("%s", err.text);
		return WH_EXIT_MACHINE;
	}
	for (uint32_t k = 0; k < run->options.nodes; k++)
		close(run->listeners[k]);
	good = start_all(run, &crew);
	if (good)
		whole = look_after(run, &crew);
	wh_phase_set(&run->phase, WH_KV_ENDS);
	(void)wh_crew_end(&crew, END_MS);
	if (!good)
		return run->watch.interrupted != 0 ? WH_EXIT_INTERRUPTED : WH_EXIT_FAILED;
	return tell(run) && whole ? WH_EXIT_GOOD : WH_EXIT_FAILED;
}

static enum wh_exit serve(const struct wh_kv_options *o, const struct wh_watch *watch)
{
	size_t bytes = sizeof(struct wh_kv_run) + (size_t)o->nodes * o->nodes * o->shards * sizeof(struct whorl_trust);
	struct wh_kv_run *run = wh_shared_alloc(bytes, false);
	enum wh_exit status;

	if (run == NULL || getrandom(run->seed, sizeof(run->seed), 0) != sizeof(run->seed)) {
		wh_say("kv: %s", run == NULL ? "no memory" : "no random bytes");
		return WH_EXIT_MACHINE;
	}
	run->options = *o;
	run->watch = *watch;
	raise_limit(&run->options);
	status = run_nodes(run);
	wh_shared_free(run, bytes);
	return status;
}

int wh_delegate_kv_main(int argc, char **argv)
{
	static const struct argp argp = {options, parse_option, NULL, doc, NULL, NULL, NULL};
	struct line line = {
		.options = {.nodes = 1,
			    .threads = 2,
			    .workers = 2,
			    .shards = 64,
			    .clients = 10000,
			    .patience_ms = 5000,
			    .backend = WH_KV_TRUST,
			    .transport = "shm"},
		.load = {.connections = 16, .pipeline = 64, .keys = 100000, .value_bytes = 16, .writes = 5, .seconds = 2},
	};
	struct wh_watch watch;
	struct wh_error err;
	enum wh_exit status;

	argp_parse(&argp, argc, argv, 0, NULL, &line);
	if (wh_watch_open(&watch, &err) != WHORL_OK) { /* before there is a thread */
		wh_say("%s", err.text);
		return WH_EXIT_MACHINE;
	}
	status = line.load.to != NULL ? wh_kv_load_run(&line.load, &watch) : serve(&line.options, &watch);
	wh_watch_close(&watch);
	return status;
}
