/* image.c - how images become ready; see session.h. */
#include "transport/session/session_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AGAIN_NS (2 * WH_NS_PER_MS) /* what found no room is tried again then, at the latest */

/* ---- which images there are --------------------------------------------------------------------------------------- */

struct wh_session_image *wh_session_images(const struct wh_session *s)
{
	return s->images;
}

static struct wh_session_image *find(const struct wh_session *s, uint64_t key)
{
	struct wh_session_image *image = s->images;

	while (image != NULL && image->base.key != key)
		image = image->next;
	return image;
}

struct wh_session_image *wh_session_image_of(const struct wh_session *s, const struct wh_peer *peer, uint64_t key,
					     uint32_t *rank)
{
	struct wh_session_image *image = find(s, key);

	for (*rank = 0; image != NULL && *rank < image->base.members; (*rank)++)
		if (image->rows[*rank].peer == peer && *rank != image->base.my_rank &&
		    wh_session_row_is_here(&image->rows[*rank]))
			return image;
	return NULL;
}

static bool wants(const struct wh_session_row *row)
{
	return !row->mapped && !row->frozen;
}

/* The peer's row is still to be mapped: by an image that is open, or that may be opened yet, as later ones have greater keys than
 * those that have been closed. */
static bool is_wanted(const struct wh_session *s, const struct wh_peer *peer, uint64_t key)
{
	uint32_t rank;
	const struct wh_session_image *image = wh_session_image_of(s, peer, key, &rank);

	if (image != NULL)
		return wants(&image->rows[rank]);
	return find(s, key) == NULL && key >= s->past_key;
}

/* ---- offers that are kept ----------------------------------------------------------------------------------------- */

static void forget_offer(struct wh_kept_offer *kept)
{
	if (kept->fd >= 0)
		close(kept->fd);
	free(kept->own);
	*kept = (struct wh_kept_offer){.fd = -1};
}

static void drop_offer(struct wh_session *s, const struct wh_peer *peer, struct wh_kept_offer *kept)
{
	if (kept->there && s->plane_ops->discard != NULL && peer->conn != NULL)
		s->plane_ops->discard(s->transport, peer->conn, WH_MESSAGE_OFFER, kept->own, kept->own_bytes);
	if (kept->there)
		forget_offer(kept);
}

void wh_session_drop_offers(struct wh_session *s, struct wh_peer *peer)
{
	for (size_t i = 0; i < WH_SESSION_OFFERS; i++)
		drop_offer(s, peer, &peer->offers[i]);
}

static void let_go_below(struct wh_session *s, uint64_t key)
{
	s->past_key = s->past_key < key ? key : s->past_key;
	for (uint32_t node = 0; node < s->nodes; node++) {
		struct wh_peer *peer = &s->peers[node];

		for (size_t i = 0; i < WH_SESSION_OFFERS; i++)
			if (peer->offers[i].there && !is_wanted(s, peer, peer->offers[i].offer.key))
				drop_offer(s, peer, &peer->offers[i]);
	}
}

void wh_session_past(struct wh_session *s, uint64_t key)
{
	let_go_below(s, key);
	if (!s->holds && s->lanes != NULL)
		wh_lanes_hold_connections(s->lanes);
	s->holds = true;
	for (uint32_t node = 0; node < s->nodes; node++)
		if (s->peers[node].state == WH_PEER_MET)
			wh_session_hold(s, &s->peers[node]);
}

/* What is about to be used, then the greater key, which is likelier to be wanted yet. */
static bool outranks(const struct wh_session *s, uint64_t a, uint64_t b)
{
	bool opened = find(s, a) != NULL;

	return opened != (find(s, b) != NULL) ? opened : a > b;
}

/* The peer may be ahead, or offer what will never be opened here: when there is no place left the lowest key goes, which may be the
 * new one: then NULL. */
static struct wh_kept_offer *place_for_offer(struct wh_session *s, struct wh_peer *peer, uint64_t key)
{
	struct wh_kept_offer *place = &peer->offers[0];

