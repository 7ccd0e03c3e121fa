/* test_group_position.c - which nodes the position of a state names: what a giver says is in the state, and what is not.
 * Labels: threads
 */
#include "group/node_int.h"
#include "state/state_int.h"
#include "tests/support/empty_state.h"
#include "tests/support/group.h"

static bool restore(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	(void)step;
	(void)bytes;
	(void)count;
	(void)ctx;
	return true;
}

static enum whorl_role two_send(const struct whorl_view *view, const char *name, uint32_t shard, uint32_t id, void *ctx)
{
	(void)view;
	(void)name;
	(void)shard;
	(void)ctx;
	return id < 2 ? WHORL_SENDER : WHORL_NO_MEMBER;
}

TEST_CASE("position", .timeout_s = 60);

/* Unordered, any member of the view may have sent there, or send there later, and may not have been heard: the whole view is named.
 * Ordered, the senders are enough. */
TEST_LOOP(unordered_all_of_the_view_is_named, 0, 2)
{
	const struct whorl_open_options options = {.size = sizeof(options), .layout = two_send};
	const struct wh_state *state;
	struct wh_position position;
	struct cluster c;
	uint64_t view;
	uint32_t shard;
	static int something;

	cluster_configure(&c, 3, "failure_timeout_ms = 600000\n",
			  _i == 0 ? "[subgroup s]\nmembers = function\n[engine]\nthread = caller\n"
				  : "[subgroup s]\nmembers = function\nmode = unordered\n[engine]\nthread = caller\n");
	c.options = &options;
	for (unsigned id = 0; id < 3; id++) {
		cluster_open_node(&c, id);
		ck_ok(whorl_on_state(subgroup_of(&c, id, "s"), &(struct whorl_state){.size = sizeof(struct whorl_state),
										     .snapshot = take_snapshot,
										     .read = read_snapshot,
										     .release = release_snapshot,
										     .restore = restore,
										     .ctx = &something}));
	}
	cluster_start(&c);
	state = subgroup_of(&c, 0, "s")->state;
	ck_assert(state->hooks.position(state->hooks.ctx, &position, &view, &shard));
	ck_assert_uint_eq(view, 0);
	ck_assert_uint_eq(position.count, _i == 0 ? 2 : 3);
	for (uint32_t i = 0; i < position.count; i++) {
		ck_assert_uint_eq(position.of[i].id, i);
		ck_assert_uint_eq(position.of[i].next, 0);
	}
	cluster_free(&c);
}

TEST_SUITE("group: position")
