/* plan.c - the section [bench], and what it means for one variant of a file. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/sizes.h"
#include "command/scratch.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define BENCH(field) offsetof(struct wh_bench_options, field)

static const char *const some[] = {"none", "one", "half", "all", NULL};
static const char *const upcalls[] = {"message", "batch", "call", NULL};
static const char *const stages[] = {"engine", "baseline", "delivery", "receive", "send", "nulls", "deferred", NULL};
static const char *const senders[] = {"subgroup", "one", "half", "all", NULL};
static const char *const copies[] = {"none", "send", "delivery", "both", NULL};

static const struct wh_option bench_options[] = {
	{"messages", WH_OPTION_INTEGER, "messages", "1000000", 1, INT64_C(1000000000000), NULL,
	 "What each sender sends in each of its subgroups. With delayed senders a run of an ordered subgroup ends when "
	 "messages x senders are delivered, whichever node sent them.",
	 BENCH(messages), true},
	{"messages_total", WH_OPTION_INTEGER, "messages", "0", 0, INT64_C(1000000000000), NULL,
	 "0, or what all senders of all subgroups send together, each as much as the others: then messages does not count.",
	 BENCH(messages_total), true},
	{"bytes", WH_OPTION_INTEGER, "bytes", "10240", 0, 1 << 30, NULL,
	 "Size of each message, and of the slots of a subgroup that does not set message_bytes. Where the file does not say it, no more than the "
	 "least message_bytes. A section [bench NAME] has another for one subgroup.",
	 BENCH(bytes), true},
	{"runs", WH_OPTION_INTEGER, "", "5", 1, 1000, NULL, "Runs of each variant.", BENCH(runs), false},
	{"optimisations", WH_OPTION_CHOICE, "", "engine", 0, 0, stages,
	 "engine: as [engine] says; otherwise all up to this one, in the paper's order: baseline (none), batching of delivery, receive "
	 "and send, nulls, deferred pushes.",
	 BENCH(optimisations), true},
	{"senders", WH_OPTION_CHOICE, "", "subgroup", 0, 0, senders,
	 "subgroup: as each [subgroup] says; otherwise one, half or all of the members of each are its senders.",
	 BENCH(senders), true},
	{"subgroups", WH_OPTION_INTEGER, "subgroups", "1", 1, 1000, NULL,
	 "So many subgroups like the one of the file, which must have only one.", BENCH(subgroups), true},
	{"active_subgroups", WH_OPTION_CHOICE, "", "all", 0, 0, some,
	 "In how many of the subgroups something is sent: the first of them; the others are only looked after.",
	 BENCH(active_subgroups), true},
	{"copies", WH_OPTION_CHOICE, "", "none", 0, 0, copies,
	 "Messages are filled in place and read in place; send: made elsewhere and copied into the slot; delivery: copied out of it, then "
	 "read.",
	 BENCH(copies), true},
	{"sender_delay_us", WH_OPTION_INTEGER, "us", "0", 0, 60000000, NULL,
	 "A delayed sender waits busily for so long after each message, or batch; with thread = caller it runs the loop meanwhile.",
	 BENCH(sender_delay_us), true},
	{"sender_sleeps", WH_OPTION_SWITCH, "", "off", 0, 0, NULL,
	 "on: a delayed sender sleeps for its delay, and leaves its processor to others, as for the latency at low load.",
	 BENCH(sender_sleeps), false},
	{"delayed_senders", WH_OPTION_CHOICE, "", "none", 0, 0, some,
	 "How many of those that send are delayed: the ones of the lowest ranks, which all others' messages wait for.",
	 BENCH(delayed_senders), true},
	{"active_senders", WH_OPTION_CHOICE, "", "all", 0, 0, some,
	 "How many of the declared senders send: the ones of the highest ranks, for which the others owe most nulls.",
	 BENCH(active_senders), true},
	{"senders_per_node", WH_OPTION_INTEGER, "threads", "1", 1, 64, NULL,
	 "Application threads that share the sending of a node; 1 with thread = caller.", BENCH(senders_per_node), true},
	{"batch", WH_OPTION_INTEGER, "messages", "1", 1, BENCH_BATCH_MAX, NULL,
	 "A sender claims so many at a time, all or none, fills all and commits them together (whorl_claim_many, whorl_commit_many); the last ones "
	 "may be fewer. At most the window; 1 with upcall = call. A section [bench NAME] has another for one subgroup.",
	 BENCH(batch), true},
	{"processes", WH_OPTION_SWITCH, "", "on", 0, 0, NULL,
	 "on: each node is a process; off: all nodes are threads of the command.", BENCH(processes), false},
	{"upcall", WH_OPTION_CHOICE, "", "batch", 0, 0, upcalls,
	 "Deliveries come one message at a time, or all that are there at once; or each message is a call, which all "
	 "members apply, and its sender is answered (8 bytes).",
	 BENCH(upcall), true},
	{"latency_every", WH_OPTION_INTEGER, "messages", "64", 0, 1 << 20, NULL,
	 "One of so many messages is timed (rounded down to a power of two; every one when messages are few); 0: none.",
	 BENCH(latency_every), false},
	{"limit", WH_OPTION_SWITCH, "", "on", 0, 0, NULL,
	 "Measure what the machine can do without a protocol, before and after each run.", BENCH(limit), false},
	{"idle_seconds", WH_OPTION_INTEGER, "s", "0", 0, 3600, NULL,
	 "After the messages say nothing for so long, measure what that costs, then send one message more.",
	 BENCH(idle_seconds), false},
	{"give_up_s", WH_OPTION_INTEGER, "s", "30", 1, 86400, NULL,
	 "A run in which nothing is delivered anywhere for so long, and a sender's delay longer, has failed.",
	 BENCH(give_up_s), false},
};
const struct wh_option_table wh_bench_table = {
	"bench",       WH_OPTION_UNNAMED,    "What `whorl bench` does with the group.",
	bench_options, COUNT(bench_options), sizeof(struct wh_bench_options)};

/* ---- senders ------------------------------------------------------------------------------------------------------*/

