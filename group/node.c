/* node.c - a node from open to free. See node_int.h for its life, whorl.h for the contract. */
#include "group/node_int.h"
#include "group/refuse.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "group/config/any_id.h"
#include "group/config/secret.h"
#include "group/durable.h"
#include "group/logs/directories.h"
#include "transport/shm/shm.h"
#include "transport/tcp/tcp.h"
#include "transport/verbs/verbs.h"

/* ---- log ---------------------------------------------------------------------------------------------------------- */

static void log_line(void *ctx, enum wh_log_level level, const char *line)
{
	whorl_node *node = ctx;

	wh_waiting_log(&node->waiting, node->fixed.world_env, level, line);
}

static uint64_t env_now(void *ctx)
{
	const whorl_node *node = ctx;

	return node->fixed.world_env->now_ns(node->fixed.world_env->ctx);
}

static uint64_t env_random(void *ctx)
{
	const whorl_node *node = ctx;

	return node->fixed.world_env->random_u64(node->fixed.world_env->ctx);
}

static void env_fatal(void *ctx, const char *what)
{
	const whorl_node *node = ctx;

	node->fixed.world_env->fatal(node->fixed.world_env->ctx, what);
}

static void env_submit(void *ctx, void (*job)(void *argument), void *argument)
{
	const whorl_node *node = ctx;

	node->fixed.world_env->submit(node->fixed.world_env->ctx, job, argument);
}

static enum whorl_result env_background(void *ctx, struct wh_background **out, const char *name,
					bool (*work)(void *argument), void *argument, struct wh_error *err)
{
	const whorl_node *node = ctx;

	return node->fixed.world_env->background(node->fixed.world_env->ctx, out, name, work, argument, err);
}

static void env_background_wake(void *ctx, struct wh_background *task)
{
	const whorl_node *node = ctx;

	node->fixed.world_env->background_wake(node->fixed.world_env->ctx, task);
}

static void env_background_again(void *ctx, struct wh_background *task, uint64_t ns)
{
	const whorl_node *node = ctx;

	node->fixed.world_env->background_again(node->fixed.world_env->ctx, task, ns);
}

static bool env_background_end(void *ctx, struct wh_background *task, uint64_t timeout_ns)
{
	const whorl_node *node = ctx;

	return node->fixed.world_env->background_end(node->fixed.world_env->ctx, task, timeout_ns);
}

/* The world's, but for the log. */
static struct wh_env wrap_env(whorl_node *node)
{
	const struct wh_env *world = node->fixed.world_env;
	struct wh_env env = {
		.ctx = node,
		.now_ns = env_now,
		.random_u64 = env_random,
		.log = log_line,
		.fatal = env_fatal,
		.submit = env_submit,
		.disk = world->disk,
	};

	if (world->background != NULL) {
		env.background = env_background;
		env.background_wake = env_background_wake;
		env.background_again = env_background_again;
		env.background_end = env_background_end;
	}
	return env;
}

void whorl_set_log(whorl_node *node, whorl_log_fn *fn, void *ctx)
{
	if (node == NULL) {
		WH_REFUSE("no node");
		return;
	}
	if (wh_node_state(node) == WHORL_FORKED)
		return; /* the lock may be held by a thread that only the parent has */
	wh_waiting_set_log(&node->waiting, fn, ctx);
}

/* ---- layouts ------------------------------------------------------------------------------------------------------- */

static enum wh_role ask_layout(const struct wh_view *view, const char *subgroup, uint32_t shard, uint32_t id, void *ctx)
{
	const whorl_node *node = ctx;
	struct whorl_view shown = wh_node_show_view(view, 0);

	return (enum wh_role)node->fixed.layout(&shown, subgroup, shard, id, node->fixed.layout_ctx);
}

/* ---- open ---------------------------------------------------------------------------------------------------------------- */

/* What never changes is const to all but what opens the node, and frees it: no other thread knows of it then. */
static struct wh_node_fixed *while_opening(whorl_node *node)
{
	return (struct wh_node_fixed *)&node->fixed;
}

