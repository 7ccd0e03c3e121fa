/* test_group_stays.c - subgroups that nodes enter and leave at run time: agreed on, refused, with a state, left with all delivered, made
 * anew, taken back, many at once; and what a program may not ask for.
 * Labels: threads
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "group/node_int.h"
#include "tests/support/group.h"

#undef PATIENCE_MS /* none of this takes long: what never comes is found sooner */
#define PATIENCE_MS ((int)test_patience(8000))

#define CALLER "[engine]\nthread = caller\n[subgroup other]\n"
#define DEDICATED "[subgroup other]\n"
#define FAR "failure_timeout_ms = 600000\n"

static const char *const transports[] = {FAR, FAR "transport = tcp\n"};
static const char *const threads[] = {CALLER, DEDICATED};

/* Each transport, each thread. */
#define WAYS 4

static struct cluster cluster;
static struct record *extra[NODES_MAX]; /* what each delivers in the dynamic subgroup */

static void begin_with(const char *group, const char *rest, unsigned count)
{
	cluster_open(&cluster, count, group, rest);
	for (unsigned id = 0; id < count; id++)
		extra[id] = calloc(1, sizeof(struct record));
	cluster_start(&cluster);
}

static void begin(int way, unsigned count)
{
	begin_with(transports[way % 2], threads[way / 2], count);
}

/* Node 0 alone; node 1 may come. */
static void begin_with_founder(const char *rest)
{
	cluster_configure(&cluster, 2, "founder = 0\n" FAR, rest);
	for (unsigned id = 0; id < 2; id++)
		extra[id] = calloc(1, sizeof(struct record));
	cluster.count = 1;
	cluster_open_node(&cluster, 0);
	cluster_start(&cluster);
}

/* It is not started. */
static void open_newcomer(void)
{
	cluster.count = 2;
	cluster_open_node(&cluster, 1);
}

static void end(void)
{
	cluster_free(&cluster);
	for (unsigned id = 0; id < NODES_MAX; id++) {
		free(extra[id]);
		extra[id] = NULL;
	}
}

static struct whorl_subgroup_options small(unsigned id)
{
	return (struct whorl_subgroup_options){.size = sizeof(struct whorl_subgroup_options),
					       .window = 10,
					       .message_bytes = 64,
					       .on_message = record_message,
					       .upcall_ctx = extra[id]};
}

static whorl_subgroup *ask(unsigned id, const char *name, const struct whorl_subgroup_options *options)
{
	whorl_subgroup *subgroup = NULL;

	ck_assert_int_eq(whorl_subgroup_enter(cluster.nodes[id], name, options, 0, &subgroup), WHORL_TIMEOUT);
	ck_assert_ptr_nonnull(subgroup);
	return subgroup;
}

static void await_in(whorl_subgroup *subgroup)
{
	await(whorl_subgroup_ready(subgroup, 0) == WHORL_OK, cluster_step(&cluster));
}

static whorl_subgroup *enter(unsigned id, const char *name)
{
	struct whorl_subgroup_options options = small(id);
	whorl_subgroup *subgroup = ask(id, name, &options);

	await_in(subgroup);
	return subgroup;
}

static void leave(whorl_subgroup *subgroup)
{
	enum whorl_result result = whorl_subgroup_leave(subgroup, 0);

	ck_assert(result == WHORL_TIMEOUT || result == WHORL_OK);
	await(whorl_subgroup_leave(subgroup, 0) == WHORL_OK, cluster_step(&cluster));
}

static void send_number(whorl_subgroup *subgroup, uint64_t number)
{
	enum whorl_result result = WHORL_AGAIN;

	await((result = whorl_send(subgroup, &number, sizeof(number), 0, NULL)) != WHORL_AGAIN, cluster_step(&cluster));
	ck_ok(result);
}

static void await_count(unsigned id, unsigned long count)
{
	await(recorded(extra[id]) >= count, cluster_step(&cluster));
	ck_assert_uint_eq(recorded(extra[id]), count);
}

static uint32_t members_of(whorl_subgroup *subgroup)
{
	uint32_t count = 0;

	ck_ok(whorl_subgroup_members(subgroup, NULL, &count));
	return count;
}

/* ---- entering, sending, leaving --------------------------------------------------------------------------------------------- */

START_TEST(those_that_enter_have_one_order)
{
	whorl_subgroup *a, *b, *c;
	uint32_t ids[3] = {9, 9, 9}, count = 3;

	begin(_i, 3);
	a = enter(2, "topic");
	ck_assert_uint_eq(members_of(a), 1);
	for (uint64_t i = 0; i < 25; i++)
		send_number(a, i);
	await_count(2, 25);
	b = enter(0, "topic");
	c = enter(1, "topic");
	await(members_of(a) == 3 && members_of(b) == 3, cluster_step(&cluster));
	ck_ok(whorl_subgroup_members(c, ids, &count));
	ck_assert(count == 3 && ids[0] == 0 && ids[1] == 1 && ids[2] == 2);
	for (uint64_t i = 0; i < 30; i++) {
		send_number(a, 100 + i);
		send_number(b, 200 + i);
		send_number(c, 300 + i);
	}
	await_count(0, 90);
	await_count(1, 90);
	await_count(2, 115);
	records_agree(extra[0], extra[1]);
	for (unsigned i = 0; i < 90; i++)
		ck_assert_mem_eq(&extra[0]->entries[i], &extra[2]->entries[25 + i], sizeof(struct entry));
	end();
}
END_TEST

START_TEST(a_node_that_listens_does_not_send)
{
	struct whorl_subgroup_options options;
	whorl_subgroup *a, *b;
	struct whorl_claim claim;

	begin(_i, 2);
	options = small(0);
	options.listens = true;
	a = ask(0, "topic", &options);
	b = enter(1, "topic");
	await_in(a);
	ck_assert_int_eq(whorl_claim(a, 8, &claim), WHORL_NOT_SENDER);
	ck_assert_int_eq(whorl_window_fd(a), -1);
	for (uint64_t i = 0; i < 30; i++)
		send_number(b, i);
	await_count(0, 30);
	leave(a);
	for (uint64_t i = 0; i < 30; i++)
		send_number(b, i);
	await_count(1, 60);
	ck_assert_uint_eq(recorded(extra[0]), 30);
	end();
}
END_TEST

