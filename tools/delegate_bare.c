/* delegate_bare.c - see delegate_bare.h. */
#include "tools/delegate_bare.h"

#include <string.h>

#define REGION_BYTES (UINT64_C(1) << 20)
#define NAME 1
#define PASSES 200 /* that find nothing, until it sleeps */

enum whorl_result wh_bare_open(struct wh_bare *bare, const struct wh_endpoint *endpoint, struct wh_error *err)
{
	struct wh_transport *node = endpoint->transport;
	enum whorl_result result;

	memset(bare, 0, sizeof(*bare));
	bare->node = endpoint->node;
	bare->nodes = endpoint->nodes;
	if (endpoint->nodes > WH_BARE_NODES || node->ops->lane_open == NULL)
		return wh_error_set(err, WHORL_UNSUPPORTED, "no lanes on this transport, or more than %d nodes",
				    WH_BARE_NODES);
	result = node->ops->lane_open(node, WH_BARE_LANE, &bare->lane, err);
	if (result != WHORL_OK)
		return result;
	return bare->lane->ops->remote->region_open(bare->lane, NAME, REGION_BYTES, &bare->region, err);
}

void wh_bare_close(struct wh_bare *bare)
{
	if (bare->lane != NULL)
		bare->lane->ops->destroy(bare->lane, false);
	bare->lane = NULL;
}

static void take_events(struct wh_bare *bare)
{
	const struct wh_transport_ops *ops = bare->lane->ops;

	(void)ops->service(bare->lane);
	while (ops->next_event(bare->lane, &bare->event))
		if (bare->event.kind == WH_EVENT_PEER_MET)
			bare->met[bare->event.node] = true;
	for (uint32_t node = 0; node < bare->nodes; node++)
		if (bare->met[node] && !bare->granted[node])
			bare->granted[node] = bare->region->ops->grant(bare->region, node) == WHORL_OK;
}

static bool take_remote(struct wh_bare *bare)
{
	const struct wh_transport_ops *ops = bare->lane->ops;
	struct wh_remote_event event;
	bool found = ops->take != NULL && ops->take(bare->lane) > 0;

	for (; ops->remote->next(bare->lane, &event); found = true) {
		if (event.kind == WH_REMOTE_GRANTED)
			bare->theirs[event.node] = event.region;
		if (event.kind != WH_REMOTE_IMMEDIATE)
			continue;
		bare->answered++;
		bare->due[event.node] += bare->node == 0; /* it answers, the others ask */
	}
	return found;
}

/* False: not now. A message of several writes goes whole, or its first writes go anew. */
static bool write_message(struct wh_bare *bare, uint32_t node, uint64_t bytes)
{
	static const uint64_t from[WH_REMOTE_BYTES_MAX / 8] = {1, 2, 3};
	struct wh_remote_op op = {.node = node, .region = bare->theirs[node], .from = from};

	for (uint64_t done = 0; done < bytes; done += op.bytes) {
		uint64_t left = bytes - done;
		size_t posted = 0;

		op.offset = done % REGION_BYTES;
		op.bytes = left < WH_REMOTE_BYTES_MAX ? left : WH_REMOTE_BYTES_MAX;
		op.kind = op.bytes == left ? WH_REMOTE_WRITE_IMMEDIATE : WH_REMOTE_WRITE;
		if (bare->lane->ops->remote->post(bare->lane, &op, 1, &posted) != WHORL_OK)
			return false;
	}
	return true;
}

static bool look(struct wh_bare *bare, uint64_t bytes)
{
	bool found = take_remote(bare);

	for (uint32_t node = 0; node < bare->nodes; node++)
		for (; bare->due[node] > 0 && write_message(bare, node, (bytes + 7) / 8 * 8); found = true)
			bare->due[node]--;
	if (bare->lane->ops->flush != NULL)
		bare->lane->ops->flush(bare->lane);
	return found;
}

void wh_bare_step(struct wh_bare *bare, uint64_t bytes)
{
	const struct wh_transport_ops *ops = bare->lane->ops;

	bare->idle = look(bare, bytes) ? 0 : bare->idle + 1;
	if (bare->idle % PASSES != 0)
		return;
	if (bare->idle > 0) {
		ops->arm(bare->lane);
		if (look(bare, bytes))
			ops->disarm(bare->lane);
		else
			ops->wait(bare->lane, WH_NS_PER_MS);
		bare->idle = 1;
	}
	take_events(bare);
}
