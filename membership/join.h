/* join.h - the way of a node into a view: a first one, or a later one of a group that runs (docs/decisions/0016).
 *
 *     SEEKING -- invited --> INVITED -- its image is ready --> THERE -- the view has begun --> IN
 *        ^                      |                                |
 *        +------ the invitation is void -------------------------+
 *
 * What an invitation asks for (memory, a view's beginning) is the participant's matter (participant.h): this module knows which node says what.
 *
 * Threads: the loop's.
 */
#ifndef WH_MEMBERSHIP_JOIN_H
#define WH_MEMBERSHIP_JOIN_H

#include "membership/participant.h"
#include "membership/restart.h"
#include "membership/wishing.h"

/* When a first view may be formed (docs/decisions/0032). */
enum wh_form_rule {
	WH_FORM_ALL,      /* by all configured nodes, together */
	WH_FORM_MAJORITY, /* by more than half of them: on one host, or where each keeps a record; and always by all */
	WH_FORM_FOUNDER   /* by the founder, alone */
};

/* So many start time-outs a node that is there keeps its promise to go on in a first view. A node that has begun it has seen a majority
 * there after one. */
#define WH_THERE_TIMEOUTS 4

enum wh_join_state { WH_JOIN_SEEKING, WH_JOIN_INVITED, WH_JOIN_THERE, WH_JOIN_IN };

struct wh_join { /* the fields up to `ctx` are set by the caller */
	struct wh_roster *roster;
	struct wh_join_requests *requests; /* as coordinator of a first view */
	const struct wh_layout_config *layout;
	uint32_t configured; /* nodes with ids below may form a first view */
	enum wh_form_rule rule;
	int founder;     /* the one that forms it alone, -1: none */
	bool may_form;   /* false: this node only joins */
	bool one_host;   /* the transport knows which ids are held by a process: one that is silent may be a member */
	bool forced;     /* an operator has told this node to form a group */
	bool records;    /* each node keeps a record of the group that it was counted in last */
	uint64_t record; /* that of this node; 0: it has none. The participant sets it as well */
	uint64_t start_timeout_ns; /* so long all configured nodes are waited for */
	uint64_t patience_ns; /* what is there and says nothing for so long is not waited for, unless all are on one host */
	struct wh_wishing *wishing; /* NULL: no node of this group wishes anything */
	/* NULL: no subgroup is durable. Else a first view is formed by all configured nodes, none of which has anything on disk but a first view
	 * in which nothing is known to have been done (0058): of the fields above `rule` is WH_FORM_ALL, and founder -1. */
	struct wh_restart *restart;
	struct wh_participant on;
	void *ctx;

	enum wh_join_state state;
	uint64_t began_ns; /* seeking */
	uint32_t asked;    /* the node that it asked last to be let in, */
	uint64_t asked_ns; /* and when */
	uint64_t floor;    /* keys of first views are greater */
	/* The invitation that is followed. */
	uint64_t key;
	uint32_t by;     /* node id of the sender */
	uint64_t before; /* key of the view before, which the sender is in; 0: a first view, or it has not said so yet */
	uint64_t invited_ns, there_ns;
	bool said_open, said_there;
	uint64_t could_ns;          /* since when a first view could have been formed; 0: it cannot */
	uint64_t waits_ns;          /* a forced node: since when it knows all that are there; 0: not yet */
	bool passes_over;           /* I coordinate though a node with a lower id is forming, and is silent */
	const struct wh_view *view; /* the participant's */
	struct wh_view_parts parts;
	char refusal[512]; /* what the transport said last of a node that does not go with us; "": nothing */
};

void wh_join_begin(struct wh_join *join);
void wh_join_close(struct wh_join *join);

/* A VIEW or WITHDRAWN, or what a restart's rounds say. False: it is not what a node can say: it is broken. */
bool wh_join_on_message(struct wh_join *join, uint32_t node, const struct wh_wire *message);

/* The transport has refused that node, or it us: they cannot go together. */
void wh_join_refused(struct wh_join *join, uint32_t node, const char *why);

size_t wh_join_step(struct wh_join *join);
/* This node will not come in: the others are told, once. */
void wh_join_give_up(struct wh_join *join);

/* No node waits for that member of the view that it is invited into: it is lost; or, in a first view, all had a start time-out to
 * meet it, and it was never met. */
bool wh_join_misses(const struct wh_join *join, uint32_t rank);

/* What it waits for, for people. */
void wh_join_explain(const struct wh_join *join, char *text, size_t bytes);

#endif
