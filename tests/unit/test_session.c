/* test_session.c - how two nodes meet and part, on a wire in memory (fake_wire.h): node 0 or 1 has the session, the others are played
 * here. test_session_images.c has images and descriptors, test_session_door.c strangers. */
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

/* Its session is open, and has called all others once. */
static struct fake_node *begin(uint32_t node)
{
	struct fake_node *n = fake_open(&net, node, fake_life(node));

	fake_advance(&net, WH_NS_PER_MS);
	return n;
}

/* The same, and the played node listens: it has been called. */
static struct fake_end *begin_calling(uint32_t node, uint32_t played)
{
	struct fake_end *called;

	net.node[played].wire.listens = true;
	begin(node);
	called = fake_accept(&net, played);
	ck_assert_ptr_nonnull(called);
	fake_expect(called, WH_MESSAGE_HELLO);
	ck_assert_int_eq(fake_state(&net, node, played), WH_PEER_CALLED);
	return called;
}

static void say_refused(struct fake_end *end, uint64_t incarnation)
{
	const struct wh_refused refused = {incarnation, "not with me"};
	unsigned char message[WH_REFUSED_MAX];

	fake_say(end, message, wh_message_put_refused(message, FAKE_VERSION, &refused));
	fake_pump(&net);
}

static void hang_up(struct fake_end *end)
{
	fake_close_end(end);
	fake_pump(&net);
}

/* A call that comes to nothing: no answer, and no refusal either. */
static void call_in_vain(uint32_t from, uint32_t to, uint64_t incarnation, uint64_t call)
{
	struct fake_end *end = fake_call(&net, from, to);

	fake_say_hello(end, from, incarnation, call);
	fake_pump(&net);
	fake_expect(end, 0);
	ck_assert_ptr_null(end->other);
	hang_up(end);
}

static struct fake_end *call_answered(uint32_t from, uint32_t to, uint64_t incarnation, uint64_t call)
{
	struct fake_end *end = fake_call(&net, from, to);

	fake_say_hello(end, from, incarnation, call);
	fake_pump(&net);
	fake_expect(end, WH_MESSAGE_HELLO);
	ck_assert_int_eq(fake_state(&net, to, from), WH_PEER_ANSWERED);
	return end;
}

/* Hung up, and told why. */
static void call_refused(uint32_t from, uint32_t to, const struct wh_hello *hello, const char *why)
{
	struct fake_end *end = fake_call(&net, from, to);

	fake_say_hello_with(end, hello, 0, -1);
	fake_pump(&net);
	fake_expect_refused(end, why);
	ck_assert_ptr_null(end->other);
	hang_up(end);
}

/* ---- meeting ------------------------------------------------------------------------------------------------------- */

/* Their calls cross; each counts the other as met once, on one connection. */
START_TEST(three_meet)
{
	for (uint32_t id = 0; id < FAKE_NODES; id++)
		fake_open(&net, id, fake_life(id));
	ck_assert(wh_session_searching(net.node[0].session));
	fake_advance(&net, WH_NS_PER_S / 2);
	for (uint32_t id = 0; id < FAKE_NODES; id++) {
		const struct fake_node *n = &net.node[id];
		uint32_t connections = 0;

		ck_assert(n->met == 2 && n->events[WH_EVENT_PEER_MET] == 2 && n->events[WH_EVENT_PEER_DOWN] == 0);
		for (uint32_t slot = 0; slot < wh_session_slots(n->session); slot++)
			connections += wh_session_conn(n->session, slot) != NULL;
		ck_assert_uint_eq(connections, 2);
		ck_assert(!wh_session_searching(n->session));
	}
	ck_assert_int_eq(wh_session_control_send(net.node[0].session, 2, "hello", 6), WHORL_OK);
	fake_pump(&net);
	ck_assert_str_eq(net.node[2].texts[WH_EVENT_CONTROL], "hello");
	fake_kill(&net, 1);
	fake_pump(&net);
	ck_assert_uint_eq(net.node[0].incarnations[WH_EVENT_PEER_DOWN], fake_life(1));
	fake_open(&net, 1, fake_life(1) + 50);
	fake_advance(&net, WH_NS_PER_S);
	ck_assert_uint_eq(net.node[0].incarnations[WH_EVENT_PEER_MET], fake_life(1) + 50);
}
END_TEST

/* The higher id's call counts, once it is greeted. */
START_TEST(of_crossed_calls_that_of_the_higher_id_counts)
{
	struct fake_end *called = begin_calling(1, 0);

	call_in_vain(0, 1, LIFE, 1);
	fake_say_hello(called, 0, LIFE, 0);
	fake_pump(&net);
	fake_expect(called, WH_MESSAGE_TAKEN);
	ck_assert_int_eq(fake_state(&net, 1, 0), WH_PEER_MET);
	call_in_vain(0, 1, LIFE, 2); /* what is left of its call: it is no other, and nothing is asked */
	fake_expect(called, 0);
	ck_assert_int_eq(fake_state(&net, 1, 0), WH_PEER_MET);
	hang_up(called);
}
END_TEST

START_TEST(a_call_counts_only_once_greeted)
{
	struct fake_end *called, *caller;

	net.node[0].wire.listens = true;
	net.node[1].wire.greets = WH_WIRE_LATER;
	begin(1);
	called = fake_accept(&net, 0);
	net.node[1].wire.greets = WH_WIRE_DONE;
	caller = call_answered(0, 1, LIFE, 1);
	ck_assert_ptr_null(called->other);
	hang_up(called);
	fake_say_plain(caller, WH_MESSAGE_TAKEN, 0);
	fake_pump(&net);
	ck_assert_int_eq(fake_state(&net, 1, 0), WH_PEER_MET);
	hang_up(caller);
}
END_TEST

