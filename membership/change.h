/* change.h - from suspicion, or a newcomer, to the next view: the change of one view, at one member.
 *
 *     suspicion.c   which members are suspected, and by which: heartbeats, the transport, what other rows say; freeze; quorum
 *     propose.c     propose, acknowledge; newcomers and resting senders, which are prepared before any member stops
 *     serve.c       the same of wishes: the view that serves them is sent beside the rows (0046)
 *     change.c      wedge, decide, echo, deliver, install
 *
 * docs/decisions/0014 and 0016 have the protocol, why it is safe, and what each word in a row means; sst/columns.h the words. All
 * that is decided is decided from rows, anew in each pass: a member that fails, at whatever step, leaves behind a row that the
 * others look at or do not, and roles follow from which members are suspected. Derecho: papers' "view change" (Derecho, TOCS 2019,
 * §4.3).
 *
 * What stops, delivers and begins anew is the participant's matter (participant.h): this module knows the words in the rows, not the rings.
 *
 * Threads: the loop's. Memory: wh_change_init allocates; nothing allocates afterwards but through open().
 */
#ifndef WH_MEMBERSHIP_CHANGE_H
#define WH_MEMBERSHIP_CHANGE_H

#include "membership/heartbeat.h"
#include "membership/participant.h"
#include "membership/serving.h"

struct wh_cut_source {           /* of one subgroup of the view: what its cut is made of */
	const uint32_t *members; /* ranks */
	uint32_t count;          /* 0: it has no cut */
	/* Below this a member has what none may lose: `persisted_num` where the subgroup is durable, else `received_num`. delivered_num is never
	 * greater; and it grows no more once its member has wedged. */
	struct wh_counter_col stable_num, delivered_num;
	bool durable; /* of those of its members that go on in it one must have a whole log (0058) */
};

enum { WH_STAGE_WEDGED, WH_STAGE_PROPOSED, WH_STAGE_ACKNOWLEDGED, WH_STAGE_DECIDED, WH_STAGE_AGREED, WH_STAGES };

struct wh_change { /* the fields up to `ctx` are set by the caller */
	struct wh_diag *diag;
	struct wh_loop *loop;
	struct wh_sst *sst;
	struct wh_pushes *pushes;
	struct wh_heartbeat *heartbeat;
	const struct wh_view *view;
	struct wh_node_columns columns;
	uint32_t nodes;  /* ids of nodes are below */
	int tie_breaker; /* a rank, -1: none */
	/* Without a quorum, and with none to come, or without a whole log of some durable shard, for so long this node gives up; 0: never. */
	uint64_t give_up_ns;
	uint32_t home; /* a quorum needs one member with an id below (0032); UINT32_MAX: there is no such rule */
	const struct wh_cut_source *cuts_from; /* by subgroup of the view */
	struct wh_join_requests *requests;     /* as leader: the nodes that want to come in */
	struct wh_serving *serving;            /* NULL: no node of this group wishes anything */
	struct wh_participant on;
	void *ctx;

	/* suspicion.c */
	struct wh_suspicion {
		uint64_t *said;   /* by rank: enum wh_suspected, as my row says it */
		uint64_t *known;  /* by rank: what the transport says, and what was known in the view before */
		bool *left;       /* by rank: the transport says that it left in order, in this view or before */
		bool *lags;       /* by rank: it holds up the change of view */
		uint64_t *wanted; /* by rank: what is to be said, when a quorum is heard; >= said */
		uint64_t *seen;   /* by rank: `suspicions` of that row when `wanted` was found */
		const char **why; /* by rank */
		uint64_t count;   /* how often something was said */
		bool any_lags;
		bool suspect_no_quorum; /* a member that says that it hears no quorum is to be suspected */
		bool news;              /* `wanted` is to be found anew */
		bool quorum;            /* one is heard */
		bool unheard_told;      /* that none is */
		uint64_t unheard_ns;    /* since when none is */
		bool deadlines_extended; /* those that were overdue have had the whole time-out again, since a quorum was missing */
	} suspicion;

