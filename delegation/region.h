/* region.h - the memory in which the worker of another node leaves what it has to say to a worker here.
 *
 * One region for each pair of workers and direction, of words that that worker alone writes: a greeting, a ring of slots for calls, one for
 * answers to the calls from here, and a word, how many of the answers to its own calls it has taken. Batch n of a ring lies in slot
 * n mod WH_RING, where n - WH_RING was, which has been taken by then. In each slot, and in the greeting, the last word is the guard, which
 * comes behind all else (T3). Nothing of it is used where it lies: it is copied, once, and then looked at, so whatever that node writes
 * meanwhile, or ever, does no harm.
 */
#ifndef WH_DELEGATION_REGION_H
#define WH_DELEGATION_REGION_H

#include <whorl/delegate.h>

#include "base/atomics.h"
#include "delegation/batch.h"

#define WH_REGION_VERSION UINT64_C(0x77686f726c640002) /* of the layout, and of batches */

struct wh_greeting {
	uint64_t digest; /* of the functions */
	uint32_t workers, dedicated;
	uint64_t incarnation; /* of the one that greets */
	uint64_t unused[4];
	uint64_t guard; /* WH_REGION_VERSION */
};

_Static_assert(sizeof(struct wh_greeting) == 64, "a greeting has no holes");

#define WH_RING 32 /* slots: so many batches of a ring can be under way */
#define WH_RING_BYTES ((size_t)WH_RING * (WH_SLOT_MORE + WH_SLOT_BYTES))
/* Where they lie: */
#define WH_REGION_TAKEN sizeof(struct wh_greeting)
#define WH_REGION_CALLS (WH_REGION_TAKEN + 64)
#define WH_REGION_ANSWERS (WH_REGION_CALLS + WH_RING_BYTES)
#define WH_REGION_BYTES (WH_REGION_ANSWERS + WH_RING_BYTES)

/* Where in the region batch `number`, from 1, of that ring lies. */
static inline size_t wh_region_place(size_t ring, uint64_t number)
{
	return ring + (size_t)(number % WH_RING) * (WH_SLOT_MORE + WH_SLOT_BYTES) + WH_SLOT_MORE;
}

/* Of the words of a region. Garbage: of another version, or not what a greeting can say. */
enum wh_taken wh_region_greeting(const wh_word *words, struct wh_greeting *out);
/* The batch behind number `last` of the ring that is there: what is in it is copied to `out`, which has WH_SLOT_MORE before it, but for its
 * guard. Garbage: its number is another, or it begins where none can. Any thread may write the words meanwhile. */
enum wh_taken wh_region_batch(const wh_word *words, size_t ring, uint64_t last, struct wh_slot *out);
/* Whether there is something: that batch, or garbage. */
bool wh_region_has(const wh_word *words, size_t ring, uint64_t last);

#endif
