/* The connections of the RDMA transport by librdmacm, which is one of this test's own and says what it is told to say: which requests
 * are answered, what comes of those that this node makes, and what becomes of a peer when its connection ends. */
#include "tests/support/verbs_lab.h"

static struct rdma {
	struct ibv_context context;
	struct ibv_pd pd;
	struct ibv_qp pair;
	struct rdma_cm_id listener;
	struct rdma_cm_id *id; /* the last that was made here, or has called */
	struct rdma_cm_event event;
	bool says;                  /* the event is still to be told */
	unsigned char request[256]; /* private data, of either */
	uint32_t ids, pairs;        /* that there are */
	uint32_t called, accepted, rejected;
} rdma;

/* ---- librdmacm ---------------------------------------------------------------------------------------------------- */

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space space)
{
	(void)channel, (void)space;
	*id = rdma.id = calloc(1, sizeof(**id));
	rdma.id->context = context;
	rdma.id->verbs = &rdma.context;
	rdma.ids++;
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	ck_assert_ptr_null(id->qp);
	rdma.ids--;
	free(id);
	return 0;
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *from, struct sockaddr *to, int timeout_ms)
{
	(void)id, (void)from, (void)to, (void)timeout_ms;
	return 0;
}

int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
	(void)id, (void)timeout_ms;
	return 0;
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *wanted)
{
	(void)pd, (void)wanted;
	id->qp = &rdma.pair;
	rdma.pairs++;
	return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	id->qp = NULL;
	rdma.pairs--;
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *wanted)
{
	(void)id;
	rdma.called++;
	memcpy(rdma.request, wanted->private_data, wanted->private_data_len);
	return 0;
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *given)
{
	(void)id, (void)given;
	rdma.accepted++;
	return 0;
}

int rdma_reject(struct rdma_cm_id *id, const void *bytes, uint8_t count)
{
	(void)id, (void)bytes;
	ck_assert_uint_eq(count, 0); /* it learns nothing */
	rdma.rejected++;
	return 0;
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	(void)channel;
	*event = &rdma.event;
	if (!rdma.says)
		return -1;
	rdma.says = false;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	(void)event;
	return 0;
}

/* ---- what it says ------------------------------------------------------------------------------------------------- */

static void say(enum rdma_cm_event_type kind)
{
	rdma.event = (struct rdma_cm_event){.id = rdma.id, .event = kind};
	rdma.says = true;
}

static void say_now(enum rdma_cm_event_type kind)
{
	say(kind);
	ck_assert_uint_eq(wh_verbs_links_listen(verbs_lab->t), 1);
}

/* Somebody calls this node, with that. */
static void call_with(const unsigned char *bytes, size_t count)
{
	rdma.id = calloc(1, sizeof(*rdma.id));
	rdma.id->verbs = &rdma.context;
	rdma.ids++;
	rdma.event = (struct rdma_cm_event){.id = rdma.id, .event = RDMA_CM_EVENT_CONNECT_REQUEST};
	memcpy(rdma.request, bytes, count);
	rdma.event.param.conn.private_data = rdma.request;
	rdma.event.param.conn.private_data_len = (uint8_t)count;
	rdma.says = true;
	ck_assert_uint_eq(wh_verbs_links_listen(verbs_lab->t), 1);
}

static void call_from(uint32_t node, uint64_t incarnation, const unsigned char *token)
{
	unsigned char bytes[56] = {0}; /* librdmacm gives all that there is room for */
	struct wh_verbs_request request = {.node = node, .incarnation = incarnation};

	memcpy(request.token, token, sizeof(request.token));
	wh_verbs_put_request(bytes, &request);
	call_with(bytes, sizeof(bytes));
}

static struct verbs_lab *lab_make(uint32_t node)
{
	struct verbs_lab *lab = verbs_lab_make(node);

	memset(&rdma, 0, sizeof(rdma));
	lab->t->device.context = &rdma.context;
	lab->t->listener = &rdma.listener;
	return lab;
}

/* Nothing of any connection is left when the session is gone. */
static void lab_free(struct verbs_lab *lab)
{
	verbs_lab_free(lab);
	ck_assert_uint_eq(rdma.ids, 0);
	ck_assert_uint_eq(rdma.pairs, 0);
}

static const struct wh_verbs_link *link_of(const struct verbs_lab *lab, uint32_t node)
{
	return &lab->t->peers[node].link;
}

