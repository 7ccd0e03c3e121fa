/* load.h - clients, each a thread with a connection to one of the servers, and what they have seen. */
#ifndef WH_TESTS_KV_LOAD_H
#define WH_TESTS_KV_LOAD_H

#include <pthread.h>
#include <stdatomic.h>

#include "tests/kv/command.h"

#define LOAD_SERVERS 8
#define LOAD_CLIENTS 64

struct server {
	char address[24];
	uint16_t port;
};

/* A fault that the clients make, for the judge to find: now and then... */
enum lie {
	LIE_NONE,
	LIE_LOST,  /* ...a write that was acknowledged is none, */
	LIE_TWICE, /* one is done twice, */
	LIE_OLD,   /* a read gives what a read before it gave, */
	LIE_TORN,  /* a transaction is two commands. */
	LIES
};

struct load_options {
	struct server servers[LOAD_SERVERS];
	uint32_t servers_count, clients;
	const char *password; /* or NULL */
	bool local_reads;
	enum lie lie;
	uint64_t seed;
	uint32_t age_ms;     /* so long keys are new */
	uint32_t nap_us;     /* between two operations of a client, on average */
	uint32_t timeout_ms; /* the longest that a client waits for an answer */
};

struct history {
	struct linear_op *ops;
	size_t count, room;
};

void history_add(struct history *history, const struct linear_op *op);

struct client {
	struct load *load;
	uint32_t id, server;
	pthread_t thread;
	struct resp resp;
	struct dice dice;
	uint64_t token;
	struct linear_step last[COMMAND_KEYS]; /* reads, and of which keys: for LIE_OLD */
	uint64_t last_keys[COMMAND_KEYS];
	struct history history;
	uint64_t ends[COMMAND_ENDS], connections;
	char odd[160]; /* the first */
};

struct load {
	struct load_options options;
	atomic_bool stops;
	/* Nothing is written: at all servers, or at one. Reads of a member wait for what is on its way to it; so stale ones are looked for
	 * where nothing is. */
	atomic_bool hushed;
	atomic_uint hushed_server; /* LOAD_SERVERS: none */
	uint64_t begin_ns, end_ns;
	struct client clients[LOAD_CLIENTS];
};

/* Sets as many other keys at server 0, of about 1000 bytes. False: it does not take them. */
bool load_fill(const struct load_options *options, uint64_t keys, uint64_t timeout_ms);

/* Returns when all threads are there. */
void load_start(struct load *load, const struct load_options *options);
/* Their histories stay, until load_free. */
void load_stop(struct load *load);
void load_free(struct load *load);

/* The keys that have been in use, of which the last is one less. */
uint64_t load_keys(const struct load *load);

/* A connection as the clients have it. False: nothing answers there, or it does not let us in. */
bool load_connect(const struct load_options *options, struct resp *resp, uint32_t server, uint64_t until_ns);

/* Does the server answer reads? `text`: why not. */
bool load_is_ready(const struct load_options *options, uint32_t server, uint64_t timeout_ms, char text[160]);

#endif
