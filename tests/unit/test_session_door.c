/* test_session_door.c - strangers, visitors and streams, on a wire in memory (fake_wire.h): node 0 has the session. */
#include "tests/support/fake_wire.h"

#define LIFE 201 /* of the nodes that are played */
#define PLACES WH_SESSION_STRANGERS
#define KEPT (2 * FAKE_NODES) /* places for hosts of the configuration */

static struct fake_net net;
static struct fake_node *me;
static bool gone[PLACES + KEPT + 8];

static void setup(void)
{
	fake_net_init(&net);
	memset(gone, 0, sizeof(gone));
	me = fake_open(&net, 0, fake_life(0));
	fake_advance(&net, WH_NS_PER_MS);
}

static void teardown(void)
{
	fake_net_free(&net);
}

/* A caller from that host, of which it is told when the session hangs it up. */
static struct fake_end *come(uint32_t number, uint64_t source, bool configured)
{
	struct fake_end *end = fake_call(&net, 1, 0);

	end->other->base.source = source;
	end->other->base.configured = configured;
	end->other->closed = &gone[number];
	return end;
}

static uint32_t strangers(void)
{
	uint32_t count = 0;

	for (uint32_t slot = 0; slot < wh_session_slots(me->session); slot++)
		count += wh_session_conn(me->session, slot) != NULL &&
			 wh_session_conn(me->session, slot)->node == WH_NO_NODE;
	return count;
}

/* That is not known to be anything yet; each a nanosecond after the one before. */
static void come_many(struct fake_end *ends[], uint32_t from, uint32_t to, uint64_t source, bool configured)
{
	for (uint32_t i = from; i < to; i++) {
		ends[i] = come(i, source, configured);
		net.fake.now_ns++;
		fake_pump(&net);
	}
}

static void close_all(struct fake_end *ends[], uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		fake_close_end(ends[i]);
	fake_pump(&net);
}

static uint32_t first_gone(uint32_t count)
{
	uint32_t i = 0;

	while (i < count && !gone[i])
		i++;
	return i;
}

/* ---- places --------------------------------------------------------------------------------------------------------- */

/* The oldest that has said nothing goes; the last that comes has a place. */
START_TEST(the_silent_give_way_first)
{
	static struct fake_end *ends[PLACES + 2];

	come_many(ends, 0, PLACES, 9, false);
	for (uint32_t i = 0; i < PLACES; i++)
		ends[i]->other->base.spoke = i != 100 && i != 200;
	come_many(ends, PLACES, PLACES + 1, 8, false);
	ck_assert_uint_eq(first_gone(PLACES), 100);
	come_many(ends, PLACES + 1, PLACES + 2, 8, false);
	ck_assert(gone[200] && !gone[PLACES] && !gone[PLACES + 1]);
	ck_assert_uint_eq(strangers(), PLACES);
	close_all(ends, PLACES + 2);
}
END_TEST

/* If all have spoken: the oldest of the host that has most places. */
START_TEST(the_source_with_most_gives_way)
{
	static struct fake_end *ends[PLACES + 1];

	come_many(ends, 0, 100, 7, false);
	come_many(ends, 100, PLACES, 8, false);
	for (uint32_t i = 0; i < PLACES; i++)
		ends[i]->other->base.spoke = true;
	come_many(ends, PLACES, PLACES + 1, 7, false);
	ck_assert_uint_eq(first_gone(PLACES), 100);
	close_all(ends, PLACES + 1);
}
END_TEST

/* Others never take the places that are kept for hosts of the configuration. */
START_TEST(places_are_kept)
{
	static struct fake_end *ends[PLACES + KEPT + 2];

	come_many(ends, 0, PLACES, 9, false);
	come_many(ends, PLACES, PLACES + KEPT, 8, true);
	ck_assert_uint_eq(strangers(), PLACES + KEPT);
	ck_assert_uint_eq(first_gone(PLACES), PLACES);
	for (uint32_t i = 0; i < PLACES; i++)
		ends[i]->other->base.spoke = true;
	come_many(ends, PLACES + KEPT, PLACES + KEPT + 1, 9, false); /* though these are silent */
	ck_assert_uint_eq(first_gone(PLACES + KEPT), 0);
	come_many(ends, PLACES + KEPT + 1, PLACES + KEPT + 2, 8, true);
	ck_assert(gone[PLACES + KEPT] || gone[PLACES]);
	close_all(ends, PLACES + KEPT + 2);
}
END_TEST

