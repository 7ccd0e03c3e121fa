/* layer.h - what a layer above hangs on a subgroup, and what it may ask of the node: replica/.
 *
 * A layer takes the place of the upcalls for messages. It lives as long as its subgroup. Threads: [loop] on the loop, [any] any thread.
 */
#ifndef WH_GROUP_LAYER_H
#define WH_GROUP_LAYER_H

#include <pthread.h>
#include <stdint.h>

#include <whorl/whorl.h>

#include "base/atomics.h"
#include "base/error.h"

struct wh_layer_ops {
	/* [loop] In place of an upcall. Returns how many it takes: all, or after wh_layer_may_refuse some. The node may have failed by then. */
	size_t (*deliver)(void *layer, const struct whorl_message *messages, size_t count);
	/* [loop] It was delivered, and will never come to `deliver`: the state that was restored has it, or this node has left the
	 * shard before that. No upcall may be made here. */
	void (*missed)(void *layer, const struct whorl_message *message);
	/* [loop] A pass, if one was asked for. Returns how much was done. */
	size_t (*step)(void *layer);
	/* [loop, and a thread that has borrowed it] As `step`, but without upcalls: does it want a question? */
	void (*gather)(void *layer);
	/* [loop, and a thread that has borrowed it] The question that it wanted has been raised, in that view. */
	void (*asked)(void *layer, uint64_t view, uint64_t question);
	/* [loop] As whorl_gone_fn. */
	void (*gone)(void *layer, uint64_t first, uint64_t end);
	/* [loop, and whorl_close when there is none any more] The node has failed or is closed, and says why: nothing more will come.
	 * What threads leave behind at that moment may come later, so it is called more than once. */
	void (*end)(void *layer, enum whorl_result why, const char *text);
	/* [any] Threads that wait look again. */
	void (*wake)(void *layer);
	void (*free)(void *layer);
};

struct wh_layer_wants {
	bool passes;     /* to be stepped in each pass */
	bool a_question; /* to be told when the next question to a quorum has been raised (membership/confirm.h) */
};

/* Before whorl_start, once: the program has set no upcall for messages. The layer is the subgroup's from then on. WHORL_OK,
 * WHORL_FORKED, WHORL_INVALID in the name of `function`. */
WH_MUST_CHECK enum whorl_result wh_layer_attach(const char *function, whorl_subgroup *subgroup,
						const struct wh_layer_ops *ops, void *layer);
/* Before whorl_start: from now on `deliver` may take fewer than it is offered: then nothing more of the subgroup comes until whorl_offer_again, as for
 * a program with whorl_on_offer. */
void wh_layer_may_refuse(whorl_subgroup *subgroup);
/* [any] The layer with these functions; NULL: the subgroup has none, or another. */
void *wh_layer_of(const whorl_subgroup *subgroup, const struct wh_layer_ops *ops);
/* [any] Of an open claim. */
whorl_subgroup *wh_layer_claimed(const struct whorl_claim *claim);

/* [any] In the RCU lock: it was made before the layout took this node out of its shard, and finishing it says so (WHORL_NOT_SENDER). */
bool wh_layer_has_dropped(const whorl_subgroup *subgroup, const struct whorl_claim *claim);

/* [any] It is to be stepped soon. What this thread has stored before is seen in that step. */
void wh_layer_ask(whorl_subgroup *subgroup);
/* [loop] From the next pass on. */
struct wh_layer_wants *wh_layer_wants(whorl_subgroup *subgroup);

/* [any] What this thread has stored, then what it looks at: in this order for the loop that calls `gone`. */
void wh_layer_fence(const whorl_subgroup *subgroup);

/* [any] WHORL_OK, or what whorl_error says: WHORL_NO_QUORUM for now, others for good; WHORL_CLOSED, WHORL_FORKED. */
enum whorl_result wh_layer_state(const whorl_subgroup *subgroup);
/* [any] WHORL_OK: this node is a member of the subgroup; WHORL_NOT_FOUND: it is not; WHORL_AGAIN: there is no view yet. */
enum whorl_result wh_layer_membership(const whorl_subgroup *subgroup);
/* [loop] It fails. */
void wh_layer_fail(whorl_subgroup *subgroup, enum whorl_result code, const char *why);
bool wh_layer_is_ordered(const whorl_subgroup *subgroup);
uint32_t wh_layer_window(const whorl_subgroup *subgroup);
uint64_t wh_layer_large_bytes(const whorl_subgroup *subgroup); /* of a message, at most; 0: none is larger than a slot */
uint64_t wh_layer_most_bytes(const whorl_subgroup *subgroup);  /* of a message of any kind, at most */
uint64_t wh_layer_incarnation(const whorl_subgroup *subgroup);
const whorl_node *wh_layer_node(const whorl_subgroup *subgroup); /* [any] */
const char *wh_layer_name(const whorl_subgroup *subgroup);       /* [any] as long as the subgroup */

/* ---- reads */

struct wh_layer_place {
	uint64_t view, received; /* all sequence numbers below have been received there */
	uint32_t shard;
};
/* [loop] False: this node is not a member. */
WH_MUST_CHECK bool wh_layer_received(const whorl_subgroup *subgroup, struct wh_layer_place *out);
/* [loop] A quorum of that view, which is the current one, has confirmed the question. */
bool wh_layer_is_confirmed(const whorl_subgroup *subgroup, uint64_t view, uint64_t question);
/* [loop] This node is in that shard now. */
bool wh_layer_is_in(const whorl_subgroup *subgroup, uint32_t shard);
/* [loop] All below has been delivered here, and nothing that was kept back has yet to be upcalled. */
bool wh_layer_has_applied(const whorl_subgroup *subgroup, const struct wh_layer_place *place);
/* [loop, in `deliver`] It comes out of a log: this node's own, before the view that restarts the group, or the one that it was given. */
bool wh_layer_reads_log(const whorl_subgroup *subgroup);
/* [loop] Its state is not restored yet. */
bool wh_layer_restores(const whorl_subgroup *subgroup);

/* ---- threads */

/* [any] This thread runs the loop now: it is in an upcall. */
bool wh_layer_in_upcall(const whorl_subgroup *subgroup);
/* [any] With thread = caller: no other thread makes passes, and none does until wh_layer_give_loop. Never waits. */
WH_MUST_CHECK bool wh_layer_take_loop(whorl_subgroup *subgroup);
void wh_layer_give_loop(whorl_subgroup *subgroup);

/* A thread is about to wait, and touches the layer till it has done, as whorl_close waits for it. False: the node is closed. */
WH_MUST_CHECK bool wh_layer_begin_wait(whorl_subgroup *subgroup);
void wh_layer_end_wait(whorl_subgroup *subgroup);
/* Between the two. Waits until *settled is not 0, at most until then, or until the node is closed. With thread = caller it makes
 * passes. `settled` is set and `condition` signalled under `lock`; the condition is of base/thread.h. Not in upcalls. */
void wh_layer_wait(whorl_subgroup *subgroup, const wh_word *settled, pthread_mutex_t *lock, pthread_cond_t *condition,
		   uint64_t deadline_ns);
uint64_t wh_layer_deadline(int timeout_ms);
/* Milliseconds until then, rounded up; 0: it is past. */
int wh_layer_left_ms(uint64_t deadline_ns);

#endif
