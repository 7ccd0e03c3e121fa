/* test_group_starved.c - a loop that does not get a processor when it should: late, and nothing worse.
 *
 * Labels: threads
 */
#include <poll.h>
#include <sched.h>

#include <whorl/whorl.h>

#include "base/atomics.h"
#include "group/node.h"
#include "tests/harness.h"
#include "tests/unit/own_wait.h"

#define LATE_MS 80 /* a loop that was rung gets its turn so much later */
#define PATIENCE_MS 20000

static wh_word asleep; /* in wait, and not rung */

static void own_wait(struct wh_transport *transport, uint64_t timeout_ns)
{
	wh_store_release(&asleep, 1);
	real_wait(transport, timeout_ns);
	wh_store_release(&asleep, 0);
	poll(NULL, 0, LATE_MS);
}

static whorl_node *open_node(uint32_t id, int64_t window, wh_transport_create *create)
{
	const struct wh_group_options group = {
		.name = "starved", .nodes = 2, .failure_timeout_ms = PATIENCE_MS, .memory_max = 1 << 30};
	whorl_node *node = open_on(create, id, &group, WH_SUBGROUP_ORDERED, window);

	ck_assert_int_eq(whorl_start(node), WHORL_OK);
	return node;
}

TEST_CASE("starved", .timeout_s = 60);

/* The group has failed, and node 0, which has a loop that sleeps, has nothing to drain. That its loop is slow to say so is
 * no reason to give up on it. */
TEST(a_late_loop_drains)
{
	whorl_node *late = open_node(0, 4, create_own_wait), *other = open_node(1, 5, wh_shm_create);

	ck_assert_int_eq(whorl_ready(late, PATIENCE_MS), WHORL_REFUSED);
	ck_assert_int_eq(whorl_close(other, PATIENCE_MS), WHORL_OK);
	while (wh_load_acquire(&asleep) == 0)
		sched_yield();
	ck_assert_int_eq(whorl_close(late, PATIENCE_MS), WHORL_OK);
}

TEST_SUITE("group_starved")
