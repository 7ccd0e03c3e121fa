# quiet.cmake - subgroups in which nothing moves are left out, and nothing is missed (docs/decisions/0041). See mutants.cmake. The wrong
# rules of tests/models/quiet.c, and what was found beside them.

set(silent --set sim.words=on)

# ---- words of peers ----

mutant(NAME quiet-word-first KIND views FILE predicates/multicast.c SEED 310
	WORDS ${silent}
	REMOVES "the word is pushed behind the counters: it is pushed before them"
	TEXT [[
		wh_moves_say(mc->config.moves, mc->config.subgroup, !mc->hurries, mc->peers);
]]
	REPLACEMENT [[
	{
		struct wh_pushes *pushes = mc->config.pushes;
		struct wh_push word;

		wh_moves_say(mc->config.moves, mc->config.subgroup, !mc->hurries, mc->peers);
		word = pushes->list[pushes->count > 0 ? pushes->count - 1 : 0];
		for (uint32_t i = pushes->count; i-- > 1;)
			pushes->list[i] = pushes->list[i - 1];
		pushes->list[0] = word;
	}
]])

mutant(NAME quiet-word-beside KIND test_hot FILE predicates/moves.c
	REMOVES "the word is pushed behind the counters, not beside them"
	TEXT [[
			       patient ? WH_PUSH_MAY_DELAY : 0, to);
]]
	REPLACEMENT [[
			       WH_PUSH_MAY_REORDER | (patient ? WH_PUSH_MAY_DELAY : 0), to);
]])

mutant(NAME quiet-this-stretch-only KIND test_hot FILE predicates/moves.c
	REMOVES "the names of two stretches stand in a word: those of this one alone"
	TEXT [[
wh_moved_make(count, stretch->now | stretch->before),
]]
	REPLACEMENT [[
wh_moved_make(count, stretch->now),
]])

mutant(NAME quiet-three-stretches KIND test_hot FILE sst/columns.h COMPILE predicates/hot.c
	REMOVES "a reader that has missed more than a stretch looks at all"
	TEXT [[
	return wh_moved_moves(now) / WH_MOVED_STRETCH - missed <= 1 ? (uint32_t)now & WH_MOVED_ALL : WH_MOVED_ALL;
]]
	REPLACEMENT [[
	return wh_moved_moves(now) / WH_MOVED_STRETCH - missed <= 2 ? (uint32_t)now & WH_MOVED_ALL : WH_MOVED_ALL;
]])

mutant(NAME quiet-no-last-look KIND views FILE predicates/hot.c SEED 390
	WORDS ${silent}
	REMOVES "between arm and sleep all words are looked at"
	TEXT [[
	return ++hot->passes >= every || ((last || slept) && !hot->all);
]]
	REPLACEMENT [[
	return !last && (++hot->passes >= every || (slept && !hot->all));
]])

mutant(NAME quiet-word-does-not-ring KIND views FILE predicates/moves.c SEED 560
	WORDS ${silent}
	REMOVES "the word's own post rings"
	TEXT [[
	wh_sst_publish_advised(moves->sst, moves->pushes, word, wh_moved_make(count, stretch->now | stretch->before),
			       patient ? WH_PUSH_MAY_DELAY : 0, to);
]]
	REPLACEMENT [[
	(void)patient;
	wh_sst_publish_no_wake(moves->sst, moves->pushes, word, wh_moved_make(count, stretch->now | stretch->before),
			       to);
]])

mutant(NAME quiet-held-for-ever KIND views FILE predicates/multicast.c
	WORDS ${silent}
	REMOVES "what was not said while something moved is said in the first step that finds nothing"
	TEXT [[
	mc->held = 0;
	if (!mc->moved)
		return;
]]
	REPLACEMENT [[
	mc->held = 0;
	if (mc->held == 0)
		return;
]])

mutant(NAME quiet-waiter-holds KIND test_hot FILE predicates/multicast.c
	REMOVES "what a waiter moves is said at once: it is held back, and no step follows"
	TEXT [[
	mc->held = 0; /* as in wh_multicast_send */
]]
	REPLACEMENT [[
]])

mutant(NAME quiet-unordered-unsaid KIND views FILE predicates/deliver.c
	WORDS ${silent}
	REMOVES "unordered: a sender is told that something moved"
	TEXT [[
		if (mc->config.moves != NULL && to.count > 0)
]]
	REPLACEMENT [[
		if (mc->config.moves != NULL && to.count > 1)
]])

