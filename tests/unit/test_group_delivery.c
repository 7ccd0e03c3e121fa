/* test_group_delivery.c - the same messages in the same order at all members, whatever the shape of the group.
 * Labels: threads
 */
#include <pthread.h>

#include "tests/support/group.h"

#define CALLER "[engine]\nthread = caller\n"

struct source { /* sends numbers: sender << 32 | count */
	struct cluster *cluster;
	const char *subgroup;
	unsigned id;
	unsigned long count;
	pthread_t thread;
};

static uint64_t word_of(unsigned id, unsigned long i)
{
	return (uint64_t)id << 32 | i;
}

static void *send_all(void *ctx)
{
	struct source *source = ctx;

	for (unsigned long i = 0; i < source->count; i++) {
		uint64_t word = word_of(source->id, i);

		ck_ok(whorl_send(subgroup_of(source->cluster, source->id, source->subgroup), &word, sizeof(word),
				 PATIENCE_MS, NULL));
	}
	return NULL;
}

/* The messages of each sender are all there, in their order, and sequence numbers grow. */
static void check_streams(const struct record *record, bool ordered)
{
	uint64_t next[NODES_MAX] = {0};

	for (unsigned long i = 0; i < recorded(record); i++) {
		const struct entry *entry = &record->entries[i];

		ck_assert_uint_eq(entry->index, next[entry->sender]);
		ck_assert_uint_eq(entry->word, word_of(entry->sender, next[entry->sender]));
		next[entry->sender]++;
		if (!ordered)
			ck_assert_uint_eq(entry->sequence, entry->index);
		else if (i > 0)
			ck_assert_uint_gt(entry->sequence, entry[-1].sequence);
	}
}

struct shape {
	unsigned nodes;
	const char *text;
	bool caller, ordered;
	unsigned long messages; /* of each sender */
};

static void run_shape(const struct shape *shape)
{
	struct source sources[NODES_MAX];
	unsigned senders = 0;
	struct cluster c;

	cluster_open(&c, shape->nodes, "", shape->text);
	cluster_record(&c, "s");
	cluster_start(&c);
	for (unsigned id = 0; id < c.count; id++) {
		struct whorl_subgroup_info info = {.size = sizeof(info)};

		ck_ok(whorl_subgroup_describe(subgroup_of(&c, id, "s"), &info));
		if (info.sender < 0)
			continue;
		sources[senders] = (struct source){.cluster = &c, .subgroup = "s", .id = id, .count = shape->messages};
		pthread_create(&sources[senders].thread, NULL, send_all, &sources[senders]);
		senders++;
	}
	await(all_recorded(c.records, c.count, senders * shape->messages), cluster_step(&c));
	for (unsigned i = 0; i < senders; i++)
		pthread_join(sources[i].thread, NULL);
	for (unsigned id = 0; id < c.count; id++) {
		check_streams(c.records[id], shape->ordered);
		if (shape->ordered)
			records_agree(c.records[0], c.records[id]);
	}
	cluster_free(&c);
}

