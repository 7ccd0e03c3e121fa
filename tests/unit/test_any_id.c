/* test_any_id.c - ids for nodes to which any is right: in which order they are tried, and what whorl_open makes of them.
 * (Many processes at once: tests/processes/ids.c.)
 * Labels: threads
 */
#include "group/config/any_id.h"
#include "tests/support/group.h"

#define IDS 5

/* ---- the order ------------------------------------------------------------------------------------------------------- */

struct desk { /* what gives out ids */
	struct wh_node_config config;
	bool taken[IDS];
	uint32_t tried[3 * IDS], count;
	/* Behind the try with this number, from 1, that id is let go of, and that one is taken. */
	uint32_t moves_behind, freed, filled;
	enum whorl_result fails; /* instead of giving one */
	uint32_t first[IDS];
	size_t first_count;
};

static enum whorl_result take(void *ctx, uint32_t id, struct wh_error *err)
{
	struct desk *desk = ctx;
	bool was_taken = desk->taken[id];

	ck_assert_uint_lt(desk->count, 3 * IDS);
	desk->tried[desk->count++] = id;
	if (desk->count == desk->moves_behind) {
		desk->taken[desk->freed] = false;
		desk->taken[desk->filled] = true;
	}
	if (was_taken)
		return WHORL_AGAIN;
	return desk->fails == WHORL_OK ? WHORL_OK : wh_error_set(err, desk->fails, "no descriptors");
}

static struct desk desk_of(int nodes, const char *founder)
{
	struct desk desk = {.config = {.group = {.nodes = nodes, .nodes_max = IDS, .name = "desk"}}};

	snprintf(desk.config.group.founder, sizeof(desk.config.group.founder), "%s", founder);
	return desk;
}

static enum whorl_result ask(struct desk *desk, uint64_t random, uint32_t *id, struct wh_error *err)
{
	desk->count = 0;
	return wh_any_id(&(struct wh_any_id){.config = &desk->config,
					     .first = desk->first,
					     .first_count = desk->first_count,
					     .random = random,
					     .take = take,
					     .ctx = desk},
			 id, err);
}

/* What is tried if everything is taken: each id, and then once more. */
static void expect_order(int nodes, const char *founder, uint64_t random, const char *order)
{
	struct desk desk = desk_of(nodes, founder);
	struct wh_error err;
	uint32_t id;

	memset(desk.taken, true, sizeof(desk.taken));
	ck_assert_int_eq(ask(&desk, random, &id, &err), WHORL_REFUSED);
	ck_assert_str_eq(err.text, "no id is free: processes hold all 5 of group desk");
	ck_assert_uint_eq(desk.count, 2 * IDS);
	for (uint32_t i = 0; i < 2 * IDS; i++)
		ck_assert_msg(desk.tried[i] == (uint32_t)(order[i % IDS] - '0'), "%d %s %u: at %u %u", nodes, founder,
			      (unsigned)random, i, desk.tried[i]);
}

TEST_CASE("order");

TEST(all_ids_are_tried_from_a_random_place_on)
{
	/* Those that count for the first view come first; */
	expect_order(2, "none", 0, "01234");
	expect_order(2, "none", 1, "10234");
	expect_order(2, "none", 3 + 5 * 77, "01342");
	expect_order(5, "none", 4, "40123");
	/* with a founder those that are not named, and it comes last; */
	expect_order(2, "1", 0, "23401");
	expect_order(3, "0", 4, "43120");
	expect_order(2, "4", 3, "32014");
	/* where no node is named the first process is the founder. */
	expect_order(0, "none", 0, "01234");
	expect_order(0, "none", 3, "03412");
	expect_order(0, "2", 1, "13402");
}

/* Directories that have logs: before all others, in their order; and no id is left out for them. */
TEST(directories_come_first)
{
	struct desk desk = desk_of(5, "none");
	struct wh_error err;
	uint32_t id;

	desk.first[0] = 3;
	desk.first[1] = 1;
	desk.first_count = 2;
	ck_assert_int_eq(ask(&desk, 0, &id, &err), WHORL_OK);
	ck_assert_uint_eq(id, 3);
	desk.taken[3] = true;
	ck_assert_int_eq(ask(&desk, 0, &id, &err), WHORL_OK);
	ck_assert_uint_eq(id, 1);
	desk.taken[1] = true;
	ck_assert_int_eq(ask(&desk, 4, &id, &err), WHORL_OK);
	ck_assert_uint_eq(id, 4);
	desk.fails = WHORL_SYSTEM;
	desk.taken[3] = false;
	ck_assert_int_eq(ask(&desk, 4, &id, &err), WHORL_SYSTEM);
	ck_assert_uint_eq(desk.count, 1);
}

