/* delegate_kv_load.c - `whorl delegate kv --load`: clients that measure a server. See delegate_kv.h.
 *
 * One thread, and connections that each send a pipeline of commands, wait for all its replies, and send the next. First all keys are set, once.
 * Which keys are asked for is drawn beforehand, so that drawing costs nothing while it is measured.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/histogram.h"
#include "tools/delegate_kv.h"

#define PICKS (UINT32_C(1) << 20)
#define KEY_BYTES 16 /* "key:000000000001" */
#define IN_BYTES 65536
#define EVENTS 64
#define ANSWERS_MS 10000 /* that a reply may take */
#define LOOK_MS 100

struct connection {
	struct loader *loader;
	int fd;
	char *out, *in;
	size_t out_bytes, out_at, in_bytes, skip; /* skip: of a value that has not come whole */
	uint32_t left;                            /* replies that are to come */
	uint64_t since;
	bool watches_out, waits; /* the latter: for replies */
};

struct loader {
	const struct wh_kv_load *load;
	struct connection *connections;
	int epoll;
	uint32_t *picks;
	char *value;
	uint64_t dice, turn, set_next;
	bool fills, stops; /* keys are set for the first time; nothing more is sent */
	uint32_t busy;     /* connections that wait for replies */
	uint64_t done, errors;
	const char *wrong; /* NULL: nothing */
	struct wh_histogram latency;
};

