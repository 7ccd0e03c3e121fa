# lanes.cmake - lanes (transport/session/lane.c, lanes.c), taken out one rule at a time. See mutants.cmake.

mutant(NAME lane-calls-without-lane KIND test_session_lanes FILE transport/session/lane.c
	REMOVES "a lane calls only those that say they have it"
	TEXT [[
	       (peer->here != 0 && peer->has_lane && !wh_known_incarnations_has(&peer->ended, peer->here));
]]
	REPLACEMENT [[
	       (peer->here != 0 && !wh_known_incarnations_has(&peer->ended, peer->here));
]])

mutant(NAME lane-calls-the-ended KIND test_session_lanes FILE transport/session/lane.c
	REMOVES "a life that a lane has lost is not called again on it"
	TEXT [[
	       (peer->here != 0 && peer->has_lane && !wh_known_incarnations_has(&peer->ended, peer->here));
]]
	REPLACEMENT [[
	       (peer->here != 0 && peer->has_lane);
]])

mutant(NAME lane-answer-of-any-life KIND test_session_lanes FILE transport/session/call.c
	REMOVES "a lane is answered by the life that is here for its node"
	TEXT [[
	if (s->lane != 0 && peer->here != hello->incarnation) { /* it ends just now for the node, or begins */
]]
	REPLACEMENT [[
	if (s->lane != 0 && peer->here == 0) {
]])

mutant(NAME lane-answer-of-any-lane KIND test_session_lanes FILE transport/session/call.c
	REMOVES "a lane is answered by the same lane"
	TEXT [[
	if (hello->lane != s->lane) {
]]
	REPLACEMENT [[
	if (false) {
]])

mutant(NAME lane-caller-of-any-life KIND test_session_lanes FILE transport/session/door.c
	REMOVES "a lane lets in only what is here for its node"
	TEXT [[
	if (s->lane != 0 && peer->here != hello->incarnation)
]]
	REPLACEMENT [[
	if (false)
]])

mutant(NAME lane-led-unproven KIND test_session_lanes FILE transport/session/lane.c
	REMOVES "what calls a lane has proven to be the node that it says"
	TEXT [[
	if (s->wire_ops->admits != NULL && !s->wire_ops->admits(c, hello->node, hello->incarnation, reason))
		return WH_COMPLAINT_UNPROVEN;
]]
	REPLACEMENT [[
]])

mutant(NAME lane-led-unmet KIND test_session_lanes FILE transport/session/lane.c
	REMOVES "a caller of a lane is led there when its node has met it, as that life"
	TEXT [[
	return peer->state == WH_PEER_MET && peer->incarnation == hello->incarnation;
]]
	REPLACEMENT [[
	return hello->node != s->node;
]])

mutant(NAME lane-led-foreign KIND test_session_lanes FILE transport/session/lane.c
	REMOVES "a caller of a lane that is of another group is told so at the door"
	TEXT [[
	(void)wh_session_is_foreign(s, hello, reason);
]]
	REPLACEMENT [[
]])

mutant(NAME lane-callers-pile-up KIND test_session_lanes FILE transport/session/lanes.c
	REMOVES "of callers of one node the later takes the place of the one before"
	TEXT [[
		*older = to->callers[node];
]]
	REPLACEMENT [[
]])

mutant(NAME lane-outlives-peer KIND test_session_lanes FILE transport/session/lane.c
	REMOVES "what ends for the node ends for its lanes"
	TEXT [[
		end_life(s, peer, &news);
]]
	REPLACEMENT [[
		(void)end_life;
]])

mutant(NAME lane-left-is-down KIND test_session_lanes FILE transport/session/lane.c
	REMOVES "what has left in order for the node has left for its lanes"
	TEXT [[
	peer->left = peer->left || news->left == incarnation;
]]
	REPLACEMENT [[
]])

mutant(NAME lane-parts-from-the-next KIND test_session_lanes FILE transport/session/lanes.c
	REMOVES "the end of a life is not that of the next"
	TEXT [[
	if (peer->incarnation == incarnation) {
		peer->incarnation = 0;
]]
	REPLACEMENT [[
	if (peer->incarnation != 0) {
		peer->incarnation = 0;
]])

mutant(NAME lane-takes-all KIND test_session_lanes FILE transport/session/peer.c
	REMOVES "a lane carries nothing of a group"
	TEXT [[
	return s->lane == 0 || kind == WH_MESSAGE_LEAVE || kind == WH_MESSAGE_PING || kind == WH_MESSAGE_PONG ||
]]
	REPLACEMENT [[
	return true || kind == WH_MESSAGE_LEAVE || kind == WH_MESSAGE_PING || kind == WH_MESSAGE_PONG ||
]])

mutant(NAME lane-untold KIND test_session_lanes FILE transport/session/lane.c
	REMOVES "a peer that could not be told of a lane is told later"
	TEXT [[
			s->lanes_unsaid = true;
]]
	REPLACEMENT [[
			s->lanes_unsaid = false;
]])

mutant(NAME lane-opened-again KIND test_session_lanes FILE transport/session/lanes.c
	REMOVES "a node opens each lane once"
	TEXT [[
	if (place->opened) /* its incarnation may have been met, and is met once */
]]
	REPLACEMENT [[
	if (place->transport != NULL)
]])

mutant(NAME lane-lets-go-in-a-cut KIND test_session_lanes FILE transport/session/lane.c
	REMOVES "connections of lanes outlast a cut as those of the node do"
	TEXT [[
	s->holds = true;
]]
	REPLACEMENT [[
]])

mutant(NAME lane-callers-left-open KIND test_session_lanes FILE transport/session/lane.c
	REMOVES "callers that wait for a lane that ends are hung up"
	TEXT [[
		s->wire_ops->take_over(s->wire, c);
		s->wire_ops->close(c, s->forked);
]]
	REPLACEMENT [[
]])

mutant(NAME lane-keeps-the-removed KIND test_group_lanes FILE group/install.c
	REMOVES "what a view goes on without ends for lanes"
	TEXT [[
		part_lanes(epoch, before);
]]
	REPLACEMENT [[
		(void)part_lanes;
]])
