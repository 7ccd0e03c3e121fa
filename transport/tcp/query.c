/* query.c - a process that is no node asks one a question, and gets one answer.
 *
 * It connects as a node does, and takes one of the places that strangers have, for a second until it has asked, and then until
 * it is answered, goes, or must make room for another: so many visitors, or slow ones, cost a node no more than any other
 * stranger.
 */
#include "transport/tcp/tcp_int.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define AGAIN_MS 2 /* at first, then twice as long each time, ... */
#define AGAIN_MS_MAX 64

/* ---- the node ----------------------------------------------------------------------------------------------------- */

static void refuse(struct wh_tcp *t, struct wh_tcp_stranger *stranger, uint32_t version)
{
	unsigned char frame[WH_TCP_HEAD_BYTES + WH_TCP_REFUSED_BYTES + WH_TCP_REASON_BYTES];
	struct wh_tcp_refused refused = {.incarnation = t->incarnation};
	struct iovec part = {.iov_base = frame};
	size_t done;

	snprintf(refused.reason, sizeof(refused.reason),
		 "the question is in version %" PRIu32 " of the protocol, node %" PRIu32 " speaks version %d", version,
		 t->node, WH_TCP_VERSION);
	part.iov_len = wh_tcp_put_refused(frame, &refused);
	(void)wh_tcp_channel_write(&stranger->channel, &part, 1, &done);
	wh_tcp_stranger_drop(t, stranger);
}

void wh_tcp_on_question(struct wh_tcp *t, struct wh_tcp_stranger *stranger, const struct wh_tcp_head *head)
{
	const unsigned char *body = stranger->bytes + WH_TCP_HEAD_BYTES;
	struct wh_transport_event *event;
	uint32_t version;

	if (!wh_tcp_take_question(&version, head, body)) {
		wh_tcp_stranger_drop(t, stranger);
		return;
	}
	if (version != WH_TCP_VERSION) {
		refuse(t, stranger, version);
		return;
	}
	stranger->query = ++t->queries; /* no number twice: an answer never gets to another */
	stranger->since_ns = wh_env_now(t->env);
	event = wh_event_queue_event(&t->event_queue, WH_EVENT_QUERY, t->node, 0, body + WH_TCP_FIRST_BYTES,
				     head->bytes - WH_TCP_FIRST_BYTES);
	event->query = stranger->query;
}

static struct wh_tcp_stranger *find_query(struct wh_tcp *t, uint64_t query)
{
	for (uint32_t i = 0; i < t->stranger_count; i++)
		if (t->strangers[i].channel.fd >= 0 && t->strangers[i].query == query && query != 0)
			return &t->strangers[i];
	return NULL;
}

