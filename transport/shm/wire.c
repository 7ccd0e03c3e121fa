/* wire.c - connections of the session: sockets of the host, of which the kernel says which process is at the other end.
 *
 * The kernel is asked that before a byte is read, or said; another user's process is turned away, or not called. It also tells the end
 * of each process. So no answer is waited for with a clock: calls that are made again would pile up in the queue of a process that
 * is stopped, each with descriptors on their way.
 *
 * Nothing is believed of what comes: a message that has not exactly the size and the number of descriptors of its kind, or that was
 * cut, is garbage, and descriptors that came with it are closed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/shm/shm_int.h"

#define READS_AT_ONCE 8                   /* messages of one peer, then others have their turn */
#define ANSWER_BUFFER (2 * WH_ANSWER_MAX) /* of a socket: one message, and what the kernel counts as its own */

static struct wh_shm_wire *wire_of(struct wh_wire *w)
{
	return (struct wh_shm_wire *)w;
}

static struct wh_event_queue *log_of(const struct wh_shm_wire *w)
{
	return wh_session_events(w->session);
}

/* ---- the life of a connection ------------------------------------------------------------------------------------- */

static bool watch(struct wh_conn *c, bool on)
{
	const struct wh_shm_conn *conn = wh_shm_conn_of(c);

	return wh_poll_watch(conn->wire->poll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, conn->socket, EPOLLIN, WH_SHM_CONN,
			     c->slot);
}

/* Out of epoll by name, and an end for the other side too: a forked child may hold the same socket, which would keep
 * both alive. That child itself only closes. */
static void hang_up(const struct wh_shm_wire *w, int socket, bool forked)
{
	if (!forked) {
		(void)epoll_ctl(w->poll->epoll, EPOLL_CTL_DEL, socket, NULL);
		(void)shutdown(socket, SHUT_RDWR);
	}
	close(socket);
}

static void close_conn(struct wh_conn *c, bool forked)
{
	struct wh_shm_conn *conn = wh_shm_conn_of(c);

	hang_up(conn->wire, conn->socket, forked);
	if (conn->again)
		wh_shm_datagram_close_fds(&conn->last);
	wh_shm_proof_drop(conn);
	free(conn);
}

/* Before the first message there is nothing: the kernel has said all. NULL: no memory. */
static struct wh_shm_conn *new_conn(struct wh_shm_wire *w, int socket, pid_t pid)
{
	struct wh_shm_conn *conn = malloc(sizeof(*conn));

	if (conn == NULL)
		return NULL;
	*conn = (struct wh_shm_conn){.base = {.greeted = true, .source = (uint64_t)pid},
				     .wire = w,
				     .socket = socket,
				     .pid = pid,
				     .pidfd = -1};
	snprintf(conn->base.text, sizeof(conn->base.text), "pid %d", (int)pid);
	return conn;
}

static void hand_over(struct wh_conn *c, uint32_t lane, struct wh_message *m)
{
	(void)lane;
	(void)watch(c, false);
	for (size_t i = 0; i < WH_MESSAGE_FDS; i++) /* they stay with the datagram */
		m->fds[i] = -1;
	wh_shm_conn_of(c)->again = true;
}

static void take_over(struct wh_wire *wire, struct wh_conn *c)
{
	wh_shm_conn_of(c)->wire = wire_of(wire);
}

/* What it is sent fits, or waits in the kernel. */
static bool adopt(struct wh_conn *c)
{
	wh_shm_proof_ask(wh_shm_conn_of(c));
	return true;
}

/* ---- connecting --------------------------------------------------------------------------------------------------- */

static enum wh_wire_result explain(int error, char reason[WH_MESSAGE_REASON_BYTES])
{
	if (error == ECONNREFUSED)
		return WH_WIRE_NOBODY;
	if (error == EAGAIN) /* its queue is full */
		return WH_WIRE_LATER;
	snprintf(reason, WH_MESSAGE_REASON_BYTES, "%s", strerror(error));
	return WH_WIRE_BROKEN;
}

