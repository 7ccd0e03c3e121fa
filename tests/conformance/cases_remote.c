/* cases_remote.c - T7: what operations on regions do, in which order, and how whole they are (R1, R2). */
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "tests/conformance/remote.h"

#define WORDS (REGION_BYTES / 8)

static uint64_t word(const struct remote *r, uint64_t offset)
{
	return wh_load_acquire(&r->region->words[offset / 8]);
}

/* ---- what they do ------------------------------------------------------------------------------------------------- */

START_TEST(t7_what_is_written_is_read_back)
{
	static uint64_t model[WORDS], from[WH_REMOTE_BYTES_MAX / 8], into[WH_REMOTE_BYTES_MAX / 8];
	struct remote *r = remote_make(3, test_seed(1 + (uint64_t)_i));
	uint64_t random = r->g->seed;

	memset(model, 0, sizeof(model));
	for (uint64_t i = 0; i < WORDS; i++)
		ck_assert_uint_eq(word(r, 8 * i), 0);
	for (int round = 0; round < (is_dear() ? 30 : 200); round++) {
		uint64_t count = 1 + next_random(&random) % (next_random(&random) % 2 ? 8 : WH_REMOTE_BYTES_MAX / 8);
		uint64_t at = next_random(&random) % (WORDS - count + 1);

		for (uint64_t i = 0; i < count; i++)
			model[at + i] = from[i] = next_random(&random);
		remote_do(r, (uint32_t)round % 3, remote_write(8 * at, from, 8 * count));
		count = 1 + next_random(&random) % (WH_REMOTE_BYTES_MAX / 8);
		at = next_random(&random) % (WORDS - count + 1);
		remote_do(r, (uint32_t)(round + 1) % 3, remote_read(8 * at, into, 8 * count));
		ck_assert_mem_eq(into, model + at, 8 * count);
	}
	for (uint64_t i = 0; i < WORDS; i++)
		ck_assert_uint_eq(word(r, 8 * i), model[i]);
	remote_free(r);
}
END_TEST

START_TEST(t7_words_add_and_swap)
{
	struct remote *r = remote_make(2, test_seed(5));
	const uint64_t last = REGION_BYTES - 8;
	uint64_t seen;

	for (uint32_t id = 0; id < 2; id++) {
		uint64_t base = 1000 * id;

		ck_assert_uint_eq(remote_do(r, id, remote_add(8, 5)), base);
		ck_assert_uint_eq(remote_do(r, id, remote_add(8, 995)), base + 5);
		ck_assert_uint_eq(remote_do(r, id, remote_add(last, UINT64_MAX)), (uint64_t)0 - id); /* one less */
		ck_assert_uint_eq(remote_do(r, id, remote_swap(16, id, 7)), id);
		ck_assert_uint_eq(remote_do(r, id, remote_swap(16, 8, 9)), 7); /* not so */
		remote_do(r, id, remote_read(16, &seen, 8));
		ck_assert_uint_eq(seen, 7);
		ck_assert_uint_eq(remote_do(r, id, remote_swap(16, 7, id + 1)), 7);
	}
	ck_assert_uint_eq(word(r, 8), 2000);
	ck_assert_uint_eq(word(r, 16), 2);
	ck_assert_uint_eq(word(r, last), UINT64_MAX - 1);
	ck_assert_uint_eq(word(r, 0), 0);
	ck_assert_uint_eq(word(r, 24), 0);
	remote_free(r);
}
END_TEST

/* What is posted is copied, but for where a read goes to. */
START_TEST(t7_what_was_written_may_change)
{
	struct remote *r = remote_make(2, test_seed(6));
	uint64_t from[64];

	for (uint64_t k = 0; k < 40; k++) {
		for (uint64_t i = 0; i < 64; i++)
			from[i] = k + 1;
		ck_assert_int_eq(remote_post(r, 1, remote_write(512 * k, from, 512)), WHORL_OK);
		memset(from, 0xee, sizeof(from));
	}
	UNTIL_TAKEN(r, remote_is_done(r, 1, 0));
	for (uint64_t k = 0; k < 40; k++)
		for (uint64_t i = 0; i < 64; i++)
			ck_assert_uint_eq(word(r, 512 * k + 8 * i), k + 1);
	remote_free(r);
}
END_TEST

