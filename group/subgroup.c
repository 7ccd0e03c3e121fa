/* subgroup.c - the subgroups of a node: how one is made, found, and freed. */
#include <stdlib.h>
#include <string.h>

#include "group/durable.h"
#include "group/node_int.h"

/* Where passes leave subgroups out, a bit says that one has been committed to. Those of a short file have none, and are stepped in each
 * pass. */
static bool has_bit(const whorl_subgroup *subgroup)
{
	const struct wh_node_config *config = &subgroup->node->fixed.config;
	uint32_t shards = 0;

	for (uint32_t i = 0; i < config->subgroup_count; i++)
		shards += (uint32_t)config->subgroups[i].options.shards;
	return wh_node_is_dynamic(subgroup) || wh_rows_moved_words(config, shards) > 0;
}

whorl_subgroup *wh_node_new_subgroup(whorl_node *node)
{
	whorl_subgroup *subgroup = calloc(1, sizeof(*subgroup));

	if (subgroup != NULL)
		*(whorl_node **)&subgroup->node = node; /* const from here on */
	return subgroup;
}

static enum whorl_result open_ring(whorl_subgroup *subgroup, struct wh_error *err)
{
	whorl_node *node = subgroup->node;
	struct wh_ring **ring = (struct wh_ring **)&subgroup->ring; /* const from here on */
	enum whorl_result result = wh_ring_create(ring, node->fixed.gate, &node->diag, subgroup->fixed.window,
						  subgroup->fixed.message_bytes, err);

	if (result == WHORL_OK && subgroup->fixed.one_thread)
		wh_ring_promise_single(subgroup->ring);
	if (result == WHORL_OK && has_bit(subgroup))
		wh_ring_use_bit(subgroup->ring, node->list.committed, subgroup->fixed.index);
	return result;
}

enum whorl_result wh_node_fill_subgroup(whorl_subgroup *subgroup, const struct wh_parameters *parameters,
					uint64_t refuse_max_ms, struct wh_error *err)
{
	struct wh_subgroup_fixed *fixed = wh_fixed_write(&subgroup->fixed);
	const whorl_node *node = subgroup->node;
	uint32_t nodes = wh_node_config_nodes_max(&node->fixed.config);

	fixed->mode = parameters->ordered ? WH_MODE_ORDERED : WH_MODE_UNORDERED;
	fixed->durable = parameters->durable;
	fixed->message_bytes = parameters->message_bytes;
	fixed->window = parameters->window;
	fixed->large_bytes = parameters->large_bytes;
	fixed->parts_most = wh_parts_most(parameters->large_bytes, parameters->message_bytes);
	(void)wh_slots_lay(&fixed->slots, 0, fixed->window, fixed->message_bytes, node->fixed.headers_apart);
	fixed->refuse_max_ns = refuse_max_ms * WH_NS_PER_MS;
	wh_backlog_init(&subgroup->offer.backlog, (uint64_t)node->fixed.config.group.backlog_max);
	subgroup->had = malloc(nodes * sizeof(*subgroup->had));
	if (subgroup->had == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a subgroup");
	for (uint32_t id = 0; id < nodes; id++)
		subgroup->had[id] = WH_UNKNOWN;
	return fixed->mine && (!wh_node_is_dynamic(subgroup) || fixed->sends) ? open_ring(subgroup, err) : WHORL_OK;
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

/* ---- finding -------------------------------------------------------------------------------------------------------------- */

bool wh_stage_is_live(enum wh_stage stage)
{
	return stage == WH_STAGE_ENTERING || stage == WH_STAGE_IN || stage == WH_STAGE_LEAVING;
}

whorl_subgroup *wh_node_next_stay(const whorl_node *node, uint32_t *at)
{
	if (*at < node->fixed.config.subgroup_count)
		*at = node->fixed.config.subgroup_count;
	return wh_node_next_subgroup(node, at);
}

/* There is one of a name at most. */
whorl_subgroup *wh_node_find_stay(const whorl_node *node, const char *name)
{
	whorl_subgroup *subgroup;

	for (uint32_t at = 0; (subgroup = wh_node_next_stay(node, &at)) != NULL;)
		if (wh_stage_is_live(subgroup->told.stage) && strcmp(subgroup->fixed.name, name) == 0)
			return subgroup;
	return NULL;
}

whorl_subgroup *wh_node_subgroup_of(const whorl_node *node, const struct wh_view_subgroup *layout)
{
	whorl_subgroup *subgroup;

	if (layout->configured != WH_NOT_CONFIGURED)
		return node->list.subgroups[layout->configured];
	subgroup = wh_node_find_stay(node, layout->name);
	return subgroup != NULL && !subgroup->stay.is_out ? subgroup : NULL;
}

static const struct wh_view_subgroup *find_birth(const struct wh_epoch *epoch, uint64_t birth)
{
	for (uint32_t i = 0; epoch != NULL && i < epoch->view->dynamic_count; i++)
		if (wh_view_dynamic(epoch->view)[i].birth == birth)
			return &wh_view_dynamic(epoch->view)[i];
	return NULL;
}

/* A node that says a birth that is not in my view has begun a later one, which is prepared here then: all its members have acknowledged
 * it before any began it. So nothing has to be kept for later. */
whorl_subgroup *wh_node_subgroup_by_number(const whorl_node *node, uint64_t number)
{
	const struct wh_view_subgroup *layout;

	if (number < node->fixed.config.subgroup_count)
		return node->list.subgroups[number];
	layout = find_birth(node->epochs.current, number);
	if (layout == NULL)
		layout = find_birth(node->epochs.proposed, number);
	return layout != NULL ? wh_node_subgroup_of(node, layout) : NULL;
}
