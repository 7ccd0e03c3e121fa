/* world.h - what a transport shows of itself to be put through the conformance cases.
 *
 * cases*.c state T1-T14 once, against transport.h alone. For each transport there is a world_NAME.c that
 * defines `wh_world`; it is linked with the cases to the program conformance-NAME. A world makes n endpoints of one
 * group, lets time pass, kills endpoints, and knows how to sleep: that is all in which transports differ here.
 *
 * The cases call endpoints through their own tables (service, next_event, post, arm, ...). A world calls service only
 * in close() and kill(), if at all.
 */
#ifndef WH_CONFORMANCE_WORLD_H
#define WH_CONFORMANCE_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/transport.h"

struct wh_world; /* the world's own */

struct wh_world_ops {
	const char *name;

	/* Endpoints may be driven by threads of their own, all at once, and time is real. Otherwise the world lives in the
	 * thread that made it, and time passes in pass() and wait() alone. */
	bool threads;

	/* What is done very often on shared memory is done so many times less often here (suite.h): a push costs system calls, or the
	 * machine is an emulated one. 0: it is not. */
	uint64_t share;

	bool regions; /* it has T7 */
	bool relays;  /* it has T14 */
	bool proofs; /* it has T12. Of a node that shares a process with others there is no proof of death all the same */
	bool apart; /* each node is a process of its own */

	/* Ranges of a peer's row that are no part of the image can be read here all the same, and show what the peer wrote:
	 * only where a sanitizer needs it so. Otherwise such a read faults, or finds zeros. */
	bool whole_rows;

	/* Endpoints with ids 0 .. nodes-1 of a new group, that have not met yet. What is left to chance follows from the
	 * seed. NULL, with the reason on stderr, if it cannot be done. */
	struct wh_world *(*make)(uint32_t nodes, uint64_t seed);
	/* Destroys what endpoints are left, then the world. */
	void (*free)(struct wh_world *world);

	/* Where endpoints are lanes (T13): the node's own transport, which pass() drives. NULL after kill() or close(); NULL: endpoints
	 * are nodes. */
	struct wh_transport *(*node)(struct wh_world *world, uint32_t id);

	/* NULL after kill() or close(). */
	struct wh_transport *(*endpoint)(struct wh_world *world, uint32_t id);
	/* Which incarnation of `id` that is, or was. */
	uint64_t (*incarnation)(struct wh_world *world, uint32_t id);

	/* The endpoint ends without a word, as a process does that gets SIGKILL. Its images are gone with it. */
	void (*kill)(struct wh_world *world, uint32_t id);
	/* leave(), then destroy(). Its images are gone with it. */
	void (*close)(struct wh_world *world, uint32_t id);
	/* After kill() or close(): the node is started again, as another incarnation. False, with the reason on stderr, if it
	 * cannot be done. */
	bool (*restart)(struct wh_world *world, uint32_t id);

	/* Some time passes: enough that a bounded number of passes (with service of all endpoints between them) brings
	 * whatever is under way to its end. */
	void (*pass)(struct wh_world *world);

	/* The wait() of endpoint `id`, which is armed, or has been disarmed: true if it ended before timeout_ns had gone by.
	 * In a world without threads other endpoints stand still meanwhile, what is under way arrives. Where `threads` is
	 * set any thread may call it, for different endpoints at once. */
	bool (*wait)(struct wh_world *world, uint32_t id, uint64_t timeout_ns);

	/* A visitor asks endpoint `id`, which need not be there. Returns the query's number. NULL: there are no visitors. */
	uint32_t (*ask)(struct wh_world *world, uint32_t id, const void *question, size_t bytes);
	/* What has come of it: WHORL_AGAIN nothing yet, WHORL_OK the answer, at most WH_ANSWER_MAX bytes; else why there is none.
	 * Not asked for again after that. */
	enum whorl_result (*answered)(struct wh_world *world, uint32_t query, void *answer, size_t *bytes);

	/* How many times pushes of `id` have rung a doorbell, that is, have cost a wake. NULL where arrival itself wakes. */
	uint64_t (*rings)(struct wh_world *world, uint32_t id);
};

extern const struct wh_world_ops wh_world;

#endif
