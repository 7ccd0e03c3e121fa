/* test_group_large.c - messages larger than a slot: in parts, around the end of the ring, aborted, beside small ones that hold them up, on
 * both ways in which slots lie, through views, for a newcomer, and when the node ends.
 * Labels: threads
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "tests/support/group.h"

#define CALLER "[engine]\nthread = caller\n"
#define FAR "failure_timeout_ms = 600000\n"
#define WINDOW 6
#define SLOT 32
#define LARGE (WINDOW * SLOT - 8)

static const char *const transports[] = {FAR, FAR "transport = tcp\n"};
static const char *const modes[] = {"ordered", "unordered"};

/* What a node was upcalled for. Each byte of a message follows from the first. */
struct got {
	atomic_ulong count;
	struct {
		uint64_t index;
		uint32_t indexes, parts;
		size_t bytes;
		unsigned char first;
		bool right;
	} of[1000];
};

static unsigned char byte_at(unsigned char first, size_t at)
{
	return (unsigned char)(first + 7 * at);
}

static bool holds(const struct whorl_message *m, const unsigned char *copy)
{
	size_t at = 0, bytes, some;
	const void *part;
	unsigned char middle[SLOT];

	for (uint32_t k = 0; k < m->parts; k++) {
		ck_ok(whorl_message_part(m, k, &part, &bytes));
		ck_assert_uint_eq((uintptr_t)part % 16, 0);
		ck_assert(bytes > 0 || m->bytes == 0);
		if (memcmp(part, copy + at, bytes) != 0)
			return false;
		at += bytes;
	}
	ck_assert_int_eq(whorl_message_part(m, m->parts, &part, &bytes), WHORL_NOT_FOUND);
	ck_assert_uint_eq(at, m->bytes);
	some = whorl_message_copy(m, m->bytes / 3, middle, SLOT);
	ck_assert_uint_eq(some, m->bytes - m->bytes / 3 < SLOT ? m->bytes - m->bytes / 3 : SLOT);
	for (at = 0; at < m->bytes; at++)
		if (copy[at] != byte_at(copy[0], at))
			return false;
	return memcmp(middle, copy + m->bytes / 3, some) == 0;
}

static void take(const struct whorl_message *m, void *ctx)
{
	struct got *got = ctx;
	unsigned long at = atomic_load(&got->count);
	unsigned char copy[LARGE + 1] = {0};

	ck_assert_uint_lt(at, 1000);
	ck_assert_uint_eq(whorl_message_copy(m, 0, copy, sizeof(copy)), m->bytes);
	got->of[at].index = m->index;
	got->of[at].indexes = m->indexes;
	got->of[at].parts = m->parts;
	got->of[at].bytes = m->bytes;
	got->of[at].first = copy[0];
	got->of[at].right = holds(m, copy);
	atomic_store(&got->count, at + 1);
}

struct group {
	struct cluster c;
	struct got *got[NODES_MAX];
};

static void open_group(struct group *g, unsigned nodes, const char *group, const char *mode, const char *engine)
{
	char rest[512];

	snprintf(rest, sizeof(rest), "[subgroup s]\nwindow = %d\nmessage_bytes = %d\nlarge_bytes = %d\nmode = %s\n%s",
		 WINDOW, SLOT, LARGE, mode, engine);
	cluster_open(&g->c, nodes, group, rest);
	for (unsigned id = 0; id < nodes; id++) {
		g->got[id] = calloc(1, sizeof(*g->got[id]));
		ck_ok(whorl_on_message(subgroup_of(&g->c, id, "s"), take, g->got[id]));
	}
}

static void close_group(struct group *g)
{
	unsigned nodes = g->c.count;

	cluster_free(&g->c);
	for (unsigned id = 0; id < nodes; id++)
		free(g->got[id]);
}

static whorl_subgroup *s_of(struct group *g, unsigned id)
{
	return subgroup_of(&g->c, id, "s");
}

