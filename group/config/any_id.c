/* any_id.c - see any_id.h. */
#include "group/config/any_id.h"

/* An id may be let go of behind the place that is looked at, while another process takes the one before it. One that stays free is
 * found by the first pass. */
#define PASSES 2
#define TURNS 3

/* When an id is tried. Configured ids count for the first quorum: they come first where a majority forms the group. A founder is
 * started by its id, so that id is left to it as long as another is free, and then those that the file names. Where it names none the
 * first process is the founder. */
static int turn_of(const struct wh_node_config *config, uint32_t id)
{
	int founder = wh_node_config_founder(config);
	bool is_founder = (int)id == founder, is_configured = id < config->group.nodes;

	if (wh_node_config_names_none(config))
		return !is_founder;
	if (founder >= 0)
		return is_founder ? 2 : is_configured;
	return !is_configured;
}

/* WHORL_AGAIN: none of these was free. */
static enum whorl_result try_first(const struct wh_any_id *any, uint32_t *id, struct wh_error *err)
{
	enum whorl_result result = WHORL_AGAIN;

	for (size_t i = 0; i < any->first_count && result == WHORL_AGAIN; i++) {
		*id = any->first[i];
		result = any->take(any->ctx, *id, err);
	}
	return result;
}

/* WHORL_AGAIN: none was free. */
static enum whorl_result try_all(const struct wh_any_id *any, uint32_t *id, struct wh_error *err)
{
	uint32_t nodes = wh_node_config_nodes_max(any->config), from = (uint32_t)(any->random % nodes);

	for (int turn = 0; turn < TURNS; turn++)
		for (uint32_t i = 0; i < nodes; i++) {
			enum whorl_result result = WHORL_AGAIN;

			*id = (from + i) % nodes;
			if (turn_of(any->config, *id) == turn)
				result = any->take(any->ctx, *id, err);
			if (result != WHORL_AGAIN)
				return result;
		}
	return WHORL_AGAIN;
}

enum whorl_result wh_any_id(const struct wh_any_id *any, uint32_t *id, struct wh_error *err)
{
	enum whorl_result result = try_first(any, id, err);

	for (int pass = 0; pass < PASSES && result == WHORL_AGAIN; pass++)
		result = try_all(any, id, err);
	if (result == WHORL_AGAIN)
		return wh_error_set(err, WHORL_REFUSED, "no id is free: processes hold all %u of group %s",
				    wh_node_config_nodes_max(any->config), any->config->group.name);
	return result;
}
