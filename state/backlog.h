/* backlog.h - messages that are kept back: copies of them, in the order in which they came, in a few blocks of memory.
 *
 * A message costs no allocation of its own: it is copied behind the one before it, in blocks that are freed one by one as messages
 * leave, a large one in one piece. One that is too large for what is left of a block begins another, and a very large one has a block of its own size. What
 * is bounded is what is allocated.
 *
 * Threads: the loop's.
 */
#ifndef WH_STATE_BACKLOG_H
#define WH_STATE_BACKLOG_H

#include <whorl/message.h>

#include <stdbool.h>

#include "base/error.h"

#define WH_BACKLOG_BLOCK (256u << 10) /* bytes in a block, if a message is not larger */

struct wh_backlog {
	struct wh_backlog_block *first, *last;
	size_t messages;
	uint64_t allocated, max; /* bytes */
};

static inline void wh_backlog_init(struct wh_backlog *backlog, uint64_t max)
{
	*backlog = (struct wh_backlog){.max = max};
}

/* Copies a message to the end. WHORL_OK; WHORL_MEMORY: it would take more than `max`; WHORL_SYSTEM: there is no memory. */
WH_MUST_CHECK enum whorl_result wh_backlog_append(struct wh_backlog *backlog, const struct whorl_message *message);

/* The oldest messages, at most `most`; fewer, but at least one, if they are in several blocks. Returns how many. What they point to
 * (16-byte aligned) is valid until they are dropped. */
size_t wh_backlog_oldest(const struct wh_backlog *backlog, struct whorl_message *out, size_t most);

struct wh_backlog_place { /* of a walk; all 0: before the oldest */
	const struct wh_backlog_block *block;
	size_t offset;
	bool walks;
};
/* The next of them; NULL: that was the newest. Nothing is dropped or appended meanwhile. */
const struct whorl_message *wh_backlog_walk(const struct wh_backlog *backlog, struct wh_backlog_place *place);

/* Frees the oldest `count`, of those that were returned just now. */
void wh_backlog_drop(struct wh_backlog *backlog, size_t count);

void wh_backlog_clear(struct wh_backlog *backlog);

#endif
