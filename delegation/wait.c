/* wait.c - fibers and plain threads that wait.
 *
 * A fiber parks, and its worker goes on with others. A plain thread looks for its answer, helps the trustee if that sleeps, and in the end
 * sleeps itself, behind a gate as a loop does.
 */
#include "delegation/delegation_int.h"

#include <time.h>

/* ---- fibers -------------------------------------------------------------------------------------------------------------------- */

static void unlink_wait(struct wh_party *me, struct wh_wait *wait)
{
	if (wait->newer != NULL)
		wait->newer->older = wait->older;
	else
		me->waits = wait->older;
	if (wait->older != NULL)
		wait->older->newer = wait->newer;
}

static void wake(struct wh_party *me, struct wh_wait *wait)
{
	struct wh_task *task = wait->task;

	if (task == NULL) /* a plain thread, or woken already */
		return;
	wait->task = NULL;
	unlink_wait(me, wait);
	wh_tasks_wake(task);
}

void wh_wait_done(struct wh_party *me, struct wh_wait *wait)
{
	wait->done = true;
	wake(me, wait);
}

/* The time of the loop may be old, and no wait ends too early: a millisecond more. */
static bool wait_in_fiber(struct wh_party *me, struct wh_wait *wait, int timeout_ms)
{
	struct wh_tasks *tasks = &me->worker->tasks;

	wait->deadline_ns = me->worker->loop.now_ns + ((uint64_t)timeout_ms + 1) * WH_NS_PER_MS;
	wait->task = tasks->running;
	wait->newer = NULL;
	wait->older = me->waits;
	if (wait->older != NULL)
		wait->older->newer = wait;
	me->waits = wait;
	if (wait->deadline_ns < me->next_deadline_ns)
		me->next_deadline_ns = wait->deadline_ns;
	wh_tasks_park(tasks);
	return wait->done;
}

/* All are looked at when the first deadline has come that there was since the last look: most waits are over long before theirs. */
size_t wh_expire(struct wh_party *me)
{
	struct wh_wait *wait, *older;
	size_t woken = 0;
	uint64_t now;

	if (me->waits == NULL || me->worker->loop.now_ns < me->next_deadline_ns)
		return 0;
	now = wh_env_now(me->work->env);
	me->next_deadline_ns = UINT64_MAX;
	for (wait = me->waits; wait != NULL; wait = older) {
		older = wait->older;
		if (wait->deadline_ns <= now) {
			wait->late = true;
			wake(me, wait);
			woken++;
		} else if (wait->deadline_ns < me->next_deadline_ns) {
			me->next_deadline_ns = wait->deadline_ns;
		}
	}
	return woken;
}

/* ---- plain threads ------------------------------------------------------------------------------------------------------------- */

size_t wh_look(struct wh_party *me)
{
	size_t work = wh_serve(me, false) + wh_collect(me);

	work += wh_flush(me);
	return work > 0 ? work : wh_help(me);
}

static void sleep_until(struct wh_party *me, uint64_t deadline_ns)
{
	uint64_t now, most = WH_NS_PER_S;

	wh_ask_trustees(me);
	/* Partner: wh_gate_ring of those that answer, and give_back of those that were asked. */
	if (!wh_gate_park(me->gate))
		most = WH_NS_PER_MS;
	now = wh_env_now(me->work->env);
	if (wh_look(me) == 0 && now < deadline_ns) {
		wh_wake_trustees(me, true);
		wh_bell_wait(me->bell, deadline_ns - now < most ? deadline_ns - now : most);
	}
	wh_gate_unpark(me->gate);
}

void wh_nap(const whorl_work *work, uint64_t ns)
{
	const struct timespec nap = {.tv_sec = (time_t)(ns / WH_NS_PER_S), .tv_nsec = (long)(ns % WH_NS_PER_S)};
	struct wh_here before;

	if (work->env->nap == NULL) {
		nanosleep(&nap, NULL);
		return;
	}
	before = *wh_here();
	work->env->nap(work->env->ctx, ns);
	wh_leave(before);
}

#define LOOK_NS (50 * WH_NS_PER_US) /* where there are no threads: between two looks */

void wh_rest(struct wh_party *me, uint64_t deadline_ns)
{
	uint64_t now;

	if (me->work->env->nap != NULL) {
		now = wh_env_now(me->work->env);
		wh_wake_trustees(me, false);
		wh_nap(me->work, deadline_ns > now && deadline_ns - now < LOOK_NS ? deadline_ns - now : LOOK_NS);
		return;
	}
	/* The yield that was one too many may have taken long: a look costs less than the barrier before the sleep. */
	if (!wh_loop_idle(WH_IDLE_ADAPTIVE, &me->backoff, me->work->env) && wh_look(me) == 0)
		sleep_until(me, deadline_ns);
}

#define LOOKS_BETWEEN_CLOCKS 16

static bool wait_plainly(struct wh_party *me, struct wh_wait *wait, int timeout_ms)
{
	const struct wh_env *env = me->work->env;
	uint64_t deadline = 0, now;

	for (uint32_t looks = 1; !wait->done; looks++) {
		if (wh_look(me) > 0) {
			wh_backoff_renew(&me->backoff);
			continue;
		}
		if (deadline != 0)
			wh_rest(me, deadline);
		else
			wh_cpu_relax();
		if (looks % LOOKS_BETWEEN_CLOCKS != 0 && deadline != 0 && me->backoff.looks != 0)
			continue;
		now = wh_env_now(env);
		if (deadline == 0)
			deadline = now + (uint64_t)timeout_ms * WH_NS_PER_MS;
		else if (now >= deadline)
			break;
	}
	if (!wait->done)
		wh_wake_trustees(me, false);
	return wait->done;
}

bool wh_wait_for(struct wh_party *me, struct wh_wait *wait, int timeout_ms)
{
	if (wait->done)
		return true;
	if (me->worker != NULL)
		return wait_in_fiber(me, wait, timeout_ms);
	return wait_plainly(me, wait, timeout_ms);
}
