/* delegate_kv.h - `whorl delegate kv`: a store of keys and values on delegation, and the same under locks.
 *
 *     delegate_kv.c          the command line, the parent of all nodes, what came of it
 *     delegate_kv_node.c     a node: it opens, accepts clients, and ends
 *     delegate_kv_client.c   clients: bytes in, commands, replies out in the order of the commands
 *     delegate_kv_command.c  what each command is, in requests of shards
 *     delegate_kv_store.c    which shard has a key, and how a request comes to it: by delegation, or under a lock
 *     delegate_kv_table.c    the keys of a shard
 *     delegate_kv_load.c     --load: clients that measure such a server, or redis
 *
 * A node has threads that serve sockets, and shards of the keys. With the backend trust a shard belongs to a worker, and a thread sends
 * requests there; with mutex and rwlock it does what the request says itself, and holds the shard's lock. Shards of other nodes are
 * always reached by delegation; there the worker takes the lock. All else is the same code.
 */
#ifndef WH_TOOLS_DELEGATE_KV_H
#define WH_TOOLS_DELEGATE_KV_H

#include <netinet/in.h>
#include <pthread.h>

#include <whorl/delegate.h>

#include "base/atomics.h"
#include "command/crew.h"
#include "command/output.h"
#include "resp/resp.h"

#define WH_KV_NODES 16
#define WH_KV_SHARDS 4096 /* of a node */
#define WH_KV_THREADS 64
#define WH_KV_WORD_MAX ((size_t)1 << 20)     /* a key, a value, any word of a command */
#define WH_KV_COMMAND_MAX ((size_t)16 << 20) /* all words of a command; a reply */
#define WH_KV_KEYS_MAX 1024                  /* of one command */

/* ---- delegate_kv_table.c: the keys of a shard ----------------------------------------------------------------------------- */

struct wh_kv_slice {
	const void *data;
	size_t bytes;
};

enum wh_kv_op { WH_KV_GET, WH_KV_EXISTS, WH_KV_COUNT, WH_KV_SET, WH_KV_DEL, WH_KV_ADD, WH_KV_CLEAR, WH_KV_OPS };

static inline bool wh_kv_reads(enum wh_kv_op op)
{
	return op <= WH_KV_COUNT;
}

struct wh_kv_request {
	enum wh_kv_op op;
	uint64_t hash;                 /* of the key */
	int64_t by;                    /* WH_KV_ADD */
	struct wh_kv_slice key, value; /* the latter: WH_KV_SET */
};

enum wh_kv_kind {
	WH_KV_DONE,      /* set, cleared */
	WH_KV_NIL,       /* there is no such key */
	WH_KV_VALUE,     /* `value` */
	WH_KV_NUMBER,    /* `number`: how many there are, or were removed; what it is now */
	WH_KV_NO_NUMBER, /* the value is none */
	WH_KV_OVERFLOW,  /* it would be too large */
	WH_KV_NO_MEMORY,
	WH_KV_NODE_GONE, /* it did not happen: the node of the key has ended */
	WH_KV_IN_DOUBT,  /* the node of the key has ended: it may have happened */
	WH_KV_FAILED,    /* it did not happen */
	WH_KV_TOO_LARGE, /* more than WH_KV_COMMAND_MAX */
	WH_KV_KINDS
};

struct wh_kv_answer {
	enum wh_kv_kind kind;
	int64_t number;
	struct wh_kv_slice value;
};

struct wh_kv_entry;

struct wh_kv_table { /* all zero: empty */
	struct wh_kv_entry **heads;
	uint64_t mask, keys, bytes; /* of keys and values */
};

/* A keyed hash (SipHash-1-3): clients that know no seed cannot choose keys that meet. */
uint64_t wh_kv_hash(const uint64_t seed[2], const void *data, size_t bytes);

/* Does what is asked. The answer's value is valid until the table changes. Requests that read change nothing. */
struct wh_kv_answer wh_kv_table_run(struct wh_kv_table *table, const struct wh_kv_request *request);
void wh_kv_table_free(struct wh_kv_table *table);

/* ---- delegate_kv_store.c: shards ------------------------------------------------------------------------------------------ */

enum wh_kv_backend { WH_KV_TRUST, WH_KV_MUTEX, WH_KV_RWLOCK, WH_KV_BACKENDS };

