/* results.c - the figures of a run, from what its nodes left in the shared memory. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/env.h"
#include "bench/bench.h"

/* Members of a subgroup must have delivered the same. Says which have not. */
static bool digests_agree(const struct wh_bench_run *run)
{
	const struct wh_bench_plan *plan = run->plan;
	bool agree = true;

	for (uint32_t g = 0; g < plan->subgroup_count; g++) {
		const struct wh_bench_subgroup *subgroup = &plan->subgroups[g];
		uint32_t first = subgroup->members[0];
		uint64_t digest = wh_load_relaxed(&wh_bench_part(&run->memory, plan, first, g)->digest);

		for (uint32_t m = 1; wh_bench_is_whole(plan) && m < subgroup->member_count; m++) {
			uint32_t id = subgroup->members[m];
			uint64_t other = wh_load_relaxed(&wh_bench_part(&run->memory, plan, id, g)->digest);

			if (other == digest)
				continue;
			wh_say("subgroup %s: nodes %u and %u have delivered different messages or orders: "
			       "digests %016" PRIx64 " and %016" PRIx64,
			       subgroup->name, first, id, digest, other);
			agree = false;
		}
	}
	return agree;
}

/* From the common start to the last delivery at the last node. */
static double seconds_of(const struct wh_bench_run *run)
{
	size_t parts = (size_t)run->plan->nodes * run->plan->subgroup_count;
	uint64_t last = run->memory.shared->start_ns;

	for (size_t p = 0; p < parts; p++) {
		uint64_t done = wh_load_relaxed(&run->memory.parts[p].done_ns);

		if (done > last)
			last = done;
	}
	return (double)(last - run->memory.shared->start_ns) / 1e9;
}

static void add_batches(struct whorl_batch_stats *into, const struct whorl_batch_stats *from)
{
	into->batches += from->batches;
	into->events += from->events;
	for (size_t i = 0; i < sizeof into->histogram / sizeof into->histogram[0]; i++)
		into->histogram[i] += from->histogram[i];
}

static void add_log(struct wh_bench_result *result, const struct whorl_log_stats *log)
{
	double longest_us = (double)log->longest_sync_ns / 1e3;

	result->log_batches += log->batches;
	result->log_syncs += log->syncs;
	if (longest_us > result->longest_sync_us)
		result->longest_sync_us = longest_us;
}

static void add_parts(struct wh_bench_result *result, const struct wh_bench_run *run, uint64_t *bytes)
{
	size_t parts = (size_t)run->plan->nodes * run->plan->subgroup_count;

	for (size_t p = 0; p < parts; p++) {
		const struct wh_bench_part *part = &run->memory.parts[p];

		result->delivered += wh_load_relaxed(&part->counted);
		*bytes += wh_load_relaxed(&part->bytes);
		result->nulls += part->stats.nulls;
		add_batches(&result->batch[0], &part->stats.send);
		add_batches(&result->batch[1], &part->stats.receive);
		add_batches(&result->batch[2], &part->stats.deliver);
		add_log(result, &part->log);
	}
	result->messages_per_sync = result->log_syncs > 0 ? (double)result->delivered / (double)result->log_syncs : 0;
}

/* Threads that send, over all nodes that are here. */
static uint32_t count_senders(const struct wh_bench_plan *plan)
{
	uint32_t nodes = 0;

	for (uint32_t id = 0; id < plan->nodes; id++) {
		bool sends = false;

		for (uint32_t g = 0; wh_bench_is_here(plan, id) && g < plan->subgroup_count; g++) {
			const struct wh_bench_subgroup *subgroup = &plan->subgroups[g];

			sends |= wh_rank_find(subgroup->senders + subgroup->active_first, subgroup->active_count, id) >=
				 0;
		}
		nodes += sends;
	}
	return nodes * (uint32_t)plan->options.senders_per_node;
}

static void add_nodes(struct wh_bench_result *result, const struct wh_bench_run *run, struct wh_histogram *latency)
{
	uint64_t wait_ns = 0, post_ns = 0, cpu_ns = 0;
	uint32_t senders = count_senders(run->plan);

	for (uint32_t id = 0; id < run->plan->nodes; id++) {
		const struct wh_bench_node_page *page = &run->memory.pages[id];

		result->pushes += page->stats.pushes;
		result->writes += page->stats.writes;
		result->bytes_pushed += page->stats.bytes_pushed;
		post_ns += page->stats.post_ns;
		cpu_ns += page->cpu_ns;
		wait_ns += wh_load_relaxed(&page->wait_ns);
		wh_histogram_merge(latency, &page->latency);
	}
	result->post_seconds = (double)post_ns / 1e9;
	result->cpu_seconds = (double)cpu_ns / 1e9;
	result->sender_wait_fraction = senders > 0 ? (double)wait_ns / 1e9 / result->seconds / senders : 0;
}

static void add_idle(struct wh_bench_result *result, const struct wh_bench_run *run)
{
	const struct wh_bench_plan *plan = run->plan;
	uint64_t cpu_ns = 0, longest_ns = 0, last_ns = 0;

	for (uint32_t id = 0; id < plan->nodes; id++) {
		const struct wh_bench_node_page *page = &run->memory.pages[id];
		uint64_t extra_ns = wh_load_relaxed(&wh_bench_part(&run->memory, plan, id, 0)->extra_ns);

		cpu_ns += page->idle_cpu_ns;
		longest_ns = page->idle_ns > longest_ns ? page->idle_ns : longest_ns;
		last_ns = extra_ns > last_ns ? extra_ns : last_ns;
		result->idle_pushes += page->idle_stats.pushes - page->idle_stats.heartbeats;
		result->idle_heartbeats += page->idle_stats.heartbeats;
		result->idle_sleeps += page->idle_stats.sleeps;
	}
	result->idle_seconds = (double)longest_ns / 1e9;
	result->idle_cpu_fraction = (double)cpu_ns / (double)longest_ns;
	result->idle_next_us = (double)(last_ns - wh_load_relaxed(&run->memory.shared->last_ns)) / 1e3;
}

