#include "tests/support/fake_wire.h"

struct fake_end *fake_of(const struct wh_conn *c)
{
	return (struct fake_end *)(uintptr_t)c;
}

static struct fake_node *fake_node_of(struct wh_transport *t)
{
	return (struct fake_node *)t;
}

/* ---- connections --------------------------------------------------------------------------------------------------- */

static void fake_forget(struct fake_message *m)
{
	for (size_t i = 0; m != NULL && i < WH_MESSAGE_FDS; i++)
		if (m->fds[i] >= 0)
			close(m->fds[i]);
	free(m);
}

uint32_t fake_waiting(const struct fake_end *end)
{
	uint32_t count = 0;

	for (const struct fake_message *m = end->in; m != NULL; m = m->next)
		count++;
	return count;
}

void fake_push(struct fake_end *to, const void *bytes, size_t count, const int *fds, size_t fd_count)
{
	struct fake_message *m = malloc(sizeof(*m) + count), **link = &to->in;

	ck_assert_ptr_nonnull(m);
	*m = (struct fake_message){.fds = {-1, -1}, .bytes = count};
	memcpy(m->all, bytes, count);
	for (size_t i = 0; i < fd_count; i++)
		m->fds[i] = dup(fds[i]);
	while (*link != NULL)
		link = &(*link)->next;
	*link = m;
	to->ready = to->base.spoke = true;
}

void fake_close_end(struct fake_end *end)
{
	if (end->other != NULL) {
		end->other->other = NULL;
		end->other->ready = true;
	}
	while (end->in != NULL) {
		struct fake_message *m = end->in;

		end->in = m->next;
		fake_forget(m);
	}
	fake_forget(end->current);
	if (end->closed != NULL)
		*end->closed = true;
	free(end);
}

static struct fake_end *fake_new_end(struct fake_net *net, uint32_t owner)
{
	struct fake_end *end = calloc(1, sizeof(*end));

	ck_assert_ptr_nonnull(end);
	end->net = net;
	end->owner = owner;
	end->greets = net->node[owner].wire.greets;
	end->reason = net->node[owner].wire.reason;
	end->base.source = owner;
	end->base.fault = net->node[owner].wire.fault;
	snprintf(end->base.text, sizeof(end->base.text), "node %u", owner);
	return end;
}

struct fake_end *fake_call(struct fake_net *net, uint32_t from, uint32_t to)
{
	struct fake_end *mine = fake_new_end(net, from), *theirs = fake_new_end(net, to);
	struct wh_wire *w = &net->node[to].wire;

	mine->other = theirs;
	theirs->other = mine;
	theirs->base.source = from;
	theirs->base.configured = true;
	ck_assert_uint_lt(w->waiting, FAKE_BACKLOG);
	w->backlog[w->waiting++] = theirs;
	return mine;
}

struct fake_end *fake_accept(struct fake_net *net, uint32_t node)
{
	struct wh_wire *w = &net->node[node].wire;
	struct fake_end *end = w->backlog[0];

	if (w->waiting == 0)
		return NULL;
	memmove(w->backlog, w->backlog + 1, --w->waiting * sizeof(w->backlog[0]));
	w->accepted++;
	return end;
}

/* ---- the wire ------------------------------------------------------------------------------------------------------- */

static enum wh_wire_result fake_wire_connect(struct wh_wire *w, uint32_t node, struct wh_conn **out, char *reason)
{
	struct fake_end *end;

	(void)reason;
	w->connects++;
	if (!w->net->node[node].wire.listens)
		return WH_WIRE_NOBODY;
	end = fake_call(w->net, w->node, node);
	end->adopted = end->ready = true;
	*out = &end->base;
	return WH_WIRE_DONE;
}

static enum wh_wire_result fake_wire_accept(struct wh_wire *w, struct wh_conn **out)
{
	struct fake_end *end;

	if (w->is_broken)
		return WH_WIRE_BROKEN;
	end = fake_accept(w->net, w->node);
	if (end == NULL)
		return WH_WIRE_LATER;
	*out = &end->base;
	return WH_WIRE_DONE;
}

static void fake_wire_rest(struct wh_wire *w, bool rests)
{
	w->rests = rests;
}

static bool fake_wire_watch(struct wh_conn *c, bool on)
{
	fake_of(c)->watched = on;
	return true;
}

static enum wh_wire_result fake_wire_greet(struct wh_conn *c, char reason[WH_MESSAGE_REASON_BYTES])
{
	struct fake_end *end = fake_of(c);