static enum wh_wire_result connect_to(struct wh_wire *wire, uint32_t node, struct wh_conn **out,
				      char reason[WH_MESSAGE_REASON_BYTES])
{
	struct wh_shm_wire *w = wire_of(wire);
	struct sockaddr_un name;
	socklen_t bytes = wh_shm_name(&name, w->user, w->group, node);
	struct wh_shm_conn *conn = NULL;
	struct ucred process;
	int s;

	if (w->unused < 0)
		w->unused = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	s = w->unused;
	if (s < 0 || connect(s, (const struct sockaddr *)&name, bytes) != 0)
		return explain(errno, reason);
	w->unused = -1;
	if (wh_shm_other_end(s, &process)) {
		if (process.uid != w->user) {
			wh_shm_name_explain(reason, w->group, node, process.pid, process.uid);
			close(s);
			return WH_WIRE_REFUSED;
		}
		conn = new_conn(w, s, process.pid);
	}
	if (conn == NULL) {
		close(s);
		return WH_WIRE_LATER;
	}
	wh_shm_proof_ask(conn);
	*out = &conn->base;
	return WH_WIRE_DONE;
}

void wh_shm_wire_tidy(struct wh_shm_wire *w)
{
	if (w->unused >= 0)
		close(w->unused);
	w->unused = -1;
}