static void fill(const struct whorl_claim *claim, unsigned char first)
{
	size_t at = 0, bytes;
	void *part;

	for (uint32_t k = 0; whorl_claim_part(claim, k, &part, &bytes) == WHORL_OK; k++) {
		ck_assert_uint_eq((uintptr_t)part % 16, 0);
		for (size_t i = 0; i < bytes; i++)
			((unsigned char *)part)[i] = byte_at(first, at++);
	}
	ck_assert_uint_eq(at, claim->bytes);
}

static void step_all(struct group *g)
{
	cluster_step(&g->c);
}

static void await_delivered(struct group *g, uint64_t index)
{
	await(whorl_frontier_get(s_of(g, 0), WHORL_DELIVERED_BY_ALL) > index, step_all(g));
}

/* Of every length, from each slot on. */
static void try_all(const char *group, const char *mode)
{
	uint64_t index = 0;
	unsigned long sent = 0;
	struct whorl_claim claim;
	struct group g;

	open_group(&g, 2, group, mode, CALLER);
	cluster_start(&g.c);
	for (size_t bytes = 0; bytes <= LARGE; bytes += 5, sent++) {
		uint32_t slots = bytes > SLOT ? (uint32_t)((bytes + SLOT - 1) / SLOT) : 1;

		ck_ok(whorl_claim_large(s_of(&g, 0), bytes, 0, &claim));
		ck_assert_uint_eq(claim.number, index);
		ck_assert_uint_eq(claim.bytes, bytes);
		fill(&claim, (unsigned char)(sent + 1));
		ck_ok(whorl_commit(&claim, bytes));
		await_delivered(&g, index);
		ck_assert_uint_eq(atomic_load(&g.got[1]->count), sent + 1);
		ck_assert_uint_eq(g.got[1]->of[sent].index, index);
		ck_assert_uint_eq(g.got[1]->of[sent].indexes, slots);
		ck_assert_uint_eq(g.got[1]->of[sent].bytes, bytes);
		ck_assert_msg(g.got[1]->of[sent].right, "of %zu bytes, in %u parts", bytes, g.got[1]->of[sent].parts);
		ck_assert_uint_le(g.got[1]->of[sent].parts, group == transports[0] ? 2 : slots);
		index += slots;
		ck_assert_uint_eq(whorl_frontier_get(s_of(&g, 0), WHORL_DELIVERED_BY_ALL), index);
	}
	ck_assert_uint_eq(stats_of(s_of(&g, 0)).sent, index);
	ck_assert_uint_eq(stats_of(s_of(&g, 1)).delivered, sent);
	close_group(&g);
}

TEST_CASE("large", .timeout_s = 60);

TEST_LOOP(of_every_length, 0, 4)
{
	try_all(transports[_i / 2], modes[_i % 2]);
}

