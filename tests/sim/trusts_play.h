/* trusts_play.h - random programs with replicated trusts, on the processes of delegates_host.h: these are killed, stand still, are cut off, leave and
 * come late, and their workers lag; and what must be true of all that their functions have seen.
 *
 *     trusts_play.c     the programs and faults of a seed
 *     trusts_things.c   the properties and their functions, and what clients do with them
 *     trusts_check.c    the judge, when all is over
 *
 * All members have a few properties, by name. Fibers on all workers and a plain thread of each process find or make them, act on them, read them in each
 * way, and end them. Each act has a number, and is noted by the function that runs it, at each member: so the play knows the order of the
 * acts on each property, holds every member to it, and each answer against it.
 */
#ifndef WH_TESTS_SIM_TRUSTS_PLAY_H
#define WH_TESTS_SIM_TRUSTS_PLAY_H

#include "tests/sim/delegates_host.h"

#define TRUSTS_IDS 5
#define TRUSTS_LIVES 14
#define TRUSTS_WORKERS 2
#define TRUSTS_SEATS (TRUSTS_WORKERS + 1) /* threads of a process: the last is a plain one */
#define TRUSTS_NAMES 3
#define TRUSTS_KEYS 2
#define TRUSTS_ACTS 4000 /* on one property */

struct trusts_outcome { /* what a function answers */
	uint64_t found, value;
	uint64_t count; /* acts on the property so far, this one too */
};

struct trusts_thing { /* a property, from its making to its end */
	uint32_t number;
	uint64_t id;                 /* in handles */
	uint32_t order[TRUSTS_ACTS]; /* the acts on it */
	uint64_t states[TRUSTS_ACTS];
	uint32_t length;
	bool ends;         /* somebody has wanted that */
	uint64_t ended_ns; /* and was told; 0: not */
};

enum trusts_deed { TRUSTS_MAKE, TRUSTS_ACT, TRUSTS_READ, TRUSTS_END };

struct trusts_call {
	uint32_t number;
	enum trusts_deed deed;
	struct trusts_life *life; /* of the caller */
	struct trusts_seat *seat;
	struct trusts_thing *thing;   /* of TRUSTS_MAKE NULL */
	uint64_t kind, key, argument; /* enum linear_kind */
	uint32_t reads;               /* enum whorl_trust_reads */
	uint64_t began_ns, ended_ns;
	int timeout_ms; /* -1: it was not waited for */
	uint32_t ends;
	enum whorl_result result;
	struct trusts_outcome told, did;
	uint32_t place; /* in the order, from 1 on; 0: it has not run */
	uint64_t least; /* of a local read: so many acts must be in what it sees */
};

struct trusts_seat { /* a thread of a process, or many fibers of a worker */
	struct trusts_life *life;
	uint32_t worker; /* TRUSTS_WORKERS: the plain thread */
	struct {
		struct whorl_trust trust;
		struct trusts_thing *thing; /* NULL: no handle */
	} handles[TRUSTS_NAMES];
	uint32_t outstanding, fibers;
};

struct trusts_life { /* of a process */
	struct trusts_play *play;
	struct delegates_process *process;
	whorl_subgroup *shard;
	uint32_t number, id;
	struct wh_dice dice;
	bool begun, odd; /* odd: its program knows a function more */
	bool troubled;   /* it was cut off, or stood still, or it ended: nothing it was told need be in time */
	uint64_t killed_ns, leaving_ns;
	uint64_t bad_ns;    /* since when its node is not well; 0: it is */
	uint64_t failed_ns; /* and since when it never will be again */
	uint32_t acts_left;
	bool judged;     /* its plain thread has looked at the end */
	uint64_t *seen;  /* by the number of a thing: acts that have run here */
	uint64_t *known; /* and that somebody here was told of */
	uint32_t room;   /* of both */
	struct trusts_seat seats[TRUSTS_SEATS];
};

struct trusts_play {
	uint64_t seed;
	bool verbose, winding_up;
	struct wh_dice dice;
	uint64_t waits; /* calls that the worker has not come to, at most */
	struct delegates_world *world;
	struct trusts_life *lives[TRUSTS_LIVES];
	uint32_t life_count;
	struct trusts_thing **things;
	struct trusts_call **calls;
	uint32_t thing_count, call_count;
	char *verdict;
	size_t verdict_bytes;
};

/* ---- trusts_play.c ---- */

/* runner_fn */
bool trusts_play(uint64_t seed, bool verbose, char *verdict, size_t verdict_bytes);
/* Keeps the first. */
__attribute__((format(printf, 2, 3))) void trusts_fail(struct trusts_play *play, const char *format, ...);
bool trusts_failed(const struct trusts_play *play);
void *trusts_must(void *memory);
bool trusts_is_alive(const struct trusts_life *life);
__attribute__((format(printf, 2, 3))) void trusts_tell(const struct trusts_life *life, const char *format, ...);

/* ---- trusts_things.c ---- */

struct whorl_work_options trusts_options(bool odd);
/* While a play goes on; NULL: it is over. */
void trusts_set_play(struct trusts_play *play);
/* Fibers at each worker. [the plain thread] */
void trusts_begin(struct trusts_life *life);
void trusts_act(struct trusts_seat *seat);
/* All is quiet: what was answered is there, and it is what all have. [the plain thread] */
void trusts_look_at_the_end(struct trusts_seat *seat);

/* ---- trusts_check.c ---- */

void trusts_judge(struct trusts_play *play);

#endif