/* Every sender is timed about 1024 times at least, if it sends that much. */
static unsigned latency_shift(const struct wh_bench_options *options)
{
	uint64_t every = (uint64_t)options->latency_every, enough = (uint64_t)options->messages / 1024;
	unsigned shift = 0;

	if (enough < every)
		every = enough;
	while (every >> (shift + 1) != 0)
		shift++;
	return shift;
}

static void plan_subgroup(struct wh_bench_plan *plan, uint32_t g)
{
	const struct wh_bench_options *options = &plan->options;
	const struct wh_view_subgroup *view = &plan->view->subgroups[g];
	const struct wh_subgroup_options *config = &plan->config.subgroups[view->configured].options;
	uint32_t active = wh_bench_vary_active(plan, g);
	bool copied = options->subgroups > 1; /* the first is what the file has */
	const char *name = plan->config.subgroups[copied ? 0 : view->configured].name;
	uint64_t stamps = 2;
	struct wh_bench_subgroup *out = &plan->subgroups[g];

	*out = (struct wh_bench_subgroup){
		.name = view->name,
		.members = view->members,
		.member_count = view->member_count,
		.senders = view->senders,
		.sender_count = view->sender_count,
		.active_first = view->sender_count - active,
		.active_count = active,
		.delayed_count = options->sender_delay_us > 0 ? wh_bench_some_of(options->delayed_senders, active) : 0,
		.window = (uint32_t)config->window,
		.bytes = (uint32_t)wh_bench_bytes_of(plan, name),
		.batch = (uint32_t)wh_bench_batch_of(plan, name),
		.ordered = config->mode != WH_SUBGROUP_UNORDERED,
		.durable = config->mode == WH_SUBGROUP_DURABLE,
		.expected = (uint64_t)options->messages * active,
		.latency_shift = latency_shift(options),
		.stamps_offset = plan->stamp_words,
	};
	/* In an unordered subgroup the first so many are not the same messages at all members, and cannot be compared. */
	out->by_total = out->ordered && out->delayed_count > 0;
	while (stamps << out->latency_shift < out->window + (UINT64_C(1) << out->latency_shift))
		stamps *= 2;
	out->stamp_mask = stamps - 1;
	plan->stamp_words += stamps * out->sender_count;
}

/* The nodes' lists from the configuration's text. Ranks of the first view are node ids. */
static enum whorl_result make_view(struct wh_bench_plan *plan)
{
	struct wh_subgroup_text *texts = calloc(plan->config.subgroup_count + 1, sizeof *texts);
	struct wh_newcomer nodes[WH_NODES_MAX];
	enum whorl_result result;

