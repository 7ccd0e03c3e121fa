/* wait.c - threads that wait for the answer to a call, or for a read.
 *
 * What the loop settles is a *waiter*, which the thread has from a list and gives back. A thread whose time is up abandons it; then the
 * loop gives it back, when it comes to it. So neither ever touches what is gone.
 */
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "group/refuse.h"
#include "replica/replica_int.h"

void wh_waiters_init(struct wh_waiters *waiters)
{
	pthread_mutex_init(&waiters->lock, NULL);
}

/* No thread waits, and none is woken. But in a forked child threads of the parent may seem to, or hold the locks: these are not
 * destroyed, and own nothing. */
void wh_waiters_close(struct wh_waiters *waiters)
{
	while (waiters->all != NULL) {
		struct wh_waiter *waiter = waiters->all;

		waiters->all = waiter->next;
		free(waiter);
	}
}

void wh_waiters_wake(struct wh_waiters *waiters)
{
	pthread_mutex_lock(&waiters->lock);
	for (struct wh_waiter *waiter = waiters->all; waiter != NULL; waiter = waiter->next) {
		pthread_mutex_lock(&waiter->lock);
		pthread_cond_signal(&waiter->condition);
		pthread_mutex_unlock(&waiter->lock);
	}
	pthread_mutex_unlock(&waiters->lock);
}

/* NULL: no memory. With the lock. */
static struct wh_waiter *make_waiter(struct wh_replica *replica)
{
	struct wh_waiter *waiter = calloc(1, sizeof(*waiter));

	if (waiter == NULL)
		return NULL;
	pthread_mutex_init(&waiter->lock, NULL);
	wh_thread_condition_init(&waiter->condition);
	waiter->replica = replica;
	waiter->next = replica->waiters.all;
	replica->waiters.all = waiter;
	return waiter;
}

static struct wh_waiter *take_waiter(struct wh_replica *replica)
{
	struct wh_waiters *waiters = &replica->waiters;
	struct wh_waiter *waiter;

	pthread_mutex_lock(&waiters->lock);
	waiter = waiters->free;
	if (waiter != NULL)
		waiters->free = waiter->next_free;
	else
		waiter = make_waiter(replica);
	pthread_mutex_unlock(&waiters->lock);
	if (waiter == NULL)
		return NULL;
	wh_store_relaxed(&waiter->settled, 0);
	waiter->abandoned = false;
	return waiter;
}

static void give_back(struct wh_waiter *waiter)
{
	struct wh_waiters *waiters = &waiter->replica->waiters;

	pthread_mutex_lock(&waiters->lock);
	waiter->next_free = waiters->free;
	waiters->free = waiter;
	pthread_mutex_unlock(&waiters->lock);
}

/* With the lock, which it gives up. */
static void settle(struct wh_waiter *waiter, enum whorl_result result)
{
	waiter->result = result;
	wh_store_release(&waiter->settled, 1); /* partner: wh_layer_wait */
	pthread_cond_signal(&waiter->condition);
	pthread_mutex_unlock(&waiter->lock);
}

/* The loop comes to it. False: the thread has gone, and it is given back. */
static bool lock_waiter(struct wh_waiter *waiter)
{
	pthread_mutex_lock(&waiter->lock);
	if (!waiter->abandoned)
		return true;
	pthread_mutex_unlock(&waiter->lock);
	give_back(waiter);
	return false;
}

/* The thread has waited, and goes. False: it is not settled, and never will be for this thread. */
static bool finish_wait(struct wh_waiter *waiter, enum whorl_result *result, size_t *bytes)
{
	bool settled;

	pthread_mutex_lock(&waiter->lock);
	settled = wh_load_relaxed(&waiter->settled) != 0;
	waiter->abandoned = !settled;
	*result = waiter->result;
	*bytes = waiter->bytes;
	pthread_mutex_unlock(&waiter->lock);
	if (settled)
		give_back(waiter);
	return settled;
}

/* ---- calls ---------------------------------------------------------------------------------------------------------------- */

static void settle_call(const struct whorl_outcome *outcome, void *ctx)
{
	struct wh_waiter *waiter = ctx;

	if (!lock_waiter(waiter))
		return;
	waiter->bytes = outcome->bytes;
	if (waiter->answer != NULL && outcome->bytes > 0)
		memcpy(waiter->answer, outcome->answer, outcome->bytes < waiter->room ? outcome->bytes : waiter->room);
	settle(waiter, outcome->result == WHORL_OK && waiter->answer != NULL && outcome->bytes > waiter->room
			       ? WHORL_TOO_SMALL
			       : outcome->result);
}

#define LOOK_MS                                                                                                        \
	10 /* so often a thread that waits for the state looks whether the node is closed, which does not end that wait */

static int least(int a, int b)
{
	return a < b ? a : b;
}

/* Claims, and accepts. WHORL_OK; or what it says was never accepted. */
static enum whorl_result begin_call(struct wh_replica *replica, const void *data, size_t bytes, uint64_t deadline_ns,
				    struct wh_waiter *waiter)
{
	struct whorl_claim claim;
	enum whorl_result result;

