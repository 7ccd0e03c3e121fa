/* image.c - the image of a view: my row, and a place for the row of each of the others, all in memory of my own.
 *
 * How it becomes ready is told in exchange.h: an offer says that I have this image open, and to map one is to have a place for the
 * row. Only then anything is pushed, so no push ever comes for an image that was not open yet. One that has closed since is thrown
 * away where it comes in (tcp/in.c).
 *
 * Columns that are pushed as bytes leave as words: so no reader ever sees half of one, wherever the stream is cut (T3).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "transport/tcp/tcp_int.h"

#define HUGE_PAGE (UINT64_C(2) << 20)

/* The row's peer is there, and is the incarnation that the row belongs to: not one that has come after it. */
static bool is_here(const struct wh_tcp_row *row)
{
	return row->peer->state == WH_TCP_MET && row->peer->incarnation == row->incarnation;
}

/* ---- post and freeze ---------------------------------------------------------------------------------------------- */

/* Each word that the range touches, as it is now. Its neighbours in those words are mine as well, and were pushed. */
static bool queue_columns(struct wh_tcp_queue *q, struct wh_tcp_image *image, uint64_t offset, uint64_t end)
{
	for (offset -= offset % sizeof(wh_word); offset < end; offset += sizeof(wh_word)) {
		const wh_word *word = (const wh_word *)(const void *)(image->base.own + offset);

		if (!wh_tcp_queue_word(q, image, offset, wh_load_relaxed(word)))
			return false;
	}
	return true;
}

static bool queue_push(struct wh_tcp_queue *q, struct wh_tcp_image *image, const struct wh_push *push)
{
	uint64_t end = push->offset + push->bytes, control = image->control_bytes;

	if (push->kind == WH_PUSH_WORD)
		return wh_tcp_queue_word(q, image, push->offset, push->value);
	if (push->offset >= control)
		return wh_tcp_queue_range(q, image, push->offset, push->bytes);
	return queue_columns(q, image, push->offset, end < control ? end : control) &&
	       (end <= control || wh_tcp_queue_range(q, image, control, end - control));
}

static void push_to(struct wh_tcp *t, struct wh_tcp_image *image, uint32_t rank, const struct wh_push *push)
{
	const struct wh_exchange_row *state = &image->exchange.rows[rank];
	const struct wh_tcp_row *row = &image->rows[rank];
	struct wh_tcp_link *link = row->peer->link;

	if (state->frozen || !state->confirmed || !is_here(row) || link->out.dead)
		return;
	if (!queue_push(&link->out.queue, image, push)) {
		row->peer->doomed = "is stalled: more waits for it than there is room for";
		link->out.dead = true;
		t->base.ops->wake(&t->base);
		return;
	}
	link->out.queue.loud = link->out.queue.loud || !push->no_wake;
	wh_tcp_mark(t, link, push->may_delay);
}

void wh_tcp_post(struct wh_image *base, const struct wh_push *pushes, size_t count)
{
	struct wh_tcp_image *image = (struct wh_tcp_image *)base;
	struct wh_tcp *t = wh_tcp_of(base->transport);

	for (size_t i = 0; i < count; i++) {
		/* What was pushed before is seen before, by threads of mine too. Partner: their acquire load. */
		if (pushes[i].kind == WH_PUSH_WORD)
			wh_store_release((wh_word *)(void *)(base->own + pushes[i].offset), pushes[i].value);
		for (uint32_t k = 0; k < pushes[i].to_count; k++)
			push_to(t, image, pushes[i].to[k], &pushes[i]);
	}
	if (!t->gathers)
		wh_tcp_flush(t);
}

/* All that is written there is written by this thread, which from now on throws away what comes of that row: it stays as it is.
 * What came before the image was ready has not been seen by any thread, and none sees it. */
