/* test_dds_listener.c - statuses and their counts, and which listener hears of them. */
#include <string.h>

#include "dds/listener.h"
#include "tests/harness.h"

/* ---- statuses ------------------------------------------------------------------------------------------------------------- */

START_TEST(a_status_has_changed_until_it_is_looked_at)
{
	struct wh_dds_statuses statuses = {.changed = 0};
	union wh_dds_status status;

	wh_dds_status_deadline_missed(&statuses, WHORL_DDS_OFFERED_DEADLINE_MISSED_STATUS, 4, 3);
	wh_dds_status_deadline_missed(&statuses, WHORL_DDS_OFFERED_DEADLINE_MISSED_STATUS, 5, 1);
	ck_assert_uint_eq(statuses.changed, WHORL_DDS_OFFERED_DEADLINE_MISSED_STATUS);
	status = wh_dds_status_look(&statuses, WHORL_DDS_OFFERED_DEADLINE_MISSED_STATUS);
	ck_assert_int_eq(status.deadline_missed.total_count_change, 4);
	ck_assert_uint_ne(statuses.changed, 0);
	status = wh_dds_status_take(&statuses, WHORL_DDS_OFFERED_DEADLINE_MISSED_STATUS);
	ck_assert_uint_eq(status.deadline_missed.total_count, 4);
	ck_assert_int_eq(status.deadline_missed.total_count_change, 4);
	ck_assert_uint_eq(status.deadline_missed.last_instance_handle, 5);
	ck_assert_uint_eq(statuses.changed, 0);
	wh_dds_status_deadline_missed(&statuses, WHORL_DDS_OFFERED_DEADLINE_MISSED_STATUS, 6, 1);
	status = wh_dds_status_take(&statuses, WHORL_DDS_OFFERED_DEADLINE_MISSED_STATUS);
	ck_assert_uint_eq(status.deadline_missed.total_count, 5);
	ck_assert_int_eq(status.deadline_missed.total_count_change, 1);
}
END_TEST

START_TEST(matches_come_and_go)
{
	struct wh_dds_statuses statuses = {.changed = 0};
	struct whorl_dds_matched_status matched;

	wh_dds_status_matched(&statuses, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS, 1, 11);
	wh_dds_status_matched(&statuses, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS, 1, 12);
	wh_dds_status_matched(&statuses, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS, -1, 11);
	matched = wh_dds_status_take(&statuses, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS).matched;
	ck_assert_uint_eq(matched.total_count, 2);
	ck_assert_int_eq(matched.total_count_change, 2);
	ck_assert_uint_eq(matched.current_count, 1);
	ck_assert_int_eq(matched.current_count_change, 1);
	ck_assert_uint_eq(matched.last_handle, 11);
	wh_dds_status_matched(&statuses, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS, -1, 12);
	matched = wh_dds_status_take(&statuses, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS).matched;
	ck_assert_uint_eq(matched.total_count, 2);
	ck_assert_int_eq(matched.total_count_change, 0);
	ck_assert_uint_eq(matched.current_count, 0);
	ck_assert_int_eq(matched.current_count_change, -1);
}
END_TEST

START_TEST(writers_are_alive_or_not)
{
	struct wh_dds_statuses statuses = {.changed = 0};
	struct whorl_dds_liveliness_changed_status it;

	wh_dds_status_liveliness_changed(&statuses, 1, 0, 9);
	wh_dds_status_liveliness_changed(&statuses, -1, 1, 9);
	it = wh_dds_status_take(&statuses, WHORL_DDS_LIVELINESS_CHANGED_STATUS).liveliness_changed;
	ck_assert_uint_eq(it.alive_count, 0);
	ck_assert_int_eq(it.alive_count_change, 0);
	ck_assert_uint_eq(it.not_alive_count, 1);
	ck_assert_int_eq(it.not_alive_count_change, 1);
	wh_dds_status_liveliness_changed(&statuses, 0, -1, 9);
	it = wh_dds_status_take(&statuses, WHORL_DDS_LIVELINESS_CHANGED_STATUS).liveliness_changed;
	ck_assert_uint_eq(it.not_alive_count, 0);
	ck_assert_int_eq(it.not_alive_count_change, -1);
}
END_TEST

