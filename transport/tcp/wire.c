/* wire.c - connections of a session: connecting, accepting, messages, their end; and when they are flushed. See wire.h.
 *
 * A stranger has little: its first message is read to its end and not a byte further, as what follows belongs to the peer or the
 * stream that it becomes. When it is a peer's it gets the buffers for what comes and what leaves.
 */
#include "transport/tcp/tcp_int.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEEP_NS (10 * WH_NS_PER_US)       /* so long a patient push is kept */
#define LINGER_NS (WH_NS_PER_S / 5)       /* so long the last words of a leaving node may take */
#define ANSWER_BUFFER (4 * WH_ANSWER_MAX) /* of a socket: it, and what the kernel counts as its own */

/* ---- what leaves -------------------------------------------------------------------------------------------------- */

static void watch_write(struct wh_tcp_conn *conn, bool writes)
{
	conn->watches_write = writes;
	(void)wh_poll_watch(conn->wire->poll, EPOLL_CTL_MOD, conn->channel.fd, EPOLLIN | (writes ? EPOLLOUT : 0),
			    WH_TCP_FROM_CONN, conn->base.slot);
}

/* A full socket says when it has room again, and is left alone until then. */
static void flush_conn(struct wh_tcp_conn *conn)
{
	struct wh_tcp_wire *w = conn->wire;
	struct wh_tcp_out *out = &conn->link->out;

	if (conn->stage != WH_TCP_OPEN || out->blocked)
		return;
	do {
		wh_tcp_out_flush(conn);
	} while (!out->blocked && w->refill != NULL && w->refill(w, conn->base.node));
	if (out->blocked != conn->watches_write)
		watch_write(conn, out->blocked);
}

static void flush_conns(struct wh_tcp_wire *w, bool patient_ones)
{
	for (uint32_t node = 0; node < w->nodes && w->dirty_count > 0; node++) {
		struct wh_tcp_conn *conn = wh_tcp_wire_conn(w, node);

		if (conn == NULL || conn->link == NULL || !conn->link->dirty || (conn->link->patient && !patient_ones))
			continue;
		conn->link->dirty = false;
		w->dirty_count--;
		flush_conn(conn);
	}
}

void wh_tcp_wire_flush(struct wh_tcp_wire *w)
{
	w->gathers = false;
	w->kept_ns = 0;
	flush_conns(w, true);
}

void wh_tcp_mark(struct wh_tcp_conn *conn, bool patient)
{
	struct wh_tcp_link *link = conn->link;

	link->patient = patient && (!link->dirty || link->patient);
	conn->wire->dirty_count += !link->dirty;
	link->dirty = true;
}

void wh_tcp_dirty(struct wh_tcp_conn *conn)
{
	wh_tcp_mark(conn, false);
	if (!conn->wire->gathers)
		wh_tcp_wire_flush(conn->wire);
}

void wh_tcp_wire_flush_pass(struct wh_tcp_wire *w)
{
	uint64_t now;

	w->gathers = false;
	flush_conns(w, false);
	if (w->dirty_count == 0) {
		w->kept_ns = 0;
		return;
	}
	now = wh_env_now(w->env);
	if (w->kept_ns == 0)
		w->kept_ns = now;
	if (now - w->kept_ns >= KEEP_NS)
		wh_tcp_wire_flush(w);
}

/* The first with last words that have not left; NULL: none. */
static struct wh_tcp_conn *unsaid(const struct wh_tcp_wire *w)
{
	for (uint32_t node = 0; node < w->nodes; node++) {
		struct wh_tcp_conn *conn = wh_tcp_wire_conn(w, node);

		if (conn != NULL && conn->link != NULL && !conn->link->out.dead &&
		    (!wh_tcp_out_empty(&conn->link->out) || wh_tcp_channel_unsent(&conn->channel)))
			return conn;
	}
	return NULL;
}

void wh_tcp_wire_linger(struct wh_tcp_wire *w)
{
	uint64_t until = wh_env_now(w->env) + LINGER_NS;
	const struct wh_tcp_conn *conn;

	while ((conn = unsaid(w)) != NULL && wh_env_now(w->env) < until) {
		struct pollfd room = {.fd = conn->channel.fd, .events = POLLOUT};

		(void)poll(&room, 1, 20);
		for (uint32_t node = 0; node < w->nodes; node++)
			if (wh_tcp_wire_conn(w, node) != NULL && wh_tcp_wire_conn(w, node)->link != NULL)
				wh_tcp_out_flush(wh_tcp_wire_conn(w, node));
	}
}