static enum whorl_result open_layout(whorl_node *node, struct wh_error *err)
{
	struct wh_node_fixed *fixed = while_opening(node);

	fixed->texts = calloc(fixed->config.subgroup_count + 1, sizeof(*fixed->texts));
	if (fixed->texts == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for %u subgroups", fixed->config.subgroup_count);
	wh_node_config_layout(&fixed->config, fixed->texts);
	fixed->layout_config = (struct wh_layout_config){.subgroups = fixed->texts,
							 .count = fixed->config.subgroup_count,
							 .function = fixed->layout != NULL ? ask_layout : NULL,
							 .ctx = node};
	return WHORL_OK;
}

/* The view of all configured nodes, and me. */
static enum whorl_result imagine_view(whorl_node *node, struct wh_view **view, struct wh_error *err)
{
	struct wh_newcomer all[WH_NODES_MAX];
	uint32_t count = 0;

	for (uint32_t id = 0; id < (uint32_t)node->fixed.config.group.nodes; id++)
		all[count++] = (struct wh_newcomer){id, 1};
	if (node->fixed.id >= count)
		all[count++] = (struct wh_newcomer){node->fixed.id, 1};
	return wh_view_create(view, 1, all, count, count, &node->fixed.layout_config, err);
}

/* Its lists name it, or that is unknown before there is a view. */
static bool may_be_in(const struct wh_subgroup_text *text, uint32_t id)
{
	char number[16];
	size_t digits;

	if (wh_subgroup_is_wished(text)) /* it is in what it enters, and that is no place of the file's */
		return false;
	if (!isdigit((unsigned char)text->members[0]))
		return true;
	digits = (size_t)snprintf(number, sizeof(number), "%u", id);
	for (const char *at = text->members; (at = strstr(at, number)) != NULL; at++)
		if ((at == text->members || !isdigit((unsigned char)at[-1])) && !isdigit((unsigned char)at[digits]))
			return true;
	return false;
}

/* What a view will take: nothing large is allocated yet. */
static enum whorl_result plan_memory(whorl_node *node, struct wh_error *err)
{
	struct wh_node_fixed *fixed = while_opening(node);
	struct wh_view *view = NULL;
	enum whorl_result result = open_layout(node, err);

	if (result == WHORL_OK)
		result = imagine_view(node, &view, err);
	if (result == WHORL_OK)
		result = wh_epoch_estimate(node, view, &fixed->memory_bytes, err);
	wh_view_free(view);
	for (uint32_t i = 0; result == WHORL_OK && i < fixed->config.subgroup_count; i++)
		if (may_be_in(&fixed->texts[i], fixed->id))
			fixed->memory_bytes += wh_ring_estimate((uint32_t)fixed->config.subgroups[i].options.window);
	if (result != WHORL_OK)
		return result;
	fixed->memory_bytes += sizeof(*node);
	if (fixed->memory_bytes > (uint64_t)fixed->config.group.memory_max)
		return wh_error_set(err, WHORL_MEMORY,
				    "node %u needs %.1f MiB, and group.memory_max allows %.1f MiB; smaller windows or "
				    "messages need less",
				    fixed->id, (double)fixed->memory_bytes / (1 << 20),
				    (double)fixed->config.group.memory_max / (1 << 20));
	return WHORL_OK;
}

/* A member may be in an upcall for nearly as long as the failure time-out, and say nothing. */
static uint64_t patience_ns(const struct wh_node_config *config)
{
	int64_t start = config->group.start_timeout_ms, failure = config->group.failure_timeout_ms;

	return (uint64_t)(start > failure ? start : failure) * WH_NS_PER_MS;
}

/* The configuration of a world that is brought does not say whether members relay there. */
static enum whorl_result check_relays(const whorl_node *node, struct wh_error *err)
{
	const struct wh_node_config *config = &node->fixed.config;