	c->words += end->says_word;
	c->spoke = c->spoke || end->says_word;
	end->says_word = false;
	if (!end->works)
		c->working_ns = 0;
	else if (c->working_ns == 0)
		c->working_ns = end->net->fake.now_ns;
	if (end->reason != NULL)
		snprintf(reason, WH_MESSAGE_REASON_BYTES, "%s", end->reason);
	return end->greets;
}

enum wh_wire_result fake_wire_holds_id(struct wh_conn *c, uint32_t node)
{
	(void)node;
	return fake_of(c)->net->node[fake_of(c)->owner].wire.holder;
}

static void fake_wire_hold(struct wh_conn *c, bool on)
{
	fake_of(c)->holds = on;
}

static void fake_wire_hand_over(struct wh_conn *c, uint32_t lane, struct wh_message *m)
{
	struct fake_end *end = fake_of(c);

	(void)lane;
	for (size_t i = 0; i < WH_MESSAGE_FDS; i++) {
		end->in->fds[i] = m->fds[i];
		m->fds[i] = -1;
	}
	end->watched = false;
}

static void fake_wire_take_over(struct wh_wire *w, struct wh_conn *c)
{
	fake_of(c)->taken_by = w;
}

static bool fake_wire_adopt(struct wh_conn *c)
{
	struct fake_end *end = fake_of(c);

	end->adopted = true;
	end->current = end->in;
	end->in = end->in->next;
	return true;
}

static enum wh_wire_result fake_wire_send(struct wh_conn *c, const unsigned char *message, size_t bytes, const int *fds,
					  size_t fd_count, enum wh_wire_room room)
{
	struct fake_end *end = fake_of(c);

	if (end->other == NULL)
		return WH_WIRE_ENDED;
	if (end->deaf || fake_waiting(end->other) >= (room == WH_WIRE_USER ? FAKE_USER_ROOM : FAKE_OWN_ROOM))
		return WH_WIRE_LATER;
	fake_push(end->other, message, bytes, fds, fd_count);
	return WH_WIRE_DONE;
}

static bool fake_wire_finish(struct wh_conn *c, const struct iovec *parts, size_t count)
{
	struct fake_end *end = fake_of(c);
	static unsigned char all[WH_HEAD_BYTES + WH_ANSWER_MAX];
	size_t bytes = 0;

	if (end->deaf || end->other == NULL || fake_waiting(end->other) >= FAKE_OWN_ROOM)
		return false;
	for (size_t i = 0; i < count; i++) {
		memcpy(all + bytes, parts[i].iov_base, parts[i].iov_len);
		bytes += parts[i].iov_len;
	}
	fake_push(end->other, all, bytes, NULL, 0);
	return true;
}

enum wh_wire_result fake_wire_receive(struct wh_conn *c, struct wh_message *m)
{
	struct fake_end *end = fake_of(c);
	struct fake_message *next = end->in;

	if (m == NULL)
		return WH_WIRE_LATER;
	c->reads++;
	if (next == NULL && end->broken)
		return WH_WIRE_BROKEN;
	if (next == NULL && end->other == NULL)
		return end->leaves ? WH_WIRE_LEFT : WH_WIRE_ENDED;
	if (next == NULL)
		return WH_WIRE_LATER;
	if (!wh_message_head_take(&m->head, next->all) || next->bytes != WH_HEAD_BYTES + m->head.bytes)
		return WH_WIRE_BROKEN;
	m->body = next->all + WH_HEAD_BYTES;
	for (size_t i = 0; i < WH_MESSAGE_FDS; i++) {
		m->fds[i] = next->fds[i];
		next->fds[i] = -1;
	}
	if (!end->adopted) {
		end->ready = next->next != NULL || end->other == NULL;
		return WH_WIRE_DONE;
	}
	fake_forget(end->current);
	end->current = next;
	end->in = next->next;
	return WH_WIRE_DONE;
}

static void fake_wire_leave(struct wh_conn *c)
{
	unsigned char message[WH_HEAD_BYTES];

	if (fake_of(c)->other != NULL)
		fake_push(fake_of(c)->other, message, wh_message_put_plain(message, WH_MESSAGE_LEAVE, 0), NULL, 0);
}

static void fake_wire_close(struct wh_conn *c, bool forked)
{
	(void)forked;
	fake_close_end(fake_of(c));
}

static void fake_stream_close(struct wh_stream *base)
{
	((struct fake_stream *)base)->node->closed_streams++;
	free(base);
}

static const struct wh_stream_ops fake_stream_ops = {.close = fake_stream_close};

