/* entry_int.h - what entry.c and form.c share. */
#ifndef WH_MEMBERSHIP_ENTRY_INT_H
#define WH_MEMBERSHIP_ENTRY_INT_H

#include "membership/entry.h"

/* Who says that he is a member, of the latest view of all; -1: nobody. */
int wh_entry_member(const struct wh_entry *entry);

/* Does this node take part in forming a first view by majority? */
bool wh_entry_forms(const struct wh_entry *entry);

/* Members of two groups of this name are there, and both hear a quorum: none of them is asked. */
bool wh_entry_is_between(const struct wh_entry *entry);

/* May this node be counted in that first view? */
bool wh_form_agrees(const struct wh_entry *entry, uint32_t from, const struct wh_view *view);

/* As a node that an operator has told to form a group: there is something that forbids it. True: this node has given up. */
bool wh_form_is_forbidden(struct wh_entry *entry);

/* Is it not known yet who is there, and what they are? */
bool wh_entry_looks_around(const struct wh_entry *entry);

/* Tells what I am, if that is new. */
void wh_entry_stand(struct wh_entry *entry);

/* The invitation is void. */
void wh_entry_drop(struct wh_entry *entry, const char *why);

/* Follows an invitation; the view becomes the entry's. */
void wh_entry_follow(struct wh_entry *entry, struct wh_view *view, uint64_t key, uint32_t by);

/* form.c: as founder or coordinator of a first view. */
size_t wh_entry_form(struct wh_entry *entry);
void wh_form_explain(const struct wh_entry *entry, char *text, size_t bytes);

#define WH_SILENT_TIMEOUTS 3 /* start time-outs: of one who could coordinate, or does, and says nothing */

#endif
