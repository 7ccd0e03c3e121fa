/* preparing.h - for tests of next views that are prepared while the view goes on: which nodes want to come in,
 * what records say, and what the others have done.
 */
#ifndef WH_TESTS_SUPPORT_PREPARING_H
#define WH_TESTS_SUPPORT_PREPARING_H

#include "membership/change_int.h"
#include "tests/support/member.h"

/* Those nodes ("89") want to come in. */
void want(struct member *m, const char *nodes);
bool is_renewal(const struct member *m, uint64_t attempt);

/* As that leader: those nodes come in, these ranks rest in subgroup 0. */
void say_record(struct member *m, uint32_t leader, uint64_t attempt, const char *nodes, const char *resting);

void say_proposal(struct member *m, uint32_t leader, uint64_t attempt, const char *nodes, const char *resting);

void say_acknowledged(struct member *m, const char *ranks, uint64_t ticket);
void say_wedged(struct member *m, const char *ranks, uint64_t received);
bool has_wedged(const struct member *m);

/* Those nodes have been proposed, and invited. */
struct member *member_that_invites(uint32_t members, const char *nodes);

#endif