static void sleep_ns(struct verbs_lab *lab, uint64_t ns)
{
	lab->now_ns += ns;
	wh_verbs_links_tick(lab->t);
	(void)wh_session_service(lab->t->base.session);
}

/* ---- the node of the lower id ------------------------------------------------------------------------------------- */

TEST(a_token_lets_its_node_in)
{
	struct verbs_lab *lab = lab_make(0);
	struct wh_verbs_message message;
	struct wh_message_head head;

	verbs_lab_meet(lab, 2);
	ck_assert_uint_eq(lab->sent_count, 1);
	ck_assert_uint_eq(lab->sent[0].node, 2);
	ck_assert(wh_message_head_take(&head, lab->sent[0].bytes));
	ck_assert(wh_verbs_take_message(&message, &head, lab->sent[0].bytes + WH_HEAD_BYTES));
	ck_assert_int_eq(message.kind, WH_VERBS_TOKEN);
	call_from(2, 12, message.token);
	ck_assert_uint_eq(rdma.accepted, 1);
	ck_assert(!wh_verbs_link_is_open(lab->t, 2)); /* it may not know yet */
	say_now(RDMA_CM_EVENT_ESTABLISHED);
	ck_assert(wh_verbs_link_is_open(lab->t, 2));
	call_from(2, 12, message.token); /* a token is used once */
	ck_assert_uint_eq(rdma.accepted, 1);
	ck_assert_uint_eq(rdma.rejected, 1);
	ck_assert(wh_verbs_link_is_open(lab->t, 2));
	lab_free(lab);
}

/* Of no node, of one that has not been met, of one that is expected but not as that, of one that is not to call. */
TEST(a_request_without_the_token_gets_nothing)
{
	struct verbs_lab *lab = lab_make(1);
	unsigned char token[WH_VERBS_TOKEN_BYTES], other[WH_VERBS_TOKEN_BYTES] = {0}, bytes[56] = {0};
	struct wh_verbs_link before;

	call_from(2, 12, other);
	verbs_lab_meet(lab, 0);
	verbs_lab_meet(lab, 2);
	before = *link_of(lab, 2);
	memcpy(token, before.token, sizeof(token));
	for (size_t i = 0; i < WH_VERBS_TOKEN_BYTES; i++) {
		memcpy(other, token, sizeof(other));
		other[i] ^= 1;
		call_from(2, 12, other);
	}
	call_from(2, 13, token);
	call_from(2, 0, token);
	call_from(0, 10, token);
	call_from(1, 5, token);
	call_from(VERBS_NODES, 12, token);
	call_from(UINT32_MAX, 12, token);
	call_with(bytes, 0);
	call_with(bytes, sizeof(bytes));
	wh_verbs_put_request(bytes, &(struct wh_verbs_request){.node = 2, .incarnation = 12});
	memcpy(bytes + 24, token, sizeof(token));
	call_with(bytes, WH_VERBS_REQUEST_BYTES - 1);
	bytes[8]++; /* of another version */
	call_with(bytes, sizeof(bytes));
	ck_assert_uint_eq(rdma.rejected, 1 + WH_VERBS_TOKEN_BYTES + 10);
	ck_assert_uint_eq(rdma.accepted, 0);
	ck_assert_uint_eq(rdma.ids + rdma.pairs, 0);
	ck_assert_mem_eq(link_of(lab, 2), &before, sizeof(before));
	call_from(2, 12, token);
	ck_assert_uint_eq(rdma.accepted, 1);
	lab_free(lab);
}

/* When its session has ended a peer is not expected any more, and another incarnation has another token. */
TEST(a_token_ends_with_the_session)
{
	struct verbs_lab *lab = lab_make(0);
	unsigned char token[WH_VERBS_TOKEN_BYTES];

	verbs_lab_meet(lab, 2);
	memcpy(token, link_of(lab, 2)->token, sizeof(token));
	call_from(2, 12, token);
	ck_assert_uint_eq(rdma.ids, 1);
	wh_session_lose(lab->t->base.session, verbs_lab_peer(lab, 2), "is gone");
	ck_assert_uint_eq(rdma.ids + rdma.pairs, 0);
	call_from(2, 12, token);
	verbs_lab_meet(lab, 2);
	call_from(2, 12, token);
	ck_assert_uint_eq(rdma.rejected, 2);
	lab_free(lab);
}

