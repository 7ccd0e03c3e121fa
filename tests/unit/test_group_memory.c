/* test_group_memory.c - memory is out: at every allocation of opening a node, in turn.
 * Labels: nosan
 *
 * The allocator is interposed. The n-th allocation is refused, for n from 1 until opening succeeds. Each time the call
 * must say so, leave nothing behind (what was allocated is freed), and work the next time.
 */
#include <dirent.h>

#include "tests/support/group.h"
#include "tests/unit/refuse.h"

/* Of this process. */
static int descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(directory) != NULL)
		count++;
	closedir(directory);
	return count;
}

TEST_CASE("memory", .timeout_s = 60);

TEST(opening_survives_every_refusal)
{
	long live_before, refusals = 0;
	enum whorl_result result;
	int descriptors_before;
	struct cluster c;

	/* Rows are small, so they are given back at once: what is done by a thread is not counted exactly. */
	cluster_configure(&c, 3, "",
			  "[subgroup a]\nwindow = 4\nmessage_bytes = 64\n"
			  "[subgroup b]\nwindow = 4\nmessage_bytes = 64\nmembers = 0,1\nmode = unordered\n"
			  "[subgroup c]\nwindow = 4\nmessage_bytes = 64\nmembers = 1,2\n");
	ck_ok(whorl_open(c.config, 0, NULL, &c.nodes[0])); /* whatever is allocated once and for all */
	ck_ok(whorl_close(c.nodes[0], 0));
	live_before = live;
	descriptors_before = descriptors();
	for (long at = 0;; at++) {
		refuse_at = at;
		result = whorl_open(c.config, 0, NULL, &c.nodes[0]);
		refuse_at = -1;
		if (result == WHORL_OK)
			break;
		refusals++;
		ck_assert_int_eq(result, WHORL_MEMORY);
		ck_assert_ptr_null(c.nodes[0]);
		ck_assert_str_ne(whorl_config_error(c.config), "");
		ck_assert_int_eq(live, live_before);
		ck_assert_int_eq(descriptors(), descriptors_before);
	}
	ck_assert_int_gt(refusals, 15);
	ck_ok(whorl_close(c.nodes[0], 0));
	c.nodes[0] = NULL;
	ck_assert_int_eq(live, live_before);
	cluster_free(&c);
}

TEST(a_configuration_survives_every_refusal)
{
	const char *text = "[group]\nnodes = 2\n[subgroup s]\nwindow = 7\n";
	long live_before = live;
	bool whole = false;

	for (long at = 0; !whole; at++) {
		whorl_config *config;

		refuse_at = at;
		config = whorl_config_new();
		whole = config != NULL && whorl_config_load_text(config, "test", text) == WHORL_OK &&
			whorl_config_set(config, "subgroup s.window=8") == WHORL_OK;
		whole = whole && refuse_at >= 0; /* nothing was refused */
		refuse_at = -1;
		if (config != NULL && !whole)
			ck_assert_str_ne(whorl_config_error(config), "");
		whorl_config_free(config);
		ck_assert_int_eq(live, live_before);
	}
}

TEST_SUITE("group: memory")
