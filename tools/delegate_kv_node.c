/* delegate_kv_node.c - a node of `whorl delegate kv`: a process. See delegate_kv.h.
 *
 * It opens its part of the group, its workers and its shards, lends handles of these to the other nodes and takes theirs, through memory that
 * they share; then it accepts clients, and gives them to its threads in turn.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/thread.h"
#include "tools/delegate_kv.h"

#define OPEN_MS 60000
#define CLOSE_MS 5000
#define LOOK_MS 50 /* between looks at the phase */
#define ACCEPTS_AT_ONCE 64

struct node {
	struct wh_kv_run *run;
	struct wh_kv_part_of_run *part;
	uint32_t number, turn;
	whorl_node *node; /* NULL: there is one node alone */
	whorl_work *work; /* NULL: one node with locks */
	struct wh_kv_store store;
	struct wh_kv_thread *threads;
	uint32_t started; /* threads */
	wh_word memory, clients_open;
};

static bool fail(const struct node *n, const char *what, enum whorl_result result)
{
	wh_say("kv: node %" PRIu32 ": %s: %s (%s)", n->number, what, whorl_result_text(result), whorl_invalid_text());
	return false;
}

static void reach(struct node *n, uint32_t phase)
{
	atomic_store_explicit(&n->part->reached, phase, memory_order_release); /* partner: all_reach */
	wh_watch_ring(&n->run->watch);
}

/* False: all ends before. */
static bool await(struct node *n, uint32_t phase)
{
	uint32_t now;

	while ((now = wh_phase_get(&n->run->phase)) < phase)
		(void)wh_phase_wait(&n->run->phase, now, 1000);
	return now != WH_KV_ENDS;
}

/* ---- opening ------------------------------------------------------------------------------------------------------------------------ */

static bool open_node(struct node *n)
{
	whorl_config *config = whorl_config_new();
	enum whorl_result result = config == NULL ? WHORL_MEMORY : whorl_config_load_text(config, "kv", n->run->config);

	if (result == WHORL_OK)
		result = whorl_open(config, n->number, NULL, &n->node);
	if (result != WHORL_OK)
		wh_say("kv: node %" PRIu32 ": %s", n->number,
		       config == NULL ? "no memory" : whorl_config_error(config));
	whorl_config_free(config);
	if (result == WHORL_OK)
		result = whorl_start(n->node);
	if (result == WHORL_OK)
		result = whorl_ready(n->node, OPEN_MS);
	return result == WHORL_OK || fail(n, "the node", result);
}

static bool open_work(struct node *n)
{
	const struct wh_kv_options *o = &n->run->options;
	const struct whorl_work_options options = {
		.size = sizeof(options), .workers = o->workers, WHORL_FUNCTIONS_LINKED};
	enum whorl_result result = WHORL_OK;

	if (o->nodes > 1 && !open_node(n))
		return false;
	if (o->nodes > 1 || o->backend == WH_KV_TRUST)
		result = whorl_work_open(n->node, &options, &n->work);
	if (result != WHORL_OK)
		return fail(n, "its workers", result);
	memcpy(n->store.seed, n->run->seed, sizeof(n->store.seed));
	return wh_kv_store_open(&n->store, o, n->number, n->work);
}

static struct whorl_trust *handles_at(const struct node *n, uint32_t from, uint32_t to)
{
	const struct wh_kv_options *o = &n->run->options;

	return &n->run->handles[((size_t)from * o->nodes + to) * o->shards];
}

static bool exchange(struct node *n)
{
	for (uint32_t to = 0; to < n->run->options.nodes; to++)
		if (to != n->number && !wh_kv_store_lend(&n->store, to, handles_at(n, n->number, to)))
			return false;
	reach(n, WH_KV_OPENS + 1);
	if (!await(n, WH_KV_LENT))
		return false;
	for (uint32_t from = 0; from < n->run->options.nodes; from++)
		if (from != n->number && !wh_kv_store_borrow(&n->store, from, handles_at(n, from, n->number)))
			return false;
	reach(n, WH_KV_LENT + 1);
	return await(n, WH_KV_SERVES);
}

static bool start_threads(struct node *n)
{
	uint32_t count = n->run->options.threads;
	struct wh_error err = {0};
	char name[WH_THREAD_NAME_BYTES];

	n->threads = calloc(count, sizeof(*n->threads));
	if (n->threads == NULL)
		return fail(n, "its threads", WHORL_MEMORY);
	for (; n->started < count; n->started++) {
		struct wh_kv_thread *thread = &n->threads[n->started];

		thread->store = &n->store;
		thread->number = n->started;
		thread->memory = &n->memory;
		thread->clients_open = &n->clients_open;
		snprintf(name, sizeof(name), "kv-%" PRIu32, n->started);
		if (!wh_kv_thread_open(thread)) {
			wh_kv_thread_close(thread);
			return fail(n, "a thread", WHORL_SYSTEM);
		}
		if (wh_thread_create(&thread->id, name, -1, wh_kv_serve, thread, &err) != WHORL_OK) {
			wh_kv_thread_close(thread);
			wh_say("kv: node %" PRIu32 ": %s", n->number, err.text);
			return false;
		}
	}
	return true;
}

