/* test_tcp_query.c - where a visitor cannot ask: no node is there, no way leads there, or there is one that says nothing. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/harness.h"
#include "tests/patience.h"
#include "transport/tcp/tcp.h"

#define CALLERS 8
#define ASK_NS (200 * WH_NS_PER_MS)

/* A port of loopback, and its address as text. Not listening yet. */
static int open_port(char address[32])
{
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof(here);
	int port = socket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_eq(bind(port, (const struct sockaddr *)&here, bytes), 0);
	ck_assert_int_eq(getsockname(port, (struct sockaddr *)&here, &bytes), 0);
	snprintf(address, 32, "127.0.0.1:%d", ntohs(here.sin_port));
	return port;
}

static enum whorl_result ask(const char *address, uint64_t timeout_ns, struct wh_error *err)
{
	const struct wh_tcp_target asked = {.address = address, .group = "g", .node = 0};
	unsigned char *answer = malloc(WH_ANSWER_MAX);
	size_t bytes = WH_ANSWER_MAX;
	enum whorl_result result = wh_tcp_query(&asked, "?", 1, timeout_ns, answer, &bytes, err);

	free(answer);
	return result;
}

TEST(nobody_is_there)
{
	struct wh_error err;
	char address[32];
	int port = open_port(address);

	ck_assert_int_eq(ask(address, test_patience(10 * WH_NS_PER_S), &err), WHORL_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(err.text, "no node is running at"));
	close(port);
}

/* Calls to a listener with a full queue are not answered, as those to a host that is down. */
TEST(no_call_is_answered)
{
	struct sockaddr_in there;
	socklen_t bytes = sizeof(there);
	int callers[CALLERS], port;
	struct wh_error err;
	char address[32];

	port = open_port(address);
	ck_assert_int_eq(listen(port, 0), 0);
	ck_assert_int_eq(getsockname(port, (struct sockaddr *)&there, &bytes), 0);
	for (int i = 0; i < CALLERS; i++) {
		callers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)!connect(callers[i], (const struct sockaddr *)&there, bytes);
	}
	ck_assert_int_eq(ask(address, ASK_NS, &err), WHORL_AGAIN);
	ck_assert_ptr_nonnull(strstr(err.text, "cannot be reached"));
	for (int i = 0; i < CALLERS; i++)
		close(callers[i]);
	close(port);
}

/* The system takes the call; the owner of the port says nothing. */
TEST(nothing_is_said)
{
	struct wh_error err;
	char address[32];
	int port = open_port(address);

	ck_assert_int_eq(listen(port, 8), 0);
	ck_assert_int_eq(ask(address, ASK_NS, &err), WHORL_TIMEOUT);
	ck_assert_ptr_nonnull(strstr(err.text, "does not answer"));
	close(port);
}

TEST_SUITE("tcp_visit")
