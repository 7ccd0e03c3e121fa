/* suite.h - what the conformance cases share: a group of endpoints with images of one layout, and a log of events.
 *
 * Each row of the layout has two pages of columns and two rings. Ring 0 is read by all nodes, ring 1 only by the
 * node with the next higher id.
 */
#ifndef WH_CONFORMANCE_SUITE_H
#define WH_CONFORMANCE_SUITE_H

#include "base/atomics.h"
#include "tests/conformance/world.h"
#include "tests/harness.h"
#include "tests/patience.h"

#define NODES_MAX 4
#define VIEWS_MAX 4 /* views 1 .. VIEWS_MAX */
#define STREAMS_MAX 64

#define CONTROL_BYTES (2 * WH_ROW_ALIGN)
#define RING_BYTES (4 * WH_ROW_ALIGN)
#define RING_0 CONTROL_BYTES
#define RING_1 (CONTROL_BYTES + RING_BYTES)
#define ROW_BYTES (CONTROL_BYTES + 2 * RING_BYTES)

/* What the member of rank 1 may push of the row of rank 0 to that of rank 2 (T14): four ranges. */
#define RELAY_AT (RING_0 + 64)
#define RELAY_BYTES (WH_ROW_ALIGN - 128)
#define RELAY                                                                                                          \
	{                                                                                                              \
		.owner = 0, .before = 1, .offset = RELAY_AT, .stride = WH_ROW_ALIGN, .bytes = RELAY_BYTES, .count = 4  \
	}

/* Passes after which something that should happen will not happen any more. */
#define PATIENCE ((int)test_patience(20000))

struct endpoint {                       /* what has been seen at one */
	struct wh_transport *transport; /* NULL: it is gone */
	struct wh_image *image[VIEWS_MAX + 1];
	bool paused; /* it is not serviced */
	uint32_t ready, met, left, down, refused, dead;
	char text[256]; /* of the last LEFT, DOWN or REFUSED */
	uint32_t met_of[NODES_MAX], down_of[NODES_MAX], left_of[NODES_MAX], dead_of[NODES_MAX];
	uint64_t here[NODES_MAX];  /* which incarnation has been met, and has not ended; 0: none */
	uint64_t ended[NODES_MAX]; /* the last that has */
	uint64_t controls;         /* control messages so far */
	bool controls_in_order;    /* each held the next number of its sender */
	size_t control_bytes;      /* of the last */
	uint64_t next_control[NODES_MAX];
	struct taken_stream {
		struct wh_stream *stream; /* NULL: the case has closed it */
		uint32_t node;
		uint64_t tag;
	} streams[STREAMS_MAX]; /* that others have opened */
	uint32_t stream_count, asked;
	uint64_t query; /* of the last question */
	unsigned char question[WH_CONTROL_MAX];
	size_t question_bytes;
};

struct group {
	struct wh_world *world;
	uint32_t nodes;
	uint64_t seed;
	uint32_t others[NODES_MAX][NODES_MAX - 1]; /* of node i: the ranks of all but i */
	uint64_t meant[NODES_MAX]; /* the incarnations in images that are opened; 0: those that are there */
	struct endpoint at[NODES_MAX];
};

struct group *group_make(uint32_t nodes, uint64_t seed);
void group_free(struct group *g);
void group_kill(struct group *g, uint32_t id);
void group_close(struct group *g, uint32_t id);
void group_restart(struct group *g, uint32_t id); /* as another incarnation, that has seen nothing */

struct members { /* a view of some of the nodes: ranks are places in the list */
	uint64_t key;
	uint32_t count, ids[NODES_MAX];
};
/* `view` is only where the image is put. */
enum whorl_result group_open_members(struct group *g, uint32_t id, uint64_t view, const struct members *members,
				     uint64_t layout_digest);
/* Ranks are node ids, and the key is the view. */
enum whorl_result group_open_at(struct group *g, uint32_t id, uint64_t view, uint64_t layout_digest);
/* At all nodes, and waits until it is ready everywhere. */
void group_open(struct group *g, uint64_t view);
void group_close_image(struct group *g, uint32_t id, uint64_t view);

/* Each endpoint is serviced once and its events are taken; then a pass. Of all events it is checked that they are of an
 * incarnation that has been met and has not ended, and that none is met twice, nor beside another. */
void group_pass(struct group *g);

/* The condition is not evaluated again once it was true. */
#define UNTIL(g, condition)                                                                                            \
	do {                                                                                                           \
		bool is_so_ = (condition);                                                                             \
		for (int passes_ = 0; passes_ < PATIENCE && !is_so_; passes_++) {                                      \
			group_pass(g);                                                                                 \
			is_so_ = (condition);                                                                          \
		}                                                                                                      \
		ck_assert_msg(is_so_, "never: %s", #condition);                                                        \
	} while (0)

/* ---- pushing and looking ------------------------------------------------------------------------------------------ */

struct wh_push push_word(const struct group *g, uint32_t from, uint64_t offset, uint64_t value);
struct wh_push push_bytes(const struct group *g, uint32_t from, uint64_t offset, uint64_t bytes);
void post(struct group *g, uint32_t from, uint64_t view, const struct wh_push *pushes, size_t count);
/* One word, to all others. */
void post_word(struct group *g, uint32_t from, uint64_t view, uint64_t offset, uint64_t value);
/* The word of the columns of `of`, as `at` sees it; acquired. */
uint64_t column(const struct group *g, uint32_t at, uint64_t view, uint32_t of, uint64_t offset);

uint64_t next_random(uint64_t *state);

/* What is repeated costs so much here that less is made of it. */
static inline bool is_dear(void)
{
	return wh_world.share > 8;
}

/* How often something is done that is to be done `n` times, and a case that differs by its seed alone. */
static inline uint64_t times(uint64_t n)
{
	return wh_world.share > 1 ? n / wh_world.share + 1 : n;
}

static inline int seeds(int n)
{
	return is_dear() ? 1 : n;
}

/* The cases. */
TCase *cases_push(void);
TCase *cases_peer(void);
TCase *cases_doorbell(void);
TCase *cases_image(void);
TCase *cases_view(void);
TCase *cases_return(void);
TCase *cases_stream(void);
TCase *cases_query(void);
TCase *cases_death(void);
TCase *cases_relay(void); /* where members may relay */
TCase *cases_remote(void);
TCase *cases_remote_ends(void);
TCase *cases_lane(void); /* where endpoints are lanes */

#endif
