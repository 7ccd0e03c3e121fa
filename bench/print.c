/* print.c - what `whorl bench` shows on the terminal: the progress line and the table. */
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/size.h"
#include "bench/sizes.h"

#define VARIANT_WIDTH 26

const char *wh_bench_cpu_model(char *buf, size_t bytes)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[256];

	snprintf(buf, bytes, "unknown");
	if (file == NULL)
		return buf;
	while (fgets(line, sizeof line, file) != NULL) {
		char *value = strchr(line, ':');

		if (strncmp(line, "model name", strlen("model name")) != 0 || value == NULL)
			continue;
		value += 1 + strspn(value + 1, " \t");
		value[strcspn(value, "\n")] = '\0';
		snprintf(buf, bytes, "%s", value);
		break;
	}
	fclose(file);
	return buf;
}

/* ---- the progress line ---------------------------------------------------------------------------------------------*/

struct progress {
	double part, seconds;               /* of all deliveries; since the start */
	double messages_per_s, bytes_per_s; /* so far, the mean over the nodes */
};

static struct progress progress_of(const struct wh_bench_run *run)
{
	const struct wh_bench_plan *plan = run->plan;
	double counted = 0, expected = 0, bytes = 0;
	struct progress progress;

	for (uint32_t g = 0; g < plan->subgroup_count; g++) {
		const struct wh_bench_subgroup *subgroup = &plan->subgroups[g];

		for (uint32_t m = 0; m < subgroup->member_count; m++) {
			const struct wh_bench_part *part = wh_bench_part(&run->memory, plan, subgroup->members[m], g);

			expected += wh_bench_is_here(plan, subgroup->members[m]) ? (double)subgroup->expected : 0;
			counted += (double)wh_load_relaxed(&part->counted);
			bytes += (double)wh_load_relaxed(&part->bytes);
		}
	}
	progress.part = expected > 0 ? counted / expected : 1;
	progress.seconds = (double)(wh_env_now(wh_env_system()) - run->memory.shared->start_ns) / 1e9;
	progress.messages_per_s = counted / plan->here_count / progress.seconds;
	progress.bytes_per_s = bytes / plan->here_count / progress.seconds;
	return progress;
}

void wh_bench_progress(const struct wh_bench_run *run)
{
	enum wh_bench_phase phase = (enum wh_bench_phase)wh_phase_get(&run->memory.shared->phase);
	char line[256], where[96], rate[32];

	if (run->quiet || !isatty(STDERR_FILENO))
		return;
	snprintf(where, sizeof where, "variant %zu of %zu, run %u of %" PRId64, run->plan->variant + 1, run->variants,
		 run->number, run->plan->options.runs);
	if (phase != BENCH_RUN) {
		snprintf(line, sizeof line, "%s: %s", where, phase == BENCH_OPEN ? "the nodes meet" : "idle");
	} else {
		struct progress progress = progress_of(run);

		snprintf(line, sizeof line, "%s: %3.0f %%, %s messages/s, %.0f s left", where, 100 * progress.part,
			 wh_figure_text(progress.messages_per_s, rate, sizeof rate),
			 progress.part > 0 ? progress.seconds * (1 - progress.part) / progress.part : 0.0);
	}
	wh_progress(line);
}

void wh_bench_print_partial(FILE *out, const struct wh_bench_run *run)
{
	struct progress progress = progress_of(run);
	char rate[32];

	if (run->memory.shared->start_ns == 0)
		return;
	fprintf(out,
		"run %u, until it was interrupted after %.2f s: %.0f %% of the deliveries, %s messages/s, "
		"%.3f GB/s\n",
		run->number, progress.seconds, 100 * progress.part,
		wh_figure_text(progress.messages_per_s, rate, sizeof rate), progress.bytes_per_s / 1e9);
}

/* ---- the table ---------------------------------------------------------------------------------------------------------*/

void wh_bench_print_head(FILE *out, const char *file, const struct wh_bench_plan *plan)
{
	char model[128];
	cpu_set_t set;

	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof set, &set);
	fprintf(out, "whorl %s: %s on %d processors, %s\n\n", whorl_version(), file, CPU_COUNT(&set),
		wh_bench_cpu_model(model, sizeof model));
	if (wh_bench_is_simulated(plan))
		fprintf(out, "simulated: times are those of the model of [nic] and [cpu]; the limit is its link\n\n");
	if (plan->deliveries != NULL)
		return;
	fprintf(out, "%-*s %17s %16s %26s %8s %6s %8s %9s\n", VARIANT_WIDTH, "", "messages/s", "GB/s", "latency us",
		"limit", "of the", "nulls /", "writes /");
	fprintf(out, "%-*s %8s %8s %8s %7s %8s %8s %8s %8s %6s %8s %9s\n", VARIANT_WIDTH, "variant", "mean", "sd",
		"mean", "sd", "p50", "p99", "p99.9", "GB/s", "limit", "message", "message");
}

