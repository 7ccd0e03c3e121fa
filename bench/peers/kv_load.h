/* kv_load.h - kv-load, the client of `./run peers --kv`: one thread that asks key-value servers, over any number of connections, and
 * checks each reply.
 *
 * Each connection asks for a batch (`pipeline` puts or gets of random keys, in one write), waits for all its replies, and
 * asks for the next. The time of an operation is from that write to its reply. What the servers differ in, how one asks and what a reply looks like, is a
 * *dialect*; all else is the same for all.
 *
 * A key is "key:" and twelve digits. A value begins with the key's digits and those of a number that no other put of the run
 * has; the rest is the alphabet. A get must find a value of its key, of the right length, with nothing else in it.
 */
#ifndef WH_BENCH_PEERS_KV_LOAD_H
#define WH_BENCH_PEERS_KV_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/histogram.h"

#define KV_KEY_BYTES 16u
#define KV_VALUE_LEAST 28u /* the digits of the key and of the put */
#define KV_VALUE_MOST 65536u
#define KV_CONNECTIONS_MOST 1000u
#define KV_PIPELINE_MOST 1000u
#define KV_PORTS_MOST 8u

enum kv_work {
	KV_PUT,
	KV_GET,
	KV_FILL, /* each key is put once */
};

struct kv_plan {
	enum kv_work work;
	bool etcd;
	bool local; /* reads may be late */
	bool retry; /* what is refused, or breaks off, is asked again */
	uint32_t connections, pipeline, bytes, keys;
	uint32_t wait; /* a batch counts when so many replicas have it; 0: when it is answered */
	uint64_t warm_ns, duration_ns;
	uint64_t give_up_ns; /* what has no answer for so long is asked again, on another connection; 0: never */
	uint32_t port_count, pid_count;
	uint16_t ports[KV_PORTS_MOST]; /* the connections take turns */
	int pids[KV_PORTS_MOST];       /* of the servers: their processor time is counted */
};

struct kv_figures {
	uint64_t operations;
	uint64_t short_of; /* operations that were answered, and not by as many replicas as `wait` says: not counted above */
	uint64_t errors;              /* with `retry`: refusals, broken connections, and attempts to connect */
	uint64_t elapsed_ns, gap_ns;  /* gap: the longest time without an operation that counts */
	uint64_t servers_ns, load_ns; /* processor time */
	struct wh_histogram latency;
};

enum kv_verdict {
	KV_MORE, /* the reply is not all there yet */
	KV_DONE, /* what was asked for is done */
	KV_FOUND,
	KV_NUMBER,
	KV_REFUSED, /* an error, or not what one may answer */
};

struct kv_reply {
	enum kv_verdict verdict;
	size_t length;     /* of the reply */
	const char *value; /* found; refused: the words */
	size_t bytes;
	uint64_t number;
};

struct kv_dialect {
	/* Room for one request, and for one reply. */
	size_t (*room)(const struct kv_plan *plan);
	/* Each writes a request and gives its length. NULL: the dialect has none. `greet` asks for late reads on a connection, `wait`
	 * for the number of replicas that have what was put before. */
	size_t (*greet)(char *to);
	size_t (*put)(const struct kv_plan *plan, char *to, uint32_t key, uint64_t stamp);
	size_t (*get)(const struct kv_plan *plan, char *to, uint32_t key);
	size_t (*wait)(const struct kv_plan *plan, char *to);
	/* Looks at what has come. May change it up to the reply's end. */
	struct kv_reply (*read)(char *come, size_t bytes);
};

extern const struct kv_dialect kv_resp, kv_etcd;

void kv_write_key(char to[KV_KEY_BYTES], uint32_t key);
void kv_write_value(const struct kv_plan *plan, char *to, uint32_t key, uint64_t stamp);
bool kv_is_value(const struct kv_plan *plan, const char *value, size_t bytes, uint32_t key);

/* Does it. Ends the program with a word if a reply is wrong or does not come. */
void kv_drive(const struct kv_plan *plan, struct kv_figures *figures);

#endif