/* It says that it rests, which no view has it do: one after the other would be made. */
START_TEST(a_node_that_listens_has_nothing_to_rest_from)
{
	struct whorl_subgroup_options options;
	whorl_subgroup *a;
	uint64_t views;

	begin(_i, 1);
	options = small(0);
	options.listens = true;
	a = ask(0, "topic", &options);
	await_in(a);
	ck_ok(whorl_pause_sending(a, true));
	views = view_of(cluster.nodes[0]);
	leave(enter(0, "other-topic"));
	leave(enter(0, "other-topic"));
	for (int i = 0; i < 200; i++)
		cluster_step(&cluster);
	ck_assert_uint_le(view_of(cluster.nodes[0]), views + 8);
	ck_ok(whorl_pause_sending(a, false));
	leave(a);
	end();
}
END_TEST

/* What was committed before is delivered by all; nothing is taken from then on. */
START_TEST(a_node_leaves_when_all_is_delivered)
{
	struct whorl_subgroup_options options;
	whorl_subgroup *a, *b, *again;
	struct whorl_claim claim;
	uint64_t number = 7;
	char text[200];

	begin(_i, 2);
	options = small(0);
	a = enter(0, "topic");
	b = enter(1, "topic");
	await(members_of(a) == 2, cluster_step(&cluster));
	await(whorl_claim(a, 8, &claim) == WHORL_OK, cluster_step(&cluster));
	ck_assert_int_eq(whorl_subgroup_leave(a, 0), WHORL_TIMEOUT);
	ck_assert_int_eq(whorl_send(a, &number, sizeof(number), 0, NULL), WHORL_NOT_SENDER);
	ck_assert_int_eq(whorl_pause_sending(a, false), WHORL_CLOSED);
	ck_assert_int_eq(whorl_subgroup_error(a, text, sizeof(text)), WHORL_CLOSED);
	for (int i = 0; i < 300; i++)
		cluster_step(&cluster);
	ck_assert_int_eq(whorl_subgroup_leave(a, 0), WHORL_TIMEOUT); /* a claim is open */
	ck_assert_int_eq(whorl_subgroup_enter(cluster.nodes[0], "topic", &options, 0, &again), WHORL_AGAIN);
	ck_assert_ptr_null(again);
	ck_ok(whorl_subgroup_release(enter(0, "another"))); /* which holds up no other wish */
	memcpy(claim.data, &number, sizeof(number));
	ck_ok(whorl_commit(&claim, sizeof(number)));
	await(whorl_subgroup_leave(a, 0) == WHORL_OK, cluster_step(&cluster));
	await_count(0, 1);
	await_count(1, 1);
	await(members_of(b) == 1, cluster_step(&cluster));
	send_number(b, 8);
	await_count(1, 2);
	ck_assert_uint_eq(recorded(extra[0]), 1);
	ck_assert_int_eq(whorl_claim(a, 8, &claim), WHORL_NOT_SENDER);
	ck_assert_int_eq(whorl_subgroup_members(a, NULL, &(uint32_t){0}), WHORL_AGAIN);
	ck_ok(whorl_subgroup_release(a));
	end();
}
END_TEST

/* Its messages begin at 0 again, and none of them is taken for one of the stay before. */
START_TEST(a_node_enters_again)
{
	struct whorl_subgroup_options options;
	whorl_subgroup *a, *b;

	begin(_i / 2, 2);
	options = small(1);
	options.mode = _i % 2 == 0 ? WHORL_ORDERED : WHORL_UNORDERED;
	b = ask(1, "topic", &options);
	await_in(b);
	for (uint64_t stay = 0; stay < 3; stay++) {
		options.upcall_ctx = extra[0];
		a = ask(0, "topic", &options);
		await_in(a);
		for (uint64_t i = 0; i < 15 + stay; i++)
			send_number(a, 100 * stay + i);
		await_count(1, 15 * (stay + 1) + stay * (stay + 1) / 2);
		leave(a);
		ck_ok(whorl_subgroup_release(a));
	}
	ck_assert_uint_eq(extra[1]->entries[15].index, 0);
	ck_assert_uint_eq(extra[1]->entries[15].word, 100);
	records_agree(extra[0], extra[1]);
	send_number(b, 1);
	end();
}
END_TEST

START_TEST(when_all_have_left_the_name_is_of_another)
{
	struct whorl_subgroup_options options;
	whorl_subgroup *a, *b;

	begin(_i, 2);
	a = enter(0, "topic");
	b = enter(1, "topic");
	leave(a);
	leave(b);
	options = small(0);
	options.window = 20;
	options.mode = WHORL_UNORDERED;
	a = ask(0, "topic", &options);
	await_in(a);
	ck_assert_uint_eq(members_of(a), 1);
	send_number(a, 5);
	await_count(0, 1);
	end();
}
END_TEST

/* ---- refusals ----------------------------------------------------------------------------------------------------------------- */

static void *no_snapshot(const struct whorl_position *position, void *ctx)
{
	(void)position;
	(void)ctx;
	return NULL;
}

static ptrdiff_t no_read(void *snapshot, void *bytes, size_t count, void *ctx)
{
	(void)snapshot;
	(void)bytes;
	(void)count;
	(void)ctx;
	return 0;
}

static void no_release(void *snapshot, void *ctx)
{
	(void)snapshot;
	(void)ctx;
}

static bool no_restore(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	(void)step;
	(void)bytes;
	(void)count;
	(void)ctx;
	return true;
}

static const struct whorl_state nothing = {
	sizeof(struct whorl_state), no_snapshot, no_read, no_release, no_restore, NULL};

START_TEST(what_differs_is_refused_and_named)
{
	static const char *const said[] = {
		"mode is unordered here, and ordered at node 1", "functions for its state here, and none at node 1",
		"window is 11 here, and 10 at node 1", "message_bytes is 80 here, and 64 at node 1",
		"large_bytes is 128 here, and 0 at node 1"};
	char text[300];

	begin(_i, 3);
	enter(1, "topic");
	for (int k = 0; k < 5; k++) {
		struct whorl_subgroup_options options = small(0);
		whorl_subgroup *a;
		struct whorl_claim claim;

		if (k == 0)
			options.mode = WHORL_UNORDERED;
		options.state = k == 1 ? &nothing : NULL;
		options.window += k == 2;
		options.message_bytes += k == 3 ? 16 : 0;
		options.large_bytes = k == 4 ? 128 : 0;
		a = ask(0, "topic", &options);
		await(whorl_subgroup_ready(a, 0) != WHORL_TIMEOUT, cluster_step(&cluster));
		ck_assert_int_eq(whorl_subgroup_ready(a, 0), WHORL_REFUSED);
		ck_assert_int_eq(whorl_subgroup_error(a, text, sizeof(text)), WHORL_REFUSED);
		ck_assert_msg(strstr(text, said[k]) != NULL, "\"%s\" does not say \"%s\"", text, said[k]);
		ck_assert_int_eq(whorl_claim(a, 8, &claim), WHORL_NOT_SENDER);
		ck_ok(whorl_subgroup_leave(a, 0));
		ck_ok(whorl_subgroup_release(a));
	}
	await_in(enter(0, "topic"));
	end();
}
END_TEST

