/* limit.c - see limit.h.
 *
 * Shared memory: the control page, a line for each node, then for each ring a line for the head, a line for the tail of
 * each reader, and the slots.
 *
 * What makes it fast, and is in whorl as well: the writer looks at the readers' tails only when the room it knew of is
 * used up; a reader looks at the head once per pass, reads all there is, and publishes its tail once.
 */
#include "tools/limit/limit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/env.h"
#include "tools/limit/payload.h"

#define READY_MS 10000 /* to start the workers and touch the memory */
#define WARM_MS 60     /* after each change, before the measurement */
#define EMPTY_PASSES 8 /* before a thread yields */

enum { PHASE_START, PHASE_RUN, PHASE_STOP };

/* A word on a line of its own. */
struct line {
	_Alignas(WH_CACHE_LINE) wh_word word;
};

struct node_lines {
	_Alignas(WH_CACHE_LINE) wh_word messages; /* [reader] read so far, of all rings */
	wh_word bytes;                            /* [reader] */
	wh_word digest;                           /* [reader] so that the reading cannot be left out */
};

struct shared {
	struct wh_phase phase;
	wh_word publish_every; /* [parent] */
	wh_word prefetches;    /* [parent] 0 or 1 */
	wh_word ready;         /* [workers] threads that are ready */
	struct node_lines nodes[];
};

struct measurement {
	const struct wh_limit_plan *plan;
	struct shared *shared;
	size_t *ring_offset; /* of each ring in the shared memory */
	size_t bytes;
};

/* One ring as its writer or one of its readers holds it. */
struct ring_end {
	uint64_t count;     /* filled, or read, so far */
	uint64_t known;     /* writer: the least tail when it last looked */
	struct line *head;  /* how far it is filled; the writer publishes */
	struct line *tails; /* how far each reader has read; the reader publishes */
	uint32_t reader;    /* which tail is mine */
	uint32_t reader_count, window, bytes, slot;
	uint64_t seed;
	char *slots, *next, *end; /* next: slot number `count` modulo the window */
};

struct worker {
	const struct measurement *m;
	uint32_t node;
	struct ring_end *writes, *reads;
	size_t write_count, read_count;
};

static size_t round_up(size_t bytes, size_t to)
{
	return (bytes + to - 1) / to * to;
}

static size_t slot_bytes(const struct wh_limit_ring *ring)
{
	return ring->bytes == 0 ? 8 : round_up(ring->bytes, 8);
}

static size_t ring_bytes(const struct wh_limit_ring *ring)
{
	return round_up((1 + ring->reader_count) * sizeof(struct line) + slot_bytes(ring) * ring->window,
			WH_CACHE_LINE);
}

uint64_t wh_limit_memory(const struct wh_limit_plan *plan)
{
	uint64_t bytes = sizeof(struct shared) + plan->nodes * sizeof(struct node_lines);

	for (size_t r = 0; r < plan->ring_count; r++)
		bytes += ring_bytes(&plan->rings[r]);
	return plan->huge ? round_up(bytes, WH_HUGE_PAGE) : bytes;
}

/* ---- writing and reading -----------------------------------------------------------------------------------------*/

static inline void advance(struct ring_end *ring)
{
	ring->count++;
	ring->next += ring->slot;
	if (ring->next == ring->end)
		ring->next = ring->slots;
}

/* As the library does (docs/decisions/0013): small messages are asked for some ahead, but only those that are mine to
 * read, or to write, already: of which there are `count`. */
#define PREFETCH_AHEAD 8
#define PREFETCH_SLOT_MOST 256

static inline const char *slot_ahead(const struct ring_end *ring, uint64_t count)
{
	const char *slot = ring->next + PREFETCH_AHEAD * ring->slot;

	if (ring->slot > PREFETCH_SLOT_MOST || count <= PREFETCH_AHEAD)
		return NULL;
	return slot < ring->end ? slot : slot - (size_t)ring->slot * ring->window;
}

WH_HINT_INLINE void prefetch_to_read(const struct ring_end *ring, uint64_t count)
{
	const char *slot = slot_ahead(ring, count);

	if (slot == NULL)
		return;
	wh_prefetch_read(slot);
	wh_prefetch_read(slot + WH_CACHE_LINE);
}

WH_HINT_INLINE void prefetch_to_write(const struct ring_end *ring, uint64_t count)
{
	const char *slot = slot_ahead(ring, count);

	if (slot == NULL)
		return;
	wh_prefetch_write(slot);
	wh_prefetch_write(slot + WH_CACHE_LINE);
}

