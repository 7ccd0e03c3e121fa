/* image.c - the image of a view: my row as a memory file of its own, the rows of the others as read-only maps.
 *
 * How it becomes ready is told in exchange.h.
 *
 * The bytes of a push are where they belong already, so posting is storing the words, in order and with release, and
 * then looking whether a peer sleeps.
 */
#include "transport/shm/shm_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/counter.h"

#define SEND_AGAIN_NS (2 * WH_NS_PER_MS)

/* ---- post and freeze ---------------------------------------------------------------------------------------------- */

/* The row's peer is there, and is the incarnation that the row belongs to: not one that has come after it. */
static bool is_here(const struct wh_shm_row *row)
{
	return row->peer->state == WH_SHM_MET && row->peer->incarnation == row->incarnation;
}

/* An odd number that I have not rung for yet: it is going to sleep, and may have looked before my push.
 * tests/models/doorbell.c */
void wh_shm_look_at(struct wh_shm *t, struct wh_shm_peer *peer)
{
	const uint64_t one = 1;
	uint64_t parked;

	parked = wh_load_relaxed(&peer->status->parked); /* partner: arm() */
	if (__builtin_expect((parked & 1) == 0 || parked == peer->rung, 1))
		return;
	peer->rung = parked;
	wh_count(&t->rings, 1);
	(void)!write(peer->doorbell, &one, sizeof(one)); /* a full counter is readable as well */
}

void wh_shm_post(struct wh_image *base, const struct wh_push *pushes, size_t count)
{
	struct wh_shm_image *image = (struct wh_shm_image *)base;
	struct wh_shm *t = wh_shm_of(base->transport);
	const uint32_t *looked_at = NULL; /* a batch goes mostly to the same peers: once is enough */
	uint32_t looked_count = 0;
	bool rings = false;

	for (size_t i = 0; i < count; i++) {
		/* What was pushed before is seen before. Partner: the acquire load with which a peer reads the word. */
		if (pushes[i].kind == WH_PUSH_WORD)
			wh_store_release((wh_word *)(void *)(base->own + pushes[i].offset), pushes[i].value);
		rings = rings || !pushes[i].no_wake;
	}
	if (!rings)
		return;
	/* The pushes, then the look. Partner: the fence in arm(). And: what is stored in a row after a post is not seen before what
	 * it posted (T2). */
	wh_fence_full();
	for (size_t i = 0; i < count; i++) {
		if (pushes[i].no_wake || (pushes[i].to == looked_at && pushes[i].to_count <= looked_count))
			continue;
		looked_at = pushes[i].to;
		looked_count = pushes[i].to_count;
		for (uint32_t k = 0; k < pushes[i].to_count; k++) {
			const struct wh_shm_row *row = &image->rows[pushes[i].to[k]];

			if (!image->exchange.rows[pushes[i].to[k]].frozen && is_here(row))
				wh_shm_look_at(t, row->peer);
		}
	}
}

/* Its writer may be at work meanwhile, so the copy can be a mixture of older and newer words. It ascends, and each load
 * acquires: what is copied later was read later. So a word that lies before another and is pushed after it (a guard) is
 * never newer in the copy than the other; one that lies behind could be. sst/columns.h is laid out accordingly.
 *
 * Where the image is not ready nothing has been read of it, and nothing will: the copy stays zero. It may have been the
 * last that the image waited for, which service finds out. */
void wh_shm_freeze(struct wh_image *base, uint32_t rank)
{
	struct wh_shm_image *image = (struct wh_shm_image *)base;
	unsigned char *copy = image->frozen + rank * image->control_bytes;

	if (rank == base->my_rank || image->exchange.rows[rank].frozen)
		return;
	image->exchange.rows[rank].frozen = true;
	if (base->ready)
		for (uint64_t at = 0; at < image->control_bytes; at += sizeof(wh_word)) {
			const wh_word *from = (const wh_word *)(const void *)(base->row[rank] + at);

			wh_store_relaxed((wh_word *)(void *)(copy + at), wh_load_acquire(from));
		}
	image->exchange.control[rank] = copy;
	if (!base->ready)
		base->ops->wake(base->transport);
}

/* ---- becoming ready ----------------------------------------------------------------------------------------------- */

static bool row_is_here(const struct wh_image *base, uint32_t rank)
{
	return is_here(&((const struct wh_shm_image *)base)->rows[rank]);
}