/* A call that waits gets the reason in words, and no handle. */
START_TEST(a_call_that_waits_is_told_why)
{
	struct whorl_subgroup_options options;
	whorl_subgroup *a;

	begin(2 + _i, 2);
	options = small(0);
	ck_ok(whorl_subgroup_enter(cluster.nodes[0], "topic", &options, PATIENCE_MS, &a));
	options = small(1);
	options.window = 12;
	ck_assert_int_eq(whorl_subgroup_enter(cluster.nodes[1], "topic", &options, PATIENCE_MS, &a), WHORL_REFUSED);
	ck_assert_ptr_null(a);
	ck_assert_ptr_nonnull(strstr(whorl_invalid_text(), "window is 12 here, and 10 at node 0"));
	options.window = 10;
	ck_ok(whorl_subgroup_enter(cluster.nodes[1], "topic", &options, PATIENCE_MS, &a));
	ck_ok(whorl_subgroup_leave(a, PATIENCE_MS));
	ck_ok(whorl_subgroup_release(a));
	ck_ok(whorl_subgroup_enter(cluster.nodes[1], "topic", &options, PATIENCE_MS, &a));
	/* Enters again what it is leaving: it waits until it has left. */
	ck_ok(whorl_subgroup_release(a));
	ck_ok(whorl_subgroup_enter(cluster.nodes[1], "topic", &options, PATIENCE_MS, &a));
	end();
}
END_TEST

START_TEST(misuse_gets_an_answer)
{
	struct whorl_subgroup_options options;
	whorl_subgroup *a, *b, *other;
	const char *const wrong[] = {"", "a b", "0123456789012345678901234567890123456789012345678901234567890123",
				     "other"};

	begin(0, 1);
	a = enter(0, "topic");
	options = small(0);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(whorl_subgroup_enter(cluster.nodes[0], wrong[i], &options, 0, &b), WHORL_INVALID);
	ck_assert_int_eq(whorl_subgroup_enter(cluster.nodes[0], "other", NULL, 0, &b), WHORL_INVALID);
	ck_assert_int_eq(whorl_subgroup_enter(cluster.nodes[0], "topic", &options, 0, &b), WHORL_INVALID);
	ck_assert_int_eq(whorl_subgroup_enter(cluster.nodes[0], "more", &options, -1, &b), WHORL_INVALID);
	ck_assert_int_eq(whorl_subgroup_enter(NULL, "more", &options, 0, &b), WHORL_INVALID);
	ck_assert_int_eq(whorl_subgroup_enter(cluster.nodes[0], NULL, &options, 0, &b), WHORL_INVALID);
	ck_assert_int_eq(whorl_subgroup_enter(cluster.nodes[0], "more", &options, 0, NULL), WHORL_INVALID);
	options.size = 0;
	ck_assert_int_eq(whorl_subgroup_enter(cluster.nodes[0], "more", &options, 0, &b), WHORL_INVALID);
	options = small(0);
	options.on_batch = record_batch;
	ck_assert_int_eq(whorl_subgroup_enter(cluster.nodes[0], "more", &options, 0, &b), WHORL_INVALID);
	options = small(0);
	options.large_bytes = 65;
	ck_assert_int_eq(whorl_subgroup_enter(cluster.nodes[0], "more", &options, 0, &b), WHORL_TIMEOUT);
	ck_ok(whorl_subgroup_release(b));
	options.large_bytes = 64 * 10 + 1;
	ck_assert_int_eq(whorl_subgroup_enter(cluster.nodes[0], "more", &options, 0, &b), WHORL_INVALID);
	options = small(0);
	options.refuse_max_ms = (UINT64_C(1) << 40) + 1;
	ck_assert_int_eq(whorl_subgroup_enter(cluster.nodes[0], "more", &options, 0, &b), WHORL_INVALID);
	options = small(0);
	options.mode = (enum whorl_mode)4;
	ck_assert_int_eq(whorl_subgroup_enter(cluster.nodes[0], "more", &options, 0, &b), WHORL_INVALID);
	options = small(0);
	options.state = &(struct whorl_state){.size = 8};
	ck_assert_int_eq(whorl_subgroup_enter(cluster.nodes[0], "more", &options, 0, &b), WHORL_INVALID);
	options = small(0);
	options.window = 10000;
	options.message_bytes = 1 << 20;
	ck_assert_int_eq(whorl_subgroup_enter(cluster.nodes[0], "much", &options, 0, &b), WHORL_MEMORY);
	ck_assert_ptr_null(b);
	other = subgroup_of(&cluster, 0, "other");
	ck_assert_int_eq(whorl_subgroup_leave(other, 0), WHORL_INVALID);
	ck_assert_int_eq(whorl_subgroup_release(other), WHORL_INVALID);
	ck_ok(whorl_subgroup_release(NULL));
	ck_assert_int_eq(whorl_subgroup_leave(NULL, 0), WHORL_INVALID);
	ck_assert_int_eq(whorl_subgroup_leave(a, -1), WHORL_INVALID);
	ck_assert_int_eq(whorl_subgroup_ready(NULL, 0), WHORL_INVALID);
	ck_assert_int_eq(whorl_subgroup_error(NULL, NULL, 0), WHORL_INVALID);
	ck_assert_int_eq(whorl_subgroup_members(NULL, NULL, NULL), WHORL_INVALID);
	ck_assert_int_eq(whorl_subgroup_members(a, NULL, NULL), WHORL_INVALID);
	ck_ok(whorl_subgroup_ready(other, 0));
	ck_ok(whorl_subgroup_error(other, NULL, 0));
	ck_ok(whorl_subgroup_error(a, NULL, 0));
	ck_assert_ptr_null(whorl_subgroup_find(cluster.nodes[0], "topic"));
	end();
}
END_TEST

