/* plan.c - see plan.h. */
#include "sim/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "predicates/hot.h"
#include "smc/slots.h"
#include "transport/dice.h"
#include "transport/transport.h"

void *wh_plan_alloc(size_t count, size_t bytes)
{
	void *memory = calloc(count ? count : 1, bytes);

	if (memory == NULL) {
		fprintf(stderr, "no memory for a run\n");
		exit(2);
	}
	return memory;
}

/* Small ones often, large ones sometimes: uniform in the number of bits. */
static uint64_t draw_skewed(struct wh_dice *dice, uint64_t least, uint64_t most)
{
	unsigned bits = 64u - (unsigned)__builtin_clzll(most - least + 1);
	uint64_t span = UINT64_C(1) << wh_dice_below(dice, bits + 1);

	if (span > most - least + 1)
		span = most - least + 1;
	return least + wh_dice_below(dice, span);
}

/* ---- nodes -------------------------------------------------------------------------------------------------------------- */

static uint32_t draw_nodes(struct wh_dice *dice, const struct wh_plan_limits *limits)
{
	uint32_t nodes;

	if (limits->nodes_min > 0)
		return (uint32_t)wh_dice_between(dice, limits->nodes_min, limits->nodes);
	if (wh_dice_one_in(dice, 32))
		return 1;
	nodes = (uint32_t)(wh_dice_one_in(dice, 6) ? wh_dice_between(dice, 6, 16) : wh_dice_between(dice, 2, 5));
	return nodes < limits->nodes ? nodes : limits->nodes;
}

/* A subset of `of`, never empty. */
static uint64_t draw_subset(struct wh_dice *dice, uint64_t of)
{
	uint64_t subset = 0;

	if (wh_dice_one_in(dice, 2))
		return of;
	while (subset == 0)
		subset = wh_dice_roll(dice) & of;
	return subset;
}

static void write_list(char *text, uint64_t set)
{
	text[0] = '\0';
	for (unsigned i = 0; i < 64; i++)
		if (set >> i & 1)
			wh_text_add_id(text, WH_OPTION_TEXT_BYTES, ",", i);
}

/* Every second of `set`, or the first alone: what the words "half" and "one" mean. */
static uint64_t thin_set(uint64_t set, bool half)
{
	uint64_t thinned = 0;
	unsigned seen = 0;

	for (unsigned i = 0; i < 64; i++)
		if (set >> i & 1 && seen++ % 2 == 0 && (half || seen == 1))
			thinned |= UINT64_C(1) << i;
	return thinned;
}

static void draw_members(struct wh_dice *dice, uint32_t nodes, struct wh_plan_subgroup *out,
			 struct wh_subgroup_options *options)
{
	uint64_t all = (UINT64_C(1) << nodes) - 1;

	out->members = draw_subset(dice, all);
	if (out->members == all)
		snprintf(options->members, sizeof(options->members), "all");
	else
		write_list(options->members, out->members);
	switch (wh_dice_below(dice, 6)) {
	case 0:
		out->senders = thin_set(out->members, false);
		snprintf(options->senders, sizeof(options->senders), "one");
		break;
	case 1:
		out->senders = thin_set(out->members, true);
		snprintf(options->senders, sizeof(options->senders), "half");
		break;
	default:
		out->senders = draw_subset(dice, out->members);
		write_list(options->senders, out->senders);
	}
	options->shards = options->members_min = 1;
	out->member_count = (uint32_t)__builtin_popcountll(out->members);
	out->sender_count = (uint32_t)__builtin_popcountll(out->senders);
}

/* ---- how a group begins ------------------------------------------------------------------------------------------------- */

static uint32_t draw_ids(struct wh_dice *dice, const struct wh_plan_limits *limits, uint32_t nodes)
{
	uint32_t ids = nodes, most = WH_PLAN_IDS_MAX;

	if (!limits->joins)
		return nodes;
	if (wh_dice_one_in(dice, 20))
		ids += (uint32_t)wh_dice_between(dice, 4, 8);
	else if (!wh_dice_one_in(dice, 3))
		ids += (uint32_t)wh_dice_between(dice, 1, 3);
	if (ids < limits->ids)
		ids = limits->ids;
	return ids < most ? ids : most;
}

