/* image.c - the image of a view: my row, and the parts of the others' rows that are read here, which they write.
 *
 * How it becomes ready is told in session.h (verbs/rows.c): an offer says where the peer's row lies at me, and what writes to it
 * goes through; to map one is to be able to take its writes.
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

#include "transport/verbs/verbs_int.h"

#define AGAIN_NS (2 * WH_NS_PER_MS)
#define KEEP_NS (50 * WH_NS_PER_US) /* so long a patient push is kept */
#define DRAIN_NS (2 * WH_NS_PER_S)  /* what is posted from an image that is closed has so long */

/* ---- post and freeze ---------------------------------------------------------------------------------------------- */

static void push_to(struct wh_verbs *t, struct wh_verbs_image *image, const struct wh_push *push)
{
	for (uint32_t k = 0; k < push->to_count; k++) {
		struct wh_verbs_row *row = &image->rows[push->to[k]];

		if (image->base.rows[push->to[k]].frozen || !row->out.open)
			continue;
		wh_verbs_out_add(t, row, push);
		if (!row->out.touched)
			image->touched[image->touched_count++] = push->to[k];
		row->out.patient = push->may_delay && (!row->out.touched || row->out.patient);
		row->out.touched = true;
	}
}

void wh_verbs_post(struct wh_image *base, const struct wh_push *pushes, size_t count)
{
	struct wh_verbs_image *image = (struct wh_verbs_image *)base;
	struct wh_verbs *t = wh_verbs_of(base->transport);

	for (size_t i = 0; i < count; i++) {
		/* Other threads of this node read the columns of my row. Partner: their acquire. */
		if (pushes[i].kind == WH_PUSH_WORD)
			wh_store_release((wh_word *)(void *)(base->own + pushes[i].offset), pushes[i].value);
		push_to(t, image, &pushes[i]);
	}
	if (!t->gathers)
		wh_verbs_flush(t, image);
}

static void flush_rows(struct wh_verbs *t, struct wh_verbs_image *image, bool patient_ones)
{
	uint32_t count = image->touched_count;

	image->touched_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct wh_verbs_row *row = &image->rows[image->touched[i]];

		if (row->out.patient && !patient_ones) {
			image->touched[image->touched_count++] = image->touched[i];
			continue;
		}
		row->out.touched = false;
		if (wh_verbs_count_room(&row->out.count) < WH_VERBS_DEPTH / 2)
			(void)wh_verbs_out_advance(t, image, row);
		wh_verbs_out_flush(t, image, row);
	}
	if (image->touched_count < count && ++t->posts % 16 == 0)
		(void)wh_verbs_poll_in(t); /* rings are taken up even if the loop does not get to service() for long */
}

void wh_verbs_flush(struct wh_verbs *t, struct wh_verbs_image *image)
{
	image->kept_ns = 0;
	if (image->touched_count > 0)
		flush_rows(t, image, true);
}

void wh_verbs_flush_all(struct wh_verbs *t)
{
	for (struct wh_verbs_image *image = t->images; image != NULL; image = image->next)
		wh_verbs_flush(t, image);
}

void wh_verbs_flush_pass(struct wh_verbs *t, struct wh_verbs_image *image)
{
	uint64_t now;

	if (image->touched_count > 0)
		flush_rows(t, image, false);
	if (image->touched_count == 0) {
		image->kept_ns = 0;
		return;
	}
	now = wh_env_now(t->env);
	if (image->kept_ns == 0)
		image->kept_ns = now;
	if (now - image->kept_ns >= KEEP_NS)
		wh_verbs_flush(t, image);
}

static void destroy_in(struct wh_verbs_row *row)
{
	if (row->in != NULL)
		ibv_destroy_qp(row->in);
	row->in = NULL;
	if (row->mr != NULL)
		ibv_dereg_mr(row->mr);
	row->mr = NULL;
}

/* From here on nothing of them can land. A queue pair in error takes no more of the shared requests; those with completions
 * that are there are put back, and what is missing after the end is made up for (verbs/device.c). */
static void close_in(struct wh_verbs *t, struct wh_verbs_row *rows, uint32_t count)
{
	struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
	bool any = false;

	for (uint32_t i = 0; i < count; i++)
		if (rows[i].in != NULL) {
			(void)ibv_modify_qp(rows[i].in, &error, IBV_QP_STATE);
			any = true;
		}
	if (any)
		(void)wh_verbs_poll_in(t);
	for (uint32_t i = 0; i < count; i++)
		destroy_in(&rows[i]);
	if (any)
		wh_verbs_device_fill(&t->device);
}

/* What it writes has no way in any more, so the columns hold still while they are copied. */
void wh_verbs_freeze(struct wh_image *base, uint32_t rank)
{
	struct wh_verbs_image *image = (struct wh_verbs_image *)base;
	struct wh_session_row *state = &image->base.rows[rank];
	unsigned char *copy = image->frozen + rank * image->base.control_bytes;

	if (rank == base->my_rank || state->frozen)
		return;
	state->frozen = true;
	image->rows[rank].tell_shut = state->offered;
	close_in(wh_verbs_of(base->transport), &image->rows[rank], 1);
	if (base->ready)
		memcpy(copy, base->row[rank], image->base.control_bytes);
	image->base.control[rank] = copy;
	if (!base->ready)
		base->ops->wake(base->transport);
}

/* ---- open --------------------------------------------------------------------------------------------------------- */

static bool allocate(struct wh_verbs_image *image, const struct wh_image_spec *spec)
{
	image->rows = calloc(spec->members, sizeof(*image->rows));
	image->touched = calloc(spec->members, sizeof(*image->touched));
	image->frozen = calloc(spec->members, spec->control_bytes);
	return image->rows != NULL && image->touched != NULL && image->frozen != NULL;
}

