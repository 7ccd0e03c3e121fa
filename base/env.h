/* env.h - one of the two tables through which the core meets the world (the other is transport.h).
 *
 * Time, random numbers, the log, what happens on a broken invariant, work that may block, and files. The system's table is
 * wh_env_system(); the simulator has its own, so the same object code runs in both.
 */
#ifndef WH_BASE_ENV_H
#define WH_BASE_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include <whorl/result.h>

#include "base/clock.h"

struct wh_disk;
struct wh_error;
struct wh_background;

enum wh_log_level { WH_LOG_ERROR, WH_LOG_WARNING, WH_LOG_INFO, WH_LOG_DEBUG };

struct wh_env {
	void *ctx;
	uint64_t (*now_ns)(void *ctx); /* monotonic */
	uint64_t (*random_u64)(void *ctx);
	void (*log)(void *ctx, enum wh_log_level level, const char *line); /* any thread; no newline at the end */
	void (*fatal)(void *ctx, const char *what);                        /* a broken invariant; see check.h */
	/* Runs job(argument) some time later off the caller's thread, where it may block: a thread of its own, or an event in
	 * simulation. Where no thread can be had it runs at once. Jobs are not ordered. What a job uses is freed behind its end. */
	void (*submit)(void *ctx, void (*job)(void *argument), void *argument);
	/* A job that lasts: work(argument) is called off the caller's thread, where it may block, one call after another, until it returns
	 * false: there is nothing to do; then again when it has been woken since that call began. The first call comes at once; *out is set
	 * before. WHORL_OK, WHORL_SYSTEM: no thread can be had, WHORL_MEMORY. NULL: this world has none. */
	enum whorl_result (*background)(void *ctx, struct wh_background **out, const char *name,
					bool (*work)(void *argument), void *argument, struct wh_error *err);
	void (*background_wake)(void *ctx,
				struct wh_background *task); /* any thread; costs little while it is at work */
	/* Of the call of work() that is under way, and from within it: if it returns false the next call comes in so many ns, if no wake comes
	 * sooner. The last word counts. */
	void (*background_again)(void *ctx, struct wh_background *task, uint64_t ns);
	/* No call begins any more. Waits at most timeout_ns for the end of the one that is under way, if there is one. True: the job is
	 * freed; false: it is still in that call, which has what it uses of `argument` for itself from now on, and frees itself when that has
	 * returned. Not from work(). In a child that was forked the job is no more, and this frees what is left of it. */
	bool (*background_end)(void *ctx, struct wh_background *task, uint64_t timeout_ns);
	const struct wh_disk *disk; /* NULL: this world has no files */
	/* NULL: there are threads. Else all of the world is one (simulation): what would be a thread of the library is stepped by the
	 * world, and a thread that waits calls this. So much time passes, or less, and others go on meanwhile. */
	void (*nap)(void *ctx, uint64_t ns);
};

/* The real machine: CLOCK_MONOTONIC, getrandom, errors and warnings go to stderr; fatal aborts. */
const struct wh_env *wh_env_system(void);

static inline uint64_t wh_env_now(const struct wh_env *env)
{
	return env->now_ns(env->ctx);
}

#endif
