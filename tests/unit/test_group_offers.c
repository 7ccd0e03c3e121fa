/* test_group_offers.c - delivery that the program may refuse: what waits, what goes on, what a change of view keeps, what a newcomer gets,
 * and how a reader that takes nothing ends.
 * Labels: threads
 */
#include <pthread.h>
#include <stdlib.h>

#include "tests/support/empty_state.h"
#include "tests/support/group.h"

#define CALLER "[engine]\nthread = caller\n"
#define FAR "failure_timeout_ms = 600000\n" /* no node is overdue */
#define WINDOW 8

struct reader { /* a program that takes as many messages as it has room for */
	struct record record;
	_Atomic size_t room;
	unsigned offers;
	uint64_t views[64]; /* of the messages */
	unsigned told;      /* how often it was told that it refuses for long */
	bool goes_on;
	size_t frees; /* so much room it makes when it refuses, and asks in the upcall */
	whorl_subgroup *subgroup;
};

static size_t take_some(const struct whorl_message *messages, size_t count, void *ctx)
{
	struct reader *reader = ctx;
	size_t room = reader->room, taken = count < room ? count : room;

	reader->offers++;
	for (size_t i = 0; i < taken; i++) {
		const struct whorl_message *message = WHORL_AT(whorl_message, messages, i);

		if (recorded(&reader->record) < 64)
			reader->views[recorded(&reader->record)] = message->view;
		record_one(&reader->record, message);
	}
	reader->room -= taken;
	if (taken < count && reader->frees > 0) {
		reader->room += reader->frees;
		ck_ok(whorl_offer_again(reader->subgroup));
	}
	return taken;
}

/* A group of which node 0 reads with whorl_on_offer, and the others as ever; node 1 sends. */
static struct reader *open_readers(struct cluster *c, unsigned nodes, const char *group, const char *rest)
{
	struct reader *reader = calloc(1, sizeof(*reader));

	cluster_open(c, nodes, group, rest);
	cluster_record(c, "s");
	ck_ok(whorl_on_message(subgroup_of(c, 0, "s"), NULL, NULL));
	ck_ok(whorl_on_offer(subgroup_of(c, 0, "s"), take_some, reader));
	return reader;
}

static void send_some(struct cluster *c, unsigned id, uint64_t from, uint64_t count)
{
	for (uint64_t i = from; i < from + count; i++)
		ck_ok(whorl_send(subgroup_of(c, id, "s"), &i, sizeof(i), 0, NULL));
}

/* Each word once, in order. */
static void check_words(const struct record *record, uint64_t count)
{
	ck_assert_uint_eq(recorded(record), count);
	for (uint64_t i = 0; i < count; i++)
		ck_assert_uint_eq(record->entries[i].word, i);
}

static const char *const modes[] = {"[subgroup s]\nwindow = 8\nsenders = 1\n" CALLER,
				    "[subgroup s]\nwindow = 8\nsenders = 1\nmode = unordered\n" CALLER};

TEST_CASE("offers", .timeout_s = 60);

TEST_LOOP(the_rest_waits_and_holds_up_the_sender, 0, 2)
{
	struct whorl_claim claim;
	struct cluster c;
	struct reader *reader = open_readers(&c, 3, FAR, modes[_i]);
	unsigned offers;

	cluster_start(&c);
	reader->room = 3;
	send_some(&c, 1, 0, WINDOW);
	cluster_hush(&c);
	check_words(&reader->record, 3);
	check_words(c.records[2], WINDOW);
	offers = reader->offers;
	cluster_hush(&c);
	ck_assert_uint_eq(reader->offers, offers); /* not before it asks */
	ck_assert_uint_eq(stats_of(subgroup_of(&c, 0, "s")).refusals, 1);
	ck_assert_uint_eq(whorl_frontier_get(subgroup_of(&c, 1, "s"), WHORL_DELIVERED_BY_ALL), 3);
	send_some(&c, 1, WINDOW, 3);
	ck_assert_int_eq(whorl_claim(subgroup_of(&c, 1, "s"), 8, &claim), WHORL_AGAIN);
	ck_ok(whorl_offer_again(subgroup_of(&c, 0, "s"))); /* there is no room: it refuses again */
	cluster_hush(&c);
	check_words(&reader->record, 3);
	reader->room = 4;
	ck_ok(whorl_offer_again(subgroup_of(&c, 0, "s")));
	cluster_hush(&c);
	check_words(&reader->record, 7);
	reader->room = 100;
	ck_ok(whorl_offer_again(subgroup_of(&c, 0, "s")));
	cluster_hush(&c);
	check_words(&reader->record, WINDOW + 3);
	records_agree(&reader->record, c.records[2]);
	ck_ok(whorl_claim(subgroup_of(&c, 1, "s"), 8, &claim));
	ck_ok(whorl_abort(&claim));
	cluster_free(&c);
	free(reader);
}

