/* test_base.c - errors, checks with their event ring, the environment of the real machine, counters. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/counter.h"
#include "base/error.h"
#include "base/text.h"
#include "tests/harness.h"

/* ---- errors ---------------------------------------------------------------------------------------------------------*/

TEST_CASE("error");

TEST(error_set_keeps_code_and_text)
{
	struct wh_error err;

	ck_assert_int_eq(wh_error_set(&err, WHORL_REFUSED, "peer %d of %s", 3, "demo"), WHORL_REFUSED);
	ck_assert_int_eq(err.code, WHORL_REFUSED);
	ck_assert_str_eq(err.text, "peer 3 of demo");

	wh_error_clear(&err);
	ck_assert_int_eq(err.code, WHORL_OK);
	ck_assert_str_eq(err.text, "");
}

TEST(error_may_be_null)
{
	ck_assert_int_eq(wh_error_set(NULL, WHORL_MEMORY, "%s", "x"), WHORL_MEMORY);
	ck_assert_int_eq(wh_error_system(NULL, ENOENT, "%s", "x"), WHORL_SYSTEM);
}

TEST(error_system_names_the_errno)
{
	struct wh_error err;

	ck_assert_int_eq(wh_error_system(&err, ENOENT, "open %s", "a.ini"), WHORL_SYSTEM);
	ck_assert_int_eq(err.code, WHORL_SYSTEM);
	ck_assert_str_eq(err.text, "open a.ini: No such file or directory");
}

TEST(error_prefix_stands_before)
{
	struct wh_error err;

	wh_error_set(&err, WHORL_CONFIG, "is \"x\"");
	ck_assert_int_eq(wh_error_prefix(&err, "%s.%s", "group", "nodes"), WHORL_CONFIG);
	ck_assert_str_eq(err.text, "group.nodes: is \"x\"");
	wh_error_prefix(&err, "a.ini:7");
	ck_assert_str_eq(err.text, "a.ini:7: group.nodes: is \"x\"");
}

/* The new text is made from the old one. */
TEST(error_text_may_be_its_own_argument)
{
	struct wh_error err;

	wh_error_set(&err, WHORL_SYSTEM, "inner");
	wh_error_set(&err, WHORL_REFUSED, "outer (%s)", err.text);
	ck_assert_str_eq(err.text, "outer (inner)");
	wh_error_prefix(&err, "again %s", err.text);
	ck_assert_str_eq(err.text, "again outer (inner): outer (inner)");
	wh_error_system(&err, ENOENT, "%.5s", err.text);
	ck_assert_str_eq(err.text, "again: No such file or directory");
}

TEST(error_text_too_long_is_cut)
{
	char text[2000];
	struct wh_error err;

	memset(text, 'x', sizeof(text));
	text[sizeof(err.text) - 1] = '\0'; /* just fits */
	wh_error_set(&err, WHORL_SYSTEM, "%s", text);
	ck_assert_str_eq(err.text, text);

	text[sizeof(err.text) - 1] = 'x'; /* one more does not */
	text[sizeof(err.text)] = '\0';
	wh_error_set(&err, WHORL_SYSTEM, "%s", text);
	ck_assert_uint_eq(strlen(err.text), sizeof(err.text) - 1);
	ck_assert_str_eq(err.text + sizeof(err.text) - 5, "x...");

	wh_error_system(&err, ENOENT, "%s", text);
	ck_assert_uint_eq(strlen(err.text), sizeof(err.text) - 1);
	ck_assert_str_eq(err.text + sizeof(err.text) - 5, "x...");

	wh_error_set(&err, WHORL_SYSTEM, "%s", text);
	wh_error_prefix(&err, "prefix");
	ck_assert_uint_eq(strlen(err.text), sizeof(err.text) - 1);
	ck_assert_mem_eq(err.text, "prefix: xx", 10);
	ck_assert_str_eq(err.text + sizeof(err.text) - 5, "x...");
}

