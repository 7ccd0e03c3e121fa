/* sim_lab.h - three nodes in a simulated world, an image of all, and what they have seen: for the tests of what only the
 * simulator's transport has.
 */
#ifndef WH_TESTS_SUPPORT_SIM_LAB_H
#define WH_TESTS_SUPPORT_SIM_LAB_H

#include <string.h>

#include "base/atomics.h"
#include "sim/net/sim.h"
#include "tests/harness.h"

#define NODES 3
#define WORD 64                    /* the column that tests push */
#define SLOW_NS WH_NS_PER_MS       /* of a slow link, where others take no time */
#define LONG_NS (10 * WH_NS_PER_S) /* until nothing is under way any more */

struct lab {
	struct wh_sim *sim;
	struct wh_transport *node[NODES];
	struct wh_image *image[NODES];
	uint64_t incarnation[NODES];
	/* [at][of] */
	uint64_t met[NODES][NODES];  /* as this incarnation; 0: not, or it is over */
	uint64_t over[NODES][NODES]; /* of the last that is over */
	uint32_t meetings[NODES][NODES], down[NODES][NODES], left[NODES][NODES], refused[NODES][NODES];
	struct wh_stream *stream[NODES]; /* that has come last */
	uint64_t tag[NODES];
	uint64_t heard_ns[NODES]; /* of the last such news */
	uint64_t messages[NODES], bytes[NODES];
	bool in_order;       /* messages of node 0 hold the numbers 1, 2, 3, ... */
	uint64_t crash_push; /* node 0 crashes before this push; UINT64_MAX: never */
	bool silently;
	uint64_t hooked, hooked_value; /* calls of the hook; what it saw last */
};

extern const uint32_t others[NODES][NODES - 1];

/* ---- a world, its nodes, an image of all ------------------------------------------------------------------------------- */

struct wh_sim_options plain(uint64_t seed);
struct wh_sim_options wild(uint64_t seed);

/* Of one incarnation: it is met, before all else; then it ends, once. Incarnations grow here. */
void check_order(struct lab *lab, uint32_t at, const struct wh_transport_event *event);
void take_event(struct lab *lab, uint32_t at, const struct wh_transport_event *event);
void service_all(struct lab *lab);
void run_until(struct lab *lab, uint64_t until_ns);
void run(struct lab *lab, uint64_t for_ns);
struct wh_image *open_image(struct lab *lab, uint32_t id, uint64_t key);

/* A new life of this id, which has none now. */
void begin_life(struct lab *lab, uint32_t id);
struct lab *make_empty(struct wh_sim_options options);

/* No two nodes have met yet. */
struct lab *make_strangers(struct wh_sim_options options);
struct lab *sim_lab_make(struct wh_sim_options options);
void destroy(struct lab *lab, uint32_t id);
void leave_in_order(struct lab *lab, uint32_t id);
void end(struct lab *lab);

/* ---- lives ------------------------------------------------------------------------------------------------------------ */

void slow(struct lab *lab, uint32_t from, uint32_t to);
bool have_met(const struct lab *lab, uint32_t at, uint32_t of);
void assert_all_met(const struct lab *lab);

enum manner { CRASHES, VANISHES, LEAVES, MANNERS };

void end_life(struct lab *lab, uint32_t id, enum manner manner);
void assert_ends(const struct lab *lab, uint32_t at, uint32_t of, uint32_t down, uint32_t left);

/* A millisecond, in which no node is told of anything. */
void look_without_taking(struct lab *lab);

/* ---- pushes and messages ----------------------------------------------------------------------------------------------- */

struct wh_push push_word(uint32_t from, uint64_t value);
void post(struct lab *lab, uint32_t from, const struct wh_push *pushes, size_t count);
void post_word(struct lab *lab, uint32_t from, uint64_t value);

/* A page, then a word that says so. */
void post_page(struct lab *lab, uint32_t from, uint64_t value);
uint64_t word(const struct lab *lab, uint32_t at, uint32_t of);
enum whorl_result send_number(struct lab *lab, uint32_t from, uint32_t to, uint64_t number);

#endif
