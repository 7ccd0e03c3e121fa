/* parts.h - what both programs of this directory have: nodes that are processes, their files, and figures. See restart.c, away.c. */
#ifndef WHORL_BENCH_RESTART_PARTS_H
#define WHORL_BENCH_RESTART_PARTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <whorl/whorl.h>

#define NODES_MAX 16
#define ROUNDS_MAX 99
#define READY_MS 600000
#define PIECE_BYTES ((size_t)1 << 20)

struct plan {
	const char *dir; /* where the directory of this run is made */
	unsigned long nodes, message_bytes, bytes, rounds;
	char logs[512];
	unsigned long messages;    /* of each node's log */
	unsigned long seconds, mb; /* away.c: so long is a node away; of messages in a second, 0: all that they can */
	bool ordered;              /* away.c: nothing is on disk, and there is a state of so many bytes */
	unsigned long state_bytes;
};

struct shared { /* between the processes */
	_Atomic unsigned ready;
	_Atomic unsigned long upcalled[NODES_MAX];
	_Atomic bool is_ready[NODES_MAX], is_whole[NODES_MAX], rests; /* away.c; rests: nothing is sent */
};

extern struct shared *shared;

struct setting { /* --NAME N of a command line; the last has no name */
	const char *name;
	unsigned long *value;
};

/* Those, at most SETTINGS_MAX, and --dir. What else is there ends the program. */
#define SETTINGS_MAX 6
void read_settings(struct plan *plan, const struct setting *settings, int argc, char *argv[]);

double now(void);
void rest(void);

/* Makes plan->logs, and what the processes share. */
void make_place(struct plan *plan);
/* Of each file of one node: its bytes are read, or forgotten by the system. Returns their sum. */
uint64_t pass_files(const struct plan *plan, uint32_t id, bool reads);
void remove_files(const struct plan *plan, bool all);

void count_message(const struct whorl_message *message, void *ctx);
/* Of a process of its own, which ends if anything is wrong. */
whorl_config *load(const char *text);
void await_ready(whorl_node *node, uint32_t id);

/* Kills them, and waits for it. */
void end_all(const struct plan *plan, const pid_t nodes[]);
/* One that has ended says why itself. */
void check_all(const struct plan *plan, const pid_t nodes[]);

void print_figure(const char *name, double *values, unsigned long count, const char *end);

#endif
