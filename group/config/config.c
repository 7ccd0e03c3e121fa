/* config.c - the options of a group, and the public whorl_config. See config.h. */
#include "group/config/config.h"

#include <ctype.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "group/logs/logs.h"
#include "group/refuse.h"
#include "predicates/loop.h"
#include "sst/columns.h"
#include "transport/tcp/tcp.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const transports[] = {"shm", "tcp", "verbs", "sim", NULL};
static const char *const starts[] = {"auto", "join", NULL};
static const char *const protects[] = {"meeting", "all", NULL};
static const char *const modes[] = {"unordered", "ordered", "durable", NULL};
static const char *const sending_threads[] = {"any", "one", NULL};
static const char *const threads[] = {"dedicated", "caller", NULL};
static const char *const idles[] = {"adaptive", "yield", "spin", NULL};
static const char *const huge_pages[] = {"off", "try", "require", NULL};

#define GROUP(field) offsetof(struct wh_group_options, field)
static const struct wh_option group_options[] = {
	{"name", WH_OPTION_TEXT, "", "whorl", 0, 0, NULL,
	 "Nodes meet by this name; groups of other names are never met.", GROUP(name), false},
	{"transport", WH_OPTION_CHOICE, "", "shm", 0, 0, transports,
	 "What moves the bytes: shm: processes of one host and one user; tcp: nodes on any network; verbs: nodes with RDMA devices.",
	 GROUP(transport), true},
	{"nodes", WH_OPTION_INTEGER, "", "2", 0, WH_NODES_MAX, NULL,
	 "Nodes that form the group, all of them; on shm, or with state_dir, more than half, unless a subgroup is durable. Their ids are 0 to nodes-1. 0, on shm: "
	 "no node is named, and the first process forms the group, as node 0.",
	 GROUP(nodes), true},
	{"nodes_max", WH_OPTION_INTEGER, "", "0", 0, WH_NODES_MAX, NULL,
	 "Nodes that there may ever be: those with ids from nodes to nodes_max-1 join; 0: as many as nodes.",
	 GROUP(nodes_max), false},
	{"founder", WH_OPTION_TEXT, "", "none", 0, 0, NULL,
	 "none, or the id of the node that forms the group, alone (with state_dir once in its life); all others join it. On tcp and verbs it needs state_dir.",
	 GROUP(founder), false},
	{"state_dir", WH_OPTION_TEXT, "", "none", 0, 0, NULL,
	 "tcp, verbs: none, or a directory that outlives the machine's power, where each node notes which group it was in. With it more than half of the nodes, or the founder, may form a group (docs/operations.md).",
	 GROUP(state_dir), false},
	{"log_dir", WH_OPTION_TEXT, "", "none", 0, 0, NULL,
	 "Where views, and durable subgroups with their logs, are kept: a directory that outlives the machine's power. Below it each node has one of its id. "
	 "On shm all nodes have the same; on a network they may differ. none: nothing is kept, and no subgroup is durable.",
	 GROUP(log_dir), false},
	{"disk_timeout_ms", WH_OPTION_INTEGER, "ms", "5000", 100, 600000, NULL,
	 "A disk that is full, or does not answer, for so long has failed, and its node leaves. Nodes may differ.",
	 GROUP(disk_timeout_ms), false},
	{"log_check_days", WH_OPTION_INTEGER, "days", "30", 0, 36500, NULL,
	 "In such a time a node reads all of its logs again, a piece at a time, and finds what has rotted; 0: never. Nodes may differ.",
	 GROUP(log_check_days), false},
	{"start", WH_OPTION_CHOICE, "", "auto", 0, 0, starts,
	 "auto: joins a group that is running, else forms one; join: never forms one, for nodes that are restarted.",
	 GROUP(start), false},
	{"start_timeout_ms", WH_OPTION_INTEGER, "ms", "1000", 10, 600000, NULL,
	 "When a group is formed all its nodes are waited for so long; then more than half of them will do, where they may form one.",
	 GROUP(start_timeout_ms), false},
	{"backlog_max", WH_OPTION_INTEGER, "bytes", "1g", 1 << 20, INT64_C(1) << 40, NULL,
	 "What a node may keep back of one subgroup, beside memory_max: a newcomer until it has the state, and what a program has "
	 "refused when a view ends; beyond that it leaves.",
	 GROUP(backlog_max), false},
	{"state_share", WH_OPTION_INTEGER, "%", "50", 1, 100, NULL,
	 "How much of its time a member works when it gives its state to a newcomer; while its loop has something to do it pauses in between, so "
	 "that the group keeps its processors.",
	 GROUP(state_share), false},
	{"failure_timeout_ms", WH_OPTION_INTEGER, "ms", "1000", 10, 600000, NULL,
	 "A member that is not heard for so long counts as failed; it must be longer than any upcall.",
	 GROUP(failure_timeout_ms), true},
	{"cut_max_ms", WH_OPTION_INTEGER, "ms", "30000", 1000, 86400000, NULL,
	 "tcp, verbs: connections between members hold while nothing comes through for so long; a node that has heard no quorum for so "
	 "long, and never can again, gives up. Nodes may differ.",
	 GROUP(cut_max_ms), false},
	{"memory_max", WH_OPTION_INTEGER, "bytes", "1g", 1 << 20, INT64_C(1) << 40, NULL,
	 "What a node's rows and arrays may take; more is refused before anything is allocated. What is kept back for each "
	 "subgroup (backlog_max), and 256k for each state under way, come on top.",
	 GROUP(memory_max), false},
	{"tie_breaker", WH_OPTION_TEXT, "", "none", 0, 0, NULL,
	 "none, or the node id of the member with which exactly half of a view may go on without the others.",
	 GROUP(tie_breaker), false},
	{"key_file", WH_OPTION_TEXT, "", "none", 0, 0, NULL,
	 "tcp, verbs: none, or the file of the cluster key, the same bytes for all nodes (16 to 4096; chmod 600): a program "
	 "without them is not let in. Without a key or TLS only loopback addresses are allowed on tcp, and any on verbs.",
	 GROUP(key_file), false},
	{"protect", WH_OPTION_CHOICE, "", "meeting", 0, 0, protects,
	 "tcp, verbs: what the cluster key protects. meeting: which programs come in; what follows goes plain, and can be read and changed on "
	 "its way. all: everything is encrypted too, on verbs but for what devices write. The same for all nodes.",
	 GROUP(protect), true},
	{"tls", WH_OPTION_SWITCH, "", "off", 0, 0, NULL,
	 "tcp, verbs: nodes show certificates, and everything is encrypted, on verbs but for what devices write (docs/security.md).",
	 GROUP(tls), true},
	{"tls_certificate_file", WH_OPTION_TEXT, "", "none", 0, 0, NULL,
	 "PEM: this node's certificate, for the name URI:whorl://GROUP/ID. In this path and the next {node} stands for the id.",
	 GROUP(tls_certificate_file), false},
	{"tls_key_file", WH_OPTION_TEXT, "", "none", 0, 0, NULL,
	 "PEM: the private key of that certificate, without a pass phrase; chmod 600.", GROUP(tls_key_file), false},
	{"tls_authority_file", WH_OPTION_TEXT, "", "none", 0, 0, NULL,
	 "PEM: the certificates of the authorities that may have signed those of the nodes.", GROUP(tls_authority_file),
	 false},
};
const struct wh_option_table wh_group_table = {"group",       WH_OPTION_UNNAMED,    "The group and how its nodes meet.",
					       group_options, COUNT(group_options), sizeof(struct wh_group_options)};