static const struct shape shapes[] = {
	{1, "[subgroup s]\nmessage_bytes = 8\n", false, true, 3000},
	{1, "[subgroup s]\nmessage_bytes = 8\nwindow = 1\n" CALLER, true, true, 300},
	{2, "[subgroup s]\nmessage_bytes = 8\n", false, true, 3000},
	{2, "[subgroup s]\nmessage_bytes = 8\nwindow = 1\n", false, true, 300},
	{2, "[subgroup s]\nmessage_bytes = 8\nwindow = 3\n" CALLER, true, true, 1000},
	{4, "[subgroup s]\nmessage_bytes = 8\nwindow = 50\n", false, true, 1000},
	{4, "[subgroup s]\nmessage_bytes = 8\nwindow = 7\n" CALLER, true, true, 500},
	{4, "[subgroup s]\nmessage_bytes = 8\nsenders = half\n", false, true, 1000},
	{4, "[subgroup s]\nmessage_bytes = 8\nsenders = one\nwindow = 10\n", false, true, 1000},
	{4, "[subgroup s]\nmessage_bytes = 8\nsenders = 3\nwindow = 10\n" CALLER, true, true, 1000},
	{1, "[subgroup s]\nmessage_bytes = 8\nmode = unordered\n", false, false, 3000},
	{4, "[subgroup s]\nmessage_bytes = 8\nmode = unordered\nwindow = 5\n", false, false, 1000},
	{4, "[subgroup s]\nmessage_bytes = 8\nmode = unordered\nsenders = 1,3\n" CALLER, true, false, 1000},
	{3,
	 "[subgroup s]\nmessage_bytes = 8\n[engine]\nsend_batching = off\nreceive_batching = off\n"
	 "delivery_batching = off\nnull_sends = off\ndeferred_push = off\n",
	 false, true, 300},
	{3, "[subgroup s]\nmessage_bytes = 8\nwindow = 9\n[engine]\nreceive_batching = off\n", false, true, 300},
	{3, "[subgroup s]\nmessage_bytes = 8\nwindow = 9\n[engine]\ndelivery_batching = off\n", false, true, 300},
	{3,
	 "[subgroup s]\nmessage_bytes = 8\nwindow = 9\nmode = unordered\n[engine]\nreceive_batching = off\n"
	 "delivery_batching = off\nsend_batching = off\n",
	 false, false, 300},
	{2, "[subgroup s]\nmessage_bytes = 8\n[engine]\nidle = yield\n", false, true, 1000},
	{2, "[subgroup s]\nmessage_bytes = 8\n[engine]\nidle = spin\n", false, true, 300},
};

TEST_CASE("delivery", .timeout_s = 60);

TEST_LOOP(every_shape_delivers_the_same, 0, (int)(sizeof(shapes) / sizeof(shapes[0])))
{
	run_shape(&shapes[_i]);
}

/* ---- what a shape of its own is needed for ---------------------------------------------------------------------------- */

/* Declared senders that have nothing to say hold no member up (Spindle §III-B), and with nulls off they do. */
TEST_LOOP(silent_senders_hold_nobody_up, 0, 2)
{
	struct cluster c;

	cluster_open(&c, 3, "",
		     _i == 0 ? "[subgroup s]\nmessage_bytes = 8\n" CALLER
			     : "[subgroup s]\nmessage_bytes = 8\n" CALLER "null_sends = off\n");
	cluster_record(&c, "s");
	cluster_start(&c);
	for (uint64_t i = 0; i < 100; i++) {
		uint64_t word = word_of(1, i);

		ck_ok(whorl_send(subgroup_of(&c, 1, "s"), &word, sizeof(word), 0, NULL));
	}
	if (_i == 0) {
		await(all_recorded(c.records, 3, 100), cluster_step(&c));
		ck_assert_uint_ge(stats_of(subgroup_of(&c, 0, "s")).nulls, 100); /* it ranks before the sender */
		ck_assert_uint_ge(stats_of(subgroup_of(&c, 2, "s")).nulls, 99);
		ck_assert_uint_eq(stats_of(subgroup_of(&c, 1, "s")).nulls, 0);
	} else {
		await(stats_of(subgroup_of(&c, 1, "s")).sent == 100, cluster_step(&c));
		for (int pass = 0; pass < 1000; pass++)
			cluster_step(&c);
		ck_assert_uint_eq(recorded(c.records[0]), 0);
		ck_ok(whorl_send(subgroup_of(&c, 0, "s"), &(uint64_t){0}, 8, 0, NULL));
		ck_ok(whorl_send(subgroup_of(&c, 2, "s"), &(uint64_t){0}, 8, 0, NULL));
		await(all_recorded(c.records, 3, 3), cluster_step(&c)); /* one round */
		for (int pass = 0; pass < 1000; pass++)
			cluster_step(&c);
		ck_assert_uint_eq(recorded(c.records[0]), 3);
	}
	cluster_free(&c);
}

