/* rows.c - how an image becomes ready: with each peer the places of rows are exchanged, and two queue pairs connected. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "transport/verbs/verbs_int.h"

#define FAILED_NS (300 * WH_NS_PER_MS) /* when writes to a peer fail it has so long to say that it does not want them */

bool wh_verbs_row_is_here(const struct wh_verbs_row *row)
{
	return row->peer->state == WH_VERBS_MET && row->peer->incarnation == row->incarnation;
}

/* ---- queue pairs -------------------------------------------------------------------------------------------------- */

static struct ibv_qp *new_pair(const struct wh_verbs *t, struct wh_verbs_row *row, bool in)
{
	const struct wh_verbs_device *device = &t->device;
	struct ibv_qp_init_attr wanted = {
		.send_cq = in ? device->in : row->out.cq,
		.recv_cq = device->in,
		.srq = device->srq,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = in ? 1 : WH_VERBS_DEPTH,
			.max_send_sge = 1,
			.max_inline_data = in ? 0 : WH_VERBS_INLINE},
	};
	struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .qp_access_flags = in ? IBV_ACCESS_REMOTE_WRITE : 0};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	struct ibv_qp *pair = ibv_create_qp(device->pd, &wanted);

	if (pair == NULL)
		return NULL;
	init.port_num = row->peer->link->id->port_num;
	if (ibv_modify_qp(pair, &init, mask) == 0)
		return pair;
	ibv_destroy_qp(pair);
	return NULL;
}

