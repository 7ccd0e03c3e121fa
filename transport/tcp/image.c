/* image.c - the image of a view: my row, and a place for the row of each of the others, all in memory of my own.
 *
 * How it becomes ready is told in session.h: an offer says that I have this image open, and to map one is to have a place for the
 * row. Only then anything is pushed, so no push ever comes for an image that was not open yet. One that has closed since is thrown
 * away where it comes in (tcp/in.c).
 *
 * Columns that are pushed as bytes leave as words: so no reader ever sees half of one, wherever the stream is cut (T3).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "transport/tcp/tcp_int.h"

#define HUGE_PAGE (UINT64_C(2) << 20)
#define AGAIN_NS (100 * WH_NS_PER_MS) /* what there was no memory for is tried again then */

/* ---- post and freeze ---------------------------------------------------------------------------------------------- */

/* Each word that the range touches, as it is now. Its neighbours in those words are mine as well, and were pushed. */
static bool queue_columns(struct wh_tcp_queue *q, struct wh_tcp_image *image, uint64_t offset, uint64_t end)
{
	for (offset -= offset % sizeof(wh_word); offset < end; offset += sizeof(wh_word)) {
		const wh_word *word = (const wh_word *)(const void *)(image->base.base.own + offset);

		if (!wh_tcp_queue_word(q, image, offset, wh_load_relaxed(word)))
			return false;
	}
	return true;
}

static bool queue_push(struct wh_tcp_queue *q, struct wh_tcp_image *image, const struct wh_push *push)
{
	uint64_t end = push->offset + push->bytes, control = image->base.control_bytes;
	uint32_t me = image->base.base.my_rank;

	if (push->relayed > 0)
		return wh_tcp_queue_range(q, image, push->relayed - 1, push->offset, push->bytes);
	if (push->kind == WH_PUSH_WORD)
		return wh_tcp_queue_word(q, image, push->offset, push->value);
	if (push->offset >= control)
		return wh_tcp_queue_range(q, image, me, push->offset, push->bytes);
	return queue_columns(q, image, push->offset, end < control ? end : control) &&
	       (end <= control || wh_tcp_queue_range(q, image, me, control, end - control));
}

static void push_to(struct wh_tcp *t, struct wh_tcp_image *image, uint32_t rank, const struct wh_push *push)
{
	const struct wh_session_row *row = &image->base.rows[rank];
	struct wh_tcp_conn *conn = wh_tcp_conn_of(row->peer->conn);

	if (row->frozen || !row->confirmed || !wh_session_row_is_here(row) || conn->link->out.dead)
		return;
	if (!queue_push(&conn->link->out.queue, image, push)) {
		wh_session_doom(t->base.session, row->peer->node,
				"is stalled: more waits for it than there is room for");
		conn->link->out.dead = true;
		wh_poll_wake(&t->poll);
		return;
	}
	conn->link->out.queue.loud = conn->link->out.queue.loud || !push->no_wake;
	wh_tcp_mark(conn, push->may_delay);
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
	if (!t->wire->gathers)
		wh_tcp_wire_flush(t->wire);
}

/* All that is written there is written by this thread, which from now on throws away what comes of that row: it stays as it is.
 * What came before the image was ready has not been seen by any thread, and none sees it. */
void wh_tcp_freeze(struct wh_image *base, uint32_t rank)
{
	struct wh_tcp_image *image = (struct wh_tcp_image *)base;
	struct wh_session_row *row = &image->base.rows[rank];
	const struct wh_tcp_conn *conn = wh_tcp_conn_of(row->peer->conn);

	if (rank == base->my_rank || row->frozen)
		return;
	row->frozen = true;
	if (conn != NULL && conn->link != NULL)
		wh_tcp_in_forget(&conn->link->in, image);
	if (base->ready)
		return;
	image->base.control[rank] = image->zeros;
	base->ops->wake(base->transport); /* it may have been the last that the image waited for */
}

/* ---- what comes in ------------------------------------------------------------------------------------------------- */

struct wh_tcp_image *wh_tcp_image_for(const struct wh_tcp_wire *w, uint32_t node, uint64_t key, uint32_t *rank)
{
	struct wh_session_image *image = wh_session_image_of(w->session, wh_session_peer(w->session, node), key, rank);

	if (image == NULL || !image->rows[*rank].told || image->rows[*rank].frozen)
		return NULL;
	return (struct wh_tcp_image *)image;
}

bool wh_tcp_row_holds(const struct wh_session_row *row, uint64_t offset, uint64_t bytes)
{
	for (size_t i = 0; i < row->part_count; i++)
		if (offset >= row->parts[i].offset && offset - row->parts[i].offset <= row->parts[i].bytes &&
		    bytes <= row->parts[i].bytes - (offset - row->parts[i].offset))
			return true;
	return false;
}

/* ---- becoming ready ----------------------------------------------------------------------------------------------- */

/* Memory that reads as zeros; what is never touched costs nothing, but huge pages are set aside: where there is none when it is
 * touched the process would get a signal. NULL: there is none. */
