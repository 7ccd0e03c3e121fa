/* query.c - a process that is no node asks one a question, and gets one answer.
 *
 * They come by TCP to the node's address: librdmacm has port numbers of its own, so the same one is free there, and a visitor
 * needs no RDMA device. A visitor has one of a few places for a second.
 */
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "transport/verbs/verbs_int.h"

#define LISTENER_RESTS_NS (20 * WH_NS_PER_MS)
#define AGAIN_MS 2 /* at first, then twice as long each time, ... */
#define AGAIN_MS_MAX 64

/* ---- the node ----------------------------------------------------------------------------------------------------- */

enum whorl_result wh_verbs_query_open(struct wh_verbs *t, const struct sockaddr *address, socklen_t bytes,
				      struct wh_error *err)
{
	const int one = 1;

	t->query_listener = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (t->query_listener < 0)
		return wh_error_system(err, errno, "socket");
	if (address->sa_family == AF_INET)
		bytes = sizeof(struct sockaddr_in);
	else if (address->sa_family == AF_INET6)
		bytes = sizeof(struct sockaddr_in6);
	(void)setsockopt(t->query_listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(t->query_listener, address, bytes) != 0 || listen(t->query_listener, WH_VERBS_STRANGERS) != 0)
		return wh_error_system(err, errno, "cannot listen for queries");
	if (!wh_verbs_watch(t, t->query_listener, WH_VERBS_LISTENER, 0, EPOLLIN))
		return wh_error_system(err, errno, "epoll_ctl");
	return WHORL_OK;
}

/* A forked child may have it as well, and then it would stay in epoll; the child itself shares that with its parent. */
static void close_socket(const struct wh_verbs *t, int *fd)
{
	if (*fd >= 0 && !t->forked)
		(void)epoll_ctl(t->epoll, EPOLL_CTL_DEL, *fd, NULL);
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void hang_up(const struct wh_verbs *t, struct wh_verbs_stranger *stranger)
{
	close_socket(t, &stranger->socket);
	stranger->query = 0;
	free(stranger->answer);
	stranger->answer = NULL;
}

static uint32_t place_for_stranger(struct wh_verbs *t)
{
	uint32_t oldest = 0;

	for (uint32_t i = 0; i < WH_VERBS_STRANGERS; i++) {
		if (t->strangers[i].socket < 0)
			return i;
		if (t->strangers[i].deadline_ns < t->strangers[oldest].deadline_ns)
			oldest = i;
	}
	hang_up(t, &t->strangers[oldest]);
	return oldest;
}

/* A visitor that waits there is not taken from the queue for want of descriptors or memory: looked at again at once it would
 * wait yet. */
static void rest(struct wh_verbs *t)
{
	t->query_listener_rests = epoll_ctl(t->epoll, EPOLL_CTL_MOD, t->query_listener, &(struct epoll_event){0}) == 0;
	wh_dial_timer(&t->redial, LISTENER_RESTS_NS);
}

void wh_verbs_query_accept(struct wh_verbs *t)
{
	int s = accept4(t->query_listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	uint32_t i;

	if (s < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
		wh_event_queue_complain(&t->event_queue, "cannot accept a query: %s", strerror(errno));
		rest(t);
	}
	if (s < 0)
		return;
	i = place_for_stranger(t);
	t->strangers[i] =
		(struct wh_verbs_stranger){.socket = s, .deadline_ns = wh_env_now(t->env) + WH_VERBS_STRANGER_NS};
	wh_dial_timer(&t->redial, WH_VERBS_STRANGER_NS);
	if (!wh_verbs_watch(t, s, WH_VERBS_STRANGER, i, EPOLLIN))
		hang_up(t, &t->strangers[i]);
}

/* The whole question is there. */
static void take_question(struct wh_verbs *t, struct wh_verbs_stranger *stranger)
{
	struct wh_transport_event *event;

	stranger->query = ++t->queries; /* no number twice: an answer never gets to another */
	stranger->deadline_ns = wh_env_now(t->env) + WH_VERBS_STRANGER_NS;
	event = wh_event_queue_event(&t->event_queue, WH_EVENT_QUERY, t->node, 0, stranger->question.bytes,
				     stranger->question.head.bytes);
	event->query = stranger->query;
}

static void on_more(struct wh_verbs *t, struct wh_verbs_stranger *stranger)
{
	const struct wh_verbs_question *head = &stranger->question.head;
	size_t whole = sizeof(*head);
	ssize_t n;

	for (;;) {
		if (stranger->got >= sizeof(*head)) {
			if (head->magic != WH_VERBS_MAGIC || head->version != WH_VERBS_VERSION ||
			    head->bytes > WH_CONTROL_MAX) {
				hang_up(t, stranger);
				return;
			}
			whole = sizeof(*head) + head->bytes;
			if (stranger->got == whole) {
				take_question(t, stranger);
				return;
			}
		}
		n = recv(stranger->socket, (unsigned char *)&stranger->question + stranger->got, whole - stranger->got,
			 0);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			hang_up(t, stranger);
			return;
		}
		stranger->got += (size_t)n;
	}
}

static void give_more(const struct wh_verbs *t, struct wh_verbs_stranger *stranger)
{
	ssize_t n;

	while (stranger->sent < stranger->answer_bytes) {
		n = send(stranger->socket, stranger->answer + stranger->sent, stranger->answer_bytes - stranger->sent,
			 MSG_NOSIGNAL);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0)
			break;
		stranger->sent += (size_t)n;
	}
	hang_up(t, stranger); /* what has been sent can still be read */
}

