/* voice.c - see voice.h. */
#include "transport/voice.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES 768 /* a reason of 512, and who gives it */

void wh_voice_init(struct wh_voice *voice, const struct wh_transport_config *config, const char *name,
		   struct wh_transport_event *events, uint32_t room, uint32_t at_once)
{
	*voice = (struct wh_voice){.env = config->env,
				   .name = name,
				   .node = config->node,
				   .incarnation = config->incarnation,
				   .room = room,
				   .at_once = at_once,
				   .events = events};
}

static void log_text(const struct wh_voice *voice, enum wh_log_level level, const char *suffix, const char *format,
		     va_list args)
{
	char text[TEXT_BYTES], line[TEXT_BYTES + 128];

	vsnprintf(text, sizeof(text), format, args);
	snprintf(line, sizeof(line), "node %" PRIu32 ": %s: %s%s", voice->node, voice->name, text, suffix);
	voice->env->log(voice->env->ctx, level, line);
}

void wh_voice_log(const struct wh_voice *voice, enum wh_log_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_text(voice, level, "", format, args);
	va_end(args);
}

void wh_voice_complain(struct wh_voice *voice, const char *format, ...)
{
	char suffix[64] = "";
	uint64_t n = ++voice->complaints;
	va_list args;

	if ((n & (n - 1)) != 0)
		return;
	if (n > 1)
		snprintf(suffix, sizeof(suffix), " (%" PRIu64 " like it so far)", n);
	va_start(args, format);
	log_text(voice, WH_LOG_WARNING, suffix, format, args);
	va_end(args);
}

struct wh_transport_event *wh_voice_event(struct wh_voice *voice, enum wh_transport_event_kind kind, uint32_t node,
					  uint64_t incarnation, const void *text, size_t bytes)
{
	struct wh_transport_event *event = &voice->events[voice->in++ % voice->room];

	event->kind = kind;
	event->node = node;
	event->incarnation = incarnation;
	event->visitor = 0;
	event->tag = 0;
	event->bytes = bytes;
	memcpy(event->text, text, bytes);
	return event;
}

void wh_voice_tell(struct wh_voice *voice, enum wh_transport_event_kind kind, uint32_t node, uint64_t incarnation,
		   const char *format, ...)
{
	char text[TEXT_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	wh_voice_event(voice, kind, node, incarnation, text, strlen(text) + 1);
	wh_voice_log(voice, WH_LOG_INFO, "%s", text);
}

bool wh_voice_next(struct wh_voice *voice, struct wh_transport_event *out)
{
	const struct wh_transport_event *event;

	if (voice->out == voice->in)
		return false;
	event = &voice->events[voice->out++ % voice->room];
	memcpy(out, event, offsetof(struct wh_transport_event, text) + event->bytes);
	return true;
}

void wh_voice_drop(struct wh_voice *voice)
{
	for (; voice->out != voice->in; voice->out++) {
		const struct wh_transport_event *event = &voice->events[voice->out % voice->room];

		if (event->kind == WH_EVENT_STREAM)
			event->stream->ops->close(event->stream);
	}
}