mutant(NAME quiet-all-left-cold KIND test_hot FILE predicates/hot.c
	REMOVES "when no longer all are stepped all are hot once more"
	TEXT [[
	for (uint32_t m = 0; m < hot->member_count; m++)
		heat(hot, m);
	look_at_words(hot);
]]
	REPLACEMENT [[
	look_at_words(hot);
	hot->count = 0;
	for (uint32_t m = 0; m < hot->member_count; m++)
		hot->members[m].at = WH_HOT_COLD;
]])

mutant(NAME quiet-cools-twice KIND test_hot FILE predicates/hot.c
	REMOVES "one that takes the place of another has its turn in this pass, once"
	TEXT [[
	hot->list[hot->next] = last;
]]
	REPLACEMENT [[
	hot->list[hot->next++] = last;
]])

mutant(NAME quiet-word-read-again KIND test_hot_threads FILE predicates/hot.c
	REMOVES "seen is the word of which the names were taken: it is read again behind them"
	TEXT [[
#include <stdlib.h>
]]
	REPLACEMENT [[
#include <sched.h>
#include <stdlib.h>
]]
	TEXT_2 [[
		seen[i] = word;
]]
	REPLACEMENT_2 [[
		for (int wait = 0; wait < 20; wait++) /* a little later: the peer may move meanwhile */
			sched_yield();
		seen[i] = wh_sst_observe_array(hot->config.sst, rank, moved, i);
]])

# ---- bits of rings ----

mutant(NAME quiet-bit-first KIND test_group_silent FILE smc/ring.h COMPILE group/send.c
	REMOVES "the mark is stored before the bit is looked at"
	TEXT [[
	/* Release: the payload and its length before the mark. Partner: wh_ring_ready. */
]]
	REPLACEMENT [[
	wh_ring_say_committed(ring);
]])

mutant(NAME quiet-commit-unsaid KIND views FILE smc/ring.h COMPILE group/send.c
	WORDS ${silent}
	REMOVES "a commit says which ring it was"
	TEXT [[
	if ((wh_load_relaxed(ring->committed) & ring->committed_bit) == 0)
		wh_fetch_or(ring->committed, ring->committed_bit);
]]
	REPLACEMENT [[
	(void)ring;
]])

mutant(NAME quiet-bit-does-not-hold KIND test_hot FILE predicates/hot.c
	REMOVES "a ring of which the bit is set does not cool: it does, and no commit says anything any more"
	TEXT [[
	bool marked = rests && !hot->all && member->ring != NULL && wh_ring_has_committed(member->ring);
]]
	REPLACEMENT [[
	bool marked = false;
]])

mutant(NAME quiet-bit-taken-after-the-look KIND test_loop FILE predicates/loop.c
	REMOVES "bits are taken away before the last look, and before the barrier of parking"
	TEXT [[
	if (loop->parks != NULL)
		loop->parks(loop->parks_ctx);
	loop->sure = park(loop);
]]
	REPLACEMENT [[
	loop->sure = park(loop);
]]
	TEXT_2 [[
	loop->looks_last = false;
]]
	REPLACEMENT_2 [[
	loop->looks_last = false;
	if (loop->parks != NULL)
		loop->parks(loop->parks_ctx);
]])

mutant(NAME quiet-barrier-first KIND test_loop FILE predicates/loop.c
	REMOVES "bits are taken away before the barrier of parking"
	TEXT [[
	if (loop->parks != NULL)
		loop->parks(loop->parks_ctx);
	loop->sure = park(loop);
]]
	REPLACEMENT [[
	loop->sure = park(loop);
	if (loop->parks != NULL)
		loop->parks(loop->parks_ctx);
]])

mutant(NAME quiet-no-barrier KIND test_hot FILE predicates/hot.c
	REMOVES "a busy loop makes a barrier behind the bits that it takes away"
	TEXT [[
	if (!wh_gate_barrier(hot->config.loop->gate))
		put_back(hot);
]]
	REPLACEMENT [[
]])

mutant(NAME quiet-unsure KIND test_hot FILE predicates/hot.c
	REMOVES "bits come back where parking could not be ordered"
	TEXT [[
	if (loop->looks_last && !loop->sure)
]]
	REPLACEMENT [[
	if (loop->looks_last && !loop->sure && hot->all)
]])

# ---- states ----

mutant(NAME quiet-state-forgotten KIND views FILE group/node_int.h COMPILE group/transfer.c group/enter.c
	REMOVES "a state of which something is under way is gone on with in each pass"
	TEXT [[
	subgroup->node->states.used = true;
]]
	REPLACEMENT [[
]])