	if (texts == NULL)
		return WHORL_MEMORY;
	for (uint32_t id = 0; id < plan->nodes; id++)
		nodes[id] = (struct wh_newcomer){.id = id};
	wh_node_config_layout(&plan->config, texts);
	result = wh_view_create(&plan->view, 1, nodes, plan->nodes, plan->nodes,
				&(struct wh_layout_config){texts, plan->config.subgroup_count, NULL, NULL}, NULL);
	free(texts);
	return result;
}

/* ---- mistakes that only [bench] together with the group can show ------------------------------------------------------*/

bool wh_bench_has_mistake(const struct wh_conf *conf, const char *path)
{
	char needle[WH_OPTION_TEXT_BYTES + 8];

	snprintf(needle, sizeof needle, ": %s: ", path);
	return strstr(wh_conf_mistakes(conf), needle) != NULL;
}

/* The nodes of a run are the command's own, and all of a subgroup's senders talk to all of its members. */
static void find_layout_mistakes(const struct wh_bench_plan *plan)
{
	const char *name;

	if (wh_conf_instance(plan->conf, "subgroup", 0) == NULL)
		wh_conf_mistake(plan->conf, "group", NULL, NULL,
				"there is no subgroup, expected a section [subgroup NAME]");
	for (size_t g = 0; (name = wh_conf_instance(plan->conf, "subgroup", g)) != NULL; g++) {
		struct wh_subgroup_options subgroup;

		wh_conf_bind(plan->conf, plan->variant, &wh_subgroup_table, name, &subgroup);
		if (strcmp(subgroup.members, "function") == 0)
			wh_conf_mistake(plan->conf, "subgroup", name, "members",
					"is function, which whorl bench has none of; expected all, or node ids");
		if (strcmp(subgroup.members, "wish") == 0)
			wh_conf_mistake(plan->conf, "subgroup", name, "members",
					"is wish, and whorl bench enters none; expected all, or node ids");
		if (subgroup.shards > 1)
			wh_conf_mistake(plan->conf, "subgroup", name, "shards",
					"is %" PRId64 ", but whorl bench has no shards; expected 1", subgroup.shards);
	}
}

/* Where nothing may be sent there is nothing to measure. */
static enum whorl_result find_inactive(const struct wh_bench_plan *plan)
{
	enum whorl_result result = WHORL_OK;

	for (uint32_t g = 0; g < plan->subgroup_count; g++) {
		const struct wh_view_subgroup *subgroup = &plan->view->subgroups[g];

		if (subgroup->state == WH_SHARD_ACTIVE)
			continue;
		wh_conf_mistake(plan->conf, "subgroup", subgroup->name, "members_min",
				"is %" PRId64 ", expected at most %" PRIu32 ", the number of members",
				plan->config.subgroups[subgroup->configured].options.members_min,
				subgroup->member_count);
		result = WHORL_CONFIG;
	}
	return result;
}

/* Simulated nodes have no disks here. */
static void find_log_mistakes(const struct wh_bench_plan *plan)
{
	if (plan->config.group.transport == WH_TRANSPORT_SIM && wh_node_config_has_durable(&plan->config))
		wh_conf_mistake(
			plan->conf, "subgroup", plan->config.subgroups[0].name, "mode",
			"is durable, expected ordered or unordered with group.transport = sim, whose nodes have no disks");
}

/* The limit is of what is written, so all is, or there is none. */
static void fit_limit(struct wh_bench_plan *plan)
{
	uint32_t durable = 0;

	for (uint32_t g = 0; g < plan->config.subgroup_count; g++)
		durable += plan->config.subgroups[g].options.mode == WH_SUBGROUP_DURABLE;
	if (durable > 0 && durable < plan->config.subgroup_count)
		plan->options.limit = false;
}

static void find_mistakes(const struct wh_bench_plan *plan)
{
	const struct wh_bench_options *options = &plan->options;
	struct wh_engine_options engine;

	wh_conf_bind(plan->conf, plan->variant, &wh_engine_table, NULL, &engine);
	wh_bench_size_mistakes(plan);
	wh_bench_batch_mistakes(plan);
	find_layout_mistakes(plan);
	wh_bench_vary_mistakes(plan);
	wh_bench_sim_mistakes(plan);
	if (options->active_senders == BENCH_NONE)
		wh_conf_mistake(plan->conf, "bench", NULL, "active_senders", "is none, expected one of one, half, all");
	if (options->senders_per_node > 1 && engine.thread == WH_THREAD_CALLER)
		wh_conf_mistake(plan->conf, "bench", NULL, "senders_per_node",
				"is %" PRId64 ", expected 1 with engine.thread = caller: one thread does it all",
				options->senders_per_node);
	if (options->idle_seconds > 0 && options->sender_delay_us > 0 && options->delayed_senders != BENCH_NONE)
		wh_conf_mistake(plan->conf, "bench", NULL, "idle_seconds",
				"is %" PRId64 ", expected 0 with delayed senders", options->idle_seconds);
}

