/* stream.c - streams: a connection of its own for each, so that none delays pushes, or another stream.
 *
 * The node that opens one calls the other. Until that has come to something the loop sees to it: it connects and says what
 * stream this is. From then on the connection belongs to the stream's thread alone, and nothing here looks at the transport,
 * which may be gone. The system keeps order, bounds what is under way, and ends the stream with the process at either end.
 */
#include "transport/tcp/tcp_int.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"

#define EARLY_BYTES 4096
#define CALLS_MAX 8
#define BEGIN_NS (5 * WH_NS_PER_S) /* so long each thing that the other end has to say may take */

enum state { BEGINS, FLOWS, FAILED };

struct wh_tcp_stream {
	struct wh_stream base;
	struct wh_tcp_channel channel; /* the loop's while it BEGINS, then its owner's */
	pid_t pid;                     /* its owner: not a forked child */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum state state;                 /* [lock] */
	bool closed;                      /* [lock] its owner has closed it while it began */
	bool shaken;                      /* [loop] */
	uint32_t node, calls;             /* [loop] the other node, and how often it has been called */
	struct wh_tcp_address address;    /* [loop] */
	uint64_t deadline_ns;             /* [loop] UINT64_MAX: it is this node's turn, which has */
	uint64_t left_ns;                 /* [loop] so long left of the other's when it ends */
	uint32_t greeting_bytes, greeted; /* [loop] */
	unsigned char greeting[WH_HEAD_BYTES + WH_OPENING_BYTES];
	/* [lock] What its owner has written while it began, which takes as long as the other node takes to prove itself. */
	uint32_t early_bytes, early_sent;
	unsigned char early[EARLY_BYTES];
};

static struct wh_tcp_stream *of(struct wh_stream *base)
{
	return (struct wh_tcp_stream *)base;
}

static enum state state_of(struct wh_tcp_stream *stream)
{
	enum state state;

	pthread_mutex_lock(&stream->lock);
	state = stream->state;
	pthread_mutex_unlock(&stream->lock);
	return state;
}

/* ---- its owner ----------------------------------------------------------------------------------------------------- */

static ptrdiff_t result_of(enum wh_tcp_io io, size_t done)
{
	return io == WH_TCP_DONE ? (ptrdiff_t)done : io == WH_TCP_LATER ? 0 : -1;
}

/* While it begins: the loop sends it, when it has begun. */
static enum state write_early(struct wh_tcp_stream *stream, const void *bytes, size_t count, size_t *done)
{
	size_t room;
	enum state state;

	pthread_mutex_lock(&stream->lock);
	state = stream->state;
	if (state == BEGINS) {
		room = EARLY_BYTES - stream->early_bytes;
		*done = count < room ? count : room;
		memcpy(stream->early + stream->early_bytes, bytes, *done);
		stream->early_bytes += (uint32_t)*done;
	}
	pthread_mutex_unlock(&stream->lock);
	return state;
}

static ptrdiff_t write_some(struct wh_stream *base, const void *bytes, size_t count)
{
	const struct iovec part = {(void *)(uintptr_t)bytes, count};
	struct wh_tcp_stream *stream = of(base);
	size_t done = 0;
	enum state state;
	enum wh_tcp_io io;

	if (count == 0)
		return 0;
	state = write_early(stream, bytes, count, &done);
	if (state == BEGINS)
		return (ptrdiff_t)done;
	io = state == FLOWS ? wh_tcp_channel_write(&stream->channel, &part, 1, &done) : WH_TCP_BROKEN;
	return result_of(io, done);
}

static ptrdiff_t read_some(struct wh_stream *base, void *bytes, size_t count)
{
	const struct iovec part = {bytes, count};
	struct wh_tcp_stream *stream = of(base);
	enum state state = state_of(stream);
	size_t done = 0;

	enum wh_tcp_io io;

	if (count == 0 || state == BEGINS)
		return 0;
	io = state == FLOWS ? wh_tcp_channel_read(&stream->channel, &part, 1, &done) : WH_TCP_BROKEN;
	return result_of(io, done);
}

