/* history.h - what the applications of a group have seen, and whether they may have seen it.
 *
 * A history is told what each node's application does and sees: claims it commits or aborts, views, deliveries, states that it
 * gives and restores, its end. It knows nothing of nodes, time or the protocol, so it judges simulated nodes and the logs of
 * real processes alike (history_file.h). A node that ends may come back: each time that it is opened is a *life* of it, and
 * what is done or seen is done or seen by a life. Applications know node ids alone; which life a member of a view is follows from
 * the life that says that it begins with that view. After each event the history checks what can be checked by then:
 *
 *     same order    of a shard in a view all members deliver one sequence: what one has delivered is a prefix of what the
 *                   foremost has; sequence numbers grow
 *     no gap, no duplicate
 *                   of each sender the committed messages once each, in the order of its claims, across views; only what
 *                   may be missing is passed over (wh_history_may_miss)
 *     committed     nothing that was not committed before; nothing that was aborted
 *     payload       the digest is that of what was committed
 *     same set      members that go from one view to the next have delivered the same messages in it; no message is
 *                   delivered in two views, or in two shards
 *     nothing that a survivor lacks
 *                   what any member delivers in a view, also one that is dead or removed by then, is delivered in it by all
 *                   that go on from it
 *     same views    a view has the same members for all, itself among them; numbers are consecutive at each; members
 *                   keep their order, newcomers come behind; which members have come and are gone is said rightly
 *     majority      a view has more than half of the one before, not counting members that left in order; or half, with the
 *                   tie-breaker. The first has more than half of the configured nodes, and so has the one after it; or it is
 *                   the founder alone
 *     home          each view has a configured node, and the first all of them, where so it must be (docs/decisions/0032)
 *     newcomers     a view takes in no more than all but one of those in the one before, or one
 *     incarnation   an id is one life in a view, and the same in the next; another comes in only after a view without it
 *     state         a newcomer to a shard begins with a state that a member of it has given, which is what the sequence of the
 *                   shard makes up to some place; it delivers nothing before, and then what is behind that place. All that
 *                   give one at the same place give the same
 *     its view      a delivery is in the node's view, at a member, of a message of a member that may send
 *     restart       where all have ended and come back, the next view is one of new lives: those nodes that were in the view before, a
 *                   majority of it. In durable subgroups each of them is upcalled the shard's sequence again, from the beginning
 *                   or behind a state that was given, in front of that view: all that was ever delivered, and what it ends with is the same
 *                   for all. Of other subgroups nothing is left
 *     births        of a name there is one dynamic subgroup in a view, and one in a seat; it was in the view before, with a member that
 *                   stays and what it is agreed to be, or is born in this view; all members of a view say the same of it. One that is
 *                   gone never comes back
 *     stays         a node is in a dynamic subgroup that it has wished, as it has wished it, until it has wished to leave. All that it had
 *                   committed is delivered then. Its wish is refused only where another of that name differs
 *     gone          a node that has crashed, left or learnt that it was removed sees nothing more
 *     progress      at the end, where it may be asked for: survivors are in the last view, no dead member is, and
 *                   whatever a survivor committed all survivors have delivered
 *
 * A dynamic subgroup is one subgroup from its birth to its end, and all of the above holds of it as of others. A node that comes again
 * goes on with its claims.
 *
 * Of unordered subgroups only: no gap, no duplicate, committed, payload, its view, progress; and of dead senders' messages
 * survivors may miss the last ones.
 *
 * Each event costs O(1), amortised; a view O(members + subgroups). The first broken property ends the judgement: every
 * later call is false too. The caller keeps each node's events in their order, tells a commit before it can be
 * delivered (so: before whorl_commit, or before any other node runs), and what happens in a view before what others do in
 * the next but one. Otherwise it does not matter how those of different nodes are interleaved.
 */
#ifndef WH_SIM_HISTORY_H
#define WH_SIM_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct wh_history_subgroup {
	const char *name; /* copied */
	bool ordered;
	uint32_t shards; /* 0 and 1: it has none */
	bool stateful;   /* a member that comes in later restores a state first */
	bool durable;    /* its members come back with what was delivered in it */
	/* Of one that is born later (wh_history_bear). */
	uint32_t title; /* a number for its name */
	uint64_t born;  /* the number of its first view */
	uint32_t seat;
	uint64_t parameters; /* a digest of what its members agree on */
};

