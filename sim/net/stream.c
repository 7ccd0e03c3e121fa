/* stream.c - streams of the simulator (T10).
 *
 * A stream holds a few bytes, any number from a few to a page: what has been written and not been read. They arrive in
 * order, some at a time, each a latency after it was written or later. How much a call takes or gives is left to chance.
 *
 * Both ends are in one piece of memory, which belongs to whatever is left: ends that are open, an event under way, the
 * world itself may end in any order.
 */
#include "sim/net/sim_int.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_BYTES 32
#define DOUBLED_MAX 6 /* times */

struct sim_stream_end {
	struct wh_stream base;
	struct sim_stream *stream;
	bool open;
	bool counted; /* among what is under way: it is open, and its node is there */
};

struct sim_stream {
	struct sim_stream_end writer, reader;
	struct sim_link *link; /* from the writer's life to the reader's; NULL: the world is no more */
	struct sim_stream *next;
	uint64_t tag;

	/* Bytes that were written, left, arrived, and were read since it was opened, and of those read what the writer knows. */
	uint64_t written, departed, arrived, read, known_read;
	bool whole; /* the writer has closed it: there will be no more */
	bool whole_departed, whole_arrived;
	bool torn;        /* nothing more leaves */
	bool offered;     /* the reader's node has been told, or will never be */
	bool taken;       /* the reader has an owner */
	bool frail;       /* what has arrived is lost when the reader hears that the writer is down */
	bool scheduled;   /* an event will let something arrive */
	uint64_t shut_ns; /* the writer may know then that the reader has closed it */
	uint64_t capacity;
	unsigned char bytes[]; /* byte k is at k mod capacity */
};

static struct sim_stream_end *end_of(struct wh_stream *base)
{
	return (struct sim_stream_end *)base;
}

/* ---- the memory ---------------------------------------------------------------------------------------------------------- */

static void count_end(struct sim_stream_end *end, bool counts)
{
	if (end->counted == counts)
		return;
	end->counted = counts;
	end->stream->link->sim->under_way += counts ? 1 : UINT64_MAX;
}

/* No end and no event has it any more. */
static bool is_over(const struct sim_stream *stream)
{
	return !stream->writer.open && !stream->reader.open && !stream->scheduled;
}

static void free_if_over(struct sim_stream *stream)
{
	struct sim_stream **at;

	if (!is_over(stream))
		return;
	if (stream->link != NULL) {
		for (at = &stream->link->streams; *at != stream; at = &(*at)->next)
			;
		*at = stream->next;
	}
	free(stream);
}

void wh_sim_streams_free(struct sim_link *link)
{
	while (link->streams != NULL) {
		struct sim_stream *stream = link->streams;

		link->streams = stream->next;
		count_end(&stream->writer, false);
		count_end(&stream->reader, false);
		stream->link = NULL;
		stream->scheduled = false;
		stream->reader.open = stream->reader.open && stream->taken;
		free_if_over(stream);
	}
}

/* ---- on the way ---------------------------------------------------------------------------------------------------------- */

static bool has_more(const struct sim_stream *stream)
{
	return stream->arrived < stream->written || (stream->whole && !stream->whole_arrived);
}

static void let_bytes_arrive(void *ctx, uint64_t argument);

/* What has been written by now leaves, if nothing is on its way. */
static void let_bytes_depart(struct sim_stream *stream)
{
	struct sim_link *link = stream->link;

	if (stream->scheduled || !has_more(stream))
		return;
	stream->departed = stream->written;
	stream->whole_departed = stream->whole;
	stream->scheduled = true;
	wh_sim_at(link->sim, link->sim->now_ns + wh_sim_delay(link), let_bytes_arrive, stream, 0);
}

