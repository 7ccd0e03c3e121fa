/* in.c - what comes.
 *
 * Heads, tables and messages of the session are read into a buffer. The ranges of a push are then read straight into their places in the
 * image, by the same call that reads the beginning of the next frame into the buffer. Words are in the table, and so never
 * are where a reader could see half of one: when all ranges are there they are stored, each with release, in order (T2, T3).
 *
 * What belongs to no image that is open here, or to a row that is frozen, is read and thrown away; that may happen to the
 * rest of a push when its image closes meanwhile.
 */
#include <string.h>

#include "transport/tcp/tcp_int.h"

#define READS_AT_ONCE 16          /* from one peer, then others have their turn */
#define PARTS_AT_ONCE 64          /* ranges in one read */
#define SMALL_RANGE (2u << 10)    /* bytes, of TLS */
#define LARGE_PUSH (16u << 10)    /* bytes of ranges: what follows such a one is likely such a one, ... */
#define AHEAD_OF_LARGE (2u << 10) /* ... and is not worth being copied: only its head and its table are read ahead */

void wh_tcp_in_forget(struct wh_tcp_in *in, const struct wh_tcp_image *image)
{
	if (image == NULL || in->image == image) {
		in->image = NULL;
		in->row = in->columns = NULL;
	}
}

/* ---- a push ------------------------------------------------------------------------------------------------------- */

/* May the member of that rank push this, of the row of `owner`? */
static bool may_push_span(const struct wh_session_image *image, uint32_t rank, uint32_t owner,
			  const struct wh_tcp_span *span)
{
	if (owner == rank)
		return wh_tcp_row_holds(&image->rows[rank], span->offset, span->bytes);
	return wh_session_image_relays(image, rank, owner, span->offset, span->bytes);
}

/* Where it goes, by the member of that rank. False: it is none that this peer could send. */
static bool aim_push(struct wh_tcp_in *in, const struct wh_message_head *head, uint32_t rank, uint32_t owner)
{
	const struct wh_session_image *image = &in->image->base;

	if (owner >= image->base.members || (owner == rank && wh_tcp_is_relayed(head)))
		return false;
	for (uint32_t i = 0; i < head->ranges; i++)
		if (!may_push_span(image, rank, owner, &in->spans[i]))
			return false;
	for (uint32_t i = 0; i < head->words; i++)
		if (!wh_tcp_row_holds(&image->rows[rank], in->words[i].offset, sizeof(uint64_t)))
			return false;
	in->row = in->image->places[owner];
	in->columns = in->image->places[rank];
	in->arrived = &in->image->arrived[rank];
	return true;
}

/* Its head and its table are in the buffer. False: it is none that this peer could send. */
static bool begin_push(struct wh_tcp_conn *conn, const struct wh_message_head *head, const unsigned char *table)
{
	struct wh_tcp_in *in = &conn->link->in;
	uint32_t rank;

	if (!wh_tcp_table_take(head, table, in->spans, in->words))
		return false;
	in->image = wh_tcp_image_for(conn->wire, conn->base.node, head->number, &rank);
	in->row = in->columns = NULL;
	if (in->image != NULL && !aim_push(in, head, rank, wh_tcp_is_relayed(head) ? wh_tcp_owner_take(table) : rank))
		return false;
	in->pushing = true;
	in->loud = (head->flags & WH_TCP_LOUD) != 0;
	in->span_count = head->ranges;
	in->word_count = head->words;
	in->span_at = in->span_done = 0;
	in->left = head->bytes - wh_tcp_table_bytes(head);
	in->large = in->left >= LARGE_PUSH;
	return true;
}

/* So many bytes of the ranges have found their place. */
static void pass_over(struct wh_tcp_in *in, uint64_t bytes)
{
	in->left -= bytes;
	if (in->row != NULL)
		*in->arrived += bytes;
	while (bytes > 0) {
		uint32_t rest = in->spans[in->span_at].bytes - in->span_done;

		if (bytes < rest) {
			in->span_done += (uint32_t)bytes;
			return;
		}
		bytes -= rest;
		in->span_at++;
		in->span_done = 0;
	}
}