/* The file has the parameters, and nodes enter and leave. */
START_TEST(a_subgroup_of_the_file_is_entered)
{
	struct whorl_subgroup_options options = {.size = sizeof(options), .window = 7};
	struct whorl_subgroup_info info = {.size = sizeof(info)};
	whorl_subgroup *a, *b;

	cluster_open(&cluster, 2, FAR,
		     "[engine]\nthread = caller\n[subgroup wished]\nmembers = wish\nwindow = 5\nmessage_bytes = 48\n"
		     "mode = unordered\n");
	cluster_start(&cluster);
	ck_assert_ptr_null(whorl_subgroup_find(cluster.nodes[0], "wished"));
	ck_assert_int_eq(whorl_subgroup_enter(cluster.nodes[0], "wished", &options, 0, &a), WHORL_INVALID);
	options.window = 0;
	options.mode = WHORL_ORDERED;
	ck_assert_int_eq(whorl_subgroup_enter(cluster.nodes[0], "wished", &options, 0, &a), WHORL_INVALID);
	a = ask(0, "wished", NULL);
	options.mode = WHORL_UNORDERED;
	b = ask(1, "wished", &options);
	await_in(a);
	await_in(b);
	ck_ok(whorl_subgroup_describe(a, &info));
	ck_assert_uint_eq(info.window, 5);
	ck_assert_uint_eq(info.message_bytes, 48);
	send_number(a, 1);
	leave(a);
	ck_ok(whorl_subgroup_release(a));
	await_in(ask(0, "wished", NULL));
	end();
}
END_TEST

/* What has not begun yet has no name among nodes: nothing is asked, and least of all of the subgroup of the file. */
START_TEST(a_pause_is_asked_of_those_that_are_in)
{
	struct whorl_subgroup_options options;
	struct whorl_claim claim;
	whorl_subgroup *a, *b;

	begin(0, 2);
	options = small(0);
	a = ask(0, "topic", &options);
	ck_assert_int_eq(whorl_request_pause(a, 1, true), WHORL_AGAIN);
	b = enter(1, "topic");
	await_in(a);
	await(members_of(a) == 2 && members_of(b) == 2, cluster_step(&cluster));
	ck_ok(whorl_request_pause(a, 1, true));
	await(whorl_claim(b, 8, &claim) == WHORL_NOT_SENDER, cluster_step(&cluster));
	send_number(subgroup_of(&cluster, 1, "other"), 1);
	send_number(a, 1);
	end();
}
END_TEST

struct fight {
	whorl_subgroup *subgroup;
	atomic_bool ends;
};

static void *send_again(void *argument)
{
	struct fight *fight = argument;

	while (!atomic_load(&fight->ends))
		(void)whorl_pause_sending(fight->subgroup, false);
	return NULL;
}

/* However a thread that wants to send again falls between. */
START_TEST(a_node_that_leaves_rests)
{
	struct fight fight = {.ends = false};
	pthread_t threads_that_send[2];

	begin(2, 1);
	for (int round = 0; round < 20; round++) {
		fight.subgroup = enter(0, "topic");
		atomic_store(&fight.ends, false);
		for (int i = 0; i < 2; i++)
			ck_assert_int_eq(pthread_create(&threads_that_send[i], NULL, send_again, &fight), 0);
		(void)whorl_subgroup_leave(fight.subgroup, 0);
		await(whorl_subgroup_leave(fight.subgroup, 0) == WHORL_OK, sched_yield());
		atomic_store(&fight.ends, true);
		for (int i = 0; i < 2; i++)
			pthread_join(threads_that_send[i], NULL);
		ck_ok(whorl_subgroup_release(fight.subgroup));
	}
	end();
}
END_TEST

/* ---- taking back, and before there is a group ----------------------------------------------------------------------------------- */

START_TEST(a_wish_is_taken_back)
{
	whorl_subgroup *a;
	struct whorl_subgroup_options options;

	begin(_i, 2);
	options = small(0);
	for (int steps = 0; steps < 20; steps++) {
		a = ask(0, "topic", &options);
		for (int i = 0; i < steps; i++)
			cluster_step(&cluster);
		leave(a);
		ck_ok(whorl_subgroup_release(a));
	}
	await_in(enter(0, "topic"));
	end();
}
END_TEST

START_TEST(wishes_before_the_start_are_met)
{
	struct whorl_subgroup_options options;
	whorl_subgroup *a[2];

	cluster_open(&cluster, 2, transports[_i % 2], threads[_i / 2]);
	for (unsigned id = 0; id < 2; id++) {
		extra[id] = calloc(1, sizeof(struct record));
		options = small(id);
		a[id] = ask(id, "topic", &options);
		ck_assert_int_eq(whorl_subgroup_error(a[id], NULL, 0), WHORL_AGAIN);
	}
	cluster_start(&cluster);
	await_in(a[0]);
	await_in(a[1]);
	await(members_of(a[0]) == 2, cluster_step(&cluster));
	send_number(a[0], 1);
	await_count(1, 1);
	end();
}
END_TEST

/* It comes into its first view with what it wishes. */
START_TEST(a_newcomer_brings_its_wishes)
{
	struct whorl_subgroup_options options;
	whorl_subgroup *a, *b;

	begin_with_founder(threads[_i]);
	a = enter(0, "topic");
	send_number(a, 3);
	await_count(0, 1);
	open_newcomer();
	options = small(1);
	b = ask(1, "topic", &options);
	ck_ok(whorl_start(cluster.nodes[1]));
	await_in(b);
	await(members_of(a) == 2, cluster_step(&cluster));
	send_number(b, 4);
	await_count(0, 2);
	await_count(1, 1);
	end();
}
END_TEST

/* ---- many ------------------------------------------------------------------------------------------------------------------------ */

#define MANY 50
#define NODES 6

START_TEST(many_wishes_take_few_views)
{
	static whorl_subgroup *all[NODES][MANY];
	char name[20];
	uint64_t before;

	begin(_i, NODES);
	before = view_of(cluster.nodes[0]);
	for (unsigned id = 0; id < NODES; id++)
		for (unsigned k = 0; k < MANY; k++) {
			struct whorl_subgroup_options options = small(id);

			snprintf(name, sizeof(name), "topic-%u", k);
			all[id][k] = ask(id, name, &options);
		}
	for (unsigned id = 0; id < NODES; id++)
		for (unsigned k = 0; k < MANY; k++)
			await_in(all[id][k]);
	await(members_of(all[0][MANY - 1]) == NODES, cluster_step(&cluster));
	ck_assert_uint_le(view_of(cluster.nodes[0]) - before, 8);
	for (unsigned id = 0; id < NODES; id++)
		send_number(all[id][7 * id], id);
	for (unsigned id = 0; id < NODES; id++)
		await_count(id, NODES);
	for (unsigned id = 1; id < NODES; id++)
		for (unsigned k = 0; k < MANY; k++)
			ck_ok(whorl_subgroup_release(all[id][k]));
	await(members_of(all[0][MANY - 1]) == 1 && members_of(all[0][0]) == 1, cluster_step(&cluster));
	end();
}
END_TEST

