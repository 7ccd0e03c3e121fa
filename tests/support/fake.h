/* fake.h - an environment and a transport for tests of one module: time stands still unless moved, a broken check is
 * counted, pushes are recorded, and a doorbell is a flag.
 */
#ifndef WH_TESTS_SUPPORT_FAKE_H
#define WH_TESTS_SUPPORT_FAKE_H

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

uint64_t fake_random(void *ctx);
void fake_submit(void *ctx, void (*job)(void *argument), void *argument);
void fake_env_init(struct fake_env *fake);

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

/* I am rank 0 of two members. */
void fake_image_init(struct fake_image *image);

/* What the peer would see of my row, once all that was posted has arrived in order. */
void fake_arrive(const struct fake_image *image, unsigned char *copy);

#endif
