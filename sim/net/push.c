/* push.c - pushes on their way in the simulator: what they cost, T1 to T4, and what a crash leaves of them. */
#include "sim/net/sim_int.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomics.h"

/* Between two pieces of a push mostly next to nothing passes, and sometimes enough for anything to happen. */
#define GAP_NS 100
#define LONG_GAP_IN 8
#define WORDS_MAX 4 /* in one push */
/* In a pass: before one look in so many, so many pieces at most, of one peer. */
#define EARLY_IN 4
#define EARLY_PIECES 6

/* ---- arriving ------------------------------------------------------------------------------------------------------------ */

void wh_sim_drop_flight(struct sim_link *link)
{
	struct sim_flight *flight = link->head;

	link->head = flight->next;
	if (link->head == NULL)
		link->tail = &link->head;
	link->sim->under_way--;
	free(flight);
}

/* Which words make a piece, and in what order the pieces come. */
static void tear_push(struct wh_sim *sim, struct sim_flight *flight)
{
	uint64_t words = (flight->offset % 8 + flight->bytes + 7) / 8;
	uint64_t most = words < sim->options.pieces ? words : sim->options.pieces;

	flight->pieces = most > 1 ? (uint32_t)wh_dice_between(&sim->dice, 1, most) : 1;
	for (uint32_t i = 0; i < flight->pieces; i++) {
		uint32_t j = (uint32_t)wh_dice_below(&sim->dice, i + 1);

		flight->order[i] = flight->order[j];
		flight->order[j] = (uint8_t)i;
	}
	if (flight->last > flight->pieces)
		flight->last = flight->pieces;
}

/* The row's range of piece `i`: whole words, but for the ends. */
static void bounds_of(const struct sim_flight *flight, uint32_t i, uint64_t *offset, uint64_t *bytes)
{
	uint64_t first_word = flight->offset / 8 * 8, words = (flight->offset - first_word + flight->bytes + 7) / 8;
	uint64_t begin = first_word + words * i / flight->pieces * 8;
	uint64_t end = first_word + words * (i + 1) / flight->pieces * 8;

	if (begin < flight->offset)
		begin = flight->offset;
	if (end > flight->offset + flight->bytes)
		end = flight->offset + flight->bytes;
	*offset = begin;
	*bytes = end - begin;
}

static void show_piece(struct sim_link *link, const struct sim_flight *flight, uint32_t i)
{
	struct sim_image *image = wh_sim_image_find(link->to, flight->key);
	const unsigned char *from;
	unsigned char *place;
	uint64_t offset, bytes;

	if (image == NULL || (link->back->over && !link->sim->options.proofs))
		return;
	bounds_of(flight, i, &offset, &bytes);
	place = wh_sim_image_place(image, flight->rank, offset, bytes);
	if (place == NULL || !wh_sim_may_push(image, link->from, flight->rank, offset, bytes)) {
		wh_sim_condemn(link->sim, link->from->id,
			       "pushes %llu bytes at %llu, which are in no part of node %u's image that it may push",
			       (unsigned long long)bytes, (unsigned long long)offset, link->to->id);
		return;
	}
	from = flight->live != NULL ? flight->live + offset : flight->copy + (offset - flight->offset);
	memcpy(place, from, bytes);
	if (flight->words && wh_sim_has_card(link))
		wh_sim_line_written(link, flight);
	wh_sim_note(link->sim, (uint64_t)link->from->id << 32 | link->to->id);
	wh_sim_note(link->sim, offset);
	wh_sim_note(link->sim, from[0]);
}

static void finish_push(struct sim_link *link)
{
	struct sim_node *node = link->to;
	bool rings = link->head->rings;

	link->path->late_ns = wh_sim_later(link->path->late_ns, wh_sim_late(link));
	wh_sim_drop_flight(link);
	if (rings && node->armed && !node->rung && !node->ringing) {
		link->from->host->counts.rings++;
		wh_sim_ring(node);
	}
	wh_sim_arrived(link);
}

/* Of the first push on this link. */
static void show_next_piece(struct sim_link *link)
{
	struct sim_flight *flight = link->head;

	if (flight->pieces == 0)
		tear_push(link->sim, flight);
	if (flight->arrived < flight->last)
		show_piece(link, flight, flight->order[flight->arrived++]);
	if (flight->arrived >= flight->last)
		finish_push(link);
}

