/* state_int.h - a state on its way, inside: for state.c, state/give.c, state/take.c, state/await.c.
 *
 * A *transfer* is what the loop and a job do in turn: the job moves bytes until it is over, or (where it cannot wait) until it gets
 * no further, and then the loop submits it again. `busy` says which of them has it. The one that has it may touch all of it, the
 * other only `busy` and `stop`; the loop alone makes transfers, and frees those that are over.
 */
#ifndef WH_STATE_STATE_INT_H
#define WH_STATE_STATE_INT_H

#include <pthread.h>

#include "state/backlog.h"
#include "state/state.h"
#include "state/wire.h"

#define WH_STATE_WAIT_NS (20 * WH_NS_PER_MS)  /* a job waits so long, then looks whether it is to stop */
#define WH_STATE_ROUND_PART 5                 /* of a failure time-out: between asking all nodes and asking all again */
#define WH_STATE_ROUNDS 2                     /* so often are all asked */
#define WH_STATE_REPORT_NS (10 * WH_NS_PER_S) /* between lines of the log about one transfer */
#define WH_STATE_GIVES_MAX 4                  /* to one newcomer at a time: it may have given up on earlier ones */
/* Bytes, and time of a processor. A state that takes no more is over before a loop misses much: its jobs neither stand back nor pause. Where loops
 * have all the processors what stands back waits, and a newcomer with it, and those that wait for their turn. */
#define WH_STATE_SMALL WH_STATE_PIECE
#define WH_STATE_SMALL_NS (5 * WH_NS_PER_MS)
/* A piece that takes so much of a processor holds up the loops that its thread takes turns with: after so many in a row it does that no more. One
 * may be the machine's fault. */
#define WH_STATE_SLOW_NS (10 * WH_NS_PER_MS)
#define WH_STATE_SLOW_PIECES 3
#define WH_STATE_RUN 64 /* messages upcalled at a time */

enum wh_transfer_end {
	WH_TRANSFER_GOES_ON,
	WH_TRANSFER_DONE,
	WH_TRANSFER_STOPPED, /* by the loop */
	WH_TRANSFER_CUT,     /* the other end is gone, or its stream makes no sense: `why` */
	WH_TRANSFER_SILENT,  /* nothing comes: `why` */
	WH_TRANSFER_STALE,   /* its position is of a view that is over */
	WH_TRANSFER_REFUSED, /* the program could not: `why` */
};

struct wh_transfer {
	struct wh_state *state; /* [const] */
	uint32_t node;          /* [const] the other end */
	uint64_t began_ns;      /* [const] */
	uint64_t reported_ns;   /* [loop] */
	wh_word busy;           /* 1: a job has it. [loop sets, job clears] */
	wh_word stop;           /* 1: it is to end. A hint: nothing is handed over by it. [loop] */
	wh_word bytes;          /* of the state, so far. [job; the loop reads] */
	/* Of the one that has it, the loop or the job: */
	pthread_t loop; /* the thread that submitted it */
	struct wh_stream *stream;
	enum wh_transfer_end end;
	bool moved;                    /* it got further, the last time */
	bool stands_back, takes_turns; /* its thread does */
	uint32_t slow_pieces;          /* the last so many took long */
	uint64_t cpu_ns; /* what that thread had taken of a processor before; takes_turns: before the last piece */
	const char *why;
	unsigned char *buffer;
	/* Moves bytes until it ends, or as far as it can without waiting; the stream, and what is the program's, is then closed. */
	void (*work)(struct wh_transfer *transfer, bool may_wait);
};

struct wh_give {
	struct wh_transfer transfer;
	struct wh_give *next; /* [loop] */
	bool opened;          /* [loop] its stream */
	/* Of the one that has it, the loop or the job: */
	void *snapshot;
	size_t at, have;  /* of the buffer, what is to be written */
	uint64_t payload; /* bytes of the state in it */
	bool all_read;
	bool reads_later;    /* there was nothing yet */
	unsigned char *rest; /* the messages that follow, as bytes; NULL: none do */
	size_t rest_at, rest_bytes;
	uint64_t since_ns; /* the last pause, or what might have been one; 0: none yet */
	uint64_t busy;     /* passes of the loop with something to do, by then */
};

