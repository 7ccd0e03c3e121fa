/* node.c - a node from open to free. See node_int.h for its life, whorl.h for the contract. */
#include "group/node_int.h"
#include "group/refuse.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/thread.h"
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

	pthread_mutex_lock(&node->lock);
	if (node->log != NULL)
		node->log((enum whorl_log_level)level, line, node->log_ctx);
	else
		node->world_env->log(node->world_env->ctx, level, line);
	pthread_mutex_unlock(&node->lock);
}

static uint64_t env_now(void *ctx)
{
	const whorl_node *node = ctx;

	return node->world_env->now_ns(node->world_env->ctx);
}

static uint64_t env_random(void *ctx)
{
	const whorl_node *node = ctx;

	return node->world_env->random_u64(node->world_env->ctx);
}

static void env_fatal(void *ctx, const char *what)
{
	const whorl_node *node = ctx;

	node->world_env->fatal(node->world_env->ctx, what);
}

static void env_submit(void *ctx, void (*job)(void *argument), void *argument)
{
	const whorl_node *node = ctx;

	node->world_env->submit(node->world_env->ctx, job, argument);
}

static enum whorl_result env_background(void *ctx, struct wh_background **out, const char *name,
					bool (*work)(void *argument), void *argument, struct wh_error *err)
{
	const whorl_node *node = ctx;

	return node->world_env->background(node->world_env->ctx, out, name, work, argument, err);
}

static void env_background_wake(void *ctx, struct wh_background *task)
{
	const whorl_node *node = ctx;

	node->world_env->background_wake(node->world_env->ctx, task);
}

static void env_background_again(void *ctx, struct wh_background *task, uint64_t ns)
{
	const whorl_node *node = ctx;

	node->world_env->background_again(node->world_env->ctx, task, ns);
}

static bool env_background_end(void *ctx, struct wh_background *task, uint64_t timeout_ns)
{
	const whorl_node *node = ctx;

	return node->world_env->background_end(node->world_env->ctx, task, timeout_ns);
}

/* The world's, but for the log. */
static struct wh_env wrap_env(whorl_node *node)
{
	const struct wh_env *world = node->world_env;
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
	pthread_mutex_lock(&node->lock);
	node->log = fn;
	node->log_ctx = ctx;
	pthread_mutex_unlock(&node->lock);
}

/* ---- failure ---------------------------------------------------------------------------------------------------------- */

/* Threads that wait for the window look again. */
static void signal_rings(whorl_node *node)
{
	const whorl_subgroup *subgroup;

	for (uint32_t at = 0; (subgroup = wh_node_next_subgroup(node, &at)) != NULL;)
		if (subgroup->ring != NULL)
			wh_ring_signal(subgroup->ring);
}

/* What has become of the messages is not known here any more. */
static void stop_frontiers(whorl_node *node)
{
	const whorl_subgroup *subgroup;

	for (uint32_t at = 0; (subgroup = wh_node_next_subgroup(node, &at)) != NULL;)
		if (subgroup->ring != NULL)
			wh_frontiers_stop(&subgroup->ring->frontiers);
	wh_node_wake_waits(node);
}

void wh_node_fail(whorl_node *node, enum wh_log_level level, enum whorl_result code, const char *format, ...)
{
	char text[sizeof(node->failure.text)];
	bool first;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	pthread_mutex_lock(&node->lock);
	first = node->failure.code == WHORL_OK;
	if (first)
		wh_error_set(&node->failure, code, "%s", text);
	wh_fetch_or(&node->gate->state, WH_GATE_FAILED); /* before any thread can know of it otherwise */
	pthread_cond_broadcast(&node->changed);
	pthread_mutex_unlock(&node->lock);
	if (!first)
		return;
	wh_log(&node->diag, level, "%s", text);
	signal_rings(node);
	stop_frontiers(node);
}