/* ---- the life of a connection ------------------------------------------------------------------------------------- */

static bool adopt(struct wh_conn *c)
{
	struct wh_tcp_conn *conn = wh_tcp_conn_of(c);
	struct wh_tcp_link *link = calloc(1, sizeof(*link));

	if (link == NULL)
		return false;
	link->in.bytes = malloc(WH_TCP_IN_BYTES);
	link->out.messages = malloc(WH_TCP_MESSAGES_BYTES + WH_TCP_RESERVE_BYTES);
	link->out.table = malloc(WH_HEAD_BYTES + WH_TCP_TABLE_MAX);
	conn->link = link;
	return link->in.bytes != NULL && link->out.messages != NULL && link->out.table != NULL; /* else it is closed */
}

static void hold(struct wh_conn *c, bool on)
{
	const struct wh_tcp_conn *conn = wh_tcp_conn_of(c);

	wh_tcp_channel_hold(&conn->channel, on ? conn->wire->cut_ns : 0);
}

static void free_link(struct wh_tcp_wire *w, struct wh_tcp_link *link)
{
	if (link == NULL)
		return;
	w->dirty_count -= link->dirty;
	wh_tcp_queue_free(&link->out.queue);
	free(link->in.bytes);
	free(link->out.messages);
	free(link->out.table);
	free(link);
}

static void close_conn(struct wh_conn *c, bool forked)
{
	struct wh_tcp_conn *conn = wh_tcp_conn_of(c);

	if (conn->channel.fd >= 0 && !forked)
		(void)epoll_ctl(conn->wire->poll->epoll, EPOLL_CTL_DEL, conn->channel.fd, NULL);
	wh_tcp_channel_close(&conn->channel, forked);
	free_link(conn->wire, conn->link);
	free(conn);
}

static struct wh_tcp_conn *new_conn(struct wh_tcp_wire *w)
{
	struct wh_tcp_conn *conn = calloc(1, sizeof(*conn));

	if (conn == NULL)
		return NULL;
	conn->wire = w;
	conn->channel = WH_TCP_NO_CHANNEL;
	conn->base.proven = w->ground.key != NULL || w->ground.tls != NULL;
	return conn;
}

/* Its first message stays with it. */
static void hand_over(struct wh_conn *c, uint32_t lane, struct wh_message *m)
{
	(void)lane, (void)m;
	(void)epoll_ctl(wh_tcp_conn_of(c)->wire->poll->epoll, EPOLL_CTL_DEL, wh_tcp_conn_of(c)->channel.fd, NULL);
}

static void take_over(struct wh_wire *wire, struct wh_conn *c)
{
	wh_tcp_conn_of(c)->wire = wh_tcp_wire_of(wire);
}

static bool watch(struct wh_conn *c, bool on)
{
	struct wh_tcp_conn *conn = wh_tcp_conn_of(c);
	const struct wh_poll *poll = conn->wire->poll;

	if (!on)
		return epoll_ctl(poll->epoll, EPOLL_CTL_DEL, conn->channel.fd, NULL) == 0;
	conn->watches_write = c->called;
	return wh_poll_watch(poll, EPOLL_CTL_ADD, conn->channel.fd, EPOLLIN | (c->called ? EPOLLOUT : 0),
			     WH_TCP_FROM_CONN, c->slot);
}

/* ---- connecting --------------------------------------------------------------------------------------------------- */

/* A node may be there, or none is. */
static enum wh_wire_result explain(const struct wh_tcp_host *host, int error, char reason[WH_MESSAGE_REASON_BYTES])
{
	if (error == ECONNREFUSED)
		return WH_WIRE_NOBODY;
	if (error != ECONNRESET) /* it was just ending */
		snprintf(reason, WH_MESSAGE_REASON_BYTES, "at %s: %s", host->name, strerror(error));
	return WH_WIRE_BROKEN;
}