struct wh_history_config {
	uint32_t nodes;      /* ids are 0 to nodes-1 */
	uint32_t lives;      /* at most; 0: each node has one */
	const uint32_t *ids; /* of lives, as far as they are known. NULL: life n is of node n; others are born later */
	uint32_t configured; /* nodes that the first view is a majority of; 0: all */
	bool founded;        /* no: it is node `founder` alone */
	uint32_t founder;
	bool all;  /* the first view has all configured nodes */
	bool home; /* each view has one of them */
	const struct wh_history_subgroup *subgroups;
	uint32_t subgroup_count;
	int tie_breaker; /* a node, -1: none */
	bool joins;      /* nodes may come in after the first view */
	bool one_host; /* disks of nodes that do not come back are heard all the same: it takes no majority to restart the group */
};

struct wh_history;

WH_MUST_CHECK struct wh_history *wh_history_new(const struct wh_history_config *config); /* NULL: memory is out */
void wh_history_free(struct wh_history *h);                                              /* NULL is fine */

/* What is broken, "same order: node 2 delivers message 7 of node 0 where node 1 delivered message 4 of node 3 (orders,
 * view 2, place 31)"; NULL: nothing. Also "memory: ..." when that is out. */
const char *wh_history_broken(const struct wh_history *h);

/* ---- lives. Everywhere below `node` is a life: where each node has one, its id ---------------------------------------- */

/* That life is of node `id`. */
bool wh_history_born(struct wh_history *h, uint32_t life, uint32_t id);
/* The first view that this life is in, if that is known before it says so: others may then speak of it first. */
bool wh_history_begins(struct wh_history *h, uint32_t life, uint64_t view);

/* ---- events: true, or something is broken ---------------------------------------------------------------------------- */

/* The application commits claim `index`; digest of the payload as it is then. */
bool wh_history_commit(struct wh_history *h, uint32_t node, uint32_t subgroup, uint64_t index, uint64_t digest);

/* It gives the claim back; or its commit was refused, told before or not, for good (WHORL_NOT_SENDER, WHORL_REMOVED,
 * WHORL_CLOSED). No member may deliver it then. */
bool wh_history_abort(struct wh_history *h, uint32_t node, uint32_t subgroup, uint64_t index);

/* A dynamic subgroup, before any node is told to be in a view that has it. Returns its number; UINT32_MAX: broken. */
uint32_t wh_history_bear(struct wh_history *h, const struct wh_history_subgroup *subgroup);

/* The application wishes to be in the dynamic subgroup of that name, if it is so. */
bool wh_history_wish(struct wh_history *h, uint32_t node, uint32_t title, uint64_t parameters, bool sends);
/* It wishes that no more. */
bool wh_history_unwish(struct wh_history *h, uint32_t node, uint32_t title);
/* It learns that its wish is refused; or that it is out for good. */
bool wh_history_wish_refused(struct wh_history *h, uint32_t node, uint32_t title);
bool wh_history_stay_over(struct wh_history *h, uint32_t node, uint32_t title);

enum wh_history_role { WH_HISTORY_OUT, WH_HISTORY_MEMBER, WH_HISTORY_SENDER };

struct wh_history_place { /* of the node itself in a subgroup, in a view */
	enum wh_history_role role;
	uint32_t shard;
	bool inactive; /* the shard has too few members or no sender: it delivers nothing in this view */
	bool needs; /* of a durable subgroup, in a view that restarts the group: this node has not all of it, and others have */
	bool rests; /* it is no sender because it has wished so: all that it had committed is delivered. If that is known */
};

struct wh_history_dynamic {        /* a dynamic subgroup in a view */
	uint32_t subgroup;         /* its number */
	uint64_t members, senders; /* bit i: node i. Node ids are below 64 where there are any */
	uint64_t entered;          /* of these those that were not in it in the view before */
	uint64_t parameters;
};