/* ---- order (R1) --------------------------------------------------------------------------------------------------- */

/* One after the other, none waited for: each sees what those before it did, and nothing of those behind it. */
START_TEST(t7_each_sees_those_before_it)
{
	struct remote *r = remote_make(2, test_seed(10 + (uint64_t)_i));
	struct wh_region *other = remote_open(r, 0, REGION + 1, 64);
	uint64_t first[8], second[8], third[8];

	remote_grant(r, other, 0, 1);
	for (uint64_t k = 1; k <= 100; k++) {
		uint64_t value[8] = {k, k, k, k, k, k, k, k};
		struct wh_remote_op elsewhere = remote_read(0, third, 64);
		struct wh_remote_op write_elsewhere = remote_write(0, value, 64);

		elsewhere.region = write_elsewhere.region = REGION + 1;
		ck_assert_int_eq(remote_post(r, 1, remote_read(64, first, 64)), WHORL_OK);
		ck_assert_int_eq(remote_post(r, 1, remote_write(64, value, 64)), WHORL_OK);
		ck_assert_int_eq(remote_post(r, 1, remote_read(64, second, 64)), WHORL_OK);
		ck_assert_int_eq(remote_post(r, 1, remote_add(64, 1000)), WHORL_OK);
		ck_assert_int_eq(remote_post(r, 1, elsewhere), WHORL_OK);
		ck_assert_int_eq(remote_post(r, 1, write_elsewhere), WHORL_OK);
		UNTIL_TAKEN(r, remote_is_done(r, 1, 0));
		ck_assert_uint_eq(remote_do(r, 1, remote_swap(64, k + 1000, k)), k + 1000);
		for (int i = 0; i < 8; i++) {
			ck_assert_uint_eq(first[i], k - 1);
			ck_assert_uint_eq(second[i], k);
			ck_assert_uint_eq(third[i], k - 1);
		}
	}
	ck_assert_uint_eq(r->at[1].to[0].results[WHORL_OK], 700);
	remote_free(r);
}
END_TEST

/* Slots, one behind the other, each told of by a number: when that is given, all of the slot is there. */
#define SLOTS 128
#define SLOT_BYTES 256

static bool post_slot(struct remote *r, uint32_t from, uint32_t k, bool together)
{
	uint64_t value[SLOT_BYTES / 8], at = (uint64_t)k % SLOTS * SLOT_BYTES;

	for (int i = 0; i < SLOT_BYTES / 8; i++)
		value[i] = k;
	if (together)
		return remote_post(r, from, remote_tell(at, value, SLOT_BYTES, k)) == WHORL_OK;
	/* Once written, a slot is written again only with the same. */
	return remote_post(r, from, remote_write(at, value, SLOT_BYTES)) == WHORL_OK &&
	       remote_post(r, from, remote_tell(0, NULL, 0, k)) == WHORL_OK;
}

/* Those that have been given, from 1 on. */
static uint32_t check_slots(struct remote *r, uint32_t checked)
{
	for (; checked < r->at[0].immediate_count; checked++) {
		uint32_t k = r->at[0].immediates[checked];

		ck_assert_uint_eq(k, checked + 1);
		ck_assert_uint_eq(r->at[0].immediate_from[checked], 1);
		for (uint64_t i = 0; i < SLOT_BYTES; i += 8)
			ck_assert_uint_eq(word(r, (uint64_t)k % SLOTS * SLOT_BYTES + i), k);
	}
	return checked;
}

