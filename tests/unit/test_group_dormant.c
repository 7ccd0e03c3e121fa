/* test_group_dormant.c - durable subgroups that nodes enter and leave: dormant when no member is left, and brought back by a log (0058).
 *
 * Labels: threads
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <whorl/status.h>

#include "tests/support/group.h"
#include "tests/support/saved.h"

#define NODES 3
#define MOST 256

struct told { /* of one message */
	uint64_t view, sequence, value;
};

struct program { /* of one stay */
	whorl_subgroup *topic;
	pthread_mutex_t lock;
	struct told told[MOST]; /* its state, and what it has been upcalled for */
	size_t count;
	atomic_ulong upcalls, restores;
	atomic_bool holds; /* it restores nothing yet */
};

static struct lab {
	char directory[64];
	whorl_config *config;
	whorl_node *nodes[NODES];
	struct program programs[NODES];
	bool has_state;
} lab;

/* ---- the program ------------------------------------------------------------------------------------------------------ */

static void take_message(const struct whorl_message *message, void *ctx)
{
	struct program *program = ctx;
	struct told told = {message->view, message->sequence, 0};

	ck_assert_uint_eq(message->bytes, sizeof(told.value));
	memcpy(&told.value, message->data, sizeof(told.value));
	pthread_mutex_lock(&program->lock);
	ck_assert_uint_lt(program->count, MOST);
	program->told[program->count++] = told;
	pthread_mutex_unlock(&program->lock);
	atomic_fetch_add(&program->upcalls, 1);
}

struct copy {
	struct told told[MOST];
	size_t count, read;
};

static void *take_copy(const struct whorl_position *position, void *ctx)
{
	struct program *program = ctx;
	struct copy *copy = calloc(1, sizeof(*copy));

	(void)position;
	ck_assert_ptr_nonnull(copy);
	memcpy(copy->told, program->told, sizeof(copy->told));
	copy->count = program->count;
	return copy;
}

static ptrdiff_t read_copy(void *snapshot, void *bytes, size_t count, void *ctx)
{
	struct copy *copy = snapshot;

	(void)ctx;
	if (copy->read == copy->count)
		return 0;
	if (count < sizeof(copy->told[0]))
		return -1;
	memcpy(bytes, &copy->told[copy->read++], sizeof(copy->told[0]));
	return sizeof(copy->told[0]);
}

static void release_copy(void *snapshot, void *ctx)
{
	(void)ctx;
	free(snapshot);
}

static bool restore_copy(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	struct program *program = ctx;

	while (step == WHORL_RESTORE_BEGIN && atomic_load(&program->holds))
		usleep(1000);
	pthread_mutex_lock(&program->lock);
	if (step == WHORL_RESTORE_BEGIN)
		program->count = 0;
	for (size_t at = 0; at < count; at += sizeof(program->told[0]))
		memcpy(&program->told[program->count++], (const char *)bytes + at, sizeof(program->told[0]));
	pthread_mutex_unlock(&program->lock);
	if (step == WHORL_RESTORE_END)
		atomic_fetch_add(&program->restores, 1);
	return true;
}

/* ---- nodes -------------------------------------------------------------------------------------------------------------- */

static void make_lab(int has_state)
{
	char text[1024], name[64];

	lab.has_state = has_state != 0;
	snprintf(lab.directory, sizeof(lab.directory), "%s/whorl-dormant-XXXXXX",
		 getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(lab.directory));
	snprintf(text, sizeof(text),
		 "[group]\nname = %s\nnodes = 0\nnodes_max = %d\nlog_dir = %s\ndisk_timeout_ms = 120000\nmemory_max = 4g\n"
		 "start_timeout_ms = 500\nfailure_timeout_ms = 600000\n",
		 group_name(name, sizeof(name)), NODES, lab.directory);
	lab.config = whorl_config_new();
	ck_assert_ptr_nonnull(lab.config);
	ck_assert_msg(whorl_config_load_text(lab.config, "test", text) == WHORL_OK, "%s",
		      whorl_config_error(lab.config));
	for (unsigned id = 0; id < NODES; id++)
		pthread_mutex_init(&lab.programs[id].lock, NULL);
}