static enum wh_wire_result connect_to(struct wh_wire *wire, uint32_t node, struct wh_conn **out,
				      char reason[WH_MESSAGE_REASON_BYTES])
{
	struct wh_tcp_wire *w = wh_tcp_wire_of(wire);
	const struct wh_tcp_host *host = &w->hosts[node];
	struct wh_tcp_conn *conn;
	int error;

	if (host->address.bytes == 0)
		return WH_WIRE_NOBODY;
	conn = new_conn(w);
	if (conn == NULL || !adopt(&conn->base)) {
		if (conn != NULL)
			close_conn(&conn->base, false);
		return WH_WIRE_LATER;
	}
	error = wh_tcp_channel_connect(&conn->channel, &host->address, &w->ground, node);
	if (error != 0) {
		close_conn(&conn->base, false);
		return explain(host, error, reason);
	}
	snprintf(conn->base.text, sizeof(conn->base.text), "%s", host->name);
	*out = &conn->base;
	return WH_WIRE_DONE;
}

static enum wh_wire_result cannot_accept(const struct wh_tcp_wire *w, int error)
{
	wh_event_queue_complain(wh_session_events(w->session), WH_COMPLAINT_STARVED,
				"cannot accept a connection: error %d", error);
	return WH_WIRE_BROKEN;
}

static enum wh_wire_result accept_caller(struct wh_wire *wire, struct wh_conn **out)
{
	struct wh_tcp_wire *w = wh_tcp_wire_of(wire);
	struct wh_tcp_address from = {.bytes = sizeof(from.at)};
	int fd = accept4(w->listener, (struct sockaddr *)&from.at, &from.bytes, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct wh_tcp_conn *conn;

	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
		return cannot_accept(w, errno);
	if (fd < 0)
		return WH_WIRE_LATER;
	conn = new_conn(w);
	if (conn == NULL) {
		close(fd);
		return cannot_accept(w, ENOMEM);
	}
	if (!wh_tcp_channel_accept(&conn->channel, fd, &w->ground)) {
		free(conn);
		return cannot_accept(w, ENOMEM);
	}
	conn->stage = WH_TCP_SHAKING;
	conn->base.source = wh_tcp_address_source(&from);
	for (uint32_t node = 0; node < w->nodes; node++)
		conn->base.configured =
			conn->base.configured || (w->hosts[node].address.bytes > 0 &&
						  wh_tcp_address_source(&w->hosts[node].address) == conn->base.source);
	(void)wh_tcp_channel_whence(&conn->channel, conn->base.text, sizeof(conn->base.text));
	*out = &conn->base;
	return WH_WIRE_DONE;
}

static void rest(struct wh_wire *wire, bool rests)
{
	const struct wh_tcp_wire *w = wh_tcp_wire_of(wire);

	(void)wh_poll_watch(w->poll, EPOLL_CTL_MOD, w->listener, rests ? 0 : EPOLLIN, WH_TCP_LISTENER, 0);
}

/* ---- before the first message ------------------------------------------------------------------------------------- */

static enum wh_complaint fault_of(const struct wh_tcp_channel *channel)
{
	switch (wh_tcp_channel_fault(channel)) {
	case WH_SECURE_FOREIGN:
		return WH_COMPLAINT_FOREIGN;
	case WH_SECURE_GARBLED:
		return WH_COMPLAINT_GARBLED;
	case WH_SECURE_TURNED_DOWN:
		return WH_COMPLAINT_REFUSED;
	case WH_SECURE_STARVED:
		return WH_COMPLAINT_STARVED;
	case WH_SECURE_UNPROVEN:
	case WH_SECURE_OVER: /* an end that was proven is asked for no fault here */
		break;
	}
	return WH_COMPLAINT_UNPROVEN;
}

static enum wh_tcp_io shake_on(struct wh_tcp_conn *conn)
{
	struct wh_conn *c = &conn->base;
	const struct wh_tcp_caller caller = {WH_TCP_FROM_CONN, c->slot, .first = c->called || c->configured};
	bool writes;
	enum wh_tcp_io io = wh_tcp_shaker_shake(conn->wire->shaker, &conn->channel, &caller, &writes);

