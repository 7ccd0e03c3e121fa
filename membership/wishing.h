/* wishing.h - at a node: what it wishes, which it says to its leader until a view serves it (docs/decisions/0046).
 *
 * What is wished may change at any time; what is *said* is a set with a number, and changes when no proposal with wishes is under way that
 * this node has seen (`held`): of two proposals that follow each other the second cannot be out of date.
 *
 * Threads: the loop's. Nothing here allocates.
 */
#ifndef WH_MEMBERSHIP_WISHING_H
#define WH_MEMBERSHIP_WISHING_H

#include "membership/roster.h"

#define WH_WISHING_AGAIN_NS (100 * WH_NS_PER_MS)

struct wh_wishing {
	struct wh_roster *roster; /* set by the caller, as is what it is told with; all else is 0 at first */
	/* A wish of `said` has been refused; it is told once of each, whichever leaders refuse it. NULL: no one is told. It may change what is
	 * wished. `wish` is valid during the call. */
	void (*on_refused)(void *ctx, const struct wh_wish *wish, const struct wh_refusal *refusal);
	void *ctx;
	bool held;                   /* [the caller] nothing new is said */
	struct wh_wish_set wished;   /* as it is wished; its number means nothing */
	struct wh_wish_set said;     /* as it was said last; number 0: nothing was */
	bool refused[WH_WISHES_MAX]; /* of `said`: by the leader that it was said to */
	bool told[WH_WISHES_MAX];    /* of `said`: the caller has been, that it is refused */
	bool differs;                /* what is wished from what was said */
	uint32_t to;                 /* node id of the leader that it was said to, or is being said to, */
	uint64_t to_incarnation;     /* in this life; 0: to none */
	uint64_t said_ns;            /* when all of it had been sent; 0: not yet */
	uint32_t sent, bytes;        /* of it as bytes */
	unsigned char encoded[WH_SET_BYTES_MAX];
};

/* WHORL_OK; WHORL_INVALID: that name is wished already; WHORL_MEMORY: there is no room in a set. */
WH_MUST_CHECK enum whorl_result wh_wishing_add(struct wh_wishing *wishing, const struct wh_wish *wish);
/* False: it is not wished. */
bool wh_wishing_remove(struct wh_wishing *wishing, const char *name);

/* Says what is to be said to that leader (this node itself: then it is said when it asks, `said`); again if another leads, or for as long as
 * `served`, which the view says of this node, is less. Returns how many messages were sent. */
size_t wh_wishing_step(struct wh_wishing *wishing, uint32_t leader, uint64_t served);

/* A WH_WIRE_REFUSED from that node. The wish of the last set that it is about, NULL: it is not about one, or comes from another node than
 * the leader: it is passed over. */
const struct wh_wish *wh_wishing_refused(struct wh_wishing *wishing, uint32_t from, const struct wh_wire *message);

#endif
