/* tcp_strangers.c - other callers: those that say nothing, nonsense, or half of something; those that belong elsewhere; and those
 * that come in another's place. None of them disturbs the nodes that are here. */
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/conformance/tcp_raw.h"
#include "transport/tcp/tcp_int.h"

#define MANY (2 * WH_TCP_STRANGERS)

static uint64_t now_ns(void)
{
	return wh_env_now(wh_env_system());
}

/* Nothing, a part of a hello, or nonsense: a place for a second, or less. */
START_TEST(a_place_for_a_second)
{
	struct raw *raw = raw_make();
	struct wh_tcp_hello hello = raw_hello(raw);
	unsigned char frame[WH_TCP_HEAD_BYTES + WH_TCP_HELLO_BYTES], body[WH_TCP_BODY_MAX];
	size_t bytes = wh_tcp_put_hello(frame, &hello), said[] = {0, 1, WH_TCP_HEAD_BYTES, bytes - 1, bytes, 0};
	uint64_t begin = now_ns();
	struct wh_tcp_head head;
	int s = _i == 5 ? raw_connect(raw) : raw_call(raw); /* 5: not even what comes before a frame */

	if (_i == 4)
		memset(frame, 0xa5, bytes); /* nonsense */
	raw_send(s, frame, said[_i]);
	ck_assert(!raw_receive(raw, s, &head, body));
	ck_assert_uint_lt(now_ns() - begin, 5 * WH_NS_PER_S);
	ck_assert_uint_eq(raw->met + raw->refused + raw->down, 0);
	close(s);
	raw_free(raw);
}
END_TEST

/* The time is not asked for: a second after a caller has come the next tick of the clock hangs up if it has said nothing. */
START_TEST(the_silent_go_in_time)
{
	struct raw *raw = raw_make();
	struct wh_tcp *t = wh_tcp_of(raw->node);
	int s = raw_connect(raw);
	uint64_t since;

	RAW_UNTIL(raw, t->strangers[0].channel.fd >= 0);
	since = t->strangers[0].since_ns;
	wh_tcp_accept_tick(t, since + WH_TCP_STRANGER_NS - 1);
	ck_assert_int_ge(t->strangers[0].channel.fd, 0);
	wh_tcp_accept_tick(t, since + WH_TCP_STRANGER_NS);
	ck_assert_int_lt(t->strangers[0].channel.fd, 0);
	close(s);
	raw_free(raw);
}
END_TEST

/* A caller that has asked waits for the answer as long as that takes. */
START_TEST(the_asked_take_their_time)
{
	struct raw *raw = raw_make();
	struct wh_tcp *t = wh_tcp_of(raw->node);
	unsigned char frame[WH_TCP_HEAD_BYTES + WH_TCP_BODY_MAX], body[WH_TCP_BODY_MAX];
	int s = raw_call(raw);

	raw_send(s, frame, wh_tcp_put_question(frame, "how?", 4));
	RAW_UNTIL(raw, t->strangers[0].query != 0);
	wh_tcp_accept_tick(t, t->strangers[0].since_ns + 100 * WH_TCP_STRANGER_NS);
	ck_assert_uint_ne(t->strangers[0].query, 0);
	raw->node->ops->answer(raw->node, t->strangers[0].query, "I", 1);
	raw_expect(raw, s, WH_TCP_ANSWER, body);
	ck_assert_int_eq(body[0], 'I');
	ck_assert_int_lt(t->strangers[0].channel.fd, 0);
	close(s);
	raw_free(raw);
}
END_TEST

/* More of them than there are places, again and again: a member comes in all the same. */
START_TEST(a_crowd_keeps_nobody_out)
{
	struct raw *raw = raw_make();
	int crowd[MANY], s;
	uint64_t begin;

	for (int i = 0; i < MANY; i++)
		crowd[i] = raw_connect(raw);
	for (int k = 0; k < 20; k++)
		raw_pass(raw);
	begin = now_ns();
	s = raw_meet(raw, RAW_INCARNATION);
	ck_assert_uint_lt(now_ns() - begin, 10 * WH_NS_PER_S);
	ck_assert_uint_eq(raw->down + raw->refused, 0);
	for (int i = 0; i < MANY; i++)
		close(crowd[i]);
	close(s);
	raw_free(raw);
}
END_TEST

