/* lane.c - operations on regions of the simulator (T7), on their way and at their target.
 *
 * A target carries one out after the other: most as a network card does, words in any order and with time between them;
 * some, as a transport without such a card does, when its loop looks, and at once. What is cut off on the way waits until it
 * is healed.
 *
 * Atomic operations are carried out in one event, and so is all that the owner does. So the simulator does not find out an
 * owner that leans on more than R2 promises to its own instructions.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/net/remote_int.h"

#define GAP_NS 100
#define BY_LOOP_IN 3

/* ---- lanes -------------------------------------------------------------------------------------------------------- */

static bool is_cut(const struct sim_link *link)
{
	return link != NULL && link->path->cut_off;
}

static bool is_broken(const struct sim_lane *lane)
{
	return lane->link != NULL && lane->link->broken;
}

static uint64_t draw_delay(struct sim_lane *lane, uint32_t from, uint32_t to)
{
	const struct wh_sim_link_cost *cost = &wh_sim_path(lane->sim, from, to)->cost;

	return wh_dice_between(&lane->sim->dice, cost->latency_min_ns, cost->latency_max_ns);
}

static void append_request(struct sim_requests *queue, struct sim_request *request)
{
	request->next = NULL;
	*queue->tail = request;
	queue->tail = &request->next;
}

static struct sim_request *take_request(struct sim_requests *queue)
{
	struct sim_request *request = queue->head;

	queue->head = request->next;
	if (queue->head == NULL)
		queue->tail = &queue->head;
	return request;
}

static void drop_request(struct sim_lane *lane, struct sim_requests *queue)
{
	free(take_request(queue));
	lane->sim->under_way--;
}

struct sim_lane *wh_sim_lane_new(struct sim_node *from, struct sim_node *to, struct sim_link *link)
{
	struct sim_lane *lane = calloc(1, sizeof(*lane));

	if (lane == NULL)
		return NULL;
	lane->base.node = to->id;
	lane->sim = from->sim;
	lane->from = from;
	lane->to = to;
	lane->link = link;
	lane->there.tail = &lane->there.head;
	lane->back.tail = &lane->back.head;
	lane->by_loop = wh_dice_one_in(&lane->sim->dice, BY_LOOP_IN);
	lane->next = from->lanes;
	from->lanes = lane;
	lane->next_served = to->served;
	to->served = lane;
	return lane;
}

/* As a push does, that arrives. */
static void ring_if_armed(struct sim_node *node)
{
	if (node->armed && !node->rung && !node->ringing)
		wh_sim_ring(node);
}

/* ---- carrying out ------------------------------------------------------------------------------------------------- */

static struct sim_region *find_region(const struct sim_node *owner, uint64_t name)
{
	struct sim_region *region = owner->regions;

	while (region != NULL && region->base.name != name)
		region = region->next;
	return region;
}

/* Some of the words, or all that are left. */
static void move_words(struct sim_lane *lane, struct sim_request *request, wh_word *words, bool all)
{
	for (uint64_t i = 0; i < request->op.bytes / sizeof(*words); i++) {
		if (request->done[i] || (!all && wh_dice_one_in(&lane->sim->dice, 2)))
			continue;
		request->done[i] = true;
		if (request->op.kind == WH_REMOTE_READ)
			request->words[i] = wh_load_acquire(&words[i]);
		else
			wh_store_release(&words[i], request->words[i]);
	}
}

static void carry_out(struct sim_lane *lane, struct sim_request *request, const struct sim_region *region, bool all)
{
	const struct wh_remote_op *op = &request->op;

	switch (op->kind) {
	case WH_REMOTE_READ:
	case WH_REMOTE_WRITE:
	case WH_REMOTE_WRITE_IMMEDIATE:
		move_words(lane, request, region->base.words + op->offset / sizeof(wh_word), all);
		return;
	case WH_REMOTE_FETCH_ADD:
	case WH_REMOTE_COMPARE_SWAP:
		request->value = wh_remote_carry_out(region->base.words, op);
		return;
	}
}