struct wh_history_view {
	uint64_t number;
	bool restarts;                         /* all of the view before had ended */
	uint32_t count, rank;                  /* its own */
	const uint32_t *members;               /* node ids by rank */
	const struct wh_history_place *places; /* by subgroup */
	const uint32_t *joined, *left;         /* node ids, in any order; NULL: it does not say */
	uint32_t joined_count, left_count;
	const struct wh_history_dynamic *dynamic; /* all that there are */
	uint32_t dynamic_count;
};

/* The node installs a view: it has delivered what it delivers in the one before, if it is not behind. */
bool wh_history_view(struct wh_history *h, uint32_t node, const struct wh_history_view *view);

struct wh_history_delivery {
	uint32_t subgroup, sender; /* node id */
	uint64_t view, index, sequence, digest;
};

/* In its view; or, as long as a newcomer is behind, in an earlier one. */
bool wh_history_deliver(struct wh_history *h, uint32_t node, const struct wh_history_delivery *delivery);

/* It fixes its state, to give it to a newcomer. The digest is of all that has been delivered, and nothing else. */
bool wh_history_gave(struct wh_history *h, uint32_t node, uint32_t subgroup, uint64_t digest);
/* The newcomer has a state with that digest: from here on it delivers, and is behind. 0: the empty one, which a node that has been
 * in another shard begins with where no node was before. */
bool wh_history_restored(struct wh_history *h, uint32_t node, uint32_t subgroup, uint64_t digest);
/* Before its first view, which restarts the group: it is to be upcalled what it has of that shard of a durable subgroup, behind a state
 * with that digest; 0: from the beginning. It is behind then. */
bool wh_history_replays(struct wh_history *h, uint32_t node, uint32_t subgroup, uint32_t shard, uint64_t digest);
/* The node awaits the state of a durable subgroup, which is its log: it is upcalled for all of it from now on. */
/* What the disk of that life had was made a group of its own: what it has of its last view, and others that went on have not, is no matter. */
void wh_history_anew(struct wh_history *h, uint32_t life);
/* How far it is in the order of the shard: of which view, and how many messages of that; 0 and 0: it has been upcalled for nothing. */
void wh_history_stands(const struct wh_history *h, uint32_t life, uint32_t subgroup, uint64_t *view,
		       uint64_t *position);
bool wh_history_takes_log(struct wh_history *h, uint32_t node, uint32_t subgroup);
/* It has not delivered all of its view, and goes on from it all the same: what is missing comes before anything else (0044). It is
 * behind from here on. */
bool wh_history_lags(struct wh_history *h, uint32_t node, uint32_t subgroup);
/* It is not behind any more: it has delivered what the others have that go on from the views before its own. */
bool wh_history_caught_up(struct wh_history *h, uint32_t node, uint32_t subgroup);

/* How a node ends. One that is leaving still delivers, but others need not count it from here on, as one that is proved dead; one that was removed may
 * still have commits refused. */
bool wh_history_crashed(struct wh_history *h, uint32_t node);
bool wh_history_removed(struct wh_history *h, uint32_t node); /* its application has learnt it */
bool wh_history_leaving(struct wh_history *h, uint32_t node);
bool wh_history_left(struct wh_history *h, uint32_t node);

/* All is over, faults have stopped long ago, and a majority went on. survives[node]: it has neither crashed nor been
 * removed; if it left, then with nothing undelivered. Without progress to ask for, do not call it. */
bool wh_history_end(struct wh_history *h, const bool *survives);

/* ---- questions ------------------------------------------------------------------------------------------------------- */

/* Are all claims of that sender, a node id in that view, up to `index` committed or aborted, as far as has been told? */
bool wh_history_knows(const struct wh_history *h, uint32_t subgroup, uint64_t view, uint32_t sender, uint64_t index);

/* Has such a state been given, in any shard? */
bool wh_history_knows_state(const struct wh_history *h, uint32_t subgroup, uint64_t digest);

/* Number of the view that the node is in; false: none yet. */
bool wh_history_view_of(const struct wh_history *h, uint32_t node, uint64_t *number);

/* How many deliveries it was told of. */
uint64_t wh_history_deliveries(const struct wh_history *h);

#endif
