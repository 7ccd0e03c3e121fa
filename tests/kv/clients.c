/* clients.c - clients of examples/kv, good and bad:
 *
 *     kv-clients PORT OTHER-PORT PID
 *
 * PORT is that of the replica with process PID, OTHER-PORT another's. hiredis asks as it always does; others send garbage, halves of commands, lengths
 * without end, come by the thousands and say nothing, and ask without taking the replies. Each must get a clear error, if any, the replica's
 * memory must stay bounded, and the good client must be served all the time.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "tests/harness.h"
#include "tests/patience.h"
#include "tests/sanitizer.h"

#define CROWD 10000
#define SLOW_READERS 8
#define MORE_KB (400 * 1024) /* that all of this may cost: clients_memory, and what the allocator keeps */

static void give_up(const char *what)
{
	fprintf(stderr, "failed: %s\n", what);
	exit(EXIT_FAILURE);
}

static int connect_to(int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		give_up("no connection can be made");
	return fd;
}

/* What comes until the other side ends. */
static size_t read_to_end(int fd, char *text, size_t room)
{
	struct pollfd poll_fd = {fd, POLLIN, 0};
	size_t used = 0;
	ssize_t count;

	do {
		if (poll(&poll_fd, 1, (int)test_patience(10000)) != 1)
			give_up("a connection is neither answered nor ended");
		count = recv(fd, text + used, room - used - 1, 0);
		used += count > 0 ? (size_t)count : 0;
	} while (count > 0 && used < room - 1);
	text[used] = '\0';
	return used;
}

/* Sends it, and expects this reply and the end. */
static void expect(int port, const char *sent, const char *expected)
{
	int fd = connect_to(port);
	char text[4096];

	if (send(fd, sent, strlen(sent), MSG_NOSIGNAL) != (ssize_t)strlen(sent))
		give_up("it cannot be sent");
	read_to_end(fd, text, sizeof(text));
	if (strcmp(text, expected) != 0) {
		fprintf(stderr, "%s: %s instead of %s\n", sent, text, expected);
		give_up("another reply");
	}
	close(fd);
}

static long memory_kb(int pid)
{
	char path[64], line[256];
	long kb = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "r");
	if (file == NULL)
		give_up("the replica is gone");
	while (kb < 0 && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, "VmRSS:", 6) == 0)
			kb = strtol(line + 6, NULL, 10);
	(void)fclose(file);
	return kb;
}

/* ---- the good client --------------------------------------------------------------------------------------------------------*/

static redisContext *open_hiredis(int port)
{
	const struct timeval patience = {(time_t)(test_patience(20000) / 1000), 0};
	redisContext *client = redisConnectWithTimeout("127.0.0.1", port, patience);

	if (client == NULL || client->err != 0 || redisSetTimeout(client, patience) != REDIS_OK)
		give_up("hiredis does not connect");
	return client;
}

/* One number more, which is read back. */
static void serve_once(redisContext *client)
{
	static long long last;
	redisReply *reply = redisCommand(client, "INCR served");

	if (reply == NULL || reply->type != REDIS_REPLY_INTEGER || (last != 0 && reply->integer != last + 1))
		give_up("the good client is not served");
	last = reply->integer;
	freeReplyObject(reply);
	reply = redisCommand(client, "GET served");
	if (reply == NULL || reply->type != REDIS_REPLY_STRING || strtoll(reply->str, NULL, 10) != last)
		give_up("the good client reads something else than it has written");
	freeReplyObject(reply);
}

static void try_hiredis(int port, int other_port)
{
	redisContext *client = open_hiredis(port), *other = open_hiredis(other_port);
	char binary[3000];
	redisReply *reply;

	for (size_t i = 0; i < sizeof(binary); i++)
		binary[i] = (char)(i * 7);
	reply = redisCommand(client, "SET %b %b", binary, (size_t)300, binary, sizeof(binary));
	if (reply == NULL || reply->type != REDIS_REPLY_STATUS)
		give_up("SET of bytes");
	freeReplyObject(reply);
	reply = redisCommand(other, "GET %b", binary, (size_t)300);
	if (reply == NULL || reply->type != REDIS_REPLY_STRING || reply->len != (int)sizeof(binary) ||
	    memcmp(reply->str, binary, sizeof(binary)) != 0)
		give_up("GET of bytes at another replica");
	freeReplyObject(reply);
	for (int i = 0; i < 1000; i++)
		if (redisAppendCommand(client, i % 2 == 0 ? "INCR piped" : "GET piped") != REDIS_OK)
			give_up("hiredis does not take more commands");
	for (int i = 0; i < 1000; i++) {
		if (redisGetReply(client, (void **)&reply) != REDIS_OK)
			give_up("a pipeline is not answered");
		if (i % 2 == 0 ? reply->type != REDIS_REPLY_INTEGER || reply->integer != i / 2 + 1
			       : reply->type != REDIS_REPLY_STRING || strtol(reply->str, NULL, 10) != i / 2 + 1)
			give_up("a pipeline is answered in another order, or reads what is old");
		freeReplyObject(reply);
	}
	redisFree(other);
	redisFree(client);
}