/* False: it still begins. */
static bool wait_for_beginning(struct wh_tcp_stream *stream, uint64_t timeout_ns)
{
	uint64_t at = wh_env_now(wh_env_system()) + timeout_ns;
	const struct timespec deadline = {.tv_sec = (time_t)(at / WH_NS_PER_S), .tv_nsec = (long)(at % WH_NS_PER_S)};
	int error = 0;
	bool begun;

	pthread_mutex_lock(&stream->lock);
	while (stream->state == BEGINS && error == 0)
		error = pthread_cond_timedwait(&stream->changed, &stream->lock, &deadline);
	begun = stream->state != BEGINS;
	pthread_mutex_unlock(&stream->lock);
	return begun;
}

static bool wait_for(struct wh_stream *base, bool to_write, uint64_t timeout_ns)
{
	struct wh_tcp_stream *stream = of(base);
	struct pollfd poll = {.events = to_write ? POLLOUT : POLLIN};
	const struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / WH_NS_PER_S),
					 .tv_nsec = (long)(timeout_ns % WH_NS_PER_S)};

	switch (state_of(stream)) {
	case BEGINS:
		(void)wait_for_beginning(stream, timeout_ns);
		return true;
	case FLOWS:
		if (!to_write && stream->channel.wraps && !stream->channel.drained)
			return true; /* there may be bytes that the socket does not tell of */
		poll.fd = stream->channel.fd;
		(void)ppoll(&poll, 1, &timeout, NULL);
		return true;
	case FAILED:
		break;
	}
	return true;
}

static void free_stream(struct wh_tcp_stream *stream)
{
	wh_tcp_channel_close(&stream->channel, stream->pid != getpid());
	pthread_cond_destroy(&stream->changed);
	pthread_mutex_destroy(&stream->lock);
	free(stream);
}

/* One that still begins is freed by the loop, when it has begun: the other side, when it takes it, finds that it is at its end. */
static void close_end(struct wh_stream *base)
{
	struct wh_tcp_stream *stream = of(base);
	bool begins;

	pthread_mutex_lock(&stream->lock);
	stream->closed = true;
	begins = stream->state == BEGINS;
	pthread_mutex_unlock(&stream->lock);
	if (!begins)
		free_stream(stream);
}

static const struct wh_stream_ops stream_ops = {
	.write = write_some,
	.read = read_some,
	.wait = wait_for,
	.close = close_end,
};

/* ---- the beginning: the loop --------------------------------------------------------------------------------------- */

/* NULL: no memory. */
static struct wh_tcp_stream *new_stream(enum state state)
{
	struct wh_tcp_stream *stream = calloc(1, sizeof(*stream));

	if (stream == NULL)
		return NULL;
	pthread_mutex_init(&stream->lock, NULL);
	wh_thread_condition_init(&stream->changed);
	stream->base.ops = &stream_ops;
	stream->channel = WH_TCP_NO_CHANNEL;
	stream->pid = getpid();
	stream->state = state;
	return stream;
}

/* [lock] */
static enum wh_tcp_io say_early(struct wh_tcp_stream *stream)
{
	while (stream->early_sent < stream->early_bytes) {
		const struct iovec part = {stream->early + stream->early_sent,
					   stream->early_bytes - stream->early_sent};
		size_t done = 0;
		enum wh_tcp_io io = wh_tcp_channel_write(&stream->channel, &part, 1, &done);

		if (io != WH_TCP_DONE)
			return io;
		stream->early_sent += (uint32_t)done;
	}
	return wh_tcp_channel_flush(&stream->channel);
}

