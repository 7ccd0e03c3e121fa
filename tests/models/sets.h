/* sets.h - small sets: of ranks, nodes or incarnations, a bit for each. */
#ifndef WH_TESTS_MODELS_SETS_H
#define WH_TESTS_MODELS_SETS_H

#include <stdbool.h>
#include <stdint.h>

static inline bool has(unsigned set, int i)
{
	return (set >> i & 1) != 0;
}

static inline uint8_t only(int i)
{
	return (uint8_t)(1U << i);
}

static inline uint8_t below(int i)
{
	return (uint8_t)((1U << i) - 1);
}

static inline int size_of(unsigned set)
{
	return __builtin_popcount(set);
}

/* Of one that is not empty. */
static inline int lowest(unsigned set)
{
	return __builtin_ctz(set);
}

#endif
