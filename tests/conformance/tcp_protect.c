/* tcp_protect.c - two nodes that have a key, and between them something that changes a byte of what one sends: with protect = all the
 * connection ends, and it is said why; with protect = meeting the changed bytes are believed. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/conformance/tcp_raw.h"
#include "transport/tcp/tcp_int.h"

#define MESSAGE_BYTES 200
#define CALLS_MAX 16

struct call { /* one that has come to a proxy, and its way on: -1: it has ended */
	int ends[2];
};

struct proxy { /* in the place of a node */
	char name[WH_TCP_ADDRESS_BYTES];
	struct wh_tcp_address behind;
	int listener;
	struct call calls[CALLS_MAX];
	uint32_t count;
};

struct end {
	struct wh_transport *node;
	uint32_t met, down, refused, heard;
	char text[512], message[MESSAGE_BYTES];
};

static struct end ends[2];
static struct proxy proxies[2];
static bool changes; /* the next large piece that passes */

static void open_proxy(struct proxy *proxy, const char *group, uint32_t node)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof(at);
	char name[WH_TCP_ADDRESS_BYTES];
	struct wh_error err;

	*proxy = (struct proxy){.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
	ck_assert_int_eq(bind(proxy->listener, (const struct sockaddr *)&at, bytes), 0);
	ck_assert_int_eq(listen(proxy->listener, CALLS_MAX), 0);
	ck_assert_int_eq(getsockname(proxy->listener, (struct sockaddr *)&at, &bytes), 0);
	snprintf(proxy->name, sizeof(proxy->name), "127.0.0.1:%u", ntohs(at.sin_port));
	wh_tcp_address_default(group, node, name);
	ck_assert_int_eq(wh_tcp_address_find(name, &proxy->behind, &err), WHORL_OK);
}

static void close_call(struct call *call)
{
	for (int i = 0; i < 2; i++) {
		if (call->ends[i] >= 0)
			close(call->ends[i]);
		call->ends[i] = -1;
	}
}

static void take_call(struct proxy *proxy)
{
	int s = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC);
	struct call *call = &proxy->calls[proxy->count];

	if (s < 0)
		return;
	ck_assert_uint_lt(proxy->count, CALLS_MAX);
	proxy->count++;
	*call = (struct call){{s, socket(proxy->behind.at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)}};
	if (connect(call->ends[1], (const struct sockaddr *)&proxy->behind.at, proxy->behind.bytes) != 0)
		close_call(call);
}

static void pass_on(struct call *call, int from)
{
	char bytes[4096];
	ssize_t n = call->ends[from] < 0 ? -1 : recv(call->ends[from], bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n > MESSAGE_BYTES && changes) {
		bytes[n / 2] ^= 1;
		changes = false;
	}
	if (n == 0 || (n < 0 && errno != EAGAIN) ||
	    (n > 0 && send(call->ends[!from], bytes, (size_t)n, MSG_NOSIGNAL) != n))
		close_call(call);
}

static void take_event(struct end *end, const struct wh_transport_event *event)
{
	end->met += event->kind == WH_EVENT_PEER_MET;
	end->down += event->kind == WH_EVENT_PEER_DOWN;
	end->refused += event->kind == WH_EVENT_REFUSED;
	if (event->kind == WH_EVENT_PEER_DOWN || event->kind == WH_EVENT_REFUSED)
		snprintf(end->text, sizeof(end->text), "%.*s", (int)sizeof(end->text) - 1, event->text);
	if (event->kind == WH_EVENT_CONTROL && event->bytes == MESSAGE_BYTES) {
		end->heard++;
		memcpy(end->message, event->text, MESSAGE_BYTES);
	}
}

