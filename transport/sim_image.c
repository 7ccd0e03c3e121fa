/* sim_image.c - images of the simulator: my row, and a copy of each other's, which only arrivals write. */
#include "transport/sim_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct sim_image *image_of(struct wh_image *base)
{
	return (struct sim_image *)base;
}

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

static enum whorl_result map_row(struct sim_row *row, bool mine, struct wh_error *err)
{
	const int rights = PROT_READ | PROT_WRITE;
	void *base =
		mmap(NULL, row->bytes, mine ? rights : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		return wh_error_system(err, errno, "no memory for a simulated row");
	row->copy = base;
	for (size_t i = 0; !mine && i < row->part_count; i++)
		if (mprotect(row->copy + row->parts[i].offset, row->parts[i].bytes, rights) != 0)
			return wh_error_system(err, errno, "no memory for a simulated row");
	return WHORL_OK;
}

static enum whorl_result copy_row(struct sim_row *row, const struct wh_row_spec *spec, bool mine, struct wh_error *err)
{
	row->node = spec->node;
	row->bytes = spec->bytes;
	row->part_count = spec->part_count;
	row->parts = calloc(spec->part_count + 1, sizeof(*row->parts));
	if (row->parts == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a simulated row");
	memcpy(row->parts, spec->parts, spec->part_count * sizeof(*row->parts));
	return map_row(row, mine, err);
}

static void free_image(struct sim_image *image)
{
	for (uint32_t rank = 0; image->rows != NULL && rank < image->base.members; rank++) {
		struct sim_row *row = &image->rows[rank];

		if (row->copy != NULL)
			munmap(row->copy, row->bytes);
		free(row->frozen);
		free(row->parts);
	}
	free(image->rows);
	free((void *)image->base.control);
	free((void *)image->base.row);
	free(image);
}

/* ---- open and close --------------------------------------------------------------------------------------------------- */

static enum whorl_result fill_image(struct sim_image *image, const struct wh_image_spec *spec, struct wh_error *err)
{
	image->rows = calloc(spec->members, sizeof(*image->rows));
	image->base.control = calloc(spec->members, sizeof(*image->base.control));
	image->base.row = calloc(spec->members, sizeof(*image->base.row));
	if (image->rows == NULL || image->base.control == NULL || image->base.row == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a simulated image");
	for (uint32_t rank = 0; rank < spec->members; rank++) {
		enum whorl_result result = copy_row(&image->rows[rank], &spec->rows[rank], rank == spec->my_rank, err);

		if (result != WHORL_OK)
			return result;
	}
	image->base.own = image->rows[spec->my_rank].copy;
	return WHORL_OK;
}

enum whorl_result wh_sim_image_open(struct wh_transport *transport, const struct wh_image_spec *spec,
				    struct wh_image **out, struct wh_error *err)
{
	struct sim_node *node = (struct sim_node *)transport;
	struct sim_image *image = calloc(1, sizeof(*image));
	enum whorl_result result;

