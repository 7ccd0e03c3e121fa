/* test_shard_table.c - the properties of a shard: calls as bytes, what they do, images; and the way from the loop to the worker. */
#include "delegation/shard_table.h"

#include "delegation/shard_queue.h"
#include "tests/support/shard_lab.h"

static struct wh_table functions;
static struct wh_shard_kinds kinds;
static struct wh_shard_table table;
static struct wh_bytes out;
static uint64_t calls;

static void set_up(void)
{
	static const struct whorl_function *const all[] = {&sum_add,   &sum_read, &sum_dice,    &words_say,
							   &words_all, &kept_add, &counter_add, &other_sum};
	static const struct whorl_type *const types[] = {&sum_type, &words_type, &kept_type, &counter_type};
	struct wh_error err;

	ck_ok(wh_table_make(&functions, all, sizeof(all) / sizeof(all[0]), &err));
	ck_ok(wh_shard_kinds_make(&kinds, &functions, types, 4));
	table = (struct wh_shard_table){.kinds = &kinds};
	calls = 0;
}

static void tear_down(void)
{
	wh_shard_table_free(&table);
	wh_bytes_free(&out);
	wh_shard_kinds_free(&kinds);
	wh_table_free(&functions);
	ck_assert_int_eq(atomic_load(&words_alive), 0);
}

/* As it travels, and back. */
static uint32_t apply(const struct wh_shard_call *call, bool wanted)
{
	unsigned char *bytes = aligned_alloc(16, (wh_shard_call_bytes(call) + 15) / 16 * 16);
	size_t at = wh_shard_call_put(bytes, call);
	struct wh_shard_call taken;
	uint32_t status;

	if (call->bytes > 0)
		memcpy(bytes + at, call->args, call->bytes);
	ck_assert(wh_shard_call_take(&taken, bytes, wh_shard_call_bytes(call)));
	wh_bytes_clear(&out);
	status = wh_shard_table_apply(&table, &taken, ++calls * 1000, wanted, &out);
	free(bytes);
	return status;
}

static uint32_t make(const char *name, const struct whorl_type *type, const void *init, uint64_t *id)
{
	struct wh_shard_call call = {.kind = WH_SHARD_MAKE, .digest = kinds.digest, .args = init};
	uint32_t status;

	call.bytes = init == NULL ? 0 : type->bytes;
	snprintf(call.name, sizeof(call.name), "%s", name);
	snprintf(call.type, sizeof(call.type), "%s", type->name);
	status = apply(&call, true);
	if (status == WHORL_OK)
		memcpy(id, out.data, sizeof(*id));
	return status;
}

static struct wh_shard_call call_of(uint64_t id, const struct whorl_function *function, const void *args, size_t bytes)
{
	return (struct wh_shard_call){.kind = WH_SHARD_APPLY,
				      .digest = kinds.digest,
				      .property = id,
				      .function = kinds.numbers[wh_table_find(&functions, function)],
				      .args = args,
				      .bytes = bytes};
}

static uint32_t call(uint64_t id, const struct whorl_function *function, const void *args, size_t bytes)
{
	const struct wh_shard_call of = call_of(id, function, args, bytes);

	return apply(&of, true);
}

static uint64_t word(void)
{
	uint64_t value = 0;

	if (wh_bytes_left(&out) >= sizeof(value))
		memcpy(&value, out.data, sizeof(value));
	return value;
}

/* ---- what may be replicated ------------------------------------------------------------------------------------------------------ */

