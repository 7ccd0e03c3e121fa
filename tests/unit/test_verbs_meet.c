/* How nodes meet on RDMA: with a librdmacm of this test's own, which says what it is told to say, and a clock that is set. */
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tests/harness.h"
#include "transport/verbs/verbs_int.h"

#define LONG_NS (60 * WH_NS_PER_S)

static struct lab {
	struct wh_env env;
	uint64_t now_ns;
	struct wh_verbs *t; /* node 0 of two */
	struct ibv_context context;
	struct ibv_pd pd;
	struct ibv_mr mr;
	struct ibv_qp pair;
	struct rdma_cm_id *id; /* the last that was made here, or has called */
	struct rdma_cm_event event;
	struct wh_verbs_hello hello; /* node 1's */
	bool says;                   /* the event is still to be told */
	uint32_t accepted;
	uint32_t rejected; /* for ever */
} * lab;

/* ---- librdmacm and libibverbs ------------------------------------------------------------------------------------- */

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space space)
{
	*id = lab->id = calloc(1, sizeof(**id));
	lab->id->channel = channel;
	lab->id->context = context;
	lab->id->ps = space;
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	free(id);
	return 0;
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *from, struct sockaddr *to, int timeout_ms)
{
	(void)id, (void)from, (void)to, (void)timeout_ms;
	return 0;
}

int rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t bytes)
{
	(void)id, (void)level, (void)name, (void)value, (void)bytes;
	return 0;
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *wanted)
{
	(void)pd, (void)wanted;
	id->qp = &lab->pair;
	return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	id->qp = NULL;
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *given)
{
	(void)id, (void)given;
	lab->accepted++;
	return 0;
}

int rdma_reject(struct rdma_cm_id *id, const void *bytes, uint8_t count)
{
	const struct wh_verbs_refusal *refusal = bytes;

	(void)id, (void)count;
	lab->rejected += refusal->verdict == WH_VERBS_NEVER;
	return 0;
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	(void)channel;
	*event = &lab->event;
	if (!lab->says)
		return -1;
	lab->says = false;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	(void)event;
	return 0;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *base, size_t bytes, int rights)
{
	(void)pd, (void)base, (void)bytes, (void)rights;
	return &lab->mr;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	(void)mr;
	return 0;
}

static int post_recv(struct ibv_qp *pair, struct ibv_recv_wr *request, struct ibv_recv_wr **bad)
{
	(void)pair, (void)request, (void)bad;
	return 0;
}

/* ---- two nodes ---------------------------------------------------------------------------------------------------- */

static uint64_t now_ns(void *ctx)
{
	(void)ctx;
	return lab->now_ns;
}

static void log_line(void *ctx, enum wh_log_level level, const char *line)
{
	(void)ctx, (void)level;
	printf("%s\n", line);
}

static void lab_make(void)
{
	struct wh_transport_config config = {.nodes = 2};
	struct wh_verbs *t;

	lab = calloc(1, sizeof(*lab));
	lab->env = (struct wh_env){.now_ns = now_ns, .log = log_line};
	lab->now_ns = WH_NS_PER_S;
	lab->context.ops.post_recv = post_recv;
	lab->pair.context = &lab->context;
	config.env = &lab->env;
	t = lab->t = calloc(1, sizeof(*t) + 2 * sizeof(t->peers[0]));
	t->env = &lab->env;
	t->nodes = 2;
	t->incarnation = 5;
	t->device.context = &lab->context;
	t->device.pd = &lab->pd;
	strcpy(t->group, "meet");
	t->queries = -1;
	for (uint32_t i = 0; i < WH_VERBS_STRANGERS; i++)
		t->strangers[i].socket = -1;
	t->peers[0].state = WH_VERBS_SELF;
	t->peers[1] = (struct wh_verbs_peer){.node = 1, .state = WH_VERBS_ABSENT};
	wh_event_queue_init(&t->event_queue, &config, "verbs", t->events, WH_VERBS_EVENTS, WH_VERBS_EVENTS_AT_ONCE);
	wh_dial_init(&t->redial, &config);
	ck_assert(wh_dial_open(&t->redial));
	wh_dial_begin(&t->redial, WH_NS_PER_S);
	lab->hello = wh_verbs_my_hello(t);
	lab->hello.node = 1;
	lab->hello.incarnation = 7;
}

static void lab_free(void)
{
	struct wh_verbs *t = lab->t;

	while (t->links != NULL)
		wh_verbs_link_free(t, t->links);
	close(t->redial.timer);
	free(t);
	free(lab);
}

static const struct wh_verbs_peer *peer(void)
{
	return &lab->t->peers[1];
}

static void call_from(uint64_t incarnation)
{
	lab->hello.incarnation = incarnation;
	lab->id = calloc(1, sizeof(*lab->id));
	lab->id->verbs = &lab->context;
	wh_verbs_on_connect(lab->t, lab->id, &lab->hello, sizeof(lab->hello));
}

