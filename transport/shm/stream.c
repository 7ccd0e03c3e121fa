/* stream.c - streams: a pair of connected sockets, of which the peer is sent the other end.
 *
 * The kernel keeps order, bounds what is under way, and ends the stream with the process at either end. A stream belongs
 * to its holder: nothing here looks at the transport that it came from, which may be gone.
 */
#include "transport/shm/shm_int.h"

#include <errno.h>
#include <inttypes.h>
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

enum whorl_result wh_shm_stream_open(struct wh_transport *transport, uint32_t node, uint64_t tag,
				     struct wh_stream **out)
{
	struct wh_shm *t = wh_shm_of(transport);
	const struct wh_shm_opened opened = {.head = wh_shm_head(WH_SHM_STREAM), .tag = tag};
	const int buffer = BUFFER_BYTES;
	int ends[2], error;

	*out = NULL;
	if (node >= t->nodes || node == t->node)
		return WHORL_INVALID;
	if (t->peers[node].state != WH_SHM_MET)
		return WHORL_MEMBER_GONE;
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
	error = wh_shm_send(t->peers[node].socket, &opened, sizeof(opened), &ends[1], 1);
	close(ends[1]);
	if (error == 0)
		return WHORL_OK;
	close_end(*out);
	*out = NULL;
	return error == EPIPE || error == ECONNRESET ? WHORL_MEMBER_GONE : WHORL_AGAIN;
}

/* What can be read from as a stream, and cannot be anything that the peer has a hand on otherwise. */
static bool is_stream(int fd)
{
	int type = 0, domain = 0;
	socklen_t bytes = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_STREAM &&
	       getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 && domain == AF_UNIX;
}

bool wh_shm_stream_take(struct wh_shm *t, const struct wh_shm_peer *peer, struct wh_shm_packet *packet)
{
	struct wh_transport_event *event;
	struct wh_stream *stream;

	if (!is_stream(packet->fds[0]))
		return false;
	stream = new_stream(packet->fds[0]);
	if (stream == NULL) { /* the descriptor is closed with the packet, which ends the stream */
		wh_event_queue_complain(&t->event_queue, "no memory for a stream of node %" PRIu32, peer->node);
		return true;
	}
	packet->fds[0] = -1;
	event = wh_event_queue_event(&t->event_queue, WH_EVENT_STREAM, peer->node, peer->incarnation, "", 0);
	event->stream = stream;
	event->tag = packet->opened.tag;
	return true;
}
