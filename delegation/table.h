/* table.h - the functions that may be delegated, by number.
 *
 * The numbers follow from the names, so programs that know the same functions number them alike, wherever their code lies; the digest says
 * whether they do. What comes from elsewhere is a number, and no address.
 */
#ifndef WH_DELEGATION_TABLE_H
#define WH_DELEGATION_TABLE_H

#include <whorl/delegate.h>

#include "base/error.h"

#define WH_FUNCTIONS_MOST 32768
#define WH_TYPE_NONE 0 /* of a function without a property */

struct wh_known { /* a function */
	const struct whorl_function *function;
	uint32_t type; /* of its properties: WH_TYPE_NONE, or the number of a name */
	uint32_t argument_bytes, result_bytes;
};

struct wh_table { /* [const] once it is made */
	struct wh_known *known;
	uint32_t count, types;
	struct wh_table_place {
		const struct whorl_function *function;
		uint32_t number;
	} * places; /* where a function's number is found: a hash table, half full at most */
	uint32_t place_mask;
	uint64_t digest;
};

/* WHORL_OK, WHORL_MEMORY; WHORL_INVALID: `err` says which function, and what is wrong. */
WH_MUST_CHECK enum whorl_result wh_table_make(struct wh_table *table, const struct whorl_function *const *functions,
					      size_t count, struct wh_error *err);
void wh_table_free(struct wh_table *table);

/* Its number; UINT32_MAX: it is not there. */
uint32_t wh_table_find(const struct wh_table *table, const struct whorl_function *function);
/* The number of a type of properties, which functions are for; WH_TYPE_NONE: none is. */
uint32_t wh_table_type(const struct wh_table *table, const struct whorl_type *type);

/* ---- digests: a sum that is WH_DIGEST_BEGIN at first */

#define WH_DIGEST_BEGIN UINT64_C(0xcbf29ce484222325)
void wh_digest(uint64_t *sum, const void *data, size_t bytes);
void wh_digest_number(uint64_t *sum, uint64_t number);
void wh_digest_function(uint64_t *sum, const struct whorl_function *function);

#endif
