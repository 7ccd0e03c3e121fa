/* listener.h - listeners: a program's functions, each with its argument, and whorl's that call them. */
#ifndef WH_DDSC_LISTENER_H
#define WH_DDSC_LISTENER_H

#include <dds/dds.h>

#include <whorl/dds.h>

/* X(the status): those with a struct, and those without. */
#define WH_DDSC_STATUSES(X)                                                                                            \
	X(inconsistent_topic)                                                                                          \
	X(liveliness_lost)                                                                                             \
	X(offered_deadline_missed)                                                                                     \
	X(offered_incompatible_qos)                                                                                    \
	X(publication_matched)                                                                                         \
	X(sample_lost)                                                                                                 \
	X(sample_rejected)                                                                                             \
	X(liveliness_changed)                                                                                          \
	X(requested_deadline_missed)                                                                                   \
	X(requested_incompatible_qos)                                                                                  \
	X(subscription_matched)

#define WH_DDSC_EVENTS(X)                                                                                              \
	X(data_on_readers)                                                                                             \
	X(data_available)

/* A listener of whorl's that calls the functions of `listener`, which must live as long as an entity has it. NULL when memory is out. */
whorl_dds_listener *wh_ddsc_listener_whorl(const dds_listener_t *listener);
/* A copy; NULL of NULL, or when memory is out. */
dds_listener_t *wh_ddsc_listener_copy(const dds_listener_t *listener);

#endif