	if (node->fixed.transport->ops->relays)
		return WHORL_OK;
	for (uint32_t i = 0; i < config->subgroup_count; i++)
		if (config->subgroups[i].options.relay_bytes > 0)
			return wh_error_set(err, WHORL_UNSUPPORTED,
					    "subgroup %s.relay_bytes is not 0, and no member relays on transport %s",
					    config->subgroups[i].name, node->fixed.transport->ops->name);
	return WHORL_OK;
}

static enum whorl_result open_transport(whorl_node *node, const struct wh_world *world, int *held, struct wh_error *err)
{
	const char *addresses[WH_NODES_MAX] = {NULL};
	struct wh_transport_config config = {
		.env = &node->fixed.env,
		.group = node->fixed.config.group.name,
		.node = node->fixed.id,
		.nodes = wh_node_config_nodes_max(&node->fixed.config),
		.addresses = addresses,
		.incarnation = node->fixed.incarnation,
		.held = held,
		.patience_ns = patience_ns(&node->fixed.config),
		.failure_ns = (uint64_t)node->fixed.config.group.failure_timeout_ms * WH_NS_PER_MS,
		.cut_ns = (uint64_t)node->fixed.config.group.cut_max_ms * WH_NS_PER_MS,
		.huge_pages = node->fixed.config.engine.huge_pages,
		.death_waits = node->fixed.config.engine.death_waits,
	};
	struct wh_secret secret;
	enum whorl_result result =
		wh_secret_load(&node->fixed.config.group, node->fixed.id, config.nodes, &secret, err);

	if (result != WHORL_OK)
		return result;
	config.key = secret.key;
	config.tls = secret.tls;
	for (uint32_t id = 0; node->fixed.config.addresses != NULL && id < config.nodes; id++)
		addresses[id] = node->fixed.config.addresses[id].address;
	result = world->create(&config, world->create_ctx, &while_opening(node)->transport, err);
	wh_secret_free(&secret); /* the transport holds what it needs */
	if (result != WHORL_OK)
		return result;
	result = check_relays(node, err);
	return result == WHORL_OK ? wh_gate_create(&while_opening(node)->gate, wh_node_wake, node, err) : result;
}

static enum whorl_result open_configured(whorl_node *node, uint32_t index, struct wh_error *err)
{
	const struct wh_node_subgroup *configured = &node->fixed.config.subgroups[index];
	const struct wh_view_subgroup in_view = {.configured = index};
	struct wh_parameters parameters = wh_node_config_parameters(&node->fixed.config, &in_view);
	whorl_subgroup *subgroup = wh_node_new_subgroup(node);
	struct wh_subgroup_fixed *fixed;

	if (subgroup == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for subgroups");
	wh_list_place(&node->list, index, subgroup);
	fixed = wh_fixed_write(&subgroup->fixed);
	fixed->name = configured->name;
	fixed->index = index;
	fixed->mine = may_be_in(&node->fixed.texts[index], node->fixed.id);
	fixed->log_bytes = (uint64_t)configured->options.log_bytes;
	fixed->one_thread = configured->options.sending_threads == WH_SENDING_THREADS_ONE;
	return wh_node_fill_subgroup(subgroup, &parameters, (uint64_t)configured->options.refuse_max_ms, err);
}

static enum whorl_result open_subgroups(whorl_node *node, struct wh_error *err)
{
	uint32_t room = node->fixed.config.subgroup_count + WH_STAYS_MAX;
	bool enough = wh_list_open(&node->list, room, (room + WH_COMMITTED_BITS - 1) / WH_COMMITTED_BITS);
	enum whorl_result result = WHORL_OK;

	node->states.busy = calloc(room, sizeof(struct wh_state *));
	node->refusing.subgroups = calloc(room, sizeof(whorl_subgroup *));
	node->layers.subgroups = calloc(room, sizeof(whorl_subgroup *));
	if (!enough || node->states.busy == NULL || node->refusing.subgroups == NULL || node->layers.subgroups == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for subgroups");
	for (uint32_t i = 0; result == WHORL_OK && i < node->fixed.config.subgroup_count; i++)
		result = open_configured(node, i, err);
	return result;
}

static enum whorl_result open_engine(whorl_node *node, struct wh_error *err)
{
	enum whorl_result result;

