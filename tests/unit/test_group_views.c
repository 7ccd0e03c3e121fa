/* test_group_views.c - views that follow one another, as the application sees them: upcalls, members, roles, shards; and
 * the end of those that the others leave behind.
 * Labels: threads
 */
#include <poll.h>

#include "tests/support/group.h"

#define CALLER "[engine]\nthread = caller\n"
#define FAR "failure_timeout_ms = 600000\n" /* no node is overdue */
#define VIEWS_MAX 8

/* What a node has been told of views, and how many messages it had delivered by then. */
struct told {
	whorl_node *node;
	struct record *record;
	atomic_uint count;
	struct seen {
		uint64_t number, number_asked;
		uint32_t members[NODES_MAX], joined[NODES_MAX], left[NODES_MAX];
		uint32_t member_count, joined_count, left_count, rank;
		unsigned long messages;
		enum whorl_result sent;
	} views[VIEWS_MAX];
};

static void see_view(const struct whorl_view *view, void *ctx)
{
	struct told *told = ctx;
	unsigned at = atomic_load(&told->count);
	struct seen *seen = &told->views[at];
	whorl_subgroup *subgroup = whorl_subgroup_find(told->node, "s");

	ck_assert_uint_lt(at, VIEWS_MAX);
	*seen = (struct seen){.number = view->number,
			      .member_count = view->member_count,
			      .joined_count = view->joined_count,
			      .left_count = view->left_count,
			      .rank = view->rank,
			      .messages = recorded(told->record),
			      .number_asked = view_of(told->node)};
	memcpy(seen->members, view->members, view->member_count * sizeof(uint32_t));
	memcpy(seen->joined, view->joined, view->joined_count * sizeof(uint32_t));
	memcpy(seen->left, view->left, view->left_count * sizeof(uint32_t));
	if (subgroup != NULL)
		seen->sent = whorl_send(subgroup, &view->number, sizeof(view->number), 0, NULL);
	atomic_store(&told->count, at + 1);
}

static void tell_views(struct cluster *c, struct told *told)
{
	for (unsigned id = 0; id < c->count; id++) {
		told[id].node = c->nodes[id];
		told[id].record = c->records[id];
		atomic_init(&told[id].count, 0);
		ck_ok(whorl_on_view(c->nodes[id], see_view, &told[id]));
	}
}

