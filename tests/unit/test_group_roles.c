/* test_group_roles.c - what becomes of what a sender has claimed when the layout function says that it is to send no more. One thread
 * makes all passes, so that each step is seen.
 * Labels: threads
 */
#include "tests/support/group.h"

/* Node 1 sends in views of so many members; all others always. With OUT it is no member in smaller ones. */
struct rule {
	uint32_t members;
	bool takes_out, rotates; /* rotates: one sends, another one in each view */
};

static enum whorl_role role_of(const struct whorl_view *view, const char *name, uint32_t shard, uint32_t id, void *ctx)
{
	const struct rule *rule = ctx;

	(void)name;
	(void)shard;
	if (rule->rotates)
		return view->members[view->number % view->member_count] == id ? WHORL_SENDER : WHORL_MEMBER;
	if (id != 1 || view->member_count >= rule->members)
		return WHORL_SENDER;
	return rule->takes_out ? WHORL_NO_MEMBER : WHORL_MEMBER;
}

struct gone {
	unsigned calls;
	uint64_t first, end, view;
	whorl_node *node;
};

static void note_gone(whorl_subgroup *subgroup, uint64_t first, uint64_t end, void *ctx)
{
	struct gone *gone = ctx;

	ck_assert_ptr_eq(subgroup, whorl_subgroup_find(gone->node, "s"));
	gone->calls++;
	gone->first = first;
	gone->end = end;
	gone->view = view_of(gone->node);
}

static struct gone told;

static void open_with_rule(struct cluster *c, unsigned nodes, struct rule *rule, const char *lines)
{
	static struct whorl_open_options options;
	char text[256];

	options = (struct whorl_open_options){.size = sizeof(options), .layout = role_of, .layout_ctx = rule};
	snprintf(text, sizeof(text), "[subgroup s]\nmembers = function\n%s[engine]\nthread = caller\n", lines);
	cluster_configure(c, nodes, "failure_timeout_ms = 600000\n", text);
	c->options = &options;
	for (unsigned id = 0; id < nodes; id++)
		cluster_open_node(c, id);
	cluster_record(c, "s");
	told = (struct gone){.node = c->nodes[1]};
	ck_ok(whorl_on_gone(subgroup_of(c, 1, "s"), note_gone, &told));
	cluster_start(c);
	ck_assert_int_eq(whorl_on_gone(subgroup_of(c, 1, "s"), note_gone, &told), WHORL_INVALID);
}

static enum whorl_result claim_one(struct cluster *c, struct whorl_claim *claim)
{
	return whorl_claim(subgroup_of(c, 1, "s"), 1, claim);
}

static bool is_sender(struct cluster *c, unsigned id)
{
	struct whorl_subgroup_info info = {.size = sizeof(info)};

	ck_ok(whorl_subgroup_describe(subgroup_of(c, id, "s"), &info));
	return info.sender >= 0;
}

static void commit_x(struct whorl_claim *claim)
{
	memset(claim->data, 'x', 1);
	ck_ok(whorl_commit(claim, 1));
}

static bool view_is(struct cluster *c, unsigned id, uint64_t number)
{
	return view_of(c->nodes[id]) == number;
}

TEST_CASE("roles", .timeout_s = 60);

/* What it has committed is behind an open claim, and cannot leave before its role is over. It goes on until that is finished; only then
 * the next view comes. */
TEST_LOOP(an_accepted_commit_is_delivered, 0, 2)
{
	struct rule rule = {.members = 3};
	struct whorl_claim open, committed, more;
	struct cluster c;

	open_with_rule(&c, 3, &rule, _i == 0 ? "" : "mode = unordered\n");
	ck_ok(claim_one(&c, &open));
	ck_ok(claim_one(&c, &committed));
	commit_x(&committed);
	cluster_leave(&c, 2);
	await(view_is(&c, 0, 1) && view_is(&c, 1, 1), cluster_step(&c));
	cluster_hush(&c);
	ck_assert(is_sender(&c, 1));
	ck_assert_int_eq(claim_one(&c, &more), WHORL_NOT_SENDER);
	ck_assert_int_eq(whorl_window_fd(subgroup_of(&c, 1, "s")), -1);
	ck_assert(view_is(&c, 0, 1));
	commit_x(&open);
	await(all_recorded(c.records, 2, 2) && view_is(&c, 0, 2) && view_is(&c, 1, 2), cluster_step(&c));
	ck_assert(!is_sender(&c, 1));
	ck_assert(is_sender(&c, 0));
	ck_assert_int_eq(claim_one(&c, &more), WHORL_NOT_SENDER);
	ck_assert_uint_eq(stats_of(subgroup_of(&c, 1, "s")).dropped, 0);
	ck_assert_uint_eq(told.calls, 0);
	cluster_hush(&c);
	ck_assert(view_is(&c, 0, 2));
	cluster_free(&c);
}

