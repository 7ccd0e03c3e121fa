/* entities.c - what all entities have: policies, statuses, a listener, a place in the tree. See node.h. */
#include <stdlib.h>
#include <string.h>

#include "dds/node.h"

struct wh_dds_base *wh_dds_parent(const struct wh_dds_base *base)
{
	return (struct wh_dds_base *)(void *)base->entity.parent; /* its first member */
}

struct wh_dds_base *wh_dds_participant_of(struct wh_dds_base *base)
{
	while (wh_dds_parent(base) != NULL)
		base = wh_dds_parent(base);
	return base;
}

whorl_dds_return wh_dds_base_begin(const char *function, struct wh_dds_base *base, enum wh_dds_kind kind,
				   struct wh_dds_node *node, struct wh_dds_base *parent,
				   const struct wh_dds_entity_ops *ops, const struct whorl_dds_listener *listener)
{
	struct wh_dds_root *root = wh_dds_root();
	whorl_dds_entity handle = WHORL_DDS_RETCODE_OUT_OF_RESOURCES;

	base->node = node;
	pthread_mutex_init(&base->lock, NULL);
	if (listener != NULL)
		base->listener = *listener;
	wh_store_relaxed(&base->asks, base->listener.asks);
	if (node != NULL)
		wh_dds_node_hold(node);
	pthread_mutex_lock(&base->lock);
	if (root->table != NULL)
		handle = wh_dds_table_add(root->table, &base->entity, kind, parent != NULL ? &parent->entity : NULL,
					  ops);
	if (handle > 0) {
		wh_dds_condition_init(&base->condition.condition, &root->signals, handle);
		base->condition.enabled = wh_dds_statuses_of(kind);
	}
	pthread_mutex_unlock(&base->lock);
	if (handle == WHORL_DDS_RETCODE_ALREADY_DELETED)
		return wh_dds_say(function, handle, "the parent has been deleted");
	return handle > 0 ? WHORL_DDS_RETCODE_OK : wh_dds_say(function, handle, "memory, or handles, are out");
}

whorl_dds_return wh_dds_base_made(struct wh_dds_base *base, whorl_dds_return result)
{
	wh_dds_entity_made(&base->entity);
	if (result == WHORL_DDS_RETCODE_OK)
		result = base->entity.handle;
	else
		(void)wh_dds_entity_delete(&base->entity);
	wh_dds_let_go(base);
	return result;
}

void wh_dds_base_free(struct wh_dds_base *base)
{
	struct wh_dds_node *node = base->node;

	wh_dds_policies_free(&base->policies);
	pthread_mutex_destroy(&base->lock);
	if (node != NULL)
		wh_dds_node_drop(node);
}

void wh_dds_base_free_all(struct wh_dds_entity *entity)
{
	struct wh_dds_base *base = (struct wh_dds_base *)(void *)entity;

	wh_dds_base_free(base);
	free(base);
}

whorl_dds_return wh_dds_policies_begin(const char *function, struct wh_dds_policies *out, enum wh_dds_kind kind,
				       const whorl_dds_qos *qos)
{
	struct wh_error err;
	whorl_dds_return result = WHORL_DDS_RETCODE_OK;

	wh_error_clear(&err);
	wh_dds_policies_init(out, kind);
	if (qos != NULL)
		result = wh_dds_policies_merge(out, kind, &qos->policies, WH_DDS_KINDS);
	if (result == WHORL_DDS_RETCODE_OK)
		result = wh_dds_policies_check(out, kind, NULL, &err);
	if (result == WHORL_DDS_RETCODE_OK)
		return result;
	wh_dds_policies_free(out);
	return wh_dds_say(function, result, "%s", err.text[0] != '\0' ? err.text : "memory is out");
}

/* ---- the tree ------------------------------------------------------------------------------------------------------------------ */

whorl_dds_return whorl_dds_delete(whorl_dds_entity handle)
{
	struct wh_dds_base *base, *parent;
	whorl_dds_return result;

	if (wh_dds_on_loop())
		return WH_DDS_SAY(ILLEGAL_OPERATION, "not in an in-place listener");
	result = WH_DDS_HOLD(handle, WH_DDS_ANY_KIND, &base);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	parent = wh_dds_parent(base);
	if (base->alone)
		result = WH_DDS_SAY(PRECONDITION_NOT_MET, "it was made for another entity, and goes with that");
	else
		result = wh_dds_entity_delete(parent != NULL && parent->alone ? &parent->entity : &base->entity);
	if (result == WHORL_DDS_RETCODE_ALREADY_DELETED)
		result = WH_DDS_SAY(ALREADY_DELETED, "entity %d has been deleted", (int)handle);
	wh_dds_let_go(base);
	return result;
}

whorl_dds_return whorl_dds_enable(whorl_dds_entity entity)
{
	struct wh_dds_base *base;
	whorl_dds_return result = WH_DDS_HOLD(entity, WH_DDS_WITH_POLICIES, &base);

	wh_dds_let_go(base);
	return result;
}