START_TEST(types_that_may_be_replicated)
{
	static const struct whorl_type dropped = {
		sizeof(dropped), "struct sum", sizeof(struct sum), free, 0, NULL, NULL};
	static const struct whorl_type old = {offsetof(struct whorl_type, flags),
					      "struct sum",
					      sizeof(struct sum),
					      NULL,
					      WHORL_TYPE_STAYS,
					      NULL,
					      NULL};

	ck_assert_ptr_null(wh_shard_type_fault(&kinds, &sum_type));
	ck_assert_ptr_null(wh_shard_type_fault(&kinds, &words_type));
	ck_assert_ptr_null(wh_shard_type_fault(&kinds, &counter_type)); /* it travels */
	ck_assert_ptr_null(wh_shard_type_fault(&kinds, &old));          /* which knows no flags */
	ck_assert_ptr_nonnull(strstr(wh_shard_type_fault(&kinds, &kept_type), "save and load"));
	ck_assert_ptr_nonnull(strstr(wh_shard_type_fault(&kinds, &dropped), "save and load"));
	ck_assert_ptr_nonnull(strstr(wh_shard_type_fault(&kinds, &text_type), "no function"));
	ck_assert_ptr_nonnull(strstr(wh_shard_type_fault(&kinds, &other_type), "`types`"));
	ck_assert_uint_eq(kinds.numbers[wh_table_find(&functions, &sum_dice)], UINT32_MAX);
	ck_assert_uint_eq(kinds.function_count, 6);
}
END_TEST

/* Only what replicas use counts: another function that they may not run makes no difference, and any other does. */
START_TEST(what_the_digest_says)
{
	static const struct whorl_type *const types[] = {&sum_type, &words_type};
	struct whorl_type changed = sum_type;
	const struct whorl_type *const others[] = {&changed, &words_type};
	struct wh_shard_kinds same, fewer;

	ck_ok(wh_shard_kinds_make(&same, &functions, types, 2));
	ck_assert_uint_ne(same.digest, kinds.digest); /* no counter_type */
	changed.flags = WHORL_TYPE_TRAVELS;
	ck_ok(wh_shard_kinds_make(&fewer, &functions, others, 2));
	ck_assert_uint_ne(same.digest, fewer.digest);
	wh_shard_kinds_free(&same);
	wh_shard_kinds_free(&fewer);
}
END_TEST

/* ---- calls ----------------------------------------------------------------------------------------------------------------------- */

START_TEST(the_first_makes_it)
{
	uint64_t one = 0, other = 0;
	struct sum five = {5, 0}, nine = {9, 0};

	ck_ok(make("one", &sum_type, &five, &one));
	ck_ok(make("one", &sum_type, &nine, &other));
	ck_assert_uint_eq(one, 1000);
	ck_assert_uint_eq(other, one);
	ck_ok(call(one, &sum_add, &(struct add){2}, sizeof(struct add)));
	ck_assert_uint_eq(word(), 7);
	ck_assert_uint_eq(wh_bytes_left(&out), 8);
	ck_assert_uint_eq(make("one", &words_type, NULL, &other), WHORL_INVALID);
	ck_ok(make("other", &words_type, NULL, &other));
	ck_assert_uint_ne(other, one);
	ck_assert_uint_eq(table.count, 2);
}
END_TEST

START_TEST(what_is_wrong_is_refused)
{
	uint64_t sum = 0, words = 0;
	struct wh_shard_call of;

	ck_ok(make("sum", &sum_type, NULL, &sum));
	ck_ok(make("words", &words_type, NULL, &words));
	ck_assert_uint_eq(make("kept", &kept_type, NULL, &words), WHORL_INVALID);
	ck_assert_uint_eq(make("text", &text_type, NULL, &words), WHORL_INVALID);
	ck_assert_uint_eq(call(sum, &words_say, "a", 1), WHORL_INVALID);
	ck_assert_uint_eq(call(sum, &sum_add, "a", 1), WHORL_INVALID);
	ck_assert_uint_eq(call(sum + 1, &sum_add, &(struct add){2}, sizeof(struct add)), WHORL_GONE);
	of = call_of(sum, &sum_add, &(struct add){2}, sizeof(struct add));
	of.function = kinds.function_count;
	ck_assert_uint_eq(apply(&of, true), WHORL_INVALID);
	ck_ok(call(sum, &sum_read, NULL, 0));
	ck_assert_uint_eq(wh_bytes_left(&out), sizeof(struct sum));
	ck_assert_uint_eq(word(), 0);
}
END_TEST

