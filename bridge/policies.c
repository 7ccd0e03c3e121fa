/* policies.c - policies over the bridge: what a writer offers, as one object of whorl's, and what is made of it on both sides. See bridge.h. */
#include <stdlib.h>

#include "bridge/bridge.h"

/* For ever is the same number on both sides, and so are the kinds. */
_Static_assert(DDS_INFINITY == WHORL_DDS_INFINITY, "infinity differs");
_Static_assert((int)DDS_DURABILITY_PERSISTENT == (int)WHORL_DDS_DURABILITY_PERSISTENT, "kinds differ");
_Static_assert((int)DDS_HISTORY_KEEP_ALL == (int)WHORL_DDS_HISTORY_KEEP_ALL, "kinds differ");
_Static_assert((int)DDS_RELIABILITY_RELIABLE == (int)WHORL_DDS_RELIABILITY_RELIABLE, "kinds differ");

#define BLOCKING (INT64_C(100) * 1000000) /* of the bridge's own writers: it tries again */

/* ---- what is offered -------------------------------------------------------------------------------------------------------- */

static void offer_durability(whorl_dds_qos *offer, const dds_qos_t *qos)
{
	dds_durability_kind_t durability = DDS_DURABILITY_VOLATILE;
	dds_history_kind_t kind;
	dds_duration_t cleanup;
	int32_t depth, samples, instances, each;

	(void)dds_qget_durability(qos, &durability);
	(void)whorl_dds_qset_durability(offer, durability > DDS_DURABILITY_VOLATILE ? WHORL_DDS_DURABILITY_TRANSIENT
										    : WHORL_DDS_DURABILITY_VOLATILE);
	if (durability > DDS_DURABILITY_VOLATILE &&
	    dds_qget_durability_service(qos, &cleanup, &kind, &depth, &samples, &instances, &each))
		(void)whorl_dds_qset_durability_service(offer, cleanup, (enum whorl_dds_history_kind)kind, depth,
							samples, instances, each);
}

static void offer_partition(whorl_dds_qos *offer, const dds_qos_t *qos)
{
	uint32_t count;
	char **names;

	if (!dds_qget_partition(qos, &count, &names))
		return;
	if (count > 0)
		(void)whorl_dds_qset_partition(offer, count, (const char *const *)names);
	for (uint32_t i = 0; i < count; i++)
		dds_free(names[i]);
	dds_free(names);
}

static void offer_userdata(whorl_dds_qos *offer, const dds_qos_t *qos)
{
	void *value;
	size_t bytes;

	if (!dds_qget_userdata(qos, &value, &bytes))
		return;
	if (bytes > 0)
		(void)whorl_dds_qset_userdata(offer, value, bytes);
	dds_free(value);
}

static void offer_times(whorl_dds_qos *offer, const dds_qos_t *qos)
{
	dds_liveliness_kind_t liveliness;
	dds_duration_t duration;

	if (dds_qget_deadline(qos, &duration) && duration > 0)
		(void)whorl_dds_qset_deadline(offer, duration);
	if (dds_qget_latency_budget(qos, &duration))
		(void)whorl_dds_qset_latency_budget(offer, duration);
	if (dds_qget_lifespan(qos, &duration) && duration > 0)
		(void)whorl_dds_qset_lifespan(offer, duration);
	if (dds_qget_liveliness(qos, &liveliness, &duration) && duration > 0)
		(void)whorl_dds_qset_liveliness(offer, WHORL_DDS_LIVELINESS_AUTOMATIC, duration);
}

whorl_dds_qos *wh_bridge_offer_of_rtps(const dds_qos_t *qos)
{
	whorl_dds_qos *offer = whorl_dds_create_qos();
	dds_reliability_kind_t reliability = DDS_RELIABILITY_BEST_EFFORT;
	dds_ownership_kind_t ownership = DDS_OWNERSHIP_SHARED;
	dds_destination_order_kind_t order;
	dds_history_kind_t history;
	dds_duration_t blocking;
	int32_t number;

	if (offer == NULL)
		return NULL;
	(void)dds_qget_reliability(qos, &reliability, &blocking);
	(void)whorl_dds_qset_reliability(offer, (enum whorl_dds_reliability_kind)reliability, BLOCKING);
	if (dds_qget_history(qos, &history, &number))
		(void)whorl_dds_qset_history(offer, (enum whorl_dds_history_kind)history, number > 0 ? number : 1);
	if (dds_qget_ownership(qos, &ownership))
		(void)whorl_dds_qset_ownership(offer, (enum whorl_dds_ownership_kind)ownership);
	if (ownership == DDS_OWNERSHIP_EXCLUSIVE && dds_qget_ownership_strength(qos, &number))
		(void)whorl_dds_qset_ownership_strength(offer, number);
	if (dds_qget_destination_order(qos, &order))
		(void)whorl_dds_qset_destination_order(offer, (enum whorl_dds_destination_order_kind)order);
	offer_durability(offer, qos);
	offer_times(offer, qos);
	offer_partition(offer, qos);
	offer_userdata(offer, qos);
	return offer;
}

