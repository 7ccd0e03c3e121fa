/* shm_meetings.c - how processes find each other in shared memory: without polling, whichever comes first, whatever becomes of
 * those that come half way; and how one incarnation follows another.
 */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/shm_node.h"

#define A_WHILE 100 /* passes in which what should not happen does not */

/* ---- a newcomer calls --------------------------------------------------------------------------------------------- */

static int meet_and_leave(const char *group, uint32_t id)
{
	uint64_t start = test_now();
	struct node n;

	node_make(&n, group, id, 2);
	NODE_UNTIL(&n, n.met == 1);
	n.transport->ops->leave(n.transport);
	node_free(&n);
	return test_now() - start < WH_NS_PER_S ? 0 : 1; /* long before any node calls again */
}

static int meet_as_0(const char *group)
{
	return meet_and_leave(group, 0);
}

static int meet_as_1(const char *group)
{
	return meet_and_leave(group, 1);
}

/* The node that is there sleeps, and has nothing to do until another comes; whichever has the higher id. */
START_TEST(a_node_that_comes_wakes_the_one_that_is_there)
{
	char group[40];
	struct node n;
	pid_t child;

	node_make(&n, new_group(group), (uint32_t)_i, 2);
	n.transport->ops->service(n.transport); /* it calls, and no other is there */
	child = spawn(_i == 0 ? meet_as_1 : meet_as_0, group);
	for (int k = 0; k < 100 && n.left == 0; k++) {
		n.transport->ops->arm(n.transport);
		n.transport->ops->wait(n.transport, PATIENCE_NS);
		node_pass(&n);
	}
	ck_assert_uint_eq(n.met, 1);
	ck_assert_uint_eq(n.left, 1);
	ck_assert_int_eq(reap(child), 0);
	node_free(&n);
}
END_TEST

/* Of very many that are not there. (A node that looked for each of them every millisecond would use more than a hundredth of a
 * processor; a sanitizer's own thread and a slow machine use less.) */
START_TEST(waiting_for_others_costs_nothing)
{
	const uint64_t span = 5 * WH_NS_PER_S;
	uint64_t start, used, waits = 0;
	char group[40];
	struct node n;

	node_make(&n, new_group(group), 100, 256);
	ck_assert(n.transport->ops->searching(n.transport));
	n.transport->ops->service(n.transport);
	ck_assert(!n.transport->ops->searching(n.transport)); /* there is no other, which is known at once */
	used = test_cpu();
	for (start = test_now(); test_now() - start < span; waits++) {
		n.transport->ops->arm(n.transport);
		n.transport->ops->wait(n.transport, span);
		n.transport->ops->service(n.transport);
	}
	ck_assert_uint_lt(waits, 100);
	ck_assert_uint_lt(test_cpu() - used, span / 100);
	node_free(&n);
}
END_TEST

#define LISTENERS 60
#define CALLS_MAX 16 /* in one pass */

/* Each is called once, and then is not there any more. */
static uint32_t hear_calls(int listeners[LISTENERS])
{
	uint32_t calls = 0;

	for (uint32_t i = 0; i < LISTENERS; i++) {
		int s = listeners[i] >= 0 ? accept(listeners[i], NULL, NULL) : -1;

		if (s < 0)
			continue;
		calls++;
		close(s);
		close(listeners[i]);
		listeners[i] = -1;
	}
	return calls;
}