void wh_node_lose_quorum(whorl_node *node)
{
	const struct wh_epoch *epoch = node->epoch;
	char ids[128] = "";

	for (uint32_t rank = 0; rank < epoch->view->members; rank++)
		if (rank != epoch->rank && epoch->change.suspicion.wanted[rank] != WH_DEAD &&
		    (!wh_heartbeat_hears(&epoch->heartbeat, rank) || epoch->change.suspicion.wanted[rank] != WH_TRUSTED))
			wh_text_add_id(ids, sizeof(ids), ", ", epoch->view->ids[rank]);
	pthread_mutex_lock(&node->lock);
	wh_error_set(&node->minority, WHORL_NO_QUORUM,
		     "too few of the %u members of view %llu are heard to go on; missing: %s", epoch->view->members,
		     (unsigned long long)epoch->view->number, ids);
	wh_fetch_or(&node->gate->state, WH_GATE_MINORITY);
	pthread_cond_broadcast(&node->changed);
	pthread_mutex_unlock(&node->lock);
	wh_log(&node->diag, WH_LOG_WARNING, "%s", node->minority.text);
	signal_rings(node);
}

void wh_node_regain_quorum(whorl_node *node)
{
	pthread_mutex_lock(&node->lock);
	wh_error_clear(&node->minority);
	wh_fetch_and(&node->gate->state, ~(uint64_t)WH_GATE_MINORITY);
	pthread_mutex_unlock(&node->lock);
	wh_log(&node->diag, WH_LOG_INFO, "a quorum is heard again");
	signal_rings(node);
}

/* ---- layouts ------------------------------------------------------------------------------------------------------- */

static enum wh_role ask_layout(const struct wh_view *view, const char *subgroup, uint32_t shard, uint32_t id, void *ctx)
{
	const whorl_node *node = ctx;
	struct whorl_view shown = wh_node_show_view(view, 0);

	return (enum wh_role)node->layout(&shown, subgroup, shard, id, node->layout_ctx);
}

/* ---- open ---------------------------------------------------------------------------------------------------------------- */

static enum whorl_result open_layout(whorl_node *node, struct wh_error *err)
{
	node->texts = calloc(node->config.subgroup_count + 1, sizeof(*node->texts));
	if (node->texts == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for %u subgroups", node->config.subgroup_count);
	wh_node_config_layout(&node->config, node->texts);
	node->layout_config = (struct wh_layout_config){.subgroups = node->texts,
							.count = node->config.subgroup_count,
							.function = node->layout != NULL ? ask_layout : NULL,
							.ctx = node};
	return WHORL_OK;
}

/* The view of all configured nodes, and me. */
static enum whorl_result imagine_view(whorl_node *node, struct wh_view **view, struct wh_error *err)
{
	struct wh_newcomer all[WH_NODES_MAX];
	uint32_t count = 0;

	for (uint32_t id = 0; id < (uint32_t)node->config.group.nodes; id++)
		all[count++] = (struct wh_newcomer){id, 1};
	if (node->id >= count)
		all[count++] = (struct wh_newcomer){node->id, 1};
	return wh_view_create(view, 1, all, count, count, &node->layout_config, err);
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
	struct wh_view *view = NULL;
	enum whorl_result result = open_layout(node, err);

