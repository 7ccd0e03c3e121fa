/* node.c - a node from open to free. See node_int.h for its life, whorl.h for the contract. */
#include "group/node_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/shm.h"

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

void whorl_set_log(whorl_node *node, whorl_log_fn *fn, void *ctx)
{
	if (wh_node_state(node) == WHORL_FORKED)
		return; /* the lock may be held by a thread that only the parent has */
	pthread_mutex_lock(&node->lock);
	node->log = fn;
	node->log_ctx = ctx;
	pthread_mutex_unlock(&node->lock);
}

/* ---- failure ---------------------------------------------------------------------------------------------------------- */

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
	wh_fetch_or(&node->gate->state, WH_GATE_FAILED); /* before anybody can know of it otherwise */
	pthread_cond_broadcast(&node->changed);
	pthread_mutex_unlock(&node->lock);
	if (!first)
		return;
	wh_log(&node->diag, level, "%s", text);
	for (uint32_t i = 0; i < node->subgroup_count; i++)
		if (node->subgroups[i].ring != NULL)
			wh_ring_signal(node->subgroups[i].ring);
}

static void member_overdue(void *ctx, uint32_t rank, uint64_t silence_ns)
{
	whorl_node *node = ctx;

	wh_node_fail(node, WH_LOG_WARNING, WHORL_MEMBER_GONE, "node %u has not been heard for %llu ms",
		     node->view->ids[rank], (unsigned long long)(silence_ns / WH_NS_PER_MS));
}

static void member_broken(void *ctx, uint32_t rank, const char *what)
{
	whorl_subgroup *subgroup = ctx;

	wh_node_fail(subgroup->node, WH_LOG_WARNING, WHORL_MEMBER_GONE, "node %u is broken: in subgroup %s its %s",
		     subgroup->node->view->ids[rank], subgroup->layout->name, what);
}

/* ---- open ---------------------------------------------------------------------------------------------------------------- */

static void wake(void *ctx)
{
	whorl_node *node = ctx;

	node->transport->ops->wake(node->transport);
}

static uint64_t estimate(const whorl_node *node)
{
	uint64_t bytes = sizeof(*node) + node->rows->specs[node->rank].bytes + node->rows->layout.bytes;

	for (uint32_t g = 0; g < node->view->subgroup_count; g++) {
		const struct wh_view_subgroup *layout = &node->view->subgroups[g];

		if (wh_rank_find(layout->members, layout->member_count, node->rank) < 0)
			continue;
		bytes += wh_multicast_estimate(layout->member_count, layout->sender_count);
		if (wh_rank_find(layout->senders, layout->sender_count, node->rank) >= 0)
			bytes += wh_ring_estimate((uint32_t)node->config.subgroups[g].options.window);
	}
	return bytes;
}

/* The view, the rows, and what they will take: nothing large is allocated yet. */
static enum whorl_result plan(whorl_node *node, const struct wh_node_config *config, bool apart, struct wh_error *err)
{
	struct wh_subgroup_text *texts = calloc(config->subgroup_count, sizeof(*texts));
	enum whorl_result result;

	if (texts == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for %u subgroups", config->subgroup_count);
	for (uint32_t g = 0; g < config->subgroup_count; g++)
		texts[g] = (struct wh_subgroup_text){config->subgroups[g].name, config->subgroups[g].options.members,
						     config->subgroups[g].options.senders, 1, 1};
	result = wh_view_create(&node->view, (uint32_t)config->group.nodes,
				&(struct wh_layout_config){texts, config->subgroup_count, NULL, NULL}, err);
	free(texts);
	if (result == WHORL_OK)
		result = wh_rows_create(&node->rows, node->view, config, node->rank, apart, err);
	if (result != WHORL_OK)
		return result;
	node->memory_bytes = estimate(node);
	if (node->memory_bytes > (uint64_t)config->group.memory_max)
		return wh_error_set(err, WHORL_MEMORY,
				    "node %u needs %.1f MiB, and group.memory_max allows %.1f MiB; smaller windows or "
				    "messages need less",
				    node->id, (double)node->memory_bytes / (1 << 20),
				    (double)config->group.memory_max / (1 << 20));
	return WHORL_OK;
}

static enum whorl_result open_transport(whorl_node *node, const struct wh_world *world, struct wh_error *err)
{
	const struct wh_transport_config config = {
		.env = &node->env,
		.group = node->config.group.name,
		.node = node->id,
		.nodes = (uint32_t)node->config.group.nodes,
		.huge_pages = node->config.engine.huge_pages,
	};
	const struct wh_image_spec spec = {
		.key = node->view->number,
		.layout_digest = node->rows->digest,
		.members = node->view->members,
		.my_rank = node->rank,
		.control_bytes = node->rows->control_bytes,
		.rows = node->rows->specs,
	};
	enum whorl_result result = world->create(&config, world->create_ctx, &node->transport, err);