/* From now on it is its owner's, or has none; unless it FLOWS, and what has been written already does not fit the socket. */
static void end_beginning(struct wh_tcp_wire *w, uint32_t i, enum state state)
{
	struct wh_tcp_stream *stream = w->streams[i];
	enum wh_tcp_io io = WH_TCP_DONE;
	bool closed;

	if (stream->channel.step != NULL) /* the stream's owner may close it when there is no shaker any more */
		wh_tcp_channel_close(&stream->channel, w->forked);
	if (w->forked) { /* a thread of the parent's may have the lock */
		w->streams[i] = NULL;
		return;
	}
	pthread_mutex_lock(&stream->lock);
	if (state == FLOWS)
		io = say_early(stream);
	if (io == WH_TCP_LATER) {
		pthread_mutex_unlock(&stream->lock);
		(void)wh_poll_watch(w->poll, EPOLL_CTL_MOD, stream->channel.fd, EPOLLIN | EPOLLOUT, WH_TCP_TO_STREAM,
				    i);
		return;
	}
	w->streams[i] = NULL;
	(void)epoll_ctl(w->poll->epoll, EPOLL_CTL_DEL, stream->channel.fd, NULL);
	stream->state = io == WH_TCP_DONE ? state : FAILED;
	closed = stream->closed;
	pthread_cond_broadcast(&stream->changed);
	pthread_mutex_unlock(&stream->lock);
	if (closed)
		free_stream(stream);
}

/* While this node works on what the other has said the other's time does not run. */
static void set_deadline(struct wh_tcp_wire *w, struct wh_tcp_stream *stream, bool has_spoken)
{
	uint64_t now = wh_env_now(w->env);

	if (stream->channel.step != NULL && stream->deadline_ns != UINT64_MAX) {
		stream->left_ns = stream->deadline_ns > now ? stream->deadline_ns - now : 0;
		stream->deadline_ns = UINT64_MAX;
	} else if (stream->channel.step == NULL && (has_spoken || stream->deadline_ns == UINT64_MAX)) {
		stream->deadline_ns = now + (has_spoken ? BEGIN_NS : stream->left_ns);
		wh_poll_alarm(w->poll, stream->deadline_ns - now);
	}
}

static enum wh_tcp_io shake(struct wh_tcp_wire *w, uint32_t i, struct wh_tcp_stream *stream)
{
	const struct wh_tcp_caller caller = {WH_TCP_TO_STREAM, i, .first = true};
	unsigned turns = stream->channel.turns;
	bool writes = true;
	enum wh_tcp_io io = stream->channel.step != NULL ? WH_TCP_DONE : wh_tcp_channel_connected(&stream->channel);

	if (io == WH_TCP_DONE)
		io = wh_tcp_shaker_shake(w->shaker, &stream->channel, &caller, &writes);
	set_deadline(w, stream, io == WH_TCP_DONE || stream->channel.turns != turns);
	if (io == WH_TCP_LATER && stream->channel.step == NULL)
		(void)wh_poll_watch(w->poll, EPOLL_CTL_MOD, stream->channel.fd, EPOLLIN | (writes ? EPOLLOUT : 0),
				    WH_TCP_TO_STREAM, i);
	return io;
}

static enum wh_tcp_io begin(struct wh_tcp_wire *w, uint32_t i, struct wh_tcp_stream *stream)
{
	if (!stream->shaken) {
		enum wh_tcp_io io = shake(w, i, stream);

		if (io != WH_TCP_DONE)
			return io;
		stream->shaken = true;
	}
	while (stream->greeted < stream->greeting_bytes) {
		const struct iovec part = {stream->greeting + stream->greeted,
					   stream->greeting_bytes - stream->greeted};
		size_t done = 0;
		enum wh_tcp_io io = wh_tcp_channel_write(&stream->channel, &part, 1, &done);

		if (io != WH_TCP_DONE)
			return io;
		stream->greeted += (uint32_t)done;
	}
	return WH_TCP_DONE;
}

static bool call(struct wh_tcp_wire *w, uint32_t i, struct wh_tcp_stream *stream)
{
	stream->calls++;
	if (wh_tcp_channel_connect(&stream->channel, &stream->address, &w->ground, stream->node) != 0)
		return false;
	if (!wh_poll_watch(w->poll, EPOLL_CTL_ADD, stream->channel.fd, EPOLLIN | EPOLLOUT, WH_TCP_TO_STREAM, i)) {
		wh_tcp_channel_close(&stream->channel, false);
		return false;
	}
	if (w->ground.tls != NULL)
		wh_tcp_channel_take_care(&stream->channel);
	return true;
}