const char *const wh_plan_formings[] = {"any", "all", "host", "disk", NULL};

/* A founder needs one of the others, and on one host nothing is cut off. */
static void draw_forming(struct wh_plan *plan, const struct wh_plan_limits *limits)
{
	struct wh_dice of_this = wh_dice_split(plan->seed, 104), *dice = &of_this;
	enum wh_plan_forming forming = (enum wh_plan_forming)wh_dice_between(dice, WH_PLAN_FORM_ALL, WH_PLAN_FORM_DISK);

	if (limits->forming != WH_PLAN_FORM_ANY)
		forming = limits->forming;
	else if (limits->disks) /* a durable group is formed by all */
		forming = WH_PLAN_FORM_ALL;
	if (forming == WH_PLAN_FORM_HOST && limits->network)
		forming = WH_PLAN_FORM_DISK;
	if (forming == WH_PLAN_FORM_ALL && wh_node_config_founder(&plan->config) >= 0)
		forming = WH_PLAN_FORM_DISK;
	plan->one_host = forming == WH_PLAN_FORM_HOST;
	plan->disks = forming == WH_PLAN_FORM_DISK;
}

static void draw_beginning(struct wh_plan *plan, const struct wh_plan_limits *limits)
{
	struct wh_dice of_this = wh_dice_split(plan->seed, 103), *dice = &of_this;
	struct wh_group_options *group = &plan->config.group;
	uint64_t timeout_ns = (uint64_t)group->failure_timeout_ms * WH_NS_PER_MS;

	group->nodes_max = draw_ids(dice, limits, (uint32_t)group->nodes);
	if (!limits->joins)
		return;
	if (wh_dice_one_in(dice, 5))
		snprintf(group->founder, sizeof(group->founder), "%u",
			 (unsigned)wh_dice_below(dice, (uint64_t)group->nodes));
	if (limits->disks)
		snprintf(group->founder, sizeof(group->founder), "none");
	group->start_timeout_ms = (int64_t)wh_dice_between(dice, 10, wh_dice_one_in(dice, 2) ? 30 : 200);
	plan->spread_ns = wh_dice_one_in(dice, 2) ? 0 : wh_dice_below(dice, 4 * timeout_ns);
	plan->early = wh_dice_one_in(dice, 4);
	plan->restarts_form = !wh_dice_one_in(dice, 4);
	draw_forming(plan, limits);
	plan->state_bytes = wh_dice_one_in(dice, 3) ? wh_dice_between(dice, 1, 50000) : 1;
	if (wh_dice_one_in(dice, 24))
		group->backlog_max = (int64_t)wh_dice_between(dice, 100, 5000);
}

/* Several shards, or a minimum that a few deaths go below. */
static void draw_shards(struct wh_dice *dice, const struct wh_plan_subgroup *subgroup,
			struct wh_subgroup_options *options)
{
	if (subgroup->member_count > 1 && wh_dice_one_in(dice, 4))
		options->shards = (int64_t)wh_dice_between(dice, 2, subgroup->member_count < 3 ? 2 : 3);
	if (wh_dice_one_in(dice, 4))
		options->members_min = (int64_t)wh_dice_between(dice, 1, subgroup->member_count);
}

/* Which nodes are members and which send is another matter in each view. */
static void draw_function(uint32_t nodes, struct wh_plan_subgroup *out, struct wh_subgroup_options *options)
{
	out->by_function = true;
	out->members = out->senders = (UINT64_C(1) << nodes) - 1;
	out->member_count = out->sender_count = nodes;
	snprintf(options->members, sizeof(options->members), "function");
	snprintf(options->senders, sizeof(options->senders), "all");
}

/* In some of them members also move from shard to shard, each at views of its own, so that most shards keep some member. */
static void draw_moves(const struct wh_plan *plan, uint32_t g, struct wh_plan_subgroup *out,
		       struct wh_subgroup_options *options)
{
	struct wh_dice of_this = wh_dice_split(plan->seed, 500 + g), *dice = &of_this; /* what else is drawn stays */

	/* A durable shard is its members' logs: one that all leave for another has none. */
	out->moves = out->by_function && wh_dice_one_in(dice, 3) && !out->durable;
	if (out->moves && options->shards == 1)
		options->shards = (int64_t)wh_dice_between(dice, 2, 3);
}