static enum wh_wire_result accept_caller(struct wh_wire *wire, struct wh_conn **out)
{
	struct wh_shm_wire *w = wire_of(wire);
	int s = accept4(w->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred process = {.uid = (uid_t)-1};
	struct wh_shm_conn *conn;

	if (s < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
		return WH_WIRE_LATER;
	if (s < 0) {
		wh_event_queue_complain(log_of(w), WH_COMPLAINT_STARVED, "cannot accept a connection: %s",
					strerror(errno));
		return WH_WIRE_BROKEN;
	}
	if (!wh_shm_other_end(s, &process) || process.uid != w->user) {
		close(s);
		wh_event_queue_complain(log_of(w), WH_COMPLAINT_UNPROVEN, "turned away a process of user %" PRIu64,
					(uint64_t)process.uid);
		return WH_WIRE_REFUSED;
	}
	conn = new_conn(w, s, process.pid);
	if (conn == NULL) {
		close(s);
		wh_event_queue_complain(log_of(w), WH_COMPLAINT_STARVED, "no memory for a connection");
		return WH_WIRE_BROKEN;
	}
	*out = &conn->base;
	return WH_WIRE_DONE;
}

static void rest(struct wh_wire *wire, bool rests)
{
	const struct wh_shm_wire *w = wire_of(wire);

	(void)wh_poll_watch(w->poll, EPOLL_CTL_MOD, w->listener, rests ? 0 : EPOLLIN, WH_SHM_LISTENER, 0);
}

void wh_shm_wire_deafen(struct wh_shm_wire *w, bool forked)
{
	if (w->listener >= 0)
		hang_up(w, w->listener, forked);
	w->listener = -1;
}

/* The process that has the name of a node is alive, and any other that says it is that node is none, or was. */
static enum wh_wire_result holds_id(struct wh_conn *c, uint32_t node)
{
	const struct wh_shm_conn *conn = wh_shm_conn_of(c);
	uid_t user;
	pid_t holder = wh_shm_name_holder(conn->wire->user, conn->wire->group, node, &user);

	if (holder == conn->pid)
		return WH_WIRE_DONE;
	return holder == -1 ? WH_WIRE_LATER : WH_WIRE_REFUSED;
}

/* ---- messages ----------------------------------------------------------------------------------------------------- */

/* All waits in the kernel, which has no room that is one's own alone: what the transport says itself is said again later. */
static enum wh_wire_result send_message(struct wh_conn *c, const unsigned char *message, size_t bytes, const int *fds,
					size_t fd_count, enum wh_wire_room room)
{
	const struct iovec part = {(void *)(uintptr_t)message, bytes};

	(void)room;
	return wh_shm_datagram_send(wh_shm_conn_of(c)->socket, &part, 1, fds, fd_count);
}

static bool finish(struct wh_conn *c, const struct iovec *parts, size_t count)
{
	const struct wh_shm_conn *conn = wh_shm_conn_of(c);
	const int buffer = ANSWER_BUFFER;
	size_t bytes = 0;

	if (conn->older)
		return wh_shm_older_refuse(conn->socket, parts) != WH_WIRE_LATER;
	for (size_t i = 0; i < count; i++)
		bytes += parts[i].iov_len;
	if (bytes > WH_MESSAGE_MAX)
		(void)setsockopt(conn->socket, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
	return wh_shm_datagram_send(conn->socket, parts, count, NULL, 0) != WH_WIRE_LATER;
}

static size_t fds_of(uint8_t kind)
{
	switch (kind) {
	case WH_MESSAGE_HELLO: /* doorbell and status page */
		return 2;
	case WH_MESSAGE_OFFER:
	case WH_MESSAGE_STREAM:
	case WH_SHM_MAILBOX:
	case WH_SHM_GRANT:
		return 1;
	default:
		return 0;
	}
}

/* A hello or a question of another version is let through for its first fields: its sender is to be told why it is refused. */
static bool is_of_another_version(const struct wh_message *m)
{
	uint32_t version = WH_SHM_VERSION;

	if (m->head.kind == WH_MESSAGE_HELLO || m->head.kind == WH_MESSAGE_QUERY)
		(void)wh_message_take_query(&version, m->body); /* they begin alike */
	return version != WH_SHM_VERSION;
}

static bool is_sound(const struct wh_conn *c, const struct wh_shm_datagram *d, struct wh_message *m)
{
	if (d->count < WH_HEAD_BYTES || !wh_message_head_take(&m->head, d->bytes) || d->cut || d->fds_cut ||
	    d->count != WH_HEAD_BYTES + m->head.bytes)
		return false;
	if (c->node == WH_NO_NODE &&
	    m->head.kind == WH_MESSAGE_STREAM) /* a stream is opened by a peer, over its connection */
		return false;
	return d->fd_count == fds_of(m->head.kind) || is_of_another_version(m);
}

static enum wh_wire_result receive(struct wh_conn *c, struct wh_message *m)
{
	struct wh_shm_conn *conn = wh_shm_conn_of(c);
	struct wh_shm_datagram *d = &conn->last;
	enum wh_wire_result result;
	bool forsaken;

	c->more = m == NULL || c->reads == READS_AT_ONCE;
	if (c->more)
		return WH_WIRE_LATER;
	c->reads++;
	forsaken = conn->status != NULL && wh_shm_is_forsaken(conn->status); /* then what it had sent is there */
	result = conn->again ? WH_WIRE_DONE : wh_shm_datagram_receive(conn->socket, d);
	conn->again = false;
	if (result == WH_WIRE_LATER && forsaken)
		result = WH_WIRE_ENDED;
	if (result == WH_WIRE_ENDED && conn->status != NULL && wh_load_acquire(&conn->status->left) == 1)
		return WH_WIRE_LEFT; /* partner: leave(). No message, which a full queue would not take */
	if (result != WH_WIRE_DONE)
		return result;
	c->spoke = true;
	if (conn->doubted)
		wh_shm_proof_on_answer(conn, d->sender);
	conn->older = c->node == WH_NO_NODE && wh_shm_older_take(d);
	m->body = d->bytes + WH_HEAD_BYTES;
	if (is_sound(c, d, m)) {
		memcpy(m->fds, d->fds, sizeof(m->fds));
		return WH_WIRE_DONE;
	}
	if (d->fds_cut)
		wh_event_queue_complain(log_of(conn->wire), WH_COMPLAINT_STARVED,
					"%s sends more descriptors than this process has room for", c->text);
	wh_shm_datagram_close_fds(d);
	return WH_WIRE_BROKEN;
}

/* What was sent before is still received. */
static void leave(struct wh_conn *c)
{
	(void)shutdown(wh_shm_conn_of(c)->socket, SHUT_WR);
}

static void set_alarm(struct wh_wire *wire, uint64_t in_ns)
{
	wh_poll_alarm(wire_of(wire)->poll, in_ns);
}

const struct wh_wire_ops wh_shm_wire_ops = {
	.connect = connect_to,
	.accept = accept_caller,
	.rest = rest,
	.watch = watch,
	.holds_id = holds_id,
	.hand_over = hand_over,
	.take_over = take_over,
	.adopt = adopt,
	.send = send_message,
	.finish = finish,
	.receive = receive,
	.leave = leave,
	.close = close_conn,
	.stream_open = wh_shm_stream_open,
	.stream_take = wh_shm_stream_take,
	.alarm = set_alarm,
};
