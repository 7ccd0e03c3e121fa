/* test_group_streams.c - what a sender has claimed, committed and sent goes on when views change: each outcome that
 * whorl.h tells of, and nothing twice or out of order.
 * Labels: threads
 */
#include <pthread.h>

#include "group/node_int.h"
#include "predicates/multicast_int.h"
#include "tests/support/group.h"

#define CALLER "[engine]\nthread = caller\n"
#define FAR "failure_timeout_ms = 600000\n" /* no node is overdue */
#define STREAM "[subgroup s]\nwindow = 8\nmessage_bytes = 8\n"

static const char *const modes[] = {"mode = ordered\n" CALLER, "mode = unordered\n" CALLER};

static void open_group(struct cluster *c, unsigned count, const char *group, const char *rest)
{
	char text[512];

	snprintf(text, sizeof(text), STREAM "%s", rest);
	cluster_open(c, count, group, text);
	cluster_record(c, "s");
	cluster_start(c);
}

static struct whorl_claim claim_at(struct cluster *c, unsigned id)
{
	struct whorl_claim claim;

	ck_ok(whorl_claim(subgroup_of(c, id, "s"), 8, &claim));
	memcpy(claim.data, &claim.number, 8);
	return claim;
}

static void send_at(struct cluster *c, unsigned id)
{
	struct whorl_claim claim = claim_at(c, id);

	ck_ok(whorl_commit(&claim, 8));
}

/* These messages of node `sender`, in this order, and each holds its number. */
static void expect_numbers(const struct record *record, const uint64_t *numbers, unsigned count, unsigned sender)
{
	ck_assert_uint_eq(recorded(record), count);
	for (unsigned i = 0; i < count; i++) {
		ck_assert_uint_eq(record->entries[i].sender, sender);
		ck_assert_uint_eq(record->entries[i].index, numbers[i]);
		ck_assert_uint_eq(record->entries[i].word, numbers[i]);
		ck_assert_uint_eq(record->entries[i].bytes, 8);
	}
}

/* The memory of earlier views is given back. */
static void expect_no_older_view(struct cluster *c, unsigned id)
{
	await(c->nodes[id]->epochs.current->older == NULL, cluster_step(c));
}

/* ---- claims through views --------------------------------------------------------------------------------------------- */

TEST_CASE("streams", .timeout_s = 60);

/* Opened in one view and committed or aborted in any later one, each takes its place in the order of claims. */
TEST_LOOP(claims_take_their_place_in_any_view, 0, 2)
{
	static const uint64_t delivered[] = {0, 1, 2, 4, 6};
	struct whorl_claim claims[7];
	struct whorl_subgroup_stats stats;
	struct cluster c;

	open_group(&c, 4, FAR, modes[_i]);
	for (int i = 0; i < 6; i++)
		claims[i] = claim_at(&c, 0);
	ck_ok(whorl_commit(&claims[1], 8)); /* behind claim 0, which is open */
	cluster_hush(&c);
	cluster_leave(&c, 3);
	cluster_await_view(&c, 1);
	claims[6] = claim_at(&c, 0);
	ck_assert_uint_eq(claims[6].number, 6);
	ck_ok(whorl_abort(&claims[3]));
	ck_ok(whorl_commit(&claims[4], 8));
	cluster_hush(&c);
	ck_assert_uint_eq(recorded(c.records[0]), 0);
	ck_ok(whorl_commit(&claims[0], 8)); /* one view later */
	await(all_recorded(c.records, 3, 2), cluster_step(&c));
	cluster_leave(&c, 2);
	cluster_await_view(&c, 2);
	ck_ok(whorl_commit(&claims[6], 8));
	ck_ok(whorl_abort(&claims[5]));
	cluster_hush(&c);
	ck_assert_uint_eq(recorded(c.records[0]), 2);
	ck_ok(whorl_commit(&claims[2], 8)); /* two views later */
	await(all_recorded(c.records, 2, 5), cluster_step(&c));
	cluster_hush(&c);
	expect_numbers(c.records[0], delivered, 5, 0);
	expect_numbers(c.records[1], delivered, 5, 0);
	stats = stats_of(subgroup_of(&c, 0, "s"));
	ck_assert_uint_eq(stats.claimed, 7);
	ck_assert_uint_eq(stats.sent, 7);
	ck_assert_uint_eq(stats.resent, 0);
	ck_assert_uint_eq(stats.aborted, 2);
	ck_assert_uint_eq(stats.dropped, 0);
	expect_no_older_view(&c, 0);
	cluster_free(&c);
}