/* Some of it arrives, or all. */
static void let_bytes_arrive(void *ctx, uint64_t argument)
{
	struct sim_stream *stream = ctx;
	struct sim_link *link = stream->link;
	struct wh_dice *dice = &link->sim->dice;
	uint64_t rest = stream->departed - stream->arrived;

	(void)argument;
	stream->scheduled = false;
	if (link->path->cut_off || !stream->reader.open || link->to->dead || link->back->over) {
		free_if_over(stream);
		return;
	}
	if (rest > 1 && wh_dice_one_in(dice, 2))
		rest = wh_dice_between(dice, 1, rest);
	stream->arrived += rest;
	stream->whole_arrived = stream->whole_departed && stream->arrived == stream->departed;
	wh_sim_note(link->sim, stream->arrived);
	if (rest > 0)
		wh_sim_note(link->sim, stream->bytes[(stream->arrived - 1) % stream->capacity]);
	let_bytes_depart(stream);
	wh_sim_arrived(link);
}

void wh_sim_streams_resume(struct sim_link *link)
{
	for (struct sim_stream *stream = link->streams; stream != NULL; stream = stream->next)
		let_bytes_depart(stream);
}

bool wh_sim_streams_flying(const struct sim_link *link)
{
	for (const struct sim_stream *stream = link->streams; stream != NULL; stream = stream->next)
		if (stream->reader.open && (!stream->offered || has_more(stream)))
			return true;
	return false;
}

uint32_t wh_sim_streams_count(const struct sim_link *link)
{
	uint32_t count = 0;

	for (const struct sim_stream *stream = link->streams; stream != NULL; stream = stream->next)
		count += stream->writer.counted || stream->reader.counted;
	return count;
}

/* What is under way is cut off anywhere; where all of it arrives, that it is whole arrives as well. */
static void tear_stream(struct sim_stream *stream)
{
	struct wh_dice *dice = &stream->link->sim->dice;

	stream->torn = true;
	switch (wh_dice_below(dice, 3)) {
	case 0: /* all of it arrives */
		return;
	case 1:
		stream->written = wh_dice_between(dice, stream->arrived, stream->written);
		break;
	default:
		stream->written = stream->arrived;
	}
	stream->whole = stream->whole_arrived;
	stream->whole_departed = stream->whole_departed && stream->whole;
	if (stream->departed > stream->written)
		stream->departed = stream->written;
}

void wh_sim_streams_tear(struct sim_link *link)
{
	for (struct sim_stream *stream = link->streams; stream != NULL; stream = stream->next)
		tear_stream(stream);
}

void wh_sim_streams_orphan(struct sim_link *link, bool writes)
{
	for (struct sim_stream *stream = link->streams; stream != NULL; stream = stream->next) {
		count_end(writes ? &stream->writer : &stream->reader, false);
		if (writes && !link->from->left)
			tear_stream(stream);
	}
}

/* ---- the ends ------------------------------------------------------------------------------------------------------------ */

static uint64_t some_of(struct wh_sim *sim, uint64_t most)
{
	return wh_dice_one_in(&sim->dice, 2) ? most : wh_dice_between(&sim->dice, 1, most);
}

/* The reader has closed it, and the writer has heard of it. */
static bool is_shut(const struct sim_stream *stream)
{
	const struct sim_link *link = stream->link;

	return !stream->reader.open && link->sim->now_ns >= stream->shut_ns && !link->back->path->cut_off;
}

static ptrdiff_t stream_write(struct wh_stream *base, const void *bytes, size_t count)
{
	struct sim_stream *stream = end_of(base)->stream;
	struct sim_link *link = stream->link;
	const unsigned char *from = bytes;
	uint64_t most;

	if (base != &stream->writer.base || link == NULL || link->from->dead || link->over || is_shut(stream))
		return -1;
	if (!link->back->path->cut_off)
		stream->known_read = stream->read;
	most = stream->capacity - (stream->written - stream->known_read);
	most = count < most ? count : most;
	if (most == 0 || stream->torn)
		return 0;
	most = some_of(link->sim, most);
	for (uint64_t k = 0; k < most; k++)
		stream->bytes[stream->written++ % stream->capacity] = from[k];
	let_bytes_depart(stream);
	return (ptrdiff_t)most;
}