static void open_node(unsigned id)
{
	ck_assert_msg(whorl_open(lab.config, id, NULL, &lab.nodes[id]) == WHORL_OK, "%s",
		      whorl_config_error(lab.config));
	ck_ok(whorl_start(lab.nodes[id]));
}

static void await_ready(unsigned id)
{
	await(whorl_ready(lab.nodes[id], 0) == WHORL_OK, usleep(1000));
}

static void begin_node(unsigned id)
{
	open_node(id);
	await_ready(id);
}

static struct whorl_subgroup_options options_of(unsigned id)
{
	static struct whorl_state functions[NODES];
	struct whorl_subgroup_options options = {.size = sizeof(options),
						 .mode = WHORL_DURABLE,
						 .window = 16,
						 .message_bytes = 64,
						 .on_message = take_message,
						 .upcall_ctx = &lab.programs[id]};

	functions[id] = (struct whorl_state){.size = sizeof(functions[id]),
					     .snapshot = take_copy,
					     .read = read_copy,
					     .release = release_copy,
					     .restore = restore_copy,
					     .ctx = &lab.programs[id]};
	options.state = lab.has_state ? &functions[id] : NULL;
	return options;
}

static void ask_with(unsigned id, const struct whorl_subgroup_options *options)
{
	enum whorl_result result;

	lab.programs[id].count = 0;
	atomic_store(&lab.programs[id].upcalls, 0);
	atomic_store(&lab.programs[id].restores, 0);
	await((result = whorl_subgroup_enter(lab.nodes[id], "topic", options, 0, &lab.programs[id].topic)) !=
		      WHORL_AGAIN, /* it leaves still */
	      usleep(1000));
	ck_assert_int_eq(result, WHORL_TIMEOUT);
}

static void ask(unsigned id)
{
	struct whorl_subgroup_options options = options_of(id);

	ask_with(id, &options);
}

static void await_in(unsigned id)
{
	await(whorl_subgroup_ready(lab.programs[id].topic, 0) == WHORL_OK, usleep(1000));
}

static void enter(unsigned id)
{
	ask(id);
	await_in(id);
}

static void leave(unsigned id)
{
	await(whorl_subgroup_leave(lab.programs[id].topic, 0) == WHORL_OK, usleep(1000));
	ck_ok(whorl_subgroup_release(lab.programs[id].topic));
	lab.programs[id].topic = NULL;
}

/* In order; what it is in it leaves without more. */
static void close_node(unsigned id)
{
	ck_ok(whorl_close(lab.nodes[id], 60000));
	lab.nodes[id] = NULL;
	lab.programs[id].topic = NULL;
}

static void send_some(unsigned id, uint64_t from, uint64_t count)
{
	for (uint64_t value = from; value < from + count; value++) {
		enum whorl_result result;

		await((result = whorl_send(lab.programs[id].topic, &value, sizeof(value), 0, NULL)) != WHORL_AGAIN,
		      sched_yield());
		ck_ok(result);
	}
}

static size_t told(unsigned id)
{
	size_t count;

	pthread_mutex_lock(&lab.programs[id].lock);
	count = lab.programs[id].count;
	pthread_mutex_unlock(&lab.programs[id].lock);
	return count;
}

static void await_told(unsigned id, size_t count)
{
	await(told(id) >= count, usleep(1000));
	ck_assert_uint_eq(told(id), count);
}

struct history {
	struct told told[MOST];
	size_t count;
};

static struct history history_of(unsigned id)
{
	struct history out = {.count = told(id)};

	memcpy(out.told, lab.programs[id].told, sizeof(out.told));
	return out;
}

/* It has been told the same, with the same places, and maybe more. */
static void expect(unsigned id, const struct history *history)
{
	ck_assert_uint_ge(told(id), history->count);
	ck_assert_mem_eq(lab.programs[id].told, history->told, history->count * sizeof(history->told[0]));
}