static uint64_t shard_of(const struct wh_plan *plan, uint64_t g, uint64_t who, uint64_t view)
{
	uint64_t shards = (uint64_t)plan->config.subgroups[g].options.shards;

	return (plan->subgroups[g].moves ? wh_mix(who + (view + who % 3) / 3) : who) % shards;
}

/* For long enough that others have come to have its state, a node is a member, or is none. */
enum whorl_role wh_plan_layout(const struct whorl_view *view, const char *subgroup, uint32_t shard, uint32_t id,
			       void *ctx)
{
	const struct wh_plan *plan = ctx;
	uint64_t g = strtoull(subgroup + 1, NULL, 10), who = wh_mix(plan->seed ^ wh_mix(g << 32 | id));

	if (shard_of(plan, g, who, view->number) != shard)
		return WHORL_NO_MEMBER;
	if (wh_mix(who + view->number / 4) % 8 == 0)
		return WHORL_NO_MEMBER;
	return wh_mix(who + view->number) % 4 == 0 ? WHORL_MEMBER : WHORL_SENDER;
}

/* ---- how much --------------------------------------------------------------------------------------------------------- */

/* Of a subgroup, in all rows and all copies of them. */
static uint64_t rows_bytes(const struct wh_plan_subgroup *subgroup, const struct wh_subgroup_options *options)
{
	struct wh_slots slots;
	uint64_t ring = wh_slots_lay(&slots, 0, (uint32_t)options->window, (uint32_t)options->message_bytes, true);

	return (ring + WH_ROW_ALIGN) * subgroup->sender_count * subgroup->member_count;
}

static void draw_sizes(struct wh_dice *dice, const struct wh_plan_limits *limits, uint32_t share,
		       struct wh_plan_subgroup *subgroup, struct wh_subgroup_options *options)
{
	uint64_t each = (uint64_t)subgroup->sender_count * subgroup->member_count;
	uint64_t most = limits->deliveries / share / each, most_by_bytes;

	options->window = wh_dice_one_in(dice, 3)
				  ? (int64_t)draw_skewed(dice, 1, limits->window > 0 ? limits->window : 1000)
				  : (int64_t)wh_dice_between(dice, 1, 6);
	options->message_bytes = (int64_t)draw_skewed(dice, 1, 65536);
	while (rows_bytes(subgroup, options) > limits->rows_bytes / share && options->message_bytes > 1)
		options->message_bytes /= 2;
	while (rows_bytes(subgroup, options) > limits->rows_bytes / share && options->window > 1)
		options->window /= 2;
	/* Enough to fill the ring more than once, if that may be. */
	subgroup->messages = (uint32_t)wh_dice_between(dice, 1, 4 * (uint64_t)options->window + 8);
	most_by_bytes = limits->data_bytes / share / each / (uint64_t)options->message_bytes;
	if (most > most_by_bytes)
		most = most_by_bytes;
	if (limits->messages > 0 && most > limits->messages)
		most = limits->messages;
	if (subgroup->messages > most)
		subgroup->messages = most > 0 ? (uint32_t)most : 1;
}

/* Messages larger than a slot, up to the whole window, in most subgroups; with dice of their own. Not where progress needs that all
 * senders have equally many rounds. */
static void draw_large(struct wh_plan *plan, uint32_t g, struct wh_subgroup_options *options)
{
	struct wh_dice of_this = wh_dice_split(plan->seed, 4000 + g), *dice = &of_this;

	if (wh_dice_one_in(dice, 8) || plan->subgroups[g].even)
		return;
	options->message_bytes = (options->message_bytes + 15) / 16 * 16;
	if (options->window == 1)
		options->window = 2;
	options->large_bytes = wh_dice_one_in(dice, 3)
				       ? options->window * options->message_bytes
				       : (int64_t)wh_dice_between(dice, (uint64_t)options->message_bytes + 1,
								  (uint64_t)(options->window * options->message_bytes));
}

