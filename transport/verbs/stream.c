/* stream.c - streams: bytes in messages of the connection between two nodes, in order.
 *
 * The functions of a stream only move bytes in and out of a buffer of its end, under a lock, and wake the loop; all that
 * concerns the device is the loop's. A writer sends no more than the reader has room for, so an end that is not read holds
 * up nothing but itself.
 *
 * An end belongs to its user and to its transport; the last to let go of it frees it. In a forked child neither does: it is the
 * parent's.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "transport/verbs/verbs_int.h"

#define BUFFER_BYTES (UINT64_C(128) << 10) /* of each end; a power of two */
#define STREAMS_MAX 64                     /* that one node has opened to another, and that have not ended */

struct wh_verbs_stream {
	struct wh_stream base;
	pthread_mutex_t lock; /* of all that follows but what is the loop's */
	pthread_cond_t moved;
	struct wh_verbs *t; /* NULL: it has ended, or this stream has on its side */
	bool used;          /* a user has it, and will close it */
	bool over;          /* the other end is closed, or its node is gone */
	uint64_t in, out;   /* bytes that have come into the buffer and gone out of it, since the beginning */
	bool writes;        /* [const] */
	pid_t pid;          /* [const] its owner: not a forked child */

	/* [loop] */
	struct wh_verbs_stream *next;
	uint32_t link;   /* the serial number of its link */
	uint32_t number; /* an opener's, so with `writes` it is one of that link's */
	uint32_t node;
	uint64_t told;  /* of a reader: what the writer knows to be read */
	uint64_t taken; /* of a writer: what the reader has read, as far as is known */
	bool ends;      /* of a reader: no more will come */

	unsigned char buffer[BUFFER_BYTES]; /* byte k is at k mod BUFFER_BYTES */
};

/* ---- its user ----------------------------------------------------------------------------------------------------- */

static struct wh_verbs_stream *stream_of(struct wh_stream *base)
{
	return (struct wh_verbs_stream *)base;
}

static void copy_in(struct wh_verbs_stream *s, const unsigned char *bytes, size_t count)
{
	size_t at = s->in % BUFFER_BYTES, first = count < BUFFER_BYTES - at ? count : BUFFER_BYTES - at;

	memcpy(s->buffer + at, bytes, first);
	memcpy(s->buffer, bytes + first, count - first);
	s->in += count;
}

static void copy_out(struct wh_verbs_stream *s, unsigned char *bytes, size_t count)
{
	size_t at = s->out % BUFFER_BYTES, first = count < BUFFER_BYTES - at ? count : BUFFER_BYTES - at;

	memcpy(bytes, s->buffer + at, first);
	memcpy(bytes + first, s->buffer, count - first);
	s->out += count;
}

/* With the lock, so that the transport is there as long as it takes. */
static void call_loop(const struct wh_verbs_stream *s)
{
	if (s->t != NULL)
		s->t->base.ops->wake(&s->t->base);
}

static ptrdiff_t write_some(struct wh_stream *base, const void *bytes, size_t count)
{
	struct wh_verbs_stream *s = stream_of(base);
	ptrdiff_t done = -1;

	pthread_mutex_lock(&s->lock);
	if (!s->over && s->t != NULL) {
		uint64_t room = BUFFER_BYTES - (s->in - s->out);

		count = count < room ? count : room;
		copy_in(s, bytes, count);
		if (count > 0)
			call_loop(s);
		done = (ptrdiff_t)count;
	}
	pthread_mutex_unlock(&s->lock);
	return done;
}

static ptrdiff_t read_some(struct wh_stream *base, void *bytes, size_t count)
{
	struct wh_verbs_stream *s = stream_of(base);
	ptrdiff_t done;

	pthread_mutex_lock(&s->lock);
	count = count < s->in - s->out ? count : s->in - s->out;
	copy_out(s, bytes, count);
	if (count > 0 && s->in - s->out < BUFFER_BYTES / 2)
		call_loop(s);
	done = count == 0 && s->in == s->out && (s->over || s->t == NULL) ? -1 : (ptrdiff_t)count;
	pthread_mutex_unlock(&s->lock);
	return done;
}

static bool wait_for(struct wh_stream *base, bool to_write, uint64_t timeout_ns)
{
	struct wh_verbs_stream *s = stream_of(base);
	struct timespec until;
	uint64_t at;

	clock_gettime(CLOCK_MONOTONIC, &until);
	at = (uint64_t)until.tv_sec * WH_NS_PER_S + (uint64_t)until.tv_nsec + timeout_ns;
	until = (struct timespec){.tv_sec = (time_t)(at / WH_NS_PER_S), .tv_nsec = (long)(at % WH_NS_PER_S)};
	pthread_mutex_lock(&s->lock);
	if (!s->over && s->t != NULL && (to_write ? s->in - s->out == BUFFER_BYTES : s->in == s->out))
		(void)pthread_cond_timedwait(&s->moved, &s->lock, &until);
	pthread_mutex_unlock(&s->lock);
	return true;
}

