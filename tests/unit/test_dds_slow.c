/* test_dds_slow.c - readers that do not take: how long their channel waits for them, and what then becomes of them.
 * Labels: threads
 */
#include <pthread.h>

#include "tests/support/dds_world.h"

#define SMALL "reliability=reliable history=all resource_limits.samples=3"
#define PATIENT "reliability=reliable reliability.max_blocking=100s writer_data_lifecycle=off"

/* It loses what it has no room for, knows how much, and all is well when it takes again. */
START_TEST(a_reader_that_never_takes_loses)
{
	struct whorl_dds_sample_info info;
	whorl_dds_entity reader, writer;
	struct place place;

	write_group("[dds]\nreader_patience_ms = 200\n");
	place = enter(0, "poses", "");
	reader = new_reader(&place, SMALL);
	writer = new_writer(&place, PATIENT);
	for (int i = 0; i < 600; i++) /* more than the window has room for */
		well(whorl_dds_write(writer, &(struct pose){.id = 1, .count = i}));
	well(whorl_dds_wait_for_acks(writer, patience()));
	ck_assert_int_eq(samples_of(reader), 3);
	ck_assert_uint_eq(lost_of(reader), 597);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(take_one(reader, &info).count, i);
	for (int i = 0; i < 4; i++)
		well(whorl_dds_write(writer, &(struct pose){.id = 1, .count = 700 + i}));
	for (int i = 0; i < 4; i++) /* it is waited for again */
		ck_assert_int_eq(take_one(reader, &info).count, 700 + i);
	ck_assert_uint_eq(lost_of(reader), 597);
	well(whorl_dds_delete(place.participant));
	remove_file();
}
END_TEST

/* It is waited for once, and not again behind each sample of another topic of its channel. */
struct other_thread {
	whorl_dds_entity writer;
	int count;
};

static void *write_one(void *ctx)
{
	const struct other_thread *it = ctx;

	well(whorl_dds_write(it->writer, &(struct pose){.id = 1, .count = it->count}));
	return NULL;
}

static void write_by_another(struct other_thread *other)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, write_one, other), 0);
	pthread_join(thread, NULL);
}

/* Whichever thread wrote last, it is waited for: of four samples this thread writes some, and another each of the others. */
START_TEST(what_each_thread_wrote_is_waited_for)
{
	static const unsigned mine[] = {0x0, 0x1, 0x7, 0x9, 0xf};
	struct whorl_dds_sample_info info;
	struct other_thread other;
	whorl_dds_entity reader;
	struct place place;

	write_group("[dds]\nreader_patience_ms = 100000\n");
	place = enter(0, "poses", "");
	for (size_t i = 0; i < sizeof(mine) / sizeof(mine[0]); i++) {
		reader = new_reader(&place, SMALL); /* it has room for three */
		other.writer = new_writer(&place, PATIENT);
		well(whorl_dds_wait_for_acks(other.writer, 0)); /* nothing was written */
		for (other.count = 0; other.count < 4; other.count++)
			if ((mine[i] >> other.count & 1) != 0)
				(void)write_one(&other);
			else
				write_by_another(&other);
		ck_assert_int_eq(whorl_dds_wait_for_acks(other.writer, SECOND / 10), WHORL_DDS_RETCODE_TIMEOUT);
		ck_assert_int_eq(take_one(reader, &info).count, 0);
		well(whorl_dds_wait_for_acks(other.writer, patience()));
		well(whorl_dds_delete(reader));
		well(whorl_dds_delete(other.writer));
	}
	well(whorl_dds_delete(place.participant));
	remove_file();
}
END_TEST

