/* known_incarnations.h - which incarnations of a node have ended: each is met once.
 *
 * Not the last one alone is kept in mind: while a network is parted others may come and go in the place of one that calls again
 * when it is not. A row of an older one is in no image that is open.
 */
#ifndef WH_TRANSPORT_SESSION_KNOWN_INCARNATIONS_H
#define WH_TRANSPORT_SESSION_KNOWN_INCARNATIONS_H

#include <stdbool.h>
#include <stdint.h>

#define WH_LIVES 16 /* more than end while an image is open */

struct wh_known_incarnations {
	uint64_t of[WH_LIVES]; /* incarnations that were met, or refused, and are no more; 0: none */
	uint32_t count;        /* so far */
};

static inline bool wh_known_incarnations_has(const struct wh_known_incarnations *ended, uint64_t incarnation)
{
	for (uint32_t i = 0; i < WH_LIVES && incarnation != 0; i++)
		if (ended->of[i] == incarnation)
			return true;
	return false;
}

/* 0, of which nothing is known, is no incarnation. */
static inline void wh_known_incarnations_add(struct wh_known_incarnations *ended, uint64_t incarnation)
{
	if (incarnation != 0 && !wh_known_incarnations_has(ended, incarnation))
		ended->of[ended->count++ % WH_LIVES] = incarnation;
}

#endif
