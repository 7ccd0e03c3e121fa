/* test_session_lanes.c - lanes, on a wire in memory (fake_wire.h): node 0 has its own session and that of its lane 2, nodes 1 and 2 are
 * played here. */
#include "tests/support/fake_wire.h"

#define LANE 2
#define BIT (UINT64_C(1) << (LANE - 1))
#define LIFE 201 /* of a node that is played; the next are those after it */

static struct fake_net net;
static struct fake_node lane; /* of node 0 */

static void open_lane(void)
{
	const struct wh_transport_config config = {
		.env = &net.fake.env, .group = "g", .nodes = FAKE_NODES, .incarnation = fake_life(0)};
	const struct wh_session_setup setup = {.config = &config,
					       .lanes = net.node[0].lanes,
					       .lane = LANE,
					       .name = "lane",
					       .version = FAKE_VERSION,
					       .wire_ops = &lane.wire_ops,
					       .wire = &lane.wire,
					       .plane_ops = &lane.plane_ops,
					       .transport = &lane.transport};
	struct wh_error err;

	ck_assert_int_eq(wh_session_new(&setup, &lane.session, &err), WHORL_OK);
	ck_assert_int_eq(wh_session_open_lane(lane.session, &err), WHORL_OK);
}

static void setup(void)
{
	fake_net_init(&net);
	lane = net.node[0];
	net.node[0].lanes = wh_lanes_new(&net.node[0].transport, FAKE_NODES);
	ck_assert_ptr_nonnull(net.node[0].lanes);
	fake_open(&net, 0, fake_life(0));
	open_lane();
}

static void end_lane(void)
{
	wh_session_free(lane.session, false);
	lane.session = NULL;
}

static void teardown(void)
{
	end_lane();
	wh_lanes_let_go(net.node[0].lanes, false);
	fake_net_free(&net);
}

static void take_events(struct fake_node *n)
{
	static struct wh_transport_event event;

	while (n->session != NULL && wh_session_next_event(n->session, &event))
		fake_take_event(n, &event);
}

static void pump(void)
{
	for (int k = 0; k < 12; k++) {
		fake_hear(&net);
		fake_take_events(&net);
		fake_hear_one(&lane);
		take_events(&lane);
	}
}

/* Time goes on for the lane too. */
static void advance(uint64_t ns)
{
	uint64_t until = net.fake.now_ns + ns;

	pump();
	while (net.fake.now_ns < until) {
		uint64_t next = lane.wire.alarm_ns != 0 && lane.wire.alarm_ns < until ? lane.wire.alarm_ns : until;

		fake_advance(&net, next > net.fake.now_ns ? next - net.fake.now_ns : 0);
		if (lane.wire.alarm_ns != 0 && lane.wire.alarm_ns <= net.fake.now_ns)
			lane.wire.alarm_ns = 0;
		if (lane.session != NULL)
			(void)wh_session_on_timer(lane.session); /* an alarm may come for nothing */
		pump();
	}
}

/* A played node calls node 0, and the two meet. What it says of itself then, and is told, is still to come. */
static struct fake_end *meet(uint32_t node, uint64_t life, uint64_t call)
{
	struct fake_end *end = fake_call(&net, node, 0);

	fake_say_hello(end, node, life, call);
	pump();
	fake_expect(end, WH_MESSAGE_HELLO);
	fake_say_plain(end, WH_MESSAGE_TAKEN, 0);
	pump();
	ck_assert_int_eq(fake_state(&net, 0, node), WH_PEER_MET);
	return end;
}

/* The same, and it has lanes, of which it is told that node 0 has. */
static struct fake_end *meet_with_lanes(uint32_t node, uint64_t life, uint64_t open)
{
	struct fake_end *end = meet(node, life, life);
	struct wh_message m;

	ck_assert_int_eq(fake_next(end, &m), WH_MESSAGE_LANES);
	ck_assert_uint_eq(m.head.number, BIT);
	fake_say_plain(end, WH_MESSAGE_LANES, open);
	advance(WH_NS_PER_MS);
	return end;
}

/* All that have called a played node so far. */
static void drop_callers(uint32_t node)
{
	struct fake_end *end;

	while ((end = fake_accept(&net, node)) != NULL)
		fake_close_end(end);
}

