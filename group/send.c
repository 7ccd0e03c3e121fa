/* send.c - the application's threads: claim, commit, abort, send, and waiting for the window.
 *
 * No registration and no lock. The RCU read lock lets whorl_close wait until calls that are under way have returned;
 * claims that stay open keep the node's memory instead (close.c).
 */
#include "group/node_int.h"
#include "group/refuse.h"

#include <poll.h>
#include <string.h>

#include "base/rcu.h"

/* A thread that finds the window full looks again and yields for so long (base/backoff.h) before it sleeps: a sleeper
 * costs the loop that wakes it microseconds. */

/* Can that be claimed there at all, by what is known without the ring? In the RCU lock. */
static enum whorl_result may_claim(const char *function, const whorl_subgroup *subgroup, size_t bytes)
{
	enum whorl_result result = wh_node_state(subgroup->node);

	if (result != WHORL_OK)
		return result;
	if (subgroup->ring == NULL)
		return WHORL_NOT_SENDER;
	if (__builtin_expect(bytes > subgroup->fixed.message_bytes, 0))
		return wh_refuse(function, "more than the subgroup's message_bytes");
	return WHORL_OK;
}

/* `room` is left as it is. */
static inline void show_claim(whorl_subgroup *subgroup, const struct wh_claim *claim, size_t bytes,
			      struct whorl_claim *out)
{
	out->data = claim->data;
	out->bytes = bytes;
	out->number = claim->number;
	out->stream = subgroup;
	out->slot = claim->slot;
	out->home = claim->home;
}

/* A view is seen before the loop has moved the rings there (wh_epoch_begin): a node that sends in it, and did not before, is no sender for that
 * moment. */
static bool is_coming(const whorl_subgroup *subgroup)
{
	const struct wh_shard_member *member;
	const struct wh_epoch *epoch;
	bool sends;

	if (!wh_ring_is_away(subgroup->ring))
		return false;
	wh_rcu_read_lock();
	epoch = wh_rcu_dereference(subgroup->node->epochs.current);
	member = epoch != NULL ? wh_epoch_shard_member(epoch, subgroup) : NULL;
	sends = member != NULL && member->sends && !member->ends;
	wh_rcu_read_unlock();
	return sends;
}

/* It rests, and is to send again; or its ring is coming; or the loop has settled that since the claim looked at the ring: so that is looked at last. */
static bool may_return(const whorl_subgroup *subgroup)
{
	/* Acquire: the word, then the ring as the loop had left it. Partner: wh_node_settle_rest. */
	return wh_load_acquire(&subgroup->words.returns) != 0 || is_coming(subgroup) || wh_ring_is_open(subgroup->ring);
}

static enum whorl_result claimed(const char *function, const whorl_subgroup *subgroup, enum whorl_result result)
{
	if (__builtin_expect(result == WHORL_INVALID, 0))
		return wh_refuse(function,
				 "another thread sends in the subgroup, and one was promised (sending_threads)");
	return __builtin_expect(result == WHORL_NOT_SENDER, 0) && may_return(subgroup) ? WHORL_AGAIN : result;
}

enum whorl_result whorl_claim(whorl_subgroup *subgroup, size_t bytes, struct whorl_claim *out)
{
	struct wh_claim claim;
	enum whorl_result result;

	if (__builtin_expect(subgroup == NULL || out == NULL, 0))
		return WH_REFUSE(subgroup == NULL ? "no subgroup" : "no place for the claim");
	if (wh_node_state(subgroup->node) == WHORL_FORKED)
		return WHORL_FORKED; /* before the lock, which a child of fork() must not touch (base/rcu.h) */
	wh_rcu_read_lock();
	result = may_claim(__func__, subgroup, bytes);
	if (__builtin_expect(result == WHORL_OK, 1)) {
		result = claimed(__func__, subgroup, wh_ring_claim(subgroup->ring, &claim));
		if (result == WHORL_OK)
			show_claim(subgroup, &claim, bytes, out);
	}
	wh_rcu_read_unlock();
	return result;
}

enum whorl_result whorl_claim_many(whorl_subgroup *subgroup, size_t bytes, size_t count, struct whorl_claim *out)
{
	struct wh_claims claims;
	enum whorl_result result;

