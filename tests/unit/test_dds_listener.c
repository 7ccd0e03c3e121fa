/* test_dds_listener.c - statuses and their counts, and which listener hears of them. */
#include <string.h>

#include "dds/status/listener.h"
#include "tests/harness.h"

/* ---- statuses ------------------------------------------------------------------------------------------------------------- */

TEST_CASE("statuses");

TEST(a_status_has_changed_until_it_is_looked_at)
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

TEST(matches_come_and_go)
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

TEST(writers_are_alive_or_not)
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

TEST(each_status_has_a_name_and_a_size)
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

static void set_data(struct whorl_dds_listener *listener, uint32_t status, char *where)
{
	listener->arg = where;
	wh_dds_listener_set(listener, status, (wh_dds_listener_fn *)on_data);
}

static void set_lost(struct whorl_dds_listener *listener, char *where)
{
	listener->arg = where;
	ck_assert_int_eq(whorl_dds_lset_sample_lost(listener, on_lost), WHORL_DDS_RETCODE_OK);
}

static const char *hear(const struct wh_dds_listeners *listeners, struct wh_dds_statuses *statuses)
{
	struct wh_dds_call call;

	heard[0] = '\0';
	while (wh_dds_listeners_next(listeners, statuses, &call))
		wh_dds_call_make(&call);
	return heard;
}

TEST_CASE("listeners");