/* ---- those that belong elsewhere ------------------------------------------------------------------------------------- */

static void expect_refusal(struct raw *raw, int s, const char *why)
{
	unsigned char body[WH_TCP_BODY_MAX];
	struct wh_tcp_refused refused;
	struct wh_tcp_head head;

	ck_assert(raw_receive(raw, s, &head, body));
	ck_assert_int_eq((int)head.kind, WH_TCP_REFUSED);
	ck_assert(wh_tcp_take_refused(&refused, &head, body));
	ck_assert_msg(strstr(refused.reason, why) != NULL, "\"%s\" does not say \"%s\"", refused.reason, why);
	ck_assert(!raw_receive(raw, s, &head, body));
}

START_TEST(the_foreign_are_told_why)
{
	static const char *const whys[] = {"version 9", "of a group of 5 nodes", "of group other"};
	struct raw *raw = raw_make();
	struct wh_tcp_hello hello = raw_hello(raw);
	int s = raw_call(raw);

	if (_i == 0)
		hello.version = 9;
	else if (_i == 1)
		hello.nodes = 5;
	else
		snprintf(hello.group, sizeof(hello.group), "other");
	raw_say_hello(s, &hello);
	expect_refusal(raw, s, whys[_i]);
	ck_assert_uint_eq(raw->refused, 1);
	ck_assert_msg(strstr(raw->text, whys[_i]) != NULL, "%s", raw->text);
	close(s);
	s = raw_meet(raw, RAW_INCARNATION + 1); /* another life, as it should be */
	close(s);
	raw_free(raw);
}
END_TEST

/* ---- in another's place ------------------------------------------------------------------------------------------------ */

/* A second node comes with the id of one that is here: that one is asked whether it lives, and stays; the second is told. */
START_TEST(a_second_of_the_same_id)
{
	struct raw *raw = raw_make();
	int first = raw_meet(raw, RAW_INCARNATION), second;
	struct wh_tcp_hello hello = raw_hello(raw);
	unsigned char frame[WH_TCP_HEAD_BYTES], body[WH_TCP_BODY_MAX];
	struct wh_tcp_head head;

	hello.incarnation = RAW_INCARNATION + 1;
	second = raw_call(raw);
	raw_say_hello(second, &hello);
	ck_assert(!raw_receive(raw, second, &head, body)); /* not now */
	close(second);
	raw_expect(raw, first, WH_TCP_PING, body);
	raw_send(first, frame, wh_tcp_put_plain(frame, WH_TCP_PONG, 0));
	RAW_UNTIL(raw, wh_tcp_of(raw->node)->peers[RAW_ME].ponged_ns != 0);
	hello.call++;
	second = raw_call(raw);
	raw_say_hello(second, &hello);
	expect_refusal(raw, second, "node 1 is here already");
	close(second);
	raw_send(first, frame, wh_tcp_put_plain(frame, WH_TCP_LEAVE, 0));
	RAW_UNTIL(raw, raw->left == 1);
	ck_assert_uint_eq(raw->down + raw->refused, 0);
	close(first);
	raw_free(raw);
}
END_TEST

/* The first has died, which its connection says when it is looked at. */
START_TEST(the_next_life_of_a_node)
{
	struct raw *raw = raw_make();
	int first = raw_meet(raw, RAW_INCARNATION), second;

	close(first);
	second = raw_meet(raw, RAW_INCARNATION + 1);
	ck_assert_uint_eq(raw->down, 1);
	ck_assert_uint_eq(raw->met, 2);
	close(second);
	raw_free(raw);
}
END_TEST

/* Another came in its place, and is no more either: the first, which had only been cut off, is gone for good all the same. What was
 * pushed to its row meanwhile is lost. */
START_TEST(the_life_before_the_last)
{
	struct raw *raw = raw_make();
	struct wh_tcp_hello hello = raw_hello(raw);
	int s;

	for (uint64_t life = 0; life < WH_LIVES; life++) {
		close(raw_meet(raw, RAW_INCARNATION + life));
		RAW_UNTIL(raw, raw->down == life + 1);
	}
	for (uint64_t life = 0; life < WH_LIVES; life++) {
		hello.incarnation = RAW_INCARNATION + life;
		hello.call++;
		s = raw_call(raw);
		raw_say_hello(s, &hello);
		expect_refusal(raw, s, "gone for good");
		close(s);
	}
	ck_assert_uint_eq(raw->met, WH_LIVES);
	s = raw_meet(raw, RAW_INCARNATION + WH_LIVES);
	close(s);
	raw_free(raw);
}
END_TEST

