/* resp.c - see resp.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/kv/resp.h"

#define COMMAND_BYTES 1024
#define REPLY_MOST (64 << 20)

uint64_t resp_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* ---- sockets ---------------------------------------------------------------------------------------------------------------- */

static bool give_up(struct resp *resp)
{
	resp_close(resp);
	return false;
}

/* Until there is something to read, or room to write. */
static bool await(const struct resp *resp, short events)
{
	struct pollfd one = {resp->fd, events, 0};

	for (uint64_t now; (now = resp_now_ns()) < resp->until_ns;) {
		int ready = poll(&one, 1, (int)((resp->until_ns - now) / 1000000 + 1));

		if (ready > 0)
			return true;
		if (ready < 0 && errno != EINTR)
			return false;
	}
	return false;
}

static bool connect_to(struct resp *resp, const struct sockaddr_in *to)
{
	socklen_t bytes = sizeof(int);
	int error = 0;

	if (connect(resp->fd, (const struct sockaddr *)to, sizeof(*to)) == 0)
		return true;
	return errno == EINPROGRESS && await(resp, POLLOUT) &&
	       getsockopt(resp->fd, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 && error == 0;
}

bool resp_open(struct resp *resp, const char *address, uint16_t port, uint64_t until_ns)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
	int on = 1;

	resp->out_bytes = resp->in_begin = resp->in_end = 0;
	resp->until_ns = until_ns;
	resp->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (resp->fd < 0)
		return false;
	if (inet_pton(AF_INET, address, &to.sin_addr) != 1 || !connect_to(resp, &to))
		return give_up(resp);
	setsockopt(resp->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return true;
}

void resp_close(struct resp *resp)
{
	if (resp->fd >= 0)
		close(resp->fd);
	resp->fd = -1;
}

void resp_free(struct resp *resp)
{
	resp_close(resp);
	free(resp->out);
	free(resp->in);
	*resp = (struct resp){.fd = -1};
}

void resp_set_end(struct resp *resp, uint64_t until_ns)
{
	resp->until_ns = until_ns;
}

static char *room_for(char *bytes, size_t *room, size_t wanted)
{
	while (*room < wanted)
		*room = *room > 0 ? 2 * *room : 4096;
	bytes = realloc(bytes, *room);
	if (bytes == NULL)
		abort();
	return bytes;
}

/* ---- asking ----------------------------------------------------------------------------------------------------------------- */

static void queue(struct resp *resp, const char *words)
{
	size_t count = 0, length;

	for (const char *at = words; *at != '\0'; at += length + (at[length] == ' '), count++)
		length = strcspn(at, " ");
	resp->out = room_for(resp->out, &resp->out_room, resp->out_bytes + 2 * COMMAND_BYTES + 64 * count);
	resp->out_bytes += (size_t)sprintf(resp->out + resp->out_bytes, "*%zu\r\n", count);
	for (const char *at = words; *at != '\0'; at += length + (at[length] == ' ')) {
		length = strcspn(at, " ");
		resp->out_bytes +=
			(size_t)sprintf(resp->out + resp->out_bytes, "$%zu\r\n%.*s\r\n", length, (int)length, at);
	}
}

static void queue_format(struct resp *resp, const char *format, va_list list)
{
	char words[COMMAND_BYTES];
	int bytes = vsnprintf(words, sizeof(words), format, list);

	if (bytes < 0 || bytes >= COMMAND_BYTES)
		abort();
	queue(resp, words);
}

void resp_put(struct resp *resp, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	queue_format(resp, format, list);
	va_end(list);
}

bool resp_send(struct resp *resp)
{
	for (size_t sent = 0; sent < resp->out_bytes;) {
		ssize_t count = send(resp->fd, resp->out + sent, resp->out_bytes - sent, MSG_NOSIGNAL);

		if (count > 0)
			sent += (size_t)count;
		else if (errno != EINTR && (errno != EAGAIN || !await(resp, POLLOUT)))
			return give_up(resp);
	}
	resp->out_bytes = 0;
	return true;
}

/* ---- answers ---------------------------------------------------------------------------------------------------------------- */

static bool fill(struct resp *resp)
{
	ssize_t count;

	if (resp->in_begin > 0) {
		memmove(resp->in, resp->in + resp->in_begin, resp->in_end - resp->in_begin);
		resp->in_end -= resp->in_begin;
		resp->in_begin = 0;
	}
	if (resp->in_end > REPLY_MOST)
		return false;
	resp->in = room_for(resp->in, &resp->in_room, resp->in_end + 4096);
	do {
		count = recv(resp->fd, resp->in + resp->in_end, resp->in_room - resp->in_end, 0);
	} while (count < 0 && (errno == EINTR || (errno == EAGAIN && await(resp, POLLIN))));
	if (count <= 0)
		return false;
	resp->in_end += (size_t)count;
	return true;
}

/* To the end of a line; its bytes without that. It begins at in_begin. */
static bool take_line(struct resp *resp, size_t *bytes)
{
	size_t looked = 0;

	for (;;) {
		size_t there = resp->in_end - resp->in_begin;

		if (there > looked) {
			const char *line = resp->in + resp->in_begin,
				   *end = memchr(line + looked, '\n', there - looked);

			if (end != NULL) {
				*bytes = (size_t)(end - line);
				return *bytes >= 2 && line[--*bytes] == '\r';
			}
		}
		looked = there;
		if (!fill(resp))
			return false;
	}
}

static bool take_bulk(struct resp *resp, struct resp_reply *reply)
{
	if (reply->number < 0) {
		reply->kind = RESP_NIL;
		return reply->number == -1;
	}
	reply->bytes = (size_t)reply->number;
	if (reply->bytes > REPLY_MOST)
		return false;
	while (resp->in_end - resp->in_begin < reply->bytes + 2)
		if (!fill(resp))
			return false;
	reply->text = resp->in + resp->in_begin;
	if (memcmp(reply->text + reply->bytes, "\r\n", 2) != 0)
		return false;
	resp->in[resp->in_begin + reply->bytes] = '\0';
	resp->in_begin += reply->bytes + 2;
	return true;
}

static bool take_reply(struct resp *resp, struct resp_reply *reply)
{
	size_t bytes;
	char *line, *end, kind;

	if (!take_line(resp, &bytes))
		return false;
	line = resp->in + resp->in_begin;
	line[bytes] = '\0';
	resp->in_begin += bytes + 2;
	kind = line[0];
	*reply = (struct resp_reply){.text = line + 1, .bytes = bytes - 1};
	if (kind == '+' || kind == '-') {
		reply->kind = kind == '+' ? RESP_STATUS : RESP_ERROR;
		return true;
	}
	errno = 0;
	reply->number = strtoll(line + 1, &end, 10);
	if (errno != 0 || bytes < 2 || *end != '\0')
		return false;
	reply->kind = kind == ':' ? RESP_NUMBER : kind == '$' ? RESP_BULK : RESP_ARRAY;
	if (kind == '*' && reply->number < 0)
		reply->kind = RESP_NIL;
	return kind == ':' || kind == '*' || (kind == '$' && take_bulk(resp, reply));
}

bool resp_take(struct resp *resp, struct resp_reply *reply)
{
	return resp->fd >= 0 && (take_reply(resp, reply) || give_up(resp));
}

bool resp_ask(struct resp *resp, struct resp_reply *reply, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	queue_format(resp, format, list);
	va_end(list);
	return resp_send(resp) && resp_take(resp, reply);
}