START_TEST(each_status_has_a_name_and_a_size)
{
	uint32_t all = WHORL_DDS_DATA_AVAILABLE_STATUS | WHORL_DDS_DATA_ON_READERS_STATUS;
	int named = 0;

	for (int kind = 0; kind < WH_DDS_KINDS; kind++)
		all |= wh_dds_statuses_of((enum wh_dds_kind)kind);
	for (int bit = 0; bit < 32; bit++) {
		uint32_t status = 1u << bit;
		bool has_counts =
			status != WHORL_DDS_DATA_AVAILABLE_STATUS && status != WHORL_DDS_DATA_ON_READERS_STATUS;

		ck_assert_int_eq(wh_dds_status_name(status) != NULL, (all & status) != 0);
		ck_assert_int_eq(wh_dds_status_bytes(status) > 0, (all & status) != 0 && has_counts);
		named += wh_dds_status_name(status) != NULL;
	}
	ck_assert_int_eq(named, 13);
	ck_assert_ptr_null(wh_dds_status_name(0));
	ck_assert_ptr_null(wh_dds_status_name(3));
	ck_assert_uint_eq(wh_dds_status_take(&(struct wh_dds_statuses){.changed = 1}, 3).matched.total_count, 0);
}
END_TEST

/* ---- listeners ------------------------------------------------------------------------------------------------------------ */

static char heard[256];

static void note(const char *where, whorl_dds_entity entity, uint32_t total)
{
	size_t used = strlen(heard);

	snprintf(heard + used, sizeof(heard) - used, "%s:%d:%u ", where, (int)entity, total);
}

static void on_data(whorl_dds_entity entity, void *arg)
{
	note(arg, entity, 0);
}

static void on_lost(whorl_dds_entity reader, const struct whorl_dds_sample_lost_status *status, void *arg)
{
	note(arg, reader, status->total_count);
}

static void on_rejected(whorl_dds_entity reader, const struct whorl_dds_sample_rejected_status *status, void *arg)
{
	note(arg, reader, (uint32_t)status->last_instance_handle);
}

static void set_data(struct wh_dds_listener *listener, uint32_t status, char *where)
{
	wh_dds_listener_set(listener, status, (wh_dds_listener_fn *)on_data, where);
}

static void set_lost(struct wh_dds_listener *listener, char *where)
{
	wh_dds_listener_set(listener, WHORL_DDS_SAMPLE_LOST_STATUS, (wh_dds_listener_fn *)on_lost, where);
}

static const char *hear(const struct wh_dds_listeners *listeners, struct wh_dds_statuses *statuses)
{
	struct wh_dds_call call;

	heard[0] = '\0';
	while (wh_dds_listeners_next(listeners, statuses, &call))
		wh_dds_call_make(&call);
	return heard;
}

START_TEST(the_nearest_listener_hears)
{
	struct wh_dds_listener own = {.asks = 0}, group = {.asks = 0}, participant = {.asks = 0};
	struct wh_dds_listeners all = {.entity = 3, .own = &own, .group = &group, .participant = &participant};
	struct wh_dds_statuses statuses = {.changed = 0};

	wh_dds_status_lost(&statuses, 2);
	ck_assert(!wh_dds_listeners_ask(&all, WHORL_DDS_SAMPLE_LOST_STATUS));
	ck_assert_str_eq(hear(&all, &statuses), "");
	ck_assert_uint_eq(statuses.changed, WHORL_DDS_SAMPLE_LOST_STATUS); /* nobody has heard it */
	set_lost(&participant, "participant");
	ck_assert(wh_dds_listeners_ask(&all, WHORL_DDS_SAMPLE_LOST_STATUS));
	ck_assert_str_eq(hear(&all, &statuses), "participant:3:2 ");
	ck_assert_uint_eq(statuses.changed, 0);
	set_lost(&group, "group");
	wh_dds_status_lost(&statuses, 1);
	ck_assert_str_eq(hear(&all, &statuses), "group:3:3 ");
	set_lost(&own, "own");
	wh_dds_status_lost(&statuses, 1);
	ck_assert_str_eq(hear(&all, &statuses), "own:3:4 ");
	all.own = NULL;
	all.group = NULL;
	wh_dds_status_lost(&statuses, 1);
	ck_assert_str_eq(hear(&all, &statuses), "participant:3:5 ");
}
END_TEST