	if (conn->channel.step == NULL)
		c->working_ns = 0;
	else if (c->working_ns == 0)
		c->working_ns = wh_env_now(conn->wire->env);
	if (conn->channel.step == NULL && (io == WH_TCP_LATER || io == WH_TCP_DONE))
		watch_write(conn, writes);
	return io;
}

static enum wh_wire_result shake(struct wh_tcp_conn *conn, char reason[WH_MESSAGE_REASON_BYTES])
{
	unsigned turns = conn->channel.turns;
	enum wh_tcp_io io = shake_on(conn);

	if (conn->channel.turns != turns) {
		conn->base.words++;
		conn->base.spoke = true;
	}
	switch (io) {
	case WH_TCP_DONE:
		conn->stage = WH_TCP_OPEN;
		if (conn->link != NULL)
			wh_tcp_dirty(conn); /* my hello */
		return WH_WIRE_DONE;
	case WH_TCP_LATER:
		return WH_WIRE_LATER;
	case WH_TCP_ENDED:
	case WH_TCP_BROKEN:
		break;
	}
	snprintf(reason, WH_MESSAGE_REASON_BYTES, "%s", wh_tcp_channel_reason(&conn->channel));
	conn->base.fault = fault_of(&conn->channel);
	return reason[0] != '\0' ? WH_WIRE_REFUSED : WH_WIRE_ENDED;
}

static enum wh_wire_result greet(struct wh_conn *c, char reason[WH_MESSAGE_REASON_BYTES])
{
	struct wh_tcp_conn *conn = wh_tcp_conn_of(c);