/* ---- others -------------------------------------------------------------------------------------------------------------------*/

static void send_garbage(int port)
{
	uint64_t dice = test_seed(1) | 1;

	expect(port, "*1000000000\r\n", "-ERR Protocol error: invalid multibulk length\r\n");
	expect(port, "*2\r\n$3\r\nGET\r\n$536870912\r\n", "-ERR Protocol error: invalid bulk length\r\n");
	expect(port, "PING\r\n*1\r\n:5\r\n", "+PONG\r\n-ERR Protocol error: expected '$', got ':'\r\n");
	expect(port, "PING\r\nset a \"b\r\n", "+PONG\r\n-ERR Protocol error: unbalanced quotes in request\r\n");
	expect(port, "SET q 1\r\nINCR q\r\nGET q\r\nfoo\r\nQUIT\r\nPING\r\n",
	       "+OK\r\n:2\r\n$1\r\n2\r\n-ERR unknown command 'foo', with args beginning with: \r\n+OK\r\n");
	for (int i = 0; i < 200; i++) {
		int fd = connect_to(port);
		char bytes[300];

		for (size_t k = 0; k < sizeof(bytes); k++) {
			dice ^= dice << 13, dice ^= dice >> 7, dice ^= dice << 17;
			bytes[k] = (char)(k % 20 == 0 ? "*$\r\n"[dice >> 20 & 3] : (char)(dice >> 30));
		}
		(void)send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
		close(fd);
	}
}

/* So many that say nothing, and then half a command each. */
static void come_in_crowds(int port, redisContext *good)
{
	struct rlimit limit;
	int *fds, count = WITH_SANITIZER ? CROWD / 10 : CROWD;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
		if (limit.rlim_cur < (rlim_t)count + 2000) /* the replica needs some for itself, too */
			count = limit.rlim_cur > 2000 ? (int)limit.rlim_cur - 2000 : 100;
	}
	fds = calloc((size_t)count, sizeof(*fds));
	if (fds == NULL)
		give_up("memory is out");
	printf("%d idle clients\n", count);
	for (int i = 0; i < count; i++) {
		fds[i] = connect_to(port);
		if (i % 1000 == 0)
			serve_once(good);
	}
	for (int i = 0; i < count; i++) {
		static const char half[] = "*3\r\n$3\r\nSET\r\n$200000\r\nhalf";

		if (send(fds[i], half, sizeof(half) - 1, MSG_NOSIGNAL) != sizeof(half) - 1)
			give_up("an idle client was closed");
		if (i % 1000 == 0)
			serve_once(good);
	}
	for (int i = 0; i < count; i++)
		close(fds[i]);
	free(fds);
	serve_once(good);
}

/* They ask for much, and take nothing. */
static void read_nothing(int port, redisContext *good)
{
	static char ask[64 * 1024];
	int fds[SLOW_READERS];
	size_t used = 0;
	redisReply *reply;
	char *value = malloc(200001);

	if (value == NULL)
		give_up("memory is out");
	memset(value, 'v', 200000);
	reply = redisCommand(good, "SET large %b", value, (size_t)200000);
	free(value);
	if (reply == NULL || reply->type != REDIS_REPLY_STATUS)
		give_up("SET of 200,000 bytes");
	freeReplyObject(reply);
	while (used + 32 < sizeof(ask))
		used += (size_t)snprintf(ask + used, sizeof(ask) - used, "GET large\r\n");
	for (int i = 0; i < SLOW_READERS; i++) {
		fds[i] = connect_to(port);
		(void)send(fds[i], ask, used, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	for (int i = 0; i < 100; i++)
		serve_once(good);
	for (int i = 0; i < SLOW_READERS; i++)
		close(fds[i]);
	serve_once(good);
}

int main(int argc, char **argv)
{
	int port = argc == 4 ? atoi(argv[1]) : 0, pid = argc == 4 ? atoi(argv[3]) : 0;
	redisContext *good;
	long before, after;

	if (argc != 4) {
		fprintf(stderr, "usage: %s PORT OTHER-PORT PID\n", argv[0]);
		return 2;
	}
	before = memory_kb(pid);
	try_hiredis(port, atoi(argv[2]));
	good = open_hiredis(port);
	serve_once(good);
	send_garbage(port);
	serve_once(good);
	come_in_crowds(port, good);
	read_nothing(port, good);
	after = memory_kb(pid);
	printf("the replica had %ld kB, and has %ld kB\n", before, after);
	if (!WITH_SANITIZER && after > before + MORE_KB)
		give_up("it has taken too much memory");
	redisFree(good);
	return EXIT_SUCCESS;
}
