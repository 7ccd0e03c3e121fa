/* door.c - the called side: a caller is a stranger until it has said a whole first message.
 *
 * The door must hold when thousands call: all that wait are accepted, and the last one always gets a place. If none is free it is taken
 * from a stranger that has said nothing yet, or else from the source that has most of them, the oldest first; never from one that has
 * proven what it is. So a node comes in that needs less time for a word than the others leave it: with 256 places and 8,000 calls
 * a second that is 32 ms. Places beyond these are kept for calls from hosts of the configuration.
 *
 * A stranger that says nothing has a quarter of a second; one that speaks has a second for each word before its first message, and for
 * that. The time begins when I have answered the last word, it stands still while my wire works on one (wh_conn.working_ns), and before
 * it is held to be over I look once more: what I take to answer, where many come at once or I am seldom given the processor, is no
 * fault of the stranger's.
 *
 * A process that is no node asks one a question and gets one answer (T11). It has one of these places until it is answered, goes, or
 * must make room for another: so many visitors, or slow ones, cost a node no more than any other stranger.
 */
#include "transport/session/session_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ACCEPTED_AT_ONCE 64
#define RESTS_NS (20 * WH_NS_PER_MS)

static bool is_stranger(const struct wh_conn *c)
{
	return c != NULL && c->node == WH_NO_NODE;
}

/* ---- coming in ---------------------------------------------------------------------------------------------------- */

/* What its connection proves it to be, and not what it says. */
static bool is_proven(const struct wh_conn *c)
{
	return c->greeted && c->proven;
}

static uint32_t places_of(const struct wh_session *s, uint64_t source)
{
	uint32_t places = 0;

	for (uint32_t i = 0; i < s->slot_count; i++)
		places += is_stranger(s->slots[i]) && s->slots[i]->source == source;
	return places;
}

static bool has_spoken(const struct wh_conn *c)
{
	return c->spoke || c->working_ns != 0;
}

/* Of two that have a place: which is to give it up before the other? */
static bool goes_first(const struct wh_session *s, const struct wh_conn *one, const struct wh_conn *other)
{
	if (has_spoken(one) != has_spoken(other))
		return !has_spoken(one);
	if (has_spoken(one) && one->source != other->source) {
		uint32_t places = places_of(s, one->source), others = places_of(s, other->source);

		if (places != others)
			return places > others;
	}
	return one->since_ns < other->since_ns;
}

/* NULL: all that might have proven what they are. */
static struct wh_conn *first_to_go(const struct wh_session *s, bool configured)
{
	struct wh_conn *first = NULL;

	for (uint32_t i = 0; i < s->slot_count; i++) {
		struct wh_conn *c = s->slots[i];

		if (is_stranger(c) && !is_proven(c) && (configured || !c->configured) &&
		    (first == NULL || goes_first(s, c, first)))
			first = c;
	}
	return first;
}

/* False: there is no place. */
static bool make_place(struct wh_session *s, bool configured)
{
	uint32_t all = 0, others = 0; /* others: from hosts that are not configured */
	struct wh_conn *first;

	for (uint32_t i = 0; i < s->slot_count; i++)
		if (is_stranger(s->slots[i])) {
			all++;
			others += !s->slots[i]->configured;
		}
	if (all < s->places && (configured || others < WH_SESSION_STRANGERS))
		return true;
	first = first_to_go(s, configured);
	if (first == NULL)
		return false;
	(void)wh_event_queue_count(&s->event_queue, WH_COMPLAINT_CROWDED);
	wh_session_close_conn(s, first);
	return true;
}

void wh_session_take_caller(struct wh_session *s, struct wh_conn *c)
{
	if (!make_place(s, c->configured) || !wh_session_add_conn(s, c, WH_NO_NODE)) {
		(void)wh_event_queue_count(&s->event_queue, WH_COMPLAINT_CROWDED);
		s->wire_ops->close(c, false);
		return;
	}
	c->since_ns = wh_env_now(s->env);
	wh_session_alarm(s, WH_SESSION_SILENT_NS);
	if (s->wire_ops->watch(c, true))
		(void)wh_session_hear_stranger(s, c); /* a peer may have said its hello already */
	else
		wh_session_close_conn(s, c);
}