	if (subgroup == NULL || out == NULL)
		return WH_REFUSE(subgroup == NULL ? "no subgroup" : "no place for the claims");
	if (count == 0 || count > subgroup->fixed.window)
		return WH_REFUSE(count == 0 ? "no claims" : "more claims than the subgroup's window");
	if (wh_node_state(subgroup->node) == WHORL_FORKED)
		return WHORL_FORKED;
	wh_rcu_read_lock();
	result = may_claim(__func__, subgroup, bytes);
	if (result == WHORL_OK)
		result = claimed(__func__, subgroup, wh_ring_claim_many(subgroup->ring, (uint32_t)count, &claims));
	for (uint32_t i = 0; result == WHORL_OK && i < count; i++) {
		struct wh_claim claim = wh_ring_claim_of(&claims, i);

		show_claim(subgroup, &claim, bytes, &out[i]);
	}
	wh_rcu_read_unlock();
	return result;
}

/* Open claims of a closed node: the last of them frees it, and waits for nothing. */
static enum whorl_result finish_orphans(whorl_node *node, uint64_t count)
{
	if (wh_fetch_add(&node->uses.orphans, 0 - count) == count)
		node->fixed.free(node, false, false);
	return WHORL_CLOSED;
}

#define FINISHED "the claim is finished already"

/* It is taken: it will be sent, now or when a majority is heard again. */
static bool is_taken(enum whorl_result result)
{
	return result == WHORL_OK || result == WHORL_NO_QUORUM;
}

/* What is said of a claim that is not an orphan; `result` is what the gate said when it was marked. */
static enum whorl_result finished(enum whorl_result result, bool taken, bool aborted)
{
	if (!is_taken(result))
		return result;
	if (!taken)
		return WHORL_NOT_SENDER;
	return result == WHORL_NO_QUORUM && !aborted ? WHORL_PENDING : WHORL_OK;
}

/* How many slots a claim of so many bytes has. */
static inline uint32_t slots_of(const whorl_subgroup *subgroup, size_t bytes)
{
	if (__builtin_expect(bytes <= subgroup->fixed.message_bytes, 1))
		return 1;
	return wh_pieces_in(bytes, subgroup->fixed.message_bytes);
}

static struct wh_claim claim_of(const struct whorl_claim *claim)
{
	return (struct wh_claim){.number = claim->number, .slot = claim->slot, .home = claim->home};
}

static __attribute__((noinline)) bool mark_parts(whorl_subgroup *subgroup, uint64_t dropped,
						 const struct whorl_claim *claim, uint64_t bytes, bool aborted)
{
	const struct wh_claim own = claim_of(claim);

	return wh_ring_mark_parts(subgroup->ring, dropped, &own, slots_of(subgroup, claim->bytes), bytes, aborted);
}

/* One claim, in one slot or several. In the RCU lock. False: it had been dropped. */
static inline bool mark_one(whorl_subgroup *subgroup, uint64_t dropped, const struct whorl_claim *claim, uint64_t bytes,
			    bool aborted)
{
	const struct wh_claim own = claim_of(claim);

	if (__builtin_expect(claim->bytes > subgroup->fixed.message_bytes, 0))
		return mark_parts(subgroup, dropped, claim, bytes, aborted);
	return wh_ring_mark(subgroup->ring, dropped, &own, (uint32_t)bytes, aborted);
}

/* The answer is given once, by one look at the gate, and the mark that the loop acts upon follows from it: what is refused is an
 * aborted claim, which no node delivers, however far the loop has come meanwhile. */
static enum whorl_result finish_claim(struct whorl_claim *claim, size_t bytes, bool aborted)
{
	whorl_subgroup *subgroup = claim->stream;
	enum whorl_result result;
	bool taken = false;

	if (wh_node_state(subgroup->node) == WHORL_FORKED)
		return WHORL_FORKED;
	claim->stream = NULL;
	wh_rcu_read_lock();
	result = wh_node_state(subgroup->node);
	if (result != WHORL_CLOSED) {
		taken = mark_one(subgroup, wh_ring_dropped(subgroup->ring), claim, bytes, aborted || !is_taken(result));
		if (__builtin_expect(taken, 1))
			wh_ring_tell(subgroup->ring);
	}
	wh_rcu_read_unlock();
	if (__builtin_expect(result == WHORL_OK && taken, 1))
		return WHORL_OK;
	if (result == WHORL_CLOSED)
		return finish_orphans(subgroup->node, slots_of(subgroup, claim->bytes));
	return finished(result, taken, aborted);
}

/* From the last to the first: the loop sends a prefix, so it finds all of them or none. In the RCU lock; one look at what is dropped
 * is enough in it. False: some had been dropped. */