static void let_piece_arrive(void *ctx, uint64_t argument)
{
	struct sim_link *link = ctx;

	(void)argument;
	link->scheduled = false;
	if (link->head == NULL || link->path->cut_off)
		return;
	show_next_piece(link);
	wh_sim_resume(link);
}

/* The event that shows its next piece has been set. Of a node that leaves nothing comes early: with the last push all of it goes. */
static bool may_come_early(const struct sim_link *link)
{
	return link->head != NULL && link->scheduled && !link->path->cut_off && !link->broken && !link->leaving &&
	       link->unsent != link->head;
}

void wh_sim_begin_pass(struct wh_sim *sim)
{
	sim->in_pass = true;
}

void wh_sim_end_pass(struct wh_sim *sim)
{
	sim->in_pass = false;
}

void wh_sim_look(struct wh_transport *transport)
{
	struct sim_node *node = (struct sim_node *)transport;
	struct wh_dice *dice = &node->sim->dice;
	struct sim_link *link;

	if (!node->sim->in_pass || !wh_dice_one_in(dice, EARLY_IN))
		return;
	link = node->links[wh_dice_below(dice, node->nodes)];
	for (uint64_t n = wh_dice_between(dice, 1, EARLY_PIECES); link != NULL && may_come_early(link->back) && n > 0;
	     n--)
		show_next_piece(link->back);
}

void wh_sim_resume(struct sim_link *link)
{
	struct wh_sim *sim = link->sim;
	uint64_t when = sim->now_ns;

	if (link->head == NULL || link->scheduled || link->path->cut_off || link->head->due_ns == SIM_NOT_SENT)
		return;
	if (link->head->pieces == 0 && (link->head->due_ns > when || wh_sim_has_card(link)))
		when = wh_sim_later(link->head->due_ns, when);
	else if (wh_dice_one_in(&sim->dice, LONG_GAP_IN))
		when += wh_sim_delay(link);
	else
		when += wh_dice_below(&sim->dice, GAP_NS);
	link->scheduled = true;
	wh_sim_at(sim, when, let_piece_arrive, link, 0);
}

/* ---- what it costs ----------------------------------------------------------------------------------------------------- */

/* What is ready at `ready_ns` waits until the thing is free, then keeps it until the time that is returned. */
static uint64_t occupy_until(uint64_t *free_ns, uint64_t ready_ns, uint64_t bytes, uint64_t bytes_per_s)
{
	if (bytes_per_s == 0)
		return ready_ns;
	*free_ns = wh_sim_later(*free_ns, ready_ns) + (bytes * WH_NS_PER_S + bytes_per_s - 1) / bytes_per_s;
	return *free_ns;
}

static void be_busy(struct sim_host *host, uint64_t for_ns)
{
	host->busy_until_ns = wh_sim_later(host->busy_until_ns, host->sim->now_ns) + for_ns;
}

/* When a push of so many bytes, posted now, has arrived, where there is no card. */
static uint64_t due_of(struct sim_link *link, uint64_t bytes)
{
	struct sim_host *host = link->from->host;
	struct sim_path *path = link->path;
	uint64_t at;

	be_busy(host, host->cost.push_ns);
	at = occupy_until(&host->card_free_ns, host->busy_until_ns, bytes, host->cost.bytes_per_s);
	at = occupy_until(&path->free_ns, at, bytes, path->cost.bytes_per_s);
	return at + wh_sim_delay(link);
}

/* ---- posting ------------------------------------------------------------------------------------------------------------ */

static uint32_t row_of(const struct sim_image *image, const struct wh_push *push)
{
	return push->relayed > 0 ? push->relayed - 1 : image->base.base.my_rank;
}

static struct sim_flight *new_flight(const struct sim_image *image, const struct wh_push *push)
{
	bool word = push->kind == WH_PUSH_WORD;
	struct sim_flight *flight = calloc(1, sizeof(*flight) + (word ? sizeof(push->value) * WORDS_MAX : 0));

	if (flight == NULL) {
		wh_sim_condemn(image->node->sim, image->node->id, "no memory for a push");
		return NULL;
	}
	flight->key = image->base.base.key;
	flight->rank = row_of(image, push);
	flight->offset = push->offset;
	flight->last = UINT32_MAX;
	flight->loud = !push->no_wake;
	if (word) {
		flight->words = true;
		flight->bytes = sizeof(push->value);
		memcpy(flight->copy, &push->value, sizeof(push->value));
	} else {
		flight->bytes = push->bytes;
		flight->live = image->rows[flight->rank].copy;
	}
	return flight;
}