/* The peer gives up a try that this node has answered, and tries again. */
TEST(another_try_takes_the_place_of_one_that_was_answered)
{
	struct verbs_lab *lab = lab_make(0);
	unsigned char token[WH_VERBS_TOKEN_BYTES];

	verbs_lab_meet(lab, 1);
	memcpy(token, link_of(lab, 1)->token, sizeof(token));
	call_from(1, 11, token);
	call_from(1, 11, token);
	ck_assert_uint_eq(rdma.accepted, 2);
	ck_assert_uint_eq(rdma.ids, 1);
	say_now(RDMA_CM_EVENT_UNREACHABLE);
	ck_assert_uint_eq(rdma.ids, 0);
	ck_assert_int_eq(verbs_lab_peer(lab, 1)->state, WH_PEER_MET);
	call_from(1, 11, token);
	say_now(RDMA_CM_EVENT_ESTABLISHED);
	ck_assert(wh_verbs_link_is_open(lab->t, 1));
	lab_free(lab);
}

/* What the peer says goes another way, and may be here before librdmacm says that the peer has heard the answer. */
TEST(a_peer_that_speaks_is_connected)
{
	const struct wh_verbs_message shut = {.kind = WH_VERBS_SHUT, .number = 1};
	struct verbs_lab *lab = lab_make(0);

	verbs_lab_meet(lab, 1);
	ck_assert(!verbs_lab_hear(lab, 1, &shut)); /* it cannot be */
	call_from(1, 11, link_of(lab, 1)->token);
	ck_assert(verbs_lab_hear(lab, 1, &shut));
	ck_assert(wh_verbs_link_is_open(lab->t, 1));
	say_now(RDMA_CM_EVENT_ESTABLISHED);
	ck_assert(wh_verbs_link_is_open(lab->t, 1));
	lab_free(lab);
}

TEST(a_token_that_finds_no_room_is_told_later)
{
	struct verbs_lab *lab = lab_make(0);

	lab->full = true;
	verbs_lab_meet(lab, 1);
	sleep_ns(lab, WH_NS_PER_S);
	ck_assert_uint_eq(lab->sent_count, 0);
	lab->full = false;
	sleep_ns(lab, WH_NS_PER_S);
	sleep_ns(lab, WH_NS_PER_S);
	ck_assert_uint_eq(lab->sent_count, 1);
	lab_free(lab);
}

/* ---- the node of the higher id ------------------------------------------------------------------------------------ */

static const struct wh_verbs_message a_token = {.kind = WH_VERBS_TOKEN, .token = "good as random"};

TEST(the_higher_id_connects_with_the_token)
{
	struct verbs_lab *lab = lab_make(2);
	struct wh_verbs_request request;

	verbs_lab_meet(lab, 1);
	ck_assert_uint_eq(lab->sent_count, 0);
	ck_assert_uint_eq(rdma.ids, 0);
	ck_assert(verbs_lab_hear(lab, 1, &a_token));
	ck_assert(!verbs_lab_hear(lab, 1, &a_token)); /* one is enough */
	say_now(RDMA_CM_EVENT_ADDR_RESOLVED);
	say_now(RDMA_CM_EVENT_ROUTE_RESOLVED);
	ck_assert_uint_eq(rdma.called, 1);
	ck_assert(wh_verbs_take_request(&request, rdma.request, sizeof(rdma.request)));
	ck_assert_uint_eq(request.node, 2);
	ck_assert_uint_eq(request.incarnation, 5);
	ck_assert_mem_eq(request.token, a_token.token, sizeof(request.token));
	say_now(RDMA_CM_EVENT_ESTABLISHED);
	ck_assert(wh_verbs_link_is_open(lab->t, 1));
	lab_free(lab);
}

/* Where a node is its address says; a lane is at a port that comes with the token. */
TEST(a_token_has_a_port_if_it_is_of_a_lane)
{
	struct verbs_lab *lab = lab_make(2);
	struct wh_verbs_message token = a_token;

	verbs_lab_meet(lab, 1);
	token.number = 5;
	ck_assert(!verbs_lab_hear(lab, 1, &token));
	lab->t->lane = 3;
	ck_assert(!verbs_lab_hear(lab, 1, &a_token));
	token.number = UINT16_MAX + 1;
	ck_assert(!verbs_lab_hear(lab, 1, &token));
	token.number = UINT16_MAX;
	ck_assert(verbs_lab_hear(lab, 1, &token));
	ck_assert_uint_eq(lab->t->peers[1].link.port, UINT16_MAX);
	lab_free(lab);
}

