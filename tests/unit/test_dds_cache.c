/* test_dds_cache.c - a reader's cache: states, ranks and generations after DCPS, history and limits, loans, instances, sets, time. */
#include "tests/support/cache_lab.h"

/* ---- states --------------------------------------------------------------------------------------------------------------- */

TEST_CASE("states");

TEST(a_sample_is_new_once)
{
	struct lab lab;

	lab_init(&lab);
	cache_lab_open(&lab);
	ck_assert_int_eq(cache_lab_write(&lab, 1, 7), WH_DDS_PUT_KEPT);
	ck_assert_str_eq(lab_peek(&lab), "1:7nNa ");
	ck_assert_uint_eq(lab.statuses.changed, WHORL_DDS_DATA_AVAILABLE_STATUS);
	ck_assert_str_eq(lab_read(&lab, LAB_ANY), "1:7nNa ");
	ck_assert_uint_eq(lab.statuses.changed, 0);
	ck_assert_str_eq(lab_read(&lab, LAB_ANY), "1:7roa ");
	cache_lab_write(&lab, 1, 8);
	ck_assert_str_eq(lab_read(&lab, LAB_ANY), "1:7roa 1:8noa ");
	ck_assert_str_eq(lab_take(&lab, LAB_ANY), "1:7roa 1:8roa ");
	ck_assert_str_eq(lab_take(&lab, LAB_ANY), "");
	cache_lab_close(&lab);
}

TEST(masks_select)
{
	struct lab lab;
	uint32_t any_view = WHORL_DDS_ANY_VIEW_STATE, any_life = WHORL_DDS_ANY_INSTANCE_STATE;

	lab_init(&lab);
	cache_lab_open(&lab);
	cache_lab_write(&lab, 1, 7);
	lab_read(&lab, LAB_ANY);
	cache_lab_write(&lab, 1, 8);
	cache_lab_write(&lab, 2, 9);
	lab_dispose(&lab, 2);
	ck_assert_str_eq(lab_read(&lab, WHORL_DDS_READ_SAMPLE_STATE | any_view | any_life), "1:7roa ");
	ck_assert(wh_dds_cache_has(lab.cache,
				   WHORL_DDS_NOT_READ_SAMPLE_STATE | any_view | WHORL_DDS_ALIVE_INSTANCE_STATE));
	ck_assert(!wh_dds_cache_has(lab.cache, WHORL_DDS_READ_SAMPLE_STATE | WHORL_DDS_NEW_VIEW_STATE | any_life));
	ck_assert_str_eq(lab_take(&lab, WHORL_DDS_NOT_READ_SAMPLE_STATE | any_view | WHORL_DDS_ALIVE_INSTANCE_STATE),
			 "1:8noa ");
	ck_assert_str_eq(lab_take(&lab, WHORL_DDS_ANY_SAMPLE_STATE | WHORL_DDS_NEW_VIEW_STATE | any_life),
			 "2:9nNd 2:-nNd ");
	ck_assert_str_eq(lab_take(&lab, LAB_ANY), "1:7roa ");
	cache_lab_write(&lab, 3, 1);
	ck_assert_str_eq(lab_take(&lab, 0), "3:1nNa "); /* no bits of a kind: any */
	cache_lab_close(&lab);
}

TEST(an_instance_is_born_again)
{
	struct lab lab;

	lab_init(&lab);
	cache_lab_open(&lab);
	cache_lab_write(&lab, 1, 1);
	ck_assert_str_eq(lab_take(&lab, LAB_ANY), "1:1nNa ");
	lab_dispose(&lab, 1);
	ck_assert_uint_eq(wh_dds_cache_state(lab.cache, 1), WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE);
	ck_assert_str_eq(lab_take(&lab, LAB_ANY), "1:-nod ");
	cache_lab_write(&lab, 1, 2);
	ck_assert_str_eq(lab_take(&lab, LAB_ANY), "1:2nNa ");
	ck_assert_uint_eq(lab.infos[0].disposed_generation_count, 1);
	ck_assert_uint_eq(lab.infos[0].no_writers_generation_count, 0);
	lab_leave(&lab, 1);
	cache_lab_write(&lab, 1, 3);
	ck_assert_str_eq(lab_take(&lab, LAB_ANY), "1:-nNa 1:3nNa ");
	ck_assert_uint_eq(lab.infos[1].disposed_generation_count, 1);
	ck_assert_uint_eq(lab.infos[1].no_writers_generation_count, 1);
	cache_lab_close(&lab);
}

TEST(what_changes_nothing_is_nothing)
{
	struct lab lab;

	lab_init(&lab);
	cache_lab_open(&lab);
	ck_assert_int_eq(lab_leave(&lab, 1), WH_DDS_PUT_UNWANTED);
	ck_assert_int_eq(lab_dispose(&lab, 1), WH_DDS_PUT_KEPT);
	ck_assert_int_eq(lab_dispose(&lab, 1), WH_DDS_PUT_UNWANTED);
	ck_assert_int_eq(lab_leave(&lab, 1), WH_DDS_PUT_UNWANTED);
	ck_assert_str_eq(lab_take(&lab, LAB_ANY), "1:-nNd ");
	ck_assert_uint_eq(wh_dds_cache_state(lab.cache, 1), 0); /* nothing is left to know */
	ck_assert_int_eq(lab_dispose(&lab, 1), WH_DDS_PUT_KEPT);
	ck_assert_str_eq(lab_take(&lab, LAB_ANY), "1:-nNd ");
	ck_assert_uint_ne(wh_dds_cache_state(lab.cache, 1), 0); /* its writers are there */
	cache_lab_close(&lab);
}

