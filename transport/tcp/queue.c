/* queue.c - pushes that have not left yet; see tcp_int.h. */
#include <stdlib.h>
#include <string.h>

#include "transport/tcp/tcp_int.h"

#define ROOM_AT_FIRST 64
#define LOOK_BACK 4 /* ranges that a new one may continue: rings of several subgroups take turns */
/* Of ranges before a word that ends a frame: they cost far more than to begin another. */
#define ENDS_BYTES (64u << 10)

/* Room for one more. What has left makes room first. */
static bool make_room(void **items, size_t size, uint32_t *count, uint32_t *room, uint32_t *at, uint32_t *fixed)
{
	uint32_t wanted = *room == 0 ? ROOM_AT_FIRST : 2 * *room;
	void *grown;

	if (*count < *room)
		return true;
	if (*at > *count / 2 || (*at > 0 && wanted > WH_TCP_QUEUE_MAX)) {
		memmove(*items, (char *)*items + *at * size, (*count - *at) * size);
		*count -= *at;
		if (fixed != NULL)
			*fixed = *fixed > *at ? *fixed - *at : 0;
		*at = 0;
		return true;
	}
	if (wanted > WH_TCP_QUEUE_MAX)
		return false;
	grown = realloc(*items, wanted * size);
	if (grown == NULL)
		return false;
	*items = grown;
	*room = wanted;
	return true;
}

/* The range continues, or repeats, one that waits. */
static bool joins(struct wh_tcp_range *old, const struct wh_tcp_image *image, uint32_t owner, uint64_t offset,
		  uint64_t bytes)
{
	uint64_t end = old->span.offset + old->span.bytes;

	if (old->image != image || old->owner != owner || offset < old->span.offset || offset > end)
		return false;
	if (offset + bytes <= end)
		return true;
	if (offset + bytes - old->span.offset > WH_TCP_RANGE_MAX)
		return false;
	old->span.bytes = (uint32_t)(offset + bytes - old->span.offset);
	return true;
}

static bool add_range(struct wh_tcp_queue *q, struct wh_tcp_image *image, uint32_t owner, uint64_t offset,
		      uint32_t bytes)
{
	uint32_t first = q->range_count > LOOK_BACK ? q->range_count - LOOK_BACK : 0;

	first = first < q->fixed ? q->fixed : first;
	first = first < q->range_at ? q->range_at : first;
	for (uint32_t i = q->range_count; i-- > first;)
		if (joins(&q->ranges[i], image, owner, offset, bytes))
			return true;
	if (!make_room((void **)&q->ranges, sizeof(*q->ranges), &q->range_count, &q->range_room, &q->range_at,
		       &q->fixed))
		return false;
	q->ranges[q->range_count++] = (struct wh_tcp_range){image, owner, {offset, bytes}};
	wh_tcp_image_hold(image);
	return true;
}

bool wh_tcp_queue_range(struct wh_tcp_queue *q, struct wh_tcp_image *image, uint32_t owner, uint64_t offset,
			uint64_t bytes)
{
	while (bytes > 0) {
		uint32_t some = bytes < WH_TCP_RANGE_MAX ? (uint32_t)bytes : WH_TCP_RANGE_MAX;

		if (!add_range(q, image, owner, offset, some))
			return false;
		q->since += some;
		offset += some;
		bytes -= some;
	}
	return true;
}

bool wh_tcp_queue_word(struct wh_tcp_queue *q, struct wh_tcp_image *image, uint64_t offset, uint64_t value)
{
	struct wh_tcp_value *last = q->word_count > q->word_at ? &q->words[q->word_count - 1] : NULL;
	uint64_t behind = q->left + (q->range_count - q->range_at);
	bool ends = q->since >= ENDS_BYTES;

	/* Nothing lies between the two values but ranges, which go first: no reader can tell that the older one was left out. */
	if (last != NULL && !ends && last->image == image && last->word.offset == offset) {
		last->word.value = value;
		last->behind = behind;
		return true;
	}
	if (!make_room((void **)&q->words, sizeof(*q->words), &q->word_count, &q->word_room, &q->word_at, NULL))
		return false;
	q->words[q->word_count++] = (struct wh_tcp_value){image, {offset, value}, behind, ends};
	q->since = ends ? 0 : q->since;
	wh_tcp_image_hold(image);
	return true;
}

bool wh_tcp_queue_empty(const struct wh_tcp_queue *q)
{
	return q->range_at == q->range_count && q->word_at == q->word_count;
}

/* How many ranges there are before the first word that ends a frame. */
static uint32_t ranges_to_end(const struct wh_tcp_queue *q)
{
	uint32_t left = q->range_count - q->range_at, words = q->word_count - q->word_at;

	for (uint32_t n = 0; n < words && n < WH_TCP_WORDS_MAX; n++) {
		const struct wh_tcp_value *value = &q->words[q->word_at + n];

		if (value->ends && value->behind > q->left)
			return value->behind - q->left < left ? (uint32_t)(value->behind - q->left) : left;
	}
	return left;
}

/* Of one row, and about `bytes`. */
static uint32_t next_ranges(const struct wh_tcp_queue *q, uint64_t bytes)
{
	const struct wh_tcp_range *first = &q->ranges[q->range_at];
	uint32_t most = ranges_to_end(q), n = 0;
	uint64_t sum = 0;

	most = most < WH_TCP_RANGES_MAX ? most : WH_TCP_RANGES_MAX;
	for (; n < most && first[n].image == first->image && first[n].owner == first->owner; n++) {
		if (sum > 0 && sum + first[n].span.bytes > bytes)
			break;
		sum += first[n].span.bytes;
	}
	return n;
}

void wh_tcp_queue_next(const struct wh_tcp_queue *q, uint64_t bytes, uint32_t *ranges, uint32_t *words)
{
	const struct wh_tcp_image *image;
	uint32_t n = q->word_at;

	*ranges = *words = 0;
	if (wh_tcp_queue_empty(q))
		return;
	*ranges = q->range_at < q->range_count ? next_ranges(q, bytes) : 0;
	image = *ranges > 0 ? q->ranges[q->range_at].image : q->words[n].image;
	for (; n < q->word_count && n - q->word_at < WH_TCP_WORDS_MAX && q->words[n].image == image &&
	       q->words[n].behind <= q->left + *ranges;
	     n++)
		;
	*words = n - q->word_at;
}

void wh_tcp_queue_left(struct wh_tcp_queue *q, uint32_t ranges, uint32_t words)
{
	q->left += ranges;
	for (uint32_t i = 0; i < ranges; i++)
		wh_tcp_image_let_go(q->ranges[q->range_at++].image);
	for (uint32_t i = 0; i < words; i++)
		wh_tcp_image_let_go(q->words[q->word_at++].image);
	if (q->range_at == q->range_count)
		q->range_at = q->range_count = q->fixed = 0;
	if (q->word_at == q->word_count)
		q->word_at = q->word_count = 0;
}

void wh_tcp_queue_drop(struct wh_tcp_queue *q)
{
	wh_tcp_queue_left(q, q->range_count - q->range_at, q->word_count - q->word_at);
	q->loud = false;
}

void wh_tcp_queue_free(struct wh_tcp_queue *q)
{
	wh_tcp_queue_drop(q);
	free(q->ranges);
	free(q->words);
	*q = (struct wh_tcp_queue){.ranges = NULL};
}
