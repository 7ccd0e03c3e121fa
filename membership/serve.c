/* serve.c - what rows have to do with wishes: see change.h, docs/decisions/0046. The rest is in serving.c. */
#include "membership/change_int.h"

static uint32_t node_of(const struct wh_change *change, uint32_t rank)
{
	return change->view->ids[rank];
}

/* ---- saying ---------------------------------------------------------------------------------------------------------------- */

/* The set that was said last has gone to that leader, all of it. */
static bool has_said(const struct wh_wishing *wishing, uint32_t leader)
{
	return leader == wishing->roster->id ||
	       (wishing->to == leader && wishing->to_incarnation != 0 && wishing->said_ns != 0);
}

size_t wh_serve_step(struct wh_change *change)
{
	struct wh_serving *serving = change->serving;
	uint32_t me = wh_change_me(change), leader = node_of(change, wh_change_leader(change));
	struct wh_wishing *wishing;
	uint64_t served;
	size_t work;

	if (serving == NULL)
		return 0;
	wishing = &serving->wishing;
	served = change->view->served[me];
	work = wh_wishing_step(wishing, leader, served);
	if (wishing->said.number <= served || !has_said(wishing, leader))
		return work;
	if (leader == node_of(change, me))
		wh_serving_say_mine(serving);
	if (wh_row(change, me, change->columns.wished) >= wishing->said.number)
		return work;
	wh_sst_publish(change->sst, change->pushes, change->columns.wished, wishing->said.number,
		       change->heartbeat->peers);
	wh_pushes_post(change->pushes);
	return work + 1;
}

/* ---- as leader ---------------------------------------------------------------------------------------------------------- */

bool wh_serve_is_due(struct wh_change *change)
{
	struct wh_serving *serving = change->serving;
	uint64_t wished[WH_NODES_MAX], now = change->loop->now_ns;

	if (serving == NULL)
		return false;
	if (!serving->looks && (serving->look_ns == 0 || now < serving->look_ns)) {
		if (serving->look_ns != 0) /* each pass says anew what it waits for */
			wh_loop_at(change->loop, serving->look_ns);
		return false;
	}
	for (uint32_t rank = 0; rank < change->view->members; rank++)
		wished[rank] = wh_row(change, rank, change->columns.wished);
	serving->looks = wh_collect_is_due(&serving->collect, change->view, wished, now, &serving->look_ns);
	if (serving->look_ns != 0)
		wh_loop_at(change->loop, serving->look_ns);
	return serving->looks;
}

uint64_t wh_serve_compose(struct wh_change *change, const struct wh_next *next, bool alone)
{
	struct wh_serving *serving = change->serving;
	uint64_t key = wh_image_key(change->view->number, wh_change_me(change), change->attempt + 1);
	struct wh_view *view;
	uint64_t digest = 0;

	if (serving == NULL || !wh_collect_any(&serving->collect))
		return 0;
	if (wh_view_next(&view, change->view, next, serving->layout, NULL) == WHORL_OK)
		digest = wh_serving_compose(serving, view, change->view, key, alone);
	if (digest == 0) { /* not at once again: there may be no memory */
		serving->looks = false;
		serving->look_ns = change->loop->now_ns + WH_COLLECT_MOST_NS;
		wh_loop_at(change->loop, serving->look_ns);
	}
	return digest;
}

bool wh_serve_is_replaced(const struct wh_change *change)
{
	return change->serving != NULL && wh_serving_is_replaced(change->serving);
}

bool wh_serve_has_told_newcomers(const struct wh_change *change)
{
	return change->serving == NULL || wh_serving_has_told_newcomers(change->serving);
}

size_t wh_serve_send(struct wh_change *change)
{
	return change->serving != NULL ? wh_serving_step(change->serving, change->view) : 0;
}

/* ---- as member, and of the leader itself ---------------------------------------------------------------------------------- */

void wh_serve_note(struct wh_change *change, uint32_t leader, uint64_t digest)
{
	struct wh_serving *serving = change->serving;

	if (serving == NULL)
		return;
	serving->wishing.held = digest != 0;
	if (digest != 0 || leader != wh_change_me(change))
		return;
	wh_serving_withdraw(serving);
	serving->looks = true;
}

enum whorl_result wh_serve_take(struct wh_change *change, struct wh_view **out, uint32_t leader, uint64_t key,
				uint64_t digest)
{
	if (change->serving == NULL)
		return WHORL_INVALID;
	return wh_serving_take(out, change->serving, node_of(change, leader), key, digest);
}

enum whorl_result wh_serve_check(struct wh_change *change, const struct wh_view *view, const struct wh_next *next,
				 const char **why)
{
	const struct wh_wishing *wishing = &change->serving->wishing;
	struct wh_view *base;
	enum wh_succession is;
	enum whorl_result result = wh_view_next(&base, change->view, next, change->serving->layout, NULL);

	if (result != WHORL_OK)
		return WHORL_MEMORY;
	is = wh_wishes_succeed(view, base, change->view, wh_change_me(change), &wishing->said, wishing->refused, why);
	wh_view_free(base);
	if (is == WH_SUCCEEDS)
		return WHORL_OK;
	return is == WH_OUT_OF_DATE ? WHORL_AGAIN : WHORL_INVALID;
}
