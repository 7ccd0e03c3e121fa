/* sizes.c - how large the messages of each subgroup are, and how many are claimed at a time: [bench] bytes and batch, and what [bench NAME]
 * says instead; do they fit?
 */
#include <inttypes.h>
#include <stddef.h>

#include "bench/sizes.h"

static const struct wh_option bench_subgroup_options[] = {
	{"bytes", WH_OPTION_INTEGER, "bytes", "-1", -1, 1 << 30, NULL,
	 "Size of each message of this subgroup, and of its slots if it does not set message_bytes; -1: as [bench] bytes says.",
	 offsetof(struct wh_bench_subgroup_options, bytes), true},
	{"batch", WH_OPTION_INTEGER, "messages", "0", 0, BENCH_BATCH_MAX, NULL,
	 "How many messages of this subgroup a sender claims and commits at a time; 0: as [bench] batch says.",
	 offsetof(struct wh_bench_subgroup_options, batch), true},
};
const struct wh_option_table wh_bench_subgroup_table = {
	"bench",
	WH_OPTION_NAMED,
	"What is not as [bench] says in the subgroup NAME. Each sender sends as many messages there as in its other subgroups.",
	bench_subgroup_options,
	sizeof bench_subgroup_options / sizeof bench_subgroup_options[0],
	sizeof(struct wh_bench_subgroup_options)};

/* What [bench NAME] says. */
static struct wh_bench_subgroup_options own(const struct wh_bench_plan *plan, const char *name)
{
	struct wh_bench_subgroup_options options;

	wh_conf_bind(plan->conf, plan->variant, &wh_bench_subgroup_table, name, &options);
	return options;
}

int64_t wh_bench_bytes_of(const struct wh_bench_plan *plan, const char *name)
{
	int64_t bytes = own(plan, name).bytes;

	return bytes >= 0 ? bytes : plan->options.bytes;
}

int64_t wh_bench_batch_of(const struct wh_bench_plan *plan, const char *name)
{
	int64_t batch = own(plan, name).batch;

	return batch > 0 ? batch : plan->options.batch;
}

/* False: it does not say it, and its slots will fit. */
static bool says_slots(const struct wh_bench_plan *plan, const char *name, int64_t *message_bytes)
{
	struct wh_subgroup_options options;

	wh_conf_bind(plan->conf, plan->variant, &wh_subgroup_table, name, &options);
	*message_bytes = options.message_bytes;
	return wh_conf_given(plan->conf, "subgroup", name, "message_bytes");
}

void wh_bench_fit_bytes(struct wh_bench_plan *plan)
{
	const char *name;
	int64_t most;

	if (wh_conf_given(plan->conf, "bench", NULL, "bytes"))
		return;
	for (size_t g = 0; (name = wh_conf_instance(plan->conf, "subgroup", g)) != NULL; g++)
		if (own(plan, name).bytes < 0 && says_slots(plan, name, &most) && most < plan->options.bytes)
			plan->options.bytes = most;
}

/* Has the key of [bench] or [bench SECTION], or that of [subgroup NAME], a mistake of its own, which has been noted? */
static bool has_own_mistake(const struct wh_bench_plan *plan, const char *section, const char *key, const char *name,
			    const char *subgroup_key)
{
	char mine[WH_OPTION_TEXT_BYTES], its[WH_OPTION_TEXT_BYTES];

	snprintf(mine, sizeof mine, "bench%s%s.%s", section != NULL ? " " : "", section != NULL ? section : "", key);
	snprintf(its, sizeof its, "subgroup %s.%s", name, subgroup_key);
	return wh_bench_has_mistake(plan->conf, mine) || wh_bench_has_mistake(plan->conf, its);
}

static void find_too_large(const struct wh_bench_plan *plan, const char *name)
{
	const char *section = own(plan, name).bytes >= 0 ? name : NULL;
	int64_t bytes = wh_bench_bytes_of(plan, name), most;

	if (!says_slots(plan, name, &most) || bytes <= most ||
	    has_own_mistake(plan, section, "bytes", name, "message_bytes"))
		return;
	wh_conf_mistake(plan->conf, "bench", section, "bytes",
			"is %" PRId64 ", expected at most %" PRId64 ", the message_bytes of subgroup %s", bytes, most,
			name);
}

void wh_bench_size_mistakes(const struct wh_bench_plan *plan)
{
	const char *name;

	for (size_t g = 0; (name = wh_conf_instance(plan->conf, "subgroup", g)) != NULL; g++)
		find_too_large(plan, name);
	for (size_t g = 0; (name = wh_conf_instance(plan->conf, "bench", g)) != NULL; g++)
		if (!wh_conf_has(plan->conf, "subgroup", name))
			wh_conf_mistake(plan->conf, "bench", name, NULL,
					"there is no such subgroup, expected the name of a section [subgroup NAME]");
}

/* More than its window can never be had, and calls are committed one by one. */
static void find_batch_mistake(const struct wh_bench_plan *plan, const char *name)
{
	const char *section = own(plan, name).batch > 0 ? name : NULL;
	int64_t batch = wh_bench_batch_of(plan, name);
	struct wh_subgroup_options subgroup;

	wh_conf_bind(plan->conf, plan->variant, &wh_subgroup_table, name, &subgroup);
	if (has_own_mistake(plan, section, "batch", name, "window"))
		return;
	if (batch > subgroup.window)
		wh_conf_mistake(plan->conf, "bench", section, "batch",
				"is %" PRId64 ", expected at most %" PRId64 ", the window of subgroup %s", batch,
				subgroup.window, name);
	else if (batch > 1 && plan->options.upcall == BENCH_UPCALL_CALL)
		wh_conf_mistake(plan->conf, "bench", section, "batch",
				"is %" PRId64 ", expected 1 with upcall = call: calls are committed one by one", batch);
}

void wh_bench_batch_mistakes(const struct wh_bench_plan *plan)
{
	const char *name;

	for (size_t g = 0; (name = wh_conf_instance(plan->conf, "subgroup", g)) != NULL; g++)
		find_batch_mistake(plan, name);
}

void wh_bench_fit_slots(struct wh_bench_plan *plan)
{
	for (uint32_t g = 0; g < plan->config.subgroup_count; g++) {
		struct wh_node_subgroup *subgroup = &plan->config.subgroups[g];
		int64_t bytes = wh_bench_bytes_of(plan, subgroup->name), said;

		if (!says_slots(plan, subgroup->name, &said))
			subgroup->options.message_bytes = bytes > 0 ? bytes : 1;
	}
}

bool wh_bench_is_mixed(const struct wh_bench_plan *plan)
{
	const struct wh_bench_subgroup *first = &plan->subgroups[0]; /* something is sent there */

	for (uint32_t g = 1; g < plan->subgroup_count; g++)
		if (plan->subgroups[g].active_count > 0 && plan->subgroups[g].bytes != first->bytes)
			return true;
	return false;
}

double wh_bench_mean_bytes(const struct wh_bench_plan *plan)
{
	double messages = 0, bytes = 0;

	for (uint32_t g = 0; g < plan->subgroup_count; g++) {
		const struct wh_bench_subgroup *subgroup = &plan->subgroups[g];
		double delivered = (double)subgroup->expected * subgroup->member_count;

		messages += delivered;
		bytes += delivered * subgroup->bytes;
	}
	return messages > 0 ? bytes / messages : 0;
}
