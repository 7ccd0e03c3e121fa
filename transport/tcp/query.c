/* query.c - a process that is no node asks one a question, and gets one answer.
 *
 * It connects as a node does, and takes one of the places that strangers have (transport/session/door.c). This is the program's
 * side, which waits.
 */
#include "transport/tcp/tcp_int.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define AGAIN_MS 2 /* at first, then twice as long each time, ... */
#define AGAIN_MS_MAX 64

struct question {
	const char *address;
	uint32_t node;
	struct wh_secure_ground ground;
	struct wh_tcp_address at;
	uint32_t *spoken; /* NULL: it is not asked for */
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
	unsigned char bytes[WH_HEAD_BYTES];
	struct wh_refused refused;
	struct wh_message_head head;

	if (!move(channel, q, false, bytes, sizeof(bytes)))
		return WHORL_AGAIN;
	if (!wh_message_head_take(&head, bytes) || (head.kind != WH_MESSAGE_ANSWER && head.kind != WH_MESSAGE_REFUSED))
		return wh_error_set(err, WHORL_SYSTEM, "the program at %s answers with a bad message", q->address);
	if (!move(channel, q, false, q->answer, head.bytes))
		return WHORL_AGAIN;
	if (head.kind == WH_MESSAGE_REFUSED && wh_message_take_refused(&refused, &head, q->answer))
		return wh_error_set(err, WHORL_REFUSED, "refused by %s: %s", q->address, refused.reason);
	*q->answer_bytes = head.bytes;
	return head.kind == WH_MESSAGE_ANSWER ? WHORL_OK : WHORL_AGAIN;
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
	unsigned char frame[WH_MESSAGE_MAX];
	struct wh_tcp_channel channel = WH_TCP_NO_CHANNEL;
	enum whorl_result result = connect_to(&channel, q, err);

	if (result == WHORL_OK &&
	    !move(&channel, q, true, frame, wh_message_put_query(frame, q->ground.version, q->bytes, q->count)))
		result = WHORL_AGAIN;
	if (result == WHORL_OK)
		result = on_answer(&channel, q, err);
	if (q->spoken != NULL)
		*q->spoken = wh_tcp_channel_spoken(&channel);
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
					.version = (uint16_t)(asked->version == 0 ? WH_TCP_VERSION : asked->version),
					.node = WH_SECURE_VISITOR},
			     .spoken = asked->spoken,
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
