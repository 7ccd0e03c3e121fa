/* test_dds_many.c - participants, each a process, that start at once: all match in time, 100 in 10 s, and each gets what the others write.
 * Labels: threads
 *
 *     WHORL_DDS_MANY=n   so many, instead of 24: the soak takes 100
 */
#include "tests/support/dds_world.h"

#define MANY 24
#define MOST 100

enum { GO, MATCHED, HEARD, LEAVE, STEPS = 16 };

static const char *const steps[] = {"participants", "topics", "readers", "writers", "matches"};

#define COUNT (sizeof(steps) / sizeof(steps[0]))

static int many;

/* From the first one's start, on a machine that does nothing else. */
static whorl_dds_duration matched_ns(void)
{
	return 10 * SECOND * (many > 40 ? many : 40) / MOST;
}

/* So many would take the processors if they looked each millisecond. */
static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
}

static void await_board(int which, int most)
{
	whorl_dds_time until = whorl_dds_now() + 6 * patience();

	while (atomic_load(&board->step[which]) < most) {
		if (whorl_dds_now() > until)
			ck_abort_msg("%d of %d", atomic_load(&board->step[which]), most);
		nap();
	}
}

static void one_of_many(uint32_t number)
{
	struct whorl_dds_sample_info info;
	whorl_dds_entity reader, writer;
	struct place place;
	struct pose pose = {0};

	await_board(GO, 1);
	place.participant = made(whorl_dds_create_participant(number, NULL, NULL));
	atomic_fetch_add(&board->step[STEPS], 1);
	place.topic = new_topic(place.participant, "poses", "");
	atomic_fetch_add(&board->step[STEPS + 1], 1);
	reader = new_reader(&place, "reliability=reliable history=all");
	atomic_fetch_add(&board->step[STEPS + 2], 1);
	writer = new_writer(&place, "reliability=reliable reliability.max_blocking=60s writer_data_lifecycle=off");
	atomic_fetch_add(&board->step[STEPS + 3], 1);
	while (matched_of(reader, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS) < many ||
	       matched_of(writer, WHORL_DDS_PUBLICATION_MATCHED_STATUS) < many)
		nap(); /* the alarm ends it */
	atomic_fetch_add(&board->step[STEPS + 4], 1);
	atomic_fetch_add(&board->step[MATCHED], 1);
	await_board(MATCHED, many);
	well(whorl_dds_write(writer, &(struct pose){.id = (int)getpid()}));
	for (int i = 0; i < many;) {
		if (take_now(reader, &pose, &info))
			i++;
		else
			nap();
	}
	atomic_fetch_add(&board->step[HEARD], 1);
	await_board(LEAVE, 1);
	well(whorl_dds_delete(place.participant));
}

/* Tells when all have come so far. */
static void watch(whorl_dds_time begin)
{
	static bool told[COUNT];

	for (size_t i = 0; i < COUNT; i++) {
		if (told[i] || atomic_load(&board->step[STEPS + i]) < many)
			continue;
		told[i] = true;
		printf("%d %s after %.2f s\n", many, steps[i], (double)(whorl_dds_now() - begin) / (double)SECOND);
	}
}

START_TEST(all_match)
{
	whorl_dds_time begin, until;
	pid_t pids[MOST];

	for (int i = 0; i < many; i++)
		pids[i] = begin_process(one_of_many, domain());
	begin = whorl_dds_now();
	until = begin + (whorl_dds_time)test_patience(3 * matched_ns());
	reach(GO, 1);
	while (atomic_load(&board->step[MATCHED]) < many && whorl_dds_now() < until) {
		watch(begin);
		moment();
	}
	watch(begin);
	printf("%d of %d matched after %.2f s\n", atomic_load(&board->step[MATCHED]), many,
	       (double)(whorl_dds_now() - begin) / (double)SECOND);
	ck_assert_int_eq(atomic_load(&board->step[MATCHED]), many);
	ck_assert_int_lt(whorl_dds_now() - begin, (whorl_dds_time)test_patience(matched_ns()));
	await(HEARD, many);
	reach(LEAVE, 1);
	for (int i = 0; i < many; i++)
		await_end(pids[i], false);
}
END_TEST

int main(void)
{
	const struct named_test tests[] = {{"match", all_match}};
	const char *text = getenv("WHORL_DDS_MANY");

	many = text != NULL ? atoi(text) : MANY;
	if (many < 1 || many > MOST)
		many = MANY;
	return run_processes("dds_many", tests, sizeof(tests) / sizeof(tests[0]));
}
