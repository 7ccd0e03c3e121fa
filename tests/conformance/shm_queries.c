/* shm_queries.c - visitors of a node in shared memory that misbehave, come in crowds, or go too early. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/conformance/shm_node.h"
#include "transport/session/session_int.h"

#define A_WHILE 100 /* passes in which what should not happen does not */

static void raw_ask(const struct raw *r, uint32_t version, size_t bytes, int fd)
{
	unsigned char message[WH_MESSAGE_MAX];

	(void)raw_send(r->socket, message, wh_message_put_query(message, version, "how are you?", bytes), &fd, fd >= 0);
}

static void give(const struct node *n, uint64_t query, const void *bytes, size_t count)
{
	n->transport->ops->answer(n->transport, query, bytes, count);
}

/* ---- a visitor's thread ------------------------------------------------------------------------------------------- */

struct query {
	char group[40];
	uint32_t node;
	uint64_t timeout_ns;
	unsigned char answer[WH_ANSWER_MAX];
	size_t bytes;
	enum whorl_result result;
	struct wh_error err;
	wh_word ended;
};

static void *query_thread(void *ctx)
{
	struct query *v = ctx;

	v->result = wh_shm_query(v->group, v->node, "?", 1, v->timeout_ns, v->answer, &v->bytes, &v->err);
	wh_store_release(&v->ended, 1); /* what it has found, then that it has. Partner: has_ended() */
	return NULL;
}

static pthread_t query(struct query *v, const char *group, uint64_t timeout_ns)
{
	pthread_t thread;

	v->timeout_ns = timeout_ns;
	wh_store_relaxed(&v->ended, 0);
	memcpy(v->group, group, sizeof(v->group));
	ck_assert_int_eq(pthread_create(&thread, NULL, query_thread, v), 0);
	return thread;
}

static bool has_ended(const struct query *v)
{
	return wh_load_acquire(&v->ended) == 1;
}

static struct query a_query; /* large */

/* ---- good ones ---------------------------------------------------------------------------------------------------- */

/* More than there is room for, one after the other and at once; each comes back until it has its answer. */
#define CROWD (WH_SESSION_STRANGERS + 40)

TEST_CASE("queries", .timeout_s = 60);

TEST(a_crowd_is_answered)
{
	struct query *queries = calloc(CROWD, sizeof(*queries));
	static pthread_t threads[CROWD];
	uint32_t ended = 0;
	uint64_t last = 0;
	char group[40];
	struct node n;

	ck_assert_ptr_nonnull(queries);
	node_make(&n, new_group(group), 0, 2);
	for (int k = 0; k < CROWD; k++)
		threads[k] = query(&queries[k], group, PATIENCE_NS);
	for (uint64_t start = test_now(); ended < CROWD && test_now() - start < PATIENCE_NS;) {
		node_pass(&n);
		while (last < n.query) /* they are counted */
			give(&n, ++last, &last, sizeof(last));
		ended = 0;
		for (int k = 0; k < CROWD; k++)
			ended += has_ended(&queries[k]);
	}
	for (int k = 0; k < CROWD; k++) {
		pthread_join(threads[k], NULL);
		ck_assert_msg(queries[k].result == WHORL_OK, "%d: %s", k, queries[k].err.text);
		ck_assert_uint_eq(queries[k].bytes, sizeof(uint64_t));
	}
	free(queries);
	node_free(&n);
}

