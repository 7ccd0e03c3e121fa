/* delegate_trusts.c - the ways of fetch-add with delegation. Each object is a property of one of the workers, in turn. The threads of the
 * measurement call from beside the workers, which are as many as there are threads, objects or processors, whichever are the fewest; or,
 * with --workers, the calls come from fibers, one on each of as many workers as there are to be threads.
 */
#include <sched.h>
#include <stdlib.h>

#include <whorl/delegate.h>

#include "tools/delegate.h"

#define OUTSTANDING 64   /* calls of a thread, with `async` */
#define TIMEOUT_MS 20000 /* of whatever ends at once: it is a failure then */

struct counter {
	uint64_t n;
};

static WHORL_TYPE(counter_type, struct counter, NULL);

WHORL_FUNCTION(fetch_add, struct counter, struct whorl_none, uint64_t, WHORL_DETERMINISTIC)
{
	wh_cpu_relax();
	*result = property->n++;
}

WHORL_FUNCTION(fetch_value, struct counter, struct whorl_none, uint64_t, WHORL_READ)
{
	*result = property->n;
}

struct trusts {
	whorl_work *work;
	struct whorl_trust *trusts; /* of the objects */
	uint32_t count;             /* entrusted */
};

static struct trusts *trusts_of(const struct wh_fetch_thread *thread)
{
	return thread->fetch->objects;
}

/* The thread makes no more calls. */
static void fail(struct wh_fetch_thread *thread, enum whorl_result result)
{
	thread->wrong = whorl_result_text(result);
}

static bool goes_on(const struct wh_fetch_thread *thread)
{
	return !wh_fetch_stopped(thread) && thread->wrong == NULL;
}

/* ---- the objects ------------------------------------------------------------------------------------------------------------- */

static uint32_t workers_for(const struct wh_delegate *delegate)
{
	uint32_t count = delegate->threads;
	cpu_set_t processors;

	if (delegate->workers)
		return count;
	if (delegate->objects < count)
		count = delegate->objects;
	if (sched_getaffinity(0, sizeof processors, &processors) == 0 && (uint32_t)CPU_COUNT(&processors) < count)
		count = (uint32_t)CPU_COUNT(&processors);
	return count;
}

static void close_trusts(struct wh_fetch *fetch)
{
	struct trusts *all = fetch->objects;

	if (all == NULL)
		return;
	for (uint32_t i = 0; i < all->count; i++)
		(void)whorl_trust_drop(&all->trusts[i]);
	if (all->work != NULL && whorl_work_close(all->work, TIMEOUT_MS) != WHORL_OK)
		wh_say("fetch-add: a worker does not end");
	free(all->trusts);
	free(all);
	fetch->objects = NULL;
}

static enum whorl_result entrust_all(struct trusts *all, uint32_t workers, uint32_t objects)
{
	enum whorl_result result = WHORL_OK;

	for (uint32_t i = 0; result == WHORL_OK && i < objects; i++) {
		result = whorl_entrust(all->work, whorl_at_worker(WHORL_NODE_HERE, i % workers), &counter_type, NULL,
				       sizeof(struct counter), &all->trusts[i], TIMEOUT_MS);
		all->count += result == WHORL_OK;
	}
	return result;
}

static bool open_trusts(struct wh_fetch *fetch)
{
	uint32_t workers = workers_for(fetch->delegate), objects = fetch->delegate->objects;
	const struct whorl_work_options options = {.size = sizeof options, .workers = workers, WHORL_FUNCTIONS_LINKED};
	struct trusts *all = calloc(1, sizeof *all);
	enum whorl_result result = WHORL_MEMORY;

	fetch->objects = all;
	if (all != NULL)
		all->trusts = calloc(objects, sizeof *all->trusts);
	if (all != NULL && all->trusts != NULL)
		result = whorl_work_open(NULL, &options, &all->work);
	if (result == WHORL_OK)
		result = entrust_all(all, workers, objects);
	if (result == WHORL_OK)
		return true;
	wh_say("fetch-add: %s", whorl_result_text(result));
	close_trusts(fetch);
	return false;
}

static uint64_t sum_trusts(struct wh_fetch *fetch)
{
	struct trusts *all = fetch->objects;
	uint64_t sum = 0, n = 0;

	for (uint32_t i = 0; i < all->count; i++) {
		enum whorl_result result = whorl_apply(&all->trusts[i], fetch_value, NULL, &n, TIMEOUT_MS);

		if (result != WHORL_OK)
			wh_say("fetch-add: an object cannot be read: %s", whorl_result_text(result));
		else
			sum += n;
	}
	return sum;
}

/* ---- calls that are waited for ----------------------------------------------------------------------------------------------- */

static void call_and_wait(struct wh_fetch_thread *thread)
{
	const struct trusts *all = trusts_of(thread);
	bool loaded = thread->gap > 0;

	wh_fetch_begin(thread);
	while (goes_on(thread)) {
		bool sampled = loaded || thread->done % WH_FETCH_SAMPLED == 0;
		uint64_t since = 0, before = 0;
		enum whorl_result result;

		if (loaded && !wh_fetch_due(thread, &since)) {
			whorl_fiber_yield();
			continue;
		}
		if (sampled && !loaded)
			since = wh_fetch_now();
		result = whorl_apply(&all->trusts[wh_fetch_pick(thread, thread->done)], fetch_add, NULL, &before,
				     TIMEOUT_MS);
		if (result != WHORL_OK) {
			fail(thread, result);
			break;
		}
		wh_fetch_got(thread, before);
		thread->done++;
		if (sampled)
			wh_fetch_took(thread, since);
	}
	wh_fetch_end(thread);
}

