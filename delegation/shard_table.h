/* shard_table.h - the properties of a shard, as one member has them: what ordered calls make of them.
 *
 * What a call does follows from the table and the call alone, so all members that have had the same calls have the same table, in the same
 * order; and each member answers alike. Nothing here is locked: it belongs to the worker of the shard, or, while it is loaded, to the thread that
 * loads it.
 */
#ifndef WH_DELEGATION_SHARD_TABLE_H
#define WH_DELEGATION_SHARD_TABLE_H

#include <whorl/delegate.h>

#include "base/error.h"
#include "delegation/batch.h"
#include "delegation/map.h"
#include "delegation/shard_wire.h"
#include "delegation/table.h"

struct wh_shard_kinds { /* [const] what a program knows that replicas may use */
	const struct wh_table *table;
	uint32_t *functions; /* numbers in the table, by the number that travels */
	uint32_t *numbers;   /* the other way; UINT32_MAX: it is not deterministic */
	uint32_t function_count;
	const struct whorl_type **types; /* by the number that the table gives them; NULL: none that may be replicated */
	uint64_t digest;
};

/* WHORL_OK, WHORL_MEMORY. `table` outlives it. */
WH_MUST_CHECK enum whorl_result wh_shard_kinds_make(struct wh_shard_kinds *kinds, const struct wh_table *table,
						    const struct whorl_type *const *types, size_t count);
void wh_shard_kinds_free(struct wh_shard_kinds *kinds);
/* NULL: properties of that type may be replicated; or why not. */
const char *wh_shard_type_fault(const struct wh_shard_kinds *kinds, const struct whorl_type *type);

struct wh_shard_property {
	uint64_t id;
	const struct whorl_type *type;
	uint32_t type_number;
	void *object;
	size_t at;                      /* in the table's list */
	struct wh_shard_property *next; /* of those with names of one hash */
	char name[];
};

struct wh_shard_table { /* all zero, but for `kinds`: empty */
	const struct wh_shard_kinds *kinds;
	uint64_t digest; /* of the first call; 0: there was none yet */
	struct wh_map by_id, by_name;
	struct wh_shard_property **all;
	size_t count, room;
};

/* Drops all of them. */
void wh_shard_table_free(struct wh_shard_table *table);

struct wh_shard_property *wh_shard_find(const struct wh_shard_table *table, uint64_t id);

#define WH_SHARD_ODD 0xfffe /* no result: this member may not go on */

/* The next call in the order. `id`: of this call, for what it makes: alike at all members, and never again. `wanted`: its answer is, and
 * is added to `out`; reads of others do not run.
 * An enum whorl_result, which all members give: WHORL_OK, WHORL_GONE, WHORL_INVALID, WHORL_REFUSED. Or, of this member alone: WHORL_MEMORY: it could not
 * apply the call; WH_SHARD_ODD: the others know other functions. Then it may apply nothing more. */
uint32_t wh_shard_table_apply(struct wh_shard_table *table, const struct wh_shard_call *call, uint64_t id, bool wanted,
			      struct wh_bytes *out);
/* A read, out of the order. WHORL_OK, WHORL_GONE, WHORL_INVALID, WHORL_MEMORY. */
uint32_t wh_shard_table_read(const struct wh_shard_table *table, uint64_t property, uint32_t function, const void *args,
			     size_t bytes, struct wh_bytes *out);

/* Adds an image of all of them. False: no memory, or one could not be saved. */
bool wh_shard_table_save(const struct wh_shard_table *table, struct wh_bytes *out);

enum wh_shard_loaded { WH_LOADED, WH_LOADED_NOT, WH_LOADED_ODD, WH_LOADED_DAMAGED };
/* An empty one becomes what the image says. WH_LOADED_NOT: no memory, or a `load` said false. If it is not WH_LOADED it is to be freed all the same. */
enum wh_shard_loaded wh_shard_table_load(struct wh_shard_table *table, const void *image, size_t bytes);

#endif