void wh_tcp_stream_advance(struct wh_tcp_wire *w, uint32_t i)
{
	struct wh_tcp_stream *stream = w->streams[i];
	enum wh_tcp_io io;

	if (stream == NULL)
		return;
	io = begin(w, i, stream);
	if (io != WH_TCP_DONE && io != WH_TCP_LATER && !stream->shaken && stream->calls < CALLS_MAX &&
	    wh_tcp_channel_reason(&stream->channel)[0] ==
		    '\0') { /* hung up on, as one of many strangers, or a slow one */
		(void)epoll_ctl(w->poll->epoll, EPOLL_CTL_DEL, stream->channel.fd, NULL);
		wh_tcp_channel_close(&stream->channel, false);
		io = call(w, i, stream) ? WH_TCP_LATER : WH_TCP_BROKEN;
	}
	if (io != WH_TCP_LATER)
		end_beginning(w, i, io == WH_TCP_DONE ? FLOWS : FAILED);
}

static bool is_late(const struct wh_tcp_stream *stream, uint64_t now)
{
	return stream != NULL && stream->deadline_ns <= now;
}

void wh_tcp_stream_tick(struct wh_tcp_wire *w, uint64_t now)
{
	for (uint32_t i = 0; i < WH_TCP_STREAMS; i++) {
		if (is_late(w->streams[i], now))
			wh_tcp_stream_advance(w, i); /* it may be this node that was long away */
		if (is_late(w->streams[i], now))
			end_beginning(w, i, FAILED);
		if (w->streams[i] != NULL)
			wh_poll_alarm(w->poll, w->streams[i]->deadline_ns - now);
	}
}

void wh_tcp_stream_close_all(struct wh_tcp_wire *w)
{
	for (uint32_t i = 0; i < WH_TCP_STREAMS; i++)
		if (w->streams[i] != NULL)
			end_beginning(w, i, FAILED);
}

/* The place is free. */
static enum whorl_result open_in(struct wh_tcp_wire *w, uint32_t i, uint32_t node, const struct wh_opening *opening)
{
	struct wh_tcp_stream *stream = new_stream(BEGINS);

	if (stream == NULL)
		return WHORL_MEMORY;
	stream->greeting_bytes = (uint32_t)wh_message_put_opening(stream->greeting, opening);
	stream->deadline_ns = wh_env_now(w->env) + BEGIN_NS;
	stream->node = node;
	stream->address = w->hosts[node].address;
	if (!call(w, i, stream)) {
		free_stream(stream);
		return WHORL_SYSTEM;
	}
	w->streams[i] = stream;
	wh_poll_alarm(w->poll, BEGIN_NS);
	return WHORL_OK;
}

enum whorl_result wh_tcp_stream_open(struct wh_conn *c, const struct wh_opening *opening, struct wh_stream **out)
{
	struct wh_tcp_wire *w = wh_tcp_conn_of(c)->wire;
	enum whorl_result result;
	uint32_t i = 0;

	while (i < WH_TCP_STREAMS && w->streams[i] != NULL)
		i++;
	if (i == WH_TCP_STREAMS)
		return WHORL_AGAIN;
	result = open_in(w, i, c->node, opening);
	if (result == WHORL_OK)
		*out = &w->streams[i]->base;
	return result;
}

/* ---- the other end ------------------------------------------------------------------------------------------------- */

enum wh_wire_result wh_tcp_stream_take(struct wh_conn *c, struct wh_message *m, struct wh_stream **out)
{
	struct wh_tcp_conn *conn = wh_tcp_conn_of(c);
	struct wh_tcp_stream *stream;

	(void)m;
	if (conn->link != NULL) /* a peer's own connection is no stream */
		return WH_WIRE_BROKEN;
	stream = new_stream(FLOWS);
	if (stream == NULL)
		return WH_WIRE_LATER;
	(void)epoll_ctl(conn->wire->poll->epoll, EPOLL_CTL_DEL, conn->channel.fd, NULL);
	stream->channel = conn->channel;
	conn->channel = WH_TCP_NO_CHANNEL;
	*out = &stream->base;
	return WH_WIRE_DONE;
}
