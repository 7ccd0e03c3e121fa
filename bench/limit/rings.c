/* rings.c - the limit of shm, see limit.h.
 *
 * Shared memory: the common beginning with a count for each node, then for each ring a line for the head, a line for
 * the tail of each reader, and the slots.
 *
 * What makes it fast, and is in whorl as well: the writer looks at the readers' tails only when the room it knew of is
 * used up; a reader looks at the head once per pass, reads all there is, and publishes its tail once.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "bench/limit/limit_int.h"
#include "bench/limit/payload.h"

/* A word on a line of its own. */
struct line {
	_Alignas(WH_CACHE_LINE) wh_word word;
};

struct measurement {
	const struct wh_limit_plan *plan;
	struct wh_limit_run run;
	size_t *ring_offset; /* of each ring in the shared memory */
};

/* One ring as its writer or one of its readers holds it. */
struct ring_end {
	uint64_t count;     /* filled, or read, so far */
	uint64_t known;     /* writer: the least tail when it last looked */
	struct line *head;  /* how far it is filled; the writer publishes */
	struct line *tails; /* how far each reader has read; the reader publishes */
	uint32_t reader;    /* which tail is mine */
	uint32_t reader_count, window, bytes, slot, batch;
	uint64_t seed;
	char *slots, *next, *end; /* next: slot number `count` modulo the window */
};

struct worker {
	const struct measurement *m;
	uint32_t node;
	struct ring_end *writes, *reads;
	size_t write_count, read_count;
	bool mixed; /* messages are of several sizes */
};

static size_t ring_bytes(const struct wh_limit_ring *ring)
{
	return wh_limit_round_up((1 + ring->reader_count) * sizeof(struct line) +
					 wh_limit_slot(ring->bytes) * ring->window,
				 WH_CACHE_LINE);
}

uint64_t wh_limit_rings_memory(const struct wh_limit_plan *plan)
{
	uint64_t bytes = wh_limit_shared_bytes(plan->nodes);

	for (size_t r = 0; r < plan->ring_count; r++)
		bytes += ring_bytes(&plan->rings[r]);
	return plan->huge ? wh_limit_round_up(bytes, WH_HUGE_PAGE) : bytes;
}

/* ---- writing and reading -----------------------------------------------------------------------------------------*/

static inline void advance_ring(struct ring_end *ring)
{
	ring->count++;
	ring->next += ring->slot;
	if (ring->next == ring->end)
		ring->next = ring->slots;
}

/* As the library does (docs/decisions/0013): small messages are asked for some ahead, but only those that are mine to
 * read, or to write, already: of which there are `count`. */
#define PREFETCH_AHEAD 8
#define PREFETCH_SLOT_MOST 512

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
	for (uint32_t at = 0; at < ring->slot; at += WH_CACHE_LINE)
		wh_prefetch_read(slot + at);
}

WH_HINT_INLINE void prefetch_to_write(const struct ring_end *ring, uint64_t count)
{
	const char *slot = slot_ahead(ring, count);

	if (slot == NULL)
		return;
	for (uint32_t at = 0; at < ring->slot; at += WH_CACHE_LINE)
		wh_prefetch_write(slot + at);
}

/* How many there is room for. The tails are looked at only if it is not known of a batch. */
static uint64_t find_room(struct ring_end *ring)
{
	uint64_t room = ring->window - (ring->count - ring->known);

	if (room >= ring->batch)
		return room;
	ring->known = ring->count;
	for (uint32_t r = 0; r < ring->reader_count; r++) {
		uint64_t tail = wh_load_acquire(&ring->tails[r].word); /* partner: drain_ring */

		if (tail < ring->known)
			ring->known = tail;
	}
	return ring->window - (ring->count - ring->known);
}

/* Of `most` that are wanted: whole batches, one at least if there is room for it. */
static uint32_t whole_batches(const struct ring_end *ring, uint64_t room, uint32_t most)
{
	uint32_t batches = (most + ring->batch - 1) / ring->batch;

	return (room / ring->batch < batches ? (uint32_t)room / ring->batch : batches) * ring->batch;
}