bool wh_bench_result_make(struct wh_bench_result *result, const struct wh_bench_run *run)
{
	static const double shares[] = {0.5, 0.9, 0.99, 0.999, 1};
	struct wh_histogram latency = {0};
	uint64_t bytes = 0;

	*result = (struct wh_bench_result){.run = run->number, .seconds = seconds_of(run)};
	if (!digests_agree(run))
		return false;
	add_parts(result, run, &bytes);
	add_nodes(result, run, &latency);
	result->messages_per_s = (double)result->delivered / run->plan->here_count / result->seconds;
	result->bytes_per_s = (double)bytes / run->plan->here_count / result->seconds;
	result->latency_samples = latency.count;
	for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++)
		result->latency_us[i] = wh_histogram_quantile(&latency, shares[i]) / 1e3;
	if (run->plan->options.idle_seconds > 0)
		add_idle(result, run);
	return true;
}

#define SHORT_S 0.02     /* shorter than a processor may be lent to something else */
#define BEYOND_LIMIT 2.0 /* a prefetch, or luck, is worth less */
#define UNSTEADY 2.0

static double ratio_of(double one, double other)
{
	return one > 0 && other > 0 ? (one > other ? one / other : other / one) : 1;
}

uint32_t wh_bench_doubts(const struct wh_bench_plan *plan, const struct wh_bench_result *result)
{
	const struct wh_limit_rate *before = &result->before.rate, *after = &result->after.rate;
	uint32_t doubts = 0;

	if (plan->deliveries != NULL || wh_bench_is_simulated(plan)) /* nothing was measured */
		return 0;
	if (result->seconds < SHORT_S)
		doubts |= 1u << BENCH_DOUBT_SHORT;
	if (result->limited && result->fraction_of_limit > BEYOND_LIMIT)
		doubts |= 1u << BENCH_DOUBT_LIMIT;
	if (result->limited_before && (ratio_of(before->bytes_per_s, after->bytes_per_s) > UNSTEADY ||
				       ratio_of(before->messages_per_s, after->messages_per_s) > UNSTEADY))
		doubts |= 1u << BENCH_DOUBT_UNSTEADY;
	return doubts;
}

/* Messages without bytes have a limit as well. */
static double limit_fraction(const struct wh_bench_result *result, double bytes_per_s, double messages_per_s)
{
	double run = bytes_per_s > 0 ? result->bytes_per_s : result->messages_per_s;
	double limit = bytes_per_s > 0 ? bytes_per_s : messages_per_s;

	return limit > 0 ? run / limit : 0;
}

void wh_bench_result_limit(struct wh_bench_result *result, const struct wh_limit_result *before,
			   const struct wh_limit_result *after)
{
	result->limited = true;
	result->limited_before = before != NULL;
	if (before == NULL)
		before = after;
	result->before = *before;
	result->after = *after;
	result->limit_bytes_per_s = (before->rate.bytes_per_s + after->rate.bytes_per_s) / 2;
	result->limit_messages_per_s = (before->rate.messages_per_s + after->rate.messages_per_s) / 2;
	result->fraction_of_limit = limit_fraction(result, result->limit_bytes_per_s, result->limit_messages_per_s);
	result->best_write_bytes_per_s = (before->best_write.bytes_per_s + after->best_write.bytes_per_s) / 2;
	result->best_write_messages_per_s = (before->best_write.messages_per_s + after->best_write.messages_per_s) / 2;
	result->fraction_of_best_write =
		limit_fraction(result, result->best_write_bytes_per_s, result->best_write_messages_per_s);
	result->sealed_write_bytes_per_s = (before->sealed_write.bytes_per_s + after->sealed_write.bytes_per_s) / 2;
	result->sealed_write_messages_per_s =
		(before->sealed_write.messages_per_s + after->sealed_write.messages_per_s) / 2;
	result->fraction_of_sealed_write =
		limit_fraction(result, result->sealed_write_bytes_per_s, result->sealed_write_messages_per_s);
	result->per_message_bytes_per_s = (before->per_message.bytes_per_s + after->per_message.bytes_per_s) / 2;
	result->per_message_messages_per_s =
		(before->per_message.messages_per_s + after->per_message.messages_per_s) / 2;
	result->fraction_of_per_message =
		limit_fraction(result, result->per_message_bytes_per_s, result->per_message_messages_per_s);
	result->stable_write_bytes_per_s = (before->stable_write.bytes_per_s + after->stable_write.bytes_per_s) / 2;
	result->stable_write_messages_per_s =
		(before->stable_write.messages_per_s + after->stable_write.messages_per_s) / 2;
	result->fraction_of_stable_write =
		limit_fraction(result, result->stable_write_bytes_per_s, result->stable_write_messages_per_s);
	result->written_bytes_per_s = (before->written_bytes_per_s + after->written_bytes_per_s) / 2;
	/* Other programs can only make these longer. */
	for (size_t i = 0; i < 2; i++) {
		result->round_trip_us[i] = fmin(before->round_trip_us[i], after->round_trip_us[i]);
		result->pattern_us[i] = fmin(before->pattern_us[i], after->pattern_us[i]);
		result->sent_apart_us[i] = fmin(before->sent_apart_us[i], after->sent_apart_us[i]);
		result->sync_us[i] = fmin(before->sync_us[i], after->sync_us[i]);
	}
}