static void give_immediate(struct sim_lane *lane, uint32_t number)
{
	struct sim_immediate *immediate = malloc(sizeof(*immediate));
	struct sim_node *node = lane->to;

	if (immediate == NULL) {
		wh_sim_condemn(lane->sim, node->id, "no memory for an immediate");
		return;
	}
	*immediate = (struct sim_immediate){NULL, lane, number};
	*node->immediates_tail = immediate;
	node->immediates_tail = &immediate->next;
	ring_if_armed(node);
}

static void go_back(struct sim_lane *lane);

/* The first one has been carried out, or there is nothing to carry it out on. */
static void finish_request(struct sim_lane *lane, enum whorl_result result)
{
	struct sim_request *request = take_request(&lane->there);

	wh_sim_note(lane->sim, (uint64_t)lane->from->id << 32 | lane->to->id);
	wh_sim_note(lane->sim, request->op.offset << 8 | request->op.kind);
	wh_sim_note(lane->sim, request->value);
	request->result = result;
	if (result == WHORL_OK && request->op.kind == WH_REMOTE_WRITE_IMMEDIATE)
		give_immediate(lane, request->op.immediate);
	request->due_ns =
		wh_sim_later(lane->back_ns, lane->sim->now_ns + draw_delay(lane, lane->to->id, lane->from->id));
	lane->back_ns = request->due_ns;
	append_request(&lane->back, request);
	go_back(lane);
}

/* One step of the first one. False: there will be another. */
static bool work_on_request(struct sim_lane *lane, bool at_once)
{
	struct sim_request *request = lane->there.head;
	const struct sim_region *region = find_region(lane->to, request->op.region);
	bool torn = !at_once && !request->half && request->op.bytes > sizeof(wh_word);

	if (lane->to->dead) { /* the initiator will hear of it */
		drop_request(lane, &lane->there);
		return true;
	}
	if (region != NULL)
		carry_out(lane, request, region, !torn);
	request->half = torn && region != NULL;
	if (!request->half)
		finish_request(lane, region != NULL ? WHORL_OK : WHORL_NOT_FOUND);
	return !request->half;
}

static void go_there(struct sim_lane *lane);

static void let_requests_arrive(void *ctx, uint64_t argument)
{
	struct sim_lane *lane = ctx;

	(void)argument;
	lane->there.scheduled = false;
	if (lane->there.head == NULL || is_cut(lane->link))
		return;
	if (lane->by_loop && !lane->to->dead) {
		lane->waiting = true;
		ring_if_armed(lane->to);
		return;
	}
	(void)work_on_request(lane, false);
	go_there(lane);
}

/* Unless it waits for the loop. */
static void go_there(struct sim_lane *lane)
{
	const struct sim_request *first = lane->there.head;
	uint64_t when;

	if (first == NULL || lane->there.scheduled || lane->waiting || is_cut(lane->link))
		return;
	when = first->half ? lane->sim->now_ns + wh_dice_below(&lane->sim->dice, GAP_NS) : first->due_ns;
	lane->there.scheduled = true;
	wh_sim_at(lane->sim, when, let_requests_arrive, lane, 0);
}

static size_t serve_lane(struct sim_lane *lane)
{
	size_t done = 0;

	lane->waiting = false;
	while (lane->there.head != NULL && lane->there.head->due_ns <= lane->sim->now_ns && !is_cut(lane->link)) {
		(void)work_on_request(lane, true);
		done++;
	}
	go_there(lane);
	return done;
}

size_t wh_sim_remote_serve(struct sim_node *node)
{
	size_t done = 0;

	for (struct sim_lane *lane = node->served; lane != NULL && !node->dead; lane = lane->next_served)
		if (lane->waiting)
			done += serve_lane(lane);
	return done;
}

