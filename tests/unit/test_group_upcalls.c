/* test_group_upcalls.c - what upcalls may do, what they may not, and on which thread they run.
 * Labels: threads
 */
#include <pthread.h>
#include <signal.h>

#include "tests/support/group.h"

/* ---- what waits is refused ----------------------------------------------------------------------------------------- */

struct probe {
	whorl_node *node;
	whorl_subgroup *subgroup;
	atomic_bool done;
	enum whorl_result ready, claim_wait, send, wait, close, ready_0, send_0, wait_0;
	size_t step, arm;
	uint64_t took_ms;
};

static void try_everything(const struct whorl_message *message, void *ctx)
{
	struct probe *probe = ctx;
	struct whorl_claim claim;
	uint64_t began = now_ms();

	(void)message;
	if (atomic_load(&probe->done))
		return;
	probe->ready = whorl_ready(probe->node, 1000);
	probe->claim_wait = whorl_claim_wait(probe->subgroup, 1, 1000, &claim);
	probe->send = whorl_send(probe->subgroup, "x", 1, 1000, NULL);
	probe->wait = whorl_wait(probe->node, 1000);
	probe->close = whorl_close(probe->node, 1000);
	probe->step = whorl_step(probe->node);
	probe->arm = whorl_arm(probe->node);
	probe->ready_0 = whorl_ready(probe->node, 0);
	probe->wait_0 = whorl_wait(probe->node, 0);
	probe->send_0 = whorl_send(probe->subgroup, "y", 1, 0, NULL);
	probe->took_ms = now_ms() - began;
	atomic_store(&probe->done, true);
}

TEST_CASE("upcalls", .timeout_s = 60);

TEST_LOOP(calls_that_wait_are_refused, 0, 2)
{
	bool caller = _i == 1;
	struct probe probe = {.done = false};
	struct cluster c;

	cluster_open(&c, 2, "", caller ? "[subgroup s]\n[engine]\nthread = caller\n" : "[subgroup s]\n");
	probe.node = c.nodes[1];
	probe.subgroup = subgroup_of(&c, 1, "s");
	ck_ok(whorl_on_message(subgroup_of(&c, 0, "s"), record_message, c.records[0]));
	ck_ok(whorl_on_message(probe.subgroup, try_everything, &probe));
	cluster_start(&c);
	ck_ok(whorl_send(subgroup_of(&c, 0, "s"), "first", 5, 0, NULL));
	await(atomic_load(&probe.done), cluster_step(&c));
	ck_assert_int_eq(probe.ready, WHORL_WOULD_DEADLOCK);
	ck_assert_int_eq(probe.claim_wait, WHORL_WOULD_DEADLOCK);
	ck_assert_int_eq(probe.send, WHORL_WOULD_DEADLOCK);
	ck_assert_int_eq(probe.wait, caller ? WHORL_WOULD_DEADLOCK : WHORL_INVALID);
	ck_assert_int_eq(probe.close, WHORL_WOULD_DEADLOCK);
	ck_assert_uint_eq(probe.step, 0);
	ck_assert_uint_eq(probe.arm, 0);
	ck_assert_int_eq(probe.ready_0, WHORL_OK);
	ck_assert_int_eq(probe.wait_0, caller ? WHORL_TIMEOUT : WHORL_INVALID);
	ck_assert_int_eq(probe.send_0, WHORL_OK);
	ck_assert_uint_lt(probe.took_ms, 900);
	await(recorded(c.records[0]) == 2,
	      cluster_step(&c)); /* the node is open, and the message of the upcall arrives */
	ck_assert_uint_eq(c.records[0]->entries[1].word, 'y');
	cluster_free(&c);
}

/* ---- sending ------------------------------------------------------------------------------------------------------- */

struct player {
	whorl_subgroup *subgroup;
	struct record *record;
	uint32_t me;
	atomic_ulong refused;
	atomic_bool stop;
};

#define LAST_MOVE 500

/* Answers each number of the other node with the next one. */
static void answer(const struct whorl_message *message, void *ctx)
{
	struct player *player = ctx;
	uint64_t number;

	record_message(message, player->record);
	memcpy(&number, message->data, sizeof(number));
	if (message->sender == player->me || number == LAST_MOVE)
		return;
	number++;
	if (whorl_send(player->subgroup, &number, sizeof(number), 0, NULL) != WHORL_OK)
		atomic_fetch_add(&player->refused, 1);
}

