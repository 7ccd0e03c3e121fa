# deaths.cmake - what is done with proofs of death (docs/decisions/0039), taken out one rule at a time. See mutants.cmake.

set(on_one_host --set sim.proofs=on --set sim.faults_max=6)

mutant(NAME dead-counted KIND views FILE membership/suspicion.c
	WORDS ${on_one_host}
	REMOVES "no quorum is taken of the dead"
	TEXT [[
	poll->quorum.members -= kind == WH_LEFT || kind == WH_DEAD;
]]
	REPLACEMENT [[
	poll->quorum.members -= kind == WH_LEFT;
]])

mutant(NAME dead-unread KIND test_change_dead FILE membership/change_int.h
	COMPILE membership/suspicion.c membership/change.c membership/propose.c
	REMOVES "what a dead member has decided is read"
	TEXT [[
	return change->suspicion.said[rank] != WH_FAILED;
]]
	REPLACEMENT [[
	return change->suspicion.said[rank] < WH_FAILED;
]])

mutant(NAME dead-frozen KIND test_change_dead FILE membership/suspicion.c
	REMOVES "the row of a member that had failed is read again when it is dead"
	TEXT [[
	return image->ops->thaw != NULL && image->ops->thaw(image, rank);
]]
	REPLACEMENT [[
	return image->ops->thaw != NULL && image->row[rank] != NULL;
]])

mutant(NAME failed-never-dead KIND views FILE membership/suspicion.c
	WORDS ${on_one_host}
	REMOVES "a failed member becomes a dead one when the proof comes"
	TEXT [[
	if ((uint64_t)kind <= s->known[rank])
		return;
	if (kind
]]
	REPLACEMENT [[
	if ((uint64_t)kind <= s->known[rank] || s->known[rank] == WH_FAILED)
		return;
	if (kind
]])

mutant(NAME dead-after-leaving KIND views FILE membership/suspicion.c SEED 1020
	WORDS ${on_one_host}
	REMOVES "one that was said to have failed, and then left, may become dead"
	TEXT [[
	if (kind == WH_DEAD && s->known[rank] == WH_LEFT && s->said[rank] < WH_FAILED)
]]
	REPLACEMENT [[
	if (kind == WH_DEAD && s->known[rank] == WH_LEFT)
]])

mutant(NAME dead-accusers-fail KIND views FILE membership/suspicion.c
	WORDS ${on_one_host}
	REMOVES "what the dead say of others counts for nothing: one that accuses another counts as failed"
	TEXT [[
	if (kind == WH_LEFT && has_suspects(change, rank))
]]
	REPLACEMENT [[
	if (kind != WH_FAILED && has_suspects(change, rank))
]])

mutant(NAME leavers-proofs-fail KIND test_change_dead FILE membership/suspicion.c
	REMOVES "one that leaves while its row says that another is dead has left"
	TEXT [[
		if (wh_sst_observe_array(change->sst, rank, change->columns.suspected, other) == WH_FAILED)
]]
	REPLACEMENT [[
		if (wh_sst_observe_array(change->sst, rank, change->columns.suspected, other) >= WH_FAILED)
]])

mutant(NAME deaths-at-first-hand KIND views FILE membership/suspicion.c
	WORDS ${on_one_host}
	REMOVES "that a member is dead is taken from the rows of others"
	TEXT [[
		wh_change_suspect(change, of, WH_DEAD, "another member has proof that it is dead");
]]
	REPLACEMENT [[
		(void)of;
]])

mutant(NAME left-behind-stays KIND test_timelines_death FILE membership/suspicion.c
	REMOVES "a member that a dead one accuses, and may have gone on without, is removed"
	TEXT [[
			return (int)rank;
	return -1;
}

/* The others go on without me, or have. */
]]
	REPLACEMENT [[
			return -1;
	return -1;
}

/* The others go on without me, or have. */
]])