/* Small ones before and behind; an aborted one is nothing, and takes its indexes; fewer bytes than were claimed. */
TEST_LOOP(among_others, 0, 2)
{
	unsigned char data[LARGE];
	struct whorl_claim large, small;
	uint64_t index;
	struct group g;

	open_group(&g, 3, transports[_i], modes[0], CALLER);
	cluster_start(&g.c);
	for (size_t i = 0; i < LARGE; i++)
		data[i] = byte_at(9, i);
	for (unsigned round = 0; round < 10; round++) {
		ck_ok(whorl_send(s_of(&g, 0), data, 3, 0, &index));
		ck_assert_uint_eq(index, 12ull * round);
		ck_ok(whorl_claim_large(s_of(&g, 0), 3 * SLOT, 0, &large));
		ck_ok(whorl_claim(s_of(&g, 0), 1, &small));
		ck_assert_uint_eq(small.number, index + 4);
		ck_assert_int_eq(whorl_claim_large(s_of(&g, 0), 2 * SLOT, 0, &small), WHORL_AGAIN); /* one is left */
		*(unsigned char *)small.data = 0;
		ck_ok(whorl_commit(&small, 1));
		cluster_hush(&g.c);
		ck_assert_uint_eq(atomic_load(&g.got[2]->count), 4 * round + 1);
		if (round % 2) {
			ck_ok(whorl_abort(&large));
		} else {
			fill(&large, 77);
			ck_ok(whorl_commit(&large, SLOT + 1));
		}
		ck_assert_int_eq(whorl_commit(&large, 1), WHORL_INVALID);
		cluster_hush(&g.c);
		if (round % 2) /* so that each round has four */
			ck_ok(whorl_send(s_of(&g, 1), data, 40, 0, NULL));
		ck_ok(whorl_send(s_of(&g, 0), data, LARGE, PATIENCE_MS, &index));
		ck_assert_uint_eq(index, 12ull * round + 5);
		cluster_hush(&g.c);
		ck_ok(whorl_claim(s_of(&g, 0), 0, &small));
		ck_ok(whorl_abort(&small));
		cluster_hush(&g.c);
	}
	for (unsigned id = 0; id < 3; id++) {
		ck_assert_uint_eq(atomic_load(&g.got[id]->count), 40);
		for (unsigned i = 0; i < 40; i++) {
			ck_assert(g.got[id]->of[i].right);
			ck_assert_uint_eq(g.got[id]->of[i].bytes, g.got[0]->of[i].bytes);
			ck_assert_uint_eq(g.got[id]->of[i].first, g.got[0]->of[i].first);
		}
		ck_assert_uint_eq(g.got[id]->of[1].bytes, SLOT + 1);
		ck_assert_uint_eq(g.got[id]->of[1].indexes, 3);
		ck_assert_uint_eq(g.got[id]->of[3].bytes, LARGE);
	}
	ck_assert_uint_eq(stats_of(s_of(&g, 0)).aborted, 5 * 3 + 10);
	close_group(&g);
}

/* Each call's messages: how many slots they have. */
struct calls {
	unsigned count;
	struct {
		size_t messages;
		uint32_t indexes[WINDOW];
		uint32_t parts[WINDOW];
	} of[8];
};

static size_t note_call(const struct whorl_message *messages, size_t count, void *ctx)
{
	struct calls *calls = ctx;
	unsigned at = calls->count++;

	ck_assert_uint_lt(at, 8);
	ck_assert_uint_le(count, WINDOW);
	calls->of[at].messages = count;
	for (size_t i = 0; i < count; i++) {
		calls->of[at].indexes[i] = WHORL_AT(whorl_message, messages, i)->indexes;
		calls->of[at].parts[i] = WHORL_AT(whorl_message, messages, i)->parts;
	}
	return count;
}

static void send_sizes(struct group *g, const size_t *sizes, unsigned count)
{
	static const unsigned char data[LARGE];
	uint64_t index = 0;

	for (unsigned i = 0; i < count; i++)
		ck_ok(whorl_send(s_of(g, 0), data, sizes[i], 0, &index));
	await_delivered(g, index);
}

/* In one upcall, large and small; one around the end of the ring, which lies in two pieces, ends its run. */
TEST_LOOP(those_in_one_piece_come_together, 0, 2)
{
	static const size_t first[] = {2 * SLOT, 1, 2 * SLOT}, second[] = {2 * SLOT, 1}, small[] = {1, 1, 1, 1};
	static const uint32_t slots[] = {2, 1, 2};
	struct calls calls = {.count = 0};
	struct group g;

	open_group(&g, 2, transports[0], modes[_i], "senders = 0\n" CALLER);
	ck_ok(whorl_on_message(s_of(&g, 1), NULL, NULL));
	ck_ok(whorl_on_offer(s_of(&g, 1), note_call, &calls));
	cluster_start(&g.c);
	send_sizes(&g, first, 3); /* slots 0 to 4 */
	ck_assert_uint_eq(calls.count, 1);
	ck_assert_uint_eq(calls.of[0].messages, 3);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_uint_eq(calls.of[0].indexes[i], slots[i]);
		ck_assert_uint_eq(calls.of[0].parts[i], 1);
	}
	send_sizes(&g, small, 4); /* where large ones were told of */
	ck_assert_uint_eq(calls.count, 2);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_uint_eq(calls.of[1].indexes[i], 1);
	send_sizes(&g, small, 2); /* the next is slot 5 */
	send_sizes(&g, second, 2);
	ck_assert_uint_eq(calls.count, 5);
	ck_assert_uint_eq(calls.of[3].messages, 1);
	ck_assert_uint_eq(calls.of[3].parts[0], 2);
	ck_assert_uint_eq(calls.of[4].messages, 1);
	close_group(&g);
}

