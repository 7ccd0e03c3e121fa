/* null.c - the null predicate: what was taken in shows that I owe rounds (Spindle §III-B).
 *
 * When sender rank j covers k rounds, those ranked below j must cover k as well, and those above it k - 1, or what j
 * sent cannot be delivered. The rounds that send had no message for are covered here: a run of nulls is one number in
 * the guard, no slot and no payload. The rule looks at the state, not at the receipt that caused it, so nothing has to
 * be remembered; and it never goes beyond what others have covered, so an idle group is silent (I5).
 */
#include "predicates/multicast_int.h"

static uint64_t rounds_owed(const struct wh_multicast *mc)
{
	uint32_t me = (uint32_t)mc->config.me;
	uint64_t owed = 0;

	for (uint32_t j = 0; j < mc->config.sender_count; j++) {
		uint64_t covered = mc->senders[j].covered;
		uint64_t target = j > me || covered == 0 ? covered : covered - 1;

		if (j != me && target > owed)
			owed = target;
	}
	return owed;
}

size_t wh_null(struct wh_multicast *mc)
{
	uint64_t owed, nulls;

	if (mc->config.me < 0)
		return 0;
	owed = rounds_owed(mc);
	if (mc->covered >= owed)
		return 0;
	nulls = owed - mc->covered;
	mc->covered = owed;
	wh_count(&mc->config.stats->nulls, nulls);
	wh_event(mc->config.diag, "null", mc->config.subgroup, mc->covered, nulls);
	return nulls;
}