/* As long as a claim is open the memory that it points to stays. */
TEST(an_open_claim_keeps_its_memory)
{
	struct whorl_claim claim;
	struct cluster c;

	open_group(&c, 4, FAR, modes[0]);
	claim = claim_at(&c, 0);
	cluster_leave(&c, 3);
	cluster_await_view(&c, 1);
	cluster_leave(&c, 2);
	cluster_await_view(&c, 2);
	expect_no_older_view(&c, 1);
	cluster_hush(&c);
	ck_assert_ptr_nonnull(c.nodes[0]->epochs.current->older);
	memset(claim.data, 1, 8);
	ck_ok(whorl_commit(&claim, 8));
	await(all_recorded(c.records, 2, 1), cluster_step(&c));
	expect_no_older_view(&c, 0);
	expect_no_older_view(&c, 1);
	cluster_free(&c);
}

/* Node 1 has stopped for the next view when node 0 sends: only node 0 has the messages, and they are sent again.
 * (Passes are made by hand. Node 1 notices that node 2 has left at the end of one pass, and stops at the beginning of the
 * next; node 0 sends in between.) */
TEST_LOOP(what_was_not_received_is_sent_again, 0, 2)
{
	static const uint64_t delivered[] = {0, 2, 3};
	struct whorl_subgroup_stats stats;
	struct whorl_claim claims[3];
	struct cluster c;

	open_group(&c, 3, FAR, modes[_i]);
	cluster_hush(&c);
	for (int i = 0; i < 3; i++)
		claims[i] = claim_at(&c, 0);
	cluster_leave(&c, 2);
	await(whorl_step(c.nodes[1]) > 0, );
	ck_ok(whorl_commit(&claims[0], 8));
	ck_ok(whorl_abort(&claims[1]));
	ck_ok(whorl_commit(&claims[2], 8));
	whorl_step(c.nodes[0]);
	stats = stats_of(subgroup_of(&c, 0, "s"));
	ck_assert_uint_eq(stats.sent, 3);
	ck_assert_uint_eq(view_of(c.nodes[0]), 0);
	cluster_await_view(&c, 1);
	send_at(&c, 0);
	await(all_recorded(c.records, 2, 3), cluster_step(&c));
	cluster_hush(&c);
	expect_numbers(c.records[0], delivered, 3, 0);
	expect_numbers(c.records[1], delivered, 3, 0);
	stats = stats_of(subgroup_of(&c, 0, "s"));
	ck_assert_uint_eq(stats.sent, 4);
	ck_assert_uint_eq(stats.resent, 3);
	ck_assert_uint_eq(stats.aborted, 1);
	ck_assert_uint_eq(stats.dropped, 0);
	expect_no_older_view(&c, 0);
	cluster_free(&c);
}

/* While a view changes, and when it has changed, a window that was full makes room again: no node waits for one that has left. */
TEST_LOOP(a_node_that_has_left_does_not_hold_the_window, 0, 2)
{
	struct cluster c;

	open_group(&c, 3, FAR, modes[_i]);
	cluster_hush(&c);
	for (int i = 0; i < 8; i++)
		send_at(&c, 0);
	for (int i = 0; i < 100; i++) {
		whorl_step(c.nodes[0]);
		whorl_step(c.nodes[1]);
	}
	ck_assert_int_eq(whorl_send(subgroup_of(&c, 0, "s"), "x", 1, 0, NULL), WHORL_AGAIN);
	cluster_leave(&c, 2);
	cluster_await_view(&c, 1);
	await(all_recorded(c.records, 2, 8), cluster_step(&c));
	cluster_hush(&c);
	for (int i = 0; i < 8; i++)
		send_at(&c, 0);
	await(all_recorded(c.records, 2, 16), cluster_step(&c));
	records_agree(c.records[0], c.records[1]);
	cluster_free(&c);
}

/* ---- long lives -------------------------------------------------------------------------------------------------------- */

/* As if it had sent all messages below `number`, and all had delivered them. */
static void grow_old(struct cluster *c, unsigned id, uint64_t number)
{
	struct wh_ring *ring = subgroup_of(c, id, "s")->ring;
	struct wh_multicast *mc = wh_epoch_shard_member(c->nodes[id]->epochs.current, subgroup_of(c, id, "s"))->mc;
	struct wh_sender *me = &mc->senders[mc->config.me];

	wh_store_relaxed(&ring->claim, number << ring->slot_bits | number % ring->window);
	ring->sent = ring->freed = ring->ever_sent = number;
	ring->sent_slot = ring->freed_slot = (uint32_t)(number % ring->window);
	mc->announced = me->announced = me->next = number;
}