static enum wh_wire_result fake_wire_stream_take(struct wh_conn *c, struct wh_message *m, struct wh_stream **out)
{
	struct fake_end *end = fake_of(c);
	struct fake_stream *stream = calloc(1, sizeof(*stream));

	(void)m;
	ck_assert_ptr_nonnull(stream);
	*stream = (struct fake_stream){.base = {&fake_stream_ops}, .node = &end->net->node[end->owner]};
	stream->node->taken_streams++;
	*out = &stream->base;
	return WH_WIRE_DONE;
}

static void fake_wire_look_up(struct wh_wire *w, uint32_t node)
{
	w->looked_up[node]++;
}

static void fake_wire_alarm(struct wh_wire *w, uint64_t in_ns)
{
	uint64_t at = w->net->fake.now_ns + in_ns;

	if (w->alarm_ns == 0 || at < w->alarm_ns)
		w->alarm_ns = at;
}

static const struct wh_wire_ops fake_wire_ops = {
	.answer_ns = WH_NS_PER_S,
	.connect = fake_wire_connect,
	.accept = fake_wire_accept,
	.rest = fake_wire_rest,
	.watch = fake_wire_watch,
	.greet = fake_wire_greet,
	.hand_over = fake_wire_hand_over,
	.take_over = fake_wire_take_over,
	.adopt = fake_wire_adopt,
	.hold = fake_wire_hold,
	.send = fake_wire_send,
	.finish = fake_wire_finish,
	.receive = fake_wire_receive,
	.leave = fake_wire_leave,
	.close = fake_wire_close,
	.stream_take = fake_wire_stream_take,
	.look_up = fake_wire_look_up,
	.alarm = fake_wire_alarm,
};

/* ---- the plane ------------------------------------------------------------------------------------------------------ */

static void fake_add(struct wh_own *own, size_t bytes, int fd)
{
	ck_assert_uint_le(bytes, own->room);
	memset(own->bytes, 'o', bytes);
	own->count = bytes;
	own->fds[0] = fd;
}

static void fake_plane_hello(struct wh_transport *t, struct wh_conn *c, struct wh_own *own)
{
	(void)c;
	fake_add(own, fake_node_of(t)->own_hello, fake_node_of(t)->own_fd);
}

static bool fake_plane_welcome(struct wh_transport *t, uint32_t node, struct wh_conn *c, struct wh_message *m,
			       const unsigned char *own, size_t bytes, char reason[WH_MESSAGE_REASON_BYTES])
{
	(void)node, (void)c, (void)m;
	ck_assert(bytes == 0 || own[bytes - 1] == 'o');
	snprintf(reason, WH_MESSAGE_REASON_BYTES, "no plane like it");
	return !fake_node_of(t)->unwelcome;
}

static void fake_plane_met(struct wh_transport *t, uint32_t node)
{
	(void)node;
	fake_node_of(t)->met++;
}

static void fake_plane_ended(struct wh_transport *t, uint32_t node)
{
	(void)node;
	fake_node_of(t)->ended++;
}

static bool fake_plane_on_message(struct wh_transport *t, uint32_t node, struct wh_message *m)
{
	(void)t, (void)node;
	return m->head.kind == FAKE_OWN_KIND;
}

static bool fake_plane_offer(struct wh_session_image *image, uint32_t rank, struct wh_own *own)
{
	const struct fake_node *n = fake_node_of(image->base.transport);

	(void)rank;
	fake_add(own, n->own_offer, n->own_fd);
	return !n->offers_later;
}

static const unsigned char *fake_plane_map(struct wh_session_image *image, uint32_t rank, const unsigned char *own,
					   size_t bytes, int *fd, char reason[WH_MESSAGE_REASON_BYTES])
{
	struct fake_node *n = fake_node_of(image->base.transport);

	(void)rank;
	ck_assert(bytes == 0 || own[bytes - 1] == 'o');
	if (n->maps != MAPS) {
		snprintf(reason, WH_MESSAGE_REASON_BYTES, "%s", n->maps == MAPS_NEVER ? "no row" : "");
		return NULL;
	}
	if (n->keeps_fd) {
		n->kept_fd = *fd;
		*fd = -1;
	}
	n->mapped++;
	return n->row;
}

static void fake_plane_discard(struct wh_transport *t, const struct wh_conn *c, enum wh_message_kind kind,
			       const unsigned char *own, size_t bytes)
{
	(void)c;
	ck_assert(kind == WH_MESSAGE_HELLO || kind == WH_MESSAGE_OFFER);
	ck_assert(bytes == 0 || own[bytes - 1] == 'o');
	fake_node_of(t)->discarded++;
}