/* ---- states ---------------------------------------------------------------------------------------------------------------------- */

/* The sum of all numbers: the state, which is a copy of it. */
struct sum {
	atomic_ulong sum, count;
	atomic_bool restored;
	enum whorl_mode mode;
	bool fails; /* to restore */
};

static struct sum sums[NODES_MAX];

static void add(const struct whorl_message *m, void *ctx)
{
	struct sum *sum = ctx;
	uint64_t number;

	memcpy(&number, m->data, sizeof(number));
	atomic_fetch_add(&sum->sum, number);
	atomic_fetch_add(&sum->count, 1);
}

struct copy {
	uint64_t sum;
	bool read;
};

static void *take_copy(const struct whorl_position *position, void *ctx)
{
	struct copy *copy = malloc(sizeof(*copy));

	(void)position;
	*copy = (struct copy){atomic_load(&((struct sum *)ctx)->sum), false};
	return copy;
}

static atomic_bool blocks;        /* those that read */
static atomic_bool restores_wait; /* those that restore */

static ptrdiff_t read_copy(void *snapshot, void *bytes, size_t count, void *ctx)
{
	struct copy *copy = snapshot;

	(void)ctx;
	(void)count;
	while (atomic_load(&blocks))
		sched_yield();
	if (copy->read)
		return 0;
	copy->read = true;
	memcpy(bytes, &copy->sum, sizeof(copy->sum));
	return sizeof(copy->sum);
}

static void free_copy(void *snapshot, void *ctx)
{
	(void)ctx;
	free(snapshot);
}

static bool restore_sum(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	struct sum *sum = ctx;
	uint64_t is = 0;

	while (atomic_load(&restores_wait))
		sched_yield();
	if (step == WHORL_RESTORE_BYTES)
		memcpy(&is, bytes, count < sizeof(is) ? count : sizeof(is));
	if (step != WHORL_RESTORE_END)
		atomic_store(&sum->sum, is);
	atomic_store(&sum->restored, true);
	return !sum->fails;
}

static struct whorl_state state_of(unsigned id)
{
	return (struct whorl_state){
		sizeof(struct whorl_state), take_copy, read_copy, free_copy, restore_sum, &sums[id]};
}

static struct whorl_subgroup_options summing(unsigned id, const struct whorl_state *functions)
{
	struct whorl_subgroup_options options = small(id);

	options.mode = sums[id].mode;
	options.on_message = add;
	options.upcall_ctx = &sums[id];
	options.state = functions;
	return options;
}

static whorl_subgroup *ask_sum(unsigned id, const char *name)
{
	const struct whorl_state functions = state_of(id);
	const struct whorl_subgroup_options options = summing(id, &functions);

	atomic_store(&sums[id].sum, 0);
	atomic_store(&sums[id].restored, false);
	return ask(id, name, &options);
}

static whorl_subgroup *enter_sum(unsigned id, const char *name)
{
	whorl_subgroup *subgroup = ask_sum(id, name);

	await_in(subgroup);
	return subgroup;
}

static void set_modes(enum whorl_mode mode)
{
	memset(sums, 0, sizeof(sums));
	for (unsigned id = 0; id < NODES_MAX; id++)
		sums[id].mode = mode;
	atomic_store(&blocks, false);
	atomic_store(&restores_wait, false);
}

START_TEST(a_node_that_enters_is_given_the_state)
{
	whorl_subgroup *a, *b;

	set_modes(_i % 2 == 0 ? WHORL_ORDERED : WHORL_UNORDERED);
	begin(_i / 2, 3);
	a = enter_sum(0, "sum");
	ck_assert(!sums[0].restored); /* it is new: there is nothing */
	for (uint64_t i = 1; i <= 30; i++)
		send_number(a, i);
	b = enter_sum(1, "sum");
	ck_assert(sums[1].restored);
	for (uint64_t i = 31; i <= 60; i++)
		send_number(i % 2 == 0 ? a : b, i);
	leave(a);
	ck_ok(whorl_subgroup_release(a));
	a = enter_sum(2, "sum");
	for (uint64_t i = 61; i <= 90; i++)
		send_number(i % 2 == 0 ? a : b, i);
	await(atomic_load(&sums[1].sum) == 90 * 91 / 2 && atomic_load(&sums[2].sum) == 90 * 91 / 2,
	      cluster_step(&cluster));
	ck_assert(sums[1].restored && sums[2].restored);
	a = enter_sum(0, "sum");
	await(atomic_load(&sums[0].sum) == 90 * 91 / 2, cluster_step(&cluster));
	send_number(a, 1000);
	for (unsigned id = 0; id < 3; id++)
		await(atomic_load(&sums[id].sum) == 1000 + 90 * 91 / 2, cluster_step(&cluster));
	end();
}
END_TEST

/* What a member was given with the state says nothing of a later stay of a sender, for itself or for the next that it gives to. */
START_TEST(a_state_knows_the_stays_of_senders)
{
	whorl_subgroup *a, *b, *c;

	set_modes(_i % 2 == 0 ? WHORL_ORDERED : WHORL_UNORDERED);
	begin(_i / 2, 3);
	a = enter_sum(2, "sum");
	for (uint64_t i = 1; i <= 30; i++)
		send_number(a, i);
	b = enter_sum(0, "sum");
	leave(a);
	ck_ok(whorl_subgroup_release(a));
	a = enter_sum(2, "sum");
	for (uint64_t i = 31; i <= 35; i++)
		send_number(a, i);
	await(atomic_load(&sums[0].sum) == 35 * 36 / 2, cluster_step(&cluster));
	c = ask_sum(1, "sum");
	for (uint64_t i = 36; i <= 50; i++)
		send_number(a, i);
	await_in(c);
	for (unsigned id = 0; id < 3; id++)
		await(atomic_load(&sums[id].sum) == 50 * 51 / 2, cluster_step(&cluster));
	leave(b);
	end();
}
END_TEST

/* It would take with it what the other is being given. */
static void step_for(uint64_t ms)
{
	for (uint64_t until = now_ms() + ms; now_ms() < until;)
		cluster_step(&cluster);
}

