/* join_requests.c - the nodes that come in: asked for, invited, there. See roster.h; docs/decisions/0016.
 *
 * Which newcomers the leader takes in, and when, is decided in propose.c; here is what is said to and heard from them.
 */
#include <stdlib.h>
#include <string.h>

#include "membership/roster.h"

#define WANTS_NS (500 * WH_NS_PER_MS) /* some times as often as it asks (join.c) */

bool wh_join_requests_on_message(struct wh_join_requests *requests, uint32_t node, const struct wh_wire *message,
				 bool leads)
{
	struct wh_known_node *known = &requests->roster->known_nodes[node];

	if (message->kind == WH_WIRE_THERE) {
		known->opened = message->key;
		if (message->flag)
			known->there = message->key;
		return false;
	}
	if (known->incarnation != message->incarnation)
		return false;
	if (!known->introduced) /* its intro is behind */
		wh_roster_on_intro(requests->roster, node, message);
	if (!leads) {
		known->told = 0; /* which member leads */
		requests->roster->outstanding = true;
		return false;
	}
	if (wh_view_rank_of(requests->roster->view, node, known->incarnation) < 0) /* a member has wishes */
		known->wanted_ns = requests->roster->loop->now_ns;
	return true;
}

/* The pointer goes first: a fork may come in between, and its child frees what it finds. */
static void forget_bytes(struct wh_join_requests *requests)
{
	unsigned char *bytes = requests->bytes;

	requests->bytes = NULL;
	free(bytes);
}

/* It asks again and again as long as it lives. */
static bool wants_to_join(const struct wh_roster *roster, const struct wh_known_node *known)
{
	return known->wanted_ns != 0 && roster->loop->now_ns - known->wanted_ns < WANTS_NS;
}

uint32_t wh_join_requests_newcomers(struct wh_join_requests *requests, struct wh_newcomer *out, uint32_t max)
{
	const struct wh_roster *roster = requests->roster;
	uint32_t count = 0;

	for (uint32_t i = 0; i < roster->nodes && count < max; i++) {
		uint32_t node = (requests->turn + i) % roster->nodes;
		const struct wh_known_node *known = &roster->known_nodes[node];

		/* An id is taken in again only after a view without it. */
		if (!wants_to_join(roster, known) || !known->introduced || known->differs != NULL ||
		    wh_view_rank(roster->view, node) >= 0 || roster->loop->now_ns < known->not_before_ns)
			continue;
		out[count++] = (struct wh_newcomer){.id = node, .incarnation = known->incarnation};
	}
	if (count > 0)
		requests->turn = out[count - 1].id + 1;
	return count;
}

enum wh_arrival wh_join_requests_arrival(const struct wh_join_requests *requests, uint64_t key,
					 const struct wh_newcomer *newcomer)
{
	const struct wh_known_node *known = &requests->roster->known_nodes[newcomer->id];

	if (known->incarnation != newcomer->incarnation || known->differs != NULL)
		return WH_ARRIVAL_GONE;
	return known->there == key ? WH_ARRIVAL_THERE : WH_ARRIVAL_COMING;
}

/* All wait for a newcomer that has not even opened its image; if all have, some of them cannot meet. These must not be
 * invited together for ever, and no node must wait again and again for one that is not there any more. */
static bool is_late(const struct wh_known_node *known, bool all_opened)
{
	return known->opened != known->invited || (all_opened && known->there != known->invited);
}

static bool have_all_opened(const struct wh_join_requests *requests)
{
	for (uint32_t node = 0; node < requests->roster->nodes; node++) {
		const struct wh_known_node *known = &requests->roster->known_nodes[node];

		if (known->invited != 0 && known->opened != known->invited)
			return false;
	}
	return true;
}

static void recall_invitation(struct wh_join_requests *requests, struct wh_known_node *known, bool blames,
			      bool all_opened)
{
	const struct wh_env *env = requests->roster->diag->env;
	uint64_t now = requests->roster->loop->now_ns, random = env->random_u64(env->ctx);

	if (blames && is_late(known, all_opened)) { /* it must ask again, and wait longer each time */
		uint64_t patience = requests->patience_ns << known->failures;

		known->wanted_ns = 0;
		known->not_before_ns = now + patience + random % patience;
		known->failures += known->failures < WH_FAILURES_MAX;
	}
	known->recalls = true;
	known->recalled = known->invited;
	known->invited = 0;
}

