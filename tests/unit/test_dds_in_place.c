/* test_dds_in_place.c - listeners in place: on the loop, the sample where it lies, nothing kept, and nothing that waits.
 * Labels: threads
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "tests/support/dds_domain.h"

struct pose {
	int32_t id;
	int32_t count;
};

WHORL_DDS_TYPE(pose_type, struct pose, WHORL_DDS_KEY(struct pose, id), WHORL_DDS_FIELD(struct pose, count));

static struct world {
	struct place place;
	whorl_dds_entity reader, writer, echoes; /* `echoes`: what is written from within */
	whorl_dds_qos *of;
	atomic_int count, ends, wrong;
	atomic_llong sum;
	uint64_t view, sequence, number;
} world;

/* Counted, and looked at by the test: an upcall is no place to fail. */
static void expect(bool right)
{
	if (!right)
		atomic_fetch_add(&world.wrong, 1);
}

static void add_up(whorl_dds_entity reader, const void *data, const struct whorl_dds_sample_info *info, void *arg)
{
	const struct pose *pose = data;

	expect(reader == world.reader && arg == &world);
	if (!info->valid_data) {
		expect(pose->count == 0 && info->instance_state == WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE);
		atomic_fetch_add(&world.ends, 1);
		return;
	}
	expect(info->view > world.view || (info->view == world.view && info->sequence > world.sequence));
	expect(info->view_state == (pose->count <= 3 ? WHORL_DDS_NEW_VIEW_STATE : WHORL_DDS_NOT_NEW_VIEW_STATE));
	expect(info->bytes == sizeof(*pose) && info->number > world.number);
	expect((uintptr_t)data % _Alignof(struct pose) == 0);
	world.view = info->view;
	world.sequence = info->sequence;
	world.number = info->number;
	atomic_fetch_add(&world.sum, pose->count);
	atomic_fetch_add(&world.count, 1);
}

static void begin(whorl_dds_in_place_fn *function, const char *policies)
{
	whorl_dds_listener *listener = whorl_dds_create_listener(&world);
	whorl_dds_qos *of = qos(policies);

	ck_assert_ptr_nonnull(listener);
	world.place = place_of(&pose_type, "poses", "");
	world.writer = new_writer(&world.place, "reliability=reliable reliability.max_blocking=20s");
	well(whorl_dds_lset_in_place(listener, function));
	world.reader = made(whorl_dds_create_reader(world.place.participant, world.place.topic, of, listener));
	whorl_dds_delete_listener(listener);
	whorl_dds_delete_qos(of);
}

START_TEST(each_sample_once_in_its_order)
{
	struct whorl_dds_sample_info info = {.size = sizeof(info)};
	void *data = NULL;

	begin(add_up, RELIABLE_ALL);
	for (int i = 1; i <= 2000; i++)
		well(whorl_dds_write(world.writer, &(struct pose){.id = i % 3, .count = i}));
	until(atomic_load(&world.count) == 2000);
	ck_assert_int_eq(atomic_load(&world.sum), 2001000);
	well(whorl_dds_dispose(world.writer, &(struct pose){.id = 1, .count = 7}));
	until(atomic_load(&world.ends) == 1);
	refused(ILLEGAL_OPERATION, whorl_dds_take(world.reader, &data, &info, 1));
	refused(ILLEGAL_OPERATION, whorl_dds_create_readcondition(world.reader, 0));
	well(whorl_dds_delete(world.writer));
	until(atomic_load(&world.ends) == 3); /* of the two others: the first is over already */
	ck_assert_int_eq(whorl_dds_get_matched_publications(world.reader, NULL, 0), 0);
	ck_assert_int_eq(atomic_load(&world.ends), 3);
	ck_assert_int_eq(atomic_load(&world.wrong), 0);
	well(whorl_dds_delete(world.place.participant));
}
END_TEST

static bool is_even(const void *data, size_t bytes, void *arg)
{
	(void)bytes, (void)arg;
	return ((const struct pose *)data)->count % 2 == 0;
}

START_TEST(what_needs_a_cache_is_unsupported)
{
	whorl_dds_qos *of[2] = {qos("deadline=1s"), qos("time_based_filter=1s")};
	whorl_dds_listener *listener = whorl_dds_create_listener(&world);

	ck_assert_ptr_nonnull(listener);
	well(whorl_dds_lset_in_place(listener, add_up));
	world.place = place_of(&pose_type, "poses", "");
	world.reader = made(whorl_dds_create_reader(world.place.participant, world.place.topic, NULL, listener));
	for (int i = 0; i < 2; i++) {
		refused(UNSUPPORTED, whorl_dds_set_qos(world.reader, of[i]));
		refused(UNSUPPORTED,
			whorl_dds_create_reader(world.place.participant, world.place.topic, of[i], listener));
		whorl_dds_delete_qos(of[i]);
	}
	whorl_dds_delete_listener(listener);
	well(whorl_dds_delete(world.place.participant));
}
END_TEST

static void count_release(void *arg)
{
	(void)__atomic_add_fetch((int *)arg, 1, __ATOMIC_SEQ_CST);
}

