/* test_dds_builtin.c - what there is in the domain: participants, topics, writers and readers, of this process and of others.
 * Labels: threads
 *
 * The other process is forked before this one has a node. The two go by steps.
 */
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/support/dds_domain.h"

struct pose {
	int32_t id;
	int32_t count;
};

WHORL_DDS_TYPE(pose_type, struct pose, WHORL_DDS_KEY(struct pose, id), WHORL_DDS_FIELD(struct pose, count));

struct large {
	int32_t id;
	char bytes[5000];
};

WHORL_DDS_TYPE(large_type, struct large, WHORL_DDS_KEY(struct large, id), WHORL_DDS_FIELD(struct large, bytes));

/* ---- the other process ------------------------------------------------------------------------------------------------------- */

static struct board {
	atomic_int want, done; /* a step; it is done */
} * board;

static pid_t other;

#define need(condition)                                                                                                \
	((condition) ? (void)0 : (fprintf(stderr, "the other: %s: %s\n", #condition, whorl_dds_text()), _exit(1)))

static void await_want(int step)
{
	while (atomic_load(&board->want) < step)
		moment();
}

/* 1: a participant; 2: a topic with a writer; 3: another, on another channel, with a reader; 4: the writer ends; 5: to be killed. */
static void be_the_other(uint32_t number)
{
	whorl_dds_qos *of = whorl_dds_create_qos(), *named = whorl_dds_create_qos();
	struct place place, large;
	whorl_dds_entity writer;

	need(whorl_dds_qos_parse(of, "user_data=me") == OK &&
	     whorl_dds_qos_parse(named, "partition=a,b deadline=2s") == OK);
	await_want(1);
	place.participant = whorl_dds_create_participant(number, of, NULL);
	need(place.participant > 0);
	atomic_store(&board->done, 1);
	await_want(2);
	place.topic = whorl_dds_create_topic(place.participant, &pose_type, "poses", NULL, NULL);
	need(place.topic > 0);
	writer = whorl_dds_create_writer(place.participant, place.topic, named, NULL);
	need(writer > 0);
	atomic_store(&board->done, 2);
	await_want(3);
	large.topic = whorl_dds_create_topic(place.participant, &large_type, "large", NULL, NULL);
	need(large.topic > 0 && whorl_dds_create_reader(place.participant, large.topic, NULL, NULL) > 0);
	atomic_store(&board->done, 3);
	await_want(4);
	need(whorl_dds_delete(writer) == OK);
	atomic_store(&board->done, 4);
	await_want(1000);
}

static void begin_other(void)
{
	uint32_t number = domain();

	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(board, MAP_FAILED);
	other = fork();
	if (other == 0) {
		alarm((unsigned)test_patience(60));
		be_the_other(number);
		_exit(0);
	}
	ck_assert_int_gt(other, 0);
}

static void step(int number)
{
	atomic_store(&board->want, number);
	until(atomic_load(&board->done) >= number);
}

static void kill_other(void)
{
	int status = 0;

	kill(other, SIGKILL);
	ck_assert_int_eq(waitpid(other, &status, 0), other);
	ck_assert_msg(WIFSIGNALED(status), "it ended before: %x", (unsigned)status);
	munmap(board, sizeof(*board));
}

static whorl_dds_entity watch(whorl_dds_entity parent, int32_t topic)
{
	return made(whorl_dds_create_reader(parent, topic, NULL, NULL));
}

/* The next sample of this reader: a copy of the struct; what it points to is lent as long as the reader is there. */
static const void *next(whorl_dds_entity reader, struct whorl_dds_sample_info *info)
{
	void *data;

	take_lent(reader, &data, info);
	return data;
}

static int count_of(whorl_dds_entity reader)
{
	struct whorl_dds_sample_info infos[256] = {{.size = sizeof(infos[0])}};
	struct whorl_dds_select peek = {.size = sizeof(peek), .peek = true};
	void *data[256] = {NULL};
	int count = whorl_dds_read_select(reader, &peek, data, infos, 256);

	ck_assert_int_ge(count, 0);
	well(whorl_dds_return_loan(reader, data, count));
	return count;
}

/* ---- tests ------------------------------------------------------------------------------------------------------------------- */

START_TEST(participants_come_and_go)
{
	whorl_dds_entity participant, reader, group;
	const struct whorl_dds_builtin_participant *it;
	struct whorl_dds_sample_info info;
	whorl_dds_instance_handle mine = 0, theirs;
	struct whorl_dds_builtin_participant key;
	const void *data = NULL;
	size_t bytes = 0;
	whorl_dds_qos *of = qos("user_data=you");

	begin_other();
	participant = made(whorl_dds_create_participant(domain(), NULL, NULL));
	group = made(whorl_dds_create_subscriber(participant, NULL, NULL));
	reader = watch(group, WHORL_DDS_BUILTIN_TOPIC_DCPSPARTICIPANT);
	well(whorl_dds_get_instance_handle(participant, &mine));
	it = next(reader, &info);
	ck_assert(info.valid_data);
	ck_assert_uint_eq(it->handle, mine);
	ck_assert_uint_eq(info.instance_handle, mine);
	ck_assert_uint_eq(it->size, sizeof(*it));
	ck_assert_uint_ne(it->incarnation, 0);
	well(whorl_dds_set_qos(participant, of));
	it = next(reader, &info);
	ck_assert_uint_eq(it->handle, mine);
	ck_assert(whorl_dds_qget_userdata(it->qos, &data, &bytes) && bytes == 3 && memcmp(data, "you", 3) == 0);
	step(1);
	do { /* it says what it is, and then what its program has set */
		it = next(reader, &info);
		ck_assert_uint_ne(it->handle, mine);
		ck_assert(info.valid_data && whorl_dds_qget_userdata(it->qos, &data, &bytes));
	} while (bytes == 0);
	ck_assert(bytes == 2 && memcmp(data, "me", 2) == 0);
	theirs = it->handle;
	ck_assert_uint_eq(whorl_dds_lookup_instance(reader, it), theirs);
	well(whorl_dds_instance_get_key(reader, theirs, &key));
	ck_assert_uint_eq(key.handle, theirs);
	kill_other();
	it = next(reader, &info);
	ck_assert(!info.valid_data);
	ck_assert_uint_eq(info.instance_state, WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE);
	ck_assert_uint_eq(info.instance_handle, theirs);
	ck_assert_uint_eq(it->handle, theirs);
	whorl_dds_delete_qos(of);
	well(whorl_dds_delete(participant));
}
END_TEST

START_TEST(topics_come_and_go)
{
	whorl_dds_entity participant, reader, topic, late;
	const struct whorl_dds_builtin_topic *it;
	struct whorl_dds_sample_info info;
	whorl_dds_qos *of = qos("topic_data=x");
	const void *data = NULL;
	size_t bytes = 0;

	begin_other();
	participant = made(whorl_dds_create_participant(domain(), NULL, NULL));
	reader = watch(participant, WHORL_DDS_BUILTIN_TOPIC_DCPSTOPIC);
	step(2);
	it = next(reader, &info);
	ck_assert_str_eq(it->name, "poses");
	ck_assert_str_eq(it->type->name, "struct pose");
	ck_assert_uint_eq(it->type->field_count, 2);
	ck_assert_str_eq(it->type->fields[1].name, "count");
	ck_assert_int_eq(strncmp(it->channel, "dds.", 4), 0);
	ck_assert_uint_eq(it->consistency, WHORL_DDS_CONSISTENCY_ATOMIC);
	topic = topic_of(participant, &pose_type, "mine", "consistency=stored durability=transient_local");
	it = next(reader, &info);
	ck_assert_str_eq(it->name, "mine");
	ck_assert_uint_eq(it->consistency, WHORL_DDS_CONSISTENCY_STORED);
	well(whorl_dds_set_qos(topic, of));
	it = next(reader, &info);
	ck_assert_str_eq(it->name, "mine");
	ck_assert(whorl_dds_qget_topicdata(it->qos, &data, &bytes) && bytes == 1 && *(const char *)data == 'x');
	late = watch(participant, WHORL_DDS_BUILTIN_TOPIC_DCPSTOPIC);
	ck_assert_int_eq(count_of(late), 2);
	well(whorl_dds_delete(topic));
	it = next(reader, &info);
	ck_assert(!info.valid_data);
	ck_assert_uint_eq(info.instance_state, WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE);
	ck_assert_ptr_null(it->name);
	kill_other(); /* it was the last that used its topic */
	(void)next(reader, &info);
	ck_assert_uint_eq(info.instance_state, WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE);
	whorl_dds_delete_qos(of);
	well(whorl_dds_delete(participant));
}
END_TEST

/* Of channels that this process has no topic in. */
START_TEST(endpoints_of_others_come_and_go)
{
	whorl_dds_entity participant, writers, readers, participants;
	const struct whorl_dds_builtin_endpoint *it;
	struct whorl_dds_sample_info info;
	whorl_dds_instance_handle theirs;
	whorl_dds_duration period = 0;

	begin_other();
	step(2);
	participant = made(whorl_dds_create_participant(domain(), NULL, NULL));
	writers = watch(participant, WHORL_DDS_BUILTIN_TOPIC_DCPSPUBLICATION); /* gets what there is */
	readers = watch(participant, WHORL_DDS_BUILTIN_TOPIC_DCPSSUBSCRIPTION);
	participants = watch(participant, WHORL_DDS_BUILTIN_TOPIC_DCPSPARTICIPANT);
	ck_assert_int_eq(count_of(writers), 1);
	it = next(writers, &info);
	ck_assert_uint_eq(it->size, sizeof(*it));
	ck_assert_str_eq(it->topic_name, "poses");
	ck_assert_str_eq(it->type_name, "struct pose");
	ck_assert_str_eq(whorl_dds_qget_partition(it->qos, 1), "b");
	ck_assert(whorl_dds_qget_deadline(it->qos, &period) && period == 2 * SECOND);
	ck_assert_uint_eq(it->behind, 0);
	ck_assert_uint_eq(info.writer, it->node);
	theirs = it->handle;
	ck_assert_int_eq(count_of(participants), 2);
	ck_assert_uint_ne(whorl_dds_lookup_instance(participants,
						    &(struct whorl_dds_builtin_participant){.handle = it->participant}),
			  0);
	step(3);
	it = next(readers, &info);
	ck_assert_str_eq(it->topic_name, "large");
	until(strcmp(it->type_name, "struct large") == 0 ||
	      (count_of(readers) > 0 && (it = next(readers, &info)) == NULL));
	step(4);
	it = next(writers, &info);
	ck_assert(!info.valid_data);
	ck_assert_uint_eq(it->handle, theirs);
	kill_other();
	do { /* the name of its type may have come late */
		(void)next(readers, &info);
	} while (info.valid_data);
	ck_assert_uint_eq(info.instance_state, WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE);
	well(whorl_dds_delete(participant));
}
END_TEST

START_TEST(endpoints_of_this_process)
{
	struct place place = place_of(&pose_type, "poses", "");
	whorl_dds_entity writers = watch(place.participant, WHORL_DDS_BUILTIN_TOPIC_DCPSPUBLICATION);
	whorl_dds_entity readers = watch(place.participant, WHORL_DDS_BUILTIN_TOPIC_DCPSSUBSCRIPTION);
	whorl_dds_entity writer = new_writer(&place, "ownership=exclusive"), reader, late;
	const struct whorl_dds_builtin_endpoint *it;
	struct whorl_dds_sample_info info;
	whorl_dds_instance_handle handle = 0;
	whorl_dds_qos *of = qos("ownership_strength=7");
	int32_t strength = 0;

	reader = new_reader(&place, "ownership=exclusive");
	it = next(readers, &info);
	well(whorl_dds_get_instance_handle(reader, &handle));
	ck_assert_uint_eq(it->handle, handle);
	it = next(writers, &info);
	well(whorl_dds_get_instance_handle(writer, &handle));
	ck_assert_uint_eq(it->handle, handle);
	ck_assert_int_eq(count_of(writers), 0); /* once */
	well(whorl_dds_set_qos(writer, of));
	it = next(writers, &info);
	ck_assert_uint_eq(it->handle, handle);
	ck_assert(whorl_dds_qget_ownership_strength(it->qos, &strength));
	ck_assert_int_eq(strength, 7);
	late = watch(place.participant, WHORL_DDS_BUILTIN_TOPIC_DCPSPUBLICATION);
	ck_assert_int_eq(count_of(late), 1);
	for (int i = 0; i < 100; i++)
		well(whorl_dds_delete(new_writer(&place, "")));
	ck_assert_int_eq(count_of(writers), 200); /* what each was, and its end */
	well(whorl_dds_delete(writers));          /* with samples of it read, or not */
	well(whorl_dds_delete(new_writer(&place, "")));
	whorl_dds_delete_qos(of);
	well(whorl_dds_delete(place.participant));
}
END_TEST

static atomic_int heard;

static void on_data(whorl_dds_entity reader, void *arg)
{
	struct whorl_dds_sample_info info = {.size = sizeof(info)};
	void *data = NULL;

	(void)arg;
	while (whorl_dds_take(reader, &data, &info, 1) == 1) {
		if (info.valid_data)
			atomic_fetch_add(&heard, (int)strlen(((const struct whorl_dds_builtin_topic *)data)->name));
		if (whorl_dds_return_loan(reader, &data, 1) != OK)
			return;
	}
}

START_TEST(a_listener_hears_of_topics)
{
	struct place place = place_of(&pose_type, "poses", "");
	whorl_dds_listener *listener = whorl_dds_create_listener(NULL);

	ck_assert_ptr_nonnull(listener);
	whorl_dds_lset_data_available(listener, on_data);
	made(whorl_dds_create_reader(place.participant, WHORL_DDS_BUILTIN_TOPIC_DCPSTOPIC, NULL, listener));
	until(atomic_load(&heard) == 5);
	(void)topic_of(place.participant, &pose_type, "others", "");
	until(atomic_load(&heard) == 11);
	whorl_dds_delete_listener(listener);
	well(whorl_dds_delete(place.participant));
}
END_TEST

static void in_place(whorl_dds_entity reader, const void *data, const struct whorl_dds_sample_info *info, void *arg)
{
	(void)reader, (void)data, (void)info, (void)arg;
}

START_TEST(what_they_are_not_for)
{
	struct place place = place_of(&pose_type, "poses", "");
	int32_t number = WHORL_DDS_BUILTIN_TOPIC_DCPSTOPIC;
	whorl_dds_entity reader = watch(place.participant, number);
	whorl_dds_listener *listener = whorl_dds_create_listener(NULL);
	whorl_dds_qos *all = qos("history=all"), *same = qos("reliability=reliable durability=transient_local");
	struct whorl_dds_builtin_topic own;
	struct whorl_dds_sample_info info = {.size = sizeof(info)};
	void *data[1] = {&own};
	whorl_dds_instance_handle handles[1];

	ck_assert_ptr_nonnull(listener);
	whorl_dds_lset_in_place(listener, in_place);
	refused(ILLEGAL_OPERATION, whorl_dds_create_writer(place.participant, number, NULL, NULL));
	refused(UNSUPPORTED, whorl_dds_create_reader(place.participant, number, NULL, listener));
	refused(UNSUPPORTED, whorl_dds_create_reader(place.participant, number, all, NULL));
	made(whorl_dds_create_reader(place.participant, number, same, NULL));
	refused(ILLEGAL_OPERATION, whorl_dds_create_reader(place.topic, number, NULL, NULL));
	refused(BAD_PARAMETER, whorl_dds_create_reader(place.participant, number + 3, NULL, NULL));
	refused(BAD_PARAMETER, whorl_dds_take(reader, data, &info, 1)); /* what it points to would not last */
	refused(IMMUTABLE_POLICY, whorl_dds_set_qos(reader, same));
	ck_assert_int_eq(whorl_dds_get_matched_publications(reader, handles, 1), 0);
	ck_assert_ptr_null(whorl_dds_get_matched_endpoint(reader, 1));
	ck_assert_int_eq(whorl_dds_get_topic(reader), number);
	well(whorl_dds_wait_for_historical_data(reader, 0));
	ck_assert_uint_eq(whorl_dds_lookup_instance(reader, &(struct whorl_dds_builtin_topic){.handle = 99}), 0);
	refused(BAD_PARAMETER, whorl_dds_instance_get_key(reader, 99, &own));
	whorl_dds_delete_listener(listener);
	whorl_dds_delete_qos(all);
	whorl_dds_delete_qos(same);
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* The same as a reader of the built-in topic is told, policies that were not set too. */
START_TEST(a_matched_endpoint_is_described)
{
	struct place place = place_of(&pose_type, "poses", "");
	whorl_dds_entity writers = watch(place.participant, WHORL_DDS_BUILTIN_TOPIC_DCPSPUBLICATION);
	whorl_dds_entity writer = new_writer(&place, "partition=b"), reader = new_reader(&place, "partition=b");
	struct whorl_dds_builtin_endpoint *matched;
	const struct whorl_dds_builtin_endpoint *told;
	whorl_dds_duration periods[2] = {0, 1};
	whorl_dds_instance_handle handle = 0;
	struct whorl_dds_sample_info info;

	ck_assert_int_gt(writer, 0);
	ck_assert_int_eq(whorl_dds_get_matched_publications(reader, &handle, 1), 1);
	matched = whorl_dds_get_matched_endpoint(reader, handle);
	ck_assert_ptr_nonnull(matched);
	told = next(writers, &info);
	ck_assert_uint_eq(matched->size, sizeof(*matched));
	ck_assert_uint_eq(matched->handle, told->handle);
	ck_assert_uint_eq(matched->participant, told->participant);
	ck_assert_uint_eq(matched->topic, told->topic);
	ck_assert_uint_eq(matched->node, told->node);
	ck_assert_str_eq(matched->topic_name, told->topic_name);
	ck_assert_str_eq(matched->type_name, told->type_name);
	ck_assert_str_eq(whorl_dds_qget_partition(matched->qos, 0), "b");
	ck_assert(whorl_dds_qget_deadline(matched->qos, &periods[0]));
	ck_assert(whorl_dds_qget_deadline(told->qos, &periods[1]));
	ck_assert_int_eq(periods[0], periods[1]);
	whorl_dds_builtin_endpoint_free(matched);
	well(whorl_dds_delete(place.participant));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {participants_come_and_go,        topics_come_and_go,
				      endpoints_of_others_come_and_go, endpoints_of_this_process,
				      a_listener_hears_of_topics,      what_they_are_not_for,
				      a_matched_endpoint_is_described};

	return run_tests("dds_builtin", tests, sizeof(tests) / sizeof(tests[0]));
}
