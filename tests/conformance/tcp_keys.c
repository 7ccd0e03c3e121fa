/* tcp_keys.c - nodes that have a cluster key, and callers that come without it, with another, or as another node than they have
 * proven to be: they are told why, and the nodes that are here are not disturbed. What is proven, and how, is in
 * tests/unit/test_secure.c. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/conformance/tcp_raw.h"
#include "transport/tcp/tcp_int.h"

static const struct wh_secure_peer me = {.node = RAW_ME, .incarnation = RAW_INCARNATION};

static uint64_t now_ns(void)
{
	return wh_env_now(wh_env_system());
}

START_TEST(a_peer_that_has_the_key_comes_in)
{
	struct raw *raw = raw_make_with_key();
	int s = raw_call(raw);
	struct wh_hello hello = raw_hello(raw);
	unsigned char frame[WH_HEAD_BYTES], body[WH_BODY_MAX];

	raw_say_hello(s, &hello);
	raw_expect(raw, s, WH_MESSAGE_HELLO, body);
	raw_send(s, frame, wh_message_put_plain(frame, WH_MESSAGE_TAKEN, 0));
	RAW_UNTIL(raw, raw->met == 1);
	close(s);
	raw_free(raw);
}
END_TEST

/* The next three fail if what is proven is not held against what is said: wh_tcp_channel_may_be. */
START_TEST(a_hello_of_another_than_was_proven)
{
	struct raw *raw = raw_make_with_key();
	struct wh_secure_peer proven = me;
	struct wh_hello hello = raw_hello(raw);
	unsigned char body[WH_BODY_MAX];
	struct wh_refused refused;
	struct wh_message_head head;
	int s = raw_connect(raw);

	if (_i == 0)
		proven.node = 2;
	else if (_i == 1)
		proven.incarnation++;
	else
		proven = (struct wh_secure_peer){.node = WH_SECURE_VISITOR};
	raw_prove(raw, s, proven);
	raw_say_hello(s, &hello);
	ck_assert(raw_receive(raw, s, &head, body));
	ck_assert_int_eq((int)head.kind, WH_MESSAGE_REFUSED);
	ck_assert(wh_message_take_refused(&refused, &head, body));
	ck_assert_ptr_nonnull(strstr(refused.reason, "says that it is node 1"));
	ck_assert(!raw_receive(raw, s, &head, body));
	ck_assert_uint_eq(raw->met + raw->refused, 0);
	close(s);
	raw_free(raw);
}
END_TEST

/* Node 1 is met; a caller that has proven to be node 2 opens a stream in its name. */
START_TEST(a_stream_of_another_than_was_proven)
{
	struct raw *raw = raw_make_with_key();
	int first = raw_meet(raw, RAW_INCARNATION), s = raw_connect(raw);
	const struct wh_opening opening = {
		.version = WH_TCP_VERSION, .node = RAW_ME, .incarnation = RAW_INCARNATION, .to = 1000, .tag = 5};
	unsigned char frame[WH_HEAD_BYTES + WH_OPENING_BYTES], body[WH_BODY_MAX];
	struct wh_secure_peer proven = {.node = 2, .incarnation = 9};
	struct wh_message_head head;

	raw_prove(raw, s, proven);
	raw_send(s, frame, wh_message_put_opening(frame, &opening));
	ck_assert(!raw_receive(raw, s, &head, body));
	ck_assert_uint_eq(raw->streams, 0);
	close(s);
	s = raw_call(raw); /* as itself */
	raw_send(s, frame, wh_message_put_opening(frame, &opening));
	RAW_UNTIL(raw, raw->streams == 1);
	ck_assert_uint_eq(raw->down + raw->refused, 0);
	close(s);
	close(first);
	raw_free(raw);
}
END_TEST