void wh_tcp_freeze(struct wh_image *base, uint32_t rank)
{
	struct wh_tcp_image *image = (struct wh_tcp_image *)base;
	struct wh_tcp_link *link = image->rows[rank].peer->link;

	if (rank == base->my_rank || image->exchange.rows[rank].frozen)
		return;
	image->exchange.rows[rank].frozen = true;
	if (link != NULL)
		wh_tcp_in_forget(&link->in, image);
	if (base->ready)
		return;
	image->exchange.control[rank] = image->zeros;
	base->ops->wake(base->transport); /* it may have been the last that the image waited for */
}

/* ---- what comes in ------------------------------------------------------------------------------------------------- */

const struct wh_tcp_row *wh_tcp_image_row(const struct wh_tcp *t, const struct wh_tcp_peer *peer, uint64_t key,
					  struct wh_tcp_image **image)
{
	for (*image = t->images; *image != NULL; *image = (*image)->next)
		for (uint32_t rank = 0; (*image)->base.key == key && rank < (*image)->base.members; rank++) {
			const struct wh_exchange_row *state = &(*image)->exchange.rows[rank];
			const struct wh_tcp_row *row = &(*image)->rows[rank];

			if (row->peer == peer && is_here(row) && state->told && !state->frozen)
				return row;
		}
	return NULL;
}

bool wh_tcp_row_holds(const struct wh_tcp_row *row, uint64_t offset, uint64_t bytes)
{
	for (size_t i = 0; i < row->part_count; i++)
		if (offset >= row->parts[i].offset && offset - row->parts[i].offset <= row->parts[i].bytes &&
		    bytes <= row->parts[i].bytes - (offset - row->parts[i].offset))
			return true;
	return false;
}

/* ---- becoming ready ----------------------------------------------------------------------------------------------- */

static bool row_is_here(const struct wh_image *base, uint32_t rank)
{
	return is_here(&((const struct wh_tcp_image *)base)->rows[rank]);
}

static bool send_to(const struct wh_tcp_image *image, uint32_t rank, const unsigned char *frame, size_t bytes)
{
	struct wh_tcp_link *link = image->rows[rank].peer->link;

	if (!wh_tcp_out_message(link, frame, bytes, true))
		return false;
	wh_tcp_dirty(wh_tcp_of(image->base.transport), link);
	return true;
}

static bool send_offer(struct wh_image *base, uint32_t rank)
{
	const struct wh_tcp_image *image = (struct wh_tcp_image *)base;
	const struct wh_tcp_offer offer = {
		.key = image->base.key,
		.layout_digest = image->layout_digest,
		.members = image->base.members,
		.rank = image->base.my_rank,
		.row_bytes = image->rows[image->base.my_rank].bytes,
	};
	unsigned char frame[WH_TCP_HEAD_BYTES + WH_TCP_OFFER_BYTES];

	return send_to(image, rank, frame, wh_tcp_put_offer(frame, &offer));
}

static bool send_mapped(struct wh_image *base, uint32_t rank)
{
	unsigned char frame[WH_TCP_HEAD_BYTES];

	return send_to((struct wh_tcp_image *)base, rank, frame, wh_tcp_put_plain(frame, WH_TCP_MAPPED, base->key));
}

/* Memory that reads as zeros; what is never touched costs nothing, but huge pages are set aside: where there is none when it is
 * touched the process would get a signal. NULL: there is none. */
