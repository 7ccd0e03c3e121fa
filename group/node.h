/* node.h - opening a node in a world: the system's, or the simulator's.
 *
 * whorl_open is wh_node_open in the world of this machine. The simulator and the tests bring their own clock, dice and
 * transport; everything above them is the same object code.
 */
#ifndef WH_GROUP_NODE_H
#define WH_GROUP_NODE_H

#include "group/config/config.h"
#include "group/record.h"
#include "predicates/hot.h"
#include "transport/transport.h"

struct wh_world {
	const struct wh_env *env;
	wh_transport_create *create;
	void *create_ctx;
	bool headers_apart; /* smc/slots.h: true where pushing bytes costs nothing */
	bool one_host;      /* all nodes are processes of this host, and the transport knows which ids they hold */
	/* Takes the id of a node (transport/shm/shm.h); NULL: an id is an address here, and none is to be had by looking for one. */
	enum whorl_result (*take_id)(const char *group, uint32_t node, int *held, struct wh_error *err);
	const struct wh_record_ops
		*records; /* where records are kept (0032); NULL: in [group] state_dir, if that is set */
	void *records_ctx;
};

/* `config` is copied. The results of whorl_open. */
WH_MUST_CHECK enum whorl_result wh_node_open(const struct wh_node_config *config, uint32_t id,
					     const struct wh_world *world, const struct whorl_open_options *options,
					     whorl_node **out, struct wh_error *err);

/* What its passes have looked at so far: for a world in which that takes time. The thread that makes them. */
struct wh_looks wh_node_looks(const whorl_node *node);

#endif
