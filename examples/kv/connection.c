/* examples/kv/connection.c - clients: bytes in, commands into batches, replies out (server.h).
 *
 * A client that is idle costs its struct. What it holds beyond that is counted, and bounded: by the parser's limits, by
 * reading no further while a batch is under way or replies are not taken, and for all together by clients_memory.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "examples/kv/server.h"
#include "examples/kv/slots.h"

#define BATCH_BYTES 16384   /* what is longer is handed on */
#define OUT_PAUSE (1 << 20) /* nothing more is done for a client that has so much to read */
#define KEPT 512            /* of buffers, while a client is idle */
#define SMALL (64 * 1024)   /* clients that hold no more are not closed for the memory of others */
#define DRAIN_MS 1000
#define ACCEPTS_AT_ONCE 64

/* ---- coming and going -----------------------------------------------------------------------------------------------------*/

static void watch(struct kv_connection *c, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = c};

	if (c->watched != events && epoll_ctl(c->server->epoll, EPOLL_CTL_MOD, c->fd, &event) == 0)
		c->watched = events;
}

static bool add_connection(struct kv_server *server, int fd)
{
	struct kv_connection *c = calloc(1, sizeof(*c));
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
	const int on = 1;

	if (c == NULL || epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
		return free(c), false;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	*c = (struct kv_connection){.server = server, .fd = fd, .watched = EPOLLIN, .next = server->connections};
	c->id = ++server->connections_ever;
	c->authenticated = server->options.password[0] == '\0';
	if (c->next != NULL)
		c->next->previous = c;
	server->connections = c;
	server->connection_count++;
	return true;
}

void kv_accept(struct kv_server *server)
{
	static const char full[] = "-ERR max number of clients reached\r\n";

	for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
		int fd = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			return;
		if (server->connection_count >= server->options.maxclients) {
			(void)send(fd, full, sizeof(full) - 1, MSG_NOSIGNAL);
			close(fd);
		} else if (!add_connection(server, fd)) {
			close(fd);
		}
	}
}

static void count_memory(struct kv_connection *c)
{
	size_t memory = kv_parser_memory(&c->parser) + c->input.room + c->out.room + c->batch.room + c->multi.room;

	c->server->memory += memory - c->memory;
	c->memory = memory;
}

/* Nothing of whorl's knows of it any more. */
static void free_connection(struct kv_connection *c)
{
	kv_bytes_clear(&c->batch, 0);
	kv_bytes_clear(&c->out, 0);
	count_memory(c);
	free(c);
}

void kv_connection_close(struct kv_connection *c)
{
	if (c->fd < 0)
		return;
	close(c->fd);
	c->fd = -1;
	if (c->previous != NULL)
		c->previous->next = c->next;
	else
		c->server->connections = c->next;
	if (c->next != NULL)
		c->next->previous = c->previous;
	c->server->connection_count--;
	kv_parser_free(&c->parser);
	kv_bytes_clear(&c->input, 0);
	kv_bytes_clear(&c->multi, 0);
	free(c->name);
	c->name = NULL;
	count_memory(c);
	if (c->waits == KV_WAITS_NOT && !c->resumed)
		free_connection(c);
}

/* ---- replies out ------------------------------------------------------------------------------------------------------------*/

/* All is written: the other side is told so, and what it still sends is read, for a while. Without that it may not see the last reply. */
static void begin_drain(struct kv_connection *c)
{
	if (c->drain_until_ms == 0) {
		(void)shutdown(c->fd, SHUT_WR);
		c->drain_until_ms = kv_now_ms() + DRAIN_MS;
	}
	watch(c, EPOLLIN);
}

/* Writes what can be written. False: the connection is gone. */
static bool flush(struct kv_connection *c)
{
	while (c->out_at < c->out.used) {
		ssize_t count = send(c->fd, c->out.data + c->out_at, c->out.used - c->out_at, MSG_NOSIGNAL);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0 && errno == EAGAIN)
			return true;
		if (count <= 0)
			return kv_connection_close(c), false;
		c->out_at += (size_t)count;
	}
	kv_bytes_clear(&c->out, KEPT);
	c->out_at = 0;
	return true;
}