/* A failure waits for no sender's open claim, nor does a sender that ends lose anything by it. */
TEST(a_failure_does_not_wait_for_a_sender_that_ends)
{
	struct rule rule = {.members = 4};
	struct whorl_claim open;
	struct cluster c;

	open_with_rule(&c, 4, &rule, "");
	ck_ok(claim_one(&c, &open));
	cluster_leave(&c, 3);
	await(view_is(&c, 0, 1) && view_is(&c, 1, 1) && view_is(&c, 2, 1), cluster_step(&c));
	cluster_leave(&c, 2);
	await(view_is(&c, 0, 2) && view_is(&c, 1, 2), cluster_step(&c));
	ck_assert(is_sender(&c, 1));
	commit_x(&open);
	await(all_recorded(c.records, 2, 1) && view_is(&c, 0, 3), cluster_step(&c));
	ck_assert_uint_eq(told.calls, 0);
	cluster_free(&c);
}

/* It is made a sender again before it has ended: as if nothing had been. */
TEST(a_sender_that_ends_is_made_a_sender_again)
{
	struct rule rule = {.members = 4};
	struct whorl_claim open, more;
	struct cluster c;

	open_with_rule(&c, 4, &rule, "");
	ck_ok(claim_one(&c, &open));
	cluster_leave(&c, 3);
	await(view_is(&c, 0, 1) && view_is(&c, 1, 1) && view_is(&c, 2, 1), cluster_step(&c));
	ck_assert_int_eq(claim_one(&c, &more), WHORL_NOT_SENDER);
	rule.members = 2;
	cluster_leave(&c, 2);
	await(view_is(&c, 0, 2) && view_is(&c, 1, 2), cluster_step(&c));
	ck_ok(claim_one(&c, &more));
	commit_x(&more);
	commit_x(&open);
	await(all_recorded(c.records, 2, 2), cluster_step(&c));
	cluster_hush(&c);
	ck_assert(view_is(&c, 0, 2));
	cluster_free(&c);
}

/* The third case: no member is left that it could send to. Its program is told, after the view. */
TEST_LOOP(a_node_that_is_taken_out_is_told_what_is_gone, 0, 2)
{
	struct rule rule = {.members = 3, .takes_out = true};
	struct whorl_claim claims[4];
	struct cluster c;

	open_with_rule(&c, 3, &rule, _i == 0 ? "" : "mode = unordered\n");
	for (unsigned i = 0; i < 4; i++)
		ck_ok(claim_one(&c, &claims[i]));
	commit_x(&claims[0]);
	await(all_recorded(c.records, 3, 1), cluster_step(&c));
	cluster_hush(&c);
	commit_x(&claims[2]);
	ck_ok(whorl_abort(&claims[3]));
	cluster_leave(&c, 2);
	await(view_is(&c, 0, 1) && view_is(&c, 1, 1), cluster_step(&c));
	ck_assert_uint_eq(told.calls, 1);
	ck_assert_uint_eq(told.first, 1);
	ck_assert_uint_eq(told.end, 4);
	ck_assert_uint_eq(told.view, 1);
	ck_assert_int_eq(whorl_commit(&claims[1], 1), WHORL_NOT_SENDER);
	ck_assert_uint_eq(stats_of(subgroup_of(&c, 1, "s")).dropped, 3);
	cluster_hush(&c);
	ck_assert_uint_eq(recorded(c.records[0]), 1);
	ck_assert(view_is(&c, 0, 1));
	cluster_free(&c);
}

/* A function that says something else in each view is not asked in one that ends a sender: or there would be no end of views. */
TEST(a_function_of_the_number_comes_to_rest)
{
	struct rule rule = {.rotates = true};
	struct cluster c;

	open_with_rule(&c, 3, &rule, "");
	cluster_leave(&c, 2);
	await(view_is(&c, 0, 2) && view_is(&c, 1, 2), cluster_step(&c));
	ck_assert(!is_sender(&c, 0));
	ck_assert(is_sender(&c, 1)); /* as it was asked for view 1 */
	cluster_hush(&c);
	ck_assert(view_is(&c, 0, 2) && view_is(&c, 1, 2));
	cluster_free(&c);
}

TEST_SUITE("group: roles")