/* What of the ranges is in the buffer already. */
static void copy_ranges(struct wh_tcp_in *in)
{
	while (in->left > 0 && in->at < in->count) {
		const struct wh_tcp_span *span = &in->spans[in->span_at];
		uint32_t rest = span->bytes - in->span_done, have = in->count - in->at;
		uint32_t some = rest < have ? rest : have;

		if (in->row != NULL)
			memcpy(in->row + span->offset + in->span_done, in->bytes + in->at, some);
		in->at += some;
		pass_over(in, some);
	}
}

static size_t end_push(struct wh_tcp_in *in)
{
	size_t work = in->loud && in->columns != NULL;

	/* The ranges, then the word; a word, then the next. Partner: the acquire load with which the protocol reads it. */
	for (uint32_t i = 0; in->columns != NULL && i < in->word_count; i++)
		wh_store_release((wh_word *)(void *)(in->columns + in->words[i].offset), in->words[i].value);
	if (in->columns != NULL)
		*in->arrived += in->word_count * sizeof(uint64_t);
	in->pushing = false;
	in->image = NULL;
	in->row = in->columns = NULL;
	return work;
}

/* ---- frames ------------------------------------------------------------------------------------------------------- */

enum parsed { WANTS_MORE, WENT_ON, MESSAGE, HOLDS, BAD_MESSAGE };

static bool may_push(const struct wh_tcp_conn *conn)
{
	return conn->wire->use.pushes && !conn->wire->use.is_lane &&
	       wh_session_peer(conn->wire->session, conn->base.node)->state == WH_PEER_MET;
}

static enum parsed parse_push(struct wh_tcp_conn *conn, const struct wh_message_head *head, const unsigned char *table,
			      uint32_t have)
{
	struct wh_tcp_in *in = &conn->link->in;
	size_t bytes = wh_tcp_table_bytes(head);

	if (!may_push(conn))
		return BAD_MESSAGE;
	if (have < bytes)
		return WANTS_MORE;
	if (!begin_push(conn, head, table))
		return BAD_MESSAGE;
	in->at += (uint32_t)(WH_HEAD_BYTES + bytes);
	return WENT_ON;
}

/* Own kinds of other transports are judged by them. */
static bool take_head(const struct wh_tcp_conn *conn, struct wh_message_head *head, const unsigned char *bytes)
{
	return conn->wire->use.pushes ? wh_tcp_head_take(head, bytes) : wh_message_head_take(head, bytes);
}

/* The next frame of which enough is in the buffer. `m` is NULL where there is no room for a message. */
static enum parsed parse(struct wh_tcp_conn *conn, struct wh_message *m)
{
	struct wh_tcp_in *in = &conn->link->in;
	const unsigned char *from = in->bytes + in->at;
	uint32_t have = in->count - in->at;
	struct wh_message_head head;

	if (have < WH_HEAD_BYTES)
		return WANTS_MORE;
	if (!take_head(conn, &head, from) || head.kind == WH_MESSAGE_ANSWER)
		return m == NULL ? HOLDS : BAD_MESSAGE;
	if (head.kind == WH_MESSAGE_PUSH) {
		enum parsed parsed = parse_push(conn, &head, from + WH_HEAD_BYTES, have - WH_HEAD_BYTES);

		return parsed == BAD_MESSAGE && m == NULL ? HOLDS : parsed;
	}
	if (have < WH_HEAD_BYTES + head.bytes)
		return WANTS_MORE;
	if (m == NULL)
		return HOLDS;
	in->at += WH_HEAD_BYTES + head.bytes;
	m->head = head;
	m->body = from + WH_HEAD_BYTES;
	return MESSAGE;
}

/* All that is in the buffer, up to the next message. */
static enum parsed digest(struct wh_tcp_conn *conn, struct wh_message *m)
{
	struct wh_tcp_in *in = &conn->link->in;
	enum parsed parsed = WENT_ON;

	in->held = false;
	while (parsed == WENT_ON) {
		if (in->pushing) {
			copy_ranges(in);
			if (in->left > 0)
				return WANTS_MORE;
			conn->wire->work += end_push(in);
		}
		parsed = parse(conn, m);
	}
	if (parsed == HOLDS) {
		in->held = true;
		conn->wire->held_count++;
	}
	return parsed;
}

/* ---- reading ------------------------------------------------------------------------------------------------------ */

/* Where what comes next goes: first places in the row, which have `direct` bytes, then the buffer. */
struct places {
	struct iovec parts[PARTS_AT_ONCE + 1];
	size_t count;
	uint64_t direct;
};

