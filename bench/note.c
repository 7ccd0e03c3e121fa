/* note.c - what a node of a benchmark has counted in a phase, without what came before. */
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "bench/node.h"

#define REST_TRIES 100 /* to read the counters of a node at rest */

/* Of the node's process. Nodes that are threads share one: the first speaks for all. */
static uint64_t cpu_ns(const struct wh_bench_node *node)
{
	struct rusage usage;

	if (node->world != NULL)
		return node->world->cpu_ns(node->world->ctx, node->id);
	if (!node->plan->options.processes && node->id != node->plan->here_first)
		return 0;
	getrusage(RUSAGE_SELF, &usage);
	return ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * WH_NS_PER_S +
	       ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * WH_NS_PER_US;
}

static void read_node(const struct wh_bench_node *node, struct whorl_node_stats *out)
{
	*out = (struct whorl_node_stats){.size = sizeof *out};
	whorl_node_statistics(node->node, out);
}

/* Of one moment: a heartbeat between two of its counters would look like another push. */
static void read_node_at_rest(const struct wh_bench_node *node, struct whorl_node_stats *out)
{
	struct whorl_node_stats before;
	int tries = 0;

	read_node(node, out);
	do {
		before = *out;
		sched_yield();
		read_node(node, out);
	} while ((out->pushes != before.pushes || out->heartbeats != before.heartbeats) && ++tries < REST_TRIES);
}

static void read_part(const struct wh_bench_node *node, uint32_t g, struct whorl_subgroup_stats *out)
{
	whorl_subgroup *handle = whorl_subgroup_find(node->node, node->plan->subgroups[g].name);

	*out = (struct whorl_subgroup_stats){.size = sizeof *out};
	if (handle != NULL)
		whorl_subgroup_statistics(handle, out);
}

static void read_log(const struct wh_bench_node *node, uint32_t g, struct whorl_log_stats *out)
{
	whorl_subgroup *handle = whorl_subgroup_find(node->node, node->plan->subgroups[g].name);

	*out = (struct whorl_log_stats){.size = sizeof *out};
	if (handle == NULL || !node->plan->subgroups[g].durable || whorl_log_statistics(handle, out) != WHORL_OK)
		*out = (struct whorl_log_stats){.size = sizeof *out};
}

bool wh_bench_baseline_open(struct wh_bench_baseline *baseline, const struct wh_bench_plan *plan)
{
	*baseline = (struct wh_bench_baseline){.parts = calloc(plan->subgroup_count, sizeof *baseline->parts),
					       .logs = calloc(plan->subgroup_count, sizeof *baseline->logs)};
	return baseline->parts != NULL && baseline->logs != NULL;
}

void wh_bench_baseline_close(struct wh_bench_baseline *baseline)
{
	free(baseline->parts);
	free(baseline->logs);
}

void wh_bench_baseline_take(const struct wh_bench_node *node, struct wh_bench_baseline *baseline)
{
	read_node(node, &baseline->node);
	for (uint32_t g = 0; g < node->plan->subgroup_count; g++) {
		read_part(node, g, &baseline->parts[g]);
		read_log(node, g, &baseline->logs[g]);
	}
	baseline->cpu_ns = cpu_ns(node);
	baseline->now_ns = wh_bench_time(node);
}

void wh_bench_baseline_take_at_rest(const struct wh_bench_node *node, struct wh_bench_baseline *baseline)
{
	wh_bench_baseline_take(node, baseline);
	read_node_at_rest(node, &baseline->node);
}

static void subtract_node(struct whorl_node_stats *from, const struct whorl_node_stats *earlier)
{
	from->steps -= earlier->steps;
	from->idle_steps -= earlier->idle_steps;
	from->yields -= earlier->yields;
	from->sleeps -= earlier->sleeps;
	from->pushes -= earlier->pushes;
	from->writes -= earlier->writes;
	from->bytes_pushed -= earlier->bytes_pushed;
	from->posts -= earlier->posts;
	from->post_ns -= earlier->post_ns;
	from->heartbeats -= earlier->heartbeats;
}

/* What is not a sum (frontiers, the slowest member) stays as it is now. */
static void subtract_part(struct whorl_subgroup_stats *from, const struct whorl_subgroup_stats *earlier)
{
	struct whorl_batch_stats *batches[] = {&from->send, &from->receive, &from->deliver};
	const struct whorl_batch_stats *before[] = {&earlier->send, &earlier->receive, &earlier->deliver};

	from->claimed -= earlier->claimed;
	from->sent -= earlier->sent;
	from->aborted -= earlier->aborted;
	from->delivered -= earlier->delivered;
	from->delivered_bytes -= earlier->delivered_bytes;
	from->nulls -= earlier->nulls;
	from->window_full -= earlier->window_full;
	from->window_wait_ns -= earlier->window_wait_ns;
	for (size_t b = 0; b < 3; b++) {
		batches[b]->batches -= before[b]->batches;
		batches[b]->events -= before[b]->events;
		for (size_t i = 0; i < sizeof before[b]->histogram / sizeof before[b]->histogram[0]; i++)
			batches[b]->histogram[i] -= before[b]->histogram[i];
	}
}

void wh_bench_note_run(struct wh_bench_node *node, const struct wh_bench_baseline *baseline)
{
	struct wh_bench_node_page *page = node->page;

	read_node(node, &page->stats);
	subtract_node(&page->stats, &baseline->node);
	for (uint32_t g = 0; g < node->plan->subgroup_count; g++) {
		struct wh_bench_part *part = wh_bench_part(node->memory, node->plan, node->id, g);

		read_part(node, g, &part->stats);
		subtract_part(&part->stats, &baseline->parts[g]);
		read_log(node, g, &part->log);
		part->log.batches -= baseline->logs[g].batches;
		part->log.syncs -= baseline->logs[g].syncs;
	}
	page->cpu_ns = cpu_ns(node) - baseline->cpu_ns;
}

void wh_bench_note_idle(struct wh_bench_node *node, const struct wh_bench_baseline *baseline)
{
	struct wh_bench_node_page *page = node->page;

	read_node_at_rest(node, &page->idle_stats);
	subtract_node(&page->idle_stats, &baseline->node);
	page->idle_cpu_ns = cpu_ns(node) - baseline->cpu_ns;
	page->idle_ns = wh_bench_time(node) - baseline->now_ns;
}
