/* out.c - from whorl to RTPS. See bridge.h and lane.h. */
#include <stdlib.h>
#include <string.h>

#include "bridge/lane.h"

#define LOOKS 64 /* endpoints at once */

struct out {
	struct wh_bridge *bridge;
	whorl_dds_entity waitset;
	whorl_dds_entity writers; /* of the built-in topic */
	struct wh_bridge_lane *lanes;
	struct wh_bridge_batch batch;
	uint64_t topics;  /* that were known at the last look */
	bool looks_again; /* the type of a topic is not known: it comes from RTPS */
};

/* ---- lanes ------------------------------------------------------------------------------------------------------------------ */

static void end_lane(struct out *out, struct wh_bridge_lane *lane)
{
	if (lane->source > 0)
		(void)whorl_dds_delete(lane->source);
	if (lane->target > 0) {
		(void)dds_delete(lane->target);
		wh_bridge_says(out->bridge, "ends", "out", lane->topic->name, lane->passed, NULL);
	}
	wh_bridge_lane_free(lane);
}

static const char *open_lane(struct out *out, struct wh_bridge_lane *lane, const whorl_dds_qos *offer)
{
	dds_qos_t *writer = wh_bridge_rtps_writer(offer);
	whorl_dds_qos *reader = wh_bridge_whorl_reader(offer, lane->room);
	whorl_dds_entity condition;
	const char *why = NULL;

	lane->target = dds_create_writer(out->bridge->rtps, lane->topic->rtps, writer, NULL);
	if (lane->target < 0)
		why = dds_strretcode(lane->target);
	if (why == NULL) {
		lane->source = whorl_dds_create_reader(out->bridge->whorl, lane->topic->whorl, reader, NULL);
		condition = lane->source > 0 ? whorl_dds_create_readcondition(lane->source, WHORL_DDS_ANY_STATE)
					     : lane->source;
		if (condition < 0 || whorl_dds_waitset_attach(out->waitset, condition, 0) != WHORL_DDS_RETCODE_OK)
			why = whorl_dds_text();
	}
	dds_delete_qos(writer);
	whorl_dds_delete_qos(reader);
	return why;
}

static void begin_lane(struct out *out, struct wh_bridge_topic *topic, char *text, const whorl_dds_qos *offer)
{
	struct wh_bridge_lane *lane = wh_bridge_lane_new(topic, text);
	const char *why;

	if (lane == NULL)
		return;
	lane->next = out->lanes;
	out->lanes = lane;
	why = open_lane(out, lane, offer);
	wh_bridge_says(out->bridge, why == NULL ? "begins" : "refused", "out", topic->name, 0, why);
	if (why == NULL)
		return;
	if (lane->source > 0)
		(void)whorl_dds_delete(lane->source);
	if (lane->target > 0)
		(void)dds_delete(lane->target);
	lane->source = lane->target = 0; /* it stays, so that it is said once */
}

/* ---- discovery -------------------------------------------------------------------------------------------------------------- */

static void see_writer(struct out *out, const struct whorl_dds_builtin_endpoint *endpoint)
{
	struct wh_bridge_topic *topic;
	struct wh_bridge_lane *lane;
	whorl_dds_qos *offer;
	char *text;

	if (endpoint->participant == out->bridge->whorl_handle || !wh_bridge_wants(out->bridge, endpoint->topic_name) ||
	    wh_bridge_is_peer_of_whorl(out->bridge, endpoint->participant))
		return;
	topic = wh_bridge_topic_find(out->bridge, endpoint->topic_name);
	if (topic == NULL)
		out->looks_again = true;
	if (topic == NULL || topic->kind == NULL)
		return;
	wh_bridge_says_kept_back(out->bridge, topic, true, wh_bridge_kept_back_of_whorl(endpoint->qos));
	offer = wh_bridge_offer_of_whorl(endpoint->qos);
	text = offer != NULL ? wh_bridge_offer_text(offer) : NULL;
	lane = text != NULL ? wh_bridge_lane_find(out->lanes, topic, text) : NULL;
	if (lane != NULL) {
		lane->idle_since = 0;
		free(text);
	} else if (text != NULL && wh_bridge_topic_open(out->bridge, topic, offer)) {
		begin_lane(out, topic, text, offer);
	} else {
		free(text);
	}
	whorl_dds_delete_qos(offer);
}

