#include "tests/support/fake.h"

static uint64_t fake_now(void *ctx)
{
	struct fake_env *fake = ctx;

	return fake->now_ns += fake->advance_ns;
}

uint64_t fake_random(void *ctx)
{
	(void)ctx;
	return 4;
}

static void fake_log(void *ctx, enum wh_log_level level, const char *line)
{
	struct fake_env *fake = ctx;

	if (level != WH_LOG_WARNING)
		return;
	fake->warnings++;
	snprintf(fake->last_warning, sizeof(fake->last_warning), "%s", line);
}

void fake_submit(void *ctx, void (*job)(void *argument), void *argument)
{
	(void)ctx;
	job(argument);
}

static void fake_fatal(void *ctx, const char *what)
{
	struct fake_env *fake = ctx;

	fake->fatal++;
	snprintf(fake->last_fatal, sizeof(fake->last_fatal), "%s", what);
}

void fake_env_init(struct fake_env *fake)
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

static void fake_post(struct wh_image *base, const struct wh_push *pushes, size_t count)
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

void fake_image_init(struct fake_image *image)
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

void fake_arrive(const struct fake_image *image, unsigned char *copy)
{
	for (size_t i = 0; i < image->count; i++) {
		const struct wh_push *push = &image->pushes[i];

		if (push->kind == WH_PUSH_WORD)
			memcpy(copy + push->offset, &push->value, sizeof(push->value));
		else
			memcpy(copy + push->offset, image->own + push->offset, push->bytes);
	}
}
