/* test_dds_qos_later.c - policies that change: an ordered message, so all have it at one place, and what is written before and behind it has
 * its effect alike.
 * Labels: threads
 */
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/support/dds_domain.h"

struct pose {
	int32_t id;
	int32_t count;
};

WHORL_DDS_TYPE(pose_type, struct pose, WHORL_DDS_KEY(struct pose, id), WHORL_DDS_FIELD(struct pose, count));

static void change(whorl_dds_entity entity, const char *policies)
{
	whorl_dds_qos *of = qos(policies);

	well(whorl_dds_set_qos(entity, of));
	whorl_dds_delete_qos(of);
}

/* The text of one policy, as the entity has it. */
static void ck_policy(whorl_dds_entity entity, const char *expected)
{
	whorl_dds_qos *is = whorl_dds_create_qos(), *merged = qos(expected);

	ck_assert_ptr_nonnull(is);
	well(whorl_dds_get_qos(entity, is));
	well(whorl_dds_merge_qos(merged, is)); /* what is expected, and all else as it is */
	ck_assert_msg(whorl_dds_qos_equal(merged, is), "%s is not what it has", expected);
	whorl_dds_delete_qos(is);
	whorl_dds_delete_qos(merged);
}

static int taken(whorl_dds_entity reader)
{
	struct whorl_dds_sample_info infos[16] = {{.size = sizeof(infos[0])}};
	void *data[16] = {NULL};
	int count = whorl_dds_take(reader, data, infos, 16), valid = 0;

	ck_assert_int_ge(count, 0);
	for (int i = 0; i < count; i++)
		valid += infos[i].valid_data;
	well(whorl_dds_return_loan(reader, data, count));
	return valid;
}