/* What is said while the offer is under way, and before it refuses, is said of what it refuses. */
TEST_LOOP(the_upcall_itself_may_ask, 0, 2)
{
	struct cluster c;
	struct reader *reader = open_readers(&c, 2, FAR, modes[_i]);

	reader->frees = 2;
	reader->subgroup = subgroup_of(&c, 0, "s");
	cluster_start(&c);
	send_some(&c, 1, 0, WINDOW);
	cluster_hush(&c);
	check_words(&reader->record, WINDOW);
	ck_assert_uint_ge(stats_of(subgroup_of(&c, 0, "s")).refusals, WINDOW / 2);
	cluster_free(&c);
	free(reader);
}

/* Several senders, and aborted claims among their messages: what goes back goes back to each. */
TEST_LOOP(what_is_refused_goes_back_to_each_sender, 0, 2)
{
	struct whorl_claim claim;
	struct cluster c;
	struct reader *reader = open_readers(&c, 3, FAR,
					     _i == 0 ? "[subgroup s]\nwindow = 8\n" CALLER
						     : "[subgroup s]\nwindow = 8\nmode = unordered\n" CALLER);

	cluster_start(&c);
	for (uint64_t i = 0; i < 200; i++) {
		for (unsigned id = 0; id < 3; id++) {
			uint64_t word = 1000 * id + i;

			if (whorl_claim(subgroup_of(&c, id, "s"), 8, &claim) != WHORL_OK)
				continue;
			memcpy(claim.data, &word, sizeof(word));
			ck_ok((i + id) % 3 == 0 ? whorl_abort(&claim) : whorl_commit(&claim, 8));
		}
		reader->room = i % 4;
		ck_ok(whorl_offer_again(subgroup_of(&c, 0, "s")));
		cluster_step(&c);
	}
	reader->room = 10000;
	ck_ok(whorl_offer_again(subgroup_of(&c, 0, "s")));
	cluster_hush(&c);
	ck_assert_uint_gt(recorded(&reader->record), 200);
	ck_assert_uint_gt(stats_of(subgroup_of(&c, 0, "s")).refusals, 20);
	if (_i == 0)
		records_agree(&reader->record, c.records[2]);
	ck_assert_uint_eq(recorded(&reader->record), recorded(c.records[2]));
	cluster_free(&c);
	free(reader);
}

/* A change of view does not wait. What is below the cut comes first, and until then the new view fills its windows and no more. */
TEST_LOOP(a_view_keeps_what_is_refused, 0, 2)
{
	struct whorl_claim claim;
	struct cluster c;
	struct reader *reader = open_readers(&c, 3, FAR, modes[_i]);
	uint64_t more = _i == 0 ? WINDOW : 2; /* unordered, what was kept is sent again: its sender was not told */

	cluster_start(&c);
	reader->room = 2;
	send_some(&c, 1, 0, WINDOW);
	cluster_hush(&c);
	cluster_leave(&c, 2);
	await(cluster_is_in_view(&c, 1), cluster_step(&c));
	check_words(&reader->record, 2);
	ck_assert_uint_gt(stats_of(subgroup_of(&c, 0, "s")).refused_kept, 0);
	cluster_hush(&c);
	send_some(&c, 1, WINDOW, more);
	cluster_hush(&c);
	ck_assert_int_eq(whorl_claim(subgroup_of(&c, 1, "s"), 8, &claim), WHORL_AGAIN);
	check_words(&reader->record, 2);
	reader->room = 3; /* not all of what was kept */
	ck_ok(whorl_offer_again(subgroup_of(&c, 0, "s")));
	cluster_hush(&c);
	check_words(&reader->record, 5);
	reader->room = 100;
	ck_ok(whorl_offer_again(subgroup_of(&c, 0, "s")));
	cluster_hush(&c);
	check_words(&reader->record, WINDOW + more);
	for (unsigned i = 0; i < WINDOW + more; i++)
		ck_assert_uint_eq(reader->views[i], i < WINDOW ? 0 : 1);
	ck_assert_uint_eq(stats_of(subgroup_of(&c, 0, "s")).refused_kept, 0);
	cluster_free(&c);
	free(reader);
}