/* Fills what there is room for, at most `most` messages. Returns how many. */
static uint32_t fill(struct ring_end *ring, uint32_t most, uint64_t publish_every, bool prefetches)
{
	uint64_t room = ring->window - (ring->count - ring->known);
	uint32_t count;

	if (room == 0) {
		ring->known = ring->count;
		for (uint32_t r = 0; r < ring->reader_count; r++) {
			uint64_t tail = wh_load_acquire(&ring->tails[r].word); /* partner: drain */

			if (tail < ring->known)
				ring->known = tail;
		}
		room = ring->window - (ring->count - ring->known);
	}
	count = room < most ? (uint32_t)room : most;
	for (uint32_t n = 1; n <= count; n++) {
		if (prefetches)
			prefetch_to_write(ring, room - (n - 1));
		wh_payload_fill(ring->next, ring->bytes, ring->seed ^ ring->count);
		advance(ring);
		if ((n & (publish_every - 1)) == 0 || n == count)
			wh_store_release(&ring->head->word, ring->count); /* partner: drain */
	}
	return count;
}

/* Reads all that is there. Returns how many. */
static uint64_t drain(struct ring_end *ring, uint64_t *digest, bool prefetches)
{
	uint64_t head = wh_load_acquire(&ring->head->word); /* partner: fill */
	uint64_t count = head - ring->count;

	if (count == 0)
		return 0;
	while (ring->count < head) {
		if (prefetches)
			prefetch_to_read(ring, head - ring->count);
		*digest += wh_payload_digest(ring->next, ring->bytes);
		advance(ring);
	}
	wh_store_release(&ring->tails[ring->reader].word, head); /* partner: fill */
	return count;
}

static uint64_t fill_all(struct worker *w)
{
	uint64_t publish_every = wh_load_relaxed(&w->m->shared->publish_every);
	bool prefetches = wh_load_relaxed(&w->m->shared->prefetches) != 0;
	uint64_t count = 0;

	for (size_t r = 0; r < w->write_count; r++) {
		uint32_t window = w->writes[r].window;
		uint32_t most = w->m->plan->caller ? wh_limit_burst(window, w->writes[r].bytes) : window;

		count += fill(&w->writes[r], most, publish_every, prefetches);
	}
	return count;
}

static uint64_t drain_all(struct worker *w)
{
	struct node_lines *mine = &w->m->shared->nodes[w->node];
	uint64_t messages = 0, bytes = 0, digest = wh_load_relaxed(&mine->digest);
	bool prefetches = wh_load_relaxed(&w->m->shared->prefetches) != 0;

	for (size_t r = 0; r < w->read_count; r++) {
		uint64_t count = drain(&w->reads[r], &digest, prefetches);

		messages += count;
		bytes += count * w->reads[r].bytes;
	}
	if (messages > 0) {
		wh_store_relaxed(&mine->digest, digest);
		wh_store_relaxed(&mine->messages, wh_load_relaxed(&mine->messages) + messages);
		wh_store_relaxed(&mine->bytes, wh_load_relaxed(&mine->bytes) + bytes);
	}
	return messages;
}

/* Where the run could not be pinned it has failed already; here it does no harm. */
static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

/* One thread's life: fills, reads, or does both in turn, until it is told to stop. */
static void work(struct worker *w, bool fills, bool reads)
{
	struct shared *shared = w->m->shared;
	unsigned empty = 0;

	if (reads && w->m->plan->cpus != NULL && w->m->plan->cpus[w->node] >= 0)
		pin(w->m->plan->cpus[w->node]);
	wh_fetch_add(&shared->ready, 1);
	while (wh_phase_get(&shared->phase) == PHASE_START)
		wh_phase_wait(&shared->phase, PHASE_START, 1000);
	while (wh_phase_get(&shared->phase) == PHASE_RUN) {
		uint64_t done = (fills ? fill_all(w) : 0) + (reads ? drain_all(w) : 0);

		if (done > 0)
			empty = 0;
		else if (w->m->plan->spin || ++empty < EMPTY_PASSES)
			wh_cpu_relax();
		else
			sched_yield();
	}
}

/* ---- a node ------------------------------------------------------------------------------------------------------*/