/* Overlapping subgroups do not touch each other: each has its members, its senders and its order. */
TEST(subgroups_overlap)
{
	static const struct {
		const char *name;
		unsigned members[4], count;
	} groups[] = {{"a", {0, 1, 2, 3}, 4}, {"b", {0, 2}, 2}, {"c", {1, 2, 3}, 3}, {"d", {3}, 1}};
	struct source sources[10];
	unsigned used = 0;
	struct record *records = calloc(16, sizeof(*records));
	struct cluster c;

	cluster_open(&c, 4, "",
		     "[subgroup a]\nmessage_bytes = 8\n"
		     "[subgroup b]\nmembers = 0,2\nmessage_bytes = 64\nwindow = 2\n"
		     "[subgroup c]\nmembers = 1,2,3\nmode = unordered\nmessage_bytes = 1024\nwindow = 300\n"
		     "[subgroup d]\nmembers = 3\nmessage_bytes = 8\nwindow = 1\n");
	for (unsigned g = 0; g < 4; g++)
		for (unsigned m = 0; m < groups[g].count; m++) {
			unsigned id = groups[g].members[m];

			ck_ok(whorl_on_batch(subgroup_of(&c, id, groups[g].name), record_batch, &records[g * 4 + id]));
			sources[used++] =
				(struct source){.cluster = &c, .subgroup = groups[g].name, .id = id, .count = 500};
		}
	ck_assert_ptr_null(whorl_subgroup_find(c.nodes[1], "b")); /* not a member */
	ck_assert_ptr_null(whorl_subgroup_find(c.nodes[1], "e"));
	ck_assert_ptr_eq(whorl_subgroup_at(c.nodes[1], 1), whorl_subgroup_find(c.nodes[1], "c"));
	ck_assert_ptr_null(whorl_subgroup_at(c.nodes[1], 2));
	cluster_start(&c);
	for (unsigned i = 0; i < used; i++)
		pthread_create(&sources[i].thread, NULL, send_all, &sources[i]);
	for (unsigned i = 0; i < used; i++)
		pthread_join(sources[i].thread, NULL);
	for (unsigned g = 0; g < 4; g++)
		for (unsigned m = 0; m < groups[g].count; m++) {
			struct record *record = &records[g * 4 + groups[g].members[m]];

			await(recorded(record) == groups[g].count * 500, sched_yield());
			check_streams(record, g != 2);
			if (g != 2)
				records_agree(record, &records[g * 4 + groups[g].members[0]]);
		}
	cluster_free(&c);
	free(records);
}

TEST(messages_may_be_empty)
{
	struct cluster c;

	cluster_open(&c, 2, "", "[subgroup s]\nmessage_bytes = 1\n" CALLER);
	cluster_record(&c, "s");
	cluster_start(&c);
	ck_ok(whorl_send(subgroup_of(&c, 0, "s"), NULL, 0, 0, NULL));
	ck_ok(whorl_send(subgroup_of(&c, 0, "s"), "x", 1, 0, NULL));
	await(all_recorded(c.records, 2, 2), cluster_step(&c));
	ck_assert_uint_eq(c.records[1]->entries[0].bytes, 0);
	ck_assert_uint_eq(c.records[1]->entries[1].bytes, 1);
	cluster_free(&c);
}

/* A thread that wants to send before there is a view waits for it. */
static void *send_ten(void *argument)
{
	struct cluster *c = argument;

	for (uint64_t i = 0; i < 10; i++)
		ck_ok(whorl_send(subgroup_of(c, 0, "s"), &i, sizeof(i), PATIENCE_MS, NULL));
	return NULL;
}

