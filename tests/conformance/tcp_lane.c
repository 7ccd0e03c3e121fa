/* tcp_lane.c - a lane of a node on tcp, and a peer that is played frame by frame: what gets to it by the node's door, what does not,
 * and what ends its connection. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/conformance/tcp_raw.h"
#include "transport/remote.h"

#define LANE 4
#define NAME 7
#define BYTES 64

static unsigned char frame[WH_HEAD_BYTES + WH_BODY_MAX], body[WH_BODY_MAX];

struct lane { /* of the node */
	struct raw *raw;
	struct wh_transport *transport;
	struct wh_region *region;
	uint32_t met, left, down, refused;
	char text[256]; /* of the last end */
};

static void take_events(struct lane *lane)
{
	static struct wh_transport_event event;

	while (lane->transport->ops->next_event(lane->transport, &event)) {
		lane->met += event.kind == WH_EVENT_PEER_MET;
		lane->left += event.kind == WH_EVENT_PEER_LEFT;
		lane->down += event.kind == WH_EVENT_PEER_DOWN;
		lane->refused += event.kind == WH_EVENT_REFUSED;
		if (event.kind != WH_EVENT_PEER_MET)
			snprintf(lane->text, sizeof(lane->text), "%.*s", (int)sizeof(lane->text) - 1, event.text);
	}
}

static void lane_step(struct lane *lane)
{
	const struct wh_transport_ops *ops = lane->transport->ops;

	(void)ops->take(lane->transport);
	ops->flush(lane->transport);
	(void)ops->service(lane->transport);
	take_events(lane);
}

#define LANE_UNTIL(lane, condition) RAW_UNTIL((lane)->raw, (lane_step(lane), (condition)))

static struct lane begin(struct raw *raw)
{
	struct lane lane = {.raw = raw};
	struct wh_error err;

	ck_assert_int_eq(raw->node->ops->lane_open(raw->node, LANE, &lane.transport, &err), WHORL_OK);
	ck_assert_int_eq(lane.transport->ops->remote->region_open(lane.transport, NAME, BYTES, &lane.region, &err),
			 WHORL_OK);
	return lane;
}

static void end(struct lane *lane)
{
	lane->transport->ops->destroy(lane->transport, false);
	raw_free(lane->raw);
}

/* What comes from the node next, while the lane is driven as well. False: it has closed. */
static bool hear(struct lane *lane, int s, struct wh_message_head *head)
{
	ssize_t n = -1;

	LANE_UNTIL(lane, (n = recv(s, frame, 1, MSG_DONTWAIT | MSG_PEEK)) >= 0);
	return n > 0 && raw_receive(lane->raw, s, head, body);
}

static void say_lane_hello(const struct raw *raw, int s, uint64_t incarnation, uint64_t call)
{
	struct wh_hello hello = raw_hello(raw);

	hello.incarnation = incarnation;
	hello.lane = LANE;
	hello.call = call;
	raw_say_hello(s, &hello);
}

/* The played node calls the lane, with the key if there is one, and meets it. */
static int meet_on_lane(struct lane *lane)
{
	struct wh_message_head head;
	int s = raw_call(lane->raw);

	say_lane_hello(lane->raw, s, RAW_INCARNATION, 2);
	ck_assert(hear(lane, s, &head));
	ck_assert_int_eq(head.kind, WH_MESSAGE_HELLO);
	ck_assert_int_eq(head.flags, LANE);
	raw_send(s, frame, wh_message_put_plain(frame, WH_MESSAGE_TAKEN, 0));
	LANE_UNTIL(lane, lane->met == 1);
	return s;
}

/* ---- the door --------------------------------------------------------------------------------------------------------- */

TEST_CASE("lanes", .timeout_s = 60);

/* With the key and without: it is led to its lane, which can use it. The node tells of its lanes on its own connection. */
TEST_LOOP(a_caller_gets_to_its_lane, 0, 2)
{
	struct lane lane = begin(_i == 0 ? raw_make() : raw_make_with_key());
	int of_node = raw_meet(lane.raw, RAW_INCARNATION), s;
	struct wh_message_head head;

	ck_assert(raw_receive(lane.raw, of_node, &head, body));
	ck_assert_int_eq(head.kind, WH_MESSAGE_LANES);
	ck_assert_uint_eq(head.number, UINT64_C(1) << (LANE - 1));
	s = meet_on_lane(&lane);
	ck_assert_int_eq(lane.region->ops->grant(lane.region, RAW_ME), WHORL_OK);
	ck_assert(hear(&lane, s, &head));
	ck_assert_int_eq(head.kind, WH_TCP_GRANT);
	raw_send(s, frame,
		 wh_tcp_put_remote(frame,
				   &(struct wh_remote_op){.kind = WH_REMOTE_FETCH_ADD, .region = NAME, .add = 3}));
	ck_assert(hear(&lane, s, &head));
	ck_assert_int_eq(head.kind, WH_TCP_REMOTE_DONE);
	ck_assert_uint_eq(lane.region->words[0], 3);
	close(of_node); /* what ends for the node ends for the lane */
	LANE_UNTIL(&lane, lane.down == 1);
	close(s);
	end(&lane);
}