TEST(texts_grow_until_they_are_full)
{
	char ids[12] = "", little[3] = "ab";

	for (uint32_t id = 0; id < 5; id++)
		wh_text_add_id(ids, sizeof(ids), ", ", 4 * id);
	ck_assert_str_eq(ids, "0, 4, 8,...");
	wh_text_add(ids, sizeof(ids), "%s", "more");
	ck_assert_str_eq(ids, "0, 4, 8,...");
	wh_text_add(ids, sizeof(ids), "%s", "");
	ck_assert_str_eq(ids, "0, 4, 8,...");
	ids[6] = '\0';
	wh_text_add(ids, sizeof(ids), "%u+%c", 12, 'x'); /* "0, 4, 12+x" */
	ck_assert_str_eq(ids, "0, 4, 12+x");
	wh_text_add(little, sizeof(little), "c");
	ck_assert_str_eq(little, "ab");
}

TEST(every_result_has_its_text)
{
#define CHECK_TEXT(name, value, text)                                                                                  \
	ck_assert_int_eq(WHORL_##name, value);                                                                         \
	ck_assert_str_eq(wh_result_text(WHORL_##name), text);
	WHORL_RESULTS(CHECK_TEXT)
#undef CHECK_TEXT
	ck_assert_str_eq(wh_result_text((enum whorl_result)12345), "unknown result");
	ck_assert_str_eq(wh_result_text((enum whorl_result) - 1), "unknown result");
}

static void check_quote(const char *text, const char *expected)
{
	char quoted[128];
	const char *ellipsis;
	int bytes = wh_error_quote(text, strlen(text), &ellipsis);

	snprintf(quoted, sizeof(quoted), "%.*s%s", bytes, text, ellipsis);
	ck_assert_str_eq(quoted, expected);
}

#define X58 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

TEST(quote_cuts_between_characters)
{
	check_quote("", "");
	check_quote("short", "short");
	check_quote(X58 "yz", X58 "yz");
	check_quote(X58 "yzq", X58 "yz...");
	check_quote(X58 "y\xc3\xa4", X58 "y...");        /* two bytes from 59 to 60 */
	check_quote(X58 "\xc3\xa4z", X58 "\xc3\xa4..."); /* two bytes from 58 to 59 */
	check_quote(X58 "\xe2\x82\xac", X58 "...");      /* three bytes from 58 to 60 */
	check_quote(X58 "\xf0\x9f\x8c\x80"
			"abc",
		    X58 "..."); /* four bytes from 58 to 61 */
}

/* ---- checks ---------------------------------------------------------------------------------------------------------*/

struct recorder {
	char first[2048], last[2048];
	char second[2048], third[2048];
	size_t lines, fatals;
	enum wh_log_level level;
	char fatal[512];
};

static void record_line(void *ctx, enum wh_log_level level, const char *line)
{
	struct recorder *recorder = ctx;
	char *copies[] = {recorder->first, recorder->second, recorder->third};

	if (recorder->lines < 3)
		snprintf(copies[recorder->lines], sizeof(recorder->first), "%s", line);
	snprintf(recorder->last, sizeof(recorder->last), "%s", line);
	recorder->lines++;
	recorder->level = level;
}

static void record_fatal(void *ctx, const char *what)
{
	struct recorder *recorder = ctx;

	recorder->fatals++;
	snprintf(recorder->fatal, sizeof(recorder->fatal), "%s", what);
}

static struct wh_env recording_env(struct recorder *recorder)
{
	*recorder = (struct recorder){0};
	return (struct wh_env){.ctx = recorder, .log = record_line, .fatal = record_fatal};
}

TEST_CASE("check");

TEST(log_names_the_node)
{
	static struct recorder recorder;
	struct wh_env env = recording_env(&recorder);
	static struct wh_diag diag;

	wh_diag_init(&diag, &env, 7);
	wh_log(&diag, WH_LOG_WARNING, "peer %d is %s", 3, "late");
	ck_assert_uint_eq(recorder.lines, 1);
	ck_assert_str_eq(recorder.first, "node 7: peer 3 is late");
	ck_assert_int_eq(recorder.level, WH_LOG_WARNING);
}

TEST(log_line_too_long_is_cut)
{
	static struct recorder recorder;
	struct wh_env env = recording_env(&recorder);
	static struct wh_diag diag;
	char text[1900];
	struct wh_error err;

	wh_diag_init(&diag, &env, 0);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	wh_log(&diag, WH_LOG_ERROR, "%s", text);
	ck_assert_mem_eq(recorder.first, "node 0: xxx", 11);
	ck_assert_str_eq(recorder.first + strlen(recorder.first) - 4, "x...");

	wh_error_set(&err, WHORL_SYSTEM, "%.*s", (int)sizeof(err.text) - 1, text);
	wh_log(&diag, WH_LOG_ERROR, "opening: %s", err.text);
	ck_assert_uint_eq(strlen(recorder.last), strlen("node 0: opening: ") + sizeof(err.text) - 1);
}

TEST(failed_check_says_where_dumps_and_is_fatal)
{
	static struct recorder recorder;
	struct wh_env env = recording_env(&recorder);
	static struct wh_diag diag;
	char expected[128];
	int went_on = 0, line;

	wh_diag_init(&diag, &env, 2);
	diag.step = 11;
	wh_event(&diag, "push", 1, 2, 3);
	diag.step = 12;
	wh_event(&diag, "receive", 4, 5, UINT64_MAX);

	WH_CHECK(&diag, 1 + 1 == 2);
	ck_assert_uint_eq(recorder.lines, 0);
	line = __LINE__ + 1;
	WH_CHECK(&diag, went_on == 1);
	went_on = 1; /* in simulation fatal returns, and so does the check */

	snprintf(expected, sizeof(expected), "%s:%d: check failed: went_on == 1", __FILE__, line);
	ck_assert_uint_eq(recorder.fatals, 1);
	ck_assert_str_eq(recorder.fatal, expected);
	snprintf(expected, sizeof(expected), "node 2: %s:%d: check failed: went_on == 1", __FILE__, line);
	ck_assert_str_eq(recorder.first, expected);
	ck_assert_str_eq(recorder.second, "node 2: step 12, the last 2 of 2 events:");
	ck_assert_str_eq(recorder.third, "node 2:   step 11 push 1 2 3");
	ck_assert_str_eq(recorder.last, "node 2:   step 12 receive 4 5 18446744073709551615");
	ck_assert_uint_eq(recorder.lines, 4);
	ck_assert_int_eq(recorder.level, WH_LOG_ERROR);
}

TEST(ring_keeps_the_last_events)
{
	static struct recorder recorder;
	struct wh_env env = recording_env(&recorder);
	static struct wh_diag diag;
	char expected[64];

	wh_diag_init(&diag, &env, 0);
	wh_diag_dump(&diag);
	ck_assert_uint_eq(recorder.lines, 1);
	ck_assert_str_eq(recorder.first, "node 0: step 0, the last 0 of 0 events:");

	recorder.lines = 0;
	for (uint64_t i = 0; i < WH_EVENT_COUNT + 3; i++)
		wh_event(&diag, "event", i, 0, 0);
	wh_diag_dump(&diag);
	ck_assert_uint_eq(recorder.lines, WH_EVENT_COUNT + 1);
	ck_assert_str_eq(recorder.second, "node 0:   step 0 event 3 0 0");
	snprintf(expected, sizeof(expected), "node 0:   step 0 event %d 0 0", WH_EVENT_COUNT + 2);
	ck_assert_str_eq(recorder.last, expected);
}

/* ---- environment ----------------------------------------------------------------------------------------------------*/

TEST_CASE("env");

TEST(clock_never_goes_back)
{
	const struct wh_env *env = wh_env_system();
	uint64_t before = wh_env_now(env), start = before;

	while (before - start < WH_NS_PER_MS) {
		uint64_t now = wh_env_now(env);

		ck_assert(now >= before);
		before = now;
	}
}

TEST(random_numbers_differ)
{
	const struct wh_env *env = wh_env_system();
	uint64_t seen[64];

	for (size_t i = 0; i < 64; i++) {
		seen[i] = env->random_u64(env->ctx);
		for (size_t j = 0; j < i; j++)
			ck_assert(seen[i] != seen[j]);
	}
}

/* Standard error is a pipe for the time of a test. */
struct captured {
	int saved, read_end;
};

static struct captured capture_stderr(void)
{
	struct captured captured = {.saved = dup(STDERR_FILENO)};
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	ck_assert_int_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	close(ends[1]);
	captured.read_end = ends[0];
	return captured;
}

static void restore_stderr(struct captured captured)
{
	dup2(captured.saved, STDERR_FILENO);
	close(captured.saved);
}

static void check_captured(struct captured captured, const char *expected)
{
	char text[512] = "";
	ssize_t got;

	restore_stderr(captured); /* closes the last writer, so that the pipe ends */
	got = read(captured.read_end, text, sizeof(text) - 1);
	ck_assert_int_ge(got, 0);
	ck_assert_str_eq(text, expected);
	close(captured.read_end);
}

TEST(errors_and_warnings_go_to_stderr)
{
	const struct wh_env *env = wh_env_system();
	struct captured captured = capture_stderr();

	errno = E2BIG;
	env->log(env->ctx, WH_LOG_ERROR, "one");
	env->log(env->ctx, WH_LOG_WARNING, "two");
	env->log(env->ctx, WH_LOG_INFO, "three");
	env->log(env->ctx, WH_LOG_DEBUG, "four");
	ck_assert_int_eq(errno, E2BIG);
	check_captured(captured, "whorl: error: one\nwhorl: warning: two\n");
}

/* There is no reader: no SIGPIPE, not even a pending one, and the mask is as it was. */
TEST(closed_stderr_raises_no_signal)
{
	const struct wh_env *env = wh_env_system();
	struct captured captured = capture_stderr();
	sigset_t before, after, pending;

	close(captured.read_end);
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	errno = E2BIG;
	env->log(env->ctx, WH_LOG_ERROR, "nobody reads this");
	ck_assert_int_eq(errno, E2BIG);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	sigpending(&pending);
	restore_stderr(captured);
	ck_assert_int_eq(sigismember(&pending, SIGPIPE), 0);
	for (int number = 1; number < NSIG; number++)
		ck_assert_int_eq(sigismember(&before, number), sigismember(&after, number));
}

/* The reader stands still: the line is lost, the caller goes on. (A call that waits would end in the test's time-out.) */
TEST(full_stderr_does_not_stop_the_caller)
{
	const struct wh_env *env = wh_env_system();
	struct captured captured = capture_stderr();
	char page[4096] = {0};

	fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK);
	while (write(STDERR_FILENO, page, sizeof(page)) > 0)
		;
	fcntl(STDERR_FILENO, F_SETFL, 0);
	env->log(env->ctx, WH_LOG_ERROR, "no room for this");
	restore_stderr(captured);
	close(captured.read_end);
}

TEST(fatal_says_why_and_aborts)
{
	const struct wh_env *env = wh_env_system();
	struct captured captured = capture_stderr();
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		signal(SIGABRT, SIG_DFL);
		env->fatal(env->ctx, "the end");
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGABRT);
	check_captured(captured, "whorl: fatal: the end\n");
}

/* ---- counters -------------------------------------------------------------------------------------------------------*/

TEST_CASE("counter");

TEST(counters_add_and_keep_the_greatest)
{
	wh_word counter = 0;

	wh_count(&counter, 2);
	wh_count(&counter, 3);
	ck_assert_uint_eq(wh_load_relaxed(&counter), 5);
	wh_count_max(&counter, 4);
	ck_assert_uint_eq(wh_load_relaxed(&counter), 5);
	wh_count_max(&counter, 9);
	ck_assert_uint_eq(wh_load_relaxed(&counter), 9);
}

TEST(batches_fall_into_buckets)
{
	struct wh_batch_counter counter = {0};
	static const uint64_t sizes[] = {1, 2, 3, 4, 7, 8, 1 << 19, UINT64_C(1) << 40};
	static const uint64_t expected[WH_BATCH_BUCKETS] = {[0] = 1, [1] = 2, [2] = 2, [3] = 1, [19] = 2};
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		wh_count_batch(&counter, sizes[i]);
		sum += sizes[i];
	}
	ck_assert_uint_eq(wh_load_relaxed(&counter.batches), 8);
	ck_assert_uint_eq(wh_load_relaxed(&counter.events), sum);
	for (size_t i = 0; i < WH_BATCH_BUCKETS; i++)
		ck_assert_uint_eq(wh_load_relaxed(&counter.bucket[i]), expected[i]);
}

TEST_SUITE("base")
