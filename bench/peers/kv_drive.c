/* kv_drive.c - the connections of kv-load: batches, replies, and how long they took. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bench/peers/kv_load.h"
#include "bench/peers/measure.h"

#define EVENTS 64
#define REPLY_NS UINT64_C(10000000000) /* what is not answered for so long when all else is over is not answered */
#define AGAIN_NS UINT64_C(1000000)     /* until what was refused is asked again */

struct connection {
	int fd; /* -1: it is to be made, at again_ns */
	uint64_t again_ns;
	uint16_t port;
	bool greeting;            /* what comes next is the answer to the greeting */
	uint32_t count, answered; /* of the batch; count 0: there is none */
	uint32_t *keys;           /* of the batch */
	uint64_t asked_ns;        /* when the batch was written */
	char *out, *in;
	size_t out_bytes, out_sent; /* the batch as it is written */
	size_t in_bytes, in_room;
};

struct drive {
	const struct kv_plan *plan;
	const struct kv_dialect *dialect;
	struct kv_figures *figures;
	struct connection *connections;
	int epoll;
	uint32_t busy;   /* connections with a batch */
	uint32_t filled; /* keys that were given to batches */
	uint64_t dice, stamp;
	uint64_t now_ns, begin_ns, count_ns, end_ns; /* what is answered from count_ns to end_ns counts */
	uint64_t last_ns;                            /* when an operation last counted */
	bool counting, over;
};

static uint32_t roll(struct drive *drive)
{
	drive->dice ^= drive->dice << 13;
	drive->dice ^= drive->dice >> 7;
	drive->dice ^= drive->dice << 17;
	return (uint32_t)((drive->dice >> 32) * drive->plan->keys >> 32);
}

/* ---- asking -------------------------------------------------------------------------------------------------------------*/

static void watch(struct drive *drive, struct connection *c, int how, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = c};

	if (epoll_ctl(drive->epoll, how, c->fd, &event) != 0)
		peers_fail("epoll_ctl: %s", strerror(errno));
}

static void break_off(struct drive *drive, struct connection *c, const char *why)
{
	if (!drive->plan->retry)
		peers_fail("port %u: %s", c->port, why);
	drive->figures->errors++;
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->again_ns = drive->now_ns + AGAIN_NS;
}

/* Writes what is left of the batch, as far as there is room. */
static void flush(struct drive *drive, struct connection *c)
{
	ssize_t sent = send(c->fd, c->out + c->out_sent, c->out_bytes - c->out_sent, MSG_NOSIGNAL);
	bool waited = c->out_sent > 0;

	if (sent < 0 && errno != EAGAIN) {
		break_off(drive, c, strerror(errno));
		return;
	}
	c->out_sent += sent > 0 ? (size_t)sent : 0;
	if (c->out_sent < c->out_bytes)
		watch(drive, c, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
	else if (waited)
		watch(drive, c, EPOLL_CTL_MOD, EPOLLIN);
}

/* Writes the batch of the keys that are chosen. */
static void ask(struct drive *drive, struct connection *c, bool greets)
{
	const struct kv_plan *plan = drive->plan;
	char *at = c->out;

	if (greets)
		at += drive->dialect->greet(at);
	for (uint32_t i = 0; i < c->count; i++) {
		if (plan->work == KV_GET)
			at += drive->dialect->get(plan, at, c->keys[i]);
		else
			at += drive->dialect->put(plan, at, c->keys[i], drive->stamp++);
	}
	if (plan->wait > 0)
		at += drive->dialect->wait(plan, at);
	c->greeting = greets;
	c->answered = 0;
	c->out_bytes = (size_t)(at - c->out);
	c->out_sent = 0;
	c->asked_ns = peers_now();
	flush(drive, c);
}

/* Chooses the keys of the next batch: none if it is over. */
static void choose(struct drive *drive, struct connection *c)
{
	const struct kv_plan *plan = drive->plan;
	uint32_t most = plan->pipeline;

	if (plan->work == KV_FILL && plan->keys - drive->filled < most)
		most = plan->keys - drive->filled;
	if (drive->over)
		most = 0;
	for (uint32_t i = 0; i < most; i++)
		c->keys[i] = plan->work == KV_FILL ? drive->filled++ : roll(drive);
	drive->busy += (most > 0) - (c->count > 0);
	c->count = most;
}

static void connect_to(struct drive *drive, struct connection *c)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(c->port)};
	int one = 1;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	c->again_ns = 0;
	c->in_bytes = 0;
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		peers_fail("socket: %s", strerror(errno));
	if (connect(c->fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
		break_off(drive, c, strerror(errno));
		return;
	}
	if (setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) != 0 ||
	    fcntl(c->fd, F_SETFL, O_NONBLOCK) != 0)
		peers_fail("port %u: %s", c->port, strerror(errno));
	watch(drive, c, EPOLL_CTL_ADD, EPOLLIN);
	if (c->count > 0)
		ask(drive, c, drive->plan->local && drive->dialect->greet != NULL);
}

