/* in.c - from RTPS to whorl. See bridge.h and lane.h. */
#include <stdlib.h>
#include <string.h>

#include "bridge/lane.h"

#define LOOKS 64 /* endpoints at once */

struct in {
	struct wh_bridge *bridge;
	dds_entity_t waitset;
	dds_entity_t participants, writers, readers; /* of the built-in topics */
	struct wh_bridge_lane *lanes;
	struct wh_bridge_batch batch;
	bool looks_again; /* a type was not known yet */
};

/* ---- lanes ------------------------------------------------------------------------------------------------------------------ */

static void end_lane(struct in *in, struct wh_bridge_lane *lane)
{
	if (lane->source > 0)
		(void)dds_delete(lane->source);
	if (lane->target > 0) {
		(void)whorl_dds_delete(lane->target);
		wh_bridge_says(in->bridge, "ends", "in", lane->topic->name, lane->passed, NULL);
	}
	wh_bridge_lane_free(lane);
}

/* A topic that others have registered may keep nothing for late readers: then the lane does not, either. */
static bool keeps_history(const struct wh_bridge_topic *topic)
{
	whorl_dds_qos *qos = whorl_dds_create_qos();
	enum whorl_dds_consistency_kind consistency = WHORL_DDS_CONSISTENCY_STORED;
	bool keeps = qos == NULL || whorl_dds_get_qos(topic->whorl, qos) != WHORL_DDS_RETCODE_OK ||
		     !whorl_dds_qget_consistency(qos, &consistency) || consistency >= WHORL_DDS_CONSISTENCY_STORED;

	whorl_dds_delete_qos(qos);
	return keeps;
}

/* NULL, or why there is none. */
static const char *open_target(struct in *in, struct wh_bridge_lane *lane, const whorl_dds_qos *offer)
{
	bool durable = wh_bridge_is_durable(offer), keeps = durable && keeps_history(lane->topic);
	whorl_dds_qos *qos = wh_bridge_whorl_writer(offer);

	if (qos == NULL)
		return "memory is out";
	if (durable && !keeps)
		(void)whorl_dds_qset_durability(qos, WHORL_DDS_DURABILITY_VOLATILE);
	if (!keeps || wh_bridge_lane_read_marks(in->bridge, lane))
		lane->target = whorl_dds_create_writer(in->bridge->whorl, lane->topic->whorl, qos, NULL);
	whorl_dds_delete_qos(qos);
	return lane->target > 0 ? NULL : whorl_dds_text();
}

static const char *open_source(struct in *in, struct wh_bridge_lane *lane, const whorl_dds_qos *offer)
{
	dds_qos_t *qos = wh_bridge_rtps_reader(offer, lane->room);
	dds_entity_t condition;

	lane->source = dds_create_reader(in->bridge->rtps, lane->topic->rtps, qos, NULL);
	dds_delete_qos(qos);
	if (lane->source < 0)
		return dds_strretcode(lane->source);
	condition = dds_create_readcondition(lane->source, DDS_ANY_STATE);
	if (condition < 0)
		return dds_strretcode(condition);
	(void)dds_waitset_attach(in->waitset, condition, 0);
	return NULL;
}

static void begin_lane(struct in *in, struct wh_bridge_topic *topic, char *text, const whorl_dds_qos *offer)
{
	struct wh_bridge_lane *lane = wh_bridge_lane_new(topic, text);
	const char *why;

	if (lane == NULL)
		return;
	lane->next = in->lanes;
	in->lanes = lane;
	why = open_target(in, lane, offer); /* first: what the near side has is to find its writer */
	if (why == NULL)
		why = open_source(in, lane, offer);
	wh_bridge_says(in->bridge, why == NULL ? "begins" : "refused", "in", topic->name, 0, why);
	if (why == NULL)
		return;
	if (lane->source > 0)
		(void)dds_delete(lane->source);
	if (lane->target > 0)
		(void)whorl_dds_delete(lane->target);
	lane->source = lane->target = 0; /* it stays, so that it is said once */
}

/* ---- discovery -------------------------------------------------------------------------------------------------------------- */

static bool is_own(const struct wh_bridge *bridge, const dds_builtintopic_endpoint_t *endpoint)
{
	return memcmp(&endpoint->participant_key, &bridge->rtps_guid, sizeof(bridge->rtps_guid)) == 0;
}

