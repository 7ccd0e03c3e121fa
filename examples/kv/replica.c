/* examples/kv/replica.c - what whorl is asked, and what it asks: server.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/kv/server.h"
#include "examples/kv/slots.h"

#define READ_BYTES (1 << 20) /* replies that are made in one upcall, but for the last of them */
#define CALL_HEAD 4096       /* what a call needs beside a value of the largest size: its key, and lengths */

/* ---- the state: apply, snapshots, restore ---------------------------------------------------------------------------------*/

struct kv_store *kv_server_store(struct kv_server *server)
{
	struct kv_store *restored = atomic_exchange(&server->restored, NULL);

	if (restored != NULL) {
		kv_store_free(server->store);
		server->store = restored;
	}
	return server->store;
}

static bool apply(const struct whorl_call *calls, size_t count, void *ctx)
{
	struct kv_server *server = ctx;
	struct kv_store *store = kv_server_store(server);

	for (size_t i = 0; i < count; i++) {
		const struct whorl_call *call = WHORL_AT(whorl_call, calls, i);

		kv_bytes_clear(&server->reply, KV_BUFFER_BYTES);
		server->reply.failed = !call->awaited; /* nobody here wants it */
		kv_store_begin_call(store, call->view, call->sequence);
		if (!kv_execute(store, call->data, call->bytes, server->options.reply_max, &server->reply))
			return false;
		/* Without an answer `applied` closes the connection, as the reply is lost. */
		if (call->awaited && !server->reply.failed)
			(void)whorl_answer(call, server->reply.data, server->reply.used);
	}
	return true;
}

static void *take_snapshot(const struct whorl_position *position, void *ctx)
{
	return kv_snapshot_take(kv_server_store(ctx), position->view, position->sequence);
}

static ptrdiff_t read_snapshot(void *snapshot, void *bytes, size_t count, void *ctx)
{
	(void)ctx;
	return kv_snapshot_read(snapshot, bytes, count);
}

static void release_snapshot(void *snapshot, void *ctx)
{
	(void)ctx;
	kv_snapshot_release(snapshot);
}

/* On a thread of the library's. The loop takes the store over when it is whole. */
static bool restore_store(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	struct kv_server *server = ctx;
	struct kv_store *store;

	if (step == WHORL_RESTORE_BYTES)
		return server->restore != NULL && kv_restore_bytes(server->restore, bytes, count);
	if (server->restore != NULL) {
		store = kv_restore_end(server->restore);
		server->restore = NULL;
		if (step == WHORL_RESTORE_END) {
			if (store != NULL)
				kv_store_free(atomic_exchange(&server->restored, store));
			return store != NULL;
		}
		kv_store_free(store);
	}
	server->restore = step == WHORL_RESTORE_BEGIN ? kv_restore_new() : NULL;
	return server->restore != NULL;
}

/* ---- the directory: where clients find each node ---------------------------------------------------------------------------*/

const struct kv_addresses *kv_server_addresses(struct kv_server *server)
{
	struct kv_addresses *restored = atomic_exchange(&server->addresses_restored, NULL);

	if (restored != NULL) {
		free(server->addresses);
		server->addresses = restored;
	}
	return server->addresses;
}

static bool apply_addresses(const struct whorl_call *calls, size_t count, void *ctx)
{
	struct kv_server *server = ctx;

	(void)kv_server_addresses(server);
	for (size_t i = 0; i < count; i++) {
		const struct whorl_call *call = WHORL_AT(whorl_call, calls, i);

		if (call->caller < KV_IDS && call->bytes < sizeof(server->addresses->of[0])) {
			memcpy(server->addresses->of[call->caller], call->data, call->bytes);
			server->addresses->of[call->caller][call->bytes] = '\0';
		}
	}
	return true;
}

struct addresses_snapshot {
	struct kv_addresses addresses;
	size_t read;
};

static void *take_addresses(const struct whorl_position *position, void *ctx)
{
	struct addresses_snapshot *snapshot = malloc(sizeof(*snapshot));

	(void)position;
	if (snapshot != NULL)
		*snapshot = (struct addresses_snapshot){.addresses = *kv_server_addresses(ctx)};
	return snapshot;
}

static ptrdiff_t read_addresses(void *snapshot, void *bytes, size_t count, void *ctx)
{
	struct addresses_snapshot *from = snapshot;
	size_t left = sizeof(from->addresses) - from->read;

	(void)ctx;
	count = count < left ? count : left;
	memcpy(bytes, (const char *)&from->addresses + from->read, count);
	from->read += count;
	return (ptrdiff_t)count;
}

static void free_addresses(void *snapshot, void *ctx)
{
	(void)ctx;
	free(snapshot);
}

