/* gate.c - see gate.h. */
#include "base/gate.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/barrier.h"

#define GATE_BYTES 4096

enum whorl_result wh_gate_create(struct wh_gate **out, void (*wake)(void *ctx), void *ctx, struct wh_error *err)
{
	struct wh_gate *gate;

	gate = mmap(NULL, GATE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (gate == MAP_FAILED)
		return wh_error_system(err, errno, "no memory for a page");
	if (madvise(gate, GATE_BYTES, MADV_WIPEONFORK) != 0) {
		enum whorl_result result = wh_error_system(err, errno, "madvise WIPEONFORK");

		munmap(gate, GATE_BYTES);
		return result;
	}
	gate->wake = wake;
	gate->ctx = ctx;
	gate->heavy = !wh_barrier_register();
	wh_store_release(&gate->state, WH_GATE_OPEN);
	*out = gate;
	return WHORL_OK;
}

void wh_gate_free(struct wh_gate *gate)
{
	if (gate != NULL)
		munmap(gate, GATE_BYTES);
}

bool wh_gate_barrier(const struct wh_gate *gate)
{
	if (!gate->heavy)
		return wh_barrier_all_threads();
	wh_fence_full();
	return true;
}

bool wh_gate_park(struct wh_gate *gate)
{
	wh_fetch_or(&gate->state, WH_GATE_PARKED);
	/* The flag, then the last look. Partner: the store, then the load of the flag, in wh_gate_ring. */
	return wh_gate_barrier(gate);
}

void wh_gate_unpark(struct wh_gate *gate)
{
	wh_fetch_and(&gate->state, ~(uint64_t)WH_GATE_PARKED);
}

/* Each hands over with release, and takes with acquire (wh_compare_swap): what the one has written of the loop's, the next sees.
 * wh_gate_borrow and wh_gate_give_back, in the header, are the other side. */

void wh_gate_lend(struct wh_gate *gate)
{
	wh_store_release(&gate->loan, WH_GATE_LENT);
}

bool wh_gate_take_back(struct wh_gate *gate)
{
	uint64_t lent = WH_GATE_LENT;

	return wh_compare_swap(&gate->loan, &lent, WH_GATE_KEPT);
}
