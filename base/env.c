/* env.c - the environment of the real machine. */
#include "base/env.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/background.h"
#include "base/clock.h"
#include "base/disk.h"
#include "base/thread.h"

#define STDERR_PATIENCE_MS 20

static uint64_t now_ns(void *ctx)
{
	(void)ctx;
	return wh_clock_ns();
}

/* For names and seeds, not for secrets: where getrandom is forbidden, a hash of the time has to do (the mixing function
 * of splitmix64). */
static uint64_t random_u64(void *ctx)
{
	uint64_t value;
	ssize_t got;

	do {
		got = getrandom(&value, sizeof(value), 0);
	} while (got < 0 && errno == EINTR);
	if (got == (ssize_t)sizeof(value))
		return value;
	value = now_ns(ctx) ^ ((uint64_t)getpid() << 32);
	value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
	return value ^ (value >> 31);
}

/* One write, so that lines of several threads and processes do not mix. The process that reads standard error may be
 * gone or stand still: that costs the line, never a SIGPIPE (which an application's thread would not expect) nor the loop's
 * time. Signals wait meanwhile, so that nothing is interrupted. */
static void write_line(const char *severity, const char *line)
{
	const struct iovec parts[] = {
		{.iov_base = (void *)"whorl: ", .iov_len = strlen("whorl: ")},
		{.iov_base = (void *)severity, .iov_len = strlen(severity)},
		{.iov_base = (void *)line, .iov_len = strlen(line)},
		{.iov_base = (void *)"\n", .iov_len = 1},
	};
	const struct timespec at_once = {0};
	struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
	sigset_t all, before, pending, pipe;
	int saved_errno = errno;

	sigfillset(&all);
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	sigpending(&pending);
	if (poll(&out, 1, STDERR_PATIENCE_MS) == 1 &&
	    writev(STDERR_FILENO, parts, sizeof(parts) / sizeof(parts[0])) < 0 && errno == EPIPE &&
	    !sigismember(&pending, SIGPIPE))
		sigtimedwait(&pipe, NULL, &at_once); /* ours, and taken back */
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = saved_errno;
}

static void log_line(void *ctx, enum wh_log_level level, const char *line)
{
	(void)ctx;
	if (level == WH_LOG_ERROR)
		write_line("error: ", line);
	else if (level == WH_LOG_WARNING)
		write_line("warning: ", line);
}

static void fatal(void *ctx, const char *what)
{
	(void)ctx;
	write_line("fatal: ", what);
	abort();
}

struct job {
	void (*run)(void *argument);
	void *argument;
};

static void *run_job(void *ctx)
{
	struct job job = *(struct job *)ctx;

	free(ctx);
	job.run(job.argument);
	return NULL;
}

/* Jobs are rare (a view change has one): a thread each is simpler than threads that wait for them. */
static void submit(void *ctx, void (*run)(void *argument), void *argument)
{
	struct job *job = malloc(sizeof(*job));
	pthread_t thread;

	(void)ctx;
	if (job != NULL)
		*job = (struct job){run, argument};
	if (job != NULL && wh_thread_create(&thread, "whorl-job", -1, run_job, job, NULL) == WHORL_OK) {
		(void)pthread_detach(thread);
		return;
	}
	free(job);
	run(argument);
}

static enum whorl_result begin_background(void *ctx, struct wh_background **out, const char *name,
					  bool (*work)(void *argument), void *argument, struct wh_error *err)
{
	(void)ctx;
	return wh_background_begin(out, name, work, argument, err);
}

static void wake_background(void *ctx, struct wh_background *task)
{
	(void)ctx;
	wh_background_wake(task);
}

static void call_again(void *ctx, struct wh_background *task, uint64_t ns)
{
	(void)ctx;
	wh_background_again(task, ns);
}

static bool end_background(void *ctx, struct wh_background *task, uint64_t timeout_ns)
{
	(void)ctx;
	return wh_background_end(task, timeout_ns);
}

const struct wh_env *wh_env_system(void)
{
	static const struct wh_env system_env = {
		.now_ns = now_ns,
		.random_u64 = random_u64,
		.log = log_line,
		.fatal = fatal,
		.submit = submit,
		.background = begin_background,
		.background_wake = wake_background,
		.background_again = call_again,
		.background_end = end_background,
		.disk = &wh_disk_of_machine,
	};

	return &system_env;
}