/* Words beside each other, as one push: in which order they are seen is drawn when it arrives. */
static bool join_words(struct sim_link *link, const struct sim_image *image, const struct wh_push *push)
{
	struct sim_flight *last = link->head == NULL ? NULL : (struct sim_flight *)(void *)link->tail;
	uint64_t end;

	_Static_assert(offsetof(struct sim_flight, next) == 0, "the tail points to the last one");
	if (!push->may_reorder || last == NULL || !last->words || last->pieces > 0 ||
	    last->key != image->base.base.key || last->bytes == sizeof(push->value) * WORDS_MAX)
		return false;
	end = last->offset + last->bytes;
	if (push->offset != end && push->offset + sizeof(push->value) != last->offset)
		return false;
	if (push->offset != end) {
		memmove(last->copy + sizeof(push->value), last->copy, last->bytes);
		last->offset = push->offset;
	}
	memcpy(last->copy + (push->offset - last->offset), &push->value, sizeof(push->value));
	last->bytes += sizeof(push->value);
	return true;
}

/* The last of its batch to that peer, so far. */
static void note_loud(struct sim_link *link, struct sim_flight *flight)
{
	if (link->last_loud == NULL) {
		link->next_loud = link->from->loud;
		link->from->loud = link;
	}
	link->last_loud = flight;
}

/* Over the connection that the two have; in the memory of one host, which stays as it is whatever becomes of that, to all that have
 * the row. */
static bool reaches(const struct sim_image *image, uint32_t rank, const struct sim_link *link)
{
	const struct wh_session_row *row = &image->base.rows[rank];

	if (link != NULL && link->sim->options.proofs) {
		const struct sim_image *theirs = wh_sim_image_find(link->to, image->base.base.key);

		return theirs != NULL && wh_sim_image_has(theirs, image->node);
	}
	return !row->frozen && row->confirmed && link != NULL && !link->over && !link->broken;
}

static void send_to(struct sim_image *image, const struct wh_push *push, uint32_t rank)
{
	struct sim_link *link = wh_sim_image_link(image, rank);
	struct sim_flight *flight;

	if (!reaches(image, rank, link))
		return;
	if (image->node->sim->options.joins && !wh_sim_has_card(link) && join_words(link, image, push)) {
		if (!push->no_wake)
			note_loud(link, (struct sim_flight *)(void *)link->tail);
		return;
	}
	flight = new_flight(image, push);
	if (flight == NULL)
		return;
	flight->due_ns = wh_sim_has_card(link) ? SIM_NOT_SENT : due_of(link, flight->bytes);
	*link->tail = flight;
	link->tail = &flight->next;
	if (wh_sim_has_card(link)) {
		be_busy(link->from->host, link->from->host->cost.push_ns);
		wh_sim_card_take(link, flight, link->from->host->busy_until_ns);
	}
	if (!push->no_wake)
		note_loud(link, flight);
	link->sim->under_way++;
	wh_sim_resume(link);
}

/* T14: bytes of a ring of another member, not to that one. */
static bool relay_holds(const struct sim_image *image, const struct wh_push *push)
{
	if (!image->node->ops.relays || push->kind != WH_PUSH_BYTES || push->relayed > image->base.base.members ||
	    push->offset < image->base.control_bytes)
		return false;
	for (uint32_t i = 0; i < push->to_count; i++)
		if (push->to[i] + 1 == push->relayed)
			return false;
	return wh_sim_image_place(image, push->relayed - 1, push->offset, push->bytes) != NULL;
}

static bool push_holds(const struct sim_image *image, const struct wh_push *push)
{
	uint64_t row;
	uint64_t bytes = push->kind == WH_PUSH_WORD ? sizeof(push->value) : push->bytes;

	if (push->kind == WH_PUSH_WORD && push->offset % 8 != 0)
		return false;
	if (push->relayed > 0 && !relay_holds(image, push))
		return false;
	row = image->base.rows[row_of(image, push)].bytes;
	for (uint32_t i = 0; i < push->to_count; i++)
		if (push->to[i] >= image->base.base.members || push->to[i] == image->base.base.my_rank)
			return false;
	return image->base.base.ready && bytes > 0 && bytes <= row && push->offset <= row - bytes;
}