static void see_writer(struct in *in, const dds_builtintopic_endpoint_t *endpoint, struct wh_bridge_topic *topic)
{
	whorl_dds_qos *offer;
	struct wh_bridge_lane *lane;
	char *text;

	if (topic->kind == NULL ||
	    wh_bridge_is_peer_of_rtps(in->bridge, in->participants, endpoint->participant_instance_handle))
		return;
	wh_bridge_says_kept_back(in->bridge, topic, false, wh_bridge_kept_back_of_rtps(endpoint->qos));
	offer = wh_bridge_offer_of_rtps(endpoint->qos);
	text = offer != NULL ? wh_bridge_offer_text(offer) : NULL;
	lane = text != NULL ? wh_bridge_lane_find(in->lanes, topic, text) : NULL;
	if (lane != NULL) {
		lane->idle_since = 0;
		free(text);
	} else if (text != NULL && wh_bridge_topic_open(in->bridge, topic, offer)) {
		begin_lane(in, topic, text, offer);
	} else {
		free(text);
	}
	whorl_dds_delete_qos(offer);
}

static void see(struct in *in, const dds_builtintopic_endpoint_t *endpoint, bool writes)
{
	struct wh_bridge_topic *topic;

	if (endpoint->topic_name == NULL || is_own(in->bridge, endpoint) ||
	    !wh_bridge_wants(in->bridge, endpoint->topic_name))
		return;
	topic = wh_bridge_topic_learn(in->bridge, endpoint);
	if (topic == NULL)
		in->looks_again = true;
	else if (writes)
		see_writer(in, endpoint, topic);
}

static void discover(struct in *in, dds_entity_t reader, bool writes)
{
	dds_sample_info_t infos[LOOKS];
	void *data[LOOKS] = {NULL};
	dds_return_t got;

	while ((got = dds_take(reader, data, infos, LOOKS, LOOKS)) > 0) {
		for (dds_return_t i = 0; i < got; i++)
			if (infos[i].valid_data && infos[i].instance_state == DDS_ALIVE_INSTANCE_STATE)
				see(in, data[i], writes);
		(void)dds_return_loan(reader, data, got);
		data[0] = NULL;
	}
}

static dds_entity_t open_builtin(struct in *in, dds_entity_t topic)
{
	dds_entity_t reader = dds_create_reader(in->bridge->rtps, topic, NULL, NULL);
	dds_entity_t condition = reader > 0 ? dds_create_readcondition(reader, DDS_ANY_STATE) : reader;

	if (condition > 0)
		(void)dds_waitset_attach(in->waitset, condition, 0);
	return reader;
}

/* A new reader sees all that there is once more. */
static void look(struct in *in)
{
	if (in->looks_again) {
		in->looks_again = false;
		(void)dds_delete(in->writers);
		(void)dds_delete(in->readers);
		in->writers = open_builtin(in, DDS_BUILTIN_TOPIC_DCPSPUBLICATION);
		in->readers = open_builtin(in, DDS_BUILTIN_TOPIC_DCPSSUBSCRIPTION);
	}
	discover(in, in->writers, true);
	discover(in, in->readers, false);
}

/* ---- samples ---------------------------------------------------------------------------------------------------------------- */

/* A writer that has gone, and of which nothing was known, belongs to the first lane that asks. */
static bool is_ours(struct in *in, struct wh_bridge_lane *lane, dds_instance_handle_t writer)
{
	const struct wh_bridge_verdict *known = wh_bridge_lane_verdict(lane, writer);
	dds_builtintopic_endpoint_t *endpoint;
	whorl_dds_qos *offer;
	bool ours = true;
	char *text;

	if (known != NULL)
		return known->is_ours;
	endpoint = dds_get_matched_publication_data(lane->source, writer);
	if (endpoint != NULL) {
		offer = wh_bridge_offer_of_rtps(endpoint->qos);
		text = offer != NULL ? wh_bridge_offer_text(offer) : NULL;
		ours = text != NULL && strcmp(text, lane->text) == 0 &&
		       !wh_bridge_is_peer_of_rtps(in->bridge, in->participants, endpoint->participant_instance_handle);
		free(text);
		whorl_dds_delete_qos(offer);
		dds_builtintopic_free_endpoint(endpoint);
	}
	wh_bridge_lane_decide(lane, writer, ours);
	return ours;
}

