/* examples/kv/info.c - INFO, and CLUSTER: which node has which slots (server.h).
 *
 * Every member of a shard serves all of its slots. So that clients which know slots use them all, the slots of a shard are shared out
 * once more among its members in what CLUSTER says; the others are named as replicas.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "examples/kv/server.h"
#include "examples/kv/slots.h"

/* ---- slots, as clients are told ---------------------------------------------------------------------------------------------*/

struct range {
	uint32_t first, last, node, shard;
};

/* The members of a shard of which it is known where clients find them. */
static uint32_t known_members(const struct kv_server *server, uint32_t shard, uint32_t nodes[KV_IDS])
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < server->shard_counts[shard]; i++) {
		uint32_t id = server->shard_members[shard][i];

		if (id == server->options.id || (id < KV_IDS && server->addresses->of[id][0] != '\0'))
			nodes[count++] = id;
	}
	return count;
}

/* Those of a shard; returns how many. */
static uint32_t ranges_of(const struct kv_server *server, uint32_t shard, struct range ranges[KV_IDS])
{
	uint32_t first = kv_first_slot(shard, server->shards), end = kv_first_slot(shard + 1, server->shards);
	uint32_t nodes[KV_IDS], members = known_members(server, shard, nodes), count = 0;

	for (uint32_t i = 0; i < members; i++) {
		uint32_t from = first + i * (end - first) / members, to = first + (i + 1) * (end - first) / members;

		if (from < to)
			ranges[count++] = (struct range){from, to - 1, nodes[i], shard};
	}
	return count;
}

uint32_t kv_node_of_slot(const struct kv_server *server, uint32_t slot)
{
	struct range ranges[KV_IDS];
	uint32_t count = ranges_of(server, kv_part_of_slot(slot, server->shards), ranges);

	for (uint32_t i = 0; i < count; i++)
		if (slot >= ranges[i].first && slot <= ranges[i].last)
			return ranges[i].node;
	return KV_IDS;
}

/* Splits "host port". */
static int port_of(const struct kv_server *server, uint32_t node, char host[KV_ADDRESS_MAX])
{
	const char *address = node == server->options.id ? server->address : server->addresses->of[node];
	const char *space = strchr(address, ' ');
	size_t bytes = space != NULL ? (size_t)(space - address) : 0;

	if (bytes >= KV_ADDRESS_MAX)
		bytes = 0;
	memcpy(host, address, bytes);
	host[bytes] = '\0';
	return space != NULL ? atoi(space + 1) : 0;
}

static void print_id(char text[41], uint32_t node)
{
	snprintf(text, 41, "%040" PRIx32, node + 1);
}

static void reply_node(const struct kv_server *server, struct kv_bytes *out, uint32_t node)
{
	char host[KV_ADDRESS_MAX], id[41];
	int port = port_of(server, node, host);

	print_id(id, node);
	kv_reply_array(out, 3);
	kv_reply_text(out, host);
	kv_reply_integer(out, port);
	kv_reply_text(out, id);
}

/* Of one shard; returns how many elements these are. */
static uint32_t reply_slots(const struct kv_server *server, struct kv_bytes *out, uint32_t shard)
{
	struct range ranges[KV_IDS];
	uint32_t count = ranges_of(server, shard, ranges), nodes[KV_IDS], members = known_members(server, shard, nodes);

	for (uint32_t i = 0; i < count; i++) {
		kv_reply_array(out, 2 + (size_t)members);
		kv_reply_integer(out, ranges[i].first);
		kv_reply_integer(out, ranges[i].last);
		reply_node(server, out, ranges[i].node);
		for (uint32_t k = 0; k < members; k++)
			if (nodes[k] != ranges[i].node)
				reply_node(server, out, nodes[k]);
	}
	return count;
}

static uint32_t print_nodes(const struct kv_server *server, struct kv_bytes *out, uint32_t shard)
{
	struct range ranges[KV_IDS];
	uint32_t count = ranges_of(server, shard, ranges);

	for (uint32_t i = 0; i < count; i++) {
		char host[KV_ADDRESS_MAX], id[41];
		int port = port_of(server, ranges[i].node, host);

		print_id(id, ranges[i].node);
		kv_bytes_print(out, "%s %s:%d@%d %smaster - 0 0 %" PRIu64 " connected %" PRIu32 "-%" PRIu32 "\n", id,
			       host, port, port, ranges[i].node == server->options.id ? "myself," : "", server->view,
			       ranges[i].first, ranges[i].last);
	}
	return count;
}

