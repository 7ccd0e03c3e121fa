/* publisher.c - what is said of several writers at once: coherent sets, and that a participant is alive. See node.h. */
#include <stdlib.h>
#include <string.h>

#include "dds/node.h"

#define SAY_NS INT64_C(1000000000) /* how long it waits for room */

static whorl_dds_return say_by(const char *function, struct wh_dds_line *line, enum wh_dds_message_kind kind,
			       uint32_t number, uint64_t until_ns)
{
	struct wh_dds_out out = {.bytes = NULL};
	struct wh_dds_message message;

	memset(&message, 0, sizeof(message));
	message.kind = kind;
	message.number = number;
	wh_dds_put_message(&out, &message);
	return wh_dds_line_send(function, line, &out, until_ns, NULL);
}

/* Says it to one channel. */
static whorl_dds_return say(const char *function, struct wh_dds_line *line, enum wh_dds_message_kind kind,
			    uint32_t number)
{
	return say_by(function, line, kind, number, wh_dds_until(SAY_NS));
}

bool wh_dds_line_assert(const char *function, struct wh_dds_line *line, uint32_t number, uint64_t until_ns)
{
	return say_by(function, line, WH_DDS_SAY_ASSERT, number, until_ns) == WHORL_DDS_RETCODE_OK;
}

static bool has_writer_of(struct wh_dds_line *line, const struct wh_dds_base *publisher)
{
	const struct wh_dds_writer_entity *it;

	pthread_mutex_lock(&line->lock);
	it = line->writers;
	while (it != NULL && wh_dds_parent(&it->end.base) != publisher)
		it = it->next_writer;
	pthread_mutex_unlock(&line->lock);
	return it != NULL;
}

/* In each channel that it has a writer in. */
static whorl_dds_return say_all(const char *function, struct wh_dds_base *publisher, enum wh_dds_message_kind kind)
{
	whorl_dds_return result = WHORL_DDS_RETCODE_OK;

	if (!wh_dds_node_call(publisher->node))
		return wh_dds_say(function, WHORL_DDS_RETCODE_ALREADY_DELETED, "the participant has been deleted");
	for (struct wh_dds_line *line = wh_dds_node_lines(publisher->node);
	     line != NULL && result == WHORL_DDS_RETCODE_OK; line = line->next)
		if (has_writer_of(line, publisher))
			result = say(function, line, kind, publisher->number);
	wh_dds_node_called(publisher->node);
	return result;
}

/* ---- coherent sets ------------------------------------------------------------------------------------------------------------- */

/* The publisher of what is named: held, as long as `*base` is. */
static whorl_dds_return find_publisher(const char *function, whorl_dds_entity entity, struct wh_dds_base **base,
				       struct wh_dds_base **publisher)
{
	whorl_dds_return result =
		wh_dds_hold(function, entity, WH_DDS_KIND(WH_DDS_PUBLISHER) | WH_DDS_KIND(WH_DDS_WRITER), base);
	bool coherent;

	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	*publisher = (*base)->entity.kind == WH_DDS_PUBLISHER ? *base : wh_dds_parent(*base);
	pthread_mutex_lock(&(*publisher)->lock);
	coherent = (*publisher)->policies.presentation.coherent;
	pthread_mutex_unlock(&(*publisher)->lock);
	if (coherent)
		return result;
	wh_dds_let_go(*base);
	return wh_dds_say(function, WHORL_DDS_RETCODE_PRECONDITION_NOT_MET, "presentation: it is not coherent");
}

/* By how much deep it is changes, if it is as deep as `least`. Returns how deep it was. */
static uint32_t nest(struct wh_dds_base *publisher, uint32_t least, int change)
{
	uint32_t depth;

	pthread_mutex_lock(&publisher->lock);
	depth = publisher->sets;
	if (depth >= least)
		publisher->sets = (uint16_t)(depth + (uint32_t)change);
	pthread_mutex_unlock(&publisher->lock);
	return depth;
}

whorl_dds_return whorl_dds_begin_coherent(whorl_dds_entity entity)
{
	struct wh_dds_base *base, *publisher;
	whorl_dds_return result = find_publisher(__func__, entity, &base, &publisher);
	uint32_t depth;

	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	depth = nest(publisher, 0, 1);
	if (depth == UINT16_MAX)
		result = WH_DDS_SAY(OUT_OF_RESOURCES, "too many sets in each other");
	else if (depth == 0)
		result = say_all(__func__, publisher, WH_DDS_SAY_BEGIN);
	if (result != WHORL_DDS_RETCODE_OK)
		nest(publisher, 0, -1);
	wh_dds_let_go(base);
	return result;
}

whorl_dds_return whorl_dds_end_coherent(whorl_dds_entity entity)
{
	struct wh_dds_base *base, *publisher;
	whorl_dds_return result = find_publisher(__func__, entity, &base, &publisher);
	uint32_t depth;

	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	depth = nest(publisher, 1, -1);
	if (depth == 0)
		result = WH_DDS_SAY(PRECONDITION_NOT_MET, "no set was begun");
	else if (depth == 1)
		result = say_all(__func__, publisher, WH_DDS_SAY_SET);
	if (depth == 1 && result != WHORL_DDS_RETCODE_OK)
		nest(publisher, 0, 1); /* to be tried again */
	wh_dds_let_go(base);
	return result;
}

/* ---- liveliness ---------------------------------------------------------------------------------------------------------------- */

static whorl_dds_return assert_all(const char *function, struct wh_dds_node *node)
{
	whorl_dds_return result = WHORL_DDS_RETCODE_OK;

	for (struct wh_dds_line *line = wh_dds_node_lines(node); line != NULL && result == WHORL_DDS_RETCODE_OK;
	     line = line->next) {
		enum wh_dds_stage stage;

		pthread_mutex_lock(&node->lock);
		stage = line->stage;
		pthread_mutex_unlock(&node->lock);
		if (stage == WH_DDS_OPEN && !line->stream && !wh_dds_line_is_left(line))
			result = say(function, line, WH_DDS_SAY_ASSERT, 0);
	}
	return result;
}

whorl_dds_return whorl_dds_assert_liveliness(whorl_dds_entity entity)
{
	struct wh_dds_base *base;
	whorl_dds_return result =
		WH_DDS_HOLD(entity, WH_DDS_KIND(WH_DDS_PARTICIPANT) | WH_DDS_KIND(WH_DDS_WRITER), &base);

	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	if (!wh_dds_node_call(base->node)) {
		result = WH_DDS_SAY(ALREADY_DELETED, "the participant has been deleted");
	} else {
		result = base->entity.kind == WH_DDS_PARTICIPANT
				 ? assert_all(__func__, base->node)
				 : say(__func__, ((struct wh_dds_endpoint_entity *)base)->line, WH_DDS_SAY_ASSERT,
				       base->number);
		wh_dds_node_called(base->node);
	}
	wh_dds_let_go(base);
	return result;
}
