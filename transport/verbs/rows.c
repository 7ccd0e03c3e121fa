/* rows.c - how an image becomes ready: with each peer the places of rows are exchanged, and two queue pairs connected. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/verbs/verbs_int.h"

#define FAILED_NS (300 * WH_NS_PER_MS) /* when writes to a peer fail it has so long to say that it does not want them */
#define AGAIN_NS (100 * WH_NS_PER_MS)  /* queue pairs that could not be made */

/* ---- queue pairs -------------------------------------------------------------------------------------------------- */

static struct ibv_qp *new_pair(const struct wh_verbs *t, struct wh_verbs_row *row, uint8_t port, bool in)
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
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT, .port_num = port, .qp_access_flags = in ? IBV_ACCESS_REMOTE_WRITE : 0};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	struct ibv_qp *pair = ibv_create_qp(device->pd, &wanted);

	if (pair == NULL)
		return NULL;
	if (ibv_modify_qp(pair, &init, mask) == 0)
		return pair;
	ibv_destroy_qp(pair);
	return NULL;
}

/* The path is that of the connection, as librdmacm knows it. */
static bool connect_pair(const struct wh_verbs *t, const struct wh_verbs_link *link, const struct wh_verbs_row *row,
			 struct ibv_qp *pair, uint32_t to, uint32_t to_psn)
{
	struct ibv_qp_attr path = {.qp_state = IBV_QPS_RTR}, ready = {.qp_state = IBV_QPS_RTS};
	int mask;

