/* verbs.c - the limit of verbs, see limit.h.
 *
 * Each node has memory of its own (verbs_int.h), and it is the same everywhere. A writer fills slots of its own memory and writes
 * them to the same place in that of each other reader, the head behind them, as one chain of requests; a reader reads all that is there and
 * writes to the writer how far (verbs_read.c). One thread per node does both in turn: the device moves the bytes meanwhile.
 *
 * The parent and its workers share a page for each node: where the others find its memory, and what went wrong.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "bench/limit/payload.h"
#include "bench/limit/verbs_int.h"

#define CHAIN_MOST 3  /* requests: the slots to the end of the ring, those from its beginning, the head */
#define MEET_MS 10000 /* for all nodes to open their devices */
#define PAGE_BYTES 4096

static size_t ring_bytes(const struct wh_limit_ring *ring)
{
	return wh_limit_round_up(sizeof(struct wh_limit_line) + wh_limit_slot(ring->bytes) * ring->window,
				 WH_CACHE_LINE);
}

static size_t memory_bytes(const struct wh_limit_plan *plan)
{
	size_t bytes = plan->nodes * wh_limit_row_bytes(plan);

	for (size_t r = 0; r < plan->ring_count; r++)
		bytes += ring_bytes(&plan->rings[r]);
	return bytes == 0 ? WH_CACHE_LINE : bytes;
}

static size_t page_bytes(const struct wh_limit_plan *plan)
{
	return wh_limit_round_up(sizeof(struct wh_limit_page) + plan->nodes * sizeof(struct wh_limit_card),
				 WH_CACHE_LINE);
}

static size_t common_bytes(const struct wh_limit_plan *plan)
{
	return wh_limit_shared_bytes(plan->nodes) + 2 * WH_CACHE_LINE + plan->nodes * page_bytes(plan);
}

static struct wh_limit_page *page_of(const struct wh_limit_verbs *m, uint32_t node)
{
	return (struct wh_limit_page *)(m->pages + node * page_bytes(m->plan));
}

uint64_t wh_limit_verbs_memory(const struct wh_limit_plan *plan)
{
	return common_bytes(plan) + (uint64_t)plan->nodes * memory_bytes(plan);
}

/* ---- writing ---------------------------------------------------------------------------------------------------------*/

struct ibv_send_wr *wh_limit_add_write(struct ibv_send_wr *chain, struct ibv_sge *pieces, uint32_t *count,
				       const struct wh_limit_worker *w, const struct wh_limit_link *link, size_t offset,
				       size_t bytes)
{
	struct ibv_send_wr *request = &chain[*count];

	pieces[*count] = (struct ibv_sge){(uintptr_t)w->memory + offset, (uint32_t)bytes, w->device.memory->lkey};
	*request = (struct ibv_send_wr){.opcode = IBV_WR_RDMA_WRITE,
					.sg_list = &pieces[*count],
					.num_sge = 1,
					.wr.rdma = {link->peer.base + offset, link->peer.key}};
	if (*count > 0)
		chain[*count - 1].next = request;
	++*count;
	return request;
}

struct ibv_send_wr *wh_limit_add_word(struct ibv_send_wr *chain, struct ibv_sge *pieces, uint32_t *count,
				      const struct wh_limit_worker *w, const struct wh_limit_link *link, size_t offset,
				      const uint64_t *value)
{
	struct ibv_send_wr *request = wh_limit_add_write(chain, pieces, count, w, link, offset, sizeof *value);

	request->sg_list->addr = (uintptr_t)value;
	request->send_flags = IBV_SEND_INLINE;
	return request;
}

