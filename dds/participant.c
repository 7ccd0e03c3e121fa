/* participant.c - participants, publishers and subscribers: see node.h. */
#include <stdlib.h>
#include <string.h>

#include "dds/node.h"

#define DOMAIN_MAX 65535

/* ---- participants -------------------------------------------------------------------------------------------------------------- */

static void close_group(struct wh_dds_entity *entity)
{
	struct wh_dds_base *base = (struct wh_dds_base *)(void *)entity;

	wh_dds_listener_await(base);
	wh_dds_condition_close(&base->condition.condition);
}

static void close_participant(struct wh_dds_entity *entity)
{
	close_group(entity);
	wh_dds_node_leave(((struct wh_dds_base *)(void *)entity)->node);
}

static const struct wh_dds_entity_ops participant_ops = {.close = close_participant, .free = wh_dds_base_free_all};

/* What the program has said of them, as far as its struct goes. */
static bool take_options(struct whorl_dds_participant_options *to, const struct whorl_dds_participant_options *from)
{
	memset(to, 0, sizeof(*to));
	if (from == NULL)
		return true;
	if (from->size < sizeof(from->size))
		return false;
	memcpy(to, from, from->size < sizeof(*to) ? from->size : sizeof(*to));
	return to->ready >= 0;
}

static whorl_dds_entity make_participant(const char *function, uint32_t domain,
					 const struct whorl_dds_participant_options *options, const whorl_dds_qos *qos,
					 const whorl_dds_listener *listener)
{
	struct wh_dds_base *base = calloc(1, sizeof(*base));
	struct wh_dds_node *node = NULL;
	whorl_dds_return result;

	if (base == NULL)
		return wh_dds_say(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	result = wh_dds_policies_begin(function, &base->policies, WH_DDS_PARTICIPANT, qos);
	if (result == WHORL_DDS_RETCODE_OK)
		result = wh_dds_node_join(function, domain, options, &node);
	if (result != WHORL_DDS_RETCODE_OK) {
		wh_dds_policies_free(&base->policies);
		free(base);
		return result;
	}
	result = wh_dds_base_begin(function, base, WH_DDS_PARTICIPANT, node, NULL, &participant_ops, listener);
	if (result != WHORL_DDS_RETCODE_OK) {
		wh_dds_node_leave(node);
		wh_dds_base_free_all(&base->entity);
		return result;
	}
	if (qos != NULL && base->policies.set != 0) /* what the program has set is told to others */
		result = wh_dds_participant_say(function, node, &base->policies);
	return wh_dds_base_made(base, result);
}

static whorl_dds_entity create_participant(const char *function, uint32_t domain,
					   const struct whorl_dds_participant_options *options,
					   const whorl_dds_qos *qos, const whorl_dds_listener *listener)
{
	struct whorl_dds_participant_options said;

	if (wh_dds_on_loop())
		return wh_dds_say(function, WHORL_DDS_RETCODE_ILLEGAL_OPERATION, "not in an in-place listener");
	if (domain > DOMAIN_MAX)
		return wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER, "domain %u, expected at most %d",
				  (unsigned)domain, DOMAIN_MAX);
	if (!take_options(&said, options))
		return wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER,
				  "the size of the options is not set, or a time is negative");
	return make_participant(function, domain, &said, qos, listener);
}

whorl_dds_entity whorl_dds_create_participant_with(uint32_t domain, const struct whorl_dds_participant_options *options,
						   const whorl_dds_qos *qos, const whorl_dds_listener *listener)
{
	return create_participant(__func__, domain, options, qos, listener);
}

whorl_dds_entity whorl_dds_create_participant(uint32_t domain, const whorl_dds_qos *qos,
					      const whorl_dds_listener *listener)
{
	return create_participant(__func__, domain, NULL, qos, listener);
}

