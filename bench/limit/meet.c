/* meet.c - see meet.h. */
#include "bench/limit/meet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/env.h"

#define CALL_MS 1000 /* for one call to get through, */
#define AGAIN_MS 10  /* and then the next */
#define HELLO_MS 1000

struct wh_limit_endpoint {
	int listener; /* -1: of a node that is not here */
	struct sockaddr_storage at;
	socklen_t bytes;
};

struct hello {
	uint64_t word;
	uint32_t node, number; /* of the meeting */
};

static int left_ms(uint64_t deadline_ns)
{
	uint64_t now = wh_env_now(wh_env_system());

	return now >= deadline_ns ? 0 : (int)((deadline_ns - now) / WH_NS_PER_MS) + 1;
}

static uint64_t deadline_in(int ms)
{
	return wh_env_now(wh_env_system()) + (uint64_t)ms * WH_NS_PER_MS;
}

/* ---- the parent --------------------------------------------------------------------------------------------------*/

/* host:port or [address]:port; the configuration has been checked. */
static enum whorl_result find_address(struct wh_limit_endpoint *endpoint, const char *address, struct wh_error *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	struct addrinfo *found = NULL;
	const char *colon = strrchr(address, ':');
	bool bracketed = address[0] == '[';
	char host[256];
	int error;

	snprintf(host, sizeof host, "%.*s", (int)(colon - address) - 2 * bracketed, address + bracketed);
	error = getaddrinfo(host, colon + 1, &hints, &found);
	if (error != 0)
		return wh_error_set(err, WHORL_NOT_FOUND, "limit: address %s: %s", address, gai_strerror(error));
	memcpy(&endpoint->at, found->ai_addr, found->ai_addrlen);
	endpoint->bytes = found->ai_addrlen;
	freeaddrinfo(found);
	return WHORL_OK;
}

/* A port of loopback that is free. */
static void choose_loopback(struct wh_limit_endpoint *endpoint)
{
	const struct sockaddr_in loopback = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	memcpy(&endpoint->at, &loopback, sizeof loopback);
	endpoint->bytes = sizeof loopback;
}

static enum whorl_result listen_at(struct wh_limit_endpoint *endpoint, uint32_t backlog, struct wh_error *err)
{
	int on = 1;

