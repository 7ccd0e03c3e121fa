/* query.c - how a question gets to a node over tcp, and the answer back; see transport/session/query.h. */
#include "transport/tcp/tcp_int.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "transport/session/query.h"

struct way { /* to the node that is asked */
	const struct wh_tcp_target *to;
	struct wh_secure_ground ground;
	struct wh_tcp_address at;
	bool reached; /* there was a connection: a node is there */
};

static bool wait_for(const struct wh_tcp_channel *channel, const struct wh_query *q, bool to_write)
{
	struct pollfd wanted = {.fd = channel->fd, .events = to_write ? POLLOUT : POLLIN};
	int n;

	do {
		n = poll(&wanted, 1, wh_query_time_left(q));
	} while (n < 0 && errno == EINTR);
	return n > 0;
}

/* With TLS what was written may wait, sealed. */
static bool flush(struct wh_tcp_channel *channel, const struct wh_query *q)
{
	enum wh_tcp_io io = WH_TCP_DONE;

	while (wh_tcp_channel_unsent(channel) && (io = wh_tcp_channel_flush(channel)) == WH_TCP_LATER)
		if (!wait_for(channel, q, true))
			return false;
	return io == WH_TCP_DONE;
}

/* All of it, or the end. */
static bool move(struct wh_tcp_channel *channel, const struct wh_query *q, bool write, unsigned char *bytes,
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
	return !write || flush(channel, q);
}

/* WHORL_AGAIN: none has come, but the end. */
static enum whorl_result on_answer(struct wh_tcp_channel *channel, const struct wh_query *q, struct wh_error *err)
{
	unsigned char bytes[WH_HEAD_BYTES];
	struct wh_message_head head;
	enum whorl_result result;

	if (!move(channel, q, false, bytes, sizeof(bytes)))
		return WHORL_AGAIN;
	result = wh_query_on_head(q, &head, bytes, err);
	if (result == WHORL_OK && !move(channel, q, false, q->answer, head.bytes))
		result = WHORL_AGAIN;
	return result == WHORL_OK ? wh_query_on_body(q, &head, err) : result;
}

/* No way leads there, as the system says at once or after a while. */
static bool is_away(int error)
{
	return error == EHOSTUNREACH || error == ENETUNREACH || error == EHOSTDOWN || error == ENETDOWN ||
	       error == ETIMEDOUT;
}

static enum whorl_result connect_to(struct wh_tcp_channel *channel, struct way *way, const struct wh_query *q,
				    struct wh_error *err)
{
	int error = wh_tcp_channel_connect(channel, &way->at, &way->ground, way->to->node);
	enum wh_tcp_io io = WH_TCP_LATER;
	bool writes;

	while (error == 0 && io == WH_TCP_LATER) {
		if (!wait_for(channel, q, true))
			return WHORL_AGAIN;
		io = wh_tcp_channel_connected(channel);
		error = io == WH_TCP_BROKEN ? errno : 0;
	}
	if (error == ECONNREFUSED)
		return wh_error_set(err, WHORL_NOT_FOUND, "no node is running at %s", way->to->address);
	if (is_away(error))
		return WHORL_AGAIN;
	if (error != 0)
		return wh_error_system(err, error, "connect to %s", way->to->address);
	way->reached = true;
	while ((io = wh_tcp_channel_shake(channel, &writes)) == WH_TCP_LATER)
		if (!wait_for(channel, q, writes))
			return WHORL_AGAIN;
	if (io != WH_TCP_DONE && wh_tcp_channel_reason(channel)[0] != '\0')
		return wh_error_set(err, WHORL_REFUSED, "%s", wh_tcp_channel_reason(channel));
	return io == WH_TCP_DONE ? WHORL_OK : WHORL_AGAIN;
}

static enum whorl_result ask_once(void *ctx, const struct wh_query *q, struct wh_error *err)
{
	unsigned char message[WH_MESSAGE_MAX];
	struct way *way = ctx;
	struct wh_tcp_channel channel = WH_TCP_NO_CHANNEL;
	enum whorl_result result = connect_to(&channel, way, q, err);

	if (result == WHORL_OK && !move(&channel, q, true, message, wh_query_message(q, message)))
		result = WHORL_AGAIN;
	if (result == WHORL_OK)
		result = on_answer(&channel, q, err);
	if (way->to->spoken != NULL)
		*way->to->spoken = wh_tcp_channel_spoken(&channel);
	wh_tcp_channel_close(&channel, false);
	return result;
}

enum whorl_result wh_tcp_query(const struct wh_tcp_target *to, const void *question, size_t bytes, uint64_t timeout_ns,
			       void *answer, size_t *answer_bytes, struct wh_error *err)
{
	const uint32_t version = to->version == 0 ? WH_TCP_VERSION : to->version;
	char asked[WH_TCP_ADDRESS_BYTES + 16];
	struct way way = {.to = to,
			  .ground = {.key = to->key,
				     .tls = to->tls,
				     .group = to->group,
				     .version = (uint16_t)version,
				     .node = WH_SECURE_VISITOR}};
	const struct wh_query q = {.asked = asked,
				   .bytes = question,
				   .count = bytes,
				   .version = version,
				   .deadline_ns = wh_env_now(wh_env_system()) + timeout_ns,
				   .answer = answer,
				   .answer_bytes = answer_bytes};
	enum whorl_result result = wh_tcp_address_find(to->address, &way.at, err);

	if (result != WHORL_OK)
		return result;
	snprintf(asked, sizeof(asked), "the node at %s", to->address);
	result = wh_query_ask(&q, ask_once, &way, err);
	if (result == WHORL_TIMEOUT && !way.reached)
		return wh_error_set(err, WHORL_AGAIN,
				    "%s cannot be reached: the host is down, or the network between is cut",
				    to->address);
	return result;
}
