/* query.c - a process that is no node asks one a question, and gets one answer.
 *
 * It connects as a node does, and takes one of the places that strangers have, for a second at most: so many visitors, or
 * slow ones, cost a node no more than any other stranger.
 */
#include "base/text.h"
#include "transport/shm/shm_int.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define AGAIN_MS 2 /* at first, then twice as long each time, ... */
#define AGAIN_MS_MAX 64

/* ---- the node ----------------------------------------------------------------------------------------------------- */

void wh_shm_on_question(struct wh_shm *t, struct wh_shm_stranger *stranger, const struct wh_shm_packet *packet)
{
	char reason[WH_SHM_REASON_BYTES];
	struct wh_transport_event *event;

	if (packet->head.version != WH_SHM_VERSION) {
		snprintf(reason, sizeof(reason),
			 "the question is in version %" PRIu32 " of the protocol, node %" PRIu32 " speaks version %d",
			 packet->head.version, t->node, WH_SHM_VERSION);
		wh_shm_send_refusal(stranger->socket, t->incarnation, reason);
		wh_shm_hang_up(t, &stranger->socket);
		return;
	}
	stranger->query = ++t->queries; /* no number twice: an answer never gets to another */
	stranger->deadline_ns = wh_env_now(t->env) + WH_SHM_STRANGER_NS;
	event = wh_event_queue_event(&t->event_queue, WH_EVENT_QUERY, t->node, 0, packet->control.bytes,
				     packet->bytes - sizeof(packet->control.head));
	event->query = stranger->query;
}

static struct wh_shm_stranger *find_query(struct wh_shm *t, uint64_t query)
{
	for (uint32_t i = 0; i < WH_SHM_STRANGERS; i++)
		if (t->strangers[i].socket >= 0 && t->strangers[i].query == query && query != 0)
			return &t->strangers[i];
	return NULL;
}