START_TEST(the_proven_keep_their_places)
{
	static struct fake_end *ends[PLACES + 2];

	come_many(ends, 0, PLACES, 9, false);
	for (uint32_t i = 0; i < PLACES; i++)
		ends[i]->other->base.proven = i != 77; /* and it has been greeted */
	come_many(ends, PLACES, PLACES + 1, 8, false);
	ck_assert_uint_eq(first_gone(PLACES), 77);
	ends[PLACES]->other->base.proven = true;
	come_many(ends, PLACES + 1, PLACES + 2, 8, false);
	ck_assert(gone[PLACES + 1] && !gone[PLACES]); /* all have proven what they are */
	close_all(ends, PLACES + 2);
}
END_TEST

/* They say no more, but their greeting is not over: nothing is proven. */
START_TEST(half_a_greeting_proves_nothing)
{
	static struct fake_end *ends[PLACES + 1];

	me->wire.greets = WH_WIRE_LATER;
	come_many(ends, 0, PLACES, 9, false);
	for (uint32_t i = 0; i < PLACES; i++)
		ends[i]->other->base.proven = true;
	come_many(ends, PLACES, PLACES + 1, 8, false);
	ck_assert_uint_eq(first_gone(PLACES), 0);
	close_all(ends, PLACES + 1);
}
END_TEST

/* None can be accepted: that is tried again after a pause. */
START_TEST(a_listener_rests)
{
	struct fake_end *end;

	me->wire.is_broken = true;
	end = come(0, 9, false);
	fake_pump(&net);
	ck_assert(me->wire.rests);
	me->wire.is_broken = false;
	fake_advance(&net, 19 * WH_NS_PER_MS);
	ck_assert(me->wire.rests && strangers() == 0);
	fake_advance(&net, 2 * WH_NS_PER_MS);
	ck_assert(!me->wire.rests && strangers() == 1);
	fake_close_end(end);
}
END_TEST

/* ---- time ----------------------------------------------------------------------------------------------------------- */

/* A quarter of a second for one that says nothing, a second for each word; 2: it has said its last word. */
START_TEST(strangers_have_their_time)
{
	struct fake_end *end;

	me->wire.greets = WH_WIRE_LATER;
	end = come(0, 9, false);
	fake_pump(&net);
	fake_advance(&net, WH_SESSION_SILENT_NS - 2);
	ck_assert(!gone[0]);
	for (int i = 0; i < 3 * _i; i++) {
		end->other->says_word = end->other->ready = true;
		if (_i == 2 && i == 5)
			end->other->greets = WH_WIRE_DONE;
		fake_pump(&net);
		fake_advance(&net, WH_SESSION_STRANGER_NS - 2);
		ck_assert(!gone[0]);
	}
	fake_advance(&net, 2);
	ck_assert(gone[0]);
	fake_close_end(end);
}
END_TEST

/* It was this node that was long away. */
START_TEST(a_late_stranger_is_looked_at_once_more)
{
	struct fake_end *end = come(0, 9, false);

	fake_pump(&net);
	fake_say_hello(end, 1, LIFE, 1);
	net.fake.now_ns += 5 * WH_NS_PER_S;
	(void)wh_session_on_timer(me->session);
	ck_assert(!gone[0]);
	ck_assert_int_eq(fake_state(&net, 0, 1), WH_PEER_ANSWERED);
	fake_close_end(end);
	fake_pump(&net);
}
END_TEST