struct spread {
	double mean, deviation;
};

/* Mean and standard deviation of the double at `offset` in each result. */
static struct spread spread_of(const struct wh_bench_result *results, size_t count, size_t offset)
{
	struct spread spread = {0};
	double squares = 0;

	for (size_t i = 0; i < count; i++)
		spread.mean += *(const double *)((const char *)&results[i] + offset) / (double)count;
	for (size_t i = 0; i < count; i++) {
		double off = *(const double *)((const char *)&results[i] + offset) - spread.mean;

		squares += off * off;
	}
	spread.deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
	return spread;
}

#define SPREAD(field) spread_of(results, count, offsetof(struct wh_bench_result, field))

static void print_latency(FILE *out, const struct wh_bench_plan *plan, const struct wh_bench_result *results,
			  size_t count)
{
	const struct spread spreads[] = {SPREAD(latency_us[0]), SPREAD(latency_us[2]), SPREAD(latency_us[3])};

	for (size_t i = 0; i < sizeof spreads / sizeof spreads[0]; i++) {
		if (plan->options.latency_every == 0)
			fprintf(out, " %8s", "-");
		else
			fprintf(out, " %8.*f", spreads[i].mean < 100 ? 1 : 0, spreads[i].mean);
	}
}

static void print_idle(FILE *out, const struct wh_bench_result *result)
{
	fprintf(out,
		"%*s idle for %.1f s: %.2f %% of a core for all nodes, %" PRIu64 " pushes and %" PRIu64
		" heartbeats; the next message took %.1f us\n",
		VARIANT_WIDTH, "", result->idle_seconds, 100 * result->idle_cpu_fraction, result->idle_pushes,
		result->idle_heartbeats, result->idle_next_us);
}

/* Small messages only: the plain program that is the limit does not prefetch, and the library does. */
static void print_prefetched(FILE *out, const struct wh_bench_result *results, size_t count)
{
	double bytes_per_s = 0;

	for (size_t i = 0; i < count; i++)
		bytes_per_s += (results[i].before.prefetched_bytes_per_s + results[i].after.prefetched_bytes_per_s) / 2;
	if (bytes_per_s > 0)
		fprintf(out, "%-*s the limit with prefetching, as the library does it: %.3f GB/s\n", VARIANT_WIDTH, "",
			bytes_per_s / (double)count / 1e9);
}

/* Where their messages are of several sizes: each subgroup's, which all have the time of the run in common. */
static void print_mix(FILE *out, const struct wh_bench_plan *plan, const struct wh_bench_result *results, size_t count)
{
	double each_s = 0; /* of which this is the mean, over the runs */
	char rate[32];

	for (size_t i = 0; i < count; i++)
		each_s += 1 / results[i].seconds / (double)count;
	for (uint32_t g = 0; g < plan->subgroup_count; g++) {
		const struct wh_bench_subgroup *subgroup = &plan->subgroups[g];
		double messages_per_s = (double)subgroup->expected * each_s;

		if (subgroup->active_count > 0)
			fprintf(out, "%-*s %s: %u B, %s messages/s, %.3f GB/s at each of %u members\n", VARIANT_WIDTH,
				"", subgroup->name, subgroup->bytes, wh_figure_text(messages_per_s, rate, sizeof rate),
				messages_per_s * subgroup->bytes / 1e9, subgroup->member_count);
	}
	if (results[0].limited && !wh_bench_is_simulated(plan))
		fprintf(out, "%-*s the limit is of the same mix: each sender's as many in each subgroup\n",
			VARIANT_WIDTH, "");
}

/* Where messages queue, latency says little of the transport. */
static bool tells_latency(const struct wh_bench_plan *plan)
{
	return plan->options.latency_every > 0 && plan->subgroups[0].delayed_count == plan->subgroups[0].active_count;
}

/* One message to all, acknowledged by all to all, without any protocol, in both ways of waiting. */
static void print_pattern(FILE *out, const struct wh_bench_plan *plan, double p50, const char *name, double polling,
			  double sleeping)
{
	if (polling <= 0 || sleeping <= 0)
		return;
	fprintf(out, "%-*s %s: %.1f us polling, %.1f us sleeping", VARIANT_WIDTH, "", name, polling, sleeping);
	if (tells_latency(plan))
		fprintf(out, "; p50 is %.2f and %.2f of them", p50 / polling, p50 / sleeping);
	fprintf(out, "\n");
}

