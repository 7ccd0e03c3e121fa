# session.cmake - how nodes meet and part, which strangers have a place, and how images become ready (transport/session), taken out one
# rule at a time. See mutants.cmake.

# ---- calls --------------------------------------------------------------------------------------------------------------

mutant(NAME session-crossed-both KIND test_session FILE transport/session/door.c
	REMOVES "of two calls that cross that of the higher id counts"
	TEXT [[
	if (peer->state == WH_PEER_CALLED && peer->conn->greeted && s->node > peer->node)
]]
	REPLACEMENT [[
	if (peer->state == WH_PEER_CALLED && peer->conn->greeted && s->node < peer->node)
]])

mutant(NAME session-ungreeted-counts KIND test_session FILE transport/session/door.c
	REMOVES "a call counts only once it is greeted: it may never get through"
	TEXT [[
	if (peer->state == WH_PEER_CALLED && peer->conn->greeted && s->node > peer->node)
]]
	REPLACEMENT [[
	if (peer->state == WH_PEER_CALLED && s->node > peer->node)
]])

mutant(NAME session-greeted-late KIND test_session FILE transport/session/call.c
	REMOVES "a call over a wire that connects at once counts at once"
	TEXT [[
	(void)wh_session_greet_peer(s, peer);
]]
	REPLACEMENT [[
]])

mutant(NAME session-calls-unnumbered KIND test_session FILE transport/session/call.c
	REMOVES "each call has a greater number than the one before"
	TEXT [[
		hello.call = ++s->calls;
]]
	REPLACEMENT [[
		hello.call = s->calls;
]])

mutant(NAME session-older-call KIND test_session FILE transport/session/door.c
	REMOVES "an older call of the same incarnation is hung up"
	TEXT [[
	if (peer->caller == hello->incarnation && hello->call <= peer->call)
]]
	REPLACEMENT [[
	if (peer->caller == hello->incarnation && hello->call < peer->call)
]])

mutant(NAME session-call-forgotten KIND test_session FILE transport/session/door.c
	REMOVES "the number of the call that was answered last is kept in mind"
	TEXT [[
	peer->call = hello->call;
]]
	REPLACEMENT [[
]])

mutant(NAME session-met-again KIND test_session FILE transport/session/door.c
	REMOVES "what is left of a call that crossed does not disturb the two, which have met"
	TEXT [[
	if (peer->state == WH_PEER_MET && peer->incarnation == hello->incarnation)
]]
	REPLACEMENT [[
	if (peer->state == WH_PEER_MET && peer->incarnation != hello->incarnation && hello->call == 0)
]])

mutant(NAME session-answered-gives-way KIND conformance-tcp-strangers FILE transport/session/door.c
	WORDS CK_RUN_CASE=calls
	REMOVES "an answered call is not put aside for a call of another incarnation before its connection has ended"
	TEXT [[
	if (peer->state == WH_PEER_MET || (peer->state == WH_PEER_ANSWERED && peer->incarnation != hello->incarnation))
]]
	REPLACEMENT [[
	if (peer->state == WH_PEER_MET)
]])

mutant(NAME session-answered-gives-up KIND test_session FILE transport/session/call.c
	REMOVES "a node that has answered never gives up"
	TEXT [[
	return is_waited_for(peer) && peer->redial.at_ns <= now;
]]
	REPLACEMENT [[
	return (is_waited_for(peer) || peer->state == WH_PEER_ANSWERED) && peer->redial.at_ns <= now;
]])

mutant(NAME session-word-for-nothing KIND test_session FILE transport/session/call.c
	REMOVES "each word before the answer to a call earns time anew"
	TEXT [[
	if (result == WH_WIRE_DONE || c->words != words)
		wait_anew(s, peer);
]]
	REPLACEMENT [[
	if (result == WH_WIRE_DONE && c->words == words)
		wait_anew(s, peer);
]])

mutant(NAME session-no-time-no-limit KIND test_session FILE transport/session/call.c
	REMOVES "a wire that knows the end of each process lets a call wait for as long as it likes"
	TEXT [[
	peer->redial.at_ns = answer_ns == 0 ? UINT64_MAX : wh_env_now(s->env) + answer_ns;
]]
	REPLACEMENT [[
	peer->redial.at_ns = wh_env_now(s->env) + answer_ns;
]])

mutant(NAME session-alarm-wakes KIND test_session FILE transport/session/session.c
	REMOVES "an alarm whose reason is gone does not end a sleep"
	TEXT [[
	return wants_service(s);
]]
	REPLACEMENT [[
	return wants_service(s) || true;
]])

mutant(NAME session-alarm-for-images KIND test_session_images FILE transport/session/session.c
	REMOVES "an alarm ends a sleep where a step of an image is to be tried again"
	TEXT [[
		wants = !image->settled;
]]
	REPLACEMENT [[
		wants = false;
]])

mutant(NAME session-alarm-for-doomed KIND test_session FILE transport/session/session.c
	REMOVES "an alarm ends a sleep where a peer is to be given up"
	TEXT [[
		wants = s->peers[node].doomed != NULL;
]]
	REPLACEMENT [[
		wants = false;
]])

