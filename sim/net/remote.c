/* remote.c - regions of the simulator (T7): what each node has granted to which peer, what may be posted, and what is taken. */
#include <stdlib.h>
#include <string.h>

#include "sim/net/remote_int.h"

static struct sim_node *node_of(struct wh_transport *transport)
{
	return (struct sim_node *)transport;
}

/* ---- posting ------------------------------------------------------------------------------------------------------ */

/* Why it cannot be posted; WHORL_OK, and the account. */
static enum whorl_result account_for(struct sim_node *node, const struct wh_remote_op *op, struct sim_account **out)
{
	struct wh_remote_grant *grant;
	const struct sim_link *link;
	enum whorl_result result;

	if (op->node >= node->sim->options.nodes)
		return WHORL_INVALID;
	link = wh_sim_met(node, op->node);
	if (node->dead || node->left || (op->node != node->id && link == NULL))
		return WHORL_MEMBER_GONE;
	*out = op->node == node->id ? node->own_account : link->account;
	if (*out == NULL)
		return WHORL_NOT_FOUND;
	result = wh_remote_judge(&(*out)->base, op, &grant);
	if (result == WHORL_OK && op->kind == WH_REMOTE_WRITE_IMMEDIATE && (*out)->immediates == WH_REMOTE_IMMEDIATES)
		return WHORL_AGAIN;
	return result;
}

static enum whorl_result post_one(struct sim_node *node, const struct wh_remote_op *op)
{
	struct sim_account *account;
	enum whorl_result result = account_for(node, op, &account);

	return result == WHORL_OK ? wh_sim_account_post(account, op) : result;
}

static enum whorl_result post_all(struct wh_transport *transport, const struct wh_remote_op *ops, size_t count,
				  size_t *posted)
{
	for (*posted = 0; *posted < count; ++*posted) {
		enum whorl_result result = post_one(node_of(transport), &ops[*posted]);

		if (result != WHORL_OK)
			return result;
	}
	return WHORL_OK;
}

static bool next_immediate(struct sim_node *node, struct wh_remote_event *out)
{
	struct sim_immediate *immediate = node->immediates;

	if (immediate == NULL)
		return false;
	node->immediates = immediate->next;
	if (node->immediates == NULL)
		node->immediates_tail = &node->immediates;
	*out = (struct wh_remote_event){
		.kind = WH_REMOTE_IMMEDIATE,
		.node = immediate->account->from->id,
		.incarnation = immediate->account->from->incarnation,
		.immediate = immediate->number,
	};
	immediate->account->immediates--;
	free(immediate);
	return true;
}

static bool next_event(struct wh_transport *transport, struct wh_remote_event *out)
{
	struct sim_node *node = node_of(transport);

	(void)wh_sim_remote_serve(node);
	for (struct sim_account *account = node->accounts; account != NULL && !node->dead; account = account->next)
		if (wh_remote_account_next(&account->base, out))
			return true;
	return !node->dead && next_immediate(node, out);
}

/* ---- regions ------------------------------------------------------------------------------------------------------ */

enum { REGION_GRANTED = WH_MESSAGE_OWN, REGION_WITHDRAWN };

bool wh_sim_remote_on_message(struct sim_node *node, uint32_t from, const struct wh_message *m)
{
	struct sim_link *link = wh_sim_met(node, from); /* to the owner */
	struct wh_remote_grant *grant;

	if (link->account == NULL)
		link->account = wh_sim_account_new(node, link->to, link);
	if (link->account == NULL || m->head.bytes != sizeof(uint64_t))
		return false;
	if (m->head.kind == REGION_GRANTED)
		return wh_remote_grant_add(&link->account->base, m->head.number, wh_message_take_number(m->body, 8),
					   link->to->incarnation) != NULL;
	grant = wh_remote_grant_find(&link->account->base, m->head.number);
	if (grant != NULL)
		wh_remote_grant_withdraw(&link->account->base, grant);
	return m->head.kind == REGION_WITHDRAWN;
}

/* False: there is no room. */
static bool tell_of_region(const struct sim_node *node, uint32_t to, uint8_t kind, const struct sim_region *region)
{
	const struct wh_message_head head = {.kind = kind, .bytes = sizeof(uint64_t), .number = region->base.name};
	unsigned char message[WH_HEAD_BYTES + sizeof(uint64_t)];

	wh_message_head_put(message, &head);
	wh_message_put_number(message + WH_HEAD_BYTES, region->base.bytes, 8);
	return wh_session_send(node->base.session, to, message, sizeof(message), NULL, 0, WH_WIRE_OWN) == WH_WIRE_DONE;
}