	for (size_t i = 1; i < WH_SESSION_OFFERS && place->there; i++)
		if (!peer->offers[i].there || outranks(s, place->offer.key, peer->offers[i].offer.key))
			place = &peer->offers[i];
	for (size_t i = 0; i < WH_SESSION_OFFERS; i++) /* it may be made twice */
		if (peer->offers[i].there && peer->offers[i].offer.key == key)
			place = &peer->offers[i];
	return place->there && outranks(s, place->offer.key, key) ? NULL : place;
}

/* Kept until my own image of that key is open, and maps it. */
bool wh_session_on_offer(struct wh_session *s, struct wh_peer *peer, struct wh_message *m)
{
	struct wh_kept_offer new = {.there = true, .own_bytes = m->head.bytes - WH_OFFER_BYTES, .fd = m->fds[0]};
	struct wh_kept_offer *place;

	if (!wh_message_take_offer(&new.offer, &m->head, m->body) || (s->plane_ops->map == NULL && new.own_bytes > 0))
		return false;
	place = is_wanted(s, peer, new.offer.key) ? place_for_offer(s, peer, new.offer.key) : NULL;
	new.own = malloc(new.own_bytes + 1);
	if (place == NULL || new.own == NULL) {
		if (s->plane_ops->discard != NULL)
			s->plane_ops->discard(s->transport, peer->conn, WH_MESSAGE_OFFER, m->body + WH_OFFER_BYTES,
					      new.own_bytes);
		free(new.own);
		return true;
	}
	memcpy(new.own, m->body + WH_OFFER_BYTES, new.own_bytes);
	m->fds[0] = -1;
	drop_offer(s, peer, place);
	*place = new;
	return true;
}

void wh_session_on_mapped(struct wh_session *s, const struct wh_peer *peer, uint64_t key)
{
	uint32_t rank;
	struct wh_session_image *image = wh_session_image_of(s, peer, key, &rank);

	if (image != NULL && image->rows[rank].offered) /* else it cannot have */
		image->rows[rank].confirmed = true;
}

/* ---- becoming ready ----------------------------------------------------------------------------------------------- */

static bool send_offer(struct wh_session *s, struct wh_session_image *image, uint32_t rank)
{
	const struct wh_offer offer = {
		.key = image->base.key,
		.layout_digest = image->layout_digest,
		.members = image->base.members,
		.rank = image->base.my_rank,
		.row_bytes = image->rows[image->base.my_rank].bytes,
	};
	unsigned char message[WH_MESSAGE_MAX];
	struct wh_own own = {
		.bytes = message + WH_HEAD_BYTES + WH_OFFER_BYTES, .room = WH_OWN_OFFER_MAX, .fds = {-1, -1}};
	size_t bytes;

	if (s->plane_ops->offer != NULL && !s->plane_ops->offer(image, rank, &own))
		return false;
	bytes = wh_message_put_offer(message, &offer, own.count) + own.count;
	if (s->wire_ops->send(image->rows[rank].peer->conn, message, bytes, own.fds, own.fds[0] >= 0, WH_WIRE_OWN) ==
	    WH_WIRE_DONE)
		return true;
	wh_session_alarm(s, AGAIN_NS);
	return false;
}

static bool fits(const struct wh_session_image *image, uint32_t rank, const struct wh_offer *offer)
{
	return offer->layout_digest == image->layout_digest && offer->members == image->base.members &&
	       offer->rank == rank && offer->row_bytes == image->rows[rank].bytes;
}

/* Maps what the peer has offered. NULL: it did not fit, and the peer has been refused; or it is tried again. */
static const unsigned char *map_offered(struct wh_session *s, struct wh_session_image *image, uint32_t rank,
					struct wh_kept_offer *kept)
{
	struct wh_peer *peer = image->rows[rank].peer;
	char reason[WH_MESSAGE_REASON_BYTES] = "";
	const unsigned char *row;