/* ---- completions -------------------------------------------------------------------------------------------------- */

static void complete_request(struct sim_lane *lane, const struct sim_request *request)
{
	if (request->op.kind == WH_REMOTE_READ && request->result == WHORL_OK)
		memcpy(request->into, request->words, request->op.bytes);
	if (request->op.kind == WH_REMOTE_WRITE_IMMEDIATE && request->result != WHORL_OK)
		lane->immediates--; /* it was not given */
	wh_remote_complete(&lane->base, request->result, request->value);
	ring_if_armed(lane->from);
}

static void come_back(void *ctx, uint64_t argument)
{
	struct sim_lane *lane = ctx;

	(void)argument;
	lane->back.scheduled = false;
	if (lane->back.head == NULL || (lane->link != NULL && is_cut(lane->link->back)))
		return;
	if (!lane->over && !lane->from->dead && !is_broken(lane))
		complete_request(lane, lane->back.head);
	drop_request(lane, &lane->back);
	go_back(lane);
}

static void go_back(struct sim_lane *lane)
{
	if (lane->back.head == NULL || lane->back.scheduled || (lane->link != NULL && is_cut(lane->link->back)))
		return;
	lane->back.scheduled = true;
	wh_sim_at(lane->sim, lane->back.head->due_ns, come_back, lane, 0);
}

void wh_sim_remote_resume(struct sim_lane *lane)
{
	if (lane == NULL)
		return;
	go_there(lane);
	go_back(lane);
}

/* ---- ends --------------------------------------------------------------------------------------------------------- */

void wh_sim_remote_end(struct sim_lane *lane)
{
	if (lane == NULL || lane->over)
		return;
	lane->over = true;
	wh_remote_lane_end(&lane->base);
}

void wh_sim_remote_truncate(struct sim_lane *lane)
{
	struct sim_request **at;
	uint64_t count = 0;

	if (lane == NULL)
		return;
	for (const struct sim_request *request = lane->there.head; request != NULL; request = request->next)
		count++;
	at = &lane->there.head;
	for (uint64_t whole = wh_dice_below(&lane->sim->dice, count + 1); whole > 0; whole--)
		at = &(*at)->next;
	lane->there.tail = at;
	while (*at != NULL) {
		struct sim_request *lost = *at;

		*at = lost->next;
		free(lost);
		lane->sim->under_way--;
	}
}

static void free_requests(struct sim_requests *queue)
{
	while (queue->head != NULL)
		free(take_request(queue));
}

void wh_sim_lane_free(struct sim_lane *lane)
{
	free_requests(&lane->there);
	free_requests(&lane->back);
	free(lane);
}

/* ---- posting ------------------------------------------------------------------------------------------------------ */

enum whorl_result wh_sim_lane_post(struct sim_lane *lane, const struct wh_remote_op *op)
{
	uint64_t at = lane->sim->now_ns + draw_delay(lane, lane->from->id, lane->to->id);
	struct sim_request *request = calloc(1, sizeof(*request));

	if (request == NULL)
		return WHORL_MEMORY;
	request->op = *op;
	if (op->kind == WH_REMOTE_READ)
		request->into = op->into;
	else if ((op->kind == WH_REMOTE_WRITE || op->kind == WH_REMOTE_WRITE_IMMEDIATE) && op->bytes > 0)
		memcpy(request->words, op->from, op->bytes);
	lane->there_ns = request->due_ns = wh_sim_later(lane->there_ns, at);
	lane->immediates += op->kind == WH_REMOTE_WRITE_IMMEDIATE;
	wh_remote_posted(&lane->base, op, lane->to->incarnation);
	if (is_broken(lane)) { /* the initiator will hear of it */
		free(request);
		return WHORL_OK;
	}
	lane->sim->under_way++;
	append_request(&lane->there, request);
	go_there(lane);
	return WHORL_OK;
}
