/* join_int.h - what join.c and form.c share. */
#ifndef WH_MEMBERSHIP_JOIN_INT_H
#define WH_MEMBERSHIP_JOIN_INT_H

#include "membership/join.h"

/* The node that says that it is a member, of the latest view of all; -1: none. */
int wh_join_member(const struct wh_join *join);

/* Does this node take part in forming a first view by majority? */
bool wh_join_forms(const struct wh_join *join);

/* Members of two groups of this name are there, and both hear a quorum: none of them is asked. */
bool wh_join_is_between(const struct wh_join *join);

/* May this node be counted in that first view? */
bool wh_form_agrees(const struct wh_join *join, uint32_t from, const struct wh_view *view);

/* On one host: every node that is there has said what it is, and is that still, since what it said later would have come by now. */
bool wh_form_knows_all(const struct wh_join *join);
/* All configured nodes are there to form a group. */
bool wh_form_has_all(const struct wh_join *join);

/* As a node that an operator has told to form a group: there is something that forbids it. True: this node has given up. */
bool wh_form_is_forbidden(struct wh_join *join);

/* Is it not known yet which nodes are there, and what they are? */
bool wh_join_looks_around(const struct wh_join *join);

/* Tells what I am, if that is new. */
void wh_join_introduce(struct wh_join *join);

/* Has the view begun that I am there in? `late` as in wh_participant. */
static inline bool wh_join_has_begun(const struct wh_join *join, bool late)
{
	return join->on.has_begun(join->ctx, late);
}

/* This node gives up: its program is told why. */
void wh_join_tell_refused(struct wh_join *join, const char *why);

/* The invitation is void. */
void wh_join_drop(struct wh_join *join, const char *why);

/* Follows an invitation; the view becomes the join's. */
void wh_join_follow(struct wh_join *join, struct wh_view *view, uint64_t key, uint32_t by);

/* form.c: as founder or coordinator of a first view. */
size_t wh_join_form(struct wh_join *join);
void wh_form_explain(const struct wh_join *join, char *text, size_t bytes);

#define WH_SILENT_TIMEOUTS 3 /* start time-outs: of a node that could coordinate, or does, and says nothing */

#endif
