/* verbs_image.c - the image of a view: my row, and the parts of the others' rows that are read here, which they write.
 *
 * Each pair exchanges two messages: "this is where your row lies at me, and what writes to it goes through", and "I can
 * take your writes". The image is ready when both have come from everybody that is not frozen. Images come and go while
 * peers still have theirs open, or not yet: what they say of one that is not open here is kept or ignored (verbs_peer.c).
 *
 * For each peer there are two queue pairs, one for each direction. Mine that takes its writes is destroyed when it is
 * frozen or the image closes, and its key with it: nothing that is still on its way can land then, while what I have posted
 * goes on. It is told, so that it does not take the end of its writes for mine.
 *
 * An image that is closed stays, unseen, until what was posted from it has arrived or failed, for a while at most.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "transport/verbs_int.h"

#define AGAIN_NS (2 * WH_NS_PER_MS)
#define DRAIN_NS (2 * WH_NS_PER_S)     /* what is posted from an image that is closed has so long */
#define FAILED_NS (300 * WH_NS_PER_MS) /* a peer whose writes fail has so long to say that it does not want them */

bool wh_verbs_row_is_here(const struct wh_verbs_row *row)
{
	return row->peer->state == WH_VERBS_MET && row->peer->incarnation == row->incarnation;
}

/* ---- post and freeze ---------------------------------------------------------------------------------------------- */

static void push_to(struct wh_verbs *t, struct wh_verbs_image *image, const struct wh_push *push, uint32_t *touched)
{
	for (uint32_t k = 0; k < push->to_count; k++) {
		struct wh_verbs_row *row = &image->rows[push->to[k]];

		if (row->frozen || !row->out.open)
			continue;
		wh_verbs_out_add(t, row, push);
		if (!row->out.touched)
			image->touched[(*touched)++] = push->to[k];
		row->out.touched = true;
	}
}

void wh_verbs_post(struct wh_image *base, const struct wh_push *pushes, size_t count)
{
	struct wh_verbs_image *image = (struct wh_verbs_image *)base;
	struct wh_verbs *t = wh_verbs_of(base->transport);
	uint32_t touched = 0;

	for (size_t i = 0; i < count; i++) {
		/* Other threads of this node read the columns of my row. Partner: their acquire. */
		if (pushes[i].kind == WH_PUSH_WORD)
			wh_store_release((wh_word *)(void *)(base->own + pushes[i].offset), pushes[i].value);
		push_to(t, image, &pushes[i], &touched);
	}
	for (uint32_t i = 0; i < touched; i++) {
		struct wh_verbs_row *row = &image->rows[image->touched[i]];

		row->out.touched = false;
		if (wh_verbs_count_room(&row->out.count) < WH_VERBS_DEPTH / 2)
			(void)wh_verbs_out_advance(t, image, row);
		wh_verbs_out_flush(t, image, row);
	}
	if (++t->posts % 16 == 0) /* rings of others are taken up even if the loop does not get to service() for long */
		(void)wh_verbs_poll_in(t);
}

/* From here on nothing of it can land. */
static void close_in(struct wh_verbs_row *row)
{
	if (row->in != NULL)
		ibv_destroy_qp(row->in);
	row->in = NULL;
	if (row->mr != NULL)
		ibv_dereg_mr(row->mr);
	row->mr = NULL;
}

/* What it writes has no way in any more, so the columns hold still while they are copied. */
void wh_verbs_freeze(struct wh_image *base, uint32_t rank)
{
	struct wh_verbs_image *image = (struct wh_verbs_image *)base;
	struct wh_verbs_row *row = &image->rows[rank];

	if (rank == base->my_rank || row->frozen)
		return;
	row->frozen = true;
	row->tell_shut = row->offered;
	close_in(row);
	if (base->ready)
		memcpy(image->frozen + rank * image->control_bytes, image->row[rank], image->control_bytes);
	image->control[rank] = image->frozen + rank * image->control_bytes;
	if (!base->ready)
		base->ops->wake(base->transport);
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
static bool connect_pair(const struct wh_verbs_row *row, struct ibv_qp *pair, uint32_t to, uint32_t to_psn)
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
	ready.timeout = WH_VERBS_TIMEOUT;
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
	wh_verbs_complain(t, "no queue pairs for node %" PRIu32 ", or no memory that stays: %s", row->peer->node,
			  strerror(errno));
	wh_verbs_timer_start(t, 100 * WH_NS_PER_MS);
	return false;
}

/* ---- becoming ready ----------------------------------------------------------------------------------------------- */

