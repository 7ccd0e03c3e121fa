/* later.c - answers that come later: whorl_defer gives a ticket, whorl_answer_later takes it from any thread, and the loop tells the
 * caller.
 *
 * A ticket is the place of its entry and how often that was used, so one that is over is not taken for the next.
 */
#include <stdlib.h>
#include <string.h>

#include "group/refuse.h"
#include "replica/replica_int.h"

#define NONE UINT32_MAX

void wh_later_init(struct wh_later *later)
{
	pthread_mutex_init(&later->lock, NULL);
	later->free = later->first = later->last = NONE;
}

void wh_later_close(struct wh_later *later)
{
	for (uint32_t i = 0; i < later->count; i++)
		free(later->tickets[i].answer);
	free(later->tickets);
}

/* With the lock. NONE: no memory. */
static uint32_t find_free(struct wh_later *later)
{
	uint32_t at = later->free, room = later->room > 0 ? 2 * later->room : 64;
	struct wh_ticket *tickets;

	if (at != NONE) {
		later->free = later->tickets[at].next;
		return at;
	}
	if (later->count == later->room) {
		tickets = room < NONE ? realloc(later->tickets, room * sizeof(*tickets)) : NULL;
		if (tickets == NULL)
			return NONE;
		later->tickets = tickets;
		later->room = room;
	}
	later->tickets[later->count] = (struct wh_ticket){.generation = 0};
	return later->count++;
}

uint64_t wh_later_add(struct wh_later *later, whorl_done_fn *done, void *ctx, uint64_t view, uint64_t sequence)
{
	uint64_t ticket = 0;
	uint32_t at;

	pthread_mutex_lock(&later->lock);
	at = find_free(later);
	if (at != NONE) {
		struct wh_ticket *t = &later->tickets[at];

		*t = (struct wh_ticket){.state = WH_TICKET_OPEN,
					.generation = t->generation + 1,
					.done = done,
					.ctx = ctx,
					.view = view,
					.sequence = sequence};
		ticket = (uint64_t)t->generation << 32 | (at + 1);
	}
	pthread_mutex_unlock(&later->lock);
	return ticket;
}

void wh_later_cancel(struct wh_later *later, uint64_t ticket)
{
	pthread_mutex_lock(&later->lock);
	later->tickets[(uint32_t)ticket - 1].done = NULL;
	pthread_mutex_unlock(&later->lock);
}

/* With the lock. The answer becomes the ticket's. */
static enum whorl_result give(struct wh_later *later, uint64_t ticket, void *answer, size_t bytes)
{
	uint32_t at = (uint32_t)ticket - 1;
	struct wh_ticket *t = at < later->count ? &later->tickets[at] : NULL;

	if (t == NULL || t->state != WH_TICKET_OPEN || t->generation != ticket >> 32)
		return WHORL_NOT_FOUND;
	t->state = WH_TICKET_ANSWERED;
	t->answer = answer;
	t->bytes = bytes;
	t->next = NONE;
	if (later->last != NONE)
		later->tickets[later->last].next = at;
	else
		later->first = at;
	later->last = at;
	return WHORL_OK;
}

/* In an upcall, or between wh_layer_begin_wait and wh_layer_end_wait: the node is not closed meanwhile. */
static enum whorl_result answer_ticket(struct wh_replica *replica, uint64_t ticket, const void *data, size_t bytes)
{
	void *answer = bytes > 0 ? malloc(bytes) : NULL;
	enum whorl_result result;

	if (bytes > 0 && answer == NULL)
		return WHORL_MEMORY;
	if (bytes > 0)
		memcpy(answer, data, bytes);
	pthread_mutex_lock(&replica->later.lock);
	result = give(&replica->later, ticket, answer, bytes);
	pthread_mutex_unlock(&replica->later.lock);
	if (result == WHORL_OK)
		wh_layer_ask(replica->subgroup);
	else
		free(answer);
	return result;
}

enum whorl_result whorl_answer_later(whorl_subgroup *subgroup, uint64_t ticket, const void *data, size_t bytes)
{
	struct wh_replica *replica = subgroup != NULL ? wh_replica_of(subgroup) : NULL;
	enum whorl_result result;

	if (replica == NULL || (data == NULL && bytes > 0))
		return WH_REFUSE(subgroup == NULL  ? "no subgroup"
				 : replica == NULL ? "the subgroup has no whorl_on_calls"
						   : "no data");
	if (wh_layer_state(subgroup) == WHORL_FORKED)
		return WHORL_FORKED;
	if (ticket == 0)
		return WHORL_OK;
	if (wh_layer_in_upcall(subgroup))
		return answer_ticket(replica, ticket, data, bytes);
	if (!wh_layer_begin_wait(subgroup)) /* as in whorl_read */
		return WHORL_CLOSED;
	result = answer_ticket(replica, ticket, data, bytes);
	wh_layer_end_wait(subgroup);
	return result;
}

/* ---- the loop ------------------------------------------------------------------------------------------------------------- */

/* With the lock: what is told of it is the caller's, and the entry is free. */
static struct wh_ticket take_ticket(struct wh_later *later, uint32_t at)
{
	struct wh_ticket taken = later->tickets[at];

	later->tickets[at] = (struct wh_ticket){.generation = taken.generation, .next = later->free};
	later->free = at;
	return taken;
}

static bool take_answered(struct wh_later *later, struct wh_ticket *out)
{
	bool any;

	pthread_mutex_lock(&later->lock);
	any = later->first != NONE;
	if (any) {
		uint32_t at = later->first;

		later->first = later->tickets[at].next;
		if (later->first == NONE)
			later->last = NONE;
		*out = take_ticket(later, at);
	}
	pthread_mutex_unlock(&later->lock);
	return any;
}

/* Unless it was cancelled. */
static void tell_ticket(const struct wh_ticket *t, enum whorl_result result, const char *text)
{
	if (t->done != NULL)
		wh_replica_tell(t->done, t->ctx,
				&(struct wh_outcome){.result = result,
						     .answer = t->answer,
						     .bytes = t->bytes,
						     .view = t->view,
						     .sequence = t->sequence,
						     .text = text});
}

size_t wh_later_step(struct wh_later *later)
{
	struct wh_ticket t;
	size_t told = 0;

	while (take_answered(later, &t)) {
		tell_ticket(&t, WHORL_OK, "");
		free(t.answer);
		told++;
	}
	return told;
}

static bool take_open(struct wh_later *later, struct wh_ticket *out)
{
	uint32_t at = 0;
	bool any;

	pthread_mutex_lock(&later->lock);
	while (at < later->count && later->tickets[at].state != WH_TICKET_OPEN)
		at++;
	any = at < later->count;
	if (any)
		*out = take_ticket(later, at);
	pthread_mutex_unlock(&later->lock);
	return any;
}

void wh_later_end(struct wh_later *later, const char *text)
{
	struct wh_ticket t;

	(void)wh_later_step(later);
	while (take_open(later, &t))
		tell_ticket(&t, WHORL_IN_DOUBT, text);
}
