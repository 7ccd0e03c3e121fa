/* tcp_raw.c - see tcp_raw.h. */
#include "tests/conformance/tcp_raw.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/temporary.h"
#include "transport/tcp/tcp_int.h"

struct wh_secure_key *raw_key(const char *text)
{
	char path[TEST_PATH_BYTES];
	struct wh_secure_key *key;
	struct wh_error err;
	int fd = mkstemp(test_temporary(path, "whorl-raw"));

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	ck_assert_msg(wh_secure_key_load(path, &key, &err) == WHORL_OK, "%s", err.text);
	unlink(path);
	return key;
}

static struct raw *make(struct wh_secure_key *key)
{
	struct raw *raw = calloc(1, sizeof(*raw));
	struct wh_transport_config config = {.env = wh_env_system(),
					     .nodes = RAW_NODES,
					     .incarnation = 1000,
					     .patience_ns = WH_NS_PER_S,
					     .cut_ns = RAW_CUT_NS};
	struct wh_error err;

	ck_assert_ptr_nonnull(raw);
	snprintf(raw->group, sizeof(raw->group), "raw-%016llx",
		 (unsigned long long)config.env->random_u64(config.env->ctx));
	wh_tcp_address_default(raw->group, 0, raw->address);
	config.group = raw->group;
	config.key = raw->key = key;
	ck_assert_msg(wh_tcp_create(&config, NULL, &raw->node, &err) == WHORL_OK, "%s", err.text);
	return raw;
}

struct raw *raw_make(void)
{
	return make(NULL);
}

struct raw *raw_make_with_key(void)
{
	return make(raw_key("sixteen bytes of a key"));
}

void raw_free(struct raw *raw)
{
	raw->node->ops->destroy(raw->node, false);
	wh_secure_key_free(raw->key);
	free(raw);
}

static void take_event(struct raw *raw, const struct wh_transport_event *event)
{
	raw->met += event->kind == WH_EVENT_PEER_MET;
	raw->left += event->kind == WH_EVENT_PEER_LEFT;
	raw->down += event->kind == WH_EVENT_PEER_DOWN;
	raw->refused += event->kind == WH_EVENT_REFUSED;
	raw->ready += event->kind == WH_EVENT_IMAGE_READY;
	raw->controls += event->kind == WH_EVENT_CONTROL;
	if (event->kind == WH_EVENT_PEER_LEFT || event->kind == WH_EVENT_PEER_DOWN || event->kind == WH_EVENT_REFUSED)
		snprintf(raw->text, sizeof(raw->text), "%.*s", (int)sizeof(raw->text) - 1, event->text);
	raw->streams += event->kind == WH_EVENT_STREAM;
	if (event->kind == WH_EVENT_STREAM)
		event->stream->ops->close(event->stream);
}

static void service(struct raw *raw)
{
	static struct wh_transport_event event; /* large */

	raw->node->ops->service(raw->node);
	while (raw->node->ops->next_event(raw->node, &event))
		take_event(raw, &event);
}

void raw_pass(struct raw *raw)
{
	service(raw);
	nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

/* ---- frames ------------------------------------------------------------------------------------------------------- */

struct wh_session *raw_session(const struct raw *raw)
{
	return wh_tcp_of(raw->node)->base.session;
}

struct wh_conn *raw_stranger(const struct raw *raw)
{
	const struct wh_session *s = raw_session(raw);

	for (uint32_t slot = 0; slot < s->slot_count; slot++)
		if (s->slots[slot] != NULL && s->slots[slot]->node == WH_NO_NODE)
			return s->slots[slot];
	return NULL;
}

int raw_connect(struct raw *raw)
{
	struct wh_tcp_address address;
	const int on = 1;
	struct wh_error err;
	int s;

	ck_assert_int_eq(wh_tcp_address_find(raw->address, &address, &err), WHORL_OK);
	s = socket(address.at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(s, 0);
	ck_assert_int_eq(connect(s, (const struct sockaddr *)&address.at, address.bytes), 0);
	ck_assert_int_eq(setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)),
			 0); /* frames are small, and in a hurry */
	return s;
}