TEST(nonsense_is_refused)
{
	struct whorl_subgroup_info info = {.size = sizeof(info)};
	struct whorl_message none = {.size = sizeof(none), .parts = 1};
	struct whorl_claim claim;
	unsigned char data[LARGE + 1] = {0};
	const void *part;
	void *into;
	size_t bytes;
	struct group g;

	open_group(&g, 1, FAR, modes[0], CALLER);
	cluster_start(&g.c);
	ck_assert_int_eq(whorl_claim_large(NULL, 1, 0, &claim), WHORL_INVALID);
	ck_assert_int_eq(whorl_claim_large(s_of(&g, 0), 1, 0, NULL), WHORL_INVALID);
	ck_assert_int_eq(whorl_claim_large(s_of(&g, 0), LARGE, -1, &claim), WHORL_INVALID);
	ck_assert_int_eq(whorl_claim_large(s_of(&g, 0), LARGE + 1, 0, &claim), WHORL_INVALID);
	ck_assert_str_eq(whorl_invalid_text(), "whorl_claim_large: more than the subgroup's large_bytes");
	ck_assert_int_eq(whorl_send(s_of(&g, 0), data, LARGE + 1, 0, NULL), WHORL_INVALID);
	ck_assert_int_eq(whorl_claim(s_of(&g, 0), SLOT + 1, &claim), WHORL_INVALID);
	ck_assert_int_eq(whorl_claim_many(s_of(&g, 0), SLOT + 1, 1, &claim), WHORL_INVALID);
	ck_ok(whorl_claim_large(s_of(&g, 0), LARGE, 0, &claim));
	ck_assert_int_eq(whorl_claim_part(NULL, 0, &into, &bytes), WHORL_INVALID);
	ck_assert_int_eq(whorl_claim_part(&claim, 0, NULL, &bytes), WHORL_INVALID);
	ck_assert_int_eq(whorl_claim_part(&claim, 0, &into, NULL), WHORL_INVALID);
	ck_assert_int_eq(whorl_claim_part(&claim, WINDOW, &into, &bytes), WHORL_NOT_FOUND);
	ck_assert_int_eq(whorl_commit(&claim, LARGE + 1), WHORL_INVALID);
	ck_ok(whorl_abort(&claim));
	ck_assert_int_eq(whorl_claim_part(&claim, 0, &into, &bytes), WHORL_INVALID);
	ck_assert_int_eq(whorl_message_part(NULL, 0, &part, &bytes), WHORL_INVALID);
	ck_assert_int_eq(whorl_message_part(&none, 0, NULL, &bytes), WHORL_INVALID);
	ck_assert_int_eq(whorl_message_part(&none, 0, &part, NULL), WHORL_INVALID);
	ck_assert_uint_eq(whorl_message_copy(NULL, 0, data, 1), 0);
	ck_assert_uint_eq(whorl_message_copy(&none, 0, NULL, 1), 0);
	ck_ok(whorl_subgroup_describe(s_of(&g, 0), &info));
	ck_assert_uint_eq(info.large_bytes, LARGE);
	close_group(&g);
}