void wh_verbs_query_on_message(struct wh_verbs *t, uint32_t i)
{
	struct wh_verbs_stranger *stranger = &t->strangers[i];
	char byte;

	if (stranger->socket < 0)
		return;
	if (stranger->answer != NULL)
		give_more(t, stranger);
	else if (stranger->query == 0)
		on_more(t, stranger);
	else if (recv(stranger->socket, &byte, 1, 0) >= 0) /* it has gone, or talks on */
		hang_up(t, stranger);
}

void wh_verbs_query_tick(struct wh_verbs *t, uint64_t now)
{
	if (t->query_listener_rests)
		t->query_listener_rests = !wh_verbs_watch(t, t->query_listener, WH_VERBS_LISTENER, 0, EPOLLIN);
	if (t->query_listener_rests)
		wh_dial_timer(&t->redial, LISTENER_RESTS_NS);
	for (uint32_t i = 0; i < WH_VERBS_STRANGERS; i++) {
		struct wh_verbs_stranger *stranger = &t->strangers[i];

		if (stranger->socket >= 0 && stranger->deadline_ns <= now)
			hang_up(t, stranger);
		if (stranger->socket >= 0)
			wh_dial_timer(&t->redial, stranger->deadline_ns - now);
	}
}

void wh_verbs_query_close(struct wh_verbs *t)
{
	for (uint32_t i = 0; i < WH_VERBS_STRANGERS; i++)
		hang_up(t, &t->strangers[i]);
	close_socket(t, &t->query_listener);
}

void wh_verbs_answer(struct wh_transport *transport, uint64_t query, const void *bytes, size_t count)
{
	struct wh_verbs *t = wh_verbs_of(transport);
	const struct wh_verbs_question head = {WH_VERBS_MAGIC, WH_VERBS_VERSION, (uint32_t)count};

	for (uint32_t i = 0; i < WH_VERBS_STRANGERS && count <= WH_ANSWER_MAX; i++) {
		struct wh_verbs_stranger *stranger = &t->strangers[i];

		if (stranger->socket < 0 || stranger->query != query || query == 0 || stranger->answer != NULL)
			continue;
		stranger->answer = malloc(sizeof(head) + count);
		if (stranger->answer == NULL) {
			hang_up(t, stranger);
			return;
		}
		memcpy(stranger->answer, &head, sizeof(head));
		if (count > 0)
			memcpy(stranger->answer + sizeof(head), bytes, count);
		stranger->answer_bytes = sizeof(head) + count;
		(void)wh_verbs_watch(t, stranger->socket, WH_VERBS_STRANGER, i, EPOLLOUT);
		give_more(t, stranger);
	}
}

/* ---- the visitor -------------------------------------------------------------------------------------------------- */