static void discover(struct out *out)
{
	struct whorl_dds_sample_info infos[LOOKS];
	void *data[LOOKS] = {NULL};
	whorl_dds_return got;

	infos[0].size = sizeof(infos[0]);
	while ((got = whorl_dds_take(out->writers, data, infos, LOOKS)) > 0) {
		for (whorl_dds_return i = 0; i < got; i++)
			if (infos[i].valid_data && infos[i].instance_state == WHORL_DDS_ALIVE_INSTANCE_STATE)
				see_writer(out, data[i]);
		(void)whorl_dds_return_loan(out->writers, data, got);
		data[0] = NULL;
	}
}

/* A new reader sees all that there is once more: when there are more topics of a known type. */
static void look(struct out *out)
{
	uint64_t topics = wh_load_acquire(&out->bridge->topic_count);

	if (out->writers == 0 || (out->looks_again && topics != out->topics)) {
		whorl_dds_entity condition;

		out->looks_again = false;
		out->topics = topics;
		if (out->writers > 0)
			(void)whorl_dds_delete(out->writers);
		out->writers = whorl_dds_create_reader(
			out->bridge->whorl, (whorl_dds_entity)WHORL_DDS_BUILTIN_TOPIC_DCPSPUBLICATION, NULL, NULL);
		condition = whorl_dds_create_readcondition(out->writers, WHORL_DDS_ANY_STATE);
		(void)whorl_dds_waitset_attach(out->waitset, condition, 0);
	}
	discover(out);
}

/* ---- samples ---------------------------------------------------------------------------------------------------------------- */

static bool is_ours(struct out *out, struct wh_bridge_lane *lane, whorl_dds_instance_handle writer)
{
	const struct wh_bridge_verdict *known = wh_bridge_lane_verdict(lane, writer);
	struct whorl_dds_builtin_endpoint *endpoint;
	whorl_dds_qos *offer;
	bool ours = true;
	char *text;

	if (known != NULL)
		return known->is_ours;
	endpoint = whorl_dds_get_matched_endpoint(lane->source, writer);
	if (endpoint != NULL) {
		offer = wh_bridge_offer_of_whorl(endpoint->qos);
		text = offer != NULL ? wh_bridge_offer_text(offer) : NULL;
		ours = text != NULL && strcmp(text, lane->text) == 0 &&
		       !wh_bridge_is_peer_of_whorl(out->bridge, endpoint->participant);
		free(text);
		whorl_dds_delete_qos(offer);
		whorl_dds_builtin_endpoint_free(endpoint);
	}
	wh_bridge_lane_decide(lane, writer, ours);
	return ours;
}

static dds_return_t put_once(dds_entity_t writer, const void *sample, enum whorl_dds_write_kind kind, int64_t time)
{
	switch (kind) {
	case WHORL_DDS_WRITE:
		return dds_write_ts(writer, sample, time);
	case WHORL_DDS_WRITE_DISPOSE:
		return dds_writedispose_ts(writer, sample, time);
	case WHORL_DDS_DISPOSE:
		return dds_dispose_ts(writer, sample, time);
	default:
		return dds_unregister_instance_ts(writer, sample, time);
	}
}

static void put(struct out *out, struct wh_bridge_lane *lane, const void *sample, enum whorl_dds_write_kind kind,
		int64_t time)
{
	dds_return_t result;

	while ((result = put_once(lane->target, sample, kind, time)) == DDS_RETCODE_TIMEOUT)
		if (wh_load_acquire(&out->bridge->stops) != 0)
			return;
	if (result == DDS_RETCODE_OK) {
		lane->passed++;
		(void)wh_fetch_add(&lane->topic->out, 1);
	} else if (kind != WHORL_DDS_UNREGISTER) {
		wh_bridge_topic_rejects(out->bridge, lane->topic, "Cyclone DDS does not take a sample of whorl's side");
	}
}

static void pass(struct out *out, struct wh_bridge_lane *lane, const void *data,
		 const struct whorl_dds_sample_info *info, uint32_t state)
{
	bool is_disposed = state == WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE,
	     ours = is_ours(out, lane, info->publication_handle);
	const void *sample = data;

	if (!ours && state != WHORL_DDS_NOT_ALIVE_NO_WRITERS_INSTANCE_STATE)
		return;
	if (!lane->topic->kind->is_plain) {
		if (!wh_ddsc_kind_unpack(lane->topic->kind, data, info->bytes, info->valid_data, lane->scratch)) {
			wh_bridge_topic_rejects(out->bridge, lane->topic, "a sample of whorl's side cannot be decoded");
			return;
		}
		sample = lane->scratch;
	}
	if (ours && info->valid_data)
		put(out, lane, sample, is_disposed ? WHORL_DDS_WRITE_DISPOSE : WHORL_DDS_WRITE, info->source_timestamp);
	else if (ours && is_disposed)
		put(out, lane, sample, WHORL_DDS_DISPOSE, info->source_timestamp);
	if (state == WHORL_DDS_NOT_ALIVE_NO_WRITERS_INSTANCE_STATE)
		put(out, lane, sample, WHORL_DDS_UNREGISTER, info->source_timestamp);
}