mutant(NAME session-alarm-for-events KIND test_session FILE transport/session/session.c
	REMOVES "an alarm ends a sleep where there are events, or others are looked for"
	TEXT [[
	bool wants = s->redial.searching || s->held_count > 0 || s->event_queue.in != s->event_queue.out;
]]
	REPLACEMENT [[
	bool wants = s->held_count > 0;
]])

mutant(NAME session-late-to-look KIND conformance-tcp-keys FILE transport/session/call.c
	WORDS CK_RUN_CASE=in-time
	REMOVES "a node that has looked late looks for an answer before it gives up a call"
	TEXT [[
		if (is_late(peer, now))
			look_again(s, peer);
]]
	REPLACEMENT [[
		(void)look_again;
]])

mutant(NAME session-full-gives-up KIND test_session FILE transport/session/call.c
	REMOVES "nor does it give up a call while it has no room for the answer"
	TEXT [[
		if (is_late(peer, now) && !wh_session_is_full(s)) {
]]
	REPLACEMENT [[
		if (is_late(peer, now)) {
]])

# ---- one in another's place ---------------------------------------------------------------------------------------------

mutant(NAME session-answered-gives-way-at-random KIND test_session_random FILE transport/session/door.c
	REMOVES "the same, found by random runs of three sessions"
	TEXT [[
	if (peer->state == WH_PEER_MET || (peer->state == WH_PEER_ANSWERED && peer->incarnation != hello->incarnation))
]]
	REPLACEMENT [[
	if (peer->state == WH_PEER_MET)
]])

mutant(NAME session-pong-unheard KIND test_session FILE transport/session/door.c
	REMOVES "a peer that says that it is here keeps its place, and the caller is told so"
	TEXT [[
	if (peer->pinged_ns != 0 && peer->ponged_ns >= peer->pinged_ns) {
]]
	REPLACEMENT [[
	if (peer->pinged_ns != 0 && peer->ponged_ns > peer->pinged_ns + WH_NS_PER_S) {
]])

mutant(NAME session-pong-lasts KIND test_session FILE transport/session/door.c
	REMOVES "for the next caller a peer is asked anew whether it is here"
	TEXT [[
		peer->pinged_ns = 0;
		return NEVER;
]]
	REPLACEMENT [[
		return NEVER;
]])

mutant(NAME session-pings-in-a-row KIND test_session FILE transport/session/door.c
	REMOVES "a peer is asked once a second whether it is here"
	TEXT [[
	if ((peer->pinged_ns == 0 || now - peer->pinged_ns > WH_NS_PER_S) &&
]]
	REPLACEMENT [[
	if (
]])

mutant(NAME session-end-unread KIND test_session FILE transport/session/door.c
	REMOVES "what a peer has sent, and be it its end, is read before another takes its place"
	TEXT [[
	(void)wh_session_read(s, peer, &dry);
]]
	REPLACEMENT [[
	dry = true;
]])

mutant(NAME session-holder-unasked KIND test_session FILE transport/session/door.c
	REMOVES "another process that holds the id of a node keeps its place"
	TEXT [[
	case WH_WIRE_REFUSED:
		return NEVER;
]]
	REPLACEMENT [[
	case WH_WIRE_REFUSED:
		break;
]])

mutant(NAME session-foreign-takes-place KIND test_session FILE transport/session/door.c
	REMOVES "a caller of another group does not come in the place of a peer"
	TEXT [[
	if (peer->state == WH_PEER_MET && wh_session_is_foreign(s, hello, reason))
]]
	REPLACEMENT [[
	if (peer->state == WH_PEER_SELF && wh_session_is_foreign(s, hello, reason))
]])

mutant(NAME session-said-not-proven KIND test_session FILE transport/session/door.c
	REMOVES "what a caller says must go with what it has proven"
	TEXT [[
	if (s->wire_ops->admits != NULL && !s->wire_ops->admits(c, hello->node, hello->incarnation, reason))
]]
	REPLACEMENT [[
	if (s->wire_ops->admits != NULL && !s->wire_ops->admits(c, hello->node, hello->incarnation, reason) && c == NULL)
]])

mutant(NAME session-answer-not-proven KIND test_session FILE transport/session/call.c
	REMOVES "what an answer says must go with what it has proven"
	TEXT [[
	return s->wire_ops->admits != NULL && !s->wire_ops->admits(peer->conn, hello->node, hello->incarnation, reason);
]]
	REPLACEMENT [[
	return false;
]])

mutant(NAME session-another-answers KIND test_session FILE transport/session/call.c
	REMOVES "the node that answers is the one that was called"
	TEXT [[
	if (hello->node != peer->node) {
]]
	REPLACEMENT [[
	if (hello->node != peer->node && hello->node == s->node) {
]])

# ---- lives and refusals -------------------------------------------------------------------------------------------------

mutant(NAME session-one-end-in-mind KIND conformance-tcp-strangers FILE transport/session/peer.c
	WORDS CK_RUN_CASE=lives
	REMOVES "an incarnation that has ended is not met again when another has ended since"
	TEXT [[
		wh_known_incarnations_add(&peer->ended, peer->incarnation);
]]
	REPLACEMENT [[
		peer->ended.of[0] = peer->incarnation;
]])

mutant(NAME session-ended-called KIND test_session FILE transport/session/door.c
	REMOVES "an incarnation that has ended is not met again, though it calls"
	TEXT [[
	if (wh_known_incarnations_has(&peer->ended, hello->incarnation)) {
]]
	REPLACEMENT [[
	if (wh_known_incarnations_has(&peer->ended, hello->incarnation) && peer->state == WH_PEER_MET) {
]])

mutant(NAME session-ended-untold KIND conformance-tcp-strangers FILE transport/session/call.c
	WORDS CK_RUN_CASE=calls
	REMOVES "a life that was met and has ended is told so when it answers a call"
	TEXT [[
	if (is_unfit(s, peer, hello, &kind, reason)) {
]]
	REPLACEMENT [[
	if (wh_known_incarnations_has(&peer->ended, hello->incarnation)) {
		wh_session_end_connection(s, peer, WH_PEER_REJECTED);
		return;
	}
	if (is_unfit(s, peer, hello, &kind, reason)) {
]])

mutant(NAME session-refused-unmarked KIND test_session FILE transport/session/peer.c
	REMOVES "an incarnation that was refused counts as ended"
	TEXT [[
	if (peer->state == WH_PEER_MET || state == WH_PEER_REJECTED)
]]
	REPLACEMENT [[
	if (peer->state == WH_PEER_MET)
]])

mutant(NAME session-rejected-forgotten KIND conformance-tcp-strangers FILE transport/session/call.c
	WORDS CK_RUN_CASE=calls
	REMOVES "a rejected peer is called again"
	TEXT [[
	return peer->state == WH_PEER_ABSENT || peer->state == WH_PEER_REJECTED;
]]
	REPLACEMENT [[
	return peer->state == WH_PEER_ABSENT;
]])

mutant(NAME session-refusal-told-again KIND conformance-tcp-strangers FILE transport/session/peer.c
	WORDS CK_RUN_CASE=calls
	REMOVES "a node tells once of each incarnation that it has refused"
	TEXT [[
	if (!wh_known_incarnations_has(&peer->ended, peer->incarnation))
		wh_event_queue_tell(&s->event_queue, WH_EVENT_REFUSED, peer->node, peer->incarnation,
				    "refused node
]]
	REPLACEMENT [[
	if (!wh_known_incarnations_has(&peer->ended, peer->incarnation) || true)
		wh_event_queue_tell(&s->event_queue, WH_EVENT_REFUSED, peer->node, peer->incarnation,
				    "refused node
]])

mutant(NAME session-refused-by-told-again KIND test_session FILE transport/session/peer.c
	REMOVES "a node tells once of each incarnation that has refused it"
	TEXT [[
	if (!wh_known_incarnations_has(&peer->ended, peer->incarnation))
		wh_event_queue_tell(&s->event_queue, WH_EVENT_REFUSED, peer->node, peer->incarnation,
				    "refused by
]]
	REPLACEMENT [[
	if (!wh_known_incarnations_has(&peer->ended, peer->incarnation) || true)
		wh_event_queue_tell(&s->event_queue, WH_EVENT_REFUSED, peer->node, peer->incarnation,
				    "refused by
]])

mutant(NAME session-unproven-told-again KIND test_session FILE transport/session/call.c
	REMOVES "a refusal before anything was proven is told once, until the two have met"
	TEXT [[
		if (!peer->refusal_told)
]]
	REPLACEMENT [[
		if (!peer->refusal_told || peer->node != s->node)
]])

mutant(NAME session-unproven-told-never KIND test_session FILE transport/session/call.c
	REMOVES "and is told again after they have met"
	TEXT [[
	peer->left = peer->refusal_told = false;
]]
	REPLACEMENT [[
	peer->left = false;
]])

mutant(NAME session-own-hello-unjudged KIND test_session FILE transport/session/call.c
	REMOVES "a HELLO of which the plane refuses what was added is refused, with an event"
	TEXT [[
	if (!fits)
]]
	REPLACEMENT [[
	fits = true;
	if (!fits)
]])

mutant(NAME session-own-hello-kept KIND test_session FILE transport/session/call.c
	REMOVES "what was added to a HELLO that is not judged is discarded"
	TEXT [[
	if (s->plane_ops->discard != NULL && m->head.bytes > WH_HELLO_BYTES)
]]
	REPLACEMENT [[
	if (s->plane_ops->discard != NULL && m->head.bytes > WH_BODY_MAX)
]])

# ---- peers --------------------------------------------------------------------------------------------------------------

mutant(NAME session-leaves-like-dying KIND test_session FILE transport/session/peer.c
	REMOVES "a peer of which the wire says that it has left has not died"
	TEXT [[
	peer->left = peer->left || result == WH_WIRE_LEFT;
]]
	REPLACEMENT [[
]])

mutant(NAME session-doomed-at-once KIND test_session FILE transport/session/session.c
	REMOVES "a peer that is to be given up stays until the next service"
	TEXT [[
	if (s->peers[node].doomed == NULL)
		s->peers[node].doomed = how;
]]
	REPLACEMENT [[
	wh_session_lose(s, &s->peers[node], how);
]])

mutant(NAME session-doomed-stay KIND test_session FILE transport/session/session.c
	REMOVES "and goes then"
	TEXT [[
	give_up_doomed(s);
]]
	REPLACEMENT [[
	(void)give_up_doomed;
]])

mutant(NAME session-doomed-for-ever KIND test_session FILE transport/session/peer.c
	REMOVES "the next connection of a node that was given up is not doomed"
	TEXT [[
	peer->doomed = NULL;
]]
	REPLACEMENT [[
]])

mutant(NAME session-users-take-all KIND test_session FILE transport/session/session.c
	REMOVES "users leave room for the session's own messages"
	TEXT [[
	switch (wh_session_send(s, node, message, wh_message_put_control(message, bytes, count), NULL, 0,
				WH_WIRE_USER)) {
]]
	REPLACEMENT [[
	switch (wh_session_send(s, node, message, wh_message_put_control(message, bytes, count), NULL, 0,
				WH_WIRE_OWN)) {
]])

mutant(NAME session-pong-needs-user-room KIND test_session FILE transport/session/peer.c
	REMOVES "the session's short messages have room beyond what users fill"
	TEXT [[
				 WH_WIRE_OWN) == WH_WIRE_DONE;
]]
	REPLACEMENT [[
				 WH_WIRE_USER) == WH_WIRE_DONE;
]])

mutant(NAME session-no-room-for-events KIND test_session FILE transport/session/peer.c
	REMOVES "no message of a peer is taken in without room for its event"
	TEXT [[
	bool room = !wh_session_is_full(s);
]]
	REPLACEMENT [[
	bool room = s->nodes > 0;
]])

mutant(NAME session-no-room-for-strangers KIND test_session FILE transport/session/door.c
	REMOVES "nor one of a stranger"
	TEXT [[
	if (wh_session_is_full(s) || c->held || !greet_stranger(s, c))
]]
	REPLACEMENT [[
	if (c->held || !greet_stranger(s, c))
]])

mutant(NAME session-no-room-for-callers KIND test_session FILE transport/session/door.c
	REMOVES "and none is accepted"
	TEXT [[
	for (int n = 0; n < ACCEPTED_AT_ONCE && !wh_session_is_full(s) && !s->left; n++) {
]]
	REPLACEMENT [[
	for (int n = 0; n < ACCEPTED_AT_ONCE; n++) {
]])

mutant(NAME session-full-is-late KIND test_session_door FILE transport/session/door.c
	REMOVES "a stranger is not late where one before it has taken the last room for events"
	TEXT [[
		if (is_late(s->slots[i], now) && !wh_session_is_full(s)) {
			(void)wh_event_queue_count(&s->event_queue, WH_COMPLAINT_SILENT);
]]
	REPLACEMENT [[
		if (is_late(s->slots[i], now)) {
			(void)wh_event_queue_count(&s->event_queue, WH_COMPLAINT_SILENT);
]])

mutant(NAME session-hears-after-leaving KIND test_session FILE transport/session/peer.c
	REMOVES "what comes after leaving is no event"
	TEXT [[
	if (s->left)
		return; /* it is only taken off
]]
	REPLACEMENT [[
	if (s->left && s->wire == NULL)
		return; /* it is only taken off
]])

mutant(NAME session-full-after-leaving KIND test_session FILE transport/session/session.c
	REMOVES "events that were not taken before leaving are dropped"
	TEXT [[
	s->left = true;
	wh_event_queue_drop(&s->event_queue);
]]
	REPLACEMENT [[
	s->left = true;
]])

mutant(NAME session-descriptors-of-peers KIND test_session_images FILE transport/session/peer.c
	REMOVES "descriptors that come with a peer's message and are not taken are closed"
	TEXT [[
		on_message(s, peer, &m);
		wh_message_close_fds(&m);
]]
	REPLACEMENT [[
		on_message(s, peer, &m);
]])

mutant(NAME session-descriptors-of-strangers KIND test_session_images FILE transport/session/door.c
	REMOVES "and those that come with a stranger's"
	TEXT [[
	else
		turn_away_garbled(s, c);
	wh_message_close_fds(m);
]]
	REPLACEMENT [[
	else
		turn_away_garbled(s, c);
]])

# ---- images -------------------------------------------------------------------------------------------------------------

mutant(NAME session-row-of-another-life KIND conformance-tcp-frames FILE transport/session/session.h
	COMPILE transport/session/image.c transport/tcp/image.c
	REMOVES "a row is that of one incarnation"
	TEXT [[
	return row->peer->state == WH_PEER_MET && row->peer->incarnation == row->incarnation;
]]
	REPLACEMENT [[
	return row->peer->state == WH_PEER_MET;
]])

mutant(NAME session-open-does-not-outrank KIND test_session_images FILE transport/session/image.c
	REMOVES "the offer of an image that is open outranks those of greater keys"
	TEXT [[
	return opened != (find(s, b) != NULL) ? opened : a > b;
]]
	REPLACEMENT [[
	return opened && a == b ? opened : a > b;
]])

mutant(NAME session-lesser-keys-outrank KIND test_session_images FILE transport/session/image.c
	REMOVES "of other offers those of greater keys are kept"
	TEXT [[
	return opened != (find(s, b) != NULL) ? opened : a > b;
]]
	REPLACEMENT [[
	return opened != (find(s, b) != NULL) ? opened : a < b;
]])

mutant(NAME session-past-is-kept KIND test_session_images FILE transport/session/image.c
	REMOVES "what is past is dropped"
	TEXT [[
			if (peer->offers[i].there && !is_wanted(s, peer, peer->offers[i].offer.key))
]]
	REPLACEMENT [[
			if (peer->offers[i].there && !is_wanted(s, peer, peer->offers[i].offer.key) && key == 0)
]])

mutant(NAME session-past-comes KIND test_session_images FILE transport/session/image.c
	REMOVES "what is past is not kept when it comes"
	TEXT [[
	return find(s, key) == NULL && key >= s->past_key;
]]
	REPLACEMENT [[
	return find(s, key) == NULL;
]])

mutant(NAME session-past-goes-back KIND test_session_images FILE transport/session/image.c
	REMOVES "what is past stays so"
	TEXT [[
	s->past_key = s->past_key < key ? key : s->past_key;
]]
	REPLACEMENT [[
	s->past_key = key;
]])

mutant(NAME session-offer-twice KIND test_session_images FILE transport/session/image.c
	REMOVES "an offer that is made twice takes the place of the first"
	TEXT [[
		if (peer->offers[i].there && peer->offers[i].offer.key == key)
			place = &peer->offers[i];
]]
	REPLACEMENT [[
		if (peer->offers[i].there && peer->offers[i].offer.key == key && key == 0)
			place = &peer->offers[i];
]])

mutant(NAME session-offers-once KIND test_session_images FILE transport/session/image.c
	REMOVES "my row is offered again when its row comes: the peer may have dropped the first offer"
	TEXT [[
		row->offers_again = row->offered && !row->confirmed;
]]
	REPLACEMENT [[
		row->offers_again = row->offered && row->confirmed;
]])

mutant(NAME session-confirms-what-was-not-offered KIND test_session_images FILE transport/session/image.c
	REMOVES "a row that was not offered cannot have been mapped"
	TEXT [[
	if (image != NULL && image->rows[rank].offered) /* else it cannot have */
]]
	REPLACEMENT [[
	if (image != NULL)
]])

mutant(NAME session-told-untold KIND test_session_images FILE transport/session/image.c
	REMOVES "that its row is mapped is said again where there was no room"
	TEXT [[
		row->told = wh_session_say_plain(s, row->peer, WH_MESSAGE_MAPPED, image->base.key);
]]
	REPLACEMENT [[
		row->told = true;
		(void)wh_session_say_plain(s, row->peer, WH_MESSAGE_MAPPED, image->base.key);
]])

mutant(NAME session-pushes-untold KIND conformance-tcp-frames FILE transport/tcp/image.c
	REMOVES "pushes are taken in only when the peer has been told that its row is mapped"
	TEXT [[
	if (image == NULL || !image->rows[*rank].told || image->rows[*rank].frozen)
]]
	REPLACEMENT [[
	if (image == NULL || image->rows[*rank].frozen)
]])

mutant(NAME session-ready-one-way KIND test_session_images FILE transport/session/image.c
	REMOVES "an image is ready when each can read the other's row"
	TEXT [[
	return row->frozen || (row->mapped && row->confirmed);
]]
	REPLACEMENT [[
	return row->frozen || row->confirmed;
]])

mutant(NAME session-offer-needs-user-room KIND test_session_images FILE transport/session/image.c
	REMOVES "an offer has room beyond what users fill"
	TEXT [[
	if (s->wire_ops->send(image->rows[rank].peer->conn, message, bytes, own.fds, own.fds[0] >= 0, WH_WIRE_OWN) ==
]]
	REPLACEMENT [[
	if (s->wire_ops->send(image->rows[rank].peer->conn, message, bytes, own.fds, own.fds[0] >= 0, WH_WIRE_USER) ==
]])

mutant(NAME session-offer-unfit KIND test_session_images FILE transport/session/image.c
	REMOVES "nodes that lay out an image differently refuse each other"
	TEXT [[
	       offer->rank == rank && offer->row_bytes == image->rows[rank].bytes;
]]
	REPLACEMENT [[
	       offer->rank == rank;
]])

mutant(NAME session-own-offer-unjudged KIND test_session_images FILE transport/session/image.c
	REMOVES "an offer that the plane refuses is refused, with an event"
	TEXT [[
	else if (reason[0] != '\0')
]]
	REPLACEMENT [[
	else if (reason[0] != '\0' && rank == UINT32_MAX)
]])

mutant(NAME session-descriptors-of-offers KIND test_session_images FILE transport/session/image.c
	REMOVES "the descriptor of an offer that is dropped is closed"
	TEXT [[
	if (kept->fd >= 0)
		close(kept->fd);
]]
	REPLACEMENT [[
	if (kept->fd >= 0 && kept->own == NULL)
		close(kept->fd);
]])

mutant(NAME session-ready-after-leaving KIND test_session_images FILE transport/session/session.c
	REMOVES "no image is told to be ready after leaving"
	TEXT [[
	for (struct wh_session_image *image = s->images; image != NULL && !s->left; image = image->next)
]]
	REPLACEMENT [[
	for (struct wh_session_image *image = s->images; image != NULL; image = image->next)
]])

# ---- the door -----------------------------------------------------------------------------------------------------------

mutant(NAME session-silent-stay KIND conformance-tcp-strangers FILE transport/session/door.c
	WORDS CK_RUN_CASE=in-time
	REMOVES "a stranger that says nothing has a quarter of a second"
	TEXT [[
	return c->spoke ? WH_SESSION_STRANGER_NS : WH_SESSION_SILENT_NS;
]]
	REPLACEMENT [[
	return c->spoke ? WH_SESSION_STRANGER_NS : 4 * WH_SESSION_SILENT_NS;
]])

mutant(NAME session-second-for-all KIND conformance-tcp-keys FILE transport/session/door.c
	WORDS CK_RUN_CASE=in-time
	REMOVES "a stranger has a second for each word of the greeting"
	TEXT [[
	if (c->words != words)
		c->since_ns
]]
	REPLACEMENT [[
	if (c->words < words)
		c->since_ns
]])

mutant(NAME session-asked-too-long-ago KIND conformance-tcp-strangers FILE transport/session/door.c
	WORDS CK_RUN_CASE=in-time
	REMOVES "a query is not sent away for the time that its answer takes"
	TEXT [[
	return is_stranger(c) && c->query == 0 && c->working_ns == 0;
]]
	REPLACEMENT [[
	return is_stranger(c) && c->working_ns == 0;
]])

mutant(NAME session-work-takes-time KIND test_session_door FILE transport/session/door.c
	REMOVES "what the wire works on is not the stranger's time"
	TEXT [[
	return is_stranger(c) && c->query == 0 && c->working_ns == 0;
]]
	REPLACEMENT [[
	return is_stranger(c) && c->query == 0;
]])

mutant(NAME session-work-took-time KIND test_session_door FILE transport/session/door.c
	REMOVES "nor when it has worked on it"
	TEXT [[
	else if (has_worked)
		c->since_ns += now - working_ns;
]]
	REPLACEMENT [[
]])

mutant(NAME session-work-is-forgotten KIND test_session_door FILE transport/session/door.c
	REMOVES "when the wire has worked on what a stranger has said, its time runs again"
	TEXT [[
	if (has_worked)
		wh_session_alarm(s, time_left(c, now));
]]
	REPLACEMENT [[
]])

mutant(NAME session-looks-without-end KIND test_session_door FILE transport/session/door.c
	REMOVES "one whose time is over is worked for once more, and not again"
	TEXT [[
	if (c->greeted || (result == WH_WIRE_LATER && (working_ns == 0 || !is_late(c, wh_env_now(s->env)))))
]]
	REPLACEMENT [[
	if (c->greeted || result == WH_WIRE_LATER)
]])

mutant(NAME session-worked-for-is-silent KIND test_session_door FILE transport/session/door.c
	REMOVES "a stranger that the wire works for has said something"
	TEXT [[
	return c->spoke || c->working_ns != 0;
]]
	REPLACEMENT [[
	return c->spoke;
]])

mutant(NAME session-work-takes-time-of-a-call KIND test_session FILE transport/session/call.c
	REMOVES "what the wire works on is not the time of the node that was called"
	TEXT [[
	return peer->state == WH_PEER_CALLED && peer->conn->working_ns == 0;
]]
	REPLACEMENT [[
	return peer->state == WH_PEER_CALLED;
]])

mutant(NAME session-work-took-time-of-a-call KIND test_session FILE transport/session/call.c
	REMOVES "nor when it has worked on it"
	TEXT [[
	peer->redial.at_ns += worked_ns;
]]
	REPLACEMENT [[
	peer->redial.at_ns += 0 * worked_ns;
]])

mutant(NAME session-work-ends-no-limit KIND test_session FILE transport/session/call.c
	REMOVES "a call without a limit has none after work either"
	TEXT [[
	if (peer->redial.at_ns == UINT64_MAX)
		return;
]]
	REPLACEMENT [[
]])

mutant(NAME session-late-unseen KIND test_session_door FILE transport/session/door.c
	REMOVES "before a stranger's time is over a node that was long away looks once more"
	TEXT [[
			(void)wh_session_hear_stranger(s, s->slots[i]); /* it may be this node that was long away */
]]
	REPLACEMENT [[
			(void)s;
]])

mutant(NAME session-full-stays KIND conformance-tcp-strangers FILE transport/session/door.c
	WORDS CK_RUN_CASE=door
	REMOVES "the last that calls gets a place"
	TEXT [[
	first = first_to_go(s, configured);
]]
	REPLACEMENT [[
	first = NULL;
	(void)first_to_go;
]])

mutant(NAME session-silent-outlive-speakers KIND conformance-tcp-strangers FILE transport/session/door.c
	WORDS CK_RUN_CASE=door
	REMOVES "a place is taken from a stranger that has said nothing, before one that has"
	TEXT [[
		return !has_spoken(one);
]]
	REPLACEMENT [[
		return has_spoken(one);
]])

mutant(NAME session-sources-are-alike KIND conformance-tcp-strangers FILE transport/session/door.c
	WORDS CK_RUN_CASE=door
	REMOVES "of those that speak, the source with most places gives one up"
	TEXT [[
		if (places != others)
			return places > others;
]]
	REPLACEMENT [[
		if (places != others && places == 0)
			return places > others;
]])

mutant(NAME session-newest-go KIND test_session_door FILE transport/session/door.c
	REMOVES "of others the oldest gives up its place"
	TEXT [[
	return one->since_ns < other->since_ns;
]]
	REPLACEMENT [[
	return one->since_ns > other->since_ns;
]])

mutant(NAME session-no-places-kept KIND conformance-tcp-strangers FILE transport/session/door.c
	WORDS CK_RUN_CASE=door
	REMOVES "places are kept for calls from hosts of the configuration"
	TEXT [[
	if (all < s->places && (configured || others < WH_SESSION_STRANGERS))
]]
	REPLACEMENT [[
	if (all < s->places && (configured || others < 2 * WH_SESSION_STRANGERS))
]])

mutant(NAME session-kept-places-taken KIND test_session_door FILE transport/session/door.c
	REMOVES "and are not taken from them for others"
	TEXT [[
		if (is_stranger(c) && !is_proven(c) && (configured || !c->configured) &&
]]
	REPLACEMENT [[
		if (is_stranger(c) && !is_proven(c) && (configured || c->configured || first == NULL) &&
]])

mutant(NAME session-proven-put-out KIND conformance-tcp-keys FILE transport/session/door.c
	WORDS CK_RUN_CASE=keys
	REMOVES "a stranger that has proven what it is does not lose its place"
	TEXT [[
	return c->greeted && c->proven;
]]
	REPLACEMENT [[
	return c->greeted && c->proven && c->held;
]])

mutant(NAME session-half-proven KIND test_session_door FILE transport/session/door.c
	REMOVES "before its greeting is over a stranger has proven nothing"
	TEXT [[
	return c->greeted && c->proven;
]]
	REPLACEMENT [[
	return c->proven;
]])

mutant(NAME session-no-rest KIND test_session_door FILE transport/session/door.c
	REMOVES "a node that can accept nobody tries again after a pause"
	TEXT [[
			s->wire_ops->rest(s->wire, true);
]]
	REPLACEMENT [[
]])

mutant(NAME session-asked-twice KIND test_session_door FILE transport/session/door.c
	REMOVES "a visitor asks once"
	TEXT [[
	if (result == WH_WIRE_DONE && c->query == 0) {
]]
	REPLACEMENT [[
	if (result == WH_WIRE_DONE) {
]])

mutant(NAME session-answers-alike KIND test_session_door FILE transport/session/door.c
	REMOVES "an answer goes to the visitor that has asked"
	TEXT [[
		if (!is_stranger(c) || c->query != query)
]]
	REPLACEMENT [[
		if (!is_stranger(c) || c->query == 0)
]])

mutant(NAME session-stream-unmet KIND test_session_door FILE transport/session/door.c
	REMOVES "a stream waits until its opener is met"
	TEXT [[
	if (peer->state != WH_PEER_MET || peer->incarnation != opening->incarnation) {
]]
	REPLACEMENT [[
	if (peer->state == WH_PEER_SELF) {
]])

mutant(NAME session-stream-forgotten KIND test_session_door FILE transport/session/door.c
	REMOVES "and until there is room for its event"
	TEXT [[
			s->held_count++;
			continue;
]]
	REPLACEMENT [[
			continue;
]])

mutant(NAME session-stream-of-another-life KIND test_session_door FILE transport/session/door.c
	REMOVES "a stream for another life of this node is not taken"
	TEXT [[
	return opening->version == s->version && opening->to == s->incarnation && peer->state != WH_PEER_SELF &&
]]
	REPLACEMENT [[
	return opening->version == s->version && peer->state != WH_PEER_SELF &&
]])

# ---- the same code in the simulator: tests/sim/sessions_play.h ----

mutant(NAME session-play-ended-forgotten KIND sim-sessions FILE transport/session/door.c
	REMOVES "an incarnation is met once (S1)"
	TEXT [[
	if (wh_known_incarnations_has(&peer->ended, hello->incarnation)) {
		snprintf(reason, WH_MESSAGE_REASON_BYTES, "node %" PRIu32 " is gone for good", hello->node);
]]
	REPLACEMENT [[
	if (s->left) {
		snprintf(reason, WH_MESSAGE_REASON_BYTES, "node %" PRIu32 " is gone for good", hello->node);
]])

mutant(NAME session-play-crossed KIND sim-sessions FILE transport/session/door.c
	REMOVES "of two calls that cross that of the higher id counts (S7)"
	TEXT [[
	if (peer->state == WH_PEER_CALLED && peer->conn->greeted && s->node > peer->node)
]]
	REPLACEMENT [[
	if (peer->state == WH_PEER_CALLED && s->left)
]])

mutant(NAME session-play-answered-gives-up KIND sim-sessions FILE transport/session/call.c
	REMOVES "a node that has answered never gives up (S7)"
	TEXT [[
	return is_waited_for(peer) && peer->redial.at_ns <= now;
]]
	REPLACEMENT [[
	return (is_waited_for(peer) || peer->state == WH_PEER_ANSWERED) && peer->redial.at_ns <= now;
]])

mutant(NAME session-play-past-kept KIND sim-sessions FILE transport/session/image.c
	REMOVES "offers of images that are past are not kept (S6)"
	TEXT [[
	return find(s, key) == NULL && key >= s->past_key;
]]
	REPLACEMENT [[
	return find(s, key) == NULL;
]])

mutant(NAME session-crowd KIND test_sim_meet FILE transport/session/door.c
	REMOVES "the last that comes gets a place, and some are kept for nodes (S8)"
	TEXT [[
	if (all < s->places && (configured || others < WH_SESSION_STRANGERS))
		return true;
	first = first_to_go(s, configured);
]]
	REPLACEMENT [[
	(void)configured;
	if (others < WH_SESSION_STRANGERS && all < s->places)
		return true;
	first = s->left ? first_to_go(s, true) : NULL;
]])

mutant(NAME session-life-unknown KIND test_sim_lives FILE transport/session/session.c
	REMOVES "what is sent is for the life that its sender knows of"
	TEXT [[
	return peer->state == WH_PEER_MET && peer->known == peer->incarnation && !s->left;
]]
	REPLACEMENT [[
	return peer->state == WH_PEER_MET && !s->left;
]])

# ---- complaints ---------------------------------------------------------------------------------------------------------

mutant(NAME complaints-in-one-number KIND test_session_complaints FILE transport/session/event_queue.c
	REMOVES "the 1st, 2nd, 4th, 8th of each kind is logged: one kind hides another"
	TEXT [[
	uint64_t n = wh_event_queue_count(event_queue, kind);
]]
	REPLACEMENT [[
	uint64_t n = wh_event_queue_count(event_queue, kind);

	for (uint32_t i = 0; i < WH_COMPLAINTS; i++)
		n += i != (uint32_t)kind ? wh_load_relaxed(&event_queue->complaints[i]) : 0;
]])

mutant(NAME complaints-all-logged KIND test_session_complaints FILE transport/session/event_queue.c
	REMOVES "and not each of them"
	TEXT [[
	if ((n & (n - 1)) != 0)
]]
	REPLACEMENT [[
	if (n == 0)
]])

mutant(NAME status-tcp-alone KIND test_status_at FILE group/status/ask.c
	REMOVES "a node at an address that names another version is asked in that"
	TEXT [[
	*verbs = !*verbs;
	asked.version = *verbs ? WH_VERBS_VERSION : 0;
]]
	REPLACEMENT [[
	*verbs = !*verbs;
]])

mutant(NAME status-own-version-alone KIND test_status_at FILE group/status/ask.c
	REMOVES "a node that does not know the version of a question is asked in its own"
	TEXT [[
	if (older != 0)
]]
	REPLACEMENT [[
	if (older > WH_STATUS_VERSION)
]])

mutant(NAME complaints-unproven-are-foreign KIND test_session_complaints FILE transport/session/door.c
	REMOVES "one that has not proven to be the node it says it is is no foreign one"
	TEXT [[
		return UNPROVEN; /* before anything is done in that node's name */
]]
	REPLACEMENT [[
		return NEVER;
]])

# ---- cuts (0051) ----------------------------------------------------------------------------------------------------------

mutant(NAME session-held-too-soon KIND test_session FILE transport/session/peer.c
	REMOVES "before a view has begun no connection outlasts a cut"
	TEXT [[
		s->wire_ops->hold(peer->conn, s->holds && is_there);
]]
	REPLACEMENT [[
		s->wire_ops->hold(peer->conn, is_there);
]])

mutant(NAME session-met-unheld KIND test_session FILE transport/session/call.c
	REMOVES "a connection that is made while there is a view outlasts a cut"
	TEXT [[
	wh_session_hold(s, peer);
]]
	REPLACEMENT [[
]])

mutant(NAME session-begun-unheld KIND test_session FILE transport/session/image.c
	REMOVES "connections that are there when a view begins outlast a cut from then on"
	TEXT [[
			wh_session_hold(s, &s->peers[node]);
]]
	REPLACEMENT [[
			(void)s;
]])

mutant(NAME session-asked-held KIND test_session FILE transport/session/door.c
	REMOVES "one in the place of which another calls does not outlast a cut from then on"
	TEXT [[
		wh_session_hold(s, peer);
]]
	REPLACEMENT [[
]])

mutant(NAME session-asked-held-anew KIND test_session FILE transport/session/peer.c
	REMOVES "one that has not said that it is there does not outlast a cut, in the next view either"
	TEXT [[
	bool is_there = peer->pinged_ns == 0 || peer->ponged_ns >= peer->pinged_ns;
]]
	REPLACEMENT [[
	bool is_there = true;
]])

mutant(NAME session-answered-unheld KIND test_session FILE transport/session/peer.c
	REMOVES "one that says that it is there outlasts a cut again"
	TEXT [[
		wh_session_hold(s, peer);
		return true;
]]
	REPLACEMENT [[
		return true;
]])

mutant(NAME session-answered-too-soon KIND test_session FILE transport/session/peer.c
	REMOVES "what has been said before the first view counts in it"
	TEXT [[
	bool is_there = peer->pinged_ns == 0 || peer->ponged_ns >= peer->pinged_ns;
]]
	REPLACEMENT [[
	bool is_there = peer->pinged_ns == 0;
]])
