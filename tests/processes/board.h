/* board.h - what the parent and its members share: one memory file, mapped by all of them.
 *
 * The parent writes the configuration before it starts anybody, and its words to the members at any time. A member writes
 * its own state and its own log, word by word where another may look: what stood there when it was killed stays, so
 * nothing is lost with it, and there is no file that could be left behind.
 */
#ifndef WH_PROCESSES_BOARD_H
#define WH_PROCESSES_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include <whorl/whorl.h>

#define MEMBERS_MAX 8
#define GROUPS 3
#define RECORDS 4000000u /* a log's room; untouched pages cost nothing */
#define SLOT_NS UINT64_C(100000000)
#define SLOTS 1200u
#define MESSAGE_MAX 2000u
#define LINES 24u
#define REFUSALS 8u /* a member without a membership ends the claims that it has, and makes no more */

/* The subgroups. In a group of five they have these members and senders, a bit for each node id; else all are both. */
struct group {
	const char *name;
	bool ordered;
	uint32_t window, message_bytes;
	uint64_t members, senders;
};
extern const struct group groups[GROUPS]; /* groups.c; the first is where orders are obeyed */

/* A log is views and messages in the order of the upcalls. */
enum record_kind { RECORD_VIEW = 1, RECORD_MESSAGE };

struct record {
	uint8_t kind, group; /* group: index of the subgroup */
	uint16_t sender;     /* node id; of a view: my rank */
	uint32_t bytes;
	uint64_t view;
	union {
		struct {
			uint64_t index, sequence, digest; /* digest: of the bytes that were read */
		};
		struct {
			uint64_t members, joined, left; /* a bit for each node id */
		};
	};
};

/* What the parent wants of one member, at its next opportunity. */
enum order {
	ORDER_NONE,
	ORDER_STOP_READING, /* stop the process in an upcall, when half of the payload has been read; then NONE again */
	ORDER_EXIT,         /* leave the process without closing, from an upcall */
	ORDER_HOLD,         /* do not finish the next claim in the first group */
	ORDER_RELEASE,      /* finish it now; then NONE again */
};

enum stage { STAGE_BEGINNING, STAGE_READY, STAGE_QUIET /* has sent all it will */, STAGE_CLOSED };

struct refusal {
	uint32_t group;
	uint64_t index;
};

struct state {
	_Atomic uint32_t stage; /* enum stage */
	_Atomic uint32_t error; /* what whorl_error says */
	_Atomic uint32_t claim; /* what the last claim said */
	_Atomic uint32_t close; /* what whorl_close said */
	_Atomic bool holding;   /* a claim in the first group is open and stays so */
	_Atomic uint64_t view, members;
	_Atomic uint64_t view_ns;      /* when it began */
	_Atomic uint64_t first_ns;     /* when its first message was delivered; 0: not yet */
	_Atomic uint64_t stages_known; /* the view for which change_ns is complete; 0: none */
	uint64_t change_ns[WHORL_STAGES];
	_Atomic uint64_t claimed[GROUPS];   /* claims begun: no message has this index yet */
	_Atomic uint64_t committed[GROUPS]; /* and not aborted */
	_Atomic uint32_t refusals;
	struct refusal refused[REFUSALS]; /* claims whose end was refused for good: they must not be delivered */
	_Atomic uint64_t delivered[GROUPS][MEMBERS_MAX]; /* messages of each sender */
	_Atomic uint64_t total;                          /* messages delivered */
	_Atomic uint32_t slot[SLOTS];                    /* messages delivered in each tenth of a second */
	_Atomic bool complaining, complained;
	char complaint[256]; /* the first thing that this member found wrong; final once `complained` */
	char text[256];      /* of the last error; stored before `error` */
	_Atomic uint32_t line_count;
	char lines[LINES][160]; /* the last of the library's log; of several threads that log at once, as it may be */
	_Atomic uint64_t records;
	struct record log[RECORDS];
};

struct board {
	uint64_t seed;     /* of payloads */
	uint64_t start_ns; /* of slot 0 */
	pid_t parent;
	char config[2000];
	bool caller[MEMBERS_MAX]; /* who runs its loop itself */
	_Atomic bool ending;      /* no new claims */
	_Atomic bool closing;     /* close, and leave */
	int close_ms;             /* final then: how long closing may take */
	_Atomic uint32_t order[MEMBERS_MAX];
	struct state state[MEMBERS_MAX];
};

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
