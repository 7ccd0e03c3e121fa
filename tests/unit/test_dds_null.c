/* test_dds_null.c - arguments that are not there, and entities that are none: every function of whorl/dds.h answers as its manual says, with a
 * text, and the domain goes on. The names of all functions are read from the header; one that is missing in the table here fails, too.
 * Labels: threads
 */
#include <ctype.h>
#include <string.h>

#include "tests/support/dds_domain.h"

struct pose {
	int32_t id;
	double x;
};

WHORL_DDS_TYPE(pose_type, struct pose, WHORL_DDS_KEY(struct pose, id), WHORL_DDS_FIELD(struct pose, x));

enum { /* kinds of entities, as bits */
       PARTICIPANT = 1,
       TOPIC = 2,
       PUBLISHER = 4,
       SUBSCRIBER = 8,
       WRITER = 16,
       READER = 32,
       READ_CONDITION = 64,
       QUERY_CONDITION = 128,
       GUARD_CONDITION = 256,
       WAITSET = 512,
       ANY = 1023,
       KINDS = 10
};

static const struct none { /* numbers that are no handles */
	whorl_dds_entity handle;
	whorl_dds_return result;
} none[] = {{0, WHORL_DDS_RETCODE_BAD_PARAMETER},
	    {-1, WHORL_DDS_RETCODE_BAD_PARAMETER},
	    {INT32_MIN, WHORL_DDS_RETCODE_BAD_PARAMETER},
	    {INT32_MAX, WHORL_DDS_RETCODE_BAD_PARAMETER},
	    {60000, WHORL_DDS_RETCODE_BAD_PARAMETER},
	    {WHORL_DDS_BUILTIN_TOPIC_DCPSTOPIC + 100, WHORL_DDS_RETCODE_BAD_PARAMETER}};

#define NONE ((int)(sizeof(none) / sizeof(none[0])))

static whorl_dds_entity all[KINDS], gone; /* one of each kind, and one that was deleted */
static whorl_dds_qos *of;
static whorl_dds_listener *listener;
static struct whorl_dds_sample_info info;
static struct whorl_dds_matched_status status;
static struct pose pose;
static void *data[1];
static char text[256], sample[8];
static whorl_dds_entity handles[2];
static whorl_dds_instance_handle handle;
static uint32_t mask;
static bool flag;

static const char *name_of; /* the function that is called */

static whorl_dds_entity at(uint32_t kind)
{
	return all[__builtin_ctz(kind)];
}

static void must_say(int line, bool answered, whorl_dds_return result)
{
	size_t length = strlen(name_of);

	ck_assert_msg(answered, "line %d: %s answers %d: %s", line, name_of, (int)result, whorl_dds_text());
	ck_assert_msg(strncmp(whorl_dds_text(), name_of, length) == 0 &&
			      strncmp(whorl_dds_text() + length, ": ", 2) == 0 && whorl_dds_text()[length + 2] != '\0',
		      "line %d: %s says \"%s\"", line, name_of, whorl_dds_text());
}

/* What is said before is forgotten: each answer has to say its own. */
static void say_another(void)
{
	(void)whorl_dds_reset_qos(NULL);
}

