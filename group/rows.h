/* rows.h - the arithmetic of rows: what lies where in each member's row, from the view and the options alone.
 *
 * A row is the control columns, the same for all, and then, each at a page, the rings of those subgroups that its owner
 * sends in. A node's image of a peer's row holds the columns, and the rings of subgroups that the node is in itself.
 */
#ifndef WH_GROUP_ROWS_H
#define WH_GROUP_ROWS_H

#include "group/config/config.h"
#include "membership/view.h"
#include "smc/slots.h"
#include "sst/columns.h"
#include "transport/transport.h"

struct wh_rows {
	struct wh_layout layout;
	struct wh_node_columns node;
	struct wh_row_spec *specs;    /* by rank, as seen by my_rank */
	struct wh_row_part *parts;    /* what the specs point into */
	struct wh_relay_spec *relays; /* what the members before my_rank in chains push to it (docs/decisions/0074) */
	size_t relay_count;
	struct wh_slots *slots; /* and the subgroups */
	uint64_t control_bytes;
	uint64_t digest; /* of everything that the places depend on */
	struct wh_rows_subgroup {
		struct wh_subgroup_columns columns;
		struct wh_slots *slots; /* by sender rank */
	} * subgroups;
	uint32_t subgroup_count;
};

/* How many words say in which of so many shards something moves; 0: there are so few that all are stepped in each pass (0041). */
uint32_t wh_rows_moved_words(const struct wh_node_config *config, uint32_t shards);

/* `apart`: headers and payloads as two arrays (smc/slots.h). WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_rows_create(struct wh_rows **out, const struct wh_view *view,
					       const struct wh_node_config *config, uint32_t my_rank, bool apart,
					       struct wh_error *err);
void wh_rows_free(struct wh_rows *rows);

#endif