static void copy_kinds(whorl_dds_qos *offer, const whorl_dds_qos *qos)
{
	enum whorl_dds_reliability_kind reliability;
	enum whorl_dds_durability_kind durability;
	enum whorl_dds_history_kind history;
	enum whorl_dds_ownership_kind ownership;
	enum whorl_dds_destination_order_kind order;
	int32_t number;

	(void)whorl_dds_qget_reliability(qos, &reliability, NULL);
	(void)whorl_dds_qset_reliability(offer, reliability, BLOCKING);
	(void)whorl_dds_qget_durability(qos, &durability);
	(void)whorl_dds_qset_durability(offer, durability > WHORL_DDS_DURABILITY_VOLATILE
						       ? WHORL_DDS_DURABILITY_TRANSIENT
						       : WHORL_DDS_DURABILITY_VOLATILE);
	(void)whorl_dds_qget_history(qos, &history, &number);
	(void)whorl_dds_qset_history(offer, history, number > 0 ? number : 1);
	(void)whorl_dds_qget_ownership(qos, &ownership);
	(void)whorl_dds_qset_ownership(offer, ownership);
	if (ownership == WHORL_DDS_OWNERSHIP_EXCLUSIVE && whorl_dds_qget_ownership_strength(qos, &number))
		(void)whorl_dds_qset_ownership_strength(offer, number);
	(void)whorl_dds_qget_destination_order(qos, &order);
	(void)whorl_dds_qset_destination_order(offer, order);
}

static void copy_times(whorl_dds_qos *offer, const whorl_dds_qos *qos)
{
	enum whorl_dds_liveliness_kind liveliness;
	whorl_dds_duration duration;

	if (whorl_dds_qget_deadline(qos, &duration))
		(void)whorl_dds_qset_deadline(offer, duration);
	if (whorl_dds_qget_latency_budget(qos, &duration))
		(void)whorl_dds_qset_latency_budget(offer, duration);
	if (whorl_dds_qget_lifespan(qos, &duration))
		(void)whorl_dds_qset_lifespan(offer, duration);
	if (whorl_dds_qget_liveliness(qos, &liveliness, &duration))
		(void)whorl_dds_qset_liveliness(offer, WHORL_DDS_LIVELINESS_AUTOMATIC, duration);
}

static void copy_names(whorl_dds_qos *offer, const whorl_dds_qos *qos)
{
	const char *names[64];
	const void *value;
	size_t bytes;
	uint32_t count = 0;

	while (count < 64 && (names[count] = whorl_dds_qget_partition(qos, count)) != NULL)
		count++;
	if (count > 0 && !(count == 1 && names[0][0] == '\0'))
		(void)whorl_dds_qset_partition(offer, count, names);
	if (whorl_dds_qget_userdata(qos, &value, &bytes) && bytes > 0)
		(void)whorl_dds_qset_userdata(offer, value, bytes);
}

whorl_dds_qos *wh_bridge_offer_of_whorl(const whorl_dds_qos *qos)
{
	whorl_dds_qos *offer = whorl_dds_create_qos();
	enum whorl_dds_history_kind kind;
	whorl_dds_duration cleanup;
	int32_t depth, samples, instances, each;

	if (offer == NULL)
		return NULL;
	copy_kinds(offer, qos);
	copy_times(offer, qos);
	copy_names(offer, qos);
	if (wh_bridge_is_durable(offer) &&
	    whorl_dds_qget_durability_service(qos, &cleanup, &kind, &depth, &samples, &instances, &each))
		(void)whorl_dds_qset_durability_service(offer, cleanup, kind, depth, samples, instances, each);
	return offer;
}

