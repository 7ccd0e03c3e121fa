/* any_id.h - an id for a node to which any is right (docs/decisions/0047).
 *
 * Ids are tried one after the other until one is taken. Which come first is a matter of how the group is formed; where it does not
 * matter it begins at a random place, so that many processes that start at once do not all try the same ones.
 */
#ifndef WH_GROUP_CONFIG_ANY_ID_H
#define WH_GROUP_CONFIG_ANY_ID_H

#include "group/config/config.h"

/* Takes that id. WHORL_OK; WHORL_AGAIN: a process has it; whatever else is wrong: no other id is tried. */
typedef enum whorl_result wh_take_id(void *ctx, uint32_t id, struct wh_error *err);

struct wh_any_id {
	const struct wh_node_config *config;
	const uint32_t *
		first; /* ids that are tried before all others, in this order: those of directories that have logs (0058) */
	size_t first_count;
	uint64_t random; /* where it begins */
	wh_take_id *take;
	void *ctx;
};

/* WHORL_OK: *id is taken; WHORL_REFUSED: none is free; what `take` has said. */
WH_MUST_CHECK enum whorl_result wh_any_id(const struct wh_any_id *any, uint32_t *id, struct wh_error *err);

#endif
