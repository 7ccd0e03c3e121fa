/* test_group_many.c - claims and commits of many at a time: all or none, around the end of the ring, by several threads, with some of
 * them aborted, and when the node ends.
 * Labels: threads
 */
#include <pthread.h>
#include <stdlib.h>

#include "tests/support/group.h"

#define CALLER "[engine]\nthread = caller\n"
#define FAR "failure_timeout_ms = 600000\n"
#define WINDOW 5

static void open_group(struct cluster *c, unsigned nodes, const char *engine)
{
	char rest[256];

	snprintf(rest, sizeof(rest), "[subgroup s]\nwindow = %d\nmessage_bytes = 16\n[subgroup t]\n%s", WINDOW, engine);
	cluster_open(c, nodes, FAR, rest);
	cluster_record(c, "s");
	cluster_start(c);
}

static void fill(struct whorl_claim *claims, size_t count)
{
	for (size_t i = 0; i < count; i++)
		memcpy(claims[i].data, &claims[i].number, sizeof(claims[i].number));
}

static void finish_cluster(struct cluster *c)
{
	for (unsigned id = 0; id < c->count; id++)
		if (c->nodes[id] != NULL) {
			ck_ok(whorl_close(c->nodes[id], PATIENCE_MS));
			c->nodes[id] = NULL;
		}
	cluster_free(c);
}

/* Every node has all messages below `end`, in order, but those with their bit set in `aborted`. */
static void expect_all(struct cluster *c, uint64_t end, uint64_t aborted)
{
	for (unsigned id = 0; id < c->count; id++) {
		unsigned long at = 0;

		for (uint64_t index = 0; index < end; index++) {
			if (index < 64 && (aborted >> index & 1) != 0)
				continue;
			ck_assert_uint_lt(at, recorded(c->records[id]));
			ck_assert_uint_eq(c->records[id]->entries[at].index, index);
			ck_assert_uint_eq(c->records[id]->entries[at++].word, index);
		}
		ck_assert_uint_eq(recorded(c->records[id]), at);
	}
}

TEST_CASE("many", .timeout_s = 60);

TEST(they_come_in_order)
{
	struct whorl_claim claims[WINDOW];
	uint64_t index = 0;
	struct cluster c;
	whorl_subgroup *s;

	open_group(&c, 2, CALLER);
	s = subgroup_of(&c, 0, "s");
	for (size_t round = 0; round < 40; round++) { /* it begins at each slot, and goes around the end */
		size_t count = 1 + round % WINDOW;

		ck_ok(whorl_claim_many(s, 16, count, claims));
		for (size_t i = 0; i < count; i++) {
			ck_assert_uint_eq(claims[i].number, index++);
			ck_assert_uint_eq(claims[i].bytes, 16);
			ck_assert_uint_eq((uintptr_t)claims[i].data % 16, 0);
		}
		fill(claims, count);
		ck_ok(whorl_commit_many(claims, count, NULL));
		for (size_t i = 0; i < count; i++)
			ck_assert_int_eq(whorl_commit(&claims[i], 1), WHORL_INVALID);
		await(whorl_frontier_get(s, WHORL_DELIVERED_BY_ALL) == index, cluster_step(&c));
	}
	expect_all(&c, index, 0);
	ck_assert_uint_eq(c.records[1]->entries[3].bytes, 16);
	ck_assert_uint_eq(stats_of(s).claimed, index);
	finish_cluster(&c);
}

TEST(all_or_none)
{
	struct whorl_claim claims[WINDOW], one, other;
	struct cluster c;
	whorl_subgroup *s;

	open_group(&c, 1, CALLER);
	s = subgroup_of(&c, 0, "s");
	ck_assert_int_eq(whorl_claim_many(s, 1, 0, claims), WHORL_INVALID);
	ck_assert_int_eq(whorl_claim_many(s, 1, WINDOW + 1, claims), WHORL_INVALID);
	ck_assert_int_eq(whorl_claim_many(s, 17, 2, claims), WHORL_INVALID);
	ck_assert_str_eq(whorl_invalid_text(), "whorl_claim_many: more than the subgroup's message_bytes");
	ck_ok(whorl_claim(s, 1, &one));
	ck_assert_int_eq(whorl_claim_many(s, 1, WINDOW, claims), WHORL_AGAIN);
	ck_ok(whorl_claim(s, 1, &other)); /* it has taken nothing */
	ck_assert_uint_eq(other.number, 1);
	ck_ok(whorl_abort(&one));
	ck_ok(whorl_abort(&other));
	/* What there is to wait for: the last message + count - window. */
	ck_ok(whorl_frontier_wait(s, WHORL_DELIVERED_BY_ALL, 1 + WINDOW - WINDOW, PATIENCE_MS));
	ck_ok(whorl_claim_many(s, 1, WINDOW, claims));
	ck_assert_int_eq(whorl_claim(s, 1, &one), WHORL_AGAIN);
	ck_ok(whorl_commit_many(claims, WINDOW, NULL));
	finish_cluster(&c);
}