static struct ring_end ring_open(const struct measurement *m, size_t r)
{
	const struct wh_limit_ring *ring = &m->plan->rings[r];
	char *base = (char *)m->shared + m->ring_offset[r];
	char *slots = base + (1 + ring->reader_count) * sizeof(struct line);

	return (struct ring_end){
		.head = (struct line *)base,
		.tails = (struct line *)base + 1,
		.slots = slots,
		.next = slots,
		.end = slots + slot_bytes(ring) * ring->window,
		.reader_count = ring->reader_count,
		.window = ring->window,
		.bytes = ring->bytes,
		.slot = (uint32_t)slot_bytes(ring),
		.seed = wh_payload_seed((uint32_t)r, ring->writer, 0),
	};
}

/* The ends of the rings that this node writes and reads. */
static bool worker_open(struct worker *w)
{
	const struct wh_limit_plan *plan = w->m->plan;

	w->writes = calloc(plan->ring_count, sizeof *w->writes);
	w->reads = calloc(plan->ring_count, sizeof *w->reads);
	if (w->writes == NULL || w->reads == NULL)
		return false;
	for (size_t r = 0; r < plan->ring_count; r++) {
		if (plan->rings[r].writer == w->node)
			w->writes[w->write_count++] = ring_open(w->m, r);
		for (uint32_t i = 0; i < plan->rings[r].reader_count; i++)
			if (plan->rings[r].readers[i] == w->node) {
				w->reads[w->read_count] = ring_open(w->m, r);
				w->reads[w->read_count++].reader = i;
			}
	}
	/* The pages are mapped now, not under the clock. Older kernels cannot; there the warm-up does it. */
	madvise(w->m->shared, w->m->bytes, MADV_POPULATE_WRITE);
	return true;
}

static void *fill_thread(void *worker)
{
	work(worker, true, false);
	return NULL;
}

static int run_node(void *ctx, uint32_t node)
{
	struct worker w = {.m = ctx, .node = node};
	pthread_t filler;
	int number = 0;

	if (!worker_open(&w)) {
		number = ENOMEM;
	} else if (w.m->plan->caller || w.write_count == 0) {
		work(&w, true, true);
	} else {
		number = pthread_create(&filler, NULL, fill_thread, &w);
		if (number == 0) {
			work(&w, false, true);
			pthread_join(filler, NULL);
		}
	}
	free(w.writes);
	free(w.reads);
	return number;
}

/* ---- the parent --------------------------------------------------------------------------------------------------*/

/* Sleeps for `ms`, or until `ready` threads are ready. */
static enum whorl_result await(struct measurement *m, struct wh_crew *crew, int ms, uint64_t ready,
			       struct wh_error *err)
{
	const struct wh_env *env = wh_env_system();
	uint64_t deadline = wh_env_now(env) + (uint64_t)ms * WH_NS_PER_MS;
	uint32_t worker;
	int status;

	for (;;) {
		uint64_t now = wh_env_now(env);

		if (ready > 0 && wh_load_acquire(&m->shared->ready) >= ready)
			return WHORL_OK;
		if (now >= deadline)
			return ready == 0 ? WHORL_OK
					  : wh_error_set(err, WHORL_TIMEOUT, "limit: not ready in %d ms", ms);
		wh_watch_wait(crew->watch, ready > 0 ? 1 : (int)((deadline - now) / WH_NS_PER_MS) + 1);
		if (crew->watch->interrupted != 0)
			return WHORL_AGAIN;
		if (wh_crew_reap(crew, &worker, &status))
			return wh_error_set(err, WHORL_MEMBER_GONE, "limit: worker %u ended with status %d", worker,
					    WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	}
}

static void sample(const struct measurement *m, uint64_t *ns, uint64_t *messages, uint64_t *bytes)
{
	*messages = *bytes = 0;
	*ns = wh_env_now(wh_env_system());
	for (uint32_t n = 0; n < m->plan->nodes; n++) {
		*messages += wh_load_relaxed(&m->shared->nodes[n].messages);
		*bytes += wh_load_relaxed(&m->shared->nodes[n].bytes);
	}
}

/* What the workers do at present. */
static enum whorl_result measure_one(struct measurement *m, struct wh_crew *crew, struct wh_limit_result *out,
				     struct wh_error *err)
{
	uint64_t t0, t1, messages0, messages1, bytes0, bytes1;
	enum whorl_result result = await(m, crew, WARM_MS, 0, err);