	if (result != WHORL_OK)
		return result;
	result = wh_gate_create(&node->gate, wake, node, err);
	if (result != WHORL_OK)
		return result;
	return node->transport->ops->image_open(node->transport, &spec, &node->image, err);
}

static enum whorl_result open_subgroup(whorl_node *node, whorl_subgroup *subgroup, uint32_t index, struct wh_error *err)
{
	const struct wh_view_subgroup *layout = &node->view->subgroups[index];
	const struct wh_subgroup_options *options = &node->config.subgroups[index].options;
	const struct wh_engine_options *engine = &node->config.engine;
	int me = wh_rank_find(layout->senders, layout->sender_count, node->rank);
	struct wh_rows_subgroup *rows = &node->rows->subgroups[index];
	enum whorl_result result;

	*subgroup = (whorl_subgroup){.node = node,
				     .index = index,
				     .layout = layout,
				     .message_bytes = (uint32_t)options->message_bytes,
				     .window = (uint32_t)options->window};
	subgroup->sender_ids = calloc(layout->sender_count, sizeof(*subgroup->sender_ids));
	if (subgroup->sender_ids == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for %u senders", layout->sender_count);
	for (uint32_t s = 0; s < layout->sender_count; s++)
		subgroup->sender_ids[s] = node->view->ids[layout->senders[s]];
	if (me >= 0) {
		result = wh_ring_create(&subgroup->ring, node->gate, &node->diag, node->image->own, &rows->slots[me],
					subgroup->message_bytes, err);
		if (result != WHORL_OK)
			return result;
	}
	return wh_multicast_create(
		&subgroup->mc,
		&(struct wh_multicast_config){
			.diag = &node->diag,
			.sst = &node->sst,
			.pushes = &node->pushes,
			.columns = rows->columns,
			.subgroup = index,
			.mode = options->mode == 0 ? WH_MODE_UNORDERED : WH_MODE_ORDERED,
			.switches = {engine->send_batching, engine->receive_batching, engine->delivery_batching,
				     engine->null_sends, engine->deferred_push},
			.window = subgroup->window,
			.message_bytes = subgroup->message_bytes,
			.members = layout->members,
			.member_count = layout->member_count,
			.senders = layout->senders,
			.sender_ids = subgroup->sender_ids,
			.sender_count = layout->sender_count,
			.me = me,
			.slots = rows->slots,
			.ring = subgroup->ring,
			.now_ns = &node->loop.now_ns,
			.handle = subgroup,
			.deliver = wh_node_deliver,
			.broken = member_broken,
		},
		err);
}

static enum whorl_result open_subgroups(whorl_node *node, struct wh_error *err)
{
	node->subgroups = calloc(node->view->subgroup_count, sizeof(*node->subgroups));
	if (node->subgroups == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for subgroups");
	for (uint32_t g = 0; g < node->view->subgroup_count; g++) {
		const struct wh_view_subgroup *layout = &node->view->subgroups[g];
		enum whorl_result result;

		if (wh_rank_find(layout->members, layout->member_count, node->rank) < 0)
			continue;
		result = open_subgroup(node, &node->subgroups[node->subgroup_count++], g, err);
		if (result != WHORL_OK)
			return result;
	}
	return WHORL_OK;
}

static enum whorl_result open_engine(whorl_node *node, struct wh_error *err)
{
	enum whorl_result result;

