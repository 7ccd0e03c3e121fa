/* accept.c - the called side: a caller is a stranger until it has said a whole first frame.
 *
 * The door must hold when thousands call: all that wait are accepted, and the last one always gets a place. If none is free it is taken
 * from a stranger that has said nothing yet, or else from the source (the address without its port) that has most of them, the oldest
 * first; never from one that has proven what it is. So a node comes in that needs less time for a word than the others leave it: with
 * 256 places and 8,000 calls a second that is 32 ms. Places beyond these are kept for calls from addresses of the configuration.
 *
 * A stranger that says nothing has a quarter of a second; one that speaks has a second for each word of the greeting
 * (transport/secure/secure.h) and for its frame. The time begins when I have answered the last word, and before it is held to be over I
 * look once more: what I take to answer, where many come at once or I am seldom given the processor, is no fault of the stranger's. A
 * stranger's frame is read to its end and not a byte further: what follows belongs to the peer or the stream that it becomes.
 */
#include "transport/tcp/tcp_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#define ACCEPTED_AT_ONCE 64
#define LISTENER_RESTS_NS (20 * WH_NS_PER_MS)

void wh_tcp_stranger_drop(struct wh_tcp *t, struct wh_tcp_stranger *stranger)
{
	wh_tcp_hang_up(t, &stranger->channel);
	stranger->shaken = stranger->held = stranger->spoke = false;
	stranger->query = 0;
	stranger->count = 0;
}

void wh_tcp_accept_close(struct wh_tcp *t)
{
	struct wh_tcp_channel listener = {.fd = t->listener};

	wh_tcp_hang_up(t, &listener);
	t->listener = -1;
	for (uint32_t i = 0; t->strangers != NULL && i < t->stranger_count; i++)
		wh_tcp_stranger_drop(t, &t->strangers[i]);
}

/* ---- coming in ---------------------------------------------------------------------------------------------------- */

/* What its connection proves it to be, and not what it says. */
static bool is_proven(const struct wh_tcp *t, const struct wh_tcp_stranger *stranger)
{
	return stranger->shaken && (t->ground.key != NULL || t->ground.tls != NULL);
}

static uint32_t places_of(const struct wh_tcp *t, uint64_t source)
{
	uint32_t places = 0;

	for (uint32_t i = 0; i < t->stranger_count; i++)
		places += t->strangers[i].channel.fd >= 0 && t->strangers[i].source == source;
	return places;
}

/* Of two that have a place: which is to give it up before the other? */
static bool goes_first(const struct wh_tcp *t, const struct wh_tcp_stranger *one, const struct wh_tcp_stranger *other)
{
	if (one->spoke != other->spoke)
		return !one->spoke;
	if (one->spoke && one->source != other->source) {
		uint32_t places = places_of(t, one->source), others = places_of(t, other->source);

		if (places != others)
			return places > others;
	}
	return one->since_ns < other->since_ns;
}

static bool is_configured(const struct wh_tcp *t, uint64_t source)
{
	for (uint32_t node = 0; node < t->nodes; node++)
		if (t->peers[node].address.bytes > 0 && wh_tcp_address_source(&t->peers[node].address) == source)
			return true;
	return false;
}

/* NULL: all that might have proven what they are. */
static struct wh_tcp_stranger *first_to_go(struct wh_tcp *t, bool configured)
{
	struct wh_tcp_stranger *first = NULL;

	for (uint32_t i = 0; i < t->stranger_count; i++) {
		struct wh_tcp_stranger *stranger = &t->strangers[i];

		if (stranger->channel.fd >= 0 && !is_proven(t, stranger) && (configured || !stranger->configured) &&
		    (first == NULL || goes_first(t, stranger, first)))
			first = stranger;
	}
	return first;
}

/* NULL: none can be had. */
static struct wh_tcp_stranger *place_for_stranger(struct wh_tcp *t, bool configured)
{
	struct wh_tcp_stranger *place = NULL;
	uint32_t others = 0; /* strangers from addresses that are not configured */

