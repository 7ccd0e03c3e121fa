/* topics_perf.c - `whorl dds perf`: how fast a topic is, and in turns with it the bare subgroup, in the same processes.
 *
 * Each writer and each reader is a process, with two nodes: one in a group with a plain subgroup, and a participant of a domain that no
 * other program is in. In each round first the one sends for a while, then the other; what stands is the median of the rounds.
 * The parent sets a phase, and all follow; a round is over for a reader when it has all that was sent, or lost it.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/env.h"
#include "bench/histogram.h"
#include "bench/plot/figure.h"
#include "command/scratch.h"
#include "tools/topics.h"

#define ROUNDS 5
#define PARTS_MOST 64
#define NODES_MOST 256
#define OPEN_MS 60000
#define DRAIN_NS (20 * WH_NS_PER_S)
#define TAKE_AT_ONCE 256
#define TIMED 8 /* at full speed one of so many is timed: a look at the clock takes as long as a message */

enum { RAW, TOPIC, SIDES };

/* Phases: 1 all open; then for each round and turn two, it runs and it is over; END: all close. */
#define PHASE_OF(round, turn) (2u + 4u * (uint32_t)(round) + 2u * (uint32_t)(turn))
#define SIDE_OF(round, turn) (((round) + (turn)) % SIDES) /* each goes first in every other round */
#define END UINT32_C(1000)

struct part {                                     /* a process, as the parent sees it */
	_Atomic uint32_t reached;                 /* the phase that it is through with */
	_Atomic uint64_t sent[SIDES], got[SIDES]; /* since the beginning */
	double rate[SIDES][ROUNDS];               /* of a reader, per second */
	double processor_s[SIDES];                /* time of processors, all rounds */
	uint64_t lost, digest;                    /* of the topic */
	struct wh_histogram latency[SIDES];
};

struct perf {
	const struct wh_topics *topics; /* [const] */
	uint32_t count;                 /* of processes: first those that write */
	uint32_t timed;                 /* [const] one of so many */
	char file[SIDES][64];           /* ini files */
	struct wh_scratch logs[SIDES];  /* where what is logged lies */
	struct wh_phase phase;
	struct part parts[PARTS_MOST];
};

struct player { /* a process, for itself */
	struct perf *perf;
	struct part *part;
	bool writes;
	whorl_node *node;
	whorl_subgroup *subgroup;
	whorl_dds_entity participant, writer, reader, waitset;
	uint64_t numbers[NODES_MOST]; /* of each writer, the last that was heard */
	_Atomic uint64_t last_ns;     /* when something was heard */
	unsigned char *sample;
};

struct head { /* what a sample begins with */
	int64_t sent_ns;
};

static uint64_t now_ns(void)
{
	return wh_clock_ns();
}

/* ---- what is heard ------------------------------------------------------------------------------------------------------------ */

/* By one thread at a time, on both sides alike. */
static void hear_one(struct player *player, int side, const void *data)
{
	struct part *part = player->part;
	uint64_t got = atomic_load_explicit(&part->got[side], memory_order_relaxed) + 1, now;

	atomic_store_explicit(&part->got[side], got, memory_order_relaxed);
	if (got % player->perf->timed != 0)
		return;
	now = now_ns();
	atomic_store_explicit(&player->last_ns, now, memory_order_relaxed);
	wh_histogram_add(&part->latency[side],
			 now - (uint64_t)((const struct head *)data)->sent_ns); /* no clock goes back */
}

static void hear_message(const struct whorl_message *message, void *ctx)
{
	hear_one(ctx, RAW, message->data);
}

static void hear_sample(struct player *player, const void *data, const struct whorl_dds_sample_info *info)
{
	struct part *part = player->part;
	uint64_t *number = &player->numbers[info->writer % NODES_MOST];

	if (!info->valid_data)
		return;
	part->lost += info->number - *number - 1;
	*number = info->number;
	part->digest = (part->digest ^ ((uint64_t)info->writer << 56 ^ info->number)) * UINT64_C(1099511628211);
	hear_one(player, TOPIC, data);
}

