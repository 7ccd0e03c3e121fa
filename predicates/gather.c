/* gather.c - messages that a program commits between two passes are gathered (Spindle §III-A, where the loop has no thread of its own).
 *
 * A thread of its own finds many messages in a pass, as others have been committed while it made the last one. A program that makes the passes
 * itself, one for each message, would send each alone, and where a send and a look are system calls that is dear. So while a quarter of
 * the window is on its way, passes that find newly committed messages leave them, and all else of the subgroup, to a later one: until one
 * finds no new message, or half of the window is gathered, or GATHER_NS are over. What is on its way keeps the others at work
 * meanwhile. A message that no other follows waits for one pass, and none does that finds little on its way.
 *
 * No wake-up is lost by it: a pass that has gathered has work, so a loop does not sleep behind it, and is not lent.
 */
#include "predicates/multicast_int.h"

#define GATHER_NS (300 * WH_NS_PER_US)

/* Counts those that are committed, and not sent, up to `most`. What was counted before is committed still. */
static uint32_t count_committed(const struct wh_ring *ring, uint32_t from, uint32_t most)
{
	uint32_t count = from, slot = (ring->sent_slot + from) % ring->window, bytes;
	bool aborted;

	for (; count < most && wh_ring_ready(ring, ring->sent + count, slot, &bytes, &aborted); count++)
		slot = wh_slot_after(slot, ring->window);
	return count;
}

bool wh_gather(struct wh_multicast *mc)
{
	const struct wh_ring *ring = mc->config.ring;
	uint32_t most = mc->config.window / 2, before = mc->gathered, count;

	mc->gathered = 0;
	if (mc->config.gathers == NULL || ring == NULL || ring->sent == ring->freed ||
	    ring->sent - ring->freed < mc->config.window / 4)
		return false;
	count = count_committed(ring, before, most);
	if (count == before || count >= most)
		return false;
	if (before == 0)
		mc->gather_since_ns = wh_env_now(mc->config.diag->env);
	else if (wh_env_now(mc->config.diag->env) - mc->gather_since_ns >= GATHER_NS)
		return false;
	mc->gathered = count;
	*mc->config.gathers = true;
	return true;
}