TEST_LOOP(upcalls_send, 0, 2)
{
	const char *text = _i == 1 ? "[subgroup s]\nmessage_bytes = 8\n[engine]\nthread = caller\n"
				   : "[subgroup s]\nmessage_bytes = 8\n";
	struct player players[2];
	struct cluster c;
	uint64_t first = 1;

	cluster_open(&c, 2, "", text);
	for (unsigned id = 0; id < 2; id++) {
		players[id] = (struct player){.subgroup = subgroup_of(&c, id, "s"), .record = c.records[id], .me = id};
		ck_ok(whorl_on_message(players[id].subgroup, answer, &players[id]));
	}
	cluster_start(&c);
	ck_ok(whorl_send(players[0].subgroup, &first, sizeof(first), 0, NULL));
	await(all_recorded(c.records, 2, LAST_MOVE), cluster_step(&c));
	records_agree(c.records[0], c.records[1]);
	for (uint64_t i = 0; i < LAST_MOVE; i++)
		ck_assert_uint_eq(c.records[0]->entries[i].word, i + 1);
	ck_assert_uint_eq(players[0].refused + players[1].refused, 0);
	cluster_free(&c);
}

/* Sends until the window is full, at each message: nothing waits, and nothing that was accepted is lost. Whatever an
 * upcall sends is claimed before its own message is recorded. */
static void flood(const struct whorl_message *message, void *ctx)
{
	struct player *player = ctx;

	if (!atomic_load(&player->stop) && recorded(player->record) < RECORD_MAX / 4)
		while (whorl_send(player->subgroup, &player->me, sizeof(player->me), 0, NULL) == WHORL_OK)
			;
	atomic_fetch_add(&player->refused, 1);
	record_message(message, player->record);
}

static bool all_claims_recorded(struct player *players)
{
	uint64_t claims = stats_of(players[0].subgroup).claimed + stats_of(players[1].subgroup).claimed;

	return recorded(players[0].record) == claims && recorded(players[1].record) == claims;
}

TEST(upcalls_fill_the_window)
{
	struct player players[2];
	struct cluster c;

	cluster_open(&c, 2, "", "[subgroup s]\nmessage_bytes = 8\nwindow = 5\n");
	for (unsigned id = 0; id < 2; id++) {
		players[id] = (struct player){.subgroup = subgroup_of(&c, id, "s"), .record = c.records[id], .me = id};
		ck_ok(whorl_on_message(players[id].subgroup, flood, &players[id]));
	}
	cluster_start(&c);
	for (int i = 0; i < 300; i++)
		ck_ok(whorl_send(players[0].subgroup, "", 0, PATIENCE_MS, NULL));
	for (unsigned id = 0; id < 2; id++)
		atomic_store(&players[id].stop, true);
	await(all_claims_recorded(players), sched_yield());
	records_agree(c.records[0], c.records[1]);
	ck_assert_uint_gt(recorded(c.records[0]), 300);
	ck_assert_uint_gt(players[0].refused, 0);
	cluster_free(&c);
}

/* ---- in place, one or many at a time ------------------------------------------------------------------------------- */

static void check_place(const struct whorl_message *message, void *ctx)
{
	const unsigned char *bytes = message->data;

	ck_assert_uint_eq((uintptr_t)message->data % 16, 0);
	for (size_t i = 0; i < message->bytes; i++)
		ck_assert_uint_eq(bytes[i], (unsigned char)(message->index + i));
	record_message(message, ctx);
}

static void check_batch(const struct whorl_message *messages, size_t count, void *ctx)
{
	ck_assert_uint_gt(count, 0);
	for (size_t i = 0; i < count; i++) {
		check_place(&messages[i], ctx);
	}
}

TEST(messages_are_in_place)
{
	struct whorl_claim claim;
	struct cluster c;

	cluster_open(&c, 2, "", "[subgroup s]\nmessage_bytes = 77\nwindow = 7\n");
	ck_ok(whorl_on_batch(subgroup_of(&c, 0, "s"), check_batch, c.records[0]));
	ck_ok(whorl_on_message(subgroup_of(&c, 1, "s"), check_place, c.records[1]));
	cluster_start(&c);
	for (unsigned i = 0; i < 300; i++) {
		size_t bytes = i * 7 % 78;

		ck_ok(whorl_claim_wait(subgroup_of(&c, 1, "s"), 77, PATIENCE_MS, &claim));
		ck_assert_uint_eq((uintptr_t)claim.data % 16, 0);
		ck_assert_uint_eq(claim.number, i);
		for (size_t k = 0; k < bytes; k++)
			((unsigned char *)claim.data)[k] = (unsigned char)(i + k);
		ck_ok(whorl_commit(&claim, bytes));
	}
	await(all_recorded(c.records, 2, 300), sched_yield());
	records_agree(c.records[0], c.records[1]);
	cluster_free(&c);
}

