/* waiting.c - conditions and waitsets as entities: see node.h and condition.h. */
#include <stdlib.h>

#include "dds/node.h"

struct waitset {
	struct wh_dds_base base;
	struct wh_dds_waitset set;
};

/* ---- conditions of readers ----------------------------------------------------------------------------------------------------- */

static void close_read(struct wh_dds_entity *entity)
{
	struct wh_dds_condition_entity *condition = (struct wh_dds_condition_entity *)(void *)entity;
	struct wh_dds_reader_entity *reader = (struct wh_dds_reader_entity *)wh_dds_parent(&condition->base);
	struct wh_dds_read_condition **at = &reader->conditions;

	pthread_mutex_lock(&reader->end.base.lock);
	while (*at != NULL && *at != &condition->read)
		at = &(*at)->next;
	if (*at != NULL)
		*at = condition->read.next;
	if (condition->read.query != NULL && reader->cache != NULL)
		wh_dds_query_free(condition->read.query);
	condition->read.query = NULL;
	wh_dds_condition_close(&condition->read.condition);
	pthread_mutex_unlock(&reader->end.base.lock);
}

static void free_read(struct wh_dds_entity *entity)
{
	wh_dds_filter_put(((struct wh_dds_condition_entity *)(void *)entity)->filter);
	wh_dds_base_free_all(entity);
}

static const struct wh_dds_entity_ops read_ops = {.close = close_read, .free = free_read};

static whorl_dds_return hang_condition(const char *function, struct wh_dds_condition_entity *condition,
				       struct wh_dds_reader_entity *reader)
{
	const struct wh_dds_filter *filter = condition->filter;
	whorl_dds_return result = WHORL_DDS_RETCODE_OK;

	pthread_mutex_lock(&reader->end.base.lock);
	if (reader->cache == NULL)
		result = wh_dds_say(function, WHORL_DDS_RETCODE_ILLEGAL_OPERATION,
				    "the reader is in place, and keeps nothing");
	else if (filter != NULL &&
		 (condition->read.query = wh_dds_query_create(reader->cache, filter->fn, filter->arg)) == NULL)
		result = wh_dds_say(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "the reader has 32 queries already");
	if (result == WHORL_DDS_RETCODE_OK) {
		condition->read.next = reader->conditions;
		reader->conditions = &condition->read;
		wh_dds_read_conditions_look(reader->conditions, reader->cache);
	}
	pthread_mutex_unlock(&reader->end.base.lock);
	return result;
}

/* The filter is the condition's, or given back. */
static whorl_dds_entity make_read(const char *function, enum wh_dds_kind kind, struct wh_dds_reader_entity *reader,
				  uint32_t mask, struct wh_dds_filter *filter)
{
	struct wh_dds_condition_entity *condition = calloc(1, sizeof(*condition));
	struct wh_dds_base *above = &reader->end.base;
	whorl_dds_return result;

	if (condition == NULL) {
		wh_dds_filter_put(filter);
		return wh_dds_say(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	}
	condition->filter = filter;
	result = wh_dds_base_begin(function, &condition->base, kind, above->node, above, &read_ops, NULL);
	if (result != WHORL_DDS_RETCODE_OK) {
		free_read(&condition->base.entity);
		return result;
	}
	condition->read.mask = mask != 0 ? mask : WHORL_DDS_ANY_STATE;
	wh_dds_condition_init(&condition->read.condition, &wh_dds_root()->signals, condition->base.entity.handle);
	return wh_dds_base_made(&condition->base, hang_condition(function, condition, reader));
}

static whorl_dds_entity create_read(const char *function, enum wh_dds_kind kind, whorl_dds_entity parent, uint32_t mask,
				    struct wh_dds_filter *filter)
{
	struct wh_dds_base *reader = NULL;
	whorl_dds_return result;

	if (mask > WHORL_DDS_ANY_STATE)
		result = wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER, "the mask has bits of no state");
	else
		result = wh_dds_hold(function, parent, WH_DDS_KIND(WH_DDS_READER), &reader);
	if (result == WHORL_DDS_RETCODE_OK)
		result = make_read(function, kind, (struct wh_dds_reader_entity *)reader, mask, filter);
	else
		wh_dds_filter_put(filter);
	wh_dds_let_go(reader);
	return result;
}

