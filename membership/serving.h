/* serving.h - at a node: the views that serve wishes, as bytes (docs/decisions/0046). What it wishes itself, and what has come to it:
 * sets, and next views; as leader what it proposes, and which wishes it has refused.
 *
 * It lasts through all views of a node, for what others send may come before the view that it is about has begun here. What rows have to do
 * with it is in serve.c.
 *
 * Threads: the loop's.
 */
#ifndef WH_MEMBERSHIP_SERVING_H
#define WH_MEMBERSHIP_SERVING_H

#include "membership/collect.h"
#include "membership/wishing.h"

struct wh_serving { /* the first two are set by the caller, and what of `wishing` is told with */
	struct wh_roster *roster;
	const struct wh_layout_config *layout;
	struct wh_wishing wishing;
	struct wh_collect collect;
	struct wh_view_parts *come; /* by node id: what it has sent of a next view, all of it or a part */
	bool looks;                 /* a set has come, or a view has begun: it may be time to compose, */
	uint64_t look_ns;           /* or it is from then on; 0: never by itself */

	/* As leader: what was composed last. */
	struct wh_view *next;           /* NULL: nothing */
	struct wh_composed composed;    /* the refusals are those that have not been sent */
	bool serves_anew[WH_NODES_MAX]; /* by rank of `next` */
	uint64_t key;                   /* of its image; 0: it is not proposed */
	unsigned char *bytes;
	uint32_t count, sent[WH_NODES_MAX]; /* by rank of the view before: of the bytes */
};

/* WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_serving_init(struct wh_serving *serving);
void wh_serving_close(struct wh_serving *serving);

/* A WISHES, NEXT or REFUSED. False: it is not what a node can say: it is broken. */
bool wh_serving_on_message(struct wh_serving *serving, uint32_t from, const struct wh_wire *message);
/* That node is gone. */
void wh_serving_gone(struct wh_serving *serving, uint32_t node);
/* That view has begun. */
void wh_serving_begin(struct wh_serving *serving, const struct wh_view *view);

/* ---- as leader ---------------------------------------------------------------------------------------------------------- */

/* What I have said myself has come. */
void wh_serving_say_mine(struct wh_serving *serving);

/* Serves in `next`, which follows `before` without wishes and becomes the serving's, all sets that have come. Returns its digest, and has the
 * bytes to send; 0: it serves none, or, if nothing else makes a view necessary (`alone`), it changes nothing, or there is no memory. */
uint64_t wh_serving_compose(struct wh_serving *serving, struct wh_view *next, const struct wh_view *before,
			    uint64_t key, bool alone);
/* What was composed is not proposed any more; what was refused still is. */
void wh_serving_withdraw(struct wh_serving *serving);
/* A member that what I propose serves has replaced the set: it will not acknowledge it. */
bool wh_serving_is_replaced(const struct wh_serving *serving);
/* Sends what has been refused, and to each member of `view`, behind that, what I propose. Returns how many messages. */
size_t wh_serving_step(struct wh_serving *serving, const struct wh_view *view);
/* Have the newcomers been told what is refused? Before that none is to be invited: it would miss what is refused. */
bool wh_serving_has_told_newcomers(const struct wh_serving *serving);

/* ---- as member ---------------------------------------------------------------------------------------------------------- */

/* The view of that image, as node `from` has sent it. WHORL_OK: *out, the caller's; WHORL_AGAIN: it has not come; WHORL_INVALID: it is none, or has
 * another digest; WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_serving_take(struct wh_view **out, const struct wh_serving *serving, uint32_t from,
						uint64_t key, uint64_t digest);

#endif
