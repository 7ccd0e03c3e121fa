/* loop.c - see loop.h. */
#include "predicates/loop.h"

#include <stdlib.h>
#include <time.h>

#include "base/backoff.h"
#include "base/thread.h"

/* So long a loop yields before it sleeps (base/backoff.h, docs/decisions/0007). */
#define YIELD_NS (100 * WH_NS_PER_US)
#define SLEEP_MAX_NS WH_NS_PER_S
#define SLEEP_UNSURE_NS WH_NS_PER_MS /* where a doorbell may be missed, see wh_gate_park */
#define NAP_NS (50 * WH_NS_PER_US)   /* while the loop is borrowed, and that takes long */

void wh_loop_init(struct wh_loop *loop, struct wh_diag *diag, struct wh_transport *transport, struct wh_gate *gate,
		  enum wh_idle idle)
{
	*loop = (struct wh_loop){
		.diag = diag, .transport = transport, .gate = gate, .idle = idle, .next_ns = UINT64_MAX};
	loop->backoff.dear = transport->ops->poll_costs_syscall;
	loop->now_ns = wh_env_now(diag->env);
}

void wh_loop_close(struct wh_loop *loop)
{
	free(loop->predicates);
	loop->predicates = NULL;
	loop->count = loop->capacity = 0;
}

enum whorl_result wh_loop_add(struct wh_loop *loop, wh_predicate *fn, void *ctx, struct wh_error *err)
{
	if (loop->count == loop->capacity) {
		size_t capacity = loop->capacity ? 2 * loop->capacity : 8;
		void *grown = realloc(loop->predicates, capacity * sizeof(*loop->predicates));

		if (grown == NULL)
			return wh_error_set(err, WHORL_MEMORY, "no memory for a predicate");
		loop->predicates = grown;
		loop->capacity = capacity;
	}
	loop->predicates[loop->count++] = (struct wh_predicate_entry){fn, ctx};
	return WHORL_OK;
}

static size_t serve_transport(struct wh_loop *loop)
{
	loop->serviced_ns = loop->now_ns;
	return loop->transport->ops->service(loop->transport);
}

size_t wh_loop_step(struct wh_loop *loop)
{
	const struct wh_transport_ops *ops = loop->transport->ops;
	bool looks = ops->take != NULL && !loop->gathers;
	size_t work = 0;

	loop->gathers = false;
	if (looks)
		work += ops->take(loop->transport);
	loop->diag->step++;
	if (loop->diag->step % WH_CLOCK_PASSES == 0)
		loop->now_ns = wh_env_now(loop->diag->env);
	loop->next_ns = UINT64_MAX;
	for (size_t i = 0; i < loop->count; i++)
		work += loop->predicates[i].fn(loop->predicates[i].ctx);
	if (loop->now_ns - loop->serviced_ns >= WH_SERVICE_NS)
		work += serve_transport(loop);
	if (ops->flush != NULL)
		ops->flush(loop->transport);
	wh_count(&loop->stats.steps, 1);
	if (work == 0) {
		wh_count(&loop->stats.idle_steps, 1);
		loop->now_ns = wh_env_now(loop->diag->env);
	} else {
		wh_backoff_renew(&loop->backoff);
	}
	return work;
}

/* The thread that has borrowed the loop is nearly done. If that goes on it wants a processor, perhaps this one, and yields do
 * not give it one where this thread has the greater priority. */
static void take_back(struct wh_loop *loop)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	struct wh_backoff backoff = {0};

	while (!wh_gate_take_back(loop->gate))
		if (!wh_backoff_wait(&backoff, loop->diag->env, YIELD_NS))
			nanosleep(&nap, NULL);
}

void wh_loop_help(struct wh_loop *loop, const void *what)
{
	if (!wh_gate_is_lent(loop->gate) || !wh_gate_borrow(loop->gate))
		return;
	if (loop->helps != NULL)
		loop->helps(loop->helps_ctx, what);
	wh_gate_give_back(loop->gate);
}

/* The barrier takes as long as many passes. Where a borrower does all that this thread would, the loop is lent meanwhile: nothing of it is in use. */
static bool park(struct wh_loop *loop)
{
	bool sure;

	if (!loop->lends)
		return wh_gate_park(loop->gate);
	wh_gate_lend(loop->gate);
	sure = wh_gate_park(loop->gate);
	take_back(loop);
	return sure;
}

size_t wh_loop_arm(struct wh_loop *loop)
{
	size_t work;

	/* Both flags are up before the last look: a thread that says something after it sees them and rings. */
	loop->transport->ops->arm(loop->transport);
	if (loop->parks != NULL)
		loop->parks(loop->parks_ctx);
	loop->sure = park(loop);
	loop->sleep_max_ns = loop->sure ? SLEEP_MAX_NS : SLEEP_UNSURE_NS;
	loop->looks_last = true;
	work = serve_transport(loop);
	work += wh_loop_step(loop);
	loop->looks_last = false;
	loop->armed = true;
	if (work > 0)
		wh_loop_disarm(loop);
	return work;
}

void wh_loop_disarm(struct wh_loop *loop)
{
	loop->armed = false;
	wh_gate_unpark(loop->gate);
	loop->transport->ops->disarm(loop->transport);
}