	if (conn->stage == WH_TCP_CONNECTING) {
		enum wh_tcp_io io = wh_tcp_channel_connected(&conn->channel);

		if (io == WH_TCP_LATER)
			return WH_WIRE_LATER;
		if (io != WH_TCP_DONE)
			return explain(&conn->wire->hosts[c->node], errno, reason);
		conn->stage = WH_TCP_SHAKING;
		c->words++;
		(void)wh_tcp_channel_whence(&conn->channel, c->text, sizeof(c->text));
	}
	return conn->stage == WH_TCP_OPEN ? WH_WIRE_DONE : shake(conn, reason);
}

static bool admits(const struct wh_conn *c, uint32_t node, uint64_t incarnation, char reason[WH_MESSAGE_REASON_BYTES])
{
	_Static_assert(WH_MESSAGE_REASON_BYTES >= WH_SECURE_REASON_BYTES, "it fits");
	return wh_tcp_channel_may_be(&((const struct wh_tcp_conn *)c)->channel, node, incarnation, reason);
}

/* ---- messages ----------------------------------------------------------------------------------------------------- */

static enum wh_wire_result send_message(struct wh_conn *c, const unsigned char *message, size_t bytes, const int *fds,
					size_t fd_count, enum wh_wire_room room)
{
	struct wh_tcp_conn *conn = wh_tcp_conn_of(c);

	(void)fds, (void)fd_count;
	if (conn->link->out.dead)
		return WH_WIRE_ENDED;
	if (!wh_tcp_out_message(&conn->link->out, message, bytes, room))
		return WH_WIRE_LATER;
	wh_tcp_dirty(conn);
	return WH_WIRE_DONE;
}

static bool finish_stranger(struct wh_tcp_conn *conn, const struct iovec *parts, size_t count)
{
	const int buffer = ANSWER_BUFFER;
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += parts[i].iov_len;
	if (bytes > WH_MESSAGE_MAX)
		(void)setsockopt(conn->channel.fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
	return wh_tcp_channel_write_last(&conn->channel, parts, count, bytes);
}

static bool finish(struct wh_conn *c, const struct iovec *parts, size_t count)
{
	struct wh_tcp_conn *conn = wh_tcp_conn_of(c);
	bool whole = true;

	if (conn->link == NULL)
		return finish_stranger(conn, parts, count);
	for (size_t i = 0; i < count && whole; i++)
		whole = wh_tcp_out_message(&conn->link->out, parts[i].iov_base, parts[i].iov_len, WH_WIRE_OWN);
	if (whole && conn->stage == WH_TCP_OPEN)
		wh_tcp_out_flush(conn);
	return whole;
}

/* How many bytes its first message has, as far as that is known. 0: it is none that a stranger may send. */
static uint32_t wanted_of(const struct wh_tcp_conn *conn, struct wh_message_head *head)
{
	if (conn->first_count < WH_HEAD_BYTES)
		return WH_HEAD_BYTES;
	if (!wh_message_head_take(head, conn->first) || head->bytes > WH_BODY_MAX || head->kind == WH_MESSAGE_PUSH)
		return 0;
	return WH_HEAD_BYTES + head->bytes;
}

static enum wh_wire_result receive_first(struct wh_tcp_conn *conn, struct wh_message *m)
{
	uint32_t wanted;

	while ((wanted = wanted_of(conn, &m->head)) > conn->first_count) {
		struct iovec part = {conn->first + conn->first_count, wanted - conn->first_count};
		size_t done = 0;
		enum wh_tcp_io io = wh_tcp_channel_read(&conn->channel, &part, 1, &done);

		if (io != WH_TCP_DONE)
			return io == WH_TCP_LATER ? WH_WIRE_LATER : WH_WIRE_ENDED;
		conn->first_count += (uint32_t)done;
		conn->base.spoke = true;
	}
	m->body = conn->first + WH_HEAD_BYTES;
	return wanted == 0 ? WH_WIRE_BROKEN : WH_WIRE_DONE;
}

static enum wh_wire_result receive(struct wh_conn *c, struct wh_message *m)
{
	struct wh_tcp_conn *conn = wh_tcp_conn_of(c);

	if (conn->link != NULL)
		return wh_tcp_in_receive(conn, m);
	return m != NULL ? receive_first(conn, m) : WH_WIRE_LATER;
}

static void leave(struct wh_conn *c)
{
	struct wh_tcp_conn *conn = wh_tcp_conn_of(c);

	conn->link->out.leaving = true;
	wh_tcp_out_flush(conn);
}

static void set_alarm(struct wh_wire *wire, uint64_t in_ns)
{
	wh_poll_alarm(wh_tcp_wire_of(wire)->poll, in_ns);
}

const struct wh_wire_ops wh_tcp_wire_ops = {
	.answer_ns = WH_NS_PER_S,
	.connect = connect_to,
	.accept = accept_caller,
	.rest = rest,
	.watch = watch,
	.greet = greet,
	.admits = admits,
	.hand_over = hand_over,
	.take_over = take_over,
	.adopt = adopt,
	.hold = hold,
	.send = send_message,
	.finish = finish,
	.receive = receive,
	.leave = leave,
	.close = close_conn,
	.stream_open = wh_tcp_stream_open,
	.stream_take = wh_tcp_stream_take,
	.look_up = wh_tcp_names_ask,
	.alarm = set_alarm,
};

/* ---- what comes --------------------------------------------------------------------------------------------------- */

static size_t from_conn(struct wh_tcp_wire *w, uint32_t slot, uint32_t events)
{
	struct wh_tcp_conn *conn = wh_tcp_conn_of(wh_session_conn(w->session, slot));
	size_t done;

	if (conn == NULL)
		return 0;
	if (conn->link != NULL && conn->base.greeted) {
		if ((events & EPOLLOUT) != 0) {
			conn->link->out.blocked = false;
			flush_conn(conn);
		}
		if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0)
			return 0;
	}
	w->work = 0;
	done = wh_session_on_ready(w->session, slot);
	return done + w->work;
}

/* Where there is no room for events what is done waits, as it does in sockets. */
static size_t from_shaker(struct wh_tcp_wire *w)
{
	uint32_t source, index;
	size_t done = 0;

	wh_tcp_shaker_hush(w->shaker);
	for (int n = 0;
	     n < WH_POLL_AT_ONCE && !wh_session_is_full(w->session) && wh_tcp_shaker_done(w->shaker, &source, &index);
	     n++) {
		if (source == WH_TCP_FROM_CONN)
			done += from_conn(w, index, EPOLLIN);
		else
			wh_tcp_stream_advance(w, index);
	}
	if (wh_tcp_shaker_done(w->shaker, &source, &index))
		wh_tcp_shaker_ring(w->shaker);
	return done;
}

size_t wh_tcp_wire_dispatch(struct wh_tcp_wire *w, const struct epoll_event *event)
{
	switch (wh_poll_source(event)) {
	case WH_TCP_LISTENER:
		wh_session_on_caller(w->session);
		return 1;
	case WH_TCP_FROM_CONN:
		return from_conn(w, wh_poll_index(event), event->events);
	case WH_TCP_TO_STREAM:
		wh_tcp_stream_advance(w, wh_poll_index(event));
		return 1;
	case WH_TCP_SHAKEN:
		return from_shaker(w);
	default:
		return 0;
	}
}

bool wh_tcp_wire_holds(const struct wh_tcp_wire *w)
{
	return w->held_count > 0 && !wh_session_is_full(w->session);
}

size_t wh_tcp_wire_take_held(struct wh_tcp_wire *w)
{
	size_t done = 0;

	if (!wh_tcp_wire_holds(w))
		return 0;
	w->held_count = 0;
	for (uint32_t node = 0; node < w->nodes; node++) {
		const struct wh_tcp_conn *conn = wh_tcp_wire_conn(w, node);

		if (conn == NULL || conn->link == NULL || !conn->link->in.held)
			continue;
		if (wh_session_is_full(w->session))
			w->held_count++;
		else
			done += from_conn(w, conn->base.slot, EPOLLIN);
	}
	return done;
}

void wh_tcp_wire_tick(struct wh_tcp_wire *w)
{
	wh_tcp_names_tick(w);
	wh_tcp_stream_tick(w, wh_env_now(w->env));
}

/* ---- open and close ----------------------------------------------------------------------------------------------- */

/* My own must be known. That of another may come to be known later. What is wrong is the file's mistake. */
static enum whorl_result find_host(struct wh_tcp_wire *w, uint32_t node, const char *given, struct wh_error *err)
{
	char *name = w->names + (size_t)node * WH_TCP_ADDRESS_BYTES;
	struct wh_tcp_host *host = &w->hosts[node];
	enum whorl_result result;

