/* test_dds_logged.c - logged topics: what processes have written outlives all of them, at its places, and as it was: which writer owned an
 * instance, what ended with its writer, what the limits pushed out.
 * Labels: threads
 */
#include <dirent.h>
#include <sys/stat.h>

#include "dds/node.h"
#include "tests/support/dds_world.h"
#include "tests/support/saved.h"

#define LOGGED "durability=persistent history=all"
#define ALL "reliability=reliable history=all durability=transient_local"
#define LATE "reliability=reliable history=all durability=persistent"

static char directory[128];

/* A domain of this test alone, with a directory. */
static void make_domain(const char *rest)
{
	FILE *file;
	int descriptor = mkstemp(test_temporary(domain_file, "dds"));

	ck_assert_int_ge(descriptor, 0);
	snprintf(directory, sizeof(directory), "%s/whorl-logged-XXXXXX",
		 getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	file = fdopen(descriptor, "w");
	ck_assert_ptr_nonnull(file);
	fprintf(file, "[dds]\ndirectory = %s/logs\n%s", directory, rest);
	ck_assert_int_eq(fclose(file), 0);
	setenv("WHORL_DDS", domain_file, 1);
}

/* Where disks are read and synced first. */
static whorl_dds_entity join(uint32_t number)
{
	struct whorl_dds_participant_options options = {.size = sizeof(options), .ready = patience()};

	return made(whorl_dds_create_participant_with(number, &options, NULL, NULL));
}

static struct place come(uint32_t number, const char *name, const char *policies)
{
	struct place place = {join(number), 0};

	place.topic = new_topic(place.participant, name, policies);
	return place;
}

static void remove_domain(void)
{
	remove_directory(directory);
	remove_file();
}

/* What the process does is over when it returns; then it dies, and says nothing. */
static void run(void (*work)(uint32_t), bool dies)
{
	pid_t pid = begin_process(work, domain());

	if (dies) {
		await((int)domain() % 200 + 1, 1);
		kill(pid, SIGKILL);
		atomic_store(&board->step[domain() % 200 + 1], 0);
	}
	await_end(pid, dies);
}

static void wait_to_die(uint32_t number)
{
	reach((int)number % 200 + 1, 1);
	for (;;)
		moment();
}

/* Writes samples of an instance, counted from `from` to before `to`; all members have them. */
static void write_some(whorl_dds_entity writer, int id, int from, int to)
{
	for (int count = from; count < to; count++) {
		whorl_dds_return result;

		while ((result = whorl_dds_write(writer, &(struct pose){.id = id, .count = count})) ==
		       WHORL_DDS_RETCODE_TIMEOUT)
			;
		if (result != OK)
			ck_abort_msg("write: %s", whorl_dds_text());
	}
	well(whorl_dds_wait_for_acks(writer, patience()));
}

/* The next with a value: it is that, of that instance. */
static void expect_next(whorl_dds_entity reader, int id, int count, struct whorl_dds_sample_info *info)
{
	struct pose pose;

	do {
		if (!take_now(reader, &pose, info))
			ck_abort_msg("there is no %d.%d", id, count);
	} while (!info->valid_data);
	if (pose.id != id || pose.count != count)
		ck_abort_msg("there is %d.%d where %d.%d is expected", pose.id, pose.count, id, count);
}

static void expect_none(whorl_dds_entity reader)
{
	struct whorl_dds_sample_info info;
	struct pose pose;

	while (take_now(reader, &pose, &info))
		if (info.valid_data)
			ck_abort_msg("there is %d.%d, too", pose.id, pose.count);
}

/* ---- the end of all ------------------------------------------------------------------------------------------------------------- */

static void writes_and_dies(uint32_t number)
{
	struct place place = come(number, "poses", LOGGED);
	whorl_dds_entity writer = new_writer(&place, "durability=persistent"),
			 local = new_writer(&place, "durability=transient_local"),
			 passing = new_writer(&place, "durability=volatile");
	whorl_dds_entity reader = new_reader(&place, ALL);
	struct whorl_dds_sample_info info;

	write_some(writer, 1, 0, 10);
	write_some(local, 2, 0, 10);
	write_some(passing, 3, 0, 10);
	for (int i = 0; i < 10; i++) {
		expect_next(reader, 1, i, &info);
		atomic_store(&board->step[201 + i], (int)(info.view * 1000 + info.sequence));
	}
	wait_to_die(number);
}

static void goes_on(uint32_t number)
{
	struct place place = come(number, "poses", LOGGED);
	whorl_dds_entity reader = new_reader(&place, LATE), writer;
	struct whorl_dds_sample_info info;

	well(whorl_dds_wait_for_historical_data(reader, patience()));
	for (int i = 0; i < 10; i++) {
		expect_next(reader, 1, i, &info);
		need(info.view * 1000 + info.sequence == (uint64_t)atomic_load(&board->step[201 + i]));
		need(info.number == (uint64_t)i + 1);
		need(info.instance_state == WHORL_DDS_NOT_ALIVE_NO_WRITERS_INSTANCE_STATE);
	}
	expect_none(reader);
	writer = new_writer(&place, "durability=persistent writer_data_lifecycle=off");
	write_some(writer, 1, 10, 20);
	need(take_one(reader, &info).count == 10);
	well(whorl_dds_delete(place.participant));
}

static void sees_both(uint32_t number)
{
	struct place place = {join(number), 0};
	whorl_dds_entity reader;
	struct whorl_dds_sample_info info;

	place.topic =
		made(whorl_dds_find_topic(place.participant, "poses", 0)); /* it is there at once, with its type */
	reader = new_reader(&place, LATE);
	well(whorl_dds_wait_for_historical_data(reader, patience()));
	for (int i = 0; i < 20; i++)
		expect_next(reader, 1, i, &info);
	expect_none(reader);
	well(whorl_dds_delete(place.participant));
}

/* Killed, ended in order, and once more: each finds what was written by those before, but what went with its writer. */
START_TEST(what_was_written_outlives_all)
{
	make_domain("");
	run(writes_and_dies, true);
	run(goes_on, false);
	run(sees_both, false);
	run(sees_both, false);
	remove_domain();
}
END_TEST

/* ---- what depended on members ----------------------------------------------------------------------------------------------------- */

enum { STRONG = 240, WEAK };

static void strong(uint32_t number)
{
	struct place place = come(number, "poses", LOGGED " ownership=exclusive");
	whorl_dds_entity writer = new_writer(&place, "durability=persistent ownership=exclusive ownership_strength=9");

	await(WEAK, 1);
	write_some(writer, 1, 0, 5);
	reach(STRONG, 1);
	for (;;)
		moment();
}

/* Is not heard while the strong one is there, and is when it has died. */
static void weak(uint32_t number)
{
	struct place place = come(number, "poses", LOGGED " ownership=exclusive");
	whorl_dds_entity writer = new_writer(&place, "durability=persistent ownership=exclusive ownership_strength=1");
	whorl_dds_entity reader = new_reader(&place, ALL " ownership=exclusive");
	struct whorl_dds_sample_info info;

	reach(WEAK, 1);
	await(STRONG, 1);
	write_some(writer, 1, 100, 105);
	for (int i = 0; i < 5; i++)
		need(take_one(reader, &info).count == i);
	reach(WEAK, 2);
	while (matched_of(reader, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS) > 1)
		moment();
	write_some(writer, 1, 200, 205);
	wait_to_die(number);
}

static void sees_who_owned(uint32_t number)
{
	struct place place = come(number, "poses", LOGGED " ownership=exclusive");
	whorl_dds_entity reader = new_reader(&place, LATE " ownership=exclusive");
	struct whorl_dds_sample_info info;

	well(whorl_dds_wait_for_historical_data(reader, patience()));
	for (int i = 0; i < 5; i++)
		expect_next(reader, 1, i, &info);
	for (int i = 0; i < 5; i++)
		expect_next(reader, 1, 200 + i, &info);
	expect_none(reader);
	well(whorl_dds_delete(place.participant));
}

/* The log is read again as it was written: a writer that had died owned nothing from that place on. */
START_TEST(who_owned_stays_as_it_was)
{
	pid_t one, other;

	make_domain("");
	other = begin_process(weak, domain());
	one = begin_process(strong, domain());
	await(WEAK, 2);
	kill(one, SIGKILL);
	await_end(one, true);
	await((int)domain() % 200 + 1, 1);
	kill(other, SIGKILL);
	await_end(other, true);
	run(sees_who_owned, false);
	remove_domain();
}
END_TEST

/* ---- checkpoints ------------------------------------------------------------------------------------------------------------------ */

#define MANY 6000

static void writes_many(uint32_t number)
{
	struct place place = come(number, "poses", "durability=persistent history=7");
	whorl_dds_entity writer = new_writer(&place, "durability=persistent reliability.max_blocking=5s");

	write_some(writer, 1, 0, MANY / 2);
	write_some(writer, 2, 0, 3);
	for (int i = MANY / 2; i < MANY; i++) { /* one in a batch, which takes a block */
		well(whorl_dds_write(writer, &(struct pose){.id = 1, .count = i}));
		if (i % 8 == 0)
			well(whorl_dds_wait_for_acks(writer, patience()));
	}
	well(whorl_dds_wait_for_acks(writer, patience()));
	wait_to_die(number);
}

static void sees_the_last(uint32_t number)
{
	struct place place = come(number, "poses", "durability=persistent history=7");
	whorl_dds_entity reader = new_reader(&place, LATE);
	struct whorl_dds_sample_info info;

	well(whorl_dds_wait_for_historical_data(reader, patience()));
	for (int i = 0; i < 3; i++)
		expect_next(reader, 2, i, &info);
	for (int i = MANY - 7; i < MANY; i++)
		expect_next(reader, 1, i, &info);
	expect_none(reader);
	well(whorl_dds_delete(place.participant));
}

/* Of those below `path`. */
static int count_files(const char *path, const char *with)
{
	DIR *open = opendir(path);
	const struct dirent *entry;
	char name[512];
	int count = 0;

	while (open != NULL && (entry = readdir(open)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		count += strstr(entry->d_name, with) != NULL ? 1 : count_files(name, with);
	}
	if (open != NULL)
		closedir(open);
	return count;
}

/* A long log is written anew, and what it has then is what was kept. */
START_TEST(a_long_log_is_written_anew)
{
	make_domain("log_bytes = 1m\n");
	run(writes_many, true);
	ck_assert_int_ge(count_files(directory, ".checkpoint"), 1); /* two, if it died as the second was there */
	run(sees_the_last, false);
	run(sees_the_last, false);
	remove_domain();
}
END_TEST

/* ---- directories of several --------------------------------------------------------------------------------------------------------- */

enum { ENDS = 230 };

static void writes_apart(uint32_t number, const char *name, int first)
{
	struct place place = come(number, name, LOGGED);
	whorl_dds_entity writer = new_writer(&place, "durability=persistent writer_data_lifecycle=off");

	write_some(writer, 1, first, first + 5);
	reach(ENDS + first / 100, 1);
	await(ENDS + first / 100, 2);
	well(whorl_dds_delete(place.participant));
}

static void writes_one(uint32_t number)
{
	writes_apart(number, "apart1", 100);
}

static void writes_other(uint32_t number)
{
	writes_apart(number, "apart2", 200);
}

static void stays_beside(uint32_t number)
{
	struct place place = come(number, "beside", "");

	reach(ENDS, 1);
	await(ENDS, 2);
	well(whorl_dds_delete(place.participant));
}

static void sees_apart(uint32_t number)
{
	for (int i = 1; i <= 2; i++) {
		struct place place = {join(number), 0};
		whorl_dds_entity reader;
		struct whorl_dds_sample_info info;

		place.topic = made(whorl_dds_find_topic(place.participant, i == 1 ? "apart1" : "apart2", 0));
		reader = new_reader(&place, LATE);
		well(whorl_dds_wait_for_historical_data(reader, patience()));
		for (int count = 100 * i; count < 100 * i + 5; count++)
			expect_next(reader, 1, count, &info);
		expect_none(reader);
		well(whorl_dds_delete(place.participant));
	}
}

/* Each was the last in a channel of its own, and has its log in its own directory; they end one behind the other, and another process goes on or does
 * not. One that comes later gets both. */
static void ends_apart(bool one_stays)
{
	pid_t pids[3];

	make_domain("[topic apart*]\nchannel = own\n");
	pids[0] = begin_process(stays_beside, domain());
	await(ENDS, 1);
	pids[1] = begin_process(writes_one, domain());
	await(ENDS + 1, 1);
	pids[2] = begin_process(writes_other, domain());
	await(ENDS + 2, 1);
	for (int i = 1; i < 3; i++) {
		reach(ENDS + i, 2);
		await_end(pids[i], false);
	}
	if (!one_stays) {
		reach(ENDS, 2);
		await_end(pids[0], false);
	}
	run(sees_apart, false);
	run(sees_apart, false);
	if (one_stays) {
		reach(ENDS, 2);
		await_end(pids[0], false);
	}
	remove_domain();
}

START_TEST(logs_of_several_directories_are_fetched)
{
	ends_apart(true);
}
END_TEST

START_TEST(logs_of_several_directories_come_back)
{
	ends_apart(false);
}
END_TEST

/* ---- what it is ------------------------------------------------------------------------------------------------------------------- */

static void says_otherwise(uint32_t number)
{
	whorl_dds_entity participant = join(number);
	whorl_dds_qos *of = qos("durability=persistent history=3");

	need(whorl_dds_create_topic(participant, &pose_type, "poses", of, NULL) ==
	     WHORL_DDS_RETCODE_PRECONDITION_NOT_MET);
	need(strstr(whorl_dds_text(), "for late readers it keeps all samples") != NULL);
	well(whorl_dds_qos_parse(of, "durability=transient history=all"));
	need(whorl_dds_create_topic(participant, &pose_type, "poses", of, NULL) ==
	     WHORL_DDS_RETCODE_PRECONDITION_NOT_MET);
	need(strstr(whorl_dds_text(), "its channel is dds.s.logged, here dds.s.stored") != NULL);
	well(whorl_dds_qos_parse(of, "durability=persistent history=all"));
	need(whorl_dds_create_topic(participant, whorl_dds_bytes_type(), "poses", of, NULL) ==
	     WHORL_DDS_RETCODE_PRECONDITION_NOT_MET);
	need(strstr(whorl_dds_text(), "topic poses: its type is") != NULL);
	made(whorl_dds_create_topic(participant, &pose_type, "poses", of, NULL));
	whorl_dds_delete_qos(of);
	well(whorl_dds_delete(participant));
}

static void makes_it(uint32_t number)
{
	struct place place = come(number, "poses", LOGGED);

	well(whorl_dds_delete(place.participant));
}

/* The name has one meaning as long as there is something under it. */
START_TEST(what_a_topic_is_stays)
{
	make_domain("");
	run(makes_it, false);
	run(says_otherwise, false);
	run(says_otherwise, false);
	remove_domain();
}
END_TEST

/* ---- senders ---------------------------------------------------------------------------------------------------------------------- */

static bool sends(whorl_dds_entity endpoint)
{
	struct whorl_subgroup_info info = {.size = sizeof(info)};
	struct wh_dds_base *base;

	ck_assert_int_eq(WH_DDS_HOLD(endpoint, WH_DDS_KIND(WH_DDS_READER), &base), OK);
	ck_assert_int_eq(
		whorl_subgroup_describe(wh_dds_subgroup_of(((struct wh_dds_endpoint_entity *)base)->line), &info),
		WHORL_OK);
	wh_dds_let_go(base);
	return info.senders == 1;
}

/* A log has the senders of a view, and a member that is none would not be in it. A reader of a topic in memory rests meanwhile. */
START_TEST(nobody_rests_in_a_log)
{
	struct place place, other;
	whorl_dds_entity logged, stored;

	make_domain("rest_after_ms = 20\n");
	place = come(domain(), "poses", LOGGED);
	other = (struct place){place.participant, new_topic(place.participant, "others", "")};
	logged = new_reader(&place, LATE);
	stored = new_reader(&other, "");
	for (whorl_dds_time until = whorl_dds_now() + patience(); sends(stored) && whorl_dds_now() < until;)
		moment();
	ck_assert(!sends(stored));
	for (int i = 0; i < 100; i++)
		moment();
	ck_assert(sends(logged));
	well(whorl_dds_delete(place.participant));
	remove_domain();
}
END_TEST

/* ---- come and go ------------------------------------------------------------------------------------------------------------------ */

#define LIVES 24
#define AT_ONCE 3

enum { WRITTEN = 226, LIFE = 228 }; /* on the board: how many are, of each topic; which one begins */

/* All that was acknowledged is there, in its order; others' samples of instance 2, that nobody waited for, stand between. */
static void has_all(const struct place *place, int written)
{
	whorl_dds_entity reader = new_reader(place, LATE);
	struct whorl_dds_sample_info info;
	uint64_t view = 0, sequence = 0;
	struct pose pose;
	int next = 0;

	well(whorl_dds_wait_for_historical_data(reader, patience()));
	while (take_now(reader, &pose, &info)) {
		if (!info.valid_data || pose.id != 1)
			continue;
		if (pose.count != next)
			ck_abort_msg("there is %d where %d is expected", pose.count, next);
		if (info.view < view || (info.view == view && info.sequence <= sequence))
			ck_abort_msg("%d is at %d.%d", pose.count, (int)info.view, (int)info.sequence);
		view = info.view;
		sequence = info.sequence;
		next++;
	}
	if (next != written)
		ck_abort_msg("of %d there are %d", written, next);
	well(whorl_dds_delete(reader));
}

/* Finds all, adds one, and then says more until it is killed, or told to end. */
static void life(uint32_t number)
{
	int own = atomic_load(&board->step[LIFE]), written = atomic_load(&board->step[WRITTEN + own % 2]);
	struct place place = come(number, own % 2 == 0 ? "poses" : "apart", LOGGED);
	whorl_dds_entity writer = new_writer(&place, "durability=persistent writer_data_lifecycle=off");

	has_all(&place, written);
	write_some(writer, 1, written, written + 1);
	reach(own, 1);
	for (int i = 0; atomic_load(&board->step[own]) < 2; i++) {
		whorl_dds_return result = whorl_dds_write(writer, &(struct pose){.id = 2, .count = i});

		if (result != OK && result != WHORL_DDS_RETCODE_TIMEOUT)
			ck_abort_msg("write: %s", whorl_dds_text());
		moment();
	}
	well(whorl_dds_delete(place.participant));
}

/* Of those that live one ends, in order or not; or all do, at once. */
static void end_some(pid_t *pids, unsigned *random)
{
	bool all = rand_r(random) % 4 == 0;
	int ended[LIVES] = {0};

	for (int i = 0; i < LIVES; i++) {
		if (pids[i] == 0 || (!all && rand_r(random) % 2 == 0))
			continue;
		ended[i] = 1 + rand_r(random) % 2;
		if (ended[i] == 1)
			kill(pids[i], SIGKILL);
		else
			reach(i, 2);
	}
	for (int i = 0; i < LIVES; i++)
		if (ended[i] != 0) {
			await_end(pids[i], ended[i] == 1);
			pids[i] = 0;
		}
}

START_TEST(lives_that_follow_each_other)
{
	unsigned random = (unsigned)test_seed(1);
	pid_t pids[LIVES] = {0};

	make_domain("[topic apart]\nchannel = own\n"); /* two channels: their last members may be others */
	for (int i = 0; i < LIVES; i++) {
		int alive = 0;

		atomic_store(&board->step[LIFE], i);
		pids[i] = begin_process(life, domain());
		await(i, 1);
		atomic_fetch_add(&board->step[WRITTEN + i % 2], 1);
		for (int k = 0; k <= i; k++)
			alive += pids[k] != 0;
		if (alive >= AT_ONCE || rand_r(&random) % 2 == 0)
			end_some(pids, &random);
	}
	for (int i = 0; i < LIVES; i++)
		if (pids[i] != 0) {
			reach(i, 2);
			await_end(pids[i], false);
		}
	remove_domain();
}
END_TEST

int main(void)
{
	const struct named_test tests[] = {
		{"outlives", what_was_written_outlives_all},
		{"owned", who_owned_stays_as_it_was},
		{"long", a_long_log_is_written_anew},
		{"name", what_a_topic_is_stays},
		{"fetched", logs_of_several_directories_are_fetched},
		{"several", logs_of_several_directories_come_back},
		{"senders", nobody_rests_in_a_log},
		{"lives", lives_that_follow_each_other},
	};

	return run_processes("dds_logged", tests, sizeof(tests) / sizeof(tests[0]));
}