TEST(a_token_of_a_higher_id_is_none)
{
	struct verbs_lab *lab = lab_make(0);

	verbs_lab_meet(lab, 1);
	ck_assert(!verbs_lab_hear(lab, 1, &a_token));
	lab_free(lab);
}

/* Rejected, or without any answer: it is tried some more times, with pauses; then the peer is lost. */
TEST_LOOP(a_peer_that_cannot_be_connected_to_is_lost, 0, 2)
{
	bool silent = _i == 1;
	struct verbs_lab *lab = lab_make(2);
	uint32_t rounds = 0;

	verbs_lab_meet(lab, 1);
	ck_assert(verbs_lab_hear(lab, 1, &a_token));
	for (; verbs_lab_peer(lab, 1)->state == WH_PEER_MET; rounds++) {
		ck_assert_uint_lt(rounds, 100);
		ck_assert_int_eq(link_of(lab, 1)->state, WH_VERBS_CALLS);
		if (silent)
			sleep_ns(lab, 10 * WH_NS_PER_S);
		else
			say_now(RDMA_CM_EVENT_REJECTED);
		ck_assert_uint_eq(rdma.ids, 0);
		sleep_ns(lab, WH_NS_PER_S);
	}
	ck_assert_uint_ge(rounds, 3);
	verbs_lab_expect(lab, WH_EVENT_PEER_DOWN, 1);
	lab_free(lab);
}

/* An answer that has come in time is not too late because this node was long away. */
TEST_LOOP(what_has_come_is_heard_before_a_try_is_given_up, 0, 2)
{
	bool answered = _i == 0;
	struct verbs_lab *lab = lab_make(2);

	verbs_lab_meet(lab, 1);
	ck_assert(verbs_lab_hear(lab, 1, &a_token));
	say_now(RDMA_CM_EVENT_ADDR_RESOLVED);
	say_now(RDMA_CM_EVENT_ROUTE_RESOLVED);
	if (answered)
		say(RDMA_CM_EVENT_ESTABLISHED);
	sleep_ns(lab, 60 * WH_NS_PER_S);
	ck_assert_int_eq(link_of(lab, 1)->state, answered ? WH_VERBS_OPEN : WH_VERBS_RESTS);
	lab_free(lab);
}

/* ---- the end ------------------------------------------------------------------------------------------------------ */

static struct verbs_lab *connected(void)
{
	struct verbs_lab *lab = lab_make(0);

	verbs_lab_meet(lab, 1);
	call_from(1, 11, link_of(lab, 1)->token);
	say_now(RDMA_CM_EVENT_ESTABLISHED);
	return lab;
}

/* Its last words may be still on their way. */
TEST_LOOP(a_peer_that_hangs_up_is_lost_after_its_last_words, 0, 2)
{
	bool says = _i == 0;
	struct verbs_lab *lab = connected();
	struct wh_peer *peer = verbs_lab_peer(lab, 1);

	say_now(RDMA_CM_EVENT_DISCONNECTED);
	sleep_ns(lab, WH_NS_PER_S / 10);
	ck_assert_int_eq(peer->state, WH_PEER_MET);
	if (says) {
		peer->left = true;
		wh_session_lose(lab->t->base.session, peer, "has left");
		verbs_lab_expect(lab, WH_EVENT_PEER_LEFT, 1);
	}
	sleep_ns(lab, WH_NS_PER_S);
	sleep_ns(lab, 0);
	if (!says)
		verbs_lab_expect(lab, WH_EVENT_PEER_DOWN, 1);
	ck_assert_int_eq(peer->state, WH_PEER_ABSENT);
	ck_assert_uint_eq(rdma.ids, 0);
	lab_free(lab);
}

