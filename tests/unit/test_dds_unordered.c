/* test_dds_unordered.c - unordered topics on a group: samples as they come, each writer's in its order; writers that end, or are killed, behind their
 * last sample.
 * Labels: threads
 */
#include "tests/support/dds_world.h"

#define LOOSE "consistency=unordered"
#define KEEPS_ALL "reliability=reliable history=all"
#define SMALL KEEPS_ALL " resource_limits.samples=3"
#define PATIENT "reliability=reliable reliability.max_blocking=100s writer_data_lifecycle=off"

static void hears_itself(whorl_dds_entity participant, const char *name, const char *policies)
{
	struct place place = {participant, new_topic(participant, name, policies)};
	whorl_dds_entity reader = new_reader(&place, KEEPS_ALL), writer = new_writer(&place, "");
	struct whorl_dds_sample_info info;

	well(whorl_dds_write(writer, &(struct pose){.id = 3}));
	ck_assert_int_eq(take_one(reader, &info).id, 3);
}

/* ---- samples ------------------------------------------------------------------------------------------------------------------- */

START_TEST(hello)
{
	struct place place = enter(domain(), "poses", LOOSE);
	whorl_dds_entity reader = new_reader(&place, KEEPS_ALL), writer = new_writer(&place, "");
	struct whorl_dds_sample_info info;
	struct pose pose;

	ck_assert_int_eq(matched_of(writer, WHORL_DDS_PUBLICATION_MATCHED_STATUS), 1);
	well(whorl_dds_write(writer, &(struct pose){.id = 7, .count = 3, .x = 1.5}));
	pose = take_one(reader, &info);
	ck_assert(pose.id == 7 && pose.count == 3 && info.valid_data);
	ck_assert_uint_eq(info.view, 0); /* it has no place */
	ck_assert_uint_eq(info.sequence, 0);
	ck_assert_uint_eq(info.number, 1);
	ck_assert_uint_eq(info.instance_state, WHORL_DDS_ALIVE_INSTANCE_STATE);
	ck_assert_uint_eq(info.instance_handle, whorl_dds_lookup_instance(writer, &pose));
	well(whorl_dds_wait_for_acks(writer, patience()));
	well(whorl_dds_dispose(writer, &pose));
	take_one(reader, &info);
	ck_assert(!info.valid_data && info.instance_state == WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE);
	well(whorl_dds_write(writer, &pose));
	take_one(reader, &info);
	ck_assert_uint_eq(info.disposed_generation_count, 1);
	well(whorl_dds_delete(place.participant));
	ck_assert_int_eq(whorl_dds_write(writer, &pose), WHORL_DDS_RETCODE_ALREADY_DELETED);
}
END_TEST

/* A loan is written from where it lies; one larger than a slot from beside. */
START_TEST(loans)
{
	struct place place = {made(whorl_dds_create_participant(domain(), NULL, NULL)), 0};
	whorl_dds_qos *of = qos(LOOSE);
	struct whorl_dds_sample_info info = {.size = sizeof(info)};
	whorl_dds_entity reader, writer;
	void *data, *got;

	place.topic = made(whorl_dds_create_topic(place.participant, whorl_dds_bytes_type(), "blobs", of, NULL));
	whorl_dds_delete_qos(of);
	reader = new_reader(&place, KEEPS_ALL);
	writer = new_writer(&place, "");
	for (size_t bytes = 10; bytes <= 100000; bytes *= 10) {
		well(whorl_dds_request_loan(writer, bytes, &data));
		memset(data, 'x', bytes);
		well(whorl_dds_write_bytes(writer, data, bytes));
		got = NULL;
		until(whorl_dds_take(reader, &got, &info, 1) == 1);
		ck_assert_uint_eq(info.bytes, bytes);
		ck_assert_mem_eq(got, data = memset(malloc(bytes), 'x', bytes), bytes);
		free(data);
		well(whorl_dds_return_loan(reader, &got, 1));
	}
	well(whorl_dds_delete(place.participant));
}
END_TEST