static void hear_in_place(whorl_dds_entity reader, const void *data, const struct whorl_dds_sample_info *info,
			  void *arg)
{
	(void)reader;
	hear_sample(arg, data, info);
}

/* A topic without a key has one instance, so what is taken is in the order of the topic. */
static void take_all(struct player *player, whorl_dds_entity reader)
{
	struct whorl_dds_sample_info infos[TAKE_AT_ONCE];
	void *data[TAKE_AT_ONCE];
	whorl_dds_return got;

	do {
		data[0] = NULL;
		infos[0].size = sizeof(infos[0]);
		got = whorl_dds_take(reader, data, infos, TAKE_AT_ONCE);
		for (int i = 0; i < got; i++)
			hear_sample(player, data[i], &infos[i]);
		if (got > 0)
			(void)whorl_dds_return_loan(reader, data, got);
	} while (got == TAKE_AT_ONCE);
}

static void hear_listener(whorl_dds_entity reader, void *arg)
{
	take_all(arg, reader);
}

/* ---- a process ------------------------------------------------------------------------------------------------------------------ */

static bool say_refused(const char *what, bool good)
{
	if (!good)
		wh_say("perf: %s: %s", what, whorl_dds_text());
	return good;
}

static bool open_raw(struct player *player, uint32_t id)
{
	whorl_config *config = whorl_config_new();
	enum whorl_result result =
		config != NULL ? whorl_config_load_file(config, player->perf->file[RAW]) : WHORL_MEMORY;

	if (result == WHORL_OK)
		result = whorl_open(config, id, NULL, &player->node);
	if (result != WHORL_OK) {
		wh_say("perf: %s", config != NULL ? whorl_config_error(config) : whorl_result_text(result));
		whorl_config_free(config);
		return false;
	}
	whorl_config_free(config);
	player->subgroup = whorl_subgroup_find(player->node, "raw");
	result = player->writes ? WHORL_OK : whorl_on_message(player->subgroup, hear_message, player);
	if (result == WHORL_OK)
		result = whorl_start(player->node);
	if (result == WHORL_OK)
		result = whorl_ready(player->node, OPEN_MS);
	if (result != WHORL_OK)
		wh_say("perf: the bare group: %s", whorl_result_text(result));
	return result == WHORL_OK;
}

static bool open_reader(struct player *player, whorl_dds_entity topic, const whorl_dds_qos *qos)
{
	const char *how = player->perf->topics->read;
	whorl_dds_listener *listener = whorl_dds_create_listener(player);
	whorl_dds_entity condition;
	bool good;

	if (strcmp(how, "in-place") == 0)
		(void)whorl_dds_lset_in_place(listener, hear_in_place);
	else if (strcmp(how, "listener") == 0)
		(void)whorl_dds_lset_data_available(listener, hear_listener);
	player->reader = whorl_dds_create_reader(player->participant, topic, qos, listener);
	whorl_dds_delete_listener(listener);
	good = player->reader > 0;
	if (good && strcmp(how, "waitset") == 0) {
		player->waitset = whorl_dds_create_waitset(player->participant);
		condition = whorl_dds_create_readcondition(player->reader, WHORL_DDS_ANY_STATE);
		good = whorl_dds_waitset_attach(player->waitset, condition, 0) == WHORL_DDS_RETCODE_OK;
	}
	return say_refused("a reader", good);
}