START_TEST(a_node_that_gives_its_state_leaves_when_it_has)
{
	whorl_subgroup *a, *b;

	set_modes(WHORL_ORDERED);
	begin(_i, 2);
	a = enter_sum(0, "sum");
	send_number(a, 5);
	atomic_store(&blocks, true);
	b = ask_sum(1, "sum");
	await(whorl_subgroup_error(b, NULL, 0) == WHORL_OK, cluster_step(&cluster));
	ck_assert_int_eq(whorl_subgroup_leave(a, 0), WHORL_TIMEOUT);
	step_for(100); /* a leader waits some milliseconds for wishes */
	ck_assert_int_eq(whorl_subgroup_leave(a, 0), WHORL_TIMEOUT);
	ck_assert_int_eq(whorl_subgroup_ready(b, 0), WHORL_TIMEOUT);
	atomic_store(&blocks, false);
	await_in(b);
	leave(a);
	ck_assert_uint_eq(atomic_load(&sums[1].sum), 5);
	end();
}
END_TEST

static void *close_it(void *node)
{
	whorl_close(node, 0);
	return NULL;
}

/* It goes while its `read` is under way, for which it waits. The end of that comes when the others know. */
static void stop_node(unsigned id)
{
	whorl_node *node = cluster.nodes[id];
	pthread_t thread;

	cluster.nodes[id] = NULL;
	ck_assert_int_eq(pthread_create(&thread, NULL, close_it, node), 0);
	await(whorl_node_count(cluster.nodes[1]) == 1, cluster_step(&cluster));
	atomic_store(&blocks, false);
	pthread_join(thread, NULL);
}

/* It has waited until it had left, so none that had the state has died: what it has written is restored, however long that takes. */
START_TEST(a_giver_that_has_left_may_close)
{
	whorl_subgroup *a, *b;

	set_modes(WHORL_ORDERED);
	begin(_i, 2);
	a = enter_sum(0, "sum");
	send_number(a, 5);
	atomic_store(&restores_wait, true);
	b = ask_sum(1, "sum");
	await(whorl_subgroup_error(b, NULL, 0) == WHORL_OK, cluster_step(&cluster));
	leave(a);
	ck_assert_int_eq(whorl_subgroup_ready(b, 0), WHORL_TIMEOUT);
	stop_node(0);
	for (int i = 0; i < 300; i++)
		cluster_step(&cluster);
	atomic_store(&restores_wait, false);
	await_in(b);
	ck_assert_uint_eq(atomic_load(&sums[1].sum), 5);
	end();
}
END_TEST

/* A listener, which has nothing to rest from: its set is without the name as soon as it leaves. */
static whorl_subgroup *listen_to_sum(unsigned id, const char *name)
{
	const struct whorl_state functions = state_of(id);
	struct whorl_subgroup_options options = summing(id, &functions);
	whorl_subgroup *subgroup;

	options.listens = true;
	subgroup = ask(id, name, &options);
	await_in(subgroup);
	return subgroup;
}

static void step_two(unsigned a, unsigned b)
{
	whorl_step(cluster.nodes[a]);
	whorl_step(cluster.nodes[b]);
}

/* Its set is without the name when it sees that another is let in, by what was proposed before. It is in that view, so it gives, and leaves
 * behind that: the other would find no state. */
START_TEST(a_leave_that_was_said_waits_for_those_that_enter)
{
	whorl_subgroup *a, *b;

	set_modes(WHORL_ORDERED);
	begin(_i, 3);
	a = listen_to_sum(1, "sum");
	atomic_store(&sums[1].sum, 42);
	atomic_store(&blocks, true);
	b = ask_sum(2, "sum");
	await(cluster.nodes[0]->entry.serving->key != 0, step_two(0, 2)); /* it proposes */
	ck_assert_int_eq(whorl_subgroup_leave(a, 0), WHORL_TIMEOUT);
	await(cluster_is_in_view(&cluster, 2), cluster_step(&cluster));
	step_for(100);
	ck_assert_uint_eq(members_of(b), 2);
	ck_assert_int_eq(whorl_subgroup_leave(a, 0), WHORL_TIMEOUT);
	ck_assert_int_eq(whorl_subgroup_ready(b, 0), WHORL_TIMEOUT);
	atomic_store(&blocks, false);
	await_in(b);
	ck_assert_uint_eq(atomic_load(&sums[2].sum), 42);
	leave(a);
	ck_assert_uint_eq(members_of(b), 1);
	ck_ok(whorl_subgroup_release(a));
	a = enter_sum(1, "sum");
	ck_assert_uint_eq(atomic_load(&sums[1].sum), 42);
	end();
}
END_TEST

static struct whorl_node_stats stats_of_node(unsigned id)
{
	struct whorl_node_stats stats = {.size = sizeof(stats)};

	ck_ok(whorl_node_statistics(cluster.nodes[id], &stats));
	return stats;
}

/* The only one that has it is gone, or the program cannot restore it: the node leaves what it has entered, goes on, and may enter again. */
START_TEST(a_state_that_cannot_be_had_costs_the_stay)
{
	const enum whorl_result why = _i % 2 == 0 ? WHORL_SHARD_LOST : WHORL_SYSTEM;
	char text[300];
	whorl_subgroup *a, *b, *other;

	set_modes(WHORL_ORDERED);
	begin_with("failure_timeout_ms = 4000\n", threads[_i / 2], 2); /* some of which pass before it is given up */
	other = subgroup_of(&cluster, 1, "other");
	a = enter_sum(0, "sum");
	send_number(a, 5);
	atomic_store(&blocks, why == WHORL_SHARD_LOST);
	sums[1].fails = why == WHORL_SYSTEM;
	b = ask_sum(1, "sum");
	await(whorl_subgroup_error(b, NULL, 0) != WHORL_AGAIN, cluster_step(&cluster));
	if (why == WHORL_SHARD_LOST) {
		await(stats_of_node(0).gives > 0, cluster_step(&cluster));
		stop_node(0);
	}
	await(whorl_subgroup_error(b, text, sizeof(text)) == why, cluster_step(&cluster));
	ck_assert_ptr_nonnull(strstr(text, "sum: its state: "));
	ck_assert_int_eq(whorl_subgroup_ready(b, 0), why);
	await(whorl_subgroup_leave(b, 0) == WHORL_OK, cluster_step(&cluster));
	ck_assert_int_eq(whorl_subgroup_error(b, NULL, 0), why);
	ck_ok(whorl_subgroup_release(b));
	ck_ok(whorl_error(cluster.nodes[1], NULL, 0));
	ck_ok(whorl_subgroup_ready(other, 0));
	sums[1].fails = false;
	b = enter_sum(1, "sum");
	send_number(b, 6);
	await(atomic_load(&sums[1].sum) == (why == WHORL_SYSTEM ? 11 : 6), cluster_step(&cluster));
	end();
}
END_TEST

