/* test_group_silent.c - groups with many subgroups of which most are silent: a pass does not touch those, and their messages are as quick
 * as any other's.
 *
 * Labels: threads
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "group/node_int.h"
#include "group/rows.h"
#include "tests/support/group.h"

#define SUBGROUPS 30
#define NODES 3
#define ROUNDS 300

static struct cluster cluster;
static atomic_ulong delivered[NODES][SUBGROUPS];

static void count_message(const struct whorl_message *message, void *ctx)
{
	(void)message;
	atomic_fetch_add((atomic_ulong *)ctx, 1);
}

static whorl_subgroup *subgroup_at(unsigned id, unsigned g)
{
	whorl_subgroup *subgroup = whorl_subgroup_at(cluster.nodes[id], g);

	ck_assert_ptr_nonnull(subgroup);
	return subgroup;
}

/* Each third is unordered; they are as small as can be, so that windows are full often. */
static void open_many(unsigned count, const char *engine)
{
	static char text[3500];
	size_t at = (size_t)snprintf(text, sizeof(text), "%s", engine);

	for (unsigned g = 0; g < count; g++)
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       "[subgroup g%u]\nmode = %s\nwindow = 2\nmessage_bytes = 8\n", g,
				       g % 3 == 2 ? "unordered" : "ordered");
	cluster_open(&cluster, NODES, "failure_timeout_ms = 60000\n", text);
	for (unsigned id = 0; id < NODES; id++)
		for (unsigned g = 0; g < count; g++) {
			atomic_store(&delivered[id][g], 0);
			ck_ok(whorl_on_message(subgroup_at(id, g), count_message, &delivered[id][g]));
		}
	cluster_start(&cluster);
}

static void close_all(void)
{
	for (unsigned id = 0; id < NODES; id++)
		whorl_close(cluster.nodes[id], 0);
	for (unsigned id = 0; id < NODES; id++)
		free(cluster.records[id]);
	whorl_config_free(cluster.config);
}

static bool have_all(unsigned g, unsigned long count)
{
	for (unsigned id = 0; id < NODES; id++)
		if (atomic_load(&delivered[id][g]) < count)
			return false;
	return true;
}

static void send_one(unsigned id, unsigned g)
{
	const uint64_t word = g;

	ck_ok(whorl_send(subgroup_at(id, g), &word, sizeof(word), PATIENCE_MS, NULL));
}

/* ---- with threads --------------------------------------------------------------------------------------------------------- */

TEST_CASE("group_silent", .timeout_s = 60);

/* One here, one there; sometimes the loops sleep between. */
TEST(messages_here_and_there_arrive)
{
	unsigned long sent[SUBGROUPS] = {0};
	uint64_t random = test_seed(1);

	open_many(SUBGROUPS, "");
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned g;

		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		g = (unsigned)(random >> 33) % SUBGROUPS;
		if (random >> 60 == 0)
			poll(NULL, 0, 3);
		for (unsigned k = 0; k < (random >> 40 & 3); k++, sent[g]++)
			send_one((unsigned)(random >> 50) % NODES, g);
		await(have_all(g, sent[g]), sched_yield());
	}
	close_all();
}

struct flood {
	atomic_bool over;
	unsigned long sent;
};

static void *send_all_the_time(void *ctx)
{
	struct flood *flood = ctx;

	for (; !atomic_load(&flood->over); flood->sent++)
		send_one(0, 0);
	return NULL;
}

/* The loops never sleep, and nothing but a look finds the others. */
TEST(messages_arrive_while_another_subgroup_is_busy)
{
	struct flood flood = {.sent = 0};
	pthread_t thread;

	open_many(SUBGROUPS, "");
	ck_assert_int_eq(pthread_create(&thread, NULL, send_all_the_time, &flood), 0);
	for (unsigned g = 1; g < SUBGROUPS; g++) {
		for (unsigned k = 0; k < 6; k++) /* three windows */
			send_one(g % NODES, g);
		await(have_all(g, 6), sched_yield());
	}
	atomic_store(&flood.over, true);
	pthread_join(thread, NULL);
	await(have_all(0, flood.sent), sched_yield());
	close_all();
}

/* ---- counted in passes ------------------------------------------------------------------------------------------------------ */

#define BY_HAND "[engine]\nthread = caller\n"

static uint64_t steps_of(unsigned id)
{
	return wh_node_looks(cluster.nodes[id]).steps;
}