/* Sends one reader what it has not got yet, unless its queue is full. */
static void flush_to(struct wh_limit_worker *w, struct wh_limit_end *end, uint32_t reader)
{
	struct wh_limit_link *link = &w->links[end->ring->readers[reader]];
	size_t slots = end->offset + (size_t)((char *)end->slots - (char *)end->head);
	uint64_t from = end->sent[reader] % end->ring->window, count = end->count - end->sent[reader];
	uint64_t first = count < end->ring->window - from ? count : end->ring->window - from;
	struct ibv_send_wr chain[CHAIN_MOST], *last;
	struct ibv_sge pieces[CHAIN_MOST];
	uint32_t requests = 0;
	bool room = false;

	if (count == 0)
		return;
	w->failure = wh_limit_link_room(link, CHAIN_MOST, &room);
	if (w->failure != NULL || !room)
		return;
	wh_limit_add_write(chain, pieces, &requests, w, link, slots + from * end->slot, first * end->slot);
	if (first < count)
		wh_limit_add_write(chain, pieces, &requests, w, link, slots, (count - first) * end->slot);
	last = wh_limit_add_word(chain, pieces, &requests, w, link, end->offset, &end->count);
	w->failure = wh_limit_link_post(link, chain, last, requests);
	end->sent[reader] = end->count;
}

static void flush_ring(struct wh_limit_worker *w, struct wh_limit_end *end)
{
	for (uint32_t r = 0; r < end->ring->reader_count && w->failure == NULL; r++)
		if (end->ring->readers[r] != w->node)
			flush_to(w, end, r);
}

static uint64_t room_of(const struct wh_limit_worker *w, struct wh_limit_end *end)
{
	if (end->count - end->known < end->ring->window)
		return end->ring->window - (end->count - end->known);
	end->known = end->count;
	for (uint32_t r = 0; r < end->ring->reader_count; r++) {
		/* Partner: drain_ring, or the device for it. */
		uint64_t read = wh_load_acquire(wh_limit_read(w, end->ring->readers[r], end->number));

		if (read < end->known)
			end->known = read;
	}
	return end->ring->window - (end->count - end->known);
}

/* How many are filled at a time: a burst, or as many as are to be one write, if a quarter of the window are so many. */
static uint64_t most_of(const struct wh_limit_ring *ring, uint64_t every)
{
	uint64_t burst = wh_limit_burst(ring->window, ring->bytes), quarter = (ring->window + 3) / 4;

	return every <= burst ? burst : every < quarter ? every : quarter;
}

/* Of the ring that it has filled least. */
static uint64_t least_filled(const struct wh_limit_worker *w)
{
	uint64_t least = UINT64_MAX;

	for (size_t r = 0; r < w->write_count; r++)
		least = w->writes[r].count < least ? w->writes[r].count : least;
	return least;
}

/* Fills what there is room for, that many at most. Returns how many. */
static uint64_t fill_ring(struct wh_limit_worker *w, struct wh_limit_end *end)
{
	uint64_t every = wh_load_relaxed(&w->m->run.shared->publish_every), room = room_of(w, end);
	uint64_t most = most_of(end->ring, every), count;

	if (w->mixed)
		most = wh_limit_in_step(most, end->count, least_filled(w), end->ring->window);
	count = room < most ? room : most;
	for (uint64_t n = 1; n <= count && w->failure == NULL; n++) {
		char *slot = end->slots + end->count % end->ring->window * end->slot;

		wh_payload_fill(slot, end->ring->bytes, end->seed ^ end->count);
		end->count++;
		if (n % every != 0 && n < count)
			continue;
		wh_store_release(&end->head->word, end->count); /* partner: my own drain_ring, note_received */
		flush_ring(w, end);
	}
	if (count == 0)
		flush_ring(w, end); /* to the readers with a queue that was full */
	return count;
}

static void work_until_stop(struct wh_limit_worker *w)
{
	struct wh_limit_shared *shared = w->m->run.shared;
	unsigned empty = 0;

	wh_limit_ready(shared);
	while (w->failure == NULL && wh_phase_get(&shared->phase) == WH_LIMIT_RUN) {
		uint64_t done = 0;

		for (size_t r = 0; r < w->write_count && w->failure == NULL; r++)
			done += fill_ring(w, &w->writes[r]);
		done += wh_limit_drain(w);
		if (done > 0)
			empty = 0;
		else if (w->m->plan->spin || ++empty < WH_LIMIT_EMPTY_PASSES)
			wh_cpu_relax();
		else
			sched_yield(); /* Soft-RoCE moves bytes by threads of the kernel */
	}
}

/* ---- a node ----------------------------------------------------------------------------------------------------------*/

