/* test_dds_rules.c - what holds of publishers and of readers that are full.
 * Labels: threads
 */
#include "tests/support/dds_world.h"

#define ALL "reliability=reliable history=all "

/* ---- acknowledgements ---------------------------------------------------------------------------------------------------------- */

#define WRITERS 130

/* More than the reader keeps: the last is not delivered before something is taken. */
static void write_four(whorl_dds_entity writer, int id)
{
	for (int i = 0; i < 4; i++)
		well(whorl_dds_write(writer, &(struct pose){.id = id, .count = i}));
}

START_TEST(a_publisher_waits_for_each_of_its_writers)
{
	struct place place = enter(domain(), "poses", "");
	whorl_dds_entity reader = new_reader(&place, ALL "resource_limits.samples=3");
	struct place below = {made(whorl_dds_create_publisher(place.participant, NULL, NULL)), place.topic};
	whorl_dds_entity writers[WRITERS];
	struct whorl_dds_sample_info info;

	for (int i = 0; i < WRITERS; i++)
		writers[i] = new_writer(&below, "reliability=reliable writer_data_lifecycle=off");
	well(whorl_dds_wait_for_acks(below.participant, patience()));
	for (int i = 0; i < WRITERS; i += WRITERS - 1) {
		write_four(writers[i], i);
		ck_assert_int_eq(whorl_dds_wait_for_acks(below.participant, SECOND / 20), WHORL_DDS_RETCODE_TIMEOUT);
		for (int k = 0; k < 4; k++)
			ck_assert_int_eq(take_one(reader, &info).count, k);
		well(whorl_dds_wait_for_acks(below.participant, patience()));
	}
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* ---- ends of instances --------------------------------------------------------------------------------------------------------- */

/* A writer that leaves an instance disposes of it: that needs room as a sample does. */
START_TEST(the_end_of_an_instance_waits)
{
	struct place place = enter(domain(), "poses", "");
	whorl_dds_entity reader = new_reader(&place, ALL "resource_limits.samples=2");
	whorl_dds_entity writer = new_writer(&place, "reliability=reliable");
	struct whorl_dds_sample_info info;
	struct pose pose = {.id = 1};

	well(whorl_dds_write(writer, &pose));
	well(whorl_dds_write(writer, &pose));
	well(whorl_dds_wait_for_acks(writer, patience()));
	well(whorl_dds_unregister_instance(writer, &pose));
	ck_assert_int_eq(whorl_dds_wait_for_acks(writer, SECOND / 20), WHORL_DDS_RETCODE_TIMEOUT);
	(void)take_one(reader, &info);
	(void)take_one(reader, &info);
	(void)take_one(reader, &info);
	ck_assert_uint_eq(info.instance_state, WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE);
	ck_assert_int_eq(lost_of(reader), 0);
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* ---- sets and readers that are full ------------------------------------------------------------------------------------------------ */

#define COHERENT "presentation=topic presentation.coherent=on "

static void write_set(whorl_dds_entity writer, int count, int instances)
{
	well(whorl_dds_begin_coherent(writer));
	for (int i = 0; i < count; i++)
		well(whorl_dds_write(writer, &(struct pose){.id = i % instances, .count = 100 + i}));
	well(whorl_dds_end_coherent(writer));
}

/* Its end is refused, and comes again: the reader loses nothing. */
START_TEST(a_set_waits_for_a_reader_that_is_full)
{
	struct place place = enter(domain(), "poses", "");
	whorl_dds_entity reader = new_reader(&place, ALL COHERENT "resource_limits.samples=5");
	whorl_dds_entity writer = new_writer(&place, "reliability=reliable " COHERENT);
	struct whorl_dds_sample_info info;

	for (int i = 0; i < 3; i++)
		well(whorl_dds_write(writer, &(struct pose){.id = i, .count = i}));
	well(whorl_dds_wait_for_acks(writer, patience()));
	write_set(writer, 3, 3);
	well(whorl_dds_write(writer, &(struct pose){.id = 7, .count = 200}));
	ck_assert_int_eq(whorl_dds_wait_for_acks(writer, SECOND / 20), WHORL_DDS_RETCODE_TIMEOUT);
	ck_assert_int_eq(samples_of(reader), 3);
	(void)take_one(reader, &info);
	until(samples_of(reader) == 5);
	ck_assert_int_eq(lost_of(reader), 0);
	for (int i = 0; i < 5; i++)
		(void)take_one(reader, &info);
	ck_assert_int_eq(take_one(reader, &info).count, 200);
	ck_assert_int_eq(lost_of(reader), 0);
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* What an instance has room for is asked of each. */
START_TEST(a_set_waits_for_the_room_of_each_instance)
{
	struct place place = enter(domain(), "poses", "");
	whorl_dds_entity reader = new_reader(&place, ALL COHERENT "resource_limits.samples_per_instance=2");
	whorl_dds_entity writer = new_writer(&place, "reliability=reliable " COHERENT);
	struct whorl_dds_sample_info info;

	write_set(writer, 6, 3);
	well(whorl_dds_wait_for_acks(writer, patience()));
	until(samples_of(reader) == 6);
	for (int i = 0; i < 5; i++) /* one of the last instance is left */
		(void)take_one(reader, &info);
	write_set(writer, 6, 3);
	well(whorl_dds_write(writer, &(struct pose){.id = 7, .count = 200}));
	ck_assert_int_eq(whorl_dds_wait_for_acks(writer, SECOND / 20), WHORL_DDS_RETCODE_TIMEOUT);
	ck_assert_int_eq(samples_of(reader), 1);
	(void)take_one(reader, &info);
	until(samples_of(reader) == 7);
	ck_assert_int_eq(lost_of(reader), 0);
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* What never can have room is not waited for. */
START_TEST(a_set_that_is_larger_than_the_reader)
{
	struct place place = enter(domain(), "poses", "");
	whorl_dds_entity reader = new_reader(&place, ALL COHERENT "resource_limits.samples=3");
	whorl_dds_entity narrow = new_reader(&place, ALL COHERENT "resource_limits.samples_per_instance=1");
	whorl_dds_entity few = new_reader(&place, ALL COHERENT "resource_limits.instances=2 resource_limits.samples=6");
	whorl_dds_entity writer = new_writer(&place, "reliability=reliable " COHERENT);

	write_set(writer, 6, 3);
	well(whorl_dds_write(writer, &(struct pose){.id = 7, .count = 200}));
	well(whorl_dds_wait_for_acks(writer, 5 * SECOND)); /* a reader is waited for twice as long */
	ck_assert_int_eq(samples_of(reader), 1);
	ck_assert_int_eq(samples_of(narrow), 1);
	ck_assert_int_eq(samples_of(few), 1);
	ck_assert_int_ge(lost_of(reader), 1);
	ck_assert_int_ge(lost_of(narrow), 1);
	ck_assert_int_eq(lost_of(few), 0); /* it has rejected one */
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* ---- groups ---------------------------------------------------------------------------------------------------------------------- */

typedef whorl_dds_entity create_fn(whorl_dds_entity parent, whorl_dds_entity topic, const whorl_dds_qos *qos,
				   const whorl_dds_listener *listener);

/* Of one group on two channels; when what was on the one is gone the other is as good. */
static void try_channels(whorl_dds_entity group, const whorl_dds_entity topics[3], create_fn *create)
{
	whorl_dds_entity first = made(create(group, topics[0], NULL, NULL)), second;

	second = made(create(group, topics[1], NULL, NULL));
	ck_assert_int_eq(create(group, topics[2], NULL, NULL), WHORL_DDS_RETCODE_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(whorl_dds_text(), "dds.s.stored"));
	well(whorl_dds_delete(first));
	ck_assert_int_eq(create(group, topics[2], NULL, NULL), WHORL_DDS_RETCODE_UNSUPPORTED);
	well(whorl_dds_delete(second));
	(void)made(create(group, topics[2], NULL, NULL));
	ck_assert_int_eq(create(group, topics[0], NULL, NULL), WHORL_DDS_RETCODE_UNSUPPORTED);
}

START_TEST(a_group_is_on_one_channel)
{
	static const char *const together[] = {"presentation=group presentation.coherent=on",
					       "presentation=group presentation.ordered=on"};
	struct place place = enter(domain(), "one", "consistency=atomic");
	const whorl_dds_entity topics[] = {place.topic, new_topic(place.participant, "other", "consistency=atomic"),
					   new_topic(place.participant, "stored", "consistency=stored")};
	whorl_dds_qos *alone = qos("presentation=group");
	whorl_dds_entity apart = made(whorl_dds_create_publisher(place.participant, alone, NULL));

	for (int i = 0; i < 2; i++) {
		whorl_dds_qos *of = qos(together[i]);

		try_channels(made(whorl_dds_create_publisher(place.participant, of, NULL)), topics,
			     whorl_dds_create_writer);
		try_channels(made(whorl_dds_create_subscriber(place.participant, of, NULL)), topics,
			     whorl_dds_create_reader);
		whorl_dds_delete_qos(of);
	}
	for (int i = 0; i < 3; i++) /* nothing is presented together */
		(void)made(whorl_dds_create_writer(apart, topics[i], NULL, NULL));
	whorl_dds_delete_qos(alone);
	well(whorl_dds_delete(place.participant));
}
END_TEST

int main(void)
{
	const struct named_test tests[] = {
		{"acks", a_publisher_waits_for_each_of_its_writers},
		{"end", the_end_of_an_instance_waits},
		{"set", a_set_waits_for_a_reader_that_is_full},
		{"instances", a_set_waits_for_the_room_of_each_instance},
		{"larger", a_set_that_is_larger_than_the_reader},
		{"channels", a_group_is_on_one_channel},
	};

	return run_processes("dds_rules", tests, sizeof(tests) / sizeof(tests[0]));
}