/* A newcomer that leaves what it cannot restore is ready: it waits for no state any more. */
START_TEST(a_newcomer_is_ready_without_what_it_leaves)
{
	const struct whorl_state functions = state_of(1);
	whorl_subgroup *sum;

	set_modes(WHORL_ORDERED);
	begin_with_founder(threads[_i]);
	send_number(enter_sum(0, "sum"), 5);
	open_newcomer();
	sums[1].fails = true;
	sum = ask_sum(1, "sum");
	ck_assert_int_eq(whorl_on_state(sum, &functions), WHORL_INVALID); /* they are among its options */
	ck_ok(whorl_start(cluster.nodes[1]));
	await(whorl_ready(cluster.nodes[1], 0) == WHORL_OK, cluster_step(&cluster));
	await(whorl_subgroup_error(sum, NULL, 0) == WHORL_SYSTEM, cluster_step(&cluster));
	await(whorl_subgroup_leave(sum, 0) == WHORL_OK, cluster_step(&cluster));
	ck_ok(whorl_ready(cluster.nodes[1], 0));
	end();
}
END_TEST

/* A view has had it in: the call that enters gives the handle, whatever has become of the state by then. */
START_TEST(a_call_that_enters_gives_the_handle)
{
	const struct whorl_state functions = state_of(1);

	set_modes(WHORL_ORDERED);
	begin_with(FAR, DEDICATED, 2);
	send_number(enter_sum(0, "sum"), 5);
	sums[1].fails = true;
	for (int i = 0; i < 100; i++) {
		const struct whorl_subgroup_options options = summing(1, &functions);
		whorl_subgroup *sum;
		enum whorl_result result;

		result = whorl_subgroup_enter(cluster.nodes[1], "sum", &options, PATIENCE_MS, &sum);
		ck_assert_msg(result == WHORL_OK && sum != NULL, "it says %s", whorl_result_text(result));
		ck_ok(whorl_subgroup_leave(sum, PATIENCE_MS));
		ck_ok(whorl_subgroup_release(sum));
	}
	end();
}
END_TEST

/* ---- while stays are freed: for the sanitizers ---------------------------------------------------------------------------------- */

static atomic_bool over;

static void *ask_for_statistics(void *node)
{
	struct whorl_node_stats stats = {.size = sizeof(stats)};

	while (!atomic_load(&over))
		(void)whorl_node_statistics(node, &stats);
	return NULL;
}

static void *wait_for_ever(void *subgroup)
{
	ck_assert_int_eq(whorl_frontier_wait(subgroup, WHORL_DELIVERED_BY_ALL, 1000, PATIENCE_MS), WHORL_CLOSED);
	return NULL;
}

/* Beside it all is asked what is to be had of states. The giver leaves, and is freed, when the thread that gave has hardly ended. */
START_TEST(states_are_freed_that_are_looked_at)
{
	pthread_t thread;

	set_modes(WHORL_ORDERED);
	begin_with(FAR, DEDICATED, 2);
	atomic_store(&over, false);
	ck_assert_int_eq(pthread_create(&thread, NULL, ask_for_statistics, cluster.nodes[0]), 0);
	for (int i = 0; i < 30; i++) {
		char name[24];
		whorl_subgroup *a, *b;

		snprintf(name, sizeof(name), "sum-%d", i);
		a = enter_sum(0, name);
		b = enter_sum(1, name);
		ck_ok(whorl_subgroup_release(a));
		ck_ok(whorl_subgroup_release(b));
	}
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	end();
}
END_TEST

/* A node closes while threads wait for frontiers, and the loop frees what was released. */
START_TEST(a_node_closes_while_stays_are_freed)
{
	pthread_t threads_that_wait[4];
	whorl_subgroup *stays[40];

	set_modes(WHORL_ORDERED);
	begin_with(FAR, DEDICATED, 2);
	for (int k = 0; k < 40; k++) {
		struct whorl_subgroup_options options = small(1);
		char name[24];

		snprintf(name, sizeof(name), "topic-%d", k);
		stays[k] = ask(1, name, &options);
	}
	for (int k = 0; k < 40; k++)
		await_in(stays[k]);
	for (int k = 0; k < 4; k++)
		ck_assert_int_eq(
			pthread_create(&threads_that_wait[k], NULL, wait_for_ever, subgroup_of(&cluster, 1, "other")),
			0);
	await(wh_load_relaxed(&cluster.nodes[1]->uses.waits) == 4,
	      sched_yield()); /* a call that began after whorl_close would be the test's fault */
	for (int k = 0; k < 40; k++)
		ck_ok(whorl_subgroup_release(stays[k]));
	usleep((useconds_t)_i * 500);
	(void)whorl_close(cluster.nodes[1], 0);
	cluster.nodes[1] = NULL;
	for (int k = 0; k < 4; k++)
		pthread_join(threads_that_wait[k], NULL);
	end();
}
END_TEST

static atomic_int answer;

/* From within whorl_close. */
static void enter_late(const struct whorl_message *message, void *ctx)
{
	const struct whorl_subgroup_options options = small(0);
	whorl_subgroup *other = message->subgroup, *late;
	struct whorl_claim claim;
	enum whorl_result result;

	while ((result = whorl_claim(other, 8, &claim)) != WHORL_CLOSED) /* until whorl_close has begun */
		if (result == WHORL_OK)
			ck_ok(whorl_abort(&claim));
	atomic_store(&answer, whorl_subgroup_enter(ctx, "late", &options, 0, &late));
}

/* From the beginning of whorl_close on no stay begins: it would have claims that are waited for, and so for ever. */
START_TEST(a_node_that_closes_enters_nothing)
{
	atomic_store(&answer, -1);
	cluster_open(&cluster, 1, FAR, "[subgroup other]\nwindow = 5\nmessage_bytes = 8\n");
	extra[0] = calloc(1, sizeof(struct record));
	ck_ok(whorl_on_message(subgroup_of(&cluster, 0, "other"), NULL, NULL));
	ck_ok(whorl_on_message(subgroup_of(&cluster, 0, "other"), enter_late, cluster.nodes[0]));
	cluster_start(&cluster);
	send_number(subgroup_of(&cluster, 0, "other"), 1);
	ck_ok(whorl_close(cluster.nodes[0], PATIENCE_MS));
	cluster.nodes[0] = NULL;
	ck_assert_int_eq(atomic_load(&answer), WHORL_CLOSED);
	end();
}
END_TEST