	if (!fits(image, rank, &kept->offer)) {
		wh_session_refuse(s, peer, WH_COMPLAINT_FOREIGN,
				  "nodes %" PRIu32 " and %" PRIu32 " lay out image %" PRIx64
				  " differently: their configurations are not the same",
				  s->node, peer->node, kept->offer.key);
		return NULL;
	}
	row = s->plane_ops->map(image, rank, kept->own, kept->own_bytes, &kept->fd, reason);
	if (row != NULL)
		forget_offer(kept);
	else if (reason[0] != '\0')
		wh_session_refuse(s, peer, WH_COMPLAINT_FOREIGN, "row of node %" PRIu32 ": %s", peer->node, reason);
	return row;
}

static size_t map_row(struct wh_session *s, struct wh_session_image *image, uint32_t rank)
{
	struct wh_session_row *row = &image->rows[rank];

	for (size_t i = 0; i < WH_SESSION_OFFERS; i++) {
		struct wh_kept_offer *kept = &row->peer->offers[i];

		if (!kept->there || kept->offer.key != image->base.key)
			continue;
		image->row[rank] = map_offered(s, image, rank, kept);
		row->mapped = image->row[rank] != NULL;
		if (!row->mapped)
			return !wh_session_row_is_here(row); /* else it is tried again */
		/* Mine may have come before the peer had this image open, and after it had closed one of a greater key. */
		row->offers_again = row->offered && !row->confirmed;
		return 1;
	}
	return 0;
}

/* With one that is frozen nothing new is begun. But if it offered me its row before, it is told: what I have pushed goes
 * out to it, and it sees nothing before it is ready. Each step may have lost the peer. */
static size_t advance_row(struct wh_session *s, struct wh_session_image *image, uint32_t rank)
{
	struct wh_session_row *row = &image->rows[rank];
	size_t done = 0;

	if (wh_session_row_is_here(row) && !row->frozen && (!row->offered || row->offers_again) &&
	    send_offer(s, image, rank)) {
		row->offered = true;
		row->offers_again = false;
		done++;
	}
	if (wh_session_row_is_here(row) && wants(row) && !wh_session_is_full(s))
		done += map_row(s, image, rank);
	if (wh_session_row_is_here(row) && row->mapped && !row->told) {
		row->told = wh_session_say_plain(s, row->peer, WH_MESSAGE_MAPPED, image->base.key);
		done += row->told;
		if (!row->told)
			wh_session_alarm(s, AGAIN_NS);
	}
	return done;
}

static bool can_be_read(const struct wh_session_row *row)
{
	return row->frozen || (row->mapped && row->confirmed);
}

/* Of those that can be read. An incarnation that was here and is not any more never comes again. */
static bool has_all(const struct wh_session_row *row)
{
	return row->told || !wh_session_row_is_here(row) || (row->frozen && !row->mapped);
}

/* Of one that is frozen the control columns are the transport's copy already, and its row is not read. One that was thawed again
 * reads its columns there. */
static void become_ready(struct wh_session_image *image)
{
	image->row[image->base.my_rank] = image->base.own;
	for (uint32_t rank = 0; rank < image->base.members; rank++)
		if (!image->rows[rank].frozen)
			image->control[rank] = image->row[rank];
		else if (image->control[rank] != image->row[rank])
			image->row[rank] = NULL;
	image->base.row = image->row;
	image->base.control = image->control;
	image->base.ready = true;
}

static size_t advance(struct wh_session *s, struct wh_session_image *image)
{
	bool ready = true, settled = true;
	size_t done = 0;

	if (image->settled || s->left)
		return 0;
	for (uint32_t rank = 0; rank < image->base.members; rank++) {
		if (rank == image->base.my_rank)
			continue;
		done += advance_row(s, image, rank);
		ready = ready && can_be_read(&image->rows[rank]);
		settled = settled && has_all(&image->rows[rank]);
	}
	if (ready && !image->base.ready) {
		become_ready(image);
		done++;
	}
	image->settled = image->base.ready && settled;
	return done;
}

size_t wh_session_advance_images(struct wh_session *s)
{
	size_t done = 0;

	for (struct wh_session_image *image = s->images; image != NULL; image = image->next)
		done += advance(s, image);
	return done;
}

/* ---- open and close ----------------------------------------------------------------------------------------------- */