static uint64_t draw(uint64_t *dice) /* splitmix64 */
{
	uint64_t z = *dice += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* Key i in proportion to 1 / (i + 1)^zipf. */
static bool make_picks(struct loader *l)
{
	uint32_t keys = l->load->keys;
	double *sums = malloc(keys * sizeof(*sums)), sum = 0;

	l->picks = malloc(PICKS * sizeof(*l->picks));
	for (uint32_t i = 0; sums != NULL && i < keys; i++)
		sums[i] = sum += pow(i + 1.0, -l->load->zipf);
	for (uint32_t p = 0; sums != NULL && l->picks != NULL && p < PICKS; p++) {
		double at = (double)(draw(&l->dice) >> 11) * 0x1p-53 * sum;
		uint32_t low = 0, high = keys - 1;

		while (low < high) {
			uint32_t middle = low + (high - low) / 2;

			if (sums[middle] > at)
				high = middle;
			else
				low = middle + 1;
		}
		l->picks[p] = low;
	}
	free(sums);
	return sums != NULL && l->picks != NULL;
}

/* ---- commands ---------------------------------------------------------------------------------------------------------------------- */

static char *add_text(char *to, const char *text)
{
	size_t bytes = strlen(text);

	memcpy(to, text, bytes);
	return to + bytes;
}

static char *add_key(char *to, uint64_t number)
{
	to = add_text(to, "$16\r\nkey:000000000000\r\n");
	for (char *digit = to - 3; number > 0; number /= 10)
		*digit-- = (char)('0' + number % 10);
	return to;
}

/* SET, with the length of the value and the rest that is the same for all. */
#define SET_HEAD "*3\r\n$3\r\nSET\r\n"
#define GET_HEAD "*2\r\n$3\r\nGET\r\n"
#define COMMAND_MOST 80 /* bytes without the value */

static char *add_set(const struct loader *l, char *to, uint64_t key)
{
	to = add_key(add_text(to, SET_HEAD), key);
	to += sprintf(to, "$%" PRIu32 "\r\n", l->load->value_bytes);
	memcpy(to, l->value, l->load->value_bytes);
	return add_text(to + l->load->value_bytes, "\r\n");
}

static char *add_command(struct loader *l, char *to)
{
	uint32_t key;
	bool writes;

	if (l->fills)
		return add_set(l, to, l->set_next++);
	key = l->picks[l->turn++ % PICKS];
	writes = (double)(draw(&l->dice) >> 11) * 0x1p-53 * 100 < l->load->writes;
	return writes ? add_set(l, to, key) : add_key(add_text(to, GET_HEAD), key);
}

static bool write_out(struct connection *c)
{
	struct epoll_event event = {.data.ptr = c};
	bool blocked = false;

	while (c->out_at < c->out_bytes && !blocked) {
		ssize_t count = send(c->fd, c->out + c->out_at, c->out_bytes - c->out_at, MSG_NOSIGNAL);

		if (count > 0)
			c->out_at += (size_t)count;
		else if (count < 0 && errno == EAGAIN)
			blocked = true;
		else if (count >= 0 || errno != EINTR)
			return false;
	}
	if (blocked == c->watches_out)
		return true;
	c->watches_out = blocked;
	event.events = EPOLLIN | (blocked ? EPOLLOUT : 0);
	return epoll_ctl(c->loader->epoll, EPOLL_CTL_MOD, c->fd, &event) == 0;
}

/* The next pipeline, or none if there is nothing more to do. */
static bool begin(struct connection *c)
{
	struct loader *l = c->loader;
	uint64_t count = l->load->pipeline;
	char *to = c->out;

	if (l->fills && l->load->keys - l->set_next < count)
		count = l->load->keys - l->set_next;
	if (l->stops || count == 0)
		return true;
	for (uint64_t i = 0; i < count; i++)
		to = add_command(l, to);
	c->out_bytes = (size_t)(to - c->out);
	c->out_at = 0;
	c->left = (uint32_t)count;
	c->since = wh_clock_ns();
	c->waits = true;
	l->busy++;
	return write_out(c);
}

/* ---- replies ----------------------------------------------------------------------------------------------------------------------- */

/* A line that is a reply, or begins one. False: it is none. */
static bool take_line(struct connection *c, const char *line)
{
	long bytes;

	switch (line[0]) {
	case '-':
		c->loader->errors++;
		return true;
	case '+':
	case ':':
		return true;
	case '$':
		bytes = strtol(line + 1, NULL, 10);
		c->skip = bytes < 0 ? 0 : (size_t)bytes + 2;
		return bytes <= (long)WH_KV_WORD_MAX;
	default:
		return false;
	}
}

static bool take_replies(struct connection *c)
{
	char *at = c->in, *end = c->in + c->in_bytes;

	while (at < end) {
		size_t skipped = c->skip < (size_t)(end - at) ? c->skip : (size_t)(end - at);
		char *line = at + skipped, *line_end;

		c->skip -= skipped;
		at = line;
		line_end = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
		if (c->skip > 0 || line_end == NULL)
			break;
		if (c->left == 0 || !take_line(c, line))
			return false;
		c->left--;
		at = line_end + 1;
	}
	c->in_bytes = (size_t)(end - at);
	memmove(c->in, at, c->in_bytes);
	return c->in_bytes < IN_BYTES;
}

static bool receive(struct connection *c)
{
	struct loader *l = c->loader;
	uint32_t before = c->left;
	ssize_t count = recv(c->fd, c->in + c->in_bytes, IN_BYTES - c->in_bytes, 0);

	if (count < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (count <= 0)
		return false;
	c->in_bytes += (size_t)count;
	if (!take_replies(c))
		return false;
	l->done += before - c->left;
	if (!c->waits || c->left > 0 || c->skip > 0)
		return true;
	c->waits = false;
	wh_histogram_add(&l->latency, wh_clock_ns() - c->since);
	l->busy--;
	return begin(c);
}

/* ---- the run ----------------------------------------------------------------------------------------------------------------------- */

static bool connect_to(struct loader *l, struct connection *c, const struct sockaddr_in *at)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
	const int on = 1;

	c->loader = l;
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	c->out = malloc((size_t)l->load->pipeline * (COMMAND_MOST + l->load->value_bytes));
	c->in = malloc(IN_BYTES + 1);
	if (c->fd < 0 || c->out == NULL || c->in == NULL ||
	    connect(c->fd, (const struct sockaddr *)at, sizeof(*at)) != 0 || fcntl(c->fd, F_SETFL, O_NONBLOCK) != 0 ||
	    epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &event) != 0) {
		wh_say("kv: %s: %s", l->load->to, strerror(errno));
		return false;
	}
	(void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return true;
}

/* HOST:PORT. */
static bool read_address(const char *text, struct sockaddr_in *at)
{
	const char *colon = strrchr(text, ':');
	char host[64] = "", *end;
	long port = colon == NULL ? 0 : strtol(colon + 1, &end, 10);

	*at = (struct sockaddr_in){.sin_family = AF_INET};
	if (colon == NULL || colon == text || (size_t)(colon - text) >= sizeof(host) || colon[1] < '0' ||
	    colon[1] > '9' || *end != '\0' || port < 1 || port > 65535)
		return false;
	memcpy(host, text, (size_t)(colon - text));
	at->sin_port = htons((uint16_t)port);
	return inet_pton(AF_INET, host, &at->sin_addr) == 1;
}

/* Until all is answered, or the time has come, from which on nothing more is sent. */
static void run_for(struct loader *l, struct wh_watch *watch, uint64_t until)
{
	struct epoll_event events[EVENTS];
	uint64_t heard = wh_clock_ns();

	for (uint32_t i = 0; i < l->load->connections && l->wrong == NULL; i++)
		if (!begin(&l->connections[i]))
			l->wrong = "a connection has ended";
	while (l->busy > 0 && l->wrong == NULL) {
		int count = epoll_wait(l->epoll, events, EVENTS, LOOK_MS);
		uint64_t now = wh_clock_ns();

		heard = count > 0 ? now : heard;
		for (int i = 0; i < count && l->wrong == NULL; i++) {
			struct connection *c = events[i].data.ptr;

			if (((events[i].events & EPOLLOUT) && !write_out(c)) ||
			    ((events[i].events & ~(uint32_t)EPOLLOUT) && !receive(c)))
				l->wrong = "a connection has ended, or what came is no reply";
		}
		if (now > heard + ANSWERS_MS * UINT64_C(1000000))
			l->wrong = "there is no reply";
		if (count == 0 || l->done % 64 == 0)
			wh_watch_wait(watch, 0);
		l->stops = l->stops || now >= until || watch->interrupted != 0;
	}
}

static bool write_json(const struct loader *l, double ops, const double us[2])
{
	const struct wh_kv_load *load = l->load;
	json_t *root = json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:{s:f, s:f}, s:I}", "command",
				 "kv --load", "to", load->to, "connections", (int)load->connections, "pipeline",
				 (int)load->pipeline, "keys", (int)load->keys, "bytes", (int)load->value_bytes, "zipf",
				 load->zipf, "writes", load->writes, "ops_per_s", ops, "pipeline_us", "p50", us[0],
				 "p99", us[1], "errors", (json_int_t)l->errors);
	FILE *file = root == NULL ? NULL : fopen(load->json, "we");
	bool good = file != NULL &&
		    json_dumpf(root, file, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6)) == 0 &&
		    fputc('\n', file) != EOF;

	if (file != NULL)
		good = fclose(file) == 0 && good;
	if (!good)
		wh_say("%s: %s", load->json, strerror(errno));
	json_decref(root);
	return good;
}

