/* dormant_play.h - random programs in durable subgroups that are made at run time (docs/decisions/0058), on the processes of dormant_host.h, that
 * are killed, lose their power or their disks, stand still, are cut off, close and come back; and what must be true of all that they are told.
 *
 *     dormant_play.c      the faults of a seed, and what must be in the end
 *     dormant_program.c   what a program does
 *     dormant_check.c     the judge, while it goes on
 *
 * Each name has a *birth* at a time, and each birth one order of messages. A program that is told something, by an upcall or a state, has been
 * told a beginning of that order. The order is made by the first that is told what comes next. So what any program was told once may not be gone
 * for another that enters later, whatever has become of the first; and a birth is followed by another only where a program said so.
 */
#ifndef WH_TESTS_SIM_DORMANT_PLAY_H
#define WH_TESTS_SIM_DORMANT_PLAY_H

#include "tests/sim/dormant_host.h"

#define DORMANT_NAMES 3
#define DORMANT_IDS 5
#define DORMANT_MESSAGE_BYTES 200

struct dormant_entry { /* a message as it was delivered */
	uint64_t view, sequence, incarnation, index;
	uint64_t stay, number; /* of its sender */
	uint64_t sender;       /* id */
};

struct dormant_birth {
	uint64_t group, birth; /* of the view */
	uint32_t name, number;
	struct dormant_entry *order;
	size_t count, room;
};

struct dormant_stay { /* of a process in a subgroup */
	struct dormant_life *life;
	uint32_t number, name;
	whorl_subgroup *subgroup;    /* NULL: the program has let go of it */
	struct dormant_birth *birth; /* NULL: not known yet */
	size_t told;                 /* so many of its order the program has */
	uint64_t sent, ordered;      /* of its own messages: committed, in the order */
	bool anew, listens, leaves, ready, lost, over, drained;
	uint64_t slow_ns; /* a piece of a state takes so long at most */
	/* When it was entered: what any program had been told. */
	struct dormant_birth *newest;
	size_t floor;
	/* What it restores. */
	struct dormant_entry *restored;
	size_t bytes;
};

struct dormant_life { /* of a process */
	struct dormant_play *play;
	struct dormant_process *process;
	uint32_t number, id;
	struct wh_dice dice;
	struct dormant_stay *stays[DORMANT_NAMES]; /* that it has now */
	bool is_ready;
	uint64_t alone_ns; /* since when it hears too few, in the end; 0: it does not */
};

struct dormant_name { /* what all programs say of it */
	char name[24];
	bool has_state;
	uint64_t log_bytes;
	uint32_t window;
};

struct dormant_play {
	uint64_t seed;
	bool verbose, one_host, loses_disks, begins_anew;
	bool calm;   /* nothing happens any more, and all programs enter all names */
	bool silent; /* and send nothing */
	uint32_t founders, ids, name_count;
	struct dormant_name names[DORMANT_NAMES];
	struct wh_dice dice;
	struct dormant_world *world;
	struct wh_sim_disk_cost cost;
	struct dormant_life **lives;
	struct dormant_stay **stays;
	struct dormant_birth **births;
	uint32_t life_count, stay_count, birth_count;
	uint32_t lost_disks; /* bit i: the disk of node i has been another */
	char *verdict;
	size_t verdict_bytes;
};

/* ---- dormant_play.c ---- */

/* runner_fn */
bool dormant_play(uint64_t seed, bool verbose, char *verdict, size_t verdict_bytes);
/* Keeps the first. */
__attribute__((format(printf, 2, 3))) void dormant_fail(struct dormant_play *play, const char *format, ...);
bool dormant_failed(const struct dormant_play *play);
void *dormant_must(void *memory);
/* One more element for an array that has `count`. */
void *dormant_more(void *array, size_t count, size_t bytes);
__attribute__((format(printf, 2, 3))) void dormant_tell(const struct dormant_life *life, const char *format, ...);

/* ---- dormant_program.c ---- */

/* It is open: the program sets what it is to be told, and may enter names. */
void dormant_program_begin(struct dormant_life *life, whorl_node *node);
/* Now and then, while its node runs. */
void dormant_program_act(struct dormant_life *life);
/* Its process has ended. */
void dormant_program_end(struct dormant_life *life);
void dormant_stay_free(struct dormant_stay *stay);

/* ---- dormant_check.c ---- */

void dormant_check_entering(struct dormant_stay *stay);
void dormant_check_message(struct dormant_stay *stay, const struct whorl_message *message);
void dormant_check_snapshot(struct dormant_stay *stay, const struct whorl_position *position);
/* It has restored what is in stay->restored. */
void dormant_check_restored(struct dormant_stay *stay);
void dormant_check_ready(struct dormant_stay *stay);
void dormant_check_left(struct dormant_stay *stay);
/* In the end: what those sent that have left in order was delivered. */
void dormant_check_drained(struct dormant_play *play);
/* What it has sent itself it has been told, if it is to be quiet. */
bool dormant_is_quiet(const struct dormant_stay *stay);
/* The newest birth of that name; NULL: there was none. */
struct dormant_birth *dormant_newest(const struct dormant_play *play, uint32_t name);

#endif