static ptrdiff_t stream_read(struct wh_stream *base, void *bytes, size_t count)
{
	struct sim_stream *stream = end_of(base)->stream;
	struct sim_link *link = stream->link;
	unsigned char *to = bytes;
	uint64_t most;
	bool over;

	if (base != &stream->reader.base || link == NULL || link->to->dead)
		return -1;
	over = link->back->over;
	most = over && stream->frail && !link->from->left ? 0 : stream->arrived - stream->read;
	if (most == 0)
		return over || stream->whole_arrived ? -1 : 0;
	most = count < most ? count : most;
	if (most == 0)
		return 0;
	most = some_of(link->sim, most);
	for (uint64_t k = 0; k < most; k++)
		to[k] = stream->bytes[stream->read++ % stream->capacity];
	return (ptrdiff_t)most;
}

static bool stream_wait(struct wh_stream *base, bool to_write, uint64_t timeout_ns)
{
	(void)base;
	(void)to_write;
	(void)timeout_ns;
	return false;
}

static void close_writer(struct sim_stream *stream)
{
	stream->writer.open = false;
	if (stream->link == NULL)
		return;
	count_end(&stream->writer, false);
	if (stream->torn)
		return;
	stream->whole = true;
	let_bytes_depart(stream);
}

static void close_reader(struct sim_stream *stream)
{
	struct sim_link *link = stream->link;

	stream->reader.open = false;
	stream->offered = true;
	if (link == NULL)
		return;
	count_end(&stream->reader, false);
	/* A dead reader tells nothing. */
	stream->shut_ns = link->to->dead ? UINT64_MAX : link->sim->now_ns + wh_sim_delay(link->back);
	wh_sim_arrived(link);
}

static void stream_close(struct wh_stream *base)
{
	struct sim_stream *stream = end_of(base)->stream;

	if (base == &stream->writer.base)
		close_writer(stream);
	else
		close_reader(stream);
	free_if_over(stream);
}

void wh_sim_stream_offer(struct sim_stream *stream)
{
	stream->offered = true;
}

void wh_sim_stream_disown(struct sim_stream *stream)
{
	stream_close(&stream->reader.base);
}

struct wh_stream *wh_sim_stream_take(struct sim_stream *stream)
{
	stream->taken = true;
	return &stream->reader.base;
}

/* ---- opening ------------------------------------------------------------------------------------------------------------- */

static const struct wh_stream_ops stream_ops = {stream_write, stream_read, stream_wait, stream_close};

static struct sim_stream *new_stream(struct sim_link *link, uint64_t tag)
{
	struct wh_dice *dice = &link->sim->dice;
	uint64_t capacity = wh_dice_between(dice, LEAST_BYTES, 2 * LEAST_BYTES) << wh_dice_below(dice, DOUBLED_MAX + 1);
	struct sim_stream *stream = calloc(1, sizeof(*stream) + capacity);

	if (stream == NULL)
		return NULL;
	stream->writer = (struct sim_stream_end){{&stream_ops}, stream, true, false};
	stream->reader = (struct sim_stream_end){{&stream_ops}, stream, true, false};
	stream->link = link;
	stream->next = link->streams;
	stream->tag = tag;
	stream->capacity = capacity;
	stream->frail = wh_dice_one_in(dice, 2);
	link->streams = stream;
	count_end(&stream->writer, true);
	count_end(&stream->reader, true);
	return stream;
}

struct sim_stream *wh_sim_stream_new(struct sim_link *link, uint64_t tag, struct wh_stream **writer, bool *full)
{
	struct sim_stream *stream;

	*full = wh_sim_streams_count(link) == SIM_STREAMS;
	stream = *full ? NULL : new_stream(link, tag);
	if (stream != NULL)
		*writer = &stream->writer.base;
	return stream;
}
