/* state_pipe.h - streams between states that are tested: pipes of a bounded capacity. A test may hold their ends itself. */
#ifndef WH_TESTS_UNIT_STATE_PIPE_H
#define WH_TESTS_UNIT_STATE_PIPE_H

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/atomics.h"
#include "tests/harness.h"
#include "transport/transport.h"

struct pipe {
	struct wh_stream out, in; /* the ends: the writer's, and the reader's */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned char *bytes;
	size_t capacity, from, count;
	bool blocks; /* wait() does, and does not say that nothing can */
	wh_word waits;
	bool out_closed, in_closed;
	uint32_t to, from_node;
};

static inline struct pipe *pipe_of(struct wh_stream *stream, bool in)
{
	return (struct pipe *)(void *)((char *)stream - (in ? offsetof(struct pipe, in) : offsetof(struct pipe, out)));
}

static inline ptrdiff_t pipe_write(struct wh_stream *stream, const void *bytes, size_t count)
{
	struct pipe *pipe = pipe_of(stream, false);
	ptrdiff_t written = -1;

	pthread_mutex_lock(&pipe->lock);
	if (!pipe->in_closed) {
		size_t room = pipe->capacity - pipe->count;

		written = (ptrdiff_t)(count < room ? count : room);
		for (ptrdiff_t i = 0; i < written; i++)
			pipe->bytes[(pipe->from + pipe->count++) % pipe->capacity] = ((const unsigned char *)bytes)[i];
		pthread_cond_broadcast(&pipe->changed);
	}
	pthread_mutex_unlock(&pipe->lock);
	return written;
}

static inline ptrdiff_t pipe_read(struct wh_stream *stream, void *bytes, size_t count)
{
	struct pipe *pipe = pipe_of(stream, true);
	ptrdiff_t got;

	pthread_mutex_lock(&pipe->lock);
	got = (ptrdiff_t)(count < pipe->count ? count : pipe->count);
	for (ptrdiff_t i = 0; i < got; i++)
		((unsigned char *)bytes)[i] = pipe->bytes[(pipe->from + (size_t)i) % pipe->capacity];
	pipe->from = (pipe->from + (size_t)got) % pipe->capacity;
	pipe->count -= (size_t)got;
	if (got == 0 && pipe->out_closed)
		got = -1;
	pthread_cond_broadcast(&pipe->changed);
	pthread_mutex_unlock(&pipe->lock);
	return got;
}

static inline bool pipe_wait(struct wh_stream *stream, bool to_write, uint64_t timeout_ns)
{
	struct pipe *pipe = pipe_of(stream, !to_write);
	struct timespec until;

	wh_fetch_add(&pipe->waits, 1);
	if (!pipe->blocks)
		return false;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)timeout_ns;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&pipe->lock);
	if (to_write ? pipe->count == pipe->capacity && !pipe->in_closed : pipe->count == 0 && !pipe->out_closed)
		pthread_cond_timedwait(&pipe->changed, &pipe->lock, &until);
	pthread_mutex_unlock(&pipe->lock);
	return true;
}

static inline void pipe_close_end(struct pipe *pipe, bool *mine, const bool *other)
{
	bool both;

	pthread_mutex_lock(&pipe->lock);
	if (*mine)
		abort(); /* closed twice */
	*mine = true;
	both = *other;
	pthread_cond_broadcast(&pipe->changed);
	pthread_mutex_unlock(&pipe->lock);
	if (!both)
		return;
	pthread_cond_destroy(&pipe->changed);
	pthread_mutex_destroy(&pipe->lock);
	free(pipe->bytes);
	free(pipe);
}

static inline void pipe_close_out(struct wh_stream *stream)
{
	struct pipe *pipe = pipe_of(stream, false);

	pipe_close_end(pipe, &pipe->out_closed, &pipe->in_closed);
}

static inline void pipe_close_in(struct wh_stream *stream)
{
	struct pipe *pipe = pipe_of(stream, true);

	pipe_close_end(pipe, &pipe->in_closed, &pipe->out_closed);
}

static inline struct pipe *pipe_create(size_t capacity, bool blocks)
{
	static const struct wh_stream_ops out_ops = {.write = pipe_write, .wait = pipe_wait, .close = pipe_close_out};
	static const struct wh_stream_ops in_ops = {.read = pipe_read, .wait = pipe_wait, .close = pipe_close_in};
	struct pipe *pipe = calloc(1, sizeof(*pipe));

	ck_assert_ptr_nonnull(pipe);
	pipe->out.ops = &out_ops;
	pipe->in.ops = &in_ops;
	pthread_mutex_init(&pipe->lock, NULL);
	pthread_cond_init(&pipe->changed, NULL);
	pipe->capacity = capacity;
	pipe->blocks = blocks;
	pipe->bytes = malloc(capacity);
	ck_assert_ptr_nonnull(pipe->bytes);
	return pipe;
}

static inline bool pipe_is_full(struct pipe *pipe)
{
	bool is;

	pthread_mutex_lock(&pipe->lock);
	is = pipe->count == pipe->capacity;
	pthread_mutex_unlock(&pipe->lock);
	return is;
}

#endif