static bool restore_addresses(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	struct kv_server *server = ctx;

	if (step == WHORL_RESTORE_BEGIN) {
		free(server->addresses_restore);
		server->addresses_restore = calloc(1, sizeof(struct kv_addresses));
		server->addresses_moved = 0;
		return server->addresses_restore != NULL;
	}
	if (count > sizeof(struct kv_addresses) - server->addresses_moved || server->addresses_restore == NULL)
		return false;
	if (count > 0)
		memcpy((char *)server->addresses_restore + server->addresses_moved, bytes, count);
	server->addresses_moved += count;
	if (step == WHORL_RESTORE_END) {
		free(atomic_exchange(&server->addresses_restored, server->addresses_restore));
		server->addresses_restore = NULL;
	}
	return true;
}

static void announced(const struct whorl_outcome *outcome, void *ctx)
{
	struct kv_server *server = ctx;

	(void)outcome;
	server->announcing = false;
}

/* Says where clients find this node, until the directory has it. */
static void announce(struct kv_server *server)
{
	if (server->directory == NULL || server->announcing || whorl_subgroup_ready(server->directory, 0) != WHORL_OK ||
	    strcmp(kv_server_addresses(server)->of[server->options.id], server->address) == 0)
		return;
	server->announcing = true;
	switch (whorl_call(server->directory, server->address, strlen(server->address), announced, server)) {
	case WHORL_OK:
	case WHORL_PENDING:
		break;
	default: /* at the next look */
		server->announcing = false;
	}
}

/* ---- calls and reads ----------------------------------------------------------------------------------------------------------*/

/* All that waits goes on between two steps. */
static void resume_later(struct kv_connection *connection)
{
	connection->waits = KV_WAITS_NOT;
	if (!connection->resumed)
		kv_list_add(&connection->server->resumed, connection);
	connection->resumed = true;
}

static void applied(const struct whorl_outcome *outcome, void *ctx)
{
	struct kv_connection *connection = ctx;

	if (outcome->result == WHORL_OK && outcome->bytes > 0)
		kv_bytes_add(&connection->out, outcome->answer, outcome->bytes);
	else if (outcome->result == WHORL_NOT_SENDER)
		kv_connection_refuse(connection, "READONLY You can't write against a read only replica.");
	else /* not known, or the reply is lost: a client must not take it for an error */
		connection->doomed = true;
	kv_bytes_clear(&connection->batch, 512);
	connection->batch_replies = 0;
	resume_later(connection);
}

/* Of a call that was not accepted, but for want of room. */
static const char *error_of(const struct kv_server *server, enum whorl_result result)
{
	switch (result) {
	case WHORL_NO_QUORUM:
		return "CLUSTERDOWN The cluster is down: too few replicas are heard";
	case WHORL_NOT_SENDER:
		return "READONLY You can't write against a read only replica.";
	case WHORL_AGAIN:
		return "LOADING this replica is being given the state";
	case WHORL_NOT_FOUND:
		return "CLUSTERDOWN Hash slot not served";
	case WHORL_INVALID:
		return "ERR the command is larger than a call may be ([subgroup kv] large_bytes)";
	case WHORL_MEMORY:
		return "ERR out of memory";
	default:
		(void)server;
		return "CLUSTERDOWN The cluster is down: this replica has left it";
	}
}

void kv_replica_call(struct kv_connection *connection)
{
	struct kv_server *server = connection->server;
	enum whorl_result result;

	connection->waits = KV_WAITS_OUTCOME; /* which may come before whorl_call returns */
	result = whorl_call(server->kv, connection->batch.data, connection->batch.used, applied, connection);
	if (result == WHORL_OK || result == WHORL_PENDING) {
		server->asked = true;
		return;
	}
	if (result == WHORL_AGAIN) {
		connection->waits = KV_WAITS_ROOM;
	} else {
		connection->waits = KV_WAITS_NOT;
		kv_connection_refuse(connection, error_of(server, result));
	}
}

void kv_replica_arm(struct kv_server *server)
{
	if (server->window_armed)
		return;
	server->window_armed = whorl_window_arm(server->kv) == WHORL_AGAIN;
	server->window_soon = !server->window_armed; /* there is some, if not enough: a little later */
}

void kv_replica_retry(struct kv_server *server)
{
	struct kv_connection *connection;

	server->window_soon = false;
	while ((connection = kv_list_take(&server->parked)) != NULL) {
		if (connection->fd >= 0)
			kv_replica_call(connection);
		if (connection->fd >= 0 && connection->waits == KV_WAITS_ROOM) {
			kv_list_put_back(&server->parked, connection);
			kv_replica_arm(server);
			return;
		}
		if (connection->fd < 0 || connection->waits == KV_WAITS_NOT)
			resume_later(connection);
	}
}

