/* test_dds_node.c - topics on a group: participants of one process, and of several, which come, write, and are killed.
 * Labels: threads
 *
 * Each test has a domain of its own; processes are forked before this one has a node.
 */
#include <poll.h>
#include <pthread.h>

#include "dds/node.h"
#include "tests/support/dds_world.h"

/* Takes one, and waits for it. */
static struct pose take_woken(whorl_dds_entity participant, whorl_dds_entity reader, struct whorl_dds_sample_info *info)
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
	pose = take_woken(place.participant, reader, &info);
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

/* ---- several processes --------------------------------------------------------------------------------------------------------- */

#define STORED "consistency=stored durability=transient_local history=all"

/* Writes ten of two instances, says so, and waits for what becomes of it. */
static void write_ten(uint32_t number)
{
	struct place place = enter(number, "poses", STORED);
	whorl_dds_entity writer = new_writer(&place, "");

	for (int i = 0; i < 10; i++)
		need(whorl_dds_write(writer, &(struct pose){.id = i % 2, .count = i}) == OK);
	need(whorl_dds_wait_for_acks(writer, patience()) == OK);
	reach(1, 1);
	for (;;)
		pause();
}

START_TEST(hello_between_processes_and_history_for_a_late_one)
{
	pid_t pid = begin_process(write_ten, domain());
	struct whorl_dds_sample_info infos[20] = {{.size = sizeof(infos[0])}};
	void *data[20] = {NULL};
	struct place place;
	whorl_dds_entity reader;

	await(1, 1);
	place = enter(domain(), "poses", STORED);
	reader = new_reader(&place, "reliability=reliable");
	well(whorl_dds_wait_for_historical_data(reader, patience()));
	ck_assert_int_eq(whorl_dds_take(reader, data, infos, 20), 10);
	for (int i = 0; i < 10; i++) { /* those of an instance follow each other, in their order */
		const struct pose *pose = data[i];

		ck_assert_int_eq(pose->id, infos[0].instance_handle == infos[i].instance_handle
						   ? ((const struct pose *)data[0])->id
						   : 1 - ((const struct pose *)data[0])->id);
		ck_assert_int_eq(pose->count, 2 * (i % 5) + pose->id);
		ck_assert_uint_eq(infos[i].number, (uint64_t)pose->count + 1);
		ck_assert(infos[i].valid_data);
	}
	well(whorl_dds_return_loan(reader, data, 10));
	kill(pid, SIGKILL);
	await_end(pid, true);
	well(whorl_dds_delete(place.participant));
}
END_TEST

