/* test_death_waits.c - engine.death_waits: a node on shared memory has a context of asynchronous I/O while its thread runs, where it may. */
#include <stdio.h>
#include <string.h>

#include <whorl/whorl.h>

#include "tests/harness.h"
#include "tests/patience.h"

/* The kernel maps one page or more for each. */
static int contexts(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int count = 0;

	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof(line), maps) != NULL)
		count += strstr(line, "/[aio]") != NULL;
	fclose(maps);
	return count;
}

static whorl_node *start(const char *engine, int nodes)
{
	whorl_config *config = whorl_config_new();
	whorl_node *node = NULL;
	char text[256];

	snprintf(text, sizeof(text), "[group]\nname = death-waits-%d\nnodes = %d\n[subgroup s]\n[engine]\n%s\n",
		 (int)getpid(), nodes, engine);
	ck_assert_int_eq(whorl_config_load_text(config, "test", text), WHORL_OK);
	ck_assert_int_eq(whorl_open(config, 0, NULL, &node), WHORL_OK);
	ck_assert_int_eq(whorl_start(node), WHORL_OK);
	whorl_config_free(config);
	return node;
}

static void close_node(whorl_node *node)
{
	(void)whorl_close(node, 0);
}

TEST(it_has_one_as_long_as_it_runs)
{
	whorl_node *node = start("death_waits = on", 3);

	while (contexts() == 0) /* its thread begins */
		usleep(1000);
	ck_assert_int_eq(contexts(), 1);
	close_node(node);
	ck_assert_int_eq(contexts(), 0);
}

/* A node of one has begun once it is ready; the thread has vouched before. */
TEST(without_the_key_it_has_none)
{
	whorl_node *node = start("", 1);

	ck_assert_int_eq(whorl_ready(node, (int)test_patience(10000)), WHORL_OK);
	ck_assert_int_eq(contexts(), 0);
	close_node(node);
}

TEST(two_nodes_wait_for_the_proof_and_have_none)
{
	whorl_node *nodes[2];
	whorl_config *config = whorl_config_new();
	char text[256];

	snprintf(text, sizeof(text), "[group]\nname = death-waits-2-%d\nnodes = 2\n[subgroup s]\n[engine]\ndeath_waits = on\n",
		 (int)getpid());
	ck_assert_int_eq(whorl_config_load_text(config, "test", text), WHORL_OK);
	for (uint32_t i = 0; i < 2; i++) {
		ck_assert_int_eq(whorl_open(config, i, NULL, &nodes[i]), WHORL_OK);
		ck_assert_int_eq(whorl_start(nodes[i]), WHORL_OK);
	}
	for (uint32_t i = 0; i < 2; i++)
		ck_assert_int_eq(whorl_ready(nodes[i], (int)test_patience(10000)), WHORL_OK);
	ck_assert_int_eq(contexts(), 0);
	for (uint32_t i = 0; i < 2; i++)
		close_node(nodes[i]);
	whorl_config_free(config);
}

TEST_SUITE("death_waits")