static bool open_topic(struct player *player, uint32_t id)
{
	static const struct whorl_dds_field fields[] = {
		WHORL_DDS_FIELD_OF(struct head, sent_ns, WHORL_DDS_FIELD_INT64, 1, 0)};
	const struct wh_topics *topics = player->perf->topics;
	const struct whorl_dds_type type = {.size = sizeof type,
					    .name = "perf",
					    .bytes = sizeof(struct head),
					    .align = 8,
					    .flags = WHORL_DDS_TYPE_BYTES,
					    .bytes_max = topics->bytes,
					    .fields = fields,
					    .field_count = 1};
	const bool tcp = strcmp(topics->transport, "tcp") == 0;
	char text[256], node[16];
	const struct whorl_dds_participant_options options = {.size = sizeof options,
							      .file = player->perf->file[TOPIC],
							      .node = tcp ? node : NULL,
							      .ready = OPEN_MS * (whorl_dds_duration)WH_NS_PER_MS};
	whorl_dds_qos *qos = whorl_dds_create_qos();
	whorl_dds_entity topic = WHORL_DDS_RETCODE_ERROR;
	bool good;

	snprintf(node, sizeof node, "%" PRIu32, id);
	snprintf(
		text, sizeof text,
		"consistency=%s reliability=reliable reliability.max_blocking=1s history=all resource_limits.samples=4096%s",
		topics->consistency,
		strcmp(topics->consistency, "stored") == 0   ? " durability=transient durability_service.keep=1000"
		: strcmp(topics->consistency, "logged") == 0 ? " durability=persistent durability_service.keep=1000"
							     : "");
	good = say_refused("policies", whorl_dds_qos_parse(qos, text) == WHORL_DDS_RETCODE_OK);
	player->participant = good ? whorl_dds_create_participant_with(0, &options, NULL, NULL) : 0;
	good = good && say_refused("a participant", player->participant > 0);
	if (good)
		topic = whorl_dds_create_topic(player->participant, &type, "perf", qos, NULL);
	good = good && say_refused("a topic", topic > 0);
	if (good && player->writes) {
		player->writer = whorl_dds_create_writer(player->participant, topic, qos, NULL);
		good = say_refused("a writer", player->writer > 0);
	} else if (good) {
		good = open_reader(player, topic, qos);
	}
	whorl_dds_delete_qos(qos);
	return good;
}

/* One, waiting for room. False: it was said why it could not; *sent: whether it is. */
static bool send_one(const struct player *player, int side, bool *sent)
{
	uint32_t bytes = player->perf->topics->bytes;

	((struct head *)player->sample)->sent_ns = (int64_t)now_ns();
	if (side == RAW) {
		enum whorl_result result = whorl_send(player->subgroup, player->sample, bytes, 100, NULL);

		*sent = result == WHORL_OK;
		if (!*sent && result != WHORL_TIMEOUT)
			wh_say("perf: whorl_send: %s", whorl_result_text(result));
		return *sent || result == WHORL_TIMEOUT;
	}
	switch (whorl_dds_write_bytes(player->writer, player->sample, bytes)) {
	case WHORL_DDS_RETCODE_OK:
		*sent = true;
		return true;
	case WHORL_DDS_RETCODE_TIMEOUT:
		*sent = false;
		return true;
	default:
		return say_refused("whorl_dds_write_bytes", false);
	}
}

