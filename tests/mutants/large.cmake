# large.cmake - messages larger than a slot are delivered as one, or not at all (docs/decisions/0045). See mutants.cmake. The wrong rules of
# tests/models/parts.c are among them.

set(parts --set sim.large=on)

# ---- one round ----

mutant(NAME large-round-each KIND views FILE predicates/send.c
	WORDS ${parts}
	REMOVES "all parts of a message take one round: each has one of its own"
	TEXT [[
						      .more = (uint16_t)(k == 0 ? parts - 1 : 0)});
]]
	REPLACEMENT [[
						      .more = (uint16_t)(k == 0 ? parts - 1 : 0)});
		mc->covered += k > 0;
]])

mutant(NAME large-announced-in-part KIND views FILE predicates/send.c
	WORDS ${parts}
	REMOVES "a round is announced with all its slots: the last of a message waits"
	TEXT [[
	uint64_t guard = wh_guard_make(mc->covered, mc->announced);

	if (guard == mc->guard)
]]
	REPLACEMENT [[
	uint64_t guard = wh_guard_make(mc->covered, mc->announced - (mc->config.parts_most > 1 && mc->announced > 1));

	if (guard == mc->guard)
]])

mutant(NAME large-taken-in-part KIND views FILE predicates/receive.c
	WORDS ${parts}
	REMOVES "without receive batching a round is taken in with all its slots: with the first of them"
	TEXT [[
sender->announced + header.more + 1 : UINT64_MAX;
]]
	REPLACEMENT [[
sender->announced + 1 : UINT64_MAX;
]])

mutant(NAME large-half-had KIND test_group_scribbles FILE predicates/send.c
	REMOVES "unordered: what a member says that it has is whole messages"
	TEXT [[
	if (mc->config.parts_most == 1)
		return number;
]]
	REPLACEMENT [[
	if (mc->config.parts_most > 0)
		return number;
]])

# ---- claims ----

mutant(NAME large-brought-home-once KIND views FILE predicates/send.c
	WORDS ${parts}
	REMOVES "all parts of a message of an earlier view are brought home: the first is"
	TEXT [[
		bring_home(ring, place, ring->sent_slot, bytes);
		wh_slot_write(&place->slots, place->row, ring->sent_slot,
			      (struct wh_slot_header){.round = mc->covered,
]]
	REPLACEMENT [[
		if (k == 0)
			bring_home(ring, place, ring->sent_slot, bytes);
		wh_slot_write(&place->slots, place->row, ring->sent_slot,
			      (struct wh_slot_header){.round = mc->covered,
]])

# ---- the reader ----

mutant(NAME large-unwrapped KIND test_group_large FILE base/pieces.h COMPILE group/large.c state/backlog.c
	REMOVES "behind the end of the ring parts go on at its beginning"
	TEXT [[
	return (wraps ? pieces->wrapped : pieces->begin) +
]]
	REPLACEMENT [[
	return pieces->begin +
]])

mutant(NAME large-lie-believed KIND test_group_scribbles FILE predicates/deliver.c
	REMOVES "all parts of a message are announced, or its sender is broken"
	TEXT [[
	if (parts > mc->config.parts_most || parts > sender->announced - sender->next)
]]
	REPLACEMENT [[
	if (parts > mc->config.parts_most && parts > sender->announced - sender->next)
]])

mutant(NAME large-parts-differ KIND test_group_scribbles FILE predicates/deliver.c
	REMOVES "parts of a message are of one round, or its sender is broken"
	TEXT [[
		if (header.round != first.round ||
]]
	REPLACEMENT [[
		if (
]])

mutant(NAME large-one-by-one KIND test_group_large FILE predicates/deliver.c
	REMOVES "large messages that lie in one piece are upcalled together"
	TEXT [[
	if (last != NULL && (last->pieces != NULL ||
]]
	REPLACEMENT [[
	if (last != NULL && (last->pieces == NULL || last->pieces != NULL ||
]])

mutant(NAME large-place-stays-large KIND test_group_large FILE predicates/deliver.c
	REMOVES "in the place of a large message the next small one has one slot"
	TEXT [[
		forget_parts(mc);
	mc->run = 0;
]]
	REPLACEMENT [[
		mc->run_has_parts = false;
	mc->run = 0;
]])

mutant(NAME large-pieces-shared KIND test_group_large FILE predicates/deliver.c
	REMOVES "a message in pieces ends its run"
	TEXT [[
	if (last != NULL && (last->pieces != NULL ||
]]
	REPLACEMENT [[
	if (last != NULL && (
]])

mutant(NAME large-kept-in-part KIND test_backlog FILE state/backlog.c
	REMOVES "what is kept back is kept in one piece, all of it"
	TEXT [[
	if (message->pieces != NULL)
]]
	REPLACEMENT [[
	if (message->pieces != NULL && message->parts == 0)
]])

# ---- small ones ----

mutant(NAME large-starved KIND test_ring_many FILE smc/ring.c
	REMOVES "while many slots are wanted others are not claimed"
	TEXT [[
		if (number + count > limit || (!wanted && wh_load_relaxed(&ring->wanted) != 0)) {
]]
	REPLACEMENT [[
		if (number + count > limit || (wanted && number == UINT64_MAX)) {
]])

mutant(NAME large-signal-taken KIND test_ring_many FILE smc/ring.c
	REMOVES "what a thread that waits for one drains is given back to that which waits for many"
	TEXT [[
		if (__builtin_expect(is_anothers(ring, wanted), 0))
			tell_waiters(ring);
]]
	REPLACEMENT [[
		if (is_anothers(ring, wanted) && wanted > 0)
			tell_waiters(ring);
]])

mutant(NAME large-wanted-for-ever KIND test_group_large FILE group/send.c
	REMOVES "who gives up wants no more"
	TEXT [[
	if (wanted > 0)
		wh_ring_want_no_more(subgroup->ring);
]]
	REPLACEMENT [[
	if (wanted > 0 && result == WHORL_OK)
		wh_ring_want_no_more(subgroup->ring);
]])