mutant(NAME dead-always-adopted KIND test_change_dead FILE membership/change.c
	REMOVES "a decision of a dead member that cannot be followed is nothing"
	TEXT [[
	return !wh_change_fits(change, rank);
]]
	REPLACEMENT [[
	return false;
]])

mutant(NAME dead-adopted-alone KIND views FILE membership/change.c
	WORDS ${on_one_host} --set sim.nodes_min=5 --fault "crash 4 at 10 ms" --fault "crash 0 after decide 1"
	      --fault "crash 1 silently after push 10"
	REMOVES "nor one that another member cannot follow"
	TEXT [[
		if (is_beyond(change, other, rank))
]]
	REPLACEMENT [[
		if (is_beyond(change, other, rank) && other == rank)
]])

mutant(NAME given-up-unsaid KIND views FILE membership/propose.c
	WORDS ${on_one_host} --set sim.nodes_min=5 --fault "crash 4 at 10 ms" --fault "crash 0 after decide 1"
	      --fault "crash 1 silently after push 10"
	REMOVES "a member that gives up the memory of a proposal says so"
	TEXT [[
	give_up_earlier(change, leader);
	change->on
]]
	REPLACEMENT [[
	if (leader == WH_NODES_MAX)
		give_up_earlier(change, leader);
	change->on
]])

mutant(NAME death-not-carried-over KIND views FILE group/install.c SEED 460
	WORDS ${on_one_host}
	REMOVES "a proof that came before a view began counts in it"
	TEXT [==[
		if (rank != epoch->rank && wh_roster_has_died(roster, view->ids[rank], view->incarnations[rank]))
]==]
	REPLACEMENT [[
		if (rank == WH_NODES_MAX)
]])

mutant(NAME death-of-the-last-life KIND test_roster FILE membership/roster.c
	REMOVES "that a life has ended is known also when a later one of its id has ended too"
	TEXT [[
	keep_life(roster->known_nodes[node].dead, incarnation);
]]
	REPLACEMENT [[
	roster->known_nodes[node].dead[0] = incarnation;
]])

mutant(NAME proof-unawaited KIND test_change_dead FILE membership/suspicion.c
	REMOVES "callers do not hear that there is no quorum while a proof may come"
	TEXT [[
	if (heard ? !s->unheard_told : s->unheard_told || awaits_proof(change))
]]
	REPLACEMENT [[
	if (heard ? !s->unheard_told : s->unheard_told || (member_count(change) == 0 && awaits_proof(change)))
]])

mutant(NAME proof-awaited-for-ever KIND test_change_dead FILE membership/suspicion.c
	REMOVES "a proof is waited for no longer than for heartbeats"
	TEXT [[
	return has_proofs(change) && hears_quorum(change, true) &&
	       change->loop->now_ns - change->suspicion.unheard_ns <= change->heartbeat->timeout_ns;
]]
	REPLACEMENT [[
	return has_proofs(change) && hears_quorum(change, true);
]])

mutant(NAME proof-awaited-in-vain KIND test_change_dead FILE membership/suspicion.c
	REMOVES "a proof is waited for where it makes a quorum"
	TEXT [[
	return has_proofs(change) && hears_quorum(change, true) &&
]]
	REPLACEMENT [[
	return has_proofs(change) &&
]])

mutant(NAME proofs-wait KIND test_change_dead FILE membership/suspicion.c
	REMOVES "a proof is said without a quorum, too"
	TEXT [[
	return say_wanted(change, heard);
]]
	REPLACEMENT [[
	return heard ? say_wanted(change, true) : 0;
]])

mutant(NAME proof-taken-for-quorum KIND views FILE membership/suspicion.c SEED 1065
	WORDS ${on_one_host}
	REMOVES "where nothing is left to be said a quorum is trusted, for all that: not behind a proof"
	TEXT [[
					  : change->removed || wh_suspicion_trusted_quorum(change);
]]
	REPLACEMENT [[
					  : true;
]])
