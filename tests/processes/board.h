/* board.h - what the parent and its members share: one memory file, mapped by all of them.
 *
 * The parent writes the configuration before it starts anybody, and its words to the members at any time. A member writes
 * its own state and its own log, word by word where another may look: what stood there when it was killed stays, so
 * nothing is lost with it, and there is no file that could be left behind.
 *
 * A *life* is one process as one node: a node that has died and comes back is another life of the same id. Lives are counted
 * from 0 in the order in which they are started; those that a group is started with have the numbers of their ids.
 */
#ifndef WH_PROCESSES_BOARD_H
#define WH_PROCESSES_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include <whorl/whorl.h>

#define MEMBERS_MAX 8 /* node ids are below */
#define LIVES_MAX 1000u
#define GROUPS 3
#define CHUNK_RECORDS 8192u
#define CHUNKS 4096u /* for all logs together; untouched pages cost nothing */
#define SLOT_NS UINT64_C(100000000)
#define SLOTS 1200u
#define MESSAGE_MAX 2000u
#define LINES 24u
#define REFUSALS 8u /* a member without a membership ends the claims that it has, and makes no more */

/* The subgroups. In a group of five that stays as it is they have these members and senders, a bit for each node id; else all
 * are both. */
struct group {
	const char *name;
	bool ordered;
	uint32_t window, message_bytes;
	uint64_t members, senders;
};
extern const struct group groups[GROUPS]; /* groups.c; the first is where orders are obeyed */

/* A log is what happened, in the order of the upcalls. */
enum record_kind {
	RECORD_VIEW = 1,
	RECORD_MESSAGE,
	RECORD_GAVE,      /* a snapshot of the state */
	RECORD_RESTORED,  /* somebody else's; before the first message after it */
	RECORD_CAUGHT_UP, /* what was kept back is delivered; some time after the last such message */
};

struct record {
	uint8_t kind, group; /* group: index of the subgroup */
	uint16_t sender;     /* of a message: the life that sent it; of a view: my rank */
	uint32_t bytes;
	uint64_t view;
	union {
		struct {
			uint64_t index, sequence, digest; /* digest: of the bytes that were read */
		};
		struct {
			uint8_t ids[MEMBERS_MAX]; /* by rank, `bytes` of them */
			uint8_t shards[GROUPS];   /* mine */
			uint8_t sends, waits;     /* a bit for each group: I am a sender; nothing can be sent in it */
			uint16_t joined, left;    /* a bit for each node id */
		};
		struct {
			uint64_t state, count, chain; /* state: digest of it; the others: see struct imprint */
		};
	};
};

/* What the messages of a subgroup have made: the state that its members have and a newcomer is given. */
struct imprint {
	uint64_t count, chain;        /* messages; of all of them in their order (ordered subgroups) */
	uint32_t lives;               /* that have an entry below; those behind have sent nothing */
	uint32_t group, shard, check; /* check: a constant, so that what is no imprint is seen */
	struct sent {
		uint64_t next, chain, count; /* 1 + the index of the last message; of that sender's alone */
	} sent[LIVES_MAX];
};

/* What the parent wants of one member, at its next opportunity. */
enum order {
	ORDER_NONE,
	ORDER_STOP_READING, /* stop the process in an upcall, when half of the payload has been read; then NONE again */
	ORDER_EXIT,         /* leave the process without closing, from an upcall */
	ORDER_HOLD,         /* do not finish the next claim in the first group */
	ORDER_RELEASE,      /* finish it now; then NONE again */
	ORDER_REST,         /* declare that it does not send in the first group; then NONE again */
	ORDER_SEND,         /* take that back */
	ORDER_ASK_TO_REST,  /* ask the node of the next id to rest */
	ORDER_ASK_TO_SEND,
	ORDER_CLOSE, /* leave in order */
};

enum stage { STAGE_BEGINNING, STAGE_OPEN, STAGE_READY, STAGE_QUIET /* has sent all it will */, STAGE_CLOSED };

struct refusal {
	uint32_t group;
	uint64_t index;
};

