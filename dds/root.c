/* root.c - what a process has once: see node.h. */
#include "base/env.h"
#include "base/thread.h"
#include "dds/node.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct wh_dds_root root; /* a handle is all that a program has */

static void begin(void)
{
	root.table = wh_dds_table_new();
	wh_dds_signals_init(&root.signals);
	pthread_mutex_init(&root.lock, NULL);
	wh_thread_condition_init(&root.changed);
}

struct wh_dds_root *wh_dds_root(void)
{
	pthread_once(&once, begin);
	return &root;
}

whorl_dds_return wh_dds_hold(const char *function, whorl_dds_entity handle, uint32_t kinds, struct wh_dds_base **out)
{
	struct wh_dds_table *table = wh_dds_root()->table;
	struct wh_dds_entity *entity = NULL;
	whorl_dds_return result = WHORL_DDS_RETCODE_BAD_PARAMETER;

	if (table != NULL)
		result = wh_dds_entity_get(table, handle, kinds, &entity);
	*out = (struct wh_dds_base *)(void *)entity; /* its first member */
	switch (result) {
	case WHORL_DDS_RETCODE_OK:
		return result;
	case WHORL_DDS_RETCODE_ALREADY_DELETED:
		return wh_dds_say(function, result, "entity %d has been deleted", (int)handle);
	case WHORL_DDS_RETCODE_ILLEGAL_OPERATION:
		return wh_dds_say(function, result, "entity %d is of another kind", (int)handle);
	default:
		return wh_dds_say(function, result, "%d is no entity", (int)handle);
	}
}

void wh_dds_let_go(struct wh_dds_base *base)
{
	if (base != NULL)
		wh_dds_entity_put(&base->entity);
}

/* ---- time ---------------------------------------------------------------------------------------------------------------------- */

whorl_dds_time whorl_dds_now(void)
{
	const struct wh_dds_host *host = wh_dds_host();

	return (whorl_dds_time)host->real_ns(host->ctx);
}

uint64_t wh_dds_until(whorl_dds_duration duration)
{
	return duration == WHORL_DDS_INFINITY ? WH_DDS_NEVER : wh_dds_clock() + (uint64_t)duration;
}

int wh_dds_left_ms(uint64_t until_ns, int most)
{
	uint64_t now = wh_dds_clock(), left;

	if (until_ns <= now)
		return 0;
	left = (until_ns - now + WH_NS_PER_MS - 1) / WH_NS_PER_MS;
	return left < (uint64_t)most ? (int)left : most;
}
