/* image.c - the image of a view: my row as a memory file of its own, the rows of the others as read-only maps.
 *
 * How it becomes ready is told in session.h: an offer comes with the memory file, and to map one is to map that.
 *
 * The bytes of a push are where they belong already, so posting is storing the words, in order and with release, and
 * then looking whether a peer sleeps.
 */
#include "transport/shm/shm_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/counter.h"

/* ---- post and freeze ---------------------------------------------------------------------------------------------- */

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
			const struct wh_session_row *row = &image->base.rows[pushes[i].to[k]];

			if (!row->frozen && wh_session_row_is_here(row))
				wh_shm_look_at(t, &t->peers[row->peer->node]);
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
	unsigned char *copy = image->frozen + rank * image->base.control_bytes;

	if (rank == base->my_rank || image->base.rows[rank].frozen)
		return;
	image->base.rows[rank].frozen = true;
	if (base->ready)
		for (uint64_t at = 0; at < image->base.control_bytes; at += sizeof(wh_word)) {
			const wh_word *from = (const wh_word *)(const void *)(base->row[rank] + at);

			wh_store_relaxed((wh_word *)(void *)(copy + at), wh_load_acquire(from));
		}
	image->base.control[rank] = copy;
	if (!base->ready)
		base->ops->wake(base->transport);
}

/* Its process has ended: what it stored is all there, and proof.c says why it is seen. Frozen it stays, for pushes; and an image that
 * is not ready yet waits for it no more. Its rings can be read as well, since the columns may say now that something is there. The map
 * stays as long as the image. */
bool wh_shm_thaw(struct wh_image *base, uint32_t rank)
{
	struct wh_shm_image *image = (struct wh_shm_image *)base;
	const unsigned char *row = image->views[rank].base;

	if (rank == base->my_rank || row == NULL)
		return false;
	image->base.rows[rank].frozen = true;
	image->base.control[rank] = image->base.row[rank] = row;
	if (!base->ready)
		base->ops->wake(base->transport);
	return true;
}

/* ---- becoming ready ----------------------------------------------------------------------------------------------- */

/* The row's peer is a node of this process. */
static bool is_mine(struct wh_session_image *image, uint32_t rank)
{
	return wh_shm_conn_of(image->rows[rank].peer->conn)->pid == getpid();
}

bool wh_shm_image_offer(struct wh_session_image *base, uint32_t rank, struct wh_own *own)
{
	struct wh_shm_image *image = (struct wh_shm_image *)base;
	const struct wh_shm_claim claim =
		wh_shm_memory_claim(&image->own, base->rows[base->base.my_rank].bytes, is_mine(base, rank));

	wh_shm_claim_put(own->bytes, &claim);
	own->count = WH_SHM_CLAIM_BYTES;
	own->fds[0] = image->own.fd;
	return true;
}

const unsigned char *wh_shm_image_map(struct wh_session_image *base, uint32_t rank, const unsigned char *own,
				      size_t bytes, int *fd, char reason[WH_MESSAGE_REASON_BYTES])
{
	struct wh_shm_image *image = (struct wh_shm_image *)base;
	const struct wh_session_row *row = &base->rows[rank];
	const struct wh_shm_parts parts = {row->parts, row->part_count, base->control_bytes,
					   image->room.base != NULL ? image->room.base + image->places[rank] : NULL};
	struct wh_shm_claim claim = {.bytes = 0};
	struct wh_error err;

	if (bytes == WH_SHM_CLAIM_BYTES)
		claim = wh_shm_claim_take(own);
	if (claim.bytes != row->bytes) {
		snprintf(reason, WH_MESSAGE_REASON_BYTES, "its memory file is not as large as its offer says");
		return NULL;
	}
	if (wh_shm_view_map(&image->views[rank], *fd, &claim, &parts, is_mine(base, rank), &err) == WHORL_OK)
		return image->views[rank].base;
	snprintf(reason, WH_MESSAGE_REASON_BYTES, "%.*s", WH_MESSAGE_REASON_BYTES - 1, err.text);
	return NULL;
}