static void turn(void)
{
	static struct wh_transport_event event; /* large */

	for (size_t i = 0; i < 2; i++) {
		take_call(&proxies[i]);
		for (uint32_t c = 0; c < proxies[i].count; c++) {
			pass_on(&proxies[i].calls[c], 0);
			pass_on(&proxies[i].calls[c], 1);
		}
		if (ends[i].node == NULL)
			continue;
		ends[i].node->ops->service(ends[i].node);
		while (ends[i].node->ops->next_event(ends[i].node, &event))
			take_event(&ends[i], &event);
	}
	nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

#define UNTIL(condition)                                                                                               \
	do {                                                                                                           \
		for (int passes_ = 0; passes_ < RAW_PATIENCE && !(condition); passes_++)                               \
			turn();                                                                                        \
		ck_assert_msg((condition), "never: %s", #condition);                                                   \
	} while (0)

static void open_end(uint32_t node, const char *group, const char *text, bool all)
{
	struct wh_secure_key *key = raw_key(text);
	struct wh_secure_tls *tls = NULL;
	const char *addresses[2] = {node == 0 ? NULL : proxies[0].name, node == 1 ? NULL : proxies[1].name};
	struct wh_error err;

	if (all)
		ck_assert_msg(wh_secure_tls_of_key(key, &tls, &err) == WHORL_OK, "%s", err.text);
	const struct wh_transport_config config = {.env = wh_env_system(),
						   .group = group,
						   .node = node,
						   .nodes = 2,
						   .incarnation = 100 + node,
						   .patience_ns = WH_NS_PER_S,
						   .addresses = addresses,
						   .key = key,
						   .tls = tls};

	ends[node] = (struct end){.node = NULL};
	ck_assert_msg(wh_tcp_create(&config, NULL, &ends[node].node, &err) == WHORL_OK, "%s", err.text);
	wh_secure_key_free(key);
	wh_secure_tls_free(tls);
}

static void open_both(const char *name, const char *other_key, bool all, bool other_all)
{
	char group[40];

	snprintf(group, sizeof(group), "%s-%d-%d", name, (int)getpid(), (int)all);
	for (uint32_t i = 0; i < 2; i++)
		open_proxy(&proxies[i], group, i);
	open_end(0, group, "sixteen bytes of a key", all);
	open_end(1, group, other_key, other_all);
}

static void close_both(void)
{
	for (int i = 0; i < 2; i++) {
		ends[i].node->ops->destroy(ends[i].node, false);
		close(proxies[i].listener);
		for (uint32_t c = 0; c < proxies[i].count; c++)
			close_call(&proxies[i].calls[c]);
	}
}

static void say(char letter)
{
	char message[MESSAGE_BYTES];

	memset(message, letter, sizeof(message));
	ck_assert_int_eq(ends[0].node->ops->control_send(ends[0].node, 1, message, sizeof(message)), WHORL_OK);
}

static bool is_all(const char message[MESSAGE_BYTES], char letter)
{
	return message[0] == letter && memcmp(message, message + 1, MESSAGE_BYTES - 1) == 0;
}

START_TEST(a_byte_changed_on_its_way)
{
	const bool all = _i == 1;

	open_both("changed", "sixteen bytes of a key", all, all);
	UNTIL(ends[0].met == 1 && ends[1].met == 1);
	say('a');
	UNTIL(ends[1].heard == 1);
	ck_assert(is_all(ends[1].message, 'a'));
	changes = true;
	say('b');
	UNTIL(ends[1].heard == 2 || ends[1].down == 1);
	ck_assert(!changes);
	if (all) {
		ck_assert_uint_eq(ends[1].heard, 1);
		ck_assert_msg(strstr(ends[1].text, "node 0") != NULL &&
				      strstr(ends[1].text, "changed on its way") != NULL,
			      "%s", ends[1].text);
	} else { /* docs/security.md says so */
		ck_assert_uint_eq(ends[1].down, 0);
		ck_assert(!is_all(ends[1].message, 'b'));
	}
	close_both();
}
END_TEST

START_TEST(one_with_all_and_one_with_meeting)
{
	open_both("apart", "sixteen bytes of a key", _i == 1, _i == 0);
	UNTIL(ends[0].refused > 0 && ends[1].refused > 0);
	for (int i = 0; i < 2; i++)
		ck_assert_msg(strstr(ends[i].text, "protect = all") != NULL &&
				      strstr(ends[i].text, "protect = meeting") != NULL &&
				      strstr(ends[i].text, i == 0 ? "node 1" : "node 0") != NULL,
			      "%s", ends[i].text);
	ck_assert_uint_eq(ends[0].met + ends[1].met, 0);
	close_both();
}
END_TEST

START_TEST(another_key)
{
	open_both("key", "sixteen bytes of a kez", true, true);
	UNTIL(ends[0].refused > 0 && ends[1].refused > 0);
	for (int i = 0; i < 2; i++)
		ck_assert_msg(strstr(ends[i].text, "different cluster keys (key_file)") != NULL, "%s", ends[i].text);
	ck_assert_uint_eq(ends[0].met + ends[1].met, 0);
	close_both();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tcp-protect");
	TCase *cases = tcase_create("protect");

	tcase_set_timeout(cases, 60);
	tcase_add_loop_test(cases, a_byte_changed_on_its_way, 0, 2);
	tcase_add_loop_test(cases, one_with_all_and_one_with_meeting, 0, 2);
	tcase_add_test(cases, another_key);
	suite_add_tcase(suite, cases);
	return test_main(suite);
}
