/* region.h - the memory in which the worker of another node leaves what it has to say to a worker here.
 *
 * One region for each pair of workers and direction, of words that that worker alone writes: a greeting, a slot of calls, and a slot of answers
 * to the calls from here. In each the last word is the guard, which comes behind all else (T3). Nothing of it is used where it lies: it is
 * copied, once, and then looked at, so whatever that node writes meanwhile, or ever, does no harm.
 */
#ifndef WH_DELEGATION_REGION_H
#define WH_DELEGATION_REGION_H

#include <whorl/delegate.h>

#include "base/atomics.h"
#include "delegation/batch.h"

#define WH_REGION_VERSION UINT64_C(0x77686f726c640001) /* of the layout, and of batches */

struct wh_greeting {
	uint64_t digest; /* of the functions */
	uint32_t workers, dedicated;
	uint64_t incarnation; /* of the one that greets */
	uint64_t unused[4];
	uint64_t guard; /* WH_REGION_VERSION */
};

_Static_assert(sizeof(struct wh_greeting) == 64, "a greeting has no holes");

#define WH_REGION_CALLS sizeof(struct wh_greeting) /* where they lie */
#define WH_REGION_ANSWERS (WH_REGION_CALLS + WH_SLOT_MORE + WH_SLOT_BYTES)
#define WH_REGION_BYTES (WH_REGION_ANSWERS + WH_SLOT_MORE + WH_SLOT_BYTES)

enum wh_taken { WH_TAKEN_NOTHING, WH_TAKEN, WH_TAKEN_GARBAGE };

/* Of the words of a region. Garbage: of another version, or not what a greeting can say. */
enum wh_taken wh_region_greeting(const wh_word *words, struct wh_greeting *out);
/* The batch behind number `last` in the slot at `offset`: what is in it is copied to `out`, which has WH_SLOT_MORE before it, but for its guard. Garbage: its number is another, or it
 * begins where none can. Any thread may write the words meanwhile. */
enum wh_taken wh_region_batch(const wh_word *words, size_t offset, uint64_t last, struct wh_slot *out);

#endif