START_TEST(the_lower_id_hangs_up_its_own_call)
{
	struct fake_end *called = begin_calling(0, 1), *caller = call_answered(1, 0, LIFE, 1);

	ck_assert_ptr_null(called->other);
	hang_up(called);
	hang_up(caller);
}
END_TEST

/* Each call has a greater number than the one before, of one session. */
START_TEST(calls_are_numbered)
{
	struct fake_end *called;
	uint64_t last = 0;

	net.node[1].wire.listens = true;
	begin(0);
	for (int i = 0; i < 3; i++) {
		struct wh_message m;

		while ((called = fake_accept(&net, 1)) == NULL)
			fake_advance(&net, WH_NS_PER_MS);
		ck_assert_int_eq(fake_next(called, &m), WH_MESSAGE_HELLO);
		ck_assert_uint_gt(m.head.number, last);
		last = m.head.number;
		hang_up(called);
	}
}
END_TEST

START_TEST(an_older_call_is_hung_up)
{
	struct fake_end *end, *newer;

	begin(0);
	end = call_answered(1, 0, LIFE, 5);
	call_in_vain(1, 0, LIFE, 4);
	ck_assert_ptr_nonnull(end->other);
	hang_up(end);
	ck_assert_int_eq(fake_state(&net, 0, 1), WH_PEER_ABSENT);
	call_in_vain(1, 0, LIFE, 5);
	end = call_answered(1, 0, LIFE, 6);
	newer = call_answered(1, 0, LIFE, 7);
	ck_assert_ptr_null(end->other);
	hang_up(end);
	hang_up(newer);
}
END_TEST

/* The played node may have counted it as met. */
START_TEST(an_answered_call_gives_no_place_to_a_late_one)
{
	struct fake_end *end, *next;

	begin(0);
	end = call_answered(1, 0, LIFE, 1);
	call_in_vain(1, 0, LIFE + 1, 9);
	fake_expect(end, WH_MESSAGE_PING);
	ck_assert_uint_eq(net.node[0].session->peers[1].incarnation, LIFE);
	hang_up(end);
	next = call_answered(1, 0, LIFE + 1, 10);
	hang_up(next);
	ck_assert_uint_eq(net.node[0].events[WH_EVENT_PEER_MET] + net.node[0].events[WH_EVENT_PEER_DOWN], 0);
}
END_TEST

/* Whatever comes of it: its answer may have been read. */
START_TEST(an_answered_call_is_never_given_up)
{
	struct fake_end *end;

	begin(0);
	end = call_answered(1, 0, LIFE, 1);
	fake_advance(&net, 100 * WH_NS_PER_S);
	ck_assert_int_eq(fake_state(&net, 0, 1), WH_PEER_ANSWERED);
	fake_say_plain(end, WH_MESSAGE_TAKEN, 0);
	fake_pump(&net);
	ck_assert_uint_eq(net.node[0].incarnations[WH_EVENT_PEER_MET], LIFE);
	hang_up(end);
}
END_TEST

/* ---- a call that is not answered ------------------------------------------------------------------------------------ */

START_TEST(a_call_is_given_up_and_made_again)
{
	struct fake_end *called = begin_calling(0, 1);

	fake_advance(&net, WH_NS_PER_S - 5 * WH_NS_PER_MS);
	ck_assert_ptr_nonnull(called->other);
	fake_advance(&net, 5 * WH_NS_PER_MS);
	ck_assert_ptr_null(called->other);
	ck_assert_uint_eq(net.node[0].wire.looked_up[1], 1);
	hang_up(called);
	fake_advance(&net, 20 * WH_NS_PER_MS);
	called = fake_accept(&net, 1);
	ck_assert_ptr_nonnull(called);
	fake_expect(called, WH_MESSAGE_HELLO);
	fake_say_hello(called, 1, LIFE, 0);
	fake_pump(&net);
	ck_assert_int_eq(fake_state(&net, 0, 1), WH_PEER_MET);
	hang_up(called);
}
END_TEST

START_TEST(each_word_earns_time_anew)
{
	struct fake_end *called;

	net.node[1].wire.listens = true;
	net.node[0].wire.greets = WH_WIRE_LATER;
	begin(0);
	called = fake_accept(&net, 1);
	for (int i = 0; i < 4; i++) {
		fake_advance(&net, WH_NS_PER_S - 50 * WH_NS_PER_MS);
		ck_assert_ptr_nonnull(called->other);
		called->other->says_word = called->other->ready = true;
		fake_pump(&net);
	}
	fake_advance(&net, WH_NS_PER_S);
	ck_assert_ptr_null(called->other);
	hang_up(called);
}
END_TEST