enum whorl_result wh_join_requests_invite(struct wh_join_requests *requests, const struct wh_view *view, uint64_t key,
					  bool blames)
{
	struct wh_roster *roster = requests->roster;
	bool all_opened = have_all_opened(requests);
	enum whorl_result result = WHORL_OK;

	forget_bytes(requests);
	if (view != NULL)
		result = wh_view_encode(&requests->bytes, &requests->count, view);
	if (result != WHORL_OK)
		view = NULL;
	requests->key = view != NULL ? key : 0;
	for (uint32_t node = 0; node < roster->nodes; node++) {
		struct wh_known_node *known = &roster->known_nodes[node];
		/* Into a first view, or one behind a restart, all are; none has been in it in this life. */
		bool invited = view != NULL && known->incarnation != 0 &&
			       (wh_is_first_view(key) || wh_rank_find(view->joined, view->joined_count, node) >= 0) &&
			       wh_view_rank_of(view, node, known->incarnation) >= 0;

		if (known->invited != 0 && !invited)
			recall_invitation(requests, known, blames, all_opened);
		if (!invited)
			continue;
		known->invited = key;
		known->recalls = false;
		known->sent = 0;
	}
	requests->outstanding = true;
	return result;
}

void wh_join_requests_renounce(struct wh_join_requests *requests, const struct wh_view *view, uint64_t key)
{
	bool all_opened = have_all_opened(requests);
	struct wh_roster *roster = requests->roster;

	for (uint32_t rank = 0; rank < view->members; rank++) {
		struct wh_known_node *known = &roster->known_nodes[view->ids[rank]];

		if (known->incarnation != view->incarnations[rank])
			continue;
		if (known->invited != 0)
			recall_invitation(requests, known, true, all_opened);
		known->recalls = true;
		known->recalled = key;
	}
	requests->outstanding = true;
}

/* What was noted of its coming is over. */
static struct wh_known_node forget_coming(const struct wh_known_node *known)
{
	struct wh_known_node now = *known;

	now.recalls = false;
	now.wanted_ns = now.not_before_ns = 0;
	now.failures = 0;
	return now;
}

void wh_join_requests_settle(struct wh_join_requests *requests, const struct wh_view *view)
{
	struct wh_roster *roster = requests->roster;

	for (uint32_t node = 0; node < roster->nodes; node++) {
		struct wh_known_node *known = &roster->known_nodes[node];

		if (known->incarnation != 0 && wh_view_rank_of(view, node, known->incarnation) >= 0)
			*known = forget_coming(known);
		else if (known->invited != 0)
			recall_invitation(requests, known, false, true);
		known->invited = 0;
	}
	forget_bytes(requests);
	requests->key = 0;
	requests->outstanding = true;
}

size_t wh_join_requests_step(struct wh_join_requests *requests)
{
	struct wh_roster *roster = requests->roster;
	size_t work = 0;

	if (!requests->outstanding)
		return 0;
	requests->outstanding = false;
	for (uint32_t node = 0; node < roster->nodes; node++) {
		struct wh_known_node *known = &roster->known_nodes[node];
		const struct wh_wire withdrawn = {.kind = WH_WIRE_WITHDRAWN, .key = known->recalled};

		/* To a node that has not heard what I am an invitation, or its end, would mean nothing: my intro goes first. */
		if (known->told == 0 && (known->recalls || known->invited != 0)) {
			requests->outstanding = true;
			continue;
		}
		if (known->recalls) {
			known->recalls = !wh_roster_send(roster, node, &withdrawn);
			requests->outstanding |= known->recalls;
			work += !known->recalls;
		}
		if (known->invited == 0 || known->invited != requests->key || known->sent == requests->count)
			continue;
		work += wh_roster_send_pieces(roster, node, WH_WIRE_VIEW, requests->key, requests->bytes,
					      (uint32_t)requests->count, &known->sent) > 0;
		requests->outstanding |= known->sent < requests->count;
	}
	return work;
}

void wh_join_requests_close(struct wh_join_requests *requests)
{
	forget_bytes(requests);
}