	if (rdma_init_qp_attr(link->id, &path, &mask) != 0)
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
static bool prepare_row(struct wh_verbs *t, struct wh_verbs_image *image, struct wh_verbs_row *row, uint32_t node)
{
	uint8_t port = t->peers[node].link.id->port_num;

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
		row->in = new_pair(t, row, port, true);
	if (row->in == NULL)
		goto out_complain;
	row->out.qp = new_pair(t, row, port, false);
	if (row->out.qp == NULL)
		goto out_complain;
	row->out.count = wh_verbs_count(WH_VERBS_DEPTH);
	row->out_psn = (uint32_t)t->env->random_u64(t->env->ctx) & 0xffffff;
	return true;

out_complain:
	wh_event_queue_complain(wh_session_events(t->base.session), WH_COMPLAINT_STARVED,
				"no queue pairs for node %" PRIu32 ", or no memory that stays: %s", node,
				strerror(errno));
	wh_poll_alarm(&t->poll, AGAIN_NS);
	return false;
}

/* ---- becoming ready ----------------------------------------------------------------------------------------------- */

/* Not before its device can be reached: that ends a wait(). */
bool wh_verbs_image_offer(struct wh_session_image *base, uint32_t rank, struct wh_own *own)
{
	struct wh_verbs *t = wh_verbs_of(base->base.transport);
	struct wh_verbs_image *image = (struct wh_verbs_image *)base;
	const struct wh_session_row *state = &base->rows[rank];
	struct wh_verbs_row *row = &image->rows[rank];
	struct wh_verbs_offer offer = {.base = (uintptr_t)image->memory.base + row->at};

	if (!wh_verbs_link_is_open(t, state->peer->node) || !prepare_row(t, image, row, state->peer->node))
		return false;
	offer.rkey = row->mr->rkey;
	offer.in_qp = row->in->qp_num;
	offer.out_qp = row->out.qp->qp_num;
	offer.out_psn = row->out_psn;
	own->count = wh_verbs_put_offer(own->bytes, &offer, state->parts, state->part_count);
	return true;
}

static bool take_places(struct wh_verbs_out *out, const struct wh_verbs_offer *offer, const struct wh_row_part *parts,
			size_t count)
{
	uint64_t address = offer->base;

	free(out->places);
	out->places = calloc(count + 1, sizeof(*out->places));
	if (out->places == NULL)
		return false;
	for (size_t i = 0; i < count; i++) {
		out->places[i] = (struct wh_verbs_place){parts[i].offset, parts[i].bytes, address};
		address += parts[i].bytes;
	}
	out->place_count = (uint32_t)count;
	out->rkey = offer->rkey;
	return true;
}

/* Not before mine has been made: it is made of queue pairs that this needs. */
const unsigned char *wh_verbs_image_map(struct wh_session_image *base, uint32_t rank, const unsigned char *own,
					size_t bytes, int *fd, char reason[WH_MESSAGE_REASON_BYTES])
{
	struct wh_verbs *t = wh_verbs_of(base->base.transport);
	struct wh_verbs_row *row = &((struct wh_verbs_image *)base)->rows[rank];
	uint32_t node = base->rows[rank].peer->node;
	const struct wh_verbs_link *link = &t->peers[node].link;
	struct wh_row_part parts[WH_VERBS_PARTS_MAX];
	struct wh_verbs_offer offer;
	size_t count;

	(void)fd;
	if (!wh_verbs_take_offer(&offer, parts, &count, own, bytes, base->rows[base->base.my_rank].bytes)) {
		snprintf(reason, WH_MESSAGE_REASON_BYTES, "its offer makes no sense");
		return NULL;
	}
	if (!wh_verbs_link_heard(t, node) || !base->rows[rank].offered)
		return NULL;
	if (take_places(&row->out, &offer, parts, count) &&
	    connect_pair(t, link, row, row->in, offer.out_qp, offer.out_psn) &&
	    connect_pair(t, link, row, row->out.qp, offer.in_qp, 0)) {
		row->out.open = true;
		return row->view;
	}
	wh_event_queue_complain(wh_session_events(t->base.session), WH_COMPLAINT_UNREACHED,
				"cannot connect queue pairs to node %" PRIu32 ": %s", node, strerror(errno));
	wh_session_doom(t->base.session, node, "cannot be connected to");
	return NULL;
}

static bool tell_shut(struct wh_verbs *t, const struct wh_verbs_image *image, uint32_t node)
{
	const struct wh_verbs_message message = {.kind = WH_VERBS_SHUT, .number = image->base.base.key};

	return wh_verbs_say(t, node, &message);
}

/* What goes on in images that are closed as well. */
static size_t advance_writes(struct wh_verbs *t, struct wh_verbs_image *image, uint32_t rank)
{
	struct wh_session_row *state = &image->base.rows[rank];
	struct wh_verbs_row *row = &image->rows[rank];
	size_t done = wh_verbs_out_advance(t, image, row);

	if (!wh_session_row_is_here(state))
		return done;
	if (row->tell_shut && tell_shut(t, image, state->peer->node)) {
		row->tell_shut = false;
		done++;
	}
	if (row->out.failed_ns == 0 || row->shut || state->peer->doomed != NULL)
		return done;
	if (wh_env_now(t->env) - row->out.failed_ns < FAILED_NS) {
		wh_poll_alarm(&t->poll, FAILED_NS);
		return done;
	}
	wh_event_queue_complain(wh_session_events(t->base.session), WH_COMPLAINT_UNREACHED, "node %" PRIu32 ": %s",
				state->peer->node, row->out.how);
	wh_session_doom(t->base.session, state->peer->node, "takes no writes any more");
	return done + 1;
}

size_t wh_verbs_image_advance(struct wh_verbs *t, struct wh_verbs_image *image)
{
	size_t done = 0;

	for (uint32_t rank = 0; rank < image->base.base.members; rank++)
		if (rank != image->base.base.my_rank)
			done += advance_writes(t, image, rank);
	return done;
}

/* The image with that key, which may be closed, and the rank in it of that peer. NULL: there is none, or it is not in it. */
static struct wh_verbs_image *find_row(struct wh_verbs *t, const struct wh_peer *peer, uint64_t key, uint32_t *rank)
{
	for (struct wh_verbs_image *image = t->images; image != NULL; image = image->next)
		for (*rank = 0; image->base.base.key == key && *rank < image->base.base.members; (*rank)++)
			if (image->base.rows[*rank].peer == peer && *rank != image->base.base.my_rank &&
			    wh_session_row_is_here(&image->base.rows[*rank]))
				return image;
	return NULL;
}

static void stop_writes(struct wh_verbs_out *out)
{
	out->open = false;
	out->queue_out = out->queue_in;
}

void wh_verbs_image_shut(struct wh_verbs *t, const struct wh_peer *peer, uint64_t key)
{
	uint32_t rank;
	struct wh_verbs_image *image = find_row(t, peer, key, &rank);

	if (image == NULL)
		return;
	image->rows[rank].shut = true;
	stop_writes(&image->rows[rank].out);
}

void wh_verbs_images_lose(struct wh_verbs *t, const struct wh_peer *peer)
{
	for (struct wh_verbs_image *image = t->images; image != NULL; image = image->next)
		for (uint32_t rank = 0; rank < image->base.base.members; rank++) {
			const struct wh_session_row *state = &image->base.rows[rank];

			if (state->peer == peer && state->incarnation == peer->incarnation)
				stop_writes(&image->rows[rank].out);
		}
}