	endpoint->listener = socket(endpoint->at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (endpoint->listener < 0)
		return wh_error_system(err, errno, "limit: socket");
	(void)setsockopt(endpoint->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(endpoint->listener, (struct sockaddr *)&endpoint->at, endpoint->bytes) != 0 ||
	    listen(endpoint->listener, (int)backlog) != 0 ||
	    getsockname(endpoint->listener, (struct sockaddr *)&endpoint->at, &endpoint->bytes) != 0)
		return wh_error_system(err, errno, "limit: listen");
	return WHORL_OK;
}

/* No secret where nodes are apart: a program that guesses it spoils a measurement. */
static uint64_t make_word(const struct wh_limit_plan *plan)
{
	uint64_t word;

	if (plan->apart)
		return (uint64_t)wh_crc32c(0, plan->group, strlen(plan->group)) << 32 | wh_crc32c(0, "limit", 5);
	return getrandom(&word, sizeof word, 0) == sizeof word ? word : (uint64_t)getpid();
}

enum whorl_result wh_limit_meeting_open(struct wh_limit_meeting *meeting, const struct wh_limit_plan *plan,
					uint32_t nodes, uint32_t number, struct wh_error *err)
{
	enum whorl_result result = WHORL_OK;

	*meeting = (struct wh_limit_meeting){
		.number = number, .word = make_word(plan), .endpoints = calloc(nodes, sizeof *meeting->endpoints)};
	if (meeting->endpoints == NULL)
		return wh_error_set(err, WHORL_MEMORY, "limit: no memory for %u nodes", nodes);
	while (meeting->nodes < nodes && result == WHORL_OK) {
		uint32_t node = meeting->nodes++;
		struct wh_limit_endpoint *endpoint = &meeting->endpoints[node];

		endpoint->listener = -1;
		if (plan->apart)
			result = find_address(endpoint, plan->addresses[node], err);
		else
			choose_loopback(endpoint);
		if (result == WHORL_OK && (!plan->apart || node == plan->here))
			result = listen_at(endpoint, nodes, err);
	}
	if (result != WHORL_OK)
		wh_limit_meeting_close(meeting);
	return result;
}

void wh_limit_meeting_close(struct wh_limit_meeting *meeting)
{
	for (uint32_t n = 0; n < meeting->nodes; n++)
		if (meeting->endpoints[n].listener >= 0)
			close(meeting->endpoints[n].listener);
	free(meeting->endpoints);
	*meeting = (struct wh_limit_meeting){0};
}

/* ---- a worker ----------------------------------------------------------------------------------------------------*/

/* As the transport sets them (transport/tcp/tcp.h): small writes leave at once, and on loopback nothing is lost that a
 * cleverer congestion control could learn from. */
static void set_options(int socket)
{
	int on = 1;

	(void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	(void)setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, "reno", sizeof "reno" - 1);
}

static void set_patience(int socket, int option, int ms)
{
	struct timeval patience = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

	if (ms <= 0)
		patience.tv_usec = 1; /* zero is for ever */
	(void)setsockopt(socket, SOL_SOCKET, option, &patience, sizeof patience);
}

static bool say_hello(const struct wh_limit_meeting *meeting, int socket, uint32_t node)
{
	const struct hello hello = {.word = meeting->word, .node = node, .number = meeting->number};

	return send(socket, &hello, sizeof hello, MSG_NOSIGNAL) == sizeof hello;
}

/* A peer that something else has called says something else, or nothing. */
static bool hear_hello(const struct wh_limit_meeting *meeting, int socket, int ms, uint32_t *node)
{
	struct hello hello = {0};

	set_patience(socket, SO_RCVTIMEO, ms);
	if (recv(socket, &hello, sizeof hello, MSG_WAITALL) != sizeof hello || hello.word != meeting->word ||
	    hello.number != meeting->number)
		return false;
	*node = hello.node;
	return hello.node < meeting->nodes;
}

/* One call. A peer that is there may be waiting for others before it answers, so it is given all the time there is: a caller that
 * gave up and called again would be found twice. */
static int call_once(const struct wh_limit_meeting *meeting, uint32_t node, uint32_t peer, uint64_t deadline_ns)
{
	const struct wh_limit_endpoint *endpoint = &meeting->endpoints[peer];
	int s = socket(endpoint->at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint32_t who = node;

	if (s < 0)
		return -1;
	set_options(s);
	set_patience(s, SO_SNDTIMEO, CALL_MS); /* connect has no other */
	if (connect(s, (const struct sockaddr *)&endpoint->at, endpoint->bytes) == 0 && say_hello(meeting, s, node) &&
	    hear_hello(meeting, s, left_ms(deadline_ns), &who) && who == peer)
		return s;
	close(s);
	return -1;
}

static int call_until(const struct wh_limit_meeting *meeting, uint32_t node, uint32_t peer, uint64_t deadline_ns)
{
	for (;;) {
		int s = call_once(meeting, node, peer, deadline_ns);

		if (s >= 0 || left_ms(deadline_ns) == 0)
			return s;
		poll(NULL, 0, AGAIN_MS);
	}
}

/* Answers a caller, if it is one of us, wanted and not here yet. False: no node has called in time. */
static bool answer_caller(const struct wh_limit_meeting *meeting, uint32_t node, uint32_t peer, uint64_t deadline_ns,
			  int *sockets)
{
	struct pollfd ready = {.fd = meeting->endpoints[node].listener, .events = POLLIN};
	uint32_t who;
	int s;

	if (poll(&ready, 1, left_ms(deadline_ns)) <= 0)
		return false;
	s = accept4(ready.fd, NULL, NULL, SOCK_CLOEXEC);
	if (s < 0)
		return true; /* it has hung up again, or the deadline ends this */
	if (hear_hello(meeting, s, HELLO_MS, &who) && who > node && (peer == WH_LIMIT_EVERYBODY || who == peer) &&
	    sockets[who] < 0 && say_hello(meeting, s, node)) {
		set_options(s);
		sockets[who] = s;
	} else {
		close(s);
	}
	return true;
}

int wh_limit_meet(const struct wh_limit_meeting *meeting, uint32_t node, uint32_t peer, int *sockets)
{
	uint64_t deadline_ns = deadline_in(WH_LIMIT_MEET_MS);

	for (uint32_t other = 0; other < meeting->nodes; other++)
		sockets[other] = -1;
	for (uint32_t other = 0; other < node; other++) {
		if (peer != WH_LIMIT_EVERYBODY && peer != other)
			continue;
		sockets[other] = call_until(meeting, node, other, deadline_ns);
		if (sockets[other] < 0)
			return ETIMEDOUT;
	}
	for (uint32_t other = node + 1; other < meeting->nodes; other++)
		while ((peer == WH_LIMIT_EVERYBODY || peer == other) && sockets[other] < 0)
			if (!answer_caller(meeting, node, peer, deadline_ns, sockets))
				return ETIMEDOUT;
	return 0;
}

int wh_limit_together(const struct wh_limit_meeting *meeting, const int *sockets)
{
	uint64_t deadline_ns = deadline_in(WH_LIMIT_MEET_MS);
	char word = 0;

	for (uint32_t other = 0; other < meeting->nodes; other++)
		if (sockets[other] >= 0 && send(sockets[other], &word, 1, MSG_NOSIGNAL) != 1)
			return EPIPE;
	for (uint32_t other = 0; other < meeting->nodes; other++) {
		if (sockets[other] < 0)
			continue;
		set_patience(sockets[other], SO_RCVTIMEO, left_ms(deadline_ns));
		if (recv(sockets[other], &word, 1, 0) != 1)
			return ETIMEDOUT;
	}
	return 0;
}

void wh_limit_part(const struct wh_limit_meeting *meeting, int *sockets)
{
	for (uint32_t peer = 0; peer < meeting->nodes; peer++)
		if (sockets[peer] >= 0)
			close(sockets[peer]);
}