static void step_well(struct cluster *c)
{
	for (unsigned id = 0; id < c->count; id++)
		if (c->nodes[id] != NULL)
			ck_ok(whorl_error(c->nodes[id], NULL, 0));
	c->nodes[0]->watch.surveyed_ns = 0; /* it looks now whether the numbers have come to an end */
	cluster_step(c);
}

/* What a ring has numbers for the others take: in the next view it is told where the numbers go on. A node has
 * delivered the message that had the last one when it fails for want of more. */
TEST_LOOP(the_others_take_all_numbers_that_there_are, 0, 4)
{
	const uint64_t numbers[] = {(UINT64_C(1) << 48) + 5, wh_ring_numbers(8) - 1};
	struct cluster c;

	open_group(&c, 3, FAR, modes[_i % 2]);
	cluster_hush(&c);
	grow_old(&c, 0, numbers[_i / 2]);
	cluster_leave(&c, 2);
	cluster_await_view(&c, 1);
	send_at(&c, 0);
	await(all_recorded(c.records, 2, 1), step_well(&c));
	expect_numbers(c.records[1], &numbers[_i / 2], 1, 0);
	records_agree(c.records[0], c.records[1]);
	ck_ok(whorl_error(c.nodes[1], NULL, 0));
	if (numbers[_i / 2] == wh_ring_numbers(8) - 1)
		await(whorl_error(c.nodes[0], NULL, 0) == WHORL_SYSTEM, cluster_step(&c));
	else
		ck_ok(whorl_error(c.nodes[0], NULL, 0));
	cluster_free(&c);
}

/* ---- removed, closed, in a minority ------------------------------------------------------------------------------------ */

static bool has_gone_on(struct cluster *c, unsigned without)
{
	for (unsigned id = 0; id < c->count; id++)
		if (id != without && view_of(c->nodes[id]) == 0)
			return false;
	return true;
}

static void step_without(struct cluster *c, unsigned without)
{
	for (unsigned id = 0; id < c->count; id++)
		if (id != without)
			whorl_step(c->nodes[id]);
}

/* Node 1 has sent one message, and committed another behind an open claim, when it stands still. */
TEST_LOOP(a_removed_sender_is_in_doubt, 0, 2)
{
	struct whorl_claim open, behind, last;
	struct whorl_subgroup_stats stats;
	unsigned long others;
	struct cluster c;
	uint64_t began;

	open_group(&c, 3, "failure_timeout_ms = 50\n", modes[_i]);
	send_at(&c, 1);
	whorl_step(c.nodes[1]);
	open = claim_at(&c, 1);
	behind = claim_at(&c, 1);
	last = claim_at(&c, 1);
	ck_ok(whorl_commit(&behind, 8));
	await(has_gone_on(&c, 1), step_without(&c, 1));
	await(whorl_error(c.nodes[1], NULL, 0) == WHORL_REMOVED, whorl_step(c.nodes[1]));
	ck_assert_int_eq(whorl_claim(subgroup_of(&c, 1, "s"), 8, &(struct whorl_claim){0}), WHORL_REMOVED);
	ck_assert_int_eq(whorl_commit(&open, 8), WHORL_REMOVED);
	ck_assert_int_eq(whorl_abort(&last), WHORL_REMOVED);
	stats = stats_of(subgroup_of(&c, 1, "s"));
	ck_assert_uint_eq(stats.sent, 1);
	ck_assert_uint_eq(stats.in_doubt, 1);
	for (int i = 0; i < 100; i++) {
		step_without(&c, 1);
		whorl_step(c.nodes[1]);
	}
	others = recorded(c.records[0]);
	ck_assert_uint_le(others, 1); /* that one, if the others had it */
	records_agree(c.records[0], c.records[2]);
	began = now_ms();
	ck_assert_int_eq(whorl_close(c.nodes[1], PATIENCE_MS), WHORL_REMOVED);
	ck_assert_uint_lt(now_ms() - began, PATIENCE_MS / 2);
	c.nodes[1] = NULL;
	cluster_free(&c);
}