static bool mark_all(struct whorl_claim *claims, size_t count, const size_t *bytes, bool aborted)
{
	whorl_subgroup *subgroup = claims[0].stream;
	uint64_t dropped = wh_ring_dropped(subgroup->ring);
	bool taken = true;

	for (size_t i = count; i-- > 0;) {
		taken &= mark_one(subgroup, dropped, &claims[i], bytes != NULL ? bytes[i] : claims[i].bytes, aborted);
		claims[i].stream = NULL;
	}
	wh_ring_tell(subgroup->ring);
	return taken;
}

static enum whorl_result may_commit_many(const struct whorl_claim *claims, size_t count, const size_t *bytes)
{
	static const char *const function = "whorl_commit_many";

	if (claims == NULL || count == 0)
		return wh_refuse(function, "no claims");
	for (size_t i = 0; i < count; i++) {
		if (claims[i].stream == NULL)
			return wh_refuse(function, "a claim is finished already; nothing is done");
		if (claims[i].stream != claims[0].stream)
			return wh_refuse(function, "the claims are of several subgroups; nothing is done");
		if (bytes != NULL && bytes[i] > claims[i].bytes)
			return wh_refuse(function, "more than was claimed; all claims are still open");
	}
	return WHORL_OK;
}

enum whorl_result whorl_commit_many(struct whorl_claim *claims, size_t count, const size_t *bytes)
{
	enum whorl_result result = may_commit_many(claims, count, bytes);
	bool taken = false;
	whorl_node *node;
	uint64_t slots = 0;

	if (result != WHORL_OK)
		return result;
	node = ((whorl_subgroup *)claims[0].stream)->node;
	if (wh_node_state(node) == WHORL_FORKED)
		return WHORL_FORKED;
	wh_rcu_read_lock();
	result = wh_node_state(node);
	if (result != WHORL_CLOSED)
		taken = mark_all(claims, count, bytes, !is_taken(result));
	wh_rcu_read_unlock();
	if (result != WHORL_CLOSED)
		return finished(result, taken, false);
	for (size_t i = 0; i < count; i++) {
		slots += slots_of(claims[i].stream, claims[i].bytes);
		claims[i].stream = NULL;
	}
	return finish_orphans(node, slots);
}

enum whorl_result whorl_commit(struct whorl_claim *claim, size_t bytes)
{
	if (__builtin_expect(claim == NULL || claim->stream == NULL, 0))
		return WH_REFUSE(claim == NULL ? "no claim" : FINISHED);
	if (__builtin_expect(bytes > claim->bytes, 0))
		return WH_REFUSE("more than was claimed; the claim is still open");
	return finish_claim(claim, bytes, false);
}

enum whorl_result whorl_abort(struct whorl_claim *claim)
{
	if (__builtin_expect(claim == NULL || claim->stream == NULL, 0))
		return WH_REFUSE(claim == NULL ? "no claim" : FINISHED);
	return finish_claim(claim, 0, true);
}

/* ---- waiting for the window --------------------------------------------------------------------------------------------- */

/* It rests, and is to send again, or is coming: the window says nothing. False: it may not rest any more, or the descriptor will tell. */
static bool is_to_return(whorl_subgroup *subgroup)
{
	if (wh_load_relaxed(&subgroup->words.returns) == 0 && !is_coming(subgroup))
		return false;
	wh_ring_drain_window(subgroup->ring);
	wh_fence_full(); /* the descriptor, then the word, and the ring. Partners: wh_node_settle_rest, wh_ring_enter */
	if (wh_load_relaxed(&subgroup->words.returns) != 0 || is_coming(subgroup))
		return true;
	wh_ring_signal(subgroup->ring); /* I may have drained what another thread waits for */
	return false;
}

/* True if it may be worth to claim again. `wanted`: as many slots are wanted for this thread. */
static bool look_for_room(whorl_subgroup *subgroup, uint32_t wanted)
{
	struct wh_backoff backoff = {0};

	while (!wh_ring_has_room_for(subgroup->ring, wanted))
		if (!wh_node_wait_a_little(subgroup, &backoff))
			return false;
	return true;
}

