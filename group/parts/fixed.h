/* fixed.h - what is set once while a node is opened, and never changes: any thread reads it, without a lock.
 *
 * The node has it as const, so that nothing else is compiled; group/node.c fills it in before any other thread knows of the node. What
 * pointers here point to has rules of its own.
 */
#ifndef WH_GROUP_PARTS_FIXED_H
#define WH_GROUP_PARTS_FIXED_H

#include "base/gate.h"
#include "group/config/config.h"

struct wh_node_fixed {
	uint32_t id;
	bool caller; /* thread = caller */
	bool headers_apart;
	bool one_host;
	bool forced;   /* an operator has told this start to form a group */
	uint32_t home; /* as in struct wh_change */
	uint64_t incarnation;
	struct wh_transport *transport;
	struct wh_gate *gate; /* its page is wiped in a fork */
	const struct wh_env *world_env;
	struct wh_env env; /* the world's, with our log */
	struct wh_node_config config;
	struct wh_subgroup_text *texts; /* which node is in which subgroup */
	whorl_layout_fn *layout;
	void *layout_ctx;
	struct wh_layout_config layout_config;
	uint64_t memory_bytes; /* the estimate */
	void (*free)(whorl_node *node, bool forked,
		     bool waits_for_disk); /* what the last claim calls that outlives it (send.c) */
};

#endif