TEST(data_and_its_end_in_one)
{
	struct lab lab;

	lab_init(&lab);
	cache_lab_open(&lab);
	lab_put(&lab, WH_DDS_DOES_DATA | WH_DDS_DOES_DISPOSE, 1, 4);
	ck_assert_str_eq(lab_take(&lab, LAB_ANY), "1:4nNd ");
	lab_put(&lab, WH_DDS_DOES_DATA | WH_DDS_DOES_DISPOSE | WH_DDS_DOES_LEAVE, 1, 5);
	ck_assert_str_eq(lab_take(&lab, LAB_ANY), "1:5nNd ");
	ck_assert_uint_eq(lab.infos[0].disposed_generation_count, 1);
	ck_assert_uint_eq(wh_dds_cache_state(lab.cache, 1), 0);
	lab.expires = lab.now; /* too late: its end counts */
	cache_lab_write(&lab, 1, 0);
	lab.expires = WH_DDS_NEVER;
	cache_lab_write(&lab, 1, 6);
	lab.expires = lab.now;
	ck_assert_int_eq(lab_put(&lab, WH_DDS_DOES_DATA | WH_DDS_DOES_DISPOSE, 1, 7), WH_DDS_PUT_KEPT);
	ck_assert_str_eq(lab_take(&lab, LAB_ANY), "1:6nNd 1:-nNd ");
	cache_lab_close(&lab);
}

TEST(ranks)
{
	struct lab lab;

	lab_init(&lab);
	cache_lab_open(&lab);
	cache_lab_write(&lab, 1, 1);
	cache_lab_write(&lab, 2, 9);
	lab_dispose(&lab, 1);
	cache_lab_write(&lab, 1, 2); /* generation 1 */
	lab_leave(&lab, 1);
	cache_lab_write(&lab, 1, 3); /* generation 2 */
	ck_assert_str_eq(lab_select(&lab, &(struct wh_dds_select){.mask = LAB_ANY}, 3), "1:1nNa 1:-nNa 1:2nNa ");
	for (uint32_t i = 0; i < 3; i++) {
		ck_assert_uint_eq(lab.infos[i].sample_rank, 2 - i);
		ck_assert_uint_eq(lab.infos[i].generation_rank, i < 2 ? 1 : 0);
		ck_assert_uint_eq(lab.infos[i].absolute_generation_rank, i < 2 ? 2 : 1);
	}
	lab_return(&lab);
	lab_take(&lab, LAB_ANY);
	ck_assert_int_eq(lab.infos[5].instance_handle, 2);
	ck_assert_uint_eq(lab.infos[5].sample_rank, 0);
	ck_assert_uint_eq(lab.infos[0].sample_rank, 4);
	ck_assert_uint_eq(lab.infos[0].generation_rank, 2);
	cache_lab_close(&lab);
}

TEST(the_order_of_the_topic)
{
	for (int ordered = 0; ordered < 2; ordered++) {
		struct lab lab;

		lab_init(&lab);
		lab.policies.presentation.scope = WHORL_DDS_PRESENTATION_TOPIC;
		lab.policies.presentation.ordered = ordered;
		cache_lab_open(&lab);
		cache_lab_write(&lab, 2, 1);
		cache_lab_write(&lab, 1, 2);
		cache_lab_write(&lab, 2, 3);
		lab_read(&lab, LAB_ANY);
		cache_lab_write(&lab, 1, 4);
		ck_assert_str_eq(lab_peek(&lab),
				 ordered ? "2:1roa 1:2roa 2:3roa 1:4noa " : "2:1roa 2:3roa 1:2roa 1:4noa ");
		ck_assert_str_eq(lab_read(&lab, LAB_ANY & ~(uint32_t)WHORL_DDS_READ_SAMPLE_STATE), "1:4noa ");
		lab_take(&lab, LAB_ANY);
		ck_assert_uint_eq(lab.infos[0].sample_rank, 1);
		cache_lab_close(&lab);
	}
}

/* ---- instances ------------------------------------------------------------------------------------------------------------ */

TEST(one_instance_and_the_next)
{
	struct lab lab;
	struct wh_dds_select select = {.mask = LAB_ANY, .take = true, .next = true};

	lab_init(&lab);
	cache_lab_open(&lab);
	for (uint64_t i = 0; i < 10; i++)
		cache_lab_write(&lab, 1 + i * 7 % 10, (int)i);
	lab_select(&lab, &(struct wh_dds_select){.mask = LAB_ANY, .instance = 4, .take = true}, LAB_ROOM);
	ck_assert_int_eq(lab.count, 1);
	lab_return(&lab);
	for (uint64_t i = 1; i <= 10; i++) {
		if (i == 4)
			continue;
		lab_select(&lab, &select, LAB_ROOM);
		ck_assert_int_eq(lab.count, 1);
		ck_assert_uint_eq(lab.infos[0].instance_handle, i);
		select.instance = i;
		lab_return(&lab);
		lab_put(&lab, WH_DDS_DOES_LEAVE, i, 0); /* it may be gone when the next one is asked for */
		lab_select(&lab, &(struct wh_dds_select){.mask = LAB_ANY, .instance = i, .take = true}, LAB_ROOM);
		lab_return(&lab);
		ck_assert_uint_eq(wh_dds_cache_state(lab.cache, i), 0);
	}
	ck_assert_str_eq(lab_select(&lab, &select, LAB_ROOM), "");
	lab_select(&lab, &(struct wh_dds_select){.mask = LAB_ANY, .instance = 77}, LAB_ROOM);
	ck_assert_int_eq(lab.count, WHORL_DDS_RETCODE_BAD_PARAMETER);
	cache_lab_close(&lab);
}

TEST(no_keys_are_one_instance)
{
	struct lab lab;

	lab_init(&lab);
	lab.options.keyed = false;
	cache_lab_open(&lab);
	cache_lab_write(&lab, 5, 1);
	cache_lab_write(&lab, 5, 2);
	ck_assert_str_eq(lab_select(&lab, &(struct wh_dds_select){.mask = LAB_ANY, .instance = 5}, LAB_ROOM),
			 "5:1nNa 5:2nNa ");
	lab_return(&lab);
	lab_select(&lab, &(struct wh_dds_select){.mask = LAB_ANY, .instance = 6}, LAB_ROOM);
	ck_assert_int_eq(lab.count, WHORL_DDS_RETCODE_BAD_PARAMETER);
	ck_assert_str_eq(lab_select(&lab, &(struct wh_dds_select){.mask = LAB_ANY, .next = true}, LAB_ROOM),
			 "5:1roa 5:2roa ");
	lab_return(&lab);
	cache_lab_close(&lab);
}