TEST(a_sender_waits_for_the_first_view)
{
	struct cluster c;
	pthread_t sender;

	cluster_configure(&c, 2, "", "[subgroup s]\nwindow = 10\nmessage_bytes = 8\n");
	cluster_open_node(&c, 0);
	ck_ok(whorl_on_message(subgroup_of(&c, 0, "s"), record_message, c.records[0]));
	ck_ok(whorl_start(c.nodes[0]));
	ck_assert_int_eq(pthread_create(&sender, NULL, send_ten, &c), 0);
	ck_assert_int_eq(whorl_send(subgroup_of(&c, 0, "s"), "x", 1, 0, NULL), WHORL_AGAIN);
	ck_assert_int_eq(whorl_ready(c.nodes[0], 20), WHORL_TIMEOUT);
	cluster_open_node(&c, 1);
	ck_ok(whorl_on_message(subgroup_of(&c, 1, "s"), record_message, c.records[1]));
	ck_ok(whorl_start(c.nodes[1]));
	ck_ok(whorl_ready(c.nodes[0], PATIENCE_MS));
	await(all_recorded(c.records, 2, 10), sched_yield());
	records_agree(c.records[0], c.records[1]);
	pthread_join(sender, NULL);
	cluster_free(&c);
}

/* ---- room within a delivery ------------------------------------------------------------------------------------------- */

#define LONG_WINDOW 400 /* a quarter is no multiple of a run of upcalls */

struct long_delivery {
	struct cluster *cluster;
	unsigned long delivered, room_at; /* messages; the first upcall in which the sender had room, 0: none yet, */
	unsigned long room;               /* and for how many, */
	uint64_t first_pass, room_pass;   /* of the member's loop: of the first upcall, and of that one */
};

static uint64_t passes_of(const struct cluster *c, unsigned id)
{
	struct whorl_node_stats stats = {.size = sizeof(stats)};

	ck_ok(whorl_node_statistics(c->nodes[id], &stats));
	return stats.steps;
}

static void look_for_room(const struct whorl_message *message, void *ctx)
{
	struct long_delivery *delivery = ctx;
	struct whorl_claim claim;

	(void)message;
	if (delivery->delivered++ == 0)
		delivery->first_pass = passes_of(delivery->cluster, 1);
	if (delivery->room_at != 0)
		return;
	whorl_step(delivery->cluster->nodes[0]);
	while (whorl_claim(subgroup_of(delivery->cluster, 0, "s"), sizeof(uint64_t), &claim) == WHORL_OK) {
		delivery->room_at = delivery->delivered;
		delivery->room_pass = passes_of(delivery->cluster, 1);
		delivery->room++;
		ck_ok(whorl_abort(&claim));
	}
}

/* A whole window becomes deliverable at once at the last member that has it: its sender may go on before all of it is upcalled, but
 * not with a slot of a message that is still to be. */
TEST(a_sender_has_room_before_a_long_delivery_ends)
{
	struct cluster c;
	struct long_delivery delivery = {.cluster = &c};
	uint64_t word = 0;

	cluster_open(&c, 2, "",
		     "[subgroup s]\nsenders = 0\nwindow = 400\nmessage_bytes = 8\n[engine]\nthread = caller\n");
	ck_ok(whorl_on_message(subgroup_of(&c, 1, "s"), look_for_room, &delivery));
	cluster_start(&c);
	for (; word < LONG_WINDOW; word++)
		ck_ok(whorl_send(subgroup_of(&c, 0, "s"), &word, sizeof(word), 0, NULL));
	await(delivery.delivered == LONG_WINDOW, cluster_step(&c));
	if (delivery.room_pass == delivery.first_pass) /* else the pass had no time left, and told at its end */
		ck_assert_uint_gt(delivery.room_at, LONG_WINDOW / 4);
	ck_assert_uint_gt(delivery.room_at, 0);
	ck_assert_uint_lt(delivery.room_at, LONG_WINDOW);
	ck_assert_uint_gt(delivery.room, 0);
	ck_assert_uint_lt(delivery.room, delivery.room_at); /* the message of the upcall is still read */
	cluster_free(&c);
}

TEST_SUITE("group: delivery")
