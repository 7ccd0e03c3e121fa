/* ports.h - ports of this host for nodes that a test starts. */
#ifndef WH_TESTS_PORTS_H
#define WH_TESTS_PORTS_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#define TEST_PORTS_MAX 64

/* So many different ports of 127.0.0.1 that no program has now: at most TEST_PORTS_MAX. False: there are not so many. */
static inline bool test_find_ports(unsigned *ports, unsigned count)
{
	int sockets[TEST_PORTS_MAX];
	unsigned found = 0;
	bool ok = count <= TEST_PORTS_MAX;

	while (ok && found < count) {
		struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		socklen_t bytes = sizeof(at);
		int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (s < 0)
			break;
		sockets[found] = s;
		ok = bind(s, (const struct sockaddr *)&at, bytes) == 0 &&
		     getsockname(s, (struct sockaddr *)&at, &bytes) == 0;
		ports[found++] = ntohs(at.sin_port);
	}
	ok = ok && found == count;
	while (found > 0)
		close(sockets[--found]);
	return ok;
}

#endif
