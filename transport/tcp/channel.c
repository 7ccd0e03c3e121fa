/* channel.c - a connection; see tcp_int.h. Whatever is between the frames and the network has its place here. */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "transport/tcp/tcp_int.h"

#define FED_AT_ONCE (32u << 10)    /* bytes received at once where they are to be opened: on the stack */
#define CAREFUL_BUFFER (256 << 10) /* the kernel grants what it allows, and counts more than the bytes against it */
#define SILENT_MS 5000 /* a host that has vanished: what was sent is not acknowledged, or nothing was sent */
/* What is not acknowledged is sent again so often at least: a cut is over soon after it is healed. */
#define AGAIN_MS 1000
#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44 /* from Linux 6.15 on; before, a second cut may seem to last for as long again as it did */
#endif

/* A wish each: without them the heartbeat notices, a little later. */
static void tune(int fd)
{
	const int on = 1, idle_s = 1, interval_s = 1, probes = 4, again_ms = AGAIN_MS;
	const unsigned silent_ms = SILENT_MS;
	struct wh_tcp_address here = {.bytes = sizeof(here.at)};

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silent_ms, sizeof(silent_ms));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, &again_ms, sizeof(again_ms));
	/* On the loopback interface there is nothing to probe for, and BBR, where it is the default, paces itself there. */
	if (getsockname(fd, (struct sockaddr *)&here.at, &here.bytes) == 0 && wh_tcp_address_is_loopback(&here))
		(void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
}

void wh_tcp_channel_hold(const struct wh_tcp_channel *channel, uint64_t ns)
{
	uint64_t ms = ns == 0 ? SILENT_MS : ns / WH_NS_PER_MS;
	unsigned silent_ms = ms < INT_MAX ? (unsigned)ms : INT_MAX;

	(void)setsockopt(channel->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silent_ms, sizeof(silent_ms));
}

