/* tcp_strangers.c - other callers: those that say nothing, nonsense, or half of something; those that belong elsewhere; and those
 * that come in another's place. None of them disturbs the nodes that are here. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/conformance/tcp_raw.h"
#include "tests/ports.h"
#include "transport/tcp/tcp_int.h"

#define MANY (2 * WH_SESSION_STRANGERS)

static uint64_t now_ns(void)
{
	return wh_env_now(wh_env_system());
}

/* Nothing, a part of a hello, or nonsense: a place for a second, or less. */
START_TEST(a_place_for_a_second)
{
	struct raw *raw = raw_make();
	struct wh_hello hello = raw_hello(raw);
	unsigned char frame[WH_HEAD_BYTES + WH_HELLO_BYTES], body[WH_BODY_MAX];
	size_t bytes = wh_message_put_hello(frame, &hello, 0), said[] = {0, 1, WH_HEAD_BYTES, bytes - 1, bytes, 0};
	uint64_t begin = now_ns();
	struct wh_message_head head;
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

/* The time is not asked for: a quarter of a second after a caller has come the next tick of the clock hangs up if it has said nothing. */
START_TEST(the_silent_go_in_time)
{
	struct raw *raw = raw_make();
	struct wh_session *session = raw_session(raw);
	int s = raw_connect(raw);
	uint64_t since;

	RAW_UNTIL(raw, raw_stranger(raw) != NULL);
	since = raw_stranger(raw)->since_ns;
	wh_session_door_tick(session, since + WH_SESSION_SILENT_NS - 1);
	ck_assert_ptr_nonnull(raw_stranger(raw));
	wh_session_door_tick(session, since + WH_SESSION_SILENT_NS);
	ck_assert_ptr_null(raw_stranger(raw));
	close(s);
	raw_free(raw);
}
END_TEST

/* A caller that has asked waits for the answer as long as that takes. */
START_TEST(the_asked_take_their_time)
{
	struct raw *raw = raw_make();
	struct wh_session *session = raw_session(raw);
	unsigned char frame[WH_HEAD_BYTES + WH_BODY_MAX], body[WH_BODY_MAX];
	int s = raw_call(raw);

	raw_send(s, frame, wh_message_put_query(frame, WH_TCP_VERSION, "how?", 4));
	RAW_UNTIL(raw, raw_stranger(raw) != NULL && raw_stranger(raw)->query != 0);
	wh_session_door_tick(session, raw_stranger(raw)->since_ns + 100 * WH_SESSION_STRANGER_NS);
	ck_assert_uint_ne(raw_stranger(raw)->query, 0);
	raw->node->ops->answer(raw->node, raw_stranger(raw)->query, "I", 1);
	raw_expect(raw, s, WH_MESSAGE_ANSWER, body);
	ck_assert_int_eq(body[0], 'I');
	ck_assert_ptr_null(raw_stranger(raw));
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

/* Connections that say nothing, and come again as soon as they are hung up: a thread of the test keeps so many of them. */
#define CROWD 900

struct crowd {
	struct raw *raw;
	wh_word ends;
	uint64_t came; /* so often one has come again */
	int sockets[CROWD];
};

static int come(const struct crowd *crowd)
{
	struct wh_tcp_address to;
	struct wh_error err;
	int s;

	if (wh_tcp_address_find(crowd->raw->address, &to, &err) != WHORL_OK)
		return -1;
	s = socket(to.at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s >= 0)
		(void)!connect(s, (const struct sockaddr *)&to.at, to.bytes);
	return s;
}

static bool is_hung_up(int s)
{
	char byte;
	ssize_t n = recv(s, &byte, 1, MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno != EAGAIN && errno != ENOTCONN);
}

static void *crowd_thread(void *ctx)
{
	struct crowd *crowd = ctx;

	for (int i = 0; i < CROWD; i++)
		crowd->sockets[i] = come(crowd);
	while (wh_load_relaxed(&crowd->ends) == 0)
		for (int i = 0; i < CROWD; i++)
			if (crowd->sockets[i] < 0 || is_hung_up(crowd->sockets[i])) {
				close(crowd->sockets[i]);
				crowd->sockets[i] = come(crowd);
				crowd->came++;
			}
	for (int i = 0; i < CROWD; i++)
		close(crowd->sockets[i]);
	return NULL;
}

/* A second is what a member waits for an answer before it hangs up, and goes to the end of the queue. */
START_TEST(a_crowd_that_comes_again_keeps_nobody_out)
{
	struct raw *raw = raw_make();
	struct crowd *crowd = calloc(1, sizeof(*crowd));
	struct rlimit files;
	pthread_t thread;
	uint64_t begin;
	int s;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
	ck_assert_ptr_nonnull(crowd);
	crowd->raw = raw;
	ck_assert_int_eq(pthread_create(&thread, NULL, crowd_thread, crowd), 0);
	for (begin = now_ns(); now_ns() - begin < WH_NS_PER_S;)
		raw_pass(raw);
	begin = now_ns();
	s = raw_meet(raw, RAW_INCARNATION);
	ck_assert_uint_lt(now_ns() - begin, test_patience(1000) * WH_NS_PER_MS);
	wh_store_relaxed(&crowd->ends, 1);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_uint_gt(crowd->came, 0);
	close(s);
	free(crowd);
	raw_free(raw);
}
END_TEST

/* ---- which stranger gives its place up ------------------------------------------------------------------------------------ */

/* Calls from that address of this host, and says a little if it is to. */
static int call_from(struct raw *raw, const char *host, bool speaks)
{
	struct sockaddr_in from = {.sin_family = AF_INET};
	struct wh_tcp_address to;
	struct wh_error err;
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(s, 0);
	ck_assert_int_eq(inet_pton(AF_INET, host, &from.sin_addr), 1);
	ck_assert_int_eq(bind(s, (const struct sockaddr *)&from, sizeof(from)), 0);
	ck_assert_int_eq(wh_tcp_address_find(raw->address, &to, &err), WHORL_OK);
	ck_assert_int_eq(connect(s, (const struct sockaddr *)&to.at, to.bytes), 0);
	if (speaks)
		raw_prove(raw, s, (struct wh_secure_peer){RAW_ME, RAW_INCARNATION}); /* and then no frame */
	return s;
}

static uint64_t stands_at;

/* By so little that none is late, and yet one comes behind the other. */
static uint64_t stand(void *ctx)
{
	(void)ctx;
	return ++stands_at;
}

/* From now on none is late, however long this test takes, or a pass of it. */
static void stop_time(struct raw *raw)
{
	static struct wh_env env;

	env = *wh_env_system();
	stands_at = now_ns();
	env.now_ns = stand;
	raw_session(raw)->env = &env;
}

/* How many of these have been hung up, when all that wait have been let in. */
static uint32_t hung_up(struct raw *raw, const int *sockets, uint32_t count)
{
	uint32_t gone = 0;

	for (uint32_t k = 0; k < 3; k++)
		raw_pass(raw);
	for (uint32_t i = 0; i < count; i++)
		gone += is_hung_up(sockets[i]);
	return gone;
}

#define FEW 10

static void close_all(const int *sockets, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		close(sockets[i]);
}

static void call_often(struct raw *raw, const char *host, bool speaks, int *sockets, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		sockets[i] = call_from(raw, host, speaks);
		raw_pass(raw);
	}
}

/* All places are taken: by a few that are the oldest, and many of one host. */
START_TEST(the_silent_and_the_many_give_way)
{
	static int few[FEW], many[WH_SESSION_STRANGERS - FEW], more[FEW];
	struct raw *raw = raw_make();
	char own[INET_ADDRSTRLEN];
	int s;

	stop_time(raw);
	call_often(raw, "127.0.0.3", true, few, FEW);
	call_often(raw, "127.0.0.2", _i == 1, many, WH_SESSION_STRANGERS - FEW);
	if (_i < 2) { /* the many are silent, or they speak: it is one of them that goes */
		call_often(raw, _i == 0 ? "127.0.0.3" : "127.0.0.2", true, more, FEW);
		ck_assert_uint_eq(hung_up(raw, few, FEW), 0);
		ck_assert_uint_eq(hung_up(raw, more, FEW), 0);
		ck_assert_uint_eq(hung_up(raw, many, WH_SESSION_STRANGERS - FEW), FEW);
		close_all(more, FEW);
	} else { /* a call from a host of the configuration: there is a place yet */
		ck_assert_int_eq(sscanf(raw->address, "%15[0-9.]", own), 1);
		s = call_from(raw, own, true);
		ck_assert_uint_eq(hung_up(raw, few, FEW) + hung_up(raw, many, WH_SESSION_STRANGERS - FEW), 0);
		ck_assert_uint_eq(hung_up(raw, &s, 1), 0);
		close(s);
		call_often(raw, "127.0.0.3", false, more, 1); /* and none for another */
		ck_assert_uint_eq(hung_up(raw, few, FEW), 0);
		ck_assert_uint_eq(hung_up(raw, many, WH_SESSION_STRANGERS - FEW), 1);
		close_all(more, 1);
	}
	close_all(few, FEW);
	close_all(many, WH_SESSION_STRANGERS - FEW);
	raw_free(raw);
}
END_TEST

/* ---- those that belong elsewhere ------------------------------------------------------------------------------------- */

static void expect_refusal(struct raw *raw, int s, const char *why)
{
	unsigned char body[WH_BODY_MAX];
	struct wh_refused refused;
	struct wh_message_head head;

	ck_assert(raw_receive(raw, s, &head, body));
	ck_assert_int_eq((int)head.kind, WH_MESSAGE_REFUSED);
	ck_assert(wh_message_take_refused(&refused, &head, body));
	ck_assert_msg(strstr(refused.reason, why) != NULL, "\"%s\" does not say \"%s\"", refused.reason, why);
	ck_assert(!raw_receive(raw, s, &head, body));
}

START_TEST(the_foreign_are_told_why)
{
	static const char *const whys[] = {"version 9", "of a group of 5 nodes", "of group other"};
	struct raw *raw = raw_make();
	struct wh_hello hello = raw_hello(raw);
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
	struct wh_hello hello = raw_hello(raw);
	unsigned char frame[WH_HEAD_BYTES], body[WH_BODY_MAX];
	struct wh_message_head head;

	hello.incarnation = RAW_INCARNATION + 1;
	second = raw_call(raw);
	raw_say_hello(second, &hello);
	ck_assert(!raw_receive(raw, second, &head, body)); /* not now */
	close(second);
	raw_expect(raw, first, WH_MESSAGE_PING, body);
	raw_send(first, frame, wh_message_put_plain(frame, WH_MESSAGE_PONG, 0));
	RAW_UNTIL(raw, wh_session_peer(raw_session(raw), RAW_ME)->ponged_ns != 0);
	hello.call++;
	second = raw_call(raw);
	raw_say_hello(second, &hello);
	expect_refusal(raw, second, "node 1 is here already");
	close(second);
	raw_send(first, frame, wh_message_put_plain(frame, WH_MESSAGE_LEAVE, 0));
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
	struct wh_hello hello = raw_hello(raw);
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
	struct wh_hello hello = raw_hello(raw);
	unsigned char frame[WH_HEAD_BYTES], body[WH_BODY_MAX];
	struct wh_message_head head;
	int older = raw_call(raw), newer = raw_call(raw);

	hello.call = 2;
	raw_say_hello(newer, &hello);
	raw_expect(raw, newer, WH_MESSAGE_HELLO, body);
	hello.call = 1;
	raw_say_hello(older, &hello);
	ck_assert(!raw_receive(raw, older, &head, body));
	raw_send(newer, frame, wh_message_put_plain(frame, WH_MESSAGE_TAKEN, 0));
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
	struct wh_hello hello = raw_hello(raw), late = raw_hello(raw);
	unsigned char frame[WH_HEAD_BYTES], body[WH_BODY_MAX];
	struct wh_message_head head;
	int answered = raw_call(raw), other = raw_call(raw);

	raw_say_hello(answered, &hello);
	raw_expect(raw, answered, WH_MESSAGE_HELLO, body);
	late.incarnation--;
	raw_say_hello(other, &late);
	ck_assert(!raw_receive(raw, other, &head, body));
	close(other);
	raw_expect(raw, answered, WH_MESSAGE_PING,
		   body); /* is it there? If its host has forgotten it, its connection ends */
	if (_i == 0) {
		raw_send(answered, frame, wh_message_put_plain(frame, WH_MESSAGE_TAKEN, 0));
		RAW_UNTIL(raw, raw->met == 1);
		close(answered);
	} else {
		close(answered); /* it was the answered one that has ended: the other calls again */
		late.call++;
		other = raw_call(raw);
		raw_say_hello(other, &late);
		raw_expect(raw, other, WH_MESSAGE_HELLO, body);
		raw_send(other, frame, wh_message_put_plain(frame, WH_MESSAGE_TAKEN, 0));
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
	struct wh_hello hello = raw_hello(raw);
	unsigned char body[WH_BODY_MAX];
	struct wh_message_head head;

	hello.version = 9;
	for (int times = 0; times < 3; times++) {
		s = raw_accept(raw, listener);
		raw_expect(raw, s, WH_MESSAGE_HELLO, body);
		raw_say_hello(s, &hello);
		while (raw_receive(raw, s, &head, body))
			ck_assert_int_eq((int)head.kind, WH_MESSAGE_REFUSED);
		close(s);
	}
	ck_assert_uint_eq(raw->refused, 1);
	hello.version = WH_TCP_VERSION;
	hello.incarnation++;
	s = raw_accept(raw, listener);
	raw_expect(raw, s, WH_MESSAGE_HELLO, body);
	raw_say_hello(s, &hello);
	raw_expect(raw, s, WH_MESSAGE_TAKEN, body);
	ck_assert_uint_eq(raw->met, 1);
	ck_assert_uint_eq(raw->refused, 1);
	close(s);
	close(listener);
	raw_free(raw);
}
END_TEST

/* A peer was met, and its connection has ended. When it answers a call it is told that it is gone for good: its own calls may not get
 * through, and nothing else would tell it. */
START_TEST(an_ended_life_that_answers_is_told_so)
{
	struct raw *raw = raw_make();
	int listener, s = raw_meet(raw, RAW_INCARNATION);
	struct wh_hello hello = raw_hello(raw);
	unsigned char body[WH_BODY_MAX];

	close(s);
	RAW_UNTIL(raw, raw->down == 1);
	listener = raw_listen(raw);
	s = raw_accept(raw, listener);
	raw_expect(raw, s, WH_MESSAGE_HELLO, body);
	raw_say_hello(s, &hello);
	expect_refusal(raw, s, "gone for good");
	ck_assert_uint_eq(raw->refused, 0); /* here that is no news */
	close(s);
	close(listener);
	raw_free(raw);
}
END_TEST

/* A peer that has been answered, and says nothing for long, has perhaps met this node: it is not for this node to hang up. */
START_TEST(an_answered_call_is_not_given_up)
{
	struct raw *raw = raw_make();
	struct wh_hello hello = raw_hello(raw);
	unsigned char frame[WH_HEAD_BYTES], body[WH_BODY_MAX];
	int s = raw_call(raw);
	uint64_t begin = now_ns();

	raw_say_hello(s, &hello);
	raw_expect(raw, s, WH_MESSAGE_HELLO, body);
	RAW_UNTIL(raw, now_ns() - begin > 5 * wh_tcp_wire_ops.answer_ns / 2);
	raw_send(s, frame, wh_message_put_plain(frame, WH_MESSAGE_TAKEN, 0));
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

	for (uint32_t i = 0; i < raw_session(raw)->slot_count; i++)
		held = held || (raw_session(raw)->slots[i] != NULL && raw_session(raw)->slots[i]->held);
	return held;
}

/* Opens a stream, and goes on at once. */
static int open_early(struct raw *raw)
{
	const struct wh_opening opening = {
		.version = WH_TCP_VERSION, .node = RAW_ME, .incarnation = RAW_INCARNATION, .to = 1000};
	unsigned char frame[WH_HEAD_BYTES + WH_BODY_MAX];
	int s = raw_call(raw);

	raw_send(s, frame, wh_message_put_opening(frame, &opening));
	RAW_UNTIL(raw, holds_one(raw));
	raw_send(s, "what follows", 12);
	return s;
}

/* What the opener has said of our meeting is on its way: the stream waits for that, and the loop sleeps. */
START_TEST(a_stream_before_its_opener_is_met)
{
	struct raw *raw = raw_make();
	struct wh_tcp *t = wh_tcp_of(raw->node);
	struct wh_hello hello = raw_hello(raw);
	unsigned char frame[WH_HEAD_BYTES], body[WH_BODY_MAX];
	struct epoll_event event;
	int s = raw_call(raw), early;

	raw_say_hello(s, &hello);
	raw_expect(raw, s, WH_MESSAGE_HELLO, body);
	early = open_early(raw);
	RAW_UNTIL(raw, epoll_wait(t->poll.epoll, &event, 1, 0) == 0); /* now and then the clock ticks */
	if (_i == 1) {                                                /* nor does its end wake the node */
		ck_assert_int_eq(shutdown(early, SHUT_WR), 0);
		RAW_UNTIL(raw, epoll_wait(t->poll.epoll, &event, 1, 0) == 0);
	}
	ck_assert_msg(holds_one(raw), "it slept only when the stream had been given up");
	while (!wh_event_queue_is_full(
		&t->base.session->event_queue)) /* there is no room for its event: it is not forgotten for that */
		wh_event_queue_event(&t->base.session->event_queue, WH_EVENT_CONTROL, RAW_ME, RAW_INCARNATION, "x", 1);
	raw->node->ops->service(raw->node);
	ck_assert(holds_one(raw));
	raw_send(s, frame, wh_message_put_plain(frame, WH_MESSAGE_TAKEN, 0));
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
	char address[32];
	struct wh_error err;
	unsigned port;

	for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
		ck_assert_int_eq(create_at(open[i], &err), WHORL_CONFIG);
		ck_assert_ptr_nonnull(strstr(err.text, "cluster key"));
	}
	ck_assert(test_find_ports(&port, 1));
	snprintf(address, sizeof(address), "127.0.0.1:%u", port);
	ck_assert_msg(create_at(address, &err) == WHORL_OK, "%s", err.text);
	snprintf(address, sizeof(address), "localhost:%u", port);
	ck_assert_msg(create_at(address, &err) == WHORL_OK, "%s", err.text);
}
END_TEST

/* What was not known, or has come to mean something else, is looked up again. */
START_TEST(names_are_looked_up_again)
{
	char texts[2][32];
	const char *addresses[] = {texts[0], texts[1]};
	const struct wh_transport_config config = {.env = wh_env_system(),
						   .group = "names",
						   .nodes = 2,
						   .incarnation = 1,
						   .patience_ns = 1,
						   .addresses = addresses};
	struct raw raw = {.group = "names"};
	struct wh_tcp_address right;
	struct wh_error err;
	unsigned ports[2];
	struct wh_tcp *t;

	ck_assert(test_find_ports(ports, 2));
	for (unsigned i = 0; i < 2; i++)
		snprintf(texts[i], sizeof(texts[i]), "localhost:%u", ports[i]);
	ck_assert_msg(wh_tcp_create(&config, NULL, &raw.node, &err) == WHORL_OK, "%s", err.text);
	t = wh_tcp_of(raw.node);
	right = t->wire->hosts[1].address;
	ck_assert(right.is_name);
	if (_i == 0)
		t->wire->hosts[1].address.bytes = 0;
	else
		t->wire->hosts[1].address.at = (struct sockaddr_storage){.ss_family = right.at.ss_family};
	RAW_UNTIL(&raw, t->wire->hosts[1].address.bytes > 0 && wh_tcp_address_same(&t->wire->hosts[1].address, &right));
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

static unsigned held_ms(const struct raw *raw)
{
	const struct wh_tcp_conn *conn = wh_tcp_conn_of(wh_session_peer(raw_session(raw), RAW_ME)->conn);
	socklen_t bytes = sizeof(unsigned);
	unsigned ms = 0;

	ck_assert_int_eq(getsockopt(conn->channel.fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, &bytes), 0);
	return ms;
}

/* So long the kernel goes on trying: some seconds, and as long as the configuration says from the first view on, until another life
 * wants the place (docs/decisions/0051). */
START_TEST(a_member_outlasts_a_cut)
{
	struct raw *raw = raw_make();
	unsigned char body[WH_BODY_MAX];
	struct wh_hello hello = raw_hello(raw);
	int s = raw_meet(raw, RAW_INCARNATION), next;

	ck_assert_uint_eq(held_ms(raw), 5000);
	raw->node->ops->past(raw->node, 1);
	ck_assert_uint_eq(held_ms(raw), RAW_CUT_NS / WH_NS_PER_MS);
	next = raw_call(raw);
	hello.incarnation = RAW_INCARNATION + 1;
	raw_say_hello(next, &hello);
	raw_expect(raw, s, WH_MESSAGE_PING, body);
	ck_assert_uint_eq(held_ms(raw), 5000);
	close(next);
	close(s);
	raw_free(raw);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tcp-strangers");
	TCase *cases = tcase_create("strangers"), *in_time = tcase_create("in-time"), *lives = tcase_create("lives"),
	      *door = tcase_create("door"), *calls = tcase_create("calls");

	tcase_set_timeout(cases, 60);
	tcase_add_loop_test(cases, a_place_for_a_second, 0, 6);
	tcase_add_test(in_time, the_silent_go_in_time);
	tcase_add_test(in_time, the_asked_take_their_time);
	tcase_add_test(cases, a_crowd_keeps_nobody_out);
	tcase_add_test(cases, a_crowd_that_comes_again_keeps_nobody_out);
	tcase_add_loop_test(cases, the_foreign_are_told_why, 0, 3);
	tcase_add_test(cases, a_second_of_the_same_id);
	tcase_add_test(cases, the_next_life_of_a_node);
	tcase_add_test(lives, the_life_before_the_last);
	tcase_add_test(cases, an_older_call_comes_later);
	tcase_add_loop_test(calls, a_late_call_of_another_life, 0, 2);
	tcase_add_test(calls, a_rejected_peer_is_called_again);
	tcase_add_test(calls, an_ended_life_that_answers_is_told_so);
	tcase_add_test(cases, a_member_outlasts_a_cut);
	tcase_add_test(cases, an_answered_call_is_not_given_up);
	tcase_add_loop_test(cases, a_stream_before_its_opener_is_met, 0, 2);
	tcase_add_test(cases, only_loopback_without_a_key);
	tcase_add_loop_test(cases, names_are_looked_up_again, 0, 2);
	tcase_add_test(cases, addresses_as_text);
	suite_add_tcase(suite, cases);
	suite_add_tcase(suite, in_time);
	suite_add_tcase(suite, lives);
	tcase_set_timeout(door, 60);
	tcase_add_loop_test(door, the_silent_and_the_many_give_way, 0, 3);
	suite_add_tcase(suite, door);
	tcase_set_timeout(calls, 60);
	suite_add_tcase(suite, calls);
	return test_main(suite);
}