struct state {
	/* The parent's, before the life begins: */
	uint32_t id;
	bool caller;    /* runs its loop itself */
	char quirk[80]; /* an assignment in which its configuration differs from the others'; "": none */
	int close_ms;   /* how long closing may take; final before it is told to close */
	_Atomic uint32_t order;
	/* The member's: */
	_Atomic uint32_t stage; /* enum stage */
	_Atomic uint32_t error; /* what whorl_open, whorl_ready or whorl_error says */
	_Atomic uint32_t claim; /* what the last claim said */
	_Atomic uint32_t close; /* what whorl_close said */
	_Atomic bool holding;   /* a claim in the first group is open and stays so */
	_Atomic uint64_t view, members;
	_Atomic uint64_t first_view;    /* 1 + the number of its first one; 0: it is in none yet */
	_Atomic uint32_t shard[GROUPS]; /* mine */
	_Atomic uint32_t sends;         /* a bit for each group: I am a sender in this view */
	_Atomic uint64_t view_ns;       /* when it began */
	_Atomic uint64_t first_ns;      /* when its first message was delivered; 0: not yet */
	_Atomic uint64_t stages_known;  /* the view for which change_ns is complete; 0: none */
	uint64_t change_ns[WHORL_STAGES];
	_Atomic uint64_t start_ns, ready_ns; /* when whorl_start was called, whorl_ready said that all is well */
	uint64_t entry_ns[WHORL_ENTRIES];    /* final then */
	_Atomic uint64_t claimed[GROUPS];    /* claims begun: no message has this index yet */
	_Atomic uint64_t committed[GROUPS];  /* and not aborted */
	_Atomic uint32_t refusals;
	struct refusal refused[REFUSALS]; /* claims: their end was refused for good, they must not be delivered */
	_Atomic uint64_t delivered[GROUPS][LIVES_MAX]; /* messages of each life, those in a restored state among them */
	_Atomic uint64_t in_state[GROUPS];             /* of all lives together */
	_Atomic uint64_t total;                        /* messages delivered here */
	_Atomic uint32_t slot[SLOTS];                  /* messages delivered in each tenth of a second */
	_Atomic uint64_t last_ns;                      /* the last delivery */
	_Atomic uint64_t gap_ns, gap_from;   /* the longest time between two, of those after board->gaps_from; which */
	_Atomic uint32_t whole;              /* a bit for each group: its log has all of it */
	_Atomic uint64_t given, taken, kept; /* bytes of state; kept: the most at a time */
	_Atomic uint64_t takes_ns,
		took_ns; /* when the first byte of a state came here, and when the last was restored */
	_Atomic bool complaining, complained;
	char complaint[256]; /* the first thing that this member found wrong; final once `complained` */
	char text[512];      /* of the last error; stored before `error` */
	char progress[160];  /* what whorl_progress says while it is not ready */
	_Atomic uint32_t line_count;
	char lines[LINES][200]; /* the last of the library's log; of several threads that log at once, as it may be */
	_Atomic uint64_t records;
	uint16_t chunks[CHUNKS]; /* of the log, in their order */
};

struct board {
	uint64_t ballast_bytes; /* that each member maps and touches, and has no other use for */
	uint64_t seed;          /* of payloads */
	uint64_t start_ns;      /* of slot 0 */
	pid_t parent;
	char config[2000];
	uint64_t body_bytes; /* of this file: the states of the subgroups that have a bit here have it behind the imprint */
	uint32_t body_groups;
	bool durable;
	int body_fd;
	_Atomic uint32_t pause_us; /* a giver waits so long between two pieces */
	_Atomic uint32_t nap_us;   /* a sender, between two bursts */
	_Atomic uint64_t gaps_from;
	_Atomic bool silent;  /* nobody sends */
	_Atomic bool ending;  /* no new claims */
	_Atomic bool closing; /* close, and leave */
	_Atomic uint32_t lives;
	_Atomic uint32_t chunks; /* that are taken */
	struct state state[LIVES_MAX];
	struct record log[CHUNKS][CHUNK_RECORDS];
};

/* Record `at` of a life's log. */
static inline struct record *board_record(struct board *board, const struct state *state, uint64_t at)
{
	return &board->log[state->chunks[at / CHUNK_RECORDS]][at % CHUNK_RECORDS];
}

static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static inline uint32_t board_slot(const struct board *board, uint64_t ns)
{
	uint64_t slot = (ns - board->start_ns) / SLOT_NS;

	return slot < SLOTS ? (uint32_t)slot : SLOTS - 1;
}

#endif
