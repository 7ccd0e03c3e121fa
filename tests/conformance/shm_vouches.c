/* shm_vouches.c - the mark that a process leaves when it is killed (transport/shm/vouch.c): which threads leave it, which do not, and what a peer makes
 * of it. It is no proof: nodes here have none, but where it says so. */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/shm_node.h"

#define NO_PROOF (WH_SHM_LACKS_PEERPIDFD | WH_SHM_LACKS_PIDFD_OPEN)
#define A_WHILE 1000 /* passes: a tenth of a second, or more */
#define WORDS 20

static struct wh_shm *shm_of(const struct node *n)
{
	return (struct wh_shm *)n->transport;
}

static void vouch(const struct node *n, bool on)
{
	n->transport->ops->vouch(n->transport, on);
}

static bool is_marked(const struct node *n)
{
	return wh_shm_is_forsaken(shm_of(n)->status);
}

static bool is_held(const struct node *n) /* by some thread, that may have ended */
{
	const struct wh_shm_status *status = shm_of(n)->status;
	uint64_t at = wh_load_relaxed(&status->word_at);

	return at != 0 && wh_load_acquire_32((const unsigned char *)status + at) != 0;
}

/* A whole pass: the mark is looked at, then all else. */
static void whole_pass(struct node *n)
{
	n->transport->ops->take(n->transport);
	node_pass(n);
}

static void pass_a_while(struct node *n)
{
	for (int k = 0; k < A_WHILE; k++)
		whole_pass(n);
}

static bool comes(struct node *n, const uint32_t *count)
{
	uint64_t deadline = test_now() + PATIENCE_NS;

	while (*count == 0 && test_now() < deadline)
		whole_pass(n);
	return *count == 1;
}

/* ---- in one process ------------------------------------------------------------------------------------------------- */

static void *vouch_and_end(void *ctx)
{
	vouch(ctx, true);
	return NULL;
}

static void *vouch_and_take_back(void *ctx)
{
	vouch(ctx, true);
	vouch(ctx, false);
	return NULL;
}

static void *take_back(void *ctx)
{
	vouch(ctx, false);
	return NULL;
}

static void in_a_thread(void *(*fn)(void *), struct node *n)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, fn, n), 0);
	pthread_join(thread, NULL);
}

/* pthread_join returns behind the mark: the kernel says that a thread has ended later than that. */
START_TEST(a_thread_that_ends_leaves_it)
{
	char group[40];
	struct node n;

	node_make(&n, new_group(group), 0, 2);
	ck_assert(!is_marked(&n));
	for (int k = 0; k < 3; k++) {
		in_a_thread(vouch_and_take_back, &n);
		ck_assert(!is_marked(&n) && !is_held(&n));
		in_a_thread(vouch_and_end, &n);
		ck_assert(is_marked(&n));
		vouch(&n, true); /* another goes on in its place */
		ck_assert(!is_marked(&n) && is_held(&n));
		in_a_thread(take_back, &n); /* it is not its to take back */
		in_a_thread(vouch_and_end, &n);
		ck_assert(!is_marked(&n) && is_held(&n));
		vouch(&n, false);
		ck_assert(!is_held(&n));
	}
	node_free(&n);
}
END_TEST

/* A child of a fork takes nothing back, and leaves nothing. */
START_TEST(a_fork_does_not)
{
	char group[40];
	struct node n;
	pid_t child;

	node_make(&n, new_group(group), 0, 2);
	vouch(&n, true);
	child = fork();
	if (child == 0) {
		vouch(&n, false);
		raise(SIGKILL);
	}
	(void)reap(child);
	ck_assert(!is_marked(&n) && is_held(&n));
	vouch(&n, false);
	node_free(&n);
}
END_TEST

/* What another process says of itself is read within its page. */
START_TEST(a_page_that_lies)
{
	static const uint64_t places[] = {0, 1, 2, WH_SHM_STATUS_BYTES - 2, WH_SHM_STATUS_BYTES, UINT64_MAX - 3};
	static _Alignas(WH_SHM_STATUS_BYTES) unsigned char page[2 * WH_SHM_STATUS_BYTES];
	struct wh_shm_status *status = (struct wh_shm_status *)(void *)page;

	memset(page, 0xff, sizeof(page));
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		wh_store_relaxed(&status->word_at, places[i]);
		ck_assert(!wh_shm_is_forsaken(status));
	}
	wh_store_relaxed(&status->word_at, WH_SHM_STATUS_BYTES - 4);
	ck_assert(wh_shm_is_forsaken(status));
}
END_TEST

/* ---- between processes ---------------------------------------------------------------------------------------------- */

static void meet_1(struct node *n, const char *group, uint32_t lacks)
{
	node_make(n, group, 0, 2);
	shm_of(n)->wire.lacks = lacks;
	node_open(n, ROW_BYTES);
	NODE_UNTIL(n, n->image->ready && node_column(n, 1, 64) != 0);
}