#define answers(result, call)                                                                                          \
	do {                                                                                                           \
		whorl_dds_return answer_;                                                                              \
		say_another();                                                                                         \
		answer_ = (call);                                                                                      \
		must_say(__LINE__, answer_ == WHORL_DDS_RETCODE_##result, answer_);                                    \
	} while (0)
#define gives(value, call)                                                                                             \
	do {                                                                                                           \
		say_another();                                                                                         \
		must_say(__LINE__, (call) == (value), 0);                                                              \
	} while (0)

/* `it` is no entity of these kinds: entity `i` of all that there are not. False: it is one, so nothing is to be refused. */
static bool choose(int i, uint32_t kinds, whorl_dds_entity *it, whorl_dds_return *result)
{
	if (i < NONE) {
		*it = none[i].handle;
		*result = none[i].result;
		return true;
	}
	if (i == NONE) {
		*it = gone;
		*result = WHORL_DDS_RETCODE_ALREADY_DELETED;
		return true;
	}
	*it = all[i - NONE - 1];
	*result = WHORL_DDS_RETCODE_ILLEGAL_OPERATION;
	return (kinds >> (i - NONE - 1) & 1) == 0;
}

#define entity(kinds, call)                                                                                            \
	for (int i_ = 0; i_ < NONE + 1 + KINDS; i_++) {                                                                \
		whorl_dds_return expected_, answer_;                                                                   \
		whorl_dds_entity it;                                                                                   \
		say_another();                                                                                         \
		if (!choose(i_, (kinds), &it, &expected_))                                                             \
			continue;                                                                                      \
		answer_ = (call);                                                                                      \
		must_say(__LINE__, answer_ == expected_, answer_);                                                     \
	}
#define entity_gives(value, kinds, call)                                                                               \
	for (int i_ = 0; i_ < NONE + 1 + KINDS; i_++) {                                                                \
		whorl_dds_return expected_;                                                                            \
		whorl_dds_entity it;                                                                                   \
		say_another();                                                                                         \
		if (choose(i_, (kinds), &it, &expected_))                                                              \
			must_say(__LINE__, (call) == (value), 0);                                                      \
	}

static void nothing(void)
{
} /* it takes nothing */

static bool wants(const void *of_sample, size_t bytes, void *arg)
{
	(void)of_sample, (void)bytes, (void)arg;
	return true;
}

/* ---- each function --------------------------------------------------------------------------------------------------------- */

static void try_strretcode(void)
{
	ck_assert_str_eq(whorl_dds_strretcode(-77), "unknown result");
	ck_assert_str_eq(whorl_dds_strretcode(77), "done");
}

static void try_text(void)
{
	ck_assert_ptr_nonnull(whorl_dds_text());
}

static void try_refuse(void)
{
	ck_assert_int_eq(whorl_dds_refuse(NULL, WHORL_DDS_RETCODE_TIMEOUT, NULL), WHORL_DDS_RETCODE_TIMEOUT);
	ck_assert_str_eq(whorl_dds_text(), ": ");
	ck_assert_int_eq(whorl_dds_refuse("above", WHORL_DDS_RETCODE_ERROR, "100%s"), WHORL_DDS_RETCODE_ERROR);
	ck_assert_str_eq(whorl_dds_text(), "above: 100%s");
}

static void try_now(void)
{
	ck_assert_int_gt(whorl_dds_now(), 0);
}

static void try_bytes_type(void)
{
	ck_assert_ptr_nonnull(whorl_dds_bytes_type());
}

static void try_delete_qos(void)
{
	whorl_dds_delete_qos(NULL);
}

static void try_reset_qos(void)
{
	answers(BAD_PARAMETER, whorl_dds_reset_qos(NULL));
}

static void try_copy_qos(void)
{
	answers(BAD_PARAMETER, whorl_dds_copy_qos(NULL, of));
	answers(BAD_PARAMETER, whorl_dds_copy_qos(of, NULL));
}

static void try_merge_qos(void)
{
	answers(BAD_PARAMETER, whorl_dds_merge_qos(NULL, of));
	answers(BAD_PARAMETER, whorl_dds_merge_qos(of, NULL));
}

static void try_qos_equal(void)
{
	ck_assert(!whorl_dds_qos_equal(NULL, of));
	ck_assert(!whorl_dds_qos_equal(of, NULL));
	ck_assert(!whorl_dds_qos_equal(NULL, NULL));
}

static void try_qos_parse(void)
{
	answers(BAD_PARAMETER, whorl_dds_qos_parse(NULL, ""));
	answers(BAD_PARAMETER, whorl_dds_qos_parse(of, NULL));
	answers(BAD_PARAMETER, whorl_dds_qos_parse(of, "deadline=soon"));
}

static void try_qos_text(void)
{
	answers(BAD_PARAMETER, whorl_dds_qos_text(NULL, text, sizeof(text)));
	answers(BAD_PARAMETER, whorl_dds_qos_text(of, NULL, 1));
	ck_assert_int_ge(whorl_dds_qos_text(of, NULL, 0), 0);
}

static void try_qset_userdata(void)
{
	answers(BAD_PARAMETER, whorl_dds_qset_userdata(NULL, "x", 1));
	answers(BAD_PARAMETER, whorl_dds_qset_userdata(of, NULL, 1));
	answers(BAD_PARAMETER, whorl_dds_qset_userdata(of, sample, 1 << 20));
}

static void try_qset_topicdata(void)
{
	answers(BAD_PARAMETER, whorl_dds_qset_topicdata(NULL, "x", 1));
	answers(BAD_PARAMETER, whorl_dds_qset_topicdata(of, NULL, 1));
	answers(BAD_PARAMETER, whorl_dds_qset_topicdata(of, sample, 1 << 20));
}

static void try_qset_groupdata(void)
{
	answers(BAD_PARAMETER, whorl_dds_qset_groupdata(NULL, "x", 1));
	answers(BAD_PARAMETER, whorl_dds_qset_groupdata(of, NULL, 1));
	answers(BAD_PARAMETER, whorl_dds_qset_groupdata(of, sample, 1 << 20));
}

static void try_qset_durability(void)
{
	answers(BAD_PARAMETER, whorl_dds_qset_durability(NULL, WHORL_DDS_DURABILITY_VOLATILE));
	answers(BAD_PARAMETER, whorl_dds_qset_durability(of, (enum whorl_dds_durability_kind)99));
}

static void try_qset_history(void)
{
	answers(BAD_PARAMETER, whorl_dds_qset_history(NULL, WHORL_DDS_HISTORY_KEEP_ALL, 1));
	answers(BAD_PARAMETER, whorl_dds_qset_history(of, (enum whorl_dds_history_kind)99, 1));
	answers(BAD_PARAMETER, whorl_dds_qset_history(of, WHORL_DDS_HISTORY_KEEP_LAST, 0));
}

static void try_qset_resource_limits(void)
{
	answers(BAD_PARAMETER, whorl_dds_qset_resource_limits(NULL, 1, 1, 1));
	answers(BAD_PARAMETER, whorl_dds_qset_resource_limits(of, 0, 1, 1));
	answers(BAD_PARAMETER, whorl_dds_qset_resource_limits(of, 1, -2, 1));
	answers(BAD_PARAMETER, whorl_dds_qset_resource_limits(of, 1, 1, 0));
}

static void try_qset_presentation(void)
{
	answers(BAD_PARAMETER, whorl_dds_qset_presentation(NULL, WHORL_DDS_PRESENTATION_TOPIC, true, true));
	answers(BAD_PARAMETER, whorl_dds_qset_presentation(of, (enum whorl_dds_presentation_scope)99, true, true));
}

static void try_qset_lifespan(void)
{
	answers(BAD_PARAMETER, whorl_dds_qset_lifespan(NULL, 1));
	answers(BAD_PARAMETER, whorl_dds_qset_lifespan(of, 0));
	answers(BAD_PARAMETER, whorl_dds_qset_lifespan(of, -1));
}

static void try_qset_deadline(void)
{
	answers(BAD_PARAMETER, whorl_dds_qset_deadline(NULL, 1));
	answers(BAD_PARAMETER, whorl_dds_qset_deadline(of, 0));
	answers(BAD_PARAMETER, whorl_dds_qset_deadline(of, -1));
}

static void try_qset_latency_budget(void)
{
	answers(BAD_PARAMETER, whorl_dds_qset_latency_budget(NULL, 1));
	answers(BAD_PARAMETER, whorl_dds_qset_latency_budget(of, -1));
}

static void try_qset_ownership(void)
{
	answers(BAD_PARAMETER, whorl_dds_qset_ownership(NULL, WHORL_DDS_OWNERSHIP_SHARED));
	answers(BAD_PARAMETER, whorl_dds_qset_ownership(of, (enum whorl_dds_ownership_kind)99));
}

static void try_qset_ownership_strength(void)
{
	answers(BAD_PARAMETER, whorl_dds_qset_ownership_strength(NULL, 1));
}

static void try_qset_liveliness(void)
{
	answers(BAD_PARAMETER, whorl_dds_qset_liveliness(NULL, WHORL_DDS_LIVELINESS_AUTOMATIC, 1));
	answers(BAD_PARAMETER, whorl_dds_qset_liveliness(of, (enum whorl_dds_liveliness_kind)99, 1));
	answers(BAD_PARAMETER, whorl_dds_qset_liveliness(of, WHORL_DDS_LIVELINESS_AUTOMATIC, 0));
}

static void try_qset_time_based_filter(void)
{
	answers(BAD_PARAMETER, whorl_dds_qset_time_based_filter(NULL, 1));
	answers(BAD_PARAMETER, whorl_dds_qset_time_based_filter(of, -1));
}

static void try_qset_partition(void)
{
	answers(BAD_PARAMETER, whorl_dds_qset_partition(NULL, 0, NULL));
	answers(BAD_PARAMETER, whorl_dds_qset_partition(of, 1, NULL));
	answers(BAD_PARAMETER, whorl_dds_qset_partition(of, 1, (const char *[]){NULL}));
}

static void try_qset_reliability(void)
{
	answers(BAD_PARAMETER, whorl_dds_qset_reliability(NULL, WHORL_DDS_RELIABILITY_RELIABLE, 1));
	answers(BAD_PARAMETER, whorl_dds_qset_reliability(of, (enum whorl_dds_reliability_kind)99, 1));
	answers(BAD_PARAMETER, whorl_dds_qset_reliability(of, WHORL_DDS_RELIABILITY_RELIABLE, -1));
}

static void try_qset_transport_priority(void)
{
	answers(BAD_PARAMETER, whorl_dds_qset_transport_priority(NULL, 1));
}

static void try_qset_destination_order(void)
{
	answers(BAD_PARAMETER, whorl_dds_qset_destination_order(NULL, WHORL_DDS_DESTINATION_ORDER_BY_SOURCE_TIMESTAMP));
	answers(BAD_PARAMETER, whorl_dds_qset_destination_order(of, (enum whorl_dds_destination_order_kind)99));
}

static void try_qset_writer_data_lifecycle(void)
{
	answers(BAD_PARAMETER, whorl_dds_qset_writer_data_lifecycle(NULL, true));
}

static void try_qset_reader_data_lifecycle(void)
{
	answers(BAD_PARAMETER, whorl_dds_qset_reader_data_lifecycle(NULL, 1, 1));
	answers(BAD_PARAMETER, whorl_dds_qset_reader_data_lifecycle(of, -1, 1));
	answers(BAD_PARAMETER, whorl_dds_qset_reader_data_lifecycle(of, 1, -1));
}

static void try_qset_durability_service(void)
{
	answers(BAD_PARAMETER, whorl_dds_qset_durability_service(NULL, 1, WHORL_DDS_HISTORY_KEEP_ALL, 1, 1, 1, 1));
	answers(BAD_PARAMETER, whorl_dds_qset_durability_service(of, -1, WHORL_DDS_HISTORY_KEEP_ALL, 1, 1, 1, 1));
	answers(BAD_PARAMETER, whorl_dds_qset_durability_service(of, 1, WHORL_DDS_HISTORY_KEEP_ALL, 1, 0, 1, 1));
}

static void try_qset_entity_factory(void)
{
	answers(BAD_PARAMETER, whorl_dds_qset_entity_factory(NULL, true));
}

static void try_qset_consistency(void)
{
	answers(BAD_PARAMETER, whorl_dds_qset_consistency(NULL, WHORL_DDS_CONSISTENCY_ATOMIC));
	answers(BAD_PARAMETER, whorl_dds_qset_consistency(of, (enum whorl_dds_consistency_kind)99));
}

static void try_qset_ignore_local(void)
{
	answers(BAD_PARAMETER, whorl_dds_qset_ignore_local(NULL, WHORL_DDS_IGNORE_LOCAL_NONE));
	answers(BAD_PARAMETER, whorl_dds_qset_ignore_local(of, (enum whorl_dds_ignore_local_kind)99));
}

static void try_qget_durability(void)
{
	ck_assert(!whorl_dds_qget_durability(NULL, NULL));
	ck_assert(!whorl_dds_qget_durability(of, NULL));
}

static void try_qget_history(void)
{
	ck_assert(!whorl_dds_qget_history(NULL, NULL, NULL));
	ck_assert(!whorl_dds_qget_history(of, NULL, NULL));
}

static void try_qget_resource_limits(void)
{
	ck_assert(!whorl_dds_qget_resource_limits(NULL, NULL, NULL, NULL));
	ck_assert(!whorl_dds_qget_resource_limits(of, NULL, NULL, NULL));
}

static void try_qget_presentation(void)
{
	ck_assert(!whorl_dds_qget_presentation(NULL, NULL, NULL, NULL));
	ck_assert(!whorl_dds_qget_presentation(of, NULL, NULL, NULL));
}

static void try_qget_lifespan(void)
{
	ck_assert(!whorl_dds_qget_lifespan(NULL, NULL));
	ck_assert(!whorl_dds_qget_lifespan(of, NULL));
}

static void try_qget_deadline(void)
{
	ck_assert(!whorl_dds_qget_deadline(NULL, NULL));
	ck_assert(!whorl_dds_qget_deadline(of, NULL));
}

static void try_qget_latency_budget(void)
{
	ck_assert(!whorl_dds_qget_latency_budget(NULL, NULL));
	ck_assert(!whorl_dds_qget_latency_budget(of, NULL));
}

static void try_qget_ownership(void)
{
	ck_assert(!whorl_dds_qget_ownership(NULL, NULL));
	ck_assert(!whorl_dds_qget_ownership(of, NULL));
}

static void try_qget_ownership_strength(void)
{
	ck_assert(!whorl_dds_qget_ownership_strength(NULL, NULL));
	ck_assert(!whorl_dds_qget_ownership_strength(of, NULL));
}

static void try_qget_liveliness(void)
{
	ck_assert(!whorl_dds_qget_liveliness(NULL, NULL, NULL));
	ck_assert(!whorl_dds_qget_liveliness(of, NULL, NULL));
}

static void try_qget_time_based_filter(void)
{
	ck_assert(!whorl_dds_qget_time_based_filter(NULL, NULL));
	ck_assert(!whorl_dds_qget_time_based_filter(of, NULL));
}

static void try_qget_reliability(void)
{
	ck_assert(!whorl_dds_qget_reliability(NULL, NULL, NULL));
	ck_assert(!whorl_dds_qget_reliability(of, NULL, NULL));
}

static void try_qget_transport_priority(void)
{
	ck_assert(!whorl_dds_qget_transport_priority(NULL, NULL));
	ck_assert(!whorl_dds_qget_transport_priority(of, NULL));
}

static void try_qget_destination_order(void)
{
	ck_assert(!whorl_dds_qget_destination_order(NULL, NULL));
	ck_assert(!whorl_dds_qget_destination_order(of, NULL));
}

static void try_qget_writer_data_lifecycle(void)
{
	ck_assert(!whorl_dds_qget_writer_data_lifecycle(NULL, NULL));
	ck_assert(!whorl_dds_qget_writer_data_lifecycle(of, NULL));
}

static void try_qget_reader_data_lifecycle(void)
{
	ck_assert(!whorl_dds_qget_reader_data_lifecycle(NULL, NULL, NULL));
	ck_assert(!whorl_dds_qget_reader_data_lifecycle(of, NULL, NULL));
}

static void try_qget_durability_service(void)
{
	ck_assert(!whorl_dds_qget_durability_service(NULL, NULL, NULL, NULL, NULL, NULL, NULL));
	ck_assert(!whorl_dds_qget_durability_service(of, NULL, NULL, NULL, NULL, NULL, NULL));
}

static void try_qget_entity_factory(void)
{
	ck_assert(!whorl_dds_qget_entity_factory(NULL, NULL));
	ck_assert(!whorl_dds_qget_entity_factory(of, NULL));
}

static void try_qget_consistency(void)
{
	ck_assert(!whorl_dds_qget_consistency(NULL, NULL));
	ck_assert(!whorl_dds_qget_consistency(of, NULL));
}

static void try_qget_ignore_local(void)
{
	ck_assert(!whorl_dds_qget_ignore_local(NULL, NULL));
	ck_assert(!whorl_dds_qget_ignore_local(of, NULL));
}

static void try_qget_userdata(void)
{
	ck_assert(!whorl_dds_qget_userdata(NULL, NULL, NULL));
	ck_assert(!whorl_dds_qget_userdata(of, NULL, NULL));
}

static void try_qget_topicdata(void)
{
	ck_assert(!whorl_dds_qget_topicdata(NULL, NULL, NULL));
	ck_assert(!whorl_dds_qget_topicdata(of, NULL, NULL));
}

static void try_qget_groupdata(void)
{
	ck_assert(!whorl_dds_qget_groupdata(NULL, NULL, NULL));
	ck_assert(!whorl_dds_qget_groupdata(of, NULL, NULL));
}

static void try_qget_partition(void)
{
	ck_assert_ptr_null(whorl_dds_qget_partition(NULL, 0));
	ck_assert_ptr_null(whorl_dds_qget_partition(of, 99));
}

static void try_get_status_changes(void)
{
	entity(PARTICIPANT | TOPIC | PUBLISHER | SUBSCRIBER | WRITER | READER, whorl_dds_get_status_changes(it));
}

static void try_read_status(void)
{
	entity(PARTICIPANT | TOPIC | PUBLISHER | SUBSCRIBER | WRITER | READER,
	       whorl_dds_read_status(it, WHORL_DDS_SAMPLE_LOST_STATUS, &status, sizeof(status)));
	answers(BAD_PARAMETER, whorl_dds_read_status(at(READER), WHORL_DDS_SAMPLE_LOST_STATUS, NULL, 8));
	answers(BAD_PARAMETER, whorl_dds_read_status(at(READER), 0, &status, sizeof(status)));
	answers(BAD_PARAMETER, whorl_dds_read_status(at(READER), 3, &status, sizeof(status)));
	answers(BAD_PARAMETER,
		whorl_dds_read_status(at(READER), WHORL_DDS_DATA_AVAILABLE_STATUS, &status, sizeof(status)));
	answers(BAD_PARAMETER,
		whorl_dds_read_status(at(READER), WHORL_DDS_LIVELINESS_LOST_STATUS, &status, sizeof(status)));
}

static void try_take_status(void)
{
	entity(PARTICIPANT | TOPIC | PUBLISHER | SUBSCRIBER | WRITER | READER,
	       whorl_dds_take_status(it, WHORL_DDS_SAMPLE_LOST_STATUS, &status, sizeof(status)));
	answers(BAD_PARAMETER, whorl_dds_take_status(at(READER), WHORL_DDS_SAMPLE_LOST_STATUS, NULL, 8));
	answers(BAD_PARAMETER, whorl_dds_take_status(at(READER), 0, &status, sizeof(status)));
	answers(BAD_PARAMETER, whorl_dds_take_status(at(READER), 3, &status, sizeof(status)));
	answers(BAD_PARAMETER,
		whorl_dds_take_status(at(READER), WHORL_DDS_DATA_AVAILABLE_STATUS, &status, sizeof(status)));
	answers(BAD_PARAMETER,
		whorl_dds_take_status(at(READER), WHORL_DDS_LIVELINESS_LOST_STATUS, &status, sizeof(status)));
}

static void try_set_status_mask(void)
{
	entity(PARTICIPANT | TOPIC | PUBLISHER | SUBSCRIBER | WRITER | READER, whorl_dds_set_status_mask(it, 0));
	answers(BAD_PARAMETER, whorl_dds_set_status_mask(at(WRITER), WHORL_DDS_SAMPLE_LOST_STATUS));
	answers(BAD_PARAMETER, whorl_dds_set_status_mask(at(WRITER), 1U << 31));
}

static void try_get_status_mask(void)
{
	entity(PARTICIPANT | TOPIC | PUBLISHER | SUBSCRIBER | WRITER | READER, whorl_dds_get_status_mask(it, &mask));
	answers(BAD_PARAMETER, whorl_dds_get_status_mask(at(READER), NULL));
}

static void try_delete_listener(void)
{
	whorl_dds_delete_listener(NULL);
}

static void try_reset_listener(void)
{
	answers(BAD_PARAMETER, whorl_dds_reset_listener(NULL));
}

static void try_copy_listener(void)
{
	answers(BAD_PARAMETER, whorl_dds_copy_listener(NULL, listener));
	answers(BAD_PARAMETER, whorl_dds_copy_listener(listener, NULL));
}

static void try_merge_listener(void)
{
	answers(BAD_PARAMETER, whorl_dds_merge_listener(NULL, listener));
	answers(BAD_PARAMETER, whorl_dds_merge_listener(listener, NULL));
}

static void try_lset_inconsistent_topic(void)
{
	answers(BAD_PARAMETER, whorl_dds_lset_inconsistent_topic(NULL, NULL));
	well(whorl_dds_lset_inconsistent_topic(listener, NULL));
}

static void try_lset_offered_deadline_missed(void)
{
	answers(BAD_PARAMETER, whorl_dds_lset_offered_deadline_missed(NULL, NULL));
	well(whorl_dds_lset_offered_deadline_missed(listener, NULL));
}

static void try_lset_requested_deadline_missed(void)
{
	answers(BAD_PARAMETER, whorl_dds_lset_requested_deadline_missed(NULL, NULL));
	well(whorl_dds_lset_requested_deadline_missed(listener, NULL));
}

static void try_lset_offered_incompatible_qos(void)
{
	answers(BAD_PARAMETER, whorl_dds_lset_offered_incompatible_qos(NULL, NULL));
	well(whorl_dds_lset_offered_incompatible_qos(listener, NULL));
}

static void try_lset_requested_incompatible_qos(void)
{
	answers(BAD_PARAMETER, whorl_dds_lset_requested_incompatible_qos(NULL, NULL));
	well(whorl_dds_lset_requested_incompatible_qos(listener, NULL));
}

static void try_lset_sample_lost(void)
{
	answers(BAD_PARAMETER, whorl_dds_lset_sample_lost(NULL, NULL));
	well(whorl_dds_lset_sample_lost(listener, NULL));
}

static void try_lset_sample_rejected(void)
{
	answers(BAD_PARAMETER, whorl_dds_lset_sample_rejected(NULL, NULL));
	well(whorl_dds_lset_sample_rejected(listener, NULL));
}

static void try_lset_data_on_readers(void)
{
	answers(BAD_PARAMETER, whorl_dds_lset_data_on_readers(NULL, NULL));
	well(whorl_dds_lset_data_on_readers(listener, NULL));
}

static void try_lset_data_available(void)
{
	answers(BAD_PARAMETER, whorl_dds_lset_data_available(NULL, NULL));
	well(whorl_dds_lset_data_available(listener, NULL));
}

static void try_lset_liveliness_lost(void)
{
	answers(BAD_PARAMETER, whorl_dds_lset_liveliness_lost(NULL, NULL));
	well(whorl_dds_lset_liveliness_lost(listener, NULL));
}

static void try_lset_liveliness_changed(void)
{
	answers(BAD_PARAMETER, whorl_dds_lset_liveliness_changed(NULL, NULL));
	well(whorl_dds_lset_liveliness_changed(listener, NULL));
}

static void try_lset_publication_matched(void)
{
	answers(BAD_PARAMETER, whorl_dds_lset_publication_matched(NULL, NULL));
	well(whorl_dds_lset_publication_matched(listener, NULL));
}

static void try_lset_subscription_matched(void)
{
	answers(BAD_PARAMETER, whorl_dds_lset_subscription_matched(NULL, NULL));
	well(whorl_dds_lset_subscription_matched(listener, NULL));
}

static void try_lset_in_place(void)
{
	answers(BAD_PARAMETER, whorl_dds_lset_in_place(NULL, NULL));
	well(whorl_dds_lset_in_place(listener, NULL));
}

static void try_set_listener(void)
{
	entity(PARTICIPANT | TOPIC | PUBLISHER | SUBSCRIBER | WRITER | READER, whorl_dds_set_listener(it, NULL));
	well(whorl_dds_set_listener(at(READER), NULL));
}

static void try_get_listener(void)
{
	entity(PARTICIPANT | TOPIC | PUBLISHER | SUBSCRIBER | WRITER | READER, whorl_dds_get_listener(it, listener));
	answers(BAD_PARAMETER, whorl_dds_get_listener(at(READER), NULL));
}

static void try_create_participant(void)
{
	answers(BAD_PARAMETER, whorl_dds_create_participant(65536, NULL, NULL));
}

static void try_create_participant_with(void)
{
	answers(BAD_PARAMETER, whorl_dds_create_participant_with(65536, NULL, NULL, NULL));
	answers(BAD_PARAMETER,
		whorl_dds_create_participant_with(0, &(struct whorl_dds_participant_options){.size = 0}, NULL, NULL));
	answers(BAD_PARAMETER, whorl_dds_create_participant_with(
				       0,
				       &(struct whorl_dds_participant_options){
					       .size = sizeof(struct whorl_dds_participant_options), .ready = -1},
				       NULL, NULL));
	answers(BAD_PARAMETER,
		whorl_dds_create_participant_with(
			0,
			&(struct whorl_dds_participant_options){.size = sizeof(struct whorl_dds_participant_options),
								.file = "/none/such"},
			NULL, NULL));
}

static void try_create_topic(void)
{
	entity(PARTICIPANT, whorl_dds_create_topic(it, &pose_type, "other", NULL, NULL));
	answers(BAD_PARAMETER, whorl_dds_create_topic(at(PARTICIPANT), NULL, "other", NULL, NULL));
	answers(BAD_PARAMETER, whorl_dds_create_topic(at(PARTICIPANT), &pose_type, NULL, NULL, NULL));
	answers(BAD_PARAMETER, whorl_dds_create_topic(at(PARTICIPANT), &pose_type, "", NULL, NULL));
	answers(BAD_PARAMETER, whorl_dds_create_topic(at(PARTICIPANT), &pose_type, "a*", NULL, NULL));
	answers(BAD_PARAMETER,
		whorl_dds_create_topic(at(PARTICIPANT), &(struct whorl_dds_type){.size = 0}, "other", NULL, NULL));
}

static void try_find_topic(void)
{
	entity(PARTICIPANT, whorl_dds_find_topic(it, "poses", 0));
	answers(BAD_PARAMETER, whorl_dds_find_topic(at(PARTICIPANT), NULL, 0));
	answers(BAD_PARAMETER, whorl_dds_find_topic(at(PARTICIPANT), "poses", -1));
	answers(BAD_PARAMETER, whorl_dds_find_topic(at(PARTICIPANT), "a b", 0));
}

static void try_create_publisher(void)
{
	entity(PARTICIPANT, whorl_dds_create_publisher(it, NULL, NULL));
}

static void try_create_subscriber(void)
{
	entity(PARTICIPANT, whorl_dds_create_subscriber(it, NULL, NULL));
}

static void try_create_writer(void)
{
	entity(PARTICIPANT | PUBLISHER, whorl_dds_create_writer(it, at(TOPIC), NULL, NULL));
	entity(TOPIC, whorl_dds_create_writer(at(PUBLISHER), it, NULL, NULL));
}

static void try_create_reader(void)
{
	entity(PARTICIPANT | SUBSCRIBER, whorl_dds_create_reader(it, at(TOPIC), NULL, NULL));
	entity(TOPIC, whorl_dds_create_reader(at(SUBSCRIBER), it, NULL, NULL));
}

static void try_set_topic_filter(void)
{
	entity(TOPIC, whorl_dds_set_topic_filter(it, NULL, NULL, NULL));
	well(whorl_dds_set_topic_filter(at(TOPIC), NULL, NULL, NULL));
}

static void try_delete(void)
{
	entity(ANY, whorl_dds_delete(it));
}

static void try_enable(void)
{
	entity(PARTICIPANT | TOPIC | PUBLISHER | SUBSCRIBER | WRITER | READER, whorl_dds_enable(it));
	well(whorl_dds_enable(at(READER)));
}

static void try_get_parent(void)
{
	entity(ANY, whorl_dds_get_parent(it));
	ck_assert_int_eq(whorl_dds_get_parent(at(PARTICIPANT)), 0);
}

static void try_get_participant(void)
{
	entity(ANY, whorl_dds_get_participant(it));
}

static void try_get_topic(void)
{
	entity(WRITER | READER | READ_CONDITION | QUERY_CONDITION, whorl_dds_get_topic(it));
}

static void try_get_datareader(void)
{
	entity(READ_CONDITION | QUERY_CONDITION, whorl_dds_get_datareader(it));
}

static void try_get_children(void)
{
	entity(ANY, whorl_dds_get_children(it, handles, 2));
	answers(BAD_PARAMETER, whorl_dds_get_children(at(READER), NULL, 1));
	ck_assert_int_eq(whorl_dds_get_children(at(READER), NULL, 0), 2);
}

static void try_lookup_participant(void)
{
	answers(BAD_PARAMETER, whorl_dds_lookup_participant(domain(), NULL, 1));
	ck_assert_int_eq(whorl_dds_lookup_participant(domain(), NULL, 0), 1);
	ck_assert_int_eq(whorl_dds_lookup_participant(99999, handles, 2), 0);
}

static void try_get_domainid(void)
{
	entity(ANY, whorl_dds_get_domainid(it, &mask));
	answers(BAD_PARAMETER, whorl_dds_get_domainid(at(READER), NULL));
}

static void try_get_name(void)
{
	entity(TOPIC, whorl_dds_get_name(it, text, sizeof(text)));
	answers(BAD_PARAMETER, whorl_dds_get_name(at(TOPIC), NULL, 1));
	ck_assert_int_gt(whorl_dds_get_name(at(TOPIC), NULL, 0), 0);
}

static void try_get_type_name(void)
{
	entity(TOPIC, whorl_dds_get_type_name(it, text, sizeof(text)));
	answers(BAD_PARAMETER, whorl_dds_get_type_name(at(TOPIC), NULL, 1));
	ck_assert_int_gt(whorl_dds_get_type_name(at(TOPIC), NULL, 0), 0);
}

static void try_get_instance_handle(void)
{
	entity(PARTICIPANT | WRITER | READER, whorl_dds_get_instance_handle(it, &handle));
	answers(BAD_PARAMETER, whorl_dds_get_instance_handle(at(READER), NULL));
}

static void try_get_qos(void)
{
	entity(PARTICIPANT | TOPIC | PUBLISHER | SUBSCRIBER | WRITER | READER, whorl_dds_get_qos(it, of));
	answers(BAD_PARAMETER, whorl_dds_get_qos(at(READER), NULL));
}

static void try_set_qos(void)
{
	entity(PARTICIPANT | TOPIC | PUBLISHER | SUBSCRIBER | WRITER | READER, whorl_dds_set_qos(it, of));
	answers(BAD_PARAMETER, whorl_dds_set_qos(at(READER), NULL));
}

static void try_spin_once(void)
{
	entity(PARTICIPANT, whorl_dds_spin_once(it, 0));
	answers(BAD_PARAMETER, whorl_dds_spin_once(at(PARTICIPANT), -1));
	answers(ILLEGAL_OPERATION, whorl_dds_spin_once(at(PARTICIPANT), 0));
}

static void try_write(void)
{
	entity(WRITER, whorl_dds_write(it, &pose));
	answers(BAD_PARAMETER, whorl_dds_write(at(WRITER), NULL));
}

static void try_writedispose(void)
{
	entity(WRITER, whorl_dds_writedispose(it, &pose));
	answers(BAD_PARAMETER, whorl_dds_writedispose(at(WRITER), NULL));
}

static void try_dispose(void)
{
	entity(WRITER, whorl_dds_dispose(it, &pose));
	answers(BAD_PARAMETER, whorl_dds_dispose(at(WRITER), NULL));
}

static void try_unregister_instance(void)
{
	entity(WRITER, whorl_dds_unregister_instance(it, &pose));
	answers(BAD_PARAMETER, whorl_dds_unregister_instance(at(WRITER), NULL));
}

static void try_write_ts(void)
{
	entity(WRITER, whorl_dds_write_ts(it, &pose, 1));
	answers(BAD_PARAMETER, whorl_dds_write_ts(at(WRITER), NULL, 1));
	answers(BAD_PARAMETER, whorl_dds_write_ts(at(WRITER), &pose, -1));
}

static void try_write_bytes(void)
{
	entity(WRITER, whorl_dds_write_bytes(it, &pose, 4));
	answers(BAD_PARAMETER, whorl_dds_write_bytes(at(WRITER), NULL, 4));
}

static void try_register_instance(void)
{
	entity(WRITER, whorl_dds_register_instance(it, &handle, &pose));
	answers(BAD_PARAMETER, whorl_dds_register_instance(at(WRITER), NULL, &pose));
	answers(BAD_PARAMETER, whorl_dds_register_instance(at(WRITER), &handle, NULL));
}

static void try_write_with(void)
{
	entity(WRITER, whorl_dds_write_with(it, &pose, NULL));
	answers(BAD_PARAMETER, whorl_dds_write_with(at(WRITER), NULL, NULL));
	answers(BAD_PARAMETER, whorl_dds_write_with(at(WRITER), &pose, &(struct whorl_dds_write_options){.size = 0}));
	answers(BAD_PARAMETER,
		whorl_dds_write_with(at(WRITER), &pose,
				     &(struct whorl_dds_write_options){.size = sizeof(struct whorl_dds_write_options),
								       .kind = (enum whorl_dds_write_kind)99}));
	answers(BAD_PARAMETER,
		whorl_dds_write_with(at(WRITER), NULL,
				     &(struct whorl_dds_write_options){.size = sizeof(struct whorl_dds_write_options),
								       .kind = WHORL_DDS_DISPOSE,
								       .instance = 99}));
	answers(PRECONDITION_NOT_MET,
		whorl_dds_write_with(at(WRITER), &pose,
				     &(struct whorl_dds_write_options){.size = sizeof(struct whorl_dds_write_options),
								       .instance = 99}));
}

static void try_request_loan(void)
{
	entity(WRITER, whorl_dds_request_loan(it, 0, data));
	answers(BAD_PARAMETER, whorl_dds_request_loan(at(WRITER), 0, NULL));
	answers(BAD_PARAMETER, whorl_dds_request_loan(at(WRITER), 1, data));
}

static void try_lookup_instance(void)
{
	entity_gives(0, WRITER | READER, whorl_dds_lookup_instance(it, &pose));
	gives(0, whorl_dds_lookup_instance(at(WRITER), NULL));
	ck_assert_uint_eq(whorl_dds_lookup_instance(at(READER), &pose), 0);
}

static void try_instance_get_key(void)
{
	entity(WRITER | READER, whorl_dds_instance_get_key(it, 99, &pose));
	answers(BAD_PARAMETER, whorl_dds_instance_get_key(at(WRITER), 99, NULL));
	answers(BAD_PARAMETER, whorl_dds_instance_get_key(at(WRITER), 99, &pose));
	answers(BAD_PARAMETER, whorl_dds_instance_get_key(at(READER), 0, &pose));
}

static void try_wait_for_acks(void)
{
	entity(WRITER | PUBLISHER, whorl_dds_wait_for_acks(it, 0));
	answers(BAD_PARAMETER, whorl_dds_wait_for_acks(at(WRITER), -1));
}

static void try_begin_coherent(void)
{
	entity(WRITER | PUBLISHER, whorl_dds_begin_coherent(it));
	answers(PRECONDITION_NOT_MET, whorl_dds_begin_coherent(at(WRITER)));
}

static void try_end_coherent(void)
{
	entity(WRITER | PUBLISHER, whorl_dds_end_coherent(it));
	answers(PRECONDITION_NOT_MET, whorl_dds_end_coherent(at(WRITER)));
}

static void try_assert_liveliness(void)
{
	entity(PARTICIPANT | WRITER, whorl_dds_assert_liveliness(it));
}

static void try_read(void)
{
	entity(READER | READ_CONDITION | QUERY_CONDITION, whorl_dds_read(it, data, &info, 1));
	answers(BAD_PARAMETER, whorl_dds_read(at(READER), NULL, &info, 1));
	answers(BAD_PARAMETER, whorl_dds_read(at(READER), data, NULL, 1));
	answers(BAD_PARAMETER, whorl_dds_read(at(READER), data, &info, 0));
	answers(BAD_PARAMETER, whorl_dds_read(at(READER), data, &info, SIZE_MAX));
	answers(BAD_PARAMETER, whorl_dds_read(at(READER), data, &(struct whorl_dds_sample_info){.size = 0}, 1));
}

static void try_read_select(void)
{
	entity(READER | READ_CONDITION | QUERY_CONDITION, whorl_dds_read_select(it, NULL, data, &info, 1));
	answers(BAD_PARAMETER,
		whorl_dds_read_select(at(READER), &(struct whorl_dds_select){.size = 0}, data, &info, 1));
	answers(BAD_PARAMETER, whorl_dds_read_select(at(READER), NULL, NULL, &info, 1));
	answers(BAD_PARAMETER, whorl_dds_read_select(at(READER), NULL, data, NULL, 1));
	answers(BAD_PARAMETER,
		whorl_dds_read_select(
			at(READER), &(struct whorl_dds_select){.size = sizeof(struct whorl_dds_select), .instance = 99},
			data, &info, 1));
}

static void try_take(void)
{
	entity(READER | READ_CONDITION | QUERY_CONDITION, whorl_dds_take(it, data, &info, 1));
	answers(BAD_PARAMETER, whorl_dds_take(at(READER), NULL, &info, 1));
	answers(BAD_PARAMETER, whorl_dds_take(at(READER), data, NULL, 1));
	answers(BAD_PARAMETER, whorl_dds_take(at(READER), data, &info, 0));
	answers(BAD_PARAMETER, whorl_dds_take(at(READER), data, &info, SIZE_MAX));
	answers(BAD_PARAMETER, whorl_dds_take(at(READER), data, &(struct whorl_dds_sample_info){.size = 0}, 1));
}

static void try_take_select(void)
{
	entity(READER | READ_CONDITION | QUERY_CONDITION, whorl_dds_take_select(it, NULL, data, &info, 1));
	answers(BAD_PARAMETER,
		whorl_dds_take_select(at(READER), &(struct whorl_dds_select){.size = 0}, data, &info, 1));
	answers(BAD_PARAMETER, whorl_dds_take_select(at(READER), NULL, NULL, &info, 1));
	answers(BAD_PARAMETER, whorl_dds_take_select(at(READER), NULL, data, NULL, 1));
	answers(BAD_PARAMETER,
		whorl_dds_take_select(
			at(READER), &(struct whorl_dds_select){.size = sizeof(struct whorl_dds_select), .instance = 99},
			data, &info, 1));
}

static void try_return_loan(void)
{
	entity(READER | READ_CONDITION | QUERY_CONDITION | WRITER, whorl_dds_return_loan(it, data, 1));
	answers(BAD_PARAMETER, whorl_dds_return_loan(at(READER), NULL, 1));
	answers(BAD_PARAMETER, whorl_dds_return_loan(at(READER), data, -1));
	answers(PRECONDITION_NOT_MET, whorl_dds_return_loan(at(READER), (void *[]){&pose}, 1));
	answers(PRECONDITION_NOT_MET, whorl_dds_return_loan(at(WRITER), (void *[]){NULL}, 1));
	well(whorl_dds_return_loan(at(READER), NULL, 0));
}

static void try_wait_for_historical_data(void)
{
	entity(READER, whorl_dds_wait_for_historical_data(it, 0));
	answers(BAD_PARAMETER, whorl_dds_wait_for_historical_data(at(READER), -1));
}

static void try_create_readcondition(void)
{
	entity(READER, whorl_dds_create_readcondition(it, 0));
	answers(BAD_PARAMETER, whorl_dds_create_readcondition(at(READER), 128));
}

static void try_create_querycondition(void)
{
	entity(READER, whorl_dds_create_querycondition(it, 0, wants, NULL, NULL));
	answers(BAD_PARAMETER, whorl_dds_create_querycondition(at(READER), 128, wants, NULL, NULL));
	answers(BAD_PARAMETER, whorl_dds_create_querycondition(at(READER), 0, NULL, NULL, NULL));
}

static void try_get_mask(void)
{
	entity(READ_CONDITION | QUERY_CONDITION, whorl_dds_get_mask(it, &mask));
	answers(BAD_PARAMETER, whorl_dds_get_mask(at(READ_CONDITION), NULL));
}

static void try_create_guardcondition(void)
{
	entity(ANY, whorl_dds_create_guardcondition(it));
}

static void try_set_guardcondition(void)
{
	entity(GUARD_CONDITION, whorl_dds_set_guardcondition(it, true));
}

static void try_read_guardcondition(void)
{
	entity(GUARD_CONDITION, whorl_dds_read_guardcondition(it, &flag));
	answers(BAD_PARAMETER, whorl_dds_read_guardcondition(at(GUARD_CONDITION), NULL));
}

static void try_take_guardcondition(void)
{
	entity(GUARD_CONDITION, whorl_dds_take_guardcondition(it, &flag));
	answers(BAD_PARAMETER, whorl_dds_take_guardcondition(at(GUARD_CONDITION), NULL));
}

static void try_triggered(void)
{
	entity(ANY, whorl_dds_triggered(it));
}

static void try_create_waitset(void)
{
	entity(PARTICIPANT, whorl_dds_create_waitset(it));
}

static void try_waitset_attach(void)
{
	entity(WAITSET, whorl_dds_waitset_attach(it, at(READER), 1));
	entity(ANY, whorl_dds_waitset_attach(at(WAITSET), it, 1));
}

static void try_waitset_detach(void)
{
	entity(WAITSET, whorl_dds_waitset_detach(it, at(READER)));
	entity(ANY, whorl_dds_waitset_detach(at(WAITSET), it));
	answers(PRECONDITION_NOT_MET, whorl_dds_waitset_detach(at(WAITSET), at(READER)));
}

static void try_waitset_get_entities(void)
{
	entity(WAITSET, whorl_dds_waitset_get_entities(it, handles, 2));
	answers(BAD_PARAMETER, whorl_dds_waitset_get_entities(at(WAITSET), NULL, 1));
	ck_assert_int_eq(whorl_dds_waitset_get_entities(at(WAITSET), NULL, 0), 0);
}

static void try_waitset_set_trigger(void)
{
	entity(WAITSET, whorl_dds_waitset_set_trigger(it, false));
}

static void try_waitset_wait(void)
{
	entity(WAITSET, whorl_dds_waitset_wait(it, NULL, 0, 0));
	answers(BAD_PARAMETER, whorl_dds_waitset_wait(at(WAITSET), NULL, 1, 0));
	answers(BAD_PARAMETER, whorl_dds_waitset_wait(at(WAITSET), NULL, 0, -1));
	ck_assert_int_eq(whorl_dds_waitset_wait(at(WAITSET), NULL, 0, 0), 0);
}

static void try_waitset_wait_until(void)
{
	entity(WAITSET, whorl_dds_waitset_wait_until(it, NULL, 0, 0));
	answers(BAD_PARAMETER, whorl_dds_waitset_wait_until(at(WAITSET), NULL, 1, 0));
	answers(BAD_PARAMETER, whorl_dds_waitset_wait_until(at(WAITSET), NULL, 0, -1));
}

static void try_waitset_descriptor(void)
{
	entity(WAITSET, whorl_dds_waitset_descriptor(it));
}

static void try_get_matched_subscriptions(void)
{
	entity(WRITER, whorl_dds_get_matched_subscriptions(it, &handle, 1));
	answers(BAD_PARAMETER, whorl_dds_get_matched_subscriptions(at(WRITER), NULL, 1));
	ck_assert_int_eq(whorl_dds_get_matched_subscriptions(at(WRITER), NULL, 0), 1);
}

static void try_get_matched_publications(void)
{
	entity(READER, whorl_dds_get_matched_publications(it, &handle, 1));
	answers(BAD_PARAMETER, whorl_dds_get_matched_publications(at(READER), NULL, 1));
	ck_assert_int_eq(whorl_dds_get_matched_publications(at(READER), NULL, 0), 1);
}

static void try_get_matched_endpoint(void)
{
	entity_gives(NULL, WRITER | READER, whorl_dds_get_matched_endpoint(it, 99));
	gives(NULL, whorl_dds_get_matched_endpoint(at(WRITER), 0));
}

static void try_builtin_endpoint_free(void)
{
	whorl_dds_builtin_endpoint_free(NULL);
}

static void try_get_type(void)
{
	entity_gives(NULL, TOPIC, whorl_dds_get_type(it));
}

static void try_type_parse(void)
{
	gives(NULL, whorl_dds_type_parse(NULL, "long x"));
	gives(NULL, whorl_dds_type_parse("x", NULL));
	gives(NULL, whorl_dds_type_parse("x", "lung x"));
}

static void try_type_free(void)
{
	whorl_dds_type_free(NULL);
}

static void try_sample_to_json(void)
{
	answers(BAD_PARAMETER, whorl_dds_sample_to_json(NULL, &pose, sizeof(pose), text, sizeof(text)));
	answers(BAD_PARAMETER, whorl_dds_sample_to_json(&pose_type, NULL, sizeof(pose), text, sizeof(text)));
	answers(BAD_PARAMETER, whorl_dds_sample_to_json(&pose_type, &pose, sizeof(pose), NULL, 1));
	answers(BAD_PARAMETER, whorl_dds_sample_to_json(&pose_type, &pose, 1, text, sizeof(text)));
	answers(BAD_PARAMETER,
		whorl_dds_sample_to_json(&(struct whorl_dds_type){.size = 0}, &pose, 1, text, sizeof(text)));
}

static void try_sample_from_json(void)
{
	answers(BAD_PARAMETER, whorl_dds_sample_from_json(NULL, "{}", &pose, sizeof(pose)));
	answers(BAD_PARAMETER, whorl_dds_sample_from_json(&pose_type, NULL, &pose, sizeof(pose)));
	answers(BAD_PARAMETER, whorl_dds_sample_from_json(&pose_type, "{}", NULL, sizeof(pose)));
	answers(BAD_PARAMETER, whorl_dds_sample_from_json(&pose_type, "{}", &pose, 1));
	answers(BAD_PARAMETER, whorl_dds_sample_from_json(&pose_type, "{", &pose, sizeof(pose)));
}

#define TRY(name)                                                                                                      \
	{                                                                                                              \
		"whorl_dds_" #name, try_##name                                                                         \
	}
static const struct {
	const char *name;
	void (*try)(void);
} functions[] = {
	TRY(assert_liveliness),
	TRY(begin_coherent),
	TRY(builtin_endpoint_free),
	TRY(bytes_type),
	TRY(copy_listener),
	TRY(copy_qos),
	TRY(create_guardcondition),
	{"whorl_dds_create_listener", nothing},
	TRY(create_participant),
	TRY(create_participant_with),
	TRY(create_publisher),
	{"whorl_dds_create_qos", nothing},
	TRY(create_querycondition),
	TRY(create_readcondition),
	TRY(create_reader),
	TRY(create_subscriber),
	TRY(create_topic),
	TRY(create_waitset),
	TRY(create_writer),
	TRY(delete),
	TRY(delete_listener),
	TRY(delete_qos),
	TRY(dispose),
	TRY(enable),
	TRY(end_coherent),
	TRY(find_topic),
	TRY(get_children),
	TRY(get_datareader),
	TRY(get_domainid),
	TRY(get_instance_handle),
	TRY(get_listener),
	TRY(get_mask),
	TRY(get_matched_endpoint),
	TRY(get_matched_publications),
	TRY(get_matched_subscriptions),
	TRY(get_name),
	TRY(get_parent),
	TRY(get_participant),
	TRY(get_qos),
	TRY(get_status_changes),
	TRY(get_status_mask),
	TRY(get_topic),
	TRY(get_type),
	TRY(get_type_name),
	TRY(instance_get_key),
	TRY(lookup_instance),
	TRY(lookup_participant),
	TRY(lset_data_available),
	TRY(lset_data_on_readers),
	TRY(lset_in_place),
	TRY(lset_inconsistent_topic),
	TRY(lset_liveliness_changed),
	TRY(lset_liveliness_lost),
	TRY(lset_offered_deadline_missed),
	TRY(lset_offered_incompatible_qos),
	TRY(lset_publication_matched),
	TRY(lset_requested_deadline_missed),
	TRY(lset_requested_incompatible_qos),
	TRY(lset_sample_lost),
	TRY(lset_sample_rejected),
	TRY(lset_subscription_matched),
	TRY(merge_listener),
	TRY(merge_qos),
	TRY(now),
	TRY(qget_consistency),
	TRY(qget_deadline),
	TRY(qget_destination_order),
	TRY(qget_durability),
	TRY(qget_durability_service),
	TRY(qget_entity_factory),
	TRY(qget_groupdata),
	TRY(qget_history),
	TRY(qget_ignore_local),
	TRY(qget_latency_budget),
	TRY(qget_lifespan),
	TRY(qget_liveliness),
	TRY(qget_ownership),
	TRY(qget_ownership_strength),
	TRY(qget_partition),
	TRY(qget_presentation),
	TRY(qget_reader_data_lifecycle),
	TRY(qget_reliability),
	TRY(qget_resource_limits),
	TRY(qget_time_based_filter),
	TRY(qget_topicdata),
	TRY(qget_transport_priority),
	TRY(qget_userdata),
	TRY(qget_writer_data_lifecycle),
	TRY(qos_equal),
	TRY(qos_parse),
	TRY(qos_text),
	TRY(qset_consistency),
	TRY(qset_deadline),
	TRY(qset_destination_order),
	TRY(qset_durability),
	TRY(qset_durability_service),
	TRY(qset_entity_factory),
	TRY(qset_groupdata),
	TRY(qset_history),
	TRY(qset_ignore_local),
	TRY(qset_latency_budget),
	TRY(qset_lifespan),
	TRY(qset_liveliness),
	TRY(qset_ownership),
	TRY(qset_ownership_strength),
	TRY(qset_partition),
	TRY(qset_presentation),
	TRY(qset_reader_data_lifecycle),
	TRY(qset_reliability),
	TRY(qset_resource_limits),
	TRY(qset_time_based_filter),
	TRY(qset_topicdata),
	TRY(qset_transport_priority),
	TRY(qset_userdata),
	TRY(qset_writer_data_lifecycle),
	TRY(read),
	TRY(read_guardcondition),
	TRY(read_select),
	TRY(read_status),
	TRY(refuse),
	TRY(register_instance),
	TRY(request_loan),
	TRY(reset_listener),
	TRY(reset_qos),
	TRY(return_loan),
	TRY(sample_from_json),
	TRY(sample_to_json),
	TRY(set_guardcondition),
	TRY(set_listener),
	TRY(set_qos),
	TRY(set_status_mask),
	TRY(set_topic_filter),
	TRY(spin_once),
	TRY(strretcode),
	TRY(take),
	TRY(take_guardcondition),
	TRY(take_select),
	TRY(take_status),
	TRY(text),
	TRY(triggered),
	TRY(type_free),
	TRY(type_parse),
	TRY(unregister_instance),
	TRY(wait_for_acks),
	TRY(wait_for_historical_data),
	TRY(waitset_attach),
	TRY(waitset_descriptor),
	TRY(waitset_detach),
	TRY(waitset_get_entities),
	TRY(waitset_set_trigger),
	TRY(waitset_wait),
	TRY(waitset_wait_until),
	TRY(write),
	TRY(write_bytes),
	TRY(write_ts),
	TRY(write_with),
	TRY(writedispose),
};
#undef TRY

#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

/* ---- the tests ------------------------------------------------------------------------------------------------------------- */

static void begin_world(void)
{
	whorl_dds_entity participant = made(whorl_dds_create_participant(domain(), NULL, NULL));
	whorl_dds_entity topic = made(whorl_dds_create_topic(participant, &pose_type, "poses", NULL, NULL));
	whorl_dds_entity publisher = made(whorl_dds_create_publisher(participant, NULL, NULL));
	whorl_dds_entity subscriber = made(whorl_dds_create_subscriber(participant, NULL, NULL));
	whorl_dds_entity reader = made(whorl_dds_create_reader(subscriber, topic, NULL, NULL));

	all[0] = participant;
	all[1] = topic;
	all[2] = publisher;
	all[3] = subscriber;
	all[4] = made(whorl_dds_create_writer(publisher, topic, NULL, NULL));
	all[5] = reader;
	all[6] = made(whorl_dds_create_readcondition(reader, 0));
	all[7] = made(whorl_dds_create_querycondition(reader, 0, wants, NULL, NULL));
	all[8] = made(whorl_dds_create_guardcondition(participant));
	all[9] = made(whorl_dds_create_waitset(participant));
	gone = made(whorl_dds_create_publisher(participant, NULL, NULL));
	well(whorl_dds_delete(gone));
	of = whorl_dds_create_qos();
	listener = whorl_dds_create_listener(NULL);
	ck_assert_ptr_nonnull(of);
	ck_assert_ptr_nonnull(listener);
}

START_TEST(what_is_not_there_is_refused)
{
	void *lent;

	begin_world();
	for (size_t i = 0; i < FUNCTIONS; i++) {
		name_of = functions[i].name;
		info.size = sizeof(info);
		data[0] = NULL;
		well(whorl_dds_reset_qos(of));
		functions[i].try();
	}
	well(whorl_dds_write(at(WRITER), &(struct pose){.id = 7})); /* and all goes on */
	take_lent(at(READER), &lent, &info);
	ck_assert_int_eq(((struct pose *)lent)->id, 7);
	whorl_dds_delete_listener(listener);
	whorl_dds_delete_qos(of);
	well(whorl_dds_delete(at(PARTICIPANT)));
}
END_TEST

static bool is_tried(const char *name, size_t length)
{
	for (size_t i = 0; i < FUNCTIONS; i++)
		if (strlen(functions[i].name) == length && strncmp(functions[i].name, name, length) == 0)
			return true;
	return false;
}

/* In the header a function has the mark of what is exported, a type, its name and a parenthesis. */
START_TEST(no_function_is_missing)
{
	static char header[1 << 18];
	FILE *file = fopen(WHORL_DDS_HEADER, "r");
	size_t names = 0;
	const char *name;

	ck_assert_ptr_nonnull(file);
	header[fread(header, 1, sizeof(header) - 1, file)] = '\0';
	fclose(file);
	for (char *line = header; (line = strstr(line, "\nWHORL_API ")) != NULL;) {
		const char *end = strchr(line, '(');

		ck_assert_ptr_nonnull(end);
		for (name = end; isalnum((unsigned char)name[-1]) || name[-1] == '_';)
			name--;
		ck_assert_msg(is_tried(name, (size_t)(end - name)), "%.*s is not tried with nonsense here",
			      (int)(end - name), name);
		names++;
		line++;
	}
	ck_assert_uint_eq(names, FUNCTIONS);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {what_is_not_there_is_refused, no_function_is_missing};

	return run_tests("dds_null", tests, sizeof(tests) / sizeof(tests[0]));
}