/* What the other end has said waits for this node, and then its time goes on; of a call without a limit there is none. */
START_TEST(what_is_worked_on_takes_no_time)
{
	struct fake_end *called;

	net.node[1].wire.listens = true;
	net.node[0].wire.greets = WH_WIRE_LATER;
	net.node[0].wire_ops.answer_ns = _i == 0 ? WH_NS_PER_S : 0;
	begin(0);
	called = fake_accept(&net, 1);
	fake_advance(&net, 900 * WH_NS_PER_MS);
	called->other->works = called->other->ready = true;
	fake_pump(&net);
	fake_advance(&net, 100 * WH_NS_PER_S);
	ck_assert_ptr_nonnull(called->other);
	called->other->works = false;
	called->other->ready = true;
	fake_pump(&net);
	fake_advance(&net, 80 * WH_NS_PER_MS);
	ck_assert_ptr_nonnull(called->other);
	fake_advance(&net, 40 * WH_NS_PER_MS);
	ck_assert((called->other != NULL) == (_i == 1));
	hang_up(called);
}
END_TEST

/* Where the kernel tells the end of each process a call waits as long as it likes. */
START_TEST(a_call_without_a_limit_is_not_given_up)
{
	struct fake_end *called;

	net.node[0].wire_ops.answer_ns = 0;
	called = begin_calling(0, 1);
	fake_advance(&net, 100 * WH_NS_PER_S);
	ck_assert_ptr_nonnull(called->other);
	hang_up(called);
	ck_assert_int_eq(fake_state(&net, 0, 1), WH_PEER_ABSENT);
}
END_TEST

/* It looks for others until it has found them all, or has none left to find; and there are events. */
START_TEST(an_alarm_says_whether_there_is_something_to_do)
{
	struct fake_end *called = begin_calling(0, 1);
	struct wh_session *s = net.node[0].session;

	ck_assert(wh_session_searching(s));
	ck_assert(wh_session_on_timer(s));
	net.node[1].wire.listens = false;
	hang_up(called);
	fake_advance(&net, WH_NS_PER_S);
	ck_assert(!wh_session_searching(s));
	ck_assert(!wh_session_on_timer(s));
	called = fake_call(&net, 1, 0);
	fake_say_hello(called, 1, LIFE, 1);
	fake_hear(&net);
	fake_say_plain(called, WH_MESSAGE_TAKEN, 0);
	fake_hear(&net);
	ck_assert(wh_session_on_timer(s));
	fake_take_events(&net);
	ck_assert_uint_eq(net.node[0].met, 1);
	ck_assert(!wh_session_on_timer(s));
	hang_up(called);
}
END_TEST

/* It was this node that was long away: the answer waits to be read. */
START_TEST(a_late_node_looks_before_it_gives_up)
{
	struct fake_end *called = begin_calling(0, 1);

	fake_say_hello(called, 1, LIFE, 0);
	net.fake.now_ns += 5 * WH_NS_PER_S;
	(void)wh_session_on_timer(net.node[0].session);
	ck_assert_int_eq(fake_state(&net, 0, 1), WH_PEER_MET);
	hang_up(called);
}
END_TEST

static void fill_with_events(uint32_t node, struct fake_end *from)
{
	unsigned char message[WH_HEAD_BYTES + WH_CONTROL_MAX];

	for (int i = 0; i < 2 * WH_SESSION_EVENTS; i++)
		fake_say(from, message, wh_message_put_control(message, &i, sizeof(i)));
	fake_hear(&net);
	ck_assert(wh_session_is_full(net.node[node].session));
}

START_TEST(a_full_node_looks_before_it_gives_up)
{
	struct fake_end *called = begin_calling(0, 1), *other = fake_meet(&net, 2, LIFE, 1, 0);

	fill_with_events(0, other);
	fake_say_hello(called, 1, LIFE, 0);
	net.fake.now_ns += 5 * WH_NS_PER_S;
	(void)wh_session_on_timer(net.node[0].session);
	ck_assert_int_eq(fake_state(&net, 0, 1), WH_PEER_CALLED);
	fake_pump(&net);
	ck_assert_int_eq(fake_state(&net, 0, 1), WH_PEER_MET);
	hang_up(called);
	hang_up(other);
}
END_TEST

/* ---- lives that have ended, and refusals ---------------------------------------------------------------------------- */

START_TEST(what_has_ended_is_not_met_again)
{
	begin(0);
	for (uint64_t life = LIFE; life < LIFE + 5; life++)
		hang_up(fake_meet(&net, 1, life, 1, 0));
	ck_assert_uint_eq(net.node[0].events[WH_EVENT_PEER_DOWN], 5);
	for (uint64_t life = LIFE; life < LIFE + 5; life++) {
		const struct wh_hello hello = fake_hello(1, life, 2);

		call_refused(1, 0, &hello, "gone for good");
	}
	ck_assert_uint_eq(net.node[0].events[WH_EVENT_REFUSED], 0);
}
END_TEST

/* The life that answers may not know that it has ended here. */
START_TEST(an_ended_life_that_answers_is_told_so)
{
	struct fake_end *end;

	begin(0);
	hang_up(fake_meet(&net, 1, LIFE, 1, 0));
	net.node[1].wire.listens = true;
	fake_advance(&net, WH_NS_PER_S + 5 * WH_NS_PER_MS);
	end = fake_accept(&net, 1);
	fake_expect(end, WH_MESSAGE_HELLO);
	fake_say_hello(end, 1, LIFE, 0);
	fake_pump(&net);
	fake_expect_refused(end, "gone for good");
	ck_assert_uint_eq(net.node[0].events[WH_EVENT_REFUSED], 0);
	ck_assert_int_eq(fake_state(&net, 0, 1), WH_PEER_REJECTED);
	hang_up(end);
}
END_TEST

static void break_hello(struct wh_hello *hello, int how)
{
	if (how == 0)
		hello->version++;
	else if (how == 1)
		hello->nodes++;
	else
		hello->group[0] = 'h';
}

