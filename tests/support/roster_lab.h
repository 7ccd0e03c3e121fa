/* roster_lab.h - one node among others that the test plays: what it says to them, and what its way into a view asks of it, is
 * noted as text, a word for each, in order. Time stands still unless moved; queues are full when the test says so.
 *
 *     1:seeking-0 1:forming-0 1:member-7-of-0      an intro to node 1: the key, or the view and its leader
 *     1:following-0                                the same of one that follows an invitation, if the test wants these
 *     1:join 1:view-100-at-0 1:withdrawn-100       keys in hexadecimal
 *     1:open-100 1:there-100
 *     1:wishes-1                                   the number of the set
 *     open-0,1,2-as-100 row discard begin refused  of the participant; row: is_open has said yes for the first time
 */
#ifndef WH_TESTS_SUPPORT_ROSTER_LAB_H
#define WH_TESTS_SUPPORT_ROSTER_LAB_H

#include <stdarg.h>

#include "membership/join_int.h"
#include "tests/support/fake.h"
#include "tests/support/newcomers.h"

#define LAB_NODES 6
#define LAB_SUBGROUPS 2000
#define START_NS (20 * WH_NS_PER_MS)
#define PATIENCE_NS (50 * WH_NS_PER_MS)
#define GROUP_DIGEST 77
#define SUBGROUPS_DIGEST 88

struct lab {
	struct wh_transport transport; /* first: its functions get it */
	struct fake_env env;
	struct wh_loop loop;
	struct wh_roster roster;
	struct wh_join_requests requests;
	struct wh_join join;
	struct wh_subgroup_text texts[LAB_SUBGROUPS];
	struct wh_layout_config layout;

	bool searching;
	uint32_t room[LAB_NODES];              /* so many messages the queue to that node takes yet */
	struct wh_view_parts parts[LAB_NODES]; /* of the invitation that it was sent */
	bool whole[LAB_NODES];
	char told[4096];
	int warnings;
	char line[512]; /* the last of them */

	bool can_open, unwritten, is_open,
		has_begun;      /* what join is answered; unwritten: the record is not on disk yet */
	bool tells_following;   /* intros of one that follows an invitation are noted as well */
	int holders[LAB_NODES]; /* on one host: the process that holds that id */
	size_t serviced;        /* what came in when the transport was served last */
	bool late;              /* what it said when it asked last whether the view has begun */
	bool rowed;
	struct wh_view *opened;
	char why[512]; /* it was refused */
};

/* What was noted since the last time. */
void expect(struct lab *lab, const char *expected);
void forget(struct lab *lab);

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* Node `me` of a group with the configured nodes 0 to configured-1, and without a founder. */
struct lab *roster_lab_make(uint32_t me, uint32_t configured);
void roster_lab_free(struct lab *lab);

/* ---- time, and others -------------------------------------------------------------------------------------------- */

void roster_lab_pass_ns(struct lab *lab, uint64_t ns);

/* In their first lives. */
void meet(struct lab *lab, const char *nodes);
struct wh_wire message_of(struct lab *lab, uint32_t node, enum wh_wire_kind kind);

/* They say that they seek, or form, and accept keys beyond that one. */
void say_they(struct lab *lab, const char *nodes, enum wh_condition standing, uint64_t key);
void say_member(struct lab *lab, uint32_t node, uint64_t view, uint32_t leader, uint64_t key);

/* One pass, as group/enter.c makes it. */
size_t step(struct lab *lab);

/* ---- views ------------------------------------------------------------------------------------------------------- */

/* View 0 of those nodes ("0,2,5"). */
struct wh_view *first_view(const struct lab *lab, const char *ids, uint32_t voters);

/* The view after it: without the members of those ranks ("02"), and with those nodes ("3,4"). */
struct wh_view *next_view(const struct lab *lab, const struct wh_view *before, const char *without, const char *with);

/* ---- what invites and withdraws ---------------------------------------------------------------------------------- */

/* Sends it, in as many pieces as it takes, and frees it. False: it is not what a node can say. */
bool invite_by(struct lab *lab, uint32_t node, struct wh_view *view, uint64_t key);
void withdraw(struct lab *lab, uint32_t node, uint64_t key);

/* Node `me` of three that are configured, which has begun to seek; no other node has been met. */
struct lab *lab_of_three(uint32_t me);

#endif
