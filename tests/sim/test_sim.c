/* test_sim.c - runs in the simulator that are written by hand: repeatable, failures noticed and not invented,
 * claims kept open, long streams, silence.
 */
#include <stddef.h>
#include <string.h>

#include "sim/play_int.h"
#include "tests/harness.h"

#define TIMEOUT_MS 1000
#define TIMEOUT_NS (TIMEOUT_MS * WH_NS_PER_MS)
#define STEP_NS (TIMEOUT_NS / 100)

static void end(struct play *play, struct wh_plan *plan)
{
	struct wh_play_result result;
	char verdict[512];
	bool good = wh_play_end(play, &result, verdict, sizeof(verdict));

	wh_plan_free(plan);
	ck_assert_msg(good, "%s", verdict);
}

static void run_seed(uint64_t seed, struct wh_play_result *result)
{
	const struct wh_plan_limits limits = {
		.nodes = 8, .rows_bytes = 8 << 20, .deliveries = 1000, .data_bytes = 1 << 20};
	char verdict[512];
	struct wh_plan plan;

	wh_plan_make(&plan, seed, &limits);
	ck_assert_msg(wh_play_all(&plan, NULL, result, verdict, sizeof(verdict), stdout), "seed %" PRIu64 ": %s", seed,
		      verdict);
	wh_plan_free(&plan);
}

TEST_CASE("sim", .timeout_s = 100);

TEST(the_same_seed_is_the_same_run)
{
	uint64_t last = 0;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct wh_play_result one, other;

		run_seed(seed, &one);
		run_seed(seed, &other);
		ck_assert_mem_eq(&one, &other, offsetof(struct wh_play_result, progressed));
		ck_assert_int_eq(one.progressed, other.progressed);
		ck_assert_uint_ne(one.digest, last);
		last = one.digest;
	}
}

/* What sim-random says it tries, it tries. */
TEST(plans_cover_the_ground)
{
	const struct wh_plan_limits limits = {
		.nodes = 16, .rows_bytes = 48 << 20, .deliveries = 4000, .data_bytes = 8 << 20};
	uint32_t switches = 0, nodes = 0, senders = 0, subgroups = 0, overlaps = 0, kinds = 0;
	int64_t window = 0, least_window = 1000, bytes = 0, least_bytes = 65536;

	for (uint64_t seed = 1; seed <= 3000; seed++) {
		const struct wh_engine_options *e;
		struct wh_plan plan;

		wh_plan_make(&plan, seed, &limits);
		e = &plan.config.engine;
		switches |= 1u << (e->send_batching | e->receive_batching << 1 | e->delivery_batching << 2 |
				   e->null_sends << 3 | e->deferred_push << 4);
		nodes |= 1u << (plan.config.group.nodes - 1);
		subgroups = plan.config.subgroup_count > subgroups ? plan.config.subgroup_count : subgroups;
		for (uint32_t g = 0; g < plan.config.subgroup_count; g++) {
			const struct wh_subgroup_options *o = &plan.config.subgroups[g].options;

			senders |= 1u << (plan.subgroups[g].sender_count - 1);
			overlaps += g > 0 && (plan.subgroups[g].members & plan.subgroups[g - 1].members) != 0 &&
				    plan.subgroups[g].members != plan.subgroups[g - 1].members;
			kinds |= 1u << (plan.subgroups[g].ordered + 2 * plan.headers_apart);
			window = o->window > window ? o->window : window;
			least_window = o->window < least_window ? o->window : least_window;
			bytes = o->message_bytes > bytes ? o->message_bytes : bytes;
			least_bytes = o->message_bytes < least_bytes ? o->message_bytes : least_bytes;
		}
		wh_plan_free(&plan);
	}
	ck_assert_uint_eq(switches, UINT32_MAX);
	ck_assert_uint_eq(nodes, 0xffff);
	ck_assert_uint_eq(senders, 0xffff);
	ck_assert_uint_eq(kinds, 0xf);
	ck_assert_uint_eq(subgroups, 50);
	ck_assert_uint_gt(overlaps, 1000);
	ck_assert_int_eq(least_window, 1);
	ck_assert_int_eq(least_bytes, 1);
	ck_assert_int_gt(window, 900);
	ck_assert_int_gt(bytes, 60000);
}