/* Of the ranges. What goes nowhere is read into the buffer; of TLS small ones are too, as each that is asked for costs more than to
 * copy it. Returns how many bytes of them have no place in it. */
static uint64_t add_ranges(const struct wh_tcp_in *in, bool wraps, struct places *places)
{
	uint64_t left = in->row != NULL ? in->left : 0;
	uint32_t at = in->span_at, done = in->span_done;

	for (; left > 0 && places->count < PARTS_AT_ONCE; at++, done = 0) {
		uint32_t rest = in->spans[at].bytes - done;

		if (wraps && rest < SMALL_RANGE)
			break;
		places->parts[places->count++] = (struct iovec){in->row + in->spans[at].offset + done, rest};
		places->direct += rest;
		left -= rest;
	}
	return left;
}

static void add_buffer(struct wh_tcp_in *in, struct places *places)
{
	uint32_t room;

	if (in->at > 0) {
		memmove(in->bytes, in->bytes + in->at, in->count - in->at);
		in->count -= in->at;
		in->at = 0;
	}
	room = WH_TCP_IN_BYTES - in->count;
	if (in->large && in->count < AHEAD_OF_LARGE)
		room = AHEAD_OF_LARGE - in->count;
	places->parts[places->count++] = (struct iovec){in->bytes + in->count, room};
}

/* Returns whether all that was asked for has come, so that there may be more. */
static bool account(struct wh_tcp_in *in, const struct places *places, size_t done)
{
	uint64_t asked = 0, direct = done < places->direct ? done : places->direct;

	for (size_t i = 0; i < places->count; i++)
		asked += places->parts[i].iov_len;
	pass_over(in, direct);
	in->count += (uint32_t)(done - direct);
	return done == asked;
}

/* WH_TCP_DONE: there may be more. */
static enum wh_tcp_io read_some(struct wh_tcp_conn *conn)
{
	struct wh_tcp_in *in = &conn->link->in;
	struct places places = {.count = 0};
	enum wh_tcp_io io;
	size_t done;

	if (add_ranges(in, conn->channel.wraps, &places) == 0 || places.count == 0)
		add_buffer(in, &places);
	io = wh_tcp_channel_read(&conn->channel, places.parts, places.count, &done);
	return io != WH_TCP_DONE || account(in, &places, done) ? io : WH_TCP_LATER;
}

/* Is more to be read for now? After some reads others have their turn. With TLS what has been taken off the socket, and waits to be
 * opened, comes first: nothing would tell of it any more. */
static bool may_read(struct wh_tcp_conn *conn)
{
	if (conn->link->in.dry)
		return false;
	if (conn->base.reads < READS_AT_ONCE) {
		conn->base.reads++;
		return true;
	}
	conn->channel.looks = conn->channel.wraps;
	return conn->channel.wraps;
}

static enum wh_wire_result how_ended(const struct wh_tcp_conn *conn, enum wh_tcp_io io)
{
	enum wh_secure_fault fault = wh_tcp_channel_fault(&conn->channel);
	bool changed = io == WH_TCP_BROKEN && wh_tcp_channel_reason(&conn->channel)[0] != '\0' &&
		       fault != WH_SECURE_STARVED && fault != WH_SECURE_OVER; /* memory is out, or that was all */

	return changed ? WH_WIRE_CHANGED : WH_WIRE_ENDED;
}

enum wh_wire_result wh_tcp_in_receive(struct wh_tcp_conn *conn, struct wh_message *m)
{
	struct wh_tcp_in *in = &conn->link->in;

	if (conn->base.reads == 0)
		in->dry = conn->channel.looks = false;
	for (;;) {
		enum parsed parsed = digest(conn, m);
		enum wh_tcp_io io;

		if (parsed == MESSAGE)
			return WH_WIRE_DONE;
		if (parsed == BAD_MESSAGE)
			return WH_WIRE_BROKEN;
		if (parsed == HOLDS || !may_read(conn))
			return WH_WIRE_LATER;
		io = read_some(conn);
		in->dry = io == WH_TCP_LATER;
		if (io == WH_TCP_ENDED || io == WH_TCP_BROKEN)
			return m == NULL ? WH_WIRE_LATER : how_ended(conn, io);
	}
}