/* A greeting that stops after each byte of the first message: a place for a second, and those that are here go on. */
START_TEST(half_a_greeting)
{
	struct raw *raw = raw_make_with_key();
	int first = raw_meet(raw, RAW_INCARNATION), s = raw_connect(raw);
	const struct wh_secure_ground ground = {
		.key = raw->key, .group = raw->group, .version = WH_TCP_VERSION, .node = 2, .incarnation = 4};
	struct wh_secure *secure;
	unsigned char byte;
	uint64_t begin = now_ns();
	size_t count;

	ck_assert_int_eq(wh_secure_connect(&ground, 0, &secure, NULL), WHORL_OK);
	raw_send(s, wh_secure_pending(secure, &count), (size_t)_i);
	RAW_UNTIL(raw, recv(s, &byte, 1, MSG_DONTWAIT) == 0);
	ck_assert_uint_lt(now_ns() - begin, 5 * WH_NS_PER_S);
	ck_assert_uint_eq(raw->met, 1);
	ck_assert_uint_eq(raw->down + raw->refused, 0);
	wh_secure_free(secure);
	close(s);
	close(first);
	raw_free(raw);
}
END_TEST

/* ---- the door ----------------------------------------------------------------------------------------------------------- */

/* Says the first word of the greeting. */
static int call_halfway(struct raw *raw)
{
	const struct wh_secure_ground ground = {
		.key = raw->key, .group = raw->group, .version = WH_TCP_VERSION, .node = RAW_ME, .incarnation = 4};
	struct wh_secure *secure;
	const void *pending;
	size_t count;
	int s = raw_connect(raw);

	ck_assert_int_eq(wh_secure_connect(&ground, 0, &secure, NULL), WHORL_OK);
	pending = wh_secure_pending(secure, &count);
	raw_send(s, pending, count);
	wh_secure_free(secure);
	raw_pass(raw);
	return s;
}

/* Behind what the node has said. */
static bool has_ended(int s)
{
	unsigned char bytes[256];
	ssize_t n;

	do {
		n = recv(s, bytes, sizeof(bytes), MSG_DONTWAIT);
	} while (n > 0);
	return n == 0 || errno == ECONNRESET;
}

/* One that has proven what it is keeps its place, however many come after it, and however long ago it came. */
START_TEST(the_proven_keep_their_place)
{
	static int others[WH_SESSION_STRANGERS + 50];
	struct raw *raw = raw_make_with_key();
	int proven = raw_call(raw);
	uint32_t gone = 0;

	RAW_UNTIL(raw, raw_stranger(raw) != NULL && raw_stranger(raw)->greeted);
	for (uint32_t i = 0; i < WH_SESSION_STRANGERS + 50; i++) {
		others[i] = call_halfway(raw);
		raw_stranger(raw)->since_ns = now_ns() - WH_NS_PER_S / 2; /* the oldest, and not late */
	}
	for (uint32_t i = 0; i < WH_SESSION_STRANGERS + 50; i++)
		gone += has_ended(others[i]);
	ck_assert_uint_ge(
		gone, 50 - 2 * RAW_NODES); /* that many places more, if they come from a host of the configuration */
	ck_assert(!has_ended(proven));
	for (uint32_t i = 0; i < WH_SESSION_STRANGERS + 50; i++)
		close(others[i]);
	close(proven);
	raw_free(raw);
}
END_TEST

/* ---- time ----------------------------------------------------------------------------------------------------------------- */

/* A second for each word of the greeting: it begins when the node has answered the last one, and one that has come is read
 * before it is held to be late, however long the node was away. */