static void free_lab(void)
{
	for (unsigned id = 0; id < NODES; id++)
		if (lab.nodes[id] != NULL)
			whorl_close(lab.nodes[id], 0);
	whorl_config_free(lab.config);
	for (unsigned id = 0; id < NODES; id++)
		pthread_mutex_destroy(&lab.programs[id].lock);
	remove_directory(lab.directory);
}

/* ---- tests -------------------------------------------------------------------------------------------------------------- */

TEST_CASE("dormant", .timeout_s = 240);

/* Of a node that goes on; again and again. */
TEST_LOOP(the_last_member_comes_back, 0, 2)
{
	struct history before;

	make_lab(_i);
	begin_node(0);
	enter(0);
	for (unsigned round = 1; round <= 3; round++) {
		send_some(0, 10 * round, 10);
		await_told(0, 10 * round);
		before = history_of(0);
		leave(0);
		enter(0);
		ck_assert_uint_eq(told(0), before.count);
		expect(0, &before);
	}
	free_lab();
}

/* The group comes back, without a subgroup in its file; and with it what its members had, at the places where it was. */
TEST_LOOP(it_is_there_behind_a_restart_of_all, 0, 2)
{
	struct history before;

	make_lab(_i);
	for (unsigned id = 0; id < 2; id++)
		begin_node(id);
	for (unsigned id = 0; id < 2; id++)
		enter(id);
	for (unsigned round = 1; round <= 2; round++) {
		send_some(0, 10 * round, 10);
		for (unsigned id = 0; id < 2; id++)
			await_told(id, 10 * round);
		before = history_of(0);
		expect(1, &before);
		for (unsigned id = 0; id < 2; id++)
			close_node(id);
		for (unsigned id = 0; id < 2; id++)
			open_node(id);
		for (unsigned id = 0; id < 2; id++)
			await_ready(id);
		for (unsigned id = 0; id < 2; id++)
			ask(id);
		for (unsigned id = 0; id < 2; id++) {
			await_in(id);
			ck_assert_uint_eq(told(id), before.count);
			expect(id, &before);
		}
	}
	free_lab();
}

/* Its first wish is said before any view has begun: then its log is that of a member yet, and of nothing dormant. */
TEST(it_is_entered_before_the_start)
{
	struct history before;

	make_lab(1);
	begin_node(0);
	enter(0);
	for (unsigned round = 1; round <= 3; round++) {
		send_some(0, 10 * round, 10);
		await_told(0, 10 * round);
		before = history_of(0);
		ck_assert_int_ne(whorl_close(lab.nodes[0], 0), WHORL_INVALID); /* as one that has failed */
		ck_assert_msg(whorl_open(lab.config, 0, NULL, &lab.nodes[0]) == WHORL_OK, "%s",
			      whorl_config_error(lab.config));
		ask(0);
		ck_ok(whorl_start(lab.nodes[0]));
		await_ready(0);
		await_in(0);
		ck_assert_uint_eq(told(0), before.count);
		expect(0, &before);
	}
	free_lab();
}

/* The stay of that node waits for node 1, or (count 0) for none. */
static void expect_awaited(unsigned id, uint32_t count)
{
	uint32_t ids[2] = {9, 9}, got = 2;

	ck_ok(whorl_subgroup_awaited(lab.programs[id].topic, ids, &got));
	ck_assert_uint_eq(got, count);
	ck_assert_uint_eq(ids[0], count > 0 ? 1 : 9);
	ck_assert_uint_eq(ids[1], 9);
	got = 0; /* no room: how many there are is told */
	ck_ok(whorl_subgroup_awaited(lab.programs[id].topic, ids, &got));
	ck_assert_uint_eq(got, count);
}

