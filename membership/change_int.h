/* change_int.h - what suspicion.c and change.c share. */
#ifndef WH_MEMBERSHIP_CHANGE_INT_H
#define WH_MEMBERSHIP_CHANGE_INT_H

#include "membership/change.h"

/* Takes in heartbeats and what rows say; states what is new if a quorum is heard. Returns how much was new. */
size_t wh_suspicion_step(struct wh_change *change);

/* All that the members which I trust have said of others is in my row, and none of them has said anything of me. To be asked after what a step acts upon has
 * been read: whoever goes along with a decision has then said of everybody what its maker says. */
bool wh_suspicion_heeds(const struct wh_change *change);

/* That member holds up the change. It is suspected if that leaves a quorum; otherwise it is forgotten: it may be held up itself
 * by what nobody can help. */
void wh_suspicion_lags(struct wh_change *change, uint32_t rank);

/* Do the members that I do not suspect make a quorum? */
bool wh_suspicion_trusted_quorum(const struct wh_change *change);

static inline uint32_t wh_change_me(const struct wh_change *change)
{
	return change->sst->image->my_rank;
}

/* Its row may be read: it is trusted, or it left in order and the row is final. */
static inline bool wh_change_reads(const struct wh_change *change, uint32_t rank)
{
	return change->suspicion.said[rank] != WH_FAILED;
}

#endif
