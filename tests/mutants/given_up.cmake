# given_up.cmake - when a member that never hears a quorum again gives up (membership/suspicion.c, 0051), taken out one rule at a time. See
# mutants.cmake.

mutant(NAME given-up-never-over KIND test_give_up FILE membership/suspicion.c
	REMOVES "a member that never hears a quorum again gives up"
	TEXT [[
	if (!heard && is_lost(change)) {
]]
	REPLACEMENT [[
	if (heard && is_lost(change)) {
]])

mutant(NAME given-up-at-once KIND test_give_up FILE membership/suspicion.c
	REMOVES "it gives up only when it has heard none for long"
	TEXT [[
	    change->loop->now_ns - change->suspicion.unheard_ns <= change->give_up_ns)
]]
	REPLACEMENT [[
	    change->loop->now_ns - change->suspicion.unheard_ns <= change->give_up_ns / 2)
]])

mutant(NAME given-up-for-the-silent KIND test_give_up FILE membership/suspicion.c
	REMOVES "members that are only silent may be heard again"
	TEXT [[
		cast_vote(&poll, change, rank, s->wanted[rank], s->wanted[rank] == WH_TRUSTED);
]]
	REPLACEMENT [[
		cast_vote(&poll, change, rank, s->wanted[rank],
			  s->wanted[rank] == WH_TRUSTED && !wh_heartbeat_overdue(change->heartbeat, rank));
]])

mutant(NAME given-up-without-the-leavers KIND test_give_up FILE membership/suspicion.c
	REMOVES "what the transport has said stays so"
	TEXT [[
	return s->known[rank] > s->said[rank] ? s->known[rank] : s->said[rank];
]]
	REPLACEMENT [[
	return s->said[rank];
]])

mutant(NAME given-up-on-a-host KIND test_give_up FILE membership/suspicion.c
	REMOVES "where a proof of death may come none gives up"
	TEXT [[
	if (change->give_up_ns == 0 || has_proofs(change) ||
]]
	REPLACEMENT [[
	if (change->give_up_ns == 0 ||
]])

mutant(NAME given-up-deaf-to-others KIND test_give_up FILE membership/suspicion.c
	REMOVES "of two members of which one accuses the other one goes, for good"
	TEXT [[
	poll.votes -= count_quarrels(change);
]]
	REPLACEMENT [[
	poll.votes -= 0 * count_quarrels(change);
]])

mutant(NAME given-up-all-quarrel KIND test_give_up FILE membership/suspicion.c
	REMOVES "of all that accuse each other no more go than must"
	TEXT [[
				wanted[from] = wanted[of] = WH_FAILED;
				pairs++;
]]
	REPLACEMENT [[
				wanted[of] = WH_FAILED;
				pairs++;
]])

mutant(NAME given-up-goes-on KIND test_give_up FILE membership/suspicion.c
	REMOVES "one that has given up does nothing more in its view"
	TEXT [[
	change->removed = true;
	wh_event(change->diag, "lost", change->view->number, 0, 0);
]]
	REPLACEMENT [[
	wh_event(change->diag, "lost", change->view->number, 0, 0);
]])

mutant(NAME given-up-behind-the-others KIND test_give_up FILE membership/suspicion.c
	REMOVES "members that have gone ahead, and are lost, have said all that there is to follow"
	TEXT [[
	if (is_spared(change, rank))
		return WH_TRUSTED;
	return s->known
]]
	REPLACEMENT [[
	return s->known
]])

mutant(NAME given-up-accused KIND test_give_up FILE membership/suspicion.c
	REMOVES "one that is accused waits to be told that it is removed"
	TEXT [[
	if (find_accuser(change) != wh_change_me(change))
		return true;
	poll.votes
]]
	REPLACEMENT [[
	poll.votes
]])
