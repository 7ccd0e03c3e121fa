/* serve.h - what a layer above hangs on a subgroup in place of the program's `apply`: it hands calls on, and may refuse them.
 *
 * A program's `apply` takes all that it is shown. This one may take fewer: then the rest waits as of whorl_on_offer, and is shown again after
 * whorl_offer_again. What was taken counts as applied: linearizable reads are made behind it, and a snapshot of the state has it.
 */
#ifndef WH_REPLICA_SERVE_H
#define WH_REPLICA_SERVE_H

#include <stdint.h>

#include <whorl/replica.h>

#include "base/error.h"

#define WH_CALLS_FAILED SIZE_MAX

struct wh_replica_plan {
	/* [loop] Returns how many of them, the first, it takes; WH_CALLS_FAILED: none, and the node fails, with WHORL_SYSTEM. */
	size_t (*take)(const struct whorl_call *calls, size_t count, void *ctx);
	/* [loop] Behind wh_layer_ask: NULL, or why the node cannot be a member any more: it fails, with WHORL_REFUSED. */
	const char *(*broken)(void *ctx);
	/* With the subgroup: nothing of this is called any more. */
	void (*free)(void *ctx);
	void *ctx;
};

/* As whorl_on_calls, in the name of `function`. `ctx` is the caller's unless WHORL_OK is returned. */
WH_MUST_CHECK enum whorl_result wh_replica_serve(const char *function, whorl_subgroup *subgroup,
						 const struct wh_replica_plan *plan);

/* [in `take`] The ctx that the caller of this call left, if it is awaited here and was made with that `done`; else NULL. */
void *wh_replica_left(const struct whorl_call *call, whorl_done_fn *done);

#endif