/* In most ordered subgroups all slots, or those that are not small; with dice of their own. On one host there is one memory. */
static void draw_relays(struct wh_plan *plan, uint32_t g, struct wh_subgroup_options *options)
{
	struct wh_dice of_this = wh_dice_split(plan->seed, 8000 + g), *dice = &of_this;

	if (plan->proofs || !plan->subgroups[g].ordered || wh_dice_one_in(dice, 8))
		return;
	options->relay_bytes =
		wh_dice_one_in(dice, 3) ? 1 : (int64_t)wh_dice_between(dice, 1, (uint64_t)options->message_bytes);
}

/* With dice of their own. */
static void draw_calls(struct wh_plan *plan, uint32_t g)
{
	struct wh_dice dice = wh_dice_split(plan->seed, 6000 + g);

	plan->subgroups[g].calls = plan->subgroups[g].ordered && !wh_dice_one_in(&dice, 8);
}

#define CHECKED 8 /* of so many plans with disks in one */

/* What the disks of a group are: logs in small batches and files, so that both ends of these are met; or as they are in programs. */
static void draw_logs(struct wh_plan *plan)
{
	struct wh_dice of_this = wh_dice_split(plan->seed, 108), *dice = &of_this;
	struct wh_group_options *group = &plan->config.group;

	plan->logs = true;
	snprintf(group->log_dir, sizeof(group->log_dir), WH_PLAN_LOG_DIR);
	group->disk_timeout_ms = (int64_t)wh_dice_between(dice, 3, 12) * group->failure_timeout_ms;
	plan->config.batch_bytes = wh_dice_one_in(dice, 24) ? 0 : (uint32_t)wh_dice_between(dice, 64, 8192);
	of_this = wh_dice_split(plan->seed, 116);
	if (wh_dice_one_in(dice, CHECKED)) /* they are read again all the time */
		plan->config.check_ns = wh_dice_between(dice, 1, 20) * WH_NS_PER_MS;
}

/* In half of them the log is soon long enough for a checkpoint. With dice of their own. */
static void draw_durable(struct wh_plan *plan, uint32_t g, struct wh_subgroup_options *options)
{
	struct wh_dice of_this = wh_dice_split(plan->seed, 7000 + g), *dice = &of_this;

	options->log_bytes = wh_dice_one_in(dice, 2) ? INT64_C(1) << 20 : (int64_t)wh_dice_between(dice, 256, 16384);
	if (!plan->subgroups[g].ordered || wh_dice_one_in(dice, 8))
		return;
	plan->subgroups[g].durable = true;
	options->mode = WH_SUBGROUP_DURABLE;
}

static void draw_subgroup(const struct wh_plan_limits *limits, struct wh_plan *plan, uint32_t g)
{
	struct wh_dice of_this = wh_dice_split(plan->seed, 110 + g), *dice = &of_this;
	struct wh_node_subgroup *out = &plan->config.subgroups[g];
	struct wh_plan_subgroup *subgroup = &plan->subgroups[g];

	snprintf(out->name, sizeof(out->name), "g%u", g);
	draw_members(dice, wh_node_config_nodes_max(&plan->config), subgroup, &out->options);
	if (limits->shards && wh_dice_one_in(dice, 5))
		draw_function(wh_node_config_nodes_max(&plan->config), subgroup, &out->options);
	subgroup->ordered = !wh_dice_one_in(dice, 5);
	subgroup->even = !plan->config.engine.null_sends && (!wh_dice_one_in(dice, 4) || limits->all_progress);
	out->options.mode = subgroup->ordered;
	draw_sizes(dice, limits, plan->config.subgroup_count, subgroup, &out->options);
	if (limits->large)
		draw_large(plan, g, &out->options);
	if (limits->relays)
		draw_relays(plan, g, &out->options);
	if (limits->calls)
		draw_calls(plan, g);
	if (limits->disks)
		draw_durable(plan, g, &out->options);
	if (limits->shards)
		draw_shards(dice, subgroup, &out->options);
	draw_moves(plan, g, subgroup, &out->options);
}

