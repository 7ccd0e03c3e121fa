/* map.h - numbers by numbers: a hash table with open addressing. Keys are not 0. */
#ifndef WH_DELEGATION_MAP_H
#define WH_DELEGATION_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wh_map { /* all zero: empty */
	struct wh_map_pair {
		uint64_t key, value;
	} * pairs;
	size_t count, capacity; /* a power of two, or 0 */
};

void wh_map_free(struct wh_map *map);
/* False: no memory. The key is not there yet. */
bool wh_map_put(struct wh_map *map, uint64_t key, uint64_t value);
/* NULL: it is not there. Valid until the next put or take. */
uint64_t *wh_map_find(const struct wh_map *map, uint64_t key);
bool wh_map_take(struct wh_map *map, uint64_t key, uint64_t *value); /* `value` may be NULL */

#endif
