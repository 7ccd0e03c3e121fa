/* state_lab.h - states without nodes: a world of pipes, programs that count what is asked of them, and jobs that run at once,
 * later, or on threads of their own.
 *
 * A `party` is one node's state of one subgroup with its hooks. Parties of one lab are joined by pipes: a stream that one opens is
 * handed over by lab_deliver. A test may hold either end of a pipe itself.
 */
#ifndef WH_TESTS_SUPPORT_STATE_LAB_H
#define WH_TESTS_SUPPORT_STATE_LAB_H

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "state/backlog.h"
#include "state/state.h"
#include "state/wire.h"
#include "tests/harness.h"
#include "tests/unit/state_pipe.h"

enum lab_jobs { LAB_AT_ONCE, LAB_LATER, LAB_THREADS };

#define LAB_PARTIES 4
#define LAB_QUEUE 256
#define LAB_LOG 4096

/* ---- the program --------------------------------------------------------------------------------------------------------- */

struct program {
	size_t bytes, chunk;  /* of its state, and how many of it are read at a time */
	bool none;            /* it takes no snapshot */
	ptrdiff_t read_fails; /* what read returns instead, at `fails_at`; 0: it does not fail */
	size_t fails_at;
	void (*on_read)(struct program *program); /* NULL: nothing happens */
	void (*on_restore)(struct program *program, enum whorl_restore_step step);
	int refuses; /* the step that restore refuses; -1: none */
	wh_word snapshots, released;
	void *last;                     /* snapshot */
	struct whorl_position position; /* of it, as it was told; and for each sender named */
	uint64_t next_of[WH_STATE_SENDERS_MAX];
	/* What was restored: */
	unsigned char *restored;
	size_t restored_bytes;
	wh_word begins, ends, restoring, overlaps;
	void *ctx;
};

struct snapshot {
	struct program *program;
	size_t at;
};

/* A state's byte, so that what is lost, doubled or moved is seen. */
unsigned char lab_byte(size_t at);
void program_release(void *handle, void *ctx);

/* ---- a party ------------------------------------------------------------------------------------------------------------- */

struct lab;

struct party {
	struct lab *lab;
	uint32_t id;
	struct wh_state *state;
	struct wh_state_hooks hooks;
	struct wh_transport transport;
	struct program program;
	uint32_t gives;
	/* What its hooks answer: */
	bool hears_no_quorum;
	struct wh_position position;
	uint64_t view;
	uint32_t shard;
	bool no_member, cannot_ask, cannot_decline;
	uint32_t givers[8], giver_count;
	size_t takes; /* of each upcall, at most */
	struct wh_backlog refused;
	enum whorl_result opens; /* what stream_open says */
	/* What they were told: */
	struct whorl_message upcalled[LAB_LOG]; /* their data is not there any more */
	size_t upcalled_count, longest_run;
	uint64_t upcall_takes_ns;
	uint32_t asked[LAB_QUEUE], declined[LAB_QUEUE];
	size_t asked_count, declined_count;
	int restored, failed;
	size_t upcalled_before_restored;
	enum whorl_result failed_code;
	char failed_text[256], log[LAB_LOG];
	wh_word jobs, wakes;
};

#define LAB_TIMEOUT_NS WH_NS_PER_S
#define LAB_PATIENCE_NS (WH_STATE_PATIENCE * LAB_TIMEOUT_NS)
#define LAB_STALL_NS WH_STATE_STALL_NS

struct lab {
	enum lab_jobs kind;
	wh_word now_ns; /* the clock: real with threads */
	uint64_t loop_ns;
	size_t capacity;
	struct wh_env env;
	struct {
		void (*run)(void *argument);
		void *argument;
	} queue[LAB_QUEUE];
	size_t queued;
	struct pipe *pipes[LAB_QUEUE]; /* opened, and not delivered */
	size_t pipe_count;
	wh_word steps, idle_steps; /* of the loops of all parties, as they are told */
	struct party parties[LAB_PARTIES];
};

uint64_t lab_now(void *ctx);
void lab_advance(struct lab *lab, uint64_t ns);

/* ---- the lab ------------------------------------------------------------------------------------------------------------- */

struct lab *lab_create(enum lab_jobs kind);

/* Other hooks: anew. */
void party_anew(struct party *party);
uint64_t word_of(const wh_word *w);

/* Those that have been submitted by now. */
void lab_run_jobs(struct lab *lab);

/* A pass of every party. */
size_t state_lab_step(struct lab *lab);
void lab_steps(struct lab *lab, int count);

/* Passes until then; threads get their time. */
#define LAB_UNTIL(lab, condition)                                                                                      \
	do {                                                                                                           \
		for (int lab_pass = 0; !(condition); lab_pass++) {                                                     \
			state_lab_step(lab);                                                                           \
			if ((lab)->kind == LAB_THREADS)                                                                \
				sched_yield();                                                                         \
			else                                                                                           \
				ck_assert_int_lt(lab_pass, 1000000);                                                   \
		}                                                                                                      \
	} while (0)

/* Stops all, waits for jobs, frees; nothing may be left, or have been released twice. */
void state_lab_free(struct lab *lab);

/* ---- messages and streams, made by hand ---------------------------------------------------------------------------------- */

/* `text` holds the bytes. */
struct whorl_message lab_message(uint32_t sender, uint64_t index, uint64_t view, uint64_t *text);

/* Delivered to the party: to the state if it keeps them, else to the program. */
void party_message(struct party *party, uint32_t sender, uint64_t index);
void party_sends(struct party *party, uint32_t id, uint64_t next);

/* A stream to the party. The test holds its other end. It begins with a header, of what the hooks of `as` say. */
struct pipe *state_lab_open(struct party *to, uint32_t from, const struct party *as);
void pipe_put(struct pipe *pipe, size_t at, size_t count);
void pipe_end(struct pipe *pipe);
void check_restored(const struct program *program, size_t bytes);
void check_upcalled(const struct party *party, size_t at, uint32_t sender, uint64_t index);

#endif
