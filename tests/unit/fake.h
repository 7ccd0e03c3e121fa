/* fake.h - an environment and a transport for tests of one module: time stands still unless moved, a broken check is
 * counted, pushes are recorded, and a doorbell is a flag.
 */
#ifndef WH_TESTS_UNIT_FAKE_H
#define WH_TESTS_UNIT_FAKE_H

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/atomics.h"
#include "base/check.h"
#include "tests/harness.h"
#include "transport/transport.h"

struct fake_env {
	struct wh_env env;
	struct wh_diag diag;
	uint64_t now_ns, advance_ns; /* the clock, and how much it moves each time it is read */
	int fatal;                   /* checks that broke */
	char last_fatal[256];
	unsigned warnings; /* lines of the log that are such */
	char last_warning[256];
};

static inline uint64_t fake_now(void *ctx)
{
	struct fake_env *fake = ctx;

	return fake->now_ns += fake->advance_ns;
}

static inline uint64_t fake_random(void *ctx)
{
	(void)ctx;
	return 4;
}

static inline void fake_log(void *ctx, enum wh_log_level level, const char *line)
{
	struct fake_env *fake = ctx;

	if (level != WH_LOG_WARNING)
		return;
	fake->warnings++;
	snprintf(fake->last_warning, sizeof(fake->last_warning), "%s", line);
}

static inline void fake_submit(void *ctx, void (*job)(void *argument), void *argument)
{
	(void)ctx;
	job(argument);
}

static inline void fake_fatal(void *ctx, const char *what)
{
	struct fake_env *fake = ctx;

	fake->fatal++;
	snprintf(fake->last_fatal, sizeof(fake->last_fatal), "%s", what);
}

static inline void fake_env_init(struct fake_env *fake)
{
	*fake = (struct fake_env){.now_ns = 1000};
	fake->env = (struct wh_env){
		.ctx = fake,
		.now_ns = fake_now,
		.random_u64 = fake_random,
		.log = fake_log,
		.fatal = fake_fatal,
		.submit = fake_submit,
	};
	wh_diag_init(&fake->diag, &fake->env, 0);
}

/* ---- an image that records what is posted -------------------------------------------------------------------------------- */

#define FAKE_PUSHES 512
#define FAKE_ROW 4096

struct fake_image {
	struct wh_image base;
	struct wh_push pushes[FAKE_PUSHES];
	size_t count, posts, last_batch;
	const unsigned char *control[2], *row[2];
	_Alignas(64) unsigned char own[FAKE_ROW];
	_Alignas(64) unsigned char peer[FAKE_ROW]; /* rank 1 */
};

static inline void fake_post(struct wh_image *base, const struct wh_push *pushes, size_t count)
{
	struct fake_image *image = (struct fake_image *)base;

	image->posts++;
	image->last_batch = count;
	for (size_t i = 0; i < count; i++) {
		ck_assert_uint_lt(image->count, FAKE_PUSHES);
		image->pushes[image->count++] = pushes[i];
		if (pushes[i].kind == WH_PUSH_WORD)
			wh_store_release((wh_word *)(void *)(image->own + pushes[i].offset), pushes[i].value);
	}
}

static const struct wh_transport_ops fake_image_ops = {.name = "fake", .post = fake_post};

/* I am rank 0 of two members. */
static inline void fake_image_init(struct fake_image *image)
{
	memset(image, 0, sizeof(*image));
	image->control[0] = image->row[0] = image->own;
	image->control[1] = image->row[1] = image->peer;
	image->base = (struct wh_image){.ops = &fake_image_ops,
					.members = 2,
					.own = image->own,
					.control = image->control,
					.row = image->row,
					.ready = true};
}

/* What the peer would see of my row, once all that was posted has arrived in order. */
static inline void fake_arrive(const struct fake_image *image, unsigned char *copy)
{
	for (size_t i = 0; i < image->count; i++) {
		const struct wh_push *push = &image->pushes[i];

		if (push->kind == WH_PUSH_WORD)
			memcpy(copy + push->offset, &push->value, sizeof(push->value));
		else
			memcpy(copy + push->offset, image->own + push->offset, push->bytes);
	}
}

#endif
