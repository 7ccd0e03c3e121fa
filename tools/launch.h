/* launch.h - `whorl launch`: one program on all nodes of a group.
 *
 * For each node the launcher starts a *keeper*, a process of this command: here, or by ssh on another host. The keeper starts the program,
 * in a process group of its own, and its standard input is a pipe from the launcher: a byte is a signal for the program, and the end of
 * the pipe says that the launcher is gone, however it went. So nothing of a job outlives it, and nothing has to run on a host before.
 * Program and keeper write to the same two pipes, or to those that ssh makes of them. The first line on standard output is the keeper's:
 * that host is reached. The rest is the program's, and goes on line by line, with the id of its node in front.
 */
#ifndef WH_TOOLS_LAUNCH_H
#define WH_TOOLS_LAUNCH_H

#include "command/output.h"
#include "group/config/config.h"

/* ---- what is to be started ------------------------------------------------------------------------------------------ */

struct wh_launch_node {
	uint32_t id;
	const char *host; /* by ssh; NULL: here */
};

struct wh_launch {
	char *file;                   /* of the configuration, from the root */
	const char *ssh, *whorl;      /* the words that call another host, and this command there */
	const char *hosts;            /* A,B,...: instead of the addresses; NULL: as those say */
	const char *ids;              /* 0,2-4; NULL: all */
	bool shared;                  /* when one fails all are ended */
	bool ranks;                   /* srun and mpirun are looked for */
	int start_ms, grace_ms;       /* how long a host is waited for; a program that was asked to end */
	int64_t limit_ms;             /* of all; 0: none */
	char **program;               /* its name and arguments, NULL behind them */
	struct wh_launch_node *nodes; /* [count] */
	uint32_t count;
	char *names; /* what `host` points into */
};

/* Which nodes, and where: from the file, --nodes, --hosts and the environment that srun and mpirun make. WH_EXIT_GOOD, or it has said what is
 * wrong. wh_launch_free in both cases. */
enum wh_exit wh_launch_plan(struct wh_launch *launch, const struct wh_node_config *config);
void wh_launch_free(struct wh_launch *launch);

/* Runs the job. Returns its exit status. */
int wh_launch_run(const struct wh_launch *launch);

/* ---- lines ---------------------------------------------------------------------------------------------------------- */

/* Standard output or error of the launcher: whole lines that wait to be written. */
struct wh_outlet {
	int fd;
	bool failed; /* nobody reads it any more */
	unsigned char *data;
	size_t begin, end, room;
};

#define WH_OUTLET_FULL ((size_t)256 << 10) /* when more waits nothing is read of programs */

static inline size_t wh_outlet_waits(const struct wh_outlet *outlet)
{
	return outlet->failed ? 0 : outlet->end - outlet->begin;
}

/* Puts it behind the others, with `head` before and a newline behind it. Without memory the line is lost. */
void wh_outlet_add(struct wh_outlet *outlet, const char *head, const void *line, size_t bytes);
/* Writes as much as can be written at once; poll has said that something can. */
void wh_outlet_write(struct wh_outlet *outlet);

/* Standard output or error of a program. */
struct wh_inlet {
	int fd; /* -1: it has ended */
	uint32_t id;
	struct wh_outlet *to;
	const char *greeting; /* the line that the keeper says first; NULL: none, or it has come */
	unsigned char *line;  /* what has come of the next one */
	size_t bytes;
	bool continued; /* the beginning of that line has been passed on */
};

#define WH_INLET_LINE ((size_t)64 << 10) /* a longer line goes on in pieces of that size: "2: ...", "2+ ..." */

/* Of a pipe that poll has told of. False: it has ended, and is closed. */
bool wh_inlet_take(struct wh_inlet *inlet);
void wh_inlet_close(struct wh_inlet *inlet); /* passes on what is left of a line */

/* ---- the keeper ----------------------------------------------------------------------------------------------------- */

#define WH_KEEP "--keep" /* `whorl launch --keep GREETING ID GRACE_MS DIRECTORY FILE PROGRAM...` */

/* The signals that go on, and the byte that each is for the keeper; 0 ends the list. */
struct wh_keep_signal {
	int signal;
	char byte;
	bool ends; /* the program is expected to end */
};
extern const struct wh_keep_signal wh_keep_signals[];
#define WH_KEEP_END 'T'  /* SIGTERM */
#define WH_KEEP_KILL 'K' /* SIGKILL, to all that is left of it */

/* Returns the exit status of the program, 128 + the signal that has ended it, 126 or 127 if it cannot be started. */
int wh_keep_main(int argc, char **argv);

#endif
