/* check_int.h - what checkers.c and deliveries.c share. */
#ifndef WH_SIM_CHECK_INT_H
#define WH_SIM_CHECK_INT_H

#include <inttypes.h>

#include "sim/play_int.h"

#define FAIL(member, property, format, ...)                                                                            \
	wh_play_fail((member)->actor->play, property ": %s, g%u, view %" PRIu64 ": " format, (member)->actor->name,    \
		     (member)->shard->g, (member)->shard->view->number, __VA_ARGS__)

/* A failed check returns: one breach is enough, and it may lead to any number of others. */
#define REQUIRE(member, condition, property, ...)                                                                      \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			FAIL(member, property, __VA_ARGS__);                                                           \
			return;                                                                                        \
		}                                                                                                      \
	} while (0)

/* Its state there. False: it is not there any more, or not yet. */
bool wh_check_look(const struct shard_member *member, struct wh_inspect_member *out);
/* What it has taken in of a sender. */
struct wh_inspect_sender wh_check_sender(const struct shard_member *member, uint32_t s);
struct shard_member *wh_check_member_of(const struct shard *shard, uint32_t s);
/* Takes in what a sender has sent when the end of its pass is not seen: it leaves, or is in an upcall in the middle of it. */
void wh_check_catch_up(struct shard_member *member);

static inline bool has_failed(const struct shard_member *member)
{
	return wh_play_failed(member->actor->play);
}

/* A node that has closed took what it sent last with it, and so has one that closes and has gone on to another view: of that only
 * the others know. */
static inline bool has_closed(const struct shard_member *member)
{
	return member->actor->node == NULL || (member->actor->leaving && member->gone);
}

static inline uint64_t round_of(const struct part *part, uint64_t number)
{
	return part->rounds[number - part->first];
}

#endif
