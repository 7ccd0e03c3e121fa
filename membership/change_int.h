/* change_int.h - what suspicion.c, propose.c and change.c share. */
#ifndef WH_MEMBERSHIP_CHANGE_INT_H
#define WH_MEMBERSHIP_CHANGE_INT_H

#include "membership/change.h"

/* Takes in heartbeats and what rows say; states what is new if a quorum is heard. Returns how much was new. */
size_t wh_suspicion_step(struct wh_change *change);

/* All that the members which I trust have said of others is in my row, none of them has said anything of me, and no dead member has
 * left me behind. To be
 * asked after what a step acts upon has been read: a member that goes along with a decision has then said of every member
 * what the maker of the decision says. */
bool wh_suspicion_heeds(const struct wh_change *change);

/* That member holds up the change. It is suspected if that leaves a quorum; otherwise it is forgotten: it may be held up itself
 * by what no member can help. */
void wh_suspicion_lags(struct wh_change *change, uint32_t rank);

/* The decision in that row can be mine: I have made or echoed it, or else I have acknowledged the memory of the view that it is
 * about, and it is about messages that it can be about. */
bool wh_change_fits(const struct wh_change *change, uint32_t rank);

/* Do the members that I do not suspect make a quorum? */
bool wh_suspicion_trusted_quorum(const struct wh_change *change);

/* ---- propose.c ---- */

/* As leader, when a member is suspected: proposes a view without it. Returns how much it did. */
size_t wh_propose_without(struct wh_change *change);
/* When no member is suspected and none has stopped: what leads to a next view, as leader and as follower. */
size_t wh_prepare(struct wh_change *change);
/* As leader: all have opened what I propose, and all newcomers are there. */
bool wh_prepared(const struct wh_change *change);
/* Opens what the leader proposes; says so in my row when it is open. */
size_t wh_acknowledge_proposal(struct wh_change *change);

/* The last of the `words` of the record of that attempt: it tells whether the others are that attempt's, and all of them. */
uint64_t wh_proposal_seal(const uint64_t *record, uint64_t words, uint64_t attempt);

static inline uint64_t wh_ticket(uint32_t leader, uint64_t attempt)
{
	return (uint64_t)(leader + 1) << 16 | attempt;
}

/* The image of the proposal that is open. */
static inline uint64_t wh_ticket_image(const struct wh_change *change)
{
	return wh_image_key(change->view->number, (uint32_t)(change->ticket >> 16) - 1,
			    change->ticket & WH_ATTEMPTS_MAX);
}

/* ---- looking ---- */

static inline uint32_t wh_change_me(const struct wh_change *change)
{
	return change->sst->image->my_rank;
}

/* Its row may be read: it is trusted, or it left in order, or is dead, and the row is final. */
static inline bool wh_change_reads(const struct wh_change *change, uint32_t rank)
{
	return change->suspicion.said[rank] != WH_FAILED;
}

static inline uint64_t wh_row(const struct wh_change *change, uint32_t rank, struct wh_counter_col column)
{
	return rank == wh_change_me(change) ? wh_sst_mine(change->sst, column)
					    : wh_sst_observe(change->sst, rank, column);
}

static inline uint64_t wh_row_of(const struct wh_change *change, uint32_t rank, struct wh_array_col column,
				 uint32_t index)
{
	return wh_row(change, rank, (struct wh_counter_col){column.offset + 8 * index});
}

static inline bool wh_row_flag(const struct wh_change *change, uint32_t rank, struct wh_flag_col column)
{
	return wh_row(change, rank, (struct wh_counter_col){column.offset}) != 0;
}

/* The lowest rank that I do not suspect; me at the latest. */
static inline uint32_t wh_change_leader(const struct wh_change *change)
{
	uint32_t rank = 0;

	while (!wh_change_trusts(change, rank))
		rank++;
	return rank;
}

static inline void wh_change_advance(struct wh_change *change, int stage)
{
	if (change->stage_ns[stage] == 0 && change->began_ns != 0)
		change->stage_ns[stage] = wh_env_now(change->diag->env) - change->began_ns;
}

#endif