TEST(what_is_free_is_found)
{
	struct desk desk = desk_of(2, "none");
	struct wh_error err;
	uint32_t id;

	for (uint32_t free = 0; free < IDS; free++)
		for (uint64_t random = 0; random < IDS; random++) {
			memset(desk.taken, true, sizeof(desk.taken));
			desk.taken[free] = false;
			ck_assert_int_eq(ask(&desk, random, &id, &err), WHORL_OK);
			ck_assert_uint_eq(id, free);
		}
}

/* At any moment one is free, and the first pass is always too late. */
TEST(what_is_free_and_moves_is_found_too)
{
	struct desk desk = desk_of(5, "none");
	struct wh_error err;
	uint32_t id;

	memset(desk.taken, true, sizeof(desk.taken));
	desk.taken[4] = false;
	desk.moves_behind = 4; /* it has looked at 0 to 3 */
	desk.freed = 1;
	desk.filled = 4;
	ck_assert_int_eq(ask(&desk, 0, &id, &err), WHORL_OK);
	ck_assert_uint_eq(id, 1);
	ck_assert_uint_eq(desk.count, IDS + 2);
}

TEST(what_else_is_wrong_is_told_at_once)
{
	struct desk desk = desk_of(5, "none");
	struct wh_error err;
	uint32_t id;

	desk.taken[0] = true;
	desk.fails = WHORL_SYSTEM;
	ck_assert_int_eq(ask(&desk, 0, &id, &err), WHORL_SYSTEM);
	ck_assert_str_eq(err.text, "no descriptors");
	ck_assert_uint_eq(desk.count, 2);
}

/* ---- nodes ----------------------------------------------------------------------------------------------------------- */

#define SUBGROUP "[subgroup s]\nwindow = 1\nmessage_bytes = 8\n"

static whorl_config *config_of(const char *group, const char *rest)
{
	whorl_config *config = whorl_config_new();
	char text[512], name[64];

	snprintf(text, sizeof(text), "[group]\nname = %s\n%s\n%s", group_name(name, sizeof(name)), group, rest);
	ck_assert_ptr_nonnull(config);
	ck_assert_msg(whorl_config_load_text(config, "t", text) == WHORL_OK, "%s", whorl_config_error(config));
	return config;
}

static whorl_node *open_any(whorl_config *config)
{
	whorl_node *node;

	ck_assert_msg(whorl_open(config, WHORL_ANY_ID, NULL, &node) == WHORL_OK, "%s", whorl_config_error(config));
	return node;
}

static void expect_error(const whorl_config *config, const char *words)
{
	ck_assert_msg(strstr(whorl_config_error(config), words) != NULL, "%s", whorl_config_error(config));
}

static uint32_t count_of(const whorl_node *node)
{
	uint32_t count = 0;

	return whorl_view_members(node, NULL, NULL, &count) == WHORL_OK ? count : 0;
}

TEST_CASE("nodes", .timeout_s = 60);

/* Each that is open has an id of its own; one that is closed lets go of it. */
TEST(ids_are_given_out_until_none_is_free)
{
	whorl_config *config = config_of("nodes = 2\nnodes_max = 3", SUBGROUP);
	whorl_node *nodes[3], *one_more;
	uint32_t seen = 0;

	for (int i = 0; i < 3; i++) {
		nodes[i] = open_any(config);
		seen |= 1U << whorl_node_id(nodes[i]);
		ck_assert_msg(i != 1 || seen == 3, "%u", seen); /* configured ones first */
	}
	ck_assert_uint_eq(seen, 7);
	ck_assert_int_eq(whorl_open(config, WHORL_ANY_ID, NULL, &one_more), WHORL_REFUSED);
	ck_assert_ptr_null(one_more);
	expect_error(config, "no id is free");
	seen = whorl_node_id(nodes[1]);
	ck_ok(whorl_close(nodes[1], 0));
	nodes[1] = open_any(config);
	ck_assert_uint_eq(whorl_node_id(nodes[1]), seen);
	for (int i = 0; i < 3; i++)
		ck_ok(whorl_start(nodes[i]));
	for (int i = 0; i < 3; i++)
		ck_ok(whorl_ready(nodes[i], PATIENCE_MS));
	await(count_of(nodes[0]) == 3, sched_yield());
	for (int i = 0; i < 3; i++)
		ck_ok(whorl_close(nodes[i], 0));
	whorl_config_free(config);
}

/* A node that could not be opened keeps no id. */
TEST(what_fails_lets_go_of_its_id)
{
	whorl_config *config = config_of("nodes = 0\nnodes_max = 1\nmemory_max = 1m",
					 "[subgroup s]\nwindow = 100\nmessage_bytes = 1m\n");
	whorl_node *node;

	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(whorl_open(config, WHORL_ANY_ID, NULL, &node), WHORL_MEMORY);
	ck_ok(whorl_config_set(config, "group.memory_max=1g"));
	node = open_any(config);
	ck_assert_uint_eq(whorl_node_id(node), 0);
	ck_ok(whorl_close(node, 0));
	whorl_config_free(config);
}

