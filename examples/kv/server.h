/* examples/kv/server.h - the server: one thread, in which epoll, the loop of whorl and the commands take turns.
 *
 *     connection.c   clients: bytes in, commands into batches, replies out
 *     local.c        commands about the connection: PING, AUTH, MULTI, CONFIG...
 *     info.c         INFO and CLUSTER
 *     replica.c      what whorl is asked and asks: calls, reads, the state of a newcomer, the clock
 *     server.c       main, and the turns
 *
 * A connection hands on *batches*: as many commands as have come, encoded behind each other. One that writes goes as one call, any
 * other waits for a read, which all connections of one turn share. A connection has one batch under way, and meanwhile nothing more of
 * it is parsed: so replies come in the order of the commands, whatever they need, and a read sees what was written before it.
 *
 * Upcalls of whorl only note what has come of a batch, and put the connection on a list. All else is done between two steps.
 */
#ifndef KV_SERVER_H
#define KV_SERVER_H

#include <stdatomic.h>
#include <whorl/replica.h>
#include <whorl/whorl.h>

#include "examples/kv/commands.h"
#include "examples/kv/options.h"

#define KV_IDS 256
#define KV_SHARDS 64

struct kv_addresses { /* of all nodes, where clients find them: "host port"; "": not known */
	char of[KV_IDS][KV_ADDRESS_MAX + 8];
};

enum kv_waits {
	KV_WAITS_NOT,
	KV_WAITS_ROOM,    /* the batch is not accepted yet: parked */
	KV_WAITS_OUTCOME, /* it is a call */
	KV_WAITS_READ
};

struct kv_connection {
	struct kv_server *server;
	struct kv_connection *previous, *next; /* all that are open */
	struct kv_connection *next_same;       /* on one of the lists: parked, reads, resumed; each is on one at most */
	int fd;                                /* -1: it is gone, and only waits for the outcome */
	uint64_t id;
	enum kv_waits waits;
	uint32_t watched;        /* by epoll */
	uint64_t drain_until_ms; /* when it is closing: until then what still comes is read and dropped */
	struct kv_parser parser;
	struct kv_bytes input; /* read and not parsed: only while it waits */
	struct kv_bytes out;   /* from out_at on */
	size_t out_at;
	struct kv_bytes batch; /* empty: there is none */
	uint32_t batch_replies;
	uint64_t batch_values; /* that its replies may have */
	bool batch_writes;
	struct kv_bytes multi; /* what is queued */
	uint32_t multi_count;
	int32_t multi_slot;
	bool in_multi, multi_bad, multi_writes;
	bool authenticated, readonly;
	bool held;    /* the parser has a command that is to be looked at later */
	bool ends;    /* when all is written */
	bool doomed;  /* it is closed at the next chance, without another word */
	bool resumed; /* on that list */
	bool stalled; /* it has so many replies to take that nothing more is done for it */
	char *name;   /* CLIENT SETNAME; NULL: none */
	size_t memory;
};

struct kv_list { /* first in, first out */
	struct kv_connection *first, *last;
};

struct kv_server {
	struct kv_options options;
	struct kv_limits limits, limits_before_auth;
	/* whorl */
	whorl_config *config;
	whorl_node *node;
	whorl_subgroup *kv, *directory; /* the latter may be NULL */
	size_t call_max;                /* bytes */
	bool ready, no_quorum;
	uint64_t view, members;
	bool lowest; /* of the members of its shard, this one has the lowest rank: it moves the clock */
	uint64_t clock_from_ms;
	uint32_t shard, shards, shard_members[KV_SHARDS][KV_IDS], shard_counts[KV_SHARDS];
	bool in_shard, announcing;
	/* The state. `restored` comes from another thread: kv_server_store takes it over. */
	struct kv_store *store;
	_Atomic(struct kv_store *) restored;
	struct kv_restore *restore; /* that thread's */
	struct kv_addresses *addresses;
	_Atomic(struct kv_addresses *) addresses_restored;
	struct kv_addresses *addresses_restore; /* that thread's, too */
	size_t addresses_moved;
	struct kv_bytes reply; /* for apply */
	/* clients */
	int epoll, listener, timer, signals, window;
	bool window_armed, window_soon;
	bool asked; /* whorl has something to do, or may have, since its doorbell was armed */
	struct kv_connection *connections;
	struct kv_list parked, resumed, reads, local_reads;
	uint64_t connection_count, connections_ever, commands_ever, memory, started_ms;
	char *buffer; /* what is read of any of them */
	char address[KV_ADDRESS_MAX + 8];
	char run_id[41];
};

uint64_t kv_now_ms(void);
void kv_list_add(struct kv_list *list, struct kv_connection *connection);
void kv_list_put_back(struct kv_list *list, struct kv_connection *connection); /* as the first */
struct kv_connection *kv_list_take(struct kv_list *list);                      /* NULL: it is empty */

/* ---- connection.c -----------------------------------------------------------------------------------------------------------*/

#define KV_BUFFER_BYTES 65536

void kv_accept(struct kv_server *server);
void kv_connection_event(struct kv_connection *connection, uint32_t events);
/* What it waited for has come, or may have: it goes on. */
void kv_connection_resume(struct kv_connection *connection);
/* Hands the batch on, if there is one. */
void kv_connection_submit(struct kv_connection *connection);
void kv_connection_close(struct kv_connection *connection);
/* The batch was never accepted: each of its commands gets this error. */
void kv_connection_refuse(struct kv_connection *connection, const char *error);
/* Once in a while. */
void kv_connections_look(struct kv_server *server);

/* ---- local.c, info.c ---------------------------------------------------------------------------------------------------------*/

/* A local command, which the parser has. */
void kv_run_local(struct kv_connection *connection, enum kv_id id);
void kv_run_info(struct kv_connection *connection, const struct kv_slice *arguments, uint32_t count);
void kv_run_cluster(struct kv_connection *connection, const struct kv_slice *arguments, uint32_t count);
/* The node that clients are sent to for a slot; KV_IDS: none is known. */
uint32_t kv_node_of_slot(const struct kv_server *server, uint32_t slot);

/* ---- replica.c ----------------------------------------------------------------------------------------------------------------*/

/* Opens and starts the node. False: it has been printed why not; *usage: it is the configuration. */
bool kv_replica_open(struct kv_server *server, bool *usage);
/* The state, as it is now. */
struct kv_store *kv_server_store(struct kv_server *server);
const struct kv_addresses *kv_server_addresses(struct kv_server *server);
/* A call is parked: the window is to say when there is room. */
void kv_replica_arm(struct kv_server *server);
/* Tries to make a call of the connection's batch. What it then waits for is in `waits`. */
void kv_replica_call(struct kv_connection *connection);
/* Asks for the reads of all connections on the two lists. */
void kv_replica_read(struct kv_server *server);
/* The same for the list of late ones alone: whorl does these at once. */
void kv_replica_read_local(struct kv_server *server);
/* Calls that were parked, in their order, as far as there is room. */
void kv_replica_retry(struct kv_server *server);
/* Once in a while: the clock, readiness, the quorum, the address. False: the node has failed, which has been printed. */
bool kv_replica_look(struct kv_server *server);

#endif
