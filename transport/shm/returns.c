/* returns.c - rows that no node reads any more, which are used again.
 *
 * A row of many megabytes takes tens of milliseconds to make and to free, and next to none to zero. So my row of a view that is over
 * becomes that of a later one, once every peer that it was offered to has said that it reads no more of it (LET_GO), having closed the
 * image. One that stands still, has been removed or has ended has not said so: what it may read is never used again, and goes as ever.
 * So does what is not said in time, as a message that finds no room is not said again.
 *
 * Nothing writes to it meanwhile either: the row is mine, and an image is closed when no claim in it is open (group/epoch.c).
 */
#include "transport/shm/shm_int.h"

#if WH_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/* What a peer of this process has read, before what I write there next: the message says so, which ThreadSanitizer does not see. */
static void share_passes(struct wh_shm_share *share, bool to_owner)
{
#if WH_TSAN
	if (share != NULL && to_owner)
		__tsan_acquire(share);
	else if (share != NULL)
		__tsan_release(share);
#else
	(void)share, (void)to_owner;
#endif
}

/* ---- rows of others ------------------------------------------------------------------------------------------------- */

/* Mapped or not: an image that is closed maps nothing any more. Not said again: then it is freed as if I held it. */
void wh_shm_row_let_go(struct wh_shm *t, struct wh_shm_image *image)
{
	const struct wh_session_image *base = &image->base;
	unsigned char message[WH_HEAD_BYTES];
	size_t bytes = wh_message_put_plain(message, WH_SHM_LET_GO, base->base.key);

	for (uint32_t rank = 0; rank < base->base.members; rank++) {
		const struct wh_session_row *row = &base->rows[rank];

		if (rank == base->base.my_rank || row->bytes < WH_SHM_RETURNS || !wh_session_row_is_here(row))
			continue;
		share_passes(image->views[rank].share, false);
		(void)wh_session_send(t->base.session, row->peer->node, message, bytes, NULL, 0, WH_WIRE_OWN);
	}
}

/* ---- mine ----------------------------------------------------------------------------------------------------------- */

static void come_back(struct wh_shm *t)
{
	struct wh_shm_memory memory = t->returning.memory;

	t->returning.memory = (struct wh_shm_memory){.fd = -1};
	share_passes(memory.share, true);
	wh_shm_spare_give(t, &memory);
}

void wh_shm_row_give_up(struct wh_shm *t)
{
	for (uint32_t node = 0; node < t->nodes; node++)
		t->peers[node].holds_row = false;
	t->returning.holders = 0;
	if (t->returning.memory.base != NULL)
		wh_shm_memory_discard(t, &t->returning.memory);
}

/* Those that it was offered to and that have not let go of it. False: one of them will never say so. */
static bool find_holders(struct wh_shm *t, const struct wh_shm_image *image)
{
	for (uint32_t rank = 0; rank < image->base.base.members; rank++) {
		const struct wh_session_row *row = &image->base.rows[rank];

		if (!row->offered || image->let_go[rank])
			continue;
		if (!wh_session_row_is_here(row))
			return false;
		t->peers[row->peer->node].holds_row = true;
		t->returning.holders++;
	}
	return true;
}

void wh_shm_row_await(struct wh_shm *t, struct wh_shm_image *image)
{
	if (image->own.bytes < WH_SHM_RETURNS || image->own.fd < 0 || wh_session_has_left(t->base.session))
		return;
	wh_shm_row_give_up(t); /* one is enough */
	if (!find_holders(t, image)) {
		wh_shm_row_give_up(t);
		return;
	}
	t->returning.memory = image->own;
	t->returning.key = image->base.base.key;
	image->own = (struct wh_shm_memory){.fd = -1};
	if (t->returning.holders == 0)
		come_back(t);
}

void wh_shm_row_on_let_go(struct wh_shm *t, uint32_t node, uint64_t key)
{
	struct wh_shm_peer *peer = &t->peers[node];
	uint32_t rank;
	struct wh_session_image *image =
		wh_session_image_of(t->base.session, wh_session_peer(t->base.session, node), key, &rank);

	if (image != NULL)
		((struct wh_shm_image *)image)->let_go[rank] = true;
	if (!peer->holds_row || t->returning.key != key)
		return;
	peer->holds_row = false;
	if (--t->returning.holders == 0)
		come_back(t);
}

void wh_shm_row_on_end(struct wh_shm *t, uint32_t node)
{
	if (t->peers[node].holds_row)
		wh_shm_row_give_up(t);
}

/* It is awaited already; or two images are ready, of which the older one will be closed. One that is not ready may never be. */
bool wh_shm_row_comes(const struct wh_shm *t)
{
	uint32_t ready = 0;

	for (const struct wh_session_image *image = wh_session_images(t->base.session); image != NULL;
	     image = image->next)
		ready += image->base.ready;
	return t->row_bytes >= WH_SHM_RETURNS && (t->returning.holders > 0 || ready > 1);
}
