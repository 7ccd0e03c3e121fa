/* node.h - what the files of `whorl node` share: one member of a group, to play with.
 *
 *     node.c          the command line
 *     node_life.c     the life of the member: the main thread opens, sends, looks after it, closes
 *     node_input.c    what is typed at it: commands, and what it says
 *     node_events.c   what it tells: views, progress, transfers, errors; for people, or as JSON
 *     node_count.c    --run counter, --run load: a replicated counter, and what feeds it
 *     node_echo.c     --run echo: lines that all print in one order
 *
 * Upcalls run on the loop, which must not wait for a reader of our output: they leave lines in a bounded queue, and the main
 * thread writes them (node_lines.c).
 */
#ifndef WH_TOOLS_NODE_H
#define WH_TOOLS_NODE_H

#include <jansson.h>
#include <pthread.h>

#include <whorl/whorl.h>

#include "base/atomics.h"
#include "base/env.h"
#include "command/crew.h"
#include "command/output.h"
#include "conf/conf.h"

/* ---- lines -------------------------------------------------------------------------------------------------------------- */

#define WH_LINES_MAX 256
#define WH_LINE_BYTES 2048

struct wh_lines { /* to be written by the main thread */
	pthread_mutex_t lock;
	const struct wh_watch *watch; /* its bell is rung */
	uint64_t first, behind;       /* [lock] numbers of lines: those in [first, behind) wait */
	uint64_t lost;                /* [lock] for want of room, the oldest first */
	char said[WH_LINE_BYTES];     /* [lock] the last that was an error: it is not worth reading twice */
	struct wh_line {
		bool is_error;
		char text[WH_LINE_BYTES];
	} * lines; /* [lock] by number modulo WH_LINES_MAX */
};

/* False: no memory. */
bool wh_lines_open(struct wh_lines *lines, const struct wh_watch *watch);
void wh_lines_close(struct wh_lines *lines);
/* Any thread. What is too long is cut. */
void wh_lines_add(struct wh_lines *lines, bool is_error, const char *text);
/* Writes what waits to stdout and stderr. False: stdout is gone. [main] */
bool wh_lines_write(struct wh_lines *lines);

/* ---- the member ------------------------------------------------------------------------------------------------------------ */

struct wh_member_options {
	const struct wh_member_run *run;
	uint32_t id;          /* or WHORL_ANY_ID */
	const char *subgroup; /* NULL: all that the node is in */
	double rate;    /* messages per second in each subgroup; 0: as fast as possible; -1: as is usual for the run */
	int64_t bytes;  /* of a message; -1: as is usual for the run */
	int64_t state;  /* bytes that are added to the state of a subgroup, for long transfers */
	int64_t every;  /* a counter tells itself each so many messages; 0: about once a second, at round numbers */
	double seconds; /* 0: until a signal */
	bool form;      /* an operator has told this start to form a group */
	bool quiet, json;
	bool commands; /* are taken from a standard input that is no terminal, too */
};

#define WH_INPUT_BYTES 4096

struct wh_input {                       /* [main] */
	char bytes[WH_INPUT_BYTES + 1]; /* typed, and no line yet */
	size_t typed;
	bool middle; /* they go on with a line of which a piece was heard */
	bool ended;
};

struct wh_member {
	const struct wh_member_options *options;
	whorl_node *node;
	uint32_t id; /* of the node */
	struct wh_watch watch;
	struct wh_lines lines;
	struct wh_input input;
	bool leaves;                  /* it has been told to */
	struct wh_member_part *parts; /* subgroups that take part */
	uint32_t part_count;
};

struct wh_member_part { /* the node in one subgroup */
	struct wh_member *member;
	whorl_subgroup *subgroup;
	const char *name;
	bool ordered;
	uint32_t message_bytes; /* the greatest */
	void *own;              /* of the run */

	/* Sending. [main] */
	double rate;
	uint64_t due_ns;   /* of the next message; with rate > 0 */
	bool waits;        /* for the window */
	bool armed;        /* the window's descriptor will say that there is room, and has not been read */
	uint64_t again_ns; /* not before: it could not send for another reason */
	struct whorl_subgroup_stats told; /* as last told */
	uint64_t told_ns;
};

struct wh_member_run {
	const char *name;
	double rate;
	int64_t bytes;
	bool only_first; /* it speaks in one subgroup alone */
	/* How the part's state is taken, read and restored, with the part as context. A snapshot is released by free(). */
	const struct whorl_state *state;
	/* Makes part->own, and sets upcalls for messages. WHORL_OK, WHORL_MEMORY. */
	enum whorl_result (*open)(struct wh_member_part *part);
	void (*close)(struct wh_member_part *part);
	/* Is there a message to send, and how long is it? Then it is claimed, and filled in. NULL: it sends nothing. [main] */
	bool (*next)(struct wh_member_part *part, size_t *bytes);
	void (*fill)(struct wh_member_part *part, void *data, size_t bytes, uint64_t number);
	/* A second has gone by. NULL: nothing to do. [main] */
	void (*second)(struct wh_member_part *part, uint64_t now_ns);
	/* What is typed is said: a line, or a piece of one if not `whole`. NULL: only commands are typed. [main] */
	void (*on_bytes)(struct wh_member_part *part, const char *text, size_t bytes, bool whole);
	bool (*has_room)(const struct wh_member_part *part); /* for WH_INPUT_BYTES of it */
};

extern const struct wh_member_run wh_member_counter, wh_member_load, wh_member_echo, wh_member_none;

/* The whole life. */
enum wh_exit wh_member_live(struct wh_conf *conf, const struct wh_member_options *options);

/* Is standard input to be read now? Then, when there is some: commands are obeyed, all else is heard. [main] */
bool wh_input_listens(const struct wh_member *member);
void wh_input_take(struct wh_member *member);

/* ---- what it tells ---------------------------------------------------------------------------------------------------------- */

/* One event: with --json the object, which is taken over, otherwise the words. Any thread. */
void wh_member_tell(struct wh_member *member, json_t *object, const char *format, ...) WH_PRINTF(3, 4);
#define WH_MEMBER_JSON(member, ...) ((member)->options->json ? json_pack(__VA_ARGS__) : NULL)

void wh_member_tell_view(struct wh_member *member, const struct whorl_view *view);
/* What an end for this reason means, and what to do; "" if there is nothing to add. */
const char *wh_member_advice(enum whorl_result result);

static inline uint64_t wh_member_now(void)
{
	return wh_clock_ns();
}

#endif