	for (uint32_t i = 0; i < t->stranger_count; i++) {
		struct wh_tcp_stranger *stranger = &t->strangers[i];

		if (stranger->channel.fd >= 0)
			others += !stranger->configured;
		else if (place == NULL)
			place = stranger;
	}
	if (place != NULL && (configured || others < WH_TCP_STRANGERS))
		return place;
	place = first_to_go(t, configured);
	if (place != NULL)
		wh_tcp_stranger_drop(t, place);
	return place;
}

static void rest_listener(struct wh_tcp *t)
{
	t->listener_rests = epoll_ctl(t->epoll, EPOLL_CTL_MOD, t->listener, &(struct epoll_event){0}) == 0;
	wh_redial_timer(&t->redial, LISTENER_RESTS_NS);
}

/* It has connected. */
static void take_call(struct wh_tcp *t, int fd, uint64_t source)
{
	bool configured = is_configured(t, source);
	struct wh_tcp_stranger *stranger = place_for_stranger(t, configured);

	if (stranger == NULL) {
		close(fd);
		return;
	}
	if (!wh_tcp_channel_accept(&stranger->channel, fd, &t->ground))
		return;
	stranger->source = source;
	stranger->configured = configured;
	stranger->since_ns = wh_env_now(t->env);
	wh_redial_timer(&t->redial, WH_TCP_SILENT_NS);
	if (!wh_tcp_watch(t, EPOLL_CTL_ADD, fd, EPOLLIN, WH_TCP_FROM_STRANGER, (uint32_t)(stranger - t->strangers)))
		wh_tcp_stranger_drop(t, stranger);
	else
		(void)wh_tcp_accept_on_message(t, (uint32_t)(stranger - t->strangers));
}

void wh_tcp_accept(struct wh_tcp *t)
{
	for (int n = 0; n < ACCEPTED_AT_ONCE && !wh_event_queue_is_full(&t->event_queue); n++) {
		struct wh_tcp_address from = {.bytes = sizeof(from.at)};
		int fd = accept4(t->listener, (struct sockaddr *)&from.at, &from.bytes, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
			wh_event_queue_complain(&t->event_queue, "cannot accept a connection: error %d", errno);
			rest_listener(t);
		}
		if (fd < 0)
			return;
		take_call(t, fd, wh_tcp_address_source(&from));
	}
}

/* ---- hello -------------------------------------------------------------------------------------------------------- */

enum verdict { COME, NOT_NOW /* it calls again */, NEVER };

/* Another incarnation has called while one is here, or is answered. Most likely that has died or left, and I have not noticed yet:
 * what it has sent comes first. Or the call is late, of a life that ended long ago: an answered one gives no place to it, since it may
 * have met this node already. Else it is asked whether it is there. If its host has forgotten it, the answer is the end of the connection;
 * a peer that does not answer is not given up for that. */
static enum verdict make_way(struct wh_tcp *t, struct wh_tcp_peer *peer)
{
	unsigned char frame[WH_TCP_HEAD_BYTES];
	uint64_t now = wh_env_now(t->env);

	(void)wh_tcp_in_take(t, peer);
	if (peer->state != WH_TCP_MET && peer->state != WH_TCP_ANSWERED)
		return COME;
	if (peer->pinged_ns != 0 && peer->ponged_ns >= peer->pinged_ns) {
		peer->pinged_ns = 0;
		return NEVER;
	}
	if ((peer->pinged_ns == 0 || now - peer->pinged_ns > WH_NS_PER_S) &&
	    wh_tcp_out_message(peer->link, frame, wh_tcp_put_plain(frame, WH_TCP_PING, 0), true)) {
		peer->pinged_ns = now;
		wh_tcp_dirty(t, peer->link);
	}
	return NOT_NOW;
}