void wh_session_on_caller(struct wh_session *s)
{
	for (int n = 0; n < ACCEPTED_AT_ONCE && !wh_session_is_full(s) && !s->left; n++) {
		struct wh_conn *c;

		switch (s->wire_ops->accept(s->wire, &c)) {
		case WH_WIRE_DONE:
			wh_session_take_caller(s, c);
			break;
		case WH_WIRE_REFUSED:
			break;
		case WH_WIRE_BROKEN:
			s->rests_until_ns = wh_env_now(s->env) + RESTS_NS;
			s->wire_ops->rest(s->wire, true);
			wh_session_alarm(s, RESTS_NS);
			return;
		default:
			return;
		}
	}
}

/* ---- hello -------------------------------------------------------------------------------------------------------- */

enum verdict { COME, NOT_NOW /* it calls again */, NEVER, UNPROVEN /* and never, either */ };

/* Only the one that is here can say whether it is. If its host has forgotten it, the answer is the end of the connection; a peer that
 * does not answer is not given up for that, but if its host does not either: until it answers its connection does not outlast a cut. */
static enum verdict ask_whether_here(struct wh_session *s, struct wh_peer *peer)
{
	uint64_t now = wh_env_now(s->env);

	if (peer->pinged_ns != 0 && peer->ponged_ns >= peer->pinged_ns) {
		peer->pinged_ns = 0;
		return NEVER;
	}
	if ((peer->pinged_ns == 0 || now - peer->pinged_ns > WH_NS_PER_S) &&
	    wh_session_say_plain(s, peer, WH_MESSAGE_PING, 0)) {
		peer->pinged_ns = now;
		wh_session_hold(s, peer);
	}
	return NOT_NOW;
}

/* Another incarnation has called while one is here, or is answered. Most likely that has died or left, and I have not noticed yet:
 * what it has sent comes first. Or the call is late, of a life that ended long ago: an answered one gives no place to it, since it may
 * have met this node already. */
static enum verdict make_way(struct wh_session *s, struct wh_peer *peer, struct wh_conn *caller)
{
	bool dry;

	(void)wh_session_read(s, peer, &dry);
	if (peer->state != WH_PEER_MET && peer->state != WH_PEER_ANSWERED)
		return COME;
	if (s->wire_ops->holds_id == NULL)
		return ask_whether_here(s, peer);
	switch (s->wire_ops->holds_id(caller, peer->node)) {
	case WH_WIRE_DONE:
		break;
	case WH_WIRE_REFUSED:
		return NEVER;
	default:
		return NOT_NOW;
	}
	if (!dry)
		return NOT_NOW;
	if (peer->state == WH_PEER_MET)
		wh_session_lose(s, peer, "has died: another process has its place");
	return COME;
}

/* A call to this node's own id. */
static void explain_self(const struct wh_session *s, const struct wh_hello *hello, char reason[WH_MESSAGE_REASON_BYTES])
{
	if (!wh_session_is_foreign(s, hello, reason))
		snprintf(reason, WH_MESSAGE_REASON_BYTES,
			 "node %" PRIu32 " is here already, or has nothing to call node %" PRIu32 " for", hello->node,
			 s->node);
}

static enum verdict judge(struct wh_session *s, struct wh_conn *c, const struct wh_hello *hello,
			  char reason[WH_MESSAGE_REASON_BYTES])
{
	struct wh_peer *peer = &s->peers[hello->node < s->nodes ? hello->node : s->node];
	enum verdict verdict = COME;

	if (s->wire_ops->admits != NULL && !s->wire_ops->admits(c, hello->node, hello->incarnation, reason))
		return UNPROVEN; /* before anything is done in that node's name */
	if (peer->state == WH_PEER_SELF) {
		explain_self(s, hello, reason);
		return NEVER;
	}
	if (wh_known_incarnations_has(&peer->ended, hello->incarnation)) {
		snprintf(reason, WH_MESSAGE_REASON_BYTES, "node %" PRIu32 " is gone for good", hello->node);
		return NEVER;
	}
	if (s->lane != 0 && peer->here != hello->incarnation)
		return NOT_NOW; /* it is not here yet for the node, or not any more */
	if (peer->state == WH_PEER_CALLED && peer->conn->greeted && s->node > peer->node)
		return NOT_NOW; /* our calls have crossed */
	if (peer->state == WH_PEER_MET && peer->incarnation == hello->incarnation)
		return NOT_NOW; /* they had, and this is what is left of its call */
	if (peer->caller == hello->incarnation && hello->call <= peer->call)
		return NOT_NOW; /* an older call, which it has given up: its hello was long on its way */
	if (peer->state == WH_PEER_MET && wh_session_is_foreign(s, hello, reason))
		return NEVER; /* it does not even come in the other's place */
	if (peer->state == WH_PEER_MET || (peer->state == WH_PEER_ANSWERED && peer->incarnation != hello->incarnation))
		verdict = make_way(s, peer, c);
	if (verdict == NEVER)
		snprintf(reason, WH_MESSAGE_REASON_BYTES, "node %" PRIu32 " is here already (%s)", peer->node,
			 peer->text);
	return verdict;
}