static bool send_offer(struct wh_image *base, uint32_t rank)
{
	struct wh_shm *t = wh_shm_of(base->transport);
	struct wh_shm_image *image = (struct wh_shm_image *)base;
	struct wh_shm_peer *peer = image->rows[rank].peer;
	struct wh_shm_offer offer = {
		.head = wh_shm_head(WH_SHM_OFFER),
		.key = image->base.key,
		.layout_digest = image->layout_digest,
		.members = image->base.members,
		.rank = image->base.my_rank,
		.row = wh_shm_memory_claim(&image->own, image->rows[image->base.my_rank].bytes, peer->pid == getpid()),
	};

	if (wh_shm_send(peer->socket, &offer, sizeof(offer), &image->own.fd, 1) == 0)
		return true;
	wh_dial_timer(&t->redial, SEND_AGAIN_NS);
	return false;
}

static bool send_mapped(struct wh_image *base, uint32_t rank)
{
	struct wh_shm *t = wh_shm_of(base->transport);
	struct wh_shm_image *image = (struct wh_shm_image *)base;
	struct wh_shm_mapped mapped = {.head = wh_shm_head(WH_SHM_MAPPED), .key = base->key};

	if (wh_shm_send(image->rows[rank].peer->socket, &mapped, sizeof(mapped), NULL, 0) == 0)
		return true;
	wh_dial_timer(&t->redial, SEND_AGAIN_NS);
	return false;
}

/* Maps what the peer has offered. False: it did not fit, and has been refused. */
static bool map_offered(struct wh_shm *t, const struct wh_shm_image *image, struct wh_shm_row *row,
			const struct wh_shm_pending *pending)
{
	const struct wh_shm_offer *offer = &pending->offer;
	struct wh_shm_peer *peer = row->peer;
	struct wh_error err;

	if (offer->layout_digest != image->layout_digest || offer->members != image->base.members ||
	    offer->rank != (uint32_t)(row - image->rows) || offer->row.bytes != row->bytes) {
		wh_shm_refuse(t, peer,
			      "nodes %" PRIu32 " and %" PRIu32 " lay out image %" PRIx64
			      " differently: their configurations are not the same",
			      t->node, peer->node, offer->key);
		return false;
	}
	if (wh_shm_view_map(&row->view, pending->fd, &offer->row, row->parts, row->part_count, peer->pid == getpid(),
			    &err) == WHORL_OK)
		return true;
	wh_shm_refuse(t, peer, "row of node %" PRIu32 ": %s", peer->node, err.text);
	return false;
}

static const unsigned char *map_row(struct wh_image *base, uint32_t rank, bool *offered)
{
	struct wh_shm_image *image = (struct wh_shm_image *)base;
	struct wh_shm_row *row = &image->rows[rank];

	for (size_t i = 0; i < WH_SHM_PENDING; i++) {
		struct wh_shm_pending *pending = &row->peer->pending[i];

		if (!pending->there || pending->offer.key != base->key)
			continue;
		*offered = true;
		if (!map_offered(wh_shm_of(base->transport), image, row, pending))
			return NULL; /* the refusal has dropped it */
		close(pending->fd);
		pending->there = false;
		return row->view.base;
	}
	return NULL;
}

static const struct wh_exchange_ops exchange_ops = {
	.is_here = row_is_here,
	.offer = send_offer,
	.map = map_row,
	.tell = send_mapped,
};

size_t wh_shm_image_advance(struct wh_shm *t, struct wh_shm_image *image)
{
	bool was_ready = image->base.ready;
	size_t done = wh_exchange_advance(&image->exchange, &image->base, &t->event_queue);

	if (image->base.ready && !was_ready)
		wh_shm_spare_later(t);
	if (image->exchange.settled)
		wh_shm_memory_let_go(&image->own);
	return done;
}

bool wh_shm_image_wants(const struct wh_shm *t, const struct wh_shm_peer *peer, uint64_t key)
{
	for (const struct wh_shm_image *image = t->images; image != NULL; image = image->next) {
		if (image->base.key != key)
			continue;
		for (uint32_t rank = 0; rank < image->base.members; rank++)
			if (image->rows[rank].peer == peer && is_here(&image->rows[rank]))
				return wh_exchange_wants(&image->exchange.rows[rank]);
		return false;
	}
	return key >= t->past_key;
}

