/* real.h - what the worlds of shm, tcp and verbs have in common: all endpoints are in this process, time is real, and a visitor is
 * a thread. world_NAME.c says in `wh_real` what is different, and makes of it its `wh_world`.
 */
#ifndef WH_CONFORMANCE_REAL_H
#define WH_CONFORMANCE_REAL_H

#include "tests/conformance/world.h"

#define REAL_QUERIES_MAX 64

struct wh_world {
	char group[40];
	uint32_t nodes, query_count;
	void *own; /* the transport's: see prepare */
	struct real_query *queries[REAL_QUERIES_MAX];
	struct real_node {
		struct wh_transport *node; /* NULL, or `transport` is a lane of it */
		struct wh_transport *transport;
		uint64_t incarnation;
	} endpoints[];
};

struct wh_real {
	/* Before the first node starts, and when all have ended: `own`. False, with the reason on stderr, if it cannot be
	 * done. NULL: there is none. */
	bool (*prepare)(struct wh_world *world);
	void (*clear)(struct wh_world *world);
	/* What is particular to this transport in the configuration of a node. NULL: nothing. */
	void (*configure)(const struct wh_world *world, uint32_t id, struct wh_transport_config *config);
	wh_transport_create *create;
	/* The endpoint ends: without a word, as a process does that is killed; when its world ends. */
	void (*kill)(struct wh_transport *transport);
	void (*end)(struct wh_transport *transport);
	/* In a thread of its own. */
	enum whorl_result (*ask)(const struct wh_world *world, uint32_t id, const void *question, size_t bytes,
				 uint64_t timeout_ns, void *answer, size_t *answer_bytes, struct wh_error *err);
};

extern const struct wh_real wh_real;

/* kill and end, where what a forked child does when it lets go is what the kernel does with a killed process: descriptors are
 * closed and maps go, nothing is said. */
void real_let_go(struct wh_transport *transport);
void real_destroy(struct wh_transport *transport);

struct wh_world *real_make(uint32_t nodes, uint64_t seed);
void real_free(struct wh_world *world);
struct wh_transport *real_node(struct wh_world *world, uint32_t id);
struct wh_transport *real_endpoint(struct wh_world *world, uint32_t id);
uint64_t real_incarnation(struct wh_world *world, uint32_t id);
void real_kill(struct wh_world *world, uint32_t id);
void real_close(struct wh_world *world, uint32_t id);
bool real_start(struct wh_world *world, uint32_t id);
void real_pass(struct wh_world *world);
bool real_wait(struct wh_world *world, uint32_t id, uint64_t timeout_ns);
uint32_t real_ask(struct wh_world *world, uint32_t id, const void *question, size_t bytes);
enum whorl_result real_answered(struct wh_world *world, uint32_t query, void *answer, size_t *bytes);

/* Of the initializer of wh_world. */
/* The program's variant: endpoints are lanes of this number; 0: they are nodes. */
#ifndef ON_LANE
#define ON_LANE 0
#endif

#define REAL_WORLD                                                                                                     \
	.node = ON_LANE > 0 ? real_node : NULL, .threads = true, .make = real_make, .free = real_free,                 \
	.endpoint = real_endpoint, .incarnation = real_incarnation, .kill = real_kill, .close = real_close,            \
	.restart = real_start, .pass = real_pass, .wait = real_wait, .ask = real_ask, .answered = real_answered

#endif