static void refuse_stranger(struct wh_session *s, struct wh_conn *c, const char *reason)
{
	struct wh_refused refused = {.incarnation = s->incarnation};
	unsigned char message[WH_REFUSED_MAX];
	struct iovec part = {.iov_base = message};

	snprintf(refused.reason, sizeof(refused.reason), "%s", reason);
	part.iov_len = wh_message_put_refused(message, s->version, &refused);
	(void)s->wire_ops->finish(c, &part, 1);
	wh_session_close_conn(s, c);
}

void wh_session_turn_away(struct wh_session *s, struct wh_conn *c, enum wh_complaint kind, const char *reason)
{
	wh_event_queue_complain(&s->event_queue, kind, "turned away %s: %s", c->text, reason);
	refuse_stranger(s, c, reason);
}

/* The stranger is the peer: its connection becomes the peer's. */
static void let_in(struct wh_session *s, struct wh_conn *c, const struct wh_hello *hello, struct wh_message *m)
{
	struct wh_peer *peer = &s->peers[hello->node];
	char reason[WH_MESSAGE_REASON_BYTES];

	wh_session_end_connection(s, peer, WH_PEER_ANSWERED); /* of what was under way */
	c->node = peer->node;
	peer->conn = c;
	memcpy(peer->text, c->text, sizeof(peer->text));
	peer->incarnation = peer->caller = hello->incarnation;
	peer->call = hello->call;
	if (wh_session_is_foreign(s, hello, reason)) {
		wh_session_discard_hello(s, c, m);
		wh_session_refuse(s, peer, WH_COMPLAINT_FOREIGN, "%s", reason);
		return;
	}
	if (wh_session_welcome(s, peer, m) && !(s->wire_ops->adopt(c) && wh_session_say_hello(s, peer)))
		wh_session_lose(s, peer, "has hung up, or there is no memory for it");
}

static void on_hello(struct wh_session *s, struct wh_conn *c, const struct wh_hello *hello, struct wh_message *m)
{
	char reason[WH_MESSAGE_REASON_BYTES];
	enum verdict verdict;

	if (hello->lane != s->lane) {
		wh_session_lead_to_lane(s, c, hello, m);
		return;
	}
	verdict = judge(s, c, hello, reason);
	if (verdict == COME) {
		let_in(s, c, hello, m);
		return;
	}
	wh_session_discard_hello(s, c, m);
	if (verdict == NOT_NOW)
		wh_session_close_conn(s, c);
	else
		wh_session_turn_away(s, c, verdict == NEVER ? WH_COMPLAINT_FOREIGN : WH_COMPLAINT_UNPROVEN, reason);
}

/* What it has sent is no message, or none that is a first one. */
static void turn_away_garbled(struct wh_session *s, struct wh_conn *c)
{
	wh_event_queue_complain(&s->event_queue, WH_COMPLAINT_GARBLED,
				"turned away %s: what it says no node says, nor a visitor", c->text);
	wh_session_close_conn(s, c);
}

/* ---- visitors ----------------------------------------------------------------------------------------------------- */

static void on_query(struct wh_session *s, struct wh_conn *c, const struct wh_message *m)
{
	char reason[WH_MESSAGE_REASON_BYTES];
	struct wh_transport_event *event;
	uint32_t version;

	if (!wh_message_take_query(&version, m->body)) {
		turn_away_garbled(s, c);
		return;
	}
	if (version != s->version) {
		snprintf(reason, sizeof(reason),
			 "the question is in version %" PRIu32 " of the protocol, node %" PRIu32
			 " speaks version %" PRIu32,
			 version, s->node, s->version);
		wh_session_turn_away(s, c, WH_COMPLAINT_FOREIGN, reason);
		return;
	}
	c->query = ++s->queries; /* no number twice: an answer never gets to another */
	event = wh_event_queue_event(&s->event_queue, WH_EVENT_QUERY, s->node, 0, m->body + WH_FIRST_BYTES,
				     m->head.bytes - WH_FIRST_BYTES);
	event->query = c->query;
}