START_TEST(each_word_has_its_time)
{
	struct raw *raw = raw_make_with_key();
	struct wh_session *session = raw_session(raw);
	struct wh_conn *stranger;
	const struct wh_secure_ground ground = {
		.key = raw->key, .group = raw->group, .version = WH_TCP_VERSION, .node = RAW_ME, .incarnation = 4};
	struct wh_secure *secure;
	int s = raw_connect(raw);

	ck_assert_int_eq(wh_secure_connect(&ground, 0, &secure, NULL), WHORL_OK);
	RAW_UNTIL(raw, raw_stranger(raw) != NULL);
	stranger = raw_stranger(raw);
	for (unsigned turn = 1; wh_secure_state(secure) == WH_SECURE_GOING_ON; turn++) {
		unsigned char bytes[256];
		size_t count;
		const void *pending = wh_secure_pending(secure, &count);

		raw_send(s, pending, count);
		wh_secure_sent(secure, count);
		stranger->since_ns -= WH_SESSION_STRANGER_NS; /* it is late, but has spoken */
		wh_session_door_tick(session, now_ns());
		ck_assert_uint_eq(wh_tcp_conn_of(stranger)->channel.turns, turn);
		do { /* the head of a message, and then its body */
			count = wh_secure_wants(secure);
			ck_assert_int_eq(recv(s, bytes, count, MSG_WAITALL), (ssize_t)count);
			wh_secure_feed(secure, bytes, count);
			(void)wh_secure_pending(secure, &count);
		} while (count == 0 && wh_secure_state(secure) == WH_SECURE_GOING_ON);
	}
	ck_assert_int_eq((int)wh_secure_state(secure), (int)WH_SECURE_PROVEN);
	wh_session_door_tick(session, stranger->since_ns + WH_SESSION_STRANGER_NS - 1);
	ck_assert_ptr_nonnull(raw_stranger(raw));
	wh_session_door_tick(session, stranger->since_ns + WH_SESSION_STRANGER_NS);
	ck_assert_ptr_null(raw_stranger(raw));
	wh_secure_free(secure);
	close(s);
	raw_free(raw);
}
END_TEST

/* ---- two nodes --------------------------------------------------------------------------------------------------------- */

struct end {
	struct wh_transport *node;
	uint32_t met, refused, other;
	char text[512];
};

static void open_end(struct end *end, uint32_t node, const char *group, struct wh_secure_key *key)
{
	const struct wh_transport_config config = {.env = wh_env_system(),
						   .group = group,
						   .node = node,
						   .nodes = 3,
						   .incarnation = 100 + node,
						   .patience_ns = WH_NS_PER_S,
						   .key = key};
	struct wh_error err;

	*end = (struct end){.node = NULL};
	ck_assert_msg(wh_tcp_create(&config, NULL, &end->node, &err) == WHORL_OK, "%s", err.text);
	wh_secure_key_free(key);
}