void kv_connection_refuse(struct kv_connection *c, const char *error)
{
	for (uint32_t i = 0; i < c->batch_replies; i++)
		kv_reply_error(&c->out, "%s", error);
	kv_bytes_clear(&c->batch, KEPT);
	c->batch_replies = 0;
}

/* ---- commands in ------------------------------------------------------------------------------------------------------------*/

void kv_connection_submit(struct kv_connection *c)
{
	struct kv_server *server = c->server;

	if (c->batch_replies == 0 || c->waits != KV_WAITS_NOT || c->resumed)
		return;
	if (c->batch.failed) {
		kv_connection_refuse(c, "ERR out of memory");
	} else if (!server->ready) {
		kv_connection_refuse(c, server->no_quorum
						? "CLUSTERDOWN The cluster is down: too few replicas are heard"
						: "LOADING this replica is being given the state");
	} else if (!c->batch_writes) {
		c->waits = KV_WAITS_READ;
		kv_list_add(c->readonly ? &server->local_reads : &server->reads, c);
	} else {
		c->waits = KV_WAITS_ROOM;
		if (server->parked.first == NULL)
			kv_replica_call(c);
		if (c->waits == KV_WAITS_ROOM) {
			kv_list_add(&server->parked, c);
			kv_replica_arm(server);
		}
	}
}

/* Bytes of a command when it is encoded. */
static size_t encoded_bytes(const struct kv_parser *parser)
{
	return 8 + parser->data.used + sizeof(uint32_t) * (size_t)parser->count;
}

static bool too_large(const struct kv_connection *c, size_t bytes)
{
	return bytes + 64 > c->server->call_max;
}

static void reply_too_large(const struct kv_connection *c, struct kv_bytes *reply)
{
	kv_reply_error(reply, "ERR the command is larger than a call may be: %zu bytes ([subgroup kv] large_bytes)",
		       c->server->call_max);
}

/* MULTI has been said: the command is kept until EXEC. */
static void queue_command(struct kv_connection *c, enum kv_id id, int32_t slot)
{
	if (slot >= 0 && c->multi_slot >= 0 && slot != c->multi_slot) {
		c->multi_bad = true;
		kv_reply_error(&c->out, "CROSSSLOT Keys in request don't hash to the same slot");
		return;
	}
	if (too_large(c, c->multi.used + encoded_bytes(&c->parser))) {
		c->multi_bad = true;
		reply_too_large(c, &c->out);
		return;
	}
	if (slot >= 0)
		c->multi_slot = slot;
	c->multi_writes = c->multi_writes || (kv_commands[id].flags & KV_WRITES) != 0;
	c->multi_count++;
	kv_encode_command(&c->multi, id, c->parser.arguments, c->parser.count);
	kv_reply_status(&c->out, "QUEUED");
}

/* How many values a command may be answered with. */
static uint32_t values_of(const struct kv_connection *c, enum kv_id id)
{
	const struct kv_command *command = &kv_commands[id];

	if (id == KV_MGET)
		return c->parser.count - 1;
	return command->flags & KV_READS && command->last_key == 1;
}

/* Whether the parser's command must be in a batch of its own, or in the next one: for what a call may hold, and for its replies. */
static bool overfills(const struct kv_connection *c, enum kv_id id)
{
	const struct kv_options *options = &c->server->options;

	return c->batch_replies > 0 && (too_large(c, c->batch.used + encoded_bytes(&c->parser)) ||
					(c->batch_values + values_of(c, id)) * options->value_max > options->reply_max);
}

static void batch_command(struct kv_connection *c, enum kv_id id)
{
	const struct kv_options *options = &c->server->options;
	bool writes = (kv_commands[id].flags & KV_WRITES) != 0;

	if (c->batch_replies == 0) {
		kv_bytes_clear(&c->batch, KEPT);
		kv_encode_begin(&c->batch, options->maxmemory, (uint32_t)options->value_max);
		c->batch_writes = false;
		c->batch_values = 0;
	}
	c->batch_values += values_of(c, id);
	c->batch_writes = c->batch_writes || writes;
	c->batch_replies++;
	kv_encode_command(&c->batch, id, c->parser.arguments, c->parser.count);
	if (c->batch.used >= BATCH_BYTES)
		kv_connection_submit(c);
}