static whorl_dds_return put_encoded(struct wh_bridge_lane *lane, const void *sample,
				    struct whorl_dds_write_options *how)
{
	const struct wh_ddsc_kind *kind = lane->topic->kind;
	size_t bytes = wh_ddsc_kind_bytes(kind, sample, NULL);
	whorl_dds_return result;
	void *memory;

	if (bytes == SIZE_MAX || bytes > kind->whorl.bytes_max)
		return WHORL_DDS_RETCODE_BAD_PARAMETER;
	result = whorl_dds_request_loan(lane->target, bytes, &memory);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	if (!wh_ddsc_kind_pack(kind, sample, memory, bytes)) {
		(void)whorl_dds_return_loan(lane->target, &memory, 1);
		return WHORL_DDS_RETCODE_BAD_PARAMETER;
	}
	how->bytes = bytes;
	return whorl_dds_write_with(lane->target, memory, how);
}

static whorl_dds_return put_once(struct wh_bridge_lane *lane, const void *sample, struct whorl_dds_write_options *how)
{
	unsigned char head[WH_DDSC_HEAD_BYTES_MAX];

	if (lane->topic->kind->is_plain)
		return whorl_dds_write_with(lane->target, sample, how);
	if (how->kind == WHORL_DDS_WRITE || how->kind == WHORL_DDS_WRITE_DISPOSE)
		return put_encoded(lane, sample, how);
	if (!wh_ddsc_kind_head(lane->topic->kind, sample, head))
		return WHORL_DDS_RETCODE_BAD_PARAMETER;
	how->bytes = lane->topic->kind->head_bytes;
	return whorl_dds_write_with(lane->target, head, how);
}

/* As long as there is no room the reader fills, and then its writers wait. */
static void put(struct in *in, struct wh_bridge_lane *lane, const void *sample, enum whorl_dds_write_kind kind,
		int64_t time)
{
	struct whorl_dds_write_options how = {
		.size = sizeof(how), .kind = kind, .has_time = time >= 0, .timestamp = time >= 0 ? time : 0};
	whorl_dds_return result;

	while ((result = put_once(lane, sample, &how)) == WHORL_DDS_RETCODE_TIMEOUT)
		if (wh_load_acquire(&in->bridge->stops) != 0)
			return;
	if (result == WHORL_DDS_RETCODE_OK) {
		lane->passed++;
		(void)wh_fetch_add(&lane->topic->in, 1);
	} else if (kind != WHORL_DDS_UNREGISTER || result != WHORL_DDS_RETCODE_PRECONDITION_NOT_MET) {
		wh_bridge_topic_rejects(in->bridge, lane->topic,
					"a sample of RTPS has no form on whorl's side: its key or itself is too long");
	}
}

static bool is_known(struct wh_bridge_lane *lane, const void *sample, int64_t time)
{
	unsigned char head[WH_DDSC_HEAD_BYTES_MAX];

	if (lane->mark_count == 0)
		return false;
	if (!lane->topic->kind->is_plain) {
		if (!wh_ddsc_kind_head(lane->topic->kind, sample, head))
			return false;
		sample = head;
	}
	return wh_bridge_lane_has_mark(lane, wh_bridge_instance_of(lane->topic->kind, sample), time);
}

static void pass(struct in *in, struct wh_bridge_lane *lane, const void *sample, const dds_sample_info_t *info,
		 uint32_t state)
{
	bool is_disposed = state == DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE;

	if (is_ours(in, lane, info->publication_handle)) {
		if (info->valid_data && !is_known(lane, sample, info->source_timestamp))
			put(in, lane, sample, is_disposed ? WHORL_DDS_WRITE_DISPOSE : WHORL_DDS_WRITE,
			    info->source_timestamp);
		else if (is_disposed)
			put(in, lane, sample, WHORL_DDS_DISPOSE, info->source_timestamp);
	}
	if (state == DDS_NOT_ALIVE_NO_WRITERS_INSTANCE_STATE)
		put(in, lane, sample, WHORL_DDS_UNREGISTER, info->source_timestamp);
}