/* ---- a short file, and many handles ------------------------------------------------------------------------------------------- */

/* Rings of a short file have no bits, and the view has so many subgroups that those that are silent are left out of passes. */
START_TEST(a_subgroup_of_a_short_file_is_looked_at)
{
	struct record *got = calloc(1, sizeof(*got));
	whorl_subgroup *other;
	char name[20];
	uint64_t number = 3;

	cluster_open(&cluster, 2, FAR, CALLER);
	extra[0] = calloc(1, sizeof(struct record));
	ck_ok(whorl_on_message(subgroup_of(&cluster, 1, "other"), record_message, got));
	cluster_start(&cluster);
	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "topic-%d", i);
		(void)enter(0, name);
	}
	other = subgroup_of(&cluster, 0, "other");
	for (int i = 0; i < 3000; i++)
		cluster_step(&cluster);
	ck_ok(whorl_send(other, &number, sizeof(number), 0, NULL));
	for (int i = 0; i < 1000; i++)
		cluster_step(&cluster);
	ck_assert_uint_eq(recorded(got), 1);
	end();
	free(got);
}
END_TEST

/* A node is in 256 at most, those that were not released among them. */
START_TEST(there_are_so_many_handles)
{
	struct whorl_subgroup_options options;
	whorl_subgroup *one = NULL, *more;
	char name[20];

	begin(0, 1);
	options = small(0);
	options.listens = true;
	for (int i = 0; i < 256; i++) {
		snprintf(name, sizeof(name), "topic-%d", i);
		one = ask(0, name, &options);
	}
	ck_assert_int_eq(whorl_subgroup_enter(cluster.nodes[0], "more", &options, 0, &more), WHORL_MEMORY);
	leave(one);
	ck_assert_int_eq(whorl_subgroup_enter(cluster.nodes[0], "more", &options, 0, &more), WHORL_MEMORY);
	ck_ok(whorl_subgroup_release(one));
	await(whorl_subgroup_enter(cluster.nodes[0], "more", &options, 0, &more) != WHORL_MEMORY,
	      cluster_step(&cluster));
	await_in(more);
	end();
}
END_TEST

/* ---- members that fail ------------------------------------------------------------------------------------------------------------ */

START_TEST(a_member_that_is_gone_is_gone_from_all)
{
	whorl_subgroup *a, *b;

	begin(_i, 4);
	a = enter(0, "topic");
	b = enter(1, "topic");
	enter(2, "alone");
	await(members_of(a) == 2, cluster_step(&cluster));
	cluster_leave(&cluster, 0);
	cluster_leave(&cluster, 2);
	await(members_of(b) == 1, cluster_step(&cluster));
	send_number(b, 9);
	await_count(1, 1);
	b = enter(1, "alone"); /* another one: no member of it was left */
	ck_assert_uint_eq(members_of(b), 1);
	a = enter(3, "topic");
	ck_assert_uint_eq(members_of(a), 2);
	end();
}
END_TEST

Suite *suite(void)
{
	Suite *all = suite_create("group_stays");
	TCase *cases = tcase_create("wishes"), *states = tcase_create("states"), *ends = tcase_create("ends");

	tcase_set_timeout(cases, 120);
	tcase_set_timeout(states, 120);
	tcase_set_timeout(ends, 120);
	tcase_add_loop_test(cases, those_that_enter_have_one_order, 0, WAYS);
	tcase_add_loop_test(cases, a_node_that_listens_does_not_send, 0, WAYS);
	tcase_add_loop_test(cases, a_node_that_listens_has_nothing_to_rest_from, 0, WAYS);
	tcase_add_loop_test(cases, a_node_leaves_when_all_is_delivered, 0, WAYS);
	tcase_add_loop_test(cases, a_node_enters_again, 0, 2 * WAYS);
	tcase_add_loop_test(cases, when_all_have_left_the_name_is_of_another, 0, WAYS);
	tcase_add_loop_test(cases, what_differs_is_refused_and_named, 0, WAYS);
	tcase_add_loop_test(cases, a_call_that_waits_is_told_why, 0, 2);
	tcase_add_test(cases, misuse_gets_an_answer);
	tcase_add_test(cases, a_subgroup_of_the_file_is_entered);
	tcase_add_test(cases, a_pause_is_asked_of_those_that_are_in);
	tcase_add_test(cases, a_node_that_leaves_rests);
	tcase_add_loop_test(cases, a_wish_is_taken_back, 0, WAYS);
	tcase_add_loop_test(cases, wishes_before_the_start_are_met, 0, WAYS);
	tcase_add_loop_test(cases, a_newcomer_brings_its_wishes, 0, 2);
	tcase_add_loop_test(cases, many_wishes_take_few_views, 0, WAYS);
	tcase_add_loop_test(states, a_node_that_enters_is_given_the_state, 0, 2 * WAYS);
	tcase_add_loop_test(states, a_state_knows_the_stays_of_senders, 0, 2 * WAYS);
	tcase_add_loop_test(states, a_node_that_gives_its_state_leaves_when_it_has, 0, WAYS);
	tcase_add_loop_test(states, a_giver_that_has_left_may_close, 0, WAYS);
	tcase_add_loop_test(states, a_leave_that_was_said_waits_for_those_that_enter, 0, 2);
	tcase_add_loop_test(states, a_state_that_cannot_be_had_costs_the_stay, 0, 4);
	tcase_add_loop_test(ends, a_newcomer_is_ready_without_what_it_leaves, 0, 2);
	tcase_add_test(ends, a_call_that_enters_gives_the_handle);
	tcase_add_test(ends, states_are_freed_that_are_looked_at);
	tcase_add_loop_test(ends, a_node_closes_while_stays_are_freed, 0, 6);
	tcase_add_test(ends, a_node_that_closes_enters_nothing);
	tcase_add_test(cases, a_subgroup_of_a_short_file_is_looked_at);
	tcase_add_test(ends, there_are_so_many_handles);
	tcase_add_loop_test(ends, a_member_that_is_gone_is_gone_from_all, 0, WAYS);
	suite_add_tcase(all, cases);
	suite_add_tcase(all, states);
	suite_add_tcase(all, ends);
	return all;
}
