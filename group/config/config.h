/* config.h - what a configuration says about a group, as structs.
 *
 * The option tables of the sections [group], [subgroup NAME], [engine] and [node N]; the command adds its own. The public
 * whorl_config is a conf loaded with these.
 */
#ifndef WH_GROUP_CONFIG_H
#define WH_GROUP_CONFIG_H

#include <whorl/whorl.h>

#include "base/option.h"
#include "base/pieces.h"
#include "conf/conf.h"
#include "membership/view.h"
#include "transport/transport.h"

struct wh_group_options {
	char name[WH_OPTION_TEXT_BYTES];
	int transport;                        /* enum wh_transport_kind */
	int64_t nodes;                        /* configured: ids 0 to nodes-1; 0: wh_node_config_names_none */
	int64_t nodes_max;                    /* ids are below; 0: nodes. Use wh_node_config_nodes_max */
	char founder[WH_OPTION_TEXT_BYTES];   /* none, or a node id: wh_node_config_founder */
	char state_dir[WH_OPTION_TEXT_BYTES]; /* none, or a directory: wh_node_config_keeps_records */
	char log_dir[WH_OPTION_TEXT_BYTES];   /* none, or a directory: below it one for each node's logs */
	int64_t disk_timeout_ms;  /* a disk that does not answer for so long has failed. Of this node alone */
	int64_t log_check_days;   /* in such a time the logs on it are read again; 0: never. Likewise */
	int start;                /* enum wh_start */
	int64_t start_timeout_ms; /* so long all configured nodes are waited for */
	int64_t backlog_max; /* bytes, of one subgroup: of a newcomer, and of what was refused; beside memory_max */
	int64_t state_share; /* percent, of the time of the node that gives a state */
	int64_t failure_timeout_ms;
	int64_t cut_max_ms; /* between members that do not reach each other (0051); of this node alone */
	int64_t memory_max; /* bytes, of the rows and arrays of one node */
	char tie_breaker[WH_OPTION_TEXT_BYTES]; /* none, or a node id: wh_node_config_tie_breaker */
	/* none, or paths: group/config/secret.h */
	char key_file[WH_OPTION_TEXT_BYTES], tls_certificate_file[WH_OPTION_TEXT_BYTES];
	char tls_key_file[WH_OPTION_TEXT_BYTES], tls_authority_file[WH_OPTION_TEXT_BYTES];
	bool tls;
	int protect; /* enum wh_protect */
};

enum wh_protect { WH_PROTECT_MEETING, WH_PROTECT_ALL };

enum wh_start { WH_START_AUTO, WH_START_JOIN }; /* join: never forms a first view */

enum wh_transport_kind { WH_TRANSPORT_SHM, WH_TRANSPORT_TCP, WH_TRANSPORT_VERBS, WH_TRANSPORT_SIM };

enum wh_subgroup_mode { WH_SUBGROUP_UNORDERED, WH_SUBGROUP_ORDERED, WH_SUBGROUP_DURABLE };

enum wh_sending_threads { WH_SENDING_THREADS_ANY, WH_SENDING_THREADS_ONE };

struct wh_subgroup_options {
	char members[WH_OPTION_TEXT_BYTES], senders[WH_OPTION_TEXT_BYTES];
	int64_t shards, members_min;
	int mode; /* enum wh_subgroup_mode */
	int64_t window;
	int64_t message_bytes, large_bytes;
	int64_t relay_bytes;   /* slots with so many go from member to member (0074); 0: none does */
	int64_t refuse_max_ms; /* of this node's program alone (0044); 0: no limit */
	int sending_threads;   /* enum wh_sending_threads: of this node's program alone (0071) */
	int64_t log_bytes;     /* of the log of a shard, until a checkpoint is made. Of this node alone */
};

#define WH_REFUSE_MAX_MS (UINT64_C(1) << 40)

/* Slots of a message, at most. */
static inline uint32_t wh_parts_most(uint64_t large_bytes, uint64_t message_bytes)
{
	return large_bytes <= message_bytes ? 1 : wh_pieces_in(large_bytes, message_bytes);
}

static inline uint32_t wh_subgroup_parts_most(const struct wh_subgroup_options *options)
{
	return wh_parts_most((uint64_t)options->large_bytes, (uint64_t)options->message_bytes);
}

enum wh_thread_kind { WH_THREAD_DEDICATED, WH_THREAD_CALLER };

struct wh_engine_options {
	int thread; /* enum wh_thread_kind */
	int idle;   /* enum wh_idle */
	bool send_batching, receive_batching, delivery_batching, null_sends, deferred_push;
	char cpus[WH_OPTION_TEXT_BYTES]; /* none | auto | 0,1,... : node i's loop on the i-th, modulo their number */
	int huge_pages;                  /* WH_HUGE_OFF, WH_HUGE_TRY, WH_HUGE_REQUIRE: of the transport */
	bool death_waits;
};

