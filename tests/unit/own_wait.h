/* own_wait.h - shared memory as it is, but for wait, which is the test's: own_wait, in which it may call real_wait; and a node on it. */
#ifndef WH_TESTS_UNIT_OWN_WAIT_H
#define WH_TESTS_UNIT_OWN_WAIT_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "group/node_int.h"
#include "tests/harness.h"
#include "transport/shm/shm.h"

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
	if (real_wait == NULL) { /* loops of others may be using it */
		own_ops = *(*out)->ops;
		real_wait = own_ops.wait;
		own_ops.wait = own_wait;
	}
	(*out)->ops = &own_ops;
	return WHORL_OK;
}

/* A node of a group of `group` (name, nodes, time-outs are its own) with one subgroup "g" of words, on what `create` makes. */
static inline whorl_node *open_on(wh_transport_create *create, uint32_t id, const struct wh_group_options *group,
				  int mode, int64_t window)
{
	const struct wh_world world = {.env = wh_env_system(), .create = create, .headers_apart = true};
	struct wh_node_subgroup subgroup = {.name = "g",
					    .options = {.members = "all",
							.senders = "all",
							.mode = mode,
							.window = window,
							.message_bytes = 8,
							.shards = 1,
							.members_min = 1}};
	struct wh_node_config config = {
		.group = *group,
		.engine = {.send_batching = true,
			   .receive_batching = true,
			   .delivery_batching = true,
			   .null_sends = true,
			   .deferred_push = true,
			   .cpus = "none"},
		.subgroup_count = 1,
		.subgroups = &subgroup,
	};
	struct wh_error err;
	whorl_node *node;
	size_t at = strlen(config.group.name);

	snprintf(config.group.name + at, sizeof(config.group.name) - at, "-%d", (int)getpid());
	ck_assert_msg(wh_node_open(&config, id, &world, NULL, &node, &err) == WHORL_OK, "%s", err.text);
	return node;
}

#endif