struct read_group {
	struct kv_server *server;
	struct kv_list list;
};

/* The state may be looked at: for all that wait for it. But upcalls must not be slow, or the others take this node for dead: when the replies
 * have become many the rest asks once more. */
static void read_now(enum whorl_result result, void *ctx)
{
	struct read_group *group = ctx;
	struct kv_server *server = group->server;
	struct kv_connection *connection;
	size_t bytes = 0;

	while ((connection = kv_list_take(&group->list)) != NULL) {
		size_t before = connection->out.used;

		if (bytes > READ_BYTES) {
			kv_list_add(connection->readonly ? &server->local_reads : &server->reads, connection);
			continue;
		}
		if (result != WHORL_OK)
			kv_connection_refuse(connection, error_of(server, result));
		else if (!kv_execute(kv_server_store(server), connection->batch.data, connection->batch.used,
				     server->options.reply_max, &connection->out))
			connection->doomed = true;
		bytes += connection->out.used - before;
		kv_bytes_clear(&connection->batch, 512);
		connection->batch_replies = 0;
		resume_later(connection);
	}
	free(group);
}

static void read_list(struct kv_server *server, struct kv_list *list, enum whorl_freshness freshness)
{
	struct read_group *group;
	enum whorl_result result = WHORL_MEMORY;

	if (list->first == NULL)
		return;
	group = malloc(sizeof(*group));
	if (group == NULL) /* at the next turn */
		return;
	*group = (struct read_group){server, *list};
	*list = (struct kv_list){NULL, NULL};
	result = whorl_read(server->kv, freshness, read_now, group);
	if (result != WHORL_OK)
		read_now(result, group);
}

void kv_replica_read_local(struct kv_server *server)
{
	read_list(server, &server->local_reads, WHORL_LOCAL);
}

void kv_replica_read(struct kv_server *server)
{
	kv_replica_read_local(server);
	read_list(server, &server->reads, WHORL_LINEARIZABLE);
}

/* ---- once in a while ------------------------------------------------------------------------------------------------------------*/

/* The lowest rank orders how far time has moved while some key has a time to live. Time that a leader is missing is time that does not
 * count: keys live longer, and never shorter. */
static void move_clock(struct kv_server *server)
{
	uint64_t now = kv_now_ms(), by = now - server->clock_from_ms;
	struct kv_store_figures figures;
	struct kv_bytes call = {0};

	kv_store_get_figures(kv_server_store(server), &figures);
	if (!server->ready || !server->lowest || figures.expiring == 0) {
		server->clock_from_ms = now;
		return;
	}
	kv_encode_tick(&call, by < KV_TICK_MS ? by : KV_TICK_MS);
	if (by > 0 && !call.failed && whorl_call(server->kv, call.data, call.used, NULL, NULL) == WHORL_OK)
		server->clock_from_ms = now;
	kv_bytes_clear(&call, 0);
}

/* Which nodes are in which shard. */
static void look_at_shards(struct kv_server *server)
{
	struct whorl_subgroup_info info = {.size = sizeof(info)};
	uint32_t ids[KV_IDS], count = KV_IDS;

	if (whorl_subgroup_describe(server->kv, &info) != WHORL_OK)
		return;
	server->shards = info.shards < KV_SHARDS ? info.shards : KV_SHARDS;
	server->shard = info.shard;
	server->in_shard = info.condition != WHORL_SHARD_GONE;
	for (uint32_t shard = 0; shard < server->shards; shard++) {
		server->shard_counts[shard] = KV_IDS;
		if (whorl_shard_members(server->node, "kv", shard, server->shard_members[shard],
					&server->shard_counts[shard]) != WHORL_OK)
			server->shard_counts[shard] = 0;
	}
	server->lowest = whorl_subgroup_members(server->kv, ids, &count) == WHORL_OK && count > 0 &&
			 ids[0] == server->options.id;
}

static void begin_view(const struct whorl_view *view, void *ctx)
{
	struct kv_server *server = ctx;

	server->view = view->number;
	server->members = view->member_count;
	look_at_shards(server);
}

/* A call that is under way when too few are heard may have been applied, or may be later: its client is told nothing. */
static void close_in_doubt(struct kv_server *server)
{
	for (struct kv_connection *connection = server->connections, *next; connection != NULL; connection = next) {
		next = connection->next;
		if (connection->waits == KV_WAITS_OUTCOME)
			kv_connection_close(connection);
	}
}