static bool send_offer(struct wh_verbs *t, struct wh_verbs_image *image, struct wh_verbs_row *row)
{
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
	if (take_places(&row->out, offer) && connect_pair(row, row->in, offer->out_qp, offer->out_psn) &&
	    connect_pair(row, row->out.qp, offer->in_qp, 0)) {
		row->out.open = true;
		return true;
	}
	wh_verbs_complain(t, "cannot connect queue pairs to node %" PRIu32 ": %s", peer->node, strerror(errno));
	wh_verbs_lose(t, peer, "cannot be connected to");
	return false;
}

static size_t map_row(struct wh_verbs *t, struct wh_verbs_image *image, struct wh_verbs_row *row)
{
	for (size_t i = 0; i < WH_VERBS_PENDING; i++) {
		struct wh_verbs_offer *offer = row->peer->pending[i];

		if (offer == NULL || offer->key != image->base.key)
			continue;
		row->peer->pending[i] = NULL;
		row->mapped = take_offer(t, image, row, offer);
		/* Mine may have come before the peer had this image open, and after it had closed one of a greater key. */
		row->offers_again = row->offered && !row->confirmed;
		free(offer);
		return 1;
	}
	return 0;
}

/* With one that is frozen nothing new is begun. But if it gave me its places before, it is told: what I have pushed goes
 * out to it, and it sees nothing before it is ready. */
static size_t advance_row(struct wh_verbs *t, struct wh_verbs_image *image, struct wh_verbs_row *row)
{
	size_t done = 0;

	if (wh_verbs_row_is_here(row) && !row->frozen && (!row->offered || row->offers_again) &&
	    send_offer(t, image, row)) {
		row->offered = true;
		row->offers_again = false;
		done++;
	}
	if (wh_verbs_row_is_here(row) && !row->frozen && row->offered && !row->mapped && !wh_verbs_events_full(t))
		done += map_row(t, image, row);
	if (wh_verbs_row_is_here(row) && row->mapped && !row->told)
		done += row->told = send_about(t, image, row, WH_VERBS_MAPPED);
	return done;
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
	if (row->out.failed_ns == 0 || row->shut || wh_verbs_events_full(t))
		return done;
	if (wh_env_now(t->env) - row->out.failed_ns < FAILED_NS) {
		wh_verbs_timer_start(t, FAILED_NS);
		return done;
	}
	wh_verbs_complain(t, "node %" PRIu32 ": %s", row->peer->node, row->out.how);
	wh_verbs_lose(t, row->peer, "takes no writes any more");
	return done + 1;
}

static bool can_be_read(const struct wh_verbs_row *row)
{
	return row->frozen || (row->mapped && row->confirmed);
}

static void become_ready(struct wh_verbs_image *image)
{
	for (uint32_t rank = 0; rank < image->base.members; rank++) {
		if (image->rows[rank].frozen)
			continue;
		image->row[rank] = rank == image->base.my_rank ? image->base.own : image->rows[rank].view;
		image->control[rank] = image->row[rank];
	}
	image->base.row = image->row;
	image->base.control = image->control;
	image->base.ready = true;
}

size_t wh_verbs_image_advance(struct wh_verbs *t, struct wh_verbs_image *image)
{
	bool ready = true;
	size_t done = 0;

	for (uint32_t rank = 0; rank < image->base.members; rank++) {
		struct wh_verbs_row *row = &image->rows[rank];

		if (rank == image->base.my_rank)
			continue;
		done += advance_writes(t, image, row);
		if (image->closed)
			continue;
		done += advance_row(t, image, row);
		ready = ready && can_be_read(row);
	}
	if (ready && !image->base.ready && !image->closed) {
		become_ready(image);
		done++;
	}
	return done;
}

bool wh_verbs_image_wants(const struct wh_verbs *t, const struct wh_verbs_peer *peer, uint64_t key)
{
	for (const struct wh_verbs_image *image = t->images; image != NULL; image = image->next) {
		if (image->base.key != key || image->closed)
			continue;
		for (uint32_t rank = 0; rank < image->base.members; rank++)
			if (image->rows[rank].peer == peer && wh_verbs_row_is_here(&image->rows[rank]))
				return !image->rows[rank].mapped && !image->rows[rank].frozen;
		return false;
	}
	return key > t->past_key;
}

