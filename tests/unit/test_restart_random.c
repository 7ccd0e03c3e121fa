/* test_restart_random.c - restarts of all, at random (restart_lab.h): nodes crash, the power goes, connections end, disks are lost and rot.
 *
 * Labels: random
 */
#include "tests/support/restart_lab.h"

struct plan {
	const char *what;
	uint32_t nodes, shards;
	int tie_breaker;
	bool crashes, cuts, leaves, loses, rots;
};

static const struct plan plans[] = {
	{"power", 3, 1, -1, false, false, false, false, false},
	{"crashes", 3, 1, -1, true, false, false, false, false},
	{"a tie-breaker", 3, 1, 0, true, true, false, false, false},
	{"cuts", 4, 1, -1, true, true, false, false, false},
	{"two shards", 4, 2, -1, true, true, false, false, false},
	{"leaves", 4, 1, 1, true, true, true, false, false},
	{"lost disks", 4, 1, -1, true, true, false, true, false},
	{"rot", 4, 2, 2, true, true, true, false, true},
};
#define PLANS (sizeof(plans) / sizeof(plans[0]))

#define RUNS 20

static uint64_t seed;
static uint32_t restarts, formed, back;

/* One thing of all that may happen. */
static void happen(struct world *w, const struct plan *plan, uint32_t *faults)
{
	uint32_t id = (uint32_t)roll(w, w->nodes), other = (uint32_t)roll(w, w->nodes);

	switch (roll(w, 16)) {
	case 0:
		if (!w->node[id].up)
			start_node(w, id);
		break;
	case 1:
	case 2:
		send_message(w, id);
		break;
	case 3:
	case 4:
		persist(w, id);
		break;
	case 5:
		if (roll(w, 8) == 0)
			change(w);
		break;
	case 6:
	case 7:
		echo(w, id);
		break;
	case 8:
		install(w, id);
		break;
	case 9:
		mark_whole(w, id);
		take_in(w, id);
		break;
	case 10:
		if (plan->leaves && roll(w, 10) == 0)
			restart_lab_leave(w, id);
		break;
	case 11:
		if (plan->cuts && id != other && roll(w, 8) == 0) {
			w->cut[id][other] = w->cut[other][id] = roll(w, 2) == 0;
			unlink_nodes(w, id, other);
		}
		break;
	case 12:
		if (plan->crashes && roll(w, 15) == 0)
			end_node(w, id);
		break;
	case 13:
		if (roll(w, 40) == 0)
			lose_power(w);
		break;
	case 14:
		if (plan->loses && !w->node[id].up && *faults == 0 && roll(w, 4) == 0) {
			wipe_disk(w, id);
			++*faults;
		}
		break;
	default:
		if (plan->rots && !w->node[id].up && *faults == 0 && roll(w, 4) == 0) {
			w->node[id].disk.rotten = true;
			say_of(w, "-- the log of %u rots", id);
			++*faults;
		}
		break;
	}
}

static void try_plan(const struct plan *plan, uint64_t with)
{
	struct world *w = make_world(with, plan->nodes, plan->shards, plan->tie_breaker);
	uint32_t faults = 0;
	bool is_back;

	for (uint32_t i = 0; i < w->nodes; i++)
		start_node(w, i);
	(void)calm_down(w, WH_NS_PER_S);
	REQUIRE(w, w->formed >= 1, "%s: no group is formed", plan->what);
	for (int step = 0; step < 3000; step++) {
		end_stale(w);
		happen(w, plan, &faults);
		if (roll(w, 2) == 0)
			go_round(w);
	}
	is_back = calm_down(w, 20 * WH_NS_PER_S);
	if (w->verbose && !is_back)
		for (uint32_t i = 0; i < w->nodes; i++) {
			char text[512] = "";

			if (w->node[i].up && w->node[i].view_key == 0)
				wh_join_explain(&w->node[i].join, text, sizeof(text));
			say_of(w, "%u: view %" PRIx64 ", shards %u, whole %d %s", i, w->node[i].view_key,
			       w->node[i].disk.standing.shard_count, is_whole_log(&w->node[i].disk, 0), text);
		}
	REQUIRE(w, is_back || faults > 0, "%s: all come back, and no group does", plan->what);
	restarts += w->restarts;
	formed += w->formed;
	back += is_back;
	free_world(w);
}

TEST_CASE("restart", .timeout_s = 60);

TEST_LOOP(the_group_comes_back, 0, PLANS)
{
	for (uint64_t i = 0; i < RUNS; i++)
		try_plan(&plans[_i], seed + i);
	printf("%s: %u restarts, %u formed, %u are back\n", plans[_i].what, restarts, formed, back);
	ck_assert_uint_gt(restarts, RUNS);
}

TEST_SUITE("restart: random")

int main(void)
{
	seed = test_seed(1);
	return test_main(suite());
}
