/* play.h - one run of real nodes in the simulated world, from a plan and a seed.
 *
 *     play.c      the phases of a run: open, work, quiet, silent, close
 *     actors.c    nodes: when they make a pass, sleep, wake; what happens inside of upcalls
 *     streams.c   applications: claims, finished in any order, aborted, held
 *     checkers.c  what must hold after each pass, at each upcall, and in the end
 *
 * One thing happens at a time, chosen by virtual time: a node makes a pass, a piece of a push arrives, an application
 * does something. Each of them has a pace of its own, from a wide range, so in each run some are slow. An upcall may
 * take its time: other things happen before it returns.
 */
#ifndef WH_TESTS_SIM_PLAY_H
#define WH_TESTS_SIM_PLAY_H

#include <whorl/whorl.h>

#include "tests/sim/plan.h"
#include "transport/dice.h"
#include "transport/sim.h"

struct play;

enum message_state { MESSAGE_NONE, MESSAGE_OPEN, MESSAGE_COMMITTED, MESSAGE_ABORTED };

struct message { /* a claim, and what has become of it */
	struct whorl_claim claim;
	enum message_state state;
	uint32_t bytes;
	uint64_t round; /* once it is sent */
};

/* In what order a stream finishes what it has claimed. */
enum manner { AT_ONCE, IN_ORDER, IN_ANY_ORDER, BACKWARDS };

struct stream { /* all that one sender sends in one subgroup */
	struct seat *seat;
	uint32_t rank;            /* among the senders */
	struct message *messages; /* by number */
	uint64_t quota, claimed;
	uint64_t sent;  /* have a round, as far as it was looked at */
	uint64_t *open; /* numbers of open claims, in the order of their claims */
	uint64_t open_count;
	uint64_t held; /* this number is claimed and not finished; UINT64_MAX: none */
	uint64_t pace_ns, burst, abort_in, bytes_max;
	enum manner manner;
	bool scheduled; /* it has a turn to come */
	bool starved;   /* it waits for window_fd */
	bool stopped;   /* its node has failed */
};

struct seat { /* one member of one subgroup */
	struct actor *actor;
	struct circle *circle;
	whorl_subgroup *subgroup; /* NULL until the node is open */
	struct stream *stream;    /* NULL: it is no sender */
	struct taken {            /* by sender rank; what was so when it was last looked at */
		uint64_t covered, announced;
		uint64_t done;  /* slots whose upcalls have returned */
		uint64_t index; /* the message to be delivered next, or aborted ones before it */
	} * taken;
	uint64_t covered, received_num, delivered_num;
	uint64_t deliveries;
	uint64_t next_sequence; /* all below have been delivered, or were nobody's */
	uint64_t in_pass;       /* upcalls in this pass */
	bool in_upcall;
	uint32_t upcall_sender;
};

struct circle { /* one subgroup */
	struct play *play;
	uint32_t index;
	struct seat *seats; /* by place among the members */
	uint32_t seat_count;
	struct stream *streams; /* by sender rank */
	uint32_t stream_count;
	bool ordered;
	uint64_t rounds; /* 1 + the highest round with a slot, of any sender */
	struct entry {
		uint32_t sender;
		uint64_t index, sequence;
	} * order; /* as the foremost member delivers it */
	uint64_t order_count, order_capacity;
};

enum actor_state { ACTOR_UNOPENED, ACTOR_AWAKE, ACTOR_ASLEEP, ACTOR_GONE };

struct actor { /* a node */
	struct play *play;
	uint32_t id;
	whorl_node *node;
	enum actor_state state;
	uint64_t turn; /* the number of the turn that counts; others were overtaken */
	uint64_t pace_ns;
	uint32_t idle; /* passes without work, in a row */
	bool in_pass;
	bool leaving;              /* its passes are made by whorl_close */
	uint64_t stalled_until_ns; /* it makes no pass before */
	struct seat **seats;       /* by its own subgroup index */
	uint32_t seat_count;
};