/* The path is that of the connection, as librdmacm knows it. */
static bool connect_pair(const struct wh_verbs *t, const struct wh_verbs_row *row, struct ibv_qp *pair, uint32_t to,
			 uint32_t to_psn)
{
	struct ibv_qp_attr path = {.qp_state = IBV_QPS_RTR}, ready = {.qp_state = IBV_QPS_RTS};
	int mask;

	if (rdma_init_qp_attr(row->peer->link->id, &path, &mask) != 0)
		return false;
	path.qp_state = IBV_QPS_RTR;
	path.dest_qp_num = to;
	path.rq_psn = to_psn;
	path.max_dest_rd_atomic = 0;
	path.min_rnr_timer = WH_VERBS_RNR_TIMER;
	if (ibv_modify_qp(pair, &path,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0)
		return false;
	if (pair == row->in)
		return true;
	ready.timeout = t->timeout;
	ready.retry_cnt = WH_VERBS_RETRIES;
	ready.rnr_retry = WH_VERBS_RNR_RETRIES;
	ready.sq_psn = row->out_psn;
	return ibv_modify_qp(pair, &ready,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				     IBV_QP_MAX_QP_RD_ATOMIC) == 0;
}

/* My side of a pair: its row registered, both queue pairs. */
static bool prepare_row(struct wh_verbs *t, struct wh_verbs_image *image, struct wh_verbs_row *row)
{
	if (row->out.qp != NULL)
		return true;
	if (row->mr == NULL)
		row->mr = ibv_reg_mr(t->device.pd, image->memory.base + row->at, row->held,
				     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (row->out.cq == NULL)
		row->out.cq = ibv_create_cq(t->device.context, WH_VERBS_DEPTH + 1, NULL, NULL, 0);
	if (row->mr == NULL || row->out.cq == NULL)
		goto out_complain;
	if (row->in == NULL)
		row->in = new_pair(t, row, true);
	if (row->in == NULL)
		goto out_complain;
	row->out.qp = new_pair(t, row, false);
	if (row->out.qp == NULL)
		goto out_complain;
	row->out.count = wh_verbs_count(WH_VERBS_DEPTH);
	row->out_psn = (uint32_t)t->env->random_u64(t->env->ctx) & 0xffffff;
	return true;

out_complain:
	wh_event_queue_complain(&t->event_queue, "no queue pairs for node %" PRIu32 ", or no memory that stays: %s",
				row->peer->node, strerror(errno));
	wh_dial_timer(&t->redial, 100 * WH_NS_PER_MS);
	return false;
}

/* ---- becoming ready ----------------------------------------------------------------------------------------------- */

static bool is_here(const struct wh_image *base, uint32_t rank)
{
	return wh_verbs_row_is_here(&((const struct wh_verbs_image *)base)->rows[rank]);
}

static bool send_offer(struct wh_image *base, uint32_t rank)
{
	struct wh_verbs *t = wh_verbs_of(base->transport);
	struct wh_verbs_image *image = (struct wh_verbs_image *)base;
	struct wh_verbs_row *row = &image->rows[rank];
	struct wh_verbs_offer offer = {
		.head.kind = WH_VERBS_OFFER,
		.key = image->base.key,
		.layout_digest = image->layout_digest,
		.row_bytes = image->rows[image->base.my_rank].bytes,
		.base = (uintptr_t)image->memory.base + row->at,
		.members = image->base.members,
		.rank = image->base.my_rank,
		.part_count = row->part_count,
	};

	if (!wh_verbs_link_can_send(row->peer->link, WH_VERBS_FOR_IMAGES) || !prepare_row(t, image, row))
		return false;
	offer.rkey = row->mr->rkey;
	offer.in_qp = row->in->qp_num;
	offer.out_qp = row->out.qp->qp_num;
	offer.out_psn = row->out_psn;
	return wh_verbs_link_send(t, row->peer->link, WH_VERBS_FOR_IMAGES, &offer.head, sizeof(offer), row->parts,
				  row->part_count * sizeof(row->parts[0]));
}

static bool send_about(struct wh_verbs *t, const struct wh_verbs_image *image, const struct wh_verbs_row *row,
		       enum wh_verbs_kind kind)
{
	struct wh_verbs_about about = {.head.kind = kind, .key = image->base.key};

	return wh_verbs_link_send(t, row->peer->link, WH_VERBS_FOR_IMAGES, &about.head, sizeof(about), NULL, 0);
}

static bool send_mapped(struct wh_image *base, uint32_t rank)
{
	const struct wh_verbs_image *image = (struct wh_verbs_image *)base;

	return send_about(wh_verbs_of(base->transport), image, &image->rows[rank], WH_VERBS_MAPPED);
}

static bool take_places(struct wh_verbs_out *out, const struct wh_verbs_offer *offer)
{
	uint64_t address = offer->base;

	out->places = calloc(offer->part_count + 1, sizeof(*out->places));
	if (out->places == NULL)
		return false;
	for (uint32_t i = 0; i < offer->part_count; i++) {
		out->places[i] = (struct wh_verbs_place){offer->parts[i].offset, offer->parts[i].bytes, address};
		address += offer->parts[i].bytes;
	}
	out->place_count = offer->part_count;
	out->rkey = offer->rkey;
	return true;
}

/* False: it did not fit, and the peer has been refused or lost. */
static bool take_offer(struct wh_verbs *t, struct wh_verbs_image *image, struct wh_verbs_row *row,
		       const struct wh_verbs_offer *offer)
{
	struct wh_verbs_peer *peer = row->peer;

	if (offer->layout_digest != image->layout_digest || offer->members != image->base.members ||
	    offer->rank != (uint32_t)(row - image->rows) || offer->row_bytes != row->bytes ||
	    !wh_verbs_parts_are_sound(offer, image->rows[image->base.my_rank].bytes)) {
		wh_verbs_refuse(t, peer,
				"nodes %" PRIu32 " and %" PRIu32 " lay out image %" PRIx64
				" differently: their configurations are not the same",
				t->node, peer->node, offer->key);
		return false;
	}
	if (take_places(&row->out, offer) && connect_pair(t, row, row->in, offer->out_qp, offer->out_psn) &&
	    connect_pair(t, row, row->out.qp, offer->in_qp, 0)) {
		row->out.open = true;
		return true;
	}
	wh_event_queue_complain(&t->event_queue, "cannot connect queue pairs to node %" PRIu32 ": %s", peer->node,
				strerror(errno));
	wh_verbs_lose(t, peer, "cannot be connected to");
	return false;
}

/* Not before mine has been made: it is made of queue pairs that this needs. */
static const unsigned char *map_row(struct wh_image *base, uint32_t rank, bool *offered)
{
	struct wh_verbs_image *image = (struct wh_verbs_image *)base;
	struct wh_verbs_row *row = &image->rows[rank];

	for (size_t i = 0; i < WH_VERBS_PENDING && image->exchange.rows[rank].offered; i++) {
		struct wh_verbs_offer *offer = row->peer->pending[i];
		bool taken;

		if (offer == NULL || offer->key != base->key)
			continue;
		*offered = true;
		row->peer->pending[i] = NULL;
		taken = take_offer(wh_verbs_of(base->transport), image, row, offer);
		free(offer);
		return taken ? row->view : NULL;
	}
	return NULL;
}

bool wh_verbs_exchange_open(struct wh_verbs_image *image, uint32_t members)
{
	static const struct wh_exchange_ops ops = {
		.is_here = is_here,
		.offer = send_offer,
		.map = map_row,
		.tell = send_mapped,
	};

	return wh_exchange_open(&image->exchange, &ops, members);
}

/* What goes on in images that are closed as well. */
static size_t advance_writes(struct wh_verbs *t, struct wh_verbs_image *image, struct wh_verbs_row *row)
{
	size_t done = wh_verbs_out_advance(t, image, row);

	if (!wh_verbs_row_is_here(row))
		return done;
	if (row->tell_shut && send_about(t, image, row, WH_VERBS_SHUT)) {
		row->tell_shut = false;
		done++;
	}
	if (row->out.failed_ns == 0 || row->shut || wh_event_queue_is_full(&t->event_queue))
		return done;
	if (wh_env_now(t->env) - row->out.failed_ns < FAILED_NS) {
		wh_dial_timer(&t->redial, FAILED_NS);
		return done;
	}
	wh_event_queue_complain(&t->event_queue, "node %" PRIu32 ": %s", row->peer->node, row->out.how);
	wh_verbs_lose(t, row->peer, "takes no writes any more");
	return done + 1;
}

size_t wh_verbs_image_advance(struct wh_verbs *t, struct wh_verbs_image *image)
{
	size_t done = 0;

	for (uint32_t rank = 0; rank < image->base.members; rank++)
		if (rank != image->base.my_rank)
			done += advance_writes(t, image, &image->rows[rank]);
	if (!image->closed)
		done += wh_exchange_advance(&image->exchange, &image->base, &t->event_queue);
	return done;
}

bool wh_verbs_image_wants(const struct wh_verbs *t, const struct wh_verbs_peer *peer, uint64_t key)
{
	for (const struct wh_verbs_image *image = t->images; image != NULL; image = image->next) {
		if (image->base.key != key || image->closed)
			continue;
		for (uint32_t rank = 0; rank < image->base.members; rank++)
			if (image->rows[rank].peer == peer && wh_verbs_row_is_here(&image->rows[rank]))
				return wh_exchange_wants(&image->exchange.rows[rank]);
		return false;
	}
	return key >= t->past_key;
}

/* The image with that key, which may be closed, and the rank in it of that peer. NULL: there is none, or it is not in it. */
static struct wh_verbs_image *find_row(struct wh_verbs *t, const struct wh_verbs_peer *peer, uint64_t key,
				       uint32_t *rank)
{
	for (struct wh_verbs_image *image = t->images; image != NULL; image = image->next)
		for (*rank = 0; image->base.key == key && *rank < image->base.members; (*rank)++)
			if (image->rows[*rank].peer == peer && *rank != image->base.my_rank &&
			    wh_verbs_row_is_here(&image->rows[*rank]))
				return image;
	return NULL;
}

void wh_verbs_image_confirmed(struct wh_verbs *t, const struct wh_verbs_peer *peer, uint64_t key)
{
	uint32_t rank;
	struct wh_verbs_image *image = find_row(t, peer, key, &rank);

	if (image != NULL)
		wh_exchange_confirmed(&image->exchange.rows[rank]);
}

void wh_verbs_image_shut(struct wh_verbs *t, const struct wh_verbs_peer *peer, uint64_t key)
{
	uint32_t rank;
	struct wh_verbs_image *image = find_row(t, peer, key, &rank);
	struct wh_verbs_row *row;

	if (image == NULL)
		return;
	row = &image->rows[rank];
	row->shut = true;
	row->out.open = false;
	row->out.queue_out = row->out.queue_in;
}

void wh_verbs_images_lose(struct wh_verbs *t, const struct wh_verbs_peer *peer)
{
	for (struct wh_verbs_image *image = t->images; image != NULL; image = image->next)
		for (uint32_t rank = 0; rank < image->base.members; rank++) {
			struct wh_verbs_row *row = &image->rows[rank];

			if (row->peer != peer || row->incarnation != peer->incarnation)
				continue;
			row->out.open = false;
			row->out.queue_out = row->out.queue_in;
		}
}