/* A partition that a publisher leaves, and enters again, with all of its writers. */
START_TEST(partitions_change_at_one_place)
{
	struct place place = place_of(&pose_type, "poses", "");
	whorl_dds_entity publisher = made(whorl_dds_create_publisher(place.participant, NULL, NULL));
	struct place below = {publisher, place.topic};
	whorl_dds_entity writers[2] = {new_writer(&below, ""), new_writer(&below, "")};
	whorl_dds_entity reader = new_reader(&place, RELIABLE_ALL),
			 apart = new_reader(&place, RELIABLE_ALL " partition=x");

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 2; i++)
			well(whorl_dds_write(writers[i], &(struct pose){.id = i}));
		change(publisher, round % 2 == 0 ? "partition=x" : "partition=");
		for (int i = 0; i < 2; i++)
			well(whorl_dds_wait_for_acks(writers[i], patience()));
		ck_assert_int_eq(taken(reader), round % 2 == 0 ? 2 : 0);
		ck_assert_int_eq(taken(apart), round % 2 == 0 ? 0 : 2);
	}
	ck_assert_int_eq(whorl_dds_get_matched_subscriptions(writers[1], NULL, 0), 1);
	ck_policy(publisher, "partition=x");
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* Its strength makes it the owner from there on, at all readers. */
START_TEST(an_owner_changes_at_one_place)
{
	struct place place = place_of(&pose_type, "poses", "ownership=exclusive");
	whorl_dds_entity first = new_writer(&place, "ownership_strength=5");
	whorl_dds_entity second = new_writer(&place, "ownership_strength=1");
	whorl_dds_entity readers[2] = {new_reader(&place, RELIABLE_ALL), new_reader(&place, RELIABLE_ALL)};
	struct whorl_dds_sample_info info;
	void *data;

	for (int i = 0; i < 4; i++) {
		if (i == 2)
			change(second, "ownership_strength=9");
		well(whorl_dds_write(first, &(struct pose){.id = 1, .count = i}));
		well(whorl_dds_write(second, &(struct pose){.id = 1, .count = 100 + i}));
	}
	for (int r = 0; r < 2; r++)
		for (int i = 0; i < 4; i++) {
			take_lent(readers[r], &data, &info);
			ck_assert_int_eq(((const struct pose *)data)->count, i < 2 ? i : 100 + i);
		}
	ck_policy(second, "ownership_strength=9");
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* What no longer fits ends a match, and both sides are told why. */
START_TEST(a_deadline_that_fits_no_more)
{
	struct place place = place_of(&pose_type, "poses", "");
	whorl_dds_entity writer = new_writer(&place, "deadline=1s"), reader = new_reader(&place, "deadline=2s");
	struct whorl_dds_incompatible_qos_status refusal = {0};

	ck_assert_int_eq(whorl_dds_get_matched_publications(reader, NULL, 0), 1);
	change(reader, "deadline=500ms");
	ck_assert_int_eq(whorl_dds_get_matched_publications(reader, NULL, 0), 0);
	well(whorl_dds_take_status(writer, WHORL_DDS_OFFERED_INCOMPATIBLE_QOS_STATUS, &refusal, sizeof(refusal)));
	ck_assert_int_eq(refusal.last_policy_id, WHORL_DDS_POLICY_DEADLINE);
	change(writer, "deadline=100ms");
	ck_assert_int_eq(whorl_dds_get_matched_publications(reader, NULL, 0), 1);
	ck_policy(writer, "deadline=100ms");
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* What is fixed is refused, and nothing of it is changed, whatever else was to be. */
START_TEST(what_is_fixed)
{
	struct place place = place_of(&pose_type, "poses", "");
	whorl_dds_entity writer = new_writer(&place, "reliability=reliable deadline=1s");
	whorl_dds_qos *fixed = qos("reliability=best_effort deadline=2s user_data=x"),
		      *same = qos("reliability=reliable");
	whorl_dds_qos *wrong = qos("time_based_filter=2s deadline=1s");
	whorl_dds_entity reader = new_reader(&place, "deadline=3s");

	refused(IMMUTABLE_POLICY, whorl_dds_set_qos(writer, fixed));
	ck_policy(writer, "reliability=reliable deadline=1s user_data=");
	well(whorl_dds_set_qos(writer, same)); /* as it is */
	refused(INCONSISTENT_POLICY, whorl_dds_set_qos(reader, wrong));
	ck_policy(reader, "deadline=3s time_based_filter=0s");
	refused(IMMUTABLE_POLICY, whorl_dds_set_qos(place.topic, same));
	whorl_dds_delete_qos(fixed);
	whorl_dds_delete_qos(same);
	whorl_dds_delete_qos(wrong);
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* That it is said how long writers wait says not that they drop: of the topic, of another that finds it registered, of a writer. */
START_TEST(what_is_set_in_part)
{
	struct place place = place_of(&pose_type, "poses", "reliability.max_blocking=7s"), again = place;
	whorl_dds_entity reader = new_reader(&place, "reliability=reliable"), writers[3];

	again.topic = made(whorl_dds_find_topic(place.participant, "poses", 0)); /* as it is registered */
	writers[0] = new_writer(&place, "");
	writers[1] = new_writer(&again, "");
	writers[2] = new_writer(&again, "reliability.max_blocking=9s");
	for (int i = 0; i < 3; i++)
		ck_policy(writers[i], i < 2 ? "reliability=reliable reliability.max_blocking=7s"
					    : "reliability=reliable reliability.max_blocking=9s");
	ck_assert_int_eq(whorl_dds_get_matched_publications(reader, NULL, 0), 3);
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* ---- of another process ------------------------------------------------------------------------------------------------------- */

#define need(condition) ((condition) ? (void)0 : (fprintf(stderr, "%s: %s\n", #condition, whorl_dds_text()), _exit(1)))
#define ROUNDS 20

/* Writes one number in each partition, and goes from one to the other. */
static void write_and_change(uint32_t number, atomic_int *step)
{
	whorl_dds_qos *of[2] = {whorl_dds_create_qos(), whorl_dds_create_qos()};
	whorl_dds_entity participant, topic, writer;

	need(whorl_dds_qos_parse(of[0], "partition=even") == OK && whorl_dds_qos_parse(of[1], "partition=odd") == OK);
	participant = whorl_dds_create_participant(number, NULL, NULL);
	topic = whorl_dds_create_topic(participant, &pose_type, "poses", NULL, NULL);
	writer = whorl_dds_create_writer(participant, topic, of[0], NULL);
	need(writer > 0);
	atomic_store(step, 1);
	while (atomic_load(step) < 2)
		moment();
	for (int i = 0; i < ROUNDS; i++) {
		need(whorl_dds_write(writer, &(struct pose){.id = 1, .count = i}) == OK);
		need(whorl_dds_set_qos(whorl_dds_get_parent(writer), of[(i + 1) % 2]) == OK);
	}
	for (;;)
		pause();
}

START_TEST(changes_of_others_come_in_order)
{
	atomic_int *step = mmap(NULL, sizeof(*step), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct whorl_dds_sample_info info;
	uint32_t number = domain();
	struct place place;
	whorl_dds_entity readers[2];
	void *data;
	pid_t pid;

	ck_assert_ptr_ne(step, MAP_FAILED);
	pid = fork();
	if (pid == 0) {
		alarm((unsigned)test_patience(60));
		write_and_change(number, step);
	}
	until(atomic_load(step) == 1);
	place = place_of(&pose_type, "poses", "");
	readers[0] = new_reader(&place, RELIABLE_ALL " partition=even");
	readers[1] = new_reader(&place, RELIABLE_ALL " partition=odd");
	atomic_store(step, 2);
	for (int i = 0; i < ROUNDS; i++) { /* each has its own, all of it, and nothing else */
		do
			take_lent(readers[i % 2], &data, &info);
		while (!info.valid_data);
		ck_assert_int_eq(((const struct pose *)data)->count, i);
	}
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	well(whorl_dds_delete(place.participant));
	munmap(step, sizeof(*step));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {partitions_change_at_one_place,
				      an_owner_changes_at_one_place,
				      a_deadline_that_fits_no_more,
				      what_is_fixed,
				      what_is_set_in_part,
				      changes_of_others_come_in_order};

	return run_tests("dds_qos_later", tests, sizeof(tests) / sizeof(tests[0]));
}