/* True if this thread has made passes of the loop; then it is as patient as a loop of its own. */
static bool wait_for_room(whorl_subgroup *subgroup, uint32_t wanted, uint64_t deadline, struct wh_backoff *backoff)
{
	struct pollfd room = {.events = POLLIN};
	uint64_t now, left_ms;
	size_t work;

	if (subgroup->node->fixed.caller && wh_node_try_step(subgroup->node, &work)) {
		if (work > 0)
			wh_backoff_renew(backoff);
		else if ((is_to_return(subgroup) || !wh_ring_has_room_for(subgroup->ring, wanted)) &&
			 !wh_node_wait_a_little(subgroup, backoff))
			wh_node_nap(subgroup->node);
		return true;
	}
	if (!is_to_return(subgroup) && (look_for_room(subgroup, wanted) || wh_ring_starve(subgroup->ring, wanted)))
		return false;
	now = wh_monotonic_ns();
	left_ms = now < deadline ? (deadline - now + WH_NS_PER_MS - 1) / WH_NS_PER_MS : 0;
	room.fd = wh_ring_window_fd(subgroup->ring);
	/* With thread = caller the thread that runs the loop now may stop, and then it is my turn. And where there is no descriptor
	 * left, no signal comes. */
	if ((subgroup->node->fixed.caller || room.fd < 0) && left_ms > 1)
		left_ms = 1;
	poll(&room, 1, (int)left_ms);
	return false;
}

/* In several slots. */
static enum whorl_result claim_parts(whorl_subgroup *subgroup, size_t bytes, bool wanted, struct whorl_claim *out)
{
	struct wh_claim claim;
	enum whorl_result result;

	if (wh_node_state(subgroup->node) == WHORL_FORKED)
		return WHORL_FORKED;
	wh_rcu_read_lock();
	result = may_claim(__func__, subgroup, 0); /* its length has been looked at */
	if (result == WHORL_OK)
		result = claimed("whorl_claim_large", subgroup,
				 wh_ring_claim_parts(subgroup->ring, slots_of(subgroup, bytes), wanted, &claim));
	if (result == WHORL_OK)
		show_claim(subgroup, &claim, bytes, out);
	wh_rcu_read_unlock();
	return result;
}

/* While it waits for many slots no others are claimed, or those that need one might take each as it becomes free. */
static enum whorl_result wait_for_parts(whorl_subgroup *subgroup, size_t bytes, int timeout_ms, struct whorl_claim *out)
{
	uint64_t began = wh_monotonic_ns(), deadline = began + (uint64_t)timeout_ms * WH_NS_PER_MS;
	uint32_t slots = slots_of(subgroup, bytes), wanted = 0;
	struct wh_backoff backoff = {0};
	enum whorl_result result;
	bool drove = false;

	do {
		if (wanted == 0 && wh_ring_want(subgroup->ring, slots))
			wanted = slots;
		drove |= wait_for_room(subgroup, wanted, deadline, &backoff);
		result = claim_parts(subgroup, bytes, wanted > 0, out);
	} while (result == WHORL_AGAIN && wh_monotonic_ns() < deadline);
	if (wanted > 0)
		wh_ring_want_no_more(subgroup->ring);
	if (drove)
		wh_node_hand_back(subgroup->node);
	atomic_fetch_add_explicit(&subgroup->ring->window_wait_ns, wh_monotonic_ns() - began, memory_order_relaxed);
	return result == WHORL_AGAIN ? WHORL_TIMEOUT : result;
}

enum whorl_result whorl_claim_large(whorl_subgroup *subgroup, size_t bytes, int timeout_ms, struct whorl_claim *out)
{
	enum whorl_result result;

	if (subgroup == NULL || out == NULL)
		return WH_REFUSE(subgroup == NULL ? "no subgroup" : "no place for the claim");
	if (timeout_ms < 0)
		return WH_REFUSE("a time-out below 0");
	if (bytes <= subgroup->fixed.message_bytes)
		return whorl_claim_wait(subgroup, bytes, timeout_ms, out);
	if (bytes > subgroup->fixed.large_bytes)
		return WH_REFUSE("more than the subgroup's large_bytes");
	if (timeout_ms > 0 && wh_node_in_upcall(subgroup->node))
		return WHORL_WOULD_DEADLOCK;
	result = claim_parts(subgroup, bytes, false, out);
	if (result != WHORL_AGAIN || timeout_ms == 0)
		return result;
	return wait_for_parts(subgroup, bytes, timeout_ms, out);
}

enum whorl_result whorl_claim_wait(whorl_subgroup *subgroup, size_t bytes, int timeout_ms, struct whorl_claim *out)
{
	enum whorl_result result;
	uint64_t began, deadline;
	struct wh_backoff backoff = {0};
	bool drove = false;

