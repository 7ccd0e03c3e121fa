/* test_dds_come_and_go.c - processes of a domain come and go, in any order: what is stored stays as long as one is there, and goes with the
 * last.
 * Labels: threads
 */
#include "tests/support/dds_world.h"

#define STORED "consistency=stored durability=transient history=all"
#define ALL "reliability=reliable history=all"
#define PROCESSES 3
#define ROUNDS 8

enum { DONE = 16, HERE = 32 }; /* on the board: how much is written, how many are there */

/* All that was written before it came is there, in the order in which it was written. */
static void has_all(const struct place *place, int written)
{
	whorl_dds_entity reader = new_reader(place, ALL);
	struct whorl_dds_sample_info info;

	well(whorl_dds_wait_for_historical_data(reader, patience()));
	for (int i = 0; i < written; i++) {
		struct pose pose = {0};

		if (!take_now(reader, &pose, &info))
			ck_abort_msg("process %d: %d of %d are there", (int)getpid(), i, written);
		if (!info.valid_data || pose.count != i)
			ck_abort_msg("process %d: %d where %d is expected", (int)getpid(), pose.count, i);
	}
	well(whorl_dds_delete(reader));
}

/* Comes, finds all, adds one, goes when another one is there. One at a time comes; going is at any time. */
static void relay(uint32_t number)
{
	unsigned random = (unsigned)getpid();

	for (int round = 0; round < ROUNDS; round++) {
		struct place place;
		whorl_dds_entity writer;
		int turn = 0;

		while (!atomic_compare_exchange_weak(&board->step[0], &turn, 1)) {
			turn = 0;
			moment();
		}
		place = enter(number, "poses", STORED);
		has_all(&place, atomic_load(&board->step[DONE]));
		writer = new_writer(&place, "writer_data_lifecycle=off");
		well(whorl_dds_write(writer, &(struct pose){.id = 1, .count = atomic_load(&board->step[DONE])}));
		well(whorl_dds_wait_for_acks(writer, patience()));
		atomic_fetch_add(&board->step[DONE], 1);
		atomic_fetch_add(&board->step[HERE], 1);
		atomic_store(&board->step[0], 0);
		/* One that has it stays, and so does one that has done all its rounds, to the end. */
		while (atomic_load(&board->step[DONE]) < PROCESSES * ROUNDS) {
			int here = atomic_load(&board->step[HERE]);

			if (round < ROUNDS - 1 && here > 1 && rand_r(&random) % 4 == 0 &&
			    atomic_compare_exchange_weak(&board->step[HERE], &here, here - 1))
				break;
			moment();
		}
		well(whorl_dds_delete(place.participant));
	}
}

START_TEST(in_any_order)
{
	pid_t pids[PROCESSES];
	struct place place;

	for (int i = 0; i < PROCESSES; i++)
		pids[i] = begin_process(relay, domain());
	for (int i = 0; i < PROCESSES; i++)
		await_end(pids[i], false);
	ck_assert_int_eq(atomic_load(&board->step[DONE]), PROCESSES * ROUNDS);
	/* The last one has ended the group: nothing is left of it. */
	place.participant = made(whorl_dds_create_participant(domain(), NULL, NULL));
	ck_assert_int_eq(whorl_dds_find_topic(place.participant, "poses", 0), WHORL_DDS_RETCODE_TIMEOUT);
	place.topic = new_topic(place.participant, "poses", STORED);
	has_all(&place, 0);
	ck_assert_int_eq(samples_of(new_reader(&place, ALL)), 0);
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* All come and go as they like. Nothing fails, whatever meets what. */
static void come_and_go(uint32_t number)
{
	unsigned random = (unsigned)getpid();

	for (int round = 0; round < 2 * ROUNDS; round++) {
		struct place place = enter(number, "poses", STORED);
		whorl_dds_entity reader = new_reader(&place, ALL), writer;

		for (int i = rand_r(&random) % 30; i > 0; i--)
			moment();
		writer = new_writer(&place, "reliability=reliable reliability.max_blocking=20s");
		well(whorl_dds_write(writer, &(struct pose){.id = (int)getpid(), .count = round}));
		if (rand_r(&random) % 2 == 0)
			well(whorl_dds_wait_for_acks(writer, patience()));
		if (rand_r(&random) % 2 == 0)
			well(whorl_dds_delete(reader));
		well(whorl_dds_delete(place.participant));
	}
}

START_TEST(as_they_like)
{
	pid_t pids[PROCESSES];

	for (int i = 0; i < PROCESSES; i++)
		pids[i] = begin_process(come_and_go, domain());
	for (int i = 0; i < PROCESSES; i++)
		await_end(pids[i], false);
}
END_TEST

int main(void)
{
	const struct named_test tests[] = {
		{"order", in_any_order},
		{"like", as_they_like},
	};

	return run_processes("dds_come_and_go", tests, sizeof(tests) / sizeof(tests[0]));
}
