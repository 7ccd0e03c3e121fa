/* dice.h - pseudo-random numbers from a seed, the same on every machine, for what must be repeatable.
 *
 * The generator is splitmix64: one word of state, and any seed is a good one.
 */
#ifndef WH_TRANSPORT_DICE_H
#define WH_TRANSPORT_DICE_H

#include <stdbool.h>
#include <stdint.h>

struct wh_dice {
	uint64_t state;
};

static inline uint64_t wh_mix(uint64_t value)
{
	value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
	return value ^ (value >> 31);
}

static inline uint64_t wh_dice_roll(struct wh_dice *dice)
{
	return wh_mix(dice->state += UINT64_C(0x9e3779b97f4a7c15));
}

/* Dice of their own for a purpose: how often one is rolled does not move the other. */
static inline struct wh_dice wh_dice_split(uint64_t seed, uint64_t purpose)
{
	return (struct wh_dice){wh_mix(seed + UINT64_C(0x9e3779b97f4a7c15)) ^ wh_mix(~purpose)};
}

/* 0 .. n-1; n >= 1. The bias is below n / 2^64. */
static inline uint64_t wh_dice_below(struct wh_dice *dice, uint64_t n)
{
	return wh_dice_roll(dice) % n;
}

static inline uint64_t wh_dice_between(struct wh_dice *dice, uint64_t least, uint64_t most)
{
	return least + wh_dice_below(dice, most - least + 1);
}

/* True in one of n times. */
static inline bool wh_dice_one_in(struct wh_dice *dice, uint64_t n)
{
	return wh_dice_below(dice, n) == 0;
}

#endif
