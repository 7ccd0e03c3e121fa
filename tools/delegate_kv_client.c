/* delegate_kv_client.c - threads that serve sockets. See delegate_kv.h.
 *
 * A turn: what has come is read, parsed, and asked for; answers that are there are taken, and replies leave. While requests are under way the
 * thread waits for answers in whorl_poll, a millisecond at most, and looks at its sockets in between; otherwise it sleeps in epoll.
 *
 * What a client can hold is bounded: by the parser's limits; by reading no further while it has WH_KV_SLOTS commands under way, or so many
 * that their replies may become large, or does not take its replies; and for all clients together by WH_KV_MEMORY_MAX.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "tools/delegate_kv.h"

#define EVENTS 64
#define OUT_PAUSE ((size_t)1 << 20) /* nothing more is done for a client that has so much to take */
#define UNDER_WAY ((size_t)4 << 20) /* about so many bytes of replies may be under way for one */
#define LEAVES ((size_t)16 << 10)   /* so much leaves, though more is to come */
#define KEPT 16384                  /* of buffers, while a client is idle */
#define SMALL ((size_t)64 << 10)    /* clients that hold no more are not closed for the memory of others */
#define LOOK_MS 100
#define DRAIN_MS 1000
#define END_MS 2000
#define POLLS 16

static const struct kv_limits limits = {WH_KV_WORD_MAX, WH_KV_COMMAND_MAX, 2 * WH_KV_KEYS_MAX + 16};

uint64_t wh_kv_now_ms(void)
{
	return wh_clock_ns() / WH_NS_PER_MS;
}

void wh_kv_client_touch(struct wh_kv_client *client)
{
	if (client->touched)
		return;
	client->touched = true;
	client->next_touched = client->thread->touched;
	client->thread->touched = client;
}

static bool is_idle(const struct wh_kv_client *c)
{
	return c->first == c->behind;
}

static size_t unwritten(const struct wh_kv_client *c)
{
	return c->out.used - c->out_at;
}

/* ---- coming and going -------------------------------------------------------------------------------------------------------------- */

static void watch(struct wh_kv_client *c, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = c};

	if (c->watched != events && epoll_ctl(c->thread->epoll, EPOLL_CTL_MOD, c->fd, &event) == 0)
		c->watched = events;
}

