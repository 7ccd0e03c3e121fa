/* meet.c - see meet.h. */
#include "tools/limit/meet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define MEET_MS 10000

struct hello {
	uint64_t word;
	uint64_t node;
};

static struct sockaddr_in loopback(uint16_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int listen_at(uint32_t backlog, uint16_t *port)
{
	struct sockaddr_in address = loopback(0);
	socklen_t length = sizeof address;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (listener < 0)
		return -1;
	if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, (int)backlog) != 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &length) != 0) {
		int number = errno;

		close(listener);
		errno = number;
		return -1;
	}
	*port = ntohs(address.sin_port);
	return listener;
}

enum whorl_result wh_limit_meeting_open(struct wh_limit_meeting *meeting, uint32_t nodes, struct wh_error *err)
{
	*meeting = (struct wh_limit_meeting){.listeners = calloc(nodes, sizeof *meeting->listeners),
					     .ports = calloc(nodes, sizeof *meeting->ports)};
	if (meeting->listeners == NULL || meeting->ports == NULL) {
		wh_limit_meeting_close(meeting);
		return wh_error_set(err, WHORL_MEMORY, "limit: no memory for %u nodes", nodes);
	}
	if (getrandom(&meeting->word, sizeof meeting->word, 0) != sizeof meeting->word)
		meeting->word = (uint64_t)getpid();
	for (; meeting->nodes < nodes; meeting->nodes++) {
		int listener = listen_at(nodes, &meeting->ports[meeting->nodes]);

		if (listener < 0) {
			enum whorl_result result = wh_error_system(err, errno, "limit: listen on loopback");

			wh_limit_meeting_close(meeting);
			return result;
		}
		meeting->listeners[meeting->nodes] = listener;
	}
	return WHORL_OK;
}

void wh_limit_meeting_close(struct wh_limit_meeting *meeting)
{
	for (uint32_t n = 0; n < meeting->nodes; n++)
		close(meeting->listeners[n]);
	free(meeting->listeners);
	free(meeting->ports);
	*meeting = (struct wh_limit_meeting){0};
}

/* As the transport sets them (transport/tcp.h): small writes leave at once, and on loopback nothing is lost that a
 * cleverer congestion control could learn from. */
static void set_options(int socket)
{
	int on = 1;

	(void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	(void)setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, "reno", sizeof "reno" - 1);
}

static int connect_to(const struct wh_limit_meeting *meeting, uint32_t node, uint32_t peer, int *out)
{
	struct sockaddr_in address = loopback(meeting->ports[peer]);
	struct hello hello = {meeting->word, node};

	*out = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*out < 0)
		return errno;
	set_options(*out);
	/* The peer's parent listens already: this takes no time, whatever the peer does. */
	if (connect(*out, (struct sockaddr *)&address, sizeof address) != 0)
		return errno;
	return send(*out, &hello, sizeof hello, MSG_NOSIGNAL) == sizeof hello ? 0 : EPIPE;
}

/* Who does not say the word is none of us. */
static int accept_one(const struct wh_limit_meeting *meeting, uint32_t node, int *sockets)
{
	struct pollfd ready = {.fd = meeting->listeners[node], .events = POLLIN};
	struct timeval patience = {.tv_sec = 1};
	struct hello hello = {0};
	int socket;

	if (poll(&ready, 1, MEET_MS) <= 0)
		return ETIMEDOUT;
	socket = accept4(meeting->listeners[node], NULL, NULL, SOCK_CLOEXEC);
	if (socket < 0)
		return errno;
	setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	if (recv(socket, &hello, sizeof hello, MSG_WAITALL) != sizeof hello || hello.word != meeting->word ||
	    hello.node >= meeting->nodes || sockets[hello.node] >= 0) {
		close(socket);
		return EAGAIN;
	}
	set_options(socket);
	sockets[hello.node] = socket;
	return 0;
}

int wh_limit_meet(const struct wh_limit_meeting *meeting, uint32_t node, int *sockets)
{
	int number = 0;

	for (uint32_t peer = 0; peer < meeting->nodes; peer++)
		sockets[peer] = -1;
	for (uint32_t peer = 0; peer < node && number == 0; peer++)
		number = connect_to(meeting, node, peer, &sockets[peer]);
	for (uint32_t left = meeting->nodes - 1 - node; left > 0 && number == 0;) {
		number = accept_one(meeting, node, sockets);
		left -= number == 0;
		number = number == EAGAIN ? 0 : number;
	}
	return number;
}

void wh_limit_part(const struct wh_limit_meeting *meeting, int *sockets)
{
	for (uint32_t peer = 0; peer < meeting->nodes; peer++)
		if (sockets[peer] >= 0)
			close(sockets[peer]);
}
