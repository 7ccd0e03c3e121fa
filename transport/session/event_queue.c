/* event_queue.c - see event_queue.h. */
#include "transport/session/event_queue.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES 768 /* a reason of 512, and the node that gives it */

void wh_event_queue_init(struct wh_event_queue *event_queue, const struct wh_transport_config *config, const char *name,
			 struct wh_transport_event *events, uint32_t room, uint32_t at_once)
{
	*event_queue = (struct wh_event_queue){.env = config->env,
					       .name = name,
					       .node = config->node,
					       .incarnation = config->incarnation,
					       .room = room,
					       .at_once = at_once,
					       .events = events};
}

static void log_text(const struct wh_event_queue *event_queue, enum wh_log_level level, const char *suffix,
		     const char *format, va_list args)
{
	char text[TEXT_BYTES], line[TEXT_BYTES + 128];

	vsnprintf(text, sizeof(text), format, args);
	snprintf(line, sizeof(line), "node %" PRIu32 ": %s: %s%s", event_queue->node, event_queue->name, text, suffix);
	event_queue->env->log(event_queue->env->ctx, level, line);
}

void wh_event_queue_log(const struct wh_event_queue *event_queue, enum wh_log_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_text(event_queue, level, "", format, args);
	va_end(args);
}

uint64_t wh_event_queue_count(struct wh_event_queue *event_queue, enum wh_complaint kind)
{
	uint64_t n = wh_load_relaxed(&event_queue->complaints[kind]) + 1;

	wh_store_relaxed(&event_queue->complaints[kind], n);
	return n;
}

void wh_event_queue_complain(struct wh_event_queue *event_queue, enum wh_complaint kind, const char *format, ...)
{
	char suffix[64] = "";
	uint64_t n = wh_event_queue_count(event_queue, kind);
	va_list args;

	if ((n & (n - 1)) != 0)
		return;
	if (n > 1)
		snprintf(suffix, sizeof(suffix), " (%" PRIu64 " like it so far)", n);
	va_start(args, format);
	log_text(event_queue, WH_LOG_WARNING, suffix, format, args);
	va_end(args);
}

struct wh_transport_event *wh_event_queue_event(struct wh_event_queue *event_queue, enum wh_transport_event_kind kind,
						uint32_t node, uint64_t incarnation, const void *text, size_t bytes)
{
	struct wh_transport_event *event = &event_queue->events[event_queue->in++ % event_queue->room];

	event->kind = kind;
	event->node = node;
	event->incarnation = incarnation;
	event->query = 0;
	event->tag = 0;
	event->bytes = bytes;
	memcpy(event->text, text, bytes);
	return event;
}

void wh_event_queue_tell(struct wh_event_queue *event_queue, enum wh_transport_event_kind kind, uint32_t node,
			 uint64_t incarnation, const char *format, ...)
{
	char text[TEXT_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	wh_event_queue_event(event_queue, kind, node, incarnation, text, strlen(text) + 1);
	wh_event_queue_log(event_queue, WH_LOG_INFO, "%s", text);
}

bool wh_event_queue_next(struct wh_event_queue *event_queue, struct wh_transport_event *out)
{
	const struct wh_transport_event *event;

	if (event_queue->out == event_queue->in)
		return false;
	event = &event_queue->events[event_queue->out++ % event_queue->room];
	memcpy(out, event, offsetof(struct wh_transport_event, text) + event->bytes);
	return true;
}

void wh_event_queue_drop(struct wh_event_queue *event_queue)
{
	for (; event_queue->out != event_queue->in; event_queue->out++) {
		const struct wh_transport_event *event = &event_queue->events[event_queue->out % event_queue->room];

		if (event->kind == WH_EVENT_STREAM)
			event->stream->ops->close(event->stream);
	}
}