struct wh_take {
	struct wh_transfer transfer;
	/* [loop] WILL_DO: its giver is out of the view, and others are asked; should it come to its end first, that is as good a state. */
	enum wh_take_use { WH_TAKE_UNWANTED, WH_TAKE_WILL_DO, WH_TAKE_WANTED } use;
	wh_word hurried; /* 1: silence is not waited for as long. A hint. [loop; the job reads] */
	/* Of the one that has it, the loop or the job: */
	struct wh_state_parser parser;
	unsigned char *message; /* the one that is coming, as bytes */
	size_t message_room, message_held;
	struct wh_backlog given; /* those that have come */
	uint64_t silent_ns;      /* since when nothing comes; 0: something has just come */
};

enum wh_state_phase {
	WH_STATE_HAS,        /* nothing is kept back; or nothing ever was, or this node is not in the shard */
	WH_STATE_AWAITS,     /* nothing is restored yet */
	WH_STATE_EMPTIES,    /* no node has any: the program is to restore the empty state, when it is free to */
	WH_STATE_CATCHES_UP, /* restored; what was kept back is upcalled */
	WH_STATE_FAILED      /* for good: what is delivered is dropped */
};

enum wh_answer { WH_ANSWER_NONE, WH_ANSWER_GIVE, WH_ANSWER_DECLINE };

#define WH_STATE_LIVES 8 /* of one id during one transfer */

struct wh_state {
	struct whorl_state functions; /* [const] */
	struct wh_state_hooks hooks;  /* [const but for subgroup: wh_state_is_born] */
	struct wh_state_stats stats;
	/* The rest is the loop's. */
	bool stopped;
	struct wh_give *gives;
	unsigned char answers[WH_STATE_SENDERS_MAX]; /* by node id: enum wh_answer, what it is still to get */
	uint32_t answers_due;

	enum wh_state_phase phase;
	bool had; /* this node has been in a shard before: the program may have something of it */
	bool keeps;
	uint64_t view; /* in which this node entered */
	uint32_t shard;
	struct wh_backlog given; /* came with the state, and is upcalled before what was kept back here */
	struct wh_backlog backlog;
	bool preceded;           /* catching up: what comes before it has been upcalled */
	bool refused;            /* ... the program takes nothing more for now */
	struct wh_take *take;    /* a restore is under way, or was: at most one at a time, since it is the program's */
	struct wh_stream *spare; /* came early, or while another is read */
	uint32_t spare_from;
	uint64_t spare_until_ns;

	/* The node that is asked: none while a wanted take is under way. */
	uint32_t asked; /* WH_NOBODY: none, a round is over */
	bool expects;   /* it is the one that gives of its own accord, and nothing says yet that it does not */
	bool asks;      /* it is still to get the message */
	uint64_t asked_until_ns;
	uint32_t round;
	bool somebody_is_silent;                   /* in this round */
	bool tried[WH_STATE_SENDERS_MAX];          /* by node id: in this round */
	bool declined_early[WH_STATE_SENDERS_MAX]; /* by node id: said no, or went, when nothing was awaited yet */

	/* What was restored: all below, by node id of the sender. It may be more than has been delivered here. */
	uint64_t floor[WH_STATE_SENDERS_MAX];
	bool floor_has[WH_STATE_SENDERS_MAX]; /* the position names that sender */
	uint64_t floor_view;                  /* in later views nothing comes that is below */
	uint64_t floor_sequence;              /* of that view; for positions of states that this one gives */
	bool filters;                         /* what comes may be in the state */
	bool behind[WH_STATE_SENDERS_MAX];    /* its messages have not come up to the floor here */
	uint32_t behind_count;
	/* By node id: the last views that took it in, as far as seen here, the latest first. */
	uint64_t life_began[WH_STATE_SENDERS_MAX][WH_STATE_LIVES];
};

