/* lane.c - lanes, as a node's own session tells of them and leads callers to them, and as the session of a lane follows its node.
 * See lanes.h.
 */
#include "transport/session/session_int.h"

#include <inttypes.h>

#define SAY_AGAIN_NS (2 * WH_NS_PER_MS)

/* ---- the node tells its peers ------------------------------------------------------------------------------------------ */

static size_t tell_peers(struct wh_session *s)
{
	uint64_t open = wh_lanes_open_here(s->lanes);
	size_t done = 0;

	if (open == s->lanes_said && !s->lanes_unsaid)
		return 0;
	s->lanes_said = open;
	s->lanes_unsaid = false;
	for (uint32_t node = 0; node < s->nodes; node++) {
		struct wh_peer *peer = &s->peers[node];

		if (peer->state != WH_PEER_MET || peer->lanes_told == open)
			continue;
		if (wh_session_say_plain(s, peer, WH_MESSAGE_LANES, open)) {
			peer->lanes_told = open;
			done++;
		} else {
			s->lanes_unsaid = true;
		}
	}
	if (s->lanes_unsaid)
		wh_session_alarm(s, SAY_AGAIN_NS);
	return done;
}

/* ---- callers of lanes --------------------------------------------------------------------------------------------------- */

/* Why it will never be led there; "": it may be. */
static enum wh_complaint judge(const struct wh_session *s, const struct wh_conn *c, const struct wh_hello *hello,
			       char reason[WH_MESSAGE_REASON_BYTES])
{
	reason[0] = '\0';
	if (s->wire_ops->admits != NULL && !s->wire_ops->admits(c, hello->node, hello->incarnation, reason))
		return WH_COMPLAINT_UNPROVEN;
	(void)wh_session_is_foreign(s, hello, reason);
	return WH_COMPLAINT_FOREIGN;
}

static bool is_met(const struct wh_session *s, const struct wh_hello *hello)
{
	const struct wh_peer *peer = &s->peers[hello->node < s->nodes ? hello->node : s->node];

	return peer->state == WH_PEER_MET && peer->incarnation == hello->incarnation;
}

/* One of a node that is not met yet, or of a lane that is not open, or just closed, calls again. */
void wh_session_lead_to_lane(struct wh_session *s, struct wh_conn *c, const struct wh_hello *hello,
			     struct wh_message *m)
{
	char reason[WH_MESSAGE_REASON_BYTES];
	enum wh_complaint kind = judge(s, c, hello, reason);
	struct wh_conn *older = NULL;

	if (reason[0] == '\0' && s->lanes != NULL && s->lane == 0 && is_met(s, hello) &&
	    (wh_lanes_open_here(s->lanes) >> (hello->lane - 1) & 1) != 0) {
		wh_session_drop_conn(s, c);
		s->wire_ops->hand_over(c, hello->lane, m);
		if (!wh_lanes_hand_over(s->lanes, hello->lane, hello->node, c, &older))
			older = c; /* it has closed just now */
		if (older != NULL)
			s->wire_ops->close(older, false);
		return;
	}
	wh_session_discard_hello(s, c, m);
	if (reason[0] != '\0')
		wh_session_turn_away(s, c, kind, reason);
	else
		wh_session_close_conn(s, c);
}

/* ---- a lane follows its node -------------------------------------------------------------------------------------------- */

static bool is_open_at(const struct wh_session *s, uint64_t lanes)
{
	return (lanes >> (s->lane - 1) & 1) != 0;
}

/* What it has said before comes first: it may be that it leaves. */
static void end_life(struct wh_session *s, struct wh_peer *peer, const struct wh_lanes_peer *news)
{
	uint64_t incarnation = peer->incarnation;
	bool dry;

	if (peer->state == WH_PEER_MET)
		(void)wh_session_read(s, peer, &dry);
	if (peer->incarnation != incarnation || wh_session_is_full(s))
		return;
	peer->left = peer->left || news->left == incarnation;
	wh_session_lose(s, peer, "has ended for its node");
}

