/* aside.c - see aside.h. */
#include "group/logs/aside.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/thread.h"

struct wh_aside {
	const struct wh_env *env; /* [const] */
	pthread_mutex_t lock;
	pthread_cond_t fewer;
	uint64_t jobs; /* [lock] */
	bool is_left;  /* [lock] nothing waits for them: the last one frees this */
};

struct job {
	struct wh_aside *aside;
	void (*run)(void *argument);
	void *argument;
};

struct wh_aside *wh_aside_new(const struct wh_env *env)
{
	struct wh_aside *aside = calloc(1, sizeof(*aside));

	if (aside == NULL)
		return NULL;
	aside->env = env;
	pthread_mutex_init(&aside->lock, NULL);
	wh_thread_condition_init(&aside->fewer);
	return aside;
}

static void free_aside(struct wh_aside *aside)
{
	pthread_cond_destroy(&aside->fewer);
	pthread_mutex_destroy(&aside->lock);
	free(aside);
}

static void run_job(void *argument)
{
	struct job job = *(struct job *)argument;
	struct wh_aside *aside = job.aside;
	bool is_last;

	free(argument);
	job.run(job.argument);
	pthread_mutex_lock(&aside->lock);
	is_last = --aside->jobs == 0 && aside->is_left;
	pthread_cond_signal(&aside->fewer);
	pthread_mutex_unlock(
		&aside->lock); /* if another is the last, or this is awaited, nothing of it is touched from here on */
	if (is_last)
		free_aside(aside);
}

bool wh_aside_do(struct wh_aside *aside, void (*run)(void *argument), void *argument)
{
	struct job *job = malloc(sizeof(*job));

	if (job == NULL)
		return false;
	*job = (struct job){aside, run, argument};
	pthread_mutex_lock(&aside->lock);
	aside->jobs++;
	pthread_mutex_unlock(&aside->lock);
	aside->env->submit(aside->env->ctx, run_job, job);
	return true;
}

uint64_t wh_aside_count(struct wh_aside *aside)
{
	uint64_t jobs;

	pthread_mutex_lock(&aside->lock);
	jobs = aside->jobs;
	pthread_mutex_unlock(&aside->lock);
	return jobs;
}

/* Where all is one thread they are events: they come while time passes. */
static void let_time_pass(struct wh_aside *aside, uint64_t timeout_ns)
{
	const struct wh_env *env = aside->env;
	uint64_t until_ns = wh_env_now(env) + timeout_ns;

	while (wh_aside_count(aside) > 0 && wh_env_now(env) < until_ns) {
		uint64_t left_ns = until_ns - wh_env_now(env);

		env->nap(env->ctx, left_ns < WH_NS_PER_MS ? left_ns : WH_NS_PER_MS);
	}
}

bool wh_aside_close(struct wh_aside *aside, uint64_t timeout_ns)
{
	const struct timespec until = wh_deadline_after(timeout_ns);
	bool done;

	if (aside == NULL)
		return true;
	if (aside->env->nap != NULL)
		let_time_pass(aside, timeout_ns);
	pthread_mutex_lock(&aside->lock);
	while (aside->env->nap == NULL && aside->jobs > 0 &&
	       pthread_cond_timedwait(&aside->fewer, &aside->lock, &until) != ETIMEDOUT)
		continue;
	done = aside->jobs == 0;
	aside->is_left = !done;
	pthread_mutex_unlock(&aside->lock); /* what is left may free it from here on */
	if (done)
		free_aside(aside);
	return done;
}
