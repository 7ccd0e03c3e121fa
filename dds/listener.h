/* listener.h - listeners: which function of the program hears of a status.
 *
 * After DCPS 1.4, 2.2.4.2.3: a status goes to the listener of its entity, or if that one does not ask for it to its publisher's or
 * subscriber's, or to the participant's. New data goes first to on_data_on_readers of the subscriber or of the participant; only where
 * neither asks for it, to on_data_available. A status that went to a listener has not changed any more.
 *
 * A listener may ask for a status with no function: then it goes nowhere else, and nothing is called.
 *
 * Threads: the caller holds the locks of the entities while it looks for the next call, and none while it makes it.
 */
#ifndef WH_DDS_LISTENER_H
#define WH_DDS_LISTENER_H

#include "dds/status.h"

typedef void wh_dds_listener_fn(void); /* one of whorl_dds_on_*_fn, as the status says */

struct wh_dds_listener { /* all zero: it asks for nothing */
	uint32_t asks;   /* for these statuses, as bits */
	struct {
		wh_dds_listener_fn *function; /* NULL: nothing is called */
		void *arg;
	} of[WH_DDS_STATUS_BITS];
};

/* Asks for a status, in place of what it asked for before. Nothing is done if it is no one status. */
void wh_dds_listener_set(struct wh_dds_listener *listener, uint32_t status, wh_dds_listener_fn *function, void *arg);
/* What it has for a status; NULL. */
wh_dds_listener_fn *wh_dds_listener_get(const struct wh_dds_listener *listener, uint32_t status);
/* Takes over what it does not ask for itself. */
void wh_dds_listener_merge(struct wh_dds_listener *listener, const struct wh_dds_listener *from);

/* The listeners that an entity's statuses may go to, the nearest first. */
struct wh_dds_listeners {
	whorl_dds_entity entity;
	const struct wh_dds_listener *own;
	const struct wh_dds_listener *group;       /* of its publisher or subscriber; NULL: it is none's, or has none */
	const struct wh_dds_listener *participant; /* NULL: it has none */
};

struct wh_dds_call {
	uint32_t status;
	wh_dds_listener_fn *function;
	void *arg;
	whorl_dds_entity entity;
	union wh_dds_status value;
};

/* Does somebody hear of this status? */
bool wh_dds_listeners_ask(const struct wh_dds_listeners *listeners, uint32_t status);

/* The next call to be made because the entity's statuses have changed, which is then forgotten. False: there is none. */
bool wh_dds_listeners_next(const struct wh_dds_listeners *listeners, struct wh_dds_statuses *statuses,
			   struct wh_dds_call *call);

void wh_dds_call_make(const struct wh_dds_call *call);

#endif
