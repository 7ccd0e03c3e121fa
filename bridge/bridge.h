/* bridge.h - `whorl-dds-bridge`: topics of a domain of RTPS, as Cyclone DDS speaks it, and of a domain of whorl's, are one.
 *
 * Words: *in* is from RTPS to whorl, *out* the other way. Each way has a thread of its own, which does all there is to do for it: it looks for
 * writers on its near side, and makes a *lane* for each topic and each set of policies that they offer: a reader on the near side and on the far side
 * a writer that offers the same. So readers of the far side match a lane as they would match the writers themselves.
 *
 * The type of a topic is what an endpoint of Cyclone's says of it. ddsc/kind.h makes whorl's type of it, as libwhorl_ddsc does.
 */
#ifndef WH_BRIDGE_BRIDGE_H
#define WH_BRIDGE_BRIDGE_H

#include <pthread.h>

#include <dds/dds.h>

#include <whorl/dds.h>

#include "ddsc/kind.h"

#define WH_BRIDGE_PATTERNS_MAX 64
#define WH_BRIDGE_PEERS_MAX 256
#define WH_BRIDGE_TICK (INT64_C(100) * 1000000) /* a wait, between looks at what has changed */
#define WH_BRIDGE_DEPTH 64                      /* of an instance, that a lane of a BEST_EFFORT writer keeps */

struct wh_bridge_topic { /* lives as long as the bridge */
	struct wh_bridge_topic *next;
	char *name;
	dds_topic_descriptor_t *descriptor;
	struct wh_ddsc_kind *kind; /* NULL: it is refused, which has been said, or asked for */
	unsigned asks;             /* how often its type was asked for in vain; 0: not any more */
	dds_entity_t rtps;         /* 0: not yet, or refused */
	whorl_dds_entity whorl;
	wh_word in, out;               /* samples that were passed */
	wh_word rejected;              /* that have no such form */
	wh_word has_said_rejection;    /* once for each topic */
	wh_word has_said_kept_back[2]; /* and way: in, out */
};

struct wh_bridge {
	const char *patterns[WH_BRIDGE_PATTERNS_MAX];
	size_t pattern_count;
	uint32_t rtps_domain, whorl_domain, seconds;
	bool json;
	/* both sides */
	dds_entity_t rtps;
	dds_guid_t rtps_guid;
	whorl_dds_entity whorl;
	whorl_dds_instance_handle whorl_handle;
	/* what the threads share */
	wh_word stops;        /* 1: the threads end */
	pthread_mutex_t lock; /* of the list of topics, and of making one */
	struct wh_bridge_topic *topics;
	wh_word topic_count;                                  /* grows when there is a topic more */
	pthread_mutex_t says;                                 /* a line at a time */
	pthread_mutex_t meets;                                /* of what follows */
	whorl_dds_instance_handle peers[WH_BRIDGE_PEERS_MAX]; /* participants that are, or were, bridges: the last ones */
	size_t peer_count;
};

/* ---- topics.c --------------------------------------------------------------------------------------------------------------- */

bool wh_bridge_wants(const struct wh_bridge *bridge, const char *topic);
/* One that is known. NULL: none is, so far. */
struct wh_bridge_topic *wh_bridge_topic_find(struct wh_bridge *bridge, const char *name);
/* Finds it, or makes it of what an endpoint says. NULL: its type is not known here yet: ask again. */
struct wh_bridge_topic *wh_bridge_topic_learn(struct wh_bridge *bridge, const dds_builtintopic_endpoint_t *endpoint);
/* The topic on both sides. `offer`: of the lane that is the first. False: a side has refused it, which has been said: it is refused from now on. */
bool wh_bridge_topic_open(struct wh_bridge *bridge, struct wh_bridge_topic *topic, const whorl_dds_qos *offer);
void wh_bridge_topics_free(struct wh_bridge *bridge);
/* A sample could not be passed: it is counted, and said if it is the first of its topic. */
void wh_bridge_topic_rejects(struct wh_bridge *bridge, struct wh_bridge_topic *topic, const char *why);

/* ---- lines.c ---------------------------------------------------------------------------------------------------------------- */

/* A line on standard output: of a lane, or of the bridge with `topic` NULL. `why` may be NULL. */
void wh_bridge_says(struct wh_bridge *bridge, const char *event, const char *way, const char *topic, uint64_t samples,
		    const char *why);
/* Once for each topic and way, if there is something. */
void wh_bridge_says_kept_back(struct wh_bridge *bridge, struct wh_bridge_topic *topic, bool out, const char *what);
/* What there was in all. */
void wh_bridge_says_totals(struct wh_bridge *bridge);

/* ---- policies.c ------------------------------------------------------------------------------------------------------------- */

/* What a writer offers, as far as it goes over the bridge. NULL: memory is out. */
whorl_dds_qos *wh_bridge_offer_of_rtps(const dds_qos_t *qos);
whorl_dds_qos *wh_bridge_offer_of_whorl(const whorl_dds_qos *qos);
/* A text that is the same for the same offers. To be freed; NULL: memory is out. */
char *wh_bridge_offer_text(const whorl_dds_qos *offer);
/* A lane's reader of its near side, and its writer of its far side, with at most `room` samples in the reader. NULL: memory is out. */
dds_qos_t *wh_bridge_rtps_reader(const whorl_dds_qos *offer, int32_t room);
dds_qos_t *wh_bridge_rtps_writer(const whorl_dds_qos *offer);
whorl_dds_qos *wh_bridge_whorl_reader(const whorl_dds_qos *offer, int32_t room);
whorl_dds_qos *wh_bridge_whorl_writer(const whorl_dds_qos *offer);
bool wh_bridge_is_durable(const whorl_dds_qos *offer);
/* What a writer offers that does not go over the bridge: readers of the far side that ask for it do not match. NULL: nothing. */
const char *wh_bridge_kept_back_of_rtps(const dds_qos_t *qos);
const char *wh_bridge_kept_back_of_whorl(const whorl_dds_qos *qos);

/* ---- peers.c: other bridges ------------------------------------------------------------------------------------------------- */

/* Says in both domains that this is a bridge; and enters both. A text on what has failed, or NULL. */
const char *wh_bridge_enter(struct wh_bridge *bridge);
void wh_bridge_leave(struct wh_bridge *bridge);
/* Looks at the other bridges of this pair of domains: is it this one that works? Of the main thread. */
bool wh_bridge_has_turn(struct wh_bridge *bridge, whorl_dds_entity participants, bool has_it);
/* Is a participant another bridge between these same domains? What it writes has been passed already. */
bool wh_bridge_is_peer_of_rtps(struct wh_bridge *bridge, dds_entity_t participants, dds_instance_handle_t participant);
bool wh_bridge_is_peer_of_whorl(struct wh_bridge *bridge, whorl_dds_instance_handle participant);

/* ---- in.c and out.c --------------------------------------------------------------------------------------------------------- */

/* Threads: until `stops`. */
void *wh_bridge_in(void *bridge);
void *wh_bridge_out(void *bridge);

#endif
