/* steps.h - workers without threads of their own, as in simulation: whatever opens them makes their passes. One thread for all. */
#ifndef WH_DELEGATION_STEPS_H
#define WH_DELEGATION_STEPS_H

#include <stddef.h>
#include <stdint.h>

#include <whorl/delegate.h>

/* A pass. Returns how much was done. If it sleeps it wakes. */
size_t wh_work_step(whorl_work *work, uint32_t worker);
/* A last look: 0: there is nothing to do, and it sleeps, and is lent, from now on, until its next pass: that is made when its lane rings or
 * wh_work_next_ns has come. */
size_t wh_work_sleep(whorl_work *work, uint32_t worker);
/* By the clock of its environment; UINT64_MAX: it is to be rung. */
uint64_t wh_work_next_ns(const whorl_work *work, uint32_t worker);

#endif