/* Dynamic subgroups: small ones, in which nodes come and go while messages are sent. */
static void draw_name(const struct wh_plan_limits *limits, struct wh_plan *plan, uint32_t i)
{
	struct wh_dice of_this = wh_dice_split(plan->seed, 5000 + i), *dice = &of_this;
	struct wh_plan_name *name = &plan->names[i];
	uint32_t ids = wh_node_config_nodes_max(&plan->config);

	snprintf(name->name, sizeof(name->name), "d%u", i);
	name->subgroup.member_count = name->subgroup.sender_count = ids;
	name->subgroup.ordered = !wh_dice_one_in(dice, 4);
	name->options.mode = name->subgroup.ordered;
	name->options.shards = name->options.members_min = 1;
	draw_sizes(dice, limits, plan->config.subgroup_count + plan->name_count, &name->subgroup, &name->options);
	if (limits->large && wh_dice_one_in(dice, 2) && name->options.window > 1) {
		name->options.message_bytes = (name->options.message_bytes + 15) / 16 * 16;
		name->options.large_bytes = name->options.window * name->options.message_bytes;
	}
	name->state = plan->state_bytes > 0 && !wh_dice_one_in(dice, 3);
}

static void draw_names(const struct wh_plan_limits *limits, struct wh_plan *plan)
{
	struct wh_dice dice = wh_dice_split(plan->seed, 106);

	plan->name_count = (uint32_t)wh_dice_between(&dice, 2, WH_NAMES_DRAWN_MAX);
	for (uint32_t i = 0; i < plan->name_count; i++)
		draw_name(limits, plan, i);
}

/* One of them is in the file, which has its parameters: nodes enter it as any other. */
static void draw_listed(struct wh_plan *plan)
{
	struct wh_dice of_this = wh_dice_split(plan->seed, 107), *dice = &of_this;
	struct wh_node_subgroup *listed = &plan->config.subgroups[plan->config.subgroup_count];
	struct wh_plan_name *name;

	if (!wh_dice_one_in(dice, 4))
		return;
	name = &plan->names[wh_dice_below(dice, plan->name_count)];
	name->listed = true;
	plan->listed_count = 1;
	listed->options = name->options;
	snprintf(listed->name, sizeof(listed->name), "%s", name->name);
	snprintf(listed->options.members, sizeof(listed->options.members), "wish");
	snprintf(listed->options.senders, sizeof(listed->options.senders), "all");
}

/* ---- all of it ---------------------------------------------------------------------------------------------------------- */

static void draw_engine(struct wh_dice *dice, struct wh_engine_options *engine)
{
	uint64_t on = wh_dice_roll(dice);

	if (wh_dice_one_in(dice, 4))
		on = wh_dice_one_in(dice, 3) ? 0 : UINT64_MAX; /* the paper's baseline, or all of its optimisations */
	engine->thread = 1;
	engine->idle = 0;
	engine->send_batching = on & 1;
	engine->receive_batching = on & 2;
	engine->delivery_batching = on & 4;
	engine->null_sends = on & 8 || wh_dice_one_in(dice, 2);
	engine->deferred_push = on & 16;
	snprintf(engine->cpus, sizeof(engine->cpus), "none");
	engine->huge_pages = 0;
}

/* What is for many subgroups, with few: words and bits say where something moves, and what is silent cools soon (0041). */
static void draw_quiet(struct wh_plan *plan)
{
	struct wh_dice of_this = wh_dice_split(plan->seed, 105), *dice = &of_this;

	plan->config.words_from = 1;
	plan->config.cools = wh_dice_one_in(dice, 4) ? 0 : (uint32_t)wh_dice_between(dice, 1, 3);
}

static void set_group(struct wh_plan *plan, uint32_t nodes, uint32_t subgroups)
{
	struct wh_node_config *config = &plan->config;

	snprintf(config->group.name, sizeof(config->group.name), "random");
	config->group.transport = WH_TRANSPORT_SIM;
	config->group.nodes = config->group.nodes_max = nodes;
	config->group.failure_timeout_ms = 600000;
	config->group.start_timeout_ms = 1000;
	config->group.backlog_max = INT64_C(1) << 30;
	snprintf(config->group.founder, sizeof(config->group.founder), "none");
	config->group.memory_max = INT64_C(1) << 31;
	snprintf(config->group.tie_breaker, sizeof(config->group.tie_breaker), "none");
	config->subgroup_count = subgroups;
	config->subgroups = wh_plan_alloc(subgroups + 1, sizeof(*config->subgroups)); /* and one that is entered */
	plan->subgroups = wh_plan_alloc(subgroups, sizeof(*plan->subgroups));
}