static void follow_peer(struct wh_session *s, struct wh_peer *peer)
{
	struct wh_lanes_peer news = wh_lanes_peer(s->lanes, peer->node);
	bool has_lane = is_open_at(s, news.open);

	if (peer->incarnation != 0 && peer->incarnation != news.incarnation)
		end_life(s, peer, &news);
	if (has_lane && (!peer->has_lane || peer->here != news.incarnation)) {
		peer->redial.at_ns = peer->redial.in_ns = 0;
		wh_session_alarm(s, 1);
	}
	peer->here = news.incarnation;
	peer->has_lane = has_lane;
}

static void follow_holds(struct wh_session *s)
{
	if (s->holds || !wh_lanes_hold_through_cuts(s->lanes))
		return;
	s->holds = true;
	for (uint32_t node = 0; node < s->nodes; node++)
		if (s->peers[node].state == WH_PEER_MET)
			wh_session_hold(s, &s->peers[node]);
}

static void take_callers(struct wh_session *s)
{
	struct wh_conn *c;

	while (!wh_session_is_full(s) && (c = wh_lanes_take_caller(s->lanes, s->lane, false)) != NULL) {
		s->wire_ops->take_over(s->wire, c);
		wh_session_take_caller(s, c);
	}
}

static size_t follow(struct wh_session *s)
{
	uint64_t changes = wh_lanes_changes(s->lanes);

	if (changes == s->lanes_seen || s->left)
		return 0;
	follow_holds(s);
	for (uint32_t node = 0; node < s->nodes && !wh_session_is_full(s); node++)
		if (node != s->node)
			follow_peer(s, &s->peers[node]);
	take_callers(s);
	if (!wh_session_is_full(s)) /* else what is left is followed when there is room */
		s->lanes_seen = changes;
	return 1;
}

bool wh_session_may_call(const struct wh_session *s, const struct wh_peer *peer)
{
	return s->lane == 0 ||
	       (peer->here != 0 && peer->has_lane && !wh_known_incarnations_has(&peer->ended, peer->here));
}

/* ---- both ---------------------------------------------------------------------------------------------------------------- */

size_t wh_session_look_at_lanes(struct wh_session *s)
{
	if (s->lanes == NULL || s->left)
		return 0;
	return s->lane == 0 ? tell_peers(s) : follow(s);
}

bool wh_session_lanes_want(const struct wh_session *s)
{
	if (s->lanes == NULL)
		return false;
	if (s->lane != 0)
		return wh_lanes_changes(s->lanes) != s->lanes_seen;
	return s->lanes_unsaid || wh_lanes_open_here(s->lanes) != s->lanes_said;
}

enum whorl_result wh_session_open_lane(struct wh_session *s, struct wh_error *err)
{
	enum whorl_result result = wh_lanes_open(s->lanes, s->lane, s->transport, err);

	s->lane_open = result == WHORL_OK;
	wh_session_alarm(s, 1);
	return result;
}

void wh_session_lanes_part(struct wh_session *s, uint32_t node, uint64_t incarnation)
{
	if (s->lanes != NULL && node < s->nodes)
		wh_lanes_ended(s->lanes, node, incarnation, false);
}

void wh_session_end_lanes(struct wh_session *s)
{
	struct wh_conn *c;

	if (s->lanes == NULL)
		return;
	if (s->lane == 0)
		wh_lanes_node_ends(s->lanes, s->forked);
	if (s->lane_open)
		wh_lanes_close(s->lanes, s->lane, s->forked);
	while (s->lane_open && (c = wh_lanes_take_caller(s->lanes, s->lane, s->forked)) != NULL) {
		s->wire_ops->take_over(s->wire, c);
		s->wire_ops->close(c, s->forked);
	}
	wh_lanes_let_go(s->lanes, s->forked);
	s->lanes = NULL;
}
