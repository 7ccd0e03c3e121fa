/* whorl/replica.h - a state machine on every member of a subgroup: calls that are answered, and reads that are never stale.
 *
 * A *call* is a message of a subgroup that all its members *apply*, in one order, and that the caller's own member answers. So an
 * answer takes no message, and has no size limit. A *read* looks at the state of this member, and may ask for the newest: then it has
 * all that any member had answered when it began, though it takes no place in the order (docs/decisions/0048; Schneider 1990 for the
 * rest).
 *
 * A service in one glance (examples/account.c is whole; examples/kv/ is a server):
 *
 *     whorl_subgroup *accounts = whorl_subgroup_find(node, "accounts");
 *     whorl_on_calls(accounts, apply, state);       // on every member, before whorl_start
 *     whorl_on_state(accounts, &functions);         // newcomers are given the state: whorl.h
 *     whorl_start(node);
 *     ...
 *     whorl_call(accounts, "+5", 2, done, mine);    // done gets the answer, on the loop
 *     whorl_call_wait(accounts, "+5", 2, answer, &bytes, 1000);
 *     whorl_read(accounts, WHORL_LINEARIZABLE, look, mine);
 *
 * THE STATE MACHINE. What `apply` does must follow from the state and the calls alone: not from time, dice, addresses or the order of a
 * hash table that differs, or the members' states differ from then on, and nothing notices. All members run one version of `apply`:
 * stop all to change it, or let it understand both.
 *
 * ONCE, OR NEVER. A call that is accepted is applied once, by all members that go on, also through changes of view; one that is
 * refused never is. Between these are two cases, and then the outcome says WHORL_IN_DOUBT: this node is removed, fails or is closed
 * before it knows; or it makes a call while its state is restored, and the state that it is given has the call already, or the layout
 * function takes this node out of its shard before it has one. A call that is open when the layout function moves its node to another
 * shard of the subgroup, where it sends, is applied there: it is the node's next message.
 *
 * THREADS, STRUCTS, NULL: as in whorl.h. Upcalls here (apply, done, read) run on the loop, and must not be slow. They may call
 * whorl_call, whorl_read, whorl_answer_later and whatever whorl.h permits in an upcall; none of these waits, so a call from `apply`
 * cannot deadlock: it is applied later.
 */
#ifndef WHORL_REPLICA_H
#define WHORL_REPLICA_H

#include <whorl/whorl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- calls, as all members apply them --------------------------------------------------------------------------------*/

struct whorl_call { /* belongs to the library */
	size_t size;
	const void *data; /* in one piece, 16-byte aligned; valid until `apply` returns. NULL only if `bytes` is 0 */
	size_t bytes;
	uint64_t view, sequence; /* its place in the order: as of struct whorl_message */
	uint64_t index;          /* of this call among the messages of its caller's life */
	uint64_t incarnation;    /* of the caller: with `caller` and `index` it names the call for good */
	uint32_t caller;         /* node id */
	bool awaited; /* this node made the call, and waits for its outcome: answer it here. Elsewhere answers are dropped */
	bool replayed; /* it comes out of a log: this member's, when the group is restarted, or the one that it was given. Never awaited */
	void *place; /* private */
};

/* Applies `count` calls, in order: call i is WHORL_AT(whorl_call, calls, i). On the loop, at all members, in place of a message upcall.
 * True: all are applied. False: this member cannot apply them (memory is out...): its node fails, with WHORL_SYSTEM, and the others go
 * on. */
typedef bool whorl_apply_fn(const struct whorl_call *calls, size_t count, void *ctx);

/* Makes every message of the subgroup a call. On all its members, or none; before whorl_start. An ordered subgroup: without an order
 * members' states differ. Then whorl_send is refused there (WHORL_INVALID); whorl_commit and whorl_commit_many make calls of which no
 * outcome is told.
 * WHORL_OK; WHORL_INVALID: after whorl_start, it is unordered, it was entered (whorl_subgroup_enter), it is set already, or another
 * upcall is set (whorl_on_message and the like); WHORL_MEMORY; WHORL_FORKED. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_on_calls(whorl_subgroup *subgroup, whorl_apply_fn *apply, void *ctx);

/* The answer to a call, in `apply`, at most once: the data is copied. It is given to the caller when `apply` has returned. A call
 * that is not answered has an empty answer. Where the call is not awaited nothing is done.
 * WHORL_OK; WHORL_MEMORY: the answer cannot be kept, and will be empty, unless another is given; WHORL_INVALID: it is answered, or
 * deferred, already; or this is no call of the `apply` that runs. */