void wh_shm_image_confirmed(struct wh_shm *t, const struct wh_shm_peer *peer, uint64_t key)
{
	for (struct wh_shm_image *image = t->images; image != NULL; image = image->next)
		for (uint32_t rank = 0; image->base.key == key && rank < image->base.members; rank++)
			if (image->rows[rank].peer == peer && is_here(&image->rows[rank]))
				wh_exchange_confirmed(&image->exchange.rows[rank]);
}

/* ---- open and close ----------------------------------------------------------------------------------------------- */

static bool allocate(struct wh_shm_image *image, const struct wh_image_spec *spec)
{
	size_t parts = 0;

	for (uint32_t rank = 0; rank < spec->members; rank++)
		parts += spec->rows[rank].part_count;
	image->rows = calloc(spec->members, sizeof(*image->rows));
	image->parts = calloc(parts + 1, sizeof(*image->parts));
	image->frozen = calloc(spec->members, spec->control_bytes);
	return wh_exchange_open(&image->exchange, &exchange_ops, spec->members) && image->rows != NULL &&
	       image->parts != NULL && image->frozen != NULL;
}

static void copy_spec(struct wh_shm *t, struct wh_shm_image *image, const struct wh_image_spec *spec)
{
	struct wh_row_part *parts = image->parts;

	for (uint32_t rank = 0; rank < spec->members; rank++) {
		const struct wh_row_spec *from = &spec->rows[rank];

		image->rows[rank] = (struct wh_shm_row){
			.peer = &t->peers[from->node],
			.incarnation = from->incarnation,
			.bytes = from->bytes,
			.parts = parts,
			.part_count = from->part_count,
		};
		if (from->part_count > 0)
			memcpy(parts, from->parts, from->part_count * sizeof(*parts));
		parts += from->part_count;
	}
}

void wh_shm_image_free(struct wh_shm_image *image)
{
	for (uint32_t rank = 0; image->rows != NULL && rank < image->base.members; rank++)
		wh_shm_view_unmap(&image->rows[rank].view);
	wh_shm_memory_free(&image->own);
	wh_exchange_close(&image->exchange);
	free(image->frozen);
	free(image->parts);
	free(image->rows);
	free(image);
}

enum whorl_result wh_shm_image_open(struct wh_transport *transport, const struct wh_image_spec *spec,
				    struct wh_image **out, struct wh_error *err)
{
	struct wh_shm *t = wh_shm_of(transport);
	const struct wh_shm_wish wish = {
		.name = "whorl-row", .bytes = spec->rows[spec->my_rank].bytes, .huge_pages = t->huge_pages};
	struct wh_shm_image *image = calloc(1, sizeof(*image));
	struct wh_shm_image **link = &t->images;
	enum whorl_result result = WHORL_OK;

	*out = NULL;
	if (image == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for an image");
	image->own.fd = -1;
	image->base = wh_exchange_image(transport, spec);
	image->layout_digest = spec->layout_digest;
	image->control_bytes = spec->control_bytes;
	if (!allocate(image, spec)) {
		wh_shm_image_free(image);
		return wh_error_set(err, WHORL_MEMORY, "no memory for an image of %" PRIu32 " members", spec->members);
	}
	copy_spec(t, image, spec);
	if (!wh_shm_spare_take(t, wish.bytes, &image->own))
		result = wh_shm_memory_make(&image->own, &wish, err);
	if (result != WHORL_OK) {
		wh_shm_image_free(image);
		return result;
	}
	image->base.own = image->own.base;
	t->row_bytes = wish.bytes;
	while (*link != NULL)
		link = &(*link)->next;
	*link = image;
	wh_shm_image_advance(t, image);
	*out = &image->base;
	return WHORL_OK;
}

void wh_shm_image_close(struct wh_image *base)
{
	struct wh_shm *t = wh_shm_of(base->transport);
	struct wh_shm_image *image = (struct wh_shm_image *)base;
	struct wh_shm_image **link = &t->images;

	while (*link != image)
		link = &(*link)->next;
	*link = image->next;
	wh_shm_past(&t->base, base->key + 1);
	wh_shm_image_discard(t, image);
	wh_shm_spare_later(t); /* it may have taken the spare, and never become ready */
}
