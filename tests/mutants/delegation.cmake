# delegation.cmake - mechanisms of delegation (include/whorl/delegate.h; docs/decisions/0056), taken out one at a time. See mutants.cmake.

mutant(NAME delegate-same-id KIND test_delegate_trusts FILE delegation/trust.c
	REMOVES "a handle that is sent to another thread gets a fresh id"
	TEXT [[
	id = wh_fresh_id(me);
	result = far ? toggle_for(me, trust, id, place.node) : toggle_of(me, trust, id);
	if (result != WHORL_OK)
		return result;
	result = toggle_of(me, trust, trust->id);
]]
	REPLACEMENT [[
	id = trust->id;
]])

mutant(NAME delegate-any-owner KIND test_delegate_trusts FILE delegation/trust.c
	REMOVES "only the thread that a handle belongs to clones, sends and drops it"
	TEXT [[
	if (trust->owner != 0 && trust->owner != (*me)->number + 1)
]]
	REPLACEMENT [[
	if (0)
]])

mutant(NAME delegate-no-latch KIND test_delegate_launch FILE delegation/later.c
	REMOVES "a launched function has its property alone"
	TEXT [[
	if (property != NULL)
		property->latched = true;
]]
	REPLACEMENT [[
]])

mutant(NAME delegate-drops-latched KIND test_delegate_launch FILE delegation/property.c
	REMOVES "a property is not dropped while a function has it"
	TEXT [[
	if (property == NULL || !property->doomed || property->latched || property->first != NULL)
]]
	REPLACEMENT [[
	if (property == NULL || !property->doomed || property->first != NULL)
]])

mutant(NAME delegate-never-lent KIND test_delegate_calls FILE delegation/send.c
	REMOVES "a trustee that sleeps is lent"
	TEXT [[
	if (wh_load_relaxed(&gate->loan) != WH_GATE_LENT || (wh_load_relaxed(&gate->state) & WH_GATE_PARKED) == 0 ||
]]
	REPLACEMENT [[
	if (gate != NULL ||
]])

mutant(NAME delegate-asked-in-vain KIND test_delegate_calls FILE delegation/send.c
	REMOVES "a thread that has borrowed a trustee does what those ask for that sleep"
	TEXT [[
	return wh_load_relaxed(&trustee->asked) != 0;
]]
	REPLACEMENT [[
	return false;
]])

mutant(NAME delegate-lent-blocks KIND test_delegate_calls FILE delegation/call.c
	REMOVES "what may take long is run by its worker"
	TEXT [[
	if ((call->known->function->flags & WHORL_BLOCKS) != 0 || !way_is_free(call->me, call->trustee) ||
]]
	REPLACEMENT [[
	if (!way_is_free(call->me, call->trustee) ||
]])

mutant(NAME delegate-waits-within KIND test_delegate_calls FILE delegation/call.c
	REMOVES "a call that waits is refused in delegated context"
	TEXT [[
	if (__builtin_expect(wh_is_delegated(call->me), 0))
		return WHORL_WOULD_DEADLOCK;
	if (request->flags == 0
]]
	REPLACEMENT [[
	if (request->flags == 0
]])

mutant(NAME delegate-guard-first KIND test_delegate_trusts FILE delegation/serve.c
	REMOVES "a batch is there when its guard is"
	TEXT [[
	if (guard == channel->served || !run_batch(me, channel, borrowed))
		return 0;
]]
	REPLACEMENT [[
	if (channel->calls.count == 0 || !run_batch(me, channel, borrowed))
		return 0;
]])

mutant(NAME delegate-unread-batch KIND test_delegate_trusts FILE delegation/serve.c
	REMOVES "a damaged batch is refused as a whole"
	TEXT [[
	if (!wh_batch_is_whole_in(&channel->calls, wh_channel_more(channel))) {
]]
	REPLACEMENT [[
	if (0) {
]])

mutant(NAME delegate-any-type KIND test_delegate_trusts FILE delegation/perform.c
	REMOVES "a function runs on properties of its type alone"
	TEXT [[
	if (property->type_number != known->type)
		return WHORL_INVALID;
]]
	REPLACEMENT [[
]])

mutant(NAME delegate-flat-digest KIND test_delegate_batch FILE delegation/table.c
	REMOVES "the digest of the functions is of their sizes and flags, too"
	TEXT [[
	wh_digest_number(sum, f->argument_bytes);
	wh_digest_number(sum, f->result_bytes);
	wh_digest_number(sum, f->flags);
]]
	REPLACEMENT [[
]])

mutant(NAME delegate-runs-taken-back KIND test_delegate_calls FILE delegation/send.c
	REMOVES "what was not sent in time never runs"
	TEXT [[
		record.function = WH_NOTHING;
]]
	REPLACEMENT [[
]])

mutant(NAME delegate-shown-closed KIND test_status_workers FILE delegation/work.c
	REMOVES "work that is closed is not shown to visitors of its node"
	TEXT [[
	if (work->host != NULL)
		wh_node_hide_workers(work->host, work);
]]
	REPLACEMENT [[
]])

mutant(NAME delegate-borrower-patient KIND test_delegate_wakes FILE delegation/send.c
	REMOVES "what a worker sends while it is lent is not left with a trustee that sleeps"
	TEXT [[
	return me->worker != NULL && !me->borrowed;
]]
	REPLACEMENT [[
	return me->worker != NULL;
]])

mutant(NAME delegate-poll-leaves KIND test_delegate_wakes FILE delegation/call.c
	REMOVES "a thread that polls leaves nothing with a trustee that sleeps"
	TEXT [[
	wh_wake_trustees(me, false);
	return result;
]]
	REPLACEMENT [[
	return result;
]])

mutant(NAME delegate-rest-unheard KIND test_delegate_wakes FILE delegation/answer.c
	REMOVES "a plain thread that asks for the rest of an answer wakes the trustee"
	TEXT [[
	wh_nudge(channel, channel->client->worker != NULL); /* a plain thread may be on its way */
]]
	REPLACEMENT [[
	wh_nudge(channel, true);
]])