void wh_plan_plain(struct wh_plan *plan, uint64_t seed, uint32_t nodes, uint32_t window, uint32_t message_bytes,
		   uint32_t messages)
{
	*plan = (struct wh_plan){.seed = seed, .layout = wh_plan_layout};
	set_group(plan, nodes, 1);
	plan->config.engine = (struct wh_engine_options){.thread = 1,
							 .cpus = "none",
							 .send_batching = true,
							 .receive_batching = true,
							 .delivery_batching = true,
							 .null_sends = true,
							 .deferred_push = true};
	plan->subgroups[0] = (struct wh_plan_subgroup){.members = (UINT64_C(1) << nodes) - 1,
						       .senders = (UINT64_C(1) << nodes) - 1,
						       .member_count = nodes,
						       .sender_count = nodes,
						       .ordered = true,
						       .even = true,
						       .messages = messages};
	plan->config.subgroups[0] = (struct wh_node_subgroup){
		.name = "g0",
		.options = {.members = "all",
			    .senders = "all",
			    .shards = 1,
			    .members_min = 1,
			    .mode = WH_SUBGROUP_ORDERED,
			    .window = window,
			    .message_bytes = message_bytes},
	};
}

void wh_plan_make(struct wh_plan *plan, uint64_t seed, const struct wh_plan_limits *limits)
{
	struct wh_dice dice = wh_dice_split(seed, 100), who = wh_dice_split(seed, 101),
		       engine = wh_dice_split(seed, 102);
	uint32_t most = limits->subgroups > 0 ? limits->subgroups : 50;
	uint32_t count = most == 1 || wh_dice_one_in(&dice, 2) ? 1 : (uint32_t)draw_skewed(&dice, 2, most);

	*plan = (struct wh_plan){.seed = seed,
				 .layout = wh_plan_layout,
				 .headers_apart = wh_dice_one_in(&dice, 2),
				 .latency_max_ns = limits->latency_max_ns};
	set_group(plan, draw_nodes(&who, limits), count);
	draw_engine(&engine, &plan->config.engine);
	plan->refusals = limits->refusals;
	if (limits->words)
		draw_quiet(plan);
	if (limits->failure_timeout_ms > 0)
		plan->config.group.failure_timeout_ms = limits->failure_timeout_ms;
	else if (wh_dice_one_in(&dice, 4))
		plan->config.group.failure_timeout_ms = WH_PLAN_SHORT_TIMEOUT_MS;
	if (limits->shards && wh_dice_one_in(&dice, 2))
		snprintf(plan->config.group.tie_breaker, sizeof(plan->config.group.tie_breaker), "%u",
			 (unsigned)wh_dice_below(&dice, (uint64_t)plan->config.group.nodes));
	draw_beginning(plan, limits);
	if (limits->disks)
		draw_logs(plan);
	if (limits->proofs) {
		plan->one_host = plan->proofs = true;
		plan->disks = false;
	}
	for (uint32_t g = 0; g < count; g++)
		draw_subgroup(limits, plan, g);
	if (limits->wishes) {
		draw_names(limits, plan);
		draw_listed(plan);
	}
}

void wh_plan_free(struct wh_plan *plan)
{
	free(plan->config.subgroups);
	free(plan->subgroups);
}

bool wh_plan_progresses(const struct wh_plan *plan, uint32_t subgroup)
{
	const struct wh_plan_subgroup *s = &plan->subgroups[subgroup];

	return plan->config.engine.null_sends || !s->ordered || s->even || s->sender_count == 1;
}

bool wh_plan_may_form(const struct wh_plan *plan, uint32_t nodes)
{
	if (wh_node_config_is_durable(&plan->config)) /* it has no founder */
		return nodes == plan->config.group.nodes;
	if (wh_node_config_founder(&plan->config) >= 0)
		return true;
	if (plan->one_host || plan->disks)
		return 2 * (int64_t)nodes > plan->config.group.nodes;
	return nodes == plan->config.group.nodes;
}

bool wh_plan_needs_home(const struct wh_plan *plan)
{
	return !plan->one_host && wh_node_config_founder(&plan->config) < 0;
}