whorl_dds_entity whorl_dds_create_readcondition(whorl_dds_entity reader, uint32_t mask)
{
	return create_read(__func__, WH_DDS_READ_CONDITION, reader, mask, NULL);
}

whorl_dds_entity whorl_dds_create_querycondition(whorl_dds_entity reader, uint32_t mask, whorl_dds_filter_fn *filter,
						 void *arg, whorl_dds_release_fn *release)
{
	struct wh_dds_filter *made = wh_dds_filter_new(filter, arg, release);

	if (made == NULL)
		return WH_DDS_SAY(OUT_OF_RESOURCES, "memory is out");
	if (filter == NULL) {
		wh_dds_filter_put(made);
		return WH_DDS_SAY(BAD_PARAMETER, "no filter");
	}
	return create_read(__func__, WH_DDS_QUERY_CONDITION, reader, mask, made);
}

whorl_dds_return whorl_dds_get_mask(whorl_dds_entity condition, uint32_t *mask)
{
	struct wh_dds_base *base;
	whorl_dds_return result;

	if (mask == NULL)
		return WH_DDS_SAY(BAD_PARAMETER, "no memory for the mask");
	result = WH_DDS_HOLD(condition, WH_DDS_READ_CONDITIONS, &base);
	if (result == WHORL_DDS_RETCODE_OK)
		*mask = ((struct wh_dds_condition_entity *)base)->read.mask;
	wh_dds_let_go(base);
	return result;
}

/* ---- guards -------------------------------------------------------------------------------------------------------------------- */

static void close_guard(struct wh_dds_entity *entity)
{
	wh_dds_condition_close(&((struct wh_dds_base *)(void *)entity)->condition.condition);
}

static const struct wh_dds_entity_ops guard_ops = {.close = close_guard, .free = wh_dds_base_free_all};

whorl_dds_entity whorl_dds_create_guardcondition(whorl_dds_entity parent)
{
	struct wh_dds_base *guard = NULL, *above;
	whorl_dds_return result = WH_DDS_HOLD(parent, WH_DDS_ANY_KIND, &above);

	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	guard = calloc(1, sizeof(*guard));
	if (guard == NULL) {
		result = WH_DDS_SAY(OUT_OF_RESOURCES, "memory is out");
	} else {
		result = wh_dds_base_begin(__func__, guard, WH_DDS_GUARD_CONDITION, above->node, above, &guard_ops,
					   NULL);
		if (result == WHORL_DDS_RETCODE_OK)
			result = wh_dds_base_made(guard, WHORL_DDS_RETCODE_OK);
		else
			wh_dds_base_free_all(&guard->entity);
	}
	wh_dds_let_go(above);
	return result;
}

whorl_dds_return whorl_dds_set_guardcondition(whorl_dds_entity condition, bool triggered)
{
	struct wh_dds_base *base;
	whorl_dds_return result = WH_DDS_HOLD(condition, WH_DDS_KIND(WH_DDS_GUARD_CONDITION), &base);

	if (result == WHORL_DDS_RETCODE_OK)
		wh_dds_condition_say(&base->condition.condition, triggered);
	wh_dds_let_go(base);
	return result;
}

static whorl_dds_return look_at_guard(const char *function, whorl_dds_entity condition, bool *was, bool take)
{
	struct wh_dds_base *base;
	whorl_dds_return result;

	if (was == NULL)
		return wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER, "no memory for the answer");
	result = wh_dds_hold(function, condition, WH_DDS_KIND(WH_DDS_GUARD_CONDITION), &base);
	if (result == WHORL_DDS_RETCODE_OK)
		*was = take ? wh_dds_condition_take(&base->condition.condition)
			    : wh_dds_condition_holds(&base->condition.condition);
	wh_dds_let_go(base);
	return result;
}

whorl_dds_return whorl_dds_read_guardcondition(whorl_dds_entity condition, bool *was)
{
	return look_at_guard(__func__, condition, was, false);
}

whorl_dds_return whorl_dds_take_guardcondition(whorl_dds_entity condition, bool *was)
{
	return look_at_guard(__func__, condition, was, true);
}