static bool ring_open(struct wh_limit_end *end, const struct wh_limit_worker *w, size_t r)
{
	const struct wh_limit_ring *ring = &w->m->plan->rings[r];
	size_t offset = w->m->ring_offset[r];

	*end = (struct wh_limit_end){
		.ring = ring,
		.sent = calloc(ring->reader_count + 1, sizeof *end->sent),
		.offset = offset,
		.number = r,
		.slot = (uint32_t)wh_limit_slot(ring->bytes),
		.head = (struct wh_limit_line *)(w->memory + offset),
		.slots = w->memory + offset + sizeof(struct wh_limit_line),
		.seed = wh_payload_seed((uint32_t)r, ring->writer, 0),
	};
	return end->sent != NULL;
}

/* The memory, and the ends of the rings that this node writes and reads. */
static bool worker_open(struct wh_limit_worker *w)
{
	const struct wh_limit_plan *plan = w->m->plan;
	bool good;

	w->links = calloc(plan->nodes, sizeof *w->links);
	w->writes = calloc(plan->ring_count, sizeof *w->writes);
	w->reads = calloc(plan->ring_count, sizeof *w->reads);
	w->memory = aligned_alloc(PAGE_BYTES, wh_limit_round_up(w->m->memory_bytes, PAGE_BYTES));
	good = w->links != NULL && w->writes != NULL && w->reads != NULL && w->memory != NULL;
	if (good)
		memset(w->memory, 0, w->m->memory_bytes);
	for (size_t r = 0; good && r < plan->ring_count; r++) {
		if (plan->rings[r].writer == w->node)
			good = ring_open(&w->writes[w->write_count++], w, r);
		for (uint32_t i = 0; good && i < plan->rings[r].reader_count; i++)
			if (plan->rings[r].readers[i] == w->node)
				good = ring_open(&w->reads[w->read_count++], w, r);
	}
	return good;
}

static void worker_close(struct wh_limit_worker *w)
{
	for (uint32_t peer = 0; w->links != NULL && peer < w->m->plan->nodes; peer++)
		wh_limit_link_close(&w->links[peer]);
	wh_limit_device_close(&w->device);
	for (size_t r = 0; r < w->write_count; r++)
		free(w->writes[r].sent);
	for (size_t r = 0; r < w->read_count; r++)
		free(w->reads[r].sent);
	free(w->memory);
	free(w->links);
	free(w->writes);
	free(w->reads);
}

/* Makes a queue pair for each other node, waits until all have, and connects them. */
static const char *meet_others(struct wh_limit_worker *w)
{
	const struct wh_limit_plan *plan = w->m->plan;
	const char *address = plan->addresses != NULL ? plan->addresses[w->node] : NULL;
	const char *failure = wh_limit_device_open(&w->device, w->node, address, w->memory, w->m->memory_bytes);
	unsigned waited_ms = 0;

	for (uint32_t peer = 0; peer < plan->nodes && failure == NULL; peer++)
		if (peer != w->node)
			failure = wh_limit_link_open(&w->links[peer], &w->device, false,
						     &page_of(w->m, w->node)->cards[peer]);
	if (failure != NULL)
		return failure;
	wh_fetch_add(w->m->met, 1);
	while (wh_load_acquire(w->m->met) < plan->nodes) { /* partner: the others' add */
		if (wh_phase_wait(&w->m->run.shared->phase, WH_LIMIT_START, 1) != WH_LIMIT_START)
			return "stopped"; /* another could not */
		if (++waited_ms > MEET_MS)
			return "another node does not come";
	}
	for (uint32_t peer = 0; peer < plan->nodes && failure == NULL; peer++)
		if (peer != w->node)
			failure = wh_limit_link_connect(&w->links[peer], &w->device,
							&page_of(w->m, peer)->cards[w->node]);
	return failure;
}

static int run_node(void *ctx, uint32_t node)
{
	struct wh_limit_worker w = {.m = ctx, .node = node};
	int number = 0;

	w.mixed = wh_limit_is_mixed(w.m->plan);
	if (!worker_open(&w)) {
		w.failure = "no memory";
		errno = ENOMEM;
	} else {
		w.failure = meet_others(&w);
		if (w.failure == NULL)
			work_until_stop(&w);
	}
	if (w.failure != NULL && wh_phase_get(&w.m->run.shared->phase) != WH_LIMIT_STOP) {
		number = errno > 0 && errno < 126 ? errno : 125;
		strncpy(page_of(w.m, node)->failure, w.failure, WH_LIMIT_FAILURE_MAX - 1);
	}
	worker_close(&w);
	return number;
}

