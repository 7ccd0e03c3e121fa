/* serving.c - see serving.h. */
#include "membership/serving.h"

#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"

enum whorl_result wh_serving_init(struct wh_serving *serving)
{
	uint32_t nodes = serving->roster->nodes;

	serving->wishing.roster = serving->roster;
	serving->looks = true;
	serving->come = calloc(nodes, sizeof(*serving->come));
	if (serving->come == NULL)
		return WHORL_MEMORY;
	return wh_collect_init(&serving->collect, nodes);
}

void wh_serving_withdraw(struct wh_serving *serving)
{
	unsigned char *bytes = serving->bytes;

	serving->bytes = NULL; /* first: a fork may come in between */
	serving->key = 0;
	serving->count = 0;
	free(bytes);
}

static void forget_composed(struct wh_serving *serving)
{
	struct wh_composed composed = serving->composed;
	struct wh_view *next = serving->next;

	wh_serving_withdraw(serving);
	serving->composed = (struct wh_composed){.refusals = NULL};
	serving->next = NULL;
	free(composed.refusals);
	wh_view_free(next);
}

void wh_serving_close(struct wh_serving *serving)
{
	forget_composed(serving);
	for (uint32_t node = 0; serving->come != NULL && node < serving->roster->nodes; node++)
		wh_view_parts_free(&serving->come[node]);
	free(serving->come);
	serving->come = NULL;
	wh_collect_close(&serving->collect);
}

/* ---- what comes --------------------------------------------------------------------------------------------------------- */

static bool on_wishes(struct wh_serving *serving, uint32_t from, const struct wh_wire *message)
{
	uint64_t incarnation = serving->roster->known_nodes[from].incarnation;
	enum whorl_result result =
		wh_collect_take(&serving->collect, from, incarnation, message, serving->roster->loop->now_ns);

	serving->looks = serving->looks || result == WHORL_OK;
	return result != WHORL_INVALID;
}

/* It is looked at when the row of that node proposes it: it may come before this node is in the view that it follows. */
static bool on_next(struct wh_serving *serving, uint32_t from, const struct wh_wire *message)
{
	struct wh_view_parts *come = &serving->come[from];

	if (wh_view_parts_take(come, message) != WHORL_INVALID)
		return true;
	wh_view_parts_free(come);
	return false;
}

bool wh_serving_on_message(struct wh_serving *serving, uint32_t from, const struct wh_wire *message)
{
	if (message->kind == WH_WIRE_WISHES)
		return on_wishes(serving, from, message);
	if (message->kind == WH_WIRE_NEXT)
		return on_next(serving, from, message);
	(void)wh_wishing_refused(&serving->wishing, from, message);
	return true;
}

void wh_serving_gone(struct wh_serving *serving, uint32_t node)
{
	wh_collect_gone(&serving->collect, node);
	wh_view_parts_free(&serving->come[node]);
}

void wh_serving_begin(struct wh_serving *serving, const struct wh_view *view)
{
	for (uint32_t node = 0; node < serving->roster->nodes; node++)
		if (wh_image_view(serving->come[node].key) <= view->number)
			wh_view_parts_free(&serving->come[node]);
	forget_composed(serving);
	wh_collect_settle(&serving->collect, view, serving->roster->loop->now_ns);
	serving->wishing.held = false;
	serving->looks = true;
}

/* ---- as leader ---------------------------------------------------------------------------------------------------------- */

void wh_serving_say_mine(struct wh_serving *serving)
{
	const struct wh_roster *roster = serving->roster;

	if (wh_collect_mine(&serving->collect, roster->id, roster->incarnation, &serving->wishing.said,
			    roster->loop->now_ns))
		serving->looks = true;
}

/* True: it serves some member anew. */
static bool note_served(struct wh_serving *serving, const uint64_t *was)
{
	bool any = false;

	for (uint32_t rank = 0; rank < serving->next->members; rank++) {
		serving->serves_anew[rank] = serving->next->served[rank] != was[rank];
		any = any || serving->serves_anew[rank];
	}
	return any;
}

/* 0: no memory. */
static uint64_t write_next(struct wh_serving *serving, uint64_t key)
{
	size_t count;

	if (wh_view_encode(&serving->bytes, &count, serving->next) != WHORL_OK)
		return 0;
	wh_collect_composed(&serving->collect, serving->roster->loop->now_ns);
	serving->count = (uint32_t)count;
	serving->key = key;
	memset(serving->sent, 0, sizeof(serving->sent));
	return (uint64_t)count << 32 | wh_crc32c(0, serving->bytes, count);
}

