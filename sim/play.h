/* play.h - plays a plan with the faults of a schedule, and says what has come of it; how, play_int.h tells.
 *
 * The same plan, schedule and seed are the same run, event by event.
 */
#ifndef WH_SIM_PLAY_H
#define WH_SIM_PLAY_H

#include "sim/plan.h"
#include "sim/schedule.h"

struct wh_play_result {
	uint64_t digest, steps, deliveries, nulls, virtual_ns;
	uint64_t views;    /* the last */
	uint64_t happened; /* bit i: fault i of the schedule came about */
	bool progressed;   /* it could be asked for, and was given */
};

/* `schedule` may be NULL. False: something is broken; then `verdict` says what, "property: ...", and a report of it has gone
 * to `log`, if there is one. */
bool wh_play_all(const struct wh_plan *plan, const struct wh_schedule *schedule, struct wh_play_result *result,
		 char *verdict, size_t verdict_bytes, FILE *log);

/* ---- a run that is to be written by hand -------------------------------------------------------------------------------- */

struct play;

struct play *wh_play_new(const struct wh_plan *plan, const struct wh_schedule *schedule, FILE *log);
/* Opens all nodes and goes on until all have met. */
bool wh_play_meet(struct play *play);
/* All that wh_play_all does between the beginning and the end. */
void wh_play_perform(struct play *play);
/* Goes on until nothing happens any more, or it is time for the next phase. */
bool wh_play_work(struct play *play);
bool wh_play_goes_on(struct play *play, uint64_t for_ns); /* the same for some virtual time */
/* Until all faults are over, and then until all is delivered that must be, or it is plain that nothing can be any more. */
bool wh_play_finish(struct play *play);
/* Held claims are finished now. */
void wh_play_release(struct play *play);
/* Closes all nodes, frees everything. False: something was broken. */
bool wh_play_end(struct play *play, struct wh_play_result *result, char *verdict, size_t verdict_bytes);

/* Something is broken; the first words stay. */
void wh_play_fail(struct play *play, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool wh_play_failed(const struct play *play);

#endif