/* Once for each incarnation, however often it calls. */
START_TEST(the_foreign_are_refused_and_told_of_once)
{
	struct wh_hello hello = fake_hello(1, LIFE, 1);

	break_hello(&hello, _i);
	begin(0);
	call_refused(1, 0, &hello, "node 1 ");
	ck_assert_uint_eq(net.node[0].incarnations[WH_EVENT_REFUSED], LIFE);
	ck_assert_int_eq(fake_state(&net, 0, 1), WH_PEER_REJECTED);
	hello.call++;
	call_refused(1, 0, &hello, "gone for good");
	ck_assert_uint_eq(net.node[0].events[WH_EVENT_REFUSED], 1);
	hello.incarnation++;
	call_refused(1, 0, &hello, "node 1 ");
	ck_assert_uint_eq(net.node[0].events[WH_EVENT_REFUSED], 2);
	hang_up(fake_meet(&net, 1, LIFE + 2, 1, 0)); /* it has been corrected */
}
END_TEST

/* 0 to 2: as above; 3: another node is there. */
START_TEST(the_foreign_that_answer_are_refused)
{
	struct fake_end *called = begin_calling(0, 1);
	struct wh_hello hello = fake_hello(1, LIFE, 0);

	if (_i == 3)
		hello.node = 2;
	else
		break_hello(&hello, _i);
	fake_say_hello_with(called, &hello, _i == 3 ? 9 : 0, -1);
	fake_pump(&net);
	fake_expect_refused(called, _i == 3 ? "node 2 answers" : "node 1 ");
	ck_assert_uint_eq(net.node[0].incarnations[WH_EVENT_REFUSED], LIFE);
	ck_assert_uint_eq(net.node[0].discarded, _i == 3);
	ck_assert_uint_eq(net.node[0].met, 0);
	hang_up(called);
}
END_TEST

/* Once a second; and each incarnation that refuses is told of once. */
START_TEST(a_rejected_peer_is_called_again)
{
	struct fake_end *called = begin_calling(0, 1);

	for (uint32_t i = 0; i < 4; i++) {
		say_refused(called, LIFE + i / 2);
		ck_assert_int_eq(fake_state(&net, 0, 1), WH_PEER_REJECTED);
		ck_assert_uint_eq(net.node[0].events[WH_EVENT_REFUSED], 1 + i / 2);
		hang_up(called);
		fake_advance(&net, WH_NS_PER_S - 5 * WH_NS_PER_MS);
		ck_assert_ptr_null(fake_accept(&net, 1));
		fake_advance(&net, 10 * WH_NS_PER_MS);
		called = fake_accept(&net, 1);
		ck_assert_ptr_nonnull(called);
	}
	hang_up(called);
}
END_TEST

/* Nothing is proven: so no incarnation has ended. It is told once, until the two have met. */
START_TEST(a_refusal_before_anything_is_proven)
{
	struct fake_end *end;

	net.node[1].wire.listens = true;
	net.node[0].wire.greets = WH_WIRE_REFUSED;
	net.node[0].wire.reason = "another key";
	begin(0);
	for (int i = 0; i < 3; i++) {
		end = fake_accept(&net, 1);
		ck_assert_ptr_nonnull(end);
		hang_up(end);
		ck_assert_uint_eq(net.node[0].events[WH_EVENT_REFUSED], 1);
		fake_advance(&net, WH_NS_PER_S + 5 * WH_NS_PER_MS);
	}
	ck_assert_uint_eq(net.node[0].incarnations[WH_EVENT_REFUSED], 0);
	hang_up(fake_accept(&net, 1));
	net.node[0].wire.greets = WH_WIRE_DONE;
	net.node[0].wire.reason = NULL;
	hang_up(fake_meet(&net, 1, LIFE, 1, 0));
	net.node[0].wire.greets = WH_WIRE_REFUSED;
	net.node[0].wire.reason = "another key";
	fake_advance(&net, WH_NS_PER_S + 5 * WH_NS_PER_MS);
	ck_assert_uint_eq(net.node[0].events[WH_EVENT_REFUSED], 2);
	hang_up(fake_accept(&net, 1));
}
END_TEST

/* What the transports add to a HELLO: 0: a caller's is refused; 1: an answer's; 2, 3: there is no plane that could judge it. */
START_TEST(a_hello_that_the_plane_refuses)
{
	const struct wh_hello hello = fake_hello(1, LIFE, 1);
	struct fake_end *end;

	net.node[0].unwelcome = true;
	if (_i >= 2)
		net.node[0].plane_ops.welcome = NULL;
	if (_i % 2 == 0) {
		begin(0);
		end = fake_call(&net, 1, 0);
	} else {
		end = begin_calling(0, 1);
	}
	fake_say_hello_with(end, &hello, 8, -1);
	fake_pump(&net);
	fake_expect_refused(end, _i < 2 ? "no plane like it" : "longer than it should be");
	ck_assert_ptr_null(end->other);
	ck_assert_uint_eq(net.node[0].events[WH_EVENT_REFUSED], 1);
	ck_assert_uint_eq(net.node[0].incarnations[WH_EVENT_REFUSED], LIFE);
	ck_assert_int_eq(fake_state(&net, 0, 1), WH_PEER_REJECTED);
	hang_up(end);
}
END_TEST

