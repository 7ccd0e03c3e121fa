# replica.cmake - mechanisms of calls and reads (include/whorl/replica.h; docs/decisions/0048), taken out one at a time. See mutants.cmake.

# ---- reads: whether others have gone on ----

mutant(NAME read-unasked KIND test_replica_reads FILE replica/reads.c
	REMOVES "a linearizable read waits for a quorum"
	TEXT [[
	if (!wh_layer_is_confirmed(replica->subgroup, reads->noted.view, reads->question))
		return;
]]
	REPLACEMENT [[
]])

mutant(NAME read-shares-late KIND test_replica_reads FILE replica/reads.c
	REMOVES "a read waits for a question that is raised after it has come: it joins the one that is under way"
	TEXT [[
	for (; reads->confirmed < reads->asked; reads->confirmed++)
]]
	REPLACEMENT [[
	for (reads->asked = reads->end; reads->confirmed < reads->asked; reads->confirmed++)
]])

mutant(NAME read-view-answers KIND test_replica_reads FILE replica/reads.c
	REMOVES "a read that has no quorum when a view begins is taken up anew: the change of view is its answer"
	TEXT [[
		reads->asked = reads->confirmed;
		return;
]]
	REPLACEMENT [[
		for (; reads->confirmed < reads->asked; reads->confirmed++)
			at(reads, reads->confirmed)->place = reads->noted;
		return;
]])

mutant(NAME read-wedged-confirms KIND test_confirm FILE membership/confirm.c
	REMOVES "a member that has wedged confirms nothing"
	TEXT [[
	size_t work = change->wedged ? 0 : answer_questions(change);
]]
	REPLACEMENT [[
	size_t work = answer_questions(change);
]])

mutant(NAME read-wedged-asks KIND test_confirm FILE membership/confirm.c
	REMOVES "a member that has wedged raises no question"
	TEXT [[
	if (change->wedged || c->held != c->asked)
]]
	REPLACEMENT [[
	if (c->held != c->asked)
]])

mutant(NAME read-uncounted KIND test_confirm FILE membership/confirm.c
	REMOVES "voters that have left or are dead count like others that do not answer"
	TEXT [[
	bool tie = (int)wh_change_me(change) == change->tie_breaker;
	uint32_t votes = 1;

]]
	REPLACEMENT [[
	bool tie = (int)wh_change_me(change) == change->tie_breaker;
	uint32_t votes = 1;

	for (uint32_t rank = 0; rank < change->view->members; rank++)
		all.members -= change->suspicion.known[rank] == WH_LEFT || change->suspicion.known[rank] == WH_DEAD;
]])

mutant(NAME read-members-count KIND test_confirm FILE membership/confirm.c
	REMOVES "of a first view all configured nodes count: its members do"
	TEXT [[
	struct wh_quorum all = {.members = change->view->voters,
]]
	REPLACEMENT [[
	struct wh_quorum all = {.members = change->view->members,
]])

mutant(NAME read-old-word KIND test_confirm FILE membership/confirm.c
	REMOVES "a word that confirms an earlier question is none to this one"
	TEXT [[
	return confirmed == change->confirming.asked;
]]
	REPLACEMENT [[
	return confirmed > 0;
]])

mutant(NAME read-any-word KIND test_confirm FILE membership/confirm.c
	REMOVES "a word that confirms what was not asked breaks its member"
	TEXT [[
	if (confirmed > change->confirming.asked)
]]
	REPLACEMENT [[
	if (confirmed > change->confirming.asked && confirmed < 2)
]])

mutant(NAME read-word-late KIND test_confirm FILE membership/change.c
	REMOVES "a question that was seen is confirmed before this member says that it has wedged"
	TEXT [[
	work += wh_confirm_step(change);
	work += wh_serve_step(change);
]]
	REPLACEMENT [[
	work += wh_serve_step(change);
]]
	TEXT_2 [[
	work += wedge(change);
	lead_rank = wh_change_leader(change);
]]
	REPLACEMENT_2 [[
	work += wedge(change);
	work += wh_confirm_step(change);
	lead_rank = wh_change_leader(change);
]])

# ---- reads: what they have ----

mutant(NAME read-delivered KIND test_replica_reads FILE group/layer.c
	REMOVES "a read has what was received when it asked: what was delivered"
	TEXT [[
				       .received = member->mc != NULL ? wh_multicast_received(member->mc) : 0};
]]
	REPLACEMENT [[
				       .received = member->mc != NULL ? wh_multicast_sequence(member->mc) : 0};
]])

