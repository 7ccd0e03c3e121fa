/* frontier.c - see frontier.h. */
#include "smc/frontier.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/thread.h"

/* Where a thread may be missed it looks again itself: the barrier has been forbidden since it was registered (base/barrier.h). */
#define UNSURE_NS 1000000
#define NS_PER_S 1000000000

void wh_frontiers_init(struct wh_frontiers *frontiers, struct wh_gate *gate)
{
	*frontiers = (struct wh_frontiers){.gate = gate, .fd = -1};
	for (int which = 0; which < WH_FRONTIERS; which++) {
		wh_store_relaxed(&frontiers->wanted[which], UINT64_MAX);
		frontiers->arms[which].least = UINT64_MAX;
	}
	pthread_mutex_init(&frontiers->lock, NULL);
}

void wh_frontiers_close(struct wh_frontiers *frontiers)
{
	if (frontiers->fd >= 0)
		close(frontiers->fd);
	/* The lock is not destroyed: in a forked child a thread that only the parent has may hold it, and it owns nothing. */
}

/* With the lock. */
static void find_wanted(struct wh_frontiers *frontiers)
{
	uint64_t least[WH_FRONTIERS];

	for (int which = 0; which < WH_FRONTIERS; which++)
		least[which] = frontiers->arms[which].least;
	for (const struct wh_frontier_wait *wait = frontiers->waits; wait != NULL; wait = wait->next)
		if (wait->index < least[wait->which])
			least[wait->which] = wait->index;
	for (int which = 0; which < WH_FRONTIERS; which++)
		wh_store_relaxed(&frontiers->wanted[which], least[which]);
}

static bool is_past(const struct wh_frontiers *frontiers, enum wh_frontier which, uint64_t index)
{
	return wh_frontier_past(frontiers, which) > index;
}

static void tell_waits(struct wh_frontiers *frontiers, bool all)
{
	struct wh_frontier_wait **at = &frontiers->waits;

	while (*at != NULL) {
		struct wh_frontier_wait *wait = *at;

		if (!all && !is_past(frontiers, wait->which, wait->index)) {
			at = &wait->next;
			continue;
		}
		*at = wait->next;
		wait->told = true;
		pthread_cond_signal(&wait->changed);
	}
}

static void tell_arms(struct wh_frontiers *frontiers, bool all)
{
	for (int which = 0; which < WH_FRONTIERS; which++) {
		struct wh_frontier_arms *arms = &frontiers->arms[which];

		if (arms->count == 0 || (!all && !is_past(frontiers, (enum wh_frontier)which, arms->least)))
			continue;
		/* Fails only when the eventfd is at its maximum, which is readable as well. */
		(void)!write(frontiers->fd, &arms->count, sizeof(arms->count));
		*arms = (struct wh_frontier_arms){.least = UINT64_MAX};
	}
}

static void tell(struct wh_frontiers *frontiers, bool all)
{
	pthread_mutex_lock(&frontiers->lock);
	tell_waits(frontiers, all);
	tell_arms(frontiers, all);
	find_wanted(frontiers);
	pthread_mutex_unlock(&frontiers->lock);
}

void wh_frontiers_tell(struct wh_frontiers *frontiers)
{
	tell(frontiers, false);
}

void wh_frontiers_wake(struct wh_frontiers *frontiers)
{
	tell(frontiers, true);
}

/* ---- threads that wait in a call --------------------------------------------------------------------------------------- */

bool wh_frontier_enlist(struct wh_frontiers *frontiers, struct wh_frontier_wait *wait, enum wh_frontier which,
			uint64_t index)
{
	*wait = (struct wh_frontier_wait){.which = which, .index = index};
	wh_thread_condition_init(&wait->changed);
	pthread_mutex_lock(&frontiers->lock);
	wait->next = frontiers->waits;
	frontiers->waits = wait;
	find_wanted(frontiers);
	pthread_mutex_unlock(&frontiers->lock);
	/* What is wanted, then what is past: the loop sees the one when it moves next, or I see that it has moved. Partner:
	 * wh_frontier_move. */
	wait->sure = wh_gate_barrier(frontiers->gate);
	if (!is_past(frontiers, which, index))
		return true;
	wh_frontier_delist(frontiers, wait);
	return false;
}

static struct timespec earlier_of(struct timespec a, uint64_t from_now_ns)
{
	struct timespec b;

	clock_gettime(CLOCK_MONOTONIC, &b);
	b.tv_nsec += (long)from_now_ns;
	if (b.tv_nsec >= NS_PER_S) {
		b.tv_nsec -= NS_PER_S;
		b.tv_sec++;
	}
	return a.tv_sec < b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec < b.tv_nsec) ? a : b;
}

void wh_frontier_sleep(struct wh_frontiers *frontiers, struct wh_frontier_wait *wait, const struct timespec *deadline)
{
	struct timespec until = wait->sure ? *deadline : earlier_of(*deadline, UNSURE_NS); /* the caller looks again */
	int timed_out = 0;

	pthread_mutex_lock(&frontiers->lock);
	while (!wait->told && timed_out == 0)
		timed_out = pthread_cond_timedwait(&wait->changed, &frontiers->lock, &until);
	pthread_mutex_unlock(&frontiers->lock);
}

void wh_frontier_delist(struct wh_frontiers *frontiers, struct wh_frontier_wait *wait)
{
	pthread_mutex_lock(&frontiers->lock);
	for (struct wh_frontier_wait **at = &frontiers->waits; *at != NULL; at = &(*at)->next)
		if (*at == wait) {
			*at = wait->next;
			find_wanted(frontiers);
			break;
		}
	pthread_mutex_unlock(&frontiers->lock);
	pthread_cond_destroy(&wait->changed);
}

/* ---- the program's descriptor --------------------------------------------------------------------------------------- */

/* With the lock. */
static int open_fd(struct wh_frontiers *frontiers)
{
	if (frontiers->fd < 0)
		frontiers->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	return frontiers->fd;
}

int wh_frontiers_fd(struct wh_frontiers *frontiers)
{
	int fd;

	pthread_mutex_lock(&frontiers->lock);
	fd = open_fd(frontiers);
	pthread_mutex_unlock(&frontiers->lock);
	return fd;
}

bool wh_frontier_arm(struct wh_frontiers *frontiers, enum wh_frontier which, uint64_t index)
{
	struct wh_frontier_arms *arms = &frontiers->arms[which];
	bool armed;

	pthread_mutex_lock(&frontiers->lock);
	armed = open_fd(frontiers) >= 0;
	if (armed) {
		arms->count++;
		if (index < arms->least)
			arms->least = index;
		find_wanted(frontiers);
	}
	pthread_mutex_unlock(&frontiers->lock);
	if (armed)
		(void)wh_gate_barrier(
			frontiers->gate); /* as above; else the next survey of the loop tells (group/run.c) */
	return armed;
}

bool wh_frontier_disarm(struct wh_frontiers *frontiers, enum wh_frontier which)
{
	struct wh_frontier_arms *arms = &frontiers->arms[which];
	bool taken;

	pthread_mutex_lock(&frontiers->lock);
	taken = arms->count > 0;
	if (taken && --arms->count == 0) /* else the least may be too small, which tells the others early */
		arms->least = UINT64_MAX;
	find_wanted(frontiers);
	pthread_mutex_unlock(&frontiers->lock);
	return taken;
}