TEST(the_configuration_must_allow_it)
{
	static const struct {
		const char *text, *mistake;
	} wrong[] = {
		{"window = 2\nmessage_bytes = 16\nlarge_bytes = 33\n", "large_bytes: is 33, expected at most 32"},
		{"window = 2\nmessage_bytes = 17\nlarge_bytes = 18\n",
		 "message_bytes: is 17, expected a multiple of 16"},
	};
	char text[256];

	for (size_t i = 0; i < 2; i++) {
		whorl_config *config = whorl_config_new();
		whorl_node *node;

		snprintf(text, sizeof(text), "[group]\nname = x\nnodes = 1\n[subgroup s]\n%s", wrong[i].text);
		ck_ok(whorl_config_load_text(config, "test", text));
		ck_assert_int_eq(whorl_open(config, 0, NULL, &node), WHORL_CONFIG);
		ck_assert_msg(strstr(whorl_config_error(config), wrong[i].mistake) != NULL, "%s",
			      whorl_config_error(config));
		whorl_config_free(config);
	}
}

/* ---- threads ---------------------------------------------------------------------------------------------------------- */

struct sender {
	whorl_subgroup *subgroup;
	atomic_bool stop;
	atomic_ulong sent;
	pthread_t thread;
};

static void *send_small(void *ctx)
{
	struct sender *sender = ctx;

	while (!atomic_load(&sender->stop)) {
		unsigned char byte = 0;
		enum whorl_result result = whorl_send(sender->subgroup, &byte, 1, 1, NULL);

		ck_assert(result == WHORL_OK || result == WHORL_TIMEOUT);
		atomic_fetch_add(&sender->sent, result == WHORL_OK);
	}
	return NULL;
}

static void ignore(const struct whorl_message *m, void *ctx)
{
	unsigned char bytes[LARGE];

	if (m->bytes > SLOT) {
		ck_assert_uint_eq(whorl_message_copy(m, 0, bytes, LARGE), LARGE);
		for (size_t i = 0; i < LARGE; i++)
			ck_assert_uint_eq(bytes[i], byte_at(bytes[0], i));
		atomic_fetch_add((atomic_ulong *)ctx, 1);
	}
}

/* Threads that send small ones as fast as they can do not keep those out that need the whole window. */
TEST(small_ones_do_not_starve_it)
{
	struct sender small[3];
	unsigned char data[LARGE];
	atomic_ulong delivered = 0;
	char rest[256];
	struct cluster c;

	snprintf(rest, sizeof(rest), "[subgroup s]\nwindow = %d\nmessage_bytes = %d\nlarge_bytes = %d\n", WINDOW, SLOT,
		 LARGE);
	cluster_open(&c, 2, FAR, rest);
	ck_ok(whorl_on_message(subgroup_of(&c, 1, "s"), ignore, &delivered));
	cluster_start(&c);
	for (int i = 0; i < 3; i++) {
		small[i] = (struct sender){.subgroup = subgroup_of(&c, 0, "s")};
		pthread_create(&small[i].thread, NULL, send_small, &small[i]);
	}
	for (int round = 0; round < 200; round++) {
		for (size_t i = 0; i < LARGE; i++)
			data[i] = byte_at((unsigned char)round, i);
		ck_ok(whorl_send(subgroup_of(&c, 0, "s"), data, LARGE, PATIENCE_MS, NULL));
	}
	for (int i = 0; i < 3; i++) {
		unsigned long before = atomic_load(&small[i].sent);

		await(atomic_load(&small[i].sent) > before, sched_yield()); /* nor it them */
		atomic_store(&small[i].stop, true);
		pthread_join(small[i].thread, NULL);
	}
	await(atomic_load(&delivered) == 200, sched_yield());
	for (unsigned id = 0; id < 2; id++) {
		ck_ok(whorl_close(c.nodes[id], PATIENCE_MS));
		c.nodes[id] = NULL;
	}
	cluster_free(&c);
}