/* An offer has room for so many parts: if there are more the row is here as a whole. Returns how much memory the image needs: my
 * row, and what is held of others. */
static uint64_t lay_out(struct wh_verbs_image *image)
{
	uint32_t me = image->base.base.my_rank;
	uint64_t at = image->base.rows[me].bytes;

	for (uint32_t rank = 0; rank < image->base.base.members; rank++) {
		struct wh_session_row *state = &image->base.rows[rank];
		struct wh_verbs_row *row = &image->rows[rank];

		if (rank == me)
			continue;
		if (state->part_count > WH_VERBS_PARTS_MAX) {
			state->parts[0] = (struct wh_row_part){0, state->bytes};
			state->part_count = 1;
		}
		row->at = at;
		for (size_t i = 0; i < state->part_count; i++)
			row->held += state->parts[i].bytes;
		at += row->held;
	}
	return at;
}

/* The parts of its row once more, each in its place, to be read. */
static enum whorl_result map_view(const struct wh_verbs_image *image, struct wh_verbs_row *row, struct wh_error *err)
{
	const struct wh_session_row *state = wh_verbs_state(image, row);
	void *base = mmap(NULL, state->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t at = row->at;

	if (base == MAP_FAILED)
		return wh_error_system(err, errno, "no addresses for a row of %" PRIu64 " bytes", state->bytes);
	row->view = base;
	for (size_t i = 0; i < state->part_count; i++) {
		if (mmap(row->view + state->parts[i].offset, state->parts[i].bytes, PROT_READ, MAP_SHARED | MAP_FIXED,
			 image->memory.fd, (off_t)at) == MAP_FAILED)
			return wh_error_system(err, errno, "cannot map a part of a row");
		at += state->parts[i].bytes;
	}
	return WHORL_OK;
}

static enum whorl_result fill_image(struct wh_verbs *t, struct wh_verbs_image *image, struct wh_error *err)
{
	uint32_t me = image->base.base.my_rank;
	uint64_t own_bytes = image->base.rows[me].bytes;
	enum whorl_result result = wh_verbs_memory_make(&image->memory, "whorl-image", lay_out(image), err);

	for (uint32_t rank = 0; result == WHORL_OK && rank < image->base.base.members; rank++)
		if (rank != me)
			result = map_view(image, &image->rows[rank], err);
	if (result != WHORL_OK)
		return result;
	image->base.base.own = image->memory.base;
	image->mr = ibv_reg_mr(t->device.pd, image->memory.base, own_bytes, 0);
	if (image->mr == NULL)
		return wh_error_system(err, errno,
				       "cannot register a row of %" PRIu64 " bytes: does RLIMIT_MEMLOCK allow it?",
				       own_bytes);
	return WHORL_OK;
}

void wh_verbs_image_free(struct wh_verbs *t, struct wh_verbs_image *image, bool forked)
{
	if (!forked && image->rows != NULL)
		close_in(t, image->rows, image->base.base.members);
	for (uint32_t rank = 0; image->rows != NULL && rank < image->base.base.members; rank++) {
		struct wh_verbs_row *row = &image->rows[rank];

		wh_verbs_out_close(&row->out, forked);
		if (row->view != NULL)
			munmap(row->view, image->base.rows[rank].bytes);
	}
	if (!forked && image->mr != NULL)
		ibv_dereg_mr(image->mr);
	wh_verbs_memory_free(&image->memory);
	free(image->frozen);
	free(image->touched);
	free(image->rows);
	wh_session_image_free(&image->base);
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
	if (!wh_session_image_init(&image->base, t->base.session, transport, spec) || !allocate(image, spec)) {
		wh_verbs_image_free(t, image, false);
		return wh_error_set(err, WHORL_MEMORY, "no memory for an image of %" PRIu32 " members", spec->members);
	}
	result = fill_image(t, image, err);
	if (result != WHORL_OK) {
		wh_verbs_image_free(t, image, false);
		return result;
	}
	while (*link != NULL)
		link = &(*link)->next;
	*link = image;
	wh_session_image_open(&image->base);
	*out = &image->base.base;
	return WHORL_OK;
}

/* ---- close -------------------------------------------------------------------------------------------------------- */

void wh_verbs_image_close(struct wh_image *base)
{
	struct wh_verbs *t = wh_verbs_of(base->transport);
	struct wh_verbs_image *image = (struct wh_verbs_image *)base;

	wh_verbs_flush(t, image);
	wh_session_image_close(&image->base);
	image->closed = true;
	image->closed_ns = wh_env_now(t->env);
	for (uint32_t rank = 0; rank < base->members; rank++) {
		const struct wh_session_row *state = &image->base.rows[rank];
		struct wh_verbs_row *row = &image->rows[rank];

		if (rank == base->my_rank)
			continue;
		row->tell_shut = row->tell_shut || (state->offered && !state->frozen);
	}
	close_in(t, image->rows, base->members);
	(void)wh_verbs_images_reap(t);
}

static bool is_done(struct wh_verbs *t, struct wh_verbs_image *image)
{
	bool drained = true;

	if (wh_env_now(t->env) - image->closed_ns > DRAIN_NS)
		return true;
	for (uint32_t rank = 0; rank < image->base.base.members; rank++) {
		struct wh_verbs_row *row = &image->rows[rank];

		drained = wh_verbs_out_is_drained(t, &row->out) && drained;
		drained = drained && !(row->tell_shut && wh_session_row_is_here(&image->base.rows[rank]));
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
		wh_poll_alarm(&t->poll, AGAIN_NS);
	return left;
}