	struct wh_confirming {  /* confirm.c */
		uint64_t asked; /* as my row says it: my last question */
		uint64_t held;  /* the last that a quorum has confirmed */
		uint64_t *seen; /* by rank: the last question of that member that I have confirmed, as my row says it */
	} confirming;

	/* change.c */
	bool removed; /* the others go on without this node, or it has given up */
	bool wedged, installed;
	bool wanted;      /* a node may want to come in, or a wish may be unmet: to be looked at, if I lead. [loop] */
	uint64_t attempt; /* as leader: the last */
	uint64_t attempted_ns;   /* as leader: when */
	uint64_t rests_until_ns; /* as leader: nothing is prepared before: it could not be done here */
	uint64_t heeded;         /* the ticket of the last proposal that was followed, or given up */
	bool ids_exhausted; /* the numbers of this view come to an end: it is to be followed by one like it. [loop] */
	bool one_at_a_time; /* as leader: an attempt was given up: some of the newcomers may never reach all, or some bytes a member */
	bool serves_next; /* as leader, when that is so: wishes come before newcomers, if there are both */
	bool may_serve;   /* as leader: the last attempt serves the wishes that there are */
	uint64_t keeps;   /* as leader, as in wh_next: of the attempts to come */
	bool *puts_out; /* likewise, by subgroup: of a durable dynamic one no member that goes on has a whole log, and all are put out */
	uint64_t told;  /* as leader: the ticket of the last of which newcomers have been told */
	bool *left_out; /* by rank: of the proposal that has its memory open or opening; so are the next three */
	struct wh_newcomer coming[WH_NEWCOMERS_MAX];
	uint32_t coming_count;
	uint64_t *rests;            /* as in wh_next; then `ended`, likewise */
	uint64_t *record;           /* of a proposal: scratch */
	uint64_t ticket;            /* of that proposal, as in `acknowledged`; 0: none */
	const struct wh_view *next; /* the participant's, of that proposal; NULL: none */
	uint64_t acknowledged;      /* as my row says it */
	uint64_t agreed;            /* as my row says it */
	bool settled;               /* the decision is final */
	uint64_t log_missed_ns; /* since when none that goes on has a whole log of some durable shard, and that was told; 0: one has */
	uint64_t *cuts;       /* of the decision, by subgroup */
	uint64_t standing_ns; /* when something moved last */
	uint64_t watched_ns;
	uint64_t began_ns; /* the first suspicion; 0: none */
	uint64_t stage_ns[WH_STAGES];
};

/* WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_change_init(struct wh_change *change, struct wh_error *err);
void wh_change_close(struct wh_change *change);

/* One pass. Returns how much it did. */
size_t wh_change_step(struct wh_change *change);

/* Something says that this member is gone: what it is, at most, is said by `kind`. `why` is a literal. */
void wh_change_suspect(struct wh_change *change, uint32_t rank, enum wh_suspected kind, const char *why);

/* What was known of that member in the view before is known from the start. */
void wh_change_inherit(struct wh_change *change, uint32_t rank, const struct wh_change *before, uint32_t before_rank);

static inline bool wh_change_trusts(const struct wh_change *change, uint32_t rank)
{
	return change->suspicion.said[rank] == WH_TRUSTED;
}

/* Do I lead this view, as far as I know? */
bool wh_change_leads(const struct wh_change *change);
/* The rank of the member that this node takes for the leader. */
uint32_t wh_change_leader_of(const struct wh_change *change);

/* Says in my row that I rest in that subgroup of the view, or send again. True: that is new. The leader looks at wishes with its
 * heartbeats, and when it is asked. */
bool wh_change_wish(struct wh_change *change, uint32_t subgroup, bool rests);

/* Says in my row that the layout ends my sending in that subgroup, and that nothing is left to send. True: that is new. */
bool wh_change_end(struct wh_change *change, uint32_t subgroup);

/* The name of the image of attempt `attempt` of the leader with rank `rank` at the view after `number`. Those of first views are
 * below all others (join.h). */
#define WH_ATTEMPTS_MAX UINT16_MAX
static inline uint64_t wh_image_key(uint64_t number, uint32_t rank, uint64_t attempt)
{
	return WH_FIRST_KEYS | (number + 1) << 24 | (uint64_t)rank << 16 | attempt;
}

#endif