TEST(the_nearest_listener_hears)
{
	struct whorl_dds_listener own = {.asks = 0}, group = {.asks = 0}, participant = {.asks = 0};
	struct wh_dds_listeners all = {.entity = 3, .own = &own, .group = &group, .participant = &participant};
	struct wh_dds_statuses statuses = {.changed = 0};

	wh_dds_status_lost(&statuses, 2);
	ck_assert_str_eq(hear(&all, &statuses), "");
	ck_assert_uint_eq(statuses.changed, WHORL_DDS_SAMPLE_LOST_STATUS); /* nobody has heard it */
	set_lost(&participant, "participant");
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

TEST(a_function_is_taken_away)
{
	struct whorl_dds_listener own = {.asks = 0}, participant = {.asks = 0};
	struct wh_dds_listeners all = {.entity = 3, .own = &own, .participant = &participant};
	struct wh_dds_statuses statuses = {.changed = 0};

	set_lost(&participant, "participant");
	participant.arg = "rejected";
	whorl_dds_lset_sample_rejected(&participant, on_rejected);
	set_lost(&own, "own");
	whorl_dds_lset_sample_lost(&own, NULL);
	wh_dds_status_lost(&statuses, 1);
	wh_dds_status_rejected(&statuses, WHORL_DDS_REJECTED_BY_SAMPLES_LIMIT, 6);
	ck_assert_str_eq(hear(&all, &statuses), "participant:3:1 rejected:3:6 ");
	ck_assert_uint_eq(statuses.changed, 0);
}

TEST(new_data_goes_to_the_subscriber_first)
{
	struct whorl_dds_listener own = {.asks = 0}, group = {.asks = 0}, participant = {.asks = 0};
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

static void in_place(whorl_dds_entity reader, const void *data, const struct whorl_dds_sample_info *info, void *arg)
{
	(void)reader;
	(void)data;
	(void)info;
	(void)arg;
}

TEST(listeners_are_merged)
{
	char one_arg, other_arg;
	whorl_dds_listener *one = whorl_dds_create_listener(&one_arg), *other = whorl_dds_create_listener(&other_arg);
	whorl_dds_listener *third = whorl_dds_create_listener(NULL);

	whorl_dds_lset_sample_lost(one, on_lost);
	whorl_dds_lset_sample_lost(other, on_lost);
	whorl_dds_lset_data_available(other, on_data);
	whorl_dds_lset_in_place(other, in_place);
	ck_assert_int_eq(whorl_dds_merge_listener(one, other), WHORL_DDS_RETCODE_OK);
	ck_assert_uint_eq(one->asks, WHORL_DDS_SAMPLE_LOST_STATUS | WHORL_DDS_DATA_AVAILABLE_STATUS);
	ck_assert_ptr_eq(one->of[__builtin_ctz(WHORL_DDS_SAMPLE_LOST_STATUS)].arg, &one_arg);
	ck_assert_ptr_eq(one->of[__builtin_ctz(WHORL_DDS_DATA_AVAILABLE_STATUS)].arg, &other_arg);
	ck_assert(one->in_place == in_place);
	ck_assert_ptr_eq(one->in_place_arg, &other_arg);
	ck_assert_int_eq(whorl_dds_copy_listener(third, one), WHORL_DDS_RETCODE_OK);
	ck_assert_int_eq(whorl_dds_reset_listener(one), WHORL_DDS_RETCODE_OK);
	ck_assert_uint_eq(one->asks, 0);
	ck_assert(one->in_place == NULL);
	ck_assert_ptr_eq(one->arg, &one_arg);
	ck_assert_uint_eq(third->asks, WHORL_DDS_SAMPLE_LOST_STATUS | WHORL_DDS_DATA_AVAILABLE_STATUS);
	ck_assert_int_eq(whorl_dds_merge_listener(NULL, other), WHORL_DDS_RETCODE_BAD_PARAMETER);
	ck_assert_int_eq(whorl_dds_copy_listener(other, NULL), WHORL_DDS_RETCODE_BAD_PARAMETER);
	ck_assert_int_eq(whorl_dds_reset_listener(NULL), WHORL_DDS_RETCODE_BAD_PARAMETER);
	ck_assert_int_eq(whorl_dds_lset_in_place(NULL, in_place), WHORL_DDS_RETCODE_BAD_PARAMETER);
	whorl_dds_delete_listener(one);
	whorl_dds_delete_listener(other);
	whorl_dds_delete_listener(third);
	whorl_dds_delete_listener(NULL);
}

static uint32_t called;

#define COUNTED(name, type)                                                                                            \
	static void count_##name(whorl_dds_entity entity, const struct type *status, void *arg)                        \
	{                                                                                                              \
		ck_assert_int_eq(entity, 3);                                                                           \
		ck_assert_ptr_nonnull(status);                                                                         \
		called |= *(uint32_t *)arg;                                                                            \
	}

COUNTED(inconsistent_topic, whorl_dds_inconsistent_topic_status)
COUNTED(deadline_missed, whorl_dds_deadline_missed_status)
COUNTED(incompatible_qos, whorl_dds_incompatible_qos_status)
COUNTED(sample_lost, whorl_dds_sample_lost_status)
COUNTED(sample_rejected, whorl_dds_sample_rejected_status)
COUNTED(liveliness_lost, whorl_dds_liveliness_lost_status)
COUNTED(liveliness_changed, whorl_dds_liveliness_changed_status)
COUNTED(matched, whorl_dds_matched_status)

static void count_data(whorl_dds_entity entity, void *arg)
{
	ck_assert_int_eq(entity, 3);
	called |= *(uint32_t *)arg;
}

/* Sets one function, by which only this status is heard. */
#define TRY(name, function, STATUS)                                                                                    \
	do {                                                                                                           \
		uint32_t it = WHORL_DDS_##STATUS##_STATUS;                                                             \
		whorl_dds_listener *listener = whorl_dds_create_listener(&it);                                         \
		struct wh_dds_listeners all = {.entity = 3, .own = listener};                                          \
		struct wh_dds_statuses statuses = {.changed = UINT32_MAX >> 17};                                       \
                                                                                                                       \
		ck_assert_int_eq(whorl_dds_lset_##name(NULL, function), WHORL_DDS_RETCODE_BAD_PARAMETER);              \
		ck_assert_int_eq(whorl_dds_lset_##name(listener, function), WHORL_DDS_RETCODE_OK);                     \
		called = 0;                                                                                            \
		hear(&all, &statuses);                                                                                 \
		ck_assert_uint_eq(called, it);                                                                         \
		ck_assert_uint_eq(statuses.changed, (UINT32_MAX >> 17) & ~it);                                         \
		whorl_dds_delete_listener(listener);                                                                   \
	} while (0)

TEST(each_setter_is_for_its_status)
{
	TRY(inconsistent_topic, count_inconsistent_topic, INCONSISTENT_TOPIC);
	TRY(offered_deadline_missed, count_deadline_missed, OFFERED_DEADLINE_MISSED);
	TRY(requested_deadline_missed, count_deadline_missed, REQUESTED_DEADLINE_MISSED);
	TRY(offered_incompatible_qos, count_incompatible_qos, OFFERED_INCOMPATIBLE_QOS);
	TRY(requested_incompatible_qos, count_incompatible_qos, REQUESTED_INCOMPATIBLE_QOS);
	TRY(sample_lost, count_sample_lost, SAMPLE_LOST);
	TRY(sample_rejected, count_sample_rejected, SAMPLE_REJECTED);
	TRY(data_on_readers, count_data, DATA_ON_READERS);
	TRY(data_available, count_data, DATA_AVAILABLE);
	TRY(liveliness_lost, count_liveliness_lost, LIVELINESS_LOST);
	TRY(liveliness_changed, count_liveliness_changed, LIVELINESS_CHANGED);
	TRY(publication_matched, count_matched, PUBLICATION_MATCHED);
	TRY(subscription_matched, count_matched, SUBSCRIPTION_MATCHED);
}

TEST_SUITE("dds_listener")