static unsigned char *zero_memory(int huge_pages, uint64_t bytes)
{
	bool huge = huge_pages == WH_HUGE_REQUIRE;
	uint64_t whole = huge ? (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE : bytes;
	void *memory = mmap(NULL, whole, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | (huge ? MAP_HUGETLB : MAP_NORESERVE), -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	if (huge_pages == WH_HUGE_TRY)
		(void)madvise(memory, bytes, MADV_HUGEPAGE);
	return memory;
}

static void free_memory(int huge_pages, unsigned char *memory, uint64_t bytes)
{
	bool huge = huge_pages == WH_HUGE_REQUIRE;

	if (memory != NULL)
		(void)munmap(memory, huge ? (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE : bytes);
}

const unsigned char *wh_tcp_image_map(struct wh_session_image *base, uint32_t rank, const unsigned char *own,
				      size_t bytes, int *fd, char reason[WH_MESSAGE_REASON_BYTES])
{
	struct wh_tcp_image *image = (struct wh_tcp_image *)base;

	(void)own, (void)fd;
	if (bytes > 0) {
		snprintf(reason, WH_MESSAGE_REASON_BYTES, "its offer is longer than it should be");
		return NULL;
	}
	if (image->places[rank] == NULL)
		image->places[rank] = zero_memory(image->huge_pages, base->rows[rank].bytes);
	if (image->places[rank] == NULL) {
		wh_event_queue_complain(wh_session_events(base->session), WH_COMPLAINT_STARVED,
					"no memory for a row of node %" PRIu32, base->rows[rank].peer->node);
		wh_poll_alarm(&wh_tcp_of(base->base.transport)->poll, AGAIN_NS);
	}
	return image->places[rank];
}

/* ---- open and close ----------------------------------------------------------------------------------------------- */

static void free_image(struct wh_tcp_image *image)
{
	for (uint32_t rank = 0; image->places != NULL && rank < image->base.base.members; rank++)
		free_memory(image->huge_pages, image->places[rank], image->base.rows[rank].bytes);
	free_memory(image->huge_pages, image->base.base.own, image->own_bytes);
	wh_session_image_free(&image->base);
	free(image->arrived);
	free(image->zeros);
	free(image->places);
	free(image);
}

void wh_tcp_image_hold(struct wh_tcp_image *image)
{
	image->holds++;
}

void wh_tcp_image_let_go(struct wh_tcp_image *image)
{
	if (--image->holds == 0 && image->closed)
		free_image(image);
}

static bool allocate(struct wh_tcp_image *image, const struct wh_image_spec *spec)
{
	image->places = calloc(spec->members, sizeof(*image->places));
	image->zeros = calloc(1, spec->control_bytes);
	image->base.base.arrived = image->arrived = calloc(spec->members, sizeof(*image->arrived));
	image->base.base.own = zero_memory(image->huge_pages, image->own_bytes);
	return image->places != NULL && image->zeros != NULL && image->arrived != NULL && image->base.base.own != NULL;
}

/* What is relayed to me may come before its owner has said that it has this image open: the member before me has heard it. */
static bool place_relays(struct wh_tcp_image *image)
{
	for (size_t i = 0; i < image->base.relay_count; i++) {
		uint32_t owner = image->base.relays[i].owner;

		if (image->places[owner] == NULL)
			image->places[owner] = zero_memory(image->huge_pages, image->base.rows[owner].bytes);
		if (image->places[owner] == NULL)
			return false;
	}
	return true;
}

enum whorl_result wh_tcp_image_open(struct wh_transport *transport, const struct wh_image_spec *spec,
				    struct wh_image **out, struct wh_error *err)
{
	const struct wh_tcp *t = wh_tcp_of(transport);
	struct wh_tcp_image *image = calloc(1, sizeof(*image));

	*out = NULL;
	if (image == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for an image");
	image->huge_pages = t->huge_pages;
	image->own_bytes = spec->rows[spec->my_rank].bytes;
	if (!wh_session_image_init(&image->base, t->base.session, transport, spec) || !allocate(image, spec) ||
	    !place_relays(image)) {
		free_image(image);
		return wh_error_set(err, WHORL_MEMORY, "no memory for an image of %" PRIu32 " members%s", spec->members,
				    t->huge_pages == WH_HUGE_REQUIRE ? " in huge pages" : "");
	}
	wh_session_image_open(&image->base);
	*out = &image->base.base;
	return WHORL_OK;
}

void wh_tcp_image_close(struct wh_image *base)
{
	const struct wh_tcp *t = wh_tcp_of(base->transport);
	struct wh_tcp_image *image = (struct wh_tcp_image *)base;

	wh_session_image_close(&image->base);
	for (uint32_t node = 0; node < t->nodes; node++) {
		const struct wh_tcp_conn *conn = wh_tcp_wire_conn(t->wire, node);

		if (conn != NULL && conn->link != NULL)
			wh_tcp_in_forget(&conn->link->in, image);
	}
	image->closed = true;
	if (image->holds == 0)
		free_image(image);
}
