/* history_int.h - what a history is made of.
 *
 * Of each shard in each view there is one *order*: the longest sequence that any member has delivered. A member holds the
 * number of its deliveries in it, so a delivery is compared with one entry, or adds one. A member that installs the next
 * view must be at the end of it, and closes it: from then on no member may add to it. That is "same set" and "nothing that a
 * survivor lacks", without comparing anything twice.
 *
 * Of each sender in each subgroup there is one *stream*: its claims by index. A member holds the index that it expects.
 *
 * A state is a place in all this: an order, a place in it, and the index expected of each sender. A newcomer takes over those of
 * the member that gave it. While it is behind it goes through the orders of the views since then, and must be at the end of each
 * before it begins the next.
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
	uint64_t lapsed; /* the sender was taken out of its shard: of what was claimed by then, some may never come */
};

struct entry {
	uint64_t index, sequence;
	uint32_t sender, by; /* lives */
};

struct order {
	struct entry *entries;
	uint64_t count, capacity;
	bool closed;
	uint32_t closed_by;
};

struct state { /* that was given */
	uint32_t unit, by;
	uint64_t digest, position;
	bool lags; /* of one that was behind: what it lacks up to its view comes with it */
	struct view *at;
	uint64_t *next;
};

struct view {
	uint64_t number;
	bool restarts;
	uint32_t count, by;   /* by: the life that installed it first */
	uint32_t *members;    /* node ids by rank */
	uint32_t *place;      /* by node id: 1 + its rank, 0: it is no member */
	uint32_t *lives;      /* by rank; NOBODY: not known */
	struct order *orders; /* by unit */
	uint32_t units;
	struct wh_history_dynamic *dynamic;
	uint32_t dynamic_count;
};

#define NOBODY UINT32_MAX

struct member { /* of one node in one subgroup */
	struct wh_history_place place;
	uint32_t unit;
	uint64_t joined; /* the view since which it has been in its shard */
	uint64_t oldest; /* it may be upcalled messages since this one: the giver of its state may have refused some */
	bool had;        /* it has been in a shard before */
	bool astray; /* it has been taken out of one, and has sent in none since: what it had claimed has nowhere to go */
	bool awaits;   /* a state: it delivers nothing */
	bool empties;  /* that is the empty one: no node has been in its shard before, and it in another */
	bool behind;   /* it has one, and `at` may be a view before its own */
	bool restored; /* it has begun with one: what was delivered before it joined is in there, or comes */
	/* The view with the order that it is in; a later one than its own if its state is of that. NULL: it is restarting what no life has begun. */
	struct view *at;
	uint64_t position; /* there */
	uint64_t *next;    /* by sender: the index that it expects */
};

enum fate { LIVES, LEFT, REMOVED, CRASHED };

struct life {
	uint32_t id;    /* NOBODY: not born yet */
	uint32_t which; /* of its node, from 1 */
	uint64_t first; /* view; UINT64_MAX: not known */
	enum fate fate;
	bool leaves;       /* or has left: the others need not count it */
	bool anew;         /* what its disk had was made a group of its own */
	struct view *view; /* NULL: none yet */
};

struct subgroup {
	char *name;
	bool ordered, stateful, durable;
	uint32_t shards, unit;  /* unit: its first shard's number among all shards of all subgroups */
	struct stream *streams; /* by life, as are the members */
	struct member *members;
	uint64_t *next;  /* the memory of all members' */
	uint64_t *since; /* by shard: the first view in which it has a member; UINT64_MAX: there was none */
	uint32_t lives;
	bool dynamic;
	uint32_t title, seat;
	uint64_t born, parameters;
};

struct wish { /* of one life for one stay */
	uint32_t life, title;
	uint64_t parameters;
	bool sends, in, leaves, over;
	uint64_t since, until; /* in the order of all such events */
};

struct wh_history {
	uint32_t nodes, life_count, configured, founder, subgroup_count, units;
	int tie_breaker;
	bool joins, founded, all, home, one_host, is_broken;
	struct life *lives;
	struct subgroup *subgroups;
	struct state *states;
	uint64_t state_count, state_capacity;
	struct view **views;
	uint64_t view_count, view_capacity;
	struct wish *wishes;
	uint64_t wish_count, wish_capacity, wish_events;
	uint64_t deliveries;
	char text[512];
};

/* Notes what is broken, unless something was before. False. */
WH_PRINTF(2, 3) bool wh_history_break(struct wh_history *h, const char *format, ...);
bool wh_history_memory_out(struct wh_history *h);

/* May this life still do what it does? */
bool wh_history_lives(struct wh_history *h, uint32_t life, const char *does);

struct wh_history_who {
	char text[40];
};

/* "node 3", or "node 3 (life 2)" */
struct wh_history_who wh_history_who(const struct wh_history *h, uint32_t life);

struct wh_history_at {
	char text[96];
};

/* "orders/1, view 2" */
struct wh_history_at wh_history_at(const struct subgroup *g, uint32_t unit, uint64_t view);

/* `array` with room for `need` elements of `bytes`; NULL: memory is out, and the array is as it was. */
void *wh_history_grown(void *array, uint64_t need, uint64_t *capacity, size_t bytes);

/* May a member pass over this message of a sender? It was aborted; or delivered before the member was in the shard, or
 * while the sender was in another; or the sender was taken out of the shard before all had it. */
bool wh_history_may_miss(const struct subgroup *g, const struct member *member, const struct stream *stream,
			 uint64_t index);

/* history_views.c */
struct view *wh_history_find_view(const struct wh_history *h, uint64_t number);
/* Which life node `id` is in that view; NOBODY: it is no member, or that is not known yet. */
uint32_t wh_history_life_in(const struct wh_history *h, const struct view *view, uint32_t id);
/* The same for a member that is known to be there if its node has lived once only. */
uint32_t wh_history_sender_in(const struct wh_history *h, const struct view *view, uint32_t id);
/* The life goes on from the order that it is in: it has delivered all of it. */
bool wh_history_leave_order(struct wh_history *h, uint32_t life, const struct subgroup *g);
/* history.c: NULL: memory is out. */
struct subgroup *wh_history_add_subgroup(struct wh_history *h, const struct wh_history_subgroup *config);
/* history_births.c: what this view says of dynamic subgroups is what the others say, and may follow what was. */
bool wh_history_check_births(struct wh_history *h, struct view *view, const struct wh_history_view *told, bool first);
/* The life has that place in a dynamic subgroup from now on. */
bool wh_history_take_stay(struct wh_history *h, uint32_t life, const struct subgroup *g,
			  const struct wh_history_place *place);
/* All is over: the wishes of this life are met. */
bool wh_history_wishes_end(struct wh_history *h, uint32_t life);
/* history_state.c: a life that is behind goes on to the order of a later view. */
bool wh_history_move_on(struct wh_history *h, uint32_t life, struct subgroup *g, uint64_t view);
void wh_history_free_view(struct view *view);

#endif