static enum wh_exit measure(struct loader *l, struct wh_watch *watch)
{
	uint64_t begun;
	double seconds, us[2], ops;

	l->fills = true;
	run_for(l, watch, UINT64_MAX);
	l->fills = false;
	l->latency = (struct wh_histogram){0};
	l->done = 0;
	begun = wh_clock_ns();
	if (l->wrong == NULL && watch->interrupted == 0)
		run_for(l, watch, begun + (uint64_t)(l->load->seconds * 1e9));
	if (watch->interrupted != 0)
		return WH_EXIT_INTERRUPTED;
	if (l->wrong != NULL) {
		wh_say("kv: %s: %s", l->load->to, l->wrong);
		return WH_EXIT_FAILED;
	}
	seconds = (double)(wh_clock_ns() - begun) / 1e9;
	ops = (double)l->done / seconds;
	us[0] = wh_histogram_quantile(&l->latency, 0.5) / 1000;
	us[1] = wh_histogram_quantile(&l->latency, 0.99) / 1000;
	printf("ops_per_s %.0f p50_us %.1f p99_us %.1f errors %" PRIu64 "\n", ops, us[0], us[1], l->errors);
	if (!wh_flush_file(stdout, WH_STDOUT) || (l->load->json != NULL && !write_json(l, ops, us)))
		return WH_EXIT_FAILED;
	return l->errors == 0 ? WH_EXIT_GOOD : WH_EXIT_FAILED;
}

static void free_all(struct loader *l)
{
	for (uint32_t i = 0; l->connections != NULL && i < l->load->connections; i++) {
		if (l->connections[i].fd > 0)
			close(l->connections[i].fd);
		free(l->connections[i].out);
		free(l->connections[i].in);
	}
	if (l->epoll >= 0)
		close(l->epoll);
	free(l->connections);
	free(l->picks);
	free(l->value);
	free(l);
}

enum wh_exit wh_kv_load_run(struct wh_kv_load *load, struct wh_watch *watch)
{
	struct loader *l = calloc(1, sizeof(*l));
	struct sockaddr_in at;
	enum wh_exit status = WH_EXIT_MACHINE;
	bool good = l != NULL;

	if (!read_address(load->to, &at)) {
		wh_say("kv: --load is \"%s\", expected HOST:PORT", load->to);
		free(l);
		return WH_EXIT_USAGE;
	}
	if (l != NULL) {
		l->load = load;
		l->dice = 1;
		l->epoll = epoll_create1(EPOLL_CLOEXEC);
		l->connections = calloc(load->connections, sizeof(*l->connections));
		l->value = malloc(load->value_bytes);
		good = l->epoll >= 0 && l->connections != NULL && l->value != NULL && make_picks(l);
	}
	if (!good) {
		wh_say("kv: no memory");
	} else {
		memset(l->value, 'v', load->value_bytes);
		for (uint32_t i = 0; good && i < load->connections; i++)
			good = connect_to(l, &l->connections[i], &at);
		status = good ? measure(l, watch) : WH_EXIT_FAILED;
	}
	if (l != NULL)
		free_all(l);
	return status;
}
