/* peer_tirpc.c - what a call of ONC RPC costs beside one of delegation to another node: a process echoes, another calls it, one call at a time.
 *
 *     peer-tirpc BYTES SECONDS [polling]
 *
 * Both are libtirpc's, over tcp on 127.0.0.1, without rpcbind. A client of it sleeps until its answer is there, and so does the server
 * (svc_run), unless it is `polling`: then it looks for requests without ever sleeping. Prints {"calls_per_s", "latency_us": {"p50", "p99"}, "calls"};
 * each answer is compared with what was asked.
 */
#include <arpa/inet.h>
#include <err.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rpc/rpc.h>

#include "bench/peers/measure.h"

#define SECOND UINT64_C(1000000000)
#define WARM_NS (SECOND / 5)
#define BYTES_MOST 65536
#define PROGRAM 0x20007768u /* of those that are anybody's */
#define VERSION 1u
#define ECHO 1u
#define CALL_S 10

struct message {
	u_int bytes;
	char *data;
};

static double number(const char *text, double least, double most)
{
	char *end;
	double value = strtod(text, &end);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || !(value >= least && value <= most))
		errx(2, "\"%s\": expected a number from %g to %g", text, least, most);
	return value;
}

static bool_t xdr_message(XDR *xdrs, struct message *message)
{
	return xdr_bytes(xdrs, &message->data, &message->bytes, BYTES_MOST);
}

static bool_t code_message(XDR *xdrs, ...) /* as xdrproc_t is declared */
{
	struct message *message;
	va_list list;

	va_start(list, xdrs);
	message = va_arg(list, struct message *);
	va_end(list);
	return xdr_message(xdrs, message);
}

/* ---- the server --------------------------------------------------------------------------------------------------------------- */

static void answer(struct svc_req *request, SVCXPRT *transport)
{
	static char room[BYTES_MOST];
	struct message message = {0, room};

	if (request->rq_proc != ECHO)
		svcerr_noproc(transport);
	else if (!svc_getargs(transport, code_message, (caddr_t)&message))
		svcerr_decode(transport);
	else
		(void)svc_sendreply(transport, code_message, (caddr_t)&message);
}

static void poll_for_ever(void)
{
	struct pollfd *ready = NULL;
	int count = 0;

	for (;;) {
		int found;

		if (count != svc_max_pollfd) {
			count = svc_max_pollfd;
			free(ready);
			ready = calloc((size_t)count, sizeof *ready);
			if (ready == NULL)
				errx(1, "no memory");
		}
		memcpy(ready, svc_pollfd, (size_t)count * sizeof *ready);
		found = poll(ready, (nfds_t)count, 0);
		if (found > 0)
			svc_getreq_poll(ready, found);
		else
			sched_yield(); /* the client, if there is no other processor */
	}
}

/* Until its parent ends it. */
static _Noreturn void serve(int listening, bool polling)
{
	SVCXPRT *transport;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	transport = svc_vc_create(listening, 0, 0);
	if (transport == NULL || !svc_reg(transport, PROGRAM, VERSION, answer, NULL))
		errx(1, "libtirpc makes no server");
	if (polling)
		poll_for_ever();
	svc_run();
	errx(1, "the server has ended");
}

/* ---- the client --------------------------------------------------------------------------------------------------------------- */

static CLIENT *connect_to(struct sockaddr_in *at)
{
	struct netbuf address = {sizeof *at, sizeof *at, at};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	CLIENT *client;

	if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
	    connect(fd, (struct sockaddr *)at, sizeof *at) != 0)
		err(1, "connect");
	client = clnt_vc_create(fd, &address, PROGRAM, VERSION, 0, 0);
	if (client == NULL)
		errx(1, "%s", clnt_spcreateerror("libtirpc makes no client"));
	return client;
}

static void call(CLIENT *client, uint32_t bytes, uint64_t turn)
{
	static char asked[BYTES_MOST], answered[BYTES_MOST];
	struct message question = {bytes, asked}, reply = {0, answered};
	enum clnt_stat status;

	memcpy(asked, &turn, bytes < sizeof turn ? bytes : sizeof turn);
	status = clnt_call(client, ECHO, code_message, (caddr_t)&question, code_message, (caddr_t)&reply,
			   ((struct timeval){CALL_S, 0}));
	if (status != RPC_SUCCESS)
		errx(1, "%s", clnt_sperrno(status));
	if (reply.bytes != bytes || memcmp(asked, answered, bytes) != 0)
		errx(1, "an answer is not what was asked");
}

static void measure(CLIENT *client, uint32_t bytes, double seconds)
{
	static struct wh_histogram latency;
	uint64_t begun = peers_now(), turn = 0, now, before;

	while (peers_now() - begun < WARM_NS)
		call(client, bytes, turn++);
	begun = now = peers_now();
	while (now - begun < (uint64_t)(seconds * SECOND)) {
		before = now;
		call(client, bytes, turn++);
		now = peers_now();
		wh_histogram_add(&latency, now - before);
	}
	printf("{\"calls_per_s\": %.0f, \"latency_us\": {\"p50\": %.3f, \"p99\": %.3f}, \"calls\": %" PRIu64 "}\n",
	       (double)latency.count * SECOND / (double)(now - begun), wh_histogram_quantile(&latency, 0.5) / 1e3,
	       wh_histogram_quantile(&latency, 0.99) / 1e3, latency.count);
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof at;
	uint32_t bytes;
	double seconds;
	int listening;
	pid_t server;

	if (argc < 3 || argc > 4 || (argc == 4 && strcmp(argv[3], "polling") != 0))
		errx(2, "usage: peer-tirpc BYTES SECONDS [polling]");
	bytes = (uint32_t)number(argv[1], 1, BYTES_MOST);
	seconds = number(argv[2], 0.01, 3600);
	listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listening < 0 || bind(listening, (struct sockaddr *)&at, sizeof at) != 0 || listen(listening, 8) != 0 ||
	    getsockname(listening, (struct sockaddr *)&at, &length) != 0)
		err(1, "listen");
	server = fork();
	if (server < 0)
		err(1, "fork");
	if (server == 0)
		serve(listening, argc == 4);
	close(listening);
	measure(connect_to(&at), bytes, seconds);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	return 0;
}