	*out = NULL;
	if (image == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a simulated image");
	image->base = (struct wh_image){.ops = transport->ops,
					.transport = transport,
					.members = spec->members,
					.my_rank = spec->my_rank,
					.view = spec->view};
	image->node = node;
	image->digest = spec->layout_digest;
	image->control_bytes = spec->control_bytes;
	image->unseen = spec->members - 1;
	result = fill_image(image, spec, err);
	if (result != WHORL_OK) {
		free_image(image);
		return result;
	}
	image->next = node->images;
	node->images = image;
	if (image->unseen == 0)
		wh_sim_notify(node, WH_EVENT_IMAGE_READY, node->id, &image->base, "");
	for (uint32_t rank = 0; rank < spec->members; rank++)
		if (rank != spec->my_rank)
			wh_sim_image_exchange(node, &node->sim->nodes[spec->rows[rank].node]);
	*out = &image->base;
	return WHORL_OK;
}

void wh_sim_image_close(struct wh_image *base)
{
	struct sim_image *image = image_of(base), **at = &image->node->images;

	while (*at != image)
		at = &(*at)->next;
	*at = image->next;
	wh_sim_forget(image->node, base);
	wh_sim_detach(image);
	free_image(image);
}

struct sim_image *wh_sim_image_find(const struct sim_node *node, uint64_t view)
{
	for (struct sim_image *image = node->images; image != NULL && !node->dead; image = image->next)
		if (image->base.view == view)
			return image;
	return NULL;
}

/* ---- the exchange of rows ----------------------------------------------------------------------------------------------- */

static struct sim_row *row_of(const struct sim_image *image, uint32_t node)
{
	for (uint32_t rank = 0; rank < image->base.members; rank++)
		if (image->rows[rank].node == node)
			return &image->rows[rank];
	return NULL;
}

void wh_sim_image_become_ready(struct wh_image *base)
{
	struct sim_image *image = image_of(base);

	for (uint32_t rank = 0; rank < base->members; rank++) {
		const struct sim_row *row = &image->rows[rank];

		base->row[rank] = row->copy;
		base->control[rank] = row->frozen != NULL ? row->frozen : row->copy;
	}
	base->ready = true;
}

/* The row of `to` has come to `from`, and the other way round. */
static void see_row(void *ctx, uint64_t view)
{
	struct sim_link *link = ctx;
	struct sim_image *image = wh_sim_image_find(&link->sim->nodes[link->from], view);
	struct sim_row *row = image != NULL ? row_of(image, link->to) : NULL;

	link->sim->under_way--;
	if (row == NULL || row->seen || link->gone)
		return;
	row->seen = true;
	if (--image->unseen == 0)
		wh_sim_notify(image->node, WH_EVENT_IMAGE_READY, link->from, &image->base, "");
}

static void exchange_view(struct sim_image *mine, struct sim_image *theirs)
{
	struct wh_sim *sim = mine->node->sim;
	struct sim_row *their_row = row_of(mine, theirs->node->id), *my_row = row_of(theirs, mine->node->id);
	struct sim_link *to, *from;

	if (their_row == NULL || my_row == NULL || their_row->asked)
		return;
	their_row->asked = my_row->asked = true;
	if (mine->digest != theirs->digest) {
		wh_sim_refuse_each_other(mine->node, theirs->node, "its layout is another");
		return;
	}
	to = wh_sim_link(sim, mine->node->id, theirs->node->id);
	from = wh_sim_link(sim, theirs->node->id, mine->node->id);
	sim->under_way += 2;
	wh_sim_at(sim, sim->now_ns + wh_sim_delay(to), see_row, to, mine->base.view);
	wh_sim_at(sim, sim->now_ns + wh_sim_delay(from), see_row, from, mine->base.view);
}

void wh_sim_image_exchange(struct sim_node *one, struct sim_node *other)
{
	const struct sim_link *to = wh_sim_link(one->sim, one->id, other->id);
	const struct sim_link *from = wh_sim_link(one->sim, other->id, one->id);

	if (!to->met || !from->met || to->gone || from->gone)
		return;
	for (struct sim_image *mine = one->images; mine != NULL; mine = mine->next) {
		struct sim_image *theirs = wh_sim_image_find(other, mine->base.view);

		if (theirs != NULL)
			exchange_view(mine, theirs);
	}
}

/* ---- what arrivals and freeze need ---------------------------------------------------------------------------------------- */

unsigned char *wh_sim_image_place(const struct sim_image *image, uint32_t from, uint64_t offset, uint64_t bytes)
{
	const struct sim_row *row = row_of(image, from);

	if (row == NULL)
		return NULL;
	for (size_t i = 0; i < row->part_count; i++) {
		const struct wh_row_part *part = &row->parts[i];

		if (offset >= part->offset && offset - part->offset < part->bytes &&
		    bytes <= part->bytes - (offset - part->offset))
			return row->copy + offset;
	}
	return NULL;
}

void wh_sim_freeze(struct wh_image *base, uint32_t rank)
{
	struct sim_image *image = image_of(base);
	struct sim_row *row = &image->rows[rank];

	if (row->frozen != NULL)
		return;
	row->frozen = aligned_alloc(WH_ROW_ALIGN, image->control_bytes);
	if (row->frozen == NULL) {
		wh_sim_condemn(image->node->sim, image->node->id, "no memory to freeze a member");
		return;
	}
	memcpy(row->frozen, row->copy, image->control_bytes);
	if (base->ready)
		base->control[rank] = row->frozen;
}