static void post_one(struct sim_image *image, const struct wh_push *push)
{
	struct sim_node *node = image->node;

	if (!push_holds(image, push)) {
		wh_sim_condemn(node->sim, node->id, "push at %llu breaks the contract",
			       (unsigned long long)push->offset);
		return;
	}
	if (push->kind == WH_PUSH_WORD)
		wh_store_release((wh_word *)(void *)(image->base.base.own + push->offset), push->value);
	for (uint32_t i = 0; i < push->to_count; i++)
		send_to(image, push, push->to[i]);
	if (push->no_wake)
		node->host->counts.quiet++;
	else
		node->host->counts.loud++;
}

/* False: the node has crashed before this push. */
static bool may_post(const struct sim_image *image, const struct wh_push *push)
{
	const struct sim_node *node = image->node;
	const struct wh_sim_options *options = &node->sim->options;

	if (!node->dead && options->posting != NULL)
		options->posting(options->ctx, node->id, image->base.base.key, push);
	return !node->dead;
}

void wh_sim_end_batch(struct sim_node *node)
{
	for (; node->loud != NULL; node->loud = node->loud->next_loud) {
		node->loud->last_loud->rings = true;
		node->loud->last_loud = NULL;
	}
}

void wh_sim_post(struct wh_image *base, const struct wh_push *pushes, size_t count)
{
	struct sim_image *image = (struct sim_image *)base;
	struct sim_node *node = image->node;

	if (node->dead)
		return;
	be_busy(node->host, node->host->cost.post_ns);
	for (size_t i = 0; i < count && may_post(image, &pushes[i]); i++)
		post_one(image, &pushes[i]);
	wh_sim_end_batch(node);
	node->host->counts.posts++;
	if (count > node->host->counts.batch_max)
		node->host->counts.batch_max = count;
	if (node->sim->options.posted != NULL)
		node->sim->options.posted(node->sim->options.ctx, node->id);
}

/* ---- the end of a row -------------------------------------------------------------------------------------------------- */

static bool is_row_of(const struct sim_image *image, const unsigned char *live)
{
	uint32_t rank = 0;

	while (rank < image->base.base.members && image->rows[rank].copy != live)
		rank++;
	return live != NULL && rank < image->base.base.members;
}

static void detach_link(struct sim_link *link, const struct sim_image *image)
{
	for (struct sim_flight **at = &link->head; *at != NULL; at = &(*at)->next) {
		struct sim_flight *flight = *at, *grown;

		if (!is_row_of(image, flight->live))
			continue;
		grown = realloc(flight, sizeof(*flight) + flight->bytes);
		if (grown == NULL) { /* arrives as what it was never meant to be: better not at all */
			wh_sim_condemn(link->sim, link->from->id, "no memory for a push");
			flight->last = 0;
			flight->live = NULL;
			continue;
		}
		memcpy(grown->copy, grown->live + grown->offset, grown->bytes);
		grown->live = NULL;
		if (grown->next == NULL)
			link->tail = &grown->next;
		if (link->unsent == flight)
			link->unsent = grown;
		*at = grown;
	}
}

void wh_sim_detach(struct sim_image *image)
{
	struct sim_node *node = image->node;

	for (uint32_t to = 0; to < node->sim->options.nodes; to++)
		for (struct sim_link *link = node->links[to]; link != NULL; link = wh_sim_former(link))
			detach_link(link, image);
}

void wh_sim_truncate(struct sim_link *link)
{
	struct wh_dice *dice = &link->sim->dice;
	uint64_t count = 0, whole;
	struct sim_flight **at = &link->head, *torn;
	bool owes_ring = false;

	for (const struct sim_flight *flight = link->head; flight != NULL; flight = flight->next)
		count++;
	wh_sim_card_drop(link);
	if (count == 0 || wh_dice_one_in(dice, 3)) /* nothing, or everything arrives */
		return;
	for (whole = wh_dice_below(dice, count); whole > 0; whole--) {
		owes_ring = (owes_ring || (*at)->loud) && !(*at)->rings;
		at = &(*at)->next;
	}
	torn = *at;
	torn->last = torn->arrived + (uint32_t)wh_dice_below(dice, WH_SIM_PIECES_MAX);
	if (torn->pieces > 0 && torn->last > torn->pieces)
		torn->last = torn->pieces;
	torn->rings = torn->loud || owes_ring; /* the ring of its batch may be lost with the rest */
	link->tail = &torn->next;
	while (torn->next != NULL) {
		struct sim_flight *lost = torn->next;

		torn->next = lost->next;
		link->sim->under_way--;
		free(lost);
	}
}