/* Two claims, in the memories of two views, outlive the node. */
TEST_LOOP(claims_of_several_views_outlive_the_node, 0, 2)
{
	struct whorl_claim claims[2];
	struct cluster c;

	open_group(&c, 3, FAR, modes[0]);
	claims[0] = claim_at(&c, 0);
	cluster_leave(&c, 2);
	cluster_await_view(&c, 1);
	claims[1] = claim_at(&c, 0);
	ck_assert_uint_ne(claims[0].home, claims[1].home);
	ck_assert_int_eq(whorl_close(c.nodes[0], 0), WHORL_TIMEOUT);
	c.nodes[0] = NULL;
	for (int i = 0; i < 2; i++) {
		memset(claims[i].data, 'x', 8);
		ck_assert_int_eq(i == _i ? whorl_commit(&claims[i], 8) : whorl_abort(&claims[i]), WHORL_CLOSED);
	}
	cluster_free(&c);
}

/* ---- no sender any more -------------------------------------------------------------------------------------------------- */

/* Roles by view: [view][node], one character each: . - nothing, m - member, s - sender. */
static enum whorl_role lay_out(const struct whorl_view *view, const char *subgroup, uint32_t shard, uint32_t id,
			       void *ctx)
{
	const char *const *roles = ctx;
	char role = roles[view->number][id];

	(void)subgroup;
	(void)shard;
	return role == 's' ? WHORL_SENDER : role == 'm' ? WHORL_MEMBER : WHORL_NO_MEMBER;
}

static void open_with(struct cluster *c, const char *const *roles, struct whorl_open_options *options)
{
	*options = (struct whorl_open_options){
		.size = sizeof(*options), .layout = lay_out, .layout_ctx = (void *)(uintptr_t)roles};
	cluster_configure(c, 4, "failure_timeout_ms = 200\n", STREAM "members = function\n" CALLER);
	c->options = options;
	for (unsigned id = 0; id < 4; id++)
		cluster_open_node(c, id);
	cluster_record(c, "s");
	cluster_start(c);
}

/* In view 1 node 0 is nothing at all; in view 2 it sends again. (Made a member only it sends first what it has: test_group_roles.c.) */
TEST(what_a_sender_had_is_dropped_when_it_is_none)
{
	static const char *const roles[] = {"ssss", ".ss.", "ss.."};
	static const uint64_t delivered[] = {0, 5};
	struct whorl_open_options options;
	struct whorl_subgroup_stats stats;
	struct whorl_claim open[4];
	whorl_subgroup *s;
	struct cluster c;
	char word[8] = {0};

	open_with(&c, roles, &options);
	s = subgroup_of(&c, 0, "s");
	send_at(&c, 0);
	await(all_recorded(c.records, 4, 1), cluster_step(&c));
	for (int i = 0; i < 4; i++)
		open[i] = claim_at(&c, 0);
	ck_ok(whorl_commit(&open[1], 8)); /* accepted, and never sent */
	cluster_leave(&c, 3);
	cluster_await_view(&c, 1);
	ck_assert_int_eq(whorl_claim(s, 8, &(struct whorl_claim){0}), WHORL_NOT_SENDER);
	ck_assert_int_eq(whorl_send(s, word, 8, PATIENCE_MS, NULL), WHORL_NOT_SENDER);
	ck_assert_int_eq(whorl_commit(&open[0], 8), WHORL_NOT_SENDER);
	ck_assert_int_eq(whorl_abort(&open[2]), WHORL_NOT_SENDER);
	cluster_hush(&c);
	stats = stats_of(s);
	ck_assert_uint_eq(stats.claimed, 5);
	ck_assert_uint_eq(stats.dropped, 4);
	ck_assert_uint_eq(stats.sent, 1);
	ck_assert_uint_eq(recorded(c.records[1]), 1);
	ck_assert_ptr_nonnull(c.nodes[0]->epochs.current->older); /* one is open */
	memset(open[3].data, 1, 8);

	cluster_leave(&c, 2);
	cluster_await_view(&c, 2);
	send_at(&c, 0);
	await(all_recorded(c.records, 2, 2), cluster_step(&c));
	ck_assert_int_eq(whorl_commit(&open[3], 8), WHORL_NOT_SENDER); /* it was dropped then, and stays so */
	cluster_hush(&c);
	expect_numbers(c.records[0], delivered, 2, 0);
	expect_numbers(c.records[1], delivered, 2, 0);
	stats = stats_of(s);
	ck_assert_uint_eq(stats.claimed, 6);
	ck_assert_uint_eq(stats.dropped, 4);
	ck_assert_uint_eq(stats.sent, 2);
	expect_no_older_view(&c, 0);
	cluster_free(&c);
}