#define SUBGROUP(field) offsetof(struct wh_subgroup_options, field)
static const struct wh_option subgroup_options[] = {
	{"members", WH_OPTION_TEXT, "", "all", 0, 0, NULL,
	 "all, node ids as in 0,1,2, function: the program says for each view which nodes are members and which send, or wish: nodes "
	 "enter and leave it while they run, and this section says what it is.",
	 SUBGROUP(members), false},
	{"senders", WH_OPTION_TEXT, "", "all", 0, 0, NULL,
	 "Of the members of each shard: all, half (every second), one (the first), or those of the node ids, as in 0,2.",
	 SUBGROUP(senders), false},
	{"shards", WH_OPTION_INTEGER, "", "1", 1, WH_SHARDS_MAX, NULL,
	 "The members are shared out among so many shards, each with messages and an order of its own.",
	 SUBGROUP(shards), true},
	{"members_min", WH_OPTION_INTEGER, "members", "1", 1, WH_NODES_MAX, NULL,
	 "A shard with fewer members is inactive: nothing is sent in it.", SUBGROUP(members_min), true},
	{"mode", WH_OPTION_CHOICE, "", "ordered", 0, 0, modes,
	 "unordered: delivered on receipt, in each sender's order; ordered: atomic multicast; durable: ordered, and delivered when it is "
	 "on the disk of every member (group.log_dir), which takes messages of up to 512 MB.",
	 SUBGROUP(mode), true},
	{"window", WH_OPTION_INTEGER, "messages", "100", 1, WH_WINDOW_MAX, NULL,
	 "Messages in flight per sender: slots of its ring.", SUBGROUP(window), true},
	{"message_bytes", WH_OPTION_INTEGER, "bytes", "10240", 1, WH_MESSAGE_BYTES_MAX, NULL,
	 "The largest message in one slot; each slot has that size.", SUBGROUP(message_bytes), true},
	{"large_bytes", WH_OPTION_INTEGER, "bytes", "0", 0, INT64_C(1) << 45, NULL,
	 "The largest message: one that is larger than message_bytes takes several slots. At most window times message_bytes, which is "
	 "a multiple of 16 then; 0: message_bytes.",
	 SUBGROUP(large_bytes), true},
	{"relay_bytes", WH_OPTION_INTEGER, "bytes", "0", 0, WH_MESSAGE_BYTES_MAX, NULL,
	 "Slots that hold so many bytes or more go from member to member, and not from the sender to each: for a few senders of large "
	 "messages, which then fill their links (docs/decisions/0074). Ordered and durable, on transports that can: tcp, and in simulation. 0: none.",
	 SUBGROUP(relay_bytes), true},
	{"refuse_max_ms", WH_OPTION_INTEGER, "ms", "0", 0, WH_REFUSE_MAX_MS, NULL,
	 "So long may this node's program refuse what it is offered and take nothing; then it is told, or the node leaves. 0: for "
	 "ever. Nodes may differ.",
	 SUBGROUP(refuse_max_ms), false},
	{"sending_threads", WH_OPTION_CHOICE, "", "any", 0, 0, sending_threads,
	 "one: this node's program promises that one thread sends there, the first that claims: its claims are cheaper, and those of others are "
	 "refused. A subgroup that is served (whorl/delegate.h) has such a thread: its worker's. Nodes may differ.",
	 SUBGROUP(sending_threads), true},
	{"log_bytes", WH_OPTION_INTEGER, "bytes", "1g", 1 << 20, INT64_C(1) << 45, NULL,
	 "durable: a log that is longer gets a checkpoint, if the program has functions for its state, and what lies before that goes. Nodes "
	 "may differ.",
	 SUBGROUP(log_bytes), false},
};
const struct wh_option_table wh_subgroup_table = {
	"subgroup",
	WH_OPTION_NAMED,
	"A subgroup: members that deliver the same messages, as many as wanted, overlapping as wanted.",
	subgroup_options,
	COUNT(subgroup_options),
	sizeof(struct wh_subgroup_options)};