/* Fills what there is room for, about `most` messages. Returns how many. */
static uint32_t fill_ring(struct ring_end *ring, uint32_t most, uint32_t publish_every, bool prefetches)
{
	uint32_t together = ring->batch > 1 ? ring->batch : publish_every;
	uint64_t room = find_room(ring);
	uint32_t count = whole_batches(ring, room, most);

	for (uint32_t n = 0; n < count;) {
		uint32_t end = together < count - n ? n + together : count;

		for (; n < end; n++) {
			if (prefetches)
				prefetch_to_write(ring, room - n);
			wh_payload_fill(ring->next, ring->bytes, ring->seed ^ ring->count);
			advance_ring(ring);
		}
		wh_store_release(&ring->head->word, ring->count); /* partner: drain_ring */
	}
	return count;
}

/* Reads all that is there. Returns how many. */
static uint64_t drain_ring(struct ring_end *ring, uint64_t *digest, bool prefetches)
{
	uint64_t head = wh_load_acquire(&ring->head->word); /* partner: fill_ring */
	uint64_t count = head - ring->count;

	if (count == 0)
		return 0;
	while (ring->count < head) {
		if (prefetches)
			prefetch_to_read(ring, head - ring->count);
		*digest += wh_payload_digest(ring->next, ring->bytes);
		advance_ring(ring);
	}
	wh_store_release(&ring->tails[ring->reader].word, head); /* partner: fill_ring */
	return count;
}

/* Of the ring that it has filled least. */
static uint64_t least_filled(const struct worker *w)
{
	uint64_t least = UINT64_MAX;

	for (size_t r = 0; r < w->write_count; r++)
		least = w->writes[r].count < least ? w->writes[r].count : least;
	return least;
}

static uint64_t fill_all(struct worker *w)
{
	uint32_t publish_every = (uint32_t)wh_load_relaxed(&w->m->run.shared->publish_every);
	bool prefetches = wh_load_relaxed(&w->m->run.shared->prefetches) != 0;
	uint64_t count = 0;

	for (size_t r = 0; r < w->write_count; r++) {
		uint32_t window = w->writes[r].window;
		uint32_t most = w->m->plan->caller ? wh_limit_burst(window, w->writes[r].bytes) : window;

		if (w->mixed)
			most = (uint32_t)wh_limit_in_step(most, w->writes[r].count, least_filled(w), window);
		count += fill_ring(&w->writes[r], most, publish_every, prefetches);
	}
	return count;
}

static uint64_t drain_all(struct worker *w)
{
	bool prefetches = wh_load_relaxed(&w->m->run.shared->prefetches) != 0;
	uint64_t messages = 0, bytes = 0, digest = 0;

	for (size_t r = 0; r < w->read_count; r++) {
		uint64_t count = drain_ring(&w->reads[r], &digest, prefetches);

		messages += count;
		bytes += count * w->reads[r].bytes;
	}
	if (messages > 0)
		wh_limit_add(&w->m->run.shared->counts[w->node], messages, bytes, digest);
	return messages;
}