START_TEST(it_ends)
{
	uint64_t ids[3] = {0}, again = 0;
	struct wh_shard_call end = {.kind = WH_SHARD_END, .digest = kinds.digest};
	static const char *const names[] = {"a", "b", "c"};

	for (int i = 0; i < 3; i++)
		ck_ok(make(names[i], &words_type, NULL, &ids[i]));
	ck_ok(call(ids[1], &words_say, "hello", 5));
	end.property = ids[1];
	ck_ok(apply(&end, true));
	ck_assert_int_eq(atomic_load(&words_alive), 0);
	ck_assert_uint_eq(apply(&end, true), WHORL_GONE);
	ck_assert_uint_eq(call(ids[1], &words_say, "hello", 5), WHORL_GONE);
	ck_ok(call(ids[2], &words_say, "there", 5));
	ck_ok(make("b", &words_type, NULL, &again));
	ck_assert_uint_ne(again, ids[1]);
	end.property = ids[2];
	ck_ok(apply(&end, true));
	ck_assert_uint_eq(table.count, 2);
}
END_TEST

/* Those of others that only look do not run here; those that are wanted do. */
START_TEST(reads_of_others_do_not_run)
{
	uint64_t sum = 0;
	struct wh_shard_call of;

	ck_ok(make("sum", &sum_type, NULL, &sum));
	of = call_of(sum, &sum_read, NULL, 0);
	ck_ok(apply(&of, false));
	ck_assert_uint_eq(wh_bytes_left(&out), 0);
	of = call_of(sum, &sum_add, &(struct add){2}, sizeof(struct add));
	ck_ok(apply(&of, false));
	wh_bytes_clear(&out);
	ck_ok(wh_shard_table_read(&table, sum, kinds.numbers[wh_table_find(&functions, &sum_read)], NULL, 0, &out));
	ck_assert_uint_eq(word(), 2);
	ck_assert_uint_eq(
		wh_shard_table_read(&table, sum, kinds.numbers[wh_table_find(&functions, &sum_add)], NULL, 0, &out),
		WHORL_INVALID);
}
END_TEST

/* The first call decides what members know. */
START_TEST(others_know_other_functions)
{
	uint64_t id = 0;
	struct wh_shard_call of;

	ck_ok(make("sum", &sum_type, NULL, &id));
	of = call_of(id, &sum_add, &(struct add){2}, sizeof(struct add));
	of.digest++;
	ck_assert_uint_eq(apply(&of, true), WHORL_REFUSED);
	ck_ok(call(id, &sum_read, NULL, 0));
	ck_assert_uint_eq(word(), 0);
	wh_shard_table_free(&table);
	ck_assert_uint_eq(apply(&of, true), WH_SHARD_ODD);
	ck_assert_uint_eq(make("sum", &sum_type, NULL, &id), WH_SHARD_ODD);
	ck_assert_uint_eq(table.count, 0);
}
END_TEST

/* ---- images ---------------------------------------------------------------------------------------------------------------------- */

static void fill(uint64_t ids[3])
{
	ck_ok(make("sum", &sum_type, &(struct sum){40, 0}, &ids[0]));
	ck_ok(make("words", &words_type, NULL, &ids[1]));
	ck_ok(make("none", &words_type, NULL, &ids[2]));
	ck_ok(call(ids[0], &sum_add, &(struct add){2}, sizeof(struct add)));
	ck_ok(call(ids[1], &words_say, "what was said", 13));
}