static void expect_ids(const uint32_t *ids, uint32_t count, const char *expected)
{
	char text[64] = "";

	for (uint32_t i = 0; i < count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u", i ? "," : "", ids[i]);
	ck_assert_str_eq(text, expected);
}

static void expect_seen(const struct seen *seen, uint64_t number, const char *members, const char *joined,
			const char *left, uint32_t rank)
{
	ck_assert_uint_eq(seen->number, number);
	ck_assert_uint_eq(seen->number_asked, number);
	expect_ids(seen->members, seen->member_count, members);
	expect_ids(seen->joined, seen->joined_count, joined);
	expect_ids(seen->left, seen->left_count, left);
	ck_assert_uint_eq(seen->rank, rank);
	ck_assert_int_eq(seen->sent, WHORL_OK);
}

/* ---- views ------------------------------------------------------------------------------------------------------------- */

TEST_CASE("views", .timeout_s = 60);

TEST(the_first_view_is_told)
{
	struct told told[3];
	uint32_t ids[2] = {77, 77}, count = 1;
	uint64_t number = 77;
	struct cluster c;

	cluster_open(&c, 3, FAR, "[subgroup s]\n" CALLER);
	cluster_record(&c, "s");
	tell_views(&c, told);
	ck_assert_int_eq(whorl_view_members(c.nodes[0], &number, ids, &count), WHORL_AGAIN);
	ck_assert_uint_eq(whorl_node_count(c.nodes[0]), 0);
	cluster_start(&c);
	ck_assert_uint_eq(whorl_node_count(c.nodes[0]), 3);
	ck_assert_int_eq(whorl_on_view(c.nodes[0], see_view, NULL), WHORL_INVALID);
	for (uint32_t id = 0; id < 3; id++) {
		ck_assert_uint_eq(told[id].count, 1);
		expect_seen(&told[id].views[0], 0, "0,1,2", "0,1,2", "", id);
		ck_assert_uint_eq(told[id].views[0].messages, 0);
	}
	ck_ok(whorl_view_members(c.nodes[0], &number, ids, &count));
	ck_assert_uint_eq(number, 0);
	ck_assert_uint_eq(count, 3);
	ck_assert_uint_eq(ids[0], 0);
	ck_assert_uint_eq(ids[1], 77); /* no more than there is room for */
	cluster_free(&c);
}

/* Whichever node leaves, the leader too (_i): the others are told, in between the messages of the two views. */
TEST_LOOP(a_node_that_leaves_is_left_out, 0, 3)
{
	static const char *const members[] = {"1,2", "0,2", "0,1"}, *const left[] = {"0", "1", "2"};
	const unsigned one = _i == 0, other = _i == 2 ? 1 : 2;
	struct whorl_node_stats stats = {.size = sizeof(stats)};
	struct told told[3];
	struct cluster c;

	cluster_open(&c, 3, FAR, "[subgroup s]\n" CALLER);
	cluster_record(&c, "s");
	tell_views(&c, told);
	cluster_start(&c);
	await(all_recorded(c.records, 3, 3), cluster_step(&c)); /* what the upcalls sent */
	cluster_leave(&c, (unsigned)_i);
	cluster_await_view(&c, 1);
	for (uint32_t id = 0, rank = 0; id < 3; id++) {
		if (c.nodes[id] == NULL)
			continue;
		ck_assert_uint_eq(told[id].count, 2);
		expect_seen(&told[id].views[1], 1, members[_i], "", left[_i], rank++);
		ck_assert_uint_eq(told[id].views[1].messages, 3);
		ck_assert_uint_eq(whorl_node_count(c.nodes[id]), 2);
		ck_ok(whorl_error(c.nodes[id], NULL, 0));
	}
	await(recorded(c.records[one]) == 5 && recorded(c.records[other]) == 5, cluster_step(&c));
	records_agree(c.records[one], c.records[other]);
	ck_ok(whorl_node_statistics(c.nodes[one], &stats));
	ck_assert_uint_eq(stats.views, 2);
	for (int stage = 0; stage < WHORL_STAGES; stage++)
		ck_assert_uint_gt(stats.change_ns[stage], stage > 0 ? stats.change_ns[stage - 1] - 1 : 0);
	cluster_free(&c);
}

/* One after the other. The last one is a group of its own: a node that left in order does not count. */
TEST_LOOP(the_last_one_goes_on_alone, 0, 2)
{
	struct told told[4];
	struct cluster c;

	cluster_open(&c, 4, FAR, _i == 1 ? "[subgroup s]\n" : "[subgroup s]\n" CALLER);
	cluster_record(&c, "s");
	tell_views(&c, told);
	cluster_start(&c);
	cluster_await_view(&c, 0);
	for (unsigned id = 0; id < 3; id++) {
		ck_ok(whorl_send(subgroup_of(&c, id, "s"), "x", 1, PATIENCE_MS, NULL));
		cluster_leave(&c, id);
		cluster_await_view(&c, id + 1);
		await(told[3].count == id + 2, sched_yield()); /* its upcall comes a little after */
	}
	ck_ok(whorl_send(subgroup_of(&c, 3, "s"), "last", 4, PATIENCE_MS, NULL));
	ck_ok(whorl_close(c.nodes[3], PATIENCE_MS));
	c.nodes[3] = NULL;
	ck_assert_uint_eq(told[3].count, 4);
	expect_seen(&told[3].views[1], 1, "1,2,3", "", "0", 2);
	expect_seen(&told[3].views[2], 2, "2,3", "", "1", 1);
	expect_seen(&told[3].views[3], 3, "3", "", "2", 0);
	ck_assert_uint_eq(c.records[3]->entries[recorded(c.records[3]) - 1].sender, 3);
	cluster_free(&c);
}

/* ---- nodes that stand still --------------------------------------------------------------------------------------------- */

static void step_others(struct cluster *c, unsigned stalled)
{
	for (unsigned id = 0; id < c->count; id++)
		if (id != stalled && c->nodes[id] != NULL)
			whorl_step(c->nodes[id]);
}

static bool others_have_gone_on(struct cluster *c, unsigned stalled)
{
	for (unsigned id = 0; id < c->count; id++)
		if (id != stalled && view_of(c->nodes[id]) == 0)
			return false;
	return true;
}

/* A node that makes no pass for too long learns that the others have gone on, and delivers nothing more. */
TEST_LOOP(a_node_that_stands_still_is_removed, 0, 3)
{
	const unsigned stalled = (unsigned)_i, other = stalled == 0;
	struct told told[3];
	struct cluster c;
	char text[256];

	cluster_open(&c, 3, "failure_timeout_ms = 50\n", "[subgroup s]\n" CALLER);
	cluster_record(&c, "s");
	tell_views(&c, told);
	cluster_start(&c);
	await(all_recorded(c.records, 3, 3), cluster_step(&c));
	cluster_hush(&c);
	await(others_have_gone_on(&c, stalled), step_others(&c, stalled));
	ck_assert_int_eq(whorl_error(c.nodes[stalled], NULL, 0), WHORL_OK); /* it does not know yet */
	ck_ok(whorl_send(subgroup_of(&c, other, "s"), "x", 1, 0, NULL));
	await(whorl_error(c.nodes[stalled], text, sizeof(text)) == WHORL_REMOVED, whorl_step(c.nodes[stalled]));
	ck_assert_ptr_nonnull(strstr(text, "removed this node from view 0"));
	ck_assert_uint_eq(recorded(c.records[stalled]), 3);
	ck_assert_uint_eq(told[stalled].count, 1);
	ck_assert_uint_eq(view_of(c.nodes[stalled]), 0);
	ck_assert_int_eq(whorl_ready(c.nodes[stalled], 0), WHORL_REMOVED);
	ck_assert_int_eq(whorl_send(subgroup_of(&c, stalled, "s"), "x", 1, 0, NULL), WHORL_REMOVED);
	await(recorded(c.records[other]) == 6, step_others(&c, stalled)); /* two of upcalls, one of mine */
	ck_ok(whorl_error(c.nodes[other], NULL, 0));
	ck_assert_uint_eq(recorded(c.records[stalled]), 3);
	ck_ok(whorl_close(c.nodes[stalled], PATIENCE_MS)); /* it had nothing outstanding */
	c.nodes[stalled] = NULL;
	cluster_free(&c);
}

/* Of two neither goes on without the other; and the one that stood still goes on with it. */
TEST(one_of_two_waits)
{
	struct whorl_claim claim;
	struct cluster c;

	cluster_open(&c, 2, "failure_timeout_ms = 50\n", "[subgroup s]\n" CALLER);
	cluster_record(&c, "s");
	cluster_start(&c);
	ck_ok(whorl_claim(subgroup_of(&c, 0, "s"), 1, &claim));
	await(whorl_error(c.nodes[0], NULL, 0) == WHORL_NO_QUORUM, whorl_step(c.nodes[0]));
	ck_assert_int_eq(whorl_claim(subgroup_of(&c, 0, "s"), 1, &(struct whorl_claim){0}), WHORL_NO_QUORUM);
	ck_assert_int_eq(whorl_send(subgroup_of(&c, 0, "s"), "x", 1, 0, NULL), WHORL_NO_QUORUM);
	ck_assert_int_eq(whorl_commit(&claim, 1), WHORL_PENDING);
	await(whorl_error(c.nodes[0], NULL, 0) == WHORL_OK, cluster_step(&c));
	await(all_recorded(c.records, 2, 1), cluster_step(&c));
	ck_assert_uint_eq(view_of(c.nodes[0]), 0);
	ck_assert_uint_eq(view_of(c.nodes[1]), 0);
	cluster_free(&c);
}

/* With a tie-breaker its side goes on, and only that (_i: which node stands still). */
TEST_LOOP(the_tie_breaker_goes_on_alone, 0, 2)
{
	struct cluster c;

	cluster_open(&c, 2, "failure_timeout_ms = 50\ntie_breaker = 1\n", "[subgroup s]\n" CALLER);
	cluster_record(&c, "s");
	cluster_start(&c);
	if (_i == 1) {
		await(whorl_error(c.nodes[0], NULL, 0) == WHORL_NO_QUORUM, whorl_step(c.nodes[0]));
		await(whorl_error(c.nodes[0], NULL, 0) == WHORL_OK, cluster_step(&c));
		ck_assert_uint_eq(view_of(c.nodes[0]), 0);
	}
	await(view_of(c.nodes[1]) == 1, whorl_step(c.nodes[1]));
	ck_ok(whorl_send(subgroup_of(&c, 1, "s"), "x", 1, 0, NULL));
	await(recorded(c.records[1]) == 1, whorl_step(c.nodes[1]));
	await(whorl_error(c.nodes[0], NULL, 0) == WHORL_REMOVED, cluster_step(&c));
	ck_assert_uint_eq(recorded(c.records[0]), 0);
	ck_ok(whorl_error(c.nodes[1], NULL, 0));
	cluster_free(&c);
}

/* ---- shards -------------------------------------------------------------------------------------------------------------- */

static struct whorl_subgroup_info info_of(whorl_subgroup *subgroup)
{
	struct whorl_subgroup_info info = {.size = sizeof(info)};

	ck_ok(whorl_subgroup_describe(subgroup, &info));
	return info;
}

TEST(shards_live_as_long_as_their_members)
{
	struct whorl_subgroup_info info;
	struct cluster c;

	cluster_open(&c, 4, FAR, "[subgroup s]\nshards = 2\nsenders = one\n" CALLER);
	cluster_record(&c, "s");
	cluster_start(&c);
	for (unsigned id = 0; id < 4; id++) {
		info = info_of(subgroup_of(&c, id, "s"));
		ck_assert_uint_eq(info.shard, id / 2);
		ck_assert_uint_eq(info.shards, 2);
		ck_assert_uint_eq(info.members, 2);
		ck_assert_uint_eq(info.senders, 1);
		ck_assert_int_eq(info.sender, id % 2 == 0 ? 0 : -1);
		ck_assert_int_eq(info.condition, WHORL_SHARD_ACTIVE);
	}
	ck_ok(whorl_send(subgroup_of(&c, 0, "s"), "a", 1, 0, NULL));
	ck_ok(whorl_send(subgroup_of(&c, 2, "s"), "b", 1, 0, NULL));
	ck_assert_int_eq(whorl_send(subgroup_of(&c, 3, "s"), "b", 1, 0, NULL), WHORL_NOT_SENDER);
	await(all_recorded(c.records, 4, 1), cluster_step(&c));
	cluster_leave(&c, 2);
	cluster_await_view(&c, 1);
	ck_assert_int_eq(info_of(subgroup_of(&c, 3, "s")).sender, 0); /* it has taken over */
	ck_ok(whorl_send(subgroup_of(&c, 3, "s"), "c", 1, 0, NULL));
	await(recorded(c.records[3]) == 2, cluster_step(&c));
	ck_ok(whorl_shard_state(c.nodes[0], "s", 1));
	cluster_leave(&c, 3);
	cluster_await_view(&c, 2);
	for (unsigned id = 0; id < 2; id++) {
		ck_ok(whorl_shard_state(c.nodes[id], "s", 0));
		ck_assert_int_eq(whorl_shard_state(c.nodes[id], "s", 1), WHORL_SHARD_LOST);
		ck_assert_int_eq(whorl_shard_state(c.nodes[id], "s", 2), WHORL_NOT_FOUND);
		ck_assert_int_eq(whorl_shard_state(c.nodes[id], "t", 0), WHORL_NOT_FOUND);
	}
	ck_ok(whorl_send(subgroup_of(&c, 0, "s"), "d", 1, 0, NULL));
	await(all_recorded(c.records, 2, 2), cluster_step(&c));
	records_agree(c.records[0], c.records[1]);
	cluster_free(&c);
}

/* Below its minimum a shard waits: nothing is sent in it, and nothing is thrown away. */
TEST(a_shard_that_is_too_small_waits)
{
	struct whorl_claim claim;
	whorl_subgroup *s;
	struct cluster c;
	struct pollfd fd;

	cluster_open(&c, 3, FAR, "[subgroup s]\nmembers_min = 3\n[subgroup t]\n" CALLER);
	cluster_record(&c, "s");
	cluster_start(&c);
	s = subgroup_of(&c, 0, "s");
	ck_ok(whorl_claim(s, 1, &claim));
	cluster_leave(&c, 2);
	cluster_await_view(&c, 1);
	ck_assert_int_eq(info_of(s).condition, WHORL_SHARD_INACTIVE);
	ck_assert_int_eq(whorl_shard_state(c.nodes[0], "s", 0), WHORL_AGAIN);
	ck_assert_int_eq(whorl_send(s, "x", 1, 0, NULL), WHORL_AGAIN);
	ck_assert_int_eq(whorl_send(s, "x", 1, 20, NULL), WHORL_TIMEOUT);
	ck_assert_int_eq(whorl_window_arm(s), WHORL_AGAIN);
	fd = (struct pollfd){.fd = whorl_window_fd(s), .events = POLLIN};
	ck_assert_int_eq(poll(&fd, 1, 0), 0);
	ck_ok(whorl_commit(&claim, 1)); /* it may be delivered yet */
	ck_ok(whorl_send(subgroup_of(&c, 0, "t"), "x", 1, 0, NULL));
	await(stats_of(subgroup_of(&c, 1, "t")).delivered == 1, cluster_step(&c));
	ck_assert_uint_eq(recorded(c.records[0]), 0);
	ck_assert_uint_eq(stats_of(s).dropped, 0);
	ck_assert_int_eq(whorl_close(c.nodes[0], 20), WHORL_TIMEOUT);
	c.nodes[0] = NULL;
	cluster_free(&c);
}

/* ---- the application's layout ---------------------------------------------------------------------------------------------- */

/* Roles by view: [view][node], one character each: . - nothing, m - member, s - sender. */
static enum whorl_role lay_out(const struct whorl_view *view, const char *subgroup, uint32_t shard, uint32_t id,
			       void *ctx)
{
	const char *const *roles = ctx;

	ck_assert_str_eq(subgroup, "s");
	ck_assert_uint_eq(shard, 0);
	ck_assert_uint_lt(view->number, VIEWS_MAX);
	if (roles[view->number] == NULL)
		return WHORL_SENDER;
	return roles[view->number][id] == 's'   ? WHORL_SENDER
	       : roles[view->number][id] == 'm' ? WHORL_MEMBER
						: WHORL_NO_MEMBER;
}

static void open_with(struct cluster *c, const char *const *roles, struct whorl_open_options *options)
{
	*options = (struct whorl_open_options){
		.size = sizeof(*options), .layout = lay_out, .layout_ctx = (void *)(uintptr_t)roles};
	cluster_configure(c, 4, FAR, "[subgroup s]\nwindow = 4\nmembers = function\n" CALLER);
	c->options = options;
	for (unsigned id = 0; id < 4; id++)
		cluster_open_node(c, id);
	cluster_record(c, "s");
	cluster_start(c);
}

TEST(a_layout_that_the_program_does_not_give)
{
	struct cluster c;

	cluster_configure(&c, 4, FAR, "[subgroup s]\nmembers = function\n" CALLER);
	ck_assert_int_eq(whorl_open(c.config, 0, NULL, &c.nodes[0]), WHORL_CONFIG);
	ck_assert_ptr_nonnull(strstr(whorl_config_error(c.config), "members = function, and the program gives none"));
	ck_assert_ptr_null(c.nodes[0]);
	cluster_free(&c);
}

/* Members come and go as it says; a newcomer begins with the messages of that view. */
TEST(members_by_the_programs_layout)
{
	static const char *const roles[VIEWS_MAX] = {"ss..", "smm.", ".sm."};
	struct whorl_open_options options;
	whorl_subgroup *s;
	struct cluster c;

	open_with(&c, roles, &options);
	s = subgroup_of(&c, 2, "s"); /* it may become a member */
	ck_assert_int_eq(info_of(s).condition, WHORL_SHARD_GONE);
	ck_assert_int_eq(info_of(s).sender, -1);
	ck_assert_int_eq(whorl_send(s, "x", 1, 0, NULL), WHORL_NOT_SENDER);
	ck_assert_int_eq(whorl_window_fd(s), -1);
	ck_assert_int_eq(whorl_window_arm(s), WHORL_NOT_SENDER);
	for (unsigned i = 0; i < 6; i++)
		ck_ok(whorl_send(subgroup_of(&c, i % 2, "s"), "first", 5, PATIENCE_MS, NULL));
	await(all_recorded(c.records, 2, 6), cluster_step(&c));
	cluster_leave(&c, 3);
	cluster_await_view(&c, 1);
	ck_assert_int_eq(info_of(s).condition, WHORL_SHARD_ACTIVE);
	ck_assert_uint_eq(info_of(s).members, 3);
	ck_assert_int_eq(whorl_send(s, "x", 1, 0, NULL), WHORL_NOT_SENDER);
	ck_assert_int_eq(whorl_send(subgroup_of(&c, 1, "s"), "x", 1, 0, NULL), WHORL_NOT_SENDER);
	ck_ok(whorl_send(subgroup_of(&c, 0, "s"), "second", 6, 0, NULL));
	await(recorded(c.records[2]) == 1 && all_recorded(c.records, 2, 7), cluster_step(&c));
	ck_assert_mem_eq(&c.records[2]->entries[0], &c.records[1]->entries[6], sizeof(struct entry));
	ck_assert_uint_eq(c.records[2]->entries[0].index, 3); /* of node 0's messages */
	cluster_leave(&c, 0);
	cluster_await_view(&c, 2);
	ck_ok(whorl_send(subgroup_of(&c, 1, "s"), "third", 5, 0, NULL)); /* a sender again */
	await(recorded(c.records[2]) == 2 && recorded(c.records[1]) == 8, cluster_step(&c));
	ck_assert_mem_eq(&c.records[2]->entries[1], &c.records[1]->entries[7], sizeof(struct entry));
	ck_assert_uint_eq(c.records[2]->entries[1].index, 3);
	cluster_free(&c);
}

/* A shard may be too small, or without a sender, from the first view on. */
TEST_LOOP(a_shard_that_waits_from_the_beginning, 0, 2)
{
	static const char *const senders[VIEWS_MAX] = {"mm..", "sm.."}, *const small[VIEWS_MAX] = {"....", "ss.."};
	struct whorl_open_options options;
	struct cluster c;

	open_with(&c, _i == 0 ? senders : small, &options);
	ck_assert_int_eq(whorl_shard_state(c.nodes[0], "s", 0), WHORL_AGAIN);
	ck_assert_int_eq(info_of(subgroup_of(&c, 0, "s")).condition, _i == 0 ? WHORL_SHARD_INACTIVE : WHORL_SHARD_GONE);
	cluster_leave(&c, 3);
	cluster_await_view(&c, 1);
	ck_ok(whorl_shard_state(c.nodes[2], "s", 0));
	ck_ok(whorl_send(subgroup_of(&c, 0, "s"), "x", 1, 0, NULL));
	await(all_recorded(c.records, 2, 1), cluster_step(&c));
	records_agree(c.records[0], c.records[1]);
	cluster_free(&c);
}

TEST_SUITE("group: views")