static enum whorl_result grant_region(struct wh_region *base, uint32_t to)
{
	struct sim_region *region = (struct sim_region *)base;
	struct sim_node *node = region->owner;
	const struct sim_link *link;

	if (to >= node->sim->options.nodes || to == node->id)
		return WHORL_INVALID;
	link = wh_sim_met(node, to);
	if (node->left || link == NULL || !wh_session_knows(node->base.session, to))
		return WHORL_MEMBER_GONE;
	if (region->granted[to] == link->to->incarnation)
		return WHORL_OK;
	if (!tell_of_region(node, to, REGION_GRANTED, region))
		return WHORL_AGAIN;
	region->granted[to] = link->to->incarnation;
	return WHORL_OK;
}

/* It uses it as others do. */
static enum whorl_result grant_itself(struct sim_node *node, const struct sim_region *region)
{
	struct wh_remote_grant *own;

	if (node->own_account == NULL)
		node->own_account = wh_sim_account_new(node, node, NULL);
	if (node->own_account == NULL)
		return WHORL_MEMORY;
	own = wh_remote_grant_add(&node->own_account->base, region->base.name, region->base.bytes, node->incarnation);
	if (own == NULL)
		return WHORL_INVALID;
	own->state = WH_GRANT_USED;
	node->own_account->base.news--; /* no news to it */
	return WHORL_OK;
}

static void free_region(struct sim_region *region)
{
	free(region->base.words);
	free(region->granted);
	free(region);
}

void wh_sim_remote_close(struct sim_node *node)
{
	while (node->regions != NULL) {
		struct sim_region *region = node->regions;

		node->regions = region->next;
		free_region(region);
	}
}

static enum whorl_result region_open(struct wh_transport *transport, uint64_t name, uint64_t bytes,
				     struct wh_region **out, struct wh_error *err)
{
	struct sim_node *node = node_of(transport);
	struct sim_region *region;
	enum whorl_result result;
	uint32_t count = 0;

	*out = NULL;
	if (bytes == 0 || bytes % sizeof(wh_word) != 0 || bytes > WH_REMOTE_REGION_MAX)
		return wh_error_set(err, WHORL_INVALID, "a region cannot have %llu bytes", (unsigned long long)bytes);
	for (region = node->regions; region != NULL; region = region->next)
		count++;
	if (count == WH_REMOTE_REGIONS)
		return wh_error_set(err, WHORL_AGAIN, "%d regions are open", WH_REMOTE_REGIONS);
	region = calloc(1, sizeof(*region));
	if (region == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a simulated region");
	region->base = (struct wh_region){transport->ops->remote, transport, name, bytes, calloc(1, bytes)};
	region->granted = calloc(node->sim->options.nodes, sizeof(*region->granted));
	region->owner = node;
	result = region->base.words != NULL && region->granted != NULL ? grant_itself(node, region) : WHORL_MEMORY;
	if (result != WHORL_OK) {
		free_region(region);
		return wh_error_set(err, result, "region %llx cannot be opened", (unsigned long long)name);
	}
	region->next = node->regions;
	node->regions = region;
	*out = &region->base;
	return WHORL_OK;
}

static void region_close(struct wh_region *base)
{
	struct sim_region *region = (struct sim_region *)base, **at;
	struct sim_node *node = region->owner;
	struct wh_remote_grant *own = wh_remote_grant_find(&node->own_account->base, base->name);

	own->state = WH_GRANT_NONE;
	for (uint32_t id = 0; id < node->sim->options.nodes && !node->dead; id++) {
		const struct sim_link *link = wh_sim_met(node, id);

		if (link != NULL && region->granted[id] == link->to->incarnation &&
		    !tell_of_region(node, id, REGION_WITHDRAWN, region))
			wh_session_doom(node->base.session, id, "cannot be told that a region is closed");
	}
	for (at = &node->regions; *at != region; at = &(*at)->next)
		;
	*at = region->next;
	free_region(region);
}

void wh_sim_remote_free(struct sim_node *node)
{
	wh_sim_remote_close(node);
	while (node->accounts != NULL) {
		struct sim_account *account = node->accounts;

		node->accounts = account->next;
		wh_sim_account_free(account);
	}
	while (node->immediates != NULL) {
		struct sim_immediate *immediate = node->immediates;

		node->immediates = immediate->next;
		free(immediate);
	}
}

const struct wh_remote_ops wh_sim_remote_ops = {
	.region_open = region_open,
	.grant = grant_region,
	.region_close = region_close,
	.post = post_all,
	.next = next_event,
};
