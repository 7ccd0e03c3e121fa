/* test_group_lanes.c - lanes of nodes of a group: what the group goes on without has ended for them, though its process is there and its
 * connections are. One thread makes all passes.
 */
#include "group/node_int.h"
#include "tests/support/group.h"

#define NODES 3
#define STALLED 1

struct lane {
	struct wh_transport *transport;
	uint32_t met, ended[NODES];
	char text[128]; /* of the last end */
};

static void open_lane(struct lane *lane, const struct cluster *c, unsigned id)
{
	struct wh_transport *node = c->nodes[id]->fixed.transport;
	struct wh_error err;

	*lane = (struct lane){0};
	ck_assert_int_eq(node->ops->lane_open(node, 1, &lane->transport, &err), WHORL_OK);
}

static void step_lane(struct lane *lane)
{
	static struct wh_transport_event event;

	(void)lane->transport->ops->service(lane->transport);
	while (lane->transport->ops->next_event(lane->transport, &event)) {
		if (event.kind == WH_EVENT_PEER_MET) {
			lane->met++;
			continue;
		}
		lane->ended[event.node]++;
		snprintf(lane->text, sizeof(lane->text), "%.*s", (int)sizeof(lane->text) - 1, event.text);
	}
}

static void step(struct cluster *c, struct lane *lanes, bool all)
{
	for (unsigned id = 0; id < NODES; id++) {
		if (all || id != STALLED)
			whorl_step(c->nodes[id]);
		step_lane(&lanes[id]);
	}
}

TEST_CASE("lanes", .timeout_s = 60);

TEST(a_node_that_stands_still_is_gone_for_lanes)
{
	struct lane lanes[NODES];
	struct cluster c;

	cluster_configure(&c, NODES, "failure_timeout_ms = 500\n", "[subgroup a]\n[engine]\nthread = caller\n");
	c.caller = true;
	for (unsigned id = 0; id < NODES; id++)
		cluster_open_node(&c, id);
	cluster_start(&c);
	for (unsigned id = 0; id < NODES; id++)
		open_lane(&lanes[id], &c, id);
	await(lanes[0].met == 2 && lanes[1].met == 2 && lanes[2].met == 2, step(&c, lanes, true));
	await(lanes[0].ended[STALLED] == 1 && lanes[2].ended[STALLED] == 1, step(&c, lanes, false));
	ck_assert_uint_eq(whorl_node_count(c.nodes[0]), NODES - 1);
	ck_assert_ptr_nonnull(strstr(lanes[0].text, "has ended for its node"));
	ck_assert_uint_eq(lanes[0].ended[2] + lanes[2].ended[0], 0);
	for (unsigned id = 0; id < NODES; id++)
		lanes[id].transport->ops->destroy(lanes[id].transport, false);
	cluster_free(&c);
}

TEST_SUITE("group lanes")