bool kv_replica_look(struct kv_server *server)
{
	char text[512];
	enum whorl_result result = whorl_error(server->node, text, sizeof(text));

	if (result != WHORL_OK && result != WHORL_NO_QUORUM) {
		fprintf(stderr, "whorl-kv: node %" PRIu32 ": %s\n", server->options.id, text);
		return false;
	}
	if (result == WHORL_NO_QUORUM)
		close_in_doubt(server);
	if (server->no_quorum != (result == WHORL_NO_QUORUM))
		fprintf(stderr, "whorl-kv: node %" PRIu32 ": %s\n", server->options.id,
			result == WHORL_OK ? "enough replicas are heard again" : text);
	server->no_quorum = result == WHORL_NO_QUORUM;
	if (server->ready != (whorl_subgroup_ready(server->kv, 0) == WHORL_OK)) {
		server->ready = !server->ready;
		look_at_shards(server);
		printf("%s\n", server->ready ? "ready" : "not ready");
		fflush(stdout);
	}
	move_clock(server);
	announce(server);
	(void)kv_store_tidy(kv_server_store(server));
	return true;
}

/* ---- the beginning --------------------------------------------------------------------------------------------------------------*/

static bool load_config(struct kv_server *server)
{
	server->config = whorl_config_new();
	if (server->config == NULL)
		return false;
	(void)whorl_config_ignore(server->config, "kv");
	if (whorl_config_load_file(server->config, server->options.file) != WHORL_OK ||
	    whorl_config_set(server->config, "engine.thread=caller") != WHORL_OK)
		return false;
	for (int i = 0; i < server->options.set_count; i++)
		if (whorl_config_set(server->config, server->options.sets[i]) != WHORL_OK)
			return false;
	return true;
}

/* False: values of the largest size do not fit into a call. */
static bool check_sizes(struct kv_server *server)
{
	struct whorl_subgroup_info info = {.size = sizeof(info)};

	if (whorl_subgroup_describe(server->kv, &info) != WHORL_OK)
		return false;
	server->call_max = info.large_bytes > info.message_bytes ? info.large_bytes : info.message_bytes;
	if (server->call_max >= server->options.value_max + CALL_HEAD)
		return true;
	fprintf(stderr,
		"whorl-kv: %s: subgroup kv: calls of at most %zu bytes (message_bytes, large_bytes) are too small for values of %" PRIu64
		" (kv.value_max): expected %d more than those\n",
		server->options.file, server->call_max, server->options.value_max, CALL_HEAD);
	return false;
}

static bool set_upcalls(struct kv_server *server)
{
	const struct whorl_state state = {sizeof(state),    take_snapshot, read_snapshot,
					  release_snapshot, restore_store, server};
	const struct whorl_state addresses = {sizeof(addresses), take_addresses,    read_addresses,
					      free_addresses,    restore_addresses, server};

	return whorl_on_view(server->node, begin_view, server) == WHORL_OK &&
	       whorl_on_calls(server->kv, apply, server) == WHORL_OK &&
	       whorl_on_state(server->kv, &state) == WHORL_OK &&
	       (server->directory == NULL || (whorl_on_calls(server->directory, apply_addresses, server) == WHORL_OK &&
					      whorl_on_state(server->directory, &addresses) == WHORL_OK));
}

bool kv_replica_open(struct kv_server *server, bool *usage)
{
	enum whorl_result result;

	*usage = true;
	if (!load_config(server) ||
	    (result = whorl_open(server->config, server->options.id, NULL, &server->node)) == WHORL_CONFIG ||
	    result == WHORL_INVALID)
		return fprintf(stderr, "%s\n",
			       server->config != NULL ? whorl_config_error(server->config) : "memory is out"),
		       false;
	if (result == WHORL_OK) {
		server->kv = whorl_subgroup_find(server->node, "kv");
		server->directory = whorl_subgroup_find(server->node, "directory");
		if (server->kv == NULL)
			return fprintf(stderr, "whorl-kv: %s: expected a [subgroup kv] with this node in it\n",
				       server->options.file),
			       false;
		if (!check_sizes(server))
			return false;
	}
	*usage = false;
	server->store = kv_store_new();
	server->addresses = calloc(1, sizeof(*server->addresses));
	if (result != WHORL_OK)
		return fprintf(stderr, "whorl-kv: node %" PRIu32 ": %s\n", server->options.id,
			       whorl_config_error(server->config)),
		       false;
	if (server->store == NULL || server->addresses == NULL)
		return fprintf(stderr, "whorl-kv: memory is out\n"), false;
	if (!set_upcalls(server) || whorl_start(server->node) != WHORL_OK)
		return fprintf(stderr, "whorl-kv: node %" PRIu32 " does not start: %s\n", server->options.id,
			       whorl_invalid_text()),
		       false;
	return true;
}
