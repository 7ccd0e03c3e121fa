/* loop.h - what the thread that makes passes has for itself, and the words by which other threads ask it for something.
 *
 * Threads: the one with the token (passes.h), but for words, and what says otherwise. Each struct is one thing that a pass does; what it
 * shares with other threads is in it too, as the same pass looks at it.
 */
#ifndef WH_GROUP_PARTS_LOOP_H
#define WH_GROUP_PARTS_LOOP_H

#include <whorl/whorl.h>

#include "group/parts/list.h"
#include "group/record.h"
#include "membership/join.h"
#include "membership/restart.h"
#include "membership/serving.h"
#include "predicates/hot.h"

struct wh_aside;
struct wh_durable_others;
struct wh_epoch;
struct wh_logs;
struct wh_state;

struct wh_node_events {                   /* what the transport reports: run.c */
	struct wh_transport_event *event; /* scratch: large */
	uint64_t surveyed_ns;
};

struct wh_node_entry { /* the other nodes that are there, and the way into their group: enter.c */
	struct wh_roster roster;
	struct wh_join_requests requests;
	struct wh_join join;
	struct wh_restart restart;  /* where there are logs */
	struct wh_record record;    /* of the group that this node was counted in last */
	struct wh_serving *serving; /* [const pointer] what nodes wish */
	bool replays;               /* its logs are upcalled, before its first view begins */
	uint64_t explained_ns;
	uint64_t bad_messages;          /* control messages that were none */
	wh_word took_ns[WHORL_ENTRIES]; /* statistics */
};

struct wh_node_epochs {                  /* epoch.c, install.c, upcall.c */
	struct wh_epoch *current;        /* [loop writes; RCU] and older ones behind it; NULL: no member yet */
	struct wh_epoch *proposed;       /* that of the view that may come; NULL: none */
	wh_word begun;                   /* views installed. Any thread reads it */
	wh_word change_ns[WHORL_STAGES]; /* of the last change */
	uint64_t change_began_ns;
	bool awaits_delivery; /* the first of this view */
	struct wh_push_stats push_stats;
	wh_word heartbeats; /* statistics */
	struct wh_looks looks;
	whorl_view_fn *on_view; /* [const after start] */
	void *on_view_ctx;
};

struct wh_node_disk {                     /* of a node with durable subgroups: durable*.c */
	struct wh_logs *logs;             /* [const pointer] NULL: no subgroup is durable */
	struct wh_aside *aside;           /* [const pointer] jobs that a disk may hold; NULL: as of logs */
	struct wh_durable_others *others; /* those that it speaks for, with their disks; NULL: none */
	uint64_t left_ticket; /* [loop; whorl_close when there is none] its disk says that it has left, when that is done. 0: not yet */
};

struct wh_node_stays {           /* stay.c */
	wh_word asked;           /* 1: something is to be done for some stay. [any sets, loop clears] */
	struct wh_places moving; /* likewise, and it was not done yet */
};

struct wh_node_rests {         /* run.c */
	wh_word asked;         /* 1: this node is to rest, or a node is to be asked to. [any sets, loop clears] */
	struct wh_places open; /* where something of that is to be done in this view */
};

struct wh_node_states {         /* transfer.c */
	struct wh_state **busy; /* something of them is under way */
	uint32_t busy_count;
	uint32_t gives; /* states on their way to others */
	bool used;      /* of others it may be: wh_node_use_state */
};

struct wh_node_refusing {           /* offer.c */
	whorl_subgroup **subgroups; /* those that refuse, or have a backlog of what was refused */
	uint32_t count;
};

struct wh_node_layers {             /* layer.c */
	whorl_subgroup **subgroups; /* [const after start] those with a layer */
	uint32_t count;             /* [const after start] */
	wh_word asked;              /* 1: a layer is to be stepped. [any sets, loop clears] */
	bool awake;                 /* one of them is to be stepped in each pass */
	uint32_t ends;              /* how often they were told that the node has failed */
};

#endif