static unsigned char *zero_memory(const struct wh_tcp *t, uint64_t bytes)
{
	bool huge = t->huge_pages == WH_HUGE_REQUIRE;
	uint64_t whole = huge ? (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE : bytes;
	void *memory = mmap(NULL, whole, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | (huge ? MAP_HUGETLB : MAP_NORESERVE), -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	if (t->huge_pages == WH_HUGE_TRY)
		(void)madvise(memory, bytes, MADV_HUGEPAGE);
	return memory;
}

static void free_memory(const struct wh_tcp *t, unsigned char *memory, uint64_t bytes)
{
	bool huge = t->huge_pages == WH_HUGE_REQUIRE;

	if (memory != NULL)
		(void)munmap(memory, huge ? (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE : bytes);
}

/* Makes a place for the row that the peer has offered. False: it does not fit, and the peer has been refused; or later. */
static bool map_offered(struct wh_tcp *t, const struct wh_tcp_image *image, struct wh_tcp_row *row,
			const struct wh_tcp_offer *offer)
{
	struct wh_tcp_peer *peer = row->peer;

	if (offer->layout_digest != image->layout_digest || offer->members != image->base.members ||
	    offer->rank != (uint32_t)(row - image->rows) || offer->row_bytes != row->bytes) {
		wh_tcp_refuse(t, peer,
			      "nodes %" PRIu32 " and %" PRIu32 " lay out image %" PRIx64
			      " differently: their configurations are not the same",
			      t->node, peer->node, offer->key);
		return false;
	}
	if (row->base == NULL)
		row->base = zero_memory(t, row->bytes);
	if (row->base == NULL)
		wh_event_queue_complain(&t->event_queue, "no memory for a row of node %" PRIu32, peer->node);
	return row->base != NULL;
}

static const unsigned char *map_row(struct wh_image *base, uint32_t rank, bool *offered)
{
	struct wh_tcp_image *image = (struct wh_tcp_image *)base;
	struct wh_tcp_row *row = &image->rows[rank];

	for (size_t i = 0; i < WH_TCP_OFFERS; i++) {
		struct wh_tcp_offer *offer = &row->peer->offers[i];

		if (offer->members == 0 || offer->key != base->key)
			continue;
		*offered = true;
		if (!map_offered(wh_tcp_of(base->transport), image, row, offer))
			return NULL; /* the refusal has dropped it, or it is tried again */
		offer->members = 0;
		return row->base;
	}
	return NULL;
}

static const struct wh_exchange_ops exchange_ops = {
	.is_here = row_is_here,
	.offer = send_offer,
	.map = map_row,
	.tell = send_mapped,
};

size_t wh_tcp_image_advance(struct wh_tcp *t, struct wh_tcp_image *image)
{
	return wh_exchange_advance(&image->exchange, &image->base, &t->event_queue);
}

bool wh_tcp_image_is_open(const struct wh_tcp *t, uint64_t key)
{
	for (const struct wh_tcp_image *image = t->images; image != NULL; image = image->next)
		if (image->base.key == key)
			return true;
	return false;
}

/* The peer's row has no place yet: in an image that is open, or that may be opened yet, as later ones have greater keys than
 * those that have been closed. */
bool wh_tcp_image_wants(const struct wh_tcp *t, const struct wh_tcp_peer *peer, uint64_t key)
{
	for (const struct wh_tcp_image *image = t->images; image != NULL; image = image->next) {
		if (image->base.key != key)
			continue;
		for (uint32_t rank = 0; rank < image->base.members; rank++)
			if (image->rows[rank].peer == peer && is_here(&image->rows[rank]))
				return wh_exchange_wants(&image->exchange.rows[rank]);
		return false;
	}
	return key >= t->past_key;
}

void wh_tcp_image_confirmed(struct wh_tcp *t, const struct wh_tcp_peer *peer, uint64_t key)
{
	for (struct wh_tcp_image *image = t->images; image != NULL; image = image->next)
		for (uint32_t rank = 0; image->base.key == key && rank < image->base.members; rank++)
			if (image->rows[rank].peer == peer && is_here(&image->rows[rank]))
				wh_exchange_confirmed(&image->exchange.rows[rank]);
}

/* ---- open and close ----------------------------------------------------------------------------------------------- */

static bool allocate(struct wh_tcp_image *image, const struct wh_image_spec *spec)
{
	size_t parts = 0;

	for (uint32_t rank = 0; rank < spec->members; rank++)
		parts += spec->rows[rank].part_count;
	image->rows = calloc(spec->members, sizeof(*image->rows));
	image->parts = calloc(parts + 1, sizeof(*image->parts));
	image->zeros = calloc(1, spec->control_bytes);
	image->base.arrived = image->arrived = calloc(spec->members, sizeof(*image->arrived));
	return wh_exchange_open(&image->exchange, &exchange_ops, spec->members) && image->rows != NULL &&
	       image->parts != NULL && image->zeros != NULL && image->arrived != NULL;
}

/* In ascending order; those that touch become one, as ranges that touch are pushed as one. */
static size_t copy_parts(struct wh_row_part *to, const struct wh_row_spec *from)
{
	size_t count = 0;

	for (size_t i = 0; i < from->part_count; i++) {
		struct wh_row_part part = from->parts[i];
		size_t at = count;

		for (; at > 0 && to[at - 1].offset > part.offset; at--)
			to[at] = to[at - 1];
		to[at] = part;
		count++;
	}
	for (size_t i = 1; i < count;) {
		if (to[i - 1].offset + to[i - 1].bytes != to[i].offset) {
			i++;
			continue;
		}
		to[i - 1].bytes += to[i].bytes;
		memmove(&to[i], &to[i + 1], (count - i - 1) * sizeof(*to));
		count--;
	}
	return count;
}

static void copy_spec(struct wh_tcp *t, struct wh_tcp_image *image, const struct wh_image_spec *spec)
{
	struct wh_row_part *parts = image->parts;

	for (uint32_t rank = 0; rank < spec->members; rank++) {
		const struct wh_row_spec *from = &spec->rows[rank];

		image->rows[rank] = (struct wh_tcp_row){
			.peer = &t->peers[from->node],
			.incarnation = from->incarnation,
			.bytes = from->bytes,
			.parts = parts,
			.part_count = copy_parts(parts, from),
		};
		parts += from->part_count;
	}
}

void wh_tcp_image_free(struct wh_tcp_image *image)
{
	struct wh_tcp *t = wh_tcp_of(image->base.transport);

	for (uint32_t rank = 0; image->rows != NULL && rank < image->base.members; rank++)
		free_memory(t, image->rows[rank].base, image->rows[rank].bytes);
	free_memory(t, image->base.own, image->own_bytes);
	wh_exchange_close(&image->exchange);
	free(image->arrived);
	free(image->zeros);
	free(image->parts);
	free(image->rows);
	free(image);
}

void wh_tcp_image_hold(struct wh_tcp_image *image)
{
	image->holds++;
}

void wh_tcp_image_let_go(struct wh_tcp_image *image)
{
	if (--image->holds == 0 && image->closed)
		wh_tcp_image_free(image);
}

enum whorl_result wh_tcp_image_open(struct wh_transport *transport, const struct wh_image_spec *spec,
				    struct wh_image **out, struct wh_error *err)
{
	struct wh_tcp *t = wh_tcp_of(transport);
	struct wh_tcp_image *image = calloc(1, sizeof(*image)), **link = &t->images;

	*out = NULL;
	if (image == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for an image");
	image->base = wh_exchange_image(transport, spec);
	image->layout_digest = spec->layout_digest;
	image->control_bytes = spec->control_bytes;
	image->own_bytes = spec->rows[spec->my_rank].bytes;
	image->base.own = zero_memory(t, image->own_bytes);
	if (!allocate(image, spec) || image->base.own == NULL) {
		wh_tcp_image_free(image);
		return wh_error_set(err, WHORL_MEMORY, "no memory for an image of %" PRIu32 " members%s", spec->members,
				    t->huge_pages == WH_HUGE_REQUIRE ? " in huge pages" : "");
	}
	copy_spec(t, image, spec);
	while (*link != NULL)
		link = &(*link)->next;
	*link = image;
	wh_tcp_image_advance(t, image);
	*out = &image->base;
	return WHORL_OK;
}

void wh_tcp_image_close(struct wh_image *base)
{
	struct wh_tcp *t = wh_tcp_of(base->transport);
	struct wh_tcp_image *image = (struct wh_tcp_image *)base, **link = &t->images;

	while (*link != image)
		link = &(*link)->next;
	*link = image->next;
	for (uint32_t node = 0; node < t->nodes; node++)
		if (t->peers[node].link != NULL)
			wh_tcp_in_forget(&t->peers[node].link->in, image);
	wh_tcp_past(&t->base, base->key + 1);
	image->closed = true;
	if (image->holds == 0)
		wh_tcp_image_free(image);
}
