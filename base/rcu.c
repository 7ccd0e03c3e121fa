/* rcu.c - the writer's side of rcu.h. */
#include "base/rcu.h"

const char wh_rcu_left = 0;

void wh_rcu_synchronize(void)
{
	urcu_bp_synchronize_rcu();
#if WH_TSAN
	__tsan_acquire((void *)&wh_rcu_left); /* partner: each wh_rcu_read_unlock */
#endif
}