/* Its argument is released once: when the last that asks the filter has gone, or at once, where none comes to be. */
START_TEST(an_argument_is_released_once)
{
	whorl_dds_listener *listener = whorl_dds_create_listener(&world);
	whorl_dds_entity query, kept;
	int released[4] = {0};

	ck_assert_ptr_nonnull(listener);
	world.place = place_of(&pose_type, "poses", "");
	well(whorl_dds_set_topic_filter(world.place.topic, is_even, &released[0], count_release));
	kept = made(whorl_dds_create_reader(world.place.participant, world.place.topic, NULL, NULL));
	well(whorl_dds_lset_in_place(listener, add_up));
	world.reader = made(whorl_dds_create_reader(world.place.participant, world.place.topic, NULL, listener));
	well(whorl_dds_set_topic_filter(world.place.topic, is_even, &released[1], count_release));
	well(whorl_dds_delete(kept));
	ck_assert_int_eq(released[0], 0); /* one of its readers is there */
	ck_assert_int_eq(whorl_dds_create_querycondition(world.reader, 0, is_even, &released[2], count_release),
			 WHORL_DDS_RETCODE_ILLEGAL_OPERATION); /* it is in place */
	ck_assert_int_eq(released[2], 1);
	well(whorl_dds_delete(world.reader));
	ck_assert_int_eq(released[0], 1);
	kept = made(whorl_dds_create_reader(world.place.participant, world.place.topic, NULL, NULL));
	query = made(whorl_dds_create_querycondition(kept, 0, is_even, &released[3], count_release));
	ck_assert_int_eq(released[3], 0);
	well(whorl_dds_delete(query));
	ck_assert_int_eq(released[3], 1);
	ck_assert_int_eq(released[1], 0);
	whorl_dds_delete_listener(listener);
	well(whorl_dds_delete(world.place.participant));
	for (size_t i = 0; i < 4; i++)
		ck_assert_int_eq(released[i], 1);
	ck_assert_int_eq(whorl_dds_set_topic_filter(world.place.topic, is_even, &released[0], count_release),
			 WHORL_DDS_RETCODE_ALREADY_DELETED);
	ck_assert_int_eq(released[0], 2);
}
END_TEST

START_TEST(a_filter_is_asked_before)
{
	whorl_dds_listener *listener = whorl_dds_create_listener(&world);

	ck_assert_ptr_nonnull(listener);
	world.place = place_of(&pose_type, "poses", "");
	world.writer = new_writer(&world.place, "");
	well(whorl_dds_set_topic_filter(world.place.topic, is_even, NULL, NULL));
	well(whorl_dds_lset_in_place(listener, add_up));
	world.reader = made(whorl_dds_create_reader(world.place.participant, world.place.topic, NULL, listener));
	for (int i = 1; i <= 11; i++)
		well(whorl_dds_write(world.writer, &(struct pose){.count = i}));
	well(whorl_dds_wait_for_acks(world.writer, patience()));
	until(atomic_load(&world.count) == 5);
	well(whorl_dds_writedispose(world.writer, &(struct pose){.count = 13})); /* its end is told, by its key */
	until(atomic_load(&world.ends) == 1);
	ck_assert_int_eq(atomic_load(&world.sum), 30);
	ck_assert_int_eq(atomic_load(&world.wrong), 0);
	whorl_dds_delete_listener(listener);
	well(whorl_dds_delete(world.place.participant));
}
END_TEST

#define illegal(call) expect((call) == WHORL_DDS_RETCODE_ILLEGAL_OPERATION)

/* What would wait is refused; what never waits works. */
static void try_all(whorl_dds_entity reader, const void *data, const struct whorl_dds_sample_info *info, void *arg)
{
	whorl_dds_entity participant = world.place.participant, topic = world.place.topic;
	struct pose pose = *(const struct pose *)data;
	uint32_t mask = 0;

	(void)arg;
	if (!info->valid_data)
		return;
	illegal(whorl_dds_delete(reader));
	illegal(whorl_dds_create_participant(60001, NULL, NULL));
	illegal(whorl_dds_create_topic(participant, &pose_type, "new", NULL, NULL));
	illegal(whorl_dds_find_topic(participant, "poses", 0));
	illegal(whorl_dds_create_writer(participant, topic, NULL, NULL));
	illegal(whorl_dds_create_reader(participant, topic, NULL, NULL));
	illegal(whorl_dds_create_reader(participant, WHORL_DDS_BUILTIN_TOPIC_DCPSPUBLICATION, NULL, NULL));
	illegal(whorl_dds_wait_for_acks(world.writer, 0));
	illegal(whorl_dds_set_qos(world.writer, world.of));
	illegal(whorl_dds_spin_once(participant, 0));
	expect(whorl_dds_get_status_mask(reader, &mask) == OK && mask != 0);
	expect(whorl_dds_get_matched_publications(reader, NULL, 0) == 1);
	expect(whorl_dds_get_topic(reader) == topic);
	expect(whorl_dds_write(world.echoes, &pose) == OK);
	atomic_fetch_add(&world.count, 1);
}

START_TEST(nothing_waits_there)
{
	struct whorl_dds_sample_info info;
	struct place echo;
	whorl_dds_entity heard;
	void *data;

	world.of = qos("deadline=1s");
	begin(try_all, RELIABLE_ALL);
	echo = (struct place){world.place.participant, topic_of(world.place.participant, &pose_type, "echoes", "")};
	world.echoes = new_writer(&echo, "reliability=reliable reliability.max_blocking=1s");
	heard = new_reader(&echo, RELIABLE_ALL);
	for (int i = 0; i < 20; i++) {
		well(whorl_dds_write(world.writer, &(struct pose){.id = 1, .count = i}));
		take_lent(heard, &data, &info);
		ck_assert_int_eq(((const struct pose *)data)->count, i);
		well(whorl_dds_return_loan(heard, &data, 1));
	}
	ck_assert_int_eq(atomic_load(&world.count), 20);
	ck_assert_int_eq(atomic_load(&world.wrong), 0);
	whorl_dds_delete_qos(world.of);
	well(whorl_dds_delete(world.place.participant));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {each_sample_once_in_its_order, a_filter_is_asked_before,
				      an_argument_is_released_once, what_needs_a_cache_is_unsupported,
				      nothing_waits_there};

	return run_tests("dds_in_place", tests, sizeof(tests) / sizeof(tests[0]));
}
