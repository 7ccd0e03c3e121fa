/* history_int.h - what a history is made of.
 *
 * Of each shard in each view there is one *order*: the longest sequence that any member has delivered. A member holds the
 * number of its deliveries in it, so a delivery is compared with one entry, or adds one. Who installs the next view must be
 * at the end of it, and closes it: from then on nobody may add to it. That is "same set" and "nothing that a survivor
 * lacks", without comparing anything twice.
 *
 * Of each sender in each subgroup there is one *stream*: its claims by index. A member holds the index that it expects.
 */
#ifndef WH_SIM_HISTORY_INT_H
#define WH_SIM_HISTORY_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/history.h"

enum claim_state { UNKNOWN, COMMITTED, ABORTED };

struct message {
	uint64_t digest;
	uint64_t view; /* of the first delivery, if there was one; so are unit and by */
	uint32_t unit, by;
	enum claim_state state;
	bool delivered;
};

struct stream {
	struct message *messages;
	uint64_t count, capacity;
	uint64_t known;  /* claims below are all finished */
	uint64_t lapsed; /* the sender ceased to be one in its shard: of what was claimed by then, some may never come */
};

struct entry {
	uint64_t index, sequence;
	uint32_t sender, by;
};

struct order {
	struct entry *entries;
	uint64_t count, capacity;
	bool closed;
	uint32_t closed_by;
};

struct view {
	uint64_t number;
	uint32_t count, by; /* by: who installed it first */
	uint32_t *members;
	bool *has;            /* by node */
	struct order *orders; /* by unit */
};

struct seat { /* of one node in one subgroup */
	struct wh_history_place place;
	uint32_t unit;
	uint64_t joined;   /* the view since which it has been in its shard */
	uint64_t position; /* in the order of its view */
	uint64_t *next;    /* by sender: the index that it expects */
};

enum fate { LIVES, LEFT, REMOVED, CRASHED };

struct node {
	enum fate fate;
	bool leaves;       /* or has left: the others need not count it */
	struct view *view; /* NULL: none yet */
};

struct subgroup {
	char *name;
	bool ordered;
	uint32_t shards, unit;  /* unit: its first shard's number among all shards of all subgroups */
	struct stream *streams; /* by node, as are the seats */
	struct seat *seats;
	uint64_t *next; /* the memory of all seats' */
};

struct wh_history {
	uint32_t nodes, subgroup_count, units;
	int tie_breaker;
	bool joins, is_broken;
	struct node *node;
	struct subgroup *subgroups;
	struct view **views;
	uint64_t view_count, view_capacity;
	uint64_t deliveries;
	char text[512];
};

/* Notes what is broken, unless something was before. False. */
WH_PRINTF(2, 3) bool wh_history_break(struct wh_history *h, const char *format, ...);
bool wh_history_memory_out(struct wh_history *h);

/* May this node still do what it does? */
bool wh_history_lives(struct wh_history *h, uint32_t node, const char *does);

struct wh_history_at {
	char text[96];
};

/* "orders/1, view 2" */
struct wh_history_at wh_history_at(const struct subgroup *g, uint32_t unit, uint64_t view);

/* `array` with room for `need` elements of `bytes`; NULL: memory is out, and the array is as it was. */
void *wh_history_grown(void *array, uint64_t need, uint64_t *capacity, size_t bytes);

/* May a member pass over this message of a sender? It was aborted; or delivered before the member was in the shard, or
 * while the sender was in another; or the sender ceased to be one in the shard before all had it. */
bool wh_history_may_miss(const struct subgroup *g, const struct seat *seat, const struct stream *stream,
			 uint64_t index);

/* history_views.c */
struct view *wh_history_find_view(const struct wh_history *h, uint64_t number);
void wh_history_free_view(struct view *view, uint32_t units);

#endif