static void say_query(struct fake_end *end, uint32_t version)
{
	unsigned char message[WH_MESSAGE_MAX];

	fake_say(end, message, wh_message_put_query(message, version, "how?", 4));
}

/* More have asked than there is room for events: those that were not heard stay. */
START_TEST(what_finds_no_room_is_not_late)
{
	struct fake_end *ends[2 * WH_SESSION_EVENTS];
	const uint32_t count = sizeof(ends) / sizeof(ends[0]);

	come_many(ends, 0, count, 9, false);
	for (uint32_t i = 0; i < count; i++)
		say_query(ends[i], FAKE_VERSION);
	net.fake.now_ns += 5 * WH_NS_PER_S;
	(void)wh_session_on_timer(me->session);
	ck_assert(wh_session_is_full(me->session));
	ck_assert_uint_le(me->session->event_queue.in - me->session->event_queue.out, WH_SESSION_EVENTS);
	ck_assert_uint_eq(first_gone(count), count);
	for (uint32_t i = 0; i < count; i++)
		ends[i]->other->ready = ends[i]->other->base.query == 0;
	fake_pump(&net);
	ck_assert_uint_eq(me->events[WH_EVENT_QUERY], count);
	close_all(ends, count);
}
END_TEST

/* ---- visitors ------------------------------------------------------------------------------------------------------- */

START_TEST(a_visitor_gets_its_answer)
{
	struct fake_end *end = come(0, 9, false), *other = come(1, 9, false);
	struct wh_message m;
	uint64_t query;

	say_query(end, FAKE_VERSION);
	fake_pump(&net);
	ck_assert_str_eq(me->texts[WH_EVENT_QUERY], "how?");
	query = me->query;
	say_query(other, FAKE_VERSION);
	fake_advance(&net, 100 * WH_NS_PER_S); /* as long as that takes */
	ck_assert(!gone[0] && !gone[1]);
	ck_assert_uint_ne(me->query, query);
	wh_session_answer(me->session, query, "so", 2);
	ck_assert_int_eq(fake_next(end, &m), WH_MESSAGE_ANSWER);
	ck_assert(m.head.bytes == 2 && memcmp(m.body, "so", 2) == 0);
	ck_assert(gone[0] && !gone[1]);
	wh_session_answer(me->session, query, "so", 2);
	wh_session_answer(me->session, 0, "so", 2);
	fake_expect(other, 0);
	other->other->deaf = true;
	wh_session_answer(me->session, me->query, "so", 2);
	ck_assert(gone[1]);
	fake_close_end(end);
	fake_close_end(other);
}
END_TEST

/* 0: it goes; 1: it says something more; 2: it speaks another version; 3: it is none. */
START_TEST(a_visitor_that_is_not_answered)
{
	struct fake_end *end = come(0, 9, false);

	if (_i < 3)
		say_query(end, FAKE_VERSION + (_i == 2));
	else
		fake_say_plain(end, WH_MESSAGE_PING, 0);
	fake_pump(&net);
	if (_i == 1)
		fake_say_plain(end, WH_MESSAGE_PING, 0);
	if (_i == 2)
		fake_expect_refused(end, "the question is in version 8");
	if (_i == 0)
		fake_close_end(end);
	fake_pump(&net);
	ck_assert(gone[0]);
	ck_assert_uint_eq(me->events[WH_EVENT_QUERY], _i < 2);
	wh_session_answer(me->session, me->query, "so", 2);
	if (_i != 0)
		fake_close_end(end);
}
END_TEST

/* ---- streams -------------------------------------------------------------------------------------------------------- */

static struct fake_end *open_stream(uint32_t node, uint64_t incarnation, uint64_t to)
{
	const struct wh_opening opening = {FAKE_VERSION, node, incarnation, to, 66};
	unsigned char message[WH_MESSAGE_MAX];
	struct fake_end *end = come(0, 9, false);

	fake_say(end, message, wh_message_put_opening(message, &opening));
	fake_pump(&net);
	return end;
}