struct wh_address_options { /* of [node N] */
	char address[WH_OPTION_TEXT_BYTES];
};

extern const struct wh_option_table wh_group_table, wh_subgroup_table, wh_engine_table, wh_address_table;

struct wh_node_config { /* one variant of a configuration, bound */
	struct wh_group_options group;
	struct wh_engine_options engine;
	uint32_t subgroup_count;
	struct wh_node_subgroup {
		char name[WH_NAME_BYTES];
		struct wh_subgroup_options options;
	} * subgroups;
	struct wh_address_options *addresses; /* by id, as many as wh_node_config_nodes_max; NULL: none are given */
	/* Not of the file, 0: as usual. The simulator has few subgroups, and tries what is for many (0041): from how many shards on there
	 * are words that say where something moves, and behind how many steps that find nothing a subgroup cools. All nodes alike. */
	uint32_t words_from, cools;
	/* Likewise: so much of messages goes into a batch of a log, and the files of logs are as small as that and log_bytes allow. Nodes may
	 * differ. */
	uint32_t batch_bytes;
	uint64_t check_ns;  /* instead of log_check_days; 0: as those say, where there are threads */
	uint64_t log_bytes; /* likewise: instead of what those say that enter a dynamic subgroup; 0: as they say */
};

/* Binds and checks one variant of `conf`, which has been checked against the tables. Everything that only the whole
 * can show (member lists, sums) is noted as mistakes in the conf. WHORL_OK, WHORL_CONFIG, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_node_config_bind(struct wh_node_config *out, struct wh_conf *conf, size_t variant);
WH_MUST_CHECK enum whorl_result wh_node_config_copy(struct wh_node_config *out, const struct wh_node_config *from,
						    struct wh_error *err);
void wh_node_config_free(struct wh_node_config *config);

/* Of a shard of a view: as the file says, or as nodes have wished. */
struct wh_parameters wh_node_config_parameters(const struct wh_node_config *config,
					       const struct wh_view_subgroup *subgroup);
/* Of a view's subgroup: 0 where nothing is relayed, as in all that are entered at run time. */
uint64_t wh_node_config_relay_bytes(const struct wh_node_config *config, const struct wh_view_subgroup *subgroup);

/* The node id of the tie-breaker, -1: none. */
int wh_node_config_tie_breaker(const struct wh_node_config *config);

/* Where node `id` of a group on tcp is called, host:port: as the file says, or as it follows from the group's name. */
void wh_node_config_address(const struct wh_node_config *config, uint32_t id, char text[WH_OPTION_TEXT_BYTES]);

/* One more than the greatest id. */
uint32_t wh_node_config_nodes_max(const struct wh_node_config *config);
/* Is no node named, so that the first process forms the group? It has the id 0, which is the founder then (0047). */
bool wh_node_config_names_none(const struct wh_node_config *config);
/* The node id of the founder, -1: none, the first view is formed by a majority. */
int wh_node_config_founder(const struct wh_node_config *config);

/* Does each node keep a record of the group that it was counted in last (group/record.h)? */
bool wh_node_config_keeps_records(const struct wh_node_config *config);

/* Does the group keep its views on disk, and may subgroups of it be durable? */
bool wh_node_config_is_durable(const struct wh_node_config *config);
/* Is one of the file? */
bool wh_node_config_has_durable(const struct wh_node_config *config);

/* Of what all nodes of a group must agree on: [group] nodes, nodes_max, founder, whether there is a state_dir, whether there is a log_dir, tie_breaker,
 * failure_timeout_ms, and on shm the directory that log_dir is; and all of each [subgroup], with their order, and how rows are laid (`apart`). */
uint64_t wh_node_config_group_digest(const struct wh_node_config *config);
uint64_t wh_node_config_subgroups_digest(const struct wh_node_config *config, bool apart);

/* What it says about which node is in which subgroup: subgroup_count texts, which point into `config`. */
void wh_node_config_layout(const struct wh_node_config *config, struct wh_subgroup_text *texts);

/* The processor for node `id`'s loop, -1: not pinned. */
int wh_node_config_cpu(const struct wh_node_config *config, uint32_t id);

/* A whorl_config that is `bound` already, from `conf`; it owns neither, and both outlive it. */
whorl_config *wh_config_borrow(struct wh_conf *conf, const struct wh_node_config *bound);

/* The bound form of a whorl_config: WHORL_OK, WHORL_CONFIG, WHORL_MEMORY; the text goes to the config. */
WH_MUST_CHECK enum whorl_result wh_config_bind(whorl_config *config, struct wh_node_config *out);
struct wh_error *wh_config_failure(whorl_config *config);

#endif