/* A node that was no member waits, and says for which it does; then it is given all. */
TEST_LOOP(it_waits_for_its_log, 0, 2)
{
	struct whorl_status *status;
	struct history before;
	char text[512];

	make_lab(_i);
	for (unsigned id = 0; id < 2; id++)
		begin_node(id);
	enter(1);
	send_some(1, 0, 20);
	await_told(1, 20);
	before = history_of(1);
	close_node(1);
	ask(0);
	await(whorl_subgroup_error(lab.programs[0].topic, text, sizeof(text)) == WHORL_AGAIN &&
		      strstr(text, "dormant") != NULL,
	      usleep(1000));
	ck_assert_msg(strstr(text, "with 1") != NULL, "%s", text);
	expect_awaited(0, 1);
	usleep(200000);
	ck_assert_int_eq(whorl_subgroup_ready(lab.programs[0].topic, 0), WHORL_TIMEOUT);
	ck_ok(whorl_status_of(lab.config, 0, 10000, &status, text, sizeof(text)));
	ck_assert_uint_eq(status->shard_count, 1);
	ck_assert(status->shards[0].dormant && status->shards[0].durable);
	ck_assert_uint_eq(status->shards[0].place_count, 1);
	ck_assert_uint_eq(status->shards[0].places[0].id, 1);
	whorl_status_free(status);
	begin_node(1);
	enter(1);
	ck_assert_uint_eq(told(1), before.count);
	expect(1, &before);
	await_in(0);
	await_told(0, before.count);
	expect(0, &before);
	send_some(0, 100, 5);
	for (unsigned id = 0; id < 2; id++)
		await_told(id, 25);
	before = history_of(0);
	expect(1, &before);
	expect_awaited(0, 0);
	free_lab();
}

/* The log of a node that has left before the others counts for nothing, though it is whole up to there. */
TEST_LOOP(a_log_that_was_left_early_does_not_count, 0, 2)
{
	struct history before;

	make_lab(_i);
	for (unsigned id = 0; id < 2; id++)
		begin_node(id);
	for (unsigned id = 0; id < 2; id++)
		enter(id);
	send_some(0, 0, 10);
	for (unsigned id = 0; id < 2; id++)
		await_told(id, 10);
	leave(0);
	send_some(1, 10, 10);
	await_told(1, 20);
	before = history_of(1);
	leave(1);
	ask(0);
	usleep(200000);
	ck_assert_int_eq(whorl_subgroup_ready(lab.programs[0].topic, 0), WHORL_TIMEOUT);
	enter(1);
	expect(1, &before);
	await_in(0);
	await_told(0, 20);
	expect(0, &before);
	free_lab();
}

/* A newcomer that has been given all keeps it when those that gave it are gone. */
TEST_LOOP(a_log_that_was_given_comes_back, 0, 2)
{
	struct history before;

	make_lab(_i);
	for (unsigned id = 0; id < 2; id++)
		begin_node(id);
	enter(0);
	send_some(0, 0, 10);
	await_told(0, 10);
	enter(1);
	await_told(1, 10);
	leave(0);
	send_some(1, 10, 10);
	await_told(1, 20);
	before = history_of(1);
	close_node(1);
	close_node(0);
	open_node(1);
	open_node(0);
	await_ready(1);
	await_ready(0);
	enter(1);
	ck_assert_uint_eq(told(1), 20);
	expect(1, &before);
	free_lab();
}

/* The only member with all of it ends before it has given that: the group goes on, and what it had comes back with it. */
TEST(a_group_does_not_wait_for_a_log)
{
	struct history before;
	enum whorl_result result;

	make_lab(1);
	for (unsigned id = 0; id < NODES; id++)
		begin_node(id);
	enter(1);
	send_some(1, 0, 10);
	await_told(1, 10);
	before = history_of(1);
	atomic_store(&lab.programs[2].holds, true);
	ask(2);
	await(whorl_subgroup_error(lab.programs[2].topic, NULL, 0) == WHORL_OK, usleep(1000));
	whorl_close(lab.nodes[1], 0); /* as one that has failed: its log is the only one that is whole */
	lab.nodes[1] = NULL;
	await((result = whorl_subgroup_ready(lab.programs[2].topic, 0)) != WHORL_TIMEOUT, usleep(1000));
	ck_assert_int_eq(result, WHORL_SHARD_LOST);
	atomic_store(&lab.programs[2].holds, false);
	leave(2); /* no function of its program is called any more */
	await(whorl_error(lab.nodes[0], NULL, 0) == WHORL_OK && view_of(lab.nodes[0]) == view_of(lab.nodes[2]),
	      usleep(1000));
	ask(2);
	usleep(100000);
	ck_assert_int_eq(whorl_subgroup_ready(lab.programs[2].topic, 0), WHORL_TIMEOUT);
	begin_node(1);
	enter(1);
	expect(1, &before);
	await_in(2);
	await_told(2, 10);
	expect(2, &before);
	free_lab();
}