#define WH_NOBODY UINT32_MAX

/* ---- transfers (state.c) */

/* Allocates a transfer of `bytes` bytes that begins with a wh_transfer, and its buffer. NULL: no memory. */
void *wh_transfer_create(struct wh_state *state, size_t bytes, size_t buffer_bytes, uint32_t node,
			 void (*work)(struct wh_transfer *transfer, bool may_wait));
void wh_transfer_free(struct wh_transfer *transfer);
void wh_transfer_submit(struct wh_transfer *transfer);
/* The loop has it (again). */
static inline bool wh_transfer_rests(const struct wh_transfer *transfer)
{
	return wh_load_acquire(&transfer->busy) == 0; /* partner: the release in run_transfer, state.c */
}
/* A piece is done, on a thread of its own: of a large state what is left stands back, or, among real-time threads, takes turns with them; unless the
 * program is slow at it, which they would have to wait for: then that stands back as well. Returns whether it is of a large one. The job's. */
bool wh_transfer_gives_way(struct wh_transfer *transfer);
/* Asks it to end. */
static inline void wh_transfer_stop(struct wh_transfer *transfer)
{
	wh_store_relaxed(&transfer->stop, 1);
}
static inline bool wh_transfer_is_to_stop(const struct wh_transfer *transfer)
{
	return wh_load_relaxed(&transfer->stop) != 0;
}
/* A line in the log every so often. `does`: "has given", "has taken". */
void wh_transfer_report(struct wh_transfer *transfer, const char *does);
/* "12 MB in 3.4 s, 3.5 MB/s" */
#define WH_TRANSFER_PACE_BYTES 80
void wh_transfer_pace(const struct wh_transfer *transfer, char text[WH_TRANSFER_PACE_BYTES]);

void wh_state_log(const struct wh_state *state, enum wh_log_level level, const char *format, ...) WH_PRINTF(3, 4);

/* ---- the giver (state/give.c) */

size_t wh_state_step_gives(struct wh_state *state);
/* Nothing more is given to that node. */
void wh_state_forsake(struct wh_state *state, uint32_t node);
void wh_state_stop_gives(struct wh_state *state);
/* Closes what is still open, and frees; `forked`: frees. */
void wh_state_free_gives(struct wh_state *state, bool forked);

/* ---- the newcomer: the giver (state/await.c), the bytes (state/take.c), the messages (state/keep.c) */

size_t wh_state_step_await(struct wh_state *state);
/* This node, which does not have the state, may have it soon. */
bool wh_state_has_hope(const struct wh_state *state);
/* For good. */
void wh_state_fail(struct wh_state *state, enum whorl_result code, const char *format, ...) WH_PRINTF(3, 4);

/* Takes over the stream; NULL: the state is empty, and `node` WH_NOBODY. NULL: no memory. */
struct wh_take *wh_take_create(struct wh_state *state, uint32_t node, struct wh_stream *stream);
/* It ends soon, and its result is good for that and no more. NULL is fine. Loop. */
void wh_take_stop(struct wh_take *take, enum wh_take_use use);
/* Its giver was removed: it WILL_DO, and if nothing comes it ends sooner. Loop. */
void wh_take_hurry(struct wh_take *take);
void wh_take_finish(struct wh_take *take);
void wh_take_free(struct wh_take *take);

/* From now on what is kept is upcalled, if it is not in the state; first what came with it, which becomes the state's. */
void wh_state_catch_up(struct wh_state *state, const struct wh_state_header *header, struct wh_backlog *given);
size_t wh_state_step_catch_up(struct wh_state *state);
/* Adds what was restored to where deliveries stand. */
void wh_state_raise_position(const struct wh_state *state, struct wh_position *position, uint64_t *view);

#endif