static const struct wh_plane_ops fake_plane_ops = {
	.hello = fake_plane_hello,
	.welcome = fake_plane_welcome,
	.met = fake_plane_met,
	.ended = fake_plane_ended,
	.on_message = fake_plane_on_message,
	.offer = fake_plane_offer,
	.map = fake_plane_map,
	.discard = fake_plane_discard,
};

static void fake_wake(struct wh_transport *t)
{
	fake_node_of(t)->woken++;
}

static const struct wh_transport_ops fake_transport_ops = {.wake = fake_wake};

/* ---- the network ---------------------------------------------------------------------------------------------------- */

void fake_net_init(struct fake_net *net)
{
	memset(net, 0, sizeof(*net));
	fake_env_init(&net->fake);
	for (uint32_t id = 0; id < FAKE_NODES; id++) {
		struct fake_node *n = &net->node[id];

		n->wire = (struct wh_wire){.net = net, .node = id, .greets = WH_WIRE_DONE};
		n->transport.ops = &fake_transport_ops;
		n->wire_ops = fake_wire_ops;
		n->plane_ops = fake_plane_ops;
		n->own_fd = n->kept_fd = -1;
	}
}

uint64_t fake_life(uint32_t node)
{
	return 100 + node;
}

struct fake_node *fake_open(struct fake_net *net, uint32_t id, uint64_t incarnation)
{
	struct fake_node *n = &net->node[id];
	const struct wh_transport_config config = {.env = &net->fake.env,
						   .group = "g",
						   .node = id,
						   .nodes = FAKE_NODES,
						   .incarnation = incarnation,
						   .patience_ns = 3 * WH_NS_PER_S};
	const struct wh_session_setup setup = {.config = &config,
					       .lanes = n->lanes,
					       .name = "fake",
					       .version = FAKE_VERSION,
					       .wire_ops = &n->wire_ops,
					       .wire = &n->wire,
					       .plane_ops = &n->plane_ops,
					       .transport = &n->transport};
	struct wh_error err;

	ck_assert_int_eq(wh_session_check(&config, &err), WHORL_OK);
	ck_assert_int_eq(wh_session_new(&setup, &n->session, &err), WHORL_OK);
	n->wire.listens = true;
	wh_session_begin(n->session);
	return n;
}

void fake_kill(struct fake_net *net, uint32_t id)
{
	struct fake_node *n = &net->node[id];
	struct fake_end *end;

	wh_session_free(n->session, false);
	n->session = NULL;
	n->wire.listens = false;
	n->wire.alarm_ns = 0;
	while ((end = fake_accept(net, id)) != NULL)
		fake_close_end(end);
}

void fake_net_free(struct fake_net *net)
{
	for (uint32_t id = 0; id < FAKE_NODES; id++)
		fake_kill(net, id);
	ck_assert_int_eq(net->fake.fatal, 0);
}

void fake_take_event(struct fake_node *n, const struct wh_transport_event *event)
{
	n->events[event->kind]++;
	n->incarnations[event->kind] = event->incarnation;
	n->tag = event->tag;
	if (event->kind == WH_EVENT_QUERY)
		n->query = event->query;
	if (event->kind == WH_EVENT_STREAM)
		event->stream->ops->close(event->stream);
	snprintf(n->texts[event->kind], sizeof(n->texts[0]), "%.*s", (int)event->bytes, event->text);
}

void fake_take_events(struct fake_net *net)
{
	static struct wh_transport_event event;

	for (uint32_t id = 0; id < FAKE_NODES; id++)
		while (net->node[id].session != NULL && wh_session_next_event(net->node[id].session, &event))
			fake_take_event(&net->node[id], &event);
}

void fake_hear_one(struct fake_node *n)
{
	struct wh_session *s = n->session;

	if (s == NULL)
		return;
	if (n->wire.waiting > 0 && !n->wire.rests)
		wh_session_on_caller(s);
	for (uint32_t slot = 0; slot < wh_session_slots(s); slot++) {
		struct fake_end *end = fake_of(wh_session_conn(s, slot));

		if (end == NULL || !end->ready || !end->watched || wh_session_is_full(s))
			continue;
		end->ready = false;
		(void)wh_session_on_ready(s, slot);
	}
	(void)wh_session_service(s);
}

void fake_hear(struct fake_net *net)
{
	for (uint32_t id = 0; id < FAKE_NODES; id++)
		fake_hear_one(&net->node[id]);
}