/* A commit that is refused does nothing at all. */
TEST(a_commit_is_of_all)
{
	struct whorl_claim claims[WINDOW + 1];
	const size_t bytes[] = {8, 0, 8, 16, 8}, too_many[] = {8, 8, 8, 17, 8};
	struct cluster c;

	open_group(&c, 2, CALLER);
	ck_ok(whorl_claim_many(subgroup_of(&c, 0, "s"), 16, WINDOW, claims));
	ck_ok(whorl_claim(subgroup_of(&c, 0, "t"), 16, &claims[WINDOW]));
	fill(claims, WINDOW);
	ck_assert_int_eq(whorl_commit_many(claims, 0, NULL), WHORL_INVALID);
	ck_assert_int_eq(whorl_commit_many(claims, WINDOW, too_many), WHORL_INVALID);
	ck_assert_int_eq(whorl_commit_many(claims, WINDOW + 1, NULL), WHORL_INVALID);
	cluster_hush(&c);
	ck_assert_uint_eq(recorded(c.records[1]), 0);
	ck_ok(whorl_abort(&claims[WINDOW]));
	ck_assert_int_eq(whorl_commit_many(claims, WINDOW + 1, NULL), WHORL_INVALID);
	ck_ok(whorl_commit_many(claims, WINDOW, bytes));
	cluster_hush(&c);
	for (unsigned i = 0; i < WINDOW; i++)
		ck_assert_uint_eq(c.records[1]->entries[i].bytes, bytes[i]);
	finish_cluster(&c);
}

/* Some are aborted, the others committed in two parts, the later one first. */
TEST(some_are_aborted)
{
	struct whorl_claim claims[WINDOW];
	struct cluster c;

	open_group(&c, 2, CALLER);
	ck_ok(whorl_claim_many(subgroup_of(&c, 0, "s"), 8, WINDOW, claims));
	fill(claims, WINDOW);
	ck_ok(whorl_abort(&claims[1]));
	ck_assert_int_eq(whorl_commit_many(claims, 2, NULL), WHORL_INVALID); /* one of them is finished */
	ck_ok(whorl_commit_many(&claims[3], 2, NULL));
	cluster_hush(&c);
	ck_assert_uint_eq(recorded(c.records[1]), 0);
	ck_ok(whorl_abort(&claims[2]));
	ck_ok(whorl_commit_many(claims, 1, NULL));
	cluster_hush(&c);
	expect_all(&c, WINDOW, 1 << 1 | 1 << 2);
	finish_cluster(&c);
}

/* What follows each other leaves in one batch, and not some of it before. */
TEST(they_leave_together)
{
	struct whorl_claim claims[WINDOW];
	struct cluster c;

	open_group(&c, 2, CALLER);
	ck_ok(whorl_claim_many(subgroup_of(&c, 0, "s"), 8, WINDOW, claims));
	fill(claims, WINDOW);
	ck_ok(whorl_commit_many(claims, WINDOW, NULL));
	cluster_hush(&c);
	ck_assert_uint_eq(stats_of(subgroup_of(&c, 0, "s")).send.batches, 1);
	ck_assert_uint_eq(stats_of(subgroup_of(&c, 0, "s")).send.events, WINDOW);
	finish_cluster(&c);
}

/* ---- threads -------------------------------------------------------------------------------------------------------------- */

#define THREADS 3
#define EACH 2000

struct sender {
	whorl_subgroup *subgroup;
	uint32_t seed;
	atomic_ulong aborted;
	pthread_t thread;
};

static void claim_some(whorl_subgroup *s, size_t count, struct whorl_claim *claims)
{
	enum whorl_result result;

	while ((result = whorl_claim_many(s, 8, count, claims)) == WHORL_AGAIN)
		sched_yield();
	ck_ok(result);
}

static void *send_many(void *ctx)
{
	struct sender *sender = ctx;
	uint32_t x = sender->seed;

	for (unsigned sent = 0; sent < EACH;) {
		size_t count = 1 + (x = x * 1103515245 + 12345) / 65536 % WINDOW;
		struct whorl_claim claims[WINDOW];

		claim_some(sender->subgroup, count, claims);
		fill(claims, count);
		if (x >> 20 & 1) {
			ck_ok(whorl_abort(&claims[--count]));
			atomic_fetch_add(&sender->aborted, 1);
			sent++;
		}
		if (count > 0)
			ck_ok(whorl_commit_many(claims, count, NULL));
		sent += (unsigned)count;
	}
	return NULL;
}