/* The file names no nodes: the first process forms the group, alone; others join it, also with ids that they have chosen. */
TEST(the_first_forms_a_group_that_names_no_nodes)
{
	whorl_config *config = config_of("nodes = 0\nnodes_max = 9", SUBGROUP);
	whorl_node *first = open_any(config), *second, *third;

	ck_assert_uint_eq(whorl_node_id(first), 0);
	ck_ok(whorl_start(first));
	ck_ok(whorl_ready(first, PATIENCE_MS));
	ck_assert_uint_eq(count_of(first), 1);
	second = open_any(config);
	ck_assert_uint_ne(whorl_node_id(second), 0);
	ck_ok(whorl_start(second));
	ck_ok(whorl_ready(second, PATIENCE_MS));
	ck_ok(whorl_open(config, whorl_node_id(second) == 8 ? 7 : 8, NULL, &third));
	ck_ok(whorl_start(third));
	ck_ok(whorl_ready(third, PATIENCE_MS));
	await(count_of(first) == 3, sched_yield());
	/* Without it the others go on, and the next that gets its id joins them. */
	ck_ok(whorl_close(first, PATIENCE_MS));
	await(count_of(third) == 2, sched_yield());
	first = open_any(config);
	ck_assert_uint_eq(whorl_node_id(first), 0);
	ck_ok(whorl_start(first));
	ck_ok(whorl_ready(first, PATIENCE_MS));
	await(count_of(third) == 3, sched_yield());
	ck_ok(whorl_close(first, 0));
	ck_ok(whorl_close(second, 0));
	ck_ok(whorl_close(third, 0));
	whorl_config_free(config);
}

TEST(other_ids_wait_for_the_first)
{
	whorl_config *config = config_of("nodes = 0\nnodes_max = 2", SUBGROUP);
	whorl_node *second, *first;
	char text[256] = "";

	ck_ok(whorl_open(config, 1, NULL, &second));
	ck_ok(whorl_start(second));
	await(strstr(text, "waits for node 0, which forms the group") != NULL,
	      whorl_progress(second, text, sizeof(text)));
	first = open_any(config);
	ck_ok(whorl_start(first));
	ck_ok(whorl_ready(second, PATIENCE_MS));
	ck_ok(whorl_ready(first, PATIENCE_MS));
	ck_ok(whorl_close(first, 0));
	ck_ok(whorl_close(second, 0));
	whorl_config_free(config);
}

/* On a network an id is an address, which others call. */
TEST(an_id_of_a_network_is_chosen)
{
	static const char *const transports[] = {"tcp", "sim"};

	for (size_t i = 0; i < sizeof(transports) / sizeof(transports[0]); i++) {
		char group[64];
		whorl_config *config;
		whorl_node *node;

		snprintf(group, sizeof(group), "nodes = 2\ntransport = %s", transports[i]);
		config = config_of(group, SUBGROUP);
		ck_assert_int_eq(whorl_open(config, WHORL_ANY_ID, NULL, &node), WHORL_UNSUPPORTED);
		ck_assert_ptr_null(node);
		ck_assert_str_ne(whorl_config_error(config), "");
		if (i == 0)
			expect_error(config, "an id is an address, expected one from 0 to 1");
		whorl_config_free(config);
	}
}

TEST(what_is_no_id)
{
	const struct whorl_open_options told = {.size = sizeof(told), .form = true}, none = {.size = 0};
	whorl_config *config = config_of("nodes = 0\nnodes_max = 2", SUBGROUP);
	whorl_node *node;
	uint64_t bytes;

	ck_assert_int_eq(whorl_open(config, 2, NULL, &node), WHORL_INVALID);
	expect_error(config, "there is no node 2, expected 0 to 1");
	ck_assert_int_eq(whorl_open(config, WHORL_ANY_ID - 1, NULL, &node), WHORL_INVALID);
	ck_assert_int_eq(whorl_open(config, WHORL_ANY_ID, &none, &node), WHORL_INVALID);
	ck_assert_int_eq(whorl_open(config, WHORL_ANY_ID, &told, &node), WHORL_INVALID);
	expect_error(config, "a node that is told to form a group has an id of its own");
	ck_assert_int_eq(whorl_estimate(config, WHORL_ANY_ID, &bytes), WHORL_INVALID);
	ck_ok(whorl_estimate(config, 1, &bytes));
	ck_assert_uint_gt(bytes, 0);
	whorl_config_free(config);
}

TEST_SUITE("any_id")