static void reply_member(const struct kv_server *server, struct kv_bytes *out, uint32_t node, bool first)
{
	char host[KV_ADDRESS_MAX], id[41];
	int port = port_of(server, node, host);

	print_id(id, node);
	kv_reply_array(out, 14);
	kv_reply_text(out, "id");
	kv_reply_text(out, id);
	kv_reply_text(out, "port");
	kv_reply_integer(out, port);
	kv_reply_text(out, "ip");
	kv_reply_text(out, host);
	kv_reply_text(out, "endpoint");
	kv_reply_text(out, host);
	kv_reply_text(out, "role");
	kv_reply_text(out, first ? "master" : "replica");
	kv_reply_text(out, "replication-offset");
	kv_reply_integer(out, 0);
	kv_reply_text(out, "health");
	kv_reply_text(out, "online");
}

static uint32_t reply_shards(const struct kv_server *server, struct kv_bytes *out, uint32_t shard)
{
	struct range ranges[KV_IDS];
	uint32_t count = ranges_of(server, shard, ranges), nodes[KV_IDS], members = known_members(server, shard, nodes);

	for (uint32_t i = 0; i < count; i++) {
		kv_reply_array(out, 4);
		kv_reply_text(out, "slots");
		kv_reply_array(out, 2);
		kv_reply_integer(out, ranges[i].first);
		kv_reply_integer(out, ranges[i].last);
		kv_reply_text(out, "nodes");
		kv_reply_array(out, members);
		reply_member(server, out, ranges[i].node, true);
		for (uint32_t k = 0; k < members; k++)
			if (nodes[k] != ranges[i].node)
				reply_member(server, out, nodes[k], false);
	}
	return count;
}

/* What is made of each shard, as an array of all its elements, or as one text. */
static void reply_all(struct kv_connection *c,
		      uint32_t (*make)(const struct kv_server *, struct kv_bytes *out, uint32_t shard), bool text)
{
	struct kv_bytes made = {0};
	uint32_t count = 0;

	for (uint32_t shard = 0; shard < c->server->shards; shard++)
		count += make(c->server, &made, shard);
	if (text) {
		kv_reply_bulk(&c->out, made.data, made.used);
	} else {
		kv_reply_array(&c->out, count);
		kv_bytes_add(&c->out, made.data, made.used);
	}
	c->out.failed = c->out.failed || made.failed;
	kv_bytes_clear(&made, 0);
}

static void reply_cluster_info(struct kv_connection *c)
{
	const struct kv_server *server = c->server;
	struct range ranges[KV_IDS];
	struct kv_bytes text = {0};
	uint32_t slots = 0;

	for (uint32_t shard = 0; shard < server->shards; shard++)
		for (uint32_t i = 0, count = ranges_of(server, shard, ranges); i < count; i++)
			slots += ranges[i].last - ranges[i].first + 1;
	kv_bytes_print(&text,
		       "cluster_state:%s\r\ncluster_slots_assigned:%" PRIu32 "\r\ncluster_slots_ok:%" PRIu32
		       "\r\ncluster_slots_pfail:0\r\ncluster_slots_fail:0\r\ncluster_known_nodes:%" PRIu64
		       "\r\ncluster_size:%" PRIu32 "\r\ncluster_current_epoch:%" PRIu64 "\r\ncluster_my_epoch:%" PRIu64
		       "\r\n",
		       server->ready && !server->no_quorum && slots == KV_SLOTS ? "ok" : "fail", slots, slots,
		       server->members, server->shards, server->view, server->view);
	kv_reply_bulk(&c->out, text.data, text.used);
	kv_bytes_clear(&text, 0);
}

void kv_run_cluster(struct kv_connection *c, const struct kv_slice *a, uint32_t count)
{
	char id[41];

	(void)kv_server_addresses(c->server);
	if (kv_is(a[1], "slots") && count == 2) {
		reply_all(c, reply_slots, false);
	} else if (kv_is(a[1], "shards") && count == 2) {
		reply_all(c, reply_shards, false);
	} else if (kv_is(a[1], "nodes") && count == 2) {
		reply_all(c, print_nodes, true);
	} else if (kv_is(a[1], "info") && count == 2) {
		reply_cluster_info(c);
	} else if (kv_is(a[1], "myid") && count == 2) {
		print_id(id, c->server->options.id);
		kv_reply_text(&c->out, id);
	} else if (kv_is(a[1], "keyslot") && count == 3) {
		kv_reply_integer(&c->out, kv_slot(a[2]));
	} else {
		kv_reply_error(&c->out,
			       "ERR unknown subcommand or wrong number of arguments for '%.*s'. Try CLUSTER HELP.",
			       (int)(a[1].bytes < 64 ? a[1].bytes : 64), a[1].data);
	}
}

/* ---- INFO -------------------------------------------------------------------------------------------------------------------*/

struct info {
	struct kv_server *server;
	struct kv_store_figures state;
	struct kv_bytes *text;
};

