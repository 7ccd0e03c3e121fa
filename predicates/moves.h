/* moves.h - says to the others in which of my subgroups something has moved (docs/decisions/0041).
 *
 * A word of my row for each WH_MOVED_NAMES subgroups (sst/columns.h). It is pushed behind the counters, never beside them: a node that sees
 * the word sees what moved (T2). Count and names are one word, so they never fit badly (T3).
 *
 * Threads: the loop's. Memory: allocated by wh_moves_init.
 */
#ifndef WH_PREDICATES_MOVES_H
#define WH_PREDICATES_MOVES_H

#include "sst/columns.h"
#include "sst/sst.h"

struct wh_moves {
	struct wh_sst *sst;
	struct wh_pushes *pushes;
	struct wh_array_col column;
	struct wh_stretch {
		uint32_t now, before; /* which moved in it, and in the one before */
	} * stretches;                /* by word */
};

/* `column` is not empty. WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_moves_init(struct wh_moves *moves, struct wh_sst *sst, struct wh_pushes *pushes,
					      struct wh_array_col column, struct wh_error *err);
void wh_moves_close(struct wh_moves *moves);

/* Something moved in that subgroup of the view, in pushes to these peers that are collected or posted already. `patient`: all of them
 * may be delayed, and so may this. */
void wh_moves_say(struct wh_moves *moves, uint32_t subgroup, bool patient, struct wh_to to);

/* Half of the numbers of moves of that subgroup's word have been used: it is time for a view that begins with 0 again. */
bool wh_moves_exhausted(const struct wh_moves *moves, uint32_t subgroup);

#endif
