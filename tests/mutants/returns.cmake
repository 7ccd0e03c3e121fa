# returns.cmake - mechanisms of cheap views (docs/decisions/0043) that are taken out one at a time. See mutants.cmake.

# ---- rows that are used again (T8) ----

mutant(NAME row-used-while-read KIND conformance-shm-returns FILE transport/shm/returns.c
	REMOVES "a row is used again when all that it was offered to have let go of it"
	TEXT [[
		t->peers[row->peer->node].holds_row = true;
		t->returning.holders++;
]]
	REPLACEMENT [[
		(void)t;
]])

mutant(NAME row-of-another-view KIND conformance-shm-returns FILE transport/shm/returns.c
	REMOVES "a peer that lets go of the row of one image may still read that of another"
	TEXT [[
	if (!peer->holds_row || t->returning.key != key)
]]
	REPLACEMENT [[
	if (!peer->holds_row)
]])

mutant(NAME row-of-the-ended KIND conformance-shm-returns FILE transport/shm/returns.c
	REMOVES "a peer that has ended without a word may still read"
	TEXT [[
			return false;
]]
	REPLACEMENT [[
			continue;
]])

mutant(NAME row-not-zeroed KIND conformance-shm-returns FILE transport/shm/jobs.c
	REMOVES "a row is all zeros when its image opens, also one that was used before"
	TEXT [[
		memset(memory->base + at, 0, memory->bytes - at < PIECE ? memory->bytes - at : PIECE);
]]
	REPLACEMENT [[
		(void)memory;
]])

mutant(NAME parts-over-a-gap KIND test_session_images FILE transport/session/image.c
	REMOVES "what lies between two parts that do not touch is not mapped"
	TEXT [[
		if (count > 0 && to[count - 1].offset + to[count - 1].bytes == to[i].offset)
			to[count - 1].bytes += to[i].bytes;
]]
	REPLACEMENT [[
		if (count > 0)
			to[count - 1].bytes = to[i].offset + to[i].bytes - to[count - 1].offset;
]])

mutant(NAME memory-made-by-followers KIND test_prepare FILE membership/propose.c
	REMOVES "while none is suspected a follower waits until its memory is ready"
	TEXT [[
	    is_memory_ready(change))
]]
	REPLACEMENT [[
	    (is_memory_ready(change) || true))
]])

mutant(NAME memory-awaited-by-all KIND test_prepare FILE membership/propose.c
	REMOVES "where a member has failed no node waits for memory"
	TEXT [[
	if (image->ops->prepares == NULL || change->wedged || change->suspicion.count > 0 ||
]]
	REPLACEMENT [[
	if (image->ops->prepares == NULL ||
]])

# ---- descriptors of rings that are made when they are asked for ----

mutant(NAME window-made-and-silent KIND test_ring_descriptors FILE smc/ring.c
	REMOVES "those that armed before the descriptor was made are told on it"
	TEXT [[
	wh_fence_full();
	tell_arms(ring);
	return fd;
]]
	REPLACEMENT [[
	return fd;
]])

mutant(NAME window-told-to-none KIND test_ring_descriptors FILE smc/ring.c
	REMOVES "without a descriptor arms stay"
	TEXT [[
	if (fd < 0 || wh_load_relaxed(&ring->starved) < STARVED_ARM || !wh_ring_has_room(ring))
]]
	REPLACEMENT [[
	if (wh_load_relaxed(&ring->starved) < STARVED_ARM || !wh_ring_has_room(ring))
]])