static enum verdict judge(struct wh_tcp *t, const struct wh_tcp_channel *channel, const struct wh_tcp_hello *hello,
			  char reason[WH_TCP_REASON_BYTES])
{
	struct wh_tcp_peer *peer = &t->peers[hello->node < t->nodes ? hello->node : t->node];
	enum verdict verdict = COME;
	char whence[64];

	_Static_assert(WH_TCP_REASON_BYTES >= WH_SECURE_REASON_BYTES, "it fits");
	if (!wh_tcp_channel_may_be(channel, hello->node, hello->incarnation, reason))
		return NEVER; /* before anything is done in that node's name */
	if (peer->state == WH_TCP_SELF) {
		if (!wh_tcp_is_foreign(t, hello, reason))
			snprintf(reason, WH_TCP_REASON_BYTES,
				 "node %" PRIu32 " is here already, or has nothing to call node %" PRIu32 " for",
				 hello->node, t->node);
		return NEVER;
	}
	if (wh_known_incarnations_has(&peer->ended, hello->incarnation)) {
		snprintf(reason, WH_TCP_REASON_BYTES, "node %" PRIu32 " is gone for good", hello->node);
		return NEVER;
	}
	if (peer->state == WH_TCP_GREETING && peer->link->stage == WH_TCP_OPEN && t->node > peer->node)
		return NOT_NOW; /* our calls have crossed */
	if (peer->state == WH_TCP_MET && peer->incarnation == hello->incarnation)
		return NOT_NOW; /* they had, and this is what is left of its call */
	if (peer->caller == hello->incarnation && hello->call <= peer->call)
		return NOT_NOW; /* an older call, which it has given up: its hello was long on its way */
	if (peer->state == WH_TCP_MET && wh_tcp_is_foreign(t, hello, reason))
		return NEVER; /* it does not even come in the other's place */
	if (peer->state == WH_TCP_MET || (peer->state == WH_TCP_ANSWERED && peer->incarnation != hello->incarnation))
		verdict = make_way(t, peer);
	if (verdict == NEVER)
		snprintf(reason, WH_TCP_REASON_BYTES, "node %" PRIu32 " is here already (%s)", peer->node,
			 wh_tcp_channel_whence(&peer->link->channel, whence, sizeof(whence)));
	return verdict;
}

/* A stranger that does not belong here, and without which the group can form: it is told why, and forgotten. */
static void turn_away(struct wh_tcp *t, struct wh_tcp_stranger *stranger, const char *reason)
{
	struct wh_tcp_refused refused = {.incarnation = t->incarnation};
	unsigned char frame[WH_TCP_HEAD_BYTES + WH_TCP_REFUSED_BYTES + WH_TCP_REASON_BYTES];
	struct iovec part = {.iov_base = frame};
	char whence[64];
	size_t done;

	snprintf(refused.reason, sizeof(refused.reason), "%s", reason);
	part.iov_len = wh_tcp_put_refused(frame, &refused);
	(void)wh_tcp_channel_write(&stranger->channel, &part, 1, &done);
	wh_event_queue_complain(&t->event_queue, "turned away %s: %s",
				wh_tcp_channel_whence(&stranger->channel, whence, sizeof(whence)), reason);
	wh_tcp_stranger_drop(t, stranger);
}