/* The row of that peer in the image with that key, which may be closed; NULL: there is none. */
static struct wh_verbs_row *find_row(struct wh_verbs *t, const struct wh_verbs_peer *peer, uint64_t key)
{
	for (struct wh_verbs_image *image = t->images; image != NULL; image = image->next)
		for (uint32_t rank = 0; image->base.key == key && rank < image->base.members; rank++)
			if (image->rows[rank].peer == peer && rank != image->base.my_rank &&
			    wh_verbs_row_is_here(&image->rows[rank]))
				return &image->rows[rank];
	return NULL;
}

void wh_verbs_image_confirmed(struct wh_verbs *t, const struct wh_verbs_peer *peer, uint64_t key)
{
	struct wh_verbs_row *row = find_row(t, peer, key);

	if (row != NULL && row->offered)
		row->confirmed = true;
}

void wh_verbs_image_shut(struct wh_verbs *t, const struct wh_verbs_peer *peer, uint64_t key)
{
	struct wh_verbs_row *row = find_row(t, peer, key);

	if (row == NULL)
		return;
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

/* ---- open --------------------------------------------------------------------------------------------------------- */

static bool allocate(struct wh_verbs_image *image, const struct wh_image_spec *spec)
{
	size_t parts = 0;

	for (uint32_t rank = 0; rank < spec->members; rank++)
		parts += spec->rows[rank].part_count + 1;
	image->rows = calloc(spec->members, sizeof(*image->rows));
	image->parts = calloc(parts, sizeof(*image->parts));
	image->touched = calloc(spec->members, sizeof(*image->touched));
	image->frozen = calloc(spec->members, spec->control_bytes);
	image->control = calloc(spec->members, sizeof(*image->control));
	image->row = calloc(spec->members, sizeof(*image->row));
	return image->rows != NULL && image->parts != NULL && image->touched != NULL && image->frozen != NULL &&
	       image->control != NULL && image->row != NULL;
}

/* A push may go across parts that are neighbours, and an offer has room for so many: if there are more the row is here as a
 * whole. */
static void copy_parts(struct wh_verbs_row *row, const struct wh_row_spec *spec)
{
	row->part_count = 0;
	for (size_t i = 0; i < spec->part_count; i++) {
		struct wh_row_part *last = &row->parts[row->part_count - (row->part_count > 0)];

		if (row->part_count > 0 && spec->parts[i].offset == last->offset + last->bytes)
			last->bytes += spec->parts[i].bytes;
		else
			row->parts[row->part_count++] = spec->parts[i];
	}
	if (row->part_count > WH_VERBS_PARTS_MAX) {
		row->parts[0] = (struct wh_row_part){0, spec->bytes};
		row->part_count = 1;
	}
	row->held = 0;
	for (uint32_t i = 0; i < row->part_count; i++)
		row->held += row->parts[i].bytes;
}

/* Returns how much memory the image needs: my row, and what is held of others. */
static uint64_t copy_spec(struct wh_verbs *t, struct wh_verbs_image *image, const struct wh_image_spec *spec)
{
	uint64_t at = spec->rows[spec->my_rank].bytes;
	struct wh_row_part *parts = image->parts;

	for (uint32_t rank = 0; rank < spec->members; rank++) {
		const struct wh_row_spec *from = &spec->rows[rank];
		struct wh_verbs_row *row = &image->rows[rank];

		*row = (struct wh_verbs_row){.peer = &t->peers[from->node],
					     .incarnation = from->incarnation,
					     .bytes = from->bytes,
					     .parts = parts,
					     .at = at};
		parts += from->part_count + 1;
		if (rank == spec->my_rank)
			continue;
		copy_parts(row, from);
		at += row->held;
	}
	return at;
}

/* The parts of its row once more, each in its place, to be read. */
static enum whorl_result map_view(const struct wh_verbs_image *image, struct wh_verbs_row *row, struct wh_error *err)
{
	void *base = mmap(NULL, row->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t at = row->at;

	if (base == MAP_FAILED)
		return wh_error_system(err, errno, "no addresses for a row of %" PRIu64 " bytes", row->bytes);
	row->view = base;
	for (uint32_t i = 0; i < row->part_count; i++) {
		if (mmap(row->view + row->parts[i].offset, row->parts[i].bytes, PROT_READ, MAP_SHARED | MAP_FIXED,
			 image->memory.fd, (off_t)at) == MAP_FAILED)
			return wh_error_system(err, errno, "cannot map a part of a row");
		at += row->parts[i].bytes;
	}
	return WHORL_OK;
}

static enum whorl_result fill_image(struct wh_verbs *t, struct wh_verbs_image *image, const struct wh_image_spec *spec,
				    struct wh_error *err)
{
	uint64_t bytes = copy_spec(t, image, spec);
	enum whorl_result result = wh_verbs_memory_make(&image->memory, "whorl-image", bytes, err);

	for (uint32_t rank = 0; result == WHORL_OK && rank < spec->members; rank++)
		if (rank != spec->my_rank)
			result = map_view(image, &image->rows[rank], err);
	if (result != WHORL_OK)
		return result;
	image->base.own = image->memory.base;
	image->mr = ibv_reg_mr(t->device.pd, image->memory.base, spec->rows[spec->my_rank].bytes, 0);
	if (image->mr == NULL)
		return wh_error_system(err, errno,
				       "cannot register a row of %" PRIu64 " bytes: does RLIMIT_MEMLOCK allow it?",
				       spec->rows[spec->my_rank].bytes);
	return WHORL_OK;
}

void wh_verbs_image_free(struct wh_verbs *t, struct wh_verbs_image *image, bool forked)
{
	(void)t;
	for (uint32_t rank = 0; image->rows != NULL && rank < image->base.members; rank++) {
		struct wh_verbs_row *row = &image->rows[rank];

		if (!forked)
			close_in(row);
		wh_verbs_out_close(&row->out, forked);
		if (row->view != NULL)
			munmap(row->view, row->bytes);
	}
	if (!forked && image->mr != NULL)
		ibv_dereg_mr(image->mr);
	wh_verbs_memory_free(&image->memory);
	free(image->row);
	free(image->control);
	free(image->frozen);
	free(image->touched);
	free(image->parts);
	free(image->rows);
	free(image);
}

enum whorl_result wh_verbs_image_open(struct wh_transport *transport, const struct wh_image_spec *spec,
				      struct wh_image **out, struct wh_error *err)
{
	struct wh_verbs *t = wh_verbs_of(transport);
	struct wh_verbs_image *image = calloc(1, sizeof(*image)), **link = &t->images;
	enum whorl_result result;

	*out = NULL;
	if (image == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for an image");
	image->memory.fd = -1;
	image->base = (struct wh_image){
		.ops = transport->ops,
		.transport = transport,
		.members = spec->members,
		.my_rank = spec->my_rank,
		.key = spec->key,
	};
	image->layout_digest = spec->layout_digest;
	image->control_bytes = spec->control_bytes;
	if (!allocate(image, spec)) {
		wh_verbs_image_free(t, image, false);
		return wh_error_set(err, WHORL_MEMORY, "no memory for an image of %" PRIu32 " members", spec->members);
	}
	result = fill_image(t, image, spec, err);
	if (result != WHORL_OK) {
		wh_verbs_image_free(t, image, false);
		return result;
	}
	while (*link != NULL)
		link = &(*link)->next;
	*link = image;
	wh_verbs_image_advance(t, image);
	*out = &image->base;
	return WHORL_OK;
}

/* ---- close -------------------------------------------------------------------------------------------------------- */

void wh_verbs_image_close(struct wh_image *base)
{
	struct wh_verbs *t = wh_verbs_of(base->transport);
	struct wh_verbs_image *image = (struct wh_verbs_image *)base;

	image->closed = true;
	image->closed_ns = wh_env_now(t->env);
	for (uint32_t rank = 0; rank < base->members; rank++) {
		struct wh_verbs_row *row = &image->rows[rank];

		if (rank == base->my_rank)
			continue;
		row->tell_shut = row->tell_shut || (row->offered && !row->frozen);
		close_in(row);
	}
	if (t->past_key < base->key)
		t->past_key = base->key;
	wh_verbs_forget_offers(t);
	(void)wh_verbs_images_reap(t);
}

static bool is_done(struct wh_verbs *t, struct wh_verbs_image *image)
{
	bool drained = true;

	if (wh_env_now(t->env) - image->closed_ns > DRAIN_NS)
		return true;
	for (uint32_t rank = 0; rank < image->base.members; rank++) {
		struct wh_verbs_row *row = &image->rows[rank];

		drained = wh_verbs_out_is_drained(t, &row->out) && drained;
		drained = drained && !(row->tell_shut && wh_verbs_row_is_here(row));
	}
	return drained;
}

bool wh_verbs_images_reap(struct wh_verbs *t)
{
	struct wh_verbs_image **link = &t->images;
	bool left = false;

	while (*link != NULL) {
		struct wh_verbs_image *image = *link;

		if (!image->closed || !is_done(t, image)) {
			left = left || image->closed;
			link = &image->next;
			continue;
		}
		*link = image->next;
		wh_verbs_image_free(t, image, false);
	}
	if (left)
		wh_verbs_timer_start(t, AGAIN_NS);
	return left;
}
