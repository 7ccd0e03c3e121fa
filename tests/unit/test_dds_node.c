/* test_dds_node.c - topics on a group: participants of one process, and of several, which come, write, and are killed.
 * Labels: threads
 *
 * Each test has a domain of its own; processes are forked before this one has a node.
 */
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <whorl/dds.h>

#include "tests/harness.h"
#include "tests/patience.h"

#define OK WHORL_DDS_RETCODE_OK
#define SECOND (INT64_C(1000000000))

struct pose {
	int32_t id;
	int32_t count;
	double x;
};

WHORL_DDS_TYPE(pose_type, struct pose, WHORL_DDS_KEY(struct pose, id), WHORL_DDS_FIELD(struct pose, count),
	       WHORL_DDS_FIELD(struct pose, x));

static uint32_t domain(void)
{
	return (uint32_t)getpid() % 60000;
}

static whorl_dds_duration patience(void)
{
	return (whorl_dds_duration)test_patience(20 * SECOND);
}

/* > 0, or why not. */
static whorl_dds_entity must_be_made(whorl_dds_entity entity, const char *what)
{
	if (entity <= 0)
		ck_abort_msg("%s: %d, %s", what, (int)entity, whorl_dds_text());
	return entity;
}
#define made(expression) must_be_made(expression, #expression)
#define well(expression)                                                                                               \
	do {                                                                                                           \
		whorl_dds_return well_ = (expression);                                                                 \
		if (well_ != OK)                                                                                       \
			ck_abort_msg("%s: %d, %s", #expression, (int)well_, whorl_dds_text());                         \
	} while (0)

static whorl_dds_qos *qos(const char *text)
{
	whorl_dds_qos *it = whorl_dds_create_qos();

	ck_assert_ptr_nonnull(it);
	well(whorl_dds_qos_parse(it, text));
	return it;
}

struct place {
	whorl_dds_entity participant, topic;
};

static struct place enter(uint32_t number, const char *name, const char *policies)
{
	whorl_dds_qos *of_topic = qos(policies);
	struct place place = {made(whorl_dds_create_participant(number, NULL, NULL)), 0};

	place.topic = made(whorl_dds_create_topic(place.participant, &pose_type, name, of_topic, NULL));
	whorl_dds_delete_qos(of_topic);
	return place;
}

static whorl_dds_entity new_writer(const struct place *place, const char *policies)
{
	whorl_dds_qos *of = qos(policies);
	whorl_dds_entity writer = made(whorl_dds_create_writer(place->participant, place->topic, of, NULL));

	whorl_dds_delete_qos(of);
	return writer;
}

static whorl_dds_entity new_reader(const struct place *place, const char *policies)
{
	whorl_dds_qos *of = qos(policies);
	whorl_dds_entity reader = made(whorl_dds_create_reader(place->participant, place->topic, of, NULL));

	whorl_dds_delete_qos(of);
	return reader;
}

/* Takes one, and waits for it. */
static struct pose take_one(whorl_dds_entity participant, whorl_dds_entity reader, struct whorl_dds_sample_info *info)
{
	whorl_dds_entity waitset = made(whorl_dds_create_waitset(participant));
	whorl_dds_entity condition = made(whorl_dds_create_readcondition(reader, WHORL_DDS_ANY_STATE));
	struct pose pose = {0};
	void *data[1] = {&pose};
	intptr_t cookie = 0;

	well(whorl_dds_waitset_attach(waitset, condition, 77));
	ck_assert_msg(whorl_dds_waitset_wait(waitset, &cookie, 1, patience()) == 1, "nothing came: %s",
		      whorl_dds_text());
	ck_assert_int_eq(cookie, 77);
	info->size = sizeof(*info);
	ck_assert_int_eq(whorl_dds_take(reader, data, info, 1), 1);
	well(whorl_dds_delete(condition));
	well(whorl_dds_delete(waitset));
	return pose;
}

START_TEST(hello_within_a_process)
{
	struct place place = enter(domain(), "poses", "");
	whorl_dds_entity reader = new_reader(&place, "reliability=reliable");
	whorl_dds_entity writer = new_writer(&place, "");
	struct whorl_dds_sample_info info;
	struct pose pose;

	well(whorl_dds_write(writer, &(struct pose){.id = 7, .count = 3, .x = 1.5}));
	pose = take_one(place.participant, reader, &info);
	ck_assert_int_eq(pose.id, 7);
	ck_assert_int_eq(pose.count, 3);
	ck_assert_double_eq(pose.x, 1.5);
	ck_assert(info.valid_data);
	ck_assert_uint_eq(info.instance_state, WHORL_DDS_ALIVE_INSTANCE_STATE);
	ck_assert_uint_eq(info.number, 1);
	ck_assert_uint_eq(info.instance_handle, whorl_dds_lookup_instance(writer, &pose));
	well(whorl_dds_wait_for_acks(writer, patience()));
	well(whorl_dds_delete(place.participant));
	ck_assert_int_eq(whorl_dds_write(writer, &pose), WHORL_DDS_RETCODE_ALREADY_DELETED);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("dds_node");
	TCase *c = tcase_create("node");

	tcase_add_test(c, hello_within_a_process);
	suite_add_tcase(s, c);
	return s;
}

int main(void)
{
	return test_main(suite());
}
