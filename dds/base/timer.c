/* timer.c - see timer.h. */
#include "dds/base/timer.h"

/* Of two roots that have no siblings: the one that is due later becomes a child of the other, which is returned. */
static struct wh_dds_timer *meld(struct wh_dds_timer *one, struct wh_dds_timer *other)
{
	if (one == NULL || other == NULL)
		return one != NULL ? one : other;
	if (other->due_ns < one->due_ns) {
		struct wh_dds_timer *swap = one;

		one = other;
		other = swap;
	}
	other->next = one->child;
	if (one->child != NULL)
		one->child->before = other;
	other->before = one;
	one->child = other;
	return one;
}

/* One heap of a row of siblings: in pairs from left to right, then all of them from right to left. */
static struct wh_dds_timer *meld_all(struct wh_dds_timer *first)
{
	struct wh_dds_timer *pairs = NULL, *all = NULL;

	while (first != NULL) {
		struct wh_dds_timer *one = first, *other = first->next, *pair;

		first = other != NULL ? other->next : NULL;
		one->next = NULL;
		if (other != NULL)
			other->next = NULL;
		pair = meld(one, other);
		pair->next = pairs;
		pairs = pair;
	}
	while (pairs != NULL) {
		struct wh_dds_timer *next = pairs->next;

		pairs->next = NULL;
		all = meld(all, pairs);
		pairs = next;
	}
	return all;
}

static void set_root(struct wh_dds_timers *timers, struct wh_dds_timer *root)
{
	timers->root = root;
	if (root == NULL)
		return;
	root->next = NULL;
	root->before = root;
}

void wh_dds_timer_set(struct wh_dds_timers *timers, struct wh_dds_timer *timer, uint64_t due_ns)
{
	if (due_ns == WH_DDS_NEVER)
		return;
	timer->due_ns = due_ns;
	timer->child = timer->next = NULL;
	set_root(timers, meld(timers->root, timer));
}

void wh_dds_timer_clear(struct wh_dds_timers *timers, struct wh_dds_timer *timer)
{
	struct wh_dds_timer *rest;

	if (!wh_dds_timer_is_set(timer))
		return;
	rest = meld_all(timer->child);
	if (timer == timers->root) {
		set_root(timers, rest);
	} else {
		if (timer->before->child == timer)
			timer->before->child = timer->next;
		else
			timer->before->next = timer->next;
		if (timer->next != NULL)
			timer->next->before = timer->before;
		set_root(timers, meld(timers->root, rest));
	}
	timer->child = timer->next = timer->before = NULL;
}

struct wh_dds_timer *wh_dds_timers_pop(struct wh_dds_timers *timers, uint64_t now_ns)
{
	struct wh_dds_timer *first = timers->root;

	if (first == NULL || first->due_ns > now_ns)
		return NULL;
	wh_dds_timer_clear(timers, first);
	return first;
}