/* What tcp can do with large writes; and how the latency stands to a message alone, there and back. */
static void print_more_limits(FILE *out, const struct wh_bench_plan *plan, const struct wh_bench_result *results,
			      size_t count)
{
	double best = SPREAD(best_write_bytes_per_s).mean, share = SPREAD(fraction_of_best_write).mean;
	double polling = SPREAD(round_trip_us[WH_LIMIT_POLLING]).mean, p50 = SPREAD(latency_us[0]).mean;
	double sleeping = SPREAD(round_trip_us[WH_LIMIT_SLEEPING]).mean;
	double sealed = SPREAD(sealed_write_bytes_per_s).mean;
	double each = SPREAD(per_message_messages_per_s).mean;
	double stable = SPREAD(stable_write_messages_per_s).mean;

	if (each > 0)
		fprintf(out, "%-*s the limit with a write for each message: %.1f k messages/s, of which this is %.2f\n",
			VARIANT_WIDTH, "", each / 1e3, SPREAD(fraction_of_per_message).mean);
	if (stable > 0)
		fprintf(out,
			"%-*s the limit with both trips of a stable message: %.1f k messages/s, of which this is %.2f\n",
			VARIANT_WIDTH, "", stable / 1e3, SPREAD(fraction_of_stable_write).mean);
	if (best > 0)
		fprintf(out, "%-*s the limit with writes of 64 KB: %.3f GB/s, of which this is %.2f\n", VARIANT_WIDTH,
			"", best / 1e9, share);
	if (sealed > 0)
		fprintf(out, "%-*s the limit with writes of 64 KB through OpenSSL: %.3f GB/s, of which this is %.2f\n",
			VARIANT_WIDTH, "", sealed / 1e9, SPREAD(fraction_of_sealed_write).mean);
	if (polling <= 0 || sleeping <= 0)
		return;
	print_pattern(out, plan, p50, "the bare pattern of a message, to all and acknowledged by all",
		      SPREAD(pattern_us[WH_LIMIT_POLLING]).mean, SPREAD(pattern_us[WH_LIMIT_SLEEPING]).mean);
	print_pattern(out, plan, p50, "the same, sent by a thread that sleeps beside those that wait",
		      SPREAD(sent_apart_us[WH_LIMIT_POLLING]).mean, SPREAD(sent_apart_us[WH_LIMIT_SLEEPING]).mean);
	fprintf(out, "%-*s a bare round trip%s", VARIANT_WIDTH, "",
		wh_bench_is_whole(plan) ? "" : ", to the farthest node");
	if (wh_bench_is_mixed(plan))
		fprintf(out, ", of %u B", plan->subgroups[0].bytes);
	fprintf(out, ": %.1f us polling, %.1f us sleeping", polling, sleeping);
	if (tells_latency(plan))
		fprintf(out, "; p50 is %.1f and %.1f of them", p50 / polling, p50 / sleeping);
	fprintf(out, "\n");
}

static uint64_t count_syncs(const struct wh_bench_result *results, size_t count)
{
	uint64_t syncs = 0;

	for (size_t i = 0; i < count; i++)
		syncs += results[i].log_syncs;
	return syncs;
}

/* Of durable subgroups: what their logs did, and what files can do. */
static void print_disk(FILE *out, const struct wh_bench_plan *plan, const struct wh_bench_result *results, size_t count)
{
	double longest_us = 0, appended_us = SPREAD(sync_us[0]).mean, p50 = SPREAD(latency_us[0]).mean;

	for (size_t i = 0; i < count; i++)
		longest_us = fmax(longest_us, results[i].longest_sync_us);
	fprintf(out, "%-*s on disk: %.1f messages a sync, the longest of %" PRIu64 " syncs took %.1f ms\n",
		VARIANT_WIDTH, "", SPREAD(messages_per_sync).mean, count_syncs(results, count), longest_us / 1e3);
	if (appended_us <= 0)
		return;
	fprintf(out, "%-*s the limit in a file that was written before: %.3f GB/s\n", VARIANT_WIDTH, "",
		SPREAD(written_bytes_per_s).mean / 1e9);
	fprintf(out, "%-*s a bare sync of one message: %.2f ms, %.2f ms in such a file", VARIANT_WIDTH, "",
		appended_us / 1e3, SPREAD(sync_us[1]).mean / 1e3);
	if (tells_latency(plan))
		fprintf(out, "; p50 is %.2f of the first", p50 / appended_us);
	fprintf(out, "\n");
}