static uint32_t state_of(const struct whorl_dds_sample_info *info, const struct whorl_dds_sample_info *next)
{
	if (next == NULL || next->instance_handle != info->instance_handle)
		return info->instance_state;
	if (next->disposed_generation_count != info->disposed_generation_count)
		return WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE;
	if (next->no_writers_generation_count != info->no_writers_generation_count)
		return WHORL_DDS_NOT_ALIVE_NO_WRITERS_INSTANCE_STATE;
	return WHORL_DDS_ALIVE_INSTANCE_STATE;
}

/* By place, which is the order of the topic. */
static void sort(struct out *out, size_t count)
{
	const struct whorl_dds_sample_info *infos = out->batch.infos;

	for (size_t i = 0; i < count; i++) {
		out->batch.order[i] = (struct wh_bridge_place){infos[i].view, infos[i].sequence, (uint32_t)i};
		out->batch.states[i] = state_of(&infos[i], i + 1 < count ? &infos[i + 1] : NULL);
	}
	wh_bridge_batch_sort(&out->batch, count);
}

static void run_lane(struct out *out, struct wh_bridge_lane *lane)
{
	struct whorl_dds_sample_info *infos = out->batch.infos;
	whorl_dds_return got;

	if (lane->target <= 0)
		return;
	infos[0].size = sizeof(infos[0]);
	out->batch.data[0] = NULL;
	got = whorl_dds_take(lane->source, out->batch.data, infos, (size_t)lane->room);
	if (got <= 0)
		return;
	sort(out, (size_t)got);
	for (whorl_dds_return i = 0; i < got; i++) {
		uint32_t at = out->batch.order[i].index;

		pass(out, lane, out->batch.data[at], &infos[at], out->batch.states[at]);
	}
	(void)dds_write_flush(lane->target);
	(void)whorl_dds_return_loan(lane->source, out->batch.data, got);
}

/* Its reader matches those of other lanes, too: they do not keep it. One without a reader yet, or with more than are looked at, goes on. */
static bool has_writers(struct out *out, struct wh_bridge_lane *lane)
{
	whorl_dds_instance_handle writers[LOOKS];
	whorl_dds_return count;

	if (lane->source <= 0)
		return true;
	count = whorl_dds_get_matched_publications(lane->source, writers, LOOKS);
	for (whorl_dds_return i = 0; i < count && i < LOOKS; i++)
		if (is_ours(out, lane, writers[i]))
			return true;
	return count > LOOKS;
}

static void end_idle(struct out *out)
{
	struct wh_bridge_lane **at = &out->lanes, *lane;

	while ((lane = *at) != NULL) {
		if (!wh_bridge_lane_is_over(lane, has_writers(out, lane))) {
			at = &lane->next;
			continue;
		}
		*at = lane->next;
		end_lane(out, lane);
	}
}

void *wh_bridge_out(void *arg)
{
	struct out out = {.bridge = arg};

	out.waitset = whorl_dds_create_waitset(out.bridge->whorl);
	if (wh_bridge_batch_new(&out.batch, sizeof(struct whorl_dds_sample_info)))
		while (wh_load_acquire(&out.bridge->stops) == 0) {
			(void)whorl_dds_waitset_wait(out.waitset, NULL, 0, WH_BRIDGE_TICK);
			look(&out);
			for (struct wh_bridge_lane *lane = out.lanes; lane != NULL; lane = lane->next)
				run_lane(&out, lane);
			end_idle(&out);
		}
	while (out.lanes != NULL) {
		struct wh_bridge_lane *lane = out.lanes;

		out.lanes = lane->next;
		end_lane(&out, lane);
	}
	(void)whorl_dds_delete(out.writers);
	(void)whorl_dds_delete(out.waitset);
	wh_bridge_batch_free(&out.batch);
	return NULL;
}