/* There is a node, which does not answer; or there is none. */
TEST_LOOP(a_query_waits_until_its_time_out, 0, 2)
{
	uint64_t start = test_now();
	pthread_t thread;
	char group[40];
	struct node n;

	node_make(&n, new_group(group), 0, 2);
	if (_i == 0) /* not even serviced */
		ck_assert_int_eq(wh_shm_query(group, 0, "?", 1, 100 * WH_NS_PER_MS, a_query.answer, &a_query.bytes,
					      &a_query.err),
				 WHORL_TIMEOUT);
	if (_i == 1) { /* longer than any other stranger's place is kept: it asks once */
		thread = query(&a_query, group, 5 * WH_SESSION_STRANGER_NS / 2);
		NODE_UNTIL(&n, has_ended(&a_query));
		pthread_join(thread, NULL);
		ck_assert_int_eq(a_query.result, WHORL_TIMEOUT);
		ck_assert_uint_eq(n.query, 1);
	}
	ck_assert_uint_ge(test_now() - start, 100 * WH_NS_PER_MS);
	start = test_now();
	ck_assert_int_eq(wh_shm_query(group, 1, "?", 1, PATIENCE_NS, a_query.answer, &a_query.bytes, &a_query.err),
			 WHORL_NOT_FOUND);
	ck_assert_uint_lt(test_now() - start, WH_NS_PER_S);
	ck_assert_int_eq(wh_shm_query("a-name-that-is-much-longer-than-anything-that-fits-into-an-address", 1, "?", 1,
				      PATIENCE_NS, a_query.answer, &a_query.bytes, &a_query.err),
			 WHORL_INVALID);
	node_free(&n);
}

TEST(an_answer_that_is_too_large_is_none)
{
	static unsigned char large[WH_ANSWER_MAX + 1];
	pthread_t thread;
	char group[40];
	struct node n;

	node_make(&n, new_group(group), 0, 2);
	thread = query(&a_query, group, PATIENCE_NS);
	NODE_UNTIL(&n, n.query == 1);
	give(&n, 1, large, sizeof(large));
	for (int k = 0; k < A_WHILE; k++)
		node_pass(&n);
	ck_assert(!has_ended(&a_query));
	give(&n, 1, large, WH_ANSWER_MAX);
	NODE_UNTIL(&n, has_ended(&a_query));
	pthread_join(thread, NULL);
	ck_assert_int_eq(a_query.result, WHORL_OK);
	ck_assert_uint_eq(a_query.bytes, WH_ANSWER_MAX);
	node_free(&n);
}

/* ---- bad ones ----------------------------------------------------------------------------------------------------- */

/* What a visitor may do wrong: none is answered, or counted as a peer, and each loses its place. */
TEST_LOOP(a_query_that_misbehaves_loses_its_place, 0, 4)
{
	char group[40];
	struct node n;
	struct raw r;
	int before;

	node_make(&n, new_group(group), 0, 2);
	node_pass(&n);
	before = count_fds();
	raw_connect(&r, group, 0, 1, 2);
	switch (_i) {
	case 0: /* sends a descriptor along */
		raw_ask(&r, WH_SHM_VERSION, 3, r.page);
		break;
	case 1: /* asks twice */
		raw_ask(&r, WH_SHM_VERSION, 3, -1);
		raw_ask(&r, WH_SHM_VERSION, 3, -1);
		break;
	case 2: /* becomes a node */
		raw_ask(&r, WH_SHM_VERSION, 3, -1);
		raw_say_hello(&r);
		break;
	default: /* goes */
		raw_ask(&r, WH_SHM_VERSION, 3, -1);
		ck_assert_int_eq(shutdown(r.socket, SHUT_RDWR), 0);
		break;
	}
	ck_assert_int_eq(raw_receive(&r, &n), WH_WIRE_ENDED);
	raw_close(&r);
	give(&n, 1, "you", 3);
	for (int k = 0; k < A_WHILE; k++)
		node_pass(&n);
	ck_assert_uint_eq(n.query, _i == 0 ? 0 : 1);
	ck_assert_uint_eq(n.met + n.down + n.refused, 0);
	ck_assert_int_eq(count_fds(), before);
	node_free(&n);
}

/* A peer that has been met is no visitor. */
TEST(a_node_does_not_ask)
{
	char group[40];
	struct node n;
	struct raw r;

	node_make(&n, new_group(group), 0, 2);
	raw_be_met(&r, &n, group, 1);
	raw_ask(&r, WH_SHM_VERSION, 3, -1);
	NODE_UNTIL(&n, n.down == 1);
	ck_assert_uint_eq(n.query, 0);
	raw_close(&r);
	node_free(&n);
}