/* What its opener has said of having met me may still be on its way. */
START_TEST(a_stream_waits_until_its_opener_is_met)
{
	struct fake_end *end = open_stream(1, LIFE, fake_life(0)), *peer;

	ck_assert(!gone[0]);
	ck_assert_uint_eq(me->events[WH_EVENT_STREAM], 0);
	peer = fake_meet(&net, 1, LIFE, 1, 0);
	ck_assert_uint_eq(me->events[WH_EVENT_STREAM], 1);
	ck_assert(me->tag == 66 && me->incarnations[WH_EVENT_STREAM] == LIFE);
	ck_assert(gone[0]);
	fake_close_end(end);
	fake_close_end(peer);
	fake_pump(&net);
}
END_TEST

/* Nor is it forgotten where there is no room for its event when its opener is met. */
START_TEST(a_stream_waits_until_there_is_room)
{
	struct fake_end *ends[2 * WH_SESSION_EVENTS], *end = open_stream(1, LIFE, fake_life(0)), *peer;
	const uint32_t count = sizeof(ends) / sizeof(ends[0]);

	peer = fake_call(&net, 1, 0);
	fake_say_hello(peer, 1, LIFE, 1);
	fake_pump(&net);
	fake_expect(peer, WH_MESSAGE_HELLO);
	come_many(ends, 0, count, 9, false);
	for (uint32_t i = 0; i < count; i++)
		say_query(ends[i], FAKE_VERSION);
	fake_say_plain(peer, WH_MESSAGE_TAKEN, 0);
	fake_hear(&net);
	ck_assert(fake_state(&net, 0, 1) == WH_PEER_MET && wh_session_is_full(me->session));
	fake_pump(&net);
	ck_assert_uint_eq(me->events[WH_EVENT_STREAM], 1);
	close_all(ends, count);
	fake_close_end(end);
	fake_close_end(peer);
	fake_pump(&net);
}
END_TEST

/* 0: of another life of mine; 1: of this node itself; 2: of a life that has ended; 3: it is never met. */
START_TEST(a_stream_that_has_no_place)
{
	struct fake_end *end;

	if (_i == 2)
		fake_close_end(fake_meet(&net, 1, LIFE, 1, 0));
	fake_pump(&net);
	end = open_stream(_i == 1 ? 0 : 1, LIFE, fake_life(0) + (_i == 0));
	ck_assert(gone[0] == (_i < 3));
	fake_advance(&net, WH_SESSION_STRANGER_NS + WH_NS_PER_MS);
	ck_assert(gone[0]);
	ck_assert_uint_eq(me->taken_streams, 0);
	fake_close_end(end);
}
END_TEST

/* Over a peer's own connection; and one that was not taken when the session goes is closed. */
START_TEST(a_peer_opens_a_stream)
{
	const struct wh_opening opening = {FAKE_VERSION, 1, LIFE, fake_life(0), 67};
	unsigned char message[WH_MESSAGE_MAX];
	struct fake_end *peer = fake_meet(&net, 1, LIFE, 1, 0);

	fake_say(peer, message, wh_message_put_opening(message, &opening));
	fake_pump(&net);
	ck_assert(me->events[WH_EVENT_STREAM] == 1 && me->tag == 67 && me->closed_streams == 1);
	fake_say(peer, message, wh_message_put_opening(message, &opening));
	fake_hear(&net);
	ck_assert(me->taken_streams == 2 && me->closed_streams == 1);
	if (_i == 0)
		fake_kill(&net, 0);
	else
		wh_session_leave(me->session);
	ck_assert_uint_eq(me->closed_streams, 2);
	fake_close_end(peer);
}
END_TEST

/* ---- a wire that works on what has come ----------------------------------------------------------------------------- */

static void hear_of(struct fake_end *end, bool works)
{
	end->other->works = works;
	end->other->ready = true;
	fake_pump(&net);
}

/* It has spoken, and has used most of the time for its next word. */
static struct fake_end *come_late(void)
{
	struct fake_end *end;