/* ---- the parent ------------------------------------------------------------------------------------------------------*/

static enum whorl_result measure_way(struct wh_limit_verbs *m, uint32_t every, bool stable, struct wh_limit_rate *rate,
				     struct wh_error *err)
{
	wh_store_relaxed(&m->run.shared->publish_every, every);
	wh_store_relaxed(m->stable, stable);
	return wh_limit_rate(&m->run, rate, err);
}

/* Measures each way of writing while the workers go on, and keeps the best. */
static enum whorl_result measure_ways(struct wh_limit_verbs *m, struct wh_limit_result *best, struct wh_error *err)
{
	static const uint32_t every[] = {1, 8, 64};
	enum whorl_result result = WHORL_OK;
	struct wh_limit_rate rate;

	for (size_t way = 0; way < sizeof every / sizeof every[0] && result == WHORL_OK; way++) {
		result = measure_way(m, every[way], false, &rate, err);
		if (result == WHORL_OK && every[way] == 1)
			best->per_message = rate;
		if (result == WHORL_OK && rate.messages_per_s > best->rate.messages_per_s) {
			best->rate = rate;
			best->publish_every = every[way];
		}
	}
	for (size_t way = 0; way < sizeof every / sizeof every[0] && result == WHORL_OK; way++) {
		result = measure_way(m, every[way], true, &rate, err);
		if (result == WHORL_OK && rate.messages_per_s > best->stable_write.messages_per_s)
			best->stable_write = rate;
	}
	return result;
}

/* If a node has said why it ended, that is better than its status. */
static void say_why(const struct wh_limit_verbs *m, enum whorl_result result, struct wh_error *err)
{
	for (uint32_t node = 0; node < m->plan->nodes && result != WHORL_OK && result != WHORL_AGAIN; node++)
		if (page_of(m, node)->failure[0] != '\0') {
			wh_error_set(err, result, "limit: node %u: %s", node, page_of(m, node)->failure);
			return;
		}
}

static enum whorl_result run_nodes(struct wh_limit_verbs *m, struct wh_watch *watch, struct wh_limit_result *result,
				   struct wh_error *err)
{
	enum whorl_result outcome = wh_limit_open(&m->run, m->plan, common_bytes(m->plan), m->plan->nodes, err);

	if (outcome != WHORL_OK)
		return outcome;
	m->met = (wh_word *)((char *)m->run.shared + wh_limit_shared_bytes(m->plan->nodes));
	m->stable = m->met + WH_CACHE_LINE / sizeof(*m->stable);
	m->pages = (char *)m->met + 2 * WH_CACHE_LINE;
	wh_store_relaxed(&m->run.shared->publish_every, 1);
	outcome = wh_limit_start(&m->run, watch, m->plan->nodes, m->plan->nodes, run_node, m, err);
	if (outcome == WHORL_OK)
		outcome = measure_ways(m, result, err);
	say_why(m, outcome, err);
	return wh_limit_close(&m->run, outcome, err);
}

enum whorl_result wh_limit_verbs(const struct wh_limit_plan *plan, struct wh_watch *watch,
				 struct wh_limit_result *result, struct wh_error *err)
{
	struct wh_limit_verbs m = {.plan = plan, .memory_bytes = memory_bytes(plan)};
	size_t offset = 0;
	enum whorl_result outcome;

	m.ring_offset = calloc(plan->ring_count + 1, sizeof *m.ring_offset);
	if (m.ring_offset == NULL)
		return wh_error_set(err, WHORL_MEMORY, "limit: no memory for %zu rings", plan->ring_count);
	for (size_t r = 0; r < plan->ring_count; r++) {
		m.ring_offset[r] = offset;
		offset += ring_bytes(&plan->rings[r]);
	}
	m.rows_offset = offset;
	outcome = run_nodes(&m, watch, result, err);
	free(m.ring_offset);
	return outcome;
}
