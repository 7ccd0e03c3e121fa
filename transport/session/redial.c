/* redial.c - see redial.h. */
#include "transport/session/redial.h"

#include <assert.h>

#define SOON_NS (2 * WH_NS_PER_MS) /* then twice as long, and so on until that is seldom */
#define SELDOM_NS WH_NS_PER_S      /* a node that is not there is called so often, in case it cannot call me */
#define TOGETHER_NS WH_NS_PER_MS   /* calls that are due so soon wait for no alarm of their own */
#define LATE_NS (WH_NS_PER_S / 2)  /* a search that has not looked for so long begins anew */
#define CONNECTS_AT_ONCE 16        /* of those that were not there before: on one host each takes about a microsecond */

void wh_redial_init(struct wh_redial *redial, const struct wh_transport_config *config,
		    void (*alarm)(void *ctx, uint64_t in_ns), void *ctx)
{
	*redial = (struct wh_redial){.env = config->env,
				     .alarm = alarm,
				     .ctx = ctx,
				     .patience_ns = config->patience_ns,
				     .unsought = config->nodes - 1};
}

/* ---- calling ------------------------------------------------------------------------------------------------------ */

static void connect_in(struct wh_redial *redial, struct wh_redial_peer *peer, uint64_t in_ns)
{
	peer->in_ns = in_ns;
	peer->at_ns = wh_env_now(redial->env) + in_ns;
	redial->alarm(redial->ctx, in_ns);
}

void wh_redial_soon(struct wh_redial *redial, struct wh_redial_peer *peer)
{
	uint64_t in_ns = peer->in_ns == 0 ? SOON_NS : 2 * peer->in_ns;

	connect_in(redial, peer, in_ns < SELDOM_NS ? in_ns : SELDOM_NS);
}

void wh_redial_seldom(struct wh_redial *redial, struct wh_redial_peer *peer)
{
	wh_redial_sought(redial, peer);
	connect_in(redial, peer, SELDOM_NS);
	peer->in_ns = 0;
}

void wh_redial_sought(struct wh_redial *redial, struct wh_redial_peer *peer)
{
	if (peer->sought)
		return;
	assert(redial->unsought > 0);
	peer->sought = true;
	redial->unsought--;
}

void wh_redial_met(struct wh_redial *redial, struct wh_redial_peer *peer)
{
	wh_redial_sought(redial, peer);
	peer->in_ns = 0;
}

bool wh_redial_is_due(const struct wh_redial_peer *peer, uint64_t now, uint32_t *again)
{
	return peer->at_ns <= now + TOGETHER_NS && !(peer->sought && (*again)++ >= CONNECTS_AT_ONCE);
}

void wh_redial_tried(struct wh_redial *redial, uint64_t now, uint64_t next_ns)
{
	uint64_t soon = now + SOON_NS;

	if (next_ns != UINT64_MAX)
		redial->alarm(redial->ctx, (next_ns > soon ? next_ns : soon) - now);
	if (redial->search_until_ns == 0)
		redial->search_until_ns = now + redial->patience_ns;
}

/* ---- searching ---------------------------------------------------------------------------------------------------- */

void wh_redial_begin(struct wh_redial *redial)
{
	redial->searching = true;
	redial->alarm(redial->ctx, 1);
}

void wh_redial_search(struct wh_redial *redial)
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