#define WRITERS 3
#define EACH 2000

/* Writes, ends at once, and is gone. */
static void write_and_go(uint32_t number)
{
	struct place place = enter(number, "poses", LOOSE);
	whorl_dds_entity writer = new_writer(&place, "reliability=reliable reliability.max_blocking=20s");
	int which = atomic_fetch_add(&board->step[0], 1);

	await(1, 1);
	for (int i = 0; i < EACH; i++)
		need(whorl_dds_write(writer, &(struct pose){.id = which, .count = i}) == OK);
	need(whorl_dds_delete(place.participant) == OK);
}

/* Each writer's in its order, none missing, and behind them its end. */
static void read_to_the_end(whorl_dds_entity reader)
{
	int next[WRITERS] = {0}, ends = 0;
	struct whorl_dds_sample_info info;

	while (ends < WRITERS) {
		struct pose pose = take_one(reader, &info);

		need(pose.id >= 0 && pose.id < WRITERS);
		if (info.valid_data) {
			need(pose.count == next[pose.id]);
			next[pose.id]++;
			need(info.number == (uint64_t)next[pose.id]);
			continue;
		}
		need(info.instance_state == WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE); /* it autodisposes */
		need(next[pose.id] == EACH);
		ends++;
	}
}

static void read_all(uint32_t number)
{
	struct place place = enter(number, "poses", LOOSE);
	whorl_dds_entity reader = new_reader(&place, KEEPS_ALL " resource_limits.samples=50");

	atomic_fetch_add(&board->step[2], 1);
	read_to_the_end(reader);
	until(matched_of(reader, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS) == 0);
	need(lost_of(reader) == 0);
	need(whorl_dds_delete(place.participant) == OK);
}

START_TEST(all_of_several_writers_at_several_readers)
{
	pid_t pids[WRITERS + 2];

	for (int i = 0; i < 2; i++)
		pids[i] = begin_process(read_all, domain());
	await(2, 2);
	for (int i = 0; i < WRITERS; i++)
		pids[2 + i] = begin_process(write_and_go, domain());
	await(0, WRITERS);
	reach(1, 1);
	for (int i = 0; i < WRITERS + 2; i++)
		await_end(pids[i], false);
}
END_TEST

