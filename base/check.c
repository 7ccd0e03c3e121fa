/* check.c - the event ring and what happens when a check fails. */
#include "base/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

#define LINE_BYTES (sizeof(((struct wh_error *)0)->text) + 128) /* an error's text and what is said around it */

_Static_assert((WH_EVENT_COUNT & (WH_EVENT_COUNT - 1)) == 0, "the ring's index is a mask");

void wh_diag_init(struct wh_diag *diag, const struct wh_env *env, uint32_t node)
{
	memset(diag, 0, sizeof(*diag));
	diag->env = env;
	diag->node = node;
}

void wh_log(const struct wh_diag *diag, enum wh_log_level level, const char *format, ...)
{
	char line[LINE_BYTES];
	int prefix = snprintf(line, sizeof(line), "node %" PRIu32 ": ", diag->node);
	size_t space = sizeof(line) - (size_t)prefix;
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(line + prefix, space, format, args);
	va_end(args);
	if (length < 0)
		return;
	if ((size_t)length >= space)
		memcpy(line + sizeof(line) - sizeof("..."), "...", sizeof("..."));
	diag->env->log(diag->env->ctx, level, line);
}

void wh_diag_dump(struct wh_diag *diag)
{
	uint64_t end = diag->events;
	uint64_t kept = end < WH_EVENT_COUNT ? end : WH_EVENT_COUNT;

	wh_log(diag, WH_LOG_ERROR, "step %" PRIu64 ", the last %" PRIu64 " of %" PRIu64 " events:", diag->step, kept,
	       end);
	for (uint64_t i = end - kept; i < end; i++) {
		const struct wh_event *event = &diag->ring[i & (WH_EVENT_COUNT - 1)];

		wh_log(diag, WH_LOG_ERROR, "  step %" PRIu64 " %s %" PRIu64 " %" PRIu64 " %" PRIu64, event->step,
		       event->what, event->a, event->b, event->c);
	}
}

void wh_check_failed(struct wh_diag *diag, const char *file, int line, const char *condition)
{
	char what[256];

	snprintf(what, sizeof(what), "%s:%d: check failed: %s", file, line, condition);
	wh_log(diag, WH_LOG_ERROR, "%s", what);
	wh_diag_dump(diag);
	diag->env->fatal(diag->env->ctx, what);
}