/* What is not even judged is discarded: of a foreign caller, and of one that comes at a wrong time. */
START_TEST(what_is_not_judged_is_discarded)
{
	struct wh_hello hello = fake_hello(1, LIFE, 1);
	struct fake_end *end;

	begin(0);
	net.node[0].own_hello = WH_OWN_HELLO_MAX;
	break_hello(&hello, _i == 0 ? 2 : 9);
	if (_i == 1)
		hello.node = 0;
	end = fake_call(&net, 1, 0);
	fake_say_hello_with(end, &hello, 5, -1);
	fake_pump(&net);
	fake_expect_refused(end, "node ");
	ck_assert_uint_eq(net.node[0].discarded, 1);
	hang_up(end);
	hang_up(fake_meet(&net, 2, LIFE, 1, 0));
	ck_assert_uint_eq(net.node[0].discarded, 1);
}
END_TEST

/* ---- another comes in its place ------------------------------------------------------------------------------------- */

START_TEST(a_peer_that_answers_keeps_its_place)
{
	const struct wh_hello hello = fake_hello(1, LIFE + 1, 3);
	struct fake_end *end, *next;

	begin(0);
	end = fake_meet(&net, 1, LIFE, 1, 0);
	call_in_vain(1, 0, LIFE + 1, 1);
	fake_expect(end, WH_MESSAGE_PING);
	call_in_vain(1, 0, LIFE + 1, 2);
	fake_expect(end, 0); /* once a second */
	fake_say_plain(end, WH_MESSAGE_PONG, 0);
	fake_pump(&net);
	call_refused(1, 0, &hello, "here already");
	fake_advance(&net, WH_NS_PER_S);
	call_in_vain(1, 0, LIFE + 1, 4); /* it is asked anew */
	fake_expect(end, WH_MESSAGE_PING);
	hang_up(end);
	next = call_answered(1, 0, LIFE + 1, 5);
	ck_assert_uint_eq(net.node[0].incarnations[WH_EVENT_PEER_DOWN], LIFE);
	hang_up(next);
}
END_TEST

/* ---- cuts --------------------------------------------------------------------------------------------------------------- */

static bool holds(const struct fake_end *end)
{
	return end->other->holds; /* the session's */
}

/* Of members that is: before a view has begun here nothing waits for one that has vanished. */
START_TEST(connections_of_members_outlast_a_cut)
{
	struct fake_end *before, *after;

	begin(0);
	before = fake_meet(&net, 1, LIFE, 1, 0);
	ck_assert(!holds(before));
	wh_session_past(net.node[0].session, 5);
	ck_assert(holds(before));
	after = fake_meet(&net, 2, LIFE, 1, 0);
	ck_assert(holds(after));
	hang_up(before);
	hang_up(after);
}
END_TEST

/* Whether it is there only its host can say, and if that says nothing it has vanished. */
START_TEST(one_whose_place_another_wants_is_not_held)
{
	struct fake_end *end;

	begin(0);
	if (_i == 0)
		wh_session_past(net.node[0].session, 5);
	end = fake_meet(&net, 1, LIFE, 1, 0);
	call_in_vain(1, 0, LIFE + 1, 1);
	fake_expect(end, WH_MESSAGE_PING);
	ck_assert(!holds(end));
	wh_session_past(net.node[0].session, 6); /* the next view changes nothing about that */
	ck_assert(!holds(end));
	fake_say_plain(end, WH_MESSAGE_PONG, 0);
	fake_pump(&net);
	ck_assert(holds(end));
	hang_up(end);
}
END_TEST

/* It has said so before a view began here. */
START_TEST(one_that_has_said_that_it_is_there_is_held_from_the_first_view_on)
{
	struct fake_end *end;

	begin(0);
	end = fake_meet(&net, 1, LIFE, 1, 0);
	call_in_vain(1, 0, LIFE + 1, 1);
	fake_expect(end, WH_MESSAGE_PING);
	fake_say_plain(end, WH_MESSAGE_PONG, 0);
	fake_pump(&net);
	ck_assert(!holds(end));
	wh_session_past(net.node[0].session, 5);
	ck_assert(holds(end));
	hang_up(end);
}
END_TEST

/* Its end waits to be read when the next calls. */
START_TEST(what_the_last_life_has_sent_comes_first)
{
	struct fake_end *end, *at, *next;

	begin(0);
	end = fake_meet(&net, 1, LIFE, 1, 0);
	at = end->other;
	fake_say_plain(end, WH_MESSAGE_LEAVE, 0);
	fake_close_end(end);
	at->ready = false;
	next = call_answered(1, 0, LIFE + 1, 1);
	ck_assert_uint_eq(net.node[0].incarnations[WH_EVENT_PEER_LEFT], LIFE);
	ck_assert_uint_eq(net.node[0].events[WH_EVENT_PEER_DOWN], 0);
	hang_up(next);
}
END_TEST

/* Where a kernel knows which process has the id of a node. */
START_TEST(the_holder_of_an_id_is_believed)
{
	const struct wh_hello hello = fake_hello(1, LIFE + 1, 3);
	struct fake_end *end, *next;

	net.node[0].wire_ops.holds_id = fake_wire_holds_id;
	begin(0);
	end = fake_meet(&net, 1, LIFE, 1, 0);
	net.node[0].wire.holder = WH_WIRE_LATER;
	call_in_vain(1, 0, LIFE + 1, 1);
	net.node[0].wire.holder = WH_WIRE_REFUSED;
	call_refused(1, 0, &hello, "here already");
	ck_assert_int_eq(fake_state(&net, 0, 1), WH_PEER_MET);
	net.node[0].wire.holder = WH_WIRE_DONE;
	next = call_answered(1, 0, LIFE + 1, 4);
	ck_assert_uint_eq(net.node[0].incarnations[WH_EVENT_PEER_DOWN], LIFE);
	fake_expect(end, 0);
	hang_up(end);
	hang_up(next);
}
END_TEST