/* ---- history and limits --------------------------------------------------------------------------------------------------- */

TEST_CASE("limits");

TEST(keep_last)
{
	struct lab lab;

	lab_init(&lab);
	lab_keep_last(&lab, 2);
	cache_lab_open(&lab);
	for (int i = 1; i <= 5; i++)
		ck_assert_int_eq(cache_lab_write(&lab, 1, i), WH_DDS_PUT_KEPT);
	cache_lab_write(&lab, 2, 9);
	ck_assert_str_eq(lab_peek(&lab), "1:4nNa 1:5nNa 2:9nNa ");
	lab_dispose(&lab, 1);
	cache_lab_write(&lab, 1, 6);
	ck_assert_str_eq(lab_peek(&lab), "1:5nNa 1:-nNa 1:6nNa 2:9nNa ");
	lab_dispose(&lab, 1); /* without data only the newest is kept */
	ck_assert_str_eq(lab_peek(&lab), "1:5nNd 1:6nNd 1:-nNd 2:9nNa ");
	cache_lab_write(&lab, 1, 7);
	cache_lab_write(&lab, 1, 8);
	cache_lab_write(&lab, 1, 9);
	ck_assert_str_eq(lab_peek(&lab), "1:-nNa 1:8nNa 1:9nNa 2:9nNa ");
	cache_lab_close(&lab);
}

TEST(keep_all_is_full)
{
	struct lab lab;

	lab_init(&lab);
	lab_limit(&lab, 3, WHORL_DDS_UNLIMITED, 2);
	cache_lab_open(&lab);
	cache_lab_write(&lab, 1, 1);
	ck_assert_uint_eq(wh_dds_cache_room(lab.cache), 1);
	cache_lab_write(&lab, 1, 2);
	ck_assert_uint_eq(wh_dds_cache_room(lab.cache), 0);
	ck_assert_int_eq(cache_lab_write(&lab, 1, 3), WH_DDS_PUT_FULL);
	ck_assert_int_eq(cache_lab_write(&lab, 2, 4), WH_DDS_PUT_KEPT);
	ck_assert_int_eq(cache_lab_write(&lab, 3, 5), WH_DDS_PUT_FULL);
	ck_assert_int_eq(lab_dispose(&lab, 1), WH_DDS_PUT_FULL);
	lab.expires = lab.now; /* its data is nothing, and its end has no room */
	ck_assert_int_eq(lab_put(&lab, WH_DDS_DOES_DATA | WH_DDS_DOES_DISPOSE, 1, 6), WH_DDS_PUT_FULL);
	lab.expires = WH_DDS_NEVER;
	ck_assert_uint_eq(wh_dds_cache_state(lab.cache, 1), WHORL_DDS_ALIVE_INSTANCE_STATE);
	ck_assert_uint_eq(lab.statuses.changed, WHORL_DDS_DATA_AVAILABLE_STATUS);
	lab.last_chance = true; /* it is lost, but an end is told all the same */
	ck_assert_int_eq(cache_lab_write(&lab, 1, 7), WH_DDS_PUT_REJECTED);
	ck_assert_int_eq(lab_dispose(&lab, 1), WH_DDS_PUT_KEPT);
	ck_assert_uint_eq(wh_dds_cache_state(lab.cache, 1), WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE);
	ck_assert_uint_eq(wh_dds_status_take(&lab.statuses, WHORL_DDS_SAMPLE_LOST_STATUS).sample_lost.total_count, 1);
	lab.last_chance = false;
	lab_take(&lab, LAB_ANY);
	ck_assert_int_eq(cache_lab_write(&lab, 1, 3), WH_DDS_PUT_KEPT);
	cache_lab_close(&lab);
}

/* The data of such a sample is lost; that its instance has ended is not. */
TEST(an_end_is_told_though_its_data_is_lost)
{
	const unsigned writes_and_ends = WH_DDS_DOES_DATA | WH_DDS_DOES_DISPOSE;
	struct lab lab;

	lab_init(&lab);
	lab_limit(&lab, 2, WHORL_DDS_UNLIMITED, WHORL_DDS_UNLIMITED);
	cache_lab_open(&lab);
	lab.last_chance = true;
	cache_lab_write(&lab, 1, 1);
	cache_lab_write(&lab, 1, 2);
	ck_assert_int_eq(lab_put(&lab, writes_and_ends, 1, 3), WH_DDS_PUT_KEPT);
	ck_assert_int_eq(lab_put(&lab, writes_and_ends, 2, 4), WH_DDS_PUT_REJECTED); /* nothing of that one was seen */
	ck_assert_uint_eq(wh_dds_status_take(&lab.statuses, WHORL_DDS_SAMPLE_LOST_STATUS).sample_lost.total_count, 2);
	ck_assert_uint_eq(wh_dds_cache_state(lab.cache, 2), 0);
	ck_assert_str_eq(lab_take(&lab, LAB_ANY), "1:1nNd 1:2nNd 1:-nNd ");
	ck_assert_int_eq(cache_lab_write(&lab, 1, 5), WH_DDS_PUT_KEPT);
	cache_lab_close(&lab);
}

