/* shm_users.c - other users' processes are refused, before a byte of theirs is read. Takes root, to become another user. */
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/shm_node.h"

#define NOBODY 65534
#define ROOT 0

static bool become_nobody(void)
{
	return setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0;
}

/* A socket with the name of root's node; connected or listening. -1 if not. */
static int socket_of_node(const char *group, uint32_t node, bool listens)
{
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un name;
	socklen_t bytes;

	name.sun_family = AF_UNIX;
	memset(name.sun_path, 0, sizeof(name.sun_path));
	bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			    (size_t)snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "whorl/%d/%s/%u", ROOT,
					     group, (unsigned)node));
	if (listens)
		return bind(s, (const struct sockaddr *)&name, bytes) == 0 && listen(s, 10) == 0 ? s : -1;
	return connect(s, (const struct sockaddr *)&name, bytes) == 0 ? s : -1;
}

/* Says a perfect hello, and must get nothing but the end. */
static int intrude(const char *group)
{
	struct raw perfect = {
		.hello = {.version = WH_SHM_VERSION, .node = 1, .nodes = 2, .incarnation = INCARNATION(1), .call = 1},
		.status = {.bytes = WH_SHM_STATUS_BYTES, .page = 4096}};
	unsigned char message[WH_MESSAGE_MAX];
	int fds[2], s;
	ssize_t got;
	char byte;

	if (!become_nobody())
		return 1;
	s = socket_of_node(group, 0, false);
	if (s < 0)
		return 2;
	snprintf(perfect.hello.group, sizeof(perfect.hello.group), "%s", group);
	fds[0] = eventfd(0, EFD_NONBLOCK);
	fds[1] = raw_page();
	(void)raw_send(s, message, raw_hello(&perfect, message), fds, 2);
	do { /* what was sent and never read makes a reset of it */
		got = recv(s, &byte, 1, 0);
	} while (got < 0 && errno == EINTR);
	return got == 0 || (got < 0 && errno == ECONNRESET) ? 0 : 3;
}

START_TEST(another_user_gets_nothing)
{
	char group[40];
	struct node n[2];
	pid_t child = 0;
	int status = 0;

	node_make(&n[0], new_group(group), 0, 2);
	node_open(&n[0], ROW_BYTES);
	child = spawn(intrude, group);
	NODE_UNTIL(&n[0], waitpid(child, &status, WNOHANG) == child);
	ck_assert_int_eq(status, 0);
	node_make(&n[1], group, 1, 2); /* its place is free */
	node_open(&n[1], ROW_BYTES);
	NODE_UNTIL(&n[0], (node_pass(&n[1]), n[0].image->ready && n[1].image->ready));
	ck_assert_uint_eq(n[0].refused + n[0].down + n[0].left, 0);
	node_free(&n[0]);
	node_free(&n[1]);
}
END_TEST

/* Holds the name of node 0 until it is killed. What is said to it goes unread. */
static int squat(const char *group)
{
	int s;

	if (!become_nobody())
		return 1;
	s = socket_of_node(group, 0, true);
	if (s < 0)
		return 2;
	for (;;)
		pause();
}

/* Asks a question by hand, as root's name is not what wh_shm_ask would take, and must get nothing but the end. */
static int pry(const char *group)
{
	unsigned char ask[WH_MESSAGE_MAX];
	ssize_t got;
	char byte;
	int s;

	if (!become_nobody())
		return 1;
	s = socket_of_node(group, 0, false);
	if (s < 0)
		return 2;
	(void)raw_send(s, ask, wh_message_put_query(ask, WH_SHM_VERSION, "?", 1), NULL, 0);
	do { /* what was sent and never read makes a reset of it */
		got = recv(s, &byte, 1, 0);
	} while (got < 0 && errno == EINTR);
	return got == 0 || (got < 0 && errno == ECONNRESET) ? 0 : 3;
}