WHORL_API enum whorl_result whorl_answer(const struct whorl_call *call, const void *data, size_t bytes);

/* The answer comes later: a ticket for it. The call is applied all the same, and its place in the order is past. In `apply`, in place
 * of whorl_answer. 0: the call is not awaited here, and no answer is needed; or, if it is, memory is out: answer it now. Also 0 where
 * whorl_answer would be refused. */
WHORL_API uint64_t whorl_defer(const struct whorl_call *call);

/* The answer for a ticket, once: the data is copied. `done` follows, on the loop. Never blocks. Any thread, upcalls too.
 * WHORL_OK; ticket 0 too, and then nothing is done; WHORL_NOT_FOUND: it has been answered, or its caller was told that it is in doubt;
 * WHORL_MEMORY: nothing is done; WHORL_FORKED, WHORL_CLOSED. */
WHORL_API enum whorl_result whorl_answer_later(whorl_subgroup *subgroup, uint64_t ticket, const void *data,
					       size_t bytes);

/* ---- making calls ------------------------------------------------------------------------------------------------------*/

struct whorl_outcome { /* belongs to the library */
	size_t size;
	/* WHORL_OK: it was applied. WHORL_IN_DOUBT: whether it is, or what its answer was, is not known here, and never will be: `text`
	 * says why. WHORL_NOT_SENDER: it was never applied, by any member, and will not be: the layout function has taken this node out
	 * of its shard. */
	enum whorl_result result;
	const void *answer; /* valid until `done` returns */
	size_t bytes;
	uint64_t view, sequence; /* its place in the order; 0 if it is not known to have one */
	const char *text; /* "the others have removed this node...", "" with WHORL_OK; valid until `done` returns */
};

/* The outcome of an accepted call: exactly once for each. On the loop, after the `apply` that had the call; those of one node in the
 * order of its calls, but for answers that come later. For calls that are open when whorl_close ends the loop, in whorl_close, by its
 * thread. */
typedef void whorl_done_fn(const struct whorl_outcome *outcome, void *ctx);

/* Makes a call. Never blocks. `done` may be NULL: no outcome is told. Any thread, upcalls too; `done` may come before this returns. Up
 * to large_bytes: a call of more than message_bytes travels in parts, and is applied whole (whorl_claim_large, timeout_ms 0).
 * WHORL_OK; WHORL_PENDING: likewise, but it does not leave before a majority is heard again. In these two cases it is accepted, and
 * `done` is called. All others say that it is never applied, and then `done` is not called: WHORL_AGAIN: the window is full, the view
 * is changing, there is none yet, or this node still restores its state: wait with whorl_window_arm or whorl_ready; WHORL_NOT_FOUND:
 * this node is not in the subgroup, or in none of its shards; WHORL_NOT_SENDER: it only listens, or rests; WHORL_INVALID: too long, or
 * the subgroup has no whorl_on_calls; and the other results of whorl_claim and whorl_commit. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_call(whorl_subgroup *subgroup, const void *data, size_t bytes,
							whorl_done_fn *done, void *ctx);

/* The same with a claim (whorl_claim, whorl_claim_large), filled in place. As whorl_commit: the claim is finished, but after
 * WHORL_INVALID, and after WHORL_AGAIN: it is open still (this node restores its state): commit it later, or abort it. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_call_commit(struct whorl_claim *claim, size_t bytes,
							       whorl_done_fn *done, void *ctx);

/* Makes a call and waits for its answer, at most timeout_ms: for the window, and then for the outcome. `answer` has room for
 * *answer_bytes, which becomes the answer's size; both may be NULL, and then it is dropped. With thread = caller it runs the loop
 * meanwhile unless another thread does. Any thread; not in upcalls. Threads may be in it when whorl_close begins: they get
 * WHORL_IN_DOUBT or WHORL_CLOSED.
 * WHORL_OK; WHORL_TOO_SMALL: it is applied, and its answer does not fit: *answer_bytes is its size, and as much as fits was written;
 * WHORL_TIMEOUT: it was never accepted, and is never applied; WHORL_IN_DOUBT: it was accepted, and the time ran out, or this node was
 * removed, failed or was closed: whorl_error says which (WHORL_OK, WHORL_NO_QUORUM: the time); WHORL_NOT_SENDER as of an outcome, too;
 * WHORL_WOULD_DEADLOCK: in an upcall; and the results of whorl_call, but WHORL_AGAIN and WHORL_PENDING. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_call_wait(whorl_subgroup *subgroup, const void *data, size_t bytes,
							     void *answer, size_t *answer_bytes, int timeout_ms);

/* ---- reads --------------------------------------------------------------------------------------------------------------*/

