/* lane.h - what lanes of both ways have in common: which writers they are for, and the order of what they take. */
#ifndef WH_BRIDGE_LANE_H
#define WH_BRIDGE_LANE_H

#include "bridge/bridge.h"

#define WH_BRIDGE_ROOM_BYTES (INT32_C(16) << 20) /* of what a lane takes at once */
#define WH_BRIDGE_ROOM_MAX 4096
#define WH_BRIDGE_ROOM_MIN 16

struct wh_bridge_verdict { /* of a writer of the near side */
	uint64_t handle;
	bool is_ours;
};

struct wh_bridge_mark { /* a sample that whorl's side has: what instance, and when it was written */
	uint64_t instance;
	int64_t time;
};

struct wh_bridge_lane {
	struct wh_bridge_lane *next;
	struct wh_bridge_topic *topic;
	char *text;             /* what tells it from others of its topic: the offer */
	int32_t source, target; /* handles of the two libraries; target 0: it is refused, and nothing is passed */
	int32_t room;
	uint64_t passed;
	int64_t idle_since; /* no writer since then; 0: there is one */
	struct wh_bridge_verdict *verdicts;
	size_t verdict_count;
	struct wh_bridge_mark *marks; /* in, durable: in order */
	size_t mark_count;
	void *scratch; /* out: a sample, of a type that is not plain */
};

struct wh_bridge_place { /* of a sample in a batch: what it is sorted by */
	uint64_t first, second;
	uint32_t index;
};

struct wh_bridge_batch {
	void **data;
	void *infos;
	uint32_t *states; /* of the instance, behind each sample */
	struct wh_bridge_place *order;
};

/* For so many samples, with infos of so many bytes. False: memory is out. */
bool wh_bridge_batch_new(struct wh_bridge_batch *batch, size_t info_bytes);
void wh_bridge_batch_free(struct wh_bridge_batch *batch);
void wh_bridge_batch_sort(struct wh_bridge_batch *batch, size_t count);

/* One with this offer; NULL: there is none. */
struct wh_bridge_lane *wh_bridge_lane_find(struct wh_bridge_lane *lanes, const struct wh_bridge_topic *topic,
					   const char *text);
/* Without handles; takes `text` over. NULL: memory is out. */
struct wh_bridge_lane *wh_bridge_lane_new(struct wh_bridge_topic *topic, char *text);
void wh_bridge_lane_free(struct wh_bridge_lane *lane);

/* What is known of a writer; NULL: nothing yet. */
const struct wh_bridge_verdict *wh_bridge_lane_verdict(const struct wh_bridge_lane *lane, uint64_t handle);
void wh_bridge_lane_decide(struct wh_bridge_lane *lane, uint64_t handle, bool is_ours);

/* What a sample is called by its instance: of whorl's sample, its key. */
uint64_t wh_bridge_instance_of(const struct wh_ddsc_kind *kind, const void *data);
bool wh_bridge_lane_has_mark(const struct wh_bridge_lane *lane, uint64_t instance, int64_t time);
/* Reads what whorl's side has of the topic. False: memory is out, or the group. */
bool wh_bridge_lane_read_marks(struct wh_bridge *bridge, struct wh_bridge_lane *lane);

/* Has it been without writers of its own for long enough to end? */
bool wh_bridge_lane_is_over(struct wh_bridge_lane *lane, bool has_writers);

#endif
