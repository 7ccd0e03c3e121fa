#include "tests/support/verbs_lab.h"

struct verbs_lab *verbs_lab;

/* ---- the wire ----------------------------------------------------------------------------------------------------- */

static enum wh_wire_result verbs_lab_send(struct wh_conn *c, const unsigned char *message, size_t bytes, const int *fds,
					  size_t fd_count, enum wh_wire_room room)
{
	struct verbs_sent *sent = &verbs_lab->sent[verbs_lab->sent_count];

	(void)fds, (void)fd_count, (void)room;
	if (verbs_lab->full)
		return WH_WIRE_LATER;
	ck_assert_uint_lt(verbs_lab->sent_count++, VERBS_SENT);
	sent->node = c->node;
	memcpy(sent->bytes, message, bytes);
	return WH_WIRE_DONE;
}

static void verbs_lab_leave(struct wh_conn *c)
{
	(void)c;
	if (verbs_lab->on_leave != NULL)
		verbs_lab->on_leave(verbs_lab);
}

static void verbs_lab_close(struct wh_conn *c, bool forked)
{
	(void)c, (void)forked;
}

static bool verbs_lab_finish(struct wh_conn *c, const struct iovec *parts, size_t count)
{
	(void)c, (void)parts, (void)count;
	return true;
}

static void verbs_lab_alarm(struct wh_wire *w, uint64_t in_ns)
{
	(void)w, (void)in_ns;
}

/* ---- the node ----------------------------------------------------------------------------------------------------- */

static uint64_t verbs_lab_now(void *ctx)
{
	(void)ctx;
	return verbs_lab->now_ns;
}

static uint64_t verbs_lab_random(void *ctx)
{
	(void)ctx;
	return 4;
}

static void verbs_lab_log(void *ctx, enum wh_log_level level, const char *line)
{
	(void)ctx, (void)level;
	printf("%s\n", line);
}

struct verbs_lab *verbs_lab_make(uint32_t node)
{
	static const struct wh_wire_ops wire_ops = {.send = verbs_lab_send,
						    .leave = verbs_lab_leave,
						    .close = verbs_lab_close,
						    .finish = verbs_lab_finish,
						    .alarm = verbs_lab_alarm};
	static const char *const addresses[] = {"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"};
	const struct wh_tcp_wire_use use = {.version = WH_VERBS_VERSION};
	struct verbs_lab *lab = verbs_lab = calloc(1, sizeof(*lab));
	struct wh_verbs *t = lab->t = calloc(1, sizeof(*t) + VERBS_NODES * sizeof(t->peers[0]));
	struct wh_transport_config config = {.env = &lab->env,
					     .group = "lab",
					     .node = node,
					     .nodes = VERBS_NODES,
					     .addresses = addresses,
					     .incarnation = 5};
	const struct wh_session_setup setup = {.config = &config,
					       .name = "verbs",
					       .version = WH_VERBS_VERSION,
					       .wire_ops = &wire_ops,
					       .plane_ops = &wh_verbs_plane_ops,
					       .transport = &t->base.base};
	struct wh_error err;

	lab->env = *wh_env_system();
	lab->env.now_ns = verbs_lab_now;
	lab->env.random_u64 = verbs_lab_random;
	lab->env.log = verbs_lab_log;
	lab->now_ns = WH_NS_PER_S;
	t->env = &lab->env;
	t->node = node;
	t->nodes = VERBS_NODES;
	t->incarnation = 5;
	for (uint32_t id = 0; id < VERBS_NODES; id++)
		t->peers[id].link.node = lab->conns[id].node = id;
	ck_assert_int_eq(wh_poll_open(&t->poll, &lab->env, &err), WHORL_OK);
	ck_assert_int_eq(wh_tcp_wire_open(&config, &use, &t->poll, &t->wire, &err), WHORL_OK);
	ck_assert_int_eq(wh_session_new(&setup, &t->base.session, &err), WHORL_OK);
	return lab;
}

void verbs_lab_free(struct verbs_lab *lab)
{
	struct wh_verbs *t = lab->t;

	wh_session_free(t->base.session, t->forked);
	wh_tcp_wire_close(t->wire, t->forked);
	wh_verbs_accounts_free(t, true);
	wh_poll_close(&t->poll);
	free(t);
	free(lab);
}

struct wh_peer *verbs_lab_peer(const struct verbs_lab *lab, uint32_t node)
{
	return wh_session_peer(lab->t->base.session, node);
}

void verbs_lab_meet(struct verbs_lab *lab, uint32_t node)
{
	struct wh_peer *peer = verbs_lab_peer(lab, node);

	peer->state = WH_PEER_MET;
	peer->incarnation = 10 + node;
	peer->conn = &lab->conns[node];
	wh_verbs_link_met(&lab->t->base.base, node);
}

bool verbs_lab_hear(const struct verbs_lab *lab, uint32_t node, const struct wh_verbs_message *message)
{
	unsigned char bytes[WH_VERBS_MESSAGE_MAX];
	struct wh_message m = {.body = bytes + WH_HEAD_BYTES, .fds = {-1, -1}};

	(void)wh_verbs_put_message(bytes, message);
	ck_assert(wh_message_head_take(&m.head, bytes));
	return wh_verbs_plane_ops.on_message(&lab->t->base.base, node, &m);
}

void verbs_lab_expect(const struct verbs_lab *lab, enum wh_transport_event_kind kind, uint32_t node)
{
	struct wh_transport_event event;

	ck_assert(wh_session_next_event(lab->t->base.session, &event));
	ck_assert_int_eq(event.kind, kind);
	ck_assert_uint_eq(event.node, node);
	ck_assert(!wh_session_next_event(lab->t->base.session, &event));
}