	node->watch.event = calloc(1, sizeof(*node->watch.event));
	if (node->watch.event == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a node");
	wh_loop_init(&node->loop, &node->diag, node->fixed.transport, node->fixed.gate,
		     (enum wh_idle)node->fixed.config.engine.idle);
	node->loop.backoff.dear |= node->fixed.caller; /* the program looks at its own descriptors, too */
	wh_loop_on_park(&node->loop, wh_epoch_park, node);
	wh_loop_on_help(&node->loop, wh_epoch_exchange, node);
	result = wh_loop_add(&node->loop, wh_node_watch, node, err);
	return result == WHORL_OK ? open_subgroups(node, err) : result;
}

/* On disk, where records are kept (0032). */
static enum whorl_result open_record(whorl_node *node, const struct wh_world *world, struct wh_error *err)
{
	struct wh_record *record = &node->entry.record;

	*record = (struct wh_record){
		.ops = world->records, .ctx = world->records_ctx, .env = &node->fixed.env, .jobs = &node->uses.jobs};
	if (record->ops == NULL && wh_node_config_keeps_records(&node->fixed.config)) {
		struct wh_record_file *file = &record->file;

		snprintf(file->directory, sizeof(file->directory), "%s", node->fixed.config.group.state_dir);
		snprintf(file->group, sizeof(file->group), "%.63s", node->fixed.config.group.name);
		snprintf(file->name, sizeof(file->name), "%s.%u.group", file->group, node->fixed.id);
		file->node = node->fixed.id;
		record->ops = &wh_record_files;
		record->ctx = file;
	}
	return wh_record_open(record, err);
}

static enum wh_form_rule rule_of(const whorl_node *node)
{
	if (wh_node_config_founder(&node->fixed.config) >= 0)
		return WH_FORM_FOUNDER;
	if (node->disk.logs != NULL) /* else a durable group is formed by all of its nodes (0058) */
		return WH_FORM_ALL;
	return node->fixed.one_host || node->entry.record.ops != NULL ? WH_FORM_MAJORITY : WH_FORM_ALL;
}

/* What an operator has asked of this start must be something that this node may do at all. */
static enum whorl_result check_forced(const whorl_node *node, struct wh_error *err)
{
	int founder = wh_node_config_founder(&node->fixed.config);

	if (node->fixed.forced && node->fixed.id >= (uint32_t)node->fixed.config.group.nodes &&
	    founder != (int)node->fixed.id)
		return wh_error_set(err, WHORL_INVALID,
				    "node %u cannot be told to form a group: ids below %d (group.nodes) can",
				    node->fixed.id, (int)node->fixed.config.group.nodes);
	if (node->fixed.forced && founder >= 0 && founder != (int)node->fixed.id)
		return wh_error_set(err, WHORL_INVALID,
				    "node %u cannot be told to form a group: node %d is its founder (group.founder)",
				    node->fixed.id, founder);
	return WHORL_OK;
}

/* What nodes wish, of which the views of this node are to be told (0046). */
static enum whorl_result open_serving(whorl_node *node, struct wh_error *err)
{
	node->entry.serving = calloc(1, sizeof(*node->entry.serving));
	if (node->entry.serving == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a node");
	node->entry.serving->roster = &node->entry.roster;
	node->entry.serving->layout = &node->fixed.layout_config;
	node->entry.serving->wishing.on_refused = wh_node_wish_refused;
	node->entry.serving->wishing.ctx = node;
	return wh_serving_init(node->entry.serving) == WHORL_OK
		       ? WHORL_OK
		       : wh_error_set(err, WHORL_MEMORY, "no memory for a node");
}

/* The other nodes that are there, and the way to them. */
static enum whorl_result open_entry(whorl_node *node, struct wh_error *err)
{
	const struct wh_node_config *config = &node->fixed.config;
	enum whorl_result result;

