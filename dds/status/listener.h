/* listener.h - listeners: which function of the program hears of a status.
 *
 * After DCPS 1.4, 2.2.4.2.3: a status goes to the listener of its entity, or if that one does not ask for it to its publisher's or
 * subscriber's, or to the participant's. New data goes first to on_data_on_readers of the subscriber or of the participant; only where
 * neither asks for it, to on_data_available. A status that went to a listener has not changed any more.
 *
 * Threads: a listener is an object of one thread. The caller holds the locks of the entities while it looks for the next call, and none
 * while it makes it.
 */
#ifndef WH_DDS_LISTENER_H
#define WH_DDS_LISTENER_H

#include "dds/status/status.h"

typedef void wh_dds_listener_fn(void); /* one of whorl_dds_on_*_fn, as the status says */

struct whorl_dds_listener { /* all zero: it asks for nothing */
	void *arg;          /* of functions that are set from now on */
	uint32_t asks;      /* for these statuses, as bits */
	struct {
		wh_dds_listener_fn *function;
		void *arg;
	} of[WH_DDS_STATUS_BITS];
	whorl_dds_in_place_fn *in_place; /* NULL; of a reader that is created with it */
	void *in_place_arg;
};

/* The function for a status (one), in place of what there was; NULL: none. */
void wh_dds_listener_set(struct whorl_dds_listener *listener, uint32_t status, wh_dds_listener_fn *function);

/* The listeners that an entity's statuses may go to, the nearest first. */
struct wh_dds_listeners {
	whorl_dds_entity entity;
	const struct whorl_dds_listener *own;
	const struct whorl_dds_listener *group; /* of its publisher or subscriber; NULL: it is none's, or has none */
	const struct whorl_dds_listener *participant; /* NULL: it has none */
};

struct wh_dds_call {
	uint32_t status;
	wh_dds_listener_fn *function;
	void *arg;
	whorl_dds_entity entity;
	union wh_dds_status value;
};

/* The next call to be made because the entity's statuses have changed, which is then forgotten. False: there is none. */
bool wh_dds_listeners_next(const struct wh_dds_listeners *listeners, struct wh_dds_statuses *statuses,
			   struct wh_dds_call *call);

void wh_dds_call_make(const struct wh_dds_call *call);

#endif