TEST(more_than_backlog_max_is_not_kept)
{
	struct cluster c;
	struct reader *reader = open_readers(&c, 3, FAR "backlog_max = 1m\n",
					     "[subgroup s]\nwindow = 8\nsenders = 1\nmessage_bytes = 200000\n" CALLER);
	char *large = calloc(1, 200000), text[256];

	cluster_start(&c);
	for (unsigned i = 0; i < WINDOW; i++)
		ck_ok(whorl_send(subgroup_of(&c, 1, "s"), large, 200000, 0, NULL));
	cluster_hush(&c);
	cluster_leave(&c, 2);
	await(whorl_error(c.nodes[0], text, sizeof(text)) == WHORL_MEMORY, cluster_step(&c));
	ck_assert_ptr_nonnull(strstr(text, "backlog_max"));
	ck_assert_int_eq(whorl_offer_again(subgroup_of(&c, 0, "s")), WHORL_MEMORY);
	cluster_free(&c);
	free(large);
	free(reader);
}

static bool note_told(whorl_subgroup *subgroup, uint64_t refused_ms, void *ctx)
{
	struct reader *reader = ctx;

	ck_assert_ptr_nonnull(subgroup);
	ck_assert_uint_ge(refused_ms, 30);
	reader->told++;
	return reader->goes_on;
}

/* 0: it is told, and goes on; 1: told, and leaves; 2: it has said that it leaves by setting no function. */
TEST_LOOP(a_reader_that_refuses_for_long_is_told_or_leaves, 0, 3)
{
	struct cluster c;
	struct reader *reader =
		open_readers(&c, 2, FAR, "[subgroup s]\nwindow = 8\nsenders = 1\nrefuse_max_ms = 30\n" CALLER);
	uint64_t since;

	reader->goes_on = _i == 0;
	if (_i < 2)
		ck_ok(whorl_on_refused(subgroup_of(&c, 0, "s"), note_told, reader));
	cluster_start(&c);
	ck_assert_int_eq(whorl_on_refused(subgroup_of(&c, 0, "s"), note_told, reader), WHORL_INVALID);
	send_some(&c, 1, 0, WINDOW);
	if (_i > 0) {
		await(whorl_error(c.nodes[0], NULL, 0) == WHORL_REFUSED, cluster_step(&c));
		ck_assert_uint_eq(reader->told, _i == 1);
		cluster_free(&c);
		free(reader);
		return;
	}
	await(reader->told > 0, cluster_step(&c));
	for (since = now_ms(); now_ms() < since + 80;)
		cluster_step(&c);
	ck_assert_uint_eq(reader->told, 1);
	reader->room = 1; /* it takes one: time begins anew */
	ck_ok(whorl_offer_again(subgroup_of(&c, 0, "s")));
	await(reader->told == 2, cluster_step(&c));
	ck_ok(whorl_error(c.nodes[0], NULL, 0));
	cluster_free(&c);
	free(reader);
}

/* ---- a newcomer ------------------------------------------------------------------------------------------------------------- */

struct counter { /* the state is how many messages have been taken */
	struct reader reader;
	uint64_t begun_with;
	bool read;
};

static void *count_snapshot(const struct whorl_position *position, void *ctx)
{
	struct counter *counter = ctx;

	(void)position;
	counter->read = false;
	return counter;
}

static ptrdiff_t count_read(void *snapshot, void *bytes, size_t count, void *ctx)
{
	struct counter *counter = ctx;
	uint64_t taken = recorded(&counter->reader.record);

	(void)snapshot;
	(void)count;
	if (counter->read)
		return 0;
	counter->read = true;
	memcpy(bytes, &taken, sizeof(taken));
	return sizeof(taken);
}

static bool count_restore(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	struct counter *counter = ctx;

	if (step == WHORL_RESTORE_BYTES && count == sizeof(counter->begun_with))
		memcpy(&counter->begun_with, bytes, sizeof(counter->begun_with));
	return true;
}

static void open_counter(struct cluster *c, unsigned id, struct counter *counter)
{
	const struct whorl_state functions = {sizeof(functions), count_snapshot, count_read,
					      release_snapshot,  count_restore,  counter};

	cluster_open_node(c, id);
	ck_ok(whorl_on_offer(subgroup_of(c, id, "s"), take_some, &counter->reader));
	ck_ok(whorl_on_state(subgroup_of(c, id, "s"), &functions));
}

/* The giver has refused some; the view that takes the newcomer in keeps them. Its state lacks them, so they come with it. Then the
 * newcomer refuses them as well, and is not ready before it has taken all. */