static bool read_all(struct raw *raw, int s, unsigned char *bytes, size_t count);

/* The greeting, to its end. */
static void shake(struct raw *raw, int s, struct wh_secure *secure)
{
	unsigned char bytes[256];
	const void *pending;
	size_t count;

	while (wh_secure_state(secure) == WH_SECURE_GOING_ON) {
		pending = wh_secure_pending(secure, &count);
		if (count > 0)
			raw_send(s, pending, count);
		wh_secure_sent(secure, count);
		count = wh_secure_wants(secure);
		ck_assert_uint_le(count, sizeof(bytes));
		ck_assert_msg(read_all(raw, s, bytes, count), "the node has hung up");
		wh_secure_feed(secure, bytes, count);
	}
	ck_assert_msg(wh_secure_state(secure) == WH_SECURE_PROVEN, "%s", wh_secure_reason(secure));
	pending = wh_secure_pending(secure, &count);
	if (count > 0)
		raw_send(s, pending, count);
	wh_secure_free(secure);
}

static struct wh_secure_ground ground_of(const struct raw *raw, struct wh_secure_peer me)
{
	return (struct wh_secure_ground){.key = raw->key,
					 .group = raw->group,
					 .version = WH_TCP_VERSION,
					 .node = me.node,
					 .incarnation = me.incarnation};
}

void raw_prove(struct raw *raw, int s, struct wh_secure_peer peer)
{
	const struct wh_secure_ground ground = ground_of(raw, peer);
	struct wh_secure *secure;
	struct wh_error err;

	ck_assert_int_eq(wh_secure_connect(&ground, 0, &secure, &err), WHORL_OK);
	shake(raw, s, secure);
}

int raw_call(struct raw *raw)
{
	const struct wh_secure_peer me = {.node = RAW_ME, .incarnation = RAW_INCARNATION};
	int s = raw_connect(raw);

	raw_prove(raw, s, me);
	return s;
}