/* Will be heard when a node looks. */
static void say(enum rdma_cm_event_type kind)
{
	lab->event = (struct rdma_cm_event){.id = lab->id, .event = kind};
	lab->event.param.conn.private_data = &lab->hello;
	lab->event.param.conn.private_data_len = sizeof(lab->hello);
	lab->says = true;
}

static void expect_event(enum wh_transport_event_kind kind, uint64_t incarnation)
{
	struct wh_transport_event event;

	ck_assert(wh_event_queue_next(&lab->t->event_queue, &event));
	ck_assert_int_eq(event.kind, kind);
	ck_assert_uint_eq(event.incarnation, incarnation);
}

/* ---- meeting ------------------------------------------------------------------------------------------------------ */

/* The caller may have met this node: if this node gave up the caller would take it for dead, and an incarnation is met once. */
START_TEST(a_caller_that_has_been_answered_is_waited_for)
{
	lab_make();
	call_from(7);
	ck_assert_uint_eq(lab->accepted, 1);
	ck_assert_int_eq(peer()->state, WH_VERBS_ANSWERED);
	for (int i = 0; i < 10; i++) {
		lab->now_ns += LONG_NS;
		wh_verbs_meet_tick(lab->t);
		ck_assert_int_eq(peer()->state, WH_VERBS_ANSWERED);
	}
	say(RDMA_CM_EVENT_ESTABLISHED);
	(void)wh_verbs_meet_events(lab->t);
	ck_assert_int_eq(peer()->state, WH_VERBS_MET);
	expect_event(WH_EVENT_PEER_MET, 7);
	lab_free();
}
END_TEST

START_TEST(another_call_takes_the_place_of_one_that_was_answered)
{
	lab_make();
	call_from(7);
	call_from(7);
	call_from(8);
	ck_assert_uint_eq(lab->accepted, 3);
	ck_assert_int_eq(peer()->state, WH_VERBS_ANSWERED);
	ck_assert_ptr_null(lab->t->links->next);
	say(RDMA_CM_EVENT_ESTABLISHED);
	(void)wh_verbs_meet_events(lab->t);
	expect_event(WH_EVENT_PEER_MET, 8);
	lab_free();
}
END_TEST

/* It hangs up, or cannot be reached any more. */
START_TEST(an_answer_that_comes_to_nothing_ends)
{
	lab_make();
	call_from(7);
	say(_i == 0 ? RDMA_CM_EVENT_UNREACHABLE : RDMA_CM_EVENT_REJECTED);
	(void)wh_verbs_meet_events(lab->t);
	ck_assert_int_eq(peer()->state, WH_VERBS_ABSENT);
	ck_assert_ptr_null(lab->t->links);
	lab_free();
}
END_TEST

/* An answer that has come in time is not too late because this node was long away. */
START_TEST(what_has_come_is_heard_before_a_call_is_given_up)
{
	bool answered = _i == 0;

	lab_make();
	wh_verbs_meet_tick(lab->t);
	ck_assert_int_eq(peer()->state, WH_VERBS_GREETING);
	lab->now_ns += LONG_NS;
	if (answered)
		say(RDMA_CM_EVENT_ESTABLISHED);
	wh_verbs_meet_tick(lab->t);
	ck_assert_int_eq(peer()->state, answered ? WH_VERBS_MET : WH_VERBS_ABSENT);
	if (answered)
		expect_event(WH_EVENT_PEER_MET, 7);
	lab_free();
}
END_TEST

/* Not only the last: one that was parted from here may call when others have been here in its place. */
START_TEST(none_that_has_ended_is_met_again)
{
	lab_make();
	for (uint64_t incarnation = 11; incarnation < 11 + WH_LIVES; incarnation++) {
		call_from(incarnation);
		say(RDMA_CM_EVENT_ESTABLISHED);
		(void)wh_verbs_meet_events(lab->t);
		expect_event(WH_EVENT_PEER_MET, incarnation);
		wh_verbs_lose(lab->t, &lab->t->peers[1], "is gone");
		expect_event(WH_EVENT_PEER_DOWN, incarnation);
	}
	for (uint64_t incarnation = 11; incarnation < 11 + WH_LIVES; incarnation++)
		call_from(incarnation);
	ck_assert_uint_eq(lab->rejected, WH_LIVES);
	ck_assert_int_eq(peer()->state, WH_VERBS_ABSENT);
	call_from(100);
	ck_assert_int_eq(peer()->state, WH_VERBS_ANSWERED);
	lab_free();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verbs_meet");
	TCase *cases = tcase_create("meet");

	tcase_add_test(cases, a_caller_that_has_been_answered_is_waited_for);
	tcase_add_test(cases, another_call_takes_the_place_of_one_that_was_answered);
	tcase_add_loop_test(cases, an_answer_that_comes_to_nothing_ends, 0, 2);
	tcase_add_loop_test(cases, what_has_come_is_heard_before_a_call_is_given_up, 0, 2);
	tcase_add_test(cases, none_that_has_ended_is_met_again);
	suite_add_tcase(suite, cases);
	return test_main(suite);
}