#define ENGINE(field) offsetof(struct wh_engine_options, field)
static const struct wh_option engine_options[] = {
	{"thread", WH_OPTION_CHOICE, "", "dedicated", 0, 0, threads,
	 "dedicated: a thread of its own runs the loop; caller: the program does.", ENGINE(thread), true},
	{"idle", WH_OPTION_CHOICE, "", "adaptive", 0, 0, idles,
	 "A loop without work: adaptive spins, yields, then sleeps; yield never sleeps; spin keeps its core.",
	 ENGINE(idle), true},
	{"send_batching", WH_OPTION_SWITCH, "", "on", 0, 0, NULL,
	 "Send all committed messages at once, not one for each firing.", ENGINE(send_batching), true},
	{"receive_batching", WH_OPTION_SWITCH, "", "on", 0, 0, NULL,
	 "Take in all that arrived, with one acknowledgement, not one for each message.", ENGINE(receive_batching),
	 true},
	{"delivery_batching", WH_OPTION_SWITCH, "", "on", 0, 0, NULL,
	 "Deliver all that is stable, with one acknowledgement, not one for each message.", ENGINE(delivery_batching),
	 true},
	{"null_sends", WH_OPTION_SWITCH, "", "on", 0, 0, NULL,
	 "Cover rounds in which this node has nothing to send, so that nobody waits for it.", ENGINE(null_sends), true},
	{"deferred_push", WH_OPTION_SWITCH, "", "on", 0, 0, NULL,
	 "Post the pushes of a trigger together at its end, not one by one.", ENGINE(deferred_push), true},
	{"cpus", WH_OPTION_TEXT, "", "none", 0, 0, NULL,
	 "Pins loops: none, auto (node i on processor i modulo their number), or processors as in 0,1.", ENGINE(cpus),
	 false},
	{"huge_pages", WH_OPTION_CHOICE, "", "off", 0, 0, huge_pages, "Rows on huge pages: off, try, or require.",
	 ENGINE(huge_pages), true},
	{"death_waits", WH_OPTION_SWITCH, "", "off", 0, 0, NULL,
	 "shm, three nodes and more, thread = dedicated: when the process is killed the kernel waits, for 30 to 40 ms, before it takes its memory "
	 "apart, so survivors are not held up by that. Each end of the process takes so much longer, also in order.",
	 ENGINE(death_waits), true},
};
const struct wh_option_table wh_engine_table = {
	"engine",       WH_OPTION_UNNAMED,     "How the loop runs, and which of Spindle's optimisations are on.",
	engine_options, COUNT(engine_options), sizeof(struct wh_engine_options)};

#define NODE(field) offsetof(struct wh_address_options, field)
static const struct wh_option address_options[] = {
	{"address", WH_OPTION_TEXT, "", "", 0, 0, NULL,
	 "host:port or [address]:port where the node is called. Without any, nodes are on this host's loopback interface, at "
	 "addresses that follow from the user and the group's name.",
	 NODE(address), false},
};
const struct wh_option_table wh_address_table = {
	"node",
	WH_OPTION_NAMED,
	"Where a node is, by its id, for transports of networks: all nodes or none.",
	address_options,
	COUNT(address_options),
	sizeof(struct wh_address_options)};

