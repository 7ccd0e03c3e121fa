/* check.c - before anything of a benchmark runs: is the file good, is there memory for each variant and its limit? */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/plot/figure.h"

#define LIMIT_MEASURE_MS 250 /* for each of three or six ways: with warm-up a limit takes one second or two */
#define DISK_MEASURE_MS 400  /* likewise, of ten: a sync can take many milliseconds */

/* Memory that the system could give now, in bytes; UINT64_MAX if it does not say. */
static uint64_t available_memory(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	uint64_t kib, found = UINT64_MAX;
	char line[256];

	if (file == NULL)
		return UINT64_MAX;
	while (fgets(line, sizeof line, file) != NULL)
		if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
			found = kib * 1024;
	fclose(file);
	return found;
}

/* Run and limit do not need their memory at the same time. */
static bool fits_in_memory(const struct wh_bench_plan *plan, const struct wh_limit_plan *limit, const char *file)
{
	uint64_t available = available_memory(), needed = plan->memory, limit_bytes = wh_limit_memory(limit);

	if (plan->options.limit && !wh_bench_is_simulated(plan) && limit_bytes > needed)
		needed = limit_bytes;
	if (needed <= available)
		return true;
	wh_say("%s: %s%sall nodes together need %.2f GiB, and this machine has %.2f GiB available", file, plan->text,
	       plan->text[0] != '\0' ? ": " : "", (double)needed / (1 << 30), (double)available / (1 << 30));
	return false;
}

enum whorl_result wh_bench_limit_plan_make(const struct wh_bench_plan *plan, struct wh_limit_plan *limit)
{
	size_t count;
	struct wh_limit_ring *rings = wh_bench_plan_rings(plan, &count);
	bool apart = !wh_bench_is_whole(plan);
	const char *const *addresses = apart ? wh_bench_plan_addresses(plan) : NULL;
	int *cpus = calloc(plan->nodes, sizeof *cpus);

	if (rings == NULL || cpus == NULL || (apart && addresses == NULL)) {
		free(rings);
		free((void *)addresses);
		free(cpus);
		return WHORL_MEMORY;
	}
	for (uint32_t id = 0; id < plan->nodes; id++)
		cpus[id] = wh_bench_is_caller(plan) ? -1 : wh_node_config_cpu(&plan->config, id);
	*limit = (struct wh_limit_plan){
		.kind = wh_bench_limit_kind(plan),
		.nodes = plan->nodes,
		.rings = rings,
		.ring_count = count,
		.processes = plan->options.processes || apart, /* one that waits for others can be stopped then */
		.tls = plan->config.group.tls || plan->config.group.protect == WH_PROTECT_ALL,
		.caller = wh_bench_is_caller(plan),
		.paced = plan->options.sender_sleeps,
		.spin = strcmp(wh_option_find(&wh_engine_table, "idle")->choices[plan->config.engine.idle], "spin") == 0,
		.huge = plan->config.engine.huge_pages != 0, /* off, try, require */
		.cpus = cpus,
		.directory = plan->log_dir,
		.measure_ms = plan->durable ? DISK_MEASURE_MS : LIMIT_MEASURE_MS,
		.addresses = addresses,
		.apart = apart,
		.here = plan->here_first,
		.group = plan->config.group.name,
	};
	return WHORL_OK;
}

void wh_bench_limit_plan_free(struct wh_limit_plan *limit)
{
	free((void *)limit->rings);
	free((void *)limit->cpus);
	free((void *)limit->addresses);
}

static enum wh_exit check_variant(struct wh_conf *conf, size_t variant, bool good, const char *file)
{
	struct wh_bench_plan plan;
	struct wh_limit_plan limit;
	struct wh_error err;
	enum whorl_result result = wh_bench_plan_make(&plan, conf, variant, &err);
	enum wh_exit status;

	if (result == WHORL_CONFIG || !good) {
		if (result == WHORL_OK)
			wh_bench_plan_free(&plan);
		fprintf(stderr, "%s\n", wh_conf_mistakes(conf));
		return WH_EXIT_USAGE;
	}
	if (result != WHORL_OK) {
		wh_say("%s: %s", file, err.text);
		return wh_exit_of(result);
	}
	result = wh_bench_limit_plan_make(&plan, &limit);
	if (result == WHORL_OK) {
		status = fits_in_memory(&plan, &limit, file) ? WH_EXIT_GOOD : WH_EXIT_MACHINE;
		wh_bench_limit_plan_free(&limit);
	} else {
		wh_say("%s: %s", file, whorl_result_text(result));
		status = wh_exit_of(result);
	}
	wh_bench_plan_free(&plan);
	return status;
}

/* Every variant is planned before the first runs, so that all mistakes come at once, and none after an hour. */
enum wh_exit wh_bench_check(struct wh_conf *conf, const char *file)
{
	bool good = wh_conf_check(conf) == WHORL_OK;
	enum wh_exit status = WH_EXIT_GOOD;

	if (good) {
		wh_figure_mistakes(conf);
		good = wh_conf_check(conf) == WHORL_OK;
	}
	if (!good && !wh_conf_has(conf, "group", NULL) && wh_conf_instance(conf, "subgroup", 0) == NULL) {
		fprintf(stderr, "%s\n", wh_conf_mistakes(conf)); /* there is no such file, or it is something else */
		return WH_EXIT_USAGE;
	}
	for (size_t variant = 0; variant < wh_conf_variants(conf) && status == WH_EXIT_GOOD; variant++)
		status = check_variant(conf, variant, good, file);
	return status;
}

enum wh_exit wh_bench_check_disk(struct wh_conf *conf, const char *file)
{
	enum whorl_result result = WHORL_OK;

	for (size_t variant = 0; variant < wh_conf_variants(conf) && result == WHORL_OK; variant++) {
		struct wh_bench_plan plan;
		struct wh_error err;

		result = wh_bench_plan_make(&plan, conf, variant, &err);
		if (result == WHORL_OK) {
			result = wh_bench_plan_has_disk(&plan, &err);
			wh_bench_plan_free(&plan);
		}
		if (result != WHORL_OK)
			wh_say("%s: %s", file, err.text);
	}
	return wh_exit_of(result);
}