/* With shards: whether this node has the slot; if not `error` says where it is. */
static bool is_here(const struct kv_connection *c, int32_t slot, struct kv_bytes *error)
{
	const struct kv_server *server = c->server;
	char address[KV_ADDRESS_MAX + 8], *space;
	uint32_t node;

	if (slot == -2) {
		kv_reply_error(error, "CROSSSLOT Keys in request don't hash to the same slot");
		return false;
	}
	if (slot < 0 || (server->in_shard && kv_part_of_slot((uint32_t)slot, server->shards) == server->shard))
		return true;
	node = kv_node_of_slot(server, (uint32_t)slot);
	if (node == KV_IDS) {
		kv_reply_error(error, "CLUSTERDOWN Hash slot not served");
		return false;
	}
	strcpy(address, kv_server_addresses(c->server)->of[node]);
	space = strchr(address, ' ');
	if (space != NULL)
		*space = ':';
	kv_reply_error(error, "MOVED %d %s", (int)slot, address);
	return false;
}

/* Replies that are made at once must wait for the batch before them. True: they must. */
static bool must_wait(struct kv_connection *c)
{
	kv_connection_submit(c);
	c->held = c->waits != KV_WAITS_NOT || c->resumed;
	return c->held;
}

/* Whether the parser's command may be run here and now; if not, `error` is the reply. */
static bool check_command(struct kv_connection *c, enum kv_id *id, int32_t *slot, struct kv_bytes *error)
{
	const struct kv_parser *parser = &c->parser;
	unsigned flags;

	if (!kv_check_command(parser->arguments, parser->count, id, error))
		return false;
	flags = kv_commands[*id].flags;
	if (!c->authenticated && !(flags & KV_WITHOUT_AUTH)) {
		kv_reply_error(error, "NOAUTH Authentication required.");
		return false;
	}
	if (flags & KV_LOCAL) {
		if (!c->in_multi || (flags & KV_IN_MULTI))
			return true;
		kv_reply_error(error, "ERR Command not allowed inside a transaction");
		return false;
	}
	if ((flags & KV_WRITES) && too_large(c, encoded_bytes(parser))) {
		reply_too_large(c, error);
		return false;
	}
	if (c->server->shards > 1)
		*slot = kv_command_slot(*id, parser->arguments, parser->count);
	return is_here(c, *slot, error);
}

/* The command that the parser has. */
static void handle_command(struct kv_connection *c)
{
	struct kv_bytes error = {0};
	enum kv_id id = KV_COMMANDS;
	int32_t slot = -1;
	bool good = check_command(c, &id, &slot, &error), local = good && (kv_commands[id].flags & KV_LOCAL);

	if (!good || local || c->in_multi || overfills(c, id)) {
		if (must_wait(c)) {
			kv_bytes_clear(&error, 0);
			return;
		}
	}
	c->server->commands_ever++;
	if (!good) { /* in MULTI it spoils the rest */
		c->multi_bad = true;
		kv_bytes_add(&c->out, error.data, error.used);
	} else if (local) {
		kv_run_local(c, id);
	} else if (c->in_multi) {
		queue_command(c, id, slot);
	} else {
		batch_command(c, id);
	}
	kv_bytes_clear(&error, 0);
}

/* Parses what there is, until it has to wait. */
static void feed(struct kv_connection *c, const char **data, size_t *bytes)
{
	struct kv_server *server = c->server;

	while (c->waits == KV_WAITS_NOT && !c->resumed && !c->ends && !c->doomed && !c->stalled) {
		enum kv_parsed parsed = KV_PARSED_COMMAND;

		if (!c->held)
			parsed = kv_parse(&c->parser, c->authenticated ? &server->limits : &server->limits_before_auth,
					  data, bytes);
		c->held = false;
		if (parsed == KV_PARSED_COMMAND) {
			handle_command(c);
		} else {
			kv_connection_submit(c);
			if (parsed == KV_PARSED_MORE || c->waits != KV_WAITS_NOT || c->resumed)
				return; /* a parser that has found an error says so again */
			kv_reply_error(&c->out, "ERR %s", c->parser.error);
			c->ends = true;
		}
		c->stalled = c->out.used - c->out_at >= OUT_PAUSE;
	}
	kv_connection_submit(c);
}