/* A call that was given up and comes late does not take the place of the one that was made after it. */
START_TEST(an_older_call_comes_later)
{
	struct raw *raw = raw_make();
	struct wh_tcp_hello hello = raw_hello(raw);
	unsigned char frame[WH_TCP_HEAD_BYTES], body[WH_TCP_BODY_MAX];
	struct wh_tcp_head head;
	int older = raw_call(raw), newer = raw_call(raw);

	hello.call = 2;
	raw_say_hello(newer, &hello);
	raw_expect(raw, newer, WH_TCP_HELLO, body);
	hello.call = 1;
	raw_say_hello(older, &hello);
	ck_assert(!raw_receive(raw, older, &head, body));
	raw_send(newer, frame, wh_tcp_put_plain(frame, WH_TCP_TAKEN, 0));
	RAW_UNTIL(raw, raw->met == 1);
	close(older);
	close(newer);
	raw_free(raw);
}
END_TEST

/* A call of another life, which was long on its way, does not take the place of one that is answered: the connection of that one
 * must have ended before. */
START_TEST(a_late_call_of_another_life)
{
	struct raw *raw = raw_make();
	struct wh_tcp_hello hello = raw_hello(raw), late = raw_hello(raw);
	unsigned char frame[WH_TCP_HEAD_BYTES], body[WH_TCP_BODY_MAX];
	struct wh_tcp_head head;
	int answered = raw_call(raw), other = raw_call(raw);

	raw_say_hello(answered, &hello);
	raw_expect(raw, answered, WH_TCP_HELLO, body);
	late.incarnation--;
	raw_say_hello(other, &late);
	ck_assert(!raw_receive(raw, other, &head, body));
	close(other);
	raw_expect(raw, answered, WH_TCP_PING,
		   body); /* is it there? If its host has forgotten it, its connection ends */
	if (_i == 0) {
		raw_send(answered, frame, wh_tcp_put_plain(frame, WH_TCP_TAKEN, 0));
		RAW_UNTIL(raw, raw->met == 1);
		close(answered);
	} else {
		close(answered); /* it was the answered one that has ended: the other calls again */
		late.call++;
		other = raw_call(raw);
		raw_say_hello(other, &late);
		raw_expect(raw, other, WH_TCP_HELLO, body);
		raw_send(other, frame, wh_tcp_put_plain(frame, WH_TCP_TAKEN, 0));
		RAW_UNTIL(raw, raw->met == 1);
		close(other);
	}
	ck_assert_uint_eq(raw->down + raw->refused, 0);
	raw_free(raw);
}
END_TEST

/* A node that has refused a peer calls it again: another may be in its place by now, which cannot call here itself. It tells of each
 * incarnation once. */
START_TEST(a_rejected_peer_is_called_again)
{
	struct raw *raw = raw_make();
	int listener = raw_listen(raw), s;
	struct wh_tcp_hello hello = raw_hello(raw);
	unsigned char body[WH_TCP_BODY_MAX];
	struct wh_tcp_head head;

	hello.version = 9;
	for (int times = 0; times < 3; times++) {
		s = raw_accept(raw, listener);
		raw_expect(raw, s, WH_TCP_HELLO, body);
		raw_say_hello(s, &hello);
		while (raw_receive(raw, s, &head, body))
			ck_assert_int_eq((int)head.kind, WH_TCP_REFUSED);
		close(s);
	}
	ck_assert_uint_eq(raw->refused, 1);
	hello.version = WH_TCP_VERSION;
	hello.incarnation++;
	s = raw_accept(raw, listener);
	raw_expect(raw, s, WH_TCP_HELLO, body);
	raw_say_hello(s, &hello);
	raw_expect(raw, s, WH_TCP_TAKEN, body);
	ck_assert_uint_eq(raw->met, 1);
	ck_assert_uint_eq(raw->refused, 1);
	close(s);
	close(listener);
	raw_free(raw);
}
END_TEST

