/* remote.h - what the cases of T7 share: what each node has posted, and what has come of it.
 *
 * Every operation gets the next number of its initiator and target as its cookie, so each completion that is taken is
 * checked to be the next one: none is missing, comes twice, or out of turn.
 */
#ifndef WH_CONFORMANCE_REMOTE_H
#define WH_CONFORMANCE_REMOTE_H

#include "tests/conformance/suite.h"
#include "transport/remote.h"

#define IMMEDIATES_MAX 4096

struct remote_pair { /* of an initiator and a target */
	uint64_t posted, done;
	uint64_t results[32]; /* completions, by result */
	uint64_t value;       /* of the last */
	bool failed;          /* one has not ended well: nor will those behind it */
};

struct remote_at {
	bool idle; /* takes no events */
	uint32_t granted, withdrawn;
	struct wh_remote_event grant, withdrawal; /* the last */
	struct remote_pair to[NODES_MAX];
	uint32_t immediate_count;
	uint32_t immediates[IMMEDIATES_MAX], immediate_from[IMMEDIATES_MAX];
};

struct remote {
	struct group *g;
	struct wh_region *region; /* `REGION` of node 0 */
	struct remote_at at[NODES_MAX];
};

#define REGION UINT64_C(77)
#define REGION_BYTES 65536

/* Nodes that have met, and a region of node 0 that all others have been granted. */
struct remote *remote_make(uint32_t nodes, uint64_t seed);
void remote_free(struct remote *r);
void remote_meet(struct remote *r); /* all of them */

/* Opens another; it must do. */
struct wh_region *remote_open(struct remote *r, uint32_t owner, uint64_t name, uint64_t bytes);
/* Grants it, and waits until the other knows. */
void remote_grant(struct remote *r, struct wh_region *region, uint32_t owner, uint32_t to);

/* Takes what there is at this endpoint, or at all that are not idle; true. */
bool remote_take(struct remote *r, uint32_t id);
bool remote_take_all(struct remote *r);

#define UNTIL_TAKEN(r, condition) UNTIL((r)->g, remote_take_all(r) && (condition))

struct wh_remote_op remote_read(uint64_t offset, void *into, uint64_t bytes);
struct wh_remote_op remote_write(uint64_t offset, const void *from, uint64_t bytes);
struct wh_remote_op remote_tell(uint64_t offset, const void *from, uint64_t bytes, uint32_t immediate);
struct wh_remote_op remote_add(uint64_t offset, uint64_t n);
struct wh_remote_op remote_swap(uint64_t offset, uint64_t expected, uint64_t desired);

/* Posts one: on `REGION` of node 0 unless it says otherwise. */
enum whorl_result remote_post(struct remote *r, uint32_t from, struct wh_remote_op op);
/* It must be taken; when it is done, its value. */
uint64_t remote_do(struct remote *r, uint32_t from, struct wh_remote_op op);
/* All that `from` has posted to `to` is done. */
bool remote_is_done(const struct remote *r, uint32_t from, uint32_t to);

#endif
