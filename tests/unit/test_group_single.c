/* test_group_single.c - subgroups in which one thread of a program sends (sending_threads, docs/decisions/0071).
 * Labels: threads
 */
#include <pthread.h>
#include <stdlib.h>

#include "tests/support/group.h"

static void *send_elsewhere(void *ctx)
{
	uint64_t word = 7;
	enum whorl_result result = whorl_send(ctx, &word, sizeof(word), 1000, NULL);

	ck_assert_int_eq(result, WHORL_INVALID);
	ck_assert_ptr_nonnull(strstr(whorl_invalid_text(), "sending_threads"));
	return NULL;
}

TEST_CASE("single", .timeout_s = 60);

/* What it sends arrives; what another thread sends is refused, at once, and says why. One node has the option, the other has not. */
TEST(the_first_thread_sends)
{
	static const char *const modes[] = {"subgroup s.sending_threads=any", "subgroup s.sending_threads=one"};
	struct cluster c;
	pthread_t thread;

	cluster_configure(&c, 2, "", "[subgroup s]\nwindow = 8\n");
	for (unsigned id = 0; id < 2; id++) {
		ck_ok(whorl_config_set(c.config, modes[id]));
		cluster_open_node(&c, id);
	}
	cluster_record(&c, "s");
	cluster_start(&c);
	for (uint64_t i = 0; i < 500; i++) {
		ck_ok(whorl_send(subgroup_of(&c, 1, "s"), &i, sizeof(i), PATIENCE_MS, NULL));
		if (i % 100 == 0) {
			ck_assert_int_eq(pthread_create(&thread, NULL, send_elsewhere, subgroup_of(&c, 1, "s")), 0);
			ck_assert_int_eq(pthread_join(thread, NULL), 0);
		}
	}
	await(all_recorded(c.records, 2, 500), sched_yield());
	records_agree(c.records[0], c.records[1]);
	for (uint64_t i = 0; i < 500; i++)
		ck_assert_uint_eq(c.records[0]->entries[i].word, i);
	ck_ok(whorl_close(c.nodes[1], PATIENCE_MS)); /* nothing is open */
	c.nodes[1] = NULL;
	cluster_free(&c);
}

TEST_SUITE("group: one sending thread")