/* ---- replies ------------------------------------------------------------------------------------------------------------*/

static void count(struct drive *drive, const struct connection *c, uint32_t operations)
{
	struct kv_figures *figures = drive->figures;

	if (!drive->counting || drive->now_ns > drive->end_ns)
		return;
	figures->operations += operations;
	for (uint32_t i = 0; i < operations; i++)
		wh_histogram_add(&figures->latency, drive->now_ns - c->asked_ns);
	if (drive->now_ns - drive->last_ns > figures->gap_ns)
		figures->gap_ns = drive->now_ns - drive->last_ns;
	drive->last_ns = drive->now_ns;
}

static const char *work_name(enum kv_work work)
{
	return work == KV_GET ? "get" : "put";
}

/* Takes in the next reply. False: it was not what it should be, and the connection is broken off. */
static bool take(struct drive *drive, struct connection *c, const struct kv_reply *reply)
{
	const struct kv_plan *plan = drive->plan;
	bool good = reply->verdict == KV_DONE;
	const char *what = c->greeting ? "greeting" : c->answered == c->count ? "wait" : work_name(plan->work);
	char text[512];

	if (c->answered == c->count)
		good = reply->verdict == KV_NUMBER;
	else if (!c->greeting && plan->work == KV_GET)
		good = reply->verdict == KV_FOUND &&
		       kv_is_value(plan, reply->value, reply->bytes, c->keys[c->answered]);
	if (!good) {
		snprintf(text, sizeof(text), "the answer to a %s is not as it should be: %.*s", what, (int)reply->bytes,
			 reply->value == NULL ? "" : reply->value);
		break_off(drive, c, text);
		return false;
	}
	if (c->greeting) {
		c->greeting = false;
		return true;
	}
	if (c->answered++ == c->count) {
		bool enough = reply->number >= plan->wait;

		count(drive, c, enough ? c->count : 0);
		drive->figures->short_of += drive->counting && !enough ? c->count : 0;
	} else if (plan->wait == 0) {
		count(drive, c, 1);
	}
	return true;
}

/* Takes in all replies that are there. */
static void take_all(struct drive *drive, struct connection *c)
{
	size_t at = 0;

	while (at < c->in_bytes) {
		struct kv_reply reply = drive->dialect->read(c->in + at, c->in_bytes - at);

		if (reply.verdict == KV_MORE)
			break;
		if (c->count == 0 || c->answered == c->count + (drive->plan->wait > 0)) {
			break_off(drive, c, "an answer that nothing was asked for");
			return;
		}
		if (!take(drive, c, &reply))
			return;
		at += reply.length;
	}
	memmove(c->in, c->in + at, c->in_bytes - at);
	c->in_bytes -= at;
}

static void receive(struct drive *drive, struct connection *c)
{
	ssize_t got;

	if (c->in_bytes == c->in_room) {
		break_off(drive, c, "an answer is longer than any should be");
		return;
	}
	got = recv(c->fd, c->in + c->in_bytes, c->in_room - c->in_bytes, 0);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	drive->now_ns = peers_now();
	if (got <= 0) {
		break_off(drive, c, got == 0 ? "the server has closed the connection" : strerror(errno));
		return;
	}
	c->in_bytes += (size_t)got;
	take_all(drive, c);
	if (c->fd < 0 || c->answered < c->count + (drive->plan->wait > 0))
		return;
	choose(drive, c);
	if (c->count > 0)
		ask(drive, c, false);
}

/* ---- all of it ----------------------------------------------------------------------------------------------------------*/

static uint64_t time_of_servers(const struct kv_plan *plan)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < plan->pid_count; i++) {
		struct timespec used;
		clockid_t clock;

		if (clock_getcpuclockid(plan->pids[i], &clock) == 0 && clock_gettime(clock, &used) == 0)
			all += (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
	}
	return all;
}