	node->entry.roster = (struct wh_roster){
		.diag = &node->diag,
		.loop = &node->loop,
		.transport = node->fixed.transport,
		.id = node->fixed.id,
		.nodes = wh_node_config_nodes_max(config),
		.incarnation = node->fixed.incarnation,
		.group_digest = wh_node_config_group_digest(config),
		.subgroups_digest = wh_node_config_subgroups_digest(config, node->fixed.headers_apart),
	};
	result = open_serving(node, err);
	if (result != WHORL_OK)
		return result;
	node->entry.requests = (struct wh_join_requests){
		.roster = &node->entry.roster, .patience_ns = (uint64_t)config->group.start_timeout_ms * WH_NS_PER_MS};
	node->entry.join = (struct wh_join){
		.roster = &node->entry.roster,
		.requests = &node->entry.requests,
		.layout = &node->fixed.layout_config,
		.configured = (uint32_t)config->group.nodes,
		.rule = rule_of(node),
		.founder = wh_node_config_founder(config),
		.may_form = config->group.start == WH_START_AUTO,
		.one_host = node->fixed.one_host,
		.forced = node->fixed.forced,
		.records = node->entry.record.ops != NULL,
		.record = node->entry.record.group,
		.start_timeout_ns = (uint64_t)config->group.start_timeout_ms * WH_NS_PER_MS,
		.patience_ns = patience_ns(config),
		.on = wh_node_participant,
		.ctx = node,
	};
	node->entry.join.wishing = &node->entry.serving->wishing;
	while_opening(node)->home =
		node->fixed.one_host || node->entry.join.founder >= 0 ? UINT32_MAX : (uint32_t)config->group.nodes;
	result = wh_roster_init(&node->entry.roster, err);
	return result == WHORL_OK ? wh_durable_open_restart(node, err) : result;
}

static whorl_node *new_node(uint32_t id, const struct wh_world *world, const struct whorl_open_options *options)
{
	whorl_node *node =
		aligned_alloc(WH_CACHE_LINE, (sizeof(*node) + WH_CACHE_LINE - 1) / WH_CACHE_LINE * WH_CACHE_LINE);
	struct wh_node_fixed *fixed;

	if (node == NULL)
		return NULL;
	memset(node, 0, sizeof(*node));
	fixed = while_opening(node);
	fixed->id = id;
	fixed->headers_apart = world->headers_apart;
	fixed->one_host = world->one_host;
	fixed->world_env = world->env;
	fixed->env = wrap_env(node);
	fixed->free = wh_node_free;
	wh_waiting_init(&node->waiting);
	if (options != NULL && options->size >= offsetof(struct whorl_open_options, layout))
		wh_waiting_set_log(&node->waiting, options->log, options->log_ctx);
	if (options != NULL && options->size > offsetof(struct whorl_open_options, form))
		fixed->forced = options->form;
	if (options != NULL && options->size >= offsetof(struct whorl_open_options, form)) {
		fixed->layout = options->layout;
		fixed->layout_ctx = options->layout_ctx;
	}
	wh_diag_init(&node->diag, &fixed->env, id);
	fixed->incarnation = world->env->random_u64(world->env->ctx) | 1;
	return node;
}

/* ---- an id ------------------------------------------------------------------------------------------------------------ */

struct id_place {
	const struct wh_node_config *config;
	const struct wh_world *world;
	int held; /* what holds the id until the transport does; -1: nothing */
};

static enum whorl_result take_id(void *ctx, uint32_t id, struct wh_error *err)
{
	struct id_place *place = ctx;

	return place->world->take_id(place->config->group.name, id, &place->held, err);
}

/* The id that was asked for; or one that is free, which is held from here on. */
static enum whorl_result find_id(struct id_place *place, const struct whorl_open_options *options, uint32_t *id,
				 struct wh_error *err)
{
	const struct wh_node_config *config = place->config;
	const struct wh_env *env = place->world->env;
	uint32_t nodes = wh_node_config_nodes_max(config), first[WH_NODES_MAX];
	size_t count = 0;