/* The stranger is the peer: its connection becomes the peer's. */
static void let_in(struct wh_tcp *t, struct wh_tcp_stranger *stranger, const struct wh_tcp_hello *hello)
{
	struct wh_tcp_peer *peer = &t->peers[hello->node];
	char reason[WH_TCP_REASON_BYTES];

	wh_tcp_end_connection(t, peer, WH_TCP_ANSWERED); /* of what was under way */
	peer->link = wh_tcp_link_new(&stranger->channel, peer->node);
	if (peer->link == NULL) {
		wh_tcp_stranger_drop(t, stranger);
		wh_tcp_lose(t, peer, "has no place");
		return;
	}
	stranger->channel = WH_TCP_NO_CHANNEL;
	wh_tcp_stranger_drop(t, stranger);
	peer->link->stage = WH_TCP_OPEN;
	peer->incarnation = peer->caller = hello->incarnation;
	peer->call = hello->call;
	if (wh_tcp_is_foreign(t, hello, reason)) {
		wh_tcp_refuse(t, peer, "%s", reason);
		return;
	}
	if (!wh_tcp_watch(t, EPOLL_CTL_MOD, peer->link->channel.fd, EPOLLIN, WH_TCP_FROM_PEER, peer->node) ||
	    !wh_tcp_say_hello(t, peer)) {
		wh_tcp_lose(t, peer, "has hung up");
		return;
	}
	wh_tcp_dirty(t, peer->link);
}

static void on_hello(struct wh_tcp *t, struct wh_tcp_stranger *stranger, const struct wh_tcp_hello *hello)
{
	char reason[WH_TCP_REASON_BYTES];

	switch (judge(t, &stranger->channel, hello, reason)) {
	case COME:
		let_in(t, stranger, hello);
		return;
	case NOT_NOW:
		wh_tcp_stranger_drop(t, stranger);
		return;
	case NEVER:
		turn_away(t, stranger, reason);
		return;
	}
}

/* ---- a stranger speaks -------------------------------------------------------------------------------------------- */

/* What it says next is not for me to read, and would keep the loop from sleeping: epoll tells of it no more. It is looked at in
 * each service (tcp.c). */
static void hold(struct wh_tcp *t, struct wh_tcp_stranger *stranger)
{
	(void)epoll_ctl(t->epoll, EPOLL_CTL_DEL, stranger->channel.fd, NULL);
	stranger->held = true;
}

/* Its first frame is whole. */
static void on_first(struct wh_tcp *t, struct wh_tcp_stranger *stranger, const struct wh_tcp_head *head)
{
	const unsigned char *body = stranger->bytes + WH_TCP_HEAD_BYTES;
	struct wh_tcp_opening opening;
	struct wh_tcp_hello hello;

	if (head->kind == WH_TCP_HELLO && wh_tcp_take_hello(&hello, head, body))
		on_hello(t, stranger, &hello);
	else if (head->kind == WH_TCP_STREAM && wh_tcp_take_opening(&opening, head, body)) {
		if (!wh_tcp_stream_take(t, stranger, &opening))
			hold(t, stranger);
	} else if (head->kind == WH_TCP_QUERY)
		wh_tcp_on_question(t, stranger, head);
	else
		wh_tcp_stranger_drop(t, stranger);
}

/* How many bytes its frame has, as far as that is known. 0: it is none that a stranger may send. */
static uint32_t wanted_of(const struct wh_tcp_stranger *stranger, struct wh_tcp_head *head)
{
	if (stranger->count < WH_TCP_HEAD_BYTES)
		return WH_TCP_HEAD_BYTES;
	if (!wh_tcp_head_take(head, stranger->bytes) || head->bytes > WH_TCP_BODY_MAX ||
	    (head->kind != WH_TCP_HELLO && head->kind != WH_TCP_STREAM && head->kind != WH_TCP_QUERY))
		return 0;
	return WH_TCP_HEAD_BYTES + head->bytes;
}

/* False: no more of it for now, or for good. */
static bool read_some(struct wh_tcp *t, struct wh_tcp_stranger *stranger, uint32_t wanted)
{
	struct iovec part = {stranger->bytes + stranger->count, wanted - stranger->count};
	size_t done = 0;

	switch (wh_tcp_channel_read(&stranger->channel, &part, 1, &done)) {
	case WH_TCP_DONE:
		stranger->count += (uint32_t)done;
		stranger->spoke = true;
		return true;
	case WH_TCP_LATER:
		return false;
	case WH_TCP_ENDED:
	case WH_TCP_BROKEN:
		break;
	}
	wh_tcp_stranger_drop(t, stranger);
	return false;
}