enum whorl_freshness {
	WHORL_LOCAL, /* the state as it is here. It may be late: others may have answered calls that are not in it */
	/* The state has every call that was answered, or seen applied, at any member, before this read began; and those of this
	 * node of which the outcome was told. It costs one word to the other members of the view, and one back, which all reads that
	 * wait share. */
	WHORL_LINEARIZABLE,
};

/* The state may be looked at now, if `result` is WHORL_OK. On the loop, between two runs of `apply`; exactly once for each read that is
 * accepted. Otherwise it may not, and the read is over: WHORL_NO_QUORUM: too few members are heard; WHORL_AGAIN: a local read of a
 * state that is not restored yet; WHORL_NOT_FOUND: this node is not in its shard any more; WHORL_CLOSED, WHORL_REMOVED, and whatever
 * else whorl_error says of the node. As whorl_done_fn it may come in whorl_close. */
typedef void whorl_read_fn(enum whorl_result result, void *ctx);

/* Reads. Never blocks. Any thread, upcalls too. A WHORL_LOCAL read is made at once if this is called on the loop (in an upcall, or by
 * the thread that makes passes), before it returns; in `apply` it sees what `apply` has done so far. Linearizable reads of a subgroup
 * are made in the order in which they came. One waits while the view changes, and at a newcomer until its state is restored; it gets an
 * answer at the latest when too few members have been heard for the failure time-out.
 * WHORL_OK: `read` is called, or has been; the others say that it is not: WHORL_NOT_FOUND: this node is not in the subgroup, or in none
 * of its shards; WHORL_NO_QUORUM (linearizable); WHORL_AGAIN: there is no view yet, or, WHORL_LOCAL on the loop, the state is not
 * restored yet; WHORL_INVALID: the subgroup has no whorl_on_calls; WHORL_MEMORY; WHORL_FORKED, WHORL_CLOSED, and whatever else
 * whorl_error says of the node. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_read(whorl_subgroup *subgroup, enum whorl_freshness freshness,
							whorl_read_fn *read, void *ctx);

/* The same, and waits until `read` has been called, at most timeout_ms. With thread = caller it runs the loop meanwhile unless another
 * thread does. Any thread; not in upcalls. The result that `read` was called with; WHORL_TIMEOUT: it was not called, and will not be;
 * WHORL_WOULD_DEADLOCK: in an upcall; the results of whorl_read. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_read_wait(whorl_subgroup *subgroup, enum whorl_freshness freshness,
							     whorl_read_fn *read, void *ctx, int timeout_ms);

/* ---- shards -------------------------------------------------------------------------------------------------------------*/

/* The shard, 0 to shards - 1, that a key belongs to. It never changes, in any version and on any machine: FNV-1a (64 bits) of the
 * bytes, mixed by the finalizer of MurmurHash3, of that the upper half times `shards`, of that the upper half. 0 for no shards, and for
 * a NULL key that is not empty. */
WHORL_API uint32_t whorl_shard_of(const void *key, size_t bytes, uint32_t shards);

#ifdef __cplusplus
}
#endif

#endif