TEST(a_question_of_another_version_is_refused)
{
	char group[40];
	struct node n;
	struct raw r;

	node_make(&n, new_group(group), 0, 2);
	raw_connect(&r, group, 0, 1, 2);
	raw_ask(&r, 9, 3, -1);
	ck_assert_int_eq(raw_receive(&r, &n), WH_WIRE_DONE);
	ck_assert_int_eq(r.head.kind, WH_MESSAGE_REFUSED);
	ck_assert_msg(strstr(raw_refusal(&r).reason, "version 9") != NULL, "%s", raw_refusal(&r).reason);
	ck_assert_int_eq(raw_receive(&r, &n), WH_WIRE_ENDED);
	ck_assert_uint_eq(n.query, 0);
	raw_close(&r);
	node_free(&n);
}

/* A process that has the name of a node and answers what it likes. */
TEST_LOOP(what_is_no_answer_is_an_error, 0, 7)
{
	static const struct {
		enum whorl_result result;
		const char *text;
	} expected[] = {{WHORL_SYSTEM, "answers with a bad message"},
			{WHORL_REFUSED, "refused by node 0 of group test-"},
			{WHORL_SYSTEM, "answers with a bad message"},
			{WHORL_SYSTEM, "answers with a bad message"},
			{WHORL_SYSTEM, "answers with a bad message"},
			{WHORL_SYSTEM, "answers with a bad message"},
			{WHORL_TIMEOUT, "does not answer"}};
	static unsigned char answer[WH_HEAD_BYTES + WH_ANSWER_MAX + 1];
	const struct wh_message_head too_long = {.kind = WH_MESSAGE_ANSWER, .bytes = WH_ANSWER_MAX + 1};
	unsigned char message[WH_MESSAGE_MAX];
	struct wh_refused refused;
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), s;
	const int buffer = 1 << 18;
	struct sockaddr_un name;
	pthread_t thread;
	socklen_t bytes;
	char group[40];

	raw_name(new_group(group), 0, &name, &bytes);
	ck_assert_int_eq(bind(listener, (const struct sockaddr *)&name, bytes), 0);
	ck_assert_int_eq(listen(listener, 10), 0);
	thread = query(&a_query, group, _i == 6 ? 50 * WH_NS_PER_MS : PATIENCE_NS);
	s = accept(listener, NULL, NULL);
	ck_assert_int_ge(s, 0);
	(void)setsockopt(s, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
	memset(refused.reason, 'x', sizeof(refused.reason)); /* does not end */
	(void)wh_message_put_answer_head(answer, WH_ANSWER_MAX);
	if (_i == 3)
		wh_message_head_put(answer, &too_long);
	if (_i == 0)
		ck_assert(raw_send(s, "garbage", 7, NULL, 0));
	else if (_i == 1)
		ck_assert(raw_send(s, message, wh_message_put_refused(message, WH_SHM_VERSION, &refused), NULL, 0));
	else if (_i == 2)
		ck_assert(raw_say(s, WH_MESSAGE_MAPPED, 1));
	else if (_i == 3 || _i == 4) /* more than there may be; more than it says, by a byte */
		ck_assert(raw_send(s, answer, sizeof(answer), NULL, 0));
	else if (_i == 5) /* less */
		ck_assert(raw_send(s, answer, sizeof(answer) / 2, NULL, 0));
	pthread_join(thread, NULL);
	ck_assert_int_eq(a_query.result, expected[_i].result);
	ck_assert_msg(strstr(a_query.err.text, expected[_i].text) != NULL, "%s", a_query.err.text);
	close(s);
	close(listener);
}

TEST_SUITE("shm and queries")

int main(void)
{
	return test_main(suite());
}