static void be_1(struct node *n, const char *group)
{
	node_make(n, group, 1, 2);
	node_open(n, ROW_BYTES);
	NODE_UNTIL(n, n->image->ready);
}

/* A child of it has its connection, which has no end. Node 0 is told of that child. */
static int vouch_speak_and_fork(const char *group)
{
	struct node n;
	pid_t child;

	be_1(&n, group);
	vouch(&n, true);
	for (uint64_t k = 0; k < WORDS; k++)
		ck_assert_int_eq(n.transport->ops->control_send(n.transport, 0, &k, sizeof(k)), WHORL_OK);
	child = fork();
	if (child == 0) {
		(void)setpgid(0, 0);
		return stay();
	}
	node_post_word(&n, 64, (uint64_t)child);
	return stay();
}

/* The mark alone tells, and what was sent comes first. */
START_TEST(killed)
{
	char group[40];
	struct node n;
	pid_t child = spawn_here(vouch_speak_and_fork, new_group(group)), grandchild;

	meet_1(&n, group, _i == 0 ? NO_PROOF : 0);
	grandchild = (pid_t)node_column(&n, 1, 64);
	pass_a_while(&n);
	ck_assert_uint_eq(n.down + n.dead, 0);
	kill(child, SIGKILL);
	(void)reap(child);
	ck_assert(comes(&n, &n.down));
	ck_assert_uint_eq(n.controls, WORDS);
	if (_i == 1)
		ck_assert(comes(&n, &n.dead));
	pass_a_while(&n);
	ck_assert_uint_eq(n.dead, (uint32_t)_i);
	ck_assert_uint_eq(n.down, 1);
	ck_assert_int_eq(kill(grandchild, SIGKILL), 0);
	node_free(&n);
}
END_TEST

/* Words that had not been read when it was killed are read first too. */
START_TEST(killed_before_it_was_heard)
{
	char group[40];
	struct node n;
	pid_t child = spawn_here(vouch_speak_and_fork, new_group(group)), grandchild;

	node_make(&n, group, 0, 2);
	shm_of(&n)->wire.lacks = NO_PROOF;
	node_open(&n, ROW_BYTES);
	NODE_UNTIL(&n, n.image->ready);
	for (uint64_t k = 0; node_column(&n, 1, 64) == 0 && k < 20000; k++)
		usleep(1000);
	grandchild = (pid_t)node_column(&n, 1, 64);
	ck_assert_int_gt(grandchild, 0);
	kill(child, SIGKILL);
	(void)reap(child);
	ck_assert(comes(&n, &n.down));
	ck_assert_uint_eq(n.controls, WORDS);
	kill(grandchild, SIGKILL);
	node_free(&n);
}
END_TEST

static int vouch_in_a_thread_and_stay(const char *group)
{
	struct node n;

	be_1(&n, group);
	node_post_word(&n, 64, 1);
	NODE_UNTIL(&n, node_column(&n, 0, 64) == 1);
	in_a_thread(vouch_and_end, &n);
	return stay();
}

/* It lives, and has a thread less: that is a suspicion, and stays one. */
START_TEST(a_thread_alone_has_ended)
{
	char group[40];
	struct node n;
	pid_t child = spawn_here(vouch_in_a_thread_and_stay, new_group(group));

	meet_1(&n, group, 0);
	node_post_word(&n, 64, 1);
	ck_assert(comes(&n, &n.down));
	pass_a_while(&n);
	ck_assert_uint_eq(n.dead, 0);
	kill(child, SIGKILL);
	(void)reap(child);
	ck_assert(comes(&n, &n.dead));
	node_free(&n);
}
END_TEST

static int leave_and_be_killed(const char *group)
{
	struct node n;

	be_1(&n, group);
	vouch(&n, true);
	node_post_word(&n, 64, 1);
	NODE_UNTIL(&n, node_column(&n, 0, 64) == 1);
	n.transport->ops->leave(n.transport);
	return raise(SIGKILL);
}

/* It has left in order, and did not end in order. */
START_TEST(left_and_was_killed)
{
	char group[40];
	struct node n;
	pid_t child = spawn_here(leave_and_be_killed, new_group(group));

	meet_1(&n, group, NO_PROOF);
	node_post_word(&n, 64, 1);
	(void)reap(child);
	ck_assert(comes(&n, &n.left));
	pass_a_while(&n);
	ck_assert_uint_eq(n.down + n.dead, 0);
	node_free(&n);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shm and who vouches");
	TCase *cases = tcase_create("marks"), *lies = tcase_create("pages");

	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, a_thread_that_ends_leaves_it);
	tcase_add_test(cases, a_fork_does_not);
	tcase_add_loop_test(cases, killed, 0, 2);
	tcase_add_test(cases, killed_before_it_was_heard);
	tcase_add_test(cases, a_thread_alone_has_ended);
	tcase_add_test(cases, left_and_was_killed);
	tcase_add_test(lies, a_page_that_lies);
	suite_add_tcase(suite, cases);
	suite_add_tcase(suite, lies);
	return test_main(suite);
}