TEST_LOOP(a_newcomer_gets_what_its_giver_has_refused, 0, 2)
{
	static struct counter counters[3];
	uint64_t more = _i == 0 ? 4 : 3; /* as above */
	struct cluster c;

	memset(counters, 0, sizeof(counters));
	cluster_configure(&c, 2, FAR "nodes_max = 3\n", modes[_i]);
	for (unsigned id = 0; id < 2; id++)
		open_counter(&c, id, &counters[id]);
	counters[0].reader.room = 3;
	counters[1].reader.room = 1000;
	cluster_start(&c);
	send_some(&c, 1, 0, WINDOW);
	cluster_hush(&c);
	check_words(&counters[0].reader.record, 3);
	c.count = 3;
	open_counter(&c, 2, &counters[2]);
	counters[2].reader.room = 2;
	ck_ok(whorl_start(c.nodes[2]));
	await(recorded(&counters[2].reader.record) == 2, cluster_step(&c));
	ck_assert_uint_eq(counters[2].begun_with, 3);
	send_some(&c, 1, WINDOW, more);
	for (unsigned i = 0; i < 200; i++)
		cluster_step(&c);
	ck_assert_int_eq(whorl_ready(c.nodes[2], 0), WHORL_TIMEOUT);
	for (unsigned id = 0; id < 3; id += 2) {
		counters[id].reader.room = 1000;
		ck_ok(whorl_offer_again(subgroup_of(&c, id, "s")));
	}
	await(cluster_is_ready(&c), cluster_step(&c));
	await(recorded(&counters[0].reader.record) == WINDOW + more, cluster_step(&c));
	await(recorded(&counters[2].reader.record) == WINDOW + more - 3, cluster_step(&c));
	check_words(&counters[0].reader.record, WINDOW + more);
	for (uint64_t i = 0; i < WINDOW + more - 3; i++) {
		ck_assert_uint_eq(counters[2].reader.record.entries[i].word, i + 3);
		ck_assert_uint_eq(counters[2].reader.views[i], i + 3 < WINDOW ? 0 : 1);
	}
	cluster_free(&c);
}

/* What a newcomer has kept back and refuses is offered in the pass behind the one that hears it ask. Between the two its loop does not
 * sleep: nothing would wake it. */
TEST_LOOP(a_newcomer_does_not_sleep_between_asking_and_its_offer, 0, 2)
{
	static struct counter counters[3];
	struct reader *reader = &counters[2].reader;
	unsigned offers;
	struct cluster c;

	memset(counters, 0, sizeof(counters));
	cluster_configure(&c, 2, FAR "nodes_max = 3\n", modes[_i]);
	for (unsigned id = 0; id < 2; id++)
		open_counter(&c, id, &counters[id]);
	counters[1].reader.room = 1000;
	cluster_start(&c);
	send_some(&c, 1, 0, WINDOW); /* node 0 takes none, and gives all of them on */
	cluster_hush(&c);
	c.count = 3;
	open_counter(&c, 2, &counters[2]);
	ck_ok(whorl_start(c.nodes[2]));
	await(reader->offers > 0, cluster_step(&c));
	cluster_hush(&c);
	for (unsigned taken = 0; taken < WINDOW; taken++) {
		ck_assert_uint_eq(recorded(&reader->record), taken);
		ck_assert_int_eq(whorl_ready(c.nodes[2], 0), WHORL_TIMEOUT);
		offers = reader->offers;
		reader->room = 1;
		ck_ok(whorl_offer_again(subgroup_of(&c, 2, "s")));
		while (reader->offers == offers)
			ck_assert_uint_gt(whorl_arm(c.nodes[2]), 0);
	}
	check_words(&reader->record, WINDOW);
	cluster_free(&c);
}

/* ---- threads ------------------------------------------------------------------------------------------------------------------ */

#define QUEUE 4
#define STREAM 4000

struct queue { /* of a program with a thread that works on what comes */
	atomic_ulong put, got;
	uint64_t words[QUEUE];
	whorl_subgroup *subgroup;
	bool wrong;
};

static size_t put_some(const struct whorl_message *messages, size_t count, void *ctx)
{
	struct queue *queue = ctx;
	unsigned long put = atomic_load_explicit(&queue->put, memory_order_relaxed);
	size_t taken = 0;

	while (taken < count && put - atomic_load_explicit(&queue->got, memory_order_acquire) < QUEUE) {
		memcpy(&queue->words[put % QUEUE], WHORL_AT(whorl_message, messages, taken)->data, sizeof(uint64_t));
		atomic_store_explicit(&queue->put, ++put, memory_order_release);
		taken++;
	}
	return taken;
}