static void free_stream(struct wh_verbs_stream *s)
{
	pthread_cond_destroy(&s->moved);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static void close_end(struct wh_stream *base)
{
	struct wh_verbs_stream *s = stream_of(base);
	bool last;

	if (s->pid != getpid()) /* a thread of the parent's may have the lock */
		return;
	pthread_mutex_lock(&s->lock);
	s->used = false;
	call_loop(s);
	last = s->t == NULL;
	pthread_mutex_unlock(&s->lock);
	if (last)
		free_stream(s);
}

static const struct wh_stream_ops stream_ops = {
	.write = write_some,
	.read = read_some,
	.wait = wait_for,
	.close = close_end,
};

/* ---- the loop ----------------------------------------------------------------------------------------------------- */

/* NULL: no memory. */
static struct wh_verbs_stream *new_stream(struct wh_verbs *t, const struct wh_verbs_peer *peer, uint32_t number,
					  bool writes)
{
	struct wh_verbs_stream *s = malloc(sizeof(*s));
	pthread_condattr_t monotonic;

	if (s == NULL)
		return NULL;
	memset(s, 0, offsetof(struct wh_verbs_stream, buffer));
	s->base.ops = &stream_ops;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&s->moved, &monotonic);
	pthread_condattr_destroy(&monotonic);
	s->t = t;
	s->used = true;
	s->writes = writes;
	s->pid = getpid();
	s->node = peer->node;
	s->link = peer->link->serial;
	s->number = number;
	s->next = t->streams;
	t->streams = s;
	return s;
}

/* The transport lets go of it; its user sees the end. */
static void detach(struct wh_verbs_stream **at)
{
	struct wh_verbs_stream *s = *at;
	bool last;

	*at = s->next;
	pthread_mutex_lock(&s->lock);
	s->t = NULL;
	s->over = true;
	last = !s->used;
	pthread_cond_broadcast(&s->moved);
	pthread_mutex_unlock(&s->lock);
	if (last)
		free_stream(s);
}

static uint32_t count_of(const struct wh_verbs *t, const struct wh_verbs_link *link, bool writes)
{
	uint32_t count = 0;

	for (const struct wh_verbs_stream *s = t->streams; s != NULL; s = s->next)
		count += s->link == link->serial && s->writes == writes;
	return count;
}

enum whorl_result wh_verbs_stream_open(struct wh_transport *transport, uint32_t node, uint64_t tag,
				       struct wh_stream **out)
{
	struct wh_verbs_stream_message open = {.head.kind = WH_VERBS_STREAM_OPEN, .number = tag};
	struct wh_verbs *t = wh_verbs_of(transport);
	struct wh_verbs_peer *peer;
	struct wh_verbs_stream *s;

	*out = NULL;
	if (node >= t->nodes || node == t->node)
		return WHORL_INVALID;
	peer = &t->peers[node];
	if (peer->state != WH_VERBS_MET || t->left)
		return WHORL_MEMBER_GONE;
	if (count_of(t, peer->link, true) == STREAMS_MAX)
		return WHORL_AGAIN;
	open.stream = peer->link->streams_opened + 1;
	s = new_stream(t, peer, open.stream, true);
	if (s == NULL)
		return WHORL_MEMORY;
	if (!wh_verbs_link_send(t, peer->link, WH_VERBS_FOR_USERS, &open.head, sizeof(open), NULL, 0)) {
		s->used = false;
		detach(&t->streams); /* it is the first */
		return WHORL_AGAIN;
	}
	peer->link->streams_opened++;
	*out = &s->base;
	return WHORL_OK;
}

static bool on_open(struct wh_verbs *t, struct wh_verbs_peer *peer, const struct wh_verbs_stream_message *message)
{
	struct wh_transport_event *event;
	struct wh_verbs_stream *s;

	/* Its count may be ahead of mine: of those that it has ended I may not know that they are read. */
	if (count_of(t, peer->link, false) > 4 * STREAMS_MAX)
		return false;
	s = new_stream(t, peer, message->stream, false);
	if (s == NULL) {
		struct wh_verbs_stream_message shut = {.head.kind = WH_VERBS_STREAM_SHUT, .stream = message->stream};

		wh_event_queue_complain(&t->event_queue, "no memory for a stream of node %u", (unsigned)peer->node);
		return wh_verbs_link_send(t, peer->link, WH_VERBS_FOR_IMAGES, &shut.head, sizeof(shut), NULL, 0);
	}
	event = wh_event_queue_event(&t->event_queue, WH_EVENT_STREAM, peer->node, peer->incarnation, "", 0);
	event->stream = &s->base;
	event->tag = message->number;
	return true;
}

/* What a message says to the end that it is for. False: it cannot be so. */
static bool tell(struct wh_verbs_stream *s, const struct wh_verbs_stream_message *message)
{
	size_t bytes = message->head.bytes - sizeof(*message);

	switch ((enum wh_verbs_kind)message->head.kind) {
	case WH_VERBS_STREAM_DATA:
		if (bytes > BUFFER_BYTES - (s->in - s->out))
			return false;
		copy_in(s, message->bytes, bytes);
		return true;
	case WH_VERBS_STREAM_END:
		s->over = s->ends = true;
		return true;
	case WH_VERBS_STREAM_TAKEN:
		if (message->number < s->taken || message->number > s->out)
			return false;
		s->taken = message->number;
		return true;
	case WH_VERBS_STREAM_SHUT:
		s->over = true;
		return true;
	default:
		return false;
	}
}