START_TEST(an_image_is_loaded)
{
	struct wh_shard_table other = {.kinds = &kinds};
	struct wh_bytes image = {0}, again = {0};
	uint64_t ids[3] = {0};

	fill(ids);
	ck_assert(wh_shard_table_save(&table, &image));
	ck_assert_int_eq(wh_shard_table_load(&other, image.data, wh_bytes_left(&image)), WH_LOADED);
	ck_assert(wh_shard_table_save(&other, &again));
	ck_assert_uint_eq(wh_bytes_left(&again), wh_bytes_left(&image));
	ck_assert_mem_eq(again.data, image.data, wh_bytes_left(&image));
	ck_assert_ptr_nonnull(wh_shard_find(&other, ids[1]));
	ck_assert_uint_eq(((struct words *)wh_shard_find(&other, ids[1])->object)->bytes, 13);
	ck_assert_ptr_ne(((struct words *)wh_shard_find(&other, ids[1])->object)->text,
			 ((struct words *)wh_shard_find(&table, ids[1])->object)->text);
	wh_shard_table_free(&other);
	ck_assert_int_eq(atomic_load(&words_alive), 1);
	wh_bytes_free(&image);
	wh_bytes_free(&again);
}
END_TEST

START_TEST(an_image_of_others)
{
	struct wh_shard_table other = {.kinds = &kinds};
	struct wh_bytes image = {0};
	uint64_t ids[3] = {0};

	fill(ids);
	ck_assert(wh_shard_table_save(&table, &image));
	image.data[8] ^= 1; /* what its members know */
	ck_assert_int_eq(wh_shard_table_load(&other, image.data, wh_bytes_left(&image)), WH_LOADED_ODD);
	image.data[8] ^= 1;
	wh_shard_table_free(&other);
	for (size_t i = 0; i + 4 < wh_bytes_left(&image); i++)
		if (memcmp(image.data + i, "what", 4) == 0)
			image.data[i] = '!'; /* which load_words does not take */
	ck_assert_int_eq(wh_shard_table_load(&other, image.data, wh_bytes_left(&image)), WH_LOADED_NOT);
	wh_shard_table_free(&other);
	wh_bytes_free(&image);
}
END_TEST

/* Whatever comes is read within its bounds, and what is made of it is freed. */
START_TEST(damaged_images_and_calls)
{
	enum { STEPS = 20000 };
	uint64_t random = test_seed(11), ids[3] = {0};
	struct wh_bytes image = {0};
	size_t loaded = 0, taken = 0;
	unsigned char bytes[128];
	struct wh_shard_call parsed;
	struct wh_shard_call made = {.kind = WH_SHARD_MAKE, .digest = kinds.digest, .name = "a", .type = "struct sum"};

	fill(ids);
	ck_assert(wh_shard_table_save(&table, &image));
	for (int step = 0; step < STEPS; step++) {
		struct wh_shard_table other = {.kinds = &kinds};
		size_t all = wh_bytes_left(&image), cut = all;
		unsigned char *whole = malloc(all), *copy;

		ck_assert_ptr_nonnull(whole);
		memcpy(whole, image.data, all);
		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		whole[(random >> 33) % all] ^= (unsigned char)(1u << (random >> 20) % 8);
		if (random >> 62 == 0)
			cut = (random >> 40) % all;
		copy = malloc(cut + (cut == 0)); /* what lies behind it is not to be read */
		ck_assert_ptr_nonnull(copy);
		memcpy(copy, whole, cut);
		free(whole);
		loaded += wh_shard_table_load(&other, copy, cut) == WH_LOADED;
		wh_shard_table_free(&other);
		free(copy);
		memset(bytes, 0, sizeof(bytes));
		(void)wh_shard_call_put(bytes, &made);
		bytes[(random >> 12) % wh_shard_call_bytes(&made)] ^= (unsigned char)(1u << (random >> 17) % 8);
		taken += wh_shard_call_take(&parsed, bytes, (random >> 50) % (wh_shard_call_bytes(&made) + 1));
	}
	ck_assert_uint_gt(loaded, 0); /* a bit of a value is as good as another */
	ck_assert_uint_lt(loaded, STEPS / 2);
	ck_assert_uint_lt(taken, STEPS / 2);
	ck_assert_int_eq(atomic_load(&words_alive), 1);
	wh_bytes_free(&image);
}
END_TEST