	if (result == WHORL_OK)
		result = imagine_view(node, &view, err);
	if (result == WHORL_OK)
		result = wh_epoch_estimate(node, view, &node->memory_bytes, err);
	wh_view_free(view);
	for (uint32_t i = 0; result == WHORL_OK && i < node->config.subgroup_count; i++)
		if (may_be_in(&node->texts[i], node->id))
			node->memory_bytes += wh_ring_estimate((uint32_t)node->config.subgroups[i].options.window);
	if (result != WHORL_OK)
		return result;
	node->memory_bytes += sizeof(*node);
	if (node->memory_bytes > (uint64_t)node->config.group.memory_max)
		return wh_error_set(err, WHORL_MEMORY,
				    "node %u needs %.1f MiB, and group.memory_max allows %.1f MiB; smaller windows or "
				    "messages need less",
				    node->id, (double)node->memory_bytes / (1 << 20),
				    (double)node->config.group.memory_max / (1 << 20));
	return WHORL_OK;
}

/* A member may be in an upcall for nearly as long as the failure time-out, and say nothing. */
static uint64_t patience_ns(const struct wh_node_config *config)
{
	int64_t start = config->group.start_timeout_ms, failure = config->group.failure_timeout_ms;

	return (uint64_t)(start > failure ? start : failure) * WH_NS_PER_MS;
}

static enum whorl_result open_transport(whorl_node *node, const struct wh_world *world, int *held, struct wh_error *err)
{
	const char *addresses[WH_NODES_MAX] = {NULL};
	struct wh_transport_config config = {
		.env = &node->env,
		.group = node->config.group.name,
		.node = node->id,
		.nodes = wh_node_config_nodes_max(&node->config),
		.addresses = addresses,
		.incarnation = node->incarnation,
		.held = held,
		.patience_ns = patience_ns(&node->config),
		.failure_ns = (uint64_t)node->config.group.failure_timeout_ms * WH_NS_PER_MS,
		.cut_ns = (uint64_t)node->config.group.cut_max_ms * WH_NS_PER_MS,
		.huge_pages = node->config.engine.huge_pages,
	};
	struct wh_secret secret;
	enum whorl_result result = wh_secret_load(&node->config.group, node->id, config.nodes, &secret, err);

	if (result != WHORL_OK)
		return result;
	config.key = secret.key;
	config.tls = secret.tls;
	for (uint32_t id = 0; node->config.addresses != NULL && id < config.nodes; id++)
		addresses[id] = node->config.addresses[id].address;
	result = world->create(&config, world->create_ctx, &node->transport, err);
	wh_secret_free(&secret); /* the transport holds what it needs */
	if (result != WHORL_OK)
		return result;
	return wh_gate_create(&node->gate, wh_node_wake, node, err);
}

/* Where passes leave subgroups out, a bit says that one has been committed to. Those of a short file have none, and are stepped in each
 * pass. */
static bool has_bit(const whorl_subgroup *subgroup)
{
	const struct wh_node_config *config = &subgroup->node->config;
	uint32_t shards = 0;

	for (uint32_t i = 0; i < config->subgroup_count; i++)
		shards += (uint32_t)config->subgroups[i].options.shards;
	return wh_node_is_dynamic(subgroup) || wh_rows_moved_words(config, shards) > 0;
}

static enum whorl_result open_ring(whorl_subgroup *subgroup, struct wh_error *err)
{
	whorl_node *node = subgroup->node;
	enum whorl_result result = wh_ring_create(&subgroup->ring, node->gate, &node->diag, subgroup->window,
						  subgroup->message_bytes, err);