/* ---- what does not go over the bridge --------------------------------------------------------------------------------------- */

static const char *const kept_back[] = {NULL, "coherent sets and presentation", "manual liveliness",
					"coherent sets and presentation, manual liveliness"};

const char *wh_bridge_kept_back_of_rtps(const dds_qos_t *qos)
{
	dds_presentation_access_scope_kind_t scope = DDS_PRESENTATION_INSTANCE;
	dds_liveliness_kind_t liveliness = DDS_LIVELINESS_AUTOMATIC;
	bool coherent = false, ordered = false;

	(void)dds_qget_presentation(qos, &scope, &coherent, &ordered);
	(void)dds_qget_liveliness(qos, &liveliness, NULL);
	return kept_back[(coherent || (ordered && scope != DDS_PRESENTATION_INSTANCE)) +
			 2 * (liveliness != DDS_LIVELINESS_AUTOMATIC)];
}

const char *wh_bridge_kept_back_of_whorl(const whorl_dds_qos *qos)
{
	enum whorl_dds_presentation_scope scope = WHORL_DDS_PRESENTATION_INSTANCE;
	enum whorl_dds_liveliness_kind liveliness = WHORL_DDS_LIVELINESS_AUTOMATIC;
	bool coherent = false, ordered = false;

	(void)whorl_dds_qget_presentation(qos, &scope, &coherent, &ordered);
	(void)whorl_dds_qget_liveliness(qos, &liveliness, NULL);
	return kept_back[(coherent || (ordered && scope != WHORL_DDS_PRESENTATION_INSTANCE)) +
			 2 * (liveliness != WHORL_DDS_LIVELINESS_AUTOMATIC)];
}

bool wh_bridge_is_durable(const whorl_dds_qos *offer)
{
	enum whorl_dds_durability_kind durability;

	return whorl_dds_qget_durability(offer, &durability) && durability > WHORL_DDS_DURABILITY_VOLATILE;
}

char *wh_bridge_offer_text(const whorl_dds_qos *offer)
{
	whorl_dds_return length = whorl_dds_qos_text(offer, NULL, 0);
	char *text = length >= 0 ? calloc(1, (size_t)length + 1) : NULL;

	if (text != NULL)
		(void)whorl_dds_qos_text(offer, text, (size_t)length + 1);
	return text;
}

/* What both ends of a lane have alike, on both sides. */
struct alike {
	enum whorl_dds_reliability_kind reliability;
	enum whorl_dds_ownership_kind ownership;
	enum whorl_dds_destination_order_kind order;
};

static struct alike alike_of(const whorl_dds_qos *offer)
{
	struct alike alike = {.reliability = WHORL_DDS_RELIABILITY_BEST_EFFORT};

	(void)whorl_dds_qget_reliability(offer, &alike.reliability, NULL);
	(void)whorl_dds_qget_ownership(offer, &alike.ownership);
	(void)whorl_dds_qget_destination_order(offer, &alike.order);
	return alike;
}

/* ---- RTPS's side ------------------------------------------------------------------------------------------------------------ */

static void set_rtps_partition(dds_qos_t *qos, const whorl_dds_qos *offer)
{
	const char *names[64];
	uint32_t count = 0;

	while (count < 64 && (names[count] = whorl_dds_qget_partition(offer, count)) != NULL)
		count++;
	if (count > 0 && !(count == 1 && names[0][0] == '\0'))
		dds_qset_partition(qos, count, (const char **)names);
}