START_TEST(a_slow_reader_beside_another_topic)
{
	whorl_dds_entity slow, writers[2];
	whorl_dds_time begin;
	struct place places[2];

	write_group("[dds]\nreader_patience_ms = 2000\n");
	places[0] = enter(0, "poses", "");
	places[1] = (struct place){places[0].participant, new_topic(places[0].participant, "others", "")};
	slow = new_reader(&places[0], SMALL);
	made(new_reader(&places[1], "reliability=reliable"));
	for (int i = 0; i < 2; i++)
		writers[i] = new_writer(&places[i], PATIENT);
	begin = whorl_dds_now();
	for (int i = 0; i < 40; i++)
		well(whorl_dds_write(writers[0], &(struct pose){.id = 1, .count = i}));
	for (int i = 0; i < 20; i++) {
		well(whorl_dds_write(writers[0], &(struct pose){.id = 1, .count = i}));
		well(whorl_dds_write(writers[1], &(struct pose){.id = 1, .count = i}));
	}
	well(whorl_dds_wait_for_acks(writers[0], 4 * patience()));
	ck_assert_int_eq(samples_of(slow), 3);
	ck_assert_int_lt(whorl_dds_now() - begin, (whorl_dds_time)test_patience(15 * SECOND));
	well(whorl_dds_delete(places[0].participant));
	remove_file();
}
END_TEST

/* What is over leaves room, as what is taken does: nobody takes, and what was refused comes. */
START_TEST(what_is_over_leaves_room)
{
	whorl_dds_entity reader, brief, lasting;
	struct place place;

	write_group("[dds]\nreader_patience_ms = 100000\n");
	place = enter(0, "poses", "");
	reader = new_reader(&place, SMALL);
	brief = new_writer(&place, PATIENT " lifespan=300ms");
	lasting = new_writer(&place, PATIENT);
	for (int i = 0; i < 3; i++)
		well(whorl_dds_write(brief, &(struct pose){.id = 1, .count = i}));
	well(whorl_dds_write(lasting, &(struct pose){.id = 2}));
	well(whorl_dds_wait_for_acks(
		lasting, patience())); /* there was no room for it beside the others; to look would make some */
	ck_assert_int_eq(samples_of(reader), 1);
	ck_assert_uint_eq(lost_of(reader), 0);
	well(whorl_dds_delete(place.participant));
	remove_file();
}
END_TEST

/* What a writer disposes of when it ends waits for room, too, of instances that the reader has never seen. */
START_TEST(the_end_of_a_writer_waits)
{
	struct whorl_dds_sample_info info;
	whorl_dds_entity reader, writer, other;
	struct place place;

	write_group("[dds]\nreader_patience_ms = 100000\n");
	place = enter(0, "poses", "");
	other = new_writer(&place, "reliability=reliable");
	well(whorl_dds_write(other, &(struct pose){.id = 2}));
	reader = new_reader(&place, SMALL);
	writer = new_writer(&place, PATIENT);
	for (int i = 0; i < 3; i++)
		well(whorl_dds_write(writer, &(struct pose){.id = 1, .count = i}));
	until(samples_of(reader) == 3);
	well(whorl_dds_delete(other));
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(take_one(reader, &info).count, i);
	ck_assert_int_eq(take_one(reader, &info).id, 2);
	ck_assert(!info.valid_data);
	ck_assert_uint_eq(lost_of(reader), 0);
	well(whorl_dds_delete(place.participant));
	remove_file();
}
END_TEST

/* Where all is deleted, no end is held up by a reader that is deleted later. */
START_TEST(a_participant_with_a_full_reader_goes)
{
	whorl_dds_entity writers[8];
	whorl_dds_time begin;
	struct place place;
	int count = 0;

	write_group("[dds]\nreader_patience_ms = 100000\n");
	place = enter(0, "poses", "");
	for (int i = 0; i < 8; i++)
		writers[i] = new_writer(&place, "reliability=reliable reliability.max_blocking=1ms");
	made(new_reader(&place, SMALL));
	while (whorl_dds_write(writers[0], &(struct pose){.id = 1, .count = count}) == WHORL_DDS_RETCODE_OK)
		ck_assert_int_lt(count++, 100000);
	begin = whorl_dds_now();
	well(whorl_dds_delete(place.participant));
	ck_assert_int_lt(whorl_dds_now() - begin, (whorl_dds_time)test_patience(6 * SECOND));
	remove_file();
}
END_TEST

/* ---- leaving ------------------------------------------------------------------------------------------------------------------- */

