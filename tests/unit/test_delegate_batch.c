/* test_delegate_batch.c - batches of calls, numbers of functions, and the map of ids. */
#include "delegation/batch.h"

#include "delegation/map.h"
#include "delegation/table.h"
#include "tests/support/delegate_lab.h"

/* ---- the map -------------------------------------------------------------------------------------------------------------------- */

/* Against an array. */
TEST(the_map_keeps_what_is_put)
{
	enum { KEYS = 200, STEPS = 100000 };
	bool good = true;
	uint64_t random = test_seed(7), there[KEYS + 1] = {0}, value;
	struct wh_map map = {0};
	size_t count = 0;

	for (int step = 0; step < STEPS; step++) {
		uint64_t key;

		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		key = (random >> 33) % KEYS + 1;
		if (there[key] == 0) {
			good &= wh_map_find(&map, key << 40 | 1) == NULL;
			good &= !wh_map_take(&map, key << 40 | 1, NULL);
			there[key] = random | 1;
			good &= wh_map_put(&map, key << 40 | 1, there[key]);
			count++;
		} else {
			good &= *wh_map_find(&map, key << 40 | 1) == there[key];
			good &= wh_map_take(&map, key << 40 | 1, &value) && value == there[key];
			there[key] = 0;
			count--;
		}
		good &= map.count == count;
	}
	ck_assert(good);
	wh_map_free(&map);
}

/* ---- the table ------------------------------------------------------------------------------------------------------------------ */

static enum whorl_result make(struct wh_table *table, const struct whorl_function *a, const struct whorl_function *b,
			      struct wh_error *err)
{
	const struct whorl_function *const functions[] = {a, b};

	return wh_table_make(table, functions, b == NULL ? 1 : 2, err);
}

TEST(numbers_follow_from_names)
{
	struct wh_table one, other;
	struct wh_error err;

	ck_ok(make(&one, &counter_add, &text_same, &err));
	ck_ok(make(&other, &text_same, &counter_add, &err));
	ck_assert_uint_eq(wh_table_find(&one, &counter_add), wh_table_find(&other, &counter_add));
	ck_assert_uint_eq(wh_table_find(&one, &text_same), 1);
	ck_assert_uint_eq(wh_table_find(&one, &counter_get), UINT32_MAX);
	ck_assert_uint_eq(one.digest, other.digest);
	ck_assert_uint_ne(wh_table_type(&one, &counter_type), WH_TYPE_NONE);
	ck_assert_uint_ne(wh_table_type(&one, &counter_type), wh_table_type(&one, &text_type));
	ck_assert_uint_eq(wh_table_type(&one, &other_type), WH_TYPE_NONE);
	wh_table_free(&other);
	ck_ok(make(&other, &counter_add, &counter_add, &err)); /* twice the same is once */
	ck_assert_uint_eq(other.count, 1);
	wh_table_free(&one);
	wh_table_free(&other);
}

TEST(any_difference_makes_another_digest)
{
	struct whorl_function changed[6];
	struct wh_table one, other;
	struct wh_error err;

	for (int i = 0; i < 6; i++)
		changed[i] = counter_add;
	changed[0].name = "counter_adds";
	changed[1].property = "struct tally";
	changed[2].property_bytes = 16;
	changed[3].argument_bytes = 16;
	changed[4].result_bytes = 16;
	changed[5].flags = 0;
	ck_ok(make(&one, &counter_add, NULL, &err));
	for (int i = 0; i < 6; i++) {
		ck_ok(make(&other, &changed[i], NULL, &err));
		ck_assert_msg(one.digest != other.digest, "difference %d", i);
		wh_table_free(&other);
	}
	wh_table_free(&one);
}

TEST(what_is_no_function_is_refused)
{
	struct whorl_function wrong[8];
	struct wh_table table;
	struct wh_error err;

	for (int i = 0; i < 8; i++)
		wrong[i] = counter_add;
	wrong[0].size = 8;
	wrong[1].name = NULL;
	wrong[2].property = NULL;
	wrong[3].flags = 1024;
	wrong[4].run = NULL;
	wrong[5].argument_bytes = WHORL_CALL_BYTES_MAX + 1;
	wrong[6].property_bytes = 0;
	wrong[7].result_bytes = UINT64_MAX;
	for (int i = 0; i < 8; i++) {
		err.text[0] = '\0';
		ck_assert_msg(make(&table, &wrong[i], NULL, &err) == WHORL_INVALID, "fault %d", i);
		ck_assert_str_ne(err.text, "");
	}
	wrong[1] = counter_add; /* another of that name */
	ck_assert_int_eq(make(&table, &counter_add, &wrong[1], &err), WHORL_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "counter_add"));
	wrong[1].name = "z"; /* another size of that type */
	wrong[1].property_bytes = 24;
	ck_assert_int_eq(make(&table, &counter_add, &wrong[1], &err), WHORL_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "struct counter"));
	ck_assert_int_eq(wh_table_make(&table, (const struct whorl_function *[]){NULL}, 1, &err), WHORL_INVALID);
}

/* ---- batches -------------------------------------------------------------------------------------------------------------------- */