static enum wh_peer_state state(uint32_t node)
{
	return wh_session_peer(lane.session, node)->state;
}

static struct fake_end *call_lane_as(const struct wh_hello *hello, int fd)
{
	struct fake_end *end = fake_call(&net, hello->node, 0);

	fake_say_hello_with(end, hello, 0, fd);
	pump();
	return end;
}

static struct fake_end *call_lane(uint32_t node, uint64_t life, uint64_t call)
{
	struct wh_hello hello = fake_hello(node, life, call);

	hello.lane = LANE;
	return call_lane_as(&hello, -1);
}

/* Node 1 is here, and has the lane, but calls it itself. */
static struct fake_end *meet_on_lane(struct fake_end **of_node)
{
	struct fake_end *end;

	*of_node = meet(1, LIFE, LIFE);
	end = call_lane(1, LIFE, LIFE + 1);
	fake_expect(end, WH_MESSAGE_HELLO);
	fake_say_plain(end, WH_MESSAGE_TAKEN, 0);
	pump();
	ck_assert_int_eq(state(1), WH_PEER_MET);
	ck_assert_uint_eq(lane.events[WH_EVENT_PEER_MET], 1);
	ck_assert_uint_eq(lane.incarnations[WH_EVENT_PEER_MET], LIFE);
	return end;
}

/* ---- calling ---------------------------------------------------------------------------------------------------------- */

TEST_CASE("lanes", .setup = setup, .teardown = teardown);

TEST(it_calls_those_that_are_here_and_have_it)
{
	struct fake_end *of_node, *called;
	struct wh_hello hello;
	struct wh_message m;

	net.node[1].wire.listens = net.node[2].wire.listens = true;
	advance(10 * WH_NS_PER_S);
	ck_assert_uint_eq(lane.wire.connects, 0);
	drop_callers(1);
	drop_callers(2);
	net.node[2].wire.listens = false;
	of_node = meet(1, LIFE, 1);
	advance(200 * WH_NS_PER_S);
	fake_say_plain(of_node, WH_MESSAGE_LANES, ~BIT); /* all but this one */
	advance(200 * WH_NS_PER_S);
	ck_assert_uint_eq(lane.wire.connects, 0);
	drop_callers(1);
	fake_say_plain(of_node, WH_MESSAGE_LANES, BIT);
	advance(WH_NS_PER_MS);
	ck_assert_uint_eq(lane.wire.connects, 1);
	called = fake_accept(&net, 1);
	ck_assert_int_eq(fake_next(called, &m), WH_MESSAGE_HELLO);
	ck_assert(wh_message_take_hello(&hello, FAKE_VERSION, &m.head, m.body));
	ck_assert_uint_eq(hello.lane, LANE);
	ck_assert_uint_eq(hello.incarnation, fake_life(0));
	hello = fake_hello(1, LIFE, 0);
	hello.lane = LANE;
	fake_say_hello_with(called, &hello, 0, -1);
	pump();
	fake_expect(called, WH_MESSAGE_TAKEN);
	ck_assert_int_eq(state(1), WH_PEER_MET);
	ck_assert_uint_eq(lane.events[WH_EVENT_PEER_MET], 1);
	fake_close_end(called);
	fake_close_end(of_node);
}

/* It is called once more, then; and what is no life that is here is not met. */
TEST_LOOP(an_answer_of_another_life_or_lane_is_none, 0, 2)
{
	struct wh_hello hello = fake_hello(1, _i == 0 ? LIFE + 1 : LIFE, 0);
	struct fake_end *of_node, *called;

	net.node[1].wire.listens = true;
	of_node = meet_with_lanes(1, LIFE, BIT);
	while ((called = fake_accept(&net, 1)) != NULL && called->in == NULL)
		fake_close_end(called);
	ck_assert_ptr_nonnull(called);
	fake_expect(called, WH_MESSAGE_HELLO);
	hello.lane = _i == 0 ? LANE : LANE + 1;
	fake_say_hello_with(called, &hello, 0, -1);
	pump();
	ck_assert_int_ne(state(1), WH_PEER_MET);
	ck_assert_uint_eq(lane.events[WH_EVENT_PEER_MET], 0);
	ck_assert_uint_eq(lane.events[WH_EVENT_REFUSED], _i == 1);
	ck_assert_ptr_null(called->other);
	fake_close_end(called);
	fake_close_end(of_node);
}

