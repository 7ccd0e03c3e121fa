/* flavours.c - see flavours.h. */
#include "sim/flavours.h"

#include "transport/dice.h"

const char *const wh_flavour_names[WH_FLAVOUR_COUNT + 1] = {
	"any", "mixed", "links", "sleepers", "leaders", "takeovers", "splits", "leaves", "joins", "restarts", NULL};

#define NONE WH_OPENING_NONE
#define JOINS WH_HABIT_JOINS
#define RETURNS WH_HABIT_RETURNS
#define LINKS WH_HABIT_SINGLE_LINKS
#define LOW WH_HABIT_LOW_RANKS
#define STEPS WH_HABIT_STEPS

static const struct wh_flavour flavours[WH_FLAVOUR_COUNT] = {
	[WH_FLAVOUR_MIXED] = {"mixed", 4, 2, 9, 1, WH_FAULTS_MAX, {4, 2, 2, 1, 1, 1}, 100, 1000, NONE, JOINS},
	[WH_FLAVOUR_LINKS] = {"links", 3, 3, 7, 2, 8, {1, 1, 4, 3, 0, 0}, 1000, 100, NONE, LINKS},
	[WH_FLAVOUR_SLEEPERS] = {"sleepers", 4, 3, 5, 2, 6, {2, 5, 1, 0, 0, 0}, 100, 100, NONE, STEPS},
	[WH_FLAVOUR_LEADERS] = {"leaders", 3, 4, 9, 2, 6, {5, 2, 2, 1, 0, 0}, 1000, 100, NONE, LINKS | LOW | STEPS},
	[WH_FLAVOUR_TAKEOVERS] = {"takeovers", 5, 5, 9, 2, 3, {2, 2, 1, 1, 0, 1}, 1000, 100, WH_OPENING_TAKEOVER, STEPS},
	[WH_FLAVOUR_SPLITS] = {"splits", 4, 3, 7, 2, 6, {2, 2, 4, 1, 1, 0}, 100, 100, WH_OPENING_BETWEEN_TWO, 0},
	[WH_FLAVOUR_LEAVES] = {"leaves", 2, 2, 7, 2, 7, {1, 1, 1, 1, 0, 5}, 1000, 100, NONE, LINKS},
	[WH_FLAVOUR_JOINS] = {"joins", 2, 2, 5, 0, 3, {3, 2, 2, 1, 0, 1}, 100, 100, NONE, JOINS},
	[WH_FLAVOUR_RESTARTS] = {"restarts", 2, 2, 5, 1, 5, {5, 1, 1, 0, 0, 2}, 100, 100, NONE, JOINS | RETURNS},
};

const struct wh_flavour *wh_flavour_of(int flavour, uint64_t seed)
{
	struct wh_dice dice = wh_dice_split(seed, 402);
	uint32_t sum = 0;
	uint64_t at;

	if (flavour != WH_FLAVOUR_ANY)
		return &flavours[flavour];
	for (int i = WH_FLAVOUR_FIRST; i < WH_FLAVOUR_COUNT; i++)
		sum += flavours[i].weight;
	at = wh_dice_below(&dice, sum);
	for (flavour = WH_FLAVOUR_FIRST; at >= flavours[flavour].weight; flavour++)
		at -= flavours[flavour].weight;
	return &flavours[flavour];
}