static void *get_all(void *argument)
{
	struct queue *queue = argument;

	for (unsigned long got = 0; got < STREAM;) {
		while (atomic_load_explicit(&queue->put, memory_order_acquire) == got)
			sched_yield();
		queue->wrong |= queue->words[got % QUEUE] != got;
		atomic_store_explicit(&queue->got, ++got, memory_order_release);
		if (whorl_offer_again(queue->subgroup) != WHORL_OK)
			queue->wrong = true;
	}
	return NULL;
}

/* A thread says that there is room while the loop is about to refuse, again and again: none of it is lost. */
TEST(a_thread_that_makes_room_is_heard)
{
	static struct queue queue;
	struct cluster c;
	pthread_t thread;

	memset(&queue, 0, sizeof(queue));
	cluster_open(&c, 2, FAR, "[subgroup s]\nwindow = 8\nsenders = 1\n");
	queue.subgroup = subgroup_of(&c, 0, "s");
	ck_ok(whorl_on_offer(queue.subgroup, put_some, &queue));
	cluster_start(&c);
	ck_assert_int_eq(pthread_create(&thread, NULL, get_all, &queue), 0);
	for (uint64_t i = 0; i < STREAM; i++)
		ck_ok(whorl_send(subgroup_of(&c, 1, "s"), &i, sizeof(i), 20000, NULL));
	pthread_join(thread, NULL);
	ck_assert(!queue.wrong);
	for (unsigned id = 0; id < 2; id++) {
		ck_ok(whorl_close(c.nodes[id], 5000));
		c.nodes[id] = NULL;
	}
	cluster_free(&c);
}

/* ---- the end, and nonsense ------------------------------------------------------------------------------------------------------ */

/* While it drains it is offered again; what it does not take in time is dropped. */
TEST_LOOP(close_offers_again_and_drops_the_rest, 0, 2)
{
	struct cluster c;
	struct reader *reader = open_readers(&c, 2, FAR, "[subgroup s]\nwindow = 8\nsenders = 1\n");

	cluster_start(&c);
	send_some(&c, 1, 0, WINDOW);
	await(stats_of(subgroup_of(&c, 0, "s")).refusals > 0 &&
		      stats_of(subgroup_of(&c, 0, "s")).received_num >=
			      WINDOW, /* what comes later need not be drained */
	      usleep(1000));
	if (_i == 0)
		reader->room = 100; /* while the loop offers again */
	ck_assert_int_eq(whorl_close(c.nodes[0], _i == 0 ? 10000 : 100), _i == 0 ? WHORL_OK : WHORL_TIMEOUT);
	c.nodes[0] = NULL;
	check_words(&reader->record, _i == 0 ? WINDOW : 0);
	cluster_free(&c);
	free(reader);
}

TEST(nonsense_is_answered)
{
	struct cluster c;
	struct reader *reader = open_readers(&c, 1, FAR, "[subgroup s]\n[subgroup t]\n" CALLER);
	whorl_subgroup *s = subgroup_of(&c, 0, "s"), *t = subgroup_of(&c, 0, "t");

	ck_assert_int_eq(whorl_on_offer(NULL, take_some, NULL), WHORL_INVALID);
	ck_assert_int_eq(whorl_on_refused(NULL, note_told, NULL), WHORL_INVALID);
	ck_assert_int_eq(whorl_offer_again(NULL), WHORL_INVALID);
	ck_assert_int_eq(whorl_offer_again(t), WHORL_INVALID);
	ck_assert_int_eq(whorl_on_message(s, record_message, NULL), WHORL_INVALID);
	ck_assert_int_eq(whorl_on_batch(s, record_batch, NULL), WHORL_INVALID);
	ck_ok(whorl_on_message(t, record_message, c.records[0]));
	ck_assert_int_eq(whorl_on_offer(t, take_some, reader), WHORL_INVALID);
	ck_ok(whorl_offer_again(s)); /* there is nothing */
	cluster_start(&c);
	ck_assert_int_eq(whorl_on_offer(s, NULL, NULL), WHORL_INVALID);
	reader->room = 100;
	send_some(&c, 0, 0, 3);
	cluster_hush(&c);
	check_words(&reader->record, 3);
	ck_assert_uint_eq(stats_of(subgroup_of(&c, 0, "s")).refusals, 0);
	cluster_free(&c);
	free(reader);
}

TEST_SUITE("group: offers")
