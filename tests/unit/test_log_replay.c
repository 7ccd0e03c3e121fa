/* test_log_replay.c - a log that is read again while it is written: the logs of a node in a directory of their own, and their job, which the test
 * calls.
 */
#include <stdlib.h>

#include "group/logs/logs.h"
#include "tests/harness.h"
#include "tests/support/saved.h"
#include "tests/temporary.h"

#define SUBGROUP 7
#define KEY(view) (UINT64_C(100) + (view))

struct wh_background {
	bool (*work)(void *argument);
	void *argument;
};

static struct lab {
	char directory[TEST_PATH_BYTES];
	struct wh_env env;
	struct wh_background task;
	struct wh_logs *logs;
	uint64_t begins; /* the view that begins, and is read up to, when the job says next that it has done something; 0: none */
	struct wh_replay *replay;
} lab;

static enum whorl_result begin_task(void *ctx, struct wh_background **out, const char *name,
				    bool (*work)(void *argument), void *argument, struct wh_error *err)
{
	(void)ctx;
	(void)name;
	(void)err;
	lab.task = (struct wh_background){work, argument};
	*out = &lab.task;
	return WHORL_OK;
}

static void wake_task(void *ctx, struct wh_background *task)
{
	(void)ctx;
	(void)task;
}

static void call_again(void *ctx, struct wh_background *task, uint64_t ns)
{
	(void)ctx;
	(void)task;
	(void)ns;
}

static bool end_task(void *ctx, struct wh_background *task, uint64_t timeout_ns)
{
	(void)ctx;
	(void)task;
	(void)timeout_ns;
	return true;
}

static void work(void)
{
	while (lab.task.work(lab.task.argument))
		continue;
}

static void begin_view(uint64_t view)
{
	const struct wh_log_source_config config = {
		.name = "topic", .subgroup = SUBGROUP, .view = view, .key = KEY(view), .log_bytes = 1 << 20};
	const struct wh_log_entry_at at = {.cut = 0};

	ck_assert(wh_logs_mark(lab.logs, &config, &at));
}

/* Of the log, to the beginning of that view. */
static void read_to(uint64_t view)
{
	static const struct wh_past_views none;
	const struct wh_log_place until = {KEY(view), view, 0};
	struct wh_error err;

	ck_assert_int_eq(wh_replay_create(&lab.replay, lab.logs, SUBGROUP, 0, &until, NULL, NULL, &none, &err),
			 WHORL_OK);
}

static void do_what_the_loop_does(void *ctx)
{
	uint64_t view = lab.begins;

	(void)ctx;
	lab.begins = 0;
	if (view == 0)
		return;
	begin_view(view);
	read_to(view);
}

static enum wh_replay_is look(void)
{
	const struct whorl_message *messages;
	struct wh_error err;
	size_t count;
	enum wh_replay_is is = wh_replay_look(lab.replay, &messages, &count, &err);

	ck_assert_msg(is != WH_REPLAY_FAILED, "%s", err.text);
	return is;
}

static void open_logs(void)
{
	struct wh_logs_config config = {.env = &lab.env,
					.path = lab.directory,
					.group = "test",
					.timeout_ns = 60 * WH_NS_PER_S,
					.wake = do_what_the_loop_does};
	struct wh_error err;

	ck_assert_ptr_nonnull(mkdtemp(test_temporary(lab.directory, "replay")));
	lab.env = *wh_env_system();
	lab.env.background = begin_task;
	lab.env.background_wake = wake_task;
	lab.env.background_again = call_again;
	lab.env.background_end = end_task;
	ck_assert_msg(wh_logs_open(&lab.logs, &config, &err) == WHORL_OK, "%s", err.text);
}

static void close_logs(void)
{
	lab.begins = 0;
	wh_logs_close(lab.logs, false);
	remove_directory(lab.directory);
}

TEST_CASE("replay");

/* The log, too, comes to be by what waits for the disk. */
TEST(a_log_is_not_read_before_it_is_there)
{
	open_logs();
	begin_view(1);
	read_to(1);
	ck_assert_int_eq(look(), WH_REPLAY_WAITS);
	work();
	ck_assert_int_eq(look(), WH_REPLAY_ENDED);
	wh_replay_free(lab.replay);
	close_logs();
}

/* The loop begins a view, and lets a newcomer read up to there, just when the job has no order any more and goes on to what is to be read. */
TEST(a_log_is_not_read_before_the_view_has_begun_in_it)
{
	struct wh_replay *first;

	open_logs();
	begin_view(1);
	work();
	read_to(1);
	first = lab.replay;
	lab.begins = 2;
	work();
	ck_assert_ptr_ne(lab.replay, first);
	ck_assert_int_eq(look(), WH_REPLAY_ENDED);
	wh_replay_free(first);
	wh_replay_free(lab.replay);
	close_logs();
}

TEST_SUITE("log_replay")
