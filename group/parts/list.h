/* list.h - the subgroups that a node has: those that are configured, and then those that it has entered.
 *
 * The node has it as const: these functions alone write it, and after whorl_start they ask for the lock (waiting.h), so that two threads take
 * no place at once. What is read: by the loop, or with the lock, plainly; by others in an RCU section.
 */
#ifndef WH_GROUP_PARTS_LIST_H
#define WH_GROUP_PARTS_LIST_H

#include <whorl/whorl.h>

#include "base/rcu.h"
#include "group/parts/waiting.h"

struct wh_places { /* of the list of subgroups, from `from` to before `to` */
	uint32_t from, to;
};

static inline bool wh_places_any(const struct wh_places *places)
{
	return places->from < places->to;
}

static inline void wh_places_add(struct wh_places *places, uint32_t at)
{
	bool any = wh_places_any(places);

	*places = (struct wh_places){any && places->from < at ? places->from : at,
				     any && places->to > at ? places->to : at + 1};
}

struct wh_node_list {
	/* Those that are configured, [const], and then those that this node has entered; NULL: the place is free. [lock, RCU] */
	whorl_subgroup *const *subgroups;
	uint32_t room; /* [const] */
	/* [const pointer] A bit for each place of `subgroups`: its ring has been committed to (smc/ring.h). Those of a short file have none. */
	wh_word *committed;
	uint32_t committed_words; /* [const] */
	wh_word bytes;            /* of those that were entered, as estimated. [lock; anyone reads] */
};

/* While the node is opened. False: no memory; what there is is to be freed. */
WH_MUST_CHECK bool wh_list_open(const struct wh_node_list *list, uint32_t room, uint32_t committed_words);
void wh_list_place(const struct wh_node_list *list, uint32_t at, whorl_subgroup *subgroup);
/* The subgroups themselves are not its own. */
void wh_list_close(const struct wh_node_list *list);

/* The place, which is free, is taken by one that has been entered and takes that much memory; and is free again. */
void wh_list_enter(struct wh_held held, const struct wh_node_list *list, uint32_t at, whorl_subgroup *subgroup,
		   uint64_t bytes);
void wh_list_leave(struct wh_held held, const struct wh_node_list *list, uint32_t at, uint64_t bytes);

/* The next from place *at on, which moves behind it; NULL: there is none. The loop, with the lock, or in an RCU section. */
static inline whorl_subgroup *wh_list_next(const struct wh_node_list *list, uint32_t *at)
{
	while (*at < list->room) {
		whorl_subgroup *subgroup = wh_rcu_dereference(list->subgroups[(*at)++]);

		if (subgroup != NULL)
			return subgroup;
	}
	return NULL;
}

#endif
