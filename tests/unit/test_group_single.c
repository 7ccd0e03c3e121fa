/* test_group_single.c - subgroups in which one thread of a program sends (sending_threads, docs/decisions/0071).
 * Labels: threads
 */
#include <pthread.h>
#include <stdlib.h>

#include "base/atomics.h"
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

/* ---- whatever it is called with ----------------------------------------------------------------------------------------------- */

static whorl_subgroup *wished;

static void *claim_elsewhere(void *ctx)
{
	struct whorl_claim *mine = ctx, claims[2];
	uint64_t number;

	ck_assert_int_eq(whorl_claim(wished, 8, claims), WHORL_INVALID);
	ck_assert_int_eq(whorl_claim_wait(wished, 8, 1000, claims), WHORL_INVALID);
	ck_assert_int_eq(whorl_claim_many(wished, 8, 2, claims), WHORL_INVALID);
	ck_assert_int_eq(whorl_claim_large(wished, 100, 0, claims), WHORL_INVALID);
	ck_assert_int_eq(whorl_claim_large(wished, 100, 1000, claims), WHORL_INVALID);
	ck_assert_int_eq(whorl_send(wished, "x", 1, 0, &number), WHORL_INVALID);
	ck_ok(whorl_abort(&mine[0]));
	ck_ok(whorl_commit(&mine[1], 8)); /* these may be any thread's */
	return NULL;
}

static enum whorl_result said_in_upcall;
static wh_word upcalls;

static void claim_in_upcall(const struct whorl_message *message, void *ctx)
{
	struct whorl_claim claim;

	(void)ctx, (void)message;
	if (wh_load_relaxed(&upcalls) == 0)
		said_in_upcall = whorl_claim(wished, 8, &claim);
	wh_store_release(&upcalls, wh_load_relaxed(&upcalls) + 1);
}

/* By the file, or by what a program enters with: `one_thread`. Nothing that is refused leaves a hole behind which others wait. */
TEST_LOOP(of_those_that_are_entered, 0, 2)
{
	struct whorl_subgroup_options options = {
		.size = sizeof(options), .on_message = claim_in_upcall, .one_thread = _i == 1};
	struct whorl_claim claims[2];
	struct cluster c;
	pthread_t thread;

	cluster_open(
		&c, 1, "",
		_i == 0 ? "[subgroup s]\nmembers = wish\nsending_threads = one\nmessage_bytes = 64\nlarge_bytes = 640\n"
			: "[subgroup s]\nmembers = wish\nmessage_bytes = 64\nlarge_bytes = 640\n");
	cluster_start(&c);
	ck_ok(whorl_subgroup_enter(c.nodes[0], "s", &options, PATIENCE_MS, &wished));
	await(whorl_claim_many(wished, 8, 2, claims) != WHORL_AGAIN, sched_yield()); /* the view has just begun */
	ck_assert_int_eq(pthread_create(&thread, NULL, claim_elsewhere, claims), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	await(wh_load_acquire(&upcalls) == 1, sched_yield());
	ck_assert_int_eq(said_in_upcall, WHORL_INVALID);
	ck_ok(whorl_claim_large(wished, 100, PATIENCE_MS, claims));
	ck_assert_uint_eq(claims[0].number, 2);
	ck_ok(whorl_commit(claims, 100));
	await(wh_load_acquire(&upcalls) == 2, sched_yield());
	cluster_free(&c);
}

TEST_SUITE("group: one sending thread")
