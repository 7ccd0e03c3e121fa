/* voice.h - what a transport says: events for the loop, in their order, and lines for the log. Of shm, tcp and verbs; the
 * simulator has clocks of its own for both. Loop thread only.
 */
#ifndef WH_TRANSPORT_VOICE_H
#define WH_TRANSPORT_VOICE_H

#include "transport/transport.h"

struct wh_voice {
	const struct wh_env *env;
	const char *name;     /* of the transport, before each line */
	uint32_t node;        /* me, */
	uint64_t incarnation; /* and which */
	uint32_t room;        /* of events: a power of two */
	uint32_t at_once;     /* at most so many events come of what is taken in at once */
	uint64_t complaints;
	uint64_t in, out;
	struct wh_transport_event *events; /* the transport's */
};

/* `events` has room for so many; at most `at_once` come of what is taken in at once. */
void wh_voice_init(struct wh_voice *voice, const struct wh_transport_config *config, const char *name,
		   struct wh_transport_event *events, uint32_t room, uint32_t at_once);

void wh_voice_log(const struct wh_voice *voice, enum wh_log_level level, const char *format, ...) WH_PRINTF(3, 4);
/* For what may happen again and again by somebody else's doing: the 1st, 2nd, 4th, 8th time ... is logged. */
void wh_voice_complain(struct wh_voice *voice, const char *format, ...) WH_PRINTF(2, 3);

/* Whatever may make events is taken in only while there is room for them: nothing is lost, senders wait instead. */
static inline bool wh_voice_is_full(const struct wh_voice *voice)
{
	return voice->in - voice->out > voice->room - voice->at_once;
}

struct wh_transport_event *wh_voice_event(struct wh_voice *voice, enum wh_transport_event_kind kind, uint32_t node,
					  uint64_t incarnation, const void *text, size_t bytes);
/* An event, which is logged as well. */
void wh_voice_tell(struct wh_voice *voice, enum wh_transport_event_kind kind, uint32_t node, uint64_t incarnation,
		   const char *format, ...) WH_PRINTF(5, 6);
/* Takes the oldest event. False: there is none. */
bool wh_voice_next(struct wh_voice *voice, struct wh_transport_event *out);
/* Of what nobody has taken: streams are closed. */
void wh_voice_drop(struct wh_voice *voice);

/* That this image can be read. It takes no room: who looks for events finds it by itself, once. */
static inline void wh_voice_image(const struct wh_voice *voice, struct wh_image *image, struct wh_transport_event *out)
{
	out->kind = WH_EVENT_IMAGE_READY;
	out->node = voice->node;
	out->incarnation = voice->incarnation;
	out->image = image;
	out->tag = 0;
	out->bytes = 0;
}

#endif