void fake_pump(struct fake_net *net)
{
	for (int n = 0; n < 12; n++) {
		fake_hear(net);
		fake_take_events(net);
	}
}

void fake_advance(struct fake_net *net, uint64_t ns)
{
	uint64_t until = net->fake.now_ns + ns;

	for (;;) {
		uint64_t next = until + 1;

		for (uint32_t id = 0; id < FAKE_NODES; id++)
			if (net->node[id].session != NULL && net->node[id].wire.alarm_ns != 0 &&
			    net->node[id].wire.alarm_ns < next)
				next = net->node[id].wire.alarm_ns;
		if (next > until)
			break;
		net->fake.now_ns = next > net->fake.now_ns ? next : net->fake.now_ns;
		for (uint32_t id = 0; id < FAKE_NODES; id++)
			if (net->node[id].session != NULL && net->node[id].wire.alarm_ns != 0 &&
			    net->node[id].wire.alarm_ns <= net->fake.now_ns) {
				net->node[id].wire.alarm_ns = 0;
				(void)wh_session_on_timer(net->node[id].session);
			}
		fake_pump(net);
	}
	net->fake.now_ns = until;
	fake_pump(net);
}

/* ---- what the test says in the name of a node ----------------------------------------------------------------------- */

void fake_say(struct fake_end *end, const unsigned char *message, size_t bytes)
{
	ck_assert_ptr_nonnull(end->other);
	fake_push(end->other, message, bytes, NULL, 0);
}

void fake_say_plain(struct fake_end *end, uint8_t kind, uint64_t number)
{
	unsigned char message[WH_HEAD_BYTES];

	fake_say(end, message, wh_message_put_plain(message, kind, number));
}

struct wh_hello fake_hello(uint32_t node, uint64_t incarnation, uint64_t call)
{
	return (struct wh_hello){FAKE_VERSION, node, FAKE_NODES, 0, incarnation, call, "g"};
}

void fake_say_hello_with(struct fake_end *end, const struct wh_hello *hello, size_t own, int fd)
{
	unsigned char message[WH_HEAD_BYTES + WH_HELLO_BYTES + WH_OWN_HELLO_MAX];
	size_t bytes = wh_message_put_hello(message, hello, own);

	memset(message + bytes, 'o', own);
	ck_assert_ptr_nonnull(end->other);
	fake_push(end->other, message, bytes + own, &fd, fd >= 0);
}

void fake_say_hello(struct fake_end *end, uint32_t node, uint64_t incarnation, uint64_t call)
{
	const struct wh_hello hello = fake_hello(node, incarnation, call);

	fake_say_hello_with(end, &hello, 0, -1);
}

int fake_next(struct fake_end *end, struct wh_message *m)
{
	end->adopted = true;
	*m = (struct wh_message){.fds = {-1, -1}};
	if (end->in == NULL)
		return 0;
	ck_assert_int_eq(fake_wire_receive(&end->base, m), WH_WIRE_DONE);
	wh_message_close_fds(m);
	return m->head.kind;
}

void fake_expect(struct fake_end *end, int kind)
{
	struct wh_message m;

	ck_assert_int_eq(fake_next(end, &m), kind);
}

void fake_expect_refused(struct fake_end *end, const char *part)
{
	struct wh_refused refused;
	struct wh_message m;

	ck_assert_int_eq(fake_next(end, &m), WH_MESSAGE_REFUSED);
	ck_assert(wh_message_take_refused(&refused, &m.head, m.body));
	ck_assert_msg(strstr(refused.reason, part) != NULL, "\"%s\" is not in \"%s\"", part, refused.reason);
}

uint32_t fake_count(struct fake_end *end, int kind)
{
	struct wh_message m;
	uint32_t count = 0;
	int next;

	while ((next = fake_next(end, &m)) != 0)
		count += next == kind;
	return count;
}

struct fake_end *fake_meet(struct fake_net *net, uint32_t node, uint64_t incarnation, uint64_t call, uint32_t to)
{
	struct fake_end *end = fake_call(net, node, to);

	fake_say_hello(end, node, incarnation, call);
	fake_pump(net);
	fake_expect(end, WH_MESSAGE_HELLO);
	fake_say_plain(end, WH_MESSAGE_TAKEN, 0);
	fake_pump(net);
	ck_assert_int_eq(net->node[to].session->peers[node].state, WH_PEER_MET);
	return end;
}

enum wh_peer_state fake_state(const struct fake_net *net, uint32_t node, uint32_t of)
{
	return net->node[node].session->peers[of].state;
}