int wh_tcp_channel_connect(struct wh_tcp_channel *channel, const struct wh_tcp_address *to,
			   const struct wh_secure_ground *ground, uint32_t node)
{
	int error = 0;

	*channel = WH_TCP_NO_CHANNEL;
	channel->called = true;
	channel->fd = socket(to->at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (channel->fd < 0)
		return errno;
	if (connect(channel->fd, (const struct sockaddr *)&to->at, to->bytes) != 0 && errno != EINPROGRESS)
		error = errno;
	if (error == 0 && wh_secure_connect(ground, node, &channel->secure, NULL) != WHORL_OK)
		error = ENOMEM;
	if (error != 0) {
		close(channel->fd);
		channel->fd = -1;
	}
	return error;
}

/* A call from a port of one's own choice to that very port is answered by the caller itself. */
static bool is_own_echo(int fd)
{
	struct wh_tcp_address here = {.bytes = sizeof(here.at)}, there = {.bytes = sizeof(there.at)};

	return getsockname(fd, (struct sockaddr *)&here.at, &here.bytes) == 0 &&
	       getpeername(fd, (struct sockaddr *)&there.at, &there.bytes) == 0 && wh_tcp_address_same(&here, &there);
}

enum wh_tcp_io wh_tcp_channel_connected(struct wh_tcp_channel *channel)
{
	struct sockaddr_storage there;
	socklen_t bytes = sizeof(int), there_bytes = sizeof(there);
	int error = 0;

	if (getsockopt(channel->fd, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 && error != 0) {
		errno = error;
		return WH_TCP_BROKEN;
	}
	if (getpeername(channel->fd, (struct sockaddr *)&there, &there_bytes) != 0)
		return errno == ENOTCONN ? WH_TCP_LATER : WH_TCP_BROKEN;
	if (is_own_echo(channel->fd)) {
		errno = ECONNREFUSED;
		return WH_TCP_BROKEN;
	}
	tune(channel->fd);
	return WH_TCP_DONE;
}

bool wh_tcp_channel_accept(struct wh_tcp_channel *channel, int fd, const struct wh_secure_ground *ground)
{
	*channel = WH_TCP_NO_CHANNEL;
	if (wh_secure_accept(ground, &channel->secure, NULL) != WHORL_OK) {
		close(fd);
		return false;
	}
	channel->fd = fd;
	tune(fd);
	return true;
}

static enum wh_tcp_io result_of(ssize_t n, size_t *done)
{
	if (n > 0) {
		*done = (size_t)n;
		return WH_TCP_DONE;
	}
	if (n == 0)
		return WH_TCP_ENDED;
	return errno == EAGAIN || errno == EINTR || errno == ENOBUFS || errno == ENOMEM ? WH_TCP_LATER : WH_TCP_BROKEN;
}

static enum wh_tcp_io send_parts(struct wh_tcp_channel *channel, const struct iovec *parts, size_t count, size_t *done)
{
	const struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = count};
	ssize_t n;

	do {
		n = sendmsg(channel->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return result_of(n, done);
}

enum wh_tcp_io wh_tcp_channel_receive(struct wh_tcp_channel *channel, const struct iovec *parts, size_t count,
				      size_t *done)
{
	struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = count};
	ssize_t n;

	do {
		n = recvmsg(channel->fd, &message, MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	return result_of(n, done);
}

/* ---- what the other end is ----------------------------------------------------------------------------------------- */

/* Bytes from the socket to the machine that proves and opens. */
static enum wh_tcp_io feed(struct wh_tcp_channel *channel)
{
	unsigned char bytes[FED_AT_ONCE];
	size_t wants = wh_secure_wants(channel->secure), done = 0;
	const struct iovec part = {bytes, wants < sizeof(bytes) ? wants : sizeof(bytes)};
	enum wh_tcp_io io = wants > 0 ? wh_tcp_channel_receive(channel, &part, 1, &done) : WH_TCP_LATER;

	if (io == WH_TCP_DONE)
		(void)wh_secure_feed(channel->secure, bytes, done); /* all of it: that is what it wants */
	return io;
}

enum wh_tcp_io wh_tcp_channel_flush(struct wh_tcp_channel *channel)
{
	enum wh_tcp_io io = WH_TCP_DONE;
	struct iovec part;
	size_t done;

	while (io == WH_TCP_DONE) {
		part.iov_base = (void *)(uintptr_t)wh_secure_pending(channel->secure, &part.iov_len);
		if (part.iov_len == 0)
			return WH_TCP_DONE;
		io = send_parts(channel, &part, 1, &done);
		if (io == WH_TCP_DONE)
			wh_secure_sent(channel->secure, done);
	}
	return io;
}

bool wh_tcp_channel_unsent(const struct wh_tcp_channel *channel)
{
	size_t count = 0;

	if (channel->secure != NULL)
		(void)wh_secure_pending(channel->secure, &count);
	return count > 0;
}

/* What it has to say leaves. WH_TCP_LATER and not `writes`: it is the other end's turn. */
static enum wh_tcp_io say(struct wh_tcp_channel *channel, bool *writes)
{
	enum wh_tcp_io io = wh_tcp_channel_flush(channel);

	*writes = io == WH_TCP_LATER;
	if (wh_secure_state(channel->secure) == WH_SECURE_REFUSED) /* what it has said of that has left, or does not */
		return WH_TCP_BROKEN;
	if (io != WH_TCP_DONE)
		return io;
	if (wh_secure_state(channel->secure) != WH_SECURE_PROVEN)
		return WH_TCP_LATER;
	channel->wraps = wh_secure_wraps(channel->secure);
	return WH_TCP_DONE;
}

enum wh_tcp_io wh_tcp_channel_shake(struct wh_tcp_channel *channel, bool *writes)
{
	for (;;) {
		enum wh_tcp_io io = say(channel, writes);

		if (io == WH_TCP_LATER && !*writes)
			io = feed(channel);
		else
			return io;
		if (io != WH_TCP_DONE)
			return io;
		channel->turns += channel->turns < WH_TCP_TURNS_MAX && wh_tcp_channel_unsent(channel);
	}
}

enum wh_tcp_io wh_tcp_channel_look(struct wh_tcp_channel *channel, bool *writes, bool *hears)
{
	enum wh_tcp_io io = say(channel, writes);
	size_t done = 0;
	ssize_t n;
	char byte;

	*hears = false;
	if (io != WH_TCP_LATER || *writes)
		return io;
	n = recv(channel->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	io = result_of(n, &done);
	*hears = io == WH_TCP_DONE;
	return *hears ? WH_TCP_LATER : io;
}

const char *wh_tcp_channel_reason(const struct wh_tcp_channel *channel)
{
	return channel->secure != NULL ? wh_secure_reason(channel->secure) : "";
}

enum wh_secure_fault wh_tcp_channel_fault(const struct wh_tcp_channel *channel)
{
	return channel->secure != NULL ? wh_secure_fault(channel->secure) : WH_SECURE_UNPROVEN;
}

uint32_t wh_tcp_channel_spoken(const struct wh_tcp_channel *channel)
{
	return channel->secure != NULL ? wh_secure_spoken(channel->secure) : 0;
}

bool wh_tcp_channel_may_be(const struct wh_tcp_channel *channel, uint32_t node, uint64_t incarnation,
			   char reason[WH_SECURE_REASON_BYTES])
{
	return wh_secure_admits(channel->secure, node, incarnation, reason);
}

/* ---- bytes --------------------------------------------------------------------------------------------------------- */

void wh_tcp_channel_take_care(struct wh_tcp_channel *channel)
{
	const int bytes = CAREFUL_BUFFER;

	(void)setsockopt(channel->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	channel->careful = true;
}

enum wh_tcp_io wh_tcp_channel_write(struct wh_tcp_channel *channel, const struct iovec *parts, size_t count,
				    size_t *done)
{
	return channel->wraps ? wh_tcp_sealed_write(channel, parts, count, done)
			      : send_parts(channel, parts, count, done);
}

/* With TLS what has been taken may be sealed and wait here: that is not in the socket either. */
bool wh_tcp_channel_write_last(struct wh_tcp_channel *channel, const struct iovec *parts, size_t count, size_t bytes)
{
	size_t done = 0;
	enum wh_tcp_io io = wh_tcp_channel_write(channel, parts, count, &done);

	if (io == WH_TCP_DONE || io == WH_TCP_LATER)
		return done == bytes && !wh_tcp_channel_unsent(channel);
	return true;
}

enum wh_tcp_io wh_tcp_channel_read(struct wh_tcp_channel *channel, const struct iovec *parts, size_t count,
				   size_t *done)
{
	return channel->wraps ? wh_tcp_sealed_read(channel, parts, count, done)
			      : wh_tcp_channel_receive(channel, parts, count, done);
}

/* ---- the end ------------------------------------------------------------------------------------------------------- */

/* An end for the other side by name: a forked child may hold the same socket, which would keep it alive. That child itself only
 * closes. What has come and was not read is read away first: the kernel would answer a close with a reset, which may overtake
 * what was written last. */
void wh_tcp_channel_close(struct wh_tcp_channel *channel, bool forked)
{
	char waste[4096];

	if (channel->step != NULL)
		wh_tcp_step_drop(channel->step, forked);
	channel->step = NULL;
	if (channel->fd < 0)
		return;
	if (!forked) {
		(void)shutdown(channel->fd, SHUT_WR);
		for (int n = 0; n < 256 && recv(channel->fd, waste, sizeof(waste), MSG_DONTWAIT) > 0; n++)
			;
		(void)shutdown(channel->fd, SHUT_RDWR);
	}
	close(channel->fd);
	wh_secure_free(channel->secure);
	channel->secure = NULL;
	channel->fd = -1;
}

const char *wh_tcp_channel_whence(const struct wh_tcp_channel *channel, char *text, size_t bytes)
{
	struct sockaddr_storage there;
	socklen_t there_bytes = sizeof(there);
	char host[INET6_ADDRSTRLEN] = "?";

	if (getpeername(channel->fd, (struct sockaddr *)&there, &there_bytes) != 0) {
		snprintf(text, bytes, "somebody");
	} else if (there.ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&there;

		(void)inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
		snprintf(text, bytes, "[%s]:%u", host, ntohs(in6->sin6_port));
	} else {
		const struct sockaddr_in *in = (const struct sockaddr_in *)&there;

		(void)inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		snprintf(text, bytes, "%s:%u", host, ntohs(in->sin_port));
	}
	return text;
}