/* Nodes that come and do not call are called nevertheless, and no pass is long because of them. */
START_TEST(few_are_called_at_a_time)
{
	uint32_t calls = 0, together = 0;
	int listeners[LISTENERS];
	char group[40];
	struct node n;

	node_make(&n, new_group(group), 100, 256);
	n.transport->ops->service(n.transport); /* no other is there */
	for (uint32_t i = 0; i < LISTENERS; i++) {
		struct sockaddr_un name;
		socklen_t bytes;

		raw_name(group, i, &name, &bytes);
		listeners[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		ck_assert_int_eq(bind(listeners[i], (const struct sockaddr *)&name, bytes), 0);
		ck_assert_int_eq(listen(listeners[i], 1), 0);
	}
	for (uint64_t start = test_now(); calls < LISTENERS && test_now() - start < PATIENCE_NS; calls += together) {
		node_pass(&n);
		together = hear_calls(listeners);
		ck_assert_uint_le(together, CALLS_MAX);
	}
	ck_assert_uint_eq(calls, LISTENERS);
	node_free(&n);
}
END_TEST

static bool searching(const struct node *n)
{
	return n->transport->ops->searching(n->transport);
}

static void pass_for(struct node *n, uint64_t span)
{
	for (uint64_t start = test_now(); test_now() - start < span;)
		node_pass(n);
}

/* A node that does not look for longer than the search takes has not seen that no other is there. */
START_TEST(the_search_is_my_own)
{
	struct node n[2];

	nodes_make(n, 2);
	if (_i == 1)
		n[0].transport->ops->service(n[0].transport); /* it calls, and then looks no more */
	pass_for(&n[1], 3 * WH_NS_PER_S / 2);
	ck_assert(!searching(&n[1])); /* whatever others do */
	ck_assert(searching(&n[0]));
	NODE_UNTIL(&n[0], (node_pass(&n[1]), !searching(&n[0])));
	ck_assert_uint_eq(n[0].met, 1);
	node_free(&n[0]);
	node_free(&n[1]);
}
END_TEST

#define MANY 40

START_TEST(many_meet_at_once)
{
	struct node n[MANY];
	bool all = false;

	nodes_make(n, MANY);
	for (uint64_t start = test_now(); !all && test_now() - start < PATIENCE_NS;) {
		all = true;
		for (uint32_t id = 0; id < MANY; id++) {
			node_pass(&n[id]);
			all = all && n[id].met == MANY - 1;
		}
	}
	for (uint32_t id = 0; id < MANY; id++) {
		ck_assert_uint_eq(n[id].met, MANY - 1);
		ck_assert_uint_eq(n[id].left + n[id].down + n[id].refused, 0);
		ck_assert(!n[id].transport->ops->searching(n[id].transport));
	}
	for (uint32_t id = 0; id < MANY; id++)
		node_free(&n[id]);
}
END_TEST

/* ---- half way ----------------------------------------------------------------------------------------------------- */

/* It has said hello and been answered, and says no more; or goes, or is followed by another. None of that is an event. */
START_TEST(a_hello_alone_is_no_meeting)
{
	char group[40];
	struct node n, whole;
	struct raw r;
	int before;

	node_make(&n, new_group(group), 0, 2);
	before = count_fds();
	raw_connect(&r, group, 0, 1, 2);
	raw_say_hello_alone(&r);
	ck_assert_int_eq(raw_receive(&r, &n), WH_WIRE_DONE);
	ck_assert_int_eq(r.head.kind, WH_MESSAGE_HELLO);
	wh_shm_datagram_close_fds(&r.got);
	for (int k = 0; k < A_WHILE; k++)
		node_pass(&n);
	ck_assert_int_eq(n.transport->ops->control_send(n.transport, 1, "", 0), WHORL_MEMBER_GONE);
	if (_i == 0) {
		raw_close(&r);
		NODE_UNTIL(&n, count_fds() == before);
	} else if (_i == 1) {
		raw_connect(&r, group, 0, 1, 2); /* the same again */
		raw_say_hello(&r);
		NODE_UNTIL(&n, n.met == 1);
		raw_close(&r);
		NODE_UNTIL(&n, n.down == 1);
	}
	ck_assert_uint_eq(n.met + n.down, _i == 1 ? 2 : 0);
	node_make_again(&whole, group, 1, 2, 99);
	NODE_UNTIL(&n, (node_pass(&whole), n.last_met == 99 && whole.met == 1));
	ck_assert_uint_eq(n.left + n.refused, 0);
	node_free(&whole);
	node_free(&n);
}
END_TEST

/* A call of another life, which was long on its way, does not take the place of one that is answered: that life may have met this
 * node already. */
START_TEST(a_late_call_of_another_life)
{
	char group[40];
	struct raw answered, late;
	struct node n;

	node_make(&n, new_group(group), 0, 2);
	raw_connect(&answered, group, 0, 1, 2);
	raw_say_hello_alone(&answered);
	ck_assert_int_eq(raw_receive(&answered, &n), WH_WIRE_DONE);
	wh_shm_datagram_close_fds(&answered.got);
	raw_connect(&late, group, 0, 1, 2);
	late.hello.incarnation--;
	raw_say_hello(&late);
	ck_assert_int_eq(raw_receive(&late, &n), WH_WIRE_ENDED);
	ck_assert(raw_say(answered.socket, WH_MESSAGE_TAKEN, 0));
	NODE_UNTIL(&n, n.met == 1);
	ck_assert_uint_eq(n.down + n.refused, 0);
	raw_close(&late);
	raw_close(&answered);
	node_free(&n);
}
END_TEST

/* One that has room for its call, but none for what comes with the answer, calls until it has. */
static int be_short_of_fds(const char *group)
{
	struct rlimit usual;
	struct node n;

	node_make(&n, group, 1, 2);
	if (getrlimit(RLIMIT_NOFILE, &usual) != 0)
		return 1;
	allow_fds(1);
	for (int k = 0; k < A_WHILE; k++)
		node_pass(&n);
	if (n.met != 0 || n.refused != 0 || setrlimit(RLIMIT_NOFILE, &usual) != 0)
		return 2;
	NODE_UNTIL(&n, n.met == 1);
	n.transport->ops->leave(n.transport);
	node_free(&n);
	return 0;
}

START_TEST(a_meeting_that_fails_is_tried_again)
{
	char group[40];
	struct node n;
	pid_t child;

	node_make(&n, new_group(group), 0, 2);
	child = spawn(be_short_of_fds, group);
	NODE_UNTIL(&n, n.left == 1);
	ck_assert_int_eq(reap(child), 0);
	ck_assert_uint_eq(n.met, 1);
	ck_assert_uint_eq(n.down + n.refused, 0);
	node_free(&n);
}
END_TEST

/* A node that is met and then does nothing, not even read, holds no other up, nor does its death in that state. */
static int meet_and_stop(const char *group)
{
	struct node n;

	node_make(&n, group, 2, 3);
	NODE_UNTIL(&n, n.met == 2);
	raise(SIGSTOP);
	return 0;
}

START_TEST(one_that_stops_holds_up_nobody)
{
	struct wh_image *image[2];
	char group[40], bytes[1000] = "";
	struct node n[2];
	pid_t child;
	int status;

	node_make(&n[0], new_group(group), 0, 3);
	node_make(&n[1], group, 1, 3);
	child = spawn(meet_and_stop, group);
	NODE_UNTIL(&n[0], (node_pass(&n[1]), waitpid(child, &status, WUNTRACED | WNOHANG) == child));
	ck_assert(WIFSTOPPED(status));
	while (n[0].transport->ops->control_send(n[0].transport, 2, bytes, sizeof(bytes)) == WHORL_OK)
		;
	for (uint64_t key = 1; key <= 20; key++) { /* of all, in vain, and of those that can */
		struct wh_image *vain = node_open_of(&n[0], 2 * key, 7, ROW_BYTES);

		for (uint32_t id = 0; id < 2; id++)
			image[id] = node_open_of(&n[id], 2 * key + 1, 3, ROW_BYTES);
		NODE_UNTIL(&n[0], (node_pass(&n[1]), image[0]->ready && image[1]->ready));
		ck_assert(!vain->ready);
		image_close(vain);
		for (uint32_t id = 0; id < 2; id++)
			image_close(image[id]);
	}
	ck_assert_uint_eq(n[0].down + n[0].left + n[0].refused, 0);
	kill(child, SIGKILL);
	NODE_UNTIL(&n[0], (node_pass(&n[1]), n[0].down == 1 && n[1].down == 1));
	reap(child);
	node_free(&n[0]);
	node_free(&n[1]);
}
END_TEST

static int open_and_stop(const char *group)
{
	struct node n;

	node_make(&n, group, 2, 4);
	raise(SIGSTOP);
	return 0;
}

/* Which ids are held is known of what is met, of what is stopped before it has answered, of what was refused, and when it ends. */
START_TEST(the_holder_of_an_id_is_known)
{
	char group[40];
	struct node n[3];
	pid_t child;
	int status;

	node_make(&n[1], new_group(group), 1, 4);
	child = spawn(open_and_stop, group);
	NODE_UNTIL(&n[1], waitpid(child, &status, WUNTRACED | WNOHANG) == child);
	ck_assert(WIFSTOPPED(status));
	node_make(&n[0], group, 0, 4); /* it calls the one that is stopped */
	node_make(&n[2], group, 3, 5); /* of another group, by its number of nodes: it is refused */
	NODE_UNTIL(&n[0], (node_pass(&n[1]), node_pass(&n[2]), n[0].met == 1 && n[0].refused == 1));
	ck_assert_int_eq(n[0].transport->ops->holder(n[0].transport, 1), (int)getpid());
	ck_assert_int_eq(n[0].transport->ops->holder(n[0].transport, 2), (int)child);
	ck_assert_int_eq(n[0].transport->ops->holder(n[0].transport, 3), (int)getpid());
	node_free(&n[2]);
	kill(child, SIGKILL);
	reap(child);
	NODE_UNTIL(&n[0], (node_pass(&n[1]), n[0].transport->ops->holder(n[0].transport, 2) == 0));
	NODE_UNTIL(&n[0], (node_pass(&n[1]), n[0].transport->ops->holder(n[0].transport, 3) == 0));
	node_free(&n[1]);
	NODE_UNTIL(&n[0], n[0].transport->ops->holder(n[0].transport, 1) == 0);
	node_free(&n[0]);
}
END_TEST

/* A process that forks and ends: its child has its sockets, and neither answers nor is a node. */
static int fork_and_stay(const char *group)
{
	struct node n;

	setpgid(0, 0);
	node_make(&n, group, 1, 3);
	if (fork() == 0) {
		alarm(120); /* should the test fail */
		pause();
	}
	raise(SIGSTOP);
	return 0;
}

START_TEST(a_forked_child_holds_no_id)
{
	char group[40];
	struct node n;
	pid_t child = spawn(fork_and_stay, new_group(group));
	int status;

	ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
	ck_assert(WIFSTOPPED(status));
	node_make(&n, group, 0, 3);
	NODE_UNTIL(&n, n.transport->ops->holder(n.transport, 1) == (int)child);
	kill(child, SIGKILL);
	reap(child);
	ck_assert(lines_with("/proc/net/unix", group)); /* the name is taken still */
	NODE_UNTIL(&n, n.transport->ops->holder(n.transport, 1) == 0);
	node_free(&n);
	kill(-child, SIGKILL);
}
END_TEST

/* ---- refused ------------------------------------------------------------------------------------------------------ */

/* Once, and not again and again while both are there; and a node that comes in its place is judged for itself. */
START_TEST(a_refusal_is_told_once)
{
	const uint64_t long_enough = 5 * WH_NS_PER_S / 2;
	struct node n, other;
	char group[40];

	node_make(&n, new_group(group), (uint32_t)_i, 2);
	node_make(&other, group, 1 - (uint32_t)_i, 3);
	NODE_UNTIL(&n, (node_pass(&other), n.refused == 1 && other.refused == 1));
	for (uint64_t start = test_now(); test_now() - start < long_enough;) {
		node_pass(&n);
		node_pass(&other);
	}
	ck_assert_uint_eq(n.refused + other.refused, 2);
	ck_assert_uint_eq(n.met + other.met + n.down + other.down, 0);
	node_free(&other);
	node_make_again(&other, group, 1 - (uint32_t)_i, 2, 99);
	NODE_UNTIL(&n, (node_pass(&other), n.met == 1 && other.met == 1));
	ck_assert_uint_eq(n.last_met, 99);
	node_free(&other);
	node_free(&n);
}
END_TEST

/* A peer that has broken the protocol is still there, as the same incarnation: it is not met again, and nothing is told
 * of it any more. */
START_TEST(the_broken_are_not_met_again)
{
	const uint64_t long_enough = 5 * WH_NS_PER_S / 2;
	char group[40];
	struct node n[2];

	new_group(group);
	for (uint32_t id = 0; id < 2; id++)
		node_make(&n[id], group, id, 2);
	NODE_UNTIL(&n[0], (node_pass(&n[1]), n[0].met == 1 && n[1].met == 1));
	ck_assert(raw_send(wh_shm_peer_conn((struct wh_shm *)n[1].transport, 0)->socket, "garbage", 7, NULL, 0));
	NODE_UNTIL(&n[0], (node_pass(&n[1]), n[0].down == 1 && n[1].down == 1));
	for (uint64_t start = test_now(); test_now() - start < long_enough;)
		nodes_pass(n, 2);
	for (uint32_t id = 0; id < 2; id++) {
		ck_assert_uint_eq(n[id].met, 1);
		ck_assert_uint_eq(n[id].down, 1);
		ck_assert_uint_eq(n[id].left + n[id].refused, 0);
	}
	node_free(&n[0]);
	node_make_again(&n[0], group, 0, 2, 99);
	NODE_UNTIL(&n[0], (node_pass(&n[1]), n[0].met == 1 && n[1].met == 2));
	node_free(&n[0]);
	node_free(&n[1]);
}
END_TEST

/* ---- one after the other ------------------------------------------------------------------------------------------ */

/* The connection of the first has not ended, as a process holds it that has nothing to do with it. */
START_TEST(the_next_ends_the_one_before)
{
	char group[40];
	struct node n[2];
	pid_t child;

	new_group(group);
	for (uint32_t id = 0; id < 2; id++) {
		node_make(&n[id], group, id, 2);
		node_open(&n[id], ROW_BYTES);
	}
	NODE_UNTIL(&n[0], (node_pass(&n[1]), n[0].image->ready && n[1].image->ready));
	node_post_word(&n[1], 64, 5);
	ck_assert_int_eq(n[1].transport->ops->control_send(n[1].transport, 0, "last", 4), WHORL_OK);
	child = fork();
	if (child == 0) {
		close(((struct wh_shm *)n[1].transport)->wire.listener);
		for (;;)
			pause();
	}
	close(((struct wh_shm *)n[1].transport)->wire.listener);
	((struct wh_shm *)n[1].transport)->wire.listener = -1;
	n[1].transport->ops->destroy(n[1].transport, true); /* as a kill does */
	for (bool is_free = false; !is_free;) {             /* once the child has closed its copy */
		struct wh_error err;

		is_free = node_try(&n[1], group, 1, 2, WH_HUGE_OFF, &err) == WHORL_OK;
	}
	node_free(&n[1]);
	for (int k = 0; k < A_WHILE; k++)
		node_pass(&n[0]);
	ck_assert_uint_eq(n[0].down + n[0].left, 0);
	node_make_again(&n[1], group, 1, 2, 99);
	NODE_UNTIL(&n[0], (node_pass(&n[1]), n[0].met == 2 && n[1].met == 1));
	ck_assert_uint_eq(n[0].down, 1);
	ck_assert_uint_eq(n[0].controls, 1);
	ck_assert_uint_eq(n[0].last_met, 99);
	ck_assert_uint_eq(n[0].refused + n[0].left + n[1].refused, 0);
	ck_assert_uint_eq(node_column(&n[0], 1, 64), 5);
	kill(child, SIGKILL);
	reap(child);
	for (int k = 0; k < A_WHILE; k++)
		nodes_pass(n, 2);
	ck_assert_uint_eq(n[0].down + n[0].left + n[1].down + n[1].left, 1);
	node_free(&n[0]);
	node_free(&n[1]);
}
END_TEST

#define LAST_WORDS 12 /* more than are taken in at once */

/* The call of the next comes before all of them have been taken in. */
START_TEST(the_last_words_of_the_one_before)
{
	unsigned char word[WH_MESSAGE_MAX];
	struct node n, next;
	char group[40];
	struct raw r;

	node_make(&n, new_group(group), 0, 2);
	raw_be_met(&r, &n, group, 1);
	for (int k = 0; k < A_WHILE; k++) /* nothing is left to be heard: the call will be first */
		node_pass(&n);
	node_make_again(&next, group, 1, 2, 99);
	NODE_UNTIL(&next, wh_shm_peer_conn((struct wh_shm *)next.transport, 0) != NULL); /* it has called */
	for (int k = 0; k < LAST_WORDS; k++)
		ck_assert(raw_send(r.socket, word, wh_message_put_control(word, "last", 4), NULL, 0));
	NODE_UNTIL(&n, (node_pass(&next), n.last_met == 99));
	ck_assert_uint_eq(n.controls, LAST_WORDS);
	ck_assert_uint_eq(n.met, 2);
	ck_assert_uint_eq(n.down, 1);
	ck_assert_uint_eq(n.left + n.refused + next.refused, 0);
	raw_close(&r);
	node_free(&next);
	node_free(&n);
}
END_TEST

/* Again and again, in processes of their own, which are killed at any moment. */
static int come(const char *group)
{
	const struct wh_env *env = wh_env_system();
	struct node n;

	for (node_make_again(&n, group, 1, 2, env->random_u64(env->ctx) | 1); true; node_pass(&n))
		;
	return 0;
}

#define LIVES 30

START_TEST(the_killed_come_back)
{
	uint32_t met = 0;
	char group[40];
	struct node n;
	int before;

	node_make(&n, new_group(group), 0, 2);
	node_pass(&n);
	before = count_fds();
	for (int life = 0; life < LIVES; life++) {
		pid_t child = spawn(come, group);

		if (life % 3 == 0)
			for (int k = 0; k < life; k++)
				node_pass(&n);
		else
			NODE_UNTIL(&n, n.met > met);
		met = n.met;
		kill(child, SIGKILL);
		reap(child);
	}
	NODE_UNTIL(&n, n.down == n.met && count_fds() == before);
	ck_assert_uint_ge(n.met, LIVES * 2 / 3);
	ck_assert_uint_eq(n.left + n.refused, 0);
	node_free(&n);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shm and meetings");
	TCase *cases = tcase_create("meetings"), *calls = tcase_create("calls"), *lives = tcase_create("lives");

	tcase_set_timeout(cases, 60);
	tcase_set_timeout(lives, 60);
	tcase_add_loop_test(cases, a_node_that_comes_wakes_the_one_that_is_there, 0, 2);
	tcase_add_test(cases, waiting_for_others_costs_nothing);
	tcase_add_test(cases, few_are_called_at_a_time);
	tcase_add_loop_test(cases, the_search_is_my_own, 0, 2);
	tcase_add_test(cases, many_meet_at_once);
	tcase_add_loop_test(cases, a_hello_alone_is_no_meeting, 0, 3);
	tcase_add_test(calls, a_late_call_of_another_life);
	tcase_add_test(cases, a_meeting_that_fails_is_tried_again);
	tcase_add_test(cases, one_that_stops_holds_up_nobody);
	tcase_add_test(cases, the_holder_of_an_id_is_known);
	tcase_add_test(cases, a_forked_child_holds_no_id);
	tcase_add_loop_test(cases, a_refusal_is_told_once, 0, 2);
	tcase_add_test(cases, the_broken_are_not_met_again);
	tcase_add_test(lives, the_next_ends_the_one_before);
	tcase_add_test(lives, the_last_words_of_the_one_before);
	tcase_add_test(lives, the_killed_come_back);
	suite_add_tcase(suite, cases);
	suite_add_tcase(suite, calls);
	suite_add_tcase(suite, lives);
	return test_main(suite);
}