/* Which has the key, and has proven to be another node, or another life of it. */
TEST_LOOP(a_caller_is_what_it_has_proven_to_be, 0, 3)
{
	const struct wh_secure_peer proven[] = {{.node = 2, .incarnation = RAW_INCARNATION},
						{.node = RAW_ME, .incarnation = RAW_INCARNATION + 1},
						{.node = WH_SECURE_VISITOR}};
	struct lane lane = begin(raw_make_with_key());
	int of_node = raw_meet(lane.raw, RAW_INCARNATION), s = raw_connect(lane.raw);
	struct wh_message_head head;
	struct wh_refused refused;

	raw_prove(lane.raw, s, proven[_i]);
	say_lane_hello(lane.raw, s, RAW_INCARNATION, 2);
	ck_assert(hear(&lane, s, &head));
	ck_assert_int_eq(head.kind, WH_MESSAGE_REFUSED);
	ck_assert(wh_message_take_refused(&refused, &head, body));
	ck_assert_ptr_nonnull(strstr(refused.reason, "says that it is node 1"));
	ck_assert(!hear(&lane, s, &head));
	ck_assert_uint_eq(lane.met + lane.refused + lane.raw->down, 0);
	close(s);
	close(of_node);
	end(&lane);
}

/* What it has to say of its greeting. */
static void say_pending(int s, struct wh_secure *secure)
{
	size_t count;
	const void *bytes = wh_secure_pending(secure, &count);

	if (count == 0)
		return;
	raw_send(s, bytes, count);
	wh_secure_sent(secure, count);
}

/* With another key, or none: it does not get so far as to say what it wants. */
TEST_LOOP(without_the_key_there_is_no_lane, 0, 2)
{
	struct lane lane = begin(raw_make_with_key());
	int of_node = raw_meet(lane.raw, RAW_INCARNATION), s = raw_connect(lane.raw);
	const struct wh_secure_ground ground = {.key = _i == 0 ? raw_key("sixteen other bytes of one") : NULL,
						.group = lane.raw->group,
						.version = WH_TCP_VERSION,
						.node = RAW_ME,
						.incarnation = RAW_INCARNATION};
	struct wh_secure *secure;
	unsigned char byte;
	ssize_t n = -1;

	ck_assert_int_eq(wh_secure_connect(&ground, 0, &secure, NULL), WHORL_OK);
	while (n != 0) {
		say_pending(s, secure);
		LANE_UNTIL(&lane, (n = recv(s, &byte, 1, MSG_DONTWAIT)) >= 0);
		if (n > 0 && wh_secure_wants(secure) > 0)
			(void)wh_secure_feed(secure, &byte, 1);
		ck_assert_int_ne(wh_secure_state(secure), WH_SECURE_PROVEN);
	}
	ck_assert_int_eq(wh_secure_state(secure), WH_SECURE_REFUSED);
	ck_assert_uint_eq(lane.met + lane.refused + lane.raw->down, 0);
	wh_secure_free(secure);
	wh_secure_key_free(ground.key);
	close(s);
	close(of_node);
	end(&lane);
}

/* ---- what a lane hears ------------------------------------------------------------------------------------------------- */

static size_t put_garbage(int which)
{
	const struct wh_message_head push = {.kind = WH_MESSAGE_PUSH, .words = 0, .ranges = 0};
	const struct wh_opening opening = {.version = WH_TCP_VERSION, .node = RAW_ME, .incarnation = RAW_INCARNATION};
	const struct wh_offer offer = {.key = 1, .members = 2};

	switch (which) {
	case 0: /* no head */
		memset(frame, 0xee, WH_HEAD_BYTES);
		return WH_HEAD_BYTES;
	case 1:
		wh_message_head_put(frame, &push);
		return WH_HEAD_BYTES;
	case 2:
		return wh_message_put_control(frame, "hello", 5);
	case 3:
		return wh_message_put_offer(frame, &offer, 0);
	case 4:
		return wh_message_put_opening(frame, &opening);
	case 5:
		return wh_message_put_plain(frame, WH_MESSAGE_LANES, 1);
	default: /* an answer to nothing */
		return wh_tcp_put_done(frame, WHORL_OK, 0, NULL, 0);
	}
}

TEST_LOOP(garbage_ends_the_lane_and_nothing_else, 0, 7)
{
	struct lane lane = begin(raw_make());
	int of_node = raw_meet(lane.raw, RAW_INCARNATION), s = meet_on_lane(&lane);
	struct wh_message_head head;

	raw_send(s, frame, put_garbage(_i));
	LANE_UNTIL(&lane, lane.down == 1);
	ck_assert_ptr_nonnull(strstr(lane.text, "broken the protocol"));
	ck_assert(!hear(&lane, s, &head));
	ck_assert_uint_eq(lane.raw->down + lane.raw->controls + lane.raw->streams, 0);
	raw_send(of_node, frame, wh_message_put_control(frame, "12345678", 8));
	RAW_UNTIL(lane.raw, lane.raw->controls == 1);
	close(s);
	close(of_node);
	end(&lane);
}

TEST_SUITE("tcp-lane")

int main(void)
{
	return test_main(suite());
}