static dds_qos_t *rtps_both(const whorl_dds_qos *offer)
{
	struct alike alike = alike_of(offer);
	dds_qos_t *qos = dds_create_qos();

	if (qos == NULL)
		return NULL;
	dds_qset_reliability(qos, (dds_reliability_kind_t)alike.reliability, BLOCKING);
	dds_qset_ownership(qos, (dds_ownership_kind_t)alike.ownership);
	dds_qset_destination_order(qos, (dds_destination_order_kind_t)alike.order);
	dds_qset_durability(qos,
			    wh_bridge_is_durable(offer) ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
	set_rtps_partition(qos, offer);
	return qos;
}

dds_qos_t *wh_bridge_rtps_reader(const whorl_dds_qos *offer, int32_t room)
{
	dds_qos_t *qos = rtps_both(offer);

	if (qos == NULL)
		return NULL;
	dds_qset_history(qos, DDS_HISTORY_KEEP_ALL, 0);
	dds_qset_resource_limits(qos, room, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED);
	dds_qset_ignorelocal(qos, DDS_IGNORELOCAL_PARTICIPANT);
	return qos;
}

static void set_rtps_offer(dds_qos_t *qos, const whorl_dds_qos *offer)
{
	enum whorl_dds_liveliness_kind liveliness;
	enum whorl_dds_history_kind kind;
	whorl_dds_duration duration;
	int32_t number;
	const void *value;
	size_t bytes;

	if (whorl_dds_qget_deadline(offer, &duration))
		dds_qset_deadline(qos, duration);
	if (whorl_dds_qget_latency_budget(offer, &duration))
		dds_qset_latency_budget(qos, duration);
	if (whorl_dds_qget_lifespan(offer, &duration))
		dds_qset_lifespan(qos, duration);
	if (whorl_dds_qget_liveliness(offer, &liveliness, &duration))
		dds_qset_liveliness(qos, DDS_LIVELINESS_AUTOMATIC, duration);
	if (whorl_dds_qget_ownership_strength(offer, &number))
		dds_qset_ownership_strength(qos, number);
	if (whorl_dds_qget_userdata(offer, &value, &bytes) && bytes > 0)
		dds_qset_userdata(qos, value, bytes);
	(void)whorl_dds_qget_history(offer, &kind, &number);
	dds_qset_history(qos, (dds_history_kind_t)kind, number > 0 ? number : 1);
}

dds_qos_t *wh_bridge_rtps_writer(const whorl_dds_qos *offer)
{
	dds_qos_t *qos = rtps_both(offer);
	enum whorl_dds_history_kind kind;
	whorl_dds_duration cleanup;
	int32_t depth, samples, instances, each;

	if (qos == NULL)
		return NULL;
	set_rtps_offer(qos, offer);
	if (whorl_dds_qget_durability_service(offer, &cleanup, &kind, &depth, &samples, &instances, &each))
		dds_qset_durability_service(qos, cleanup, (dds_history_kind_t)kind, depth, samples, instances, each);
	dds_qset_writer_data_lifecycle(qos, false);
	return qos;
}

/* ---- whorl's side ----------------------------------------------------------------------------------------------------------- */

whorl_dds_qos *wh_bridge_whorl_reader(const whorl_dds_qos *offer, int32_t room)
{
	struct alike alike = alike_of(offer);
	whorl_dds_qos *qos = whorl_dds_create_qos();

	if (qos == NULL)
		return NULL;
	(void)whorl_dds_qset_reliability(qos, alike.reliability, BLOCKING);
	(void)whorl_dds_qset_ownership(qos, alike.ownership);
	(void)whorl_dds_qset_destination_order(qos, alike.order);
	(void)whorl_dds_qset_durability(qos, wh_bridge_is_durable(offer) ? WHORL_DDS_DURABILITY_TRANSIENT_LOCAL
									 : WHORL_DDS_DURABILITY_VOLATILE);
	copy_names(qos, offer);
	(void)whorl_dds_qset_userdata(qos, "", 0);
	if (alike.reliability == WHORL_DDS_RELIABILITY_RELIABLE)
		(void)whorl_dds_qset_history(qos, WHORL_DDS_HISTORY_KEEP_ALL, 1);
	else
		(void)whorl_dds_qset_history(qos, WHORL_DDS_HISTORY_KEEP_LAST, WH_BRIDGE_DEPTH);
	(void)whorl_dds_qset_resource_limits(qos, room, WHORL_DDS_UNLIMITED, WHORL_DDS_UNLIMITED);
	(void)whorl_dds_qset_ignore_local(qos, WHORL_DDS_IGNORE_LOCAL_PARTICIPANT);
	return qos;
}

whorl_dds_qos *wh_bridge_whorl_writer(const whorl_dds_qos *offer)
{
	whorl_dds_qos *qos = whorl_dds_create_qos();

	if (qos == NULL)
		return NULL;
	(void)whorl_dds_merge_qos(qos, offer);
	(void)whorl_dds_qset_writer_data_lifecycle(qos, false);
	return qos;
}