/* However often it lives again by samples that are lost: there is no more memory for it than for one. */
TEST(ends_beyond_the_limits_are_told_in_one)
{
	const unsigned writes_and_ends = WH_DDS_DOES_DATA | WH_DDS_DOES_DISPOSE;
	struct lab lab;

	lab_init(&lab);
	lab_limit(&lab, 1, WHORL_DDS_UNLIMITED, WHORL_DDS_UNLIMITED);
	cache_lab_open(&lab);
	lab.last_chance = true;
	cache_lab_write(&lab, 1, 1);
	ck_assert_int_eq(lab_dispose(&lab, 1), WH_DDS_PUT_KEPT);
	for (int i = 0; i < 100; i++) {
		ck_assert_int_eq(cache_lab_write(&lab, 1, 2), WH_DDS_PUT_REJECTED);
		ck_assert_uint_eq(wh_dds_cache_state(lab.cache, 1), WHORL_DDS_ALIVE_INSTANCE_STATE);
		ck_assert_int_eq(lab_dispose(&lab, 1), WH_DDS_PUT_UNWANTED);
		ck_assert_int_eq(lab_put(&lab, writes_and_ends, 1, 3), WH_DDS_PUT_REJECTED);
	}
	ck_assert_str_eq(lab_peek(&lab), "1:1nNd 1:-nNd ");
	cache_lab_write(&lab, 1, 2);
	ck_assert_int_eq(lab_leave(&lab, 1), WH_DDS_PUT_UNWANTED);
	ck_assert_str_eq(lab_read(&lab, LAB_ANY), "1:1nNw 1:-nNw ");
	cache_lab_write(&lab, 1, 2);
	ck_assert_int_eq(lab_dispose(&lab, 1), WH_DDS_PUT_KEPT); /* the one that was read tells no more */
	ck_assert_str_eq(lab_take(&lab, LAB_ANY), "1:1rNd 1:-rNd 1:-nNd ");
	ck_assert_uint_eq(wh_dds_status_take(&lab.statuses, WHORL_DDS_SAMPLE_LOST_STATUS).sample_lost.total_count, 202);
	cache_lab_close(&lab);
}

/* What is held back is before the end, and goes if there is no room for it. */
TEST(an_end_beyond_the_limits_ends_what_is_held_back)
{
	struct lab lab;

	lab_init(&lab);
	lab.policies.separation_ns = 100;
	lab_limit(&lab, 1, WHORL_DDS_UNLIMITED, WHORL_DDS_UNLIMITED);
	cache_lab_open(&lab);
	lab.last_chance = true;
	cache_lab_write(&lab, 1, 1);
	lab_dispose(&lab, 1);
	ck_assert_int_eq(cache_lab_write(&lab, 1, 2), WH_DDS_PUT_REJECTED);
	ck_assert_int_eq(cache_lab_write(&lab, 1, 3), WH_DDS_PUT_KEPT);
	ck_assert_int_eq(lab_dispose(&lab, 1), WH_DDS_PUT_KEPT);
	ck_assert_str_eq(lab_take(&lab, LAB_ANY), "1:1nNd 1:-nNd 1:-nNd ");
	lab.now += 1000;
	(void)wh_dds_cache_pass_time(lab.cache, lab.now);
	ck_assert_str_eq(lab_peek(&lab), "");
	ck_assert_uint_eq(wh_dds_cache_state(lab.cache, 1), WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE);
	cache_lab_close(&lab);
}

TEST(what_is_lent_counts)
{
	struct lab lab;
	struct wh_dds_select take = {.mask = LAB_ANY, .take = true};

	lab_init(&lab);
	lab_limit(&lab, 2, WHORL_DDS_UNLIMITED, WHORL_DDS_UNLIMITED);
	cache_lab_open(&lab);
	cache_lab_write(&lab, 1, 1);
	cache_lab_write(&lab, 1, 2);
	lab_select(&lab, &take, LAB_ROOM);
	ck_assert_int_eq(lab.count, 2);
	ck_assert_uint_eq(wh_dds_cache_lent(lab.cache), 2);
	ck_assert_int_eq(cache_lab_write(&lab, 1, 3), WH_DDS_PUT_FULL);
	lab_return(&lab);
	ck_assert_int_eq(cache_lab_write(&lab, 1, 3), WH_DDS_PUT_KEPT);
	cache_lab_close(&lab);
}

TEST(limits_reject)
{
	struct lab lab;
	union wh_dds_status status;

	lab_init(&lab);
	lab_keep_last(&lab, 2);
	lab_limit(&lab, 3, 2, 2);
	cache_lab_open(&lab);
	cache_lab_write(&lab, 1, 1);
	cache_lab_write(&lab, 2, 2);
	ck_assert_int_eq(cache_lab_write(&lab, 3, 3), WH_DDS_PUT_REJECTED);
	status = wh_dds_status_take(&lab.statuses, WHORL_DDS_SAMPLE_REJECTED_STATUS);
	ck_assert_int_eq(status.sample_rejected.last_reason, WHORL_DDS_REJECTED_BY_INSTANCES_LIMIT);
	ck_assert_uint_eq(status.sample_rejected.last_instance_handle, 3);
	cache_lab_write(&lab, 1, 4);
	ck_assert_int_eq(cache_lab_write(&lab, 2, 5), WH_DDS_PUT_REJECTED);
	ck_assert_int_eq(lab_dispose(&lab, 3), WH_DDS_PUT_REJECTED);
	ck_assert_int_eq(cache_lab_write(&lab, 1, 6), WH_DDS_PUT_KEPT); /* in place of 1 */
	status = wh_dds_status_take(&lab.statuses, WHORL_DDS_SAMPLE_REJECTED_STATUS);
	ck_assert_int_eq(status.sample_rejected.total_count, 3);
	ck_assert_int_eq(status.sample_rejected.total_count_change, 2);
	ck_assert_str_eq(lab_peek(&lab), "1:4nNa 1:6nNa 2:2nNa ");
	cache_lab_close(&lab);
}

TEST(ten_thousand_instances_at_a_limit_of_a_hundred)
{
	struct lab lab;
	uint32_t kept = 0;

	lab_init(&lab);
	lab_limit(&lab, WHORL_DDS_UNLIMITED, 100, WHORL_DDS_UNLIMITED);
	cache_lab_open(&lab);
	for (uint64_t i = 1; i <= 10000; i++)
		kept += cache_lab_write(&lab, i, 1) == WH_DDS_PUT_KEPT;
	ck_assert_uint_eq(kept, 100);
	ck_assert_uint_eq(
		wh_dds_status_look(&lab.statuses, WHORL_DDS_SAMPLE_REJECTED_STATUS).sample_rejected.total_count, 9900);
	for (uint64_t i = 1; i <= 100; i++) /* those that end make room */
		lab_put(&lab, WH_DDS_DOES_LEAVE, i, 0);
	ck_assert_int_eq(cache_lab_write(&lab, 101, 1), WH_DDS_PUT_REJECTED);
	while (lab_take(&lab, LAB_ANY)[0] != '\0')
		;
	ck_assert_int_eq(cache_lab_write(&lab, 101, 1), WH_DDS_PUT_KEPT);
	cache_lab_close(&lab);
}