	if (result == WHORL_OK && has_bit(subgroup))
		wh_ring_use_bit(subgroup->ring, node->committed, subgroup->index);
	return result;
}

enum whorl_result wh_node_fill_subgroup(whorl_subgroup *subgroup, const struct wh_parameters *parameters,
					uint64_t refuse_max_ms, struct wh_error *err)
{
	whorl_node *node = subgroup->node;
	uint32_t nodes = wh_node_config_nodes_max(&node->config);

	subgroup->mode = parameters->ordered ? WH_MODE_ORDERED : WH_MODE_UNORDERED;
	subgroup->durable = parameters->durable;
	subgroup->message_bytes = parameters->message_bytes;
	subgroup->window = parameters->window;
	subgroup->large_bytes = parameters->large_bytes;
	subgroup->parts_most = wh_parts_most(parameters->large_bytes, parameters->message_bytes);
	(void)wh_slots_lay(&subgroup->slots, 0, subgroup->window, subgroup->message_bytes, node->headers_apart);
	subgroup->offer.max_ns = refuse_max_ms * WH_NS_PER_MS;
	wh_backlog_init(&subgroup->offer.backlog, (uint64_t)node->config.group.backlog_max);
	subgroup->had = malloc(nodes * sizeof(*subgroup->had));
	if (subgroup->had == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a subgroup");
	for (uint32_t id = 0; id < nodes; id++)
		subgroup->had[id] = WH_UNKNOWN;
	return subgroup->mine && (!wh_node_is_dynamic(subgroup) || subgroup->stay.sends) ? open_ring(subgroup, err)
											 : WHORL_OK;
}

static enum whorl_result open_configured(whorl_node *node, uint32_t index, struct wh_error *err)
{
	const struct wh_node_subgroup *configured = &node->config.subgroups[index];
	const struct wh_view_subgroup in_view = {.configured = index};
	struct wh_parameters parameters = wh_node_config_parameters(&node->config, &in_view);
	whorl_subgroup *subgroup = calloc(1, sizeof(*subgroup));

	if (subgroup == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for subgroups");
	node->subgroups[index] = subgroup;
	subgroup->node = node;
	subgroup->name = configured->name;
	subgroup->index = index;
	subgroup->mine = may_be_in(&node->texts[index], node->id);
	subgroup->log_bytes = (uint64_t)configured->options.log_bytes;
	return wh_node_fill_subgroup(subgroup, &parameters, (uint64_t)configured->options.refuse_max_ms, err);
}

static enum whorl_result open_subgroups(whorl_node *node, struct wh_error *err)
{
	enum whorl_result result = WHORL_OK;

	node->subgroup_room = node->config.subgroup_count + WH_STAYS_MAX;
	node->committed_words = (node->subgroup_room + WH_COMMITTED_BITS - 1) / WH_COMMITTED_BITS;
	node->subgroups = calloc(node->subgroup_room, sizeof(whorl_subgroup *));
	node->committed = calloc(node->committed_words, sizeof(*node->committed));
	node->busy_states = calloc(node->subgroup_room, sizeof(struct wh_state *));
	node->refusers = calloc(node->subgroup_room, sizeof(whorl_subgroup *));
	node->layered = calloc(node->subgroup_room, sizeof(whorl_subgroup *));
	if (node->subgroups == NULL || node->committed == NULL || node->busy_states == NULL || node->refusers == NULL ||
	    node->layered == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for subgroups");
	for (uint32_t i = 0; result == WHORL_OK && i < node->config.subgroup_count; i++)
		result = open_configured(node, i, err);
	return result;
}

static enum whorl_result open_engine(whorl_node *node, struct wh_error *err)
{
	enum whorl_result result;

	node->event = calloc(1, sizeof(*node->event));
	if (node->event == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a node");
	wh_loop_init(&node->loop, &node->diag, node->transport, node->gate, (enum wh_idle)node->config.engine.idle);
	node->loop.backoff.dear |= node->caller; /* the program looks at its own descriptors, too */
	wh_loop_on_park(&node->loop, wh_epoch_park, node);
	result = wh_loop_add(&node->loop, wh_node_watch, node, err);
	return result == WHORL_OK ? open_subgroups(node, err) : result;
}

/* On disk, where records are kept (0032). */
static enum whorl_result open_record(whorl_node *node, const struct wh_world *world, struct wh_error *err)
{
	struct wh_record *record = &node->record;

	*record = (struct wh_record){
		.ops = world->records, .ctx = world->records_ctx, .env = &node->env, .jobs = &node->jobs};
	if (record->ops == NULL && wh_node_config_keeps_records(&node->config)) {
		struct wh_record_file *file = &record->file;

		snprintf(file->directory, sizeof(file->directory), "%s", node->config.group.state_dir);
		snprintf(file->group, sizeof(file->group), "%.63s", node->config.group.name);
		snprintf(file->name, sizeof(file->name), "%s.%u.group", file->group, node->id);
		file->node = node->id;
		record->ops = &wh_record_files;
		record->ctx = file;
	}
	return wh_record_open(record, err);
}

static enum wh_form_rule rule_of(const whorl_node *node)
{
	if (wh_node_config_founder(&node->config) >= 0)
		return WH_FORM_FOUNDER;
	if (node->logs != NULL) /* else a durable group is formed by all of its nodes (0058) */
		return WH_FORM_ALL;
	return node->one_host || node->record.ops != NULL ? WH_FORM_MAJORITY : WH_FORM_ALL;
}

/* What an operator has asked of this start must be something that this node may do at all. */
static enum whorl_result check_forced(const whorl_node *node, struct wh_error *err)
{
	int founder = wh_node_config_founder(&node->config);

	if (node->forced && node->id >= (uint32_t)node->config.group.nodes && founder != (int)node->id)
		return wh_error_set(err, WHORL_INVALID,
				    "node %u cannot be told to form a group: ids below %d (group.nodes) can", node->id,
				    (int)node->config.group.nodes);
	if (node->forced && founder >= 0 && founder != (int)node->id)
		return wh_error_set(err, WHORL_INVALID,
				    "node %u cannot be told to form a group: node %d is its founder (group.founder)",
				    node->id, founder);
	return WHORL_OK;
}

/* What nodes wish, of which the views of this node are to be told (0046). */
static enum whorl_result open_serving(whorl_node *node, struct wh_error *err)
{
	node->serving = calloc(1, sizeof(*node->serving));
	if (node->serving == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a node");
	node->serving->roster = &node->roster;
	node->serving->layout = &node->layout_config;
	node->serving->wishing.on_refused = wh_node_wish_refused;
	node->serving->wishing.ctx = node;
	return wh_serving_init(node->serving) == WHORL_OK ? WHORL_OK
							  : wh_error_set(err, WHORL_MEMORY, "no memory for a node");
}

/* The other nodes that are there, and the way to them. */
static enum whorl_result open_entry(whorl_node *node, struct wh_error *err)
{
	const struct wh_node_config *config = &node->config;
	enum whorl_result result;

	node->roster = (struct wh_roster){
		.diag = &node->diag,
		.loop = &node->loop,
		.transport = node->transport,
		.id = node->id,
		.nodes = wh_node_config_nodes_max(config),
		.incarnation = node->incarnation,
		.group_digest = wh_node_config_group_digest(config),
		.subgroups_digest = wh_node_config_subgroups_digest(config, node->headers_apart),
	};
	result = open_serving(node, err);
	if (result != WHORL_OK)
		return result;
	node->requests = (struct wh_join_requests){
		.roster = &node->roster, .patience_ns = (uint64_t)config->group.start_timeout_ms * WH_NS_PER_MS};
	node->join = (struct wh_join){
		.roster = &node->roster,
		.requests = &node->requests,
		.layout = &node->layout_config,
		.configured = (uint32_t)config->group.nodes,
		.rule = rule_of(node),
		.founder = wh_node_config_founder(config),
		.may_form = config->group.start == WH_START_AUTO,
		.one_host = node->one_host,
		.forced = node->forced,
		.records = node->record.ops != NULL,
		.record = node->record.group,
		.start_timeout_ns = (uint64_t)config->group.start_timeout_ms * WH_NS_PER_MS,
		.patience_ns = patience_ns(config),
		.on = wh_node_joiner,
		.ctx = node,
	};
	node->join.wishing = &node->serving->wishing;
	node->home = node->one_host || node->join.founder >= 0 ? UINT32_MAX : (uint32_t)config->group.nodes;
	result = wh_roster_init(&node->roster, err);
	return result == WHORL_OK ? wh_durable_open_restart(node, err) : result;
}

static whorl_node *new_node(uint32_t id, const struct wh_world *world, const struct whorl_open_options *options)
{
	whorl_node *node =
		aligned_alloc(WH_CACHE_LINE, (sizeof(*node) + WH_CACHE_LINE - 1) / WH_CACHE_LINE * WH_CACHE_LINE);

	if (node == NULL)
		return NULL;
	memset(node, 0, sizeof(*node));
	node->id = id;
	node->headers_apart = world->headers_apart;
	node->one_host = world->one_host;
	node->fd = node->timer_fd = -1;
	node->world_env = world->env;
	node->env = wrap_env(node);
	if (options != NULL && options->size >= offsetof(struct whorl_open_options, layout)) {
		node->log = options->log;
		node->log_ctx = options->log_ctx;
	}
	if (options != NULL && options->size > offsetof(struct whorl_open_options, form))
		node->forced = options->form;
	if (options != NULL && options->size >= offsetof(struct whorl_open_options, form)) {
		node->layout = options->layout;
		node->layout_ctx = options->layout_ctx;
	}
	pthread_mutex_init(&node->lock, NULL);
	wh_thread_condition_init(&node->changed);
	wh_diag_init(&node->diag, &node->env, id);
	node->incarnation = world->env->random_u64(world->env->ctx) | 1;
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
	node->caller = place->config->engine.thread == WH_THREAD_CALLER;
	result = wh_node_config_copy(&node->config, place->config, err);
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
	result = node == NULL ? WHORL_MEMORY : wh_node_config_copy(&node->config, &bound, wh_config_failure(config));
	if (result == WHORL_OK)
		result = plan_memory(node, wh_config_failure(config));
	if (node != NULL) {
		*bytes = node->memory_bytes;
		if (*bytes > 0 && result == WHORL_MEMORY) { /* too much is an answer as well */
			wh_error_clear(wh_config_failure(config));
			result = WHORL_OK;
		}
		wh_node_free(node, false, true);
	}
	wh_node_config_free(&bound);
	return result;
}

void wh_node_free_subgroup(whorl_subgroup *subgroup, bool forked)
{
	if (subgroup == NULL)
		return;
	wh_ring_free(subgroup->ring);
	wh_state_free(subgroup->state, forked);
	free(subgroup->had);
	wh_backlog_clear(&subgroup->offer.backlog);
	wh_durable_free_state(subgroup, forked);
	if (subgroup->layer.ops != NULL)
		subgroup->layer.ops->free(subgroup->layer.ctx);
	free(subgroup);
}

/* To close files may take as long as a disk does. Where all is one thread it takes no time, and nothing else is done meanwhile. */
static void close_logs(whorl_node *node, bool forked, bool waits)
{
	uint64_t timeout_ns = waits ? (uint64_t)node->config.group.disk_timeout_ms * WH_NS_PER_MS : 0;

	if (forked || node->aside == NULL || node->world_env->nap != NULL)
		wh_logs_close(node->logs, forked);
	else
		wh_durable_close_aside(node, node->logs);
	if (!forked)
		(void)wh_aside_close(node->aside, timeout_ns);
}

/* Also for a node that was opened only in part. The transport goes first: pushes of it point at what the others own. In
 * a forked child the lock and the condition are not destroyed: threads that only the parent has may be inside, and the
 * child would wait for them. */
void wh_node_free(whorl_node *node, bool forked, bool waits_for_disk)
{
	struct wh_epoch *epoch = node->epoch;

	if (node->transport != NULL)
		node->transport->ops->destroy(node->transport, forked);
	while (epoch != NULL) {
		struct wh_epoch *older = epoch->older;

		wh_epoch_free(epoch, false);
		epoch = older;
	}
	wh_epoch_free(node->proposed, false);
	for (uint32_t i = 0; node->subgroups != NULL && i < node->subgroup_room; i++)
		wh_node_free_subgroup(node->subgroups[i], forked);
	free(node->subgroups);
	close_logs(node, forked, waits_for_disk); /* their states may still read logs */
	free(node->committed);
	free(node->busy_states);
	free(node->refusers);
	free(node->layered);
	if (node->serving != NULL)
		wh_serving_close(node->serving);
	free(node->serving);
	wh_join_close(&node->join);
	wh_join_requests_close(&node->requests);
	wh_roster_close(&node->roster);
	wh_loop_close(&node->loop);
	if (node->fd >= 0)
		close(node->fd);
	if (node->timer_fd >= 0)
		close(node->timer_fd);
	free(node->event);
	wh_gate_free(node->gate);
	free(node->texts);
	wh_node_config_free(&node->config);
	if (!forked) {
		pthread_cond_destroy(&node->changed);
		pthread_mutex_destroy(&node->lock);
	}
	free(node);
}