static const char *mode_of(const struct wh_plan_subgroup *subgroup)
{
	if (subgroup->durable)
		return subgroup->calls ? "durable, with calls" : "durable";
	if (subgroup->calls)
		return "ordered, with calls";
	return subgroup->ordered ? "ordered" : "unordered";
}

static void print_names(const struct wh_plan *plan, FILE *out)
{
	for (uint32_t i = 0; i < plan->name_count; i++) {
		const struct wh_plan_name *name = &plan->names[i];

		fprintf(out, "  %s, %s: %s, %s, window %d, %d bytes, up to %d, %u messages at most in a stay\n",
			name->name, name->listed ? "of the file, members = wish" : "dynamic",
			name->subgroup.ordered ? "ordered" : "unordered", name->state ? "with a state" : "without one",
			(int)name->options.window, (int)name->options.message_bytes,
			(int)(name->options.large_bytes > 0 ? name->options.large_bytes : name->options.message_bytes),
			name->subgroup.messages);
	}
}

void wh_plan_print(const struct wh_plan *plan, FILE *out)
{
	const struct wh_engine_options *engine = &plan->config.engine;

	if (wh_node_config_nodes_max(&plan->config) > plan->config.group.nodes || plan->state_bytes > 0)
		fprintf(out,
			"%s, founder %s, start time-out %d ms, opened within %.3f ms, %stime counts from then%s, states up to %d "
			"bytes, backlog %" PRId64 "\n",
			plan->proofs     ? "one host with proofs of death"
			: plan->one_host ? "one host"
			: plan->disks    ? "a disk each"
					 : "all form",
			plan->config.group.founder, (int)plan->config.group.start_timeout_ms,
			(double)plan->spread_ns / 1e6, plan->early ? "" : "not before all have met, ",
			plan->restarts_form ? ", a node that returns may form a group" : "", (int)plan->state_bytes,
			plan->config.group.backlog_max);
	if (plan->flavour != NULL)
		fprintf(out, "%s: ", plan->flavour);
	fprintf(out,
		"%d nodes of %u, headers %s, send %d receive %d delivery %d nulls %d deferred %d, time-out %d ms, tie-breaker %s\n",
		(int)plan->config.group.nodes, wh_node_config_nodes_max(&plan->config),
		plan->headers_apart ? "apart" : "with payloads", engine->send_batching, engine->receive_batching,
		engine->delivery_batching, engine->null_sends, engine->deferred_push,
		(int)plan->config.group.failure_timeout_ms, plan->config.group.tie_breaker);
	if (plan->refusals)
		fprintf(out, "some applications refuse what they are offered\n");
	if (plan->config.words_from > 0)
		fprintf(out, "words say where something moves, and what is silent cools behind %u steps\n",
			plan->config.cools > 0 ? plan->config.cools : WH_HOT_COOLS);
	if (plan->logs)
		fprintf(out,
			"disks, which fail when they do not answer for %d ms; batches of %u bytes; logs are read again in %d "
			"ms (0: never)\n",
			(int)plan->config.group.disk_timeout_ms, plan->config.batch_bytes,
			(int)(plan->config.check_ns / WH_NS_PER_MS));
	for (uint32_t g = 0; g < plan->config.subgroup_count; g++) {
		const struct wh_subgroup_options *options = &plan->config.subgroups[g].options;

		fprintf(out,
			"  g%u: %s, members %s%s, senders %s, %d shards of at least %d, window %d, %d bytes, "
			"up to %d, %u messages%s",
			g, mode_of(&plan->subgroups[g]), options->members,
			plan->subgroups[g].moves ? " that moves them" : "", options->senders, (int)options->shards,
			(int)options->members_min, (int)options->window, (int)options->message_bytes,
			(int)(options->large_bytes > 0 ? options->large_bytes : options->message_bytes),
			plan->subgroups[g].messages, plan->subgroups[g].even ? " from each" : " at most");
		if (plan->subgroups[g].durable)
			fprintf(out, ", log_bytes %" PRId64, options->log_bytes);
		if (options->relay_bytes > 0)
			fprintf(out, ", relays from %" PRId64 " bytes on", options->relay_bytes);
		fputc('\n', out);
	}
	print_names(plan, out);
}
