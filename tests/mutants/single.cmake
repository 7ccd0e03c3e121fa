# single.cmake - claims of one sending thread (docs/decisions/0071). See mutants.cmake. That the barrier is there, and where, is in model-single.

mutant(NAME single-not-frozen KIND test_ring_single FILE smc/ring.c
	REMOVES "the number of a single sender is frozen when it is counted"
	TEXT [[
	wh_store_relaxed(&ring->at_wedge, claim_number(ring, wh_fetch_or(&ring->own, WH_OWN_FROZEN)));
]]
	REPLACEMENT [[
	wh_store_relaxed(&ring->at_wedge, claim_number(ring, wh_load_acquire(&ring->own)));
]])

mutant(NAME single-never-back KIND test_ring_single FILE smc/single.h
	COMPILE smc/ring.c tests/unit/test_ring_single.c
	REMOVES "a claim that came behind the count is taken back"
	TEXT [[
	return __builtin_expect(bits != 0, 0) && wh_single_takes_back(ring, before, after) ? bits : 0;
]]
	REPLACEMENT [[
	(void)before;
	return bits & 0;
]])

mutant(NAME single-live-number KIND test_ring_single FILE smc/ring.c
	REMOVES "while a ring is wedged what was counted is what is claimed"
	TEXT [[
	return (word & CLAIM_WEDGED) != 0 ? wh_load_relaxed(&ring->at_wedge)
					  : claim_number(ring, wh_load_relaxed(&ring->own));
]]
	REPLACEMENT [[
	return claim_number(ring, wh_load_relaxed(&ring->own));
]])

mutant(NAME single-any-thread KIND test_ring_single FILE smc/ring.c
	REMOVES "the ring of one thread refuses claims of another"
	TEXT [[
	if (__builtin_expect(!wh_single_is_sender(ring), 0))
		return WHORL_INVALID;
]]
	REPLACEMENT [[
	(void)wh_single_is_sender(ring);
]])

mutant(NAME single-by-handle KIND test_ring_single FILE smc/single.h
	COMPILE smc/ring.c tests/unit/test_ring_single.c
	REMOVES "a thread that has the handle of one that has ended is another"
	TEXT [[
	uint64_t me = wh_thread_number(), sender = wh_load_relaxed(&ring->sender);
]]
	REPLACEMENT [[
	uint64_t me = (uintptr_t)pthread_self(), sender = wh_load_relaxed(&ring->sender);
]])
