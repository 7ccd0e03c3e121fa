/* account.c - operations on regions of the simulator (T7), on their way and at their target.
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

/* ---- accounts -------------------------------------------------------------------------------------------------------- */

static bool is_cut(const struct sim_link *link)
{
	return link != NULL && link->path->cut_off;
}

static bool is_broken(const struct sim_account *account)
{
	return account->link != NULL && account->link->broken;
}

static uint64_t draw_delay(struct sim_account *account, uint32_t from, uint32_t to)
{
	const struct wh_sim_link_cost *cost = &wh_sim_path(account->sim, from, to)->cost;

	return wh_dice_between(&account->sim->dice, cost->latency_min_ns, cost->latency_max_ns);
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

static void drop_request(struct sim_account *account, struct sim_requests *queue)
{
	free(take_request(queue));
	account->sim->under_way--;
}

struct sim_account *wh_sim_account_new(struct sim_node *from, struct sim_node *to, struct sim_link *link)
{
	struct sim_account *account = calloc(1, sizeof(*account));

	if (account == NULL)
		return NULL;
	account->base.node = to->id;
	account->sim = from->sim;
	account->from = from;
	account->to = to;
	account->link = link;
	account->there.tail = &account->there.head;
	account->back.tail = &account->back.head;
	account->by_loop = wh_dice_one_in(&account->sim->dice, BY_LOOP_IN);
	account->next = from->accounts;
	from->accounts = account;
	account->next_served = to->served;
	to->served = account;
	return account;
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
static void move_words(struct sim_account *account, struct sim_request *request, wh_word *words, bool all)
{
	for (uint64_t i = 0; i < request->op.bytes / sizeof(*words); i++) {
		if (request->done[i] || (!all && wh_dice_one_in(&account->sim->dice, 2)))
			continue;
		request->done[i] = true;
		if (request->op.kind == WH_REMOTE_READ)
			request->words[i] = wh_load_acquire(&words[i]);
		else
			wh_store_release(&words[i], request->words[i]);
	}
}

static void carry_out(struct sim_account *account, struct sim_request *request, const struct sim_region *region,
		      bool all)
{
	const struct wh_remote_op *op = &request->op;

	switch (op->kind) {
	case WH_REMOTE_READ:
	case WH_REMOTE_WRITE:
	case WH_REMOTE_WRITE_IMMEDIATE:
		move_words(account, request, region->base.words + op->offset / sizeof(wh_word), all);
		return;
	case WH_REMOTE_FETCH_ADD:
	case WH_REMOTE_COMPARE_SWAP:
		request->value = wh_remote_carry_out(region->base.words, op);
		return;
	}
}

static void give_immediate(struct sim_account *account, uint32_t number)
{
	struct sim_immediate *immediate = malloc(sizeof(*immediate));
	struct sim_node *node = account->to;

	if (immediate == NULL) {
		wh_sim_condemn(account->sim, node->id, "no memory for an immediate");
		return;
	}
	*immediate = (struct sim_immediate){NULL, account, number};
	*node->immediates_tail = immediate;
	node->immediates_tail = &immediate->next;
	ring_if_armed(node);
}

static void go_back(struct sim_account *account);

/* The first one has been carried out, or there is nothing to carry it out on. */
static void finish_request(struct sim_account *account, enum whorl_result result)
{
	struct sim_request *request = take_request(&account->there);

	wh_sim_note(account->sim, (uint64_t)account->from->id << 32 | account->to->id);
	wh_sim_note(account->sim, request->op.offset << 8 | request->op.kind);
	wh_sim_note(account->sim, request->value);
	request->result = result;
	if (result == WHORL_OK && request->op.kind == WH_REMOTE_WRITE_IMMEDIATE)
		give_immediate(account, request->op.immediate);
	request->due_ns = wh_sim_later(account->back_ns,
				       account->sim->now_ns + draw_delay(account, account->to->id, account->from->id));
	account->back_ns = request->due_ns;
	append_request(&account->back, request);
	go_back(account);
}

/* One step of the first one. False: there will be another. */
static bool work_on_request(struct sim_account *account, bool at_once)
{
	struct sim_request *request = account->there.head;
	const struct sim_region *region = find_region(account->to, request->op.region);
	bool torn = !at_once && !request->half && request->op.bytes > sizeof(wh_word);

	if (account->to->dead) { /* the initiator will hear of it */
		drop_request(account, &account->there);
		return true;
	}
	if (region != NULL)
		carry_out(account, request, region, !torn);
	request->half = torn && region != NULL;
	if (!request->half)
		finish_request(account, region != NULL ? WHORL_OK : WHORL_NOT_FOUND);
	return !request->half;
}

static void go_there(struct sim_account *account);

static void let_requests_arrive(void *ctx, uint64_t argument)
{
	struct sim_account *account = ctx;

	(void)argument;
	account->there.scheduled = false;
	if (account->there.head == NULL || is_cut(account->link))
		return;
	if (account->by_loop && !account->to->dead) {
		account->waiting = true;
		ring_if_armed(account->to);
		return;
	}
	(void)work_on_request(account, false);
	go_there(account);
}

/* Unless it waits for the loop. */
static void go_there(struct sim_account *account)
{
	const struct sim_request *first = account->there.head;
	uint64_t when;

	if (first == NULL || account->there.scheduled || account->waiting || is_cut(account->link))
		return;
	when = first->half ? account->sim->now_ns + wh_dice_below(&account->sim->dice, GAP_NS) : first->due_ns;
	account->there.scheduled = true;
	wh_sim_at(account->sim, when, let_requests_arrive, account, 0);
}

static size_t serve_account(struct sim_account *account)
{
	size_t done = 0;

	account->waiting = false;
	while (account->there.head != NULL && account->there.head->due_ns <= account->sim->now_ns &&
	       !is_cut(account->link)) {
		(void)work_on_request(account, true);
		done++;
	}
	go_there(account);
	return done;
}

size_t wh_sim_remote_serve(struct sim_node *node)
{
	size_t done = 0;

	for (struct sim_account *account = node->served; account != NULL && !node->dead; account = account->next_served)
		if (account->waiting)
			done += serve_account(account);
	return done;
}

/* ---- completions -------------------------------------------------------------------------------------------------- */

static void complete_request(struct sim_account *account, const struct sim_request *request)
{
	if (request->op.kind == WH_REMOTE_READ && request->result == WHORL_OK)
		memcpy(request->into, request->words, request->op.bytes);
	if (request->op.kind == WH_REMOTE_WRITE_IMMEDIATE && request->result != WHORL_OK)
		account->immediates--; /* it was not given */
	wh_remote_complete(&account->base, request->result, request->value);
	ring_if_armed(account->from);
}

static void come_back(void *ctx, uint64_t argument)
{
	struct sim_account *account = ctx;

	(void)argument;
	account->back.scheduled = false;
	if (account->back.head == NULL || (account->link != NULL && is_cut(account->link->back)))
		return;
	if (!account->over && !account->from->dead && !is_broken(account))
		complete_request(account, account->back.head);
	drop_request(account, &account->back);
	go_back(account);
}

static void go_back(struct sim_account *account)
{
	if (account->back.head == NULL || account->back.scheduled ||
	    (account->link != NULL && is_cut(account->link->back)))
		return;
	account->back.scheduled = true;
	wh_sim_at(account->sim, account->back.head->due_ns, come_back, account, 0);
}

void wh_sim_remote_resume(struct sim_account *account)
{
	if (account == NULL)
		return;
	go_there(account);
	go_back(account);
}

/* ---- ends --------------------------------------------------------------------------------------------------------- */

void wh_sim_remote_end(struct sim_account *account)
{
	if (account == NULL || account->over)
		return;
	account->over = true;
	wh_remote_account_end(&account->base);
}

void wh_sim_remote_truncate(struct sim_account *account)
{
	struct sim_request **at;
	uint64_t count = 0;

	if (account == NULL)
		return;
	for (const struct sim_request *request = account->there.head; request != NULL; request = request->next)
		count++;
	at = &account->there.head;
	for (uint64_t whole = wh_dice_below(&account->sim->dice, count + 1); whole > 0; whole--)
		at = &(*at)->next;
	account->there.tail = at;
	while (*at != NULL) {
		struct sim_request *lost = *at;

		*at = lost->next;
		free(lost);
		account->sim->under_way--;
	}
}

static void free_requests(struct sim_requests *queue)
{
	while (queue->head != NULL)
		free(take_request(queue));
}

void wh_sim_account_free(struct sim_account *account)
{
	free_requests(&account->there);
	free_requests(&account->back);
	free(account);
}

/* ---- posting ------------------------------------------------------------------------------------------------------ */

enum whorl_result wh_sim_account_post(struct sim_account *account, const struct wh_remote_op *op)
{
	uint64_t at = account->sim->now_ns + draw_delay(account, account->from->id, account->to->id);
	struct sim_request *request = calloc(1, sizeof(*request));

	if (request == NULL)
		return WHORL_MEMORY;
	request->op = *op;
	if (op->kind == WH_REMOTE_READ)
		request->into = op->into;
	else if ((op->kind == WH_REMOTE_WRITE || op->kind == WH_REMOTE_WRITE_IMMEDIATE) && op->bytes > 0)
		memcpy(request->words, op->from, op->bytes);
	account->there_ns = request->due_ns = wh_sim_later(account->there_ns, at);
	account->immediates += op->kind == WH_REMOTE_WRITE_IMMEDIATE;
	wh_remote_posted(&account->base, op, account->to->incarnation);
	if (is_broken(account)) { /* the initiator will hear of it */
		free(request);
		return WHORL_OK;
	}
	account->sim->under_way++;
	append_request(&account->there, request);
	go_there(account);
	return WHORL_OK;
}
