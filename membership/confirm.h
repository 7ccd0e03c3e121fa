/* confirm.h - has a quorum of the view not wedged, since I asked? (docs/decisions/0048)
 *
 * A member raises a question, one word to all members of the view; each that sees it and has not wedged confirms it, one word back.
 * When those and the member itself are a quorum of all voters of the view, then at some moment after the question no next view was
 * agreed on that leaves the member out: what had been delivered anywhere when it asked, it had received. Members that have left or are
 * dead count like others that do not answer: they may have gone on without this one before.
 *
 * One question at a time; each confirms those before it as well. Rows are new in each view, so a confirmation never counts in another.
 *
 * Threads: the loop's.
 */
#ifndef WH_MEMBERSHIP_CONFIRM_H
#define WH_MEMBERSHIP_CONFIRM_H

#include "membership/change.h"

/* Raises a question. Its number, from 1 in each view; 0: not now: one is under way, or this member has wedged. Answers are counted from the next pass
 * on: a lone member is its own quorum then. Makes no upcalls: a thread that has borrowed the loop may ask, too. */
uint64_t wh_confirm_ask(struct wh_change *change);

/* The last of my questions in this view that a quorum has confirmed, and so all before it; 0: none. It stays when this member has
 * wedged, and may still grow then: it had not when it asked. */
static inline uint64_t wh_confirm_held(const struct wh_change *change)
{
	return change->confirming.held;
}

#endif