START_TEST(t7_an_immediate_comes_after_its_data)
{
	struct remote *r = remote_make(2, test_seed(20 + (uint64_t)_i));
	uint64_t random = r->g->seed;
	uint32_t posted = 0, checked = 0, all = is_dear() ? 200 : 1000;

	while (checked < all) {
		/* No further than the slots reach: what has been taken here may be overwritten. */
		for (uint64_t n = next_random(&random) % 20; n > 0 && posted < all && posted < checked + SLOTS / 2; n--)
			if (!post_slot(r, 1, posted + 1, next_random(&random) % 2 == 0))
				break;
			else
				posted++;
		remote_take(r, 0);
		checked = check_slots(r, checked);
		remote_take(r, 1);
		if (next_random(&random) % 4 == 0)
			group_pass(r->g);
	}
	UNTIL_TAKEN(r, remote_is_done(r, 1, 0));
	ck_assert_uint_eq(r->at[1].to[0].results[WHORL_OK], r->at[1].to[0].posted);
	ck_assert_uint_eq(r->at[0].immediate_count, all);
	remote_free(r);
}
END_TEST

START_TEST(t7_one_has_immediates_of_several)
{
	struct remote *r = remote_make(4, test_seed(25));
	uint32_t next[NODES_MAX] = {0};

	for (uint32_t k = 0; k < 100; k++)
		for (uint32_t id = 0; id < 4; id++) /* itself, too */
			UNTIL_TAKEN(r, remote_post(r, id, remote_tell(0, NULL, 0, UINT32_MAX - k)) == WHORL_OK);
	UNTIL_TAKEN(r, r->at[0].immediate_count == 400);
	for (uint32_t i = 0; i < 400; i++)
		ck_assert_uint_eq(r->at[0].immediates[i], UINT32_MAX - next[r->at[0].immediate_from[i]]++);
	for (uint32_t id = 0; id < 4; id++)
		ck_assert_uint_eq(next[id], 100);
	remote_free(r);
}
END_TEST

/* ---- several at once (R2) ----------------------------------------------------------------------------------------- */

#define ADDITIONS (is_dear() ? 100u : 1000u)

struct adder { /* drives one endpoint, in a thread of its own where there are any */
	struct remote *r;
	uint32_t id;
	uint64_t sum, last; /* of what it has added, of old values */
	bool rises;         /* each old value was greater than the last */
	wh_word *running;
};

/* One more, if there is room, and what has come of those before. */
static void add_more(struct adder *a)
{
	struct remote_pair *pair = &a->r->at[a->id].to[0];
	uint64_t n = pair->posted % 3 + 1;
	struct wh_remote_event event;

	if (pair->posted < ADDITIONS && remote_post(a->r, a->id, remote_add(128, n)) == WHORL_OK)
		a->sum += n;
	while (a->r->g->at[a->id].transport->ops->remote->next(a->r->g->at[a->id].transport, &event)) {
		ck_assert_int_eq(event.kind, WH_REMOTE_DONE);
		ck_assert_int_eq(event.result, WHORL_OK);
		ck_assert_uint_eq(event.cookie, pair->done++);
		a->rises = a->rises && (pair->done == 1 || event.value > a->last);
		a->last = event.value;
	}
}

static void *adder_thread(void *ctx)
{
	struct adder *a = ctx;
	struct wh_transport *transport = a->r->g->at[a->id].transport;

	while (a->r->at[a->id].to[0].done < ADDITIONS) {
		for (int k = 0; k < 32; k++) /* a thread that yields may wait long for its next turn */
			add_more(a);
		transport->ops->service(transport);
		sched_yield();
	}
	wh_fetch_add(a->running, (uint64_t)-1);
	/* A node that carries operations out for others goes on. */
	while (wh_load_acquire(a->running) > 0) {
		transport->ops->service(transport);
		sched_yield();
	}
	return NULL;
}

static void add_by_threads(struct adder *adders, uint32_t count)
{
	pthread_t threads[NODES_MAX];
	wh_word running;

	wh_store_relaxed(&running, count);
	for (uint32_t id = 0; id < count; id++) {
		adders[id].running = &running;
		ck_assert_int_eq(pthread_create(&threads[id], NULL, adder_thread, &adders[id]), 0);
	}
	for (uint32_t id = 0; id < count; id++)
		pthread_join(threads[id], NULL);
}

