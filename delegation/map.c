/* map.c - see map.h. At most half of the places are taken, and one that is left is filled from those behind it, so a search ends at the first
 * that is free.
 */
#include "delegation/map.h"

#include <stdlib.h>

#define LEAST 4

static size_t place_of(uint64_t key, size_t capacity)
{
	key *= UINT64_C(0x9e3779b97f4a7c15);
	return (size_t)(key >> 32) & (capacity - 1);
}

void wh_map_free(struct wh_map *map)
{
	free(map->pairs);
	*map = (struct wh_map){0};
}

static void insert(struct wh_map *map, uint64_t key, uint64_t value)
{
	size_t at = place_of(key, map->capacity);

	while (map->pairs[at].key != 0)
		at = (at + 1) & (map->capacity - 1);
	map->pairs[at] = (struct wh_map_pair){key, value};
}

static bool grow(struct wh_map *map)
{
	struct wh_map grown = {.count = map->count, .capacity = map->capacity == 0 ? LEAST : 2 * map->capacity};

	grown.pairs = calloc(grown.capacity, sizeof(*grown.pairs));
	if (grown.pairs == NULL)
		return false;
	for (size_t i = 0; i < map->capacity; i++)
		if (map->pairs[i].key != 0)
			insert(&grown, map->pairs[i].key, map->pairs[i].value);
	free(map->pairs);
	*map = grown;
	return true;
}

bool wh_map_put(struct wh_map *map, uint64_t key, uint64_t value)
{
	if (2 * (map->count + 1) > map->capacity && !grow(map))
		return false;
	insert(map, key, value);
	map->count++;
	return true;
}

uint64_t *wh_map_find(const struct wh_map *map, uint64_t key)
{
	size_t at;

	if (map->count == 0)
		return NULL;
	for (at = place_of(key, map->capacity); map->pairs[at].key != 0; at = (at + 1) & (map->capacity - 1))
		if (map->pairs[at].key == key)
			return &map->pairs[at].value;
	return NULL;
}

/* Whether the pair at `from` may move to `hole`: its own place does not lie behind the hole, in the order in which a search goes. */
static bool may_move(const struct wh_map *map, size_t hole, size_t from)
{
	size_t mask = map->capacity - 1, home = place_of(map->pairs[from].key, map->capacity);

	return ((from - home) & mask) >= ((from - hole) & mask);
}

bool wh_map_take(struct wh_map *map, uint64_t key, uint64_t *value)
{
	uint64_t *found = wh_map_find(map, key);
	size_t hole, at, mask = map->capacity - 1;

	if (found == NULL)
		return false;
	if (value != NULL)
		*value = *found;
	hole = (size_t)((struct wh_map_pair *)(void *)(found - 1) - map->pairs);
	for (at = (hole + 1) & mask; map->pairs[at].key != 0; at = (at + 1) & mask) {
		if (!may_move(map, hole, at))
			continue;
		map->pairs[hole] = map->pairs[at];
		hole = at;
	}
	map->pairs[hole].key = 0;
	map->count--;
	return true;
}