	if (__builtin_expect(subgroup == NULL || out == NULL, 0))
		return WH_REFUSE(subgroup == NULL ? "no subgroup" : "no place for the claim");
	if (timeout_ms < 0)
		return WH_REFUSE("a time-out below 0");
	if (timeout_ms > 0 && wh_node_in_upcall(subgroup->node))
		return WHORL_WOULD_DEADLOCK;
	result = whorl_claim(subgroup, bytes, out);
	if (result != WHORL_AGAIN || timeout_ms == 0)
		return result;
	began = wh_monotonic_ns();
	deadline = began + (uint64_t)timeout_ms * WH_NS_PER_MS;
	do {
		drove |= wait_for_room(subgroup, 0, deadline, &backoff);
		result = whorl_claim(subgroup, bytes, out);
	} while (result == WHORL_AGAIN && wh_monotonic_ns() < deadline);
	if (drove)
		wh_node_hand_back(subgroup->node);
	atomic_fetch_add_explicit(&subgroup->ring->window_wait_ns, wh_monotonic_ns() - began, memory_order_relaxed);
	return result == WHORL_AGAIN ? WHORL_TIMEOUT : result;
}

static void copy_into_parts(const struct whorl_claim *claim, const unsigned char *data)
{
	void *part;
	size_t bytes;

	for (uint32_t k = 0; whorl_claim_part(claim, k, &part, &bytes) == WHORL_OK; k++) {
		memcpy(part, data, bytes);
		data += bytes;
	}
}

enum whorl_result whorl_send(whorl_subgroup *subgroup, const void *data, size_t bytes, int timeout_ms, uint64_t *index)
{
	struct whorl_claim claim;
	enum whorl_result result;
	bool large;

	if (__builtin_expect(subgroup == NULL || (data == NULL && bytes > 0), 0))
		return WH_REFUSE(subgroup == NULL ? "no subgroup" : "no data");
	if (__builtin_expect(subgroup->layer.ops != NULL, 0))
		return WH_REFUSE("every message of the subgroup is a call (whorl_on_calls): whorl_call makes one");
	large = bytes > subgroup->fixed.message_bytes && subgroup->fixed.large_bytes > subgroup->fixed.message_bytes;
	result = __builtin_expect(large, 0) ? whorl_claim_large(subgroup, bytes, timeout_ms, &claim)
					    : whorl_claim_wait(subgroup, bytes, timeout_ms, &claim);
	if (result != WHORL_OK)
		return result;
	if (__builtin_expect(large, 0))
		copy_into_parts(&claim, data);
	else if (bytes > 0)
		memcpy(claim.data, data, bytes);
	if (index != NULL) /* before it can be delivered */
		*index = claim.number;
	return whorl_commit(&claim, bytes);
}

int whorl_window_fd(whorl_subgroup *subgroup)
{
	if (subgroup == NULL)
		return WH_REFUSE("no subgroup"), -1;
	if (wh_node_state(subgroup->node) == WHORL_FORKED)
		return -1;
	/* Only a look: what is_to_return takes in may be what another thread waits for. */
	if (subgroup->ring == NULL ||
	    (wh_load_acquire(&subgroup->words.returns) == 0 && wh_ring_is_away(subgroup->ring) && !is_coming(subgroup)))
		return -1; /* acquire: as in may_return */
	return wh_ring_room_fd(subgroup->ring);
}

enum whorl_result whorl_window_arm(whorl_subgroup *subgroup)
{
	enum whorl_result result;

	if (subgroup == NULL)
		return WH_REFUSE("no subgroup");
	if (wh_node_state(subgroup->node) == WHORL_FORKED)
		return WHORL_FORKED; /* the descriptor is the parent's, too */
	if (subgroup->ring == NULL)
		return WHORL_NOT_SENDER;
	wh_ring_arm(subgroup->ring);
	if (wh_load_acquire(&subgroup->words.returns) != 0 || is_coming(subgroup))
		return WHORL_AGAIN; /* it will be told. Partners: wh_node_settle_rest, wh_ring_enter */
	result = wh_ring_is_away(subgroup->ring)    ? WHORL_NOT_SENDER
		 : wh_ring_has_room(subgroup->ring) ? WHORL_OK
						    : WHORL_AGAIN;
	/* An arm that has been told of room is not taken back: a thread that reads it finds that there is some, or asks again. */
	return result == WHORL_AGAIN || wh_ring_disarm(subgroup->ring) ? result : WHORL_AGAIN;
}
