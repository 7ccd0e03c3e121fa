/* poll.h - the descriptors that a loop sleeps on: an epoll, the doorbell of this node, and one timer. Of shm, tcp and verbs. Loop
 * thread only, save wh_poll_wake.
 */
#ifndef WH_TRANSPORT_SESSION_POLL_H
#define WH_TRANSPORT_SESSION_POLL_H

#include <stdbool.h>
#include <sys/epoll.h>

#include "base/env.h"
#include "base/error.h"

#define WH_POLL_AT_ONCE 16

/* What an event is about: a number of the transport's in the upper half of its data, an index in the lower. These two are all
 * transports': */
enum { WH_POLL_DOORBELL, WH_POLL_TIMER, WH_POLL_OTHERS };

struct wh_poll {
	const struct wh_env *env; /* [const] */
	int epoll, timer;         /* [const] */
	int doorbell;             /* [any thread writes it] */
	uint64_t timer_ns;        /* when it runs out, 0: it does not run */
	bool no_pwait2;           /* this kernel has none */
};

/* WHORL_OK, WHORL_SYSTEM: what there is is closed by wh_poll_close. */
enum whorl_result wh_poll_open(struct wh_poll *poll, const struct wh_env *env, struct wh_error *err);
void wh_poll_close(struct wh_poll *poll); /* also of one that is WH_POLL_NONE */
#define WH_POLL_NONE ((struct wh_poll){.epoll = -1, .timer = -1, .doorbell = -1})

/* `operation` as of epoll_ctl. False: errno says why. */
bool wh_poll_watch(const struct wh_poll *poll, int operation, int fd, uint32_t events, uint32_t source, uint32_t index);
static inline uint32_t wh_poll_source(const struct epoll_event *event)
{
	return (uint32_t)(event->data.u64 >> 32);
}
static inline uint32_t wh_poll_index(const struct epoll_event *event)
{
	return (uint32_t)event->data.u64;
}

/* The timer runs out then, unless it does so earlier. */
void wh_poll_alarm(struct wh_poll *poll, uint64_t in_ns);
void wh_poll_timer_is_out(struct wh_poll *poll); /* and is set anew by the next alarm */

/* Waits so long at most. Returns how many events there are, at most WH_POLL_AT_ONCE; < 0: errno says why. */
int wh_poll_wait(struct wh_poll *poll, struct epoll_event events[WH_POLL_AT_ONCE], uint64_t timeout_ns);
int wh_poll_look(const struct wh_poll *poll, struct epoll_event events[WH_POLL_AT_ONCE]); /* without waiting */

void wh_poll_wake(const struct wh_poll *poll); /* any thread: rings the doorbell */
bool wh_poll_hush(const struct wh_poll *poll); /* it has rung, and does so no more */

#endif