TEST(several_threads_at_once)
{
	struct sender senders[THREADS];
	unsigned long aborted = 0;
	struct cluster c;
	uint64_t end;

	open_group(&c, 2, "");
	for (unsigned i = 0; i < THREADS; i++) {
		senders[i] = (struct sender){.subgroup = subgroup_of(&c, 0, "s"), .seed = 99 + i};
		pthread_create(&senders[i].thread, NULL, send_many, &senders[i]);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(senders[i].thread, NULL);
		aborted += atomic_load(&senders[i].aborted);
	}
	end = stats_of(subgroup_of(&c, 0, "s")).claimed;
	ck_ok(whorl_frontier_wait(subgroup_of(&c, 0, "s"), WHORL_DELIVERED_BY_ALL, end - 1, PATIENCE_MS));
	ck_assert_uint_eq(recorded(c.records[1]), end - aborted);
	records_agree(c.records[0], c.records[1]);
	for (unsigned long i = 0; i < recorded(c.records[1]); i++) {
		const struct entry *entry = &c.records[1]->entries[i];

		ck_assert_uint_eq(entry->word, entry->index);
		ck_assert(i == 0 || entry->index > entry[-1].index);
	}
	finish_cluster(&c);
}

/* ---- the end ---------------------------------------------------------------------------------------------------------------- */

TEST(open_ones_outlive_the_node)
{
	struct whorl_claim claims[WINDOW];
	struct cluster c;

	open_group(&c, 1, CALLER);
	ck_ok(whorl_claim_many(subgroup_of(&c, 0, "s"), 8, WINDOW, claims));
	ck_assert_int_eq(whorl_close(c.nodes[0], 0), WHORL_TIMEOUT);
	c.nodes[0] = NULL;
	fill(claims, WINDOW); /* the memory is there */
	ck_assert_int_eq(whorl_abort(&claims[0]), WHORL_CLOSED);
	ck_assert_int_eq(whorl_commit_many(&claims[1], 2, NULL), WHORL_CLOSED);
	ck_assert_int_eq(whorl_commit_many(&claims[1], 2, NULL), WHORL_INVALID);
	ck_assert_int_eq(whorl_commit_many(&claims[3], 2, NULL), WHORL_CLOSED); /* and with that it is freed */
	cluster_free(&c);
}

/* Without a quorum nothing is claimed; what is claimed is pending, all of it. */
TEST(a_minority_keeps_all)
{
	struct whorl_claim claims[2], more[2];
	struct cluster c;

	cluster_open(&c, 2, "failure_timeout_ms = 50\n", "[subgroup s]\n" CALLER);
	cluster_record(&c, "s");
	cluster_start(&c);
	ck_ok(whorl_claim_many(subgroup_of(&c, 0, "s"), 8, 2, claims));
	fill(claims, 2);
	await(whorl_error(c.nodes[0], NULL, 0) == WHORL_NO_QUORUM, whorl_step(c.nodes[0]));
	ck_assert_int_eq(whorl_claim_many(subgroup_of(&c, 0, "s"), 8, 2, more), WHORL_NO_QUORUM);
	ck_assert_int_eq(whorl_commit_many(claims, 2, NULL), WHORL_PENDING);
	await(recorded(c.records[1]) == 2, cluster_step(&c));
	expect_all(&c, 2, 0);
	cluster_free(&c);
}

TEST(where_none_is_to_be_had)
{
	struct whorl_claim claims[2];
	struct cluster c;

	cluster_open(&c, 2, FAR, "[subgroup s]\nsenders = 0\n" CALLER);
	cluster_start(&c);
	ck_assert_int_eq(whorl_claim_many(subgroup_of(&c, 1, "s"), 1, 2, claims), WHORL_NOT_SENDER);
	ck_ok(whorl_pause_sending(subgroup_of(&c, 0, "s"), true));
	ck_assert_int_eq(whorl_claim_many(subgroup_of(&c, 0, "s"), 1, 2, claims), WHORL_NOT_SENDER);
	ck_ok(whorl_pause_sending(subgroup_of(&c, 0, "s"), false));
	await(whorl_claim_many(subgroup_of(&c, 0, "s"), 1, 2, claims) == WHORL_OK, cluster_step(&c));
	ck_ok(whorl_commit_many(claims, 2, NULL));
	cluster_free(&c);
}

TEST_SUITE("group: claims of many")
