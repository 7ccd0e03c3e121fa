/* pace.c - see pace.h. */
#include "transport/pace.h"

#include <assert.h>
#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define SOON_NS (2 * WH_NS_PER_MS) /* then twice as long, and so on until that is seldom */
#define TOGETHER_NS WH_NS_PER_MS   /* calls that are due so soon wait for no timer of their own */
#define LATE_NS (WH_NS_PER_S / 2)  /* who searches and has not looked for so long begins anew */
#define CALLS_AT_ONCE 16           /* of those who were not there before: on one host each takes about a microsecond */

void wh_pace_init(struct wh_pace *pace, const struct wh_transport_config *config)
{
	*pace = (struct wh_pace){
		.env = config->env, .patience_ns = config->patience_ns, .timer = -1, .unsought = config->nodes - 1};
}

bool wh_pace_open(struct wh_pace *pace)
{
	pace->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return pace->timer >= 0;
}

void wh_pace_timer(struct wh_pace *pace, uint64_t in_ns)
{
	/* a timer of no time at all would not run */
	struct itimerspec when = {.it_value.tv_sec = (time_t)(in_ns / WH_NS_PER_S),
				  .it_value.tv_nsec = (long)(in_ns % WH_NS_PER_S) + (in_ns == 0)};
	uint64_t at = wh_env_now(pace->env) + in_ns;

	if ((pace->timer_ns == 0 || at < pace->timer_ns) && timerfd_settime(pace->timer, 0, &when, NULL) == 0)
		pace->timer_ns = at;
}

uint64_t wh_pace_tick(struct wh_pace *pace)
{
	uint64_t times;

	pace->timer_ns = 0;
	(void)!read(pace->timer, &times, sizeof(times));
	return wh_env_now(pace->env);
}

int wh_pace_wait(struct wh_pace *pace, int epoll, struct epoll_event *events, int room, uint64_t timeout_ns)
{
	struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / WH_NS_PER_S),
				   .tv_nsec = (long)(timeout_ns % WH_NS_PER_S)};
	int n;

	if (!pace->no_pwait2) {
		n = epoll_pwait2(epoll, events, room, &timeout, NULL);
		if (n >= 0 || (errno != ENOSYS && errno != EPERM))
			return n;
		pace->no_pwait2 = true; /* before Linux 5.11, or a filter that does not know it */
	}
	return epoll_wait(epoll, events, room, (int)((timeout_ns + WH_NS_PER_MS - 1) / WH_NS_PER_MS));
}

/* ---- calling ------------------------------------------------------------------------------------------------------ */

static void call_in(struct wh_pace *pace, struct wh_pace_call *call, uint64_t in_ns)
{
	call->in_ns = in_ns;
	call->at_ns = wh_env_now(pace->env) + in_ns;
	wh_pace_timer(pace, in_ns);
}

void wh_pace_soon(struct wh_pace *pace, struct wh_pace_call *call)
{
	uint64_t in_ns = call->in_ns == 0 ? SOON_NS : 2 * call->in_ns;

	call_in(pace, call, in_ns < pace->seldom_ns ? in_ns : pace->seldom_ns);
}

void wh_pace_seldom(struct wh_pace *pace, struct wh_pace_call *call)
{
	wh_pace_sought(pace, call);
	call_in(pace, call, pace->seldom_ns);
	call->in_ns = 0;
}

void wh_pace_sought(struct wh_pace *pace, struct wh_pace_call *call)
{
	if (call->sought)
		return;
	assert(pace->unsought > 0);
	call->sought = true;
	pace->unsought--;
}

void wh_pace_met(struct wh_pace *pace, struct wh_pace_call *call)
{
	wh_pace_sought(pace, call);
	call->in_ns = 0;
}

bool wh_pace_is_due(const struct wh_pace_call *call, uint64_t now, uint32_t *again)
{
	return call->at_ns <= now + TOGETHER_NS && !(call->sought && (*again)++ >= CALLS_AT_ONCE);
}

void wh_pace_called(struct wh_pace *pace, uint64_t now, uint64_t next_ns)
{
	uint64_t soon = now + SOON_NS;

	if (next_ns != UINT64_MAX)
		wh_pace_timer(pace, (next_ns > soon ? next_ns : soon) - now);
	if (pace->search_until_ns == 0)
		pace->search_until_ns = now + pace->patience_ns;
}

/* ---- searching ---------------------------------------------------------------------------------------------------- */

void wh_pace_begin(struct wh_pace *pace, uint64_t seldom_ns)
{
	pace->seldom_ns = seldom_ns;
	pace->searching = true;
	wh_pace_timer(pace, 1);
}

void wh_pace_search(struct wh_pace *pace)
{
	uint64_t now = wh_env_now(pace->env);
	bool late = now - pace->searched_ns > LATE_NS;

	pace->searched_ns = now;
	if (pace->search_until_ns == 0)
		return;
	if (late)
		pace->search_until_ns = now + pace->patience_ns;
	pace->searching = pace->unsought > 0 && now < pace->search_until_ns;
}
