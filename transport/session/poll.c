/* poll.c - see poll.h. */
#include "transport/session/poll.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define WAIT_MAX_NS (3600 * WH_NS_PER_S)

enum whorl_result wh_poll_open(struct wh_poll *poll, const struct wh_env *env, struct wh_error *err)
{
	*poll = WH_POLL_NONE;
	poll->env = env;
	poll->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (poll->epoll < 0)
		return wh_error_system(err, errno, "epoll_create1");
	poll->doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (poll->doorbell < 0)
		return wh_error_system(err, errno, "eventfd");
	poll->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (poll->timer < 0)
		return wh_error_system(err, errno, "timerfd_create");
	if (!wh_poll_watch(poll, EPOLL_CTL_ADD, poll->doorbell, EPOLLIN, WH_POLL_DOORBELL, 0) ||
	    !wh_poll_watch(poll, EPOLL_CTL_ADD, poll->timer, EPOLLIN, WH_POLL_TIMER, 0))
		return wh_error_system(err, errno, "epoll_ctl");
	return WHORL_OK;
}

void wh_poll_close(struct wh_poll *poll)
{
	const int own[] = {poll->timer, poll->doorbell, poll->epoll};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (own[i] >= 0)
			close(own[i]);
	*poll = WH_POLL_NONE;
}

bool wh_poll_watch(const struct wh_poll *poll, int operation, int fd, uint32_t events, uint32_t source, uint32_t index)
{
	struct epoll_event event = {.events = events, .data.u64 = (uint64_t)source << 32 | index};

	return epoll_ctl(poll->epoll, operation, fd, &event) == 0;
}

/* ---- time --------------------------------------------------------------------------------------------------------- */

void wh_poll_alarm(struct wh_poll *poll, uint64_t in_ns)
{
	/* a timer of no time at all would not run */
	struct itimerspec when = {.it_value.tv_sec = (time_t)(in_ns / WH_NS_PER_S),
				  .it_value.tv_nsec = (long)(in_ns % WH_NS_PER_S) + (in_ns == 0)};
	uint64_t at = wh_env_now(poll->env) + in_ns;

	if ((poll->timer_ns == 0 || at < poll->timer_ns) && timerfd_settime(poll->timer, 0, &when, NULL) == 0)
		poll->timer_ns = at;
}

void wh_poll_timer_is_out(struct wh_poll *poll)
{
	uint64_t times;

	poll->timer_ns = 0;
	(void)!read(poll->timer, &times, sizeof(times));
}

int wh_poll_wait(struct wh_poll *poll, struct epoll_event events[WH_POLL_AT_ONCE], uint64_t timeout_ns)
{
	uint64_t ns = timeout_ns < WAIT_MAX_NS ? timeout_ns : WAIT_MAX_NS;
	const struct timespec timeout = {.tv_sec = (time_t)(ns / WH_NS_PER_S), .tv_nsec = (long)(ns % WH_NS_PER_S)};
	int n;

	if (!poll->no_pwait2) {
		n = epoll_pwait2(poll->epoll, events, WH_POLL_AT_ONCE, &timeout, NULL);
		if (n >= 0 || (errno != ENOSYS && errno != EPERM))
			return n;
		poll->no_pwait2 = true; /* before Linux 5.11, or a filter that does not know it */
	}
	return epoll_wait(poll->epoll, events, WH_POLL_AT_ONCE, (int)((ns + WH_NS_PER_MS - 1) / WH_NS_PER_MS));
}

int wh_poll_look(const struct wh_poll *poll, struct epoll_event events[WH_POLL_AT_ONCE])
{
	return epoll_wait(poll->epoll, events, WH_POLL_AT_ONCE, 0);
}

/* ---- the doorbell ------------------------------------------------------------------------------------------------- */

void wh_poll_wake(const struct wh_poll *poll)
{
	const uint64_t one = 1;

	(void)!write(poll->doorbell, &one, sizeof(one)); /* a full counter is readable as well */
}

bool wh_poll_hush(const struct wh_poll *poll)
{
	uint64_t rings;

	return read(poll->doorbell, &rings, sizeof(rings)) > 0;
}