/* In ascending order; those that touch become one: fewer ranges are pushed, and fewer maps made. What lies between two that do not
 * touch is not this node's to read, so it stays out. */
static size_t copy_parts(struct wh_row_part *to, const struct wh_row_spec *from)
{
	size_t count = 0;

	for (size_t i = 0; i < from->part_count; i++) {
		struct wh_row_part part = from->parts[i];
		size_t at = i;

		for (; at > 0 && to[at - 1].offset > part.offset; at--)
			to[at] = to[at - 1];
		to[at] = part;
	}
	for (size_t i = 0; i < from->part_count; i++)
		if (count > 0 && to[count - 1].offset + to[count - 1].bytes == to[i].offset)
			to[count - 1].bytes += to[i].bytes;
		else
			to[count++] = to[i];
	return count;
}

static bool allocate(struct wh_session_image *image, const struct wh_image_spec *spec)
{
	size_t parts = 0;

	for (uint32_t rank = 0; rank < spec->members; rank++)
		parts += spec->rows[rank].part_count;
	image->rows = calloc(spec->members, sizeof(*image->rows));
	image->parts = calloc(parts + 1, sizeof(*image->parts));
	image->control = calloc(spec->members, sizeof(*image->control));
	image->row = calloc(spec->members, sizeof(*image->row));
	image->relays = calloc(spec->relay_count + 1, sizeof(*image->relays));
	return image->rows != NULL && image->parts != NULL && image->control != NULL && image->row != NULL &&
	       image->relays != NULL;
}

bool wh_session_image_init(struct wh_session_image *image, struct wh_session *s, struct wh_transport *transport,
			   const struct wh_image_spec *spec)
{
	struct wh_row_part *parts;

	image->base = (struct wh_image){.ops = transport->ops,
					.transport = transport,
					.members = spec->members,
					.my_rank = spec->my_rank,
					.key = spec->key};
	image->session = s;
	image->layout_digest = spec->layout_digest;
	image->control_bytes = spec->control_bytes;
	if (!allocate(image, spec))
		return false;
	parts = image->parts;
	for (uint32_t rank = 0; rank < spec->members; rank++) {
		const struct wh_row_spec *from = &spec->rows[rank];

		image->rows[rank] = (struct wh_session_row){
			.peer = &s->peers[from->node],
			.incarnation = from->incarnation,
			.bytes = from->bytes,
			.parts = parts,
			.part_count = copy_parts(parts, from),
		};
		parts += from->part_count;
	}
	image->relay_count = spec->relay_count;
	for (size_t i = 0; i < spec->relay_count; i++)
		image->relays[i] = spec->relays[i];
	return true;
}

/* All of it lies in one of the ranges. */
static bool relay_holds(const struct wh_relay_spec *relay, uint64_t offset, uint64_t bytes)
{
	uint64_t at = offset - relay->offset;

	return offset >= relay->offset && at / relay->stride < relay->count && at % relay->stride < relay->bytes &&
	       bytes <= relay->bytes - at % relay->stride;
}

bool wh_session_image_relays(const struct wh_session_image *image, uint32_t before, uint32_t owner, uint64_t offset,
			     uint64_t bytes)
{
	for (size_t i = 0; i < image->relay_count; i++) {
		const struct wh_relay_spec *relay = &image->relays[i];

		if (relay->owner == owner && relay->before == before && relay_holds(relay, offset, bytes))
			return true;
	}
	return false;
}

void wh_session_image_free(struct wh_session_image *image)
{
	free(image->relays);
	free(image->row);
	free(image->control);
	free(image->parts);
	free(image->rows);
}

void wh_session_image_open(struct wh_session_image *image)
{
	struct wh_session_image **link = &image->session->images;

	while (*link != NULL)
		link = &(*link)->next;
	*link = image;
	(void)advance(image->session, image);
}

void wh_session_image_close(struct wh_session_image *image)
{
	struct wh_session *s = image->session;
	struct wh_session_image **link = &s->images;

	while (*link != image)
		link = &(*link)->next;
	*link = image->next;
	let_go_below(s, image->base.key + 1);
}