/* What each node allocates, held against its maximum, and all of it together. */
static enum whorl_result find_memory(struct wh_bench_plan *plan, struct wh_error *err)
{
	whorl_config *config = wh_config_borrow(plan->conf, &plan->config);
	enum whorl_result result = WHORL_OK;

	if (config == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a configuration");
	plan->memory = wh_bench_memory_bytes(plan);
	for (uint32_t id = 0; id < plan->nodes && result == WHORL_OK; id++) {
		uint64_t bytes = 0;

		result = whorl_estimate(config, id, &bytes);
		plan->memory += bytes;
		if (result != WHORL_OK) {
			wh_error_set(err, result, "%s", whorl_config_error(config));
		} else if (bytes > (uint64_t)plan->config.group.memory_max) {
			wh_conf_mistake(plan->conf, "group", NULL, "memory_max",
					"is %" PRId64 ", but node %u needs %" PRIu64 " bytes%s%s; "
					"expected smaller windows or messages, or a larger maximum",
					plan->config.group.memory_max, id, bytes, plan->text[0] != '\0' ? " with " : "",
					plan->text);
			result = WHORL_CONFIG;
		}
	}
	whorl_config_free(config);
	return result;
}

/* False: errno says why. */
static bool takes_directories(const char *path)
{
	struct stat status;

	if (stat(path, &status) != 0)
		return false;
	errno = ENOTDIR;
	return S_ISDIR(status.st_mode) && access(path, W_OK | X_OK) == 0;
}

enum whorl_result wh_bench_plan_has_disk(const struct wh_bench_plan *plan, struct wh_error *err)
{
	if (!plan->durable)
		return WHORL_OK;
	if (strlen(plan->log_dir) + sizeof WH_SCRATCH_NAME >= sizeof plan->log_dir)
		return wh_error_set(err, WHORL_UNSUPPORTED,
				    "group.log_dir is too long, expected at most %zu characters",
				    sizeof plan->log_dir - sizeof WH_SCRATCH_NAME - 1);
	if (!takes_directories(plan->log_dir))
		return wh_error_set(err, WHORL_UNSUPPORTED,
				    "group.log_dir is \"%s\", expected a directory in which others can be made: %s",
				    plan->log_dir, strerror(errno));
	return WHORL_OK;
}

/* ---- the plan ------------------------------------------------------------------------------------------------------*/

enum whorl_result wh_bench_plan_can_run(const struct wh_bench_plan *plan, struct wh_error *err)
{
	if (plan->config.group.transport != WH_TRANSPORT_VERBS || wh_limit_has_devices())
		return WHORL_OK;
	return wh_error_set(
		err, WHORL_UNSUPPORTED,
		"group.transport = verbs: this host has no RDMA device; ./run softroce tries it in a virtual "
		"machine");
}

enum whorl_result wh_bench_plan_make(struct wh_bench_plan *plan, struct wh_conf *conf, size_t variant,
				     struct wh_error *err)
{
	enum whorl_result result;

