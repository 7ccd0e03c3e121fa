/* redial.h - when a node calls the others of its group, and how long it searches for them.
 *
 * A newcomer calls all others once. A node that is not there is called again: soon, and later each time, if it may just be
 * starting or ending; seldom if there is no node in its place. Loop thread only.
 */
#ifndef WH_TRANSPORT_SESSION_REDIAL_H
#define WH_TRANSPORT_SESSION_REDIAL_H

#include "transport/transport.h"

struct wh_redial {
	const struct wh_env *env;                 /* [const] */
	void (*alarm)(void *ctx, uint64_t in_ns); /* [const] connecting goes on then */
	void *ctx;                                /* [const] */
	uint64_t patience_ns;                     /* [const] of the configuration */
	uint32_t unsought;                        /* peers that are not sought yet */
	bool searching;
	uint64_t search_until_ns; /* no answer is waited for after it; 0: no node has been called yet */
	uint64_t searched_ns;     /* when wh_redial_search looked */
};

/* Of a peer. */
struct wh_redial_peer {
	bool sought;    /* it has been met, or refused, or was not there when it was called */
	uint64_t at_ns; /* when it is to be called, if it is not here */
	uint64_t in_ns; /* how long that was put off the last time; 0: not at all */
};

void wh_redial_init(struct wh_redial *redial, const struct wh_transport_config *config,
		    void (*alarm)(void *ctx, uint64_t in_ns), void *ctx);

void wh_redial_soon(struct wh_redial *redial, struct wh_redial_peer *peer);
void wh_redial_seldom(struct wh_redial *redial, struct wh_redial_peer *peer);
void wh_redial_met(struct wh_redial *redial, struct wh_redial_peer *peer);
void wh_redial_sought(struct wh_redial *redial, struct wh_redial_peer *peer); /* and not found, or not for me */

/* Is a peer that is not here to be called now? All that I have not looked for yet are, and a few of the others: there may be many
 * that never come. `again` counts these. */
bool wh_redial_is_due(const struct wh_redial_peer *peer, uint64_t now, uint32_t *again);
/* Those that are due have been called; of the others the first is at next_ns, UINT64_MAX: there is none. */
void wh_redial_tried(struct wh_redial *redial, uint64_t now, uint64_t next_ns);

/* The search begins. */
void wh_redial_begin(struct wh_redial *redial);
/* After each look at what has come: does it go on? A call that was hung up is made once more before it counts: two may have
 * crossed, or the node that was there has gone and another has come. */
void wh_redial_search(struct wh_redial *redial);

#endif