/* What has been kept is parsed first. */
static void feed_input(struct kv_connection *c)
{
	const char *data = c->input.data;
	size_t bytes = c->input.used;

	feed(c, &data, &bytes);
	kv_bytes_drop(&c->input, c->input.used - bytes);
	if (c->input.used == 0 || c->ends)
		kv_bytes_clear(&c->input, 0);
}

/* Replies leave, and what was put off because there were too many of them. False: the connection is gone. */
static bool write_out(struct kv_connection *c)
{
	do {
		if (c->doomed || c->out.failed)
			return kv_connection_close(c), false;
		if (!flush(c))
			return false;
		if (!c->stalled || c->out_at < c->out.used)
			return true;
		c->stalled = false;
		feed_input(c);
	} while (true);
}

/* False: all clients together hold too much, and this one is no small one. */
static bool keep_within_memory(struct kv_connection *c)
{
	count_memory(c);
	if (c->server->memory <= c->server->options.clients_memory || c->memory <= SMALL)
		return true;
	fprintf(stderr, "whorl-kv: client %llu is closed: clients hold more than kv.clients_memory\n",
		(unsigned long long)c->id);
	return kv_connection_close(c), false;
}

static bool may_read(const struct kv_connection *c)
{
	return c->waits == KV_WAITS_NOT && !c->resumed && c->input.used == 0 && !c->ends && !c->stalled;
}

/* After anything that was done for it: replies leave, and it is settled what is waited for. */
static void settle(struct kv_connection *c)
{
	bool unwritten;

	if (!write_out(c) || !keep_within_memory(c))
		return;
	unwritten = c->out_at < c->out.used;
	if (c->ends && !unwritten && c->waits == KV_WAITS_NOT)
		begin_drain(c);
	else if (unwritten || c->watched != EPOLLIN || c->waits == KV_WAITS_NOT)
		watch(c, (unwritten ? EPOLLOUT : 0) | (may_read(c) ? EPOLLIN : 0));
	/* Else it waits for whorl, and the socket stays watched: most clients send nothing before they have the reply. */
}

/* Something has come, or the other side has ended. False: the connection is gone. */
static bool receive(struct kv_connection *c)
{
	const char *data = c->server->buffer;
	ssize_t count = recv(c->fd, c->server->buffer, KV_BUFFER_BYTES, 0);
	size_t bytes;

	if (count < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (count <= 0)
		return kv_connection_close(c), false;
	if (c->drain_until_ms != 0)
		return true;
	bytes = (size_t)count;
	feed(c, &data, &bytes);
	if (bytes > 0 && !c->ends)
		kv_bytes_add(&c->input, data, bytes);
	c->doomed = c->doomed || c->input.failed;
	return true;
}

void kv_connection_event(struct kv_connection *c, uint32_t events)
{
	if (c->fd < 0)
		return;
	if (events & (EPOLLERR | EPOLLHUP)) {
		kv_connection_close(c);
		return;
	}
	if ((events & EPOLLIN) && !may_read(c) && c->drain_until_ms == 0)
		watch(c, c->watched & ~(uint32_t)EPOLLIN); /* it is read when it goes on */
	else if ((events & EPOLLIN) && !receive(c))
		return;
	settle(c);
}

void kv_connection_resume(struct kv_connection *c)
{
	c->resumed = false;
	if (c->fd < 0) {
		if (c->waits == KV_WAITS_NOT)
			free_connection(c);
		return;
	}
	if (!c->doomed)
		feed_input(c);
	settle(c);
}

void kv_connections_look(struct kv_server *server)
{
	uint64_t now = kv_now_ms();

	for (struct kv_connection *c = server->connections, *next; c != NULL; c = next) {
		next = c->next;
		if (c->drain_until_ms != 0 && now > c->drain_until_ms)
			kv_connection_close(c);
	}
}