uint64_t wh_serving_compose(struct wh_serving *serving, struct wh_view *next, const struct wh_view *before,
			    uint64_t key, bool alone)
{
	const struct wh_wish_set *sets[WH_NODES_MAX];
	uint64_t was[WH_NODES_MAX];
	bool serves;

	forget_composed(serving);
	serving->next = next;
	memcpy(was, next->served, next->members * sizeof(*was));
	if (wh_collect_sets(&serving->collect, next, sets) == 0 ||
	    wh_wishes_compose(&serving->composed, next, before, sets, serving->layout) != WHORL_OK) {
		forget_composed(serving);
		return 0;
	}
	serves = note_served(serving, was);
	if (!serving->composed.changes)
		wh_collect_considered(&serving->collect, next, sets);
	return serving->composed.changes || (serves && !alone) ? write_next(serving, key) : 0;
}

bool wh_serving_is_replaced(const struct wh_serving *serving)
{
	const struct wh_view *next = serving->next;

	if (serving->key == 0)
		return false;
	for (uint32_t rank = 0; rank < next->members; rank++) {
		const struct wh_collected *of = &serving->collect.of[next->ids[rank]];

		if (serving->serves_anew[rank] && of->set != NULL && of->incarnation == next->incarnations[rank] &&
		    of->set->number > next->served[rank])
			return true;
	}
	return false;
}

/* ---- sending ------------------------------------------------------------------------------------------------------------ */

static bool send_refusal(struct wh_serving *serving, const struct wh_refusal *refusal)
{
	uint32_t node = serving->next->ids[refusal->rank];
	const struct wh_wire message = {
		.kind = WH_WIRE_REFUSED, .key = serving->next->served[refusal->rank], .refusal = *refusal};

	if (node == serving->roster->id)
		(void)wh_wishing_refused(&serving->wishing, node, &message);
	else if (!wh_roster_send(serving->roster, node, &message))
		return false;
	wh_collect_refused(&serving->collect, node, message.key, refusal->wish);
	return true;
}

/* What cannot be sent now stays. */
static size_t send_refusals(struct wh_serving *serving)
{
	struct wh_composed *composed = &serving->composed;
	uint32_t left = 0, count = composed->refusal_count;

	for (uint32_t i = 0; i < count; i++)
		if (!send_refusal(serving, &composed->refusals[i]))
			composed->refusals[left++] = composed->refusals[i];
	composed->refusal_count = left;
	return count - left;
}

/* Something that was refused has not been sent to that node. */
static bool is_untold(const struct wh_serving *serving, uint32_t node)
{
	for (uint32_t i = 0; i < serving->composed.refusal_count; i++)
		if (serving->next->ids[serving->composed.refusals[i].rank] == node)
			return true;
	return false;
}

size_t wh_serving_step(struct wh_serving *serving, const struct wh_view *view)
{
	size_t work = send_refusals(serving);

	if (serving->key == 0)
		return work;
	for (uint32_t rank = 0; rank < view->members; rank++)
		if (view->ids[rank] != serving->roster->id && !is_untold(serving, view->ids[rank]))
			work += wh_roster_send_pieces(serving->roster, view->ids[rank], WH_WIRE_NEXT, serving->key,
						      serving->bytes, serving->count, &serving->sent[rank]);
	return work;
}

bool wh_serving_has_told_newcomers(const struct wh_serving *serving)
{
	for (uint32_t i = 0; i < serving->composed.refusal_count; i++)
		if (serving->composed.refusals[i].rank >= serving->next->members - serving->next->joined_count)
			return false;
	return true;
}

/* ---- as member ---------------------------------------------------------------------------------------------------------- */

enum whorl_result wh_serving_take(struct wh_view **out, const struct wh_serving *serving, uint32_t from, uint64_t key,
				  uint64_t digest)
{
	struct wh_view_parts whole = serving->come[from];

	if (from == serving->roster->id)
		whole = (struct wh_view_parts){
			.key = serving->key, .total = serving->count, .have = serving->count, .bytes = serving->bytes};
	if (whole.bytes == NULL || whole.key != key || whole.have < whole.total)
		return WHORL_AGAIN;
	if (digest != ((uint64_t)whole.total << 32 | wh_crc32c(0, whole.bytes, whole.total)))
		return WHORL_INVALID;
	return wh_view_decode(out, whole.bytes, whole.total, serving->layout, serving->roster->nodes, NULL);
}
