/* delegate_echo.c - `whorl delegate echo`: fibers that call a property of another node, which gives back what it gets.
 *
 * Each node is a process. Node 0 owns the property; the fibers of the others call it, each with so many calls on their way. Then the
 * same nodes make bare writes: as large as the batches were, as many as make up the calls on their way; and one write for each call, as many as there may be. They
 * take turns, and what stands is the median of the rounds. In simulation (delegate_echo_sim.c) it is one process, and time is virtual.
 */
#include <argp.h>
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <whorl/delegate.h>

#include "base/clock.h"
#include "tools/commands.h"
#include "tools/delegate.h"
#include "tools/delegate_echo.h"

#define FIBERS_MOST 1024
#define OUTSTANDING_MOST 1024
#define OPEN_MS 60000
#define SECOND INT64_C(1000000000)

enum {
	TRUST = WH_ECHO_TRUST,
	GATHERED = WH_ECHO_GATHERED,
	PER_CALL = WH_ECHO_PER_CALL,
	TURNS = WH_ECHO_TURNS,
	ROUNDS = WH_ECHO_ROUNDS
};

/* Phases: 1 all open; then of each round and turn two: it runs, and it is over; END: all close. */
#define PHASE_OF(round, turn) (2u + 2u * ((uint32_t)(round)*TURNS + (uint32_t)(turn)))
#define END UINT32_C(1000)

/* ---- functions ------------------------------------------------------------------------------------------------------------------ */

struct mirror {
	uint64_t unused;
};

static WHORL_TYPE(mirror_type, struct mirror, NULL);

WHORL_FUNCTION_OF_BYTES(mirror_echo, struct mirror, WHORL_READ)
{
	(void)!whorl_reply_add(reply, data, bytes); /* too little memory: the caller sees another size */
}

struct fiber_args {
	whorl_shared *player; /* of a struct wh_echo_player * */
};

struct call {
	struct calls *calls;
	uint64_t since;
	bool flies;
};

struct calls { /* of a fiber */
	struct wh_echo_player *player;
	uint32_t open, wrong;
	struct call list[];
};

uint64_t wh_echo_now(const struct wh_echo_player *player)
{
	return player->clock != NULL ? wh_env_now(player->clock) : wh_clock_ns();
}