bool wh_verbs_stream_on_message(struct wh_verbs *t, struct wh_verbs_peer *peer,
				const struct wh_verbs_stream_message *message)
{
	bool to_writer = message->head.kind == WH_VERBS_STREAM_TAKEN || message->head.kind == WH_VERBS_STREAM_SHUT;
	struct wh_verbs_stream *s = t->streams;
	bool good;

	while (s != NULL && !(s->link == peer->link->serial && s->number == message->stream && s->writes == to_writer))
		s = s->next;
	if (message->head.kind == WH_VERBS_STREAM_OPEN)
		return s == NULL && on_open(t, peer, message);
	if (s == NULL) /* I have closed my end */
		return true;
	pthread_mutex_lock(&s->lock);
	good = tell(s, message);
	pthread_cond_broadcast(&s->moved);
	pthread_mutex_unlock(&s->lock);
	return good;
}

/* With the lock. Returns how much it sent. */
static size_t send_bytes(struct wh_verbs *t, struct wh_verbs_stream *s, struct wh_verbs_link *link)
{
	struct wh_verbs_stream_message data = {.head.kind = WH_VERBS_STREAM_DATA, .stream = s->number};
	unsigned char bytes[WH_VERBS_CHUNK];
	size_t sent = 0;

	while (s->in != s->out && !s->over && s->out - s->taken < BUFFER_BYTES &&
	       wh_verbs_link_can_send(link, WH_VERBS_FOR_USERS)) {
		uint64_t count = s->in - s->out, window = BUFFER_BYTES - (s->out - s->taken);

		count = count < window ? count : window;
		count = count < sizeof(bytes) ? count : sizeof(bytes);
		copy_out(s, bytes, count);
		if (!wh_verbs_link_send(t, link, WH_VERBS_FOR_USERS, &data.head, sizeof(data), bytes, count))
			s->over = true; /* the link has ended */
		sent++;
	}
	if (sent > 0)
		pthread_cond_broadcast(&s->moved);
	return sent;
}

/* With the lock. True: nothing is left to be done for it. */
static bool advance_writer(struct wh_verbs *t, struct wh_verbs_stream *s, struct wh_verbs_link *link, size_t *done)
{
	struct wh_verbs_stream_message end = {.head.kind = WH_VERBS_STREAM_END, .stream = s->number};

	*done += send_bytes(t, s, link);
	if (s->over)
		return !s->used;
	return !s->used && s->in == s->out &&
	       wh_verbs_link_send(t, link, WH_VERBS_FOR_USERS, &end.head, sizeof(end), NULL, 0);
}

/* With the lock. Those that have come to their end stay as long as they are read. */
static bool advance_reader(struct wh_verbs *t, struct wh_verbs_stream *s, struct wh_verbs_link *link, size_t *done)
{
	struct wh_verbs_stream_message message = {.stream = s->number, .number = s->out};

	if (!s->used) {
		message.head.kind = WH_VERBS_STREAM_SHUT;
		return s->ends ||
		       wh_verbs_link_send(t, link, WH_VERBS_FOR_IMAGES, &message.head, sizeof(message), NULL, 0);
	}
	message.head.kind = WH_VERBS_STREAM_TAKEN;
	if (!s->ends && s->out - s->told >= BUFFER_BYTES / 4 &&
	    wh_verbs_link_send(t, link, WH_VERBS_FOR_IMAGES, &message.head, sizeof(message), NULL, 0)) {
		s->told = s->out;
		(*done)++;
	}
	return s->ends && s->in == s->out;
}

size_t wh_verbs_streams_advance(struct wh_verbs *t)
{
	struct wh_verbs_stream **at = &t->streams;
	size_t done = 0;

	while (*at != NULL) {
		struct wh_verbs_stream *s = *at;
		struct wh_verbs_link *link = t->peers[s->node].link;
		bool over;

		pthread_mutex_lock(&s->lock);
		over = s->writes ? advance_writer(t, s, link, &done) : advance_reader(t, s, link, &done);
		pthread_mutex_unlock(&s->lock);
		if (over)
			detach(at);
		else
			at = &s->next;
	}
	return done;
}

bool wh_verbs_streams_are_sent(struct wh_verbs *t)
{
	bool sent = true;

	for (struct wh_verbs_stream *s = t->streams; s != NULL; s = s->next) {
		pthread_mutex_lock(&s->lock);
		sent = sent && (!s->writes || s->used || s->over);
		pthread_mutex_unlock(&s->lock);
	}
	return sent;
}

void wh_verbs_streams_end(struct wh_verbs *t, const struct wh_verbs_link *link)
{
	struct wh_verbs_stream **at = &t->streams;

	if (t->forked) /* a thread of the parent's may have the lock of any */
		t->streams = NULL;
	while (*at != NULL)
		if (link == NULL || (*at)->link == link->serial)
			detach(at);
		else
			at = &(*at)->next;
}