extern const char *const wh_kv_backend_names[WH_KV_BACKENDS];

struct wh_kv_options {
	uint32_t nodes, threads, workers, shards, clients; /* of each node, but for nodes */
	uint32_t patience_ms;
	uint16_t port;
	enum wh_kv_backend backend;
	const char *transport, *json;
	double seconds; /* 0: until a signal */
};

struct wh_kv_shard {
	struct wh_kv_table table;
	union {
		pthread_mutex_t mutex;
		pthread_rwlock_t rwlock;
	} lock; /* of the backend's kind */
	enum wh_kv_backend backend;
} __attribute__((aligned(128)));

struct wh_kv_store { /* of a node */
	const struct wh_kv_options *options;
	uint32_t node;
	uint64_t seed[2];           /* of all nodes */
	whorl_work *work;           /* NULL: one node with locks needs none */
	struct wh_kv_shard *shards; /* this node's */
	struct whorl_trust *
		trusts; /* of the shards of all nodes, in order of their ranges; of this node's with the backend trust */
	uint32_t shard_count; /* of all nodes */
};

/* A request that is under way. The asker's thread gets the answer once; until then this is not freed. `answer` is valid within. */
struct wh_kv_call;
typedef void wh_kv_answer_fn(struct wh_kv_call *call, const struct wh_kv_answer *answer);
struct wh_kv_call {
	wh_kv_answer_fn *fn;
	uint64_t *open; /* private */
};

struct wh_kv_room {          /* of a thread that asks */
	unsigned char *data; /* where what is sent is put together; to be freed */
	size_t bytes;
	uint64_t open; /* requests that whorl_poll will answer */
};

/* Which of the shards of all nodes has keys of that hash: each has an equal range of hashes. */
uint32_t wh_kv_shard_of(uint64_t hash, uint32_t shard_count);

/* The shards of this node. `work` is open, or NULL. False: it was said why. */
bool wh_kv_store_open(struct wh_kv_store *store, const struct wh_kv_options *options, uint32_t node, whorl_work *work);
/* Handles of the own shards for node `to`: `shards` of them. False: it was said why. */
bool wh_kv_store_lend(struct wh_kv_store *store, uint32_t to, struct whorl_trust *handles);
/* Those of node `from`; waits until they can be used. False: it was said why. */
bool wh_kv_store_borrow(struct wh_kv_store *store, uint32_t from, const struct whorl_trust *handles);
/* When the work is closed, or there is none. */
void wh_kv_store_free(struct wh_kv_store *store);
/* When nothing else is done with them any more. */
void wh_kv_store_count(const struct wh_kv_store *store, uint64_t *keys, uint64_t *bytes);

/* Asks a shard. True: call->fn is called with the answer: before this returns, by whorl_poll of this thread, or in another call that
 * it makes. False: much is under way; try again later. */
bool wh_kv_store_ask(struct wh_kv_store *store, uint32_t shard, const struct wh_kv_request *request,
		     struct wh_kv_room *room, struct wh_kv_call *call);

/* ---- delegate_kv_client.c: clients ------------------------------------------------------------------------------------------ */

#define WH_KV_SLOTS 64 /* commands of a client that are under way */
#define WH_KV_MEMORY_MAX                                                                                               \
	(UINT64_C(256) << 20) /* of all clients of a node: beyond it those are closed that hold more than 64 KiB */
#define WH_KV_BUFFER 65536

struct wh_kv_counts {
	uint64_t clients, commands, gets, hits, sets, errors, read_bytes, written_bytes;
	uint64_t refused; /* clients that were closed for what they sent, or did not read, or held */
};

struct wh_kv_thread {                   /* of a node, which serves sockets. [the thread], but for what stands here */
	struct wh_kv_store *store;      /* [const] */
	uint32_t number;                /* [const] */
	pthread_t id;                   /* [main] */
	wh_word stop;                   /* [main] */
	wh_word *memory, *clients_open; /* bytes of all clients of the node; how many there are. [all threads] */
	int epoll, pipe[2];             /* [const]; sockets of new clients come through the pipe */
	struct wh_kv_client *clients, *touched;
	struct wh_kv_room room;
	struct wh_kv_counts counts;
	uint64_t started_ms, now_ms, looked_ms;
	char *buffer; /* WH_KV_BUFFER, for what is read */
};