	if (*id >= nodes && *id != WHORL_ANY_ID)
		return wh_error_set(err, WHORL_INVALID, "there is no node %u, expected 0 to %u", *id, nodes - 1);
	if (options != NULL && options->size < sizeof(size_t))
		return wh_error_set(err, WHORL_INVALID, "whorl_open_options.size is not set");
	if (*id != WHORL_ANY_ID)
		return WHORL_OK;
	if (place->world->take_id == NULL)
		return wh_error_set(
			err, WHORL_UNSUPPORTED,
			"WHORL_ANY_ID is for group.transport shm: here an id is an address, expected one from 0 to %u",
			nodes - 1);
	if (options != NULL && options->size > offsetof(struct whorl_open_options, form) && options->form)
		return wh_error_set(err, WHORL_INVALID, "a node that is told to form a group has an id of its own");
	if (wh_node_config_is_durable(config) && env->disk != NULL)
		count = wh_directories_find(env->disk, config->group.log_dir, 0, nodes, first);
	return wh_any_id(&(struct wh_any_id){.config = config,
					     .first = first,
					     .first_count = count,
					     .random = env->random_u64(env->ctx),
					     .take = take_id,
					     .ctx = place},
			 id, err);
}

static enum whorl_result open_with_id(uint32_t id, struct id_place *place, const struct whorl_open_options *options,
				      whorl_node **out, struct wh_error *err)
{
	const struct wh_world *world = place->world;
	whorl_node *node = new_node(id, world, options);
	enum whorl_result result;

	if (node == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a node");
	while_opening(node)->caller = place->config->engine.thread == WH_THREAD_CALLER;
	result = wh_node_config_copy(&while_opening(node)->config, place->config, err);
	if (result == WHORL_OK)
		result = check_forced(node, err);
	if (result == WHORL_OK)
		result = open_record(node, world, err);
	if (result == WHORL_OK)
		result = plan_memory(node, err);
	if (result == WHORL_OK)
		result = open_transport(node, world, &place->held, err);
	if (result == WHORL_OK)
		result = open_engine(node, err);
	if (result == WHORL_OK)
		result = wh_durable_open(node, err);
	if (result == WHORL_OK)
		result = open_entry(node, err);
	if (result != WHORL_OK) {
		wh_node_free(node, false, true);
		return result;
	}
	*out = node;
	return WHORL_OK;
}

enum whorl_result wh_node_open(const struct wh_node_config *config, uint32_t id, const struct wh_world *world,
			       const struct whorl_open_options *options, whorl_node **out, struct wh_error *err)
{
	struct id_place place = {.config = config, .world = world, .held = -1};
	enum whorl_result result;

	*out = NULL;
	result = find_id(&place, options, &id, err);
	if (result == WHORL_OK)
		result = open_with_id(id, &place, options, out, err);
	if (place.held >= 0)
		close(place.held);
	return result;
}

/* A world for each transport of this machine. */
static enum whorl_result open_here(whorl_config *config, struct wh_node_config *bound, struct wh_world *world)
{
	enum whorl_result result = wh_config_bind(config, bound);

	if (result != WHORL_OK)
		return result;
	if (bound->group.transport == WH_TRANSPORT_SIM) { /* it needs a world that is brought, as to wh_node_open */
		*world = (struct wh_world){.env = wh_env_system()};
		return WHORL_OK;
	}
	*world = (struct wh_world){.env = wh_env_system(),
				   .create = wh_shm_create,
				   .headers_apart = true,
				   .one_host = true,
				   .take_id = wh_shm_take_id};
	if (bound->group.transport == WH_TRANSPORT_TCP)
		*world = (struct wh_world){.env = wh_env_system(), .create = wh_tcp_create};
	if (bound->group.transport == WH_TRANSPORT_VERBS)
		*world = (struct wh_world){.env = wh_env_system(), .create = wh_verbs_create};
	return WHORL_OK;
}

enum whorl_result whorl_open(whorl_config *config, uint32_t id, const struct whorl_open_options *options,
			     whorl_node **out)
{
	struct wh_node_config bound;
	struct wh_world world;
	enum whorl_result result;

	if (out != NULL)
		*out = NULL;
	if (config == NULL || out == NULL)
		return WH_REFUSE(config == NULL ? "no configuration" : "no place for the node");
	result = open_here(config, &bound, &world);
	if (result != WHORL_OK)
		return result;
	if (world.create == NULL)
		result = wh_error_set(
			wh_config_failure(config), WHORL_UNSUPPORTED,
			"group.transport: sim is for the tests and whorl bench; there are shm, tcp and verbs");
	else
		result = wh_node_open(&bound, id, &world, options, out, wh_config_failure(config));
	wh_node_config_free(&bound);
	return result == WHORL_INVALID ? WH_REFUSE(wh_config_failure(config)->text) : result;
}

enum whorl_result whorl_estimate(whorl_config *config, uint32_t id, uint64_t *bytes)
{
	struct wh_node_config bound;
	struct wh_world world;
	enum whorl_result result;
	whorl_node *node;

	if (config == NULL || bytes == NULL)
		return WH_REFUSE(config == NULL ? "no configuration" : "no place for the bytes");
	*bytes = 0;
	result = open_here(config, &bound, &world);
	if (result != WHORL_OK)
		return result;
	if (id >= wh_node_config_nodes_max(&bound)) {
		wh_node_config_free(&bound);
		wh_error_set(wh_config_failure(config), WHORL_INVALID, "there is no node %u", id);
		return WH_REFUSE(wh_config_failure(config)->text);
	}
	node = new_node(id, &world, NULL);
	result = node == NULL ? WHORL_MEMORY
			      : wh_node_config_copy(&while_opening(node)->config, &bound, wh_config_failure(config));
	if (result == WHORL_OK)
		result = plan_memory(node, wh_config_failure(config));
	if (node != NULL) {
		*bytes = node->fixed.memory_bytes;
		if (*bytes > 0 && result == WHORL_MEMORY) { /* too much is an answer as well */
			wh_error_clear(wh_config_failure(config));
			result = WHORL_OK;
		}
		wh_node_free(node, false, true);
	}
	wh_node_config_free(&bound);
	return result;
}

/* To close files may take as long as a disk does. Where all is one thread it takes no time, and nothing else is done meanwhile. */
static void close_logs(whorl_node *node, bool forked, bool waits)
{
	uint64_t timeout_ns = waits ? (uint64_t)node->fixed.config.group.disk_timeout_ms * WH_NS_PER_MS : 0;

	if (forked || node->disk.aside == NULL || node->fixed.world_env->nap != NULL)
		wh_logs_close(node->disk.logs, forked);
	else
		wh_durable_close_aside(node, node->disk.logs);
	if (!forked)
		(void)wh_aside_close(node->disk.aside, timeout_ns);
}

/* Also for a node that was opened only in part. The transport goes first: pushes of it point at what the others own. */
void wh_node_free(whorl_node *node, bool forked, bool waits_for_disk)
{
	struct wh_epoch *epoch = node->epochs.current;

	if (node->fixed.transport != NULL)
		node->fixed.transport->ops->destroy(node->fixed.transport, forked);
	while (epoch != NULL) {
		struct wh_epoch *older = epoch->older;

		wh_epoch_free(epoch, false);
		epoch = older;
	}
	wh_epoch_free(node->epochs.proposed, false);
	for (uint32_t i = 0; node->list.subgroups != NULL && i < node->list.room; i++)
		wh_node_free_subgroup(node->list.subgroups[i], forked);
	close_logs(node, forked, waits_for_disk); /* their states may still read logs */
	wh_list_close(&node->list);
	free(node->states.busy);
	free(node->refusing.subgroups);
	free(node->layers.subgroups);
	if (node->entry.serving != NULL)
		wh_serving_close(node->entry.serving);
	free(node->entry.serving);
	wh_join_close(&node->entry.join);
	wh_join_requests_close(&node->entry.requests);
	wh_roster_close(&node->entry.roster);
	wh_loop_close(&node->loop);
	free(node->watch.event);
	wh_gate_free(node->fixed.gate);
	free(node->fixed.texts);
	wh_node_config_free(&while_opening(node)->config);
	wh_waiting_close(&node->waiting, forked);
	free(node);
}
