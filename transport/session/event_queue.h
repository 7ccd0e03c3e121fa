/* event_queue.h - what a transport says: events for the loop, in their order, and lines for the log. Loop thread only.
 */
#ifndef WH_TRANSPORT_SESSION_EVENT_QUEUE_H
#define WH_TRANSPORT_SESSION_EVENT_QUEUE_H

#include "base/atomics.h"
#include "transport/transport.h"

struct wh_event_queue {
	const struct wh_env *env;
	const char *name;                  /* of the transport, before each line */
	uint32_t node;                     /* me, */
	uint64_t incarnation;              /* and which */
	uint32_t room;                     /* of events: a power of two */
	uint32_t at_once;                  /* at most so many events come of what is taken in at once */
	wh_word complaints[WH_COMPLAINTS]; /* so far; this thread writes, any reads */
	uint64_t in, out;
	struct wh_transport_event *events; /* the transport's */
};

/* `events` has room for so many; at most `at_once` come of what is taken in at once. */
void wh_event_queue_init(struct wh_event_queue *event_queue, const struct wh_transport_config *config, const char *name,
			 struct wh_transport_event *events, uint32_t room, uint32_t at_once);

void wh_event_queue_log(const struct wh_event_queue *event_queue, enum wh_log_level level, const char *format, ...)
	WH_PRINTF(3, 4);
/* For what others can make happen again and again: of each kind the 1st, 2nd, 4th, 8th time ... is logged. */
void wh_event_queue_complain(struct wh_event_queue *event_queue, enum wh_complaint kind, const char *format, ...)
	WH_PRINTF(3, 4);
/* The same for what is logged in another way, or is nothing to be read of one by one. Returns how many there are of that kind now. */
uint64_t wh_event_queue_count(struct wh_event_queue *event_queue, enum wh_complaint kind);

/* Whatever may make events is taken in only while there is room for them: nothing is lost, senders wait instead. */
static inline bool wh_event_queue_is_full(const struct wh_event_queue *event_queue)
{
	return event_queue->in - event_queue->out > event_queue->room - event_queue->at_once;
}

struct wh_transport_event *wh_event_queue_event(struct wh_event_queue *event_queue, enum wh_transport_event_kind kind,
						uint32_t node, uint64_t incarnation, const void *text, size_t bytes);
/* An event, which is logged as well. */
void wh_event_queue_tell(struct wh_event_queue *event_queue, enum wh_transport_event_kind kind, uint32_t node,
			 uint64_t incarnation, const char *format, ...) WH_PRINTF(5, 6);
/* Takes the oldest event. False: there is none. */
bool wh_event_queue_next(struct wh_event_queue *event_queue, struct wh_transport_event *out);
/* Drops the events that were not taken: streams are closed. */
void wh_event_queue_drop(struct wh_event_queue *event_queue);

/* That this image can be read. It takes no room: the look for events finds it by itself, once. */
static inline void wh_event_queue_image(const struct wh_event_queue *event_queue, struct wh_image *image,
					struct wh_transport_event *out)
{
	out->kind = WH_EVENT_IMAGE_READY;
	out->node = event_queue->node;
	out->incarnation = event_queue->incarnation;
	out->image = image;
	out->tag = 0;
	out->bytes = 0;
}

#endif