static bool shake(struct wh_tcp *t, struct wh_tcp_stranger *stranger)
{
	unsigned turns = stranger->channel.turns;
	enum wh_tcp_io io;
	char whence[64];
	bool writes;

	if (stranger->shaken)
		return true;
	io = wh_tcp_channel_shake(&stranger->channel, &writes);
	if (stranger->channel.turns != turns) {
		stranger->since_ns = wh_env_now(t->env);
		stranger->spoke = true;
	}
	switch (io) {
	case WH_TCP_DONE:
		stranger->shaken = true;
		(void)wh_tcp_watch(t, EPOLL_CTL_MOD, stranger->channel.fd, EPOLLIN, WH_TCP_FROM_STRANGER,
				   (uint32_t)(stranger - t->strangers));
		return true;
	case WH_TCP_LATER:
		(void)wh_tcp_watch(t, EPOLL_CTL_MOD, stranger->channel.fd, EPOLLIN | (writes ? EPOLLOUT : 0),
				   WH_TCP_FROM_STRANGER, (uint32_t)(stranger - t->strangers));
		return false;
	case WH_TCP_ENDED:
	case WH_TCP_BROKEN:
		break;
	}
	if (wh_tcp_channel_reason(&stranger->channel)[0] != '\0')
		wh_event_queue_complain(&t->event_queue, "turned away %s: %s",
					wh_tcp_channel_whence(&stranger->channel, whence, sizeof(whence)),
					wh_tcp_channel_reason(&stranger->channel));
	wh_tcp_stranger_drop(t, stranger);
	return false;
}

size_t wh_tcp_accept_on_message(struct wh_tcp *t, uint32_t i)
{
	struct wh_tcp_stranger *stranger = &t->strangers[i];
	struct wh_tcp_head head;
	uint32_t wanted;

	if (stranger->channel.fd < 0 || wh_event_queue_is_full(&t->event_queue))
		return 0;
	if (stranger->query != 0) { /* a visitor that has asked has nothing more to say: it goes */
		wh_tcp_stranger_drop(t, stranger);
		return 0;
	}
	if (stranger->held || !shake(t, stranger))
		return 0;
	while ((wanted = wanted_of(stranger, &head)) > stranger->count)
		if (!read_some(t, stranger, wanted))
			return 0;
	if (wanted == 0) {
		wh_tcp_stranger_drop(t, stranger);
		return 0;
	}
	on_first(t, stranger, &head);
	return 1;
}

static uint64_t time_of(const struct wh_tcp_stranger *stranger)
{
	return stranger->spoke ? WH_TCP_STRANGER_NS : WH_TCP_SILENT_NS;
}

/* A visitor that has asked waits for this node; when it goes its connection says so. */
static bool is_late(const struct wh_tcp_stranger *stranger, uint64_t now)
{
	return stranger->query == 0 && now >= stranger->since_ns + time_of(stranger);
}

void wh_tcp_accept_tick(struct wh_tcp *t, uint64_t now)
{
	bool full = wh_event_queue_is_full(&t->event_queue); /* then it is not its fault that it has not been heard */

	for (uint32_t i = 0; i < t->stranger_count; i++) {
		struct wh_tcp_stranger *stranger = &t->strangers[i];

		if (stranger->channel.fd >= 0 && is_late(stranger, now) && !full)
			(void)wh_tcp_accept_on_message(t, i); /* it may be this node that was long away */
		if (stranger->channel.fd >= 0 && is_late(stranger, now) && !full)
			wh_tcp_stranger_drop(t, stranger);
		if (stranger->channel.fd >= 0 && stranger->query == 0)
			wh_redial_timer(&t->redial, is_late(stranger, now)
							    ? WH_NS_PER_MS
							    : stranger->since_ns + time_of(stranger) - now);
	}
}
