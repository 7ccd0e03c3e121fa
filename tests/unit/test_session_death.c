/* test_session_death.c - a proof that the process of a node has ended (T12), and what a session tells of it: on a wire in memory. */
#include "tests/support/fake_wire.h"

#define LIFE 201 /* of a node that is played; the next are those after it */

static struct fake_net net;

static void setup(void)
{
	fake_net_init(&net);
}

static void teardown(void)
{
	fake_net_free(&net);
}

static struct fake_node *begin(void)
{
	struct fake_node *n = fake_open(&net, 0, fake_life(0));

	fake_advance(&net, WH_NS_PER_MS);
	return n;
}

static void hang_up(struct fake_end *end)
{
	fake_close_end(end);
	fake_pump(&net);
}

static void say_number(struct fake_end *end, uint32_t number)
{
	unsigned char message[WH_HEAD_BYTES + sizeof(number)];

	fake_say(end, message, wh_message_put_control(message, &number, sizeof(number)));
}

/* The next event is of that kind, and of that life. */
static void expect_event(struct wh_session *s, enum wh_transport_event_kind kind, uint64_t incarnation)
{
	static struct wh_transport_event event;

	ck_assert(wh_session_next_event(s, &event));
	ck_assert_int_eq(event.kind, kind);
	ck_assert_uint_eq(event.node, 1);
	ck_assert_uint_eq(event.incarnation, incarnation);
}

static void expect_no_event(struct wh_session *s)
{
	static struct wh_transport_event event;

	ck_assert(!wh_session_next_event(s, &event));
}

TEST_CASE("death", .setup = setup, .teardown = teardown);

/* As most often: the connection has ended, and the proof comes behind it. */
TEST(behind_the_end_of_the_connection)
{
	struct fake_node *n = begin();

	hang_up(fake_meet(&net, 1, LIFE, 1, 0));
	ck_assert_uint_eq(n->incarnations[WH_EVENT_PEER_DOWN], LIFE);
	ck_assert_uint_eq(n->events[WH_EVENT_PEER_DEAD], 0);
	ck_assert(wh_session_prove_dead(n->session, 1, LIFE));
	fake_take_events(&net);
	ck_assert_uint_eq(n->incarnations[WH_EVENT_PEER_DEAD], LIFE);
	ck_assert_uint_eq(n->events[WH_EVENT_PEER_DEAD], 1);
	ck_assert_uint_eq(n->events[WH_EVENT_PEER_DOWN], 1);
}

/* What it has said, that it has ended, that it is dead: though its connection has not ended (0), or that has not been looked at (1). */
TEST_LOOP(its_words_come_first, 0, 2)
{
	struct wh_session *s = begin()->session;
	struct fake_end *end = fake_meet(&net, 1, LIFE, 1, 0);

	say_number(end, 7);
	if (_i == 1)
		fake_close_end(end);
	ck_assert(wh_session_prove_dead(s, 1, LIFE));
	expect_event(s, WH_EVENT_CONTROL, LIFE);
	expect_event(s, WH_EVENT_PEER_DOWN, LIFE);
	expect_event(s, WH_EVENT_PEER_DEAD, LIFE);
	expect_no_event(s);
	if (_i == 0)
		hang_up(end);
	expect_no_event(s);
}

TEST_LOOP(one_that_has_left_may_be_proven_dead, 0, 2)
{
	struct wh_session *s = begin()->session;
	struct fake_end *end = fake_meet(&net, 1, LIFE, 1, 0);

	end->other->leaves = _i == 0;
	if (_i == 1)
		fake_say_plain(end, WH_MESSAGE_LEAVE, 0);
	fake_close_end(end);
	ck_assert(wh_session_prove_dead(s, 1, LIFE));
	expect_event(s, WH_EVENT_PEER_LEFT, LIFE);
	expect_event(s, WH_EVENT_PEER_DEAD, LIFE);
	expect_no_event(s);
}