/* ---- binding ------------------------------------------------------------------------------------------------------ */

static bool cpus_hold(const char *text)
{
	if (strcmp(text, "none") == 0 || strcmp(text, "auto") == 0)
		return true;
	for (const char *at = text;; at++) {
		int cpu = 0;

		if (!isdigit((unsigned char)*at))
			return false;
		for (; isdigit((unsigned char)*at) && cpu < CPU_SETSIZE; at++)
			cpu = 10 * cpu + *at - '0';
		if (cpu >= CPU_SETSIZE)
			return false;
		if (*at == '\0')
			return true;
		if (*at != ',')
			return false;
	}
}

int wh_node_config_cpu(const struct wh_node_config *config, uint32_t id)
{
	const char *text = config->engine.cpus, *at = text;
	uint32_t count = 1, wanted;

	if (strcmp(text, "none") == 0)
		return -1;
	if (strcmp(text, "auto") == 0)
		return (int)(id % (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
	for (const char *comma = text; (comma = strchr(comma, ',')) != NULL; comma++)
		count++;
	wanted = id % count;
	while (wanted-- > 0)
		at = strchr(at, ',') + 1;
	return atoi(at);
}

/* -1: the text is not the id of a node. */
static int parse_id(const char *text, int64_t nodes)
{
	size_t digits = strspn(text, "0123456789");

	return digits > 0 && digits <= 4 && text[digits] == '\0' && atoi(text) < nodes ? atoi(text) : -1;
}

uint32_t wh_node_config_nodes_max(const struct wh_node_config *config)
{
	int64_t most = config->group.nodes_max > 0 ? config->group.nodes_max : config->group.nodes;

	return most > 0 ? (uint32_t)most : 1; /* neither is said: a mistake, found later */
}

int wh_node_config_tie_breaker(const struct wh_node_config *config)
{
	return parse_id(config->group.tie_breaker, wh_node_config_nodes_max(config)); /* of `none`: -1 */
}

bool wh_node_config_names_none(const struct wh_node_config *config)
{
	return config->group.nodes == 0 && strcmp(config->group.founder, "none") == 0;
}

int wh_node_config_founder(const struct wh_node_config *config)
{
	return wh_node_config_names_none(config) ? 0
						 : parse_id(config->group.founder, wh_node_config_nodes_max(config));
}

/* ---- digests: FNV-1a of numbers and texts, each with its end ---------------------------------------------------------- */

#define DIGEST_BEGIN UINT64_C(0xcbf29ce484222325)

static uint64_t digest_byte(uint64_t digest, unsigned char byte)
{
	return (digest ^ byte) * UINT64_C(0x100000001b3);
}

static uint64_t digest_number(uint64_t digest, int64_t number)
{
	for (int i = 0; i < 8; i++)
		digest = digest_byte(digest, (unsigned char)((uint64_t)number >> 8 * i));
	return digest;
}

/* Blanks in lists say nothing. */
static uint64_t digest_text(uint64_t digest, const char *text)
{
	for (; *text != '\0'; text++)
		if (!isspace((unsigned char)*text))
			digest = digest_byte(digest, (unsigned char)*text);
	return digest_byte(digest, '\0');
}

/* However it is called. One that is not there has a name only. */
static uint64_t digest_directory(uint64_t digest, const char *path)
{
	struct stat is;

	if (stat(path, &is) != 0)
		return digest_text(digest, path);
	digest = digest_number(digest, (int64_t)is.st_dev);
	return digest_number(digest, (int64_t)is.st_ino);
}

bool wh_node_config_keeps_records(const struct wh_node_config *config)
{
	return config->group.state_dir[0] != '\0' && strcmp(config->group.state_dir, "none") != 0;
}

uint64_t wh_node_config_group_digest(const struct wh_node_config *config)
{
	uint64_t digest = digest_number(DIGEST_BEGIN, config->group.nodes);

	digest = digest_number(digest, wh_node_config_nodes_max(config));
	digest = digest_number(digest, wh_node_config_founder(config));
	digest = digest_number(digest, wh_node_config_keeps_records(config));
	digest = digest_number(digest, wh_node_config_is_durable(config));
	digest = digest_number(digest, wh_node_config_tie_breaker(config));
	if (config->group.transport == WH_TRANSPORT_SHM && wh_node_config_is_durable(config))
		digest = digest_directory(digest, config->group.log_dir);
	return digest_number(digest, config->group.failure_timeout_ms);
}

uint64_t wh_node_config_subgroups_digest(const struct wh_node_config *config, bool apart)
{
	uint64_t digest = digest_number(DIGEST_BEGIN, apart);

	for (uint32_t i = 0; i < config->subgroup_count; i++) {
		const struct wh_subgroup_options *options = &config->subgroups[i].options;

		digest = digest_text(digest, config->subgroups[i].name);
		digest = digest_text(digest, options->members);
		digest = digest_text(digest, options->senders);
		digest = digest_number(digest, options->shards);
		digest = digest_number(digest, options->members_min);
		digest = digest_number(digest, options->mode);
		digest = digest_number(digest, options->window);
		digest = digest_number(digest, options->message_bytes);
		if (options->large_bytes > 0) /* where it is not given nodes without it are alike */
			digest = digest_number(digest, options->large_bytes);
		if (options->relay_bytes > 0) /* likewise, behind a mark: it is no large_bytes */
			digest = digest_number(digest_text(digest, "relay_bytes"), options->relay_bytes);
	}
	return digest;
}

/* ---- the whole -------------------------------------------------------------------------------------------------------- */

void wh_node_config_layout(const struct wh_node_config *config, struct wh_subgroup_text *texts)
{
	for (uint32_t i = 0; i < config->subgroup_count; i++) {
		const struct wh_node_subgroup *subgroup = &config->subgroups[i];

		texts[i] = (struct wh_subgroup_text){.name = subgroup->name,
						     .members = subgroup->options.members,
						     .senders = subgroup->options.senders,
						     .shards = (uint32_t)subgroup->options.shards,
						     .members_min = (uint32_t)subgroup->options.members_min};
	}
}

struct wh_parameters wh_node_config_parameters(const struct wh_node_config *config,
					       const struct wh_view_subgroup *subgroup)
{
	const struct wh_subgroup_options *options;

	if (subgroup->configured == WH_NOT_CONFIGURED)
		return subgroup->parameters;
	options = &config->subgroups[subgroup->configured].options;
	return (struct wh_parameters){.ordered = options->mode != WH_SUBGROUP_UNORDERED,
				      .durable = options->mode == WH_SUBGROUP_DURABLE,
				      .window = (uint32_t)options->window,
				      .message_bytes = (uint32_t)options->message_bytes,
				      .large_bytes = (uint64_t)options->large_bytes};
}

uint64_t wh_node_config_relay_bytes(const struct wh_node_config *config, const struct wh_view_subgroup *subgroup)
{
	if (subgroup->configured == WH_NOT_CONFIGURED)
		return 0;
	return (uint64_t)config->subgroups[subgroup->configured].options.relay_bytes;
}

bool wh_node_config_is_durable(const struct wh_node_config *config)
{
	return config->group.log_dir[0] != '\0' && strcmp(config->group.log_dir, "none") != 0;
}

bool wh_node_config_has_durable(const struct wh_node_config *config)
{
	for (uint32_t i = 0; i < config->subgroup_count; i++)
		if (config->subgroups[i].options.mode == WH_SUBGROUP_DURABLE)
			return true;
	return false;
}

/* What a log has to have room for. */
static uint64_t largest_message(const struct wh_subgroup_options *options)
{
	return (uint64_t)(options->large_bytes > options->message_bytes ? options->large_bytes
									: options->message_bytes);
}

/* On which no member relays, as its table says too (wh_transport_ops.relays); NULL: they do, or a world that is brought will say. */
static const char *is_without_relays(int transport)
{
	return transport == WH_TRANSPORT_SHM ? "shm" : transport == WH_TRANSPORT_VERBS ? "verbs" : NULL;
}

static void find_relay_mistakes(const struct wh_node_subgroup *subgroup, int transport, struct wh_conf *conf)
{
	const struct wh_subgroup_options *options = &subgroup->options;
	const char *without = is_without_relays(transport);

	if (options->relay_bytes == 0)
		return;
	if (options->mode == WH_SUBGROUP_UNORDERED)
		wh_conf_mistake(conf, "subgroup", subgroup->name, "relay_bytes",
				"is %" PRId64 ", expected 0 in an unordered subgroup", options->relay_bytes);
	else if (strcmp(options->members, "wish") == 0)
		wh_conf_mistake(conf, "subgroup", subgroup->name, "relay_bytes",
				"is %" PRId64 ", expected 0 with members = wish", options->relay_bytes);
	else if (options->relay_bytes > options->message_bytes)
		wh_conf_mistake(conf, "subgroup", subgroup->name, "relay_bytes",
				"is %" PRId64 ", expected at most %" PRId64 " (message_bytes): that much is in a slot",
				options->relay_bytes, options->message_bytes);
	else if (without != NULL)
		wh_conf_mistake(conf, "subgroup", subgroup->name, "relay_bytes",
				"is %" PRId64 ", expected 0 with transport = %s: there no member relays",
				options->relay_bytes, without);
}

/* What only the whole configuration can show. */
static void find_subgroup_mistakes(const struct wh_node_subgroup *subgroup, uint32_t nodes, int transport,
				   struct wh_conf *conf)
{
	const struct wh_subgroup_options *options = &subgroup->options;
	struct wh_error err;

	if (wh_view_check_list(nodes, NULL, options->members, &err) != WHORL_OK)
		wh_conf_mistake(conf, "subgroup", subgroup->name, "members", "%s", err.text);
	if (wh_view_check_list(nodes, options->members, options->senders, &err) != WHORL_OK)
		wh_conf_mistake(conf, "subgroup", subgroup->name, "senders", "%s", err.text);
	if (wh_view_check_shards(nodes, options->members, (uint32_t)options->shards, &err) != WHORL_OK)
		wh_conf_mistake(conf, "subgroup", subgroup->name, "shards", "%s", err.text);
	if (strcmp(options->members, "wish") == 0 && options->members_min > 1)
		wh_conf_mistake(conf, "subgroup", subgroup->name, "members_min",
				"is %" PRId64 ", expected 1: with members = wish it begins with the first that enters",
				options->members_min);
	if (options->mode == WH_SUBGROUP_DURABLE && largest_message(options) > WH_LOG_MESSAGE_MAX)
		wh_conf_mistake(conf, "subgroup", subgroup->name,
				options->large_bytes > 0 ? "large_bytes" : "message_bytes",
				"is %" PRIu64 ", expected at most %" PRIu64 " in a durable subgroup",
				largest_message(options), WH_LOG_MESSAGE_MAX);
	if (options->large_bytes > options->window * options->message_bytes)
		wh_conf_mistake(conf, "subgroup", subgroup->name, "large_bytes",
				"is %" PRId64 ", expected at most %" PRId64 " (window times message_bytes)",
				options->large_bytes, options->window * options->message_bytes);
	else if (options->large_bytes > options->message_bytes && options->message_bytes % 16 != 0)
		wh_conf_mistake(conf, "subgroup", subgroup->name, "message_bytes",
				"is %" PRId64 ", expected a multiple of 16, as large_bytes is more",
				options->message_bytes);
	find_relay_mistakes(subgroup, transport, conf);
}

/* By id. False: no memory. */
static bool bind_addresses(struct wh_node_config *config, struct wh_conf *conf, size_t variant)
{
	uint32_t nodes = wh_node_config_nodes_max(config);
	const char *name;

	if (wh_conf_instance(conf, "node", 0) == NULL)
		return true;
	config->addresses = calloc(nodes, sizeof(*config->addresses));
	for (size_t i = 0; config->addresses != NULL && (name = wh_conf_instance(conf, "node", i)) != NULL; i++) {
		int id = parse_id(name, nodes);

		if (id < 0)
			wh_conf_mistake(conf, "node", name, NULL,
					"is no node of this group, expected an id from 0 to %u", nodes - 1);
		else
			wh_conf_bind(conf, variant, &wh_address_table, name, &config->addresses[id]);
	}
	return config->addresses != NULL;
}

void wh_node_config_address(const struct wh_node_config *config, uint32_t id, char text[WH_OPTION_TEXT_BYTES])
{
	_Static_assert(WH_OPTION_TEXT_BYTES >= WH_TCP_ADDRESS_BYTES, "it fits");
	if (config->addresses == NULL)
		wh_tcp_address_default(config->group.name, id, text);
	else
		memcpy(text, config->addresses[id].address, WH_OPTION_TEXT_BYTES);
}

static void find_address_mistakes(const struct wh_node_config *config, struct wh_conf *conf)
{
	uint32_t nodes = wh_node_config_nodes_max(config);
	struct wh_error err;
	char name[16];

	for (uint32_t id = 0; config->addresses != NULL && id < nodes; id++) {
		const char *address = config->addresses[id].address;

		snprintf(name, sizeof(name), "%u", id);
		if (!wh_conf_has(conf, "node", name))
			wh_conf_mistake(
				conf, "group", NULL, NULL,
				"there is no address of node %u, expected a section [node %u], as others have one", id,
				id);
		else if (wh_tcp_address_check(address, &err) != WHORL_OK)
			wh_conf_mistake(conf, "node", name, "address", "%s", err.text);
		for (uint32_t other = 0; address[0] != '\0' && other < id; other++)
			if (strcmp(address, config->addresses[other].address) == 0)
				wh_conf_mistake(conf, "node", name, "address", "is \"%s\", which node %u has", address,
						other);
	}
}

static void find_id_mistake(const char *key, const char *text, uint32_t nodes_max, struct wh_conf *conf)
{
	if (strcmp(text, "none") != 0 && parse_id(text, nodes_max) < 0)
		wh_conf_mistake(conf, "group", NULL, key, "is \"%s\", expected none, or a node id from 0 to %u", text,
				nodes_max - 1);
}

static void find_tls_mistakes(const struct wh_group_options *group, struct wh_conf *conf)
{
	const struct {
		const char *key, *value;
	} files[] = {{"tls_certificate_file", group->tls_certificate_file},
		     {"tls_key_file", group->tls_key_file},
		     {"tls_authority_file", group->tls_authority_file}};

	for (size_t i = 0; i < COUNT(files); i++)
		if (group->tls && strcmp(files[i].value, "none") == 0)
			wh_conf_mistake(conf, "group", NULL, files[i].key, "is none, expected a file, as tls is on");
	if (group->protect == WH_PROTECT_ALL && strcmp(group->key_file, "none") == 0)
		wh_conf_mistake(conf, "group", NULL, "key_file", "is none, expected a file, as protect is all");
}

/* On a network a founder that is started again behind a cut would found a second group (docs/decisions/0032). */
static void find_forming_mistakes(const struct wh_node_config *config, struct wh_conf *conf)
{
	int transport = config->group.transport;
	bool network = transport == WH_TRANSPORT_TCP || transport == WH_TRANSPORT_VERBS;

	if (config->group.nodes == 0 && transport != WH_TRANSPORT_SHM)
		wh_conf_mistake(conf, "group", NULL, "nodes",
				"is 0, expected 1 to %d: only on shm the first process may form a group", WH_NODES_MAX);
	else if (config->group.nodes == 0 && config->group.nodes_max == 0)
		wh_conf_mistake(conf, "group", NULL, "nodes",
				"is 0, so nodes_max has to say how many nodes there may be, expected 1 to %d",
				WH_NODES_MAX);
	else if (network && wh_node_config_founder(config) >= 0 && !wh_node_config_keeps_records(config))
		wh_conf_mistake(
			conf, "group", NULL, "founder",
			"is %s, and on a network a founder needs state_dir, which keeps it from founding a second group",
			config->group.founder);
	if (transport == WH_TRANSPORT_SHM && wh_node_config_keeps_records(config))
		wh_conf_mistake(conf, "group", NULL, "state_dir",
				"is \"%s\", expected none: on shm the names that processes hold are enough",
				config->group.state_dir);
}

static void find_log_mistakes(const struct wh_node_config *config, struct wh_conf *conf)
{
	if (wh_node_config_has_durable(config) && !wh_node_config_is_durable(config))
		wh_conf_mistake(conf, "group", NULL, "log_dir",
				"is none, expected a directory: a subgroup is durable, and its logs lie there");
	if (wh_node_config_is_durable(config) && config->group.transport != WH_TRANSPORT_SHM &&
	    wh_node_config_founder(config) >= 0)
		wh_conf_mistake(
			conf, "group", NULL, "founder",
			"is %s, expected none: on a network a group with a log_dir is formed by all of its nodes",
			config->group.founder);
}

static void find_mistakes(const struct wh_node_config *config, struct wh_conf *conf)
{
	uint32_t nodes = (uint32_t)config->group.nodes, nodes_max = wh_node_config_nodes_max(config);

	if (!wh_name_holds(config->group.name))
		wh_conf_mistake(conf, "group", NULL, "name", "is \"%s\", expected 1 to %d of A-Z a-z 0-9 _ . -",
				config->group.name, WH_NAME_BYTES - 1);
	if (nodes_max < nodes) {
		wh_conf_mistake(conf, "group", NULL, "nodes_max", "is %u, expected 0, or %u (nodes) to %d", nodes_max,
				nodes, WH_NODES_MAX);
		nodes_max = nodes;
	}
	find_id_mistake("founder", config->group.founder, nodes_max, conf);
	find_id_mistake("tie_breaker", config->group.tie_breaker, nodes_max, conf);
	find_tls_mistakes(&config->group, conf);
	find_forming_mistakes(config, conf);
	find_log_mistakes(config, conf);
	if (!cpus_hold(config->engine.cpus))
		wh_conf_mistake(conf, "engine", NULL, "cpus",
				"is \"%s\", expected none, auto, or processors (0 to %d) as in 0,1",
				config->engine.cpus, CPU_SETSIZE - 1);
	find_address_mistakes(config, conf);
	for (uint32_t i = 0; i < config->subgroup_count; i++)
		find_subgroup_mistakes(&config->subgroups[i], nodes_max, config->group.transport, conf);
}

enum whorl_result wh_node_config_bind(struct wh_node_config *out, struct wh_conf *conf, size_t variant)
{
	const char *name;

	*out = (struct wh_node_config){.subgroup_count = 0};
	while (wh_conf_instance(conf, "subgroup", out->subgroup_count) != NULL)
		out->subgroup_count++;
	out->subgroups = calloc(out->subgroup_count + 1, sizeof(*out->subgroups));
	if (out->subgroups == NULL)
		return WHORL_MEMORY;
	wh_conf_bind(conf, variant, &wh_group_table, NULL, &out->group);
	wh_conf_bind(conf, variant, &wh_engine_table, NULL, &out->engine);
	for (uint32_t i = 0; (name = wh_conf_instance(conf, "subgroup", i)) != NULL; i++) {
		strncpy(out->subgroups[i].name, name, WH_NAME_BYTES - 1);
		wh_conf_bind(conf, variant, &wh_subgroup_table, name, &out->subgroups[i].options);
	}
	if (!bind_addresses(out, conf, variant)) {
		wh_node_config_free(out);
		return WHORL_MEMORY;
	}
	find_mistakes(out, conf);
	if (wh_conf_check(conf) != WHORL_OK) {
		wh_node_config_free(out);
		return WHORL_CONFIG;
	}
	return WHORL_OK;
}

enum whorl_result wh_node_config_copy(struct wh_node_config *out, const struct wh_node_config *from,
				      struct wh_error *err)
{
	size_t bytes = (from->subgroup_count + 1) * sizeof(*from->subgroups);

	*out = *from;
	out->addresses = NULL;
	out->subgroups = malloc(bytes);
	if (out->subgroups == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for %u subgroups", from->subgroup_count);
	if (from->addresses != NULL) {
		size_t address_bytes = wh_node_config_nodes_max(from) * sizeof(*from->addresses);

		out->addresses = malloc(address_bytes);
		if (out->addresses == NULL) {
			wh_node_config_free(out);
			return wh_error_set(err, WHORL_MEMORY, "no memory for addresses");
		}
		memcpy(out->addresses, from->addresses, address_bytes);
	}
	memcpy(out->subgroups, from->subgroups, bytes - sizeof(*from->subgroups));
	return WHORL_OK;
}

void wh_node_config_free(struct wh_node_config *config)
{
	free(config->subgroups);
	free(config->addresses);
	config->subgroups = NULL;
	config->addresses = NULL;
}

/* ---- whorl_config --------------------------------------------------------------------------------------------------- */

struct whorl_config {
	struct wh_conf *conf;
	const struct wh_node_config *bound; /* not our own, nor is the conf; NULL: the conf is our own */
	struct wh_error failure;            /* of whorl_open */
};

static const struct wh_option_table *const tables[] = {&wh_group_table, &wh_subgroup_table, &wh_engine_table,
						       &wh_address_table};

whorl_config *whorl_config_new(void)
{
	struct whorl_config *config = calloc(1, sizeof(*config));

	if (config == NULL)
		return NULL;
	config->conf = wh_conf_new(tables, COUNT(tables));
	if (config->conf == NULL) {
		free(config);
		return NULL;
	}
	return config;
}

whorl_config *wh_config_borrow(struct wh_conf *conf, const struct wh_node_config *bound)
{
	struct whorl_config *config = calloc(1, sizeof(*config));

	if (config != NULL)
		*config = (struct whorl_config){.conf = conf, .bound = bound};
	return config;
}

void whorl_config_free(whorl_config *config)
{
	if (config == NULL)
		return;
	if (config->bound == NULL)
		wh_conf_free(config->conf);
	free(config);
}

enum whorl_result whorl_config_load_file(whorl_config *config, const char *path)
{
	if (config == NULL || path == NULL)
		return WH_REFUSE(config == NULL ? "no configuration" : "no name of a file");
	return wh_conf_load_file(config->conf, path);
}

enum whorl_result whorl_config_load_text(whorl_config *config, const char *name, const char *text)
{
	if (config == NULL || name == NULL || text == NULL)
		return WH_REFUSE(config == NULL ? "no configuration" : name == NULL ? "no name" : "no text");
	return wh_conf_load_text(config->conf, name, text);
}

enum whorl_result whorl_config_set(whorl_config *config, const char *assignment)
{
	if (config == NULL || assignment == NULL)
		return WH_REFUSE(config == NULL ? "no configuration" : "no assignment");
	return wh_conf_set(config->conf, assignment);
}

enum whorl_result whorl_config_ignore(whorl_config *config, const char *section)
{
	if (config == NULL || section == NULL)
		return WH_REFUSE(config == NULL ? "no configuration" : "no section");
	wh_conf_ignore(config->conf, section);
	return WHORL_OK;
}

const char *whorl_config_error(const whorl_config *config)
{
	const char *mistakes;

	if (config == NULL)
		return wh_refuse(__func__, "no configuration: whorl_config_new had no memory"), whorl_invalid_text();
	mistakes = wh_conf_mistakes(config->conf);
	return mistakes[0] != '\0' ? mistakes : config->failure.text;
}

struct wh_error *wh_config_failure(whorl_config *config)
{
	return &config->failure;
}

static enum whorl_result bind_own(whorl_config *config, struct wh_node_config *out)
{
	enum whorl_result result;

	if (wh_conf_check(config->conf) != WHORL_OK)
		return WHORL_CONFIG;
	if (wh_conf_variants(config->conf) > 1)
		return wh_error_set(&config->failure, WHORL_CONFIG,
				    "the configuration has values that are lists; a node needs one value for each");
	result = wh_node_config_bind(out, config->conf, 0);
	if (result == WHORL_MEMORY)
		wh_error_set(&config->failure, result, "no memory for the configuration");
	return result;
}

enum whorl_result wh_config_bind(whorl_config *config, struct wh_node_config *out)
{
	wh_error_clear(&config->failure);
	if (config->bound == NULL)
		return bind_own(config, out);
	return wh_node_config_copy(out, config->bound, &config->failure);
}