/* Rounds of passes until all have a message that is sent in that subgroup now. */
static unsigned rounds_until_delivered(unsigned g)
{
	unsigned long before = atomic_load(&delivered[0][g]);
	unsigned rounds = 0;

	send_one(0, g);
	for (; !have_all(g, before + 1); rounds++) {
		ck_assert_uint_lt(rounds, 1000);
		cluster_step(&cluster);
	}
	return rounds;
}

TEST(silent_subgroups_are_not_stepped)
{
	uint64_t before;

	open_many(SUBGROUPS, BY_HAND);
	cluster_hush(&cluster);
	before = steps_of(0);
	for (int i = 0; i < 1000; i++)
		cluster_step(&cluster);
	ck_assert_uint_eq(steps_of(0), before);
	/* One that is used, and no other. */
	for (int i = 0; i < 100; i++)
		rounds_until_delivered(5);
	before = steps_of(0);
	for (int i = 0; i < 100; i++)
		rounds_until_delivered(5);
	ck_assert_uint_le(steps_of(0) - before, 100 * 60);
	before = steps_of(0);
	cluster_step(&cluster);
	ck_assert_uint_le(steps_of(0) - before, 1);
	close_all();
}

/* A look at its own bit, one at the sender's word, and one at the others': each within so many passes. */
TEST(the_first_message_waits_for_a_few_looks)
{
	open_many(SUBGROUPS, BY_HAND);
	for (unsigned g = 0; g < SUBGROUPS; g++) {
		cluster_hush(&cluster);
		ck_assert_uint_le(rounds_until_delivered(g), 3 * 8 + 8);
	}
	close_all();
}

TEST(few_subgroups_are_stepped_in_each_pass)
{
	uint64_t before;

	open_many(8, BY_HAND);
	cluster_hush(&cluster);
	before = steps_of(1);
	for (int i = 0; i < 100; i++)
		whorl_step(cluster.nodes[1]);
	ck_assert_uint_eq(steps_of(1), before + 800);
	ck_assert_uint_eq(wh_node_looks(cluster.nodes[1]).words, 0);
	close_all();
}

/* ---- the bit of a ring ------------------------------------------------------------------------------------------------------ */

static struct wh_ring *looked_at;
static wh_word *bits;
static unsigned looks;
static uint64_t mark_at_look;

/* The word of bits is looked at. What stands in the ring then? */
static void on_look(int signal)
{
	(void)signal;
	looks++;
	mark_at_look = wh_load_relaxed(&looked_at->ready[0].mark);
	mprotect(bits, 4096, PROT_READ | PROT_WRITE);
}

/* A loop takes the bit away, and then looks for marks: a thread that looked at the bit first would leave a mark that no loop looks at. */
TEST(the_mark_comes_before_the_look_at_the_bit)
{
	const struct sigaction action = {.sa_handler = on_look};
	struct sigaction before;
	struct whorl_claim claim;
	wh_word *own;

	open_many(SUBGROUPS, BY_HAND);
	looked_at = subgroup_at(0, 7)->ring;
	own = looked_at->committed;
	bits = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(bits, MAP_FAILED);
	ck_ok(whorl_claim(subgroup_at(0, 7), 1, &claim));
	looked_at->committed = bits;
	ck_assert_int_eq(sigaction(SIGSEGV, &action, &before), 0);
	ck_ok(whorl_commit(&claim, 1));
	ck_assert_int_eq(sigaction(SIGSEGV, &before, NULL), 0);
	looked_at->committed = own;
	ck_assert_uint_eq(looks, 1);
	ck_assert_uint_eq(mark_at_look, 1 << 1);
	ck_assert_uint_eq(wh_load_relaxed(bits), looked_at->committed_bit);
	munmap(bits, 4096);
	close_all();
}

/* ---- rows ----------------------------------------------------------------------------------------------------------------- */

static uint32_t words_of(uint32_t shards, uint32_t from)
{
	const struct wh_node_config config = {.words_from = from};

	return wh_rows_moved_words(&config, shards);
}

TEST(rows_have_words_where_subgroups_are_many)
{
	ck_assert_uint_eq(words_of(1, 0), 0);
	ck_assert_uint_eq(words_of(8, 0), 0);
	ck_assert_uint_eq(words_of(9, 0), 1);
	ck_assert_uint_eq(words_of(WH_MOVED_NAMES, 0), 1);
	ck_assert_uint_eq(words_of(WH_MOVED_NAMES + 1, 0), 2);
	ck_assert_uint_eq(words_of(1, 1), 1);
}

TEST_SUITE("group_silent")
