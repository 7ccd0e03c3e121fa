/* image.c - images of the simulator: this node's row, and a copy of each other's, which only arrivals write. */
#include "sim/net/sim_int.h"

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
	row->incarnation = spec->incarnation;
	row->bytes = spec->bytes;
	row->parts = calloc(spec->part_count + 1, sizeof(*row->parts));
	if (row->parts == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a simulated row");
	for (size_t i = 0; i < spec->part_count; i++) { /* a push may go across parts that are neighbours */
		struct wh_row_part *last = &row->parts[row->part_count - (row->part_count > 0)];

		if (row->part_count > 0 && spec->parts[i].offset == last->offset + last->bytes)
			last->bytes += spec->parts[i].bytes;
		else
			row->parts[row->part_count++] = spec->parts[i];
	}
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
	free((void *)image->control);
	free((void *)image->row);
	free(image);
}

/* ---- open and close --------------------------------------------------------------------------------------------------- */

static enum whorl_result fill_image(struct sim_image *image, const struct wh_image_spec *spec, struct wh_error *err)
{
	image->rows = calloc(spec->members, sizeof(*image->rows));
	image->control = calloc(spec->members, sizeof(*image->control));
	image->row = calloc(spec->members, sizeof(*image->row));
	if (image->rows == NULL || image->control == NULL || image->row == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a simulated image");
	for (uint32_t rank = 0; rank < spec->members; rank++) {
		enum whorl_result result = copy_row(&image->rows[rank], &spec->rows[rank], rank == spec->my_rank, err);

		if (result != WHORL_OK)
			return result;
	}
	image->base.own = image->rows[spec->my_rank].copy;
	return WHORL_OK;
}

/* The rows of all members that are not frozen are here, and this node's row is there: service() will see it. */
static void look_whether_ready(struct sim_image *image)
{
	for (uint32_t rank = 0; rank < image->base.members; rank++) {
		const struct sim_row *row = &image->rows[rank];

		if (rank != image->base.my_rank && row->frozen == NULL && !(row->seen && row->confirmed))
			return;
	}
	if (!image->announced)
		wh_sim_notify(image->node, WH_EVENT_IMAGE_READY, 0, &image->base, "", 0);
	image->announced = true;
}

static void exchange_with_all(struct sim_image *image)
{
	const struct sim_node *node = image->node;

	for (uint32_t rank = 0; rank < image->base.members; rank++) {
		uint32_t id = image->rows[rank].node;

		if (rank != image->base.my_rank && node->links[id] != NULL)
			wh_sim_image_exchange(node->links[id]);
	}
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
					.key = spec->key};
	image->node = node;
	image->digest = spec->layout_digest;
	image->control_bytes = spec->control_bytes;
	result = fill_image(image, spec, err);
	if (result != WHORL_OK) {
		free_image(image);
		return result;
	}
	if (spec->rows[spec->my_rank].incarnation != node->incarnation)
		wh_sim_condemn(node->sim, node->id, "opens an image as somebody else");
	if (spec->key < node->past_key)
		wh_sim_condemn(node->sim, node->id, "opens an image that was past");
	image->next = node->images;
	node->images = image;
	look_whether_ready(image);
	exchange_with_all(image);
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

void wh_sim_past(struct wh_transport *transport, uint64_t key)
{
	struct sim_node *node = (struct sim_node *)transport;

	node->past_key = node->past_key < key ? key : node->past_key;
}

struct sim_image *wh_sim_image_find(const struct sim_node *node, uint64_t key)
{
	for (struct sim_image *image = node->images; image != NULL && !node->dead; image = image->next)
		if (image->base.key == key)
			return image;
	return NULL;
}

/* ---- the exchange of rows ----------------------------------------------------------------------------------------------- */

static struct sim_row *row_of(const struct sim_image *image, const struct sim_node *owner)
{
	for (uint32_t rank = 0; rank < image->base.members; rank++) {
		struct sim_row *row = &image->rows[rank];

		if (row->node == owner->id)
			return row->incarnation == owner->incarnation ? row : NULL;
	}
	return NULL;
}

void wh_sim_image_become_ready(struct wh_image *base)
{
	struct sim_image *image = image_of(base);

	for (uint32_t rank = 0; rank < base->members; rank++) {
		const struct sim_row *row = &image->rows[rank];

		image->row[rank] = row->frozen != NULL ? NULL : row->copy;
		image->control[rank] = row->frozen != NULL ? row->frozen : row->copy;
	}
	base->row = image->row;
	base->control = image->control;
	base->ready = true;
}

/* The row of the image in which `about` is waited for; NULL: in none with this key. */
static struct sim_row *awaited_row(struct sim_image *image, const struct sim_node *about)
{
	struct sim_row *row = image != NULL ? row_of(image, about) : NULL;

	return row != NULL && row->frozen == NULL ? row : NULL;
}

void wh_sim_image_offered(struct sim_node *node, const struct sim_node *about, uint64_t key)
{
	struct sim_image *image = wh_sim_image_find(node, key);
	struct sim_row *row = awaited_row(image, about);

	if (row == NULL)
		return;
	row->seen = true;
	look_whether_ready(image);
	wh_sim_send_row(row->link, SIM_ROW_CONFIRMED, key);
}

void wh_sim_image_confirmed(struct sim_node *node, const struct sim_node *about, uint64_t key)
{
	struct sim_image *image = wh_sim_image_find(node, key);
	struct sim_row *row = awaited_row(image, about);

	if (row == NULL)
		return;
	row->confirmed = true;
	look_whether_ready(image);
}

static void exchange_rows(struct sim_link *link, struct sim_image *mine, struct sim_image *theirs)
{
	struct sim_row *their_row = awaited_row(mine, link->to), *my_row = awaited_row(theirs, link->from);

	if (their_row == NULL || my_row == NULL || their_row->link != NULL)
		return;
	their_row->link = link;
	my_row->link = link->back;
	if (mine->digest != theirs->digest) {
		wh_sim_refuse(link, "its layout is another");
		wh_sim_refuse(link->back, "its layout is another");
		return;
	}
	wh_sim_send_row(link, SIM_ROW_OFFERED, mine->base.key);
	wh_sim_send_row(link->back, SIM_ROW_OFFERED, mine->base.key);
}

void wh_sim_image_exchange(struct sim_link *link)
{
	if (link->from->dead || !wh_sim_connected(link) || !wh_sim_connected(link->back))
		return;
	for (struct sim_image *mine = link->from->images; mine != NULL; mine = mine->next) {
		struct sim_image *theirs = wh_sim_image_find(link->to, mine->base.key);

		if (theirs != NULL)
			exchange_rows(link, mine, theirs);
	}
}

/* ---- what arrivals and freeze need ---------------------------------------------------------------------------------------- */

unsigned char *wh_sim_image_place(const struct sim_image *image, const struct sim_node *from, uint64_t offset,
				  uint64_t bytes)
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
	if (base->ready) {
		memcpy(row->frozen, row->copy, image->control_bytes);
		image->control[rank] = row->frozen;
	} else { /* whatever has come of it already */
		memset(row->frozen, 0, image->control_bytes);
		look_whether_ready(image);
	}
}
