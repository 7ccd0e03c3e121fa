/* vary.c - the keys of [bench] that change the group which the file describes, so that a list of them makes variants: how
 * many senders and subgroups there are, which optimisations are on, how many messages that leaves for each.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench/node.h"

uint32_t wh_bench_some_of(int some, uint32_t count)
{
	switch (some) {
	case BENCH_NONE:
		return 0;
	case BENCH_ONE:
		return count < 1 ? count : 1;
	case BENCH_HALF:
		return (count + 1) / 2;
	default:
		return count;
	}
}

uint32_t wh_bench_vary_active(const struct wh_bench_plan *plan, uint32_t g)
{
	if (g >= wh_bench_some_of(plan->options.active_subgroups, plan->subgroup_count))
		return 0;
	return wh_bench_some_of(plan->options.active_senders, plan->view->subgroups[g].sender_count);
}

void wh_bench_vary_mistakes(const struct wh_bench_plan *plan)
{
	static const char *const switches[] = {"send_batching", "receive_batching", "delivery_batching", "null_sends",
					       "deferred_push"};
	const struct wh_bench_options *options = &plan->options;
	struct wh_conf *conf = plan->conf;

	for (size_t s = 0; options->optimisations != BENCH_STAGE_ENGINE && s < sizeof switches / sizeof switches[0];
	     s++)
		if (wh_conf_given(conf, "engine", NULL, switches[s]))
			wh_conf_mistake(conf, "engine", NULL, switches[s],
					"is given, expected nothing, as bench.optimisations says it");
	if (options->subgroups > 1 && wh_conf_instance(conf, "subgroup", 1) != NULL)
		wh_conf_mistake(conf, "bench", NULL, "subgroups",
				"is %" PRId64 ", expected 1 where the file has several subgroups", options->subgroups);
	if (options->active_subgroups == BENCH_NONE)
		wh_conf_mistake(conf, "bench", NULL, "active_subgroups", "is none, expected one of one, half, all");
}

/* Name and all: "orders", "orders-2", "orders-3". */
static enum whorl_result copy_subgroup(struct wh_node_config *config, uint32_t count)
{
	struct wh_node_subgroup *copies = realloc(config->subgroups, count * sizeof *copies);
	char first[WH_NAME_BYTES];

	if (copies == NULL)
		return WHORL_MEMORY;
	config->subgroups = copies;
	memcpy(first, copies[0].name, sizeof first);
	for (; config->subgroup_count < count; config->subgroup_count++) {
		struct wh_node_subgroup *copy = &copies[config->subgroup_count];

		*copy = copies[0];
		snprintf(copy->name, sizeof copy->name, "%.*s-%" PRIu32, WH_NAME_BYTES - 12, first,
			 config->subgroup_count + 1);
	}
	return WHORL_OK;
}

static void switch_stages(struct wh_engine_options *engine, int stage)
{
	if (stage == BENCH_STAGE_ENGINE)
		return;
	engine->delivery_batching = stage >= BENCH_STAGE_DELIVERY;
	engine->receive_batching = stage >= BENCH_STAGE_RECEIVE;
	engine->send_batching = stage >= BENCH_STAGE_SEND;
	engine->null_sends = stage >= BENCH_STAGE_NULLS;
	engine->deferred_push = stage >= BENCH_STAGE_DEFERRED;
}

enum whorl_result wh_bench_vary_config(struct wh_bench_plan *plan)
{
	struct wh_node_config *config = &plan->config;
	const struct wh_bench_options *options = &plan->options;
	const char *senders = wh_option_find(&wh_bench_table, "senders")->choices[options->senders];

	switch_stages(&config->engine, options->optimisations);
	for (uint32_t g = 0; options->senders != BENCH_NONE && g < config->subgroup_count; g++)
		snprintf(config->subgroups[g].options.senders, sizeof config->subgroups[g].options.senders, "%s",
			 senders);
	if (options->subgroups == 1 || config->subgroup_count != 1) /* the latter is a mistake that has been noted */
		return WHORL_OK;
	return copy_subgroup(config, (uint32_t)options->subgroups);
}

void wh_bench_vary_messages(struct wh_bench_plan *plan)
{
	struct wh_bench_options *options = &plan->options;
	int64_t senders = 0;

	if (options->messages_total == 0)
		return;
	for (uint32_t g = 0; g < plan->subgroup_count; g++)
		senders += wh_bench_vary_active(plan, g);
	options->messages = senders > 0 ? options->messages_total / senders : 0;
	options->messages += options->messages == 0; /* each sender sends at least one */
}

bool wh_bench_outside(const struct wh_bench_plan *plan, int side, void **out)
{
	size_t bytes = 1;

	for (uint32_t g = 0; g < plan->subgroup_count; g++)
		bytes = plan->subgroups[g].bytes > bytes ? plan->subgroups[g].bytes : bytes;
	*out = NULL;
	if (plan->options.copies != side && plan->options.copies != BENCH_COPIES_BOTH)
		return true;
	*out = calloc(1, bytes);
	return *out != NULL;
}