/* A reader that comes later gets what is written later. */
START_TEST(a_late_reader)
{
	struct place place = enter(domain(), "poses", LOOSE);
	whorl_dds_entity reader, writer = new_writer(&place, "");
	struct whorl_dds_sample_info info;

	for (int i = 0; i < 10; i++)
		well(whorl_dds_write(writer, &(struct pose){.id = 1, .count = i}));
	well(whorl_dds_wait_for_acks(writer, patience()));
	reader = new_reader(&place, KEEPS_ALL);
	well(whorl_dds_wait_for_historical_data(reader, patience()));
	ck_assert_int_eq(samples_of(reader), 0);
	well(whorl_dds_write(writer, &(struct pose){.id = 1, .count = 10}));
	ck_assert_int_eq(take_one(reader, &info).count, 10);
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* ---- ends ---------------------------------------------------------------------------------------------------------------------- */

/* Writes ten, more than a small reader has room for, and lives on or goes. */
static void write_ten(uint32_t number)
{
	struct place place = enter(number, "poses", LOOSE);
	whorl_dds_entity writer = new_writer(&place, PATIENT);

	await(0, 1);
	for (int i = 0; i < 10; i++)
		need(whorl_dds_write(writer, &(struct pose){.id = 1, .count = i}) == OK);
	if (atomic_load(&board->step[2]) == 1)
		need(whorl_dds_delete(writer) == OK);
	reach(1, 1);
	if (atomic_load(&board->step[2]) == 2)
		for (;;)
			pause();
	await(0, 2);
	need(whorl_dds_delete(place.participant) == OK);
}

/* It hears all of them, and then that there are no writers. */
static void hear_ten(whorl_dds_entity reader)
{
	struct whorl_dds_sample_info info;

	ck_assert_int_eq(samples_of(reader), 3);
	for (int i = 0; i < 10; i++) {
		ck_assert_int_eq(take_one(reader, &info).count, i);
		ck_assert(info.valid_data);
	}
	take_one(reader, &info);
	ck_assert(!info.valid_data);
	ck_assert_uint_eq(info.instance_state, WHORL_DDS_NOT_ALIVE_NO_WRITERS_INSTANCE_STATE);
	until(matched_of(reader, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS) == 0);
	ck_assert_uint_eq(lost_of(reader), 0);
}

/* It has ended in the control channel long before the reader has heard all of it. */
START_TEST(a_writer_that_is_deleted_ends_behind_its_samples)
{
	pid_t pid = begin_process(write_ten, domain());
	struct place place = enter(domain(), "poses", LOOSE);
	whorl_dds_entity reader = new_reader(&place, SMALL);

	reach(2, 1);
	until(matched_of(reader, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS) == 1);
	reach(0, 1);
	await(1, 1);
	until(samples_of(reader) == 3);
	ck_assert_int_eq(matched_of(reader, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS), 1);
	hear_ten(reader);
	reach(0, 2);
	await_end(pid, false);
	well(whorl_dds_delete(place.participant));
}
END_TEST

START_TEST(a_writer_that_is_killed_ends_behind_its_samples)
{
	pid_t pid = begin_process(write_ten, domain());
	struct place place = enter(domain(), "poses", LOOSE);
	whorl_dds_entity reader = new_reader(&place, SMALL), other;
	struct whorl_dds_sample_info info;

	other = new_reader(&place, KEEPS_ALL);
	reach(2, 2);
	until(matched_of(reader, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS) == 1);
	reach(0, 1);
	await(1, 1);
	until(samples_of(reader) == 3);
	kill(pid, SIGKILL);
	await_end(pid, true);
	hear_ten(reader);
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(take_one(other, &info).count, i);
	take_one(other, &info);
	ck_assert_uint_eq(info.instance_state, WHORL_DDS_NOT_ALIVE_NO_WRITERS_INSTANCE_STATE);
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* One sample; and when that is being read, the others, and its end. */
static void write_behind_one(uint32_t number)
{
	struct place place = enter(number, "poses", LOOSE);
	whorl_dds_entity writer = new_writer(&place, PATIENT);

	await(0, 1);
	for (int i = 0; i < 10; i++) {
		need(whorl_dds_write(writer, &(struct pose){.id = 1, .count = i}) == OK);
		await(3, 1);
	}
	need(whorl_dds_delete(writer) == OK);
	reach(4, 1);
	await(0, 2);
	need(whorl_dds_delete(place.participant) == OK);
}

static void hold_the_loop(whorl_dds_entity reader, const void *data, const struct whorl_dds_sample_info *info,
			  void *arg)
{
	atomic_int *counts = arg;

	(void)reader, (void)data;
	if (!info->valid_data)
		atomic_store(&counts[1], atomic_load(&counts[0]) + 1);
	else if (atomic_fetch_add(&counts[0], 1) == 0)
		for (reach(3, 1); atomic_load(&board->step[4]) == 0;)
			moment(); /* the other waits a second for its end to be received, and no longer */
}

/* When the loop goes on the writer has ended, and its samples are yet to be heard. */
START_TEST(an_end_that_waits)
{
	atomic_int counts[2] = {0};
	pid_t pid = begin_process(write_behind_one, domain());
	struct place place = enter(domain(), "poses", LOOSE);
	whorl_dds_listener *listener = whorl_dds_create_listener(counts);
	whorl_dds_entity reader;

	well(whorl_dds_lset_in_place(listener, hold_the_loop));
	reader = made(whorl_dds_create_reader(place.participant, place.topic, NULL, listener));
	whorl_dds_delete_listener(listener);
	until(matched_of(reader, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS) == 1);
	reach(0, 1);
	until(atomic_load(&counts[1]) > 0);
	ck_assert_int_eq(atomic_load(&counts[1]), 11); /* behind all ten */
	reach(0, 2);
	await_end(pid, false);
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* Two have the instance: the reader is told when the last of them goes. */
START_TEST(the_last_of_two_writers)
{
	struct place place = enter(domain(), "poses", LOOSE);
	whorl_dds_entity reader = new_reader(&place, KEEPS_ALL), writers[2];
	struct whorl_dds_sample_info info;

	for (int i = 0; i < 2; i++) {
		writers[i] = new_writer(&place, PATIENT);
		well(whorl_dds_write(writers[i], &(struct pose){.id = 1, .count = i}));
		ck_assert_int_eq(take_one(reader, &info).count, i);
	}
	well(whorl_dds_delete(writers[0]));
	until(matched_of(reader, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS) == 1);
	ck_assert_int_eq(samples_of(reader), 0);
	well(whorl_dds_unregister_instance(writers[1], &(struct pose){.id = 1}));
	take_one(reader, &info);
	ck_assert_uint_eq(info.instance_state, WHORL_DDS_NOT_ALIVE_NO_WRITERS_INSTANCE_STATE);
	well(whorl_dds_write(writers[1], &(struct pose){.id = 1, .count = 5}));
	take_one(reader, &info);
	ck_assert_uint_eq(info.instance_state, WHORL_DDS_ALIVE_INSTANCE_STATE);
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* ---- room ---------------------------------------------------------------------------------------------------------------------- */

START_TEST(without_room)
{
	struct place place = enter(domain(), "poses", LOOSE);
	whorl_dds_entity reader = new_reader(&place, SMALL), hasty = new_writer(&place, "reliability=best_effort");
	whorl_dds_entity reliable = new_writer(&place, "reliability=reliable reliability.max_blocking=50ms");
	struct whorl_dds_sample_info info;
	whorl_dds_return result = OK;
	int last = -1, count = 0;
	struct pose pose;

	for (int i = 0; i < 20000 && result == OK; i++) /* more than the window has room for */
		result = whorl_dds_write(reliable, &(struct pose){.id = 1, .count = i});
	ck_assert_int_eq(result, WHORL_DDS_RETCODE_TIMEOUT);
	for (int i = 0; i < 20000; i++)
		well(whorl_dds_write(hasty, &(struct pose){.id = 2, .count = i})); /* it drops */
	ck_assert_int_eq(samples_of(reader), 3);
	do {
		pose = take_one(reader, &info);
		ck_assert_int_eq(pose.count, last + 1); /* none of the reliable one is missing */
		last = pose.count;
	} while (++count < 200);
	ck_assert_uint_eq(lost_of(reader), 0);
	well(whorl_dds_delete(place.participant));
}
END_TEST

START_TEST(a_reader_that_never_takes_loses)
{
	struct whorl_dds_sample_info info;
	whorl_dds_entity reader, writer;
	struct place place;

	write_group("[dds]\nreader_patience_ms = 200\n");
	place = enter(0, "poses", LOOSE);
	reader = new_reader(&place, SMALL);
	writer = new_writer(&place, PATIENT);
	for (int i = 0; i < 600; i++)
		well(whorl_dds_write(writer, &(struct pose){.id = 1, .count = i}));
	well(whorl_dds_wait_for_acks(writer, patience()));
	ck_assert_int_eq(samples_of(reader), 3);
	ck_assert_uint_eq(lost_of(reader), 597);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(take_one(reader, &info).count, i);
	well(whorl_dds_delete(place.participant));
	remove_file();
}
END_TEST

static void read_never(uint32_t number)
{
	struct place place = enter(number, "poses", LOOSE);
	whorl_dds_entity reader = new_reader(&place, SMALL), writer = new_writer(&place, ""), again;
	struct whorl_dds_sample_info info;

	need(whorl_dds_write(writer, &(struct pose){.id = 9}) == OK);
	need(whorl_dds_wait_for_acks(writer, patience()) == OK);
	reach(1, 1);
	until(matched_of(reader, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS) == 0);
	need(whorl_dds_write(writer, &(struct pose){.id = 2}) == WHORL_DDS_RETCODE_ERROR);
	need(strstr(whorl_dds_text(), "has left channel dds.s.unordered, since a reader took nothing") != NULL);
	for (int i = 0; i < 3; i++) /* what it has is its */
		take_one(reader, &info);
	await(0, 1);                           /* all that was written before has been */
	again = new_reader(&place, KEEPS_ALL); /* it is on the stream again, and what it had there is not */
	need(matched_of(again, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS) > 0);
	reach(1, 2);
	need(take_one(again, &info).count == 600);
	need(matched_of(reader, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS) == 0);
	await(0, 2);
	need(whorl_dds_delete(reader) == OK);
	need(whorl_dds_delete(place.participant) == OK);
}

/* Its process leaves the stream, and the others are told in the control channel. */
START_TEST(a_reader_that_never_takes_leaves)
{
	whorl_dds_entity reader, writer;
	struct whorl_dds_sample_info info;
	struct place place;
	pid_t pid;

	write_group("[dds]\nreader_patience_ms = 300\nslow_reader = leave\n");
	pid = begin_process(read_never, 0);
	await(1, 1);
	place = enter(0, "poses", LOOSE);
	reader = new_reader(&place, KEEPS_ALL);
	writer = new_writer(&place, PATIENT);
	ck_assert_int_eq(matched_of(writer, WHORL_DDS_PUBLICATION_MATCHED_STATUS), 2);
	for (int i = 0; i < 600; i++)
		well(whorl_dds_write(writer, &(struct pose){.id = 1, .count = i}));
	well(whorl_dds_wait_for_acks(writer, patience()));
	for (int i = 0; i < 600; i++)
		ck_assert_int_eq(take_one(reader, &info).count, i);
	reach(0, 1);
	await(1, 2);
	until(matched_of(writer, WHORL_DDS_PUBLICATION_MATCHED_STATUS) == 2); /* with the new one */
	until(matched_of(reader, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS) == 1);
	well(whorl_dds_write(writer, &(struct pose){.id = 1, .count = 600}));
	ck_assert_int_eq(take_one(reader, &info).count, 600);
	reach(0, 2);
	await_end(pid, false);
	well(whorl_dds_delete(place.participant));
	remove_file();
}
END_TEST

/* What is over leaves room, and what was refused comes again. */
START_TEST(lifespans_leave_room)
{
	struct place place = enter(domain(), "poses", LOOSE);
	whorl_dds_entity reader = new_reader(&place, SMALL), writer = new_writer(&place, PATIENT " lifespan=100ms");

	for (int i = 0; i < 10; i++)
		well(whorl_dds_write(writer, &(struct pose){.id = 1, .count = i}));
	well(whorl_dds_wait_for_acks(writer, patience()));
	ck_assert_uint_eq(lost_of(reader), 0);
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* A process that has only readers rests in its channels, but not in the control channel, where those of unordered topics are. */
START_TEST(readers_that_rest)
{
	whorl_dds_time end;
	struct place place;

	write_group("[dds]\nrest_after_ms = 20\n");
	place = enter(0, "poses", LOOSE);
	made(new_reader(&place, ""));
	end = whorl_dds_now() + SECOND;
	for (int i = 0; whorl_dds_now() < end; i++) {
		char name[16];

		snprintf(name, sizeof(name), "t%d", i);
		well(whorl_dds_delete(new_topic(place.participant, name, LOOSE)));
		for (whorl_dds_time next = whorl_dds_now() + SECOND / 10; whorl_dds_now() < next;)
			moment();
	}
	hears_itself(place.participant, "poses", LOOSE);
	well(whorl_dds_delete(place.participant));
	remove_file();
}
END_TEST

/* ---- policies ------------------------------------------------------------------------------------------------------------------ */

static void topic_unsupported(whorl_dds_entity participant, const char *policies)
{
	whorl_dds_qos *of = qos(policies);

	ck_assert_msg(whorl_dds_create_topic(participant, &pose_type, "no", of, NULL) == WHORL_DDS_RETCODE_UNSUPPORTED,
		      "a topic: %s", policies);
	whorl_dds_delete_qos(of);
}

static void reader_unsupported(const struct place *place, const char *policies)
{
	whorl_dds_qos *of = qos(policies);

	ck_assert_msg(whorl_dds_create_reader(place->participant, place->topic, of, NULL) ==
			      WHORL_DDS_RETCODE_UNSUPPORTED,
		      "a reader: %s", policies);
	ck_assert_msg(whorl_dds_create_writer(place->participant, place->topic, of, NULL) ==
			      WHORL_DDS_RETCODE_UNSUPPORTED,
		      "a writer: %s", policies);
	whorl_dds_delete_qos(of);
}

START_TEST(what_needs_an_order)
{
	struct place place = enter(domain(), "poses", LOOSE);
	static const char *const both[] = {"durability=transient_local", "durability=transient", "ownership=exclusive",
					   "presentation=topic presentation.ordered=on", "presentation.coherent=on"};

	for (size_t i = 0; i < 3; i++) {
		char policies[128];

		snprintf(policies, sizeof(policies), LOOSE " %s", both[i]);
		topic_unsupported(place.participant, policies);
	}
	for (size_t i = 0; i < 2; i++)
		reader_unsupported(&place, both[i]);
	for (size_t i = 3; i < 5; i++) { /* policies of publishers and subscribers */
		whorl_dds_qos *of = qos(both[i]);
		whorl_dds_entity subscriber = made(whorl_dds_create_subscriber(place.participant, of, NULL));
		whorl_dds_entity publisher = made(whorl_dds_create_publisher(place.participant, of, NULL));

		ck_assert_int_eq(whorl_dds_create_reader(subscriber, place.topic, NULL, NULL),
				 WHORL_DDS_RETCODE_UNSUPPORTED);
		ck_assert_int_eq(whorl_dds_create_writer(publisher, place.topic, NULL, NULL),
				 WHORL_DDS_RETCODE_UNSUPPORTED);
		whorl_dds_delete_qos(of);
	}
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* One name has one consistency. */
START_TEST(another_consistency_is_refused)
{
	struct place place = enter(domain(), "poses", LOOSE);

	ck_assert_int_eq(whorl_dds_create_topic(place.participant, &pose_type, "poses", NULL, NULL),
			 WHORL_DDS_RETCODE_PRECONDITION_NOT_MET);
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* A lease is counted by what is written, though samples are no part of the order in which it ends. */
START_TEST(leases)
{
	struct place place = enter(domain(), "poses", LOOSE);
	whorl_dds_entity reader = new_reader(&place, KEEPS_ALL);
	whorl_dds_entity writer = new_writer(&place, "liveliness=manual_by_topic liveliness.lease=400ms");
	struct whorl_dds_liveliness_changed_status status = {0};
	whorl_dds_time end = whorl_dds_now() + 2 * SECOND;
	struct whorl_dds_sample_info info;

	while (whorl_dds_now() < end) { /* it lives as long as it writes */
		well(whorl_dds_write(writer, &(struct pose){.id = 1}));
		take_one(reader, &info);
		moment();
	}
	well(whorl_dds_read_status(reader, WHORL_DDS_LIVELINESS_CHANGED_STATUS, &status, sizeof(status)));
	ck_assert_int_eq(status.alive_count, 1);
	take_one(reader, &info); /* and no longer */
	ck_assert_uint_eq(info.instance_state, WHORL_DDS_NOT_ALIVE_NO_WRITERS_INSTANCE_STATE);
	well(whorl_dds_read_status(reader, WHORL_DDS_LIVELINESS_CHANGED_STATUS, &status, sizeof(status)));
	ck_assert_int_eq(status.not_alive_count, 1);
	well(whorl_dds_write(writer, &(struct pose){.id = 1}));
	take_one(reader, &info);
	ck_assert_uint_eq(info.instance_state, WHORL_DDS_ALIVE_INSTANCE_STATE);
	until(whorl_dds_read_status(reader, WHORL_DDS_LIVELINESS_CHANGED_STATUS, &status, sizeof(status)) == OK &&
	      status.alive_count == 1);
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* ---- looking ----------------------------------------------------------------------------------------------------------------- */

static void count_one(whorl_dds_entity reader, const void *data, const struct whorl_dds_sample_info *info, void *arg)
{
	(void)reader, (void)data;
	atomic_fetch_add((atomic_int *)arg + !info->valid_data, 1);
}

START_TEST(in_place)
{
	atomic_int counts[2] = {0};
	whorl_dds_listener *listener = whorl_dds_create_listener(counts);
	struct place place = enter(domain(), "poses", LOOSE);
	whorl_dds_entity writer = new_writer(&place, "reliability=reliable reliability.max_blocking=20s");

	well(whorl_dds_lset_in_place(listener, count_one));
	made(whorl_dds_create_reader(place.participant, place.topic, NULL, listener));
	whorl_dds_delete_listener(listener);
	for (int i = 0; i < 1000; i++)
		well(whorl_dds_write(writer, &(struct pose){.id = 1, .count = i}));
	until(atomic_load(&counts[0]) == 1000);
	well(whorl_dds_delete(writer));
	until(atomic_load(&counts[1]) == 1);
	well(whorl_dds_delete(place.participant));
}
END_TEST

static void write_on(uint32_t number)
{
	struct place place = enter(number, "poses", LOOSE);

	made(new_writer(&place, "user_data=abc"));
	made(new_reader(&place, "partition=a"));
	reach(1, 1);
	await(0, 1);
	need(whorl_dds_delete(place.participant) == OK);
}

/* One that uses no unordered topic sees them all the same, also one that comes later. */
START_TEST(built_in_topics)
{
	static const whorl_dds_entity of[2] = {WHORL_DDS_BUILTIN_TOPIC_DCPSPUBLICATION,
					       WHORL_DDS_BUILTIN_TOPIC_DCPSSUBSCRIPTION};
	struct whorl_dds_sample_info info = {.size = sizeof(info)};
	pid_t pid = begin_process(write_on, domain());
	whorl_dds_entity participant, readers[2];
	void *data = NULL;

	await(1, 1);
	participant = made(whorl_dds_create_participant(domain(), NULL, NULL));
	for (int i = 0; i < 2; i++) {
		const struct whorl_dds_builtin_endpoint *endpoint;

		readers[i] = made(whorl_dds_create_reader(participant, of[i], NULL, NULL));
		until(whorl_dds_take(readers[i], &data, &info, 1) == 1);
		endpoint = data;
		ck_assert_str_eq(endpoint->topic_name, "poses");
		ck_assert_str_eq(endpoint->type_name, "struct pose");
		ck_assert_uint_eq(endpoint->behind, 0);
		well(whorl_dds_return_loan(readers[i], &data, 1));
	}
	reach(0, 1);
	for (int i = 0; i < 2; i++) {
		until(whorl_dds_take(readers[i], &data, &info, 1) == 1);
		ck_assert_uint_eq(info.instance_state, WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE);
		well(whorl_dds_return_loan(readers[i], &data, 1));
	}
	await_end(pid, false);
	well(whorl_dds_delete(participant));
}
END_TEST

/* ---- channels ------------------------------------------------------------------------------------------------------------------ */

/* Of the channel that a topic of that name lies on. */
static void lies_on(whorl_dds_entity builtin, const char *name, const char *channel)
{
	struct whorl_dds_sample_info info = {.size = sizeof(info)};
	bool found = false;
	void *data = NULL;

	until(whorl_dds_take(builtin, &data, &info, 1) == 1);
	found = strcmp(((const struct whorl_dds_builtin_topic *)data)->name, name) == 0;
	ck_assert(found);
	ck_assert_str_eq(((const struct whorl_dds_builtin_topic *)data)->channel, channel);
	well(whorl_dds_return_loan(builtin, &data, 1));
}

START_TEST(channels_of_a_file)
{
	whorl_dds_entity participant, builtin;
	whorl_dds_qos *of = qos(LOOSE);

	write_group(
		"[channel fast]\nwindow = 10\nmessage_bytes = 512\nlarge_bytes = 5k\n[channel long.name.that.leaves.no.room.for.the.other."
		"channel.of.it]\n[topic a]\nchannel = fast\n[topic b]\nchannel = fast\n[topic c]\nchannel = own\n"
		"[topic d.unordered]\nchannel = own\n"
		"[channel x.unordered]\n[topic x]\nchannel = x.unordered\n[topic y]\nchannel = x.unordered\n"
		"[topic z]\nchannel = long.name.that.leaves.no.room.for.the.other.channel.of.it\n"
		"[topic s]\nchannel = dds.s.atomic\n");
	participant = made(whorl_dds_create_participant(0, NULL, NULL));
	builtin = made(whorl_dds_create_reader(participant, WHORL_DDS_BUILTIN_TOPIC_DCPSTOPIC, NULL, NULL));
	hears_itself(participant, "a", LOOSE);
	lies_on(builtin, "a", "fast.unordered");
	hears_itself(participant, "b", "");
	lies_on(builtin, "b", "fast");
	hears_itself(participant, "c", LOOSE);
	lies_on(builtin, "c", "own.us.c");
	hears_itself(participant, "d.unordered", "");
	lies_on(builtin, "d.unordered", "own.s.d.unordered");
	hears_itself(participant, "x", LOOSE);
	lies_on(builtin, "x", "x.unordered");
	hears_itself(participant, "other", LOOSE);
	lies_on(builtin, "other", "dds.s.unordered");
	ck_assert_int_eq(whorl_dds_create_topic(participant, &pose_type, "y", NULL, NULL),
			 WHORL_DDS_RETCODE_BAD_PARAMETER);
	ck_assert_ptr_nonnull(strstr(whorl_dds_text(), "its channel x.unordered is for unordered topics"));
	ck_assert_int_eq(whorl_dds_create_topic(participant, &pose_type, "z", of, NULL),
			 WHORL_DDS_RETCODE_BAD_PARAMETER);
	ck_assert_ptr_nonnull(strstr(whorl_dds_text(), "too long"));
	ck_assert_int_eq(whorl_dds_create_topic(participant, &pose_type, "s", of, NULL),
			 WHORL_DDS_RETCODE_BAD_PARAMETER);
	ck_assert_ptr_nonnull(strstr(whorl_dds_text(), "channel dds.s.atomic is not"));
	whorl_dds_delete_qos(of);
	well(whorl_dds_delete(participant));
	remove_file();
}
END_TEST

int main(void)
{
	const struct named_test tests[] = {
		{"hello", hello},
		{"loans", loans},
		{"all", all_of_several_writers_at_several_readers},
		{"late", a_late_reader},
		{"deleted", a_writer_that_is_deleted_ends_behind_its_samples},
		{"killed", a_writer_that_is_killed_ends_behind_its_samples},
		{"waits", an_end_that_waits},
		{"two", the_last_of_two_writers},
		{"room", without_room},
		{"loses", a_reader_that_never_takes_loses},
		{"leaves", a_reader_that_never_takes_leaves},
		{"lifespans", lifespans_leave_room},
		{"rests", readers_that_rest},
		{"policies", what_needs_an_order},
		{"consistency", another_consistency_is_refused},
		{"leases", leases},
		{"in_place", in_place},
		{"builtin", built_in_topics},
		{"channels", channels_of_a_file},
	};

	return run_processes("dds_unordered", tests, sizeof(tests) / sizeof(tests[0]));
}
