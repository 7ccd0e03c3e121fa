/* Visitors of the RDMA transport, which come by TCP: the loop sleeps when nothing is to be done for them. */
#include <arpa/inet.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness.h"
#include "transport/verbs/verbs_int.h"

#define WAIT_MS 2000
#define SHORT_MS 5

/* A node that only listens for visitors. */
static struct wh_verbs *node_make(void)
{
	const struct wh_transport_config config = {.env = wh_env_system(), .nodes = 2};
	const struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct wh_verbs *t = calloc(1, sizeof(*t) + 2 * sizeof(t->peers[0]));

	t->env = config.env;
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	wh_dial_init(&t->redial, &config);
	ck_assert(wh_dial_open(&t->redial));
	wh_event_queue_init(&t->event_queue, &config, "verbs", t->events, WH_VERBS_EVENTS, WH_VERBS_EVENTS_AT_ONCE);
	for (uint32_t i = 0; i < WH_VERBS_STRANGERS; i++)
		t->strangers[i].socket = -1;
	ck_assert_int_eq(wh_verbs_query_open(t, (const struct sockaddr *)&any, sizeof(any), NULL), WHORL_OK);
	return t;
}

static void node_free(struct wh_verbs *t)
{
	wh_verbs_query_close(t);
	close(t->redial.timer);
	close(t->epoll);
	free(t);
}

static int begin_query(const struct wh_verbs *t)
{
	struct sockaddr_in at;
	socklen_t bytes = sizeof(at);
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(getsockname(t->query_listener, (struct sockaddr *)&at, &bytes), 0);
	ck_assert_int_eq(connect(s, (struct sockaddr *)&at, bytes), 0);
	return s;
}

/* Does something come within that time that the loop is woken for? Then it is done. */
static bool serve(struct wh_verbs *t, int timeout_ms)
{
	struct epoll_event event;

	if (epoll_wait(t->epoll, &event, 1, timeout_ms) == 0)
		return false;
	if (event.data.u64 >> 32 == WH_VERBS_LISTENER)
		wh_verbs_query_accept(t);
	else
		wh_verbs_query_on_message(t, (uint32_t)event.data.u64);
	return true;
}

/* The child has all that its parent has open, and keeps it so. */
static pid_t fork_sleeper(void)
{
	pid_t child = fork();

	if (child == 0)
		for (;;)
			pause();
	ck_assert_int_gt(child, 0);
	return child;
}

static void end_sleeper(pid_t child)
{
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
}

START_TEST(a_forked_child_keeps_no_query)
{
	struct wh_verbs *t = node_make();
	int query = begin_query(t);
	pid_t child;

	ck_assert(serve(t, WAIT_MS));
	ck_assert(!serve(t, SHORT_MS));
	child = fork_sleeper();
	ck_assert_int_eq(shutdown(query, SHUT_RDWR), 0); /* the child has this one as well */
	ck_assert(serve(t, WAIT_MS));                    /* it is hung up */
	ck_assert_int_eq(t->strangers[0].socket, -1);
	ck_assert(!serve(t, SHORT_MS));
	end_sleeper(child);
	close(query);
	node_free(t);
}
END_TEST

/* A visitor that cannot be let in for want of descriptors costs a look now and then, and comes in when there are some. */
START_TEST(the_listener_rests_without_descriptors)
{
	struct wh_verbs *t = node_make();
	int query = begin_query(t);
	struct rlimit had, none;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &had), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = had.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ck_assert(serve(t, WAIT_MS));
	ck_assert(!serve(t, SHORT_MS));
	wh_verbs_query_tick(t, wh_env_now(t->env));
	ck_assert(serve(t, WAIT_MS));
	ck_assert(!serve(t, SHORT_MS));
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &had), 0);
	wh_verbs_query_tick(t, wh_env_now(t->env));
	ck_assert(serve(t, WAIT_MS));
	ck_assert_int_ge(t->strangers[0].socket, 0);
	close(query);
	node_free(t);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verbs_visit");
	TCase *cases = tcase_create("query");

	tcase_add_test(cases, a_forked_child_keeps_no_query);
	tcase_add_test(cases, the_listener_rests_without_descriptors);
	suite_add_tcase(suite, cases);
	return test_main(suite);
}