whorl_dds_entity whorl_dds_get_parent(whorl_dds_entity entity)
{
	struct wh_dds_base *base;
	whorl_dds_return result = WH_DDS_HOLD(entity, WH_DDS_ANY_KIND, &base);

	if (result == WHORL_DDS_RETCODE_OK && wh_dds_parent(base) != NULL)
		result = wh_dds_parent(base)->entity.handle;
	wh_dds_let_go(base);
	return result;
}

whorl_dds_entity whorl_dds_get_participant(whorl_dds_entity entity)
{
	struct wh_dds_base *base;
	whorl_dds_return result = WH_DDS_HOLD(entity, WH_DDS_ANY_KIND, &base);

	if (result == WHORL_DDS_RETCODE_OK)
		result = wh_dds_participant_of(base)->entity.handle;
	wh_dds_let_go(base);
	return result;
}

whorl_dds_entity whorl_dds_get_topic(whorl_dds_entity entity)
{
	struct wh_dds_base *base, *end;
	whorl_dds_return result = WH_DDS_HOLD(entity, WH_DDS_ENDPOINTS | WH_DDS_READ_CONDITIONS, &base);

	if (result == WHORL_DDS_RETCODE_OK) {
		end = (WH_DDS_READ_CONDITIONS >> base->entity.kind & 1) != 0 ? wh_dds_parent(base) : base;
		result = ((struct wh_dds_endpoint_entity *)end)->topic->base.entity.handle;
	}
	wh_dds_let_go(base);
	return result;
}

whorl_dds_entity whorl_dds_get_datareader(whorl_dds_entity condition)
{
	struct wh_dds_base *base;
	whorl_dds_return result = WH_DDS_HOLD(condition, WH_DDS_READ_CONDITIONS, &base);

	if (result == WHORL_DDS_RETCODE_OK)
		result = wh_dds_parent(base)->entity.handle;
	wh_dds_let_go(base);
	return result;
}

whorl_dds_return whorl_dds_get_children(whorl_dds_entity entity, whorl_dds_entity *children, size_t count)
{
	struct wh_dds_base *base;
	whorl_dds_return result;

	if (children == NULL && count > 0)
		return WH_DDS_SAY(BAD_PARAMETER, "no memory for the children");
	result = WH_DDS_HOLD(entity, WH_DDS_ANY_KIND, &base);
	if (result == WHORL_DDS_RETCODE_OK)
		result = (whorl_dds_return)wh_dds_entity_children(base->entity.table, &base->entity, children, count);
	wh_dds_let_go(base);
	return result;
}

whorl_dds_return whorl_dds_get_domainid(whorl_dds_entity entity, uint32_t *domain)
{
	struct wh_dds_base *base;
	whorl_dds_return result;

	if (domain == NULL)
		return WH_DDS_SAY(BAD_PARAMETER, "no memory for the domain");
	result = WH_DDS_HOLD(entity, WH_DDS_ANY_KIND, &base);
	if (result == WHORL_DDS_RETCODE_OK)
		*domain = base->node->domain;
	wh_dds_let_go(base);
	return result;
}

/* ---- policies ------------------------------------------------------------------------------------------------------------------ */

/* What follows from others where it is not set: as a topic of the same policies, each set, would have it. */
static void settle_topic(struct wh_dds_policies *policies)
{
	struct wh_dds_policies is = *policies;

	policies->consistency = wh_dds_consistency(&is);
	wh_dds_policies_kept(&is, &policies->service.history, &policies->service.limits);
}

whorl_dds_return whorl_dds_get_qos(whorl_dds_entity entity, whorl_dds_qos *qos)
{
	struct wh_dds_policies copy;
	struct wh_dds_base *base;
	whorl_dds_return result;

	if (qos == NULL)
		return WH_DDS_SAY(BAD_PARAMETER, "no object");
	result = WH_DDS_HOLD(entity, WH_DDS_WITH_POLICIES, &base);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	pthread_mutex_lock(&base->lock);
	result = wh_dds_policies_copy(&copy, &base->policies);
	pthread_mutex_unlock(&base->lock);
	if (result == WHORL_DDS_RETCODE_OK) {
		if (base->entity.kind == WH_DDS_TOPIC)
			settle_topic(&copy);
		copy.set = wh_dds_policies_of(base->entity.kind);
		copy.lacks = 0;
		wh_dds_policies_free(&qos->policies);
		qos->policies = copy;
	} else {
		result = WH_DDS_SAY(OUT_OF_RESOURCES, "memory is out");
	}
	wh_dds_let_go(base);
	return result;
}

/* ---- statuses ------------------------------------------------------------------------------------------------------------------ */