/* ---- failures ---------------------------------------------------------------------------------------------------------- */

static struct play *idle_group(struct wh_plan *plan, uint64_t seed, uint32_t nodes)
{
	struct play *play;

	wh_plan_plain(plan, seed, nodes, 10, 100, 20);
	plan->config.group.failure_timeout_ms = TIMEOUT_MS;
	play = wh_play_new(plan, NULL, stdout);
	play->hasty = false;
	wh_play_meet(play);
	wh_play_work(play);
	wh_liveness_check(play);
	ck_assert_msg(!wh_play_failed(play), "%s", play->verdict);
	return play;
}

static void stall(struct play *play, uint32_t node, uint64_t for_ns)
{
	play->actors[node].stalled_until_ns = wh_sim_now(play->sim) + for_ns;
	play->touched |= UINT64_C(1) << node;
}

static uint64_t view_of(const struct play *play, uint32_t node)
{
	return play->actors[node].view->number;
}

/* Node 2 makes no pass any more: every other goes on without it when the time-out has passed since it was last heard. A
 * heartbeat is pushed, and looked for, every quarter of the time-out: in the worst case it is pushed just before the stall and
 * found a quarter later, and the look that finds it overdue is another quarter late. When it wakes it learns that it was
 * removed. */
TEST(a_stalled_node_is_removed_in_time)
{
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct wh_plan plan;
		struct play *play = idle_group(&plan, seed, 4);
		uint64_t stalled_ns;

		wh_play_goes_on(play, seed * STEP_NS);
		stalled_ns = wh_sim_now(play->sim);
		stall(play, 2, 10 * TIMEOUT_NS);
		while (view_of(play, 0) == 0 || view_of(play, 1) == 0 || view_of(play, 3) == 0) {
			uint64_t ago_ns = wh_sim_now(play->sim) - stalled_ns;

			ck_assert_uint_le(ago_ns, TIMEOUT_NS + 2 * (TIMEOUT_NS / 4) + 2 * STEP_NS);
			wh_play_goes_on(play, STEP_NS);
			ck_assert_msg(!wh_play_failed(play), "%s", play->verdict);
		}
		ck_assert_uint_ge(wh_sim_now(play->sim) - stalled_ns + STEP_NS, TIMEOUT_NS - TIMEOUT_NS / 4);
		wh_play_goes_on(play, 11 * TIMEOUT_NS);
		ck_assert(play->actors[2].removed);
		ck_assert_uint_eq(view_of(play, 2), 0);
		for (uint32_t i = 0; i < 4; i++)
			ck_assert_uint_eq(view_of(play, i), i != 2);
		end(play, &plan);
	}
}

/* The whole machine was suspended, and its nodes wake one after another. */
TEST(nodes_that_were_all_late_accuse_nobody)
{
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct wh_plan plan;
		struct play *play = idle_group(&plan, seed, 4);

		for (uint32_t i = 0; i < 4; i++)
			stall(play, i, 5 * TIMEOUT_NS + i * seed * (STEP_NS / 2));
		play->touched = 0; /* any error would end the run */
		wh_play_goes_on(play, 20 * TIMEOUT_NS);
		for (uint32_t i = 0; i < 4 && !wh_play_failed(play); i++)
			ck_assert_uint_eq(view_of(play, i), 0);
		end(play, &plan);
	}
}

TEST(a_short_stall_is_no_failure)
{
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct wh_plan plan;
		struct play *play = idle_group(&plan, seed, 3);

		wh_play_goes_on(play, seed * STEP_NS);
		for (int k = 0; k < 5; k++) {
			stall(play, 1, TIMEOUT_NS * 7 / 10);
			play->touched = 0;
			wh_play_goes_on(play, 2 * TIMEOUT_NS);
			ck_assert_msg(!wh_play_failed(play), "%s", play->verdict);
			ck_assert_uint_eq(view_of(play, 0), 0);
		}
		end(play, &plan);
	}
}