/* ---- the hand-over --------------------------------------------------------------------------------------------------------------- */

static int rung;

static void count_ring(void *ctx)
{
	(void)ctx;
	rung++;
}

START_TEST(the_queue_keeps_the_order_and_rings_once)
{
	struct wh_note notes[3] = {{.kind = WH_NOTE_CALLS}, {.kind = WH_NOTE_SNAPSHOT}, {.kind = WH_NOTE_READ}};
	struct wh_shard_queue queue;
	struct wh_note *first;

	wh_shard_queue_init(&queue, 4, 100);
	rung = 0;
	for (int i = 0; i < 3; i++)
		ck_assert(wh_shard_queue_put(&queue, &notes[i], count_ring, NULL));
	ck_assert_int_eq(rung, 1);
	first = wh_shard_queue_take(&queue);
	ck_assert_ptr_eq(first, &notes[0]);
	ck_assert_ptr_eq(first->next, &notes[1]);
	ck_assert_ptr_eq(first->next->next, &notes[2]);
	ck_assert_ptr_null(first->next->next->next);
	ck_assert_ptr_null(wh_shard_queue_take(&queue));
	ck_assert(wh_shard_queue_put(&queue, &notes[0], count_ring, NULL));
	ck_assert_int_eq(rung, 2);
	ck_assert_ptr_eq(wh_shard_queue_close(&queue), &notes[0]);
	ck_assert(!wh_shard_queue_put(&queue, &notes[1], count_ring, NULL));
	ck_assert_int_eq(rung, 2);
}
END_TEST

START_TEST(the_queue_refuses_what_has_no_room)
{
	static const size_t small[6] = {10, 10, 10, 10, 10, 10}, large[2] = {1000, 1};
	struct wh_shard_queue queue;

	wh_shard_queue_init(&queue, 4, 100);
	ck_assert_uint_eq(wh_shard_queue_room(&queue, small, 3), 3);
	ck_assert(!wh_shard_queue_applied(&queue, 1, 10)); /* nothing was refused */
	ck_assert_uint_eq(wh_shard_queue_room(&queue, small, 6), 2);
	ck_assert_uint_eq(wh_shard_queue_room(&queue, small, 1), 0);
	ck_assert(wh_shard_queue_applied(&queue, 1, 10));
	ck_assert(!wh_shard_queue_applied(&queue, 1, 10)); /* said once */
	ck_assert_uint_eq(wh_shard_queue_room(&queue, large, 1), 0);
	ck_assert(wh_shard_queue_applied(&queue, 2, 20));
	ck_assert_uint_eq(wh_shard_queue_room(&queue, large, 2), 1); /* one always goes where none waits */
}
END_TEST

/* ---------------------------------------------------------------------------------------------------------------------------------- */

Suite *suite(void)
{
	Suite *s = suite_create("shard_table");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, types_that_may_be_replicated);
	tcase_add_test(tc, what_the_digest_says);
	tcase_add_test(tc, the_first_makes_it);
	tcase_add_test(tc, what_is_wrong_is_refused);
	tcase_add_test(tc, it_ends);
	tcase_add_test(tc, reads_of_others_do_not_run);
	tcase_add_test(tc, others_know_other_functions);
	tcase_add_test(tc, an_image_is_loaded);
	tcase_add_test(tc, an_image_of_others);
	tcase_add_test(tc, damaged_images_and_calls);
	tcase_add_test(tc, the_queue_keeps_the_order_and_rings_once);
	tcase_add_test(tc, the_queue_refuses_what_has_no_room);
	suite_add_tcase(s, tc);
	return s;
}