/* What waits holds others up, as long as it waits. */
TEST(it_gives_up_in_time)
{
	struct whorl_claim open, large, small;
	struct group g;

	open_group(&g, 1, FAR, modes[0], "");
	cluster_start(&g.c);
	ck_ok(whorl_claim(s_of(&g, 0), 1, &open));
	ck_assert_int_eq(whorl_claim_large(s_of(&g, 0), LARGE, 20, &large), WHORL_TIMEOUT);
	ck_ok(whorl_claim(s_of(&g, 0), 1, &small));
	*(unsigned char *)small.data = 0;
	ck_ok(whorl_commit(&small, 1));
	ck_ok(whorl_abort(&open));
	ck_ok(whorl_claim_large(s_of(&g, 0), LARGE, PATIENCE_MS, &large));
	ck_ok(whorl_abort(&large));
	close_group(&g);
}

/* ---- views and the end -------------------------------------------------------------------------------------------------- */

/* Committed in one view, and sent again in the next, whole; open in one and committed in the next. */
TEST_LOOP(it_goes_on_in_the_next_view, 0, 2)
{
	struct whorl_claim claim;
	unsigned char data[LARGE];
	struct group g;

	open_group(&g, 3, transports[_i], modes[0], CALLER);
	cluster_start(&g.c);
	cluster_hush(&g.c);
	for (size_t i = 0; i < LARGE; i++)
		data[i] = byte_at(5, i);
	ck_ok(whorl_send(s_of(&g, 0), data, 3 * SLOT + 1, 0, NULL));
	ck_ok(whorl_claim_large(s_of(&g, 0), 2 * SLOT, 0, &claim));
	whorl_step(g.c.nodes[0]); /* it has a round, and is delivered by no node */
	cluster_leave(&g.c, 2);
	cluster_await_view(&g.c, 1);
	await(atomic_load(&g.got[1]->count) == 1, step_all(&g));
	fill(&claim, 6);
	ck_ok(whorl_commit(&claim, 2 * SLOT));
	await(atomic_load(&g.got[1]->count) == 2, step_all(&g));
	ck_assert_uint_eq(g.got[1]->of[0].bytes, 3 * SLOT + 1);
	ck_assert_uint_eq(g.got[1]->of[1].index, 4);
	ck_assert(g.got[1]->of[0].right && g.got[1]->of[1].right);
	close_group(&g);
}

TEST_LOOP(open_ones_outlive_the_node, 0, 2)
{
	struct whorl_claim claims[2];
	struct group g;

	open_group(&g, 1, FAR, modes[0], CALLER);
	cluster_start(&g.c);
	ck_ok(whorl_claim_large(s_of(&g, 0), 3 * SLOT, 0, &claims[0]));
	ck_ok(whorl_claim_large(s_of(&g, 0), 2 * SLOT, 0, &claims[1]));
	ck_assert_int_eq(whorl_close(g.c.nodes[0], 0), WHORL_TIMEOUT);
	g.c.nodes[0] = NULL;
	fill(&claims[0], 1); /* the memory is there */
	fill(&claims[1], 1);
	if (_i == 0) {
		ck_assert_int_eq(whorl_abort(&claims[0]), WHORL_CLOSED);
		ck_assert_int_eq(whorl_commit(&claims[1], 1), WHORL_CLOSED); /* and with that it is freed */
	} else {
		ck_assert_int_eq(whorl_commit_many(claims, 2, NULL), WHORL_CLOSED);
	}
	close_group(&g);
}