int raw_listen(struct raw *raw)
{
	char text[WH_TCP_ADDRESS_BYTES];
	struct wh_tcp_address address;
	const int on = 1;
	struct wh_error err;
	int s;

	wh_tcp_address_default(raw->group, RAW_ME, text);
	ck_assert_int_eq(wh_tcp_address_find(text, &address, &err), WHORL_OK);
	s = socket(address.at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ck_assert_int_ge(s, 0);
	ck_assert_int_eq(setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
	ck_assert_int_eq(bind(s, (const struct sockaddr *)&address.at, address.bytes), 0);
	ck_assert_int_eq(listen(s, 8), 0);
	return s;
}

int raw_accept(struct raw *raw, int listener)
{
	const struct wh_secure_ground ground = ground_of(raw, (struct wh_secure_peer){RAW_ME, RAW_INCARNATION});
	struct wh_secure *secure;
	struct wh_error err;
	int s = -1;

	RAW_UNTIL(raw, (s = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0);
	ck_assert_int_eq(wh_secure_accept(&ground, &secure, &err), WHORL_OK);
	shake(raw, s, secure);
	return s;
}

void raw_send(int s, const void *bytes, size_t count)
{
	ck_assert_int_eq(send(s, bytes, count, MSG_NOSIGNAL), (ssize_t)count);
}

/* False: it has closed. */
static bool read_all(struct raw *raw, int s, unsigned char *bytes, size_t count)
{
	for (int passes = 0; count > 0; passes++) {
		ssize_t n = recv(s, bytes, count, MSG_DONTWAIT);

		ck_assert_msg(passes < RAW_PATIENCE, "the node says nothing");
		if (n == 0 || (n < 0 && errno == ECONNRESET))
			return false;
		if (n < 0) {
			raw_pass(raw);
			continue;
		}
		bytes += n;
		count -= (size_t)n;
	}
	return true;
}

bool raw_receive(struct raw *raw, int s, struct wh_message_head *head, unsigned char body[WH_BODY_MAX])
{
	unsigned char bytes[WH_HEAD_BYTES];

	if (!read_all(raw, s, bytes, sizeof(bytes)))
		return false;
	ck_assert(wh_tcp_head_take(head, bytes));
	ck_assert_uint_le(head->bytes, WH_BODY_MAX);
	return read_all(raw, s, body, head->bytes);
}

void raw_expect(struct raw *raw, int s, uint8_t kind, unsigned char body[WH_BODY_MAX])
{
	struct wh_message_head head;

	ck_assert_msg(raw_receive(raw, s, &head, body), "the node has hung up");
	ck_assert_int_eq((int)head.kind, (int)kind);
}

/* ---- meeting ------------------------------------------------------------------------------------------------------ */

struct wh_hello raw_hello(const struct raw *raw)
{
	struct wh_hello hello = {.version = WH_TCP_VERSION,
				 .node = RAW_ME,
				 .nodes = RAW_NODES,
				 .incarnation = RAW_INCARNATION,
				 .call = 1};

	memcpy(hello.group, raw->group, sizeof(raw->group));
	return hello;
}

void raw_say_hello(int s, const struct wh_hello *hello)
{
	unsigned char frame[WH_HEAD_BYTES + WH_HELLO_BYTES];

	raw_send(s, frame, wh_message_put_hello(frame, hello, 0));
}

int raw_meet(struct raw *raw, uint64_t incarnation)
{
	struct wh_hello hello = raw_hello(raw);
	unsigned char frame[WH_HEAD_BYTES], body[WH_BODY_MAX];
	uint32_t met = raw->met;
	const struct wh_secure_peer peer = {.node = RAW_ME, .incarnation = incarnation};
	int s = raw_connect(raw);

	raw_prove(raw, s, peer);
	hello.incarnation = incarnation;
	raw_say_hello(s, &hello);
	raw_expect(raw, s, WH_MESSAGE_HELLO, body);
	raw_send(s, frame, wh_message_put_plain(frame, WH_MESSAGE_TAKEN, 0));
	RAW_UNTIL(raw, raw->met == met + 1);
	return s;
}

static void take_part(struct raw *raw, int s, uint64_t key, uint32_t members, uint32_t before)
{
	const struct wh_row_part parts[] = {{0, CONTROL_BYTES}, {CONTROL_BYTES, WH_ROW_ALIGN}};
	const struct wh_row_spec rows[] = {{0, 1000, ROW_BYTES, parts, 2},
					   {RAW_ME, RAW_INCARNATION, ROW_BYTES, parts, 2},
					   {2, 2000, ROW_BYTES, parts, 2}};
	const struct wh_relay_spec relay = {
		.owner = 2, .before = before, .offset = CONTROL_BYTES + 16, .stride = 256, .bytes = 240, .count = 3};
	const struct wh_image_spec spec = {.key = key,
					   .layout_digest = 5,
					   .members = members,
					   .control_bytes = CONTROL_BYTES,
					   .rows = rows,
					   .relays = &relay,
					   .relay_count = members > 2};
	const struct wh_offer offer = {
		.key = key, .layout_digest = 5, .members = members, .rank = 1, .row_bytes = ROW_BYTES};
	unsigned char frame[WH_HEAD_BYTES + WH_OFFER_BYTES], body[WH_BODY_MAX];
	struct wh_message_head head;
	struct wh_error err;

	ck_assert_int_eq(raw->node->ops->image_open(raw->node, &spec, &raw->image, &err), WHORL_OK);
	raw_send(s, frame, wh_message_put_offer(frame, &offer, 0));
	do { /* it offers its own once or twice, and the last one's too */
		ck_assert(raw_receive(raw, s, &head, body));
		ck_assert(head.kind == WH_MESSAGE_OFFER || head.kind == WH_MESSAGE_MAPPED);
	} while (head.kind != WH_MESSAGE_MAPPED || head.number != key);
	raw_send(s, frame, wh_message_put_plain(frame, WH_MESSAGE_MAPPED, key));
}

void raw_open(struct raw *raw, int s, uint64_t key)
{
	uint32_t ready = raw->ready;

	take_part(raw, s, key, 2, 0);
	RAW_UNTIL(raw, raw->ready == ready + 1);
}

void raw_open_relay(struct raw *raw, int s, uint64_t key, uint32_t before)
{
	take_part(raw, s, key, 3, before);
}
