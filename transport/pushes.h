/* pushes.h - the pushes of one trigger, collected and posted at its end (Spindle §III-C).
 *
 * With `deferred` off each push is posted where it is made, as the paper's baseline does. Loop thread only.
 */
#ifndef WH_TRANSPORT_PUSHES_H
#define WH_TRANSPORT_PUSHES_H

#include "base/counter.h"
#include "transport/transport.h"

#define WH_PUSHES_MAX 32

struct wh_push_stats {   /* written by the loop, read by any thread */
	wh_word pushes;  /* ranges pushed */
	wh_word writes;  /* pushes times the peers of each: what the paper counts as RDMA writes */
	wh_word bytes;   /* pushed, times peers */
	wh_word posts;   /* calls of post() */
	wh_word post_ns; /* time in post(), from one call in WH_POST_SAMPLE */
};

#define WH_POST_SAMPLE 16

struct wh_pushes {
	struct wh_image *image;
	const struct wh_env *env;
	struct wh_push_stats *stats;
	bool deferred;
	uint32_t count;
	struct wh_push list[WH_PUSHES_MAX];
};

void wh_pushes_init(struct wh_pushes *pushes, const struct wh_env *env, struct wh_push_stats *stats, bool deferred);

void wh_push_bytes(struct wh_pushes *pushes, uint64_t offset, uint64_t bytes, const uint32_t *to, uint32_t to_count);
/* Of the row of another member, of which my copy is pushed (T14). */
void wh_push_relayed(struct wh_pushes *pushes, uint32_t owner, uint64_t offset, uint64_t bytes, const uint32_t *to,
		     uint32_t to_count);
void wh_push_word(struct wh_pushes *pushes, uint64_t offset, uint64_t value, const uint32_t *to, uint32_t to_count);
void wh_push_word_no_wake(struct wh_pushes *pushes, uint64_t offset, uint64_t value, const uint32_t *to,
			  uint32_t to_count);
/* With advice: an or of these. Without `deferred` like any other. */
enum wh_push_advice { WH_PUSH_MAY_DELAY = 1, WH_PUSH_MAY_REORDER = 2 };
void wh_push_word_advised(struct wh_pushes *pushes, uint64_t offset, uint64_t value, unsigned advice,
			  const uint32_t *to, uint32_t to_count);

/* Posts what was collected: the end of a trigger. */
void wh_pushes_post(struct wh_pushes *pushes);

#endif