TEST(best_effort_never_waits)
{
	struct lab lab;

	lab_init(&lab);
	lab.policies.reliability.kind = WHORL_DDS_RELIABILITY_BEST_EFFORT;
	lab_limit(&lab, 1, WHORL_DDS_UNLIMITED, WHORL_DDS_UNLIMITED);
	cache_lab_open(&lab);
	cache_lab_write(&lab, 1, 1);
	ck_assert_int_eq(cache_lab_write(&lab, 1, 2), WH_DDS_PUT_REJECTED);
	ck_assert_uint_eq(lab.statuses.changed, WHORL_DDS_SAMPLE_REJECTED_STATUS | WHORL_DDS_DATA_AVAILABLE_STATUS);
	/* A sample that ends its instance has no room either, but the instance has ended. */
	ck_assert_int_eq(lab_put(&lab, WH_DDS_DOES_DATA | WH_DDS_DOES_DISPOSE, 1, 3), WH_DDS_PUT_REJECTED);
	ck_assert_uint_eq(wh_dds_cache_state(lab.cache, 1), WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE);
	cache_lab_write(&lab, 1, 4);
	lab.last_chance = true; /* and it is told, as nobody waits for room */
	ck_assert_int_eq(lab_put(&lab, WH_DDS_DOES_DATA | WH_DDS_DOES_DISPOSE, 1, 5), WH_DDS_PUT_KEPT);
	ck_assert_uint_eq(
		wh_dds_status_look(&lab.statuses, WHORL_DDS_SAMPLE_REJECTED_STATUS).sample_rejected.total_count, 4);
	ck_assert_str_eq(lab_peek(&lab), "1:1nNd 1:-nNd ");
	cache_lab_close(&lab);
}

/* ---- loans ---------------------------------------------------------------------------------------------------------------- */

TEST_CASE("loans");

TEST(loans_are_counted)
{
	struct lab lab;
	void *first, *second;
	struct wh_dds_select read = {.mask = LAB_ANY}, take = {.mask = LAB_ANY, .take = true};

	lab_init(&lab);
	lab_keep_last(&lab, 1);
	cache_lab_open(&lab);
	cache_lab_write(&lab, 1, 1);
	lab_select(&lab, &read, LAB_ROOM);
	first = lab.lent[0];
	cache_lab_write(&lab, 1, 2); /* pushes it out, but it is lent */
	ck_assert_int_eq(*(int *)first, 1);
	lab_select(&lab, &read, LAB_ROOM);
	lab_select(&lab, &take, LAB_ROOM);
	second = lab.lent[0];
	ck_assert_uint_eq(wh_dds_cache_lent(lab.cache), 3);
	ck_assert_int_eq(wh_dds_cache_return(lab.cache, &second, 1), WHORL_DDS_RETCODE_OK);
	cache_lab_write(&lab, 1, 3); /* goes into another block */
	ck_assert_int_eq(*(int *)second, 2);
	ck_assert_int_eq(wh_dds_cache_return(lab.cache, &second, 1), WHORL_DDS_RETCODE_OK);
	ck_assert_int_eq(wh_dds_cache_return(lab.cache, &second, 1), WHORL_DDS_RETCODE_PRECONDITION_NOT_MET);
	ck_assert_int_eq(wh_dds_cache_return(lab.cache, (void *[]){&lab, first}, 2),
			 WHORL_DDS_RETCODE_PRECONDITION_NOT_MET);
	ck_assert_uint_eq(wh_dds_cache_lent(lab.cache), 0);
	cache_lab_close(&lab);
}

TEST(copies_into_the_programs_memory)
{
	struct lab lab;
	int values[2] = {0, 0};
	void *data[2] = {&values[0], &values[1]};
	struct wh_dds_select take = {
		.mask = LAB_ANY, .take = true, .copy_bytes = sizeof(int), .info_bytes = sizeof(lab.infos[0])};

	lab_init(&lab);
	cache_lab_open(&lab);
	cache_lab_write(&lab, 1, 7);
	cache_lab_write(&lab, 1, 8);
	ck_assert_int_eq(wh_dds_cache_read(lab.cache, &take, data, lab.infos, 2), 2);
	ck_assert_int_eq(values[0], 7);
	ck_assert_int_eq(values[1], 8);
	ck_assert_uint_eq(wh_dds_cache_lent(lab.cache), 0);
	cache_lab_write(&lab, 1, 9);
	take.copy_bytes = sizeof(int) - 1;
	ck_assert_int_eq(wh_dds_cache_read(lab.cache, &take, data, lab.infos, 2), WHORL_DDS_RETCODE_BAD_PARAMETER);
	ck_assert_str_eq(lab_take(&lab, LAB_ANY), "1:9noa ");
	cache_lab_close(&lab);
}

/* Programs of another version have shorter infos, or longer ones. */
TEST(infos_of_any_size)
{
	static const size_t sizes[] = {offsetof(whorl_dds_sample_info, number), sizeof(whorl_dds_sample_info) + 16};
	struct lab lab;
	unsigned char infos[2][sizeof(whorl_dds_sample_info) + 16];
	whorl_dds_sample_info info;

	lab_init(&lab);
	cache_lab_open(&lab);
	for (int i = 0; i < 2; i++) {
		struct wh_dds_select read = {.info_bytes = sizes[i]};

		cache_lab_write(&lab, 1, i);
		memset(infos, 0x55, sizeof(infos));
		lab.count = wh_dds_cache_read(lab.cache, &read, lab.lent, infos, 1 + (size_t)i);
		ck_assert_int_eq(lab.count, 1 + i);
		memcpy(&info, (unsigned char *)infos + (size_t)i * sizes[i], sizeof(info));
		ck_assert_uint_eq(info.sequence, 1 + (uint64_t)i);
		ck_assert_uint_eq(((unsigned char *)infos)[sizes[i] * (1 + (size_t)i) - (size_t)i], 0x55);
		lab_return(&lab);
	}
	cache_lab_close(&lab);
}