static void print_server(const struct info *info)
{
	kv_bytes_print(
		info->text,
		"redis_version:7.0.0\r\nserver_name:whorl-kv\r\nwhorl_version:%s\r\nredis_mode:%s\r\nprocess_id:%ld\r\n"
		"run_id:%s\r\ntcp_port:%u\r\nuptime_in_seconds:%" PRIu64 "\r\n",
		whorl_version(), info->server->shards > 1 ? "cluster" : "standalone", (long)getpid(),
		info->server->run_id, (unsigned)info->server->options.port,
		(kv_now_ms() - info->server->started_ms) / 1000);
}

static void print_clients(const struct info *info)
{
	kv_bytes_print(info->text,
		       "connected_clients:%" PRIu64 "\r\nmaxclients:%" PRIu64 "\r\nclients_memory:%" PRIu64
		       "\r\nclients_memory_max:%" PRIu64 "\r\n",
		       info->server->connection_count, info->server->options.maxclients, info->server->memory,
		       info->server->options.clients_memory);
}

static void print_memory(const struct info *info)
{
	struct rusage usage = {0};

	(void)getrusage(RUSAGE_SELF, &usage);
	kv_bytes_print(info->text,
		       "used_memory:%" PRIu64 "\r\nused_memory_peak_rss:%" PRIu64 "\r\nmaxmemory:%" PRIu64
		       "\r\nmaxmemory_policy:noeviction\r\n",
		       info->state.used, (uint64_t)usage.ru_maxrss * 1024, info->server->options.maxmemory);
}

static void print_stats(const struct info *info)
{
	kv_bytes_print(info->text, "total_connections_received:%" PRIu64 "\r\ntotal_commands_processed:%" PRIu64 "\r\n",
		       info->server->connections_ever, info->server->commands_ever);
}

static const char *state_of(const struct kv_server *server)
{
	return server->no_quorum ? "no_quorum" : server->ready ? "ready" : "loading";
}

static void print_replication(const struct info *info)
{
	const struct kv_server *server = info->server;

	kv_bytes_print(info->text,
		       "role:master\r\nconnected_slaves:0\r\nstate:%s\r\nnode:%" PRIu32 "\r\nview:%" PRIu64
		       "\r\nmembers:%" PRIu64 "\r\nshard:%" PRIu32 "\r\nshards:%" PRIu32 "\r\nshard_members:",
		       state_of(server), server->options.id, server->view, server->members, server->shard,
		       server->shards);
	for (uint32_t i = 0; server->in_shard && i < server->shard_counts[server->shard]; i++)
		kv_bytes_print(info->text, "%s%" PRIu32, i > 0 ? "," : "", server->shard_members[server->shard][i]);
	kv_bytes_print(info->text,
		       "\r\nposition:%" PRIu64 ".%" PRIu64 "\r\ncalls:%" PRIu64 "\r\ndigest:%016" PRIx64
		       "\r\nclock_ms:%" PRIu64 "\r\nsnapshots:%" PRIu32 "\r\n",
		       info->state.view, info->state.sequence, info->state.calls, info->state.digest,
		       info->state.clock_ms, info->state.snapshots);
}

static void print_cluster(const struct info *info)
{
	kv_bytes_print(info->text, "cluster_enabled:%d\r\n", info->server->shards > 1);
}

static void print_keyspace(const struct info *info)
{
	if (info->state.keys > 0)
		kv_bytes_print(info->text, "db0:keys=%" PRIu64 ",expires=%" PRIu64 ",avg_ttl=0\r\n", info->state.keys,
			       info->state.expiring);
}

static const struct {
	const char *name, *title;
	void (*print)(const struct info *info);
} sections[] = {
	{"server", "Server", print_server},
	{"clients", "Clients", print_clients},
	{"memory", "Memory", print_memory},
	{"stats", "Stats", print_stats},
	{"replication", "Replication", print_replication},
	{"cluster", "Cluster", print_cluster},
	{"keyspace", "Keyspace", print_keyspace},
};

void kv_run_info(struct kv_connection *c, const struct kv_slice *a, uint32_t count)
{
	struct kv_bytes text = {0};
	struct info info = {.server = c->server, .text = &text};

	kv_store_get_figures(kv_server_store(c->server), &info.state);
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		bool wanted = count == 1;

		for (uint32_t k = 1; k < count; k++)
			wanted |= kv_is(a[k], sections[i].name) || kv_is(a[k], "all") || kv_is(a[k], "everything") ||
				  kv_is(a[k], "default");
		if (!wanted)
			continue;
		kv_bytes_print(&text, "%s# %s\r\n", text.used > 0 ? "\r\n" : "", sections[i].title);
		sections[i].print(&info);
	}
	kv_reply_bulk(&c->out, text.data, text.used);
	c->out.failed = c->out.failed || text.failed;
	kv_bytes_clear(&text, 0);
}