struct wh_kv_client {
	struct wh_kv_thread *thread;
	struct wh_kv_client *previous, *next, *next_touched;
	int fd; /* -1: closed, and only waits for answers */
	struct kv_parser parser;
	struct kv_bytes input; /* read and not parsed */
	struct kv_bytes out;   /* from out_at on */
	size_t out_at, memory;
	size_t kept;              /* bytes of replies that wait in slots */
	size_t largest;           /* replies of late, about */
	uint64_t first, behind;   /* commands under way: numbers in [first, behind), in slots by their number */
	uint64_t moved_ms;        /* when it last came further: a reply was ready, or was taken */
	uint64_t drain_until_ms;  /* when it is closing: until then what still comes is read and dropped */
	uint32_t watched;         /* by epoll */
	bool touched;             /* on that list: something may be done for it */
	bool held;                /* the last command could not ask all its shards yet */
	bool ends;                /* when all is written */
	struct wh_kv_slot *slots; /* WH_KV_SLOTS */
};

/* Serves until `stop`; then its clients are closed, and what they asked for is waited for, for a moment. */
void *wh_kv_serve(void *thread);
/* The fields [const] but for these are set. False: the system lacks something. */
bool wh_kv_thread_open(struct wh_kv_thread *thread);
/* When the work is closed: no more answers come. */
void wh_kv_thread_close(struct wh_kv_thread *thread);

void wh_kv_client_touch(struct wh_kv_client *client);
uint64_t wh_kv_now_ms(void);

/* ---- delegate_kv_command.c: commands ----------------------------------------------------------------------------------------- */

struct wh_kv_slot { /* of a command that is under way: when its reply is whole, and all before it have left, it leaves */
	struct wh_kv_call call; /* first */
	struct wh_kv_client *client;
	const struct wh_kv_command *command;
	struct kv_bytes reply;       /* whole, and others are before it */
	struct wh_kv_part *parts;    /* of MGET: its values */
	uint32_t count, asked, left; /* requests; sent; not answered */
	int64_t number;              /* the sum of what was answered */
	enum wh_kv_kind worst;       /* WH_KV_DONE: nothing went wrong */
	bool done;
};

/* Begins the command that the parser has. There is a free slot. Sets `held` if it is to be gone on with. */
void wh_kv_command_begin(struct wh_kv_client *client);
void wh_kv_command_go_on(struct wh_kv_client *client);
/* The command that is held asks no more: its client is gone. */
void wh_kv_command_give_up(struct wh_kv_client *client);
/* An error is the reply to what was no command. There is a free slot. */
void wh_kv_command_refuse(struct wh_kv_client *client, const char *error);
/* Of a client that is gone. */
void wh_kv_slot_free(struct wh_kv_slot *slot);

/* ---- delegate_kv_node.c, delegate_kv_load.c ------------------------------------------------------------------------------------ */

enum { WH_KV_OPENS, WH_KV_LENT, WH_KV_SERVES, WH_KV_ENDS }; /* phases; a node reaches 1, 2, 3 */

struct wh_kv_part_of_run { /* of a node, as the parent sees it */
	_Atomic uint32_t reached;
	struct wh_kv_counts counts;
	uint64_t keys, bytes, calls, lent_calls, batches, batch_calls;
};

struct wh_kv_run { /* shared by the parent and the nodes */
	struct wh_kv_options options;
	uint64_t seed[2];
	char config[8192];
	int listeners[WH_KV_NODES];
	uint16_t ports[WH_KV_NODES];
	struct wh_watch watch;
	struct wh_phase phase;
	struct wh_kv_part_of_run parts[WH_KV_NODES];
	struct whorl_trust handles[]; /* [from][to][shard] */
};

/* The whole life of node `number`; its exit status. */
int wh_kv_be_node(void *run, uint32_t number);

struct wh_kv_load {
	const char *to, *json; /* HOST:PORT */
	uint32_t connections, pipeline, keys, value_bytes;
	double zipf, writes, seconds; /* writes: percent */
};

enum wh_exit wh_kv_load_run(struct wh_kv_load *load, struct wh_watch *watch);

#endif