/* ---- calls that are not ------------------------------------------------------------------------------------------------------ */

struct calls { /* of one thread */
	struct wh_fetch_thread *thread;
	uint32_t free_count;
	struct one_call {
		struct calls *all;
		uint64_t since; /* 0: its latency is not taken */
	} calls[OUTSTANDING], *free[OUTSTANDING];
};

static void have_answer(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	struct one_call *call = ctx;
	struct wh_fetch_thread *thread = call->all->thread;

	call->all->free[call->all->free_count++] = call;
	if (result != WHORL_OK || bytes != sizeof(uint64_t)) {
		fail(thread, result != WHORL_OK ? result : WHORL_INVALID);
		return;
	}
	wh_fetch_got(thread, *(const uint64_t *)answer);
	thread->done++;
	if (call->since != 0)
		wh_fetch_took(thread, call->since);
}

/* Looks for answers; waits for one if `waits`. */
static void poll_answers(struct wh_fetch_thread *thread, bool waits)
{
	enum whorl_result result = whorl_poll(trusts_of(thread)->work, waits ? TIMEOUT_MS : 0);

	if (result != WHORL_OK && (waits || (result != WHORL_TIMEOUT && result != WHORL_NOT_FOUND)))
		fail(thread, result);
}

static void call_one(struct calls *calls, uint64_t turn, uint64_t since)
{
	struct wh_fetch_thread *thread = calls->thread;
	struct one_call *call = calls->free[--calls->free_count];
	enum whorl_result result;

	call->since = since;
	result = whorl_apply_then(&trusts_of(thread)->trusts[wh_fetch_pick(thread, turn)], fetch_add, NULL, have_answer,
				  call);
	if (result == WHORL_OK)
		return;
	calls->free[calls->free_count++] = call;
	fail(thread, result);
}

static void call_on(struct wh_fetch_thread *thread)
{
	struct calls calls = {.thread = thread, .free_count = OUTSTANDING};
	bool loaded = thread->gap > 0;
	uint64_t turn = 0, since = 0;

	for (uint32_t i = 0; i < OUTSTANDING; i++) {
		calls.calls[i].all = &calls;
		calls.free[i] = &calls.calls[i];
	}
	wh_fetch_begin(thread);
	while (goes_on(thread)) {
		if (calls.free_count == 0) {
			poll_answers(thread, true);
		} else if (loaded && !wh_fetch_due(thread, &since)) {
			poll_answers(thread, false);
		} else {
			if (!loaded)
				since = turn % WH_FETCH_SAMPLED == 0 ? wh_fetch_now() : 0;
			call_one(&calls, turn++, since);
		}
	}
	while (calls.free_count < OUTSTANDING && thread->wrong == NULL)
		poll_answers(thread, true);
	wh_fetch_end(thread);
}

/* ---- from workers ------------------------------------------------------------------------------------------------------------ */

/* Arguments have no addresses but of what is shared. */
struct seat {
	whorl_shared *thread; /* of the address of a struct wh_fetch_thread */
	uint64_t waits;
};

WHORL_FUNCTION(fetch_from_fiber, struct whorl_none, struct seat, struct whorl_none, 0)
{
	struct wh_fetch_thread *const *thread = whorl_shared_data(args->thread, NULL);

	if (args->waits)
		call_and_wait(*thread);
	else
		call_on(*thread);
}

static void call_from_fiber(struct wh_fetch_thread *thread, bool waits)
{
	whorl_work *work = trusts_of(thread)->work;
	struct seat seat = {.waits = waits};
	struct whorl_join join;
	enum whorl_result result = whorl_share(work, &thread, sizeof(struct wh_fetch_thread *), &seat.thread);

	if (result == WHORL_OK)
		result = whorl_spawn(work, whorl_at_worker(WHORL_NODE_HERE, thread->number), fetch_from_fiber, &seat,
				     &join);
	while (result == WHORL_OK && (result = whorl_join(&join, NULL, 0, TIMEOUT_MS)) == WHORL_TIMEOUT)
		result = WHORL_OK;
	if (result != WHORL_OK && thread->begun == 0) { /* the others wait for it */
		wh_say("fetch-add: no fiber: %s", whorl_result_text(result));
		exit(WH_EXIT_MACHINE);
	}
	if (result != WHORL_OK)
		fail(thread, result);
	whorl_shared_drop(seat.thread);
}

static void run_trust(struct wh_fetch_thread *thread)
{
	if (thread->fetch->delegate->workers)
		call_from_fiber(thread, true);
	else
		call_and_wait(thread);
}

static void run_async(struct wh_fetch_thread *thread)
{
	if (thread->fetch->delegate->workers)
		call_from_fiber(thread, false);
	else
		call_on(thread);
}

const struct wh_way wh_way_trust = {"trust", "whorl_apply", NULL, open_trusts, run_trust, sum_trusts, close_trusts};
const struct wh_way wh_way_async = {"async",   "whorl_apply_then", NULL,        open_trusts,
				    run_async, sum_trusts,         close_trusts};
