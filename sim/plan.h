/* plan.h - what a run is to try, drawn from a seed: which nodes are in the group, what each subgroup is, which
 * optimisations are on. The simulator plays plans, and so do the tests on shared memory.
 *
 * 1 to 16 nodes, 1 to 16 senders, 1 B to 64 KB, windows of 1 to 1000, 1 to 50 subgroups that overlap anyhow, shards,
 * every combination of the switches; and how long it takes, held within `struct wh_plan_limits`. Each part has dice of its
 * own: a limit on one does not change the others.
 */
#ifndef WH_SIM_PLAN_H
#define WH_SIM_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "group/config/config.h"
#include "sim/schedule.h"

#define WH_PLAN_IDS_MAX 16 /* of nodes, together with those that join */

/* A failure time-out is this, so that heartbeats come in the middle of everything, or so long that none do. */
#define WH_PLAN_SHORT_TIMEOUT_MS 40

#define WH_PLAN_LOG_DIR "/logs" /* on the disk of each host */

/* When a group may be formed (docs/decisions/0032): by all configured nodes; or, on one host, or with a record on a disk of each
 * node, by a majority. */
enum wh_plan_forming { WH_PLAN_FORM_ANY, WH_PLAN_FORM_ALL, WH_PLAN_FORM_HOST, WH_PLAN_FORM_DISK };
extern const char *const wh_plan_formings[]; /* their words */

struct wh_plan_limits {
	uint32_t nodes_min, nodes;  /* nodes_min 0: mostly a few */
	uint32_t subgroups;         /* at most; 0: 50 */
	uint32_t messages;          /* that a sender claims, at most; 0: as many as the rest allows */
	uint32_t window;            /* at most; 0: 1000 */
	uint64_t rows_bytes;        /* of all rows and copies of rows */
	uint64_t deliveries;        /* messages times members, about */
	uint64_t data_bytes;        /* of all these deliveries */
	int64_t failure_timeout_ms; /* 0: drawn */
	uint64_t latency_max_ns;    /* 0: drawn */
	bool all_progress;          /* nothing that may come to a stand by right */
	bool shards; /* and minimum sizes, and a tie-breaker: for runs in which views follow one another */
	enum wh_plan_forming forming;
	bool network; /* something may be cut off: the nodes are not on one host */
	bool proofs;  /* they are on one, and its kernel proves that processes have ended */
	bool joins;   /* nodes that are not configured, a founder; groups begin in any way, and newcomers need states */
	uint32_t ids; /* there are at least so many */
	bool words; /* say in which subgroups something moves, though there are few; and a silent one cools soon (0041) */
	bool large;    /* messages larger than a slot (0045) */
	bool relays;   /* slots go from member to member (0074) */
	bool refusals; /* of what applications are offered (0044) */
	bool wishes;   /* nodes enter and leave subgroups that the file does not have (0046) */
	bool calls;    /* most ordered subgroups of the file have calls, and their states are read (0048) */
	bool disks;    /* most ordered subgroups of the file are durable, and the power may go (0058) */
};

struct wh_plan_subgroup {          /* in a view of all nodes there may be, if it has one shard */
	uint64_t members, senders; /* bit i: node i */
	uint32_t member_count, sender_count;
	bool ordered;
	bool by_function;  /* members = function: wh_plan_layout, which says something else in each view */
	bool moves;        /* in which it says another shard too, from view to view */
	bool calls;        /* its messages are calls, of state machines (0048) */
	bool durable;      /* it is ordered, and lies in logs (0058) */
	bool even;         /* its senders claim equally many, and all of these are finished */
	uint32_t messages; /* that a sender claims, at most */
};

struct wh_plan_name { /* of a dynamic subgroup, as those that enter it mostly say it is; `members` and `senders` have no meaning */
	char name[16];
	bool listed;                      /* in the file, with `members = wish` */
	struct wh_plan_subgroup subgroup; /* `messages`: of a sender in one stay, at most */
	struct wh_subgroup_options options;
	bool state;
};

struct wh_plan {
	uint64_t seed;
	const char *flavour; /* of a trial: flavours.h; NULL: none */
	struct wh_node_config config;
	struct wh_plan_subgroup *subgroups;
	whorl_layout_fn *layout; /* of subgroups by function; ctx is the plan */
	bool headers_apart;
	uint64_t latency_max_ns; /* 0: drawn */

	/* Of groups that grow. */
	uint64_t spread_ns; /* the nodes of the beginning are opened within this time; 0: at once */
	bool early;         /* faults count from when all of them have been opened, not from when they have met */
	bool restarts_form; /* what comes back may form a group anew, like those of the beginning */
	bool one_host;      /* all nodes are on one host: a majority may form a group, and nothing is cut off */
	bool proofs;        /* its kernel proves that processes have ended (0039) */
	bool disks;         /* each node keeps a record on a disk: a majority, or the founder, may form a group */
	bool logs; /* hosts have disks, which may lose what was not synced; most ordered subgroups are durable (0058) */
	uint64_t state_bytes; /* of a state, at most; 0: there are no states */

	bool refusals; /* some applications refuse what they are offered, and take it later (0044) */

	struct wh_plan_name names[WH_NAMES_DRAWN_MAX]; /* of dynamic subgroups (0046) */
	uint32_t name_count;                           /* 0: no node wishes for any */
	uint32_t listed_count; /* of these so many, 1 at most, are in the file, `members = wish`: behind config.subgroup_count */
};

/* Never fails: exits when memory is out. */
void wh_plan_make(struct wh_plan *plan, uint64_t seed, const struct wh_plan_limits *limits);
/* Nothing left to chance: one ordered subgroup "g0", all nodes are its senders and claim equally many, all
 * switches on. */
void wh_plan_plain(struct wh_plan *plan, uint64_t seed, uint32_t nodes, uint32_t window, uint32_t message_bytes,
		   uint32_t messages);
void wh_plan_free(struct wh_plan *plan);
void wh_plan_print(const struct wh_plan *plan, FILE *out);

/* A whorl_layout_fn; ctx is the plan. */
enum whorl_role wh_plan_layout(const struct whorl_view *view, const char *subgroup, uint32_t shard, uint32_t id,
			       void *plan);

/* May so many of the configured nodes form a first view, none of which has been in a group before? */
bool wh_plan_may_form(const struct wh_plan *plan, uint32_t nodes);

/* Must each view have a configured node (0032)? */
bool wh_plan_needs_home(const struct wh_plan *plan);

/* Must everything be delivered in the end? Without nulls only if all senders of the subgroup send equally. */
bool wh_plan_progresses(const struct wh_plan *plan, uint32_t subgroup);

/* calloc that does not fail. */
void *wh_plan_alloc(size_t count, size_t bytes);

#endif
