/* delegates_play.h - random programs with delegation, on the processes of delegates_host.h, that are killed, stand still, are cut off, leave
 * and come late; and what must be true of all that their functions have seen.
 *
 *     delegates_play.c    the programs and faults of a seed
 *     delegates_things.c  the properties and their functions, and what clients do with them
 *     delegates_check.c   the judge, when all is over
 *
 * There are four kinds of things: counters, registers, maps and queues. Fibers on all workers, and a plain thread of each process, entrust them to workers
 * of any node, call them in all ways, clone and drop handles, give handles to others, on their own node or another, and move things from worker to
 * worker. Each call has a number, and the function that runs it notes that in the play: so the judge knows of each whether it ran, how
 * often, when, and with what result, whatever its caller was told. A handle is given by a call to the *box* of a worker, a thing of which all
 * know the name.
 */
#ifndef WH_TESTS_SIM_DELEGATES_PLAY_H
#define WH_TESTS_SIM_DELEGATES_PLAY_H

#include "tests/sim/delegates_host.h"

enum delegates_kind {
	DELEGATES_COUNTER,
	DELEGATES_REGISTER,
	DELEGATES_MAP,
	DELEGATES_QUEUE,
	DELEGATES_KINDS,
	DELEGATES_BOX = DELEGATES_KINDS
};

#define DELEGATES_KEYS 3 /* of a map */
#define DELEGATES_LIVES 12
#define DELEGATES_WORKERS 3
#define DELEGATES_SEATS (DELEGATES_WORKERS + 1) /* threads of a process: the last is a plain one */

struct delegates_outcome {
	uint64_t found, value;
};

struct delegates_thing { /* as the judge knows it */
	uint32_t number;
	enum delegates_kind kind;
	struct delegates_life *home;
	bool leaked;     /* a handle went astray as it may: the thing need not be dropped */
	bool made, kept; /* kept: it was there in the end, when all handles had been given back */
	uint32_t drops;
};

struct delegates_handle {
	uint32_t number;
	struct delegates_thing *thing;
	uint64_t way;       /* lives that have given it to another node, or those that it comes from: bit by number */
	uint64_t made, ran; /* calls by it: how many were made, and the last that has run */
	struct whorl_trust trust; /* [its client] */
};

struct delegates_call {
	uint32_t number;
	struct delegates_life *life; /* of the caller */
	struct delegates_thing *thing;
	struct delegates_handle *handle;
	uint64_t way; /* of the handle, then */
	const struct whorl_function *function;
	uint64_t order;               /* among those by that handle */
	uint64_t kind, key, argument; /* enum linear_kind */
	uint64_t began_ns, ended_ns;  /* 0: not yet */
	int timeout_ms;               /* -1: none: it was not waited for */
	uint32_t ends;
	enum whorl_result result;
	struct delegates_outcome told, did;
	uint32_t runs;
	uint64_t ran_ns;
	struct delegates_handle *given; /* of a call to a box */
	bool vague;                     /* by which life of a node it was answered is not known */
};

struct delegates_seat { /* a thread of a process, and its handles */
	struct delegates_life *life;
	uint32_t worker; /* DELEGATES_WORKERS: the plain thread */
	struct delegates_handle **handles;
	uint32_t count, room;
	uint32_t outstanding; /* calls that are not waited for */
	uint32_t fibers;      /* that have not ended */
	struct whorl_trust box;
	uint32_t box_thing;
	bool has_box;
};

struct delegates_life { /* of a process */
	struct delegates_play *play;
	struct delegates_process *process;
	uint32_t number, id, workers;
	struct wh_dice dice;
	bool begun, odd;                /* odd: its program knows a function more */
	uint64_t killed_ns, leaving_ns; /* 0: not */
	bool stood_still, went_early;   /* all of it, for a while; before the end of the play */
	uint32_t acts_left;             /* of the plain thread */
	uint32_t left;                  /* properties at its workers, in the end */
	struct delegates_seat seats[DELEGATES_SEATS];
};

struct delegates_play {
	uint64_t seed;
	bool verbose, calm, winding_up;
	struct wh_dice dice;
	uint32_t workers; /* of most processes */
	struct delegates_world *world;
	struct delegates_life *lives[DELEGATES_LIVES];
	uint32_t life_count;
	uint64_t cuts[DELEGATES_LIVES]; /* by id: with which it was cut off */
	struct delegates_thing **things;
	struct delegates_handle **handles;
	struct delegates_call **calls;
	uint32_t thing_count, handle_count, call_count;
	char *verdict;
	size_t verdict_bytes;
};

/* ---- delegates_play.c ---- */

/* runner_fn */
bool delegates_play(uint64_t seed, bool verbose, char *verdict, size_t verdict_bytes);
/* Keeps the first. */
__attribute__((format(printf, 2, 3))) void delegates_fail(struct delegates_play *play, const char *format, ...);
bool delegates_failed(const struct delegates_play *play);
void *delegates_must(void *memory);
__attribute__((format(printf, 2, 3))) void delegates_tell(const struct delegates_life *life, const char *format, ...);

/* ---- delegates_things.c ---- */

/* Functions and types of a program. */
struct whorl_work_options delegates_options(bool odd);
/* While a play goes on; NULL: it is over. */
void delegates_set_play(struct delegates_play *play);
/* A fiber at each worker, and more. [the plain thread] */
void delegates_begin(struct delegates_life *life);
/* A fiber at each worker that gives all handles back. */
void delegates_wind_up(struct delegates_life *life);
void delegates_act(struct delegates_seat *seat);
void delegates_drop_all(struct delegates_seat *seat);

/* ---- delegates_check.c ---- */

/* It may have ended for others by that time, whether it knows or not. */
bool delegates_may_have_ended(const struct delegates_life *life, uint64_t ns);
bool delegates_may_be_parted(const struct delegates_life *one, const struct delegates_life *other, uint64_t ns);
void delegates_judge(struct delegates_play *play);

#endif
