/* test_dds_outcomes.c - what goes wrong has an outcome that the manual tells: names, types, limits, policies, peers that die or talk nonsense.
 * (A reader that never takes: test_dds_slow.c.)
 * Labels: threads
 */
#include <whorl/whorl.h>

#include "dds/channel/wire.h"
#include "tests/support/dds_world.h"

#define ALL "reliability=reliable history=all "

#define says(text) ck_assert_msg(strstr(whorl_dds_text(), text) != NULL, "%s", whorl_dds_text())

/* ---- topics -------------------------------------------------------------------------------------------------------------------- */

WHORL_DDS_TYPE(other_type, struct pose, WHORL_DDS_KEY(struct pose, id), WHORL_DDS_FIELD(struct pose, x));

/* The first of the domain, in another process. */
static void hold_topic(uint32_t number)
{
	struct place place = enter(number, "poses", "");

	reach(1, 1);
	await(1, 2);
	well(whorl_dds_delete(place.participant));
}

START_TEST(types_that_differ)
{
	struct whorl_dds_type renamed = pose_type;
	pid_t pid = begin_process(hold_topic, domain());
	whorl_dds_entity participant;
	whorl_dds_qos *stored = qos("consistency=stored");

	await(1, 1);
	participant = made(whorl_dds_create_participant(domain(), NULL, NULL));
	ck_assert_int_eq(whorl_dds_create_topic(participant, &other_type, "poses", NULL, NULL),
			 WHORL_DDS_RETCODE_PRECONDITION_NOT_MET);
	says("poses");
	renamed.name = "struct attitude";
	ck_assert_int_eq(whorl_dds_create_topic(participant, &renamed, "poses", NULL, NULL),
			 WHORL_DDS_RETCODE_PRECONDITION_NOT_MET);
	says("struct pose");
	ck_assert_int_eq(whorl_dds_create_topic(participant, &pose_type, "poses", stored, NULL),
			 WHORL_DDS_RETCODE_PRECONDITION_NOT_MET);
	says("its channel is dds.s.atomic, here dds.s.stored");
	made(whorl_dds_create_topic(participant, &other_type, "others", NULL, NULL));
	made(whorl_dds_create_topic(participant, &pose_type, "poses", NULL, NULL));
	whorl_dds_delete_qos(stored);
	well(whorl_dds_delete(participant));
	reach(1, 2);
	await_end(pid, false);
}
END_TEST

START_TEST(a_name_of_10_kilobytes)
{
	whorl_dds_entity participant = made(whorl_dds_create_participant(domain(), NULL, NULL));
	char *name = malloc(10241);
	struct whorl_dds_type type = pose_type;

	ck_assert_ptr_nonnull(name);
	memset(name, 'n', 10240);
	name[10240] = '\0';
	ck_assert_int_eq(whorl_dds_create_topic(participant, &pose_type, name, NULL, NULL),
			 WHORL_DDS_RETCODE_BAD_PARAMETER);
	says("255");
	ck_assert_int_eq(whorl_dds_find_topic(participant, name, 0), WHORL_DDS_RETCODE_BAD_PARAMETER);
	type.name = name;
	ck_assert_int_eq(whorl_dds_create_topic(participant, &type, "poses", NULL, NULL),
			 WHORL_DDS_RETCODE_BAD_PARAMETER);
	name[255] = '\0';
	made(whorl_dds_create_topic(participant, &pose_type, name, NULL, NULL));
	free(name);
	well(whorl_dds_delete(participant));
}
END_TEST

/* ---- limits and policies ------------------------------------------------------------------------------------------------------- */

#define INSTANCES 10000