void wh_shm_answer(struct wh_transport *transport, uint64_t query, const void *bytes, size_t count)
{
	struct wh_shm *t = wh_shm_of(transport);
	struct wh_shm_stranger *stranger = find_query(t, query);
	struct wh_shm_head head = wh_shm_head(WH_SHM_ANSWER);
	struct iovec parts[] = {{&head, sizeof(head)}, {(void *)(uintptr_t)bytes, count}};
	const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	const int buffer = 2 * WH_ANSWER_MAX; /* one message, and what the kernel counts as its own */

	if (stranger == NULL || count > WH_ANSWER_MAX)
		return;
	(void)setsockopt(stranger->socket, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
	if (sendmsg(stranger->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno != EPIPE &&
	    errno != ECONNRESET)
		wh_event_queue_complain(&t->event_queue, "cannot answer pid %d: %s", (int)stranger->pid,
					strerror(errno));
	wh_shm_hang_up(t, &stranger->socket); /* what has been sent can still be read */
}

/* ---- the visitor -------------------------------------------------------------------------------------------------- */

struct question {
	const char *group;
	uint32_t node;
	const void *bytes;
	size_t count;
	uint64_t deadline_ns;
	void *answer; /* at least WH_ANSWER_MAX bytes */
	size_t *answer_bytes;
};

/* WHORL_AGAIN: none has come, but the end. */
static enum whorl_result on_answer(int socket, const struct question *q, struct wh_error *err)
{
	struct wh_shm_head head;
	struct iovec parts[] = {{&head, sizeof(head)}, {q->answer, WH_ANSWER_MAX}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	char *reason = (char *)q->answer + offsetof(struct wh_shm_refused, reason) - sizeof(head);
	ssize_t got;

	do { /* a reset is told once, before what is still to be read */
		got = recvmsg(socket, &message, MSG_DONTWAIT);
	} while (got < 0 && (errno == EINTR || errno == ECONNRESET));
	if (got <= 0)
		return WHORL_AGAIN;
	if ((size_t)got < sizeof(head) || head.magic != WH_SHM_MAGIC)
		return wh_error_set(err, WHORL_SYSTEM, "node %" PRIu32 " of group %s answers with a bad message",
				    q->node, q->group);
	if (head.kind == WH_SHM_REFUSED && (size_t)got == sizeof(struct wh_shm_refused)) {
		wh_text_tame(reason, WH_SHM_REASON_BYTES);
		return wh_error_set(err, WHORL_REFUSED, "refused by node %" PRIu32 " of group %s: %s", q->node,
				    q->group, reason);
	}
	if (head.kind != WH_SHM_ANSWER || head.version != WH_SHM_VERSION || (message.msg_flags & MSG_TRUNC) != 0)
		return wh_error_set(err, WHORL_SYSTEM, "node %" PRIu32 " of group %s gives no answer that is one",
				    q->node, q->group);
	*q->answer_bytes = (size_t)got - sizeof(head);
	return WHORL_OK;
}

/* Milliseconds that are left, at least 1; 0: none. */
static int time_left(const struct question *q)
{
	uint64_t now = wh_env_now(wh_env_system()), ms;

	if (now >= q->deadline_ns)
		return 0;
	ms = (q->deadline_ns - now) / WH_NS_PER_MS + 1;
	return ms < INT32_MAX ? (int)ms : INT32_MAX;
}

/* WHORL_AGAIN: it can be tried once more. */
static enum whorl_result query_once(int s, const struct question *q, struct wh_error *err)
{
	struct wh_shm_control ask = {.head = wh_shm_head(WH_SHM_QUERY)};
	struct pollfd poll_in = {.fd = s, .events = POLLIN};
	struct sockaddr_un name;
	socklen_t name_bytes = wh_shm_name(&name, geteuid(), q->group, q->node);
	struct ucred who;

	if (connect(s, (const struct sockaddr *)&name, name_bytes) != 0) {
		if (errno == ECONNREFUSED)
			return wh_error_set(err, WHORL_NOT_FOUND, "node %" PRIu32 " of group %s is not running",
					    q->node, q->group);
		return errno == EAGAIN ? WHORL_AGAIN : wh_error_system(err, errno, "connect"); /* its queue is full */
	}
	if (!wh_shm_who(s, &who))
		return wh_error_system(err, errno, "SO_PEERCRED");
	if (who.uid != geteuid())
		return wh_error_set(err, WHORL_REFUSED,
				    "the place of node %" PRIu32 " of group %s is held by pid %d of user %" PRIu64,
				    q->node, q->group, (int)who.pid, (uint64_t)who.uid);
	memcpy(ask.bytes, q->bytes, q->count);
	if (wh_shm_send(s, &ask, sizeof(ask.head) + q->count, NULL, 0) != 0)
		return WHORL_AGAIN;
	if (poll(&poll_in, 1, time_left(q)) <= 0)
		return WHORL_AGAIN;
	return on_answer(s, q, err);
}

enum whorl_result wh_shm_query(const char *group, uint32_t node, const void *question, size_t bytes,
			       uint64_t timeout_ns, void *answer, size_t *answer_bytes, struct wh_error *err)
{
	const struct question q = {.group = group,
				   .node = node,
				   .bytes = question,
				   .count = bytes,
				   .deadline_ns = wh_env_now(wh_env_system()) + timeout_ns,
				   .answer = answer,
				   .answer_bytes = answer_bytes};
	enum whorl_result result;
	int again_ms = AGAIN_MS;

	if (strlen(group) >= WH_SHM_GROUP_BYTES || bytes > WH_CONTROL_MAX)
		return wh_error_set(err, WHORL_INVALID, "group %s, question of %zu bytes: too long", group, bytes);
	do { /* it has hung up: to make room, for want of descriptors, or it is about to end */
		int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		if (s < 0)
			return wh_error_system(err, errno, "socket");
		result = query_once(s, &q, err);
		close(s);
		if (result == WHORL_AGAIN && time_left(&q) > 0)
			(void)poll(NULL, 0, again_ms);
		again_ms = 2 * again_ms < AGAIN_MS_MAX ? 2 * again_ms : AGAIN_MS_MAX;
	} while (result == WHORL_AGAIN && time_left(&q) > 0);
	if (result == WHORL_AGAIN)
		return wh_error_set(err, WHORL_TIMEOUT, "node %" PRIu32 " of group %s does not answer", node, group);
	return result;
}