START_TEST(no_function_is_an_answer)
{
	struct wh_dds_listener own = {.asks = 0}, participant = {.asks = 0};
	struct wh_dds_listeners all = {.entity = 3, .own = &own, .participant = &participant};
	struct wh_dds_statuses statuses = {.changed = 0};

	set_lost(&participant, "participant");
	wh_dds_listener_set(&participant, WHORL_DDS_SAMPLE_REJECTED_STATUS, (wh_dds_listener_fn *)on_rejected,
			    "rejected");
	wh_dds_listener_set(&own, WHORL_DDS_SAMPLE_LOST_STATUS, NULL, NULL);
	wh_dds_status_lost(&statuses, 1);
	wh_dds_status_rejected(&statuses, WHORL_DDS_REJECTED_BY_SAMPLES_LIMIT, 6);
	ck_assert_str_eq(hear(&all, &statuses), "rejected:3:6 ");
	ck_assert_uint_eq(statuses.changed, 0);
}
END_TEST

START_TEST(new_data_goes_to_the_subscriber_first)
{
	struct wh_dds_listener own = {.asks = 0}, group = {.asks = 0}, participant = {.asks = 0};
	struct wh_dds_listeners reader = {.entity = 3, .own = &own, .group = &group, .participant = &participant};
	struct wh_dds_listeners subscriber = {.entity = 2, .own = &group, .participant = &participant};
	struct wh_dds_statuses of_reader = {.changed = WHORL_DDS_DATA_AVAILABLE_STATUS};
	struct wh_dds_statuses of_subscriber = {.changed = WHORL_DDS_DATA_ON_READERS_STATUS};

	set_data(&own, WHORL_DDS_DATA_AVAILABLE_STATUS, "available");
	ck_assert_str_eq(hear(&subscriber, &of_subscriber), "");
	ck_assert_str_eq(hear(&reader, &of_reader), "available:3:0 ");
	set_data(&participant, WHORL_DDS_DATA_ON_READERS_STATUS, "readers");
	wh_dds_status_data(&of_reader, WHORL_DDS_DATA_AVAILABLE_STATUS);
	ck_assert_str_eq(hear(&reader, &of_reader), "");
	ck_assert_uint_eq(of_reader.changed, WHORL_DDS_DATA_AVAILABLE_STATUS);
	ck_assert_str_eq(hear(&subscriber, &of_subscriber), "readers:2:0 ");
	ck_assert_uint_eq(of_subscriber.changed, 0);
	set_data(&group, WHORL_DDS_DATA_ON_READERS_STATUS, "group");
	wh_dds_status_data(&of_subscriber, WHORL_DDS_DATA_ON_READERS_STATUS);
	ck_assert_str_eq(hear(&subscriber, &of_subscriber), "group:2:0 ");
}
END_TEST

START_TEST(listeners_are_merged)
{
	struct wh_dds_listener one = {.asks = 0}, other = {.asks = 0};

	set_lost(&one, "one");
	set_lost(&other, "other");
	set_data(&other, WHORL_DDS_DATA_AVAILABLE_STATUS, "other");
	wh_dds_listener_set(&other, 3, (wh_dds_listener_fn *)on_data, NULL); /* no one status */
	wh_dds_listener_merge(&one, &other);
	ck_assert_uint_eq(one.asks, WHORL_DDS_SAMPLE_LOST_STATUS | WHORL_DDS_DATA_AVAILABLE_STATUS);
	ck_assert_str_eq(one.of[__builtin_ctz(WHORL_DDS_SAMPLE_LOST_STATUS)].arg, "one");
	ck_assert_str_eq(one.of[__builtin_ctz(WHORL_DDS_DATA_AVAILABLE_STATUS)].arg, "other");
	ck_assert(wh_dds_listener_get(&one, WHORL_DDS_SAMPLE_LOST_STATUS) == (wh_dds_listener_fn *)on_lost);
	ck_assert(wh_dds_listener_get(&one, WHORL_DDS_SAMPLE_REJECTED_STATUS) == NULL);
	ck_assert(wh_dds_listener_get(&one, 3) == NULL);
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("dds_listener");
	TCase *statuses = tcase_create("statuses"), *listeners = tcase_create("listeners");

	tcase_add_test(statuses, a_status_has_changed_until_it_is_looked_at);
	tcase_add_test(statuses, matches_come_and_go);
	tcase_add_test(statuses, writers_are_alive_or_not);
	tcase_add_test(statuses, each_status_has_a_name_and_a_size);
	tcase_add_test(listeners, the_nearest_listener_hears);
	tcase_add_test(listeners, no_function_is_an_answer);
	tcase_add_test(listeners, new_data_goes_to_the_subscriber_first);
	tcase_add_test(listeners, listeners_are_merged);
	suite_add_tcase(suite, statuses);
	suite_add_tcase(suite, listeners);
	return suite;
}

int main(void)
{
	return test_main(suite());
}