static void lend_it(void *loop)
{
	wh_gate_lend(((struct wh_loop *)loop)->gate);
}

static void take_it_back(void *loop)
{
	take_back(loop);
}

/* Lent meanwhile, where another thread may post: all the time, or while the thread sleeps. */
static void wait_on_transport(struct wh_loop *loop, uint64_t timeout_ns)
{
	const struct wh_transport_ops *ops = loop->transport->ops;
	bool lent = ops->helper_may_post || loop->lends;

	if (!lent && ops->wait_lending != NULL) {
		ops->wait_lending(loop->transport, timeout_ns, &(struct wh_lending){lend_it, take_it_back, loop});
		return;
	}
	if (lent)
		wh_gate_lend(loop->gate);
	ops->wait(loop->transport, timeout_ns);
	if (lent)
		take_back(loop);
}

void wh_loop_sleep(struct wh_loop *loop, uint64_t timeout_ns)
{
	uint64_t now = wh_env_now(loop->diag->env);
	uint64_t until_next = loop->next_ns > now ? loop->next_ns - now : 0;

	if (timeout_ns > until_next)
		timeout_ns = until_next;
	wh_count(&loop->stats.sleeps, 1);
	wait_on_transport(loop, timeout_ns < loop->sleep_max_ns ? timeout_ns : loop->sleep_max_ns);
	wh_loop_disarm(loop);
	loop->now_ns = wh_env_now(loop->diag->env);
	serve_transport(loop);
}

bool wh_loop_idle(enum wh_idle idle, struct wh_backoff *backoff, const struct wh_env *env)
{
	if (idle != WH_IDLE_SPIN)
		return wh_backoff_wait(backoff, env, idle == WH_IDLE_YIELD ? UINT64_MAX : YIELD_NS);
	wh_cpu_relax();
	return true;
}

size_t wh_loop_linger(struct wh_loop *loop, uint64_t deadline_ns)
{
	bool lingers = !loop->backoff.spent;
	size_t work = wh_loop_step(loop);

	while (work == 0 && lingers && loop->now_ns < deadline_ns) {
		lingers = wh_loop_idle(loop->idle, &loop->backoff, loop->diag->env);
		work = wh_loop_step(loop); /* also behind the last yield, which may have been long */
	}
	wh_store_relaxed(&loop->stats.yields, loop->backoff.yields);
	return work;
}

/* A pass found nothing. While the processor is another thread's that thread may do what does not wait for this one. */
static bool idle_lending(struct wh_loop *loop)
{
	bool lent = loop->transport->ops->helper_may_post && loop->idle != WH_IDLE_SPIN &&
		    wh_backoff_is_to_yield(&loop->backoff);
	bool again;

	if (lent)
		wh_gate_lend(loop->gate);
	again = wh_loop_idle(loop->idle, &loop->backoff, loop->diag->env);
	if (lent)
		take_back(loop);
	wh_store_relaxed(&loop->stats.yields, loop->backoff.yields);
	return again;
}

static void *run_loop(void *ctx)
{
	struct wh_loop *loop = ctx;
	const struct wh_transport_ops *ops = loop->transport->ops;
	bool sleeps;

	if (ops->vouch != NULL)
		ops->vouch(loop->transport, true);
	while (wh_load_acquire(&loop->stop) == 0) {
		if (wh_loop_step(loop) > 0)
			continue;
		sleeps = loop->rests || !idle_lending(loop);
		/* The last yield may have been long: a pass costs less than the barrier. */
		if (sleeps && !loop->rests && wh_loop_step(loop) > 0)
			continue;
		if (sleeps && wh_loop_arm(loop) == 0)
			wh_loop_sleep(loop, SLEEP_MAX_NS);
	}
	if (ops->vouch != NULL)
		ops->vouch(loop->transport, false);
	return NULL;
}

enum whorl_result wh_loop_start(struct wh_loop *loop, const char *name, int cpu, struct wh_error *err)
{
	enum whorl_result result = wh_thread_create(&loop->thread, name, cpu, run_loop, loop, err);

	loop->running = result == WHORL_OK;
	return result;
}

void wh_loop_stop(struct wh_loop *loop)
{
	if (!loop->running)
		return;
	wh_store_release(&loop->stop, 1);
	loop->transport->ops->wake(loop->transport);
	pthread_join(loop->thread, NULL);
	loop->running = false;
}

bool wh_loop_stop_within(struct wh_loop *loop, uint64_t timeout_ns)
{
	struct timespec until; /* there is no such function of the monotonic clock that all sanitizers know */

	if (!loop->running)
		return true;
	wh_store_release(&loop->stop, 1);
	loop->transport->ops->wake(loop->transport);
	clock_gettime(CLOCK_REALTIME, &until);
	timeout_ns += (uint64_t)until.tv_nsec;
	until.tv_sec += (time_t)(timeout_ns / WH_NS_PER_S);
	until.tv_nsec = (long)(timeout_ns % WH_NS_PER_S);
	if (pthread_timedjoin_np(loop->thread, NULL, &until) != 0)
		return false;
	loop->running = false;
	return true;
}
