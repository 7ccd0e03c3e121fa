/* verbs_trip.h - one end of a trip on verbs (trips.c): memory of its own, into which the other end writes a message and, behind
 * it, its number.
 *
 * Threads: an end belongs to one. Functions that can fail return NULL, or what failed; errno says why.
 */
#ifndef WH_BENCH_LIMIT_VERBS_TRIP_H
#define WH_BENCH_LIMIT_VERBS_TRIP_H

#include "base/atomics.h"
#include "bench/limit/limit_int.h"
#include "bench/limit/verbs_link.h"

/* How the two ends find each other, in memory that they share; zeroed. */
struct wh_limit_verbs_cards {
	struct wh_limit_card cards[2];
	wh_word filled; /* [ends] */
};

struct wh_limit_verbs_end {
	struct wh_limit_device device;
	struct wh_limit_link link;
	char *memory;
	const wh_word *head_in; /* the number of the last message that has come */
	char *in, *out;         /* a message of `bytes` each */
	size_t bytes;
	bool wakes;
};

/* Opens the device and meets the other end; gives up when the phase changes. With `wakes` a message wakes the thread that sleeps
 * for it. Whatever it returns, close follows. */
const char *wh_limit_verbs_end_open(struct wh_limit_verbs_end *end, uint32_t node, const char *address, size_t bytes,
				    bool wakes, struct wh_limit_verbs_cards *cards, struct wh_phase *phase);
/* Writes what is in `out`, and its number behind it. */
const char *wh_limit_verbs_end_write(struct wh_limit_verbs_end *end, uint64_t number);
/* Also of an end that is zeroed. */
void wh_limit_verbs_end_close(struct wh_limit_verbs_end *end);

#endif