	*plan = (struct wh_bench_plan){.conf = conf, .variant = variant};
	wh_error_set(err, WHORL_MEMORY, "no memory for a plan");
	if (wh_bench_has_mistake(conf, "group.nodes")) /* every list of nodes would look wrong */
		return WHORL_CONFIG;
	wh_conf_variant_text(conf, variant, plan->text, sizeof plan->text);
	wh_conf_bind(conf, variant, &wh_bench_table, NULL, &plan->options);
	wh_bench_fit_bytes(plan);
	find_mistakes(plan);
	result = wh_node_config_bind(&plan->config, conf, variant);
	if (result == WHORL_OK && plan->config.group.nodes == 0) {
		wh_conf_mistake(conf, "group", NULL, "nodes",
				"is 0, expected at least 1: a benchmark is of so many nodes");
		result = WHORL_CONFIG;
	}
	if (result != WHORL_OK)
		goto out_free;
	wh_bench_fit_slots(plan);
	find_log_mistakes(plan);
	fit_limit(plan);
	plan->durable = wh_node_config_has_durable(&plan->config);
	memcpy(plan->log_dir, plan->config.group.log_dir, sizeof plan->log_dir);
	if (!plan->durable) /* its views are of no use behind the run */
		snprintf(plan->config.group.log_dir, sizeof plan->config.group.log_dir, "none");
	result = wh_conf_check(conf);
	if (result == WHORL_OK)
		result = wh_bench_vary_config(plan);
	if (result != WHORL_OK)
		goto out_free;
	plan->nodes = plan->here_count = (uint32_t)plan->config.group.nodes;
	plan->subgroup_count = plan->config.subgroup_count;
	plan->subgroups = calloc(plan->subgroup_count, sizeof *plan->subgroups);
	result = plan->subgroups == NULL ? WHORL_MEMORY : make_view(plan);
	if (result == WHORL_OK)
		result = find_inactive(plan);
	if (result != WHORL_OK)
		goto out_free;
	wh_bench_vary_messages(plan);
	for (uint32_t g = 0; g < plan->subgroup_count; g++)
		plan_subgroup(plan, g);
	result = find_memory(plan, err);
	if (result == WHORL_OK)
		return WHORL_OK;
out_free:
	wh_bench_plan_free(plan);
	return result;
}

void wh_bench_plan_one(struct wh_bench_plan *plan, uint32_t id)
{
	plan->here_first = id;
	plan->here_count = 1;
	plan->options.runs = 1;
	if (wh_bench_limit_kind(plan) != WH_LIMIT_TCP)
		plan->options.limit = false;
}

void wh_bench_plan_free(struct wh_bench_plan *plan)
{
	free(plan->subgroups);
	wh_view_free(plan->view);
	wh_node_config_free(&plan->config);
	*plan = (struct wh_bench_plan){0};
}

enum whorl_result wh_bench_plan_logs(struct wh_bench_plan *plan, struct wh_scratch *scratch)
{
	struct wh_error err;

	*scratch = (struct wh_scratch){{0}};
	if (!plan->durable)
		return WHORL_OK;
	if (wh_scratch_open(scratch, plan->log_dir, &err) != WHORL_OK) {
		wh_say("group.log_dir: %s", err.text);
		return err.code;
	}
	snprintf(plan->config.group.log_dir, sizeof plan->config.group.log_dir, "%s", scratch->path);
	return WHORL_OK;
}

enum wh_limit_kind wh_bench_limit_kind(const struct wh_bench_plan *plan)
{
	if (plan->durable)
		return WH_LIMIT_DISK;
	switch (plan->config.group.transport) {
	case WH_TRANSPORT_TCP:
		return WH_LIMIT_TCP;
	case WH_TRANSPORT_VERBS:
		return WH_LIMIT_VERBS;
	default:
		return WH_LIMIT_SHM;
	}
}

const char *const *wh_bench_plan_addresses(const struct wh_bench_plan *plan)
{
	const char **addresses = malloc(plan->nodes * (sizeof *addresses + WH_OPTION_TEXT_BYTES));
	char *texts = (char *)(addresses + plan->nodes);

	for (uint32_t id = 0; addresses != NULL && id < plan->nodes; id++, texts += WH_OPTION_TEXT_BYTES) {
		wh_node_config_address(&plan->config, id, texts);
		addresses[id] = texts;
	}
	return addresses;
}

struct wh_limit_ring *wh_bench_plan_rings(const struct wh_bench_plan *plan, size_t *count)
{
	struct wh_limit_ring *rings;
	size_t most = 0;

	for (uint32_t g = 0; g < plan->subgroup_count; g++)
		most += plan->subgroups[g].active_count;
	*count = 0;
	rings = calloc(most + 1, sizeof *rings);
	if (rings == NULL)
		return NULL;
	for (uint32_t g = 0; g < plan->subgroup_count; g++) {
		const struct wh_bench_subgroup *subgroup = &plan->subgroups[g];

		for (uint32_t rank = subgroup->active_first; rank < subgroup->sender_count; rank++)
			rings[(*count)++] = (struct wh_limit_ring){.writer = subgroup->senders[rank],
								   .readers = subgroup->members,
								   .reader_count = subgroup->member_count,
								   .window = subgroup->window,
								   .bytes = subgroup->bytes,
								   .batch = subgroup->batch};
	}
	return rings;
}