START_TEST(instances_beyond_a_limit)
{
	struct whorl_dds_sample_rejected_status rejected = {0};
	struct place place = enter(domain(), "poses", "");
	whorl_dds_entity reader = new_reader(&place, ALL "resource_limits.instances=100");
	whorl_dds_entity writer =
		new_writer(&place, "reliability=reliable reliability.max_blocking=20s writer_data_lifecycle=off");
	whorl_dds_entity bound = new_writer(&place, "resource_limits.instances=100");
	struct whorl_dds_sample_info info;
	struct pose pose = {0};
	int taken = 0;

	for (int i = 0; i < INSTANCES; i++)
		well(whorl_dds_write(writer, &(struct pose){.id = i}));
	well(whorl_dds_wait_for_acks(writer, patience()));
	well(whorl_dds_take_status(reader, WHORL_DDS_SAMPLE_REJECTED_STATUS, &rejected, sizeof(rejected)));
	ck_assert_uint_eq(rejected.total_count, INSTANCES - 100);
	ck_assert_int_eq(rejected.last_reason, WHORL_DDS_REJECTED_BY_INSTANCES_LIMIT);
	ck_assert_uint_eq(rejected.last_instance_handle,
			  whorl_dds_lookup_instance(writer, &(struct pose){.id = INSTANCES - 1}));
	for (; take_now(reader, &pose, &info); taken++)
		ck_assert_int_eq(pose.id, taken);
	ck_assert_int_eq(taken, 100);
	for (int i = 0; i < INSTANCES; i++)
		ck_assert_int_eq(whorl_dds_write(bound, &(struct pose){.id = i}),
				 i < 100 ? OK : WHORL_DDS_RETCODE_OUT_OF_RESOURCES);
	says("the writer has 100 instances already");
	well(whorl_dds_delete(place.participant));
}
END_TEST

START_TEST(policies_that_contradict)
{
	struct place place = enter(domain(), "poses", "");
	whorl_dds_qos *deep = qos("history=6 resource_limits.samples_per_instance=5");
	whorl_dds_qos *late = qos("durability=transient_local"), *logged = qos("durability=persistent");
	whorl_dds_qos *hasty = qos("deadline=10ms time_based_filter=20ms");

	ck_assert_int_eq(whorl_dds_create_reader(place.participant, place.topic, deep, NULL),
			 WHORL_DDS_RETCODE_INCONSISTENT_POLICY);
	says("history");
	ck_assert_int_eq(whorl_dds_create_writer(place.participant, place.topic, deep, NULL),
			 WHORL_DDS_RETCODE_INCONSISTENT_POLICY);
	ck_assert_int_eq(whorl_dds_create_topic(place.participant, &pose_type, "deep", deep, NULL),
			 WHORL_DDS_RETCODE_INCONSISTENT_POLICY);
	ck_assert_int_eq(whorl_dds_create_reader(place.participant, place.topic, hasty, NULL),
			 WHORL_DDS_RETCODE_INCONSISTENT_POLICY);
	ck_assert_int_eq(whorl_dds_create_reader(place.participant, place.topic, late, NULL),
			 WHORL_DDS_RETCODE_INCONSISTENT_POLICY);
	says("durability");
	ck_assert_int_eq(whorl_dds_create_topic(place.participant, &pose_type, "logged", logged, NULL),
			 WHORL_DDS_RETCODE_UNSUPPORTED);
	says("topic logged is logged, and the domain has no directory: dds.directory of a file (WHORL_DDS) says it");
	whorl_dds_delete_qos(deep);
	whorl_dds_delete_qos(late);
	whorl_dds_delete_qos(logged);
	whorl_dds_delete_qos(hasty);
	well(whorl_dds_delete(place.participant));
}
END_TEST