	node->event = calloc(1, sizeof(*node->event));
	if (node->event == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a node");
	wh_loop_init(&node->loop, &node->diag, node->transport, node->gate, (enum wh_idle)node->config.engine.idle);
	wh_pushes_init(&node->pushes, &node->env, &node->push_stats, node->config.engine.deferred_push);
	node->pushes.image = node->image;
	result = wh_sst_init(&node->sst, &node->diag, node->image, &node->rows->layout, err);
	if (result != WHORL_OK)
		return result;
	node->heartbeat = (struct wh_heartbeat){
		.loop = &node->loop,
		.sst = &node->sst,
		.pushes = &node->pushes,
		.column = node->rows->node.heartbeat,
		.timeout_ns = (uint64_t)node->config.group.failure_timeout_ms * WH_NS_PER_MS,
		.overdue = member_overdue,
		.ctx = node,
	};
	result = wh_heartbeat_init(&node->heartbeat, err);
	if (result != WHORL_OK)
		return result;
	return wh_loop_add(&node->loop, wh_node_watch, node, err);
}

static whorl_node *new_node(uint32_t id, const struct wh_world *world, const struct whorl_open_options *options)
{
	whorl_node *node =
		aligned_alloc(WH_CACHE_LINE, (sizeof(*node) + WH_CACHE_LINE - 1) / WH_CACHE_LINE * WH_CACHE_LINE);
	pthread_condattr_t attributes;

	if (node == NULL)
		return NULL;
	memset(node, 0, sizeof(*node));
	node->id = node->rank = id;
	node->fd = node->timer_fd = -1;
	node->world_env = world->env;
	node->env = (struct wh_env){node, env_now, env_random, log_line, env_fatal, env_submit};
	if (options != NULL && options->size >= sizeof(*options)) {
		node->log = options->log;
		node->log_ctx = options->log_ctx;
	}
	pthread_mutex_init(&node->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&node->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	wh_diag_init(&node->diag, &node->env, id);
	return node;
}

enum whorl_result wh_node_open(const struct wh_node_config *config, uint32_t id, const struct wh_world *world,
			       const struct whorl_open_options *options, whorl_node **out, struct wh_error *err)
{
	enum whorl_result result;
	whorl_node *node;

	*out = NULL;
	if (id >= (uint64_t)config->group.nodes)
		return wh_error_set(err, WHORL_INVALID, "there is no node %u, expected 0 to %lld", id,
				    (long long)config->group.nodes - 1);
	if (options != NULL && options->size < sizeof(size_t))
		return wh_error_set(err, WHORL_INVALID, "whorl_open_options.size is not set");
	node = new_node(id, world, options);
	if (node == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a node");
	node->caller = config->engine.thread == 1;
	result = wh_node_config_copy(&node->config, config, err);
	if (result == WHORL_OK)
		result = plan(node, config, world->headers_apart, err);
	if (result == WHORL_OK)
		result = open_transport(node, world, err);
	if (result == WHORL_OK)
		result = open_engine(node, err);
	if (result == WHORL_OK)
		result = open_subgroups(node, err);
	if (result != WHORL_OK) {
		wh_node_free(node, false);
		return result;
	}
	*out = node;
	return WHORL_OK;
}

static enum whorl_result open_here(whorl_config *config, struct wh_node_config *bound, struct wh_world *world)
{
	enum whorl_result result = wh_config_bind(config, bound);

	if (result != WHORL_OK)
		return result;
	*world = (struct wh_world){.env = wh_env_system(), .create = wh_shm_create, .headers_apart = true};
	if (bound->group.transport == WH_TRANSPORT_SHM)
		return WHORL_OK;
	wh_node_config_free(bound);
	return wh_error_set(wh_config_failure(config), WHORL_UNSUPPORTED,
			    "group.transport: this version has shm only%s",
			    bound->group.transport == WH_TRANSPORT_SIM ? "; sim is for the tests" : "");
}

enum whorl_result whorl_open(whorl_config *config, uint32_t id, const struct whorl_open_options *options,
			     whorl_node **out)
{
	struct wh_node_config bound;
	struct wh_world world;
	enum whorl_result result;

	*out = NULL;
	result = open_here(config, &bound, &world);
	if (result != WHORL_OK)
		return result;
	result = wh_node_open(&bound, id, &world, options, out, wh_config_failure(config));
	wh_node_config_free(&bound);
	return result;
}

enum whorl_result whorl_estimate(whorl_config *config, uint32_t id, uint64_t *bytes)
{
	struct wh_node_config bound;
	struct wh_world world;
	enum whorl_result result;
	whorl_node *node;

	*bytes = 0;
	result = open_here(config, &bound, &world);
	if (result != WHORL_OK)
		return result;
	if (id >= (uint64_t)bound.group.nodes) {
		wh_node_config_free(&bound);
		return wh_error_set(wh_config_failure(config), WHORL_INVALID, "there is no node %u", id);
	}
	node = new_node(id, &world, NULL);
	result = node == NULL ? WHORL_MEMORY : wh_node_config_copy(&node->config, &bound, wh_config_failure(config));
	if (result == WHORL_OK)
		result = plan(node, &bound, world.headers_apart, wh_config_failure(config));
	if (node != NULL) {
		*bytes = node->memory_bytes;
		if (*bytes > 0 && result == WHORL_MEMORY)
			result = WHORL_OK; /* too much is an answer as well */
		wh_node_free(node, false);
	}
	wh_node_config_free(&bound);
	return result;
}

/* Also for a node that was opened only in part. The transport goes first: pushes of it point at what the others own. In
 * a forked child the lock and the condition are not destroyed: threads that only the parent has may be inside, and the
 * child would wait for them. */
void wh_node_free(whorl_node *node, bool forked)
{
	if (node->transport != NULL)
		node->transport->ops->destroy(node->transport, forked);
	for (uint32_t i = 0; node->subgroups != NULL && i < node->subgroup_count; i++) {
		wh_multicast_free(node->subgroups[i].mc);
		wh_ring_free(node->subgroups[i].ring);
		free(node->subgroups[i].sender_ids);
	}
	free(node->subgroups);
	wh_heartbeat_close(&node->heartbeat);
	wh_sst_close(&node->sst);
	wh_loop_close(&node->loop);
	if (node->fd >= 0)
		close(node->fd);
	if (node->timer_fd >= 0)
		close(node->timer_fd);
	free(node->event);
	wh_gate_free(node->gate);
	wh_rows_free(node->rows);
	wh_view_free(node->view);
	wh_node_config_free(&node->config);
	if (!forked) {
		pthread_cond_destroy(&node->changed);
		pthread_mutex_destroy(&node->lock);
	}
	free(node);
}