/* ---- serving ------------------------------------------------------------------------------------------------------------------------ */

static void accept_one(struct node *n, int fd)
{
	static const char full[] = "-ERR max number of clients reached\r\n";
	struct wh_kv_thread *thread = &n->threads[n->turn++ % n->started];

	if (wh_load_relaxed(&n->clients_open) >= n->run->options.clients) {
		(void)send(fd, full, sizeof(full) - 1, MSG_NOSIGNAL);
		close(fd);
		return;
	}
	wh_fetch_add(&n->clients_open, 1);
	if (write(thread->pipe[1], &fd, sizeof(fd)) != sizeof(fd)) {
		wh_fetch_add(&n->clients_open, UINT64_MAX);
		close(fd);
	}
}

static void serve(struct node *n)
{
	int listener = n->run->listeners[n->number];
	struct pollfd wanted = {.fd = listener, .events = POLLIN};

	while (wh_phase_get(&n->run->phase) != WH_KV_ENDS) {
		if (poll(&wanted, 1, LOOK_MS) <= 0)
			continue;
		for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
			int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

			if (fd >= 0) {
				accept_one(n, fd);
				continue;
			}
			if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
				(void)poll(NULL, 0, LOOK_MS); /* until some have gone */
			break;
		}
	}
}

/* ---- the end ------------------------------------------------------------------------------------------------------------------------ */

static void count_all(struct node *n)
{
	struct wh_kv_part_of_run *part = n->part;
	struct whorl_worker_stats stats = {.size = sizeof(stats)};

	for (uint32_t i = 0; i < n->started; i++) {
		const struct wh_kv_counts *c = &n->threads[i].counts;

		part->counts.clients += c->clients;
		part->counts.commands += c->commands;
		part->counts.gets += c->gets;
		part->counts.hits += c->hits;
		part->counts.sets += c->sets;
		part->counts.errors += c->errors;
		part->counts.read_bytes += c->read_bytes;
		part->counts.written_bytes += c->written_bytes;
		part->counts.refused += c->refused;
	}
	for (uint32_t w = 0; n->work != NULL && whorl_worker_statistics(n->work, w, &stats) == WHORL_OK; w++) {
		part->calls += stats.calls;
		part->lent_calls += stats.lent_calls;
		part->batches += stats.batches;
		part->batch_calls += stats.batch_calls;
	}
}

/* True: all that was begun has ended. A worker that has not may still use what it was given. */
static bool close_all(struct node *n)
{
	bool closed = true;

	for (uint32_t i = 0; i < n->started; i++)
		wh_store_relaxed(&n->threads[i].stop, 1);
	for (uint32_t i = 0; i < n->started; i++)
		pthread_join(n->threads[i].id, NULL);
	count_all(n);
	if (n->work != NULL)
		closed = whorl_work_close(n->work, CLOSE_MS) == WHORL_OK;
	if (n->node != NULL)
		(void)whorl_close(n->node, CLOSE_MS);
	if (!closed)
		return fail(n, "a worker does not end", WHORL_TIMEOUT);
	wh_kv_store_count(&n->store, &n->part->keys, &n->part->bytes);
	for (uint32_t i = 0; i < n->started; i++)
		wh_kv_thread_close(&n->threads[i]);
	free(n->threads);
	wh_kv_store_free(&n->store);
	return true;
}

int wh_kv_be_node(void *ctx, uint32_t number)
{
	struct wh_kv_run *run = ctx;
	struct node *n = calloc(1, sizeof(*n));
	bool good;

	if (n == NULL)
		return 1;
	n->run = run;
	n->part = &run->parts[number];
	n->number = number;
	for (uint32_t i = 0; i < run->options.nodes; i++)
		if (i != number)
			close(run->listeners[i]);
	good = open_work(n) && exchange(n);
	if (good && start_threads(n)) {
		reach(n, WH_KV_SERVES + 1);
		serve(n);
	} else if (good || wh_phase_get(&run->phase) != WH_KV_ENDS) {
		good = false;
	} else {
		good = true; /* it was told to end before it served */
	}
	if (!close_all(n))
		return 1;
	free(n);
	return good ? 0 : 1;
}
