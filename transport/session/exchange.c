/* exchange.c - see exchange.h. */
#include "transport/session/exchange.h"

#include <stdlib.h>

struct wh_image wh_exchange_image(struct wh_transport *transport, const struct wh_image_spec *spec)
{
	return (struct wh_image){
		.ops = transport->ops,
		.transport = transport,
		.members = spec->members,
		.my_rank = spec->my_rank,
		.key = spec->key,
	};
}

bool wh_exchange_open(struct wh_exchange *x, const struct wh_exchange_ops *ops, uint32_t members)
{
	x->ops = ops;
	x->rows = calloc(members, sizeof(*x->rows));
	x->control = calloc(members, sizeof(*x->control));
	x->row = calloc(members, sizeof(*x->row));
	return x->rows != NULL && x->control != NULL && x->row != NULL;
}

void wh_exchange_close(struct wh_exchange *x)
{
	free(x->row);
	free(x->control);
	free(x->rows);
}

static size_t map_row(struct wh_exchange *x, struct wh_image *image, uint32_t rank)
{
	struct wh_exchange_row *row = &x->rows[rank];
	bool offered = false;

	x->row[rank] = x->ops->map(image, rank, &offered);
	if (!offered)
		return 0;
	row->mapped = x->row[rank] != NULL;
	/* Mine may have come before the peer had this image open, and after it had closed one of a greater key. */
	row->offers_again = row->offered && !row->confirmed;
	return 1;
}

/* With one that is frozen nothing new is begun. But if it offered me its row before, it is told: what I have pushed goes
 * out to it, and it sees nothing before it is ready. Each step may have lost the peer. */
static size_t advance_row(struct wh_exchange *x, struct wh_image *image, uint32_t rank,
			  const struct wh_event_queue *event_queue)
{
	struct wh_exchange_row *row = &x->rows[rank];
	size_t done = 0;

	if (x->ops->is_here(image, rank) && !row->frozen && (!row->offered || row->offers_again) &&
	    x->ops->offer(image, rank)) {
		row->offered = true;
		row->offers_again = false;
		done++;
	}
	if (x->ops->is_here(image, rank) && wh_exchange_wants(row) && !wh_event_queue_is_full(event_queue))
		done += map_row(x, image, rank);
	if (x->ops->is_here(image, rank) && row->mapped && !row->told)
		done += row->told = x->ops->tell(image, rank);
	return done;
}

static bool can_be_read(const struct wh_exchange_row *row)
{
	return row->frozen || (row->mapped && row->confirmed);
}

/* Of those that can be read. An incarnation that was here and is not any more never comes again. */
static bool has_all(const struct wh_exchange *x, const struct wh_image *image, uint32_t rank)
{
	const struct wh_exchange_row *row = &x->rows[rank];

	return row->told || !x->ops->is_here(image, rank) || (row->frozen && !row->mapped);
}

/* Of one that is frozen the control columns are the transport's copy already, and its row is not read. */
static void become_ready(struct wh_exchange *x, struct wh_image *image)
{
	x->row[image->my_rank] = image->own;
	for (uint32_t rank = 0; rank < image->members; rank++)
		if (x->rows[rank].frozen)
			x->row[rank] = NULL;
		else
			x->control[rank] = x->row[rank];
	image->row = x->row;
	image->control = x->control;
	image->ready = true;
}

size_t wh_exchange_advance(struct wh_exchange *x, struct wh_image *image, const struct wh_event_queue *event_queue)
{
	bool ready = true, settled = true;
	size_t done = 0;

	if (x->settled)
		return 0;
	for (uint32_t rank = 0; rank < image->members; rank++) {
		if (rank == image->my_rank)
			continue;
		done += advance_row(x, image, rank, event_queue);
		ready = ready && can_be_read(&x->rows[rank]);
		settled = settled && has_all(x, image, rank);
	}
	if (ready && !image->ready) {
		become_ready(x, image);
		done++;
	}
	x->settled = image->ready && settled;
	return done;
}

void wh_exchange_confirmed(struct wh_exchange_row *row)
{
	row->confirmed = row->confirmed || row->offered;
}

bool wh_exchange_wants(const struct wh_exchange_row *row)
{
	return !row->mapped && !row->frozen;
}
