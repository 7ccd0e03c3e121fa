/* tcp_event.c - what the tcp transport says: events for the loop, and lines for the log. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "transport/tcp_int.h"

static void log_text(const struct wh_tcp *t, enum wh_log_level level, const char *suffix, const char *format,
		     va_list args)
{
	char text[WH_TCP_REASON_BYTES + 256], line[WH_TCP_REASON_BYTES + 384];

	vsnprintf(text, sizeof(text), format, args);
	snprintf(line, sizeof(line), "node %" PRIu32 ": tcp: %s%s", t->node, text, suffix);
	t->env->log(t->env->ctx, level, line);
}

void wh_tcp_log(const struct wh_tcp *t, enum wh_log_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_text(t, level, "", format, args);
	va_end(args);
}

void wh_tcp_complain(struct wh_tcp *t, const char *format, ...)
{
	char suffix[64] = "";
	uint64_t n = ++t->complaints;
	va_list args;

	if ((n & (n - 1)) != 0)
		return;
	if (n > 1)
		snprintf(suffix, sizeof(suffix), " (%" PRIu64 " like it so far)", n);
	va_start(args, format);
	log_text(t, WH_LOG_WARNING, suffix, format, args);
	va_end(args);
}

bool wh_tcp_events_full(const struct wh_tcp *t)
{
	return t->events_in - t->events_out > WH_TCP_EVENTS - WH_TCP_EVENTS_AT_ONCE;
}

struct wh_transport_event *wh_tcp_event(struct wh_tcp *t, enum wh_transport_event_kind kind, uint32_t node,
					uint64_t incarnation, const void *text, size_t bytes)
{
	struct wh_transport_event *event = &t->events[t->events_in++ % WH_TCP_EVENTS];

	event->kind = kind;
	event->node = node;
	event->incarnation = incarnation;
	event->visitor = 0;
	event->tag = 0;
	event->bytes = bytes;
	memcpy(event->text, text, bytes);
	return event;
}

void wh_tcp_event_text(struct wh_tcp *t, enum wh_transport_event_kind kind, const struct wh_tcp_peer *peer,
		       uint64_t incarnation, const char *format, ...)
{
	char text[WH_TCP_REASON_BYTES + 256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	wh_tcp_event(t, kind, peer->node, incarnation, text, strlen(text) + 1);
	wh_tcp_log(t, WH_LOG_INFO, "%s", text);
}