struct play {
	const struct plan *plan;
	struct wh_sim *sim;
	struct wh_dice dice;
	struct actor *actors;
	struct circle *circles;
	uint64_t steps, useful_step; /* events; of them the last that moved anything on */
	uint32_t awake, busy_streams;
	uint32_t long_upcall_in; /* one upcall in so many takes time; 0: none does */
	uint64_t linger_ns;      /* at most so much */
	uint32_t reply_in;       /* one upcall in so many sends; 0: none does */
	uint32_t depth;          /* upcalls that are taking their time */
	uint64_t crash_step;     /* UINT64_MAX: nobody crashes */
	uint64_t leave_step;     /* UINT64_MAX: nobody leaves while others work */
	int crashed;             /* or stalled for so long that the others must notice; -1: nobody */
	bool hasty;              /* nodes close as soon as all is delivered, with acknowledgements still under way */
	bool drains;             /* they drain */
	bool closing;
	FILE *log;         /* NULL: nowhere */
	char (*dump)[200]; /* where lines of the log go while a node's events are dumped, round and round */
	uint64_t dumped;
	char verdict[512]; /* "": good */
};

struct play_result {
	uint64_t digest, steps, deliveries, nulls, virtual_ns;
};

/* Plays a plan from its seed. False: something is broken; then `verdict` says what, and a report has gone to
 * `log`. */
bool play_all(const struct plan *plan, struct play_result *result, char *verdict, size_t verdict_bytes, FILE *log);

/* A run that is to be written by hand: play_new, play_work, ..., play_end. */
struct play *play_new(const struct plan *plan, FILE *log);
/* Opens all nodes, and goes on until nothing happens any more, or it is time for somebody to leave. */
bool play_work(struct play *play);
bool play_goes_on(struct play *play, uint64_t for_ns); /* the same for some virtual time */
/* Held claims are finished now. */
void play_release(struct play *play);
/* Closes all nodes, frees everything. False: something was broken. */
bool play_end(struct play *play, struct play_result *result, char *verdict, size_t verdict_bytes);

/* Something is broken; the first words stay. */
void play_fail(struct play *play, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline bool play_failed(const struct play *play)
{
	return play->verdict[0] != '\0';
}

/* ---- actors.c ---------------------------------------------------------------------------------------------------------- */

void actor_open(struct actor *actor);
void actor_rung(struct actor *actor);
void actor_leave(struct actor *actor, int timeout_ms); /* closes it */
/* Some of the other things happen, while an upcall runs. */
void actor_linger(struct actor *actor);

/* ---- streams.c --------------------------------------------------------------------------------------------------------- */

void stream_init(struct stream *stream, struct seat *seat, uint32_t rank);
void stream_schedule(struct stream *stream);
/* One claim, or the end of one. False: there is nothing to be done now. */
bool stream_act(struct stream *stream);
void stream_look(struct stream *stream); /* is there room for a starved one? */
void stream_stop(struct stream *stream); /* finishes what is open, claims no more */
/* After its node was closed: what is still open keeps the node's memory. */
void stream_finish_late(struct stream *stream);
void stream_free(struct stream *stream);

/* ---- checkers.c -------------------------------------------------------------------------------------------------------- */

void check_pass(struct actor *actor);
/* Takes in what is settled in the middle of a pass, but for what the seat that is in an upcall does. */
void check_settle(struct actor *actor);
void check_claim(struct stream *stream, uint64_t number);
void check_upcall(struct seat *seat, const struct whorl_message *message);
void check_payload(const struct seat *seat, const struct whorl_message *message);
/* Nothing happens any more: is everything delivered that can be? */
void check_quiet(struct play *play);
/* All that the one who is about to leave has committed is delivered by all others. */
void check_left(const struct actor *actor);
/* What survivors count as received is theirs, whoever has crashed. */
void check_held(struct play *play);

#endif