/* ---- waitsets ------------------------------------------------------------------------------------------------------------------ */

static struct wh_dds_condition *condition_of(struct wh_dds_base *base)
{
	return (WH_DDS_READ_CONDITIONS >> base->entity.kind & 1) != 0
		       ? &((struct wh_dds_condition_entity *)base)->read.condition
		       : &base->condition.condition;
}

static void close_waitset(struct wh_dds_entity *entity)
{
	struct waitset *waitset = (struct waitset *)(void *)entity;

	wh_dds_condition_close(&waitset->base.condition.condition);
	wh_dds_waitset_close(&waitset->set);
}

static void free_waitset(struct wh_dds_entity *entity)
{
	wh_dds_waitset_free(&((struct waitset *)(void *)entity)->set);
	wh_dds_base_free_all(entity);
}

static const struct wh_dds_entity_ops waitset_ops = {.close = close_waitset, .free = free_waitset};

whorl_dds_entity whorl_dds_create_waitset(whorl_dds_entity participant)
{
	struct wh_dds_base *above;
	struct waitset *waitset;
	whorl_dds_return result = WH_DDS_HOLD(participant, WH_DDS_KIND(WH_DDS_PARTICIPANT), &above);

	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	waitset = calloc(1, sizeof(*waitset));
	if (waitset == NULL) {
		result = WH_DDS_SAY(OUT_OF_RESOURCES, "memory is out");
	} else {
		wh_dds_waitset_init(&waitset->set, &wh_dds_root()->signals);
		result = wh_dds_base_begin(__func__, &waitset->base, WH_DDS_WAITSET, above->node, above, &waitset_ops,
					   NULL);
		if (result == WHORL_DDS_RETCODE_OK)
			result = wh_dds_base_made(&waitset->base, WHORL_DDS_RETCODE_OK);
		else
			free_waitset(&waitset->base.entity);
	}
	wh_dds_let_go(above);
	return result;
}

static whorl_dds_return hold_both(const char *function, whorl_dds_entity waitset, whorl_dds_entity entity,
				  struct wh_dds_base **set, struct wh_dds_base **other)
{
	whorl_dds_return result = wh_dds_hold(function, waitset, WH_DDS_KIND(WH_DDS_WAITSET), set);

	*other = NULL;
	if (result == WHORL_DDS_RETCODE_OK)
		result = wh_dds_hold(function, entity,
				     WH_DDS_READ_CONDITIONS |
					     (WH_DDS_WITH_POLICIES | WH_DDS_KIND(WH_DDS_GUARD_CONDITION) |
					      WH_DDS_KIND(WH_DDS_WAITSET)),
				     other);
	if (result != WHORL_DDS_RETCODE_OK)
		wh_dds_let_go(*set);
	return result;
}

whorl_dds_return whorl_dds_waitset_attach(whorl_dds_entity waitset, whorl_dds_entity entity, intptr_t cookie)
{
	struct wh_dds_base *set, *other;
	whorl_dds_return result = hold_both(__func__, waitset, entity, &set, &other);

	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	result = wh_dds_waitset_attach(&((struct waitset *)set)->set, condition_of(other), cookie);
	if (result == WHORL_DDS_RETCODE_PRECONDITION_NOT_MET)
		result = WH_DDS_SAY(PRECONDITION_NOT_MET, "entity %d is attached already", (int)entity);
	else if (result == WHORL_DDS_RETCODE_ALREADY_DELETED)
		result = WH_DDS_SAY(ALREADY_DELETED, "one of the two was deleted meanwhile");
	else if (result != WHORL_DDS_RETCODE_OK)
		result = wh_dds_say(__func__, result, "memory is out");
	wh_dds_let_go(other);
	wh_dds_let_go(set);
	return result;
}

whorl_dds_return whorl_dds_waitset_detach(whorl_dds_entity waitset, whorl_dds_entity entity)
{
	struct wh_dds_base *set, *other;
	whorl_dds_return result = hold_both(__func__, waitset, entity, &set, &other);

	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	result = wh_dds_waitset_detach(&((struct waitset *)set)->set, condition_of(other));
	if (result != WHORL_DDS_RETCODE_OK)
		result = WH_DDS_SAY(PRECONDITION_NOT_MET, "entity %d is not attached", (int)entity);
	wh_dds_let_go(other);
	wh_dds_let_go(set);
	return result;
}

