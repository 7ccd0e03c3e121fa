/* serving_lab.h - a member of a view that serves wishes (member.h): what it sends is noted as text, what others send is made by hand.
 * Wishes and subgroups as text: wishes_lab.h.
 */
#ifndef WH_TESTS_SUPPORT_SERVING_LAB_H
#define WH_TESTS_SUPPORT_SERVING_LAB_H

#include "base/crc32c.h"
#include "membership/serving.h"
#include "tests/support/preparing.h"
#include "tests/support/wishes_lab.h"

#define NODES 32

struct serving_lab {
	struct wh_transport transport; /* first: its functions get it */
	struct member *m;
	struct wh_view *view; /* its arrays are those of the member's view */
	struct wh_roster roster;
	struct wh_known_node known[NODES];
	struct wh_serving serving;
	uint32_t room[NODES];             /* so many messages the queue to that node takes yet, */
	uint32_t full[NODES];             /* when it has refused so many */
	struct wh_view_parts come[NODES]; /* what has come there of a next view */
	char sent[2048];
	struct wh_view *made; /* by another leader */
	bool none[WH_WISHES_MAX];
};

enum whorl_result lab_send(struct wh_transport *transport, uint32_t node, const void *bytes, size_t count);

/* View 6 of so many nodes, ranked by their ids; 6 to 9 may come in. */
struct serving_lab *serving_make(uint32_t me, uint32_t members);
void serving_free(struct serving_lab *lab);

/* What was sent since the last time. */
void expect_sent(struct serving_lab *lab, const char *expected);

/* That node says that set. */
void hear_wishes(struct serving_lab *lab, uint32_t node, uint64_t number, const char *text);

/* I wish that. */
void wish(struct serving_lab *lab, const char *text);

/* So long that a set waits for others at most. */
void pass_time(struct serving_lab *lab);
uint64_t digest_of(const struct member *m, uint32_t leader, uint64_t attempt);
void expect_opened(const struct serving_lab *lab, const char *text);

/* ---- another leader ----------------------------------------------------------------------------------------------------- */

/* Another leader makes a view after 6, without members that are left out (NULL: none is), that serves that set of the member of rank `of`. */
void make_next_without(struct serving_lab *lab, const bool *removed, uint32_t of, uint64_t number, const char *text);

void make_next(struct serving_lab *lab, uint32_t of, uint64_t number, const char *text);

/* It sends it, as that attempt, in pieces. */
void send_made(struct serving_lab *lab, uint32_t leader, uint64_t attempt);

/* Its record has that digest. */
void say_digest(struct serving_lab *lab, uint32_t leader, uint64_t attempt, uint64_t digest);

/* It proposes it. */
void propose_made(struct serving_lab *lab, uint32_t leader, uint64_t attempt);

#endif
