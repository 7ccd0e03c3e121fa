/* redial.h - when a node calls the others of its group, how long it searches for them, its one timer, and its sleep: what shm, tcp
 * and verbs do alike.
 *
 * A newcomer calls all others once. A node that is not there is called again: soon, and later each time, if it may just be
 * starting or ending; seldom if there is no node in its place. Loop thread only.
 */
#ifndef WH_TRANSPORT_SESSION_DIAL_H
#define WH_TRANSPORT_SESSION_DIAL_H

#include <sys/epoll.h>

#include "transport/transport.h"

struct wh_dial {
	const struct wh_env *env; /* [const] */
	uint64_t patience_ns;     /* [const] of the configuration */
	uint64_t seldom_ns;       /* [const from wh_dial_begin on] what is seldom */
	int timer;
	uint64_t timer_ns; /* when it runs out, 0: it does not run */
	uint32_t unsought; /* peers that are not sought yet */
	bool searching;
	uint64_t search_until_ns; /* no answer is waited for after it; 0: no node has been called yet */
	uint64_t searched_ns;     /* when wh_dial_search looked */
	bool no_pwait2;           /* this kernel has none */
};

/* Of a peer. */
struct wh_dial_peer {
	bool sought;    /* it has been met, or refused, or was not there when it was called */
	uint64_t at_ns; /* when it is to be called, if it is not here */
	uint64_t in_ns; /* how long that was put off the last time; 0: not at all */
};

/* Still without its timer. */
void wh_dial_init(struct wh_dial *redial, const struct wh_transport_config *config);
/* False: there is no timer, errno says why. The transport watches it, and closes it. */
bool wh_dial_open(struct wh_dial *redial);

/* The timer runs out then, unless it does so earlier. */
void wh_dial_timer(struct wh_dial *redial, uint64_t in_ns);
/* It has run out. Returns the time. */
uint64_t wh_dial_tick(struct wh_dial *redial);

/* epoll_wait with a time-out in nanoseconds. */
int wh_dial_wait(struct wh_dial *redial, int epoll, struct epoll_event *events, int room, uint64_t timeout_ns);

void wh_dial_soon(struct wh_dial *redial, struct wh_dial_peer *peer);
void wh_dial_seldom(struct wh_dial *redial, struct wh_dial_peer *peer);
void wh_dial_met(struct wh_dial *redial, struct wh_dial_peer *peer);
void wh_dial_sought(struct wh_dial *redial, struct wh_dial_peer *peer); /* and not found, or not for me */

/* Is a peer that is not here to be called now? All that I have not looked for yet are, and a few of the others: there may be many
 * that never come. `again` counts these. */
bool wh_dial_is_due(const struct wh_dial_peer *peer, uint64_t now, uint32_t *again);
/* Those that are due have been called; of the others the first is at next_ns, UINT64_MAX: there is none. */
void wh_dial_tried(struct wh_dial *redial, uint64_t now, uint64_t next_ns);

/* The search begins. */
void wh_dial_begin(struct wh_dial *redial, uint64_t seldom_ns);
/* After each look at what has come: does it go on? A call that was hung up is made once more before it counts: two may have
 * crossed, or the node that was there has gone and another has come. */
void wh_dial_search(struct wh_dial *redial);

#endif
