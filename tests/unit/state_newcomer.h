/* state_newcomer.h - for tests of a newcomer that awaits a state.
 */
#ifndef WH_TESTS_UNIT_STATE_NEWCOMER_H
#define WH_TESTS_UNIT_STATE_NEWCOMER_H

#include "tests/support/state_lab.h"

#define VIEW 7
#define SHARD 3

static const enum lab_jobs kinds[] = {LAB_AT_ONCE, LAB_LATER};

/* Party 0, that has entered shard 3 in view 7 and expects its state from node 1; 1, 2 and 3 may have it. */
static inline struct party *newcomer(struct lab *lab)
{
	struct party *party = &lab->parties[0];

	party->view = VIEW;
	party->shard = SHARD;
	party->giver_count = 3;
	for (uint32_t i = 0; i < 3; i++)
		party->givers[i] = i + 1;
	wh_state_await(party->state, 1, VIEW, SHARD);
	return party;
}

/* Time passes, with a pass every 10 ms. */
static inline void wait_ns(struct lab *lab, uint64_t ns)
{
	for (uint64_t waited = 0; waited < ns; waited += 10 * WH_NS_PER_MS) {
		lab_advance(lab, 10 * WH_NS_PER_MS - 1000);
		state_lab_step(lab);
	}
}

static inline void check_asked(const struct party *party, size_t count, uint32_t last)
{
	ck_assert_uint_eq(party->asked_count, count);
	ck_assert_uint_eq(party->asked[count - 1], last);
}

#endif