/* ---- the door --------------------------------------------------------------------------------------------------------- */

TEST(a_caller_is_led_to_its_lane_with_all_it_has_said)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct fake_end *of_node = meet(1, LIFE, 1), *end, *theirs;
	struct wh_hello hello = fake_hello(1, LIFE, 2);

	hello.lane = LANE;
	end = fake_call(&net, 1, 0);
	theirs = end->other;
	fake_say_hello_with(end, &hello, 0, fd);
	fake_hear(&net);
	ck_assert_uint_gt(lane.woken, 0);
	ck_assert(!theirs->watched);
	pump();
	ck_assert_ptr_eq(theirs->taken_by, &lane.wire);
	fake_expect(end, WH_MESSAGE_HELLO);
	fake_say_plain(end, WH_MESSAGE_TAKEN, 0);
	pump();
	ck_assert_int_eq(state(1), WH_PEER_MET);
	close(fd);
	fake_close_end(end);
	fake_close_end(of_node);
}

/* It may be met, or open, soon. */
TEST_LOOP(a_caller_that_is_not_here_yet_is_hung_up, 0, 3)
{
	struct wh_hello hello = fake_hello(1, LIFE + (_i == 1), 2);
	struct fake_end *of_node = _i == 0 ? NULL : meet(1, LIFE, 1), *end;

	hello.lane = _i == 2 ? LANE + 1 : LANE; /* which is not open */
	end = fake_call(&net, 1, 0);
	fake_say_hello_with(end, &hello, 0, -1);
	fake_hear(&net);
	ck_assert_ptr_null(end->other); /* at the door already */
	pump();
	fake_expect(end, 0);
	ck_assert_ptr_null(lane.session == NULL ? NULL : wh_session_peer(lane.session, 1)->conn);
	ck_assert_uint_eq(lane.events[WH_EVENT_REFUSED], 0);
	fake_close_end(end);
	if (of_node != NULL)
		fake_close_end(of_node);
}

TEST(a_caller_whose_life_ends_on_the_way_is_hung_up)
{
	struct fake_end *of_node = meet(1, LIFE, 1), *end = fake_call(&net, 1, 0);
	struct wh_hello hello = fake_hello(1, LIFE, 2);

	hello.lane = LANE;
	fake_say_hello_with(end, &hello, 0, -1);
	fake_hear(&net);
	ck_assert_ptr_nonnull(end->other);
	fake_close_end(of_node);
	fake_hear(&net); /* the node knows, and the lane has not looked yet */
	ck_assert_int_ne(fake_state(&net, 0, 1), WH_PEER_MET);
	pump();
	ck_assert_ptr_null(end->other);
	fake_expect(end, 0);
	fake_close_end(end);
}

static bool admits_none(const struct wh_conn *c, uint32_t node, uint64_t incarnation,
			char reason[WH_MESSAGE_REASON_BYTES])
{
	(void)c, (void)node, (void)incarnation;
	snprintf(reason, WH_MESSAGE_REASON_BYTES, "not proven");
	return false;
}

TEST_LOOP(a_caller_that_is_foreign_or_unproven_is_told, 0, 2)
{
	struct fake_end *of_node = meet(1, LIFE, 1), *end;
	struct wh_hello hello = fake_hello(1, LIFE, 2);
	uint64_t complaints[WH_COMPLAINTS];
	struct wh_message m;

	hello.lane = LANE;
	if (_i == 0)
		strcpy(hello.group, "another");
	else
		net.node[0].wire_ops.admits = admits_none;
	end = call_lane_as(&hello, -1);
	ck_assert_int_eq(fake_next(end, &m), WH_MESSAGE_REFUSED);
	wh_session_complaints(net.node[0].session, complaints);
	ck_assert_uint_eq(complaints[_i == 0 ? WH_COMPLAINT_FOREIGN : WH_COMPLAINT_UNPROVEN], 1);
	ck_assert_int_eq(state(1), WH_PEER_ABSENT);
	fake_close_end(end);
	fake_close_end(of_node);
}

