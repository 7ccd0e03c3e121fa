/* query.c - a process that is no node asks one a question, and gets one answer.
 *
 * It connects as a node does, and takes one of the places that strangers have (transport/session/door.c). This is the program's
 * side, which waits.
 */
#include "transport/shm/shm_int.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define AGAIN_MS 2 /* at first, then twice as long each time, ... */
#define AGAIN_MS_MAX 64

/* ---- the visitor -------------------------------------------------------------------------------------------------- */

struct question {
	const char *group;
	uint32_t node;
	const void *bytes;
	size_t count;
	uint64_t deadline_ns;
	unsigned char *answer; /* at least WH_ANSWER_MAX bytes */
	size_t *answer_bytes;
};

/* WHORL_AGAIN: none has come, but the end. */
static enum whorl_result on_answer(int socket, const struct question *q, struct wh_error *err)
{
	unsigned char bytes[WH_HEAD_BYTES];
	struct iovec parts[] = {{bytes, sizeof(bytes)}, {q->answer, WH_ANSWER_MAX}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	struct wh_message_head head;
	struct wh_refused refused;
	ssize_t got;

	do { /* a reset is told once, before what is still to be read */
		got = recvmsg(socket, &message, MSG_DONTWAIT);
	} while (got < 0 && (errno == EINTR || errno == ECONNRESET));
	if (got <= 0)
		return WHORL_AGAIN;
	if ((size_t)got < sizeof(bytes) || !wh_message_head_take(&head, bytes) ||
	    (size_t)got != sizeof(bytes) + head.bytes || (message.msg_flags & MSG_TRUNC) != 0)
		return wh_error_set(err, WHORL_SYSTEM, "node %" PRIu32 " of group %s answers with a bad message",
				    q->node, q->group);
	if (head.kind == WH_MESSAGE_REFUSED && wh_message_take_refused(&refused, &head, q->answer))
		return wh_error_set(err, WHORL_REFUSED, "refused by node %" PRIu32 " of group %s: %s", q->node,
				    q->group, refused.reason);
	if (head.kind != WH_MESSAGE_ANSWER)
		return wh_error_set(err, WHORL_SYSTEM, "node %" PRIu32 " of group %s gives no answer that is one",
				    q->node, q->group);
	*q->answer_bytes = head.bytes;
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
	unsigned char ask[WH_MESSAGE_MAX];
	struct iovec part = {.iov_base = ask};
	struct pollfd poll_in = {.fd = s, .events = POLLIN};
	struct sockaddr_un name;
	socklen_t name_bytes = wh_shm_name(&name, geteuid(), q->group, q->node);
	char reason[WH_MESSAGE_REASON_BYTES];
	struct ucred process;

	if (connect(s, (const struct sockaddr *)&name, name_bytes) != 0) {
		if (errno == ECONNREFUSED)
			return wh_error_set(err, WHORL_NOT_FOUND, "node %" PRIu32 " of group %s is not running",
					    q->node, q->group);
		return errno == EAGAIN ? WHORL_AGAIN : wh_error_system(err, errno, "connect"); /* its queue is full */
	}
	if (!wh_shm_other_end(s, &process))
		return wh_error_system(err, errno, "SO_PEERCRED");
	if (process.uid != geteuid()) {
		wh_shm_name_explain(reason, q->group, q->node, process.pid, process.uid);
		return wh_error_set(err, WHORL_REFUSED, "%s", reason);
	}
	part.iov_len = wh_message_put_query(ask, WH_SHM_VERSION, q->bytes, q->count);
	if (wh_shm_datagram_send(s, &part, 1, NULL, 0) != WH_WIRE_DONE)
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

	if (strlen(group) >= WH_MESSAGE_GROUP_BYTES || bytes > WH_CONTROL_MAX)
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
