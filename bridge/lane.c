/* lane.c - see lane.h. */
#include "bridge/lane.h"

#include <stdlib.h>
#include <string.h>

#define IDLE (INT64_C(3000) * 1000000) /* without a writer, before a lane ends */
#define HISTORY (INT64_C(10000) * 1000000)

/* ---- batches ---------------------------------------------------------------------------------------------------------------- */

bool wh_bridge_batch_new(struct wh_bridge_batch *batch, size_t info_bytes)
{
	batch->data = calloc(WH_BRIDGE_ROOM_MAX, sizeof(*batch->data));
	batch->infos = calloc(WH_BRIDGE_ROOM_MAX, info_bytes);
	batch->states = calloc(WH_BRIDGE_ROOM_MAX, sizeof(*batch->states));
	batch->order = calloc(WH_BRIDGE_ROOM_MAX, sizeof(*batch->order));
	return batch->data != NULL && batch->infos != NULL && batch->states != NULL && batch->order != NULL;
}

void wh_bridge_batch_free(struct wh_bridge_batch *batch)
{
	free(batch->data);
	free(batch->infos);
	free(batch->states);
	free(batch->order);
}

static int by_place(const void *one, const void *other)
{
	const struct wh_bridge_place *a = one, *b = other;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->second != b->second)
		return a->second < b->second ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

void wh_bridge_batch_sort(struct wh_bridge_batch *batch, size_t count)
{
	size_t i = 1;

	while (i < count && by_place(&batch->order[i - 1], &batch->order[i]) < 0)
		i++;
	if (i < count)
		qsort(batch->order, count, sizeof(*batch->order), by_place);
}

/* ---- lanes ------------------------------------------------------------------------------------------------------------------ */

struct wh_bridge_lane *wh_bridge_lane_find(struct wh_bridge_lane *lanes, const struct wh_bridge_topic *topic,
					   const char *text)
{
	while (lanes != NULL && !(lanes->topic == topic && strcmp(lanes->text, text) == 0))
		lanes = lanes->next;
	return lanes;
}

static int32_t room_for(size_t bytes)
{
	size_t room = WH_BRIDGE_ROOM_BYTES / (bytes > 0 ? bytes : 1);

	if (room < WH_BRIDGE_ROOM_MIN)
		return WH_BRIDGE_ROOM_MIN;
	return room < WH_BRIDGE_ROOM_MAX ? (int32_t)room : WH_BRIDGE_ROOM_MAX;
}

struct wh_bridge_lane *wh_bridge_lane_new(struct wh_bridge_topic *topic, char *text)
{
	struct wh_bridge_lane *lane = calloc(1, sizeof(*lane));

	if (lane == NULL) {
		free(text);
		return NULL;
	}
	lane->topic = topic;
	lane->text = text;
	lane->room = room_for(topic->kind->sample_bytes);
	lane->scratch = calloc(1, topic->kind->sample_bytes);
	if (lane->scratch != NULL)
		return lane;
	wh_bridge_lane_free(lane);
	return NULL;
}

void wh_bridge_lane_free(struct wh_bridge_lane *lane)
{
	if (lane->scratch != NULL)
		wh_ddsc_kind_clear(lane->topic->kind, lane->scratch);
	free(lane->scratch);
	free(lane->text);
	free(lane->verdicts);
	free(lane->marks);
	free(lane);
}

bool wh_bridge_lane_is_over(struct wh_bridge_lane *lane, bool has_writers)
{
	whorl_dds_time now = whorl_dds_now();

	if (has_writers) {
		lane->idle_since = 0;
		return false;
	}
	if (lane->idle_since == 0)
		lane->idle_since = now;
	return now - lane->idle_since > IDLE;
}

/* ---- writers ---------------------------------------------------------------------------------------------------------------- */

/* The one that was looked for last stands first. */
const struct wh_bridge_verdict *wh_bridge_lane_verdict(const struct wh_bridge_lane *lane, uint64_t handle)
{
	for (size_t i = 0; i < lane->verdict_count; i++) {
		struct wh_bridge_verdict found = lane->verdicts[i];

		if (found.handle != handle)
			continue;
		lane->verdicts[i] = lane->verdicts[0];
		lane->verdicts[0] = found;
		return &lane->verdicts[0];
	}
	return NULL;
}

