/* test_dds_copy.c - counted copies and their pool, with threads that give back; the heap of timers beside a list.
 * Labels: threads random
 */
#include <pthread.h>
#include <string.h>

#include "dds/base/copy.h"
#include "dds/base/timer.h"
#include "tests/harness.h"

/* ---- the pool ------------------------------------------------------------------------------------------------------------- */

static struct wh_dds_copy *take(struct wh_dds_pool *pool, size_t bytes)
{
	struct wh_dds_copy *copy = wh_dds_copy_take(pool, bytes);

	ck_assert_ptr_nonnull(copy);
	ck_assert_uint_eq(copy->bytes, bytes);
	ck_assert_uint_eq((uintptr_t)copy->data % 64, 0);
	ck_assert_ptr_eq(wh_dds_copy_of(copy->data), copy);
	memset(copy->data, 0x5a, bytes);
	return copy;
}

TEST_CASE("pool");

TEST(what_was_given_back_last_is_taken_first)
{
	struct wh_dds_pool *pool = wh_dds_pool_create(1 << 20);
	struct wh_dds_copy *one = take(pool, 100), *other = take(pool, 100);

	wh_dds_copy_drop(one);
	wh_dds_copy_drop(other);
	ck_assert_ptr_eq(take(pool, 100), other);
	ck_assert_ptr_eq(take(pool, 100), one);
	ck_assert_uint_eq(wh_dds_pool_count(pool).made, 2);
	wh_dds_copy_drop(one);
	wh_dds_copy_drop(other);
	wh_dds_pool_close(pool);
}

TEST(a_copy_is_free_when_none_holds_it)
{
	struct wh_dds_pool *pool = wh_dds_pool_create(1 << 20);
	struct wh_dds_copy *copy = take(pool, 8), *other;

	wh_dds_copy_hold(copy, 2);
	wh_dds_copy_drop(copy);
	wh_dds_copy_drop(copy);
	other = take(pool, 8);
	ck_assert_ptr_ne(other, copy);
	wh_dds_copy_drop(copy);
	ck_assert_ptr_eq(take(pool, 8), copy);
	ck_assert_uint_eq(wh_dds_pool_count(pool).made, 2);
	wh_dds_pool_close(pool); /* two are out: the last one takes it along */
	wh_dds_copy_drop(copy);
	wh_dds_copy_drop(other);
}

TEST(sizes_waste_a_fifth_at_most)
{
	struct wh_dds_pool *pool = wh_dds_pool_create(0);
	uint64_t bytes = 0;

	for (size_t size = 0; size < 1 << 24; size += 1 + size / 3) {
		size_t all = size + offsetof(struct wh_dds_copy, data);
		uint64_t now;

		wh_dds_copy_drop(take(pool, size));
		now = wh_dds_pool_count(pool).bytes;
		ck_assert_uint_ge(now - bytes + (now == bytes ? all : 0), all);
		ck_assert(now == bytes || now - bytes <= all + all / 4 + 64);
		bytes = now;
	}
	wh_dds_pool_close(pool);
}

#define MANY 100

TEST(what_lies_idle_goes_back)
{
	struct wh_dds_pool *pool = wh_dds_pool_create(10 << 10);
	struct wh_dds_copy *copies[MANY];
	struct wh_dds_drops drops = {.first = NULL};

	for (int i = 0; i < MANY; i++)
		copies[i] = take(pool, 1 << 10);
	for (int i = 0; i < MANY; i++)
		wh_dds_drops_add(&drops, copies[i]);
	wh_dds_drops_end(&drops);
	ck_assert_uint_eq(wh_dds_pool_count(pool).blocks, MANY);
	wh_dds_copy_drop(take(pool, 1 << 10));
	ck_assert_uint_le(wh_dds_pool_count(pool).bytes, 10 << 10);
	ck_assert_uint_ge(wh_dds_pool_count(pool).blocks, 5);
	wh_dds_pool_close(pool);
}

TEST(drops_of_several_sizes)
{
	struct wh_dds_pool *pool = wh_dds_pool_create(1 << 20), *other = wh_dds_pool_create(1 << 20);
	struct wh_dds_drops drops = {.first = NULL};
	uint64_t made;

	for (int round = 0; round < 3; round++) {
		struct wh_dds_copy *copies[] = {take(pool, 8),  take(pool, 8), take(pool, 5000), take(other, 8),
						take(other, 8), take(pool, 8), take(pool, 8)};

		wh_dds_copy_hold(copies[5], 1);
		for (int i = 0; i < 7; i++)
			wh_dds_drops_add(&drops, copies[i]);
		wh_dds_drops_end(&drops);
		wh_dds_copy_drop(copies[5]);
		if (round == 0)
			made = wh_dds_pool_count(pool).made;
	}
	ck_assert_uint_eq(wh_dds_pool_count(pool).made, made);
	ck_assert_uint_eq(wh_dds_pool_count(other).made, 2);
	wh_dds_pool_close(pool);
	wh_dds_pool_close(other);
}