START_TEST(what_was_deleted)
{
	struct place place = enter(domain(), "poses", "");
	whorl_dds_entity reader = new_reader(&place, ALL), writer = new_writer(&place, "");
	whorl_dds_entity condition = made(whorl_dds_create_readcondition(reader, 0));
	struct whorl_dds_sample_info info = {.size = sizeof(info)};
	const whorl_dds_return deleted = WHORL_DDS_RETCODE_ALREADY_DELETED;
	struct pose pose = {.id = 1};
	void *data[1] = {NULL};

	well(whorl_dds_write(writer, &pose));
	until(samples_of(reader) == 1);
	ck_assert_int_eq(whorl_dds_read(reader, data, &info, 1), 1);
	well(whorl_dds_delete(reader)); /* what it has lent is lent no more */
	ck_assert_int_eq(whorl_dds_return_loan(reader, data, 1), deleted);
	ck_assert_int_eq(whorl_dds_take(reader, data, &info, 1), deleted);
	ck_assert_int_eq(whorl_dds_take(condition, data, &info, 1), deleted);
	ck_assert_int_eq(whorl_dds_delete(reader), deleted);
	ck_assert_int_eq(whorl_dds_delete(condition), deleted);
	well(whorl_dds_delete(writer));
	ck_assert_int_eq(whorl_dds_write(writer, &pose), deleted);
	ck_assert_int_eq(whorl_dds_wait_for_acks(writer, 0), deleted);
	ck_assert_int_eq(whorl_dds_get_status_changes(writer), deleted);
	well(whorl_dds_delete(place.topic));
	ck_assert_int_eq(whorl_dds_create_writer(place.participant, place.topic, NULL, NULL), deleted);
	well(whorl_dds_delete(place.participant));
	ck_assert_int_eq(whorl_dds_create_topic(place.participant, &pose_type, "poses", NULL, NULL), deleted);
	ck_assert_int_eq(whorl_dds_delete(place.participant), deleted);
	ck_assert_int_eq(whorl_dds_delete(INT32_MAX), WHORL_DDS_RETCODE_BAD_PARAMETER);
}
END_TEST

/* ---- a writer that is killed --------------------------------------------------------------------------------------------------- */

static void die_within_a_set(uint32_t number)
{
	struct place place = enter(number, "poses", "");
	whorl_dds_entity writer =
		new_writer(&place, "reliability=reliable presentation=topic presentation.coherent=on");

	await(1, 1);
	for (int set = 0; set < 2; set++) {
		well(whorl_dds_begin_coherent(writer));
		for (int i = 0; i < 5; i++)
			well(whorl_dds_write(writer, &(struct pose){.id = i, .count = set}));
		if (set == 0)
			well(whorl_dds_end_coherent(writer));
	}
	well(whorl_dds_wait_for_acks(writer, patience()));
	reach(2, 1);
	pause();
}