/* A peer that has been answered, and says nothing for long, has perhaps met this node: it is not for this node to hang up. */
START_TEST(an_answered_call_is_not_given_up)
{
	struct raw *raw = raw_make();
	struct wh_tcp_hello hello = raw_hello(raw);
	unsigned char frame[WH_TCP_HEAD_BYTES], body[WH_TCP_BODY_MAX];
	int s = raw_call(raw);
	uint64_t begin = now_ns();

	raw_say_hello(s, &hello);
	raw_expect(raw, s, WH_TCP_HELLO, body);
	RAW_UNTIL(raw, now_ns() - begin > 5 * WH_TCP_CONNECT_NS / 2);
	raw_send(s, frame, wh_tcp_put_plain(frame, WH_TCP_TAKEN, 0));
	RAW_UNTIL(raw, raw->met == 1);
	ck_assert_uint_eq(raw->down + raw->refused, 0);
	close(s);
	raw_free(raw);
}
END_TEST

/* ---- too early -------------------------------------------------------------------------------------------------------- */

static bool holds_one(const struct raw *raw)
{
	bool held = false;

	for (int i = 0; i < WH_TCP_STRANGERS; i++)
		held = held || wh_tcp_of(raw->node)->strangers[i].held;
	return held;
}

/* Opens a stream, and goes on at once. */
static int open_early(struct raw *raw)
{
	const struct wh_tcp_opening opening = {
		.version = WH_TCP_VERSION, .node = RAW_ME, .incarnation = RAW_INCARNATION, .to = 1000};
	unsigned char frame[WH_TCP_HEAD_BYTES + WH_TCP_BODY_MAX];
	int s = raw_call(raw);

	raw_send(s, frame, wh_tcp_put_opening(frame, &opening));
	RAW_UNTIL(raw, holds_one(raw));
	raw_send(s, "what follows", 12);
	return s;
}

/* What the opener has said of our meeting is on its way: the stream waits for that, and the loop sleeps. */
START_TEST(a_stream_before_its_opener_is_met)
{
	struct raw *raw = raw_make();
	struct wh_tcp *t = wh_tcp_of(raw->node);
	struct wh_tcp_hello hello = raw_hello(raw);
	unsigned char frame[WH_TCP_HEAD_BYTES], body[WH_TCP_BODY_MAX];
	struct epoll_event event;
	int s = raw_call(raw), early;

	raw_say_hello(s, &hello);
	raw_expect(raw, s, WH_TCP_HELLO, body);
	early = open_early(raw);
	RAW_UNTIL(raw, epoll_wait(t->epoll, &event, 1, 0) == 0); /* now and then the clock ticks */
	if (_i == 1) {                                           /* nor does its end wake the node */
		ck_assert_int_eq(shutdown(early, SHUT_WR), 0);
		RAW_UNTIL(raw, epoll_wait(t->epoll, &event, 1, 0) == 0);
	}
	ck_assert_msg(holds_one(raw), "it slept only when the stream had been given up");
	while (!wh_event_queue_is_full(
		&t->event_queue)) /* there is no room for its event: it is not forgotten for that */
		wh_event_queue_event(&t->event_queue, WH_EVENT_CONTROL, RAW_ME, RAW_INCARNATION, "x", 1);
	raw->node->ops->service(raw->node);
	ck_assert(holds_one(raw));
	raw_send(s, frame, wh_tcp_put_plain(frame, WH_TCP_TAKEN, 0));
	RAW_UNTIL(raw, raw->streams == 1);
	ck_assert_uint_eq(raw->met, 1);
	close(early);
	close(s);
	raw_free(raw);
}
END_TEST

/* ---- addresses -------------------------------------------------------------------------------------------------------- */

static enum whorl_result create_at(const char *address, struct wh_error *err)
{
	const char *addresses[] = {address, NULL};
	const struct wh_transport_config config = {.env = wh_env_system(),
						   .group = "addresses",
						   .nodes = 2,
						   .incarnation = 1,
						   .patience_ns = 1,
						   .addresses = addresses};
	struct wh_transport *transport;
	enum whorl_result result = wh_tcp_create(&config, NULL, &transport, err);

