/* test_death_waits.c - engine.death_waits: a node on shared memory has a context of asynchronous I/O while its thread runs, where it may. */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <whorl/whorl.h>

#include "tests/harness.h"
#include "tests/support/await.h"

#define PATIENCE_MS ((int)test_patience(20000))

struct group {
	uint32_t nodes;
	const char *engine;
	int contexts; /* where they are not refused */
};

/* Some containers refuse it, and a host has so many: then a node has none, and goes on. */
static int may_have_contexts(void)
{
	unsigned long context = 0;

	if (syscall(SYS_io_setup, 1, &context) != 0)
		return 0;
	ck_assert_int_eq(syscall(SYS_io_destroy, context), 0);
	return 1;
}

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

#define NODES_MOST 3

/* All of a group, in this process. */
static uint32_t start_all(whorl_node *nodes[NODES_MOST], const struct group *group)
{
	whorl_config *config = whorl_config_new();
	char text[256];

	snprintf(text, sizeof(text), "[group]\nname = death-waits-%d\nnodes = %u\n[subgroup s]\n[engine]\n%s\n",
		 (int)getpid(), group->nodes, group->engine);
	ck_ok(whorl_config_load_text(config, "test", text));
	for (uint32_t i = 0; i < group->nodes; i++) {
		ck_ok(whorl_open(config, i, NULL, &nodes[i]));
		ck_ok(whorl_start(nodes[i]));
	}
	for (uint32_t i = 0; i < group->nodes; i++)
		ck_ok(whorl_ready(nodes[i], PATIENCE_MS));
	whorl_config_free(config);
	return group->nodes;
}

/* As long as its thread runs, and only where there is another that need not wait for the proof. */
TEST_LOOP(it_has_a_context_while_it_runs, 0, 3)
{
	static const struct group groups[] = {{3, "death_waits = on", 3}, {3, "", 0}, {2, "death_waits = on", 0}};
	const struct group *group = &groups[_i];
	int each = may_have_contexts();
	whorl_node *nodes[NODES_MOST];
	uint32_t count = start_all(nodes, group);

	ck_assert_int_eq(contexts(), each * group->contexts);
	for (uint32_t i = 0; i < count; i++)
		ck_ok(whorl_close(nodes[i], PATIENCE_MS));
	ck_assert_int_eq(contexts(), 0);
}

TEST_SUITE("death_waits")