START_TEST(a_foreign_caller_does_not_come_in_a_peers_place)
{
	struct wh_hello hello = fake_hello(1, LIFE + 1, 1);
	struct fake_end *end;

	begin(0);
	end = fake_meet(&net, 1, LIFE, 1, 0);
	break_hello(&hello, 2);
	call_refused(1, 0, &hello, "of group h");
	hello = fake_hello(0, LIFE, 1);
	call_refused(1, 0, &hello, "node 0 is here already");
	fake_expect(end, 0);
	ck_assert_int_eq(fake_state(&net, 0, 1), WH_PEER_MET);
	ck_assert_uint_eq(net.node[0].events[WH_EVENT_REFUSED], 0);
	hang_up(end);
}
END_TEST

static bool admits_no_odd_life(const struct wh_conn *c, uint32_t node, uint64_t incarnation, char *reason)
{
	(void)c, (void)node;
	snprintf(reason, WH_MESSAGE_REASON_BYTES, "its certificate says other");
	return incarnation % 2 == 0;
}

/* What is proven must go with what is said, before anything is done in that node's name. */
START_TEST(what_is_said_must_be_proven)
{
	const struct wh_hello odd = fake_hello(1, LIFE, 1);
	struct fake_end *called, *end;

	net.node[0].wire_ops.admits = admits_no_odd_life;
	called = begin_calling(0, 1);
	call_refused(1, 0, &odd, "its certificate");
	ck_assert_ptr_nonnull(called->other); /* my own call goes on */
	fake_say_hello(called, 1, LIFE, 0);
	fake_pump(&net);
	fake_expect_refused(called, "its certificate");
	hang_up(called);
	end = fake_meet(&net, 1, LIFE + 1, 1, 0);
	hang_up(end);
}
END_TEST

/* ---- peers ---------------------------------------------------------------------------------------------------------- */

START_TEST(a_broken_protocol_ends_a_peer)
{
	const struct wh_offer offer = {.key = 1, .members = 2, .rank = 2};
	const struct wh_opening opening = {FAKE_VERSION, 1, LIFE, fake_life(0) + 1, 5};
	unsigned char message[WH_MESSAGE_MAX];
	struct fake_end *end;

	begin(0);
	end = fake_meet(&net, 1, LIFE, 1, 0);
	fake_say_plain(end, FAKE_OWN_KIND, 0);
	fake_pump(&net);
	ck_assert_int_eq(fake_state(&net, 0, 1), WH_PEER_MET);
	if (_i == 0)
		fake_say_hello(end, 1, LIFE, 2);
	else if (_i == 1)
		fake_say_plain(end, WH_MESSAGE_TAKEN, 0);
	else if (_i == 2)
		fake_say_plain(end, FAKE_OWN_KIND + 1, 0);
	else if (_i == 3)
		fake_say(end, message, wh_message_put_offer(message, &offer, 0));
	else if (_i == 4)
		fake_say(end, message, wh_message_put_opening(message, &opening));
	else
		fake_say_plain(end, 0, 0);
	fake_pump(&net);
	ck_assert_ptr_null(end->other);
	ck_assert_uint_eq(net.node[0].incarnations[WH_EVENT_PEER_DOWN], LIFE);
	ck_assert_ptr_nonnull(strstr(net.node[0].texts[WH_EVENT_PEER_DOWN], "broken the protocol"));
	ck_assert_uint_eq(net.node[0].taken_streams, 0);
	hang_up(end);
}
END_TEST

/* 0: a message says so; 1: the wire. */
START_TEST(a_peer_that_leaves_has_not_died)
{
	struct fake_end *end;

	begin(0);
	end = fake_meet(&net, 1, LIFE, 1, 0);
	if (_i == 0)
		fake_say_plain(end, WH_MESSAGE_LEAVE, 0);
	else
		end->other->leaves = true;
	hang_up(end);
	ck_assert_uint_eq(net.node[0].incarnations[WH_EVENT_PEER_LEFT], LIFE);
	ck_assert_uint_eq(net.node[0].events[WH_EVENT_PEER_DOWN], 0);
	ck_assert_int_eq(wh_session_control_send(net.node[0].session, 1, "", 0), WHORL_MEMBER_GONE);
}
END_TEST

/* Not at once, as the caller may be in the midst of something; and once. */
START_TEST(the_doomed_go_in_the_next_service)
{
	struct wh_session *s = begin(0)->session;
	struct fake_end *end = fake_meet(&net, 1, LIFE, 1, 0);

	wh_session_doom(s, 1, "is stalled");
	wh_session_doom(s, 1, "is slow");
	ck_assert_int_eq(fake_state(&net, 0, 1), WH_PEER_MET);
	ck_assert_ptr_nonnull(end->other);
	ck_assert(wh_session_on_timer(s));
	fake_pump(&net);
	ck_assert_uint_eq(net.node[0].events[WH_EVENT_PEER_DOWN], 1);
	ck_assert_ptr_nonnull(strstr(net.node[0].texts[WH_EVENT_PEER_DOWN], "is stalled"));
	ck_assert_ptr_null(end->other);
	hang_up(end);
	hang_up(fake_meet(&net, 1, LIFE + 1, 1, 0)); /* that was not meant */
	ck_assert_ptr_nonnull(strstr(net.node[0].texts[WH_EVENT_PEER_DOWN], "has died"));
}
END_TEST