void wh_session_answer(struct wh_session *s, uint64_t query, const void *bytes, size_t count)
{
	unsigned char head[WH_HEAD_BYTES];
	struct iovec parts[] = {{head, sizeof(head)}, {(void *)(uintptr_t)bytes, count}};

	(void)wh_message_put_answer_head(head, count);
	for (uint32_t i = 0; i < s->slot_count && query != 0 && count <= WH_ANSWER_MAX; i++) {
		struct wh_conn *c = s->slots[i];

		if (!is_stranger(c) || c->query != query)
			continue;
		if (!s->wire_ops->finish(c, parts, 2))
			wh_event_queue_complain(&s->event_queue, WH_COMPLAINT_STARVED,
						"an answer of %zu bytes did not fit", count);
		wh_session_close_conn(s, c); /* what has been sent can still be read */
		return;
	}
}

/* ---- streams ------------------------------------------------------------------------------------------------------ */

static bool may_open(struct wh_session *s, const struct wh_conn *c, const struct wh_opening *opening)
{
	const struct wh_peer *peer = &s->peers[opening->node < s->nodes ? opening->node : s->node];
	char reason[WH_MESSAGE_REASON_BYTES];

	if (s->wire_ops->admits != NULL && !s->wire_ops->admits(c, opening->node, opening->incarnation, reason)) {
		wh_event_queue_complain(&s->event_queue, WH_COMPLAINT_UNPROVEN, "turned away a stream of %s: %s",
					c->text, reason);
		return false;
	}
	return opening->version == s->version && opening->to == s->incarnation && peer->state != WH_PEER_SELF &&
	       !wh_known_incarnations_has(&peer->ended, opening->incarnation);
}

/* The connection is a stream. It waits until I know that its opener has met me: what that said of it may still be on its way. What
 * comes next is not for me to read, and would keep the loop from sleeping: so the wire tells of it no more. */
static void on_opening(struct wh_session *s, struct wh_conn *c, const struct wh_opening *opening, struct wh_message *m)
{
	const struct wh_peer *peer = &s->peers[opening->node < s->nodes ? opening->node : s->node];
	struct wh_transport_event *event;
	struct wh_stream *stream;
	bool taken;

	if (!may_open(s, c, opening)) {
		wh_session_close_conn(s, c);
		return;
	}
	if (peer->state != WH_PEER_MET || peer->incarnation != opening->incarnation) {
		(void)s->wire_ops->watch(c, false);
		c->held = true;
		s->held_count++;
		return;
	}
	taken = s->wire_ops->stream_take(c, m, &stream) == WH_WIRE_DONE;
	wh_session_close_conn(s, c);
	if (!taken) {
		wh_event_queue_complain(&s->event_queue, WH_COMPLAINT_STARVED,
					"no memory for a stream of node %" PRIu32, peer->node);
		return;
	}
	event = wh_event_queue_event(&s->event_queue, WH_EVENT_STREAM, peer->node, peer->incarnation, "", 0);
	event->stream = stream;
	event->tag = opening->tag;
}

/* ---- a stranger speaks -------------------------------------------------------------------------------------------- */

static void on_first(struct wh_session *s, struct wh_conn *c, struct wh_message *m)
{
	struct wh_opening opening;
	struct wh_hello hello;

	if (m->head.kind == WH_MESSAGE_HELLO && wh_message_take_hello(&hello, s->version, &m->head, m->body))
		on_hello(s, c, &hello, m);
	else if (m->head.kind == WH_MESSAGE_STREAM && wh_message_take_opening(&opening, s->version, &m->head, m->body))
		on_opening(s, c, &opening, m);
	else if (m->head.kind == WH_MESSAGE_QUERY)
		on_query(s, c, m);
	else
		turn_away_garbled(s, c);
	wh_message_close_fds(m);
}