/* One line for each doubt, of the first run that has it. */
static void print_doubts(FILE *out, const struct wh_bench_plan *plan, const struct wh_bench_result *results,
			 size_t count)
{
	uint32_t told = 0;

	for (size_t i = 0; i < count; i++) {
		const struct wh_bench_result *result = &results[i];
		uint32_t doubts = wh_bench_doubts(plan, result) & ~told;

		told |= doubts;
		if ((doubts & 1u << BENCH_DOUBT_SHORT) != 0)
			fprintf(out, "warning: run %u took %.1f ms, too short for figures: more [bench] messages\n",
				result->run, result->seconds * 1e3);
		if ((doubts & 1u << BENCH_DOUBT_LIMIT) != 0)
			fprintf(out,
				"warning: run %u is %.3g times the limit, which was not measured well: is the machine busy?\n",
				result->run, result->fraction_of_limit);
		if ((doubts & 1u << BENCH_DOUBT_UNSTEADY) != 0)
			fprintf(out,
				"warning: the limit was %.3f GB/s before run %u and %.3f after it: is the machine busy?\n",
				result->before.rate.bytes_per_s / 1e9, result->run,
				result->after.rate.bytes_per_s / 1e9);
	}
}

void wh_bench_print_verdict(FILE *out, const struct wh_bench_verdict *verdict)
{
	const char *order = verdict->unordered
				    ? "the same messages, each sender's in order where a subgroup is unordered"
				    : "the same messages in the same order";

	fputs("\nverdict: ", out);
	if (verdict->differ)
		fputs("NOT ALL MEMBERS HAVE DELIVERED THE SAME", out);
	else if (verdict->runs == 0)
		fputs("none, for no run has come to a good end", out);
	else if (verdict->apart)
		fputs("all was delivered here; whether the other nodes have delivered the same is to be seen from the order_digest of their --json",
		      out);
	else
		fprintf(out, "all members of each subgroup have delivered %s, in %s%u run%s", order,
			verdict->runs > 1 ? "each of " : "", verdict->runs, verdict->runs > 1 ? "s" : "");
	fputs("\n", out);
}

void wh_bench_print_row(FILE *out, const struct wh_bench_plan *plan, const struct wh_bench_result *results,
			size_t count)
{
	struct spread messages = SPREAD(messages_per_s), bytes = SPREAD(bytes_per_s);
	struct spread limit = SPREAD(limit_bytes_per_s), fraction = SPREAD(fraction_of_limit);
	const char *name = plan->text[0] != '\0' ? plan->text : "-";
	double delivered = 0, nulls = 0, writes = 0;
	bool limited = results[0].limited;
	char mean[32], deviation[32];

	for (size_t i = 0; i < count; i++) {
		delivered += (double)results[i].delivered / plan->here_count;
		nulls += (double)results[i].nulls;
		writes += (double)results[i].writes;
	}
	if (plan->deliveries != NULL) {
		fprintf(out, "%s: %.0f deliveries by each node, the same at all; %s\n", name, delivered,
			plan->deliveries);
		return;
	}
	fprintf(out, "%-*s", VARIANT_WIDTH, name);
	if (strlen(name) > VARIANT_WIDTH)
		fprintf(out, "\n%-*s", VARIANT_WIDTH, "");
	fprintf(out, " %8s %8s %8.3f %7.3f", wh_figure_text(messages.mean, mean, sizeof mean),
		wh_figure_text(messages.deviation, deviation, sizeof deviation), bytes.mean / 1e9,
		bytes.deviation / 1e9);
	print_latency(out, plan, results, count);
	if (limited)
		fprintf(out, " %8.3f %6.2f", limit.mean / 1e9, fraction.mean);
	else
		fprintf(out, " %8s %6s", "-", "-");
	fprintf(out, " %8.3f %9.4f\n", nulls / delivered, writes / delivered);
	if (wh_bench_is_mixed(plan))
		print_mix(out, plan, results, count);
	if (plan->durable)
		print_disk(out, plan, results, count);
	if (limited) {
		print_prefetched(out, results, count);
		print_more_limits(out, plan, results, count);
	}
	print_doubts(out, plan, results, count);
	if (plan->options.idle_seconds > 0)
		for (size_t i = 0; i < count; i++)
			print_idle(out, &results[i]);
}