	if (result != WHORL_OK)
		return result;
	sample(m, &t0, &messages0, &bytes0);
	result = await(m, crew, (int)m->plan->measure_ms, 0, err);
	if (result != WHORL_OK)
		return result;
	sample(m, &t1, &messages1, &bytes1);
	double node_seconds = (double)(t1 - t0) / 1e9 * m->plan->nodes;

	out->messages_per_s = (double)(messages1 - messages0) / node_seconds;
	out->bytes_per_s = (double)(bytes1 - bytes0) / node_seconds;
	return WHORL_OK;
}

static bool has_small(const struct wh_limit_plan *plan)
{
	for (size_t r = 0; r < plan->ring_count; r++)
		if (slot_bytes(&plan->rings[r]) <= PREFETCH_SLOT_MOST)
			return true;
	return false;
}

/* Measures each way of publishing while the workers go on, and keeps the best; then all of them with prefetching. */
static enum whorl_result measure(struct measurement *m, struct wh_crew *crew, struct wh_limit_result *best,
				 struct wh_error *err)
{
	static const uint32_t every[] = {1, 8, 64}; /* powers of two */
	const size_t ways = sizeof every / sizeof every[0];

	for (size_t way = 0; way < (has_small(m->plan) ? 2 : 1) * ways; way++) {
		struct wh_limit_result one = {.publish_every = every[way % ways]};
		enum whorl_result result;

		wh_store_relaxed(&m->shared->publish_every, one.publish_every);
		wh_store_relaxed(&m->shared->prefetches, way >= ways);
		if (way == 0)
			wh_phase_set(&m->shared->phase, PHASE_RUN);
		result = measure_one(m, crew, &one, err);
		if (result != WHORL_OK)
			return result;
		if (way < ways && one.messages_per_s > best->messages_per_s)
			*best = one;
		else if (way >= ways && one.bytes_per_s > best->prefetched_bytes_per_s)
			best->prefetched_bytes_per_s = one.bytes_per_s;
	}
	return WHORL_OK;
}

/* One for each node, and one more to fill where there is something to fill. */
static uint32_t count_threads(const struct wh_limit_plan *plan)
{
	uint32_t count = plan->nodes;

	for (uint32_t node = 0; node < plan->nodes && !plan->caller; node++) {
		bool writes = false;

		for (size_t r = 0; r < plan->ring_count; r++)
			writes |= plan->rings[r].writer == node;
		count += writes;
	}
	return count;
}

static enum whorl_result measurement_open(struct measurement *m, struct wh_error *err)
{
	size_t offset = sizeof(struct shared) + m->plan->nodes * sizeof(struct node_lines);

	m->bytes = (size_t)wh_limit_memory(m->plan);
	m->ring_offset = calloc(m->plan->ring_count + 1, sizeof *m->ring_offset);
	if (m->ring_offset == NULL)
		return wh_error_set(err, WHORL_MEMORY, "limit: no memory for %zu rings", m->plan->ring_count);
	for (size_t r = 0; r < m->plan->ring_count; r++) {
		m->ring_offset[r] = offset;
		offset += ring_bytes(&m->plan->rings[r]);
	}
	m->shared = wh_shared_alloc(m->bytes, m->plan->huge);
	return m->shared != NULL ? WHORL_OK
				 : wh_error_set(err, WHORL_MEMORY, "limit: no memory for %zu bytes", m->bytes);
}

enum whorl_result wh_limit_measure(const struct wh_limit_plan *plan, struct wh_watch *watch,
				   struct wh_limit_result *result, struct wh_error *err)
{
	struct measurement m = {.plan = plan};
	struct wh_crew crew;
	enum whorl_result outcome;

	*result = (struct wh_limit_result){0};
	outcome = measurement_open(&m, err);
	if (outcome != WHORL_OK)
		goto out_close;
	outcome = wh_crew_start(&crew, watch, plan->nodes, plan->processes, run_node, &m, err);
	if (outcome != WHORL_OK)
		goto out_close;
	outcome = await(&m, &crew, READY_MS, count_threads(plan), err);
	if (outcome == WHORL_OK)
		outcome = measure(&m, &crew, result, err);
	wh_phase_set(&m.shared->phase, PHASE_STOP);
	if (!wh_crew_end(&crew, 2000))
		return wh_error_set(err, WHORL_TIMEOUT, "limit: a thread does not end"); /* it still uses the memory */
out_close:
	free(m.ring_offset);
	wh_shared_free(m.shared, m.bytes);
	return outcome;
}
