/* host.h - what participants ask of the machine: the time, threads that wait, and how a node is opened.
 *
 * The system's table is what a program has. The simulator has another, so that the same object code runs in virtual time, with threads
 * that take turns and many processes in one (tests/sim/topics_host.h).
 *
 * Calls of a node wait by themselves on the system. In a simulation nothing may, but what says so: there a call is given no time, and is made again
 * when something has happened. The functions at the end do either, so that the code above them need not know.
 */
#ifndef WH_DDS_HOST_H
#define WH_DDS_HOST_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <whorl/whorl.h>

struct wh_dds_thread {
	pthread_t system;
	void *simulated;
};

struct wh_dds_host {
	void *ctx;
	bool simulated;                  /* calls of a node are given no time */
	uint64_t (*clock_ns)(void *ctx); /* monotonic */
	uint64_t (*real_ns)(void *ctx);  /* since 1970 */
	uint64_t (*thread)(void *ctx);   /* which thread this is */
	uint64_t (*process)(void *ctx);  /* which process: a node of it is no other's */
	/* Waits for the condition with the lock, at most until then, and may come back before. The time is in the future. */
	void (*wait)(void *ctx, pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until_ns);
	/* Lets others go on, for a moment. With no lock. */
	void (*pause)(void *ctx);
	bool (*start)(void *ctx, struct wh_dds_thread *thread, void *(*fn)(void *), void *argument);
	void (*join)(void *ctx, struct wh_dds_thread *thread); /* its end is near */
	void (*detach)(void *ctx, struct wh_dds_thread *thread);
	/* whorl_open, and whorl_close. */
	enum whorl_result (*open)(void *ctx, whorl_config *config, uint32_t id, whorl_node **node);
	enum whorl_result (*close)(void *ctx, whorl_node *node, int timeout_ms);
};

/* The one of this process. */
const struct wh_dds_host *wh_dds_host(void);
/* The simulator's, while no entity is there; NULL: the system's. */
void wh_dds_host_set(const struct wh_dds_host *host);

uint64_t wh_dds_clock(void); /* ns */
uint64_t wh_dds_this_thread(void);
/* Waits on a condition that wh_thread_condition_init has made, a second at most. False: the time is over. */
bool wh_dds_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until_ns);

/* Locks what other threads have for moments only: looks for it again, and yields, for some of these, since a thread that sleeps has to be woken by the
 * one that unlocks. */
void wh_dds_lock_soon(pthread_mutex_t *lock);

/* There was no room, or no time, for now. */
static inline bool wh_dds_is_for_now(enum whorl_result result)
{
	return result == WHORL_AGAIN || result == WHORL_TIMEOUT || result == WHORL_NO_QUORUM;
}

/* What a call of the node may be given of this: all, or, in a simulation, nothing. */
int wh_dds_given_ms(int timeout_ms);
/* Between two such calls: in a simulation others go on now. With no lock. */
void wh_dds_rest(void);
/* whorl_ready, whorl_subgroup_ready, whorl_subgroup_leave, whorl_frontier_wait. */
enum whorl_result wh_dds_node_ready(whorl_node *node, int timeout_ms);
enum whorl_result wh_dds_subgroup_enter(whorl_node *node, const char *name,
					const struct whorl_subgroup_options *options, int timeout_ms,
					whorl_subgroup **out);
enum whorl_result wh_dds_subgroup_ready(whorl_subgroup *subgroup, int timeout_ms);
enum whorl_result wh_dds_subgroup_leave(whorl_subgroup *subgroup, int timeout_ms);
enum whorl_result wh_dds_frontier_wait(whorl_subgroup *subgroup, enum whorl_frontier which, uint64_t index,
				       int timeout_ms);

#endif