/* What a sample made of its instance: of the last it is what the instance is, of others what the generations behind it say. */
static uint32_t state_of(const dds_sample_info_t *info, const dds_sample_info_t *next)
{
	if (next == NULL || next->instance_handle != info->instance_handle)
		return info->instance_state;
	if (next->disposed_generation_count != info->disposed_generation_count)
		return DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE;
	if (next->no_writers_generation_count != info->no_writers_generation_count)
		return DDS_NOT_ALIVE_NO_WRITERS_INSTANCE_STATE;
	return DDS_ALIVE_INSTANCE_STATE;
}

/* Samples of an instance follow each other. Among instances they are put in the order of their times, without changing it in an instance. */
static void sort(struct in *in, size_t count)
{
	const dds_sample_info_t *infos = in->batch.infos;
	int64_t latest = 0;

	for (size_t i = 0; i < count; i++) {
		bool begins = i == 0 || infos[i - 1].instance_handle != infos[i].instance_handle;

		if (begins || infos[i].source_timestamp > latest)
			latest = infos[i].source_timestamp;
		in->batch.order[i] = (struct wh_bridge_place){(uint64_t)latest, i, (uint32_t)i};
		in->batch.states[i] = state_of(&infos[i], i + 1 < count ? &infos[i + 1] : NULL);
	}
	wh_bridge_batch_sort(&in->batch, count);
}

static void run_lane(struct in *in, struct wh_bridge_lane *lane)
{
	const dds_sample_info_t *infos = in->batch.infos;
	size_t room = (size_t)lane->room;
	dds_return_t got;

	if (lane->target <= 0)
		return;
	in->batch.data[0] = NULL;
	got = dds_take(lane->source, in->batch.data, in->batch.infos, room, (uint32_t)room);
	if (got <= 0)
		return;
	sort(in, (size_t)got);
	for (dds_return_t i = 0; i < got; i++) {
		uint32_t at = in->batch.order[i].index;

		pass(in, lane, in->batch.data[at], &infos[at], in->batch.states[at]);
	}
	(void)dds_return_loan(lane->source, in->batch.data, got);
}

/* Its reader matches those of other lanes, too: they do not keep it. One without a reader yet, or with more than are looked at, goes on. */
static bool has_writers(struct in *in, struct wh_bridge_lane *lane)
{
	dds_instance_handle_t writers[LOOKS];
	dds_return_t count;

	if (lane->source <= 0)
		return true;
	count = dds_get_matched_publications(lane->source, writers, LOOKS);
	for (dds_return_t i = 0; i < count && i < LOOKS; i++)
		if (is_ours(in, lane, writers[i]))
			return true;
	return count > LOOKS;
}

static void end_idle(struct in *in)
{
	struct wh_bridge_lane **at = &in->lanes, *lane;

	while ((lane = *at) != NULL) {
		if (!wh_bridge_lane_is_over(lane, has_writers(in, lane))) {
			at = &lane->next;
			continue;
		}
		*at = lane->next;
		end_lane(in, lane);
	}
}

void *wh_bridge_in(void *arg)
{
	struct in in = {.bridge = arg, .looks_again = true};

	in.waitset = dds_create_waitset(in.bridge->rtps);
	in.participants = dds_create_reader(in.bridge->rtps, DDS_BUILTIN_TOPIC_DCPSPARTICIPANT, NULL, NULL);
	if (wh_bridge_batch_new(&in.batch, sizeof(dds_sample_info_t)))
		while (wh_load_acquire(&in.bridge->stops) == 0) {
			(void)dds_waitset_wait(in.waitset, NULL, 0, WH_BRIDGE_TICK);
			look(&in);
			for (struct wh_bridge_lane *lane = in.lanes; lane != NULL; lane = lane->next)
				run_lane(&in, lane);
			end_idle(&in);
		}
	while (in.lanes != NULL) {
		struct wh_bridge_lane *lane = in.lanes;

		in.lanes = lane->next;
		end_lane(&in, lane);
	}
	(void)dds_delete(in.writers);
	(void)dds_delete(in.readers);
	(void)dds_delete(in.participants);
	(void)dds_delete(in.waitset);
	wh_bridge_batch_free(&in.batch);
	return NULL;
}