/* Checkpoints are restored, and not upcalled. */
TEST(it_comes_back_from_a_checkpoint)
{
	struct whorl_log_stats stats = {.size = sizeof(stats)};
	struct history before;

	make_lab(1);
	begin_node(0);
	enter(0);
	send_some(0, 0, 10);
	await_told(0, 10);
	ck_ok(whorl_checkpoint(lab.programs[0].topic));
	await(whorl_log_statistics(lab.programs[0].topic, &stats) == WHORL_OK && stats.checkpoints == 1, usleep(1000));
	send_some(0, 10, 5);
	await_told(0, 15);
	before = history_of(0);
	close_node(0);
	begin_node(0);
	enter(0);
	ck_assert_uint_eq(told(0), 15);
	expect(0, &before);
	ck_assert_uint_eq(atomic_load(&lab.programs[0].upcalls), 5);
	ck_assert_uint_eq(atomic_load(&lab.programs[0].restores), 1);
	free_lab();
}

TEST_LOOP(it_begins_anew_where_that_is_said, 0, 2)
{
	struct whorl_subgroup_options options;

	make_lab(_i);
	for (unsigned id = 0; id < 2; id++)
		begin_node(id);
	enter(1);
	send_some(1, 0, 10);
	await_told(1, 10);
	close_node(1);
	options = options_of(0);
	options.begin_anew = true;
	ask_with(0, &options);
	await_in(0);
	ck_assert_uint_eq(told(0), 0);
	send_some(0, 50, 5);
	await_told(0, 5);
	begin_node(1);
	enter(1); /* what its log has is given up */
	await_told(1, 5);
	ck_assert_uint_eq(lab.programs[1].told[0].value, 50);
	leave(1);
	leave(0);
	ask_with(0, &options); /* its log is here: nothing is begun anew */
	await_in(0);
	ck_assert_uint_eq(told(0), 5);
	free_lab();
}

TEST(others_agree_that_it_is_durable)
{
	struct whorl_subgroup_options options;
	char text[512];

	make_lab(0);
	for (unsigned id = 0; id < 2; id++)
		begin_node(id);
	enter(0);
	options = options_of(1);
	options.mode = WHORL_ORDERED;
	ask_with(1, &options);
	await(whorl_subgroup_error(lab.programs[1].topic, text, sizeof(text)) == WHORL_REFUSED, usleep(1000));
	ck_assert_msg(strstr(text, "its mode is ordered here, and durable at node 0") != NULL, "%s", text);
	free_lab();
}

TEST(it_needs_a_directory)
{
	struct cluster cluster;
	struct whorl_subgroup_options options = {.size = sizeof(options), .mode = WHORL_DURABLE};
	whorl_subgroup *subgroup;

	cluster_open(&cluster, 1, "", "[subgroup other]\n");
	cluster_start(&cluster);
	ck_assert_int_eq(whorl_subgroup_enter(cluster.nodes[0], "topic", &options, 0, &subgroup), WHORL_UNSUPPORTED);
	ck_assert_ptr_null(subgroup);
	ck_assert_msg(strstr(whorl_invalid_text(), "log_dir") != NULL, "%s", whorl_invalid_text());
	cluster_free(&cluster);
}

TEST_SUITE("group_dormant")