/* It waits for room, and for all that has come. */
TEST(it_waits_for_room)
{
	static struct wh_transport_event event;
	struct wh_session *s = begin()->session;
	struct fake_end *end = fake_meet(&net, 1, LIFE, 1, 0);
	uint32_t taken = 0, asked = 0;

	for (uint32_t k = 0; k < 2 * WH_SESSION_EVENTS; k++)
		say_number(end, k);
	while (!wh_session_prove_dead(s, 1, LIFE)) {
		uint32_t number;

		ck_assert_uint_le(s->event_queue.in - s->event_queue.out, WH_SESSION_EVENTS);
		ck_assert_uint_lt(asked++, 4 * WH_SESSION_EVENTS);
		ck_assert(wh_session_next_event(s, &event));
		ck_assert_int_eq(event.kind, WH_EVENT_CONTROL);
		memcpy(&number, event.text, sizeof(number));
		ck_assert_uint_eq(number, taken++);
	}
	ck_assert_uint_gt(asked, 0);
	for (; taken < 2 * WH_SESSION_EVENTS; taken++)
		expect_event(s, WH_EVENT_CONTROL, LIFE);
	expect_event(s, WH_EVENT_PEER_DOWN, LIFE);
	expect_event(s, WH_EVENT_PEER_DEAD, LIFE);
	expect_no_event(s);
	hang_up(end);
}

/* Others have had their turn: there is more of it. */
TEST(it_waits_for_the_rest)
{
	struct wh_session *s = begin()->session;
	struct fake_end *end = fake_meet(&net, 1, LIFE, 1, 0), *at = end->other;

	at->base.more = true;
	ck_assert(!wh_session_prove_dead(s, 1, LIFE));
	expect_no_event(s);
	ck_assert_int_eq(fake_state(&net, 0, 1), WH_PEER_MET);
	at->base.more = false;
	ck_assert(wh_session_prove_dead(s, 1, LIFE));
	expect_event(s, WH_EVENT_PEER_DOWN, LIFE);
	expect_event(s, WH_EVENT_PEER_DEAD, LIFE);
	hang_up(end);
}

/* Another is in its place: that one stays, and can be spoken to. */
TEST(the_next_life_stays)
{
	struct fake_node *n = begin();
	struct fake_end *next;

	hang_up(fake_meet(&net, 1, LIFE, 1, 0));
	next = fake_meet(&net, 1, LIFE + 1, 1, 0);
	ck_assert(wh_session_prove_dead(n->session, 1, LIFE));
	fake_pump(&net);
	ck_assert_uint_eq(n->incarnations[WH_EVENT_PEER_DEAD], LIFE);
	ck_assert_uint_eq(n->events[WH_EVENT_PEER_DOWN], 1);
	ck_assert_int_eq(fake_state(&net, 0, 1), WH_PEER_MET);
	ck_assert_int_eq(wh_session_control_send(n->session, 1, "", 0), WHORL_OK);
	hang_up(next);
}

/* It had refused this node, which was its end. */
TEST(behind_a_refusal)
{
	const struct wh_refused refused = {LIFE, "not with me"};
	unsigned char message[WH_REFUSED_MAX];
	struct wh_session *s = begin()->session;
	struct fake_end *end = fake_meet(&net, 1, LIFE, 1, 0);

	fake_say(end, message, wh_message_put_refused(message, FAKE_VERSION, &refused));
	ck_assert(wh_session_prove_dead(s, 1, LIFE));
	expect_event(s, WH_EVENT_REFUSED, LIFE);
	expect_event(s, WH_EVENT_PEER_DEAD, LIFE);
	expect_no_event(s);
	hang_up(end);
}

TEST(a_node_that_has_left_is_told_nothing)
{
	struct wh_session *s = begin()->session;
	struct fake_end *end = fake_meet(&net, 1, LIFE, 1, 0);

	wh_session_leave(s);
	ck_assert(wh_session_prove_dead(s, 1, LIFE));
	expect_no_event(s);
	hang_up(end);
}

TEST_SUITE("session and death")