/* A node that calls anew has given up; so there is one for each node at most, however long the lane does not look. */
TEST_LOOP(of_two_callers_of_a_node_the_later_waits, 0, 2)
{
	struct fake_end *of_node = meet(1, LIFE, 1), *ends[3];
	struct wh_hello hello = fake_hello(1, LIFE, 2);
	static bool closed[3]; /* ends outlive this function */

	hello.lane = LANE;
	for (int k = 0; k < 3; k++, hello.call++) {
		ends[k] = fake_call(&net, 1, 0);
		ends[k]->other->closed = &closed[k];
		fake_say_hello_with(ends[k], &hello, 0, -1);
		fake_hear(&net);
	}
	ck_assert(closed[0] && closed[1] && !closed[2]);
	if (_i == 0) {
		pump();
		fake_expect(ends[2], WH_MESSAGE_HELLO);
	} else {
		end_lane(); /* nothing is left of it */
		ck_assert(closed[2]);
	}
	for (int k = 0; k < 3; k++)
		fake_close_end(ends[k]);
	fake_close_end(of_node);
}

/* ---- ends ------------------------------------------------------------------------------------------------------------- */

TEST_LOOP(what_ends_for_the_node_ends_for_its_lane, 0, 4)
{
	struct fake_end *of_node, *end = meet_on_lane(&of_node);

	if (_i == 0)
		fake_close_end(of_node);
	else if (_i == 1)
		fake_say_plain(of_node, WH_MESSAGE_LEAVE, 0);
	else if (_i == 2)
		wh_session_lanes_part(net.node[0].session, 1, LIFE);
	else
		fake_kill(&net, 0);
	pump();
	ck_assert_uint_eq(lane.events[WH_EVENT_PEER_DOWN], _i != 1);
	ck_assert_uint_eq(lane.events[WH_EVENT_PEER_LEFT], _i == 1);
	ck_assert_int_eq(state(1), WH_PEER_ABSENT);
	ck_assert_ptr_null(end->other);
	fake_close_end(end);
	if (_i != 0)
		fake_close_end(of_node);
	if (_i == 2) { /* it is here still, for the node; and not for the lane */
		end = call_lane(1, LIFE, LIFE + 2);
		ck_assert_ptr_null(end->other);
		fake_close_end(end);
	}
}

/* A part that is meant for a life that has ended does nothing to the next. */
TEST(another_life_is_met_anew)
{
	struct fake_end *of_node, *end = meet_on_lane(&of_node);

	fake_close_end(of_node);
	pump();
	fake_close_end(end);
	of_node = meet(1, LIFE + 1, 1);
	wh_session_lanes_part(net.node[0].session, 1, LIFE);
	end = call_lane(1, LIFE + 1, 2);
	fake_expect(end, WH_MESSAGE_HELLO);
	fake_say_plain(end, WH_MESSAGE_TAKEN, 0);
	pump();
	ck_assert_int_eq(state(1), WH_PEER_MET);
	ck_assert_uint_eq(lane.incarnations[WH_EVENT_PEER_MET], LIFE + 1);
	ck_assert_uint_eq(lane.events[WH_EVENT_PEER_DOWN], 1);
	fake_close_end(end);
	fake_close_end(of_node);
}

/* Its own connection has ended: that life is not met again on it, nor called, though its node has it. */
TEST(a_lane_ends_alone)
{
	struct fake_end *of_node, *end = meet_on_lane(&of_node);
	uint32_t connects;

	net.node[1].wire.listens = true;
	fake_close_end(end);
	pump();
	ck_assert_uint_eq(lane.events[WH_EVENT_PEER_DOWN], 1);
	ck_assert_int_eq(fake_state(&net, 0, 1), WH_PEER_MET);
	fake_say_plain(of_node, WH_MESSAGE_LANES, BIT);
	connects = lane.wire.connects;
	advance(60 * WH_NS_PER_S);
	ck_assert_uint_eq(lane.wire.connects, connects);
	fake_close_end(of_node);
}