static void look(struct wh_shm *t, struct wh_shm_image *image)
{
	if (image->base.base.ready && !image->seen_ready)
		wh_shm_spare_later(t);
	image->seen_ready = image->base.base.ready;
	if (image->base.settled && image->own.bytes < WH_SHM_RETURNS)
		wh_shm_memory_let_go(&image->own); /* none will ask for it any more */
}

void wh_shm_image_look(struct wh_shm *t)
{
	for (struct wh_session_image *image = wh_session_images(t->base.session); image != NULL; image = image->next)
		look(t, (struct wh_shm_image *)image);
}

/* ---- open and close ----------------------------------------------------------------------------------------------- */

void wh_shm_image_free(struct wh_shm_image *image)
{
	for (uint32_t rank = 0; image->views != NULL && rank < image->base.base.members; rank++)
		wh_shm_view_unmap(&image->views[rank]);
	wh_shm_room_free(&image->room);
	wh_shm_memory_free(&image->own);
	wh_session_image_free(&image->base);
	free(image->frozen);
	free(image->places);
	free(image->let_go);
	free(image->views);
	free(image);
}

static bool allocate(struct wh_shm_image *image, const struct wh_image_spec *spec)
{
	image->views = calloc(spec->members, sizeof(*image->views));
	image->frozen = calloc(spec->members, spec->control_bytes);
	image->let_go = calloc(spec->members, sizeof(*image->let_go));
	image->places = calloc(spec->members, sizeof(*image->places));
	return image->views != NULL && image->frozen != NULL && image->let_go != NULL && image->places != NULL;
}

/* Without a room each row takes addresses of its own. */
static void make_room(struct wh_shm_image *image, const struct wh_image_spec *spec)
{
	uint64_t bytes = 0;

	for (uint32_t rank = 0; rank < spec->members; rank++) {
		image->places[rank] = bytes;
		if (rank != spec->my_rank)
			bytes += wh_shm_room_for(spec->rows[rank].bytes);
	}
	(void)wh_shm_room_take(&image->room, bytes);
}

enum whorl_result wh_shm_image_open(struct wh_transport *transport, const struct wh_image_spec *spec,
				    struct wh_image **out, struct wh_error *err)
{
	struct wh_shm *t = wh_shm_of(transport);
	const uint64_t bytes = spec->rows[spec->my_rank].bytes;
	struct wh_shm_wish wish = {.name = "whorl-row", .bytes = wh_shm_spare_room(bytes), .huge_pages = t->huge_pages};
	struct wh_shm_image *image = calloc(1, sizeof(*image));
	enum whorl_result result = WHORL_OK;

	*out = NULL;
	if (image == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for an image");
	image->own.fd = -1;
	if (!wh_session_image_init(&image->base, t->base.session, transport, spec) || !allocate(image, spec)) {
		wh_shm_image_free(image);
		return wh_error_set(err, WHORL_MEMORY, "no memory for an image of %" PRIu32 " members", spec->members);
	}
	if (!wh_shm_spare_take(t, bytes, &image->own))
		result = wh_shm_memory_make(&image->own, &wish, err);
	if (result != WHORL_OK && wish.bytes > bytes) { /* the room is a luxury */
		wish.bytes = bytes;
		result = wh_shm_memory_make(&image->own, &wish, err);
	}
	if (result != WHORL_OK) {
		wh_shm_image_free(image);
		return result;
	}
	make_room(image, spec);
	image->base.base.own = image->own.base;
	t->row_bytes_before = t->row_bytes;
	t->row_bytes = bytes;
	wh_session_image_open(&image->base);
	look(t, image);
	*out = &image->base.base;
	return WHORL_OK;
}

void wh_shm_image_close(struct wh_image *base)
{
	struct wh_shm *t = wh_shm_of(base->transport);
	struct wh_shm_image *image = (struct wh_shm_image *)base;

	wh_session_image_close(&image->base);
	wh_shm_row_let_go(t, image);
	wh_shm_row_await(t, image);
	wh_shm_image_discard(t, image);
	wh_shm_spare_later(t); /* it may have taken the spare, and never become ready */
}
