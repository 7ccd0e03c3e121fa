/* history.h - what the applications of a group have seen, and whether they may have seen it.
 *
 * A history is told what each node's application does and sees: claims it commits or aborts, views, deliveries, its end.
 * It knows nothing of nodes, time or the protocol, so it judges simulated nodes and the logs of real processes alike
 * (history_file.h). After each event it checks what can be checked by then:
 *
 *     same order    of a shard in a view all members deliver one sequence: what one has delivered is a prefix of what the
 *                   foremost has; sequence numbers grow
 *     no gap, no duplicate
 *                   of each sender the committed messages once each, in the order of its claims, across views; only what
 *                   may be missing is passed over (wh_history_may_miss)
 *     committed     nothing that was not committed before; nothing that was aborted
 *     payload       the digest is that of what was committed
 *     same set      who go from one view to the next have delivered the same messages in it; no message is delivered in
 *                   two views, or in two shards
 *     nothing that a survivor lacks
 *                   what anybody delivers in a view, also one that is dead or removed by then, is delivered in it by all
 *                   who go on from it
 *     same views    a view has the same members for all, itself among them; numbers are consecutive at each; members
 *                   keep their order, who join come behind
 *     majority      a view has more than half of the one before, not counting who left in order; or half, with the
 *                   tie-breaker
 *     its view      a delivery is in the node's view, at a member, of a message of a member that may send
 *     gone          who has crashed, left or learnt that it was removed sees nothing more
 *     progress      at the end, where it may be asked for: survivors are in the last view, no dead member is, and
 *                   whatever a survivor committed all survivors have delivered
 *
 * Of unordered subgroups only: no gap, no duplicate, committed, payload, its view, progress; and of dead senders' messages
 * survivors may miss the last ones.
 *
 * Each event costs O(1), amortised; a view O(members + subgroups). The first broken property ends the judgement: every
 * later call is false too. Whoever tells it keeps each node's events in their order, tells a commit before it can be
 * delivered (so: before whorl_commit, or before anybody else runs), and what happens in a view before what others do in
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
};

struct wh_history_config {
	uint32_t nodes; /* ids are 0 to nodes-1 */
	const struct wh_history_subgroup *subgroups;
	uint32_t subgroup_count;
	int tie_breaker; /* a node, -1: none */
	bool joins;      /* nodes may come in after the first view */
};

struct wh_history;

WH_MUST_CHECK struct wh_history *wh_history_new(const struct wh_history_config *config); /* NULL: memory is out */
void wh_history_free(struct wh_history *h);                                              /* NULL is fine */

/* What is broken, "same order: node 2 delivers message 7 of node 0 where node 1 delivered message 4 of node 3 (orders,
 * view 2, place 31)"; NULL: nothing. Also "memory: ..." when that is out. */
const char *wh_history_broken(const struct wh_history *h);

/* ---- events: true, or something is broken ---------------------------------------------------------------------------- */

/* The application commits claim `index`; digest of the payload as it is then. */
bool wh_history_commit(struct wh_history *h, uint32_t node, uint32_t subgroup, uint64_t index, uint64_t digest);

/* It gives the claim back; or its commit was refused, told before or not, for good (WHORL_NOT_SENDER, WHORL_REMOVED,
 * WHORL_CLOSED). Nobody may deliver it then. */
bool wh_history_abort(struct wh_history *h, uint32_t node, uint32_t subgroup, uint64_t index);

enum wh_history_role { WH_HISTORY_OUT, WH_HISTORY_MEMBER, WH_HISTORY_SENDER };

struct wh_history_place { /* of the node itself in a subgroup, in a view */
	enum wh_history_role role;
	uint32_t shard;
	bool inactive; /* the shard has too few members or no sender: it delivers nothing in this view */
};

struct wh_history_view {
	uint64_t number;
	uint32_t count, rank;                  /* its own */
	const uint32_t *members;               /* node ids by rank */
	const struct wh_history_place *places; /* by subgroup */
};

/* The node installs a view: it has delivered what it delivers in the one before. */
bool wh_history_view(struct wh_history *h, uint32_t node, const struct wh_history_view *view);

struct wh_history_delivery {
	uint32_t subgroup, sender; /* node id */
	uint64_t view, index, sequence, digest;
};

bool wh_history_deliver(struct wh_history *h, uint32_t node, const struct wh_history_delivery *delivery);

/* How a node ends. One that is leaving still delivers, but others need not count it from here on; one that was removed may
 * still have commits refused. */
bool wh_history_crashed(struct wh_history *h, uint32_t node);
bool wh_history_removed(struct wh_history *h, uint32_t node); /* its application has learnt it */
bool wh_history_leaving(struct wh_history *h, uint32_t node);
bool wh_history_left(struct wh_history *h, uint32_t node);

/* All is over, faults have stopped long ago, and a majority went on. survives[node]: it has neither crashed nor been
 * removed; if it left, then with nothing undelivered. Without progress to ask for, do not call it. */
bool wh_history_end(struct wh_history *h, const bool *survives);

/* ---- questions ------------------------------------------------------------------------------------------------------- */

/* Are all claims of that sender up to `index` committed or aborted, as far as has been told? */
bool wh_history_knows(const struct wh_history *h, uint32_t subgroup, uint32_t sender, uint64_t index);

/* Number of the view that the node is in; false: none yet. */
bool wh_history_view_of(const struct wh_history *h, uint32_t node, uint64_t *number);

/* How many deliveries it was told of. */
uint64_t wh_history_deliveries(const struct wh_history *h);

#endif
