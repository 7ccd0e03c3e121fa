/* verbs_read.c - the limit of verbs: what readers do, see limit.h.
 *
 * Stable, a reader first tells all others how far it has received, and reads what all readers of a ring have told. As such words go to all,
 * whatever a node has to say of all rings is one write to each other node.
 */
#include "bench/limit/payload.h"
#include "bench/limit/verbs_int.h"

/* One write, if the peer's queue has room for it. False: it has not. */
static bool post_one(struct wh_limit_worker *w, uint32_t node, size_t offset, size_t bytes, const uint64_t *word)
{
	struct wh_limit_link *link = &w->links[node];
	struct ibv_send_wr chain[1];
	struct ibv_sge pieces[1];
	uint32_t requests = 0;
	bool room = false;

	w->failure = wh_limit_link_room(link, 1, &room);
	if (w->failure != NULL || !room)
		return false;
	if (word != NULL)
		(void)wh_limit_add_word(chain, pieces, &requests, w, link, offset, word);
	else
		(void)wh_limit_add_write(chain, pieces, &requests, w, link, offset, bytes);
	w->failure = wh_limit_link_post(link, chain, chain, requests);
	return w->failure == NULL;
}

/* Tells the writer how far I have read. */
static void tell_writer(struct wh_limit_worker *w, struct wh_limit_end *end)
{
	size_t offset = (size_t)((char *)wh_limit_read(w, w->node, end->number) - w->memory);

	if (post_one(w, end->ring->writer, offset, sizeof end->count, &end->count))
		end->sent[0] = end->count;
}

/* Tells all others how far I have received and read all rings. To those with a queue that is full, and then to all once more, later. */
static void tell_all(struct wh_limit_worker *w)
{
	const struct wh_limit_plan *plan = w->m->plan;
	bool told = true;

	for (uint32_t node = 0; w->untold && node < plan->nodes && w->failure == NULL; node++)
		if (node != w->node)
			told = post_one(w, node, wh_limit_row_offset(w, w->node), wh_limit_row_bytes(plan), NULL) &&
			       told;
	w->untold = w->untold && !told;
}

static void note_received(struct wh_limit_worker *w)
{
	for (size_t r = 0; r < w->read_count; r++) {
		uint64_t head = wh_load_acquire(&w->reads[r].head->word); /* partner: fill_ring, or the device for it */
		wh_word *received = wh_limit_received(w, w->node, w->reads[r].number);

		if (wh_load_relaxed(received) == head)
			continue;
		wh_store_release(received,
				 head); /* partner: least_received, of this thread, or the device for the others' */
		w->untold = true;
	}
}

/* No more than I have received: I am one of the readers. */
static uint64_t least_received(const struct wh_limit_worker *w, const struct wh_limit_end *end)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t r = 0; r < end->ring->reader_count; r++) {
		uint64_t received = wh_load_acquire(
			wh_limit_received(w, end->ring->readers[r], end->number)); /* partner: note_received */

		if (received < least)
			least = received;
	}
	return least;
}

/* Reads up to there. Returns how many messages. */
static uint64_t drain_ring(struct wh_limit_worker *w, struct wh_limit_end *end, bool stable, uint64_t *digest)
{
	uint64_t from = end->count;
	uint64_t to = stable ? least_received(w, end)
			     : wh_load_acquire(&end->head->word); /* partner: fill_ring, or the device for it */

	for (; end->count < to; end->count++)
		*digest += wh_payload_digest(end->slots + end->count % end->ring->window * end->slot, end->ring->bytes);
	if (end->count > from) {
		wh_store_release(wh_limit_read(w, w->node, end->number), end->count); /* partner: room_of */
		w->untold = w->untold || stable;
	}
	if (!stable && end->ring->writer != w->node && end->sent[0] < end->count)
		tell_writer(w, end);
	return end->count - from;
}

uint64_t wh_limit_drain(struct wh_limit_worker *w)
{
	bool stable = wh_load_relaxed(w->m->stable) != 0; /* either way is right, whatever others do */
	uint64_t messages = 0, bytes = 0, digest = 0;

	if (stable) {
		note_received(w);
		tell_all(w);
	}
	for (size_t r = 0; r < w->read_count && w->failure == NULL; r++) {
		uint64_t count = drain_ring(w, &w->reads[r], stable, &digest);

		messages += count;
		bytes += count * w->reads[r].ring->bytes;
	}
	if (stable && w->failure == NULL)
		tell_all(w);
	if (messages > 0)
		wh_limit_add(&w->m->run.shared->counts[w->node], messages, bytes, digest);
	return messages;
}
