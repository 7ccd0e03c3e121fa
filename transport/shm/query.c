/* query.c - how a question gets to a node over a unix socket, and the answer back; see transport/session/query.h. */
#include "transport/shm/shm_int.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "transport/session/query.h"

#define ASKED_BYTES (WH_MESSAGE_GROUP_BYTES + 32)

struct way { /* to the node that is asked */
	const char *group;
	uint32_t node;
};

/* WHORL_AGAIN: none has come, but the end. */
static enum whorl_result on_answer(int socket, const struct wh_query *q, struct wh_error *err)
{
	unsigned char bytes[WH_HEAD_BYTES] = {0};
	struct iovec parts[] = {{bytes, sizeof(bytes)}, {q->answer, WH_ANSWER_MAX}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	struct wh_message_head head;
	enum whorl_result result;
	ssize_t got;

	do { /* a reset is told once, before what is still to be read */
		got = recvmsg(socket, &message, MSG_DONTWAIT);
	} while (got < 0 && (errno == EINTR || errno == ECONNRESET));
	if (got <= 0)
		return WHORL_AGAIN;
	result = wh_query_on_head(q, &head, bytes, err);
	if (result == WHORL_OK && ((size_t)got != sizeof(bytes) + head.bytes || (message.msg_flags & MSG_TRUNC) != 0))
		result = wh_query_explain_bad(q, err);
	return result == WHORL_OK ? wh_query_on_body(q, &head, err) : result;
}

static enum whorl_result connect_to(int s, const struct way *to, const struct wh_query *q, struct wh_error *err)
{
	struct sockaddr_un name;
	socklen_t name_bytes = wh_shm_name(&name, geteuid(), to->group, to->node);
	char reason[WH_MESSAGE_REASON_BYTES];
	struct ucred process;

	if (connect(s, (const struct sockaddr *)&name, name_bytes) != 0) {
		if (errno == ECONNREFUSED)
			return wh_error_set(err, WHORL_NOT_FOUND, "%s is not running", q->asked);
		return errno == EAGAIN ? WHORL_AGAIN : wh_error_system(err, errno, "connect"); /* its queue is full */
	}
	if (!wh_shm_other_end(s, &process))
		return wh_error_system(err, errno, "SO_PEERCRED");
	if (process.uid == geteuid())
		return WHORL_OK;
	wh_shm_name_explain(reason, to->group, to->node, process.pid, process.uid);
	return wh_error_set(err, WHORL_REFUSED, "%s", reason);
}

static enum whorl_result ask_over(int s, const struct way *to, const struct wh_query *q, struct wh_error *err)
{
	unsigned char message[WH_MESSAGE_MAX];
	struct iovec part = {message, wh_query_message(q, message)};
	struct pollfd answered = {.fd = s, .events = POLLIN};
	enum whorl_result result = connect_to(s, to, q, err);

	if (result != WHORL_OK)
		return result;
	if (wh_shm_datagram_send(s, &part, 1, NULL, 0) != WH_WIRE_DONE)
		return WHORL_AGAIN;
	if (poll(&answered, 1, wh_query_time_left(q)) <= 0)
		return WHORL_AGAIN;
	return on_answer(s, q, err);
}

static enum whorl_result ask_once(void *ctx, const struct wh_query *q, struct wh_error *err)
{
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	enum whorl_result result;

	if (s < 0)
		return wh_error_system(err, errno, "socket");
	result = ask_over(s, ctx, q, err);
	close(s);
	return result;
}

enum whorl_result wh_shm_query(const char *group, uint32_t node, const void *question, size_t bytes,
			       uint64_t timeout_ns, void *answer, size_t *answer_bytes, struct wh_error *err)
{
	struct way to = {.group = group, .node = node};
	char asked[ASKED_BYTES];
	const struct wh_query q = {.asked = asked,
				   .bytes = question,
				   .count = bytes,
				   .version = WH_SHM_VERSION,
				   .deadline_ns = wh_env_now(wh_env_system()) + timeout_ns,
				   .answer = answer,
				   .answer_bytes = answer_bytes};

	if (strlen(group) >= WH_MESSAGE_GROUP_BYTES)
		return wh_error_set(err, WHORL_INVALID, "group %s: its name is too long", group);
	snprintf(asked, sizeof(asked), "node %" PRIu32 " of group %s", node, group);
	return wh_query_ask(&q, ask_once, &to, err);
}