TEST(upcalls_are_set_before_the_start)
{
	struct cluster c;

	cluster_open(&c, 1, "", "[subgroup s]\n");
	ck_ok(whorl_on_message(subgroup_of(&c, 0, "s"), record_message, c.records[0]));
	ck_assert_int_eq(whorl_on_batch(subgroup_of(&c, 0, "s"), record_batch, c.records[0]),
			 WHORL_INVALID); /* one of the two */
	ck_assert_str_eq(whorl_invalid_text(),
			 "whorl_on_batch: another upcall is set: a subgroup has whorl_on_message, whorl_on_batch, "
			 "whorl_on_offer or whorl_on_calls");
	ck_ok(whorl_on_message(subgroup_of(&c, 0, "s"), NULL, NULL));
	ck_ok(whorl_on_batch(subgroup_of(&c, 0, "s"), record_batch, c.records[0]));
	ck_assert_int_eq(whorl_on_message(subgroup_of(&c, 0, "s"), record_message, c.records[0]), WHORL_INVALID);
	cluster_start(&c);
	ck_assert_int_eq(whorl_on_message(subgroup_of(&c, 0, "s"), record_message, c.records[0]), WHORL_INVALID);
	ck_assert_int_eq(whorl_on_batch(subgroup_of(&c, 0, "s"), record_batch, c.records[0]), WHORL_INVALID);
	ck_ok(whorl_send(subgroup_of(&c, 0, "s"), "x", 1, 0, NULL));
	await(recorded(c.records[0]) == 1, sched_yield());
	cluster_free(&c);
}

/* No program listens: messages are ordered, acknowledged and dropped. */
TEST(upcalls_are_not_needed)
{
	struct cluster c;

	cluster_open(&c, 2, "", "[subgroup s]\nwindow = 2\n");
	cluster_start(&c);
	for (int i = 0; i < 100; i++)
		ck_ok(whorl_send(subgroup_of(&c, 0, "s"), "x", 1, PATIENCE_MS, NULL));
	ck_ok(whorl_close(c.nodes[0], PATIENCE_MS));
	c.nodes[0] = NULL;
	await(stats_of(subgroup_of(&c, 1, "s")).delivered == 100, sched_yield()); /* counted when that is told */
	cluster_free(&c);
}

/* ---- the thread ---------------------------------------------------------------------------------------------------- */

struct where {
	pthread_t thread;
	char name[16];
	sigset_t blocked;
	atomic_bool done;
};

static void note_thread(const struct whorl_message *message, void *ctx)
{
	struct where *where = ctx;

	(void)message;
	where->thread = pthread_self();
	pthread_getname_np(pthread_self(), where->name, sizeof(where->name));
	pthread_sigmask(SIG_SETMASK, NULL, &where->blocked);
	atomic_store(&where->done, true);
}

TEST(a_dedicated_loop_has_a_named_thread_without_signals)
{
	const int signals[] = {SIGINT, SIGTERM, SIGALRM, SIGCHLD, SIGPIPE, SIGUSR1, SIGHUP, SIGPROF};
	struct where where = {.done = false};
	struct cluster c;

	cluster_open(&c, 1, "", "[subgroup s]\n");
	ck_ok(whorl_on_message(subgroup_of(&c, 0, "s"), note_thread, &where));
	cluster_start(&c);
	ck_ok(whorl_send(subgroup_of(&c, 0, "s"), "x", 1, 0, NULL));
	await(atomic_load(&where.done), sched_yield());
	ck_assert(!pthread_equal(where.thread, pthread_self()));
	ck_assert_str_eq(where.name, "whorl-0");
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		ck_assert_int_eq(sigismember(&where.blocked, signals[i]), 1);
	cluster_free(&c);
}

/* ---- slow upcalls -------------------------------------------------------------------------------------------------- */

static void take_time(const struct whorl_message *message, void *ctx)
{
	const struct timespec two_ms = {0, 2000000};

	nanosleep(&two_ms, NULL); /* the subject of the test, not its synchronisation */
	record_message(message, ctx);
}

/* Each upcall, and 64 of them, are far shorter than the failure time-out; all that are due together are longer. The node
 * is slow, and not dead. */
TEST(slow_upcalls_are_no_death)
{
	struct cluster c;

	cluster_open(&c, 2, "failure_timeout_ms = 2000\n", "[subgroup s]\nwindow = 1500\nmessage_bytes = 8\n");
	ck_ok(whorl_on_message(subgroup_of(&c, 0, "s"), record_message, c.records[0]));
	ck_ok(whorl_on_message(subgroup_of(&c, 1, "s"), take_time, c.records[1]));
	cluster_start(&c);
	for (uint64_t i = 0; i < 1500; i++)
		ck_ok(whorl_send(subgroup_of(&c, 0, "s"), &i, sizeof(i), 0, NULL));
	await(recorded(c.records[1]) == 1500, sched_yield());
	ck_ok(whorl_error(c.nodes[0], NULL, 0));
	cluster_free(&c);
}

TEST_SUITE("group: upcalls")