	do {
		result = whorl_claim_large(replica->subgroup, bytes, wh_layer_left_ms(deadline_ns), &claim);
		if (result != WHORL_OK)
			return result == WHORL_AGAIN ? WHORL_TIMEOUT : wh_calls_refused(replica, result);
		wh_calls_fill(&claim, data);
		result = wh_calls_commit(replica, &claim, bytes, settle_call, waiter);
		if (result != WHORL_AGAIN)
			return result == WHORL_PENDING ? WHORL_OK : result;
		/* A window of calls is delivered, and not applied, since the state is restored still. */
		(void)whorl_abort(&claim);
		result = whorl_subgroup_ready(replica->subgroup, least(wh_layer_left_ms(deadline_ns), LOOK_MS));
	} while ((result == WHORL_OK || result == WHORL_TIMEOUT) && wh_layer_left_ms(deadline_ns) > 0);
	return result == WHORL_OK ? WHORL_TIMEOUT : result;
}

static enum whorl_result call_and_wait(struct wh_replica *replica, const void *data, size_t bytes, void *answer,
				       size_t *answer_bytes, uint64_t deadline_ns)
{
	struct wh_waiter *waiter = take_waiter(replica);
	enum whorl_result result;
	size_t size;

	if (waiter == NULL)
		return WHORL_MEMORY;
	waiter->answer = answer;
	waiter->room = answer_bytes != NULL ? *answer_bytes : 0;
	result = begin_call(replica, data, bytes, deadline_ns, waiter);
	if (result != WHORL_OK) {
		give_back(waiter);
		return result;
	}
	wh_layer_wait(replica->subgroup, &waiter->settled, &waiter->lock, &waiter->condition, deadline_ns);
	if (!finish_wait(waiter, &result, &size))
		return WHORL_IN_DOUBT;
	if (answer_bytes != NULL)
		*answer_bytes = size;
	return result;
}

static enum whorl_result may_wait(const char *function, const whorl_subgroup *subgroup, int timeout_ms)
{
	if (subgroup == NULL)
		return wh_refuse(function, "no subgroup");
	if (wh_replica_of(subgroup) == NULL)
		return wh_refuse(function, "the subgroup has no whorl_on_calls");
	if (timeout_ms < 0)
		return wh_refuse(function, "a time-out below 0");
	if (wh_layer_state(subgroup) == WHORL_FORKED)
		return WHORL_FORKED;
	return wh_layer_in_upcall(subgroup) ? WHORL_WOULD_DEADLOCK : WHORL_OK;
}

enum whorl_result whorl_call_wait(whorl_subgroup *subgroup, const void *data, size_t bytes, void *answer,
				  size_t *answer_bytes, int timeout_ms)
{
	enum whorl_result result = may_wait(__func__, subgroup, timeout_ms);

	if (result != WHORL_OK)
		return result;
	if ((data == NULL && bytes > 0) || (answer != NULL && answer_bytes == NULL))
		return WH_REFUSE(data == NULL && bytes > 0 ? "no data" : "no size of the room for the answer");
	if (!wh_layer_begin_wait(subgroup))
		return WHORL_CLOSED;
	result = call_and_wait(wh_replica_of(subgroup), data, bytes, answer, answer_bytes,
			       wh_layer_deadline(timeout_ms));
	wh_layer_end_wait(subgroup);
	return result;
}

/* ---- reads ---------------------------------------------------------------------------------------------------------------- */

/* With the lock, so that a thread whose time is up waits until it is read. */
static void settle_read(enum whorl_result result, void *ctx)
{
	struct wh_waiter *waiter = ctx;

	if (!lock_waiter(waiter))
		return;
	waiter->read(result, waiter->read_ctx);
	settle(waiter, result);
}

static enum whorl_result read_and_wait(struct wh_replica *replica, enum whorl_freshness freshness, whorl_read_fn *read,
				       void *ctx, uint64_t deadline_ns)
{
	struct wh_waiter *waiter = take_waiter(replica);
	enum whorl_result result;
	size_t none;

	if (waiter == NULL)
		return WHORL_MEMORY;
	waiter->read = read;
	waiter->read_ctx = ctx;
	result = whorl_read(replica->subgroup, freshness, settle_read, waiter);
	if (result != WHORL_OK) {
		give_back(waiter);
		return result;
	}
	wh_layer_wait(replica->subgroup, &waiter->settled, &waiter->lock, &waiter->condition, deadline_ns);
	if (finish_wait(waiter, &result, &none))
		return result;
	return wh_layer_state(replica->subgroup) == WHORL_CLOSED ? WHORL_CLOSED : WHORL_TIMEOUT;
}

enum whorl_result whorl_read_wait(whorl_subgroup *subgroup, enum whorl_freshness freshness, whorl_read_fn *read,
				  void *ctx, int timeout_ms)
{
	enum whorl_result result = may_wait(__func__, subgroup, timeout_ms);

	if (result != WHORL_OK)
		return result;
	if (read == NULL)
		return WH_REFUSE("no function");
	if (!wh_layer_begin_wait(subgroup))
		return WHORL_CLOSED;
	result = read_and_wait(wh_replica_of(subgroup), freshness, read, ctx, wh_layer_deadline(timeout_ms));
	wh_layer_end_wait(subgroup);
	return result;
}