/* A visitor that has asked waits for this node; when it goes its connection says so. */
static bool is_waited_for(const struct wh_conn *c)
{
	return is_stranger(c) && c->query == 0 && c->working_ns == 0;
}

static uint64_t time_of(const struct wh_conn *c)
{
	return c->spoke ? WH_SESSION_STRANGER_NS : WH_SESSION_SILENT_NS;
}

static uint64_t time_left(const struct wh_conn *c, uint64_t now)
{
	uint64_t until_ns = c->since_ns + time_of(c);

	return until_ns > now ? until_ns - now : 0;
}

static bool is_late(const struct wh_conn *c, uint64_t now)
{
	return is_waited_for(c) && time_left(c, now) == 0;
}

/* Its time begins anew with a word, and goes on when the wire has worked on less than one. */
static void keep_time(struct wh_session *s, struct wh_conn *c, uint32_t words, uint64_t working_ns)
{
	bool has_worked = working_ns != 0 && c->working_ns == 0;
	uint64_t now = wh_env_now(s->env);

	if (c->words != words)
		c->since_ns = now;
	else if (has_worked)
		c->since_ns += now - working_ns;
	if (has_worked)
		wh_session_alarm(s, time_left(c, now));
}

static bool greet_stranger(struct wh_session *s, struct wh_conn *c)
{
	char reason[WH_MESSAGE_REASON_BYTES] = "";
	uint64_t working_ns = c->working_ns;
	uint32_t words = c->words;
	enum wh_wire_result result;

	if (c->greeted)
		return true;
	result = s->wire_ops->greet(c, reason);
	keep_time(s, c, words, working_ns);
	c->greeted = result == WH_WIRE_DONE;
	if (c->greeted || (result == WH_WIRE_LATER && (working_ns == 0 || !is_late(c, wh_env_now(s->env)))))
		return c->greeted;
	if (result == WH_WIRE_LATER)
		(void)wh_event_queue_count(&s->event_queue, WH_COMPLAINT_SILENT);
	else if (reason[0] != '\0')
		wh_event_queue_complain(&s->event_queue, c->fault, "turned away %s: %s", c->text, reason);
	wh_session_close_conn(s, c);
	return false;
}

size_t wh_session_hear_stranger(struct wh_session *s, struct wh_conn *c)
{
	struct wh_message m = {.fds = {-1, -1}};
	enum wh_wire_result result;

	if (wh_session_is_full(s) || c->held || !greet_stranger(s, c))
		return 0;
	c->reads = 0;
	result = s->wire_ops->receive(c, &m);
	if (result == WH_WIRE_LATER)
		return 0;
	if (result == WH_WIRE_DONE && c->query == 0) {
		on_first(s, c, &m);
		return 1;
	}
	wh_message_close_fds(&m);
	if (result == WH_WIRE_BROKEN)
		turn_away_garbled(s, c);
	else
		wh_session_close_conn(s, c); /* a visitor that has asked has nothing more to say: it goes */
	return 0;
}

void wh_session_look_at_held(struct wh_session *s)
{
	if (s->held_count == 0)
		return;
	s->held_count = 0;
	for (uint32_t i = 0; i < s->slot_count; i++) {
		struct wh_conn *c = s->slots[i];

		if (!is_stranger(c) || !c->held)
			continue;
		if (wh_session_is_full(s)) {
			s->held_count++;
			continue;
		}
		c->held = false;
		(void)wh_session_hear_stranger(s, c);
	}
}

void wh_session_door_tick(struct wh_session *s, uint64_t now)
{
	for (uint32_t i = 0; i < s->slot_count; i++) {
		/* Where there is no room for events, as one before it may have taken the last, it is not its fault that it has not
		 * been heard. */
		if (is_late(s->slots[i], now) && !wh_session_is_full(s))
			(void)wh_session_hear_stranger(s, s->slots[i]); /* it may be this node that was long away */
		if (is_late(s->slots[i], now) && !wh_session_is_full(s)) {
			(void)wh_event_queue_count(&s->event_queue, WH_COMPLAINT_SILENT);
			wh_session_close_conn(s, s->slots[i]);
		}
		if (is_waited_for(s->slots[i]))
			wh_session_alarm(s, is_late(s->slots[i], now) ? WH_NS_PER_MS : time_left(s->slots[i], now));
	}
}