/* What a user may not fill is the session's: here its answer to a ping. */
START_TEST(users_leave_room_for_the_sessions_own)
{
	struct wh_session *s = begin(0)->session;
	struct fake_end *end = fake_meet(&net, 1, LIFE, 1, 0);
	uint32_t sent = 0;

	while (wh_session_control_send(s, 1, &sent, sizeof(sent)) == WHORL_OK)
		sent++;
	ck_assert_uint_eq(sent, FAKE_USER_ROOM);
	ck_assert_int_eq(wh_session_control_send(s, 1, "", 0), WHORL_AGAIN);
	fake_say_plain(end, WH_MESSAGE_PING, 0);
	fake_pump(&net);
	ck_assert_uint_eq(fake_count(end, WH_MESSAGE_PONG), 1);
	ck_assert_int_eq(wh_session_control_send(s, 1, "", 0), WHORL_OK);
	ck_assert_int_eq(wh_session_control_send(s, 0, "", 0), WHORL_INVALID);
	ck_assert_int_eq(wh_session_control_send(s, FAKE_NODES, "", 0), WHORL_INVALID);
	ck_assert_int_eq(wh_session_control_send(s, 2, "", 0), WHORL_MEMBER_GONE);
	hang_up(end);
}
END_TEST

/* Nothing is taken in without room for its event, and nothing is lost: of a peer, and 0: of a caller; 1: of one that has a place. */
START_TEST(what_finds_no_room_waits)
{
	static struct wh_transport_event event;
	struct wh_session *s = begin(0)->session;
	struct fake_end *end = fake_meet(&net, 1, LIFE, 1, 0), *caller = NULL;
	int taken = 0;

	if (_i == 1)
		caller = fake_call(&net, 2, 0);
	fake_pump(&net);
	fill_with_events(0, end);
	if (_i == 0)
		caller = fake_call(&net, 2, 0);
	ck_assert_uint_le(s->event_queue.in - s->event_queue.out, WH_SESSION_EVENTS);
	fake_say_hello(caller, 2, LIFE, 1);
	fake_hear(&net);
	if (_i == 1)
		ck_assert_uint_eq(wh_session_on_ready(s, caller->other->base.slot), 0);
	else
		ck_assert_uint_eq(net.node[0].wire.waiting, 1);
	ck_assert_int_eq(fake_state(&net, 0, 2), WH_PEER_ABSENT);
	while (taken < 2 * WH_SESSION_EVENTS) {
		int number;

		ck_assert(wh_session_next_event(s, &event));
		ck_assert_int_eq(event.kind, WH_EVENT_CONTROL);
		memcpy(&number, event.text, sizeof(number));
		ck_assert_int_eq(number, taken++);
		if (net.node[0].session->peers[1].conn != NULL)
			fake_of(s->peers[1].conn)->ready = true;
		fake_hear(&net);
	}
	fake_pump(&net);
	ck_assert_int_eq(fake_state(&net, 0, 2), WH_PEER_ANSWERED);
	hang_up(end);
	hang_up(caller);
}
END_TEST

/* ---- the end -------------------------------------------------------------------------------------------------------- */

/* The last words do not get there, and it ends all the same. */
START_TEST(a_full_connection_ends_when_it_is_finished)
{
	struct wh_session *s = begin(0)->session;
	struct fake_end *end = fake_meet(&net, 1, LIFE, 1, 0);

	end->other->deaf = true;
	wh_session_refuse(s, wh_session_peer(s, 1), WH_COMPLAINT_FOREIGN, "for a test");
	ck_assert_ptr_null(end->other);
	fake_expect(end, 0);
	fake_pump(&net);
	ck_assert_uint_eq(net.node[0].incarnations[WH_EVENT_REFUSED], LIFE);
	ck_assert_uint_eq(net.node[0].events[WH_EVENT_PEER_DOWN], 0);
	hang_up(end);
}
END_TEST

START_TEST(nothing_happens_on_a_slot_without_a_connection)
{
	struct wh_session *s = begin(0)->session;
	struct fake_end *end = fake_meet(&net, 1, LIFE, 1, 0);
	uint32_t slot = end->other->base.slot;
	unsigned char message[WH_HEAD_BYTES];

	ck_assert_ptr_eq(wh_session_conn(s, slot), &end->other->base);
	hang_up(end);
	ck_assert_ptr_null(wh_session_conn(s, slot));
	ck_assert_ptr_null(wh_session_conn(s, wh_session_slots(s)));
	for (uint32_t i = 0; i < wh_session_slots(s) + 2; i++)
		ck_assert_uint_eq(wh_session_on_ready(s, i), 0);
	ck_assert_int_eq(
		wh_session_send(s, 1, message, wh_message_put_plain(message, FAKE_OWN_KIND, 0), NULL, 0, WH_WIRE_OWN),
		WH_WIRE_ENDED);
	fake_pump(&net);
	ck_assert_uint_eq(net.node[0].events[WH_EVENT_PEER_DOWN], 1);
}
END_TEST

static uint32_t events_of(const struct fake_node *n)
{
	uint32_t count = 0;

	for (int kind = 0; kind < FAKE_KINDS; kind++)
		count += n->events[kind];
	return count;
}