/* When memory is out it is asked again. */
void wh_bridge_lane_decide(struct wh_bridge_lane *lane, uint64_t handle, bool is_ours)
{
	struct wh_bridge_verdict *more = realloc(lane->verdicts, (lane->verdict_count + 1) * sizeof(*lane->verdicts));

	if (more == NULL)
		return;
	lane->verdicts = more;
	lane->verdicts[lane->verdict_count++] = (struct wh_bridge_verdict){handle, is_ours};
}

/* ---- what whorl's side has -------------------------------------------------------------------------------------------------- */

uint64_t wh_bridge_instance_of(const struct wh_ddsc_kind *kind, const void *data)
{
	const unsigned char *bytes = data;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (uint32_t k = 0; k < kind->whorl.key_count; k++)
		for (uint32_t i = 0; i < kind->whorl.keys[k].bytes; i++)
			hash = (hash ^ bytes[kind->whorl.keys[k].offset + i]) * UINT64_C(0x100000001b3);
	return hash;
}

static int by_mark(const void *one, const void *other)
{
	const struct wh_bridge_mark *a = one, *b = other;

	if (a->instance != b->instance)
		return a->instance < b->instance ? -1 : 1;
	return (a->time > b->time) - (a->time < b->time);
}

bool wh_bridge_lane_has_mark(const struct wh_bridge_lane *lane, uint64_t instance, int64_t time)
{
	const struct wh_bridge_mark mark = {instance, time};

	return lane->mark_count > 0 && bsearch(&mark, lane->marks, lane->mark_count, sizeof(mark), by_mark) != NULL;
}

static bool add_marks(struct wh_bridge_lane *lane, void **data, const struct whorl_dds_sample_info *infos,
		      whorl_dds_return count)
{
	struct wh_bridge_mark *more =
		realloc(lane->marks, (lane->mark_count + (size_t)count + 1) * sizeof(*lane->marks));

	if (more == NULL)
		return false;
	lane->marks = more;
	for (whorl_dds_return i = 0; i < count; i++)
		if (infos[i].valid_data)
			lane->marks[lane->mark_count++] = (struct wh_bridge_mark){
				wh_bridge_instance_of(lane->topic->kind, data[i]), infos[i].source_timestamp};
	return true;
}

static bool take_marks(struct wh_bridge_lane *lane, whorl_dds_entity reader)
{
	struct whorl_dds_sample_info infos[64];
	void *data[64];
	whorl_dds_return got;

	do {
		infos[0].size = sizeof(infos[0]);
		data[0] = NULL;
		got = whorl_dds_take(reader, data, infos, 64);
		if (got <= 0)
			return got == 0;
		if (!add_marks(lane, data, infos, got))
			return false;
		(void)whorl_dds_return_loan(reader, data, got);
	} while (true);
}

bool wh_bridge_lane_read_marks(struct wh_bridge *bridge, struct wh_bridge_lane *lane)
{
	whorl_dds_qos *qos = whorl_dds_create_qos();
	whorl_dds_entity reader;
	bool good = false;

	if (qos == NULL || whorl_dds_qos_parse(qos, lane->text) != WHORL_DDS_RETCODE_OK ||
	    whorl_dds_qos_parse(qos, "durability=transient reliability=reliable history=all lifespan=inf") !=
		    WHORL_DDS_RETCODE_OK) {
		whorl_dds_delete_qos(qos);
		return false;
	}
	reader = whorl_dds_create_reader(bridge->whorl, lane->topic->whorl, qos, NULL);
	whorl_dds_delete_qos(qos);
	if (reader < 0)
		return false;
	if (whorl_dds_wait_for_historical_data(reader, HISTORY) == WHORL_DDS_RETCODE_OK)
		good = take_marks(lane, reader);
	(void)whorl_dds_delete(reader);
	if (lane->mark_count > 0)
		qsort(lane->marks, lane->mark_count, sizeof(*lane->marks), by_mark);
	return good;
}