void wh_tcp_answer(struct wh_transport *transport, uint64_t query, const void *bytes, size_t count)
{
	struct wh_tcp *t = wh_tcp_of(transport);
	struct wh_tcp_stranger *stranger = find_query(t, query);
	unsigned char head[WH_TCP_HEAD_BYTES];
	struct iovec parts[] = {{head, sizeof(head)}, {(void *)(uintptr_t)bytes, count}};
	const int buffer = 4 * WH_ANSWER_MAX; /* it, and what the kernel counts as its own */
	size_t done = 0;

	if (stranger == NULL || count > WH_ANSWER_MAX)
		return;
	(void)wh_tcp_put_answer_head(head, count);
	(void)setsockopt(stranger->channel.fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
	if (wh_tcp_channel_write(&stranger->channel, parts, 2, &done) == WH_TCP_DONE && done < sizeof(head) + count)
		wh_event_queue_complain(&t->event_queue, "an answer of %zu bytes did not fit", count);
	wh_tcp_stranger_drop(t, stranger); /* what has been sent can still be read */
}

/* ---- the visitor -------------------------------------------------------------------------------------------------- */

struct question {
	const char *address;
	uint32_t node;
	struct wh_secure_ground ground;
	struct wh_tcp_address at;
	const void *bytes;
	size_t count;
	uint64_t deadline_ns;
	unsigned char *answer; /* at least WH_ANSWER_MAX bytes */
	size_t *answer_bytes;
	bool reached; /* there was a connection: a node is there */
};

/* Milliseconds that are left, at least 1; 0: none. */
static int time_left(const struct question *q)
{
	uint64_t now = wh_env_now(wh_env_system()), ms;

	if (now >= q->deadline_ns)
		return 0;
	ms = (q->deadline_ns - now) / WH_NS_PER_MS + 1;
	return ms < INT32_MAX ? (int)ms : INT32_MAX;
}

static bool wait_for(const struct wh_tcp_channel *channel, const struct question *q, bool to_write)
{
	struct pollfd wanted = {.fd = channel->fd, .events = to_write ? POLLOUT : POLLIN};
	int n;

	do {
		n = poll(&wanted, 1, time_left(q));
	} while (n < 0 && errno == EINTR);
	return n > 0;
}

/* All of it, or the end. */
static bool move(struct wh_tcp_channel *channel, const struct question *q, bool write, unsigned char *bytes,
		 size_t count)
{
	while (count > 0) {
		const struct iovec part = {bytes, count};
		size_t done = 0;
		enum wh_tcp_io io = write ? wh_tcp_channel_write(channel, &part, 1, &done)
					  : wh_tcp_channel_read(channel, &part, 1, &done);

		if (io == WH_TCP_LATER && wait_for(channel, q, write))
			continue;
		if (io != WH_TCP_DONE)
			return false;
		bytes += done;
		count -= done;
	}
	return true;
}

/* WHORL_AGAIN: none has come, but the end. */
static enum whorl_result on_answer(struct wh_tcp_channel *channel, const struct question *q, struct wh_error *err)
{
	unsigned char bytes[WH_TCP_HEAD_BYTES];
	struct wh_tcp_refused refused;
	struct wh_tcp_head head;

	if (!move(channel, q, false, bytes, sizeof(bytes)))
		return WHORL_AGAIN;
	if (!wh_tcp_head_take(&head, bytes) || (head.kind != WH_TCP_ANSWER && head.kind != WH_TCP_REFUSED))
		return wh_error_set(err, WHORL_SYSTEM, "the program at %s answers with a bad message", q->address);
	if (!move(channel, q, false, q->answer, head.bytes))
		return WHORL_AGAIN;
	if (head.kind == WH_TCP_REFUSED && wh_tcp_take_refused(&refused, &head, q->answer))
		return wh_error_set(err, WHORL_REFUSED, "refused by %s: %s", q->address, refused.reason);
	*q->answer_bytes = head.bytes;
	return head.kind == WH_TCP_ANSWER ? WHORL_OK : WHORL_AGAIN;
}

/* No way leads there, as the system says at once or after a while. */
static bool is_away(int error)
{
	return error == EHOSTUNREACH || error == ENETUNREACH || error == EHOSTDOWN || error == ENETDOWN ||
	       error == ETIMEDOUT;
}

static enum whorl_result connect_to(struct wh_tcp_channel *channel, struct question *q, struct wh_error *err)
{
	int error = wh_tcp_channel_connect(channel, &q->at, &q->ground, q->node);
	enum wh_tcp_io io = WH_TCP_LATER;
	bool writes;

	while (error == 0 && io == WH_TCP_LATER) {
		if (!wait_for(channel, q, true))
			return WHORL_AGAIN;
		io = wh_tcp_channel_connected(channel);
		error = io == WH_TCP_BROKEN ? errno : 0;
	}
	if (error == ECONNREFUSED)
		return wh_error_set(err, WHORL_NOT_FOUND, "no node is running at %s", q->address);
	if (is_away(error))
		return WHORL_AGAIN;
	if (error != 0)
		return wh_error_system(err, error, "connect to %s", q->address);
	q->reached = true;
	while ((io = wh_tcp_channel_shake(channel, &writes)) == WH_TCP_LATER)
		if (!wait_for(channel, q, writes))
			return WHORL_AGAIN;
	if (io != WH_TCP_DONE && wh_tcp_channel_reason(channel)[0] != '\0')
		return wh_error_set(err, WHORL_REFUSED, "%s", wh_tcp_channel_reason(channel));
	return io == WH_TCP_DONE ? WHORL_OK : WHORL_AGAIN;
}

/* WHORL_AGAIN: it can be tried once more. */
static enum whorl_result query_once(struct question *q, struct wh_error *err)
{
	unsigned char frame[WH_TCP_HEAD_BYTES + WH_TCP_BODY_MAX];
	struct wh_tcp_channel channel = WH_TCP_NO_CHANNEL;
	enum whorl_result result = connect_to(&channel, q, err);

	if (result == WHORL_OK && !move(&channel, q, true, frame, wh_tcp_put_question(frame, q->bytes, q->count)))
		result = WHORL_AGAIN;
	if (result == WHORL_OK)
		result = on_answer(&channel, q, err);
	wh_tcp_channel_close(&channel, false);
	return result;
}

enum whorl_result wh_tcp_query(const struct wh_tcp_target *asked, const void *question, size_t bytes,
			       uint64_t timeout_ns, void *answer, size_t *answer_bytes, struct wh_error *err)
{
	struct question q = {.address = asked->address,
			     .node = asked->node,
			     .ground = {.key = asked->key,
					.tls = asked->tls,
					.group = asked->group,
					.version = WH_TCP_VERSION,
					.node = WH_SECURE_VISITOR},
			     .bytes = question,
			     .count = bytes,
			     .deadline_ns = wh_env_now(wh_env_system()) + timeout_ns,
			     .answer = answer,
			     .answer_bytes = answer_bytes};
	enum whorl_result result;
	int again_ms = AGAIN_MS;

	if (bytes > WH_CONTROL_MAX)
		return wh_error_set(err, WHORL_INVALID, "a question of %zu bytes is too long", bytes);
	result = wh_tcp_address_find(asked->address, &q.at, err);
	if (result != WHORL_OK)
		return result;
	do { /* it has hung up: to make room, for want of descriptors, or it is about to end */
		result = query_once(&q, err);
		if (result == WHORL_AGAIN && time_left(&q) > 0)
			(void)poll(NULL, 0, again_ms);
		again_ms = 2 * again_ms < AGAIN_MS_MAX ? 2 * again_ms : AGAIN_MS_MAX;
	} while (result == WHORL_AGAIN && time_left(&q) > 0);
	if (result == WHORL_AGAIN && !q.reached)
		return wh_error_set(err, WHORL_AGAIN,
				    "%s cannot be reached: the host is down, or the network between is cut",
				    asked->address);
	if (result == WHORL_AGAIN)
		return wh_error_set(err, WHORL_TIMEOUT, "the node at %s does not answer", asked->address);
	return result;
}
