/* list.c - see list.h. */
#include "group/parts/list.h"

#include <stdlib.h>

/* It is const in its node to keep others from it. The node is not. */
static struct wh_node_list *own(const struct wh_node_list *list)
{
	return (struct wh_node_list *)list;
}

static whorl_subgroup **places_of(const struct wh_node_list *list)
{
	return (whorl_subgroup **)list->subgroups;
}

bool wh_list_open(const struct wh_node_list *list, uint32_t room, uint32_t committed_words)
{
	*own(list) = (struct wh_node_list){.subgroups = calloc(room, sizeof(whorl_subgroup *)),
					   .room = room,
					   .committed = calloc(committed_words, sizeof(wh_word)),
					   .committed_words = committed_words};
	return list->subgroups != NULL && list->committed != NULL;
}

void wh_list_place(const struct wh_node_list *list, uint32_t at, whorl_subgroup *subgroup)
{
	places_of(list)[at] = subgroup;
}

void wh_list_close(const struct wh_node_list *list)
{
	free(places_of(list));
	free(list->committed);
}

void wh_list_enter(struct wh_held held, const struct wh_node_list *list, uint32_t at, whorl_subgroup *subgroup,
		   uint64_t bytes)
{
	(void)held;
	wh_fetch_add(&own(list)->bytes, bytes);
	wh_rcu_publish(places_of(list)[at], subgroup);
}

void wh_list_leave(struct wh_held held, const struct wh_node_list *list, uint32_t at, uint64_t bytes)
{
	(void)held;
	wh_rcu_publish(places_of(list)[at], NULL);
	wh_fetch_add(&own(list)->bytes, 0 - bytes);
}