/* Where the run could not be pinned it has failed already; here it does no harm. */
static void pin_thread(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

/* One thread's life: fills, reads, or does both in turn, until it is told to stop. */
static void work_until_stop(struct worker *w, bool fills, bool reads)
{
	struct wh_limit_shared *shared = w->m->run.shared;
	unsigned empty = 0;

	if (reads && w->m->plan->cpus != NULL && w->m->plan->cpus[w->node] >= 0)
		pin_thread(w->m->plan->cpus[w->node]);
	wh_limit_ready(shared);
	while (wh_phase_get(&shared->phase) == WH_LIMIT_RUN) {
		uint64_t done = (fills ? fill_all(w) : 0) + (reads ? drain_all(w) : 0);

		if (done > 0)
			empty = 0;
		else if (w->m->plan->spin || ++empty < WH_LIMIT_EMPTY_PASSES)
			wh_cpu_relax();
		else
			sched_yield();
	}
}

/* ---- a node ------------------------------------------------------------------------------------------------------*/

static struct ring_end ring_open(const struct measurement *m, size_t r)
{
	const struct wh_limit_ring *ring = &m->plan->rings[r];
	char *base = (char *)m->run.shared + m->ring_offset[r];
	char *slots = base + (1 + ring->reader_count) * sizeof(struct line);

	return (struct ring_end){
		.head = (struct line *)base,
		.tails = (struct line *)base + 1,
		.slots = slots,
		.next = slots,
		.end = slots + wh_limit_slot(ring->bytes) * ring->window,
		.reader_count = ring->reader_count,
		.window = ring->window,
		.bytes = ring->bytes,
		.slot = (uint32_t)wh_limit_slot(ring->bytes),
		.batch = ring->batch > 1 ? ring->batch : 1,
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
	madvise(w->m->run.shared, w->m->run.bytes, MADV_POPULATE_WRITE);
	return true;
}

static void *fill_thread(void *worker)
{
	work_until_stop(worker, true, false);
	return NULL;
}

static int run_node(void *ctx, uint32_t node)
{
	const struct measurement *m = ctx;
	struct worker w = {.m = m, .node = node, .mixed = wh_limit_is_mixed(m->plan)};
	pthread_t filler;
	int number = 0;

	if (!worker_open(&w)) {
		number = ENOMEM;
	} else if (w.m->plan->caller || w.write_count == 0) {
		work_until_stop(&w, true, true);
	} else {
		number = pthread_create(&filler, NULL, fill_thread, &w);
		if (number == 0) {
			work_until_stop(&w, false, true);
			pthread_join(filler, NULL);
		}
	}
	free(w.writes);
	free(w.reads);
	return number;
}

/* ---- the parent --------------------------------------------------------------------------------------------------*/

static bool has_small(const struct wh_limit_plan *plan)
{
	for (size_t r = 0; r < plan->ring_count; r++)
		if (wh_limit_slot(plan->rings[r].bytes) <= PREFETCH_SLOT_MOST)
			return true;
	return false;
}

/* What is published together are the batches of all rings: there are no ways of it. */
static bool has_only_batches(const struct wh_limit_plan *plan)
{
	for (size_t r = 0; r < plan->ring_count; r++)
		if (plan->rings[r].batch <= 1)
			return false;
	return plan->ring_count > 0;
}

/* Measures each way of publishing while the workers go on, and keeps the best; then all of them with prefetching. */
static enum whorl_result measure_ways(struct wh_limit_run *run, struct wh_limit_result *best, struct wh_error *err)
{
	bool batches = has_only_batches(run->plan);
	const uint32_t every[] = {batches ? run->plan->rings[0].batch : 1, 8, 64};
	const size_t ways = batches ? 1 : sizeof every / sizeof every[0];

	for (size_t way = 0; way < (has_small(run->plan) ? 2 : 1) * ways; way++) {
		struct wh_limit_rate rate;
		enum whorl_result result;

		wh_store_relaxed(&run->shared->publish_every, every[way % ways]);
		wh_store_relaxed(&run->shared->prefetches, way >= ways);
		result = wh_limit_rate(run, &rate, err);
		if (result != WHORL_OK)
			return result;
		if (way < ways && rate.messages_per_s > best->rate.messages_per_s) {
			best->rate = rate;
			best->publish_every = every[way];
		} else if (way >= ways && rate.bytes_per_s > best->prefetched_bytes_per_s) {
			best->prefetched_bytes_per_s = rate.bytes_per_s;
		}
	}
	return WHORL_OK;
}

/* Where each ring begins. NULL: no memory. */
static size_t *place_rings(const struct wh_limit_plan *plan)
{
	size_t offset = wh_limit_shared_bytes(plan->nodes), *offsets = calloc(plan->ring_count + 1, sizeof *offsets);

	for (size_t r = 0; offsets != NULL && r < plan->ring_count; r++) {
		offsets[r] = offset;
		offset += ring_bytes(&plan->rings[r]);
	}
	return offsets;
}

enum whorl_result wh_limit_rings(const struct wh_limit_plan *plan, struct wh_watch *watch,
				 struct wh_limit_result *result, struct wh_error *err)
{
	struct measurement m = {.plan = plan, .ring_offset = place_rings(plan)};
	enum whorl_result outcome;

	if (m.ring_offset == NULL)
		return wh_error_set(err, WHORL_MEMORY, "limit: no memory for %zu rings", plan->ring_count);
	outcome = wh_limit_open(&m.run, plan, (size_t)wh_limit_rings_memory(plan), plan->nodes, err);
	if (outcome == WHORL_OK) {
		wh_store_relaxed(&m.run.shared->publish_every, 1); /* they begin before the first way is measured */
		outcome = wh_limit_start(&m.run, watch, plan->nodes, wh_limit_threads(plan), run_node, &m, err);
	}
	if (outcome == WHORL_OK)
		outcome = measure_ways(&m.run, result, err);
	outcome = wh_limit_close(&m.run, outcome, err);
	free(m.ring_offset);
	return outcome;
}