/* Peers are told; what they say is taken off the connection, and is no event any more. */
START_TEST(a_node_that_has_left_hears_nothing)
{
	struct fake_node *n = begin(0);
	struct fake_end *end = fake_meet(&net, 1, LIFE, 1, 0), *stranger = fake_call(&net, 2, 0), *late;
	uint32_t before = events_of(n);

	fill_with_events(0, end);
	wh_session_leave(n->session);
	ck_assert(wh_session_has_left(n->session));
	fake_expect(end, WH_MESSAGE_LEAVE);
	ck_assert_ptr_null(stranger->other);
	ck_assert_int_eq(wh_session_control_send(n->session, 1, "", 0), WHORL_MEMBER_GONE);
	late = fake_call(&net, 2, 0);
	fake_say_hello(late, 2, LIFE, 1);
	for (int i = 0; i < 2 * WH_SESSION_EVENTS; i++)
		fake_say_plain(end, _i == 0 ? WH_MESSAGE_CONTROL : FAKE_OWN_KIND + 1, 0);
	say_refused(end, LIFE);
	fake_pump(&net);
	ck_assert_uint_eq(fake_waiting(end->other), 0);
	hang_up(end);
	fake_advance(&net, 3 * WH_NS_PER_S);
	ck_assert_uint_eq(events_of(n), before);
	ck_assert_int_eq(fake_state(&net, 0, 1), WH_PEER_ABSENT);
	ck_assert(!wh_session_searching(n->session));
	fake_expect(late, 0);
	hang_up(late);
	hang_up(stranger);
}
END_TEST

static void add_calls(TCase *cases)
{
	tcase_add_test(cases, three_meet);
	tcase_add_test(cases, of_crossed_calls_that_of_the_higher_id_counts);
	tcase_add_test(cases, a_call_counts_only_once_greeted);
	tcase_add_test(cases, the_lower_id_hangs_up_its_own_call);
	tcase_add_test(cases, calls_are_numbered);
	tcase_add_test(cases, an_older_call_is_hung_up);
	tcase_add_test(cases, an_answered_call_gives_no_place_to_a_late_one);
	tcase_add_test(cases, an_answered_call_is_never_given_up);
	tcase_add_test(cases, a_call_is_given_up_and_made_again);
	tcase_add_test(cases, each_word_earns_time_anew);
	tcase_add_loop_test(cases, what_is_worked_on_takes_no_time, 0, 2);
	tcase_add_test(cases, a_call_without_a_limit_is_not_given_up);
	tcase_add_test(cases, a_late_node_looks_before_it_gives_up);
	tcase_add_test(cases, a_full_node_looks_before_it_gives_up);
	tcase_add_test(cases, an_alarm_says_whether_there_is_something_to_do);
	tcase_add_test(cases, a_peer_that_answers_keeps_its_place);
	tcase_add_test(cases, connections_of_members_outlast_a_cut);
	tcase_add_loop_test(cases, one_whose_place_another_wants_is_not_held, 0, 2);
	tcase_add_test(cases, one_that_has_said_that_it_is_there_is_held_from_the_first_view_on);
	tcase_add_test(cases, what_the_last_life_has_sent_comes_first);
	tcase_add_test(cases, the_holder_of_an_id_is_believed);
	tcase_add_test(cases, a_foreign_caller_does_not_come_in_a_peers_place);
	tcase_add_test(cases, what_is_said_must_be_proven);
}

static void add_refusals(TCase *cases)
{
	tcase_add_test(cases, what_has_ended_is_not_met_again);
	tcase_add_test(cases, an_ended_life_that_answers_is_told_so);
	tcase_add_loop_test(cases, the_foreign_are_refused_and_told_of_once, 0, 3);
	tcase_add_loop_test(cases, the_foreign_that_answer_are_refused, 0, 4);
	tcase_add_test(cases, a_rejected_peer_is_called_again);
	tcase_add_test(cases, a_refusal_before_anything_is_proven);
	tcase_add_loop_test(cases, a_hello_that_the_plane_refuses, 0, 4);
	tcase_add_loop_test(cases, what_is_not_judged_is_discarded, 0, 2);
}

static void add_peers(TCase *cases)
{
	tcase_add_loop_test(cases, a_broken_protocol_ends_a_peer, 0, 6);
	tcase_add_loop_test(cases, a_peer_that_leaves_has_not_died, 0, 2);
	tcase_add_test(cases, the_doomed_go_in_the_next_service);
	tcase_add_test(cases, users_leave_room_for_the_sessions_own);
	tcase_add_loop_test(cases, what_finds_no_room_waits, 0, 2);
	tcase_add_test(cases, a_full_connection_ends_when_it_is_finished);
	tcase_add_test(cases, nothing_happens_on_a_slot_without_a_connection);
	tcase_add_loop_test(cases, a_node_that_has_left_hears_nothing, 0, 2);
}

int main(void)
{
	Suite *suite = suite_create("session");
	TCase *calls = tcase_create("calls"), *refusals = tcase_create("refusals"), *peers = tcase_create("peers");

	add_calls(calls);
	add_refusals(refusals);
	add_peers(peers);
	for (int i = 0; i < 3; i++) {
		TCase *cases = i == 0 ? calls : i == 1 ? refusals : peers;

		tcase_add_checked_fixture(cases, setup, teardown);
		suite_add_tcase(suite, cases);
	}
	return test_main(suite);
}
