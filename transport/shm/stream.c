/* stream.c - streams: a pair of connected sockets, of which the peer is sent the other end.
 *
 * The kernel keeps order, bounds what is under way, and ends the stream with the process at either end. A stream belongs
 * to its holder: nothing here looks at the transport that it came from, which may be gone.
 */
#include "transport/shm/shm_int.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BUFFER_BYTES                                                                                                   \
	(1 << 20) /* of each stream, if the system allows so much: few switches, and it stays in the cache */

struct stream {
	struct wh_stream base;
	int fd;
	pid_t pid; /* its owner: not a forked child */
};

static ptrdiff_t result_of(ssize_t done)
{
	if (done > 0)
		return done;
	return done < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) ? 0 : -1;
}

static ptrdiff_t write_some(struct wh_stream *base, const void *bytes, size_t count)
{
	const struct stream *stream = (const struct stream *)base;
	ssize_t done;

	if (count == 0)
		return 0;
	do {
		done = send(stream->fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (done < 0 && errno == EINTR);
	return result_of(done);
}

static ptrdiff_t read_some(struct wh_stream *base, void *bytes, size_t count)
{
	const struct stream *stream = (const struct stream *)base;
	ssize_t done;

	if (count == 0)
		return 0;
	do {
		done = recv(stream->fd, bytes, count, MSG_DONTWAIT);
	} while (done < 0 && errno == EINTR);
	return result_of(done);
}

static bool wait_for(struct wh_stream *base, bool to_write, uint64_t timeout_ns)
{
	const struct stream *stream = (const struct stream *)base;
	struct pollfd poll = {.fd = stream->fd, .events = to_write ? POLLOUT : POLLIN};
	const struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / WH_NS_PER_S),
					 .tv_nsec = (long)(timeout_ns % WH_NS_PER_S)};

	(void)ppoll(&poll, 1, &timeout, NULL);
	return true;
}

/* Ended by name, as a forked child may hold the same socket, which would keep it alive; that child itself only closes. */
static void close_end(struct wh_stream *base)
{
	struct stream *stream = (struct stream *)base;

	if (stream->pid == getpid())
		(void)shutdown(stream->fd, SHUT_RDWR);
	close(stream->fd);
	free(stream);
}

static const struct wh_stream_ops stream_ops = {
	.write = write_some,
	.read = read_some,
	.wait = wait_for,
	.close = close_end,
};

/* NULL: no memory. */
static struct wh_stream *new_stream(int fd)
{
	struct stream *stream = malloc(sizeof(*stream));

	if (stream == NULL)
		return NULL;
	*stream = (struct stream){.base.ops = &stream_ops, .fd = fd, .pid = getpid()};
	return &stream->base;
}

enum whorl_result wh_shm_stream_open(struct wh_conn *c, const struct wh_opening *opening, struct wh_stream **out)
{
	unsigned char message[WH_HEAD_BYTES + WH_OPENING_BYTES];
	const int buffer = BUFFER_BYTES;
	enum wh_wire_result result;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
		return WHORL_SYSTEM;
	(void)setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer)); /* a wish */
	(void)shutdown(ends[0], SHUT_RD);                                          /* bytes go one way */
	*out = new_stream(ends[0]);
	if (*out == NULL) {
		close(ends[0]);
		close(ends[1]);
		return WHORL_MEMORY;
	}
	result = wh_shm_wire_ops.send(c, message, wh_message_put_opening(message, opening), &ends[1], 1, WH_WIRE_USER);
	close(ends[1]);
	if (result == WH_WIRE_DONE)
		return WHORL_OK;
	close_end(*out);
	*out = NULL;
	return result == WH_WIRE_ENDED ? WHORL_MEMBER_GONE : WHORL_AGAIN;
}

/* What can be read from as a stream, and cannot be anything that the peer has a hand on otherwise. */
static bool is_stream(int fd)
{
	int type = 0, domain = 0;
	socklen_t bytes = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_STREAM &&
	       getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 && domain == AF_UNIX;
}

enum wh_wire_result wh_shm_stream_take(struct wh_conn *c, struct wh_message *m, struct wh_stream **out)
{
	(void)c;
	if (!is_stream(m->fds[0]))
		return WH_WIRE_BROKEN;
	*out = new_stream(m->fds[0]);
	if (*out == NULL)
		return WH_WIRE_LATER; /* the descriptor is closed with the message, which ends the stream */
	m->fds[0] = -1;
	return WH_WIRE_DONE;
}