/* ---- streams ----------------------------------------------------------------------------------------------------------- */

/* The first claim of node 1 is never finished: all that the others send is delivered, and nothing of node 1.
 * Then it is, and everything is. */
TEST(a_held_claim_holds_up_its_own_sender)
{
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct wh_plan plan;
		struct play *play;

		wh_plan_plain(&plan, seed, 3, 4, 50, 40);
		play = wh_play_new(&plan, NULL, stdout);
		for (uint32_t s = 0; s < 3; s++)
			play->actors[s].apps[0].stream->abort_in = 0;
		play->actors[1].apps[0].stream->kept_open = 0;
		wh_play_work(play);
		wh_liveness_check(play);
		for (uint32_t i = 0; i < 3; i++)
			ck_assert_uint_eq(play->actors[i].apps[0].deliveries, 80);
		ck_assert_uint_eq(play->actors[1].apps[0].stream->claimed, 4);
		wh_play_release(play);
		wh_play_work(play);
		wh_liveness_check(play);
		for (uint32_t i = 0; i < 3; i++)
			ck_assert_uint_eq(play->actors[i].apps[0].deliveries, 120);
		end(play, &plan);
	}
}

/* More messages than the guard's 16 bits of announced slots can count, of both senders, in both modes. */
TEST(long_streams)
{
	for (uint32_t mode = 0; mode < 2; mode++) {
		struct wh_plan plan;
		struct play *play;

		wh_plan_plain(&plan, mode + 1, 2, 1000, 8, 70000);
		plan.config.subgroups[0].options.mode = (int)mode;
		plan.subgroups[0].ordered = mode == 1;
		play = wh_play_new(&plan, NULL, stdout);
		play->long_upcall_in = play->reply_in = 0;
		for (uint32_t s = 0; s < 2; s++) {
			play->actors[s].apps[0].stream->manner = IN_ORDER;
			play->actors[s].apps[0].stream->burst = 400;
			play->actors[s].apps[0].stream->abort_in = 1000;
		}
		wh_play_work(play);
		wh_liveness_check(play);
		ck_assert_uint_gt(play->actors[0].apps[0].deliveries, 139000);
		end(play, &plan);
	}
}

/* ---- silence ------------------------------------------------------------------------------------------------------------ */

/* Nobody sends: all sleep, and wake for nothing but their own heartbeats. The next message comes at once. */
TEST(an_idle_group_sleeps)
{
	struct wh_plan plan;
	struct play *play = idle_group(&plan, 7, 4);
	uint64_t before[4], began_ns;
	struct whorl_node_stats stats = {.size = sizeof(stats)};
	struct stream *stream = play->actors[1].apps[0].stream;

	for (uint32_t i = 0; i < 4; i++) {
		ck_assert_int_eq(whorl_node_statistics(play->actors[i].node, &stats), WHORL_OK);
		before[i] = stats.steps;
	}
	wh_play_goes_on(play, 10 * TIMEOUT_NS);
	for (uint32_t i = 0; i < 4; i++) {
		ck_assert_int_eq(whorl_node_statistics(play->actors[i].node, &stats), WHORL_OK);
		ck_assert_uint_ge(stats.steps - before[i], 40);
		ck_assert_uint_le(stats.steps - before[i], 40 * 6); /* a pass, an idle one or more, the last look */
		ck_assert_uint_ge(stats.heartbeats, 40);
	}
	began_ns = wh_sim_now(play->sim);
	stream->messages = realloc(stream->messages, (stream->quota + 1) * sizeof(*stream->messages));
	ck_assert_ptr_nonnull(stream->messages);
	memset(&stream->messages[stream->quota], 0, sizeof(*stream->messages));
	stream->quota++;
	wh_stream_schedule(stream);
	wh_play_work(play);
	wh_liveness_check(play);
	ck_assert_uint_lt(wh_sim_now(play->sim) - began_ns, TIMEOUT_NS / 10);
	end(play, &plan);
}

TEST_SUITE("sim")

int main(void)
{
	return test_main(suite());
}
