/* test_dds_same.c - the policies that a topic says it has make the same topic.
 * Labels: threads
 */
#include <string.h>
#include <unistd.h>

#include <whorl/dds.h>

#include "tests/harness.h"

struct pose {
	int32_t id;
};

WHORL_DDS_TYPE(pose_type, struct pose, WHORL_DDS_KEY(struct pose, id));

static const char *const texts[] = {
	"",
	"durability=transient history=7 resource_limits.samples_per_instance=9",
	"durability=transient_local history=all",
	"consistency=stored history=3 durability_service.keep=5",
};

static const int32_t depths[] = {1, 7, 0, 5}; /* of what is kept; 0: all */

/* A second handle for each name, with what the first one says. */
TEST_LOOP(policies_that_are_read_make_the_same_topic, 0, 4)
{
	whorl_dds_entity participant = whorl_dds_create_participant((uint32_t)getpid() % 60000, NULL, NULL), topic;
	enum whorl_dds_consistency_kind consistency;
	enum whorl_dds_history_kind kind;
	whorl_dds_qos *qos = whorl_dds_create_qos();
	int32_t depth;

	ck_assert_msg(participant > 0, "%s", whorl_dds_text());
	ck_assert_int_eq(whorl_dds_qos_parse(qos, texts[_i]), 0);
	topic = whorl_dds_create_topic(participant, &pose_type, "poses", qos, NULL);
	ck_assert_msg(topic > 0, "%s", whorl_dds_text());
	ck_assert_int_eq(whorl_dds_get_qos(topic, qos), 0);
	ck_assert(whorl_dds_qget_consistency(qos, &consistency));
	ck_assert_int_eq(consistency, _i == 0 ? WHORL_DDS_CONSISTENCY_ATOMIC : WHORL_DDS_CONSISTENCY_STORED);
	ck_assert(whorl_dds_qget_durability_service(qos, NULL, &kind, &depth, NULL, NULL, NULL));
	ck_assert_int_eq(kind, _i == 2 ? WHORL_DDS_HISTORY_KEEP_ALL : WHORL_DDS_HISTORY_KEEP_LAST);
	if (_i != 2)
		ck_assert_int_eq(depth, depths[_i]);
	ck_assert_msg(whorl_dds_create_topic(participant, &pose_type, "poses", qos, NULL) > 0, "%s", whorl_dds_text());
	whorl_dds_delete_qos(qos);
	ck_assert_int_eq(whorl_dds_delete(participant), 0);
}

TEST_SUITE("dds same")