/* It makes others in the channel that it has left, and is in it again; what it had there stays out. */
static void read_again(const struct place *place, whorl_dds_entity old)
{
	whorl_dds_entity reader = new_reader(place, "reliability=reliable history=all"), writer = new_writer(place, "");
	struct place other = {place->participant, new_topic(place->participant, "others", "")};
	int had = samples_of(old); /* that there are no writers any more */
	struct whorl_dds_sample_info info;

	ck_assert_int_gt(new_reader(&other, ""), 0);
	ck_assert_int_eq(matched_of(reader, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS), 2);
	ck_assert_int_eq(matched_of(old, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS), 0);
	well(whorl_dds_assert_liveliness(place->participant));
	reach(1, 2);
	ck_assert_int_eq(take_one(reader, &info).count, 600);
	well(whorl_dds_write(writer, &(struct pose){.id = 3, .count = 601}));
	ck_assert_int_eq(take_one(reader, &info).count, 601);
	ck_assert_int_eq(samples_of(old), had);
}

/* Its process leaves, and the other one goes on. */
static void read_never(uint32_t number)
{
	struct place place = enter(number, "poses", "");
	whorl_dds_entity reader = new_reader(&place, SMALL), writer = new_writer(&place, "");
	struct whorl_dds_sample_info info;
	struct place other;

	reach(1, 1);
	until(matched_of(reader, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS) == 0);
	ck_assert_int_eq(whorl_dds_write(writer, &(struct pose){.id = 2}), WHORL_DDS_RETCODE_ERROR);
	ck_assert_msg(strstr(whorl_dds_text(),
			     "has left channel dds.s.atomic, since a reader took nothing for 300 ms") != NULL,
		      "%s", whorl_dds_text());
	for (int i = 0; i < 3; i++) /* what it has is its */
		ck_assert_int_eq(take_one(reader, &info).count, i);
	other = (struct place){place.participant, new_topic(place.participant, "kept", "consistency=stored")};
	ck_assert_int_gt(new_reader(&other, ""), 0); /* in another channel */
	await(2, 1);
	read_again(&place, reader);
	ck_assert_int_eq(whorl_dds_write(writer, &(struct pose){.id = 2}), WHORL_DDS_RETCODE_ERROR);
	well(whorl_dds_delete(reader));
	well(whorl_dds_delete(place.participant));
}

START_TEST(a_reader_that_never_takes_leaves)
{
	whorl_dds_entity reader, writer;
	struct whorl_dds_sample_info info;
	struct place place;
	pid_t pid;

	write_group("[dds]\nreader_patience_ms = 300\nslow_reader = leave\n");
	pid = begin_process(read_never, 0);
	await(1, 1);
	place = enter(0, "poses", "");
	reader = new_reader(&place, "reliability=reliable history=all");
	writer = new_writer(&place, PATIENT);
	ck_assert_int_eq(matched_of(writer, WHORL_DDS_PUBLICATION_MATCHED_STATUS), 2);
	for (int i = 0; i < 600; i++)
		well(whorl_dds_write(writer, &(struct pose){.id = 1, .count = i}));
	well(whorl_dds_wait_for_acks(writer, patience()));
	for (int i = 0; i < 600; i++)
		ck_assert_int_eq(take_one(reader, &info).count, i);
	until(matched_of(writer, WHORL_DDS_PUBLICATION_MATCHED_STATUS) == 1);
	reach(2, 1);
	await(1, 2);
	ck_assert_int_eq(matched_of(writer, WHORL_DDS_PUBLICATION_MATCHED_STATUS), 2);
	well(whorl_dds_write(writer, &(struct pose){.id = 1, .count = 600}));
	for (int i = 600; i <= 601; i++)
		ck_assert_int_eq(take_one(reader, &info).count, i);
	await_end(pid, false);
	until(matched_of(writer, WHORL_DDS_PUBLICATION_MATCHED_STATUS) == 1);
	well(whorl_dds_delete(place.participant));
	remove_file();
}
END_TEST

int main(void)
{
	const struct named_test tests[] = {
		{"loses", a_reader_that_never_takes_loses},
		{"threads", what_each_thread_wrote_is_waited_for},
		{"beside", a_slow_reader_beside_another_topic},
		{"over", what_is_over_leaves_room},
		{"end", the_end_of_a_writer_waits},
		{"goes", a_participant_with_a_full_reader_goes},
		{"leaves", a_reader_that_never_takes_leaves},
	};

	return run_processes("dds_slow", tests, sizeof(tests) / sizeof(tests[0]));
}
