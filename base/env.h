/* env.h - one of the two tables through which the core meets the world (the other is transport.h).
 *
 * Time, random numbers, the log, what happens on a broken invariant, and work that may block. The system's table is
 * wh_env_system(); the simulator has its own, so the same object code runs in both. Files join with the layers that need
 * them.
 */
#ifndef WH_BASE_ENV_H
#define WH_BASE_ENV_H

#include <stdint.h>

enum wh_log_level { WH_LOG_ERROR, WH_LOG_WARNING, WH_LOG_INFO, WH_LOG_DEBUG };

struct wh_env {
	void *ctx;
	uint64_t (*now_ns)(void *ctx); /* monotonic */
	uint64_t (*random_u64)(void *ctx);
	void (*log)(void *ctx, enum wh_log_level level, const char *line); /* any thread; no newline at the end */
	void (*fatal)(void *ctx, const char *what);                        /* a broken invariant; see check.h */
	/* Runs job(argument) some time later off the caller's thread, where it may block: a thread of its own, or an event in
	 * simulation. Where no thread can be had it runs at once. Jobs are not ordered. The caller that submits one waits for its
	 * end before what it uses is freed. */
	void (*submit)(void *ctx, void (*job)(void *argument), void *argument);
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

#define WH_NS_PER_US UINT64_C(1000)
#define WH_NS_PER_MS UINT64_C(1000000)
#define WH_NS_PER_S UINT64_C(1000000000)

#endif
