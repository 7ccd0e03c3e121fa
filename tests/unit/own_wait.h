/* own_wait.h - shared memory as it is, but for wait, which is the test's: own_wait, in which it may call real_wait. */
#ifndef WH_TESTS_UNIT_OWN_WAIT_H
#define WH_TESTS_UNIT_OWN_WAIT_H

#include "transport/shm.h"

static void own_wait(struct wh_transport *transport, uint64_t timeout_ns);

static struct wh_transport_ops own_ops;
static void (*real_wait)(struct wh_transport *transport, uint64_t timeout_ns);

/* A wh_transport_create. */
static inline enum whorl_result create_own_wait(const struct wh_transport_config *config, void *ctx,
						struct wh_transport **out, struct wh_error *err)
{
	enum whorl_result result = wh_shm_create(config, ctx, out, err);

	if (result != WHORL_OK)
		return result;
	own_ops = *(*out)->ops;
	real_wait = own_ops.wait;
	own_ops.wait = own_wait;
	(*out)->ops = &own_ops;
	return WHORL_OK;
}

#endif