TEST(readers_share_a_copy)
{
	struct lab labs[2];
	struct wh_dds_select take = {.mask = LAB_ANY, .take = true};
	struct wh_dds_arrival arrival = {.does = WH_DDS_DOES_DATA, .expires_ns = WH_DDS_NEVER};

	for (int i = 0; i < 2; i++) {
		lab_init(&labs[i]);
		cache_lab_open(&labs[i]);
	}
	arrival.copy = wh_dds_copy_take(labs[0].pool, sizeof(int));
	ck_assert_ptr_nonnull(arrival.copy);
	arrival.copy->facts = (struct wh_dds_facts){.instance = 1, .sequence = 1};
	wh_dds_copy_hold(arrival.copy, 1);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(wh_dds_cache_put(labs[i].cache, &arrival, 1), WH_DDS_PUT_KEPT);
		lab_select(&labs[i], &take, LAB_ROOM);
		ck_assert_int_eq(labs[i].count, 1);
	}
	ck_assert_ptr_eq(labs[0].lent[0], labs[1].lent[0]);
	lab_return(&labs[0]);
	cache_lab_write(&labs[0], 1, 8); /* goes elsewhere */
	ck_assert_uint_eq(wh_dds_pool_count(labs[0].pool).made, 2);
	lab_return(&labs[1]);
	cache_lab_write(&labs[0], 1, 9); /* goes where it was */
	ck_assert_uint_eq(wh_dds_pool_count(labs[0].pool).made, 2);
	for (int i = 0; i < 2; i++)
		cache_lab_close(&labs[i]);
}

TEST(a_cache_may_go_with_all_it_has)
{
	struct lab lab;

	lab_init(&lab);
	cache_lab_open(&lab);
	for (uint64_t i = 1; i < 20; i++)
		cache_lab_write(&lab, i, 1);
	lab.set = 3;
	cache_lab_write(&lab, 30, 1);
	lab_select(&lab, &(struct wh_dds_select){.mask = LAB_ANY, .take = true}, 5);
	cache_lab_close(&lab);
}

TEST(no_allocation_once_it_is_warm)
{
	struct lab lab;
	uint64_t made;

	lab_init(&lab);
	cache_lab_open(&lab);
	for (uint64_t i = 0; i < 8; i++)
		cache_lab_write(&lab, i % 3 + 1, 1);
	lab_take(&lab, LAB_ANY);
	made = wh_dds_pool_count(lab.pool).made;
	for (int round = 0; round < 100; round++) {
		for (uint64_t i = 0; i < 8; i++)
			cache_lab_write(&lab, i % 3 + 1, 1);
		lab_take(&lab, LAB_ANY);
	}
	ck_assert_uint_eq(wh_dds_pool_count(lab.pool).made, made);
	cache_lab_close(&lab);
}

/* ---- coherent sets -------------------------------------------------------------------------------------------------------- */

TEST_CASE("sets");

TEST(a_set_comes_as_a_whole)
{
	struct lab lab;

	lab_init(&lab);
	cache_lab_open(&lab);
	cache_lab_write(&lab, 1, 1);
	lab.set = 7;
	cache_lab_write(&lab, 1, 2);
	cache_lab_write(&lab, 2, 3);
	lab_dispose(&lab, 1);
	lab.set = 0;
	cache_lab_write(&lab, 1, 4);
	ck_assert_str_eq(lab_peek(&lab), "1:1nNa 1:4nNa ");
	ck_assert_uint_eq(wh_dds_cache_state(lab.cache, 2), 0);
	ck_assert_uint_eq(wh_dds_cache_end_set(lab.cache, 7, true, lab.now), 3);
	ck_assert(wh_dds_cache_is_sound(lab.cache));
	ck_assert_str_eq(lab_peek(&lab), "1:1nNd 1:4nNd 1:2nNd 1:-nNd 2:3nNa ");
	ck_assert_uint_eq(wh_dds_cache_end_set(lab.cache, 7, true, lab.now), 0);
	cache_lab_close(&lab);
}

TEST(a_set_that_is_not_whole_is_nothing)
{
	struct lab lab;

	lab_init(&lab);
	lab_limit(&lab, 3, WHORL_DDS_UNLIMITED, WHORL_DDS_UNLIMITED);
	cache_lab_open(&lab);
	lab.set = 7;
	cache_lab_write(&lab, 1, 2);
	ck_assert_uint_eq(wh_dds_cache_end_set(lab.cache, 7, false, lab.now), 0);
	ck_assert(wh_dds_cache_is_sound(lab.cache));
	for (int i = 0; i < 3; i++)
		cache_lab_write(&lab, 1, i);
	lab.last_chance = true;
	ck_assert_int_eq(cache_lab_write(&lab, 1, 3), WH_DDS_PUT_REJECTED);
	ck_assert_int_eq(cache_lab_write(&lab, 1, 4), WH_DDS_PUT_UNWANTED); /* the rest of it */
	ck_assert_uint_eq(wh_dds_cache_end_set(lab.cache, 7, true, lab.now), 0);
	ck_assert_str_eq(lab_peek(&lab), "");
	lab.set = 8;
	wh_dds_cache_lose(lab.cache, 8);
	ck_assert_int_eq(cache_lab_write(&lab, 1, 4), WH_DDS_PUT_UNWANTED);
	ck_assert_uint_eq(wh_dds_cache_end_set(lab.cache, 8, true, lab.now), 0);
	ck_assert_uint_eq(wh_dds_status_look(&lab.statuses, WHORL_DDS_SAMPLE_LOST_STATUS).sample_lost.total_count, 2);
	cache_lab_close(&lab);
}

/* ---- filters and queries -------------------------------------------------------------------------------------------------- */

static bool is_even(const void *data, size_t bytes, void *ctx)
{
	int value;

	ck_assert_uint_eq(bytes, sizeof(value));
	memcpy(&value, data, sizeof(value));
	++*(int *)ctx;
	return value % 2 == 0;
}