struct question {
	const char *address;
	const void *bytes;
	size_t count;
	uint64_t deadline_ns;
	void *answer; /* at least WH_ANSWER_MAX bytes */
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

/* All of them, or false: it has hung up, or the time is over. */
static bool move(int s, const struct question *q, bool out, void *bytes, size_t count)
{
	struct pollfd ready = {.fd = s, .events = out ? POLLOUT : POLLIN};
	unsigned char *at = bytes;

	while (count > 0) {
		ssize_t n;

		if (time_left(q) == 0 || poll(&ready, 1, time_left(q)) <= 0)
			return false;
		n = out ? send(s, at, count, MSG_NOSIGNAL | MSG_DONTWAIT) : recv(s, at, count, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			return false;
		at += n;
		count -= (size_t)n;
	}
	return true;
}

/* WHORL_AGAIN: it can be tried once more. */
static enum whorl_result query_once(int s, const struct sockaddr_storage *to, socklen_t to_bytes, struct question *q,
				    struct wh_error *err)
{
	struct pollfd ready = {.fd = s, .events = POLLOUT};
	struct wh_verbs_question head = {WH_VERBS_MAGIC, WH_VERBS_VERSION, (uint32_t)q->count};
	socklen_t length = sizeof(int);
	int error = 0;

	if (connect(s, (const struct sockaddr *)to, to_bytes) != 0 && errno != EINPROGRESS)
		error = errno;
	else if (poll(&ready, 1, time_left(q)) <= 0)
		return WHORL_AGAIN;
	if (error == 0 && getsockopt(s, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
		error = errno;
	if (error == ECONNREFUSED)
		return wh_error_set(err, WHORL_NOT_FOUND, "no node is running at %s", q->address);
	if (error == EHOSTUNREACH || error == ENETUNREACH || error == ETIMEDOUT)
		return WHORL_AGAIN;
	if (error != 0)
		return wh_error_system(err, error, "cannot connect to %s", q->address);
	q->reached = true;
	if (!move(s, q, true, &head, sizeof(head)) || !move(s, q, true, (void *)(uintptr_t)q->bytes, q->count) ||
	    !move(s, q, false, &head, sizeof(head)))
		return WHORL_AGAIN;
	if (head.magic != WH_VERBS_MAGIC || head.version != WH_VERBS_VERSION || head.bytes > WH_ANSWER_MAX)
		return wh_error_set(err, WHORL_SYSTEM, "what answers at %s is no node of this version", q->address);
	if (!move(s, q, false, q->answer, head.bytes))
		return WHORL_AGAIN;
	*q->answer_bytes = head.bytes;
	return WHORL_OK;
}

enum whorl_result wh_verbs_query(const char *address, const void *question, size_t bytes, uint64_t timeout_ns,
				 void *answer, size_t *answer_bytes, struct wh_error *err)
{
	struct question q = {.address = address,
			     .bytes = question,
			     .count = bytes,
			     .deadline_ns = wh_env_now(wh_env_system()) + timeout_ns,
			     .answer = answer,
			     .answer_bytes = answer_bytes};
	struct sockaddr_storage to;
	socklen_t to_bytes;
	int again_ms = AGAIN_MS;
	enum whorl_result result = wh_verbs_find_address(address, &to, &to_bytes, err);

	if (result != WHORL_OK)
		return result;
	if (bytes > WH_CONTROL_MAX)
		return wh_error_set(err, WHORL_INVALID, "a question of %zu bytes is too long", bytes);
	do { /* it has hung up: to make room, for want of descriptors, or it is about to end */
		int s = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		if (s < 0)
			return wh_error_system(err, errno, "socket");
		result = query_once(s, &to, to_bytes, &q, err);
		close(s);
		if (result == WHORL_AGAIN && time_left(&q) > 0)
			(void)poll(NULL, 0, again_ms);
		again_ms = 2 * again_ms < AGAIN_MS_MAX ? 2 * again_ms : AGAIN_MS_MAX;
	} while (result == WHORL_AGAIN && time_left(&q) > 0);
	if (result == WHORL_AGAIN && !q.reached)
		return wh_error_set(err, WHORL_AGAIN,
				    "%s cannot be reached: the host is down, or the network between is cut", address);
	if (result == WHORL_AGAIN)
		return wh_error_set(err, WHORL_TIMEOUT, "the node at %s does not answer", address);
	return result;
}
