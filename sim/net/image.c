/* image.c - images of the simulator: this node's row, and a copy of each other's, which only arrivals write. */
#include "sim/net/sim_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES 64 /* that are asked for at a time */
/* Of an entry of pagemap. */
#define PAGE_PRESENT (UINT64_C(1) << 63)
#define PAGE_SWAPPED (UINT64_C(1) << 62)

static struct sim_image *image_of(struct wh_image *base)
{
	return (struct sim_image *)base;
}

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

static enum whorl_result map_copy(struct sim_row *row, const struct wh_session_row *spec, bool mine,
				  struct wh_error *err)
{
	const int rights = PROT_READ | PROT_WRITE;
	void *base =
		mmap(NULL, spec->bytes, mine ? rights : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		return wh_error_system(err, errno, "no memory for a simulated row");
	row->copy = base;
	for (size_t i = 0; !mine && i < spec->part_count; i++)
		if (mprotect(row->copy + spec->parts[i].offset, spec->parts[i].bytes, rights) != 0)
			return wh_error_system(err, errno, "no memory for a simulated row");
	return WHORL_OK;
}

static void free_image(struct sim_image *image)
{
	for (uint32_t rank = 0; image->rows != NULL && rank < image->base.base.members; rank++) {
		struct sim_row *row = &image->rows[rank];

		if (row->copy != NULL)
			munmap(row->copy, image->base.rows[rank].bytes);
		free(row->frozen);
	}
	free(image->rows);
	wh_session_image_free(&image->base);
	free(image);
}

/* ---- open and close --------------------------------------------------------------------------------------------------- */

static enum whorl_result fill_image(struct sim_image *image, const struct wh_image_spec *spec, struct wh_error *err)
{
	enum whorl_result result = WHORL_OK;

	image->rows = calloc(spec->members, sizeof(*image->rows));
	if (image->rows == NULL ||
	    !wh_session_image_init(&image->base, image->node->base.session, &image->node->base.base, spec))
		return wh_error_set(err, WHORL_MEMORY, "no memory for a simulated image");
	for (uint32_t rank = 0; rank < spec->members && result == WHORL_OK; rank++)
		result = map_copy(&image->rows[rank], &image->base.rows[rank], rank == spec->my_rank, err);
	image->base.base.own = image->rows[spec->my_rank].copy;
	return result;
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
	image->node = node;
	result = fill_image(image, spec, err);
	if (result != WHORL_OK) {
		free_image(image);
		return result;
	}
	if (spec->rows[spec->my_rank].incarnation != node->incarnation)
		wh_sim_condemn(node->sim, node->id, "opens an image as another incarnation");
	if (spec->key < node->past_key)
		wh_sim_condemn(node->sim, node->id, "opens an image that was past");
	wh_session_image_open(&image->base);
	wh_sim_ring(node); /* it may be ready */
	*out = &image->base.base;
	return WHORL_OK;
}

void wh_sim_image_close(struct wh_image *base)
{
	struct sim_image *image = image_of(base);

	wh_session_image_close(&image->base);
	wh_sim_detach(image);
	free_image(image);
}

struct sim_image *wh_sim_image_find(const struct sim_node *node, uint64_t key)
{
	struct wh_session_image *image = node->dead ? NULL : wh_session_images(node->base.session);