/* Several at once, small ones among them; a commit of many finds all of them or none. */
TEST(many_are_committed_together)
{
	struct whorl_claim claims[3];
	struct group g;

	open_group(&g, 2, FAR, modes[0], CALLER);
	cluster_start(&g.c);
	ck_ok(whorl_claim_large(s_of(&g, 0), 2 * SLOT + 1, 0, &claims[0]));
	ck_ok(whorl_claim(s_of(&g, 0), 5, &claims[1]));
	ck_ok(whorl_claim_large(s_of(&g, 0), 2 * SLOT, 0, &claims[2]));
	for (unsigned i = 0; i < 3; i++)
		fill(&claims[i], (unsigned char)i);
	ck_ok(whorl_commit_many(claims, 3, NULL));
	cluster_hush(&g.c);
	ck_assert_uint_eq(atomic_load(&g.got[1]->count), 3);
	for (unsigned i = 0; i < 3; i++)
		ck_assert(g.got[1]->of[i].right && g.got[1]->of[i].first == i);
	ck_assert_uint_eq(stats_of(s_of(&g, 0)).send.batches, 1);
	close_group(&g);
}

/* ---- a process that is killed ------------------------------------------------------------------------------------------- */

#define KILLED 2 /* its node */
#define SENDS 900

static whorl_config *configure_three(const char *name)
{
	whorl_config *config = whorl_config_new();
	char text[512];

	snprintf(text, sizeof(text),
		 "[group]\nname = %s\nnodes = 3\n" FAR
		 "[subgroup s]\nwindow = %d\nmessage_bytes = %d\nlarge_bytes = %d\n",
		 name, WINDOW, SLOT, LARGE);
	ck_ok(whorl_config_load_text(config, "test", text));
	return config;
}

/* Sends large messages as fast as it can, until it is killed. */
static void be_killed(const char *name)
{
	unsigned char data[LARGE];
	whorl_node *node;

	if (whorl_open(configure_three(name), KILLED, NULL, &node) != WHORL_OK || whorl_start(node) != WHORL_OK ||
	    whorl_ready(node, PATIENCE_MS) != WHORL_OK)
		_exit(1);
	for (unsigned sent = 0; sent < SENDS; sent++) {
		size_t bytes = SLOT + 1 + sent % (LARGE - SLOT);

		for (size_t i = 0; i < bytes; i++)
			data[i] = byte_at((unsigned char)sent, i);
		if (whorl_send(whorl_subgroup_find(node, "s"), data, bytes, PATIENCE_MS, NULL) != WHORL_OK)
			_exit(1);
	}
	pause();
}

/* What its last message was, both survivors have, whole, or none has. */
TEST_LOOP(a_killed_sender_leaves_no_halves, 0, 3)
{
	struct cluster c = {.count = 2};
	struct got *got[2];
	char name[64];
	pid_t child;

	group_name(name, sizeof(name));
	child = fork();
	if (child == 0)
		be_killed(name);
	c.config = configure_three(name);
	for (unsigned id = 0; id < 2; id++) {
		cluster_open_node(&c, id);
		got[id] = calloc(1, sizeof(*got[id]));
		ck_ok(whorl_on_message(subgroup_of(&c, id, "s"), take, got[id]));
	}
	cluster_start(&c);
	await(atomic_load(&got[_i % 2]->count) >= 20ul + 31ul * (unsigned)_i, sched_yield());
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	cluster_await_view(&c, 1);
	for (unsigned id = 0; id < 2; id++)
		ck_ok(whorl_close(c.nodes[id], PATIENCE_MS));
	ck_assert_uint_eq(atomic_load(&got[0]->count), atomic_load(&got[1]->count));
	for (unsigned long i = 0; i < atomic_load(&got[0]->count); i++) {
		ck_assert(got[0]->of[i].right && got[1]->of[i].right);
		ck_assert_uint_eq(got[0]->of[i].index, got[1]->of[i].index);
		ck_assert_uint_eq(got[0]->of[i].bytes, SLOT + 1 + i % (LARGE - SLOT));
	}
	for (unsigned id = 0; id < 2; id++) {
		c.nodes[id] = NULL;
		free(got[id]);
	}
	cluster_free(&c);
}

TEST_SUITE("group: large messages")