static bool add_client(struct wh_kv_thread *thread, int fd)
{
	struct wh_kv_client *c = calloc(1, sizeof(*c));
	struct wh_kv_slot *slots = calloc(WH_KV_SLOTS, sizeof(*slots));
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
	const int on = 1;

	if (c == NULL || slots == NULL || epoll_ctl(thread->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
		free(slots);
		free(c);
		return false;
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	*c = (struct wh_kv_client){
		.thread = thread, .fd = fd, .watched = EPOLLIN, .next = thread->clients, .slots = slots};
	if (c->next != NULL)
		c->next->previous = c;
	thread->clients = c;
	thread->counts.clients++;
	return true;
}

static void take_clients(struct wh_kv_thread *thread)
{
	int fd;

	while (read(thread->pipe[0], &fd, sizeof(fd)) == sizeof(fd))
		if (!add_client(thread, fd)) {
			close(fd);
			wh_fetch_add(thread->clients_open, UINT64_MAX);
		}
}

static void count_memory(struct wh_kv_client *c)
{
	size_t memory = kv_parser_memory(&c->parser) + c->input.room + c->out.room + c->kept;

	if (memory > c->memory)
		wh_fetch_add(c->thread->memory, memory - c->memory);
	else if (memory < c->memory)
		wh_fetch_add(c->thread->memory, 0 - (uint64_t)(c->memory - memory));
	c->memory = memory;
}

/* Nothing is under way for it any more. */
static void free_client(struct wh_kv_client *c)
{
	if (c->previous != NULL)
		c->previous->next = c->next;
	else
		c->thread->clients = c->next;
	if (c->next != NULL)
		c->next->previous = c->previous;
	kv_bytes_clear(&c->out, 0);
	c->kept = 0;
	count_memory(c);
	for (uint32_t i = 0; i < WH_KV_SLOTS; i++)
		wh_kv_slot_free(&c->slots[i]);
	free(c->slots);
	free(c);
}

static void close_client(struct wh_kv_client *c)
{
	if (c->fd < 0)
		return;
	close(c->fd);
	c->fd = -1;
	wh_fetch_add(c->thread->clients_open, UINT64_MAX);
	if (c->held)
		wh_kv_command_give_up(c);
	kv_parser_free(&c->parser);
	kv_bytes_clear(&c->input, 0);
	kv_bytes_clear(&c->out, 0);
	c->out_at = 0;
	wh_kv_client_touch(c);
}

static void close_refused(struct wh_kv_client *c)
{
	c->thread->counts.refused++;
	close_client(c);
}

/* ---- replies out --------------------------------------------------------------------------------------------------------------------- */

/* All is written: the other side is told so, and what it still sends is read, for a while. Without that it may not see the last reply. */
static void begin_drain(struct wh_kv_client *c)
{
	if (c->drain_until_ms == 0) {
		(void)shutdown(c->fd, SHUT_WR);
		c->drain_until_ms = c->thread->now_ms + DRAIN_MS;
	}
	watch(c, EPOLLIN);
}

/* Writes what can be written. False: the client is gone. */
static bool flush(struct wh_kv_client *c)
{
	while (unwritten(c) > 0) {
		ssize_t count = send(c->fd, c->out.data + c->out_at, unwritten(c), MSG_NOSIGNAL);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0 && errno == EAGAIN)
			return true;
		if (count <= 0)
			return close_client(c), false;
		c->out_at += (size_t)count;
		c->moved_ms = c->thread->now_ms;
		c->thread->counts.written_bytes += (uint64_t)count;
	}
	kv_bytes_clear(&c->out, KEPT);
	c->out_at = 0;
	return true;
}

/* ---- commands in ---------------------------------------------------------------------------------------------------------------------- */

static bool may_begin(const struct wh_kv_client *c)
{
	uint64_t under_way = c->behind - c->first;

	return !c->ends && !c->held && unwritten(c) < OUT_PAUSE && under_way < WH_KV_SLOTS &&
	       (under_way == 0 || (under_way + 1) * c->largest <= UNDER_WAY);
}

static void feed(struct wh_kv_client *c, const char **data, size_t *bytes)
{
	while (may_begin(c)) {
		enum kv_parsed parsed = kv_parse(&c->parser, &limits, data, bytes);

		if (parsed == KV_PARSED_MORE)
			return;
		if (parsed == KV_PARSED_COMMAND) {
			wh_kv_command_begin(c);
		} else {
			wh_kv_command_refuse(c, c->parser.error);
			c->thread->counts.refused++;
			c->ends = true;
		}
	}
}

/* What has been kept is parsed first. */
static void feed_input(struct wh_kv_client *c)
{
	const char *data = c->input.data;
	size_t bytes = c->input.used;

	if (bytes == 0)
		return;
	feed(c, &data, &bytes);
	kv_bytes_drop(&c->input, c->input.used - bytes);
	if (c->input.used == 0 || c->ends)
		kv_bytes_clear(&c->input, 0);
}

static bool may_read(const struct wh_kv_client *c)
{
	return c->input.used == 0 && may_begin(c);
}

/* Something has come, or the other side has ended. */
static void receive(struct wh_kv_client *c)
{
	struct wh_kv_thread *thread = c->thread;
	const char *data = thread->buffer;
	ssize_t count = recv(c->fd, thread->buffer, WH_KV_BUFFER, 0);
	size_t bytes;

	if (count < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (count <= 0) {
		close_client(c);
		return;
	}
	if (c->drain_until_ms != 0)
		return;
	bytes = (size_t)count;
	thread->counts.read_bytes += bytes;
	feed(c, &data, &bytes);
	if (bytes > 0 && !c->ends)
		kv_bytes_add(&c->input, data, bytes);
	if (c->input.failed)
		close_refused(c);
}

static void handle_event(struct wh_kv_client *c, uint32_t events)
{
	if (c->fd < 0)
		return;
	if (events & (EPOLLERR | EPOLLHUP)) {
		close_client(c);
		return;
	}
	if ((events & EPOLLIN) && !may_read(c) && c->drain_until_ms == 0)
		watch(c, c->watched & ~(uint32_t)EPOLLIN); /* it is read when it goes on */
	else if (events & EPOLLIN)
		receive(c);
	wh_kv_client_touch(c);
}

/* ---- after anything that was done -------------------------------------------------------------------------------------------------------- */

/* Replies leave together: when none is to come, or there are many. False: the client is gone. */
static bool write_out(struct wh_kv_client *c)
{
	if (c->out.failed)
		return close_refused(c), false;
	return (!is_idle(c) && unwritten(c) < LEAVES) || flush(c);
}

static bool keep_within_memory(struct wh_kv_client *c)
{
	count_memory(c);
	if (c->memory <= SMALL || wh_load_relaxed(c->thread->memory) <= WH_KV_MEMORY_MAX)
		return true;
	return close_refused(c), false;
}

/* As far as it can go now: commands that were kept or held go on, replies leave, and it is settled what is waited for. */
static void settle(struct wh_kv_client *c)
{
	size_t before;

	do {
		if (c->held)
			wh_kv_command_go_on(c);
		before = c->input.used;
		feed_input(c);
		if (!write_out(c))
			return;
	} while (c->input.used > 0 && c->input.used != before && may_begin(c));
	if (!keep_within_memory(c))
		return;
	if (c->held || (c->input.used > 0 && may_begin(c)))
		wh_kv_client_touch(c);
	if (c->ends && is_idle(c) && unwritten(c) == 0)
		begin_drain(c);
	else
		watch(c,
		      (unwritten(c) > 0 && is_idle(c) ? EPOLLOUT : 0) | (may_read(c) ? EPOLLIN : c->watched & EPOLLIN));
}

static void settle_all(struct wh_kv_thread *thread)
{
	struct wh_kv_client *next, *c = thread->touched;

	thread->touched = NULL;
	for (; c != NULL; c = next) {
		next = c->next_touched;
		c->touched = false;
		if (c->fd >= 0)
			settle(c);
		if (c->fd < 0 && is_idle(c) && !c->touched)
			free_client(c);
	}
}

/* What does not come further goes: an answer that does not come, replies that are not taken. */
static void look(struct wh_kv_thread *thread)
{
	uint32_t patience_ms = thread->store->options->patience_ms;

	thread->looked_ms = thread->now_ms;
	for (struct wh_kv_client *c = thread->clients; c != NULL; c = c->next) {
		if (c->fd < 0)
			continue;
		if (c->drain_until_ms != 0 && thread->now_ms > c->drain_until_ms)
			close_client(c);
		else if ((!is_idle(c) || unwritten(c) > 0) && thread->now_ms > c->moved_ms + patience_ms)
			close_refused(c);
	}
}

/* ---- the thread -------------------------------------------------------------------------------------------------------------------------- */

static void take_turn(struct wh_kv_thread *thread)
{
	struct epoll_event events[EVENTS];
	int timeout_ms = thread->room.open > 0 ? 0 : thread->touched != NULL ? 1 : LOOK_MS;
	int count = epoll_wait(thread->epoll, events, EVENTS, timeout_ms);

	thread->now_ms = wh_kv_now_ms();
	for (int i = 0; i < count; i++)
		if (events[i].data.ptr == NULL)
			take_clients(thread);
		else
			handle_event(events[i].data.ptr, events[i].events);
	settle_all(thread);
	for (int i = 0; i < POLLS && thread->room.open > 0; i++) {
		enum whorl_result result = whorl_poll(thread->store->work, 1);

		settle_all(thread);
		if (result != WHORL_OK)
			break;
	}
	if (thread->now_ms >= thread->looked_ms + LOOK_MS)
		look(thread);
}

void *wh_kv_serve(void *argument)
{
	struct wh_kv_thread *thread = argument;
	uint64_t until;

	while (wh_load_relaxed(&thread->stop) == 0)
		take_turn(thread);
	take_clients(thread);
	for (struct wh_kv_client *c = thread->clients; c != NULL; c = c->next)
		close_client(c);
	until = wh_kv_now_ms() + END_MS;
	while (thread->room.open > 0 && wh_kv_now_ms() < until)
		(void)whorl_poll(thread->store->work, 10);
	settle_all(thread);
	return NULL;
}

bool wh_kv_thread_open(struct wh_kv_thread *thread)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};

	thread->started_ms = thread->now_ms = wh_kv_now_ms();
	thread->epoll = epoll_create1(EPOLL_CLOEXEC);
	thread->buffer = malloc(WH_KV_BUFFER);
	if (pipe2(thread->pipe, O_CLOEXEC | O_NONBLOCK) != 0)
		thread->pipe[0] = thread->pipe[1] = -1;
	return thread->epoll >= 0 && thread->buffer != NULL && thread->pipe[0] >= 0 &&
	       epoll_ctl(thread->epoll, EPOLL_CTL_ADD, thread->pipe[0], &event) == 0;
}

void wh_kv_thread_close(struct wh_kv_thread *thread)
{
	while (thread->clients != NULL) {
		thread->clients->touched = false;
		free_client(thread->clients);
	}
	if (thread->epoll >= 0)
		close(thread->epoll);
	for (int i = 0; i < 2; i++)
		if (thread->pipe[i] >= 0)
			close(thread->pipe[i]);
	free(thread->buffer);
	free(thread->room.data);
}