static void turn(struct end *ends, size_t count)
{
	static struct wh_transport_event event; /* large */

	for (size_t i = 0; i < count; i++) {
		ends[i].node->ops->service(ends[i].node);
		while (ends[i].node->ops->next_event(ends[i].node, &event)) {
			ends[i].met += event.kind == WH_EVENT_PEER_MET;
			ends[i].refused += event.kind == WH_EVENT_REFUSED;
			ends[i].other += event.kind != WH_EVENT_PEER_MET && event.kind != WH_EVENT_REFUSED;
			if (event.kind == WH_EVENT_REFUSED)
				snprintf(ends[i].text, sizeof(ends[i].text), "%.*s", (int)sizeof(ends[i].text) - 1,
					 event.text);
		}
	}
	nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

static void close_ends(struct end *ends, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ends[i].node->ops->destroy(ends[i].node, false);
}

/* Two are here; a third comes with another key, or without one: it is told, and they hear nothing of it but in their logs. */
START_TEST(with_another_key_or_none)
{
	static const char *const words[] = {"different cluster keys (key_file)",
					    "has a cluster key (key_file), node 2 has none"};
	struct end ends[3];
	char group[40];

	snprintf(group, sizeof(group), "keys-%d-%d", (int)getpid(), _i);
	open_end(&ends[0], 0, group, raw_key("sixteen bytes of a key"));
	open_end(&ends[1], 1, group, raw_key("sixteen bytes of a key"));
	for (int n = 0; n < RAW_PATIENCE && ends[0].met + ends[1].met < 2; n++)
		turn(ends, 2);
	ck_assert_uint_eq(ends[0].met + ends[1].met, 2);
	open_end(&ends[2], 2, group, _i == 0 ? raw_key("sixteen bytes of a kez") : NULL);
	for (int n = 0; n < RAW_PATIENCE && ends[2].refused < 2; n++)
		turn(ends, 3);
	ck_assert_uint_eq(ends[2].refused, 2); /* once by each */
	ck_assert_msg(strstr(ends[2].text, words[_i]) != NULL, "%s", ends[2].text);
	ck_assert_uint_eq(ends[2].met + ends[2].other, 0);
	ck_assert(!ends[2].node->ops->searching(ends[2].node));
	ck_assert_uint_eq(ends[0].met + ends[1].met, 2);
	ck_assert_uint_eq(ends[0].other + ends[1].other, 0);
	close_ends(ends, 3);
}
END_TEST

/* Node 0 never looks in time at what has come: it calls node 1 once, and meets it. */
START_TEST(a_caller_that_is_always_late)
{
	struct end ends[2];
	struct wh_peer *peer;
	char group[40];

	snprintf(group, sizeof(group), "late-%d", (int)getpid());
	open_end(&ends[0], 0, group, raw_key("sixteen bytes of a key"));
	open_end(&ends[1], 1, group, raw_key("sixteen bytes of a key"));
	peer = wh_session_peer(wh_tcp_of(ends[0].node)->base.session, 1);
	for (int n = 0; n < 50 && peer->state != WH_PEER_MET; n++) {
		if (peer->state == WH_PEER_CALLED)
			peer->redial.at_ns = 0;
		(void)wh_session_on_timer(wh_tcp_of(ends[0].node)->base.session);
		turn(ends + 1, 1);
	}
	ck_assert_int_eq((int)peer->state, (int)WH_PEER_MET);
	ck_assert_uint_eq(wh_session_peer(wh_tcp_of(ends[1].node)->base.session, 0)->call,
			  1); /* its first, of which the number is 1 */
	close_ends(ends, 2);
}
END_TEST

/* With a key other addresses than loopback are allowed: it is not for want of one that this cannot be had. */
START_TEST(other_addresses)
{
	const char *const addresses[] = {"192.0.2.1:23999", NULL};
	struct wh_secure_key *key = raw_key("sixteen bytes of a key");
	const struct wh_transport_config config = {.env = wh_env_system(),
						   .group = "addresses",
						   .nodes = 2,
						   .incarnation = 1,
						   .patience_ns = 1,
						   .addresses = addresses,
						   .key = key};
	struct wh_transport *transport;
	struct wh_error err;

	ck_assert_int_ne(wh_tcp_create(&config, NULL, &transport, &err), WHORL_OK);
	ck_assert_msg(strstr(err.text, "loopback") == NULL, "%s", err.text);
	wh_secure_key_free(key);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tcp-keys");
	TCase *cases = tcase_create("keys"), *in_time = tcase_create("in-time");

	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, the_proven_keep_their_place);
	tcase_add_test(cases, a_peer_that_has_the_key_comes_in);
	tcase_add_loop_test(cases, a_hello_of_another_than_was_proven, 0, 3);
	tcase_add_test(cases, a_stream_of_another_than_was_proven);
	tcase_add_loop_test(cases, half_a_greeting, 0, 9);
	tcase_add_test(in_time, each_word_has_its_time);
	tcase_add_test(in_time, a_caller_that_is_always_late);
	tcase_add_loop_test(cases, with_another_key_or_none, 0, 2);
	tcase_add_test(cases, other_addresses);
	suite_add_tcase(suite, cases);
	suite_add_tcase(suite, in_time);
	return test_main(suite);
}