TEST_LOOP(what_is_of_a_group_has_no_place_on_a_lane, 0, 8)
{
	static const uint8_t kinds[] = {WH_MESSAGE_MAPPED, WH_MESSAGE_LANES,  WH_MESSAGE_TAKEN, WH_MESSAGE_CONTROL,
					WH_MESSAGE_OFFER,  WH_MESSAGE_STREAM, WH_MESSAGE_OWN,   FAKE_OWN_KIND};
	const struct wh_opening opening = {FAKE_VERSION, 1, LIFE, fake_life(0), 5};
	const struct wh_offer offer = {.key = 1, .members = 2};
	unsigned char message[WH_MESSAGE_MAX] = {0};
	struct fake_end *of_node, *end = meet_on_lane(&of_node);
	size_t bytes = wh_message_put_plain(message, kinds[_i], 0);

	if (kinds[_i] == WH_MESSAGE_OFFER)
		bytes = wh_message_put_offer(message, &offer, 0);
	if (kinds[_i] == WH_MESSAGE_STREAM)
		bytes = wh_message_put_opening(message, &opening);
	fake_say(end, message, bytes);
	pump();
	ck_assert_uint_eq(lane.events[WH_EVENT_PEER_DOWN], kinds[_i] != FAKE_OWN_KIND);
	ck_assert_uint_eq(lane.events[WH_EVENT_CONTROL] + lane.events[WH_EVENT_STREAM] + lane.taken_streams, 0);
	ck_assert_int_eq(fake_state(&net, 0, 1), WH_PEER_MET); /* its node goes on */
	fake_close_end(end);
	fake_close_end(of_node);
}

/* ---- telling ---------------------------------------------------------------------------------------------------------- */

TEST(peers_are_told_of_lanes_as_they_open_and_close)
{
	struct fake_end *end;
	struct wh_message m;

	end_lane();
	end = meet(1, LIFE, 1);
	fake_expect(end, 0); /* there is none to tell of */
	fake_close_end(end);
	pump();
	wh_lanes_let_go(net.node[0].lanes, false);
	fake_kill(&net, 0);
	net.node[0].lanes = wh_lanes_new(&net.node[0].transport, FAKE_NODES);
	fake_open(&net, 0, fake_life(0));
	end = meet(1, LIFE, 1);
	net.node[0].woken = 0;
	open_lane();
	ck_assert_uint_eq(net.node[0].woken, 1);
	end->other->deaf = true; /* there is no room */
	pump();
	fake_expect(end, 0);
	end->other->deaf = false;
	advance(10 * WH_NS_PER_MS);
	ck_assert_int_eq(fake_next(end, &m), WH_MESSAGE_LANES);
	ck_assert_uint_eq(m.head.number, BIT);
	pump();
	fake_expect(end, 0); /* once */
	end_lane();
	advance(10 * WH_NS_PER_MS);
	ck_assert_int_eq(fake_next(end, &m), WH_MESSAGE_LANES);
	ck_assert_uint_eq(m.head.number, 0);
	fake_close_end(end);
}

TEST(a_lane_is_opened_once_in_a_life)
{
	struct wh_lanes *lanes = net.node[0].lanes;
	struct wh_error err;

	ck_assert_int_eq(wh_lanes_check(0, &err), WHORL_INVALID);
	ck_assert_int_eq(wh_lanes_check(WH_LANES_MAX + 1, &err), WHORL_INVALID);
	ck_assert_int_eq(wh_lanes_check(WH_LANES_MAX, &err), WHORL_OK);
	ck_assert_int_eq(wh_lanes_open(lanes, LANE, &lane.transport, &err), WHORL_INVALID);
	end_lane();
	ck_assert_uint_eq(wh_lanes_open_here(lanes), 0);
	ck_assert_int_eq(wh_lanes_open(lanes, LANE, &lane.transport, &err), WHORL_INVALID);
	ck_assert_int_eq(wh_lanes_open(lanes, WH_LANES_MAX, &lane.transport, &err), WHORL_OK);
	ck_assert_uint_eq(wh_lanes_open_here(lanes), UINT64_C(1) << 63);
	wh_lanes_close(lanes, WH_LANES_MAX, false);
	fake_kill(&net, 0);
	ck_assert_int_eq(wh_lanes_open(lanes, 5, &lane.transport, &err), WHORL_MEMBER_GONE);
}

/* From the first view of the node on: also those that were met before. */
TEST(connections_hold_as_those_of_the_node_do)
{
	struct fake_end *of_node, *end = meet_on_lane(&of_node);

	ck_assert(!end->other->holds);
	wh_session_past(net.node[0].session, 1);
	pump();
	ck_assert(end->other->holds);
	fake_close_end(end);
	fake_close_end(of_node);
}

TEST_SUITE("session lanes")