	if (result == WHORL_OK)
		transport->ops->destroy(transport, false);
	return result;
}

/* Without a key no node listens where others than this host's own could call. */
START_TEST(only_loopback_without_a_key)
{
	static const char *const open[] = {"0.0.0.0:21999", "[::]:21999", "192.0.2.1:21999"};
	struct wh_error err;

	for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
		ck_assert_int_eq(create_at(open[i], &err), WHORL_CONFIG);
		ck_assert_ptr_nonnull(strstr(err.text, "cluster key"));
	}
	ck_assert_int_eq(create_at("127.0.0.1:21998", &err), WHORL_OK);
	ck_assert_int_eq(create_at("localhost:21998", &err), WHORL_OK);
}
END_TEST

/* What was not known, or has come to mean something else, is looked up again. */
START_TEST(names_are_looked_up_again)
{
	const char *addresses[] = {"localhost:21997", "localhost:21996"};
	const struct wh_transport_config config = {.env = wh_env_system(),
						   .group = "names",
						   .nodes = 2,
						   .incarnation = 1,
						   .patience_ns = 1,
						   .addresses = addresses};
	struct raw raw = {.group = "names"};
	struct wh_tcp_address right;
	struct wh_error err;
	struct wh_tcp *t;

	ck_assert_int_eq(wh_tcp_create(&config, NULL, &raw.node, &err), WHORL_OK);
	t = wh_tcp_of(raw.node);
	right = t->peers[1].address;
	ck_assert(right.is_name);
	if (_i == 0)
		t->peers[1].address.bytes = 0;
	else
		t->peers[1].address.at = (struct sockaddr_storage){.ss_family = right.at.ss_family};
	RAW_UNTIL(&raw, t->peers[1].address.bytes > 0 && wh_tcp_address_same(&t->peers[1].address, &right));
	raw.node->ops->destroy(raw.node, false);
}
END_TEST

START_TEST(addresses_as_text)
{
	static const char *const good[] = {"a:1", "host.example.org:65535", "10.0.0.1:80", "[::1]:80",
					   "[fe80::1%eth0]:7"};
	static const char *const bad[] = {"",     "a",      ":1",    "a:",     "a:0",       "a:65536", "a:1x", "[::1]",
					  "[]:1", "[::1:1", "a b:1", "::1]:1", "[::1]80:1", "a:-1",    "a:+1", "a/b:1"};
	struct wh_error err;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ck_assert_msg(wh_tcp_address_check(good[i], &err) == WHORL_OK, "%s", err.text);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_msg(wh_tcp_address_check(bad[i], &err) == WHORL_INVALID, "%s is good", bad[i]);
		ck_assert_ptr_nonnull(strstr(err.text, "expected"));
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tcp-strangers");
	TCase *cases = tcase_create("strangers"), *in_time = tcase_create("in-time"), *lives = tcase_create("lives");

	tcase_set_timeout(cases, 60);
	tcase_add_loop_test(cases, a_place_for_a_second, 0, 6);
	tcase_add_test(in_time, the_silent_go_in_time);
	tcase_add_test(in_time, the_asked_take_their_time);
	tcase_add_test(cases, a_crowd_keeps_nobody_out);
	tcase_add_loop_test(cases, the_foreign_are_told_why, 0, 3);
	tcase_add_test(cases, a_second_of_the_same_id);
	tcase_add_test(cases, the_next_life_of_a_node);
	tcase_add_test(lives, the_life_before_the_last);
	tcase_add_test(cases, an_older_call_comes_later);
	tcase_add_loop_test(cases, a_late_call_of_another_life, 0, 2);
	tcase_add_test(cases, a_rejected_peer_is_called_again);
	tcase_add_test(cases, an_answered_call_is_not_given_up);
	tcase_add_loop_test(cases, a_stream_before_its_opener_is_met, 0, 2);
	tcase_add_test(cases, only_loopback_without_a_key);
	tcase_add_loop_test(cases, names_are_looked_up_again, 0, 2);
	tcase_add_test(cases, addresses_as_text);
	suite_add_tcase(suite, cases);
	suite_add_tcase(suite, in_time);
	suite_add_tcase(suite, lives);
	return test_main(suite);
}