static void count_echo(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	struct call *call = ctx;
	struct wh_echo_player *player = call->calls->player;

	(void)answer;
	call->flies = false;
	call->calls->open--;
	call->calls->wrong += result != WHORL_OK || bytes != player->echo->bytes;
	wh_histogram_add(&player->part->latency, wh_echo_now(player) - call->since);
	atomic_store_explicit(&player->done, atomic_load_explicit(&player->done, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

static void send_all(struct calls *calls)
{
	struct wh_echo_player *player = calls->player;

	for (uint32_t i = 0; i < player->echo->outstanding; i++) {
		struct call *call = &calls->list[i];

		if (call->flies)
			continue;
		call->since = wh_echo_now(player);
		call->flies = true;
		calls->open++;
		if (whorl_apply_bytes_then(&player->trust, mirror_echo, player->data, player->echo->bytes, count_echo,
					   call) != WHORL_OK) {
			call->flies = false;
			calls->open--;
			return;
		}
	}
}

WHORL_FUNCTION(echo_fiber, struct whorl_none, struct fiber_args, uint64_t, 0)
{
	struct wh_echo_player *const *player = whorl_shared_data(args->player, NULL);
	uint32_t count = (*player)->echo->outstanding;
	struct calls *calls = calloc(1, sizeof(*calls) + count * sizeof(calls->list[0]));

	*result = 1;
	if (calls == NULL)
		return;
	calls->player = *player;
	for (uint32_t i = 0; i < count; i++)
		calls->list[i].calls = calls;
	while (!atomic_load_explicit(&(*player)->stop, memory_order_relaxed)) {
		send_all(calls);
		(void)whorl_poll((*player)->work, 100);
	}
	while (calls->open > 0)
		(void)whorl_poll((*player)->work, 100);
	*result = calls->wrong;
	free(calls);
}

/* ---- a process ------------------------------------------------------------------------------------------------------------------ */

static bool fail(const struct wh_echo_player *player, const char *what, enum whorl_result result)
{
	wh_say("echo: node %" PRIu32 ": %s: %s (%s)", player->number, what, whorl_result_text(result),
	       whorl_invalid_text());
	return false;
}

static bool open_node(struct wh_echo_player *player)
{
	whorl_config *config = whorl_config_new();
	enum whorl_result result =
		config == NULL ? WHORL_MEMORY : whorl_config_load_text(config, "echo", player->echo->config);

	if (result == WHORL_OK)
		result = whorl_open(config, player->number, NULL, &player->node);
	if (result != WHORL_OK)
		wh_say("echo: node %" PRIu32 ": %s", player->number,
		       config == NULL ? "no memory" : whorl_config_error(config));
	whorl_config_free(config);
	if (result == WHORL_OK)
		result = whorl_start(player->node);
	if (result == WHORL_OK)
		result = whorl_ready(player->node, OPEN_MS);
	return result == WHORL_OK || fail(player, "the node", result);
}

bool wh_echo_open_work(struct wh_echo_player *player)
{
	const struct whorl_work_options options = {.size = sizeof(options), .workers = 1, WHORL_FUNCTIONS_LINKED};
	enum whorl_result result;
	struct wh_endpoint endpoint;
	struct wh_error err = {0};

	result = whorl_work_open(player->node, &options, &player->work);
	if (result != WHORL_OK)
		return fail(player, "its workers", result);
	endpoint = wh_node_endpoint(player->node);
	if (wh_bare_open(&player->bare, &endpoint, &err) != WHORL_OK) {
		wh_say("echo: node %" PRIu32 ": %s", player->number, err.text);
		return false;
	}
	return true;
}

bool wh_echo_entrust(struct wh_echo_player *player)
{
	enum whorl_result result =
		whorl_entrust(player->work, whorl_at_worker(0, 0), &mirror_type, NULL, 0, &player->trust, OPEN_MS);

	return result == WHORL_OK || fail(player, "the property", result);
}

static bool open_all(struct wh_echo_player *player)
{
	return open_node(player) && wh_echo_open_work(player);
}

static void close_all(struct wh_echo_player *player)
{
	wh_bare_close(&player->bare);
	if (player->work != NULL)
		(void)whorl_work_close(player->work, 10000);
	if (player->node != NULL)
		(void)whorl_close(player->node, 10000);
	free(player->data);
}

static void reach(struct wh_echo_player *player, uint32_t phase)
{
	atomic_store_explicit(&player->part->reached, phase, memory_order_release); /* partner: all_reach */
	wh_watch_ring(&player->echo->watch);
}

/* ---- turns ---------------------------------------------------------------------------------------------------------------------- */

enum whorl_result wh_echo_spawn(struct wh_echo_player *player, struct whorl_join *joins, whorl_shared **shared)
{
	struct fiber_args args = {0};
	enum whorl_result result = whorl_share(player->work, &player, sizeof(player), &args.player);

	*shared = args.player;
	atomic_store(&player->stop, false);
	for (uint32_t i = 0; i < player->echo->fibers && result == WHORL_OK; i++)
		result = whorl_spawn(player->work, whorl_at_worker(WHORL_NODE_HERE, 0), echo_fiber, &args, &joins[i]);
	return result;
}

static bool call_for(struct wh_echo_player *player, int round, uint32_t phase)
{
	struct wh_echo *echo = player->echo;
	struct whorl_join *joins = calloc(echo->fibers, sizeof(*joins));
	whorl_shared *shared = NULL;
	uint64_t begun = wh_clock_ns(), before = atomic_load(&player->done), wrong = 0, n;
	enum whorl_result result = joins == NULL ? WHORL_MEMORY : wh_echo_spawn(player, joins, &shared);

	while (result == WHORL_OK && wh_phase_wait(&echo->phase, phase, 1000) == phase)
		continue;
	player->part->rate[TRUST][round] =
		(double)(atomic_load(&player->done) - before) * SECOND / (double)(wh_clock_ns() - begun);
	atomic_store(&player->stop, true);
	for (uint32_t i = 0; i < echo->fibers && result == WHORL_OK; i++) {
		result = whorl_join(&joins[i], &n, sizeof(n), OPEN_MS);
		wrong += n;
	}
	whorl_shared_drop(shared);
	free(joins);
	if (result == WHORL_OK && wrong > 0)
		wh_say("echo: node %" PRIu32 ": %" PRIu64 " calls have not come back as they were", player->number,
		       wrong);
	player->part->calls = atomic_load(&player->done);
	return result == WHORL_OK ? wrong == 0 : fail(player, "its fibers", result);
}

void wh_echo_note_batches(struct wh_echo_player *player, int round, const struct whorl_worker_stats *before,
			  const struct wh_traffic *traffic)
{
	struct whorl_worker_stats after = {.size = sizeof(after)};
	struct wh_traffic now = wh_work_traffic(player->work);
	uint64_t batches;

	(void)whorl_worker_statistics(player->work, 0, &after);
	batches = after.batches - before->batches;
	player->echo->calls_per_batch[round] =
		batches == 0 ? 1 : (double)(after.batch_calls - before->batch_calls) / (double)batches;
	atomic_store(&player->echo->batch_calls,
		     player->echo->calls_per_batch[round] < 1 ? 1 : (uint64_t)player->echo->calls_per_batch[round]);
	if (now.writes > traffic->writes) /* answers are as long as calls here */
		atomic_store(&player->echo->batch_bytes, (now.bytes - traffic->bytes) / (now.writes - traffic->writes));
}

static void serve_for(struct wh_echo_player *player, int round, uint32_t phase)
{
	struct whorl_worker_stats before = {.size = sizeof(before)};
	struct wh_traffic traffic = wh_work_traffic(player->work);

	(void)whorl_worker_statistics(player->work, 0, &before);
	while (wh_phase_wait(&player->echo->phase, phase, 1000) == phase)
		continue;
	wh_echo_note_batches(player, round, &before, &traffic);
}

uint64_t wh_echo_bare_bytes(const struct wh_echo *echo, int turn)
{
	uint64_t batch = atomic_load(&echo->batch_bytes);

	return turn == GATHERED && batch > 0 ? batch : echo->bytes + WH_ECHO_HEAD_BYTES;
}

/* As many as make up the calls that a process has on their way. */
static uint64_t batches_of(const struct wh_echo *echo)
{
	uint64_t calls = atomic_load(&echo->batch_calls), all = (uint64_t)echo->fibers * echo->outstanding;

	return calls > 0 ? (all + calls - 1) / calls : 1;
}

void wh_echo_bare_ask(struct wh_echo_player *player, uint64_t bytes, int turn, uint64_t *asked)
{
	struct wh_bare *bare = &player->bare;
	uint64_t pieces = (bytes + WH_REMOTE_BYTES_MAX - 1) / WH_REMOTE_BYTES_MAX;
	uint64_t room = WH_REMOTE_IMMEDIATES / pieces > 0 ? WH_REMOTE_IMMEDIATES / pieces : 1, most = room;

	if (turn == GATHERED)
		most = batches_of(player->echo);
	most = most < room ? most : room;
	for (; player->number != 0 && wh_bare_is_ready(bare, 0) && *asked - bare->answered < most; ++*asked)
		bare->due[0]++;
}

/* Bare writes: how many messages a second there and back. */
static void write_for(struct wh_echo_player *player, int turn, int round, uint32_t phase)
{
	struct wh_echo *echo = player->echo;
	struct wh_bare *bare = &player->bare;
	uint64_t bytes = wh_echo_bare_bytes(echo, turn), begun = wh_clock_ns(), before = bare->answered, asked = before;

	while (wh_phase_get(&echo->phase) == phase) {
		wh_echo_bare_ask(player, bytes, turn, &asked);
		wh_bare_step(bare, bytes);
	}
	player->part->rate[turn][round] = (double)(bare->answered - before) * SECOND / (double)(wh_clock_ns() - begun);
	for (uint64_t until = wh_clock_ns() + SECOND / 10; wh_clock_ns() < until;) /* what is under way */
		wh_bare_step(bare, bytes);
	bare->due[0] = 0;
}

static bool take_turn(struct wh_echo_player *player, int round, int turn)
{
	uint32_t phase = PHASE_OF(round, turn);
	bool good = true;

	while (wh_phase_get(&player->echo->phase) < phase)
		(void)wh_phase_wait(&player->echo->phase, wh_phase_get(&player->echo->phase), 1000);
	if (wh_phase_get(&player->echo->phase) == END)
		return false;
	if (turn != TRUST)
		write_for(player, turn, round, phase);
	else if (player->number == 0)
		serve_for(player, round, phase);
	else
		good = call_for(player, round, phase);
	player->part->traffic = wh_work_traffic(player->work);
	if (good)
		reach(player, phase + 1);
	return good;
}

static int be_player(void *ctx, uint32_t number)
{
	struct wh_echo *echo = ctx;
	struct wh_echo_player *player = calloc(1, sizeof(*player));
	bool good;

	if (player == NULL)
		return 1;
	*player = (struct wh_echo_player){.echo = echo, .part = &echo->parts[number], .number = number};
	player->data = calloc(1, echo->bytes);
	good = player->data != NULL && open_all(player) && wh_echo_entrust(player);
	if (good)
		reach(player, 1);
	for (int turn = 0; good && turn < ROUNDS * TURNS; turn++)
		good = take_turn(player, turn / TURNS, turn % TURNS);
	while (good && wh_phase_get(&echo->phase) != END)
		(void)wh_phase_wait(&echo->phase, wh_phase_get(&echo->phase), 1000);
	close_all(player);
	free(player);
	return good ? 0 : 1;
}

/* ---- the parent ----------------------------------------------------------------------------------------------------------------- */

static bool all_reach(struct wh_echo *echo, struct wh_crew *crew, uint32_t phase)
{
	uint64_t until = wh_clock_ns() + (uint64_t)OPEN_MS * 1000000;
	uint32_t worker;
	int status;

	for (;;) {
		uint32_t there = 0;

		while (there < echo->nodes && atomic_load_explicit(&echo->parts[there].reached, memory_order_acquire) >=
						      phase) /* partner: reach */
			there++;
		if (there == echo->nodes)
			return true;
		if (echo->watch.interrupted != 0)
			return false;
		if (wh_crew_reap(crew, &worker, &status) || wh_clock_ns() > until) {
			wh_say("echo: not all processes go on: node %" PRIu32, there);
			return false;
		}
		wh_watch_wait(&echo->watch, 100);
	}
}

static bool run_turns(struct wh_echo *echo, struct wh_crew *crew)
{
	uint64_t turn_ns = (uint64_t)(echo->seconds * SECOND / (ROUNDS * TURNS));

	if (!all_reach(echo, crew, 1))
		return false;
	for (int i = 0; i < ROUNDS * TURNS; i++) {
		uint32_t phase = PHASE_OF(i / TURNS, i % TURNS);
		uint64_t until = wh_clock_ns() + turn_ns;

		wh_phase_set(&echo->phase, phase);
		while (wh_clock_ns() < until && echo->watch.interrupted == 0)
			wh_watch_wait(&echo->watch, 10);
		wh_phase_set(&echo->phase, phase + 1);
		if (!all_reach(echo, crew, phase + 1))
			return false;
	}
	return true;
}

/* ---- results -------------------------------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double values[ROUNDS])
{
	qsort(values, ROUNDS, sizeof(values[0]), compare);
	return values[ROUNDS / 2];
}

struct figures {
	double calls_per_s, latency_us, calls_per_batch, writes_per_call, bytes_per_call, gathered, per_call;
};

static double rate_of(const struct wh_echo *echo, int turn)
{
	double rates[ROUNDS] = {0};

	for (int round = 0; round < ROUNDS; round++)
		for (uint32_t node = 1; node < echo->nodes; node++)
			rates[round] += echo->parts[node].rate[turn][round];
	return median(rates);
}

static struct figures figures_of(struct wh_echo *echo)
{
	struct figures f = {.calls_per_s = rate_of(echo, TRUST), .per_call = rate_of(echo, PER_CALL)};
	uint64_t calls = 0, writes = 0, bytes = 0;

	for (uint32_t node = 0; node < echo->nodes; node++) {
		struct wh_echo_part *part = &echo->parts[node];

		calls += part->calls;
		writes += part->traffic.writes;
		bytes += part->traffic.bytes;
		if (node > 1)
			wh_histogram_merge(&echo->parts[1].latency, &part->latency);
	}
	f.calls_per_batch = median(echo->calls_per_batch);
	f.gathered = rate_of(echo, GATHERED) * f.calls_per_batch;
	f.latency_us = (double)wh_histogram_quantile(&echo->parts[1].latency, 0.5) / 1000;
	f.writes_per_call = calls == 0 ? 0 : (double)writes / (double)calls;
	f.bytes_per_call = calls == 0 ? 0 : (double)bytes / (double)calls;
	return f;
}

static bool write_json(const struct wh_echo *echo, const struct figures *f)
{
	json_t *root = json_pack(
		"{s:s, s:i, s:s, s:i, s:i, s:I, s:f, s:f, s:f, s:f, s:f, s:{s:f, s:f}}", "command", "echo", "nodes",
		(int)echo->nodes, "transport", echo->transport, "fibers", (int)echo->fibers, "outstanding",
		(int)echo->outstanding, "bytes", (json_int_t)echo->bytes, "calls_per_s", f->calls_per_s, "latency_us",
		f->latency_us, "calls_per_batch", f->calls_per_batch, "writes_per_call", f->writes_per_call,
		"bytes_per_call", f->bytes_per_call, "limit", "gathered", f->gathered, "per_call", f->per_call);
	FILE *file = root == NULL ? NULL : fopen(echo->json, "we");
	bool good = file != NULL &&
		    json_dumpf(root, file, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6)) == 0 &&
		    fputc('\n', file) != EOF;

	if (file != NULL)
		good = fclose(file) == 0 && good;
	if (!good)
		wh_say("%s: %s", echo->json, strerror(errno));
	json_decref(root);
	return good;
}

static enum wh_exit tell(struct wh_echo *echo)
{
	const struct figures f = figures_of(echo);

	printf("bytes %" PRIu64 " calls_per_s %.0f latency_us %.2f calls_per_batch %.2f writes_per_call %.4f "
	       "bytes_per_call %.1f gathered %.0f per_call %.0f\n",
	       echo->bytes, f.calls_per_s, f.latency_us, f.calls_per_batch, f.writes_per_call, f.bytes_per_call,
	       f.gathered, f.per_call);
	if (!wh_flush_file(stdout, "stdout"))
		return WH_EXIT_FAILED;
	return echo->json == NULL || write_json(echo, &f) ? WH_EXIT_GOOD : WH_EXIT_FAILED;
}

/* ---- the command line ------------------------------------------------------------------------------------------------------------ */

static bool find_ports(unsigned *ports, uint32_t count)
{
	int sockets[WH_BARE_NODES];
	bool good = true;

	for (uint32_t i = 0; i < count; i++) {
		struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		socklen_t length = sizeof(at);

		sockets[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		good = good && sockets[i] >= 0 && bind(sockets[i], (struct sockaddr *)&at, sizeof(at)) == 0 &&
		       getsockname(sockets[i], (struct sockaddr *)&at, &length) == 0;
		ports[i] = ntohs(at.sin_port);
	}
	for (uint32_t i = 0; i < count; i++)
		if (sockets[i] >= 0)
			close(sockets[i]);
	if (!good)
		wh_say("echo: no ports: %s", strerror(errno));
	return good;
}

static bool configure(struct wh_echo *echo)
{
	unsigned ports[WH_BARE_NODES];
	size_t at;

	if (!find_ports(ports, echo->nodes))
		return false;
	at = (size_t)snprintf(echo->config, sizeof(echo->config),
			      "[group]\nname = echo-%d-%u\nnodes = %" PRIu32 "\ntransport = %s\n[subgroup all]\n",
			      (int)getpid(), (unsigned)(wh_clock_ns() / 1000000), echo->nodes, echo->transport);
	for (uint32_t id = 0; id < echo->nodes && strcmp(echo->transport, "shm") != 0; id++)
		at += (size_t)snprintf(echo->config + at, sizeof(echo->config) - at,
				       "[node %" PRIu32 "]\naddress = 127.0.0.1:%u\n", id, ports[id]);
	return true;
}

enum { KEY_NODES = 256, KEY_TRANSPORT, KEY_FIBERS, KEY_OUTSTANDING, KEY_BYTES, KEY_SECONDS, KEY_JSON };

static const struct argp_option options[] = {
	{"nodes", KEY_NODES, "N", 0, "Processes, 2 to 64: one owns the property, the others call (2)", 0},
	{"transport", KEY_TRANSPORT, "T", 0,
	 "shm, tcp or verbs; or sim: in virtual time, on the machine that 'whorl bench' simulates (shm)", 0},
	{"fibers", KEY_FIBERS, "N", 0, "That call, in each process, 1 to 1024 (16)", 0},
	{"outstanding", KEY_OUTSTANDING, "N", 0, "Calls of a fiber that are on their way, 1 to 1024 (8)", 0},
	{"bytes", KEY_BYTES, "N", 0, "Of a call, and of its answer, 1 to 16777216 (64)", 0},
	{"seconds", KEY_SECONDS, "S", 0, "In all, a third of it for each: calls and the two limits (3; sim: 0.1)", 0},
	{"json", KEY_JSON, "FILE", 0, "The results, as JSON", 0},
	{NULL, 0, NULL, 0, NULL, 0},
};

static double number_of(struct argp_state *state, const char *option, const char *text, double least, double most)
{
	char *end;
	double value = strtod(text, &end);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || !(value >= least && value <= most))
		argp_error(state, "%s is \"%s\", expected a number from %g to %.0f", option, text, least, most);
	return value;
}

static void take_transport(struct wh_echo *echo, const char *name, struct argp_state *state)
{
	if (strcmp(name, "shm") != 0 && strcmp(name, "tcp") != 0 && strcmp(name, "verbs") != 0 &&
	    strcmp(name, "sim") != 0)
		argp_error(state, "--transport is \"%s\", expected shm, tcp, verbs or sim", name);
	echo->transport = name;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct wh_echo *echo = state->input;

	switch (key) {
	case KEY_NODES:
		echo->nodes = (uint32_t)number_of(state, "--nodes", argument, 2, WH_BARE_NODES);
		return 0;
	case KEY_TRANSPORT:
		take_transport(echo, argument, state);
		return 0;
	case KEY_FIBERS:
		echo->fibers = (uint32_t)number_of(state, "--fibers", argument, 1, FIBERS_MOST);
		return 0;
	case KEY_OUTSTANDING:
		echo->outstanding = (uint32_t)number_of(state, "--outstanding", argument, 1, OUTSTANDING_MOST);
		return 0;
	case KEY_BYTES:
		echo->bytes = (uint64_t)number_of(state, "--bytes", argument, 1, (double)WHORL_CALL_BYTES_MAX);
		return 0;
	case KEY_SECONDS:
		echo->seconds = number_of(state, "--seconds", argument, 0.1, 3600);
		return 0;
	case KEY_JSON:
		echo->json = argument;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "\"%s\" is one word too many", argument);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const char doc[] =
	"Fibers call a property of another node, which gives back what it gets, and what bare writes do between the same nodes.\v"
	"One line: the size of a call, calls in a second, the median latency, how many calls went in one batch, one-sided writes and "
	"their bytes for each call, there and back; and the limits, in calls a second: 'gathered', the same batches over bare "
	"writes, as many at a time as make up the calls, and 'per_call', one write for each call and each answer, as many as there may be.\n"
	"\n"
	"Exit status: 0 good, 1 a call has failed, or a file, 2 the command line, 3 the machine lacks something, 130 interrupted.";

static enum wh_exit run(struct wh_echo *echo)
{
	struct wh_crew crew;
	struct wh_error err;
	bool good;

	if (wh_crew_start(&crew, &echo->watch, echo->nodes, true, be_player, echo, &err) != WHORL_OK) {
		wh_say("%s", err.text);
		return WH_EXIT_MACHINE;
	}
	good = run_turns(echo, &crew);
	wh_phase_set(&echo->phase, END);
	(void)wh_crew_end(&crew, 10000);
	if (echo->watch.interrupted != 0)
		return WH_EXIT_INTERRUPTED;
	return good ? tell(echo) : WH_EXIT_FAILED;
}

static enum wh_exit simulate(struct wh_echo *echo)
{
	enum wh_exit status = wh_echo_simulate(echo);

	return status == WH_EXIT_GOOD ? tell(echo) : status;
}

int wh_delegate_echo_main(int argc, char **argv)
{
	static const struct argp argp = {options, parse_option, NULL, doc, NULL, NULL, NULL};
	struct wh_echo *echo = wh_shared_alloc(sizeof(*echo), false);
	enum wh_exit status = WH_EXIT_MACHINE;
	struct wh_error err;
	bool simulated;

	if (echo == NULL) {
		wh_say("no memory");
		return WH_EXIT_MACHINE;
	}
	echo->nodes = 2;
	echo->fibers = 16;
	echo->outstanding = 8;
	echo->bytes = 64;
	echo->transport = "shm";
	argp_parse(&argp, argc, argv, 0, NULL, echo);
	simulated = strcmp(echo->transport, "sim") == 0;
	if (echo->seconds == 0)
		echo->seconds = simulated ? 0.1 : 3;
	if (wh_watch_open(&echo->watch, &err) != WHORL_OK)
		wh_say("%s", err.text);
	else if (simulated)
		status = simulate(echo);
	else if (configure(echo))
		status = run(echo);
	wh_shared_free(echo, sizeof(*echo));
	return status;
}