static void sleep_until(uint64_t ns)
{
	const struct timespec until = {(time_t)(ns / WH_NS_PER_S), (long)(ns % WH_NS_PER_S)};

	(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* Sends while the phase lasts, as fast as there is room, or as often as --rate says. */
static bool send_all(struct player *player, int side, uint32_t phase)
{
	uint32_t rate = player->perf->topics->rate;
	uint64_t next = now_ns(), count = atomic_load_explicit(&player->part->sent[side], memory_order_relaxed);
	bool sent = false;

	while (wh_phase_get(&player->perf->phase) == phase) {
		if (rate > 0)
			sleep_until(next += WH_NS_PER_S / rate);
		if (!send_one(player, side, &sent))
			return false;
		count += sent;
		atomic_store_explicit(&player->part->sent[side], count, memory_order_relaxed);
	}
	return true;
}

/* Have all writers said how much they have sent, and has this reader as much? */
static bool has_all(const struct player *player, int side, uint32_t phase)
{
	const struct perf *perf = player->perf;
	uint64_t sent = 0;

	if (wh_phase_get(&perf->phase) == phase)
		return false;
	for (uint32_t i = 0; i < perf->topics->writers; i++) {
		if (atomic_load_explicit(&perf->parts[i].reached, memory_order_acquire) < phase) /* partner: reach */
			return false;
		sent += atomic_load_explicit(&perf->parts[i].sent[side], memory_order_relaxed);
	}
	return atomic_load_explicit(&player->part->got[side], memory_order_relaxed) +
		       (side == TOPIC ? player->part->lost : 0) >=
	       sent;
}

static bool hear_all(struct player *player, int side, int round, uint32_t phase)
{
	uint64_t began = now_ns(), before = atomic_load(&player->part->got[side]), over = 0, last;

	while (!has_all(player, side, phase)) {
		if (side == TOPIC && player->waitset > 0) {
			if (whorl_dds_waitset_wait(player->waitset, NULL, 0, WH_NS_PER_S / 20) > 0)
				take_all(player, player->reader);
		} else {
			nanosleep(&(struct timespec){.tv_nsec = 5 * WH_NS_PER_MS},
				  NULL); /* others hear; this looks at the phase */
		}
		if (over == 0 && wh_phase_get(&player->perf->phase) != phase)
			over = now_ns();
		if (over != 0 && now_ns() - over > DRAIN_NS) {
			wh_say("perf: a reader has not got all that was sent in %d s", (int)(DRAIN_NS / WH_NS_PER_S));
			return false;
		}
	}
	last = atomic_load(&player->last_ns);
	if (last > began)
		player->part->rate[side][round] =
			1e9 * (double)(atomic_load(&player->part->got[side]) - before) / (double)(last - began);
	return true;
}

static void await_phase(struct player *player, uint32_t phase)
{
	uint32_t now;

	while ((now = wh_phase_get(&player->perf->phase)) < phase)
		(void)wh_phase_wait(&player->perf->phase, now, 1000);
}

static void reach(struct player *player, uint32_t phase)
{
	atomic_store_explicit(&player->part->reached, phase, memory_order_release); /* partner: the parent; has_all */
	wh_watch_ring(&player->perf->topics->watch);
}

static double processor_s(void)
{
	struct rusage used;

	(void)getrusage(RUSAGE_SELF, &used);
	return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
	       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static bool play(struct player *player)
{
	double before;

	for (int round = 0; round < ROUNDS; round++)
		for (int turn = 0; turn < SIDES; turn++) {
			uint32_t phase = PHASE_OF(round, turn);
			int side = SIDE_OF(round, turn);

			await_phase(player, phase);
			before = processor_s();
			if (player->writes ? !send_all(player, side, phase) : !hear_all(player, side, round, phase))
				return false;
			player->part->processor_s[side] += processor_s() - before;
			reach(player, phase + 1);
		}
	await_phase(player, END);
	return true;
}

static int be_player(void *ctx, uint32_t worker)
{
	struct perf *perf = ctx;
	struct player player = {.perf = perf, .part = &perf->parts[worker], .writes = worker < perf->topics->writers};
	bool good;

	player.sample = calloc(1, perf->topics->bytes);
	good = player.sample != NULL && open_raw(&player, worker) && open_topic(&player, worker);
	if (good) {
		reach(&player, 1);
		good = play(&player);
	}
	if (player.participant > 0)
		(void)whorl_dds_delete(player.participant);
	if (player.node != NULL)
		(void)whorl_close(player.node, 1000);
	free(player.sample);
	return good ? WH_EXIT_GOOD : WH_EXIT_FAILED;
}

/* ---- the parent ------------------------------------------------------------------------------------------------------------------ */

/* Ports that are free now. */
static bool find_ports(uint16_t *ports, uint32_t count)
{
	int sockets[2 * PARTS_MOST];
	uint32_t i = 0;
	bool good = true;

	for (; good && i < count; i++) {
		struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		socklen_t bytes = sizeof address;

		sockets[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		good = sockets[i] >= 0 && bind(sockets[i], (struct sockaddr *)&address, bytes) == 0 &&
		       getsockname(sockets[i], (struct sockaddr *)&address, &bytes) == 0;
		ports[i] = ntohs(address.sin_port);
	}
	if (!good)
		wh_say("perf: a port of 127.0.0.1: %s", strerror(errno));
	while (i-- > 0)
		if (sockets[i] >= 0)
			close(sockets[i]);
	return good;
}

static void write_nodes(FILE *file, const struct perf *perf, const uint16_t *ports)
{
	if (strcmp(perf->topics->transport, "tcp") != 0)
		return;
	fputs("transport = tcp\n", file);
	for (uint32_t i = 0; i < perf->count; i++)
		fprintf(file, "[node %" PRIu32 "]\naddress = 127.0.0.1:%d\n", i, ports[i]);
}

static bool is_logged(const struct perf *perf)
{
	return strcmp(perf->topics->consistency, "logged") == 0;
}

static bool make_logs(struct perf *perf, int side, const char *above)
{
	struct wh_error err;

	if (!is_logged(perf) || wh_scratch_open(&perf->logs[side], above, &err) == WHORL_OK)
		return true;
	wh_say("%s", err.text);
	return false;
}

static bool write_file(struct perf *perf, int side, const uint16_t *ports)
{
	const char *directory = getenv("TMPDIR");
	uint32_t bytes = perf->topics->bytes;
	FILE *file;
	int fd;

	directory = directory != NULL && strlen(directory) <= 40 ? directory : "/tmp";
	if (!make_logs(perf, side, directory))
		return false;
	snprintf(perf->file[side], sizeof perf->file[side], "%.40s/whorl-perf-XXXXXX", directory);
	fd = mkstemp(perf->file[side]);
	file = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (file == NULL) {
		wh_say("%s: %s", perf->file[side], strerror(errno));
		if (fd >= 0)
			close(fd);
		return false;
	}
	fprintf(file, "[group]\nname = perf-%s-%d\n", side == RAW ? "raw" : "topic", (int)getpid());
	if (side == RAW || strcmp(perf->topics->transport, "tcp") == 0)
		fprintf(file, "nodes = %" PRIu32 "\n", perf->count);
	else
		fprintf(file, "nodes = 0\nnodes_max = %" PRIu32 "\n", perf->count);
	if (is_logged(perf))
		fprintf(file, "log_dir = %s\n", perf->logs[side].path);
	write_nodes(file, perf, ports);
	if (side == RAW) {
		/* The window of the channel of such samples. A topic sends those above 16352 bytes in parts: here they have 16 slots. */
		fprintf(file, "[subgroup raw]\nmessage_bytes = %" PRIu32 "\nwindow = %d\nsenders = 0", bytes,
			bytes <= 224     ? 2048
			: bytes <= 2016  ? 256
			: bytes <= 16352 ? 64
					 : 16);
		for (uint32_t i = 1; i < perf->topics->writers; i++)
			fprintf(file, ",%" PRIu32, i);
		fprintf(file, "\n%s",
			strcmp(perf->topics->consistency, "unordered") == 0 ? "mode = unordered\n"
			: is_logged(perf)                                   ? "mode = durable\n"
									    : "");
	}
	return wh_close_file(file, perf->file[side]);
}

/* All processes have come to the phase. False: a signal has come, or it was said what is wrong. */
static bool await_all(struct perf *perf, struct wh_watch *watch, struct wh_crew *crew, uint32_t phase)
{
	uint64_t until = now_ns() + OPEN_MS * WH_NS_PER_MS;

	for (;;) {
		uint32_t worker, there = 0;
		int status;

		for (uint32_t i = 0; i < perf->count; i++)
			there += atomic_load_explicit(&perf->parts[i].reached, memory_order_acquire) >=
				 phase; /* partner: reach */
		if (there == perf->count)
			return true;
		if (wh_crew_reap(crew, &worker, &status)) {
			wh_say("perf: process %" PRIu32 " has ended", worker);
			return false;
		}
		if (watch->interrupted != 0 || now_ns() > until) {
			if (watch->interrupted == 0)
				wh_say("perf: %" PRIu32 " of %" PRIu32 " processes are not there after %d s",
				       perf->count - there, perf->count, OPEN_MS / 1000);
			return false;
		}
		wh_watch_wait(watch, 100);
	}
}

static bool run_rounds(struct perf *perf, struct wh_watch *watch, struct wh_crew *crew)
{
	uint64_t slice = perf->topics->seconds * WH_NS_PER_S / ROUNDS;

	if (!await_all(perf, watch, crew, 1))
		return false;
	for (int round = 0; round < ROUNDS; round++)
		for (int turn = 0; turn < SIDES; turn++) {
			uint64_t until = now_ns() + slice;

			wh_phase_set(&perf->phase, PHASE_OF(round, turn));
			while (now_ns() < until && watch->interrupted == 0)
				wh_watch_wait(watch, (int)((until - now_ns()) / WH_NS_PER_MS) + 1);
			wh_phase_set(&perf->phase, PHASE_OF(round, turn) + 1);
			if (!await_all(perf, watch, crew, PHASE_OF(round, turn) + 1))
				return false;
		}
	return true;
}

/* Of a round, the mean of the readers. */
static double rate_in(const struct perf *perf, int side, int round)
{
	double rate = 0;

	for (uint32_t i = perf->topics->writers; i < perf->count; i++)
		rate += perf->parts[i].rate[side][round] / perf->topics->readers;
	return rate;
}

/* The median of the rounds: of the rates of one side, or of the ratios of both. */
static double median_of(const struct perf *perf, int side, bool over_raw)
{
	double values[ROUNDS];

	for (int round = 0; round < ROUNDS; round++) {
		double raw = rate_in(perf, RAW, round);

		values[round] = rate_in(perf, side, round);
		if (over_raw)
			values[round] = raw > 0 ? values[round] / raw : 0;
	}
	return wh_figure_spread_of(values, ROUNDS).median;
}

/* Of all processes, for each sample that was written: what is known on a busy machine, too. */
static double processor_us(const struct perf *perf, int side)
{
	double used = 0;
	uint64_t sent = 0;

	for (uint32_t i = 0; i < perf->count; i++) {
		used += perf->parts[i].processor_s[side];
		sent += perf->parts[i].sent[side];
	}
	return sent > 0 ? used * 1e6 / (double)sent : 0;
}

static json_t *readers_of(const struct perf *perf)
{
	json_t *readers = json_array();
	char digest[24];

	for (uint32_t i = perf->topics->writers; i < perf->count; i++) {
		snprintf(digest, sizeof digest, "%016" PRIx64, perf->parts[i].digest);
		json_array_append_new(readers, json_pack("{s:s, s:I}", "order_digest", digest, "lost",
							 (json_int_t)perf->parts[i].lost));
	}
	return readers;
}

static json_t *rounds_of(const struct perf *perf)
{
	json_t *rounds = json_array();

	for (int round = 0; round < ROUNDS; round++)
		json_array_append_new(rounds, json_pack("{s:f, s:f}", "samples_per_s", rate_in(perf, TOPIC, round),
							"messages_per_s", rate_in(perf, RAW, round)));
	return rounds;
}

/* Of all readers. `room` is a histogram of zeros. */
static json_t *latency_of(const struct perf *perf, int side, struct wh_histogram *room, double *p50)
{
	for (uint32_t i = perf->topics->writers; i < perf->count; i++)
		wh_histogram_merge(room, &perf->parts[i].latency[side]);
	*p50 = wh_histogram_quantile(room, 0.5) / 1e3;
	return json_pack("{s:f, s:f, s:f}", "p50", *p50, "p99", wh_histogram_quantile(room, 0.99) / 1e3, "p99_9",
			 wh_histogram_quantile(room, 0.999) / 1e3);
}

static json_t *results_of(const struct perf *perf, struct wh_histogram room[SIDES])
{
	const struct wh_topics *topics = perf->topics;
	double rate = median_of(perf, TOPIC, false), p50[SIDES];
	json_t *latency = latency_of(perf, TOPIC, &room[TOPIC], &p50[TOPIC]);
	json_t *raw = json_pack("{s:f, s:o, s:f}", "messages_per_s", median_of(perf, RAW, false), "latency_us",
				latency_of(perf, RAW, &room[RAW], &p50[RAW]), "processor_us", processor_us(perf, RAW));

	return json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:f, s:f, s:o, s:o, s:f, s:o, s:f, s:f, s:o}",
			 "transport", topics->transport, "consistency", topics->consistency, "read", topics->read,
			 "bytes", (int)topics->bytes, "writers", (int)topics->writers, "seconds", (int)topics->seconds,
			 "rate", (int)topics->rate, "samples_per_s", rate, "bytes_per_s", rate * topics->bytes,
			 "readers", readers_of(perf), "latency_us", latency, "processor_us", processor_us(perf, TOPIC),
			 "raw", raw, "fraction_of_raw", median_of(perf, TOPIC, true), "latency_of_raw",
			 p50[RAW] > 0 ? p50[TOPIC] / p50[RAW] : 0.0, "rounds", rounds_of(perf));
}

/* Have all readers heard the same? Without an order each has its own, of several writers. */
static bool heard_alike(const struct perf *perf)
{
	bool ordered = perf->topics->writers == 1 || strcmp(perf->topics->consistency, "unordered") != 0;

	for (uint32_t i = perf->topics->writers + 1; ordered && i < perf->count; i++)
		if (perf->parts[i].digest != perf->parts[i - 1].digest) {
			wh_say("perf: readers have heard other samples, or in another order");
			return false;
		}
	return true;
}

/* To people, or to the file. Readers that have not heard the same are a failure. */
static enum wh_exit tell_results(const struct perf *perf, const char *path)
{
	struct wh_histogram *latency = calloc(SIDES, sizeof *latency);
	json_t *results = latency != NULL ? results_of(perf, latency) : NULL;
	FILE *file = path != NULL ? fopen(path, "w") : stdout;
	enum wh_exit status = results != NULL && file != NULL ? WH_EXIT_GOOD : WH_EXIT_FAILED;

	if (file == NULL)
		wh_say("%s: %s", path, strerror(errno));
	if (status == WH_EXIT_GOOD &&
	    (json_dumpf(results, file, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6)) != 0 ||
	     fputs("\n", file) < 0))
		status = WH_EXIT_FAILED;
	if (file != NULL && path != NULL && !wh_close_file(file, path))
		status = WH_EXIT_FAILED;
	if (!heard_alike(perf))
		status = WH_EXIT_FAILED;
	json_decref(results);
	free(latency);
	return status;
}

static enum wh_exit run_crew(struct perf *perf, struct wh_topics *topics)
{
	struct wh_crew crew = {.workers = NULL};
	enum wh_exit status = WH_EXIT_FAILED;
	struct wh_error err;

	if (wh_crew_start(&crew, &topics->watch, perf->count, true, be_player, perf, &err) != WHORL_OK) {
		wh_say("%s", err.text);
		return WH_EXIT_MACHINE;
	}
	if (run_rounds(perf, &topics->watch, &crew))
		status = WH_EXIT_GOOD;
	wh_phase_set(&perf->phase, END);
	(void)wh_crew_end(&crew, 10000);
	if (topics->watch.interrupted != 0)
		return WH_EXIT_INTERRUPTED;
	return status == WH_EXIT_GOOD ? tell_results(perf, topics->file) : status;
}

enum wh_exit wh_topics_perf(struct wh_topics *topics)
{
	struct perf *perf = wh_shared_alloc(sizeof *perf, false);
	uint16_t ports[2 * PARTS_MOST] = {0};
	enum wh_exit status = WH_EXIT_MACHINE;

	if (perf == NULL) {
		wh_say("%s", whorl_result_text(WHORL_MEMORY));
		return status;
	}
	perf->topics = topics;
	perf->count = topics->writers + topics->readers;
	perf->timed = topics->rate > 0 ? 1 : TIMED;
	if ((strcmp(topics->transport, "tcp") != 0 || find_ports(ports, 2 * perf->count)) &&
	    write_file(perf, RAW, ports) && write_file(perf, TOPIC, ports + perf->count))
		status = run_crew(perf, topics);
	for (int side = 0; side < SIDES; side++) {
		if (perf->file[side][0] != '\0')
			(void)unlink(perf->file[side]);
		(void)wh_scratch_close(&perf->logs[side]); /* which says what is left */
	}
	wh_shared_free(perf, sizeof *perf);
	return status;
}
