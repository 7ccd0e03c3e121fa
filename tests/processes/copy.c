/* copy.c - see copy.h. */
#include "tests/processes/copy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/processes/payload.h"

#define PIECE (256 << 10)     /* it stays in the cache until it is compared */
#define UNIX_BUFFER (1 << 20) /* as transport/shm/ has it, and what is written at a time on tcp */

struct copy {
	unsigned char *body; /* shared */
	uint64_t bytes;
	double *seconds; /* shared */
	int ends[2];     /* to write, to read */
};

static void *map(uint64_t bytes, int flags)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static bool connect_loopback(int ends[2])
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	bool good = listener >= 0 && bind(listener, (struct sockaddr *)&at, sizeof(at)) == 0 &&
		    listen(listener, 1) == 0 && getsockname(listener, (struct sockaddr *)&at, &length) == 0;

	ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	good = good && ends[0] >= 0 && connect(ends[0], (struct sockaddr *)&at, sizeof(at)) == 0;
	ends[1] = good ? accept(listener, NULL, NULL) : -1;
	if (good)
		(void)setsockopt(ends[0], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (listener >= 0)
		close(listener);
	return good && ends[1] >= 0;
}

static bool connect_ends(bool tcp, int ends[2])
{
	const int buffer = UNIX_BUFFER;

	if (tcp)
		return connect_loopback(ends);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return false;
	(void)setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
	return true;
}

static bool write_all(const struct copy *copy)
{
	for (uint64_t at = 0; at < copy->bytes;) {
		ssize_t went = send(copy->ends[0], copy->body + at, copy->bytes - at, MSG_NOSIGNAL);

		if (went <= 0)
			return false;
		at += (uint64_t)went;
	}
	return true;
}

static bool read_all(const struct copy *copy)
{
	unsigned char *kept = map(copy->bytes, MAP_PRIVATE), *piece = malloc(PIECE);
	uint64_t began_ns = 0, at = 0;

	while (kept != NULL && piece != NULL && at < copy->bytes) {
		ssize_t came = recv(copy->ends[1], piece, PIECE, 0);

		if (began_ns == 0)
			began_ns = now_ns();
		if (came <= 0)
			return false;
		memcpy(kept + at, piece, (size_t)came);
		if (memcmp(kept + at, copy->body + at, (size_t)came) != 0)
			return false;
		at += (uint64_t)came;
	}
	*copy->seconds = (double)(now_ns() - began_ns) / 1e9;
	return at == copy->bytes;
}

static pid_t start(const struct copy *copy, bool (*work)(const struct copy *copy), int other)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(other); /* so that each sees the end of the other */
	_exit(work(copy) ? EXIT_SUCCESS : EXIT_FAILURE);
}

static bool ends_well(pid_t pid)
{
	int status;

	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}

static bool run(const struct copy *copy)
{
	pid_t writer = start(copy, write_all, copy->ends[1]), reader = start(copy, read_all, copy->ends[0]);
	bool written, read;

	close(copy->ends[0]);
	close(copy->ends[1]);
	written = ends_well(writer);
	read = ends_well(reader);
	return written && read;
}

double copy_seconds(bool tcp, uint64_t bytes, uint64_t seed)
{
	struct copy copy = {.bytes = bytes, .body = map(bytes, MAP_SHARED), .seconds = map(sizeof(double), MAP_SHARED)};
	double seconds = 0;

	for (uint64_t i = 0; copy.body != NULL && i < bytes / 8; i++)
		((uint64_t *)copy.body)[i] = payload_word(seed, i);
	if (copy.body != NULL && copy.seconds != NULL && connect_ends(tcp, copy.ends) && run(&copy))
		seconds = *copy.seconds;
	if (copy.body != NULL)
		munmap(copy.body, bytes);
	if (copy.seconds != NULL)
		munmap(copy.seconds, sizeof(double));
	return seconds;
}
