/* test_delegate_killed.c - trustees in other processes that are killed, or stopped.
 * Labels: threads
 */
#include <signal.h>
#include <sys/wait.h>

#include "tests/unit/remote_lab.h"

static const char *const transports[] = {"shm", "tcp"};

WHORL_FUNCTION(counter_never, struct counter, struct whorl_none, uint64_t, WHORL_BLOCKS)
{
	for (;;)
		pause();
}

/* Node 1, a process of its own, until it is killed. Never returns. */
static void be_other(struct lab *lab)
{
	const struct whorl_work_options options = {.size = sizeof(options), .workers = 1, WHORL_FUNCTIONS_LINKED};

	if (whorl_open(lab->config, 1, NULL, &lab->nodes[1]) != WHORL_OK || whorl_start(lab->nodes[1]) != WHORL_OK ||
	    whorl_work_open(lab->nodes[1], &options, &lab->works[1]) != WHORL_OK)
		_exit(1);
	for (;;)
		pause();
}

static pid_t open_two(struct lab *lab, const char *transport)
{
	const struct whorl_work_options options = {.size = sizeof(options), .workers = 1, WHORL_FUNCTIONS_LINKED};
	pid_t child;

	lab_configure(lab, 2, transport);
	child = fork(); /* before there is a thread */
	ck_assert_int_ge(child, 0);
	if (child == 0)
		be_other(lab);
	lab_open_node(lab, 0);
	lab_open_work(lab, 0, &options);
	return child;
}

static void end_child(pid_t child)
{
	int status;

	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
}

static void note_end(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	enum whorl_result *end = ctx;

	(void)answer;
	(void)bytes;
	*end = result;
}

/* What was sent is in doubt, and what comes later finds nothing. */
START_TEST(it_is_killed)
{
	struct lab lab;
	pid_t child = open_two(&lab, transports[_i]);
	struct whorl_trust trust = lab_counter(&lab, 0, 1, 0, 5), here = entrust_counter(lab.works[0], 0, 1);
	enum whorl_result end = WHORL_OK, late;
	uint64_t n;

	ck_assert_uint_eq(value_of(&trust), 5);
	ck_ok(whorl_apply_then(&trust, counter_never, NULL, note_end, &end));
	late = whorl_apply(&trust, counter_get, NULL, &n, 20); /* or the worker here has not taken it by then */
	ck_assert(late == WHORL_IN_DOUBT || late == WHORL_TIMEOUT);
	end_child(child);
	await(end != WHORL_OK, (void)whorl_poll(lab.works[0], 10));
	ck_assert_int_eq(end, WHORL_IN_DOUBT);
	await(whorl_apply(&trust, counter_get, NULL, &n, 100) == WHORL_GONE, sched_yield());
	ck_ok(whorl_trust_drop(&trust));
	ck_assert_uint_eq(value_of(&here), 1);
	ck_ok(whorl_trust_drop(&here));
	lab_close(&lab);
}
END_TEST

/* A process that stands still: time runs out, in doubt; when it goes on, all that was sent runs, once. */
START_TEST(it_stands_still)
{
	struct lab lab;
	pid_t child = open_two(&lab, transports[_i]);
	struct whorl_trust trust = lab_counter(&lab, 0, 1, 0, 0);
	uint64_t n = 0, sent = 0;
	int status;

	ck_assert_uint_eq(value_of(&trust), 0);
	kill(child, SIGSTOP);
	ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
	for (int i = 0; i < 5; i++) {
		enum whorl_result result = whorl_apply(&trust, counter_add, &(struct add){1}, &n, 20);

		ck_assert_msg(result == WHORL_IN_DOUBT || result == WHORL_TIMEOUT, "%s", whorl_result_text(result));
		sent += result == WHORL_IN_DOUBT;
	}
	ck_assert_uint_ge(sent, 1);
	kill(child, SIGCONT);
	ck_assert_uint_eq(value_of(&trust), sent);
	ck_ok(whorl_trust_drop(&trust));
	end_child(child);
	lab_close(&lab);
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("delegate_killed");
	TCase *tcase = tcase_create("killed");

	tcase_add_loop_test(tcase, it_is_killed, 0, 2);
	tcase_add_loop_test(tcase, it_stands_still, 0, 2);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return test_main(suite());
}