static uint64_t own_time(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

/* Begins and ends what counts, when its time is there. */
static void keep_time(struct drive *drive)
{
	struct kv_figures *figures = drive->figures;
	bool filled = drive->plan->work == KV_FILL && drive->filled == drive->plan->keys && drive->busy == 0;

	if (!drive->counting && !drive->over && drive->now_ns >= drive->count_ns) {
		drive->counting = true;
		drive->count_ns = drive->last_ns = drive->now_ns;
		figures->servers_ns = time_of_servers(drive->plan);
		figures->load_ns = own_time();
	}
	if (!drive->over && (filled || drive->now_ns >= drive->end_ns)) {
		drive->over = true;
		if (drive->now_ns < drive->end_ns)
			drive->end_ns = drive->now_ns;
		if (drive->end_ns - drive->last_ns > figures->gap_ns) /* nothing has counted up to the end */
			figures->gap_ns = drive->end_ns - drive->last_ns;
		figures->elapsed_ns = drive->end_ns - drive->count_ns;
		figures->servers_ns = time_of_servers(drive->plan) - figures->servers_ns;
		figures->load_ns = own_time() - figures->load_ns;
	}
	if (drive->over && drive->now_ns > drive->end_ns + REPLY_NS)
		peers_fail("%" PRIu32 " connections have waited %d s for answers", drive->busy,
			   (int)(REPLY_NS / 1000000000));
}

static bool is_given_up(const struct drive *drive, const struct connection *c)
{
	uint64_t give_up_ns = drive->plan->give_up_ns;

	return give_up_ns > 0 && c->fd >= 0 && c->count > 0 && drive->now_ns > c->asked_ns + give_up_ns;
}

/* Makes connections anew, or gives them up when it is over. The time until the next is to be made, in ms; 10: none is. */
static int reconnect(struct drive *drive)
{
	int until_ms = 10;

	for (uint32_t i = 0; i < drive->plan->connections; i++) {
		struct connection *c = &drive->connections[i];

		if (is_given_up(drive, c))
			break_off(drive, c, "no answer");
		if (c->fd >= 0 || c->again_ns == 0)
			continue;
		if (drive->over) {
			drive->busy -= c->count > 0;
			c->again_ns = 0;
		} else if (c->again_ns <= drive->now_ns) {
			connect_to(drive, c);
		}
		if (c->again_ns != 0)
			until_ms = 1;
	}
	return until_ms;
}

static void turn(struct drive *drive, int timeout_ms)
{
	struct epoll_event events[EVENTS];
	int count = epoll_wait(drive->epoll, events, EVENTS, timeout_ms);

	if (count < 0 && errno != EINTR)
		peers_fail("epoll_wait: %s", strerror(errno));
	drive->now_ns = peers_now();
	for (int i = 0; i < count; i++) {
		struct connection *c = events[i].data.ptr;

		if ((events[i].events & EPOLLOUT) != 0)
			flush(drive, c);
		if (c->fd >= 0 && (events[i].events & ~(uint32_t)EPOLLOUT) != 0)
			receive(drive, c);
	}
}

static void *room_of(size_t count, size_t bytes)
{
	void *memory = calloc(count, bytes);

	if (memory == NULL)
		peers_fail("out of memory");
	return memory;
}

static void open_all(struct drive *drive)
{
	const struct kv_plan *plan = drive->plan;
	size_t room = drive->dialect->room(plan) * (plan->pipeline + 2);

	drive->connections = room_of(plan->connections, sizeof(struct connection));
	drive->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (drive->epoll < 0)
		peers_fail("epoll_create1: %s", strerror(errno));
	for (uint32_t i = 0; i < plan->connections; i++) {
		struct connection *c = &drive->connections[i];

		*c = (struct connection){.fd = -1, .port = plan->ports[i % plan->port_count], .in_room = room};
		c->keys = room_of(plan->pipeline, sizeof(*c->keys));
		c->out = room_of(1, room);
		c->in = room_of(1, room);
		choose(drive, c);
		connect_to(drive, c);
	}
}

static void close_all(struct drive *drive)
{
	for (uint32_t i = 0; i < drive->plan->connections; i++) {
		struct connection *c = &drive->connections[i];

		if (c->fd >= 0)
			close(c->fd);
		free(c->keys);
		free(c->out);
		free(c->in);
	}
	free(drive->connections);
	close(drive->epoll);
}

void kv_drive(const struct kv_plan *plan, struct kv_figures *figures)
{
	struct drive drive = {.plan = plan, .dialect = plan->etcd ? &kv_etcd : &kv_resp, .figures = figures};
	int until_ms;

	drive.dice = peers_now() | 1;
	drive.now_ns = drive.begin_ns = peers_now();
	drive.count_ns = drive.begin_ns + plan->warm_ns;
	drive.end_ns = drive.count_ns + plan->duration_ns;
	open_all(&drive);
	while (!drive.over || drive.busy > 0) {
		keep_time(&drive);
		until_ms = reconnect(&drive);
		turn(&drive, drive.over && drive.busy == 0 ? 0 : until_ms);
	}
	close_all(&drive);
}