START_TEST(another_user_is_not_answered)
{
	char group[40];
	struct node n;
	pid_t child;
	int status = 0;

	node_make(&n, new_group(group), 0, 2);
	child = spawn(pry, group);
	NODE_UNTIL(&n, waitpid(child, &status, WNOHANG) == child);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(n.query, 0);
	node_free(&n);
}
END_TEST

START_TEST(another_user_is_not_asked)
{
	static unsigned char answer[WH_ANSWER_MAX];
	char group[40], holder[60];
	struct wh_error err;
	size_t bytes;
	pid_t child = spawn(squat, new_group(group));
	enum whorl_result result;

	snprintf(holder, sizeof(holder), "is held by pid %d of user %d", (int)child, NOBODY);
	do { /* until it has the name */
		result = wh_shm_query(group, 0, "?", 1, PATIENCE_NS, answer, &bytes, &err);
	} while (result == WHORL_NOT_FOUND && waitpid(child, NULL, WNOHANG) == 0);
	ck_assert_int_eq(result, WHORL_REFUSED);
	ck_assert_msg(strstr(err.text, holder) != NULL, "%s", err.text);
	kill(child, SIGKILL);
	reap(child);
}
END_TEST

START_TEST(a_place_held_by_another_user)
{
	char group[40], holder[60];
	struct wh_error err;
	struct node n, zero;
	pid_t child = spawn(squat, new_group(group));

	snprintf(holder, sizeof(holder), "is held by pid %d of user %d", (int)child, NOBODY);
	node_make(&n, group, 1, 2);
	NODE_UNTIL(&n, n.refused == 1);
	ck_assert_msg(strstr(n.text, "place of node 0 of group test-") != NULL && strstr(n.text, holder) != NULL, "%s",
		      n.text);
	node_free(&n);
	ck_assert_int_eq(node_try(&n, group, 0, 2, WH_HUGE_OFF, &err), WHORL_REFUSED);
	ck_assert_msg(strstr(err.text, holder) != NULL, "%s", err.text);
	node_make(&n, group, 1, 2); /* it waits, and the place becomes free */
	NODE_UNTIL(&n, n.refused == 1);
	kill(child, SIGKILL);
	reap(child);
	node_make(&zero, group, 0, 2);
	NODE_UNTIL(&n, (node_pass(&zero), n.met == 1 && zero.met == 1));
	ck_assert_uint_eq(n.refused, 1);
	node_free(&zero);
	node_free(&n);
}
END_TEST

/* The same group of the same name of two users: two groups. */
static int be_another_group(const char *group)
{
	struct node n[2];

	if (!become_nobody())
		return 1;
	for (uint32_t id = 0; id < 2; id++) {
		node_make(&n[id], group, id, 2);
		node_open(&n[id], ROW_BYTES);
	}
	NODE_UNTIL(&n[0], (node_pass(&n[1]), n[0].image->ready && n[1].image->ready));
	node_free(&n[0]);
	node_free(&n[1]);
	return 0;
}

START_TEST(users_do_not_share_groups)
{
	char group[40];
	struct node n[2];
	pid_t child;
	int status = 0;

	new_group(group);
	for (uint32_t id = 0; id < 2; id++) {
		node_make(&n[id], group, id, 2);
		node_open(&n[id], ROW_BYTES);
	}
	child = spawn(be_another_group, group);
	NODE_UNTIL(&n[0], (node_pass(&n[1]), waitpid(child, &status, WNOHANG) == child));
	ck_assert_int_eq(status, 0);
	NODE_UNTIL(&n[0], (node_pass(&n[1]), n[0].image->ready && n[1].image->ready));
	node_free(&n[0]);
	node_free(&n[1]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shm and other users");
	TCase *cases = tcase_create("users");

	if (geteuid() != ROOT)
		return test_skip("takes root, to start processes of another user");
	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, another_user_gets_nothing);
	tcase_add_test(cases, a_place_held_by_another_user);
	tcase_add_test(cases, another_user_is_not_answered);
	tcase_add_test(cases, another_user_is_not_asked);
	tcase_add_test(cases, users_do_not_share_groups);
	suite_add_tcase(suite, cases);
	return test_main(suite);
}
