/* moves.c - see moves.h. */
#include "predicates/moves.h"

#include <stdlib.h>

#define MOVES_EXHAUSTED (UINT64_C(1) << 39) /* a word has 40 bits for them: days of a million each second */

enum whorl_result wh_moves_init(struct wh_moves *moves, struct wh_sst *sst, struct wh_pushes *pushes,
				struct wh_array_col column, struct wh_error *err)
{
	*moves = (struct wh_moves){.sst = sst, .pushes = pushes, .column = column};
	moves->stretches = calloc(column.count, sizeof(*moves->stretches));
	return moves->stretches != NULL ? WHORL_OK : wh_error_set(err, WHORL_MEMORY, "no memory for a view");
}

void wh_moves_close(struct wh_moves *moves)
{
	free(moves->stretches);
	moves->stretches = NULL;
}

void wh_moves_say(struct wh_moves *moves, uint32_t subgroup, bool patient, struct wh_to to)
{
	struct wh_counter_col word = wh_array_at(moves->column, subgroup / WH_MOVED_NAMES);
	struct wh_stretch *stretch = &moves->stretches[subgroup / WH_MOVED_NAMES];
	uint64_t count = wh_moved_moves(wh_sst_mine(moves->sst, word)) + 1;

	if (count % WH_MOVED_STRETCH == 0)
		*stretch = (struct wh_stretch){.before = stretch->now};
	stretch->now |= UINT32_C(1) << subgroup % WH_MOVED_NAMES;
	wh_sst_publish_advised(moves->sst, moves->pushes, word, wh_moved_make(count, stretch->now | stretch->before),
			       patient ? WH_PUSH_MAY_DELAY : 0, to);
}

bool wh_moves_exhausted(const struct wh_moves *moves, uint32_t subgroup)
{
	struct wh_counter_col word = wh_array_at(moves->column, subgroup / WH_MOVED_NAMES);

	return wh_moved_moves(wh_sst_mine(moves->sst, word)) >= MOVES_EXHAUSTED;
}