TEST(a_filter_keeps_out)
{
	struct lab lab;
	int asked = 0;

	lab_init(&lab);
	lab.options.filter = is_even;
	lab.options.filter_ctx = &asked;
	cache_lab_open(&lab);
	ck_assert_int_eq(cache_lab_write(&lab, 1, 1), WH_DDS_PUT_UNWANTED);
	ck_assert_int_eq(cache_lab_write(&lab, 1, 2), WH_DDS_PUT_KEPT);
	ck_assert_int_eq(lab_dispose(&lab, 1), WH_DDS_PUT_KEPT);
	ck_assert_str_eq(lab_take(&lab, LAB_ANY), "1:2nNd 1:-nNd ");
	cache_lab_close(&lab);
}

#define ENDS_BY_DATA (WH_DDS_DOES_DATA | WH_DDS_DOES_DISPOSE)

/* It is told by its key alone (lab_write_text): what was filtered out, has expired, or had no room. */
TEST(an_end_without_its_data_has_the_key)
{
	struct lab lab;
	int asked = 0;

	lab_init(&lab);
	lab.options.filter = is_even;
	lab.options.filter_ctx = &asked;
	lab_limit(&lab, WHORL_DDS_UNLIMITED, WHORL_DDS_UNLIMITED, 1);
	cache_lab_open(&lab);
	ck_assert_int_eq(lab_put(&lab, ENDS_BY_DATA, 1, 3), WH_DDS_PUT_KEPT);
	lab.expires = lab.now;
	ck_assert_int_eq(lab_put(&lab, ENDS_BY_DATA, 2, 4), WH_DDS_PUT_KEPT);
	lab.expires = WH_DDS_NEVER;
	ck_assert_int_eq(cache_lab_write(&lab, 3, 6), WH_DDS_PUT_KEPT);
	lab.last_chance = true;
	ck_assert_int_eq(lab_put(&lab, ENDS_BY_DATA, 3, 8), WH_DDS_PUT_KEPT);
	lab.set = 7;
	lab.expires = lab.now + 10;
	ck_assert_int_eq(lab_put(&lab, ENDS_BY_DATA, 4, 10), WH_DDS_PUT_KEPT);
	lab.now += 10;
	ck_assert_uint_eq(wh_dds_cache_end_set(lab.cache, 7, true, lab.now), 1);
	ck_assert_str_eq(lab_take(&lab, LAB_ANY), "1:-nNd 2:-nNd 3:6nNd 3:-nNd 4:-nNd ");
	cache_lab_close(&lab);
}

TEST(queries_ask_once)
{
	struct lab lab;
	int asked = 0;
	struct wh_dds_query *query;
	uint32_t unread = LAB_ANY & ~(uint32_t)WHORL_DDS_READ_SAMPLE_STATE;

	lab_init(&lab);
	cache_lab_open(&lab);
	cache_lab_write(&lab, 1, 1);
	cache_lab_write(&lab, 1, 2);
	query = wh_dds_query_create(lab.cache, is_even, &asked);
	ck_assert_ptr_nonnull(query);
	ck_assert_int_eq(asked, 2);
	ck_assert(wh_dds_query_has(query, LAB_ANY));
	ck_assert_str_eq(lab_select(&lab, &(struct wh_dds_select){.mask = LAB_ANY, .query = query}, LAB_ROOM),
			 "1:2nNa ");
	lab_return(&lab);
	ck_assert(!wh_dds_query_has(query, unread));
	cache_lab_write(&lab, 2, 3);
	ck_assert(!wh_dds_query_has(query, unread));
	cache_lab_write(&lab, 2, 4);
	ck_assert(wh_dds_query_has(query, unread));
	ck_assert_str_eq(
		lab_select(&lab, &(struct wh_dds_select){.mask = LAB_ANY, .query = query, .take = true}, LAB_ROOM),
		"1:2roa 2:4nNa ");
	lab_return(&lab);
	ck_assert(!wh_dds_query_has(query, LAB_ANY));
	ck_assert_int_eq(asked, 4);
	wh_dds_query_free(query);
	for (int i = 0; i < 32; i++)
		ck_assert_ptr_nonnull(wh_dds_query_create(lab.cache, is_even, &asked));
	ck_assert_ptr_null(wh_dds_query_create(lab.cache, is_even, &asked));
	ck_assert(wh_dds_cache_is_sound(lab.cache));
	cache_lab_close(&lab);
}

/* ---- time ----------------------------------------------------------------------------------------------------------------- */

static bool pass(struct lab *lab, uint64_t ns)
{
	bool shows;

	lab->now += ns;
	shows = wh_dds_cache_pass_time(lab->cache, lab->now);
	ck_assert(wh_dds_cache_is_sound(lab->cache));
	ck_assert_uint_gt(wh_dds_cache_due(lab->cache), lab->now);
	return shows;
}

TEST_CASE("time");

TEST(samples_expire)
{
	struct lab lab;

	lab_init(&lab);
	cache_lab_open(&lab);
	ck_assert_uint_eq(wh_dds_cache_due(lab.cache), WH_DDS_NEVER);
	for (int i = 0; i < 5; i++) {
		lab.expires = lab.now + 10 * (uint64_t)(i * 3 % 5 + 1);
		cache_lab_write(&lab, 1, i);
	}
	ck_assert_uint_eq(wh_dds_cache_due(lab.cache), lab.now + 10);
	pass(&lab, 9);
	ck_assert_int_eq(lab_peek(&lab)[2], '0');
	pass(&lab, 1);
	ck_assert_str_eq(lab_peek(&lab), "1:1nNa 1:2nNa 1:3nNa 1:4nNa ");
	pass(&lab, 20);
	ck_assert_str_eq(lab_peek(&lab), "1:1nNa 1:3nNa ");
	lab.expires = lab.now;
	ck_assert_int_eq(cache_lab_write(&lab, 1, 9), WH_DDS_PUT_UNWANTED);
	lab.expires = lab.now + 10; /* of an end nothing expires */
	ck_assert_int_eq(lab_dispose(&lab, 1), WH_DDS_PUT_KEPT);
	pass(&lab, 1000);
	ck_assert_str_eq(lab_peek(&lab), "1:-nNd ");
	lab_take(&lab, LAB_ANY);
	ck_assert_uint_eq(wh_dds_cache_due(lab.cache), WH_DDS_NEVER);
	cache_lab_close(&lab);
}

