/* test_dds_agree.c - a topic that is there already, and is asked for by less: what dds.h says of whorl_dds_create_topic.
 * Labels: threads
 */
#include <string.h>
#include <unistd.h>

#include <whorl/dds.h>

#include "tests/harness.h"

struct pose {
	int32_t id;
	char frame[8];
	double x;
};

WHORL_DDS_TYPE(described, struct pose, WHORL_DDS_KEY(struct pose, id), WHORL_DDS_KEY(struct pose, frame),
	       WHORL_DDS_FIELD(struct pose, x));

static whorl_dds_entity participant;

static void begin(void)
{
	participant = whorl_dds_create_participant((uint32_t)getpid() % 60000, NULL, NULL);
	ck_assert_msg(participant > 0, "%s", whorl_dds_text());
}

static void end(void)
{
	ck_assert_int_eq(whorl_dds_delete(participant), 0);
}

static whorl_dds_entity register_as(const struct whorl_dds_type *type, const char *policies)
{
	whorl_dds_qos *qos = whorl_dds_create_qos();
	whorl_dds_entity topic;

	ck_assert_int_eq(whorl_dds_qos_parse(qos, policies), 0);
	topic = whorl_dds_create_topic(participant, type, "poses", qos, NULL);
	whorl_dds_delete_qos(qos);
	return topic;
}

TEST_CASE("agree", .setup = begin, .teardown = end);

static const struct {
	const char *first, *then;
	bool agrees;
} policies[] = {
	{"consistency=stored history=5", "", true},
	{"consistency=stored history=5", "reliability=reliable", true},
	{"durability=transient_local history=all", "", true},
	{"consistency=stored history=5", "durability=volatile", false},
	{"consistency=stored history=5", "consistency=atomic", false},
	{"consistency=stored history=5", "consistency=stored history=6", false},
	{"consistency=stored history=5", "durability_service.keep=6", false},
	{"consistency=stored history=5", "durability_service.keep=5", true},
	{"", "consistency=stored", false},
	{"", "durability=transient_local", false},
	{"consistency=unordered", "", false},
};

TEST_LOOP(what_is_not_said_is_as_others_have_it, 0, 11)
{
	enum whorl_dds_consistency_kind consistency;
	whorl_dds_qos *qos = whorl_dds_create_qos();
	whorl_dds_entity first = register_as(&described, policies[_i].first), then;

	ck_assert_msg(first > 0, "%s", whorl_dds_text());
	then = register_as(&described, policies[_i].then);
	if (!policies[_i].agrees) {
		ck_assert_int_eq(then, WHORL_DDS_RETCODE_PRECONDITION_NOT_MET);
		ck_assert_msg(strstr(whorl_dds_text(), "topic poses: ") != NULL, "%s", whorl_dds_text());
	} else {
		ck_assert_msg(then > 0, "%s", whorl_dds_text());
		ck_assert_int_eq(whorl_dds_get_qos(then, qos), 0);
		ck_assert(whorl_dds_qget_consistency(qos, &consistency));
		ck_assert_int_eq(consistency, WHORL_DDS_CONSISTENCY_STORED);
	}
	whorl_dds_delete_qos(qos);
}

static const struct whorl_dds_key keys[] = {{offsetof(struct pose, id), 4}, {offsetof(struct pose, frame), 8}};

/* 0: all fields are described; of others the text of the key alone, as its end has to be known. */
static struct whorl_dds_type variant(int which)
{
	static struct whorl_dds_field fields[3];
	struct whorl_dds_type type = described;

	memcpy(fields, described_fields, sizeof(fields));
	type.fields = which < 8 && which > 0 ? &fields[1] : fields;
	type.field_count = which < 8 && which > 0 ? 1 : 3;
	type.keys = which < 8 && which > 0 ? keys : NULL;
	type.key_count = which < 8 && which > 0 ? 2 : 0;
	switch (which) {
	case 2:
		type.name = "struct pole";
		break;
	case 3:
		type.name = "";
		break;
	case 4:
		type.bytes += type.align;
		break;
	case 5:
		fields[1].count = 4;
		break;
	case 6:
		type.hash = 7;
		break;
	case 7: /* the end of the text is not known */
		type.field_count = 0;
		break;
	case 8:
		fields[2].kind = WHORL_DDS_FIELD_INT64;
		break;
	default:
		break;
	}
	return type;
}

/* Later than the type that is described, and before it: then a hash that is given is the hash of both. */
static const bool is_same[][2] = {{true, true},   {true, true},  {false, false}, {true, true},  {false, false},
				  {false, false}, {false, true}, {false, false}, {false, false}};

TEST_LOOP(fields_may_be_described_by_one, 0, 18)
{
	int which = _i / 2;
	struct whorl_dds_type type = variant(which);
	whorl_dds_entity first = register_as(_i % 2 == 0 ? &described : &type, ""),
			 then = register_as(_i % 2 == 0 ? &type : &described, "");

	ck_assert_msg(first > 0, "%s", whorl_dds_text());
	if (is_same[which][_i % 2])
		ck_assert_msg(then > 0, "%s", whorl_dds_text());
	else
		ck_assert_int_eq(then, WHORL_DDS_RETCODE_PRECONDITION_NOT_MET);
}

TEST_SUITE("dds agree")
