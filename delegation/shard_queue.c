/* shard_queue.c - see shard_queue.h. */
#include "delegation/shard_queue.h"

void wh_shard_queue_init(struct wh_shard_queue *queue, uint64_t calls_most, uint64_t bytes_most)
{
	*queue = (struct wh_shard_queue){.calls_most = calls_most, .bytes_most = bytes_most};
	pthread_mutex_init(&queue->lock, NULL);
}

bool wh_shard_queue_put(struct wh_shard_queue *queue, struct wh_note *note, void (*rings)(void *ctx), void *ctx)
{
	bool takes;

	note->next = NULL;
	pthread_mutex_lock(&queue->lock);
	takes = !queue->closed;
	if (takes && queue->first == NULL)
		queue->first = note;
	else if (takes)
		queue->last->next = note;
	if (takes) {
		queue->last = note;
		if (wh_load_relaxed(&queue->any) == 0) {
			wh_store_release(&queue->any, 1); /* partner: wh_shard_queue_take */
			rings(ctx);
		}
	}
	pthread_mutex_unlock(&queue->lock);
	return takes;
}

static struct wh_note *take_all(struct wh_shard_queue *queue)
{
	struct wh_note *first = queue->first;

	queue->first = queue->last = NULL;
	wh_store_relaxed(&queue->any, 0);
	return first;
}

struct wh_note *wh_shard_queue_take(struct wh_shard_queue *queue)
{
	struct wh_note *first;

	if (wh_load_acquire(&queue->any) == 0)
		return NULL;
	pthread_mutex_lock(&queue->lock);
	first = take_all(queue);
	pthread_mutex_unlock(&queue->lock);
	return first;
}

struct wh_note *wh_shard_queue_close(struct wh_shard_queue *queue)
{
	struct wh_note *first;

	pthread_mutex_lock(&queue->lock);
	queue->closed = true;
	first = take_all(queue);
	pthread_mutex_unlock(&queue->lock);
	return first;
}

static size_t fitting(const struct wh_shard_queue *queue, const size_t *bytes, size_t count, uint64_t *all)
{
	uint64_t calls = queue->handed - wh_load_acquire(&queue->done);
	uint64_t waiting = queue->handed_bytes - wh_load_relaxed(&queue->done_bytes);
	size_t n = 0;

	*all = 0;
	while (n < count &&
	       (calls + n == 0 || (calls + n < queue->calls_most && waiting + *all + bytes[n] <= queue->bytes_most)))
		*all += bytes[n++];
	return n;
}

size_t wh_shard_queue_room(struct wh_shard_queue *queue, const size_t *bytes, size_t count)
{
	uint64_t all;
	size_t n = fitting(queue, bytes, count, &all);

	if (n < count) {
		(void)wh_exchange(&queue->refuses,
				  1); /* then what the worker has done. Partner: wh_shard_queue_applied */
		n = fitting(queue, bytes, count, &all);
	}
	queue->handed += n;
	queue->handed_bytes += all;
	return n;
}

bool wh_shard_queue_applied(struct wh_shard_queue *queue, size_t count, size_t bytes)
{
	wh_store_relaxed(&queue->done_bytes, wh_load_relaxed(&queue->done_bytes) + bytes);
	wh_store_release(&queue->done, wh_load_relaxed(&queue->done) + count); /* partner: fitting */
	wh_fence_full();                                                       /* partner: wh_shard_queue_room */
	return wh_load_relaxed(&queue->refuses) != 0 && wh_exchange(&queue->refuses, 0) != 0;
}