static uint32_t missed(struct lab *lab)
{
	union wh_dds_status status = wh_dds_status_take(&lab->statuses, WHORL_DDS_REQUESTED_DEADLINE_MISSED_STATUS);

	return (uint32_t)status.deadline_missed.total_count_change;
}

TEST(deadlines_are_missed)
{
	struct lab lab;

	lab_init(&lab);
	lab.policies.deadline_ns = 100;
	cache_lab_open(&lab);
	cache_lab_write(&lab, 1, 1);
	pass(&lab, 60);
	cache_lab_write(&lab, 1, 2);
	pass(&lab, 60); /* the second one is not late */
	ck_assert_uint_eq(missed(&lab), 0);
	pass(&lab, 40);
	ck_assert_uint_eq(missed(&lab), 1);
	pass(&lab, 250);
	ck_assert_uint_eq(missed(&lab), 2);
	pass(&lab, 50); /* they go on from the sample, not from when it was noticed */
	ck_assert_uint_eq(missed(&lab), 1);
	lab_dispose(&lab, 1);
	pass(&lab, 1000);
	ck_assert_uint_eq(missed(&lab), 0);
	cache_lab_write(&lab, 1, 3);
	pass(&lab, 100);
	ck_assert_uint_eq(missed(&lab), 1);
	pass(&lab, 50);
	lab.policies.deadline_ns = 1000;
	wh_dds_cache_change(lab.cache, &lab.policies, lab.now);
	pass(&lab, 999);
	ck_assert_uint_eq(missed(&lab), 0);
	pass(&lab, 1);
	ck_assert_uint_eq(missed(&lab), 1);
	pass(&lab, 999);
	ck_assert_uint_eq(missed(&lab), 0);
	cache_lab_close(&lab);
}

TEST(too_many_are_held_back)
{
	struct lab lab;

	lab_init(&lab);
	lab.policies.separation_ns = 100;
	cache_lab_open(&lab);
	cache_lab_write(&lab, 1, 1);
	ck_assert_int_eq(cache_lab_write(&lab, 1, 2), WH_DDS_PUT_KEPT);
	cache_lab_write(&lab, 1, 3);
	cache_lab_write(&lab, 2, 4);
	ck_assert_str_eq(lab_peek(&lab), "1:1nNa 2:4nNa ");
	ck_assert(pass(&lab, 100)); /* the last one comes */
	ck_assert_str_eq(lab_take(&lab, LAB_ANY), "1:1nNa 1:3nNa 2:4nNa ");
	ck_assert(!pass(&lab, 50));
	cache_lab_write(&lab, 1, 5);
	lab_dispose(&lab, 1); /* it comes before the end */
	ck_assert_str_eq(lab_take(&lab, LAB_ANY), "1:5nod 1:-nod ");
	cache_lab_write(&lab, 1, 6); /* and an instance that lives again is told at once */
	ck_assert_str_eq(lab_take(&lab, LAB_ANY), "1:6nNa ");
	cache_lab_write(&lab, 1, 7);
	lab.now += 100;
	cache_lab_write(&lab, 1, 8); /* comes before the clock was looked at: 7 is nothing any more */
	ck_assert_str_eq(lab_take(&lab, LAB_ANY), "1:8noa ");
	ck_assert(!pass(&lab, 200));
	cache_lab_close(&lab);
}

TEST(best_effort_drops_what_is_too_early)
{
	struct lab lab;

	lab_init(&lab);
	lab.policies.separation_ns = 100;
	lab.policies.reliability.kind = WHORL_DDS_RELIABILITY_BEST_EFFORT;
	cache_lab_open(&lab);
	cache_lab_write(&lab, 1, 1);
	ck_assert_int_eq(cache_lab_write(&lab, 1, 2), WH_DDS_PUT_UNWANTED);
	ck_assert(!pass(&lab, 100));
	cache_lab_close(&lab);
}

TEST(what_is_held_back_waits_for_room)
{
	struct lab lab;

	lab_init(&lab);
	lab.policies.separation_ns = 100;
	lab_limit(&lab, 1, WHORL_DDS_UNLIMITED, WHORL_DDS_UNLIMITED);
	cache_lab_open(&lab);
	cache_lab_write(&lab, 1, 1);
	cache_lab_write(&lab, 1, 2);
	ck_assert(!pass(&lab, 100));
	ck_assert_str_eq(lab_take(&lab, LAB_ANY), "1:1nNa ");
	ck_assert_int_eq(lab_dispose(&lab, 1), WH_DDS_PUT_FULL); /* for both there is none */
	ck_assert(pass(&lab, 100));
	ck_assert_str_eq(lab_take(&lab, LAB_ANY), "1:2noa ");
	cache_lab_close(&lab);
}

TEST(instances_are_purged)
{
	struct lab lab;

	lab_init(&lab);
	lab.policies.purge.no_writers_ns = 100;
	lab.policies.purge.disposed_ns = 200;
	cache_lab_open(&lab);
	cache_lab_write(&lab, 1, 1);
	cache_lab_write(&lab, 2, 2);
	lab_leave(&lab, 1);
	lab_dispose(&lab, 2);
	pass(&lab, 100);
	ck_assert_str_eq(lab_peek(&lab), "2:2nNd 2:-nNd ");
	ck_assert_uint_eq(wh_dds_cache_state(lab.cache, 1), 0);
	pass(&lab, 100);
	ck_assert_str_eq(lab_peek(&lab), "");
	ck_assert_uint_ne(wh_dds_cache_state(lab.cache, 2), 0);
	cache_lab_write(&lab, 2, 3);
	lab_dispose(&lab, 2);
	cache_lab_write(&lab, 2, 4); /* in time */
	pass(&lab, 1000);
	ck_assert_str_eq(lab_take(&lab, LAB_ANY), "2:3nNa 2:-nNa 2:4nNa ");
	ck_assert_uint_eq(lab.infos[2].disposed_generation_count, 2);
	cache_lab_close(&lab);
}

TEST_SUITE("dds_cache")