whorl_dds_return whorl_dds_get_status_changes(whorl_dds_entity entity)
{
	struct wh_dds_base *base;
	whorl_dds_return result = WH_DDS_HOLD(entity, WH_DDS_WITH_POLICIES, &base);

	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	pthread_mutex_lock(&base->lock);
	result = (whorl_dds_return)(base->statuses.changed & base->condition.enabled);
	pthread_mutex_unlock(&base->lock);
	wh_dds_let_go(base);
	return result;
}

static whorl_dds_return give_status(const char *function, whorl_dds_entity entity, uint32_t id, void *status,
				    size_t bytes, bool take)
{
	size_t of = wh_dds_status_bytes(id);
	union wh_dds_status value;
	struct wh_dds_base *base;
	whorl_dds_return result;

	if (status == NULL || of == 0)
		return wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER, "%s",
				  of == 0 ? "it is not one status, or one without a struct" : "no memory for it");
	result = wh_dds_hold(function, entity, WH_DDS_WITH_POLICIES, &base);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	if ((wh_dds_statuses_of(base->entity.kind) & id) == 0) {
		wh_dds_let_go(base);
		return wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER, "the entity has no status \"%s\"",
				  wh_dds_status_name(id));
	}
	pthread_mutex_lock(&base->lock);
	value = take ? wh_dds_status_take(&base->statuses, id) : wh_dds_status_look(&base->statuses, id);
	wh_dds_status_condition_look(&base->condition, &base->statuses);
	pthread_mutex_unlock(&base->lock);
	memcpy(status, &value, bytes < of ? bytes : of);
	wh_dds_let_go(base);
	return WHORL_DDS_RETCODE_OK;
}

whorl_dds_return whorl_dds_read_status(whorl_dds_entity entity, uint32_t id, void *status, size_t bytes)
{
	return give_status(__func__, entity, id, status, bytes, false);
}

whorl_dds_return whorl_dds_take_status(whorl_dds_entity entity, uint32_t id, void *status, size_t bytes)
{
	return give_status(__func__, entity, id, status, bytes, true);
}

whorl_dds_return whorl_dds_set_status_mask(whorl_dds_entity entity, uint32_t mask)
{
	struct wh_dds_base *base;
	whorl_dds_return result = WH_DDS_HOLD(entity, WH_DDS_WITH_POLICIES, &base);

	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	if ((mask & ~wh_dds_statuses_of(base->entity.kind)) != 0) {
		result = WH_DDS_SAY(BAD_PARAMETER, "the entity does not have one of these statuses");
	} else {
		pthread_mutex_lock(&base->lock);
		base->condition.enabled = mask;
		wh_dds_status_condition_look(&base->condition, &base->statuses);
		pthread_mutex_unlock(&base->lock);
	}
	wh_dds_let_go(base);
	return result;
}

whorl_dds_return whorl_dds_get_status_mask(whorl_dds_entity entity, uint32_t *mask)
{
	struct wh_dds_base *base;
	whorl_dds_return result;

	if (mask == NULL)
		return WH_DDS_SAY(BAD_PARAMETER, "no memory for the mask");
	result = WH_DDS_HOLD(entity, WH_DDS_WITH_POLICIES, &base);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	pthread_mutex_lock(&base->lock);
	*mask = base->condition.enabled;
	pthread_mutex_unlock(&base->lock);
	wh_dds_let_go(base);
	return WHORL_DDS_RETCODE_OK;
}

/* ---- listeners ----------------------------------------------------------------------------------------------------------------- */

/* What has changed already is called for, too. */
static void look_again(struct wh_dds_base *base)
{
	pthread_mutex_lock(&base->lock);
	wh_dds_base_changed(base);
	pthread_mutex_unlock(&base->lock);
}

whorl_dds_return whorl_dds_set_listener(whorl_dds_entity entity, const whorl_dds_listener *listener)
{
	static const struct whorl_dds_listener none;
	struct wh_dds_base *base;
	whorl_dds_return result = WH_DDS_HOLD(entity, WH_DDS_WITH_POLICIES, &base);

	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	pthread_mutex_lock(&base->node->listening);
	base->listener = listener != NULL ? *listener : none;
	wh_store_relaxed(&base->asks, base->listener.asks);
	pthread_mutex_unlock(&base->node->listening);
	if (!wh_dds_on_loop())
		wh_dds_listener_await(base);
	look_again(base);
	wh_dds_let_go(base);
	return WHORL_DDS_RETCODE_OK;
}

whorl_dds_return whorl_dds_get_listener(whorl_dds_entity entity, whorl_dds_listener *listener)
{
	struct wh_dds_base *base;
	whorl_dds_return result;

	if (listener == NULL)
		return WH_DDS_SAY(BAD_PARAMETER, "no listener");
	result = WH_DDS_HOLD(entity, WH_DDS_WITH_POLICIES, &base);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	pthread_mutex_lock(&base->node->listening);
	*listener = base->listener;
	pthread_mutex_unlock(&base->node->listening);
	wh_dds_let_go(base);
	return WHORL_DDS_RETCODE_OK;
}