static void put(struct wh_slot *slot, uint16_t function, uint16_t bytes, unsigned char fill)
{
	struct wh_record record = {function, bytes, fill};

	slot->begins = (uint16_t)(slot->begins - wh_record_bytes(&record));
	memcpy(slot->room + slot->begins, &record, sizeof(record));
	memset(slot->room + slot->begins + sizeof(record), fill, wh_record_bytes(&record) - sizeof(record));
	slot->count++;
}

static struct wh_slot empty_slot(void)
{
	struct wh_slot slot;

	memset(&slot, 0, sizeof(slot));
	slot.begins = WH_SLOT_ROOM;
	return slot;
}

TEST(records_are_read_as_they_were_written)
{
	static const uint16_t sizes[] = {0, 1, 7, 8, 9, 63, 512};
	struct wh_slot slot = empty_slot();
	const unsigned char *args;
	struct wh_record record;
	struct wh_reader reader;

	for (uint16_t i = 0; i < 7; i++)
		put(&slot, i, sizes[i], (unsigned char)(i + 1));
	ck_assert(wh_batch_is_whole(&slot));
	ck_assert(wh_reader_of(&reader, &slot));
	for (int i = 6; i >= 0; i--) {
		ck_assert(wh_read_record(&reader, &record, &args));
		ck_assert_int_eq(record.function, i);
		ck_assert_int_eq(record.bytes, sizes[i]);
		ck_assert_uint_eq((uintptr_t)args % 8, (uintptr_t)slot.room % 8);
		for (int b = 0; b < sizes[i]; b++)
			ck_assert_int_eq(args[b], i + 1);
	}
	ck_assert(!wh_read_record(&reader, &record, &args));
}

TEST(a_batch_is_whole_or_nothing)
{
	struct wh_slot slot = empty_slot(), damaged;
	bool good = true;

	ck_assert(wh_batch_is_whole(&slot));
	put(&slot, 1, 16, 1);
	put(&slot, 2, 24, 2);
	ck_assert(wh_batch_is_whole(&slot));
	for (int begins = 0; begins < 65536; begins++) { /* the one place where it begins */
		damaged = slot;
		damaged.begins = (uint16_t)begins;
		good &= wh_batch_is_whole(&damaged) == (begins == slot.begins);
	}
	for (int count = 0; count < 65536; count++) {
		damaged = slot;
		damaged.count = (uint16_t)count;
		good &= wh_batch_is_whole(&damaged) == (count == 2);
	}
	ck_assert(good);
	damaged = slot;
	((struct wh_record *)(void *)(damaged.room + damaged.begins))->bytes = 4000;
	ck_assert(!wh_batch_is_whole(&damaged));
	((struct wh_record *)(void *)(damaged.room + damaged.begins))->bytes = 24 | WH_RECORD_ASSEMBLED;
	ck_assert(!wh_batch_is_whole(&damaged));
}

/* Any bytes are read within the slot (this is for the sanitizers), and none that are read are more than there are. */
TEST(garbage_is_read_within_the_slot)
{
	uint64_t random = test_seed(11);
	struct wh_slot *slot = malloc(sizeof(*slot)); /* nothing behind it may be read */
	const unsigned char *args;
	struct wh_record record;
	struct wh_answer answer;
	struct wh_reader reader;
	size_t whole = 0;
	bool good = true;

	for (int round = 0; round < 20000; round++) {
		for (size_t i = 0; i < sizeof(*slot) / 8; i++) {
			random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
			memcpy((unsigned char *)slot + 8 * i, &random, 8);
		}
		slot->begins %= WH_SLOT_ROOM + 16;
		slot->count %= 8;
		whole += wh_batch_is_whole(slot);
		for (int kind = 0; kind < 3 && wh_reader_of(&reader, slot); kind++) {
			const unsigned char *end = slot->room + WH_SLOT_ROOM;

			while (kind == 0 && wh_read_record(&reader, &record, &args))
				good &= args + (record.bytes & WH_RECORD_BYTES) <= end;
			while (kind == 1 && wh_read_answer(&reader, true, 0, &answer, &args))
				good &= args + answer.bytes <= end;
			while (kind == 2 && wh_read_answer(&reader, false, (uint32_t)random | 8, &answer, &args))
				good &= args + answer.bytes <= end;
		}
	}
	ck_assert(good);
	ck_assert_uint_lt(whole, 100);
	free(slot);
}

TEST(bytes_wait_in_order)
{
	struct wh_bytes bytes = {0};
	uint64_t in = 0, out = 0, random = 3;
	bool good = true;

	for (int step = 0; step < 200000; step++) {
		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		if (random >> 63 != 0 || out == in) {
			good &= wh_bytes_append(&bytes, &in, sizeof(in));
			in++;
		} else {
			good &= memcmp(bytes.data + bytes.begin, &out, sizeof(out)) == 0;
			bytes.begin += sizeof(out);
			out++;
		}
		good &= wh_bytes_left(&bytes) == (in - out) * 8;
	}
	ck_assert(good);
	ck_assert_uint_le(bytes.capacity, (size_t)1 << 20);
	wh_bytes_free(&bytes);
}

TEST_SUITE("delegate_batch")