whorl_dds_return whorl_dds_waitset_get_entities(whorl_dds_entity waitset, whorl_dds_entity *entities, size_t count)
{
	struct wh_dds_base *set;
	whorl_dds_return result;

	if (entities == NULL && count > 0)
		return WH_DDS_SAY(BAD_PARAMETER, "no memory for the entities");
	result = WH_DDS_HOLD(waitset, WH_DDS_KIND(WH_DDS_WAITSET), &set);
	if (result == WHORL_DDS_RETCODE_OK)
		result = (whorl_dds_return)wh_dds_waitset_list(&((struct waitset *)set)->set, entities, count);
	wh_dds_let_go(set);
	return result;
}

whorl_dds_return whorl_dds_waitset_set_trigger(whorl_dds_entity waitset, bool triggered)
{
	struct wh_dds_base *set;
	whorl_dds_return result = WH_DDS_HOLD(waitset, WH_DDS_KIND(WH_DDS_WAITSET), &set);

	if (result == WHORL_DDS_RETCODE_OK) {
		wh_dds_waitset_trigger(&((struct waitset *)set)->set, triggered);
		wh_dds_condition_say(&set->condition.condition, triggered); /* where it is attached */
	}
	wh_dds_let_go(set);
	return result;
}

static whorl_dds_return wait_until(const char *function, whorl_dds_entity waitset, intptr_t *cookies, size_t count,
				   uint64_t until_ns)
{
	struct wh_dds_base *set;
	whorl_dds_return result;

	if (cookies == NULL && count > 0)
		return wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER, "no memory for the cookies");
	if (wh_dds_on_loop())
		return wh_dds_say(function, WHORL_DDS_RETCODE_ILLEGAL_OPERATION, "not in an in-place listener");
	result = wh_dds_hold(function, waitset, WH_DDS_KIND(WH_DDS_WAITSET), &set);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	result = wh_dds_waitset_wait(&((struct waitset *)set)->set, cookies, count, until_ns);
	wh_dds_let_go(set);
	return result < 0 ? wh_dds_say(function, result, "the waitset was deleted meanwhile") : result;
}

whorl_dds_return whorl_dds_waitset_wait(whorl_dds_entity waitset, intptr_t *cookies, size_t count,
					whorl_dds_duration timeout)
{
	if (timeout < 0)
		return WH_DDS_SAY(BAD_PARAMETER, "the time-out is negative");
	return wait_until(__func__, waitset, cookies, count, timeout == 0 ? 0 : wh_dds_until(timeout));
}

whorl_dds_return whorl_dds_waitset_wait_until(whorl_dds_entity waitset, intptr_t *cookies, size_t count,
					      whorl_dds_time until)
{
	whorl_dds_time now = whorl_dds_now();

	if (until < 0)
		return WH_DDS_SAY(BAD_PARAMETER, "the time is negative");
	return wait_until(__func__, waitset, cookies, count,
			  until == WHORL_DDS_INFINITY ? WH_DDS_NEVER
			  : until > now               ? wh_dds_until(until - now)
						      : 0);
}

int whorl_dds_waitset_descriptor(whorl_dds_entity waitset)
{
	struct wh_dds_base *set;
	int result = WH_DDS_HOLD(waitset, WH_DDS_KIND(WH_DDS_WAITSET), &set);

	if (result == WHORL_DDS_RETCODE_OK)
		result = wh_dds_waitset_descriptor(&((struct waitset *)set)->set);
	wh_dds_let_go(set);
	return result;
}

whorl_dds_return whorl_dds_triggered(whorl_dds_entity entity)
{
	struct wh_dds_base *base;
	whorl_dds_return result = WH_DDS_HOLD(entity, WH_DDS_ANY_KIND, &base);

	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	result = base->entity.kind == WH_DDS_WAITSET ? wh_dds_waitset_is_triggered(&((struct waitset *)base)->set)
						     : wh_dds_condition_holds(condition_of(base));
	wh_dds_let_go(base);
	return result;
}