	me->wire.greets = WH_WIRE_LATER;
	end = come(0, 9, false);
	fake_pump(&net);
	end->other->says_word = true;
	hear_of(end, false);
	fake_advance(&net, WH_SESSION_STRANGER_NS - 100 * WH_NS_PER_MS);
	return end;
}

/* Then its time goes on; or begins anew, if that was a word. */
START_TEST(what_is_worked_on_takes_no_time)
{
	struct fake_end *end = come_late();
	uint64_t left_ns = _i == 0 ? 100 * WH_NS_PER_MS : WH_SESSION_STRANGER_NS;

	hear_of(end, true);
	fake_advance(&net, 100 * WH_NS_PER_S + WH_NS_PER_S / 2); /* calls have alarms at other times */
	ck_assert(!gone[0]);
	end->other->says_word = _i == 1;
	hear_of(end, false);
	fake_advance(&net, left_ns - 10 * WH_NS_PER_MS);
	ck_assert(!gone[0]);
	fake_advance(&net, 20 * WH_NS_PER_MS);
	ck_assert(gone[0]);
	fake_close_end(end);
}
END_TEST

/* Its time is over, and something has come that is no word yet: that is looked at, and nothing after it. */
START_TEST(the_last_look_is_one)
{
	struct fake_end *end = come_late();

	end->other->works = true;
	fake_advance(&net, WH_NS_PER_S);
	ck_assert(!gone[0]);
	ck_assert_uint_ne(end->other->base.working_ns, 0);
	hear_of(end, false);
	ck_assert(gone[0]);
	fake_close_end(end);
}
END_TEST

/* It has a place as those that have: what it has said waits for this node. */
START_TEST(one_that_is_worked_for_has_spoken)
{
	static struct fake_end *ends[PLACES + 1];

	come_many(ends, 0, PLACES, 9, false);
	for (uint32_t i = 0; i < PLACES; i++)
		ends[i]->other->base.working_ns = i != 100;
	come_many(ends, PLACES, PLACES + 1, 8, false);
	ck_assert_uint_eq(first_gone(PLACES), 100);
	close_all(ends, PLACES + 1);
}
END_TEST

static void add_work(TCase *cases)
{
	tcase_add_loop_test(cases, what_is_worked_on_takes_no_time, 0, 2);
	tcase_add_test(cases, the_last_look_is_one);
	tcase_add_test(cases, one_that_is_worked_for_has_spoken);
}

static void add_places(TCase *cases)
{
	tcase_add_test(cases, the_silent_give_way_first);
	tcase_add_test(cases, the_source_with_most_gives_way);
	tcase_add_test(cases, places_are_kept);
	tcase_add_test(cases, the_proven_keep_their_places);
	tcase_add_test(cases, half_a_greeting_proves_nothing);
	tcase_add_test(cases, a_listener_rests);
	tcase_add_loop_test(cases, strangers_have_their_time, 0, 3);
	tcase_add_test(cases, a_late_stranger_is_looked_at_once_more);
	tcase_add_test(cases, what_finds_no_room_is_not_late);
}

int main(void)
{
	Suite *suite = suite_create("session_door");
	TCase *places = tcase_create("places"), *others = tcase_create("visitors and streams");

	add_places(places);
	add_work(places);
	tcase_add_test(others, a_visitor_gets_its_answer);
	tcase_add_loop_test(others, a_visitor_that_is_not_answered, 0, 4);
	tcase_add_test(others, a_stream_waits_until_its_opener_is_met);
	tcase_add_test(others, a_stream_waits_until_there_is_room);
	tcase_add_loop_test(others, a_stream_that_has_no_place, 0, 4);
	tcase_add_loop_test(others, a_peer_opens_a_stream, 0, 2);
	tcase_add_checked_fixture(places, setup, teardown);
	tcase_add_checked_fixture(others, setup, teardown);
	suite_add_tcase(suite, places);
	suite_add_tcase(suite, others);
	return test_main(suite);
}
