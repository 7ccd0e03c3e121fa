/* verbs_none.c - the limit on verbs of a command that is built without RDMA (WHORL_VERBS off): there is no device. */
#include "bench/limit/limit_int.h"
#include "bench/limit/verbs_trip.h"

#define WITHOUT "this whorl was built without RDMA (WHORL_VERBS)"

bool wh_limit_has_devices(void)
{
	return false;
}

uint64_t wh_limit_verbs_memory(const struct wh_limit_plan *plan)
{
	(void)plan;
	return 0;
}

enum whorl_result wh_limit_verbs(const struct wh_limit_plan *plan, struct wh_watch *watch,
				 struct wh_limit_result *result, struct wh_error *err)
{
	(void)plan, (void)watch, (void)result;
	return wh_error_set(err, WHORL_UNSUPPORTED, WITHOUT);
}

const char *wh_limit_verbs_end_open(struct wh_limit_verbs_end *end, uint32_t node, const char *address, size_t bytes,
				    bool wakes, struct wh_limit_verbs_cards *cards, struct wh_phase *phase)
{
	(void)end, (void)node, (void)address, (void)bytes, (void)wakes, (void)cards, (void)phase;
	return WITHOUT;
}

const char *wh_limit_verbs_end_write(struct wh_limit_verbs_end *end, uint64_t number)
{
	(void)end, (void)number;
	return WITHOUT;
}

void wh_limit_verbs_end_close(struct wh_limit_verbs_end *end)
{
	(void)end;
}

const char *wh_limit_link_listen(struct wh_limit_link *link)
{
	(void)link;
	return WITHOUT;
}

const char *wh_limit_link_sleep(struct wh_limit_link *link, int ms)
{
	(void)link, (void)ms;
	return WITHOUT;
}