/* There may be nothing left by which its queue pairs could be connected. */
TEST(what_a_lost_peer_says_is_not_heard)
{
	const struct wh_verbs_message account = {.kind = WH_VERBS_ACCOUNT, .qp = 1}, grant = {.kind = WH_VERBS_GRANT};
	struct verbs_lab *lab = lab_make(2);

	verbs_lab_meet(lab, 1);
	ck_assert(!verbs_lab_hear(lab, 1, &account));
	ck_assert(verbs_lab_hear(lab, 1, &a_token));
	ck_assert(!verbs_lab_hear(lab, 1, &account));
	while (link_of(lab, 1)->state != WH_VERBS_BROKEN) {
		say_now(RDMA_CM_EVENT_REJECTED);
		lab->now_ns += WH_NS_PER_S;
		wh_verbs_links_tick(lab->t);
	}
	ck_assert(verbs_lab_hear(lab, 1, &account));
	ck_assert(verbs_lab_hear(lab, 1, &grant));
	ck_assert_ptr_null(lab->t->peers[1].account);
	lab_free(lab);
}

TEST(a_forked_child_says_nothing_to_the_device)
{
	struct verbs_lab *lab = connected();

	lab->t->forked = true;
	verbs_lab_free(lab);
	ck_assert_uint_eq(rdma.ids, 1);
	ck_assert_uint_eq(rdma.pairs, 1);
	free(rdma.id);
}

/* ---- leaving ------------------------------------------------------------------------------------------------------ */

static struct leaving {
	struct wh_verbs_image image;
	struct wh_verbs_row row;
	struct wh_session_row state;
	struct wh_verbs_place place;
	struct ibv_qp pair;
	struct ibv_cq cq, in;
	struct ibv_mr mr;
	uint32_t touched[1];
	uint64_t given, done, told;
} leaving;

static int post_send(struct ibv_qp *pair, struct ibv_send_wr *chain, struct ibv_send_wr **bad)
{
	(void)pair, (void)bad;
	for (; chain != NULL; chain = chain->next)
		leaving.given = chain->wr_id;
	return 0;
}

/* Of a slow device: one is done each time that it is asked. */
static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *out)
{
	(void)most;
	if (cq != &leaving.cq || leaving.done == leaving.given)
		return 0;
	out[0] = (struct ibv_wc){.wr_id = ++leaving.done, .status = IBV_WC_SUCCESS};
	return 1;
}

static void on_leave(struct verbs_lab *lab)
{
	(void)lab;
	leaving.told++;
	ck_assert_uint_ge(leaving.given, 20);
	ck_assert_uint_eq(leaving.done, leaving.given);
}

/* Pushes go another way than the word that this node goes: what it has pushed is there when peers hear it. */
TEST(writes_are_done_before_peers_hear_that_this_node_goes)
{
	static unsigned char own[4096];
	static const uint32_t to[] = {0};
	struct verbs_lab *lab = connected();
	struct wh_push push = {.kind = WH_PUSH_WORD, .to = to, .to_count = 1};

	memset(&leaving, 0, sizeof(leaving));
	rdma.context.ops.post_send = post_send;
	rdma.context.ops.poll_cq = poll_cq;
	leaving.pair.context = leaving.cq.context = leaving.in.context = &rdma.context;
	leaving.image.base.base =
		(struct wh_image){.transport = &lab->t->base.base, .own = own, .members = 1, .my_rank = 1};
	leaving.image.base.rows = &leaving.state;
	leaving.image.rows = &leaving.row;
	leaving.image.mr = &leaving.mr;
	leaving.image.touched = leaving.touched;
	leaving.place = (struct wh_verbs_place){0, sizeof(own), 1 << 20};
	leaving.row.out = (struct wh_verbs_out){.qp = &leaving.pair,
						.cq = &leaving.cq,
						.count = wh_verbs_count(WH_VERBS_DEPTH),
						.places = &leaving.place,
						.place_count = 1,
						.open = true};
	lab->t->device.in = &leaving.in;
	lab->t->images = &leaving.image;
	lab->t->listener = NULL;
	lab->on_leave = on_leave;
	lab->t->gathers = true;
	for (push.value = 1; push.value <= 20; push.value++, push.offset += 8)
		wh_verbs_post(&leaving.image.base.base, &push, 1);
	ck_assert_uint_eq(leaving.given, 0);
	wh_verbs_leave(&lab->t->base.base);
	ck_assert_uint_eq(leaving.told, 1);
	lab->t->images = NULL;
	free(leaving.row.out.queue);
	lab_free(lab);
}

TEST_SUITE("verbs_link")