whorl_dds_return whorl_dds_lookup_participant(uint32_t domain, whorl_dds_entity *participants, size_t count)
{
	struct wh_dds_table *table = wh_dds_root()->table;
	uint32_t all = table != NULL ? wh_dds_entity_children(table, NULL, NULL, 0) : 0;
	whorl_dds_entity *handles = calloc(all + 1, sizeof(*handles));
	size_t found = 0;

	if (handles == NULL || (participants == NULL && count > 0)) {
		free(handles);
		return handles == NULL ? WH_DDS_SAY(OUT_OF_RESOURCES, "memory is out")
				       : WH_DDS_SAY(BAD_PARAMETER, "no memory for the participants");
	}
	if (all > 0)
		(void)wh_dds_entity_children(table, NULL, handles, all);
	for (uint32_t i = 0; i < all; i++) {
		uint32_t of = 0;

		if (handles[i] == 0 || whorl_dds_get_domainid(handles[i], &of) != WHORL_DDS_RETCODE_OK || of != domain)
			continue;
		if (found < count)
			participants[found] = handles[i];
		found++;
	}
	free(handles);
	return (whorl_dds_return)found;
}

whorl_dds_return whorl_dds_spin_once(whorl_dds_entity entity, whorl_dds_duration timeout)
{
	struct wh_dds_base *base;
	whorl_dds_return result;

	if (timeout < 0)
		return WH_DDS_SAY(BAD_PARAMETER, "the time-out is negative");
	result = WH_DDS_HOLD(entity, WH_DDS_KIND(WH_DDS_PARTICIPANT), &base);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	if (!base->node->spins || wh_dds_on_loop() || wh_dds_is_listening(base->node))
		result = WH_DDS_SAY(ILLEGAL_OPERATION, "the participant has a thread, or this is a listener");
	else
		result = wh_dds_work_pass(base->node, wh_dds_until(timeout)) ? 1 : 0;
	wh_dds_let_go(base);
	return result;
}

/* ---- publishers and subscribers ------------------------------------------------------------------------------------------------ */

static const struct wh_dds_entity_ops group_ops = {.close = close_group, .free = wh_dds_base_free_all};

whorl_dds_return wh_dds_group_make(const char *function, enum wh_dds_kind kind, struct wh_dds_base *participant,
				   const whorl_dds_qos *qos, const whorl_dds_listener *listener, bool alone,
				   struct wh_dds_base **out)
{
	struct wh_dds_base *base = calloc(1, sizeof(*base));
	whorl_dds_return result;

	*out = NULL;
	if (base == NULL)
		return wh_dds_say(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	result = wh_dds_policies_begin(function, &base->policies, kind, qos);
	if (result != WHORL_DDS_RETCODE_OK) {
		free(base);
		return result;
	}
	base->alone = alone;
	base->number = wh_dds_node_number(participant->node);
	result = wh_dds_base_begin(function, base, kind, participant->node, participant, &group_ops, listener);
	if (result != WHORL_DDS_RETCODE_OK)
		wh_dds_base_free_all(&base->entity);
	else
		*out = base;
	return result;
}

static whorl_dds_entity create_group(const char *function, enum wh_dds_kind kind, whorl_dds_entity participant,
				     const whorl_dds_qos *qos, const whorl_dds_listener *listener)
{
	struct wh_dds_base *base, *made;
	whorl_dds_return result = wh_dds_hold(function, participant, WH_DDS_KIND(WH_DDS_PARTICIPANT), &base);

	if (result == WHORL_DDS_RETCODE_OK)
		result = wh_dds_group_make(function, kind, base, qos, listener, false, &made);
	if (result == WHORL_DDS_RETCODE_OK)
		result = wh_dds_base_made(made, result);
	wh_dds_let_go(base);
	return result;
}

whorl_dds_entity whorl_dds_create_publisher(whorl_dds_entity participant, const whorl_dds_qos *qos,
					    const whorl_dds_listener *listener)
{
	return create_group(__func__, WH_DDS_PUBLISHER, participant, qos, listener);
}

whorl_dds_entity whorl_dds_create_subscriber(whorl_dds_entity participant, const whorl_dds_qos *qos,
					     const whorl_dds_listener *listener)
{
	return create_group(__func__, WH_DDS_SUBSCRIBER, participant, qos, listener);
}
