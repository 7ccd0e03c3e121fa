/* history.h - the group of the histories in tests: one subgroup of each kind. */
#ifndef WH_TESTS_UNIT_HISTORY_H
#define WH_TESTS_UNIT_HISTORY_H

#include "sim/history.h"
#include "tests/harness.h"
#include "transport/dice.h"

static const struct wh_history_subgroup subgroups[] = {
	{.name = "orders", .ordered = true, .shards = 1, .stateful = false},
	{.name = "ticks", .ordered = false, .shards = 1, .stateful = false},
	{.name = "parts", .ordered = true, .shards = 2, .stateful = false}};
static const struct wh_history_subgroup stateful[] = {
	{.name = "orders", .ordered = true, .shards = 1, .stateful = true},
	{.name = "ticks", .ordered = false, .shards = 1, .stateful = true},
	{.name = "parts", .ordered = true, .shards = 2, .stateful = true}};

static inline struct wh_history *make_of(const struct wh_history_config *config)
{
	struct wh_history *h = wh_history_new(config);

	ck_assert_ptr_nonnull(h);
	return h;
}

static inline struct wh_history *make(uint32_t nodes, int tie_breaker, bool joins)
{
	return make_of(&(struct wh_history_config){.nodes = nodes,
						   .subgroups = subgroups,
						   .subgroup_count = 3,
						   .tie_breaker = tie_breaker,
						   .joins = joins});
}

static inline uint64_t digest_of(uint32_t subgroup, uint32_t sender, uint64_t index)
{
	return wh_mix(subgroup * 1000003 + sender * 10007 + index);
}

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

#endif