	if (given != NULL && given[0] != '\0')
		snprintf(name, WH_TCP_ADDRESS_BYTES, "%s", given);
	else
		wh_tcp_address_default(w->group, node, name);
	host->name = name;
	result = wh_tcp_address_find(name, &host->address, err);
	if (result == WHORL_OK && !wh_tcp_address_is_loopback(&host->address) && !w->use.trusts_network &&
	    w->ground.key == NULL && w->ground.tls == NULL)
		return wh_error_set(err, WHORL_CONFIG,
				    "node %" PRIu32
				    " is at %s: without a cluster key (key_file) or TLS only addresses of "
				    "this host's loopback interface are allowed, as anybody could come in",
				    node, name);
	if (result == WHORL_NOT_FOUND && node != w->node) {
		wh_error_clear(err);
		result = WHORL_OK;
	}
	if (result == WHORL_OK)
		return WHORL_OK;
	wh_error_prefix(err, "node %" PRIu32, node);
	if (result == WHORL_NOT_FOUND || result == WHORL_INVALID)
		err->code = WHORL_CONFIG;
	return err->code;
}

static enum whorl_result find_hosts(struct wh_tcp_wire *w, const char *const *addresses, struct wh_error *err)
{
	enum whorl_result result = WHORL_OK;

	w->names = calloc(w->nodes, WH_TCP_ADDRESS_BYTES);
	w->lookups = wh_tcp_names_new();
	if (w->names == NULL || w->lookups == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for %" PRIu32 " addresses", w->nodes);
	for (uint32_t node = 0; node < w->nodes && result == WHORL_OK; node++)
		result = find_host(w, node, addresses != NULL ? addresses[node] : NULL, err);
	return result;
}

enum whorl_result wh_tcp_wire_listen(struct wh_tcp_wire *w, struct wh_error *err)
{
	const struct wh_tcp_host *me = &w->hosts[w->node];
	const int on = 1;

