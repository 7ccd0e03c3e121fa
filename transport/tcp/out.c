/* out.c - what leaves: all that waits for one peer in one gathered write, as far as a frame and the socket hold it.
 *
 * A write that the socket took in part goes on where it stopped, before anything else is begun: what it reads from my row is
 * final (T4), what it says of words was copied when it was begun. Until then whatever is posted is collected in the queue,
 * where ranges that touch become one: the fuller the socket, the larger the next frame.
 */
#include <errno.h>
#include <string.h>

#include "transport/tcp/tcp_int.h"

bool wh_tcp_out_message(struct wh_tcp_out *out, const unsigned char *frame, size_t bytes, enum wh_wire_room for_whom)
{
	size_t room = for_whom == WH_WIRE_OWN ? WH_TCP_MESSAGES_BYTES + WH_TCP_RESERVE_BYTES : WH_TCP_MESSAGES_BYTES;

	if (out->messages_in == 0 && out->messages_at > 0) { /* no write points at them */
		memmove(out->messages, out->messages + out->messages_at, out->messages_count - out->messages_at);
		out->messages_count -= out->messages_at;
		out->messages_at = 0;
	}
	if (out->messages_count + bytes > room)
		return false;
	memcpy(out->messages + out->messages_count, frame, bytes);
	out->messages_count += (uint32_t)bytes;
	return true;
}

bool wh_tcp_out_empty(const struct wh_tcp_out *out)
{
	return out->part_count == 0 && out->messages_at == out->messages_count && wh_tcp_queue_empty(&out->queue) &&
	       !out->leaving;
}

static unsigned char *row_of(const struct wh_tcp_range *range)
{
	const struct wh_tcp_image *image = range->image;

	return range->owner == image->base.base.my_rank ? image->base.base.own : image->places[range->owner];
}

/* Which row the ranges are of, if it is not mine. Returns where the table begins. */
static unsigned char *put_owner(struct wh_message_head *head, unsigned char *at, const struct wh_tcp_range *range)
{
	if (range->owner == range->image->base.base.my_rank)
		return at;
	head->flags |= WH_TCP_RELAYED;
	wh_tcp_owner_put(at, range->owner);
	return at + WH_TCP_OWNER_BYTES;
}

/* Head and table of the next push, then its ranges as they lie in my row, or in that of which I relay. */
static void put_push(struct wh_tcp_out *out, uint32_t ranges, uint32_t words)
{
	const struct wh_tcp_queue *q = &out->queue;
	struct wh_message_head head = {.kind = WH_MESSAGE_PUSH, .ranges = (uint16_t)ranges, .words = (uint16_t)words};
	unsigned char *at = out->table + WH_HEAD_BYTES;
	struct wh_tcp_image *image = ranges > 0 ? q->ranges[q->range_at].image : q->words[q->word_at].image;

	head.number = image->base.base.key;
	head.flags = q->loud ? WH_TCP_LOUD : 0;
	if (ranges > 0)
		at = put_owner(&head, at, &q->ranges[q->range_at]);
	head.bytes = (uint32_t)wh_tcp_table_bytes(&head);
	out->parts[out->part_count++] = (struct iovec){out->table, WH_HEAD_BYTES + head.bytes};
	for (uint32_t i = 0; i < ranges; i++) {
		const struct wh_tcp_range *range = &q->ranges[q->range_at + i];
		const struct wh_tcp_span *span = &range->span;

		wh_tcp_span_put(at, span);
		at += WH_TCP_RANGE_BYTES;
		out->parts[out->part_count++] = (struct iovec){row_of(range) + span->offset, span->bytes};
		head.bytes += span->bytes;
	}
	for (uint32_t i = 0; i < words; i++, at += WH_TCP_WORD_BYTES)
		wh_tcp_word_put(at, &q->words[q->word_at + i].word);
	wh_message_head_put(out->table, &head);
}

/* The next write. False: there is nothing to write. */
static bool begin(struct wh_tcp_out *out)
{
	uint32_t ranges, words;

	out->part_at = out->part_count = 0;
	if (out->leaving && out->messages_count == 0 && wh_tcp_queue_empty(&out->queue)) {
		out->messages_count = (uint32_t)wh_message_put_plain(out->messages, WH_MESSAGE_LEAVE, 0);
		out->leaving = false;
	}
	out->messages_in = out->messages_count - out->messages_at;
	if (out->messages_in > 0)
		out->parts[out->part_count++] = (struct iovec){out->messages + out->messages_at, out->messages_in};
	wh_tcp_queue_next(&out->queue, WH_TCP_FRAME_BYTES, &ranges, &words);
	if (ranges + words > 0)
		put_push(out, ranges, words);
	wh_tcp_queue_left(&out->queue, 0, words); /* they have been copied; ranges have not */
	out->ranges_in = ranges;
	out->queue.fixed = out->queue.range_at + ranges;
	return out->part_count > 0;
}

static void finish(struct wh_tcp_out *out)
{
	wh_tcp_queue_left(&out->queue, out->ranges_in, 0);
	out->messages_at += out->messages_in;
	out->messages_in = out->ranges_in = 0;
	out->part_count = out->part_at = 0;
	if (out->messages_at == out->messages_count)
		out->messages_at = out->messages_count = 0;
	if (wh_tcp_queue_empty(&out->queue))
		out->queue.loud = false;
}

static void advance(struct wh_tcp_out *out, size_t done)
{
	while (out->part_at < out->part_count && done >= out->parts[out->part_at].iov_len)
		done -= out->parts[out->part_at++].iov_len;
	if (out->part_at < out->part_count) {
		struct iovec *part = &out->parts[out->part_at];

		part->iov_base = (char *)part->iov_base + done;
		part->iov_len -= done;
	}
}

/* The other end does not take any more: what it has sent is still read, and then its end. */
static void give_up(struct wh_tcp_out *out)
{
	finish(out);
	wh_tcp_queue_drop(&out->queue);
	out->messages_at = out->messages_count = 0;
	out->leaving = false;
	out->dead = true;
}

void wh_tcp_out_flush(struct wh_tcp_conn *conn)
{
	struct wh_tcp_out *out = &conn->link->out;
	enum wh_tcp_io io = WH_TCP_DONE;
	size_t done;

	if (out->dead) {
		give_up(out);
		return;
	}
	io = wh_tcp_channel_flush(&conn->channel);
	while (io == WH_TCP_DONE && (out->part_count > 0 || begin(out))) {
		io = wh_tcp_channel_write(&conn->channel, out->parts + out->part_at, out->part_count - out->part_at,
					  &done);
		if (io != WH_TCP_DONE)
			break;
		advance(out, done);
		if (out->part_at == out->part_count)
			finish(out);
	}
	out->blocked = io == WH_TCP_LATER || wh_tcp_channel_unsent(&conn->channel);
	if (io == WH_TCP_BROKEN || io == WH_TCP_ENDED)
		give_up(out);
}
