/* check.h - always-on checks and the event ring that is dumped when one breaks.
 *
 * A node keeps one wh_diag. The loop notes what it does in a ring of fixed-size events (no text is formatted, nothing
 * is allocated); WH_CHECK dumps the ring through the log and then calls env->fatal: abort in production, a recorded
 * verdict in simulation (then WH_CHECK returns, and the caller goes on as if nothing was).
 */
#ifndef WH_BASE_CHECK_H
#define WH_BASE_CHECK_H

#include <stdint.h>

#include "base/env.h"

#define WH_EVENT_COUNT 512 /* a power of two */

struct wh_event {
	const char *what; /* a literal */
	uint64_t step;    /* the loop's pass in which it happened */
	uint64_t a, b, c;
};

struct wh_diag {
	const struct wh_env *env; /* [const] */
	uint32_t node;            /* [const] node id, in each line of the log */
	uint64_t step;            /* [loop] passes so far */
	uint64_t events;          /* [loop] events noted so far; the last WH_EVENT_COUNT are kept */
	struct wh_event ring[WH_EVENT_COUNT];
};

void wh_diag_init(struct wh_diag *diag, const struct wh_env *env, uint32_t node);

/* Notes an event. Loop thread only. */
static inline void wh_event(struct wh_diag *diag, const char *what, uint64_t a, uint64_t b, uint64_t c)
{
	diag->ring[diag->events++ & (WH_EVENT_COUNT - 1)] =
		(struct wh_event){.what = what, .step = diag->step, .a = a, .b = b, .c = c};
}

/* Writes the events that are kept, oldest first, to the log (level error). Loop thread only. */
void wh_diag_dump(struct wh_diag *diag);

/* One formatted line to the log, with "node N: " before it. Any thread. */
void wh_log(const struct wh_diag *diag, enum wh_log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

void wh_check_failed(struct wh_diag *diag, const char *file, int line, const char *condition);

#define WH_CHECK(diag, condition)                                                                                      \
	do {                                                                                                           \
		if (__builtin_expect(!(condition), 0))                                                                 \
			wh_check_failed((diag), __FILE__, __LINE__, #condition);                                       \
	} while (0)

/* For checks that cost: on in Debug and sanitizer builds. */
#ifdef NDEBUG
#define WH_DCHECK(diag, condition) ((void)0)
#else
#define WH_DCHECK(diag, condition) WH_CHECK(diag, condition)
#endif

#endif