/* Of two others and of the owner. */
START_TEST(t7_no_addition_is_lost)
{
	struct remote *r = remote_make(3, test_seed(30 + (uint64_t)_i));
	struct adder adders[3];
	uint64_t sum = 0;

	for (uint32_t id = 0; id < 3; id++)
		adders[id] = (struct adder){.r = r, .id = id, .rises = true};
	if (wh_world.threads)
		add_by_threads(adders, 3);
	for (int k = 0; k < PATIENCE && !wh_world.threads; k++) {
		for (uint32_t id = 0; id < 3; id++)
			add_more(&adders[id]);
		if (k % 16 == 0)
			group_pass(r->g);
	}
	for (uint32_t id = 0; id < 3; id++) {
		ck_assert_uint_eq(r->at[id].to[0].done, ADDITIONS);
		ck_assert(adders[id].rises);
		sum += adders[id].sum;
	}
	ck_assert_uint_eq(word(r, 128), sum);
	remote_free(r);
}
END_TEST

/* A counter by compare-and-swap: a node that does not find what it expects tries again with what it has found. */
START_TEST(t7_one_swap_wins)
{
	struct remote *r = remote_make(3, test_seed(40));
	uint64_t expected[3] = {0}, won[3] = {0}, lost = 0;

	while (won[0] + won[1] + won[2] < 300) {
		uint64_t before = won[0] + won[1] + won[2];

		for (uint32_t id = 0; id < 3; id++)
			ck_assert_int_eq(remote_post(r, id, remote_swap(256, expected[id], expected[id] + 1)),
					 WHORL_OK);
		for (uint32_t id = 0; id < 3; id++) {
			uint64_t found;

			UNTIL_TAKEN(r, remote_is_done(r, id, 0));
			found = r->at[id].to[0].value;
			if (found == expected[id])
				won[id]++;
			else
				lost++;
			expected[id] = found == expected[id] ? found + 1 : found;
		}
		ck_assert_uint_le(won[0] + won[1] + won[2], before + 3);
		ck_assert_uint_eq(word(r, 256), won[0] + won[1] + won[2]);
	}
	ck_assert_uint_gt(lost, 0);
	remote_free(r);
}
END_TEST

/* Words of one write and of another mix, but no word does. */
START_TEST(t7_no_word_tears)
{
	static uint64_t from[2][512], into[512];
	struct remote *r = remote_make(3, test_seed(50));

	for (uint64_t k = 0; k < (is_dear() ? 10 : 300); k++) {
		for (uint32_t id = 1; id < 3; id++) {
			memset(from[id - 1], id == 1 ? 0x11 : 0x22, sizeof(from[0]));
			ck_assert_int_eq(remote_post(r, id, remote_write(4096, from[id - 1], 4096)), WHORL_OK);
		}
		ck_assert_int_eq(remote_post(r, 0, remote_read(4096, into, 4096)), WHORL_OK);
		if (k % 4 == 0)
			group_pass(r->g);
		for (uint32_t id = 0; id < 3; id++)
			UNTIL_TAKEN(r, remote_is_done(r, id, 0));
		for (int i = 0; i < 512; i++)
			ck_assert(into[i] == 0 || into[i] == UINT64_C(0x1111111111111111) ||
				  into[i] == UINT64_C(0x2222222222222222));
	}
	remote_free(r);
}
END_TEST

TCase *cases_remote(void)
{
	TCase *cases = tcase_create("remote");

	tcase_set_timeout(cases, 120);
	tcase_add_loop_test(cases, t7_what_is_written_is_read_back, 0, seeds(3));
	tcase_add_test(cases, t7_words_add_and_swap);
	tcase_add_test(cases, t7_what_was_written_may_change);
	tcase_add_loop_test(cases, t7_each_sees_those_before_it, 0, seeds(3));
	tcase_add_loop_test(cases, t7_an_immediate_comes_after_its_data, 0, seeds(3));
	tcase_add_test(cases, t7_one_has_immediates_of_several);
	tcase_add_loop_test(cases, t7_no_addition_is_lost, 0, seeds(3));
	tcase_add_test(cases, t7_one_swap_wins);
	tcase_add_test(cases, t7_no_word_tears);
	return cases;
}
