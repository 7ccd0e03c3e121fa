/* history_end.c - how nodes end, and what must be true when all is over. */
#include "sim/history_int.h"

#include <inttypes.h>

static bool set_fate(struct wh_history *h, uint32_t node, enum fate fate)
{
	if (h->is_broken)
		return false;
	if (node >= h->life_count || h->lives[node].id == NOBODY)
		return wh_history_break(h, "gone: node %" PRIu32 " ends, and there is none", node);
	if (h->lives[node].fate == LIVES)
		h->lives[node].fate = fate;
	return true;
}

bool wh_history_crashed(struct wh_history *h, uint32_t node)
{
	return set_fate(h, node, CRASHED);
}

bool wh_history_removed(struct wh_history *h, uint32_t node)
{
	return set_fate(h, node, REMOVED);
}

bool wh_history_leaving(struct wh_history *h, uint32_t node)
{
	if (!set_fate(h, node, LIVES))
		return false;
	h->lives[node].leaves = true;
	return true;
}

bool wh_history_left(struct wh_history *h, uint32_t node)
{
	return wh_history_leaving(h, node) && set_fate(h, node, LEFT);
}

/* ---- the end of all -------------------------------------------------------------------------------------------------- */

static const struct view *last_view(const struct wh_history *h)
{
	const struct view *last = NULL;

	for (uint64_t v = 0; v < h->view_count; v++)
		if (last == NULL || h->views[v]->number > last->number)
			last = h->views[v];
	return last;
}

/* Survivors that have not left are in the last view, and no dead life is. */
static bool check_last_view(struct wh_history *h, const bool *survives)
{
	const struct view *last = last_view(h);
	bool stays = false;

	for (uint32_t n = 0; n < h->life_count; n++) {
		const struct life *node = &h->lives[n];

		if (!survives[n])
			continue;
		if (node->fate == CRASHED || node->fate == REMOVED || node->view == NULL)
			return wh_history_break(h, "progress: %s is to survive, and %s", wh_history_who(h, n).text,
						node->view == NULL      ? "has no view"
						: node->fate == CRASHED ? "has crashed"
									: "was removed");
		if (node->fate != LEFT && node->view != last)
			return wh_history_break(h,
						"progress: %s ends in view %" PRIu64 ", %s has installed view %" PRIu64,
						wh_history_who(h, n).text, node->view->number,
						wh_history_who(h, last->by).text, last->number);
		stays |= node->fate != LEFT;
	}
	for (uint32_t rank = 0; stays && rank < last->count; rank++) {
		uint32_t life = wh_history_sender_in(h, last, last->members[rank]);

		if (life != NOBODY && h->lives[life].fate > LEFT)
			return wh_history_break(h, "progress: %s is dead or removed, and still in view %" PRIu64,
						wh_history_who(h, life).text, last->number);
	}
	return true;
}

/* What the node lacks of a sender: what a survivor delivered, and what this sender could send if it survives, or has sent if it rests. */
static bool check_rest(struct wh_history *h, const struct subgroup *g, uint32_t node, uint32_t s, bool sends)
{
	const struct member *member = &g->members[node];
	const struct stream *stream = &g->streams[s];
	const struct view *view = h->lives[node].view;

	sends &= g->members[s].place.role == WH_HISTORY_SENDER || g->members[s].place.rests;
	sends &= g->members[s].unit == member->unit && !member->place.inactive;
	for (uint64_t i = member->next[s]; i < stream->count; i++) {
		const struct message *message = &stream->messages[i];

		if (message->state == UNKNOWN) /* an open claim, which holds back those behind it */
			return true;
		if (wh_history_may_miss(g, member, stream, i) || (message->delivered && message->view > view->number))
			continue;
		if (g->ordered && message->delivered)
			return wh_history_break(h,
						"nothing that a survivor lacks: %s ends without message %" PRIu64
						" of %s, which %s delivered (%s)",
						wh_history_who(h, node).text, i, wh_history_who(h, s).text,
						wh_history_who(h, message->by).text,
						wh_history_at(g, message->unit, message->view).text);
		if (sends)
			return wh_history_break(
				h, "progress: %s ends without message %" PRIu64 " of %s, which survives (%s)",
				wh_history_who(h, node).text, i, wh_history_who(h, s).text,
				wh_history_at(g, member->unit, view->number).text);
	}
	return true;
}

bool wh_history_end(struct wh_history *h, const bool *survives)
{
	if (h->is_broken || !check_last_view(h, survives))
		return false;
	for (uint32_t g = 0; g < h->subgroup_count; g++)
		for (uint32_t n = 0; n < h->life_count; n++) {
			const struct member *member = &h->subgroups[g].members[n];

			if (!survives[n] || member->place.role == WH_HISTORY_OUT)
				continue;
			if (member->awaits)
				return wh_history_break(h, "progress: %s ends without the state of %s",
							wh_history_who(h, n).text, h->subgroups[g].name);
			for (uint32_t s = 0; s < h->life_count; s++)
				if (!check_rest(h, &h->subgroups[g], n, s, survives[s]))
					return false;
		}
	for (uint32_t n = 0; n < h->life_count; n++)
		if (survives[n] && h->lives[n].fate == LIVES && !wh_history_wishes_end(h, n))
			return false;
	return true;
}