/* ---- threads give back ---------------------------------------------------------------------------------------------------- */

#define GIVERS 3
#define ROUNDS 20000
#define SLOTS 64

struct desk {
	wh_word slots[SLOTS]; /* a copy, or 0 */
	wh_word over;
};

/* Takes what lies on the desk, looks at it and gives it back. */
static void *give_back(void *argument)
{
	struct desk *desk = argument;
	bool last = false, over = false;

	while (!last) {
		last = over;
		over = wh_load_acquire(&desk->over) != 0;
		for (int i = 0; i < SLOTS; i++) {
			struct wh_dds_copy *copy = (struct wh_dds_copy *)(uintptr_t)wh_exchange(&desk->slots[i], 0);

			if (copy == NULL)
				continue;
			if (copy->facts.sequence != *(uint64_t *)(void *)copy->data)
				abort();
			wh_dds_copy_drop(copy);
		}
	}
	return NULL;
}

static void lay_out(struct desk *desk, struct wh_dds_pool *pool, uint64_t number)
{
	struct wh_dds_copy *copy = wh_dds_copy_take(pool, number % 2 ? 8 : 500);

	copy->facts.sequence = number;
	memcpy(copy->data, &number, sizeof(number));
	if (number % 3 == 0)
		wh_dds_copy_hold(copy, 1);
	for (uint64_t holds = number % 3 == 0 ? 2 : 1; holds > 0; holds--) {
		struct wh_dds_copy *before = (struct wh_dds_copy *)(uintptr_t)wh_exchange(
			&desk->slots[(number + holds) % SLOTS], (uint64_t)(uintptr_t)copy);

		if (before != NULL)
			wh_dds_copy_drop(before);
	}
}

TEST_CASE("threads");

TEST(threads_give_back)
{
	struct desk desk = {.over = 0};
	struct wh_dds_pool *pool = wh_dds_pool_create(1 << 16);
	pthread_t threads[GIVERS];

	for (int i = 0; i < GIVERS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, give_back, &desk), 0);
	for (uint64_t i = 0; i < ROUNDS; i++)
		lay_out(&desk, pool, i);
	ck_assert_uint_le(wh_dds_pool_count(pool).made, ROUNDS);
	wh_dds_pool_close(pool); /* while they give back: the last one takes it along */
	wh_store_release(&desk.over, 1);
	for (int i = 0; i < GIVERS; i++)
		pthread_join(threads[i], NULL);
}

/* ---- timers --------------------------------------------------------------------------------------------------------------- */

#define TIMERS 40

static uint32_t draw(uint64_t *dice, uint32_t below)
{
	*dice = *dice * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(*dice >> 33) % below;
}

static uint64_t least(const struct wh_dds_timer *timers)
{
	uint64_t due = WH_DDS_NEVER;

	for (int i = 0; i < TIMERS; i++)
		if (wh_dds_timer_is_set(&timers[i]) && timers[i].due_ns < due)
			due = timers[i].due_ns;
	return due;
}

TEST_CASE("timers");

TEST(timers_come_in_their_order)
{
	uint64_t dice = test_seed(1), now = 0;
	struct wh_dds_timers heap = {.root = NULL};
	struct wh_dds_timer timers[TIMERS] = {{.due_ns = 0}};

	for (int step = 0; step < 50000; step++) {
		struct wh_dds_timer *timer = &timers[draw(&dice, TIMERS)], *first;
		uint64_t due = least(timers);

		ck_assert(wh_dds_timers_next(&heap) == due);
		if (draw(&dice, 3) == 0)
			wh_dds_timer_clear(&heap, timer);
		else if (!wh_dds_timer_is_set(timer))
			wh_dds_timer_set(&heap, timer, draw(&dice, 9) ? now + draw(&dice, 50) : WH_DDS_NEVER);
		now += draw(&dice, 3);
		due = least(timers);
		first = wh_dds_timers_pop(&heap, now);
		if ((first != NULL) != (due <= now) ||
		    (first != NULL && (first->due_ns != due || wh_dds_timer_is_set(first))))
			ck_abort_msg("step %d", step);
	}
}

TEST_SUITE("dds_copy")