/* The set that it has ended is there, of the other one nothing. */
START_TEST(a_writer_killed_within_a_set)
{
	pid_t pid = begin_process(die_within_a_set, domain());
	struct place place = enter(domain(), "poses", "");
	whorl_dds_entity reader = new_reader(&place, ALL "presentation=topic presentation.coherent=on");
	struct whorl_dds_sample_info info;
	int data = 0, ends = 0;

	until(matched_of(reader, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS) == 1);
	reach(1, 1);
	await(2, 1);
	kill(pid, SIGKILL);
	await_end(pid, true);
	while (ends < 5) {
		struct pose pose = take_one(reader, &info);

		if (info.valid_data) {
			ck_assert_int_eq(pose.count, 0);
			data++;
		} else {
			ck_assert_uint_eq(info.instance_state, WHORL_DDS_NOT_ALIVE_NO_WRITERS_INSTANCE_STATE);
			ends++;
		}
	}
	ck_assert_int_eq(data, 5);
	until(matched_of(reader, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS) == 0);
	ck_assert_int_eq(samples_of(reader), 0);
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* ---- garbage ------------------------------------------------------------------------------------------------------------------- */

/* A member of the group that is no participant: it sends bytes, and gives bytes as its state. */
static ptrdiff_t read_nonsense(void *snapshot, void *bytes, size_t count, void *ctx)
{
	int *left = snapshot;

	(void)ctx;
	if ((*left)-- == 0)
		return 0;
	memset(bytes, 0xa5, count);
	return (ptrdiff_t)count;
}

static void *give_nonsense(const struct whorl_position *position, void *ctx)
{
	int *left = ctx;

	(void)position;
	if (*left == 0)
		return NULL;
	*left = 2;
	return left;
}

static void release(void *snapshot, void *ctx)
{
	(void)snapshot;
	(void)ctx;
}

static bool take_any(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	(void)step;
	(void)bytes;
	(void)count;
	(void)ctx;
	return true;
}

/* gives: what it has for newcomers. */
static whorl_subgroup *enter_as_stranger(whorl_node *node, const char *name, int *gives)
{
	bool control = strcmp(name, "dds.control") == 0;
	const struct whorl_state state = {.size = sizeof(state),
					  .snapshot = give_nonsense,
					  .read = read_nonsense,
					  .release = release,
					  .restore = take_any,
					  .ctx = gives};
	const struct whorl_subgroup_options options = {.size = sizeof(options),
						       .mode = WHORL_ORDERED,
						       .window = control ? 32 : 2048,
						       .message_bytes = control ? 4096 : 256,
						       .large_bytes = control ? 131072 : 32768,
						       .state = &state};
	whorl_subgroup *subgroup = NULL;

	need(whorl_subgroup_enter(node, name, &options, (int)test_patience(20000), &subgroup) == WHORL_OK);
	need(whorl_subgroup_ready(subgroup, (int)test_patience(20000)) == WHORL_OK);
	return subgroup;
}

static whorl_node *open_stranger(uint32_t number)
{
	whorl_config *config = whorl_config_new();
	whorl_node *node = NULL;
	char text[128];

	snprintf(text, sizeof(text),
		 "[group]\nname = dds-%u-%u\nnodes = 0\nnodes_max = 128\nfailure_timeout_ms = 5000\n",
		 (unsigned)getuid(), (unsigned)number);
	need(config != NULL && whorl_config_load_text(config, "domain", text) == WHORL_OK);
	need(whorl_open(config, WHORL_ANY_ID, NULL, &node) == WHORL_OK);
	whorl_config_free(config);
	need(whorl_start(node) == WHORL_OK && whorl_ready(node, (int)test_patience(20000)) == WHORL_OK);
	return node;
}

/* Any bytes, and such as look like messages: each first byte, with what is random behind it, and samples of writers that are not there. */
static void send_garbage(whorl_subgroup *subgroup, unsigned *random, uint64_t *last)
{
	unsigned char bytes[256];

	for (int i = 0; i < 1000; i++) {
		size_t count = (size_t)rand_r(random) % sizeof(bytes) + 1;

		for (size_t k = 0; k < count; k++)
			bytes[k] = (unsigned char)(rand_r(random) % 3 == 0 ? rand_r(random) : 0);
		bytes[0] = (unsigned char)(i % 2 == 0 ? i % 16 : 128 + i % 8);
		need(whorl_send(subgroup, bytes, count, (int)test_patience(20000), last) == WHORL_OK);
	}
}

static void talk_nonsense(uint32_t number)
{
	static int nothing;
	whorl_node *node = open_stranger(number);
	whorl_subgroup *lines[2] = {enter_as_stranger(node, "dds.control", &nothing),
				    enter_as_stranger(node, "dds.s.atomic", &nothing)};
	unsigned random = 7;
	uint64_t last[2] = {0};

	reach(1, 1);
	for (int i = 0; i < 2; i++)
		send_garbage(lines[i], &random, &last[i]);
	for (int i = 0; i < 2; i++)
		need(whorl_frontier_wait(lines[i], WHORL_DELIVERED_BY_ALL, last[i], (int)test_patience(20000)) ==
		     WHORL_OK);
	reach(1, 2);
	await(1, 3);
	need(whorl_close(node, 1000) == WHORL_OK);
}

/* What it says changes nothing, and a newcomer is given its state by others. */
START_TEST(a_peer_that_talks_nonsense)
{
	uint32_t number = domain();
	pid_t pid;
	struct place place, late;
	whorl_dds_entity reader, writer;
	struct whorl_dds_sample_info info;

	pid = fork(); /* begun when there is a participant that it joins */
	if (pid == 0) {
		await(0, 1);
		alarm((unsigned)test_patience(60));
		talk_nonsense(number);
		_exit(0);
	}
	place = enter(number, "poses", "");
	reader = new_reader(&place, ALL "resource_limits.samples=1000");
	writer = new_writer(&place, "reliability=reliable reliability.max_blocking=20s");
	reach(0, 1);
	await(1, 2);
	for (int i = 0; i < 100; i++)
		well(whorl_dds_write(writer, &(struct pose){.id = i, .count = i}));
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(take_one(reader, &info).count, i);
	late = (struct place){place.participant, new_topic(place.participant, "late", "")};
	ck_assert_int_eq(matched_of(new_writer(&late, ""), WHORL_DDS_PUBLICATION_MATCHED_STATUS), 0);
	reach(1, 3);
	await_end(pid, false);
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* Alone it gives its state: nonsense, which is refused. */
static void give_state(uint32_t number)
{
	static int gives = 1;
	whorl_node *node = open_stranger(number);

	(void)enter_as_stranger(node, "dds.control", &gives);
	reach(1, 1);
	await(1, 2);
	need(whorl_close(node, 1000) == WHORL_OK);
}

START_TEST(a_state_that_is_nonsense)
{
	pid_t pid = begin_process(give_state, domain());
	struct place place;

	await(1, 1);
	ck_assert_int_eq(whorl_dds_create_participant(domain(), NULL, NULL), WHORL_DDS_RETCODE_ERROR);
	ck_assert_uint_gt(strlen(whorl_dds_text()), 40);
	reach(1, 2);
	await_end(pid, false);
	place = enter(domain(), "poses", ""); /* without it all is well */
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* ---- the first goes before it has formed the group ------------------------------------------------------------------------------ */

/* Ids of the group, given as /NAME/, that processes hold: each has a socket with a name. */
static int ids_held(const char *group)
{
	FILE *sockets = fopen("/proc/net/unix", "r");
	char line[512];
	int held = 0;

	ck_assert_ptr_nonnull(sockets);
	while (fgets(line, sizeof(line), sockets) != NULL)
		held += strstr(line, group) != NULL;
	ck_assert_int_eq(fclose(sockets), 0);
	return held;
}

static void come(uint32_t number)
{
	struct place place;

	(void)number;
	await(0, 1);
	place = enter(0, "poses", "");
	well(whorl_dds_delete(place.participant));
}

/* The next that looks for an id would form it. So those that wait do look again, and need no other to be started. */
START_TEST(the_first_goes_before_there_is_a_group)
{
	whorl_config *config = whorl_config_new();
	char group[64];
	whorl_node *first;
	pid_t pids[2];
	int held;

	snprintf(group, sizeof(group), "/" TEST_GROUP "/", (int)getpid());
	write_group("");
	for (int i = 0; i < 2; i++)
		pids[i] = begin_process(come, 0);
	ck_assert_int_eq(whorl_config_load_file(config, domain_file), WHORL_OK);
	ck_assert_int_eq(whorl_open(config, WHORL_ANY_ID, NULL, &first), WHORL_OK);
	ck_assert_uint_eq(whorl_node_id(first), 0);
	held = ids_held(group);
	ck_assert_int_gt(held, 0);
	reach(0, 1);
	until(ids_held(group) >= 3 * held); /* each of them has as many */
	(void)whorl_close(first, 0);
	for (int i = 0; i < 2; i++)
		await_end(pids[i], false);
	whorl_config_free(config);
	remove_file();
}
END_TEST

int main(void)
{
	const struct named_test tests[] = {
		{"types", types_that_differ},
		{"name", a_name_of_10_kilobytes},
		{"instances", instances_beyond_a_limit},
		{"policies", policies_that_contradict},
		{"deleted", what_was_deleted},
		{"killed", a_writer_killed_within_a_set},
		{"nonsense", a_peer_that_talks_nonsense},
		{"state", a_state_that_is_nonsense},
		{"first", the_first_goes_before_there_is_a_group},
	};

	return run_processes("dds_outcomes", tests, sizeof(tests) / sizeof(tests[0]));
}