START_TEST(a_writer_that_is_killed)
{
	struct whorl_dds_matched_status matched = {0};
	struct whorl_dds_sample_info info = {.size = sizeof(info)};
	pid_t pid = begin_process(write_ten, domain());
	struct place place;
	whorl_dds_entity reader;
	int data[2] = {0}, ends = 0;

	await(1, 1);
	place = enter(domain(), "poses", STORED);
	reader = new_reader(&place, "reliability=reliable history=all");
	well(whorl_dds_read_status(reader, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS, &matched, sizeof(matched)));
	ck_assert_uint_eq(matched.current_count, 1);
	kill(pid, SIGKILL);
	await_end(pid, true);
	while (ends < 2) {
		struct pose pose = take_woken(place.participant, reader, &info);

		ck_assert(pose.id == 0 || pose.id == 1); /* or else its key */
		if (info.valid_data) {
			data[pose.id]++;
			continue;
		}
		ck_assert_uint_eq(info.instance_state, WHORL_DDS_NOT_ALIVE_NO_WRITERS_INSTANCE_STATE);
		ck_assert_int_eq(data[pose.id], 5);
		ends++;
	}
	for (whorl_dds_time until = whorl_dds_now() + patience(); matched.current_count > 0;) { /* a moment later */
		ck_assert_msg(whorl_dds_now() < until, "it matches for ever");
		well(whorl_dds_read_status(reader, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS, &matched, sizeof(matched)));
	}
	well(whorl_dds_take_status(reader, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS, &matched, sizeof(matched)));
	ck_assert_int_eq(matched.current_count_change, 0);
	ck_assert_uint_eq(matched.total_count, 1);
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* Writes until it is told to end. */
static void write_on(uint32_t number)
{
	struct place place = enter(number, "poses", "");
	whorl_dds_entity writer = new_writer(&place, "reliability=reliable reliability.max_blocking=20s");

	reach(1, 1);
	for (int i = 0; atomic_load(&board->step[0]) < 1; i++) {
		const struct timespec moment = {.tv_nsec = 200000};

		need(whorl_dds_write(writer, &(struct pose){.id = 1, .count = i}) == OK);
		nanosleep(&moment, NULL);
	}
	need(whorl_dds_delete(writer) == OK);
	need(whorl_dds_delete(place.participant) == OK);
}

/* One that reads all gets what follows on each other, from some place on to the end. */
START_TEST(a_reader_misses_nothing_from_its_place_on)
{
	pid_t pid = begin_process(write_on, domain());
	struct whorl_dds_sample_info info = {.size = sizeof(info)};
	int count = 0, next = -1;
	struct place place;
	whorl_dds_entity reader;

	await(1, 1);
	place = enter(domain(), "poses", "");
	reader = new_reader(&place, "reliability=reliable history=all resource_limits.samples=10");
	do {
		struct pose pose = take_woken(place.participant, reader, &info);

		if (info.valid_data) {
			ck_assert_msg(next < 0 || pose.count == next, "%d where %d was expected", pose.count, next);
			next = pose.count + 1;
		}
		if (++count == 200)
			reach(0, 1);
	} while (info.instance_state == WHORL_DDS_ALIVE_INSTANCE_STATE);
	ck_assert_uint_eq(info.instance_state, WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE);
	ck_assert_int_ge(count, 200);
	await_end(pid, false);
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* ---- topics and policies ------------------------------------------------------------------------------------------------------- */

static const struct whorl_dds_field x_alone[] = {WHORL_DDS_FIELD(struct pose, x)};

START_TEST(what_differs_is_refused)
{
	struct whorl_dds_type other = pose_type;
	struct place place = enter(domain(), "poses", "");
	whorl_dds_qos *late = qos("durability=transient_local");
	char name[16];

	other.fields = x_alone;
	other.field_count = 1;
	ck_assert_int_eq(whorl_dds_create_topic(place.participant, &other, "poses", NULL, NULL),
			 WHORL_DDS_RETCODE_PRECONDITION_NOT_MET);
	ck_assert_msg(strstr(whorl_dds_text(), "its type is struct pose") != NULL, "%s", whorl_dds_text());
	ck_assert_int_eq(whorl_dds_create_topic(place.participant, &pose_type, "a b", NULL, NULL),
			 WHORL_DDS_RETCODE_BAD_PARAMETER);
	ck_assert_int_eq(whorl_dds_create_reader(place.participant, place.topic, late, NULL),
			 WHORL_DDS_RETCODE_INCONSISTENT_POLICY);
	ck_assert_int_eq(whorl_dds_create_reader(place.topic, place.topic, NULL, NULL),
			 WHORL_DDS_RETCODE_ILLEGAL_OPERATION);
	ck_assert_int_eq(whorl_dds_find_topic(place.participant, "none", 0), WHORL_DDS_RETCODE_TIMEOUT);
	ck_assert_int_eq(whorl_dds_get_name(place.topic, name, sizeof(name)), 5);
	ck_assert_str_eq(name, "poses");
	well(whorl_dds_delete(made(whorl_dds_find_topic(place.participant, "poses", 0))));
	whorl_dds_delete_qos(late);
	well(whorl_dds_delete(place.participant));
}
END_TEST

START_TEST(matches_and_changes)
{
	struct place place = enter(domain(), "poses", "");
	struct whorl_dds_incompatible_qos_status refused = {0};
	struct whorl_dds_matched_status matched = {0};
	whorl_dds_entity writer = new_writer(&place, "partition=a deadline=1s");
	whorl_dds_entity strict = new_reader(&place, "partition=a deadline=100ms");
	whorl_dds_entity reader = new_reader(&place, "partition=b");
	whorl_dds_instance_handle handle = 0, mine = 1;
	whorl_dds_qos *both = qos("partition=a,b");

	ck_assert_int_eq(whorl_dds_get_matched_subscriptions(writer, &handle, 1), 0);
	well(whorl_dds_take_status(strict, WHORL_DDS_REQUESTED_INCOMPATIBLE_QOS_STATUS, &refused, sizeof(refused)));
	ck_assert_uint_eq(refused.total_count, 1);
	ck_assert_int_eq(refused.last_policy_id, WHORL_DDS_POLICY_DEADLINE);
	well(whorl_dds_set_qos(whorl_dds_get_parent(reader), both));
	ck_assert_int_eq(whorl_dds_get_matched_subscriptions(writer, &handle, 1), 1);
	well(whorl_dds_get_instance_handle(reader, &mine));
	ck_assert_uint_eq(handle, mine);
	well(whorl_dds_read_status(writer, WHORL_DDS_PUBLICATION_MATCHED_STATUS, &matched, sizeof(matched)));
	ck_assert_uint_eq(matched.current_count, 1);
	ck_assert_uint_eq(matched.last_handle, mine);
	well(whorl_dds_delete(reader));
	ck_assert_int_eq(whorl_dds_get_matched_subscriptions(writer, &handle, 1), 0);
	whorl_dds_delete_qos(both);
	well(whorl_dds_delete(place.participant));
}
END_TEST

START_TEST(instances_live_and_end)
{
	struct place place = enter(domain(), "poses", "");
	whorl_dds_entity reader = new_reader(&place, "reliability=reliable history=all");
	whorl_dds_entity writer = new_writer(&place, "writer_data_lifecycle=off");
	struct pose pose = {.id = 9};
	struct whorl_dds_sample_info info = {.size = sizeof(info)};
	whorl_dds_instance_handle handle = 0;
	struct pose key = {.x = 2};

	ck_assert_int_eq(whorl_dds_unregister_instance(writer, &pose), WHORL_DDS_RETCODE_PRECONDITION_NOT_MET);
	well(whorl_dds_register_instance(writer, &handle, &pose));
	ck_assert_uint_ne(handle, 0);
	ck_assert_uint_eq(whorl_dds_lookup_instance(reader, &pose), 0);
	well(whorl_dds_write(writer, &pose));
	(void)take_woken(place.participant, reader, &info);
	ck_assert_uint_eq(info.instance_handle, handle);
	well(whorl_dds_instance_get_key(reader, handle, &key));
	ck_assert_int_eq(key.id, 9);
	ck_assert_double_eq(key.x, 0);
	well(whorl_dds_dispose(writer, &pose));
	(void)take_woken(place.participant, reader, &info);
	ck_assert(!info.valid_data);
	ck_assert_uint_eq(info.instance_state, WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE);
	well(whorl_dds_write(writer, &pose));
	(void)take_woken(place.participant, reader, &info);
	ck_assert_uint_eq(info.disposed_generation_count, 1);
	well(whorl_dds_unregister_instance(writer, &pose));
	(void)take_woken(place.participant, reader, &info);
	ck_assert_uint_eq(info.instance_state, WHORL_DDS_NOT_ALIVE_NO_WRITERS_INSTANCE_STATE);
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* What is written again and again is looked for once: not when it was removed, and no other. */
START_TEST(an_instance_that_was_removed_is_added_again)
{
	struct place place = enter(domain(), "poses", "");
	whorl_dds_entity writer = new_writer(&place, "resource_limits.instances=1");
	struct pose pose = {.id = 9}, other = {.id = 10}, key;
	whorl_dds_instance_handle handle;

	for (int i = 0; i < 3; i++)
		well(whorl_dds_write(writer, &pose));
	handle = whorl_dds_lookup_instance(writer, &pose);
	ck_assert_uint_ne(handle, 0);
	ck_assert_int_eq(whorl_dds_write(writer, &other), WHORL_DDS_RETCODE_OUT_OF_RESOURCES);
	well(whorl_dds_unregister_instance(writer, &pose));
	ck_assert_int_eq(whorl_dds_unregister_instance(writer, &pose), WHORL_DDS_RETCODE_PRECONDITION_NOT_MET);
	ck_assert_uint_eq(whorl_dds_lookup_instance(writer, &pose), 0);
	well(whorl_dds_write(writer, &pose));
	ck_assert_uint_eq(whorl_dds_lookup_instance(writer, &pose), handle);
	well(whorl_dds_instance_get_key(writer, handle, &key));
	ck_assert_int_eq(key.id, 9);
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* ---- listeners ----------------------------------------------------------------------------------------------------------------- */

static struct heard {
	atomic_int data, matched, in_place, deleted;
	atomic_int last;
} heard;

static void on_data(whorl_dds_entity reader, void *arg)
{
	struct whorl_dds_sample_info info = {.size = sizeof(info)};
	struct pose pose;
	void *data[1] = {&pose};

	ck_assert_ptr_eq(arg, &heard);
	while (whorl_dds_take(reader, data, &info, 1) == 1) {
		atomic_store(&heard.last, pose.count);
		atomic_fetch_add(&heard.data, 1);
	}
}

static void on_matched(whorl_dds_entity endpoint, const struct whorl_dds_matched_status *status, void *arg)
{
	(void)endpoint;
	(void)arg;
	atomic_fetch_add(&heard.matched, status->current_count_change);
}

static void in_place(whorl_dds_entity reader, const void *data, const struct whorl_dds_sample_info *info, void *arg)
{
	(void)arg;
	if (whorl_dds_delete(reader) != WHORL_DDS_RETCODE_ILLEGAL_OPERATION || !info->valid_data)
		return;
	atomic_fetch_add(&heard.in_place, ((const struct pose *)data)->count);
}

static void await_count(atomic_int *count, int most)
{
	whorl_dds_time until = whorl_dds_now() + patience();

	while (atomic_load(count) < most) {
		ck_assert_msg(whorl_dds_now() < until, "%d where %d is expected", atomic_load(count), most);
		moment();
	}
	ck_assert_int_eq(atomic_load(count), most);
}

START_TEST(listeners_hear)
{
	struct place place = enter(domain(), "poses", "");
	whorl_dds_listener *listener = whorl_dds_create_listener(&heard), *placed = whorl_dds_create_listener(NULL);
	whorl_dds_qos *all = qos("reliability=reliable history=all");
	whorl_dds_entity writer, first, second;

	ck_assert_ptr_nonnull(listener);
	ck_assert_ptr_nonnull(placed);
	whorl_dds_lset_data_available(listener, on_data);
	whorl_dds_lset_subscription_matched(listener, on_matched);
	whorl_dds_lset_in_place(placed, in_place);
	first = made(whorl_dds_create_reader(place.participant, place.topic, all, listener));
	second = made(whorl_dds_create_reader(place.participant, place.topic, all, placed));
	writer = new_writer(&place, "reliability=reliable reliability.max_blocking=20s");
	for (int i = 1; i <= 100; i++)
		well(whorl_dds_write(writer, &(struct pose){.id = 1, .count = i}));
	await_count(&heard.data, 100);
	await_count(&heard.in_place, 5050);
	ck_assert_int_eq(atomic_load(&heard.last), 100);
	ck_assert_int_eq(atomic_load(&heard.matched), 1);
	well(whorl_dds_set_listener(first, NULL));
	well(whorl_dds_write(writer, &(struct pose){.id = 1, .count = 1}));
	await_count(&heard.in_place, 5051);
	ck_assert_int_eq(atomic_load(&heard.data), 100);
	ck_assert_int_eq(whorl_dds_read(second, (void *[]){NULL}, &(struct whorl_dds_sample_info){.size = 8}, 1),
			 WHORL_DDS_RETCODE_ILLEGAL_OPERATION);
	whorl_dds_delete_listener(listener);
	whorl_dds_delete_listener(placed);
	whorl_dds_delete_qos(all);
	well(whorl_dds_delete(place.participant));
}
END_TEST

static void delete_all(whorl_dds_entity reader, void *arg)
{
	(void)arg;
	if (whorl_dds_delete(whorl_dds_get_participant(reader)) == OK)
		atomic_fetch_add(&heard.deleted, 1);
}

/* The thread that runs the listener is the one that goes with it. */
START_TEST(a_listener_deletes_its_participant)
{
	struct place place = enter(domain(), "poses", "");
	whorl_dds_listener *listener = whorl_dds_create_listener(NULL);
	whorl_dds_entity writer = new_writer(&place, "");

	ck_assert_ptr_nonnull(listener);
	whorl_dds_lset_data_available(listener, delete_all);
	made(whorl_dds_create_reader(place.participant, place.topic, NULL, listener));
	well(whorl_dds_write(writer, &(struct pose){.id = 1}));
	await_count(&heard.deleted, 1);
	ck_assert_int_eq(whorl_dds_delete(place.participant), WHORL_DDS_RETCODE_ALREADY_DELETED);
	whorl_dds_delete_listener(listener);
	place = enter(domain(), "poses", ""); /* the domain is there for the next one */
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* ---- a reader that is full ----------------------------------------------------------------------------------------------------- */

START_TEST(a_full_reader_holds_up_its_writers)
{
	struct place place = enter(domain(), "poses", "");
	whorl_dds_entity reader = new_reader(&place, "reliability=reliable history=all resource_limits.samples=3");
	whorl_dds_entity writer = new_writer(&place, "reliability=reliable reliability.max_blocking=50ms");
	struct whorl_dds_sample_info info = {.size = sizeof(info)};
	struct whorl_dds_sample_lost_status lost = {1, 1};
	int written = 0;

	while (whorl_dds_write(writer, &(struct pose){.id = 1, .count = written}) == OK)
		ck_assert_int_lt(++written, 10000);
	ck_assert_int_eq(whorl_dds_write(writer, &(struct pose){.id = 1}), WHORL_DDS_RETCODE_TIMEOUT);
	ck_assert_int_gt(written, 3);
	for (int i = 0; i < written; i++)
		ck_assert_int_eq(take_woken(place.participant, reader, &info).count, i);
	well(whorl_dds_read_status(reader, WHORL_DDS_SAMPLE_LOST_STATUS, &lost, sizeof(lost)));
	ck_assert_uint_eq(lost.total_count, 0);
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* ---- time, sets, domains ------------------------------------------------------------------------------------------------------- */

START_TEST(a_set_is_seen_as_a_whole)
{
	struct place place = enter(domain(), "poses", "");
	whorl_dds_entity reader = new_reader(&place, "reliability=reliable history=all presentation=topic "
						     "presentation.coherent=on");
	whorl_dds_entity writer = new_writer(&place, "presentation=topic presentation.coherent=on");

	ck_assert_int_eq(whorl_dds_end_coherent(writer), WHORL_DDS_RETCODE_PRECONDITION_NOT_MET);
	well(whorl_dds_begin_coherent(writer));
	for (int i = 0; i < 3; i++)
		well(whorl_dds_write(writer, &(struct pose){.id = i}));
	well(whorl_dds_wait_for_acks(writer, patience()));
	ck_assert_int_eq(samples_of(reader), 0);
	well(whorl_dds_end_coherent(writer));
	well(whorl_dds_write(writer, &(struct pose){.id = 3}));
	well(whorl_dds_wait_for_acks(writer, patience()));
	ck_assert_int_eq(samples_of(reader), 4);
	well(whorl_dds_delete(place.participant));
}
END_TEST

START_TEST(times_that_run_out)
{
	struct place place = enter(domain(), "poses", "");
	whorl_dds_entity reader = new_reader(&place, "deadline=30ms");
	whorl_dds_entity writer = new_writer(&place, "deadline=30ms liveliness=manual_by_topic liveliness.lease=100ms");
	struct whorl_dds_liveliness_changed_status changed = {0};
	struct whorl_dds_deadline_missed_status missed = {0};

	well(whorl_dds_take_status(reader, WHORL_DDS_LIVELINESS_CHANGED_STATUS, &changed, sizeof(changed)));
	ck_assert_uint_eq(changed.alive_count, 1);
	well(whorl_dds_write(writer, &(struct pose){.id = 4}));
	await_status(reader, WHORL_DDS_REQUESTED_DEADLINE_MISSED_STATUS);
	well(whorl_dds_take_status(reader, WHORL_DDS_REQUESTED_DEADLINE_MISSED_STATUS, &missed, sizeof(missed)));
	ck_assert_uint_ge(missed.total_count, 1);
	ck_assert_uint_eq(missed.last_instance_handle, whorl_dds_lookup_instance(writer, &(struct pose){.id = 4}));
	await_status(writer, WHORL_DDS_LIVELINESS_LOST_STATUS);
	await_status(reader, WHORL_DDS_LIVELINESS_CHANGED_STATUS);
	well(whorl_dds_take_status(reader, WHORL_DDS_LIVELINESS_CHANGED_STATUS, &changed, sizeof(changed)));
	ck_assert_uint_eq(changed.not_alive_count, 1);
	ck_assert_uint_eq(changed.alive_count, 0);
	well(whorl_dds_assert_liveliness(writer));
	await_status(reader, WHORL_DDS_LIVELINESS_CHANGED_STATUS);
	well(whorl_dds_delete(place.participant));
}
END_TEST

START_TEST(domains_are_apart)
{
	struct place place = enter(domain(), "poses", ""), other = enter(domain() + 1, "poses", "");
	struct place again = enter(domain(), "poses", "");
	whorl_dds_entity reader = new_reader(&again, "reliability=reliable");
	whorl_dds_entity apart = new_reader(&other, "reliability=reliable");
	whorl_dds_entity writer = new_writer(&place, ""), stranger;
	struct whorl_dds_sample_info info;
	whorl_dds_entity two[3];

	ck_assert_int_eq(whorl_dds_lookup_participant(domain(), two, 3), 2);
	ck_assert_int_eq(whorl_dds_create_writer(place.participant, again.topic, NULL, NULL),
			 WHORL_DDS_RETCODE_PRECONDITION_NOT_MET);
	well(whorl_dds_write(writer, &(struct pose){.id = 1}));
	well(whorl_dds_wait_for_acks(writer, patience()));
	ck_assert_int_eq(take_woken(again.participant, reader, &info).id, 1);
	stranger = new_writer(&other, "");
	well(whorl_dds_write(stranger, &(struct pose){.id = 2}));
	ck_assert_int_eq(take_woken(other.participant, apart, &info).id, 2);
	ck_assert_int_eq(samples_of(reader), 0);
	well(whorl_dds_delete(place.participant)); /* the node goes on with the other */
	ck_assert_int_eq(whorl_dds_lookup_participant(domain(), two, 3), 1);
	ck_assert_int_eq(take_woken(again.participant, reader, &info).id, 1); /* its writer has ended, and it with it */
	ck_assert_uint_eq(info.instance_state, WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE);
	writer = new_writer(&again, "");
	well(whorl_dds_write(writer, &(struct pose){.id = 3}));
	ck_assert_int_eq(take_woken(again.participant, reader, &info).id, 3);
	well(whorl_dds_delete(other.participant));
	well(whorl_dds_delete(again.participant));
}
END_TEST

/* ---- threads ------------------------------------------------------------------------------------------------------------------- */

#define WRITES 300

struct worker {
	pthread_t thread;
	struct place place;
	int id;
};

static void *write_many(void *arg)
{
	const struct worker *worker = arg;
	whorl_dds_entity writer = new_writer(&worker->place, "reliability=reliable reliability.max_blocking=20s");

	for (int i = 0; i < WRITES; i++)
		well(whorl_dds_write(writer, &(struct pose){.id = worker->id, .count = i}));
	well(whorl_dds_delete(writer));
	return NULL;
}

static void *come_and_go(void *arg)
{
	const struct worker *worker = arg;

	for (int i = 0; i < 20; i++) {
		whorl_dds_entity reader = new_reader(&worker->place, "reliability=reliable");
		struct whorl_dds_sample_info info = {.size = sizeof(info)};
		void *data[1] = {NULL};
		int count = whorl_dds_take(reader, data, &info, 1);

		ck_assert_int_ge(count, 0);
		if (i % 2 == 0)
			well(whorl_dds_return_loan(reader, data, count));
		well(whorl_dds_delete(reader));
	}
	return NULL;
}

START_TEST(threads_write_read_and_come_and_go)
{
	struct place place = enter(domain(), "poses", "");
	whorl_dds_entity reader = new_reader(&place, "reliability=reliable history=all resource_limits.samples=20");
	struct whorl_dds_sample_info info = {.size = sizeof(info)};
	struct worker workers[4];
	int next[2] = {0}, ends = 0;

	for (int i = 0; i < 4; i++) {
		workers[i] = (struct worker){.place = place, .id = i};
		ck_assert_int_eq(
			pthread_create(&workers[i].thread, NULL, i < 2 ? write_many : come_and_go, &workers[i]), 0);
	}
	while (ends < 2) {
		struct pose pose = take_woken(place.participant, reader, &info);

		if (info.valid_data)
			ck_assert_int_eq(pose.count, next[pose.id]++);
		else
			ends++;
	}
	ck_assert_int_eq(next[0], WRITES);
	ck_assert_int_eq(next[1], WRITES);
	for (int i = 0; i < 4; i++)
		pthread_join(workers[i].thread, NULL);
	well(whorl_dds_delete(place.participant));
}
END_TEST

static void *write_until_deleted(void *arg)
{
	const struct worker *worker = arg;
	int i = 0;

	while (whorl_dds_write(worker->id, &(struct pose){.id = 1}) == OK)
		if (++i == 100)
			reach(2, 1);
	return NULL;
}

/* Others write, and wait: they are told, and nothing is touched that is gone. */
START_TEST(what_is_deleted_meanwhile)
{
	struct place place = enter(domain(), "poses", "");
	whorl_dds_entity reader = new_reader(&place, "reliability=reliable history=all resource_limits.samples=2");
	whorl_dds_entity writer = new_writer(&place, "reliability=reliable reliability.max_blocking=inf");
	struct worker worker = {.place = place, .id = (int)writer};

	ck_assert_int_gt(reader, 0);
	ck_assert_int_eq(pthread_create(&worker.thread, NULL, write_until_deleted, &worker), 0);
	await(2, 1);
	well(whorl_dds_delete(place.participant));
	pthread_join(worker.thread, NULL);
	ck_assert_int_eq(whorl_dds_lookup_participant(domain(), NULL, 0), 0);
}
END_TEST

static bool is_none(const void *sample, size_t bytes, void *arg)
{
	(void)sample, (void)bytes, (void)arg;
	return false;
}

static void *read_none(void *ctx)
{
	const struct worker *worker = ctx;
	struct whorl_dds_sample_info info = {.size = sizeof(info)};
	struct pose pose;
	void *data[1] = {&pose};
	whorl_dds_return result = whorl_dds_read(worker->id, data, &info, 1);

	return (void *)(intptr_t)(result == 0 || result == WHORL_DDS_RETCODE_ALREADY_DELETED);
}

static void *delete_it(void *ctx)
{
	return (void *)(intptr_t)(whorl_dds_delete(((const struct worker *)ctx)->id) == OK);
}

/* A thread has come to a reader with a query that selects nothing, and the query is deleted before it has the reader: it is not given all then.
 * Which of the two is first is drawn, so there are some rounds. */
START_TEST(a_query_that_is_deleted_meanwhile)
{
	struct place place = enter(domain(), "poses", "");
	whorl_dds_entity reader = new_reader(&place, "reliability=reliable");
	whorl_dds_entity writer = new_writer(&place, ""), parent;
	struct wh_dds_base *base;

	well(whorl_dds_write(writer, &(struct pose){.id = 7}));
	well(whorl_dds_wait_for_acks(writer, patience()));
	ck_assert_int_eq(WH_DDS_HOLD(reader, WH_DDS_KIND(WH_DDS_READER), &base), OK);
	for (int round = 0; round < 40; round++) {
		whorl_dds_entity query = made(whorl_dds_create_querycondition(reader, 0, is_none, NULL, NULL));
		struct worker reads = {.place = place, .id = (int)query}, deletes = reads;
		void *was_none, *was_deleted;

		pthread_mutex_lock(&base->lock);
		ck_assert_int_eq(pthread_create(&reads.thread, NULL, read_none, &reads), 0);
		usleep(round % 4 * 300); /* to the lock of the reader */
		ck_assert_int_eq(pthread_create(&deletes.thread, NULL, delete_it, &deletes), 0);
		do
			parent = whorl_dds_get_parent(query);
		while (parent != WHORL_DDS_RETCODE_ALREADY_DELETED);
		usleep(round % 3 * 300); /* and that one, too */
		pthread_mutex_unlock(&base->lock);
		pthread_join(reads.thread, &was_none);
		pthread_join(deletes.thread, &was_deleted);
		ck_assert(was_none != NULL && was_deleted != NULL);
	}
	wh_dds_let_go(base);
	well(whorl_dds_delete(place.participant));
}
END_TEST

int main(void)
{
	const struct named_test tests[] = {
		{"hello", hello_within_a_process},
		{"processes", hello_between_processes_and_history_for_a_late_one},
		{"killed", a_writer_that_is_killed},
		{"place", a_reader_misses_nothing_from_its_place_on},
		{"differs", what_differs_is_refused},
		{"matches", matches_and_changes},
		{"instances", instances_live_and_end},
		{"removed", an_instance_that_was_removed_is_added_again},
		{"listeners", listeners_hear},
		{"deletes", a_listener_deletes_its_participant},
		{"full", a_full_reader_holds_up_its_writers},
		{"sets", a_set_is_seen_as_a_whole},
		{"times", times_that_run_out},
		{"domains", domains_are_apart},
		{"threads", threads_write_read_and_come_and_go},
		{"meanwhile", what_is_deleted_meanwhile},
		{"query", a_query_that_is_deleted_meanwhile},
	};

	return run_processes("dds_node", tests, sizeof(tests) / sizeof(tests[0]));
}
