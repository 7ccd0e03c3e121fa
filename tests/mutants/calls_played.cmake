# calls_played.cmake - calls (docs/decisions/0049) and reads (0048) in groups with faults, as `whorl sim` plays them. See mutants.cmake.

set(calls --set sim.calls=on)
# ---- reads ----
#
# Not here: that a wedged member confirms (read-wedged-confirms has a test of its own). A member that leaves another out of a view suspects it,
# and of a suspect it sees no question any more (T9): thousands of runs made for that never were stale. Nor what takes a view of
# which the reader is late, or members that are gone when it reads: read-view-answers, read-uncounted; tests/models/read.c plays them all.

mutant(NAME played-read-unasked KIND views FILE membership/confirm.c
	WORDS ${calls}
	REMOVES "a read waits for a quorum: it waits for nothing"
	TEXT [[
	return wh_quorum_holds(&all, votes, tie);
]]
	REPLACEMENT [[
	return wh_quorum_holds(&all, votes, tie) || votes > 0;
]])

mutant(NAME played-read-delivered KIND views FILE group/layer.c
	WORDS ${calls}
	REMOVES "what had been received here is waited for: what had been delivered is"
	TEXT [[
				       .received = member->mc != NULL ? wh_multicast_received(member->mc) : 0};
]]
	REPLACEMENT [[
				       .received = member->mc != NULL ? wh_multicast_sequence(member->mc) : 0};
]])

mutant(NAME played-read-shares-late KIND views FILE replica/reads.c
	WORDS ${calls}
	REMOVES "a read waits for a question that is raised after it has come: it shares the one that is under way"
	TEXT [[
	for (; reads->confirmed < reads->asked; reads->confirmed++)
]]
	REPLACEMENT [[
	reads->asked = reads->end;
	for (; reads->confirmed < reads->asked; reads->confirmed++)
]])

mutant(NAME played-read-unrestored KIND views FILE group/layer.c
	WORDS ${calls}
	REMOVES "a read waits until the state is restored, and what was kept back is applied"
	TEXT [[
	if (wh_layer_restores(subgroup) || subgroup->offer.backlog.messages > 0)
]]
	REPLACEMENT [[
	if (subgroup->offer.backlog.messages > 0)
]])

mutant(NAME played-read-forgotten KIND views FILE replica/reads.c
	WORDS ${calls}
	REMOVES "a read that has no quorum when a view begins is asked anew: it waits for the question of the view before"
	TEXT [[
		reads->asked = reads->confirmed;
		return;
]]
	REPLACEMENT [[
		return;
]])

# ---- calls ----

mutant(NAME played-answer-early KIND views FILE replica/calls.c
	WORDS ${calls}
	REMOVES "an outcome is told when its run has been applied: it is told as soon as the call has a place"
	TEXT [[
	calls->applies = true;
	if (replica->apply != NULL)
]]
	REPLACEMENT [[
	for (size_t i = 0; i < count; i++)
		if (calls->answers[i].pending != NULL) {
			tell_answer(calls, &calls->answers[i]);
			calls->answers[i].pending = NULL;
		}
	calls->applies = true;
	if (replica->apply != NULL)
]])

mutant(NAME played-answer-in-apply KIND views FILE replica/calls.c
	WORDS ${calls}
	REMOVES "an outcome is told when the upcall that answers has returned: it is told in it"
	TEXT [[
	calls->arena_bytes += bytes;
	return WHORL_OK;
]]
	REPLACEMENT [[
	calls->arena_bytes += bytes;
	tell_answer(calls, answer);
	answer->pending = NULL;
	return WHORL_OK;
]])

mutant(NAME played-call-forgotten KIND views FILE group/install.c
	WORDS ${calls}
	REMOVES "a call that was sent and not delivered is sent again in the next view"
	TEXT [[
		if (old->sends)
			first = end;
]]
	REPLACEMENT [[
		(void)end;
		if (old->sends)
			first = subgroup->ring->sent;
]])

mutant(NAME played-call-doubled KIND views FILE predicates/multicast.c
	WORDS ${calls}
	REMOVES "a call that was delivered is not sent again in the next view"
	TEXT [[
	return c->mode == WH_MODE_ORDERED ? mc->senders[c->me].next : least_had(mc, leaves);
]]
	REPLACEMENT [[
	return c->mode == WH_MODE_ORDERED ? mc->senders[c->me].first : least_had(mc, leaves);
]])

mutant(NAME played-call-given-up KIND views FILE group/install.c
	WORDS ${calls}
	REMOVES "a call that is held goes through a view: its caller is told that it is gone"
	TEXT [[
		wh_ring_enter(subgroup->ring, &member->place, first, member->ends);
]]
	REPLACEMENT [[
		subgroup->gone_from = first;
		subgroup->gone_count = wh_ring_claimed(subgroup->ring) - first;
		wh_ring_enter(subgroup->ring, &member->place, first, member->ends);
]])

mutant(NAME played-call-missed-untold KIND views FILE state/keep.c SEED 500
	WORDS ${calls}
	REMOVES "a call that is in the state that its caller was given is in doubt"
	TEXT [[
			state->hooks.missed(state->hooks.ctx, &messages[i]);
]]
	REPLACEMENT [[
			(void)messages;
]])

mutant(NAME played-call-dropped-untold KIND views FILE state/await.c
	WORDS ${calls}
	REMOVES "a call that was kept back in a shard that its caller has left is in doubt"
	TEXT [[
		state->hooks.missed(state->hooks.ctx, message);
]]
	REPLACEMENT [[
		(void)message;
]])

mutant(NAME played-call-twice-in-doubt KIND views FILE replica/calls.c SEED 1250
	WORDS ${calls}
	REMOVES "a call that was deferred in a run that fails is told once"
	TEXT [[
			wh_later_cancel(&replica->later, answers[i].ticket);
]]
	REPLACEMENT [[
			(void)answers[i].ticket;
]])

mutant(NAME played-call-gone-untold KIND views FILE group/upcall.c
	WORDS ${calls}
	REMOVES "a call that the layout takes with its caller's place is told to be gone"
	TEXT [[
			subgroup->layer.ops->gone(subgroup->layer.ctx, from, from + count);
]]
	REPLACEMENT [[
			(void)from;
]])
