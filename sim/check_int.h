/* check_int.h - what checkers.c and deliveries.c share. */
#ifndef WH_SIM_CHECK_INT_H
#define WH_SIM_CHECK_INT_H

#include <inttypes.h>

#include "sim/play_int.h"

#define FAIL(seat, property, format, ...)                                                                              \
	wh_play_fail((seat)->actor->play, property ": %s, g%u, view %" PRIu64 ": " format, (seat)->actor->name,        \
		     (seat)->circle->g, (seat)->circle->scene->number, __VA_ARGS__)

/* A failed check returns: one breach is enough, and it may lead to any number of others. */
#define REQUIRE(seat, condition, property, ...)                                                                        \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			FAIL(seat, property, __VA_ARGS__);                                                             \
			return;                                                                                        \
		}                                                                                                      \
	} while (0)

/* Its state there. False: it is not there any more, or not yet. */
bool wh_check_look(const struct seat *seat, struct wh_inspect_seat *out);
/* What it has taken in of a sender. */
struct wh_inspect_sender wh_check_sender(const struct seat *seat, uint32_t s);
struct seat *wh_check_seat_of(const struct circle *circle, uint32_t s);
/* Takes in what a sender has sent when the end of its pass is not seen: it leaves, or is in an upcall in the middle of it. */
void wh_check_catch_up(struct seat *seat);

static inline bool has_failed(const struct seat *seat)
{
	return wh_play_failed(seat->actor->play);
}

/* A node that has closed took what it sent last with it, and so has one that closes and has gone on to another view: of that only
 * the others know. */
static inline bool has_closed(const struct seat *seat)
{
	return seat->actor->node == NULL || (seat->actor->leaving && seat->gone);
}

static inline uint64_t round_of(const struct part *part, uint64_t number)
{
	return part->rounds[number - part->first];
}

#endif
