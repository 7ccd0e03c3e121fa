/* test_hot_threads.c - another thread plays the peer that moves, while a loop looks at words and steps: nothing is missed.
 *
 * Labels: threads
 */
#include <pthread.h>
#include <sched.h>

#include "predicates/hot.h"
#include "tests/support/fake.h"

#define SUBGROUPS 12
#define LIVES 200 /* views: later in one every word names all, and what is missed is found all the same */
#define ROUNDS 12
#define MOVES_MAX 4

struct lab {
	struct fake_env env;
	struct fake_image image;
	struct wh_gate gate;
	struct wh_loop loop;
	struct wh_sst sst;
	struct wh_layout layout;
	struct wh_array_col moved, counters;
	struct wh_looks looks;
	struct wh_hot hot;
	uint64_t got[SUBGROUPS];
	uint64_t seed;
	_Alignas(64) wh_word begun; /* rounds: the loop says so, then the peer moves */
	_Alignas(64) wh_word ended;
};

static wh_word *word_of(struct lab *lab, struct wh_array_col column, uint32_t index)
{
	return (wh_word *)(void *)(lab->image.peer + column.offset + 8 * index);
}

static uint64_t next_random(uint64_t *random)
{
	return (*random = *random * UINT64_C(6364136223846793005) + 1442695040888963407) >> 33;
}

/* A few moves in each round, and now and then the loop's turn between them. As in T2, the counter is to be seen before the word. */
static void *move_things(void *ctx)
{
	struct lab *lab = ctx;
	uint64_t random = lab->seed, moves = 0;
	uint32_t names = 0, before = 0;

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		while (wh_load_acquire(&lab->begun) < round)
			sched_yield();
		for (uint64_t k = next_random(&random) % MOVES_MAX + 1; k > 0; k--) {
			uint32_t g = (uint32_t)(next_random(&random) % SUBGROUPS);
			wh_word *counter = word_of(lab, lab->counters, g);

			if (next_random(&random) % 8 == 0)
				sched_yield();
			if (++moves % WH_MOVED_STRETCH == 0) {
				before = names;
				names = 0;
			}
			names |= 1U << g;
			wh_store_release(counter, wh_load_relaxed(counter) + 1);
			wh_store_release(word_of(lab, lab->moved, 0), wh_moved_make(moves, names | before));
		}
		wh_store_release(&lab->ended, round);
	}
	return NULL;
}

static size_t pass(struct lab *lab)
{
	struct wh_multicast *mc;
	size_t work = 0;

	wh_hot_begin(&lab->hot);
	while ((mc = wh_hot_next(&lab->hot)) != NULL) {
		uint32_t g = (uint32_t)((uint64_t *)(void *)mc - lab->got);
		uint64_t counter = wh_load_acquire(word_of(lab, lab->counters, g)), news = counter - lab->got[g];

		lab->got[g] = counter;
		work += wh_hot_note(&lab->hot, news);
	}
	return work;
}

static size_t last_pass(struct lab *lab)
{
	size_t work;

	lab->loop.looks_last = true;
	work = pass(lab);
	lab->loop.looks_last = false;
	return work;
}

static void set_up(struct lab *lab, uint64_t seed)
{
	struct wh_error err;

	memset(lab, 0, sizeof(*lab));
	lab->seed = seed;
	fake_env_init(&lab->env);
	fake_image_init(&lab->image);
	lab->gate.heavy = true;
	lab->loop = (struct wh_loop){.gate = &lab->gate, .sure = true};
	wh_layout_line(&lab->layout);
	lab->moved = wh_layout_array(&lab->layout, 1);
	wh_layout_line(&lab->layout);
	lab->counters = wh_layout_array(&lab->layout, SUBGROUPS);
	ck_assert_int_eq(wh_sst_init(&lab->sst, &lab->env.diag, &lab->image.base, &lab->layout, &err), WHORL_OK);
	ck_assert_int_eq(wh_hot_init(&lab->hot,
				     &(struct wh_hot_config){.loop = &lab->loop,
							     .sst = &lab->sst,
							     .moved = lab->moved,
							     .subgroups = SUBGROUPS,
							     .most = SUBGROUPS,
							     .cools = 1,
							     .looks = &lab->looks},
				     &err),
			 WHORL_OK);
	for (uint32_t g = 0; g < SUBGROUPS; g++)
		wh_hot_add(&lab->hot, (struct wh_multicast *)(void *)&lab->got[g], g, NULL, 0);
}

static void look_for_all(struct lab *lab, uint64_t round)
{
	for (unsigned i = 0; wh_load_acquire(&lab->ended) < round; i++)
		if (pass(lab) == 0 && i % 64 == 63)
			sched_yield(); /* the peer may have no processor */
	while (last_pass(lab) > 0)
		;
	/* Now it would sleep. */
	for (uint32_t g = 0; g < SUBGROUPS; g++)
		ck_assert_msg(lab->got[g] == wh_load_relaxed(word_of(lab, lab->counters, g)),
			      "round %" PRIu64 ": what moved in %u is not seen", round, g);
}

TEST_CASE("hot_threads", .timeout_s = 60);

TEST(nothing_that_moves_is_missed)
{
	static struct lab lab;
	uint64_t seed = test_seed(1);
	pthread_t peer;

	for (int life = 0; life < LIVES; life++) {
		set_up(&lab, next_random(&seed));
		ck_assert_int_eq(pthread_create(&peer, NULL, move_things, &lab), 0);
		for (uint64_t round = 1; round <= ROUNDS; round++) {
			wh_store_release(&lab.begun, round);
			look_for_all(&lab, round);
		}
		pthread_join(peer, NULL);
		wh_hot_close(&lab.hot);
		wh_sst_close(&lab.sst);
	}
}

TEST_SUITE("hot_threads")