mutant(NAME read-unapplied KIND test_replica_reads FILE group/layer.c
	REMOVES "a read waits until what it noted is delivered"
	TEXT [[
	return member == NULL || member->mc == NULL || wh_multicast_sequence(member->mc) >= place->received;
]]
	REPLACEMENT [[
	return member == NULL || place->view > 0 || place->received < UINT64_MAX;
]])

mutant(NAME read-kept-back KIND test_replica_state FILE group/layer.c
	REMOVES "a newcomer reads nothing before its state is restored"
	TEXT [[
	if (wh_layer_restores(subgroup) || subgroup->offer.backlog.messages > 0)
		return false;
]]
	REPLACEMENT [[
]])

mutant(NAME read-local-unrestored KIND test_replica_state FILE replica/reads.c
	REMOVES "a local read of a state that is not restored is refused"
	TEXT [[
	return wh_layer_restores(replica->subgroup) ? WHORL_AGAIN : WHORL_OK;
]]
	REPLACEMENT [[
	return WHORL_OK;
]])

mutant(NAME read-of-another-shard KIND test_replica_reads FILE replica/reads.c
	REMOVES "a read is of the shard that its node was in when it came"
	TEXT [[
		read.read(is_in ? WHORL_OK : WHORL_NOT_FOUND, read.ctx);
]]
	REPLACEMENT [[
		read.read(WHORL_OK, read.ctx);
]]
	TEXT_2 [[
		work += end_all(reads, WHORL_NOT_FOUND);
]]
	REPLACEMENT_2 [[
		work += end_all(reads, WHORL_OK);
]])

mutant(NAME read-left-behind KIND test_replica_waits FILE replica/reads.c
	REMOVES "whorl_close waits for reads that are being handed to the loop"
	TEXT [[
	if (!wh_layer_begin_wait(subgroup))
		return WHORL_CLOSED;
	result = read_beside_loop(replica, &new);
	wh_layer_end_wait(subgroup);
	return result;
]]
	REPLACEMENT [[
	result = read_beside_loop(replica, &new);
	return result;
]]
	TEXT_2 [[
	bool left;

	pthread_mutex_lock(&replica->reads.lock);
]]
	REPLACEMENT_2 [[
	bool left;

	for (volatile unsigned i = 0; i < 100000; i++)
		;
	pthread_mutex_lock(&replica->reads.lock);
]])

mutant(NAME read-loop-kept KIND test_replica_waits FILE group/caller.c
	REMOVES "a thread that has taken the loop for a read wakes the program that wanted to arm it meanwhile"
	TEXT [[
	if (!rings)
		wh_node_hand_back(node);
]]
	REPLACEMENT [[
	(void)rings;
]])

mutant(NAME read-no-quorum-untold KIND test_replica_reads FILE replica/reads.c
	REMOVES "reads are told that too few members are heard"
	TEXT [[
		work += end_all(reads, WHORL_NO_QUORUM);
]]
	REPLACEMENT [[
		(void)end_all;
]])

# ---- calls: when they are answered ----

