/* redial.c - see redial.h. */
#include "transport/session/dial.h"

#include <assert.h>
#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define SOON_NS (2 * WH_NS_PER_MS) /* then twice as long, and so on until that is seldom */
#define TOGETHER_NS WH_NS_PER_MS   /* calls that are due so soon wait for no timer of their own */
#define LATE_NS (WH_NS_PER_S / 2)  /* a search that has not looked for so long begins anew */
#define CONNECTS_AT_ONCE 16        /* of those that were not there before: on one host each takes about a microsecond */

void wh_dial_init(struct wh_dial *redial, const struct wh_transport_config *config)
{
	*redial = (struct wh_dial){
		.env = config->env, .patience_ns = config->patience_ns, .timer = -1, .unsought = config->nodes - 1};
}

bool wh_dial_open(struct wh_dial *redial)
{
	redial->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return redial->timer >= 0;
}

void wh_dial_timer(struct wh_dial *redial, uint64_t in_ns)
{
	/* a timer of no time at all would not run */
	struct itimerspec when = {.it_value.tv_sec = (time_t)(in_ns / WH_NS_PER_S),
				  .it_value.tv_nsec = (long)(in_ns % WH_NS_PER_S) + (in_ns == 0)};
	uint64_t at = wh_env_now(redial->env) + in_ns;

	if ((redial->timer_ns == 0 || at < redial->timer_ns) && timerfd_settime(redial->timer, 0, &when, NULL) == 0)
		redial->timer_ns = at;
}

uint64_t wh_dial_tick(struct wh_dial *redial)
{
	uint64_t times;

	redial->timer_ns = 0;
	(void)!read(redial->timer, &times, sizeof(times));
	return wh_env_now(redial->env);
}

int wh_dial_wait(struct wh_dial *redial, int epoll, struct epoll_event *events, int room, uint64_t timeout_ns)
{
	struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / WH_NS_PER_S),
				   .tv_nsec = (long)(timeout_ns % WH_NS_PER_S)};
	int n;

	if (!redial->no_pwait2) {
		n = epoll_pwait2(epoll, events, room, &timeout, NULL);
		if (n >= 0 || (errno != ENOSYS && errno != EPERM))
			return n;
		redial->no_pwait2 = true; /* before Linux 5.11, or a filter that does not know it */
	}
	return epoll_wait(epoll, events, room, (int)((timeout_ns + WH_NS_PER_MS - 1) / WH_NS_PER_MS));
}

/* ---- calling ------------------------------------------------------------------------------------------------------ */

static void connect_in(struct wh_dial *redial, struct wh_dial_peer *peer, uint64_t in_ns)
{
	peer->in_ns = in_ns;
	peer->at_ns = wh_env_now(redial->env) + in_ns;
	wh_dial_timer(redial, in_ns);
}

void wh_dial_soon(struct wh_dial *redial, struct wh_dial_peer *peer)
{
	uint64_t in_ns = peer->in_ns == 0 ? SOON_NS : 2 * peer->in_ns;

	connect_in(redial, peer, in_ns < redial->seldom_ns ? in_ns : redial->seldom_ns);
}

void wh_dial_seldom(struct wh_dial *redial, struct wh_dial_peer *peer)
{
	wh_dial_sought(redial, peer);
	connect_in(redial, peer, redial->seldom_ns);
	peer->in_ns = 0;
}

void wh_dial_sought(struct wh_dial *redial, struct wh_dial_peer *peer)
{
	if (peer->sought)
		return;
	assert(redial->unsought > 0);
	peer->sought = true;
	redial->unsought--;
}

void wh_dial_met(struct wh_dial *redial, struct wh_dial_peer *peer)
{
	wh_dial_sought(redial, peer);
	peer->in_ns = 0;
}

bool wh_dial_is_due(const struct wh_dial_peer *peer, uint64_t now, uint32_t *again)
{
	return peer->at_ns <= now + TOGETHER_NS && !(peer->sought && (*again)++ >= CONNECTS_AT_ONCE);
}

void wh_dial_tried(struct wh_dial *redial, uint64_t now, uint64_t next_ns)
{
	uint64_t soon = now + SOON_NS;

	if (next_ns != UINT64_MAX)
		wh_dial_timer(redial, (next_ns > soon ? next_ns : soon) - now);
	if (redial->search_until_ns == 0)
		redial->search_until_ns = now + redial->patience_ns;
}

/* ---- searching ---------------------------------------------------------------------------------------------------- */

void wh_dial_begin(struct wh_dial *redial, uint64_t seldom_ns)
{
	redial->seldom_ns = seldom_ns;
	redial->searching = true;
	wh_dial_timer(redial, 1);
}

void wh_dial_search(struct wh_dial *redial)
{
	uint64_t now = wh_env_now(redial->env);
	bool late = now - redial->searched_ns > LATE_NS;

	redial->searched_ns = now;
	if (redial->search_until_ns == 0)
		return;
	if (late)
		redial->search_until_ns = now + redial->patience_ns;
	redial->searching = redial->unsought > 0 && now < redial->search_until_ns;
}