/* That something will be delivered is not said of what was dropped, though there is no quorum now. */
TEST(a_dropped_claim_in_a_minority)
{
	static const char *const roles[] = {"ssss", ".ss.", ".s.."};
	struct whorl_open_options options;
	struct whorl_claim open;
	struct cluster c;

	open_with(&c, roles, &options);
	open = claim_at(&c, 0);
	cluster_leave(&c, 3);
	cluster_await_view(&c, 1);
	cluster_leave(&c, 2);
	cluster_await_view(&c, 2);
	await(whorl_error(c.nodes[0], NULL, 0) == WHORL_NO_QUORUM, whorl_step(c.nodes[0]));
	ck_assert_int_eq(whorl_commit(&open, 8), WHORL_NOT_SENDER);
	cluster_free(&c);
}

/* ---- threads ------------------------------------------------------------------------------------------------------------ */

#define EACH 2000

struct sender {
	whorl_subgroup *subgroup;
	pthread_t thread;
	uint64_t count;
};

static void *send_all(void *ctx)
{
	struct sender *sender = ctx;

	for (uint64_t i = 0; i < sender->count; i++) {
		struct whorl_claim claim;

		ck_ok(whorl_claim_wait(sender->subgroup, 8, PATIENCE_MS, &claim));
		memcpy(claim.data, &claim.number, 8);
		if (i % 64 == 0)
			sched_yield(); /* a view may change in the middle of it */
		ck_ok(whorl_commit(&claim, 8));
	}
	return NULL;
}

/* Of each sender that stays all messages, once, in order. */
static void expect_streams(const struct record *record, const uint64_t *least, unsigned nodes)
{
	uint64_t next[NODES_MAX] = {0};

	ck_assert_uint_le(recorded(record), RECORD_MAX);
	for (unsigned long i = 0; i < recorded(record); i++) {
		const struct entry *entry = &record->entries[i];

		ck_assert_uint_eq(entry->index, next[entry->sender]);
		ck_assert_uint_eq(entry->word, entry->index);
		next[entry->sender]++;
	}
	for (unsigned id = 0; id < nodes; id++)
		ck_assert_uint_ge(next[id], least[id]);
}

static bool has_all(const struct record *record, unsigned sender, uint64_t count)
{
	unsigned long entries = recorded(record);

	for (unsigned long i = entries; i-- > 0;)
		if (record->entries[i].sender == sender)
			return record->entries[i].index + 1 == count;
	return false;
}

TEST_CASE("threads", .timeout_s = 60);

/* Three senders, one with two threads; two nodes leave in the middle of it. Those that stay notice nothing. */
TEST_LOOP(senders_notice_nothing, 0, 2)
{
	static const uint64_t least[] = {2 * EACH, EACH, 0, 0};
	static const unsigned nodes[] = {0, 1, 2, 0};
	struct sender senders[4];
	struct cluster c;

	cluster_open(&c, 4, "",
		     _i == 0 ? "[subgroup s]\nwindow = 3\nmessage_bytes = 8\n"
			     : "[subgroup s]\nwindow = 3\nmessage_bytes = 8\nmode = unordered\n");
	cluster_record(&c, "s");
	cluster_start(&c);
	for (unsigned i = 0; i < 4; i++) {
		senders[i] =
			(struct sender){.subgroup = subgroup_of(&c, nodes[i], "s"), .count = i == 2 ? EACH / 10 : EACH};
		ck_assert_int_eq(pthread_create(&senders[i].thread, NULL, send_all, &senders[i]), 0);
	}
	await(recorded(c.records[3]) > EACH / 20, sched_yield());
	cluster_leave(&c, 3);
	pthread_join(senders[2].thread, NULL);
	cluster_leave(&c, 2);
	for (unsigned i = 0; i < 4; i++)
		if (i != 2)
			pthread_join(senders[i].thread, NULL);
	for (unsigned id = 0; id < 2; id++)
		await(has_all(c.records[id], 0, 2 * EACH) && has_all(c.records[id], 1, EACH), sched_yield());
	await(whorl_node_count(c.nodes[0]) == 2 && whorl_node_count(c.nodes[1]) == 2, sched_yield());
	for (unsigned id = 0; id < 2; id++) {
		expect_streams(c.records[id], least, 4);
		ck_ok(whorl_error(c.nodes[id], NULL, 0));
	}
	if (_i == 0)
		records_agree(c.records[0], c.records[1]);
	cluster_free(&c);
}

TEST_SUITE("group: streams")