mutant(NAME answer-before-its-place KIND test_replica_calls FILE replica/calls.c
	REMOVES "an outcome is told when `apply` has returned: when it answers"
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

mutant(NAME answers-backwards KIND test_replica_calls FILE replica/calls.c
	REMOVES "outcomes are told in the order of the calls"
	TEXT [[
		if (calls->answers[i].pending != NULL)
			tell_answer(calls, &calls->answers[i]);
]]
	REPLACEMENT [[
		if (calls->answers[count - 1 - i].pending != NULL)
			tell_answer(calls, &calls->answers[count - 1 - i]);
]])

mutant(NAME answer-anywhere KIND test_replica_calls FILE replica/calls.c
	REMOVES "a call is answered where it was made alone"
	TEXT [[
	if (message->incarnation != calls->incarnation)
		return NULL;
]]
	REPLACEMENT [[
]])

mutant(NAME answer-twice KIND test_replica_calls FILE replica/calls.c
	REMOVES "a call is answered or deferred once"
	TEXT [[
	if (answer->state != WH_ANSWER_NONE)
]]
	REPLACEMENT [[
	if (answer->state == WH_ANSWER_NONE && answer->replica == NULL)
]])

mutant(NAME ticket-again KIND test_replica_calls FILE replica/later.c
	REMOVES "a ticket that is over is not the next one of its place"
	TEXT [[
					.generation = t->generation + 1,
]]
	REPLACEMENT [[
					.generation = 1,
]])

mutant(NAME ticket-unrung KIND test_replica_calls FILE replica/later.c
	REMOVES "an answer that comes later wakes the loop"
	TEXT [[
	if (result == WHORL_OK)
		wh_layer_ask(replica->subgroup);
	else
		free(answer);
]]
	REPLACEMENT [[
	if (result != WHORL_OK)
		free(answer);
]])

# ---- calls: once, or never ----

mutant(NAME arm-after-commit KIND test_replica_waits FILE replica/calls.c
	REMOVES "what the caller leaves is there before the loop can deliver the call"
	TEXT [[
	if (!arm(pending, index, done, ctx))
		return WHORL_AGAIN;
]]
	REPLACEMENT [[
]]
	TEXT_2 [[
	return is_accepted(result) ? result : take_back(pending, index, result);
]]
	REPLACEMENT_2 [[
	if (!is_accepted(result))
		return result;
	for (volatile unsigned i = 0; i < 1000000; i++)
		;
	return arm(pending, index, done, ctx) ? result : take_back(pending, index, WHORL_AGAIN);
]])

mutant(NAME call-not-taken-back KIND test_replica_ends FILE replica/calls.c
	REMOVES "what the caller of a refused call has left is taken back"
	TEXT [[
	return take_pending(pending, index + 1, 0) ? result : WHORL_OK;
]]
	REPLACEMENT [[
	(void)pending;
	(void)index;
	return result;
]])

mutant(NAME call-forgotten-by-a-view KIND test_replica_ends FILE group/install.c
	REMOVES "what was committed and not delivered is sent again in the next view"
	TEXT [[
		if (old->sends)
			first = end;
]]
	REPLACEMENT [[
		if (old->sends)
			first = subgroup->ring != NULL && end < wh_ring_claimed(subgroup->ring) ? wh_ring_claimed(subgroup->ring) : end;
]])

mutant(NAME call-of-a-dropped-claim-waits KIND test_replica_ends FILE replica/calls.c
	REMOVES "a call in a claim that was dropped is refused, though a later one has its place"
	TEXT [[
	if (wh_layer_has_dropped(replica->subgroup, claim))
		return whorl_commit(claim, bytes);
]]
	REPLACEMENT [[
	(void)0;
]])

mutant(NAME call-doubled-by-a-view KIND test_replica_ends FILE replica/calls.c
	REMOVES "what was delivered in the old view is applied once: what is behind the cut of a view is applied again"
	TEXT [[
		if (taken == WH_CALLS_FAILED)
			break;
]]
	REPLACEMENT [[
		if (taken == WH_CALLS_FAILED ||
		    (messages[done].view > 0 && apply_run(replica, run) == WH_CALLS_FAILED))
			break;
]])

mutant(NAME call-gone-untold KIND test_replica_ends FILE group/upcall.c
	REMOVES "calls of a node that is taken out of its shard are told so"
	TEXT [[
			subgroup->layer.ops->gone(subgroup->layer.ctx, from, from + count);
]]
	REPLACEMENT [[
			(void)from;
]])

mutant(NAME call-missed-untold KIND test_replica_state FILE group/transfer.c
	REMOVES "calls that are in the state that a newcomer is given are told so"
	TEXT [[
	if (subgroup->layer.ops != NULL)
		subgroup->layer.ops->missed(subgroup->layer.ctx, message);
]]
	REPLACEMENT [[
	(void)subgroup;
	(void)message;
]])

mutant(NAME call-missed-late KIND test_replica_state FILE replica/calls.c
	REMOVES "calls that are in the state are told of before later ones"
	TEXT [[
	tell_missed(&replica->calls);
	for (size_t done = 0;
]]
	REPLACEMENT [[
	for (size_t done = 0;
]])

mutant(NAME call-over-another KIND test_replica_state FILE replica/calls.c
	REMOVES "a call whose entry is taken is refused"
	TEXT [[
	if (wh_load_acquire(&pending->number) != 0)
		return false;
]]
	REPLACEMENT [[
]])

mutant(NAME done-told-twice-at-the-end KIND test_replica_ends FILE replica/calls.c
	REMOVES "a call that is told at the end is told once"
	TEXT [[
	if (!take_pending(pending, number, ENDS))
		return;
]]
	REPLACEMENT [[
	if (wh_load_acquire(&pending->number) != number)
		return;
]]
	TEXT_2 [[
	/* Release: it has been read. Partner: arm. */
	wh_store_release(&pending->number, 0);
	wh_replica_tell(done, ctx, outcome);
]]
	REPLACEMENT_2 [[
	wh_replica_tell(done, ctx, outcome);
]])

mutant(NAME deferred-told-twice KIND test_replica_ends FILE replica/calls.c
	REMOVES "a deferred call of a run that fails has no ticket any more"
	TEXT [[
			wh_later_cancel(&replica->later, answers[i].ticket);
]]
	REPLACEMENT [[
			(void)wh_later_cancel;
]])

mutant(NAME end-untold KIND test_replica_ends FILE group/close.c
	REMOVES "what is open when a node is closed is told"
	TEXT [[
	wh_node_end_layers(node);
]]
	REPLACEMENT [[
]])

mutant(NAME failure-untold KIND test_replica_ends FILE group/epoch.c
	REMOVES "what is open when a node fails is told by its loop"
	TEXT [[
		return wh_node_step_layers(node);
]]
	REPLACEMENT [[
		return 0;
]])

mutant(NAME apply-goes-on KIND test_replica_ends FILE replica/calls.c
	REMOVES "a node that cannot apply a call fails"
	TEXT [[
		fail_run(replica, count);
		return taken;
]]
	REPLACEMENT [[
		(void)fail_run;
		taken = count;
]])

# ---- threads that wait ----

mutant(NAME waiter-not-abandoned KIND test_replica_waits FILE replica/wait.c
	REMOVES "a thread whose time is up leaves nothing for the loop to write to"
	TEXT [[
	waiter->abandoned = !settled;
]]
	REPLACEMENT [[
]])

mutant(NAME waiter-unwoken KIND test_replica_waits FILE replica/wait.c
	REMOVES "threads that wait are woken when the node is closed"
	TEXT [[
	for (struct wh_waiter *waiter = waiters->all; waiter != NULL; waiter = waiter->next) {
		pthread_mutex_lock(&waiter->lock);
]]
	REPLACEMENT [[
	for (struct wh_waiter *waiter = NULL; waiter != NULL; waiter = waiter->next) {
		pthread_mutex_lock(&waiter->lock);
]])

mutant(NAME waiter-in-a-fork KIND test_replica_waits FILE replica/wait.c
	REMOVES "a forked child does not destroy what threads of its parent wait on"
	TEXT [[
		waiters->all = waiter->next;
		free(waiter);
]]
	REPLACEMENT [[
		waiters->all = waiter->next;
		pthread_cond_destroy(&waiter->condition);
		free(waiter);
]])

mutant(NAME answer-too-large KIND test_replica_waits FILE replica/wait.c
	REMOVES "of an answer that does not fit as much as fits is written"
	TEXT [[
		memcpy(waiter->answer, outcome->answer, outcome->bytes < waiter->room ? outcome->bytes : waiter->room);
]]
	REPLACEMENT [[
		memcpy(waiter->answer, outcome->answer, outcome->bytes);
]])

mutant(NAME layer-of-a-stay KIND test_replica_calls FILE group/layer.c
	REMOVES "a subgroup that is entered has no calls"
	TEXT [[
	if (wh_node_is_dynamic(subgroup)) /* it comes and goes,
]]
	REPLACEMENT [[
	if (false) /* it comes and goes,
]])

mutant(NAME read-leaves-it-to-the-loop KIND test_group_lent FILE group/run.c
	REMOVES "a read that finds the loop asleep asks the members for it"
	TEXT [[
		wh_node_ask_for_layers(node);
]]
	REPLACEMENT [[
]])