	w->listener = socket(me->address.at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (w->listener < 0)
		return wh_error_system(err, errno, "socket");
	(void)setsockopt(w->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)); /* after a life that ended just now */
	if (bind(w->listener, (const struct sockaddr *)&me->address.at, me->address.bytes) != 0 ||
	    listen(w->listener, SOMAXCONN) != 0) {
		if (errno == EADDRINUSE)
			return wh_error_set(err, WHORL_REFUSED,
					    "node %" PRIu32 " of group %s is already running, or something else at %s",
					    w->node, w->group, me->name);
		return wh_error_system(err, errno, "listen at %s, the address of node %" PRIu32, me->name, w->node);
	}
	if (!wh_poll_watch(w->poll, EPOLL_CTL_ADD, w->listener, EPOLLIN, WH_TCP_LISTENER, 0))
		return wh_error_system(err, errno, "epoll_ctl");
	return WHORL_OK;
}

static void init(struct wh_tcp_wire *w, const struct wh_transport_config *config, const struct wh_tcp_wire_use *use,
		 struct wh_poll *poll)
{
	w->use = *use;
	w->env = config->env;
	w->poll = poll;
	w->node = config->node;
	w->nodes = config->nodes;
	w->cut_ns = config->cut_ns;
	w->listener = -1;
	snprintf(w->group, sizeof(w->group), "%s", config->group);
	w->ground = (struct wh_secure_ground){.key = wh_secure_key_hold(config->key),
					      .tls = wh_secure_tls_hold(config->tls),
					      .group = w->group,
					      .version = (uint16_t)use->version,
					      .node = w->node,
					      .incarnation = config->incarnation};
}

enum whorl_result wh_tcp_wire_open(const struct wh_transport_config *config, const struct wh_tcp_wire_use *use,
				   struct wh_poll *poll, struct wh_tcp_wire **out, struct wh_error *err)
{
	struct wh_tcp_wire *w = calloc(1, sizeof(*w) + config->nodes * sizeof(w->hosts[0]));
	enum whorl_result result;

	*out = NULL;
	if (w == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for %" PRIu32 " addresses", config->nodes);
	init(w, config, use, poll);
	result = find_hosts(w, config->addresses, err);
	if (result == WHORL_OK && w->ground.tls != NULL)
		result = wh_tcp_shaker_new(w->env, poll, &w->shaker, err);
	if (result == WHORL_OK)
		*out = w;
	else
		wh_tcp_wire_close(w, false);
	return result;
}

void wh_tcp_wire_attach(struct wh_tcp_wire *w, struct wh_session *session)
{
	w->session = session;
}

void wh_tcp_wire_deafen(struct wh_tcp_wire *w)
{
	struct wh_tcp_channel listener = {.fd = w->listener};

	if (w->listener >= 0 && !w->forked)
		(void)epoll_ctl(w->poll->epoll, EPOLL_CTL_DEL, w->listener, NULL);
	wh_tcp_channel_close(&listener, w->forked);
	w->listener = -1;
}

bool wh_tcp_wire_address(const struct wh_tcp_wire *w, uint32_t node, struct sockaddr_storage *out)
{
	*out = w->hosts[node].address.at;
	return w->hosts[node].address.bytes > 0;
}

struct wh_tcp_wire_copy *wh_tcp_wire_copy(const struct wh_tcp_wire *w)
{
	struct wh_tcp_wire_copy *copy = calloc(1, sizeof(*copy) + w->nodes * sizeof(copy->addresses[0]));

	if (copy == NULL)
		return NULL;
	copy->config = (struct wh_transport_config){.env = w->env,
						    .group = w->group,
						    .node = w->node,
						    .nodes = w->nodes,
						    .incarnation = w->ground.incarnation,
						    .addresses = copy->addresses,
						    .key = w->ground.key,
						    .tls = w->ground.tls,
						    .cut_ns = w->cut_ns};
	for (uint32_t node = 0; node < w->nodes; node++)
		copy->addresses[node] = w->hosts[node].name;
	return copy;
}

const char *wh_tcp_wire_name(const struct wh_tcp_wire *w, uint32_t node)
{
	return w->hosts[node].name;
}

void wh_tcp_wire_close(struct wh_tcp_wire *w, bool forked)
{
	if (w == NULL)
		return;
	w->forked = forked;
	wh_tcp_wire_deafen(w);
	wh_tcp_stream_close_all(w);
	wh_tcp_shaker_free(w->shaker);
	wh_secure_key_free(w->ground.key);
	wh_secure_tls_free(w->ground.tls);
	wh_tcp_names_free(w->lookups);
	free(w->names);
	free(w);
}