	while (image != NULL && image->base.key != key)
		image = image->next;
	return (struct sim_image *)image;
}

/* ---- rows --------------------------------------------------------------------------------------------------------------- */

/* Was something written to these pages ever? What the system does not say counts as written. */
static void find_written(const struct wh_sim *sim, const unsigned char *from, size_t pages, size_t page,
			 uint64_t states[PAGES])
{
	ssize_t bytes = (ssize_t)(pages * sizeof(states[0]));

	if (sim->pagemap < 0 ||
	    pread(sim->pagemap, states, (size_t)bytes, (off_t)((uintptr_t)from / page * sizeof(states[0]))) != bytes)
		memset(states, 0xff, (size_t)bytes);
}

/* A page of a ring that nothing was written to yet is as empty here as there; to read it would cost more than all that happens in it. */
static void copy_part(const struct wh_sim *sim, unsigned char *to, const unsigned char *from, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t states[PAGES];

	for (size_t done = 0; done < bytes;) {
		size_t pages = (bytes - done + page - 1) / page;

		pages = pages < PAGES ? pages : PAGES;
		find_written(sim, from + done, pages, page, states);
		for (size_t i = 0; i < pages; i++, done += page)
			if ((states[i] & (PAGE_PRESENT | PAGE_SWAPPED)) != 0)
				memcpy(to + done, from + done, bytes - done < page ? bytes - done : page);
	}
}

/* Of one host: all that its owner has posted so far, also when its process has ended since. NULL: it has let go of it. */
static const unsigned char *copy_memory(struct sim_image *image, uint32_t rank)
{
	const struct sim_link *link = wh_sim_image_link(image, rank);
	const struct wh_session_row *row = &image->base.rows[rank];
	const struct wh_session_image *theirs = NULL;

	if (link != NULL && link->to->base.session != NULL)
		theirs = wh_session_images(link->to->base.session);
	while (theirs != NULL && theirs->base.key != image->base.base.key)
		theirs = theirs->next;
	for (size_t i = 0; theirs != NULL && i < row->part_count; i++)
		copy_part(image->node->sim, image->rows[rank].copy + row->parts[i].offset,
			  theirs->base.own + row->parts[i].offset, row->parts[i].bytes);
	return theirs != NULL ? image->rows[rank].copy : NULL;
}

const unsigned char *wh_sim_image_map(struct wh_session_image *base, uint32_t rank, const unsigned char *own,
				      size_t bytes, int *fd, char reason[WH_MESSAGE_REASON_BYTES])
{
	struct sim_image *image = (struct sim_image *)base;

	(void)own, (void)bytes, (void)fd, (void)reason;
	return image->node->sim->options.proofs ? copy_memory(image, rank) : image->rows[rank].copy;
}

static uint32_t rank_of(const struct sim_image *image, const struct sim_node *owner)
{
	uint32_t rank = 0;

	while (rank < image->base.base.members && (image->base.rows[rank].peer->node != owner->id ||
						   image->base.rows[rank].incarnation != owner->incarnation))
		rank++;
	return rank;
}

struct sim_link *wh_sim_image_link(struct sim_image *image, uint32_t rank)
{
	const struct wh_session_row *row = &image->base.rows[rank];

	if (image->rows[rank].link == NULL)
		image->rows[rank].link = wh_sim_link_to(image->node, row->peer->node, row->incarnation);
	return image->rows[rank].link;
}

/* ---- what arrivals and freeze need ---------------------------------------------------------------------------------------- */

unsigned char *wh_sim_image_place(const struct sim_image *image, uint32_t rank, uint64_t offset, uint64_t bytes)
{
	for (size_t i = 0; rank < image->base.base.members && i < image->base.rows[rank].part_count; i++) {
		const struct wh_row_part *part = &image->base.rows[rank].parts[i];

		if (offset >= part->offset && offset - part->offset < part->bytes &&
		    bytes <= part->bytes - (offset - part->offset))
			return image->rows[rank].copy + offset;
	}
	return NULL;
}

bool wh_sim_may_push(const struct sim_image *image, const struct sim_node *from, uint32_t rank, uint64_t offset,
		     uint64_t bytes)
{
	uint32_t before = rank_of(image, from);

	return rank == before || wh_session_image_relays(&image->base, before, rank, offset, bytes);
}

bool wh_sim_image_has(const struct sim_image *image, const struct sim_node *from)
{
	uint32_t rank = rank_of(image, from);

	return rank < image->base.base.members && image->base.rows[rank].mapped;
}

/* Of a process that lives, or of which something is still to be seen, there is no proof. */
bool wh_sim_thaw(struct wh_image *base, uint32_t rank)
{
	struct sim_image *image = image_of(base);
	const struct sim_link *link = wh_sim_image_link(image, rank);

	if (rank == base->my_rank || !image->base.rows[rank].mapped)
		return false;
	if (link == NULL || !link->to->dead || !wh_sim_has_landed(link->to))
		wh_sim_condemn(image->node->sim, image->node->id, "reads the row of rank %u as that of a dead member",
			       rank);
	image->base.rows[rank].frozen = true;
	image->base.control[rank] = image->base.row[rank] = image->rows[rank].copy;
	if (!base->ready)
		wh_sim_ring(image->node);
	return true;
}

void wh_sim_freeze(struct wh_image *base, uint32_t rank)
{
	struct sim_image *image = image_of(base);
	struct sim_row *row = &image->rows[rank];

	if (image->base.rows[rank].frozen)
		return;
	row->frozen = aligned_alloc(WH_ROW_ALIGN, image->base.control_bytes);
	if (row->frozen == NULL) {
		wh_sim_condemn(image->node->sim, image->node->id, "no memory to freeze a member");
		return;
	}
	if (base->ready)
		memcpy(row->frozen, row->copy, image->base.control_bytes);
	else /* whatever has come of it already */
		memset(row->frozen, 0, image->base.control_bytes);
	image->base.rows[rank].frozen = true;
	image->base.control[rank] = row->frozen;
	if (!base->ready)
		wh_sim_ring(image->node); /* it may have been the last that the image waited for */
}
